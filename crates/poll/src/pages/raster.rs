//! A picture in pixels of at most 16 colours: lines, dotted lines, text, and the PNG file of it.
//!
//! Lines run as libgd's do, so that each pixel is where MRTG's pictures have it: the integer
//! midpoint rule, always from left to right (flat ones) or downwards (steep ones), and the pattern
//! of dots goes on from one line to the next until a new pattern is set.

use std::io::Write as _;

use super::font;
use crate::options::PIXELS_MAX;

/// A picture, one byte a pixel: an index of `palette`.
pub(super) struct Raster {
    width: i64,
    height: i64,
    pixels: Vec<u8>,
    palette: Vec<[u8; 3]>,
    /// Whether colour 0, the background, is transparent.
    pub(super) is_transparent: bool,
    dots: (u8, u32),
}

/// How a line is drawn.
#[derive(Clone, Copy)]
pub(super) enum Brush {
    /// A pixel.
    Solid(u8),
    /// A pixel and the one above it.
    Tall(u8),
    /// One pixel of three, of the colour that was set.
    Dotted,
}

type Point = (i64, i64);

impl Raster {
    /// A picture in the first colour of a palette; `None` if it would be too large or empty.
    pub(super) fn new(width: i64, height: i64, palette: &[[u8; 3]]) -> Option<Self> {
        let pixels = width.checked_mul(height)?;
        if width < 1 || height < 1 || pixels > PIXELS_MAX {
            return None;
        }
        let palette = palette.to_vec();
        let pixels = vec![0; pixels as usize];
        Some(Self { width, height, pixels, palette, is_transparent: false, dots: (0, 0) })
    }

    /// Width and height in pixels.
    pub(super) fn size(&self) -> Point {
        (self.width, self.height)
    }

    /// The colour of dotted lines from now on; the next pixel is a dot.
    pub(super) fn set_dots(&mut self, colour: u8) {
        self.dots = (colour, 0);
    }

    fn put(&mut self, (x, y): Point, colour: u8) {
        if (0..self.width).contains(&x) && (0..self.height).contains(&y) {
            self.pixels[(y * self.width + x) as usize] = colour;
        }
    }

    fn draw_pixel(&mut self, (x, y): Point, brush: Brush) {
        match brush {
            Brush::Solid(colour) => self.put((x, y), colour),
            Brush::Tall(colour) => {
                self.put((x, y - 1), colour);
                self.put((x, y), colour);
            }
            Brush::Dotted => {
                if self.dots.1 == 0 {
                    self.put((x, y), self.dots.0);
                }
                self.dots.1 = (self.dots.1 + 1) % 3;
            }
        }
    }

    /// A line with both ends.
    pub(super) fn line(&mut self, from: Point, to: Point, brush: Brush) {
        let Some((from, to)) = self.clip(from, to) else { return };
        let (dx, dy) = ((to.0 - from.0).abs(), (to.1 - from.1).abs());
        // Of a flat line the first pixel is its left one, of a steep or upright line its upper one.
        let is_flat = dy <= dx && dx > 0;
        let is_turned = if is_flat { from.0 > to.0 } else { from.1 > to.1 };
        let (first, last) = if is_turned { (to, from) } else { (from, to) };
        let (long, short) = if is_flat { (dx, dy) } else { (dy, dx) };
        let side = if is_flat { (last.1 - first.1).signum() } else { (last.0 - first.0).signum() };
        let mut error = 2 * short - long;
        let mut across = 0;
        for along in 0..=long {
            let point = match is_flat {
                true => (first.0 + along, first.1 + across),
                false => (first.0 + across, first.1 + along),
            };
            self.draw_pixel(point, brush);
            if short == 0 || error < 0 {
                error += 2 * short;
            } else {
                across += side;
                error += 2 * (short - long);
            }
        }
    }

    /// Cuts a line at the edges of the picture, so that its length is bounded.
    fn clip(&self, mut from: Point, mut to: Point) -> Option<(Point, Point)> {
        for is_vertical in [false, true] {
            let swap = |(x, y): Point| if is_vertical { (y, x) } else { (x, y) };
            let limit = if is_vertical { self.height } else { self.width } - 1;
            let (mut a, mut b) = (swap(from), swap(to));
            if a.0.max(b.0) < 0 || a.0.min(b.0) > limit {
                return None;
            }
            let slope = match b.0 - a.0 {
                0 => 0.0,
                run => (b.1 - a.1) as f64 / run as f64,
            };
            let fixed = a;
            for end in [&mut a, &mut b] {
                let inside = end.0.clamp(0, limit);
                if inside != end.0 {
                    *end = (inside, fixed.1 + (slope * (inside - fixed.0) as f64) as i64);
                }
            }
            (from, to) = (swap(a), swap(b));
        }
        Some((from, to))
    }

    /// The four sides of a rectangle.
    pub(super) fn rectangle(&mut self, from: Point, to: Point, colour: u8) {
        let brush = Brush::Solid(colour);
        self.line(from, (to.0, from.1), brush);
        self.line((from.0, to.1), to, brush);
        self.line(from, (from.0, to.1), brush);
        self.line((to.0, from.1), to, brush);
    }

    /// Text from its upper left corner to the right.
    pub(super) fn text(&mut self, (x, y): Point, text: &str, colour: u8) {
        for (character, left) in text.chars().zip((x..).step_by(font::WIDTH as usize)) {
            if left >= self.width {
                break;
            }
            for (row, column) in cells() {
                if font::has_pixel(character, column, row) {
                    self.put((left + column, y + row), colour);
                }
            }
        }
    }

    /// Text from its lower left corner upwards.
    pub(super) fn text_up(&mut self, (x, y): Point, text: &str, colour: u8) {
        for (character, number) in text.chars().zip(0..self.height) {
            let bottom = y - number * font::WIDTH;
            for (row, column) in cells() {
                if font::has_pixel(character, column, row) {
                    self.put((x + row, bottom - column), colour);
                }
            }
        }
    }

    /// The picture as a PNG file with a palette, four bits a pixel.
    pub(super) fn png(&self) -> Vec<u8> {
        let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
        let mut header = Vec::with_capacity(13);
        header.extend_from_slice(&(self.width as u32).to_be_bytes());
        header.extend_from_slice(&(self.height as u32).to_be_bytes());
        // Depth, palette, and the only compression, filter and order that are used.
        header.extend_from_slice(&[4, 3, 0, 0, 0]);
        chunk(&mut out, b"IHDR", &header);
        chunk(&mut out, b"PLTE", &self.palette.concat());
        if self.is_transparent {
            chunk(&mut out, b"tRNS", &[0]);
        }
        let mut rows = Vec::with_capacity(self.pixels.len() / 2 + self.height as usize * 2);
        for row in self.pixels.chunks_exact(self.width as usize) {
            rows.push(0);
            rows.extend(row.chunks(2).map(|two| two[0] << 4 | two.get(1).unwrap_or(&0)));
        }
        let mut deflate = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        // Writing to memory does not fail.
        let _ = deflate.write_all(&rows);
        chunk(&mut out, b"IDAT", &deflate.finish().unwrap_or_default());
        chunk(&mut out, b"IEND", &[]);
        out
    }
}

fn cells() -> impl Iterator<Item = Point> {
    (0..font::HEIGHT).flat_map(|row| (0..font::WIDTH).map(move |column| (row, column)))
}

fn chunk(out: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) {
    out.extend_from_slice(&(data.len() as u32).to_be_bytes());
    let mut sum = flate2::Crc::new();
    sum.update(name);
    sum.update(data);
    out.extend_from_slice(name);
    out.extend_from_slice(data);
    out.extend_from_slice(&sum.sum().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_go_on_from_line_to_line() {
        let mut raster = Raster::new(4, 2, &[[0; 3], [255; 3]]).expect("a picture");
        raster.set_dots(1);
        raster.line((0, 0), (3, 0), Brush::Dotted);
        raster.line((0, 1), (3, 1), Brush::Dotted);
        assert_eq!(raster.pixels, [1, 0, 0, 1, 0, 0, 1, 0]);
    }

    #[test]
    fn a_line_far_outside_costs_and_draws_nothing() {
        let mut raster = Raster::new(3, 3, &[[0; 3], [255; 3]]).expect("a picture");
        raster.line((-5, i64::MIN / 4), (-5, i64::MAX / 4), Brush::Solid(1));
        assert!(raster.pixels.iter().all(|&pixel| pixel == 0));
        raster.line((1, -1_000_000_000_000), (1, 1_000_000_000_000), Brush::Solid(1));
        assert_eq!(raster.pixels, [0, 1, 0, 0, 1, 0, 0, 1, 0]);
    }

    #[test]
    fn a_picture_that_is_too_large_is_refused() {
        assert!(Raster::new(1 << 40, 1 << 40, &[[0; 3]]).is_none());
        assert!(Raster::new(0, 1, &[[0; 3]]).is_none());
    }
}

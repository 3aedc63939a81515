//! Soft-edged fills and lines into pixels.
//!
//! A graph is some thousand small shapes: strokes of a pixel, dashes, characters.  A general
//! renderer sets up a pipeline for each run of pixels, which costs more than the pixels.  Here an
//! area is the sum of its edges' signed areas in each pixel (exact, one pass over its rows), a
//! round line is the distance of each pixel from its segments, and a straight line or dash along an
//! axis is a rectangle.
//!
//! Reads and writes premultiplied red, green, blue and opacity, a byte each.

use crate::font::Point;
use crate::picture::{Paint, Rgba};

/// A rectangle of pixels: left, top, right, bottom; right and bottom are outside.
type PixelBounds = [usize; 4];

/// Fills shapes into pixels.
#[derive(Debug)]
pub(crate) struct Raster {
    width: usize,
    clip: PixelBounds,
    /// Edges of the shape that is being made.
    edges: Vec<[Point; 2]>,
    /// Where its contour began and where it is.
    start: Point,
    last: Point,
    /// A number for each pixel of the shape's bounds, row by row; all 0 in between.
    cells: Vec<f32>,
}

/// The part of a pixel below which it is not covered.
const COVERAGE_MIN: f32 = 1.0 / 512.0;

impl Raster {
    /// For a picture of some size.
    pub(crate) fn new(width: usize, height: usize) -> Self {
        let clip = [0, 0, width, height];
        let (edges, cells) = (Vec::new(), Vec::new());
        Self { width, clip, edges, start: [0.0; 2], last: [0.0; 2], cells }
    }

    /// Draws only on the inside of a rectangle from now on, in whole pixels: left, top, right,
    /// bottom.
    pub(crate) fn set_clip(&mut self, rectangle: [f64; 4], height: usize) {
        let [width, height] = [self.width as f64, height as f64];
        let [left, top, right, bottom] = rectangle.map(f64::round);
        self.clip = [
            left.clamp(0.0, width) as usize,
            top.clamp(0.0, height) as usize,
            right.clamp(0.0, width) as usize,
            bottom.clamp(0.0, height) as usize,
        ];
    }

    pub(crate) fn move_to(&mut self, to: Point) {
        self.close();
        (self.start, self.last) = (to, to);
    }

    pub(crate) fn line_to(&mut self, to: Point) {
        self.edges.push([self.last, to]);
        self.last = to;
    }

    /// A quadratic curve, as lines that are never a sixteenth of a pixel away from it.
    pub(crate) fn quad_to(&mut self, control: Point, to: Point) {
        let from = self.last;
        let bend = |axis: usize| from[axis] - 2.0 * control[axis] + to[axis];
        let steps = (bend(0).hypot(bend(1)) * 4.0).sqrt().ceil().clamp(1.0, 64.0);
        for step in 1..=steps as usize {
            let part = step as f64 / steps;
            let rest = 1.0 - part;
            let at = |axis: usize| {
                rest * rest * from[axis]
                    + 2.0 * rest * part * control[axis]
                    + part * part * to[axis]
            };
            self.line_to([at(0), at(1)]);
        }
    }

    /// Ends a contour where it began.
    pub(crate) fn close(&mut self) {
        if self.last != self.start {
            self.edges.push([self.last, self.start]);
            self.last = self.start;
        }
    }

    /// Adds a closed polygon.
    pub(crate) fn polygon(&mut self, points: impl IntoIterator<Item = Point>) {
        for (index, point) in points.into_iter().enumerate() {
            match index {
                0 => self.move_to(point),
                _ => self.line_to(point),
            }
        }
        self.close();
    }

    /// Fills the shape and forgets it.
    pub(crate) fn fill(&mut self, pixels: &mut [u8], paint: &Paint) {
        self.close();
        let edges = std::mem::take(&mut self.edges);
        if let Some(bounds) = self.bounds(edges.iter().flatten(), 0.0) {
            self.fill_edges(&edges, bounds, pixels, paint);
        }
        self.edges = edges;
        self.edges.clear();
    }

    /// The pixels around points that are inside the clip rectangle; `None` if there are none, or
    /// if a point is no number.
    fn bounds<'a>(
        &self,
        points: impl Iterator<Item = &'a Point>,
        margin: f64,
    ) -> Option<PixelBounds> {
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for point in points {
            for axis in 0..2 {
                if point[axis].is_nan() {
                    return None;
                }
                low[axis] = low[axis].min(point[axis]);
                high[axis] = high[axis].max(point[axis]);
            }
        }
        let [left, top, right, bottom] = self.clip;
        let from =
            |value: f64, least: usize| ((value - margin).floor().max(0.0) as usize).max(least);
        let to = |value: f64, most: usize| ((value + margin).ceil().max(0.0) as usize).min(most);
        let bounds =
            [from(low[0], left), from(low[1], top), to(high[0], right), to(high[1], bottom)];
        (bounds[0] < bounds[2] && bounds[1] < bounds[3]).then_some(bounds)
    }

    /// Room for a number for each pixel of bounds, with two more in each row.
    fn reserve(&mut self, [left, top, right, bottom]: PixelBounds) -> usize {
        let stride = right - left + 2;
        let length = stride * (bottom - top);
        if self.cells.len() < length {
            self.cells.resize(length, 0.0);
        }
        stride
    }

    fn fill_edges(
        &mut self,
        edges: &[[Point; 2]],
        bounds: PixelBounds,
        pixels: &mut [u8],
        paint: &Paint,
    ) {
        let stride = self.reserve(bounds);
        let [left, top, right, bottom] = bounds;
        let move_by = |[x, y]: Point| [(x - left as f64) as f32, (y - top as f64) as f32];
        for [from, to] in edges {
            add_edge(&mut self.cells, stride, bottom - top, move_by(*from), move_by(*to));
        }
        for y in top..bottom {
            let cells = &mut self.cells[(y - top) * stride..][..stride];
            let row = &mut pixels[(y * self.width + left) * 4..(y * self.width + right) * 4];
            let color = Color::at(paint, y);
            let mut sum = 0.0;
            for (cell, pixel) in cells.iter_mut().zip(row.chunks_exact_mut(4)) {
                sum += *cell;
                *cell = 0.0;
                let covered = sum.abs();
                if covered >= COVERAGE_MIN {
                    color.blend(pixel, covered.min(1.0));
                }
            }
            cells[stride - 2..].fill(0.0);
        }
    }

    /// Fills a rectangle: left, top, right, bottom, in any order.
    pub(crate) fn rectangle(&mut self, corners: [f64; 4], pixels: &mut [u8], color: Rgba) {
        let [x0, y0, x1, y1] = corners;
        let points = [[x0.min(x1), y0.min(y1)], [x0.max(x1), y0.max(y1)]];
        let Some([left, top, right, bottom]) = self.bounds(points.iter(), 0.0) else { return };
        let color = Color::of(color);
        let part = |at: usize, axis: usize| {
            let (low, high) = (points[0][axis], points[1][axis]);
            ((at as f64 + 1.0).min(high) - (at as f64).max(low)).max(0.0) as f32
        };
        for y in top..bottom {
            let part_of_row = part(y, 1);
            for x in left..right {
                let covered = part(x, 0) * part_of_row;
                if covered >= COVERAGE_MIN {
                    color.blend(&mut pixels[(y * self.width + x) * 4..][..4], covered);
                }
            }
        }
    }

    /// Draws a polyline with round ends and joins.
    pub(crate) fn polyline(
        &mut self,
        lines: &[Vec<Point>],
        width: f64,
        pixels: &mut [u8],
        color: Rgba,
    ) {
        let radius = width / 2.0;
        let points = lines.iter().flatten();
        let Some(bounds) = self.bounds(points, radius + 1.0) else { return };
        let stride = self.reserve(bounds);
        let [left, top, _, bottom] = bounds;
        let mut spans = vec![(usize::MAX, 0); bottom - top];
        for line in lines {
            let single = [line.first().copied().unwrap_or_default(); 2];
            let pairs = if line.len() == 1 { single.windows(2) } else { line.windows(2) };
            for pair in pairs {
                let segment = Segment::new(pair[0], pair[1], radius);
                segment.cover(&mut self.cells, stride, bounds, &mut spans);
            }
        }
        let color = Color::of(color);
        for (y, (from, to)) in (top..bottom).zip(spans) {
            if from >= to {
                continue;
            }
            let cells = &mut self.cells[(y - top) * stride..][from..to];
            let start = (y * self.width + left + from) * 4;
            let row = &mut pixels[start..start + (to - from) * 4];
            for (cell, pixel) in cells.iter_mut().zip(row.chunks_exact_mut(4)) {
                if *cell >= COVERAGE_MIN {
                    color.blend(pixel, *cell);
                }
                *cell = 0.0;
            }
        }
    }
}

/// A part of a round line.
struct Segment {
    from: Point,
    to: Point,
    /// The vector from `from` to `to`, over the square of the length; 0 if they are the same.
    along: Point,
    length: f64,
    radius: f64,
}

impl Segment {
    fn new(from: Point, to: Point, radius: f64) -> Self {
        let (x, y) = (to[0] - from[0], to[1] - from[1]);
        let square = x * x + y * y;
        let along = if square > 0.0 { [x / square, y / square] } else { [0.0; 2] };
        Self { from, to, along, length: square.sqrt(), radius }
    }

    /// Raises the cells of pixels to the part that the line covers: by the distance of the middle
    /// of the pixel.
    fn cover(
        &self,
        cells: &mut [f32],
        stride: usize,
        [left, top, right, bottom]: PixelBounds,
        spans: &mut [(usize, usize)],
    ) {
        let Self { from, to, along, length, radius } = self;
        let reach = radius + 0.5;
        let (low, high) = (from[1].min(to[1]) - reach, from[1].max(to[1]) + reach);
        let rows =
            ((low.floor().max(0.0)) as usize).max(top)..(high.ceil().max(0.0) as usize).min(bottom);
        let (x_low, x_high) = (from[0].min(to[0]) - reach, from[0].max(to[0]) + reach);
        let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
        // Along a row, the line is within this of its middle.
        let half = if dy == 0.0 { f64::INFINITY } else { reach * length / dy.abs() };
        let most = (2.0 * radius).min(1.0);
        for y in rows {
            let middle_y = y as f64 + 0.5;
            let middle = match half.is_finite() {
                true => from[0] + (middle_y - from[1]) / dy * dx,
                false => from[0],
            };
            let begin = (middle - half).max(x_low).floor().max(left as f64) as usize;
            let end = ((middle + half).min(x_high).ceil().max(0.0) as usize).min(right);
            if begin >= end {
                continue;
            }
            let span = &mut spans[y - top];
            *span = (span.0.min(begin - left), span.1.max(end - left));
            let row = &mut cells[(y - top) * stride..][begin - left..end - left];
            let down = middle_y - from[1];
            for (x, cell) in (begin..end).zip(row) {
                let across = x as f64 + 0.5 - from[0];
                let part = (across * along[0] + down * along[1]).clamp(0.0, 1.0);
                let (away_x, away_y) = (across - part * dx, down - part * dy);
                let distance = (away_x * away_x + away_y * away_y).sqrt();
                let covered = (reach - distance).clamp(0.0, most) as f32;
                *cell = cell.max(covered);
            }
        }
    }
}

/// Adds the signed area right of an edge to the cells of its rows: what it adds to each pixel and,
/// as the cells of a row are summed up, to all pixels right of that.
fn add_edge(cells: &mut [f32], stride: usize, rows: usize, from: [f32; 2], to: [f32; 2]) {
    let (sign, [x0, y0], [x1, y1]) =
        if from[1] < to[1] { (1.0, from, to) } else { (-1.0, to, from) };
    if y0 == y1 || y1 <= 0.0 || y0 >= rows as f32 {
        return;
    }
    let slope = (x1 - x0) / (y1 - y0);
    let most = (stride - 2) as f32;
    let first = y0.max(0.0) as usize;
    let last = (y1.ceil() as usize).min(rows);
    for y in first..last {
        let (begin, end) = ((y as f32).max(y0), (y as f32 + 1.0).min(y1));
        let height = (end - begin) * sign;
        let one = (x0 + (begin - y0) * slope).clamp(0.0, most);
        let other = (x0 + (end - y0) * slope).clamp(0.0, most);
        let (near, far) = (one.min(other), one.max(other));
        let row = &mut cells[y * stride..][..stride];
        let start = near.floor();
        let at = start as usize;
        if far <= start + 1.0 {
            let inside = (near + far) / 2.0 - start;
            row[at] += height * (1.0 - inside);
            row[at + 1] += height * inside;
            continue;
        }
        // The edge crosses several pixels of the row: in each the area grows by what is left of it.
        let per_pixel = height / (far - near);
        let mut covered = 0.0;
        let mut x = at;
        while (x as f32) < far {
            let (enter, leave) = ((x as f32).max(near), (x as f32 + 1.0).min(far));
            let passed = (leave - enter) * per_pixel;
            // What was passed before, and of this part what lies right of the edge.
            let inside = (x as f32 + 1.0) - (enter + leave) / 2.0;
            let area = (enter - near) * per_pixel + passed * inside;
            row[x] += area - covered;
            covered = area;
            x += 1;
        }
        row[x] += height - covered;
    }
}

/// A colour to be laid over pixels.
#[derive(Clone, Copy)]
struct Color {
    /// Red, green, blue, in 0..=255.
    parts: [u32; 3],
    /// Opacity in 0..=255.
    alpha: f32,
}

impl Color {
    fn of(color: Rgba) -> Self {
        let [red, green, blue, alpha] = color.bytes();
        Self { parts: [red, green, blue].map(u32::from), alpha: f32::from(alpha) }
    }

    /// The colour of a row.
    fn at(paint: &Paint, y: usize) -> Self {
        match *paint {
            Paint::Solid(color) => Self::of(color),
            Paint::Gradient { y1, color1, y2, color2 } => {
                let part = ((y as f64 + 0.5 - y1) / (y2 - y1)).clamp(0.0, 1.0);
                let part = if part.is_nan() { 0.0 } else { part };
                let mix = |one: f64, other: f64| one + (other - one) * part;
                Self::of(Rgba::new(
                    mix(color1.red, color2.red),
                    mix(color1.green, color2.green),
                    mix(color1.blue, color2.blue),
                    mix(color1.alpha, color2.alpha),
                ))
            }
        }
    }

    /// Lays it over a pixel of which a part is covered.
    fn blend(self, pixel: &mut [u8], covered: f32) {
        let alpha = (self.alpha * covered + 0.5) as u32;
        let [red, green, blue] = self.parts;
        if alpha == 255 {
            pixel.copy_from_slice(&[red as u8, green as u8, blue as u8, 255]);
            return;
        }
        let rest = 255 - alpha;
        for (part, own) in pixel.iter_mut().zip([red, green, blue, 255]) {
            *part = ((own * alpha + u32::from(*part) * rest + 127) / 255) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLACK: Rgba = Rgba::new(0.0, 0.0, 0.0, 1.0);

    /// Opacities of a picture of 8 by 4 pixels on which something is drawn.
    fn drawn(draw: impl FnOnce(&mut Raster, &mut [u8])) -> Vec<u8> {
        let mut pixels = vec![0; 8 * 4 * 4];
        let mut raster = Raster::new(8, 4);
        draw(&mut raster, &mut pixels);
        assert!(raster.cells.iter().all(|cell| *cell == 0.0));
        pixels.chunks_exact(4).map(|pixel| pixel[3]).collect()
    }

    fn polygon(points: &[Point]) -> Vec<u8> {
        drawn(|raster, pixels| {
            raster.polygon(points.iter().copied());
            raster.fill(pixels, &Paint::Solid(BLACK));
        })
    }

    #[test]
    fn areas_are_exact() {
        let sum =
            |opacities: &[u8]| opacities.iter().map(|one| f64::from(*one)).sum::<f64>() / 255.0;
        let square = polygon(&[[1.0, 1.0], [3.0, 1.0], [3.0, 3.0], [1.0, 3.0]]);
        assert_eq!(square[8..16], [0, 255, 255, 0, 0, 0, 0, 0]);
        let half = polygon(&[[1.5, 0.0], [2.5, 0.0], [2.5, 1.0], [1.5, 1.0]]);
        assert_eq!(half[..4], [0, 128, 128, 0]);
        // Flat and steep edges, in both directions.
        let triangle = [[0.5, 0.25], [7.25, 0.5], [3.0, 3.75]];
        let area = 11.5;
        assert!((sum(&polygon(&triangle)) - area).abs() < 0.1);
        let turned: Vec<Point> = triangle.iter().rev().copied().collect();
        assert_eq!(polygon(&triangle), polygon(&turned));
        // What is outside is cut off.
        let large = polygon(&[[-9.0, -9.0], [90.0, -9.0], [90.0, 90.0], [-9.0, 90.0]]);
        assert!(large.iter().all(|one| *one == 255));
        assert!(polygon(&[[f64::NAN, 0.0], [1.0, 2.0], [3.0, 0.0]]).iter().all(|one| *one == 0));
    }

    #[test]
    fn lines_and_rectangles() {
        let line = |from: Point, to: Point| {
            drawn(|raster, pixels| raster.polyline(&[vec![from, to]], 1.0, pixels, BLACK))
        };
        assert_eq!(line([0.5, 1.5], [6.5, 1.5])[8..16], [255, 255, 255, 255, 255, 255, 255, 0]);
        assert_eq!(line([1.0, 1.5], [1.0, 3.5])[16..20], [128, 128, 0, 0]);
        let rectangle =
            |corners: [f64; 4]| drawn(|raster, pixels| raster.rectangle(corners, pixels, BLACK));
        assert_eq!(rectangle([0.5, 0.0, 2.0, 0.5])[..4], [64, 128, 0, 0]);
    }
}

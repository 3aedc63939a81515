//! PNG: the picture in pixels.
//!
//! Nearly everything is filled and stroked by `raster.rs`; tiny-skia does what is rare: lines with
//! miters that are not along an axis, dashes of curves, bold characters, hard edges.  The file is
//! written here.  A graph rarely has more than 256 colours, and then a pixel is one byte of an index
//! into a palette: a quarter of the bytes to compress, which is most of the time of a small graph.

use std::collections::HashMap;
use std::io::Write as _;

use tiny_skia::{
    Color, FillRule, GradientStop, LineCap, LineJoin, LinearGradient, Mask, PathBuilder,
    PathSegment, Pixmap, PremultipliedColorU8, Rect, Shader, SpreadMode, StrokeDash, Transform,
};

use crate::font::{Family, Pen, Point};
use crate::picture::{Label, Paint, Picture, Primitive, Rgba, Stroke};
use crate::raster::Raster;

/// The most pixels of a picture: 64 Mi, 256 MiB of memory.
pub const PIXELS_MAX: u64 = 64 << 20;

/// The file of a picture; `None` if it has no pixel or more than [`PIXELS_MAX`].
#[must_use]
pub fn write(picture: &Picture) -> Option<Vec<u8>> {
    let (width, height) = picture.size();
    if u64::from(width) * u64::from(height) > PIXELS_MAX {
        return None;
    }
    let mut canvas = Canvas {
        pixmap: Pixmap::new(width, height)?,
        mask: None,
        transform: Transform::from_scale(picture.zoom as f32, picture.zoom as f32),
        smooth_lines: picture.smooth_lines,
        smooth_texts: picture.smooth_texts,
        raster: Raster::new(width as usize, height as usize),
        outlines: HashMap::new(),
        clip: None,
    };
    for primitive in &picture.primitives {
        canvas.draw(primitive);
    }
    Some(encode(&canvas.pixmap))
}

struct Canvas {
    pixmap: Pixmap,
    mask: Option<Mask>,
    transform: Transform,
    smooth_lines: bool,
    smooth_texts: bool,
    raster: Raster,
    /// Outlines of characters, in pixels from their origin.
    outlines: HashMap<(char, Family, bool, u64), Outline>,
    /// The rectangle of the clip, while there is one.
    clip: Option<Rect>,
}

impl Canvas {
    fn draw(&mut self, primitive: &Primitive) {
        match primitive {
            Primitive::Polygon(points, paint) => self.fill(points, paint),
            Primitive::Lines { lines, closed, stroke } => self.stroke(lines, *closed, stroke),
            Primitive::Text(label) => self.text(label),
            Primitive::Clip([left, top, width, height]) => {
                let zoom = self.zoom();
                let corners = [*left, *top, left + width, top + height].map(|edge| edge * zoom);
                self.raster.set_clip(corners, self.pixmap.height() as usize);
                self.clip =
                    Rect::from_xywh(*left as f32, *top as f32, *width as f32, *height as f32);
            }
            Primitive::Unclip => {
                let all =
                    [0.0, 0.0, f64::from(self.pixmap.width()), f64::from(self.pixmap.height())];
                self.raster.set_clip(all, self.pixmap.height() as usize);
                (self.clip, self.mask) = (None, None);
            }
        }
    }

    fn zoom(&self) -> f64 {
        f64::from(self.transform.sx)
    }

    /// The mask of the clip, for tiny-skia.
    fn make_mask(&mut self) {
        if self.mask.is_some() {
            return;
        }
        let mask = Mask::new(self.pixmap.width(), self.pixmap.height());
        self.mask = mask.zip(self.clip).map(|(mut mask, rect)| {
            let path = PathBuilder::from_rect(rect);
            mask.fill_path(&path, FillRule::Winding, true, self.transform);
            mask
        });
    }

    fn fill(&mut self, points: &[Point], paint: &Paint) {
        let zoom = self.zoom();
        if self.smooth_lines {
            let paint = match *paint {
                Paint::Gradient { y1, color1, y2, color2 } => {
                    Paint::Gradient { y1: y1 * zoom, color1, y2: y2 * zoom, color2 }
                }
                solid @ Paint::Solid(_) => solid,
            };
            self.raster.polygon(points.iter().map(|[x, y]| [x * zoom, y * zoom]));
            self.raster.fill(self.pixmap.data_mut(), &paint);
            return;
        }
        let mut builder = PathBuilder::new();
        push(&mut builder, points, true);
        let Some(path) = builder.finish() else { return };
        let Some(shader) = shader(paint) else { return };
        let paint = tiny_skia::Paint { shader, anti_alias: false, ..Default::default() };
        self.make_mask();
        self.pixmap.fill_path(&path, &paint, FillRule::Winding, self.transform, self.mask.as_ref());
    }

    fn stroke(&mut self, lines: &[Vec<Point>], closed: bool, stroke: &Stroke) {
        if self.smooth_lines && !closed && self.quick_stroke(lines, stroke) {
            return;
        }
        let mut builder = PathBuilder::new();
        for line in lines {
            push(&mut builder, line, closed);
        }
        let Some(path) = builder.finish() else { return };
        let paint = solid(stroke.color, self.smooth_lines);
        let (line_cap, line_join) = match stroke.round {
            true => (LineCap::Round, LineJoin::Round),
            false => (LineCap::Butt, LineJoin::Miter),
        };
        let how = tiny_skia::Stroke {
            width: stroke.width as f32,
            line_cap,
            line_join,
            dash: dash(stroke),
            miter_limit: 10.0,
        };
        self.make_mask();
        self.pixmap.stroke_path(&path, &paint, &how, self.transform, self.mask.as_ref());
    }

    /// Draws round lines, and straight ones along an axis; `false` for others.
    fn quick_stroke(&mut self, lines: &[Vec<Point>], stroke: &Stroke) -> bool {
        let zoom = self.zoom();
        if stroke.round {
            let dashed = dash(stroke).map(|dash| dashed(lines, &dash));
            let lines = dashed.as_deref().unwrap_or(lines);
            let zoomed =
                |line: &Vec<Point>| line.iter().map(|[x, y]| [x * zoom, y * zoom]).collect();
            let lines: Vec<Vec<Point>> = lines.iter().map(zoomed).collect();
            let data = self.pixmap.data_mut();
            self.raster.polyline(&lines, stroke.width * zoom, data, stroke.color);
            return true;
        }
        let is_along_axis =
            |line: &Vec<Point>| matches!(line[..], [a, b] if a[0] == b[0] || a[1] == b[1]);
        if !lines.iter().all(is_along_axis) {
            return false;
        }
        let half = stroke.width / 2.0;
        for line in lines {
            let [from, to] = line[..] else { continue };
            let axis = usize::from(from[0] == to[0]);
            let length = to[axis] - from[axis];
            for (start, end) in stretches(length.abs(), stroke) {
                let along = [start, end].map(|at| from[axis] + at * length.signum());
                let middle = from[1 - axis];
                let corners = match axis {
                    0 => [along[0], middle - half, along[1], middle + half],
                    _ => [middle - half, along[0], middle + half, along[1]],
                };
                let corners = corners.map(|edge| edge * zoom);
                self.raster.rectangle(corners, self.pixmap.data_mut(), stroke.color);
            }
        }
        true
    }

    fn text(&mut self, label: &Label) {
        if self.smooth_texts && !label.font.bold {
            return self.quick_text(label);
        }
        let mut pen = PathPen(PathBuilder::new());
        for (character, x) in &label.glyphs {
            label.font.outline(*character, [*x, 0.0], &mut pen);
        }
        let Some(path) = pen.0.finish() else { return };
        let paint = solid(label.color, self.smooth_texts);
        let place = Transform::from_rotate(-label.angle as f32);
        let place = place
            .post_translate(label.at[0] as f32, label.at[1] as f32)
            .post_concat(self.transform);
        self.make_mask();
        self.pixmap.fill_path(&path, &paint, FillRule::Winding, place, self.mask.as_ref());
        if label.font.bold {
            let width = (label.font.pixels() / 16.0) as f32;
            let how = tiny_skia::Stroke { width, ..Default::default() };
            self.pixmap.stroke_path(&path, &paint, &how, place, self.mask.as_ref());
        }
    }
}

impl Canvas {
    fn quick_text(&mut self, label: &Label) {
        let zoom = self.zoom();
        let (sine, cosine) = label.angle.to_radians().sin_cos();
        let place = |[x, y]: Point| {
            // Turned counter-clockwise, where y points down.
            let (right, down) = (x * cosine + y * sine, y * cosine - x * sine);
            [(label.at[0] + right) * zoom, (label.at[1] + down) * zoom]
        };
        let font = &label.font;
        for (character, x) in &label.glyphs {
            let key = (*character, font.family, font.italic, font.points.to_bits());
            let outline = self.outlines.entry(key).or_insert_with(|| {
                let mut outline = Outline::default();
                font.outline(*character, [0.0; 2], &mut outline);
                outline
            });
            for step in &outline.0 {
                let moved = |[dx, y]: Point| place([x + dx, y]);
                match *step {
                    OutlineStep::Move(to) => self.raster.move_to(moved(to)),
                    OutlineStep::Line(to) => self.raster.line_to(moved(to)),
                    OutlineStep::Quad(control, to) => {
                        self.raster.quad_to(moved(control), moved(to));
                    }
                    OutlineStep::Close => self.raster.close(),
                }
            }
            // Each by itself, so that its pixels are few.
            self.raster.fill(self.pixmap.data_mut(), &Paint::Solid(label.color));
        }
    }
}

/// A step of an outline.
#[derive(Debug, Clone, Copy)]
enum OutlineStep {
    Move(Point),
    Line(Point),
    Quad(Point, Point),
    Close,
}

/// The outline of a character.
#[derive(Debug, Default)]
struct Outline(Vec<OutlineStep>);

impl Pen for Outline {
    fn move_to(&mut self, to: Point) {
        self.0.push(OutlineStep::Move(to));
    }
    fn line_to(&mut self, to: Point) {
        self.0.push(OutlineStep::Line(to));
    }
    fn quad_to(&mut self, control: Point, to: Point) {
        self.0.push(OutlineStep::Quad(control, to));
    }
    fn cubic_to(&mut self, control1: Point, control2: Point, to: Point) {
        // The fonts have none; this is near enough.
        let control = |axis: usize| (control1[axis] + control2[axis]) / 2.0;
        self.0.push(OutlineStep::Quad([control(0), control(1)], to));
    }
    fn close(&mut self) {
        self.0.push(OutlineStep::Close);
    }
}

/// Where a line of a length is drawn, by its dashes: from and to, from its start.
fn stretches(length: f64, stroke: &Stroke) -> Vec<(f64, f64)> {
    let Some(pattern) = dash_array(&stroke.dashes) else { return vec![(0.0, length)] };
    let period: f64 = pattern.iter().map(|one| f64::from(*one)).sum();
    if period < DASHES_MIN || length / period > DASHES_MAX {
        return vec![(0.0, length)];
    }
    let mut all = Vec::new();
    let mut at = -stroke.dash_offset.rem_euclid(period);
    while at < length {
        for pair in pattern.chunks_exact(2) {
            let (on, off) = (f64::from(pair[0]), f64::from(pair[1]));
            let (from, to) = (at.max(0.0), (at + on).min(length));
            if from < to {
                all.push((from, to));
            }
            at += on + off;
        }
    }
    all
}

/// The shortest period of dashes, in pixels, and the most of them in a line: others are solid.
const DASHES_MIN: f64 = 1e-3;
const DASHES_MAX: f64 = 1e6;

/// The dashes of a stroke, if it has any.
fn dash(stroke: &Stroke) -> Option<StrokeDash> {
    StrokeDash::new(dash_array(&stroke.dashes)?, stroke.dash_offset as f32)
}

/// The polylines that dashes leave of others.
fn dashed(lines: &[Vec<Point>], dash: &StrokeDash) -> Vec<Vec<Point>> {
    let mut builder = PathBuilder::new();
    for line in lines {
        push(&mut builder, line, false);
    }
    let path = builder.finish().and_then(|path| path.dash(dash, 1.0));
    let mut all: Vec<Vec<Point>> = Vec::new();
    for segment in path.iter().flat_map(tiny_skia::Path::segments) {
        let point = |point: tiny_skia::Point| [f64::from(point.x), f64::from(point.y)];
        match segment {
            PathSegment::MoveTo(to) => all.push(vec![point(to)]),
            PathSegment::LineTo(to) => all.iter_mut().next_back().into_iter().for_each(|line| {
                line.push(point(to));
            }),
            _ => {}
        }
    }
    all
}

/// An even number of lengths, repeated as needed.
fn dash_array(dashes: &[f64]) -> Option<Vec<f32>> {
    let once = dashes.iter().map(|length| *length as f32);
    let total: f64 = dashes.iter().sum();
    let solid =
        dashes.iter().skip(1).step_by(2).all(|off| *off <= 0.0) && dashes.len().is_multiple_of(2);
    if dashes.is_empty() || total <= 0.0 || solid {
        return None;
    }
    Some(if dashes.len().is_multiple_of(2) {
        once.collect()
    } else {
        once.clone().chain(once).collect()
    })
}

fn push(builder: &mut PathBuilder, points: &[Point], closed: bool) {
    for (index, [x, y]) in points.iter().enumerate() {
        match index {
            0 => builder.move_to(*x as f32, *y as f32),
            _ => builder.line_to(*x as f32, *y as f32),
        }
    }
    if closed {
        builder.close();
    }
}

fn color(color: Rgba) -> Color {
    let [red, green, blue, alpha] = color.bytes();
    Color::from_rgba8(red, green, blue, alpha)
}

fn solid(rgba: Rgba, smooth: bool) -> tiny_skia::Paint<'static> {
    let shader = Shader::SolidColor(color(rgba));
    tiny_skia::Paint { shader, anti_alias: smooth, ..Default::default() }
}

fn shader(paint: &Paint) -> Option<Shader<'static>> {
    match *paint {
        Paint::Solid(rgba) => Some(Shader::SolidColor(color(rgba))),
        Paint::Gradient { y1, color1, y2, color2 } => {
            let stops =
                vec![GradientStop::new(0.0, color(color1)), GradientStop::new(1.0, color(color2))];
            let (from, to) = ((0.0, y1 as f32).into(), (0.0, y2 as f32).into());
            LinearGradient::new(from, to, stops, SpreadMode::Pad, Transform::identity())
        }
    }
}

struct PathPen(PathBuilder);

impl Pen for PathPen {
    fn move_to(&mut self, [x, y]: Point) {
        self.0.move_to(x as f32, y as f32);
    }
    fn line_to(&mut self, [x, y]: Point) {
        self.0.line_to(x as f32, y as f32);
    }
    fn quad_to(&mut self, [x1, y1]: Point, [x, y]: Point) {
        self.0.quad_to(x1 as f32, y1 as f32, x as f32, y as f32);
    }
    fn cubic_to(&mut self, [x1, y1]: Point, [x2, y2]: Point, [x, y]: Point) {
        self.0.cubic_to(x1 as f32, y1 as f32, x2 as f32, y2 as f32, x as f32, y as f32);
    }
    fn close(&mut self) {
        self.0.close();
    }
}

/// What a pixel is in the file.
enum Pixels {
    /// An index into a palette of red, green, blue and opacity.
    Indexed(Vec<u8>, Vec<[u8; 4]>),
    /// Red, green, blue.
    Opaque(Vec<u8>),
    /// Red, green, blue, opacity.
    Full(Vec<u8>),
}

fn encode(pixmap: &Pixmap) -> Vec<u8> {
    let (width, height) = (pixmap.width(), pixmap.height());
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let pixels = pixels(pixmap);
    let (kind, bytes_per_pixel, data) = match &pixels {
        Pixels::Indexed(data, _) => (3, 1, data),
        Pixels::Opaque(data) => (2, 3, data),
        Pixels::Full(data) => (6, 4, data),
    };
    let mut header = Vec::with_capacity(13);
    header.extend(width.to_be_bytes());
    header.extend(height.to_be_bytes());
    header.extend([8, kind, 0, 0, 0]);
    chunk(&mut file, b"IHDR", &header);
    if let Pixels::Indexed(_, palette) = &pixels {
        let colors: Vec<u8> =
            palette.iter().flat_map(|color| [color[0], color[1], color[2]]).collect();
        chunk(&mut file, b"PLTE", &colors);
        if palette.iter().any(|color| color[3] != 255) {
            let opacities: Vec<u8> = palette.iter().map(|color| color[3]).collect();
            chunk(&mut file, b"tRNS", &opacities);
        }
    }
    chunk(&mut file, b"IDAT", &compress(data, width as usize * bytes_per_pixel, bytes_per_pixel));
    chunk(&mut file, b"IEND", &[]);
    file
}

/// Rows with their filter (none for indexes, else the difference from the row above), deflated.
fn compress(data: &[u8], row_bytes: usize, bytes_per_pixel: usize) -> Vec<u8> {
    let level = flate2::Compression::new(4);
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::with_capacity(data.len() / 8), level);
    let mut above = vec![0; row_bytes];
    let mut line = vec![0; row_bytes + 1];
    for row in data.chunks_exact(row_bytes.max(1)) {
        if bytes_per_pixel == 1 {
            line[0] = 0;
            line[1..].copy_from_slice(row);
        } else {
            line[0] = 2;
            for (at, byte) in row.iter().enumerate() {
                line[at + 1] = byte.wrapping_sub(above[at]);
            }
            above.copy_from_slice(row);
        }
        // Writing to a vector does not fail.
        let _ = encoder.write_all(&line);
    }
    encoder.finish().unwrap_or_default()
}

/// A palette if there is one: of the exact colours, else of colours rounded by at most 2 of 255,
/// which soft edges need and nobody sees.
fn pixels(pixmap: &Pixmap) -> Pixels {
    let indexed = indexed(pixmap, 0).or_else(|| indexed(pixmap, 2));
    indexed.map_or_else(|| full(pixmap), |(indexes, palette)| Pixels::Indexed(indexes, palette))
}

/// Slots of the table from colours to indexes: at most a quarter is used.
const SLOTS: usize = 1024;

/// Index of each pixel, and the palette; `None` if it had more than 256 colours.  The lowest
/// `dropped` bits of each part do not count.
fn indexed(pixmap: &Pixmap, dropped: u32) -> Option<(Vec<u8>, Vec<[u8; 4]>)> {
    // The premultiplied colour of a slot, and its index.
    let mut slots: Vec<Option<([u8; 4], u8)>> = vec![None; SLOTS];
    let mut palette = Vec::new();
    let mut indexes = Vec::with_capacity(pixmap.pixels().len());
    // Drops bits and repeats the highest ones below, so that white stays white.
    let round = |part: u8| match dropped {
        0 => part,
        bits => (part >> bits << bits) | (part >> (8 - bits)),
    };
    let mut last: Option<([u8; 4], u8)> = None;
    for pixel in pixmap.pixels() {
        let color = [pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()];
        if let Some((_, index)) = last.filter(|last| last.0 == color) {
            indexes.push(index);
            continue;
        }
        let rounded = color.map(round);
        let hash = u32::from_ne_bytes(rounded).wrapping_mul(0x9e37_79b1);
        let mut slot = (hash >> 22) as usize;
        let index = loop {
            match slots[slot] {
                Some((known, index)) if known == rounded => break index,
                Some(_) => slot = (slot + 1) % SLOTS,
                None => {
                    let index = u8::try_from(palette.len()).ok()?;
                    let [red, green, blue, alpha] = rounded;
                    let plain = PremultipliedColorU8::from_rgba(red, green, blue, alpha)?;
                    let plain = plain.demultiply();
                    palette.push([plain.red(), plain.green(), plain.blue(), plain.alpha()]);
                    slots[slot] = Some((rounded, index));
                    break index;
                }
            }
        };
        last = Some((color, index));
        indexes.push(index);
    }
    Some((indexes, palette))
}

fn full(pixmap: &Pixmap) -> Pixels {
    let plain = pixmap.pixels().iter().map(PremultipliedColorU8::demultiply);
    if pixmap.pixels().iter().all(|pixel| pixel.alpha() == 255) {
        return Pixels::Opaque(
            plain.flat_map(|color| [color.red(), color.green(), color.blue()]).collect(),
        );
    }
    let parts =
        |color: tiny_skia::ColorU8| [color.red(), color.green(), color.blue(), color.alpha()];
    Pixels::Full(plain.flat_map(parts).collect())
}

fn chunk(file: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    file.extend((data.len() as u32).to_be_bytes());
    let mut sum = flate2::Crc::new();
    sum.update(kind);
    sum.update(data);
    file.extend(kind);
    file.extend(data);
    file.extend(sum.sum().to_be_bytes());
}

/// Width and height of a PNG file, in pixels.
#[must_use]
pub fn size(file: &[u8]) -> Option<(u32, u32)> {
    let header = file.strip_prefix(b"\x89PNG\r\n\x1a\n")?.get(4..16)?.strip_prefix(b"IHDR")?;
    let number = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
    Some((number(0)?, number(4)?))
}

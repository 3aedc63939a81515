//! PDF 1.4: the picture as one page of vectors.
//!
//! Texts are outlines, so no font is embedded.  Opacity needs a graphics state for each value that
//! is used; a
//! gradient is drawn as a shading.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use crate::font::{Pen, Point};
use crate::picture::{Label, Paint, Picture, Primitive, Rgba, Stroke};
use crate::svg::Short;

/// The file of a picture; a pixel is a point.
#[must_use]
pub fn write(picture: &Picture) -> Vec<u8> {
    let (width, height) =
        (f64::from(picture.width) * picture.zoom, f64::from(picture.height) * picture.zoom);
    let mut page = Page::default();
    // The origin of a page is at its bottom left.
    let zoom = Short(picture.zoom);
    let _ = writeln!(page.content, "{zoom} 0 0 -{zoom} 0 {} cm", Short(height));
    for primitive in &picture.primitives {
        page.primitive(primitive);
    }
    for _ in 0..page.open_clips {
        page.content.push_str("Q\n");
    }
    page.finish(width, height)
}

#[derive(Default)]
struct Page {
    content: String,
    /// Opacities in 255ths, and the number of each state.
    opacities: BTreeMap<u8, usize>,
    shadings: Vec<String>,
    open_clips: usize,
}

impl Page {
    fn primitive(&mut self, primitive: &Primitive) {
        match primitive {
            Primitive::Polygon(points, Paint::Solid(color)) => {
                self.begin(*color);
                path(&mut self.content, points, true);
                self.content.push_str("f\nQ\n");
            }
            Primitive::Polygon(points, Paint::Gradient { y1, color1, y2, color2 }) => {
                self.shade(points, (*y1, *color1), (*y2, *color2));
            }
            Primitive::Lines { lines, closed, stroke } => self.lines(lines, *closed, stroke),
            Primitive::Text(label) => self.text(label),
            Primitive::Clip([left, top, width, height]) => {
                let (left, top, width, height) =
                    (Short(*left), Short(*top), Short(*width), Short(*height));
                let _ = writeln!(self.content, "q {left} {top} {width} {height} re W n");
                self.open_clips += 1;
            }
            Primitive::Unclip if self.open_clips > 0 => {
                self.content.push_str("Q\n");
                self.open_clips -= 1;
            }
            Primitive::Unclip => {}
        }
    }

    /// Saves the state, then sets colour and opacity.
    fn begin(&mut self, color: Rgba) {
        let next = self.opacities.len();
        let state = *self.opacities.entry(color.bytes()[3]).or_insert(next);
        let (red, green, blue) = (Short(color.red), Short(color.green), Short(color.blue));
        let _ = writeln!(
            self.content,
            "q /G{state} gs {red} {green} {blue} rg {red} {green} {blue} RG"
        );
    }

    fn shade(&mut self, points: &[Point], (y1, color1): (f64, Rgba), (y2, color2): (f64, Rgba)) {
        let parts = |color: Rgba| {
            format!("[{} {} {}]", Short(color.red), Short(color.green), Short(color.blue))
        };
        let number = self.shadings.len();
        self.shadings.push(format!(
            "<< /ShadingType 2 /ColorSpace /DeviceRGB /Coords [0 {} 0 {}] /Extend [true true] \
             /Function << /FunctionType 2 /Domain [0 1] /N 1 /C0 {} /C1 {} >> >>",
            Short(y1),
            Short(y2),
            parts(color1),
            parts(color2)
        ));
        self.begin(color1.with_alpha((color1.alpha + color2.alpha) / 2.0));
        path(&mut self.content, points, true);
        let _ = writeln!(self.content, "W n /S{number} sh\nQ");
    }

    fn lines(&mut self, lines: &[Vec<Point>], closed: bool, stroke: &Stroke) {
        self.begin(stroke.color);
        let round = u8::from(stroke.round);
        let _ = writeln!(self.content, "{} w {round} J {round} j 10 M", Short(stroke.width));
        if !stroke.dashes.is_empty() && stroke.dashes.iter().sum::<f64>() > 0.0 {
            let lengths: Vec<String> =
                stroke.dashes.iter().map(|length| Short(*length).to_string()).collect();
            let _ =
                writeln!(self.content, "[{}] {} d", lengths.join(" "), Short(stroke.dash_offset));
        }
        for line in lines {
            path(&mut self.content, line, closed);
        }
        self.content.push_str("S\nQ\n");
    }

    fn text(&mut self, label: &Label) {
        self.begin(label.color);
        let (sin, cos) = (-label.angle).to_radians().sin_cos();
        let (x, y) = (Short(label.at[0]), Short(label.at[1]));
        let (sin, minus_sin, cos) = (Short(sin), Short(-sin), Short(cos));
        let _ = writeln!(self.content, "{cos} {sin} {minus_sin} {cos} {x} {y} cm");
        let mut pen = OutlinePen::new(&PDF_WORDS);
        for (character, x) in &label.glyphs {
            label.font.outline(*character, [*x, 0.0], &mut pen);
        }
        self.content.push_str(&pen.text);
        if label.font.bold {
            let _ = writeln!(self.content, "{} w", Short(label.font.pixels() / 16.0));
        }
        self.content.push_str(if label.font.bold { "B\nQ\n" } else { "f\nQ\n" });
    }

    /// The objects of the file and where each begins.
    fn finish(self, width: f64, height: f64) -> Vec<u8> {
        let mut states = String::new();
        for (opacity, number) in &self.opacities {
            let opacity = Short(f64::from(*opacity) / 255.0);
            let _ = write!(states, "/G{number} << /ca {opacity} /CA {opacity} >> ");
        }
        let mut shadings = String::new();
        for (number, shading) in self.shadings.iter().enumerate() {
            let _ = write!(shadings, "/S{number} {shading} ");
        }
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
        // Writing to a vector does not fail.
        let _ = encoder.write_all(self.content.as_bytes());
        let content = encoder.finish().unwrap_or_default();
        let mut stream =
            format!("<< /Length {} /Filter /FlateDecode >>\nstream\n", content.len()).into_bytes();
        stream.extend(content);
        stream.extend(b"\nendstream");
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {} {}] /Contents 4 0 R /Resources << \
             /ExtGState << {states}>> /Shading << {shadings}>> >> >>",
            Short(width),
            Short(height)
        );
        let objects = [
            b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
            page.into_bytes(),
            stream,
        ];
        let mut file = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec();
        let mut table = String::from("0000000000 65535 f \n");
        for (index, object) in objects.iter().enumerate() {
            let _ = writeln!(table, "{:010} 00000 n ", file.len());
            file.extend(format!("{} 0 obj\n", index + 1).bytes());
            file.extend(object);
            file.extend(b"\nendobj\n");
        }
        let start = file.len();
        let count = objects.len() + 1;
        let trailer = format!(
            "xref\n0 {count}\n{table}trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
        );
        file.extend(trailer.bytes());
        file
    }
}

/// The words of a page description for the parts of a path.
pub(crate) struct PathWords {
    pub(crate) move_to: &'static str,
    pub(crate) line_to: &'static str,
    pub(crate) curve_to: &'static str,
    pub(crate) close: &'static str,
}

const PDF_WORDS: PathWords = PathWords { move_to: "m", line_to: "l", curve_to: "c", close: "h" };

fn path(out: &mut String, points: &[Point], closed: bool) {
    PDF_WORDS.path(out, points, closed);
}

impl PathWords {
    /// A polyline, or a polygon.
    pub(crate) fn path(&self, out: &mut String, points: &[Point], closed: bool) {
        for (index, [x, y]) in points.iter().enumerate() {
            let word = if index == 0 { self.move_to } else { self.line_to };
            let _ = writeln!(out, "{} {} {word}", Short(*x), Short(*y));
        }
        if closed {
            out.push_str(self.close);
            out.push('\n');
        }
    }
}

/// Writes outlines; quadratic curves become cubic ones.
pub(crate) struct OutlinePen {
    words: &'static PathWords,
    pub(crate) text: String,
    at: Point,
}

impl OutlinePen {
    pub(crate) const fn new(words: &'static PathWords) -> Self {
        Self { words, text: String::new(), at: [0.0, 0.0] }
    }
}

impl Pen for OutlinePen {
    fn move_to(&mut self, [x, y]: Point) {
        let _ = writeln!(self.text, "{} {} {}", Short(x), Short(y), self.words.move_to);
        self.at = [x, y];
    }
    fn line_to(&mut self, [x, y]: Point) {
        let _ = writeln!(self.text, "{} {} {}", Short(x), Short(y), self.words.line_to);
        self.at = [x, y];
    }
    fn quad_to(&mut self, control: Point, to: Point) {
        let third =
            |end: Point| [0, 1].map(|axis| end[axis] + (control[axis] - end[axis]) * 2.0 / 3.0);
        self.cubic_to(third(self.at), third(to), to);
    }
    fn cubic_to(&mut self, [x1, y1]: Point, [x2, y2]: Point, [x, y]: Point) {
        let (x1, y1, x2, y2) = (Short(x1), Short(y1), Short(x2), Short(y2));
        let word = self.words.curve_to;
        let _ = writeln!(self.text, "{x1} {y1} {x2} {y2} {} {} {word}", Short(x), Short(y));
        self.at = [x, y];
    }
    fn close(&mut self) {
        self.text.push_str(self.words.close);
        self.text.push('\n');
    }
}

//! Fonts: the size of texts, and the outlines of characters.
//!
//! RRDtool lays text out with Pango at 100 dots per inch, DejaVu Sans Mono by default, advance
//! widths rounded to whole pixels, ascent and descent rounded up.  The widths of all legends
//! depend on
//! these numbers, so the same font (from crate `dejavu`) and the same rounding are used here.
//! Families that are not DejaVu Sans Mono are drawn as DejaVu Sans: no file outside the program is
//! read,
//! so a picture is the same on every machine.

use std::io::Read as _;
use std::sync::OnceLock;

use flate2::read::ZlibDecoder;
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// A position: x to the right, y down, in pixels.
pub type Point = [f64; 2];

/// Dots per inch that turn points into pixels.
const DOTS_PER_INCH: f64 = 100.0;

/// The families that can be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// DejaVu Sans Mono.
    Mono,
    /// DejaVu Sans.
    Sans,
}

/// A font: family, style and size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FontChoice {
    /// The family.
    pub family: Family,
    /// Drawn bold, by strokes around the outlines.
    pub bold: bool,
    /// Drawn slanted.
    pub italic: bool,
    /// The size in points of 1/72 inch.
    pub points: f64,
}

impl FontChoice {
    /// DejaVu Sans Mono of a size in points.
    #[must_use]
    pub const fn mono(points: f64) -> Self {
        Self { family: Family::Mono, bold: false, italic: false, points }
    }

    /// Takes family and style out of a Pango description (`Times,Courier Bold 12`), and the size
    /// where there is one.
    pub fn describe(&mut self, description: &str) {
        let mut words: Vec<&str> = description.split_whitespace().collect();
        if let Some(points) = words.last().and_then(|word| word.parse::<f64>().ok()) {
            if points > 0.0 {
                self.points = points.min(POINTS_MAX);
            }
            words.pop();
        }
        (self.bold, self.italic) = (false, false);
        while let Some(word) = words.last() {
            match word.to_ascii_lowercase().as_str() {
                "bold" | "semi-bold" | "ultra-bold" | "heavy" | "black" => self.bold = true,
                "italic" | "oblique" => self.italic = true,
                "normal" | "regular" | "book" | "medium" | "light" | "condensed" => {}
                _ => break,
            }
            words.pop();
        }
        self.family = family(&words.join(" "));
    }

    /// The height of an em, in pixels.
    #[must_use]
    pub fn pixels(&self) -> f64 {
        self.points * DOTS_PER_INCH / 72.0
    }

    /// The distance from the top of a line to its baseline, in pixels.
    #[must_use]
    pub fn ascent(&self) -> f64 {
        (f64::from(self.face().ascender()) * self.scale()).ceil()
    }

    /// The distance from the baseline to the bottom of a line, in pixels.
    #[must_use]
    pub fn descent(&self) -> f64 {
        (-f64::from(self.face().descender()) * self.scale()).ceil()
    }

    /// The height of a line, in pixels.
    #[must_use]
    pub fn height(&self) -> f64 {
        self.ascent() + self.descent()
    }

    /// Pixels of a font unit.
    fn scale(&self) -> f64 {
        self.pixels() / f64::from(self.face().units_per_em())
    }

    fn face(&self) -> &'static Face<'static> {
        face(self.family)
    }

    fn glyph(&self, character: char) -> GlyphId {
        self.face().glyph_index(character).unwrap_or(GlyphId(0))
    }

    /// The advance width of a character, in whole pixels.
    #[must_use]
    pub fn advance(&self, character: char) -> f64 {
        self.advance_zoomed(character, 1.0)
    }

    /// The advance width of a character, in pixels, so that it is whole after a zoom.
    #[must_use]
    pub fn advance_zoomed(&self, character: char, zoom: f64) -> f64 {
        let advance = self.face().glyph_hor_advance(self.glyph(character)).unwrap_or(0);
        (f64::from(advance) * self.scale() * zoom).round() / zoom
    }

    /// What is added between two characters, in pixels, so that it is whole after a zoom.
    fn kerning(&self, left: char, right: char, zoom: f64) -> f64 {
        let Some(table) = self.face().tables().kern else { return 0.0 };
        let (left, right) = (self.glyph(left), self.glyph(right));
        let rows =
            table.subtables.into_iter().filter(|row| row.horizontal && !row.has_state_machine);
        let units: f64 =
            rows.filter_map(|row| row.glyphs_kerning(left, right)).map(f64::from).sum();
        (units * self.scale() * zoom).round() / zoom
    }

    /// The outline of a character at `origin`, as contours of lines and quadratic curves.
    pub fn outline(&self, character: char, origin: Point, pen: &mut dyn Pen) {
        let slant = if self.italic { 0.2 } else { 0.0 };
        let mut builder = Placed { pen, origin, scale: self.scale(), slant };
        self.face().outline_glyph(self.glyph(character), &mut builder);
    }

    /// The name that other programs know the font by.
    #[must_use]
    pub const fn family_name(&self) -> &'static str {
        match self.family {
            Family::Mono => "DejaVu Sans Mono",
            Family::Sans => "DejaVu Sans",
        }
    }
}

/// The largest size of a font, in points.  Far above any label, and keeps outlines within a
/// picture.
pub const POINTS_MAX: f64 = 1000.0;

/// The first known family of a list; the system's default, DejaVu Sans, where there is none.
fn family(list: &str) -> Family {
    let first = list.split(',').map(str::trim).find(|name| !name.is_empty());
    let first = first.unwrap_or("sans").to_ascii_lowercase();
    let is_mono = ["mono", "courier", "fixed", "consol", "terminal"].iter();
    if is_mono.clone().any(|word| first.contains(word)) { Family::Mono } else { Family::Sans }
}

/// The fonts of crate `dejavu`, without what no picture needs (`build.rs`).  DejaVu Sans, which is
/// twice as large and seldom asked for, is packed.
static MONO_FILE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/mono.ttf"));
static SANS_PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sans.ttf.zlib"));

/// Unpacks a font, for as long as the program runs.
fn unpack(packed: &[u8]) -> &'static [u8] {
    let mut bytes = Vec::new();
    // The bytes are part of the program and are unpacked by every test.
    ZlibDecoder::new(packed).read_to_end(&mut bytes).expect("build.rs has packed it");
    bytes.leak()
}

fn face(family: Family) -> &'static Face<'static> {
    static MONO: OnceLock<Face<'static>> = OnceLock::new();
    static SANS: OnceLock<Face<'static>> = OnceLock::new();
    let parse = |bytes: &'static [u8]| {
        // The bytes are part of the program and are parsed by every test.
        Face::parse(bytes, 0).expect("the font of crate dejavu is sound")
    };
    match family {
        Family::Mono => MONO.get_or_init(|| parse(MONO_FILE)),
        Family::Sans => SANS.get_or_init(|| parse(unpack(SANS_PACKED))),
    }
}

/// What receives an outline.
pub trait Pen {
    /// A contour begins.
    fn move_to(&mut self, to: Point);
    /// A line.
    fn line_to(&mut self, to: Point);
    /// A quadratic curve.
    fn quad_to(&mut self, control: Point, to: Point);
    /// A cubic curve.
    fn cubic_to(&mut self, control1: Point, control2: Point, to: Point);
    /// The contour ends where it began.
    fn close(&mut self);
}

/// Turns font units into pixels.
struct Placed<'a> {
    pen: &'a mut dyn Pen,
    origin: Point,
    scale: f64,
    slant: f64,
}

impl Placed<'_> {
    fn place(&self, x: f32, y: f32) -> Point {
        let (x, y) = (f64::from(x), f64::from(y));
        let x = x + y * self.slant;
        [self.origin[0] + x * self.scale, self.origin[1] - y * self.scale]
    }
}

impl OutlineBuilder for Placed<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        self.pen.move_to(self.place(x, y));
    }
    fn line_to(&mut self, x: f32, y: f32) {
        self.pen.line_to(self.place(x, y));
    }
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.pen.quad_to(self.place(x1, y1), self.place(x, y));
    }
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.pen.cubic_to(self.place(x1, y1), self.place(x2, y2), self.place(x, y));
    }
    fn close(&mut self) {
        self.pen.close();
    }
}

/// A text that has been laid out on one line.
#[derive(Debug, Clone, PartialEq)]
pub struct TextLine {
    /// Each visible character and its distance from the start, in pixels.
    pub glyphs: Vec<(char, f64)>,
    /// The width in whole pixels.
    pub width: f64,
}

/// The distance between the places where tabs stop, in pixels.
///
/// RRDtool sets one stop, a tab width and a legend's margin from the start, and Pango repeats it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tabs(pub f64);

impl Tabs {
    fn next(self, x: f64) -> f64 {
        if self.0.is_nan() || self.0 < 1.0 { x } else { ((x / self.0).floor() + 1.0) * self.0 }
    }
}

/// Lays a text out on one line, in a picture of a zoom.
#[must_use]
pub fn lay_out(text: &str, font: FontChoice, tabs: Tabs, zoom: f64) -> TextLine {
    let mut glyphs = Vec::with_capacity(text.len());
    let mut x = 0.0;
    let mut before = None;
    for character in text.chars() {
        let left = before.replace(character);
        match character {
            '\t' => x = tabs.next(x),
            _ if character.is_control() => {}
            _ => {
                if let Some(left) = left.filter(|_| font.family == Family::Sans) {
                    x += font.kerning(left, character, zoom);
                }
                if character != ' ' {
                    glyphs.push((character, x));
                }
                x += font.advance_zoomed(character, zoom);
            }
        }
    }
    TextLine { glyphs, width: x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_pango_at_100_dots_per_inch() {
        // Widths, ascents and heights observed in pictures of RRDtool 1.7.2.
        let seen = [
            (5.0, 4.0, 7.0, 9.0),
            (6.0, 5.0, 8.0, 10.0),
            (8.0, 7.0, 11.0, 14.0),
            (9.0, 8.0, 12.0, 15.0),
            (10.0, 8.0, 13.0, 17.0),
            (12.0, 10.0, 16.0, 20.0),
            (14.0, 12.0, 19.0, 24.0),
            (16.0, 13.0, 21.0, 27.0),
            (20.0, 17.0, 26.0, 33.0),
        ];
        for (points, advance, ascent, height) in seen {
            let font = FontChoice::mono(points);
            assert_eq!(
                (font.advance('I'), font.ascent(), font.height()),
                (advance, ascent, height)
            );
        }
    }

    #[test]
    fn descriptions_name_family_style_and_size() {
        let mut font = FontChoice::mono(8.0);
        font.describe("Times, Arial Bold Italic 12");
        let sans = FontChoice { family: Family::Sans, bold: true, italic: true, points: 12.0 };
        assert_eq!(font, sans);
        font.describe("Liberation Mono");
        assert_eq!(font, FontChoice::mono(12.0));
    }
}

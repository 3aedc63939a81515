//! SVG 1.1: the picture as text.
//!
//! Texts become outlines, each character once as a symbol, so the picture looks the same where no
//! such font
//! is installed.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::font::{FontChoice, Pen, Point};
use crate::picture::{Label, Paint, Picture, Primitive, Rgba, Stroke};

/// The file of a picture.
#[must_use]
pub fn write(picture: &Picture) -> String {
    let mut writer = Writer::default();
    for primitive in &picture.primitives {
        writer.primitive(primitive);
    }
    while writer.open_clips > 0 {
        writer.unclip();
    }
    let (width, height) =
        (f64::from(picture.width) * picture.zoom, f64::from(picture.height) * picture.zoom);
    let (width, height) = (Short(width), Short(height));
    let scale = match picture.zoom {
        1.0 => String::new(),
        zoom => format!(" transform=\"scale({})\"", Short(zoom)),
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" \
         width=\"{width}pt\" height=\"{height}pt\" viewBox=\"0 0 {width} {height}\" version=\"1.1\">\n\
         <defs>\n{}</defs>\n<g id=\"surface\"{scale}>\n{}</g>\n</svg>\n",
        writer.definitions, writer.body
    )
}

#[derive(Default)]
struct Writer {
    definitions: String,
    body: String,
    symbols: HashMap<(u8, u64, char), usize>,
    definition_count: usize,
    open_clips: usize,
}

impl Writer {
    fn primitive(&mut self, primitive: &Primitive) {
        match primitive {
            Primitive::Polygon(points, paint) => self.polygon(points, paint),
            Primitive::Lines { lines, closed, stroke } => self.lines(lines, *closed, stroke),
            Primitive::Text(label) => self.text(label),
            Primitive::Clip([left, top, width, height]) => {
                let id = self.next_id();
                let _ = writeln!(
                    self.definitions,
                    "<clipPath id=\"d{id}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>",
                    Short(*left),
                    Short(*top),
                    Short(*width),
                    Short(*height)
                );
                let _ = writeln!(self.body, "<g clip-path=\"url(#d{id})\">");
                self.open_clips += 1;
            }
            Primitive::Unclip if self.open_clips > 0 => self.unclip(),
            Primitive::Unclip => {}
        }
    }

    fn unclip(&mut self) {
        self.body.push_str("</g>\n");
        self.open_clips -= 1;
    }

    fn next_id(&mut self) -> usize {
        self.definition_count += 1;
        self.definition_count
    }

    fn polygon(&mut self, points: &[Point], paint: &Paint) {
        let (fill, opacity) = match paint {
            Paint::Solid(color) => (hex(*color), color.alpha),
            Paint::Gradient { y1, color1, y2, color2 } => {
                let id = self.next_id();
                let _ = writeln!(
                    self.definitions,
                    "<linearGradient id=\"d{id}\" gradientUnits=\"userSpaceOnUse\" x1=\"0\" y1=\"{}\" x2=\"0\" \
                     y2=\"{}\">{}{}</linearGradient>",
                    Short(*y1),
                    Short(*y2),
                    stop(0, *color1),
                    stop(1, *color2)
                );
                (format!("url(#d{id})"), 1.0)
            }
        };
        let _ = write!(self.body, "<path style=\"stroke:none;fill:{fill};");
        if opacity < 1.0 {
            let _ = write!(self.body, "fill-opacity:{};", Short(opacity));
        }
        self.body.push_str("\" d=\"");
        path(&mut self.body, points, true);
        self.body.push_str("\"/>\n");
    }

    fn lines(&mut self, lines: &[Vec<Point>], closed: bool, stroke: &Stroke) {
        let (cap, join) = if stroke.round { ("round", "round") } else { ("butt", "miter") };
        let _ = write!(
            self.body,
            "<path style=\"fill:none;stroke-width:{};stroke-linecap:{cap};stroke-linejoin:{join};stroke:{};",
            Short(stroke.width),
            hex(stroke.color)
        );
        if stroke.color.alpha < 1.0 {
            let _ = write!(self.body, "stroke-opacity:{};", Short(stroke.color.alpha));
        }
        if !stroke.dashes.is_empty() && stroke.dashes.iter().sum::<f64>() > 0.0 {
            let lengths: Vec<String> =
                stroke.dashes.iter().map(|length| Short(*length).to_string()).collect();
            let _ = write!(self.body, "stroke-dasharray:{};", lengths.join(","));
            if stroke.dash_offset != 0.0 {
                let _ = write!(self.body, "stroke-dashoffset:{};", Short(stroke.dash_offset));
            }
        }
        self.body.push_str("stroke-miterlimit:10;\" d=\"");
        for line in lines {
            path(&mut self.body, line, closed);
        }
        self.body.push_str("\"/>\n");
    }

    fn text(&mut self, label: &Label) {
        let _ = write!(self.body, "<g style=\"fill:{};", hex(label.color));
        if label.color.alpha < 1.0 {
            let _ = write!(self.body, "fill-opacity:{};", Short(label.color.alpha));
        }
        if label.font.bold {
            let width = Short(label.font.pixels() / 16.0);
            let _ = write!(self.body, "stroke:{};stroke-width:{width};", hex(label.color));
        }
        self.body.push('"');
        let [left, baseline] = label.at;
        if label.angle != 0.0 {
            let (x, y) = (Short(left), Short(baseline));
            let _ = write!(
                self.body,
                " transform=\"translate({x} {y}) rotate({})\"",
                Short(-label.angle)
            );
        }
        self.body.push_str(">\n");
        let (left, baseline) = if label.angle == 0.0 { (left, baseline) } else { (0.0, 0.0) };
        for (character, x) in &label.glyphs {
            let id = self.symbol(label.font, *character);
            let (x, y) = (Short(left + x), Short(baseline));
            let _ = writeln!(self.body, "<use xlink:href=\"#d{id}\" x=\"{x}\" y=\"{y}\"/>");
        }
        self.body.push_str("</g>\n");
    }

    fn symbol(&mut self, font: FontChoice, character: char) -> usize {
        let style = (font.family as u8) * 2 + u8::from(font.italic);
        let key = (style, font.points.to_bits(), character);
        if let Some(id) = self.symbols.get(&key) {
            return *id;
        }
        let id = self.next_id();
        self.symbols.insert(key, id);
        let mut pen = TextPen(String::new());
        font.outline(character, [0.0, 0.0], &mut pen);
        let _ = writeln!(
            self.definitions,
            "<symbol overflow=\"visible\" id=\"d{id}\"><path d=\"{}\"/></symbol>",
            pen.0.trim_end()
        );
        id
    }
}

fn path(out: &mut String, points: &[Point], closed: bool) {
    for (index, [x, y]) in points.iter().enumerate() {
        let letter = if index == 0 { 'M' } else { 'L' };
        let _ = write!(out, "{letter} {} {} ", Short(*x), Short(*y));
    }
    if closed {
        out.push_str("Z ");
    }
}

fn stop(offset: u8, color: Rgba) -> String {
    let opacity = Short(color.alpha);
    format!(
        "<stop offset=\"{offset}\" style=\"stop-color:{};stop-opacity:{opacity};\"/>",
        hex(color)
    )
}

fn hex(color: Rgba) -> String {
    let [red, green, blue, _] = color.bytes();
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// A number with at most three digits after the point.
pub(crate) struct Short(pub(crate) f64);

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let thousandths = (self.0 * 1000.0).round();
        if !thousandths.is_finite() {
            return f.write_str("0");
        }
        if thousandths % 1000.0 == 0.0 {
            return write!(f, "{}", thousandths / 1000.0 + 0.0);
        }
        let text = format!("{:.3}", self.0);
        f.write_str(text.trim_end_matches('0'))
    }
}

struct TextPen(String);

impl Pen for TextPen {
    fn move_to(&mut self, [x, y]: Point) {
        let _ = write!(self.0, "M {} {} ", Short(x), Short(y));
    }
    fn line_to(&mut self, [x, y]: Point) {
        let _ = write!(self.0, "L {} {} ", Short(x), Short(y));
    }
    fn quad_to(&mut self, [x1, y1]: Point, [x, y]: Point) {
        let _ = write!(self.0, "Q {} {} {} {} ", Short(x1), Short(y1), Short(x), Short(y));
    }
    fn cubic_to(&mut self, [x1, y1]: Point, [x2, y2]: Point, [x, y]: Point) {
        let (x1, y1, x2, y2) = (Short(x1), Short(y1), Short(x2), Short(y2));
        let _ = write!(self.0, "C {x1} {y1} {x2} {y2} {} {} ", Short(x), Short(y));
    }
    fn close(&mut self) {
        self.0.push_str("Z ");
    }
}

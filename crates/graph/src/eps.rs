//! Encapsulated PostScript, level 2: the picture as vectors.
//!
//! PostScript has no opacity: a colour that is not opaque is mixed with white.  A gradient is
//! drawn as strips.

use std::fmt::Write as _;

use crate::font::Point;
use crate::pdf::{OutlinePen, PathWords};
use crate::picture::{Label, Paint, Picture, Primitive, Rgba, Stroke};
use crate::svg::Short;

const WORDS: PathWords =
    PathWords { move_to: "moveto", line_to: "lineto", curve_to: "curveto", close: "closepath" };

/// Strips of a gradient.
const STRIPS: usize = 32;

/// The file of a picture; a pixel is a point.
#[must_use]
pub fn write(picture: &Picture) -> String {
    let (width, height) =
        (f64::from(picture.width) * picture.zoom, f64::from(picture.height) * picture.zoom);
    let mut out = format!(
        "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 {} {}\n%%HiResBoundingBox: 0 0 {} {}\n\
         %%LanguageLevel: 2\n%%Pages: 1\n%%EndComments\n%%Page: 1 1\ngsave\n",
        width.ceil(),
        height.ceil(),
        Short(width),
        Short(height)
    );
    let zoom = Short(picture.zoom);
    // The origin of a page is at its bottom left.
    let _ = writeln!(out, "[{zoom} 0 0 -{zoom} 0 {}] concat", Short(height));
    let mut open_clips = 0;
    for primitive in &picture.primitives {
        match primitive {
            Primitive::Polygon(points, Paint::Solid(color)) => {
                set_color(&mut out, *color);
                polygon(&mut out, points, "fill");
            }
            Primitive::Polygon(points, Paint::Gradient { y1, color1, y2, color2 }) => {
                gradient(&mut out, points, (*y1, *color1), (*y2, *color2));
            }
            Primitive::Lines { lines, closed, stroke } => {
                draw_lines(&mut out, lines, *closed, stroke);
            }
            Primitive::Text(label) => text(&mut out, label),
            Primitive::Clip([left, top, width, height]) => {
                let (left, top, width, height) =
                    (Short(*left), Short(*top), Short(*width), Short(*height));
                let _ = writeln!(out, "gsave {left} {top} {width} {height} rectclip");
                open_clips += 1;
            }
            Primitive::Unclip if open_clips > 0 => {
                out.push_str("grestore\n");
                open_clips -= 1;
            }
            Primitive::Unclip => {}
        }
    }
    for _ in 0..open_clips {
        out.push_str("grestore\n");
    }
    out.push_str("grestore\nshowpage\n%%EOF\n");
    out
}

fn set_color(out: &mut String, color: Rgba) {
    let mixed = |part: f64| Short(1.0 - color.alpha * (1.0 - part));
    let (red, green, blue) = (mixed(color.red), mixed(color.green), mixed(color.blue));
    let _ = writeln!(out, "{red} {green} {blue} setrgbcolor");
}

fn polygon(out: &mut String, points: &[Point], how: &str) {
    out.push_str("newpath\n");
    WORDS.path(out, points, true);
    out.push_str(how);
    out.push('\n');
}

fn gradient(
    out: &mut String,
    points: &[Point],
    (y1, color1): (f64, Rgba),
    (y2, color2): (f64, Rgba),
) {
    out.push_str("gsave\n");
    polygon(out, points, "clip newpath");
    let ends = |axis: usize| {
        let values = points.iter().map(|point| point[axis]);
        (values.clone().fold(f64::INFINITY, f64::min), values.fold(f64::NEG_INFINITY, f64::max))
    };
    let ((left, right), (top, bottom)) = (ends(0), ends(1));
    let strip = (bottom - top) / STRIPS as f64;
    for index in 0..STRIPS {
        let y = top + strip * index as f64;
        let share = if y1 == y2 { 0.0 } else { ((y - y1) / (y2 - y1)).clamp(0.0, 1.0) };
        let mix = |a: f64, b: f64| a + (b - a) * share;
        let color = Rgba::new(
            mix(color1.red, color2.red),
            mix(color1.green, color2.green),
            mix(color1.blue, color2.blue),
            mix(color1.alpha, color2.alpha),
        );
        set_color(out, color);
        let (width, height) = (Short(right - left), Short(strip));
        let _ = writeln!(out, "{} {} {width} {height} rectfill", Short(left), Short(y));
    }
    out.push_str("grestore\n");
}

fn draw_lines(out: &mut String, lines: &[Vec<Point>], closed: bool, stroke: &Stroke) {
    set_color(out, stroke.color);
    let round = u8::from(stroke.round);
    let _ = writeln!(
        out,
        "{} setlinewidth {round} setlinecap {round} setlinejoin 10 setmiterlimit",
        Short(stroke.width)
    );
    let is_dashed = stroke.dashes.iter().sum::<f64>() > 0.0;
    let dashes: &[f64] = if is_dashed { &stroke.dashes } else { &[] };
    let lengths: Vec<String> = dashes.iter().map(|length| Short(*length).to_string()).collect();
    let _ = writeln!(out, "[{}] {} setdash newpath", lengths.join(" "), Short(stroke.dash_offset));
    for line in lines {
        WORDS.path(out, line, closed);
    }
    out.push_str("stroke\n");
}

fn text(out: &mut String, label: &Label) {
    set_color(out, label.color);
    let (x, y) = (Short(label.at[0]), Short(label.at[1]));
    let _ = writeln!(out, "gsave {x} {y} translate {} rotate newpath", Short(-label.angle));
    let mut pen = OutlinePen::new(&WORDS);
    for (character, x) in &label.glyphs {
        label.font.outline(*character, [*x, 0.0], &mut pen);
    }
    out.push_str(&pen.text);
    if label.font.bold {
        let width = Short(label.font.pixels() / 16.0);
        let _ = writeln!(out, "gsave {width} setlinewidth [] 0 setdash stroke grestore");
    }
    out.push_str("fill grestore\n");
}

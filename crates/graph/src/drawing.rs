//! Draws a graph: marks, grids, texts, legend and axes, as primitives of a picture.
//!
//! The order is RRDtool's: what comes later lies on top.  For pixels, lines and areas are moved to
//! whole pixels, so
//! that they are crisp; vector formats keep the exact positions.

use calendar::CivilZone;

use crate::axis_time::{self, TimeLines};
use crate::axis_value::{ValueAxis, almost_equal};
use crate::elements::Dashes;
use crate::font::Point;
use crate::layout::Geometry;
use crate::picture::{Label, Paint, Picture, Primitive, Rgba, Stroke};
use crate::plot::{Mark, MarkKind};
use crate::settings::{ColorRole, FontMode, ImageFormat, Settings, TextRole};

/// Width of minor grid lines, in pixels.
const MINOR_WIDTH: f64 = 0.4;
/// Width of major grid lines and axes, in pixels.
const MAJOR_WIDTH: f64 = 0.6;

/// Where a text stands relative to its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HorizontalAlign {
    Left,
    Centre,
    Right,
}

/// Where a text stands relative to its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VerticalAlign {
    Top,
    Centre,
    Bottom,
}

/// What is needed to draw.
pub(crate) struct Drawing<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) geometry: &'a Geometry,
    pub(crate) axis: &'a ValueAxis,
    pub(crate) start: i64,
    pub(crate) end: i64,
    fit: bool,
    primitives: Vec<Primitive>,
}

/// Draws everything.
pub(crate) fn draw(
    settings: &Settings,
    geometry: &Geometry,
    axis: &ValueAxis,
    marks: &[Mark],
    values: Vec<Vec<f64>>,
    (start, end): (i64, i64),
    zone: &CivilZone,
) -> Picture {
    let fit = settings.grid_fit && settings.format == ImageFormat::Png;
    let mut drawing = Drawing { settings, geometry, axis, start, end, fit, primitives: Vec::new() };
    drawing.background();
    drawing.marks(marks, values);
    if !settings.only_graph {
        drawing.frame(zone);
        drawing.legend(marks);
        drawing.axes();
    }
    drawing.rules(marks);
    Picture {
        width: u32::try_from(geometry.image_width).unwrap_or(0),
        height: u32::try_from(geometry.image_height).unwrap_or(0),
        zoom: settings.zoom,
        smooth_lines: settings.smooth_lines,
        smooth_texts: settings.font_mode != FontMode::Mono,
        primitives: drawing.primitives,
    }
}

impl Drawing<'_> {
    /// The column of a time, in whole pixels.
    fn x_of(&self, time: i64) -> f64 {
        let per_second = self.geometry.width as f64 / (self.end - self.start) as f64;
        (self.geometry.left as f64 + per_second * (time - self.start) as f64).trunc()
    }

    /// The row of a value.
    fn y_of(&self, value: f64) -> f64 {
        self.geometry.bottom as f64 - self.axis.height_of(value, self.geometry.height)
    }

    /// A point of a line of a width, on whole pixels of the device.
    fn fit_line(&self, [x, y]: Point, width: f64) -> Point {
        if !self.fit {
            return [x, y];
        }
        let zoom = self.settings.zoom;
        let half = width * zoom / 2.0;
        let half = half - half.trunc();
        [((x * zoom + 0.5).trunc() - half) / zoom, ((y * zoom + 0.5).trunc() + half) / zoom]
    }

    /// A point of an area, on whole pixels of the device.
    fn fit_area(&self, [x, y]: Point) -> Point {
        if !self.fit {
            return [x, y];
        }
        let zoom = self.settings.zoom;
        [(x * zoom + 0.5).trunc() / zoom, (y * zoom + 0.5).trunc() / zoom]
    }

    fn area(&mut self, points: &[Point], color: Rgba) {
        let points = points.iter().map(|point| self.fit_area(*point)).collect();
        self.primitives.push(Primitive::Polygon(points, Paint::Solid(color)));
    }

    fn line(&mut self, from: Point, to: Point, width: f64, color: Rgba) {
        self.dashed(from, to, width, color, &[], 0.0);
    }

    fn dashed(
        &mut self,
        from: Point,
        to: Point,
        width: f64,
        color: Rgba,
        dashes: &[f64],
        offset: f64,
    ) {
        let points = vec![self.fit_line(from, width), self.fit_line(to, width)];
        let dashes = dashes.to_vec();
        let stroke = Stroke { width, color, dashes, dash_offset: offset, round: false };
        self.primitives.push(Primitive::Lines { lines: vec![points], closed: false, stroke });
    }

    /// A text, with its angle in degrees around its position.
    pub(crate) fn text(
        &mut self,
        text: &str,
        at: Point,
        role: TextRole,
        color: Rgba,
        angle: f64,
        (horizontal, vertical): (HorizontalAlign, VerticalAlign),
    ) {
        let font = self.settings.font(role);
        let line = crate::markup::lay_out(text, font, self.settings, self.settings.zoom);
        if line.glyphs.is_empty() {
            return;
        }
        let dx = match horizontal {
            HorizontalAlign::Left => 0.0,
            HorizontalAlign::Centre => -(line.width / 2.0).trunc(),
            HorizontalAlign::Right => -line.width,
        };
        let dy = match vertical {
            VerticalAlign::Top => 0.0,
            VerticalAlign::Centre => -(font.height() / 2.0).trunc(),
            VerticalAlign::Bottom => -font.height(),
        };
        let dy = dy + font.ascent();
        let at = turned(at, [dx, dy], angle);
        let at = if self.fit { [at[0].round(), at[1].round()] } else { at };
        let glyphs = line.glyphs;
        self.primitives.push(Primitive::Text(Label { at, angle, font, color, glyphs }));
    }

    fn font_color(&self) -> Rgba {
        self.settings.color(ColorRole::Font)
    }

    fn background(&mut self) {
        let geometry = self.geometry;
        let back = self.settings.color(ColorRole::Back);
        let (width, height) = (geometry.image_width as f64, geometry.image_height as f64);
        self.area(&rectangle(0.0, 0.0, width, height), back);
        let canvas = self.settings.color(ColorRole::Canvas);
        let (left, right) = (geometry.left as f64, geometry.right() as f64);
        self.area(&rectangle(left, geometry.top() as f64, right, geometry.bottom as f64), canvas);
    }

    /// The marks inside the graph.
    fn marks(&mut self, marks: &[Mark], mut values: Vec<Vec<f64>>) {
        let geometry = self.geometry;
        let (width, height) = (geometry.width as f64, geometry.height as f64);
        let clip = [geometry.left as f64, geometry.top() as f64 - 1.0, width, height + 2.0];
        self.primitives.push(Primitive::Clip(clip));
        let (min, max) = (self.axis.min, self.axis.max);
        let zero = if min > 0.0 { min } else { max.min(0.0) };
        // What a mark that is stacked stands on.
        let mut below: Option<Vec<f64>> = None;
        for (mark, values) in marks.iter().zip(&mut values) {
            match mark.kind {
                MarkKind::Tick { fraction } => self.ticks(values, fraction, mark.color),
                MarkKind::Line { .. } | MarkKind::Area { .. } => {
                    keep_near(values, min, max);
                    let under = below.take().filter(|_| mark.stack);
                    if mark.color.alpha != 0.0 {
                        match mark.kind {
                            MarkKind::Line { width } => self.series(values, width, mark),
                            _ => self.filled(values, under.as_deref(), zero, mark),
                        }
                    }
                    for (at, value) in
                        values.iter_mut().enumerate().filter(|(_, value)| value.is_nan())
                    {
                        *value = under.as_ref().map_or(zero, |under| under[at]);
                    }
                    below = Some(std::mem::take(values));
                }
                _ => {}
            }
        }
        self.primitives.push(Primitive::Unclip);
    }

    fn ticks(&mut self, values: &[f64], fraction: f64, color: Rgba) {
        let geometry = self.geometry;
        let (top, bottom, height) =
            (geometry.top() as f64, geometry.bottom as f64, geometry.height as f64);
        for (at, value) in values.iter().enumerate() {
            if value.is_nan() || *value == 0.0 || fraction == 0.0 || fraction.is_nan() {
                continue;
            }
            let x = (geometry.left + at as i64) as f64;
            let (from, to) = if fraction > 0.0 {
                (bottom + 1.0, bottom - fraction * height)
            } else {
                (top - 1.0, top - fraction * height)
            };
            self.line([x, from], [x, to], 1.0, color);
        }
    }

    /// A line through values: stairs, or from point to point in slope mode.
    fn series(&mut self, values: &[f64], width: f64, mark: &Mark) {
        let left = self.geometry.left;
        let slope = self.settings.slope_mode;
        let mut lines: Vec<Vec<Point>> = Vec::new();
        let mut last_y = 0.0;
        let mut drawing = false;
        for at in 1..values.len() {
            if values[at].is_nan() || (slope && values[at - 1].is_nan()) {
                drawing = false;
                continue;
            }
            let y = self.y_of(values[at]);
            let (x_before, x) = ((left + at as i64 - 1) as f64, (left + at as i64) as f64);
            if !drawing {
                let y_before = if slope { self.y_of(values[at - 1]) } else { y };
                lines.push(vec![self.fit_line([x_before, y_before], width)]);
                drawing = true;
            } else if !slope && !almost_equal(y, last_y) {
                let corner = self.fit_line([x_before, y], width);
                extend(&mut lines, corner);
            }
            last_y = y;
            let point = self.fit_line([x, y], width);
            extend(&mut lines, point);
        }
        let (dashes, dash_offset) = dashes_of(mark.dashes.as_ref());
        let stroke = Stroke { width, color: mark.color, dashes, dash_offset, round: true };
        self.primitives.push(Primitive::Lines { lines, closed: false, stroke });
    }

    /// The area between values and what they stand on.
    fn filled(&mut self, values: &[f64], under: Option<&[f64]>, zero: f64, mark: &Mark) {
        let left = self.geometry.left;
        let slope = self.settings.slope_mode;
        let mut upper: Vec<Point> = Vec::new();
        let mut lower: Vec<Point> = Vec::new();
        for at in 0..=values.len() {
            let value = values.get(at).copied().unwrap_or(f64::NAN);
            let base = under.and_then(|under| under.get(at)).copied().unwrap_or(zero);
            let (y, y_base) = (self.y_of(value), self.y_of(base));
            let skipped = !slope && at == 0;
            if skipped || value.is_nan() || y == y_base {
                self.close_area(&mut upper, &mut lower, mark);
                continue;
            }
            let (high, low) = (y.min(y_base) - 0.2, y.max(y_base) + 0.2);
            let x = (left + at as i64) as f64;
            if !slope {
                upper.push([x - 1.0, high]);
                lower.push([x - 1.0, low]);
            }
            upper.push([x, high]);
            lower.push([x, low]);
        }
        self.close_area(&mut upper, &mut lower, mark);
    }

    fn close_area(&mut self, upper: &mut Vec<Point>, lower: &mut Vec<Point>, mark: &Mark) {
        if upper.len() > 1 {
            match mark.kind {
                MarkKind::Area { color2: Some(color2), gradient_height } => {
                    for (top, base) in upper.windows(2).zip(lower.windows(2)) {
                        self.gradient(top, base, (mark.color, color2), gradient_height);
                    }
                }
                _ => {
                    let mut outline = without_inner(upper);
                    outline.extend(without_inner(lower).into_iter().rev());
                    self.area(&outline, mark.color);
                }
            }
        }
        upper.clear();
        lower.clear();
    }

    /// One column of an area with a gradient.
    fn gradient(&mut self, top: &[Point], base: &[Point], colors: (Rgba, Rgba), reach: f64) {
        if top[1][0] <= top[0][0] {
            return;
        }
        let high = (top[0][1] + top[1][1]) / 2.0;
        let low = (base[0][1] + base[1][1]) / 2.0;
        let (y2, y1) = if reach > 0.0 {
            (high, high + reach)
        } else if reach < 0.0 {
            (low + reach, low)
        } else {
            (high, low)
        };
        let paint = Paint::Gradient { y1, color1: colors.1, y2, color2: colors.0 };
        let points = [top[0], top[1], base[1], base[0]];
        let points = points.iter().map(|point| self.fit_area(*point)).collect();
        self.primitives.push(Primitive::Polygon(points, paint));
    }

    /// Border, grids, names of axes, title and watermark.
    fn frame(&mut self, zone: &CivilZone) {
        self.border();
        let (start, end) = (self.start, self.end);
        if let Some(grid) = axis_time::choose(self.settings, start, end, self.geometry.width) {
            let lines = axis_time::lines(&grid, !self.settings.no_minor, start, end, zone);
            self.time_grid(&lines);
        }
        if self.settings.has_y_grid() {
            if self.axis.logarithmic {
                self.log_lines();
            } else {
                self.value_lines();
            }
        }
        self.texts();
    }

    fn border(&mut self) {
        let border = self.settings.border as f64;
        if border <= 0.0 {
            return;
        }
        let (width, height) = (self.geometry.image_width as f64, self.geometry.image_height as f64);
        let (right, bottom) = (width - border, height - border);
        let light = self.settings.color(ColorRole::ShadeA);
        let corner = [
            [0.0, height],
            [border, bottom],
            [border, border],
            [right, border],
            [width, 0.0],
            [0.0, 0.0],
        ];
        self.area(&corner, light);
        let dark = self.settings.color(ColorRole::ShadeB);
        let corner = [
            [border, bottom],
            [right, bottom],
            [right, border],
            [width, 0.0],
            [width, height],
            [0.0, height],
        ];
        self.area(&corner, dark);
    }

    fn time_grid(&mut self, lines: &TimeLines) {
        let (top, bottom) = (self.geometry.top() as f64, self.geometry.bottom as f64);
        let dash = self.settings.grid_dash;
        let (minor, major) =
            (self.settings.color(ColorRole::Grid), self.settings.color(ColorRole::MajorGrid));
        for time in &lines.minor {
            let x = self.x_of(*time);
            self.line([x, top - 2.0], [x, top], MINOR_WIDTH, minor);
            self.line([x, bottom], [x, bottom + 2.0], MINOR_WIDTH, minor);
            self.grid_line([x, bottom + 1.0], [x, top - 1.0], MINOR_WIDTH, minor, dash);
        }
        for time in &lines.major {
            let x = self.x_of(*time);
            self.line([x, top - 2.0], [x, top], MAJOR_WIDTH, major);
            self.line([x, bottom], [x, bottom + 3.0], MAJOR_WIDTH, major);
            self.grid_line([x, bottom + 3.0], [x, top - 2.0], MAJOR_WIDTH, major, dash);
        }
        for (time, text) in &lines.labels {
            let at = [self.x_of(*time), bottom + 3.0];
            let color = self.font_color();
            self.text(
                text,
                at,
                TextRole::Axis,
                color,
                0.0,
                (HorizontalAlign::Centre, VerticalAlign::Top),
            );
        }
    }

    fn grid_line(
        &mut self,
        from: Point,
        to: Point,
        width: f64,
        color: Rgba,
        (on, off): (f64, f64),
    ) {
        let dashes = if on > 0.0 || off > 0.0 { vec![on, off] } else { Vec::new() };
        // The pattern begins where the fitted origin is.
        let offset = self.fit_line([0.0, 0.0], width)[0];
        self.dashed(from, to, width, color, &dashes, offset);
    }

    /// A line across the graph at a row.
    pub(crate) fn across(&mut self, y: f64, is_major: bool) {
        let (left, right) = (self.geometry.left as f64, self.geometry.right() as f64);
        let (width, role, beyond) = match is_major {
            true => (MAJOR_WIDTH, ColorRole::MajorGrid, 2.0),
            false => (MINOR_WIDTH, ColorRole::Grid, 1.0),
        };
        let color = self.settings.color(role);
        self.line([left - 2.0, y], [left, y], width, color);
        self.line([right, y], [right + 2.0, y], width, color);
        self.grid_line(
            [left - beyond, y],
            [right + beyond, y],
            width,
            color,
            self.settings.grid_dash,
        );
    }

    /// The labels of a row, left and, where there is an axis, right.
    pub(crate) fn value_labels(&mut self, y: f64, left: &str, right: Option<&str>) {
        let color = self.font_color();
        if let Some(right) = right {
            let at = [self.geometry.right() as f64 + 7.0, y];
            self.text(
                right,
                at,
                TextRole::Axis,
                color,
                0.0,
                (HorizontalAlign::Left, VerticalAlign::Centre),
            );
        }
        let distance = self.settings.font(TextRole::Axis).points;
        let at = [self.geometry.left as f64 - distance, y];
        self.text(
            left,
            at,
            TextRole::Axis,
            color,
            0.0,
            (HorizontalAlign::Right, VerticalAlign::Centre),
        );
    }

    /// Whether a row lies in the graph.
    pub(crate) fn is_inside(&self, y: f64) -> bool {
        let row = (y + 0.5).floor();
        row >= self.geometry.top() as f64 && row <= self.geometry.bottom as f64
    }

    /// The row of a value.
    pub(crate) fn row(&self, value: f64) -> f64 {
        self.y_of(value)
    }

    fn texts(&mut self) {
        let (settings, geometry) = (self.settings, self.geometry);
        let color = self.font_color();
        let pale = color.with_alpha(0.3);
        let middle = (HorizontalAlign::Centre, VerticalAlign::Centre);
        let names = [
            (&settings.vertical_label, geometry.left_name),
            (&settings.right_axis_label, geometry.right_name),
        ];
        for (name, (x, y)) in names {
            self.text(name, [(x + 10) as f64, y as f64], TextRole::Unit, color, 90.0, middle);
        }
        let title = settings.font(TextRole::Title).points;
        for (index, line) in geometry.title.iter().enumerate() {
            let y = title * 1.3 + title * 1.6 * index as f64;
            let at = [geometry.title_x as f64, y];
            self.text(
                line,
                at,
                TextRole::Title,
                color,
                0.0,
                (HorizontalAlign::Centre, VerticalAlign::Top),
            );
        }
        if !settings.watermark.is_empty() {
            let at = [(geometry.image_width / 2) as f64, (geometry.image_height - 6) as f64];
            let place = (HorizontalAlign::Centre, VerticalAlign::Bottom);
            self.text(&settings.watermark, at, TextRole::Watermark, pale, 0.0, place);
        }
    }

    fn legend(&mut self, marks: &[Mark]) {
        if self.settings.no_legend {
            return;
        }
        let (left, top) = self.geometry.legend_at;
        for (mark, text) in marks.iter().zip(&self.geometry.legend.texts) {
            if text.text.is_empty() {
                continue;
            }
            let at = [left as f64 + text.x, top as f64 + text.y];
            let color = self.font_color();
            self.text(
                &text.text,
                at,
                TextRole::Legend,
                color,
                0.0,
                (HorizontalAlign::Left, VerticalAlign::Bottom),
            );
            if !matches!(mark.kind, MarkKind::Text | MarkKind::Printed | MarkKind::Align(_)) {
                self.legend_color(mark, at);
            }
        }
    }

    /// The colour of a mark beside its legend.
    fn legend_color(&mut self, mark: &Mark, [x, y]: Point) {
        let size = self.settings.font(TextRole::Legend).advance('o') * 1.2;
        let bottom = y - size * 0.4;
        let (top, right) = (bottom - size, x + size);
        let dashes = mark.dashes.as_ref().map_or(Vec::new(), |_| vec![3.0]);
        let shape = if self.settings.dynamic_labels { Some(mark.kind) } else { None };
        match shape {
            Some(MarkKind::HorizontalRule { .. }) => {
                let y = bottom - size / 2.0;
                self.dashed([x, y], [right, y], 1.0, mark.color, &dashes, 0.0);
            }
            Some(MarkKind::VerticalRule { .. }) => {
                let x = x + size / 2.0;
                self.dashed([x, bottom], [x, top], 1.0, mark.color, &dashes, 0.0);
            }
            Some(MarkKind::Line { width }) => {
                self.dashed([x, bottom], [right, top], width, mark.color, &dashes, 0.0);
            }
            _ => {
                // Transparent colours look as they do in the graph.
                self.area(&rectangle(x, top, right, bottom), self.settings.color(ColorRole::Back));
                self.area(&rectangle(x, top, right, bottom), mark.color);
                let color = self.settings.color(ColorRole::Frame);
                let corners = rectangle(x, top, right, bottom);
                let corners = corners.iter().map(|point| self.fit_line(*point, 1.0)).collect();
                let stroke = Stroke { width: 1.0, color, dashes, dash_offset: 0.0, round: false };
                self.primitives.push(Primitive::Lines {
                    lines: vec![corners],
                    closed: true,
                    stroke,
                });
            }
        }
    }

    fn axes(&mut self) {
        let geometry = self.geometry;
        let (left, right) = (geometry.left as f64, geometry.right() as f64);
        let (top, bottom) = (geometry.top() as f64, geometry.bottom as f64);
        let color = self.settings.color(ColorRole::Axis);
        let arrow = self.settings.color(ColorRole::Arrow);
        self.line([left - 4.0, bottom], [right + 4.0, bottom], MAJOR_WIDTH, color);
        self.line([left, bottom + 4.0], [left, top - 4.0], MAJOR_WIDTH, color);
        let head =
            [[right + 2.0, bottom - 3.0], [right + 2.0, bottom + 3.0], [right + 7.0, bottom]];
        self.area(&head, arrow);
        let head = [[left - 3.0, top - 2.0], [left + 3.0, top - 2.0], [left, top - 7.0]];
        self.area(&head, arrow);
        if self.settings.right_axis.is_some() {
            self.line([right, bottom + 4.0], [right, top - 4.0], MAJOR_WIDTH, color);
            let head = [[right - 2.0, top - 2.0], [right + 3.0, top - 2.0], [right, top - 7.0]];
            self.area(&head, arrow);
        }
    }

    fn rules(&mut self, marks: &[Mark]) {
        let geometry = self.geometry;
        for mark in marks {
            let (from, to) = match mark.kind {
                MarkKind::HorizontalRule { value }
                    if value >= self.axis.min && value <= self.axis.max =>
                {
                    let y = self.y_of(value);
                    ([geometry.left as f64, y], [geometry.right() as f64, y])
                }
                MarkKind::VerticalRule { time } if time >= self.start && time <= self.end => {
                    let x = self.x_of(time);
                    ([x, geometry.bottom as f64], [x, geometry.top() as f64])
                }
                _ => continue,
            };
            let (dashes, offset) = dashes_of(mark.dashes.as_ref());
            self.dashed(from, to, 1.0, mark.color, &dashes, offset);
        }
    }
}

/// A position moved by a distance in a direction that is turned by an angle in degrees.
fn turned([x, y]: Point, [dx, dy]: Point, angle: f64) -> Point {
    if angle == 0.0 {
        return [x + dx, y + dy];
    }
    let (sin, cos) = (-angle).to_radians().sin_cos();
    [x + dx * cos - dy * sin, y + dx * sin + dy * cos]
}

fn rectangle(left: f64, top: f64, right: f64, bottom: f64) -> [Point; 4] {
    [[left, top], [left, bottom], [right, bottom], [right, top]]
}

/// Adds a point to the last line; the middle one of three in a row is left out.
fn extend(lines: &mut [Vec<Point>], point: Point) {
    let Some(line) = lines.last_mut() else { return };
    if let [.., before, last] = line.as_mut_slice()
        && before[1] == last[1]
        && last[1] == point[1]
    {
        *last = point;
        return;
    }
    line.push(point);
}

fn dashes_of(dashes: Option<&Dashes>) -> (Vec<f64>, f64) {
    dashes.map_or((Vec::new(), 0.0), |dashes| (dashes.lengths.clone(), dashes.offset))
}

/// Infinite values become limits, and values far outside are moved near.
fn keep_near(values: &mut [f64], min: f64, max: f64) {
    let far = 9.0 * (max - min);
    for value in values {
        if value.is_infinite() {
            *value = if *value > 0.0 { max } else { min };
        }
        if *value > max + far {
            *value = max + far;
        }
        if *value < min - far {
            *value = min - far;
        }
    }
}

/// The points without those between two of the same height.
fn without_inner(points: &[Point]) -> Vec<Point> {
    let inner = |at: usize| {
        at > 0
            && at + 1 < points.len()
            && almost_equal(points[at - 1][1], points[at][1])
            && almost_equal(points[at][1], points[at + 1][1])
    };
    (0..points.len()).filter(|at| !inner(*at)).map(|at| points[at]).collect()
}

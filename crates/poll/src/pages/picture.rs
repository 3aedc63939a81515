//! The picture of a period in MRTG's layout.
//!
//! 100 pixels beside the plot and 35 above and below it; in as a green area, out as a blue line,
//! maxima in dark green and magenta; dotted lines at hours, days, weeks or months, red ones at the
//! larger unit and at `MaxBytes`; an arrow where time runs to.  Every pixel is where `rateup` has it.

use jiff::tz::TimeZone;

use super::columns::{ColumnRules, Columns, Summary};
use super::raster::{Brush, Raster};
use super::scale::{Scale, ScaleRules, exponential, logarithmic};
use super::{PagePeriod, font};
use crate::log_file::LogHistory;
use crate::{PollTarget, StampPosition};

/// Colours of every picture; those of values follow.
const FIXED: [[u8; 3]; 6] =
    [[245, 245, 245], [194, 194, 194], [100, 100, 100], [255, 0, 0], [0, 0, 0], [239, 159, 79]];
const LIGHT: u8 = 1;
const DARK: u8 = 2;
const MAJOR: u8 = 3;
const GRID: u8 = 4;
const IN: u8 = 6;
const OUT: u8 = 7;
const IN_PEAK: u8 = 8;
const OUT_PEAK: u8 = 9;
const PERCENT: u8 = 10;

/// Pixels left of the plot.
const LEFT: i64 = 81;
/// Pixels above the plot.
const ABOVE: i64 = 14;

/// A picture and what the page says about it.
pub struct DrawnPicture {
    /// The PNG file; empty if the sizes of the target give no picture.
    pub png: Vec<u8>,
    /// Numbers for the page.
    pub summary: Summary,
}

/// Draws a period of a target at a time; times of the zone stand at the axis.
#[must_use]
pub fn draw(
    target: &PollTarget,
    history: &LogHistory,
    period: PagePeriod,
    now_s: i64,
    time_zone: &TimeZone,
) -> DrawnPicture {
    let columns = columns(target, history, period, now_s, time_zone);
    let summary = columns.summary;
    let raster = raster(target, &columns, period, now_s, time_zone);
    DrawnPicture { png: raster.map(|raster| raster.png()).unwrap_or_default(), summary }
}

/// The numbers of a period, without its picture.
#[must_use]
pub fn summarize(
    target: &PollTarget,
    history: &LogHistory,
    period: PagePeriod,
    now_s: i64,
    time_zone: &TimeZone,
) -> Summary {
    columns(target, history, period, now_s, time_zone).summary
}

fn columns(
    target: &PollTarget,
    history: &LogHistory,
    period: PagePeriod,
    now_s: i64,
    time_zone: &TimeZone,
) -> Columns {
    let options = &target.options;
    let rules = ColumnRules {
        period,
        count: target.x_size as usize,
        factor: if options.bits { 8.0 } else { 1.0 },
        has_peaks: has_peaks(target, period),
        has_percent: options.dorelpercent,
        counts_zeroes: options.withzeroes,
        hides: [options.noi, options.noo],
        week_format: target.week_format.as_deref().and_then(|f| f.chars().next()).unwrap_or('V'),
        time_zone: time_zone.clone(),
    };
    Columns::new(history, now_s, &rules)
}

fn has_peaks(target: &PollTarget, period: PagePeriod) -> bool {
    period != PagePeriod::Day && target.with_peak.is_some_and(|periods| period.is_in(&periods))
}

/// The picture in pixels.
pub(super) fn raster(
    target: &PollTarget,
    columns: &Columns,
    period: PagePeriod,
    now_s: i64,
    time_zone: &TimeZone,
) -> Option<Raster> {
    let options = &target.options;
    let mut palette = FIXED.to_vec();
    palette
        .extend((0..5).map(|part| {
            target.colours.get(part).map_or(FIXED[5], crate::LegendColour::components)
        }));
    let wide = if options.dorelpercent { 130 } else { 100 };
    let width = f64::from(target.x_size) * target.x_scale + f64::from(wide);
    let height = f64::from(target.y_size) * target.y_scale + 35.0;
    let mut raster = Raster::new(width as i64, height as i64, &palette)?;
    raster.is_transparent = options.transparent;
    let mut painter = Painter::new(raster, target, columns, period);
    painter.frame();
    painter.values();
    painter.plot_frame();
    painter.horizontal_grid();
    painter.vertical_grid();
    painter.limits();
    painter.arrow();
    painter.stamp(now_s, time_zone);
    Some(painter.raster)
}

/// Heights of a column, in units of `YSize`.
struct Heights {
    input: f64,
    output: f64,
    input_max: f64,
    output_max: f64,
    percent: f64,
}

impl Heights {
    fn values(&mut self) -> [&mut f64; 4] {
        [&mut self.input, &mut self.output, &mut self.input_max, &mut self.output_max]
    }

    fn total(&self) -> f64 {
        self.input + self.output + self.input_max + self.output_max
    }
}

struct Painter<'a> {
    raster: Raster,
    target: &'a PollTarget,
    columns: &'a Columns,
    heights: Vec<Heights>,
    /// Heights of `MaxBytes1` and `MaxBytes2`.
    limits: [f64; 2],
    scale: Scale,
    has_peaks: bool,
}

impl<'a> Painter<'a> {
    fn new(
        raster: Raster,
        target: &'a PollTarget,
        columns: &'a Columns,
        period: PagePeriod,
    ) -> Self {
        let factor = if target.options.bits { 8 } else { 1 };
        let max_bytes = target.max_bytes.map(|max| max as i64);
        let fixed = max_bytes[0].max(max_bytes[1]).saturating_mul(factor);
        let is_fixed = period.is_in(&target.unscaled);
        let largest = if is_fixed { fixed.max(columns.largest) } else { columns.largest };
        let rules = ScaleRules {
            marks: target.y_tics,
            label_factor: target.y_tics_factor,
            kilo: target.kilo as f64,
            prefixes: target.kmg.as_deref(),
        };
        let scale = Scale::new(largest, &rules);
        let y_size = f64::from(target.y_size);
        let height = |value: f64| value / scale.top * y_size;
        let heights = columns.columns.iter().map(|column| {
            let line = &column.line;
            let percent = if line.output == 0.0 { 0.0 } else { line.input / line.output };
            Heights {
                input: height(line.input).min(y_size),
                output: height(line.output).min(y_size),
                input_max: height(line.input_max).min(y_size),
                output_max: height(line.output_max).min(y_size),
                percent: (percent.min(1.0) * y_size).trunc(),
            }
        });
        let heights = heights.collect();
        let limits = max_bytes.map(|max| height((max.abs() as f64) * factor as f64));
        let has_peaks = has_peaks(target, period);
        let mut painter = Self { raster, target, columns, heights, limits, scale, has_peaks };
        painter.bend();
        painter
    }

    /// Axes that are not linear.
    fn bend(&mut self) {
        let (options, top) = (&self.target.options, f64::from(self.target.y_size));
        // Of several, `secondmean` counts first, `logscale` last.
        if options.secondmean {
            self.second_mean();
            return;
        }
        let bend = match (options.expscale, options.logscale) {
            (true, _) => exponential,
            (_, true) => logarithmic,
            _ => return,
        };
        for column in &mut self.heights {
            for height in column.values() {
                *height = bend(*height, top);
            }
        }
        self.limits = self.limits.map(|limit| bend(limit, top));
    }

    /// `secondmean`: the axis ends at the mean of what is above the mean.
    fn second_mean(&mut self) {
        for height in self.heights.iter_mut().flat_map(Heights::values) {
            *height = height.max(1.0);
        }
        let largest = |heights: &mut [Heights]| {
            heights.iter_mut().flat_map(Heights::values).fold(0.0, |most, one| one.max(most))
        };
        let before = largest(&mut self.heights);
        let means = self.heights.iter().map(|column| column.total() / 4.0);
        let mean = means.clone().sum::<f64>() / self.heights.len() as f64;
        let above = means.filter(|&one| one > mean);
        let (count, sum) = above.fold((0.0, 0.0), |(count, sum), one| (count + 1.0, sum + one));
        if count == 0.0 {
            // All the same: rateup divides by zero here, and writes `nan` at the axis.
            return;
        }
        let second = sum / count;
        for height in self.heights.iter_mut().flat_map(Heights::values) {
            if *height > second {
                *height = second;
            }
        }
        let stretch = before / largest(&mut self.heights);
        for height in self.heights.iter_mut().flat_map(Heights::values) {
            *height *= stretch;
        }
        self.limits = self.limits.map(|limit| limit.max(1.0) * stretch);
        self.scale.label_step *= f64::from(second as f32 / self.target.y_size as f32);
    }

    fn x(&self, x: f64) -> i64 {
        let (size, scale) = (f64::from(self.target.x_size), self.target.x_scale);
        let left = LEFT as f64;
        let at = match self.target.options.growright {
            true => size * scale + left - x * scale,
            false => left + x * scale,
        };
        at as i64
    }

    fn y(&self, y: f64) -> i64 {
        let scale = self.target.y_scale;
        (f64::from(self.target.y_size) * scale + ABOVE as f64 - y * scale) as i64
    }

    /// Height of a mark, in whole units.
    fn mark(&self, number: u32) -> i64 {
        i64::from(number) * i64::from(self.target.y_size) / i64::from(self.target.y_tics.max(1))
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), brush: Brush) {
        let from = (self.x(from.0), self.y(from.1));
        let to = (self.x(to.0), self.y(to.1));
        self.raster.line(from, to, brush);
    }

    /// The shaded edge of the picture.
    fn frame(&mut self) {
        if self.target.options.noborder {
            return;
        }
        let (width, height) = self.raster.size();
        let (right, bottom) = (width - 1, height - 1);
        let lines = [
            ((0, 0), (right, 0), LIGHT),
            ((1, 1), (right - 1, 1), LIGHT),
            ((0, 0), (0, bottom), LIGHT),
            ((1, 1), (1, bottom - 1), LIGHT),
            ((right, 0), (right, bottom), DARK),
            ((0, bottom), (right, bottom), DARK),
            ((right - 1, 1), (right - 1, bottom - 1), DARK),
            ((1, bottom - 1), (right - 1, bottom - 1), DARK),
        ];
        for (from, to, colour) in lines {
            self.raster.line(from, to, Brush::Solid(colour));
        }
    }

    fn values(&mut self) {
        let options = self.target.options;
        if !options.noi {
            self.area();
        }
        if options.dorelpercent {
            self.curve(|column| column.percent, PERCENT);
        }
        if !options.noo {
            if self.has_peaks {
                self.curve(|column| column.output_max, OUT_PEAK);
            }
            self.curve(|column| column.output, OUT);
        }
    }

    /// In: each column from the ground to the mean, and from there to the maximum.
    fn area(&mut self) {
        for number in 0..self.heights.len() {
            let x = number as f64;
            let (mean, max) = (self.heights[number].input, self.heights[number].input_max);
            if self.has_peaks {
                self.line((x, mean), (x, max), Brush::Solid(IN_PEAK));
            }
            self.line((x, 0.0), (x, mean), Brush::Solid(IN));
            // With a scale that is no whole number, columns would leave gaps.
            self.line((x + 0.5, 0.0), (x + 0.5, mean), Brush::Solid(IN));
        }
    }

    fn curve(&mut self, height: impl Fn(&Heights) -> f64, colour: u8) {
        for number in 1..self.heights.len() {
            let x = number as f64;
            let (from, to) = (height(&self.heights[number - 1]), height(&self.heights[number]));
            self.line((x - 1.0, from), (x, to), Brush::Tall(colour));
        }
    }

    /// The title, and the frame of the plot.
    fn plot_frame(&mut self) {
        let title = match &self.target.png_title {
            Some(title) => Some(title),
            None => self.target.options.printrouter.then_some(&self.target.name),
        };
        if let Some(title) = title {
            self.raster.text((LEFT, 1), title, GRID);
        }
        let (width, height) = (f64::from(self.target.x_size), f64::from(self.target.y_size));
        let from = (self.x(0.0), self.y(0.0));
        let to = (self.x(width), self.y(height));
        self.raster.rectangle(from, to, GRID);
        self.raster.set_dots(GRID);
    }

    /// The unit at the left edge: short where the plot is low, and from the ground if it is still
    /// too long.
    fn unit(&mut self) {
        let options = &self.target.options;
        let y_size = i64::from(self.target.y_size);
        let unit = if options.bits { "Bits" } else { "Bytes" };
        let (per_long, per_short) = match (options.perhour, options.perminute) {
            (true, _) => ("per hour", "per hour"),
            (_, true) => ("per minute", "per minute"),
            _ => ("per Second", "s"),
        };
        let text = match self.target.y_legend.as_deref().filter(|text| !text.is_empty()) {
            Some(text) => text.to_owned(),
            None if per_short != "s" => format!("{unit} {per_long}"),
            None if y_size < font::WIDTH * 16 => format!("{unit}/s"),
            None => format!("{unit} {per_long}"),
        };
        let length = text.chars().count() as i64 * font::WIDTH;
        let bottom = ((y_size - length) / 2).max(0);
        let at = (8, self.y(bottom as f64));
        self.raster.text_up(at, &text, GRID);
    }

    fn horizontal_grid(&mut self) {
        self.unit();
        let width = f64::from(self.target.x_size);
        let marks = self.target.y_tics;
        for number in 0..=marks {
            let height = self.mark(number);
            let at = height as f64;
            self.line((-2.0, at), (1.0, at), Brush::Solid(GRID));
            self.line((width + 2.0, at), (width - 1.0, at), Brush::Solid(GRID));
            self.line((0.0, at), (width, at), Brush::Dotted);
            let label = self.label(number);
            let text_y = self.y((height + font::HEIGHT / 2) as f64);
            let text = format!("{label:6.1} {}", self.scale.prefix);
            self.raster.text((23, text_y), &text, GRID);
            if self.target.options.dorelpercent {
                let percent = (label / (self.scale.label_step * f64::from(marks)) * 100.0) as f32;
                let text = format!("{:>6}%", format!(" {percent:.1}"));
                let x = 77.0 + width * self.target.x_scale + 1.0;
                self.raster.text((x as i64, text_y), &text, PERCENT);
            }
        }
    }

    /// The number at a mark.
    fn label(&self, number: u32) -> f64 {
        let options = &self.target.options;
        let (top, marks) = (f64::from(self.target.y_size), f64::from(self.target.y_tics));
        let bent = |bend: fn(f64, f64) -> f64| {
            bend(self.mark(number) as f64, top) * marks * self.scale.label_step / top
        };
        match (options.secondmean, options.expscale, options.logscale) {
            (false, true, _) => bent(logarithmic),
            (false, false, true) => bent(exponential),
            _ => self.scale.label_step * f64::from(number),
        }
    }

    fn vertical_grid(&mut self) {
        let (columns, height) = (self.columns, f64::from(self.target.y_size));
        for (number, column) in columns.columns.iter().enumerate() {
            let x = number as f64;
            if column.has_line {
                self.line((x, -2.0), (x, 1.0), Brush::Solid(GRID));
                self.line((x, 0.0), (x, height), Brush::Dotted);
            }
            if let Some(label) = &column.label {
                let left = self.x(x) - label.len() as i64 * font::WIDTH / 2;
                let at = (left, self.y(-4.0));
                self.raster.text(at, label, GRID);
            }
            if column.is_major {
                self.line((x, 0.0), (x, height), Brush::Solid(MAJOR));
            }
        }
    }

    /// Red dots at `MaxBytes`, if that is in the plot.
    fn limits(&mut self) {
        let width = f64::from(self.target.x_size);
        for limit in self.limits {
            let y = self.y(limit);
            if self.y(f64::from(self.target.y_size)) < y {
                self.raster.set_dots(MAJOR);
                let ends = ((self.x(0.0), y), (self.x(width), y));
                self.raster.line(ends.0, ends.1, Brush::Dotted);
            }
        }
    }

    fn arrow(&mut self) {
        if self.target.options.noarrow {
            return;
        }
        for (x, half) in [(2, 3), (1, 3), (0, 2), (-1, 1), (-2, 1), (-3, 0)] {
            let (x, half) = (f64::from(x), f64::from(half));
            self.line((x, half), (x, -half), Brush::Solid(MAJOR));
        }
    }

    /// The time of the picture, in one of its corners.
    fn stamp(&mut self, now_s: i64, time_zone: &TimeZone) {
        let position = self.target.stamp_position;
        if position == StampPosition::None {
            return;
        }
        let zoned = jiff::Timestamp::from_second(now_s).unwrap_or_default();
        let zoned = zoned.to_zoned(time_zone.clone());
        let formatted = jiff::fmt::strtime::format(&*self.target.stamp_format, &zoned);
        let text = formatted.unwrap_or_else(|_| self.target.stamp_format.to_string());
        let (width, height) = self.raster.size();
        let right = width - text.chars().count() as i64 * font::WIDTH - 3;
        let lower = height - font::HEIGHT - 3;
        let at = match position {
            StampPosition::LeftLower => (3, lower),
            StampPosition::RightLower => (right, lower),
            StampPosition::LeftUpper => (3, 1),
            _ => (right, 1),
        };
        self.raster.text(at, &text, GRID);
    }
}

//! The value axis: its limits, its grid and its labels.
//!
//! The rules are RRDtool's: limits move to sensible values unless they are rigid; a line at least
//! every five
//! pixels; labels in SI units.  A logarithmic axis has a grid of its own ([`log_grid`]).

use crate::plot::{Mark, MarkKind};
use crate::settings::{Settings, TextRole, YGrid};

/// Prefixes of powers of the base, from the power -8 on.
const PREFIXES: [char; 17] =
    ['y', 'z', 'a', 'f', 'p', 'n', 'u', 'm', ' ', 'k', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y'];

/// The prefix of a power of the base; `?` where there is none.
pub(crate) fn prefix(power: f64) -> char {
    let index = power + 8.0;
    if (0.0..17.0).contains(&index) { PREFIXES[index as usize] } else { '?' }
}

/// Values that the limits move to, scaled by the power of the base.
const SENSIBLE: [f64; 47] = [
    1000.0, 900.0, 800.0, 750.0, 700.0, 600.0, 500.0, 400.0, 300.0, 250.0, 200.0, 125.0, 100.0,
    90.0, 80.0, 75.0, 70.0, 60.0, 50.0, 40.0, 30.0, 25.0, 20.0, 10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0,
    3.5, 3.0, 2.5, 2.0, 1.8, 1.5, 1.2, 1.0, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0,
];

/// Steps of the grid, each with how many lines there may be from label to label.
const STEPS: [(f64, [i32; 4]); 12] = [
    (0.1, [1, 2, 5, 10]),
    (0.2, [1, 5, 10, 20]),
    (0.5, [1, 2, 4, 10]),
    (1.0, [1, 2, 5, 10]),
    (2.0, [1, 5, 10, 20]),
    (5.0, [1, 2, 4, 10]),
    (10.0, [1, 2, 5, 10]),
    (20.0, [1, 5, 10, 20]),
    (50.0, [1, 2, 4, 10]),
    (100.0, [1, 2, 5, 10]),
    (200.0, [1, 5, 10, 20]),
    (500.0, [1, 2, 4, 10]),
];

/// The value axis.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueAxis {
    /// The value at the bottom.
    pub min: f64,
    /// The value at the top.
    pub max: f64,
    /// The power of the base that the range is scaled by.
    pub magnitude: f64,
    /// The magnitude, in units of the labels.
    pub view_factor: f64,
    /// The prefix of labels.
    pub symbol: char,
    /// The distance from line to line.
    pub step: f64,
    /// Lines from label to label.
    pub label_factor: i32,
    /// Digits after the point of labels, and their width, with `--alt-y-grid`.
    pub decimals: Option<(usize, usize)>,
    /// Whether equal distances are equal ratios.
    pub logarithmic: bool,
}

/// Whether two numbers are so close that, as floats, fewer than five floats lie between them.
pub(crate) fn almost_equal(a: f64, b: f64) -> bool {
    let ordered = |number: f64| {
        let bits = (number as f32).to_bits() as i32;
        if bits < 0 { i64::from(i32::MIN) - i64::from(bits) } else { i64::from(bits) }
    };
    (ordered(a) - ordered(b)).abs() <= 4
}

/// The limits by data and options.
pub(crate) fn limits(marks: &[Mark], values: &[Vec<f64>], settings: &Settings) -> (f64, f64) {
    let (mut low, mut high) = (f64::NAN, f64::NAN);
    for (mark, values) in marks.iter().zip(values) {
        if mark.skip_scale || !matches!(mark.kind, MarkKind::Line { .. } | MarkKind::Area { .. }) {
            continue;
        }
        for value in values.iter().copied().filter(|value| value.is_finite()) {
            if (low.is_nan() || value < low) && !(settings.logarithmic && value <= 0.0) {
                low = value;
            }
            if high.is_nan() || value > high {
                high = value;
            }
        }
    }
    if settings.logarithmic {
        if low.is_nan() || high.is_nan() || high <= 0.0 {
            (low, high) = (0.0, 5.1);
        }
        if low <= 0.0 {
            low = high / 10e8;
        }
    } else if low.is_nan() || high.is_nan() {
        (low, high) = (0.0, 1.0);
    }
    let (above, below) = if settings.logarithmic { (2.0, 0.5) } else { (1.0, 1.0) };
    let mut min = match settings.lower_limit {
        Some(limit) if settings.rigid || limit <= low => limit,
        _ => low * below,
    };
    let mut max = match settings.upper_limit {
        Some(limit) if settings.rigid || limit >= high => limit,
        _ => high * above,
    };
    if settings.rigid && settings.allow_shrink {
        min = min.max(low * below);
        max = max.min(high * above);
    }
    if min > max {
        min = if min > 0.0 { 0.99 * max } else { 1.01 * max };
    }
    if almost_equal(min, max) {
        max *= if max > 0.0 { 1.01 } else { 0.99 };
        if almost_equal(max, 0.0) {
            max = 1.0;
        }
    }
    (min, max)
}

impl ValueAxis {
    /// The axis of some data.  `None`: these limits have no scale.
    pub(crate) fn new(
        marks: &[Mark],
        values: &[Vec<f64>],
        settings: &Settings,
        height: i64,
    ) -> Option<Self> {
        let (min, max) = limits(marks, values, settings);
        let mut axis = Self {
            min,
            max,
            magnitude: 1.0,
            view_factor: 1.0,
            symbol: ' ',
            step: 0.0,
            label_factor: 2,
            decimals: None,
            logarithmic: settings.logarithmic,
        };
        if !settings.logarithmic {
            axis.choose_unit(settings);
        }
        if (!settings.rigid || settings.allow_shrink) && !settings.logarithmic {
            axis.expand(settings);
        }
        axis.choose_grid(settings, height)?;
        Some(axis)
    }

    fn greatest(&self) -> f64 {
        self.min.abs().max(self.max.abs())
    }

    fn choose_unit(&mut self, settings: &Settings) {
        let base = settings.base as f64;
        let power = (self.greatest().ln() / base.ln()).floor();
        let shown = settings.units_exponent.map_or(power, |exponent| f64::from(exponent / 3));
        self.magnitude = base.powf(power);
        self.view_factor = self.magnitude / base.powf(shown);
        self.symbol = prefix(shown);
    }

    fn expand(&mut self, settings: &Settings) {
        if let YGrid::Given { step, label_factor } = settings.y_grid {
            let unit = f64::from(label_factor) * step;
            self.min = unit * (self.min / unit).floor();
            self.max = unit * (self.max / unit).ceil();
            return;
        }
        let range = self.max - self.min;
        if settings.alt_autoscale {
            let mut by = range * 0.1;
            let least = 2.0 * 10f64.powf((self.greatest() / self.magnitude).log10().floor() - 2.0);
            if range < least {
                by = (least - range) * 0.55;
            }
            self.min -= by;
            self.max += by;
        } else if settings.alt_autoscale_min {
            self.min -= range * 0.1;
        } else if settings.alt_autoscale_max {
            self.max += range * 0.1;
        } else {
            self.expand_to_sensible();
        }
    }

    fn expand_to_sensible(&mut self) {
        let (low, high) = (self.min / self.magnitude, self.max / self.magnitude);
        // The pair of the last two, 0.1 and 0, is not used.
        for pair in SENSIBLE[..46].windows(2) {
            let (above, below) = (pair[0], pair[1]);
            if above >= low && below <= low {
                self.min = below * self.magnitude;
            }
            if -above <= low && -below >= low {
                self.min = -above * self.magnitude;
            }
            if above >= high && below <= high {
                self.max = above * self.magnitude;
            }
            if -above <= high && -below >= high {
                self.max = -below * self.magnitude;
            }
        }
    }

    fn choose_grid(&mut self, settings: &Settings, height: i64) -> Option<()> {
        let range = self.max - self.min;
        let scaled = range / self.magnitude;
        if scaled.is_nan() {
            return None;
        }
        self.label_factor = 2;
        let text = settings.font(TextRole::Axis).points;
        match settings.y_grid {
            YGrid::Given { step, label_factor } => {
                (self.step, self.label_factor) = (step, label_factor);
            }
            _ if settings.alt_y_grid => self.choose_alternative(range, text),
            _ => {
                let pixels = |grid: f64| (height as f64 / (scaled / grid)) as i64;
                let chosen = STEPS.iter().find(|step| pixels(step.0) >= 5);
                let (grid, factors) = chosen.unwrap_or(&STEPS[11]);
                let fits = |factor: &&i32| {
                    pixels(*grid).saturating_mul(i64::from(**factor)) as f64 >= 1.8 * text
                };
                if let Some(factor) = factors.iter().find(fits) {
                    self.label_factor = *factor;
                }
                self.step = grid * self.magnitude;
            }
        }
        Some(())
    }

    /// `--alt-y-grid`: steps of powers of ten, and as many digits as they need.
    fn choose_alternative(&mut self, range: f64, text: f64) {
        let unit = self.view_factor / self.magnitude;
        let digits = ((self.greatest() * unit).log10().ceil() as i64).max(1);
        let mut step =
            10f64.powf((range * unit).log10().floor()) / self.view_factor * self.magnitude;
        if step == 0.0 {
            step = 0.1;
        }
        if range / step < 5.0 && step >= 30.0 {
            step /= 10.0;
        }
        if range / step > 15.0 {
            step *= 10.0;
        }
        if range / step > 5.0 {
            self.label_factor = 1;
            if range / step > 8.0 || step < 1.8 * text {
                self.label_factor = 2;
            }
        } else {
            step /= 5.0;
            self.label_factor = 5;
        }
        self.step = step;
        let fraction = (step * f64::from(self.label_factor) * unit).log10().floor() as i64;
        let (width, decimals) =
            if fraction < 0 { (digits - fraction + 1, -fraction) } else { (digits + 1, 0) };
        self.decimals = Some((width.clamp(0, 60) as usize, decimals.clamp(0, 60) as usize));
    }

    /// Pixels above the bottom of the graph.
    #[must_use]
    pub fn height_of(&self, value: f64, height: i64) -> f64 {
        let height = height as f64;
        if !self.logarithmic {
            return height / (self.max - self.min) * (value - self.min);
        }
        if value < self.min {
            return 0.0;
        }
        height / (self.max.log10() - self.min.log10()) * (value.log10() - self.min.log10())
    }
}

/// A line of a logarithmic grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LogLine {
    pub(crate) value: f64,
    /// The power of ten below, and the factor, for labels; `None` for a minor line.
    pub(crate) label: Option<(i32, f64)>,
}

/// Rows of factors of a decade that major lines may have.
const DECADES: [&[f64]; 5] = [
    &[1.0, 10.0],
    &[1.0, 5.0, 10.0],
    &[1.0, 2.0, 5.0, 7.0, 10.0],
    &[1.0, 2.0, 4.0, 6.0, 8.0, 10.0],
    &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0],
];

/// Lines of a logarithmic axis.  2000 lines are more than any height can show.
const LOG_LINES_MAX: usize = 2000;

/// The lines of a logarithmic grid, from below.
pub(crate) fn log_grid(axis: &ValueAxis, height: i64, text: f64) -> Vec<LogLine> {
    let per_decade = height as f64 / (axis.max / axis.min).log10();
    let mut spacing: i32 = 1;
    while per_decade * f64::from(spacing) < 3.0 * text && spacing < 10_000 {
        spacing = if spacing == 1 { 3 } else { spacing + 3 };
    }
    let smallest = |row: &[f64]| per_decade * (10.0 / row[row.len() - 2]).log10();
    let row = DECADES.iter().position(|row| smallest(row) <= 2.0 * text).unwrap_or(5);
    let row_index = row.saturating_sub(1);
    let row = DECADES[row_index];
    let (mantissa, mut power) = decimal_parts(axis.min);
    let mut at = row.iter().position(|factor| *factor >= mantissa || *factor == 10.0).unwrap_or(0);
    if row[at] == 10.0 {
        power += 1;
        at = 0;
    }
    if power % spacing != 0 {
        power += (-power % spacing).abs();
    }
    let is_visible =
        |value: f64| (height as f64 - axis.height_of(value, height) + 0.5).floor() > 0.0;
    let mut lines = Vec::new();
    let mut before = f64::NAN;
    while lines.len() < LOG_LINES_MAX {
        let value = row[at] * 10f64.powi(power);
        if !before.is_nan() && almost_equal(value, before) {
            break;
        }
        before = value;
        let visible = is_visible(value);
        if visible {
            lines.push(LogLine { value, label: Some((power, row[at])) });
        }
        minor_lines(axis, row, row_index, (at, power, spacing), &is_visible, &mut lines);
        if !visible {
            break;
        }
        at += 1;
        if row[at] == 10.0 {
            at = 0;
            power += spacing;
        }
    }
    lines
}

/// The minor lines below a major line.
fn minor_lines(
    axis: &ValueAxis,
    row: &[f64],
    row_index: usize,
    (at, power, spacing): (usize, i32, i32),
    is_visible: &dyn Fn(f64) -> bool,
    lines: &mut Vec<LogLine>,
) {
    let values: Vec<f64> = if row_index < 4 && spacing == 1 {
        let (power, from, to) = match at {
            0 => (power - 1, row[row.len() - 2] as i32 + 1, 10),
            _ => (power, row[at - 1] as i32 + 1, row[at] as i32),
        };
        (from..to).map(|factor| f64::from(factor) * 10f64.powi(power)).collect()
    } else if spacing > 1 {
        let third = spacing / 3;
        let powers = (power - third * 2..power).step_by(third as usize);
        powers.map(|power| 10f64.powi(power)).collect()
    } else {
        Vec::new()
    };
    for value in values.into_iter().filter(|value| *value >= axis.min) {
        if !is_visible(value) {
            break;
        }
        lines.push(LogLine { value, label: None });
    }
}

/// A number as mantissa (1 to 10) and power of ten.
fn decimal_parts(number: f64) -> (f64, i32) {
    let mut power = (number.abs().ln() / 10f64.ln()).floor() as i32;
    let mut mantissa = number / 10f64.powi(power);
    if mantissa >= 10.0 {
        power += 1;
        mantissa = number / 10f64.powi(power);
    }
    (mantissa, power)
}

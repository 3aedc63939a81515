//! Lines and labels of the value axis, drawn.

use crate::axis_value::{log_grid, prefix};
use crate::clock::strfduration;
use crate::drawing::Drawing;
use crate::number::Conversion;
use crate::print::value_as_time;
use crate::settings::{AxisFormatter, RightAxis, TextRole};

/// More lines than any height can show.
const LINES_MAX: i64 = 20_000;

impl Drawing<'_> {
    /// The grid of a linear axis.
    pub(crate) fn value_lines(&mut self) {
        let axis = self.axis.clone();
        let (first, last) =
            ((axis.min / axis.step - 1.0) as i64, (axis.max / axis.step + 1.0) as i64);
        if last.saturating_sub(first) > LINES_MAX {
            return;
        }
        let scaled = axis.step / axis.magnitude * axis.view_factor;
        let greatest = scaled * last as f64;
        let mut right_unit: Option<(f64, char)> = None;
        let mut labels = 0;
        for index in first..=last {
            let value = axis.step * index as f64;
            let y = self.row(value);
            if !self.is_inside(y) {
                continue;
            }
            let next_is_outside = !self.is_within(self.row(axis.step * (index + 1) as f64));
            let wanted =
                index % i64::from(axis.label_factor) == 0 || (labels == 1 && next_is_outside);
            if !wanted {
                if !self.settings.no_minor {
                    self.across(y, false);
                }
                continue;
            }
            labels += 1;
            let left = self.left_label(value, scaled * index as f64, index == 0, greatest);
            let right = self.settings.right_axis.map(|right| {
                let middle = axis.step * (first + last) as f64 / 2.0;
                self.right_label(value, right, greatest, middle, &mut right_unit)
            });
            self.value_labels(y, &left, right.as_deref());
            self.across(y, true);
        }
    }

    /// Whether a row lies between bottom and top of the graph.
    fn is_within(&self, y: f64) -> bool {
        y >= self.geometry.top() as f64 && y <= self.geometry.bottom as f64
    }

    fn left_label(&self, value: f64, scaled: f64, is_zero: bool, greatest: f64) -> String {
        let settings = self.settings;
        if settings.left_axis_formatter != AxisFormatter::Numeric {
            return formatted(value, settings.left_axis_formatter, &settings.left_axis_format);
        }
        let symbol = if is_zero { ' ' } else { self.axis.symbol };
        if !settings.left_axis_format.is_empty() {
            return printf(&settings.left_axis_format, scaled);
        }
        let mut text = match self.axis.decimals {
            Some((width, decimals)) => format!("{scaled:width$.decimals$}"),
            None if greatest < 10.0 => format!("{scaled:4.1}"),
            None => format!("{scaled:4.0}"),
        };
        if self.axis.symbol != ' ' {
            text.push(' ');
            text.push(symbol);
        }
        text
    }

    fn right_label(
        &self,
        value: f64,
        right: RightAxis,
        greatest: f64,
        middle: f64,
        unit: &mut Option<(f64, char)>,
    ) -> String {
        let settings = self.settings;
        let value = value * right.scale + right.shift;
        if let Some(text) = self.formatted_right(value) {
            return text;
        }
        let (magnitude, symbol) = *unit
            .get_or_insert_with(|| magnitude(middle * right.scale + right.shift, settings.base));
        let value = value / magnitude;
        if greatest < 10.0 {
            format!("{value:5.1} {symbol}")
        } else {
            format!("{value:5.0} {symbol}")
        }
    }

    /// A value of the right axis in the format that the options give it; `None` without one.
    fn formatted_right(&self, value: f64) -> Option<String> {
        let (formatter, format) =
            (self.settings.right_axis_formatter, &self.settings.right_axis_format);
        match formatter {
            AxisFormatter::Numeric if format.is_empty() => None,
            AxisFormatter::Numeric => Some(printf(format, value)),
            _ => Some(formatted(value, formatter, format)),
        }
    }

    /// The grid of a logarithmic axis.
    pub(crate) fn log_lines(&mut self) {
        let settings = self.settings;
        let text = settings.font(TextRole::Legend).points;
        for line in log_grid(&self.axis.clone(), self.geometry.height, text) {
            let y = self.row(line.value);
            let Some((power, factor)) = line.label else {
                self.across(y, false);
                continue;
            };
            self.across(y, true);
            let left = match settings.left_axis_formatter {
                AxisFormatter::Numeric if !settings.left_axis_format.is_empty() => {
                    printf(&settings.left_axis_format, line.value)
                }
                AxisFormatter::Numeric if settings.units_si => si_power(line.value, power, factor),
                AxisFormatter::Numeric => exponent(line.value),
                formatter => formatted(line.value, formatter, &settings.left_axis_format),
            };
            let right = settings.right_axis.map(|right| self.log_right_label(line.value, right));
            self.value_labels(y, &left, right.as_deref());
        }
    }

    fn log_right_label(&self, value: f64, right: RightAxis) -> String {
        let settings = self.settings;
        let value = value * right.scale + right.shift;
        if let Some(text) = self.formatted_right(value) {
            return text;
        }
        if settings.units_si {
            let (magnitude, symbol) = magnitude(value, settings.base);
            return format!("{:4.0} {symbol}", value / magnitude);
        }
        exponent(value)
    }
}

/// The power of the base below a value, and its prefix.
fn magnitude(value: f64, base: i64) -> (f64, char) {
    if value == 0.0 || value.is_nan() {
        return (1.0, ' ');
    }
    let power = (value.abs().ln() / (base as f64).ln()).floor();
    let symbol = if power.abs() <= 6.0 { prefix(power) } else { '?' };
    ((base as f64).powf(power), symbol)
}

/// A label of a logarithmic axis in SI units.
fn si_power(value: f64, power: i32, factor: f64) -> String {
    let thousands = (f64::from(power) / 3.0).floor();
    let shown = match value >= 1.0 {
        true => 10f64.powi(power % 3),
        false => 10f64.powi((power + 1) % 3 + 2),
    };
    format!("{:3.0} {}", shown * factor, prefix(thousands))
}

/// As `%3.0e`.
fn exponent(value: f64) -> String {
    Conversion { flag: None, width: 3, precision: Some(0), kind: 'e' }.write(value)
}

/// A value by a format for one number.
fn printf(format: &str, value: f64) -> String {
    let mut out = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some((conversion, after)) = Conversion::parse(rest) {
            out.push_str(&conversion.write(value));
            rest = after;
        } else {
            out.push('%');
            rest = rest.strip_prefix('%').unwrap_or(rest);
        }
    }
    out + rest
}

/// A value as a time in UTC or a duration.
fn formatted(value: f64, formatter: AxisFormatter, format: &str) -> String {
    if formatter == AxisFormatter::Timestamp {
        return value_as_time(format, value, None);
    }
    strfduration(format, value).unwrap_or_default()
}

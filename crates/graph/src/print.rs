//! `PRINT` and `GPRINT`: values as text.

use calendar::{CivilZone, strftime};
use text::c_number::to_int;

use crate::arguments::cut;
use crate::clock::{DurationFormat, dashes, strfduration};
use crate::data::RegularSeries;
use crate::description::Description;
use crate::elements::{Element, Print, PrintStyle};
use crate::number::Conversion;
use crate::reduce::consolidate;
use crate::series::{Data, WallClock};

/// Longest text of a `GPRINT` of a number, in bytes.
const LEGEND_BYTES_MAX: usize = 197;

/// What a format must look like, in the words of RRDtool.
const PATTERN: &str =
    "^(?:[^%]+|%%)*%[-+ 0#]?[0-9]*(?:[.][0-9]+)?l[eEfFgG](?:[^%]+|%%)*(?:%[sS])?(?:[^%]+|%%)*$";

/// Symbols of the powers of the base, from -6 to 6.
const SYMBOLS: [&str; 13] = ["a", "f", "p", "n", "u", "m", " ", "k", "M", "G", "T", "P", "E"];

/// A format that cannot be used, in the words of RRDtool.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PrintError {
    /// Not a format of a number.
    #[error("invalid format string '{0}' (should match '{PATTERN}')")]
    Format(String),
    /// As [`PrintError::Format`], in a table.
    #[error("bad format for PRINT in \"{0}'")]
    TableFormat(String),
    /// Not a format of a duration.
    #[error("{0}")]
    Duration(#[from] DurationFormat),
}

/// Where texts are written to: RRDtool checks formats differently.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Target {
    /// A picture.
    Picture,
    /// A table: no values as times or durations.
    Table,
}

/// The text of each `PRINT` and `GPRINT`; `None` for other elements.  `base` is that of the
/// magnitudes, 1000 or 1024.
///
/// # Errors
/// A format that cannot be used.
pub fn print(
    description: &Description,
    data: &Data,
    base: f64,
    target: Target,
    environment: &WallClock<'_>,
) -> Result<Vec<Option<String>>, PrintError> {
    let mut magnitude = Magnitude { base, shared: None };
    let mut texts = vec![None; description.elements.len()];
    let mut before = String::new();
    for (element, place) in description.elements.iter().zip(&mut texts) {
        let Element::Print(print) = element else { continue };
        if target == Target::Picture || has_text(print, data) {
            before = text(print, data, &mut magnitude, target, environment)?;
        }
        *place = Some(before.clone());
    }
    Ok(texts)
}

/// Whether a table gets a text of its own: for the time that a value does not have, RRDtool repeats
/// the text before.
fn has_text(print: &Print, data: &Data) -> bool {
    let is_timeless = data.point(print.variable).is_some_and(|point| point.time_s.is_none());
    print.style != PrintStyle::Time || !is_timeless
}

fn text(
    print: &Print,
    data: &Data,
    magnitude: &mut Magnitude,
    target: Target,
    environment: &WallClock<'_>,
) -> Result<String, PrintError> {
    let (value, time_s) = match (data.point(print.variable), data.series(print.variable)) {
        (Some(point), _) => (point.value, point.time_s),
        (None, Some(series)) => (of_series(print, series), Some(environment.now_s)),
        (None, None) => (rpn::UNKNOWN, None),
    };
    let text = match print.style {
        PrintStyle::Time => match time_s {
            Some(time_s) => strftime(&print.format, time_s, Some(environment.zone)),
            None => dashes(&print.format),
        },
        PrintStyle::Number => number(&print.format, value, magnitude, target)?,
        _ if target == Target::Table => return Err(PrintError::TableFormat(print.format.clone())),
        PrintStyle::ValueAsTime => value_as_time(&print.format, value, None),
        PrintStyle::ValueAsDuration if !value.is_finite() => whole(value),
        PrintStyle::ValueAsDuration => strfduration(&print.format, value)?,
    };
    let is_cut =
        print.is_in_graph && print.style == PrintStyle::Number && target == Target::Picture;
    Ok(if is_cut { cut(&text, LEGEND_BYTES_MAX).to_owned() } else { text })
}

/// The deprecated form: all finite values of a series as one.
fn of_series(print: &Print, series: &RegularSeries) -> f64 {
    let count = usize::try_from((series.end_s - series.start_s) / series.step_s).unwrap_or(0);
    let values = series.values.iter().take(count).copied().filter(|value| value.is_finite());
    match print.consolidation {
        Some(consolidation) => consolidate(values, consolidation),
        None => rpn::UNKNOWN,
    }
}

/// A value as a time in UTC; as a number, if it is none.
pub(crate) fn value_as_time(format: &str, value: f64, zone: Option<&CivilZone>) -> String {
    let format = if format.is_empty() { "%Y-%m-%d %H:%M:%S" } else { format };
    let is_time = value.is_finite() && value.abs() < 9.2e18;
    if is_time { strftime(format, value as i64, zone) } else { whole(value) }
}

fn whole(value: f64) -> String {
    Conversion { flag: None, width: 0, precision: Some(0), kind: 'f' }.write(value)
}

/// The power of the base that `%S` shares.
struct Magnitude {
    base: f64,
    shared: Option<(f64, &'static str)>,
}

impl Magnitude {
    /// A value divided by the greatest power of the base that it exceeds.
    fn scale(&self, value: f64) -> (f64, f64, &'static str) {
        let mut power = 0.0;
        let mut factor = 1.0;
        if value != 0.0 && !value.is_nan() {
            power = (value.abs().ln() / self.base.ln()).floor();
            factor = self.base.powf(f64::from(to_int(power)));
        }
        let index = to_int(power).checked_add(6);
        let index = index.and_then(|index| usize::try_from(index).ok());
        let symbol = index.and_then(|index| SYMBOLS.get(index)).copied().unwrap_or("?");
        let scaled = if factor == 1.0 { value } else { value / factor };
        (scaled, factor, symbol)
    }
}

fn number(
    format: &str,
    mut value: f64,
    magnitude: &mut Magnitude,
    target: Target,
) -> Result<String, PrintError> {
    match target {
        Target::Picture if !is_format(format) => {
            return Err(PrintError::Format(format.replacen("%S", "%s", 1)));
        }
        Target::Table if !is_table_format(format) => {
            return Err(PrintError::TableFormat(format.to_owned()));
        }
        _ => {}
    }
    let mut format = format.to_owned();
    let mut symbol = magnitude.shared.map_or("", |(_, symbol)| symbol);
    if let Some(at) = format.find("%S") {
        match magnitude.shared {
            Some((factor, _)) => value /= factor,
            None => {
                let (scaled, factor, scaled_symbol) = magnitude.scale(value);
                // Zero has no magnitude: the next value chooses.
                if scaled != 0.0 {
                    magnitude.shared = Some((factor, scaled_symbol));
                }
                (value, symbol) = (scaled, scaled_symbol);
            }
        }
        format.replace_range(at..at + 2, "%s");
    } else if format.contains("%s") {
        let (scaled, factor, scaled_symbol) = magnitude.scale(value);
        magnitude.shared = Some((factor, scaled_symbol));
        (value, symbol) = (scaled, scaled_symbol);
    }
    Ok(written(&format, value, symbol, target))
}

fn written(format: &str, value: f64, symbol: &str, target: Target) -> String {
    let mut text = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            text.push('%');
            rest = after;
        } else if let Some(after) = rest.strip_prefix('s') {
            text.push_str(symbol);
            rest = after;
        } else if let Some((conversion, after)) = Conversion::parse(rest) {
            let number = match target {
                Target::Picture => conversion.write(value),
                Target::Table => conversion.write_as_rrdtool(value),
            };
            // What RRDtool cannot write leaves the whole text empty.
            if number.is_empty() {
                return number;
            }
            text.push_str(&number);
            rest = after;
        }
    }
    text.push_str(rest);
    text
}

/// Whether a format matches [`PATTERN`].
fn is_format(format: &str) -> bool {
    let Some(rest) = after_text(format).strip_prefix('%') else { return false };
    let has_bare_point = {
        let digits =
            |text: &str| text.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
        let flag = usize::from(rest.starts_with(['-', '+', ' ', '0', '#']));
        let after_width = &rest[rest.len() - digits(&rest[flag..])..];
        after_width.strip_prefix('.').is_some_and(|after| digits(after) == after.len())
    };
    let Some((_, rest)) = Conversion::parse(rest) else { return false };
    let rest = after_text(rest);
    let rest = rest.strip_prefix("%s").or_else(|| rest.strip_prefix("%S")).unwrap_or(rest);
    !has_bare_point && after_text(rest).is_empty()
}

/// What follows text and `%%`.
fn after_text(format: &str) -> &str {
    let mut rest = format;
    loop {
        rest = &rest[rest.find('%').unwrap_or(rest.len())..];
        match rest.strip_prefix("%%") {
            Some(after) => rest = after,
            None => return rest,
        }
    }
}

/// The older check, which tables have: one number, and `%s`, `%S` and `%%` anywhere.
fn is_table_format(format: &str) -> bool {
    let mut numbers = 0;
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(['s', 'S', '%']) {
            rest = after;
            continue;
        }
        let after = rest.strip_prefix([' ', '+', '-']).unwrap_or(rest);
        let is_digit = |digit: char| digit.is_ascii_digit();
        let after = after.trim_start_matches(is_digit);
        let after = after.strip_prefix('.').unwrap_or(after).trim_start_matches(is_digit);
        let Some(after) = after.strip_prefix('l') else { return false };
        let Some(after) = after.strip_prefix(['e', 'f', 'g']) else { return false };
        numbers += 1;
        rest = after;
    }
    numbers == 1
}

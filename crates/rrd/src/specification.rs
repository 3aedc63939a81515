//! Definitions of data sources and archives, as arguments write them.
//!
//! `DS:name:GAUGE:600:0:U`, `RRA:AVERAGE:0.5:1:600`, in RRDtool's grammar and with its errors.

use crate::compute;
use crate::error::{Error, Result, refuse};
use crate::header::{
    Archive, ConsolidationFunction, FAILURES_WINDOW_MAX, SourceKind, StoredDataSource, Values,
    archive_value, source_value,
};
use crate::number::{self, UNKNOWN, leading_integer, scaled_duration};

/// Longest name of a data source, in bytes.
pub const NAME_BYTES_MAX: usize = 19;

/// A data source as an argument defines it.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceDefinition {
    /// The source.
    pub source: StoredDataSource,
    /// The source of another file that its values come from.
    pub mapped: Option<MappedSource>,
}

/// A source of another file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedSource {
    /// The name of the data source.
    pub name: String,
    /// Which of the given files, from 1.
    pub file: Option<i64>,
}

/// The oldest version of the format that has what an argument defines.
pub type Version = u8;

struct Parts<'a> {
    name: &'a str,
    mapped: Option<MappedSource>,
    kind: &'a str,
    rest: &'a str,
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn take_while(text: &str, accepts: impl Fn(u8) -> bool) -> (&str, &str) {
    text.split_at(text.bytes().take_while(|byte| accepts(*byte)).count())
}

/// Splits `name[=other[[index]]]:KIND:rest`.
fn parts(text: &str) -> Option<Parts<'_>> {
    let length_fits = |name: &str| (1..=NAME_BYTES_MAX).contains(&name.len());
    let (name, mut rest) = take_while(text, is_name_byte);
    let mut mapped = None;
    if let Some(other) = rest.strip_prefix('=') {
        let (other, after) = take_while(other, is_name_byte);
        if !length_fits(other) {
            return None;
        }
        let mut file = None;
        rest = after;
        if let Some(index) = after.strip_prefix('[') {
            let (digits, after) = take_while(index, |byte| byte.is_ascii_digit());
            file = Some(digits.parse().ok()?);
            rest = after.strip_prefix(']')?;
        }
        mapped = Some(MappedSource { name: other.to_owned(), file });
    }
    let (kind, rest) = take_while(rest.strip_prefix(':')?, |byte| byte.is_ascii_uppercase());
    let rest = rest.strip_prefix(':')?;
    let fits = length_fits(name) && length_fits(kind) && !rest.is_empty() && !rest.contains('\n');
    fits.then_some(Parts { name, mapped, kind, rest })
}

/// Reads `name:KIND:…`, the part of a source's definition after `DS:`.  `known` are the sources
/// before it.
pub(crate) fn source(
    text: &str,
    known: &[StoredDataSource],
) -> Result<(SourceDefinition, Version)> {
    let Some(parts) = parts(text) else { return Err(refuse!("invalid DS format")) };
    let defined = SourceKind::of(parts.kind)
        .ok_or_else(|| refuse!("invalid DS type specified ({})", parts.kind))
        .and_then(|kind| Ok((kind, source_values(kind, parts.rest, known)?)));
    // The check for the name comes last, so that its error is the one that is said.
    if known.iter().any(|one| one.name == parts.name) {
        return Err(refuse!("Duplicate DS name: {}", parts.name));
    }
    let (kind, values) = defined?;
    let version = match kind {
        SourceKind::DCounter | SourceKind::DDerive => 5,
        _ => 3,
    };
    let source = StoredDataSource { name: parts.name.to_owned(), kind, values };
    Ok((SourceDefinition { source, mapped: parts.mapped }, version))
}

fn source_values(kind: SourceKind, text: &str, known: &[StoredDataSource]) -> Result<Values> {
    if kind == SourceKind::Compute {
        return compute::parse(text, known);
    }
    limits(text).map_err(|error| match error {
        LimitsError::Text(what) => refuse!("failed to parse data source {text}: {what}"),
        LimitsError::Number(error) => error.into(),
    })
}

enum LimitsError {
    Text(&'static str),
    Number(number::NumberError),
}

/// Reads `heartbeat:min:max`.
fn limits(text: &str) -> Result<Values, LimitsError> {
    use LimitsError::{Number, Text};
    /// Longest text of a heartbeat, and of a limit.
    const HEARTBEAT_BYTES_MAX: usize = 31;
    const LIMIT_BYTES_MAX: usize = 18;
    let (heartbeat, rest) = text.split_once(':').ok_or(Text("missing separator"))?;
    if heartbeat.len() > HEARTBEAT_BYTES_MAX {
        return Err(Text("heartbeat too long"));
    }
    let heartbeat = scaled_duration(heartbeat, 1).map_err(Text)?;
    let (minimum, rest) = rest.split_once(':').ok_or(Text("failed to extract min:max"))?;
    let maximum = rest.split(':').next().unwrap_or_default();
    if minimum.is_empty() || minimum.len() > LIMIT_BYTES_MAX || maximum.is_empty() {
        return Err(Text("failed to extract min:max"));
    }
    let maximum = maximum.get(..maximum.len().min(LIMIT_BYTES_MAX)).unwrap_or(maximum);
    let limit = |text: &str, place| match text {
        "U" => Ok(UNKNOWN),
        _ => number::parse(text.as_bytes()).map_err(|error| Number(error.within(place))),
    };
    let minimum = limit(minimum, "parsing min val")?;
    let maximum = limit(maximum, "parsing max val")?;
    if minimum >= maximum {
        return Err(Text("min must be less than max in DS definition"));
    }
    let mut values = Values::default();
    values[source_value::HEARTBEAT] = heartbeat;
    values[source_value::MINIMUM] = minimum.to_bits();
    values[source_value::MAXIMUM] = maximum.to_bits();
    Ok(values)
}

/// Marks a forecast whose other archives have to be made.
pub(crate) const MAKES_OTHERS: u64 = i32::MAX as u64;

/// Reads `FUNCTION:…`, the part of an archive's definition after `RRA:`.  `hash` is that of the
/// file's name.
pub(crate) fn archive(text: &str, step_seconds: u64, hash: u64) -> Result<(Archive, Version)> {
    let mut words = text.split(':').filter(|word| !word.is_empty());
    let mut count = 0;
    let mut parser: Option<ArchiveParser> = None;
    for word in words.by_ref() {
        match &mut parser {
            None => parser = Some(ArchiveParser::begin(word, step_seconds, hash)?),
            Some(parser) => parser.word(count, word)?,
        }
        count += 1;
    }
    let words_min = parser.as_ref().map_or(4, ArchiveParser::words_min);
    match parser {
        Some(parser) if count >= words_min => Ok((parser.archive, parser.version)),
        _ => Err(refuse!("Expected at least {words_min} arguments for RRA but got {count}")),
    }
}

struct ArchiveParser {
    archive: Archive,
    version: Version,
    step_seconds: u64,
    hash: u64,
}

fn in_share(word: &str, accepts: impl Fn(f64) -> bool, what: &str) -> Result<u64> {
    let number =
        number::parse(word.as_bytes()).ok().filter(|number| !accepts_not(&accepts, *number));
    number.map(f64::to_bits).ok_or_else(|| refuse!("Invalid {what}: must be between 0 and 1"))
}

/// What is not a number is not refused: no comparison with it holds.
fn accepts_not(accepts: &impl Fn(f64) -> bool, number: f64) -> bool {
    !number.is_nan() && !accepts(number)
}

impl ArchiveParser {
    fn begin(word: &str, step_seconds: u64, hash: u64) -> Result<Self> {
        let (name, _) = take_while(word, |byte| byte.is_ascii_uppercase());
        let name = name.get(..NAME_BYTES_MAX).unwrap_or(name);
        let function = ConsolidationFunction::of(name)
            .ok_or_else(|| refuse!("Unrecognized consolidation function {name}"))?;
        let mut values = Values::default();
        let mut version = 3;
        let nothing = u64::MAX;
        match function {
            ConsolidationFunction::HwPredict | ConsolidationFunction::MhwPredict => {
                version = if function == ConsolidationFunction::MhwPredict { 4 } else { 3 };
                values[archive_value::ALPHA] = 0.1f64.to_bits();
                values[archive_value::BETA] = (1.0f64 / 288.0).to_bits();
                values[archive_value::DEPENDENT] = MAKES_OTHERS;
            }
            ConsolidationFunction::Seasonal | ConsolidationFunction::DevSeasonal => {
                values[archive_value::GAMMA] = 0.1f64.to_bits();
                values[archive_value::SMOOTHING_WINDOW] = 0.05f64.to_bits();
                values[archive_value::DEPENDENT] = nothing;
            }
            ConsolidationFunction::DevPredict => values[archive_value::DEPENDENT] = nothing,
            ConsolidationFunction::Failures => {
                values[archive_value::DELTA_POSITIVE] = 2.0f64.to_bits();
                values[archive_value::DELTA_NEGATIVE] = 2.0f64.to_bits();
                values[archive_value::WINDOW] = 3;
                values[archive_value::THRESHOLD] = 2;
                values[archive_value::DEPENDENT] = nothing;
            }
            _ => {}
        }
        let archive = Archive { function, rows: 0, steps_per_row: 1, values };
        Ok(Self { archive, version, step_seconds, hash })
    }

    fn words_min(&self) -> usize {
        match self.archive.function {
            ConsolidationFunction::HwPredict
            | ConsolidationFunction::MhwPredict
            | ConsolidationFunction::Failures => 5,
            ConsolidationFunction::DevSeasonal | ConsolidationFunction::DevPredict => 3,
            _ => 4,
        }
    }

    fn unexpected(&self) -> Error {
        let function = self.archive.function.name();
        refuse!("Unexpected extra argument for consolidation function {function}")
    }

    fn rows(&mut self, word: &str, divisor: u64) -> Result<()> {
        let rows = scaled_duration(word, divisor);
        self.archive.rows = rows.map_err(|error| refuse!("Invalid row count {word}: {error}"))?;
        Ok(())
    }

    /// An index that is written from 1.
    fn partner(&mut self, word: &str) {
        self.archive.values[archive_value::DEPENDENT] = as_int(word).wrapping_sub(1) as u64;
    }

    fn word(&mut self, index: usize, word: &str) -> Result<()> {
        use ConsolidationFunction::{
            DevPredict, DevSeasonal, Failures, HwPredict, MhwPredict, Seasonal,
        };
        let function = self.archive.function;
        let step = self.step_seconds;
        match (index, function) {
            (1, function) if !function.is_plain() => self.rows(word, step)?,
            (1, _) => {
                let accepts = |number| (0.0..1.0).contains(&number);
                self.archive.values[archive_value::XFILES_FACTOR] = in_share(word, accepts, "xff")?;
            }
            (2, HwPredict | MhwPredict) => {
                let accepts = |number: f64| number > 0.0 && number < 1.0;
                self.archive.values[archive_value::ALPHA] = in_share(word, accepts, "alpha")?;
            }
            (2, Seasonal | DevSeasonal) => {
                let accepts = |number: f64| number > 0.0 && number < 1.0;
                self.archive.values[archive_value::GAMMA] = in_share(word, accepts, "gamma")?;
                self.archive.values[archive_value::SMOOTH_ROW] = self.hash % self.archive.rows;
            }
            (2, Failures) => {
                let threshold = as_int(word);
                if !(1..=FAILURES_WINDOW_MAX as i64).contains(&threshold) {
                    return Err(refuse!(
                        "Failure threshold is out of range 1, {FAILURES_WINDOW_MAX}"
                    ));
                }
                self.archive.values[archive_value::THRESHOLD] = threshold as u64;
            }
            (2, DevPredict) => self.partner(word),
            (2, _) => {
                let steps = scaled_duration(word, step);
                self.archive.steps_per_row =
                    steps.map_err(|error| refuse!("Invalid step {word}: {error}"))?;
            }
            (3, HwPredict | MhwPredict) => {
                let accepts = |number| (0.0..=1.0).contains(&number);
                self.archive.values[archive_value::BETA] = in_share(word, accepts, "beta")?;
            }
            (3, Seasonal | DevSeasonal) | (4, Failures) => self.partner(word),
            (3, Failures) => self.window(word)?,
            (3, DevPredict) => return Err(self.unexpected()),
            (3, _) => self.rows(word, step.wrapping_mul(self.archive.steps_per_row))?,
            (4, Seasonal | DevSeasonal) => self.smoothing_window(word)?,
            (4, HwPredict | MhwPredict) => self.period(word)?,
            (4, _) => return Err(self.unexpected()),
            (5, _) => self.partner(word),
            _ => return Err(refuse!("Unknown error")),
        }
        Ok(())
    }

    fn window(&mut self, word: &str) -> Result<()> {
        let window = as_int(word);
        let values = &mut self.archive.values;
        if (window as u64) < values[archive_value::THRESHOLD] {
            return Err(refuse!("Window length is shorter than the failure threshold"));
        }
        if !(1..=FAILURES_WINDOW_MAX as i64).contains(&window) {
            return Err(refuse!("Window length is out of range 1, {FAILURES_WINDOW_MAX}"));
        }
        values[archive_value::WINDOW] = window as u64;
        Ok(())
    }

    fn smoothing_window(&mut self, word: &str) -> Result<()> {
        let text = word.strip_prefix("smoothing-window=");
        let number = text.map(|text| number::parse_prefix(text.as_bytes()));
        let Some((number, 1..)) = number else { return Err(refuse!("Invalid option {word}")) };
        if !(0.0..=1.0).contains(&number) {
            let number = text::c_number::fixed(number, 6);
            return Err(refuse!("Invalid smoothing-window {number}: must be between 0 and 1"));
        }
        self.version = 4;
        self.archive.values[archive_value::SMOOTHING_WINDOW] = number.to_bits();
        Ok(())
    }

    fn period(&mut self, word: &str) -> Result<()> {
        // RRDtool keeps the period in 16 bits.
        let period = as_int(word) as u16;
        if u64::from(period) > self.archive.rows {
            return Err(refuse!("Length of seasonal cycle exceeds length of HW prediction array"));
        }
        self.archive.values[archive_value::PERIOD] = f64::from(period).to_bits();
        Ok(())
    }
}

/// What C's `atoi` makes of a text.
fn as_int(text: &str) -> i64 {
    i64::from(leading_integer(text) as i32)
}

/// Adds the archives that a forecast at the end of the list needs, if it names no season.
pub(crate) fn add_partners(archives: &mut Vec<Archive>, hash: u64) -> Result<()> {
    let index = archives.len().wrapping_sub(1);
    let Some(forecast) = archives.get_mut(index) else { return Ok(()) };
    let needs = forecast.values[archive_value::DEPENDENT] == MAKES_OTHERS;
    if !forecast.function.is_forecast() || !needs {
        return Ok(());
    }
    let period = forecast.double(archive_value::PERIOD) as u64;
    if period == 0 {
        return Err(refuse!("Invalid row count 0: the seasonal cycle has no rows"));
    }
    forecast.values[archive_value::DEPENDENT] = index as u64 + 1;
    let forecast = forecast.clone();
    let make = |function, rows, pairs: &[(usize, u64)]| {
        let mut values = Values::default();
        for (place, value) in pairs {
            values[*place] = *value;
        }
        Archive { function, rows, steps_per_row: 1, values }
    };
    let season = [
        (archive_value::GAMMA, forecast.values[archive_value::ALPHA]),
        (archive_value::SMOOTH_ROW, hash % period),
        (archive_value::DEPENDENT, index as u64),
    ];
    let deviations = (archive_value::DEPENDENT, index as u64 + 2);
    archives.push(make(ConsolidationFunction::Seasonal, period, &season));
    archives.push(make(ConsolidationFunction::DevSeasonal, period, &season));
    archives.push(make(ConsolidationFunction::DevPredict, forecast.rows, &[deviations]));
    let failures = [
        (archive_value::DELTA_POSITIVE, 2.0f64.to_bits()),
        (archive_value::DELTA_NEGATIVE, 2.0f64.to_bits()),
        (archive_value::THRESHOLD, 7),
        (archive_value::WINDOW, 9),
        deviations,
    ];
    archives.push(make(ConsolidationFunction::Failures, period, &failures));
    Ok(())
}

/// The hash of a file's name that spreads the rows at which seasons are smoothed: FNV-1 with the
/// 32-bit constants in 64 bits.
pub(crate) fn name_hash(name: &[u8]) -> u64 {
    name.iter()
        .fold(0x811c_9dc5, |hash: u64, byte| hash.wrapping_mul(0x0100_0193) ^ u64::from(*byte))
}

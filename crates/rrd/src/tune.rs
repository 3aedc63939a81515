//! Changes of parameters, in place, by the letters of `rrdtool tune`.
//!
//! `restructure.rs` adds and removes sources and archives.

use crate::error::{Result, refuse};
use crate::header::{
    ConsolidationFunction, FAILURES_WINDOW_MAX, RrdHeader, SourceKind, archive_value, source_value,
};
use crate::holt_winters;
use crate::image::Image;
use crate::number::{self, NumberError, UNKNOWN, leading_integer};
use crate::specification::NAME_BYTES_MAX;

/// Changes one parameter, by the letter of `rrdtool tune`.
///
/// # Errors
/// If RRDtool would fail too; the text is RRDtool's.
pub fn change(image: &mut Image, letter: char, value: &str) -> Result<()> {
    let header = &mut image.header;
    match letter {
        'h' => heartbeat(header, value),
        'i' => limit(header, value, source_value::MINIMUM, "minimum"),
        'a' => limit(header, value, source_value::MAXIMUM, "maximum"),
        'd' => kind(header, value),
        'r' => rename(header, value),
        'p' => delta(header, value, archive_value::DELTA_POSITIVE),
        'n' => delta(header, value, archive_value::DELTA_NEGATIVE),
        'f' => window(header, value, archive_value::THRESHOLD),
        'w' => window(header, value, archive_value::WINDOW),
        'x' => share(header, value, ConsolidationFunction::is_forecast, archive_value::ALPHA),
        'y' => share(header, value, ConsolidationFunction::is_forecast, archive_value::BETA),
        'z' => {
            share(header, value, |one| one == ConsolidationFunction::Seasonal, archive_value::GAMMA)
        }
        'v' => share(
            header,
            value,
            |one| one == ConsolidationFunction::DevSeasonal,
            archive_value::GAMMA,
        ),
        's' | 'S' => smoothing(header, value, letter),
        'b' => forget_forecast(image, value),
        // RRDtool takes a step and does nothing.
        _ => Ok(()),
    }
}

/// The name of a source at the begin of a text, and the text after it.  Longer names are cut as
/// files keep them, so that what is left begins with the rest of the name.
fn leading_name(text: &str) -> Option<(&str, &str)> {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let length = text.bytes().take(NAME_BYTES_MAX).take_while(is_name).count();
    (length > 0).then(|| text.split_at(length))
}

/// Splits `name:rest`.
fn named(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = leading_name(text)?;
    Some((name, rest.strip_prefix(':')?))
}

fn source_index(header: &RrdHeader, name: &str) -> Result<usize> {
    header.source_index(name).ok_or_else(|| refuse!("unknown data source name '{name}'"))
}

fn heartbeat(header: &mut RrdHeader, text: &str) -> Result<()> {
    let given = named(text).filter(|(_, seconds)| {
        let seconds = seconds.trim_ascii_start();
        let digits = seconds.strip_prefix(['-', '+']).unwrap_or(seconds);
        digits.starts_with(|first: char| first.is_ascii_digit())
    });
    let (name, seconds) = given.ok_or_else(|| refuse!("invalid arguments for heartbeat"))?;
    let index = source_index(header, name)?;
    header.sources[index].values[source_value::HEARTBEAT] = leading_integer(seconds) as u64;
    Ok(())
}

/// Longest text of a limit; RRDtool does not look at what follows it.
const LIMIT_BYTES_MAX: usize = 40;

fn limit(header: &mut RrdHeader, text: &str, place: usize, which: &str) -> Result<()> {
    let invalid = || refuse!("invalid arguments for {which} ds value");
    let (name, rest) = named(text).ok_or_else(invalid)?;
    // Nor does it look at what follows the last character that a limit may have: `5x` is 5.
    let is_limit = |byte: &u8| byte.is_ascii_digit() || b"U.e+-".contains(byte);
    let length = rest.bytes().take(LIMIT_BYTES_MAX).take_while(is_limit).count();
    let limit = match &rest[..length] {
        "U" => UNKNOWN,
        number => number::parse(number.as_bytes()).map_err(|_| invalid())?,
    };
    let index = source_index(header, name)?;
    header.sources[index].values[place] = limit.to_bits();
    Ok(())
}

/// Longest name of a type; RRDtool does not look at what follows it.
const KIND_BYTES_MAX: usize = 19;

fn kind(header: &mut RrdHeader, text: &str) -> Result<()> {
    let invalid = || refuse!("invalid arguments for data source type");
    let (name, rest) = named(text).ok_or_else(invalid)?;
    let length = rest.bytes().take(KIND_BYTES_MAX).take_while(u8::is_ascii_uppercase).count();
    let kind = Some(&rest[..length]).filter(|kind| !kind.is_empty()).ok_or_else(invalid)?;
    let index = source_index(header, name)?;
    let unknown = || refuse!("unknown data acquisition function '{kind}'");
    let kind = SourceKind::of(kind).ok_or_else(unknown)?;
    let was = header.sources[index].kind;
    if kind == was {
        // Its last reading still counts.
        return Ok(());
    }
    if kind == SourceKind::Compute || was == SourceKind::Compute {
        return Err(refuse!("a data source cannot be made a computed one, or one into another"));
    }
    header.sources[index].kind = kind;
    header.primary[index].set_reading(b"UNKN");
    Ok(())
}

fn rename(header: &mut RrdHeader, text: &str) -> Result<()> {
    let names = named(text).and_then(|(old, rest)| Some((old, leading_name(rest)?.0)));
    let (old, new) = names.ok_or_else(|| refuse!("invalid arguments for data source type"))?;
    let index = source_index(header, old)?;
    new.clone_into(&mut header.sources[index].name);
    Ok(())
}

/// Sets a parameter of all archives of some functions.
fn set_all(
    header: &mut RrdHeader,
    is_meant: impl Fn(ConsolidationFunction) -> bool,
    place: usize,
    number: f64,
    what: &str,
) -> Result<()> {
    // RRDtool's `nan` has no sign.
    let number = if number.is_nan() { f64::NAN } else { number };
    set_all_bits(header, is_meant, place, number.to_bits(), what)
}

fn set_all_bits(
    header: &mut RrdHeader,
    is_meant: impl Fn(ConsolidationFunction) -> bool,
    place: usize,
    bits: u64,
    what: &str,
) -> Result<()> {
    let mut found = false;
    for archive in header.archives.iter_mut().filter(|archive| is_meant(archive.function)) {
        archive.values[place] = bits;
        found = true;
    }
    match found {
        true => Ok(()),
        false => Err(refuse!("{what} RRA does not exist in this RRD")),
    }
}

fn is_failures(function: ConsolidationFunction) -> bool {
    function == ConsolidationFunction::Failures
}

/// The smallest `delta-pos` and `delta-neg`.
const DELTA_MIN: f64 = 0.1;

fn delta(header: &mut RrdHeader, text: &str, place: usize) -> Result<()> {
    // A text that is no number at all is taken for 0, but 0 itself is too small.
    let parsed = number::parse(text.as_bytes());
    let number = match &parsed {
        Ok(number) => *number,
        Err(NumberError::Tail { .. }) => number::parse_prefix(text.as_bytes()).0,
        Err(_) => return set_all(header, is_failures, place, 0.0, "Failures"),
    };
    if number < DELTA_MIN {
        return Err(refuse!("Parameter specified is too small"));
    }
    if parsed.is_err() {
        return Err(refuse!("Unable to parse parameter in set_deltaarg"));
    }
    set_all(header, is_failures, place, number, "Failures")
}

fn window(header: &mut RrdHeader, text: &str, place: usize) -> Result<()> {
    let number = leading_integer(text);
    if !(1..=FAILURES_WINDOW_MAX as i64).contains(&number) {
        return Err(refuse!("Parameter must be between 1 and {FAILURES_WINDOW_MAX}"));
    }
    set_all_bits(header, is_failures, place, number as u64, "Failures")?;
    holt_winters::check_windows(header)?;
    // The window begins anew.
    let sources = header.sources.len().max(1);
    for (at, values) in header.consolidation.iter_mut().enumerate() {
        holt_winters::erase_violations(&header.archives[at / sources], values);
    }
    Ok(())
}

fn share(
    header: &mut RrdHeader,
    text: &str,
    is_meant: impl Fn(ConsolidationFunction) -> bool,
    place: usize,
) -> Result<()> {
    let number = parameter(text)?;
    if number <= 0.0 || number >= 1.0 {
        return Err(refuse!("Holt-Winters parameter must be between 0 and 1"));
    }
    set_all(header, is_meant, place, number, "Holt-Winters")
}

/// A number; what follows it is left out.
fn parameter(text: &str) -> Result<f64> {
    match number::parse(text.as_bytes()) {
        Ok(number) => Ok(number),
        Err(NumberError::Tail { .. }) => Ok(number::parse_prefix(text.as_bytes()).0),
        Err(_) => Err(refuse!("Unable to parse Holt-Winters parameter")),
    }
}

fn smoothing(header: &mut RrdHeader, text: &str, letter: char) -> Result<()> {
    let function = if letter == 's' {
        ConsolidationFunction::Seasonal
    } else {
        ConsolidationFunction::DevSeasonal
    };
    let number = parameter(text)?;
    // What is not a number is taken, as by RRDtool.
    if !number.is_nan() && !(0.0..=1.0).contains(&number) {
        return Err(refuse!("Holt-Winters parameter must be between 0 and 1"));
    }
    let place = archive_value::SMOOTHING_WINDOW;
    set_all(header, |one| one == function, place, number, "Holt-Winters")?;
    // Older versions do not have the parameter.
    header.version = header.version.max(4);
    Ok(())
}

fn forget_forecast(image: &mut Image, text: &str) -> Result<()> {
    let (name, _) =
        leading_name(text).ok_or_else(|| refuse!("invalid argument for aberrant-reset"))?;
    let index = source_index(&image.header, name)?;
    holt_winters::check_windows(&image.header)?;
    let sources = image.header.sources.len();
    for season in holt_winters::reset(&mut image.header, index) {
        let cells = image.cells[season].iter_mut().skip(index).step_by(sources);
        cells.for_each(|cell| *cell = UNKNOWN);
    }
    Ok(())
}

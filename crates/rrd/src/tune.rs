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
/// With RRDtool's texts.
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

/// Splits `name:rest`; the name is cut as files keep it.
fn named(text: &str) -> Option<(&str, &str)> {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let length = text.bytes().take(NAME_BYTES_MAX).take_while(is_name).count();
    let (name, rest) = text.split_at(length);
    Some((name, rest.strip_prefix(':')?)).filter(|_| length > 0)
}

fn source_index(header: &RrdHeader, name: &str) -> Result<usize> {
    header.source_index(name).ok_or_else(|| refuse!("unknown data source name '{name}'"))
}

fn heartbeat(header: &mut RrdHeader, text: &str) -> Result<()> {
    let given = named(text).filter(|(_, rest)| {
        rest.trim_start_matches(['-', '+']).starts_with(|first: char| first.is_ascii_digit())
    });
    let (name, seconds) = given.ok_or_else(|| refuse!("invalid arguments for heartbeat"))?;
    let index = source_index(header, name)?;
    header.sources[index].values[source_value::HEARTBEAT] = leading_integer(seconds) as u64;
    Ok(())
}

fn limit(header: &mut RrdHeader, text: &str, place: usize, which: &str) -> Result<()> {
    let invalid = || refuse!("invalid arguments for {which} ds value");
    let (name, number) = named(text).ok_or_else(invalid)?;
    let limit = match number {
        "U" => UNKNOWN,
        _ => number::parse(number.as_bytes()).map_err(|_| invalid())?,
    };
    let index = source_index(header, name)?;
    header.sources[index].values[place] = limit.to_bits();
    Ok(())
}

fn kind(header: &mut RrdHeader, text: &str) -> Result<()> {
    let (name, kind) =
        named(text).ok_or_else(|| refuse!("invalid arguments for data source type"))?;
    let index = source_index(header, name)?;
    let unknown = || refuse!("unknown data acquisition function '{kind}'");
    let kind = SourceKind::of(kind).ok_or_else(unknown)?;
    let was = header.sources[index].kind;
    if kind == SourceKind::Compute || was == SourceKind::Compute {
        return Err(refuse!("a data source cannot be made a computed one, or one into another"));
    }
    header.sources[index].kind = kind;
    header.primary[index].set_reading(b"UNKN");
    Ok(())
}

fn rename(header: &mut RrdHeader, text: &str) -> Result<()> {
    let names = named(text)
        .map(|(old, new)| (old, named(&format!("{new}:")).map(|(new, _)| new.len()), new));
    let Some((old, length, new)) = names else {
        return Err(refuse!("invalid arguments for data source type"));
    };
    let length = length.unwrap_or_else(|| new.len().min(NAME_BYTES_MAX));
    let new = new.get(..length).unwrap_or(new).to_owned();
    let index = source_index(header, old)?;
    header.sources[index].name = new;
    Ok(())
}

/// Sets a parameter of all archives of some functions.
fn set_all(
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
    let number = match number::parse(text.as_bytes()) {
        Ok(number) if number < DELTA_MIN => {
            return Err(refuse!("Parameter specified is too small"));
        }
        Ok(number) => number,
        Err(NumberError::Tail { .. }) => {
            return Err(refuse!("Unable to parse parameter in set_deltaarg"));
        }
        Err(_) => 0.0,
    };
    set_all(header, is_failures, place, number.to_bits(), "Failures")
}

fn window(header: &mut RrdHeader, text: &str, place: usize) -> Result<()> {
    let number = leading_integer(text);
    if !(1..=FAILURES_WINDOW_MAX as i64).contains(&number) {
        return Err(refuse!("Parameter must be between 1 and {FAILURES_WINDOW_MAX}"));
    }
    set_all(header, is_failures, place, number as u64, "Failures")?;
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
    set_all(header, is_meant, place, number.to_bits(), "Holt-Winters")
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
    set_all(header, |one| one == function, place, number.to_bits(), "Holt-Winters")?;
    // Older versions do not have the parameter.
    header.version = header.version.max(4);
    Ok(())
}

fn forget_forecast(image: &mut Image, name: &str) -> Result<()> {
    let index = source_index(&image.header, name)?;
    let sources = image.header.sources.len();
    for season in holt_winters::reset(&mut image.header, index) {
        let cells = image.cells[season].iter_mut().skip(index).step_by(sources);
        cells.for_each(|cell| *cell = UNKNOWN);
    }
    Ok(())
}

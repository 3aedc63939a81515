//! Changes of what a file keeps: parameters in place, and sources and archives by a new file.

use crate::error::{Result, refuse};
use crate::header::{
    ConsolidationFunction, FAILURES_WINDOW_MAX, RrdHeader, SourceKind, StoredDataSource,
    archive_value, primary_value, source_value,
};
use crate::holt_winters;
use crate::image::{Image, first_state};
use crate::number::{self, UNKNOWN, leading_integer};
use crate::prefill;
use crate::resize;
use crate::specification::{self, NAME_BYTES_MAX};

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

fn delta(header: &mut RrdHeader, text: &str, place: usize) -> Result<()> {
    let (number, _) = number::parse_prefix(text.as_bytes());
    if number < 0.0 {
        return Err(refuse!("Parameter specified is too small"));
    }
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
    let (number, _) = number::parse_prefix(text.as_bytes());
    if number <= 0.0 || number >= 1.0 {
        return Err(refuse!("Holt-Winters parameter must be between 0 and 1"));
    }
    set_all(header, is_meant, place, number.to_bits(), "Holt-Winters")
}

fn smoothing(header: &mut RrdHeader, text: &str, letter: char) -> Result<()> {
    let function = if letter == 's' {
        ConsolidationFunction::Seasonal
    } else {
        ConsolidationFunction::DevSeasonal
    };
    share(header, text, |one| one == function, archive_value::SMOOTHING_WINDOW)?;
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

/// Whether a word of `rrdtool tune` changes sources or archives.
#[must_use]
pub fn is_structural(word: &str) -> bool {
    ["DEL:", "DS:", "DELRRA:", "RRA:", "RRA#"].iter().any(|prefix| word.starts_with(prefix))
}

/// Adds and removes sources and archives, by the words of `rrdtool tune`.  `hash` is that of the
/// file's name.
///
/// # Errors
/// With RRDtool's texts; also if a removed source or archive is needed by another.
pub fn restructure(image: &mut Image, words: &[String], name: &[u8]) -> Result<()> {
    if let Some(word) = words.iter().find(|word| !is_structural(word)) {
        return Err(refuse!("unparseable argument: {word}"));
    }
    let hash = specification::name_hash(name);
    turn_to_order(image);
    let old = image.clone();
    let mut removed_archives = Vec::new();
    let mut resized = Vec::new();
    for word in words {
        if let Some(name) = word.strip_prefix("DEL:") {
            remove_source(image, name)?;
        } else if let Some(index) = word.strip_prefix("DELRRA:") {
            removed_archives.push(leading_integer(index));
        } else if let Some(text) = word.strip_prefix("RRA#") {
            resized.push(parse_resize(text)?);
        }
    }
    for (index, operation, count) in resized {
        let Some(archive) = image.header.archives.get(index) else { continue };
        let rows = archive.rows as i64;
        let change = match operation {
            '+' => count,
            '-' => -count,
            _ => count - rows,
        };
        if rows + change < 1 {
            removed_archives.push(index as i64);
            continue;
        }
        resize::resize(image, index, change)?;
        turn_to_order(image);
        if change > 0 {
            prefill::fill_unknown(image, &old, index);
        }
    }
    remove_archives(image, &removed_archives)?;
    for word in words {
        if let Some(text) = word.strip_prefix("DS:") {
            let (defined, version) = specification::source(text, &image.header.sources)?;
            image.header.version = image.header.version.max(version);
            add_source(image, defined.source);
        } else if let Some(text) = word.strip_prefix("RRA:") {
            let first = image.header.archives.len();
            add_archive(image, text, hash)?;
            for index in first..image.header.archives.len() {
                prefill::fill_unknown(image, &old, index);
                prefill::take_state(image, index);
            }
        }
    }
    Ok(())
}

fn parse_resize(text: &str) -> Result<(usize, char, i64)> {
    let failed = || refuse!("Failed to parse RRA# command");
    let (index, rest) = text.split_once(':').ok_or_else(failed)?;
    let index = index.parse().map_err(|_| failed())?;
    let operation = rest.chars().next().filter(|one| "+-=".contains(*one)).ok_or_else(failed)?;
    let count: i64 = rest[1..].parse().map_err(|_| failed())?;
    Ok((index, operation, count))
}

/// Puts the rows of all archives into their order, as RRDtool does when it writes a file anew.
fn turn_to_order(image: &mut Image) {
    let sources = image.header.sources.len();
    for ((cells, row), archive) in
        image.cells.iter_mut().zip(&mut image.header.current_row).zip(&image.header.archives)
    {
        let turn = usize::try_from(*row + 1).unwrap_or(0) * sources;
        let length = cells.len().max(1);
        cells.rotate_left(turn % length);
        *row = archive.rows - 1;
    }
}

fn remove_source(image: &mut Image, name: &str) -> Result<()> {
    let Some(index) = image.header.source_index(name) else { return Ok(()) };
    let sources = image.header.sources.len();
    if sources == 1 {
        return Err(refuse!("the last data source cannot be removed"));
    }
    crate::compute::remove(&mut image.header.sources, index)?;
    let header = &mut image.header;
    header.primary.remove(index);
    let mut at = 0;
    header.consolidation.retain(|_| {
        at += 1;
        (at - 1) % sources != index
    });
    for cells in &mut image.cells {
        let mut at = 0;
        cells.retain(|_| {
            at += 1;
            (at - 1) % sources != index
        });
    }
    Ok(())
}

fn remove_archives(image: &mut Image, removed: &[i64]) -> Result<()> {
    let stays = |index: usize| !removed.contains(&i64::try_from(index).unwrap_or(i64::MAX));
    let count = image.header.archives.len();
    if removed.is_empty() || (0..count).all(stays) {
        return Ok(());
    }
    if !(0..count).any(stays) {
        return Err(refuse!("the last archive cannot be removed"));
    }
    let sources = image.header.sources.len();
    // Archives that depend on others name them by their index.
    let new_index: Vec<usize> =
        (0..count).map(|index| (0..index).filter(|before| stays(*before)).count()).collect();
    let header = &mut image.header;
    for (index, archive) in header.archives.iter_mut().enumerate() {
        if archive.function.is_plain() || !stays(index) {
            continue;
        }
        let dependent = archive.dependent();
        let Some(new) = new_index.get(dependent).filter(|_| stays(dependent)) else {
            let function = archive.function.name();
            return Err(refuse!("rra {index} ({function}) needs rra {dependent}"));
        };
        archive.values[archive_value::DEPENDENT] = *new as u64;
    }
    keep(&mut header.archives, stays);
    keep(&mut header.current_row, stays);
    keep(&mut image.cells, stays);
    keep(&mut header.consolidation, |at| stays(at / sources));
    Ok(())
}

fn keep<T>(list: &mut Vec<T>, stays: impl Fn(usize) -> bool) {
    let mut at = 0;
    list.retain(|_| {
        at += 1;
        stays(at - 1)
    });
}

fn add_source(image: &mut Image, source: StoredDataSource) {
    let header = &mut image.header;
    let sources = header.sources.len();
    let seconds = header.last_update.seconds as u64;
    let mut primary = header.primary[0];
    primary.set_reading(b"U");
    primary.values = Default::default();
    let unknown = seconds % header.step_seconds;
    primary.values[primary_value::UNKNOWN_SECONDS] = unknown;
    primary.values[primary_value::VALUE] = 0.0f64.to_bits();
    let mut states = Vec::with_capacity(header.consolidation.len() + header.archives.len());
    for (archive, old) in header.consolidation.chunks_exact(sources).enumerate() {
        states.extend_from_slice(old);
        states.push(first_state(header, archive, unknown));
    }
    header.consolidation = states;
    header.primary.push(primary);
    header.sources.push(source);
    for cells in &mut image.cells {
        let rows = cells.chunks_exact(sources);
        *cells = rows.flat_map(|row| row.iter().copied().chain([UNKNOWN])).collect();
    }
}

fn add_archive(image: &mut Image, text: &str, hash: u64) -> Result<()> {
    let header = &mut image.header;
    let (archive, version) = specification::archive(text, header.step_seconds, hash)?;
    header.version = header.version.max(version);
    let first = header.archives.len();
    header.archives.push(archive);
    specification::add_partners(&mut header.archives, hash)?;
    let sources = header.sources.len();
    let unknown = header.last_update.seconds as u64 % header.step_seconds;
    for index in first..header.archives.len() {
        let state = first_state(header, index, unknown);
        header.consolidation.extend(std::iter::repeat_n(state, sources));
        let rows = header.archives[index].rows;
        header.current_row.push(rows - 1);
        let cells = usize::try_from(rows).unwrap_or(usize::MAX).saturating_mul(sources);
        if cells > (1 << 30) {
            return Err(refuse!("{rows} rows do not fit into memory"));
        }
        image.cells.push(vec![UNKNOWN; cells]);
    }
    Ok(())
}

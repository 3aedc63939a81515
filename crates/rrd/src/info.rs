//! What a file keeps and its state, as keys and values.

use std::path::Path;

use text::c_number::push_exponential;

use crate::compute;
use crate::error::{Result, refuse};
use crate::file::{Access, File};
use crate::header::{
    ConsolidationFunction, RrdHeader, SourceKind, archive_value, consolidation_value, primary_value,
};
use crate::holt_winters;

/// A value of a key.
#[derive(Debug, Clone, PartialEq)]
pub enum InfoValue {
    /// A double; not a number is shown as `NaN`.
    Double(f64),
    /// A count.
    Count(u64),
    /// A count that RRDtool takes as a signed int.
    Int(i64),
    /// Text.
    Text(String),
}

/// All keys of a file and their values, in RRDtool's order.
#[must_use]
pub fn info(file: &File, name: &str) -> Vec<(String, InfoValue)> {
    let header = file.header();
    let mut all = vec![
        ("filename".to_owned(), InfoValue::Text(name.to_owned())),
        ("rrd_version".to_owned(), InfoValue::Text(format!("{:04}", header.version))),
        ("step".to_owned(), InfoValue::Count(header.step_seconds)),
        ("last_update".to_owned(), InfoValue::Count(header.last_update.seconds as u64)),
        ("header_size".to_owned(), InfoValue::Count(file.header_bytes())),
    ];
    for index in 0..header.sources.len() {
        push_source(&mut all, header, index);
    }
    for index in 0..header.archives.len() {
        push_archive(&mut all, header, index);
    }
    all
}

fn push_source(all: &mut Vec<(String, InfoValue)>, header: &RrdHeader, index: usize) {
    let source = &header.sources[index];
    let mut push = |key: &str, value| all.push((format!("ds[{}].{key}", source.name), value));
    push("index", InfoValue::Count(index as u64));
    push("type", InfoValue::Text(source.kind.name().to_owned()));
    if source.kind == SourceKind::Compute {
        push("cdef", InfoValue::Text(compute::text(source, &header.sources)));
    } else {
        push("minimal_heartbeat", InfoValue::Count(source.heartbeat_seconds()));
        push("min", InfoValue::Double(source.minimum()));
        push("max", InfoValue::Double(source.maximum()));
    }
    let primary = &header.primary[index];
    let reading = String::from_utf8_lossy(primary.reading()).into_owned();
    push("last_ds", InfoValue::Text(reading));
    push("value", InfoValue::Double(f64::from_bits(primary.values[primary_value::VALUE])));
    push("unknown_sec", InfoValue::Count(primary.values[primary_value::UNKNOWN_SECONDS]));
}

fn push_archive(all: &mut Vec<(String, InfoValue)>, header: &RrdHeader, index: usize) {
    let archive = &header.archives[index];
    let mut push = |key: &str, value| all.push((format!("rra[{index}].{key}"), value));
    push("cf", InfoValue::Text(archive.function.name().to_owned()));
    push("rows", InfoValue::Count(archive.rows));
    push("cur_row", InfoValue::Count(header.current_row[index]));
    push("pdp_per_row", InfoValue::Count(archive.steps_per_row));
    let double = |place: usize| InfoValue::Double(archive.double(place));
    match archive.function {
        ConsolidationFunction::HwPredict | ConsolidationFunction::MhwPredict => {
            push("alpha", double(archive_value::ALPHA));
            push("beta", double(archive_value::BETA));
        }
        ConsolidationFunction::Seasonal | ConsolidationFunction::DevSeasonal => {
            push("gamma", double(archive_value::GAMMA));
            if header.version >= 4 {
                push("smoothing_window", double(archive_value::SMOOTHING_WINDOW));
            }
        }
        ConsolidationFunction::Failures => {
            push("delta_pos", double(archive_value::DELTA_POSITIVE));
            push("delta_neg", double(archive_value::DELTA_NEGATIVE));
            push("failure_threshold", InfoValue::Count(archive.values[archive_value::THRESHOLD]));
            push("window_length", InfoValue::Count(archive.values[archive_value::WINDOW]));
        }
        ConsolidationFunction::DevPredict => {}
        _ => push("xff", double(archive_value::XFILES_FACTOR)),
    }
    for source in 0..header.sources.len() {
        let state = header.state(index, source);
        let double = |place: usize| InfoValue::Double(f64::from_bits(state[place]));
        let mut push = |key: &str, value| {
            all.push((format!("rra[{index}].cdp_prep[{source}].{key}"), value));
        };
        match archive.function {
            ConsolidationFunction::HwPredict | ConsolidationFunction::MhwPredict => {
                push("intercept", double(consolidation_value::INTERCEPT));
                push("slope", double(consolidation_value::SLOPE));
                push("NaN_count", InfoValue::Count(state[consolidation_value::NULL_COUNT]));
            }
            ConsolidationFunction::Seasonal => {
                push("seasonal", double(consolidation_value::SEASONAL));
            }
            ConsolidationFunction::DevSeasonal => {
                push("deviation", double(consolidation_value::SEASONAL));
            }
            ConsolidationFunction::DevPredict => {}
            ConsolidationFunction::Failures => {
                push("history", InfoValue::Text(history(archive, state)));
            }
            _ => {
                push("value", double(consolidation_value::VALUE));
                push("unknown_datapoints", InfoValue::Count(state[consolidation_value::UNKNOWN]));
            }
        }
    }
}

/// The violations of the window as 0 and 1, newest first.
pub(crate) fn history(archive: &crate::header::Archive, state: &crate::header::Values) -> String {
    let window = usize::try_from(archive.values[archive_value::WINDOW]).unwrap_or(usize::MAX);
    let bytes = holt_winters::violations(state);
    let digit = |byte: &u8| if *byte == 1 { '1' } else { '0' };
    bytes.iter().take(window).map(digit).collect()
}

/// A line of a key and its value, as RRDtool prints it.
pub fn push_line(out: &mut String, key: &str, value: &InfoValue) {
    out.push_str(key);
    out.push_str(" = ");
    match value {
        InfoValue::Double(double) if double.is_nan() => out.push_str("NaN"),
        InfoValue::Double(double) => push_exponential(out, *double, 10, false),
        InfoValue::Count(count) => out.push_str(&count.to_string()),
        InfoValue::Int(int) => out.push_str(&int.to_string()),
        InfoValue::Text(text) => {
            out.push('"');
            out.push_str(text);
            out.push('"');
        }
    }
    out.push('\n');
}

/// Time of the last update, in seconds since 1970.
///
/// # Errors
/// If the file cannot be read.
pub fn last(path: &Path) -> Result<i64> {
    Ok(File::open(path, Access::Read)?.header().last_update.seconds)
}

/// End of the oldest row of an archive, in seconds since 1970.
///
/// # Errors
/// If the file cannot be read or has no such archive.
pub fn first(path: &Path, archive: usize) -> Result<i64> {
    let file = File::open(path, Access::Read)?;
    let header = file.header();
    let rows = header.archives.get(archive).map(|archive| archive.rows);
    let rows = rows.ok_or_else(|| refuse!("invalid rraindex number"))?;
    let back = header.row_seconds(archive).wrapping_mul(rows - 1) as i64;
    Ok(header.newest_row(archive).wrapping_sub(back))
}

/// The latest readings, as `rrdtool lastupdate` prints them.
///
/// # Errors
/// If the file cannot be read.
pub fn last_update_text(path: &Path) -> Result<String> {
    let file = File::open(path, Access::Read)?;
    let header = file.header();
    let mut out = String::new();
    for source in &header.sources {
        out.push(' ');
        out.push_str(&source.name);
    }
    out.push_str(&format!("\n\n{:>10}:", header.last_update.seconds));
    for primary in &header.primary {
        out.push(' ');
        out.push_str(&String::from_utf8_lossy(primary.reading()));
    }
    out.push('\n');
    Ok(out)
}

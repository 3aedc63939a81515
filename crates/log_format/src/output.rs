//! Outputs by their names on a command line: `json:/var/log/whit.json`, `text:-`, `syslog:/dev/log`.

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use crate::acs_xml::AcsXmlFormat;
use crate::csv::CsvFormat;
use crate::format::{FormatOptions, RecordFormat};
use crate::json::JsonFormat;
use crate::sink::{FileRotation, FileSink, LogSink, NoSink, WriterSink};
use crate::syslog::SyslogFormat;
use crate::syslog_sink::SyslogSink;
use crate::text::TextFormat;
use crate::time::LogZone;

/// The facility of programs of users.
const FACILITY: u8 = 1;

/// Why a name gives no output.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The name has no form or no target.
    #[error("give a form and a target, as json:/var/log/whit.json or text:-")]
    NoTarget,
    /// No form has that name.
    #[error("{0} is no form: give text, json, csv, acs, syslog or none")]
    NoForm(String),
    /// The target cannot be opened.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// What all outputs share.
#[derive(Debug, Clone, Copy)]
pub struct LogOutputOptions<'a> {
    /// What `-` means.
    pub stdout: BorrowedFd<'a>,
    /// Whether levels have colours there.
    pub has_colors: bool,
    /// For times of text.
    pub zone: LogZone,
    /// When files are rotated.
    pub rotation: FileRotation,
}

/// The form of a name: text, json, csv, acs or syslog; `None`: there is none of it.
#[must_use]
pub fn format_named(name: &str, options: FormatOptions) -> Option<Box<dyn RecordFormat>> {
    Some(match name {
        "text" => Box::new(TextFormat::new(options.has_colors, options.zone)),
        "json" => Box::new(JsonFormat::default()),
        "csv" => Box::new(CsvFormat::new(options.formulas)),
        "acs" => Box::new(AcsXmlFormat::default()),
        "syslog" => Box::new(SyslogFormat::new(FACILITY)),
        _ => return None,
    })
}

/// Opens `FORM:FILE`, `FORM:-`, `syslog:TARGET` (see [`SyslogSink::open`]) or `none`.
///
/// # Errors
/// If it is no output's name, or cannot be opened.
pub fn open_output(
    name: &str,
    options: &LogOutputOptions<'_>,
) -> Result<Box<dyn LogSink>, OutputError> {
    if name == "none" {
        return Ok(Box::new(NoSink));
    }
    let parts = name.split_once(':').filter(|(_, target)| !target.is_empty());
    let (form, target) = parts.ok_or(OutputError::NoTarget)?;
    if form == "syslog" {
        return Ok(Box::new(SyslogSink::open(target, FACILITY)?));
    }
    let has_colors = options.has_colors && target == "-";
    let zone = options.zone;
    let format = format_named(form, FormatOptions { has_colors, zone, ..Default::default() });
    let format = format.ok_or_else(|| OutputError::NoForm(form.to_owned()))?;
    if target == "-" {
        // Not the standard library's buffer, which would hide what could not be written.
        let stdout = File::from(options.stdout.try_clone_to_owned()?);
        return Ok(Box::new(WriterSink::new(format, stdout)));
    }
    Ok(Box::new(FileSink::open(target.as_ref(), format, options.rotation)?))
}

/// Reads a size in bytes: `100M`, `2G`.
///
/// # Errors
/// If the text is no size, or too large a one.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" | "KIB" => 10,
        "M" | "MIB" => 20,
        "G" | "GIB" => 30,
        "T" | "TIB" => 40,
        _ => return Err("give a size as 100M or 2G".to_owned()),
    };
    let number: u64 = digits.parse().map_err(|_| "give a size as 100M or 2G".to_owned())?;
    number.checked_mul(1 << unit).ok_or_else(|| "that is too large".to_owned())
}

/// Reads a span of time: `5ms`, `10s`, `30m`, `12h`, `90d`.
///
/// # Errors
/// If the text is no span of time.
pub fn parse_span(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit_ms = match &text[digits.len()..] {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err("give a span as 5ms, 10s, 30m, 12h or 90d".to_owned()),
    };
    let number: u64 =
        digits.parse().map_err(|_| "give a span as 5ms, 10s, 30m, 12h or 90d".to_owned())?;
    let span = number.checked_mul(unit_ms).ok_or_else(|| "that is too long".to_owned())?;
    Ok(Duration::from_millis(span))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_spans() {
        assert_eq!(parse_size("3"), Ok(3));
        assert_eq!(parse_size("2KiB"), Ok(2048));
        assert_eq!(parse_size("100m"), Ok(100 << 20));
        assert!(parse_size("9999999999999T").is_err() && parse_size("M").is_err());
        assert!(parse_size("3Q").is_err() && parse_size("-3").is_err());
        assert_eq!(parse_span("5ms"), Ok(Duration::from_millis(5)));
        assert_eq!(parse_span("90d"), Ok(Duration::from_secs(90 * 86_400)));
        assert!(parse_span("5us").is_err() && parse_span("ms").is_err());
        assert!(parse_span("99999999999999999d").is_err());
    }
}

//! Outputs by their names on a command line: `json:/var/log/whit.json`, `text:-`, `syslog:/dev/log`.

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;

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

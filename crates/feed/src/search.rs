//! Lines of collectl's recordings that match an expression.

use std::io::Write;

use jiff::Timestamp;
use layout::text::escape_into;
use regex::bytes::Regex;

use crate::{ExtractError, FeedError, Origin, RecordedFile, TimeSelection};

/// The format of the time before each line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeColumn {
    /// The day as `mm/dd`.
    pub day: bool,
    /// The date as `yyyymmdd`.
    pub date: bool,
    /// Milliseconds.
    pub milliseconds: bool,
}

/// Writes the lines of collectl's text that match, each after the time of its interval; with
/// `escapes`, control characters are escaped.  Returns the number of lines.
///
/// # Errors
/// The recording is whit's, which has no text; those of reading and writing.
pub fn search(
    recordings: &[RecordedFile],
    selection: &TimeSelection,
    pattern: &Regex,
    column: TimeColumn,
    escapes: bool,
    out: &mut dyn Write,
) -> Result<u64, ExtractError> {
    let mut count = 0;
    for recording in recordings {
        if recording.origin != Origin::Collectl {
            return Err(ExtractError::NoText(recording.path.clone()));
        }
        let range = recording.range(selection).map_err(FeedError::from)?;
        let mut time = String::new();
        let mut time_of = i64::MIN;
        let found = |at_ns: i64, line: &[u8]| -> std::io::Result<()> {
            count += 1;
            if at_ns != time_of {
                time_of = at_ns;
                let shown_ns = at_ns.saturating_add(selection.offset_ns());
                time = time_text(recording, shown_ns, column);
            }
            write!(out, "{time} ")?;
            if escapes {
                let mut safe = Vec::with_capacity(line.len());
                escape_into(&mut safe, line);
                out.write_all(&safe)?;
            } else {
                out.write_all(line)?;
            }
            out.write_all(b"\n")
        };
        let wanted = |line: &[u8]| pattern.is_match(line);
        recording::collectl::search(&recording.path, range.base_ns, range.thru_ns, wanted, found)
            .map_err(FeedError::from)?;
    }
    out.flush().map_err(ExtractError::Output)?;
    Ok(count)
}

/// The time of an interval, in the recording's zone.
fn time_text(recording: &RecordedFile, at_ns: i64, column: TimeColumn) -> String {
    let moment = Timestamp::from_nanosecond(i128::from(at_ns)).unwrap_or_default();
    let local = moment.to_zoned(recording.zone.clone());
    let format = match (column.day, column.date) {
        (true, _) => "%m/%d %H:%M:%S",
        (_, true) => "%Y%m%d %H:%M:%S",
        _ => "%H:%M:%S",
    };
    let mut text = local.strftime(format).to_string();
    if column.milliseconds {
        text.push_str(&format!(".{:03}", at_ns.rem_euclid(1_000_000_000) / 1_000_000));
    }
    text
}

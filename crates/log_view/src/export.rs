//! All records that are shown, written to a file in the form that its name ends with.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

use log_format::{FormatOptions, LogZone, format_named};

use crate::error::ViewError;
use crate::filters::ShownRecords;
use crate::origin::{LogOrigin, LooksForEnd};

/// Bytes that are written at once.
const WRITE_BYTES: usize = 64 << 10;

/// Endings of names, and the forms they stand for.
const FORMS: [(&str, &str); 6] = [
    ("txt", "text"),
    ("log", "text"),
    ("json", "json"),
    ("csv", "csv"),
    ("xml", "acs"),
    ("syslog", "syslog"),
];

/// Writes the records that are shown to a file that is not there yet; says how many they are.
pub(crate) fn write(
    path: &Path,
    origin: &mut dyn LogOrigin,
    shown: &ShownRecords,
    zone: LogZone,
    has_ended: &LooksForEnd<'_>,
) -> Result<String, String> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let form = FORMS.iter().find(|(one, _)| ending.eq_ignore_ascii_case(one));
    let options = FormatOptions { zone, ..FormatOptions::default() };
    let format = form.and_then(|(_, form)| format_named(form, options));
    let mut format = format.ok_or("end the name in .txt, .log, .json, .csv, .xml or .syslog")?;
    let refused = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(refused)?;
    let (mut buffer, mut records, mut failure) = (format.head().to_vec(), 0_u64, None);
    let visited = origin.visit(
        &shown.filter,
        &mut |record| {
            format.put(&mut buffer, record);
            records += 1;
            if buffer.len() < WRITE_BYTES {
                return ControlFlow::Continue(());
            }
            failure = file.write_all(&buffer).err();
            buffer.clear();
            if failure.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        },
        has_ended,
    );
    buffer.extend_from_slice(format.foot());
    let written = failure.map_or_else(|| file.write_all(&buffer), Err);
    written.map_err(refused)?;
    let done = format!("{records} records written to {}", path.display());
    match visited {
        Ok(()) => Ok(done),
        Err(error) if error.is_interrupted() => Ok(format!("interrupted: only {done}")),
        Err(ViewError::Central(why)) => Err(format!("only {done}: {why}")),
        Err(error) => Err(format!("only {done}: {error}")),
    }
}

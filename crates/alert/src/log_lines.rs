//! The log records around an alert, as lines of a message.

use std::path::Path;

use log_format::{LogZone, RecordFormat as _, TextFormat};
use log_store::archive::{LogArchive, LogOrder, LogPage, LogSearch};
use log_store::query::Filter;
use logring::LogLevel;

use crate::message::shown;

/// How many there are in a message.
const COUNT: usize = 10;
/// Most bytes of all of them, before they are cut to lines.
const BYTES_MAX: usize = 256 << 10;

/// The newest ten records of a store at WARNING or above from one time to another, the oldest first.
/// Nothing if the store cannot be read: a message is not kept back for it.
#[must_use]
pub fn log_lines(store: &Path, (from_ms, thru_ms): (i64, i64)) -> Vec<String> {
    let ns = |ms: i64| ms.max(0).unsigned_abs().saturating_mul(1_000_000);
    let filter = Filter {
        level: Some(LogLevel::Warning),
        from_ns: Some(ns(from_ms)),
        until_ns: Some(ns(thru_ms)),
        ..Filter::default()
    };
    let Ok(search) = LogSearch::new(filter, "") else { return Vec::new() };
    let page =
        LogPage { order: LogOrder::NewestFirst, limit: COUNT, bytes_max: BYTES_MAX, behind: None };
    let mut format = TextFormat::new(false, LogZone { offset_seconds: 0 });
    let found = LogArchive::new(store).records(&search, page, &|| false, &mut |_, record| {
        let mut text = Vec::new();
        format.put(&mut text, record);
        text
    });
    let records = found.map(|found| found.records).unwrap_or_default();
    let line = |text: &[u8]| shown(String::from_utf8_lossy(text).trim_end());
    records.iter().rev().map(|record| line(&record.text)).collect()
}

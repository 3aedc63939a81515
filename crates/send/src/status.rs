//! What each engine has of a folder, and what it has not: from the cursors alone.

use std::path::Path;

use log_store::StoreCounter;
use recording::{ReadOutcome, Reader};
use sample::Snapshot;
use serde_json::{Value, json};

use crate::cursor::{CursorFile, SendCursor};
use crate::{SendError, cursor};

/// An engine and what it has.
#[derive(Clone, Debug)]
pub struct EngineStatus {
    /// The name of its cursor.
    pub name: String,
    /// What it has acknowledged.
    pub cursor: SendCursor,
    /// Samples in recordings that are there and not acknowledged.
    pub samples_waiting: u64,
}

/// The engines that have a cursor in a folder.
///
/// # Errors
/// If the folder or a cursor cannot be read.
pub fn status(folder: &Path) -> Result<Vec<EngineStatus>, SendError> {
    let failed = |source| SendError::Cursor { action: "look for", path: folder.to_owned(), source };
    let mut found = Vec::new();
    for name in CursorFile::names_in(folder).map_err(failed)? {
        let Some(cursor) = CursorFile::read(folder, &name)? else { continue };
        let samples_waiting = match &cursor.store {
            Some(_) => records_waiting(folder, &cursor)?,
            None => waiting(folder, &cursor)?,
        };
        found.push(EngineStatus { name, cursor, samples_waiting });
    }
    Ok(found)
}

fn waiting(folder: &Path, cursor: &SendCursor) -> Result<u64, SendError> {
    let mut waiting = 0;
    for path in feed::recordings_in(folder)? {
        // What is no recording of ours is not sent either.
        let Ok(mut reader) = Reader::open(&path, &[]) else { continue };
        let sent = cursor.recordings.get(&reader.file_id()).map_or(0, |one| one.next);
        waiting += reader.samples_closed().saturating_sub(sent);
        // Of a block that is being written only its samples tell how many there are.
        reader.focus(&[]);
        reader.seek_number(sent.max(reader.samples_closed()));
        let mut snapshot = Snapshot::new(&reader.defs());
        while matches!(reader.next(&mut snapshot)?, ReadOutcome::Sample) {
            waiting += 1;
        }
    }
    Ok(waiting)
}

fn records_waiting(folder: &Path, cursor: &SendCursor) -> Result<u64, SendError> {
    let failed = |source| SendError::Store { path: folder.to_owned(), source };
    let segments = StoreCounter::new(folder).look().map_err(failed)?;
    let waits = segments.into_iter().map(|(number, count)| {
        let sent = cursor.recordings.get(&number).map_or(0, |one| one.next);
        count.records.saturating_sub(sent)
    });
    Ok(waits.sum())
}

impl EngineStatus {
    /// As JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let mut value = json!({
            "name": self.name,
            "address": self.cursor.address,
            "newest_ns": self.cursor.newest_ns,
        });
        let is_of_logs = self.cursor.store.is_some();
        let counts = cursor::counts(&self.cursor);
        for (name, count) in counts.chain([("samples_waiting", self.samples_waiting)]) {
            match (is_of_logs, name) {
                // A record is a sample with one point.
                (true, "samples_sent") | (false, "commits_deleted") => {}
                (true, name) => {
                    let name = name.replace("samples", "records").replace("points", "records");
                    value[name] = count.into();
                }
                (false, name) => value[name] = count.into(),
            }
        }
        value
    }

    /// As lines for people.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}: {}\n{}", self.name, self.cursor.address, self.counts())
    }

    /// What it has and what it has not, as lines for people.
    #[must_use]
    pub fn counts(&self) -> String {
        let (newest_ns, sent, waits) =
            (&self.cursor.newest_ns, self.cursor.sent(), self.samples_waiting);
        let newest = jiff::Timestamp::from_nanosecond(i128::from(*newest_ns));
        let newest = match newest {
            Ok(time) if *newest_ns != 0 => {
                let zoned = time.to_zoned(jiff::tz::TimeZone::system());
                format!(", the newest of {}", zoned.strftime("%Y-%m-%d %H:%M:%S"))
            }
            _ => String::new(),
        };
        let (what, points) = match self.cursor.store {
            Some(_) => ("records", "records"),
            None => ("samples", "points"),
        };
        let mut text = format!("  has {sent}{newest}; {waits} wait\n");
        for (count, why) in [
            (self.cursor.samples_refused, "refused for good"),
            (self.cursor.samples_known, "refused since it has these or later ones"),
            (self.cursor.samples_deleted, "deleted before they were sent"),
            (self.cursor.samples_unreadable, "that cannot be read"),
        ] {
            if count > 0 {
                text += &format!("  {count} {what} {why}\n");
            }
        }
        for (count, why) in [
            (self.cursor.points_rejected, format!("{points} rejected")),
            (self.cursor.commits_deleted, "commits of uncounted records deleted before".to_owned()),
        ] {
            if count > 0 {
                text += &format!("  {count} {why}\n");
            }
        }
        text
    }
}

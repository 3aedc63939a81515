//! What each engine has of a folder, and what it has not: from the cursors alone.

use std::path::Path;

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
        let samples_waiting = waiting(folder, &cursor)?;
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

impl EngineStatus {
    /// As JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let mut value = json!({
            "name": self.name,
            "address": self.cursor.address,
            "newest_ns": self.cursor.newest_ns,
            "samples_waiting": self.samples_waiting,
        });
        for (name, count) in cursor::counts(&self.cursor) {
            value[name] = count.into();
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
        let SendCursor { samples_sent, points_sent, newest_ns, .. } = &self.cursor;
        let newest = jiff::Timestamp::from_nanosecond(i128::from(*newest_ns));
        let newest = match newest {
            Ok(time) if *newest_ns != 0 => {
                let zoned = time.to_zoned(jiff::tz::TimeZone::system());
                format!(", the newest of {}", zoned.strftime("%Y-%m-%d %H:%M:%S"))
            }
            _ => String::new(),
        };
        let mut text = format!(
            "  has {samples_sent} samples ({points_sent} points){newest}; {} wait\n",
            self.samples_waiting
        );
        for (count, what) in [
            (self.cursor.samples_refused, "refused for good"),
            (self.cursor.samples_known, "refused since it has these or later ones"),
            (self.cursor.samples_deleted, "deleted before they were sent"),
            (self.cursor.samples_unreadable, "that cannot be read"),
        ] {
            if count > 0 {
                text += &format!("  {count} samples {what}\n");
            }
        }
        if self.cursor.points_rejected > 0 {
            text += &format!("  {} points rejected\n", self.cursor.points_rejected);
        }
        text
    }
}

//! The cursor: what an engine has acknowledged, kept beside the recordings.
//!
//! `FOLDER/.send-NAME.json`, replaced as a whole (written beside and renamed).  An end between an
//! acknowledgement and this file means that samples are sent twice, never that one is left out.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::SendError;

const VERSION: u64 = 1;

/// Bytes of the name of a cursor: it is a part of a file's name.
pub(crate) const NAME_BYTES_MAX: usize = 100;

/// How far a recording was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingCursor {
    /// Its file name.
    pub name: String,
    /// The number of the next sample to send.
    pub next: u64,
    /// The samples that it had when it was looked at last.
    pub samples: u64,
    /// Whether it was closed and all of it is acknowledged.
    pub is_done: bool,
    /// The groups of processes that have series of their own, each with the number behind that
    /// of the sample by which it got them.
    pub groups: Vec<(u64, String)>,
}

/// Which store of log records a cursor is of, and how far it was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreCursor {
    /// The random number of the store, in hexadecimal digits; empty before it is there.
    pub id: String,
    /// The newest segment when it was looked at last.
    pub segment: u64,
    /// The number behind that of the newest commit then.
    pub next_commit: u64,
}

/// What an engine has acknowledged, and what it never got.  Of log records, files are segments and
/// samples are records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SendCursor {
    /// The store, if log records are sent.
    pub store: Option<StoreCursor>,
    /// By the number of the recording, or of the segment.
    pub recordings: BTreeMap<u64, RecordingCursor>,
    /// Samples acknowledged, and their points.
    pub samples_sent: u64,
    /// Points acknowledged.
    pub points_sent: u64,
    /// Points that the engine rejected of samples that it took.
    pub points_rejected: u64,
    /// Samples that the engine refused for good: they are listed in a file.
    pub samples_refused: u64,
    /// Samples that the engine refused since it has them, or later ones.
    pub samples_known: u64,
    /// Samples that were deleted before they were sent.
    pub samples_deleted: u64,
    /// Samples that could not be read.
    pub samples_unreadable: u64,
    /// Commits of a store that were deleted before anybody looked at them.
    pub commits_deleted: u64,
    /// The time of the newest acknowledged sample, in nanoseconds since the epoch.
    pub newest_ns: i64,
    /// The address of the engine.
    pub address: String,
}

impl SendCursor {
    /// What is acknowledged, for people.
    #[must_use]
    pub fn sent(&self) -> String {
        let SendCursor { samples_sent, points_sent, .. } = self;
        match self.store {
            Some(_) => format!("{points_sent} records"),
            // Samples without points went as they are.
            None if *points_sent == 0 && *samples_sent > 0 => format!("{samples_sent} samples"),
            None => format!("{samples_sent} samples ({points_sent} points)"),
        }
    }
}

/// The file of a cursor, which one process has at a time.
#[derive(Debug)]
pub struct CursorFile {
    folder: PathBuf,
    name: String,
    /// What was written last: a sender that has nothing to send does not write it again.
    written: String,
    _lock: File,
}

impl CursorFile {
    /// The names of the engines that have a cursor in a folder.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn names_in(folder: &Path) -> std::io::Result<Vec<String>> {
        names_with(folder, ".json")
    }

    /// The names of those that something was ever sent to: a lock stays.
    pub(crate) fn locks_in(folder: &Path) -> std::io::Result<Vec<String>> {
        names_with(folder, ".lock")
    }

    /// Checks what a cursor is to be called.
    ///
    /// # Errors
    /// If it is no part of a file's name.
    pub fn check_name(name: &str) -> Result<(), SendError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        match name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_plain) {
            true => Err(SendError::Name(name.to_owned())),
            false => Ok(()),
        }
    }

    /// Locks the cursor of an engine in a folder and reads it; an empty one if there is none.
    ///
    /// # Errors
    /// If another process has it, or it cannot be read.
    pub fn open(folder: &Path, name: &str) -> Result<(Self, SendCursor), SendError> {
        Self::check_name(name)?;
        let path = folder.join(format!(".send-{name}.lock"));
        let failed = |action, source| SendError::Cursor { action, path: path.clone(), source };
        let lock = File::options().create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(|source| failed("open", source))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => {
                return Err(SendError::Busy { name: name.to_owned() });
            }
            Err(std::fs::TryLockError::Error(source)) => return Err(failed("lock", source)),
        }
        let cursor = Self::read(folder, name)?.unwrap_or_default();
        let (folder, name, written) = (folder.to_owned(), name.to_owned(), String::new());
        Ok((CursorFile { folder, name, written, _lock: lock }, cursor))
    }

    /// The cursor of an engine, if there is one; for whoever does not send.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(folder: &Path, name: &str) -> Result<Option<SendCursor>, SendError> {
        let path = folder.join(format!(".send-{name}.json"));
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(SendError::Cursor { action: "read", path, source }),
        };
        let no_cursor = |why: String| SendError::NoCursor { path: path.clone(), why };
        let value: Value =
            serde_json::from_str(&text).map_err(|error| no_cursor(error.to_string()))?;
        from_json(&value).map(Some).ok_or_else(|| no_cursor("a member is missing".to_owned()))
    }

    /// Where the samples are listed that the engine refused for good.
    #[must_use]
    pub fn refused_path(&self) -> PathBuf {
        self.folder.join(format!(".send-{}.refused", self.name))
    }

    /// Replaces the file, if that changes it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&mut self, cursor: &SendCursor) -> Result<(), SendError> {
        let text = format!("{:#}\n", to_json(cursor));
        if text == self.written {
            return Ok(());
        }
        let path = self.folder.join(format!(".send-{}.json", self.name));
        let written = whole_file::replace(&path, &text);
        written.map_err(|source| SendError::Cursor { action: "write", path, source })?;
        self.written = text;
        Ok(())
    }

    /// Adds a line to the list of refused samples.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn refuse(&self, line: &Value) -> Result<(), SendError> {
        let path = self.refused_path();
        let file = File::options().create(true).append(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
        written.map_err(|source| SendError::Cursor { action: "write", path, source })
    }
}

fn names_with(folder: &Path, ending: &str) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        let own = name.to_str().and_then(|name| name.strip_prefix(".send-"));
        names.extend(own.and_then(|own| own.strip_suffix(ending)).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// The counts of a cursor and their names in the file.
macro_rules! counts {
    ($cursor:ident) => {
        [
            ("samples_sent", &$cursor.samples_sent),
            ("points_sent", &$cursor.points_sent),
            ("points_rejected", &$cursor.points_rejected),
            ("samples_refused", &$cursor.samples_refused),
            ("samples_known", &$cursor.samples_known),
            ("samples_deleted", &$cursor.samples_deleted),
            ("samples_unreadable", &$cursor.samples_unreadable),
            ("commits_deleted", &$cursor.commits_deleted),
        ]
    };
    (mut $cursor:ident) => {
        [
            ("samples_sent", &mut $cursor.samples_sent),
            ("points_sent", &mut $cursor.points_sent),
            ("points_rejected", &mut $cursor.points_rejected),
            ("samples_refused", &mut $cursor.samples_refused),
            ("samples_known", &mut $cursor.samples_known),
            ("samples_deleted", &mut $cursor.samples_deleted),
            ("samples_unreadable", &mut $cursor.samples_unreadable),
            ("commits_deleted", &mut $cursor.commits_deleted),
        ]
    };
}

/// The counts of a cursor, by name.
pub(crate) fn counts(cursor: &SendCursor) -> impl Iterator<Item = (&'static str, u64)> {
    counts!(cursor).into_iter().map(|(name, count)| (name, *count))
}

fn to_json(cursor: &SendCursor) -> Value {
    let recordings = cursor.recordings.iter().map(|(id, one)| {
        json!({
            "file_id": format!("{id:016x}"),
            "name": one.name,
            "next": one.next,
            "samples": one.samples,
            "is_done": one.is_done,
            "groups": one.groups,
        })
    });
    let mut value = json!({
        "version": VERSION,
        "address": cursor.address,
        "newest_ns": cursor.newest_ns,
        "recordings": recordings.collect::<Vec<_>>(),
    });
    for (name, count) in counts(cursor) {
        value[name] = count.into();
    }
    if let Some(StoreCursor { id, segment, next_commit }) = &cursor.store {
        value["store"] = json!({ "id": id, "segment": segment, "next_commit": next_commit });
    }
    value
}

fn groups(value: &Value) -> Option<Vec<(u64, String)>> {
    let one = |one: &Value| Some((one[0].as_u64()?, one[1].as_str()?.to_owned()));
    value.as_array()?.iter().map(one).collect()
}

fn from_json(value: &Value) -> Option<SendCursor> {
    if value["version"].as_u64()? != VERSION {
        return None;
    }
    let mut cursor = SendCursor {
        address: value["address"].as_str()?.to_owned(),
        newest_ns: value["newest_ns"].as_i64()?,
        ..SendCursor::default()
    };
    for (name, count) in counts!(mut cursor) {
        // One that an earlier version did not count.
        *count = value.get(name).map_or(Some(0), Value::as_u64)?;
    }
    if let Some(store) = value.get("store") {
        cursor.store = Some(StoreCursor {
            id: store["id"].as_str()?.to_owned(),
            segment: store["segment"].as_u64()?,
            next_commit: store["next_commit"].as_u64()?,
        });
    }
    for one in value["recordings"].as_array()? {
        let id = u64::from_str_radix(one["file_id"].as_str()?, 16).ok()?;
        let recording = RecordingCursor {
            name: one["name"].as_str()?.to_owned(),
            next: one["next"].as_u64()?,
            samples: one["samples"].as_u64()?,
            is_done: one["is_done"].as_bool()?,
            // What an earlier version did not have.
            groups: match one.get("groups") {
                Some(known) => groups(known)?,
                None => Vec::new(),
            },
        };
        cursor.recordings.insert(id, recording);
    }
    Some(cursor)
}

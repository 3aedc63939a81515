//! The cursor: what an engine has acknowledged, kept beside the recordings.
//!
//! `FOLDER/.send-NAME.json`: an object with all of it, and then a line for each batch, with the counts and
//! the recordings that it has changed: a batch of a folder of hundreds changes a few.  Once there are more
//! bytes of lines than of the object, or at an end, it is replaced as a whole (written beside and renamed)
//! by one without lines.  A line that a kill or a power cut has left in part ends the file for a reader.
//!
//! An end between an acknowledgement and this file means that samples are sent twice, never that one is
//! left out.  Version 1 has no lines, so a version of whit from before reads what was ended, and refuses the
//! rest as no cursor.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::SendError;

const VERSION: u64 = 1;

/// Bytes of lines behind an object that is smaller than these.
const CHANGES_BYTES: u64 = 64 << 10;

/// Bytes of the name of a cursor: it is a part of a file's name.
pub(crate) const NAME_BYTES_MAX: usize = 100;

/// How far a recording was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingCursor {
    /// The file name of the recording.
    pub name: String,
    /// The number of the next sample to send.
    pub next: u64,
    /// The samples that it had when it was looked at last.
    pub samples: u64,
    /// Whether all of it is acknowledged, and nobody was writing it then.
    pub is_done: bool,
    /// The bytes that its file had when it was done: one that has others was gone on with, as a central
    /// server does when a connection comes again.
    pub bytes: Option<u64>,
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
    /// What this process has written, if it did.
    written: Option<WrittenFile>,
    _lock: File,
}

/// A file of a cursor as it was written.
#[derive(Debug)]
struct WrittenFile {
    /// It ends behind the latest line.
    file: File,
    /// What it says: a sender that has nothing to send does not write it again.
    cursor: SendCursor,
    /// Bytes of the object, and of the lines behind it.
    object_bytes: u64,
    changes_bytes: u64,
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
        let (folder, name) = (folder.to_owned(), name.to_owned());
        Ok((CursorFile { folder, name, written: None, _lock: lock }, cursor))
    }

    /// The cursor of an engine, if there is one; for whoever does not send.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(folder: &Path, name: &str) -> Result<Option<SendCursor>, SendError> {
        let path = folder.join(format!(".send-{name}.json"));
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(SendError::Cursor { action: "read", path, source }),
        };
        let no_cursor = |why: String| SendError::NoCursor { path: path.clone(), why };
        let mut values = serde_json::Deserializer::from_slice(&text).into_iter::<Value>();
        let value = values.next().ok_or_else(|| no_cursor("it is empty".to_owned()))?;
        let value = value.map_err(|error| no_cursor(error.to_string()))?;
        if let Some(other) = value["version"].as_u64().filter(|version| *version != VERSION) {
            return Err(no_cursor(format!("it has version {other}, this program knows {VERSION}")));
        }
        let missing = || no_cursor("a member is missing".to_owned());
        let mut cursor = from_json(&value).ok_or_else(missing)?;
        // What is behind the last whole line was never there.
        for change in values.map_while(Result::ok) {
            cursor = changed_by(cursor, &change).ok_or_else(missing)?;
        }
        Ok(Some(cursor))
    }

    /// Where the samples are listed that the engine refused for good.
    #[must_use]
    pub fn refused_path(&self) -> PathBuf {
        self.folder.join(format!(".send-{}.refused", self.name))
    }

    /// Writes what has changed, if something has.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&mut self, cursor: &SendCursor) -> Result<(), SendError> {
        match &mut self.written {
            Some(written) if written.cursor == *cursor => Ok(()),
            Some(written) if written.has_room() => match written.add(cursor) {
                Ok(()) => Ok(()),
                // A part of the line may be there: it would end the file for readers.
                Err(_) => self.replace(cursor),
            },
            _ => self.replace(cursor),
        }
    }

    /// Writes all of it, so that no line is behind it: a sender ends.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(&mut self, cursor: &SendCursor) -> Result<(), SendError> {
        let is_all_there =
            |written: &WrittenFile| written.changes_bytes == 0 && written.cursor == *cursor;
        match self.written.as_ref().is_some_and(is_all_there) {
            true => Ok(()),
            false => self.replace(cursor),
        }
    }

    /// Replaces the file.
    fn replace(&mut self, cursor: &SendCursor) -> Result<(), SendError> {
        self.written = None;
        let path = self.folder.join(format!(".send-{}.json", self.name));
        let text = format!("{:#}\n", to_json(cursor));
        let written = whole_file::replace(&path, &text)
            .and_then(|()| File::options().append(true).open(&path));
        let file = written.map_err(|source| SendError::Cursor { action: "write", path, source })?;
        let (cursor, object_bytes) = (cursor.clone(), text.len() as u64);
        self.written = Some(WrittenFile { file, cursor, object_bytes, changes_bytes: 0 });
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

impl WrittenFile {
    /// Whether a line may follow: nobody has removed or changed the file, and there are not too many.
    fn has_room(&self) -> bool {
        let bytes = self.object_bytes + self.changes_bytes;
        let is_ours =
            self.file.metadata().is_ok_and(|file| file.nlink() > 0 && file.len() == bytes);
        is_ours && self.changes_bytes < self.object_bytes.max(CHANGES_BYTES)
    }

    /// Adds a line with what is not as it was.
    fn add(&mut self, cursor: &SendCursor) -> std::io::Result<()> {
        let known = &self.cursor.recordings;
        let is_gone = |id: &&u64| !cursor.recordings.contains_key(id);
        let gone: Vec<u64> = known.keys().filter(is_gone).copied().collect();
        let has_moved = |(id, one): &(&u64, &RecordingCursor)| known.get(id) != Some(one);
        let moved = cursor.recordings.iter().filter(has_moved);
        let recordings = moved.map(|(id, one)| (*id, one.clone())).collect();
        let (store, address) = (cursor.store.clone(), cursor.address.clone());
        let change = SendCursor { recordings, store, address, ..*cursor };
        let mut value = to_json(&change);
        value["gone"] = gone.iter().map(|id| file_id(*id)).collect();
        let line = format!("{value}\n");
        self.file.write_all(line.as_bytes())?;
        self.changes_bytes += line.len() as u64;
        self.cursor = changed(std::mem::take(&mut self.cursor), change, &gone);
        Ok(())
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

fn file_id(id: u64) -> String {
    format!("{id:016x}")
}

fn read_file_id(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?, 16).ok()
}

/// A cursor after a change, which has the recordings alone that it changes, and without those that are gone.
fn changed(before: SendCursor, change: SendCursor, gone: &[u64]) -> SendCursor {
    let mut recordings = before.recordings;
    gone.iter().for_each(|id| drop(recordings.remove(id)));
    recordings.extend(change.recordings);
    SendCursor { recordings, ..change }
}

/// A cursor after the change of a line.
fn changed_by(before: SendCursor, line: &Value) -> Option<SendCursor> {
    let gone = line["gone"].as_array()?.iter().map(read_file_id).collect::<Option<Vec<_>>>()?;
    Some(changed(before, from_json(line)?, &gone))
}

fn to_json(cursor: &SendCursor) -> Value {
    let recordings = cursor.recordings.iter().map(|(id, one)| {
        json!({
            "file_id": file_id(*id),
            "name": one.name,
            "next": one.next,
            "samples": one.samples,
            "is_done": one.is_done,
            "bytes": one.bytes,
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
        let id = read_file_id(&one["file_id"])?;
        let recording = RecordingCursor {
            name: one["name"].as_str()?.to_owned(),
            next: one["next"].as_u64()?,
            samples: one["samples"].as_u64()?,
            is_done: one["is_done"].as_bool()?,
            bytes: one["bytes"].as_u64(),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A cursor of many recordings with all that there is to be kept.
    fn many(recordings: u64) -> SendCursor {
        let one = |id: u64| RecordingCursor {
            name: format!("größe-{id}.whit"),
            next: id,
            samples: 2 * id,
            is_done: id.is_multiple_of(3),
            bytes: id.is_multiple_of(3).then_some(5 * id),
            groups: (0..id % 3).map(|place| (place, format!("a \"{place}\\"))).collect(),
        };
        let store = StoreCursor { id: "ab".to_owned(), segment: 1, next_commit: 2 };
        SendCursor {
            store: Some(store),
            recordings: (0..recordings).map(|id| (id << 40, one(id))).collect(),
            address: "http://h".to_owned(),
            ..SendCursor::default()
        }
    }

    /// What a batch does to a cursor.
    fn change(cursor: &mut SendCursor, random: &mut testkit::Random) {
        let ids: Vec<u64> = cursor.recordings.keys().copied().collect();
        let id = ids[random.below(ids.len() as u64) as usize];
        match random.below(8) {
            0 => drop(cursor.recordings.remove(&id)),
            1 => drop(cursor.recordings.insert(random.bits(), RecordingCursor::default())),
            2 => cursor.newest_ns = random.bits().cast_signed(),
            _ => {
                let one = cursor.recordings.entry(id).or_default();
                one.next += 1 + random.below(1000);
                one.groups.push((one.next, "x".repeat(random.below(9) as usize)));
                cursor.samples_sent += 1;
            }
        }
    }

    #[test]
    fn what_was_written_is_read_and_a_part_of_a_line_is_not() {
        let mut random = testkit::Random::from_seed(testkit::seed(254));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".send-a.json");
        let (mut file, _) = CursorFile::open(folder.path(), "a").unwrap();
        let mut cursor = many(50);
        file.write(&cursor).unwrap();
        for _ in 0..500 {
            let (before, bytes) = (cursor.clone(), std::fs::read(&path).unwrap());
            change(&mut cursor, &mut random);
            file.write(&cursor).unwrap();
            let read = || CursorFile::read(folder.path(), "a").unwrap().unwrap();
            assert_eq!(read(), cursor);
            let after = std::fs::read(&path).unwrap();
            if after.len() > bytes.len() && after.starts_with(&bytes) {
                let end =
                    bytes.len() + random.below((after.len() - bytes.len()) as u64 - 1) as usize;
                std::fs::write(&path, &after[..end]).unwrap();
                assert_eq!(read(), before, "{end} bytes");
                std::fs::write(&path, &after).unwrap();
            }
        }
        // One object, as versions of before have it.
        file.finish(&cursor).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, format!("{:#}\n", to_json(&cursor)));
        // What others removed or wrote in is written anew.
        std::fs::remove_file(&path).unwrap();
        cursor.samples_sent += 1;
        file.write(&cursor).unwrap();
        assert_eq!(CursorFile::read(folder.path(), "a").unwrap(), Some(cursor.clone()));
        std::fs::write(&path, "{").unwrap();
        assert!(CursorFile::read(folder.path(), "a").is_err());
        cursor.samples_sent += 1;
        file.write(&cursor).unwrap();
        assert_eq!(CursorFile::read(folder.path(), "a").unwrap(), Some(cursor));
    }

    #[test]
    fn a_batch_of_a_large_folder_writes_what_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".send-a.json");
        let (mut file, _) = CursorFile::open(folder.path(), "a").unwrap();
        let mut cursor = many(500);
        file.write(&cursor).unwrap();
        let bytes = || std::fs::metadata(&path).unwrap().len();
        let object_bytes = bytes();
        let (mut written, mut most) = (0, 0);
        let batches = 2000;
        for batch in 0..batches {
            let before = bytes();
            let one = cursor.recordings.values_mut().nth(batch % 500).unwrap();
            one.next += 1;
            cursor.samples_sent += 1;
            file.write(&cursor).unwrap();
            let after = bytes();
            // A shorter file is another one.
            written += if after > before { after - before } else { after };
            most = most.max(after);
        }
        let each = written / batches as u64;
        assert!(each < 1500 && each * 50 < object_bytes, "{each} of {object_bytes} bytes");
        assert!(most < 2 * object_bytes.max(CHANGES_BYTES) + 2000, "{most} bytes");
    }
}

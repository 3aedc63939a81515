//! Which recordings there are: found once, and looked for again at the cost of what has changed.
//!
//! When nothing has changed this takes one `stat` of each folder, and one of each recording that may
//! grow: those that were not closed, and the latest one of each host and folder, which a recorder may
//! take up again.  A recording is opened again when it is another one, or was closed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use feed::{FeedError, Origin, RecordedFile, has_text_for, in_order, left_out};
use jiff::Zoned;
use recording::{Reader, is_being_written};
use sample::SourceDef;

use crate::Error;
use crate::archive::{Recordings, Refused};
use crate::archived_file::{ArchivedFile, Identity, fingerprint};
use crate::databases::Database;
use crate::named::{Named, Stamp};

impl Recordings {
    /// Finds all recordings for the first time.
    pub(crate) fn find(&mut self, now: &Zoned) -> Result<(), Error> {
        if self.named.is_empty() {
            return Err(FeedError::NothingNamed.into());
        }
        let known = self.known.clone();
        let is_source = |name: &str| known.iter().any(|def| def.name == name);
        for named in &mut self.named {
            named.look(now, &is_source)?;
            if named.is_empty_folder() {
                return Err(FeedError::NoRecordings(named.path.clone()).into());
            }
        }
        self.read_files(now, true)?;
        self.assign_databases();
        if self.files.is_empty() && self.databases.is_empty() {
            return Err(FeedError::NoneUsable(self.complaints().join("; ")).into());
        }
        Ok(())
    }

    /// Looks for recordings that are new, have grown or are gone.  Returns whether anything has
    /// changed; indices of recordings are then others.  What cannot be used any more is a complaint.
    ///
    /// # Errors
    /// A folder cannot be read; what was known stays.
    pub fn refresh(&mut self, now: &Zoned) -> Result<bool, Error> {
        let mut is_listed = false;
        let known = self.known.clone();
        let is_source = |name: &str| known.iter().any(|def| def.name == name);
        for named in &mut self.named {
            is_listed |= named.look(now, &is_source)?;
        }
        if !is_listed && !self.has_changed() {
            return Ok(false);
        }
        let before = self.databases.clone();
        let is_changed = self.read_files(now, false)?;
        self.assign_databases();
        let names = |databases: &[(Arc<str>, Database)]| -> Vec<(Arc<str>, PathBuf)> {
            databases.iter().map(|(host, one)| (host.clone(), one.path.clone())).collect()
        };
        Ok(is_changed || names(&before) != names(&self.databases))
    }

    /// Whether a recording that may grow, or that was named itself, is not as it was read.  What has
    /// only grown is taken as it is now.
    fn has_changed(&mut self) -> bool {
        let stamp_of = |path: &Path| Stamp::of(path).map(|(stamp, _)| stamp).unwrap_or_default();
        for index in 0..self.files.len() {
            let file = &self.files[index];
            let path = file.file.path.as_path();
            let is_named = || self.named.iter().any(|named| named.is_file(path));
            if file.ended_ns != i64::MAX && !self.is_latest(index) && !is_named() {
                continue;
            }
            let stamp = stamp_of(path);
            if file.stamp != stamp {
                let Some(grown) = unchanged(file, stamp) else { return true };
                self.files[index] = grown;
            }
        }
        self.refused.iter().any(|refused| stamp_of(&refused.path) != refused.stamp)
    }

    /// Whether the next recording is of another host or in another folder.
    fn is_latest(&self, index: usize) -> bool {
        let file = &self.files[index].file;
        self.files.get(index + 1).is_none_or(|next| {
            let next = &next.file;
            next.meta.host() != file.meta.host() || next.path.parent() != file.path.parent()
        })
    }

    /// Reads the facts of each file that is not as it was.  Returns whether any was.
    fn read_files(&mut self, now: &Zoned, is_strict: bool) -> Result<bool, Error> {
        let before: HashMap<&Path, &ArchivedFile> =
            self.files.iter().map(|file| (file.file.path.as_path(), file)).collect();
        let refused_before: HashMap<&Path, &Refused> =
            self.refused.iter().map(|refused| (refused.path.as_path(), refused)).collect();
        let (mut files, mut refused, mut is_changed) = (Vec::new(), Vec::new(), false);
        for (path, is_named) in self.named.iter().flat_map(Named::files) {
            let stamp = Stamp::of(path).map(|(stamp, _)| stamp);
            let at = stamp.as_ref().ok().copied().unwrap_or_default();
            let known = before.get(path).and_then(|known| unchanged(known, at));
            if let Some(known) = known {
                files.push(known);
                continue;
            }
            if let Some(&known) = refused_before.get(path).filter(|known| known.stamp == at) {
                refused.push(known.clone());
                continue;
            }
            is_changed = true;
            match stamp.and_then(|stamp| read(path, stamp, now, &self.known)) {
                Ok(file) => files.push(file),
                Err(error) if is_named && is_strict => return Err(error.into()),
                Err(error) => refused.push(Refused {
                    path: path.to_owned(),
                    stamp: at,
                    complaint: left_out(&error),
                }),
            }
        }
        is_changed |= files.len() != self.files.len() || refused.len() != self.refused.len();
        self.files = in_order(files, |file| &*file.file);
        self.refused = refused;
        end_where_the_next_begins(&mut self.files);
        Ok(is_changed)
    }
}

/// What is known of a recording, if that has not changed: of one that is written only the length may.
fn unchanged(known: &ArchivedFile, stamp: Stamp) -> Option<ArchivedFile> {
    let is_written = || is_being_written(&known.file.path).is_ok_and(|is_written| is_written);
    let is_same = match known.file.origin {
        Origin::Whit if known.ended_ns == i64::MAX => {
            known.stamp.is_same_file(&stamp) && is_written()
        }
        Origin::Whit => known.stamp == stamp,
        Origin::Atop | Origin::Collectl | Origin::Sadc => {
            known.stamp.is_same_file(&stamp) && known.stamp.bytes <= stamp.bytes
        }
    };
    let pauses = if known.stamp == stamp { known.pauses.clone() } else { Arc::default() };
    let mut identity = known.identity;
    if known.file.origin != Origin::Whit {
        identity.recording = of_other(stamp);
    }
    is_same.then(|| ArchivedFile { stamp, pauses, identity, ..known.clone() })
}

/// What a recording of another program is known by: it has no number of its own.
fn of_other(stamp: Stamp) -> [u64; 3] {
    [0, stamp.bytes, stamp.modified_ns as u64]
}

/// The facts of a recording.
fn read(
    path: &Path,
    stamp: Stamp,
    now: &Zoned,
    known: &[Arc<SourceDef>],
) -> Result<ArchivedFile, FeedError> {
    let file = RecordedFile::open(path.to_owned(), now.time_zone())?;
    let (defs, ended_ns, recording) = match file.origin {
        Origin::Collectl => {
            let recorded = file.meta.subsystems();
            let entries = source::ALL.iter().copied();
            let held: Vec<_> =
                entries.filter(|entry| has_text_for(&entry.def(), recorded)).collect();
            (file.sources(&held)?, i64::MAX, of_other(stamp))
        }
        Origin::Atop | Origin::Sadc => (file.sources(source::ALL)?, i64::MAX, of_other(stamp)),
        Origin::Whit => {
            let mut reader = Reader::open(path, known)?;
            let defs = reader.defs();
            let ended_ns = match reader.damage().not_closed {
                false => reader.latest_closed_realtime_ns(),
                true if reader.is_being_written() => Some(i64::MAX),
                true => reader.last_realtime_ns()?,
            };
            (defs, ended_ns.unwrap_or(i64::MIN), [reader.file_id(), 0, 0])
        }
    };
    let identity = Identity { recording, fingerprint: fingerprint(&defs) };
    let (file, defs) = (Arc::new(file), defs.into());
    Ok(ArchivedFile { file, defs, ended_ns, identity, stamp, pauses: Arc::default() })
}

/// Other programs begin a file when they end one: only the file itself tells its last time, at the
/// cost of reading all of it.
fn end_where_the_next_begins(files: &mut [ArchivedFile]) {
    for file in files.iter_mut().filter(|file| file.file.origin != Origin::Whit) {
        file.ended_ns = i64::MAX;
    }
    for index in 1..files.len() {
        let (before, next) = files.split_at_mut(index);
        let next = &next[0].file;
        if next.origin == Origin::Whit {
            continue;
        }
        let ends = |file: &&mut ArchivedFile| {
            file.file.origin == next.origin
                && file.ended_ns == i64::MAX
                && file.file.started_ns < next.started_ns
                && file.file.meta.host() == next.meta.host()
                && file.file.path.parent() == next.path.parent()
        };
        for file in before.iter_mut().filter(ends) {
            // Its last interval ends with the first marker of the next file.
            let interval_ns = i64::try_from(file.file.meta.interval_ns()).unwrap_or(i64::MAX);
            file.ended_ns = next.started_ns.saturating_add(interval_ns);
        }
    }
}

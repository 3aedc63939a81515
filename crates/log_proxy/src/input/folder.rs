//! The files of a folder that are followed, each by a thread and a cursor of its own, as if it had
//! been given alone: `FOLDER`, or `FOLDER/PATTERN`.
//!
//! Not followed: names that begin with a dot, files that were rotated from another one of the folder
//! (its follower reads them), packed files, and whatever is no file; names that are no UTF-8, which is
//! told.  The folder is listed when its mtime has changed, and every few seconds, since an mtime is
//! coarse.  A file that was read and is renamed to a name that is not one of rotation gets a cursor of
//! that name, when the file that takes its place is read: see `follow`.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::SystemTime;

use logring::LogLevel;
use text::wildcard::Wildcards;

use super::cursor::CursorFile;
use super::follow::{self, rotation_bases};
use super::output::InputRecords;
use super::{InputPlace, OpenedInput, PATIENCE};

/// Most files of a folder that are followed at once: each has two descriptors and a thread.
const FILES_MAX: usize = 256;
/// After so many looks the folder is listed, whatever its mtime says.
const LOOKS: u32 = 25;
/// Ends of names of files that nobody follows, since they are packed.
const PACKED: [&str; 6] = [".gz", ".xz", ".zst", ".bz2", ".lz4", ".zip"];

/// A folder, and which of its files.
pub(super) struct Folder {
    path: PathBuf,
    pattern: Option<String>,
    /// When it was followed for the first time: what was rotated before that is nobody's.
    pub(super) since: SystemTime,
}

/// What a folder has.
#[derive(Default)]
struct FolderNames {
    /// Names of files that may be followed, sorted.
    names: Vec<String>,
    /// How many would be, if their names were UTF-8; one of them.
    foreign: usize,
    one_foreign: OsString,
}

/// Opens what stands behind `file:`: one file, also one that is not there yet, or those of a folder.
pub(super) fn open(mut place: InputPlace) -> io::Result<OpenedInput> {
    let target = PathBuf::from(&place.target);
    if let Some((path, pattern)) = pattern_of(&target)? {
        return open_folder(place, path, pattern);
    }
    if !place.control.follow(&target) {
        return Err(io::Error::other("another input follows it: leave one of them out"));
    }
    Ok(Box::new(move || match follow::run(&mut place) {
        // What was not there at the start is a folder.
        Err(_) if target.is_dir() => open_folder(place, target, None)?(),
        done => done,
    }))
}

/// Opens the files that a folder has now.
fn open_folder(
    place: InputPlace,
    path: PathBuf,
    pattern: Option<String>,
) -> io::Result<OpenedInput> {
    let folder = Arc::new(Folder { path, pattern, since: place.cursor.begun()? });
    let (running, failed, ended) = (BTreeMap::new(), BTreeMap::new(), HashSet::new());
    let (told, told_foreign) = (0, 0);
    let mut followed = Followers { place, folder, running, failed, ended, told, told_foreign };
    let found = followed.folder.names()?;
    followed.note_renamed(&found.names)?;
    let members = followed.members(&found.names)?;
    Ok(Box::new(move || {
        followed.tell_missing();
        followed.tell_foreign(&found);
        followed.start(members)?;
        followed.run()
    }))
}

/// The folder that a target means, and which of its files; `None`: the target is a file, or will be.
fn pattern_of(target: &Path) -> io::Result<Option<(PathBuf, Option<String>)>> {
    match std::fs::metadata(target) {
        Ok(facts) if facts.is_dir() => return Ok(Some((target.to_owned(), None))),
        Ok(facts) if facts.is_file() => return Ok(None),
        Ok(_) => {
            return Err(io::Error::other("it is neither a file nor a folder: give one of them"));
        }
        Err(_) => {}
    }
    let pattern = target.file_name().and_then(OsStr::to_str);
    let pattern = pattern.filter(|name| name.contains(['*', '?', '[']));
    let path = follow::folder_of(target);
    if pattern.is_some() && path.exists() && !path.is_dir() {
        return Err(io::Error::other(format!("{} is no folder", path.display())));
    }
    Ok(pattern.map(|pattern| (path.to_owned(), Some(pattern.to_owned()))))
}

impl Folder {
    /// The mtime of the folder: when a name was last made or removed in it.
    fn mtime(&self) -> Option<SystemTime> {
        std::fs::metadata(&self.path).and_then(|facts| facts.modified()).ok()
    }

    /// The names in the folder; none while it is not there.
    fn names(&self) -> io::Result<FolderNames> {
        let mut found = FolderNames::default();
        let entries = match std::fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let bytes = name.as_encoded_bytes();
            let is_packed = PACKED.iter().any(|end| bytes.ends_with(end.as_bytes()));
            // What a symbolic link means counts.
            let is_file = || std::fs::metadata(entry.path()).is_ok_and(|facts| facts.is_file());
            if bytes.starts_with(b".") || is_packed || !is_file() {
                continue;
            }
            match name.into_string() {
                Ok(name) => found.names.push(name),
                Err(name) if self.takes(&name) => {
                    found.foreign += 1;
                    found.one_foreign = name;
                }
                Err(_) => {}
            }
        }
        found.names.sort_unstable();
        Ok(found)
    }

    /// Whether a file of this name is to be followed, if the name is not one of rotation.
    pub(super) fn takes(&self, name: impl AsRef<OsStr>) -> bool {
        let (pattern, name) = (self.pattern.as_deref(), name.as_ref().as_encoded_bytes());
        pattern.is_none_or(|pattern| Wildcards::SHELL.fit(pattern.as_bytes(), name))
    }

    fn target_of(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    /// The name that the input of one of its files has.
    pub(super) fn input_of(&self, name: &str) -> String {
        input_name(&self.target_of(name))
    }
}

/// The name that an input of one file has.
fn input_name(target: &str) -> String {
    format!("file:{target}")
}

/// The threads of a folder's files, by name.
struct Followers {
    place: InputPlace,
    folder: Arc<Folder>,
    running: BTreeMap<String, JoinHandle<io::Result<()>>>,
    /// Why files cannot be read, as it was told.
    failed: BTreeMap<String, String>,
    /// Files that were read to their ends, if that is all that is wanted (`--once`).
    ended: HashSet<String>,
    /// How many files were told to be too many, and how many to have names that are no UTF-8.
    told: usize,
    told_foreign: usize,
}

impl Followers {
    /// The places of files that are not followed yet, with names of those that were rotated away.
    fn members(&self, names: &[String]) -> io::Result<Vec<(String, InputPlace)>> {
        let is_there = |name: &str| {
            names.binary_search_by(|other| other.as_str().cmp(name)).is_ok()
                || self.running.contains_key(name)
        };
        let mut members: Vec<(String, InputPlace)> = Vec::new();
        for name in names {
            if rotation_bases(name).any(|base| is_there(base) && self.folder.takes(base)) {
                continue;
            }
            // A file that has no name while it is rotated: only its cursor knows of it.
            let has_cursor = |base: &&str| self.has_cursor(&self.folder.target_of(base));
            let base = rotation_bases(name).find(has_cursor);
            let name = base.unwrap_or(name);
            let is_new = !self.running.contains_key(name)
                && !self.ended.contains(name)
                && members.iter().all(|(member, _)| member != name)
                && self.folder.takes(name);
            if !is_new {
                continue;
            }
            let target = self.folder.target_of(name);
            if self.running.len() + members.len() >= FILES_MAX || self.was_renamed(&target) {
                continue;
            }
            let member = self.member(target)?;
            if self.place.control.follow(Path::new(&member.target)) {
                members.push((name.to_owned(), member));
            }
        }
        Ok(members)
    }

    /// What follows one file works with.
    fn member(&self, target: String) -> io::Result<InputPlace> {
        let records = InputRecords::new("file", &target).map_err(io::Error::other)?;
        let cursor = self.place.control.cursor(&input_name(&target))?;
        Ok(InputPlace {
            target,
            records,
            cursor,
            folder: Some(Arc::clone(&self.folder)),
            control: Arc::clone(&self.place.control),
            security: Arc::clone(&self.place.security),
            tier: self.place.tier,
        })
    }

    fn has_cursor(&self, target: &str) -> bool {
        CursorFile::is_kept(&self.place.control.cursors, &input_name(target))
    }

    /// Whether a file was read under another name since the start.  One that has a cursor was read
    /// under this name, and goes on behind that.
    fn was_renamed(&self, target: &str) -> bool {
        let facts = std::fs::metadata(target);
        facts.is_ok_and(|facts| self.place.control.was_read(&facts)) && !self.has_cursor(target)
    }

    /// Notes the files that were read before this start, and have other names now.
    fn note_renamed(&self, names: &[String]) -> io::Result<()> {
        for target in names.iter().map(|name| self.folder.target_of(name)) {
            if !self.has_cursor(&target) {
                continue;
            }
            let cursor = self.place.control.cursor(&input_name(&target))?;
            // What cannot be opened now is told when the file is followed.
            let read = cursor.saved().map(|saved| follow::kept_file(Path::new(&target), saved));
            if let Some(Ok(Some(facts))) = read {
                self.place.control.note_read(&facts);
            }
        }
        Ok(())
    }

    fn start(&mut self, members: Vec<(String, InputPlace)>) -> io::Result<()> {
        for (name, mut place) in members {
            let (control, target) = (Arc::clone(&place.control), place.target.clone());
            let run = move || {
                let done = follow::run(&mut place);
                place.control.forget(Path::new(&place.target));
                done
            };
            let thread = std::thread::Builder::new().name("file".to_owned()).spawn(run);
            let thread = thread.inspect_err(|_| control.forget(Path::new(&target)))?;
            self.running.insert(name, thread);
        }
        Ok(())
    }

    /// Follows files until the input is to end; with `--once`, until all that is there is read.
    fn run(&mut self) -> io::Result<()> {
        let (mut looks, mut listed) = (0, None);
        while !self.place.is_ending() {
            let has_ended = self.end_finished();
            if self.place.control.is_once {
                // Those that were too many at first.
                if has_ended {
                    self.look();
                }
                if self.running.is_empty() {
                    return Ok(());
                }
            } else if looks >= LOOKS || self.folder.mtime() != listed {
                (looks, listed) = (0, self.folder.mtime());
                self.look();
            }
            looks += 1;
            std::thread::sleep(PATIENCE);
        }
        let threads = std::mem::take(&mut self.running);
        threads.into_values().for_each(|thread| drop(thread.join()));
        Ok(())
    }

    /// Starts those that follow new files.  A folder that cannot be listed now may be at the next look.
    fn look(&mut self) {
        let Ok(found) = self.folder.names() else { return };
        self.tell_foreign(&found);
        let names = found.names;
        if let Err(error) = self.members(&names).and_then(|members| self.start(members)) {
            self.place.records.write_own(LogLevel::Error, &format!("a new file: {error}"));
        }
        let taken = names.iter().filter(|name| self.folder.takes(name)).count();
        let is_full = self.running.len() >= FILES_MAX && !self.place.control.is_once;
        if is_full && taken > FILES_MAX && taken > self.told {
            self.told = taken;
            let text = format!(
                "of {taken} files {FILES_MAX} are followed at once, the others when one of them is \
                 removed: give a pattern, or an input for each part of them"
            );
            self.place.records.write_own(LogLevel::Warning, &text);
        }
    }

    /// Says that the folder is not there.
    fn tell_missing(&self) {
        if self.folder.path.exists() {
            return;
        }
        let later = if self.place.control.is_once { "" } else { ": its files are read when it is" };
        let text = format!("the folder {} is not there{later}", self.folder.path.display());
        self.place.records.write_own(LogLevel::Warning, &text);
    }

    /// Says how many files are left out because of their names, when they have become more.
    fn tell_foreign(&mut self, found: &FolderNames) {
        if found.foreign <= self.told_foreign {
            return;
        }
        self.told_foreign = found.foreign;
        let text = format!(
            "names that are no UTF-8 are not followed: {} here, one of them is {:?}: rename them",
            found.foreign, found.one_foreign
        );
        self.place.records.write_own(LogLevel::Warning, &text);
    }

    /// Forgets the files that were removed or are read, tells what failed, and gives whether there
    /// were some.
    fn end_finished(&mut self) -> bool {
        let finished: Vec<String> = self
            .running
            .iter()
            .filter(|(_, thread)| thread.is_finished())
            .map(|(name, _)| name.clone())
            .collect();
        let has_ended = !finished.is_empty();
        for name in finished {
            if self.place.control.is_once {
                self.ended.insert(name.clone());
            }
            let result = self.running.remove(&name).map(JoinHandle::join);
            if let Some(Ok(Err(error))) = result {
                let target = self.folder.target_of(&name);
                let text = format!("input file:{target} has ended: {error}");
                // It is tried again at each look, and told once.
                if self.failed.get(&name) != Some(&text) {
                    self.place.records.write_own(LogLevel::Error, &text);
                    self.failed.insert(name, text);
                }
            }
        }
        has_ended
    }
}

//! The files of a folder that are followed, each by a thread and a cursor of its own, as if it had
//! been given alone: `FOLDER`, or `FOLDER/PATTERN`.
//!
//! Not followed: names that begin with a dot, files that were rotated from another one of the folder
//! (its follower reads them), packed files, and whatever is no file.  The folder is listed when its
//! mtime has changed, and every few seconds, since an mtime is coarse.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
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
use super::{InputPlace, PATIENCE};

/// Most files of a folder that are followed at once: each has two descriptors and a thread.
const FILES_MAX: usize = 256;
/// After so many looks the folder is listed, whatever its mtime says.
const LOOKS: u32 = 25;
/// Ends of names of files that nobody follows, since they are packed.
const PACKED: [&str; 6] = [".gz", ".xz", ".zst", ".bz2", ".lz4", ".zip"];

/// A folder, and which of its files.
struct Folder {
    path: PathBuf,
    pattern: Option<String>,
}

/// Opens what stands behind `file:`: one file, also one that is not there yet, or those of a folder.
pub(super) fn open(
    mut place: InputPlace,
) -> io::Result<Box<dyn FnOnce() -> io::Result<()> + Send>> {
    let target = PathBuf::from(&place.target);
    let Some(folder) = Folder::of(&target)? else {
        if !place.control.follow(&target) {
            return Err(io::Error::other("another input follows it: leave one of them out"));
        }
        return Ok(Box::new(move || follow::run(&mut place)));
    };
    let since = place.cursor.begun()?;
    let (running, failed, ended) = (BTreeMap::new(), BTreeMap::new(), HashSet::new());
    let mut followed = Followers { place, folder, since, running, failed, ended, told: 0 };
    // Before the proxy's first round, which removes the rings that complete the cursors.
    let names = followed.folder.names()?;
    let members = followed.members(&names)?;
    followed.complete_cursors(&names, &members);
    Ok(Box::new(move || {
        followed.start(members)?;
        followed.run()
    }))
}

impl Folder {
    /// `None`: the target is a file, or will be.
    fn of(target: &Path) -> io::Result<Option<Self>> {
        match std::fs::metadata(target) {
            Ok(facts) if facts.is_dir() => {
                return Ok(Some(Folder { path: target.to_owned(), pattern: None }));
            }
            Ok(facts) if facts.is_file() => return Ok(None),
            Ok(_) => {
                return Err(io::Error::other(
                    "it is neither a file nor a folder: give one of them",
                ));
            }
            Err(_) => {}
        }
        let pattern = target.file_name().and_then(OsStr::to_str);
        let pattern = pattern.filter(|name| name.contains(['*', '?', '[']));
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let path = parent.unwrap_or(Path::new(".")).to_owned();
        if pattern.is_some() && !path.is_dir() {
            return Err(io::Error::other(format!("{} is no folder", path.display())));
        }
        Ok(pattern.map(|pattern| Folder { path, pattern: Some(pattern.to_owned()) }))
    }

    /// The mtime of the folder: when a name was last made or removed in it.
    fn mtime(&self) -> Option<SystemTime> {
        std::fs::metadata(&self.path).and_then(|facts| facts.modified()).ok()
    }

    /// Names of files that may be followed, sorted; those that are no UTF-8 are none.
    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let is_packed = PACKED.iter().any(|end| name.ends_with(end));
            // What a symbolic link means counts.
            let is_file = || std::fs::metadata(entry.path()).is_ok_and(|facts| facts.is_file());
            if !name.starts_with('.') && !is_packed && is_file() {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn takes(&self, name: &str) -> bool {
        let pattern = self.pattern.as_deref();
        pattern.is_none_or(|pattern| Wildcards::SHELL.fit(pattern.as_bytes(), name.as_bytes()))
    }
}

/// The name that an input of one file has.
fn input_name(target: &str) -> String {
    format!("file:{target}")
}

/// The threads of a folder's files, by name.
struct Followers {
    place: InputPlace,
    folder: Folder,
    /// When it was followed for the first time: what was rotated before that is nobody's.
    since: SystemTime,
    running: BTreeMap<String, JoinHandle<io::Result<()>>>,
    /// Why files cannot be read, as it was told.
    failed: BTreeMap<String, String>,
    /// Files that were read to their ends, if that is all that is wanted (`--once`).
    ended: HashSet<String>,
    /// How many files were told to be too many.
    told: usize,
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
            let base = rotation_bases(name).find(|base| self.has_cursor(&self.target_of(base)));
            let name = base.unwrap_or(name);
            let is_new = !self.running.contains_key(name)
                && !self.ended.contains(name)
                && members.iter().all(|(member, _)| member != name)
                && self.folder.takes(name);
            if !is_new {
                continue;
            }
            let target = self.target_of(name);
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
            folder_since: Some(self.since),
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

    /// Completes the cursors of files that are followed later, since there are too many.
    fn complete_cursors(&self, names: &[String], members: &[(String, InputPlace)]) {
        let is_member = |name: &str| members.iter().any(|(member, _)| member == name);
        for target in names.iter().filter(|name| !is_member(name)).map(|name| self.target_of(name))
        {
            if self.has_cursor(&target) {
                // What cannot be opened now is told when the file is followed.
                drop(self.place.control.cursor(&input_name(&target)));
            }
        }
    }

    fn target_of(&self, name: &str) -> String {
        self.folder.path.join(name).display().to_string()
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
        let Ok(names) = self.folder.names() else { return };
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
                let text = format!("input file:{} has ended: {error}", self.target_of(&name));
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

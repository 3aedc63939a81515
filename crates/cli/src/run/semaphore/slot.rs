//! A semaphore on disk: who holds a slot, taking one, giving it back.
//!
//! ```text
//! ~/.parallel/semaphores/id-NAME.lock            held (flock) while any of this is looked at
//! ~/.parallel/semaphores/id-NAME/id-NAME         an empty file: its links are the slots taken
//! ~/.parallel/semaphores/id-NAME/PID@HOST        one of them
//! ~/.parallel/semaphores/whit/lock               as the first lock, for us alone
//! ~/.parallel/semaphores/whit/PID@HOST           held (flock) by one of us as long as it lives
//! ```
//!
//! The first three are GNU parallel's, so that its `sem` and ours count each other.  They alone
//! would not do: parallel removes its lock's file without looking whether it is still the one it
//! locked, so that two may be in at once, and it knows the dead by their process number, which
//! somebody else may have by then.  Among ourselves the last two are what counts: no more than N at
//! once, and a slot is free as soon as its holder is dead, `kill -9` included.
//!
//! Waiting costs nothing: it ends when a holder does (pidfd) or its link goes (inotify).

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{FlockOperation, inotify};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};

/// How often we look whether a holder on another machine, whose folder we share, has gone: the
/// kernel does not tell.
const ELSEWHERE: Duration = Duration::from_secs(1);

/// Room for events; what they say does not matter.
const EVENT_BYTES: usize = 4096;

/// A semaphore.
#[derive(Clone, Debug)]
pub(super) struct Semaphore {
    /// `~/.parallel/semaphores`.
    root: PathBuf,
    /// `id-NAME`.
    name: OsString,
    /// The name of this machine.
    host: Vec<u8>,
}

/// What is to be waited for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted {
    /// A slot of so many.
    Slot(u32),
    /// That nobody holds one.
    Empty,
}

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Patience {
    Endless,
    /// Then go on as if it had come.
    ThenAnyway(Duration),
    /// Then give up.
    ThenNot(Duration),
}

/// How waiting ended.
#[derive(Debug)]
pub(super) enum Waited {
    /// A slot is ours.
    Taken(Slot),
    /// The time was up, and one is ours all the same.
    TakenAnyway(Slot),
    /// Nobody holds one.
    Empty,
    /// The time was up.
    TimedOut,
    /// Nobody is there any more to wait for.
    Abandoned,
}

/// Who holds slots.
#[derive(Default)]
struct Holders {
    /// Those on this machine.
    here: Vec<OwnedFd>,
    /// How many are on others.
    elsewhere: usize,
}

impl Holders {
    fn count(&self) -> usize {
        self.here.len() + self.elsewhere
    }
}

/// A slot that this process holds, until dropped.
#[derive(Debug)]
pub(super) struct Slot {
    semaphore: Semaphore,
    /// The process that took it: a copy of this in a child is none.
    owner: u32,
    /// Keeps the lock of our own file.
    _mark: File,
}

/// Nobody else looks or changes anything while this lives.
struct Locked<'a> {
    semaphore: &'a Semaphore,
    _ours: File,
    theirs: File,
}

impl Semaphore {
    /// The semaphore of that name in a user's folder.
    pub(super) fn new(home: &Path, name: &OsStr) -> Self {
        let host = rustix::system::uname().nodename().to_bytes().to_vec();
        Semaphore { root: home.join("semaphores"), name: file_name(name), host }
    }

    fn folder(&self) -> PathBuf {
        self.root.join(&self.name)
    }

    fn marks(&self) -> PathBuf {
        self.root.join("whit")
    }

    /// The name of this process among the holders.
    fn own_entry(&self) -> OsString {
        let mut name = format!("{}@", std::process::id()).into_bytes();
        name.extend_from_slice(&self.host);
        OsString::from_vec(name)
    }

    /// Waits for what is wanted.  `parent`: the writing end of a pipe; nobody waits any more when
    /// its reader has gone.
    pub(super) fn wait(
        &self,
        wanted: Wanted,
        patience: Patience,
        parent: Option<BorrowedFd<'_>>,
    ) -> anyhow::Result<Waited> {
        fs::create_dir_all(self.marks())
            .with_context(|| format!("cannot make the folder {}", self.marks().display()))?;
        let began = Instant::now();
        let limit = match patience {
            Patience::Endless => None,
            Patience::ThenAnyway(limit) | Patience::ThenNot(limit) => Some(limit),
        };
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let changes = inotify::init(flags).context("cannot watch the semaphore's folder")?;
        loop {
            let failed = || format!("cannot use the semaphore {}", self.folder().display());
            let locked = self.lock().with_context(failed)?;
            if let Wanted::Slot(_) = wanted {
                make_folder(&self.folder()).with_context(failed)?;
            }
            self.watch(&changes).with_context(failed)?;
            let holders = locked.holders().with_context(failed)?;
            let is_over = limit.is_some_and(|limit| began.elapsed() >= limit);
            match (wanted, patience) {
                (Wanted::Slot(slots), _) if holders.count() < slots as usize => {
                    return Ok(Waited::Taken(locked.take().with_context(failed)?));
                }
                (Wanted::Empty, _) if holders.count() == 0 => return Ok(Waited::Empty),
                (_, Patience::ThenNot(_)) if is_over => return Ok(Waited::TimedOut),
                (Wanted::Empty, _) if is_over => return Ok(Waited::Empty),
                (Wanted::Slot(_), _) if is_over => {
                    return Ok(Waited::TakenAnyway(locked.take().with_context(failed)?));
                }
                _ => drop(locked),
            }
            let rest = limit.map(|limit| limit.saturating_sub(began.elapsed()));
            if sleep(&holders, changes.as_fd(), parent, rest)? {
                return Ok(Waited::Abandoned);
            }
        }
    }

    /// Has changes of the folder told from now on, and forgets those up to now.
    fn watch(&self, changes: &OwnedFd) -> io::Result<()> {
        use inotify::WatchFlags;
        let flags = WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::DELETE_SELF;
        match inotify::add_watch(changes, self.folder(), flags) {
            // Nobody has ever held it.
            Ok(_) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let mut buffer = [const { MaybeUninit::uninit() }; EVENT_BYTES];
        while rustix::io::read(changes, &mut buffer).is_ok_and(|(read, _)| !read.is_empty()) {}
        Ok(())
    }

    fn lock(&self) -> io::Result<Locked<'_>> {
        let mut options = OpenOptions::new();
        options.create(true).write(true).truncate(false);
        let ours = options.open(self.marks().join("lock"))?;
        flock(&ours, FlockOperation::LockExclusive)?;
        loop {
            let path = self.their_lock();
            let theirs = options.open(&path)?;
            flock(&theirs, FlockOperation::LockExclusive)?;
            // Whoever had it may have removed it.
            let (locked, there) = (theirs.metadata()?, fs::metadata(path).ok());
            if there.is_some_and(|there| there.ino() == locked.ino()) {
                return Ok(Locked { semaphore: self, _ours: ours, theirs });
            }
        }
    }

    fn their_lock(&self) -> PathBuf {
        let mut name = self.name.clone();
        name.push(".lock");
        self.root.join(name)
    }
}

impl Locked<'_> {
    /// Who holds slots.  Removes the links of the dead.
    fn holders(&self) -> io::Result<Holders> {
        let mut holders = Holders::default();
        let entries = match fs::read_dir(self.semaphore.folder()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(holders),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let Some((pid, host)) = holder(&name) else { continue };
            if host != self.semaphore.host {
                holders.elsewhere += 1;
            } else if let Some(alive) = self.alive(&name, pid)? {
                holders.here.push(alive);
            } else {
                remove(&entry.path())?;
                remove(&self.semaphore.marks().join(&name))?;
            }
        }
        Ok(holders)
    }

    /// A holder on this machine, if it lives.
    fn alive(&self, name: &OsStr, pid: u32) -> io::Result<Option<OwnedFd>> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        // What stands under our own number is of somebody who had it before.
        let Some(pid) = pid.filter(|pid| *pid != rustix::process::getpid()) else {
            return Ok(None);
        };
        match File::open(self.semaphore.marks().join(name)) {
            Ok(mark) if try_flock(&mark)? => return Ok(None),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(_) | Err(_) => {}
        }
        let process = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(process) => process,
            Err(Errno::SRCH | Errno::INVAL | Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // One that has ended may wait for its parent for long.
        let mut ended = [PollFd::new(&process, PollFlags::IN)];
        let now = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
        let is_alive = rustix::event::poll(&mut ended, Some(&now))? == 0;
        Ok(is_alive.then_some(process))
    }

    /// Takes a slot for this process.
    fn take(&self) -> io::Result<Slot> {
        let semaphore = self.semaphore;
        let entry = semaphore.own_entry();
        let mark = File::create(semaphore.marks().join(&entry))?;
        flock(&mark, FlockOperation::LockExclusive)?;
        let slot = Slot { semaphore: semaphore.clone(), owner: std::process::id(), _mark: mark };
        let folder = semaphore.folder();
        loop {
            make_folder(&folder)?;
            let counted = folder.join(&semaphore.name);
            let linked =
                File::create(&counted).and_then(|_| fs::hard_link(&counted, folder.join(&entry)));
            match linked {
                // parallel removes the folder of whoever was the last.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    remove(&semaphore.marks().join(&entry))?;
                    // There is nothing to be given back.
                    std::mem::forget(slot);
                    return Err(error);
                }
                Ok(()) => return Ok(slot),
            }
        }
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // As parallel does, but only when it is still the one that we have.
        let path = self.semaphore.their_lock();
        let there = fs::symlink_metadata(&path).map(|there| there.ino()).ok();
        if there.is_some() && there == self.theirs.metadata().map(|ours| ours.ino()).ok() {
            let _ = fs::remove_file(path);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.owner != std::process::id() {
            return;
        }
        // Whatever fails here is found by the next one to look, who sees that we are dead.
        let Ok(locked) = self.semaphore.lock() else { return };
        let (folder, entry) = (self.semaphore.folder(), self.semaphore.own_entry());
        let _ = remove(&folder.join(&entry));
        let _ = remove(&self.semaphore.marks().join(&entry));
        if locked.holders().is_ok_and(|holders| holders.count() == 0) {
            let _ = remove(&folder.join(&self.semaphore.name));
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Sleeps until something may have changed; true when nobody waits for us any more.
fn sleep(
    holders: &Holders,
    changes: BorrowedFd<'_>,
    parent: Option<BorrowedFd<'_>>,
    rest: Option<Duration>,
) -> anyhow::Result<bool> {
    let mut watched = vec![PollFd::from_borrowed_fd(changes, PollFlags::IN)];
    watched.extend(holders.here.iter().map(|process| PollFd::new(process, PollFlags::IN)));
    // Of a pipe without a reader the kernel tells unasked.
    watched.extend(parent.map(|parent| PollFd::from_borrowed_fd(parent, PollFlags::empty())));
    let again = (holders.elsewhere > 0).then_some(ELSEWHERE);
    let longest = rest.into_iter().chain(again).min();
    let longest = longest.and_then(|time| rustix::time::Timespec::try_from(time).ok());
    match rustix::event::poll(&mut watched, longest.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error).context("cannot wait for the semaphore"),
    }
    let has_left = |watched: &PollFd<'_>| watched.revents().contains(PollFlags::ERR);
    Ok(parent.is_some() && watched.last().is_some_and(has_left))
}

/// A semaphore's name as a file's: bytes that are neither letters, digits, `-` nor `_` in
/// hexadecimal.
fn file_name(name: &OsStr) -> OsString {
    use std::fmt::Write as _;
    let mut text = String::from("id-");
    for &byte in name.as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => text.push(byte.into()),
            // Writing to a text cannot fail.
            _ => drop(write!(text, "{byte:02x}")),
        }
    }
    text.into()
}

/// The process and the machine that a link's name tells.
fn holder(name: &OsStr) -> Option<(u32, &[u8])> {
    let name = name.as_bytes();
    let at = name.iter().position(|&byte| byte == b'@')?;
    let pid = std::str::from_utf8(&name[..at]).ok()?.parse().ok()?;
    Some((pid, &name[at + 1..]))
}

fn make_folder(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Removes a file that need not be there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn flock(file: &File, operation: FlockOperation) -> io::Result<()> {
    Ok(rustix::io::retry_on_intr(|| rustix::fs::flock(file, operation))?)
}

/// Whether nobody else has it locked; then we have, until it is closed.
fn try_flock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_names_of_files_as_parallel_has_them() {
        for (name, file) in [
            ("we/ird na", "id-we2fird20na"),
            ("Ab.c-d_e", "id-Ab2ec-d_e"),
            ("ä%", "id-c3a425"),
            ("not a tty", "id-not20a20tty"),
        ] {
            assert_eq!(file_name(OsStr::new(name)), file);
        }
    }

    #[test]
    fn links_tell_their_holders() {
        assert_eq!(holder(OsStr::new("17@host@x")), Some((17, b"host@x".as_slice())));
        assert_eq!(holder(OsStr::new("id-x")), None);
        assert_eq!(holder(OsStr::new("x@host")), None);
    }

    #[test]
    fn the_dead_hold_nothing_and_the_last_one_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let semaphore = Semaphore::new(home.path(), OsStr::new("x"));
        fs::create_dir_all(semaphore.folder()).unwrap();
        let host = String::from_utf8(semaphore.host.clone()).unwrap();
        // No process has this number: it is above what the kernel gives out.
        fs::write(semaphore.folder().join(format!("99999999@{host}")), "").unwrap();
        // One lives, but not as the holder: its file is locked by nobody.
        let reused = format!("{}@{host}", std::os::unix::process::parent_id());
        fs::create_dir_all(semaphore.marks()).unwrap();
        fs::write(semaphore.folder().join(&reused), "").unwrap();
        fs::write(semaphore.marks().join(&reused), "").unwrap();

        let waited = semaphore.wait(Wanted::Slot(1), Patience::Endless, None).unwrap();
        assert!(matches!(waited, Waited::Taken(_)), "{waited:?}");
        assert!(!semaphore.folder().join(&reused).exists());
        assert_eq!(fs::metadata(semaphore.folder().join("id-x")).unwrap().nlink(), 2);
        drop(waited);
        assert!(!semaphore.folder().exists() && !semaphore.their_lock().exists());
    }

    /// A semaphore whose one slot a process that lives holds, as parallel marks it.
    fn held_by_parallel(home: &Path) -> Semaphore {
        let semaphore = Semaphore::new(home, OsStr::new("x"));
        fs::create_dir_all(semaphore.folder()).unwrap();
        let parent = std::os::unix::process::parent_id();
        let host = String::from_utf8(semaphore.host.clone()).unwrap();
        fs::write(semaphore.folder().join(format!("{parent}@{host}")), "").unwrap();
        semaphore
    }

    #[test]
    fn patience_ends() {
        let home = tempfile::tempdir().unwrap();
        let semaphore = held_by_parallel(home.path());
        let short = Duration::from_millis(20);
        let wait = |wanted, patience| semaphore.wait(wanted, patience, None).unwrap();
        assert!(matches!(wait(Wanted::Empty, Patience::ThenNot(short)), Waited::TimedOut));
        assert!(matches!(wait(Wanted::Empty, Patience::ThenAnyway(short)), Waited::Empty));
        assert!(matches!(wait(Wanted::Slot(1), Patience::ThenNot(short)), Waited::TimedOut));
        let anyway = wait(Wanted::Slot(1), Patience::ThenAnyway(short));
        assert!(matches!(anyway, Waited::TakenAnyway(_)));
        drop(anyway);
        assert!(matches!(wait(Wanted::Slot(2), Patience::ThenNot(short)), Waited::Taken(_)));
    }

    #[test]
    fn nobody_waits_for_somebody_who_has_left() {
        let home = tempfile::tempdir().unwrap();
        let semaphore = held_by_parallel(home.path());
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let waited = semaphore.wait(Wanted::Slot(1), Patience::Endless, Some(writer.as_fd()));
        assert!(matches!(waited.unwrap(), Waited::Abandoned));
    }
}

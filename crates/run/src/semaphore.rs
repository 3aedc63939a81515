//! A semaphore on disk: taking a slot and giving it back.
//!
//! ```text
//! ~/.parallel/semaphores/id-NAME.lock            locked (flock) while any of this is read or changed
//! ~/.parallel/semaphores/id-NAME/id-NAME         an empty file; its links are the slots taken
//! ~/.parallel/semaphores/id-NAME/PID@HOST        one of them
//! ~/.parallel/semaphores/whit/lock               as the first lock, for whit only
//! ~/.parallel/semaphores/whit/PID@HOST           locked (flock) by a holder of ours while it lives
//! ```
//!
//! The first three are those of GNU parallel, so that its `sem` and ours count each other's
//! commands.  They are not sufficient: parallel removes its lock file without checking that it is
//! still the one it locked, so two processes may hold the lock at once; and it recognizes a dead
//! holder by its process number, which may have been reused.  Between processes of whit the last
//! two files decide: never more than N at once, and a slot is free as soon as its holder has ended,
//! even by `kill -9`.
//!
//! Waiting uses no CPU time: it ends when a holder ends (pidfd) or its link is removed (inotify).

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{FlockOperation, inotify};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};

use crate::units::{self, UnitError};

/// How often holders on other machines that share the directory are checked: inotify does not
/// report changes that another machine makes.
const ELSEWHERE: Duration = Duration::from_secs(1);

/// Buffer for events; their contents do not matter.
const EVENT_BYTES: usize = 4096;

/// Why a semaphore cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SemaphoreError {
    /// The directory of all semaphores cannot be created.
    #[error("cannot make the folder {folder}: {error}")]
    Folder {
        /// The folder's path.
        folder: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// Changes of the folder cannot be watched (inotify(7)).
    #[error("cannot watch the semaphore's folder: {0}")]
    Watch(Errno),
    /// The files of the semaphore cannot be read or changed.
    #[error("cannot use the semaphore {folder}: {error}")]
    Files {
        /// The semaphore's folder.
        folder: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// `--semaphore-timeout` is not a duration.
    #[error("--semaphore-timeout: {0}")]
    Timeout(UnitError),
    /// Waiting failed (poll(2)).
    #[error("cannot wait for the semaphore: {0}")]
    Wait(Errno),
}

/// A semaphore.
#[derive(Clone, Debug)]
pub struct Semaphore {
    /// `~/.parallel/semaphores`.
    root: PathBuf,
    /// `id-NAME`.
    name: OsString,
    /// The name of this machine.
    host: Vec<u8>,
}

/// What to wait for.
#[derive(Clone, Copy, Debug)]
pub enum WaitFor {
    /// Wait for one of this many slots.
    Slot(u32),
    /// Wait until no process holds a slot.
    Empty,
}

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WaitLimit {
    /// Without limit.
    None,
    /// For this time; then go on as if the wait had succeeded.
    ThenTake(Duration),
    /// For this time; then fail.
    ThenFail(Duration),
}

impl WaitLimit {
    /// Parses `--semaphore-timeout`: a duration; with a `-` before it the wait fails at the limit;
    /// 0 is no limit.
    ///
    /// # Errors
    ///
    /// If it is not a duration.
    pub fn parse(text: &str) -> Result<Self, SemaphoreError> {
        let (duration, fails) = match text.strip_prefix('-') {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let duration = units::duration(duration).map_err(SemaphoreError::Timeout)?;
        Ok(match fails {
            _ if duration == Duration::ZERO => WaitLimit::None,
            true => WaitLimit::ThenFail(duration),
            false => WaitLimit::ThenTake(duration),
        })
    }
}

/// How waiting ended.
#[derive(Debug)]
pub enum WaitOutcome {
    /// This process holds a slot.
    Taken(HeldSlot),
    /// The limit was reached, and this process holds a slot anyway.
    TakenAnyway(HeldSlot),
    /// No process holds a slot.
    Empty,
    /// The limit was reached.
    TimedOut,
    /// The process that this one waits for has ended.
    Abandoned,
}

/// The processes that hold slots.
#[derive(Default)]
struct Holders {
    /// Holders on this machine.
    here: Vec<OwnedFd>,
    /// Number of holders on other machines.
    elsewhere: usize,
}

impl Holders {
    fn count(&self) -> usize {
        self.here.len() + self.elsewhere
    }
}

/// A slot that this process holds until this is dropped.
#[derive(Debug)]
pub struct HeldSlot {
    semaphore: Semaphore,
    /// The process that took it: a copy in a child holds nothing.
    owner: u32,
    /// Keeps the lock of our own file.
    _mark: File,
}

/// The lock: no other process reads or changes the semaphore while this lives.
struct Locked<'a> {
    semaphore: &'a Semaphore,
    _ours: File,
    theirs: File,
}

impl Semaphore {
    /// The semaphore of this name in the home directory of a user.
    pub fn new(home: &Path, name: &OsStr) -> Self {
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

    /// Waits.  `parent` is the writing end of a pipe; the wait ends when the reading end is closed.
    ///
    /// # Errors
    ///
    /// If a file of the semaphore cannot be read or written.
    pub fn wait(
        &self,
        wanted: WaitFor,
        limit: WaitLimit,
        parent: Option<BorrowedFd<'_>>,
    ) -> Result<WaitOutcome, SemaphoreError> {
        fs::create_dir_all(self.marks()).map_err(|error| {
            let folder = self.marks().display().to_string();
            SemaphoreError::Folder { folder, error }
        })?;
        let began = Instant::now();
        let longest = match limit {
            WaitLimit::None => None,
            WaitLimit::ThenTake(longest) | WaitLimit::ThenFail(longest) => Some(longest),
        };
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let changes = inotify::init(flags).map_err(SemaphoreError::Watch)?;
        loop {
            let failed = |error| {
                let folder = self.folder().display().to_string();
                SemaphoreError::Files { folder, error }
            };
            let locked = self.lock().map_err(failed)?;
            if let WaitFor::Slot(_) = wanted {
                make_folder(&self.folder()).map_err(failed)?;
            }
            self.watch(&changes).map_err(failed)?;
            let holders = locked.holders().map_err(failed)?;
            let is_over = longest.is_some_and(|longest| began.elapsed() >= longest);
            match (wanted, limit) {
                (WaitFor::Slot(slots), _) if holders.count() < slots as usize => {
                    return Ok(WaitOutcome::Taken(locked.take_slot().map_err(failed)?));
                }
                (WaitFor::Empty, _) if holders.count() == 0 => return Ok(WaitOutcome::Empty),
                (_, WaitLimit::ThenFail(_)) if is_over => return Ok(WaitOutcome::TimedOut),
                (WaitFor::Empty, _) if is_over => return Ok(WaitOutcome::Empty),
                (WaitFor::Slot(_), _) if is_over => {
                    return Ok(WaitOutcome::TakenAnyway(locked.take_slot().map_err(failed)?));
                }
                _ => drop(locked),
            }
            let rest = longest.map(|longest| longest.saturating_sub(began.elapsed()));
            if sleep(&holders, changes.as_fd(), parent, rest)? {
                return Ok(WaitOutcome::Abandoned);
            }
        }
    }

    /// Watches the directory for changes from now on, and drops earlier events.
    fn watch(&self, changes: &OwnedFd) -> io::Result<()> {
        use inotify::WatchFlags;
        let flags = WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::DELETE_SELF;
        match inotify::add_watch(changes, self.folder(), flags) {
            // No process has ever held it.
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
            // The process that held it may have removed it.
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
    /// The holders of slots.  Removes the links of dead ones.
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
        // An entry with our own number was left by an earlier process.
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
        // A process that has exited may stay a zombie for long.
        let mut ended = [PollFd::new(&process, PollFlags::IN)];
        let now = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
        let is_alive = rustix::event::poll(&mut ended, Some(&now))? == 0;
        Ok(is_alive.then_some(process))
    }

    /// Marks a slot as held by this process.
    fn take_slot(&self) -> io::Result<HeldSlot> {
        let semaphore = self.semaphore;
        let entry = semaphore.own_entry();
        let mark = File::create(semaphore.marks().join(&entry))?;
        flock(&mark, FlockOperation::LockExclusive)?;
        let slot =
            HeldSlot { semaphore: semaphore.clone(), owner: std::process::id(), _mark: mark };
        let folder = semaphore.folder();
        loop {
            make_folder(&folder)?;
            let counted = folder.join(&semaphore.name);
            let linked =
                File::create(&counted).and_then(|_| fs::hard_link(&counted, folder.join(&entry)));
            match linked {
                // parallel removes the directory with the last holder.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    remove(&semaphore.marks().join(&entry))?;
                    // Nothing was taken that could be released.
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
        // As parallel does, but only if it is still the file that we locked.
        let path = self.semaphore.their_lock();
        let there = fs::symlink_metadata(&path).map(|there| there.ino()).ok();
        if there.is_some() && there == self.theirs.metadata().map(|ours| ours.ino()).ok() {
            let _ = fs::remove_file(path);
        }
    }
}

impl Drop for HeldSlot {
    fn drop(&mut self) {
        if self.owner != std::process::id() {
            return;
        }
        // What fails here is repaired by the next process, which sees that this one has ended.
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

/// Sleeps until something may have changed; returns true when the reading end of `parent` is
/// closed.
fn sleep(
    holders: &Holders,
    changes: BorrowedFd<'_>,
    parent: Option<BorrowedFd<'_>>,
    rest: Option<Duration>,
) -> Result<bool, SemaphoreError> {
    let mut watched = vec![PollFd::from_borrowed_fd(changes, PollFlags::IN)];
    watched.extend(holders.here.iter().map(|process| PollFd::new(process, PollFlags::IN)));
    // poll(2) always reports a pipe without a reader (POLLERR).
    watched.extend(parent.map(|parent| PollFd::from_borrowed_fd(parent, PollFlags::empty())));
    let again = (holders.elsewhere > 0).then_some(ELSEWHERE);
    let longest = rest.into_iter().chain(again).min();
    let longest = longest.and_then(|time| rustix::time::Timespec::try_from(time).ok());
    match rustix::event::poll(&mut watched, longest.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(SemaphoreError::Wait(error)),
    }
    let has_left = |watched: &PollFd<'_>| watched.revents().contains(PollFlags::ERR);
    Ok(parent.is_some() && watched.last().is_some_and(has_left))
}

/// A file name for a semaphore: bytes other than letters, digits, `-` and `_` are hexadecimal.
fn file_name(name: &OsStr) -> OsString {
    use std::fmt::Write as _;
    let mut text = String::from("id-");
    for &byte in name.as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => text.push(byte.into()),
            // Writing to a string cannot fail.
            _ => drop(write!(text, "{byte:02x}")),
        }
    }
    text.into()
}

/// The process and the machine in the name of a link.
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

/// Removes a file if it exists.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn flock(file: &File, operation: FlockOperation) -> io::Result<()> {
    Ok(rustix::io::retry_on_intr(|| rustix::fs::flock(file, operation))?)
}

/// Locks a file unless another process holds the lock; returns whether it did.
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
    fn timeouts_are_read() {
        let read = |text| WaitLimit::parse(text).unwrap();
        assert_eq!(read("1.5"), WaitLimit::ThenTake(Duration::from_millis(1500)));
        assert_eq!(read("1m"), WaitLimit::ThenTake(Duration::from_secs(60)));
        assert_eq!(read("-2"), WaitLimit::ThenFail(Duration::from_secs(2)));
        assert_eq!(read("0"), WaitLimit::None);
        assert!(WaitLimit::parse("x").is_err());
    }

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
    fn links_name_their_holders() {
        assert_eq!(holder(OsStr::new("17@host@x")), Some((17, b"host@x".as_slice())));
        assert_eq!(holder(OsStr::new("id-x")), None);
        assert_eq!(holder(OsStr::new("x@host")), None);
    }

    #[test]
    fn ended_processes_hold_nothing_and_the_last_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let semaphore = Semaphore::new(home.path(), OsStr::new("x"));
        fs::create_dir_all(semaphore.folder()).unwrap();
        let host = String::from_utf8(semaphore.host.clone()).unwrap();
        // No process has this number: it is above what the kernel gives out.
        fs::write(semaphore.folder().join(format!("99999999@{host}")), "").unwrap();
        // One lives, but not as the holder: no process has locked its file.
        let reused = format!("{}@{host}", std::os::unix::process::parent_id());
        fs::create_dir_all(semaphore.marks()).unwrap();
        fs::write(semaphore.folder().join(&reused), "").unwrap();
        fs::write(semaphore.marks().join(&reused), "").unwrap();

        let waited = semaphore.wait(WaitFor::Slot(1), WaitLimit::None, None).unwrap();
        assert!(matches!(waited, WaitOutcome::Taken(_)), "{waited:?}");
        assert!(!semaphore.folder().join(&reused).exists());
        assert_eq!(fs::metadata(semaphore.folder().join("id-x")).unwrap().nlink(), 2);
        drop(waited);
        assert!(!semaphore.folder().exists() && !semaphore.their_lock().exists());
    }

    /// A semaphore whose only slot a living process holds, in parallel's files.
    fn held_by_parallel(home: &Path) -> Semaphore {
        let semaphore = Semaphore::new(home, OsStr::new("x"));
        fs::create_dir_all(semaphore.folder()).unwrap();
        let parent = std::os::unix::process::parent_id();
        let host = String::from_utf8(semaphore.host.clone()).unwrap();
        fs::write(semaphore.folder().join(format!("{parent}@{host}")), "").unwrap();
        semaphore
    }

    #[test]
    fn waiting_has_its_limit() {
        let home = tempfile::tempdir().unwrap();
        let semaphore = held_by_parallel(home.path());
        let short = Duration::from_millis(20);
        let wait = |wanted, limit| semaphore.wait(wanted, limit, None).unwrap();
        assert!(matches!(wait(WaitFor::Empty, WaitLimit::ThenFail(short)), WaitOutcome::TimedOut));
        assert!(matches!(wait(WaitFor::Empty, WaitLimit::ThenTake(short)), WaitOutcome::Empty));
        assert!(matches!(
            wait(WaitFor::Slot(1), WaitLimit::ThenFail(short)),
            WaitOutcome::TimedOut
        ));
        let anyway = wait(WaitFor::Slot(1), WaitLimit::ThenTake(short));
        assert!(matches!(anyway, WaitOutcome::TakenAnyway(_)));
        drop(anyway);
        assert!(matches!(
            wait(WaitFor::Slot(2), WaitLimit::ThenFail(short)),
            WaitOutcome::Taken(_)
        ));
    }

    #[test]
    fn waiting_ends_when_the_reader_is_closed() {
        let home = tempfile::tempdir().unwrap();
        let semaphore = held_by_parallel(home.path());
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let waited = semaphore.wait(WaitFor::Slot(1), WaitLimit::None, Some(writer.as_fd()));
        assert!(matches!(waited.unwrap(), WaitOutcome::Abandoned));
    }
}

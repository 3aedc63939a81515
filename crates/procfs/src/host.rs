//! The kernel files of a host: opened once, and read at most once a tick for all sources.
//!
//! Cost: one `pread` per file and tick into a buffer that is kept.  A second reader in the same
//! tick gets the same bytes.  A file that cannot be opened is tried again every [`RETRY_TICKS`]
//! ticks and costs nothing in between.
//!
//! Keeping the descriptor instead of open, read, close makes `/proc/stat` 1.5 times and
//! `/proc/loadavg` 5 times as fast: opening the latter costs more than reading it.

mod texts;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, RawDir};
use rustix::io::Errno;
use sample::State;

use crate::cost::Cost;
use crate::probe::{Probe, Touch};
use texts::TextCopies;

/// Ticks between two attempts to open an absent file, which appears when a module is loaded or a
/// filesystem is mounted.
const RETRY_TICKS: u64 = 64;

/// Initial size of the buffer of a file of records, or of several files: more than one `read` of
/// such a file returns.
const BUFFER_BYTES: usize = 8 * 1024;

/// Initial size of any other file's buffer.  Most of the dozens of files hold a few numbers; the
/// first read of a longer one grows its buffer.
const BUFFER_WHOLE_BYTES: usize = 1024;

/// The most that is read of one file; a longer one fails.  `/proc/interrupts` of 4,096 CPUs and
/// 5,000 interrupts is about 200 MB, too much to read every second.
const FILE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Buffer of one `getdents` on the stack: about 100 names.
const NAMES_BYTES: usize = 4 * 1024;

/// How the kernel returns a file's text to `read`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMode {
    /// All in one read if the buffer is large enough (`single_open` and sysfs files).
    Whole,
    /// Record by record through a kernel buffer whose first size is a page (`seq_file`): a read
    /// of nearly a page may not be the whole file, so the host reads until end-of-file.
    Records,
}

/// Identifies a file of a [`Host`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId(usize);

struct File {
    path: String,
    /// The path below the host's root, built in advance: `open` is repeated while recording,
    /// and building it then would allocate.
    location: Vec<u8>,
    mode: ReadMode,
    fd: Option<OwnedFd>,
    buffer: Vec<u8>,
    len: usize,
    /// Whether the buffer holds the whole file as of this tick, or only the result of one `read`.
    whole: bool,
    /// The longest record seen: a read that left more room than this in a page reached the end.
    record_bytes_max: usize,
    /// The first word of the file's last record, and the tick at which a read to end-of-file
    /// found it.  Without it, a file that nearly fills its page would cost two reads each time.
    last_word: Vec<u8>,
    last_word_tick: u64,
    last_len: usize,
    /// The tick of the latest attempt, and its result.
    tick: u64,
    state: State,
    retry_tick: u64,
}

/// How much of a file to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// The result of one `read`.
    First,
    Whole,
}

enum Backing {
    Kernel { root: PathBuf },
    Memory { files: HashMap<String, Vec<u8>> },
}

/// The kernel files of one machine.
pub struct Host {
    backing: Backing,
    files: Vec<Option<File>>,
    tick: u64,
    now_ns: u64,
    cost: Cost,
    /// Only for `whit doctor` and the check before a recording.
    probe: Option<Box<Probe>>,
    /// Only for a recorder that keeps kernel texts.
    kept: Option<TextCopies>,
}

impl Host {
    /// This machine, or, with a `root` other than `/`, the copy of another machine's tree.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Host {
            backing: Backing::Kernel { root: root.into() },
            files: Vec::new(),
            tick: 1,
            now_ns: 0,
            cost: Cost::default(),
            probe: None,
            kept: None,
        }
    }

    /// A machine whose files are in memory; see [`Host::put`].
    pub fn in_memory() -> Self {
        Host {
            backing: Backing::Memory { files: HashMap::new() },
            files: Vec::new(),
            tick: 1,
            now_ns: 0,
            cost: Cost::default(),
            probe: None,
            kept: None,
        }
    }

    /// Begins a tick: the next read of every file asks the kernel again.
    pub fn begin_tick(&mut self) {
        self.tick += 1;
    }

    /// The number of the tick, for what is read at most once in a tick.
    pub fn tick(&self) -> u64 {
        self.tick
    }

    /// As [`begin_tick`](Self::begin_tick), with the time in nanoseconds of a monotonic clock.
    pub fn begin_tick_at(&mut self, now_ns: u64) {
        self.begin_tick();
        self.now_ns = now_ns;
    }

    /// The start of the tick as given to [`begin_tick_at`](Self::begin_tick_at), for work that is
    /// done every so many seconds, however short the ticks are.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Sets the text of a file of a host in memory; `None` removes the file.
    ///
    /// # Panics
    /// If the host reads a kernel's files.
    pub fn put(&mut self, path: &str, text: Option<&[u8]>) {
        let Backing::Memory { files } = &mut self.backing else {
            panic!("only a host in memory can be given files")
        };
        match (text, files.get_mut(path)) {
            (Some(text), Some(held)) => {
                held.clear();
                held.extend_from_slice(text);
            }
            (Some(text), None) => {
                files.insert(path.to_owned(), text.to_vec());
            }
            (None, _) => {
                files.remove(path);
            }
        }
    }

    /// Registers a file by its absolute path on the host (`/proc/stat`).  The first read opens
    /// it.  Registering a path again returns the same id.
    pub fn file(&mut self, path: &str, mode: ReadMode) -> FileId {
        let same = |file: &Option<File>| file.as_ref().is_some_and(|file| file.path == path);
        if let Some(index) = self.files.iter().position(same) {
            return FileId(index);
        }
        let location = match &self.backing {
            Backing::Kernel { root } => on_host(root, path).into_os_string().into_vec(),
            Backing::Memory { .. } => Vec::new(),
        };
        let file = File {
            path: path.to_owned(),
            location,
            mode,
            fd: None,
            buffer: Vec::new(),
            len: 0,
            whole: true,
            record_bytes_max: 0,
            last_word: Vec::new(),
            last_word_tick: 0,
            last_len: 0,
            tick: 0,
            state: State::NotRecorded,
            retry_tick: 0,
        };
        match self.files.iter().position(Option::is_none) {
            Some(index) => {
                self.files[index] = Some(file);
                FileId(index)
            }
            None => {
                self.files.push(Some(file));
                FileId(self.files.len() - 1)
            }
        }
    }

    /// Closes a file and frees its id, for instances that come and go (a cgroup).  Must not be
    /// called for a path that another source may have registered.
    pub fn close(&mut self, id: FileId) {
        if let Some(slot) = self.files.get_mut(id.0) {
            *slot = None;
            self.cost.calls += 1;
        }
    }

    /// The text of a file as of this tick.
    ///
    /// # Errors
    /// [`State::Absent`], [`State::Denied`] or [`State::Failed`].
    pub fn read(&mut self, id: FileId) -> Result<&[u8], State> {
        self.read_to(id, Extent::Whole).map(|(text, _)| text)
    }

    /// What one `read` returns of a file of records (all that was read, if another source has
    /// read more at this tick), and whether that is known to be the whole file.  This saves a
    /// system call if the first page has everything; otherwise call [`Host::read`].
    ///
    /// # Errors
    /// As [`Host::read`].
    pub fn read_first(&mut self, id: FileId) -> Result<(&[u8], bool), State> {
        // A kept text must be the whole text.
        let extent = if self.kept.is_some() { Extent::Whole } else { Extent::First };
        self.read_to(id, extent)
    }

    fn read_to(&mut self, id: FileId, extent: Extent) -> Result<(&[u8], bool), State> {
        let Host { backing, files, tick, cost, probe, .. } = self;
        let Some(file) = files.get_mut(id.0).and_then(Option::as_mut) else {
            return Err(State::Absent);
        };
        if file.tick != *tick {
            let begun = probe.is_some().then(|| Probe::begin(*cost));
            file.tick = *tick;
            file.state = match backing {
                Backing::Kernel { .. } => file.refresh(*tick, extent, cost),
                Backing::Memory { files } => file.copy_from(files.get(&file.path)),
            };
            if let (Some(probe), Some(begun)) = (probe, begun) {
                probe.end(&file.path, &begun, *cost, *tick, file.state);
            }
        } else {
            if let Some(probe) = probe {
                probe.share(&file.path);
            }
            if file.state == State::Ok && !file.whole && extent == Extent::Whole {
                file.state = file.fill(*tick, extent, cost);
            }
        }
        match file.state {
            State::Ok => Ok((&file.buffer[..file.len], file.whole)),
            state => Err(state),
        }
    }

    /// Opens, reads and closes a small file, for facts about a device when it first appears.
    /// Allocates: not for every tick.
    ///
    /// # Errors
    /// As [`Host::read`].
    pub fn read_once(&mut self, path: &str) -> Result<Vec<u8>, State> {
        let id = self.file(path, ReadMode::Whole);
        let text = self.read(id).map(<[u8]>::to_vec);
        self.close(id);
        if let Ok(text) = &text {
            self.keep_text(Path::new(path), text);
        }
        text
    }

    /// The names in a directory, sorted, for trees whose members come and go.  Allocates: not for
    /// every tick.
    ///
    /// # Errors
    /// As [`Host::read`].
    pub fn list(&mut self, path: &str) -> Result<Vec<Vec<u8>>, State> {
        // An absent directory must cost no allocation: sources try it again and again.
        let mut names = Vec::new();
        self.for_each_name(Path::new(path), |name, _| names.push(name.to_vec()))?;
        names.sort();
        Ok(names)
    }

    /// Calls `each` with every name in a directory, in the kernel's order, and whether it is known
    /// to be a directory.  For trees that are walked at every tick: on a kernel's files it
    /// allocates only for paths of more than 255 bytes.
    ///
    /// # Errors
    /// As [`Host::read`].
    pub fn for_each_name(
        &mut self,
        path: &Path,
        each: impl FnMut(&[u8], bool),
    ) -> Result<(), State> {
        let begun = self.probe.is_some().then(|| Probe::begin(self.cost));
        let done = self.for_each_name_once(path, each);
        if let Some(begun) = begun {
            self.note(&path.join(""), &begun, done.err());
        }
        done
    }

    fn for_each_name_once(
        &mut self,
        path: &Path,
        mut each: impl FnMut(&[u8], bool),
    ) -> Result<(), State> {
        if let Backing::Memory { files } = &self.backing {
            let names = list_memory(files, &path.to_string_lossy())?;
            names.iter().for_each(|name| each(name, false));
            return Ok(());
        }
        let directory = self.open_at(path, OFlags::DIRECTORY)?;
        let mut space = [MaybeUninit::uninit(); NAMES_BYTES];
        let mut entries = RawDir::new(&directory, &mut space);
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(state_of_errno)?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                each(name, entry.file_type() == FileType::Directory);
            }
        }
        // One getdents with names, one at the end of the directory, one close.
        self.cost.calls += 3;
        Ok(())
    }

    /// Opens a file whose descriptor the caller keeps, for thousands of instances that come and
    /// go (cgroups): a buffer and a path for each would take too much memory.
    ///
    /// # Errors
    /// As [`Host::read`]; always [`State::Absent`] for a host in memory.
    pub fn open(&mut self, path: &Path) -> Result<OwnedFd, State> {
        self.open_at(path, OFlags::NONBLOCK)
    }

    fn open_at(&mut self, path: &Path, flags: OFlags) -> Result<OwnedFd, State> {
        let Backing::Kernel { root } = &self.backing else { return Err(State::Absent) };
        self.cost.calls += 1;
        let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC;
        // With the root `/` the paths need not be joined, which would allocate.
        let opened = if root == Path::new("/") && path.is_absolute() {
            rustix::fs::open(path, flags, Mode::empty())
        } else {
            let below = path.strip_prefix("/").unwrap_or(path);
            rustix::fs::open(root.join(below), flags, Mode::empty())
        };
        opened.map_err(state_of_errno)
    }

    /// Reads a file that [`Host::open`] opened, from its start, into `buffer`, and returns the
    /// length in bytes.  Grows the buffer if the text does not fit.
    ///
    /// # Errors
    /// As [`Host::read`].
    pub fn read_open(&mut self, file: &OwnedFd, buffer: &mut Vec<u8>) -> Result<usize, State> {
        if self.probe.is_none() {
            return self.read_open_once(file, buffer);
        }
        let begun = Probe::begin(self.cost);
        let read = self.read_open_once(file, buffer);
        // The caller has only the descriptor; the kernel knows its path.
        let number = std::os::fd::AsRawFd::as_raw_fd(file);
        let path = std::fs::read_link(format!("/proc/self/fd/{number}")).unwrap_or_default();
        self.note(&path, &begun, read.as_ref().err().copied());
        read
    }

    fn read_open_once(&mut self, file: &OwnedFd, buffer: &mut Vec<u8>) -> Result<usize, State> {
        if buffer.is_empty() {
            buffer.resize(BUFFER_BYTES, 0);
        }
        loop {
            let read = rustix::io::pread(file, buffer.as_mut_slice(), 0);
            self.cost.calls += 1;
            let count = match read {
                Err(Errno::INTR) => continue,
                other => other.map_err(state_of_errno)?,
            };
            self.cost.bytes += count as u64;
            if count < buffer.len() {
                return Ok(count);
            }
            if buffer.len() >= FILE_BYTES_MAX {
                return Err(state_of_errno(Errno::FBIG));
            }
            buffer.resize(buffer.len() * 2, 0);
        }
    }

    /// From now on records the cost of each file under the name of `reader`; what is recorded for
    /// other readers stays.  See [`Host::touches`].
    pub fn probe_for(&mut self, reader: &'static str) {
        self.probe.get_or_insert_default().set_reader(reader);
    }

    /// Discards the recorded costs, after a first tick that opens files and grows buffers.
    pub fn forget_touches(&mut self) {
        if let Some(probe) = &mut self.probe {
            probe.forget();
        }
    }

    /// The cost of each file and directory since [`Host::probe_for`], by path; that of a directory
    /// ends with a slash.
    pub fn touches(&self) -> impl Iterator<Item = (&str, &Touch)> {
        self.probe.iter().flat_map(|probe| probe.touches())
    }

    /// Makes each read of a file (not a directory) take `nanoseconds` longer, as on a large
    /// machine, for tests.
    pub fn set_delay(&mut self, path: &str, nanoseconds: u64) {
        self.probe.get_or_insert_default().set_delay(path, nanoseconds);
    }

    /// Records the cost of a read that did not use a [`FileId`].
    fn note(&mut self, path: &Path, begun: &crate::probe::PendingReading, failed: Option<State>) {
        let path = match &self.backing {
            Backing::Kernel { root } if root != Path::new("/") => {
                path.strip_prefix(root).map_or(path.to_path_buf(), |rest| Path::new("/").join(rest))
            }
            _ => path.to_path_buf(),
        };
        if let Some(probe) = &mut self.probe {
            let state = failed.unwrap_or(State::Ok);
            probe.end(&path.to_string_lossy(), begun, self.cost, self.tick, state);
        }
    }

    /// Adds system calls that a source made itself (`statfs`) to the cost.
    pub fn add_calls(&mut self, calls: u64) {
        self.cost.calls += calls;
    }

    /// Adds bytes of kernel text that a source read itself to the cost.
    pub fn add_bytes(&mut self, bytes: u64) {
        self.cost.bytes += bytes;
    }

    /// The target of a symbolic link (`/sys/class/net/eth0/device`).
    ///
    /// # Errors
    /// As [`Host::read`].
    pub fn link(&mut self, path: &str) -> Result<Vec<u8>, State> {
        let Backing::Kernel { root } = &self.backing else { return Err(State::Absent) };
        self.cost.calls += 1;
        let target = std::fs::read_link(on_host(root, path)).map_err(|error| state_of(&error))?;
        Ok(target.as_os_str().as_bytes().to_vec())
    }

    /// The directory that is the host's `/`; `None` for a host in memory.
    pub fn root(&self) -> Option<&Path> {
        match &self.backing {
            Backing::Kernel { root } => Some(root),
            Backing::Memory { .. } => None,
        }
    }

    /// Whether this is the machine that whit runs on, so that system calls (`statfs`) apply to it.
    pub fn is_this_machine(&self) -> bool {
        self.root() == Some(Path::new("/"))
    }

    /// The cost of all reading so far.
    pub fn cost(&self) -> Cost {
        self.cost
    }
}

impl File {
    fn copy_from(&mut self, text: Option<&Vec<u8>>) -> State {
        let Some(text) = text else { return State::Absent };
        self.buffer.clear();
        self.buffer.extend_from_slice(text);
        self.len = text.len();
        self.whole = true;
        State::Ok
    }

    fn refresh(&mut self, tick: u64, extent: Extent, cost: &mut Cost) -> State {
        if self.fd.is_none() {
            if tick < self.retry_tick {
                return self.state;
            }
            cost.calls += 1;
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
            match rustix::fs::open(self.location.as_slice(), flags, Mode::empty()) {
                Ok(fd) => self.fd = Some(fd),
                Err(errno) => {
                    self.retry_tick = tick + RETRY_TICKS;
                    return state_of_errno(errno);
                }
            }
            if self.buffer.is_empty() {
                let bytes = match self.mode {
                    ReadMode::Whole => BUFFER_WHOLE_BYTES,
                    ReadMode::Records => BUFFER_BYTES,
                };
                self.buffer.resize(bytes, 0);
            }
        }
        self.len = 0;
        self.fill(tick, extent, cost)
    }

    /// Reads the file, and closes the descriptor if that fails.
    fn fill(&mut self, tick: u64, extent: Extent, cost: &mut Cost) -> State {
        match self.read_to(tick, extent, cost) {
            Ok(()) => State::Ok,
            // `speed` of an interface without a link: the file stays valid.
            Err(Errno::INVAL) => State::Failed(Errno::INVAL.raw_os_error()),
            Err(errno) => {
                // A device that is gone (ENODEV) or a dead descriptor: open it again later.
                self.fd = None;
                self.retry_tick = tick + RETRY_TICKS;
                state_of_errno(errno)
            }
        }
    }

    /// Whether the text ends with the record that was the last one at the latest read to
    /// end-of-file.  That read must be recent, since records may have been added since.
    fn ends_as_before(&self, tick: u64) -> bool {
        !self.last_word.is_empty()
            && tick < self.last_word_tick + RETRY_TICKS
            && self.len.abs_diff(self.last_len) <= self.record_bytes_max
            && last_word(&self.buffer[..self.len]) == self.last_word
    }

    fn remember_end(&mut self, tick: u64) {
        self.last_word_tick = tick;
        self.last_len = self.len;
        self.last_word.clear();
        self.last_word.extend_from_slice(last_word(&self.buffer[..self.len]));
    }

    /// Reads the file from the current length of the buffer to `extent`.
    fn read_to(&mut self, tick: u64, extent: Extent, cost: &mut Cost) -> Result<(), Errno> {
        const PAGE_BYTES: usize = 4096;
        let Some(fd) = &self.fd else { return Err(Errno::BADF) };
        loop {
            if self.len == self.buffer.len() {
                if self.buffer.len() >= FILE_BYTES_MAX {
                    return Err(Errno::FBIG);
                }
                self.buffer.resize(self.buffer.len() * 2, 0);
                if self.mode == ReadMode::Whole {
                    // A read at another offset generates such a file again: start at 0.
                    self.len = 0;
                }
            }
            let read = rustix::io::pread(fd, &mut self.buffer[self.len..], self.len as u64);
            cost.calls += 1;
            let count = match read {
                Err(Errno::INTR) => continue,
                other => other?,
            };
            cost.bytes += count as u64;
            self.len += count;
            let all = match self.mode {
                ReadMode::Whole => self.len < self.buffer.len(),
                // The kernel stops at the record that does not fit into the rest of a page, so a
                // read that left room for the longest record reached the end.
                ReadMode::Records => {
                    count == 0
                        || self.record_bytes_max > 0
                            && self.len < self.buffer.len()
                            && (count + 2 * self.record_bytes_max < PAGE_BYTES
                                || self.ends_as_before(tick))
                }
            };
            self.whole = all;
            // The next read generates a `Whole` text again, so a part of it is of no use.
            if all || extent == Extent::First && self.mode == ReadMode::Records {
                if all && count == 0 {
                    self.remember_end(tick);
                }
                break;
            }
        }
        if self.whole && self.mode == ReadMode::Records && self.record_bytes_max == 0 {
            let longest = crate::scan::lines(&self.buffer[..self.len]).map(<[u8]>::len).max();
            self.record_bytes_max = longest.unwrap_or(0) + 1;
        }
        Ok(())
    }
}

/// The start of the last line of `text`, up to the blank or colon after the name.
fn last_word(text: &[u8]) -> &[u8] {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let line = &text[memchr::memrchr(b'\n', text).map_or(0, |end| end + 1)..];
    // In diskstats the name is the third column: skip numbers and blanks.
    let name = line.iter().position(u8::is_ascii_alphabetic).unwrap_or(line.len());
    let rest = &line[name..];
    &rest[..rest.iter().position(|b| matches!(b, b' ' | b':' | b'\t')).unwrap_or(rest.len())]
}

fn on_host(root: &Path, path: &str) -> PathBuf {
    root.join(OsStr::from_bytes(path.trim_start_matches('/').as_bytes()))
}

fn list_memory(files: &HashMap<String, Vec<u8>>, path: &str) -> Result<Vec<Vec<u8>>, State> {
    let prefix = format!("{}/", path.trim_end_matches('/'));
    let below = files.keys().filter_map(|file| file.strip_prefix(&prefix));
    let mut names: Vec<Vec<u8>> =
        below.map(|rest| rest.split('/').next().unwrap_or(rest).as_bytes().to_vec()).collect();
    names.sort();
    names.dedup();
    if names.is_empty() { Err(State::Absent) } else { Ok(names) }
}

fn state_of(error: &std::io::Error) -> State {
    error
        .raw_os_error()
        .map_or(State::Failed(0), |raw| state_of_errno(Errno::from_raw_os_error(raw)))
}

fn state_of_errno(errno: Errno) -> State {
    match errno {
        // A kernel that has a feature but was booted without it (psi=0) returns EOPNOTSUPP.
        Errno::NOENT | Errno::NOTDIR | Errno::NODEV | Errno::NXIO | Errno::OPNOTSUPP => {
            State::Absent
        }
        Errno::ACCESS | Errno::PERM => State::Denied,
        other => State::Failed(other.raw_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_once_a_tick() {
        let mut host = Host::new("/");
        let stat = host.file("/proc/stat", ReadMode::Whole);
        assert_eq!(host.file("/proc/stat", ReadMode::Whole), stat);
        assert!(host.read(stat).unwrap().starts_with(b"cpu "));
        let calls = host.cost().calls;
        host.read(stat).unwrap();
        assert_eq!(host.cost().calls, calls, "the second reader of a tick costs no call");
        host.begin_tick();
        host.read(stat).unwrap();
        assert_eq!(host.cost().calls, calls + 1, "a tick costs one pread");
    }

    #[test]
    fn what_is_not_there_is_absent_and_not_asked_for_again_at_once() {
        let mut host = Host::new("/");
        let file = host.file("/proc/no_such_file", ReadMode::Whole);
        assert_eq!(host.read(file), Err(State::Absent));
        let calls = host.cost().calls;
        host.begin_tick();
        assert_eq!(host.read(file), Err(State::Absent));
        assert_eq!(host.cost().calls, calls);
    }

    #[test]
    fn long_record_files_are_read_to_their_end() {
        // Other tests load and unload BPF programs between two reads: leave their lines out, keep
        // those of the kernel and its modules.
        fn lasting(text: &[u8]) -> Vec<&[u8]> {
            text.split(|&byte| byte == b'\n').filter(|line| !line.ends_with(b"[bpf]")).collect()
        }
        let mut host = Host::new("/");
        let file = host.file("/proc/kallsyms", ReadMode::Records);
        let ours = host.read(file).unwrap().to_vec();
        let theirs = std::fs::read("/proc/kallsyms").unwrap();
        assert!(lasting(&ours) == lasting(&theirs), "{} and {} bytes", ours.len(), theirs.len());
    }

    #[test]
    fn directories_and_open_files_without_a_path_for_each() {
        let mut host = Host::new("/");
        let mut names = Vec::new();
        let each = |name: &[u8], _: bool| names.push(name.to_vec());
        host.for_each_name(Path::new("/proc/self"), each).unwrap();
        names.sort();
        let listed = host.list("/proc/self").unwrap();
        assert_eq!(names, listed);
        let file = host.open(Path::new("/proc/stat")).unwrap();
        let mut buffer = vec![0; 16];
        let count = host.read_open(&file, &mut buffer).unwrap();
        assert!(buffer[..count].starts_with(b"cpu ") && count > 16);
        assert_eq!(host.open(Path::new("/proc/no_such_file")).err(), Some(State::Absent));
    }

    #[test]
    fn a_probe_tells_what_each_file_costs_and_who_wants_it() {
        let mut host = Host::new("/");
        let file = host.file("/proc/loadavg", ReadMode::Whole);
        host.probe_for("first");
        host.read(file).unwrap();
        host.forget_touches();
        host.set_delay("/proc/loadavg", 3_000_000);
        for _ in 0..3 {
            host.begin_tick();
            host.probe_for("first");
            host.read(file).unwrap();
            host.probe_for("second");
            host.read(file).unwrap();
            host.list("/proc/sys").unwrap();
            let open = host.open(Path::new("/proc/uptime")).unwrap();
            host.read_open(&open, &mut Vec::new()).unwrap();
        }
        let touches: HashMap<&str, &Touch> = host.touches().collect();
        let loadavg = touches["/proc/loadavg"];
        assert_eq!((loadavg.reads, loadavg.calls), (3, 3));
        assert_eq!(loadavg.readers, ["first", "second"]);
        assert!(loadavg.bytes > 3 * 10);
        assert!(loadavg.readings.iter().all(|&(_, nanoseconds)| nanoseconds >= 3_000_000));
        assert_eq!(touches["/proc/uptime"].reads, 3);
        assert_eq!(touches["/proc/sys/"].reads, 3);
        assert_eq!(touches.len(), 3);
    }

    #[test]
    fn a_file_that_fills_its_page_costs_one_read_once_its_end_is_known() {
        let mut host = Host::new("/");
        // With 190 lines the file is within two records of a page, or longer.
        let path = "/proc/vmstat";
        let file = host.file(path, ReadMode::Records);
        for _ in 0..3 {
            host.begin_tick();
            host.read(file).unwrap();
        }
        let calls = host.cost().calls;
        for _ in 0..20 {
            host.begin_tick();
            let ours = host.read(file).unwrap();
            assert!(ours.ends_with(b"\n"));
            let lines = ours.iter().filter(|&&b| b == b'\n').count();
            assert_eq!(lines, std::fs::read_to_string(path).unwrap().lines().count());
        }
        let size = std::fs::read(path).unwrap().len();
        if size < 4096 {
            assert_eq!(host.cost().calls - calls, 20, "{size} bytes");
        }
    }

    #[test]
    fn memory_stands_in_for_a_kernel() {
        let mut host = Host::in_memory();
        host.put("/sys/devices/system/node/node0/meminfo", Some(b"x"));
        let file = host.file("/sys/devices/system/node/node0/meminfo", ReadMode::Whole);
        assert_eq!(host.read(file), Ok(&b"x"[..]));
        assert_eq!(host.list("/sys/devices/system/node").unwrap(), [b"node0".to_vec()]);
        host.begin_tick();
        host.put("/sys/devices/system/node/node0/meminfo", None);
        assert_eq!(host.read(file), Err(State::Absent));
    }
}

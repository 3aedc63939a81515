//! The files of a host: opened once, read at most once a tick, by everyone who asks.
//!
//! Cost: one `pread` per file and tick into a buffer that is kept.  A second reader in the same
//! tick gets the same bytes.  What cannot be opened is tried again only every
//! [`RETRY_TICKS`], so an absent file costs nothing in between.
//!
//! Why not open, read, close, as everyone does: keeping the descriptor saves 1.5 times on
//! `/proc/stat` and 5 times on `/proc/loadavg`, where opening is dearer than reading.

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
use texts::Kept;

/// Ticks between two attempts to open a file that was not there: a module may be loaded, a
/// mount may appear.
const RETRY_TICKS: u64 = 64;

/// First size of the buffer of a file of records, or of several files: more than the kernel hands
/// out of records at once.
const BUFFER_BYTES: usize = 8 * 1024;

/// First size of any other file's buffer.  Most hold a few numbers and there are dozens of them;
/// a longer one makes its buffer grow while it is first read.
const BUFFER_WHOLE_BYTES: usize = 1024;

/// Most that is read of one file.  `/proc/interrupts` of 4,096 CPUs and 5,000 interrupts is about
/// 200 MB; whoever has such a machine should not read it every second, and the state says so.
const FILE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What one call takes of a directory: some 100 names, on the stack.
const NAMES_BYTES: usize = 4 * 1024;

/// How a kernel file hands out its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMode {
    /// All in one read if the buffer fits (`single_open` and sysfs files): one call is enough.
    Whole,
    /// Record by record through the kernel's own buffer, which begins at a page: a read that
    /// comes near a page may not be all, so reading goes on until nothing more comes.
    Records,
}

/// Names a file of a [`Host`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId(usize);

struct File {
    path: String,
    /// Where the path is on a host with a kernel, ready for `open`, which is tried again while we
    /// record: making it then would allocate.
    location: Vec<u8>,
    mode: ReadMode,
    fd: Option<OwnedFd>,
    buffer: Vec<u8>,
    len: usize,
    /// Whether the buffer holds all that the file had at this tick, or what one call gave of it.
    whole: bool,
    /// The longest record seen, to tell whether a read that came near a page was all.
    record_bytes_max: usize,
    /// The first word of the record that a read to the very end found last, and the tick of that
    /// read: a file that happens to fill its page would otherwise cost two reads each time.
    last_word: Vec<u8>,
    last_word_tick: u64,
    last_len: usize,
    /// The tick of the latest attempt, and what came of it.
    tick: u64,
    state: State,
    retry_tick: u64,
}

/// How much of a file is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// What one call gives.
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
    /// Only while a doctor looks on.
    probe: Option<Box<Probe>>,
    /// Only for a recorder that keeps the kernel's text.
    kept: Option<Kept>,
}

impl Host {
    /// This machine, or with a `root` other than `/` the tree of another one.
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

    /// A machine made of bytes in memory; see [`Host::put`].
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

    /// Begins a tick: every file will be read anew.
    pub fn begin_tick(&mut self) {
        self.tick += 1;
    }

    /// As [`begin_tick`](Self::begin_tick), at a time on a clock that never steps.
    pub fn begin_tick_at(&mut self, now_ns: u64) {
        self.begin_tick();
        self.now_ns = now_ns;
    }

    /// When the tick began, by the clock of [`begin_tick_at`](Self::begin_tick_at): for what is
    /// looked at so many times a minute however short the ticks are.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Gives a host in memory the text of a file, or takes the file away.
    ///
    /// # Panics
    /// When the host stands on a kernel: nobody writes to one here.
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

    /// Names a file by its absolute path on the host (`/proc/stat`).  Nothing is opened until it
    /// is read.  Two who name the same path share it.
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

    /// Closes a file and gives its id back: for instances that come and go (a cgroup).  Must not
    /// be called for a path that others may share.
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

    /// What one call gives of the text of a file of records, if nobody has read more of it at this
    /// tick, and whether that is known to be all: for who finds there all that is wanted, which
    /// saves a second call.  Who does not goes on with [`Host::read`].
    ///
    /// # Errors
    /// As [`Host::read`].
    pub fn read_first(&mut self, id: FileId) -> Result<(&[u8], bool), State> {
        // Texts that are kept are kept whole.
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

    /// The text of a small file, read now and not kept open: for facts about a device that are
    /// looked up when it is first seen.  Allocates: not for the hot path.
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

    /// The names in a directory, sorted; for trees whose members come and go.  Allocates: not for
    /// the hot path.
    ///
    /// # Errors
    /// As [`Host::read`].
    pub fn list(&mut self, path: &str) -> Result<Vec<Vec<u8>>, State> {
        // A directory that is not there costs no allocation: sources look for it again and again.
        let mut names = Vec::new();
        self.for_each_name(Path::new(path), |name, _| names.push(name.to_vec()))?;
        names.sort();
        Ok(names)
    }

    /// Calls `each` with every name in a directory, in the kernel's order, and whether it is known
    /// to be a directory.  Allocates nothing on a kernel but what a path of over 255 bytes needs:
    /// for trees that are walked while we record.
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
        // One getdents that gave names, one that gave none, one close.
        self.cost.calls += 3;
        Ok(())
    }

    /// Opens a file whose descriptor the caller keeps: for instances that come and go by the
    /// thousand (cgroups), where a buffer and a path for each would be too much.
    ///
    /// # Errors
    /// As [`Host::read`]; a host in memory has only files of its own, so [`State::Absent`].
    pub fn open(&mut self, path: &Path) -> Result<OwnedFd, State> {
        self.open_at(path, OFlags::NONBLOCK)
    }

    fn open_at(&mut self, path: &Path, flags: OFlags) -> Result<OwnedFd, State> {
        let Backing::Kernel { root } = &self.backing else { return Err(State::Absent) };
        self.cost.calls += 1;
        let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC;
        // A root of `/` needs no joining, which would allocate.
        let opened = if root == Path::new("/") && path.is_absolute() {
            rustix::fs::open(path, flags, Mode::empty())
        } else {
            let below = path.strip_prefix("/").unwrap_or(path);
            rustix::fs::open(root.join(below), flags, Mode::empty())
        };
        opened.map_err(state_of_errno)
    }

    /// Reads a file that [`Host::open`] opened, from its start, into `buffer`; gives its length.
    /// The buffer is grown when the text does not fit, and kept by the caller.
    ///
    /// # Errors
    /// As [`Host::read`].
    pub fn read_open(&mut self, file: &OwnedFd, buffer: &mut Vec<u8>) -> Result<usize, State> {
        if self.probe.is_none() {
            return self.read_open_once(file, buffer);
        }
        let begun = Probe::begin(self.cost);
        let read = self.read_open_once(file, buffer);
        // Only the kernel still knows what the descriptor was opened on.
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

    /// From now on notes what each file costs, under the name of `reader`; what was noted for
    /// others stays.  See [`Host::touches`].
    pub fn probe_for(&mut self, reader: &'static str) {
        self.probe.get_or_insert_default().set_reader(reader);
    }

    /// Forgets what was noted so far: after a first tick, which opens files and grows buffers.
    pub fn forget_touches(&mut self) {
        if let Some(probe) = &mut self.probe {
            probe.forget();
        }
    }

    /// What each file and directory has cost since [`Host::probe_for`], by path; a directory's
    /// ends with a slash.
    pub fn touches(&self) -> impl Iterator<Item = (&str, &Touch)> {
        self.probe.iter().flat_map(|probe| probe.touches())
    }

    /// Makes each reading of a file (not a directory) take so much longer, as on a big machine:
    /// for tests of whoever must notice.
    pub fn set_delay(&mut self, path: &str, nanoseconds: u64) {
        self.probe.get_or_insert_default().set_delay(path, nanoseconds);
    }

    /// Notes a reading that did not go through a [`FileId`].
    fn note(&mut self, path: &Path, begun: &crate::probe::Begun, failed: Option<State>) {
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

    /// Adds system calls that a source made by itself (`statfs`) to what reading has cost.
    pub fn add_calls(&mut self, calls: u64) {
        self.cost.calls += calls;
    }

    /// Adds bytes of kernel text that a source read by itself.
    pub fn add_bytes(&mut self, bytes: u64) {
        self.cost.bytes += bytes;
    }

    /// What a symbolic link says (`/sys/class/net/eth0/device`).
    ///
    /// # Errors
    /// As [`Host::read`].
    pub fn link(&mut self, path: &str) -> Result<Vec<u8>, State> {
        let Backing::Kernel { root } = &self.backing else { return Err(State::Absent) };
        self.cost.calls += 1;
        let target = std::fs::read_link(on_host(root, path)).map_err(|error| state_of(&error))?;
        Ok(target.as_os_str().as_bytes().to_vec())
    }

    /// Where the host's `/` is; `None` for a host in memory.
    pub fn root(&self) -> Option<&Path> {
        match &self.backing {
            Backing::Kernel { root } => Some(root),
            Backing::Memory { .. } => None,
        }
    }

    /// Whether this is the machine we run on, so that system calls (`statfs`) speak of it too.
    pub fn is_this_machine(&self) -> bool {
        self.root() == Some(Path::new("/"))
    }

    /// What reading has cost so far.
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

    /// Reads on, and closes what can be read no more.
    fn fill(&mut self, tick: u64, extent: Extent, cost: &mut Cost) -> State {
        match self.take(tick, extent, cost) {
            Ok(()) => State::Ok,
            // The speed of an interface that has none: it may get one, and the file stays.
            Err(Errno::INVAL) => State::Failed(Errno::INVAL.raw_os_error()),
            Err(errno) => {
                // A device that went away (ENODEV) or a dead descriptor: open it anew next time.
                self.fd = None;
                self.retry_tick = tick + RETRY_TICKS;
                state_of_errno(errno)
            }
        }
    }

    /// Whether what was read ends with the record that was the last one when the file was last
    /// read to its very end, not long ago: a record may have been added behind it since.
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

    /// Reads the file from where it was left until there is as much as is wanted.
    fn take(&mut self, tick: u64, extent: Extent, cost: &mut Cost) -> Result<(), Errno> {
        const PAGE_BYTES: usize = 4096;
        let Some(fd) = &self.fd else { return Err(Errno::BADF) };
        loop {
            if self.len == self.buffer.len() {
                if self.buffer.len() >= FILE_BYTES_MAX {
                    return Err(Errno::FBIG);
                }
                self.buffer.resize(self.buffer.len() * 2, 0);
                if self.mode == ReadMode::Whole {
                    // Such a file is made anew by a read at another offset: take it from the top.
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
                // The kernel stops at the record that no longer fits into what is left of a page,
                // so a read that left room for one came to the end.
                ReadMode::Records => {
                    count == 0
                        || self.record_bytes_max > 0
                            && self.len < self.buffer.len()
                            && (count + 2 * self.record_bytes_max < PAGE_BYTES
                                || self.ends_as_before(tick))
                }
            };
            self.whole = all;
            // A text that is made anew by the next call is of no use in parts.
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

/// What the last line of `text` begins with, up to the number or colon behind the name.
fn last_word(text: &[u8]) -> &[u8] {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let line = &text[memchr::memrchr(b'\n', text).map_or(0, |end| end + 1)..];
    // Names of devices stand in the third column of diskstats: numbers and blanks are passed over.
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
        // A kernel built with a feature but started without it (psi=0) says EOPNOTSUPP.
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
        // BPF programs come and go between two looks (other tests load some): their lines are
        // left out, the kernel's own and its modules' stay.
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
        // With 190 lines it comes within two records of a page, or goes beyond one.
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

//! The process: its file, its dictionary, its loggers, and the table of its rings.
//!
//! All of it is changed under one lock, whose word a child of `fork` finds zeroed, as it finds the
//! word that says "registered".  The child then makes files of its own with a copy of the
//! dictionary, and maps its file where its parent's was: numbers of call sites that its code has
//! cached stay right, and so do the addresses of level bytes.

mod dictionary;
mod register;
mod rings;

use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::FromRawFd as _;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

pub(super) use rings::{FirstRing, Slot};

use super::files::{self, Descriptor};
use super::settings::RingSettings;
use super::state::{ThreadState, with_errno_kept};
use super::throttle::{Admission, SuppressedLevel, Throttle};
use crate::abi::{LEVEL_MASK, doorbell, process, ring};
use crate::error::Error;
use crate::kept_levels::KeptLevels;
use crate::process_file::ProcessFile;
use crate::reader::RingReader;

pub use dictionary::SiteDescription;

/// The process, once it was started.
static PROCESS: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());

/// What [`SLEEPER`] points to before there is a process.
static NO_SLEEPER: AtomicU32 = AtomicU32::new(0);

/// The word of the process file by which a consumer says that it sleeps for long.  Only that is in its
/// line, so the line stays in the caches of all threads.
static SLEEPER: AtomicPtr<AtomicU32> = AtomicPtr::new((&raw const NO_SLEEPER).cast_mut());

/// Whether a consumer sleeps, and is to be woken after a record.
#[inline(always)]
pub(super) fn has_sleeper() -> bool {
    sleeper().load(Ordering::Relaxed) != 0
}

/// Notes that the consumer is woken: the next records need not.
pub(super) fn clear_sleeper() {
    if has_sleeper() {
        sleeper().swap(0, Ordering::SeqCst);
    }
}

#[inline(always)]
fn sleeper() -> &'static AtomicU32 {
    // SAFETY: it points to a static, or into the process file, which is never unmapped; a child of
    // `fork` maps its own at the same place.
    unsafe { &*SLEEPER.load(Ordering::Relaxed) }
}

/// What a child of `fork` finds zeroed.
struct ForkState {
    registered: AtomicU32,
    /// The thread that has the lock; 0: none.
    lock: AtomicU32,
    /// The thread that writes into ring 0.
    signal_ring: AtomicU32,
}

/// A text of fixed size, so that names are made without allocation.
#[derive(Clone, Copy)]
struct Name {
    bytes: [u8; Name::BYTES],
    length: usize,
}

impl Name {
    const BYTES: usize = 1024;

    const fn new() -> Self {
        Name { bytes: [0; Name::BYTES], length: 0 }
    }

    fn as_c(&self) -> io::Result<&CStr> {
        CStr::from_bytes_until_nul(&self.bytes).map_err(io::Error::other)
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl std::fmt::Write for Name {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        // The last byte stays 0.
        let room = self.bytes.get_mut(self.length..end).filter(|_| end < Name::BYTES);
        room.ok_or(std::fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// What is changed under the lock.
struct Inner {
    /// `PID-STARTTIME`, or with `.K`.
    stem: Name,
    /// The process file.
    file: Descriptor,
    /// Whether the files have no names: there was no room in the directory.
    is_private: bool,
    /// Bytes of the file that have pages, from the dictionary on.
    allocated: u64,
    dictionary_length: u64,
    entry_count: u32,
    logger_count: u32,
    intern: *mut dictionary::InternSlot,
    /// Where an entry of the dictionary is built.
    scratch: *mut u8,
    slots: *mut Slot,
    slot_count: usize,
    next_ring: u32,
    ring_bytes: u64,
    signal_ring: *const ThreadState,
    pid: u32,
    start_ticks: u64,
    process_id: [u8; 16],
}

/// The process.
pub(super) struct Process {
    settings: RingSettings,
    directory: Name,
    /// The folder's reader is of another version: nothing is logged.
    is_off: bool,
    has_tsc: bool,
    stamp_hz: u64,
    boot_id: [u8; 16],
    /// The process file, mapped; the same address for ever.
    base: *mut u8,
    fork_state: *const ForkState,
    /// The limit of records in a second, if there is one.
    throttle: Option<Throttle>,
    /// May be null.
    doorbell: *mut u8,
    key: libc::pthread_key_t,
    inner: UnsafeCell<Inner>,
}

/// The lock; given back when it is dropped.
struct Guard<'a> {
    process: &'a Process,
    inner: &'a mut Inner,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.process.fork_state().lock.store(0, Ordering::Release);
    }
}

fn thread_id() -> u32 {
    // SAFETY: no argument, no failure.
    unsafe { libc::gettid() }.cast_unsigned()
}

/// Looks at a lock before its owner is thought to be off its processor: longer than anybody who runs
/// has it, for instance for a call site (some 5 µs).
const SPINS: u32 = 1000;

/// Takes a lock whose word is the owner's thread id; `None`: this thread has it already.
fn take_lock(lock: &AtomicU32) -> Option<()> {
    let own = thread_id();
    let mut turns = 0u32;
    loop {
        match lock.compare_exchange(0, own, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => return Some(()),
            Err(owner) if owner == own => return None,
            Err(_) if turns < SPINS => std::hint::spin_loop(),
            Err(_) => {
                let time = crate::system::timespec(50_000);
                // SAFETY: the time outlives the call.
                unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
            }
        }
        turns += 1;
    }
}

impl Process {
    /// The process, if it was started.
    pub(super) fn get() -> Option<&'static Process> {
        // SAFETY: it is never freed.
        unsafe { PROCESS.load(Ordering::Acquire).as_ref() }
    }

    pub(super) fn settings(&self) -> &RingSettings {
        &self.settings
    }

    fn fork_state(&self) -> &ForkState {
        // SAFETY: the page is never unmapped, and zeros are values.
        unsafe { &*self.fork_state }
    }

    /// Takes the lock, without looking for a fork; `None`: this thread has it, and was interrupted.
    fn lock_bare(&self) -> Option<Guard<'_>> {
        take_lock(&self.fork_state().lock)?;
        // SAFETY: the lock is held.
        let inner = unsafe { &mut *self.inner.get() };
        Some(Guard { process: self, inner })
    }

    /// Takes the lock; a child of `fork` is registered first.
    fn lock(&self) -> Option<Guard<'_>> {
        let guard = self.lock_bare()?;
        if self.fork_state().registered.load(Ordering::Relaxed) == 0 {
            self.register(guard.inner);
            self.fork_state().registered.store(1, Ordering::Release);
        }
        Some(guard)
    }

    /// A number of eight bytes of the process file.
    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the offset is of a field, aligned and within the mapping, whose pages are there.
        unsafe { &*self.base.add(offset).cast() }
    }

    /// A number of four bytes of the process file.
    fn u32_at(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: as of `word`.
        unsafe { &*self.base.add(offset).cast() }
    }

    /// Counts a record that no ring took.
    pub(super) fn count_dropped(&self, level: u8) {
        let level = usize::from(level & LEVEL_MASK);
        self.word(process::DROPPED + level * 8).fetch_add(1, Ordering::Relaxed);
    }

    /// The counts of suppressed records by level, in the process file.
    fn suppressed(&self) -> &[AtomicU64; 16] {
        // SAFETY: the field is aligned and within the mapping, whose pages are there.
        unsafe { &*self.base.add(process::SUPPRESSED).cast() }
    }

    /// Counts a record of a level against the limit of records in a second.
    pub(super) fn admit(&self, level: u8) -> Admission {
        let Some(throttle) = &self.throttle else { return Admission::Yes };
        // A child of fork counts in its own file.
        if self.fork_state().registered.load(Ordering::Acquire) == 0 {
            drop(self.lock());
        }
        throttle.admit(level, crate::clock::boottime_ns(), self.suppressed())
    }

    /// Calls `each` with what was suppressed of each level and is not said yet.
    pub(super) fn take_suppressed(&self, each: impl FnMut(SuppressedLevel)) {
        if let Some(throttle) = &self.throttle {
            throttle.take_suppressed(self.suppressed()).for_each(each);
        }
    }

    /// Wakes the consumers that sleep, in this process and in others.
    pub(super) fn wake_consumers(&self) {
        super::local_wake::wake_local();
        if self.doorbell.is_null() {
            return;
        }
        // SAFETY: the page is never unmapped.
        let word = |offset| unsafe { &*self.doorbell.add(offset).cast::<AtomicU32>() };
        if word(doorbell::SLEEPERS).load(Ordering::Relaxed) != 0 {
            let futex = word(doorbell::FUTEX);
            futex.fetch_add(1, Ordering::Relaxed);
            // SAFETY: the word outlives the call.
            unsafe { libc::syscall(libc::SYS_futex, futex, libc::FUTEX_WAKE, i32::MAX) };
        }
    }

    /// Does something with the state of ring 0; `None`: it is in use by what this interrupted, or
    /// there is none.
    pub(super) fn with_signal_ring(
        &'static self,
        work: impl FnOnce(&'static ThreadState),
    ) -> Option<()> {
        if self.fork_state().registered.load(Ordering::Acquire) == 0 {
            drop(self.lock()?);
        }
        take_lock(&self.fork_state().signal_ring)?;
        // SAFETY: written before `registered`, and never after.
        let state = unsafe { (*self.inner.get()).signal_ring.as_ref() };
        let done = state.map(work);
        self.fork_state().signal_ring.store(0, Ordering::Release);
        done
    }

    /// Open descriptors, each its own open file, of the process file and of all rings.
    fn open_files(&self) -> io::Result<Vec<(File, String)>> {
        let reopen = |file: Descriptor, name: String| {
            let path = files::c_path(format!("/proc/self/fd/{file}").as_ref())?;
            // SAFETY: the name ends with NUL.
            let file = unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
            if file < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: just opened, and owned by nothing else.
            Ok((unsafe { File::from_raw_fd(file) }, name))
        };
        let guard = self.lock().ok_or(io::ErrorKind::WouldBlock)?;
        let inner = &*guard.inner;
        let (directory, stem) = (self.directory.as_str(), inner.stem.as_str());
        let mut found = vec![reopen(inner.file, format!("{directory}/{stem}.process"))?];
        for slot in inner.used_slots() {
            let name = format!("{directory}/{stem}-{}.ring", slot.number);
            if slot.file >= 0 {
                found.push(reopen(slot.file, name)?);
            } else {
                let mut options = std::fs::OpenOptions::new();
                // Removed by a consumer after the process was thought dead.
                if let Ok(file) = options.read(true).write(true).open(&name) {
                    found.push((file, name));
                }
            }
        }
        Ok(found)
    }
}

/// Makes the process; `thread_ends` is called at the end of each thread with a ring.
pub(super) fn start(
    settings: RingSettings,
    thread_ends: extern "C" fn(*mut libc::c_void),
) -> Result<Option<io::Error>, Error> {
    // Two threads at once: one of them is refused.
    static STARTED: AtomicU32 = AtomicU32::new(0);
    if STARTED.swap(1, Ordering::AcqRel) != 0 {
        let already = io::Error::from(io::ErrorKind::AlreadyExists);
        return Err(Error::io("start of logging", already));
    }
    let (process, why) = Process::new(settings, thread_ends).map_err(|error| {
        STARTED.store(0, Ordering::Release);
        Error::io("start of logging", error)
    })?;
    let sleeper = std::ptr::from_ref(process.u32_at(process::CONSUMER_SLEEPS)).cast_mut();
    SLEEPER.store(sleeper, Ordering::Relaxed);
    PROCESS.store(Box::into_raw(Box::new(process)), Ordering::Release);
    Ok(why)
}

/// Whether [`start`] was called.
#[must_use]
pub fn is_started() -> bool {
    Process::get().is_some()
}

/// Says that the process has ended in order.  Logging goes on working.
pub(super) fn end() {
    if let Some(process) = Process::get() {
        process.u32_at(process::ENDED).store(1u32.to_le(), Ordering::Release);
    }
}

/// Counts a record that could not be written at all.
pub fn count_dropped(level: u8) {
    if let Some(process) = Process::get() {
        process.count_dropped(level);
    }
}

/// Readers of this process's own file and rings, also of those without names: for a consumer in the
/// process.  Rings are added; call it again to find them.
///
/// # Errors
/// If a file cannot be opened.
pub fn local_files() -> Result<(ProcessFile, Vec<RingReader>), Error> {
    let what = "files of the own process";
    let process = Process::get()
        .ok_or_else(|| Error::io(what, io::Error::from(io::ErrorKind::NotConnected)))?;
    let mut files = process.open_files().map_err(|error| Error::io(what, error))?.into_iter();
    let (file, path) =
        files.next().ok_or_else(|| Error::io(what, io::Error::from(io::ErrorKind::NotFound)))?;
    let own = ProcessFile::from_file(file, path.as_ref())?;
    let rings: Result<Vec<_>, _> =
        files.map(|(file, path)| RingReader::from_file(file, path.as_ref())).collect();
    Ok((own, rings?))
}

/// The number of a call site in the dictionary; `None`: the dictionary is full, or this is a signal
/// handler that interrupted its growth.
#[must_use]
pub fn site_id(site: &SiteDescription<'_>) -> Option<u32> {
    let mut number = None;
    with_errno_kept(|| {
        number = Process::get().and_then(|process| process.lock()?.add_site(site));
    });
    number
}

/// The number of a context: a logger, and names and values.
#[must_use]
pub fn context_id(logger: u32, pairs: &[(&str, &str)]) -> Option<u32> {
    let process = Process::get()?;
    let mut name = [0; 256];
    let mut guard = process.lock()?;
    let length = guard.logger_name(logger, &mut name);
    guard.add_context(logger, &name[..length], pairs)
}

/// The context of the first's logger with both's names and values, those of the second first; the
/// first if there is no room.
#[must_use]
pub fn combined_context(context: u32, other: u32) -> u32 {
    Process::get().map_or(context, |process| process.combine(context, other))
}

/// About the stamp that a record made at this `CLOCK_BOOTTIME` would have.
#[must_use]
pub fn stamp_of_boottime(boottime_ns: u64) -> u64 {
    let Some(process) = Process::get() else { return boottime_ns };
    let now = crate::clock::pair(process.has_tsc);
    let ago_ns = u128::from(now.boottime_ns.saturating_sub(boottime_ns));
    let ticks = ago_ns * u128::from(process.stamp_hz) / 1_000_000_000;
    now.stamp.saturating_sub(u64::try_from(ticks).unwrap_or(u64::MAX))
}

/// The number of a text that is logged often: as an argument it takes 8 bytes.
#[must_use]
pub fn text_id(text: &[u8]) -> Option<u32> {
    Process::get()?.lock()?.add_text(text)
}

/// The number of a logger, which is made if there is none of the name.
///
/// # Errors
/// If the name is too long, or the table is full.
pub fn logger_id(name: &str) -> Result<u32, Error> {
    let what = || format!("logger {name:?}");
    let process = Process::get()
        .ok_or_else(|| Error::io(what(), io::Error::from(io::ErrorKind::NotConnected)))?;
    if name.len() > crate::abi::logger::NAME_BYTES_MAX {
        let most = crate::abi::logger::NAME_BYTES_MAX;
        return Err(Error::Limit { what: format!("length of {}", what()), most });
    }
    let busy = || Error::io(what(), io::Error::from(io::ErrorKind::WouldBlock));
    let mut guard = process.lock().ok_or_else(busy)?;
    let count = guard.inner.logger_count;
    let number = guard.add_logger(name).map_err(|error| Error::io(what(), error))?;
    drop(guard);
    if number == count {
        apply_kept(process, number, name);
    }
    Ok(number)
}

/// Gives a logger the levels that were set at run time and are to last.
fn apply_kept(process: &Process, logger: u32, name: &str) {
    let Ok(kept) = KeptLevels::read(process.directory.as_str().as_ref()) else { return };
    let RingSettings { host_name, process_name, .. } = &process.settings;
    let (central, local) = kept.of(host_name, process_name, name);
    let Some(bytes) = level_bytes(logger) else { return };
    let now = |at: usize| bytes[at].load(Ordering::Relaxed);
    set_levels(logger, central.unwrap_or(now(1)), local.unwrap_or(now(2)));
}

/// Sets the levels of a logger as it is configured; those that were set at run time and are to last come
/// before that.
pub fn set_configured_levels(logger: u32, name: &str, central: u8, local: u8) {
    set_levels(logger, central, local);
    if let Some(process) = Process::get() {
        apply_kept(process, logger, name);
    }
}

/// The levels of a logger: records below the first are not made; the others are those for the
/// central store and for local outputs.  They live as long as the process.
#[must_use]
pub fn level_bytes(logger: u32) -> Option<&'static [AtomicU8; 3]> {
    let process = Process::get()?;
    let count = u32::from_le(process.u32_at(process::LOGGER_COUNT).load(Ordering::Relaxed));
    if logger >= count.min(process::LOGGERS_MAX as u32) {
        return None;
    }
    let at = process::LOGGERS + logger as usize * process::LOGGER_BYTES;
    // SAFETY: within the mapping, which stays; bytes are shared as atomics.
    Some(unsafe { &*process.base.add(at).cast() })
}

/// Sets the levels of a logger, as numbers.
pub fn set_levels(logger: u32, central: u8, local: u8) {
    if Process::get().is_none_or(|process| process.is_off) {
        return;
    }
    let Some(bytes) = level_bytes(logger) else { return };
    for (at, level) in [(1, central), (2, local), (0, central.min(local))] {
        bytes[at].store(level, Ordering::Relaxed);
    }
}

// SAFETY: what is not constant is changed under the lock, or atomic.
unsafe impl Sync for Process {}
// SAFETY: as above.
unsafe impl Send for Process {}

/// A ring's number that is none.
const NO_RING: u32 = ring::NONE;

/// Where the process file is mapped.
pub(super) fn page_of(process: &Process) -> *mut u8 {
    process.base
}

/// Whether a consumer has the lock of the process file; of a file that cannot be asked, yes.
pub(super) fn has_consumer(process: &Process) -> bool {
    let Some(guard) = process.lock() else { return true };
    let file = guard.inner.file;
    file < 0 || crate::system::is_locked(&file, crate::system::LOCK_CONSUMER).unwrap_or(true)
}

/// Calls `each` with number, write position and place of every ring.
pub(super) fn ring_positions(process: &Process, mut each: impl FnMut(u32, u64, &Slot)) {
    if let Some(guard) = process.lock() {
        for slot in guard.inner.used_slots() {
            each(slot.number(), slot.written(), slot);
        }
    }
}

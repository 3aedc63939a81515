//! The beginning: of a process, and of a child after `fork`.

use std::cell::UnsafeCell;
use std::fmt::Write as _;
use std::io;
use std::sync::atomic::Ordering;

use super::super::files::{self, Descriptor};
use super::super::settings::RingSettings;
use super::super::throttle::Throttle;
use super::dictionary::{GROWTH, INTERN_BYTES};
use super::rings::SLOT_BYTES;
use super::{ForkState, Inner, NO_RING, Name, Process};
use crate::abi::{self, PAGE, entry, logger, process};
use crate::calibration::ClockPair;
use crate::clock;
use crate::level::LEVEL_OFF;

/// How long the frequency of the TSC is measured at the start; readers measure it better.
const MEASURE_NS: u64 = 200_000;

/// Bytes of the process file's mapping.
const MAPPED: usize = process::DICTIONARY + process::DICTIONARY_BYTES_MAX;

/// Most processes of one pid and start time: programs that one has executed in turn.
const STEMS_MAX: u32 = 1000;

impl Process {
    /// Makes everything; also gives why the files have no names, if they have none.
    pub(super) fn new(
        mut settings: RingSettings,
        thread_ends: extern "C" fn(*mut libc::c_void),
    ) -> io::Result<(Process, Option<io::Error>)> {
        let mut directory = Name::new();
        let text = settings.directory.to_str().ok_or(io::ErrorKind::InvalidInput)?;
        let is_short = text.len() < Name::BYTES - 100 && !text.contains('\0');
        if !is_short || directory.write_str(text).is_err() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the folder's name is too long",
            ));
        }
        let throttle = settings.records_per_second_max.map(Throttle::new);
        let has_tsc = settings.tsc.unwrap_or_else(clock::is_tsc_usable);
        let mut key = 0;
        // SAFETY: the key outlives the call; the function is of this program.
        if unsafe { libc::pthread_key_create(&mut key, Some(thread_ends)) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let made = files::make_directory(&settings.directory);
        let doorbell = made.and_then(|()| files::map_doorbell(&settings.directory));
        let is_off = doorbell.as_ref().is_err_and(|why| why.kind() == io::ErrorKind::Unsupported);
        if is_off {
            (settings.level_central, settings.level_local) = (LEVEL_OFF, LEVEL_OFF);
        }
        let inner = Inner {
            stem: Name::new(),
            file: -1,
            is_private: doorbell.is_err(),
            allocated: 0,
            dictionary_length: 0,
            entry_count: 0,
            logger_count: 0,
            intern: files::map_private(INTERN_BYTES)?.cast(),
            scratch: files::map_private(entry::BYTES_MAX)?,
            slots: files::map_private(SLOT_BYTES)?.cast(),
            slot_count: 0,
            next_ring: 0,
            ring_bytes: 0,
            signal_ring: std::ptr::null(),
            pid: 0,
            start_ticks: 0,
            process_id: [0; 16],
        };
        let mut process = Process {
            settings,
            directory,
            is_off,
            has_tsc,
            stamp_hz: measured_hz(has_tsc),
            boot_id: clock::boot_id(),
            base: std::ptr::null_mut(),
            fork_state: files::map_wiped_on_fork(PAGE)?.cast::<ForkState>(),
            throttle,
            doorbell: doorbell.as_ref().map_or(std::ptr::null_mut(), |page| *page),
            key,
            inner: UnsafeCell::new(inner),
        };
        let mut why = doorbell.err();
        let mut inner = std::mem::replace(process.inner.get_mut(), Inner::none());
        let base = process.make_process_file(&mut inner, &mut why)?;
        process.base = base;
        process.make_signal_ring(&mut inner);
        *process.inner.get_mut() = inner;
        process.fork_state().registered.store(1, Ordering::Release);
        Ok((process, why))
    }

    /// Registers a child of `fork`, which has none of its parent's rings.
    pub(super) fn register(&self, inner: &mut Inner) {
        files::close(inner.file);
        for slot in inner.used_slots() {
            files::close(slot.file);
        }
        inner.is_private = self.doorbell.is_null();
        if let Some(throttle) = &self.throttle {
            throttle.reset();
        }
        let mut why = None;
        if self.make_process_file(inner, &mut why).is_err() {
            // Neither files nor memory: the parent's file stays mapped, and no ring is made.
            inner.file = -1;
        }
        inner.forget_slots();
        (inner.next_ring, inner.ring_bytes, inner.signal_ring) = (0, 0, std::ptr::null());
        self.make_signal_ring(inner);
    }

    fn make_signal_ring(&self, inner: &mut Inner) {
        inner.signal_ring = self.make_shared_ring(inner).map_or(std::ptr::null(), |state| state);
    }

    /// Makes the process file with what is known so far, maps it where the last one was, and gives
    /// where that is.
    fn make_process_file(
        &self,
        inner: &mut Inner,
        why: &mut Option<io::Error>,
    ) -> io::Result<*mut u8> {
        inner.pid = std::process::id();
        inner.start_ticks = clock::start_ticks(inner.pid).unwrap_or(0);
        random(&mut inner.process_id);
        inner.allocated = inner.dictionary_length.next_multiple_of(GROWTH) + GROWTH;
        inner.allocated = inner.allocated.min(process::DICTIONARY_BYTES_MAX as u64);
        let mut name = Name::new();
        let mut file = -1;
        if !inner.is_private {
            let tag = u64::from_le_bytes(inner.process_id[..8].try_into().unwrap_or_default());
            let (directory, pid, ticks) = (self.directory.as_str(), inner.pid, inner.start_ticks);
            write!(name, "{directory}/{pid}-{ticks}-{tag:016x}.new").map_err(io::Error::other)?;
            match files::make(name.as_c()?, 0x4000) {
                Ok(made) => file = made,
                Err(error) => (*why, inner.is_private) = (Some(error), true),
            }
        }
        if inner.is_private {
            file = files::make_unnamed(0x4000)?;
        }
        let filled = self.fill(inner, file);
        let named = filled.and_then(|()| self.name_process_file(inner, &name));
        if let Err(error) = named {
            files::close(file);
            if inner.is_private {
                return Err(error);
            }
            files::remove(name.as_c()?);
            (*why, inner.is_private) = (Some(error), true);
            return self.make_process_file(inner, why);
        }
        inner.file = file;
        lock_writer(file);
        files::map(file, MAPPED, self.base)
    }

    /// Renames the file to its stem; one more than those that exist.
    fn name_process_file(&self, inner: &mut Inner, from: &Name) -> io::Result<()> {
        for turn in 1..STEMS_MAX {
            inner.stem = Name::new();
            let (pid, ticks) = (inner.pid, inner.start_ticks);
            let suffix = if turn > 1 { Some(turn) } else { None };
            write!(inner.stem, "{pid}-{ticks}").map_err(io::Error::other)?;
            if let Some(suffix) = suffix {
                write!(inner.stem, ".{suffix}").map_err(io::Error::other)?;
            }
            if inner.is_private {
                return Ok(());
            }
            let mut name = Name::new();
            write!(name, "{}/{}.process", self.directory.as_str(), inner.stem.as_str())
                .map_err(io::Error::other)?;
            match files::rename_new(from.as_c()?, name.as_c()?) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => return other,
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    }

    /// Writes a new process file: header, first reading of the clocks, and of a parent its loggers
    /// and its dictionary, as far as they were complete when this process was made.
    fn fill(&self, inner: &Inner, file: Descriptor) -> io::Result<()> {
        files::allocate(file, process::DICTIONARY as u64, inner.allocated)?;
        let mut page = [0; PAGE];
        let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &abi::PROCESS_MAGIC);
        put(process::VERSION, &abi::VERSION.to_le_bytes());
        let stamps = if self.has_tsc { process::FLAG_TSC } else { 0 };
        put(process::FLAGS, &(stamps | process::FLAG_WAKES).to_le_bytes());
        put(process::PID, &inner.pid.to_le_bytes());
        put(process::START_TICKS, &inner.start_ticks.to_le_bytes());
        put(process::BOOT_ID, &self.boot_id);
        put(process::PROCESS_ID, &inner.process_id);
        put(process::STAMP_HZ, &self.stamp_hz.to_le_bytes());
        let names = [&self.settings.host_name, &self.settings.process_name];
        for (name, at) in names.into_iter().zip([process::HOST_NAME, process::PROCESS_NAME]) {
            put(at, &name.as_bytes()[..name.len().min(process::NAME_BYTES - 1)]);
        }
        put(process::DICTIONARY_LENGTH, &inner.dictionary_length.to_le_bytes());
        put(process::CALIBRATION_COUNT, &1u64.to_le_bytes());
        put(process::LOGGER_COUNT, &inner.logger_count.to_le_bytes());
        write_at(file, &page, 0)?;
        let ClockPair { stamp, realtime_ns, boottime_ns } = clock::pair(self.has_tsc);
        let mut pair = [0; process::PAIR_BYTES];
        for (slot, word) in pair.chunks_exact_mut(8).zip([1, stamp, realtime_ns, boottime_ns]) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        write_at(file, &pair, process::CALIBRATION as u64)?;
        let loggers = inner.logger_count as usize * process::LOGGER_BYTES;
        #[allow(clippy::cast_possible_truncation, reason = "below 16 MiB")]
        let dictionary = inner.dictionary_length as usize;
        for (at, length) in [(process::LOGGERS, loggers), (process::DICTIONARY, dictionary)] {
            if length > 0 {
                files::allocate(file, at as u64, length as u64)?;
                // SAFETY: the parent's file is mapped, and has these bytes.
                let bytes = unsafe { std::slice::from_raw_parts(self.base.add(at), length) };
                write_at(file, bytes, at as u64)?;
            }
        }
        // What the parent has logged is not the child's.
        let none = [0; logger::NAME - logger::COUNTS];
        for at in (process::LOGGERS..process::LOGGERS + loggers).step_by(process::LOGGER_BYTES) {
            write_at(file, &none, (at + logger::COUNTS) as u64)?;
        }
        Ok(())
    }
}

impl Inner {
    /// One without anything, while the real one is being made.
    fn none() -> Self {
        Inner {
            stem: Name::new(),
            file: -1,
            is_private: true,
            allocated: 0,
            dictionary_length: 0,
            entry_count: 0,
            logger_count: 0,
            intern: std::ptr::null_mut(),
            scratch: std::ptr::null_mut(),
            slots: std::ptr::null_mut(),
            slot_count: 0,
            next_ring: NO_RING,
            ring_bytes: 0,
            signal_ring: std::ptr::null(),
            pid: 0,
            start_ticks: 0,
            process_id: [0; 16],
        }
    }
}

/// Writes all bytes at an offset.
fn write_at(file: Descriptor, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        // SAFETY: the bytes outlive the call.
        let count =
            unsafe { libc::pwrite(file, bytes.as_ptr().cast(), bytes.len(), at.cast_signed()) };
        let Ok(count) = usize::try_from(count) else {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return Err(error);
        };
        bytes = &bytes[count..];
        at += count as u64;
    }
    Ok(())
}

/// Holds the lock that says that this process lives; without it, its pid says so.
fn lock_writer(file: Descriptor) {
    use std::os::fd::{FromRawFd as _, IntoRawFd as _};
    // SAFETY: `into_raw_fd` gives the descriptor back without closing it.
    let owned = unsafe { std::fs::File::from_raw_fd(file) };
    let _ = crate::system::try_lock(&owned, crate::system::LOCK_WRITER);
    let _ = owned.into_raw_fd();
}

/// 16 random bytes.
fn random(id: &mut [u8; 16]) {
    // SAFETY: the buffer has this length.
    let got = unsafe { libc::getrandom(id.as_mut_ptr().cast(), id.len(), libc::GRND_NONBLOCK) };
    if got != 16 {
        // Early in a boot: the clock and the process name it well enough.
        id[..8].copy_from_slice(&clock::realtime_ns().to_le_bytes());
        id[8..12].copy_from_slice(&std::process::id().to_le_bytes());
    }
}

/// Ticks of the stamp in a second.
fn measured_hz(has_tsc: bool) -> u64 {
    if !has_tsc {
        return 1_000_000_000;
    }
    let first = clock::pair(true);
    while clock::boottime_ns() < first.boottime_ns + MEASURE_NS {
        std::hint::spin_loop();
    }
    let second = clock::pair(true);
    let ticks = u128::from(second.stamp.saturating_sub(first.stamp));
    let span_ns = u128::from(second.boottime_ns.saturating_sub(first.boottime_ns)).max(1);
    u64::try_from(ticks * 1_000_000_000 / span_ns).unwrap_or(0)
}

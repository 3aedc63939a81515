//! What the machine says: threads, load, free memory, swapping, and the files that users change.
//!
//! [`Kernel`] reads `/proc/meminfo`, `/proc/vmstat`,
//! `/proc/diskstats` and `/proc/<pid>/stat` (proc(5)).
//! Nothing is read unless an option asks for it.  The load costs three system calls per process
//! and four more per process of several threads, so it is asked for at most once a second.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// `/proc` files that are read here: the longest, `/proc/stat` of a machine of thousands of CPUs,
/// has what is asked for among its last lines.
const PROC_BYTES_MAX: usize = 1 << 20;

/// `/proc/<pid>/stat` is below 400 bytes.
const STAT_BYTES_MAX: usize = 1024;

/// Descriptors that a job may need in us: its two outputs, its input and its pidfd.
const DESCRIPTORS_PER_JOB: u64 = 4;

/// Descriptors that are ours whatever runs.
const DESCRIPTORS_OWN: u64 = 32;

/// Processes that a job may need: its shell and one command of it.
const PROCESSES_PER_JOB: u64 = 2;

/// Pages swapped since the machine was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swapped {
    /// Pages read back from the swap device.
    pub in_pages: u64,
    /// Pages written to it.
    pub out_pages: u64,
}

/// What the machine says.
pub trait Machine {
    /// CPU threads that this process may use, at least 1.
    fn threads(&mut self) -> u32;

    /// How many jobs could run at once before descriptors or processes run out.
    fn jobs_max(&mut self) -> u32;

    /// Threads that run or could, or that wait for a disk (states R and D of proc(5)), without the
    /// one that asks.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    fn busy_threads(&mut self) -> io::Result<u32>;

    /// Memory that could be had without swapping, bytes.
    ///
    /// # Errors
    /// `/proc/meminfo` cannot be read, or says nothing about it.
    fn memory_available_bytes(&mut self) -> io::Result<u64>;

    /// What was swapped so far.
    ///
    /// # Errors
    /// `/proc/vmstat` cannot be read, or says nothing about it.
    fn swapped(&mut self) -> io::Result<Swapped>;

    /// For each disk, in the kernel's order, the milliseconds during which it had requests.
    ///
    /// # Errors
    /// `/proc/diskstats` cannot be read.
    fn disks_busy_ms(&mut self) -> io::Result<Vec<u64>>;

    /// A file that a user may change, at most so many bytes of it.
    ///
    /// # Errors
    /// It cannot be read.
    fn file(&mut self, path: &Path, bytes_max: usize) -> io::Result<Vec<u8>>;
}

/// The machine we run on.
#[derive(Clone, Debug)]
pub struct Kernel {
    proc: PathBuf,
    buffer: Vec<u8>,
}

impl Default for Kernel {
    fn default() -> Self {
        Kernel::new(Path::new("/proc"))
    }
}

impl Kernel {
    /// A machine whose `/proc` is there.
    pub fn new(proc: &Path) -> Self {
        Kernel { proc: proc.to_owned(), buffer: Vec::new() }
    }

    /// Reads a file of `/proc` into the buffer.
    fn read(&mut self, name: &str) -> io::Result<&[u8]> {
        read_into(&self.proc.join(name), PROC_BYTES_MAX, &mut self.buffer)?;
        Ok(&self.buffer)
    }

    /// Adds the busy threads of one process.
    fn busy_of(&mut self, process: &Path, own: u32) -> u32 {
        if read_into(&process.join("stat"), STAT_BYTES_MAX, &mut self.buffer).is_err() {
            return 0;
        }
        let Some(leader) = Stat::parse(&self.buffer) else { return 0 };
        if leader.threads <= 1 {
            return u32::from(leader.busy && leader.id != own);
        }
        let Ok(threads) = fs::read_dir(process.join("task")) else { return 0 };
        let mut busy = 0;
        for thread in threads.flatten() {
            if read_into(&thread.path().join("stat"), STAT_BYTES_MAX, &mut self.buffer).is_ok()
                && let Some(stat) = Stat::parse(&self.buffer)
            {
                busy += u32::from(stat.busy && stat.id != own);
            }
        }
        busy
    }
}

impl Machine for Kernel {
    fn threads(&mut self) -> u32 {
        std::thread::available_parallelism()
            .map_or(1, |threads| u32::try_from(threads.get()).unwrap_or(u32::MAX))
    }

    fn jobs_max(&mut self) -> u32 {
        use rustix::process::{Resource, getrlimit};
        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let processes = getrlimit(Resource::Nproc).current.unwrap_or(u64::MAX);
        let ids = self.read("sys/kernel/pid_max").ok().and_then(first_number).unwrap_or(u64::MAX);
        let by_files = files.saturating_sub(DESCRIPTORS_OWN) / DESCRIPTORS_PER_JOB;
        // The other half is left for what the machine and the jobs themselves start.
        let by_processes = processes.min(ids) / 2 / PROCESSES_PER_JOB;
        u32::try_from(by_files.min(by_processes).max(1)).unwrap_or(u32::MAX)
    }

    fn busy_threads(&mut self) -> io::Result<u32> {
        let own = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        let mut busy = 0_u32;
        for entry in fs::read_dir(&self.proc)? {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit) {
                busy = busy.saturating_add(self.busy_of(&entry.path(), own));
            }
        }
        Ok(busy)
    }

    fn memory_available_bytes(&mut self) -> io::Result<u64> {
        available_bytes(self.read("meminfo")?).ok_or_else(|| lacking("meminfo", "MemAvailable"))
    }

    fn swapped(&mut self) -> io::Result<Swapped> {
        let text = self.read("vmstat")?;
        let page = |name| value(text, name).ok_or_else(|| lacking("vmstat", name));
        Ok(Swapped { in_pages: page("pswpin")?, out_pages: page("pswpout")? })
    }

    fn disks_busy_ms(&mut self) -> io::Result<Vec<u64>> {
        Ok(busy_ms(self.read("diskstats")?))
    }

    fn file(&mut self, path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        read_into(path, bytes_max, &mut bytes)?;
        Ok(bytes)
    }
}

/// What a thread's `stat` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    id: u32,
    busy: bool,
    threads: u32,
}

impl Stat {
    /// Reads `id (name) state …`; the name may hold anything, so the last parenthesis counts.
    fn parse(text: &[u8]) -> Option<Stat> {
        let id = u32::try_from(first_number(text)?).ok()?;
        let end = memchr::memrchr(b')', text)?;
        let mut fields = text.get(end + 1..)?.split(u8::is_ascii_whitespace);
        let state = fields.find(|field| !field.is_empty())?;
        // The 20th field of all; the state is the third.
        let threads = fields.nth(16).and_then(first_number).unwrap_or(1);
        Some(Stat {
            id,
            busy: matches!(state, b"R" | b"D"),
            threads: u32::try_from(threads).unwrap_or(u32::MAX),
        })
    }
}

/// Memory that could be had without swapping; where the kernel does not say it (before 3.14), what
/// is free and what caches hold.
fn available_bytes(text: &[u8]) -> Option<u64> {
    let kib = |name| value(text, name);
    let kib = kib("MemAvailable:").or_else(|| {
        Some(kib("MemFree:")? + kib("Buffers:").unwrap_or(0) + kib("Cached:").unwrap_or(0))
    })?;
    kib.checked_mul(1024)
}

/// The tenth number after each disk's name.
fn busy_ms(text: &[u8]) -> Vec<u64> {
    let lines = text.split(|byte| *byte == b'\n');
    let fields = |line: &[u8]| {
        let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
        fields.nth(12).and_then(first_number)
    };
    lines.filter_map(fields).collect()
}

/// The number after a name at the start of a line.
fn value(text: &[u8], name: &str) -> Option<u64> {
    text.split(|byte| *byte == b'\n').find_map(|line| {
        let rest = line.strip_prefix(name.as_bytes())?;
        rest.first().filter(|byte| byte.is_ascii_whitespace())?;
        first_number(rest.trim_ascii_start())
    })
}

/// The digits that a text begins with, as a number.
fn first_number(text: &[u8]) -> Option<u64> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    std::str::from_utf8(&text[..end]).ok()?.parse().ok()
}

/// The error of a file of `/proc` that lacks what was asked for.
fn lacking(file: &str, name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{file} has no {name}"))
}

/// Reads a file's first bytes into a buffer, whose memory is kept.
fn read_into(path: &Path, bytes_max: usize, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    File::open(path)?.take(bytes_max as u64).read_to_end(buffer)?;
    Ok(())
}

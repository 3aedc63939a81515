//! The state of the machine: threads, load, available memory, swapping, and the files that users
//! change.
//!
//! [`LocalMachine`] reads `/proc/meminfo`, `/proc/vmstat`, `/proc/diskstats` and `/proc/<pid>/stat`
//! (proc(5)).  Nothing is read unless an option needs it.  The load costs four system calls for each
//! process, and as many for each thread of a process with several, so it is read at most once a second.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use procfs::diskstats::parse_diskstats;
use procfs::pid::parse_stat;
use procfs::scan::{KeyIndex, number};

use crate::cpus::CpuUnit;

/// Most bytes read of a file in `/proc`: `/proc/stat` of a machine with thousands of CPUs is the
/// longest, and what is needed is among its last lines.
const PROC_BYTES_MAX: usize = 1 << 20;

/// `/proc/<pid>/stat` has less than 400 bytes.
const STAT_BYTES_MAX: usize = 1024;

/// `/proc/meminfo` has about 1,500 bytes; what is needed is among its first lines.
const MEMINFO_BYTES_MAX: usize = 4096;

/// Descriptors of this process that a job may need: two outputs, its input and its pidfd.
const DESCRIPTORS_PER_JOB: u64 = 4;

/// Descriptors that this process needs without jobs.
const DESCRIPTORS_OWN: u64 = 32;

/// Processes that a job may need: its shell and one command.
const PROCESSES_PER_JOB: u64 = 2;

/// Pages swapped since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swapped {
    /// Pages read back from the swap device.
    pub in_pages: u64,
    /// Pages written to it.
    pub out_pages: u64,
}

/// The state of the machine.
pub trait Machine {
    /// CPU threads that this process may use, or the CPUs of another unit; at least 1.
    fn threads(&mut self) -> u32;

    /// How many jobs could run at once before descriptors or processes run out.
    fn jobs_max(&mut self) -> u32;

    /// Threads that are runnable or wait for a disk (states R and D of proc(5)), without those of
    /// this process.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    fn busy_threads(&mut self) -> io::Result<u32>;

    /// Memory that is available without swapping, in bytes.
    ///
    /// # Errors
    /// If `/proc/meminfo` cannot be read or lacks the number.
    fn memory_available_bytes(&mut self) -> io::Result<u64>;

    /// Pages swapped so far.
    ///
    /// # Errors
    /// If `/proc/vmstat` cannot be read or lacks the numbers.
    fn swapped(&mut self) -> io::Result<Swapped>;

    /// For each disk, in the kernel's order, the milliseconds during which it had requests.
    ///
    /// # Errors
    /// If `/proc/diskstats` cannot be read.
    fn disks_busy_ms(&mut self) -> io::Result<Vec<u64>>;

    /// The contents of a file that a user may change, at most `bytes_max` bytes.
    ///
    /// # Errors
    /// If it cannot be read.
    fn file(&mut self, path: &Path, bytes_max: usize) -> io::Result<Vec<u8>>;
}

/// The lines of `meminfo` that are read, in the file's order.
const MEMORY_KEYS: &[&[u8]] = &[b"MemFree:", b"MemAvailable:", b"Buffers:", b"Cached:"];

/// The lines of `vmstat` that are read, in the file's order.
const SWAP_KEYS: &[&[u8]] = &[b"pswpin ", b"pswpout "];

/// The column of `diskstats` that has the milliseconds with requests.
const BUSY_MS: usize = 9;

/// The field of `stat` (proc_pid_stat(5)) that has the number of threads.
const NUM_THREADS: usize = 20;

/// This machine.
#[derive(Debug)]
pub struct LocalMachine {
    proc: PathBuf,
    unit: CpuUnit,
    buffer: Vec<u8>,
    /// `meminfo`, kept open: it is read before each start.
    memory: Option<Arc<File>>,
    memory_keys: KeyIndex,
    swap_keys: KeyIndex,
}

impl Default for LocalMachine {
    fn default() -> Self {
        LocalMachine::new(Path::new("/proc"))
    }
}

impl LocalMachine {
    /// A machine with this `/proc`.
    pub fn new(proc: &Path) -> Self {
        LocalMachine {
            proc: proc.to_owned(),
            unit: CpuUnit::Thread,
            buffer: Vec::new(),
            memory: None,
            memory_keys: KeyIndex::new(MEMORY_KEYS),
            swap_keys: KeyIndex::new(SWAP_KEYS),
        }
    }

    /// This machine, whose CPUs are counted so.
    pub fn counting(unit: CpuUnit) -> Self {
        LocalMachine { unit, ..LocalMachine::default() }
    }

    /// Reads a file of `/proc` into the buffer.
    fn read(&mut self, name: &str) -> io::Result<&[u8]> {
        read_into(&self.proc.join(name), PROC_BYTES_MAX, &mut self.buffer)?;
        Ok(&self.buffer)
    }

    /// Number of busy threads of a process.
    fn busy_of(&mut self, process: &Path) -> u32 {
        if read_into(&process.join("stat"), STAT_BYTES_MAX, &mut self.buffer).is_err() {
            return 0;
        }
        let Some((leader_is_busy, threads)) = busy_and_threads(&self.buffer) else { return 0 };
        if threads <= 1 {
            return u32::from(leader_is_busy);
        }
        let Ok(threads) = fs::read_dir(process.join("task")) else { return 0 };
        let mut busy = 0;
        for thread in threads.flatten() {
            if read_into(&thread.path().join("stat"), STAT_BYTES_MAX, &mut self.buffer).is_ok()
                && let Some((is_busy, _)) = busy_and_threads(&self.buffer)
            {
                busy += u32::from(is_busy);
            }
        }
        busy
    }
}

impl Machine for LocalMachine {
    fn threads(&mut self) -> u32 {
        self.unit.count()
    }

    fn jobs_max(&mut self) -> u32 {
        use rustix::process::{Resource, getrlimit};
        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let processes = getrlimit(Resource::Nproc).current.unwrap_or(u64::MAX);
        let ids = self.read("sys/kernel/pid_max").ok().and_then(number).unwrap_or(u64::MAX);
        let by_files = files.saturating_sub(DESCRIPTORS_OWN) / DESCRIPTORS_PER_JOB;
        // The other half is left for the machine and for what jobs start.
        let by_processes = processes.min(ids) / 2 / PROCESSES_PER_JOB;
        u32::try_from(by_files.min(by_processes).max(1)).unwrap_or(u32::MAX)
    }

    fn busy_threads(&mut self) -> io::Result<u32> {
        let own = rustix::process::getpid().as_raw_nonzero().get().to_string();
        let mut busy = 0_u32;
        for entry in fs::read_dir(&self.proc)? {
            let entry = entry?;
            let name = entry.file_name();
            if name.as_encoded_bytes().iter().all(u8::is_ascii_digit) && name != *own {
                busy = busy.saturating_add(self.busy_of(&entry.path()));
            }
        }
        Ok(busy)
    }

    fn memory_available_bytes(&mut self) -> io::Result<u64> {
        let file = match &self.memory {
            Some(file) => Arc::clone(file),
            None => Arc::new(File::open(self.proc.join("meminfo"))?),
        };
        self.buffer.resize(MEMINFO_BYTES_MAX, 0);
        let length = file.read_at(&mut self.buffer, 0)?;
        self.memory = Some(file);
        let text = &self.buffer[..length];
        let available = available_bytes(&mut self.memory_keys, text);
        available.ok_or_else(|| lacking("meminfo", "MemAvailable"))
    }

    fn swapped(&mut self) -> io::Result<Swapped> {
        self.read("vmstat")?;
        let mut pages = [None; 2];
        self.swap_keys.scan(&self.buffer, |key, count| pages[key] = Some(count));
        let [in_pages, out_pages] = pages;
        Ok(Swapped {
            in_pages: in_pages.ok_or_else(|| lacking("vmstat", "pswpin"))?,
            out_pages: out_pages.ok_or_else(|| lacking("vmstat", "pswpout"))?,
        })
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

/// Whether a thread is runnable or waits for a disk, and how many threads its process has, from its
/// `stat`.
fn busy_and_threads(text: &[u8]) -> Option<(bool, u64)> {
    let stat = parse_stat(text)?;
    Some((matches!(stat.state, b"R" | b"D"), stat.field(NUM_THREADS).unwrap_or(1)))
}

/// Memory that is available without swapping; before Linux 3.14, which does not report it, free
/// memory and caches.
fn available_bytes(keys: &mut KeyIndex, text: &[u8]) -> Option<u64> {
    let mut kib = [None; 4];
    keys.scan(text, |key, count| kib[key] = Some(count));
    let [free, available, buffers, cached] = kib;
    let kib = available.or_else(|| {
        let caches = buffers.unwrap_or(0_u64).saturating_add(cached.unwrap_or(0));
        Some(free?.saturating_add(caches))
    })?;
    kib.checked_mul(1024)
}

/// The milliseconds during which each disk had requests.
fn busy_ms(text: &[u8]) -> Vec<u64> {
    let busy = |disk: procfs::diskstats::DiskLine<'_>| {
        (disk.present >> BUSY_MS & 1 == 1).then_some(disk.columns[BUSY_MS])
    };
    parse_diskstats(text).filter_map(busy).collect()
}

/// The error for a file of `/proc` that lacks a value.
fn lacking(file: &str, name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{file} has no {name}"))
}

/// Reads the first bytes of a file into a buffer, whose allocation is kept.
fn read_into(path: &Path, bytes_max: usize, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    // With spare capacity the standard library skips its small first read.
    buffer.reserve(bytes_max.min(4096));
    File::open(path)?.take(bytes_max as u64).read_to_end(buffer)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    /// A process that is killed when the test is over.
    struct Busy(Child);

    impl Drop for Busy {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn busy() -> Busy {
        let child = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("sh: {error}"));
        Busy(child)
    }

    #[test]
    fn processes_that_run_are_counted() {
        let loops: Vec<Busy> = (0..3).map(|_| busy()).collect();
        let deadline = Instant::now() + Duration::from_secs(5);
        let mut kernel = LocalMachine::default();
        while kernel.busy_threads().unwrap_or(0) < 3 {
            assert!(Instant::now() < deadline, "three loops run, fewer are counted");
            thread::sleep(Duration::from_millis(10));
        }
        drop(loops);
    }

    #[test]
    fn states_are_read_behind_any_name() {
        let stat = |text: &str| busy_and_threads(text.as_bytes());
        let tail = "1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 4 0 100 1 1";
        assert_eq!(stat(&format!("7 (a) R) D {tail}")), Some((true, 4)));
        assert_eq!(stat(&format!("7 (R ) S {tail}")), Some((false, 4)));
        assert_eq!(stat("7 (x) R"), Some((true, 1)));
        assert_eq!(stat("7 (x"), None);
        assert_eq!(stat("7 (x)"), None);
        assert_eq!(stat(""), None);
    }

    #[test]
    fn this_machine_says_what_it_has() {
        let mut kernel = LocalMachine::default();
        assert!(kernel.threads() >= 1);
        assert!(kernel.jobs_max() >= 1);
        let first = kernel.memory_available_bytes().unwrap_or_else(|error| panic!("{error}"));
        let again = kernel.memory_available_bytes().unwrap_or_else(|error| panic!("{error}"));
        assert!(first > 1 << 20 && again > 1 << 20, "{first} and {again} bytes are available");
        kernel.swapped().unwrap_or_else(|error| panic!("{error}"));
        kernel.disks_busy_ms().unwrap_or_else(|error| panic!("{error}"));
    }

    #[test]
    fn kernel_texts_are_read_whatever_they_hold() {
        let available_bytes = |text: &[u8]| available_bytes(&mut KeyIndex::new(MEMORY_KEYS), text);
        let old = b"MemTotal: 100 kB\nMemFree:  10 kB\nBuffers:  2 kB\nCached: 30 kB\n";
        assert_eq!(available_bytes(old), Some(42 * 1024));
        assert_eq!(available_bytes(b"MemFree: 1 kB\nMemAvailable:    3 kB\n"), Some(3 * 1024));
        assert_eq!(available_bytes(b"MemAvailable:\n"), None);
        assert_eq!(available_bytes(b"MemAvailable: 99999999999999999999 kB"), None);
        assert_eq!(available_bytes(b"MemAvailable: 18446744073709551615 kB"), None);
        let disks = b"   8       0 sda 9 8 7 6 5 4 3 2 1 12345 77 0\n 8 1 sda1 1 2\n\n";
        assert_eq!(busy_ms(disks), [12345]);
    }

    #[test]
    fn a_file_that_grows_is_read_in_part() {
        let file = tempfile::NamedTempFile::new().unwrap_or_else(|error| panic!("{error}"));
        fs::write(file.path(), vec![b'7'; 100_000]).unwrap_or_else(|error| panic!("{error}"));
        let bytes = LocalMachine::default().file(file.path(), 4096);
        assert_eq!(bytes.map(|bytes| bytes.len()).ok(), Some(4096));
    }
}

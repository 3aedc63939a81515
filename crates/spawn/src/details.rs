//! Details of a process that has exited and was not waited for: how much CPU time its shell used,
//! and whether its memory peak is its own.
//!
//! `wait4` returns the sum of what a job's shell and its command used.  A process that has exited
//! but was not waited for still has its files in `/proc`: `schedstat` begins with the nanoseconds
//! that it spent on a CPU itself, without its children, and `comm` is the name of the last program
//! that it executed.
//!
//! A child shares our memory until it calls execve(2), so its memory peak includes ours
//! (`ru_maxrss`, getrusage(2)): a peak that is not above ours says nothing.
//!
//! Costs seven system calls for a job with a shell and one for others, and a read of
//! `/proc/self/status` for a job whose peak is above ours; nothing unless it is requested.

use std::ffi::CStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;

use crate::usage::ShellTime;

/// Bytes of a program's name that the kernel keeps (TASK_COMM_LEN without its NUL).
const NAME_BYTES: usize = 15;

/// Most bytes read of one of the small files: three numbers, or a name.
const SMALL_BYTES: usize = 128;

/// Most bytes read of `/proc/self/status`; the needed line is in its first half.
const STATUS_BYTES: usize = 4096;

/// By how much a peak must exceed ours to count.  The kernel counts pages on each CPU separately and
/// adds them up now and then, so its numbers are off by some dozen pages for each CPU.
const SLACK_KIB: u64 = 512;

/// Inspects exited processes.
#[derive(Debug)]
pub struct ExitDetails {
    /// The `comm` of the shell that runs the jobs.
    shell: Option<Vec<u8>>,
    status: Option<File>,
    /// Our own memory peak when it was last read.
    own_kib: u64,
}

impl ExitDetails {
    /// For jobs that the shell with this path runs; `None` for jobs without a shell.
    ///
    /// Resets our own memory peak to our current size.
    pub fn new(shell: Option<&CStr>) -> Self {
        let name = |path: &CStr| {
            let name = path.to_bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
            name[..name.len().min(NAME_BYTES)].to_vec()
        };
        // proc_pid_clear_refs(5).  If it fails, the peaks of more jobs stay unknown.
        let _ = fs::write("/proc/self/clear_refs", "5");
        let status = File::open("/proc/self/status").ok();
        ExitDetails { shell: shell.map(name), status, own_kib: 0 }
    }

    /// The CPU time of a job's shell; the process was not waited for yet.
    pub(crate) fn shell(&self, pid: i32) -> ShellTime {
        let Some(shell) = &self.shell else { return ShellTime::NoShell };
        let mut bytes = [0; SMALL_BYTES];
        let name = read(&format!("/proc/{pid}/comm"), &mut bytes);
        match name.map(|name| name.strip_suffix(b"\n").unwrap_or(name) == shell) {
            None => ShellTime::Unknown,
            Some(false) => ShellTime::Became,
            Some(true) => {
                let own = read(&format!("/proc/{pid}/schedstat"), &mut bytes).and_then(own_ns);
                own.map_or(ShellTime::Unknown, ShellTime::Own)
            }
        }
    }

    /// The memory peak that the kernel reports for a process, if it is its own.
    pub(crate) fn resident_kib(&mut self, kib: u64) -> Option<u64> {
        if kib <= self.own_kib + SLACK_KIB {
            return None;
        }
        let mut bytes = [0; STATUS_BYTES];
        let count = self.status.as_ref()?.read_at(&mut bytes, 0).ok()?;
        self.own_kib = self.own_kib.max(peak_kib(&bytes[..count])?);
        (kib > self.own_kib + SLACK_KIB).then_some(kib)
    }
}

fn read<'a>(path: &str, bytes: &'a mut [u8]) -> Option<&'a [u8]> {
    let count = File::open(path).ok()?.read(bytes).ok()?;
    Some(&bytes[..count])
}

/// The first number of a `schedstat`; a kernel without schedstats writes zeros.
fn own_ns(text: &[u8]) -> Option<u64> {
    let number = text.split(|&byte| byte == b' ').next()?;
    std::str::from_utf8(number).ok()?.parse().ok().filter(|ns| *ns > 0)
}

/// `VmHWM` of a `status`, in KiB.
fn peak_kib(text: &[u8]) -> Option<u64> {
    let line = text.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(b"VmHWM:"))?;
    std::str::from_utf8(line).ok()?.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_writes_is_read() {
        assert_eq!(own_ns(b"117383 3144 2\n"), Some(117_383));
        for text in ["0 0 0\n", "", "x 1 2\n", "-1 0 0\n"] {
            assert_eq!(own_ns(text.as_bytes()), None, "{text}");
        }
        let status = b"Name:\twhit\nVmPeak:\t  9000 kB\nVmHWM:\t    6260 kB\nVmRSS:\t    5000 kB\n";
        assert_eq!(peak_kib(status), Some(6260));
        for text in ["", "VmHWM:\n", "VmHWM: x kB\n", "Name:\tVmHWM:\n"] {
            assert_eq!(peak_kib(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_peak_below_ours_is_not_known() {
        let mut details = ExitDetails::new(None);
        assert_eq!(details.resident_kib(SLACK_KIB), None);
        let own = peak_kib(&fs::read("/proc/self/status").unwrap()).unwrap();
        // Other tests of this process use memory too.
        assert_eq!(details.resident_kib(own / 2 + SLACK_KIB), None);
        assert_eq!(details.resident_kib(1 << 40), Some(1 << 40));
    }
}

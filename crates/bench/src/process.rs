//! Other processes: what the kernel says of them, and programs that run beside a measurement.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::contest::Measurement;
use crate::error::{Context, Result, ensure};

/// The CPU time of a process with all its threads, ended ones too; `None` if there is no such
/// process.
pub(crate) fn cpu(pid: u32) -> Option<Duration> {
    let mut id = 0;
    let pid = libc::pid_t::try_from(pid).ok()?;
    // SAFETY: the pointer is to a live value of the type that the call fills.
    if unsafe { libc::clock_getcpuclockid(pid, &raw mut id) } != 0 {
        return None;
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live value of the type that the call fills.
    unsafe { libc::clock_gettime(id, &raw mut time) };
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

/// CPU time of a process and all its threads, ended ones too, without its children, in µs: in ticks
/// of some 10 ms, precise enough for thousands of jobs.
///
/// # Errors
/// If `/proc/PID/stat` cannot be read; `InvalidData` if it cannot be parsed.
pub(crate) fn own_cpu_us(pid: u32) -> io::Result<u64> {
    let [user, system] = ticks(pid)?;
    Ok((user + system) * 1_000_000 / rustix::param::clock_ticks_per_second().max(1))
}

fn ticks(pid: u32) -> io::Result<[u64; 2]> {
    let text = std::fs::read(format!("/proc/{pid}/stat"))?;
    ticks_in(&text).ok_or(io::ErrorKind::InvalidData.into())
}

/// `utime` and `stime` of `/proc/PID/stat` (proc(5)).
fn ticks_in(text: &[u8]) -> Option<[u64; 2]> {
    let (_, _, mut words) = stat_fields(text)?;
    let mut number = |skip| words.nth(skip)?.parse::<u64>().ok();
    Some([number(11)?, number(0)?])
}

/// The process id, the name and the other fields of `/proc/PID/stat`.
pub(crate) fn stat_fields(text: &[u8]) -> Option<(i32, &[u8], std::str::SplitAsciiWhitespace<'_>)> {
    let open = text.iter().position(|byte| *byte == b'(')?;
    // The name may contain anything, also blanks and parentheses: numbers follow the last `)`.
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let pid = std::str::from_utf8(&text[..open]).ok()?.trim().parse().ok()?;
    let rest = std::str::from_utf8(&text[close + 1..]).ok()?;
    Some((pid, text.get(open + 1..close)?, rest.split_ascii_whitespace()))
}

/// A size from `/proc/PID/status` in KiB: `VmRSS` is the resident memory, `VmHWM` its peak.
pub(crate) fn status_kib(pid: u32, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.split_ascii_whitespace().next()?.parse().ok()
}

/// Bytes of pages that a process made dirty (`write_bytes` of `/proc/PID/io`); `who` may be `self`.
pub(crate) fn dirtied_bytes(who: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{who}/io")).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix("write_bytes: "))?;
    value.trim().parse().ok()
}

/// CPU time of all live threads of a process in ns, from the scheduler; `None` if the kernel has no
/// scheduler statistics.
///
/// # Errors
/// If there is no such process.
pub(crate) fn threads_cpu_ns(pid: u32) -> io::Result<Option<u64>> {
    let mut sum_ns = None;
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread that has ended meanwhile has no file.
        let text = std::fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        let ns = text.split_ascii_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        sum_ns = ns.map(|ns| sum_ns.unwrap_or(0) + ns).or(sum_ns);
    }
    Ok(sum_ns)
}

/// The cost of a process since its start, with all its threads and without its children: CPU time,
/// the peak of its memory and the pages that it made dirty.
pub(crate) fn spent(pid: u32) -> Option<Measurement> {
    let all_us = microseconds(cpu(pid)?);
    let [user, system] = ticks(pid).ok()?;
    // The clock is exact and has no parts; the ticks only serve to split it.
    let user_us = (all_us * user).checked_div(user + system).unwrap_or(all_us);
    Some(Measurement {
        user_us,
        system_us: all_us - user_us,
        resident_kib_max: status_kib(pid, "VmHWM").unwrap_or(0),
        dirtied_bytes: Some(dirtied_bytes(&pid.to_string()).unwrap_or(0)),
        ..Measurement::default()
    })
}

/// How often a program is asked whether something has happened.
const LOOK: Duration = Duration::from_micros(200);

/// A program that runs beside a measurement, and is killed when this is dropped or this process ends.
pub(crate) struct BackgroundProgram {
    pub(crate) child: Child,
    /// The command line.
    pub(crate) text: String,
    pub(crate) started: Instant,
}

impl BackgroundProgram {
    /// Starts a program; its input and output are discarded where the command does not say more.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let text = text_of(command);
        let end = || {
            // SAFETY: a system call that takes numbers, as may be made between fork and exec.
            match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        };
        // SAFETY: the closure makes one system call and allocates nothing.
        unsafe { command.pre_exec(end) };
        let started = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot start {text}"))?;
        Ok(BackgroundProgram { child, text, started })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until something has happened.
    ///
    /// # Errors
    /// If the program has ended, and if it takes longer than `patience`.
    pub(crate) fn wait_until(
        &mut self,
        patience: Duration,
        mut has_happened: impl FnMut() -> bool,
    ) -> Result<()> {
        let begin = Instant::now();
        while !has_happened() {
            self.check()?;
            ensure!(begin.elapsed() < patience, "{}: no answer in {patience:?}", self.text);
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Fails if the program has ended.
    pub(crate) fn check(&mut self) -> Result<()> {
        let status = self.child.try_wait()?;
        ensure!(status.is_none(), "{} ended: {}", self.text, status.unwrap_or_default());
        Ok(())
    }

    /// Ends the program by SIGTERM.
    ///
    /// # Errors
    /// If it cannot be signalled or waited for.
    pub(crate) fn stop(mut self) -> Result<ExitStatus> {
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        Ok(self.child.wait()?)
    }

    /// Ends the program by SIGTERM; its exit code must be 0.
    ///
    /// # Errors
    /// If it cannot be ended, and for another exit code.
    pub(crate) fn stop_well(self) -> Result<()> {
        let text = self.text.clone();
        let status = self.stop()?;
        ensure!(status.success(), "{text} ended with {status}");
        Ok(())
    }
}

impl Drop for BackgroundProgram {
    fn drop(&mut self) {
        // A program that has ended, and was perhaps waited for, is no fault.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Discards the input and the output of a command.
pub(crate) fn silent(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())
}

/// A duration in whole µs.
pub(crate) fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A command line as it would be typed.
pub(crate) fn text_of(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_contain_anything() {
        assert_eq!(ticks_in(b"7 (a) b) Z 1 2 3 4 5 6 7 8 9 10 30 12 0 0"), Some([30, 12]));
        assert_eq!(ticks_in(b"7 (a) Z 1"), None);
        assert_eq!(stat_fields(b"7 (a) b) Z").unwrap().1, b"a) b");
    }

    #[test]
    fn a_running_program_has_a_clock_and_ends_when_told() {
        let mut command = Command::new("sh");
        silent(command.args(["-c", "read a"])).stdin(Stdio::piped());
        let mut running = BackgroundProgram::start(&mut command).unwrap();
        running.check().unwrap();
        let cost = spent(running.id()).unwrap();
        assert!(cost.cpu_us() < 5_000_000 && cost.own_us.is_none(), "{cost:?}");
        drop(running.child.stdin.take());
        running.child.wait().unwrap();
        assert_eq!(cpu(running.id()), None);
        assert!(running.check().is_err());
        let sleep = || BackgroundProgram::start(silent(Command::new("sleep").arg("100"))).unwrap();
        assert!(!sleep().stop().unwrap().success());
        let text = sleep().stop_well().unwrap_err().to_string();
        assert!(text.starts_with("sleep 100 ended with "), "{text}");
    }
}

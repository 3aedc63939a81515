//! The cost of a turn: of a program from its start to its end, or of code in this process.
//!
//! CPU time comes from the kernel (`wait4` for a program, the thread's clock for code in this
//! process), so start-up and children are included.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use rustix::time::{ClockId, clock_gettime};

use crate::contest::Measurement;
use crate::process::{self, microseconds};

/// Runs a program to its end, and measures it with all children that it waited for.
///
/// # Errors
/// If it cannot be started or waited for.
pub(crate) fn run_any(command: &mut Command) -> io::Result<(ExitStatus, Measurement)> {
    let start = Instant::now();
    ended(&spawned(command)?, start)
}

/// Runs a program while `talk` writes its input and reads its output, and measures it.
///
/// # Errors
/// If it cannot be started or waited for, if talking fails, and for an exit code other than 0.
pub(crate) fn run_talking<T>(
    command: &mut Command,
    talk: impl FnOnce(u32, ChildStdin, ChildStdout) -> io::Result<T>,
) -> io::Result<(T, Measurement)> {
    let start = Instant::now();
    let mut child = spawned(command.stdin(Stdio::piped()).stdout(Stdio::piped()))?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let talked = match input.zip(output) {
        Some((input, output)) => talk(child.id(), input, output),
        None => Err(io::ErrorKind::BrokenPipe.into()),
    };
    let (status, measurement) = ended(&child, start)?;
    let value = talked?;
    if !status.success() {
        let program = command.get_program().to_string_lossy();
        return Err(io::Error::other(format!("{program} ended with {status}")));
    }
    Ok((value, measurement))
}

/// Waits for a child that nobody else waits for, and measures it since `start`.
///
/// The CPU time of the program alone is read from `/proc/PID/stat` when it has ended and has not
/// been waited for, so nothing is missed and nothing is disturbed.
///
/// # Errors
/// If it cannot be waited for.
pub(crate) fn ended(child: &Child, start: Instant) -> io::Result<(ExitStatus, Measurement)> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    rustix::io::retry_on_intr(|| waitid(WaitId::Pid(Pid::from_child(child)), options))?;
    let (wall, own_us) = (start.elapsed(), process::own_cpu_us(child.id()));
    let (status, usage) = wait4(libc::pid_t::try_from(child.id()).map_err(io::Error::other)?)?;
    let measurement = Measurement {
        wall_us: microseconds(wall),
        resident_kib_max: u64::try_from(usage.ru_maxrss).unwrap_or(0),
        own_us: own_us.ok(),
        ..cpu_of(&usage)
    };
    Ok((status, measurement))
}

/// Starts a program by fork(2).
///
/// Without a `pre_exec` the standard library uses `vfork`: the child shares this process's memory
/// until its execve(2), and the kernel then counts this process's size into the child's
/// `ru_maxrss`, getrusage(2).  After a fork little is mapped.
fn spawned(command: &mut Command) -> io::Result<Child> {
    // SAFETY: does nothing between fork and exec.
    unsafe { command.pre_exec(|| Ok(())) };
    command.spawn()
}

/// Waits for a child that nothing else waits for.
fn wait4(pid: libc::pid_t) -> io::Result<(ExitStatus, libc::rusage)> {
    let mut status = 0;
    // SAFETY: all zeros is a value of this plain structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live values of the types that the call fills.
        let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
        if waited == pid {
            return Ok((ExitStatus::from_raw(status), usage));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Runs code in this process and measures this thread.
pub(crate) fn measure<T>(work: impl FnOnce() -> T) -> (T, Measurement) {
    let (before, clock, start) = (cpu_of_thread(), thread_clock(), Instant::now());
    let value = work();
    let (after, cpu_us) = (cpu_of_thread(), microseconds(thread_clock().saturating_sub(clock)));
    // `getrusage` of a running thread is as old as the latest clock tick, which for a short turn is
    // too old; it only serves to split the exact time into user and system time.
    let user_us = after.user_us.saturating_sub(before.user_us).min(cpu_us);
    let measurement = Measurement {
        wall_us: microseconds(start.elapsed()),
        user_us,
        system_us: cpu_us - user_us,
        ..Measurement::default()
    };
    (value, measurement)
}

/// The CPU time of this thread.
pub(crate) fn thread_clock() -> Duration {
    clock(ClockId::ThreadCPUTime)
}

/// The CPU time of this process with all its threads.
pub(crate) fn own_process_cpu() -> Duration {
    clock(ClockId::ProcessCPUTime)
}

fn clock(id: ClockId) -> Duration {
    // A clock of CPU time is never negative.
    clock_gettime(id).try_into().unwrap_or_default()
}

/// Does work in this process: elapsed time, and the CPU time of all its threads.
pub(crate) fn measure_threads<T>(work: impl FnOnce() -> T) -> (T, Measurement) {
    let (cpu, start) = (own_process_cpu(), Instant::now());
    let value = work();
    let wall_us = microseconds(start.elapsed());
    let user_us = microseconds(own_process_cpu() - cpu);
    (value, Measurement { wall_us, user_us, ..Measurement::default() })
}

fn cpu_of_thread() -> Measurement {
    usage_of(libc::RUSAGE_THREAD)
}

/// The CPU time of all children that were waited for, and of theirs.
pub(crate) fn cpu_of_children() -> Measurement {
    usage_of(libc::RUSAGE_CHILDREN)
}

fn usage_of(who: libc::c_int) -> Measurement {
    // SAFETY: all zeros is a value of this plain structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live value of the type that the call fills.
    unsafe { libc::getrusage(who, &raw mut usage) };
    cpu_of(&usage)
}

fn cpu_of(usage: &libc::rusage) -> Measurement {
    let time = |time: libc::timeval| {
        u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000
            + u64::try_from(time.tv_usec).unwrap_or(0)
    };
    Measurement {
        user_us: time(usage.ru_utime),
        system_us: time(usage.ru_stime),
        ..Measurement::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str) -> (ExitStatus, Measurement) {
        run_any(Command::new("sh").args(["-c", script])).unwrap()
    }

    #[test]
    fn programs_are_measured_with_what_they_start() {
        let burn = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let (status, one) = run(&format!("({burn}) & wait; exit 3"));
        assert!(one.cpu_us() > 5_000 && one.resident_kib_max > 500, "{one:?}");
        assert_eq!(status.code(), Some(3));
    }

    #[test]
    fn a_program_is_told_apart_from_what_it_starts() {
        let burn = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let (status, all) = run(&format!("{burn}; exit 3"));
        assert_eq!(status.code(), Some(3));
        let own_us = all.own_us.unwrap();
        // Each of the two times may miss a tick.
        assert!(own_us + 20_000 >= all.cpu_us() && own_us <= all.cpu_us() + 20_000, "{own_us}");
        let (_, all) = run(&format!("({burn}) & wait"));
        assert!(all.cpu_us() > 50_000 && all.own_us.unwrap() <= 20_000, "{all:?}");
        assert!(own_process_cpu() > Duration::ZERO);
    }
}

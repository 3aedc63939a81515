//! A small bench harness: contestants take turns, round after round, and are compared by medians.
//!
//! A machine is faster in one minute than in the next, so ratios of neighbouring turns are reliable
//! and absolute numbers are not.  CPU time comes from the kernel (`wait4` for a program, `getrusage`
//! for code in this process), so start-up and children are included.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The cost of one turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Measurement {
    /// Elapsed time, in µs.
    pub(crate) wall_us: u64,
    /// CPU time in user mode, in µs.
    pub(crate) user_us: u64,
    /// CPU time in the kernel, in µs.
    pub(crate) system_us: u64,
    /// The peak of resident memory, in KiB; 0 for code in this process, where it means nothing.
    pub(crate) resident_kib_max: u64,
}

impl Measurement {
    /// User and system time, in µs.
    pub(crate) fn cpu_us(&self) -> u64 {
        self.user_us + self.system_us
    }

    /// Adds another one that came after this one.
    pub(crate) fn add(&mut self, other: &Measurement) {
        self.wall_us += other.wall_us;
        self.user_us += other.user_us;
        self.system_us += other.system_us;
        self.resident_kib_max = self.resident_kib_max.max(other.resident_kib_max);
    }
}

/// A program or code that takes turns.
pub(crate) struct Contestant<'a> {
    /// Its name in the tables.
    pub(crate) name: String,
    turn: Box<dyn FnMut() -> io::Result<Measurement> + 'a>,
}

impl<'a> Contestant<'a> {
    /// A contestant whose turn measures itself, with [`run_command`] or [`measure`].
    pub(crate) fn new(
        name: impl Into<String>,
        turn: impl FnMut() -> io::Result<Measurement> + 'a,
    ) -> Self {
        Contestant { name: name.into(), turn: Box::new(turn) }
    }
}

/// All turns of one contestant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Series {
    /// The contestant's name.
    pub(crate) name: String,
    /// One for each round.
    pub(crate) turns: Vec<Measurement>,
}

impl Series {
    /// The median of a number over the turns; 0 without turns.
    pub(crate) fn median(&self, of: impl Fn(&Measurement) -> f64) -> f64 {
        median(self.turns.iter().map(of).collect())
    }
}

/// Lets the contestants take `rounds` turns each, one after the other in every round, and calls
/// `progress` after each turn with the name and the round.
///
/// # Errors
/// The first error of a turn ends the comparison.
pub(crate) fn in_turn(
    rounds: usize,
    contestants: &mut [Contestant<'_>],
    mut progress: impl FnMut(&str, usize),
) -> io::Result<Vec<Series>> {
    let start = |one: &Contestant<'_>| Series { name: one.name.clone(), turns: Vec::new() };
    let mut series: Vec<Series> = contestants.iter().map(start).collect();
    for round in 0..rounds {
        for (one, series) in contestants.iter_mut().zip(&mut series) {
            series.turns.push((one.turn)()?);
            progress(&one.name, round);
        }
    }
    Ok(series)
}

/// The median over the rounds of the cost of `this` divided by that of `base` in the same round,
/// without rounds in which `base` cost nothing.
pub(crate) fn ratio(this: &Series, base: &Series, of: impl Fn(&Measurement) -> f64) -> f64 {
    let rounds = this.turns.iter().zip(&base.turns);
    let ratios = rounds.map(|(this, base)| of(this) / of(base)).filter(|ratio| ratio.is_finite());
    median(ratios.collect())
}

/// The middle value; the mean of the middle two for an even number; 0 without values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// Runs a program to its end, and measures it with all children that it waited for.
///
/// # Errors
/// Those of starting and waiting; and an exit code other than 0.
pub(crate) fn run_command(command: &mut Command) -> io::Result<Measurement> {
    let (status, measurement) = run_any(command)?;
    if status.success() {
        return Ok(measurement);
    }
    let program = command.get_program().to_string_lossy();
    Err(io::Error::other(format!("{program} ended with {status}")))
}

/// As [`run_command`], for a program with any exit code.
///
/// # Errors
/// Those of starting and waiting.
pub(crate) fn run_any(command: &mut Command) -> io::Result<(ExitStatus, Measurement)> {
    let start = Instant::now();
    let pid = started(command)?;
    let (status, usage) = wait4(pid)?;
    Ok((status, measured(start.elapsed(), &usage)))
}

/// Runs a program while `talk` writes its input and reads its output, and measures it.
///
/// # Errors
/// Those of starting, talking and waiting; and an exit code other than 0.
pub(crate) fn run_talking<T>(
    command: &mut Command,
    talk: impl FnOnce(libc::pid_t, ChildStdin, ChildStdout) -> io::Result<T>,
) -> io::Result<(T, Measurement)> {
    let start = Instant::now();
    let mut child = spawned(command.stdin(Stdio::piped()).stdout(Stdio::piped()))?;
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let talked = match input.zip(output) {
        Some((input, output)) => talk(pid, input, output),
        None => Err(io::ErrorKind::BrokenPipe.into()),
    };
    let (status, usage) = wait4(pid)?;
    let measurement = measured(start.elapsed(), &usage);
    let value = talked?;
    if !status.success() {
        let program = command.get_program().to_string_lossy();
        return Err(io::Error::other(format!("{program} ended with {status}")));
    }
    Ok((value, measurement))
}

/// As [`run_any`], with the CPU time of the program's own threads, without its children, in µs.
///
/// It is read from `/proc/PID/stat` when the program has ended and has not been waited for, so
/// nothing is missed and nothing is disturbed.  The kernel counts it in ticks of some 10 ms, one
/// number for user and one for system time: precise enough for thousands of jobs.
///
/// # Errors
/// Those of starting and waiting, and of reading `/proc/PID/stat`.
pub(crate) fn run_apart(command: &mut Command) -> io::Result<(ExitStatus, Measurement, u64)> {
    let start = Instant::now();
    let pid = started(command)?;
    wait_for_end(pid)?;
    let wall = start.elapsed();
    let own_us = own_cpu_us(pid);
    let (status, usage) = wait4(pid)?;
    Ok((status, measured(wall, &usage), own_us?))
}

/// Waits for a child that nobody else waits for; its wall time is not measured.
///
/// # Errors
/// Those of waiting.
pub(crate) fn waited_for(child: &Child) -> io::Result<(ExitStatus, Measurement)> {
    let (status, usage) = wait4(libc::pid_t::try_from(child.id()).map_err(io::Error::other)?)?;
    Ok((status, measured(Duration::ZERO, &usage)))
}

/// CPU time of a process and all its threads, ended ones too, without its children, in µs.
///
/// # Errors
/// Those of reading `/proc/PID/stat`; `InvalidData` if it cannot be parsed.
pub(crate) fn own_cpu_us(pid: libc::pid_t) -> io::Result<u64> {
    let text = std::fs::read(format!("/proc/{pid}/stat"))?;
    // SAFETY: asks for a number.
    let ticks_per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    let ticks_per_second = u64::try_from(ticks_per_second).unwrap_or(100).max(1);
    let ticks = own_ticks(&text).ok_or(io::ErrorKind::InvalidData)?;
    Ok(ticks * 1_000_000 / ticks_per_second)
}

/// The sum of `utime` and `stime` of `/proc/PID/stat` (proc(5)).
fn own_ticks(text: &[u8]) -> Option<u64> {
    // The name may contain anything, also blanks and parentheses: numbers follow the last `)`.
    let after = text.iter().rposition(|byte| *byte == b')')?;
    let mut words = std::str::from_utf8(&text[after + 1..]).ok()?.split_ascii_whitespace().skip(11);
    let mut number = || words.next()?.parse::<u64>().ok();
    number()?.checked_add(number()?)
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

/// Lets a program that is started end with the thread that starts it, however that ends.
pub(crate) fn ends_with_us(command: &mut Command) -> &mut Command {
    let end = || {
        // SAFETY: a system call that takes numbers, as may be made between fork and exec.
        match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(end) }
}

/// Starts a program, of which only the number is needed.
fn started(command: &mut Command) -> io::Result<libc::pid_t> {
    libc::pid_t::try_from(spawned(command)?.id()).map_err(io::Error::other)
}

/// Waits until a child has ended, and leaves it a zombie.
fn wait_for_end(pid: libc::pid_t) -> io::Result<()> {
    let id = libc::id_t::try_from(pid).map_err(io::Error::other)?;
    loop {
        // SAFETY: all zeros is a value of this plain structure.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let options = libc::WEXITED | libc::WNOWAIT;
        // SAFETY: the pointer is to a live value of the type that the call fills.
        if unsafe { libc::waitid(libc::P_PID, id, &raw mut info, options) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
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

fn measured(wall: Duration, usage: &libc::rusage) -> Measurement {
    Measurement {
        wall_us: microseconds(wall),
        resident_kib_max: u64::try_from(usage.ru_maxrss).unwrap_or(0),
        ..cpu_of(usage)
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
        resident_kib_max: 0,
    };
    (value, measurement)
}

/// The CPU time of this thread.
fn thread_clock() -> Duration {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The CPU time of this process with all its threads.
pub(crate) fn own_process_cpu() -> Duration {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// The CPU time of another process with all its threads, ended ones too; `None` without it.
pub(crate) fn process_cpu(pid: u32) -> Option<Duration> {
    let mut id = 0;
    let pid = libc::pid_t::try_from(pid).ok()?;
    // SAFETY: the pointer is to a live value of the type that the call fills.
    (unsafe { libc::clock_getcpuclockid(pid, &raw mut id) } == 0).then(|| clock(id))
}

/// What a clock shows; 0 if the system has none of this number.
fn clock(id: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live value of the type that the call fills.
    unsafe { libc::clock_gettime(id, &raw mut time) };
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec))
}

fn cpu_of_thread() -> Measurement {
    // SAFETY: all zeros is a value of this plain structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live value of the type that the call fills.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
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

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contestants_take_turns_and_the_dearer_one_shows() {
        let burn = |steps: u64| {
            measure(|| {
                (0..steps).fold(1u64, |x, step| std::hint::black_box(x.wrapping_mul(31) ^ step))
            })
            .1
        };
        let mut contestants = [
            Contestant::new("light", || Ok(burn(3_000_000))),
            Contestant::new("heavy", || Ok(burn(60_000_000))),
        ];
        let mut order = Vec::new();
        let series =
            in_turn(3, &mut contestants, |name, round| order.push((name.to_owned(), round)));
        let series = series.unwrap();
        assert_eq!(order[..3], [("light".into(), 0), ("heavy".into(), 0), ("light".into(), 1)]);
        let times = ratio(&series[1], &series[0], |one| one.cpu_us() as f64);
        assert!(times > 3.0, "{times} {series:?}");
        assert!(series[1].median(|one| one.wall_us as f64) > 0.0);
    }

    #[test]
    fn programs_are_measured_with_what_they_start() {
        let burn = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let script = format!("({burn}) & wait");
        let one = run_command(Command::new("sh").args(["-c", &script])).unwrap();
        assert!(one.cpu_us() > 5_000 && one.resident_kib_max > 500, "{one:?}");
        assert!(run_command(Command::new("sh").args(["-c", "exit 3"])).is_err());
        let (status, _) = run_any(Command::new("sh").args(["-c", "exit 3"])).unwrap();
        assert_eq!(status.code(), Some(3));
    }

    #[test]
    fn a_program_is_told_apart_from_what_it_starts() {
        let burn = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let run = |script: &str| run_apart(Command::new("sh").args(["-c", script])).unwrap();
        let (status, all, own_us) = run(&format!("{burn}; exit 3"));
        assert_eq!(status.code(), Some(3));
        // Each of the two times may miss a tick.
        assert!(own_us + 20_000 >= all.cpu_us() && own_us <= all.cpu_us() + 20_000, "{own_us}");
        let (_, all, own_us) = run(&format!("({burn}) & wait"));
        assert!(all.cpu_us() > 50_000 && own_us <= 20_000, "{own_us} of {all:?}");
        assert_eq!(own_ticks(b"7 (a) b) Z 1 2 3 4 5 6 7 8 9 10 30 12 0 0"), Some(42));
        assert_eq!(own_ticks(b"7 (a) Z 1"), None);
    }

    #[test]
    fn another_process_has_a_clock() {
        let mut command = Command::new("sh");
        let mut child = command.args(["-c", "read a"]).stdin(Stdio::piped()).spawn().unwrap();
        let cpu = process_cpu(child.id()).unwrap();
        assert!(cpu < Duration::from_secs(5), "{cpu:?}");
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(process_cpu(child.id()), None);
        assert!(own_process_cpu() > Duration::ZERO);
    }

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), 0.0);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}

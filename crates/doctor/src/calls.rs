//! The system calls of `cat /proc/stat`, and what counting system calls costs here.
//!
//! The first is `strace -c cat /proc/stat`, the classic test for slow kernel files, without strace:
//! BPF programs count the calls, or ptrace if BPF programs cannot be loaded.  The second is a loop
//! of a cheap call: without BPF programs, with programs that count other processes, and counted.
//! Together they take a few hundred milliseconds, mostly for reading BTF.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use bpf::{CallStorage, CountSettings, KernelTypes, SyscallCounts};
use trace::engine::{CallFilter, FollowScope, PtraceEngine, RunResult, TraceEngine as _};
use trace::{CallId, CallStats, CallTally, EventKind, Memory, SLOTS, TraceEvent};

/// The command whose calls are counted.
pub(crate) const COMMAND: &str = "cat /proc/stat";

/// The paths of `cat`: a search by the shell would add system calls.
const PROGRAMS: [&str; 2] = ["/bin/cat", "/usr/bin/cat"];

/// Longest that the traced `cat` may take.
const TIME_MAX: Duration = Duration::from_secs(2);

/// Calls of one loop, and loops, of which the fastest counts.  All three measurements together take
/// 15 ms at 0.1 µs a call.
const LOOP_CALLS: u32 = 10_000;
const LOOPS: u32 = 5;

/// The results.
#[derive(Debug)]
pub(crate) struct SystemCalls {
    /// How calls were counted: `kernel` or `ptrace`.
    pub(crate) way: &'static str,
    /// Why calls were not counted in the kernel; empty if they were.
    pub(crate) why: String,
    /// The calls of the command, sorted by time, longest first; or why they could not be counted.
    pub(crate) calls: Result<Vec<Calls>, String>,
    /// The cost of counting in the kernel, if that works.
    pub(crate) price: Option<CountingCost>,
}

/// All calls of one system call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Calls {
    pub(crate) name: String,
    pub(crate) calls: u64,
    pub(crate) errors: u64,
    pub(crate) wall_ns: u64,
}

/// The time of a `getppid` call, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountingCost {
    /// Without BPF programs.
    pub(crate) bare_ns: f64,
    /// With programs that count other processes.
    pub(crate) not_selected_ns: f64,
    /// Counted.
    pub(crate) counted_ns: f64,
    /// Where the programs store the call that a task is in.
    pub(crate) storage: CallStorage,
}

/// Measures on this machine.
pub(crate) fn examine() -> SystemCalls {
    let bare_ns = getppid_ns();
    match KernelTypes::open().and_then(|kernel| by_kernel(&kernel, bare_ns)) {
        Ok((calls, price)) => {
            SystemCalls { way: "kernel", why: String::new(), calls, price: Some(price) }
        }
        Err(error) => {
            SystemCalls { way: "ptrace", why: error.to_string(), calls: by_ptrace(), price: None }
        }
    }
}

type CountedCalls = (Result<Vec<Calls>, String>, CountingCost);

fn by_kernel(kernel: &KernelTypes, bare_ns: f64) -> Result<CountedCalls, bpf::Error> {
    let mut counts = SyscallCounts::open(kernel, &CountSettings::default())?;
    let not_selected_ns = getppid_ns();
    counts.watch(&[rustix::thread::gettid().as_raw_nonzero().get()])?;
    let storage = counts.storage();
    let price = CountingCost { bare_ns, not_selected_ns, counted_ns: getppid_ns(), storage };
    drop(counts);
    let settings = CountSettings { from_exec: true, ..CountSettings::default() };
    let mut counts = SyscallCounts::open(kernel, &settings)?;
    let mut command = match WaitingCommand::start() {
        Ok(command) => command,
        Err(error) => return Ok((Err(error), price)),
    };
    counts.watch(&[command.process()])?;
    if let Err(error) = command.run_to_end() {
        return Ok((Err(error), price));
    }
    let found = (0..SLOTS).filter_map(|slot| {
        let count = counts.call(slot).filter(|count| count.calls > 0)?;
        Some(Calls {
            name: CallId::of_slot(slot).name().into_owned(),
            calls: count.calls,
            errors: count.errors,
            wall_ns: count.wall_ns,
        })
    });
    Ok((Ok(sorted(found.collect())), price))
}

fn by_ptrace() -> Result<Vec<Calls>, String> {
    let mut command = WaitingCommand::start()?;
    let text = |error: trace::engine::Error| error.to_string();
    let mut engine =
        PtraceEngine::attach(&[command.process()], FollowScope::Process, CallFilter::all())
            .map_err(text)?;
    command.release();
    let (mut tally, mut begun) = (CallTally::default(), false);
    let mut each = |event: &TraceEvent, _: &dyn Memory| {
        match event.what {
            EventKind::Enter(call) => begun |= call.id.known_name() == Some("execve"),
            EventKind::Exit { call, result, wall_ns, cpu_ns, .. } if begun => {
                tally.add(call.id, result, wall_ns, cpu_ns);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    };
    let progress = engine.run(Some(TIME_MAX), &mut each).map_err(text)?;
    if progress != RunResult::Ended {
        engine.detach().map_err(text)?;
        return Err(format!("{COMMAND} took longer than {} s", TIME_MAX.as_secs()));
    }
    let calls = tally.calls.into_iter().map(|(id, stats): (CallId, CallStats)| Calls {
        name: id.name().into_owned(),
        calls: stats.calls,
        errors: stats.errors,
        wall_ns: stats.wall_ns,
    });
    Ok(sorted(calls.collect()))
}

fn sorted(mut calls: Vec<Calls>) -> Vec<Calls> {
    calls.sort_by(|one, other| other.wall_ns.cmp(&one.wall_ns).then(one.name.cmp(&other.name)));
    calls
}

/// A shell that waits for end-of-file on its standard input and then executes the command.
struct WaitingCommand {
    shell: Child,
    stdin: Option<ChildStdin>,
}

impl WaitingCommand {
    fn start() -> Result<Self, String> {
        let program = PROGRAMS.into_iter().find(|path| Path::new(path).exists());
        let program = program.ok_or("there is no cat in /bin or /usr/bin")?;
        let script = format!("read word; exec {program} /proc/stat");
        let mut shell = Command::new("/bin/sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot run /bin/sh: {error}"))?;
        let stdin = shell.stdin.take();
        Ok(WaitingCommand { shell, stdin })
    }

    fn process(&self) -> i32 {
        self.shell.id().cast_signed()
    }

    /// Lets the shell continue: end-of-file ends its `read` too.
    fn release(&mut self) {
        self.stdin = None;
    }

    fn run_to_end(&mut self) -> Result<(), String> {
        self.release();
        let until = Instant::now() + TIME_MAX;
        loop {
            match self.shell.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(format!("{COMMAND}: {status}")),
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(1)),
                Ok(None) => {
                    return Err(format!("{COMMAND} took longer than {} s", TIME_MAX.as_secs()));
                }
                Err(error) => return Err(format!("waiting for {COMMAND}: {error}")),
            }
        }
    }
}

impl Drop for WaitingCommand {
    /// Kills the command if it still runs.
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

/// The time of one getppid(2), which does almost nothing, in the fastest loop.
fn getppid_ns() -> f64 {
    let one_loop = || {
        let start = Instant::now();
        for _ in 0..LOOP_CALLS {
            std::hint::black_box(rustix::process::getppid());
        }
        start.elapsed()
    };
    let fastest = (0..LOOPS).map(|_| one_loop()).min().unwrap_or_default();
    fastest.as_nanos() as f64 / f64::from(LOOP_CALLS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(calls: &[Calls]) {
        let of = |name: &str| calls.iter().find(|calls| calls.name == name).unwrap();
        assert_eq!(of("execve").calls, 1, "{calls:?}");
        // Reads until end-of-file.
        assert!(of("read").calls >= 2 && of("openat").calls >= 1 && of("close").calls >= 1);
        assert!(calls.is_sorted_by_key(|calls| std::cmp::Reverse(calls.wall_ns)));
        // The calls of the shell before its execve(2) are not counted.
        assert!(calls.iter().all(|calls| calls.name != "restart_syscall"));
        assert!(calls.iter().all(|calls| calls.errors <= calls.calls && calls.wall_ns > 0));
    }

    #[test]
    fn cat_is_counted_in_the_kernel_and_the_cost_is_measured() {
        let found = examine();
        if found.way != "kernel" {
            testkit::skip_refused("counting in the kernel", &found.why);
            return;
        }
        check(found.calls.as_ref().unwrap());
        // Which of them is longest is the machine's affair: others use it meanwhile.
        let price = found.price.unwrap();
        for ns in [price.bare_ns, price.not_selected_ns, price.counted_ns] {
            assert!(ns.is_finite() && ns > 10.0, "{price:?}");
        }
    }

    #[test]
    fn without_permission_cat_is_counted_by_ptrace_and_says_why() {
        let found = testkit::as_nobody(examine);
        assert_eq!(found.way, "ptrace");
        assert!(!found.why.is_empty() && found.price.is_none());
        match found.calls {
            Ok(calls) => check(&calls),
            Err(why) => testkit::skip_refused("ptrace", &why),
        }
    }

    #[test]
    fn both_ways_count_the_same() {
        let (kernel, ptrace) = (examine(), by_ptrace());
        let (Ok(kernel), Ok(ptrace), "kernel") = (&kernel.calls, &ptrace, kernel.way) else {
            testkit::skip_refused("counting in the kernel", &format!("{} {ptrace:?}", kernel.why));
            return;
        };
        let counts = |calls: &[Calls]| {
            let mut counts: Vec<_> =
                calls.iter().map(|one| (one.name.clone(), one.calls, one.errors)).collect();
            counts.sort();
            counts
        };
        // Addresses are random, so an allocator may need a system call more or less.
        let steady = |calls: &[Calls]| {
            let mut counts = counts(calls);
            counts.retain(|(name, ..)| !["brk", "mmap", "munmap"].contains(&name.as_str()));
            counts
        };
        assert_eq!(steady(kernel), steady(ptrace));
    }
}

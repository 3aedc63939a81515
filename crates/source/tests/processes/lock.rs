//! A process that holds the lock of its memory: reading its command line waits for it, a reading of
//! all processes does not.

use std::process::{Command, Stdio};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use sample::State;
use source::ProcessMethod::Proc;
use source::ProcessOptions;
use testkit::{Deadline, Running};

use crate::processes::{LOCK_HOLDERS, open_method};

/// A process that holds the lock of its memory nearly all the time, for 100 ms or so at once: it
/// changes the protection of 16 GiB, all of which are the one page of zeros.  It takes another name
/// each time, as if it had begun another program, and stops when its stdin is closed.
fn lock_holder() -> Option<Running> {
    let true = testkit::is_installed("python3", "python3") else { return None };
    let script = "import ctypes, os, select, sys, time\n\
        libc = ctypes.CDLL(None, use_errno=True)\n\
        size, where = 16 << 30, ctypes.c_void_p\n\
        libc.mmap.restype = where\n\
        libc.mmap.argtypes = [where, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]\n\
        libc.madvise.argtypes = libc.mprotect.argtypes = [where, ctypes.c_size_t, ctypes.c_int]\n\
        room = libc.mmap(None, size, 1, 0x4022, -1, 0)\n\
        assert room != where(-1).value\n\
        libc.madvise(room, size, 15)\n\
        if libc.madvise(room, size, 22): sys.exit(print(os.strerror(ctypes.get_errno())))\n\
        libc.prctl(15, b'holder', 0, 0, 0)\n\
        print(flush=True)\n\
        number = 0\n\
        while not select.select([sys.stdin], [], [], 0)[0]:\n  \
          number += 1\n  \
          libc.prctl(15, b'holder%d' % number, 0, 0, 0)\n  \
          libc.mprotect(room, size, 3 if number & 1 else 1)\n\
        time.sleep(1000)";
    let mut command = Command::new("python3");
    command.args(["-c", script]).stdin(Stdio::piped());
    let mut child = Running::start(command.stdout(Stdio::piped()).stderr(Stdio::null()));
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    if line == "Invalid argument\n" {
        testkit::skip("a held mmap lock", "this kernel has no MADV_POPULATE_READ");
        return None;
    }
    assert_eq!(line, "\n", "the process that holds the lock failed");
    Some(child)
}

/// The lock is held for so long at least, where the kernel takes its time.
const HELD: Duration = Duration::from_millis(60);

/// How long `work` takes, without the time in which this thread waits for a CPU: on a busy machine
/// that is longer than all the rest.
fn without_queueing<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let queued = || {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let delay_ns = text.split(' ').nth(1).and_then(|word| word.parse().ok());
        Duration::from_nanos(delay_ns.unwrap_or(0))
    };
    let (before, begun) = (queued(), Instant::now());
    let result = work();
    let elapsed = begun.elapsed();
    (result, elapsed.saturating_sub(queued() - before))
}

#[test]
fn a_process_that_holds_its_memorys_lock_holds_no_reading_up() {
    let _alone = LOCK_HOLDERS.write().unwrap_or_else(PoisonError::into_inner);
    let mut reader = open_method(Proc, ProcessOptions::default()).unwrap();
    // The first reading waits longer: nothing is known of anybody.
    assert_eq!(reader.read(), State::Ok);
    let Some(mut holder) = lock_holder() else { return };
    let id = holder.id();
    let path = format!("/proc/{id}/cmdline");
    let read_by_hand = || assert!(!std::fs::read(&path).unwrap().is_empty());
    let (mut late, mut by_hand) = (Vec::new(), Vec::new());
    let (begun, deadline) = (Instant::now(), Deadline::default());
    let mut is_held = false;
    // On a busy machine the holder runs, and holds its lock, less often.
    while begun.elapsed() < Duration::from_millis(2500)
        || late.is_empty() && is_held && deadline.is_ahead()
    {
        by_hand.push(without_queueing(read_by_hand).1);
        is_held |= by_hand.last().is_some_and(|took| *took >= HELD);
        let known = reader.context.shared.processes.facts_late.get();
        let (state, took) = without_queueing(|| reader.read());
        assert_eq!(state, State::Ok);
        if reader.context.shared.processes.facts_late.get() > known {
            late.push(took);
        }
        let row = reader.row(id).expect("it has a row all the same");
        assert!(reader.text(row, "command").unwrap().starts_with("holder"));
        assert!(reader.get(row, "user_time").is_some());
        assert!(reader.row(std::process::id()).is_some());
    }
    by_hand.sort_unstable();
    late.sort_unstable();
    let longest = by_hand[by_hand.len() - 1];
    eprintln!("by hand {by_hand:?}, readings that gave up waiting {late:?}");
    if !is_held {
        testkit::skip("a held mmap lock", "nobody holds it for long on this machine");
        return;
    }
    assert!(!late.is_empty(), "every reading waited for the command line");
    // 20 ms of waiting.
    let allowed = Duration::from_millis(100).max(longest / 2);
    assert!(late[0] < allowed, "{late:?} beside {longest:?}");
    // It comes when the lock is let go.
    drop(holder.stdin.take());
    testkit::wait_until("its command line", || {
        reader.read();
        let row = reader.row(id).expect("it lives");
        reader.text(row, "command_line").is_some_and(|line| line.contains("python3 -c import"))
    });
}

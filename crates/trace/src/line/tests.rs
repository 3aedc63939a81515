//! Lines of several tasks, and of what is rarely seen: written from what strace writes.

#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::{
    Abi, Call, CallChanges, CallId, CallStatus, CallStatuses, EventKind, SignalSet, TraceEvent,
    WaitStatus,
};

fn call(abi: Abi, name: &str, words: &[u64]) -> Call {
    let mut arguments = [0; 6];
    arguments[..words.len()].copy_from_slice(words);
    Call { id: CallId::by_name(abi, name).unwrap(), arguments }
}

fn native(name: &str, words: &[u64]) -> Call {
    call(Abi::X86_64, name, words)
}

fn left(call: Call, result: i64) -> EventKind {
    EventKind::Exit { call, result, wall_ns: 1_000, cpu_ns: None, changes: CallChanges::default() }
}

fn printed(options: LineOptions, events: &[(i32, EventKind)]) -> String {
    let mut printer = Printer::new(options);
    let mut out = Vec::new();
    for (number, (thread, what)) in events.iter().enumerate() {
        let time_ns = number as u64 * 1_000_000;
        let event = TraceEvent { time_ns, thread: *thread, process: *thread, what: *what };
        printer.event(&event, &(), &(), &mut out).unwrap();
    }
    printer.detach(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn lines_are_broken_and_resumed() {
    let options = LineOptions { pid_prefix: PidPrefix::WhenSeveral, ..LineOptions::default() };
    let (read, close) = (native("read", &[3, 0x1000, 5]), native("close", &[4]));
    let text = printed(
        options,
        &[
            (10, EventKind::Enter(close)),
            (10, left(close, 0)),
            (11, EventKind::Began { parent: 10 }),
            (10, EventKind::Enter(read)),
            (11, EventKind::Enter(close)),
            (11, left(close, -9)),
            (10, left(read, 5)),
            (11, EventKind::Ended(WaitStatus::Exited(0))),
            (10, EventKind::Enter(read)),
            (10, EventKind::Ended(WaitStatus::Signaled { number: libc::SIGKILL, dumped: false })),
        ],
    );
    assert_eq!(
        text,
        "close(4)                                = 0\n\
         strace: Process 11 attached\n\
         [pid    10] read(3,  <unfinished ...>\n\
         [pid    11] close(4)                    = -1 EBADF (Bad file descriptor)\n\
         [pid    10] <... read resumed>0x1000, 5) = 5\n\
         [pid    11] +++ exited with 0 +++\n\
         read(3,  <unfinished ...>)              = ?\n\
         +++ killed by SIGKILL +++\n"
    );
}

#[test]
fn lines_are_held_back_until_their_result_is_known() {
    let statuses = CallStatuses::only(CallStatus::Failed);
    let options = LineOptions { statuses, pid_prefix: PidPrefix::Always, ..LineOptions::default() };
    let (first, second) = (native("close", &[3]), native("close", &[4]));
    let events = [
        (1, EventKind::Enter(first)),
        (2, EventKind::Enter(second)),
        (1, left(first, 0)),
        (2, left(second, -9)),
    ];
    assert_eq!(
        printed(options, &events),
        "2     close(4)                          = -1 EBADF (Bad file descriptor)\n"
    );
}

#[test]
fn a_program_takes_the_place_of_threads() {
    let options = LineOptions { pid_prefix: PidPrefix::WhenSeveral, ..LineOptions::default() };
    let exec = native("execve", &[0, 0, 0]);
    let events = [
        (1, EventKind::Enter(native("pause", &[]))),
        (2, EventKind::Enter(exec)),
        (1, EventKind::Superseded { former: 2 }),
        (1, left(exec, 0)),
    ];
    assert_eq!(
        printed(options, &events),
        "pause( <unfinished ...>\n\
         [pid     2] execve(NULL, NULL, NULL <unfinished ...>\n\
         [pid     1] <... pause resumed>)        = ?\n\
         +++ superseded by execve in pid 2 +++\n\
         <... execve resumed>)                   = 0\n"
    );
}

#[test]
fn calls_begun_anew_let_go_and_seen_late() {
    let sleep = native("nanosleep", &[0, 0]);
    let again = native("restart_syscall", &[]);
    let events = [
        (1, EventKind::Enter(sleep)),
        (1, left(sleep, -516)),
        (1, EventKind::Enter(again)),
        (1, left(again, 0)),
        (1, left(native("close", &[3]), 0)),
        (1, EventKind::Enter(native("read", &[3, 0x1000, 5]))),
    ];
    let options = LineOptions { signals: SignalSet::none(), column: 0, ..LineOptions::default() };
    assert_eq!(
        printed(options, &events),
        "nanosleep(NULL, NULL) = ? ERESTART_RESTARTBLOCK (Interrupted by signal)\n\
         restart_syscall(<... resuming interrupted nanosleep ...>) = 0\n\
         close(3) = 0\n\
         read(3,  <detached ...>\n"
    );
}

#[test]
fn words_of_32_bit_programs() {
    let line = |name: &str, words: &[u64]| {
        let options = LineOptions { column: 0, ..LineOptions::default() };
        line_of(call(Abi::I386, name, words), 0, &(), options)
    };
    assert_eq!(line("pread64", &[1, 2, 3, 4, 5]), "pread64(1, \"\", 3, 21474836484) = 0");
    assert_eq!(
        line("mmap2", &[0, 1, 3, 2, 5, 6]),
        "mmap2(NULL, 1, PROT_READ|PROT_WRITE, \
         MAP_PRIVATE, 5, 0x6000) = 0"
    );
    assert_eq!(line("fcntl64", &[1, 2, 3]), "fcntl64(1, F_SETFD, FD_CLOEXEC|0x2) = 0");
    assert_eq!(line("stat64", &[0, 0x10]), "stat64(NULL, 0x10) = 0");
    assert_eq!(line("futex", &[0x10, 1, 3]), "futex(0x10, FUTEX_WAKE, 3) = 0");
    assert_eq!(line("lseek", &[1, 0xffff_fffe, 1]), "lseek(1, -2, SEEK_CUR) = 0");
}

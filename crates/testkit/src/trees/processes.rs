//! A machine with processes: process 1, kernel threads, malicious names, several threads, a reused
//! process id, unreadable files.
//!
//! Formatted as by `fs/proc/array.c` and `fs/proc/base.c` of Linux 6.

use std::fmt::Write as _;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{counter, testdata};
use crate::fake::put;

/// Files of the machine as a whole.
const COMMON: &[&str] = &["/proc/stat", "/proc/loadavg", "/proc/meminfo", "/proc/uptime"];

/// A process.
struct Process {
    pid: u32,
    parent: u32,
    uid: u32,
    /// The kernel's `comm`: at most 15 bytes, any except zero.
    command: &'static [u8],
    state: char,
    /// Arguments, each terminated by a zero; empty for kernel threads.
    arguments: &'static [u8],
    /// Path of its executable; `None` for kernel threads, and without permission.
    executable: Option<&'static str>,
    cgroup: &'static str,
    /// Threads besides the first.
    threads: u32,
    /// Whether it has the file `io`.
    has_io: bool,
    /// Start time in clock ticks since boot.
    start: u64,
}

const PLAIN: Process = Process {
    pid: 0,
    parent: 1,
    uid: 0,
    command: b"",
    state: 'S',
    arguments: b"",
    executable: None,
    cgroup: "/",
    threads: 0,
    has_io: true,
    start: 0,
};

const PROCESSES: &[Process] = &[
    Process {
        pid: 1,
        parent: 0,
        command: b"systemd",
        arguments: b"/sbin/init\0splash\0",
        executable: Some("/usr/lib/systemd/systemd"),
        cgroup: "/init.scope",
        start: 3,
        ..PLAIN
    },
    Process { pid: 2, parent: 0, command: b"kthreadd", start: 3, ..PLAIN },
    Process { pid: 16, parent: 2, command: b"ksoftirqd/0", start: 4, ..PLAIN },
    // Breaks parsers that read the name up to the first `)`.
    Process {
        pid: 812,
        command: b"ev) R 1 x",
        arguments: b"./ev) R 1 x\0--a\nb\0\x1b]0;owned\x07\0",
        executable: Some("/tmp/ev) R 1 x"),
        cgroup: "/user.slice/user-1000.slice",
        uid: 1000,
        state: 'R',
        start: 812,
        ..PLAIN
    },
    // Clears a terminal, and starts a new line.
    Process {
        pid: 813,
        command: b"a\nb\x1b[2J\\n",
        arguments: b"a b\0\0c\0",
        cgroup: "/user.slice/a\\012b",
        uid: 1000,
        start: 813,
        ..PLAIN
    },
    // Not UTF-8, and a user without a name.
    Process {
        pid: 814,
        command: b"\xff\xc3(\x80 \xe2\x82\xac",
        arguments: b"\xff\xfe\0\x9b31m\0",
        cgroup: "/lost (deleted)",
        uid: 4_294_967_294,
        state: 'D',
        start: 814,
        ..PLAIN
    },
    Process {
        pid: 900,
        uid: 27,
        command: b"mysqld",
        arguments: b"/usr/sbin/mysqld\0--port=3306\0",
        executable: Some("/usr/sbin/mysqld"),
        cgroup: "/system.slice/mysql.service",
        threads: 2,
        start: 4_000,
        ..PLAIN
    },
    // Of another user: neither `io` nor the executable may be read.
    Process {
        pid: 1_200,
        uid: 1001,
        command: b"secretive",
        arguments: b"secretive\0",
        cgroup: "/user.slice/user-1001.slice",
        has_io: false,
        start: 5_000,
        ..PLAIN
    },
    // A zombie: it exited, but its parent does not wait for it.
    Process { pid: 1_250, parent: 900, command: b"defunct", state: 'Z', start: 6_000, ..PLAIN },
    // Its process id belongs to another process at the second step.
    Process {
        pid: 1_300,
        command: b"worker",
        arguments: b"worker\0",
        executable: Some("/usr/bin/worker"),
        start: 7_000,
        ..PLAIN
    },
];

pub(super) fn write(root: &Path, step: u64) -> io::Result<()> {
    for path in COMMON {
        let text = std::fs::read(testdata().join("vm2").join(&path[1..]))?;
        put(root, path, super::grow(&text, step, 0))?;
    }
    let users = "root:x:0:0:root:/root:/bin/sh\nmysql:x:27:27::/:/bin/false\n\
        joe:x:1000:1000::/home/joe:/bin/sh\n";
    put(root, "/etc/passwd", users)?;
    PROCESSES.iter().try_for_each(|process| write_process(root, process, step))
}

fn write_process(root: &Path, process: &Process, step: u64) -> io::Result<()> {
    // The new process counts from 0.
    let is_another = process.pid == 1_300 && step > 0;
    let step = if is_another { step - 1 } else { step };
    let start = process.start + if is_another { 90_000 } else { 0 };
    let folder = format!("/proc/{}", process.pid);
    put(root, &format!("{folder}/stat"), stat(process, process.pid, start, step))?;
    put(root, &format!("{folder}/status"), status(process, step))?;
    put(root, &format!("{folder}/cmdline"), process.arguments)?;
    put(root, &format!("{folder}/schedstat"), schedstat(process.pid, step))?;
    put(root, &format!("{folder}/cgroup"), format!("0::{}\n", process.cgroup))?;
    if process.has_io {
        put(root, &format!("{folder}/io"), io_text(process.pid, step))?;
    }
    let link = root.join(&folder[1..]).join("exe");
    if let Some(executable) = process.executable
        && std::fs::symlink_metadata(&link).is_err()
    {
        symlink(executable, link)?;
    }
    for tid in process.pid..=process.pid + process.threads {
        let task = format!("{folder}/task/{tid}");
        put(root, &format!("{task}/stat"), stat(process, tid, start, step))?;
        put(root, &format!("{task}/schedstat"), schedstat(tid, step))?;
        if process.has_io {
            put(root, &format!("{task}/io"), io_text(tid, step))?;
        }
    }
    Ok(())
}

/// The 52 fields of `stat`.
fn stat(process: &Process, tid: u32, start: u64, step: u64) -> Vec<u8> {
    let is_kernels = process.arguments.is_empty();
    let seed = u64::from(tid) * 10;
    let grown = |number: u64, limit: u64| {
        counter(seed + number, 0) % limit + step * ((u64::from(tid) + number) % 40 + 1)
    };
    // `PF_KTHREAD`, or what every program has.
    let flags = if is_kernels { 2_129_984 } else { 4_194_560 };
    let (size, pages) =
        if is_kernels { (0, 0) } else { (grown(5, 90_000) << 12, grown(5, 90_000) / 4) };
    let mut text = format!("{tid} (").into_bytes();
    text.extend_from_slice(process.command);
    let (state, parent, pid, threads) =
        (process.state, process.parent, process.pid, process.threads + 1);
    let (minor, major) = (grown(0, 1_000_000), grown(1, 1_000));
    let (user, system) = (grown(2, 9_000), grown(3, 5_000));
    let mut rest = format!(") {state} {parent} {pid} {pid} 0 -1 {flags} {minor} {step} {major} 0 ");
    let _ = write!(rest, "{user} {system} {} {step} 20 0 {threads} 0 {start} ", 3 * step);
    let _ = write!(rest, "{size} {pages} 18446744073709551615 {} {} 0 0 0 ", tid, tid + 1);
    let processor = tid % 2;
    let _ = writeln!(rest, "0 0 0 0 0 0 0 17 {processor} 0 0 {step} 0 0 0 0 0 0 0 0 0 0");
    text.extend_from_slice(rest.as_bytes());
    text
}

/// Time on a CPU, time on the run queue, timeslices.
fn schedstat(tid: u32, step: u64) -> String {
    let tid = u64::from(tid);
    let (run, delay, turns) = (tid * 900_000_000 + step * 800_000_000, tid * 1_000, tid + step);
    format!("{run} {} {turns}\n", delay + step)
}

/// `status`, in which the kernel escapes newlines and backslashes of the name.
fn status(process: &Process, step: u64) -> Vec<u8> {
    let mut text = b"Name:\t".to_vec();
    for &byte in process.command {
        match byte {
            b'\n' => text.extend_from_slice(b"\\n"),
            b'\\' => text.extend_from_slice(b"\\\\"),
            other => text.push(other),
        }
    }
    let (pid, uid, threads) = (process.pid, process.uid, process.threads + 1);
    let mut rest = format!("\nUmask:\t0022\nState:\t{} (of it)\n", process.state);
    let _ = write!(rest, "Tgid:\t{pid}\nNgid:\t0\nPid:\t{pid}\nPPid:\t{}\n", process.parent);
    let _ = write!(rest, "TracerPid:\t0\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nGid:\t0\t0\t0\t0\n");
    if !process.arguments.is_empty() {
        for (index, name) in
            ["VmPeak", "VmSize", "VmLck", "VmPin", "VmHWM", "VmRSS", "VmData", "VmStk", "VmExe"]
                .iter()
                .chain(&["VmLib", "VmPTE", "VmSwap"])
                .enumerate()
        {
            let kibibytes = counter(u64::from(pid) + index as u64, 0) % 100_000;
            let _ = writeln!(rest, "{name}:\t{kibibytes:>8} kB");
        }
    }
    let _ = write!(rest, "Threads:\t{threads}\nvoluntary_ctxt_switches:\t{}\n", 10 + 7 * step);
    let _ = writeln!(rest, "nonvoluntary_ctxt_switches:\t{}", 3 + step);
    text.extend_from_slice(rest.as_bytes());
    text
}

fn io_text(tid: u32, step: u64) -> String {
    let seed = u64::from(tid) * 100;
    let names = ["rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes"];
    let mut text = String::new();
    for (index, name) in names.iter().enumerate() {
        let _ = writeln!(text, "{name}: {}", counter(seed + index as u64, step));
    }
    let _ = writeln!(text, "cancelled_write_bytes: {}", 4096 * step);
    text
}

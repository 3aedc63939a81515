//! Reads processes from `/proc`: `stat` and `io` of each, `status` of new ones.
//!
//! Costs about 8 µs a process if descriptors are kept.  A process that the filter excludes costs a
//! directory entry, and a check every [`CHECK_READS`] readings.
//!
//! Values that only `status` or `schedstat` has are missing unless the options request them.  Both
//! files describe single threads: for a process that has had several, the exact CPU time, the run
//! delay and the context switches are always missing, since no file has those of exited threads.

use std::sync::{Arc, Mutex};

use procfs::Host;
use procfs::passwd::Users;
use procfs::pid::{Stat, Status, cgroup_path, parse_io, parse_schedstat, parse_stat, parse_status};
use sample::{RowMut, State, Table};

use crate::SourceContext;
use crate::instance::digits;

use super::facts::FactRequests;
use super::fields::*;
use super::files::{FILE_BYTES, Failure, Files, Handle};
use super::task_table::{NO_PROGRAM, NO_ROW, TaskTable};
use crate::process_counters::attributed::NANOSECONDS_A_TICK;
use crate::process_counters::inferred::{ProcessUsage, Used};
use crate::process_counters::{PassAccounting, PassTotals, ProcessMethodInUse};
use crate::process_options::{Choice, ProcessOptions};

/// Readings between two checks of an excluded process: its id may be reused, or it may have
/// executed another program.
const CHECK_READS: u64 = 32;

/// Readings in which a new process is checked although it was excluded: most execute another
/// program soon.
const YOUNG_READS: u64 = 2;

/// Readings after which the files of a process are kept open.
const STAYS_READS: u64 = 2;

/// Readings between two reads of a process's control group: it may change, but rarely does.
const GROUP_READS: u64 = 64;

/// Control groups read in one reading, about 5 µs each; the others wait for their next turn.
const GROUP_CHECKS_MAX: u32 = 256;

/// `PF_EXITING`: the process is exiting, and its exit event may already have been read.
const EXITING: u64 = 0x4;

const IO: [usize; 7] = [
    READ_CHARS,
    WRITE_CHARS,
    READ_CALLS,
    WRITE_CALLS,
    READ_BYTES,
    WRITE_BYTES,
    CANCELLED_WRITE_BYTES,
];

/// Columns that `stat` has for processes and threads, by the numbers of proc(5).
const STAT: [(usize, usize); 10] = [
    (MINOR_FAULTS, 10),
    (MAJOR_FAULTS, 12),
    (USER_TIME, 14),
    (SYSTEM_TIME, 15),
    (PRIORITY, 18),
    (NICE, 19),
    (START_TIME, 22),
    (PROCESSOR, 39),
    (REALTIME_PRIORITY, 40),
    (POLICY, 41),
];

/// Columns that `stat` has for processes.
const STAT_OF_PROCESS: [(usize, usize); 5] = [
    (CHILD_MINOR_FAULTS, 11),
    (CHILD_MAJOR_FAULTS, 13),
    (CHILD_USER_TIME, 16),
    (CHILD_SYSTEM_TIME, 17),
    (THREADS, 20),
];

/// A process's files between two readings.
#[derive(Default)]
struct HeldFiles {
    stat: Handle,
    io: Handle,
    status: Handle,
    schedstat: Handle,
    /// Whether it has had threads other than the first, as far as known.
    had_threads: bool,
    /// Readings since it was first seen.
    reads: u64,
}

/// Reads processes from `/proc`.
pub(super) struct Walk {
    files: Files,
    /// Why the iterator is not used; empty if it was not tried.
    reason: String,
    task_table: TaskTable,
    threads: TaskTable,
    fact_requests: FactRequests,
    held: Vec<HeldFiles>,
    pids: Vec<i32>,
    tids: Vec<i32>,
    /// Processes that the filter cannot decide without their command line.
    undecided: Vec<usize>,
    page_kib: u64,
    reads: u64,
    /// Processes with files that were denied in this reading.
    denied: u64,
    /// The latest reported state of the method.
    reported: Option<(Denied, bool)>,
    running: u64,
    thread_count: u64,
    /// Control groups that this reading may still read.
    group_checks: u32,
    /// Buffers for `stat`, and for another file.
    stat_text: Box<[u8]>,
    text: Box<[u8]>,
}

/// How many processes have files that may not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Denied {
    Nothing,
    Few,
    Most,
}

/// A path below `/proc`, built on the stack.
struct ProcPath {
    bytes: [u8; 64],
    len: usize,
}

impl ProcPath {
    fn new(parts: &[&[u8]]) -> Self {
        let mut path = ProcPath { bytes: [0; 64], len: 0 };
        for part in parts {
            let end = path.len + part.len();
            path.bytes[path.len..end].copy_from_slice(part);
            path.len = end;
        }
        path
    }

    fn of(pid: i32, name: &[u8]) -> Self {
        ProcPath::new(&[digits(pid.unsigned_abs().into(), &mut [0; 20]), name])
    }

    fn of_thread(pid: i32, tid: i32, name: &[u8]) -> Self {
        let (mut one, mut other) = ([0; 20], [0; 20]);
        let pid = digits(pid.unsigned_abs().into(), &mut one);
        ProcPath::new(&[pid, b"/task/", digits(tid.unsigned_abs().into(), &mut other), name])
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Walk {
    pub(super) fn new(files: Files, reason: String, users: Arc<Mutex<Users>>) -> Self {
        Walk {
            files,
            reason,
            task_table: TaskTable::default(),
            threads: TaskTable::default(),
            fact_requests: FactRequests::with_group_ids(users),
            held: Vec::new(),
            pids: Vec::new(),
            tids: Vec::new(),
            undecided: Vec::new(),
            page_kib: rustix::param::page_size() as u64 / 1024,
            reads: 0,
            denied: 0,
            reported: None,
            running: 0,
            thread_count: 0,
            group_checks: 0,
            stat_text: vec![0; FILE_BYTES].into(),
            text: vec![0; FILE_BYTES].into(),
        }
    }

    /// Takes one reading.
    pub(super) fn read(
        &mut self,
        host: &mut Host,
        context: &SourceContext,
        table: &mut Table,
    ) -> State {
        let (wanted, counters) = (&context.filter.process, &context.shared.processes);
        if let Err(state) = self.begin(host, wanted) {
            return state;
        }
        let mut accounting = counters.accounting();
        accounting.begin_pass();
        for index in 0..self.pids.len() {
            self.process(host, self.pids[index], wanted, &mut accounting, table);
        }
        accounting.end_pass(true);
        drop(accounting);
        self.task_table.end();
        self.threads.end();
        self.close_gone();
        self.fact_requests.settle(host, &mut self.task_table, counters, table);
        for index in 0..self.undecided.len() {
            self.decide_again(host, self.undecided[index], wanted, table);
        }
        self.files.end(host);
        if self.pids.is_empty() {
            return State::Absent;
        }
        counters.set_totals(Some(PassTotals {
            processes: self.pids.len() as u64,
            threads: self.thread_count,
            running: self.running,
        }));
        self.report_method(host, context);
        State::Ok
    }

    /// Begins a reading with the list of processes.
    fn begin(&mut self, host: &mut Host, options: &ProcessOptions) -> Result<(), State> {
        self.files.begin(host)?;
        self.denied = 0;
        self.running = 0;
        self.thread_count = 0;
        self.group_checks = if host.is_this_machine() { GROUP_CHECKS_MAX } else { 0 };
        self.undecided.clear();
        self.fact_requests.begin(host, options, &mut self.task_table);
        self.reads += 1;
        self.task_table.begin();
        self.threads.begin();
        if options.only_first && self.reads > 1 {
            self.pids.clear();
            self.pids.extend(self.task_table.pids_before());
            return Ok(());
        }
        self.files.numbers(host, b"", &mut self.pids)
    }

    /// Closes the files of processes that are gone.
    fn close_gone(&mut self) {
        for &slot in self.task_table.freed() {
            if let Some(held) = self.held.get_mut(slot as usize) {
                held.close(&mut self.files);
            }
        }
    }

    /// Reads a process.
    fn process(
        &mut self,
        host: &mut Host,
        pid: i32,
        options: &ProcessOptions,
        accounting: &mut PassAccounting<'_>,
        table: &mut Table,
    ) {
        let before = self.task_table.peek(key(pid, 0));
        let before = before.map(|(slot, known)| (slot, known.choice, known.threads));
        if let Some((slot, Choice::Leave, threads)) = before {
            let held = &mut self.held[slot];
            held.reads += 1;
            let is_due = (held.reads + slot as u64).is_multiple_of(CHECK_READS);
            if !is_due && held.reads > YOUNG_READS {
                self.thread_count = self.thread_count.saturating_add(threads);
                self.task_table.keep();
                return;
            }
        }
        let mut stat_text = std::mem::take(&mut self.stat_text);
        let slot = before.map(|(slot, ..)| slot);
        if let Some(stat) = self.stat(host, pid, slot, &mut stat_text)
            && let Some(start) = stat.field(22)
            && let Some(slot) = self.find_or_add(host, pid, start, &stat, options)
        {
            self.count(pid, start, &stat, accounting);
            match self.task_table.at(slot).choice {
                Choice::AskCommandLine => self.undecided.push(slot),
                _ => self.row(host, slot, &stat, options, table),
            }
        }
        self.stat_text = stat_text;
    }

    /// Reads `stat` of a process, which had that slot in the previous reading.
    fn stat<'a>(
        &mut self,
        host: &mut Host,
        pid: i32,
        slot: Option<usize>,
        text: &'a mut [u8],
    ) -> Option<Stat<'a>> {
        let mut none = HeldFiles::default();
        let held = slot.map_or(&mut none, |slot| &mut self.held[slot]);
        let keep = held.reads >= STAYS_READS;
        let path = ProcPath::of(pid, b"/stat");
        match self.files.read(host, path.bytes(), &mut held.stat, keep, text) {
            // A malformed text means that the process exited while it was read.
            Ok(text) => parse_stat(text),
            Err(failure) => {
                self.denied += u64::from(failure == Failure::Denied);
                None
            }
        }
    }

    /// Finds a process among those of the previous reading, or adds it; returns its slot, `None` if
    /// the filter excludes it.
    fn find_or_add(
        &mut self,
        host: &mut Host,
        pid: i32,
        start: u64,
        stat: &Stat<'_>,
        options: &ProcessOptions,
    ) -> Option<usize> {
        let key = key(pid, 0);
        if options.only_first && self.reads > 1 && !self.task_table.had(key, start) {
            return None;
        }
        let (slot, is_new) = self.task_table.find_or_add(key, pid, start);
        if slot >= self.held.len() {
            self.held.resize_with(slot + 1, HeldFiles::default);
        }
        let held = &mut self.held[slot];
        if is_new {
            held.close(&mut self.files);
            held.reads = 0;
            held.had_threads = false;
        }
        let known = self.task_table.at(slot);
        if is_new || known.choice != Choice::Leave {
            held.reads += 1;
        }
        known.row = NO_ROW;
        known.parent = stat.field(4).map_or(0, |parent| parent as i32);
        known.threads = stat.field(20).unwrap_or(1);
        held.had_threads |= known.threads != 1;
        self.thread_count = self.thread_count.saturating_add(known.threads);
        let program = program_of(stat);
        // A zombie has no program any more, but did not execute another one.
        let is_other = known.exec != program && (is_new || stat.state != b"Z");
        if is_other {
            if matches!(held.io, Handle::Denied) {
                held.io = Handle::Closed;
            }
            let path = ProcPath::of(pid, b"/status");
            let text = self.files.read(host, path.bytes(), &mut held.status, false, &mut self.text);
            let uid = text.ok().and_then(|text| parse_status(text).uid);
            known.begin_program(program, uid);
        }
        self.fact_requests.name_user(known);
        if is_other || known.choice == Choice::AskCommandLine {
            known.decide(options, stat.command);
        }
        if known.choice == Choice::Leave {
            held.close(&mut self.files);
            return None;
        }
        if self.group_checks > 0 && (held.reads + slot as u64).is_multiple_of(GROUP_READS) {
            self.group_checks -= 1;
            let path = ProcPath::of(pid, b"/cgroup");
            let mut none = Handle::Closed;
            let text = self.files.read(host, path.bytes(), &mut none, false, &mut self.text);
            if let Ok(text) = text
                && known.facts_are_known
                && known.facts.cgroup.as_deref() != cgroup_path(text)
            {
                known.facts_of = NO_PROGRAM;
            }
        }
        self.fact_requests.request(known, slot);
        Some(slot)
    }

    fn count(
        &mut self,
        pid: i32,
        start: u64,
        stat: &Stat<'_>,
        accounting: &mut PassAccounting<'_>,
    ) {
        self.running += u64::from(stat.state == b"R");
        let ends = stat.field(9).is_some_and(|flags| flags & EXITING != 0);
        if (accounting.counts(!ends) || stat.field(20).is_some_and(|threads| threads > 1))
            && let Some(cpu_ns) = cpu_ns(stat)
        {
            accounting.attributed.living(pid, start, cpu_ns);
        }
        if let Some(inference) = &mut accounting.inference {
            inference.saw(seen(pid, start, stat));
        }
    }

    /// Asks the filter again, after the command line may have been read.
    fn decide_again(
        &mut self,
        host: &mut Host,
        slot: usize,
        options: &ProcessOptions,
        table: &mut Table,
    ) {
        let known = self.task_table.at(slot);
        let (pid, start) = (known.pid, known.start);
        let mut stat_text = std::mem::take(&mut self.stat_text);
        if let Some(stat) = self.stat(host, pid, Some(slot), &mut stat_text)
            && stat.field(22) == Some(start)
        {
            let known = self.task_table.at(slot);
            known.decide(options, stat.command);
            if !matches!(known.choice, Choice::Leave | Choice::AskCommandLine) {
                self.row(host, slot, &stat, options, table);
            }
        }
        self.stat_text = stat_text;
    }

    /// Fills the row of a process, and those of its threads.
    fn row(
        &mut self,
        host: &mut Host,
        slot: usize,
        stat: &Stat<'_>,
        options: &ProcessOptions,
        table: &mut Table,
    ) {
        let known = self.task_table.at(slot);
        let (pid, choice) = (known.pid, known.choice);
        known.row = table.rows();
        let mut row = table.row(known.name());
        describe(&mut row, stat);
        row.set_signed(TGID, pid.into());
        row.set_signed(PARENT, known.parent.into());
        row.set_some(UID, known.uid.map(u64::from));
        for (field, number) in STAT_OF_PROCESS {
            row.set_some(field, stat.field(number));
        }
        row.set_some(VIRTUAL, stat.field(23).map(|bytes| bytes / 1024));
        let resident = stat.field(24).and_then(|pages| pages.checked_mul(self.page_kib));
        row.set_some(RESIDENT, resident);
        known.texts(&mut row);
        let keep = self.held[slot].reads > STAYS_READS;
        if !options.without_io {
            let path = ProcPath::of(pid, b"/io");
            let handle = &mut self.held[slot].io;
            match self.files.read(host, path.bytes(), handle, keep, &mut self.text) {
                Ok(text) => io(&mut row, text),
                Err(Failure::Denied) => {
                    self.files.close(handle);
                    *handle = Handle::Denied;
                    self.denied += 1;
                }
                Err(_) => {}
            }
        }
        if options.status || self.files.are_in_memory() {
            let path = ProcPath::of(pid, b"/status");
            let handle = &mut self.held[slot].status;
            if let Ok(text) = self.files.read(host, path.bytes(), handle, keep, &mut self.text) {
                let is_alone = stat.field(20) == Some(1) || options.first_thread_switches;
                status(&mut row, &parse_status(text), is_alone);
            }
        }
        if options.schedstat && !self.held[slot].had_threads {
            let path = ProcPath::of(pid, b"/schedstat");
            let held = &mut self.held[slot];
            let handle = &mut held.schedstat;
            if let Ok(text) = self.files.read(host, path.bytes(), handle, keep, &mut self.text) {
                held.had_threads = !times(&mut row, text, cpu_ns(stat));
            }
        }
        if choice.keeps_threads(options) && stat.field(20).is_none_or(|threads| threads > 1) {
            self.thread_rows(host, slot, options, table);
        }
    }

    /// Adds a row for each thread other than the first.
    fn thread_rows(
        &mut self,
        host: &mut Host,
        slot: usize,
        options: &ProcessOptions,
        table: &mut Table,
    ) {
        let leader = self.task_table.at(slot);
        let pid = leader.pid;
        let folder = ProcPath::of(pid, b"/task");
        if self.files.numbers(host, folder.bytes(), &mut self.tids).is_err() {
            return;
        }
        let mut none = Handle::Closed;
        for &tid in self.tids.iter().filter(|tid| **tid != pid) {
            let path = ProcPath::of_thread(pid, tid, b"/stat");
            let text = self.files.read(host, path.bytes(), &mut none, false, &mut self.text);
            let Ok(text) = text else { continue };
            let Some(stat) = parse_stat(text) else { continue };
            let Some(start) = stat.field(22) else { continue };
            let (slot, _) = self.threads.find_or_add(key(pid, tid), tid, start);
            let mut row = table.row(self.threads.at(slot).name());
            describe(&mut row, &stat);
            row.set_signed(TGID, pid.into());
            row.set_signed(PARENT, leader.parent.into());
            row.set_some(UID, leader.uid.map(u64::from));
            leader.texts(&mut row);
            if options.status || self.files.are_in_memory() {
                let path = ProcPath::of_thread(pid, tid, b"/status");
                let text = self.files.read(host, path.bytes(), &mut none, false, &mut self.text);
                if let Ok(text) = text {
                    switches(&mut row, &parse_status(text));
                }
            }
            if options.schedstat {
                let path = ProcPath::of_thread(pid, tid, b"/schedstat");
                let text = self.files.read(host, path.bytes(), &mut none, false, &mut self.text);
                if let Ok(text) = text {
                    times(&mut row, text, None);
                }
            }
            if options.without_io {
                continue;
            }
            let path = ProcPath::of_thread(pid, tid, b"/io");
            let text = self.files.read(host, path.bytes(), &mut none, false, &mut self.text);
            if let Ok(text) = text {
                io(&mut row, text);
            }
        }
    }

    /// Reports how processes are read and what is missing because of it, if that has changed.
    fn report_method(&mut self, host: &Host, context: &SourceContext) {
        let hidden = host.is_this_machine() && self.pids.first().is_none_or(|pid| *pid != 1);
        // Root of a container may lack permission for a few processes with more capabilities.
        let denied = match self.denied {
            0 => Denied::Nothing,
            few if few * 2 <= self.pids.len() as u64 => Denied::Few,
            _ => Denied::Most,
        };
        if self.reported == Some((denied, hidden)) {
            return;
        }
        self.reported = Some((denied, hidden));
        let restricted = denied == Denied::Most || hidden;
        let method =
            if restricted { ProcessMethodInUse::Unprivileged } else { ProcessMethodInUse::Proc };
        context.shared.processes.set_method(method);
        let mut reason = self.reason.clone();
        let mut add = |text: &str| {
            reason.push_str(if reason.is_empty() { "" } else { "; " });
            reason.push_str(text);
        };
        if hidden {
            add("processes of others are hidden (/proc is mounted with hidepid)");
        }
        match denied {
            Denied::Nothing => {}
            Denied::Few => add("I/O of a few processes may not be read"),
            Denied::Most => add("I/O of others may not be read (CAP_SYS_PTRACE is needed)"),
        }
        context.shared.processes.set_method_reason(reason);
    }
}

impl HeldFiles {
    fn close(&mut self, files: &mut Files) {
        files.close(&mut self.stat);
        files.close(&mut self.io);
        files.close(&mut self.status);
        files.close(&mut self.schedstat);
    }
}

/// The key of a task in a task table.
fn key(pid: i32, tid: i32) -> u64 {
    u64::from(pid.unsigned_abs()) << 32 | u64::from(tid.unsigned_abs())
}

/// A value that changes when a process executes another program: a hash of its name and of the
/// address of its code, which the kernel shows only with permission.
fn program_of(stat: &Stat<'_>) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let begin = stat.field(26).unwrap_or(0);
    let mix = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(ODD).rotate_left(29);
    // Never equal to `NO_PROGRAM`.
    stat.command.iter().fold(begin.wrapping_mul(ODD), mix) >> 1
}

/// The input of the inference about its children.
fn seen(pid: i32, start: u64, stat: &Stat<'_>) -> ProcessUsage {
    let count = |number: usize| stat.field(number).unwrap_or(0);
    let used = |user: usize, system: usize, minor: usize, major: usize| Used {
        user_ns: count(user).saturating_mul(NANOSECONDS_A_TICK),
        system_ns: count(system).saturating_mul(NANOSECONDS_A_TICK),
        minor_faults: count(minor),
        major_faults: count(major),
    };
    let mut command = [0; 16];
    command.iter_mut().zip(stat.command).for_each(|(to, &byte)| *to = byte);
    let parent = count(4) as i32;
    let (own, children) = (used(14, 15, 10, 12), used(16, 17, 11, 13));
    ProcessUsage { pid, parent, start, command, own, children, owed: Used::default() }
}

/// CPU time of all threads, including exited ones, rounded down.
fn cpu_ns(stat: &Stat<'_>) -> Option<u64> {
    Some(stat.field(14)?.saturating_add(stat.field(15)?).saturating_mul(NANOSECONDS_A_TICK))
}

/// Sets the times of a process's first thread, and returns true.  Returns false if they are less
/// than the process has used: then other threads have used the rest.
fn times(row: &mut RowMut<'_>, schedstat: &[u8], least_ns: Option<u64>) -> bool {
    let Some((run_ns, delay_ns)) = parse_schedstat(schedstat) else { return true };
    if least_ns.is_some_and(|least_ns| run_ns < least_ns) {
        return false;
    }
    row.set(RUN_TIME, run_ns);
    row.set(RUN_DELAY, delay_ns);
    true
}

fn describe(row: &mut RowMut<'_>, stat: &Stat<'_>) {
    row.set_text(COMMAND, stat.command);
    row.set_text(STATE, stat.state);
    for (field, number) in STAT {
        row.set_some(field, stat.field(number));
    }
}

fn io(row: &mut RowMut<'_>, text: &[u8]) {
    for (field, value) in IO.iter().zip(parse_io(text)) {
        row.set_some(*field, value);
    }
}

fn status(row: &mut RowMut<'_>, status: &Status, is_alone: bool) {
    for (field, value) in [
        (VIRTUAL, status.virtual_kib),
        (RESIDENT, status.resident_kib),
        (LOCKED, status.locked_kib),
        (PEAK_RESIDENT, status.peak_resident_kib),
        (DATA, status.data_kib),
        (STACK, status.stack_kib),
        (CODE, status.code_kib),
        (LIBRARIES, status.libraries_kib),
        (SWAP, status.swap_kib),
    ] {
        row.set_some(field, value);
    }
    // They are those of the first thread; no file has the sum.
    if is_alone {
        switches(row, status);
    }
}

/// Sets the context switches of one task.
fn switches(row: &mut RowMut<'_>, status: &Status) {
    row.set_some(VOLUNTARY_SWITCHES, status.voluntary_switches);
    row.set_some(INVOLUNTARY_SWITCHES, status.involuntary_switches);
}

//! Reads all tasks in one pass of a BPF iterator.
//!
//! A row is filled when its record is read.  Only the row of a process with several threads is
//! completed at the end of the pass, since its counters are sums over the threads, which may have
//! lower ids than the process.
//!
//! The kernel returns at most 32 KiB per read.  A thread may exit between two reads, after the
//! record of its process (which does not include it yet) and before its own.  The sums of such a
//! process would decrease; they keep their values until the next reading.

use std::sync::{Arc, Mutex};

use bpf::{CpuTime, TaskIterator, TaskRecord, ThreadGroup, adjusted};
use procfs::Host;
use procfs::passwd::Users;
use sample::{RowMut, State, Table};

use crate::SourceContext;

use super::facts::FactRequests;
use super::fields::*;
use super::task_table::{KnownTask, NO_PROGRAM, NO_ROW, SUMS, TaskTable};
use crate::process_counters::attributed::{NANOSECONDS_A_TICK, start_ticks};
use crate::process_counters::inferred::{ProcessUsage, Used};
use crate::process_counters::{PassAccounting, PassTotals};
use crate::process_options::{Choice, ProcessOptions};

/// `PF_EXITING`: this thread is exiting, and its exit event may already have been read.
const EXITING: u32 = 0x4;

/// `PF_KTHREAD` of the kernel's `sched.h`.
const KERNEL_THREAD: u32 = 0x0020_0000;

/// The columns of [`Sums::counts`], in that order.
const COUNTS: [usize; SUMS] = [
    RUN_TIME,
    RUN_DELAY,
    MINOR_FAULTS,
    MAJOR_FAULTS,
    VOLUNTARY_SWITCHES,
    INVOLUNTARY_SWITCHES,
    READ_CHARS,
    WRITE_CHARS,
    READ_CALLS,
    WRITE_CALLS,
    READ_BYTES,
    WRITE_BYTES,
    CANCELLED_WRITE_BYTES,
];

/// Columns of [`COUNTS`] before those of I/O.
const COUNTS_BEFORE_IO: usize = 6;

/// Indexes in [`COUNTS`] of [`RUN_TIME`], [`RUN_DELAY`] and the faults.
const RUN: usize = 0;
const DELAY: usize = 1;
const MINOR: usize = 2;
const MAJOR: usize = 3;

/// Usage of a task, or of several.
#[derive(Clone, Copy)]
struct Sums {
    sampled: CpuTime,
    counts: [u64; SUMS],
}

impl Sums {
    fn of_task(task: &TaskRecord) -> Self {
        Sums {
            sampled: CpuTime { user_ns: task.user_ns, system_ns: task.system_ns },
            counts: [
                task.run_ns,
                task.run_delay_ns,
                task.minor_faults,
                task.major_faults,
                task.voluntary_switches,
                task.involuntary_switches,
                task.read_chars,
                task.write_chars,
                task.read_calls,
                task.write_calls,
                task.read_bytes,
                task.write_bytes,
                task.cancelled_write_bytes,
            ],
        }
    }

    /// The usage of exited threads, which the kernel keeps, except their run delay.
    fn of_ended(group: &ThreadGroup) -> Self {
        Sums {
            sampled: CpuTime { user_ns: group.user_ns, system_ns: group.system_ns },
            counts: [
                group.run_ns,
                0,
                group.minor_faults,
                group.major_faults,
                group.voluntary_switches,
                group.involuntary_switches,
                group.read_chars,
                group.write_chars,
                group.read_calls,
                group.write_calls,
                group.read_bytes,
                group.write_bytes,
                group.cancelled_write_bytes,
            ],
        }
    }

    fn add(&mut self, other: &Sums) {
        self.sampled.user_ns = self.sampled.user_ns.wrapping_add(other.sampled.user_ns);
        self.sampled.system_ns = self.sampled.system_ns.wrapping_add(other.sampled.system_ns);
        for (sum, more) in self.counts.iter_mut().zip(other.counts) {
            // A run delay that the kernel does not count has all bits set.
            *sum = if more == u64::MAX { more } else { sum.wrapping_add(more) };
        }
    }
}

/// A process of several threads, until all their records are read.
struct Shared {
    tgid: i32,
    start: u64,
    slot: Option<usize>,
    sums: Sums,
    kernel: CpuTime,
    /// Whether any thread is not exiting.
    lives: bool,
    seen: ProcessUsage,
}

/// Reads by the iterator.
pub(super) struct Iterator {
    tasks: TaskIterator,
    pass: Pass,
}

/// State of the pass, and state that is kept from pass to pass.
#[derive(Default)]
struct Pass {
    task_table: TaskTable,
    fact_requests: FactRequests,
    shared: Vec<Shared>,
    /// Threads whose records came before that of their process: ids wrap around, so a process may have a
    /// higher id than its threads.
    early: Vec<(i32, Sums, bool)>,
    /// Threads, with their slots, that get rows at the end of the pass if their process is kept then.
    waiting: Vec<(TaskRecord, usize)>,
    /// Processes that the filter cannot decide without their command line.
    undecided: Vec<(TaskRecord, ThreadGroup, usize)>,
    totals: PassTotals,
    first: bool,
    page_kib: u64,
}

impl Iterator {
    pub(super) fn new(tasks: TaskIterator, users: Arc<Mutex<Users>>) -> Self {
        let page_kib = rustix::param::page_size() as u64 / 1024;
        Iterator {
            tasks,
            pass: Pass { page_kib, fact_requests: FactRequests::new(users), ..Pass::default() },
        }
    }

    /// Takes one reading.
    pub(super) fn read(
        &mut self,
        host: &mut Host,
        context: &SourceContext,
        table: &mut Table,
    ) -> State {
        let Iterator { tasks, pass } = self;
        let (wanted, counters) = (&context.filter.process, &context.shared.processes);
        pass.begin(host, wanted);
        let mut accounting = counters.accounting();
        accounting.begin_pass();
        let done = tasks.pass(|task, group| match group {
            Some(group) => pass.process(task, group, wanted, &mut accounting, table),
            None => pass.thread(task, wanted, table),
        });
        pass.add_up(&mut accounting);
        accounting.end_pass(done.is_ok());
        // Release the locks while waiting for answers.
        drop(accounting);
        pass.fact_requests.settle(host, &mut pass.task_table, counters, table);
        pass.end(wanted, table);
        counters.set_totals(Some(pass.totals));
        match done {
            Ok(calls) => {
                host.add_calls(calls);
                State::Ok
            }
            Err(bpf::Error::Read(error)) => State::Failed(error.raw_os_error().unwrap_or(0)),
            Err(_) => State::Failed(0),
        }
    }
}

impl Pass {
    fn begin(&mut self, host: &mut Host, options: &ProcessOptions) {
        self.first = self.task_table.is_new();
        self.fact_requests.begin(host, options, &mut self.task_table);
        self.task_table.begin();
        self.shared.clear();
        self.early.clear();
        self.waiting.clear();
        self.undecided.clear();
        self.totals = PassTotals::default();
    }

    /// Takes the record of a process, that is, of its first thread.
    fn process(
        &mut self,
        task: &TaskRecord,
        group: &ThreadGroup,
        options: &ProcessOptions,
        accounting: &mut PassAccounting<'_>,
        table: &mut Table,
    ) {
        self.count(task);
        self.totals.processes += 1;
        let start = start_ticks(task.start_boottime_ns);
        let lives = accounting.counts(task.flags & EXITING == 0);
        if group.threads == 1 && lives {
            accounting.attributed.living(task.pid, start, task.run_ns + group.run_ns);
        }
        let seen = seen(task, group, start);
        if group.threads == 1
            && let Some(inference) = &mut accounting.inference
        {
            let mut sums = Sums::of_task(task);
            sums.add(&Sums::of_ended(group));
            inference.saw(ProcessUsage { own: used(&sums, shown_by_kernel(group)), ..seen });
        }
        let slot = self.choose(task, group, start, options);
        if let Some(slot) = slot {
            match self.task_table.at(slot).choice {
                Choice::AskCommandLine => self.undecided.push((*task, *group, slot)),
                _ => self.row(task, group, slot, options, table),
            }
        }
        if group.threads != 1 {
            let mut sums = Sums::of_task(task);
            sums.add(&Sums::of_ended(group));
            let kernel = shown_by_kernel(group);
            self.shared.push(Shared { tgid: task.tgid, start, slot, sums, kernel, lives, seen });
        }
    }

    fn count(&mut self, task: &TaskRecord) {
        self.totals.threads += 1;
        self.totals.running += u64::from(task.state | task.exit_state == 0);
    }

    /// The slot of a process; `None` if the filter excludes it.
    #[inline]
    fn choose(
        &mut self,
        task: &TaskRecord,
        group: &ThreadGroup,
        start: u64,
        options: &ProcessOptions,
    ) -> Option<usize> {
        let key = key(task.pid);
        if options.only_first && !self.first && !self.task_table.had(key, start) {
            return None;
        }
        let (slot, _) = self.task_table.find_or_add(key, task.pid, start);
        let known = self.task_table.at(slot);
        known.row = NO_ROW;
        known.parent = group.parent;
        let is_new = known.exec != group.exec_id || known.uid != Some(group.uid);
        if is_new {
            known.begin_program(group.exec_id, Some(group.uid));
        }
        if known.cgroup != group.cgroup {
            known.cgroup = group.cgroup;
            known.facts_of = NO_PROGRAM;
        }
        self.fact_requests.name_user(known);
        if is_new || known.choice == Choice::AskCommandLine {
            known.decide(options, until_zero(&task.command));
        }
        if known.choice == Choice::Leave {
            return None;
        }
        self.fact_requests.request(known, slot);
        Some(slot)
    }

    /// Fills the row of a process, except the sums over several threads.
    #[inline]
    fn row(
        &mut self,
        task: &TaskRecord,
        group: &ThreadGroup,
        slot: usize,
        options: &ProcessOptions,
        table: &mut Table,
    ) {
        let known = self.task_table.at(slot);
        known.row = table.rows();
        let mut row = table.row(known.name());
        describe(&mut row, task);
        describe_group(&mut row, task, group, self.page_kib);
        known.texts(&mut row);
        if group.threads == 1 {
            let mut sums = Sums::of_task(task);
            sums.add(&Sums::of_ended(group));
            usage(&mut row, known, &sums, shown_by_kernel(group), options);
        }
    }

    /// Takes the record of a thread other than the first.
    fn thread(&mut self, task: &TaskRecord, options: &ProcessOptions, table: &mut Table) {
        self.count(task);
        let sums = Sums::of_task(task);
        let lives = task.flags & EXITING == 0;
        if let Some(shared) = find(&mut self.shared, task.tgid) {
            shared.sums.add(&sums);
            shared.lives |= lives;
        } else if task.tgid > task.pid {
            self.early.push((task.tgid, sums, lives));
        }
        if !options.threads && options.choose.is_none() {
            return;
        }
        let leader = self.task_table.find(key(task.tgid));
        let choice = leader.map(|slot| self.task_table.at(slot).choice);
        match choice {
            None if task.tgid > task.pid => {}
            Some(Choice::AskCommandLine) => {}
            Some(choice) if choice.keeps_threads(options) => {}
            _ => return,
        }
        let start = start_ticks(task.start_boottime_ns);
        let (slot, _) = self.task_table.find_or_add(key(task.pid), task.pid, start);
        let known = self.task_table.at(slot);
        // A thread's id is never also that of a process.
        known.choice = Choice::Leave;
        known.row = NO_ROW;
        match (leader, choice) {
            (Some(leader), Some(choice)) if choice != Choice::AskCommandLine => {
                self.thread_row(task, slot, leader, options, table);
            }
            _ => self.waiting.push((*task, slot)),
        }
    }

    /// Fills the row of a thread other than the first, whose process has the slot `leader`.
    fn thread_row(
        &mut self,
        task: &TaskRecord,
        slot: usize,
        leader: usize,
        options: &ProcessOptions,
        table: &mut Table,
    ) {
        let known = self.task_table.at(slot);
        known.row = table.rows();
        let mut row = table.row(known.name());
        describe(&mut row, task);
        let kernel = CpuTime { user_ns: task.previous_user_ns, system_ns: task.previous_system_ns };
        usage(&mut row, known, &Sums::of_task(task), kernel, options);
        let leader = self.task_table.at(leader);
        row.set_signed(PARENT, leader.parent.into());
        row.set_some(UID, leader.uid.map(u64::from));
        row.set(CGROUP_ID, leader.cgroup);
        leader.texts(&mut row);
    }

    /// Sums up processes of several threads, at the end of the pass.
    fn add_up(&mut self, accounting: &mut PassAccounting<'_>) {
        self.task_table.end();
        for (tgid, sums, lives) in self.early.drain(..) {
            if let Some(shared) = find(&mut self.shared, tgid) {
                shared.sums.add(&sums);
                shared.lives |= lives;
            }
        }
        for shared in &self.shared {
            if accounting.counts(shared.lives) {
                accounting.attributed.living(shared.tgid, shared.start, shared.sums.counts[RUN]);
            }
        }
        if let Some(inference) = &mut accounting.inference {
            for shared in &self.shared {
                let own = used(&shared.sums, shared.kernel);
                inference.saw(ProcessUsage { own, ..shared.seen });
            }
        }
    }

    /// Decides about the undecided processes, gives threads rows that waited for their process, and fills in
    /// the sums.
    fn end(&mut self, options: &ProcessOptions, table: &mut Table) {
        for index in 0..self.undecided.len() {
            let (task, group, slot) = self.undecided[index];
            let known = self.task_table.at(slot);
            known.decide(options, until_zero(&task.command));
            if !matches!(known.choice, Choice::Leave | Choice::AskCommandLine) {
                self.row(&task, &group, slot, options, table);
            }
        }
        for index in 0..self.waiting.len() {
            let (task, slot) = self.waiting[index];
            let Some(leader) = self.task_table.find(key(task.tgid)) else { continue };
            if self.task_table.at(leader).choice.keeps_threads(options) {
                self.thread_row(&task, slot, leader, options, table);
            }
        }
        for shared in &mut self.shared {
            let Some(slot) = shared.slot else { continue };
            let known = self.task_table.at(slot);
            if known.row == NO_ROW {
                continue;
            }
            for (sum, before) in shared.sums.counts.iter_mut().zip(known.sums) {
                *sum = (*sum).max(before);
            }
            known.sums = shared.sums.counts;
            let mut row = table.row_mut(known.row);
            usage(&mut row, known, &shared.sums, shared.kernel, options);
        }
    }
}

fn shown_by_kernel(group: &ThreadGroup) -> CpuTime {
    CpuTime { user_ns: group.previous_user_ns, system_ns: group.previous_system_ns }
}

/// The input of the inference, without the usage of the process itself.
fn seen(task: &TaskRecord, group: &ThreadGroup, start: u64) -> ProcessUsage {
    let children = Used {
        user_ns: group.child_user_ns,
        system_ns: group.child_system_ns,
        minor_faults: group.child_minor_faults,
        major_faults: group.child_major_faults,
    };
    let (pid, parent, command) = (task.pid, group.parent, task.command);
    ProcessUsage { pid, parent, start, command, children, ..ProcessUsage::default() }
}

/// The usage that the kernel would charge to the parent if the process exited now.
fn used(sums: &Sums, kernel: CpuTime) -> Used {
    let time = adjusted(sums.sampled, sums.counts[RUN], kernel);
    Used {
        user_ns: time.user_ns,
        system_ns: time.system_ns,
        minor_faults: sums.counts[MINOR],
        major_faults: sums.counts[MAJOR],
    }
}

/// The key of a task in the task table.
#[inline]
fn key(pid: i32) -> u64 {
    u64::from(pid.unsigned_abs())
}

/// Finds a process among those of several threads, which are sorted by id.
fn find(shared: &mut [Shared], tgid: i32) -> Option<&mut Shared> {
    let index = shared.binary_search_by_key(&tgid, |shared| shared.tgid).ok()?;
    Some(&mut shared[index])
}

/// The kernel's `comm`, up to the terminating zero.
pub(super) fn until_zero(command: &[u8; 16]) -> &[u8] {
    let end = command.iter().position(|&byte| byte == 0).unwrap_or(command.len());
    &command[..end]
}

/// Sets the columns of a single task, thread or process.
#[inline]
fn describe(row: &mut RowMut<'_>, task: &TaskRecord) {
    row.set_text(COMMAND, until_zero(&task.command));
    row.set_text(STATE, state(task));
    row.set_signed(TGID, task.tgid.into());
    row.set_signed(PRIORITY, i64::from(task.priority) - 100);
    row.set_signed(NICE, i64::from(task.static_priority) - 120);
    row.set(REALTIME_PRIORITY, task.realtime_priority.into());
    row.set(POLICY, task.policy.into());
    row.set(PROCESSOR, task.processor.into());
    row.set(START_TIME, start_ticks(task.start_boottime_ns));
}

/// Sets the columns that all threads share.
#[inline]
fn describe_group(row: &mut RowMut<'_>, task: &TaskRecord, group: &ThreadGroup, page_kib: u64) {
    row.set_signed(PARENT, group.parent.into());
    row.set(UID, group.uid.into());
    row.set(CGROUP_ID, group.cgroup);
    row.set_signed(THREADS, group.threads.into());
    row.set(CHILD_USER_TIME, group.child_user_ns / NANOSECONDS_A_TICK);
    row.set(CHILD_SYSTEM_TIME, group.child_system_ns / NANOSECONDS_A_TICK);
    row.set(CHILD_MINOR_FAULTS, group.child_minor_faults);
    row.set(CHILD_MAJOR_FAULTS, group.child_major_faults);
    // A kernel thread may borrow the address space of a process.
    if group.has_memory == 0 || task.flags & KERNEL_THREAD != 0 {
        row.set(VIRTUAL, 0);
        row.set(RESIDENT, 0);
        return;
    }
    memory(row, group, page_kib);
}

/// Sets sizes, computed as `/proc` does (fs/proc/task_mmu.c).
#[inline]
fn memory(row: &mut RowMut<'_>, group: &ThreadGroup, page_kib: u64) {
    // Per-CPU counts are merged late, so a small sum may be negative.
    let pages = |count: i64| u64::try_from(count).unwrap_or(0);
    let resident =
        pages(group.file_pages) + pages(group.anonymous_pages) + pages(group.shared_pages);
    row.set(VIRTUAL, group.total_pages * page_kib);
    row.set(RESIDENT, resident * page_kib);
    row.set(LOCKED, group.locked_pages * page_kib);
    row.set(DATA, group.data_pages * page_kib);
    row.set(STACK, group.stack_pages * page_kib);
    let page_bytes = page_kib * 1024;
    let end = group.code_end.saturating_add(page_bytes - 1) & !(page_bytes - 1);
    let code = end.saturating_sub(group.code_start & !(page_bytes - 1));
    let executable = group.executable_pages * page_kib;
    let code = (code / 1024).min(executable);
    row.set(CODE, code);
    row.set(LIBRARIES, executable - code);
    row.set(SWAP, pages(group.swap_pages) * page_kib);
    row.set(PEAK_RESIDENT, group.peak_resident_pages.max(resident) * page_kib);
}

/// Sets the usage.
#[inline]
fn usage(
    row: &mut RowMut<'_>,
    known: &mut KnownTask,
    sums: &Sums,
    kernel: CpuTime,
    options: &ProcessOptions,
) {
    let run_ns = sums.counts[RUN];
    // Most tasks have slept since the previous reading: their times are unchanged.
    if run_ns != known.run_ns || known.run_ns == 0 {
        // As the kernel would show it now, and never less than shown before.
        let time = adjusted(sums.sampled, run_ns, kernel);
        known.shown = adjusted(time, run_ns, known.shown);
        known.run_ns = run_ns;
    }
    row.set(USER_TIME, known.shown.user_ns / NANOSECONDS_A_TICK);
    row.set(SYSTEM_TIME, known.shown.system_ns / NANOSECONDS_A_TICK);
    let wanted = if options.without_io { COUNTS_BEFORE_IO } else { SUMS };
    for (index, (&field, &count)) in COUNTS.iter().zip(&sums.counts).enumerate().take(wanted) {
        if index != DELAY || count != u64::MAX {
            row.set(field, count);
        }
    }
}

/// The letter that `/proc` shows (fs/proc/array.c and `task_state_index` of `sched.h`).
fn state(task: &TaskRecord) -> &'static [u8] {
    const UNINTERRUPTIBLE: u32 = 0x2;
    const REPORTED: u32 = 0x7f;
    const NO_LOAD: u32 = 0x400;
    const WAITS_FOR_LOCK: u32 = 0x1000;
    const FROZEN: u32 = 0x8000;
    const IDLE: u32 = UNINTERRUPTIBLE | NO_LOAD;
    if task.state & (WAITS_FOR_LOCK | FROZEN) != 0 {
        return b"D";
    }
    if task.state & IDLE == IDLE {
        return b"I";
    }
    let highest = ((task.state | task.exit_state) & REPORTED).checked_ilog2();
    match highest {
        None => b"R",
        Some(0) => b"S",
        Some(1) => b"D",
        Some(2) => b"T",
        Some(3) => b"t",
        Some(4) => b"X",
        Some(5) => b"Z",
        Some(_) => b"P",
    }
}

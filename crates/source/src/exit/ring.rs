//! Exit events from the BPF ring buffer, kept until the next tick.
//!
//! Costs less than a microsecond per exit.  No system calls, except two to read the number of lost
//! events after more events than fit into half of the ring buffer.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Range;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use bpf::{CpuTime, ExitEvent, LostEvents, ProcessEvent, ProcessEvents, adjusted};
use procfs::Host;
use sample::{RowMut, Table};

use super::lines::{Key, Lines};
use super::{ENDS_MAX, Names, set_code, until_zero};
use crate::instance::RowName;
use crate::process_counters::attributed::{AttributedCpuTime, KeyHasher};
use crate::{SourceContext, Wakeup, start_ticks};

/// How long a row waits for its final CPU time.  The kernel frees a process about 20 ms after its
/// parent has waited for it; a process without a waiting parent is shown with its usage at exit.
pub(super) const SETTLE_NS: u64 = 100_000_000;

/// The most exits without final CPU time.  Beyond it those already shown are dropped, and their
/// last CPU time stays unattributed.
const UNSETTLED_MAX: usize = 2 * ENDS_MAX;

/// If one drain reads at least this many events, some may have been lost: the ring buffer of 1 MiB
/// holds at least 3,400.
const EVENTS_LOST_MIN: u64 = 3_000;

/// Marks an exit whose row was already shown.
const SHOWN: u32 = u32::MAX;

/// The ring buffer, and the events read since the previous tick.
pub(super) struct Ring {
    lives: ProcessEvents,
    waiting: Waiting,
    lost: LostEvents,
    /// The programs' CPU time that was reported.
    run_ns: u64,
}

/// Exits that wait for the next tick.
struct Waiting {
    context: Arc<SourceContext>,
    ends: Vec<End>,
    /// The command lines of these processes, concatenated.
    texts: Vec<u8>,
    /// Working memory for those that keep waiting.
    spare: Vec<u8>,
    lines: Lines,
    unsettled: HashMap<Key, Unsettled, BuildHasherDefault<KeyHasher>>,
    /// Exits beyond [`ENDS_MAX`].
    refused: u64,
    /// Whether the next reading is the last.
    is_last: bool,
}

struct End {
    exit: ExitEvent,
    line: Range<u32>,
    settled: bool,
}

/// A process that exited, whose CPU time is not final.
struct Unsettled {
    counted_ns: u64,
    /// The index among the exits, or [`SHOWN`].
    index: u32,
}

impl Ring {
    pub(super) fn open(context: &Arc<SourceContext>) -> Result<Self, bpf::Error> {
        let waiting = Waiting {
            context: context.clone(),
            ends: Vec::new(),
            texts: Vec::new(),
            spare: Vec::new(),
            lines: Lines::default(),
            unsettled: HashMap::default(),
            refused: 0,
            is_last: false,
        };
        let lives = context.shared.kernel.load(ProcessEvents::open)?;
        if let Some(recorder) = &context.shared.recorder {
            recorder.bpf_sources.add(1);
        }
        Ok(Ring { lives, waiting, lost: LostEvents::default(), run_ns: 0 })
    }

    pub(super) fn wakeup(&self) -> Wakeup<'_> {
        Wakeup::Descriptor(self.lives.as_fd())
    }

    /// Reads all events from the ring buffer.
    pub(super) fn drain(&mut self) {
        let Ring { lives, waiting, lost, .. } = self;
        let mut events = 0;
        let context = waiting.context.clone();
        let counters = &context.shared.processes;
        let mut attributed = counters.attributed();
        lives.drain(|life| {
            events += 1;
            match life {
                ProcessEvent::Exec(exec, arguments) => {
                    counters.execs.add(1);
                    let key = (exec.pid.cast_unsigned(), exec.start_boottime_ns);
                    waiting.lines.put(key, arguments);
                }
                ProcessEvent::Exit(exit) => waiting.ended(exit, &mut attributed),
                ProcessEvent::Free(settled) => {
                    let key = (settled.pid.cast_unsigned(), settled.start_boottime_ns);
                    waiting.settled(key, settled.run_ns, &mut attributed);
                }
            }
        });
        if events >= EVENTS_LOST_MIN {
            *lost = lives.lost().unwrap_or(*lost);
        }
        counters.exits_lost.set(lost.exits + waiting.refused);
        counters.execs_lost.set(lost.execs + waiting.lines.dropped());
    }

    /// Makes the next reading show every exit, with final CPU time or not; returns whether there
    /// are any.
    pub(super) fn finish(&mut self) -> bool {
        self.drain();
        self.waiting.is_last = true;
        !self.waiting.ends.is_empty()
    }

    /// Adds a row for each exit that was not shown yet.
    pub(super) fn rows(&mut self, host: &Host, names: &mut Names, table: &mut Table) {
        self.drain();
        if let Some(recorder) = &self.waiting.context.shared.recorder {
            let run_ns = self.lives.run_time().ns;
            recorder.bpf_ns.add(run_ns.saturating_sub(self.run_ns));
            self.run_ns = run_ns;
        }
        self.waiting.rows(host, names, table);
    }
}

impl Waiting {
    fn ended(&mut self, exit: &ExitEvent, attributed: &mut AttributedCpuTime) {
        let key = (exit.pid.cast_unsigned(), exit.start_boottime_ns);
        let counted_ns =
            attributed.ended(exit.pid, start_ticks(exit.start_boottime_ns), exit.run_ns);
        let line = self.lines.remove(key).unwrap_or_default();
        let index = if self.ends.len() < ENDS_MAX {
            let start = self.texts.len() as u32;
            self.texts.extend_from_slice(line);
            let line = start..self.texts.len() as u32;
            self.ends.push(End { exit: *exit, line, settled: false });
            self.ends.len() as u32 - 1
        } else {
            self.refused += 1;
            SHOWN
        };
        if self.unsettled.len() >= UNSETTLED_MAX {
            self.unsettled.retain(|_, unsettled| unsettled.index != SHOWN);
        }
        if self.unsettled.len() < UNSETTLED_MAX {
            self.unsettled.insert(key, Unsettled { counted_ns, index });
        }
    }

    /// The kernel has freed the process; `run_ns` is its final CPU time.
    fn settled(&mut self, key: Key, run_ns: u64, attributed: &mut AttributedCpuTime) {
        let Some(unsettled) = self.unsettled.remove(&key) else { return };
        attributed.used_at_its_end(run_ns.saturating_sub(unsettled.counted_ns));
        if let Some(end) = self.ends.get_mut(unsettled.index as usize) {
            end.exit.run_ns = end.exit.run_ns.max(run_ns);
            end.settled = true;
        }
    }

    fn rows(&mut self, host: &Host, names: &mut Names, table: &mut Table) {
        let now_ns = host.now_ns();
        let mut kept = 0;
        self.spare.clear();
        for index in 0..self.ends.len() {
            let end = &self.ends[index];
            let key = (end.exit.pid.cast_unsigned(), end.exit.start_boottime_ns);
            let line = &self.texts[end.line.start as usize..end.line.end as usize];
            let settles = !end.settled && !self.is_last;
            if settles && now_ns < end.exit.time_ns.saturating_add(SETTLE_NS) {
                let start = self.spare.len() as u32;
                self.spare.extend_from_slice(line);
                let line = start..self.spare.len() as u32;
                let end = End { exit: end.exit, line, settled: false };
                if let Some(unsettled) = self.unsettled.get_mut(&key) {
                    unsettled.index = kept;
                }
                self.ends[kept as usize] = end;
                kept += 1;
                continue;
            }
            let mut row = table.row(
                RowName::of_task(end.exit.pid, start_ticks(end.exit.start_boottime_ns)).bytes(),
            );
            set_line(&mut row, line);
            set_facts(host, names, &mut row, &end.exit);
            set_account(&mut row, &end.exit);
            if !end.settled
                && let Some(unsettled) = self.unsettled.get_mut(&key)
            {
                unsettled.index = SHOWN;
            }
        }
        self.context.shared.processes.exits.add((self.ends.len() - kept as usize) as u64);
        self.ends.truncate(kept as usize);
        std::mem::swap(&mut self.texts, &mut self.spare);
    }
}

/// Sets the command line, whose arguments are terminated by zeros.
fn set_line(row: &mut RowMut<'_>, line: &[u8]) {
    let mut shown = [0; 256];
    let line = line.strip_suffix(b"\0").unwrap_or(line);
    let length = line.len().min(shown.len());
    for (to, &byte) in shown.iter_mut().zip(line) {
        *to = if byte == 0 { b' ' } else { byte };
    }
    if length > 0 {
        row.set_text(super::COMMAND_LINE, &shown[..length]);
    }
}

/// Sets the identity of the process.
fn set_facts(host: &Host, names: &mut Names, row: &mut RowMut<'_>, exit: &ExitEvent) {
    row.set_text(super::COMMAND, until_zero(&exit.command));
    row.set_text(super::ORIGIN, b"bpf");
    row.set_signed(super::PARENT, exit.parent.into());
    names.set_user(row, exit.uid);
    names.set_group(host, row, exit.cgroup);
    row.set(super::START_TIME, start_ticks(exit.start_boottime_ns));
    row.set(super::END_TIME, exit.time_ns);
    row.set(super::LIFETIME, exit.time_ns.saturating_sub(exit.start_boottime_ns));
    set_code(row, exit.code);
}

/// Sets its usage.
fn set_account(row: &mut RowMut<'_>, exit: &ExitEvent) {
    let sampled = CpuTime { user_ns: exit.user_ns, system_ns: exit.system_ns };
    let shown = CpuTime { user_ns: exit.previous_user_ns, system_ns: exit.previous_system_ns };
    let time = adjusted(sampled, exit.run_ns, shown);
    row.set(super::USER_TIME, time.user_ns);
    row.set(super::SYSTEM_TIME, time.system_ns);
    row.set(super::RUN_TIME, exit.run_ns);
    row.set(super::MINOR_FAULTS, exit.minor_faults);
    row.set(super::MAJOR_FAULTS, exit.major_faults);
    row.set(super::VOLUNTARY_SWITCHES, exit.voluntary_switches);
    row.set(super::INVOLUNTARY_SWITCHES, exit.involuntary_switches);
    row.set(super::READ_CHARS, exit.read_chars);
    row.set(super::WRITE_CHARS, exit.write_chars);
    row.set(super::READ_CALLS, exit.read_calls);
    row.set(super::WRITE_CALLS, exit.write_calls);
    row.set(super::READ_BYTES, exit.read_bytes);
    row.set(super::WRITE_BYTES, exit.write_bytes);
    row.set(super::CANCELLED_WRITE_BYTES, exit.cancelled_write_bytes);
    let page_kib = rustix::param::page_size() as u64 / 1024;
    row.set(super::PEAK_RESIDENT, exit.peak_resident_pages.saturating_mul(page_kib));
}

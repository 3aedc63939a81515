//! System calls of the whole machine, by name: counts, errors and durations.
//!
//! BPF programs count and time every call of every task except the recorder's own.  This costs each
//! task about 200 ns a call, whether the counts are read or not.  So the source runs only if it is
//! selected explicitly, not by default and not with `--all` or `--ALL`.  With `--budget` the
//! overhead of the programs counts as the source's cost, and if it is too high the source is
//! stopped for good (see [`Source::overhead_ns`]).
//!
//! Reads memory shared with the kernel, without system calls: a flag for each of 1024 calls, a word
//! for each call that was ever made and each CPU, and 1.3 KB more per CPU for calls made since the
//! previous reading.  Allocates when a call is seen for the first time.
//!
//! Counters begin at 0 when the recorder starts.  A row appears in the reading after the first call,
//! and layouts count its whole value for that interval.  The durations of an interval come from the
//! difference of two histograms with four buckets per octave: quantiles are within an eighth.  The
//! longest duration is exact if it is the longest so far, otherwise too long by up to a quarter.
//! Without a call in the interval they are missing.  A call that does not return (`exit_group`) or
//! has not returned yet is not counted.

use std::sync::Arc;

use bpf::{Abi, CallCount, CallId, CountSettings, Error, Histogram, SLOTS, STEPS, SyscallCounts};
use procfs::Host;
use sample::{Cadence, RowMut, State, Table, fields};

use crate::{Entry, RecorderCounters, Source, SourceContext};

mod layout;

fields! {
    CALLS: counter Count, "Calls that returned since the recorder started";
    ERRORS: counter Count, "Calls that returned an error";
    WALL_TIME: counter Nanoseconds, "Time from start to end of the calls, summed, waiting included";
    CPU_TIME: counter Nanoseconds, "Time of the calls on a CPU";
    MEDIAN: gauge Nanoseconds, "Median duration since the previous reading, to within an eighth";
    PERCENTILE_99: gauge Nanoseconds,
        "99th percentile of the durations since the previous reading, to within an eighth";
    LONGEST: gauge Nanoseconds,
        "Longest duration since the previous reading; exact if it is the longest so far, otherwise \
         too long by up to a quarter";
}

/// The overhead of the programs per call until they have measured their run time: 0.2 µs, measured
/// on a machine of 2 CPUs.
const CALL_NS: u64 = 200;

/// The part of it that the programs cannot measure: the way from the tracepoints to them.
const TRACEPOINTS_NS: u64 = 68;

fn open(host: &mut Host, context: &Arc<SourceContext>) -> Box<dyn Source> {
    if !host.is_this_machine() {
        return Box::new(Syscalls { counting: Err(State::Absent) });
    }
    let own_process = std::process::id().cast_signed();
    let settings =
        CountSettings { everybody: true, own_process, measure: true, ..CountSettings::default() };
    let counts = context.shared.kernel.load(|kernel| SyscallCounts::open(kernel, &settings));
    let recorder = &context.shared.recorder;
    if let (Ok(_), Some(recorder)) = (&counts, recorder) {
        recorder.bpf_sources.add(1);
    }
    let counting = counts.map(|counts| Counting::new(counts, recorder.clone())).map_err(|error| {
        context.shared.refusals.set(ENTRY.name, error.to_string());
        state_of(&error)
    });
    Box::new(Syscalls { counting })
}

/// A missing permission and a limit of memory are `Denied`, which the user can change; other reasons
/// are the machine's.
pub(crate) fn state_of(error: &Error) -> State {
    match error {
        Error::Denied(_) | Error::Memory { .. } => State::Denied,
        Error::NoBtf(_) | Error::NoSymbol(_) | Error::NoControlGroups | Error::Namespace => {
            State::Absent
        }
        Error::Refused(_) => State::Failed(0),
        Error::Read(error) => State::Failed(error.raw_os_error().unwrap_or(0)),
    }
}

struct Syscalls {
    counting: Result<Counting, State>,
}

struct Counting {
    counts: SyscallCounts,
    /// The calls made so far, in the order of their first appearance.
    seen: Vec<SeenCall>,
    is_seen: [bool; SLOTS],
    /// Calls since the overhead was last reported.
    calls: u64,
    /// Calls whose run time was not reported.
    calls_unreported: u64,
    recorder: Option<Arc<RecorderCounters>>,
}

struct SeenCall {
    slot: usize,
    name: String,
    last: CallCount,
}

impl Counting {
    fn new(counts: SyscallCounts, recorder: Option<Arc<RecorderCounters>>) -> Self {
        Counting {
            counts,
            seen: Vec::new(),
            is_seen: [false; SLOTS],
            calls: 0,
            calls_unreported: 0,
            recorder,
        }
    }

    /// Reports the programs' run time for the calls since the last report.
    fn report_run_time(&mut self) {
        if let (Some(recorder), Some(run_ns)) =
            (&self.recorder, self.counts.run_time_of(self.calls_unreported))
        {
            recorder.bpf_ns.add(run_ns);
            self.calls_unreported = 0;
        }
    }

    fn look_for_new(&mut self) {
        for slot in 0..SLOTS {
            if !self.is_seen[slot] && self.counts.is_used(slot) {
                self.is_seen[slot] = true;
                self.seen.push(SeenCall { slot, name: name_of(slot), last: NOTHING });
            }
        }
    }
}

/// Before the first call.
const NOTHING: CallCount = CallCount {
    calls: 0,
    errors: 0,
    wall_ns: 0,
    cpu_ns: 0,
    shortest_ns: 0,
    longest_ns: 0,
    cut_off: 0,
    steps: [0; STEPS],
};

/// As `whit trace -c` names it: calls of 32-bit programs with `@32`.
fn name_of(slot: usize) -> String {
    let id = CallId::of_slot(slot);
    let suffix = if id.abi == Abi::I386 { "@32" } else { "" };
    format!("{}{suffix}", id.name())
}

impl Source for Syscalls {
    fn read(&mut self, _: &mut Host, table: &mut Table) -> State {
        table.begin();
        let counting = match &mut self.counting {
            Ok(counting) => counting,
            Err(state) => return *state,
        };
        counting.look_for_new();
        for seen in &mut counting.seen {
            let mut row = table.row(seen.name.as_bytes());
            let now = match counting.counts.ended(seen.slot) {
                calls if calls == seen.last.calls => None,
                _ => counting.counts.call(seen.slot),
            };
            if let Some(now) = now {
                set_times(&mut row, &seen.last, &now);
                let calls = now.calls.saturating_sub(seen.last.calls);
                counting.calls += calls;
                counting.calls_unreported += calls;
                seen.last = now;
            }
            row.set(CALLS, seen.last.calls);
            row.set(ERRORS, seen.last.errors);
            row.set(WALL_TIME, seen.last.wall_ns);
            row.set(CPU_TIME, seen.last.cpu_ns);
        }
        counting.report_run_time();
        State::Ok
    }

    fn overhead_ns(&mut self) -> u64 {
        let Ok(counting) = &mut self.counting else { return 0 };
        let calls = std::mem::take(&mut counting.calls);
        let run_ns = counting.counts.run_time_of(calls);
        run_ns.map_or(calls * CALL_NS, |run_ns| run_ns + calls * TRACEPOINTS_NS)
    }

    fn stop(&mut self) {
        if self.counting.is_ok() {
            self.counting = Err(State::Skipped);
        }
    }
}

/// Sets the durations of the calls between two counts.
fn set_times(row: &mut RowMut<'_>, last: &CallCount, now: &CallCount) {
    let grown = |step: usize| now.steps[step].saturating_sub(last.steps[step]);
    let total: u64 = (0..STEPS).map(grown).sum();
    let Some(top) = (0..STEPS).rev().find(|&step| grown(step) > 0) else { return };
    let longest_ns = if now.longest_ns > last.longest_ns {
        now.longest_ns
    } else {
        now.longest_ns.min(Histogram::floor_ns(top + 1) - 1)
    };
    for (field, percent) in [(MEDIAN, 50), (PERCENTILE_99, 99)] {
        let wanted = (total * percent).div_ceil(100);
        let mut seen = 0;
        let step = (0..STEPS).find(|&step| {
            seen += grown(step);
            seen >= wanted
        });
        let floor_ns = Histogram::floor_ns(step.unwrap_or(top));
        let middle_ns = floor_ns.midpoint(Histogram::floor_ns(step.unwrap_or(top) + 1));
        row.set(field, middle_ns.min(longest_ns));
    }
    row.set(LONGEST, longest_ns);
}

pub(crate) static ENTRY: Entry = Entry {
    name: "syscall",
    about: "System calls by name, counted in the kernel; costs every task some 200 ns a call, so it must be selected",
    letters: "kK",
    reads: &[],
    instance: &["call"],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[layout::SUMMARY, layout::DETAIL],
    open,
    by_name_only: true,
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    fn count(times_ns: &[u64]) -> CallCount {
        let mut count = NOTHING;
        for &time_ns in times_ns {
            count.calls += 1;
            count.longest_ns = count.longest_ns.max(time_ns);
            count.steps[Histogram::step(time_ns)] += 1;
        }
        count
    }

    fn times(last: &CallCount, now: &CallCount) -> [Option<u64>; 3] {
        let mut table = Table::new(FIELDS.len());
        set_times(&mut table.row(b""), last, now);
        [MEDIAN, PERCENTILE_99, LONGEST].map(|field| table.get(0, field))
    }

    #[test]
    fn times_are_those_of_the_interval() {
        let first = count(&[100, 100, 100, 1_000_000]);
        let within = |value: Option<u64>, true_ns: u64| {
            let value = value.unwrap();
            assert!(value.abs_diff(true_ns) <= true_ns / 8, "{value} for {true_ns}");
        };
        let [median, percentile, longest] = times(&NOTHING, &first);
        within(median, 100);
        within(percentile, 1_000_000);
        assert_eq!(longest, Some(1_000_000));
        // Shorter ones follow: the longest of them is known by its step alone.
        let second = count(&[100, 100, 100, 1_000_000, 3000, 3000, 9000]);
        let [median, percentile, longest] = times(&first, &second);
        within(median, 3000);
        within(percentile, 9000);
        let longest = longest.unwrap();
        assert!((9000..=9000 * 5 / 4).contains(&longest), "{longest}");
        assert_eq!(times(&second, &second), [None; 3]);
    }

    #[test]
    fn another_machine_has_no_calls() {
        let mut host = Host::in_memory();
        let mut source = open(&mut host, &Arc::default());
        let mut table = Table::new(FIELDS.len());
        assert_eq!(source.read(&mut host, &mut table), State::Absent);
        assert_eq!((source.overhead_ns(), table.rows()), (0, 0));
    }

    #[test]
    fn calls_of_both_tables_have_their_names() {
        assert_eq!(name_of(CallId::native(0).slot()), "read");
        let write = CallId { abi: Abi::I386, number: 4 };
        assert_eq!(name_of(write.slot()), "write@32");
    }
}

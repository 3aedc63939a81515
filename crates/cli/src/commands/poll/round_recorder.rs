//! Rounds to the outputs of a recorder: recordings, views, and the sinks of their text, as for the
//! samples of a machine.
//!
//! Costs what the outputs cost, and for each value a few nanoseconds to store it.

use jiff::tz::TimeZone;
use layout::Selection;
use poll::round::RoundReport;
use poll::{Config, RoundSources};
use procfs::Host;
use recorder::{Consumer as _, Intervals, Outputs, RecorderError, RunFacts, Tick, gather_facts};
use sample::{Meta, Moment, Snapshot};

/// The smallest change of the difference between the clocks that counts as a step of the wall clock.
const STEP_NS_MIN: u64 = 2_000_000;

/// A second, in nanoseconds.
const SECOND_NS: u64 = 1_000_000_000;

/// Rounds, passed on as samples.
pub(super) struct RoundRecorder {
    sources: RoundSources,
    snapshot: Snapshot,
    outputs: Outputs,
    /// A machine without files: what was polled is no machine's.
    host: Host,
    /// The wall clock minus the clock that never steps, at the latest round.
    clock_offset_ns: Option<i64>,
}

impl RoundRecorder {
    /// Makes a recorder of rounds for outputs that were opened for these sources.
    pub(super) fn new(sources: RoundSources, outputs: Outputs) -> Self {
        let snapshot = sources.snapshot();
        RoundRecorder { sources, snapshot, outputs, host: Host::in_memory(), clock_offset_ns: None }
    }

    /// The sources of the samples.
    pub(super) fn sources(&self) -> &RoundSources {
        &self.sources
    }

    /// Takes other places of targets; the definitions are the same.
    pub(super) fn set_places(&mut self, sources: RoundSources) {
        debug_assert_eq!(self.sources.definitions, sources.definitions);
        self.sources = sources;
    }

    /// Takes a round of one of the configurations, made between two moments, after `missed` that
    /// could not be made.
    ///
    /// # Errors
    /// Nobody reads the text of a view any more.  It is given up; everything else was done, and
    /// later rounds can be taken.
    pub(super) fn record_round(
        &mut self,
        config: usize,
        report: &RoundReport,
        made: (Moment, Moment),
        missed: u64,
    ) -> Result<(), RecorderError> {
        self.sources.fill(config, report, made, &mut self.snapshot);
        self.snapshot.gap.ticks_missed = missed;
        let began = made.0;
        let monotonic_ns = i64::try_from(began.monotonic_ns).unwrap_or(i64::MAX);
        let offset_ns = began.realtime_ns.saturating_sub(monotonic_ns);
        let before_ns = self.clock_offset_ns.replace(offset_ns).unwrap_or(offset_ns);
        let step_ns = offset_ns.saturating_sub(before_ns);
        let step_ns = if step_ns.unsigned_abs() < STEP_NS_MIN { 0 } else { step_ns };
        let tick = Tick::of(missed, step_ns);
        let taken = self.outputs.consume(&tick, &mut self.snapshot, &self.host);
        if taken.is_err() {
            self.outputs.live = None;
        }
        taken
    }

    /// Writes buffered data.
    ///
    /// # Errors
    /// If an output cannot be written.
    pub(super) fn flush(&mut self, now: Moment) -> Result<(), RecorderError> {
        self.outputs.flush(now)
    }

    /// Ends all outputs.
    ///
    /// # Errors
    /// The first error; the other outputs are closed nevertheless.
    pub(super) fn close(self, now: Moment) -> Result<(), RecorderError> {
        self.outputs.close(now)
    }
}

/// What selects all of these sources.
pub(super) fn selection_of(sources: &RoundSources) -> Selection {
    let mut selection = Selection::default();
    sources.definitions.iter().for_each(|definition| selection.push_name(&definition.name));
    selection
}

/// The facts of a recording of these configurations, begun `now` on this machine.
pub(super) fn facts_of(
    configs: &[&Config],
    sources: &RoundSources,
    (command_line, zone): (&str, &TimeZone),
    now: Moment,
) -> Meta {
    let interval_s = configs.iter().map(|config| config.global.interval_s).min().unwrap_or(0);
    let first_ns = u64::from(interval_s) * SECOND_NS;
    let run = RunFacts {
        subsystems: &selection_of(sources).to_string(),
        intervals: Intervals { first_ns, second_every: 1, third_every: 1 },
        command_line,
        comment: None,
        zone,
        now,
    };
    gather_facts(std::path::Path::new("/"), &run)
}

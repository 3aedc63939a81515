//! The loop: wait, read, pass the samples on, take requests.
//!
//! Cost of a tick besides reading and writing: one sleep, a clock read for each source, one load
//! of an atomic; one more system call, and a few wake-ups, while a source has a descriptor to
//! watch.  After the first ticks nothing is allocated.

use std::os::fd::BorrowedFd;

use std::sync::Arc;

use procfs::Host;
use procfs::usage::{Whose, usage};
use sample::{Cadence, Clock, DESCRIPTORS_MAX, Moment, Snapshot, SourceDef, State, Wake};
use source::{Entry, RecorderCounters, Sampler, SourceContext, Wakeup};

use crate::RecorderError;
use crate::budget::{Budget, Used};
use crate::intervals::Intervals;
use crate::schedule::{Tick, TickSchedule};

/// How often sources are served whose descriptors are more than a clock can watch.
const UNWATCHED_NS: u64 = 100_000_000;

/// Requests to a recorder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// End cleanly.
    pub stop: bool,
    /// Begin new files.
    pub reopen: bool,
    /// Write buffered data.
    pub flush: bool,
}

/// The origin of requests: signals, another thread, or a test.
pub trait Control {
    /// The requests since the last call.
    fn requests(&mut self) -> Requests;

    /// A descriptor that becomes readable with a request, to end a sleep; not needed if a signal
    /// does that.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Takes the samples.
pub trait Consumer {
    /// Takes the readings of a tick.  May swap samples out of `snapshot` for older ones.
    ///
    /// # Errors
    /// Errors that end the recording; a full disk does not.
    fn consume(
        &mut self,
        tick: &Tick,
        snapshot: &mut Snapshot,
        host: &Host,
    ) -> Result<(), RecorderError>;

    /// Takes a last reading between two ticks, only of sources that would otherwise lose data.
    fn consume_last(&mut self, _snapshot: &Snapshot, _host: &Host) {}

    /// Whether the recorder should end.
    fn is_over(&self) -> bool {
        false
    }

    /// Begins new files.
    ///
    /// # Errors
    /// The files cannot be created.
    fn reopen(&mut self, _now: Moment) -> Result<(), RecorderError> {
        Ok(())
    }

    /// Writes buffered data.
    ///
    /// # Errors
    /// If something cannot be written.
    fn flush(&mut self, _now: Moment) -> Result<(), RecorderError> {
        Ok(())
    }
}

/// When a recorder ends by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct StopAfter {
    /// After this many samples.
    pub samples: Option<u64>,
    /// At this time on the monotonic clock.
    pub end_ns: Option<u64>,
}

/// The loop and its state.
pub struct Recorder {
    /// The machine that is sampled.
    pub host: Host,
    /// The sources that are read.
    pub sampler: Sampler,
    /// Room for their readings: an empty snapshot of the sampler's sources.
    pub snapshot: Snapshot,
    /// When they are read.
    pub schedule: TickSchedule,
    /// Time between two ticks; 0 for as fast as possible.
    pub interval_ns: u64,
    /// The limit of the recorder's CPU time.
    pub budget: Option<Budget>,
    /// A source that is read at the second interval whatever its cadence: the recorder's own, if
    /// the user did not select it.
    pub seldom: Option<usize>,
    /// Whether it samples when it begins and when it ends too, so that even a run shorter than the
    /// interval has two samples.
    pub at_ends: bool,
    /// The recorder's own counters, for that source.
    pub counters: Arc<RecorderCounters>,
    /// When to end without a request.
    pub stop_after: StopAfter,
}

/// How to record; see [`Recorder::open`].
#[derive(Clone, Copy, Debug)]
pub struct RecorderSettings<'a> {
    /// How often sources are read.
    pub intervals: Intervals,
    /// Whether ticks are multiples of the interval since the epoch.
    pub align: bool,
    /// The budget for all that the recorder does after its start, in per cent of one CPU.
    pub budget_percent: Option<f64>,
    /// The name of the [`seldom`](Recorder::seldom) source.
    pub seldom: Option<&'a str>,
    /// Whether to sample at the begin and at the end, besides the ticks ([`Recorder::at_ends`]).
    pub at_ends: bool,
    /// Samples to take; `None` for no end.
    pub samples: Option<u64>,
    /// How long to record; `None` for no end.
    pub duration_ns: Option<u64>,
}

impl Recorder {
    /// Opens these sources on a host, to be read from `now` on.  The context must have the counters
    /// that the recorder's own source reads.
    #[must_use]
    pub fn open(
        mut host: Host,
        entries: &[&'static Entry],
        context: &Arc<SourceContext>,
        settings: &RecorderSettings<'_>,
        now: Moment,
    ) -> Self {
        let intervals = settings.intervals;
        let sampler = Sampler::open(&mut host, entries, context);
        let defs = sampler.defs();
        let every = |def: &SourceDef| match def.cadence {
            Cadence::First => 1,
            Cadence::Second => intervals.second_every,
            Cadence::Third => intervals.third_every,
        };
        let has_second = defs.iter().any(|def| def.cadence == Cadence::Second);
        let is_seldom = |def: &SourceDef| settings.seldom == Some(&*def.name);
        let budget = settings.budget_percent;
        let end_ns = settings.duration_ns.map(|ns| now.monotonic_ns.saturating_add(ns));
        Recorder {
            snapshot: Snapshot::new(&defs),
            schedule: TickSchedule::start(intervals, settings.align, has_second, now),
            interval_ns: intervals.first_ns,
            budget: budget.map(|percent| Budget::new(percent, intervals.first_ns, &defs, every)),
            seldom: defs.iter().position(|def| is_seldom(def)),
            at_ends: settings.at_ends,
            counters: context.shared.recorder.clone().unwrap_or_default(),
            stop_after: StopAfter { samples: settings.samples, end_ns },
            host,
            sampler,
        }
    }

    /// Records until the end, a request to stop, or an error of the consumer.
    ///
    /// # Errors
    /// If the consumer fails.
    pub fn run(
        &mut self,
        clock: &mut dyn Clock,
        control: &mut dyn Control,
        consumer: &mut dyn Consumer,
    ) -> Result<(), RecorderError> {
        if self.at_ends {
            self.sample(Tick::OF_ALL, clock.now(), clock, consumer)?;
        }
        self.ticks(clock, control, consumer)?;
        if self.at_ends {
            self.sample(Tick::OF_ALL, clock.now(), clock, consumer)?;
        }
        // Processes that exited since the last tick would be missing.
        self.snapshot.gap.ticks_missed = 0;
        if self.sampler.finish(&mut self.host, clock, &mut self.snapshot) {
            consumer.consume_last(&self.snapshot, &self.host);
        }
        Ok(())
    }

    fn ticks(
        &mut self,
        clock: &mut dyn Clock,
        control: &mut dyn Control,
        consumer: &mut dyn Consumer,
    ) -> Result<(), RecorderError> {
        let mut left = self.stop_after.samples.unwrap_or(u64::MAX);
        while left > 0 && !consumer.is_over() {
            if !self.wait(clock, control, consumer)? {
                return Ok(());
            }
            self.tick(clock, consumer)?;
            left -= 1;
            // As in collectl: do not begin an interval that would end too late.
            let next_ns = self.snapshot.monotonic_ns.saturating_add(self.interval_ns);
            if self.stop_after.end_ns.is_some_and(|end_ns| next_ns > end_ns) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Waits for the next tick; false on a request to stop.
    fn wait(
        &mut self,
        clock: &mut dyn Clock,
        control: &mut dyn Control,
        consumer: &mut dyn Consumer,
    ) -> Result<bool, RecorderError> {
        loop {
            let requests = control.requests();
            if requests.stop {
                return Ok(false);
            }
            if requests.reopen {
                consumer.reopen(clock.now())?;
            }
            if requests.flush {
                consumer.flush(clock.now())?;
            }
            if self.schedule.is_endless() {
                return Ok(true);
            }
            if self.sleep(clock, control) == Wake::Due {
                return Ok(!control.requests().stop);
            }
        }
    }

    /// Sleeps until the next tick, a signal, a request, or until a source must drain its kernel
    /// buffer: these are small, and the interval may be long.
    fn sleep(&mut self, clock: &mut dyn Clock, control: &dyn Control) -> Wake {
        let next_ns = self.schedule.next_ns();
        let mut until_ns = next_ns;
        let mut watched = [None; DESCRIPTORS_MAX];
        let mut count = 0;
        let asked = control.descriptor().map(Wakeup::Descriptor);
        for wakeup in asked.into_iter().chain(self.sampler.wakeups()) {
            let every_ns = match wakeup {
                Wakeup::Descriptor(descriptor) if count < DESCRIPTORS_MAX => {
                    watched[count] = Some(descriptor);
                    count += 1;
                    continue;
                }
                Wakeup::Descriptor(_) => UNWATCHED_NS,
                Wakeup::Every(ns) => ns,
            };
            until_ns = until_ns.min(clock.now().monotonic_ns.saturating_add(every_ns));
        }
        let (calls, wake) = match watched[0] {
            Some(first) => {
                let descriptors = watched.map(|descriptor| descriptor.unwrap_or(first));
                (2, clock.sleep_until_readable(until_ns, &descriptors[..count]))
            }
            None => (1, clock.sleep_until(until_ns)),
        };
        self.counters.calls.add(calls);
        if wake == Wake::Due && until_ns == next_ns {
            return Wake::Due;
        }
        self.sampler.drain_kernel_buffers();
        Wake::Interrupted
    }

    /// Takes the sample of a tick.
    fn tick(
        &mut self,
        clock: &mut dyn Clock,
        consumer: &mut dyn Consumer,
    ) -> Result<(), RecorderError> {
        let now = clock.now();
        let tick = self.schedule.tick(now);
        self.sample(tick, now, clock, consumer)
    }

    /// Takes one sample.
    fn sample(
        &mut self,
        tick: Tick,
        now: Moment,
        clock: &mut dyn Clock,
        consumer: &mut dyn Consumer,
    ) -> Result<(), RecorderError> {
        self.snapshot.gap.ticks_missed = tick.missed;
        self.counters.samples.add(1);
        self.counters.ticks_missed.add(tick.missed);
        let (budget, counters, seldom) = (&mut self.budget, &self.counters, self.seldom);
        let due = |index: usize, def: &sample::SourceDef| {
            let cadence = if seldom == Some(index) { Cadence::Second } else { def.cadence };
            if !tick.is_due(cadence) {
                return State::NotRecorded;
            }
            if budget.as_mut().is_some_and(|budget| budget.leaves_out(index)) {
                counters.reads_skipped.add(1);
                return State::Skipped;
            }
            State::Ok
        };
        self.sampler.sample_from(now, &mut self.host, clock, due, &mut self.snapshot);
        if let Some(budget) = &mut self.budget {
            self.sampler.limit_overhead(|index, burden_ns| budget.allows(index, burden_ns));
            budget.learn(&self.snapshot, used(&self.counters, now));
        }
        consumer.consume(&tick, &mut self.snapshot, &self.host)
    }
}

/// What the recorder has used so far.  One system call.
fn used(counters: &RecorderCounters, now: Moment) -> Used {
    let own = usage(Whose::Own);
    let cpu_ns = (own.user_us + own.system_us) * 1_000 + counters.bpf_ns.get();
    Used { cpu_ns, monotonic_ns: now.monotonic_ns }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io::{Read as _, Write as _};
    use std::os::fd::AsFd as _;
    use std::rc::Rc;

    use testkit::{Event, SimClock};

    use super::*;
    use crate::intervals::parse_intervals;

    const SECOND: u64 = 1_000_000_000;

    /// What a consumer gets at a tick.
    #[derive(Clone, Copy, Debug)]
    struct SeenSnapshots {
        at: Moment,
        missed: u64,
        step_ns: i64,
        fresh: usize,
    }

    #[derive(Default)]
    struct Notes {
        seen: Vec<SeenSnapshots>,
        reopened: usize,
        flushed: usize,
    }

    impl Consumer for Notes {
        fn consume(
            &mut self,
            tick: &Tick,
            snapshot: &mut Snapshot,
            _: &Host,
        ) -> Result<(), RecorderError> {
            let at =
                Moment { monotonic_ns: snapshot.monotonic_ns, realtime_ns: snapshot.realtime_ns };
            let fresh = snapshot.fresh.iter().filter(|&&fresh| fresh).count();
            assert_eq!(snapshot.gap.ticks_missed, tick.missed);
            self.seen.push(SeenSnapshots { at, missed: tick.missed, step_ns: tick.step_ns, fresh });
            Ok(())
        }

        fn reopen(&mut self, _: Moment) -> Result<(), RecorderError> {
            self.reopened += 1;
            Ok(())
        }

        fn flush(&mut self, _: Moment) -> Result<(), RecorderError> {
            self.flushed += 1;
            Ok(())
        }
    }

    /// Requests at given times, as by signals.
    struct RequestsAtTimes(Rc<RefCell<Requests>>);

    impl Control for RequestsAtTimes {
        fn requests(&mut self) -> Requests {
            std::mem::take(&mut *self.0.borrow_mut())
        }
    }

    static SECONDARY_ENTRY: source::Entry = source::Entry {
        name: "secondary",
        about: "A source for tests",
        letters: "y",
        cadence: Cadence::Second,
        open: |_, _| Box::new(Nothing),
        ..source::Entry::EMPTY
    };

    use sample::Table;

    struct Nothing;

    impl source::Source for Nothing {
        fn read(&mut self, _: &mut Host, table: &mut Table) -> State {
            table.begin();
            State::Ok
        }
    }

    /// A source that wants a call every ten seconds, whatever the interval.
    struct Impatient(Rc<RefCell<Vec<u64>>>, SimClock);

    impl source::Source for Impatient {
        fn read(&mut self, _: &mut Host, table: &mut Table) -> State {
            table.begin();
            State::Ok
        }

        fn wakeup(&self) -> Option<Wakeup<'_>> {
            Some(Wakeup::Every(10 * SECOND))
        }

        fn drain_kernel_buffer(&mut self) {
            self.0.borrow_mut().push(self.1.moment().monotonic_ns);
        }
    }

    thread_local! {
        static ATTENDED: Rc<RefCell<Vec<u64>>> = Rc::default();
        static CLOCK: SimClock = SimClock::default();
    }

    static IMPATIENT_ENTRY: source::Entry = source::Entry {
        name: "secondary",
        about: "A source for tests",
        letters: "y",
        cadence: Cadence::Second,
        open: |_, _| Box::new(Impatient(ATTENDED.with(Rc::clone), CLOCK.with(SimClock::clone))),
        ..source::Entry::EMPTY
    };

    #[test]
    fn a_source_that_cannot_wait_is_called_between_ticks_and_no_tick_moves() {
        let clock = CLOCK.with(SimClock::clone);
        let entries = [&IMPATIENT_ENTRY];
        let (notes, _) = record_from(&entries, &clock, "60:60", false, count(3), &Rc::default());
        for pair in notes.seen.windows(2) {
            assert_eq!(pair[1].at.monotonic_ns - pair[0].at.monotonic_ns, 60 * SECOND);
        }
        let attended = ATTENDED.with(|attended| attended.borrow().clone());
        let between = |from: u64, to: u64| attended.iter().filter(move |&&at| from < at && at < to);
        let (first, second) = (notes.seen[1].at.monotonic_ns, notes.seen[2].at.monotonic_ns);
        assert_eq!(between(first, second).count(), 5, "{attended:?}");
    }

    /// A source with a pipe that passes what it reads to another pipe.
    struct Piped(std::io::PipeReader, Option<std::io::PipeWriter>, Rc<RefCell<Vec<u8>>>);

    impl source::Source for Piped {
        fn read(&mut self, _: &mut Host, table: &mut Table) -> State {
            table.begin();
            State::Ok
        }

        fn wakeup(&self) -> Option<Wakeup<'_>> {
            Some(Wakeup::Descriptor(self.0.as_fd()))
        }

        fn drain_kernel_buffer(&mut self) {
            let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
            let mut waits = [rustix::event::PollFd::new(&self.0, rustix::event::PollFlags::IN)];
            if rustix::event::poll(&mut waits, Some(&now)).unwrap() == 0 {
                return;
            }
            let mut byte = [0];
            self.0.read_exact(&mut byte).unwrap();
            self.2.borrow_mut().push(byte[0]);
            if let Some(next) = &mut self.1 {
                next.write_all(&[byte[0] + 1]).unwrap();
            }
        }
    }

    type Pipes = Vec<(std::io::PipeReader, Option<std::io::PipeWriter>)>;

    thread_local! {
        static PIPES: RefCell<Pipes> = const { RefCell::new(Vec::new()) };
        static READ: Rc<RefCell<Vec<u8>>> = Rc::default();
    }

    static PIPED_ENTRY: source::Entry = source::Entry {
        name: "secondary",
        about: "A source for tests",
        letters: "y",
        cadence: Cadence::Second,
        open: |_, _| {
            let (reader, next) = PIPES.with(|pipes| pipes.borrow_mut().remove(0));
            Box::new(Piped(reader, next, READ.with(Rc::clone)))
        },
        ..source::Entry::EMPTY
    };

    /// Requests a stop, by a descriptor, once both sources have read.
    struct StopWhenRead(std::io::PipeReader, std::io::PipeWriter);

    impl Control for StopWhenRead {
        fn requests(&mut self) -> Requests {
            let read = READ.with(|read| read.borrow().len());
            if read == 2 {
                // Readable from now on: the next sleep must end at once.
                self.1.write_all(b"x").unwrap();
                READ.with(|read| read.borrow_mut().push(0));
            }
            Requests { stop: read > 2, ..Requests::default() }
        }

        fn descriptor(&self) -> Option<BorrowedFd<'_>> {
            Some(self.0.as_fd())
        }
    }

    #[test]
    fn every_source_with_a_descriptor_ends_a_sleep_and_so_does_a_request() {
        let (first, mut begin) = std::io::pipe().unwrap();
        let (second, next) = std::io::pipe().unwrap();
        begin.write_all(&[1]).unwrap();
        PIPES.with(|pipes| *pipes.borrow_mut() = vec![(first, Some(next)), (second, None)]);
        let entries: [&'static source::Entry; 2] = [&PIPED_ENTRY, &PIPED_ENTRY];
        let intervals = parse_intervals("3600:3600", "1", (true, false), false).unwrap();
        let mut clock = procfs::SystemClock;
        // The first tick is an hour away; a sleep that no descriptor ends would show.
        let mut start = clock.now();
        start.monotonic_ns += 3_600 * SECOND;
        start.realtime_ns += 3_600 * SECOND.cast_signed();
        let context = Arc::new(SourceContext::default());
        let settings = settings(intervals, false);
        let mut recorder = Recorder::open(Host::in_memory(), &entries, &context, &settings, start);
        let mut notes = Notes::default();
        let (reader, writer) = std::io::pipe().unwrap();
        recorder.run(&mut clock, &mut StopWhenRead(reader, writer), &mut notes).unwrap();
        assert_eq!(READ.with(|read| read.borrow().clone()), [1, 2, 0]);
        assert!(notes.seen.is_empty());
    }

    fn record(
        clock: &SimClock,
        intervals: &str,
        align: bool,
        stop_after: StopAfter,
        asked: &Rc<RefCell<Requests>>,
    ) -> (Notes, Arc<RecorderCounters>) {
        let entries = [source::find("cpu").unwrap(), &SECONDARY_ENTRY];
        record_from(&entries, clock, intervals, align, stop_after, asked)
    }

    fn record_from(
        entries: &[&'static source::Entry],
        clock: &SimClock,
        intervals: &str,
        align: bool,
        stop_after: StopAfter,
        asked: &Rc<RefCell<Requests>>,
    ) -> (Notes, Arc<RecorderCounters>) {
        let mut host = Host::in_memory();
        host.put("/proc/stat", Some(b"cpu  1 2 3 4\n"));
        let intervals = parse_intervals(intervals, "1", (true, false), false).unwrap();
        let (context, settings) = (Arc::new(SourceContext::default()), settings(intervals, align));
        let mut recorder = Recorder::open(host, entries, &context, &settings, clock.moment());
        recorder.stop_after = stop_after;
        let counters = recorder.counters.clone();
        let mut notes = Notes::default();
        let mut clock = clock.clone();
        recorder.run(&mut clock, &mut RequestsAtTimes(asked.clone()), &mut notes).unwrap();
        (notes, counters)
    }

    fn settings(intervals: Intervals, align: bool) -> RecorderSettings<'static> {
        RecorderSettings {
            intervals,
            align,
            budget_percent: None,
            seldom: None,
            at_ends: false,
            samples: None,
            duration_ns: None,
        }
    }

    fn count(samples: u64) -> StopAfter {
        StopAfter { samples: Some(samples), end_ns: None }
    }

    #[test]
    fn a_run_shorter_than_the_interval_has_a_sample_of_all_at_each_end() {
        let clock = SimClock::default();
        let entries = [source::find("cpu").unwrap(), &SECONDARY_ENTRY];
        let intervals = parse_intervals("10:60", "1", (true, false), false).unwrap();
        let context = Arc::new(SourceContext::default());
        let settings = RecorderSettings { at_ends: true, ..settings(intervals, false) };
        let mut host = Host::in_memory();
        host.put("/proc/stat", Some(b"cpu  1 2 3 4\n"));
        let mut recorder = Recorder::open(host, &entries, &context, &settings, clock.moment());
        let mut notes = Notes::default();
        // The request comes before the first tick.
        let asked = Rc::new(RefCell::new(Requests { stop: true, ..Requests::default() }));
        recorder.run(&mut clock.clone(), &mut RequestsAtTimes(asked), &mut notes).unwrap();
        assert_eq!(notes.seen.iter().map(|seen| seen.fresh).collect::<Vec<_>>(), [2, 2]);
        assert!(notes.seen.iter().all(|seen| seen.missed == 0));
        assert_eq!(recorder.counters.samples.get(), 2);
    }

    #[test]
    fn a_day_at_ten_seconds_has_no_drift_and_every_tick() {
        let clock = SimClock::default();
        clock.advance(123_456_789);
        clock.set_late_ns(50_000);
        let start = clock.moment();
        let stop_after =
            StopAfter { samples: None, end_ns: Some(start.monotonic_ns + 86_400 * SECOND) };
        let (notes, counters) = record(&clock, "10:60", false, stop_after, &Rc::default());
        assert!((8_638..=8_640).contains(&notes.seen.len()), "{}", notes.seen.len());
        for (index, seen) in notes.seen.iter().enumerate() {
            assert_eq!(seen.at.realtime_ns % SECOND as i64, 50_000, "on a whole second, always");
            assert_eq!((seen.missed, seen.step_ns), (0, 0));
            assert_eq!(seen.fresh, if index % 6 == 0 { 2 } else { 1 }, "tick {index}");
        }
        assert_eq!(counters.samples.get(), notes.seen.len() as u64);
        assert_eq!(counters.ticks_missed.get(), 0);
    }

    #[test]
    fn aligned_ticks_lie_on_multiples_since_the_epoch() {
        let clock = SimClock::default();
        clock.advance(7 * SECOND);
        let (notes, _) = record(&clock, "5:60", true, count(30), &Rc::default());
        let minute = 60 * SECOND as i64;
        assert_eq!(notes.seen[0].at.realtime_ns % minute, 0);
        for seen in &notes.seen {
            let on_minute = seen.at.realtime_ns % minute == 0;
            assert_eq!(seen.fresh == 2, on_minute, "{seen:?}");
        }
    }

    #[test]
    fn a_suspend_is_counted_and_ticks_stay_where_they_were() {
        let clock = SimClock::default();
        let start = clock.moment().monotonic_ns;
        clock.at(start + 10 * SECOND + 1, Event::Suspend(3_600 * SECOND + SECOND / 2));
        let (notes, counters) = record(&clock, "1", false, count(20), &Rc::default());
        let late = notes.seen.iter().position(|seen| seen.missed > 0).unwrap();
        // Woken half a second after a tick: 3,599 ticks between the last one and that passed.
        assert_eq!(notes.seen[late].missed, 3_599);
        assert_eq!(notes.seen[late].step_ns, 0, "a suspend is not a step of the clock");
        assert_eq!(notes.seen[late + 1].at.realtime_ns % SECOND as i64, 0);
        assert_eq!(counters.ticks_missed.get(), 3_599);
    }

    #[test]
    fn a_step_of_the_wall_clock_moves_the_ticks_and_loses_none() {
        for step_ns in [-3_600_250_000_000_i64, 250_000_000, -250_000_000, 86_400_900_000_000] {
            let clock = SimClock::default();
            let start = clock.moment().monotonic_ns;
            clock.at(start + 5 * SECOND + SECOND / 3, Event::StepRealtime(step_ns));
            let (notes, counters) = record(&clock, "1", false, count(20), &Rc::default());
            let steps: Vec<_> = notes.seen.iter().filter(|seen| seen.step_ns != 0).collect();
            assert_eq!(steps.len(), 1);
            assert_eq!(steps[0].step_ns, step_ns);
            assert_eq!(counters.ticks_missed.get(), 0);
            let after = notes.seen.iter().skip_while(|seen| seen.step_ns == 0).skip(1);
            assert!(after.clone().count() > 10);
            for seen in after {
                assert_eq!(seen.at.realtime_ns % SECOND as i64, 0, "aligned again at once");
            }
            for pair in notes.seen.windows(2) {
                let apart = pair[1].at.monotonic_ns - pair[0].at.monotonic_ns;
                assert!((SECOND / 2..=3 * SECOND / 2).contains(&apart), "{apart}");
            }
        }
    }

    #[test]
    fn a_tick_that_takes_too_long_is_a_miss_not_a_burst() {
        let clock = SimClock::default();
        let start = clock.moment().monotonic_ns;
        clock.set_look_ns(100_000_000);
        // Reading the clock alone takes two ticks of 0.1 s each time.
        let (notes, counters) = record(&clock, "0.1", false, count(50), &Rc::default());
        let end = notes.seen.last().unwrap().at.monotonic_ns;
        let ticks = (end - start) / 100_000_000;
        let known = 49 + counters.ticks_missed.get();
        assert!(ticks >= 95 && ticks.abs_diff(known) <= 1, "{ticks} {known}: no burst, no loss");
        for pair in notes.seen.windows(2) {
            assert!(pair[1].at.monotonic_ns - pair[0].at.monotonic_ns >= 200_000_000);
        }
    }

    #[test]
    fn as_fast_as_possible_never_sleeps_and_keeps_the_ratio() {
        let clock = SimClock::default();
        clock.set_look_ns(10);
        let (notes, _) = record(&clock, "0:4", false, count(40), &Rc::default());
        assert_eq!(clock.sleeps(), 0);
        assert_eq!(notes.seen.iter().filter(|seen| seen.fresh == 2).count(), 10);
    }

    #[test]
    fn requests_are_served_in_the_middle_of_a_long_sleep() {
        let clock = SimClock::default();
        let start = clock.moment().monotonic_ns;
        let asked = Rc::new(RefCell::new(Requests::default()));
        let ask = |at: u64, requests: Requests| {
            let asked = asked.clone();
            clock.at(at, Event::Call(Box::new(move || *asked.borrow_mut() = requests)));
            clock.at(at, Event::Interrupt);
        };
        ask(start + 10 * SECOND, Requests { flush: true, ..Requests::default() });
        ask(start + 20 * SECOND, Requests { reopen: true, ..Requests::default() });
        ask(start + 9_000 * SECOND, Requests { stop: true, ..Requests::default() });
        let (notes, _) = record(&clock, "3600:3600", false, StopAfter::default(), &asked);
        assert_eq!((notes.flushed, notes.reopened), (1, 1));
        assert_eq!(notes.seen.len(), 3);
        assert_eq!(clock.moment().monotonic_ns, start + 9_000 * SECOND, "at once, not at a tick");
    }
}

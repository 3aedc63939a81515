//! A simulated clock: days of recording in milliseconds, with steps, drift and suspends.
//!
//! Clones share one time, so that a test keeps one clone and the recorder owns another.  Time
//! moves only by sleeping, by [`SimClock::advance`], and by the cost set for each reading of it.
//!
//! ```
//! use sample::{Clock, Wake};
//! use testkit::{Event, SimClock};
//!
//! let mut clock = SimClock::default();
//! let second = 1_000_000_000;
//! let start = clock.now().monotonic_ns;
//! clock.at(start + second / 2, Event::StepRealtime(-3_600 * second as i64));
//! clock.at(start + 2 * second, Event::Interrupt);
//! assert_eq!(clock.sleep_until(start + second), Wake::Due);
//! assert_eq!(clock.sleep_until(start + 3 * second), Wake::Interrupted);
//! assert_eq!(clock.now().monotonic_ns, start + 2 * second);
//! ```

use std::cell::RefCell;
use std::rc::Rc;

use sample::{Clock, Moment, Wake};

/// Something that happens at a given time of the monotonic clock.
pub enum Event {
    /// The wall clock is set: it jumps by this many nanoseconds, forward or back.
    StepRealtime(i64),
    /// The machine is suspended, or whit is not scheduled, for this many nanoseconds: both clocks
    /// advance, and sleepers wake up late.
    Suspend(u64),
    /// A signal ends a sleep.
    Interrupt,
    /// Anything else: the files of a fake host change, the disk fills up.
    Call(Box<dyn FnOnce()>),
}

/// A clock that a test controls.
#[derive(Clone)]
pub struct SimClock(Rc<RefCell<Time>>);

struct Time {
    now: Moment,
    /// Drift of the wall clock against the monotonic clock, in parts per million.
    drift_ppm: i64,
    /// Drift not yet applied, in millionths of a nanosecond.
    drift_rest: i128,
    look_ns: u64,
    late_ns: u64,
    sleeps: u64,
    /// Sorted by time; events at the same time in the order given.
    events: Vec<(u64, Event)>,
}

impl Default for SimClock {
    /// An hour after boot, on 2026-01-01 at 00:00:00 UTC.
    fn default() -> Self {
        SimClock::new(Moment {
            monotonic_ns: 3_600_000_000_000,
            realtime_ns: 1_767_225_600_000_000_000,
        })
    }
}

impl SimClock {
    /// A clock that starts at `now`.
    pub fn new(now: Moment) -> Self {
        SimClock(Rc::new(RefCell::new(Time {
            now,
            drift_ppm: 0,
            drift_rest: 0,
            look_ns: 0,
            late_ns: 0,
            sleeps: 0,
            events: Vec::new(),
        })))
    }

    /// Sets the drift of the wall clock against the monotonic clock, in parts per million; negative
    /// if it is slow.
    pub fn set_drift_ppm(&self, drift_ppm: i64) {
        self.0.borrow_mut().drift_ppm = drift_ppm;
    }

    /// Sets the time that each reading of the clock takes, so that reads have a cost.
    pub fn set_look_ns(&self, look_ns: u64) {
        self.0.borrow_mut().look_ns = look_ns;
    }

    /// Sets how late every sleep ends.
    pub fn set_late_ns(&self, late_ns: u64) {
        self.0.borrow_mut().late_ns = late_ns;
    }

    /// Schedules an event for `monotonic_ns`; one in the past happens when time next moves.
    pub fn at(&self, monotonic_ns: u64, event: Event) {
        let mut time = self.0.borrow_mut();
        let index = time.events.partition_point(|(at, _)| *at <= monotonic_ns);
        time.events.insert(index, (monotonic_ns, event));
    }

    /// Advances the time by work that takes `ns`.
    pub fn advance(&self, ns: u64) {
        let target = self.0.borrow().now.monotonic_ns.saturating_add(ns);
        self.pass_until(target, false);
    }

    /// Both clocks, without the cost of a reading.
    pub fn moment(&self) -> Moment {
        self.0.borrow().now
    }

    /// The number of sleeps so far.
    pub fn sleeps(&self) -> u64 {
        self.0.borrow().sleeps
    }

    /// Moves time to `target`, past every event on the way.  A sleeper is woken by an interrupt.
    fn pass_until(&self, target: u64, asleep: bool) -> Wake {
        loop {
            let mut time = self.0.borrow_mut();
            let due = time.events.first().is_some_and(|(at, _)| *at <= target);
            if !due {
                time.pass_to(target);
                return Wake::Due;
            }
            let (at, event) = time.events.remove(0);
            time.pass_to(at);
            match event {
                Event::StepRealtime(step_ns) => {
                    time.now.realtime_ns = time.now.realtime_ns.saturating_add(step_ns);
                }
                Event::Suspend(ns) => {
                    let end = time.now.monotonic_ns.saturating_add(ns);
                    time.pass_to(end);
                }
                Event::Interrupt if asleep => return Wake::Interrupted,
                Event::Interrupt => {}
                Event::Call(call) => {
                    drop(time);
                    call();
                }
            }
        }
    }
}

impl Time {
    fn pass_to(&mut self, monotonic_ns: u64) {
        let passed = monotonic_ns.saturating_sub(self.now.monotonic_ns);
        self.now.monotonic_ns += passed;
        self.drift_rest += i128::from(passed) * i128::from(self.drift_ppm);
        let drift = self.drift_rest / 1_000_000;
        self.drift_rest -= drift * 1_000_000;
        let gained = i128::from(self.now.realtime_ns) + i128::from(passed) + drift;
        self.now.realtime_ns = i64::try_from(gained).unwrap_or(i64::MAX);
    }
}

impl Clock for SimClock {
    fn now(&mut self) -> Moment {
        let look_ns = self.0.borrow().look_ns;
        if look_ns > 0 {
            self.advance(look_ns);
        }
        self.moment()
    }

    fn sleep_until(&mut self, monotonic_ns: u64) -> Wake {
        let (now, late_ns) = {
            let mut time = self.0.borrow_mut();
            time.sleeps += 1;
            (time.now.monotonic_ns, time.late_ns)
        };
        if monotonic_ns <= now {
            return Wake::Due;
        }
        self.pass_until(monotonic_ns.saturating_add(late_ns), true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_suspend_makes_the_sleeper_late_and_a_step_moves_one_clock_only() {
        let mut clock = SimClock::default();
        let start = clock.now();
        clock.at(start.monotonic_ns + 1, Event::Suspend(10 * SECOND));
        clock.at(start.monotonic_ns + 2, Event::StepRealtime(-5));
        assert_eq!(clock.sleep_until(start.monotonic_ns + SECOND), Wake::Due);
        let now = clock.now();
        assert_eq!(now.monotonic_ns - start.monotonic_ns, 10 * SECOND + 1);
        assert_eq!(now.realtime_ns - start.realtime_ns, 10 * SECOND as i64 + 1 - 5);
    }

    #[test]
    fn drift_adds_up_exactly() {
        let mut clock = SimClock::default();
        clock.set_drift_ppm(-100);
        let start = clock.now();
        for _ in 0..1000 {
            clock.advance(SECOND / 1000);
        }
        let now = clock.now();
        assert_eq!(now.monotonic_ns - start.monotonic_ns, SECOND);
        assert_eq!(now.realtime_ns - start.realtime_ns, 999_900_000);
    }

    #[test]
    fn calls_run_at_their_time_and_may_look_at_the_clock() {
        let mut clock = SimClock::default();
        let start = clock.now().monotonic_ns;
        let seen = Rc::new(RefCell::new(0));
        let (handle, inner) = (clock.clone(), seen.clone());
        let call = move || *inner.borrow_mut() = handle.moment().monotonic_ns;
        clock.at(start + 7, Event::Call(Box::new(call)));
        clock.set_late_ns(3);
        assert_eq!(clock.sleep_until(start + 10), Wake::Due);
        assert_eq!(*seen.borrow(), start + 7);
        assert_eq!(clock.now().monotonic_ns, start + 13);
        assert_eq!(clock.sleeps(), 1);
    }
}

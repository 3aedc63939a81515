//! Times of calls: a burst as a whole, each call of it, and a few calls after a pause.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use logring::clock;

/// The clock of measurements: the TSC, or `clock_gettime` where that is not usable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks {
    has_tsc: bool,
    begin: u64,
    started: Instant,
}

/// Shortest time over which the length of a tick is determined.
const CALIBRATION: Duration = Duration::from_millis(10);

/// Readings in a row, and how often, that say what one costs.
const READINGS: u32 = 1000;
const READING_BURSTS: u32 = 10;

impl Ticks {
    /// Begins to compare the clocks.
    pub(super) fn start() -> Self {
        let has_tsc = clock::is_tsc_usable();
        let mut ticks = Ticks { has_tsc, begin: 0, started: Instant::now() };
        ticks.begin = ticks.now();
        ticks
    }

    /// A stamp.
    #[inline(always)]
    pub(super) fn now(&self) -> u64 {
        if self.has_tsc { clock::tsc() } else { clock::boottime_ns() }
    }

    /// Nanoseconds of a tick.
    pub(super) fn tick_ns(&self) -> f64 {
        while self.started.elapsed() < CALIBRATION {
            std::hint::spin_loop();
        }
        let elapsed = self.started.elapsed().as_nanos() as f64;
        elapsed / (self.now() - self.begin).max(1) as f64
    }

    /// Ticks that a reading costs: the mean of many in a row, where nothing disturbed them.
    fn reading(&self) -> f64 {
        let bursts = (0..READING_BURSTS).map(|_| {
            let ticks = self.burst(READINGS, |_| {
                std::hint::black_box(self.now());
            });
            ticks as f64 / f64::from(READINGS + 1)
        });
        bursts.fold(f64::MAX, f64::min)
    }

    /// Makes calls as fast as possible; gives the ticks of all of them together.
    #[inline(always)]
    pub(super) fn burst(&self, calls: u32, mut call: impl FnMut(u32)) -> u64 {
        let begin = self.now();
        (0..calls).for_each(&mut call);
        self.now() - begin
    }

    /// Makes calls as fast as possible with a reading of the clock between any two; gives the ticks
    /// of each.
    #[inline(always)]
    fn each(&self, calls: u32, mut call: impl FnMut(u32)) -> Vec<u64> {
        let mut stamps = vec![1; calls as usize + 1];
        stamps[0] = self.now();
        for (number, stamp) in (0..calls).zip(&mut stamps[1..]) {
            call(number);
            *stamp = self.now();
        }
        stamps.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
    }

    /// As [`Ticks::each`], less what a reading of the clock costs.  The clock may move in steps.
    #[inline(always)]
    pub(super) fn each_call(&self, calls: u32, call: impl FnMut(u32)) -> Vec<f64> {
        let reading = self.reading();
        let all = self.each(calls, call);
        all.into_iter().map(|ticks| (ticks as f64 - reading).max(0.0)).collect()
    }
}

/// Calls in a row in the paced method.
const PACED_CALLS: u32 = 20;

/// Shortest pause before them, and how much longer it may be.
const PAUSE_NS: u64 = 2_000_000;
const PAUSE_VARIES_NS: u64 = 200_000;

/// Where threads meet before a burst.  All of them are ready to run when the first goes on, so none is
/// woken, and put in the place of another, during the calls.
#[derive(Debug)]
pub(super) struct StartLine {
    threads: u32,
    arrived: AtomicU32,
}

impl StartLine {
    /// For so many threads.
    pub(super) fn new(threads: u32) -> Self {
        StartLine { threads, arrived: AtomicU32::new(0) }
    }

    /// Waits until all are here for the time `turn`, counted from 0.
    pub(super) fn meet(&self, turn: u32) {
        let all = self.threads.wrapping_mul(turn.wrapping_add(1));
        self.arrived.fetch_add(1, Ordering::AcqRel);
        while self.arrived.load(Ordering::Acquire).wrapping_sub(all).cast_signed() < 0 {
            std::thread::yield_now();
        }
    }
}

/// How a contestant makes its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallPattern {
    /// Twenty calls in a row after a pause, instead of a burst.
    pub is_paced: bool,
    /// Threads that call at once.
    pub threads: u32,
    /// Calls of a thread in a burst.
    pub calls: u32,
    /// Bursts, or pauses.
    pub turns: u32,
}

/// Nanoseconds a call, of each turn: all threads call at once, and `rest` runs after each burst, or
/// after each hundredth pause, before the next.  `call` gets a thread's number and a call's.
///
/// # Panics
/// If a call does.
#[inline(always)]
pub fn turns(
    pattern: CallPattern,
    mut rest: impl FnMut(),
    call: impl Fn(u32, u32) + Sync,
) -> Vec<f64> {
    let ticks = Ticks::start();
    let barrier = Barrier::new(pattern.threads as usize + 1);
    let start_line = StartLine::new(pattern.threads);
    let (sender, receiver) = mpsc::channel();
    let (barrier, start_line, call) = (&barrier, &start_line, &call);
    // Paced calls come in groups, so that what they leave behind is cleared outside of them.
    let (groups, group) = match pattern.is_paced {
        true => (pattern.turns.div_ceil(PACED_GROUP), PACED_GROUP.min(pattern.turns)),
        false => (pattern.turns, 1),
    };
    let calls = if pattern.is_paced { PACED_CALLS } else { pattern.calls };
    let mut all = vec![0.0; (groups * group) as usize];
    std::thread::scope(|scope| {
        for thread in 0..pattern.threads {
            let sender = sender.clone();
            scope.spawn(move || {
                let mut pauses = Pauses { random: u64::from(thread) + 1 };
                for number in 0..groups {
                    barrier.wait();
                    start_line.meet(number);
                    let turn = |_| {
                        if pattern.is_paced {
                            pauses.wait();
                        }
                        // The only place that calls, so that the call is compiled into the loop, as
                        // a program's own is.
                        ticks.burst(calls, |number| call(thread, number))
                    };
                    let turns: Vec<u64> = (0..group).map(turn).collect();
                    barrier.wait();
                    let _ = sender.send((number, turns));
                }
            });
        }
        for _ in 0..groups {
            barrier.wait();
            barrier.wait();
            rest();
        }
    });
    drop(sender);
    let part = ticks.tick_ns() / f64::from(calls) / f64::from(pattern.threads);
    for (number, turns) in receiver {
        let from = (number * group) as usize;
        for (slot, ticks) in all[from..].iter_mut().zip(turns) {
            *slot += ticks as f64 * part;
        }
    }
    all
}

/// Pauses after which the rest of the work is done.
const PACED_GROUP: u32 = 100;

/// The pauses of the paced method, of random lengths.
struct Pauses {
    random: u64,
}

impl Pauses {
    /// Waits, without giving up the CPU.
    fn wait(&mut self) {
        // xorshift64
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let pause = Duration::from_nanos(PAUSE_NS + self.random % PAUSE_VARIES_NS);
        let begin = Instant::now();
        while begin.elapsed() < pause {
            std::hint::spin_loop();
        }
    }
}

/// A part (0.5 is the median) of sorted values; 0 without values.
pub(super) fn quantile(sorted: &[f64], part: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the length")]
    sorted[(part * last as f64).round() as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_timed() {
        let ticks = Ticks::start();
        let mut count = 0_u64;
        let all = ticks.each_call(100, |_| count += 1);
        assert_eq!((count, all.len()), (100, 100));
        let slow = ticks.each_call(3, |_| std::thread::sleep(Duration::from_millis(1)));
        let ns = slow.iter().map(|one| one * ticks.tick_ns()).fold(f64::MAX, f64::min);
        assert!((900_000.0..1e9).contains(&ns), "{ns}");
    }

    #[test]
    fn every_turn_of_every_thread_counts() {
        use std::sync::atomic::{AtomicU32, Ordering};
        for (is_paced, expected) in [(false, 2 * 50 * 3), (true, 2 * 20 * 3)] {
            let pattern = CallPattern { is_paced, threads: 2, calls: 50, turns: 3 };
            let (count, mut rests) = (AtomicU32::new(0), 0);
            let all = turns(
                pattern,
                || rests += 1,
                |_, _| {
                    count.fetch_add(1, Ordering::Relaxed);
                },
            );
            assert_eq!((count.into_inner(), all.len()), (expected, 3));
            assert_eq!(rests, if is_paced { 1 } else { 3 });
            assert!(all.iter().all(|ns| *ns > 0.0), "{all:?}");
        }
    }

    #[test]
    fn quantiles_are_values() {
        let sorted = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|part| quantile(&sorted, part)), [1.0, 3.0, 5.0, 5.0]);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }
}

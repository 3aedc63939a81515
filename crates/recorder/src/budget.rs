//! A budget: a limit on the share of one CPU that the recorder uses.  Above it, the most expensive
//! sources are read less often, and the samples left out have the state [`State::Skipped`].
//!
//! Counted is all CPU time after the first tick, whose readings are expensive: that of the recorder's process, which waits,
//! reads, draws and writes, and that of its BPF programs in other tasks.  Only reading can be left
//! out, so what the rest takes is subtracted from the budget before it is shared among the sources.
//!
//! Every source has a stride: it is read at every stride-th time that it is due.  After every
//! [`ROUND_TICKS`] ticks the expected cost of a tick's reading is compared with what it may take.
//! If it is above, the stride of the most expensive source is increased by a step, until the cost
//! fits.  If a stride can be decreased and all still fits, it is decreased.
//!
//! What was used above the budget is saved later, and what was not used may be used later, within
//! limits ([`CREDIT_TICKS`], [`DEBT_TICKS`]): so the average holds, though estimates are wrong.
//!
//! Some sources slow down other processes even between readings: each traced system call takes
//! longer.  The source's estimate of that cost is added to the cost of all reading.  If the sum is
//! above the budget of a round, the source is stopped for good.
//!
//! The costs of single sources are those in the samples.  They are wall time: a read during which
//! another process ran appears too expensive.  So a lower cost replaces the estimate, and a higher
//! one moves it only halfway.  Where they are wrong together, the recorder's CPU time corrects them.

use sample::{Snapshot, SourceDef, State};
use std::sync::Arc;

/// Ticks between two comparisons of costs with the budget.
const ROUND_TICKS: u32 = 8;

/// The longest stride.  With a longer one a source would be nearly useless.
const STRIDE_MAX: u32 = 64;

/// A stride is decreased only if the cost is then below this share of what reading may take.
const ROOM: f64 = 0.95;

/// Over how many ticks what was used too much is saved.
const REPAY_TICKS: f64 = 32.0;

/// What is saved for later: the budget of this many ticks at most.  More would allow a long time
/// far above the budget after a quiet one.
const CREDIT_TICKS: f64 = 8.0;

/// What has to be saved: the budget of this many ticks at most.  With more, a cost that nothing can
/// reduce would leave the sources unread long after it has gone.
const DEBT_TICKS: f64 = 512.0;

/// The least share of their duration for which readings are on a CPU.  Beside other work they take
/// longer than their CPU time, but not all of them do.
const CPU_SHARE_MIN: f64 = 0.5;

/// The source that is never skipped: the recorder's own cost must always be recorded.
const ALWAYS: &str = "whit";

/// The cost of each source, and how often it is read.
#[derive(Debug)]
pub struct Budget {
    /// For one tick.
    allowed_ns: f64,
    interval_ns: f64,
    sources: Vec<SourceCost>,
    /// Ticks in this round.
    ticks: u32,
    /// What this round's readings took by the estimates.
    read_ns: f64,
    /// What the recorder had used when this round began; `None` before the first tick.
    begin: Option<Used>,
    /// CPU time of a tick beside reading.
    other_ns: Option<f64>,
    /// CPU time of readings as a share of what they take by the estimates.
    cpu_share: f64,
    /// What was not used of the budget so far; negative if more was used.
    credit_ns: f64,
}

/// The recorder's CPU time so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// CPU time of the process and of its BPF programs.
    pub cpu_ns: u64,
    /// When this was read, on the monotonic clock.
    pub monotonic_ns: u64,
}

#[derive(Debug)]
struct SourceCost {
    always: bool,
    cost_ns: f64,
    stride: u32,
    left: u32,
    /// The number of ticks from one due time of the source to the next.
    every: f64,
    /// The cost to other processes in this round.
    burden_ns: f64,
}

impl Budget {
    /// A budget of `percent` of one CPU for these sources.  Each is due at every `every(def)`-th
    /// tick; ticks are `interval_ns` apart.
    pub fn new(
        percent: f64,
        interval_ns: u64,
        defs: &[Arc<SourceDef>],
        every: impl Fn(&SourceDef) -> u64,
    ) -> Self {
        let account = |def: &Arc<SourceDef>| SourceCost {
            always: def.name == ALWAYS,
            cost_ns: 0.0,
            stride: 1,
            left: 0,
            every: every(def).max(1) as f64,
            burden_ns: 0.0,
        };
        Budget {
            allowed_ns: interval_ns as f64 * percent / 100.0,
            interval_ns: interval_ns as f64,
            sources: defs.iter().map(account).collect(),
            ticks: 0,
            read_ns: 0.0,
            begin: None,
            other_ns: None,
            cpu_share: 1.0,
            credit_ns: 0.0,
        }
    }

    /// Whether to skip a source that is due.
    #[inline]
    pub fn leaves_out(&mut self, index: usize) -> bool {
        let account = &mut self.sources[index];
        if account.left > 0 {
            account.left -= 1;
            return true;
        }
        account.left = account.stride - 1;
        false
    }

    /// Adds the cost of a source to other processes.  Returns false if this and the cost of all
    /// reading exceed a round's budget, so that the source must stop.
    pub fn allows(&mut self, index: usize, burden_ns: u64) -> bool {
        let round_ns = f64::from(ROUND_TICKS) * (self.allowed_ns - self.expected_ns()).max(0.0);
        let account = &mut self.sources[index];
        account.burden_ns += burden_ns as f64;
        account.burden_ns <= round_ns
    }

    /// Updates the estimates with the costs of a tick.
    #[inline]
    pub fn learn(&mut self, snapshot: &Snapshot, used: Used) {
        for (account, (sample, &fresh)) in
            self.sources.iter_mut().zip(snapshot.samples.iter().zip(&snapshot.fresh))
        {
            if !fresh || sample.state == State::Skipped {
                continue;
            }
            let cost_ns = sample.cost_ns as f64;
            account.cost_ns = if account.cost_ns == 0.0 || cost_ns < account.cost_ns {
                cost_ns
            } else {
                (account.cost_ns + cost_ns) / 2.0
            };
            self.read_ns += account.cost_ns;
        }
        let Some(begin) = self.begin else {
            self.balance(self.allowed_ns);
            self.begin_round(used);
            return;
        };
        self.ticks += 1;
        if self.ticks == ROUND_TICKS {
            let reading_ns = self.settle(begin, used);
            self.balance(reading_ns);
            self.begin_round(used);
        }
    }

    fn begin_round(&mut self, used: Used) {
        self.sources.iter_mut().for_each(|account| account.burden_ns = 0.0);
        self.ticks = 0;
        self.read_ns = 0.0;
        self.begin = Some(used);
    }

    /// Compares a round with its budget; returns what a tick's reading may take in the next one.
    fn settle(&mut self, begin: Used, used: Used) -> f64 {
        let cpu_ns = used.cpu_ns.saturating_sub(begin.cpu_ns) as f64;
        let passed_ns = used.monotonic_ns.saturating_sub(begin.monotonic_ns) as f64;
        // By the time that has passed: a tick that was missed has a budget too.
        let allowed_ns = self.allowed_ns * passed_ns / self.interval_ns;
        let (debt_ns, credit_ns) = (DEBT_TICKS * self.allowed_ns, CREDIT_TICKS * self.allowed_ns);
        self.credit_ns = (self.credit_ns + allowed_ns - cpu_ns).clamp(-debt_ns, credit_ns);
        let other_ns = (cpu_ns - self.read_ns).max(0.0) / f64::from(self.ticks);
        let cpu_share = (cpu_ns / self.read_ns.max(1.0)).clamp(CPU_SHARE_MIN, 1.0);
        let before_ns = self.other_ns.unwrap_or(other_ns);
        let other_ns = f64::midpoint(before_ns, other_ns);
        self.other_ns = Some(other_ns);
        self.cpu_share = f64::midpoint(self.cpu_share, cpu_share);
        (self.allowed_ns - other_ns + self.credit_ns / REPAY_TICKS) / self.cpu_share
    }

    fn expected_ns(&self) -> f64 {
        self.sources.iter().map(SourceCost::expected_ns).sum()
    }

    /// Sets the strides so that a tick's reading takes this long.
    fn balance(&mut self, reading_ns: f64) {
        let mut expected_ns = self.expected_ns();
        while expected_ns > reading_ns {
            let can = |account: &&mut SourceCost| !account.always && account.stride < STRIDE_MAX;
            let costliest = self
                .sources
                .iter_mut()
                .filter(can)
                .max_by(|one, other| one.expected_ns().total_cmp(&other.expected_ns()));
            let Some(costliest) = costliest else { return };
            expected_ns -= costliest.expected_ns();
            costliest.stride = longer(costliest.stride);
            expected_ns += costliest.expected_ns();
        }
        loop {
            let strided = self.sources.iter_mut().filter(|account| account.stride > 1);
            let Some(longest) = strided.max_by_key(|account| account.stride) else { return };
            let shorter = shorter(longest.stride);
            let with_it_ns = expected_ns - longest.expected_ns() + longest.expected_with(shorter);
            if with_it_ns > ROOM * reading_ns {
                return;
            }
            expected_ns = with_it_ns;
            longest.stride = shorter;
            longest.left = longest.left.min(shorter - 1);
        }
    }
}

/// The next longer stride: a quarter more.
fn longer(stride: u32) -> u32 {
    (stride + (stride / 4).max(1)).min(STRIDE_MAX)
}

/// The next shorter stride.
fn shorter(stride: u32) -> u32 {
    stride - (stride / 5).max(1)
}

impl SourceCost {
    /// The average cost of the source per tick.
    fn expected_ns(&self) -> f64 {
        self.expected_with(self.stride)
    }

    /// The expected cost with another stride.
    fn expected_with(&self, stride: u32) -> f64 {
        self.cost_ns / (self.every * f64::from(stride))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sample::Sample;

    const SECOND: u64 = 1_000_000_000;

    fn defs(names: &[&str]) -> Vec<Arc<SourceDef>> {
        names.iter().map(|name| source::find(name).unwrap().def().shared()).collect()
    }

    /// A recorder that only counts what it would use.
    struct Simulated {
        budget: Budget,
        used: Used,
        /// What it had used after the first tick.
        begin: Option<Used>,
        /// CPU time of a reading as a share of its duration.
        cpu_share: f64,
    }

    impl Simulated {
        fn new(percent: f64, names: &[&str], every: u64) -> Self {
            let budget = Budget::new(percent, SECOND, &defs(names), |_| every);
            Simulated { budget, used: Used::default(), begin: None, cpu_share: 1.0 }
        }

        /// Lets ticks pass, source `i` costing `costs[i]` and all else `other_ns`; returns how often
        /// each was read.
        fn pass(&mut self, ticks: usize, costs: &[u64], other_ns: u64) -> Vec<u32> {
            let mut reads = vec![0; costs.len()];
            for _ in 0..ticks {
                let mut snapshot = Snapshot {
                    samples: vec![Sample::default(); costs.len()],
                    fresh: vec![true; costs.len()],
                    ..Snapshot::default()
                };
                for (index, &cost_ns) in costs.iter().enumerate() {
                    if self.budget.leaves_out(index) {
                        snapshot.samples[index].state = State::Skipped;
                    } else {
                        snapshot.samples[index].state = State::Ok;
                        snapshot.samples[index].cost_ns = cost_ns;
                        self.used.cpu_ns += (cost_ns as f64 * self.cpu_share) as u64;
                        reads[index] += 1;
                    }
                }
                self.used.cpu_ns += other_ns;
                self.used.monotonic_ns += SECOND;
                self.budget.learn(&snapshot, self.used);
                self.begin.get_or_insert(self.used);
            }
            reads
        }

        fn strides(&self) -> Vec<u32> {
            self.budget.sources.iter().map(|account| account.stride).collect()
        }

        /// What was used after the first tick, in per cent of one CPU.
        fn percent(&self) -> f64 {
            let begin = self.begin.unwrap();
            let passed_ns = (self.used.monotonic_ns - begin.monotonic_ns) as f64;
            (self.used.cpu_ns - begin.cpu_ns) as f64 / passed_ns * 100.0
        }
    }

    #[test]
    fn the_most_expensive_is_read_less_often_and_comes_back() {
        // 1 % of a second is 10 ms; cpu costs 40 ms, whit 0.1 ms: whit is never left out.
        let mut recorder = Simulated::new(1.0, &["cpu", "whit"], 1);
        recorder.pass(64, &[40_000_000, 100_000], 0);
        let reads = recorder.pass(64, &[40_000_000, 100_000], 0);
        assert!((13..=17).contains(&reads[0]) && reads[1] == 64, "{reads:?}");
        // Cheap again: at once.
        recorder.pass(16, &[1_000_000, 100_000], 0);
        assert_eq!(recorder.strides(), [1, 1]);
    }

    #[test]
    fn the_average_holds_whatever_reading_and_the_rest_cost() {
        for percent in [0.3, 1.0, 3.0] {
            for other_ns in [0, 500_000, 2_000_000] {
                for cost_ns in [1_300_000, 9_000_000, 70_000_000] {
                    let names = ["cpu", "memory", "disk", "whit"];
                    let mut recorder = Simulated::new(percent, &names, 1);
                    let costs = [cost_ns, cost_ns / 2, cost_ns / 3, 10_000];
                    recorder.pass(400, &costs, other_ns);
                    let reading_ns = costs.iter().sum::<u64>();
                    // The longest strides, and the second tick, at which all are read again.
                    let least_ns = other_ns + reading_ns / 64 + reading_ns / 400;
                    if least_ns as f64 / 1e7 > percent {
                        continue;
                    }
                    let wanted = percent.min((reading_ns + other_ns) as f64 / 1e7);
                    let got = recorder.percent();
                    assert!(
                        got <= wanted * 1.1 && got >= wanted * 0.8,
                        "{percent} %, {other_ns} ns, {cost_ns} ns: {got} %"
                    );
                }
            }
        }
    }

    #[test]
    fn wrong_estimates_are_corrected_by_the_cpu_time() {
        // Readings take twice the CPU time that their duration says, then half of it.
        for cpu_share in [2.0, 0.5] {
            let mut recorder = Simulated::new(1.0, &["cpu", "whit"], 1);
            recorder.cpu_share = cpu_share;
            recorder.pass(400, &[90_000_000, 100_000], 0);
            let got = recorder.percent();
            assert!((0.8..=1.1).contains(&got), "{cpu_share}: {got} %");
        }
    }

    #[test]
    fn a_first_reading_that_waits_long_is_soon_forgotten() {
        let mut recorder = Simulated::new(0.01, &["cpu", "memory", "whit"], 1);
        recorder.cpu_share = 0.005;
        recorder.pass(1, &[200_000_000, 200_000_000, 10_000], 20_000);
        recorder.cpu_share = 1.0;
        let reads = recorder.pass(64, &[1_000_000, 1_000_000, 10_000], 20_000);
        assert!(reads[0] + reads[1] < 20, "{reads:?}");
    }

    #[test]
    fn readings_that_wait_for_a_cpu_do_not_loosen_the_limit() {
        let mut recorder = Simulated::new(0.3, &["cpu", "memory", "whit"], 1);
        for tick in 0..800_u64 {
            // Each third reading of a source takes ten times its CPU time.
            let waits = if tick % 3 == 0 { 10 } else { 1 };
            recorder.cpu_share = 1.0 / waits as f64;
            recorder.pass(1, &[4_000_000, 3_000_000, 10_000].map(|ns| ns * waits), 300_000);
        }
        let got = recorder.percent();
        assert!((0.2..=0.33).contains(&got), "{got} %");
    }

    #[test]
    fn what_cannot_be_met_ends_at_the_longest_stride() {
        let mut recorder = Simulated::new(0.001, &["cpu", "whit"], 1);
        recorder.pass(50, &[40_000_000, 40_000_000], 0);
        assert_eq!(recorder.strides(), [STRIDE_MAX, 1]);
    }

    #[test]
    fn a_cost_to_others_is_allowed_as_long_as_it_fits_a_round() {
        // 10 ms a tick are allowed, so 80 ms a round; cpu takes 2 of them at each tick.
        let mut recorder = Simulated::new(1.0, &["cpu", "syscall"], 1);
        recorder.pass(1 + 8, &[2_000_000, 0], 0);
        for _ in 0..3 {
            assert!((0..7).all(|_| recorder.budget.allows(1, 8_000_000)));
            recorder.pass(8, &[2_000_000, 0], 0);
        }
        assert!(recorder.budget.allows(1, 63_000_000));
        assert!(!recorder.budget.allows(1, 2_000_000));
    }

    #[test]
    fn a_slow_cadence_weighs_less() {
        let mut recorder = Simulated::new(1.0, &["cpu"], 60);
        for _ in 0..8 {
            // Due, and read, at the first tick of 60 only.
            recorder.budget.learn(&Snapshot::default(), recorder.used);
        }
        recorder.budget.sources[0].cost_ns = 40_000_000.0;
        recorder.budget.balance(10_000_000.0);
        assert_eq!(recorder.strides(), [1]);
    }
}

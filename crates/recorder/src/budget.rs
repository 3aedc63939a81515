//! A budget: a limit on the share of one CPU for reading.  Above it, the most expensive sources are
//! read less often, and the samples left out have the state [`State::Skipped`].
//!
//! Every source has a stride: it is read at every stride-th time that it is due.  After every
//! [`ROUND_TICKS`] ticks the expected cost of a tick is compared with the budget.  If it is above,
//! the stride of the most expensive source is doubled, until the cost fits.  If a stride can be
//! halved and all would still fit with room to spare, it is halved.
//!
//! Some sources slow down other processes even between readings: each traced system call takes
//! longer.  The source's estimate of that cost is added to the cost of all reading.  If the sum is
//! above the budget of a round, the source is stopped for good.
//!
//! Costs are those in the samples.  They are wall time: a read during which another process ran
//! appears too expensive.  So a lower cost replaces the estimate, and a higher one moves it only
//! halfway.

use sample::{Snapshot, SourceDef, State};
use std::sync::Arc;

/// Ticks between two comparisons of costs with the budget.
const ROUND_TICKS: u32 = 8;

/// The longest stride.  With a longer one a source would be nearly useless.
const STRIDE_MAX: u32 = 64;

/// A stride is halved again only if the cost would then be below this share of the budget, so that
/// it does not oscillate.
const ROOM: f64 = 0.8;

/// The source that is never skipped: the recorder's own cost must always be recorded.
const ALWAYS: &str = "whit";

/// The cost of each source, and how often it is read.
#[derive(Debug)]
pub struct Budget {
    allowed_ns: f64,
    sources: Vec<SourceCost>,
    ticks: u32,
}

#[derive(Debug)]
struct SourceCost {
    always: bool,
    cost_ns: f64,
    stride: u32,
    left: u32,
    /// The number of ticks from one due time of the source to the next.
    every: f64,
    /// Its cost to other processes in this round.
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
            sources: defs.iter().map(account).collect(),
            ticks: 0,
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
    pub fn learn(&mut self, snapshot: &Snapshot) {
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
        }
        self.ticks += 1;
        if self.ticks == ROUND_TICKS {
            self.ticks = 0;
            self.sources.iter_mut().for_each(|account| account.burden_ns = 0.0);
            self.balance();
        }
    }

    /// The strides of all sources.
    #[cfg(test)]
    fn strides(&self) -> impl Iterator<Item = u32> {
        self.sources.iter().map(|account| account.stride)
    }

    fn expected_ns(&self) -> f64 {
        self.sources.iter().map(SourceCost::expected_ns).sum()
    }

    fn balance(&mut self) {
        let mut expected_ns = self.expected_ns();
        while expected_ns > self.allowed_ns {
            let can = |account: &&mut SourceCost| !account.always && account.stride < STRIDE_MAX;
            let costliest = self
                .sources
                .iter_mut()
                .filter(can)
                .max_by(|one, other| one.expected_ns().total_cmp(&other.expected_ns()));
            let Some(costliest) = costliest else { return };
            expected_ns -= costliest.expected_ns() / 2.0;
            costliest.stride *= 2;
        }
        let longest =
            self.sources.iter_mut().filter(|a| a.stride > 1).max_by_key(|account| account.stride);
        if let Some(longest) = longest
            && expected_ns + longest.expected_ns() < ROOM * self.allowed_ns
        {
            longest.stride /= 2;
            longest.left = longest.left.min(longest.stride - 1);
        }
    }
}

impl SourceCost {
    /// The average cost of the source per tick.
    fn expected_ns(&self) -> f64 {
        self.cost_ns / (self.every * f64::from(self.stride))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sample::Sample;

    fn defs(names: &[&str]) -> Vec<Arc<SourceDef>> {
        names.iter().map(|name| source::find(name).unwrap().def().shared()).collect()
    }

    /// Lets ticks pass, source `i` costing `costs[i]`; returns how often each was read.
    fn pass(budget: &mut Budget, ticks: usize, costs: &[u64]) -> Vec<u32> {
        let mut reads = vec![0; costs.len()];
        for _ in 0..ticks {
            let mut snapshot = Snapshot {
                samples: vec![Sample::default(); costs.len()],
                fresh: vec![true; costs.len()],
                ..Snapshot::default()
            };
            for (index, &cost_ns) in costs.iter().enumerate() {
                if budget.leaves_out(index) {
                    snapshot.samples[index].state = State::Skipped;
                } else {
                    snapshot.samples[index].state = State::Ok;
                    snapshot.samples[index].cost_ns = cost_ns;
                    reads[index] += 1;
                }
            }
            budget.learn(&snapshot);
        }
        reads
    }

    #[test]
    fn the_most_expensive_is_read_less_often_and_comes_back() {
        // 1 % of a second is 10 ms; cpu costs 1 ms, whit 50 ms: whit is never left out.
        let mut budget = Budget::new(1.0, 1_000_000_000, &defs(&["cpu", "whit"]), |_| 1);
        pass(&mut budget, 8, &[40_000_000, 100_000]);
        assert_eq!(budget.strides().collect::<Vec<_>>(), [8, 1]);
        let reads = pass(&mut budget, 64, &[40_000_000, 100_000]);
        assert_eq!(reads, [8, 64]);
        // Cheap again: the stride goes back step by step.
        pass(&mut budget, 200, &[1_000_000, 100_000]);
        assert_eq!(budget.strides().collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn what_cannot_be_met_ends_at_the_longest_stride() {
        let mut budget = Budget::new(0.001, 1_000_000_000, &defs(&["cpu", "whit"]), |_| 1);
        pass(&mut budget, 50, &[40_000_000, 40_000_000]);
        assert_eq!(budget.strides().collect::<Vec<_>>(), [STRIDE_MAX, 1]);
    }

    #[test]
    fn a_cost_to_others_is_allowed_as_long_as_it_fits_a_round() {
        // 10 ms a tick are allowed, so 80 ms a round; cpu takes 2 of them at each tick.
        let mut budget = Budget::new(1.0, 1_000_000_000, &defs(&["cpu", "syscall"]), |_| 1);
        pass(&mut budget, 8, &[2_000_000, 0]);
        for _ in 0..3 {
            assert!((0..7).all(|_| budget.allows(1, 8_000_000)));
            pass(&mut budget, 8, &[2_000_000, 0]);
        }
        assert!(budget.allows(1, 63_000_000));
        assert!(!budget.allows(1, 2_000_000));
    }

    #[test]
    fn a_slow_cadence_weighs_less() {
        let mut budget = Budget::new(1.0, 1_000_000_000, &defs(&["cpu"]), |_| 60);
        pass(&mut budget, 8, &[40_000_000]);
        assert_eq!(budget.strides().collect::<Vec<_>>(), [1]);
    }
}

//! `--halt`: when to stop early, and the exit code of the run.
//!
//! The rules are those of GNU parallel, found by running it:
//!
//! - without `--halt` the exit code is the number of failed jobs, 101 for more than 100;
//! - a percentage is of all jobs, rounded up to a number of jobs;
//! - once a condition is met the exit code is fixed: 0 for `success`; for an amount of one job
//!   (also a percentage that is exactly one job) that job's own status (128 + its signal, 255 if we
//!   killed it, 254 if it was skipped); for a percentage the percentage of failed jobs, rounded up;
//!   for a number the number of failed jobs (101 if `done` found none);
//! - an amount of 0 gives exit code 0, whether met or not;
//! - if a condition is never met, the number of failed jobs, or, for a percentage, their percentage
//!   of all runs, including attempts;
//! - skipped jobs count as failed.

use thiserror::Error;

use crate::Outcome;

/// The largest number of failed jobs that the exit code counts.
const FAILURES_MAX: u64 = 100;

/// What happens once the condition is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Running jobs are ended.
    Now,
    /// Running jobs continue; no other is started.
    Soon,
}

/// Which jobs count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Jobs that failed.
    Fail,
    /// Jobs that succeeded.
    Success,
    /// Jobs that ended, whatever their outcome.
    Done,
}

/// How many jobs must count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// This many.
    Jobs(u64),
    /// This many percent.
    Percent(u64),
}

/// `--halt`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Halt {
    /// Run all jobs, however they end.
    #[default]
    Never,
    /// Stop when enough jobs have ended in a certain way.
    If {
        /// What happens then.
        when: When,
        /// Which jobs count.
        why: Why,
        /// How many must count.
        amount: Amount,
    },
}

/// Why the text of a `--halt` is invalid.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum HaltError {
    /// The first word is unknown.
    #[error("--halt '{0}': it must be never, or begin with now or soon")]
    When(String),
    /// The second word is unknown.
    #[error("--halt '{0}': now and soon must be followed by ,fail= ,success= or ,done=")]
    Why(String),
    /// It does not end with a whole number.
    #[error("--halt '{0}': a number of jobs or a percentage must follow, as in now,fail=1")]
    Amount(String),
}

impl Halt {
    /// Parses `never`, `now,fail=1`, `soon,success=3%` and such, and the old forms `0`, `1`, `2`,
    /// `-1`, `-2` and `3%`.
    ///
    /// # Errors
    /// Why it is invalid.
    pub fn parse(text: &str) -> Result<Self, HaltError> {
        let known = |when, why, amount| Ok(Halt::If { when, why, amount });
        match text {
            "never" | "0" => return Ok(Halt::Never),
            "1" => return known(When::Soon, Why::Fail, Amount::Jobs(1)),
            "2" => return known(When::Now, Why::Fail, Amount::Jobs(1)),
            "-1" => return known(When::Soon, Why::Success, Amount::Jobs(1)),
            "-2" => return known(When::Now, Why::Success, Amount::Jobs(1)),
            _ => {}
        }
        if let Some(percent) = text.strip_suffix('%').and_then(whole) {
            return known(When::Soon, Why::Fail, Amount::Percent(percent));
        }
        let mut words = text.splitn(2, ',');
        let when = match words.next() {
            Some("now") => When::Now,
            Some("soon") => When::Soon,
            _ => return Err(HaltError::When(text.to_owned())),
        };
        let rest = words.next().unwrap_or_default();
        let (why, amount) = rest.split_once('=').unwrap_or((rest, ""));
        let why = match why {
            "fail" => Why::Fail,
            "success" => Why::Success,
            "done" => Why::Done,
            _ => return Err(HaltError::Why(text.to_owned())),
        };
        let amount = match amount.strip_suffix('%') {
            Some(percent) => whole(percent).map(Amount::Percent),
            None => whole(amount).map(Amount::Jobs),
        };
        match amount {
            Some(amount) => known(when, why, amount),
            None => Err(HaltError::Amount(text.to_owned())),
        }
    }

    /// The verb in messages about jobs that count: `This job failed:`, `succeeded`, `finished`.
    pub fn verb(self) -> &'static str {
        match self {
            Halt::If { why: Why::Success, .. } => "succeeded",
            Halt::If { why: Why::Done, .. } => "finished",
            Halt::If { why: Why::Fail, .. } | Halt::Never => "failed",
        }
    }

    /// Whether the total number of jobs must be known.
    pub fn needs_total(self) -> bool {
        matches!(self, Halt::If { amount: Amount::Percent(_), .. })
    }
}

/// Parses a whole number that consists of digits only.
fn whole(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// What the end of a job means for the condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// The job does not count.
    No,
    /// The job counts, but there are not enough yet.
    Counted,
    /// There are enough: stop in this way.
    Stop(When),
}

/// Counts how jobs end.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    halt: Halt,
    total: Option<u64>,
    failed: u64,
    succeeded: u64,
    /// Failed runs after which the job was run again.
    retried: u64,
    /// The exit code, once the condition is met.
    decided: Option<u8>,
}

impl Tally {
    pub(super) fn new(halt: Halt) -> Self {
        Tally { halt, ..Tally::default() }
    }

    /// Sets the total number of jobs, once it is known.
    pub(super) fn set_total(&mut self, total: u64) {
        self.total = Some(total);
    }

    pub(super) fn failed(&self) -> u64 {
        self.failed
    }

    pub(super) fn succeeded(&self) -> u64 {
        self.succeeded
    }

    /// A job has failed and is to be tried again.
    pub(super) fn count_retry(&mut self) {
        self.retried += 1;
    }

    /// A job has ended for good.
    pub(super) fn count(&mut self, outcome: Outcome) -> Reached {
        let good = outcome == Outcome::Exited(0);
        if good {
            self.succeeded += 1;
        } else {
            self.failed += 1;
        }
        let Halt::If { when, why, amount } = self.halt else { return Reached::No };
        let (counts, so_far) = match why {
            Why::Fail => (!good, self.failed),
            Why::Success => (good, self.succeeded),
            Why::Done => (true, self.failed + self.succeeded),
        };
        if !counts {
            return Reached::No;
        }
        match self.needed(amount) {
            Some(needed) if so_far >= needed => {
                if self.decided.is_none() {
                    self.decided = Some(self.decide(why, amount, needed, outcome));
                }
                Reached::Stop(when)
            }
            _ => Reached::Counted,
        }
    }

    /// The amount as a number of jobs; `None` while that is unknown.
    fn needed(&self, amount: Amount) -> Option<u64> {
        match amount {
            Amount::Jobs(jobs) => Some(jobs),
            Amount::Percent(percent) => {
                let share = u128::from(self.total?) * u128::from(percent);
                Some(u64::try_from(share.div_ceil(100)).unwrap_or(u64::MAX))
            }
        }
    }

    /// The exit code when this job has met the condition.
    fn decide(&self, why: Why, amount: Amount, needed: u64, outcome: Outcome) -> u8 {
        match (why, amount) {
            (Why::Success, _) => 0,
            _ if needed == 0 => 0,
            (_, Amount::Jobs(1)) => own_status(outcome),
            (_, Amount::Percent(percent)) if self.is_one_job(percent) => own_status(outcome),
            (_, Amount::Percent(_)) => self.percent_failed(0),
            (_, Amount::Jobs(_)) if self.failed == 0 => capped(FAILURES_MAX + 1),
            (_, Amount::Jobs(_)) => capped(self.failed),
        }
    }

    /// Whether a percentage is exactly one job.
    fn is_one_job(&self, percent: u64) -> bool {
        self.total.is_some_and(|total| u128::from(total) * u128::from(percent) == 100)
    }

    /// The percentage of failed jobs, rounded up, with `more` runs than jobs.
    fn percent_failed(&self, more: u64) -> u8 {
        let total = self.total.unwrap_or(0).max(self.failed).saturating_add(more).max(1);
        capped(self.failed.saturating_mul(100).div_ceil(total))
    }

    /// The exit code of the run.
    pub(super) fn exit_code(&self) -> u8 {
        match (self.decided, self.halt) {
            (Some(code), _) => code,
            (None, Halt::If { amount: Amount::Jobs(0) | Amount::Percent(0), .. }) => 0,
            (None, Halt::If { amount: Amount::Percent(_), .. }) => {
                self.percent_failed(self.retried)
            }
            (None, _) => capped(self.failed),
        }
    }
}

/// A number of failures as an exit code.
fn capped(failures: u64) -> u8 {
    u8::try_from(failures.min(FAILURES_MAX + 1)).unwrap_or(u8::MAX)
}

/// The exit code of one job as that of the run.
fn own_status(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Exited(code) => code,
        Outcome::Signalled(signal) => 128_u8.wrapping_add(signal),
        Outcome::Killed(_) => 255,
        Outcome::Skipped => 254,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Halt {
        Halt::parse(text).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Runs jobs with these exit codes one after the other; how many ran, and the exit code.
    fn run(halt: &str, codes: &[u8]) -> (usize, u8) {
        let mut tally = Tally::new(parsed(halt));
        tally.set_total(codes.len() as u64);
        for (at, code) in codes.iter().enumerate() {
            if let Reached::Stop(_) = tally.count(Outcome::Exited(*code)) {
                return (at + 1, tally.exit_code());
            }
        }
        (codes.len(), tally.exit_code())
    }

    #[test]
    fn without_halt_failures_are_counted_up_to_101() {
        assert_eq!(run("never", &[0, 3, 0, 4]), (4, 2));
        assert_eq!(run("0", &[1; 100]), (100, 100));
        assert_eq!(run("0", &[1; 101]), (101, 101));
        assert_eq!(run("0", &[1; 400]), (400, 101));
    }

    #[test]
    fn numbers_of_jobs_give_the_codes_of_the_incumbent() {
        assert_eq!(run("now,fail=1", &[0, 7, 0]), (2, 7));
        assert_eq!(run("soon,fail=1", &[0, 0, 0]), (3, 0));
        assert_eq!(run("now,fail=2", &[7, 8, 9]), (2, 2));
        assert_eq!(run("now,fail=3", &[7, 8, 0, 9]), (4, 3));
        assert_eq!(run("soon,fail=3", &[7, 8, 0]), (3, 2));
        assert_eq!(run("soon,fail=101", &[9; 180]), (101, 101));
        assert_eq!(run("soon,fail=0", &[0, 7, 8]), (2, 0));
        assert_eq!(run("now,success=1", &[4, 0, 5, 6]), (2, 0));
        assert_eq!(run("now,success=2", &[7, 0, 8, 0, 9]), (4, 0));
        assert_eq!(run("soon,success=3", &[1, 1, 0, 1, 1]), (5, 4));
        assert_eq!(run("now,done=1", &[0, 7]), (1, 0));
        assert_eq!(run("now,done=1", &[7, 7]), (1, 7));
        assert_eq!(run("now,done=2", &[7, 8, 9]), (2, 2));
        assert_eq!(run("now,done=2", &[8, 0, 9]), (2, 1));
        assert_eq!(run("soon,done=2", &[0, 0, 0]), (2, 101));
        assert_eq!(run("soon,done=9", &[7, 8, 0]), (3, 2));
        assert_eq!(run("soon,done=0", &[7, 0, 8]), (1, 0));
        assert_eq!(run("soon,success=0", &[7, 8]), (2, 0));
        assert_eq!(run("soon,success=0%", &[7, 8]), (2, 0));
    }

    #[test]
    fn percentages_are_of_all_jobs_and_rounded_up() {
        assert_eq!(run("soon,fail=50%", &[1; 8]), (4, 50));
        assert_eq!(run("soon,fail=10%", &[0, 7, 0, 0, 0, 0, 0, 0, 0, 8]), (2, 7));
        assert_eq!(run("now,fail=30%", &[0, 7, 0, 7, 0, 7, 0, 0]), (6, 38));
        assert_eq!(run("now,fail=30%", &[0, 7, 0, 7, 0, 7, 0]), (6, 43));
        assert_eq!(run("now,fail=50%", &[0, 0, 7, 0]), (4, 25));
        assert_eq!(run("20%", &[4, 4, 5, 6, 1, 1, 1, 1, 1, 1]), (2, 20));
        assert_eq!(run("0%", &[2, 0, 3]), (1, 0));
        assert_eq!(run("soon,fail=200%", &[7, 0, 8]), (3, 67));
        assert_eq!(run("now,success=50%", &[7, 8, 0, 9]), (4, 75));
        assert_eq!(run("soon,success=100%", &[7, 0, 0]), (3, 34));
        assert_eq!(run("soon,success=100%", &[7, 0, 0, 0, 0, 0]), (6, 17));
        // 10 % of 8 jobs is no whole job, and so not one job.
        assert_eq!(run("soon,fail=10%", &[0, 7, 0, 0, 0, 0, 0, 0]), (2, 13));
        assert_eq!(run("soon,fail=90%", &[7]), (1, 100));
        assert_eq!(run("soon,done=30%", &[1, 0, 1, 0, 0, 0, 1, 1, 1, 1]), (3, 20));
        assert_eq!(run("now,done=30%", &[0; 8]), (3, 0));
        assert_eq!(run("now,done=100%", &[7, 0, 0, 0, 0, 0, 0, 0]), (8, 13));
    }

    #[test]
    fn a_condition_met_is_not_forgotten_by_what_ends_later() {
        let mut tally = Tally::new(parsed("soon,fail=1"));
        assert_eq!(tally.count(Outcome::Exited(6)), Reached::Stop(When::Soon));
        assert_eq!(tally.count(Outcome::Exited(9)), Reached::Stop(When::Soon));
        assert_eq!(tally.count(Outcome::Exited(0)), Reached::No);
        assert_eq!(tally.exit_code(), 6);
    }

    #[test]
    fn a_single_job_gives_its_own_status_however_it_ended() {
        let only = |outcome| {
            let mut tally = Tally::new(parsed("now,fail=1"));
            tally.count(outcome);
            tally.exit_code()
        };
        assert_eq!(only(Outcome::Signalled(9)), 137);
        assert_eq!(only(Outcome::Killed(15)), 255);
        assert_eq!(only(Outcome::Skipped), 254);
    }

    #[test]
    fn without_a_total_a_percentage_waits() {
        let mut tally = Tally::new(parsed("now,fail=1%"));
        assert_eq!(tally.count(Outcome::Exited(1)), Reached::Counted);
        tally.set_total(300);
        assert_eq!(tally.count(Outcome::Exited(1)), Reached::Counted);
        assert_eq!(tally.count(Outcome::Exited(1)), Reached::Stop(When::Now));
    }

    #[test]
    fn a_percentage_never_reached_is_of_all_runs() {
        let mut tally = Tally::new(parsed("soon,fail=25%"));
        tally.set_total(6);
        tally.count_retry();
        tally.count_retry();
        for code in [7, 0, 0, 0, 0, 0] {
            tally.count(Outcome::Exited(code));
        }
        assert_eq!(tally.exit_code(), 13, "one failed of six jobs, which ran eight times");
    }

    #[test]
    fn the_old_forms_are_the_new_ones() {
        let same = |old, new| assert_eq!(parsed(old), parsed(new), "{old}");
        same("1", "soon,fail=1");
        same("2", "now,fail=1");
        same("-1", "soon,success=1");
        same("-2", "now,success=1");
        same("7%", "soon,fail=7%");
        assert!(parsed("7%").needs_total());
        assert!(!parsed("now,fail=7").needs_total());
        assert_eq!(parsed("-1").verb(), "succeeded");
        assert_eq!(parsed("soon,done=7%").verb(), "finished");
        assert_eq!(parsed("1").verb(), "failed");
    }

    #[test]
    fn what_it_cannot_be_is_named() {
        for text in ["", "bogus", "3", "-3", "fail=1", "50"] {
            assert_eq!(Halt::parse(text), Err(HaltError::When(text.to_owned())), "{text}");
        }
        for text in ["now", "soon", "now,foo=1", "now,"] {
            assert_eq!(Halt::parse(text), Err(HaltError::Why(text.to_owned())), "{text}");
        }
        for text in ["now,fail", "now,fail=", "now,fail=x", "now,fail=1.5", "soon,done=-1%"] {
            assert_eq!(Halt::parse(text), Err(HaltError::Amount(text.to_owned())), "{text}");
        }
    }
}

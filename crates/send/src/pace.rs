//! When a sender that follows looks for what is new.
//!
//! It looks just behind a sample, not at a moment of its own: so a request has as many samples as were made
//! in the time between two looks, and the newest of them is not old.  Of samples of each second, looked for
//! every 2 s, each request has two, 0.1 and 1.1 s old.
//!
//! Between two looks is never more than that time, whatever clocks and recorders do, and so no sample waits for
//! longer.  Costs nothing: it is the time of the newest file.

use std::time::Duration;

/// How long after a sample it is looked for the one that comes a whole number of its intervals later:
/// recorders are that late at times.  One that is later still is found alone, and the looks move behind it.
const LATE: Duration = Duration::from_millis(100);

/// How long to wait for the next look if the newest sample was written so long ago, as far as is known.
pub(crate) fn until_next_look(every: Duration, age: Option<Duration>) -> Duration {
    let behind = age.unwrap_or_default().saturating_sub(LATE).as_nanos();
    let passed = behind.checked_rem(every.as_nanos()).unwrap_or(0);
    every.saturating_sub(Duration::from_nanos(u64::try_from(passed).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks for two minutes at recorders, each with its interval and its first time in milliseconds, whose
    /// samples are up to 60 ms late.  Gives how many samples each look found, and the longest that one
    /// waited for it.
    fn looks(every_ms: u64, recorders: &[(u64, u64)], seed: u64) -> (Vec<usize>, u64) {
        let mut random = testkit::Random::from_seed(testkit::seed(seed));
        let mut written: Vec<u64> = Vec::new();
        for (interval_ms, first_ms) in recorders {
            let due = (*first_ms..120_000).step_by(usize::try_from(*interval_ms).unwrap());
            written.extend(due.map(|due| due + random.below(60)));
        }
        written.sort_unstable();
        let (mut now, mut next, mut found, mut longest) = (0, 0, Vec::new(), 0);
        while now < 120_000 {
            let new = written[next..].iter().take_while(|time| **time <= now).count();
            if let Some(oldest) = written.get(next).filter(|_| new > 0) {
                longest = longest.max(now - oldest);
            }
            next += new;
            found.push(new);
            let newest = next.checked_sub(1).map(|at| Duration::from_millis(now - written[at]));
            let wait = until_next_look(Duration::from_millis(every_ms), newest);
            assert!(!wait.is_zero() && wait <= Duration::from_millis(every_ms), "{wait:?}");
            now += u64::try_from(wait.as_millis()).unwrap().max(1);
        }
        (found, longest)
    }

    #[test]
    fn a_look_finds_the_samples_of_its_time_and_none_waits_longer() {
        for first_ms in (0..1000).step_by(50) {
            for (every_ms, each) in [(1000, 1), (2000, 2), (5000, 5)] {
                let (found, longest) = looks(every_ms, &[(1000, first_ms)], 251 + first_ms);
                // The first looks find out when samples come.
                let steady = &found[3..];
                let most = usize::try_from(120_000 / every_ms).unwrap() + 3;
                assert!(found.len() <= most, "{every_ms} {first_ms}: {found:?}");
                // One sample that is later than those before it moves the looks, once.
                let others = steady.iter().filter(|new| **new != each).count();
                assert!(others <= 1, "{every_ms} {first_ms}: {found:?}");
                assert!(longest <= every_ms, "{every_ms} {first_ms}: {longest} ms");
            }
        }
        // Other intervals, and recorders that know nothing of each other.
        for recorders in [
            &[(2000, 30)][..],
            &[(10_000, 700)],
            &[(700, 0)],
            &[(100, 50)],
            &[(1000, 0), (1000, 500), (10_000, 250), (3000, 990)],
        ] {
            let (found, longest) = looks(2000, recorders, 252);
            assert!(longest <= 2000, "{recorders:?}: {longest} ms");
            assert!(found.len() <= 120, "{recorders:?}: {} looks", found.len());
        }
    }

    #[test]
    fn what_no_clock_tells_is_looked_for_in_time() {
        let every = Duration::from_secs(2);
        for (age, wanted_ms) in [
            (None, 2000),
            (Some(Duration::ZERO), 2000),
            (Some(LATE), 2000),
            (Some(Duration::from_millis(900)), 1200),
            (Some(Duration::from_millis(2100)), 2000),
            (Some(Duration::from_millis(7000)), 1100),
        ] {
            assert_eq!(until_next_look(every, age), Duration::from_millis(wanted_ms), "{age:?}");
        }
        let wait = until_next_look(every, Some(Duration::MAX));
        assert!(!wait.is_zero() && wait <= every);
        assert_eq!(until_next_look(Duration::ZERO, Some(Duration::MAX)), Duration::ZERO);
    }
}

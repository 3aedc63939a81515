//! Contestants that take turns, round after round, and are compared by medians.
//!
//! A machine is faster in one minute than in the next, so ratios of neighbouring turns are reliable
//! and absolute numbers are not.

use std::io;

use crate::Progress;

/// The cost of one turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Measurement {
    /// Elapsed time, in µs.
    pub(crate) wall_us: u64,
    /// CPU time in user mode, in µs.
    pub(crate) user_us: u64,
    /// CPU time in the kernel, in µs.
    pub(crate) system_us: u64,
    /// The peak of resident memory, in KiB; 0 for code in this process, where it means nothing.
    pub(crate) resident_kib_max: u64,
    /// CPU time of the program alone, without its children, in µs; `None` where it was not read.
    pub(crate) own_us: Option<u64>,
    /// Bytes of pages that were made dirty; `None` where they were not counted.
    pub(crate) dirtied_bytes: Option<u64>,
}

impl Measurement {
    /// User and system time, in µs.
    pub(crate) fn cpu_us(&self) -> u64 {
        self.user_us + self.system_us
    }

    /// Adds another turn that came after this one.
    pub(crate) fn add(&mut self, other: &Measurement) {
        self.wall_us += other.wall_us;
        self.user_us += other.user_us;
        self.system_us += other.system_us;
        self.resident_kib_max = self.resident_kib_max.max(other.resident_kib_max);
    }
}

impl Measurement {
    /// The cost between an earlier look and this one, for each of some rounds; without wall time.
    pub(crate) fn since(&self, earlier: &Measurement, rounds: u64) -> Self {
        let each = |now: u64, before: u64| now.saturating_sub(before) / rounds.max(1);
        let cpu_us = each(self.cpu_us(), earlier.cpu_us());
        let user_us = each(self.user_us, earlier.user_us).min(cpu_us);
        let dirtied = self.dirtied_bytes.zip(earlier.dirtied_bytes.or(Some(0)));
        Measurement {
            wall_us: 0,
            user_us,
            system_us: cpu_us - user_us,
            dirtied_bytes: dirtied.map(|(now, before)| each(now, before)),
            ..*self
        }
    }
}

/// Elapsed time of a turn, in µs.
pub(crate) fn wall(turn: &Measurement) -> f64 {
    turn.wall_us as f64
}

/// CPU time of a turn, in µs.
pub(crate) fn cpu(turn: &Measurement) -> f64 {
    turn.cpu_us() as f64
}

/// The peak of resident memory of a turn, in KiB.
pub(crate) fn resident(turn: &Measurement) -> f64 {
    turn.resident_kib_max as f64
}

/// One contestant in one case.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Contest<T = ()> {
    /// The name in the tables.
    pub(crate) name: String,
    /// The cost of the turn in each round.
    pub(crate) turns: Vec<Measurement>,
    /// Facts beside the turns.
    pub(crate) facts: T,
}

impl<T> Contest<T> {
    /// A contestant that has had no turn.
    pub(crate) fn new(name: impl Into<String>, facts: T) -> Self {
        Contest { name: name.into(), turns: Vec::new(), facts }
    }

    /// The median of a number over the turns; 0 without turns.
    pub(crate) fn median(&self, of: impl Fn(&Measurement) -> f64) -> f64 {
        median(self.turns.iter().map(of).collect())
    }

    /// The median of a number over the turns that have it; `None` if none has.
    pub(crate) fn median_of(&self, of: impl Fn(&Measurement) -> Option<u64>) -> Option<f64> {
        let known: Vec<f64> = self.turns.iter().filter_map(of).map(|value| value as f64).collect();
        (!known.is_empty()).then(|| median(known))
    }

    /// The median over the rounds of a cost divided by that of `base` in the same round, without
    /// rounds in which `base` cost nothing.
    pub(crate) fn ratio<U>(&self, base: &Contest<U>, of: impl Fn(&Measurement) -> f64) -> f64 {
        let rounds = self.turns.iter().zip(&base.turns);
        let ratios = rounds.map(|(this, base)| of(this) / of(base));
        median(ratios.filter(|ratio| ratio.is_finite()).collect())
    }
}

/// The same work by several contestants.
#[derive(Clone, Debug, Default)]
pub(crate) struct Case<C = (), T = ()> {
    /// The name in the tables.
    pub(crate) name: String,
    /// Facts of the work.
    pub(crate) facts: C,
    pub(crate) contests: Vec<Contest<T>>,
}

impl<C, T> Case<C, T> {
    pub(crate) fn find(&self, name: &str) -> Option<&Contest<T>> {
        self.contests.iter().find(|contest| contest.name == name)
    }

    /// The cost of `this` as a multiple of that of `base`, by rounds; `None` if one of them is
    /// missing, or cost less than the clock shows.
    pub(crate) fn times(
        &self,
        this: &str,
        base: &str,
        of: impl Fn(&Measurement) -> f64,
    ) -> Option<f64> {
        let times = self.find(this)?.ratio(self.find(base)?, of);
        (times > 0.0).then_some(times)
    }
}

/// Lets the contestants of a case take turns, one after the other in every round: `turn` gets the
/// place of a contestant, the contestant and the round.
///
/// # Errors
/// The first error of a turn ends the comparison.
pub(crate) fn in_turn<T, E>(
    progress: &Progress<'_>,
    case: &str,
    rounds: usize,
    contests: &mut [Contest<T>],
    mut turn: impl FnMut(usize, &mut Contest<T>, usize) -> Result<(), E>,
) -> Result<(), E> {
    for round in 0..rounds {
        for (place, contest) in contests.iter_mut().enumerate() {
            progress.show(&format!("{case}: {}, round {} of {rounds}", contest.name, round + 1));
            turn(place, contest, round)?;
        }
    }
    Ok(())
}

/// A program or code that takes turns.
pub(crate) struct Contestant<'a, T = ()> {
    contest: Contest<T>,
    turn: Box<dyn FnMut() -> io::Result<Measurement> + 'a>,
}

impl<'a, T> Contestant<'a, T> {
    /// A contestant whose turn measures itself.
    pub(crate) fn new(
        name: impl Into<String>,
        facts: T,
        turn: impl FnMut() -> io::Result<Measurement> + 'a,
    ) -> Self {
        Contestant { contest: Contest::new(name, facts), turn: Box::new(turn) }
    }
}

/// Lets contestants take `rounds` turns each.
///
/// # Errors
/// The first error of a turn ends the comparison.
pub(crate) fn take_turns<T>(
    progress: &Progress<'_>,
    case: &str,
    rounds: usize,
    contestants: Vec<Contestant<'_, T>>,
) -> io::Result<Vec<Contest<T>>> {
    let (mut contests, mut turns): (Vec<_>, Vec<_>) =
        contestants.into_iter().map(|one| (one.contest, one.turn)).unzip();
    in_turn(progress, case, rounds, &mut contests, |place, contest, _| {
        contest.turns.push((turns[place])()?);
        io::Result::Ok(())
    })?;
    Ok(contests)
}

/// The middle value; the mean of the middle two for an even number; 0 without values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::measure;

    #[test]
    fn contestants_take_turns_and_the_dearer_one_shows() {
        let burn = |steps: u64| {
            measure(|| {
                (0..steps).fold(1u64, |x, step| std::hint::black_box(x.wrapping_mul(31) ^ step))
            })
            .1
        };
        let contestants = vec![
            Contestant::new("light", (), || Ok(burn(3_000_000))),
            Contestant::new("heavy", (), || Ok(burn(60_000_000))),
        ];
        let order = std::cell::RefCell::new(Vec::new());
        let show = |text: &str| order.borrow_mut().push(text.to_owned());
        let contests = take_turns(&Progress::new(&show), "burn", 3, contestants).unwrap();
        let order = order.into_inner();
        assert_eq!(order[..2], ["burn: light, round 1 of 3", "burn: heavy, round 1 of 3"]);
        assert_eq!(order[2], "burn: light, round 2 of 3");
        let case = Case { name: "burn".to_owned(), facts: (), contests };
        let times = case.times("heavy", "light", cpu).unwrap();
        assert!(times > 3.0, "{times} {case:?}");
        assert_eq!(case.times("heavy", "nobody", cpu), None);
        assert!(case.contests[1].median(wall) > 0.0);
        assert_eq!(case.contests[1].median_of(|turn| turn.dirtied_bytes), None);
    }

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), 0.0);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}

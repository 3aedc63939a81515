//! How many cases a test tries, from which seed, and several at once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The variable of a long run, in which tests try all their cases.  `cargo xtask ci --long` sets it.
const LONG: &str = "WHIT_LONG";

/// A short run tries one case in so many.
const SHORT_PART: usize = 10;

/// The number of cases to try: all in a long run, otherwise a tenth of them.
#[must_use]
pub fn share(all: usize) -> usize {
    if is_long() { all } else { all.div_ceil(SHORT_PART) }
}

/// Whether this is a long run, in which tests try all their cases.
#[must_use]
pub fn is_long() -> bool {
    std::env::var_os(LONG).is_some()
}

/// The number in a variable of the environment, or the usual one.
///
/// # Panics
/// If the variable has something else than a number.
#[must_use]
pub fn setting(name: &str, usual: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text}: not a number")),
        Err(_) => usual,
    }
}

/// The seed of a test's random numbers: the number in `WHIT_SEED`, or the usual one.  It is printed,
/// which a test that fails shows.
#[must_use]
#[allow(clippy::print_stderr, reason = "so that a failure can be repeated")]
pub fn seed(usual: u64) -> u64 {
    let seed = setting("WHIT_SEED", usual);
    eprintln!("WHIT_SEED={seed}");
    seed
}

/// The cases of a short run: every tenth or so of them, or all of them in a long run.
pub fn share_of<T>(all: Vec<T>) -> impl Iterator<Item = T> {
    let step = all.len().div_ceil(share(all.len()).max(1)).max(1);
    all.into_iter().step_by(step)
}

/// Does the work for each case in so many threads; the results are in the order of the cases.  For
/// cases that mostly wait, more threads than processors.
///
/// # Panics
/// If the work panics for a case.
pub fn side_by_side<T: Sync, R: Send>(
    cases: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(number) else { break };
                    let result = work(case);
                    results.lock().expect("no panic holds it").push((number, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no panic holds it");
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_cases() {
        let cases: Vec<u32> = (0..100).collect();
        assert_eq!(
            side_by_side(&cases, 4, |case| case * 2),
            cases.iter().map(|c| c * 2).collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_share_is_never_empty() {
        for all in [1, 4, 5, 6, 99] {
            let cases = share_of((0..all).collect()).count();
            assert!(cases > 0 && cases <= share(all) && share(all) <= all, "{all}: {cases}");
        }
        assert_eq!(share_of(Vec::<u8>::new()).count(), 0);
    }
}

//! How many cases a test tries, and from which seed.

/// The variable of a long run, in which tests try all their cases.  `cargo xtask ci --long` sets it.
const LONG: &str = "WHIT_LONG";

/// A short run tries one case in so many.
const SHORT_PART: usize = 5;

/// The number of cases to try: all in a long run, otherwise a fifth of them.
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

//! Rounds beside those of MRTG: the same configuration, the same agents, the same times; databases
//! and logs must be the same in every value.
//!
//! MRTG reads the clock by Perl's `time`, which a module of a line replaces, so that both sides
//! live in the same seconds and whole histories take no time.

#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

mod cached;
mod cfgmaker;
mod clone;
mod conversion;
mod holt_winters;
mod interfaces;
mod rounds;
mod site;
mod thresholds;

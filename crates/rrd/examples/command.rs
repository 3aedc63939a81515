//! Runs one of RRDtool's commands: a small program for the tests that kill it.
//!
//! `command update FILE TIME:VALUE[:VALUE…]…`

use std::process::ExitCode;

use rrd::command::{self, CommandEnvironment};
use rrd::header::Time;
use rrd::update::Moments;

/// Times are seconds, and the zone is UTC.
struct Plain;

impl Moments for Plain {
    fn now(&self) -> Time {
        Time::of_seconds(1_700_000_000)
    }

    fn parse(&self, words: &str) -> Result<i64, String> {
        words.parse().map_err(|_| format!("no number: {words}"))
    }
}

impl CommandEnvironment for Plain {
    fn zone(&self) -> &calendar::CivilZone {
        &calendar::UTC
    }

    fn period(&self, start: &str, end: &str) -> Result<(i64, i64), String> {
        Ok((self.parse(start)?, self.parse(end)?))
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, arguments)) = words.split_first() else { return ExitCode::FAILURE };
    let mut out = Vec::new();
    match command::run(name, arguments, &Plain, &mut out) {
        Some(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

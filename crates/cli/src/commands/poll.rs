//! `whit poll`: polls devices by MRTG's configuration files, once or for ever.
//!
//! What is polled and where it goes is in the crate `poll`; here are the options, the background,
//! the log and the schedule.  Exit codes are MRTG's: 0 done, 2 a wrong configuration, 17
//! already running, 91 some targets are unknown, 92 all are.

mod arguments;
mod index;
mod make;
mod messages;
mod pages;
mod round_recorder;
mod run;
mod samples;
mod schedule;

pub(crate) use self::run::run;
pub(crate) use arguments::PollArguments;

/// Exit code of a wrong configuration, and of every other error.
pub(crate) const FAILURE: u8 = 2;

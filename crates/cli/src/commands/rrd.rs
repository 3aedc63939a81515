//! `whit rrd`: RRDtool's command line.
//!
//! The commands are in the crate `rrdtool`; here are what they know of this machine, and the loop
//! that answers commands from a pipe.
//!
//! Exit codes are RRDtool's: 0, or 1 after `ERROR: …` on standard error.

mod arguments;
mod run;

pub(crate) use self::run::{code, run};
pub(crate) use arguments::RrdArguments;

/// Exit code of every error.
pub(crate) const FAILURE: u8 = 1;

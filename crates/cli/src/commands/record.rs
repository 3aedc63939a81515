//! `whit record`: sample this machine, to the screen or to files.
//!
//! The recorder itself is in the crate `recorder`.

mod arguments;
pub(crate) mod messages;
mod run;
pub(crate) mod signals;
mod start;

pub(crate) use self::run::run;
pub(crate) use arguments::RecordArguments;

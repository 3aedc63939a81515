//! `whit trace`: system calls, counted or told one by one.  Its pieces; the options and the verb
//! itself stand in `commands/trace.rs`.

pub(crate) mod count;
pub(crate) mod events;
pub(crate) mod interruption;
pub(crate) mod output;
pub(crate) mod target;

//! The parts of `whit record` beside the recorder itself: arguments, signals, messages, and the
//! daemon.

pub(crate) mod arguments;
pub(crate) mod daemon;
pub(crate) mod messages;
pub(crate) mod signals;

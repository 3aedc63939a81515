//! What `whit record` is beside the recorder itself: its arguments, signals, messages, and the
//! background.

pub(crate) mod arguments;
pub(crate) mod daemon;
pub(crate) mod messages;
pub(crate) mod signals;

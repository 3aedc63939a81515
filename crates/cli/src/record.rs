//! The recorder behind `whit record`: the loop, its timer, and where samples go.
//!
//! One thread.  A tick sleeps to an absolute time, reads each due source, hands the snapshot to
//! the [`sink`](run::Sink)s, and looks at three flags that signal handlers set.  Everything that
//! needs the time takes a [`Clock`](sample::Clock), so that the tests record whole days in
//! milliseconds.

pub(crate) mod arguments;
pub(crate) mod budget;
pub(crate) mod daemon;
pub(crate) mod facts;
pub(crate) mod file;
pub(crate) mod intervals;
pub(crate) mod live;
pub(crate) mod messages;
pub(crate) mod names;
pub(crate) mod output;
pub(crate) mod plot;
pub(crate) mod roll;
pub(crate) mod run;
pub(crate) mod schedule;
pub(crate) mod signals;
pub(crate) mod sinks;

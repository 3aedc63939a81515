//! The writer's half: a process registers itself, its threads get rings, and a log call is a few
//! stores and a time stamp.
//!
//! * `state` is what a thread keeps, and how a record is stored; `thread` is a call's way there;
//! * `full` is what happens when there is no room;
//! * `throttle` limits the records of a second;
//! * `local_wake` is what a consumer in the process sleeps on;
//! * `process` makes and keeps the files, the dictionary and the table of rings; it notices a fork;
//! * `files` creates and maps files; `argument` says how values are stored.
//!
//! One process, one writer: the state is global, because fork, signal handlers and the ends of
//! threads are too.  Only the start, and a child's first call after `fork`, allocate: a signal
//! handler may log.

mod argument;
mod files;
mod flush;
mod full;
mod local_wake;
mod process;
mod settings;
mod state;
mod thread;
mod throttle;

pub use argument::{
    Argument, ArgumentList, ErasedArguments, Interned, Pointer, RawBytes, RawText, WithAttributes,
};
pub use flush::{
    ConsumerStatus, FlushResult, consumer_status, flush, wait_for_status, wake_status_waiters,
};
pub use local_wake::{local_wakes, wait_for_local_wake, wake_local};
pub use process::{
    SiteDescription, combined_context, context_id, count_dropped, is_started, level_bytes,
    local_files, logger_id, set_configured_levels, set_levels, site_id, stamp_of_boottime, text_id,
};
pub use settings::{FullPolicy, RingSettings};
pub use thread::{
    ThreadPosition, attach_thread, end, scope, set_scope, start, thread_position, write,
    write_suppressed, write_to_signal_ring,
};

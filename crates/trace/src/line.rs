//! Lines: what tasks do, written as `strace` writes it.
//!
//! ```text
//! openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 3
//! [pid  1201] read(3,  <unfinished ...>
//! [pid  1200] +++ exited with 0 +++
//! [pid  1201] <... read resumed>"root:x:0:0:root:/root:/bin/bash\n"..., 4096) = 1201
//! ```
//!
//! A [`Printer`] takes `TraceEvent`s and writes lines; it does nothing else.  The line of a call is
//! begun at its entry, with the arguments that are known then, and finished at its exit; if another
//! task has an event in between, the line is broken and resumed.  If only some results are wanted,
//! a line is held back until the result is known.
//!
//! It keeps the line so far of each task that is in a call.  A line costs a few microseconds, most
//! of them for reading the task's memory.

mod calls;
mod dump;
mod leader;
mod options;
mod parts;
mod paths;
mod printer;
mod stamp;
mod tasks;
#[cfg(test)]
mod tests;
mod tracker;

pub use options::{LineOptions, PidPrefix};
pub use parts::CallText;
pub use printer::{Printer, line_of};
pub use stamp::{Precision, Stamp, TimeFormatError};

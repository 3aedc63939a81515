//! Lines: what tasks do, written as `strace` writes it.
//!
//! ```text
//! openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 3
//! [pid  1201] read(3,  <unfinished ...>
//! [pid  1200] +++ exited with 0 +++
//! [pid  1201] <... read resumed>"root:x:0:0:root:/root:/bin/bash\n"..., 4096) = 1201
//! ```
//!
//! A [`Printer`] is given `TraceEvent`s and writes; it does nothing else.  A call's line is begun when
//! the call begins, as far as its arguments can be told, and ended when it ends; if another task has
//! something to say in between, the line is broken and resumed.  Where only some results are wanted a
//! line is held back until its own is known.
//!
//! Per task that is in a call it keeps the line so far.  One line costs a few microseconds, most of it
//! for reading the task's memory.

mod calls;
mod leader;
mod options;
mod paths;
mod printer;
mod stamp;
mod tasks;
#[cfg(test)]
mod tests;
mod tracker;

pub use options::{LineOptions, PidPrefix};
pub use printer::{Printer, line_of};
pub use stamp::{Precision, Stamp, TimeFormatError};

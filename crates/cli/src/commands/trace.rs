//! `whit trace`: system calls of a command, of processes or of the whole machine.
//!
//! Takes strace's switches where it has them; what it leaves out is refused by name.  Turns the
//! command line into the plain structures of `trace::report`, which does the work.

mod arguments;
mod run;

pub(crate) use self::run::run;
pub(crate) use arguments::TraceArguments;

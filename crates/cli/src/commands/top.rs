//! `whit top`: the processes of this machine or of a recording, on a terminal.

mod arguments;
mod run;

pub(crate) use self::run::{run, terminal};
pub(crate) use arguments::TopArguments;

//! `whit generate` (hidden): writes what is made from the program's own tables: man pages, shell
//! completions, the reference of sources and commands.
//!
//! `cargo xtask gen` and `cargo xtask dist` call it; nothing of it is written by hand.

mod arguments;
mod run;

pub(crate) use self::run::run;
pub(crate) use arguments::GenerateArguments;

//! `whit link`: links under the incumbents' names, so that scripts and habits carry over.
//!
//! Makes symbolic links to this binary.  Never replaces a file that is not such a link already,
//! unless told to.

mod arguments;
mod run;

pub(crate) use self::run::run;
pub(crate) use arguments::LinkArguments;

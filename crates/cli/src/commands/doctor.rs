//! `whit doctor`: what reading this machine costs, and what is missing.
//!
//! Exit code 0 when the verdict is fine, 1 when it is not, 2 on an error.

mod arguments;
mod run;

pub(crate) use self::run::run;
pub(crate) use arguments::DoctorArguments;

//! The parts of `whit log`: servers, what shows records, what asks and sets.

pub(crate) mod admin;
pub(crate) mod filters;
pub(crate) mod reach;
pub(crate) mod remote;
pub(crate) mod serve;
pub(crate) mod show;

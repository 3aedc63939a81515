//! `whit play`: shows recordings, whit's own and collectl's.
//!
//! `run` chooses what is shown; the other files take the feed's frames to views, files and
//! comparisons.

mod arguments;
mod diff;
mod digests;
mod frames;
mod heaviest;
mod notes;
mod plot_files;
mod report;
mod run;
mod steps;
mod views;

pub(crate) use self::run::run;
pub(crate) use arguments::PlayArguments;

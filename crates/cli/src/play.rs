//! Playing recordings: from the feed's frames to views, files and comparisons.

pub(crate) mod arguments;
pub(crate) mod diff;
pub(crate) mod digests;
pub(crate) mod frames;
mod notes;
pub(crate) mod plot_files;
pub(crate) mod views;

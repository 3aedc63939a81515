//! Playing recordings: from files to views.

pub(crate) mod diff;
pub(crate) mod extract;
pub(crate) mod feed;
pub(crate) mod files;
pub(crate) mod glob;
pub(crate) mod period;
pub(crate) mod plot_files;
pub(crate) mod run;
pub(crate) mod to_digests;
mod writer;

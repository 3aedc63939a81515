//! `whit log view`: log records on a terminal, of a store, a central server or an XML file of ACS.
//!
//! `app` holds the state and handles keys; it does not use the terminal.  Records come page by page
//! from a [`LogOrigin`](origin::LogOrigin): `store`, `central`, and `acs_file`, which fills a store of
//! its own.  `window` holds the records around the chosen one, `screen` draws them, `show` is the loop.
//!
//! Uses `log_store`, `log_format`, `log_protocol`, `terminal`, `time_words`.  The environment and the
//! places of files are handed in.  Begin reading with `app`.
//!
//! Memory: at most 3,000 records of 8 KiB of text each, and names that are counted; a key costs the
//! reading of the blocks that have the next page.
#![forbid(unsafe_code)]

mod acs_element;
mod acs_file;
mod app;
mod asked;
mod central;
mod columns;
mod error;
mod export;
mod filters;
#[doc(hidden)]
pub mod fuzzing;
mod keys;
mod origin;
mod row;
mod screen;
mod show;
mod statistics;
mod store;
#[cfg(test)]
mod tests;
mod window;

pub use acs_file::PassedRecords;
pub use central::Connect;
pub use error::ViewError;
pub use filters::kept_filters;
pub use show::{LogScreen, ViewSettings};

//! Round-robin databases: the files of RRDtool, read in every layout and written in one.
//!
//! A file has a header, which says what it keeps and holds the state of consolidation, and rows of
//! a fixed number.  A file never grows: the newest row overwrites the oldest.
//!
//! Uses `rpn`, for data sources that are computed from others; no other crate of ours.
//! Begin with `layout.rs`, which says where each byte of a file is, then `header.rs`, the same as
//! plain structs, then `update.rs`.

mod acceptance;
pub mod check;
mod codec;
pub mod command;
mod compute;
mod consolidate;
pub mod convert;
mod coverage;
pub mod create;
pub mod dump;
mod error;
pub mod fetch;
mod file;
pub mod header;
mod holt_winters;
pub mod image;
pub mod info;
mod layout;
pub mod list;
mod mapping;
pub mod number;
pub mod pipe;
mod populate;
mod prefill;
mod reading;
pub mod repair;
pub mod resize;
pub mod restore;
pub mod restructure;
mod salvage;
pub mod specification;
pub mod tune;
pub mod update;
mod xml;

pub use acceptance::ReadingRules;
pub use error::{Error, Result, reason};
pub use file::{Access, File, Locking};
pub use layout::{FileLayout, LAYOUTS, X86_64};

//! Round-robin databases: the files of RRDtool, read in every layout and written in one.
//!
//! A file has a header, which says what it keeps and holds the state of consolidation, and rows of
//! a fixed number.  A file never grows: the newest row overwrites the oldest.
//!
//! Uses `rpn`, for data sources that are computed from others; no other crate of ours.
//! Begin with `layout.rs`, which says where each byte of a file is, then `header.rs`, the same as
//! plain structs, then `update.rs`.
#![forbid(unsafe_code)]

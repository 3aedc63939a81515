//! Numbers and names in text: what several parts of whit read, write, escape and compare alike.
//!
//! `integer.rs` writes integers, `c_number.rs` what C's `printf` writes, `rrdtool_number.rs` reads and
//! writes numbers with RRDtool's arithmetic, `decimal.rs` writes short fractions quickly.
//! `encoding.rs` writes bytes as hexadecimal digits and as addresses have them.  `escape.rs`
//! makes others' text harmless for terminals, JSON, CSV
//! and markup, `plain.rs` finds the texts that need none of that; `byte_text.rs` keeps bytes that are
//! not UTF-8 in a `String`; `wildcard.rs` matches names with `*`, `?` and
//! `[a-z]` and finds the files that match; `words.rs` splits a line into words; `quantity.rs` reads sizes and
//! spans of time; `error_text.rs` joins an error and its causes.
//!
//! Uses no crate of whit and does no I/O, except that [`wildcard::Wildcards::files`] lists folders.
//! Numbers are appended to what the caller gives; those that stand on a hot path allocate nothing.
//! Begin reading with `c_number.rs`.

#![forbid(unsafe_code)]

pub mod byte_text;
pub mod c_number;
pub mod decimal;
pub mod encoding;
pub mod error_text;
pub mod escape;
pub mod integer;
mod output;
pub mod plain;
pub mod quantity;
pub mod rrdtool_number;
pub mod wildcard;
pub mod words;

pub use output::TextOutput;

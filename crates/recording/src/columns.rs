//! The body of a closed block: its samples, column by column.
//!
//! ```text
//! body    = part, part, …
//! part    = byte kind, byte compression (0 none, 1 zstd), varint stored length, varint plain
//!           length, stored bytes
//!           kind 1: columns; kind 2: kernel texts; kinds 3 and 4: plan and stream (`dense.rs`)
//!           instead of columns; readers skip other kinds
//! columns = varint samples, table of the tick's row, table of each source
//! table   = varint readings; if there are none, nothing follows
//!           varint slots, for each: string name
//!           varint texts, for each: string
//!           varint changes of rows, for each: varint readings since the change before (since the
//!             first reading), varint rows, for each: varint slot
//!           for each slot, for each column: varint first value (presence words as they are,
//!             others zigzagged)
//!           for each slot, for each column: byte coding
//!           for each slot, for each column that has one: its stream
//! texts   = varint paths, for each: string path, varint texts,
//!           for each text: varint samples since the one before (since the first sample),
//!             varint 0 for "unchanged", or 1 + length
//!           then the bytes of all texts, path by path
//! ```
//!
//! The tick's row is a table with one slot without a name, no presence words, and a reading for
//! every sample.  A source has a reading for every sample whose tick row calls it "ok".
//!
//! A stream encodes a slot's values after the first, one *step* for each later reading that has
//! the slot.  Steps of presence words are exclusive ors, all others zigzagged differences:
//!
//! | coding | stream |
//! |---:|---|
//! | 0 | none: the value never changes |
//! | 1 | a varint for each step: the difference from the previous value |
//! | 2 | varint count, then for each step that is not 0: varint zeros before it, varint step |
//! | 3 | a varint for each step: the difference from the previous step (first: from 0) |
//! | 4 | a varint for each step: the difference from the first value |
//!
//! Coding 3 suits clocks and steady counters, coding 4 suits noise around a constant.  The encoder
//! chooses the coding with the fewest significant bits.

mod column;
mod decode;
mod dense;
mod encode;
mod table;
mod texts;

pub(crate) use decode::BlockReplay;
pub(crate) use encode::ColumnEncoder;

/// Kinds of parts.
const PART_COLUMNS: u8 = 1;
const PART_TEXTS: u8 = 2;
const PART_PLAN: u8 = 3;
const PART_STREAM: u8 = 4;

/// Codings of a column's values.
const CONSTANT: u8 = 0;
const DIFFERENCES: u8 = 1;
const SPARSE: u8 = 2;
const SECOND_DIFFERENCES: u8 = 3;
const FROM_FIRST: u8 = 4;

//! The dense coding of a block: a *plan* of what there is, and a *stream* of values, one sample
//! after the other, each told as what a prediction left of it, by an adaptive range coder.
//!
//! ```text
//! plan   = table of the tick's row, table of each source, links
//! table  = varint readings; if there are none, nothing follows
//!          varint slots, for each: string name
//!          varint texts, for each: string
//!          varint changes of rows, for each: varint readings since the change before, edit
//!            (`rows.rs`)
//!          for each column, for each slot: varint first value
//!          for each slot, for each column, packed: what all its steps are multiples of, or 0
//! links  = for each column that changes, packed: 0, or twice how far before it stands the one
//!            that makes the same steps, plus 1 if these are opposite
//! stream = for each sample: the tick's row, then each reading; for each row but in its slot's
//!            first reading: whether it changed; if so a step for each column that changes
//! ```
//!
//! Most of what is left of kernel counters is noise, which costs what it costs; what can be saved
//! is the guess of how large it is (each column is another), and everything that is said twice: by
//! NUMA node and in total, in pages and in KiB, received and sent on the loopback.  Compared with
//! columns and zstd it takes a third off, and some 50 µs of CPU a sample with 500 changes: too much
//! for samples taken flat out, a 20,000th of a CPU at one a second.
//!
//! A reader's memory goes by what the plan holds and by the columns that change, never by what
//! comes out.  Rows that do not change cost a few hundredths of a bit.

mod coder;
mod decode;
mod encode;
mod model;

pub(super) use decode::DenseReplay;
pub(super) use encode::DenseEncoder;

/// Limit of the columns that change in a block: each takes some 300 bytes while it is coded.
const LIVE_MAX: usize = 1 << 18;

//! The dense coding of a block: a *plan* of its rows and columns, and a *stream* of values, one
//! sample after the other, each coded as its difference from a prediction by an adaptive range
//! coder.
//!
//! ```text
//! plan   = table of the tick's row, table of each source, links
//! table  = varint readings; if there are none, nothing follows
//!          varint slots, for each: string name
//!          varint texts, for each: string
//!          varint changes of rows, for each: varint readings since the previous change, edit
//!            (`rows.rs`)
//!          for each column, for each slot: varint first value
//!          for each slot, for each column, packed: the unit, a common divisor of all steps, or 0
//! links  = for each column that changes, packed: 0, or twice the distance back to the column
//!            with the same steps, plus 1 if these have the opposite sign
//! stream = for each sample: the tick's row, then each reading; for each row except in its slot's
//!            first reading: whether it changed; if so a step for each column that changes
//! ```
//!
//! After prediction most of a kernel counter is noise, which cannot be compressed.  The savings
//! come from learning the magnitude of each column's noise, and from links between columns with
//! equal values: per NUMA node and in total, in pages and in KiB, received and sent on loopback.
//! The result is a third smaller than columns with zstd, and costs about 50 µs of CPU time per
//! sample with 500 changes: too much for samples at full speed, a 20,000th of a CPU at one a
//! second.
//!
//! A reader needs memory in proportion to the plan and to the columns that change, never to the
//! decoded samples.  A row that does not change costs a few hundredths of a bit.

mod coder;
mod decode;
mod encode;
mod model;

pub(super) use decode::DenseReplay;
pub(super) use encode::DenseEncoder;

/// Limit of the columns that change in a block: each needs about 300 bytes while it is coded.
const LIVE_MAX: usize = 1 << 18;

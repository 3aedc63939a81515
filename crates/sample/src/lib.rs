//! The types that every other crate of whit uses: fields, sources, readings, and a history of two
//! readings.
//!
//! Uses no other crate of whit; does no I/O and has no options.  A source fills
//! [`Table`]s and knows no view; a view reads a history through crate `layout` and knows no source;
//! both know only [`Field`]s.
//!
//! The path of a number through whit:
//!
//! ```text
//! kernel text ─ source ─▶ Table ─▶ Sample ─▶ recording ─▶ Sample ─▶ History ─▶ layout::Frame ─▶ view
//! ```
//!
//! Begin with [`SourceDef`], [`Table`] and [`Snapshot`].
#![forbid(unsafe_code)]

mod age_clock;
mod cells;
mod clock;
mod def;
mod field;
mod history;
mod interner;
mod meta;
mod polled;
mod reading;
mod table;

pub use age_clock::AgeClock;
pub use cells::Cells;
pub use clock::{Clock, DESCRIPTORS_MAX, Moment, Wake};
pub use def::{Cadence, Level, SourceDef};
pub use field::{Field, Kind, Unit};
#[doc(hidden)]
pub use field::{ascii_text, lower_case};
pub use history::{History, Track, increase, seconds_between};
pub use interner::Interner;
pub use meta::Meta;
pub use polled::Direction;
pub use reading::{Gap, Sample, Snapshot, State};
pub use table::{RowMut, Table};

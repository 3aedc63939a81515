//! The vocabulary that every other part of whit speaks: what a field is, what a source is,
//! what one reading of a source looks like, and how two readings become rates.
//!
//! This crate does no I/O and depends on nothing of ours.  A source fills [`Table`]s and knows no
//! view; a view reads [`Frame`]s and knows no source; both know only [`Field`]s.
//!
//! The way of a number through whit:
//!
//! ```text
//! kernel text ─ source ─▶ Table ─▶ Sample ─▶ recording ─▶ Sample ─▶ History ─▶ Frame ─▶ view
//! ```
#![forbid(unsafe_code)]

mod account;
mod clock;
mod def;
mod field;
mod history;
mod interner;
mod layout;
mod meta;
pub mod number;
mod options;
mod reading;
mod table;
pub mod text;

pub use account::{
    Account, Balance, By, Cells, Digest, DigestColumn, Fold, Folded, Grouping, Measure, Order,
    Rank, Role, Top,
};
pub use clock::{Clock, DESCRIPTORS_MAX, Moment, Wake};
pub use def::{Cadence, SourceDef};
pub use field::{Field, Kind, Unit};
pub use history::{Frame, History, Row, Track};
pub use interner::Interner;
pub use layout::{
    Block, Cell, Exceptions, Form, Layout, Numbers, Of, Part, Plot, PlotColumn, Shape, Show, Stat,
};
pub use meta::Meta;
pub use options::{
    Limits, List, LocalOffset, NameFilter, Options, ProcessFacts, ProcessFilter, UserNames,
};
pub use reading::{Gap, Sample, Snapshot, State};
pub use table::{RowMut, Table};

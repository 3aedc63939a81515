//! An archive: questions to a folder of recordings, of several hosts, rolled or growing, whit's and
//! collectl's.
//!
//! [`Recordings`] knows which hosts, sources and times there are, and with which gaps; it sees what is
//! new at little cost ([`Recordings::refresh`]).  It answers with a range in steps
//! ([`Recordings::range`]), one snapshot ([`Recordings::moment`]), the instances with most of a field
//! ([`Recordings::heaviest`]) and two periods compared ([`Recordings::compare`]).
//!
//! For others who reckon by themselves, it gives what is stored ([`Recordings::stored`]).
//!
//! Counters are rates over the true time between two readings of their source, gauges are themselves.
//! What is missing is missing: never 0, never interpolated; a reset has no rate.
//!
//! May use `sample`, `source`, `recording`, `feed`; prints nothing, reads no environment.
//! Begin reading with `archive.rs`, then `scan.rs` and `range.rs`.
#![forbid(unsafe_code)]

mod archive;
mod compare;
mod error;
mod folders;
mod gaps;
mod heaviest;
mod moment;
mod named;
mod range;
mod reading;
mod scan;
mod stored;
mod tracker;

pub use archive::{RecordedSpan, Recordings};
pub use compare::Compared;
pub use error::Error;
pub use gaps::RecordedGap;
pub use heaviest::{HeaviestQuery, Heavy};
pub use moment::RecordedMoment;
pub use range::{RangeAnswer, RangeQuery, RangeSeries, StepValue};
pub use reading::{Select, SourceReading};
pub use stored::{StoredRow, StoredValue, VisitStored};
pub use tracker::{FieldValue, ReadValue, Tracker};

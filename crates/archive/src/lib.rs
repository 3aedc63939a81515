//! An archive: questions to a folder of recordings, of several hosts, rolled or growing, whit's and
//! collectl's.
//!
//! [`Recordings`] knows which hosts, sources and times there are.  It answers with a range in steps
//! ([`Recordings::range`]), one snapshot ([`Recordings::moment`]), the instances with most of a field
//! ([`Recordings::heaviest`]) and two periods compared ([`Recordings::compare`]).
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
mod heaviest;
mod moment;
mod range;
mod reading;
mod scan;
mod summary;
mod tracker;

pub use archive::{RecordedSpan, Recordings};
pub use compare::Compared;
pub use error::Error;
pub use heaviest::{HeaviestQuery, Heavy};
pub use moment::RecordedMoment;
pub use range::{RangeAnswer, RangeQuery, RangeSeries, StepValue};
pub use reading::{Select, SourceReading};
pub use summary::RangeCost;
pub use tracker::{FieldValue, ReadValue, Tracker};

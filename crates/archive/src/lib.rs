//! An archive: questions to a folder of recordings and of round-robin databases, of several hosts, rolled or growing, whit's and
//! collectl's.
//!
//! [`Recordings`] knows which hosts, sources and times there are, and with which gaps; it sees what is
//! new at little cost ([`Recordings::refresh`]).  It answers with a range in steps
//! ([`Recordings::range`]), one snapshot ([`Recordings::moment`]), the instances with most of a field
//! ([`Recordings::heaviest`]) and two periods compared ([`Recordings::compare`]).
//! [`Recordings::steps`] makes readings of a range, for what shows readings; [`Recordings::ranking`]
//! makes a table of the heaviest.
//!
//! For others who reckon by themselves, it gives what is stored ([`Recordings::stored`]).
//!
//! Counters are rates over the true time between two readings of their source, gauges are themselves.
//! What is missing is missing: never 0, never interpolated; a reset has no rate.
//!
//! Round-robin databases beside the recordings answer for times that no recording has
//! ([`RangeAnswer::history`], [`Recordings::origins`]).
//!
//! A device that `whit poll` records is a host with the source `target` ([`target_source`]); it has
//! ranges and stored values.
//!
//! May use `sample`, `layout`, `source`, `recording`, `feed`, `recorder` (names of databases), `rrd`,
//! `view` (base units); prints nothing, reads no environment.
//! Begin reading with `archive.rs`, then `scan.rs` and `range.rs`.
#![forbid(unsafe_code)]

mod archive;
mod archived_file;
mod assigned;
mod compare;
mod databases;
mod devices;
mod error;
mod folders;
mod gaps;
mod heaviest;
mod held_columns;
mod history;
mod history_value;
mod moment;
mod named;
mod period_base;
mod periods;
mod range;
mod ranking;
mod reading;
mod scan;
mod side_files;
mod stamp;
mod step_sums;
mod steps;
mod stored;
mod summary;
mod targets;
mod tracker;
mod wall_steps;

pub use archive::Recordings;
pub use archived_file::RecordedSpan;
pub use compare::Compared;
pub use error::Error;
pub use gaps::RecordedGap;
pub use heaviest::{HeaviestQuery, Heavy};
pub use history_value::{HistorySeries, HistoryValue};
pub use layout::StepOrigin;
pub use moment::RecordedMoment;
pub use range::{RangeAnswer, RangeQuery, RangeSeries, StepValue};
pub use ranking::{Ranked, Ranking, RankingQuery, process_amounts};
pub use reading::{Select, SourceReading};
use step_sums::FieldValue;
pub use steps::{StepReadings, StepsQuery, step_source};
pub use stored::{StoredColumn, StoredRow, StoredValue, VisitStored};
pub use summary::RangeCost;
pub use targets::target_source;
pub use wall_steps::WallSteps;

//! Prometheus's query language (PromQL) over series of any storage.
//!
//! A query is parsed by the crate `promql-parser` and becomes a tree of our own (`plan.rs`), in which
//! every function is known, every `@` is a time, and every selector has the period that it needs.
//! The selectors ask a [`SeriesStorage`] once; then the tree is evaluated step by step (`evaluation.rs`),
//! with the arithmetic of Prometheus 2.42: lookback, stale marks, extrapolation of rates.
//! What is not offered is refused by name.
//!
//! Whatever is asked, [`QueryLimits`] bound the memory and [`QueryControl::stop`] bounds the time: both are
//! looked at inside the loops.
//!
//! Uses `calendar`; does no I/O and reads no clock.  Begin with `storage.rs` and `plan.rs`; `json.rs`
//! writes answers as Prometheus does.
#![forbid(unsafe_code)]

mod aggregation;
mod binary;
mod budget;
mod condition;
mod error;
mod evaluation;
mod folded;
mod functions;
mod growing;
mod json;
mod labels;
mod number;
mod pieces;
mod plan;
mod query;
mod steps;
mod storage;
mod windows;
mod words;

pub use budget::{QueryBudget, QueryControl, QueryLimits, Stop};
pub use condition::{
    Condition, ConditionElement, ConditionValues, check_condition, condition, condition_values,
};
pub use error::QueryError;
pub use growing::{StepSeries, reserve};
pub use json::{AnswerWriter, answer_fits, write_labels, write_text};
pub use labels::{Labels, NAME, Quoted};
pub use promql_parser::label::{MatchOp, Matcher};
pub use query::{QueryContext, QueryValue, instant, range, selector};
pub use steps::QuerySteps;
pub use storage::{
    MemoryStorage, Metadata, Series, SeriesPoint, SeriesStorage, is_stale, stale_mark,
};

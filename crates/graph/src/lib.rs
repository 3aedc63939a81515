//! Graphs and tables of time series: a description (`DEF`, `CDEF`, `LINE` …) becomes data, a
//! layout and a picture, or text.
//!
//! Knows no database: series come through a trait, [`series::DataSource`].  Prints nothing and
//! reads neither the clock nor the environment.
//!
//! Uses `rpn` and `timespec`.  Begin reading with `elements.rs` (what a description consists of),
//! then `description.rs` (how it is parsed) and `series.rs` (how it becomes data).

#![forbid(unsafe_code)]

pub mod elements;
pub mod series;

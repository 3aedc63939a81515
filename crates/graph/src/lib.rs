//! Graphs and tables of time series: a description (`DEF`, `CDEF`, `LINE` …) becomes data, a
//! layout and a picture, or text.
//!
//! Knows no database: series come through a trait, [`series::DataSource`].  Prints nothing and
//! reads neither the clock nor the environment.
//!
//! Uses `rpn` and `timespec`.  Begin reading with `elements.rs` (what a description consists of),
//! then `description.rs` (how it is parsed) and `series.rs` (how it becomes data).

#![forbid(unsafe_code)]

mod arguments;
mod clock;
pub mod description;
pub mod elements;
mod number;
pub mod print;
mod reduce;
pub mod series;
mod vdef;
pub mod xport;

pub use number::table_number;
pub use vdef::Point;

//! Graphs and tables of time series: a description (`DEF`, `CDEF`, `LINE` …) becomes data, a
//! layout and a picture, or text.
//!
//! Knows no database: series come through a trait, [`series::SeriesSource`].  Prints nothing and
//! reads neither the clock nor the environment.
//!
//! Uses `rpn`, `time_words`, `calendar` and `text`.  Begin reading with `elements.rs` (what a
//! description consists of), then `description.rs` (how it is parsed) and `series.rs` (how it becomes
//! data).
//! The picture begins in `settings.rs` (the options) and `plot.rs` (what is drawn); `chart.rs`
//! joins its parts: `layout.rs` (sizes), `legend.rs`, `axis_*.rs`, `drawing.rs`, and a file for
//! each format.  `command.rs` does all that a command line asks for.

#![forbid(unsafe_code)]

mod arguments;
mod axis_labels;
mod axis_time;
pub mod axis_value;
pub mod chart;
mod clock;
pub mod command;
pub mod curves;
mod data;
pub mod description;
mod description_error;
mod drawing;
pub mod elements;
pub mod eps;
pub mod font;
pub mod layout;
pub mod legend;
pub mod marks;
mod markup;
mod number;
pub mod pdf;
pub mod picture;
pub mod plot;
pub mod png;
pub mod print;
mod raster;
mod reduce;
pub mod series;
pub mod settings;
pub mod settings_line;
pub mod svg;
mod vdef;
pub mod xport;

pub use data::Point;
pub use number::table_number;

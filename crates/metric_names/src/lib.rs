//! Fields of recordings as metrics: what a metric is called, which labels its series have.
//!
//! A field that is a metric of node_exporter has its name there (`names.rs` is the table), every other
//! number is `whit_SOURCE_FIELD_UNIT`, and the texts of a row are labels of `whit_SOURCE_info`.  A
//! [`SourcePlan`] says for a source which fields are read and what labels each row's series have.
//!
//! `dashboard.rs` makes a dashboard for Grafana of the same names.
//!
//! Uses `view` for the names of fields and `promql` for labels and matchers.  Does no I/O.  The server
//! of queries, the pages of a scraper and what is sent to engines name series by this crate.  Begin with `plan.rs`.
#![forbid(unsafe_code)]

mod dashboard;
mod names;
mod plan;

pub use dashboard::grafana_dashboard;
pub use names::{
    KnownSource, MACHINE, MachineMetric, MetricValue, known, metric_name, prometheus_names,
};
pub use plan::{JOB, MetricPlan, NamesOfHost, SourcePlan, is_asked, is_host_asked};

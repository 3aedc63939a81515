//! Polling the network by MRTG's configuration files: the language, targets, rounds, outputs.
//!
//! A [`Config`] is what a file says: [`PollTarget`]s, each an expression over [`Query`]s, and the
//! [`Device`]s that queries are sent to.  A round sends all queries, evaluates each target's
//! expression exactly, and gives a [`Reading`] for each target to the outputs.
//!
//! Uses `connection`, `nats`, `sample`, `procfs` (its clock), `perl`, `rrd`, `rrdclient`, `service_account`, `sink`, `snmp` and `spawn`.  Takes
//! plain structs; prints nothing, and takes time and environment from the caller.
//! Begin with `config.rs`, then `target.rs` (what a target is) and `reading.rs`.
#![forbid(unsafe_code)]

pub mod ask;
mod clock;
pub mod config;
mod conversion;
pub mod debug;
pub mod decimal;
pub mod device;
pub mod index;
pub mod lock;
pub mod log_file;
pub mod make;
mod notices;
mod options;
pub mod pages;
mod problem;
mod program;
mod reading;
pub mod round;
mod samples;
pub mod script;
pub mod share;
pub mod target;
mod target_account;
pub mod threshold;
mod thresholds;
mod usm_protocol;

pub use config::{Config, Global, LoadEnvironment, Loading, LogFormat};
pub use conversion::Conversions;
pub use decimal::Decimal;
pub use device::{Device, SnmpOptions, SnmpVersion};
pub use options::{CloneFolder, LegendColour, Periods, RowCounts, StampPosition, TargetOptions};
pub use problem::{ConfigLine, ConfigProblem};
pub use reading::{QueryAnswer, Reading};
pub use samples::RoundSources;
pub use target::{
    InterfaceSelector, ObjectMethod, PollTarget, Query, RouterObject, SnmpQuery, Variable,
    VariableSource,
};
pub use target_account::{TargetAccount, TargetAccountError};
pub use thresholds::ThresholdRules;

/// The path of a text of a configuration, with the bytes that it has there.
#[must_use]
pub fn path_of(text: &str) -> std::path::PathBuf {
    use std::os::unix::ffi::OsStringExt as _;
    let bytes = ::text::byte_text::encode(text).into_owned();
    std::ffi::OsString::from_vec(bytes).into()
}

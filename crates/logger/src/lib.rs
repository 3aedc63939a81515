//! What a program calls to log.
//!
//! ```no_run
//! use logger::{LogConfig, Logger, log_info, log_warning};
//!
//! let _logging = logger::start(LogConfig::in_default_folder("host", "program"))?;
//! let log = Logger::new("CONTROL/PM01")?;
//! log_info!(log, "antenna {} at {:.3} degrees", 7, 45.25);
//! log_warning!(log, data: {"FullPath" => "/tmp/x"}, "cannot open");
//! # Ok::<(), logger::Error>(())
//! ```
//!
//! A call compares the logger's level byte, stores the values and a time stamp into the thread's
//! ring, and returns: no formatting, no lock, no system call.  Texts are made by whoever reads.
//! Uses `logring` and, for outputs of the process itself, `log_format`.  Begin with [`Logger`], [`start()`] and the macros in `macros.rs`.

#![forbid(unsafe_code)]

mod config;
#[cfg(any(feature = "log", feature = "tracing"))]
mod facade;
mod local;
#[cfg(feature = "log")]
mod log_facade;
mod logger;
#[macro_use]
mod macros;
mod scope;
mod site;
mod start;
mod suppress;
#[cfg(feature = "tracing")]
mod tracing_facade;

pub use config::{ConfigError, LogConfig, LoggerLevels};
pub use local::{LocalOptions, LocalOutput};
#[cfg(feature = "log")]
pub use log_facade::LogAdapter;
pub use logger::{Logger, LoggerStatistics, statistics};
pub use logring::writer::{
    Argument, ArgumentList, ConsumerStatus, FlushResult, FullPolicy, Interned, Pointer, RawBytes,
    WithAttributes, attach_thread,
};
pub use logring::{
    ConsumerCost, ConsumerState, Error, LEVEL_OFF, LogLevel, LogValue, Tier, UndeliverableRange,
};
#[doc(hidden)]
pub use macros::__private;
pub use scope::{ContextScope, StopWatch, TraceScope};
pub use site::{CallSite, check_format, debug, display, emit};
pub use start::{Logging, flush, on_status, start, text};
pub use suppress::{RateLimit, RepeatGuard};
#[cfg(feature = "tracing")]
pub use tracing_facade::TracingLayer;

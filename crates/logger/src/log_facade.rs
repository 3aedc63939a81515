//! The adapter for the facade `log`: its records go into the rings.
//!
//! The target is the logger's name.  `error` is ERROR, `warn` WARNING, `info` INFO, `debug` DEBUG,
//! `trace` TRACE.  The message is made by the caller, as the facade wants it.

use logring::LogLevel;

use crate::facade::{self, CallSite};

/// Writes the records of `log`.
#[derive(Clone, Copy, Debug)]
pub struct LogAdapter;

static ADAPTER: LogAdapter = LogAdapter;

impl LogAdapter {
    /// Makes this the logger of the facade, with all levels let through: the rings' loggers decide.
    ///
    /// # Errors
    /// If there is one already.
    pub fn install() -> Result<(), log::SetLoggerError> {
        log::set_logger(&ADAPTER)?;
        log::set_max_level(log::LevelFilter::Trace);
        Ok(())
    }
}

fn level_of(level: log::Level) -> LogLevel {
    match level {
        log::Level::Error => LogLevel::Error,
        log::Level::Warn => LogLevel::Warning,
        log::Level::Info => LogLevel::Info,
        log::Level::Debug => LogLevel::Debug,
        log::Level::Trace => LogLevel::Trace,
    }
}

impl log::Log for LogAdapter {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        facade::is_enabled(metadata.target(), level_of(metadata.level()))
    }

    fn log(&self, record: &log::Record<'_>) {
        let place = CallSite {
            file: record.file().unwrap_or_default(),
            line: record.line().unwrap_or(0),
            module: record.module_path().unwrap_or_default(),
            target: record.target(),
            level: level_of(record.level()),
        };
        match record.args().as_str() {
            Some(text) => facade::write(&place, text, &[]),
            None => facade::write(&place, &record.args().to_string(), &[]),
        }
    }

    fn flush(&self) {
        // What was logged is in the ring, where it survives the process.
    }
}

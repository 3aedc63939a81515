//! A named logger: a level byte in shared memory, and a context.

use std::sync::atomic::{AtomicU8, Ordering};

use logring::abi::FLAG_LOCAL;
use logring::writer;
use logring::{Error, LogLevel, LoggerEntry};

/// A named logger.  Cheap to copy; all of one name share their levels.
#[derive(Clone, Copy, Debug)]
pub struct Logger {
    /// The levels of all records that are made, for the central store, for local outputs.
    levels: &'static [AtomicU8; 3],
    context: u32,
    index: u32,
}

impl Logger {
    /// The logger of a name, as `CONTROL/PM01/WVR`; made if there is none yet.
    ///
    /// # Errors
    /// Before `start`, if the name is longer than 144 bytes, or as the 1,025th logger.
    pub fn new(name: &str) -> Result<Self, Error> {
        Self::with_context(name, &[])
    }

    /// Makes a logger whose records have names and values: `SourceObject`, `Audience`, `Array`,
    /// `Antenna`.
    ///
    /// # Errors
    /// Before `start`, if the name is longer than 144 bytes, as the 1,025th logger, or if the dictionary
    /// is full.
    pub fn with_context(name: &str, pairs: &[(&str, &str)]) -> Result<Self, Error> {
        let index = writer::logger_id(name)?;
        let full = || Error::Limit {
            what: format!("context of logger {name:?}"),
            most: logring::abi::process::DICTIONARY_BYTES_MAX,
        };
        let context = writer::context_id(index, pairs).ok_or_else(full)?;
        let levels = writer::level_bytes(index).ok_or_else(full)?;
        Ok(Logger { levels, context, index })
    }

    /// The logger with other names and values: `LOG_WITH_ANTENNA_CONTEXT`, `LOG_TO_AUDIENCE`.
    /// Equal ones are stored once; they are for few values, attributes for many.
    #[must_use]
    pub fn with(&self, pairs: &[(&str, &str)]) -> Self {
        let context = writer::context_id(self.index, pairs).unwrap_or(self.context);
        Logger { context, ..*self }
    }

    /// Whether records of a level are made: one load and one comparison.
    #[inline(always)]
    #[must_use]
    pub fn is_enabled(&self, level: LogLevel) -> bool {
        level.number() >= self.levels[0].load(Ordering::Relaxed)
    }

    /// A level as a record has it: with the flag of what only local outputs want.
    #[inline(always)]
    pub(crate) fn head(&self, level: LogLevel) -> u8 {
        let is_local = level.number() < self.levels[1].load(Ordering::Relaxed);
        level.number() | if is_local { FLAG_LOCAL } else { 0 }
    }

    /// Sets the levels, as numbers of ACS or `LEVEL_OFF`: for the central store, and for local
    /// outputs.
    pub fn set_levels(&self, central: u8, local: u8) {
        writer::set_levels(self.index, central, local);
    }

    /// Number in the process.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Number of its context.
    #[inline(always)]
    #[must_use]
    pub fn context(&self) -> u32 {
        self.context
    }
}

/// What a logger has written, as the consumer of the rings counted it.
pub type LoggerStatistics = LoggerEntry;

/// Levels and counts of all loggers of this process.
///
/// # Errors
/// Before `start`, or if the process's file cannot be read.
pub fn statistics() -> Result<Vec<LoggerStatistics>, Error> {
    logring::writer::local_files()?.0.loggers()
}

//! What lasts until the end of a block: a thread's context, an entry and exit trace, a stop watch.

use logring::clock::boottime_ns;
use logring::{LogLevel, writer};

use crate::logger::Logger;
use crate::site::{CallSite, emit};

/// Names and values that all records of this thread have, of whatever logger, until it is dropped.
#[derive(Debug)]
pub struct ContextScope {
    before: u32,
    /// It belongs to one thread.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl ContextScope {
    /// Begins a scope within the one that there is, if any: its pairs are put before those.
    #[must_use]
    pub fn enter(pairs: &[(&str, &str)]) -> Self {
        let before = writer::scope();
        // Without room in the dictionary the scope stays as it was.
        if let Some(context) = writer::context_id(0, pairs) {
            writer::set_scope(match before {
                0 => context,
                before => writer::combined_context(before, context),
            });
        }
        ContextScope { before, _not_send: std::marker::PhantomData }
    }
}

impl Drop for ContextScope {
    fn drop(&mut self) {
        writer::set_scope(self.before);
    }
}

/// Logs at its begin and its end.
#[derive(Debug)]
pub struct TraceScope {
    logger: Logger,
    exit: &'static CallSite,
    /// 0: the level was off.
    begin_ns: u64,
}

impl TraceScope {
    /// Logs the entry, if TRACE is enabled; then the exit is logged too.
    #[must_use]
    pub fn enter(logger: &Logger, entry: &'static CallSite, exit: &'static CallSite) -> Self {
        let mut begin_ns = 0;
        if logger.is_enabled(LogLevel::Trace) {
            emit(LogLevel::Trace, entry, logger, &());
            begin_ns = boottime_ns();
        }
        TraceScope { logger: *logger, exit, begin_ns }
    }
}

impl Drop for TraceScope {
    fn drop(&mut self) {
        if self.begin_ns != 0 {
            let span_ns = boottime_ns().saturating_sub(self.begin_ns);
            emit(LogLevel::Trace, self.exit, &self.logger, &(span_ns,));
        }
    }
}

/// Measures until it is dropped.
#[derive(Debug)]
pub struct StopWatch {
    logger: Logger,
    site: &'static CallSite,
    begin_ns: u64,
}

impl StopWatch {
    /// Begins.
    #[must_use]
    pub fn begin(logger: &Logger, site: &'static CallSite) -> Self {
        StopWatch { logger: *logger, site, begin_ns: boottime_ns() }
    }
}

impl Drop for StopWatch {
    fn drop(&mut self) {
        if self.logger.is_enabled(LogLevel::Debug) {
            let span_ns = boottime_ns().saturating_sub(self.begin_ns);
            emit(LogLevel::Debug, self.site, &self.logger, &(span_ns,));
        }
    }
}

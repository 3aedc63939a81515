//! Counters, as STATS, STATS EXT and the metrics show them.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$about:meta])* $field:ident;)*) => {
        /// What happened since the start.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $($(#[$about])* pub(crate) $field: Counter,)*
        }
    };
}

counters! {
    /// UPDATE commands.
    updates_received;
    /// FLUSH commands.
    flushes_received;
    /// Writes of files.
    updates_written;
    /// Readings that were written.
    readings_written;
    /// Readings that were acknowledged.
    readings_accepted;
    /// Readings that were refused when they came.
    readings_refused;
    /// Readings that their file refused when they were written.
    readings_dropped;
    /// Writes of files that failed; their readings are kept.
    write_errors;
    /// Journal blocks that could not be written.
    journal_errors;
    /// Readings that came back from a journal.
    readings_replayed;
    /// Connections that were taken.
    connections;
    /// Connections that were refused, or closed because of what they sent.
    connections_refused;
    /// Times that a session waited because memory was full.
    memory_waits;
}

/// A counter.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The height that a balanced tree of as many files has, which rrdcached shows.
pub(crate) fn tree_depth(files: usize) -> u32 {
    usize::BITS - files.leading_zeros()
}

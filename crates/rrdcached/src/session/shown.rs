//! Texts of answers.

use rrd::header::Time;

use crate::daemon::CachingDaemon;
use crate::stats::tree_depth;

/// Why a reading is not taken that is not newer than the last one.
pub(super) fn past(time: Time, last: Time) -> String {
    let shown = |time: Time| format!("{}.{:06}", time.seconds, time.microseconds);
    format!(
        "illegal attempt to update using time {} when last update time is {} (minimum one second step)",
        shown(time),
        shown(last)
    )
}

/// An error with the name that the client used for the file.
pub(super) fn as_named(error: &rrd::Error, _shown: &[u8]) -> String {
    error.to_string()
}

/// The counters that rrdcached shows.
pub(super) fn stats(daemon: &CachingDaemon) -> Vec<String> {
    let counters = &daemon.counters;
    let files = daemon.cache.len();
    let journal = daemon.journal.as_ref();
    let numbers = [
        ("QueueLength", daemon.queue.len() as u64),
        ("UpdatesReceived", counters.updates_received.get()),
        ("FlushesReceived", counters.flushes_received.get()),
        ("UpdatesWritten", counters.updates_written.get()),
        ("DataSetsWritten", counters.readings_written.get()),
        ("TreeNodesNumber", files as u64),
        ("TreeDepth", u64::from(tree_depth(files))),
        ("JournalBytes", journal.map_or(0, crate::journal::Journal::bytes)),
        ("JournalRotate", journal.map_or(0, crate::journal::Journal::rotations)),
    ];
    numbers.map(|(name, number)| format!("{name}: {number}")).into()
}

/// The counters that STATS EXT adds.
pub(super) fn extended_stats(daemon: &CachingDaemon) -> Vec<String> {
    let counters = &daemon.counters;
    let numbers = [
        ("ReadingsAccepted", counters.readings_accepted.get()),
        ("ReadingsRefused", counters.readings_refused.get()),
        ("ReadingsDropped", counters.readings_dropped.get()),
        ("ReadingsReplayed", counters.readings_replayed.get()),
        ("WriteErrors", counters.write_errors.get()),
        ("JournalErrors", counters.journal_errors.get()),
        ("MemoryBytes", daemon.cache.bytes()),
        ("MemoryWaits", counters.memory_waits.get()),
        ("Connections", counters.connections.get()),
        ("ConnectionsRefused", counters.connections_refused.get()),
        ("Replaying", u64::from(!daemon.is_replayed())),
        ("ReadOnly", u64::from(daemon.is_read_only())),
    ];
    numbers.map(|(name, number)| format!("{name}: {number}")).into()
}

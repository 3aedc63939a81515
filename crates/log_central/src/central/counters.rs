//! What a central server has done and what it costs, for whoever asks.

use log_protocol::OwnCost;

/// What a central server has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CentralCounters {
    /// Records that are committed.
    pub records: u64,
    /// The bytes of the records, as they came.
    pub bytes: u64,
    /// Commits.
    pub commits: u64,
    /// Records that came again and were recognised.
    pub duplicates: u64,
    /// Records that are proved to be missing.
    pub lost: u64,
    /// Commits that failed and were tried again.
    pub failures: u64,
    /// Connections now.
    pub connections: u64,
    /// What the server's process costs.
    pub cost: OwnCost,
}

impl CentralCounters {
    /// As a JSON object.
    #[must_use]
    pub fn to_json(&self) -> String {
        let CentralCounters { records, bytes, commits, duplicates, lost, failures, .. } = self;
        let (connections, OwnCost { cpu_ns, memory_bytes }) = (self.connections, self.cost);
        format!(
            "{{\"records\":{records},\"bytes\":{bytes},\"commits\":{commits},\
             \"duplicates\":{duplicates},\"lost\":{lost},\"failures\":{failures},\
             \"connections\":{connections},\"cpu_ns\":{cpu_ns},\"memory_bytes\":{memory_bytes}}}"
        )
    }
}

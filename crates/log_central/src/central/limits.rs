//! What the peers of a central server may use: so its memory is bounded, whatever they send.

/// What peers may use.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionLimits {
    /// Connections at once.
    pub connections: usize,
    /// Connections at once that have not shown yet who they are.
    pub newcomers: usize,
    /// Bytes of records that wait for a commit.
    pub pending_bytes: usize,
    /// Streams that are known at once.
    pub streams: usize,
    /// Processes that are known at once.
    pub processes: usize,
    /// Clients at once whose questions for records are answered.
    pub queries: usize,
}

impl Default for AdmissionLimits {
    fn default() -> Self {
        AdmissionLimits {
            connections: 1024,
            newcomers: 128,
            pending_bytes: 64 << 20,
            streams: 1 << 20,
            processes: 1 << 16,
            queries: 16,
        }
    }
}

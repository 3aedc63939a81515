//! What the peers of a central server may use: so its memory is bounded, whatever they send.

/// What peers may use.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionLimits {
    /// Connections at once from networks.
    pub connections: usize,
    /// Connections at once from this machine, over socket files: those from networks take none of them.
    pub local_connections: usize,
    /// Connections at once of each listener that have not shown yet who they are; half of them from one
    /// address.
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
            local_connections: 256,
            newcomers: 128,
            pending_bytes: 64 << 20,
            streams: 1 << 20,
            processes: 1 << 16,
            queries: 16,
        }
    }
}

//! What can be chosen of the rings.

use std::path::PathBuf;

use crate::level::LogLevel;

/// What a log call does when its ring has no room.  Nothing is ever dropped silently: numbers of
/// records are used up, counters count, and a record says what is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullPolicy {
    /// A larger ring, as long as the limits allow; then as `Block`.
    Grow,
    /// Wait for the consumer, for a limited time; then as `DropNewest`, until it reads again.
    Block,
    /// Drop this record.
    DropNewest,
    /// Give up the oldest records of the ring: a flight recorder.
    OverwriteOldest,
}

/// How a process writes.
#[derive(Clone, Debug)]
pub struct RingSettings {
    /// Where the files are; made with mode 0700 if it is not there.
    pub directory: PathBuf,
    /// Name of the host, for the reader.
    pub host_name: String,
    /// Name of the process, for the reader.
    pub process_name: String,
    /// Bytes of a thread's ring: rounded up to a power of two from 4 KiB on.  It begins with 16 KiB
    /// and takes more as it needs it, whatever the policy, but for threads that call `attach_thread`.
    /// The default of 1 MiB takes 20,000 records.
    pub ring_bytes: u64,
    /// Up to which size a ring grows where the policy is `Grow`.
    pub ring_bytes_max: u64,
    /// Bytes of all rings together; beyond, none grows.
    pub process_bytes_max: u64,
    /// What to do without room, by the number of the level.
    pub policies: [FullPolicy; 16],
    /// Longest wait for room of one call.
    pub block_timeout_ns: u64,
    /// Most records of the process in a second (of `CLOCK_BOOTTIME`); what is beyond is suppressed,
    /// counted, and said in the stream.  With a limit every call takes the slow path, about 60 ns.
    pub records_per_second_max: Option<u32>,
    /// Records of this level and above wake the reader at once, whatever it waits for; above the highest
    /// level: none does.  Below ERROR, the default, every call takes the slow path, about 30 ns.
    pub wake_level: u8,
    /// Records of a thread after which it wakes the reader, which looks by itself every 50 ms at the
    /// latest; 0: none does.
    pub packet_records: u32,
    /// Stamps by the TSC (`true`) or by `clock_gettime`; `None`: the TSC if it is invariant.
    pub tsc: Option<bool>,
    /// Level of a new logger for the central store, as a number.
    pub level_central: u8,
    /// Level of a new logger for local outputs.
    pub level_local: u8,
}

impl RingSettings {
    /// Defaults: 1 MiB that grow to 16 MiB, 256 MiB in all, then ten seconds of waiting, for all
    /// levels; loggers begin with level DELOUSE, as those of ACS do.
    #[must_use]
    pub fn new(directory: PathBuf, host_name: &str, process_name: &str) -> Self {
        RingSettings {
            directory,
            host_name: host_name.to_owned(),
            process_name: process_name.to_owned(),
            ring_bytes: 1 << 20,
            ring_bytes_max: 16 << 20,
            process_bytes_max: 256 << 20,
            policies: [FullPolicy::Grow; 16],
            block_timeout_ns: 10_000_000_000,
            records_per_second_max: None,
            wake_level: LogLevel::Error.number(),
            packet_records: 0,
            tsc: None,
            level_central: 2,
            level_local: 2,
        }
    }
}

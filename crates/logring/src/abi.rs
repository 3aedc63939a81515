//! The layout of version 1, as numbers: docs/format-log-ring.md in code.
//!
//! All offsets are in bytes, all numbers little-endian.  `clients/c/src/whit_log.c` has the
//! same numbers; what it writes is read in `logger/tests/c_client.rs`.

/// The version that this crate reads and writes.
pub const VERSION: u32 = 1;

/// First bytes of a process file.
pub const PROCESS_MAGIC: [u8; 8] = *b"whitlogP";
/// First bytes of a ring file.
pub const RING_MAGIC: [u8; 8] = *b"whitlogR";

/// The page size that the layout is made of, whatever the machine's is.
pub const PAGE: usize = 4096;

/// Offsets in the header of a process file.
pub mod process {
    /// u32: version of the layout.
    pub const VERSION: usize = 8;
    /// u32: bit 0: stamps are TSC ticks, else nanoseconds of `CLOCK_BOOTTIME`; bit 1: its threads
    /// heed `CONSUMER_SLEEPS`.
    pub const FLAGS: usize = 12;
    /// u32.
    pub const PID: usize = 16;
    /// u64: field 22 of `/proc/PID/stat`, in clock ticks since boot.
    pub const START_TICKS: usize = 24;
    /// 16 bytes of `/proc/sys/kernel/random/boot_id`.
    pub const BOOT_ID: usize = 32;
    /// 16 random bytes.
    pub const PROCESS_ID: usize = 48;
    /// u64: ticks of the stamp in a second, as measured at the start; 0: unknown.
    pub const STAMP_HZ: usize = 64;
    /// 256 bytes, padded with NUL.
    pub const HOST_NAME: usize = 128;
    /// 256 bytes, padded with NUL.
    pub const PROCESS_NAME: usize = 384;
    /// Length of each of both names' fields.
    pub const NAME_BYTES: usize = 256;

    /// u64: bytes of the dictionary that are complete.
    pub const DICTIONARY_LENGTH: usize = 1024;
    /// u64: calibration pairs ever claimed.
    pub const CALIBRATION_COUNT: usize = 1032;
    /// u32: highest tier that a `flush` waits for.
    pub const FLUSH_WANTED: usize = 1040;
    /// u32: 1 after an orderly end.
    pub const ENDED: usize = 1044;
    /// u64 × 16, by level: records that no ring took.
    pub const DROPPED: usize = 1048;
    /// u32: rings ever made; their numbers are below this.
    pub const RING_COUNT: usize = 1176;
    /// u32: loggers; entries of the logger table in use.
    pub const LOGGER_COUNT: usize = 1180;
    /// u64 × 16, by level: records that the process's limit of records in a second suppressed.
    pub const SUPPRESSED: usize = 1184;
    /// u32, in a line of its own: the consumer sleeps for long; the thread that makes the next record
    /// stores 0 and rings the doorbell.
    pub const CONSUMER_SLEEPS: usize = 1344;

    /// The page that the consumer writes.
    pub const STATUS: usize = 0x1000;
    /// The calibration history.
    pub const CALIBRATION: usize = 0x2000;
    /// Pairs in the history, of which the latest overwrite the oldest.
    pub const CALIBRATION_PAIRS: usize = 128;
    /// Bytes of one pair: number + 1, stamp, `CLOCK_REALTIME`, `CLOCK_BOOTTIME`.
    pub const PAIR_BYTES: usize = 32;
    /// The table of loggers.
    pub const LOGGERS: usize = 0x3000;
    /// Most loggers of a process.
    pub const LOGGERS_MAX: usize = 1024;
    /// Bytes of an entry.
    pub const LOGGER_BYTES: usize = 256;
    /// Where the dictionary begins.
    pub const DICTIONARY: usize = LOGGERS + LOGGERS_MAX * LOGGER_BYTES;
    /// Most bytes of a dictionary: 100,000 call sites.
    pub const DICTIONARY_BYTES_MAX: usize = 16 << 20;

    /// Bit of `FLAGS`: stamps are TSC ticks.
    pub const FLAG_TSC: u32 = 1;
    /// Bit of `FLAGS`: the threads heed [`CONSUMER_SLEEPS`].
    pub const FLAG_WAKES: u32 = 2;
}

/// Offsets in a logger's entry.
pub mod logger {
    /// u8: records below this level are not made.  The only byte that the hot path reads.
    pub const LEVEL: usize = 0;
    /// u8: level for the central store.
    pub const LEVEL_CENTRAL: usize = 1;
    /// u8: level for local outputs.
    pub const LEVEL_LOCAL: usize = 2;
    /// u8: length of the name.
    pub const NAME_LENGTH: usize = 3;
    /// u64 × 12: records that the consumer has read, by level.
    pub const COUNTS: usize = 8;
    /// Levels that are counted: by their numbers, of which 0 and 7 are none.
    pub const LEVELS: usize = 12;
    /// u64: records that rate limits and repeat guards suppressed.
    pub const SUPPRESSED: usize = 104;
    /// The name.
    pub const NAME: usize = 112;
    /// Longest name.
    pub const NAME_BYTES_MAX: usize = 144;
}

/// Offsets in the status page.
pub mod status {
    /// u32: changes with every state; a futex that clients wait on.
    pub const SEQUENCE: usize = 0;
    /// u32: see `ConsumerState`.
    pub const STATE: usize = 4;
    /// u32: `errno` or 0.
    pub const FAILURE: usize = 8;
    /// u32: pid of the consumer, 0: none.
    pub const CONSUMER_PID: usize = 12;
    /// u64: `CLOCK_BOOTTIME` in ns when the consumer last looked.
    pub const HEARTBEAT: usize = 16;
    /// u64: undeliverable ranges ever; the latest 16 are kept.
    pub const RANGE_COUNT: usize = 24;
    /// 16 × 32 bytes: ring u32, reason u32, first u64, last u64, number u64.
    pub const RANGES: usize = 64;
    /// Ranges kept.
    pub const RANGES_KEPT: usize = 16;
    /// Bytes of a range.
    pub const RANGE_BYTES: usize = 32;
    /// 256 bytes, padded with NUL: why, in words.
    pub const MESSAGE: usize = 576;
    /// Length of the field.
    pub const MESSAGE_BYTES: usize = 256;
    /// u64 × 5: what the consumer costs and does: ns of CPU, bytes of memory, records and bytes that
    /// it has read, bytes that it keeps.
    pub const COST: usize = 832;
    /// Bytes of the page in use.
    pub const END: usize = 872;
}

/// Offsets in the header page of a ring file.
pub mod ring {
    /// u32: version of the layout.
    pub const VERSION: usize = 8;
    /// u32: bit 0: shared by all threads of the process (ring 0).
    pub const FLAGS: usize = 12;
    /// 16 bytes: the process, as in its file.
    pub const PROCESS_ID: usize = 16;
    /// u32.
    pub const PID: usize = 32;
    /// u32: thread that writes now.
    pub const TID: usize = 36;
    /// u64.
    pub const START_TICKS: usize = 40;
    /// u32: the ring's number in its process.
    pub const NUMBER: usize = 48;
    /// u32: the ring that this one continues; `u32::MAX`: none.
    pub const PREDECESSOR: usize = 52;
    /// u64: bytes of data, a power of two.
    pub const CAPACITY: usize = 56;
    /// 64 bytes, padded with NUL: name of the thread that writes now.
    pub const THREAD_NAME: usize = 64;
    /// Length of the field.
    pub const THREAD_NAME_BYTES: usize = 64;

    /// The producer's line.  u64: position after the last complete record.
    pub const WRITE_POSITION: usize = 256;
    /// u64: bytes before this position may be overwritten.
    pub const OLDEST_POSITION: usize = 264;
    /// u32: 1: nothing will be written any more.
    pub const ENDED: usize = 272;
    /// u32: 1: the producer waits for room.
    pub const PRODUCER_WAITS: usize = 276;
    /// u32: the ring that continues this one; `u32::MAX`: none.
    pub const SUCCESSOR: usize = 280;
    /// u64 × 16, by level: records that found no room.
    pub const DROPPED: usize = 288;
    /// u64: sequence of the first record at or after `OLDEST_POSITION`.
    pub const OLDEST_SEQUENCE: usize = 416;

    /// The consumer's line: a mark per tier (read, synced, central), each 32 bytes.
    pub const MARKS: usize = 512;
    /// Bytes of a mark: position u64, sequence u64, both again inverted.
    pub const MARK_BYTES: usize = 32;

    /// Where the data begins.
    pub const DATA: usize = 4096;
    /// Bytes that only the last records of a thread may fill (dropped, next ring, end).
    pub const RESERVE: u64 = 128;
    /// Smallest and largest capacity.
    pub const CAPACITY_MIN: u64 = 4096;
    /// See [`CAPACITY_MIN`].
    pub const CAPACITY_MAX: u64 = 1 << 30;

    /// The capacity of a ring that takes a record of so many bytes: two of them, and the reserve.
    #[must_use]
    pub const fn for_record(size_bytes: usize) -> u64 {
        ((size_bytes as u64 + RESERVE) * 2).next_power_of_two()
    }
    /// No ring: of predecessor and successor.
    pub const NONE: u32 = u32::MAX;
    /// Bit of `FLAGS`: shared by all threads of the process.
    pub const FLAG_SHARED: u32 = 1;
}

/// The file `doorbell` of a directory.
pub mod doorbell {
    /// u32: a futex; changed by a producer that wakes consumers.
    pub const FUTEX: usize = 0;
    /// u32: consumers that sleep.
    pub const SLEEPERS: usize = 4;
    /// u16, u16: the oldest and the newest version of files that the consumer reads; 0: none has said.
    pub const VERSIONS: usize = 8;
    /// Length of the file.
    pub const BYTES: usize = 4096;
}

/// Kinds of records in a ring.
pub mod kind {
    /// A log record of a call site.
    pub const LOG: u8 = 1;
    /// Records that were dropped: see `Dropped`.
    pub const DROPPED: u8 = 2;
    /// Records that a rate limit or repeat guard suppressed.
    pub const SUPPRESSED: u8 = 3;
    /// stamp, realtime, boottime.
    pub const CALIBRATION: u8 = 4;
    /// The stream goes on in another ring: u64 number.
    pub const NEXT_RING: u8 = 5;
    /// A thread begins to write: u64 tid, string name.
    pub const THREAD_BEGIN: u8 = 6;
    /// The thread has ended: u64 tid.
    pub const THREAD_END: u8 = 7;
}

/// Kinds of entries in a dictionary.
pub mod entry {
    /// A call site.
    pub const SITE: u16 = 1;
    /// A context.
    pub const CONTEXT: u16 = 2;
    /// An interned string.
    pub const STRING: u16 = 3;
    /// Bytes before the payload: length u32, CRC-32C u32, kind u16, 0 u16, id u32.
    pub const HEAD: usize = 16;
    /// Longest entry.
    pub const BYTES_MAX: usize = 64 << 10;
}

/// Bytes of a record before its arguments: two words and site and context.
pub const RECORD_HEAD: usize = 24;
/// Longest record: its size is a u16 of 8-byte units.
pub const RECORD_BYTES_MAX: usize = 0xFFFF * 8;
/// Most arguments of a call site.
pub const ARGUMENTS_MAX: usize = 32;

/// Low four bits of the last byte of word 0's upper flags: the level.
pub const LEVEL_MASK: u8 = 0x0F;
/// After the arguments follow attributes (name and value pairs).
pub const FLAG_ATTRIBUTES: u8 = 0x10;
/// A string was cut: the record would have been too long.
pub const FLAG_CUT: u8 = 0x20;
/// The attribute of a record of which texts were cut: how many of their bytes are left out.
pub const CUT_NAME: &str = "CutBytes";
/// Written by a signal handler that interrupted a log call, or after the end of its thread.
pub const FLAG_ASIDE: u8 = 0x40;
/// Below the level for the central store when it was made: for local outputs alone.
pub const FLAG_LOCAL: u8 = 0x80;

/// Word 0 of a record of `bytes` bytes (a multiple of 8), without its sequence number.
#[must_use]
pub const fn word0(bytes: usize, kind: u8, level_and_flags: u8) -> u64 {
    (bytes as u64 >> 3) | (kind as u64) << 16 | (level_and_flags as u64) << 24
}

/// Bytes rounded up to whole units of 8.
#[must_use]
pub const fn padded(bytes: usize) -> usize {
    (bytes + 7) & !7
}

//! `struct taskstats` (linux/taskstats.h) and the netlink messages around it.
//!
//! The structure only grows: offsets never change, and a field exists if the record is long enough.
//! Byte order is the machine's.  Never panics on any bytes.

/// Record of a thread, as far as it is used here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stats {
    pub(super) pid: i32,
    /// The process, since version 12 (Linux 5.16); records without it are ignored.
    pub(super) tgid: i32,
    /// Whether it is the last thread of its process.
    pub(super) is_last: bool,
    pub(super) code: u32,
    pub(super) command: [u8; 16],
    pub(super) uid: u32,
    pub(super) parent: i32,
    /// Start of the thread, in seconds since the epoch.
    pub(super) start_s: u64,
    /// Lifetime of the process.
    pub(super) lifetime_us: u64,
    /// Time in user mode and in the kernel, as sampled by the tick.
    pub(super) user_us: u64,
    pub(super) system_us: u64,
    /// Time on a CPU; see [`cpu_ns`].
    pub(super) cpu_ns: u64,
    pub(super) minor_faults: u64,
    pub(super) major_faults: u64,
    pub(super) peak_resident_kib: u64,
    pub(super) read_chars: u64,
    pub(super) write_chars: u64,
    pub(super) read_calls: u64,
    pub(super) write_calls: u64,
    pub(super) read_bytes: u64,
    pub(super) write_bytes: u64,
    pub(super) cancelled_write_bytes: u64,
    pub(super) voluntary_switches: u64,
    pub(super) involuntary_switches: u64,
}

impl Stats {
    /// Parses a record; `None` if it is too short.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| -> Option<u64> {
            Some(u64::from_ne_bytes(*bytes.get(at..at + 8)?.first_chunk()?))
        };
        let half = |at: usize| -> Option<u32> {
            Some(u32::from_ne_bytes(*bytes.get(at..at + 4)?.first_chunk()?))
        };
        let signed = |at: usize| half(at).map(u32::cast_signed);
        /// `AGROUP` of linux/acct.h: the last thread of its process.
        const LAST_THREAD: u8 = 0x20;
        Some(Stats {
            code: half(4)?,
            is_last: bytes.get(8)? & LAST_THREAD != 0,
            cpu_ns: cpu_ns(&CpuFacts {
                accounted_ns: word(72)?,
                sampled_ns: word(152)?.saturating_add(word(160)?).saturating_mul(1000),
                waited_ns: word(24)?,
                lifetime_ns: word(144)?.saturating_mul(1000),
                has_slept: word(272)? > 0,
            }),
            command: *bytes.get(80..96)?.first_chunk()?,
            uid: half(120)?,
            pid: signed(128)?,
            parent: signed(132)?,
            user_us: word(152)?,
            system_us: word(160)?,
            minor_faults: word(168)?,
            major_faults: word(176)?,
            peak_resident_kib: word(200)?,
            read_chars: word(216)?,
            write_chars: word(224)?,
            read_calls: word(232)?,
            write_calls: word(240)?,
            read_bytes: word(248)?,
            write_bytes: word(256)?,
            cancelled_write_bytes: word(264)?,
            voluntary_switches: word(272)?,
            involuntary_switches: word(280)?,
            start_s: word(344)?,
            tgid: signed(368)?,
            lifetime_us: word(376)?,
        })
    }

    /// Adds the usage of an earlier thread of the process.
    pub(super) fn add(&mut self, other: &Stats) {
        self.user_us = self.user_us.saturating_add(other.user_us);
        self.system_us = self.system_us.saturating_add(other.system_us);
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
        self.minor_faults = self.minor_faults.saturating_add(other.minor_faults);
        self.major_faults = self.major_faults.saturating_add(other.major_faults);
        self.peak_resident_kib = self.peak_resident_kib.max(other.peak_resident_kib);
        self.read_chars = self.read_chars.saturating_add(other.read_chars);
        self.write_chars = self.write_chars.saturating_add(other.write_chars);
        self.read_calls = self.read_calls.saturating_add(other.read_calls);
        self.write_calls = self.write_calls.saturating_add(other.write_calls);
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.write_bytes = self.write_bytes.saturating_add(other.write_bytes);
        self.cancelled_write_bytes =
            self.cancelled_write_bytes.saturating_add(other.cancelled_write_bytes);
        self.voluntary_switches = self.voluntary_switches.saturating_add(other.voluntary_switches);
        self.involuntary_switches =
            self.involuntary_switches.saturating_add(other.involuntary_switches);
    }
}

/// What a record says of the CPU time of a thread.
struct CpuFacts {
    /// `cpu_run_virtual_total`, the scheduler's own sum.  It lacks the time since the latest tick
    /// or switch, which the scheduler adds only later: up to 10 ms, for many short programs all.
    accounted_ns: u64,
    /// `ac_utime` and `ac_stime`: whole ticks, each added to whatever runs at that moment.
    sampled_ns: u64,
    /// `cpu_delay_total`: time on a run queue.
    waited_ns: u64,
    /// `ac_etime`.
    lifetime_ns: u64,
    /// Whether it ever gave up the CPU by itself (`nvcsw`).
    has_slept: bool,
}

/// The CPU time of a thread.  One that never slept ran whenever it did not wait for a CPU, which is
/// known to the microsecond.  Of others the larger sum is taken, within what its lifetime allows.
fn cpu_ns(facts: &CpuFacts) -> u64 {
    let most = facts.lifetime_ns.saturating_sub(facts.waited_ns);
    let known = if facts.has_slept { facts.sampled_ns.min(most) } else { most };
    known.max(facts.accounted_ns)
}

/// `NLMSG_ERROR` of linux/netlink.h.
const ERROR: u16 = 2;
/// `TASKSTATS_TYPE_STATS`, `TASKSTATS_TYPE_AGGR_PID`.
const TYPE_STATS: u16 = 3;
const TYPE_AGGR_PID: u16 = 4;

/// The messages of a datagram: type, and payload after netlink's header.
pub(super) fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
        let kind = u16::from_ne_bytes(*bytes.get(4..6)?.first_chunk()?);
        let payload = bytes.get(16..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, payload))
    })
}

/// The attributes in these bytes: their type and content.
pub(super) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(*bytes.first_chunk()?));
        let kind = u16::from_ne_bytes(*bytes.get(2..4)?.first_chunk()?);
        let content = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        // The upper two bits are flags.
        Some((kind & 0x3FFF, content))
    })
}

/// The records of threads in a datagram of the family `family`.
pub(super) fn threads(bytes: &[u8], family: u16) -> impl Iterator<Item = Stats> {
    let of_family = messages(bytes).filter(move |(kind, _)| *kind == family);
    // The header of generic netlink, 4 bytes, follows that of netlink.
    let outer = of_family.flat_map(|(_, payload)| attributes(payload.get(4..).unwrap_or_default()));
    let of_thread = outer.filter(|(kind, _)| *kind == TYPE_AGGR_PID);
    let inner = of_thread.flat_map(|(_, content)| attributes(content));
    inner.filter(|(kind, _)| *kind == TYPE_STATS).filter_map(|(_, record)| Stats::parse(record))
}

/// The error number of an error message; 0 for success.
pub(super) fn error_of(kind: u16, payload: &[u8]) -> Option<i32> {
    (kind == ERROR).then(|| payload.first_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes)))
}

/// A message of generic netlink with attributes.
pub(super) fn request(family: u16, flags: u16, command: u8, content: &[(u16, &[u8])]) -> Vec<u8> {
    let mut message = vec![0; 4];
    message.extend_from_slice(&family.to_ne_bytes());
    message.extend_from_slice(&flags.to_ne_bytes());
    // Sequence 1, any port; then command, version, reserved.
    message.extend_from_slice(&1_u32.to_ne_bytes());
    message.extend_from_slice(&0_u32.to_ne_bytes());
    message.extend_from_slice(&[command, 1, 0, 0]);
    for (kind, bytes) in content {
        message.extend_from_slice(&((4 + bytes.len()) as u16).to_ne_bytes());
        message.extend_from_slice(&kind.to_ne_bytes());
        message.extend_from_slice(bytes);
        message.resize(message.len().next_multiple_of(4), 0);
    }
    let length = message.len() as u32;
    message[..4].copy_from_slice(&length.to_ne_bytes());
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_within_its_wrappings_and_no_panic_on_any_cut() {
        let mut record = vec![0; 400];
        record[4..8].copy_from_slice(&(3_u32 << 8).to_ne_bytes());
        record[8] = 0x22;
        record[80..84].copy_from_slice(b"true");
        record[128..132].copy_from_slice(&77_i32.to_ne_bytes());
        record[168..176].copy_from_slice(&52_u64.to_ne_bytes());
        record[368..372].copy_from_slice(&70_i32.to_ne_bytes());
        let inner = request(0, 0, 0, &[(1, &77_i32.to_ne_bytes()), (TYPE_STATS, &record)]);
        let whole = request(30, 0, 2, &[(TYPE_AGGR_PID, &inner[20..])]);
        let found: Vec<Stats> = threads(&whole, 30).collect();
        assert_eq!(found.len(), 1);
        let stats = found[0];
        assert_eq!((stats.pid, stats.tgid, stats.code, stats.minor_faults), (77, 70, 768, 52));
        assert!(stats.is_last && stats.command.starts_with(b"true\0"));
        assert_eq!(threads(&whole, 31).count(), 0);
        for end in 0..whole.len() {
            assert_eq!(threads(&whole[..end], 30).count(), 0, "{end}");
        }
        for at in 0..whole.len() {
            for value in [0, 1, 0x7F, 0xFF] {
                let mut broken = whole.clone();
                broken[at] = value;
                threads(&broken, 30).for_each(drop);
            }
        }
    }

    #[test]
    fn a_record_of_an_older_kernel_without_the_process_is_not_taken() {
        assert_eq!(Stats::parse(&[0; 352]), None);
        assert!(Stats::parse(&[0; 384]).is_some());
    }
}

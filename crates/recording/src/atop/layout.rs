//! Where each number of atop's two structures is, by version: `sstat` of the machine and `tstat` of a
//! task, as a C compiler lays them out on 64-bit machines with the low byte first.
//!
//! Versions add numbers at the end of a group, enlarge groups, and now and then insert one.  A layout
//! is taken only if its sizes are those that the file names, so that no number is read from a wrong
//! place: the header's versions are also used by builds whose structures differ.

use Form::{
    Grown, GrownOrNone, GrownPages, GrownSectors, Level, LevelBytes, LevelPages, Priority, Small,
    SmallOrNone,
};

/// What a number is, and what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// 64 bits: how much a counter grew in the interval.
    Grown,
    /// The same; -1 if the kernel does not count it.
    GrownOrNone,
    /// The same in pages; the field is in KiB.
    GrownPages,
    /// The same in sectors; the field is in bytes.
    GrownSectors,
    /// 64 bits: a level; negative if it is not known.
    Level,
    /// The same in pages; the field is in KiB.
    LevelPages,
    /// The same in bytes; the field is in KiB.
    LevelBytes,
    /// 32 bits, with a sign.
    Small,
    /// The same; negative if it is not known.
    SmallOrNone,
    /// 32 bits: a priority to which atop has added 100.
    Priority,
}

/// One number: the field, its place in the structure, and its form.
pub(super) type Number = (&'static str, usize, Form);

/// Bytes of a 64-bit number, most of what there is.
const WORD: usize = 8;

/// The most elements that the structures have room for.
pub(super) const CPUS_MAX: usize = 2048;
pub(super) const INTERFACES_MAX: usize = 128;
/// Disks, arrays and logical volumes, in this order.
pub(super) const DISKS_MAX: [usize; 3] = [1024, 256, 2048];

/// Bytes before the first CPU, before the first disk, and before the first interface.
pub(super) const CPUS_AT: usize = 80;
pub(super) const DISKS_AT: usize = 16;
pub(super) const INTERFACES_AT: usize = 8;

/// Bytes of an interface, and of the names of disks and interfaces.
pub(super) const INTERFACE_STEP: usize = 272;
pub(super) const DISK_NAME_BYTES: usize = 32;
pub(super) const INTERFACE_NAME_BYTES: usize = 16;

/// Where the link's speed in Mbit/s is.
pub(super) const SPEED_AT: usize = 216;

/// Bytes of groups that have the same size in all versions: statistics of NFS, of containers, of
/// pressure, of graphics processors, of InfiniBand before 2.11, of caches, and of a web server.
const NFS: usize = 0x4328;
const CONTAINERS: usize = 0x1c08;
const PRESSURE: usize = 0x80;
const GRAPHICS: usize = 0xb08;
const INFINIBAND: usize = 0x708;
const CACHES: usize = 0x1808;
const WEB_SERVER: usize = 0x20;
const NODES_MAX: usize = 1024;

/// Places in `tstat`, the same in all versions.
pub(super) const TGID_AT: usize = 0;
pub(super) const PID_AT: usize = 4;
pub(super) const THREADS_AT: usize = 44;
pub(super) const NAME_AT: usize = 48;
pub(super) const IS_PROCESS_AT: usize = 64;
pub(super) const STATE_AT: usize = 65;
pub(super) const EXIT_STATUS_AT: usize = 68;
pub(super) const BEGAN_AT: usize = 72;
pub(super) const LASTED_AT: usize = 80;
pub(super) const COMMAND_LINE_AT: usize = 88;
pub(super) const NAME_BYTES: usize = 16;
pub(super) const COMMAND_LINE_BYTES: usize = 256;
pub(super) const CGROUP_BYTES: usize = 64;

/// The layout of one version.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) sstat_bytes: usize,
    pub(super) tstat_bytes: usize,
    /// Bytes of a CPU and of a disk.
    pub(super) cpu_step: usize,
    pub(super) disk_step: usize,
    /// Where groups begin.
    pub(super) interfaces: usize,
    pub(super) disks: usize,
    pub(super) pressure: Option<usize>,
    /// Numbers at their places in `sstat`.
    pub(super) memory: Vec<Number>,
    pub(super) sockets: Vec<Number>,
    pub(super) protocols: Vec<Number>,
    /// Numbers at their places in an element.
    pub(super) disk: &'static [Number],
    /// Numbers at their places in `tstat`.
    pub(super) task: Vec<Number>,
    /// Where the path of the control group is.
    pub(super) cgroup: Option<usize>,
    /// Whether statistics of control groups follow those of tasks.
    pub(super) has_cgroups: bool,
}

/// The versions that are known, as minor numbers of 2.
pub(super) const MINORS: std::ops::RangeInclusive<u8> = 3..=11;

impl Layout {
    /// The layout of atop 2.`minor` whose structures have these sizes, if there is one.
    pub(super) fn find(minor: u8, sstat_bytes: u64, tstat_bytes: u64) -> Option<Layout> {
        // The checksum errors of ICMP came with 2.8, those of TCP in one of the versions after it.
        let errors: &[[usize; 2]] = match minor {
            3..=7 => &[[0, 0]],
            8 => &[[1, 0]],
            9..=11 => &[[1, 0], [1, 1]],
            _ => return None,
        };
        let mut layouts = errors.iter().map(|errors| Layout::of(minor, *errors));
        layouts.find(|layout| {
            (layout.sstat_bytes as u64, layout.tstat_bytes as u64) == (sstat_bytes, tstat_bytes)
        })
    }

    /// The layout of atop 2.`minor`; `errors` are the further numbers of ICMP and of TCP.
    fn of(minor: u8, errors: [usize; 2]) -> Layout {
        let cpu_step = if minor < 7 { 136 } else { 168 };
        let memory_at = CPUS_AT + (1 + CPUS_MAX) * cpu_step;
        let memory_words = match minor {
            ..=6 => 31,
            7..=9 => 42,
            10 => 49,
            _ => 50,
        };
        let protocols_at = memory_at + memory_words * WORD;
        let interfaces = protocols_at + (117 + errors[0] + errors[1]) * WORD;
        let nodes_at = interfaces + INTERFACES_AT + INTERFACES_MAX * INTERFACE_STEP;
        let nodes = |bytes: usize| WORD + NODES_MAX * bytes;
        let disks = nodes_at
            + match minor {
                ..=6 => 0,
                7 => nodes(88) + nodes(80),
                8 | 9 => nodes(88) + nodes(88),
                10 => nodes(96) + nodes(88),
                _ => nodes(112) + nodes(104),
            };
        let disk_step = if minor < 8 { 112 } else { 128 };
        let pressure_at =
            disks + DISKS_AT + DISKS_MAX.iter().sum::<usize>() * disk_step + NFS + CONTAINERS;
        let after = match minor {
            ..=3 => 0,
            4..=7 => PRESSURE + GRAPHICS + INFINIBAND,
            8..=10 => PRESSURE + GRAPHICS + INFINIBAND + CACHES,
            _ => PRESSURE + GRAPHICS + INFINIBAND + 32 * 4 * WORD + CACHES,
        };
        let (task, tstat_bytes) = task(minor);
        Layout {
            sstat_bytes: pressure_at + after + WEB_SERVER,
            tstat_bytes,
            cpu_step,
            disk_step,
            interfaces,
            disks,
            pressure: (minor > 3).then_some(pressure_at),
            memory: placed(memory_at, memory(minor)),
            sockets: if minor < 8 { Vec::new() } else { placed(memory_at, SOCKETS) },
            protocols: protocols(protocols_at, errors),
            disk: match minor {
                ..=6 => &DISK[..6],
                7 => &DISK[..8],
                _ => DISK,
            },
            task,
            cgroup: match minor {
                8 | 9 => Some(384),
                10 => Some(388),
                _ => None,
            },
            has_cgroups: minor >= 11,
        }
    }
}

/// Gives numbers that follow each other their places; what has no field is `""`.
fn placed(at: usize, numbers: &[(&'static str, Form)]) -> Vec<Number> {
    let numbers = numbers.iter().enumerate();
    let numbers = numbers.map(|(index, (field, form))| (*field, at + index * WORD, *form));
    numbers.filter(|(field, ..)| !field.is_empty()).collect()
}

fn memory(minor: u8) -> &'static [(&'static str, Form)] {
    match minor {
        ..=5 => &MEMORY[..23],
        6 => &MEMORY[..25],
        7 => MEMORY,
        8 | 9 => &MEMORY_SINCE_8[..38],
        _ => MEMORY_SINCE_8,
    }
}

/// The numbers of IPv4, ICMP, UDP and TCP.  Those of IPv6 stand between UDP and TCP.
fn protocols(at: usize, errors: [usize; 2]) -> Vec<Number> {
    let icmp_at = at + IP.len() * WORD;
    let udp_at = icmp_at + (26 + errors[0]) * WORD;
    let tcp_at = udp_at + (UDP.len() + 22 + 28 + 4) * WORD;
    let mut numbers = placed(at, IP);
    match errors[0] {
        0 => {
            let without: Vec<_> =
                ICMP.iter().copied().filter(|(field, _)| *field != ICMP_ERRORS).collect();
            numbers.extend(placed(icmp_at, &without));
        }
        _ => numbers.extend(placed(icmp_at, ICMP)),
    }
    numbers.extend(placed(udp_at, UDP));
    numbers.extend(placed(tcp_at, &TCP[..14 + errors[1]]));
    numbers
}

/// The numbers of a task, and the size of its structure.
fn task(minor: u8) -> (Vec<Number>, usize) {
    // Groups: identity, CPU, disk, memory, network, graphics processor.
    let (cpu, disk, graphics) = match minor {
        3 => (384, 88, 0),
        4..=7 => (384, 88, 56),
        8 | 9 => (448, 120, 56),
        10 => (456, 136, 56),
        _ => (408, 136, 80),
    };
    let memory_words = if minor < 8 { 16 } else { 20 };
    let disk_at = cpu + disk;
    let memory_at = disk_at + 9 * WORD;
    let mut numbers = IDENTITY.to_vec();
    let shifted = |numbers: &[Number], by: usize| -> Vec<Number> {
        numbers.iter().map(|(field, at, form)| (*field, at + by, *form)).collect()
    };
    numbers.extend(shifted(TASK_CPU, cpu));
    match minor {
        ..=5 => {}
        6 | 7 => numbers.push(("run_delay", cpu + 72, Grown)),
        _ => numbers.push(("run_delay", cpu + 80, Grown)),
    }
    if minor >= 10 {
        numbers.push(("voluntary_switches", cpu + 96, Grown));
        numbers.push(("involuntary_switches", cpu + 104, Grown));
    }
    numbers.extend(shifted(TASK_DISK, disk_at));
    numbers.extend(shifted(TASK_MEMORY, memory_at));
    if minor >= 6 {
        numbers.push(("locked", memory_at + 96, Level));
    }
    (numbers, memory_at + memory_words * WORD + 14 * WORD + graphics)
}

/// The first of a CPU's numbers is its own number, in 32 bits.
pub(super) const CPU: &[Number] = &[
    ("system", 8, Grown),
    ("user", 16, Grown),
    ("nice", 24, Grown),
    ("idle", 32, Grown),
    ("iowait", 40, Grown),
    ("irq", 48, Grown),
    ("softirq", 56, Grown),
    ("steal", 64, Grown),
    ("guest", 72, Grown),
];

/// What stands before the CPUs, without the load averages.
pub(super) const MACHINE: &[Number] = &[
    ("cpus_online", 0, Level),
    ("interrupts", 8, Grown),
    ("context_switches", 16, Grown),
    ("forks", 24, Grown),
];

/// The load averages, as 32-bit floating-point numbers.
pub(super) const LOADS: &[(&str, usize)] = &[("load_1m", 32), ("load_5m", 36), ("load_15m", 40)];

const DISK: &[Number] = &[
    ("reads", 32, Grown),
    ("read_sectors", 40, Grown),
    ("writes", 48, Grown),
    ("write_sectors", 56, Grown),
    ("busy_ms", 64, Grown),
    ("weighted_ms", 72, Grown),
    ("discards", 80, GrownOrNone),
    ("discard_sectors", 88, GrownOrNone),
    ("in_flight", 96, Level),
];

pub(super) const INTERFACE: &[Number] = &[
    ("rx_bytes", 16, Grown),
    ("rx_packets", 24, Grown),
    ("rx_errors", 32, Grown),
    ("rx_dropped", 40, Grown),
    ("rx_fifo", 48, Grown),
    ("rx_frame", 56, Grown),
    ("rx_compressed", 64, Grown),
    ("rx_multicast", 72, Grown),
    ("tx_bytes", 112, Grown),
    ("tx_packets", 120, Grown),
    ("tx_errors", 128, Grown),
    ("tx_dropped", 136, Grown),
    ("tx_fifo", 144, Grown),
    ("tx_collisions", 152, Grown),
    ("tx_carrier", 160, Grown),
    ("tx_compressed", 168, Grown),
];

/// Pressure: the resource, its kind, and where it is.  Each is three averages as 32-bit
/// floating-point numbers, 4 bytes of nothing, and the total in µs.
pub(super) const STALLS: &[(&str, [&str; 4], usize)] = &[
    ("cpu", SOME, 8),
    ("io", SOME, 80),
    ("io", FULL, 104),
    ("memory", SOME, 32),
    ("memory", FULL, 56),
];
const SOME: [&str; 4] = ["some_avg10", "some_avg60", "some_avg300", "some_total"];
const FULL: [&str; 4] = ["full_avg10", "full_avg60", "full_avg300", "full_total"];

const IDENTITY: &[Number] = &[
    ("tgid", TGID_AT, Small),
    ("parent", 8, Small),
    ("uid", 12, Small),
    ("threads", THREADS_AT, Small),
];

const TASK_CPU: &[Number] = &[
    ("user_time", 0, Grown),
    ("system_time", 8, Grown),
    ("nice", 16, Small),
    ("priority", 20, Priority),
    ("realtime_priority", 24, Small),
    ("policy", 28, Small),
    ("processor", 32, SmallOrNone),
];

const TASK_DISK: &[Number] = &[
    ("read_bytes", 8, GrownSectors),
    ("write_bytes", 24, GrownSectors),
    ("cancelled_write_bytes", 32, GrownSectors),
];

const TASK_MEMORY: &[Number] = &[
    ("minor_faults", 0, Grown),
    ("major_faults", 8, Grown),
    ("code", 16, Level),
    ("virtual", 24, Level),
    ("resident", 32, Level),
    ("data", 64, Level),
    ("stack", 72, Level),
    ("libraries", 80, Level),
    ("swap", 88, Level),
];

/// Memory of 2.3 to 2.7, of which 2.3 to 2.5 have the first 23, and 2.6 the first 25.
const MEMORY: &[(&str, Form)] = &[
    ("total", LevelPages),
    ("free", LevelPages),
    ("buffers", LevelPages),
    ("slab", LevelPages),
    ("cached", LevelPages),
    ("dirty", LevelPages),
    ("swap_total", LevelPages),
    ("swap_free", LevelPages),
    ("scanned_all", Grown),
    ("stolen_all", Grown),
    ("stalls", Grown),
    ("swap_out", Grown),
    ("swap_in", Grown),
    ("commit_limit", LevelPages),
    ("committed", LevelPages),
    ("shared", LevelPages),
    ("", Level),
    ("", Level),
    ("slab_reclaimable", LevelPages),
    ("huge_total", Level),
    ("huge_free", Level),
    ("huge_size", LevelBytes),
    ("", Level),
    ("", Level),
    ("swap_cached", LevelPages),
    ("", Level),
    ("", Level),
    ("zswapped", LevelPages),
    ("zswap", LevelPages),
    ("oom_kills", GrownOrNone),
    ("compact_stalls", Grown),
    ("migrated", Grown),
    ("", Level),
];

/// Memory since 2.8, of which 2.8 and 2.9 have the first 38.
const MEMORY_SINCE_8: &[(&str, Form)] = &[
    ("total", LevelPages),
    ("free", LevelPages),
    ("buffers", LevelPages),
    ("slab", LevelPages),
    ("cached", LevelPages),
    ("dirty", LevelPages),
    ("swap_total", LevelPages),
    ("swap_free", LevelPages),
    ("scanned_all", Grown),
    ("stolen_all", Grown),
    ("stalls", Grown),
    ("swap_out", Grown),
    ("swap_in", Grown),
    ("", Level),
    ("", Level),
    ("commit_limit", LevelPages),
    ("committed", LevelPages),
    ("shared", LevelPages),
    ("", Level),
    ("", Level),
    ("slab_reclaimable", LevelPages),
    ("huge_total", Level),
    ("huge_free", Level),
    ("huge_size", LevelBytes),
    ("", Level),
    ("", Level),
    ("swap_cached", LevelPages),
    ("", Level),
    ("", Level),
    ("zswapped", LevelPages),
    ("zswap", LevelPages),
    ("oom_kills", GrownOrNone),
    ("compact_stalls", Grown),
    ("migrated", Grown),
    ("", Level),
    ("page_out", GrownPages),
    ("page_in", GrownPages),
    ("page_tables", LevelPages),
    ("", Level),
    ("", Level),
    ("", Level),
    ("", Level),
    ("", Level),
    ("available", LevelPages),
    ("anonymous_huge", LevelPages),
];

/// The numbers of sockets among those of memory, since 2.8.
const SOCKETS: &[(&str, Form)] = &[
    ("", Level),
    ("", Level),
    ("", Level),
    ("", Level),
    ("", Level),
    ("", Level),
    ("", Level),
    ("", Level),
    ("", Level),
    ("", Level),
    ("", Level),
    ("", Level),
    ("", Level),
    ("tcp_memory", Level),
    ("udp_memory", Level),
];

const IP: &[(&str, Form)] = &[
    ("ip_forwarding", Level),
    ("ip_default_ttl", Level),
    ("ip_in_receives", Grown),
    ("ip_in_hdr_errors", Grown),
    ("ip_in_addr_errors", Grown),
    ("ip_forw_datagrams", Grown),
    ("ip_in_unknown_protos", Grown),
    ("ip_in_discards", Grown),
    ("ip_in_delivers", Grown),
    ("ip_out_requests", Grown),
    ("ip_out_discards", Grown),
    ("ip_out_no_routes", Grown),
    ("ip_reasm_timeout", Grown),
    ("ip_reasm_reqds", Grown),
    ("ip_reasm_oks", Grown),
    ("ip_reasm_fails", Grown),
    ("ip_frag_oks", Grown),
    ("ip_frag_fails", Grown),
    ("ip_frag_creates", Grown),
];

const ICMP_ERRORS: &str = "icmp_in_csum_errors";

const ICMP: &[(&str, Form)] = &[
    ("icmp_in_msgs", Grown),
    ("icmp_in_errors", Grown),
    (ICMP_ERRORS, Grown),
    ("icmp_in_dest_unreachs", Grown),
    ("icmp_in_time_excds", Grown),
    ("icmp_in_parm_probs", Grown),
    ("icmp_in_src_quenchs", Grown),
    ("icmp_in_redirects", Grown),
    ("icmp_in_echos", Grown),
    ("icmp_in_echo_reps", Grown),
    ("icmp_in_timestamps", Grown),
    ("icmp_in_timestamp_reps", Grown),
    ("icmp_in_addr_masks", Grown),
    ("icmp_in_addr_mask_reps", Grown),
    ("icmp_out_msgs", Grown),
    ("icmp_out_errors", Grown),
    ("icmp_out_dest_unreachs", Grown),
    ("icmp_out_time_excds", Grown),
    ("icmp_out_parm_probs", Grown),
    ("icmp_out_src_quenchs", Grown),
    ("icmp_out_redirects", Grown),
    ("icmp_out_echos", Grown),
    ("icmp_out_echo_reps", Grown),
    ("icmp_out_timestamps", Grown),
    ("icmp_out_timestamp_reps", Grown),
    ("icmp_out_addr_masks", Grown),
    ("icmp_out_addr_mask_reps", Grown),
];

const UDP: &[(&str, Form)] = &[
    ("udp_in_datagrams", Grown),
    ("udp_no_ports", Grown),
    ("udp_in_errors", Grown),
    ("udp_out_datagrams", Grown),
];

const TCP: &[(&str, Form)] = &[
    ("tcp_rto_algorithm", Level),
    ("tcp_rto_min", Level),
    ("tcp_rto_max", Level),
    ("", Level),
    ("tcp_active_opens", Grown),
    ("tcp_passive_opens", Grown),
    ("tcp_attempt_fails", Grown),
    ("tcp_estab_resets", Grown),
    ("tcp_curr_estab", Level),
    ("tcp_in_segs", Grown),
    ("tcp_out_segs", Grown),
    ("tcp_retrans_segs", Grown),
    ("tcp_in_errs", Grown),
    ("tcp_out_rsts", Grown),
    ("tcp_in_csum_errors", Grown),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes of both structures, and where `sstat` has interfaces, disks and pressure, as the
    /// converter of atop 2.8 knows them.
    #[test]
    fn structures_are_as_large_as_the_programs_own() {
        let known = [
            (3, 0xadce0, 0x310, 0x44578, 0x4cd80, None),
            (4, 0xaef70, 0x348, 0x44578, 0x4cd80, Some(0xadcc0)),
            (5, 0xaef70, 0x348, 0x44578, 0x4cd80, Some(0xadcc0)),
            (6, 0xaef70, 0x348, 0x44578, 0x4cd80, Some(0xadcc0)),
            (7, 0xe8ff8, 0x348, 0x545f0, 0x86e08, Some(0xe7d48)),
            (8, 0xf9808, 0x3c8, 0x545f8, 0x88e10, Some(0xf6d50)),
        ];
        for (minor, sstat_bytes, tstat_bytes, interfaces, disks, pressure) in known {
            let layout = Layout::find(minor, sstat_bytes, tstat_bytes).unwrap();
            assert_eq!(
                (layout.interfaces, layout.disks, layout.pressure),
                (interfaces, disks, pressure),
                "2.{minor}"
            );
            assert!(Layout::find(minor, sstat_bytes + 8, tstat_bytes).is_none() || minor > 8);
        }
    }

    #[test]
    fn numbers_are_within_their_structures() {
        for minor in MINORS {
            let layout = Layout::of(minor, [0, 0]);
            let system = [&layout.memory, &layout.sockets, &layout.protocols];
            for (field, at, _) in system.into_iter().flatten() {
                assert!(at + WORD <= layout.interfaces, "2.{minor} {field}");
            }
            for (field, at, _) in &layout.task {
                assert!(at + WORD <= layout.tstat_bytes, "2.{minor} {field}");
            }
        }
    }
}

//! What the numbers of each activity are, as data: the fields of whit's sources, in the order of the
//! file.

use sample::{Field, Unit};

use super::{Item, RowIndexes};
use crate::imported::{ImportedRow, pair, text};

/// The most rows of a record: 256 CPUs with 4,096 interrupts.
pub(super) const ROWS_MAX: usize = 1 << 20;

/// The first number by which activities count their formats.
pub(super) const BASE: u32 = 0x8a;

/// The bytes of the names of an interface, of an interrupt, and of a filesystem.
pub(super) const INTERFACE_BYTES: usize = 16;
pub(super) const INTERRUPT_BYTES: usize = 8;
pub(super) const FILESYSTEM_BYTES: usize = 128;

/// The row of all CPUs together, where each has its own.
pub(super) const ALL_CPUS: &[u8] = b"all";

/// The source of what all disks transfer together, which `sadc` records by itself.
pub const SADC_TRANSFERS: &str = "transfers";

/// Fields that `sadc` records and whit's own sources do not have, by source.
pub const SADC_FIELDS: &[(&str, &[Field])] = &[
    (
        "memory",
        &[
            Field::counter("stolen", Unit::Pages, "Pages reclaimed, by whomever"),
            Field::gauge("huge_total_kib", Unit::Kibibytes, "Memory in huge pages"),
            Field::gauge("huge_free_kib", Unit::Kibibytes, "Free memory in huge pages"),
            Field::gauge("huge_reserved_kib", Unit::Kibibytes, "Memory in reserved huge pages"),
            Field::gauge("huge_surplus_kib", Unit::Kibibytes, "Memory in surplus huge pages"),
        ],
    ),
    ("disk", &[Field::counter("transfers", Unit::Count, "Reads, writes and discards finished")]),
    (
        "inode",
        &[
            Field::gauge("inodes_used", Unit::Count, "Inodes in use"),
            Field::gauge("terminals", Unit::Count, "Pseudo-terminals in use"),
        ],
    ),
    (
        SADC_TRANSFERS,
        &[
            Field::counter("transfers", Unit::Count, "Transfers of all disks"),
            Field::counter("reads", Unit::Count, "Reads of all disks"),
            Field::counter("writes", Unit::Count, "Writes of all disks"),
            Field::counter("discards", Unit::Count, "Discards of all disks"),
            Field::counter("read_sectors", Unit::Sectors, "Data read from all disks"),
            Field::counter("write_sectors", Unit::Sectors, "Data written to all disks"),
            Field::counter("discard_sectors", Unit::Sectors, "Data discarded on all disks"),
        ],
    ),
];

/// How the rows of an activity are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// One row, of this name.
    One(&'static str),
    /// All CPUs first, then each.
    Cpus,
    /// Interrupts (parts) of all CPUs, then of each; the names stand with those of all CPUs.
    InterruptsOfCpus,
    /// The sum of all interrupts, then each by its number.
    Interrupts,
    /// The numbers of a disk.
    Disks,
    Interfaces,
    Filesystems,
    /// The number that stands after the fields.
    Last,
    /// Each CPU; the first is all together.
    EachCpu,
    /// All CPUs together, which have a row of their own, then each.
    AllAndEachCpu,
}

/// One activity in one format.
#[derive(Debug)]
pub(super) struct Activity {
    pub(super) id: u32,
    pub(super) format: u32,
    pub(super) source: &'static str,
    /// The letters that select its sources.
    pub(super) letters: &'static str,
    pub(super) names: Names,
    /// The fields: 64-bit numbers, words, 32-bit numbers.  What has no field is `""`.
    pub(super) fields: [&'static [&'static str]; 3],
}

/// The activity of that number and format, if it is known.
pub(super) fn find(id: u32, format: u32) -> Option<&'static Activity> {
    ACTIVITIES.iter().find(|activity| (activity.id, activity.format) == (id, format))
}

/// Every activity in its newest format, in the order in which `sadc` writes them.
pub(super) fn newest() -> impl Iterator<Item = &'static Activity> {
    let is_newest = |one: &&Activity| {
        !ACTIVITIES.iter().any(|other| other.id == one.id && other.format > one.format)
    };
    let mut newest: Vec<_> = ACTIVITIES.iter().filter(is_newest).collect();
    // Those of huge pages and of queues of packets have higher numbers than what they stand behind.
    newest.sort_by_key(|one| match one.id {
        34 => (7, 1),
        39 => (29, 1),
        id => (id, 0),
    });
    newest.into_iter()
}

/// The last number of memory, which sysstat 12.7 added: files are written as 12.6 writes them.
const ADDED_LATER: &str = "shared";

impl Activity {
    /// Whether it has this field.
    pub(super) fn has(&self, field: &str) -> bool {
        self.fields.iter().any(|fields| fields.contains(&field))
    }

    /// How many numbers of each kind stand in a file that is written.
    pub(super) fn written_counts(&self) -> [usize; 3] {
        let own = |fields: &[&str]| fields.iter().filter(|field| **field != ADDED_LATER).count();
        let [long, words, short] = self.fields.map(own);
        [long, words, short + usize::from(self.names == Names::Last)]
    }

    /// How many bytes of text stand behind the numbers.
    pub(super) fn text_bytes(&self) -> usize {
        match self.names {
            Names::Interfaces => INTERFACE_BYTES,
            Names::InterruptsOfCpus => INTERRUPT_BYTES,
            Names::Filesystems => 2 * FILESYSTEM_BYTES,
            _ => 0,
        }
    }

    /// How many numbers of each kind it has.
    pub(super) fn counts(&self) -> [u32; 3] {
        self.fields.map(|fields| fields.len() as u32)
    }

    /// The sources of which it has values.
    pub(super) fn sources(&'static self) -> &'static [&'static str] {
        match self.names {
            Names::Cpus => &["cpu", "cpu_core"],
            _ => std::slice::from_ref(&self.source),
        }
    }

    /// Adds an item; `names` are those of the parts seen before.  False if there are too many rows.
    pub(super) fn add(&self, item: &Item<'_>, names: &mut Vec<Vec<u8>>, rows: &mut Rows) -> bool {
        let rest = item.layout.rest(item.bytes);
        let number = |kind, place| item.layout.number(item.bytes, kind, place);
        let digits = |value: usize| value.to_string().into_bytes();
        let (mut source, mut label) = (self.source, None);
        let name = match self.names {
            Names::One(name) => name.as_bytes().to_vec(),
            Names::Cpus if item.number == 0 => Vec::new(),
            Names::Cpus => {
                source = "cpu_core";
                digits(item.number - 1)
            }
            Names::InterruptsOfCpus if item.number == 0 => {
                names.push(text(rest.get(..INTERRUPT_BYTES).unwrap_or_default()).to_vec());
                return true;
            }
            Names::InterruptsOfCpus => match names.get(item.part) {
                // The first is the sum of the others.
                Some(name) if item.part > 0 => pair(name, &digits(item.number - 1)),
                _ => return true,
            },
            Names::Interrupts if item.number == 0 => return true,
            Names::Interrupts => digits(item.number - 1),
            Names::Disks => {
                let numbers = [4, 5].map(|place| number(2, place).unwrap_or(0).to_string());
                label = Some(("kind", if number(2, 7) > Some(0) { "partition" } else { "disk" }));
                numbers.join(":").into_bytes()
            }
            Names::Interfaces => text(rest.get(..INTERFACE_BYTES).unwrap_or_default()).to_vec(),
            Names::Last => {
                let place = self.fields[2].len();
                number(2, place).unwrap_or(0).to_string().into_bytes()
            }
            Names::EachCpu if item.number == 0 => return true,
            Names::AllAndEachCpu if item.number == 0 => ALL_CPUS.to_vec(),
            Names::EachCpu | Names::AllAndEachCpu => digits(item.number - 1),
            // Versions before 11 have the device only.
            Names::Filesystems => text(rest.get(FILESYSTEM_BYTES..).unwrap_or(rest)).to_vec(),
        };
        let cells = self.fields.iter().enumerate().flat_map(|(kind, fields)| {
            fields.iter().enumerate().filter(|(_, field)| !field.is_empty()).filter_map(
                move |(place, field)| {
                    // The kernel counts the task that reads as running, sadc does not.
                    let reader = u64::from(*field == "tasks_running");
                    Some((*field, number(kind, place)?.saturating_add(reader)))
                },
            )
        });
        // A CPU that is offline has zeros.
        let is_offline = source == "cpu_core" && cells.clone().all(|(_, value)| value == 0);
        let Some(row) = rows.row(source, name) else { return false };
        if !is_offline {
            row.cells.extend(cells);
        }
        if let Some((field, label)) = label {
            row.texts.push((field, label.as_bytes().to_vec()));
        }
        if self.names == Names::Filesystems {
            let device = text(rest.get(..FILESYSTEM_BYTES).unwrap_or(rest));
            row.texts.push(("device", device.to_vec()));
        }
        true
    }
}

/// The rows of a record.
#[derive(Default)]
pub(super) struct Rows {
    rows: Vec<ImportedRow>,
    places: RowIndexes,
}

impl Rows {
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.places.clear();
    }

    /// Orders the rows from `first` on, which are those of each CPU with `parts` interrupts, by
    /// interrupt.
    pub(super) fn put_parts_first(&mut self, first: usize, parts: usize) {
        if parts > 1 {
            let mut rows: Vec<_> = self.rows.split_off(first).into_iter().enumerate().collect();
            rows.sort_by_key(|(number, _)| number % parts);
            self.rows.extend(rows.into_iter().map(|(_, row)| row));
        }
    }

    /// Makes the times of all CPUs the sum of those of each, as sysstat shows them: the kernel's own
    /// sum is rounded otherwise.  While a CPU is offline, its times are missing, and the kernel's sum
    /// stays.
    pub(super) fn add_up_cpus(&mut self) {
        let is_cpu = |row: &&ImportedRow| row.source == "cpu_core";
        let mut sums = [0_u64; CPU.len()];
        for row in self.rows.iter().filter(is_cpu) {
            if row.cells.is_empty() {
                return;
            }
            for (field, value) in &row.cells {
                if let Some(place) = CPU.iter().position(|name| name == field) {
                    sums[place] = sums[place].saturating_add(*value);
                }
            }
        }
        if !self.rows.iter().any(|row| is_cpu(&row)) {
            return;
        }
        let all = self.rows.iter_mut().filter(|row| row.source == "cpu");
        for (field, value) in all.flat_map(|row| &mut row.cells) {
            if let Some(place) = CPU.iter().position(|name| name == field) {
                *value = sums[place];
            }
        }
    }

    pub(super) fn all(&self) -> &[ImportedRow] {
        &self.rows
    }

    /// The row of that source and name; `None` if there are too many.
    fn row(&mut self, source: &'static str, name: Vec<u8>) -> Option<&mut ImportedRow> {
        let next = self.rows.len();
        let place = *self.places.entry((source, name.clone())).or_insert(next);
        if place == next {
            if next >= ROWS_MAX {
                return None;
            }
            self.rows.push(ImportedRow { source, name, cells: Vec::new(), texts: Vec::new() });
        }
        self.rows.get_mut(place)
    }
}

/// An activity with one row.
macro_rules! single {
    ($id:literal, $step:literal, $source:literal $letters:literal, $long:expr, $words:expr, $short:expr) => {
        activity!($id, $step, $source $letters, Names::One(""), $long, $words, $short)
    };
}

macro_rules! activity {
    (
        $id:literal, $step:literal, $source:literal $letters:literal, $names:expr, $long:expr,
        $words:expr, $short:expr
    ) => {
        Activity {
            id: $id,
            format: BASE + $step,
            source: $source,
            letters: $letters,
            names: $names,
            fields: [&$long, &$words, &$short],
        }
    };
}

/// The numbers of pressure for I/O and memory.
const STALLS: [&str; 6] =
    ["some_avg10", "some_avg60", "some_avg300", "full_avg10", "full_avg60", "full_avg300"];

const CPU: [&str; 10] =
    ["user", "nice", "system", "idle", "iowait", "steal", "irq", "softirq", "guest", "guest_nice"];

/// The numbers of the disk and that of the partition are no fields.
const DISK_TIMES: [&str; 8] =
    ["read_ms", "write_ms", "busy_ms", "weighted_ms", "", "", "discard_ms", ""];

/// Every activity that has a place in whit's sources.
static ACTIVITIES: &[Activity] = &[
    activity!(1, 1, "cpu" "cC", Names::Cpus, CPU, [], []),
    single!(2, 1, "cpu" "c", ["context_switches"], ["forks"], []),
    activity!(3, 1, "interrupt" "jJ", Names::Interrupts, ["count"], [], []),
    activity!(3, 2, "interrupt" "jJ", Names::InterruptsOfCpus, [], [], ["count"]),
    single!(4, 0, "memory" "m", [], ["swap_in", "swap_out"], []),
    single!(
        5, 0, "memory" "m", [],
        [
            "page_in", "page_out", "faults", "major_faults", "freed", "scanned_kswapd",
            "scanned_direct", "stolen"
        ],
        []
    ),
    single!(
        6, 1, "transfers" "",
        [
            "transfers", "reads", "writes", "read_sectors", "write_sectors", "discards",
            "discard_sectors"
        ],
        [], []
    ),
    single!(
        7, 1, "memory" "m",
        [
            "free", "buffers", "cached", "total", "swap_free", "swap_total", "swap_cached",
            "committed", "active", "inactive", "dirty", "anonymous", "slab", "kernel_stack",
            "page_tables", "vmalloc_used", "available", "shared"
        ],
        [], []
    ),
    single!(8, 1, "inode" "i", ["files_open", "inodes_used", "dentries_unused", "terminals"], [], []),
    single!(
        9, 2, "cpu" "c", ["tasks_running", "blocked", "tasks"], [],
        ["load_1m", "load_5m", "load_15m"]
    ),
    activity!(
        11, 1, "disk" "dD", Names::Disks, ["transfers"], ["read_sectors", "write_sectors"],
        DISK_TIMES
    ),
    activity!(
        11, 2, "disk" "dD", Names::Disks, ["transfers", "", ""],
        ["read_sectors", "write_sectors", "discard_sectors"], DISK_TIMES
    ),
    activity!(
        12, 3, "network" "nN", Names::Interfaces,
        [
            "rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_compressed", "tx_compressed",
            "rx_multicast"
        ],
        [], ["speed_mbit"]
    ),
    activity!(
        13, 2, "network" "nN", Names::Interfaces,
        [
            "tx_collisions", "rx_errors", "tx_errors", "rx_dropped", "tx_dropped", "rx_fifo",
            "tx_fifo", "rx_frame", "tx_carrier"
        ],
        [], []
    ),
    single!(
        16, 0, "socket" "s", [], [],
        ["used", "tcp_inuse", "tcp_time_wait", "udp_inuse", "raw_inuse", "fragments"]
    ),
    single!(
        17, 2, "tcp" "tT",
        [
            "ip_in_receives", "ip_forw_datagrams", "ip_in_delivers", "ip_out_requests",
            "ip_reasm_reqds", "ip_reasm_oks", "ip_frag_oks", "ip_frag_creates"
        ],
        [], []
    ),
    single!(
        18, 2, "tcp" "tT",
        [
            "ip_in_hdr_errors", "ip_in_addr_errors", "ip_in_unknown_protos", "ip_in_discards",
            "ip_out_discards", "ip_out_no_routes", "ip_reasm_fails", "ip_frag_fails"
        ],
        [], []
    ),
    single!(
        19, 0, "tcp" "tT", [],
        [
            "icmp_in_msgs", "icmp_out_msgs", "icmp_in_echos", "icmp_in_echo_reps",
            "icmp_out_echos", "icmp_out_echo_reps", "icmp_in_timestamps",
            "icmp_in_timestamp_reps", "icmp_out_timestamps", "icmp_out_timestamp_reps",
            "icmp_in_addr_masks", "icmp_in_addr_mask_reps", "icmp_out_addr_masks",
            "icmp_out_addr_mask_reps"
        ],
        []
    ),
    single!(
        20, 0, "tcp" "tT", [],
        [
            "icmp_in_errors", "icmp_out_errors", "icmp_in_dest_unreachs",
            "icmp_out_dest_unreachs", "icmp_in_time_excds", "icmp_out_time_excds",
            "icmp_in_parm_probs", "icmp_out_parm_probs", "icmp_in_src_quenchs",
            "icmp_out_src_quenchs", "icmp_in_redirects", "icmp_out_redirects"
        ],
        []
    ),
    single!(
        21, 0, "tcp" "tT", [],
        ["tcp_active_opens", "tcp_passive_opens", "tcp_in_segs", "tcp_out_segs"], []
    ),
    single!(
        22, 0, "tcp" "tT", [],
        [
            "tcp_attempt_fails", "tcp_estab_resets", "tcp_retrans_segs", "tcp_in_errs",
            "tcp_out_rsts"
        ],
        []
    ),
    single!(
        23, 0, "tcp" "tT", [],
        ["udp_in_datagrams", "udp_out_datagrams", "udp_no_ports", "udp_in_errors"], []
    ),
    single!(
        24, 0, "socket" "s", [], [], ["tcp6_inuse", "udp6_inuse", "raw6_inuse", "fragments6"]
    ),
    single!(25, 2, "ip6" "", ["ip6_in_receives", "ip6_out_forw_datagrams", "ip6_in_delivers", "ip6_out_requests", "ip6_reasm_reqds", "ip6_reasm_oks", "ip6_in_mcast_pkts", "ip6_out_mcast_pkts", "ip6_frag_oks", "ip6_frag_creates"], [], []),
    single!(26, 2, "ip6" "", ["ip6_in_hdr_errors", "ip6_in_addr_errors", "ip6_in_unknown_protos", "ip6_in_too_big_errors", "ip6_in_discards", "ip6_out_discards", "ip6_in_no_routes", "ip6_out_no_routes", "ip6_reasm_fails", "ip6_frag_fails", "ip6_in_truncated_pkts"], [], []),
    single!(27, 0, "ip6" "", [], ["icmp6_in_msgs", "icmp6_out_msgs", "icmp6_in_echos", "icmp6_in_echo_replies", "icmp6_out_echo_replies", "icmp6_in_group_memb_queries", "icmp6_in_group_memb_responses", "icmp6_out_group_memb_responses", "icmp6_in_group_memb_reductions", "icmp6_out_group_memb_reductions", "icmp6_in_router_solicits", "icmp6_out_router_solicits", "icmp6_in_router_advertisements", "icmp6_in_neighbor_solicits", "icmp6_out_neighbor_solicits", "icmp6_in_neighbor_advertisements", "icmp6_out_neighbor_advertisements"], []),
    single!(28, 0, "ip6" "", [], ["icmp6_in_errors", "icmp6_in_dest_unreachs", "icmp6_out_dest_unreachs", "icmp6_in_time_excds", "icmp6_out_time_excds", "icmp6_in_parm_problems", "icmp6_out_parm_problems", "icmp6_in_redirects", "icmp6_out_redirects", "icmp6_in_pkt_too_bigs", "icmp6_out_pkt_too_bigs"], []),
    single!(29, 0, "ip6" "", [], ["udp6_in_datagrams", "udp6_out_datagrams", "udp6_no_ports", "udp6_in_errors"], []),
    activity!(
        10, 1, "serial" "", Names::Last, [], [],
        ["rx", "tx", "frame", "parity", "break", "overrun"]
    ),
    activity!(
        14, 0, "nfs" "fF", Names::One("client\x1frpc"), [], [],
        ["rpc_calls", "rpc_retransmissions", "read", "write", "access", "getattr"]
    ),
    activity!(
        15, 0, "nfs" "fF", Names::One("server\x1frpc"), [], [],
        [
            "rpc_calls", "rpc_bad_calls", "net_packets", "net_udp", "net_tcp",
            "reply_cache_hits", "reply_cache_misses", "read", "write", "access", "getattr"
        ]
    ),
    activity!(
        39, 0, "softnet" "", Names::EachCpu, [], [],
        ["processed", "dropped", "squeezed", "received_rps", "flow_limited", "backlog"]
    ),
    activity!(
        30, 0, "cpu_frequency" "", Names::AllAndEachCpu, [], ["frequency_mhz"], []
    ),
    single!(
        34, 1, "memory" "m",
        ["huge_free_kib", "huge_total_kib", "huge_reserved_kib", "huge_surplus_kib"], [], []
    ),
    activity!(
        37, 1, "filesystem" "vV", Names::Filesystems,
        ["size", "free", "available", "inodes", "inodes_free"], [], []
    ),
    activity!(
        40, 0, "pressure" "p", Names::One("cpu"), ["some_total"],
        ["some_avg10", "some_avg60", "some_avg300"], []
    ),
    activity!(
        41, 0, "pressure" "p", Names::One("io"), ["some_total", "full_total"], STALLS, []
    ),
    activity!(
        42, 0, "pressure" "p", Names::One("memory"), ["some_total", "full_total"], STALLS, []
    ),
];

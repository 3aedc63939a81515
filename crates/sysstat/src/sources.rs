//! Kernel files that only `sar` shows, as sources of this crate: recorders do not read them.
//!
//! | file | rows |
//! |---|---|
//! | `/proc/cpuinfo` | `all`, and one for each CPU: `cpu MHz\t\t: 2596.143` |
//! | `/proc/net/snmp6` | one: `Ip6InReceives 1444` a line |
//! | `/proc/net/softnet_stat` | one for each CPU: columns of hexadecimal numbers |
//! | `/proc/sys/kernel/pty/nr` | one: the number of pseudo-terminals |
//! | `/proc/tty/driver/serial` | one for each line that has been used: `0: uart:16550A … tx:1 rx:2` |
//!
//! One `pread` a reading.  A line that is not understood is passed over.

use procfs::{FileId, Host, ReadMode};
use sample::{Field, State, Table, Unit};
use source::{Entry, Source};

/// The sources, beside those that recorders read.
pub(crate) static OWN: &[&Entry] = &[&IP6, &SOFTNET, &SERIAL, &TERMINAL, &CPU_FREQUENCY];

/// The source of the number of terminals.
pub(crate) const TERMINALS: &str = "terminal";

/// The source of the frequencies of CPUs, and the name of its row of all CPUs together.
pub(crate) const CPU_FREQUENCIES: &str = "cpu_frequency";
pub(crate) const ALL_CPUS: &str = "all";

/// Lines of any of the files that are read: the kernel has some 90 counters, 8,192 CPUs at most and 256
/// serial lines.
const LINES_MAX: usize = 8_192;

/// A file, and what makes rows of its lines.
struct Lines {
    file: FileId,
    read: fn(&str, usize, &mut Table),
    /// The row that all lines fill.
    is_one: bool,
}

impl Source for Lines {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        let text = match host.read(self.file) {
            Ok(text) => text,
            Err(state) => return state,
        };
        if self.is_one {
            table.row(b"");
        }
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        for (number, line) in lines.take(LINES_MAX).enumerate() {
            if let Ok(line) = std::str::from_utf8(line) {
                (self.read)(line, number, table);
            }
        }
        State::Ok
    }
}

fn open(
    host: &mut Host,
    path: &str,
    is_one: bool,
    read: fn(&str, usize, &mut Table),
) -> Box<dyn Source> {
    Box::new(Lines { file: host.file(path, ReadMode::Whole), read, is_one })
}

static IP6: Entry = Entry {
    name: "ip6",
    about: "Packets of IPv6, ICMPv6 and UDP over IPv6",
    reads: &["/proc/net/snmp6"],
    fields: &IP6_FIELDS,
    open: |host, _| open(host, "/proc/net/snmp6", true, read_ip6),
    ..Entry::EMPTY
};

fn read_ip6(line: &str, _: usize, table: &mut Table) {
    let mut words = line.split_ascii_whitespace();
    let (Some(name), Some(value)) = (words.next(), words.next()) else { return };
    let place = IP6_NAMES.iter().position(|known| *known == name);
    if let (Some(place), Ok(value)) = (place, value.parse()) {
        table.row_mut(0).set(place, value);
    }
}

static SOFTNET: Entry = Entry {
    name: "softnet",
    about: "Packets that came in, by the CPU that processed them",
    reads: &["/proc/net/softnet_stat"],
    instance: &["cpu"],
    fields: &[
        Field::counter("processed", Unit::Count, "Packets processed"),
        Field::counter("dropped", Unit::Count, "Packets dropped because the queue was full"),
        Field::counter("squeezed", Unit::Count, "Times that work was left when its time was up"),
        Field::counter("received_rps", Unit::Count, "Times that another CPU asked for processing"),
        Field::counter("flow_limited", Unit::Count, "Times that a flow's limit was reached"),
        Field::gauge("backlog", Unit::Count, "Packets waiting"),
    ],
    open: |host, _| open(host, "/proc/net/softnet_stat", false, read_softnet),
    ..Entry::EMPTY
};

/// The columns of the fields, in their order.
const SOFTNET_COLUMNS: [usize; 6] = [0, 1, 2, 9, 10, 11];

/// The column with the number of the CPU, since Linux 5.14; before, lines are in the order of CPUs.
const SOFTNET_CPU: usize = 12;

fn read_softnet(line: &str, number: usize, table: &mut Table) {
    let column = |place| {
        let word = line.split_ascii_whitespace().nth(place)?;
        u64::from_str_radix(word, 16).ok()
    };
    let cpu = column(SOFTNET_CPU).unwrap_or(number as u64);
    let mut row = table.row(cpu.to_string().as_bytes());
    for (field, place) in SOFTNET_COLUMNS.into_iter().enumerate() {
        if let Some(value) = column(place) {
            row.set(field, value);
        }
    }
}

static TERMINAL: Entry = Entry {
    name: TERMINALS,
    about: "Pseudo-terminals in use",
    reads: &["/proc/sys/kernel/pty/nr"],
    fields: &[Field::gauge("terminals", Unit::Count, "Pseudo-terminals in use")],
    open: |host, _| open(host, "/proc/sys/kernel/pty/nr", true, read_terminals),
    ..Entry::EMPTY
};

fn read_terminals(line: &str, _: usize, table: &mut Table) {
    if let Ok(count) = line.trim().parse() {
        table.row_mut(0).set(0, count);
    }
}

/// The frequency of each CPU at the moment.
struct Frequencies {
    file: FileId,
}

impl Source for Frequencies {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        let text = match host.read(self.file) {
            Ok(text) => text,
            Err(state) => return state,
        };
        table.row(ALL_CPUS.as_bytes());
        let (mut cpu, mut sum, mut count) = (None, 0_u64, 0_u64);
        for line in text.split(|byte| *byte == b'\n') {
            let line = std::str::from_utf8(line).unwrap_or_default();
            let Some((name, value)) = line.split_once(':') else { continue };
            match name.trim_end() {
                "processor" => cpu = value.trim().parse::<u32>().ok(),
                "cpu MHz" => {
                    let frequency = mhz_hundredths(value.trim());
                    let (Some(cpu), Some(frequency)) = (cpu.take(), frequency) else { continue };
                    if count < LINES_MAX as u64 {
                        table.row(cpu.to_string().as_bytes()).set(0, frequency);
                        (sum, count) = (sum.saturating_add(frequency), count + 1);
                    }
                }
                _ => {}
            }
        }
        // Many machines other than x86 do not tell it.
        let Some(mean) = sum.checked_div(count) else { return State::Absent };
        table.row_mut(0).set(0, mean);
        State::Ok
    }
}

/// `2596.143` in hundredths; what follows them is cut, as `sadc` cuts it.
fn mhz_hundredths(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.')?;
    let hundredths: u64 = part.get(..2)?.parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(100)?.checked_add(hundredths)
}

static CPU_FREQUENCY: Entry = Entry {
    name: CPU_FREQUENCIES,
    about: "The clock frequency of each CPU at the moment",
    reads: &["/proc/cpuinfo"],
    instance: &["cpu"],
    fields: &[Field::gauge("frequency_mhz", Unit::Hundredths, "Clock frequency, in MHz")],
    open: |host, _| Box::new(Frequencies { file: host.file("/proc/cpuinfo", ReadMode::Whole) }),
    ..Entry::EMPTY
};

static SERIAL: Entry = Entry {
    name: "serial",
    about: "Bytes and errors of serial lines",
    reads: &["/proc/tty/driver/serial"],
    instance: &["line"],
    fields: &[
        Field::counter("rx", Unit::Count, "Characters received"),
        Field::counter("tx", Unit::Count, "Characters transmitted"),
        Field::counter("frame", Unit::Count, "Frame errors"),
        Field::counter("parity", Unit::Count, "Parity errors"),
        Field::counter("break", Unit::Count, "Breaks"),
        Field::counter("overrun", Unit::Count, "Overruns"),
    ],
    open: |host, _| open(host, "/proc/tty/driver/serial", false, read_serial),
    ..Entry::EMPTY
};

/// The kernel's words for the fields, which leaves out those that are 0.
const SERIAL_WORDS: [&str; 6] = ["rx:", "tx:", "fe:", "pe:", "brk:", "oe:"];

fn read_serial(line: &str, _: usize, table: &mut Table) {
    let Some((number, rest)) = line.split_once(':') else { return };
    // A line that no driver serves has no counters.
    if number.parse::<u32>().is_err() || !rest.contains(" tx:") {
        return;
    }
    let mut row = table.row(number.as_bytes());
    for (field, word) in SERIAL_WORDS.iter().enumerate() {
        let value = rest.split_ascii_whitespace().find_map(|part| part.strip_prefix(word));
        row.set(field, value.and_then(|value| value.parse().ok()).unwrap_or(0));
    }
}

/// The kernel's names of the fields, in their order.
const IP6_NAMES: [&str; 53] = [
    "Ip6InReceives",
    "Ip6OutForwDatagrams",
    "Ip6InDelivers",
    "Ip6OutRequests",
    "Ip6ReasmReqds",
    "Ip6ReasmOKs",
    "Ip6InMcastPkts",
    "Ip6OutMcastPkts",
    "Ip6FragOKs",
    "Ip6FragCreates",
    "Ip6InHdrErrors",
    "Ip6InAddrErrors",
    "Ip6InUnknownProtos",
    "Ip6InTooBigErrors",
    "Ip6InDiscards",
    "Ip6OutDiscards",
    "Ip6InNoRoutes",
    "Ip6OutNoRoutes",
    "Ip6ReasmFails",
    "Ip6FragFails",
    "Ip6InTruncatedPkts",
    "Icmp6InMsgs",
    "Icmp6OutMsgs",
    "Icmp6InEchos",
    "Icmp6InEchoReplies",
    "Icmp6OutEchoReplies",
    "Icmp6InGroupMembQueries",
    "Icmp6InGroupMembResponses",
    "Icmp6OutGroupMembResponses",
    "Icmp6InGroupMembReductions",
    "Icmp6OutGroupMembReductions",
    "Icmp6InRouterSolicits",
    "Icmp6OutRouterSolicits",
    "Icmp6InRouterAdvertisements",
    "Icmp6InNeighborSolicits",
    "Icmp6OutNeighborSolicits",
    "Icmp6InNeighborAdvertisements",
    "Icmp6OutNeighborAdvertisements",
    "Icmp6InErrors",
    "Icmp6InDestUnreachs",
    "Icmp6OutDestUnreachs",
    "Icmp6InTimeExcds",
    "Icmp6OutTimeExcds",
    "Icmp6InParmProblems",
    "Icmp6OutParmProblems",
    "Icmp6InRedirects",
    "Icmp6OutRedirects",
    "Icmp6InPktTooBigs",
    "Icmp6OutPktTooBigs",
    "Udp6InDatagrams",
    "Udp6OutDatagrams",
    "Udp6NoPorts",
    "Udp6InErrors",
];

static IP6_FIELDS: [Field; IP6_NAMES.len()] = [
    Field::counter("ip6_in_receives", Unit::Count, "Ip6InReceives, as the kernel names it"),
    Field::counter(
        "ip6_out_forw_datagrams",
        Unit::Count,
        "Ip6OutForwDatagrams, as the kernel names it",
    ),
    Field::counter("ip6_in_delivers", Unit::Count, "Ip6InDelivers, as the kernel names it"),
    Field::counter("ip6_out_requests", Unit::Count, "Ip6OutRequests, as the kernel names it"),
    Field::counter("ip6_reasm_reqds", Unit::Count, "Ip6ReasmReqds, as the kernel names it"),
    Field::counter("ip6_reasm_oks", Unit::Count, "Ip6ReasmOKs, as the kernel names it"),
    Field::counter("ip6_in_mcast_pkts", Unit::Count, "Ip6InMcastPkts, as the kernel names it"),
    Field::counter("ip6_out_mcast_pkts", Unit::Count, "Ip6OutMcastPkts, as the kernel names it"),
    Field::counter("ip6_frag_oks", Unit::Count, "Ip6FragOKs, as the kernel names it"),
    Field::counter("ip6_frag_creates", Unit::Count, "Ip6FragCreates, as the kernel names it"),
    Field::counter("ip6_in_hdr_errors", Unit::Count, "Ip6InHdrErrors, as the kernel names it"),
    Field::counter("ip6_in_addr_errors", Unit::Count, "Ip6InAddrErrors, as the kernel names it"),
    Field::counter(
        "ip6_in_unknown_protos",
        Unit::Count,
        "Ip6InUnknownProtos, as the kernel names it",
    ),
    Field::counter(
        "ip6_in_too_big_errors",
        Unit::Count,
        "Ip6InTooBigErrors, as the kernel names it",
    ),
    Field::counter("ip6_in_discards", Unit::Count, "Ip6InDiscards, as the kernel names it"),
    Field::counter("ip6_out_discards", Unit::Count, "Ip6OutDiscards, as the kernel names it"),
    Field::counter("ip6_in_no_routes", Unit::Count, "Ip6InNoRoutes, as the kernel names it"),
    Field::counter("ip6_out_no_routes", Unit::Count, "Ip6OutNoRoutes, as the kernel names it"),
    Field::counter("ip6_reasm_fails", Unit::Count, "Ip6ReasmFails, as the kernel names it"),
    Field::counter("ip6_frag_fails", Unit::Count, "Ip6FragFails, as the kernel names it"),
    Field::counter(
        "ip6_in_truncated_pkts",
        Unit::Count,
        "Ip6InTruncatedPkts, as the kernel names it",
    ),
    Field::counter("icmp6_in_msgs", Unit::Count, "Icmp6InMsgs, as the kernel names it"),
    Field::counter("icmp6_out_msgs", Unit::Count, "Icmp6OutMsgs, as the kernel names it"),
    Field::counter("icmp6_in_echos", Unit::Count, "Icmp6InEchos, as the kernel names it"),
    Field::counter(
        "icmp6_in_echo_replies",
        Unit::Count,
        "Icmp6InEchoReplies, as the kernel names it",
    ),
    Field::counter(
        "icmp6_out_echo_replies",
        Unit::Count,
        "Icmp6OutEchoReplies, as the kernel names it",
    ),
    Field::counter(
        "icmp6_in_group_memb_queries",
        Unit::Count,
        "Icmp6InGroupMembQueries, as the kernel names it",
    ),
    Field::counter(
        "icmp6_in_group_memb_responses",
        Unit::Count,
        "Icmp6InGroupMembResponses, as the kernel names it",
    ),
    Field::counter(
        "icmp6_out_group_memb_responses",
        Unit::Count,
        "Icmp6OutGroupMembResponses, as the kernel names it",
    ),
    Field::counter(
        "icmp6_in_group_memb_reductions",
        Unit::Count,
        "Icmp6InGroupMembReductions, as the kernel names it",
    ),
    Field::counter(
        "icmp6_out_group_memb_reductions",
        Unit::Count,
        "Icmp6OutGroupMembReductions, as the kernel names it",
    ),
    Field::counter(
        "icmp6_in_router_solicits",
        Unit::Count,
        "Icmp6InRouterSolicits, as the kernel names it",
    ),
    Field::counter(
        "icmp6_out_router_solicits",
        Unit::Count,
        "Icmp6OutRouterSolicits, as the kernel names it",
    ),
    Field::counter(
        "icmp6_in_router_advertisements",
        Unit::Count,
        "Icmp6InRouterAdvertisements, as the kernel names it",
    ),
    Field::counter(
        "icmp6_in_neighbor_solicits",
        Unit::Count,
        "Icmp6InNeighborSolicits, as the kernel names it",
    ),
    Field::counter(
        "icmp6_out_neighbor_solicits",
        Unit::Count,
        "Icmp6OutNeighborSolicits, as the kernel names it",
    ),
    Field::counter(
        "icmp6_in_neighbor_advertisements",
        Unit::Count,
        "Icmp6InNeighborAdvertisements, as the kernel names it",
    ),
    Field::counter(
        "icmp6_out_neighbor_advertisements",
        Unit::Count,
        "Icmp6OutNeighborAdvertisements, as the kernel names it",
    ),
    Field::counter("icmp6_in_errors", Unit::Count, "Icmp6InErrors, as the kernel names it"),
    Field::counter(
        "icmp6_in_dest_unreachs",
        Unit::Count,
        "Icmp6InDestUnreachs, as the kernel names it",
    ),
    Field::counter(
        "icmp6_out_dest_unreachs",
        Unit::Count,
        "Icmp6OutDestUnreachs, as the kernel names it",
    ),
    Field::counter("icmp6_in_time_excds", Unit::Count, "Icmp6InTimeExcds, as the kernel names it"),
    Field::counter(
        "icmp6_out_time_excds",
        Unit::Count,
        "Icmp6OutTimeExcds, as the kernel names it",
    ),
    Field::counter(
        "icmp6_in_parm_problems",
        Unit::Count,
        "Icmp6InParmProblems, as the kernel names it",
    ),
    Field::counter(
        "icmp6_out_parm_problems",
        Unit::Count,
        "Icmp6OutParmProblems, as the kernel names it",
    ),
    Field::counter("icmp6_in_redirects", Unit::Count, "Icmp6InRedirects, as the kernel names it"),
    Field::counter("icmp6_out_redirects", Unit::Count, "Icmp6OutRedirects, as the kernel names it"),
    Field::counter(
        "icmp6_in_pkt_too_bigs",
        Unit::Count,
        "Icmp6InPktTooBigs, as the kernel names it",
    ),
    Field::counter(
        "icmp6_out_pkt_too_bigs",
        Unit::Count,
        "Icmp6OutPktTooBigs, as the kernel names it",
    ),
    Field::counter("udp6_in_datagrams", Unit::Count, "Udp6InDatagrams, as the kernel names it"),
    Field::counter("udp6_out_datagrams", Unit::Count, "Udp6OutDatagrams, as the kernel names it"),
    Field::counter("udp6_no_ports", Unit::Count, "Udp6NoPorts, as the kernel names it"),
    Field::counter("udp6_in_errors", Unit::Count, "Udp6InErrors, as the kernel names it"),
];

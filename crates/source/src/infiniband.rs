//! Traffic, errors, speed and state of every InfiniBand or Omni-Path port.
//!
//! Reads `/sys/class/infiniband/HCA/ports/N`.  The kernel queries the adapter for each counter, so
//! only the four traffic counters are read every time; of all others (errors, rate, state) one is
//! read per reading, in turn.  whit starts no program, so values of `perfquery` are not recorded.

use layout::{
    Block, Cell, DisplayOrder, Layout, OptionKind, Options, Plot, PlotColumn, Row, Show,
    SourceOption, Stat,
};
use procfs::infiniband::{parse_counter, parse_rate_mbit, parse_state};
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, Level, State, Table, fields};

use crate::{Entry, Source};

fields! {
    RX_BYTES: counter Bytes, "Data received";
    TX_BYTES: counter Bytes, "Data sent";
    RX_PACKETS: counter Count, "Packets received";
    TX_PACKETS: counter Count, "Packets sent";
    SYMBOL_ERRORS: counter Count, "Invalid symbols received";
    LINK_RECOVERIES: counter Count, "Times the link recovered from an error";
    LINK_DOWNS: counter Count, "Times the link went down";
    RX_ERRORS: counter Count, "Packets received with an error";
    RX_REMOTE_ERRORS: counter Count, "Packets that the peer marked bad";
    RX_RELAY_ERRORS: counter Count, "Packets that a switch could not relay";
    TX_DISCARDS: counter Count, "Packets dropped instead of sent";
    TX_CONSTRAINT_ERRORS: counter Count, "Packets that must not be sent";
    RX_CONSTRAINT_ERRORS: counter Count, "Packets that must not be received";
    INTEGRITY_ERRORS: counter Count, "Local errors above the threshold";
    OVERRUN_ERRORS: counter Count, "Excessive buffer overruns";
    VL15_DROPPED: counter Count, "Management packets dropped for lack of buffers";
    TX_WAIT: counter Count, "Link ticks with data waiting to be sent";
    SPEED_MBIT: gauge Megabits, "Speed of the link";
    STATE: text, "State of the port: ACTIVE, DOWN, INIT, ARMED";
}

/// The files of the traffic counters: the short one, then the long one of old adapters.
const TRAFFIC: [[&str; 2]; 4] = [
    ["counters/port_rcv_data", "counters_ext/port_rcv_data_64"],
    ["counters/port_xmit_data", "counters_ext/port_xmit_data_64"],
    ["counters/port_rcv_packets", "counters_ext/port_rcv_packets_64"],
    ["counters/port_xmit_packets", "counters_ext/port_xmit_packets_64"],
];

/// The other files, in the order of their fields.
const SLOW: [&str; 15] = [
    "counters/symbol_error",
    "counters/link_error_recovery",
    "counters/link_downed",
    "counters/port_rcv_errors",
    "counters/port_rcv_remote_physical_errors",
    "counters/port_rcv_switch_relay_errors",
    "counters/port_xmit_discards",
    "counters/port_xmit_constraint_errors",
    "counters/port_rcv_constraint_errors",
    "counters/local_link_integrity_errors",
    "counters/excessive_buffer_overrun_errors",
    "counters/VL15_dropped",
    "counters/port_xmit_wait",
    "rate",
    "state",
];

/// The fields of [`SLOW`] that count errors (`port_xmit_wait` counts time).
const ERRORS: std::ops::Range<usize> = SYMBOL_ERRORS..SYMBOL_ERRORS + 12;

/// Data counters count words of four bytes.
const WORD_BYTES: u64 = 4;

/// Readings between two searches for adapters that appeared or disappeared.
const SEARCH_READS: u64 = 64;

/// The most ports.  A machine has a few; each keeps up to 19 files open.
const PORTS_MAX: usize = 64;

const BASE: &str = "/sys/class/infiniband";

struct Infiniband {
    ports: Vec<Port>,
    reads: u64,
}

struct Port {
    /// `mlx5_0:1`.
    name: Vec<u8>,
    traffic: [FileId; 4],
    slow: [FileId; SLOW.len()],
    values: [Option<u64>; SLOW.len()],
    state: Vec<u8>,
}

impl Source for Infiniband {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        // In a recording adapters can appear in any interval, and the search costs no system call.
        let in_memory = host.root().is_none();
        let looks = self.reads.is_multiple_of(SEARCH_READS) || (in_memory && self.ports.is_empty());
        if looks
            && let Err(state) = self.look_for_ports(host)
            && self.ports.is_empty()
        {
            self.reads += 1;
            return state;
        }
        let turn = (self.reads % SLOW.len() as u64) as usize;
        self.reads += 1;
        for port in &mut self.ports {
            if in_memory {
                (0..SLOW.len()).for_each(|index| port.read_slow(host, index));
            } else {
                port.read_slow(host, turn);
            }
            port.fill(host, table);
        }
        if table.rows() == 0 { State::Absent } else { State::Ok }
    }
}

impl Infiniband {
    /// Lists the ports.  Keeps known ones; opens no file yet.
    fn look_for_ports(&mut self, host: &mut Host) -> Result<(), State> {
        let mut found = Vec::new();
        for adapter in host.list(BASE)? {
            let Ok(adapter) = String::from_utf8(adapter) else { continue };
            let Ok(ports) = host.list(&format!("{BASE}/{adapter}/ports")) else { continue };
            for port in ports {
                if let Ok(port) = String::from_utf8(port) {
                    found.push((adapter.clone(), port));
                }
            }
        }
        found.truncate(PORTS_MAX);
        let names = found.iter().map(|(adapter, port)| format!("{adapter}:{port}").into_bytes());
        if names.eq(self.ports.iter().map(|port| port.name.clone())) {
            return Ok(());
        }
        for port in self.ports.drain(..) {
            port.traffic.into_iter().chain(port.slow).for_each(|file| host.close(file));
        }
        self.ports = found.iter().map(|(adapter, port)| Port::open(host, adapter, port)).collect();
        Ok(())
    }
}

impl Port {
    fn open(host: &mut Host, adapter: &str, port: &str) -> Self {
        let base = format!("{BASE}/{adapter}/ports/{port}");
        let mut file = |name: &str| host.file(&format!("{base}/{name}"), ReadMode::Whole);
        let mut opened = Port {
            name: format!("{adapter}:{port}").into_bytes(),
            traffic: TRAFFIC.map(|[short, _]| file(short)),
            slow: SLOW.map(&mut file),
            values: [None; SLOW.len()],
            state: Vec::with_capacity(16),
        };
        for (slot, [_, long]) in opened.traffic.iter_mut().zip(TRAFFIC) {
            let file = host.file(&format!("{base}/{long}"), ReadMode::Whole);
            let unused = if host.read(file).is_ok() { std::mem::replace(slot, file) } else { file };
            host.close(unused);
        }
        (0..SLOW.len()).for_each(|index| opened.read_slow(host, index));
        opened
    }

    fn read_slow(&mut self, host: &mut Host, index: usize) {
        let text = host.read(self.slow[index]).unwrap_or_default();
        match SLOW[index] {
            "state" => {
                self.state.clear();
                self.state.extend_from_slice(parse_state(text));
            }
            "rate" => self.values[index] = parse_rate_mbit(text),
            _ => self.values[index] = parse_counter(text),
        }
    }

    /// Adds a row, unless the port has no counters (an Ethernet port of the same adapter).
    fn fill(&self, host: &mut Host, table: &mut Table) {
        let traffic = self.traffic.map(|file| host.read(file).ok().and_then(parse_counter));
        if traffic.iter().all(Option::is_none) {
            return;
        }
        let mut row = table.row(&self.name);
        for (field, value) in traffic.into_iter().enumerate() {
            let unit = if field < RX_PACKETS { WORD_BYTES } else { 1 };
            row.set_some(field, value.map(|value| value.saturating_mul(unit)));
        }
        for (index, &value) in self.values[..SLOW.len() - 1].iter().enumerate() {
            row.set_some(SYMBOL_ERRORS + index, value);
        }
        if !self.state.is_empty() {
            row.set_text(STATE, &self.state);
        }
    }
}

/// The adapter's name.  collectl's recordings have none, so it prints none.
fn adapter<'a>(row: &Row<'a>) -> Option<&'a [u8]> {
    Some(if is_nameless(row) { b"" } else { row.name() })
}

fn is_nameless(row: &Row<'_>) -> bool {
    row.exact() && row.frame.meta.origin() == "collectl"
}

fn is_named(row: &Row<'_>) -> bool {
    !is_nameless(row)
}

fn kib(row: &Row<'_>, field: usize) -> Option<f64> {
    row.delta(field).map(|bytes| bytes / 1024.0)
}

fn rate(row: &Row<'_>, field: usize) -> Option<f64> {
    row.rate(field)
}

fn kib_rate(row: &Row<'_>, field: usize) -> Option<f64> {
    row.per_second(kib(row, field))
}

/// Bytes per packet.
fn size(bytes: Option<f64>, packets: Option<f64>) -> Option<f64> {
    let (kib, packets) = (bytes?, packets?);
    Some(if packets == 0.0 { 0.0 } else { kib * 1024.0 / packets })
}

/// Errors in the interval.  collectl has them only from `perfquery`.
fn errors(row: &Row<'_>) -> Option<f64> {
    if row.exact() {
        return Some(0.0);
    }
    let parts = ERRORS.filter_map(|field| row.delta(field));
    parts.fold(None, |sum: Option<f64>, part| Some(sum.unwrap_or(0.0) + part))
}

fn total(row: &Row<'_>, field: usize) -> Option<f64> {
    row.sum(|_| true, |port| port.delta(field))
}

fn total_kib(row: &Row<'_>, field: usize) -> Option<f64> {
    row.sum(|_| true, |port| kib(port, field))
}

fn total_rate(row: &Row<'_>, field: usize) -> Option<f64> {
    row.per_second(total(row, field))
}

fn total_kib_rate(row: &Row<'_>, field: usize) -> Option<f64> {
    row.per_second(total_kib(row, field))
}

fn total_size(row: &Row<'_>, bytes: usize, packets: usize) -> Option<f64> {
    size(total_kib(row, bytes), total(row, packets))
}

fn total_errors(row: &Row<'_>) -> Option<f64> {
    row.sum(|_| true, errors)
}

static INFINIBAND_OPTIONS: SourceOption = SourceOption {
    name: "xopts",
    help: "i: sizes of InfiniBand transfers",
    kind: OptionKind::Letters { known: "i", default: "" },
    letters: "x",
    ..SourceOption::EMPTY
};

fn shows_sizes(options: &Options) -> bool {
    options.iosize || options.value(&INFINIBAND_OPTIONS).has('i')
}

const BRIEF_ERRORS: Cell = Cell::scaled(" ", 4, total_errors).stat(Stat::Sum);

const SUMMARY: Layout = Layout {
    level: Level::Summary,
    position: DisplayOrder { brief: 110, verbose: 100, plot: 80, lexpr: 90, gexpr: 130 },
    brief: &[
        Block {
            when: |options| !shows_sizes(options),
            title: "<-----------InfiniBand----------->",
            headings: &["   KBIn  PktIn   KBOut PktOut Errs "],
            show: Show::Cells(&[
                Cell::binary("", 7, 0, |row| total_kib_rate(row, RX_BYTES)),
                Cell::scaled(" ", 6, |row| total_rate(row, RX_PACKETS)),
                Cell::binary(" ", 7, 0, |row| total_kib_rate(row, TX_BYTES)),
                Cell::scaled(" ", 6, |row| total_rate(row, TX_PACKETS)),
                BRIEF_ERRORS,
            ]),
        },
        Block {
            when: shows_sizes,
            title: "<----------------InfiniBand---------------->",
            headings: &["   KBIn  PktIn Size   KBOut PktOut Size Errs "],
            show: Show::Cells(&[
                Cell::binary("", 7, 0, |row| total_kib_rate(row, RX_BYTES)),
                Cell::scaled(" ", 6, |row| total_rate(row, RX_PACKETS)),
                Cell::binary(" ", 4, 0, |row| total_size(row, RX_BYTES, RX_PACKETS))
                    .stat(Stat::Ratio { dividend: 0, divisor: 1, factor: 1024.0 }),
                Cell::binary(" ", 7, 0, |row| total_kib_rate(row, TX_BYTES)),
                Cell::scaled(" ", 6, |row| total_rate(row, TX_PACKETS)),
                Cell::binary(" ", 4, 0, |row| total_size(row, TX_BYTES, TX_PACKETS))
                    .stat(Stat::Ratio { dividend: 3, divisor: 4, factor: 1024.0 }),
                BRIEF_ERRORS,
            ]),
        },
    ],
    verbose: &[Block {
        when: |_| true,
        title: "INFINIBAND SUMMARY ($rate)",
        headings: &["  KBIn   PktIn  SizeIn   KBOut  PktOut SizeOut  Errors"],
        show: Show::Cells(&[
            Cell::whole("", 7, |row| total_kib_rate(row, RX_BYTES)),
            Cell::whole(" ", 7, |row| total_rate(row, RX_PACKETS)),
            Cell::binary(" ", 7, 0, |row| total_size(row, RX_BYTES, RX_PACKETS)),
            Cell::whole(" ", 7, |row| total_kib_rate(row, TX_BYTES)),
            Cell::whole(" ", 7, |row| total_rate(row, TX_PACKETS)),
            Cell::binary(" ", 7, 0, |row| total_size(row, TX_BYTES, TX_PACKETS)),
            Cell::whole(" ", 7, total_errors),
        ]),
    }],
    plot: Some(Plot {
        tag: "IB",
        columns: &[
            PlotColumn::new("InPkt", |row| total_rate(row, RX_PACKETS)),
            PlotColumn::new("OutPkt", |row| total_rate(row, TX_PACKETS)),
            PlotColumn::new("InKB", |row| total_kib_rate(row, RX_BYTES)),
            PlotColumn::new("OutKB", |row| total_kib_rate(row, TX_BYTES)),
            PlotColumn::new("Err", total_errors),
        ],
        ..Plot::EMPTY
    }),
    metrics: &[
        PlotColumn::new("iconnect.kbin", |row| total_kib_rate(row, RX_BYTES)),
        PlotColumn::new("iconnect.pktin", |row| total_rate(row, RX_PACKETS)),
        PlotColumn::new("iconnect.kbout", |row| total_kib_rate(row, TX_BYTES)),
        PlotColumn::new("iconnect.pktout", |row| total_rate(row, TX_PACKETS)),
    ],
    ..Layout::EMPTY
};

const DETAIL: Layout = Layout {
    level: Level::Detail,
    lexpr_exact_lines: Some(push_exact_lines),
    position: DisplayOrder { verbose: 105, plot: 80, lexpr: 150, gexpr: 140, ..DisplayOrder::LAST },
    verbose: &[Block {
        when: |_| true,
        title: "INFINIBAND STATISTICS ($rate)",
        headings: &["HCA       KBIn   PktIn  SizeIn   KBOut  PktOut SizeOut  Errors"],
        show: Show::Cells(&[
            Cell::left(" ", 6, adapter),
            Cell::binary(" ", 7, 0, |row| kib_rate(row, RX_BYTES)),
            Cell::scaled(" ", 6, |row| rate(row, RX_PACKETS)).padded_to(7),
            Cell::binary(" ", 4, 0, |row| size(kib(row, RX_BYTES), row.delta(RX_PACKETS)))
                .padded_to(7),
            Cell::binary(" ", 7, 0, |row| kib_rate(row, TX_BYTES)),
            Cell::scaled(" ", 6, |row| rate(row, TX_PACKETS)).padded_to(7),
            Cell::binary(" ", 4, 0, |row| size(kib(row, TX_BYTES), row.delta(TX_PACKETS)))
                .padded_to(7),
            Cell::scaled(" ", 4, errors).padded_to(7),
        ]),
    }],
    plot: Some(Plot {
        tag: "IB",
        extension: "ib",
        // Under `--exact` before the values of TCP, whose headings come first.
        exact_cells: Some(65),
        instance: Some(|row, out| {
            layout::text::escape_into(out, adapter(row).unwrap_or_default());
        }),
        columns: &[
            PlotColumn::whole("HCA", |row| Some(row.index as f64)),
            PlotColumn::new("InPkt", |row| rate(row, RX_PACKETS)),
            PlotColumn::new("OutPkt", |row| rate(row, TX_PACKETS)),
            PlotColumn::new("InKB", |row| kib_rate(row, RX_BYTES)),
            PlotColumn::new("OutKB", |row| kib_rate(row, TX_BYTES)),
            PlotColumn::new("Err", errors),
        ],
        ..Plot::EMPTY
    }),
    metrics: &[
        PlotColumn::new("iconnect.{}.kbin", |row| kib_rate(row, RX_BYTES)).applies(is_named),
        PlotColumn::new("iconnect.{}.pktin", |row| rate(row, RX_PACKETS)).applies(is_named),
        PlotColumn::new("iconnect.{}.kbout", |row| kib_rate(row, TX_BYTES)).applies(is_named),
        PlotColumn::new("iconnect.{}.pktout", |row| rate(row, TX_PACKETS)).applies(is_named),
        PlotColumn::new("iconnect..kbin", |row| kib_rate(row, RX_BYTES)).applies(is_nameless),
        PlotColumn::new("iconnect..pktin", |row| rate(row, RX_PACKETS)).applies(is_nameless),
        PlotColumn::new("iconnect..kbout", |row| kib_rate(row, TX_BYTES)).applies(is_nameless),
        PlotColumn::new("iconnect..pktout", |row| rate(row, TX_PACKETS)).applies(is_nameless),
    ],
    ..Layout::EMPTY
};

/// A leftover debug line that collectl prints for each port, without the name, which its recordings
/// do not have.
fn push_exact_lines(whole: &Row<'_>, out: &mut Vec<u8>) {
    for _ in whole.rows() {
        out.extend_from_slice(b"HCA:   1: \n");
    }
}

pub(crate) static ENTRY: Entry = Entry {
    name: "infiniband",
    about: "Traffic and errors of every InfiniBand and Omni-Path port",
    letters: "xX",
    reads: &["/sys/class/infiniband/*/ports/*/*"],
    instance: &["port"],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[SUMMARY, DETAIL],
    options: &[&INFINIBAND_OPTIONS],
    open: |_, _| Box::new(Infiniband { ports: Vec::new(), reads: 0 }),
    hardware: Some("InfiniBand adapter"),
    ..Entry::EMPTY
};

const _: () = assert!(SYMBOL_ERRORS + SLOW.len() - 1 == STATE && SPEED_MBIT + 1 == STATE);

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn put(host: &mut Host, port: &str, files: &[(&str, &str)]) {
        for (file, text) in files {
            host.put(&format!("{BASE}/{port}/{file}"), Some(text.as_bytes()));
        }
    }

    #[test]
    fn ports_of_two_adapters() {
        let mut host = Host::in_memory();
        let mut source = (ENTRY.open)(&mut host, &Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        assert_eq!(source.read(&mut host, &mut table), State::Absent);
        put(
            &mut host,
            "mlx5_0/ports/1",
            &[
                ("counters/port_rcv_data", "1000\n"),
                ("counters/port_xmit_data", "2000\n"),
                ("counters/port_rcv_packets", "10\n"),
                ("counters/symbol_error", "3\n"),
                ("rate", "200 Gb/sec (4X HDR)\n"),
                ("state", "4: ACTIVE\n"),
            ],
        );
        put(
            &mut host,
            "mlx4_0/ports/2",
            &[
                ("counters/port_rcv_data", "4294967295\n"),
                ("counters_ext/port_rcv_data_64", "5000000000\n"),
            ],
        );
        put(&mut host, "mlx5_1/ports/1", &[("state", "1: DOWN\n")]);
        host.begin_tick();
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        assert_eq!(table.rows(), 2, "a port without counters has no row");
        assert_eq!((table.name(0), table.name(1)), (&b"mlx4_0:2"[..], &b"mlx5_0:1"[..]));
        assert_eq!(table.get(0, RX_BYTES), Some(20_000_000_000));
        assert_eq!((table.get(1, RX_BYTES), table.get(1, RX_PACKETS)), (Some(4000), Some(10)));
        assert_eq!(
            (table.get(1, SYMBOL_ERRORS), table.get(1, SPEED_MBIT)),
            (Some(3), Some(200_000))
        );
        assert_eq!(table.text(1, STATE), Some(&b"ACTIVE"[..]));
        assert_eq!(table.get(1, TX_PACKETS), None);
    }

    #[test]
    fn a_real_tree_is_read_in_turn_and_noticed_late() {
        let root = tempfile::tempdir().unwrap();
        let port = root.path().join("sys/class/infiniband/hfi1_0/ports/1");
        let mut host = Host::new(root.path());
        let mut source = (ENTRY.open)(&mut host, &Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        assert_eq!(source.read(&mut host, &mut table), State::Absent);
        std::fs::create_dir_all(port.join("counters")).unwrap();
        for (file, text) in [("port_rcv_data", "7\n"), ("symbol_error", "1\n")] {
            std::fs::write(port.join("counters").join(file), text).unwrap();
        }
        let mut read = |host: &mut Host| {
            host.begin_tick();
            let state = source.read(host, &mut table);
            (state, table.get(0, RX_BYTES), table.get(0, SYMBOL_ERRORS))
        };
        let states: Vec<State> = (1..=SEARCH_READS).map(|_| read(&mut host).0).collect();
        assert_eq!(states[SEARCH_READS as usize - 2], State::Absent);
        assert_eq!(states[SEARCH_READS as usize - 1], State::Ok);
        std::fs::write(port.join("counters/symbol_error"), "9\n").unwrap();
        let seen: Vec<Option<u64>> = (0..=SLOW.len()).map(|_| read(&mut host).2).collect();
        assert_eq!(seen.last(), Some(&Some(9)));
        assert_eq!(read(&mut host).1, Some(28));
    }
}

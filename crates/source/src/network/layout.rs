//! How collectl shows networks: `-sn` (all together) and `-sN` (each).
//!
//! As in collectl, differences are added up before they are divided by the time, so that the digits
//! agree.

use layout::{
    Block, Cell, DisplayOrder, Frame, Idle, Layout, LetterRule, OptionKind, Options, Part, Plot,
    PlotColumn, Row, Show, SourceOption, Stat,
};
use sample::Level;

use super::{
    KIND, RX_BYTES, RX_COMPRESSED, RX_DROPPED, RX_ERRORS, RX_FIFO, RX_FRAME, RX_MULTICAST,
    RX_PACKETS, SPEED_MBIT, TX_BYTES, TX_CARRIER, TX_COLLISIONS, TX_COMPRESSED, TX_DROPPED,
    TX_ERRORS, TX_FIFO, TX_PACKETS, kind,
};

pub(super) static NETWORK_OPTIONS: SourceOption = SourceOption {
    name: "netopts",
    help: "e E: errors, i: sizes, o: order of appearance, wN: width of names",
    kind: OptionKind::Letters { known: "eEiow0123456789", default: "" },
    letters: "nN",
    idle: Idle::Refused("interfaces"),
    rules: &[
        LetterRule::For("w", "N"),
        LetterRule::Width { letter: 'w', least: 5, most: 256, is_required: true },
        LetterRule::LeavesOutIdle("E"),
    ],
    ..SourceOption::EMPTY
};

pub(super) static INTERFACE_FILTER: SourceOption = SourceOption {
    name: "netfilt",
    value_name: "LIST",
    help: "Interfaces to show: regular expressions, ^ in front to leave them out",
    kind: OptionKind::NamePatterns,
    letters: "nN",
    ..SourceOption::EMPTY
};

/// The speed that collectl assumes for an interface without one, in Mbit/s.
const COLLECTL_SPEED_MBIT: u64 = 10_000;

const RX_FAULTS: [usize; 4] = [RX_ERRORS, RX_DROPPED, RX_FIFO, RX_FRAME];
const TX_FAULTS: [usize; 5] = [TX_ERRORS, TX_DROPPED, TX_FIFO, TX_COLLISIONS, TX_CARRIER];

/// The increase of a counter.  collectl takes it for 0 in an interface's first interval, and in one
/// in which more than twice the link's capacity was transferred.
fn delta(row: &Row<'_>, field: usize) -> Option<f64> {
    if row.exact() && (row.is_new() || is_bogus_to_collectl(row)) {
        return Some(0.0);
    }
    row.delta(field)
}

fn is_bogus_to_collectl(row: &Row<'_>) -> bool {
    let speed_mbit = row.raw(SPEED_MBIT).unwrap_or(COLLECTL_SPEED_MBIT) as f64;
    let interval_seconds = row.frame.meta.interval_ns() as f64 / 1e9;
    let most = 2.0 * interval_seconds * speed_mbit * 125.0;
    let moved = |field| row.delta(field).unwrap_or(0.0) / 1024.0;
    moved(RX_BYTES) > most || moved(TX_BYTES) > most
}

/// Bytes of a counter, in KiB.
fn kib(row: &Row<'_>, field: usize) -> Option<f64> {
    delta(row, field).map(|bytes| bytes / 1024.0)
}

/// `dividend / divisor`; 0 if nothing happened.
fn ratio(dividend: Option<f64>, divisor: Option<f64>) -> Option<f64> {
    let (dividend, divisor) = (dividend?, divisor?);
    Some(if divisor == 0.0 { 0.0 } else { dividend / divisor })
}

/// Whether an interface is included in the totals.  Hardware is; interfaces on top of hardware are
/// not, so nothing is counted twice.  A container has no hardware; there the ends of pairs are
/// included.  With a filter only the filter decides, except that, as in collectl, names with a dot
/// (aliases and VLANs) are never included.
fn is_counted(row: &Row<'_>) -> bool {
    let (name, filter) = (row.name(), row.options().value(&INTERFACE_FILTER));
    if filter.is_set() {
        return filter.keeps(name) && !name.contains(&b'.');
    }
    if row.exact() {
        return kind::collectl_counts(name);
    }
    match kind_of(row) {
        kind if is_hardware(kind) => true,
        kind => {
            kind == kind::PAIRED.as_bytes() && !row.rows().any(|other| is_hardware(kind_of(&other)))
        }
    }
}

fn kind_of<'a>(row: &Row<'a>) -> &'a [u8] {
    row.text(KIND).unwrap_or_else(|| kind::kind_by_name(row.name()).as_bytes())
}

fn is_hardware(kind: &[u8]) -> bool {
    kind == kind::PHYSICAL.as_bytes() || kind == kind::WIRELESS.as_bytes()
}

fn total(row: &Row<'_>, field: usize) -> Option<f64> {
    row.sum(is_counted, |interface| delta(interface, field))
}

fn total_kib(row: &Row<'_>, field: usize) -> Option<f64> {
    row.sum(is_counted, |interface| kib(interface, field))
}

/// The sum of counters of one interface; missing ones are left out.
fn together(row: &Row<'_>, fields: &[usize]) -> Option<f64> {
    let parts = fields.iter().filter_map(|&field| delta(row, field));
    parts.fold(None, |sum: Option<f64>, part| Some(sum.unwrap_or(0.0) + part))
}

fn total_together(row: &Row<'_>, fields: &[usize]) -> Option<f64> {
    row.sum(is_counted, |interface| together(interface, fields))
}

fn total_rate(row: &Row<'_>, field: usize) -> Option<f64> {
    row.per_second(total(row, field))
}

fn total_kib_rate(row: &Row<'_>, field: usize) -> Option<f64> {
    row.per_second(total_kib(row, field))
}

fn total_faults(row: &Row<'_>, fields: &[usize]) -> Option<f64> {
    row.per_second(total_together(row, fields))
}

fn total_size(row: &Row<'_>, bytes: usize, packets: usize) -> Option<f64> {
    ratio(total_kib(row, bytes).map(|kib| kib * 1024.0), total(row, packets))
}

fn all_faults(row: &Row<'_>) -> Option<f64> {
    let (rx, tx) = (total_together(row, &RX_FAULTS), total_together(row, &TX_FAULTS));
    match (rx, tx) {
        (None, None) => None,
        (rx, tx) => Some(rx.unwrap_or(0.0) + tx.unwrap_or(0.0)),
    }
}

fn rate(row: &Row<'_>, field: usize) -> Option<f64> {
    row.per_second(delta(row, field))
}

fn kib_rate(row: &Row<'_>, field: usize) -> Option<f64> {
    row.per_second(kib(row, field))
}

fn faults(row: &Row<'_>, fields: &[usize]) -> Option<f64> {
    row.per_second(together(row, fields))
}

fn size(row: &Row<'_>, bytes: usize, packets: usize) -> Option<f64> {
    ratio(kib(row, bytes).map(|kib| kib * 1024.0), delta(row, packets))
}

/// The n-th of collectl's columns of transmit errors.  collectl prints the errors twice and the
/// following counters one column too far right, so that the last is never shown.
fn tx_fault(row: &Row<'_>, column: usize) -> usize {
    TX_FAULTS[if row.exact() { column.saturating_sub(1) } else { column }]
}

fn total_tx_fault(row: &Row<'_>, column: usize) -> Option<f64> {
    total_rate(row, tx_fault(row, column))
}

fn one_tx_fault(row: &Row<'_>, column: usize) -> Option<f64> {
    rate(row, tx_fault(row, column))
}

fn shows_errors(options: &Options) -> bool {
    options.value(&NETWORK_OPTIONS).has('e')
}

fn shows_sizes(options: &Options) -> bool {
    options.iosize || options.value(&NETWORK_OPTIONS).has('i')
}

/// `--netopts E`: only lines with errors.
fn only_errors(row: &Row<'_>) -> bool {
    row.options().value(&NETWORK_OPTIONS).has('E')
}

/// The width of an interface's name: that of `--netopts w` (default 5) or of the longest name, plus
/// one.
fn name_width(row: &Row<'_>) -> usize {
    let asked = row.options().value(&NETWORK_OPTIONS).number_behind('w');
    let longest = row.rows().map(|interface| interface.name().len()).max().unwrap_or(0);
    longest.max(asked.unwrap_or(5)) + 1
}

fn detail_heading(frame: &Frame<'_>, part: Part, out: &mut Vec<u8>) {
    let errors = shows_errors(frame.options);
    if part == Part::Title {
        let which = if errors { "ERRORS " } else { "" };
        out.extend_from_slice(format!("NETWORK {which}STATISTICS ($rate)").as_bytes());
        return;
    }
    let width = frame.source("network").map_or(6, |row| name_width(&row));
    let columns = if errors {
        "  ErrIn  DropIn  FifoIn FrameIn    ErrOut DropOut FifoOut CollOut CarrOut"
    } else {
        "  KBIn  PktIn SizeIn  MultI   CmpI  ErrsI  KBOut PktOut  SizeO   CmpO  ErrsO"
    };
    let name = format!("{}Name", " ".repeat(width.saturating_sub(5)));
    out.extend_from_slice(format!("Num   {name} {columns}\n").as_bytes());
}

/// The cells of brief mode without sizes, and the column of errors.
const BRIEF: &[Cell] = &[
    Cell::binary("", 6, 0, |row| total_kib_rate(row, RX_BYTES)),
    Cell::scaled(" ", 6, |row| total_rate(row, RX_PACKETS)),
    Cell::binary(" ", 6, 0, |row| total_kib_rate(row, TX_BYTES)),
    Cell::scaled("  ", 6, |row| total_rate(row, TX_PACKETS)),
];
const BRIEF_SIZES: &[Cell] = &[
    BRIEF[0],
    BRIEF[1],
    Cell::binary(" ", 4, 0, |row| total_size(row, RX_BYTES, RX_PACKETS)).stat(Stat::Ratio {
        dividend: 0,
        divisor: 1,
        factor: 1024.0,
    }),
    BRIEF[2],
    BRIEF[3],
    Cell::binary(" ", 4, 0, |row| total_size(row, TX_BYTES, TX_PACKETS)).stat(Stat::Ratio {
        dividend: 3,
        divisor: 4,
        factor: 1024.0,
    }),
];
const BRIEF_ERRORS: Cell = Cell::scaled(" ", 5, |row| row.per_second(all_faults(row)));

/// `-sn`.
pub(super) const SUMMARY: Layout = Layout {
    level: Level::Summary,
    counts: is_counted,
    position: DisplayOrder { brief: 70, verbose: 70, plot: 40, lexpr: 60, gexpr: 90 },
    keep: |row| !only_errors(row) || all_faults(row) != Some(0.0),
    brief: &[
        Block {
            when: |options| !shows_sizes(options) && !shows_errors(options),
            title: "<----------Network---------->",
            headings: &["  KBIn  PktIn  KBOut  PktOut "],
            show: Show::Cells(BRIEF),
        },
        Block {
            when: |options| shows_sizes(options) && !shows_errors(options),
            title: "<---------------Network--------------->",
            headings: &["  KBIn  PktIn Size  KBOut  PktOut Size "],
            show: Show::Cells(BRIEF_SIZES),
        },
        Block {
            when: |options| !shows_sizes(options) && shows_errors(options),
            title: "<-------------Network------------->",
            headings: &["  KBIn  PktIn  KBOut  PktOut Error "],
            show: Show::Cells(&[BRIEF[0], BRIEF[1], BRIEF[2], BRIEF[3], BRIEF_ERRORS]),
        },
        Block {
            when: |options| shows_sizes(options) && shows_errors(options),
            title: "<------------------Network------------------>",
            headings: &["  KBIn  PktIn Size  KBOut  PktOut Size Error "],
            show: Show::Cells(&[
                BRIEF_SIZES[0],
                BRIEF_SIZES[1],
                BRIEF_SIZES[2],
                BRIEF_SIZES[3],
                BRIEF_SIZES[4],
                BRIEF_SIZES[5],
                BRIEF_ERRORS,
            ]),
        },
    ],
    verbose: &[
        Block {
            when: |options| !shows_errors(options),
            title: "NETWORK SUMMARY ($rate)",
            headings: &[
                " KBIn  PktIn SizeIn  MultI   CmpI  ErrsI  KBOut PktOut  SizeO   CmpO  ErrsO",
            ],
            show: Show::Cells(&[
                Cell::whole("", 6, |row| total_kib_rate(row, RX_BYTES)),
                Cell::whole(" ", 6, |row| total_rate(row, RX_PACKETS)),
                Cell::whole(" ", 6, |row| total_size(row, RX_BYTES, RX_PACKETS)),
                Cell::whole(" ", 6, |row| total_rate(row, RX_MULTICAST)),
                Cell::whole(" ", 6, |row| total_rate(row, RX_COMPRESSED)),
                Cell::whole(" ", 6, |row| total_faults(row, &RX_FAULTS)),
                Cell::whole(" ", 6, |row| total_kib_rate(row, TX_BYTES)),
                Cell::whole(" ", 6, |row| total_rate(row, TX_PACKETS)),
                Cell::whole(" ", 6, |row| total_size(row, TX_BYTES, TX_PACKETS)),
                Cell::whole(" ", 6, |row| total_rate(row, TX_COMPRESSED)),
                Cell::whole(" ", 6, |row| total_faults(row, &TX_FAULTS)),
            ]),
        },
        Block {
            when: shows_errors,
            title: "NETWORK ERRORS SUMMARY ($rate)",
            headings: &[
                "  ErrIn  DropIn  FifoIn FrameIn    ErrOut DropOut FifoOut CollOut CarrOut",
            ],
            show: Show::Cells(&[
                Cell::whole(" ", 7, |row| total_rate(row, RX_ERRORS)),
                Cell::whole(" ", 7, |row| total_rate(row, RX_DROPPED)),
                Cell::whole(" ", 7, |row| total_rate(row, RX_FIFO)),
                Cell::whole(" ", 7, |row| total_rate(row, RX_FRAME)),
                Cell::whole("   ", 7, |row| total_tx_fault(row, 0)),
                Cell::whole(" ", 7, |row| total_tx_fault(row, 1)),
                Cell::whole(" ", 7, |row| total_tx_fault(row, 2)),
                Cell::whole(" ", 7, |row| total_tx_fault(row, 3)),
                Cell::whole(" ", 7, |row| total_tx_fault(row, 4)),
            ]),
        },
    ],
    plot: Some(Plot {
        tag: "NET",
        left_out: Some(|row| only_errors(row) && all_faults(row) == Some(0.0)),
        columns: &[
            PlotColumn::new("RxPktTot", |row| total_rate(row, RX_PACKETS)),
            PlotColumn::new("TxPktTot", |row| total_rate(row, TX_PACKETS)),
            PlotColumn::new("RxKBTot", |row| total_kib_rate(row, RX_BYTES)),
            PlotColumn::new("TxKBTot", |row| total_kib_rate(row, TX_BYTES)),
            PlotColumn::new("RxCmpTot", |row| total_rate(row, RX_COMPRESSED)),
            PlotColumn::new("RxMltTot", |row| total_rate(row, RX_MULTICAST)),
            PlotColumn::new("TxCmpTot", |row| total_rate(row, TX_COMPRESSED)),
            PlotColumn::new("RxErrsTot", |row| total_faults(row, &RX_FAULTS)),
            PlotColumn::new("TxErrsTot", |row| total_faults(row, &TX_FAULTS)),
        ],
        ..Plot::EMPTY
    }),
    metrics: &[
        PlotColumn::new("nettotals.kbin", |row| total_kib_rate(row, RX_BYTES)),
        PlotColumn::new("nettotals.pktin", |row| total_rate(row, RX_PACKETS)),
        PlotColumn::new("nettotals.kbout", |row| total_kib_rate(row, TX_BYTES)),
        PlotColumn::new("nettotals.pktout", |row| total_rate(row, TX_PACKETS)),
    ],
    ..Layout::EMPTY
};

/// Whether `-sN` shows an interface.
fn is_kept(row: &Row<'_>) -> bool {
    let faulty = || [&RX_FAULTS[..], &TX_FAULTS].iter().any(|all| together(row, all) != Some(0.0));
    row.options().value(&INTERFACE_FILTER).keeps(row.name()) && (!only_errors(row) || faulty())
}

/// The index of an interface among those that the filter keeps, with or without errors.
fn position(row: &Row<'_>) -> Option<f64> {
    let before = row.rows().take(row.index);
    Some(before.filter(|other| row.options().value(&INTERFACE_FILTER).keeps(other.name())).count()
        as f64)
}

/// Whether exports include an interface: collectl leaves out all with `lo` or `sit` anywhere in
/// their name.
fn is_exported(row: &Row<'_>) -> bool {
    let name = row.name();
    if row.exact() {
        let has = |part: &[u8]| name.windows(part.len()).any(|window| window == part);
        return !has(b"lo") && !has(b"sit");
    }
    kind_of(row) != kind::LOOPBACK.as_bytes() && !name.starts_with(b"sit")
}

/// `-sN`.
pub(super) const DETAIL: Layout = Layout {
    level: Level::Detail,
    position: DisplayOrder { verbose: 75, plot: 60, lexpr: 140, gexpr: 100, ..DisplayOrder::LAST },
    keep: is_kept,
    keep_reads: |options| match options.value(&NETWORK_OPTIONS).has('E') {
        true => None,
        false => Some(&[]),
    },
    verbose: &[
        Block {
            when: |options| !shows_errors(options),
            title: "NETWORK STATISTICS ($rate)",
            headings: &[],
            show: Show::Headed(
                detail_heading,
                &[
                    Cell::whole(" ", 3, position),
                    Cell::right("  ", 6, |row| Some(row.name())).fitted(name_width),
                    Cell::whole(" ", 6, |row| kib_rate(row, RX_BYTES)),
                    Cell::whole(" ", 6, |row| rate(row, RX_PACKETS)),
                    Cell::whole(" ", 6, |row| size(row, RX_BYTES, RX_PACKETS)),
                    Cell::whole(" ", 6, |row| rate(row, RX_MULTICAST)),
                    Cell::whole(" ", 6, |row| rate(row, RX_COMPRESSED)),
                    Cell::whole(" ", 6, |row| faults(row, &RX_FAULTS)),
                    Cell::whole(" ", 6, |row| kib_rate(row, TX_BYTES)),
                    Cell::whole(" ", 6, |row| rate(row, TX_PACKETS)),
                    Cell::whole(" ", 6, |row| size(row, TX_BYTES, TX_PACKETS)),
                    Cell::whole(" ", 6, |row| rate(row, TX_COMPRESSED)),
                    Cell::whole(" ", 6, |row| faults(row, &TX_FAULTS)),
                ],
            ),
        },
        Block {
            when: |options| shows_errors(options) && !options.exact,
            title: "NETWORK ERRORS STATISTICS ($rate)",
            headings: &[],
            show: Show::Headed(
                detail_heading,
                &[
                    Cell::whole(" ", 3, position),
                    Cell::right("  ", 6, |row| Some(row.name())).fitted(name_width),
                    Cell::whole(" ", 7, |row| rate(row, RX_ERRORS)),
                    Cell::whole(" ", 7, |row| rate(row, RX_DROPPED)),
                    Cell::whole(" ", 7, |row| rate(row, RX_FIFO)),
                    Cell::whole(" ", 7, |row| rate(row, RX_FRAME)),
                    Cell::whole("   ", 7, |row| one_tx_fault(row, 0)),
                    Cell::whole(" ", 7, |row| one_tx_fault(row, 1)),
                    Cell::whole(" ", 7, |row| one_tx_fault(row, 2)),
                    Cell::whole(" ", 7, |row| one_tx_fault(row, 3)),
                    Cell::whole(" ", 7, |row| one_tx_fault(row, 4)),
                ],
            ),
        },
        Block {
            when: |options| shows_errors(options) && options.exact,
            title: "NETWORK ERRORS STATISTICS ($rate)",
            headings: &[],
            show: Show::Headed(
                detail_heading,
                &[
                    Cell::whole(" ", 3, position),
                    Cell::right("  ", 6, |row| Some(row.name())).fitted(|row| name_width(row) - 1),
                    // collectl leaves the colon of the kernel's text behind the name.
                    Cell::whole(": ", 7, |row| rate(row, RX_ERRORS)),
                    Cell::whole(" ", 7, |row| rate(row, RX_DROPPED)),
                    Cell::whole(" ", 7, |row| rate(row, RX_FIFO)),
                    Cell::whole(" ", 7, |row| rate(row, RX_FRAME)),
                    Cell::whole("   ", 7, |row| one_tx_fault(row, 0)),
                    Cell::whole(" ", 7, |row| one_tx_fault(row, 1)),
                    Cell::whole(" ", 7, |row| one_tx_fault(row, 2)),
                    Cell::whole(" ", 7, |row| one_tx_fault(row, 3)),
                    Cell::whole(" ", 7, |row| one_tx_fault(row, 4)),
                ],
            ),
        },
    ],
    plot: Some(Plot {
        tag: "NET",
        extension: "net",
        left_out: Some(|row| only_errors(row) && !row.rows().any(|each| is_kept(&each))),
        columns: &[
            PlotColumn::text("Name", |row| Some(row.name())),
            PlotColumn::new("RxPkt", |row| rate(row, RX_PACKETS)),
            PlotColumn::new("TxPkt", |row| rate(row, TX_PACKETS)),
            PlotColumn::new("RxKB", |row| kib_rate(row, RX_BYTES)),
            PlotColumn::new("TxKB", |row| kib_rate(row, TX_BYTES)),
            PlotColumn::new("RxErr", |row| rate(row, RX_ERRORS)),
            PlotColumn::new("RxDrp", |row| rate(row, RX_DROPPED)),
            PlotColumn::new("RxFifo", |row| rate(row, RX_FIFO)),
            PlotColumn::new("RxFra", |row| rate(row, RX_FRAME)),
            PlotColumn::new("RxCmp", |row| rate(row, RX_COMPRESSED)),
            PlotColumn::new("RxMlt", |row| rate(row, RX_MULTICAST)),
            PlotColumn::new("TxErr", |row| rate(row, TX_ERRORS)),
            PlotColumn::new("TxDrp", |row| rate(row, TX_DROPPED)),
            PlotColumn::new("TxFifo", |row| rate(row, TX_FIFO)),
            PlotColumn::new("TxColl", |row| rate(row, TX_COLLISIONS)),
            PlotColumn::new("TxCar", |row| rate(row, TX_CARRIER)),
            PlotColumn::new("TxCmp", |row| rate(row, TX_COMPRESSED)),
            PlotColumn::new("RxErrs", |row| faults(row, &RX_FAULTS)),
            PlotColumn::new("TxErrs", |row| faults(row, &TX_FAULTS)),
        ],
        ..Plot::EMPTY
    }),
    metrics: &[
        PlotColumn::new("netinfo.kbin.{}", |row| kib_rate(row, RX_BYTES)).applies(is_exported),
        PlotColumn::new("netinfo.pktin.{}", |row| rate(row, RX_PACKETS)).applies(is_exported),
        PlotColumn::new("netinfo.kbout.{}", |row| kib_rate(row, TX_BYTES)).applies(is_exported),
        PlotColumn::new("netinfo.pktout.{}", |row| rate(row, TX_PACKETS)).applies(is_exported),
    ],
    ..Layout::EMPTY
};

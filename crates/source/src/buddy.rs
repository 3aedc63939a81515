//! Fragmentation of free memory: free blocks of 1, 2, 4, … pages in each zone.
//!
//! Reads `/proc/buddyinfo` (proc_buddyinfo(5)).  Cost: one `pread` and about 0.1 µs a zone; the
//! kernel walks no list, but briefly takes the lock of each zone.

use layout::{Block, Cell, DisplayOrder, Layout, Plot, PlotColumn, Row, Show};
use procfs::buddyinfo::parse_buddyinfo;
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, Level, State, Table, fields};

use crate::instance::{self, PAIR_BYTES, RowName};
use crate::{Entry, Source};

/// Sizes of blocks that are recorded.  Kernels have 11 unless built for larger pages; none has more
/// than 16.  collectl's columns are the first 11.
const ORDERS: usize = 16;

/// The most zones: five on each of the 1,024 nodes that Linux allows.
const ZONES_MAX: usize = 5 * 1024;

fields! {
    BLOCKS_1: gauge Count, "Free blocks of 1 page";
    BLOCKS_2: gauge Count, "Free blocks of 2 pages";
    BLOCKS_4: gauge Count, "Free blocks of 4 pages";
    BLOCKS_8: gauge Count, "Free blocks of 8 pages";
    BLOCKS_16: gauge Count, "Free blocks of 16 pages";
    BLOCKS_32: gauge Count, "Free blocks of 32 pages";
    BLOCKS_64: gauge Count, "Free blocks of 64 pages";
    BLOCKS_128: gauge Count, "Free blocks of 128 pages";
    BLOCKS_256: gauge Count, "Free blocks of 256 pages";
    BLOCKS_512: gauge Count, "Free blocks of 512 pages";
    BLOCKS_1024: gauge Count, "Free blocks of 1024 pages";
    BLOCKS_2048: gauge Count, "Free blocks of 2048 pages";
    BLOCKS_4096: gauge Count, "Free blocks of 4096 pages";
    BLOCKS_8192: gauge Count, "Free blocks of 8192 pages";
    BLOCKS_16384: gauge Count, "Free blocks of 16384 pages";
    BLOCKS_32768: gauge Count, "Free blocks of 32768 pages";
}

struct Buddy {
    file: FileId,
    name: RowName<PAIR_BYTES>,
}

impl Source for Buddy {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        let text = match host.read(self.file) {
            Ok(text) => text,
            Err(state) => return state,
        };
        for zone in parse_buddyinfo(text).take(ZONES_MAX) {
            let Some(name) = self.name.join(zone.node, zone.name) else { continue };
            let mut row = table.row(name);
            for (order, count) in zone.blocks().take(ORDERS).enumerate() {
                row.set(order, count);
            }
        }
        if table.rows() > 0 { State::Ok } else { State::Failed(0) }
    }
}

/// Free blocks of 2^`order` pages in all zones.
fn free(row: &Row<'_>, order: usize) -> Option<f64> {
    row.sum(|_| true, |zone| zone.gauge(order))
}

/// Writes `Normal-0`, as collectl names a zone in plot files.
fn zone_and_node(row: &Row<'_>, out: &mut Vec<u8>) {
    let (node, zone) = instance::split(row.name());
    out.extend_from_slice(zone);
    out.push(b'-');
    out.extend_from_slice(node);
}

const MAGNITUDES: &[Cell] = &[
    Cell::magnitude(|row| free(row, 0)),
    Cell::magnitude(|row| free(row, 1)),
    Cell::magnitude(|row| free(row, 2)),
    Cell::magnitude(|row| free(row, 3)),
    Cell::magnitude(|row| free(row, 4)),
    Cell::magnitude(|row| free(row, 5)),
    Cell::magnitude(|row| free(row, 6)),
    Cell::magnitude(|row| free(row, 7)),
    Cell::magnitude(|row| free(row, 8)),
    Cell::magnitude(|row| free(row, 9)),
    Cell::magnitude(|row| free(row, 10)),
];

const SUMS: &[Cell] = &[
    Cell::whole(" ", 8, |row| free(row, 0)),
    Cell::whole("", 8, |row| free(row, 1)),
    Cell::whole("", 8, |row| free(row, 2)),
    Cell::whole("", 8, |row| free(row, 3)),
    Cell::whole("", 8, |row| free(row, 4)),
    Cell::whole("", 8, |row| free(row, 5)),
    Cell::whole("", 8, |row| free(row, 6)),
    Cell::whole("", 8, |row| free(row, 7)),
    Cell::whole("", 8, |row| free(row, 8)),
    Cell::whole("", 8, |row| free(row, 9)),
    Cell::whole("", 8, |row| free(row, 10)),
];

const ZONES: &[Cell] = &[
    Cell::right(" ", 4, instance::first),
    Cell::right("  ", 6, instance::second),
    Cell::whole(" ", 8, |row| row.gauge(0)),
    Cell::whole("", 8, |row| row.gauge(1)),
    Cell::whole("", 8, |row| row.gauge(2)),
    Cell::whole("", 8, |row| row.gauge(3)),
    Cell::whole("", 8, |row| row.gauge(4)),
    Cell::whole("", 8, |row| row.gauge(5)),
    Cell::whole("", 8, |row| row.gauge(6)),
    Cell::whole("", 8, |row| row.gauge(7)),
    Cell::whole("", 8, |row| row.gauge(8)),
    Cell::whole("", 8, |row| row.gauge(9)),
    Cell::whole("", 8, |row| row.gauge(10)),
];

const BRIEF: &[Block] = &[
    Block {
        when: |options| !options.shows('m'),
        title: "<--Memory-->",
        headings: &["  Fragments "],
        show: Show::Cells(MAGNITUDES),
    },
    // The title of the letter `m` spans both blocks.
    Block {
        when: |options| options.shows('m'),
        title: "",
        headings: &["  Fragments "],
        show: Show::Cells(MAGNITUDES),
    },
];

const SUM_COLUMNS: &[PlotColumn] = &[
    PlotColumn::whole("1Page", |row| free(row, 0)),
    PlotColumn::whole("2Pages", |row| free(row, 1)),
    PlotColumn::whole("4Pages", |row| free(row, 2)),
    PlotColumn::whole("8Pages", |row| free(row, 3)),
    PlotColumn::whole("16Pages", |row| free(row, 4)),
    PlotColumn::whole("32Pages", |row| free(row, 5)),
    PlotColumn::whole("64Pages", |row| free(row, 6)),
    PlotColumn::whole("128Pages", |row| free(row, 7)),
    PlotColumn::whole("256Pages", |row| free(row, 8)),
    PlotColumn::whole("512Pages", |row| free(row, 9)),
    PlotColumn::whole("1024Pages", |row| free(row, 10)),
];

const ZONE_COLUMNS: &[PlotColumn] = &[
    PlotColumn::text("Node", instance::first),
    PlotColumn::text("Zone", instance::second),
    PlotColumn::whole("1Page", |row| row.gauge(0)),
    PlotColumn::whole("2Pages", |row| row.gauge(1)),
    PlotColumn::whole("4Pages", |row| row.gauge(2)),
    PlotColumn::whole("8Pages", |row| row.gauge(3)),
    PlotColumn::whole("16Pages", |row| row.gauge(4)),
    PlotColumn::whole("32Pages", |row| row.gauge(5)),
    PlotColumn::whole("64Pages", |row| row.gauge(6)),
    PlotColumn::whole("128Pages", |row| row.gauge(7)),
    PlotColumn::whole("256Pages", |row| row.gauge(8)),
    PlotColumn::whole("512Pages", |row| row.gauge(9)),
    PlotColumn::whole("1024Pages", |row| row.gauge(10)),
];

pub(crate) static ENTRY: Entry = Entry {
    name: "buddy",
    about: "Free blocks of memory by size, for each zone",
    letters: "bB",
    reads: &["/proc/buddyinfo"],
    instance: &["node", "zone"],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[
        Layout {
            level: Level::Summary,
            position: DisplayOrder { brief: 40, verbose: 60, plot: 110, lexpr: 1010, gexpr: 1010 },
            brief: BRIEF,
            verbose: &[Block {
                when: |_| true,
                title: "MEMORY FRAGMENTATION SUMMARY ($page_kbK pages)",
                headings: &[
                    "     1Pg    2Pgs    4Pgs    8Pgs   16Pgs   32Pgs   64Pgs  128Pgs  256Pgs  512Pgs 1024Pgs",
                ],
                show: Show::Cells(SUMS),
            }],
            plot: Some(Plot { tag: "BUD", columns: SUM_COLUMNS, ..Plot::EMPTY }),
            ..Layout::EMPTY
        },
        Layout {
            level: Level::Detail,
            position: DisplayOrder {
                verbose: 65,
                plot: 90,
                lexpr: 1270,
                gexpr: 1270,
                ..DisplayOrder::LAST
            },
            verbose: &[Block {
                when: |_| true,
                title: "MEMORY FRAGMENTATION ($page_kbK pages)",
                headings: &[
                    "Node    Zone      1Pg    2Pgs    4Pgs    8Pgs   16Pgs   32Pgs   64Pgs  128Pgs  256Pgs  512Pgs 1024Pgs",
                ],
                show: Show::Cells(ZONES),
            }],
            plot: Some(Plot {
                tag: "BUD",
                extension: "bud",
                instance: Some(zone_and_node),
                columns: ZONE_COLUMNS,
                ..Plot::EMPTY
            }),
            ..Layout::EMPTY
        },
    ],
    open: |host, _| {
        let file = host.file("/proc/buddyinfo", ReadMode::Records);
        Box::new(Buddy { file, name: RowName::default() })
    },
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_of_two_nodes() {
        let mut host = Host::in_memory();
        let text = b"Node 0, zone  DMA  0 0 3\nNode 1, zone  Normal 2173 2020\nbroken\n";
        host.put("/proc/buddyinfo", Some(text));
        let mut buddy = (ENTRY.open)(&mut host, &std::sync::Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        assert_eq!(buddy.read(&mut host, &mut table), State::Ok);
        assert_eq!(table.rows(), 2);
        assert_eq!(table.name(1), b"1\x1fNormal");
        assert_eq!(table.get(0, 2), Some(3));
        assert_eq!(table.get(0, 3), None);
        assert_eq!(table.get(1, 1), Some(2020));
        host.begin_tick();
        host.put("/proc/buddyinfo", Some(b"nothing known\n"));
        assert_eq!(buddy.read(&mut host, &mut table), State::Failed(0));
    }
}

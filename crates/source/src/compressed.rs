//! Compressed memory: zram disks, and zswap in front of a swap device.
//!
//! Reads `mm_stat` and `io_stat` of each zram disk, and for zswap `/proc/meminfo` and
//! `/proc/vmstat`, which cost nothing if the source `memory` reads them too.  Rejected pages and
//! the number of times that the pool was full are only in `/sys/kernel/debug/zswap`, which only
//! root may read.
//!
//! zram disks come and go; `/sys/block` is searched at every [`RESCAN_READS`]th reading.

use std::path::Path;

use layout::{Block, Cell, DisplayOrder, Layout, Plot, PlotColumn, Row, Show, Stat};
use procfs::scan::{KeyIndex, number};
use procfs::vmstat::Vmstat;
use procfs::zram::{IO_COLUMNS, MM_COLUMNS, parse_columns};
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, Level, RowMut, State, Table, fields};

use crate::{Entry, Source};

/// Readings between two searches for zram disks.
const RESCAN_READS: u64 = 64;

/// The most zram disks that are read; usually there are a few.
const DISKS_MAX: usize = 64;

fields! {
    ORIGINAL: gauge Bytes, "Stored data before compression";
    COMPRESSED: gauge Bytes, "Stored data after compression";
    MEMORY: gauge Bytes, "Memory used for it, fragmentation included";
    MEMORY_LIMIT: gauge Bytes, "Memory it may use; 0 for no limit";
    MEMORY_PEAK: gauge Bytes, "The most memory it has used";
    SAME_FILLED: gauge Pages, "Pages of one repeated value, stored without data";
    COMPACTED: counter Pages, "Pages freed by compaction";
    HUGE: gauge Pages, "Pages that did not compress";
    HUGE_SINCE: counter Pages, "Pages that did not compress since the disk was set up";
    FAILED_READS: counter Count, "Reads that failed";
    FAILED_WRITES: counter Count, "Writes that failed";
    INVALID: counter Count, "Requests that were not aligned to pages";
    FREED: counter Pages, "Pages freed by the swap system";
    LOADED: counter Pages, "Pages loaded from zswap";
    STORED: counter Pages, "Pages stored in zswap";
    WRITTEN_BACK: counter Pages, "Pages written from zswap to the swap device";
    LIMIT_HITS: counter Count, "Times the zswap pool was full";
    REJECTED: counter Pages, "Pages that zswap rejected";
}

const MEMINFO_KEYS: &[&[u8]] = &[b"Zswap:", b"Zswapped:"];
const VMSTAT_KEYS: &[&[u8]] = &[b"zswpin ", b"zswpout ", b"zswpwb "];

/// Files of `/sys/kernel/debug/zswap`, each with one number.
const DEBUG_FILES: [&str; 6] = [
    "/sys/kernel/debug/zswap/written_back_pages",
    "/sys/kernel/debug/zswap/pool_limit_hit",
    "/sys/kernel/debug/zswap/reject_compress_poor",
    "/sys/kernel/debug/zswap/reject_compress_fail",
    "/sys/kernel/debug/zswap/reject_alloc_fail",
    "/sys/kernel/debug/zswap/reject_kmemcache_fail",
];
const DEBUG_WRITTEN_BACK: usize = 0;
const DEBUG_LIMIT_HIT: usize = 1;
const DEBUG_REJECTS: std::ops::Range<usize> = 2..6;

struct CompressedMemory {
    meminfo: FileId,
    meminfo_keys: KeyIndex,
    vmstat: Vmstat,
    debug: [FileId; DEBUG_FILES.len()],
    disks: Vec<Disk>,
    reads: u64,
}

struct Disk {
    name: Vec<u8>,
    mm_stat: FileId,
    io_stat: FileId,
    seen: bool,
}

impl Source for CompressedMemory {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        if self.reads.is_multiple_of(RESCAN_READS) {
            rescan(&mut self.disks, host);
        }
        self.reads += 1;
        self.read_zswap(host, table);
        for disk in &self.disks {
            read_disk(disk, host, table);
        }
        if table.rows() == 0 { State::Absent } else { State::Ok }
    }
}

impl CompressedMemory {
    /// Adds a row if the kernel has zswap, enabled or not.
    fn read_zswap(&mut self, host: &mut Host, table: &mut Table) {
        let mut memory = [None; 2];
        if let Ok(text) = host.read(self.meminfo) {
            self.meminfo_keys.scan(text, |key, kib| memory[key] = kib.checked_mul(1024));
        }
        let mut pages = [None; 3];
        // Without vmstat the other values are still valid.
        let _ = self.vmstat.read(host, |key, count| pages[key] = Some(count));
        let debug = self.debug.map(|file| host.read(file).ok().and_then(number));
        let known = memory.iter().chain(&pages).chain(&debug);
        if known.flatten().next().is_none() {
            return;
        }
        let mut row = table.row(b"zswap");
        row.set_some(MEMORY, memory[0]);
        row.set_some(COMPRESSED, memory[0]);
        row.set_some(ORIGINAL, memory[1]);
        row.set_some(LOADED, pages[0]);
        row.set_some(STORED, pages[1]);
        row.set_some(WRITTEN_BACK, pages[2].or(debug[DEBUG_WRITTEN_BACK]));
        row.set_some(LIMIT_HITS, debug[DEBUG_LIMIT_HIT]);
        let rejects = debug[DEBUG_REJECTS].iter().flatten();
        row.set_some(REJECTED, rejects.copied().reduce(u64::saturating_add));
    }
}

/// Finds new zram disks and removes those that are gone.
fn rescan(disks: &mut Vec<Disk>, host: &mut Host) {
    disks.iter_mut().for_each(|disk| disk.seen = false);
    let mut found = Vec::new();
    let looked = host.for_each_name(Path::new("/sys/block"), |name, _| {
        let number = name.strip_prefix(b"zram").unwrap_or_default();
        if number.is_empty() || !number.iter().all(u8::is_ascii_digit) {
            return;
        }
        match disks.iter_mut().find(|disk| disk.name == name) {
            Some(disk) => disk.seen = true,
            None => found.push(name.to_vec()),
        }
    });
    if looked.is_err() && disks.is_empty() {
        return;
    }
    disks.retain(|disk| {
        if !disk.seen {
            host.close(disk.mm_stat);
            host.close(disk.io_stat);
        }
        disk.seen
    });
    found.truncate(DISKS_MAX.saturating_sub(disks.len()));
    for name in found {
        let path = |file| format!("/sys/block/{}/{file}", String::from_utf8_lossy(&name));
        let mm_stat = host.file(&path("mm_stat"), ReadMode::Whole);
        let io_stat = host.file(&path("io_stat"), ReadMode::Whole);
        disks.push(Disk { name, mm_stat, io_stat, seen: true });
    }
    disks.sort_by(|a, b| (a.name.len(), &a.name).cmp(&(b.name.len(), &b.name)));
}

fn read_disk(disk: &Disk, host: &mut Host, table: &mut Table) {
    let memory: Option<[Option<u64>; MM_COLUMNS]> = host.read(disk.mm_stat).ok().map(parse_columns);
    let requests: Option<[Option<u64>; IO_COLUMNS]> =
        host.read(disk.io_stat).ok().map(parse_columns);
    if memory.is_none() && requests.is_none() {
        return;
    }
    let mut row = table.row(&disk.name);
    set_all(&mut row, MM_FIELDS, memory.unwrap_or_default());
    set_all(&mut row, IO_FIELDS, requests.unwrap_or_default());
}

/// The fields of `mm_stat`'s columns.
const MM_FIELDS: [usize; MM_COLUMNS] = [
    ORIGINAL,
    COMPRESSED,
    MEMORY,
    MEMORY_LIMIT,
    MEMORY_PEAK,
    SAME_FILLED,
    COMPACTED,
    HUGE,
    HUGE_SINCE,
];

/// The fields of `io_stat`'s columns.
const IO_FIELDS: [usize; IO_COLUMNS] = [FAILED_READS, FAILED_WRITES, INVALID, FREED];

fn set_all<const N: usize>(row: &mut RowMut<'_>, fields: [usize; N], columns: [Option<u64>; N]) {
    for (field, column) in fields.into_iter().zip(columns) {
        row.set_some(field, column);
    }
}

/// The compression ratio: original size by memory used.
fn ratio(original: Option<f64>, memory: Option<f64>) -> Option<f64> {
    let (original, memory) = (original?, memory?);
    (memory > 0.0).then(|| original / memory)
}

fn sum(row: &Row<'_>, field: usize) -> Option<f64> {
    row.sum(|_| true, |part| part.gauge(field))
}

fn sum_rate(row: &Row<'_>, field: usize) -> Option<f64> {
    row.sum(|_| true, |part| part.rate(field))
}

fn failed(row: &Row<'_>) -> Option<f64> {
    let parts = [FAILED_READS, FAILED_WRITES, INVALID, REJECTED];
    let parts = parts.into_iter().filter_map(|field| row.delta(field));
    parts.reduce(|sum, part| sum + part)
}

const MIB: f64 = 1_048_576.0;

pub(crate) static ENTRY: Entry = Entry {
    name: "compressed",
    about: "Compressed memory: zram disks and zswap",
    letters: "aA",
    reads: &[
        "/sys/block/zram*/mm_stat",
        "/sys/block/zram*/io_stat",
        "/proc/meminfo",
        "/proc/vmstat",
        "/sys/kernel/debug/zswap/written_back_pages",
        "/sys/kernel/debug/zswap/pool_limit_hit",
        "/sys/kernel/debug/zswap/reject_compress_poor",
        "/sys/kernel/debug/zswap/reject_compress_fail",
        "/sys/kernel/debug/zswap/reject_alloc_fail",
        "/sys/kernel/debug/zswap/reject_kmemcache_fail",
    ],
    instance: &["pool"],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[SUMMARY, DETAIL],
    open: |host, _| {
        Box::new(CompressedMemory {
            meminfo: host.file("/proc/meminfo", ReadMode::Whole),
            meminfo_keys: KeyIndex::new(MEMINFO_KEYS),
            vmstat: Vmstat::new(host, VMSTAT_KEYS),
            debug: DEBUG_FILES.map(|path| host.file(path, ReadMode::Whole)),
            disks: Vec::new(),
            reads: 0,
        })
    },
    ..Entry::EMPTY
};

const SUMMARY: Layout = Layout {
    level: Level::Summary,
    position: DisplayOrder { brief: 180, verbose: 170, plot: 180, lexpr: 1000, gexpr: 1000 },
    brief: &[Block {
        when: |_| true,
        title: "<-----Compressed----->",
        headings: &[" Orig  Used   In  Out "],
        show: Show::Cells(&[
            Cell::binary("", 5, 0, |row| sum(row, ORIGINAL)).stat(Stat::Mean),
            Cell::binary(" ", 5, 0, |row| sum(row, MEMORY)).stat(Stat::Mean),
            Cell::scaled(" ", 4, |row| sum_rate(row, LOADED)),
            Cell::scaled(" ", 4, |row| sum_rate(row, STORED)),
        ]),
    }],
    verbose: &[Block {
        when: |_| true,
        title: "COMPRESSED MEMORY SUMMARY ($rate)",
        headings: &[" Orig  Compr   Used  Ratio     In    Out WrBack Failed   Same   Huge"],
        show: Show::Cells(&[
            Cell::binary(" ", 5, 0, |row| sum(row, ORIGINAL)).stat(Stat::Mean),
            Cell::binary("  ", 5, 0, |row| sum(row, COMPRESSED)).stat(Stat::Mean),
            Cell::binary("  ", 5, 0, |row| sum(row, MEMORY)).stat(Stat::Mean),
            Cell::fixed(" ", 6, 2, |row| ratio(sum(row, ORIGINAL), sum(row, MEMORY))),
            Cell::scaled(" ", 6, |row| sum_rate(row, LOADED)),
            Cell::scaled(" ", 6, |row| sum_rate(row, STORED)),
            Cell::scaled(" ", 6, |row| sum_rate(row, WRITTEN_BACK)),
            Cell::whole(" ", 6, |row| row.sum(|_| true, failed)),
            Cell::scaled(" ", 6, |row| sum(row, SAME_FILLED)).stat(Stat::Mean),
            Cell::scaled(" ", 6, |row| sum(row, HUGE)).stat(Stat::Mean),
        ]),
    }],
    plot: Some(Plot {
        tag: "ZMEM",
        columns: &[
            PlotColumn::fixed("OrigMB", 2, |row| Some(sum(row, ORIGINAL)? / MIB)),
            PlotColumn::fixed("ComprMB", 2, |row| Some(sum(row, COMPRESSED)? / MIB)),
            PlotColumn::fixed("UsedMB", 2, |row| Some(sum(row, MEMORY)? / MIB)),
            PlotColumn::new("In", |row| sum_rate(row, LOADED)),
            PlotColumn::new("Out", |row| sum_rate(row, STORED)),
            PlotColumn::new("WriteBack", |row| sum_rate(row, WRITTEN_BACK)),
            PlotColumn::whole("Failed", |row| row.sum(|_| true, failed)),
        ],
        ..Plot::EMPTY
    }),
    metrics: &[
        PlotColumn::whole("compressed.orig", |row| sum(row, ORIGINAL)).level(),
        PlotColumn::whole("compressed.used", |row| sum(row, MEMORY)).level(),
        PlotColumn::new("compressed.in", |row| sum_rate(row, LOADED)),
        PlotColumn::new("compressed.out", |row| sum_rate(row, STORED)),
    ],
    ..Layout::EMPTY
};

const DETAIL: Layout = Layout {
    level: Level::Detail,
    position: DisplayOrder {
        verbose: 175,
        plot: 170,
        lexpr: 1260,
        gexpr: 1260,
        ..DisplayOrder::LAST
    },
    verbose: &[Block {
        when: |_| true,
        title: "COMPRESSED MEMORY ($rate)",
        headings: &[
            "Pool      Orig  Compr   Used  Ratio     In    Out WrBack Failed   Same   Huge",
        ],
        show: Show::Cells(&[
            Cell::left("", 8, |row| Some(row.name())),
            Cell::binary("  ", 5, 0, |row| row.gauge(ORIGINAL)).stat(Stat::Mean),
            Cell::binary("  ", 5, 0, |row| row.gauge(COMPRESSED)).stat(Stat::Mean),
            Cell::binary("  ", 5, 0, |row| row.gauge(MEMORY)).stat(Stat::Mean),
            Cell::fixed(" ", 6, 2, |row| ratio(row.gauge(ORIGINAL), row.gauge(MEMORY))),
            Cell::scaled(" ", 6, |row| row.rate(LOADED)),
            Cell::scaled(" ", 6, |row| row.rate(STORED)),
            Cell::scaled(" ", 6, |row| row.rate(WRITTEN_BACK)),
            Cell::whole(" ", 6, failed),
            Cell::scaled(" ", 6, |row| row.gauge(SAME_FILLED)).stat(Stat::Mean),
            Cell::scaled(" ", 6, |row| row.gauge(HUGE)).stat(Stat::Mean),
        ]),
    }],
    plot: Some(Plot {
        tag: "ZMEM",
        extension: "zmem",
        columns: &[
            PlotColumn::fixed("OrigMB", 2, |row| Some(row.gauge(ORIGINAL)? / MIB)),
            PlotColumn::fixed("ComprMB", 2, |row| Some(row.gauge(COMPRESSED)? / MIB)),
            PlotColumn::fixed("UsedMB", 2, |row| Some(row.gauge(MEMORY)? / MIB)),
            PlotColumn::new("In", |row| row.rate(LOADED)),
            PlotColumn::new("Out", |row| row.rate(STORED)),
            PlotColumn::whole("Failed", failed),
        ],
        ..Plot::EMPTY
    }),
    metrics: &[
        PlotColumn::whole("compressedinfo.orig.{}", |row| row.gauge(ORIGINAL)).level(),
        PlotColumn::whole("compressedinfo.used.{}", |row| row.gauge(MEMORY)).level(),
    ],
    ..Layout::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zswap_and_disks_that_come_and_go() {
        let mut host = Host::in_memory();
        let mut source = (ENTRY.open)(&mut host, &std::sync::Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        assert_eq!(source.read(&mut host, &mut table), State::Absent);
        host.put("/proc/meminfo", Some(b"MemTotal: 9 kB\nZswap: 2 kB\nZswapped: 5 kB\n"));
        host.put("/proc/vmstat", Some(b"nr_free_pages 1\nzswpin 3\nzswpout 4\n"));
        host.put("/sys/kernel/debug/zswap/reject_alloc_fail", Some(b"6\n"));
        host.put("/sys/block/zram10/mm_stat", Some(b"100 50 60 0 70 1 2 3\n"));
        host.put("/sys/block/zram2/io_stat", Some(b"1 2 3 4\n"));
        host.put("/sys/block/vda/stat", Some(b"1\n"));
        let read = |host: &mut Host, source: &mut Box<dyn Source>, table: &mut Table| {
            for _ in 0..RESCAN_READS {
                host.begin_tick();
                assert_eq!(source.read(host, table), State::Ok);
            }
        };
        read(&mut host, &mut source, &mut table);
        let names: Vec<&[u8]> = (0..table.rows()).map(|row| table.name(row)).collect();
        assert_eq!(names, [&b"zswap"[..], b"zram2", b"zram10"]);
        let zswap = [ORIGINAL, MEMORY, LOADED, WRITTEN_BACK, REJECTED];
        assert_eq!(
            zswap.map(|field| table.get(0, field)),
            [Some(5120), Some(2048), Some(3), None, Some(6)]
        );
        assert_eq!((table.get(1, FREED), table.get(1, ORIGINAL)), (Some(4), None));
        assert_eq!((table.get(2, HUGE), table.get(2, HUGE_SINCE)), (Some(3), None));
        host.put("/sys/block/zram2/io_stat", None);
        read(&mut host, &mut source, &mut table);
        assert_eq!((table.rows(), table.name(1)), (2, &b"zram10"[..]));
    }
}

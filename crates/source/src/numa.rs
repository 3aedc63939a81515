//! Memory of each NUMA node, and the nodes on which allocations were made.
//!
//! Reads `meminfo` and `numastat` under `/sys/devices/system/node/node*`.  Cost: two `pread`s and
//! about 1 µs of parsing a node; on many CPUs a BPF program copies the counters instead
//! (`counters.rs`).  The nodes are searched at every [`LOOK_EVERY`]th reading, since
//! they change only with memory hotplug.

use std::path::Path;

use bpf::{CpuCounters, NodeValue, NodeValues};
use layout::{Block, Cell, DisplayOrder, Layout, Plot, PlotColumn, Row, Show};
use procfs::node::{parse_node_meminfo, parse_numastat};
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, Level, RowMut, State, Table, fields};

use crate::Entry;
use crate::counters::{self, CounterSource};
use crate::memory::MEMORY_OPTIONS;

fields! {
    TOTAL: gauge Kibibytes, "Memory of the node", from b"MemTotal:";
    FREE: gauge Kibibytes, "Free memory", from b"MemFree:";
    USED: gauge Kibibytes, "Memory that is not free", from b"MemUsed:";
    SWAP_CACHED: gauge Kibibytes, "Memory that also has a copy in swap", from b"SwapCached:";
    ACTIVE: gauge Kibibytes, "Recently used memory", from b"Active:";
    INACTIVE: gauge Kibibytes, "Memory not used recently", from b"Inactive:";
    ACTIVE_ANON: gauge Kibibytes, "Recently used anonymous memory", from b"Active(anon):";
    INACTIVE_ANON: gauge Kibibytes, "Anonymous memory not used recently", from b"Inactive(anon):";
    ACTIVE_FILE: gauge Kibibytes, "Recently used page cache", from b"Active(file):";
    INACTIVE_FILE: gauge Kibibytes, "Page cache not used recently", from b"Inactive(file):";
    UNEVICTABLE: gauge Kibibytes, "Memory that cannot be reclaimed", from b"Unevictable:";
    LOCKED: gauge Kibibytes, "Memory locked by mlock(2)", from b"Mlocked:";
    DIRTY: gauge Kibibytes, "Memory waiting to be written to disk", from b"Dirty:";
    WRITEBACK: gauge Kibibytes, "Memory being written to disk", from b"Writeback:";
    FILE_PAGES: gauge Kibibytes, "Page cache, tmpfs included", from b"FilePages:";
    MAPPED: gauge Kibibytes, "Files mapped by programs", from b"Mapped:";
    ANONYMOUS: gauge Kibibytes, "Anonymous memory mapped by programs", from b"AnonPages:";
    SHARED: gauge Kibibytes, "Shared memory and tmpfs", from b"Shmem:";
    KERNEL_STACK: gauge Kibibytes, "Stacks of tasks in the kernel", from b"KernelStack:";
    PAGE_TABLES: gauge Kibibytes, "Page tables", from b"PageTables:";
    KERNEL_RECLAIMABLE: gauge Kibibytes,
        "Kernel memory that can be reclaimed", from b"KReclaimable:";
    SLAB: gauge Kibibytes, "Kernel slabs", from b"Slab:";
    SLAB_RECLAIMABLE: gauge Kibibytes, "Slabs that can be reclaimed", from b"SReclaimable:";
    SLAB_UNRECLAIMABLE: gauge Kibibytes, "Slabs that cannot be reclaimed", from b"SUnreclaim:";
    ANONYMOUS_HUGE: gauge Kibibytes, "Anonymous memory in huge pages", from b"AnonHugePages:";
    SHARED_HUGE: gauge Kibibytes, "Shared memory in huge pages", from b"ShmemHugePages:";
    FILE_HUGE: gauge Kibibytes, "Page cache in huge pages", from b"FileHugePages:";
    HUGE_TOTAL: gauge Count, "Huge pages in the pool", from b"HugePages_Total:";
    HUGE_FREE: gauge Count, "Huge pages in the pool that are free", from b"HugePages_Free:";
    HUGE_SURPLUS: gauge Count, "Huge pages beyond the pool's size", from b"HugePages_Surp:";
    HITS: counter Pages, "Pages allocated on this node as intended", from b"numa_hit";
    MISSES: counter Pages,
        "Pages allocated on this node that were intended for another", from b"numa_miss";
    FOREIGN: counter Pages,
        "Pages intended for this node that were allocated on another", from b"numa_foreign";
    INTERLEAVE_HITS: counter Pages,
        "Pages allocated on this node by interleaving, as intended", from b"interleave_hit";
    LOCAL: counter Pages, "Pages allocated on this node by tasks of this node", from b"local_node";
    REMOTE: counter Pages,
        "Pages allocated on this node by tasks of other nodes", from b"other_node";
}

/// The lines of `meminfo` that are read.  Kibibytes, except the counts of huge pages.
const MEMINFO_KEYS: &[&[u8]] = KEYS.split_at(HITS).0;

/// The lines of `numastat`, in pages, for the fields from [`HITS`] on.
const NUMASTAT_KEYS: &[&[u8]] = KEYS.split_at(HITS).1;

/// Readings between two searches for nodes.
const LOOK_EVERY: u64 = 64;

/// The most nodes; Linux allows 1,024.
const NODES_MAX: usize = 1024;

const NODES: &str = "/sys/devices/system/node";

struct Numa {
    nodes: Vec<Node>,
    /// The result of the latest search.
    state: State,
    readings: u64,
}

struct Node {
    number: u32,
    name: Vec<u8>,
    meminfo: FileId,
    numastat: FileId,
}

impl Numa {
    /// Finds new nodes and sorts all by number.  Allocates only for new ones.
    fn look(&mut self, host: &mut Host) {
        let (nodes, mut found) = (&self.nodes, Vec::<u32>::new());
        let looked = host.for_each_name(Path::new(NODES), |name, _| {
            let digits = name.strip_prefix(b"node").unwrap_or_default();
            let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
            let Some(number) = number else { return };
            if !nodes.iter().any(|node| node.number == number) {
                found.push(number);
            }
        });
        self.state = looked.err().unwrap_or(State::Ok);
        if found.is_empty() {
            return;
        }
        found.truncate(NODES_MAX.saturating_sub(self.nodes.len()));
        for number in found {
            self.nodes.push(Node {
                number,
                name: number.to_string().into_bytes(),
                meminfo: host.file(&format!("{NODES}/node{number}/meminfo"), ReadMode::Whole),
                numastat: host.file(&format!("{NODES}/node{number}/numastat"), ReadMode::Whole),
            });
        }
        self.nodes.sort_by_key(|node| node.number);
    }
}

impl CounterSource for Numa {
    fn read_files(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        self.look_sometimes(host);
        let mut state = self.state;
        for node in &self.nodes {
            // A removed node has no files and gets no row.
            let text = match host.read(node.meminfo) {
                Ok(text) => text,
                Err(error) => {
                    state = error;
                    continue;
                }
            };
            let mut row = table.row(&node.name);
            parse_node_meminfo(text, MEMINFO_KEYS, |key, value| row.set(key, value));
            if let Ok(text) = host.read(node.numastat) {
                parse_numastat(text, NUMASTAT_KEYS, |key, value| row.set(HITS + key, value));
            }
        }
        if table.rows() > 0 { State::Ok } else { state }
    }

    fn read_counters(
        &mut self,
        counters: &CpuCounters,
        host: &mut Host,
        table: &mut Table,
    ) -> State {
        table.begin();
        self.look_sometimes(host);
        match counters.refresh_nodes() {
            Ok(calls) => host.add_calls(calls),
            Err(bpf::Error::Read(error)) => {
                return State::Failed(error.raw_os_error().unwrap_or(0));
            }
            Err(_) => return State::Absent,
        }
        for node in &self.nodes {
            if let Some(values) = counters.node(node.number as usize) {
                set_values(&mut table.row(&node.name), &values);
            }
        }
        if table.rows() > 0 { State::Ok } else { self.state }
    }

    fn check(&mut self, host: &mut Host, counters: &CpuCounters) -> Result<(), String> {
        counters::check(ENTRY.fields, self, host, counters)
    }
}

impl Numa {
    /// Searches for nodes at every [`LOOK_EVERY`]th reading.
    fn look_sometimes(&mut self, host: &mut Host) {
        // A host in memory gets its files in the order of the recording: there may be no node yet.
        if self.readings.is_multiple_of(LOOK_EVERY)
            || self.nodes.is_empty() && host.root().is_none()
        {
            self.look(host);
        }
        self.readings += 1;
    }
}

/// Sets the fields from the kernel's counters, as `node_read_meminfo` of drivers/base/node.c prints
/// them.
fn set_values(row: &mut RowMut<'_>, values: &NodeValues) {
    use NodeValue::{
        ActiveAnonymous, ActiveFile, Anonymous, AnonymousHuge, Dirty, FileHuge, FilePages, Free,
        HugeFree, HugeSurplus, HugeTotal, InactiveAnonymous, InactiveFile, Locked, Mapped,
        MiscReclaimable, PageTables, Shared, SharedHuge, SlabReclaimable, SlabUnreclaimable,
        StacksKib, SwapCached, Total, Unevictable, Writeback,
    };
    let page_kib = rustix::param::page_size() as u64 / 1024;
    let sum = |one, other| Some(values.get(one)? + values.get(other)?);
    let used = || Some(values.get(Total)?.saturating_sub(values.get(Free)?));
    let pages = [
        values.get(Total),
        values.get(Free),
        used(),
        values.get(SwapCached),
        sum(ActiveAnonymous, ActiveFile),
        sum(InactiveAnonymous, InactiveFile),
        values.get(ActiveAnonymous),
        values.get(InactiveAnonymous),
        values.get(ActiveFile),
        values.get(InactiveFile),
        values.get(Unevictable),
        values.get(Locked),
        values.get(Dirty),
        values.get(Writeback),
        values.get(FilePages),
        values.get(Mapped),
        values.get(Anonymous),
        values.get(Shared),
        values.get(StacksKib).map(|kib| kib / page_kib),
        values.get(PageTables),
        sum(SlabReclaimable, MiscReclaimable),
        sum(SlabReclaimable, SlabUnreclaimable),
        values.get(SlabReclaimable),
        values.get(SlabUnreclaimable),
        values.get(AnonymousHuge),
        values.get(SharedHuge),
        values.get(FileHuge),
    ];
    for (field, pages) in pages.into_iter().enumerate() {
        row.set_some(field, pages.map(|pages| pages * page_kib));
    }
    let pool = [HugeTotal, HugeFree, HugeSurplus].map(|value| values.get(value));
    for (at, count) in pool.into_iter().enumerate() {
        row.set_some(pages.len() + at, count);
    }
    for (at, count) in values.events.into_iter().enumerate() {
        row.set(HITS + at, count);
    }
}

/// Free and used memory together, which collectl calls the total.
fn total(row: &Row<'_>) -> Option<f64> {
    Some(row.gauge(USED)? + row.gauge(FREE)?)
}

/// Per cent of the allocations made on the intended node; 100 if there were none.
fn hit_percent(row: &Row<'_>) -> Option<f64> {
    let hits = row.delta(HITS)?;
    let all = hits + row.delta(FOREIGN)? + row.delta(MISSES)?;
    Some(if all == 0.0 { 100.0 } else { hits / all * 100.0 })
}

/// The change of a level since the previous reading, not divided by the time.
fn change(row: &Row<'_>, field: usize) -> Option<f64> {
    let change = row.change(field);
    if row.exact() { Some(change.unwrap_or(0.0)) } else { change }
}

/// collectl shows the size of huge pages, not its change, even among changes.
fn huge_change(row: &Row<'_>) -> Option<f64> {
    if row.collectl_digits() { row.gauge(ANONYMOUS_HUGE) } else { change(row, ANONYMOUS_HUGE) }
}

/// A cell with a number of KiB, scaled to seven characters, in a column of eight.
const fn kib(value: fn(&Row<'_>) -> Option<f64>) -> Cell {
    Cell::binary(" ", 7, 1, value).padded_to(8)
}

const NAME: Cell = Cell::right("  ", 4, |row| Some(row.name()));

const LEVELS: &[Cell] = &[
    NAME,
    kib(total),
    kib(|row| row.gauge(USED)),
    kib(|row| row.gauge(FREE)),
    kib(|row| row.gauge(SLAB)),
    kib(|row| row.gauge(MAPPED)),
    kib(|row| row.gauge(ANONYMOUS)),
    kib(|row| row.gauge(ANONYMOUS_HUGE)),
    kib(|row| row.gauge(LOCKED)),
    kib(|row| row.gauge(INACTIVE)),
    Cell::fixed(" ", 6, 2, hit_percent),
];

const CHANGES: [Cell; 10] = [
    NAME,
    kib(|row| Some(change(row, USED)? + change(row, FREE)?)),
    kib(|row| change(row, USED)),
    kib(|row| change(row, FREE)),
    kib(|row| change(row, SLAB)),
    kib(|row| change(row, MAPPED)),
    kib(|row| change(row, ANONYMOUS)),
    kib(huge_change),
    kib(|row| change(row, LOCKED)),
    kib(|row| change(row, INACTIVE)),
];

/// collectl prints the heading of the last column but not the column.
const CHANGES_EXACT: &[Cell] = CHANGES.split_at(9).0;

const CHANGE_TITLE: &str = "MEMORY STATISTICS  change";
const CHANGE_HEADINGS: &[&str] = &[
    "$blank Node    Total     Used     Free     Slab   Mapped     Anon    AnonH   Locked    Inact",
];

const VERBOSE: &[Block] = &[
    Block {
        when: |options| !options.value(&MEMORY_OPTIONS).has('R'),
        title: "MEMORY STATISTICS ",
        headings: &[
            "$blank Node    Total     Used     Free     Slab   Mapped     Anon    AnonH   \
             Locked    Inact HitPct",
        ],
        show: Show::Cells(LEVELS),
    },
    Block {
        when: |options| options.value(&MEMORY_OPTIONS).has('R') && !options.exact,
        title: CHANGE_TITLE,
        headings: CHANGE_HEADINGS,
        show: Show::Cells(&CHANGES),
    },
    Block {
        when: |options| options.value(&MEMORY_OPTIONS).has('R') && options.exact,
        title: CHANGE_TITLE,
        headings: CHANGE_HEADINGS,
        show: Show::Cells(CHANGES_EXACT),
    },
];

pub(crate) static ENTRY: Entry = Entry {
    name: "numa",
    about: "Memory of each NUMA node, and on which node allocations were made",
    letters: "M",
    reads: &["/sys/devices/system/node/node*/meminfo", "/sys/devices/system/node/node*/numastat"],
    instance: &["node"],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[Layout {
        level: Level::Detail,
        position: DisplayOrder {
            verbose: 55,
            plot: 40,
            lexpr: 130,
            gexpr: 80,
            ..DisplayOrder::LAST
        },
        verbose: VERBOSE,
        plot: Some(Plot {
            tag: "NUMA",
            extension: "numa",
            columns: &[
                PlotColumn::whole("Used", |row| row.gauge(USED)),
                PlotColumn::whole("Free", |row| row.gauge(FREE)),
                PlotColumn::whole("Slab", |row| row.gauge(SLAB)),
                PlotColumn::whole("Mapped", |row| row.gauge(MAPPED)),
                PlotColumn::whole("Anon", |row| row.gauge(ANONYMOUS)),
                PlotColumn::whole("AnonH", |row| row.gauge(ANONYMOUS_HUGE)),
                PlotColumn::whole("Inactive", |row| row.gauge(INACTIVE)),
                PlotColumn::fixed("Hits", 2, hit_percent),
            ],
            ..Plot::EMPTY
        }),
        metrics: &[
            PlotColumn::new("numainfo.used.{}", |row| row.gauge(USED)).level(),
            PlotColumn::new("numainfo.free.{}", |row| row.gauge(FREE)).level(),
            PlotColumn::new("numainfo.slab.{}", |row| row.gauge(SLAB)).level(),
            PlotColumn::new("numainfo.map.{}", |row| row.gauge(MAPPED)).level(),
            PlotColumn::new("numainfo.anon.{}", |row| row.gauge(ANONYMOUS)).level(),
            PlotColumn::new("numainfo.anonH.{}", |row| row.gauge(ANONYMOUS_HUGE)).level(),
            PlotColumn::new("numainfo.lock.{}", |row| row.gauge(LOCKED)).level(),
            PlotColumn::new("numainfo.act.{}", |row| row.gauge(ACTIVE)).level(),
            PlotColumn::new("numainfo.inact.{}", |row| row.gauge(INACTIVE)).level(),
        ],
        ..Layout::EMPTY
    }],
    open: |host, context| {
        let numa = Numa { nodes: Vec::new(), state: State::Absent, readings: 0 };
        counters::open(&ENTRY, numa, host, context)
    },
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_its_field() {
        assert_eq!(FIELDS.len(), KEYS.len());
        for (field, name, key) in [
            (FREE, "free", "MemFree:"),
            (USED, "used", "MemUsed:"),
            (ACTIVE, "active", "Active:"),
            (INACTIVE, "inactive", "Inactive:"),
            (LOCKED, "locked", "Mlocked:"),
            (MAPPED, "mapped", "Mapped:"),
            (ANONYMOUS, "anonymous", "AnonPages:"),
            (SLAB, "slab", "Slab:"),
            (ANONYMOUS_HUGE, "anonymous_huge", "AnonHugePages:"),
            (HITS, "hits", "numa_hit"),
            (MISSES, "misses", "numa_miss"),
            (FOREIGN, "foreign", "numa_foreign"),
        ] {
            assert_eq!(ENTRY.fields[field].name, name);
            assert_eq!(std::str::from_utf8(KEYS[field]).unwrap(), key);
        }
    }

    #[test]
    fn nodes_by_number_and_one_that_goes() {
        let mut host = Host::in_memory();
        let mut numa = (ENTRY.open)(&mut host, &std::sync::Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        assert_eq!(numa.read(&mut host, &mut table), State::Absent);
        host.begin_tick();
        for (node, free) in [("10", "7"), ("2", "5"), ("power", "1"), ("0", "9")] {
            let text = format!("Node {node} MemFree: {free} kB\n");
            host.put(&format!("{NODES}/node{node}/meminfo"), Some(text.as_bytes()));
        }
        host.put(&format!("{NODES}/node2/numastat"), Some(b"numa_hit 1\nnuma_miss 2\n"));
        assert_eq!(numa.read(&mut host, &mut table), State::Ok);
        let names: Vec<_> = (0..table.rows()).map(|row| table.name(row).to_vec()).collect();
        assert_eq!(names, [b"0".to_vec(), b"2".to_vec(), b"10".to_vec()]);
        assert_eq!(table.get(1, FREE), Some(5));
        assert_eq!(table.get(1, MISSES), Some(2));
        assert_eq!(table.get(2, HITS), None);
        host.begin_tick();
        host.put(&format!("{NODES}/node2/meminfo"), None);
        assert_eq!(numa.read(&mut host, &mut table), State::Ok);
        assert_eq!(table.rows(), 2);
    }
}

//! How collectl shows memory: brief, verbose with the groups of `--memopts`, plot, metrics.
//!
//! Some columns of collectl are wrong or unusual (see [`inactive`], [`shared`], [`swapped`],
//! [`pages`]).  They have collectl's digits when a collectl recording is played, and the correct
//! value otherwise.

use layout::{Block, Cell, LetterRule, OptionKind, Options, PlotColumn, Row, Show, SourceOption};

use super::fields;

/// Memory that is not free.  As in collectl, buffers and cache count as used.
fn used(row: &Row<'_>) -> Option<f64> {
    Some(row.gauge(fields::TOTAL)? - row.gauge(fields::FREE)?)
}

fn swap_used(row: &Row<'_>) -> Option<f64> {
    Some(row.gauge(fields::SWAP_TOTAL)? - row.gauge(fields::SWAP_FREE)?)
}

/// The field of the column `Inac`.  collectl takes the last line that begins with `Inactive`, which
/// since Linux 2.6.28 is `Inactive(file)`.
fn inactive(row: &Row<'_>) -> usize {
    let last = [fields::INACTIVE_FILE, fields::INACTIVE_ANON];
    let last = last.into_iter().find(|&field| row.raw(field).is_some());
    last.filter(|_| row.collectl_digits()).unwrap_or(fields::INACTIVE)
}

/// Shared memory in KiB.  collectl takes the last line of vmstat that begins with `nr_shmem`, which
/// since Linux 4.8 counts memory mapped as huge pages, and assumes pages of 4 KiB.
fn shared(row: &Row<'_>) -> Option<f64> {
    if !row.collectl_digits() {
        return row.gauge(fields::SHARED);
    }
    let last = [fields::SHARED_PMD_PAGES, fields::SHARED_HUGE_PAGES];
    let last = last.into_iter().find(|&field| row.raw(field).is_some());
    Some(4.0 * row.gauge(last.unwrap_or(fields::SHARED_PAGES))?)
}

/// Swapped in or out, per second, in KiB; collectl computes bytes but labels them as KiB.
fn swapped(row: &Row<'_>, field: usize) -> Option<f64> {
    const WRAP: f64 = 4_294_967_296.0;
    let page_bytes = row.frame.meta.page_size_bytes() as f64;
    let bytes = match row.change(field) {
        Some(change) if change < 0.0 && row.exact() => change * page_bytes + WRAP,
        _ => row.delta(field)? * page_bytes,
    };
    let seconds = row.seconds()?;
    Some(if row.collectl_digits() { bytes / seconds } else { bytes / 1024.0 / seconds })
}

/// A counter of paging or reclaim: per second, but the count since boot if collectl's digits are
/// wanted, since collectl does not compute rates here.
fn pages(row: &Row<'_>, field: usize) -> Option<f64> {
    if row.collectl_digits() { row.gauge(field) } else { row.rate(field) }
}

/// A level's change per second (`--memopts R`).
fn change(row: &Row<'_>, field: usize) -> Option<f64> {
    Some(changed(row, field)? / row.seconds()?)
}

fn changed(row: &Row<'_>, field: usize) -> Option<f64> {
    let change = row.change(field);
    if row.exact() { Some(change.unwrap_or(0.0)) } else { change }
}

fn used_change(row: &Row<'_>) -> Option<f64> {
    difference_change(row, fields::TOTAL, fields::FREE)
}

fn swap_used_change(row: &Row<'_>) -> Option<f64> {
    difference_change(row, fields::SWAP_TOTAL, fields::SWAP_FREE)
}

/// The change per second of what `all` has more than `free`.  Of these alone collectl does not keep
/// the reading before the first interval: it takes 0 for it.
fn difference_change(row: &Row<'_>, all: usize, free: usize) -> Option<f64> {
    let change = match row.exact() && row.is_first_interval() {
        true => row.gauge(all)? - row.gauge(free)?,
        false => changed(row, all)? - changed(row, free)?,
    };
    Some(change / row.seconds()?)
}

/// The change of memory mapped by programs; collectl divides only one of the two parts by the time.
fn mapped_change(row: &Row<'_>) -> Option<f64> {
    let (mapped, anonymous) = (changed(row, fields::MAPPED)?, changed(row, fields::ANONYMOUS)?);
    let seconds = row.seconds()?;
    let mapped = if row.collectl_digits() { mapped } else { mapped / seconds };
    Some(mapped + anonymous / seconds)
}

/// Total memory, among the changes; collectl divides it by the time, too.
fn total_beside_changes(row: &Row<'_>) -> Option<f64> {
    let total = row.gauge(fields::TOTAL)?;
    if row.collectl_digits() { Some(total / row.seconds()?) } else { Some(total) }
}

/// A cell with a number of KiB, scaled.
const fn kib(lead: &'static str, width: usize, value: fn(&Row<'_>) -> Option<f64>) -> Cell {
    Cell::binary(lead, width, 1, value)
}

const LEVELS: &[Cell] = &[
    kib("", 4, |row| row.gauge(fields::FREE)),
    kib(" ", 4, |row| row.gauge(fields::BUFFERS)),
    kib(" ", 4, |row| row.gauge(fields::CACHED)),
    kib(" ", 4, |row| row.gauge(inactive(row))),
    kib(" ", 4, |row| row.gauge(fields::SLAB)),
    kib(" ", 4, |row| Some(row.gauge(fields::MAPPED)? + row.gauge(fields::ANONYMOUS)?)),
];

const LEVEL_CHANGES: &[Cell] = &[
    kib("", 4, |row| change(row, fields::FREE)).padded_to(5),
    kib(" ", 4, |row| change(row, fields::BUFFERS)).padded_to(5),
    kib(" ", 4, |row| change(row, fields::CACHED)).padded_to(5),
    kib(" ", 4, |row| change(row, inactive(row))).padded_to(5),
    kib(" ", 4, |row| change(row, fields::SLAB)).padded_to(5),
    kib(" ", 4, mapped_change).padded_to(5),
];

const PHYSICAL: &[Cell] = &[
    kib("  ", 7, |row| row.gauge(fields::TOTAL)),
    kib(" ", 7, used),
    kib(" ", 7, |row| row.gauge(fields::FREE)),
    kib(" ", 7, |row| row.gauge(fields::BUFFERS)),
    kib(" ", 7, |row| row.gauge(fields::CACHED)),
    kib(" ", 7, |row| row.gauge(fields::SLAB)),
    kib(" ", 7, |row| row.gauge(fields::MAPPED)),
    kib(" ", 7, |row| row.gauge(fields::ANONYMOUS)),
    kib(" ", 7, |row| row.gauge(fields::ANONYMOUS_HUGE)),
    kib(" ", 7, |row| row.gauge(fields::COMMITTED)),
    kib(" ", 7, |row| row.gauge(fields::LOCKED)),
    kib(" ", 5, |row| row.gauge(inactive(row))),
];

const VIRTUAL: [Cell; 9] = [
    kib(" ", 5, |row| row.gauge(fields::SWAP_TOTAL)),
    kib(" ", 5, swap_used),
    kib(" ", 5, |row| row.gauge(fields::SWAP_FREE)),
    kib(" ", 5, |row| swapped(row, fields::SWAP_IN)).padded_to(4),
    kib(" ", 5, |row| swapped(row, fields::SWAP_OUT)).padded_to(4),
    Cell::scaled(" ", 5, |row| row.rate(fields::FAULTS)),
    Cell::scaled(" ", 5, |row| row.rate(fields::MAJOR_FAULTS)),
    Cell::scaled(" ", 4, |row| row.rate(fields::PAGE_IN)),
    Cell::scaled(" ", 4, |row| row.rate(fields::PAGE_OUT)),
];

const ALLOCATION: [Cell; 10] = [
    Cell::scaled(" ", 5, |row| pages(row, fields::FREED)),
    Cell::scaled(" ", 5, |row| pages(row, fields::ACTIVATED)),
    Cell::scaled(" ", 5, |row| pages(row, fields::ALLOC_DMA)),
    Cell::scaled(" ", 5, |row| pages(row, fields::ALLOC_DMA32)),
    Cell::scaled(" ", 5, |row| pages(row, fields::ALLOC_NORMAL)),
    Cell::scaled(" ", 5, |row| pages(row, fields::ALLOC_MOVABLE)),
    Cell::scaled(" ", 5, |row| pages(row, fields::REFILLED_DMA)),
    Cell::scaled(" ", 5, |row| pages(row, fields::REFILLED_DMA32)),
    Cell::scaled(" ", 5, |row| pages(row, fields::REFILLED_NORMAL)),
    Cell::scaled(" ", 5, |row| pages(row, fields::REFILLED_MOVABLE)),
];

const RECLAIM: [Cell; 12] = [
    Cell::scaled(" ", 5, |row| pages(row, fields::STOLEN_DMA)),
    Cell::scaled(" ", 5, |row| pages(row, fields::STOLEN_DMA32)),
    Cell::scaled(" ", 5, |row| pages(row, fields::STOLEN_NORMAL)),
    Cell::scaled(" ", 5, |row| pages(row, fields::STOLEN_MOVABLE)),
    Cell::scaled(" ", 5, |row| pages(row, fields::SCANNED_KSWAPD_DMA)),
    Cell::scaled(" ", 5, |row| pages(row, fields::SCANNED_KSWAPD_DMA32)),
    Cell::scaled(" ", 5, |row| pages(row, fields::SCANNED_KSWAPD_NORMAL)),
    Cell::scaled(" ", 5, |row| pages(row, fields::SCANNED_KSWAPD_MOVABLE)),
    Cell::scaled(" ", 5, |row| pages(row, fields::SCANNED_DIRECT_DMA)),
    Cell::scaled(" ", 5, |row| pages(row, fields::SCANNED_DIRECT_DMA32)),
    Cell::scaled(" ", 5, |row| pages(row, fields::SCANNED_DIRECT_NORMAL)),
    Cell::scaled(" ", 5, |row| pages(row, fields::SCANNED_DIRECT_MOVABLE)),
];

const CHANGES: &[Cell] = &[
    kib("  ", 7, total_beside_changes),
    kib(" ", 7, used_change).padded_to(8),
    kib(" ", 7, |row| change(row, fields::FREE)).padded_to(8),
    kib(" ", 7, |row| change(row, fields::BUFFERS)).padded_to(8),
    kib(" ", 7, |row| change(row, fields::CACHED)).padded_to(8),
    kib("  ", 7, |row| change(row, fields::SLAB)),
    kib("  ", 7, |row| change(row, fields::MAPPED)),
    kib("  ", 7, |row| change(row, fields::ANONYMOUS)),
    kib(" ", 7, |row| change(row, fields::ANONYMOUS_HUGE)),
    kib(" ", 7, |row| change(row, fields::COMMITTED)),
    kib(" ", 7, |row| change(row, fields::LOCKED)),
    kib("  ", 5, |row| change(row, inactive(row))).padded_to(6),
    kib(" ", 5, |row| row.gauge(fields::SWAP_TOTAL)),
    kib(" ", 5, swap_used_change).padded_to(6),
    kib(" ", 5, |row| change(row, fields::SWAP_FREE)).padded_to(6),
    kib(" ", 5, |row| swapped(row, fields::SWAP_IN)).padded_to(4),
    kib(" ", 5, |row| swapped(row, fields::SWAP_OUT)).padded_to(4),
    Cell::scaled(" ", 5, |row| row.rate(fields::FAULTS)),
    Cell::scaled(" ", 5, |row| row.rate(fields::MAJOR_FAULTS)),
    Cell::scaled(" ", 4, |row| row.rate(fields::PAGE_IN)),
    Cell::scaled(" ", 4, |row| row.rate(fields::PAGE_OUT)),
];

/// Makes cells the first of a line, where collectl has one more blank.
const fn leading<const N: usize>(mut cells: [Cell; N]) -> [Cell; N] {
    cells[0].lead = "  ";
    cells
}

/// An option of the source `memory` and of `numa`.
pub(crate) static MEMORY_OPTIONS: SourceOption = SourceOption {
    name: "memopts",
    help: "p s: page details, P V: physical or virtual only, R: changes as rates",
    kind: OptionKind::Letters { known: "pPsRV", default: "" },
    letters: "mM",
    rules: &[LetterRule::Excludes('R', "psPV"), LetterRule::NeedsLines("psPV")],
    ..SourceOption::EMPTY
};

/// Whether `--memopts` selects a group of columns; by default physical and virtual.
fn asks(options: &Options, group: char) -> bool {
    match options.value(&MEMORY_OPTIONS).text() {
        "" => "PV".contains(group),
        groups => groups.contains(group),
    }
}

/// Whether `--memopts` selects the group and none of those to its left.
fn first(options: &Options, group: char, left: &str) -> bool {
    asks(options, group) && !left.chars().any(|other| asks(options, other))
}

fn later(options: &Options, group: char, left: &str) -> bool {
    asks(options, group) && left.chars().any(|other| asks(options, other))
}

fn changes(options: &Options) -> bool {
    asks(options, 'R')
}

const TITLE: &str = "MEMORY SUMMARY";

const VIRTUAL_HEADINGS: [&str; 2] = [
    "<-----------Swap------------><-------Paging------>",
    " Total  Used  Free   In  Out Fault MajFt   In  Out",
];

const ALLOCATION_HEADINGS: [&str; 2] = [
    "<---Other---|-------Page Alloc------|------Page Refill----->",
    "  Free Activ   Dma Dma32  Norm  Move   Dma Dma32  Norm  Move",
];

const RECLAIM_HEADINGS: [&str; 2] = [
    "<------Page Steal-------|-------Scan KSwap------|------Scan Direct----->",
    "   Dma Dma32  Norm  Move   Dma Dma32  Norm  Move   Dma Dma32  Norm  Move",
];

/// The groups of columns are side by side: the first one has the title, and one more blank.
pub(super) const VERBOSE: &[Block] = &[
    Block {
        when: |options| asks(options, 'P'),
        title: TITLE,
        headings: &[
            "<------------------------------------Physical Memory\
             ------------------------------------------>",
            "$blank   Total    Used    Free    Buff  Cached    Slab  Mapped    Anon   AnonH  Commit\
             \x20 Locked Inact",
        ],
        show: Show::Cells(PHYSICAL),
    },
    Block {
        when: |options| first(options, 'V', "P"),
        title: TITLE,
        headings: &[
            VIRTUAL_HEADINGS[0],
            "$blank Total  Used  Free   In  Out Fault MajFt   In  Out",
        ],
        show: Show::Cells(&leading(VIRTUAL)),
    },
    Block {
        when: |options| later(options, 'V', "P"),
        title: "",
        headings: &VIRTUAL_HEADINGS,
        show: Show::Cells(&VIRTUAL),
    },
    Block {
        when: |options| first(options, 'p', "PV"),
        title: TITLE,
        headings: &[
            ALLOCATION_HEADINGS[0],
            "$blank  Free Activ   Dma Dma32  Norm  Move   Dma Dma32  Norm  Move",
        ],
        show: Show::Cells(&leading(ALLOCATION)),
    },
    Block {
        when: |options| later(options, 'p', "PV"),
        title: "",
        headings: &ALLOCATION_HEADINGS,
        show: Show::Cells(&ALLOCATION),
    },
    Block {
        when: |options| first(options, 's', "PVp"),
        title: TITLE,
        headings: &[
            RECLAIM_HEADINGS[0],
            "$blank   Dma Dma32  Norm  Move   Dma Dma32  Norm  Move   Dma Dma32  Norm  Move",
        ],
        show: Show::Cells(&leading(RECLAIM)),
    },
    Block {
        when: |options| later(options, 's', "PVp"),
        title: "",
        headings: &RECLAIM_HEADINGS,
        show: Show::Cells(&RECLAIM),
    },
    Block {
        when: changes,
        title: "MEMORY SUMMARY changes/int",
        headings: &[
            "<---------------------------------------Physical Memory\
             -----------------------------------------------><------------Swap------------->\
             <-------Paging------>",
            "   Total     Used     Free     Buff   Cached     Slab   Mapped     Anon   AnonH  Commit\
             \x20 Locked   Inact Total   Used   Free   In  Out Fault MajFt   In  Out",
        ],
        show: Show::Cells(CHANGES),
    },
];

/// The headings of brief mode also span the free blocks of the letter `b` if both are shown.
pub(super) const BRIEF: &[Block] = &[
    Block {
        when: |options| !changes(options) && !options.shows('b'),
        title: "<-----------Memory----------->",
        headings: &["Free Buff Cach Inac Slab  Map "],
        show: Show::Cells(LEVELS),
    },
    Block {
        when: |options| !changes(options) && options.shows('b'),
        title: "<-----------------Memory----------------->",
        headings: &["Free Buff Cach Inac Slab  Map "],
        show: Show::Cells(LEVELS),
    },
    Block {
        when: |options| changes(options) && !options.shows('b'),
        title: "<--------------Memory-------------->",
        headings: &[" Free  Buff  Cach  Inac  Slab   Map "],
        show: Show::Cells(LEVEL_CHANGES),
    },
    Block {
        when: |options| changes(options) && options.shows('b'),
        title: "<--------------------Memory-------------------->",
        headings: &[" Free  Buff  Cach  Inac  Slab   Map "],
        show: Show::Cells(LEVEL_CHANGES),
    },
];

/// Only Linux 2.4 counted clean and laundry pages; the columns are kept and are 0.
fn none_of_these(row: &Row<'_>) -> Option<f64> {
    row.gauge(fields::TOTAL).map(|_| 0.0)
}

pub(super) const PLOT: &[PlotColumn] = &[
    PlotColumn::new("Tot", |row| row.gauge(fields::TOTAL)),
    PlotColumn::new("Used", used),
    PlotColumn::new("Free", |row| row.gauge(fields::FREE)),
    PlotColumn::new("Shared", shared),
    PlotColumn::new("Buf", |row| row.gauge(fields::BUFFERS)),
    PlotColumn::new("Cached", |row| row.gauge(fields::CACHED)),
    PlotColumn::new("Slab", |row| row.gauge(fields::SLAB)),
    PlotColumn::new("Map", |row| row.gauge(fields::MAPPED)),
    PlotColumn::new("Anon", |row| row.gauge(fields::ANONYMOUS)),
    PlotColumn::new("AnonH", |row| row.gauge(fields::ANONYMOUS_HUGE)),
    PlotColumn::new("Commit", |row| row.gauge(fields::COMMITTED)),
    PlotColumn::new("Locked", |row| row.gauge(fields::LOCKED)),
    PlotColumn::new("SwapTot", |row| row.gauge(fields::SWAP_TOTAL)),
    PlotColumn::new("SwapUsed", swap_used),
    PlotColumn::new("SwapFree", |row| row.gauge(fields::SWAP_FREE)),
    PlotColumn::new("SwapIn", |row| swapped(row, fields::SWAP_IN)),
    PlotColumn::new("SwapOut", |row| swapped(row, fields::SWAP_OUT)),
    PlotColumn::new("Dirty", |row| row.gauge(fields::DIRTY)),
    PlotColumn::new("Clean", none_of_these),
    PlotColumn::new("Laundry", none_of_these),
    PlotColumn::new("Inactive", |row| row.gauge(inactive(row))),
    PlotColumn::new("PageIn", |row| row.rate(fields::PAGE_IN)),
    PlotColumn::new("PageOut", |row| row.rate(fields::PAGE_OUT)),
    PlotColumn::new("PageFaults", |row| row.rate(fields::FAULTS)),
    PlotColumn::new("PageMajFaults", |row| row.rate(fields::MAJOR_FAULTS)),
    PlotColumn::new("HugeTotal", |row| row.gauge(fields::HUGE_TOTAL)),
    PlotColumn::new("HugeFree", |row| row.gauge(fields::HUGE_FREE)),
    PlotColumn::new("HugeRsvd", |row| row.gauge(fields::HUGE_RESERVED)),
    PlotColumn::new("SUnreclaim", |row| row.gauge(fields::SLAB_UNRECLAIMABLE)),
];

pub(super) const METRICS: &[PlotColumn] = &[
    PlotColumn::new("meminfo.tot", |row| row.gauge(fields::TOTAL)).level(),
    PlotColumn::new("meminfo.used", used).level(),
    PlotColumn::new("meminfo.free", |row| row.gauge(fields::FREE)).level(),
    PlotColumn::new("meminfo.shared", shared).level(),
    PlotColumn::new("meminfo.buf", |row| row.gauge(fields::BUFFERS)).level(),
    PlotColumn::new("meminfo.cached", |row| row.gauge(fields::CACHED)).level(),
    PlotColumn::new("meminfo.slab", |row| row.gauge(fields::SLAB)).level(),
    PlotColumn::new("meminfo.map", |row| row.gauge(fields::MAPPED)).level(),
    PlotColumn::new("meminfo.anon", |row| row.gauge(fields::ANONYMOUS)).level(),
    PlotColumn::new("meminfo.anonH", |row| row.gauge(fields::ANONYMOUS_HUGE)).level(),
    PlotColumn::new("meminfo.dirty", |row| row.gauge(fields::DIRTY)).level(),
    PlotColumn::new("meminfo.locked", |row| row.gauge(fields::LOCKED)).level(),
    PlotColumn::new("meminfo.inactive", |row| row.gauge(inactive(row))).level(),
    PlotColumn::new("meminfo.hugetot", |row| row.gauge(fields::HUGE_TOTAL)).level(),
    PlotColumn::new("meminfo.hugefree", |row| row.gauge(fields::HUGE_FREE)).level(),
    PlotColumn::new("meminfo.hugersvd", |row| row.gauge(fields::HUGE_RESERVED)).level(),
    PlotColumn::new("meminfo.sunreclaim", |row| row.gauge(fields::SLAB_UNRECLAIMABLE)).level(),
    PlotColumn::new("swapinfo.total", |row| row.gauge(fields::SWAP_TOTAL)).level(),
    PlotColumn::new("swapinfo.free", |row| row.gauge(fields::SWAP_FREE)).level(),
    PlotColumn::new("swapinfo.used", swap_used).level(),
    PlotColumn::new("swapinfo.in", |row| swapped(row, fields::SWAP_IN)),
    PlotColumn::new("swapinfo.out", |row| swapped(row, fields::SWAP_OUT)),
    PlotColumn::new("pageinfo.fault", |row| row.rate(fields::FAULTS)),
    PlotColumn::new("pageinfo.majfault", |row| row.rate(fields::MAJOR_FAULTS)),
    PlotColumn::new("pageinfo.in", |row| row.rate(fields::PAGE_IN)),
    PlotColumn::new("pageinfo.out", |row| row.rate(fields::PAGE_OUT)),
];

#[cfg(test)]
mod tests {
    use layout::{OptionValue, SourceValues};

    use super::*;

    #[test]
    fn groups_of_columns_stand_side_by_side() {
        let shown = |groups: &str| {
            let of_sources =
                SourceValues::default().with(&MEMORY_OPTIONS, OptionValue::Text(groups.into()));
            let options = Options { of_sources, ..Options::default() };
            let shown = VERBOSE.iter().filter(|block| (block.when)(&options));
            let lead = |block: &Block| match block.show {
                Show::Cells(cells) => (cells.len(), cells[0].lead.len()),
                _ => (0, 0),
            };
            shown.map(lead).collect::<Vec<_>>()
        };
        assert_eq!(shown(""), [(12, 2), (9, 1)]);
        assert_eq!(shown("PVps"), [(12, 2), (9, 1), (10, 1), (12, 1)]);
        assert_eq!(shown("sp"), [(10, 2), (12, 1)]);
        assert_eq!(shown("Vs"), [(9, 2), (12, 1)]);
        assert_eq!(shown("R"), [(21, 2)]);
    }
}

//! How cgroups are shown: `g` all groups together, `G` each group.

use layout::{Block, Cell, DisplayOrder, Layout, Plot, PlotColumn, Row, Show, Stat};
use sample::Level;

use super::fields::*;

/// Whether a group is directly below the root.
fn is_topmost(row: &Row<'_>) -> bool {
    let path = row.name();
    path.len() > 1 && !path[1..].contains(&b'/')
}

/// The total of all groups, for a number that includes the descendants of a group: the root's
/// number, or without it the sum over the groups directly below the root.
fn whole(row: &Row<'_>, of: impl Fn(&Row<'_>) -> Option<f64>) -> Option<f64> {
    let root = row.rows().find(|row| row.name() == b"/");
    let own = root.and_then(|root| of(&root));
    own.or_else(|| row.sum(is_topmost, of))
}

/// The total of all groups, for a number that does not include descendants.
fn each(row: &Row<'_>, of: impl Fn(&Row<'_>) -> Option<f64>) -> Option<f64> {
    row.sum(|_| true, of)
}

/// A time as a share of the interval between the readings, in per cent of one CPU.
fn percent(row: &Row<'_>, field: usize) -> Option<f64> {
    Some(row.delta(field)? / (row.interval_seconds()? * 1e4))
}

fn kilobytes(row: &Row<'_>, field: usize) -> Option<f64> {
    Some(row.rate(field)? / 1024.0)
}

fn groups(row: &Row<'_>) -> Option<f64> {
    let root = row.rows().find(|row| row.name() == b"/");
    root.and_then(|root| root.gauge(GROUPS)).or_else(|| Some(row.rows().count() as f64))
}

/// Memory in per cent of its limit.
fn memory_percent(row: &Row<'_>) -> Option<f64> {
    let limit = row.gauge(MEMORY_MAX)?;
    (limit > 0.0).then(|| 100.0 * row.gauge(MEMORY_CURRENT).unwrap_or(0.0) / limit)
}

fn fullest(row: &Row<'_>) -> Option<f64> {
    row.rows().filter_map(|group| memory_percent(&group)).reduce(f64::max)
}

/// False for a group without tasks, memory and CPU time, which the detail leaves out.
fn is_in_use(row: &Row<'_>) -> bool {
    let holds = |field| row.raw(field).is_some_and(|value| value > 0);
    holds(PIDS) || holds(MEMORY_CURRENT) || row.delta(CPU_USAGE).is_some_and(|delta| delta > 0.0)
}

pub(super) const SUMMARY: Layout = Layout {
    level: Level::Summary,
    position: DisplayOrder { brief: 140, verbose: 130, plot: 140, lexpr: 1060, gexpr: 1060 },
    brief: &[Block {
        when: |_| true,
        title: "<------Cgroups------>",
        headings: &["  Num Thrt% Max% OOM "],
        show: Show::Cells(&[
            Cell::whole("", 5, groups),
            Cell::fixed(" ", 5, 1, |row| each(row, |group| percent(group, CPU_THROTTLED))),
            Cell::whole(" ", 4, fullest),
            Cell::whole(" ", 3, |row| whole(row, |group| group.delta(OOM_KILLS))).stat(Stat::Sum),
        ]),
    }],
    verbose: &[Block {
        when: |_| true,
        title: "CGROUP SUMMARY ($rate)",
        headings: &[
            "     <----CPU-----><--------Memory--------><-----------Disk----------->       ",
            "  Num   CPU% Throt%   Used  Swap  Max%  OOM ReadKB  Reads WritKB Writes  Tasks",
        ],
        show: Show::Cells(&[
            Cell::whole(" ", 5, groups),
            Cell::fixed(" ", 6, 1, |row| whole(row, |group| percent(group, CPU_USAGE))),
            Cell::fixed(" ", 6, 1, |row| each(row, |group| percent(group, CPU_THROTTLED))),
            Cell::binary(" ", 6, 0, |row| whole(row, |group| group.gauge(MEMORY_CURRENT)))
                .stat(Stat::Mean),
            Cell::binary(" ", 5, 0, |row| whole(row, |group| group.gauge(SWAP_CURRENT)))
                .stat(Stat::Mean),
            Cell::whole(" ", 5, fullest),
            Cell::whole(" ", 4, |row| whole(row, |group| group.delta(OOM_KILLS))),
            Cell::whole(" ", 6, |row| whole(row, |group| kilobytes(group, IO_READ))),
            Cell::whole(" ", 6, |row| whole(row, |group| group.rate(IO_READS))),
            Cell::whole(" ", 6, |row| whole(row, |group| kilobytes(group, IO_WRITTEN))),
            Cell::whole(" ", 6, |row| whole(row, |group| group.rate(IO_WRITES))),
            Cell::whole(" ", 6, |row| whole(row, |group| group.gauge(PIDS))),
        ]),
    }],
    plot: Some(Plot {
        tag: "CGRP",
        columns: &[
            PlotColumn::whole("Groups", groups),
            PlotColumn::fixed("CPU%", 2, |row| whole(row, |group| percent(group, CPU_USAGE))),
            PlotColumn::fixed("Throt%", 2, |row| each(row, |group| percent(group, CPU_THROTTLED))),
            PlotColumn::new("MemKB", |row| {
                whole(row, |group| Some(group.gauge(MEMORY_CURRENT)? / 1024.0))
            }),
            PlotColumn::fixed("MemMax%", 2, fullest),
            PlotColumn::whole("OOM", |row| whole(row, |group| group.delta(OOM_KILLS))),
            PlotColumn::new("ReadKB", |row| whole(row, |group| kilobytes(group, IO_READ))),
            PlotColumn::new("WriteKB", |row| whole(row, |group| kilobytes(group, IO_WRITTEN))),
        ],
        ..Plot::EMPTY
    }),
    metrics: &[
        PlotColumn::whole("cgroups.groups", groups).level(),
        PlotColumn::fixed("cgroups.throttled", 2, |row| {
            each(row, |group| percent(group, CPU_THROTTLED))
        })
        .level(),
        PlotColumn::whole("cgroups.oom", |row| whole(row, |group| group.delta(OOM_KILLS))),
    ],
    ..Layout::EMPTY
};

pub(super) const DETAIL: Layout = Layout {
    level: Level::Detail,
    position: DisplayOrder {
        verbose: 135,
        plot: 130,
        lexpr: 1320,
        gexpr: 1320,
        ..DisplayOrder::LAST
    },
    keep: is_in_use,
    keep_reads: |_| Some(&[PIDS, MEMORY_CURRENT, CPU_USAGE]),
    verbose: &[Block {
        when: |_| true,
        title: "CGROUPS ($rate)",
        headings: &[
            "<----CPU----><---Memory--><----Disk----><-Waiting%->",
            "  CPU% Throt%   Used  Swap ReadKB WritKB Cpu Mem I/O  Tasks Group",
        ],
        show: Show::Cells(&[
            Cell::fixed(" ", 6, 1, |row| percent(row, CPU_USAGE)),
            Cell::fixed(" ", 6, 1, |row| percent(row, CPU_THROTTLED)),
            Cell::binary(" ", 6, 0, |row| row.gauge(MEMORY_CURRENT)).stat(Stat::Mean),
            Cell::binary(" ", 5, 0, |row| row.gauge(SWAP_CURRENT)).stat(Stat::Mean),
            Cell::whole(" ", 6, |row| kilobytes(row, IO_READ)),
            Cell::whole(" ", 6, |row| kilobytes(row, IO_WRITTEN)),
            Cell::whole(" ", 3, |row| percent(row, CPU_SOME)),
            Cell::whole(" ", 3, |row| percent(row, MEMORY_SOME)),
            Cell::whole(" ", 3, |row| percent(row, IO_SOME)),
            Cell::whole(" ", 6, |row| row.gauge(PIDS)),
            Cell::left(" ", 1, |row| Some(row.name())),
        ]),
    }],
    plot: Some(Plot {
        tag: "CGRP",
        extension: "cgrp",
        columns: &[
            PlotColumn::fixed("CPU%", 2, |row| percent(row, CPU_USAGE)),
            PlotColumn::fixed("Throt%", 2, |row| percent(row, CPU_THROTTLED)),
            PlotColumn::new("MemKB", |row| Some(row.gauge(MEMORY_CURRENT)? / 1024.0)),
            PlotColumn::new("SwapKB", |row| Some(row.gauge(SWAP_CURRENT)? / 1024.0)),
            PlotColumn::whole("OOM", |row| row.delta(OOM_KILLS)),
            PlotColumn::new("ReadKB", |row| kilobytes(row, IO_READ)),
            PlotColumn::new("WriteKB", |row| kilobytes(row, IO_WRITTEN)),
            PlotColumn::fixed("CpuSome%", 2, |row| percent(row, CPU_SOME)),
            PlotColumn::fixed("MemSome%", 2, |row| percent(row, MEMORY_SOME)),
            PlotColumn::fixed("IoSome%", 2, |row| percent(row, IO_SOME)),
            PlotColumn::whole("Tasks", |row| row.gauge(PIDS)),
        ],
        ..Plot::EMPTY
    }),
    metrics: &[
        PlotColumn::fixed("cgroupinfo.cpu.{}", 2, |row| percent(row, CPU_USAGE)).level(),
        PlotColumn::fixed("cgroupinfo.throttled.{}", 2, |row| percent(row, CPU_THROTTLED)).level(),
        PlotColumn::whole("cgroupinfo.memory.{}", |row| row.gauge(MEMORY_CURRENT)).level(),
        PlotColumn::whole("cgroupinfo.tasks.{}", |row| row.gauge(PIDS)).level(),
    ],
    ..Layout::EMPTY
};

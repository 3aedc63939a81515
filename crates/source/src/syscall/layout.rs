//! How system calls are shown: `k` all together, `K` each by its name, the longest total time
//! first.

use std::cmp::Ordering;

use layout::{Block, Cell, DisplayOrder, Layout, Plot, PlotColumn, Row, Shape, Show};
use sample::{Level, State};

use super::{CALLS, CPU_TIME, ERRORS, LONGEST, MEDIAN, PERCENTILE_99, WALL_TIME};

/// The increase of a counter.  For a call that was made for the first time it is the whole counter.
fn grown(row: &Row<'_>, field: usize) -> Option<f64> {
    if row.is_new() && row.track.previous.state == State::Ok {
        return row.raw(field).map(|value| value as f64);
    }
    row.delta(field)
}

/// A field summed over all calls.
fn total(row: &Row<'_>, field: usize) -> Option<f64> {
    row.sum(|_| true, |call| grown(call, field))
}

/// Microseconds of this time per call; missing without calls.
fn each_us(time_ns: Option<f64>, calls: Option<f64>) -> Option<f64> {
    Some(time_ns? / calls.filter(|&calls| calls > 0.0)? / 1e3)
}

/// A time as a share of the interval: 100 is one CPU, or one waiting task.
fn percent(row: &Row<'_>, time_ns: Option<f64>) -> Option<f64> {
    let seconds = row.interval_seconds().filter(|&seconds| seconds > 0.0)?;
    Some(time_ns? / seconds / 1e7)
}

fn total_rate(row: &Row<'_>, field: usize) -> Option<f64> {
    row.per_second(total(row, field))
}

fn rate(row: &Row<'_>, field: usize) -> Option<f64> {
    row.per_second(grown(row, field))
}

fn total_each_us(row: &Row<'_>, field: usize) -> Option<f64> {
    each_us(total(row, field), total(row, CALLS))
}

fn row_each_us(row: &Row<'_>, field: usize) -> Option<f64> {
    each_us(grown(row, field), grown(row, CALLS))
}

fn gauge_us(row: &Row<'_>, field: usize) -> Option<f64> {
    row.gauge(field).map(|time_ns| time_ns / 1e3)
}

/// The number of different calls that were made.
fn kinds(row: &Row<'_>) -> Option<f64> {
    row.sum(|_| true, |call| grown(call, CALLS).map(|calls| f64::from(u8::from(calls > 0.0))))
}

fn was_made(row: &Row<'_>) -> bool {
    grown(row, CALLS).is_none_or(|calls| calls > 0.0)
}

/// By time, the longest first.
fn by_time(one: &Row<'_>, other: &Row<'_>) -> Ordering {
    let time = |row: &Row<'_>| grown(row, WALL_TIME).unwrap_or(0.0);
    time(other).total_cmp(&time(one)).then_with(|| one.name().cmp(other.name()))
}

pub(super) const SUMMARY: Layout = Layout {
    level: Level::Summary,
    position: DisplayOrder { brief: 190, verbose: 180, plot: 190, lexpr: 1100, gexpr: 1100 },
    brief: &[Block {
        when: |_| true,
        title: "<-------SysCalls-------->",
        headings: &["Calls  Errs us/Call Cpu% "],
        show: Show::Cells(BRIEF_CELLS),
    }],
    verbose: &[Block {
        when: |_| true,
        title: "SYSTEM CALLS ($rate)",
        headings: &[" Calls Errors   us/Call CpuUs/Call   Wall%  Cpu% Names"],
        show: Show::Cells(&[
            Cell::scaled(" ", 6, |row| total_rate(row, CALLS)),
            Cell::scaled(" ", 6, |row| total_rate(row, ERRORS)),
            Cell::fixed(" ", 9, 1, |row| total_each_us(row, WALL_TIME)),
            Cell::fixed(" ", 10, 2, |row| total_each_us(row, CPU_TIME)),
            Cell::whole(" ", 7, |row| percent(row, total(row, WALL_TIME))),
            Cell::fixed(" ", 5, 1, |row| percent(row, total(row, CPU_TIME))),
            Cell::whole(" ", 5, kinds),
        ]),
    }],
    plot: Some(Plot {
        tag: "CALL",
        columns: &[
            PlotColumn::new("Calls", |row| total_rate(row, CALLS)),
            PlotColumn::new("Errors", |row| total_rate(row, ERRORS)),
            PlotColumn::fixed("Us/Call", 1, |row| total_each_us(row, WALL_TIME)),
            PlotColumn::fixed("CpuUs/Call", 2, |row| total_each_us(row, CPU_TIME)),
            PlotColumn::fixed("Cpu%", 2, |row| percent(row, total(row, CPU_TIME))),
            PlotColumn::whole("Names", kinds),
        ],
        ..Plot::EMPTY
    }),
    metrics: &[
        PlotColumn::new("syscalls.calls", |row| total_rate(row, CALLS)),
        PlotColumn::new("syscalls.errors", |row| total_rate(row, ERRORS)),
        PlotColumn::fixed("syscalls.uspercall", 1, |row| total_each_us(row, WALL_TIME)).level(),
        PlotColumn::fixed("syscalls.cpu", 2, |row| percent(row, total(row, CPU_TIME))).level(),
    ],
    ..Layout::EMPTY
};

const BRIEF_CELLS: &[Cell] = &[
    Cell::scaled("", 5, |row| total_rate(row, CALLS)),
    Cell::scaled(" ", 5, |row| total_rate(row, ERRORS)),
    Cell::scaled(" ", 7, |row| total_each_us(row, WALL_TIME)),
    Cell::whole(" ", 4, |row| percent(row, total(row, CPU_TIME))),
];

pub(super) const DETAIL: Layout = Layout {
    level: Level::Detail,
    position: DisplayOrder {
        verbose: 185,
        plot: 180,
        lexpr: 1360,
        gexpr: 1360,
        ..DisplayOrder::LAST
    },
    verbose: &[Block {
        when: |_| true,
        title: "SYSTEM CALLS BY NAME ($rate)",
        headings: &[
            " Calls Errors   us/Call    CpuUs    Us50%    Us99%     UsMax   Wall%  Cpu% Call",
        ],
        show: Show::Cells(&[
            Cell::scaled(" ", 6, |row| rate(row, CALLS)),
            Cell::scaled(" ", 6, |row| rate(row, ERRORS)),
            Cell::fixed(" ", 9, 1, |row| row_each_us(row, WALL_TIME)),
            Cell::fixed(" ", 8, 2, |row| row_each_us(row, CPU_TIME)),
            Cell::fixed(" ", 8, 1, |row| gauge_us(row, MEDIAN)),
            Cell::fixed(" ", 8, 1, |row| gauge_us(row, PERCENTILE_99)),
            Cell::fixed(" ", 9, 1, |row| gauge_us(row, LONGEST)),
            Cell::whole(" ", 7, |row| percent(row, grown(row, WALL_TIME))),
            Cell::fixed(" ", 5, 1, |row| percent(row, grown(row, CPU_TIME))),
            Cell::left(" ", 0, |row| Some(row.name())),
        ]),
    }],
    plot: Some(Plot {
        tag: "CALL",
        extension: "call",
        // New calls can appear at any time, so one line cannot have columns for all of them.
        shape: Shape::Lines,
        columns: &[
            PlotColumn::text("Call", |row| Some(row.name())),
            PlotColumn::new("Calls", |row| rate(row, CALLS)),
            PlotColumn::new("Errors", |row| rate(row, ERRORS)),
            PlotColumn::fixed("Us/Call", 1, |row| row_each_us(row, WALL_TIME)),
            PlotColumn::fixed("CpuUs/Call", 2, |row| row_each_us(row, CPU_TIME)),
            PlotColumn::fixed("Us50%", 1, |row| gauge_us(row, MEDIAN)),
            PlotColumn::fixed("Us99%", 1, |row| gauge_us(row, PERCENTILE_99)),
            PlotColumn::fixed("UsMax", 1, |row| gauge_us(row, LONGEST)),
            PlotColumn::fixed("Cpu%", 2, |row| percent(row, grown(row, CPU_TIME))),
        ],
        ..Plot::EMPTY
    }),
    keep: was_made,
    keep_reads: |_| Some(&[CALLS]),
    order: Some(by_time),
    from_second_reading: true,
    metrics: &[
        PlotColumn::new("syscallinfo.calls.{}", |row| rate(row, CALLS)),
        PlotColumn::new("syscallinfo.errors.{}", |row| rate(row, ERRORS)),
        PlotColumn::fixed("syscallinfo.us99.{}", 1, |row| gauge_us(row, PERCENTILE_99)).level(),
    ],
    ..Layout::EMPTY
};

//! How traffic by process is shown: `process_net` all together, `PROCESS_NET` each process, the one
//! with the most bytes first.

use std::cmp::Ordering;

use layout::{Block, Cell, DisplayOrder, Layout, Plot, PlotColumn, Row, Shape, Show};
use sample::{Level, State};

use super::{
    CGROUP, COMMAND, OTHER_RX_BYTES, OTHER_RX_PACKETS, OTHER_TX_BYTES, OTHER_TX_PACKETS,
    TCP_RX_BYTES, TCP_RX_PACKETS, TCP_TX_BYTES, TCP_TX_PACKETS, UDP_RX_BYTES, UDP_RX_PACKETS,
    UDP_TX_BYTES, UDP_TX_PACKETS,
};
use crate::instance::first;

const RX_BYTES: &[usize] = &[TCP_RX_BYTES, UDP_RX_BYTES, OTHER_RX_BYTES];
const TX_BYTES: &[usize] = &[TCP_TX_BYTES, UDP_TX_BYTES, OTHER_TX_BYTES];
const RX_PACKETS: &[usize] = &[TCP_RX_PACKETS, UDP_RX_PACKETS, OTHER_RX_PACKETS];
const TX_PACKETS: &[usize] = &[TCP_TX_PACKETS, UDP_TX_PACKETS, OTHER_TX_PACKETS];

/// The increase of counters.  For a process that is new it is their whole value.
fn grown(row: &Row<'_>, fields: &[usize]) -> Option<f64> {
    let is_new = row.is_new() && row.track.previous.state == State::Ok;
    let one = |&field: &usize| match is_new {
        true => row.raw(field).map(|value| value as f64),
        false => row.delta(field),
    };
    fields.iter().map(one).sum()
}

fn rate(row: &Row<'_>, fields: &[usize]) -> Option<f64> {
    row.per_second(grown(row, fields))
}

/// Bytes that a process received and sent each second, by its row.
pub fn process_net_bytes(row: &Row<'_>) -> [Option<f64>; 2] {
    [RX_BYTES, TX_BYTES].map(|fields| rate(row, fields))
}

fn kib(row: &Row<'_>, fields: &[usize]) -> Option<f64> {
    rate(row, fields).map(|bytes| bytes / 1024.0)
}

fn total(row: &Row<'_>, fields: &[usize]) -> Option<f64> {
    row.per_second(row.sum(|_| true, |process| grown(process, fields)))
}

fn total_kib(row: &Row<'_>, fields: &[usize]) -> Option<f64> {
    total(row, fields).map(|bytes| bytes / 1024.0)
}

/// Processes that sent or received.
fn active(row: &Row<'_>) -> Option<f64> {
    row.sum(|_| true, |process| Some(f64::from(u8::from(was_active(process)))))
}

fn was_active(row: &Row<'_>) -> bool {
    let packets = [RX_PACKETS, TX_PACKETS].map(|fields| grown(row, fields));
    packets.iter().any(|count| count.is_none_or(|count| count > 0.0))
}

/// By bytes, the most first.
fn by_bytes(one: &Row<'_>, other: &Row<'_>) -> Ordering {
    let bytes =
        |row: &Row<'_>| grown(row, RX_BYTES).unwrap_or(0.0) + grown(row, TX_BYTES).unwrap_or(0.0);
    bytes(other).total_cmp(&bytes(one)).then_with(|| one.name().cmp(other.name()))
}

pub(super) const SUMMARY: Layout = Layout {
    level: Level::Summary,
    position: DisplayOrder { brief: 195, verbose: 186, plot: 195, lexpr: 1110, gexpr: 1110 },
    brief: &[Block {
        when: |_| true,
        title: "<-------ProcessNet------->",
        headings: &[" KBIn  PktIn KBOut PktOut "],
        show: Show::Cells(&[
            Cell::scaled("", 5, |row| total_kib(row, RX_BYTES)),
            Cell::scaled(" ", 6, |row| total(row, RX_PACKETS)),
            Cell::scaled(" ", 5, |row| total_kib(row, TX_BYTES)),
            Cell::scaled(" ", 6, |row| total(row, TX_PACKETS)),
        ]),
    }],
    verbose: &[Block {
        when: |_| true,
        title: "NETWORK OF PROCESSES ($rate)",
        headings: &["  KBIn  PktIn  KBOut PktOut  TcpKB  UdpKB OtherK Processes"],
        show: Show::Cells(&[
            Cell::scaled(" ", 6, |row| total_kib(row, RX_BYTES)),
            Cell::scaled(" ", 6, |row| total(row, RX_PACKETS)),
            Cell::scaled(" ", 6, |row| total_kib(row, TX_BYTES)),
            Cell::scaled(" ", 6, |row| total(row, TX_PACKETS)),
            Cell::scaled(" ", 6, |row| total_kib(row, &[TCP_RX_BYTES, TCP_TX_BYTES])),
            Cell::scaled(" ", 6, |row| total_kib(row, &[UDP_RX_BYTES, UDP_TX_BYTES])),
            Cell::scaled(" ", 6, |row| total_kib(row, &[OTHER_RX_BYTES, OTHER_TX_BYTES])),
            Cell::whole(" ", 9, active),
        ]),
    }],
    plot: Some(Plot {
        tag: "PNET",
        columns: &[
            PlotColumn::new("RxKB", |row| total_kib(row, RX_BYTES)),
            PlotColumn::new("RxPkt", |row| total(row, RX_PACKETS)),
            PlotColumn::new("TxKB", |row| total_kib(row, TX_BYTES)),
            PlotColumn::new("TxPkt", |row| total(row, TX_PACKETS)),
            PlotColumn::whole("Processes", active),
        ],
        ..Plot::EMPTY
    }),
    metrics: &[
        PlotColumn::new("processnet.kbin", |row| total_kib(row, RX_BYTES)),
        PlotColumn::new("processnet.pktin", |row| total(row, RX_PACKETS)),
        PlotColumn::new("processnet.kbout", |row| total_kib(row, TX_BYTES)),
        PlotColumn::new("processnet.pktout", |row| total(row, TX_PACKETS)),
    ],
    from_second_reading: true,
    ..Layout::EMPTY
};

pub(super) const DETAIL: Layout = Layout {
    level: Level::Detail,
    position: DisplayOrder {
        verbose: 187,
        plot: 196,
        lexpr: 1365,
        gexpr: 1365,
        ..DisplayOrder::LAST
    },
    verbose: &[Block {
        when: |_| true,
        title: "NETWORK BY PROCESS ($rate)",
        headings: &[
            "    PID TcpKBIn TcpKBOut UdpKBIn UdpKBOut  PktIn PktOut Command          Cgroup",
        ],
        show: Show::Cells(&[
            Cell::right(" ", 7, first),
            Cell::scaled(" ", 7, |row| kib(row, &[TCP_RX_BYTES])),
            Cell::scaled(" ", 8, |row| kib(row, &[TCP_TX_BYTES])),
            Cell::scaled(" ", 7, |row| kib(row, &[UDP_RX_BYTES])),
            Cell::scaled(" ", 8, |row| kib(row, &[UDP_TX_BYTES])),
            Cell::scaled(" ", 6, |row| rate(row, RX_PACKETS)),
            Cell::scaled(" ", 6, |row| rate(row, TX_PACKETS)),
            Cell::left(" ", 16, |row| row.text(COMMAND)),
            Cell::left(" ", 0, |row| row.text(CGROUP)),
        ]),
    }],
    plot: Some(Plot {
        tag: "PNET",
        extension: "pnet",
        // New processes can appear at any time, so one line cannot have columns for all of them.
        shape: Shape::Lines,
        columns: &[
            PlotColumn::text("PID", first),
            PlotColumn::text("Command", |row| row.text(COMMAND)),
            PlotColumn::text("Cgroup", |row| row.text(CGROUP)),
            PlotColumn::new("TcpRxKB", |row| kib(row, &[TCP_RX_BYTES])),
            PlotColumn::new("TcpTxKB", |row| kib(row, &[TCP_TX_BYTES])),
            PlotColumn::new("UdpRxKB", |row| kib(row, &[UDP_RX_BYTES])),
            PlotColumn::new("UdpTxKB", |row| kib(row, &[UDP_TX_BYTES])),
            PlotColumn::new("RxPkt", |row| rate(row, RX_PACKETS)),
            PlotColumn::new("TxPkt", |row| rate(row, TX_PACKETS)),
        ],
        ..Plot::EMPTY
    }),
    keep: was_active,
    keep_reads: |_| None,
    order: Some(by_bytes),
    from_second_reading: true,
    metrics: &[
        PlotColumn::new("processnetinfo.kbin.{}", |row| kib(row, RX_BYTES)),
        PlotColumn::new("processnetinfo.kbout.{}", |row| kib(row, TX_BYTES)),
    ],
    ..Layout::EMPTY
};

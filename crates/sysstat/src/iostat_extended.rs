//! The columns of `iostat -x`.

use crate::columns::{Column, change, column, rate};
use crate::format::{Unit, percent, ratio};
use crate::values::Row;

/// Columns that stand in one table when the report is split (`-h`).
pub(crate) type Group = &'static [Column];

/// The mean of milliseconds, or of sectors in KiB, over requests; 0 without requests.
fn mean(rows: &[Row<'_>], amount: &[&str], requests: &[&str]) -> Option<f64> {
    Some(ratio(change(rows, amount)?, change(rows, requests)?))
}

fn size(rows: &[Row<'_>], sectors: &[&str], requests: &[&str]) -> Option<f64> {
    mean(rows, sectors, requests).map(|sectors| sectors / 2.0)
}

/// The share of requests that were merged.
fn merged(rows: &[Row<'_>], merged: &str, requests: &str) -> Option<f64> {
    let merged = change(rows, &[merged])?;
    Some(percent(merged, merged + change(rows, &[requests])?))
}

fn kib(rows: &[Row<'_>], sectors: &[&str]) -> Option<f64> {
    rate(rows, sectors).map(|sectors| sectors / 2.0)
}

/// Requests in the queue: milliseconds of all requests, a millisecond.
fn queue(rows: &[Row<'_>]) -> Option<f64> {
    rate(rows, &["weighted_ms"]).map(|ms| ms / 1000.0)
}

/// The share of the time with a request in flight; of several disks the mean.
fn utilisation(rows: &[Row<'_>]) -> Option<f64> {
    rate(rows, &["busy_ms"]).map(|ms| ms / 10.0 / rows.len().max(1) as f64)
}

const ALL: &[&str] = &["reads", "writes", "discards"];
const ALL_SECTORS: &[&str] = &["read_sectors", "write_sectors", "discard_sectors"];
const ALL_MERGED: &[&str] = &["reads_merged", "writes_merged", "discards_merged"];
const ALL_MS: &[&str] = &["read_ms", "write_ms", "discard_ms"];

/// Reads, writes, discards, and what is of all.
pub(crate) static EXTENDED: &[Group] = &[
    &[
        column!("r/s", 8, Plain, |rows| rate(rows, &["reads"])),
        column!("rkB/s", 10, Kibibytes, |rows| kib(rows, &["read_sectors"])),
        column!("rrqm/s", 9, Plain, |rows| rate(rows, &["reads_merged"])),
        column!("%rrqm", 7, Percent, |rows| merged(rows, "reads_merged", "reads")),
        column!("r_await", 8, Plain, |rows| mean(rows, &["read_ms"], &["reads"])),
        column!("rareq-sz", 9, Kibibytes, |rows| size(rows, &["read_sectors"], &["reads"])),
    ],
    &[
        column!("w/s", 8, Plain, |rows| rate(rows, &["writes"])),
        column!("wkB/s", 10, Kibibytes, |rows| kib(rows, &["write_sectors"])),
        column!("wrqm/s", 9, Plain, |rows| rate(rows, &["writes_merged"])),
        column!("%wrqm", 7, Percent, |rows| merged(rows, "writes_merged", "writes")),
        column!("w_await", 8, Plain, |rows| mean(rows, &["write_ms"], &["writes"])),
        column!("wareq-sz", 9, Kibibytes, |rows| size(rows, &["write_sectors"], &["writes"])),
    ],
    &[
        column!("d/s", 8, Plain, |rows| rate(rows, &["discards"])),
        column!("dkB/s", 10, Kibibytes, |rows| kib(rows, &["discard_sectors"])),
        column!("drqm/s", 9, Plain, |rows| rate(rows, &["discards_merged"])),
        column!("%drqm", 7, Percent, |rows| merged(rows, "discards_merged", "discards")),
        column!("d_await", 8, Plain, |rows| mean(rows, &["discard_ms"], &["discards"])),
        column!("dareq-sz", 9, Kibibytes, |rows| size(rows, &["discard_sectors"], &["discards"])),
    ],
    &[
        column!("f/s", 8, Plain, |rows| rate(rows, &["flushes"])),
        column!("f_await", 8, Plain, |rows| mean(rows, &["flush_ms"], &["flushes"])),
        column!("aqu-sz", 8, Plain, queue),
        column!("%util", 7, Percent, utilisation),
    ],
];

/// The columns in the order in which JSON has them: each quantity of every kind of request.
pub(crate) fn in_json() -> Vec<Column> {
    const ORDER: [&str; 22] = [
        "r/s", "w/s", "d/s", "f/s", "rkB/s", "wkB/s", "dkB/s", "rrqm/s", "wrqm/s", "drqm/s",
        "%rrqm", "%wrqm", "%drqm", "r_await", "w_await", "d_await", "f_await", "rareq-sz",
        "wareq-sz", "dareq-sz", "aqu-sz", "%util",
    ];
    let mut columns = EXTENDED.concat();
    columns.sort_by_key(|column| ORDER.iter().position(|title| *title == column.title));
    columns
}

/// The columns of all kinds of requests together (`-s`).
pub(crate) static EXTENDED_SHORT: &[Column] = &[
    column!("tps", 9, Plain, |rows| rate(rows, ALL)),
    column!("kB/s", 10, Kibibytes, |rows| kib(rows, ALL_SECTORS)),
    column!("rqm/s", 9, Plain, |rows| rate(rows, ALL_MERGED)),
    column!("await", 8, Plain, |rows| mean(rows, ALL_MS, ALL)),
    column!("areq-sz", 9, Kibibytes, |rows| size(rows, ALL_SECTORS, ALL)),
    column!("aqu-sz", 8, Plain, queue),
    column!("%util", 7, Percent, utilisation),
];

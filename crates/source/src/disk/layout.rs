//! How collectl shows disks: `-sd` (all together) and `-sD` (each).
//!
//! As in collectl, differences are added up before they are divided by the time, so that the digits
//! agree.

use layout::{
    Block, Cell, DisplayOrder, Exceptions, Layout, LetterRule, OptionKind, Options, Plot,
    PlotColumn, Row, Show, SourceOption, Stat,
};
use sample::Level;

use super::limits::{DISK_LIMITS, Limits};
use super::{
    BUSY_MS, DISCARDS, FLUSHES, KIND, PARENT, READ_MS, READ_SECTORS, READS, READS_MERGED,
    WEIGHTED_MS, WRITE_MS, WRITE_SECTORS, WRITES, WRITES_MERGED, topology,
};

pub(super) static DISK_OPTIONS: SourceOption = SourceOption {
    name: "dskopts",
    help: "f: fractions, i: sizes, o: order of appearance, p: partitions, z: leave out idle disks",
    kind: OptionKind::Letters { known: "fiopz", default: "" },
    letters: "dD",
    rules: &[LetterRule::For("fpz", "D"), LetterRule::LeavesOutIdle("z")],
    ..SourceOption::EMPTY
};

pub(super) static DISK_FILTER: SourceOption = SourceOption {
    name: "dskfilt",
    value_name: "LIST",
    help: "Disks to show: regular expressions, ^ in front to leave them out",
    kind: OptionKind::NamePatterns,
    letters: "dD",
    ..SourceOption::EMPTY
};

fn shows_sizes(options: &Options) -> bool {
    options.iosize || options.value(&DISK_OPTIONS).has('i')
}

/// The increase of a counter.  For collectl a new disk has done nothing yet.
fn delta(row: &Row<'_>, field: usize) -> Option<f64> {
    if row.exact() && row.is_new() { Some(0.0) } else { row.delta(field) }
}

/// Sectors of a counter, in KiB.
fn kib(row: &Row<'_>, field: usize) -> Option<f64> {
    delta(row, field).map(|sectors| sectors / 2.0)
}

/// The sum of two numbers; missing if either is.
fn plus(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? + b?)
}

/// `dividend / divisor`; 0 if nothing happened.
fn ratio(dividend: Option<f64>, divisor: Option<f64>) -> Option<f64> {
    let (dividend, divisor) = (dividend?, divisor?);
    Some(if divisor == 0.0 { 0.0 } else { dividend / divisor })
}

/// Whether a disk is included in the totals.
fn is_counted(row: &Row<'_>) -> bool {
    if !row.options().value(&DISK_FILTER).keeps(row.name()) {
        return false;
    }
    if row.exact() {
        return collectl_counts(row.name());
    }
    let guess;
    let kind = match row.text(KIND) {
        Some(kind) => kind,
        None => {
            guess = topology::by_name(0, 0, row.name()).kind;
            guess.as_bytes()
        }
    };
    // Before Linux 6.4 the kernel counted the I/O of a multipath NVMe namespace at its paths.
    topology::is_counted(kind)
        || kind == topology::PATH.as_bytes()
            && row.text(PARENT).is_some_and(|head| is_idle(row, head))
}

/// Whether a disk of that name exists and has never been used.
fn is_idle(row: &Row<'_>, name: &[u8]) -> bool {
    row.rows().find(|other| other.name() == name).is_some_and(|other| is_unused(&other))
}

/// collectl 4.3.1's rule: no name that begins with `dm-` or `psv`, and none that ends in a digit,
/// unless `nvme`, one digit and `n` precede that digit.
fn collectl_counts(name: &[u8]) -> bool {
    if name.starts_with(b"dm-") || name.starts_with(b"psv") {
        return false;
    }
    let [before @ .., b'0'..=b'9'] = name else { return true };
    matches!(before, [.., b'n', b'v', b'm', b'e', b'0'..=b'9', b'n'])
}

fn total(row: &Row<'_>, field: usize) -> Option<f64> {
    row.sum(is_counted, |disk| delta(disk, field))
}

fn total_kib(row: &Row<'_>, field: usize) -> Option<f64> {
    row.sum(is_counted, |disk| kib(disk, field))
}

fn total_rate(row: &Row<'_>, field: usize) -> Option<f64> {
    row.per_second(total(row, field))
}

fn total_kib_rate(row: &Row<'_>, field: usize) -> Option<f64> {
    row.per_second(total_kib(row, field))
}

fn total_read_size(row: &Row<'_>) -> Option<f64> {
    ratio(total_kib(row, READ_SECTORS), total(row, READS))
}

fn total_write_size(row: &Row<'_>) -> Option<f64> {
    ratio(total_kib(row, WRITE_SECTORS), total(row, WRITES))
}

fn rate(row: &Row<'_>, field: usize) -> Option<f64> {
    row.per_second(delta(row, field))
}

fn kib_rate(row: &Row<'_>, field: usize) -> Option<f64> {
    row.per_second(kib(row, field))
}

fn read_size(row: &Row<'_>) -> Option<f64> {
    ratio(kib(row, READ_SECTORS), delta(row, READS))
}

fn write_size(row: &Row<'_>) -> Option<f64> {
    ratio(kib(row, WRITE_SECTORS), delta(row, WRITES))
}

fn requests(row: &Row<'_>) -> Option<f64> {
    plus(delta(row, READS), delta(row, WRITES))
}

fn request_size(row: &Row<'_>) -> Option<f64> {
    ratio(plus(kib(row, READ_SECTORS), kib(row, WRITE_SECTORS)), requests(row))
}

/// The mean number of requests in flight while the disk was busy.
fn queue_length(row: &Row<'_>) -> Option<f64> {
    let mut weighted = delta(row, WEIGHTED_MS);
    if row.exact() && row.was_reset(WEIGHTED_MS) {
        // For this counter collectl handles a decrease: it takes the difference.
        weighted = weighted.map(|wrapped| 4_294_967_296.0 - wrapped);
    }
    ratio(weighted, delta(row, BUSY_MS))
}

fn read_wait(row: &Row<'_>) -> Option<f64> {
    ratio(delta(row, READ_MS), delta(row, READS))
}

fn write_wait(row: &Row<'_>) -> Option<f64> {
    ratio(delta(row, WRITE_MS), delta(row, WRITES))
}

fn wait(row: &Row<'_>) -> Option<f64> {
    ratio(plus(delta(row, READ_MS), delta(row, WRITE_MS)), requests(row))
}

fn service_time(row: &Row<'_>) -> Option<f64> {
    ratio(delta(row, BUSY_MS), requests(row))
}

/// Per cent of the time in which at least one request was in flight.
fn utilisation(row: &Row<'_>) -> Option<f64> {
    let hundredths = row.interval_seconds()? * 100.0;
    Some(delta(row, BUSY_MS)? * 10.0 / hundredths)
}

/// What every kernel counts of a device that does I/O.
const COUNTS: [usize; 4] = [READS, WRITES, DISCARDS, FLUSHES];

/// Whether a device has never done any I/O: `loop0` to `loop7` on many machines.
fn is_unused(row: &Row<'_>) -> bool {
    COUNTS.iter().all(|&field| row.raw(field).unwrap_or(0) == 0)
}

/// Whether `-sD` shows a disk: with a filter, if the filter keeps it; in a collectl recording
/// always; otherwise if it has been used and is not a partition (`--dskopts p` adds these).
fn is_shown(row: &Row<'_>) -> bool {
    let options = row.options();
    let filter = options.value(&DISK_FILTER);
    if filter.is_set() {
        return filter.keeps(row.name());
    }
    if row.exact() || row.frame.meta.origin() == "collectl" {
        return true;
    }
    let is_part = row.text(KIND) == Some(topology::PARTITION.as_bytes());
    !is_unused(row) && (!is_part || options.value(&DISK_OPTIONS).has('p'))
}

fn is_kept(row: &Row<'_>) -> bool {
    let options = row.options();
    is_shown(row)
        && !(options.value(&DISK_OPTIONS).has('z') && did_nothing(row))
        && (!options.has('x') || is_exception_on_screen(row))
}

fn limits(row: &Row<'_>) -> Limits {
    row.options().value(&DISK_LIMITS).custom().copied().unwrap_or_default()
}

/// Whether reads or writes reach the limit of `-l IOS`.
fn is_busy(row: &Row<'_>) -> bool {
    let limit = limits(row).operations;
    [READS, WRITES].iter().any(|&field| {
        let operations = rate(row, field).or(row.exact().then_some(0.0));
        operations.is_some_and(|operations| operations >= limit)
    })
}

/// Whether `-ox` and `-oX` select the disk.  In plot files collectl compares hundredths of a
/// millisecond of service time with milliseconds.
fn is_exception(row: &Row<'_>) -> bool {
    let limits = limits(row);
    let slow = match (service_time(row), row.exact()) {
        (time, true) => time.unwrap_or(0.0) * 100.0 >= limits.service_ms,
        (time, false) => time.is_some_and(|time| time >= limits.service_ms),
    };
    if limits.both { is_busy(row) && slow } else { is_busy(row) || slow }
}

/// Whether a disk is an exception on the screen, where collectl compares only reads and writes.
fn is_exception_on_screen(row: &Row<'_>) -> bool {
    if row.exact() { is_busy(row) } else { is_exception(row) }
}

/// Whether a line of it would be zeros, as `--dskopts z` leaves out.  The weighted time alone shows
/// nothing: it moves with requests that are no reads and writes, discards and flushes, and the queue
/// is its part in the busy time.
fn did_nothing(row: &Row<'_>) -> bool {
    const MOVING: [usize; 7] =
        [READS, READS_MERGED, READ_SECTORS, WRITES, WRITES_MERGED, WRITE_SECTORS, BUSY_MS];
    MOVING.iter().all(|&field| delta(row, field) == Some(0.0))
}

const SIZES: &str = "<---------------Disks---------------->";

/// `-sd`.
pub(super) const SUMMARY: Layout = Layout {
    level: Level::Summary,
    counts: is_counted,
    position: DisplayOrder { brief: 60, verbose: 25, plot: 50, lexpr: 20, gexpr: 30 },
    brief: &[
        Block {
            when: |options| !shows_sizes(options),
            title: "<----------Disks----------->",
            headings: &["KBRead  Reads KBWrit Writes "],
            show: Show::Cells(&[
                Cell::binary("", 6, 0, |row| total_kib_rate(row, READ_SECTORS)),
                Cell::scaled(" ", 6, |row| total_rate(row, READS)),
                Cell::binary(" ", 6, 0, |row| total_kib_rate(row, WRITE_SECTORS)),
                Cell::scaled(" ", 6, |row| total_rate(row, WRITES)),
            ]),
        },
        Block {
            when: shows_sizes,
            title: SIZES,
            headings: &["KBRead  Reads Size KBWrit Writes Size "],
            show: Show::Cells(&[
                Cell::binary("", 6, 0, |row| total_kib_rate(row, READ_SECTORS)),
                Cell::scaled(" ", 6, |row| total_rate(row, READS)),
                Cell::scaled(" ", 4, total_read_size).stat(Stat::Ratio {
                    dividend: 0,
                    divisor: 1,
                    factor: 1.0,
                }),
                Cell::binary(" ", 6, 0, |row| total_kib_rate(row, WRITE_SECTORS)),
                Cell::scaled(" ", 6, |row| total_rate(row, WRITES)),
                Cell::scaled(" ", 4, total_write_size).stat(Stat::Ratio {
                    dividend: 3,
                    divisor: 4,
                    factor: 1.0,
                }),
            ]),
        },
    ],
    verbose: &[Block {
        when: |_| true,
        title: "DISK SUMMARY ($rate)",
        headings: &["KBRead RMerged  Reads SizeKB  KBWrite WMerged Writes SizeKB"],
        show: Show::Cells(&[
            Cell::whole(" ", 6, |row| total_kib_rate(row, READ_SECTORS)),
            Cell::whole("  ", 6, |row| total_rate(row, READS_MERGED)),
            Cell::whole(" ", 6, |row| total_rate(row, READS)),
            Cell::whole(" ", 6, total_read_size),
            Cell::whole("   ", 6, |row| total_kib_rate(row, WRITE_SECTORS)),
            Cell::whole("  ", 6, |row| total_rate(row, WRITES_MERGED)),
            Cell::whole(" ", 6, |row| total_rate(row, WRITES)),
            Cell::whole(" ", 6, total_write_size),
        ]),
    }],
    plot: Some(Plot {
        tag: "DSK",
        columns: &[
            PlotColumn::new("ReadTot", |row| total_rate(row, READS)),
            PlotColumn::new("WriteTot", |row| total_rate(row, WRITES)),
            PlotColumn::new("OpsTot", |row| {
                row.per_second(plus(total(row, READS), total(row, WRITES)))
            }),
            PlotColumn::new("ReadKBTot", |row| total_kib_rate(row, READ_SECTORS)),
            PlotColumn::new("WriteKBTot", |row| total_kib_rate(row, WRITE_SECTORS)),
            PlotColumn::new("KbTot", |row| {
                row.per_second(plus(total_kib(row, READ_SECTORS), total_kib(row, WRITE_SECTORS)))
            }),
            PlotColumn::new("ReadMrgTot", |row| total_rate(row, READS_MERGED)),
            PlotColumn::new("WriteMrgTot", |row| total_rate(row, WRITES_MERGED)),
            PlotColumn::new("MrgTot", |row| {
                row.per_second(plus(total(row, READS_MERGED), total(row, WRITES_MERGED)))
            }),
        ],
        ..Plot::EMPTY
    }),
    metrics: &[
        PlotColumn::new("disktotals.reads", |row| total_rate(row, READS)),
        PlotColumn::new("disktotals.readkbs", |row| total_kib_rate(row, READ_SECTORS)),
        PlotColumn::new("disktotals.writes", |row| total_rate(row, WRITES)),
        PlotColumn::new("disktotals.writekbs", |row| total_kib_rate(row, WRITE_SECTORS)),
    ],
    ..Layout::EMPTY
};

/// `-sD`.
pub(super) const DETAIL: Layout = Layout {
    level: Level::Detail,
    position: DisplayOrder { verbose: 30, plot: 20, lexpr: 120, gexpr: 40, ..DisplayOrder::LAST },
    verbose: &[
        Block {
            when: |options| !options.value(&DISK_OPTIONS).has('f'),
            title: "DISK STATISTICS ($rate)",
            headings: &[
                "          <---------reads---------------><---------writes-------------->\
                 <--------averages--------> Pct",
                "Name       KBytes Merged  IOs Size  Wait  KBytes Merged  IOs Size  Wait  \
                 RWSize  QLen  Wait SvcTim Util",
            ],
            show: Show::Cells(&[
                Cell::left("", 11, |row| Some(row.name())),
                Cell::whole(" ", 6, |row| kib_rate(row, READ_SECTORS)),
                Cell::whole(" ", 6, |row| rate(row, READS_MERGED)),
                Cell::scaled(" ", 4, |row| rate(row, READS)),
                Cell::binary(" ", 4, 0, read_size),
                Cell::whole(" ", 5, read_wait),
                Cell::whole("  ", 6, |row| kib_rate(row, WRITE_SECTORS)),
                Cell::whole(" ", 6, |row| rate(row, WRITES_MERGED)),
                Cell::scaled(" ", 4, |row| rate(row, WRITES)),
                Cell::binary(" ", 4, 0, write_size),
                Cell::whole(" ", 5, write_wait),
                Cell::whole("   ", 5, request_size),
                Cell::whole(" ", 5, queue_length),
                Cell::whole("  ", 4, wait),
                Cell::whole("   ", 4, service_time),
                Cell::whole("  ", 3, utilisation),
            ]),
        },
        Block {
            when: |options| options.value(&DISK_OPTIONS).has('f'),
            title: "DISK STATISTICS ($rate)",
            headings: &[
                "          <------------reads--------------><-------------writes------------>\
                 <---------averages---------->   Pct",
                "Name        KBytes Merged  IOs Size   Wait   KBytes Merged  IOs Size   Wait   \
                 RWSize   QLen   Wait SvcTim   Util",
            ],
            show: Show::Cells(&[
                Cell::left("", 11, |row| Some(row.name())),
                Cell::fixed(" ", 7, 1, |row| kib_rate(row, READ_SECTORS)),
                Cell::fixed(" ", 6, 0, |row| rate(row, READS_MERGED)),
                Cell::scaled(" ", 4, |row| rate(row, READS)),
                Cell::binary(" ", 4, 0, read_size),
                Cell::fixed(" ", 6, 1, read_wait),
                Cell::fixed("  ", 7, 1, |row| kib_rate(row, WRITE_SECTORS)),
                Cell::fixed(" ", 6, 0, |row| rate(row, WRITES_MERGED)),
                Cell::scaled(" ", 4, |row| rate(row, WRITES)),
                Cell::binary(" ", 4, 0, write_size),
                Cell::fixed(" ", 6, 1, write_wait),
                Cell::fixed("  ", 6, 1, request_size),
                Cell::fixed("  ", 6, 1, queue_length),
                Cell::fixed(" ", 6, 1, wait),
                Cell::fixed(" ", 6, 1, service_time),
                Cell::fixed("  ", 5, 2, utilisation),
            ]),
        },
    ],
    plot: Some(Plot {
        tag: "DSK",
        extension: "dsk",
        columns: &[
            PlotColumn::text("Name", |row| Some(row.name())),
            PlotColumn::new("Reads", |row| rate(row, READS)),
            PlotColumn::new("RMerge", |row| rate(row, READS_MERGED)),
            PlotColumn::new("RKBytes", |row| kib_rate(row, READ_SECTORS)),
            PlotColumn::new("WaitR", read_wait),
            PlotColumn::new("Writes", |row| rate(row, WRITES)),
            PlotColumn::new("WMerge", |row| rate(row, WRITES_MERGED)),
            PlotColumn::new("WKBytes", |row| kib_rate(row, WRITE_SECTORS)),
            PlotColumn::new("WaitW", write_wait),
            PlotColumn::new("Request", request_size),
            PlotColumn::new("QueLen", queue_length),
            PlotColumn::new("Wait", wait),
            PlotColumn::new("SvcTim", service_time),
            PlotColumn::new("Util", utilisation),
        ],
        ..Plot::EMPTY
    }),
    keep: is_kept,
    keep_reads: |options| match options.has('x') || options.value(&DISK_OPTIONS).has('z') {
        true => None,
        false => Some(&COUNTS),
    },
    exceptions: Some(Exceptions {
        among: "disks",
        is: is_exception,
        extension: "dskX",
        tag: "DISKX",
        // collectl's heading has other names than its columns, and another number of them.
        exact_heading: &[
            "Num",
            "[DISKX]Name",
            "[DISKX]Reads",
            "[DISKX]Merged",
            "[DISKX]KBytes",
            "[DISKX]Writes",
            "[DISKX]Merged",
            "[DISKX]KBytes",
            "[DISKX]Request",
            "[DISKX]QueLen",
            "[DISKX]Wait",
            "[DISKX]SvcTim",
            "[DISKX]Util",
        ],
    }),
    metrics: &[
        PlotColumn::new("diskinfo.reads.{}", |row| rate(row, READS)),
        PlotColumn::new("diskinfo.readkbs.{}", |row| kib_rate(row, READ_SECTORS)),
        PlotColumn::new("diskinfo.readw.{}", |row| average(row, read_wait)),
        PlotColumn::new("diskinfo.writes.{}", |row| rate(row, WRITES)),
        PlotColumn::new("diskinfo.writekbs.{}", |row| kib_rate(row, WRITE_SECTORS)),
        PlotColumn::new("diskinfo.writew.{}", |row| average(row, write_wait)),
        PlotColumn::new("diskinfo.quelen.{}", |row| average(row, queue_length)),
        PlotColumn::new("diskinfo.wait.{}", |row| average(row, wait)),
        PlotColumn::new("diskinfo.svctime.{}", |row| average(row, service_time)),
        PlotColumn::new("diskinfo.util.{}", |row| average(row, utilisation)),
    ],
    ..Layout::EMPTY
};

/// An average for exports.  collectl divides it by the interval again, by mistake.
fn average(row: &Row<'_>, of: fn(&Row<'_>) -> Option<f64>) -> Option<f64> {
    if row.exact() { row.per_second(of(row)) } else { of(row) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectl_leaves_out_what_ends_in_a_digit() {
        let check =
            |name: &str, counts| assert_eq!(collectl_counts(name.as_bytes()), counts, "{name}");
        check("sda", true);
        check("sda1", false);
        check("dm-0", false);
        check("psva", false);
        check("nvme0n1", true);
        check("nvme10n1", false);
        check("nvme0n10", false);
        check("mmcblk0", false);
    }
}

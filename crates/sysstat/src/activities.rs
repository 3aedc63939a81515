//! The tables of `sar`, as data: which source, which columns, which rows.

use std::sync::Arc;

use feed::SADC_TRANSFERS;
use sample::SourceDef;

use crate::columns::{Column, change, column, cpu_shares, rate};
use crate::format::{Unit, percent, ratio};
use crate::persistent_names::PersistentNames;
use crate::sources::TERMINALS;
use crate::values::{Row, Span};

/// One table of `sar`.
pub(crate) struct Activity {
    /// What selects it, for example `-u` or `-n DEV`.
    pub(crate) option: &'static str,
    /// The sources that it reads.
    pub(crate) sources: &'static [&'static str],
    /// The heading of the first column, if it has a row for each instance.
    pub(crate) label: Option<&'static str>,
    /// The columns.
    pub(crate) columns: &'static [Column],
    /// The lines of the activity: a name, and what they are made of.
    pub(crate) lines: for<'a> fn(&Span<'a>, &Chosen) -> Vec<Line<'a>>,
}

impl Activity {
    /// The heading of the names of its instances.
    pub(crate) fn heading(&self, chosen: &Chosen) -> Option<&'static str> {
        match self.label {
            Some("FILESYSTEM") if chosen.by_mount => Some("MOUNTPOINT"),
            label => label,
        }
    }

    /// Whether it is the time of CPUs.
    pub(crate) fn is_cpu_time(&self) -> bool {
        self.option.starts_with("-u")
    }

    /// Whether `-z` leaves out lines of it that are all 0: not those of what CPUs always have.
    pub(crate) fn may_be_idle(&self) -> bool {
        self.label.is_some() && !self.is_cpu_time() && self.option != "-m CPU"
    }

    /// Whether a recording with these sources has values of it.
    pub(crate) fn is_recorded(&self, defs: &[Arc<SourceDef>]) -> bool {
        self.sources.iter().any(|source| defs.iter().any(|def| def.name == *source))
    }
}

/// A line: its name, and the instances that it is made of.
pub(crate) type Line<'a> = (String, Vec<Row<'a>>);

/// Which instances are shown.
#[derive(Debug, Default)]
pub(crate) struct Chosen {
    /// Whether the sum of all CPUs is shown, and which CPUs.
    pub(crate) cpus: Cpus,
    /// Only these disks.
    pub(crate) disks: Vec<String>,
    /// The names by which disks are shown, if they are not the kernel's.
    pub(crate) names: Option<PersistentNames>,
    /// Only these interfaces.
    pub(crate) interfaces: Vec<String>,
    /// Only these filesystems.
    pub(crate) filesystems: Vec<String>,
    /// Filesystems by the folder on which they are mounted.
    pub(crate) by_mount: bool,
    /// Every interrupt, not only their sum.
    pub(crate) each_interrupt: bool,
    /// Only these interrupts.
    pub(crate) interrupts: Vec<String>,
}

/// Linux can be built for so many CPUs; a higher number is none.
pub(crate) const CPUS_MAX: usize = 8_192;

/// Which CPUs are shown.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Cpus {
    /// All of them together.
    #[default]
    Sum,
    /// All together, and each.
    All,
    /// The CPUs in these ranges, both ends included, and whether all together stand before them.
    Some(Vec<(usize, usize)>, bool),
}

impl Cpus {
    /// Reads `-P`: `ALL`, or numbers, ranges and `all` with commas between.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text == "ALL" {
            return Some(Cpus::All);
        }
        let (mut ranges, mut sum) = (Vec::new(), false);
        for part in text.split(',') {
            match part {
                "all" => sum = true,
                _ => {
                    let (first, last) = range(part)?;
                    let end = if last == usize::MAX { first } else { last };
                    ranges.push((first, last));
                    if end >= CPUS_MAX {
                        return None;
                    }
                }
            }
        }
        Some(Cpus::Some(ranges, sum))
    }

    /// Adds what another `-P` asks for.
    pub(crate) fn join(self, other: Self) -> Self {
        match (self, other) {
            (Cpus::Sum, other) => other,
            (known, Cpus::Sum) => known,
            (Cpus::Some(mut ranges, sum), Cpus::Some(more, also)) => {
                ranges.extend(more);
                Cpus::Some(ranges, sum || also)
            }
            _ => Cpus::All,
        }
    }

    /// Whether all CPUs together are shown.
    pub(crate) fn has_sum(&self) -> bool {
        !matches!(self, Cpus::Some(_, false))
    }

    /// Whether CPUs are shown one by one.
    pub(crate) fn has_each(&self) -> bool {
        *self != Cpus::Sum
    }

    /// Whether a single line is asked for, be that CPU there or not.
    pub(crate) fn is_one(&self) -> bool {
        match self {
            Cpus::Sum => true,
            Cpus::All => false,
            Cpus::Some(ranges, has_sum) => match ranges.split_first() {
                Some((one, others)) => {
                    !has_sum && one.0 == one.1 && others.iter().all(|other| other == one)
                }
                None => *has_sum,
            },
        }
    }

    /// The highest number that is asked for by itself or as the end of a range.
    pub(crate) fn highest(&self) -> Option<usize> {
        let Cpus::Some(ranges, _) = self else { return None };
        let ends =
            ranges.iter().map(|(first, last)| if *last == usize::MAX { first } else { last });
        ends.max().copied()
    }

    /// Whether a CPU is shown, by its name in the kernel's files.
    pub(crate) fn shows(&self, name: &str) -> bool {
        match self {
            Cpus::Sum => false,
            Cpus::All => true,
            Cpus::Some(ranges, _) => {
                let number = cpu_number(name).parse();
                number.is_ok_and(|number| is_within(ranges, number))
            }
        }
    }
}

/// A range as `3`, `2-5` or `4-`, both ends included.
pub(crate) fn range(text: &str) -> Option<(usize, usize)> {
    let (first, last) = match text.split_once('-') {
        None => (text.parse().ok()?, text.parse().ok()?),
        Some((first, "")) => (first.parse().ok()?, usize::MAX),
        Some((first, last)) => (first.parse().ok()?, last.parse().ok()?),
    };
    (first <= last).then_some((first, last))
}

/// Whether a number is in one of these ranges.
pub(crate) fn is_within(ranges: &[(usize, usize)], number: usize) -> bool {
    ranges.iter().any(|(first, last)| (*first..=*last).contains(&number))
}

/// `cpu3` is `3`.
pub(crate) fn cpu_number(name: &str) -> &str {
    name.strip_prefix("cpu").unwrap_or(name)
}

/// A column of interrupts, `CPU3`, is of CPU `3`.
pub(crate) fn cpu_label(title: &str) -> &str {
    title.strip_prefix("CPU").unwrap_or(title)
}

/// The lines of CPUs.
pub(crate) fn cpu_lines<'a>(span: &Span<'a>, chosen: &Chosen) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    if chosen.cpus.has_sum() {
        lines.push(("all".to_owned(), span.rows("cpu")));
    }
    for row in span.rows("cpu_core") {
        let name = row.name();
        if chosen.cpus.shows(&name) {
            lines.push((cpu_number(&name).to_owned(), vec![row]));
        }
    }
    lines
}

pub(crate) fn only<'a>(span: &Span<'a>, source: &str) -> Vec<Line<'a>> {
    match span.row(source) {
        Some(row) => vec![(String::new(), vec![row])],
        None => Vec::new(),
    }
}

/// The rows of a source that are wanted, each a line.
pub(crate) fn named<'a>(span: &Span<'a>, source: &str, wanted: &[String]) -> Vec<Line<'a>> {
    let rows = span.rows(source).into_iter().map(|row| (row.name(), vec![row]));
    rows.filter(|(name, _)| wanted.is_empty() || wanted.contains(name)).collect()
}

fn disk_lines<'a>(span: &Span<'a>, chosen: &Chosen) -> Vec<Line<'a>> {
    let mut lines = named(span, "disk", &[]);
    let shown = |name: &str| match &chosen.names {
        Some(names) => names.shown(name.to_owned()),
        None => name.to_owned(),
    };
    lines.iter_mut().for_each(|(name, _)| *name = shown(name));
    lines.retain(|(name, _)| chosen.disks.is_empty() || chosen.disks.contains(name));
    lines.retain(|(_, rows)| {
        let has_worked =
            |row: &Row<'_>| ["reads", "writes"].iter().any(|field| row.count(field) > Some(0));
        // sadc records partitions only if it is asked for them.
        let is_shown = |row: &Row<'_>| match row.count("transfers") {
            Some(transfers) => transfers > 0,
            None => row.text("kind") != "partition" && has_worked(row),
        };
        rows.iter().all(is_shown)
    });
    lines
}

/// The disks that are devices, as one line.
fn transfer_lines<'a>(span: &Span<'a>, _: &Chosen) -> Vec<Line<'a>> {
    if span.has(SADC_TRANSFERS) {
        return vec![(String::new(), span.rows(SADC_TRANSFERS))];
    }
    let rows = span.rows("disk").into_iter().filter(|row| is_device(&row.text("kind")));
    vec![(String::new(), rows.collect())]
}

/// Whether a disk of this kind is one by itself, not made of others.
pub(crate) fn is_device(kind: &str) -> bool {
    ["disk", "path", "optical", "floppy"].contains(&kind)
}

fn filesystem_lines<'a>(span: &Span<'a>, chosen: &Chosen) -> Vec<Line<'a>> {
    let mut lines: Vec<Line<'a>> = Vec::new();
    for row in span.rows("filesystem") {
        let (device, mounted) = (row.text("device"), row.name());
        let name = if chosen.by_mount { mounted.clone() } else { device.clone() };
        let is_wanted = chosen.filesystems.is_empty()
            || chosen.filesystems.contains(&device)
            || chosen.filesystems.contains(&mounted);
        let is_there = lines.iter().any(|(_, rows)| rows[0].text("device") == device);
        if device.starts_with('/') && is_wanted && !is_there {
            lines.push((name, vec![row]));
        }
    }
    lines
}

fn interrupt_lines<'a>(span: &Span<'a>, chosen: &Chosen) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    let names = &chosen.interrupts;
    let is_listed = |wanted: &String, name: &str| {
        wanted == name
            || range(wanted)
                .is_some_and(|range| name.parse().is_ok_and(|number| is_within(&[range], number)))
    };
    let is_wanted =
        |name: &str| names.is_empty() || names.iter().any(|wanted| is_listed(wanted, name));
    if is_wanted("sum") || !chosen.each_interrupt {
        lines.push(("sum".to_owned(), span.rows("interrupt")));
    }
    if chosen.each_interrupt || !names.is_empty() {
        let mut each: Vec<Line<'a>> = Vec::new();
        for row in span.rows("interrupt") {
            let name = row.labels().map_or_else(|| row.name(), |(name, _)| name);
            match each.last_mut().filter(|(known, _)| *known == name) {
                _ if !is_wanted(&name) => {}
                Some((_, rows)) => rows.push(row),
                None => each.push((name, vec![row])),
            }
        }
        lines.extend(each);
    }
    lines
}

pub(crate) fn level(rows: &[Row<'_>], field: &str) -> Option<f64> {
    rows.first()?.level(field)
}

pub(crate) fn one(rows: &[Row<'_>], field: &str) -> Option<f64> {
    rows.first()?.rate(field)
}

fn share(rows: &[Row<'_>], part: Option<f64>, whole: &str) -> Option<f64> {
    Some(percent(part?, level(rows, whole)?))
}

/// What is neither free nor cache nor kernel memory, in KiB.
fn used(rows: &[Row<'_>]) -> Option<f64> {
    let fields = ["free", "buffers", "cached", "slab"];
    let others: f64 = fields.iter().filter_map(|field| level(rows, field)).sum();
    Some((level(rows, "total")? - others).max(0.0))
}

fn swap_used(rows: &[Row<'_>]) -> Option<f64> {
    Some(level(rows, "swap_total")? - level(rows, "swap_free")?)
}

const SCANNED_DIRECT: &[&str] = &["scanned_direct"];
const SCANNED_KSWAPD: &[&str] = &["scanned_kswapd"];
/// Pages reclaimed, by whom.
pub(crate) const STOLEN: &[&str] =
    &["stolen_kswapd", "stolen_direct", "stolen_khugepaged", "stolen_proactive", "stolen"];

/// Pages reclaimed of those scanned.
fn efficiency(rows: &[Row<'_>]) -> Option<f64> {
    let scanned =
        change(rows, SCANNED_KSWAPD).unwrap_or(0.0) + change(rows, SCANNED_DIRECT).unwrap_or(0.0);
    Some(percent(change(rows, STOLEN)?, scanned))
}

fn queue_length(rows: &[Row<'_>]) -> Option<f64> {
    // The task that reads counts as running.
    level(rows, "tasks_running").map(|running| (running - 1.0).max(0.0))
}

fn hundredths(rows: &[Row<'_>], field: &str) -> Option<f64> {
    level(rows, field).map(|value| value / 100.0)
}

/// The share of the span in which tasks stalled: microseconds a second.
fn stalled(rows: &[Row<'_>], field: &str) -> Option<f64> {
    one(rows, field).map(|us| us / 10_000.0)
}

fn pressure_lines<'a>(span: &Span<'a>, resource: &str) -> Vec<Line<'a>> {
    let rows = span.rows("pressure").into_iter().filter(|row| row.name() == resource);
    rows.map(|row| (String::new(), vec![row])).collect()
}

/// Memory in huge pages, in KiB: of daily files of sysstat as it is, else by the size of a page.
fn huge(rows: &[Row<'_>], kib: &str) -> Option<f64> {
    let pages = || HUGE_PAGES.iter().find(|(own, _)| *own == kib).map(|(_, pages)| *pages);
    level(rows, kib).or_else(|| Some(level(rows, pages()?)? * level(rows, "huge_size")?))
}

/// Memory in huge pages as daily files of sysstat have it, and the number of pages.
pub(crate) const HUGE_PAGES: [(&str, &str); 4] = [
    ("huge_total_kib", "huge_total"),
    ("huge_free_kib", "huge_free"),
    ("huge_reserved_kib", "huge_reserved"),
    ("huge_surplus_kib", "huge_surplus"),
];

fn huge_used(rows: &[Row<'_>]) -> Option<f64> {
    Some(huge(rows, "huge_total_kib")? - huge(rows, "huge_free_kib")?)
}

fn inodes_used(rows: &[Row<'_>]) -> Option<f64> {
    level(rows, "inodes_used").or_else(|| used_of(rows, "inodes", "inodes_free"))
}

fn used_of(rows: &[Row<'_>], size: &str, free: &str) -> Option<f64> {
    Some(level(rows, size)? - level(rows, free)?)
}

/// Daily files of sysstat have the sum alone.
pub(crate) const TRANSFERS: &[&str] = &["reads", "writes", "discards", "transfers"];

/// What transfers of a disk move.
pub(crate) const DISK_SECTORS: &[&str] = &["read_sectors", "write_sectors", "discard_sectors"];

/// How long transfers of a disk take.
pub(crate) const DISK_TIMES: &[&str] = &["read_ms", "write_ms", "discard_ms"];

/// How much these counters of a disk grew for each transfer.
pub(crate) fn each_transfer(rows: &[Row<'_>], fields: &[&str]) -> Option<f64> {
    Some(ratio(change(rows, fields)?, change(rows, TRANSFERS)?))
}

/// Columns of counters: how often a second.
macro_rules! rates {
    ($(($title:literal, $field:literal)),* $(,)?) => {
        &[$(column!($title, 10, Plain, |rows| one(rows, $field))),*]
    };
}
pub(crate) use rates;

/// `-u`.
pub(crate) static CPU: Activity = Activity {
    option: "-u",
    sources: &["cpu", "cpu_core"],
    label: Some("CPU"),
    columns: cpu_shares![10:
        ("%user", ["user"], []),
        ("%nice", ["nice"], []),
        ("%system", ["system", "irq", "softirq"], []),
        ("%iowait", ["iowait"], []),
        ("%steal", ["steal"], []),
        ("%idle", ["idle"], []),
    ],
    lines: cpu_lines,
};

/// `-u ALL`.
pub(crate) static CPU_ALL: Activity = Activity {
    option: "-u ALL",
    sources: &["cpu", "cpu_core"],
    label: Some("CPU"),
    columns: cpu_shares![10:
        ("%usr", ["user"], ["guest"]),
        ("%nice", ["nice"], ["guest_nice"]),
        ("%sys", ["system"], []),
        ("%iowait", ["iowait"], []),
        ("%steal", ["steal"], []),
        ("%irq", ["irq"], []),
        ("%soft", ["softirq"], []),
        ("%guest", ["guest"], []),
        ("%gnice", ["guest_nice"], []),
        ("%idle", ["idle"], []),
    ],
    lines: cpu_lines,
};

/// The tables that one letter selects, in the order in which they are shown.
pub(crate) static BY_LETTER: &[Activity] = &[
    Activity {
        option: "-w",
        sources: &["cpu"],
        label: None,
        columns: rates![("proc/s", "forks"), ("cswch/s", "context_switches")],
        lines: |span, _| only(span, "cpu"),
    },
    Activity {
        option: "-I",
        sources: &["interrupt"],
        label: Some("INTR"),
        columns: &[column!("all", 10, Plain, |rows| rate(rows, &["count"]))],
        lines: interrupt_lines,
    },
    Activity {
        option: "-W",
        sources: &["memory"],
        label: None,
        columns: rates![("pswpin/s", "swap_in"), ("pswpout/s", "swap_out")],
        lines: |span, _| only(span, "memory"),
    },
    Activity {
        option: "-B",
        sources: &["memory"],
        label: None,
        columns: &[
            column!("pgpgin/s", 10, Plain, |rows| one(rows, "page_in")),
            column!("pgpgout/s", 10, Plain, |rows| one(rows, "page_out")),
            column!("fault/s", 10, Plain, |rows| one(rows, "faults")),
            column!("majflt/s", 10, Plain, |rows| one(rows, "major_faults")),
            column!("pgfree/s", 10, Plain, |rows| one(rows, "freed")),
            column!("pgscank/s", 10, Plain, |rows| rate(rows, SCANNED_KSWAPD)),
            column!("pgscand/s", 10, Plain, |rows| rate(rows, SCANNED_DIRECT)),
            column!("pgsteal/s", 10, Plain, |rows| rate(rows, STOLEN)),
            column!("%vmeff", 10, Percent, efficiency),
        ],
        lines: |span, _| only(span, "memory"),
    },
    Activity {
        option: "-b",
        sources: &["disk", SADC_TRANSFERS],
        label: None,
        columns: &[
            column!("tps", 10, Plain, |rows| match one(rows, "transfers") {
                Some(rate) => Some(rate),
                None => rate(rows, &["reads", "writes", "discards"]),
            }),
            column!("rtps", 10, Plain, |rows| rate(rows, &["reads"])),
            column!("wtps", 10, Plain, |rows| rate(rows, &["writes"])),
            column!("dtps", 10, Plain, |rows| rate(rows, &["discards"])),
            column!("bread/s", 10, Plain, |rows| rate(rows, &["read_sectors"])),
            column!("bwrtn/s", 10, Plain, |rows| rate(rows, &["write_sectors"])),
            column!("bdscd/s", 10, Plain, |rows| rate(rows, &["discard_sectors"])),
        ],
        lines: transfer_lines,
    },
    Activity {
        option: "-r",
        sources: &["memory"],
        label: None,
        columns: MEMORY_ALL.split_at(11).0,
        lines: |span, _| only(span, "memory"),
    },
    Activity {
        option: "-S",
        sources: &["memory"],
        label: None,
        columns: &[
            column!("kbswpfree", 10, WholeKibibytes, |rows| level(rows, "swap_free")),
            column!("kbswpused", 10, WholeKibibytes, swap_used),
            column!("%swpused", 10, Percent, |rows| share(rows, swap_used(rows), "swap_total")),
            column!("kbswpcad", 10, WholeKibibytes, |rows| level(rows, "swap_cached")),
            column!("%swpcad", 10, Percent, |rows| {
                Some(percent(level(rows, "swap_cached")?, swap_used(rows)?))
            }),
        ],
        lines: |span, _| only(span, "memory"),
    },
    Activity {
        option: "-H",
        sources: &["memory"],
        label: None,
        columns: &[
            column!("kbhugfree", 10, WholeKibibytes, |rows| huge(rows, "huge_free_kib")),
            column!("kbhugused", 10, WholeKibibytes, huge_used),
            column!("%hugused", 10, Percent, |rows| {
                Some(percent(huge_used(rows)?, huge(rows, "huge_total_kib")?))
            }),
            column!("kbhugrsvd", 10, WholeKibibytes, |rows| huge(rows, "huge_reserved_kib")),
            column!("kbhugsurp", 10, WholeKibibytes, |rows| huge(rows, "huge_surplus_kib")),
        ],
        lines: |span, _| only(span, "memory"),
    },
    Activity {
        option: "-v",
        sources: &["inode", TERMINALS],
        label: None,
        columns: &[
            column!("dentunusd", 10, Whole, |rows| level(rows, "dentries_unused")),
            column!("file-nr", 10, Whole, |rows| level(rows, "files_open")),
            column!("inode-nr", 10, Whole, inodes_used),
            // Of this host, and of daily files of sysstat; recorders do not read it.
            column!("pty-nr", 10, Whole, |rows| {
                level(rows, "terminals").or_else(|| rows.get(1)?.level("terminals"))
            }),
        ],
        lines: |span, _| {
            let rows = span.row("inode").into_iter().chain(span.row(TERMINALS));
            vec![(String::new(), rows.collect())]
        },
    },
    Activity {
        option: "-d",
        sources: &["disk"],
        label: Some("DEV"),
        columns: &[
            column!("tps", 10, Plain, |rows| rate(rows, TRANSFERS)),
            column!("rkB/s", 10, Kibibytes, |rows| Some(one(rows, "read_sectors")? / 2.0)),
            column!("wkB/s", 10, Kibibytes, |rows| Some(one(rows, "write_sectors")? / 2.0)),
            column!("dkB/s", 10, Kibibytes, |rows| Some(one(rows, "discard_sectors")? / 2.0)),
            column!("areq-sz", 10, Kibibytes, |rows| Some(
                each_transfer(rows, DISK_SECTORS)? / 2.0
            )),
            column!("aqu-sz", 10, Plain, |rows| Some(one(rows, "weighted_ms")? / 1000.0)),
            column!("await", 10, Plain, |rows| each_transfer(rows, DISK_TIMES)),
            column!("%util", 10, Percent, |rows| Some(one(rows, "busy_ms")? / 10.0)),
        ],
        lines: disk_lines,
    },
    Activity {
        option: "-y",
        sources: &["serial"],
        label: Some("TTY"),
        columns: rates![
            ("rcvin/s", "rx"),
            ("xmtin/s", "tx"),
            ("framerr/s", "frame"),
            ("prtyerr/s", "parity"),
            ("brk/s", "break"),
            ("ovrun/s", "overrun"),
        ],
        lines: |span, _| named(span, "serial", &[]),
    },
    Activity {
        option: "-F",
        sources: &["filesystem"],
        label: Some("FILESYSTEM"),
        columns: &[
            column!("MBfsfree", 10, WholeMebibytes, |rows| Some(level(rows, "free")? / MEBIBYTE)),
            column!("MBfsused", 10, WholeMebibytes, |rows| {
                Some(used_of(rows, "size", "free")? / MEBIBYTE)
            }),
            column!("%fsused", 10, Percent, |rows| {
                share(rows, used_of(rows, "size", "free"), "size")
            }),
            column!("%ufsused", 10, Percent, |rows| {
                share(rows, used_of(rows, "size", "available"), "size")
            }),
            column!("Ifree", 10, Whole, |rows| level(rows, "inodes_free")),
            column!("Iused", 10, Whole, |rows| used_of(rows, "inodes", "inodes_free")),
            column!("%Iused", 10, Percent, |rows| {
                share(rows, used_of(rows, "inodes", "inodes_free"), "inodes")
            }),
        ],
        lines: filesystem_lines,
    },
];

const MEBIBYTE: f64 = 1_048_576.0;

/// `-r ALL`.
pub(crate) static MEMORY_ALL: [Column; 16] = [
    column!("kbmemfree", 10, WholeKibibytes, |rows| level(rows, "free")),
    column!("kbavail", 10, WholeKibibytes, |rows| level(rows, "available")),
    column!("kbmemused", 10, WholeKibibytes, used),
    column!("%memused", 10, Percent, |rows| share(rows, used(rows), "total")),
    column!("kbbuffers", 10, WholeKibibytes, |rows| level(rows, "buffers")),
    column!("kbcached", 10, WholeKibibytes, |rows| level(rows, "cached")),
    column!("kbcommit", 10, WholeKibibytes, |rows| level(rows, "committed")),
    column!("%commit", 10, Percent, |rows| {
        let all = level(rows, "total")? + level(rows, "swap_total").unwrap_or(0.0);
        Some(percent(level(rows, "committed")?, all))
    }),
    column!("kbactive", 10, WholeKibibytes, |rows| level(rows, "active")),
    column!("kbinact", 10, WholeKibibytes, |rows| level(rows, "inactive")),
    column!("kbdirty", 10, WholeKibibytes, |rows| level(rows, "dirty")),
    column!("kbanonpg", 10, WholeKibibytes, |rows| level(rows, "anonymous")),
    column!("kbslab", 10, WholeKibibytes, |rows| level(rows, "slab")),
    column!("kbkstack", 10, WholeKibibytes, |rows| level(rows, "kernel_stack")),
    column!("kbpgtbl", 10, WholeKibibytes, |rows| level(rows, "page_tables")),
    column!("kbvmused", 10, WholeKibibytes, |rows| level(rows, "vmalloc_used")),
];

/// What `-r ALL` shows.
pub(crate) static MEMORY_WHOLE: Activity = Activity {
    option: "-r ALL",
    sources: &["memory"],
    label: None,
    columns: &MEMORY_ALL,
    lines: |span, _| only(span, "memory"),
};

/// The tables of `-q`, by keyword.
pub(crate) static QUEUES: &[Activity] = &[
    Activity {
        option: "LOAD",
        sources: &["cpu"],
        label: None,
        columns: &[
            column!("runq-sz", 10, Whole, queue_length),
            column!("plist-sz", 10, Whole, |rows| level(rows, "tasks")),
            column!("ldavg-1", 10, Plain, |rows| hundredths(rows, "load_1m")),
            column!("ldavg-5", 10, Plain, |rows| hundredths(rows, "load_5m")),
            column!("ldavg-15", 10, Plain, |rows| hundredths(rows, "load_15m")),
            column!("blocked", 10, Whole, |rows| level(rows, "blocked")),
        ],
        lines: |span, _| only(span, "cpu"),
    },
    Activity {
        option: "CPU",
        sources: &["pressure"],
        label: None,
        columns: &[
            column!("%scpu-10", 10, Percent, |rows| hundredths(rows, "some_avg10")),
            column!("%scpu-60", 10, Percent, |rows| hundredths(rows, "some_avg60")),
            column!("%scpu-300", 10, Percent, |rows| hundredths(rows, "some_avg300")),
            column!("%scpu", 10, Percent, |rows| stalled(rows, "some_total")),
        ],
        lines: |span, _| pressure_lines(span, "cpu"),
    },
    Activity {
        option: "IO",
        sources: &["pressure"],
        label: None,
        columns: &[
            column!("%sio-10", 10, Percent, |rows| hundredths(rows, "some_avg10")),
            column!("%sio-60", 10, Percent, |rows| hundredths(rows, "some_avg60")),
            column!("%sio-300", 10, Percent, |rows| hundredths(rows, "some_avg300")),
            column!("%sio", 10, Percent, |rows| stalled(rows, "some_total")),
            column!("%fio-10", 10, Percent, |rows| hundredths(rows, "full_avg10")),
            column!("%fio-60", 10, Percent, |rows| hundredths(rows, "full_avg60")),
            column!("%fio-300", 10, Percent, |rows| hundredths(rows, "full_avg300")),
            column!("%fio", 10, Percent, |rows| stalled(rows, "full_total")),
        ],
        lines: |span, _| pressure_lines(span, "io"),
    },
    Activity {
        option: "MEM",
        sources: &["pressure"],
        label: None,
        columns: &[
            column!("%smem-10", 10, Percent, |rows| hundredths(rows, "some_avg10")),
            column!("%smem-60", 10, Percent, |rows| hundredths(rows, "some_avg60")),
            column!("%smem-300", 10, Percent, |rows| hundredths(rows, "some_avg300")),
            column!("%smem", 10, Percent, |rows| stalled(rows, "some_total")),
            column!("%fmem-10", 10, Percent, |rows| hundredths(rows, "full_avg10")),
            column!("%fmem-60", 10, Percent, |rows| hundredths(rows, "full_avg60")),
            column!("%fmem-300", 10, Percent, |rows| hundredths(rows, "full_avg300")),
            column!("%fmem", 10, Percent, |rows| stalled(rows, "full_total")),
        ],
        lines: |span, _| pressure_lines(span, "memory"),
    },
];

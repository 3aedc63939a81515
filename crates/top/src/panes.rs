//! Tables beside the list of processes: CPUs, disks, interfaces, control groups and pressure.
//!
//! The numbers are those of the sources' own layouts.  A pane's source is read only while the pane is
//! shown, and a pane without a source is not offered.  Cost: a number for each row to sort by, text for
//! the lines on the screen.

use layout::{Frame, Of, Row};
use sample::{Level, State, Track};

use crate::columns::by_number;
use crate::format;

/// What is shown below the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pane {
    #[default]
    Processes,
    Cpus,
    Disks,
    Interfaces,
    Cgroups,
    Pressure,
}

/// How a number is written.
#[derive(Clone, Copy)]
enum NumberFormat {
    Percent,
    /// From KiB.
    Size,
    Count,
}

/// Where a number comes from.
#[derive(Clone, Copy)]
enum Origin {
    /// A plot column of the source's detail.
    Plot(&'static str),
    /// Microseconds, as a share of the interval.
    Share(&'static str),
    /// A level in hundredths.
    Hundredths(&'static str),
}

/// A column: title, width, where its numbers come from, and how they are written.
type Column = (&'static str, u16, Origin, NumberFormat);

use NumberFormat::{Count, Percent, Size};
use Origin::{Hundredths, Plot, Share};

const CPUS: &[Column] = &[
    ("BUSY%", 5, Plot("Totl%"), Percent),
    ("us", 5, Plot("User%"), Percent),
    ("sy", 5, Plot("Sys%"), Percent),
    ("wa", 5, Plot("Wait%"), Percent),
    ("ni", 5, Plot("Nice%"), Percent),
    ("hi", 5, Plot("Irq%"), Percent),
    ("si", 5, Plot("Soft%"), Percent),
    ("st", 5, Plot("Steal%"), Percent),
];

const DISKS: &[Column] = &[
    ("UTIL%", 5, Plot("Util"), Percent),
    ("READ/s", 6, Plot("RKBytes"), Size),
    ("WRIT/s", 6, Plot("WKBytes"), Size),
    ("READS", 6, Plot("Reads"), Count),
    ("WRITES", 6, Plot("Writes"), Count),
    ("R ms", 6, Plot("WaitR"), Count),
    ("W ms", 6, Plot("WaitW"), Count),
    ("QUEUE", 6, Plot("QueLen"), Count),
];

const INTERFACES: &[Column] = &[
    ("RECV/s", 6, Plot("RxKB"), Size),
    ("SENT/s", 6, Plot("TxKB"), Size),
    ("PKIN/s", 6, Plot("RxPkt"), Count),
    ("PKOUT/s", 7, Plot("TxPkt"), Count),
    ("ERRIN", 6, Plot("RxErr"), Count),
    ("ERROUT", 6, Plot("TxErr"), Count),
    ("DRPIN", 6, Plot("RxDrp"), Count),
    ("DRPOUT", 6, Plot("TxDrp"), Count),
];

const CGROUPS: &[Column] = &[
    ("CPU%", 6, Plot("CPU%"), Percent),
    ("MEM", 5, Plot("MemKB"), Size),
    ("READ/s", 6, Plot("ReadKB"), Size),
    ("WRIT/s", 6, Plot("WriteKB"), Size),
    ("TASKS", 6, Plot("Tasks"), Count),
    ("THROT%", 6, Plot("Throt%"), Percent),
    ("SWAP", 5, Plot("SwapKB"), Size),
    ("CPU<%", 6, Plot("CpuSome%"), Percent),
    ("MEM<%", 6, Plot("MemSome%"), Percent),
    ("IO<%", 6, Plot("IoSome%"), Percent),
    ("OOM", 4, Plot("OOM"), Count),
];

const PRESSURE: &[Column] = &[
    ("SOME%", 6, Share("some_total"), Percent),
    ("FULL%", 6, Share("full_total"), Percent),
    ("S 10s", 6, Hundredths("some_avg10"), Percent),
    ("S 60s", 6, Hundredths("some_avg60"), Percent),
    ("S 300s", 6, Hundredths("some_avg300"), Percent),
    ("F 10s", 6, Hundredths("full_avg10"), Percent),
    ("F 60s", 6, Hundredths("full_avg60"), Percent),
    ("F 300s", 6, Hundredths("full_avg300"), Percent),
];

impl Pane {
    /// All of them, in the order of Tab.
    pub(crate) const ALL: [Pane; 6] =
        [Pane::Processes, Pane::Cpus, Pane::Disks, Pane::Interfaces, Pane::Cgroups, Pane::Pressure];

    /// Title, source, the title of the names, columns, and whether the rows keep their order.
    const fn parts(self) -> (&'static str, &'static str, &'static str, &'static [Column], bool) {
        match self {
            Pane::Processes => ("Processes", "process", "COMMAND", &[], false),
            Pane::Cpus => ("CPUs", "cpu_core", "CPU", CPUS, true),
            Pane::Disks => ("Disks", "disk", "DISK", DISKS, false),
            Pane::Interfaces => ("Interfaces", "network", "INTERFACE", INTERFACES, false),
            Pane::Cgroups => ("Cgroups", "cgroup", "CGROUP", CGROUPS, false),
            Pane::Pressure => ("Pressure", "pressure", "RESOURCE", PRESSURE, true),
        }
    }

    /// The title.
    pub(crate) const fn title(self) -> &'static str {
        self.parts().0
    }

    /// The title of the names.
    pub(crate) const fn of_names(self) -> &'static str {
        self.parts().2
    }

    fn track<'a>(self, frame: &Frame<'a>) -> Option<&'a Track> {
        frame.tracks.iter().find(|track| track.def.name == self.parts().1)
    }

    /// The panes of a feed.
    pub(crate) fn of_feed(frame: &Frame<'_>) -> Vec<Pane> {
        let is_there = |pane: &Pane| *pane == Pane::Processes || pane.track(frame).is_some();
        Pane::ALL.into_iter().filter(is_there).collect()
    }

    /// The next pane of a feed, or the one before.
    pub(crate) fn next(self, frame: &Frame<'_>, step: isize) -> Pane {
        let all = Pane::of_feed(frame);
        let now = all.iter().position(|pane| *pane == self).unwrap_or(0);
        let next = (now.cast_signed() + step).rem_euclid(all.len().cast_signed());
        all[next.cast_unsigned()]
    }

    /// Names of the sources that need not be read on this machine.
    pub(crate) const fn left_out(self, shows_machine: bool) -> &'static [&'static str] {
        let needs_all =
            shows_machine || matches!(self, Pane::Disks | Pane::Interfaces | Pane::Pressure);
        match (self, needs_all) {
            (Pane::Cpus, true) => &["cgroup"],
            (Pane::Cgroups, true) => &["cpu_core"],
            (_, true) => &["cpu_core", "cgroup"],
            (Pane::Cpus, false) => &["cgroup", "disk", "network", "pressure"],
            (Pane::Cgroups, false) => &["cpu_core", "disk", "network", "pressure"],
            (_, false) => &["cpu_core", "cgroup", "disk", "network", "pressure"],
        }
    }
}

/// A number of a row.
type Number = Box<dyn Fn(&Row<'_>) -> Option<f64>>;

/// The rows of a pane in a sample, sorted, and its columns.
pub(crate) struct PaneTable<'a> {
    pub(crate) rows: Vec<Row<'a>>,
    columns: Vec<(&'static Column, Number)>,
    /// Why there are no rows.
    pub(crate) state: State,
}

impl<'a> PaneTable<'a> {
    /// The table of a pane, sorted by the column `sort`, or by the pane's own order.
    pub(crate) fn of(pane: Pane, frame: &Frame<'a>, sort: Option<usize>) -> Option<Self> {
        let track = pane.track(frame)?;
        let (_, source, _, specs, keeps_order) = pane.parts();
        let layouts = source::find(source)?.layouts;
        let detail = layouts.iter().find(|layout| layout.level == Level::Detail);
        let number = |from: Origin| -> Option<Number> {
            match from {
                Plot(name) => {
                    let plot = detail?.plot.as_ref()?;
                    match plot.columns.iter().find(|column| column.name == name)?.value {
                        Of::Number(number) => Some(Box::new(number)),
                        _ => None,
                    }
                }
                Share(name) => {
                    let field = track.def.field(name)?;
                    Some(Box::new(move |row| {
                        Some(row.delta(field)? / (row.interval_seconds()? * 1e4))
                    }))
                }
                Hundredths(name) => {
                    let field = track.def.field(name)?;
                    Some(Box::new(move |row| Some(row.gauge(field)? / 100.0)))
                }
            }
        };
        // A column that a recording has not is not shown.
        let columns: Vec<_> =
            specs.iter().filter_map(|spec| Some((spec, number(spec.2)?))).collect();
        let whole = frame.whole(track);
        let kept = |row: &Row<'_>| detail.is_none_or(|detail| (detail.keep)(row));
        let is_ok = track.current.state == State::Ok;
        let rows = whole.rows().filter(|row| is_ok && kept(row));
        let key = sort.or((!keeps_order).then_some(0)).and_then(|sort| columns.get(sort));
        let mut keyed: Vec<_> =
            rows.map(|row| (key.and_then(|(_, number)| number(&row)), row)).collect();
        if key.is_some() {
            keyed.sort_by(|one, other| by_number(one.0, other.0, false));
        }
        let rows = keyed.into_iter().map(|(_, row)| row).collect();
        Some(PaneTable { rows, columns, state: track.current.state })
    }

    /// The columns that fit beside `name` columns of names: their number.
    pub(crate) fn fitting(&self, width: u16, name: u16) -> usize {
        let mut taken = name;
        let fits = |(spec, _): &&(&Column, Number)| {
            taken += spec.1 + 1;
            taken <= width
        };
        self.columns.iter().take_while(fits).count()
    }

    /// The number of columns.
    pub(crate) fn count(&self) -> usize {
        self.columns.len()
    }

    /// Title and width of a column.
    pub(crate) fn title(&self, column: usize) -> (&'static str, u16) {
        let spec = self.columns[column].0;
        (spec.0, spec.1)
    }

    /// A number.
    pub(crate) fn number(&self, column: usize, row: &Row<'_>) -> Option<f64> {
        (self.columns[column].1)(row)
    }

    /// Writes a cell.
    pub(crate) fn write(&self, column: usize, row: &Row<'_>, out: &mut String) {
        let number = self.number(column, row);
        match self.columns[column].0.3 {
            Percent => format::percent(out, number),
            Size => format::size(out, number.map(|kib| kib * 1024.0)),
            Count => format::count(out, number),
        }
    }
}

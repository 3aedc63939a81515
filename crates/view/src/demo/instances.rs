//! An artificial feed of instances that begin and end, for the tests of sums, lists, trees and
//! digests: readings of the living at ticks 0, 1 and 3, exits at every tick.

use layout::LayoutLookup;
use sample::Level;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::LazyLock;

use layout::{
    Account, Balance, Block, By, Cell, Digest, DigestColumn, Fold, Form, Grouping, Layout, Measure,
    Of, Options, Order, Rank, Role, Show, Top,
};
use sample::{Cadence, Cells, Field, History, Kind, Meta, Snapshot, SourceDef, State, Table, Unit};

use crate::View;

const CPU: usize = 0;
const RESIDENT: usize = 1;
const COMMAND: usize = 2;
const PARENT: usize = 3;

const FIELDS: &[Field] = &[
    Field::counter("cpu", Unit::Nanoseconds, "CPU time"),
    Field::gauge("resident", Unit::Kibibytes, "Memory"),
    Field::text("command", "Name"),
    Field::gauge("parent", Unit::Count, "Parent"),
];

fn number(cells: &Cells<'_>) -> Option<u64> {
    let name = cells.name().split(|&byte| byte == SourceDef::INSTANCE_SEPARATOR).next()?;
    std::str::from_utf8(name).ok()?.parse().ok()
}

fn command(cells: &Cells<'_>, _: &Options, out: &mut Vec<u8>) -> bool {
    let text = cells.text(COMMAND);
    out.extend_from_slice(text.unwrap_or_default());
    text.is_some()
}

const GROUPINGS: &[Grouping] = &[Grouping { name: "command", write: command }];

const CPU_MEASURE: Measure = Measure {
    name: "cpu",
    unit: Unit::Nanoseconds,
    kind: Kind::Counter,
    heading: "CPU%",
    of: |cells| cells.count(CPU),
};

static LIVING_ACCOUNT: Account = Account {
    role: Role::Living,
    title: "PROCESSES",
    counts: |_| true,
    inferred: |cells| cells.text(COMMAND).is_some_and(|name| name.starts_with(b"children of ")),
    groupings: GROUPINGS,
    number,
    parent: |cells| cells.raw(PARENT),
    label: |cells| cells.text(COMMAND),
    measures: &[
        CPU_MEASURE,
        Measure {
            name: "resident",
            unit: Unit::Kibibytes,
            kind: Kind::Gauge,
            heading: "RSS",
            of: |cells| cells.level(RESIDENT),
        },
    ],
    orders: &[
        Order { name: "time", measures: &["cpu"], whole_life: false },
        Order { name: "rss", measures: &["resident"], whole_life: false },
        Order { name: "accum", measures: &["cpu"], whole_life: true },
    ],
};

static ENDED_ACCOUNT: Account = Account {
    role: Role::Ended,
    title: "PROCESSES",
    counts: |_| true,
    inferred: |cells| cells.text(COMMAND).is_some_and(|name| name.starts_with(b"children of ")),
    groupings: GROUPINGS,
    number,
    parent: |cells| cells.raw(PARENT),
    label: |cells| cells.text(COMMAND),
    measures: &[CPU_MEASURE],
    orders: &[],
};

static TOP: Top = Top {
    title: |_| "TOP PROCESSES sorted by $order (counters are $rate) $clock",
    blocks: &[Block {
        when: |_| true,
        title: "",
        headings: &["Pid  RSS Command"],
        show: Show::Cells(&[
            Cell::whole("", 4, |row| number(&row.now()).map(|number| number as f64)),
            Cell::whole(" ", 4, |row| row.gauge(RESIDENT)),
            Cell::left(" ", 0, |row| row.text(COMMAND)),
        ]),
    }],
    keep: |_, _| true,
    tie: |left, right| left.name().cmp(right.name()),
    ranks: &[
        Rank {
            name: "rss",
            about: "memory",
            kind: "Memory",
            by: By::Most(|row| row.gauge(RESIDENT)),
            shown_by: None,
        },
        Rank {
            name: "pid",
            about: "number",
            kind: "Others",
            by: By::Least(|row| number(&row.now()).map(|number| number as f64)),
            shown_by: None,
        },
    ],
};

const fn column(name: &'static str, fold: Fold, form: Form, value: Of) -> DigestColumn {
    DigestColumn { name, lead: "", width: 0, fold, form, value }
}

const COLUMNS: &[DigestColumn] = &[
    column("Pid", Fold::First, Form::Whole, Of::Number(|row| Some(number(&row.now())? as f64))),
    column("RSSMin", Fold::Least, Form::Whole, Of::Number(|row| row.gauge(RESIDENT))),
    column("RSSMax", Fold::Most, Form::Whole, Of::Number(|row| row.gauge(RESIDENT))),
    column("T", Fold::Gain, Form::Clock, Of::Number(|row| Some(row.raw(CPU)? as f64 / 1e9))),
    column("Command", Fold::First, Form::Left, Of::Text(|row| row.text(COMMAND))),
];

const fn digest(role: Role) -> Digest {
    Digest {
        name: "process",
        role,
        extension: "prcs",
        has_times: true,
        is_sorted: false,
        counts: |_| true,
        keep: |_| true,
        columns: COLUMNS,
    }
}

static LIVING_DIGEST: Digest = digest(Role::Living);
static ENDED_DIGEST: Digest = digest(Role::Ended);

static LIVING_LAYOUTS: &[Layout] = &[Layout {
    level: Level::Detail,
    account: Some(&LIVING_ACCOUNT),
    top: Some(&TOP),
    digest: Some(&LIVING_DIGEST),
    ..Layout::EMPTY
}];

static ENDED_LAYOUTS: &[Layout] = &[Layout {
    level: Level::Detail,
    account: Some(&ENDED_ACCOUNT),
    digest: Some(&ENDED_DIGEST),
    ..Layout::EMPTY
}];

static TOTAL_LAYOUTS: &[Layout] =
    &[Layout { level: Level::Detail, balance: Some(&BALANCE), ..Layout::EMPTY }];

/// The layouts of these sources.
pub(crate) fn layouts_of(name: &str) -> &'static [Layout] {
    match name {
        "living" => LIVING_LAYOUTS,
        "ended" => ENDED_LAYOUTS,
        "total" => TOTAL_LAYOUTS,
        _ => &[],
    }
}

static LIVING: LazyLock<Arc<SourceDef>> = LazyLock::new(|| {
    Arc::new(SourceDef {
        name: "living".into(),
        about: "Instances that live".into(),
        letters: "Z".into(),
        instance: vec!["pid".into(), "start".into()].into(),
        fields: FIELDS.into(),
        cadence: Cadence::Second,
    })
});

static ENDED: LazyLock<Arc<SourceDef>> = LazyLock::new(|| {
    Arc::new(SourceDef {
        name: "ended".into(),
        about: "Instances that ended".into(),
        letters: "Z".into(),
        instance: vec!["pid".into(), "start".into()].into(),
        fields: FIELDS.into(),
        cadence: Cadence::First,
    })
});

static BALANCE: Balance = Balance {
    busy_ns: |row| row.delta(0),
    attributed_ns: |row| row.delta(1),
    ends_lost: |row| row.delta(2),
    reports_each_end: |cells| cells.raw(2).is_some(),
};

static TOTAL: LazyLock<Arc<SourceDef>> = LazyLock::new(|| {
    Arc::new(SourceDef {
        name: "total".into(),
        about: "What the machine says".into(),
        letters: "Z".into(),
        instance: vec![].into(),
        fields: vec![
            Field::counter("busy", Unit::Nanoseconds, "CPU time"),
            Field::counter("attributed", Unit::Nanoseconds, "CPU time of instances"),
            Field::counter("lost", Unit::Count, "Ends lost"),
        ]
        .into(),
        cadence: Cadence::Second,
    })
});

/// A name with a newline and a cursor movement that is not UTF-8.
pub(crate) const HOSTILE: &[u8] = b"ev) R 1\n\x1b[2J\xff";

pub(crate) static DEFS: LazyLock<Vec<Arc<SourceDef>>> =
    LazyLock::new(|| vec![LIVING.clone(), ENDED.clone(), TOTAL.clone()]);

/// A row: number, start, CPU seconds, memory, command, parent.
type Instance = (u64, u64, f64, Option<i64>, &'static [u8], u64);

/// The living, if they are read, and the exits.
type Tick = (Option<Vec<Instance>>, Vec<Instance>);

fn fill(table: &mut Table, instances: &[Instance]) {
    for &(number, start, cpu, resident, command, parent) in instances {
        let mut row = table.row(format!("{number}\x1f{start}").as_bytes());
        row.set(CPU, (cpu * 1e9) as u64);
        if let Some(resident) = resident {
            row.set_signed(RESIDENT, resident);
        }
        row.set_text(COMMAND, command);
        row.set(PARENT, parent);
    }
}

/// The state at a tick: the living if they are read, and the exits.
fn instances(tick: u64) -> Tick {
    let init: Instance = (1, 0, 1.0, Some(100), b"init", 0);
    match tick {
        0 => (
            Some(vec![init, (7, 5, 10.0, Some(50), b"work", 1), (8, 6, 3.0, None, b"work", 1)]),
            // From before the first reading: belongs to no interval.
            vec![(2, 1, 99.0, None, b"old", 1)],
        ),
        1 => (
            // 7 gained half a second; 8 ended with an exit event; 9 is new; 10 began and ended
            // between.
            Some(vec![
                init,
                (7, 5, 10.5, Some(60), b"work", 1),
                (9, 50, 0.25, Some(10), HOSTILE, 7),
            ]),
            vec![(8, 6, 3.25, Some(5), b"work", 1), (10, 55, 0.5, Some(5), b"short", 8)],
        ),
        2 => (
            None,
            // The exit event of 9 comes between the readings.
            vec![(9, 50, 0.75, Some(20), HOSTILE, 7)],
        ),
        _ => (
            // 7's number is reused; 7 had no exit event, 11 had one and is still listed.
            Some(vec![
                init,
                (7, 90, 0.125, Some(1), b"again", 1),
                (11, 91, 0.5, Some(2), b"work", 1),
            ]),
            vec![(11, 91, 0.75, Some(2), b"work", 1)],
        ),
    }
}

/// The same without exit events: of 8 it is only known that it ended, and the usage of the children
/// of 1 is inferred.
fn instances_inferred(tick: u64) -> Tick {
    let init: Instance = (1, 0, 1.0, Some(100), b"init", 0);
    match tick {
        0 => (Some(vec![init, (8, 6, 3.0, None, b"work", 1)]), vec![]),
        _ => (Some(vec![init]), vec![(1, 0, 0.75, None, b"children of init", 1)]),
    }
}

/// Shows ticks 0 to 3, a second apart.
pub(crate) fn run(
    options: &Options,
    take: impl FnMut(&layout::Frame<'_>) -> io::Result<()>,
) -> io::Result<()> {
    run_over(instances, 4, true, options, take)
}

fn run_over(
    instances: fn(u64) -> Tick,
    ticks: u64,
    has_exit_events: bool,
    options: &Options,
    mut take: impl FnMut(&layout::Frame<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let options = &with_layouts(options);
    let mut meta = Meta::new();
    meta.set("host", "vm");
    let mut history = History::new(&DEFS);
    for tick in 0..ticks {
        let mut snapshot = Snapshot::new(&DEFS);
        snapshot.monotonic_ns = (100 + tick) * 1_000_000_000;
        snapshot.realtime_ns = (10 + tick).cast_signed() * 1_000_000_000;
        let (living, ended) = instances(tick);
        snapshot.fresh.copy_from_slice(&[living.is_some(), true, living.is_some()]);
        for sample in &mut snapshot.samples {
            sample.monotonic_ns = snapshot.monotonic_ns;
            sample.realtime_ns = snapshot.realtime_ns;
            sample.state = State::Ok;
        }
        fill(&mut snapshot.samples[0].table, &living.unwrap_or_default());
        fill(&mut snapshot.samples[1].table, &ended);
        let mut total = snapshot.samples[2].table.row(b"");
        total.set(0, 2_000_000_000 * tick);
        total.set(1, 1_500_000_000 * tick);
        total.set_some(2, has_exit_events.then_some(tick));
        history.push(&mut snapshot);
        take(&layout::Frame::new(&history, &meta, options))?;
    }
    Ok(())
}

/// The same options, with the layouts of these sources.
pub(crate) fn with_layouts(options: &Options) -> Options {
    Options { layouts: LayoutLookup(layouts_of), ..options.clone() }
}

/// The view's output if exits are inferred.
pub(crate) fn show_inferred(view: &mut dyn View, options: &Options) -> io::Result<String> {
    let options = &with_layouts(options);
    let mut out = Vec::new();
    let mut meta = Meta::new();
    meta.set("host", "vm");
    view.begin(&meta, &DEFS, options, &mut out)?;
    run_over(instances_inferred, 2, false, options, |frame| view.frame(frame, &mut out))?;
    view.end(&mut out as &mut dyn Write)?;
    Ok(String::from_utf8(out).expect("views write UTF-8"))
}

/// The view's output for the whole feed.
pub(crate) fn show(view: &mut dyn View, options: &Options) -> io::Result<String> {
    let options = &with_layouts(options);
    let mut out = Vec::new();
    let mut meta = Meta::new();
    meta.set("host", "vm");
    view.begin(&meta, &DEFS, options, &mut out)?;
    run(options, |frame| view.frame(frame, &mut out))?;
    view.end(&mut out as &mut dyn Write)?;
    Ok(String::from_utf8(out).expect("views write UTF-8"))
}

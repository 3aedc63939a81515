//! Every source of the registry is shown by every view, selected by its name alone: a new source
//! needs no line anywhere else.
//!
//! A source is read from the first kernel tree of `testkit` that it finds something in; those that
//! ask the running system get made-up numbers.  What collectl itself has no columns for is listed
//! with the reason.
#![allow(clippy::unwrap_used, reason = "a test that fails may panic, in its helpers too")]

use std::sync::Arc;

use jiff::tz::TimeZone;
use layout::{Frame, LayoutLookup, Options, Selection};
use procfs::Host;
use sample::{History, Level, Meta, Snapshot, SourceDef, State};
use source::{Entry, Sampler};
use testkit::trees::ALL as TREES;
use testkit::{FakeHost, SimClock};
use view::export::Setting;
use view::{Setup, View};

const SECOND: u64 = 1_000_000_000;
const TICKS: u64 = 3;

/// Why `lexpr` does not send a source of collectl's.
const NO_METRICS: &str = "collectl's lexpr has no names for it";

/// A view that does not show a source at a level, and why.  May only get shorter: a new source is
/// shown by all.
const NOT_SHOWN: &[(&str, &str, Level, &str)] = &[
    ("buddy", "lexpr", Level::Summary, NO_METRICS),
    ("buddy", "lexpr", Level::Detail, NO_METRICS),
    ("environment", "plot", Level::Detail, "collectl's columns are those that a machine's BMC has"),
    ("exit", "verbose", Level::Detail, "adds to the sums of living processes"),
    ("exit", "plot", Level::Detail, "adds to the sums of living processes"),
    ("exit", "lexpr", Level::Detail, NO_METRICS),
    ("process", "lexpr", Level::Detail, NO_METRICS),
    ("process_total", "plot", Level::Detail, "its columns would stand between those of processes"),
    ("process_total", "lexpr", Level::Detail, NO_METRICS),
    ("interrupt", "plot", Level::Summary, "collectl shows those of each CPU instead"),
    ("interrupt", "lexpr", Level::Summary, NO_METRICS),
    ("interrupt", "lexpr", Level::Detail, NO_METRICS),
    ("nfs", "lexpr", Level::Detail, NO_METRICS),
    ("slab", "brief", Level::Summary, "collectl has a table of several columns for it"),
    ("slab", "lexpr", Level::Summary, NO_METRICS),
    ("slab", "lexpr", Level::Detail, NO_METRICS),
    ("tcp", "verbose", Level::Detail, "collectl has them in plot format only"),
    ("tcp", "lexpr", Level::Detail, NO_METRICS),
];

/// The ticks of one source.
struct Readings {
    def: Arc<SourceDef>,
    history: History,
    snapshots: Vec<Snapshot>,
}

impl Readings {
    fn new(def: &Arc<SourceDef>, snapshots: Vec<Snapshot>) -> Self {
        Readings { history: History::new(std::slice::from_ref(def)), def: def.clone(), snapshots }
    }

    /// What a view writes of them.
    fn show(&mut self, view: &mut dyn View, options: &Options) -> String {
        let mut meta = Meta::new();
        meta.set("host", "vm");
        let mut out = Vec::new();
        self.history.forget();
        view.begin(&meta, std::slice::from_ref(&self.def), options, &mut out).unwrap();
        for snapshot in &self.snapshots {
            self.history.push(&mut only(snapshot, 0, &self.def));
            view.frame(&Frame::new(&self.history, &meta, options), &mut out).unwrap();
        }
        view.end(&mut out).unwrap();
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// Every source with readings from the first tree that it finds rows in, made up where there is
/// none.  The tree of 256 CPUs has nothing that others lack.
fn readings() -> Vec<Readings> {
    let entries: Vec<&'static Entry> = source::ALL.to_vec();
    let mut found: Vec<Option<Vec<Snapshot>>> = entries.iter().map(|_| None).collect();
    for tree in TREES.iter().filter(|tree| tree.name != "cpu256") {
        let fake = FakeHost::new().unwrap();
        let mut host = Host::new(fake.root());
        tree.write(fake.root(), 0).unwrap();
        let mut sampler = Sampler::open(&mut host, &entries, &Arc::default());
        let defs = sampler.defs();
        let mut clock = SimClock::default();
        let mut ticks = Vec::new();
        for tick in 0..TICKS {
            tree.write(fake.root(), tick.min(1)).unwrap();
            clock.advance(10 * SECOND);
            let mut snapshot = Snapshot::new(&defs);
            sampler.sample(&mut host, &mut clock, |_, _| State::Ok, &mut snapshot);
            ticks.push(snapshot);
        }
        for (index, found) in found.iter_mut().enumerate() {
            let has_rows = |tick: &Snapshot| {
                tick.samples[index].state == State::Ok && tick.samples[index].table.rows() > 0
            };
            if found.is_none() && ticks.iter().all(has_rows) {
                *found = Some(ticks.iter().map(|tick| only(tick, index, &defs[index])).collect());
            }
        }
    }
    let defs = entries.iter().map(|entry| entry.def().shared());
    let whole = |(def, found): (Arc<SourceDef>, Option<Vec<Snapshot>>)| {
        Readings::new(&def, found.unwrap_or_else(|| made_up(&def)))
    };
    defs.zip(found).map(whole).collect()
}

/// One source of a tick.
fn only(tick: &Snapshot, index: usize, def: &Arc<SourceDef>) -> Snapshot {
    let mut only = Snapshot::new(std::slice::from_ref(def));
    (only.monotonic_ns, only.realtime_ns) = (tick.monotonic_ns, tick.realtime_ns);
    only.fresh[0] = true;
    only.samples[0] = tick.samples[index].clone();
    only
}

/// Two rows with numbers that grow.
fn made_up(def: &Arc<SourceDef>) -> Vec<Snapshot> {
    let label = |row: u64| vec![format!("x{row}"); def.instance.len()].join("\x1f");
    let tick = |tick: u64| {
        let mut snapshot = Snapshot::new(std::slice::from_ref(def));
        snapshot.monotonic_ns = (tick + 1) * 10 * SECOND;
        snapshot.realtime_ns = snapshot.monotonic_ns.cast_signed();
        snapshot.fresh[0] = true;
        let sample = &mut snapshot.samples[0];
        sample.state = State::Ok;
        (sample.monotonic_ns, sample.realtime_ns) = (snapshot.monotonic_ns, snapshot.realtime_ns);
        let rows = if def.instance.is_empty() { 1 } else { 2 };
        for row in 0..rows {
            let mut cells = sample.table.row(label(row).as_bytes());
            for (index, field) in def.fields.iter().enumerate() {
                match field.kind {
                    sample::Kind::Text => cells.set_text(index, b"text"),
                    _ => cells.set(index, (tick + 1) * 1000 * (index as u64 + 1)),
                }
            }
        }
        snapshot
    };
    (0..TICKS).map(tick).collect()
}

/// Display options that show one source at a level, as `cli` makes them.
fn options(def: &SourceDef, level: Level, verbose: bool) -> Options {
    let mut selection = Selection::default();
    selection.push_name(&match level {
        Level::Summary => def.name.to_string(),
        Level::Detail => def.name.to_ascii_uppercase(),
    });
    Options {
        layouts: LayoutLookup(source::layouts_of),
        subsystems: selection,
        verbose,
        separator: " ".to_owned(),
        ..Options::default()
    }
}

/// Whether a line below the headings holds a number or a letter.
fn has_values(text: &str) -> bool {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.into_iter().any(|line| line.bytes().any(|byte| byte.is_ascii_alphanumeric()))
}

#[test]
fn every_view_shows_every_source_by_its_name() {
    let mut missing = Vec::new();
    for mut readings in readings() {
        let def = readings.def.clone();
        for level in def.levels() {
            let lines: &[&str] = match level {
                Level::Summary => &["brief", "verbose", "plot", "lexpr"],
                Level::Detail => &["verbose", "plot", "lexpr"],
            };
            for &name in lines.iter().chain(&["csv", "json", "openmetrics"]) {
                let setup = Setup::of(TimeZone::UTC);
                let mut view = match name {
                    "lexpr" => {
                        view::export::open("lexpr", &[], &setup, &Setting::default()).unwrap().view
                    }
                    _ => (view::find(name).unwrap().open)(&setup),
                };
                let text = readings.show(view.as_mut(), &options(&def, level, name == "verbose"));
                // Times hold digits: what is shown must be more than those.
                let shown = match name {
                    "csv" | "json" | "openmetrics" => text.contains(&*def.name),
                    "lexpr" => text.lines().any(|line| !line.starts_with("sample.time")),
                    // Behind the date and the time.
                    "plot" => text.lines().any(|line| line.split(' ').count() > 2),
                    _ => has_values(&text),
                };
                let excepted = NOT_SHOWN.iter().any(|(source, view, at, _)| {
                    *source == def.name && *view == name && *at == level
                });
                if shown == excepted {
                    missing
                        .push(format!("{} {level:?} {name}: shown is {shown}\n{text}", def.name));
                }
            }
        }
    }
    assert!(missing.is_empty(), "{} of them:\n{}", missing.len(), missing.join("\n"));
}

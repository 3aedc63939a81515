//! A small artificial feed for the tests of views: two sources, three ticks, an instance that ends,
//! one that begins and has a hostile name, a counter that is reset, an absent source.

use layout::LayoutLookup;
use sample::Level;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::LazyLock;

use layout::{DisplayOrder, Layout, Options, PlotColumn};
use sample::{Cadence, Field, History, Meta, Snapshot, SourceDef, State, Unit};

use crate::View;

pub(crate) mod instances;

static MEM_LAYOUTS: &[Layout] = &[Layout {
    level: Level::Summary,
    position: DisplayOrder { lexpr: 60, gexpr: 70, ..DisplayOrder::LAST },
    metrics: &[
        PlotColumn::new("meminfo.free", |row| row.gauge(0)).level(),
        PlotColumn::new("pageinfo.fault", |row| row.rate(1)),
        PlotColumn::fixed("cpuload.avg1", 2, |row| Some(row.gauge(0)? / 4.0)),
    ],
    ..Layout::EMPTY
}];

static DISK_LAYOUTS: &[Layout] = &[Layout {
    level: Level::Detail,
    position: DisplayOrder { lexpr: 120, gexpr: 40, ..DisplayOrder::LAST },
    metrics: &[
        PlotColumn::new("diskinfo.reads.{}", |row| row.rate(0)),
        PlotColumn::new("diskinfo.svctime.{}", |row| row.delta(1)),
    ],
    ..Layout::EMPTY
}];

/// The layouts of these sources.
pub(crate) fn layouts_of(name: &str) -> &'static [Layout] {
    match name {
        "mem" => MEM_LAYOUTS,
        "disk" => DISK_LAYOUTS,
        _ => &[],
    }
}

static MEM: LazyLock<Arc<SourceDef>> = LazyLock::new(|| {
    Arc::new(SourceDef {
        name: "mem".into(),
        about: "Memory of the demonstration".into(),
        letters: "m".into(),
        instance: vec![].into(),
        fields: vec![
            Field::gauge("free_kb", Unit::Kibibytes, "Memory with no use"),
            Field::counter("faults", Unit::Count, "Page faults"),
        ]
        .into(),
        cadence: Cadence::First,
    })
});

static DISK: LazyLock<Arc<SourceDef>> = LazyLock::new(|| {
    Arc::new(SourceDef {
        name: "disk".into(),
        about: "Disks of the demonstration".into(),
        letters: "dD".into(),
        instance: vec!["disk".into()].into(),
        fields: vec![
            Field::counter("reads", Unit::Count, "Reads \"finished\""),
            Field::counter("busy", Unit::Milliseconds, "Time with a request outstanding"),
            Field::text("model", "What the maker calls it"),
        ]
        .into(),
        cadence: Cadence::First,
    })
});

static NFS: LazyLock<Arc<SourceDef>> = LazyLock::new(|| {
    Arc::new(SourceDef {
        name: "nfs".into(),
        about: "A source that this machine lacks".into(),
        letters: "f".into(),
        instance: vec![].into(),
        fields: vec![Field::counter("calls", Unit::Count, "Calls made")].into(),
        cadence: Cadence::First,
    })
});

/// The hostile name: a comma, an escape, a byte that is not UTF-8, a quotation mark.
pub(crate) const HOSTILE: &[u8] = b"x,\x1b\xff\"";

/// A feed of three ticks at 10, 11 and 12 s after the epoch.
pub(crate) struct Feed {
    pub(crate) meta: Meta,
    options: Options,
}

impl Feed {
    pub(crate) fn new(mut options: Options) -> Self {
        options.layouts = LayoutLookup(layouts_of);
        let mut meta = Meta::new();
        meta.set("host", "vm");
        Feed { meta, options }
    }

    /// Shows the whole feed.
    pub(crate) fn run(&mut self, view: &mut dyn View, out: &mut dyn Write) -> io::Result<()> {
        let defs = [MEM.clone(), DISK.clone(), NFS.clone()];
        let mut history = History::new(&defs);
        view.begin(&self.meta, &defs, &self.options, out)?;
        for tick in 0..3 {
            let mut snapshot = tick_of(tick, &defs);
            history.push(&mut snapshot);
            view.frame(&layout::Frame::new(&history, &self.meta, &self.options), out)?;
        }
        view.end(out)
    }

    /// The view's output for the whole feed.
    pub(crate) fn show(&mut self, view: &mut dyn View) -> String {
        self.try_show(view).unwrap()
    }

    pub(crate) fn try_show(&mut self, view: &mut dyn View) -> io::Result<String> {
        let mut bytes = Vec::new();
        self.run(view, &mut bytes)?;
        Ok(String::from_utf8(bytes).expect("views write UTF-8"))
    }
}

fn tick_of(tick: u64, defs: &[Arc<SourceDef>]) -> Snapshot {
    let mut snapshot = Snapshot::new(defs);
    snapshot.monotonic_ns = (100 + tick) * 1_000_000_000;
    snapshot.realtime_ns = (10 + tick).cast_signed() * 1_000_000_000;
    snapshot.fresh.fill(true);
    for sample in &mut snapshot.samples {
        sample.monotonic_ns = snapshot.monotonic_ns;
        sample.realtime_ns = snapshot.realtime_ns;
        sample.state = State::Ok;
    }
    let mut row = snapshot.samples[0].table.row(b"");
    row.set(0, 1);
    // The counter is reset at the last tick.
    row.set(1, [100, 150, 3][usize::try_from(tick).unwrap()]);
    let disks = &mut snapshot.samples[1].table;
    let mut row = disks.row(b"a");
    row.set(0, [0, 10, 15][usize::try_from(tick).unwrap()]);
    row.set(1, 250 * tick);
    if tick < 2 {
        disks.row(b"gone").set(0, tick);
    } else {
        let mut row = disks.row(HOSTILE);
        row.set(0, 7);
        row.set_text(2, b"q\"");
    }
    snapshot.samples[2].state = State::Absent;
    snapshot
}

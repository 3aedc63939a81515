//! collectl's formats over a small made-up feed: what stands on the screen, character by
//! character, and what the plot files get.
#![allow(clippy::unwrap_used, reason = "a test that fails may panic, in its helpers too")]

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use jiff::tz::TimeZone;
use layout::{
    Block, Cell, Frame, Layout, LetterRule, NameFilter, OptionKind, OptionValue, Options, Part,
    Plot, PlotColumn, Row, Shape, Show, SourceOption, SourceValues, Stat,
};
use sample::{Cadence, Field, History, Level, Meta, Snapshot, SourceDef, State, Unit};
use view::{PlotFiles, Setup};

static DISK_OPTIONS: SourceOption = SourceOption {
    name: "dskopts",
    kind: OptionKind::Letters { known: "kz", default: "" },
    rules: &[LetterRule::LeavesOutIdle("z")],
    ..SourceOption::EMPTY
};

static DISK_FILTER: SourceOption =
    SourceOption { name: "dskfilt", kind: OptionKind::NamePatterns, ..SourceOption::EMPTY };

static SLAB_FILTER: SourceOption =
    SourceOption { name: "slabfilt", kind: OptionKind::NamePrefixes, ..SourceOption::EMPTY };

const READS: usize = 0;
const BYTES: usize = 1;
const QUEUE: usize = 2;

fn reads(row: &Row<'_>) -> Option<f64> {
    row.rate(READS)
}

fn kilobytes(row: &Row<'_>) -> Option<f64> {
    Some(row.rate(BYTES)? / 1024.0)
}

fn disk_title(frame: &Frame<'_>, part: Part, out: &mut Vec<u8>) {
    let text: &[u8] = match part {
        Part::Title => b"DISKS$hyper ($rate)",
        Part::Heading => b"<-two->\nName       Reads",
        Part::Notice | Part::Body => b"",
    };
    assert!(frame.seconds > 0.0);
    out.extend_from_slice(text);
}

fn stacked(_frame: &Frame<'_>, part: Part, out: &mut Vec<u8>) {
    out.extend_from_slice(match part {
        Part::Title => b"KINDS",
        Part::Heading => b" one\n two\n",
        Part::Body => b"   1\n   2\n",
        Part::Notice => b"",
    });
}

static DISK_LAYOUTS: &[Layout] = &[
    Layout {
        level: Level::Summary,
        brief: &[Block {
            when: |_| true,
            title: "<---Disks--->",
            headings: &["  KB Reads Sz "],
            show: Show::Cells(&[
                Cell::binary("", 4, 0, |row| row.sum(|_| true, kilobytes)),
                Cell::scaled(" ", 5, |row| row.sum(|_| true, reads)),
                Cell::whole(" ", 2, |row| {
                    Some(row.sum(|_| true, kilobytes)? / row.sum(|_| true, reads)?)
                })
                .stat(Stat::Ratio { dividend: 0, divisor: 1, factor: 1.0 }),
            ]),
        }],
        verbose: &[
            Block {
                when: |_| true,
                title: "DISK SUMMARY ($rate)",
                headings: &["<-upper->", "  Reads"],
                show: Show::Cells(&[Cell::whole("  ", 6, |row| row.sum(|_| true, reads))]),
            },
            Block {
                when: |options| options.has('g'),
                title: "",
                headings: &["<more>", "  KB"],
                show: Show::Cells(&[Cell::fixed(" ", 5, 1, |row| row.sum(|_| true, kilobytes))]),
            },
        ],
        plot: Some(Plot {
            tag: "DSK",
            columns: &[
                PlotColumn::new("Reads$rate", |row| row.sum(|_| true, reads)),
                PlotColumn::fixed("KB", 2, |row| row.sum(|_| true, kilobytes)),
            ],
            ..Plot::EMPTY
        }),
        ..Layout::EMPTY
    },
    Layout {
        level: Level::Detail,
        verbose: &[
            Block {
                when: |options| !options.value(&DISK_OPTIONS).has('k'),
                title: "",
                headings: &[],
                show: Show::Headed(
                    disk_title,
                    &[
                        Cell::left("", 10, |row| Some(row.name())),
                        Cell::whole(" ", 5, reads),
                        Cell::position(" ", 1),
                    ],
                ),
            },
            Block {
                when: |options| options.value(&DISK_OPTIONS).has('k'),
                title: "",
                headings: &[],
                show: Show::Stacked(stacked),
            },
        ],
        plot: Some(Plot {
            tag: "DSK",
            extension: "dsk",
            columns: &[
                PlotColumn::text("Name", |row| Some(row.name())),
                PlotColumn::new("Reads", reads),
                PlotColumn::whole("Queue", |row| row.gauge(QUEUE))
                    .applies(|row| row.name() != b"b"),
            ],
            ..Plot::EMPTY
        }),
        keep: |row| {
            let options = row.options();
            options.value(&DISK_FILTER).keeps(row.name())
                && !(options.value(&DISK_OPTIONS).has('z') && row.rate(READS) == Some(0.0))
        },
        order: Some(|left, right| left.name().cmp(right.name())),
        ..Layout::EMPTY
    },
];

static SLAB_LAYOUTS: &[Layout] = &[Layout {
    level: Level::Detail,
    headings_each_time: Some(|options| options.value(&SLAB_FILTER).is_set()),
    verbose: &[Block {
        when: |_| true,
        title: "SLABS",
        headings: &["Name  Objects"],
        show: Show::Cells(&[
            Cell::left("", 5, |row| Some(row.name())),
            Cell::whole(" ", 7, |row| row.gauge(0)),
        ]),
    }],
    plot: Some(Plot {
        extension: "slb",
        shape: Shape::Lines,
        columns: &[
            PlotColumn::text("SlabName", |row| Some(row.name())),
            PlotColumn::whole("Objects", |row| row.gauge(0)),
        ],
        ..Plot::EMPTY
    }),
    from_second_reading: true,
    ..Layout::EMPTY
}];

/// The layouts of these sources.
pub(crate) fn layouts_of(name: &str) -> &'static [Layout] {
    match name {
        "disk" => DISK_LAYOUTS,
        "slab" => SLAB_LAYOUTS,
        _ => &[],
    }
}

static DISK: LazyLock<Arc<SourceDef>> = LazyLock::new(|| {
    Arc::new(SourceDef {
        name: "disk".into(),
        about: "Disks".into(),
        letters: "dD".into(),
        instance: vec!["disk".into()].into(),
        fields: vec![
            Field::counter("reads", Unit::Count, "Reads"),
            Field::counter("bytes", Unit::Bytes, "Bytes"),
            Field::gauge("queue", Unit::Count, "Requests"),
        ]
        .into(),
        cadence: Cadence::First,
    })
});

static SLAB: LazyLock<Arc<SourceDef>> = LazyLock::new(|| {
    Arc::new(SourceDef {
        name: "slab".into(),
        about: "Slabs".into(),
        letters: "Y".into(),
        instance: vec!["slab".into()].into(),
        fields: vec![Field::gauge("objects", Unit::Count, "Objects")].into(),
        cadence: Cadence::Second,
    })
});

/// A source without a layout.
static OTHER: LazyLock<Arc<SourceDef>> = LazyLock::new(|| {
    Arc::new(SourceDef {
        name: "volume".into(),
        about: "Volumes".into(),
        letters: "vV".into(),
        instance: vec!["volume".into()].into(),
        fields: vec![
            Field::gauge("free", Unit::Bytes, "Free"),
            Field::counter("faults_seen", Unit::Count, "Faults"),
        ]
        .into(),
        cadence: Cadence::First,
    })
});

static DEFS: LazyLock<Vec<Arc<SourceDef>>> =
    LazyLock::new(|| vec![DISK.clone(), SLAB.clone(), OTHER.clone()]);

/// Rows of a disk reading: name, reads, bytes, queue.
type Disks = &'static [(&'static [u8], u64, u64, u64)];

/// Ticks 2 s apart, from 2026-11-21 09:16:09.001 UTC on.  `None`: the reading failed.
fn ticks(disks: &[Option<Disks>]) -> Vec<Snapshot> {
    let tick = |(at, disks): (usize, &Option<Disks>)| {
        let mut snapshot = Snapshot::new(&DEFS);
        let nanoseconds = at as u64 * 2_000_000_000;
        snapshot.monotonic_ns = 5_000_000_000 + nanoseconds;
        snapshot.realtime_ns = 1_795_252_569_001_000_000 + nanoseconds as i64;
        // Slabs are read at every second tick.
        snapshot.fresh = vec![true, at % 2 == 0, true];
        for sample in &mut snapshot.samples {
            sample.monotonic_ns = snapshot.monotonic_ns;
            sample.realtime_ns = snapshot.realtime_ns;
            sample.state = State::Ok;
        }
        match disks {
            None => snapshot.samples[0].state = State::Denied,
            Some(rows) => {
                for (name, reads, bytes, queue) in *rows {
                    let mut row = snapshot.samples[0].table.row(name);
                    row.set(READS, *reads);
                    row.set(BYTES, *bytes);
                    row.set(QUEUE, *queue);
                }
            }
        }
        snapshot.samples[1].table.row(b"dentry").set(0, 100 + at as u64);
        let mut volume = snapshot.samples[2].table.row(b"/");
        volume.set(0, 123_456_789);
        volume.set(1, at as u64 * 10);
        snapshot
    };
    disks.iter().enumerate().map(tick).collect()
}

const STEADY: &[Option<Disks>] = &[
    Some(&[(b"b", 100, 10_240, 1), (b"a", 10, 0, 0)]),
    Some(&[(b"b", 120, 51_200, 2), (b"a", 10, 0, 0)]),
    Some(&[(b"b", 140, 92_160, 3), (b"a", 30, 4096, 0)]),
];

fn meta() -> Meta {
    let mut meta = Meta::new();
    meta.set("host", "Vm\x1b7");
    meta.set("interval_ns", "2000000000");
    meta.set("subsystems", "dDY");
    meta
}

/// The options with letters for disks.
fn with_letters(letters: &str, options: Options) -> Options {
    let letters = OptionValue::Text(letters.to_owned());
    Options { of_sources: SourceValues::default().with(&DISK_OPTIONS, letters), ..options }
}

fn options(subsystems: &str, letters: &str) -> Options {
    Options {
        layouts: layout::LayoutLookup(layouts_of),
        subsystems: subsystems.into(),
        letters: letters.into(),
        ..Options::default()
    }
}

fn play(view: &str, options: &Options, disks: &[Option<Disks>]) -> String {
    show(&Setup::of(TimeZone::UTC), view, options, disks)
}

fn show(setup: &Setup, view: &str, options: &Options, disks: &[Option<Disks>]) -> String {
    let (meta, mut out) = (meta(), Vec::new());
    let mut view = (view::find(view).unwrap().open)(setup);
    let mut history = History::new(&DEFS);
    view.begin(&meta, &DEFS, options, &mut out).unwrap();
    for mut snapshot in ticks(disks) {
        history.push(&mut snapshot);
        view.frame(&layout::Frame::new(&history, &meta, options), &mut out).unwrap();
    }
    view.end(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn brief_has_one_line_an_interval() {
    let expected = "\
#<---Disks--->
#  KB Reads Sz\x20
   20    10  2\x20
   22    20  1\x20
";
    assert_eq!(play("brief", &options("d", ""), STEADY), expected);
    let expected = "\
#         <---Disks--->
#Time       KB Reads Sz\x20
09:16:11    20    10  2\x20
09:16:13    22    20  1\x20
";
    assert_eq!(play("brief", &options("d", "T"), STEADY), expected);
}

#[test]
fn brief_headings_repeat_as_asked() {
    let count = |header_repeat| {
        let options = Options { header_repeat, ..options("d", "") };
        play("brief", &options, &[STEADY, STEADY].concat()).matches("Reads").count()
    };
    assert_eq!([None, Some(0), Some(-1), Some(1), Some(2)].map(count), [1, 1, 0, 5, 3]);
}

#[test]
fn what_was_not_read_is_a_dash_and_under_exact_a_zero() {
    let failing = [STEADY[0], STEADY[1], None];
    let last =
        |options: &Options| play("brief", options, &failing).lines().last().unwrap().to_owned();
    assert_eq!(last(&options("d", "")), "    -     -  - ");
    let exact = Options { exact: true, ..options("d", "") };
    assert!(!last(&exact).contains('-'), "{:?}", last(&exact));
}

#[test]
fn totals_follow_the_kind_of_each_cell() {
    let stats = |statopts: &str, letters: &str| {
        let statopts = statopts.to_owned();
        play("brief", &Options { stats: true, statopts, ..options("d", letters) }, STEADY)
    };
    // 84 KiB and 60 reads in 4 s; one interval is 2 s.
    assert_eq!(stats("", ""), "#<---Disks--->\n#  KB Reads Sz \nT  42    30  1 \n");
    let expected = "\
#<---Disks--->
#  KB Reads Sz\x20
   20    10  2\x20
   22    20  1\x20
A  21    15  1\x20
T  42    30  1\x20
";
    assert_eq!(stats("ai", ""), expected);
}

#[test]
fn lines_fit_a_narrow_terminal() {
    let narrow = Options { terminal_columns: Some(8), ..options("d", "T") };
    for view in ["brief", "verbose"] {
        let text = play(view, &narrow, STEADY);
        assert!(text.lines().all(|line| line.len() <= 8) && text.lines().count() > 3, "{text}");
    }
}

#[test]
fn a_narrow_terminal_loses_whole_sections_and_no_digit() {
    let at = |columns| {
        let options = Options { whole_sections: true, ..options("dv", "T") };
        play("brief", &Options { terminal_columns: Some(columns), ..options }, STEADY)
    };
    let whole = at(200);
    let trimmed = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect();
    let lines: Vec<String> = trimmed(&whole);
    let width = lines.iter().map(String::len).max().unwrap();
    assert_eq!(lines, trimmed(&at(width)), "it fits just, but for a blank at the end");
    let expected = "\
# +volume: widen, or -s v
#         <---Disks--->
#Time       KB Reads Sz\x20
09:16:11    20    10  2\x20
09:16:13    22    20  1\x20
";
    for columns in [width - 1, 40, 25] {
        assert_eq!(at(columns), expected, "{columns}");
    }
    // Without room for any section, the first is cut.
    assert!(at(12).lines().skip(1).all(|line| line.len() <= 12), "{}", at(12));
}

#[test]
fn verbose_with_one_subsystem_keeps_its_heading() {
    let expected = "
# DISK SUMMARY (/sec)
#         <-upper-><more>
#Time       Reads  KB
09:16:11       10  20.0
09:16:13       20  22.0
";
    assert_eq!(play("verbose", &options("d", "Tg"), STEADY), expected);
}

#[test]
fn stacked_tables_have_their_headings_above_each() {
    let kinds = with_letters("k", options("D", "T"));
    let expected = "
# KINDS
#Time      one
09:16:11    1
#Time      two
09:16:11    2
09:16:13    1
09:16:13    2
";
    assert_eq!(play("verbose", &kinds, STEADY), expected);
}

#[test]
fn verbose_with_several_tells_the_time_of_each_record() {
    let expected = "
### RECORD    1 >>> vm\\x1b7 <<< (1795252571.001) (Sat Nov 21 09:16:11 2026) ###

# DISK SUMMARY (/sec)
#<-upper->
#  Reads
      10

# DISKS (/sec)
#<-two->
#Name       Reads
a              0 0
b             10 1
";
    let recorded = Setup { playing: true, ..Setup::of(TimeZone::UTC) };
    let text = show(&recorded, "verbose", &options("Dd", "T"), STEADY);
    assert!(text.starts_with(expected), "{text}");
    assert_eq!(text.matches("### RECORD").count(), 2);
    // Live lines have the time, too, as in collectl.
    let text = play("verbose", &options("Dd", "T"), STEADY);
    assert!(text.contains("#Time       Reads\n09:16:11       10\n"), "{text}");
    assert!(
        text.contains("\n#         <-two->\n#Time     Name       Reads\n09:16:11 a "),
        "{text}"
    );
    assert!(play("verbose", &options("Dd", ""), STEADY).starts_with(expected));
}

#[test]
fn detail_heeds_filters_and_options() {
    let base = || options("D", "");
    let idle = with_letters("z", base());
    let text = play("verbose", &idle, STEADY);
    assert!(
        text.ends_with("Reads\nb             10 0\na             10 0\nb             10 1\n"),
        "{text}"
    );
    let filter = OptionValue::Names(NameFilter::new(|name| name == b"a"));
    let of_sources = SourceValues::default().with(&DISK_FILTER, filter);
    let only = Options { of_sources, ..base() };
    assert!(!play("verbose", &only, STEADY).contains("\nb "));
}

#[test]
fn slabs_begin_with_their_second_reading() {
    let text = play("verbose", &options("Y", ""), STEADY);
    assert_eq!(text.matches("dentry").count(), 1);
    assert!(text.ends_with("\n# SLABS\n#Name  Objects\ndentry     102\n"), "{text}");
    let expected = "#Date Time SlabName Objects\n20261121 09:16:13 dentry 102\n";
    let plot = play("plot", &options("Y", ""), STEADY);
    assert!(plot.contains(expected), "{plot}");
}

#[test]
fn plot_puts_summaries_before_details() {
    let expected = "\
#Date Time [DSK]Reads/sec [DSK]KB [DSK:b]Name [DSK:b]Reads [DSK:a]Name [DSK:a]Reads [DSK:a]Queue
20261121 09:16:11 10 20.00 b 10 a 0 0
20261121 09:16:13 20 22.00 b 10 a 10 0
";
    // Options that leave out idle disks do not take columns away.
    let options = with_letters("z", options("Dd", ""));
    assert_eq!(play("plot", &options, STEADY), expected);
}

#[test]
fn plot_columns_stay_when_instances_come_and_go() {
    let changing: &[Option<Disks>] = &[
        STEADY[0],
        STEADY[1],
        Some(&[(b"x y\n", 5, 0, 7), (b"a", 20, 0, 0)]),
        Some(&[(b"x y\n", 9, 0, 7), (b"a", 20, 0, 0)]),
    ];
    let options = Options { separator: ",".into(), utc: true, ..options("D", "1") };
    let expected = "\
#UTC,[DSK:b]Name,[DSK:b]Reads,[DSK:a]Name,[DSK:a]Reads,[DSK:a]Queue
1795252571,b,10.0,a,0.0,0
#UTC,[DSK:b]Name,[DSK:b]Reads,[DSK:a]Name,[DSK:a]Reads,[DSK:a]Queue,\
[DSK:x y\\x0a]Name,[DSK:x y\\x0a]Reads,[DSK:x y\\x0a]Queue
1795252573,,,a,5.0,0,x y\\x0a,,7
1795252575,,,a,0.0,0,x y\\x0a,2.0,7
";
    assert_eq!(play("plot", &options, changing), expected);
}

#[test]
fn plot_lines_have_the_header_block_that_is_asked_for() {
    let plain = play("plot", &options("d", ""), STEADY);
    let text = play("plot", &options("d", "i"), STEADY);
    let rule = "#".repeat(80);
    let (block, lines) = text.rsplit_once(&format!("{rule}\n")).unwrap();
    assert_eq!(lines, plain);
    assert!(block.starts_with(&format!("{rule}\n# Collectl:   V4.3.1-whit")), "{block}");
    assert!(block.contains("# SubSys:     d Options: i Interval: 2 "), "{block}");
    assert!(!block.contains("RECORDED"), "nothing was recorded: {block}");
}

#[test]
fn totals_have_the_columns_that_are_made_from_fields() {
    let stats = Options { stats: true, statopts: "ai".into(), ..options("v", "") };
    let expected = "#<-----volume------>
#  free faults_seen 
   123M           5 
   123M           5 
A  123M           5 
T  123M          10 
";
    assert_eq!(play("brief", &stats, STEADY), expected);
}

#[test]
fn plot_files_have_each_their_header_and_lines() {
    let (meta, options) = (meta(), options("dDY", ""));
    let mut files = PlotFiles::new(TimeZone::UTC);
    files.begin(&meta, &DEFS, &options, "-p x -P");
    assert_eq!(files.extensions().collect::<Vec<_>>(), ["tab", "dsk", "slb"]);
    let mut written: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut history = History::new(&DEFS);
    for mut snapshot in ticks(STEADY) {
        history.push(&mut snapshot);
        let mut sink = |extension: &str, text: &[u8]| {
            written.entry(extension.to_owned()).or_default().extend_from_slice(text);
            Ok(())
        };
        files.frame(&layout::Frame::new(&history, &meta, &options), &mut sink).unwrap();
    }
    let text = |extension: &str| String::from_utf8(written[extension].clone()).unwrap();
    let rule = "#".repeat(80);
    let side = "#".repeat(35);
    assert!(text("tab").starts_with(&format!("{side} RECORDED {side}\n# Whit:  ")));
    assert!(text("tab").contains("Options: -p x -P\n"));
    let body = |extension: &str| text(extension).rsplit_once(&rule).unwrap().1.to_owned();
    let tab = "
#Date Time [DSK]Reads/sec [DSK]KB
20261121 09:16:11 10 20.00
20261121 09:16:13 20 22.00
";
    assert_eq!(body("tab"), tab);
    assert_eq!(body("dsk").lines().count(), 4);
    let slb = "\n#Date Time SlabName Objects\n20261121 09:16:13 dentry 102\n";
    assert_eq!(body("slb"), slb);
}

#[test]
fn a_source_without_layout_is_shown_by_its_fields() {
    let brief = play("brief", &options("v", ""), STEADY);
    assert_eq!(
        brief,
        "#<-----volume------>\n#  free faults_seen \n   123M           5 \n   123M           5 \n"
    );
    let verbose = play("verbose", &options("V", ""), STEADY);
    assert!(
        verbose.contains("# VOLUME DETAIL\n# volume            free faults_seen \n /"),
        "{verbose}"
    );
    let plot = play("plot", &options("vV", ""), STEADY);
    let expected = "\
#Date Time [VOLUME]free [VOLUME]faults_seen [VOLUME:/]free [VOLUME:/]faults_seen
20261121 09:16:11 123456789 5 123456789 5
";
    assert!(plot.starts_with(expected), "{plot}");
}

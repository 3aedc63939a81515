//! Every source over every kernel tree, twice, with counters that have grown in between.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use layout::{Frame, Of, Options, Row, Show};
use procfs::Host;
use sample::{History, Kind, Meta, Snapshot, State};
use source::{Entry, Sampler};
use testkit::trees::{ALL as TREES, Tree};
use testkit::{FakeHost, SimClock, as_nobody};

const SECOND: u64 = 1_000_000_000;

/// Reads every source before and after one step, into a history.
fn read_twice(tree: &Tree, fake: &FakeHost) -> History {
    let entries: Vec<&'static Entry> = source::ALL.to_vec();
    let mut host = Host::new(fake.root());
    let mut sampler = Sampler::open(&mut host, &entries, &Arc::default());
    let mut clock = SimClock::default();
    clock.set_look_ns(1000);
    let defs = sampler.defs();
    let (mut history, mut snapshot) = (History::new(&defs), Snapshot::new(&defs));
    for step in 0..2 {
        tree.write(fake.root(), step).expect("writing the tree");
        sampler.sample(&mut host, &mut clock, |_, _| State::Ok, &mut snapshot);
        history.push(&mut snapshot);
        clock.advance(SECOND);
    }
    history
}

fn state_of(history: &History, name: &str) -> (State, usize) {
    let (meta, options) = (Meta::new(), Options::default());
    let frame = layout::Frame::new(history, &meta, &options);
    let track = frame.tracks.iter().find(|track| track.def.name == name);
    let track = track.expect("every source was opened");
    (track.current.state, track.current.table.rows())
}

/// What a tree must give: source and least rows.
const WANTED: &[(&str, &[(&str, usize)])] = &[
    (
        "vm2",
        &[
            ("buddy", 3),
            ("cgroup", 5),
            ("compressed", 2),
            ("cpu", 1),
            ("cpu_core", 2),
            ("disk", 10),
            ("inode", 1),
            ("interrupt", 10),
            ("memory", 1),
            ("network", 4),
            ("numa", 1),
            ("pressure", 3),
            ("slab", 100),
            ("socket", 1),
            ("softirq", 2),
            ("tcp", 1),
        ],
    ),
    (
        "cpu256",
        &[
            ("buddy", 6),
            ("compressed", 3),
            ("cpu", 1),
            ("cpu_core", 256),
            ("disk", 64),
            ("environment", 1),
            ("interrupt", 600),
            ("network", 14),
            ("numa", 4),
            ("pressure", 4),
            ("schedstat", 256),
            ("softirq", 256),
        ],
    ),
    ("cgroup2", &[("cgroup", 41)]),
    ("infiniband", &[("infiniband", 2)]),
    ("nfs", &[("nfs", 2)]),
    (
        "old",
        &[
            ("buddy", 2),
            ("cgroup", 2),
            ("cpu", 1),
            ("disk", 3),
            ("inode", 1),
            ("memory", 1),
            ("network", 2),
            ("schedstat", 2),
            ("slab", 2),
            ("socket", 1),
            ("softirq", 2),
            ("tcp", 1),
        ],
    ),
    ("processes", &[("cpu", 1), ("memory", 1), ("process", 10), ("process_total", 1)]),
    ("sparse", &[("cgroup", 2), ("cpu", 1), ("memory", 1), ("network", 1)]),
    ("guest-5.10", GUEST),
    ("guest-6.1", GUEST),
    ("guest-6.12", GUEST),
    (
        "guest-6.1-48-cpus",
        &[
            ("buddy", 9),
            ("cpu", 1),
            ("cpu_core", 48),
            ("interrupt", 20),
            ("memory", 1),
            ("numa", 8),
            ("schedstat", 48),
            ("slab", 50),
            ("softirq", 48),
        ],
    ),
];

/// What each kernel that users run must give.
const GUEST: &[(&str, usize)] = &[
    ("buddy", 2),
    ("cgroup", 3),
    ("cpu", 1),
    ("cpu_core", 4),
    ("inode", 1),
    ("interrupt", 20),
    ("memory", 1),
    ("network", 1),
    ("numa", 1),
    ("pressure", 3),
    ("process", 4),
    ("process_total", 1),
    ("schedstat", 4),
    ("slab", 50),
    ("socket", 1),
    ("softirq", 4),
    ("tcp", 1),
];

#[test]
fn every_source_over_every_tree() {
    for tree in TREES {
        let fake = FakeHost::new().unwrap();
        let history = read_twice(tree, &fake);
        let wanted = WANTED.iter().find(|(name, _)| *name == tree.name).unwrap().1;
        let has_processes = state_of(&history, "process").0 == State::Ok;
        let total = state_of(&history, "process_total");
        assert_eq!(total.0 == State::Ok && total.1 == 1, has_processes, "{}", tree.name);
        for (name, rows_min) in wanted {
            if source::find(name).is_none() {
                continue;
            }
            let (state, rows) = state_of(&history, name);
            assert_eq!(state, State::Ok, "{}: {name}", tree.name);
            assert!(rows >= *rows_min, "{}: {name} has {rows} rows", tree.name);
        }
        let (meta, options) = (Meta::new(), Options::default());
        let frame = layout::Frame::new(&history, &meta, &options);
        for track in frame.tracks {
            let at = format!("{}: {}", tree.name, track.def.name);
            // An empty file makes no sense; anything else that is there must.
            let is_sparse = tree.name == "sparse";
            let failed = matches!(track.current.state, State::Failed(_));
            assert!(!failed || is_sparse, "{at}: {:?}", track.current.state);
            if track.current.state == State::Ok && track.current.table.rows() > 0 {
                check_values(&frame.whole(track), &at);
            }
        }
    }
}

/// Every row holds something, no counter went back, and at least one of those above 0 grew.
fn check_values(whole: &Row<'_>, at: &str) {
    let fields = &whole.track.def.fields;
    let (mut grown, mut counters) = (0, 0);
    for row in whole.rows() {
        let held = (0..fields.len()).filter(|&field| row.raw(field).is_some()).count();
        assert!(held > 0, "{at}: the row {:?} is empty", String::from_utf8_lossy(row.name()));
        for (index, field) in fields.iter().enumerate() {
            if field.kind == Kind::Counter && row.raw(index).is_some() {
                assert!(!row.was_reset(index), "{at}.{} went back", field.name);
                counters += u32::from(row.raw(index) != Some(0));
                grown += u32::from(row.delta(index).is_some_and(|delta| delta > 0.0));
            }
        }
    }
    assert!(
        counters == 0 || grown > 0,
        "{at}: none of {counters} counters grew: a copy taken later belongs into the tree's `later`"
    );
}

#[test]
fn every_layout_can_be_shown_over_every_tree() {
    for tree in TREES {
        let fake = FakeHost::new().unwrap();
        let history = read_twice(tree, &fake);
        for exact in [false, true] {
            let (meta, options) = (Meta::new(), Options { exact, ..Options::default() });
            let frame = layout::Frame::new(&history, &meta, &options);
            for track in frame.tracks.iter().filter(|track| track.current.state == State::Ok) {
                let whole = frame.whole(track);
                for layout in source::layouts_of(&track.def.name) {
                    let at = format!("{} {} {:?}", tree.name, track.def.name, layout.level);
                    show(&frame, &whole, layout, &at);
                }
            }
        }
    }
}

fn show(frame: &Frame<'_>, whole: &Row<'_>, layout: &layout::Layout, at: &str) {
    let rows: Vec<Row<'_>> = if layout.level == sample::Level::Detail {
        whole.rows().filter(|row| (layout.keep)(row)).collect()
    } else {
        vec![*whole]
    };
    let blocks = layout.brief.iter().chain(layout.verbose);
    for block in blocks.filter(|block| (block.when)(frame.options)) {
        let cells: &[layout::Cell] = match &block.show {
            Show::Cells(cells) | Show::Headed(_, cells) => cells,
            Show::Custom(write) | Show::Stacked(write) | Show::Repeated(write, ..) => {
                let mut out = Vec::new();
                for part in [layout::Part::Title, layout::Part::Heading, layout::Part::Body] {
                    write(frame, part, &mut out);
                }
                continue;
            }
        };
        rows.iter().for_each(|row| cells.iter().for_each(|cell| check_of(cell.value, row, at)));
    }
    let columns = layout.plot.iter().flat_map(|plot| plot.columns).chain(layout.metrics);
    for column in columns {
        rows.iter().for_each(|row| check_of(column.value, row, at));
    }
}

fn check_of(value: Of, row: &Row<'_>, at: &str) {
    match value {
        Of::Number(number) => {
            let number = number(row);
            assert!(number.is_none_or(f64::is_finite), "{at}: {number:?}");
        }
        Of::Text(text) => {
            text(row);
        }
        Of::Written(write) => write(row, &mut Vec::new()),
        Of::Position => {}
    }
}

#[test]
fn files_of_others_are_denied_and_not_absent() {
    let tree = testkit::trees::find("sparse").unwrap();
    let fake = FakeHost::new().unwrap();
    tree.write(fake.root(), 0).unwrap();
    // Whoever runs this owns the files, and may read what only the owner may.
    tree.denied.iter().for_each(|path| fake.deny(path).unwrap());
    let states = as_nobody(|| {
        let mut host = Host::new(fake.root());
        let mut read = |name: &str| {
            let Some(entry) = source::find(name) else { return State::Denied };
            let mut opened = (entry.open)(&mut host, &Arc::default());
            opened.read(&mut host, &mut sample::Table::new(entry.fields.len()))
        };
        ["softirq", "disk", "slab", "pressure", "buddy", "cpu"].map(&mut read)
    });
    use State::{Absent, Denied, Ok};
    assert_eq!(states, [Denied, Denied, Denied, Denied, Absent, Ok]);
}

#[test]
fn what_a_source_reads_is_in_some_tree() {
    let mut missing = BTreeSet::new();
    let trees: Vec<FakeHost> = TREES.iter().map(written).collect();
    for def in source::ALL.iter().copied() {
        // Files in /dev/shm and /run are made by programs; trees are what kernels show.
        let is_made = |pattern: &str| ["/dev/", "/run/"].iter().any(|top| pattern.starts_with(top));
        for pattern in def.reads.iter().filter(|pattern| !is_made(pattern)) {
            if !trees.iter().any(|tree| has(tree.root(), &pattern[1..])) {
                missing.insert(format!("{} {pattern}", def.name));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

fn written(tree: &Tree) -> FakeHost {
    let fake = FakeHost::new().expect("a temporary folder");
    tree.write(fake.root(), 0).expect("writing the tree");
    fake
}

/// Whether something below `folder` has that path; `*` and a `*` within a name stand for any.
fn has(folder: &Path, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('/') else {
        return names(folder, pattern).iter().any(|name| folder.join(name).exists());
    };
    names(folder, first).iter().any(|name| has(&folder.join(name), rest))
}

fn names(folder: &Path, pattern: &str) -> Vec<String> {
    let Some((before, after)) = pattern.split_once('*') else { return vec![pattern.to_owned()] };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(before) && name.ends_with(after)).collect()
}

/// Files whose descriptors a source keeps are among the texts, if anybody wants them.
#[test]
fn the_text_of_every_file_is_there_for_who_wants_it() {
    let tree = testkit::trees::find("cgroup2").unwrap();
    let fake = FakeHost::new().unwrap();
    tree.write(fake.root(), 0).unwrap();
    let entry = source::find("cgroup").unwrap();
    let mut host = Host::new(fake.root());
    host.keep_texts();
    let mut source = (entry.open)(&mut host, &Arc::default());
    let mut table = sample::Table::new(entry.fields.len());
    for _ in 0..2 {
        host.begin_tick();
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        let texts: std::collections::HashMap<&[u8], &[u8]> = host.texts().collect();
        for row in 0..table.rows() {
            let group = String::from_utf8(table.name(row).to_vec()).unwrap();
            let path = format!("/sys/fs/cgroup{}/cpu.stat", group.trim_end_matches('/'));
            let text = texts.get(path.as_bytes()).unwrap_or_else(|| panic!("{path} is not there"));
            let file = fake.root().join(path.trim_start_matches('/'));
            assert_eq!(*text, std::fs::read(file).unwrap(), "{path}");
        }
        assert!(texts.len() > 5 * table.rows(), "{} texts", texts.len());
    }
}

#[test]
fn where_there_are_no_processes_their_number_is_missing_and_not_0() {
    let mut host = Host::in_memory();
    let context = Arc::new(source::SourceContext::default());
    let entries: Vec<_> =
        ["process", "process_total"].iter().filter_map(|name| source::find(name)).collect();
    let mut sampler = Sampler::open(&mut host, &entries, &context);
    let mut snapshot = Snapshot::new(&sampler.defs());
    let mut clock = SimClock::default();
    let mut read = |stat: Option<&[u8]>| {
        host.put("/proc/stat", Some(b"cpu 1 2 3 4 5 6 7 8 9 10\nprocesses 77\n"));
        host.put("/proc/7/stat", stat);
        clock.advance(SECOND);
        sampler.sample(&mut host, &mut clock, |_, _| State::Ok, &mut snapshot);
        let [processes, total] = &snapshot.samples[..] else { panic!("two sources") };
        let def = entries[1];
        let get = |name: &str| total.table.get(0, def.field(name).unwrap());
        let fields = ["processes", "threads", "running", "facts_late", "attributed", "births"];
        let row = (total.table.rows() == 1).then(|| fields.map(get));
        (processes.state, total.state, row)
    };
    assert_eq!(read(None), (State::Absent, State::Absent, None));
    let line = b"7 (x) R 1 7 7 0 -1 0 0 0 0 0 5 0 0 0 20 0 3 0 100 4096 1 0\n";
    let known = [1, 3, 1, 0, 50_000_000, 77].map(Some);
    assert_eq!(read(Some(line)), (State::Ok, State::Ok, Some(known)));
    // What an earlier pass found is not what there is now.
    let missing = [None, None, None, None, None, Some(77)];
    assert_eq!(read(None), (State::Absent, State::Ok, Some(missing)));
}

//! Every view over every kernel tree of `testkit`, compared with `testdata/golden/TREE/VIEW.txt`.
//!
//! Each tree is sampled three times by every source, as far apart on a simulated clock as its files
//! are; the third time as between two long intervals: slow sources are not due, and pressure is
//! left out for the budget.
//! What was sampled goes to the views twice, straight and through a recording: both must be equal
//! byte for byte.  Nothing is excepted: the only thing that a recording lacks, the time that each
//! read took, is not shown by any view.
//!
//! Two sources ask the running system and not its files: `filesystem` (`statfs`) and `whit`
//! (`getrusage`).  Their tables are filled with made-up numbers here.
//!
//! `WHIT_BLESS=1` writes the files anew; look at the difference before you commit it.  Of a long
//! output the head is kept and a hash of the rest; `WHIT_GOLDEN=FOLDER` writes everything, whole,
//! to another folder.
#![allow(clippy::unwrap_used, reason = "a test that fails may panic, in its helpers too")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::tz::TimeZone;
use layout::Options;
use procfs::Host;
use recording::{ReadOutcome, Reader, Writer, WriterOptions};
use sample::{Cadence, History, Meta, Sample, Snapshot, SourceDef, State};
use source::{Entry, Sampler};
use testkit::trees::{ALL as TREES, Tree};
use testkit::{FakeHost, SimClock};
use view::export::Setting;
use view::{PlotFiles, Setup, View};

const SECOND: u64 = 1_000_000_000;

/// Samples of each tree.
const TICKS: u64 = 3;

/// The bytes that are kept of a longer output, so that 256 CPUs do not fill megabytes.
const KEPT_BYTES: usize = 20 << 10;

/// One tree as it was sampled.
struct Feed {
    meta: Meta,
    defs: Vec<Arc<SourceDef>>,
    snapshots: Vec<Snapshot>,
}

/// What a sampler does not tell of the tree but of the running system, made up for `tick`.
fn make_up(def: &SourceDef, tick: u64, sample: &mut Sample) {
    match &*def.name {
        "whit" => {
            let mut row = sample.table.row_mut(0);
            let per_second = [900, 450, 0, 40, 95_000, 2, 1_700, 1, 0, 0, 0, 1, 0, 0];
            for (field, rate) in per_second.into_iter().enumerate() {
                row.set(field, 10 * rate + tick * rate);
            }
            row.set(def.field("resident").unwrap(), 5 << 20);
        }
        "filesystem" => {
            sample.state = State::Ok;
            sample.table.begin();
            let volumes: [(&[u8], [u64; 6]); 3] = [
                (b"/", [42_000_000_000, 12_000_000_000, 9_900_000_000, 2_621_440, 2_000_000, 0]),
                (b"/mnt/with blank", [4_000_000_000_000, 1 << 30, 1 << 30, 0, 0, 0]),
                (b"/snap/core/1", [67_108_864, 0, 0, 12_000, 0, 1]),
            ];
            for (point, values) in volumes {
                let mut row = sample.table.row(point);
                for (field, value) in values.into_iter().enumerate() {
                    row.set(field, value);
                }
                row.set_text(def.field("kind").unwrap(), b"ext4");
                row.set_text(def.field("device").unwrap(), b"/dev/mapper/vg-lv");
            }
        }
        _ => {}
    }
}

fn meta_of(tree: &Tree, fake: &FakeHost) -> Meta {
    let stat = std::fs::read_to_string(fake.path("/proc/stat")).unwrap_or_default();
    let is_cpu = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
    let mut meta = Meta::new();
    for (key, value) in [
        ("origin", "whit"),
        ("version", "1.2.3"),
        ("host", tree.name),
        ("boot_id", "01234567-89ab-cdef-0123-456789abcdef"),
        ("kernel", "6.18.0"),
        ("architecture", "x86_64"),
        ("page_size_bytes", "4096"),
        ("ticks_per_second", "100"),
        ("subsystems", "everything"),
        ("interval_ns", "1000000000"),
        ("interval2_ns", "60000000000"),
        ("date", "20260101-000000"),
        ("started_ns", "1767225600000000000"),
        ("timezone", "+00:00"),
        ("timezone_name", "UTC"),
        ("command_line", "whit record"),
    ] {
        meta.set(key, value);
    }
    meta.set("cpus", stat.lines().filter(is_cpu).count().max(1).to_string());
    meta
}

fn copy_of(snapshot: &Snapshot) -> Snapshot {
    Snapshot {
        monotonic_ns: snapshot.monotonic_ns,
        realtime_ns: snapshot.realtime_ns,
        lasted_ns: snapshot.lasted_ns,
        gap: snapshot.gap.clone(),
        restart: snapshot.restart,
        samples: snapshot.samples.clone(),
        fresh: snapshot.fresh.clone(),
    }
}

/// Samples the tree with every source.
fn sampled(tree: &Tree) -> Feed {
    let fake = FakeHost::new().unwrap();
    tree.write(fake.root(), 0).unwrap();
    let entries: Vec<&'static Entry> = source::ALL.to_vec();
    let mut host = Host::new(fake.root());
    let mut sampler = Sampler::open(&mut host, &entries, &Arc::default());
    let mut clock = SimClock::default();
    clock.set_look_ns(1000);
    let defs = sampler.defs();
    let mut snapshot = Snapshot::new(&defs);
    let mut snapshots = Vec::new();
    let start = clock.moment().monotonic_ns;
    let interval_ns = tree.step_seconds * SECOND;
    for tick in 0..TICKS {
        clock.advance(start + tick * interval_ns - clock.moment().monotonic_ns);
        tree.write(fake.root(), tick).unwrap();
        let due = |_, def: &SourceDef| match &*def.name {
            "pressure" if tick == 2 => State::Skipped,
            _ if tick == 2 && def.cadence != Cadence::First => State::NotRecorded,
            _ => State::Ok,
        };
        sampler.sample(&mut host, &mut clock, due, &mut snapshot);
        for (index, def) in defs.iter().enumerate().filter(|(index, _)| snapshot.fresh[*index]) {
            make_up(def, tick, &mut snapshot.samples[index]);
        }
        snapshots.push(copy_of(&snapshot));
    }
    Feed { meta: meta_of(tree, &fake), defs, snapshots }
}

/// The same feed, written to a recording and read back.
fn recorded(feed: &Feed, folder: &Path) -> Feed {
    let path = folder.join("golden.whit");
    let mut writer =
        Writer::create(&path, &feed.meta, &feed.defs, WriterOptions::default()).unwrap();
    for snapshot in &feed.snapshots {
        writer.append(snapshot).unwrap();
    }
    writer.close().unwrap();
    let known: Vec<Arc<SourceDef>> = source::definitions();
    let mut reader = Reader::open(&path, &known).unwrap();
    let defs = reader.defs();
    let mut snapshots = Vec::new();
    loop {
        let mut snapshot = Snapshot::new(&defs);
        match reader.next(&mut snapshot).unwrap() {
            ReadOutcome::Sample => snapshots.push(snapshot),
            ReadOutcome::End => break,
            ReadOutcome::NoMoreYet => panic!("the recording is closed"),
        }
    }
    Feed { meta: reader.meta().clone(), defs, snapshots }
}

/// All letters that some source serves and that `wanted` wants.
fn letters(wanted: fn(&char) -> bool) -> String {
    let all = source::ALL.iter().flat_map(|entry| entry.letters.chars());
    let mut letters: Vec<char> = all.filter(wanted).collect();
    letters.sort_unstable();
    letters.dedup();
    letters.into_iter().collect()
}

/// The options as `cli` makes them when only the letters are given.
fn options(subsystems: &str, verbose: bool) -> Options {
    Options {
        subsystems: subsystems.into(),
        verbose,
        separator: " ".to_owned(),
        layouts: layout::LayoutLookup(source::layouts_of),
        ..Options::default()
    }
}

/// What is shown of a tree: 600 interrupts on each of 256 CPUs make 100 MB where every number has
/// a line or a column of its own, so those views leave them out there.
fn options_for(tree: &str, name: &str, options: &Options) -> Options {
    let mut options = options.clone();
    if tree == "cpu256" && ["csv", "json", "openmetrics", "plot-files"].contains(&name) {
        options.subsystems.retain_letters(|letter| !"jJ".contains(letter));
    }
    options
}

/// One file: its name, what is shown and how.
struct Case {
    name: &'static str,
    options: Options,
    open: fn(&Setup) -> Box<dyn View>,
}

fn export(name: &str, parts: &[&str], setup: &Setup) -> Box<dyn View> {
    view::export::open(name, parts, setup, &Setting::default()).unwrap().view
}

fn cases() -> Vec<Case> {
    let summaries = || letters(char::is_ascii_lowercase);
    let details = || letters(char::is_ascii_uppercase);
    let all = || letters(|_| true);
    let mut cases = Vec::new();
    for entry in view::ALL {
        let options = match entry.name {
            // Slabs have no brief form.
            "brief" => {
                options(&letters(|letter| letter.is_ascii_lowercase() && *letter != 'y'), false)
            }
            "verbose" => options(&summaries(), true),
            "plot" => options(&summaries(), false),
            _ => options(&all(), false),
        };
        cases.push(Case { name: entry.name, options, open: entry.open });
    }
    let verbose = view::find("verbose").unwrap().open;
    let details = options(&details(), true);
    cases.push(Case { name: "detail", options: details.clone(), open: verbose });
    let full = Options { exact: true, ..options(&summaries(), true) };
    cases.push(Case { name: "verbose-exact", options: full, open: verbose });
    let plain = |subsystems: &str| options(subsystems, false);
    cases.push(Case {
        name: "lexpr",
        options: plain(&all()),
        open: |setup| export("lexpr", &[], setup),
    });
    cases.push(Case {
        name: "graphite",
        options: plain("cdmn"),
        open: |setup| export("graphite", &["carbon:2003"], setup),
    });
    cases.push(Case {
        name: "vmstat",
        options: plain("cm"),
        open: |setup| export("vmstat", &[], setup),
    });
    cases
}

fn show(feed: &Feed, case: &Case) -> String {
    let options = options_for(feed.meta.host(), case.name, &case.options);
    // As of a play: live samples are streamed by some views.
    let mut view = (case.open)(&Setup { playing: true, ..Setup::of(TimeZone::UTC) });
    let mut out = Vec::new();
    view.begin(&feed.meta, &feed.defs, &options, &mut out).unwrap();
    let mut history = History::new(&feed.defs);
    for snapshot in &feed.snapshots {
        history.push(&mut copy_of(snapshot));
        view.frame(&layout::Frame::new(&history, &feed.meta, &options), &mut out).unwrap();
    }
    view.end(&mut out).unwrap();
    for note in view.notes() {
        out.extend_from_slice(format!("note: {note}\n").as_bytes());
    }
    String::from_utf8(out).expect("views write UTF-8")
}

/// The plot files of all letters, one after the other, without the version in their heads.
fn plot_files(feed: &Feed) -> String {
    let options = options(&letters(|_| true), false);
    let options = options_for(feed.meta.host(), "plot-files", &options);
    let mut files = PlotFiles::new(TimeZone::UTC);
    files.begin(&feed.meta, &feed.defs, &options, "whit play -P");
    let mut texts: Vec<(String, Vec<u8>)> = Vec::new();
    let mut history = History::new(&feed.defs);
    for snapshot in &feed.snapshots {
        history.push(&mut copy_of(snapshot));
        let frame = layout::Frame::new(&history, &feed.meta, &options);
        let mut sink = |extension: &str, text: &[u8]| {
            match texts.iter_mut().find(|(name, _)| name == extension) {
                Some((_, whole)) => whole.extend_from_slice(text),
                None => texts.push((extension.to_owned(), text.to_vec())),
            }
            Ok(())
        };
        files.frame(&frame, &mut sink).unwrap();
    }
    let mut all = String::new();
    for (extension, text) in texts {
        writeln!(all, "==> {extension} <==").unwrap();
        all.push_str(std::str::from_utf8(&text).expect("plot files are UTF-8"));
    }
    all.replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

/// The text, or its head and what tells whether the rest is the same.
fn shortened(text: &str) -> String {
    if text.len() <= KEPT_BYTES {
        return text.to_owned();
    }
    let kept = text.floor_char_boundary(KEPT_BYTES);
    let (head, rest) = text.split_at(kept);
    // FNV-1a (64 bits): the standard library's hash may change with its version.
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = rest.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    let lines = rest.bytes().filter(|&byte| byte == b'\n').count();
    format!("{head}\n[{} bytes and {lines} line ends more, FNV-1a {hash:016x}]\n", rest.len())
}

/// Says where two texts part, with a line of each.
fn first_difference(ours: &str, wanted: &str) -> String {
    let pairs = ours.lines().zip(wanted.lines()).enumerate();
    match pairs.into_iter().find(|(_, (ours, wanted))| ours != wanted) {
        Some((line, (ours, wanted))) => {
            let at = ours.bytes().zip(wanted.bytes()).take_while(|(a, b)| a == b).count();
            let cut = |text: &str| {
                String::from_utf8_lossy(&text.as_bytes()[at.saturating_sub(40).min(text.len())..])
                    .chars()
                    .take(160)
                    .collect::<String>()
            };
            format!(
                "line {}, byte {at}:\n  now    {}\n  wanted {}",
                line + 1,
                cut(ours),
                cut(wanted)
            )
        }
        None => format!("now {} bytes, wanted {}", ours.len(), wanted.len()),
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden")
}

/// Compares one output with its file, or writes it.
fn check(tree: &str, name: &str, text: &str, wrong: &mut Vec<String>) {
    let path = folder().join(tree).join(format!("{name}.txt"));
    if let Some(folder) = std::env::var_os("WHIT_GOLDEN") {
        let path = PathBuf::from(folder).join(tree).join(format!("{name}.txt"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        return;
    }
    let text = shortened(text);
    if std::env::var_os("WHIT_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        return;
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    if text != wanted {
        wrong.push(format!("{tree}/{name}.txt: {}", first_difference(&text, &wanted)));
    }
}

#[test]
fn every_view_over_every_tree_is_as_it_was_and_the_same_from_a_recording() {
    let mut wrong = Vec::new();
    for tree in TREES {
        let live = sampled(tree);
        let folder = tempfile::tempdir().unwrap();
        let played = recorded(&live, folder.path());
        assert_eq!(played.meta, live.meta, "{}", tree.name);
        let mut texts: Vec<(&str, String, String)> = cases()
            .iter()
            .map(|case| (case.name, show(&live, case), show(&played, case)))
            .collect();
        texts.push(("plot-files", plot_files(&live), plot_files(&played)));
        for (name, live, played) in texts {
            if live != played {
                let where_to = first_difference(&played, &live);
                wrong.push(format!("{}/{name} differs from a recording, {where_to}", tree.name));
            }
            check(tree.name, name, &live, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{}\nWHIT_BLESS=1 takes them as they are now", wrong.join("\n"));
}

//! The whole way of samples into files, over a small artificial machine whose ticks, failures and
//! instances the tests choose; and the size of all files for a machine of 8 CPUs and 10 disks.
//!
//! Half a second for all of them.

use std::path::Path;

use layout::LayoutLookup;
use rrd::fetch::{FetchRequest, FetchedSeries, fetch};
use rrd::header::ConsolidationFunction::{self, Average, Maximum};
use sample::{History, Snapshot, Unit};
use testkit::allocations_of;

use super::*;

const SECOND_NS: i64 = 1_000_000_000;
/// A whole hour, so that rows of all archives begin there.
const START: i64 = 1_800_000_000;

fn defs() -> Vec<Arc<SourceDef>> {
    let cpu = SourceDef {
        name: "cpu".into(),
        letters: "c".into(),
        fields: vec![
            Field::counter("user", Unit::Ticks, "Time"),
            Field::gauge("running", Unit::Count, "Tasks"),
        ]
        .into(),
        ..SourceDef::EMPTY
    };
    let disk = SourceDef {
        name: "disk".into(),
        letters: "dD".into(),
        instance: vec!["disk".into()].into(),
        fields: vec![
            Field::counter("reads", Unit::Count, "Reads"),
            Field::gauge("in_flight", Unit::Count, "Requests"),
            Field::text("kind", "What it is"),
        ]
        .into(),
        ..SourceDef::EMPTY
    };
    vec![Arc::new(cpu), Arc::new(disk)]
}

static DISK_LAYOUTS: &[layout::Layout] =
    &[layout::Layout { counts: |row| !row.name().starts_with(b"p"), ..layout::Layout::EMPTY }];

/// A machine of a CPU and some disks, and a history of it.
struct Machine {
    defs: Vec<Arc<SourceDef>>,
    meta: Meta,
    options: Options,
    history: History,
    view: DatabaseView,
    told: std::rc::Rc<std::cell::RefCell<Vec<String>>>,
}

const TABLE: &str = "\
cpu      *                1s/1h 10s/1d 1m/1d/max
disk     reads            1s/1h 10s/1d
disk[-*] -
disk[*]  reads,in_flight  1s/1h 10s/1d
";

impl Machine {
    fn new(folder: &Path, interval_s: u64) -> Self {
        let mut machine = Machine::with(folder, interval_s, TABLE).unwrap();
        machine.begin().unwrap();
        machine
    }

    fn with(folder: &Path, interval_s: u64, table: &str) -> io::Result<Self> {
        let path = folder.with_extension("table");
        std::fs::write(&path, table)?;
        let databases = Databases {
            daemon: None,
            folder: folder.to_owned(),
            table: Some(path),
            batch_seconds: Some(10),
            limit_bytes: 20 << 20,
        };
        let told: std::rc::Rc<std::cell::RefCell<Vec<String>>> = Default::default();
        let tell = std::rc::Rc::clone(&told);
        let view = DatabaseView::open(
            databases,
            Box::new(move |text| tell.borrow_mut().push(text.to_owned())),
        )?;
        let mut meta = Meta::new();
        meta.set("host", "h");
        meta.set("interval_ns", (interval_s * 1_000_000_000).to_string());
        let lookup = |name: &str| if name == "disk" { DISK_LAYOUTS } else { &[] };
        let options = Options {
            subsystems: "cdD".into(),
            layouts: LayoutLookup(lookup),
            ..Options::default()
        };
        let history = History::new(&defs());
        Ok(Machine { defs: defs(), meta, options, history, view, told })
    }

    fn begin(&mut self) -> io::Result<()> {
        self.view.begin(&self.meta, &self.defs, &self.options, &mut io::sink())
    }

    /// A sample so many milliseconds after the start; `None` for a source that cannot be read.
    fn tick(&mut self, ms: i64, cpu: Option<(u64, u64)>, disks: &[(&[u8], u64, u64)]) {
        let mut snapshot = Snapshot::new(&self.defs);
        self.fill(&mut snapshot, ms, cpu, disks);
        self.show(&mut snapshot);
    }

    fn fill(
        &self,
        snapshot: &mut Snapshot,
        ms: i64,
        cpu: Option<(u64, u64)>,
        disks: &[(&[u8], u64, u64)],
    ) {
        let at_ns = START * SECOND_NS + ms * 1_000_000;
        snapshot.monotonic_ns = at_ns.cast_unsigned();
        snapshot.realtime_ns = at_ns;
        snapshot.fresh.fill(true);
        for sample in &mut snapshot.samples {
            sample.monotonic_ns = at_ns.cast_unsigned();
            sample.realtime_ns = at_ns;
            sample.state = State::Ok;
            sample.table.begin();
        }
        match cpu {
            Some((user, running)) => {
                let mut row = snapshot.samples[0].table.row(b"");
                row.set(0, user);
                row.set(1, running);
            }
            None => snapshot.samples[0].state = State::Failed(5),
        }
        for (name, reads, in_flight) in disks {
            let mut row = snapshot.samples[1].table.row(name);
            row.set(0, *reads);
            row.set(1, *in_flight);
        }
    }

    fn show(&mut self, snapshot: &mut Snapshot) {
        self.history.push(snapshot);
        let frame = Frame::new(&self.history, &self.meta, &self.options);
        self.view.frame(&frame, &mut io::sink()).unwrap();
    }

    /// Ends it, and returns its notes.
    fn end(mut self) -> Vec<String> {
        self.view.end(&mut io::sink()).unwrap();
        self.view.notes()
    }
}

fn rows(
    path: &Path,
    function: ConsolidationFunction,
    step_seconds: u64,
    from: i64,
    to: i64,
) -> FetchedSeries {
    let request = FetchRequest { function, start: START + from, end: START + to, step_seconds };
    fetch(path, &request).unwrap()
}

/// The cells of a source in some seconds after the start; -1 for unknown ones.
fn seconds(path: &Path, name: &str, from: i64, to: i64) -> Vec<f64> {
    let series = rows(path, Average, 1, from, to);
    assert_eq!(series.step_seconds, 1);
    let at = series.names.iter().position(|own| own == name).unwrap();
    let cells = series.cells.chunks(series.names.len()).map(|row| row[at]);
    let count = usize::try_from(to - from).unwrap();
    cells.take(count).map(|cell| if cell.is_nan() { -1.0 } else { cell }).collect()
}

#[test]
fn a_cell_is_a_sample_and_what_is_missing_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("db");
    let mut machine = Machine::new(&folder, 1);
    // Ticks stand between two seconds and come early and late.
    machine.tick(499, Some((100, 1)), &[(b"a", 5, 0)]);
    machine.tick(1_501, Some((200, 2)), &[(b"a", 8, 1)]);
    machine.tick(2_498, Some((250, 3)), &[(b"a", 8, 0)]);
    // The counter is reset: no rate; the level is known.
    machine.tick(3_500, Some((10, 4)), &[(b"a", 9, 0)]);
    // It cannot be read: nothing is known until the second reading after that.
    machine.tick(4_500, None, &[(b"a", 9, 0)]);
    machine.tick(5_500, Some((20, 5)), &[(b"a", 9, 0)]);
    machine.tick(6_500, Some((30, 6)), &[(b"a", 10, 0)]);
    // Two ticks are missed: the rate holds for all three seconds.
    machine.tick(9_500, Some((90, 7)), &[(b"a", 40, 0)]);
    assert!(machine.end().is_empty());
    let cpu = folder.join("cpu.rrd");
    let user = seconds(&cpu, "user", 0, 11);
    let rate = |ticks: f64, ms: f64| ticks / 100.0 / (ms / 1_000.0);
    let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
    assert!(close(user[0], rate(100.0, 1_002.0)), "{user:?}");
    assert!(close(user[1], rate(50.0, 997.0)), "{user:?}");
    assert_eq!(user[2..5], [-1.0; 3], "{user:?}");
    assert!(close(user[5], 0.1), "{user:?}");
    assert!(user[6..9].iter().all(|&cell| close(cell, 0.2)), "{user:?}");
    assert_eq!(user[9..], [-1.0; 2]);
    let running = seconds(&cpu, "running", 0, 10);
    assert_eq!(running, [2.0, 3.0, 4.0, -1.0, -1.0, 6.0, 7.0, 7.0, 7.0, -1.0]);
    let reads = seconds(&folder.join("disk/a.rrd"), "reads", 3, 9);
    assert_eq!(reads, [0.0, 0.0, 1.0, 10.0, 10.0, 10.0]);
}

#[test]
fn instances_come_and_go_and_sums_count_each_thing_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("db");
    let mut machine = Machine::new(&folder, 1);
    let a = |reads| (&b"a"[..], reads, 0);
    let hostile = |reads| (&b"../x\n"[..], reads, 0);
    let part = |reads| (&b"p1"[..], reads, 0);
    let left_out = |reads| (&b"-l"[..], reads, 0);
    machine.tick(0, None, &[a(0), part(0), left_out(0)]);
    machine.tick(1_000, None, &[a(10), part(10), left_out(1)]);
    machine.tick(2_000, None, &[hostile(100), a(20), part(20)]);
    machine.tick(3_000, None, &[hostile(105), a(30), part(30)]);
    machine.tick(4_000, None, &[hostile(110), part(40)]);
    machine.tick(5_000, None, &[a(31), hostile(115)]);
    machine.tick(6_000, None, &[a(38), hostile(115)]);
    assert!(machine.end().is_empty());
    let of = |name: &str| seconds(&folder.join(name), "reads", 0, 7);
    assert_eq!(of("disk/a.rrd"), [10.0, 10.0, 10.0, -1.0, -1.0, 7.0, -1.0]);
    assert_eq!(of("disk/%2E.%2Fx%0A.rrd"), [-1.0, -1.0, 5.0, 5.0, 5.0, 0.0, -1.0]);
    // A new instance has no rate yet, and adds nothing to the sum.
    assert_eq!(of("disk.rrd"), [11.0, 10.0, 15.0, 5.0, 5.0, 7.0, -1.0]);
    assert!(folder.join("disk/p1.rrd").exists());
    assert!(!folder.join("disk/-l.rrd").exists() && !folder.join("cpu.rrd").exists());
    assert_eq!(std::fs::read_dir(folder.join("disk")).unwrap().count(), 3);
}

#[test]
fn a_restart_continues_the_files_and_time_never_goes_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("db");
    let run = |from_s: i64, count: i64| {
        let mut machine = Machine::new(&folder, 1);
        for turn in 0..=count {
            let at = from_s + turn;
            machine.tick(at * 1_000, Some((at.cast_unsigned() * 100, 3)), &[]);
        }
        machine.end()
    };
    assert!(run(0, 5).is_empty());
    // Three seconds were not observed, though they are fewer than the heartbeat.
    assert!(run(8, 4).is_empty());
    let cpu = folder.join("cpu.rrd");
    let wanted = [1., 1., 1., 1., 1., -1., -1., -1., 1., 1., 1., 1.];
    assert_eq!(seconds(&cpu, "user", 0, 12), wanted);
    assert_eq!(seconds(&cpu, "running", 4, 9), [3.0, -1.0, -1.0, -1.0, 3.0]);
    let before = std::fs::read(&cpu).unwrap();
    // What is older than the files, for example a recording that is played again, is left out.
    let notes = run(2, 6);
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("6 rows are not newer than the files in"), "{notes:?}");
    assert_eq!(std::fs::read(&cpu).unwrap(), before);
}

#[test]
fn a_clock_that_is_ahead_for_a_moment_shifts_nothing_out() {
    const YEAR_MS: i64 = 365 * 86_400_000;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("db");
    let mut machine = Machine::new(&folder, 1);
    for turn in 0..=12 {
        let mut snapshot = Snapshot::new(&machine.defs);
        machine.fill(&mut snapshot, turn * 1_000, Some((turn.unsigned_abs() * 100, 3)), &[]);
        if (5..8).contains(&turn) {
            snapshot.realtime_ns += YEAR_MS * 1_000_000;
            for sample in &mut snapshot.samples {
                sample.realtime_ns += YEAR_MS * 1_000_000;
            }
        }
        machine.show(&mut snapshot);
    }
    let notes = machine.end();
    // Of the two sources, and of the step back, whose begin is later than its end.
    let wanted =
        ["1 rows are not newer than", "6 readings within 10 minutes after the clock was set"];
    let are_told = notes.iter().zip(wanted).all(|(note, words)| note.contains(words));
    assert!(are_told && notes.len() == 2, "{notes:?}");
    let wanted = [1., 1., 1., 1., -1., -1., -1., -1., 1., 1., 1., 1.];
    assert_eq!(seconds(&folder.join("cpu.rrd"), "user", 0, 12), wanted);
}

#[test]
fn archives_suit_the_interval() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("db");
    let mut machine = Machine::new(&folder, 10);
    for turn in 0..40_i64 {
        machine.tick(turn * 10_000 + 3, Some((turn.cast_unsigned() * 500, 1)), &[]);
    }
    assert!(machine.end().is_empty());
    let cpu = folder.join("cpu.rrd");
    let file = rrd::File::open(&cpu, rrd::Access::Read).unwrap();
    let header = file.header();
    let archives: Vec<_> = (0..header.archives.len())
        .map(|index| (header.row_seconds(index), header.archives[index].rows))
        .collect();
    // An hour of seconds is within the day of ten seconds.
    assert_eq!(archives, [(10, 8_640), (60, 1_440)]);
    assert_eq!((header.step_seconds, header.sources[0].heartbeat_seconds()), (10, 100));
    let series = rows(&cpu, Average, 10, 0, 380);
    assert_eq!(series.cells[0], 0.5);
    assert!(rows(&cpu, Maximum, 60, 0, 359).cells.iter().step_by(2).all(|&cell| cell == 0.5));
    // A faster recorder continues the same file.
    let mut machine = Machine::new(&folder, 1);
    for turn in 400..441_i64 {
        machine.tick(turn * 1_000, Some((turn.cast_unsigned() * 50, 1)), &[]);
    }
    assert!(machine.end().is_empty());
    let series = rows(&cpu, Average, 10, 400, 439);
    assert_eq!((series.step_seconds, series.cells[0]), (10, 0.5));
    // A slower one has a longer heartbeat.
    let mut machine = Machine::new(&folder, 60);
    for turn in 1..9_i64 {
        machine.tick(600_000 + turn * 60_000, Some((turn.cast_unsigned() * 6_000, 1)), &[]);
    }
    assert!(machine.end().is_empty());
    let series = rows(&cpu, Average, 10, 700, 1_100);
    assert!(series.cells.iter().step_by(2).take(38).all(|&cell| cell == 1.0), "{series:?}");
}

#[test]
fn new_fields_are_added_and_other_files_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("db");
    let run = |table: &str, from_s: i64| {
        let mut machine = Machine::with(&folder, 1, table).unwrap();
        machine.begin().unwrap();
        for at in from_s..=from_s + 2 {
            machine.tick(at * 1_000, Some((at.cast_unsigned() * 100, 3)), &[(b"a", 1, 1)]);
        }
        let told = std::rc::Rc::clone(&machine.told);
        let notes = machine.end();
        (told.borrow().clone(), notes)
    };
    assert_eq!(run("cpu user 1s/1h\n", 0), (vec![], vec![]));
    let (told, notes) = run("cpu running,user 1s/1h\n", 2);
    assert!(notes.is_empty() && told.len() == 1, "{told:?} {notes:?}");
    assert!(told[0].ends_with("cpu.rrd: data sources are added: running"), "{told:?}");
    let cpu = folder.join("cpu.rrd");
    assert_eq!(seconds(&cpu, "user", 0, 5), [1.0, 1.0, 1.0, 1.0, -1.0]);
    assert_eq!(seconds(&cpu, "running", 0, 4), [-1.0, -1.0, 3.0, 3.0]);
    // A field that is not kept any more is unknown from then on.
    assert_eq!(run("cpu running 1s/1h\n", 4), (vec![], vec![]));
    assert_eq!(seconds(&cpu, "user", 2, 6), [1.0, 1.0, -1.0, -1.0]);
    // Another program's file, and what is no database, are reported once, and the rest goes on.
    let options = rrd::create::Options::default();
    rrd::create::create(&cpu, &options, &["DS:x:GAUGE:9:U:U", "RRA:LAST:0:1:9"], START).unwrap();
    std::fs::create_dir_all(folder.join("disk/a.rrd")).unwrap();
    let before = std::fs::read(&cpu).unwrap();
    let (told, notes) = run("cpu user 1s/1h\ndisk reads 1s/1h\ndisk[*] reads 1s/1h\n", 10);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("cpu.rrd: no data source has the name of a field"), "{told:?}");
    assert_eq!(notes, ["--export rrd: 4 rows could not be written"]);
    assert_eq!(std::fs::read(&cpu).unwrap(), before);
    assert_eq!(seconds(&folder.join("disk.rrd"), "reads", 10, 13), [0.0, 0.0, -1.0]);
}

#[test]
fn a_file_that_cannot_be_written_for_a_while_loses_only_what_has_no_room() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("db");
    let obstacle = folder.join("cpu.rrd");
    std::fs::create_dir_all(&obstacle).unwrap();
    let mut machine = Machine::new(&folder, 1);
    let tick = |machine: &mut Machine, at: i64| {
        machine.tick(at * 1_000, Some((at.cast_unsigned() * 100, 3)), &[]);
    };
    (0..=700).for_each(|at| tick(&mut machine, at));
    assert_eq!(machine.told.borrow().len(), 1, "{:?}", machine.told.borrow());
    assert_eq!(machine.view.files[0].rows(), file::ROWS_MAX, "memory is bounded");
    std::fs::remove_dir(&obstacle).unwrap();
    (701..=720).for_each(|at| tick(&mut machine, at));
    let told = machine.told.borrow().len();
    std::fs::remove_file(&obstacle).expect("it was made by then");
    (721..=740).for_each(|at| tick(&mut machine, at));
    assert_eq!((told, machine.told.borrow().len()), (1, 1), "{:?}", machine.told.borrow());
    let notes = machine.end();
    // One row stands for what was lost before it.
    let lost: i64 = notes[0].split(' ').nth(2).unwrap().parse().unwrap();
    assert!((100..=125).contains(&lost), "{notes:?}");
    let known = seconds(&obstacle, "user", 700, 740);
    let first = known.iter().position(|&cell| cell == 1.0).unwrap();
    assert!(first > 0 && known[first..].iter().all(|&cell| cell == 1.0), "{known:?}");
}

#[test]
fn the_folder_has_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("db");
    // A megabyte for each file of this table.
    let table = "disk[*] reads 1s/131072s\n";
    let run = |from: u64| {
        let mut machine = Machine::with(&folder, 1, table).unwrap();
        machine.view.settings.limit_bytes = 5 << 20;
        machine.begin().unwrap();
        let names: Vec<String> = (from..from + 40).map(|index| format!("d{index}")).collect();
        for at in 0..30_i64 {
            let disks: Vec<(&[u8], u64, u64)> =
                names.iter().map(|name| (name.as_bytes(), at.cast_unsigned(), 0)).collect();
            machine.tick(at * 1_000, None, &disks);
        }
        let told = machine.told.borrow().clone();
        assert!(told[0].contains("more than 5 MiB"), "{told:?}");
        assert_eq!(told.len(), 1);
        let notes = machine.end();
        (notes[0].clone(), folder_bytes(&folder))
    };
    let (note, bytes) = run(0);
    assert!(note.contains("36 instances have no file"), "{note}");
    assert!((4 << 20..5 << 20).contains(&bytes), "{bytes}");
    // What is there from an earlier run counts too.
    let (note, again) = run(100);
    assert!(note.contains("40 instances have no file"), "{note}");
    assert_eq!(bytes, again);
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("db");
    let refused = |table: &str, change: fn(&mut Machine)| {
        let mut machine = match Machine::with(&folder, 1, table) {
            Ok(machine) => machine,
            Err(error) => return error.to_string(),
        };
        machine.begin().err().map(|error| error.to_string()).unwrap_or_else(|| {
            change(&mut machine);
            machine.begin().unwrap_err().to_string()
        })
    };
    for (table, change, said) in [
        ("cpu usr 1s/1h", (|_| ()) as fn(&mut Machine), "line 1: cpu has no field 'usr'"),
        ("\ndisk[*] kind 1s/1h", |_| (), "line 2: disk has no field 'kind' that is a number"),
        ("memory * 1s/1h", |_| (), "keeps nothing of what -s selects"),
        ("cpu * 1s", |_| (), "line 1: '1s': give STEP/SPAN"),
        (TABLE, |machine| machine.options.exact = true, "--exact"),
        (TABLE, |machine| machine.options.letters.push('n'), "-on"),
        (TABLE, |machine| machine.meta.set("host", "x\n"), "recordings of h and of x\\"),
    ] {
        let error = refused(table, change);
        assert!(error.contains(said), "{table:?}: {error}");
    }
}

#[test]
fn a_sample_allocates_nothing_and_a_write_little() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("db");
    let mut machine = Machine::new(&folder, 1);
    let names: Vec<String> = (0..10).map(|index| format!("d{index}")).collect();
    let mut snapshots: Vec<Snapshot> = Vec::new();
    for at in 0..60_i64 {
        let disks: Vec<(&[u8], u64, u64)> =
            names.iter().map(|name| (name.as_bytes(), at.cast_unsigned(), 1)).collect();
        let mut snapshot = Snapshot::new(&machine.defs);
        machine.fill(&mut snapshot, at * 1_000, Some((at.cast_unsigned(), 1)), &disks);
        snapshots.push(snapshot);
    }
    let (warm, measured) = snapshots.split_at_mut(40);
    warm.iter_mut().for_each(|snapshot| machine.show(snapshot));
    let ((), allocations) = allocations_of(|| {
        measured.iter_mut().for_each(|snapshot| machine.show(snapshot));
    });
    // Each of the twelve files is written twice.
    assert!(allocations.count <= 24 * WRITE_ALLOCATIONS, "{allocations:?}");
    machine.view.settings.batch_seconds = Some(3_600);
    machine.view.flush(&mut io::sink()).unwrap();
    let snapshot = &mut Snapshot::new(&machine.defs);
    let mut quiet = u64::MAX;
    for at in 60..80_i64 {
        let disks: Vec<(&[u8], u64, u64)> =
            names.iter().map(|name| (name.as_bytes(), at.cast_unsigned(), 1)).collect();
        machine.fill(snapshot, at * 1_000, Some((at.cast_unsigned(), 1)), &disks);
        let ((), allocations) = allocations_of(|| machine.show(snapshot));
        quiet = quiet.min(allocations.count);
    }
    assert_eq!(quiet, 0);
}

/// Blocks that a write takes: lists of the places that it changes.
const WRITE_ALLOCATIONS: u64 = 4;

#[test]
fn readings_that_the_table_does_not_keep_are_not_kept_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut machine = Machine::with(&folder.path().join("h"), 1, "cpu * 1s/1h\n").unwrap();
    machine.begin().unwrap();
    let (defs, options) = (machine.defs.clone(), machine.options.clone());
    let mut input = crate::ViewInput::new(Meta::new(), options, defs);
    let mut snapshot = Snapshot::new(&machine.defs);
    machine.fill(&mut snapshot, 0, Some((1, 1)), &[(b"a", 1, 1)]);
    input.push(&mut snapshot, |source| machine.view.looks_at(source));
    let tracks = input.history.tracks().iter();
    let states: Vec<_> = tracks.map(|track| (track.current.state, track.fresh)).collect();
    assert_eq!(states, [(State::Ok, true), (State::NotRecorded, false)]);
    assert_eq!(snapshot.samples[1].table.rows(), 1, "they stay in the snapshot");
}

struct Nobody;

impl crate::Control for Nobody {
    fn requests(&mut self) -> crate::Requests {
        crate::Requests::default()
    }
}

/// A machine with 8 CPUs, 10 disks and 4 interfaces.
fn fake_machine() -> procfs::Host {
    let mut host = procfs::Host::in_memory();
    let times = "100 2 300 4000 50 6 7 8 0 0\n";
    let mut stat = format!("cpu  {times}");
    (0..8).for_each(|cpu| stat += &format!("cpu{cpu} {times}"));
    stat += "intr 1\nctxt 2\nbtime 3\nprocesses 4\nprocs_running 1\nprocs_blocked 0\n";
    host.put("/proc/stat", Some(stat.as_bytes()));
    host.put("/proc/loadavg", Some(b"0.20 0.18 0.12 1/80 11206\n"));
    let memory =
        "MemTotal: 9 kB\nMemFree: 3 kB\nMemAvailable: 5 kB\nSwapTotal: 2 kB\nSwapFree: 1 kB\n";
    host.put("/proc/meminfo", Some(memory.as_bytes()));
    host.put("/proc/vmstat", Some(b"pgpgin 1\npgpgout 2\n"));
    let counts = "1 2 3 4 5 6 7 8 0 10 11 0 0 0 0";
    let disk = |index: u8| format!("8 {} sd{} {counts}\n", index * 16, char::from(b'a' + index));
    let mut disks: String = (0..10).map(disk).collect();
    disks += &format!("8 1 sda1 {counts}\n7 0 loop0 {counts}\n");
    host.put("/proc/diskstats", Some(disks.as_bytes()));
    let numbers = "1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0";
    let interfaces = ["lo", "eth0", "eth1", "eth2", "veth0a1b2c3"];
    let interfaces: String = interfaces.map(|name| format!("{name}: {numbers}\n")).concat();
    host.put("/proc/net/dev", Some(interfaces.as_bytes()));
    host
}

/// All files of a machine with 8 CPUs and 10 disks together take less than 20 MB, for ever.
#[test]
fn a_machine_fits_into_twenty_megabytes() {
    let folder = tempfile::tempdir().unwrap();
    let clock = testkit::SimClock::default();
    let counters = Arc::new(source::RecorderCounters::default());
    let shared = source::SharedState { recorder: Some(counters.clone()), ..Default::default() };
    let context = Arc::new(source::SourceContext { shared, ..Default::default() });
    let selection = layout::Selection::from("cdmnCDN");
    let entries: Vec<&'static source::Entry> =
        source::ALL.iter().copied().filter(|entry| entry.asked_by(&selection)).collect();
    let settings = crate::RecorderSettings {
        intervals: crate::parse_intervals("1", "1", (false, false), false).unwrap(),
        align: true,
        budget_percent: None,
        seldom: None,
        at_ends: false,
        samples: Some(100),
        duration_ns: None,
    };
    let mut recorder =
        crate::Recorder::open(fake_machine(), &entries, &context, &settings, clock.moment());
    let databases = Databases {
        daemon: None,
        folder: folder.path().to_owned(),
        table: None,
        batch_seconds: Some(10),
        limit_bytes: 20_000_000,
    };
    let view = DatabaseView::open(databases, Box::new(|text| panic!("{text}"))).unwrap();
    let options = Options {
        subsystems: selection,
        layouts: LayoutLookup(source::layouts_of),
        ..Options::default()
    };
    let input = crate::ViewInput::new(Meta::new(), options, recorder.sampler.defs());
    let sink = Box::new(sink::Discard::default());
    let shown = view::ShownSources::default();
    let live = crate::LiveText::open(Box::new(view), shown, sink, counters, &input).unwrap();
    let mut outputs = crate::Outputs::new(Box::new(Silent), jiff::tz::TimeZone::UTC);
    outputs.view_input = Some(input);
    outputs.live = Some(live);
    recorder.run(&mut clock.clone(), &mut Nobody, &mut outputs).unwrap();
    outputs.close(clock.moment()).unwrap();
    let mut files = Vec::new();
    for entry in walk(folder.path()) {
        let file = rrd::File::open(&entry, rrd::Access::Read).unwrap();
        assert_eq!(file.header().row_seconds(0), 1);
        assert_eq!(file.header().archives[0].rows, 3_600);
        let name = entry.strip_prefix(folder.path()).unwrap().display().to_string();
        files.push((name, file.file_bytes()));
    }
    files.sort();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), 4 + 8 + 10 + 4, "{names:?}");
    assert!(names.contains(&"disk/sdj.rrd") && names.contains(&"cpu_core/7.rrd"), "{names:?}");
    let bytes: u64 = files.iter().map(|(_, bytes)| bytes).sum();
    assert!((18_000_000..20_000_000).contains(&bytes), "{bytes} bytes: {files:?}");
    let cpu = rrd::File::open(&folder.path().join("cpu.rrd"), rrd::Access::Read).unwrap();
    let header = cpu.header();
    let spans: Vec<_> = (0..header.archives.len())
        .map(|index| (header.row_seconds(index), header.archives[index].rows))
        .collect();
    assert_eq!(spans, [(1, 3_600), (10, 8_640), (300, 105_408), (3_600, 8_784)]);
}

struct Silent;

impl crate::MessageLog for Silent {
    fn log(&self, _: sample::Moment, _: crate::Severity, _: &str) {}
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(walk(&path)),
            false => files.push(path),
        }
    }
    files
}

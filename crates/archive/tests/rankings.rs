//! Rankings of processes are what each reading and each end gives, and what is read for them does not
//! grow with the period.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, LazyLock};

use archive::{RangeCost, RankingQuery, Recordings};
use recording::{Writer, WriterOptions};
use sample::{Field, Meta, Snapshot, SourceDef, State, Unit};
use testkit::Random;

use crate::machine::{SECOND_NS, STARTED_NS};
use crate::ranges::open;

/// Rankings that are compared in a long run.
const CASES: usize = 600;

const MINUTE_NS: i64 = 60 * SECOND_NS as i64;

static DEFS: LazyLock<Vec<Arc<SourceDef>>> = LazyLock::new(|| {
    let process = SourceDef {
        name: "process".into(),
        instance: vec!["pid".into(), "start".into()].into(),
        fields: vec![
            Field::text("command", "Command"),
            Field::counter("run_time", Unit::Nanoseconds, "CPU time"),
            Field::gauge("resident", Unit::Kibibytes, "Resident memory"),
            Field::counter("read_bytes", Unit::Bytes, "Bytes read"),
            Field::counter("write_bytes", Unit::Bytes, "Bytes written"),
            Field::counter("user_time", Unit::Ticks, "User time"),
            Field::counter("system_time", Unit::Ticks, "System time"),
        ]
        .into(),
        ..SourceDef::EMPTY
    };
    let exit = SourceDef {
        name: "exit".into(),
        instance: process.instance.clone(),
        fields: vec![
            Field::text("command", "Command"),
            Field::gauge("parent", Unit::Count, "Parent"),
            Field::gauge("end_time", Unit::Nanoseconds, "Exit time"),
            Field::gauge("run_time", Unit::Nanoseconds, "CPU time"),
            Field::gauge("read_bytes", Unit::Bytes, "Bytes read"),
            Field::gauge("write_bytes", Unit::Bytes, "Bytes written"),
            Field::gauge("user_time", Unit::Nanoseconds, "User time"),
            Field::gauge("system_time", Unit::Nanoseconds, "System time"),
        ]
        .into(),
        ..SourceDef::EMPTY
    };
    [process, exit].into_iter().map(Arc::new).collect()
});

/// A process: what it has used so far.
#[derive(Clone, Debug)]
struct Process {
    name: Vec<u8>,
    command: Vec<u8>,
    run_time: u64,
    resident: u64,
    read_bytes: u64,
    write_bytes: u64,
    end_ns: u64,
}

impl Process {
    /// The counters and gauges that an amount adds up.
    fn amount(&self, what: &str) -> u64 {
        match what {
            "cpu" => self.run_time,
            "mem" => self.resident,
            _ => self.read_bytes + self.write_bytes,
        }
    }
}

/// A tick.
#[derive(Clone, Debug, Default)]
struct Tick {
    monotonic_ns: u64,
    realtime_ns: i64,
    restart: bool,
    /// Whether processes were looked for, and those that were read, unless that failed.
    is_fresh: bool,
    processes: Option<Vec<Process>>,
    exits: Vec<Process>,
}

/// A machine whose processes are recorded.
struct Machine {
    random: Random,
    now_ns: u64,
    tick_ns: u64,
    alive: Vec<Process>,
    /// Ends that are told at the next tick but one.
    late: Vec<Process>,
    ticks: Vec<Tick>,
}

impl Machine {
    fn new(seed: u64, tick_ns: u64) -> Self {
        let random = Random::from_seed(testkit::seed(seed));
        let (alive, late, ticks) = (Vec::new(), Vec::new(), Vec::new());
        Machine { random, now_ns: 40 * SECOND_NS, tick_ns, alive, late, ticks }
    }

    fn begin(&mut self) -> Process {
        let pid = 100 + self.random.below(1_000_000);
        let command = format!("command{}", self.random.below(5)).into_bytes();
        let name = format!("{pid}\t{}", self.now_ns).into_bytes();
        let (run_time, read_bytes, write_bytes) = (self.random.below(1_000), 0, 0);
        Process { name, command, run_time, resident: 7, read_bytes, write_bytes, end_ns: 0 }
    }

    /// One interval: processes begin, work and end.
    fn tick(&mut self, is_first: bool) -> Tick {
        self.now_ns += self.tick_ns;
        let mut exits = std::mem::take(&mut self.late);
        while self.alive.len() < 3 || (self.alive.len() < 12 && self.random.below(3) == 0) {
            let begun = self.begin();
            self.alive.push(begun);
        }
        for process in &mut self.alive {
            process.run_time += self.random.below(4) * 1_000_003;
            process.resident = 1_000 + self.random.below(50);
            process.read_bytes += self.random.below(2) * 4_096;
            process.write_bytes += self.random.below(3) * 512;
        }
        while self.random.below(3) == 0 && !self.alive.is_empty() {
            let place = self.random.below(self.alive.len() as u64) as usize;
            let mut ended = self.alive.swap_remove(place);
            ended.end_ns = self.now_ns - 1 - self.random.below(self.tick_ns / 2);
            ended.run_time += 17;
            // It has executed another program since it was read.
            if self.random.below(4) == 0 {
                ended.command = format!("command{}", self.random.below(5)).into_bytes();
            }
            let when = if self.random.below(4) == 0 { &mut self.late } else { &mut exits };
            when.push(ended);
        }
        // One that nobody has read.
        if self.random.below(3) == 0 {
            let short = self.begin();
            exits.push(Process { end_ns: self.now_ns - 5, ..short });
        }
        let state = self.random.below(40);
        Tick {
            monotonic_ns: self.now_ns,
            realtime_ns: STARTED_NS + self.now_ns.cast_signed(),
            restart: is_first || self.random.below(300) == 0,
            is_fresh: state != 0,
            processes: (state > 1).then(|| self.alive.clone()),
            exits,
        }
    }

    fn record(&mut self, folder: &Path, ticks: usize) {
        let mut meta = Meta::new();
        meta.set("host", "one");
        meta.set("boot_id", "one");
        meta.set("interval_ns", self.tick_ns.to_string());
        meta.set("interval2_ns", self.tick_ns.to_string());
        meta.set("started_ns", (STARTED_NS + self.now_ns.cast_signed()).to_string());
        let path = folder.join(format!("one-{:012}.whit", self.now_ns / SECOND_NS));
        let mut writer = Writer::create(&path, &meta, &DEFS, WriterOptions::default()).unwrap();
        let mut snapshot = Snapshot::new(&DEFS);
        for number in 0..ticks {
            let tick = self.tick(number == 0);
            fill(&mut snapshot, &tick);
            writer.append(&snapshot).unwrap();
            self.ticks.push(tick);
        }
        writer.close().unwrap();
    }
}

fn fill(snapshot: &mut Snapshot, tick: &Tick) {
    (snapshot.monotonic_ns, snapshot.realtime_ns) = (tick.monotonic_ns, tick.realtime_ns);
    snapshot.restart = tick.restart;
    let rows = [tick.processes.as_ref(), Some(&tick.exits)];
    for (index, rows) in rows.into_iter().enumerate() {
        snapshot.fresh[index] = index == 1 || tick.is_fresh;
        let sample = &mut snapshot.samples[index];
        (sample.monotonic_ns, sample.realtime_ns) = (tick.monotonic_ns, tick.realtime_ns);
        sample.state = if rows.is_some() { State::Ok } else { State::Failed(5) };
        sample.table.begin();
        for process in rows.into_iter().flatten() {
            let mut row = sample.table.row(&process.name);
            row.set_text(0, &process.command);
            let (resident, io) = (process.resident, [process.read_bytes, process.write_bytes]);
            let numbers = match index {
                // Less exact, and in other units than those of an end.
                0 => [process.run_time, resident, io[0], io[1], 3, 4].to_vec(),
                _ => [1, process.end_ns, process.run_time, io[0], io[1], 5, 6].to_vec(),
            };
            for (field, number) in (1..).zip(numbers) {
                row.set(field, number);
            }
        }
    }
}

/// How many, how many ended, how many of which no amount is known, how much.
type Line = (usize, usize, usize, i128);

/// What a period has, by name or command, from each tick; and the time between its readings.
fn expected(ticks: &[Tick], query: &RankingQuery<'_>) -> (BTreeMap<Vec<u8>, Line>, u64) {
    let is_gauge = query.what == "mem";
    let key = |process: &Process| match query.by {
        Some(_) => process.command.clone(),
        None => process.name.clone(),
    };
    let in_period = |tick: &Tick| (query.from_ns..query.thru_ns).contains(&tick.realtime_ns);
    // What was read: base, then what each process has used.
    let mut before: Option<&Tick> = None;
    let mut base: Option<&Tick> = None;
    let mut read: BTreeMap<&[u8], (i128, &Process)> = BTreeMap::new();
    let (mut restart, mut covered_ns, mut has_begun) = (false, 0, false);
    for tick in ticks.iter().filter(|tick| tick.realtime_ns < query.thru_ns) {
        restart |= tick.restart;
        if !tick.is_fresh {
            continue;
        }
        let then = before.take().filter(|_| !restart);
        base = if std::mem::take(&mut restart) && !has_begun { None } else { base };
        if !in_period(tick) {
            base = None;
        }
        has_begun |= base.is_some();
        let Some(processes) = &tick.processes else { continue };
        before = Some(tick);
        if !in_period(tick) {
            base = Some(tick);
            continue;
        }
        if base.is_none() {
            (base, has_begun) = (Some(tick), true);
        }
        covered_ns += then.map_or(0, |then| tick.monotonic_ns - then.monotonic_ns);
        for process in processes {
            let now = i128::from(process.amount(query.what));
            let then = then.and_then(|then| find(then, &process.name));
            let grew = then.map(|then| now - i128::from(then.amount(query.what)));
            if let Some(amount) = if is_gauge { Some(now) } else { grew } {
                let known = read.entry(&process.name).or_insert((0, process));
                *known = (known.0 + amount, process);
            }
        }
    }
    let mut lines: BTreeMap<Vec<u8>, Line> = BTreeMap::new();
    let mut unknown: BTreeSet<&[u8]> = BTreeSet::new();
    let ends: Vec<&Process> =
        ticks.iter().filter(|tick| in_period(tick)).flat_map(|tick| &tick.exits).collect();
    for ended in &ends {
        let in_base = base.and_then(|base| find(base, &ended.name));
        let is_early = base.is_some_and(|base| ended.end_ns <= base.monotonic_ns);
        let is_read = read.contains_key(ended.name.as_slice());
        if is_early && in_base.is_none() && !is_read {
            continue;
        }
        // An end says nothing of levels.
        if is_gauge && !is_read {
            unknown.insert(&ended.name);
        }
        let begun = in_base.map_or(0, |process| process.amount(query.what));
        let used = if is_gauge { 0 } else { i128::from(ended.amount(query.what) - begun) };
        let known = read.entry(&ended.name).or_insert((0, ended));
        known.0 = known.0.max(used);
    }
    for (name, (amount, process)) in &read {
        let has_ended = ends.iter().any(|ended| ended.name == *name);
        let line = lines.entry(key(process)).or_default();
        let is_unknown = unknown.contains(name);
        line.0 += 1;
        line.1 += usize::from(has_ended);
        line.2 += usize::from(is_unknown);
        line.3 += amount;
    }
    (lines, covered_ns)
}

fn find<'a>(tick: &'a Tick, name: &[u8]) -> Option<&'a Process> {
    tick.processes.as_ref()?.iter().find(|process| process.name == name)
}

fn compare(recordings: &Recordings, ticks: &[Tick], query: &RankingQuery<'_>) -> RangeCost {
    let ranking = recordings.ranking(query).unwrap();
    let (expected, covered_ns) = expected(ticks, query);
    let found: BTreeMap<Vec<u8>, Line> = ranking
        .lines
        .iter()
        .map(|line| {
            let amounts = (line.instances, line.ended, line.unknown, line.total as i128);
            (line.name.clone().unwrap(), amounts)
        })
        .collect();
    assert_eq!(found, expected, "{query:?}");
    assert!(ranking.lines.is_sorted_by(|one, next| one.total >= next.total));
    if query.what != "mem" && covered_ns > 0 {
        for line in &ranking.lines {
            let mean = line.total / (covered_ns as f64 / 1e9);
            assert!((line.mean - mean).abs() <= 1e-9 * mean, "{query:?} {line:?} {mean}");
        }
    }
    ranking.cost
}

#[test]
fn rankings_are_what_each_reading_and_each_end_gives() {
    let folder = tempfile::tempdir().unwrap();
    let mut machine = Machine::new(401, SECOND_NS);
    for (ticks, pause_s) in [(900, 0), (700, 500), (800, 0)] {
        machine.record(folder.path(), ticks);
        machine.now_ns += pause_s * SECOND_NS;
    }
    let mut random = Random::from_seed(testkit::seed(402));
    let first_ns = machine.ticks[0].realtime_ns;
    let length_ns = machine.ticks.last().unwrap().realtime_ns - first_ns;
    let recordings = open(folder.path());
    let mut windows = 0;
    for with_side_files in [false, true] {
        if with_side_files {
            assert!(recordings.write_side_files().is_empty());
        }
        // Ends by samples, and windows between.
        let (from_ns, thru_ns) = (first_ns + MINUTE_NS / 2, first_ns + length_ns - MINUTE_NS / 2);
        let (host, by, count) = ("one", Some("command"), usize::MAX);
        let whole = RankingQuery { host, what: "cpu", by, from_ns, thru_ns, count };
        windows += compare(&recordings, &machine.ticks, &whole).windows;
        for _ in 0..testkit::share(CASES) / 2 {
            let any_ns = |random: &mut Random| (random.bits() % length_ns as u64).cast_signed();
            let (mut from_ns, mut for_ns) = (first_ns + any_ns(&mut random), any_ns(&mut random));
            if random.below(2) == 0 {
                // Windows have two minutes.
                from_ns -= from_ns.rem_euclid(2 * MINUTE_NS);
                for_ns += 2 * MINUTE_NS - for_ns.rem_euclid(2 * MINUTE_NS);
            } else if random.below(3) == 0 {
                for_ns %= 3 * SECOND_NS as i64;
            }
            let query = RankingQuery {
                host: "one",
                what: ["cpu", "mem", "io"][random.below(3) as usize],
                by: (random.below(2) == 0).then_some("command"),
                from_ns,
                thru_ns: from_ns + for_ns.max(1),
                count: usize::MAX,
            };
            windows += compare(&recordings, &machine.ticks, &query).windows;
        }
    }
    assert!(windows > 0);
}

#[test]
fn what_is_read_for_a_ranking_does_not_grow_with_the_period() {
    let folder = tempfile::tempdir().unwrap();
    let mut machine = Machine::new(403, 15 * SECOND_NS);
    machine.record(folder.path(), 2_400);
    let recordings = open(folder.path());
    assert!(recordings.write_side_files().is_empty());
    let from_ns = machine.ticks[0].realtime_ns;
    let from_ns = from_ns + (60 * MINUTE_NS - from_ns.rem_euclid(60 * MINUTE_NS));
    let cost = |hours: i64, by| {
        let thru_ns = from_ns + hours * 60 * MINUTE_NS;
        let query =
            RankingQuery { host: "one", what: "cpu", by, from_ns, thru_ns, count: usize::MAX };
        compare(&recordings, &machine.ticks, &query)
    };
    for by in [None, Some("command")] {
        let (short, long) = (cost(1, by), cost(8, by));
        // The ends of each tick, which have no windows; of processes the reading before the period, and
        // its first one.
        let is_read_once =
            |cost: RangeCost, ticks: u64| (ticks..=ticks + 2).contains(&cost.readings);
        assert!(is_read_once(short, 240) && is_read_once(long, 8 * 240), "{short:?} {long:?}");
        assert!(short.windows > 0 && long.windows > 0, "{short:?} {long:?}");
    }
}

/// The length of a file that was made beside the only recording of a folder.
fn bytes(folder: &Path, extension: &str) -> u64 {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths = paths.filter(|path| path.extension().is_some_and(|own| own == extension));
    paths.next().unwrap().metadata().unwrap().len()
}

#[test]
fn processes_that_live_for_seconds_have_no_hours_in_a_summary() {
    let folder = tempfile::tempdir().unwrap();
    let mut machine = Machine::new(404, SECOND_NS);
    machine.record(folder.path(), 4_200);
    let recordings = open(folder.path());
    assert!(recordings.write_side_files().is_empty());
    let (recording, summary) = (bytes(folder.path(), "whit"), bytes(folder.path(), "summary"));
    assert!(summary < recording, "{summary} of {recording}");
}

//! Recordings of machines that do not exist: several hosts, files that continue each other or do not,
//! with gaps, resets, instances that come and go, readings that fail, in every coding of a block.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use recording::{Compression, Writer, WriterOptions};
use sample::{Cadence, Field, Meta, Snapshot, SourceDef, State, Unit};
use testkit::Random;

pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// When the machines were started, since the epoch.
pub(crate) const STARTED_NS: i64 = 1_790_000_000 * SECOND_NS as i64;

/// Readings of the slow source are so many ticks apart.
const SLOW_TICKS: u64 = 7;

pub(crate) static DEFS: LazyLock<Vec<Arc<SourceDef>>> = LazyLock::new(|| {
    let whole = SourceDef {
        name: "whole".into(),
        fields: vec![
            Field::counter("ticks", Unit::Ticks, "Ticks"),
            Field::gauge("level", Unit::Count, "Level"),
            Field::counter("steady", Unit::Count, "Seldom changes"),
        ]
        .into(),
        ..SourceDef::EMPTY
    };
    let disks = SourceDef {
        name: "disks".into(),
        instance: vec!["disk".into()].into(),
        fields: vec![
            Field::text("model", "Model"),
            Field::counter("reads", Unit::Count, "Reads"),
            Field::gauge("heat", Unit::Millicelsius, "Temperature"),
        ]
        .into(),
        ..SourceDef::EMPTY
    };
    let slow = SourceDef { name: "slow".into(), cadence: Cadence::Second, ..disks.clone() };
    [whole, disks, slow].into_iter().map(Arc::new).collect()
});

/// A machine that is recorded.
#[derive(Clone)]
pub(crate) struct Machine {
    host: &'static str,
    random: Random,
    /// Ticks, and the time since it was started.
    tick: u64,
    now_ns: u64,
    tick_ns: u64,
    counters: [u64; 3],
    disks: Vec<(Vec<u8>, u64, i64)>,
    next_disk: u32,
}

impl Machine {
    pub(crate) fn new(host: &'static str, seed: u64) -> Self {
        let random = Random::from_seed(seed);
        Machine {
            host,
            random,
            tick: 1,
            now_ns: SECOND_NS,
            tick_ns: SECOND_NS,
            counters: [5; 3],
            disks: Vec::new(),
            next_disk: 0,
        }
    }

    /// Begins a recording with ticks so far apart.
    pub(crate) fn begin(
        &mut self,
        folder: &Path,
        options: WriterOptions,
        tick_ns: u64,
    ) -> (Writer, PathBuf) {
        self.tick_ns = tick_ns;
        let path = folder.join(format!("{}-{:06}.whit", self.host, self.now_ns / 1_000_000));
        let mut meta = Meta::new();
        meta.set("host", self.host);
        meta.set("boot_id", "one");
        meta.set("interval_ns", self.tick_ns.to_string());
        meta.set("interval2_ns", (SLOW_TICKS * self.tick_ns).to_string());
        meta.set("started_ns", self.now().1.to_string());
        (Writer::create(&path, &meta, &DEFS, options).unwrap(), path)
    }

    fn now(&self) -> (u64, i64) {
        (self.now_ns, STARTED_NS + self.now_ns.cast_signed())
    }

    /// Lets time pass without samples.
    pub(crate) fn pass(&mut self, ticks: u64) {
        self.tick += ticks;
        self.now_ns += ticks * self.tick_ns;
    }

    /// Takes samples into a recording.
    pub(crate) fn record(&mut self, writer: &mut Writer, samples: u64) {
        let mut snapshot = Snapshot::new(&DEFS);
        for _ in 0..samples {
            self.step(&mut snapshot);
            writer.append(&snapshot).unwrap();
        }
    }

    fn step(&mut self, snapshot: &mut Snapshot) {
        // Sometimes late, sometimes a tick is missed.
        let missed = if self.random.below(50) == 0 { self.random.below(4) } else { 0 };
        self.pass(1 + missed);
        let late_ns = self.random.below(3_000_000);
        let (monotonic_ns, realtime_ns) = self.now();
        snapshot.monotonic_ns = monotonic_ns + late_ns;
        snapshot.realtime_ns = realtime_ns + late_ns.cast_signed();
        snapshot.restart = self.random.below(150) == 0;
        self.change();
        for index in 0..3 {
            let sample = &mut snapshot.samples[index];
            snapshot.fresh[index] = match index {
                2 => self.tick.is_multiple_of(SLOW_TICKS),
                _ => self.random.below(40) > 0,
            };
            sample.monotonic_ns = snapshot.monotonic_ns + 1_000 * index as u64;
            sample.realtime_ns = snapshot.realtime_ns + 1_000 * index as i64;
            sample.cost_ns = 1_000 + self.tick * 13 % 700;
            sample.state = match self.random.below(60) {
                0 => State::Failed(5),
                1 => State::Skipped,
                _ => State::Ok,
            };
            sample.table.begin();
            if sample.state != State::Ok {
                continue;
            }
            if index == 0 {
                let mut row = sample.table.row(b"");
                row.set(0, self.counters[0]);
                if self.random.below(30) > 0 {
                    row.set_signed(1, self.counters[1].cast_signed() - 500);
                }
                row.set(2, self.counters[2]);
                continue;
            }
            for (name, reads, heat) in &self.disks {
                let mut row = sample.table.row(name);
                row.set_text(0, name);
                if self.random.below(30) > 0 {
                    row.set(1, *reads);
                }
                row.set_signed(2, *heat);
            }
        }
    }

    fn change(&mut self) {
        self.counters[0] += self.random.below(1_000);
        self.counters[1] = self.random.below(1_000);
        self.counters[2] += u64::from(self.random.below(40) == 0);
        if self.random.below(120) == 0 {
            self.counters[0] = 0;
        }
        if self.random.below(25) == 0 && self.disks.len() < 6 {
            let place = self.random.below(self.disks.len() as u64 + 1) as usize;
            // Some come back under their old name.
            let number = self.next_disk % 9;
            self.next_disk += 1;
            let name = format!("disk{number}").into_bytes();
            if self.disks.iter().all(|disk| disk.0 != name) {
                self.disks.insert(place, (name, self.random.below(50), 30_000));
            }
        }
        if self.random.below(40) == 0 && !self.disks.is_empty() {
            let place = self.random.below(self.disks.len() as u64) as usize;
            self.disks.remove(place);
        }
        for disk in &mut self.disks {
            disk.1 += self.random.below(5);
            disk.2 += self.random.below(200).cast_signed() - 100;
        }
    }
}

/// Every way to store a block, and the time between ticks: those that come fast are not coded densely.
fn coding(number: u64, tick_ns: u64) -> (WriterOptions, u64) {
    let tick_ns = if matches!(number % 4, 1 | 2) { tick_ns / 50 } else { tick_ns };
    let compression = match number % 4 {
        0 | 1 => Compression::Zstd(1),
        2 => Compression::None,
        _ => Compression::FramesOnly,
    };
    (WriterOptions { compression, block_samples: 19, ..WriterOptions::default() }, tick_ns)
}

/// A folder of recordings of two machines, some of them not closed, one still being written.
pub(crate) fn folder(seed: u64) -> (tempfile::TempDir, Machine, Writer, PathBuf) {
    slow_folder(seed, SECOND_NS)
}

/// The same, with ticks that are so far apart.
pub(crate) fn slow_folder(
    seed: u64,
    tick_ns: u64,
) -> (tempfile::TempDir, Machine, Writer, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    for (host, seed) in [("alpha", seed), ("beta", seed + 1)] {
        let mut machine = Machine::new(host, seed);
        for number in 0..5 {
            let (options, tick_ns) = coding(number + seed, tick_ns);
            let (mut writer, _) = machine.begin(folder.path(), options, tick_ns);
            if number == 3 {
                // Another recorder, which begins later and ends later.
                let mut other = machine.clone();
                other.pass(40);
                let (mut writer, _) = other.begin(folder.path(), options, tick_ns);
                other.record(&mut writer, 450);
                writer.close().unwrap();
            }
            machine.record(&mut writer, 90 + 40 * number);
            if number != 2 {
                writer.close().unwrap();
            }
            // Some continue the one before, others begin after a pause.
            machine.pass(if number % 2 == 0 { 0 } else { 300 });
        }
    }
    let mut machine = Machine::new("gamma", seed + 2);
    let (options, tick_ns) = coding(0, tick_ns);
    let (mut writer, path) = machine.begin(folder.path(), options, tick_ns);
    machine.record(&mut writer, 100);
    (folder, machine, writer, path)
}

/// One of these files with a bit flipped, cut off, or with bytes in between.
pub(crate) fn damaged(whole: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = whole[random.below(whole.len() as u64) as usize].clone();
    let at = random.below(bytes.len() as u64) as usize;
    match random.below(3) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes.truncate(at),
        _ => bytes.splice(at..at, [1, 2, 3]).for_each(drop),
    }
    bytes
}

/// Damages the body of a block of a recording, which then has none of its samples.
pub(crate) fn damage_block(path: &Path, block: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    let headers: Vec<usize> = (0..bytes.len() / 64)
        .map(|at| at * 64)
        .filter(|&at| bytes[at..].starts_with(b"WBLK"))
        .collect();
    let header = headers[block];
    let body_at = u32::from_le_bytes(*bytes[header + 40..].first_chunk().unwrap());
    bytes[header + body_at as usize + 5] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

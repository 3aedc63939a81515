//! Many instances of which few change, such as the processes of a machine: what they cost in the
//! open block, in a closed one, and in time.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use recording::{Compression, ReadOutcome, Reader, Writer, WriterOptions};
use sample::{Cadence, Field, Snapshot, SourceDef, State, Unit};

use crate::recording::support::{Memory, Random, SINGLE, meta};

/// Processes at the start, how many of them change, come and go at each sample.
const PROCESSES: u64 = 1_000;
const BUSY: u64 = 20;
const COME: u64 = 3;

/// Thirty-eight numbers and two texts.
fn process() -> Arc<SourceDef> {
    let number = |index| {
        let name: &'static str = format!("number_{index}").leak();
        Field::counter(name, Unit::Count, "A number")
    };
    let mut fields = vec![Field::text("command", "Command"), Field::text("arguments", "Arguments")];
    fields.extend((0..38).map(number));
    Arc::new(SourceDef {
        name: "many_rows".into(),
        about: "Many rows".into(),
        letters: "k".into(),
        instance: vec!["pid".into(), "start".into()].into(),
        fields: fields.into(),
        cadence: Cadence::First,
    })
}

struct Machine {
    /// Name, values.
    processes: Vec<(String, [u64; 38])>,
    random: Random,
    next: u64,
    /// At each sample so many times one of every so many changes.
    busy: u64,
    of: u64,
    /// How far apart samples are.
    interval_ns: u64,
}

impl Machine {
    fn new(processes: u64) -> Self {
        let mut machine = Machine {
            processes: Vec::new(),
            random: Random::from_seed(7),
            next: 0,
            busy: BUSY,
            of: 20,
            interval_ns: 1_000_000_000,
        };
        (0..processes).for_each(|_| machine.start());
        machine
    }

    fn start(&mut self) {
        let number = self.next;
        self.next += 1;
        let mut values = [0; 38];
        for (field, value) in values.iter_mut().enumerate() {
            *value = if field % 3 == 0 { self.random.below(1 << (field % 24)) } else { 0 };
        }
        self.processes.push((format!("{} {}", 300 + number, 5_000 + 7 * number), values));
    }

    fn tick(&mut self, snapshot: &mut Snapshot, tick: u64, churn: bool) {
        if churn {
            for _ in 0..COME {
                let at = self.random.below(self.processes.len() as u64) as usize;
                self.processes.remove(at);
                self.start();
            }
        }
        for _ in 0..self.busy {
            let at = self.random.below(self.processes.len() as u64 / self.of) * self.of;
            let at = at as usize;
            for field in [3, 6, 9, 12, 15, 21] {
                self.processes[at].1[field] += self.random.below(1 << (field / 2));
            }
        }
        snapshot.monotonic_ns = 1_000_000_000 + tick * self.interval_ns;
        snapshot.realtime_ns = snapshot.monotonic_ns.cast_signed();
        snapshot.fresh[0] = true;
        let sample = &mut snapshot.samples[0];
        sample.monotonic_ns = snapshot.monotonic_ns;
        sample.realtime_ns = snapshot.realtime_ns;
        sample.state = State::Ok;
        sample.table.begin();
        for (name, values) in &self.processes {
            let mut row = sample.table.row(name.as_bytes());
            row.set_text(0, b"worker");
            row.set_text(1, &name.as_bytes()[..2]);
            for (field, &value) in values.iter().enumerate() {
                row.set(2 + field, value);
            }
        }
    }
}

#[test]
fn rows_that_do_not_change_cost_next_to_nothing() {
    let def = process();
    for churn in [false, true] {
        let mut machine = Machine::new(PROCESSES);
        let memory = Memory::default();
        let path = Path::new("memory");
        let options = WriterOptions { block_samples: 200, ..WriterOptions::default() };
        let storage = Box::new(memory.clone());
        let mut writer =
            Writer::with_storage(storage, path, &meta(), std::slice::from_ref(&def), options)
                .unwrap();
        let mut snapshot = Snapshot::new(std::slice::from_ref(&def));
        let (mut open, mut took, mut closed) = (0, Vec::new(), 0);
        for tick in 0..400 {
            machine.tick(&mut snapshot, tick, churn);
            let before = Instant::now();
            let written = writer.append(&snapshot).unwrap();
            if written.closed_block {
                println!("churn {churn}: a block closed in {:?}", before.elapsed());
                closed = writer.bytes_closed();
            } else if tick > 0 {
                open += written.bytes;
                took.push(before.elapsed().as_nanos() as u64);
            }
        }
        took.sort_unstable();
        let open = open as f64 / took.len() as f64;
        let a_row = (closed as f64 - 8_000.0) / 200.0 / PROCESSES as f64;
        println!(
            "churn {churn}: open {open} bytes a sample, closed {closed} bytes a block, {} bytes a \
             row; {} ns a row",
            a_row,
            took[took.len() / 2] / PROCESSES
        );
        // 20 rows of 6 fields change, and 3 come with a name and 13 values.
        assert!(open < if churn { 900.0 } else { 500.0 }, "{open}");
        assert!(closed < if churn { 80_000 } else { 55_000 }, "{closed}");
        writer.close().unwrap();
        let mut reader =
            Reader::with_store(Box::new(memory.bytes()), path, std::slice::from_ref(&def)).unwrap();
        let mut read = Snapshot::new(std::slice::from_ref(&def));
        let mut samples = 0;
        while reader.next(&mut read).unwrap() == ReadOutcome::Sample {
            samples += 1;
        }
        assert_eq!((samples, reader.damage().is_none()), (400, true));
        let (last, told) = (&snapshot.samples[0].table, &read.samples[0].table);
        assert!(last.same_rows(told));
        for row in 0..last.rows() {
            assert_eq!(last.text(row, 1), told.text(row, 1));
            assert!((2..40).all(|field| last.get(row, field) == told.get(row, field)));
        }
    }
}

#[test]
fn rows_that_never_come_again_close_a_block_before_they_take_much_memory() {
    let def = process();
    let path = Path::new("memory");
    let storage = Box::new(Memory::default());
    let options = WriterOptions::default();
    let mut writer =
        Writer::with_storage(storage, path, &meta(), std::slice::from_ref(&def), options).unwrap();
    let mut snapshot = Snapshot::new(std::slice::from_ref(&def));
    let mut machine = Machine::new(PROCESSES);
    let mut closed = 0;
    for tick in 0..40_u64 {
        machine.tick(&mut snapshot, tick as _, false);
        let table = &mut snapshot.samples[0].table;
        table.begin();
        for row in 0..500 {
            table.row(format!("{tick} {row}").as_bytes()).set(2, row);
        }
        closed += u32::from(writer.append(&snapshot).unwrap().closed_block);
    }
    // 500 rows of 40 cells a sample: some 3 samples in 64 Ki cells, far from 256 KiB of frames.
    assert!((8..=20).contains(&closed), "{closed} blocks");
}

#[test]
fn a_source_that_is_read_now_and_then_fills_no_block_by_itself() {
    let def = process();
    let path = Path::new("memory");
    let storage = Box::new(Memory::default());
    let options = WriterOptions::default();
    let defs = [def, SINGLE.clone()];
    let mut writer = Writer::with_storage(storage, path, &meta(), &defs, options).unwrap();
    let mut snapshot = Snapshot::new(&defs);
    let mut machine = Machine::new(3_000);
    let mut closed = Vec::new();
    for tick in 0..2_000_u64 {
        if tick.is_multiple_of(10) {
            machine.tick(&mut snapshot, tick, false);
        }
        snapshot.fresh = vec![tick.is_multiple_of(10), true];
        snapshot.monotonic_ns = tick * 1_000_000_000;
        snapshot.realtime_ns = snapshot.monotonic_ns.cast_signed();
        let single = &mut snapshot.samples[1];
        (single.state, single.monotonic_ns) = (State::Ok, snapshot.monotonic_ns);
        single.table.begin();
        single.table.row(b"").set(0, tick);
        if writer.append(&snapshot).unwrap().closed_block {
            closed.push(tick);
        }
    }
    // By their samples: 3,000 rows of 40 cells are more than 64 Ki cells and 256 KiB of frames.
    assert_eq!(closed, [512, 1_024, 1_536]);
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// What this thread has had of a CPU, whoever else wants one.
fn on_cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is one that the call may fill.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) }, 0);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

/// What ten thousand rows cost at the end of a block, and in memory.  To be run alone.
#[test]
#[ignore = "measures"]
fn ten_thousand_rows() {
    let def = process();
    let busy = std::env::var("WHIT_BUSY").map_or(1_000, |busy| busy.parse().unwrap());
    let fast = std::env::var_os("WHIT_FAST").is_some();
    let interval_ns = if fast { 10_000_000 } else { 1_000_000_000 };
    let mut machine = Machine { busy, of: 1, interval_ns, ..Machine::new(10_000) };
    let storage = Box::new(tempfile::tempfile().unwrap());
    let path = Path::new("temporary");
    let options = WriterOptions::default();
    let mut snapshot = Snapshot::new(std::slice::from_ref(&def));
    machine.tick(&mut snapshot, 0, false);
    println!("{} KiB with a snapshot", peak_kib());
    let mut writer =
        Writer::with_storage(storage, path, &meta(), std::slice::from_ref(&def), options).unwrap();
    let (mut samples, mut bytes, mut most) = (0, 0, Duration::ZERO);
    for tick in 0..650 {
        machine.tick(&mut snapshot, tick, true);
        let before = on_cpu();
        let written = writer.append(&snapshot).unwrap();
        let took = on_cpu() - before;
        most = most.max(if tick > 1 { took } else { Duration::ZERO });
        if written.closed_block || tick < 2 {
            let of_block = writer.bytes_closed() - bytes;
            println!(
                "tick {tick}: {samples} samples, {of_block} bytes, at most {most:?}, {} KiB",
                peak_kib()
            );
            most = Duration::ZERO;
            (samples, bytes) = (0, writer.bytes_closed());
        }
        samples += 1;
    }
}

/// Makes `version-2-rows-*` of `testdata/recordings`, which are kept as they were made.
#[test]
#[ignore = "writes recordings"]
fn make_the_recordings_of_this_version() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recordings");
    let second = 1_000_000_000;
    for (name, interval_ns, compression) in [
        ("closed", second, Compression::default()),
        ("fast", second / 100, Compression::default()),
        ("killed", second, Compression::FramesOnly),
    ] {
        let path = folder.join(format!("version-{}-rows-{name}.whit", recording::VERSION));
        assert!(!path.exists(), "{} is kept as it is", path.display());
        let def = process();
        let mut machine = Machine { busy: 4, of: 2, interval_ns, ..Machine::new(20) };
        let options = WriterOptions { block_samples: 12, compression, ..Default::default() };
        let mut writer =
            Writer::create(&path, &meta(), std::slice::from_ref(&def), options).unwrap();
        let mut snapshot = Snapshot::new(std::slice::from_ref(&def));
        for tick in 0..30 {
            machine.tick(&mut snapshot, tick, tick % 4 == 3);
            writer.append(&snapshot).unwrap();
        }
        if name != "killed" {
            writer.close().unwrap();
        }
    }
}

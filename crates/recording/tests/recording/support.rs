//! Sources, samples and storages for the tests.

use std::io;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};

use recording::{Bytestore, ReadOutcome, Reader, Storage, Writer, WriterOptions};
use sample::{Cadence, Field, Meta, Sample, Snapshot, SourceDef, State, Unit};

/// A source with one row.
pub(crate) static SINGLE: LazyLock<Arc<SourceDef>> = LazyLock::new(|| {
    Arc::new(SourceDef {
        name: "single".into(),
        about: "One row".into(),
        letters: "c".into(),
        instance: vec![].into(),
        fields: vec![
            Field::counter("ticks", Unit::Ticks, "Ticks"),
            Field::counter("bytes", Unit::Bytes, "Bytes"),
            Field::gauge("level", Unit::Count, "Level"),
        ]
        .into(),
        cadence: Cadence::First,
    })
});

/// A source with instances and texts.
pub(crate) static MANY: LazyLock<Arc<SourceDef>> = LazyLock::new(|| {
    Arc::new(SourceDef {
        name: "many".into(),
        about: "Many rows".into(),
        letters: "dD".into(),
        instance: vec!["device".into()].into(),
        fields: vec![
            Field::counter("reads", Unit::Count, "Reads"),
            Field::text("model", "Model"),
            Field::gauge("temperature", Unit::Millicelsius, "Temperature"),
            Field::text("state", "State"),
        ]
        .into(),
        cadence: Cadence::Second,
    })
});

/// A source with more than 64 fields.
fn wide() -> Arc<SourceDef> {
    let field = |index| {
        let name: &'static str = format!("wide_{index}").leak();
        Field::gauge(name, Unit::Count, "One of many")
    };
    Arc::new(SourceDef {
        name: "wide".into(),
        about: "Many fields".into(),
        letters: "t".into(),
        instance: vec!["name".into()].into(),
        fields: (0..75).map(field).collect::<Vec<_>>().into(),
        cadence: Cadence::Third,
    })
}

/// All of them.
pub(crate) static DEFS: LazyLock<Vec<Arc<SourceDef>>> =
    LazyLock::new(|| vec![SINGLE.clone(), MANY.clone(), wide()]);

pub(crate) use testkit::Random;

/// A machine whose samples look like a real one's: most values still, some rising, some noise.
pub(crate) fn machine_sample(snapshot: &mut Snapshot, tick: u64, random: &mut Random) {
    snapshot.monotonic_ns = 5_000_000_000 + tick * 1_000_000_000 + random.below(50_000);
    snapshot.realtime_ns = 1_700_000_000_000_000_000 + (tick * 1_000_000_000).cast_signed();
    let mut at = snapshot.monotonic_ns;
    for (index, sample) in snapshot.samples.iter_mut().enumerate() {
        snapshot.fresh[index] = index < 2 || tick.is_multiple_of(10);
        sample.monotonic_ns = at;
        sample.realtime_ns = snapshot.realtime_ns + (at - snapshot.monotonic_ns).cast_signed();
        sample.cost_ns = 8_000 + random.below(500);
        at += sample.cost_ns;
        sample.state = State::Ok;
        sample.table.begin();
    }
    let mut row = snapshot.samples[0].table.row(b"");
    row.set(0, 1_000 + 100 * tick);
    row.set(1, 77_000 + 100 * tick + random.below(7));
    row.set(2, random.below(40));
    for device in 0..4 + tick / 50 % 2 {
        let mut row = snapshot.samples[1].table.row(format!("sd{device}").as_bytes());
        row.set(0, device * 1_000 + tick * device);
        row.set_text(1, b"Model X");
        if device != 2 {
            row.set_signed(2, -5 + random.below(3).cast_signed());
        }
        row.set_text(3, if tick.is_multiple_of(40) { b"down" } else { b"up" });
    }
    for name in [b"eth0".as_slice(), b"eth1"] {
        let mut row = snapshot.samples[2].table.row(name);
        for field in (0..75).filter(|field| field % 9 != 4) {
            row.set(field, tick * field as u64 / 10);
        }
    }
}

/// The first samples of that machine.
pub(crate) fn machine(count: u64, seed: u64) -> Vec<Snapshot> {
    let mut random = Random::from_seed(seed);
    let take = |tick| {
        let mut snapshot = Snapshot::new(&DEFS);
        machine_sample(&mut snapshot, tick, &mut random);
        snapshot
    };
    (0..count).map(take).collect()
}

/// Meta data for tests.
pub(crate) fn meta() -> Meta {
    let mut meta = Meta::new();
    meta.set("host", "testhost");
    meta.set("boot_id", "1234");
    meta
}

/// A file in memory, shared with whoever looks at it, that can be made to fail.
#[derive(Clone, Default)]
pub(crate) struct Memory(pub(crate) Arc<Mutex<MemoryFile>>);

#[derive(Default)]
pub(crate) struct MemoryFile {
    pub(crate) bytes: Vec<u8>,
    /// Calls done.
    pub(crate) steps: usize,
    /// Every call's number and what was written by it, with the offset.
    pub(crate) log: Vec<Step>,
    /// Bytes that the file may have, as on a full disk.
    pub(crate) space: Option<u64>,
    /// Calls that fail with EIO, by their number.
    pub(crate) fails: Vec<usize>,
}

/// What a writer did to its file.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Write(Vec<u8>, u64),
    Truncate(u64),
}

/// Does a step, or of a write only the first bytes.
pub(crate) fn apply(bytes: &mut Vec<u8>, step: &Step, most: usize) {
    match step {
        Step::Write(data, at) => {
            let (at, data) = (*at as usize, &data[..most.min(data.len())]);
            if !data.is_empty() {
                bytes.resize(bytes.len().max(at + data.len()), 0);
                bytes[at..at + data.len()].copy_from_slice(data);
            }
        }
        Step::Truncate(length) => bytes.resize(*length as usize, 0),
    }
}

impl Storage for Memory {
    fn write_at(&mut self, data: &[u8], offset: u64) -> io::Result<usize> {
        let mut file = self.0.lock().unwrap();
        file.steps += 1;
        if file.fails.contains(&file.steps) {
            return Err(io::Error::from_raw_os_error(5));
        }
        let space = file.space.unwrap_or(u64::MAX);
        let room = usize::try_from(space.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = data.len().min(room);
        if count == 0 {
            return Err(io::Error::from_raw_os_error(28));
        }
        let step = Step::Write(data[..count].to_vec(), offset);
        apply(&mut file.bytes, &step, count);
        file.log.push(step);
        Ok(count)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut file = self.0.lock().unwrap();
        file.steps += 1;
        let step = Step::Truncate(length);
        apply(&mut file.bytes, &step, 0);
        file.log.push(step);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Bytestore for Memory {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.lock().unwrap().bytes.read_at(bytes, offset)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().bytes.len() as u64)
    }
}

impl Memory {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().bytes.clone()
    }
}

/// A writer into memory.
pub(crate) fn memory_writer(memory: &Memory, options: WriterOptions) -> Writer {
    let storage = Box::new(memory.clone());
    Writer::with_storage(storage, Path::new("memory"), &meta(), &DEFS, options).unwrap()
}

/// A recording of these samples, closed.
pub(crate) fn recorded(samples: &[Snapshot], options: WriterOptions) -> Vec<u8> {
    let memory = Memory::default();
    let mut writer = memory_writer(&memory, options);
    for sample in samples {
        writer.append(sample).unwrap();
    }
    writer.close().unwrap();
    memory.bytes()
}

/// A reader of these bytes.
pub(crate) fn reader(bytes: Vec<u8>) -> Reader {
    Reader::with_store(Box::new(bytes), Path::new("memory"), &DEFS).unwrap()
}

/// All samples that a reader gives, and how it ends.
pub(crate) fn read_all(reader: &mut Reader) -> (Vec<Snapshot>, ReadOutcome) {
    let mut samples = Vec::new();
    loop {
        let mut snapshot = Snapshot::new(&reader.defs());
        match reader.next(&mut snapshot).unwrap() {
            ReadOutcome::Sample => samples.push(snapshot),
            end => return (samples, end),
        }
    }
}

/// Whether two tables say the same.
fn same_tables(def: &SourceDef, left: &Sample, right: &Sample) -> bool {
    let (a, b) = (&left.table, &right.table);
    let cells = |row: usize| {
        def.fields.iter().enumerate().all(|(field, about)| {
            if about.unit == Unit::Text {
                a.text(row, field) == b.text(row, field)
            } else {
                a.get(row, field) == b.get(row, field)
            }
        })
    };
    a.same_rows(b) && (0..a.rows()).all(cells)
}

/// What differs between two snapshots, gaps left aside; `None` if nothing does.
pub(crate) fn difference(
    defs: &[Arc<SourceDef>],
    left: &Snapshot,
    right: &Snapshot,
) -> Option<String> {
    let tick = |s: &Snapshot| (s.monotonic_ns, s.realtime_ns, s.restart, s.fresh.clone());
    if tick(left) != tick(right) {
        return Some(format!("ticks {:?} and {:?}", tick(left), tick(right)));
    }
    for (index, def) in defs.iter().enumerate() {
        let (a, b) = (&left.samples[index], &right.samples[index]);
        let about = |s: &Sample| (s.monotonic_ns, s.realtime_ns, s.cost_ns, s.state);
        if left.fresh[index] && about(a) != about(b) {
            return Some(format!("{}: {:?} and {:?}", def.name, about(a), about(b)));
        }
        if left.fresh[index] && a.state == State::Ok && !same_tables(def, a, b) {
            return Some(format!("{}: {:?} and {:?}", def.name, a.table, b.table));
        }
    }
    None
}

/// Fails unless both lists say the same.
#[track_caller]
pub(crate) fn assert_same(left: &[Snapshot], right: &[Snapshot]) {
    for (index, (a, b)) in left.iter().zip(right).enumerate() {
        if let Some(difference) = difference(&DEFS, a, b) {
            panic!("sample {index}: {difference}");
        }
    }
    assert_eq!(left.len(), right.len(), "number of samples");
}

//! Many instances of which few change, such as the processes of a machine: what they cost in the
//! open block, in a closed one, and in time.

use std::path::Path;
use std::time::Instant;

use recording::{Next, Reader, Writer, WriterOptions};
use sample::{Cadence, Field, Snapshot, SourceDef, State, Unit};

use crate::support::{Memory, Random, meta};

/// Processes at the start, how many of them change, come and go at each sample.
const PROCESSES: u64 = 1_000;
const BUSY: u64 = 20;
const COME: u64 = 3;

/// Thirty-eight numbers and two texts.
fn process() -> &'static SourceDef {
    let number = |index| {
        let name: &'static str = format!("number_{index}").leak();
        Field::counter(name, Unit::Count, "A number")
    };
    let mut fields = vec![Field::text("command", "Command"), Field::text("arguments", "Arguments")];
    fields.extend((0..38).map(number));
    Box::leak(Box::new(SourceDef {
        name: "many_rows",
        about: "Many rows",
        letters: "k",
        reads: &[],
        instance: &["pid", "start"],
        fields: fields.leak(),
        cadence: Cadence::First,
        layouts: &[],
    }))
}

struct Machine {
    /// Name, values.
    processes: Vec<(String, [u64; 38])>,
    random: Random,
    next: u64,
}

impl Machine {
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
        for _ in 0..BUSY {
            let at = self.random.below(self.processes.len() as u64 / 20) as usize * 20;
            for field in [3, 6, 9, 12, 15, 21] {
                self.processes[at].1[field] += self.random.below(1 << (field / 2));
            }
        }
        snapshot.monotonic_ns = (1 + tick) * 1_000_000_000;
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
        let mut machine = Machine { processes: Vec::new(), random: Random(7), next: 0 };
        (0..PROCESSES).for_each(|_| machine.start());
        let memory = Memory::default();
        let path = Path::new("memory");
        let options = WriterOptions { block_samples: 200, ..WriterOptions::default() };
        let storage = Box::new(memory.clone());
        let mut writer = Writer::with_storage(storage, path, &meta(), &[def], options).unwrap();
        let mut snapshot = Snapshot::new(&[def]);
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
        let mut reader = Reader::with_store(Box::new(memory.bytes()), path, &[def]).unwrap();
        let mut read = Snapshot::new(&[def]);
        let mut samples = 0;
        while reader.next(&mut read).unwrap() == Next::Sample {
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

//! A reader gives back all that it took when it is dropped, the definitions of its sources
//! included: a server may open recordings of other machines for years.
//!
//! Alone in its binary, because it counts by replacing the allocator.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use recording::{Bytestore as _, ReadOutcome, Reader, Storage, Writer, WriterOptions};
use sample::{Cadence, Field, Meta, Snapshot, SourceDef, State, Unit};

#[global_allocator]
static ALLOCATOR: testkit::CountingAllocator = testkit::CountingAllocator;

/// Recordings that are opened one after the other.
const RECORDINGS: u32 = 10_000;

/// Bytes that the process may have grown by between the hundredth and the last.  Definitions of
/// that many recordings come to 10 MiB.
const RESIDENT_GROWTH_MAX: u64 = 2 << 20;

/// A file in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Storage for Memory {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut file = self.0.lock().unwrap();
        let start = usize::try_from(offset).unwrap();
        let end = start + bytes.len();
        let length = file.len().max(end);
        file.resize(length, 0);
        file[start..end].copy_from_slice(bytes);
        Ok(bytes.len())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.lock().unwrap().truncate(usize::try_from(length).unwrap());
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A source that no other recording has.
fn source(number: u32) -> Arc<SourceDef> {
    let fields = (0..10).map(|field| {
        let (name, help) = (format!("field_{number}_{field}"), format!("Field {number}.{field}"));
        Field { name: name.into(), help: help.into(), ..Field::counter("", Unit::Count, "") }
    });
    Arc::new(SourceDef {
        name: format!("source_{number}").into(),
        about: format!("Source of recording {number}").into(),
        letters: "".into(),
        instance: vec![format!("instance_{number}").into()].into(),
        fields: fields.collect::<Vec<_>>().into(),
        cadence: Cadence::First,
    })
}

/// Writes a recording of one sample and reads it back.
fn write_and_read(number: u32) {
    let (path, file, def) = (Path::new("x"), Memory::default(), source(number));
    let options = WriterOptions::default();
    let defs = [def];
    let storage = Box::new(file.clone());
    let mut writer = Writer::with_storage(storage, path, &Meta::new(), &defs, options).unwrap();
    let mut snapshot = Snapshot::new(&defs);
    (snapshot.monotonic_ns, snapshot.realtime_ns) = (1, 1);
    snapshot.fresh[0] = true;
    snapshot.samples[0].state = State::Ok;
    snapshot.samples[0].table.begin();
    snapshot.samples[0].table.row(b"one").set(9, u64::from(number));
    writer.append(&snapshot).unwrap();
    writer.close().unwrap();

    let bytes = std::mem::take(&mut *file.0.lock().unwrap());
    assert!(bytes.length().unwrap() > 0);
    let mut reader = Reader::with_store(Box::new(bytes), path, &[]).unwrap();
    let mut read = Snapshot::new(&reader.defs());
    assert_eq!(reader.next(&mut read).unwrap(), ReadOutcome::Sample);
    assert_eq!(reader.schemas()[0].fields[9].name, format!("field_{number}_9"));
    assert_eq!(read.samples[0].table.get(0, 9), Some(u64::from(number)));
}

/// Memory of this process that is resident.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * rustix::param::page_size() as u64
}

#[test]
fn ten_thousand_recordings_take_the_memory_of_one() {
    let mut after_hundred = (0, 0);
    for number in 0..RECORDINGS {
        write_and_read(number);
        if number == 99 {
            after_hundred = (testkit::live_bytes(), resident_bytes());
        }
    }
    let (live, resident) = (testkit::live_bytes(), resident_bytes());
    assert_eq!(live, after_hundred.0, "bytes that were allocated and not freed");
    let growth = resident.saturating_sub(after_hundred.1);
    assert!(growth <= RESIDENT_GROWTH_MAX, "{growth} bytes more are resident");
}

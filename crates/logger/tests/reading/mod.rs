//! What consumers do, for tests: reads all rings of a folder and decodes them.

#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use log_format::{LogRecord, RecordOrigin, write_message};
use logger::{LogLevel, LogValue, Tier};
use logring::{
    Batch, FormatKind, ProcessFile, RingDirectory, RingNotice, RingReader, SiteRole, abi,
};

/// A folder on tmpfs.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("whit-log-test-").tempdir_in("/dev/shm").unwrap()
}

/// Bytes of each ring of a folder, the smallest first.
pub(crate) fn ring_sizes(folder: &Path) -> Vec<u64> {
    let rings = RingDirectory::scan(folder).unwrap().rings;
    let length = |path: &std::path::PathBuf| path.metadata().unwrap().len();
    let mut sizes: Vec<u64> =
        rings.iter().map(|path| length(path) - abi::ring::DATA as u64).collect();
    sizes.sort_unstable();
    sizes
}

/// A record, decoded.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) ring: u32,
    pub(crate) pid: u32,
    pub(crate) sequence: u64,
    pub(crate) flags: u8,
    pub(crate) level: Option<LogLevel>,
    pub(crate) format: String,
    pub(crate) format_kind: FormatKind,
    pub(crate) routine: String,
    pub(crate) role: SiteRole,
    pub(crate) logger: String,
    pub(crate) pairs: Vec<(String, String)>,
    pub(crate) values: Vec<String>,
    /// As readers show it.
    pub(crate) message: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) realtime_ns: u64,
}

/// Everything in a folder.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) records: Vec<Read>,
    /// By level: reported in the streams, and counted in headers.
    pub(crate) reported: BTreeMap<u8, u64>,
    pub(crate) counted: BTreeMap<u8, u64>,
    /// Numbers that no record has, by ring.
    pub(crate) missing: u64,
    pub(crate) suppressed: u64,
    pub(crate) threads: usize,
    pub(crate) rings: usize,
    pub(crate) faults: Vec<String>,
}

pub(crate) fn show(value: LogValue<'_>) -> String {
    match value {
        LogValue::Text(text) => String::from_utf8_lossy(text).into_owned(),
        LogValue::Signed(number) => number.to_string(),
        LogValue::Unsigned(number) => number.to_string(),
        LogValue::Float(number) => number.to_string(),
        LogValue::Bool(is) => is.to_string(),
        LogValue::Char(c) => c.to_string(),
        other => format!("{other:?}"),
    }
}

pub(crate) fn read_folder(folder: &Path) -> Found {
    let directory = RingDirectory::scan(folder).unwrap();
    let mut processes: BTreeMap<[u8; 16], ProcessFile> = BTreeMap::new();
    let mut found = Found::default();
    for path in &directory.processes {
        let file = ProcessFile::open(path).unwrap();
        assert_eq!(file.dictionary_fault(), None);
        for (level, count) in (0..).zip(file.dropped().unwrap()) {
            *found.counted.entry(level).or_default() += count;
        }
        processes.insert(file.header().process_id, file);
    }
    for path in &directory.rings {
        let mut ring = RingReader::open(path).unwrap();
        found.rings += 1;
        for (level, count) in (0..).zip(ring.dropped().unwrap()) {
            *found.counted.entry(level).or_default() += count;
        }
        let process = processes.get_mut(&ring.header().process_id).unwrap();
        process.refresh().unwrap();
        read_ring(&mut ring, process, &mut found);
    }
    found
}

pub(crate) fn read_ring(ring: &mut RingReader, process: &ProcessFile, found: &mut Found) {
    let mut batch = Batch::default();
    let mut next = ring.next().sequence;
    loop {
        ring.read(&mut batch, 1 << 16).unwrap();
        if batch.is_empty() {
            return;
        }
        found.faults.extend(batch.fault().map(|fault| format!("{fault:?}")));
        for record in batch.records() {
            let record = record.unwrap();
            found.missing += record.sequence - next;
            next = record.sequence + 1;
            match record.notice() {
                Some(RingNotice::Dropped { count, .. }) => {
                    *found.reported.entry(record.flags & abi::LEVEL_MASK).or_default() += count;
                }
                Some(RingNotice::Suppressed { count, .. }) => found.suppressed += count,
                Some(RingNotice::ThreadBegin { .. }) => found.threads += 1,
                _ => {}
            }
            if record.kind != abi::kind::LOG {
                continue;
            }
            let site = process.dictionary().site(record.site).unwrap();
            let context = process.dictionary().context(record.context).unwrap();
            let values = record.arguments(&site.types).unwrap();
            let mut message = Vec::new();
            let shown = LogRecord::new(&record, process.dictionary(), RecordOrigin::default(), 0);
            write_message(&mut message, &shown);
            found.records.push(Read {
                message: String::from_utf8_lossy(&message).into_owned(),
                ring: ring.header().number,
                pid: ring.header().pid,
                sequence: record.sequence,
                flags: record.flags,
                level: record.level(),
                format: site.format.clone(),
                format_kind: site.format_kind,
                routine: site.routine.clone(),
                role: site.role,
                logger: context.logger_name.clone(),
                pairs: context.pairs.clone(),
                values: values.as_slice().iter().map(|value| show(*value)).collect(),
                attributes: values
                    .attributes
                    .map(|(name, value)| (String::from_utf8_lossy(name).into_owned(), show(value)))
                    .collect(),
                realtime_ns: process.calibration().realtime_ns(record.stamp),
            });
        }
        ring.commit(Tier::Read, batch.end()).unwrap();
    }
}

/// The values of the records' first argument, as numbers, in the order of rings and sequence.
pub(crate) fn numbers(found: &Found) -> Vec<u64> {
    found.records.iter().map(|record| record.values[0].parse().unwrap()).collect()
}

/// Reads what is new; the process and its rings may not be there yet.
pub(crate) fn read_more(folder: &Path, found: &mut Found) {
    let directory = RingDirectory::scan(folder).unwrap();
    for path in &directory.rings {
        let mut process = ProcessFile::open(&directory.processes[0]).unwrap();
        let mut ring = RingReader::open(path).unwrap();
        if found.records.is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        process.refresh().unwrap();
        let mut batch = Batch::default();
        let next = ring.next();
        ring.read(&mut batch, 0).unwrap();
        ring.seek(next);
        process.refresh().unwrap();
        read_ring(&mut ring, &process, found);
    }
}

/// Checks what four threads (4000 calls), a child of `fork` (1000) and 1000 calls a second later left
/// under a limit of 50 records in a second.
pub(crate) fn assert_throttled(folder: &Path) {
    let found = read_folder(folder);
    assert!(found.faults.is_empty() && found.missing == 0, "{found:?}");
    let mut counted = BTreeMap::new();
    let mut parent = 0;
    for path in RingDirectory::scan(folder).unwrap().processes {
        let process = ProcessFile::open(&path).unwrap();
        let suppressed: [u64; 16] = process.suppressed().unwrap();
        let kept = found.records.iter().filter(|one| one.pid == process.header().pid).count();
        let sum = suppressed.iter().sum::<u64>();
        let calls = if process.is_ended().unwrap() { 5000 } else { 1000 };
        assert_eq!(kept as u64 + sum, calls, "{path:?}");
        assert!(sum > calls / 2, "{path:?}: {kept} of {calls} were kept");
        if calls == 5000 {
            parent = sum;
        }
        *counted.entry(4).or_default() += suppressed[4];
        *counted.entry(8).or_default() += suppressed[8];
    }
    let total: u64 = counted.values().sum();
    let kept = |level| found.records.iter().filter(|one| one.level == Some(level)).count() as u64;
    assert_eq!(counted[&4] + kept(LogLevel::Info), 3000);
    assert_eq!(counted[&8] + kept(LogLevel::Error), 3000);
    // A child that left by `_exit` had no time to say it: its file does.
    assert!((parent..=total).contains(&found.suppressed), "{} {parent}", found.suppressed);
}

/// Checks what a program left that logged 0, 1, 2 ... until it was killed: all that it had noted as
/// completed in the file `completed`, and at most one more.
pub(crate) fn assert_all_completed(folder: &Path, round: usize) {
    let note = std::fs::read(folder.join("completed")).unwrap();
    let completed = u64::from_le_bytes(note.try_into().unwrap());
    let found = read_folder(folder);
    assert_eq!((found.missing, found.faults.len()), (0, 0), "round {round}");
    let numbers = numbers(&found);
    assert!(numbers.iter().copied().eq(0..numbers.len() as u64), "round {round}");
    let count = numbers.len() as u64;
    assert!(count == completed || count == completed + 1, "round {round}: {count} {completed}");
}

/// The time that a test takes, in which the records have theirs.
pub(crate) struct TimeSpan {
    begun_ns: u64,
}

impl TimeSpan {
    pub(crate) fn begin() -> Self {
        Self { begun_ns: logring::clock::realtime_ns() }
    }

    /// Whether a time is in the span; the clocks of two processes may differ by a second.
    pub(crate) fn contains(&self, time_ns: u64) -> bool {
        let second_ns = 1_000_000_000;
        let now_ns = logring::clock::realtime_ns();
        (self.begun_ns - second_ns..now_ns + second_ns).contains(&time_ns)
    }
}

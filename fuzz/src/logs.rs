//! Logs: rings and files of processes that others wrote, records and their messages, frames,
//! handshakes, spools and stores.

use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use log_format::{
    AcsXmlFormat, CsvFormat, JsonFormat, LogRecord, ReadRecord, RecordFormat, RecordOrigin,
    SyslogFormat, TextFormat, write_message,
};
use log_protocol::frame::{FrameKind, HEAD_BYTES, Head};
use log_protocol::fuzzing;
use log_protocol::levels::LevelOrder;
use log_proxy::Spool;
use log_store::audit::Audit;
use log_store::query::Filter;
use log_store::remote::RemoteQuery;
use log_store::{CommitBatch, Store, StoreReader, StoreSettings};
use logring::abi::{self, process};
use logring::{
    Batch, Calibration, Dictionary, ProcessFile, RecordIterator, RingReader, Tier, encode_entry,
};

/// A segment that a program wrote before blocks had columns.
const OLD_STORE: &[u8] = include_bytes!("../../testdata/log-store/version-1/0000000000000000.logs");
/// Bytes of a process file that are not the table of loggers, as inputs have them.
const PROCESS_HEAD: usize = process::LOGGERS;
/// Loggers of an input.
const LOGGERS: usize = 4 * process::LOGGER_BYTES;

/// A request with log records of OpenTelemetry: JSON if it begins as that, protobuf otherwise.
pub fn log_otlp(bytes: &[u8]) {
    let mut count = 0;
    let mut each = |_: &otlp_messages::OtlpOrigin<'_>, log: &otlp_messages::OtlpLog<'_>| {
        assert!(log.attributes.len() <= otlp_messages::ATTRIBUTES_MAX);
        count += 1;
    };
    let read = match bytes.first() {
        Some(b'{') => otlp_messages::read_json(bytes, &mut each),
        _ => otlp_messages::read_protobuf(bytes, Some(&mut each)),
    };
    assert!(read.is_err() || read.is_ok_and(|read| read.taken == count));
}

/// A folder in memory that is gone afterwards.
pub(crate) fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("whit-fuzz-").tempdir_in(place).unwrap()
}

/// An open file with these bytes and no name.
fn file(bytes: &[u8]) -> File {
    let file = tempfile::tempfile_in("/dev/shm").or_else(|_| tempfile::tempfile()).unwrap();
    file.write_all_at(bytes, 0).unwrap();
    file
}

/// A process file: the input is its first pages, four loggers, and its dictionary.
fn process_file(bytes: &[u8]) -> Vec<u8> {
    let (head, rest) = bytes.split_at(bytes.len().min(PROCESS_HEAD));
    let (loggers, dictionary) = rest.split_at(rest.len().min(LOGGERS));
    let mut file = head.to_vec();
    file.resize(process::DICTIONARY, 0);
    file[process::LOGGERS..process::LOGGERS + loggers.len()].copy_from_slice(loggers);
    file.extend_from_slice(dictionary);
    file
}

/// What [`process_file`] makes a file of.
fn short_process(file: &[u8]) -> Vec<u8> {
    let length = u64::from_le_bytes(file[1024..1032].try_into().unwrap()) as usize;
    let mut bytes = file[..PROCESS_HEAD + LOGGERS].to_vec();
    bytes.extend_from_slice(&file[process::DICTIONARY..process::DICTIONARY + length]);
    bytes
}

/// The bytes are a file of a journal.
pub fn log_journal(bytes: &[u8]) {
    let folder = folder();
    std::fs::write(folder.path().join("x.journal"), bytes).unwrap();
    assert!(log_proxy::fuzzing::read_journals(folder.path()) <= bytes.len());
}

/// The bytes are a ring.
pub fn log_ring(bytes: &[u8]) {
    let Ok(mut reader) = RingReader::from_file(file(bytes), Path::new("1-2-3.ring")) else {
        return;
    };
    let mut batch = Batch::default();
    for turn in 0..20 {
        if reader.read(&mut batch, 1 << turn).is_err() {
            break;
        }
        let mut next = 0;
        for record in batch.records().flatten() {
            assert!(record.sequence >= next);
            next = record.sequence.saturating_add(1);
            let _ = record.notice();
        }
        let again = Batch::from_payload(batch.payload().to_vec(), batch.begin().sequence);
        assert_eq!(again.map(|again| again.count()), Ok(batch.count()));
        let _ =
            (reader.pending_bytes(), reader.is_finished(), reader.dropped(), reader.successor());
        let _ = reader.commit(Tier::Read, batch.end());
        let _ = reader.mark(Tier::Read);
    }
}

/// The bytes are a process file; see [`process_file`].
pub fn log_process(bytes: &[u8]) {
    let path = Path::new("1-2.process");
    let Ok(mut read) = ProcessFile::from_file(file(&process_file(bytes)), path) else { return };
    let _ = (read.loggers(), read.dropped(), read.suppressed(), read.ring_count());
    let _ = (read.flush_wanted(), read.is_ended(), read.is_alive(), read.read_dictionary_bytes(9));
    use_clocks(read.calibration());
    let _ = read.set_levels(3, 4, 5);
    let _ = read.set_counts(1, &[7; 12], 9);
    let _ = read.add_undeliverable(1, 5, 10, 20);
    let _ = read.calibrate(read.clocks_now());
    let _ = read.refresh();
    use_clocks(read.calibration());
}

fn use_clocks(clocks: &Calibration) {
    for pair in clocks.pairs() {
        for stamp in [pair.stamp.wrapping_sub(1), pair.stamp, pair.stamp.wrapping_add(7)] {
            let _ = (clocks.realtime_ns(stamp), clocks.boottime_ns(stamp));
        }
    }
}

/// A process file and a ring, each behind its length (u16 of eight bytes): a proxy reads them, and
/// another after it.
pub fn log_host(bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_first_chunk::<2>() else { return };
    let length = usize::from(u16::from_le_bytes(*length)) * 8;
    let (process, ring) = rest.split_at(rest.len().min(length));
    let folder = folder();
    let (rings, spool) = (folder.path().join("rings"), folder.path().join("spool"));
    std::fs::create_dir(&rings).unwrap();
    std::fs::write(rings.join("1-2.process"), process_file(process)).unwrap();
    std::fs::write(rings.join("1-2-1.ring"), ring).unwrap();
    log_proxy::fuzzing::read_rings(&rings, &spool, 6);
    log_proxy::fuzzing::read_rings(&rings, &spool, 3);
    let mut spool = Spool::open(&spool, 1 << 24, [1; 16]).unwrap();
    assert!(spool.damaged.is_empty());
    let frames = frames_of_spool(&mut spool);
    let store = folder.path().join("store");
    log_central::fuzz_admission(&store, frames);
    show_store(&store);
}

fn frames_of_spool(spool: &mut Spool) -> Vec<(Head, Vec<u8>)> {
    let (mut place, mut out) = (spool.restart(), Vec::new());
    spool.read(&mut place, &mut out, usize::MAX >> 1, &mut |_, _, _| None).unwrap();
    let (mut at, mut frames) = (0, Vec::new());
    while at < out.len() {
        let head = Head::decode(&out[at..]).unwrap();
        let body = out[at + HEAD_BYTES..at + HEAD_BYTES + head.body_bytes as usize].to_vec();
        assert!(head.is_body(&body));
        at += HEAD_BYTES + body.len();
        frames.push((head, body));
    }
    frames
}

/// Everything that makes text of a record.
struct Formats(Vec<Box<dyn RecordFormat>>, Vec<u8>);

impl Formats {
    fn new() -> Self {
        let zone = log_format::LogZone::default();
        let all: Vec<Box<dyn RecordFormat>> = vec![
            Box::new(JsonFormat::default()),
            Box::new(TextFormat::new(true, zone)),
            Box::new(SyslogFormat::new(1)),
            Box::new(AcsXmlFormat::default()),
            Box::new(CsvFormat::new(Default::default())),
        ];
        Formats(all, Vec::new())
    }

    fn show(&mut self, record: &LogRecord<'_>) {
        self.1.clear();
        write_message(&mut self.1, record);
        for format in &mut self.0 {
            self.1.clear();
            format.put(&mut self.1, record);
            assert_eq!(self.1.last(), Some(&b'\n'));
        }
    }
}

/// How a format is written (1 byte), its length, how many arguments; types, format, and records.
pub fn log_record(bytes: &[u8]) {
    let Some(([kind, length, count], rest)) = bytes.split_first_chunk::<3>() else { return };
    let count = usize::from(*count).min(abi::ARGUMENTS_MAX).min(rest.len());
    let (types, rest) = rest.split_at(count);
    let (format, records) = rest.split_at(usize::from(*length).min(rest.len()));
    let mut site = vec![7, 0, 0, 0, 4, kind % 3 + 1, types.len() as u8, kind / 64];
    for length in [1, 1, format.len() as u32, 0] {
        site.extend_from_slice(&length.to_le_bytes());
    }
    site.extend_from_slice(types);
    site.extend_from_slice(b"fr");
    site.extend_from_slice(format);
    let mut dictionary = Dictionary::default();
    let _ = dictionary.add(&encode_entry(1, abi::entry::SITE, &site));
    let mut formats = Formats::new();
    let origin = RecordOrigin { host: "h", process: "p", pid: 1, thread: "t", tid: 2, ring: 3 };
    for record in RecordIterator::new(records, 0).flatten() {
        let record = logring::RingRecord { site: 1, ..record };
        formats.show(&LogRecord::new(&record, &dictionary, origin, record.stamp));
    }
}

/// A line of log records that an engine gives back: shown in every form, and written and read once more.
pub fn log_line(bytes: &[u8]) {
    let Some(read) = ReadRecord::parse(bytes) else { return };
    let ring = read.record();
    let record = LogRecord::new(&ring, &read.dictionary, read.origin(), read.time_ns);
    Formats::new().show(&record);
    let mut line = Vec::new();
    JsonFormat::default().put(&mut line, &record);
    let again = ReadRecord::parse(line.trim_ascii_end());
    let text = String::from_utf8_lossy(&line);
    assert!(again.is_some_and(|again| again.time_ns == read.time_ns), "{text}");
}

/// Frames behind an even byte, short heads behind an odd one: what a proxy sends, questions and
/// orders; admitted, committed and read again.
pub fn log_frame(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    if choice % 4 == 2 {
        let _ = RemoteQuery::decode(bytes).map(|query| RemoteQuery::decode(&query.encode()));
        let _ = LevelOrder::decode(bytes).map(|order| LevelOrder::decode(&order.encode()));
        log_protocol::frame::marks(bytes).for_each(drop);
        return;
    }
    let frames = if choice % 2 == 1 {
        fuzzing::frames_of(bytes)
    } else {
        let Ok(head) = Head::decode(bytes) else { return };
        vec![(head, bytes[HEAD_BYTES..].to_vec())]
    };
    let folder = folder();
    log_central::fuzz_admission(folder.path(), frames);
    show_store(folder.path());
}

/// What a peer says first: bytes behind an even byte, frames behind an odd one.
pub fn log_handshake(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    match choice % 2 {
        0 => fuzzing::greet(bytes),
        _ => fuzzing::greet(&fuzzing::sent(&fuzzing::frames_of(bytes))),
    }
}

/// A spool's segment: with the checksums it has behind an even byte, with right ones behind an odd.
pub fn log_spool(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let folder = folder();
    let bytes = if choice % 2 == 0 {
        bytes.to_vec()
    } else {
        log_proxy::fuzzing::mended_spool(bytes.to_vec())
    };
    std::fs::write(folder.path().join(format!("{:016x}.spool", 0)), &bytes).unwrap();
    let Ok(mut spool) = Spool::open(folder.path(), 1 << 24, [1; 16]) else { return };
    let before = frames_of_spool(&mut spool).len();
    // What is added is there, also after a restart.
    let frames = fuzzing::frames_of(&fuzzing::short_frame(
        FrameKind::Records,
        [77, 1, 1, 0, 1],
        &record_bytes(),
    ));
    let heads: Vec<Head> = frames.iter().map(|(head, _)| *head).collect();
    if spool.append(&fuzzing::sent(&frames), &heads).is_ok() {
        drop(spool);
        let mut again = Spool::open(folder.path(), 1 << 24, [1; 16]).unwrap();
        let after = frames_of_spool(&mut again);
        assert!(after.len() > before.min(after.len() - 1));
        assert_eq!(after.last().map(|(head, _)| head.stream), heads.last().map(|head| head.stream));
    }
}

/// A store's segment: as it is behind 0 of a byte, with right checksums behind 1, a block behind 2; the
/// words of a block behind 3.
pub fn log_store(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let bytes = match choice % 4 {
        0 => bytes.to_vec(),
        1 => log_store::fuzzing::mended_store(bytes.to_vec()),
        3 => return log_store::fuzzing::ask_words(bytes),
        _ => log_store::fuzzing::store_around(bytes),
    };
    let folder = folder();
    std::fs::write(folder.path().join(format!("{:016x}.logs", 0)), &bytes).unwrap();
    show_store(folder.path());
    let _ = Audit::of(folder.path(), true);
    let settings = StoreSettings { sync: false, ..StoreSettings::default() };
    let Ok((mut store, _)) = Store::open(folder.path(), settings, [2; 16]) else { return };
    let batch = CommitBatch { ended: vec![log_protocol::ProcessId([4; 16])], ..Default::default() };
    store.write(&batch, 3).unwrap();
    drop(store);
    show_store(folder.path());
}

fn show_store(folder: &Path) {
    let mut formats = Formats::new();
    let Ok(mut reader) = StoreReader::open(folder) else { return };
    let filter = Filter { text: "a".to_owned().into(), all_kinds: true, ..Filter::default() };
    let mut scratch = Vec::new();
    let _ = reader.visit_all(&|chunk, block| filter.wants_block(chunk, block), &mut |item| {
        let _ = filter.wanted(item, &mut scratch);
        let all = Filter { all_kinds: true, ..Filter::default() };
        if let Some(record) = all.wanted(item, &mut scratch) {
            formats.show(&record);
        }
        ControlFlow::Continue(())
    });
}

/// A whole record without a call site.
fn record_bytes() -> Vec<u8> {
    let mut record = abi::word0(32, abi::kind::LOG, 4).to_le_bytes().to_vec();
    record.extend_from_slice(&[9; 24]);
    record[8..16].copy_from_slice(&1_700_000_000_000_000_000_u64.to_le_bytes());
    record
}

/// The files of this process, which logs once.
fn written() -> &'static (Vec<u8>, Vec<u8>) {
    static WRITTEN: OnceLock<(Vec<u8>, Vec<u8>)> = OnceLock::new();
    WRITTEN.get_or_init(|| {
        use logring::writer::{self, RingSettings, SiteDescription};
        let folder = folder();
        let mut settings = RingSettings::new(folder.path().to_owned(), "host", "process");
        (settings.ring_bytes, settings.ring_bytes_max) = (4096, 4096);
        settings.policies = [logring::writer::FullPolicy::DropNewest; 16];
        writer::start(settings).unwrap();
        let logger = writer::logger_id("CONTROL/PM01").unwrap();
        let context = writer::context_id(logger, &[("Antenna", "DV01")]).unwrap();
        let site = writer::site_id(&SiteDescription {
            file: "file.rs",
            line: 7,
            routine: "routine",
            level: 4,
            format: "number {:>8} text {}",
            format_kind: 1,
            role: 0,
            types: &[2, 6],
        });
        for number in 0..90_u64 {
            writer::write(4, site.unwrap(), context, &(number, "text"));
        }
        let found = logring::RingDirectory::scan(folder.path()).unwrap();
        let read = |paths: &[PathBuf]| std::fs::read(paths.last().unwrap()).unwrap();
        (short_process(&read(&found.processes)), read(&found.rings))
    })
}

/// Seeds of a target.
pub fn seeds(name: &str) -> Vec<Vec<u8>> {
    let (process, ring) = written();
    let records = ring[abi::ring::DATA..abi::ring::DATA + 400].to_vec();
    let whole = RecordIterator::new(&records, 0).flatten().last();
    let (count, records) = whole.map_or((0, &[][..]), |last| {
        (last.sequence + 1, &records[..last.offset + last.length_bytes()])
    });
    let [one, other] = fuzzing::descriptions(1);
    let dictionary = &process[PROCESS_HEAD + LOGGERS..];
    let length = dictionary.len() as u8;
    let sent: Vec<u8> = [
        fuzzing::short_frame(FrameKind::Process, [1, 255, 0, 0, 0], &one),
        fuzzing::short_frame(FrameKind::Stream, [1, 1, 0, 0, 0], &other),
        fuzzing::short_frame(FrameKind::Dictionary, [1, 255, 0, 0, length], dictionary),
        fuzzing::short_frame(FrameKind::Records, [1, 1, count as u8, 0, count as u8], records),
        fuzzing::short_frame(FrameKind::Records, [1, 1, count as u8, 0, count as u8], records),
        fuzzing::short_frame(FrameKind::Lost, [1, 1, 0, 20, 30], &[2, 0, 0, 0]),
        fuzzing::short_frame(FrameKind::Ask, [0; 5], &[1; 64]),
        fuzzing::short_frame(FrameKind::Held, [0; 5], &[1; 16]),
    ]
    .concat();
    let frames = fuzzing::frames_of(&sent);
    let with = |choice: u8, bytes: &[u8]| [&[choice], bytes].concat();
    match name {
        "log_ring" => vec![ring.clone()],
        "log_process" => vec![process.clone()],
        "log_host" => {
            let mut process = process.clone();
            process.resize(process.len().div_ceil(8) * 8, 0);
            let length = ((process.len() / 8) as u16).to_le_bytes();
            vec![[&length[..], &process, ring].concat()]
        }
        "log_record" => {
            let record = |format: &str, kind: u8, types: &[u8], values: &[u8]| {
                let mut record = record_bytes();
                record.truncate(24);
                record.extend_from_slice(values);
                record.resize(record.len().div_ceil(8) * 8, 0);
                record[0] = (record.len() / 8) as u8;
                let head = [kind, format.len() as u8, types.len() as u8];
                [&head, types, format.as_bytes(), &record].concat()
            };
            let numbers: Vec<u8> =
                (1..12).flat_map(|n: u64| (n << (n * 4)).to_le_bytes()).collect();
            let text = b"\x05\0\0\0a\xffb<]";
            vec![
                record("{} {:>+08.3} {:#x} {:e}", 0, &[1, 3, 2, 3], &numbers),
                record("%d %+08.3f %#llx %-9s|%c %p %*d", 1, &[1, 3, 2, 4, 5, 8, 1, 1], &numbers),
                record("{} ]]> {:?}", 0, &[6, 9], &[&text[..], &[0; 7], &text[..]].concat()),
                record("plain", 66, &[], &[]),
            ]
        }
        "log_frame" => vec![
            with(1, &sent),
            with(2, &RemoteQuery::decode(&[0; 60]).map(|query| query.encode()).unwrap_or_default()),
            with(0, &fuzzing::sent(&frames[..1])),
        ],
        "log_handshake" => {
            let body =
                |role: u8| [&[1, 0, 0, 0, role, 0, 0, 0], &[0; 80][..], b"\x04\0host"].concat();
            let challenge = [&[1, 0, 0, 0, 0, 0, 0, 0][..], &[7; 32]].concat();
            let of = |kind, body: &[u8]| fuzzing::short_frame(kind, [0; 5], body);
            vec![
                with(1, &[of(FrameKind::Hello, &body(1)), sent.clone()].concat()),
                with(1, &of(FrameKind::Challenge, &challenge)),
                with(
                    1,
                    &[of(FrameKind::Challenge, &challenge), of(FrameKind::Welcome, &[0; 48])]
                        .concat(),
                ),
                with(0, &fuzzing::sent(&fuzzing::frames_of(&of(FrameKind::Hello, &body(2))))),
            ]
        }
        "log_line" => {
            let text = r#"{"time":"2026-11-27T10:15:00.123456789Z","level":"WARNING","host":"h",
                "process":"p","pid":7,"thread":"t","tid":8,"ring":1,"sequence":3,"logger":"a/b",
                "file":"f.rs","line":9,"routine":"r","message":"text","context":{"k":"v"},
                "data":{"n":"1"}}"#;
            let read = ReadRecord::parse(text.as_bytes()).expect("a line of whit");
            let (ring, mut line) = (read.record(), Vec::new());
            let record = LogRecord::new(&ring, &read.dictionary, read.origin(), read.time_ns);
            JsonFormat::default().put(&mut line, &record);
            vec![text.into(), line]
        }
        "log_otlp" => {
            let text = r#"{"resourceLogs":[{"resource":{"attributes":[{"key":"k","value":{}}]},
                "scopeLogs":[{"scope":{"name":"s"},"logRecords":[{"timeUnixNano":"1","flags":1,
                "body":{"arrayValue":{"values":[{"intValue":"1"},{"bytesValue":"AP8="}]}},
                "attributes":[{"key":"a","value":{"doubleValue":"NaN"}}]}]}]}]}"#;
            let record =
                b"\x09\x01\0\0\0\0\0\0\0\x10\x09\x2a\x06\x2a\x04\x0a\x02\x18\x01\x4a\x02ab";
            let of = |tag: u8, bytes: &[u8]| [&[tag, bytes.len() as u8], bytes].concat();
            let logs = [of(10, &of(10, &of(10, b"k"))), of(18, &of(18, record))].concat();
            vec![text.into(), of(10, &logs)]
        }
        "log_spool" => {
            let mut segment = b"whitlogF\x01\0\0\0".to_vec();
            segment.resize(64, 0);
            segment.extend(fuzzing::sent(&frames[..6]));
            vec![with(1, &segment), with(0, &log_proxy::fuzzing::mended_spool(segment.clone()))]
        }
        "log_store" => {
            let folder = folder();
            let names: Vec<String> = (0..600).map(|n| format!("dv{n}x {} disk", n * n)).collect();
            let messages: Vec<&str> = names.iter().map(String::as_str).collect();
            log_central::fuzz_admission(folder.path(), frames);
            let segment = std::fs::read(folder.path().join(format!("{:016x}.logs", 0))).unwrap();
            vec![
                with(1, OLD_STORE),
                with(0, &segment),
                with(1, &segment),
                with(3, &log_store::fuzzing::block_words(&messages)),
                with(2, &log_store::fuzzing::short_block(records, count as u16)),
                with(2, &log_store::fuzzing::short_columns(&records.repeat(9), 9 * count as u16)),
            ]
        }
        // All of them are files.
        "log_journal" => Vec::new(),
        other => panic!("{other}"),
    }
}

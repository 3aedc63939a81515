//! A file with ACS's XML of log records, as jlog and `-f acs` write it: read into a store of its own
//! in a folder for scratch files, which goes with it.  So a file of any size is paged, filtered and
//! searched as all others, and memory holds a commit.
//!
//! Cost: one pass over the file, and about a fifteenth of its bytes on the disk.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use log_protocol::{ProcessId, ProcessInfo, StreamId, StreamInfo};
use log_store::{CommitBatch, DICTIONARY_BYTES_MAX, RecordsPart, Store, StoreSettings};
use logring::abi::{self, entry};
use logring::{ArgumentType, LogLevel, encode_entry};

use crate::acs_element::{self, Element, Next};
use crate::error::ViewError;
use crate::origin::LooksForEnd;
use crate::store::StoreOrigin;

/// Bytes that are read at once.
const READ_BYTES: usize = 256 << 10;
/// Longest element: what is longer is no record of ACS.
const ELEMENT_BYTES_MAX: usize = 4 << 20;
/// Places in what has no end at which records are looked for: each may cost a pass over all of it.
const ENDS_MAX: u32 = 64;
/// Bytes of records of a commit.
const COMMIT_BYTES: usize = 4 << 20;
/// Longest message, name and value that are kept: a record has at most 512 KiB.
const MESSAGE_BYTES_MAX: usize = 256 << 10;
const NAME_BYTES_MAX: usize = 255;
const VALUE_BYTES_MAX: usize = 1024;
/// Most attributes of a record.
const ATTRIBUTES_MAX: usize = 64;
/// Most processes, and threads of each, that are told apart.
const PROCESSES_MAX: usize = 4096;
const THREADS_MAX: usize = 1024;
/// Bytes of a dictionary beyond which no call site or context is added to it.
const DICTIONARY_FULL: u64 = DICTIONARY_BYTES_MAX - (64 << 10);

/// Attributes that are no data: they have a place of their own in a record.
const OWN: [&[u8]; 10] = [
    b"TimeStamp",
    b"File",
    b"Line",
    b"Routine",
    b"Host",
    b"Process",
    b"Thread",
    b"SourceObject",
    b"Context",
    b"Priority",
];

/// What was in a file beside the records that are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassedRecords {
    /// Records that were read.
    pub records: u64,
    /// Elements that are no log records.
    pub others: u64,
    /// Records without a time, and bytes that are no element, counted once each.
    pub malformed: u64,
}

impl PassedRecords {
    /// What was passed over, in words; `None` if nothing was.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let PassedRecords { others, malformed, .. } = self;
        let said = format!(
            "passed over: {others} elements that are no log records, {malformed} damaged ones"
        );
        (others + malformed > 0).then_some(said)
    }
}

/// A file that was read into a store.
pub(crate) struct AcsFile {
    pub(crate) origin: StoreOrigin,
    pub(crate) passed: PassedRecords,
    /// The store's folder goes with it.
    pub(crate) folder: tempfile::TempDir,
}

/// A process of the file, and the numbers that its records use.
#[derive(Default)]
struct Writer {
    info: ProcessInfo,
    entries: u32,
    dictionary_bytes: u64,
    sites: HashMap<Vec<u8>, u32>,
    contexts: HashMap<Vec<u8>, u32>,
    /// By name, the number of the ring, and its next record's number.
    threads: HashMap<Vec<u8>, (u32, u64)>,
}

/// Reads a file into a store below `scratch`.
pub(crate) fn read(
    path: &Path,
    scratch: &Path,
    has_ended: &LooksForEnd<'_>,
) -> Result<AcsFile, ViewError> {
    let failed = |source| ViewError::Io { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(failed)?;
    let named = tempfile::Builder::new().prefix("whit-log-view-").tempdir_in(scratch);
    let folder = named.map_err(|source| ViewError::Io { path: scratch.to_owned(), source })?;
    let settings = StoreSettings { sync: false, ..StoreSettings::default() };
    let (store, _) = Store::open(folder.path(), settings, [1; 16])?;
    let mut import = Import {
        store,
        writers: Vec::new(),
        by_name: HashMap::new(),
        batch: CommitBatch::default(),
        passed: PassedRecords::default(),
    };
    let mut buffer = Vec::new();
    loop {
        if has_ended() {
            return Err(ViewError::Interrupted);
        }
        let before = buffer.len();
        let read =
            file.by_ref().take(READ_BYTES as u64).read_to_end(&mut buffer).map_err(failed)?;
        debug_assert_eq!(before + read, buffer.len());
        import.read_elements(&mut buffer, read == 0)?;
        if import.passed.records == 0 && before > ELEMENT_BYTES_MAX {
            return Err(ViewError::NoRecords(path.to_owned()));
        }
        if read == 0 {
            break;
        }
    }
    import.commit()?;
    if import.passed.records == 0 {
        return Err(ViewError::NoRecords(path.to_owned()));
    }
    let origin = StoreOrigin::new(folder.path(), path.display().to_string(), false);
    Ok(AcsFile { origin, passed: import.passed, folder })
}

/// A file on its way into a store.
struct Import {
    store: Store,
    writers: Vec<Writer>,
    by_name: HashMap<(Vec<u8>, Vec<u8>), usize>,
    batch: CommitBatch,
    passed: PassedRecords,
}

impl Import {
    /// Takes the whole elements off the front of what was read.
    fn read_elements(&mut self, buffer: &mut Vec<u8>, is_end: bool) -> Result<(), ViewError> {
        let (mut at, mut ends) = (0, 0);
        while at < buffer.len() {
            match acs_element::next(&buffer[at..]) {
                Next::Record(element, bytes) => {
                    self.add(&element)?;
                    at += bytes;
                }
                Next::Other(bytes) => at += bytes,
                Next::Passed(bytes) => {
                    self.passed.others += 1;
                    at += bytes;
                }
                // What is too long costs a pass over all of it, so it is passed over in large steps.
                Next::More if buffer.len() - at > ELEMENT_BYTES_MAX => {
                    self.passed.malformed += 1;
                    at += ELEMENT_BYTES_MAX / 2;
                }
                Next::More if is_end && ends < ENDS_MAX => {
                    ends += 1;
                    at += 1;
                }
                Next::More if is_end => at = buffer.len(),
                Next::More => break,
            }
        }
        self.passed.malformed += u64::from(ends > 0);
        buffer.drain(..at);
        Ok(())
    }

    fn add(&mut self, element: &Element) -> Result<(), ViewError> {
        let Some(time_ns) = time_ns(element.attribute("TimeStamp")) else {
            self.passed.malformed += 1;
            return Ok(());
        };
        let level = level(element);
        let number = self.writer(element);
        let writer = &mut self.writers[number];
        let (site, context) = writer.numbers(element, level, &mut self.batch);
        let (stream, sequence) = writer.stream(element, &mut self.batch);
        let body = encoded(element, level, (site, context), sequence, time_ns);
        self.batch.bytes += body.len();
        let (first, next) = (sequence, sequence + 1);
        self.batch.records.push(RecordsPart {
            stream,
            body,
            skip_bytes: 0,
            count: 1,
            first,
            next,
            left_out: 0,
        });
        self.passed.records += 1;
        if self.batch.bytes >= COMMIT_BYTES { self.commit() } else { Ok(()) }
    }

    fn commit(&mut self) -> Result<(), ViewError> {
        let batch = std::mem::take(&mut self.batch);
        if !batch.is_empty() {
            self.store.write(&batch, 0)?;
        }
        Ok(())
    }

    /// The number of the process of a record.
    fn writer(&mut self, element: &Element) -> usize {
        let mut name = element.attribute("Process");
        let mut host = element.attribute("Host");
        if self.writers.len() >= PROCESSES_MAX
            && !self.by_name.contains_key(&(host.to_vec(), name.to_vec()))
        {
            (host, name) = (b"", b"(others)");
        }
        let count = self.writers.len();
        let number = *self.by_name.entry((host.to_vec(), name.to_vec())).or_insert(count);
        if number == count {
            let mut id = [0; 16];
            id[..8].copy_from_slice(&(count as u64 + 1).to_le_bytes());
            let (host, name) = (lossy(host), lossy(name));
            let info = ProcessInfo { id: ProcessId(id), host, name, ..ProcessInfo::default() };
            self.batch.processes.push(info.clone());
            self.writers.push(Writer { info, ..Writer::default() });
        }
        number
    }
}

impl Writer {
    /// The numbers of the call site and the context of a record.
    fn numbers(
        &mut self,
        element: &Element,
        level: LogLevel,
        batch: &mut CommitBatch,
    ) -> (u32, u32) {
        let line = number(element.attribute("Line"));
        let place = [element.attribute("File"), element.attribute("Routine")]
            .map(|text| cut(text, VALUE_BYTES_MAX));
        let payload = site(place, line, level);
        let site = self.entry(entry::SITE, payload, batch);
        (site, self.entry(entry::CONTEXT, context(element), batch))
    }

    /// The number of an entry of the dictionary, which is made at its first use; 0 if it is full.
    fn entry(&mut self, kind: u16, payload: Vec<u8>, batch: &mut CommitBatch) -> u32 {
        let known = if kind == entry::SITE { &mut self.sites } else { &mut self.contexts };
        if let Some(number) = known.get(&payload) {
            return *number;
        }
        if self.dictionary_bytes > DICTIONARY_FULL {
            return 0;
        }
        self.entries += 1;
        let bytes = encode_entry(self.entries, kind, &payload);
        let offset = self.dictionary_bytes;
        self.dictionary_bytes += bytes.len() as u64;
        batch.bytes += bytes.len();
        batch.dictionaries.push((self.info.id, offset, bytes));
        known.insert(payload, self.entries);
        self.entries
    }

    /// The stream of a record's thread, and the record's number in it.
    fn stream(&mut self, element: &Element, batch: &mut CommitBatch) -> (StreamId, u64) {
        let name = cut(element.attribute("Thread"), NAME_BYTES_MAX);
        let is_full = self.threads.len() >= THREADS_MAX && !self.threads.contains_key(name);
        let name = if is_full { b"(others)" } else { name };
        let ring = self.threads.len() as u32;
        let (ring, next) = match self.threads.get_mut(name) {
            Some((ring, next)) => (*ring, next),
            None => {
                let thread = lossy(name);
                let id = StreamId { process: self.info.id, ring };
                batch.streams.push(StreamInfo { id, tid: 0, thread });
                (ring, &mut self.threads.entry(name.to_vec()).or_insert((ring, 0)).1)
            }
        };
        *next += 1;
        (StreamId { process: self.info.id, ring }, *next - 1)
    }
}

fn cut(bytes: &[u8], most: usize) -> &[u8] {
    &bytes[..bytes.len().min(most)]
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(cut(bytes, NAME_BYTES_MAX)).into_owned()
}

fn number(text: &[u8]) -> u32 {
    std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// ACS writes times in UTC, to the millisecond, without a zone.
fn time_ns(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let time: jiff::civil::DateTime = text.trim_end_matches('Z').parse().ok()?;
    let time = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    u64::try_from(time.timestamp().as_nanosecond()).ok()
}

/// The level: that of the priority, if the record has one of its own, else of its element.
fn level(element: &Element) -> LogLevel {
    let own = u8::try_from(number(element.attribute("Priority"))).ok();
    let own = own.and_then(LogLevel::from_number);
    own.or_else(|| LogLevel::parse(element.level)).unwrap_or(LogLevel::Info)
}

/// The payload of a call site whose message is its one argument.
fn site(place: [&[u8]; 2], line: u32, level: LogLevel) -> Vec<u8> {
    let format = b"{}";
    let mut payload = line.to_le_bytes().to_vec();
    payload.extend_from_slice(&[level.number(), 1, 1, 0]);
    for text in [place[0], place[1], format] {
        payload.extend_from_slice(&(text.len() as u32).to_le_bytes());
    }
    payload.extend_from_slice(&[0; 4]);
    payload.push(ArgumentType::Text as u8);
    for text in [place[0], place[1], format] {
        payload.extend_from_slice(text);
    }
    payload
}

/// The payload of a context: the logger, and what ACS calls the context.
fn context(element: &Element) -> Vec<u8> {
    let logger = cut(element.attribute("SourceObject"), NAME_BYTES_MAX);
    let value = cut(element.attribute("Context"), NAME_BYTES_MAX);
    let mut payload = 0_u32.to_le_bytes().to_vec();
    payload.extend_from_slice(&u32::from(!value.is_empty()).to_le_bytes());
    payload.extend_from_slice(&(logger.len() as u32).to_le_bytes());
    payload.extend_from_slice(logger);
    if !value.is_empty() {
        let name = b"Context";
        payload.extend_from_slice(&(name.len() as u16).to_le_bytes());
        payload.extend_from_slice(&(value.len() as u16).to_le_bytes());
        payload.extend_from_slice(name);
        payload.extend_from_slice(value);
    }
    payload
}

/// Appends a text as an argument.
fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text);
    out.resize(abi::padded(out.len()), 0);
}

/// The bytes of a record.
fn encoded(
    element: &Element,
    level: LogLevel,
    (site, context): (u32, u32),
    sequence: u64,
    time_ns: u64,
) -> Vec<u8> {
    let mut body = vec![0; abi::RECORD_HEAD];
    put_text(&mut body, cut(&element.message, MESSAGE_BYTES_MAX));
    let own = element
        .attributes
        .iter()
        .filter(|(name, value)| !value.is_empty() && !OWN.contains(&name.as_slice()));
    let mut flags = level.number();
    for (name, value) in own.chain(&element.data).take(ATTRIBUTES_MAX) {
        flags |= abi::FLAG_ATTRIBUTES;
        let name = cut(name, NAME_BYTES_MAX);
        body.extend_from_slice(&[ArgumentType::Text as u8, name.len() as u8, 0, 0]);
        body.extend_from_slice(name);
        body.resize(abi::padded(body.len()), 0);
        put_text(&mut body, cut(value, VALUE_BYTES_MAX));
    }
    let word0 = abi::word0(body.len(), abi::kind::LOG, flags) | (sequence << 32);
    body[..8].copy_from_slice(&word0.to_le_bytes());
    body[8..16].copy_from_slice(&time_ns.to_le_bytes());
    body[16..20].copy_from_slice(&site.to_le_bytes());
    body[20..24].copy_from_slice(&context.to_le_bytes());
    body
}

/// Whether a file begins as XML does.
pub(crate) fn is_xml(path: &Path) -> io::Result<bool> {
    let mut begin = Vec::new();
    File::open(path)?.take(4096).read_to_end(&mut begin)?;
    let text = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&begin);
    Ok(text.trim_ascii_start().starts_with(b"<"))
}

//! Makes a side file, or adds to one what was recorded since.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use sample::{Interner, Kind, Snapshot, SourceDef, State};

use super::column::ColumnTokens;
use super::{
    MAGIC, PRELUDE_BYTES, SEGMENT_BLOCKS, SEGMENT_BYTES, SEGMENT_MAGIC, SideFile, VERSION,
    side_path,
};
use crate::error::Error;
use crate::format::crc;
use crate::reader::{ReadOutcome, Reader};
use crate::varint::{put, put_bytes};

/// Cells (instances by fields) of a segment's sources after which it ends with the next block: 16 MiB
/// of them.
const SEGMENT_CELLS: usize = 1 << 18;

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SideWritten {
    /// Segments that were added.
    pub segments: u64,
    /// The length of the side file.
    pub bytes: u64,
}

/// Writes the closed blocks of a recording that its side file has not yet.  Of a recording that may
/// still grow, those that fill a segment.  The file is replaced at once, so that a reader sees the
/// one before or the whole new one; nothing is written if there is nothing to add.
///
/// # Errors
/// The recording cannot be read, or the side file not written.
pub fn write_side_file(recording: &Path) -> Result<SideWritten, Error> {
    let mut reader = Reader::open(recording, &[])?;
    let path = side_path(recording);
    let known = SideFile::open(recording, &reader);
    let (mut covered, old_bytes) =
        known.as_ref().map_or((0, 0), |known| (known.covered(), known.end()));
    let mut written = SideWritten { segments: 0, bytes: old_bytes };
    let count = reader.closed_blocks_after(covered);
    if count == 0 || count < SEGMENT_BLOCKS as usize && !reader.is_complete() {
        return Ok(written);
    }
    let io = |error| Error::io(&path, "write", error);
    let temporary = path.with_extension(format!("columns.{}", std::process::id()));
    // Left by a process that was killed.
    drop(fs::remove_file(&temporary));
    let mut out = File::create_new(&temporary).map_err(io)?;
    let result = (|| -> Result<bool, Error> {
        match known {
            Some(known) => known.copy(&mut out).map_err(io)?,
            None => out.write_all(&prelude(reader.file_id())).map_err(io)?,
        }
        written.bytes = written.bytes.max(PRELUDE_BYTES as u64);
        reader.seek_after_block(covered);
        let mut snapshot = Snapshot::new(&reader.defs());
        let mut segment = Segment::new(reader.schemas());
        loop {
            let is_sample = reader.next(&mut snapshot)? == ReadOutcome::Sample;
            let number = if is_sample { reader.block_number() } else { 0 };
            let ends = !is_sample || reader.is_open_block() || segment.is_full(number);
            let is_whole = segment.is_full(u32::MAX) || reader.is_complete();
            if ends && segment.last_block > 0 && is_whole {
                covered = segment.last_block;
                let bytes = segment.encode(covered);
                out.write_all(&bytes).map_err(io)?;
                written.bytes += bytes.len() as u64;
                written.segments += 1;
                segment = Segment::new(reader.schemas());
            }
            if !is_sample || reader.is_open_block() {
                return Ok(written.segments > 0);
            }
            segment.add(number, &snapshot);
        }
    })();
    match result {
        Ok(true) => fs::rename(&temporary, &path).map_err(io)?,
        _ => drop(fs::remove_file(&temporary)),
    }
    result.map(|_| written)
}

fn prelude(file_id: u64) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&file_id.to_le_bytes());
    let crc = crc(&[&bytes]);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes
}

impl SideFile {
    fn copy(&self, out: &mut File) -> io::Result<()> {
        use io::{Read as _, Seek as _};
        let mut file = &self.file;
        file.seek(io::SeekFrom::Start(0))?;
        let copied = io::copy(&mut file.take(self.end()), out)?;
        if copied == self.end() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// A segment being gathered.
struct Segment {
    first_block: u32,
    last_block: u32,
    blocks: u32,
    first_realtime_ns: i64,
    latest_realtime_ns: i64,
    end: (u64, i64),
    sources: Vec<SourceColumns>,
}

impl Segment {
    fn new(schemas: &[std::sync::Arc<SourceDef>]) -> Self {
        Segment {
            first_block: 0,
            last_block: 0,
            blocks: 0,
            first_realtime_ns: 0,
            latest_realtime_ns: i64::MIN,
            end: (0, 0),
            sources: schemas.iter().map(|schema| SourceColumns::new(schema)).collect(),
        }
    }

    /// Whether a sample of the block `number` belongs to the next segment.
    fn is_full(&self, number: u32) -> bool {
        let cells = || self.sources.iter().map(|source| source.cells.len()).sum::<usize>();
        self.blocks > 0
            && number != self.last_block
            && (self.blocks >= SEGMENT_BLOCKS || cells() > SEGMENT_CELLS)
    }

    fn add(&mut self, number: u32, snapshot: &Snapshot) {
        if self.blocks == 0 {
            (self.first_block, self.first_realtime_ns) = (number, snapshot.realtime_ns);
        }
        self.blocks += u32::from(number != self.last_block);
        self.last_block = number;
        self.latest_realtime_ns = self.latest_realtime_ns.max(snapshot.realtime_ns);
        self.end = (snapshot.monotonic_ns, snapshot.realtime_ns);
        for (index, source) in self.sources.iter_mut().enumerate() {
            source.restart |= snapshot.restart;
            if snapshot.fresh[index] {
                source.add(snapshot.realtime_ns, &snapshot.samples[index]);
            }
        }
    }

    fn encode(&mut self, covered: u32) -> Vec<u8> {
        let (mut directory, mut parts) = (Vec::new(), Vec::new());
        put(&mut directory, self.sources.len() as u64);
        for source in &mut self.sources {
            source.write(&mut directory, &mut parts);
        }
        let mut out = SEGMENT_MAGIC.to_vec();
        out.extend_from_slice(&self.first_block.to_le_bytes());
        out.extend_from_slice(&covered.to_le_bytes());
        out.extend_from_slice(&(directory.len() as u32).to_le_bytes());
        out.extend_from_slice(&((directory.len() + parts.len()) as u64).to_le_bytes());
        out.extend_from_slice(&self.first_realtime_ns.to_le_bytes());
        out.extend_from_slice(&self.latest_realtime_ns.to_le_bytes());
        out.extend_from_slice(&self.end.0.to_le_bytes());
        out.extend_from_slice(&self.end.1.to_le_bytes());
        out.extend_from_slice(&crc(&[&directory]).to_le_bytes());
        let header_crc = crc(&[&out]);
        out.extend_from_slice(&header_crc.to_le_bytes());
        debug_assert_eq!(out.len(), SEGMENT_BYTES);
        out.append(&mut directory);
        out.append(&mut parts);
        out
    }
}

/// The columns of a source.
struct SourceColumns {
    is_text: Vec<bool>,
    readings: u64,
    times: [ColumnTokens; 4],
    restart: bool,
    texts: Interner,
    names: Interner,
    /// For each instance its runs of readings: where the next one begins at the earliest, the length
    /// of the open run, and the runs as they are written.
    runs: Vec<Runs>,
    /// Instances by fields.
    cells: Vec<ColumnTokens>,
    rows: Vec<usize>,
}

#[derive(Default)]
struct Runs {
    count: u64,
    /// The reading after the last run, and the reading at which the open run began.
    ended: u64,
    begun: u64,
    /// The reading after the open run; 0 if there is none.
    until: u64,
    out: Vec<u8>,
}

impl Runs {
    /// Adds a reading; false if it has the instance already.
    fn add(&mut self, reading: u64) -> bool {
        if self.until == reading + 1 {
            return false;
        }
        if self.until != reading || self.until == 0 {
            self.end();
            self.begun = reading;
        }
        self.until = reading + 1;
        true
    }

    fn end(&mut self) {
        if self.until > 0 {
            put(&mut self.out, self.begun - self.ended);
            put(&mut self.out, self.until - self.begun);
            self.count += 1;
            self.ended = self.until;
        }
    }
}

impl SourceColumns {
    fn new(schema: &SourceDef) -> Self {
        SourceColumns {
            is_text: schema.fields.iter().map(|field| field.kind == Kind::Text).collect(),
            readings: 0,
            times: [
                ColumnTokens::second(),
                ColumnTokens::second(),
                ColumnTokens::default(),
                ColumnTokens::default(),
            ],
            restart: false,
            texts: Interner::default(),
            names: Interner::default(),
            runs: Vec::new(),
            cells: Vec::new(),
            rows: Vec::new(),
        }
    }

    fn add(&mut self, realtime_ns: i64, sample: &sample::Sample) {
        let is_ok = sample.state == State::Ok;
        let clock = sample.realtime_ns.cast_unsigned().wrapping_sub(sample.monotonic_ns);
        let flags = u64::from(is_ok) | u64::from(std::mem::take(&mut self.restart)) << 1;
        let times = [realtime_ns.cast_unsigned(), sample.monotonic_ns, clock, flags];
        for (column, value) in self.times.iter_mut().zip(times) {
            column.add(Some(value));
        }
        let width = self.is_text.len();
        for row in 0..if is_ok { sample.table.rows() } else { 0 } {
            let name = sample.table.name(row);
            let expected = self.rows.get(row).copied();
            let found = expected
                .filter(|&slot| self.names.get(slot) == Some(name))
                .or_else(|| self.names.find(name, |_| true));
            let slot = found.unwrap_or_else(|| {
                self.runs.push(Runs::default());
                self.cells.resize_with(self.cells.len() + width, ColumnTokens::default);
                self.names.push(name)
            });
            match self.rows.get_mut(row) {
                Some(place) => *place = slot,
                None => self.rows.push(slot),
            }
            // Of two rows with one name the first counts.
            if !self.runs[slot].add(self.readings) {
                continue;
            }
            for (field, &is_text) in self.is_text.iter().enumerate() {
                let value = if is_text {
                    sample.table.text(row, field).map(|text| {
                        let known = self.texts.find(text, |_| true);
                        known.unwrap_or_else(|| self.texts.push(text)) as u64
                    })
                } else {
                    sample.table.get(row, field)
                };
                self.cells[slot * width + field].add(value);
            }
        }
        self.readings += 1;
    }

    /// Appends head and parts, and their lengths to the directory.
    fn write(&mut self, directory: &mut Vec<u8>, parts: &mut Vec<u8>) {
        let mut head = Vec::new();
        put(&mut head, self.readings);
        for column in &mut self.times {
            column.write(&mut head);
        }
        head.push(u8::from(self.restart));
        put(&mut head, self.texts.len() as u64);
        for text in 0..self.texts.len() {
            put_bytes(&mut head, self.texts.get(text).unwrap_or_default());
        }
        put(&mut head, self.names.len() as u64);
        for (slot, runs) in self.runs.iter_mut().enumerate() {
            put_bytes(&mut head, self.names.get(slot).unwrap_or_default());
            runs.end();
            put(&mut head, runs.count);
            head.extend_from_slice(&runs.out);
        }
        append(&head, directory, parts);
        let width = self.is_text.len();
        put(directory, width as u64);
        for field in 0..width {
            let mut part = Vec::new();
            for cell in self.cells.iter_mut().skip(field).step_by(width) {
                cell.write(&mut part);
            }
            append(&part, directory, parts);
        }
    }
}

/// Appends a head or part with its CRC, and its length to the directory; nothing if it is empty.
fn append(part: &[u8], directory: &mut Vec<u8>, parts: &mut Vec<u8>) {
    if part.is_empty() {
        put(directory, 0);
        return;
    }
    put(directory, part.len() as u64 + 4);
    parts.extend_from_slice(part);
    parts.extend_from_slice(&crc(&[part]).to_le_bytes());
}

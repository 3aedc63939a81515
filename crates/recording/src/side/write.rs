//! Makes a side file, or adds to one what was recorded since.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use sample::{Interner, Kind, Snapshot, SourceDef, State};

use super::column::{ColumnEncoder, Plain};
use super::gathered::Gathered;
use super::part::Pieces;
use super::{
    IS_OK, IS_RESTART, MAGIC, PRELUDE_BYTES, SEGMENT_BLOCKS, SEGMENT_BYTES, SEGMENT_MAGIC,
    SideFile, VERSION, side_path, with_suffix,
};
use crate::compression::{Compression, Packer};
use crate::error::Error;
use crate::format::crc;
use crate::lock;
use crate::reader::{ReadOutcome, Reader};
use crate::rows::put_edit;
use crate::state::state_code;
use varint::{put, put_bytes};

/// The level of compression, and a typical length of what is compressed.
const LEVEL: i32 = 9;
const TYPICAL_BYTES: usize = 16 << 10;

/// Cells (instances by fields) of a segment's sources after which it ends with the next block: 16 MiB
/// of them.
const SEGMENT_CELLS: usize = 1 << 18;

/// Bytes of a segment's blocks in the recording after which it ends with the next block: so many are
/// passed over to read a sample, at most about a million values.
const SEGMENT_STORED_BYTES: u64 = 1 << 20;

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
/// one before or the whole new one; nothing is written if there is nothing to add, or if another
/// writer is at it.  Damaged segments, and those after them, are written anew.
///
/// # Errors
/// The recording cannot be read, or the side file not written.
pub fn write_side_file(recording: &Path) -> Result<SideWritten, Error> {
    let mut reader = Reader::open(recording, &[])?;
    let Some(mut writer) = SideWriter::begin(&reader)? else {
        let known = SideFile::open(recording, &reader);
        return Ok(SideWritten { segments: 0, bytes: known.as_ref().map_or(0, SideFile::end) });
    };
    reader.seek_after_block(writer.covered);
    let mut snapshot = Snapshot::new(&reader.defs());
    while !writer.is_done && reader.next(&mut snapshot)? == ReadOutcome::Sample {
        writer.add_sample(&reader, &snapshot)?;
    }
    writer.finish(&reader)
}

/// A side file that is added to while its recording is read, so that one who reads all of it for
/// another reason decodes each block once for both.  Dropped before [`finish`](Self::finish), it
/// leaves the side file as it was.
pub struct SideWriter {
    /// The side file, and what is to replace it.
    path: PathBuf,
    temporary: PathBuf,
    out: File,
    /// The last block that the side file has.
    covered: u32,
    written: SideWritten,
    packer: Packer,
    segment: Segment,
    /// Whether the closed blocks were read.
    is_done: bool,
    is_renamed: bool,
}

impl SideWriter {
    /// Begins to add to the side file of a recording; `None` if there is nothing to add, or another
    /// writer is at it.
    ///
    /// # Errors
    /// The side file cannot be written.
    pub fn begin(reader: &Reader) -> Result<Option<Self>, Error> {
        let recording = reader.path();
        let path = side_path(recording);
        let known = SideFile::open(recording, reader);
        let covered = known.as_ref().map_or(0, SideFile::covered);
        let count = reader.closed_blocks_after(covered);
        let is_segment = count >= SEGMENT_BLOCKS as usize
            || reader.closed_bytes_after(covered) >= SEGMENT_STORED_BYTES;
        if count == 0 || !is_segment && !reader.is_complete() {
            return Ok(None);
        }
        let io = |error| Error::io(&path, "write", error);
        let temporary = with_suffix(&path, ".new");
        let Some(out) = locked(&temporary).map_err(io)? else { return Ok(None) };
        let packer = Packer::new(Compression::Zstd(LEVEL), TYPICAL_BYTES)
            .and_then(Packer::with_long_matches)
            .map_err(io)?;
        let mut writer = SideWriter {
            segment: Segment::new(reader.schemas()),
            covered: 0,
            written: SideWritten { segments: 0, bytes: PRELUDE_BYTES as u64 },
            is_done: false,
            is_renamed: false,
            path,
            temporary,
            out,
            packer,
        };
        // Another writer may have ended since.
        let known = SideFile::open(recording, reader);
        writer.copy(known, reader.file_id()).map_err(|error| writer.failed(error))?;
        Ok(Some(writer))
    }

    /// As [`begin`](Self::begin), for one who reads a recording from its start; also `None` if the
    /// side file has a part of it, or if the reader gives other fields than those that were recorded.
    ///
    /// # Errors
    /// As of [`begin`](Self::begin).
    pub fn begin_whole(reader: &Reader) -> Result<Option<Self>, Error> {
        if !reader.gives_all_as_recorded() {
            return Ok(None);
        }
        Ok(Self::begin(reader)?.filter(|writer| writer.covered == 0))
    }

    /// Takes over what is known and has no damage.
    fn copy(&mut self, known: Option<SideFile>, file_id: u64) -> io::Result<()> {
        let Some(mut known) = known else { return self.out.write_all(&prelude(file_id)) };
        known.truncate(known.sound());
        (self.covered, self.written.bytes) = (known.covered(), known.end());
        known.copy(&self.out)
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::io(&self.path, "write", error)
    }

    /// Takes the sample that a reader has just read.  Those that the side file has are passed over.
    ///
    /// # Errors
    /// The side file cannot be written.
    pub fn add_sample(&mut self, reader: &Reader, snapshot: &Snapshot) -> Result<(), Error> {
        let number = reader.block_number();
        self.is_done |= reader.is_open_block();
        if self.is_done || number <= self.covered {
            return Ok(());
        }
        if self.segment.is_full(number) {
            self.end_segment(reader)?;
        }
        self.segment.add((number, reader.block_bytes(number)), snapshot);
        Ok(())
    }

    fn end_segment(&mut self, reader: &Reader) -> Result<(), Error> {
        let bytes = self.segment.encode(&mut self.packer);
        self.out.write_all(&bytes).map_err(|error| self.failed(error))?;
        self.written.bytes += bytes.len() as u64;
        self.written.segments += 1;
        self.segment = Segment::new(reader.schemas());
        Ok(())
    }

    /// Replaces the side file, unless nothing was added, when the reader has come to its end.
    ///
    /// # Errors
    /// The side file cannot be written.
    pub fn finish(mut self, reader: &Reader) -> Result<SideWritten, Error> {
        let is_whole = self.segment.is_full(u32::MAX) || reader.is_complete();
        if self.segment.last_block > 0 && is_whole {
            self.end_segment(reader)?;
        }
        if self.written.segments == 0 {
            let bytes = fs::metadata(&self.path).map_or(0, |file| file.len());
            return Ok(SideWritten { segments: 0, bytes });
        }
        fs::rename(&self.temporary, &self.path).map_err(|error| self.failed(error))?;
        self.is_renamed = true;
        Ok(self.written)
    }
}

impl Drop for SideWriter {
    fn drop(&mut self) {
        if !self.is_renamed {
            drop(fs::remove_file(&self.temporary));
        }
    }
}

/// Opens a file to write it anew, under a lock that ends with the process; `None` if another writer
/// has it.
fn locked(path: &Path) -> io::Result<Option<File>> {
    // Others may have put a link or a pipe there.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let mut options = File::options();
    options.write(true).create(true).truncate(false).custom_flags(flags);
    loop {
        let file = options.open(path)?;
        if !lock::try_lock(&file)? {
            return Ok(None);
        }
        let own = file.metadata()?;
        if !own.is_file() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        // A writer before may have renamed or removed it since it was opened.
        let named = fs::symlink_metadata(path).ok().map(|named| (named.dev(), named.ino()));
        if named == Some((own.dev(), own.ino())) {
            file.set_len(0)?;
            return Ok(Some(file));
        }
    }
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
    fn copy(&self, mut out: &File) -> io::Result<()> {
        use io::{Read as _, Seek as _};
        let mut file = &self.file;
        file.seek(io::SeekFrom::Start(0))?;
        let copied = io::copy(&mut file.take(self.end()), &mut out)?;
        if copied == self.end() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// A segment being gathered.
struct Segment {
    first_block: u32,
    last_block: u32,
    blocks: u32,
    /// The bytes of these blocks in the recording.
    stored_bytes: u64,
    first_realtime_ns: i64,
    latest_realtime_ns: i64,
    end: (u64, i64),
    /// The times of its ticks, and of each its monotonic_ns less that of its first reading, whether it
    /// is a restart, and its gap.
    ticks: Vec<u64>,
    facts: [Vec<u64>; 5],
    sources: Vec<SourceColumns>,
}

impl Segment {
    fn new(schemas: &[std::sync::Arc<SourceDef>]) -> Self {
        Segment {
            first_block: 0,
            last_block: 0,
            blocks: 0,
            stored_bytes: 0,
            first_realtime_ns: 0,
            latest_realtime_ns: i64::MIN,
            end: (0, 0),
            ticks: Vec::new(),
            facts: Default::default(),
            sources: schemas.iter().map(|schema| SourceColumns::new(schema)).collect(),
        }
    }

    /// Whether a sample of the block `number` belongs to the next segment.
    fn is_full(&self, number: u32) -> bool {
        let cells = || self.sources.iter().map(|source| source.cells.len()).sum::<usize>();
        self.blocks > 0
            && number != self.last_block
            && (self.blocks >= SEGMENT_BLOCKS
                || self.stored_bytes >= SEGMENT_STORED_BYTES
                || cells() > SEGMENT_CELLS)
    }

    fn add(&mut self, (number, bytes): (u32, u64), snapshot: &Snapshot) {
        if self.blocks == 0 {
            (self.first_block, self.first_realtime_ns) = (number, snapshot.realtime_ns);
        }
        if number != self.last_block {
            self.blocks += 1;
            self.stored_bytes += bytes;
        }
        self.last_block = number;
        self.latest_realtime_ns = self.latest_realtime_ns.max(snapshot.realtime_ns);
        self.end = (snapshot.monotonic_ns, snapshot.realtime_ns);
        for (index, source) in self.sources.iter_mut().enumerate() {
            source.restart |= snapshot.restart;
            if snapshot.fresh[index] {
                source
                    .add((self.ticks.len() as u64, snapshot.realtime_ns), &snapshot.samples[index]);
            }
        }
        let began = self.add_costs(snapshot).unwrap_or(snapshot.realtime_ns.cast_unsigned());
        let late = snapshot.monotonic_ns.wrapping_sub(began);
        let gap = &snapshot.gap;
        let (restart, missed) = (u64::from(snapshot.restart), gap.ticks_missed);
        let facts = [late, restart, missed, gap.samples_unwritten, gap.samples_unreadable];
        for (column, value) in self.facts.iter_mut().zip(facts) {
            column.push(value);
        }
        self.ticks.push(snapshot.realtime_ns.cast_unsigned());
    }

    /// Adds the cost of each reading of a tick: less the time until the next one began, which it
    /// mostly is.  Returns when the first one began.
    fn add_costs(&mut self, snapshot: &Snapshot) -> Option<u64> {
        let mut next_began = None;
        for (index, source) in self.sources.iter_mut().enumerate().rev() {
            if snapshot.fresh[index] {
                let sample = &snapshot.samples[index];
                let began = next_began.replace(sample.monotonic_ns);
                let until = began.map_or(0, |began: u64| began.wrapping_sub(sample.monotonic_ns));
                source.costs.push(sample.cost_ns.wrapping_sub(until));
            }
        }
        next_began
    }

    /// What whole samples need beyond heads and fields; nothing if one had two rows of one name.
    fn moments(&self, encoder: &mut ColumnEncoder) -> Plain {
        let mut plain = Plain::default();
        if self.sources.iter().any(|source| source.has_twins) {
            return plain;
        }
        for column in &self.facts {
            encoder.write_whole(column, &mut plain);
        }
        for source in &self.sources {
            encoder.write_whole(&source.states, &mut plain);
            encoder.write_whole(&source.costs, &mut plain);
            put(&mut plain.bytes, source.edits.count);
            put_bytes(&mut plain.bytes, &source.edits.out);
        }
        plain
    }

    fn encode(&mut self, packer: &mut Packer) -> Vec<u8> {
        let mut out = Parts { packer, directory: Vec::new(), parts: Vec::new() };
        let mut encoder = ColumnEncoder::default();
        let mut ticks = Plain::default();
        put(&mut ticks.bytes, self.ticks.len() as u64);
        encoder.write_whole(&self.ticks, &mut ticks);
        out.append(Pieces::of(ticks));
        out.append(Pieces::of(self.moments(&mut encoder)));
        put(&mut out.directory, self.sources.len() as u64);
        for source in &mut self.sources {
            source.write(&mut encoder, &mut out);
        }
        let Parts { mut directory, mut parts, .. } = out;
        let mut out = SEGMENT_MAGIC.to_vec();
        out.extend_from_slice(&self.first_block.to_le_bytes());
        out.extend_from_slice(&self.last_block.to_le_bytes());
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
    /// Which ticks have a reading.
    ticks: Runs,
    readings: u64,
    /// For each reading its clocks and flags.
    times: [Vec<u64>; 3],
    states: Vec<u64>,
    costs: Vec<u64>,
    restart: bool,
    /// Whether a reading had two rows of one name.
    has_twins: bool,
    edits: Edits,
    texts: Interner,
    names: Interner,
    /// For each instance its readings.
    runs: Vec<Runs>,
    /// Instances by fields.
    cells: Vec<Gathered>,
    rows: Vec<usize>,
}

/// Runs of readings, as they are written.
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

    fn write(&mut self, out: &mut Vec<u8>) {
        self.end();
        put(out, self.count);
        out.extend_from_slice(&self.out);
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

/// The lists of rows of a source's readings, each as its difference from the one before.
#[derive(Default)]
struct Edits {
    /// The rows of the reading that is added, and those of the one before.
    rows: Vec<u32>,
    before: Vec<u32>,
    /// How many instances the readings before had.
    known: usize,
    /// The reading of the latest edit.
    reading: u64,
    count: u64,
    out: Vec<u8>,
    memory: Vec<u32>,
}

impl Edits {
    /// Adds the rows of a reading, after which so many instances are known.
    fn end(&mut self, reading: u64, known: usize) {
        if self.rows == self.before {
            return;
        }
        put(&mut self.out, reading - self.reading);
        put_edit(&mut self.out, &self.before, &self.rows, self.known, &mut self.memory, |_, _| {});
        (self.reading, self.known) = (reading, known);
        self.count += 1;
        std::mem::swap(&mut self.rows, &mut self.before);
    }
}

impl SourceColumns {
    fn new(schema: &SourceDef) -> Self {
        SourceColumns {
            is_text: schema.fields.iter().map(|field| field.kind == Kind::Text).collect(),
            ticks: Runs::default(),
            readings: 0,
            times: Default::default(),
            states: Vec::new(),
            costs: Vec::new(),
            restart: false,
            has_twins: false,
            edits: Edits::default(),
            texts: Interner::default(),
            names: Interner::default(),
            runs: Vec::new(),
            cells: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Adds a reading of a tick, which has a number and a time.
    fn add(&mut self, (tick, tick_ns): (u64, i64), sample: &sample::Sample) {
        let is_ok = sample.state == State::Ok;
        let monotonic = sample.monotonic_ns.wrapping_sub(tick_ns.cast_unsigned());
        let clock = sample.realtime_ns.cast_unsigned().wrapping_sub(sample.monotonic_ns);
        let restart = if std::mem::take(&mut self.restart) { IS_RESTART } else { 0 };
        let flags = restart | if is_ok { IS_OK } else { 0 };
        for (column, value) in self.times.iter_mut().zip([monotonic, clock, flags]) {
            column.push(value);
        }
        self.states.push(state_code(sample.state));
        self.ticks.add(tick);
        self.edits.rows.clear();
        let width = self.is_text.len();
        for row in 0..if is_ok { sample.table.rows() } else { 0 } {
            let name = sample.table.name(row);
            let expected = self.rows.get(row).copied();
            let found = expected
                .filter(|&slot| self.names.get(slot) == Some(name))
                .or_else(|| self.names.find(name, |_| true));
            let slot = found.unwrap_or_else(|| {
                self.runs.push(Runs::default());
                self.cells.resize_with(self.cells.len() + width, Gathered::default);
                self.names.push(name)
            });
            match self.rows.get_mut(row) {
                Some(place) => *place = slot,
                None => self.rows.push(slot),
            }
            // Of two rows with one name the first counts.
            if !self.runs[slot].add(self.readings) {
                self.has_twins = true;
                continue;
            }
            self.edits.rows.push(slot as u32);
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
        if is_ok {
            self.edits.end(self.readings, self.names.len());
        }
        self.readings += 1;
    }

    /// Appends head and parts.
    fn write(&mut self, encoder: &mut ColumnEncoder, out: &mut Parts<'_>) {
        out.append(Pieces::of(self.head(encoder)));
        let width = self.is_text.len();
        put(&mut out.directory, width as u64);
        let (mut values, mut runs) = (Vec::new(), Vec::new());
        for field in 0..width {
            let mut part = Pieces::default();
            for cell in self.cells.iter_mut().skip(field).step_by(width) {
                cell.append_to(&mut values, &mut runs);
                encoder.write(&values, &runs, &mut part.open);
                part.end_column();
            }
            out.append(part);
        }
    }

    fn head(&mut self, encoder: &mut ColumnEncoder) -> Plain {
        let mut head = Plain::default();
        self.ticks.write(&mut head.bytes);
        for column in &self.times {
            encoder.write_whole(column, &mut head);
        }
        head.bytes.push(u8::from(self.restart));
        put(&mut head.bytes, self.texts.len() as u64);
        for text in 0..self.texts.len() {
            put_bytes(&mut head.bytes, self.texts.get(text).unwrap_or_default());
        }
        put(&mut head.bytes, self.names.len() as u64);
        for (slot, runs) in self.runs.iter_mut().enumerate() {
            put_bytes(&mut head.bytes, self.names.get(slot).unwrap_or_default());
            runs.write(&mut head.bytes);
        }
        head
    }
}

/// The parts of a segment, and the directory of their lengths.
struct Parts<'a> {
    packer: &'a mut Packer,
    directory: Vec<u8>,
    parts: Vec<u8>,
}

impl Parts<'_> {
    fn append(&mut self, part: Pieces) {
        part.append(self.packer, &mut self.directory, &mut self.parts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_writer_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("name.whit.columns.new");
        let mut first = locked(&path).unwrap().unwrap();
        first.write_all(b"half").unwrap();
        assert!(locked(&path).unwrap().is_none());
        assert_eq!(fs::read(&path).unwrap(), b"half");
        drop(first);
        assert!(locked(&path).unwrap().is_some());
        assert_eq!(fs::read(&path).unwrap(), b"");
    }
}

//! Reads a summary: its segments, and of one the windows of some fields of a source.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

use feed::Beginning;
use recording::{Bytes, Corrupt};
use sample::{Kind, SourceDef};
use std::sync::Arc;
use zstd::bulk::Decompressor;

use super::cell::{Cell, Expected};
use super::column::{FieldBytes, FieldReader};
use super::head::SourceHead;
use super::streams::STREAMS;
use super::{
    FLAG_CLOCK_SET_BACK, FRAMES, HEADER_BYTES, HOUR_NS, MAGIC, ONE_FRAME, PART_BYTES_MAX, PLAIN,
    PRELUDE_BYTES, SEGMENT_MAGIC, VERSION, ZSTD_MAGIC, coding, lengths_ns, source_window_ns,
};
use crate::archived_file::{ArchivedFile, Identity};

/// Flags of a segment.
pub(super) const BEGINS: u8 = 1;
pub(super) const ENDS: u8 = 2;
pub(super) const HAS_SAMPLE: u8 = 4;

/// A summary.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(super) file: File,
    /// The length of a window of tier 0.
    pub(super) window_ns: i64,
    pub(super) clock_set_back: bool,
    /// In the order of the file: of each tier by time.
    pub(super) segments: Vec<Segment>,
    /// The offset after the last segment.
    pub(super) end: u64,
}

/// A segment: some windows of one tier, one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Segment {
    pub(super) tier: u8,
    pub(super) flags: u8,
    pub(super) from_ns: i64,
    pub(super) windows: u32,
    /// The length of a window.
    pub(super) window_ns: i64,
    pub(super) recording_bytes: u64,
    pub(super) beginning: Option<Beginning>,
    /// The latest sample: monotonic_ns, realtime_ns.
    pub(super) latest: (u64, i64),
    /// Where it is: header, directory.
    pub(super) at: u64,
    pub(super) directory_bytes: u32,
    pub(super) body_bytes: u64,
    pub(super) directory_crc: u32,
}

impl Segment {
    /// The end of its last window.
    pub(super) fn thru_ns(&self) -> i64 {
        self.from_ns.saturating_add(self.window_ns.saturating_mul(i64::from(self.windows)))
    }

    /// The same time in windows of another length of tier 0; hours are hours.
    pub(super) fn divided(&self, window_ns: i64) -> Segment {
        if self.tier != 0 {
            return self.clone();
        }
        let length_ns = self.window_ns.saturating_mul(i64::from(self.windows));
        Segment { windows: (length_ns / window_ns) as u32, window_ns, ..self.clone() }
    }

    /// The times of some of its windows.
    pub(super) fn times(&self, windows: &Range<u32>) -> Range<i64> {
        let begins_ns = |window: u32| {
            self.from_ns.saturating_add(self.window_ns.saturating_mul(i64::from(window)))
        };
        begins_ns(windows.start)..begins_ns(windows.end)
    }

    /// The windows that have times of the segment.
    pub(super) fn numbers(&self, times: &Range<i64>) -> Range<u32> {
        let number =
            |at_ns: i64| u32::try_from((at_ns - self.from_ns) / self.window_ns).unwrap_or(u32::MAX);
        number(times.start)..number(times.end)
    }

    pub(super) fn ends(&self) -> bool {
        self.flags & ENDS != 0
    }

    /// Whether it has the first or the last readings.
    pub(super) fn has_edges(&self) -> bool {
        self.tier == 0 && self.flags & (BEGINS | ENDS) != 0
    }
}

impl Summary {
    /// Opens the summary of a recording; `None` if it has none that can be used.
    pub(crate) fn open(file: &ArchivedFile) -> Option<Summary> {
        let path = super::path(&file.file.path);
        // To open a pipe that nobody writes waits for ever.
        let opened = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file);
        let opened = opened.and_then(|_| File::open(&path).ok())?;
        let (window_ns, _) = lengths_ns(&file.file.meta);
        Summary::of(opened, &file.identity).filter(|summary| summary.window_ns == window_ns)
    }

    /// The summary with the windows of a source.
    pub(super) fn of_source(mut self, file: &ArchivedFile, source: usize) -> Summary {
        self.window_ns = source_window_ns(&file.file.meta, &file.defs[source]);
        for segment in &mut self.segments {
            *segment = segment.divided(self.window_ns);
        }
        self
    }

    /// The summary in an open file.
    pub(super) fn of(file: File, identity: &Identity) -> Option<Summary> {
        let mut prelude = [0; PRELUDE_BYTES];
        file.read_exact_at(&mut prelude, 0).ok()?;
        let flags = u32_at(&prelude, 12);
        let window_ns = u64_at(&prelude, 48).cast_signed();
        let expected = super::prelude(identity, flags, window_ns);
        if prelude != expected[..] || prelude[..8] != MAGIC || u32_at(&prelude, 8) != VERSION {
            return None;
        }
        if window_ns <= 0 || HOUR_NS % window_ns != 0 {
            return None;
        }
        let length = file.metadata().ok()?.len();
        let clock_set_back = flags & FLAG_CLOCK_SET_BACK != 0;
        let end = PRELUDE_BYTES as u64;
        let mut summary = Summary { file, window_ns, clock_set_back, segments: Vec::new(), end };
        while let Some(segment) = summary.segment_at(summary.end) {
            let end = segment.at + HEADER_BYTES as u64;
            let Some(end) = end.checked_add(segment.body_bytes).filter(|&end| end <= length) else {
                break;
            };
            let mut before = summary.segments.iter().filter(|known| known.tier == segment.tier);
            if before.next_back().is_some_and(|before| before.thru_ns() > segment.from_ns) {
                break;
            }
            summary.segments.push(segment);
            summary.end = end;
        }
        Some(summary)
    }

    fn segment_at(&self, at: u64) -> Option<Segment> {
        let mut header = [0; HEADER_BYTES];
        self.file.read_exact_at(&mut header, at).ok()?;
        let is_valid = header[..4] == SEGMENT_MAGIC
            && header[4] <= 1
            && crc32c::crc32c(&header[..HEADER_BYTES - 4]) == u32_at(&header, HEADER_BYTES - 4);
        let signed = |at: usize| u64_at(&header, at).cast_signed();
        let beginning = Beginning {
            realtime_ns: signed(40),
            monotonic_ns: u64_at(&header, 48),
            missed: u64_at(&header, 56),
        };
        let window_ns = if header[4] == 0 { self.window_ns } else { HOUR_NS };
        // What is far from every time would make sums overflow.
        let (from_ns, is_near) = (signed(8), signed(8).unsigned_abs() < 1 << 62);
        (is_valid && is_near && from_ns % window_ns == 0).then(|| Segment {
            tier: header[4],
            flags: header[5],
            from_ns,
            windows: u32_at(&header, 16),
            window_ns,
            directory_bytes: u32_at(&header, 20),
            body_bytes: u64_at(&header, 24),
            recording_bytes: u64_at(&header, 32),
            beginning: (header[5] & HAS_SAMPLE != 0).then_some(beginning),
            latest: (u64_at(&header, 64), signed(72)),
            directory_crc: u32_at(&header, 80),
            at,
        })
    }

    /// The segments of a tier, by time.
    pub(super) fn tier(&self, tier: u8) -> impl Iterator<Item = &Segment> + Clone {
        self.segments.iter().filter(move |segment| segment.tier == tier)
    }

    /// The windows of some fields of a source, both by their index; `None` if they cannot be read,
    /// or are damaged.
    pub(super) fn source(
        &self,
        segment: &Segment,
        file: &ArchivedFile,
        source: usize,
        fields: &[usize],
    ) -> Option<SourceWindows> {
        let directory_at = segment.at + HEADER_BYTES as u64;
        let directory = self.bytes(directory_at, u64::from(segment.directory_bytes))?;
        if crc32c::crc32c(&directory) != segment.directory_crc {
            return None;
        }
        let first = directory_at + u64::from(segment.directory_bytes);
        let places =
            SourceRanges::find(&directory, &file.defs, source, segment.has_edges(), first).ok()?;
        let bytes = directory.len() as u64;
        let mut windows = SourceWindows { bytes, ..SourceWindows::default() };
        let Some(places) = places else { return Some(windows) };
        let meta = &file.file.meta;
        let def = &file.defs[source];
        let count = segment.divided(source_window_ns(meta, def)).windows;
        let mut decompressor = Decompressor::new().ok()?;
        let [head, ..] = self.part(places.head, &mut decompressor)?;
        windows.bytes += places.head.1;
        let single_clock = meta.has_single_clock();
        windows.head =
            SourceHead::decode(&head, meta.cadence_ns(def.cadence), single_clock).ok()?;
        if windows.head.windows.len() != count as usize {
            return None;
        }
        for &field in fields {
            let (field, edges) = (places.fields.get(field)?, places.edges.get(field).copied());
            windows.fields.push(match field.1 {
                0 => FieldBytes::Same,
                1 => FieldBytes::Missing,
                length => {
                    windows.bytes += length;
                    FieldBytes::Columns(Box::new(self.part(*field, &mut decompressor)?))
                }
            });
            let edges = edges.filter(|edges| edges.1 > 0);
            windows.edges.push(match edges {
                Some(edges) => {
                    let [edges, ..] = self.part(edges, &mut decompressor)?;
                    edges
                }
                None => Vec::new(),
            });
            windows.bytes += edges.map_or(0, |edges| edges.1);
        }
        Some(windows)
    }

    fn bytes(&self, at: u64, length: u64) -> Option<Vec<u8>> {
        // Allocate memory only for bytes that the file has.
        if length > PART_BYTES_MAX as u64 || at.checked_add(length)? > self.end {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        self.file.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    }

    /// The streams of a part, as they were before they were stored.
    fn part(
        &self,
        (at, length): ByteRange,
        decompressor: &mut Decompressor<'_>,
    ) -> Option<[Vec<u8>; STREAMS]> {
        let mut stored = self.bytes(at, length)?;
        let own_crc = stored.split_off(stored.len().checked_sub(4)?);
        if crc32c::crc32c(&stored).to_le_bytes() != own_crc[..] {
            return None;
        }
        let mut bytes = Bytes::new(&stored);
        let mut lengths = [0; STREAMS];
        let count = bytes.count().ok()?;
        for length in lengths.get_mut(..count)? {
            *length = usize::try_from(bytes.varint().ok()?).ok()?;
        }
        let plain_bytes = lengths.iter().try_fold(0_usize, |sum, &one| sum.checked_add(one))?;
        let kind = bytes.byte().ok()?;
        let stored = bytes.next_bytes(bytes.left()).ok()?;
        if plain_bytes > PART_BYTES_MAX {
            return None;
        }
        let mut frame = |stored: &[u8], length: usize| -> Option<Vec<u8>> {
            let plain = decompressor.decompress(&[&ZSTD_MAGIC, stored].concat(), length).ok()?;
            (plain.len() == length).then_some(plain)
        };
        let mut streams: [Vec<u8>; STREAMS] = Default::default();
        if kind == FRAMES {
            let mut frames = Bytes::new(stored);
            for (stream, &length) in streams.iter_mut().zip(&lengths).filter(|s| *s.1 > 0) {
                *stream = frame(frames.prefixed().ok()?, length)?;
            }
            return Some(streams);
        }
        let plain = match kind {
            PLAIN => stored.to_vec(),
            ONE_FRAME => frame(stored, plain_bytes)?,
            _ => return None,
        };
        let mut plain = Bytes::new(&plain);
        for (stream, &length) in streams.iter_mut().zip(&lengths) {
            *stream = plain.next_bytes(length).ok()?.to_vec();
        }
        (plain.left() == 0).then_some(streams)
    }
}

/// Offset and length.
type ByteRange = (u64, u64);

/// Where the parts of a source are.
struct SourceRanges {
    head: ByteRange,
    fields: Vec<ByteRange>,
    /// The edges of each field; not of gauges and texts.
    edges: Vec<ByteRange>,
}

impl SourceRanges {
    /// The parts of a source, the first part of all at `at`; `None` if it has nothing in the segment.
    fn find(
        directory: &[u8],
        defs: &[Arc<SourceDef>],
        source: usize,
        has_edges: bool,
        mut at: u64,
    ) -> Result<Option<SourceRanges>, Corrupt> {
        let mut bytes = Bytes::new(directory);
        let mut place = |length: u64| {
            let place = (at, length);
            at = at.saturating_add(if length > 1 { length } else { 0 });
            place
        };
        for def in &defs[..=source] {
            let length = bytes.varint()?;
            if length == 0 {
                continue;
            }
            let head = place(length);
            let mut places = SourceRanges { head, fields: Vec::new(), edges: Vec::new() };
            let is_it = std::ptr::eq(def, &raw const defs[source]);
            for _ in def.fields.iter() {
                let field = place(bytes.varint()?);
                if is_it {
                    places.fields.push(field);
                }
            }
            for field in def.fields.iter().filter(|_| has_edges) {
                let is_counter = field.kind == Kind::Counter;
                let edges = if is_counter { place(bytes.varint()?) } else { (0, 0) };
                if is_it {
                    places.edges.push(edges);
                }
            }
            if is_it {
                return Ok(Some(places));
            }
        }
        Ok(None)
    }
}

/// The windows of some fields of a source in a segment.
#[derive(Debug, Default)]
pub(super) struct SourceWindows {
    pub(super) head: SourceHead,
    fields: Vec<FieldBytes>,
    edges: Vec<Vec<u8>>,
    /// The bytes that were read.
    pub(super) bytes: u64,
}

/// A raw value of the first or the last reading.
pub(super) type RawEdge<'a> = (&'a [u8], Option<u64>);

impl SourceWindows {
    /// Calls `each` with the instance, the window and the values of one of the fields asked for, in
    /// those windows that have the instance.
    pub(super) fn cells<E: From<Corrupt>>(
        &self,
        field: usize,
        kind: Kind,
        single_clock: bool,
        mut each: impl FnMut(usize, u32, Expected, Option<Cell>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(stored) = self.fields.get(field) else { return Ok(()) };
        let mut reader = FieldReader::new(coding(kind, single_clock), stored)?;
        for slot in 0..self.head.slots.len() {
            reader.begin();
            for (window, expected) in self.head.windows_of(slot) {
                each(slot, window, expected, reader.next(&expected)?)?;
            }
        }
        Ok(())
    }

    /// Calls `each` with the instance, the window and the value of a field that is a text.
    pub(super) fn texts<E: From<Corrupt>>(
        &self,
        field: usize,
        mut each: impl FnMut(usize, u32, Option<&[u8]>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(stored) = self.fields.get(field) else { return Ok(()) };
        let mut reader = FieldReader::new(coding(Kind::Text, false), stored)?;
        for slot in 0..self.head.slots.len() {
            reader.begin();
            for (window, _) in self.head.windows_of(slot) {
                each(slot, window, reader.next_text()?)?;
            }
        }
        Ok(())
    }

    /// The raw values of a counter in the first (0) or the last (1) reading of the recording.
    pub(super) fn raw_edges(
        &self,
        field: usize,
        which: usize,
    ) -> Result<Vec<RawEdge<'_>>, Corrupt> {
        let (mut bytes, mut found) = (Bytes::new(self.edges.get(field).map_or(&[], |e| e)), vec![]);
        for (number, slot) in self.head.slots.iter().enumerate() {
            let mut before = 0_u64;
            for (edge, &is_in) in slot.is_in.iter().enumerate() {
                if !is_in || bytes.left() == 0 {
                    continue;
                }
                let raw = match bytes.varint()? {
                    0 => None,
                    _ => Some(before.wrapping_add(bytes.varint()?)),
                };
                before = raw.unwrap_or(before);
                if edge == which {
                    found.push((self.head.names.get(number).unwrap_or_default(), raw));
                }
            }
        }
        Ok(found)
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

//! Reads a side file: of a segment the readings of one source, and of them the fields that are wanted.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::column::ColumnValues;
use super::{
    MAGIC, PART_BYTES_MAX, PRELUDE_BYTES, SEGMENT_BLOCKS, SEGMENT_BYTES, SEGMENT_MAGIC, VERSION,
    side_path,
};
use crate::format::{BLOCK_SAMPLES_MAX, crc};
use crate::index::u64_of;
use crate::reader::Reader;
use crate::varint::{Bytes, Corrupt};

/// Limit of the readings of a segment.
const READINGS_MAX: u64 = SEGMENT_BLOCKS as u64 * BLOCK_SAMPLES_MAX as u64;

/// Limit of the readings of all instances of a source in a segment, so that no crafted file keeps a
/// reader busy for long.
const LISTED_MAX: u64 = 1 << 27;

/// The side file of a recording.
#[derive(Debug)]
pub struct SideFile {
    pub(super) file: File,
    segments: Vec<SideSegment>,
    /// The offset after the last segment.
    end: u64,
}

/// A segment: some blocks of the recording, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct SideSegment {
    /// The time of its first tick, since the epoch.
    pub first_realtime_ns: i64,
    /// The latest time of a tick.
    pub latest_realtime_ns: i64,
    /// Its last tick, on the monotonic clock.
    pub end_monotonic_ns: u64,
    /// Its last tick, since the epoch.
    pub end_realtime_ns: i64,
    /// The number of its last block.
    pub last_block: u32,
    at: u64,
    directory_bytes: u32,
    directory_crc: u32,
}

impl SideFile {
    /// Opens the side file of a recording that is open.  `None` if there is none, or if it is not of
    /// this recording.  Segments after a damaged one are left out.
    #[must_use]
    pub fn open(recording: &Path, reader: &Reader) -> Option<SideFile> {
        let path = side_path(recording);
        // To open a pipe that nobody writes waits for ever.
        let file = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file);
        let file = file.and_then(|_| File::open(&path).ok())?;
        let length = file.metadata().ok()?.len();
        let mut prelude = [0; PRELUDE_BYTES];
        file.read_exact_at(&mut prelude, 0).ok()?;
        let (covered, own_crc) = prelude.split_at(PRELUDE_BYTES - 4);
        let is_of = prelude[..8] == MAGIC
            && u64_of(&prelude[8..12]) == u64::from(VERSION)
            && u64_of(&prelude[16..24]) == reader.file_id()
            && u64_of(own_crc) == u64::from(crc(&[covered]));
        if !is_of {
            return None;
        }
        let mut side = SideFile { file, segments: Vec::new(), end: PRELUDE_BYTES as u64 };
        while let Some((segment, end)) = side.segment_at(side.end) {
            let before = side.covered();
            // A recording that was repaired may have lost blocks.
            if end > length
                || segment.last_block <= before
                || !reader.has_closed(segment.last_block)
            {
                break;
            }
            side.segments.push(segment);
            side.end = end;
        }
        Some(side)
    }

    fn segment_at(&self, at: u64) -> Option<(SideSegment, u64)> {
        let mut header = [0; SEGMENT_BYTES];
        self.file.read_exact_at(&mut header, at).ok()?;
        let (covered, own_crc) = header.split_at(SEGMENT_BYTES - 4);
        if header[..4] != SEGMENT_MAGIC || u64_of(own_crc) != u64::from(crc(&[covered])) {
            return None;
        }
        let number = |from: usize, to: usize| u64_of(&header[from..to]);
        let segment = SideSegment {
            last_block: number(8, 12) as u32,
            directory_bytes: number(12, 16) as u32,
            first_realtime_ns: number(24, 32).cast_signed(),
            latest_realtime_ns: number(32, 40).cast_signed(),
            end_monotonic_ns: number(40, 48),
            end_realtime_ns: number(48, 56).cast_signed(),
            directory_crc: number(56, 60) as u32,
            at: at + SEGMENT_BYTES as u64,
        };
        Some((segment, segment.at.checked_add(number(16, 24))?))
    }

    /// The segments, in the order of the recording, from its first block on.
    #[must_use]
    pub fn segments(&self) -> &[SideSegment] {
        &self.segments
    }

    /// The number of the last block that it has; 0 if it has none.
    #[must_use]
    pub fn covered(&self) -> u32 {
        self.segments.last().map_or(0, |segment| segment.last_block)
    }

    /// The offset after the last segment.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The readings of a source in a segment, with some of its fields: both by their index in
    /// [`Reader::schemas`].  `None` if they cannot be read, or are damaged.
    #[must_use]
    pub fn columns(
        &self,
        segment: &SideSegment,
        source: usize,
        fields: &[usize],
    ) -> Option<SideColumns> {
        let directory = self.bytes(segment.at, u64::from(segment.directory_bytes))?;
        if crc(&[&directory]) != segment.directory_crc {
            return None;
        }
        let first = segment.at + u64::from(segment.directory_bytes);
        let (head, parts) = places(&directory, source, fields, first).ok()?;
        let head = self.part(head)?;
        let mut columns = SideColumns::read(&head).ok()?;
        for place in parts {
            let part = if place.1 == 0 { Vec::new() } else { self.part(place)? };
            columns.add_part(part).ok()?;
        }
        Some(columns)
    }

    fn bytes(&self, at: u64, length: u64) -> Option<Vec<u8>> {
        // Allocate memory only for bytes that the file has.
        if length > PART_BYTES_MAX || at.checked_add(length)? > self.end {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        self.file.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    }

    /// A head or part at an offset, of a length, without its CRC.
    fn part(&self, (at, length): (u64, u64)) -> Option<Vec<u8>> {
        let mut bytes = self.bytes(at, length)?;
        let own_crc = bytes.split_off(bytes.len().checked_sub(4)?);
        (u64_of(&own_crc) == u64::from(crc(&[&bytes]))).then_some(bytes)
    }
}

/// Offset and length.
type Place = (u64, u64);

/// Where head and parts of a source are, the first part of all at `first`.
fn places(
    directory: &[u8],
    source: usize,
    fields: &[usize],
    first: u64,
) -> Result<(Place, Vec<Place>), Corrupt> {
    let mut bytes = Bytes::new(directory);
    let mut at = first;
    let mut place = |length: u64| {
        let place = (at, length);
        at = at.saturating_add(length);
        place
    };
    for index in 0..bytes.count()? {
        let head = place(bytes.varint()?);
        let count = bytes.count()?;
        let mut parts = Vec::with_capacity(if index == source { count } else { 0 });
        for _ in 0..count {
            let part = place(bytes.varint()?);
            if index == source {
                parts.push(part);
            }
        }
        if index == source {
            let wanted = fields.iter().map(|&field| parts.get(field).copied());
            let wanted: Option<Vec<Place>> = wanted.collect();
            return Ok((head, wanted.ok_or(Corrupt("it has too few fields"))?));
        }
    }
    Err(Corrupt("it has too few sources"))
}

/// A reading of the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SideReading {
    /// When its tick began, since the epoch.
    pub realtime_ns: i64,
    /// The two clocks of the reading: [`sample::Sample::monotonic_ns`] and its `realtime_ns`.
    pub clocks: (u64, i64),
    /// Whether its state is [`sample::State::Ok`].
    pub is_ok: bool,
    /// Whether it cannot be compared with the one before.
    pub restart: bool,
}

/// The readings of a source in a segment, and some of its columns.
#[derive(Debug, Default)]
pub struct SideColumns {
    /// The readings.
    pub readings: Vec<SideReading>,
    /// Whether what follows the last reading cannot be compared with it.
    pub restart_after: bool,
    texts: Vec<Vec<u8>>,
    instances: Vec<SideInstance>,
    /// The fields asked for.
    parts: Vec<FieldPart>,
}

/// One field: the part, and where each instance's column is in it.
#[derive(Debug)]
struct FieldPart {
    bytes: Vec<u8>,
    places: Vec<(usize, usize)>,
}

/// An instance of the source in a segment.
#[derive(Debug)]
struct SideInstance {
    name: Vec<u8>,
    /// First reading and number of readings, for each run.
    runs: Vec<(usize, usize)>,
}

impl SideColumns {
    fn read(head: &[u8]) -> Result<SideColumns, Corrupt> {
        let mut bytes = Bytes::new(head);
        let count = bytes.varint()?;
        if count > READINGS_MAX {
            return Err(Corrupt("it has too many readings"));
        }
        let mut times = Vec::with_capacity(4);
        for second in [true, true, false, false] {
            times.push(ColumnValues::new(bytes.prefixed()?, second));
        }
        let mut columns = SideColumns::default();
        for _ in 0..count {
            let mut values = [0; 4];
            for (value, column) in values.iter_mut().zip(&mut times) {
                *value = column.next()?.ok_or(Corrupt("a reading has no time"))?;
            }
            let [realtime, monotonic, clock, flags] = values;
            columns.readings.push(SideReading {
                realtime_ns: realtime.cast_signed(),
                clocks: (monotonic, monotonic.wrapping_add(clock).cast_signed()),
                is_ok: flags & 1 != 0,
                restart: flags & 2 != 0,
            });
        }
        columns.restart_after = bytes.byte()? != 0;
        for _ in 0..bytes.count()? {
            columns.texts.push(bytes.prefixed()?.to_vec());
        }
        let mut left = LISTED_MAX;
        for _ in 0..bytes.count()? {
            let name = bytes.prefixed()?.to_vec();
            let (mut runs, mut at) = (Vec::new(), 0_u64);
            for _ in 0..bytes.count()? {
                let begun = at.saturating_add(bytes.varint()?);
                let length = bytes.varint()?;
                at = begun.saturating_add(length);
                left = left.saturating_sub(length);
                if at > count || left == 0 {
                    return Err(Corrupt("its instances have too many readings"));
                }
                runs.push((begun as usize, length as usize));
            }
            columns.instances.push(SideInstance { name, runs });
        }
        Ok(columns)
    }

    fn add_part(&mut self, part: Vec<u8>) -> Result<(), Corrupt> {
        let mut bytes = Bytes::new(&part);
        let mut places = Vec::with_capacity(self.instances.len());
        for _ in &self.instances {
            let column = bytes.prefixed()?;
            places.push((bytes.position() - column.len(), bytes.position()));
        }
        self.parts.push(FieldPart { bytes: part, places });
        Ok(())
    }

    /// How many instances the readings have; they are numbered from 0.
    #[must_use]
    pub fn instances(&self) -> usize {
        self.instances.len()
    }

    /// The name of an instance.
    #[must_use]
    pub fn name(&self, instance: usize) -> &[u8] {
        self.instances.get(instance).map_or(&[], |instance| &instance.name)
    }

    /// The readings that have an instance: first reading and number of readings of each run.
    #[must_use]
    pub fn runs(&self, instance: usize) -> &[(usize, usize)] {
        self.instances.get(instance).map_or(&[], |instance| &instance.runs)
    }

    /// How many texts there are: the values of text fields are below this.
    #[must_use]
    pub fn texts(&self) -> usize {
        self.texts.len()
    }

    /// The text that a value of a text field stands for.
    #[must_use]
    pub fn text(&self, value: u64) -> Option<&[u8]> {
        self.texts.get(usize::try_from(value).ok()?).map(Vec::as_slice)
    }

    /// Calls `each` with every reading that has the instance, by its index, and the value of a
    /// field, by its index among those asked for.  False if the column is damaged: `each` may have
    /// had some of it.
    #[must_use]
    pub fn values(
        &self,
        instance: usize,
        field: usize,
        mut each: impl FnMut(usize, Option<u64>),
    ) -> bool {
        let place = self.parts.get(field).and_then(|part| {
            let &(from, to) = part.places.get(instance)?;
            part.bytes.get(from..to)
        });
        let (Some(column), Some(instance)) = (place, self.instances.get(instance)) else {
            return false;
        };
        let mut values = ColumnValues::new(column, false);
        for &(begun, length) in &instance.runs {
            for reading in begun..begun + length {
                match values.next() {
                    Ok(value) => each(reading, value),
                    Err(_) => return false,
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_head_and_part_are_read_or_refused(
            head in proptest::collection::vec(prop_oneof![3 => 0_u8..4, 1 => any::<u8>()], 0..60),
            part in proptest::collection::vec(prop_oneof![3 => 0_u8..4, 1 => any::<u8>()], 0..60),
        ) {
            let Ok(mut columns) = SideColumns::read(&head) else { return Ok(()) };
            let count = columns.readings.len();
            if columns.add_part(part).is_ok() {
                for instance in 0..columns.instances() {
                    let mut outside = 0;
                    let _ = columns.values(instance, 0, |reading, _| {
                        outside += usize::from(reading >= count);
                    });
                    prop_assert_eq!(outside, 0);
                }
            }
        }
    }
}

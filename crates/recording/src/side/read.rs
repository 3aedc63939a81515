//! Reads a side file: of a segment the readings of one source, and of them the fields that are wanted.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use sample::SourceDef;

use super::column::{Column, Plain};
use super::part::{Part, Unpacker, is_sound};
use super::{
    IS_OK, IS_RESTART, MAGIC, PART_BYTES_MAX, PRELUDE_BYTES, SEGMENT_BLOCKS, SEGMENT_BYTES,
    SEGMENT_MAGIC, VERSION, side_path,
};
use crate::format::{BLOCK_SAMPLES_MAX, BODY_BYTES_MAX, crc};
use crate::index::u64_of;
use crate::reader::Reader;
use varint::{Bytes, Corrupt};

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
    unpacker: Unpacker,
}

/// A segment: some blocks of the recording, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct SideSegment {
    /// The time of its first tick, since the epoch.
    pub first_realtime_ns: i64,
    /// The latest time of a tick.
    pub latest_realtime_ns: i64,
    /// The last tick of the block, on the monotonic clock.
    pub end_monotonic_ns: u64,
    /// The last tick of the block, since the epoch.
    pub end_realtime_ns: i64,
    /// The number of the last block.
    pub last_block: u32,
    first_block: u32,
    at: u64,
    directory_bytes: u32,
    directory_crc: u32,
}

impl SideSegment {
    /// The numbers of its blocks.
    pub(crate) fn blocks(&self) -> std::ops::RangeInclusive<u32> {
        self.first_block..=self.last_block
    }

    /// Place in the side file and sum of the directory: no other segment of a recording has both.
    #[must_use]
    pub fn key(&self) -> (u64, u32) {
        (self.at, self.directory_crc)
    }

    /// Where its first part is.
    fn parts_at(&self) -> u64 {
        self.at + u64::from(self.directory_bytes)
    }
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
        let (end, unpacker) = (PRELUDE_BYTES as u64, Unpacker::default());
        let mut side = SideFile { file, segments: Vec::new(), end, unpacker };
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
            first_block: number(4, 8) as u32,
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

    /// Leaves out all segments but the first ones.
    pub(super) fn truncate(&mut self, segments: usize) {
        if let Some(segment) = self.segments.get(segments) {
            self.end = segment.at - SEGMENT_BYTES as u64;
            self.segments.truncate(segments);
        }
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
        let directory = self.directory(segment)?;
        let places = SectionRanges::find(&directory, source, fields, segment.parts_at()).ok()?;
        let part = |place: ByteRange| Part::parse(self.bytes(place)?).ok();
        let whole = |place: ByteRange| part(place)?.whole(&self.unpacker).ok();
        let ticks = ticks(&whole(places.ticks)?).ok()?;
        let mut columns = SideColumns::read(&whole(places.head)?, &ticks).ok()?;
        columns.unpacker = self.unpacker.clone();
        for place in places.parts {
            columns.add_part(part(place)?).ok()?;
        }
        Some(columns)
    }

    /// Everything of a segment; `None` if it cannot be read, is damaged or as large as no block is, or
    /// has not what whole samples need.
    pub(super) fn whole(
        &self,
        segment: &SideSegment,
        schemas: &[Arc<SourceDef>],
    ) -> Option<WholeSegment> {
        let mut left = BODY_BYTES_MAX;
        let directory = self.directory(segment)?;
        let mut places = Vec::new();
        each_place(&directory, segment.parts_at(), |listed, place| places.push((listed, place)))
            .ok()?;
        let mut part = |place: ByteRange| {
            let part = Part::parse(self.bytes(place)?).ok()?;
            left = left.checked_sub(part.size_bytes())?;
            part.whole(&self.unpacker).ok()
        };
        let (mut heads, mut parts) = (Vec::new(), Vec::<Vec<Plain>>::new());
        let (mut of_ticks, mut moments) = (Plain::default(), Plain::default());
        for (listed, place) in places {
            match listed {
                Listed::Ticks => of_ticks = part(place)?,
                Listed::Moments => moments = part(place).filter(|_| place.1 > 0)?,
                Listed::Head(_) => {
                    heads.push(part(place)?);
                    parts.push(Vec::new());
                }
                Listed::Field(..) => parts.last_mut()?.push(part(place)?),
            }
        }
        let widths = schemas.iter().map(|schema| schema.fields.len());
        let ticks = ticks(&of_ticks).ok()?;
        let is_of = widths.eq(parts.iter().map(Vec::len));
        is_of.then_some(WholeSegment { ticks, moments, heads, parts })
    }

    fn directory(&self, segment: &SideSegment) -> Option<Vec<u8>> {
        let directory = self.bytes((segment.at, u64::from(segment.directory_bytes)))?;
        (crc(&[&directory]) == segment.directory_crc).then_some(directory)
    }

    /// How many segments, from the first on, have no damage.
    pub(super) fn sound(&self) -> usize {
        let is_sound = |segment: &&SideSegment| {
            let is_sound = self.directory(segment).and_then(|directory| {
                let mut each = Vec::new();
                each_place(&directory, segment.parts_at(), |_, place| each.push(place)).ok()?;
                let mut parts = each.into_iter().filter(|place| place.1 > 0);
                Some(parts.all(|place| self.bytes(place).is_some_and(|part| is_sound(&part))))
            });
            is_sound == Some(true)
        };
        self.segments.iter().take_while(is_sound).count()
    }

    fn bytes(&self, (at, length): ByteRange) -> Option<Vec<u8>> {
        // Allocate memory only for bytes that the file has.
        if length > PART_BYTES_MAX || at.checked_add(length)? > self.end {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        self.file.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    }
}

/// All parts of a segment.
pub(super) struct WholeSegment {
    pub(super) ticks: Vec<u64>,
    pub(super) moments: Plain,
    pub(super) heads: Vec<Plain>,
    /// The parts of each source, one for each field.
    pub(super) parts: Vec<Vec<Plain>>,
}

/// Offset and length.
type ByteRange = (u64, u64);

/// What a length in the directory is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed {
    Ticks,
    /// What whole samples need beyond heads and fields.
    Moments,
    /// The head of a source.
    Head(usize),
    /// A source and its field.
    Field(usize, usize),
}

/// Calls `each` with everything that the directory lists, the first of it at `at`.
fn each_place(
    directory: &[u8],
    mut at: u64,
    mut each: impl FnMut(Listed, ByteRange),
) -> Result<(), Corrupt> {
    let mut bytes = Bytes::new(directory);
    let mut give = |listed: Listed, length: u64| {
        each(listed, (at, length));
        at = at.saturating_add(length);
    };
    give(Listed::Ticks, bytes.varint()?);
    give(Listed::Moments, bytes.varint()?);
    for source in 0..bytes.count()? {
        give(Listed::Head(source), bytes.varint()?);
        for field in 0..bytes.count()? {
            give(Listed::Field(source, field), bytes.varint()?);
        }
    }
    Ok(())
}

/// Where the ticks, the head of a source and the parts of some fields are.
struct SectionRanges {
    ticks: ByteRange,
    head: ByteRange,
    parts: Vec<ByteRange>,
}

impl SectionRanges {
    fn find(
        directory: &[u8],
        source: usize,
        fields: &[usize],
        first: u64,
    ) -> Result<SectionRanges, Corrupt> {
        let (mut ticks, mut head, mut all) = (None, None, Vec::new());
        each_place(directory, first, |listed, place| match listed {
            Listed::Ticks => ticks = Some(place),
            Listed::Head(of) if of == source => head = Some(place),
            Listed::Field(of, _) if of == source => all.push(place),
            _ => {}
        })?;
        let parts: Option<Vec<ByteRange>> =
            fields.iter().map(|&field| all.get(field).copied()).collect();
        let missing = Corrupt("it has too few sources or fields");
        let (Some(ticks), Some(head), Some(parts)) = (ticks, head, parts) else {
            return Err(missing);
        };
        Ok(SectionRanges { ticks, head, parts })
    }
}

/// The times of the ticks of a segment.
fn ticks(part: &Plain) -> Result<Vec<u64>, Corrupt> {
    let mut bytes = Bytes::new(&part.bytes);
    let count = bytes.varint()?;
    if count > READINGS_MAX {
        return Err(Corrupt("it has too many ticks"));
    }
    column(&mut bytes, &mut 0, count as usize, &part.bits)
}

/// The next column, which has a value for each of `count` readings.
pub(super) fn column(
    bytes: &mut Bytes<'_>,
    bits_at: &mut usize,
    count: usize,
    bits: &[u8],
) -> Result<Vec<u64>, Corrupt> {
    let (column, mut values) = (Column::parse(bytes, bits_at)?, Vec::new());
    let (mut missing, mut there) = (0, 0);
    column.runs(count, |without, with| (missing, there) = (missing + without, there + with))?;
    if missing > 0 || there != count {
        return Err(Corrupt("a reading has no time"));
    }
    column.values(count, bits, &mut values)?;
    Ok(values)
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
    unpacker: Unpacker,
}

/// One field: its part, and of each piece what it has, once it was asked for; `None` if it is
/// damaged.
#[derive(Debug)]
struct FieldPart {
    part: Part,
    pieces: Vec<OnceLock<Option<OpenPiece>>>,
}

/// A piece, and where each instance's column and its bits are in it.
#[derive(Debug)]
struct OpenPiece {
    plain: Plain,
    places: Vec<(usize, usize)>,
}

impl FieldPart {
    /// The column of an instance: its piece, and the places of its bytes and bits.
    fn column(&self, instance: usize, unpacker: &Unpacker) -> Option<(&Plain, usize, usize)> {
        let number = self.part.pieces.partition_point(|piece| piece.columns.end <= instance);
        let piece = self.part.pieces.get(number)?;
        let open = self.pieces.get(number)?.get_or_init(|| {
            let plain = self.part.unpack(piece, unpacker).ok()?;
            OpenPiece::of(plain, piece.columns.len()).ok()
        });
        let open = open.as_ref()?;
        let &(at, bits_at) = open.places.get(instance.checked_sub(piece.columns.start)?)?;
        Some((&open.plain, at, bits_at))
    }
}

impl OpenPiece {
    /// A piece of so many columns.
    fn of(plain: Plain, columns: usize) -> Result<Self, Corrupt> {
        let (mut bytes, mut bits_at) = (Bytes::new(&plain.bytes), 0);
        let mut places = Vec::new();
        for _ in 0..columns {
            places.push((bytes.position(), bits_at));
            Column::parse(&mut bytes, &mut bits_at)?;
        }
        Ok(OpenPiece { plain, places })
    }
}

/// An instance of the source in a segment.
#[derive(Debug)]
struct SideInstance {
    name: Vec<u8>,
    /// First reading and number of readings, for each run.
    runs: Vec<(usize, usize)>,
}

/// The values of a field of an instance.  The memory is used again for the next one.
#[derive(Clone, Debug, Default)]
pub struct SideValues {
    values: Vec<u64>,
    /// The first reading and the number of readings that have a value, for each run.
    runs: Vec<(usize, usize)>,
    is_constant: bool,
}

impl SideValues {
    /// Whether all of them are told to be the same, without a look at each.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.is_constant
    }

    /// For each run of readings that have a value: the index of the first of them, and the values.
    pub fn runs(&self) -> impl Iterator<Item = (usize, &[u64])> {
        let mut left = self.values.as_slice();
        self.runs.iter().map_while(move |&(begun, length)| {
            let (run, after) = left.split_at_checked(length)?;
            left = after;
            Some((begun, run))
        })
    }
}

impl SideColumns {
    /// The readings of a source, from its head and the times of all ticks.
    fn read(head: &Plain, ticks: &[u64]) -> Result<SideColumns, Corrupt> {
        Ok(Self::read_with_ticks(head, ticks)?.0)
    }

    /// Reads the columns, and the number of the tick of each reading.
    pub(super) fn read_with_ticks(
        head: &Plain,
        ticks: &[u64],
    ) -> Result<(SideColumns, Vec<usize>), Corrupt> {
        let mut bytes = Bytes::new(&head.bytes);
        let mut columns = SideColumns::default();
        let mut left = LISTED_MAX;
        let runs = read_runs(&mut bytes, ticks.len(), &mut left)?;
        let numbers: Vec<usize> = runs.iter().flat_map(|&(at, length)| at..at + length).collect();
        let ticks: Vec<u64> = numbers.iter().map(|&number| ticks[number]).collect();
        columns.add_readings(&ticks, &mut bytes, &head.bits)?;
        columns.restart_after = bytes.byte()? != 0;
        for _ in 0..bytes.count()? {
            columns.texts.push(bytes.prefixed()?.to_vec());
        }
        for _ in 0..bytes.count()? {
            let name = bytes.prefixed()?.to_vec();
            let runs = read_runs(&mut bytes, columns.readings.len(), &mut left)?;
            columns.instances.push(SideInstance { name, runs });
        }
        Ok((columns, numbers))
    }

    /// The readings at the times of these ticks.
    fn add_readings(
        &mut self,
        ticks: &[u64],
        bytes: &mut Bytes<'_>,
        bits: &[u8],
    ) -> Result<(), Corrupt> {
        let (count, mut bits_at) = (ticks.len(), 0);
        let monotonic = column(bytes, &mut bits_at, count, bits)?;
        let clocks = column(bytes, &mut bits_at, count, bits)?;
        let flags = column(bytes, &mut bits_at, count, bits)?;
        self.readings.reserve_exact(count);
        for (((&tick, monotonic), clock), flags) in
            ticks.iter().zip(monotonic).zip(clocks).zip(flags)
        {
            let monotonic_ns = tick.wrapping_add(monotonic);
            self.readings.push(SideReading {
                realtime_ns: tick.cast_signed(),
                clocks: (monotonic_ns, monotonic_ns.wrapping_add(clock).cast_signed()),
                is_ok: flags & IS_OK != 0,
                restart: flags & IS_RESTART != 0,
            });
        }
        Ok(())
    }

    fn add_part(&mut self, part: Part) -> Result<(), Corrupt> {
        if part.columns() != self.instances.len() {
            return Err(Corrupt("a field has not one column for each instance"));
        }
        let pieces = part.pieces.iter().map(|_| OnceLock::new()).collect();
        self.parts.push(FieldPart { part, pieces });
        Ok(())
    }

    /// The memory that readings, fields and instances take when all of them were read, to a few bytes
    /// for each instance.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        let part = |part: &FieldPart| part.part.size_bytes() + 16 * self.instances.len();
        let instance = |one: &SideInstance| {
            size_of::<SideInstance>() + one.name.len() + size_of_val(&*one.runs)
        };
        let texts: usize = self.texts.iter().map(|text| size_of_val(text) + text.len()).sum();
        size_of_val(&*self.readings)
            + texts
            + self.parts.iter().map(part).sum::<usize>()
            + self.instances.iter().map(instance).sum::<usize>()
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

    /// The last one of the first `end` readings that has the instance.
    #[must_use]
    pub fn last_reading(&self, instance: usize, end: usize) -> Option<usize> {
        let runs = self.instances.get(instance)?.runs.iter().rev();
        let before = runs.filter(|&&(begun, length)| begun < end && length > 0);
        before.map(|&(begun, length)| end.min(begun + length) - 1).next()
    }

    /// Reads the values that an instance has in the readings before `end`, of a field by its index among
    /// those asked for.  False if the column is damaged.
    #[must_use]
    pub fn read_column(
        &self,
        instance: usize,
        field: usize,
        end: usize,
        out: &mut SideValues,
    ) -> bool {
        let part = self.parts.get(field);
        let place = part.and_then(|part| part.column(instance, &self.unpacker));
        let (Some((plain, at, mut bits_at)), Some(instance)) =
            (place, self.instances.get(instance))
        else {
            return false;
        };
        let mut bytes = Bytes::at(&plain.bytes, at);
        let read = Column::parse(&mut bytes, &mut bits_at).and_then(|column| {
            out.is_constant = column.is_constant();
            place_runs(&column, &instance.runs, &mut out.runs)?;
            out.runs.retain_mut(|(begun, length)| {
                *length = (*length).min(end.saturating_sub(*begun));
                *length > 0
            });
            let count = out.runs.iter().map(|run| run.1).sum();
            column.values(count, &plain.bits, &mut out.values)
        });
        read.is_ok()
    }
}

/// Reads runs of readings, of which there are `count`; `left` is what all lists may have together.
fn read_runs(
    bytes: &mut Bytes<'_>,
    count: usize,
    left: &mut u64,
) -> Result<Vec<(usize, usize)>, Corrupt> {
    let (mut runs, mut at) = (Vec::new(), 0_u64);
    for _ in 0..bytes.count()? {
        let begun = at.saturating_add(bytes.varint()?);
        let length = bytes.varint()?;
        at = begun.saturating_add(length);
        *left = left.saturating_sub(length);
        if at > count as u64 || *left == 0 {
            return Err(Corrupt("its instances have too many readings"));
        }
        runs.push((begun as usize, length as usize));
    }
    Ok(runs)
}

/// The readings that have a value of a column of an instance, as runs.
fn place_runs(
    column: &Column<'_>,
    instance: &[(usize, usize)],
    out: &mut Vec<(usize, usize)>,
) -> Result<(), Corrupt> {
    out.clear();
    let listed = instance.iter().map(|run| run.1).sum();
    let mut of_instance = instance.iter().copied();
    let (mut at, mut left) = (0, 0);
    column.runs(listed, |missing, with| {
        for (mut part, is_there) in [(missing, false), (with, true)] {
            while part > 0 {
                while left == 0
                    && let Some(next) = of_instance.next()
                {
                    (at, left) = next;
                }
                let taken = part.min(left);
                if taken == 0 {
                    return;
                }
                if is_there {
                    out.push((at, taken));
                }
                (at, left, part) = (at + taken, left - taken, part - taken);
            }
        }
    })
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
            let plain = |bytes: Vec<u8>| Plain { bytes, bits: vec![7; 40] };
            let Ok(mut columns) = SideColumns::read(&plain(head), &[5; 3]) else { return Ok(()) };
            let count = columns.readings.len();
            let mut values = SideValues::default();
            let part = Part::of_one_piece(plain(part), columns.instances());
            if columns.add_part(part).is_ok() {
                for instance in 0..columns.instances() {
                    if columns.read_column(instance, 0, usize::MAX, &mut values) {
                        let ends = values.runs().map(|(begun, run)| begun + run.len());
                        prop_assert!(ends.max().unwrap_or(0) <= count);
                    }
                    prop_assert!(columns.last_reading(instance, 2).unwrap_or(0) < 2);
                }
            }
        }
    }
}

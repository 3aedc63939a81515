//! A header from bytes of any layout, and to bytes of the x86-64 layout.
//!
//! The layout is found by trying all: the float cookie must read as itself, and the sizes that
//! follow from the counts must be the file's size.  Nothing is allocated before the size that the
//! counts claim was compared with the file's.

use std::path::Path;

use crate::error::{Error, Result};
use crate::header::{
    Archive, ConsolidationFunction, Primary, RrdHeader, SourceKind, StoredDataSource, Time, Values,
};
use crate::layout::{
    CONSOLIDATION_BYTES, COOKIE, COUNT_MAX, FLOAT_COOKIE, FileLayout, HEADER_BYTES_MAX, LAYOUTS,
    NAME_BYTES, READING_BYTES, VALUES, X86_64,
};

/// Newest version of the format.
pub(crate) const VERSION_MAX: u8 = 5;

/// Times and lengths of rows beyond this are refused, so that sums of them do not overflow: a
/// thousand million years, in seconds.
pub(crate) const TIME_MAX: i64 = 1 << 55;

/// Whether the times of an archive's rows can be counted with.
pub(crate) fn is_bounded(rows: u64, steps_per_row: u64, step_seconds: u64) -> bool {
    let row_seconds = step_seconds.checked_mul(steps_per_row);
    let row_seconds = row_seconds.filter(|seconds| *seconds <= TIME_MAX as u64);
    row_seconds.and_then(|seconds| seconds.checked_mul(rows)).is_some_and(|all| all <= 1 << 61)
}

/// What the first bytes of a file say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) layout: FileLayout,
    pub(crate) version: u8,
    pub(crate) sources: u64,
    pub(crate) archives: u64,
    pub(crate) header_bytes: u64,
}

/// Bytes from the start of a file that [`shape`] needs.
pub(crate) const SHAPE_BYTES: usize = 128;

/// Finds the layout by the first bytes of a file.  Files of which the archives have to be read to
/// tell layouts apart are settled by `fits`, which is given the shape and says whether the sizes of
/// all rows agree with the file's.
pub(crate) fn shape(
    head: &[u8],
    file_bytes: u64,
    path: &Path,
    mut fits: impl FnMut(&Shape) -> bool,
) -> Result<Shape> {
    if head.len() < X86_64.counts().min(head.len() + 1) || head.get(..4) != Some(COOKIE) {
        return Err(match head.get(..4) {
            Some(bytes) if bytes == COOKIE => Error::Truncated("stat_head"),
            _ if head.len() < 4 => Error::Truncated("stat_head"),
            _ => Error::NotRrd(path.to_owned()),
        });
    }
    let version_text = head[4..].iter().take(4).take_while(|byte| **byte != 0);
    let version_text: String = version_text.map(|byte| char::from(*byte)).collect();
    let version: u8 = version_text.parse().unwrap_or(0);
    if !(1..=VERSION_MAX).contains(&version) {
        return Err(Error::Version(version_text));
    }
    let candidates: Vec<Shape> =
        LAYOUTS.iter().filter_map(|layout| candidate(layout, version, head, file_bytes)).collect();
    let exact = candidates.iter().find(|shape| fits(shape));
    // RRDtool takes a file that is longer than it should be.
    let native = candidates.iter().find(|shape| shape.layout == X86_64);
    match exact.or(native).or(candidates.first()) {
        Some(shape) => Ok(*shape),
        None if head.len() < X86_64.head_bytes() => Err(Error::Truncated("stat_head")),
        None => Err(no_layout(head, file_bytes, version, path)),
    }
}

fn candidate(layout: &FileLayout, version: u8, head: &[u8], file_bytes: u64) -> Option<Shape> {
    if head.len() < layout.head_bytes()
        || layout.double(head, layout.float_cookie()).to_bits() != FLOAT_COOKIE.to_bits()
    {
        return None;
    }
    let counts = layout.counts();
    let sources = layout.long(head, counts);
    let archives = layout.long(head, counts + layout.long_bytes);
    if sources > COUNT_MAX || archives > COUNT_MAX {
        return None;
    }
    let header_bytes = layout.header_bytes(version, sources, archives);
    let shape = Shape { layout: *layout, version, sources, archives, header_bytes };
    (header_bytes <= file_bytes && header_bytes <= HEADER_BYTES_MAX).then_some(shape)
}

/// Says why no layout fits: by the x86-64 layout if its cookie is right.
fn no_layout(head: &[u8], file_bytes: u64, version: u8, path: &Path) -> Error {
    let layout = X86_64;
    if layout.double(head, layout.float_cookie()).to_bits() != FLOAT_COOKIE.to_bits() {
        return Error::Architecture;
    }
    let sources = layout.long(head, layout.counts());
    let archives = layout.long(head, layout.counts() + layout.long_bytes);
    let damaged = |what: String, offset: usize| Error::Damaged {
        path: path.to_owned(),
        what,
        offset: offset as u64,
    };
    if sources > COUNT_MAX {
        return damaged(format!("{sources} data sources"), layout.counts());
    }
    if archives > COUNT_MAX {
        return damaged(format!("{archives} archives"), layout.counts() + layout.long_bytes);
    }
    // The first block that the file has no room for.
    let mut end = layout.head_bytes() as u64;
    let blocks = [
        ("ds_def", sources * layout.source_bytes() as u64),
        ("rra_def", archives * layout.archive_bytes() as u64),
        (
            if version < 3 { "legacy_last_up" } else { "live_head" },
            layout.live_bytes(version) as u64,
        ),
        ("pdp_prep", sources * layout.primary_bytes() as u64),
        ("cdp_prep", sources * archives * CONSOLIDATION_BYTES as u64),
    ];
    for (name, bytes) in blocks {
        end += bytes;
        if end > file_bytes {
            return Error::Truncated(name);
        }
    }
    match layout.header_bytes(version, sources, archives) > file_bytes {
        true => Error::Truncated("rra_ptr"),
        false => damaged("a header of more than 1 GiB".to_owned(), layout.counts()),
    }
}

/// Reads a header.  `bytes` are [`Shape::header_bytes`] from the start of the file.
pub(crate) fn decode(shape: &Shape, bytes: &[u8], path: &Path) -> Result<RrdHeader> {
    let reader = StateReader { layout: &shape.layout, bytes, path };
    let layout = &shape.layout;
    let (sources, archives) = (to_usize(shape.sources), to_usize(shape.archives));
    let step_seconds = layout.long(bytes, layout.counts() + 2 * layout.long_bytes);
    if sources == 0 {
        return Err(reader.damaged("no data sources", layout.counts()));
    }
    if step_seconds == 0 {
        return Err(reader.damaged("a step of 0 seconds", layout.counts() + 2 * layout.long_bytes));
    }
    let mut offset = layout.head_bytes();
    let mut header = RrdHeader {
        version: shape.version,
        step_seconds,
        sources: Vec::with_capacity(sources),
        archives: Vec::with_capacity(archives),
        last_update: Time::default(),
        primary: Vec::with_capacity(sources),
        consolidation: Vec::with_capacity(sources * archives),
        current_row: Vec::with_capacity(archives),
    };
    for _ in 0..sources {
        header.sources.push(reader.source(offset)?);
        offset += layout.source_bytes();
    }
    for _ in 0..archives {
        header.archives.push(reader.archive(offset, step_seconds)?);
        offset += layout.archive_bytes();
    }
    reader.live(shape, offset, &mut header)?;
    Ok(header)
}

/// Reads what an update changes again, into a header of the same shape.
pub(crate) fn decode_live(
    shape: &Shape,
    bytes: &[u8],
    header: &mut RrdHeader,
    path: &Path,
) -> Result<()> {
    header.primary.clear();
    header.consolidation.clear();
    header.current_row.clear();
    let offset = to_usize(shape.layout.live_offset(shape.sources, shape.archives));
    StateReader { layout: &shape.layout, bytes, path }.live(shape, offset, header)
}

fn to_usize(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

struct StateReader<'a> {
    layout: &'a FileLayout,
    bytes: &'a [u8],
    path: &'a Path,
}

impl StateReader<'_> {
    fn damaged(&self, what: impl Into<String>, offset: usize) -> Error {
        Error::Damaged { path: self.path.to_owned(), what: what.into(), offset: offset as u64 }
    }

    fn name(&self, offset: usize, of: &str) -> Result<&str> {
        let bytes = &self.bytes[offset..offset + NAME_BYTES];
        let end = bytes.iter().position(|byte| *byte == 0);
        let end = end.ok_or_else(|| self.damaged(format!("the {of} has no end"), offset))?;
        match std::str::from_utf8(&bytes[..end]) {
            Ok(name) => Ok(name),
            Err(_) => Err(self.damaged(format!("the {of} is no text"), offset)),
        }
    }

    /// Reads a block of values: the index of a count satisfies `is_count`, all others are doubles.
    fn values(&self, offset: usize, is_count: impl Fn(usize) -> bool) -> Values {
        std::array::from_fn(|index| {
            let length = if is_count(index) { self.layout.long_bytes } else { 8 };
            self.layout.unsigned(self.bytes, offset + 8 * index, length)
        })
    }

    /// Reads a block as bytes, as they are.
    fn raw(&self, offset: usize) -> Values {
        std::array::from_fn(|index| X86_64.unsigned(self.bytes, offset + 8 * index, 8))
    }

    fn source(&self, offset: usize) -> Result<StoredDataSource> {
        let name = self.name(offset, "name of a data source")?;
        let kind = self.name(offset + NAME_BYTES, "type of a data source")?;
        let kind = SourceKind::of(kind).ok_or_else(|| {
            let what = format!("unknown data acquisition function '{kind}'");
            self.damaged(what, offset + NAME_BYTES)
        })?;
        let values = offset + 2 * NAME_BYTES;
        let values = match kind {
            SourceKind::Compute => self.expression(values),
            _ => self.values(values, |index| index == 0),
        };
        Ok(StoredDataSource { name: name.to_owned(), kind, values })
    }

    /// An expression is 20 nodes: a byte, a byte of padding, and a 16-bit number.
    fn expression(&self, offset: usize) -> Values {
        if !self.layout.big_endian {
            return self.raw(offset);
        }
        let node = |at: usize| {
            let bytes = &self.bytes[offset + 4 * at..offset + 4 * at + 4];
            u64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[3], bytes[2]]))
        };
        std::array::from_fn(|index| node(2 * index) | node(2 * index + 1) << 32)
    }

    fn archive(&self, offset: usize, step_seconds: u64) -> Result<Archive> {
        let name = self.name(offset, "consolidation function")?;
        let function = ConsolidationFunction::of(name).ok_or_else(|| {
            self.damaged(format!("unknown consolidation function '{name}'"), offset)
        })?;
        let rows_at = offset + self.layout.archive_rows();
        let rows = self.layout.long(self.bytes, rows_at);
        let steps_at = rows_at + self.layout.long_bytes;
        let steps_per_row = self.layout.long(self.bytes, steps_at);
        if rows == 0 {
            return Err(self.damaged("an archive without rows", rows_at));
        }
        if steps_per_row == 0 {
            return Err(self.damaged("an archive of 0 steps per row", steps_at));
        }
        if !is_bounded(rows, steps_per_row, step_seconds) {
            let what = format!("{rows} rows of {steps_per_row} steps of {step_seconds} s");
            return Err(self.damaged(what, rows_at));
        }
        let is_count = |index: usize| match function {
            _ if function.is_plain() => false,
            ConsolidationFunction::Failures => (3..=5).contains(&index),
            _ if function.is_seasonal() => index == 3 || index == 4,
            _ => index == 3,
        };
        let values = self.values(offset + self.layout.archive_values(), is_count);
        Ok(Archive { function, rows, steps_per_row, values })
    }

    fn live(&self, shape: &Shape, mut offset: usize, header: &mut RrdHeader) -> Result<()> {
        let layout = self.layout;
        let seconds = layout.unsigned(self.bytes, offset, layout.time_bytes);
        let microseconds = match shape.version {
            3.. => layout.long(self.bytes, offset + layout.time_bytes),
            _ => 0,
        };
        header.last_update = Time {
            seconds: signed(seconds, layout.time_bytes),
            microseconds: signed(microseconds, layout.long_bytes),
        };
        if header.last_update.seconds.unsigned_abs() > TIME_MAX as u64 {
            let what = format!("a last update at {}", header.last_update.seconds);
            return Err(self.damaged(what, offset));
        }
        offset += layout.live_bytes(shape.version);
        for _ in 0..shape.sources {
            let mut reading = [0; READING_BYTES];
            reading.copy_from_slice(&self.bytes[offset..offset + READING_BYTES]);
            let values = self.values(offset + layout.primary_values(), |index| index == 0);
            header.primary.push(Primary { reading, values });
            offset += layout.primary_bytes();
        }
        for archive in &header.archives {
            for _ in 0..shape.sources {
                header.consolidation.push(self.state(archive.function, offset));
                offset += CONSOLIDATION_BYTES;
            }
        }
        for archive in &header.archives {
            let row = layout.long(self.bytes, offset);
            if row >= archive.rows {
                let what = format!("row {row} of an archive of {} rows", archive.rows);
                return Err(self.damaged(what, offset));
            }
            header.current_row.push(row);
            offset += layout.long_bytes;
        }
        Ok(())
    }

    fn state(&self, function: ConsolidationFunction, offset: usize) -> Values {
        if *self.layout == X86_64 {
            return self.raw(offset);
        }
        let mut values = self.values(offset, |index| matches!(index, 1 | 6 | 7));
        if function == ConsolidationFunction::Failures {
            // The violations are bytes.
            values[..8].copy_from_slice(&self.raw(offset)[..8]);
        }
        values
    }
}

/// Extends the sign of a number of some bytes.
fn signed(value: u64, bytes: usize) -> i64 {
    match bytes {
        4 => i64::from(value as u32 as i32),
        _ => value as i64,
    }
}

/// Writes a whole header in the x86-64 layout.
#[must_use]
pub(crate) fn encode(header: &RrdHeader) -> Vec<u8> {
    let (sources, archives) = (header.sources.len() as u64, header.archives.len() as u64);
    let capacity = X86_64.header_bytes(header.version, sources, archives);
    let mut out = Vec::with_capacity(to_usize(capacity));
    out.extend_from_slice(COOKIE);
    out.extend_from_slice(format!("{:04}\0", header.version).as_bytes());
    out.resize(X86_64.float_cookie(), 0);
    out.extend_from_slice(&FLOAT_COOKIE.to_le_bytes());
    for count in [sources, archives, header.step_seconds] {
        out.extend_from_slice(&count.to_le_bytes());
    }
    out.resize(X86_64.head_bytes(), 0);
    for source in &header.sources {
        push_name(&mut out, &source.name);
        push_name(&mut out, source.kind.name());
        push_values(&mut out, &source.values);
    }
    for archive in &header.archives {
        push_name(&mut out, archive.function.name());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&archive.rows.to_le_bytes());
        out.extend_from_slice(&archive.steps_per_row.to_le_bytes());
        push_values(&mut out, &archive.values);
    }
    encode_live(header, &mut out);
    out
}

/// Appends what an update changes: from the live head to the end of the header.
pub(crate) fn encode_live(header: &RrdHeader, out: &mut Vec<u8>) {
    out.extend_from_slice(&header.last_update.seconds.to_le_bytes());
    if header.version >= 3 {
        out.extend_from_slice(&header.last_update.microseconds.to_le_bytes());
    }
    for primary in &header.primary {
        out.extend_from_slice(&primary.reading);
        out.extend_from_slice(&[0; 2]);
        push_values(out, &primary.values);
    }
    for values in &header.consolidation {
        push_values(out, values);
    }
    for row in &header.current_row {
        out.extend_from_slice(&row.to_le_bytes());
    }
}

fn push_name(out: &mut Vec<u8>, name: &str) {
    let mut bytes = [0; NAME_BYTES];
    let length = name.len().min(NAME_BYTES - 1);
    bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
    out.extend_from_slice(&bytes);
}

fn push_values(out: &mut Vec<u8>, values: &Values) {
    let mut bytes = [0; 8 * VALUES];
    for (slot, value) in bytes.chunks_exact_mut(8).zip(values) {
        slot.copy_from_slice(&value.to_le_bytes());
    }
    out.extend_from_slice(&bytes);
}

//! What is left of a damaged file: its bytes, with a header that can be read again.
//!
//! Finds the layout, the version and the numbers of data sources and archives by what agrees best
//! with the definitions and the size; mends names, types and counts where the rest of the file says
//! what they were; adds what is cut off.  The state is mended afterwards (`repair.rs`).
//!
//! Costs a copy of the file in memory.  Memory is bounded by [`Limits`].

use crate::codec::{Shape, TIME_MAX, VERSION_MAX};
use crate::error::{Result, refuse};
use crate::header::{ConsolidationFunction, SourceKind, consolidation_value};
use crate::layout::{
    CONSOLIDATION_BYTES, COOKIE, COUNT_MAX, FLOAT_COOKIE, FileLayout, HEADER_BYTES_MAX, LAYOUTS,
    NAME_BYTES,
};

/// What the mended file may be like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Most bytes of it.
    pub(crate) bytes_max: u64,
    /// The step in seconds, if the file's own is lost.
    pub(crate) step_seconds: Option<u64>,
}

/// A file with a header that can be read.
pub(crate) struct Salvaged {
    pub(crate) bytes: Vec<u8>,
    pub(crate) shape: Shape,
    /// Bytes that the file really had.
    pub(crate) given: usize,
    /// Archives of which the newest row is not known.
    pub(crate) lost_rows: Vec<usize>,
    /// Archives that cannot be kept.
    pub(crate) lost_archives: Vec<usize>,
    /// What was done, a sentence each.
    pub(crate) changes: Vec<String>,
}

/// Most bytes of a header that is cut off, for each byte that is there.
const HEADER_GROWTH_MAX: u64 = 64;
/// Longest step, and most steps of a row, that are believed: 8 years, in seconds.
const SECONDS_MAX: u64 = 1 << 28;

/// Mends the header of a file.
///
/// # Errors
/// Says what is lost, if the rest of the file does not tell it.
pub(crate) fn salvage(bytes: Vec<u8>, limits: Limits) -> Result<Salvaged> {
    let given = bytes.len();
    let shape = find_shape(&bytes)?;
    let mut changes = Vec::new();
    let header_bytes = to_usize(shape.header_bytes);
    let mut salvage = Salvage { shape, bytes, changes: &mut changes };
    if given < header_bytes {
        salvage.changes.push(format!(
            "the file ends within its header, after {given} of {header_bytes} bytes: all rows are lost"
        ));
        salvage.bytes.resize(header_bytes, 0);
    }
    salvage.head(limits.step_seconds)?;
    for index in 0..to_usize(shape.sources) {
        salvage.source(index);
    }
    let mut lost_archives = Vec::new();
    for index in 0..to_usize(shape.archives) {
        if !salvage.archive(index) {
            lost_archives.push(index);
        }
    }
    salvage.rows(given)?;
    salvage.last_update();
    let lost_rows = salvage.pointers(given);
    salvage.length(given, limits.bytes_max)?;
    let bytes = salvage.bytes;
    Ok(Salvaged { bytes, shape, given, lost_rows, lost_archives, changes })
}

fn to_usize(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// The name that stands here, and whether it does exactly; up to two bytes may be wrong, of a short
/// name one.
fn near_name<T: Copy>(bytes: Option<&[u8]>, names: &[(T, &'static str)]) -> Option<(T, bool)> {
    const WRONG_MAX: usize = 2;
    let bytes = bytes?;
    let wrong = |name: &str| {
        // What follows the final zero does not count.
        let name = name.bytes().chain([0]);
        name.zip(bytes).filter(|(own, byte)| own != *byte).count()
    };
    let (value, name) = names.iter().min_by_key(|(_, name)| wrong(name))?;
    let least = wrong(name);
    let is_single = names.iter().filter(|(_, name)| wrong(name) == least).count() == 1;
    let is_enough = least <= WRONG_MAX.min(name.len() / 2) && is_single;
    is_enough.then_some((*value, least == 0))
}

fn source_type(layout: &FileLayout, bytes: &[u8], index: usize) -> Option<(SourceKind, bool)> {
    let start = layout.head_bytes() + index * layout.source_bytes() + NAME_BYTES;
    near_name(bytes.get(start..start + NAME_BYTES), &SourceKind::ALL)
}

fn archive_function(
    layout: &FileLayout,
    bytes: &[u8],
    sources: usize,
    index: usize,
) -> Option<(ConsolidationFunction, bool)> {
    let start =
        layout.head_bytes() + sources * layout.source_bytes() + index * layout.archive_bytes();
    near_name(bytes.get(start..start + NAME_BYTES), &ConsolidationFunction::ALL)
}

/// Finds the layout, the version and the counts that agree best with the rest of the file.
fn find_shape(bytes: &[u8]) -> Result<Shape> {
    let is_cookie = bytes.get(..4) == Some(COOKIE);
    let stated = bytes.get(4..8).and_then(|text| std::str::from_utf8(text).ok());
    let stated = stated.and_then(|text| text.parse::<u8>().ok());
    let stated = stated.filter(|version| (1..=VERSION_MAX).contains(version));
    let mut best: Option<(u32, Shape)> = None;
    for layout in LAYOUTS {
        if bytes.len() < layout.head_bytes() {
            continue;
        }
        let is_float =
            layout.double(bytes, layout.float_cookie()).to_bits() == FLOAT_COOKIE.to_bits();
        if !is_cookie && !is_float {
            continue;
        }
        let at = layout.counts();
        let own = (layout.long(bytes, at), layout.long(bytes, at + layout.long_bytes));
        for (sources, archives) in [own, counted(layout, bytes, own)] {
            for version in stated.map_or(vec![3, 1], |version| vec![version]) {
                let Some(shape) = shape_of(layout, version, sources, archives, bytes) else {
                    continue;
                };
                let defined = definitions(&shape, bytes);
                let score = 8 * u32::from(is_float)
                    + 4 * u32::from(is_cookie)
                    + 6 * u32::from(fits(&shape, bytes))
                    + 5 * u32::from(defined == sources + archives)
                    + u32::from((sources, archives) == own);
                if defined > 0 && best.is_none_or(|(least, _)| score > least) {
                    best = Some((score, shape));
                }
            }
        }
    }
    let (_, shape) = best.ok_or_else(|| {
        refuse!("it cannot be mended: no definitions of data sources and archives are left")
    })?;
    Ok(shape)
}

/// The number of definitions that follow the head, each with a known type or function.
fn counted(layout: &FileLayout, bytes: &[u8], own: (u64, u64)) -> (u64, u64) {
    let sources = (0..).take_while(|index| source_type(layout, bytes, *index).is_some()).count();
    let known = |sources: usize| {
        (0..).take_while(|index| archive_function(layout, bytes, sources, *index).is_some()).count()
    };
    // If a type is lost, the stated number may still be right.
    match known(sources) {
        0 if own.0 < bytes.len() as u64 => (own.0, known(to_usize(own.0)) as u64),
        archives => (sources as u64, archives as u64),
    }
}

fn shape_of(
    layout: &FileLayout,
    version: u8,
    sources: u64,
    archives: u64,
    bytes: &[u8],
) -> Option<Shape> {
    if sources == 0 || archives == 0 || sources > COUNT_MAX || archives > COUNT_MAX {
        return None;
    }
    let given = bytes.len() as u64;
    let header_bytes = layout.header_bytes(version, sources, archives);
    let is_defined = layout.live_offset(sources, archives) <= given;
    let growth_max = given.saturating_mul(HEADER_GROWTH_MAX).saturating_add(1 << 16);
    let is_bounded = header_bytes <= HEADER_BYTES_MAX.min(growth_max);
    (is_defined && is_bounded).then_some(Shape {
        layout: *layout,
        version,
        sources,
        archives,
        header_bytes,
    })
}

/// Definitions with a known type or function.
fn definitions(shape: &Shape, bytes: &[u8]) -> u64 {
    let (sources, archives) = (to_usize(shape.sources), to_usize(shape.archives));
    let layout = &shape.layout;
    let known_sources =
        (0..sources).filter(|index| source_type(layout, bytes, *index).is_some()).count();
    let known_archives = (0..archives)
        .filter(|index| archive_function(layout, bytes, sources, *index).is_some())
        .count();
    (known_sources + known_archives) as u64
}

fn fits(shape: &Shape, bytes: &[u8]) -> bool {
    let layout = &shape.layout;
    let rows = (0..to_usize(shape.archives)).fold(0u64, |sum, index| {
        sum.saturating_add(layout.long(bytes, archive_at(shape, index) + layout.archive_rows()))
    });
    let cells = rows.saturating_mul(shape.sources).saturating_mul(8);
    shape.header_bytes.saturating_add(cells) == bytes.len() as u64
}

fn archive_at(shape: &Shape, index: usize) -> usize {
    shape.layout.head_bytes()
        + to_usize(shape.sources) * shape.layout.source_bytes()
        + index * shape.layout.archive_bytes()
}

struct Salvage<'a> {
    shape: Shape,
    bytes: Vec<u8>,
    changes: &'a mut Vec<String>,
}

impl Salvage<'_> {
    fn long(&self, offset: usize) -> u64 {
        self.shape.layout.long(&self.bytes, offset)
    }

    fn put(&mut self, offset: usize, length: usize, value: u64) {
        let little = value.to_le_bytes();
        let slots = self.bytes[offset..offset + length].iter_mut();
        match self.shape.layout.big_endian {
            true => slots.rev().zip(little).for_each(|(slot, byte)| *slot = byte),
            false => slots.zip(little).for_each(|(slot, byte)| *slot = byte),
        }
    }

    fn put_long(&mut self, offset: usize, value: u64) {
        self.put(offset, self.shape.layout.long_bytes, value);
    }

    fn put_name(&mut self, offset: usize, name: &str) {
        self.bytes[offset..offset + NAME_BYTES].fill(0);
        self.bytes[offset..offset + name.len()].copy_from_slice(name.as_bytes());
    }

    fn say(&mut self, text: impl Into<String>) {
        self.changes.push(text.into());
    }

    /// The static head.
    fn head(&mut self, step_seconds: Option<u64>) -> Result<()> {
        let layout = self.shape.layout;
        if self.bytes[..4] != *COOKIE {
            self.bytes[..4].copy_from_slice(COOKIE);
            self.say("the first four bytes were not those of a database");
        }
        let version = format!("{:04}\0", self.shape.version);
        if self.bytes[4..9] != *version.as_bytes() {
            self.bytes[4..9].copy_from_slice(version.as_bytes());
            self.say(format!("the version was no version: it is {} now", self.shape.version));
        }
        let cookie = layout.float_cookie();
        if layout.double(&self.bytes, cookie).to_bits() != FLOAT_COOKIE.to_bits() {
            self.put(cookie, 8, FLOAT_COOKIE.to_bits());
            self.say("the number that shows the byte order was wrong");
        }
        let counts = [("data sources", self.shape.sources), ("archives", self.shape.archives)];
        for (index, (what, count)) in counts.into_iter().enumerate() {
            let at = layout.counts() + index * layout.long_bytes;
            let stated = self.long(at);
            if stated != count {
                self.put_long(at, count);
                self.say(format!("the header said {stated} {what}; there are {count}"));
            }
        }
        let at = layout.counts() + 2 * layout.long_bytes;
        let stated = self.long(at);
        match step_seconds {
            Some(step) if step != stated => {
                self.put_long(at, step);
                self.say(format!("the step was {stated} s; it is {step} s now, as given"));
            }
            None if stated == 0 || stated > SECONDS_MAX => {
                return Err(refuse!(
                    "it cannot be mended: a step of {stated} s, and nothing else says the step; give it with --step SECONDS"
                ));
            }
            _ => {}
        }
        Ok(())
    }

    /// The name and the type of a data source.
    fn source(&mut self, index: usize) {
        let start = self.shape.layout.head_bytes() + index * self.shape.layout.source_bytes();
        let kind = source_type(&self.shape.layout, &self.bytes, index);
        let name = self.mended_name(index, start);
        match kind {
            Some((_, true)) => {}
            Some((kind, false)) => {
                self.put_name(start + NAME_BYTES, kind.name());
                self.say(format!("the type of data source {name} was damaged: {}", kind.name()));
            }
            None => {
                self.put_name(start + NAME_BYTES, SourceKind::Gauge.name());
                self.say(format!("the type of data source {name} is lost: it is GAUGE now"));
            }
        }
    }

    /// Mends a name: what cannot be in one becomes `_`.
    fn mended_name(&mut self, index: usize, start: usize) -> String {
        let bytes = &self.bytes[start..start + NAME_BYTES];
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES - 1);
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        // Names of other programs and files may have other characters, but no control characters.
        let stays = |byte: u8| byte.is_ascii_graphic();
        let own = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let is_ended = bytes.contains(&0);
        if end > 0 && is_ended && bytes[..end].iter().all(|byte| stays(*byte)) {
            return own;
        }
        let byte = |byte: &u8| if is_fit(*byte) { char::from(*byte) } else { '_' };
        let mut name: String = bytes[..end].iter().map(byte).collect();
        if name.is_empty() {
            name = format!("ds{index}");
        }
        self.put_name(start, &name);
        self.say(format!("the name of data source {index} was damaged: it is {name} now"));
        name
    }

    /// The function and the steps of an archive; `false` if it cannot be kept.
    fn archive(&mut self, index: usize) -> bool {
        let layout = self.shape.layout;
        let start = archive_at(&self.shape, index);
        let function = archive_function(&layout, &self.bytes, to_usize(self.shape.sources), index);
        let (function, is_kept) = match function {
            Some((function, true)) => (function, true),
            Some((function, false)) => {
                self.put_name(start, function.name());
                let name = function.name();
                self.say(format!("the consolidation function of rra {index} was damaged: {name}"));
                (function, true)
            }
            None => {
                self.put_name(start, ConsolidationFunction::Average.name());
                self.say(format!("rra {index} is dropped: its consolidation function is lost"));
                (ConsolidationFunction::Average, false)
            }
        };
        let at = start + layout.archive_rows() + layout.long_bytes;
        let steps = self.long(at);
        let is_believed = steps > 0 && steps < SECONDS_MAX;
        if function.is_plain() {
            if !is_believed {
                self.put_long(at, 1);
                if is_kept {
                    self.say(format!(
                        "rra {index} is dropped: {steps} steps per row, and nothing else says them"
                    ));
                }
                return false;
            }
        } else if steps != 1 {
            self.put_long(at, 1);
            let name = function.name();
            self.say(format!("rra {index} ({name}) had {steps} steps per row, not 1"));
        }
        is_kept
    }

    /// The number of rows of each archive.
    fn rows(&mut self, given: usize) -> Result<()> {
        /// More rows than any file has.
        const ROWS_MAX: u64 = 1 << 32;
        let at = |index| archive_at(&self.shape, index) + self.shape.layout.archive_rows();
        let places: Vec<usize> = (0..to_usize(self.shape.archives)).map(at).collect();
        let rows: Vec<u64> = places.iter().map(|place| self.long(*place)).collect();
        let impossible: Vec<usize> =
            (0..rows.len()).filter(|index| !(1..=ROWS_MAX).contains(&rows[*index])).collect();
        let row_bytes = self.shape.sources * 8;
        let there = (given as u64).saturating_sub(self.shape.header_bytes) / row_bytes;
        let sum_without = |without: usize| -> u64 {
            let others = rows.iter().enumerate().filter(|(index, _)| *index != without);
            others.fold(0, |sum, (_, rows)| sum.saturating_add(*rows))
        };
        let derived = |index: usize| there.checked_sub(sum_without(index)).filter(|rows| *rows > 0);
        let mended = match impossible.as_slice() {
            [] if sum_without(usize::MAX) == there => return Ok(()),
            [] => {
                // Either rows are cut off or too many, or one of the numbers is wrong: the newest
                // rows show which.
                let (stated, contradicting) = self.agreeing(&rows, given);
                let with = |index: usize| {
                    let mut rows = rows.clone();
                    rows[index] = derived(index)?;
                    let (agreeing, others) = self.agreeing(&rows, given);
                    let is_better = agreeing > stated && others < contradicting;
                    is_better.then_some((agreeing, index, rows[index]))
                };
                (0..rows.len()).filter_map(with).max_by_key(|(agreeing, ..)| *agreeing)
            }
            [index] => Some((0, *index, derived(*index).ok_or_else(|| lost(&impossible))?)),
            _ => return Err(lost(&impossible)),
        };
        if let Some((_, index, count)) = mended {
            let stated = rows[index];
            self.put_long(places[index], count);
            self.say(format!("rra {index} had {stated} rows; by the file's size it is {count}"));
        }
        Ok(())
    }

    /// The number of archives whose newest row is the one that their state remembers, and of those
    /// where it is another.  Forecasts do not remember it.
    fn agreeing(&self, rows: &[u64], given: usize) -> (usize, usize) {
        let sources = to_usize(self.shape.sources);
        let mut before = 0u64;
        let (mut agreeing, mut contradicting) = (0, 0);
        for (index, rows) in rows.iter().enumerate() {
            let newest = self.long(self.pointer_at(index));
            let start = self
                .shape
                .header_bytes
                .saturating_add(before.saturating_add(newest).saturating_mul(8 * sources as u64));
            before = before.saturating_add(*rows);
            let end = start.saturating_add(8 * sources as u64);
            let function = archive_function(&self.shape.layout, &self.bytes, sources, index);
            let is_plain = function.is_some_and(|(function, _)| function.is_plain());
            if newest >= *rows || end > given as u64 || !is_plain {
                continue;
            }
            let layout = &self.shape.layout;
            let cells = (0..sources).map(|source| {
                let cell = layout.double(&self.bytes, to_usize(start) + 8 * source);
                (cell, self.primary_value(index, source))
            });
            let same = |(cell, primary): (f64, f64)| {
                cell.to_bits() == primary.to_bits() || (cell.is_nan() && primary.is_nan())
            };
            let is_known = cells.clone().any(|(cell, _)| !cell.is_nan());
            let is_same = cells.clone().all(same);
            agreeing += usize::from(is_known && is_same);
            contradicting += usize::from(!is_same);
        }
        (agreeing, contradicting)
    }

    /// The value that the state of an archive remembers as its newest one.
    fn primary_value(&self, archive: usize, source: usize) -> f64 {
        let layout = &self.shape.layout;
        let states = self.states_at();
        let at = states + (archive * to_usize(self.shape.sources) + source) * CONSOLIDATION_BYTES;
        layout.double(&self.bytes, at + 8 * consolidation_value::PRIMARY)
    }

    fn states_at(&self) -> usize {
        let Shape { layout, version, sources, archives, .. } = self.shape;
        to_usize(layout.live_offset(sources, archives))
            + layout.live_bytes(version)
            + to_usize(sources) * layout.primary_bytes()
    }

    fn pointer_at(&self, archive: usize) -> usize {
        let states = to_usize(self.shape.sources * self.shape.archives) * CONSOLIDATION_BYTES;
        self.states_at() + states + archive * self.shape.layout.long_bytes
    }

    /// A last update beyond all times becomes one before 1970, which is mended later.
    fn last_update(&mut self) {
        let Shape { layout, sources, archives, .. } = self.shape;
        let at = to_usize(layout.live_offset(sources, archives));
        let seconds = layout.unsigned(&self.bytes, at, layout.time_bytes);
        if layout.time_bytes == 8 && (seconds as i64).unsigned_abs() > TIME_MAX as u64 {
            self.put(at, layout.time_bytes, u64::MAX);
        }
    }

    /// The row pointers: one that is no row becomes 0 and is given back.
    fn pointers(&mut self, given: usize) -> Vec<usize> {
        let mut lost = Vec::new();
        for index in 0..to_usize(self.shape.archives) {
            let at = self.pointer_at(index);
            let rows = self.long(archive_at(&self.shape, index) + self.shape.layout.archive_rows());
            let newest = self.long(at);
            if newest >= rows {
                self.put_long(at, 0);
                lost.push(index);
                let text = format!("rra {index} named row {newest} of {rows} as its newest");
                self.say(text);
            } else if at + self.shape.layout.long_bytes > given {
                lost.push(index);
            }
        }
        lost
    }

    /// Adds rows that are cut off, as unknown, and removes what follows the last row.
    fn length(&mut self, given: usize, bytes_max: u64) -> Result<()> {
        let row_bytes = self.shape.sources * 8;
        let place = |index| archive_at(&self.shape, index) + self.shape.layout.archive_rows();
        let rows = (0..to_usize(self.shape.archives))
            .fold(0u64, |sum, index| sum.saturating_add(self.long(place(index))));
        let expected = self.shape.header_bytes.saturating_add(rows.saturating_mul(row_bytes));
        if expected > bytes_max {
            return Err(refuse!(
                "it cannot be mended: by its header it has {expected} bytes, and {given} are there"
            ));
        }
        let expected = to_usize(expected);
        if self.bytes.len() > expected {
            let extra = self.bytes.len() - expected;
            self.bytes.truncate(expected);
            self.say(format!("{extra} bytes after the last row are left out"));
        } else if self.bytes.len() < expected {
            let header = to_usize(self.shape.header_bytes);
            // A value that is cut off within is lost as well.
            let whole = header + (self.bytes.len() - header) / 8 * 8;
            self.bytes.truncate(whole);
            let missing = (expected - whole) / 8;
            let unknown = match self.shape.layout.big_endian {
                true => crate::number::UNKNOWN.to_be_bytes(),
                false => crate::number::UNKNOWN.to_le_bytes(),
            };
            (0..missing).for_each(|_| self.bytes.extend_from_slice(&unknown));
            if given >= header {
                self.say(format!("{missing} values at the end are cut off: they are unknown now"));
            }
        }
        Ok(())
    }
}

fn lost(archives: &[usize]) -> crate::Error {
    let names: Vec<String> = archives.iter().map(|index| format!("rra {index}")).collect();
    refuse!("it cannot be mended: the number of rows is lost ({})", names.join(", "))
}

//! Makes windows of an hour from those of a minute or so, a segment for each day.

use std::io;

use recording::Corrupt;
use sample::{Interner, Kind};

use super::cell::{Cell, Expected};
use super::column::{FieldBytes, FieldColumns};
use super::head::{SourceHead, Window};
use super::out::{Body, Out};
use super::read::{ENDS, Segment, SourceWindows};
use super::{DAY_NS, HOUR_NS, ceil, coding, floor, source_window_ns};
use crate::Error;
use crate::archived_file::ArchivedFile;

/// Fields that are read at once: memory for them, time for reading the heads again.
const FIELDS: usize = 8;

/// A source gets hours only if its instances have three quarters of so many windows in an hour, or of
/// all that an hour has if these are less.  Instances that live for minutes have as many hours as
/// windows, which a reader takes instead.
const WINDOWS_WORTH_AN_HOUR: usize = 5;

/// A last day of fewer hours has none: a reader takes their windows instead, which are few.
const LAST_HOURS_MIN: i64 = 6;

/// Adds the days that are complete, and with `is_whole` the last one as far as it goes.
pub(super) fn write_hours(out: &mut Out, file: &ArchivedFile, is_whole: bool) -> Result<(), Error> {
    if out.summary.window_ns == HOUR_NS {
        return Ok(());
    }
    let failed = |source| Error::Summary { path: super::path(&file.file.path), source };
    let first_ns = out.summary.tier(0).find(|segment| segment.windows > 0).map(|s| s.from_ns);
    let Some(first_ns) = first_ns else { return Ok(()) };
    let thru_ns = out.summary.tier(0).last().map_or(0, Segment::thru_ns);
    let mut from_ns = floor(first_ns, HOUR_NS);
    if let Some(last) = out.summary.tier(1).last() {
        from_ns = last.thru_ns();
    }
    while from_ns < thru_ns {
        let end_ns = floor(from_ns, DAY_NS).saturating_add(DAY_NS);
        let is_short = thru_ns - from_ns < LAST_HOURS_MIN * HOUR_NS;
        if end_ns > thru_ns && (is_short || !is_whole) {
            break;
        }
        let day = Day::of(out, from_ns, end_ns.min(ceil(thru_ns, HOUR_NS)), end_ns > thru_ns);
        if !day.parts.is_empty() {
            day.write(out, file).map_err(failed)?;
        }
        from_ns = end_ns;
    }
    Ok(())
}

/// The hours of a day, and the segments that have them.
struct Day {
    segment: Segment,
    parts: Vec<Segment>,
}

impl Day {
    fn of(out: &Out, from_ns: i64, thru_ns: i64, is_last: bool) -> Day {
        let is_in = |segment: &&Segment| {
            segment.from_ns < thru_ns && segment.thru_ns() > from_ns && segment.windows > 0
        };
        let parts: Vec<Segment> = out.summary.tier(0).filter(is_in).cloned().collect();
        let segment = Segment {
            tier: 1,
            flags: if is_last { ENDS } else { 0 },
            from_ns,
            windows: ((thru_ns - from_ns) / HOUR_NS) as u32,
            window_ns: HOUR_NS,
            beginning: parts.last().and_then(|part| part.beginning),
            latest: parts.last().map_or((0, 0), |part| part.latest),
            ..Segment::default()
        };
        Day { segment, parts }
    }

    fn write(self, out: &mut Out, file: &ArchivedFile) -> io::Result<()> {
        let mut body = Body::default();
        for (source, def) in file.defs.iter().enumerate() {
            let window_ns = source_window_ns(&file.file.meta, def);
            match window_ns {
                HOUR_NS => body.add_nothing(),
                _ => self.divided(window_ns).source(out, file, source, &mut body)?,
            }
        }
        out.append(self.segment, &body)
    }

    /// The day with segments in windows of a source.
    fn divided(&self, window_ns: i64) -> Day {
        let parts = self.parts.iter().map(|part| part.divided(window_ns)).collect();
        Day { segment: self.segment.clone(), parts }
    }

    /// The hour that has a window of a segment.
    fn hour(&self, part: &Segment, window: u32) -> u32 {
        let at_ns = part.from_ns.saturating_add(i64::from(window).saturating_mul(part.window_ns));
        (at_ns.saturating_sub(self.segment.from_ns) / HOUR_NS) as u32
    }

    fn source(
        &self,
        out: &mut Out,
        file: &ArchivedFile,
        source: usize,
        body: &mut Body,
    ) -> io::Result<()> {
        let damaged = || io::Error::from(io::ErrorKind::InvalidData);
        let read = |out: &Out, fields: &[usize]| -> io::Result<Vec<SourceWindows>> {
            let parts = self.parts.iter();
            let read = parts.map(|part| out.summary.source(part, file, source, fields));
            read.map(|windows| windows.ok_or_else(damaged)).collect()
        };
        let parts = read(out, &[])?;
        let heads: Vec<&SourceHead> = parts.iter().map(|part| &part.head).collect();
        if heads.iter().all(|head| head.windows.is_empty()) {
            body.add_nothing();
            return Ok(());
        }
        let (head, expected) = self.head(&heads);
        let count =
            |head: &SourceHead| head.slots.iter().map(|slot| slot.windows.len()).sum::<usize>();
        let windows: usize = heads.iter().copied().map(count).sum();
        let an_hour = self.parts.first().map_or(1, |part| HOUR_NS / part.window_ns) as usize;
        if 4 * windows < 3 * an_hour.min(WINDOWS_WORTH_AN_HOUR) * count(&head) {
            body.add_nothing();
            return Ok(());
        }
        let def = &file.defs[source];
        let meta = &file.file.meta;
        let mut done: Vec<FieldBytes> = Vec::new();
        let numbers: Vec<usize> = (0..def.fields.len()).collect();
        for fields in numbers.chunks(FIELDS) {
            let parts = read(out, fields)?;
            for (index, &field) in fields.iter().enumerate() {
                let kind = def.fields[field].kind;
                let hours = Hours { day: self, parts: &parts, expected: &expected };
                let columns = hours.field(index, kind, &head.names, meta.has_single_clock());
                done.push(columns.map_err(|_| damaged())?.finish(head.slots.len()));
            }
        }
        let head = head.encode(meta.cadence_ns(def.cadence), meta.has_single_clock());
        body.add(out.compressor(), &head, &done, &[])
    }

    /// The head of the hours, and for each instance its hours and what its columns are expected to
    /// have.
    fn head(&self, heads: &[&SourceHead]) -> (SourceHead, Vec<Vec<(u32, Expected)>>) {
        let mut head = SourceHead::default();
        head.windows.resize(self.segment.windows as usize, Window::default());
        let mut hours: Vec<Vec<(u32, Expected)>> = Vec::new();
        for (part, from) in self.parts.iter().zip(heads) {
            for (window, facts) in from.windows.iter().enumerate() {
                if let Some(hour) = head.windows.get_mut(self.hour(part, window as u32) as usize) {
                    hour.merge(facts);
                }
            }
            for slot in 0..from.slots.len() {
                let own = head.slot(from.names.get(slot).unwrap_or_default());
                hours.resize(head.slots.len(), Vec::new());
                for (window, expected) in from.windows_of(slot) {
                    let hour = self.hour(part, window);
                    match hours[own].last_mut().filter(|last| last.0 == hour) {
                        Some((_, known)) => known.merge(&expected),
                        None => hours[own].push((hour, expected)),
                    }
                }
            }
        }
        for (slot, hours) in hours.iter().enumerate() {
            for &(hour, expected) in hours {
                head.add_window(slot, hour, expected);
            }
        }
        (head, hours)
    }
}

/// The segments of a day, of which hours are made.
struct Hours<'a> {
    day: &'a Day,
    parts: &'a [SourceWindows],
    expected: &'a [Vec<(u32, Expected)>],
}

/// The open hour of a column.
#[derive(Clone, Default)]
struct OpenHour {
    hour: Option<u32>,
    cell: Option<Cell>,
    text: Option<Vec<u8>>,
    /// Hours that were written.
    done: usize,
}

impl OpenHour {
    fn add(&mut self, hour: u32, cell: Option<Cell>, text: Option<&[u8]>) {
        self.hour = Some(hour);
        self.text = text.map(<[u8]>::to_vec);
        match (&mut self.cell, cell) {
            (Some(known), Some(cell)) => known.merge(&cell),
            (known @ None, cell) => *known = cell,
            (Some(_), None) => {}
        }
    }
}

impl Hours<'_> {
    fn field(
        &self,
        index: usize,
        kind: Kind,
        names: &Interner,
        single_clock: bool,
    ) -> Result<FieldColumns, Corrupt> {
        let mut columns = FieldColumns::new(coding(kind, single_clock));
        let mut open: Vec<OpenHour> = vec![OpenHour::default(); self.expected.len()];
        for (segment, part) in self.day.parts.iter().zip(self.parts) {
            let own = |slot| names.find(part.head.names.get(slot).unwrap_or_default(), |_| true);
            let own: Vec<Option<usize>> = (0..part.head.slots.len()).map(own).collect();
            let mut add = |slot: usize, window, cell: Option<Cell>, text: Option<&[u8]>| {
                let Some(slot) = own[slot] else { return Ok(()) };
                let hour = self.day.hour(segment, window);
                let open = &mut open[slot];
                if open.hour.is_some_and(|open| open != hour) {
                    self.end(open, slot, kind, &mut columns);
                }
                open.add(hour, cell, text);
                Ok::<(), Corrupt>(())
            };
            match kind {
                Kind::Text => {
                    part.texts(index, |slot, window, text| add(slot, window, None, text))?;
                }
                _ => part.cells(index, kind, single_clock, |slot, window, _, cell| {
                    add(slot, window, cell, None)
                })?,
            }
        }
        for (slot, open) in open.iter_mut().enumerate() {
            self.end(open, slot, kind, &mut columns);
        }
        Ok(columns)
    }

    /// Writes the open hour of a column.
    fn end(&self, open: &mut OpenHour, slot: usize, kind: Kind, columns: &mut FieldColumns) {
        if open.hour.take().is_none() {
            return;
        }
        let expected = self.expected[slot].get(open.done).map(|hour| hour.1).unwrap_or_default();
        open.done += 1;
        match kind {
            Kind::Text => columns.push_text(slot, open.text.as_deref()),
            _ => columns.push(slot, open.cell.take().as_ref(), &expected),
        }
    }
}

//! GETBULK for columns of which all rows are wanted: the request names only the first row, so it has
//! a twentieth of the bytes; the answer is the same.
//!
//! Columns with the same rows (in and out of all interfaces) are asked for together, as many rows as
//! fit an answer that is not cut in pieces: the device itself makes it shorter if it must, so there
//! is no need to begin with few.  Single objects (`sysUpTime`) go along as non-repeaters.  Where the
//! device has rows that nobody wants is learned from answers: a few are paid for, before more of them
//! a request ends and the next one begins behind them.  If that makes more requests than GET needs,
//! all is asked for by GET.
//! What an answer lacks is asked for by GET in the same round.  A device that answers GETBULK with an
//! error, with nothing, or with rows of something else is asked by GET.

use std::collections::{BTreeMap, HashMap};

use snmp::{Oid, OidRef, Pdu, Varbind};

use super::WantedObject;
use crate::ask::limit::{OBJECTS_FIRST, OBJECTS_MAX};

/// Fewest rows of a column that are worth it: below, a request of GET is as small.
const ROWS_MIN: usize = 4;

/// Bytes of the objects of an answer besides the values and the identifiers.
const VARBIND_BYTES: usize = 6;

/// Most rows one after the other that nobody wants and that are paid for: a further request is dearer.
const HOLE_MAX: usize = 3;

/// Most single objects of a request.
const SCALARS_MAX: usize = 8;

/// How often a device may fail to answer, one time after the other, before it is asked by GET, and for
/// how many rounds.
const FAILURES_MAX: u32 = 2;
const ROUNDS_OFF: u32 = 100;

/// A request of GETBULK.
#[derive(Clone, Debug)]
pub(super) struct BulkChunk {
    /// What follows these is wanted: the single objects, then the columns.
    pub(super) begin: Vec<Oid>,
    /// How many of these are single objects.
    pub(super) scalars: usize,
    /// The rows from there to the last that is wanted.
    pub(super) repetitions: u16,
    /// The objects that are wanted: the single ones, then row by row.
    pub(super) places: Vec<usize>,
    /// The columns, as the plan knows them.
    group: Vec<u8>,
}

/// How the objects of a device are asked for.
#[derive(Debug, Default)]
pub(super) struct BulkPlan {
    pub(super) chunks: Vec<BulkChunk>,
    /// What is asked for by GET.
    pub(super) rest: Vec<usize>,
    /// The limit of objects that the chunks were made with; `None` before the first plan.
    limit: Option<usize>,
    /// By the first column of a group, the wanted rows that have unwanted ones before them, and how
    /// many these are at least.
    known: HashMap<Vec<u8>, BTreeMap<u32, usize>>,
    failures: u32,
    /// The number of the round: columns with holes in their numbers are tried from the second one on,
    /// so that a program that makes one round never pays for a trial.
    round: u32,
    /// Until when the device is asked by GET.
    off_until: u32,
}

/// A column: its identifier, and the row and the object of each cell, in order.
#[derive(Debug)]
struct Column {
    oid: Oid,
    cells: Vec<(u32, usize)>,
}

impl BulkChunk {
    /// The varbinds that the request asks for.
    pub(super) fn asked(&self) -> usize {
        self.scalars + usize::from(self.repetitions) * self.width()
    }

    fn width(&self) -> usize {
        self.begin.len() - self.scalars
    }
}

impl BulkPlan {
    /// Begins a round.
    pub(super) fn begin(&mut self) {
        self.round = self.round.saturating_add(1);
    }

    /// Whether the device cannot do it.
    pub(super) fn is_off(&self) -> bool {
        self.round < self.off_until
    }

    /// The objects have changed, or what is known of them.
    pub(super) fn forget(&mut self) {
        self.limit = None;
    }

    /// Makes the plan for these objects, unless it is known: `is_same` if the objects are those of
    /// the round before.
    pub(super) fn make(
        &mut self,
        objects: &[WantedObject],
        limit: usize,
        answer_bytes: usize,
        is_same: bool,
    ) {
        if is_same && self.limit == Some(limit) && self.round > 2 {
            return;
        }
        self.limit = Some(limit);
        (self.chunks, self.rest) = (Vec::new(), Vec::new());
        // One request of GET costs an agent less than one of GETBULK.
        if objects.len() <= OBJECTS_FIRST {
            self.rest = (0..objects.len()).collect();
            return;
        }
        let mut requests = 0;
        let mut usual = OBJECTS_MAX;
        for columns in groups(objects, &mut self.rest) {
            let group = columns[0].oid.as_bytes().to_vec();
            let first = &columns[0].cells;
            let span = first[first.len() - 1].0 - first[0].0;
            let has_holes = span as usize >= first.len();
            let bytes = columns[0].oid.as_bytes().len() + 2 + VARBIND_BYTES;
            let cells = limit.min(answer_bytes / bytes).max(1);
            usual = usual.min(cells);
            let is_trial = has_holes && self.round < 2;
            let chunks = match is_trial {
                false => self.chunks(&columns, &group, (cells / columns.len()).max(1)),
                true => Vec::new(),
            };
            requests += chunks.len();
            match chunks.is_empty() {
                false => self.chunks.extend(chunks),
                true => self.rest.extend(columns.iter().flat_map(places)),
            }
        }
        self.add_scalars(objects);
        requests += self.rest.len().div_ceil(usual);
        if requests > objects.len().div_ceil(usual) {
            self.chunks.clear();
            self.rest = (0..objects.len()).collect();
        }
    }

    /// Lets single objects go along with the first request.
    fn add_scalars(&mut self, objects: &[WantedObject]) {
        let Some(chunk) = self.chunks.first_mut() else { return };
        self.rest.retain(|place| {
            let numbers: Vec<u32> = objects[*place].oid.as_ref().sub_identifiers().collect();
            let Some((0, before)) = numbers.split_last() else { return true };
            let Ok(oid) = Oid::new(before) else { return true };
            if chunk.scalars >= SCALARS_MAX {
                return true;
            }
            chunk.begin.insert(chunk.scalars, oid);
            chunk.places.insert(chunk.scalars, *place);
            chunk.scalars += 1;
            false
        });
    }

    /// Cuts columns into chunks of so many rows at most.
    fn chunks(&self, columns: &[Column], group: &[u8], rows_max: usize) -> Vec<BulkChunk> {
        let none = BTreeMap::new();
        let holes = self.known.get(group).unwrap_or(&none);
        let mut rows = columns[0].cells.iter().map(|cell| cell.0).enumerate().peekable();
        let mut chunks = Vec::new();
        while let Some((from, first)) = rows.next() {
            let (mut to, mut count) = (from + 1, 1);
            while let Some((_, row)) = rows.peek() {
                let hole = holes.get(row).copied().unwrap_or(0);
                if hole > HOLE_MAX || count + hole + 1 > rows_max {
                    break;
                }
                count += hole + 1;
                to += 1;
                rows.next();
            }
            let begin = columns.iter().map(|column| match first.checked_sub(1) {
                Some(before) => column.oid.child(&[before]).unwrap_or_else(|_| column.oid.clone()),
                None => column.oid.clone(),
            });
            let cells = (from..to).flat_map(|row| columns.iter().map(move |one| one.cells[row].1));
            chunks.push(BulkChunk {
                begin: begin.collect(),
                scalars: 0,
                repetitions: u16::try_from(count).unwrap_or(u16::MAX),
                places: cells.collect(),
                group: group.to_vec(),
            });
        }
        chunks
    }

    /// Takes an answer: calls `take` with each object that was wanted, and learns.
    pub(super) fn read_answer<'a>(
        &mut self,
        chunk: usize,
        pdu: &Pdu<'a>,
        objects: &[WantedObject],
        take: &mut dyn FnMut(usize, Varbind<'a>),
    ) {
        let Some(chunk) = self.chunks.get(chunk) else { return };
        let (scalars, width) = (chunk.scalars, chunk.width());
        let is_of = |place: usize, oid: OidRef<'_>| objects[place].oid.as_ref() == oid;
        let mut varbinds = pdu.varbinds;
        for (place, one) in chunk.places[..scalars].iter().zip(varbinds.by_ref()) {
            if is_of(*place, one.oid) {
                take(*place, one);
            }
        }
        let mut rows = vec![0; width];
        let mut holes: Vec<(u32, usize)> = Vec::new();
        let mut taken = 0;
        for (number, one) in varbinds.enumerate() {
            let column = number % width;
            let row = &mut rows[column];
            let place = |row: usize| chunk.places.get(scalars + row * width + column).copied();
            // Rows that the device does not have any more are passed over.
            while place(*row).is_some_and(|place| objects[place].oid.as_ref() < one.oid) {
                *row += 1;
            }
            let Some(place) = place(*row) else { continue };
            if is_of(place, one.oid) {
                *row += 1;
                taken += 1;
                take(place, one);
            } else if column == 0
                && let Some(row) = objects[place].oid.as_ref().sub_identifiers().last()
            {
                match holes.last_mut().filter(|hole| hole.0 == row) {
                    Some((_, count)) => *count += 1,
                    None => holes.push((row, 1)),
                }
            }
        }
        if taken == 0 {
            return self.fail();
        }
        self.failures = 0;
        let known = self.known.entry(chunk.group.clone()).or_default();
        let mut is_new = false;
        for (row, count) in holes {
            let hole = known.entry(row).or_default();
            is_new |= *hole < count;
            *hole = count.max(*hole);
        }
        if is_new {
            self.forget();
        }
    }

    /// There is no answer, or it is an error.
    pub(super) fn fail(&mut self) {
        self.failures += 1;
        if self.failures >= FAILURES_MAX {
            self.off_until = self.round.saturating_add(ROUNDS_OFF);
            self.failures = 0;
        }
    }
}

fn places(column: &Column) -> impl Iterator<Item = usize> + '_ {
    column.cells.iter().map(|(_, place)| *place)
}

/// The columns with the same rows, in the order of their identifiers; objects of short columns go to
/// `rest`.
fn groups(objects: &[WantedObject], rest: &mut Vec<usize>) -> Vec<Vec<Column>> {
    let mut cells: Vec<(&[u8], u32, usize)> = Vec::with_capacity(objects.len());
    for (place, one) in objects.iter().enumerate() {
        let bytes = one.oid.as_bytes();
        // All bytes of a sub-identifier but its last have the highest bit.
        let begin = bytes.iter().rev().skip(1).position(|byte| byte & 0x80 == 0);
        let begin = begin.map_or(0, |after| bytes.len() - 1 - after);
        match one.oid.as_ref().sub_identifiers().last() {
            Some(row) if begin > 0 => cells.push((&bytes[..begin], row, place)),
            _ => rest.push(place),
        }
    }
    cells.sort_unstable();
    let mut found: Vec<Vec<Column>> = Vec::new();
    for run in cells.chunk_by(|one, other| one.0 == other.0) {
        let mut numbers = objects[run[0].2].oid.as_ref().sub_identifiers().collect::<Vec<u32>>();
        numbers.pop();
        let column = Oid::new(&numbers).ok().filter(|_| run.len() >= ROWS_MIN);
        let Some(oid) = column else {
            rest.extend(run.iter().map(|cell| cell.2));
            continue;
        };
        let cells: Vec<(u32, usize)> = run.iter().map(|cell| (cell.1, cell.2)).collect();
        let is_same = |group: &&mut Vec<Column>| {
            let rows = |cells: &[(u32, usize)]| cells.iter().map(|cell| cell.0).collect::<Vec<_>>();
            rows(&group[0].cells) == rows(&cells)
        };
        match found.iter_mut().find(is_same) {
            Some(group) => group.push(Column { oid, cells }),
            None => found.push(vec![Column { oid, cells }]),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(list: &[&[u32]]) -> Vec<WantedObject> {
        list.iter().map(|numbers| WantedObject::new(Oid::new(numbers).unwrap())).collect()
    }

    fn table(columns: &[u32], rows: &(impl Iterator<Item = u32> + Clone)) -> Vec<Vec<u32>> {
        let cell = |column: u32| rows.clone().map(move |row| vec![1, 3, 6, column, row]);
        columns.iter().flat_map(|column| cell(*column)).collect()
    }

    fn plan(list: &[Vec<u32>], round: u32) -> BulkPlan {
        let list: Vec<&[u32]> = list.iter().map(Vec::as_slice).collect();
        let mut plan = BulkPlan { round, ..BulkPlan::default() };
        plan.make(&objects(&list), 20, 900, false);
        plan
    }

    #[test]
    fn columns_with_the_same_rows_go_together() {
        let mut list = table(&[10, 16], &(1..=30));
        list.push(vec![1, 3, 6, 1, 0]);
        list.extend(table(&[300], &[5, 300, 70_000].into_iter()));
        let made = plan(&list, 1);
        let sizes: Vec<u16> = made.chunks.iter().map(|chunk| chunk.repetitions).collect();
        assert_eq!(sizes, [10, 10, 10]);
        assert_eq!([made.chunks[0].scalars, made.chunks[0].asked()], [1, 21]);
        let begin = |chunk: usize| made.chunks[chunk].begin.iter().map(Oid::to_string);
        assert!(begin(0).eq(["1.3.6.1", "1.3.6.10.0", "1.3.6.16.0"]));
        assert!(begin(1).eq(["1.3.6.10.10", "1.3.6.16.10"]));
        assert_eq!(made.chunks[0].places[..3], [60, 0, 30]);
        assert_eq!(made.chunks[1].places[..4], [10, 40, 11, 41]);
        assert_eq!(made.chunks.iter().map(|chunk| chunk.places.len()).sum::<usize>(), 61);
        assert_eq!(made.rest, [61, 62, 63]);
    }

    #[test]
    fn few_objects_are_one_request_of_get() {
        let mut list = table(&[10], &(1..=5));
        list.push(vec![1, 3, 6, 1, 5]);
        let made = plan(&list, 1);
        assert!(made.chunks.is_empty());
        assert_eq!(made.rest.len(), 6);
    }

    #[test]
    fn holes_are_tried_after_the_first_round_only() {
        let list = table(&[10], &(1..=19).chain(50..=59));
        assert!(plan(&list, 1).chunks.is_empty());
        assert_eq!(plan(&list, 2).chunks.len(), 2);
        let mut made = plan(&list, 2);
        let group = made.chunks[0].group.clone();
        let refs: Vec<&[u32]> = list.iter().map(Vec::as_slice).collect();
        let mut sizes = |holes: BTreeMap<u32, usize>| {
            made.known.insert(group.clone(), holes);
            made.forget();
            made.make(&objects(&refs), 20, 900, true);
            made.chunks.iter().map(|chunk| chunk.repetitions).collect::<Vec<u16>>()
        };
        assert_eq!(sizes(BTreeMap::from([(50, 1)])), [19, 10]);
        assert_eq!(sizes(BTreeMap::from([(5, 1), (50, 4)])), [20, 10]);
        // More requests than by GET.
        assert!(sizes(BTreeMap::from([(3, 4), (50, 4)])).is_empty());
    }
}

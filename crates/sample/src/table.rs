//! The table that one reading of a source fills: rows (instances) by fields, with a presence bit
//! for each cell, because missing is not zero.
//!
//! Names, values and texts keep their memory between readings, so a reading that has the same rows
//! as the previous one allocates nothing and costs only the stores.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Interner;

/// Distinct texts that a table keeps from reading to reading.  If there are more, all are discarded
/// when the next reading begins: command lines come and go without end.
const TEXTS_KEPT_MAX: usize = 65_536;

/// Distinct texts of one reading.  Beyond it a text cell is left missing and counted in
/// [`Table::texts_refused`].
const TEXTS_MAX: usize = 8 * TEXTS_KEPT_MAX;

/// Rows by fields of one reading, row-major.
#[derive(Clone, Debug, Default)]
pub struct Table {
    width: usize,
    words: usize,
    rows: usize,
    names: Vec<Vec<u8>>,
    values: Vec<u64>,
    present: Vec<u64>,
    /// What is stored beside the integers; empty in readings.
    fractions: Vec<f64>,
    texts: Interner,
    texts_refused: u64,
    mark: Option<NonZeroU64>,
}

impl Table {
    /// An empty table for a source of `width` fields.
    pub fn new(width: usize) -> Self {
        Table { width, words: width.div_ceil(64), ..Table::default() }
    }

    /// Fields in each row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows of the latest reading.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Begins a reading: removes all rows, keeps memory and (unless they are too many) texts.
    pub fn begin(&mut self) {
        self.rows = 0;
        self.mark = None;
        self.fractions.clear();
        if self.texts.len() > TEXTS_KEPT_MAX {
            self.texts.clear();
        }
    }

    /// Like [`begin`](Self::begin), for a source that knows its previous reading by the number that
    /// [`mark`](Self::mark) returned.  Whether this table still holds that reading, so that rows of
    /// it can be kept ([`keep_rows`](Self::keep_rows)).
    pub fn begin_after(&mut self, mark: Option<NonZeroU64>) -> bool {
        let is_held = mark.is_some() && self.mark == mark && self.texts.len() <= TEXTS_KEPT_MAX;
        self.begin();
        is_held
    }

    /// Marks this reading with a number that no other reading has.
    pub fn mark(&mut self) -> Option<NonZeroU64> {
        static MARKS: AtomicU64 = AtomicU64::new(1);
        self.mark = NonZeroU64::new(MARKS.fetch_add(1, Ordering::Relaxed));
        self.mark
    }

    /// Adds the next `count` rows as the previous reading left them, after
    /// [`begin_after`](Self::begin_after) has found it.
    ///
    /// # Panics
    /// When the table never had so many rows.
    pub fn keep_rows(&mut self, count: usize) {
        self.rows += count;
        assert!(self.rows <= self.names.len(), "{} rows kept", self.rows);
    }

    /// Adds a row for the instance `name` (empty for a source with a single row) and returns it to
    /// be filled.  Every cell is missing until it is set.
    #[inline]
    pub fn row(&mut self, name: &[u8]) -> RowMut<'_> {
        let index = self.rows;
        self.rows += 1;
        if index == self.names.len() {
            self.names.push(name.to_vec());
            self.values.resize(self.rows * self.width, 0);
            self.present.resize(self.rows * self.words, 0);
        } else if !equal(&self.names[index], name) {
            self.names[index].clear();
            self.names[index].extend_from_slice(name);
        }
        let present = &mut self.present[index * self.words..(index + 1) * self.words];
        present.fill(0);
        RowMut {
            values: &mut self.values[index * self.width..(index + 1) * self.width],
            present,
            texts: &mut self.texts,
            refused: &mut self.texts_refused,
        }
    }

    /// The row `index`, to fill more of its cells.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row_mut(&mut self, index: usize) -> RowMut<'_> {
        assert!(index < self.rows, "row {index} of {}", self.rows);
        RowMut {
            values: &mut self.values[index * self.width..(index + 1) * self.width],
            present: &mut self.present[index * self.words..(index + 1) * self.words],
            texts: &mut self.texts,
            refused: &mut self.texts_refused,
        }
    }

    /// The instance name of a row, the kernel's raw bytes.
    pub fn name(&self, row: usize) -> &[u8] {
        &self.names[..self.rows][row]
    }

    /// Renames a row, for display only, never in a recording.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn rename(&mut self, row: usize, name: &[u8]) {
        self.mark = None;
        let held = &mut self.names[..self.rows][row];
        if held != name {
            held.clear();
            held.extend_from_slice(name);
        }
    }

    /// The row of an instance, if the reading has one.  `hint` is tried first: rows rarely move.
    pub fn find(&self, name: &[u8], hint: usize) -> Option<usize> {
        if hint < self.rows && self.names[hint] == name {
            return Some(hint);
        }
        self.names[..self.rows].iter().position(|n| n == name)
    }

    /// The stored integer of a cell; `None` when it is missing.
    #[inline]
    pub fn get(&self, row: usize, field: usize) -> Option<u64> {
        let here = row < self.rows
            && field < self.width
            && self.present[row * self.words + field / 64] >> (field % 64) & 1 == 1;
        here.then(|| self.values[row * self.width + field])
    }

    /// Stores a number that is not whole, as means over several readings are: the nearest integer,
    /// and the rest beside it ([`fraction`](Self::fraction)).  `base` is added to the integer.
    ///
    /// # Panics
    /// When there is no such row or field.
    pub fn set_mean(&mut self, row: usize, field: usize, base: u64, mean: f64) {
        let whole = mean.round();
        self.row_mut(row).set(field, base.wrapping_add_signed(whole as i64));
        self.fractions.resize(self.values.len(), 0.0);
        self.fractions[row * self.width + field] = mean - whole;
    }

    /// What is to be added to a stored integer; 0 in readings.
    #[inline]
    pub fn fraction(&self, row: usize, field: usize) -> f64 {
        self.fractions.get(row * self.width + field).copied().unwrap_or(0.0)
    }

    /// The text of a text cell; `None` when it is missing.
    pub fn text(&self, row: usize, field: usize) -> Option<&[u8]> {
        let index = usize::try_from(self.get(row, field)?).ok()?;
        self.texts.get(index)
    }

    /// Text cells left missing because the list was full.
    pub fn texts_refused(&self) -> u64 {
        self.texts_refused
    }

    /// All stored integers of the reading, row-major; those of missing cells are undefined.
    pub fn values(&self) -> &[u64] {
        &self.values[..self.rows * self.width]
    }

    /// Presence words of the reading: `width.div_ceil(64)` words a row, bit `field % 64` of word
    /// `field / 64`.
    pub fn presence(&self) -> &[u64] {
        &self.present[..self.rows * self.words]
    }

    /// Whether both readings have the same instances in the same order.
    pub fn same_rows(&self, other: &Table) -> bool {
        self.names[..self.rows] == other.names[..other.rows]
    }

    /// Whether a row has the same cells as a row of another table of the same source; `texts` are the
    /// fields that are texts, in their order.  False also if what is undefined in missing cells differs.
    pub fn has_same_row(
        &self,
        row: usize,
        other: &Table,
        other_row: usize,
        texts: &[usize],
    ) -> bool {
        let of = |table: &Table, row: usize| (row * table.width, row * table.words);
        let ((at, word), (other_at, other_word)) = (of(self, row), of(other, other_row));
        if self.width != other.width
            || self.present[word..word + self.words] != other.present[other_word..][..self.words]
        {
            return false;
        }
        let mut begin = 0;
        for end in texts.iter().copied().chain([self.width]) {
            if self.values[at + begin..at + end] != other.values[other_at + begin..other_at + end] {
                return false;
            }
            begin = (end + 1).min(self.width);
        }
        texts.iter().all(|&field| self.text(row, field) == other.text(other_row, field))
    }

    /// Makes this table a copy of `other`, keeping its own memory.
    pub fn copy_from(&mut self, other: &Table) {
        self.width = other.width;
        self.words = other.words;
        self.begin();
        for row in 0..other.rows {
            self.row(other.name(row));
        }
        let (cells, words) = (other.rows * other.width, other.rows * other.words);
        self.values[..cells].copy_from_slice(&other.values[..cells]);
        self.present[..words].copy_from_slice(&other.present[..words]);
        self.fractions.clone_from(&other.fractions);
        self.texts.clone_from(&other.texts);
        self.texts_refused = other.texts_refused;
        self.mark = other.mark;
    }
}

/// Whether two names are equal.  Most have at most sixteen bytes, for which a call of `memcmp`
/// costs more than the comparison.
#[inline]
fn equal(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() || one.len() > 16 {
        return one == other;
    }
    if let (Some(one_start), Some(start), Some(one_end), Some(end)) =
        (one.first_chunk::<8>(), other.first_chunk::<8>(), one.last_chunk(), other.last_chunk())
    {
        return one_start == start && u64::from_ne_bytes(*one_end) == u64::from_ne_bytes(*end);
    }
    one.iter().zip(other).all(|(one, other)| one == other)
}

/// A row being filled.
pub struct RowMut<'a> {
    values: &'a mut [u64],
    present: &'a mut [u64],
    texts: &'a mut Interner,
    refused: &'a mut u64,
}

impl RowMut<'_> {
    /// Stores a counter or a gauge that cannot be negative.
    #[inline]
    pub fn set(&mut self, field: usize, value: u64) {
        self.values[field] = value;
        self.present[field / 64] |= 1 << (field % 64);
    }

    /// Stores all cells of the row at once, also missing ones: `values` has one integer per field,
    /// `present` one bit per field.  The cells of `texts`, fields in ascending order, become missing:
    /// their integers are indexes into this table's own list.  Bits behind the last field, which only a
    /// damaged or hostile recording has, are dropped: whoever goes through the bits needs no check.
    ///
    /// # Panics
    /// If either slice does not have the row's size, or there is no such field.
    pub fn fill(&mut self, values: &[u64], present: &[u64], texts: &[usize]) {
        self.present.copy_from_slice(present);
        if let Some(last) = self.present.last_mut().filter(|_| !values.len().is_multiple_of(64)) {
            *last &= (1 << (values.len() % 64)) - 1;
        }
        let mut begin = 0;
        for &field in texts {
            self.values[begin..field].copy_from_slice(&values[begin..field]);
            self.present[field / 64] &= !(1 << (field % 64));
            begin = field + 1;
        }
        self.values[begin..].copy_from_slice(&values[begin..]);
    }

    /// Stores the value if there is one; leaves the cell missing if not.
    #[inline]
    pub fn set_some(&mut self, field: usize, value: Option<u64>) {
        if let Some(value) = value {
            self.set(field, value);
        }
    }

    /// Stores a gauge that can be negative.
    #[inline]
    pub fn set_signed(&mut self, field: usize, value: i64) {
        self.set(field, value.cast_unsigned());
    }

    /// Stores a text.  Fast if the cell had the same text in the previous reading.
    pub fn set_text(&mut self, field: usize, text: &[u8]) {
        let held = usize::try_from(self.values[field]).unwrap_or(usize::MAX);
        if self.texts.get(held).is_some_and(|held| equal(held, text)) {
            self.present[field / 64] |= 1 << (field % 64);
            return;
        }
        let found = self.texts.find(text, |_| true);
        if found.is_none() && self.texts.len() >= TEXTS_MAX {
            *self.refused += 1;
            return;
        }
        let index = found.unwrap_or_else(|| self.texts.push(text));
        self.set(field, index as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_is_not_zero() {
        let mut table = Table::new(70);
        table.begin();
        let mut row = table.row(b"vda");
        row.set(0, 0);
        row.set(69, 7);
        assert_eq!(table.get(0, 0), Some(0));
        assert_eq!(table.get(0, 1), None);
        assert_eq!(table.get(0, 69), Some(7));
        assert_eq!(table.get(1, 0), None);
        assert_eq!(table.get(0, 70), None);
    }

    #[test]
    fn a_new_reading_forgets_cells_but_not_texts() {
        let mut table = Table::new(2);
        table.begin();
        table.row(b"a").set_text(1, b"dev");
        table.row(b"b").set_text(1, b"dev");
        table.begin();
        table.row(b"b").set(0, 3);
        assert_eq!(table.rows(), 1);
        assert_eq!(table.name(0), b"b");
        assert_eq!(table.text(0, 1), None);
        assert_eq!(table.texts.len(), 1);
        assert_eq!(table.find(b"b", 9), Some(0));
        assert_eq!(table.find(b"a", 0), None);
    }

    #[test]
    fn means_are_kept_beside_their_integers() {
        let mut table = Table::new(2);
        table.begin();
        table.row(b"a");
        table.row(b"b");
        table.set_mean(1, 0, 100, 2.75);
        table.set_mean(0, 1, 0, -1.25);
        assert_eq!((table.get(1, 0), table.fraction(1, 0)), (Some(103), -0.25));
        let level = table.get(0, 1).unwrap().cast_signed();
        assert_eq!((level, table.fraction(0, 1)), (-1, -0.25));
        assert_eq!((table.get(0, 0), table.fraction(0, 0)), (None, 0.0));
        table.begin();
        table.row(b"b").set(0, 3);
        assert_eq!(table.fraction(0, 0), 0.0, "a reading has none");
    }

    #[test]
    fn rows_are_kept_only_after_the_marked_reading() {
        let mut table = Table::new(1);
        assert!(!table.begin_after(None));
        table.row(b"a").set(0, 1);
        table.row(b"b").set(0, 2);
        let mark = table.mark();
        let mut copy = table.clone();
        assert!(table.begin_after(mark));
        table.keep_rows(1);
        table.row(b"b").set(0, 3);
        assert_eq!(
            (table.name(0), table.get(0, 0), table.get(1, 0)),
            (&b"a"[..], Some(1), Some(3))
        );
        // Another reading has come between.
        assert!(!table.begin_after(mark));
        copy.rename(0, b"x");
        assert!(!copy.begin_after(mark));
    }

    #[test]
    fn texts_without_end_neither_fill_memory_nor_go_missing() {
        let mut table = Table::new(1);
        for reading in 0..4 {
            table.begin();
            for row in 0..TEXTS_KEPT_MAX / 2 {
                let text = format!("{reading} {row}");
                table.row(b"").set_text(0, text.as_bytes());
                assert_eq!(table.text(row, 0), Some(text.as_bytes()));
            }
            assert!(table.texts.len() <= TEXTS_KEPT_MAX * 3 / 2);
        }
        assert_eq!(table.texts_refused(), 0);
    }

    #[test]
    fn names_are_equal_or_not_at_every_length() {
        for length in 0..20 {
            let name = vec![b'a'; length];
            assert!(equal(&name, &name.clone()));
            assert!(!equal(&name, &vec![b'a'; length + 1]));
            for at in 0..length {
                let mut other = name.clone();
                other[at] = b'b';
                assert!(!equal(&name, &other), "{length} {at}");
            }
        }
    }

    #[test]
    fn bits_behind_the_last_field_are_dropped() {
        for width in [3, 64, 65] {
            let mut table = Table::new(width);
            table.begin();
            let words = width.div_ceil(64);
            table.row(b"a").fill(&vec![7; width], &vec![u64::MAX; words], &[1]);
            let count: u32 = table.presence().iter().map(|word| word.count_ones()).sum();
            assert_eq!((count as usize, table.get(0, 1)), (width - 1, None));
        }
    }

    #[test]
    fn copies_are_equal() {
        let mut table = Table::new(3);
        table.begin();
        table.row(b"x").set_signed(2, -5);
        let mut copy = Table::new(3);
        copy.copy_from(&table);
        assert!(copy.same_rows(&table));
        assert_eq!(copy.get(0, 2).map(u64::cast_signed), Some(-5));
    }
}

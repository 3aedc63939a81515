//! One row of one reading, for values that need no previous reading.

use crate::Table;

/// One row of one reading, without the previous reading.
#[derive(Clone, Copy, Debug)]
pub struct Cells<'a> {
    /// The reading.
    pub table: &'a Table,
    /// The row.
    pub row: usize,
}

impl<'a> Cells<'a> {
    /// The instance's name.
    pub fn name(&self) -> &'a [u8] {
        self.table.name(self.row)
    }

    /// The value of a counter.
    pub fn count(&self, field: usize) -> Option<f64> {
        self.table.get(self.row, field).map(|raw| raw as f64)
    }

    /// The value of a gauge.
    pub fn level(&self, field: usize) -> Option<f64> {
        self.table.get(self.row, field).map(|raw| raw.cast_signed() as f64)
    }

    /// The raw integer.
    pub fn raw(&self, field: usize) -> Option<u64> {
        self.table.get(self.row, field)
    }

    /// A text.
    pub fn text(&self, field: usize) -> Option<&'a [u8]> {
        self.table.text(self.row, field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_those_of_their_row() {
        let mut table = Table::new(3);
        table.begin();
        table.row(b"a").set(0, 1);
        let mut row = table.row(b"b");
        row.set_signed(1, -2);
        row.set_text(2, b"t");
        let [a, b] = [0, 1].map(|row| Cells { table: &table, row });
        assert_eq!(
            (a.name(), a.count(0), a.level(1), a.text(2)),
            (&b"a"[..], Some(1.0), None, None)
        );
        assert_eq!((b.name(), b.count(0), b.level(1)), (&b"b"[..], None, Some(-2.0)));
        assert_eq!(b.text(2), Some(&b"t"[..]));
    }
}

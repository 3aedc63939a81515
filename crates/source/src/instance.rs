//! Names of instances with two labels (`0` and `DMA`, process id and start time): built while
//! reading, without allocation, and split for display.

use layout::Row;
use sample::SourceDef;

/// Size of any name with two labels.  The kernel's names are far shorter.
pub(crate) const PAIR_BYTES: usize = 128;

/// Size of the name of a task: a 32-bit number, the separator and a 64-bit number.
pub(crate) const TASK_BYTES: usize = 11 + 1 + 20;

/// A row's name in a fixed buffer; parts that do not fit are left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowName<const ROOM: usize> {
    bytes: [u8; ROOM],
    length: usize,
}

impl<const ROOM: usize> Default for RowName<ROOM> {
    fn default() -> Self {
        RowName { bytes: [0; ROOM], length: 0 }
    }
}

impl RowName<TASK_BYTES> {
    /// The name of a task: its id, and its start time in ticks since boot.
    #[inline]
    pub(crate) fn of_task(number: i32, start_ticks: u64) -> Self {
        let mut name = RowName::default();
        name.put_number(number.unsigned_abs().into());
        name.next_label();
        name.put_number(start_ticks);
        name
    }
}

impl<const ROOM: usize> RowName<ROOM> {
    /// The name so far.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Adds bytes to the label; false, and nothing is added, if they do not fit.
    #[inline]
    pub(crate) fn put(&mut self, bytes: &[u8]) -> bool {
        let end = self.length + bytes.len();
        let Some(room) = self.bytes.get_mut(self.length..end) else { return false };
        room.copy_from_slice(bytes);
        self.length = end;
        true
    }

    /// Adds a number.
    #[inline]
    pub(crate) fn put_number(&mut self, number: u64) -> bool {
        self.put(digits(number, &mut [0; 20]))
    }

    /// Begins the next label.
    #[inline]
    pub(crate) fn next_label(&mut self) -> bool {
        self.put(&[SourceDef::INSTANCE_SEPARATOR])
    }

    /// The name of the instance `first`, `second`; `None` when it does not fit.
    #[inline]
    pub(crate) fn join(&mut self, first: &[u8], second: &[u8]) -> Option<&[u8]> {
        self.length = 0;
        (self.put(first) && self.next_label() && self.put(second)).then_some(self.bytes())
    }
}

/// Writes a number to the end of `space` and returns its digits.
#[inline]
pub(crate) fn digits(mut value: u64, space: &mut [u8; 20]) -> &[u8] {
    let mut at = space.len();
    loop {
        at -= 1;
        // Less than 10, so it fits.
        space[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            return &space[at..];
        }
    }
}

/// The two labels of a name; the second is empty if there is only one.
pub(crate) fn split(name: &[u8]) -> (&[u8], &[u8]) {
    let separator = |byte: &u8| *byte == SourceDef::INSTANCE_SEPARATOR;
    match name.iter().position(separator) {
        Some(at) => (&name[..at], &name[at + 1..]),
        None => (name, &[]),
    }
}

/// The first label of a row.
pub(crate) fn first<'a>(row: &Row<'a>) -> Option<&'a [u8]> {
    Some(split(row.name()).0)
}

/// The second label of a row.
pub(crate) fn second<'a>(row: &Row<'a>) -> Option<&'a [u8]> {
    Some(split(row.name()).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_put_together_and_taken_apart() {
        let mut pair = RowName::<PAIR_BYTES>::default();
        let name = pair.join(b"24", b"1").unwrap();
        assert_eq!(name, b"24\x1f1");
        assert_eq!(split(name), (&b"24"[..], &b"1"[..]));
        assert_eq!(split(b"ERR"), (&b"ERR"[..], &b""[..]));
        assert_eq!(pair.join(&[b'x'; PAIR_BYTES - 1], b"1"), None);
        assert_eq!(pair.join(b"24", b"2"), Some(&b"24\x1f2"[..]));
    }

    #[test]
    fn names_of_the_longest_numbers_fit() {
        let name = RowName::of_task(i32::MIN, u64::MAX);
        assert_eq!(name.bytes(), b"2147483648\x1f18446744073709551615");
        assert_eq!(RowName::of_task(7, 0).bytes(), b"7\x1f0");
    }
}

//! Names of instances with two labels (`0` and `DMA`, `24` and `1`): put together while reading
//! without allocating, taken apart while showing.

use sample::{Row, SourceDef};

/// Room for a name of two labels.  The kernel's own are far shorter; a longer one is no name.
const NAME_BYTES_MAX: usize = 128;

/// Room in which to put a name together.
pub(crate) struct Pair([u8; NAME_BYTES_MAX]);

impl Pair {
    /// Empty room.
    pub(crate) fn new() -> Self {
        Pair([0; NAME_BYTES_MAX])
    }

    /// The name of the instance `first`, `second`; `None` when it does not fit.
    #[inline]
    pub(crate) fn join(&mut self, first: &[u8], second: &[u8]) -> Option<&[u8]> {
        let end = first.len() + 1 + second.len();
        let name = self.0.get_mut(..end)?;
        name[..first.len()].copy_from_slice(first);
        name[first.len()] = SourceDef::INSTANCE_SEPARATOR;
        name[first.len() + 1..].copy_from_slice(second);
        Some(name)
    }
}

/// The two labels of a name; the second is empty when it has but one.
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
        let mut pair = Pair::new();
        let name = pair.join(b"24", b"1").unwrap();
        assert_eq!(name, b"24\x1f1");
        assert_eq!(split(name), (&b"24"[..], &b"1"[..]));
        assert_eq!(split(b"ERR"), (&b"ERR"[..], &b""[..]));
        assert_eq!(pair.join(&[b'x'; NAME_BYTES_MAX - 1], b"1"), None);
    }
}

//! Integers in few bytes, and the cursor that decodes them: in recordings, their side files, the words
//! of the log store and the journal of rrdcached.
//!
//! A varint has seven bits a byte, low bits first, the top bit set on all bytes but the last
//! (LEB128).  A number that can be negative is *zigzagged* first: 0, -1, 1, -2 become 0, 1, 2, 3.
//! A sparse list of integers is *packed* ([`pack`]): a zero costs a bit, in long runs an eighth of
//! a bit.
//!
//! Input is not trusted: a cursor returns [`Corrupt`] at the end of its bytes.
//!
//! Begin with [`put`] and [`Bytes`].  Uses no crate of whit.

#![forbid(unsafe_code)]

/// Invalid bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt(
    /// What is wrong.
    pub &'static str,
);

/// The longest varint: ten times seven bits hold 64.
pub const VARINT_BYTES_MAX: usize = 10;

/// Integers in a packed group: eight octets, one for each bit of the first byte.
const GROUP: usize = 64;

/// A packed group at its largest: the mask of octets, a mask for each of them, the varints.
const GROUP_BYTES_MAX: usize = 1 + 8 + GROUP * VARINT_BYTES_MAX;

/// A signed difference as an unsigned integer: small either way.
#[inline]
pub const fn zigzag(value: u64) -> u64 {
    // A logical shift and a subtraction: SSE2 has no arithmetic shift of 64 bits.
    (value << 1) ^ (value >> 63).wrapping_neg()
}

/// The inverse of [`zigzag`].
#[inline]
pub const fn unzigzag(value: u64) -> u64 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

/// Writes a varint at `at`; ten bytes must follow.  Returns the position after it.
#[inline]
pub fn put_at(out: &mut [u8], mut at: usize, mut value: u64) -> usize {
    while value >= 0x80 {
        out[at] = value as u8 | 0x80;
        value >>= 7;
        at += 1;
    }
    out[at] = value as u8;
    at + 1
}

/// Appends a varint.
pub fn put(out: &mut Vec<u8>, value: u64) {
    let mut bytes = [0; VARINT_BYTES_MAX];
    let end = put_at(&mut bytes, 0, value);
    out.extend_from_slice(&bytes[..end]);
}

/// Appends a length and the bytes.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends `values` packed: for each 64 of them a byte whose bit *i* says that the octet *i* has
/// any that is not zero; for each such octet a byte whose bit *j* says the same of its integer
/// *j*, and the varints of those.
pub fn pack(out: &mut Vec<u8>, values: &[u64]) {
    let mut bytes = [0_u8; GROUP_BYTES_MAX];
    for group in values.chunks(GROUP) {
        let mut octets = 0_u8;
        let mut at = 1;
        for (index, octet) in group.chunks(8).enumerate() {
            if octet.iter().fold(0, |any, &value| any | value) == 0 {
                continue;
            }
            let mut mask = 0_u8;
            for (bit, &value) in octet.iter().enumerate() {
                mask |= u8::from(value != 0) << bit;
            }
            octets |= 1 << index;
            bytes[at] = mask;
            at += 1;
            while mask != 0 {
                at = put_at(&mut bytes, at, octet[mask.trailing_zeros() as usize]);
                mask &= mask - 1;
            }
        }
        bytes[0] = octets;
        out.extend_from_slice(&bytes[..at]);
    }
}

/// Like [`pack`], for an iterator.
pub fn pack_each(out: &mut Vec<u8>, mut values: impl Iterator<Item = u64>) {
    loop {
        let (mut group, mut count) = ([0; GROUP], 0);
        for (place, value) in group.iter_mut().zip(&mut values) {
            *place = value;
            count += 1;
        }
        pack(out, &group[..count]);
        if count < GROUP {
            return;
        }
    }
}

/// Reads bytes from front to back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    /// From the first byte on.
    pub fn new(bytes: &'a [u8]) -> Self {
        Bytes { bytes, at: 0 }
    }

    /// From `at` on.
    pub fn at(bytes: &'a [u8], at: usize) -> Self {
        Bytes { bytes, at }
    }

    /// How many bytes have been read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// How many are left.
    pub fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// One byte.
    #[inline]
    pub fn byte(&mut self) -> Result<u8, Corrupt> {
        let byte = *self.bytes.get(self.at).ok_or(Corrupt("it ends early"))?;
        self.at += 1;
        Ok(byte)
    }

    /// One varint.
    #[inline]
    pub fn varint(&mut self) -> Result<u64, Corrupt> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        let mut value = u64::from(first & 0x7f);
        for shift in (7..70).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Corrupt("an integer has more than 64 bits"))
    }

    /// A varint that counts items of at least one byte each, so it cannot exceed the bytes left:
    /// a file cannot cause larger allocations than its size.
    pub fn count(&mut self) -> Result<usize, Corrupt> {
        let count = self.varint()?;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count <= self.left() { Ok(count) } else { Err(Corrupt("it counts more than it holds")) }
    }

    /// The next `count` bytes.
    pub fn next_bytes(&mut self, count: usize) -> Result<&'a [u8], Corrupt> {
        let end = self.at.checked_add(count).ok_or(Corrupt("it ends early"))?;
        let taken = self.bytes.get(self.at..end).ok_or(Corrupt("it ends early"))?;
        self.at = end;
        Ok(taken)
    }

    /// A length as a varint, and that many bytes.
    pub fn prefixed(&mut self) -> Result<&'a [u8], Corrupt> {
        let count = self.count()?;
        self.next_bytes(count)
    }

    /// Skips `count` varints.
    pub fn skip_varints(&mut self, count: usize) -> Result<(), Corrupt> {
        let mut left = count;
        // Eight bytes at once: the last byte of a varint is the one without the top bit.
        while left >= 8
            && let Some((word, _)) = self.bytes.get(self.at..).and_then(<[u8]>::split_first_chunk)
        {
            let ends = !u64::from_le_bytes(*word) & 0x8080_8080_8080_8080;
            left -= ends.count_ones() as usize;
            self.at += 8;
        }
        while left > 0 {
            left -= usize::from(self.byte()? < 0x80);
        }
        Ok(())
    }

    /// Calls `each` with the index and value of the non-zero ones of `count` packed integers.
    #[inline]
    pub fn unpack(
        &mut self,
        count: usize,
        mut each: impl FnMut(usize, u64),
    ) -> Result<(), Corrupt> {
        let mut base = 0;
        while base < count {
            let mut octets = self.byte()?;
            while octets != 0 {
                let octet = base + 8 * octets.trailing_zeros() as usize;
                octets &= octets - 1;
                let mut mask = self.byte()?;
                while mask != 0 {
                    let index = octet + mask.trailing_zeros() as usize;
                    mask &= mask - 1;
                    if index >= count {
                        return Err(Corrupt("a value has no column"));
                    }
                    each(index, self.varint()?);
                }
            }
            base += GROUP;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_bytes() {
        let mut out = Vec::new();
        put(&mut out, 300);
        assert_eq!(out, [0xac, 0x02]);
        out.clear();
        pack(&mut out, &[0, 0, 5, 0, 0, 0, 0, 0, 300]);
        assert_eq!(out, [0b11, 0b100, 5, 0b1, 0xac, 0x02]);
        assert_eq!([0, u64::MAX, 1].map(zigzag), [0, 1, 2]);
    }

    #[test]
    fn too_long_is_corrupt() {
        assert!(Bytes::new(&[0xff; 10]).varint().is_err());
        assert!(Bytes::new(&[0xff; 3]).varint().is_err());
        assert!(Bytes::new(&[5, 1, 2]).prefixed().is_err());
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(Bytes::new(&most).varint(), Ok(u64::MAX));
    }

    proptest! {
        #[test]
        fn any_integer_returns(value: u64) {
            let mut out = Vec::new();
            put(&mut out, value);
            prop_assert_eq!(Bytes::new(&out).varint(), Ok(value));
            prop_assert_eq!(unzigzag(zigzag(value)), value);
        }

        #[test]
        fn any_list_returns(values in proptest::collection::vec(
            prop_oneof![4 => Just(0), 1 => any::<u64>(), 2 => 0_u64..200], 0..300)) {
            let mut out = Vec::new();
            pack(&mut out, &values);
            let mut each = Vec::new();
            pack_each(&mut each, values.iter().copied());
            prop_assert_eq!(&each, &out);
            let mut again = vec![0; values.len()];
            let mut bytes = Bytes::new(&out);
            bytes.unpack(values.len(), |index, value| again[index] = value).unwrap();
            prop_assert_eq!(bytes.left(), 0);
            prop_assert_eq!(again, values);
        }
    }
}

//! A head or part as it is in the file: pieces of some columns each, and a CRC of all.
//!
//! The columns of one instance are unpacked without those of most others.  All but the last piece have
//! at least [`PIECE_BYTES`]: shorter ones would make the file larger.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use zstd::bulk::Decompressor;

use super::PART_BYTES_MAX;
use super::column::{BITS_PADDING, Plain};
use crate::compression::{Packer, ZSTD, ZSTD_MAGIC, unpack};
use crate::format::crc;
use crate::index::u64_of;
use varint::{Bytes, Corrupt, put};

/// Bytes of the CRC at the end.
const CRC_BYTES: usize = 4;

/// A piece ends with the column with which it has so many bytes, before they are packed.
const PIECE_BYTES: usize = 16 << 10;

/// The columns of a part while they are written.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    done: Vec<(u64, Plain)>,
    /// The piece that is not done yet, and its columns.
    pub(super) open: Plain,
    columns: u64,
}

impl Pieces {
    /// A part that is one piece.
    pub(super) fn of(plain: Plain) -> Self {
        Pieces { open: plain, ..Pieces::default() }
    }

    /// Ends a column that was written to the open piece.
    pub(super) fn end_column(&mut self) {
        self.columns += 1;
        if self.open.bytes.len() >= PIECE_BYTES {
            self.end_piece();
        }
    }

    fn end_piece(&mut self) {
        if !self.open.bytes.is_empty() {
            let columns = std::mem::take(&mut self.columns);
            self.done.push((columns, std::mem::take(&mut self.open)));
        }
    }

    /// Appends the part to `parts`, and its length to the directory; nothing if it is empty.
    pub(super) fn append(
        mut self,
        packer: &mut Packer,
        directory: &mut Vec<u8>,
        parts: &mut Vec<u8>,
    ) {
        self.end_piece();
        if self.done.is_empty() {
            put(directory, 0);
            return;
        }
        let begun = parts.len();
        put(parts, self.done.len() as u64);
        let (mut all, mut packed) = (Vec::new(), Vec::new());
        for (columns, plain) in &self.done {
            packed.clear();
            let compression = packer.append(&plain.bytes, &mut packed);
            let frame = if compression == ZSTD { ZSTD_MAGIC.len() } else { 0 };
            let packed = packed.get(frame..).unwrap_or_default();
            put(parts, *columns);
            put(parts, plain.bytes.len() as u64);
            parts.push(compression);
            put(parts, packed.len() as u64);
            put(parts, plain.bits.len() as u64);
            all.extend_from_slice(packed);
            all.extend_from_slice(&plain.bits);
        }
        parts.append(&mut all);
        let own_crc = crc(&[&parts[begun..]]);
        parts.extend_from_slice(&own_crc.to_le_bytes());
        put(directory, (parts.len() - begun) as u64);
    }
}

/// Whether the CRC of a part is right.
pub(super) fn is_sound(part: &[u8]) -> bool {
    let split = part.split_last_chunk::<CRC_BYTES>();
    split.is_some_and(|(covered, own_crc)| u64_of(own_crc) == u64::from(crc(&[covered])))
}

/// Unpacks pieces, with memory that is made once and shared.
#[derive(Clone, Default)]
pub(super) struct Unpacker(Arc<Mutex<Option<Decompressor<'static>>>>);

impl std::fmt::Debug for Unpacker {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Unpacker")
    }
}

impl Unpacker {
    fn unpack(&self, compression: u8, packed: &[u8], length: usize) -> Result<Vec<u8>, Corrupt> {
        let mut plain = Vec::new();
        // What a thread that panicked left is as good as new.
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let decompressor = match shared.take() {
            Some(made) => made,
            None => Decompressor::new().map_err(|_| Corrupt("there is no memory to read it"))?,
        };
        let decompressor = shared.insert(decompressor);
        match compression {
            ZSTD => {
                let frame = [&ZSTD_MAGIC, packed].concat();
                unpack(ZSTD, &frame, length, decompressor, &mut plain)?;
            }
            other => unpack(other, packed, length, decompressor, &mut plain)?,
        }
        Ok(plain)
    }
}

/// A part of the file, packed.
#[derive(Debug, Default)]
pub(super) struct Part {
    bytes: Vec<u8>,
    pub(super) pieces: Vec<Piece>,
    /// The bytes of all pieces, unpacked.
    pub(super) plain_bytes: usize,
}

/// Some columns of a part.
#[derive(Debug)]
pub(super) struct Piece {
    /// The columns, by their numbers.
    pub(super) columns: Range<usize>,
    plain_bytes: usize,
    compression: u8,
    packed: Range<usize>,
    bits: Range<usize>,
}

impl Part {
    /// A part as it is in the file.
    pub(super) fn parse(bytes: Vec<u8>) -> Result<Part, Corrupt> {
        let mut part = Part::default();
        if bytes.is_empty() {
            return Ok(part);
        }
        if !is_sound(&bytes) {
            return Err(Corrupt("its checksum is wrong"));
        }
        let end = bytes.len() - CRC_BYTES;
        let mut heads = Bytes::new(&bytes[..end]);
        let mut column = 0_usize;
        for _ in 0..heads.count()? {
            let columns = usize::try_from(heads.varint()?).unwrap_or(usize::MAX);
            let plain_bytes = usize::try_from(heads.varint()?).unwrap_or(usize::MAX);
            let compression = heads.byte()?;
            let (packed, bits) = (heads.count()?, heads.count()?);
            let after = column.checked_add(columns).ok_or(Corrupt("it has too many columns"))?;
            part.plain_bytes = part.plain_bytes.saturating_add(plain_bytes);
            part.pieces.push(Piece {
                columns: column..after,
                plain_bytes,
                compression,
                packed: 0..packed,
                bits: 0..bits,
            });
            column = after;
        }
        if part.plain_bytes as u64 > PART_BYTES_MAX {
            return Err(Corrupt("it is too long"));
        }
        let mut at = heads.position();
        let mut place = |length: usize| {
            let begun = at;
            at = at.saturating_add(length);
            begun..at
        };
        for piece in &mut part.pieces {
            (piece.packed, piece.bits) = (place(piece.packed.len()), place(piece.bits.len()));
        }
        if at != end {
            return Err(Corrupt("it has not all of its pieces"));
        }
        part.bytes = bytes;
        Ok(part)
    }

    /// A part of one piece, which is not compressed.
    #[cfg(test)]
    pub(super) fn of_one_piece(plain: Plain, columns: usize) -> Part {
        let lengths = (plain.bytes.len(), plain.bytes.len() + plain.bits.len());
        let piece = Piece {
            columns: 0..columns,
            plain_bytes: lengths.0,
            compression: crate::compression::STORED,
            packed: 0..lengths.0,
            bits: lengths.0..lengths.1,
        };
        let bytes = [plain.bytes, plain.bits].concat();
        Part { bytes, pieces: vec![piece], plain_bytes: lengths.0 }
    }

    /// The number of columns of the part.
    pub(super) fn columns(&self) -> usize {
        self.pieces.last().map_or(0, |piece| piece.columns.end)
    }

    /// The memory that it takes, packed and unpacked.
    pub(super) fn size_bytes(&self) -> usize {
        self.bytes.len() + self.plain_bytes + size_of_val(&*self.pieces)
    }

    /// What a piece says; its bits have [`BITS_PADDING`] after them.
    pub(super) fn unpack(&self, piece: &Piece, unpacker: &Unpacker) -> Result<Plain, Corrupt> {
        let mut plain = Plain::default();
        self.add(piece, unpacker, &mut plain)?;
        plain.bits.resize(plain.bits.len() + BITS_PADDING, 0);
        Ok(plain)
    }

    /// What all pieces say, as one.
    pub(super) fn whole(&self, unpacker: &Unpacker) -> Result<Plain, Corrupt> {
        let mut plain = Plain::default();
        for piece in &self.pieces {
            self.add(piece, unpacker, &mut plain)?;
        }
        plain.bits.resize(plain.bits.len() + BITS_PADDING, 0);
        Ok(plain)
    }

    fn add(&self, piece: &Piece, unpacker: &Unpacker, out: &mut Plain) -> Result<(), Corrupt> {
        let of = |range: &Range<usize>| self.bytes.get(range.clone()).unwrap_or_default();
        let bytes = unpacker.unpack(piece.compression, of(&piece.packed), piece.plain_bytes)?;
        match out.bytes.is_empty() {
            true => out.bytes = bytes,
            false => out.bytes.extend_from_slice(&bytes),
        }
        out.bits.extend_from_slice(of(&piece.bits));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compression::Compression;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_return_piece_by_piece_and_as_a_whole(
            columns in proptest::collection::vec(
                (1_usize..3_000, proptest::collection::vec(any::<u8>(), 0..40)), 0..12),
            is_compressed: bool,
        ) {
            let (mut pieces, mut whole) = (Pieces::default(), Plain::default());
            for (number, (length, bits)) in columns.iter().enumerate() {
                let bytes = vec![number as u8; *length];
                for plain in [&mut pieces.open, &mut whole] {
                    plain.bytes.extend_from_slice(&bytes);
                    plain.bits.extend_from_slice(bits);
                }
                pieces.end_column();
            }
            let compression =
                if is_compressed { Compression::Zstd(3) } else { Compression::None };
            let mut packer = Packer::new(compression, PIECE_BYTES).unwrap();
            let (mut directory, mut parts) = (Vec::new(), Vec::new());
            pieces.append(&mut packer, &mut directory, &mut parts);
            prop_assert_eq!(Bytes::new(&directory).varint().unwrap(), parts.len() as u64);
            let part = Part::parse(parts).unwrap();
            prop_assert_eq!(part.columns(), columns.len());
            let unpacker = Unpacker::default();
            let (mut bytes, mut bits) = (Vec::new(), Vec::new());
            for piece in &part.pieces {
                let plain = part.unpack(piece, &unpacker).unwrap();
                bytes.extend_from_slice(&plain.bytes);
                bits.extend_from_slice(&plain.bits[..plain.bits.len() - BITS_PADDING]);
            }
            prop_assert_eq!((&bytes, &bits), (&whole.bytes, &whole.bits));
            let all = part.whole(&unpacker).unwrap();
            prop_assert_eq!(&all.bytes, &whole.bytes);
            prop_assert_eq!(all.bits.len(), whole.bits.len() + BITS_PADDING);
        }

        #[test]
        fn any_part_is_read_or_refused(
            mut bytes in proptest::collection::vec(
                prop_oneof![4 => 0_u8..6, 1 => any::<u8>()], 0..60),
        ) {
            let own_crc = crc(&[&bytes]);
            bytes.extend_from_slice(&own_crc.to_le_bytes());
            if let Ok(part) = Part::parse(bytes) {
                let _ = part.whole(&Unpacker::default());
            }
        }
    }
}

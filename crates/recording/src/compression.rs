//! Compression of heads and bodies, with memory that is reused.

use varint::Corrupt;
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::{CParameter, Strategy};

/// How a recording's blocks are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Frames, as first written: nothing is done at the end of a block.
    FramesOnly,
    /// Column by column, not compressed.
    None,
    /// Column by column and compressed by zstd at this level (1 to 19).
    Zstd(i32),
}

impl Default for Compression {
    /// Level 1: differences of kernel counters have little redundancy, and higher levels cost
    /// several times as much to save a few per cent.
    fn default() -> Self {
        Compression::Zstd(1)
    }
}

/// Codes of compression in the file.
pub(crate) const STORED: u8 = 0;
pub(crate) const ZSTD: u8 = 1;
/// How every frame of zstd begins; side files and summaries leave it out.
pub const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Only for heads: zstd with [`HEAD_DICTIONARY`].
pub(crate) const ZSTD_HEAD: u8 = 2;

/// An encoded head with the sources as they were when version 2 of the format was released; most
/// heads are nearly the same.  Readers need it, so it is part of the format and never changes.
/// The definitions of newer or changed sources are stored in full.
const HEAD_DICTIONARY: &[u8] = include_bytes!("head-1.dictionary");

/// Compresses a head; returns the stored bytes and the code of the compression.
pub(crate) fn pack_head(plain: &[u8]) -> std::io::Result<(Vec<u8>, u8)> {
    /// Heads are written once and kept with every recording.
    const LEVEL: i32 = 9;
    let mut compressor = Compressor::with_dictionary(LEVEL, HEAD_DICTIONARY)?;
    let stored = compressor.compress(plain)?;
    Ok(if stored.len() < plain.len() { (stored, ZSTD_HEAD) } else { (plain.to_vec(), STORED) })
}

/// Decompresses a head of any version.
pub(crate) fn unpack_head(code: u8, stored: &[u8], plain_bytes: usize) -> Result<Vec<u8>, Corrupt> {
    let dictionary = if code == ZSTD_HEAD { HEAD_DICTIONARY } else { &[] };
    let code = if code == ZSTD_HEAD { ZSTD } else { code };
    let decompressor = Decompressor::with_dictionary(dictionary);
    let mut decompressor = decompressor.map_err(|_| Corrupt("there is no memory to read it"))?;
    let mut out = Vec::new();
    unpack(code, stored, plain_bytes, &mut decompressor, &mut out)?;
    Ok(out)
}

/// Compresses bodies, keeping its memory between them.
pub(crate) struct Packer {
    zstd: Option<Compressor<'static>>,
}

impl Packer {
    /// A packer for this compression.  zstd's memory is allocated here, once.
    pub(crate) fn new(compression: Compression, typical_bytes: usize) -> std::io::Result<Self> {
        let Compression::Zstd(level) = compression else {
            return Ok(Packer { zstd: None });
        };
        let mut zstd = Compressor::new(level.clamp(1, 19))?;
        zstd.include_contentsize(false)?;
        zstd.include_checksum(false)?;
        zstd.include_dictid(false)?;
        // zstd sizes its tables by its first input: give it a typical one.
        let mut out = Vec::with_capacity(zstd::zstd_safe::compress_bound(typical_bytes));
        zstd.compress_to_buffer(&vec![0; typical_bytes], &mut out)?;
        Ok(Packer { zstd: Some(zstd) })
    }

    /// Looks for long matches only, and for the cheapest of them.  Short ones among the tokens of
    /// columns, which are mostly noise, make files larger and cost a reader a fifth of a column's time.
    pub(crate) fn with_long_matches(mut self) -> std::io::Result<Self> {
        if let Some(zstd) = &mut self.zstd {
            zstd.set_parameter(CParameter::MinMatch(7))?;
            zstd.set_parameter(CParameter::Strategy(Strategy::ZSTD_btopt))?;
        }
        Ok(self)
    }

    /// Appends `plain` to `out`, compressed if that is smaller; returns the code of the compression.
    pub(crate) fn append(&mut self, plain: &[u8], out: &mut Vec<u8>) -> u8 {
        let start = out.len();
        // Space for the worst case: with less zstd returns an error, which allocates.
        out.resize(start + zstd::zstd_safe::compress_bound(plain.len()), 0);
        if let Some(zstd) = &mut self.zstd
            && let Ok(length) = zstd.compress_to_buffer(plain, &mut out[start..])
            && length < plain.len()
        {
            out.truncate(start + length);
            return ZSTD;
        }
        out.truncate(start);
        out.extend_from_slice(plain);
        STORED
    }
}

/// Decompresses a part; `plain_bytes`, the length that the file gives, is also the limit.
pub(crate) fn unpack(
    code: u8,
    stored: &[u8],
    plain_bytes: usize,
    decompressor: &mut Decompressor<'static>,
    out: &mut Vec<u8>,
) -> Result<(), Corrupt> {
    out.clear();
    match code {
        STORED => out.extend_from_slice(stored),
        ZSTD => {
            out.resize(plain_bytes, 0);
            let length = decompressor
                .decompress_to_buffer(stored, out.as_mut_slice())
                .map_err(|_| Corrupt("it does not decompress"))?;
            out.truncate(length);
        }
        _ => return Err(Corrupt("it is compressed in an unknown way")),
    }
    if out.len() == plain_bytes { Ok(()) } else { Err(Corrupt("its length is not what it says")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dictionary_never_changes() {
        assert_eq!(
            (HEAD_DICTIONARY.len(), crc32c::crc32c(HEAD_DICTIONARY)),
            (34_305, 1_880_417_939)
        );
    }

    #[test]
    fn heads_return() {
        for plain in [b"".as_slice(), b"short", &HEAD_DICTIONARY[100..9_000]] {
            let (stored, code) = pack_head(plain).unwrap();
            assert!(stored.len() <= plain.len().min(100));
            assert_eq!(unpack_head(code, &stored, plain.len()).unwrap(), plain);
            assert!(unpack_head(code, &stored, plain.len() + 1).is_err());
        }
    }
}

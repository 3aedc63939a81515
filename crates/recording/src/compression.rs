//! Compression of bodies, as an option of the writer, with memory that is kept.

use crate::varint::Corrupt;
use zstd::bulk::{Compressor, Decompressor};

/// How a recording's blocks are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Samples stay as they were first written: nothing is done at the end of a block.
    FramesOnly,
    /// Column by column, not compressed.
    None,
    /// Column by column and compressed by zstd at this level (1 to 19).
    Zstd(i32),
}

impl Default for Compression {
    /// Level 1: on kernel counters, which leave little to find once differences are taken,
    /// higher levels cost several times as much for a few per cent.
    fn default() -> Self {
        Compression::Zstd(1)
    }
}

/// Codes of compression in the file.
pub(crate) const STORED: u8 = 0;
pub(crate) const ZSTD: u8 = 1;

/// Compresses bodies, keeping its memory between them.
pub(crate) struct Packer {
    zstd: Option<Compressor<'static>>,
}

impl Packer {
    /// For a writer's option.  zstd's memory is taken here, once.
    pub(crate) fn new(compression: Compression, typical_bytes: usize) -> std::io::Result<Self> {
        let Compression::Zstd(level) = compression else {
            return Ok(Packer { zstd: None });
        };
        let mut zstd = Compressor::new(level.clamp(1, 19))?;
        zstd.include_contentsize(false)?;
        zstd.include_checksum(false)?;
        zstd.include_dictid(false)?;
        // zstd sizes its tables by its first input; let that be a typical one.
        let mut out = Vec::with_capacity(zstd::zstd_safe::compress_bound(typical_bytes));
        zstd.compress_to_buffer(&vec![0; typical_bytes], &mut out)?;
        Ok(Packer { zstd: Some(zstd) })
    }

    /// Appends `plain` to `out`, compressed if that is smaller; returns the code of what it did.
    pub(crate) fn append(&mut self, plain: &[u8], out: &mut Vec<u8>) -> u8 {
        let start = out.len();
        out.resize(start + plain.len(), 0);
        if let Some(zstd) = &mut self.zstd
            && let Ok(length) = zstd.compress_to_buffer(plain, &mut out[start..])
            && length < plain.len()
        {
            out.truncate(start + length);
            return ZSTD;
        }
        out[start..].copy_from_slice(plain);
        STORED
    }
}

/// Undoes [`Packer::append`]; `plain_bytes` is what the file says and a limit.
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

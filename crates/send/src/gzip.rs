//! Bodies packed by gzip (RFC 1952), one after the other: the state of a packer has 200 KiB, which is too much to
//! be made and given back for each request of some kilobytes.

use flate2::{Compress, Compression, Crc, FlushCompress, Status};

/// The head: deflate, no name, no time, packed fast, on an unknown system.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255];

/// Room that is made when the output has none.
const ROOM_BYTES: usize = 16 << 10;

/// Packs bodies.
pub(crate) struct GzipPacker {
    deflate: Compress,
}

impl Default for GzipPacker {
    fn default() -> Self {
        GzipPacker { deflate: Compress::new(Compression::fast(), false) }
    }
}

impl GzipPacker {
    /// A message as a file of gzip.
    pub(crate) fn pack(&mut self, message: &[u8]) -> Vec<u8> {
        let mut packed = HEAD.to_vec();
        self.deflate.reset();
        loop {
            packed.reserve(ROOM_BYTES);
            let rest = usize::try_from(self.deflate.total_in()).unwrap_or(usize::MAX);
            let rest = message.get(rest..).unwrap_or_default();
            match self.deflate.compress_vec(rest, &mut packed, FlushCompress::Finish) {
                Ok(Status::Ok | Status::BufError) => {}
                // Packing into memory does not fail.
                Ok(Status::StreamEnd) | Err(_) => break,
            }
        }
        let mut sum = Crc::new();
        sum.update(message);
        packed.extend_from_slice(&sum.sum().to_le_bytes());
        packed.extend_from_slice(&sum.amount().to_le_bytes());
        packed
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn each_body_is_a_file_of_gzip_of_its_own() {
        let mut random = testkit::Random::from_seed(testkit::seed(271));
        let mut packer = GzipPacker::default();
        for length in [0, 1, 3_000, 100_000, 0, 7] {
            let message: Vec<u8> = (0..length).map(|_| random.below(200) as u8).collect();
            let mut read = Vec::new();
            let packed = packer.pack(&message);
            flate2::read::MultiGzDecoder::new(packed.as_slice()).read_to_end(&mut read).unwrap();
            assert!(read == message, "{length}");
        }
    }
}

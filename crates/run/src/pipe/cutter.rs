//! Cutting a stream into blocks of whole records.

use super::{Options, PipeError};

/// Whole records for one job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The bytes; the header is not among them (see [`Cutter::header`]).
    pub bytes: Vec<u8>,
}

/// Cuts a stream into blocks; see the module.
pub struct Cutter {
    options: Options,
    buffer: Vec<u8>,
    filled: usize,
    ended: bool,
}

impl Cutter {
    /// A cutter at the beginning of a stream.
    pub fn new(options: Options) -> Result<Cutter, PipeError> {
        Ok(Cutter { options, buffer: Vec::new(), filled: 0, ended: false })
    }

    /// Where the next bytes of the stream are to be read to; never empty.
    pub fn space(&mut self) -> &mut [u8] {
        let needed = self.filled + self.options.block_bytes as usize;
        self.buffer.resize(needed, 0);
        &mut self.buffer[self.filled..]
    }

    /// So many bytes were read into [`Cutter::space`].
    pub fn filled(&mut self, count: usize) {
        self.filled += count;
    }

    /// The stream is at its end: what is left is the last block.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Next time, give the whole records that are there although they do not make a block
    /// (`--block-timeout`).
    pub fn flush(&mut self) {}

    /// The next block; `None` when more has to be read first, or at the end.
    pub fn block(&mut self) -> Result<Option<Block>, PipeError> {
        Ok(None)
    }

    /// What every job is to be given before its block.
    pub fn header(&self) -> &[u8] {
        &[]
    }

    /// Gives back the buffer of a block that has been written.
    pub fn recycle(&mut self, bytes: Vec<u8>) {
        drop(bytes);
    }
}

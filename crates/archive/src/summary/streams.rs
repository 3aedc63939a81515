//! The numbers of a field in a segment, divided by what they say: numbers of one kind are alike, so
//! each kind is a stream of its own that is compressed by itself.

use recording::{Bytes, Corrupt, put};

/// What numbers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// What follows in the others.
    Tokens,
    /// How many values there are, and their time, where that is not as expected.
    Counts,
    Sums,
    /// The first level of each instance.
    Firsts,
    Lasts,
    Smallest,
    Largest,
    /// The times of single rates.
    Times,
    /// Texts, each with its length in front.
    Texts,
}

/// How many streams there are.
pub(super) const STREAMS: usize = 9;

/// The numbers of a column, each with its stream in front, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers(Vec<u8>);

impl Numbers {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn put(&mut self, stream: Stream, number: u64) {
        self.0.push(stream as u8);
        put(&mut self.0, number);
    }

    /// Appends each number to its stream.
    pub(super) fn divide(&self, streams: &mut [Vec<u8>; STREAMS]) {
        let mut bytes = Bytes::new(&self.0);
        while let (Ok(stream), Ok(number)) = (bytes.byte(), bytes.varint()) {
            streams.get_mut(usize::from(stream)).into_iter().for_each(|out| put(out, number));
        }
    }
}

/// The streams of a field being read.
#[derive(Debug)]
pub(super) struct Streams<'a>([Bytes<'a>; STREAMS]);

impl<'a> Streams<'a> {
    pub(super) fn new(stored: &'a [Vec<u8>; STREAMS]) -> Self {
        Streams(stored.each_ref().map(|bytes| Bytes::new(bytes)))
    }

    pub(super) fn of(&mut self, stream: Stream) -> &mut Bytes<'a> {
        &mut self.0[stream as usize]
    }

    /// The next number of a stream.
    #[inline]
    pub(super) fn next(&mut self, stream: Stream) -> Result<u64, Corrupt> {
        self.of(stream).varint()
    }
}

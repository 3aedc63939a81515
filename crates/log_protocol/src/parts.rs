//! What is longer than a frame: in parts, each a frame that says how many bytes are still to come.
//!
//! The head of a recording may have some MiB (a poller of thousands of devices), and so may a sample with a
//! row for each process.  A reader keeps what has come, up to a limit that it gives.

use std::io::{self, Write};

use crate::frame::{self, Head};

/// Bytes of a part.
const PART_BYTES: usize = 256 << 10;

/// Writes bytes as frames of this head.
///
/// # Errors
/// If the connection breaks, or they are more than 4 GiB.
pub fn send_parts(to: &mut impl Write, head: Head, body: &[u8]) -> io::Result<()> {
    let mut left = body.len();
    let mut bytes = Vec::with_capacity(frame::HEAD_BYTES + left.min(PART_BYTES));
    let empty = body.is_empty().then_some(&[][..]);
    for part in body.chunks(PART_BYTES).chain(empty) {
        left -= part.len();
        let left_out = u32::try_from(left).map_err(io::Error::other)?;
        bytes.clear();
        frame::put(&mut bytes, Head { left_out, ..head }, part);
        to.write_all(&bytes)?;
    }
    to.flush()
}

/// Puts parts together.
#[derive(Debug, Default)]
pub struct Parts {
    /// The head of the parts that have come, and how many bytes are still to come.
    begun: Option<Head>,
    bytes: Vec<u8>,
}

/// Parts that do not fit together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    /// Together they are more than the limit.
    #[error("{0} bytes at once are more than this server takes")]
    TooLong(usize),
    /// A part of something else comes before the last part.
    #[error("a part is missing")]
    Missing,
}

impl Parts {
    /// How many bytes there will be, with this part.
    #[must_use]
    pub fn length_with(&self, head: &Head) -> usize {
        self.bytes.len() + head.body_bytes as usize + head.left_out as usize
    }

    /// Adds a part; gives all bytes after the last one.
    ///
    /// # Errors
    /// If it does not follow the part before it, or there are more than `most` bytes.
    pub fn add(
        &mut self,
        head: &Head,
        body: &[u8],
        most: usize,
    ) -> Result<Option<Vec<u8>>, PartError> {
        let length = self.length_with(head);
        if length > most {
            return Err(PartError::TooLong(length));
        }
        let follows = |before: &Head| {
            let same = |head: &Head| (head.kind, head.stream, head.first, head.next, head.count);
            same(before) == same(head)
                && before.left_out as usize == body.len() + head.left_out as usize
        };
        if !self.begun.as_ref().is_none_or(follows) {
            return Err(PartError::Missing);
        }
        self.bytes.extend_from_slice(body);
        if head.left_out > 0 {
            self.begun = Some(*head);
            return Ok(None);
        }
        self.begun = None;
        Ok(Some(std::mem::take(&mut self.bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StreamId;
    use crate::frame::{FrameKind, HEAD_BYTES};

    #[test]
    fn parts_come_back_and_nothing_else_is_taken() {
        let head = Head::of(FrameKind::Samples, StreamId::of_recording(7), 3, 5, 2);
        for length in [0, 1, PART_BYTES, 2 * PART_BYTES + 9] {
            let body: Vec<u8> = (0..length).map(|at| at as u8).collect();
            let mut sent = Vec::new();
            send_parts(&mut sent, head, &body).unwrap();
            let (mut parts, mut rest, mut whole) = (Parts::default(), sent.as_slice(), None);
            while !rest.is_empty() {
                let one = Head::decode(rest).unwrap();
                let (part, behind) = rest[HEAD_BYTES..].split_at(one.body_bytes as usize);
                assert_eq!(whole, None);
                whole = parts.add(&one, part, length).unwrap();
                let other = Head { next: 6, ..one };
                if one.left_out > 0 {
                    assert_eq!(parts.add(&other, part, 1 << 30), Err(PartError::Missing));
                }
                rest = behind;
            }
            assert_eq!(whole, Some(body));
        }
        let long = Head { body_bytes: 1, left_out: 9, ..head };
        assert_eq!(Parts::default().add(&long, b"x", 9), Err(PartError::TooLong(10)));
    }
}

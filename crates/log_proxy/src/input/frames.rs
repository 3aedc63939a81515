//! Bytes of a stream as frames: lines, or counted octets (RFC 6587), of bounded length.

use super::TEXT_BYTES_MAX;

/// Digits of a count of octets; longer ones are text.
const DIGITS_MAX: usize = 9;

/// A frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputFrame<'a> {
    /// The bytes of the frame, without what ends it.
    pub bytes: &'a [u8],
    /// Bytes that are left out, because it was longer than [`TEXT_BYTES_MAX`].
    pub left_out: u64,
    /// Bytes of the stream up to its end.
    pub end: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrameState {
    /// At the begin of a frame, of which some digits have come.
    Begin,
    Line,
    /// So many octets are to come.
    Counted(u64),
}

/// Makes frames of what comes in pieces.
#[derive(Debug)]
pub struct InputFrames {
    state: FrameState,
    may_count: bool,
    bytes: Vec<u8>,
    left_out: u64,
    end: u64,
}

impl InputFrames {
    /// Lines.
    #[must_use]
    pub fn lines(offset: u64) -> Self {
        let state = FrameState::Line;
        InputFrames { state, may_count: false, bytes: Vec::new(), left_out: 0, end: offset }
    }

    /// Frames that begin with a count of octets, or else lines, as they come.
    #[must_use]
    pub fn counted_or_lines() -> Self {
        InputFrames { state: FrameState::Begin, may_count: true, ..InputFrames::lines(0) }
    }

    /// Bytes that belong to no whole frame yet.
    #[must_use]
    pub fn has_part(&self) -> bool {
        !self.bytes.is_empty() || self.left_out > 0
    }

    /// Takes bytes, and gives each frame that is whole now.
    pub fn add_bytes(&mut self, mut bytes: &[u8], mut each: impl FnMut(InputFrame<'_>)) {
        while !bytes.is_empty() {
            let length = match self.state {
                FrameState::Begin => self.begin(bytes),
                FrameState::Line => match memchr::memchr(b'\n', bytes) {
                    Some(at) => {
                        self.end += 1;
                        self.end_with(&bytes[..at], &mut each);
                        at + 1
                    }
                    None => {
                        self.keep(bytes);
                        bytes.len()
                    }
                },
                FrameState::Counted(left) => match usize::try_from(left) {
                    Ok(left) if left <= bytes.len() => {
                        self.end_with(&bytes[..left], &mut each);
                        left
                    }
                    _ => {
                        self.keep(bytes);
                        self.state = FrameState::Counted(left - bytes.len() as u64);
                        bytes.len()
                    }
                },
            };
            bytes = &bytes[length..];
        }
    }

    /// Gives what is left at the end of the stream.
    pub fn finish(&mut self, mut each: impl FnMut(InputFrame<'_>)) {
        if self.has_part() {
            self.pass_frame(&mut each);
        }
    }

    /// Takes a byte of the begin of a frame; gives how many bytes that were: none of a line's.
    fn begin(&mut self, bytes: &[u8]) -> usize {
        let byte = bytes[0];
        let has_digits = !self.bytes.is_empty();
        if byte.is_ascii_digit() && self.bytes.len() < DIGITS_MAX && (has_digits || byte != b'0') {
            self.bytes.push(byte);
        } else if byte == b' ' && has_digits {
            let count = self.bytes.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
            self.bytes.clear();
            self.state = FrameState::Counted(count);
        } else if byte == b'\n' && !has_digits {
            // What some senders put behind counted frames.
        } else {
            self.state = FrameState::Line;
            return 0;
        }
        self.end += 1;
        1
    }

    fn keep(&mut self, bytes: &[u8]) {
        let length = bytes.len().min(TEXT_BYTES_MAX - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..length]);
        self.left_out += (bytes.len() - length) as u64;
        self.end += bytes.len() as u64;
    }

    /// Gives the frame whose last bytes these are; where all of it is here, it is not copied.
    fn end_with(&mut self, bytes: &[u8], each: &mut impl FnMut(InputFrame<'_>)) {
        if self.has_part() || bytes.len() > TEXT_BYTES_MAX {
            self.keep(bytes);
            return self.pass_frame(each);
        }
        self.end += bytes.len() as u64;
        each(InputFrame { bytes, left_out: 0, end: self.end });
        self.begin_next();
    }

    /// Gives the frame that was kept.
    fn pass_frame(&mut self, each: &mut impl FnMut(InputFrame<'_>)) {
        each(InputFrame { bytes: &self.bytes, left_out: self.left_out, end: self.end });
        self.bytes.clear();
        self.left_out = 0;
        self.begin_next();
    }

    fn begin_next(&mut self) {
        self.state = if self.may_count { FrameState::Begin } else { FrameState::Line };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(mut frames: InputFrames, text: &[u8], piece: usize) -> Vec<(Vec<u8>, u64, u64)> {
        let mut all = Vec::new();
        for bytes in text.chunks(piece) {
            frames.add_bytes(bytes, |one| all.push((one.bytes.to_vec(), one.left_out, one.end)));
        }
        frames.finish(|one| all.push((one.bytes.to_vec(), one.left_out, one.end)));
        all
    }

    #[test]
    fn frames_are_the_same_in_whatever_pieces_they_come() {
        let text = b"7 <13>abc\n5 a\nb\nc<14>line\n12x\n0 x\n1234567890 x\n\n3 abcrest";
        let expected =
            ["<13>abc", "a\nb\nc", "<14>line", "12x", "0 x", "1234567890 x", "abc", "rest"];
        for piece in 1..text.len() {
            let found = frames(InputFrames::counted_or_lines(), text, piece);
            let texts: Vec<&[u8]> = found.iter().map(|one| &*one.0).collect();
            assert_eq!(texts, expected.map(str::as_bytes), "{piece}");
            assert_eq!(found.last().map(|one| one.2), Some(text.len() as u64));
        }
        let lines = frames(InputFrames::lines(10), b"a\n\n\0\xff\r\nlast", 3);
        let expected: [(&[u8], u64); 4] = [(b"a", 12), (b"", 13), (b"\0\xff\r", 17), (b"last", 21)];
        assert!(lines.iter().map(|one| (&*one.0, one.2)).eq(expected), "{lines:?}");
    }

    #[test]
    fn what_is_too_long_is_left_out_and_counted() {
        let long = vec![b'x'; TEXT_BYTES_MAX + 7];
        let line = [&long[..], b"\nnext\n"].concat();
        let counted = [format!("{} ", long.len()).as_bytes(), &long, b"4 next"].concat();
        for (kind, text) in
            [(InputFrames::lines(0), line), (InputFrames::counted_or_lines(), counted)]
        {
            let found = frames(kind, &text, 4096);
            assert_eq!((found[0].0.len(), found[0].1), (TEXT_BYTES_MAX, 7));
            assert_eq!((found.len(), &*found[1].0), (2, &b"next"[..]));
        }
    }
}

//! Splits a stream into blocks of whole records.

use std::io::{ErrorKind, Read};
use std::mem;

use memchr::memchr_iter;
use regex::bytes::Regex;

use super::key::Groups;
use super::separator::Separator;
use super::{
    BLOCK_BYTES, BlockSize, HEADER_BYTES_MAX, PipeError, PipeHeader, PipeOptions, RECORD_BYTES_MAX,
};
use crate::input::{bytes_pattern, is_space};

/// Bytes to read ahead if blocks are smaller, to make fewer read(2) calls for many small blocks.
const READ_BYTES: usize = 256 << 10;

/// Most buffers kept for reuse: about one that a job reads from and one that is filled.
const SPARE_MAX: usize = 4;

/// Whole records for one job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordBlock {
    /// The bytes; the header is not among them (see [`Cutter::header`]).
    pub bytes: Vec<u8>,
}

/// Splits a stream into blocks; see the module.
pub struct Cutter {
    separator: Separator,
    /// Borders of groups, which take the place of the separator.
    groups: Option<Groups>,
    records_max: Option<u64>,
    /// What is removed from each block.
    removed: Option<Separator>,
    /// The first line is still to be left out.
    skips_line: bool,
    /// The header that is still to be found.
    awaited: Awaited,
    header: Vec<u8>,
    /// Bytes of a block; enlarged when a record is longer.
    block: usize,
    limit: u64,
    /// What was read; `start..filled` is not handed out yet.
    buffer: Vec<u8>,
    start: usize,
    filled: usize,
    ended: bool,
    flush: bool,
    /// Whether a block was handed out.
    has_begun: bool,
    /// Start of the last, incomplete line, if blank lines are dropped.
    line: Option<usize>,
    spare: Vec<Vec<u8>>,
    warnings: Vec<String>,
}

/// The header that is still to be read.
enum Awaited {
    Nothing,
    Lines(u64),
    Pattern(Regex),
}

impl Cutter {
    /// A cutter at the beginning of a stream.
    pub fn new(options: &PipeOptions) -> Result<Cutter, PipeError> {
        let block = match options.block {
            None => BLOCK_BYTES,
            Some(BlockSize::Bytes(bytes)) => bytes.max(1),
            Some(BlockSize::PerSlot(_)) => {
                return Err(PipeError::Options(
                    "a negative --block needs --pipe-part: a stream has no size to be divided",
                ));
            }
        };
        let awaited = match &options.header {
            PipeHeader::None => Awaited::Nothing,
            PipeHeader::Lines(lines) => Awaited::Lines(*lines),
            PipeHeader::Pattern(pattern) => Awaited::Pattern(header_pattern(pattern)?),
        };
        Ok(Cutter {
            separator: Separator::new(options)?,
            groups: options.group_by.clone().map(Groups::new),
            records_max: options.records_max.filter(|records| *records > 0),
            removed: options
                .remove_separators
                .then(|| Separator::of_records(options))
                .transpose()?,
            awaited,
            skips_line: options.skips_first_line,
            header: Vec::new(),
            block: usize::try_from(block).unwrap_or(usize::MAX),
            limit: block.max(RECORD_BYTES_MAX),
            buffer: Vec::new(),
            start: 0,
            filled: 0,
            ended: false,
            flush: false,
            has_begun: false,
            line: options.drop_blank_lines.then_some(0),
            spare: Vec::new(),
            warnings: Vec::new(),
        })
    }

    /// The buffer for the next bytes of the stream; never empty.
    pub fn space(&mut self) -> &mut [u8] {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.line = self.line.map(|line| line.saturating_sub(self.start));
            self.filled -= self.start;
            self.start = 0;
        }
        // A large block is allocated gradually: memory follows what really comes.
        let wanted = match self.awaited {
            Awaited::Nothing => self.block.max(READ_BYTES).min((self.filled * 2).max(READ_BYTES)),
            _ => self.filled + READ_BYTES,
        };
        let wanted = wanted.max(self.filled + 1);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        &mut self.buffer[self.filled..wanted]
    }

    /// Reports that `count` bytes were read into [`Cutter::space`].
    pub fn filled(&mut self, count: usize) {
        self.filled = (self.filled + count).min(self.buffer.len());
        self.drop_blank_lines();
    }

    /// Reports the end of the stream: the rest is the last block.
    pub fn end(&mut self) {
        self.ended = true;
        if let Some(line) = self.line
            && self.buffer[line..self.filled].iter().all(is_space)
        {
            self.filled = line;
        }
    }

    /// The next block may be incomplete: it has the whole records that there are
    /// (`--block-timeout`).
    pub fn flush(&mut self) {
        self.flush = true;
    }

    /// Whether no further block will come.
    pub fn is_done(&self) -> bool {
        self.ended && self.start == self.filled
    }

    /// The header, which every job gets before its block.
    pub fn header(&self) -> &[u8] {
        &self.header
    }

    /// The warnings since the last call.
    pub fn take_warnings(&mut self) -> Vec<String> {
        mem::take(&mut self.warnings)
    }

    /// Returns the buffer of a block that was written.
    pub fn recycle(&mut self, bytes: Vec<u8>) {
        if self.spare.len() < SPARE_MAX {
            self.spare.push(bytes);
        }
    }

    /// The next block; `None` when more must be read first, or at the end.
    pub fn block(&mut self) -> Result<Option<RecordBlock>, PipeError> {
        if !self.skip_line() || !self.find_header() {
            return Ok(None);
        }
        loop {
            if let Some(groups) = &mut self.groups {
                let bytes = &self.buffer[self.start..self.filled];
                groups.scan(bytes, &self.header, self.ended)?;
            }
            let there = self.filled - self.start;
            if there == 0 {
                return Ok(None);
            }
            let full = there >= self.block;
            let cut = match self.records_max {
                Some(count) => self.cut_records(count),
                None => self.cut_block(full),
            };
            let rest = self.ended && (!full || self.records_max.is_some());
            if let Some(length) = cut.or(rest.then_some(there)) {
                self.flush = false;
                let block = self.cut(length);
                if block.bytes.is_empty() {
                    continue;
                }
                return Ok(Some(block));
            }
            if !full {
                self.flush = false;
                return Ok(None);
            }
            self.raise()?;
        }
    }

    /// Reads until there is a block, and returns it; `None` at the end.
    pub fn read_block(&mut self, stream: &mut impl Read) -> Result<Option<RecordBlock>, PipeError> {
        loop {
            if let Some(block) = self.block()? {
                return Ok(Some(block));
            }
            if self.ended {
                return Ok(None);
            }
            match stream.read(self.space()) {
                Ok(0) => self.end(),
                Ok(count) => self.filled(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The end of a block of `count` records.  What stands before the first start of a record is a
    /// block of its own.
    fn cut_records(&self, count: u64) -> Option<usize> {
        if let Some(groups) = &self.groups {
            return groups.after(count);
        }
        let bytes = &self.buffer[self.start..self.filled];
        let is_whole = self.has_begun || self.separator.is_start(bytes);
        let count = if is_whole { count } else { 1 };
        self.separator.after(bytes, count, self.ended || bytes.len() >= self.block)
    }

    /// The end of a block of the size asked for, or of what there is.
    fn cut_block(&self, full: bool) -> Option<usize> {
        let bytes = &self.buffer[self.start..self.filled];
        if let Some(groups) = &self.groups {
            let is_wanted = full || self.flush && !self.ended;
            return groups.last(self.block).filter(|_| is_wanted);
        }
        match (&self.separator, full) {
            (_, true) => self.separator.last(&bytes[..self.block]),
            // Lines too few for a record are a block of their own.
            (Separator::Lines(_), false) if self.ended => self.separator.last(bytes),
            (_, false) if self.flush && !self.ended => self.separator.last(bytes),
            _ => None,
        }
    }

    /// No record ends in a block: enlarges the block.
    fn raise(&mut self) -> Result<(), PipeError> {
        if self.block as u64 >= self.limit {
            self.ended = true;
            self.filled = 0;
            self.start = 0;
            self.buffer = Vec::new();
            return Err(PipeError::TooLong { limit: self.limit });
        }
        let larger = self.block + (self.block * 3).div_ceil(10) + 1;
        let larger = larger.min(usize::try_from(self.limit).unwrap_or(usize::MAX));
        self.warnings.push(format!(
            "a record is longer than {} bytes: the block is raised to {larger}",
            self.block
        ));
        self.block = larger;
        Ok(())
    }

    /// Hands out the first bytes.  The buffer itself is handed out if little is left in it.
    fn cut(&mut self, length: usize) -> RecordBlock {
        self.has_begun = true;
        if let Some(groups) = &mut self.groups {
            groups.gave(length);
        }
        let end = self.start + length;
        let mut other = self.spare.pop().unwrap_or_default();
        let left = self.filled - end;
        let large = length >= self.buffer.len() / 4;
        let mut bytes = if self.start == 0 && large && left <= length / 4 {
            other.resize(other.len().max(left), 0);
            other[..left].copy_from_slice(&self.buffer[end..self.filled]);
            self.line = self.line.map(|line| line.saturating_sub(end));
            self.filled = left;
            let mut whole = mem::replace(&mut self.buffer, other);
            whole.truncate(end);
            whole
        } else {
            other.clear();
            other.extend_from_slice(&self.buffer[self.start..end]);
            self.start = end;
            other
        };
        if let Some(separator) = &self.removed {
            separator.remove(&mut bytes);
        }
        RecordBlock { bytes }
    }

    /// Removes what is there of a first line that is left out; `false` when more must be read for it.
    fn skip_line(&mut self) -> bool {
        if self.skips_line {
            let bytes = &self.buffer[self.start..self.filled];
            let end = memchr::memchr(b'\n', bytes);
            self.start += end.map_or(bytes.len(), |end| end + 1);
            self.skips_line = end.is_none() && !self.ended;
        }
        !self.skips_line
    }

    /// Removes the header from the beginning; `false` when more must be read for it.
    fn find_header(&mut self) -> bool {
        let bytes = &self.buffer[self.start..self.filled];
        let found = match &self.awaited {
            Awaited::Nothing => return true,
            Awaited::Lines(0) => Some(0),
            Awaited::Lines(lines) => {
                let nth = usize::try_from(lines - 1).unwrap_or(usize::MAX);
                memchr_iter(b'\n', bytes).nth(nth).map(|at| at + 1)
            }
            Awaited::Pattern(pattern) => match_by_lines(pattern, bytes, self.ended),
        };
        let too_long = bytes.len() > HEADER_BYTES_MAX;
        if found.is_none() && !self.ended && !too_long {
            return false;
        }
        self.header = bytes[..found.unwrap_or(0)].to_vec();
        self.start += self.header.len();
        self.awaited = Awaited::Nothing;
        true
    }

    /// Removes complete lines of white space from what was just read.
    fn drop_blank_lines(&mut self) {
        let Some(first) = self.line else { return };
        let (mut read, mut written) = (first, first);
        while let Some(at) = memchr::memchr(b'\n', &self.buffer[read..self.filled]) {
            let next = read + at + 1;
            if !self.buffer[read..next].iter().all(is_space) {
                self.buffer.copy_within(read..next, written);
                written += next - read;
            }
            read = next;
        }
        self.buffer.copy_within(read..self.filled, written);
        self.filled = written + (self.filled - read);
        self.line = Some(written);
    }
}

/// The regular expression of a header, anchored to the beginning.
pub(super) fn header_pattern(pattern: &str) -> Result<Regex, PipeError> {
    bytes_pattern(format!(r"\A(?:{pattern})").as_bytes()).map_err(|error| PipeError::Pattern {
        pattern: pattern.to_owned(),
        option: "--header",
        error,
    })
}

/// The length of the match in the first lines, as few of them as it takes.
pub(super) fn match_by_lines(pattern: &Regex, bytes: &[u8], whole: bool) -> Option<usize> {
    let bytes = &bytes[..bytes.len().min(HEADER_BYTES_MAX)];
    let ends = memchr_iter(b'\n', bytes).map(|at| at + 1);
    let last = (whole || bytes.len() == HEADER_BYTES_MAX).then_some(bytes.len());
    ends.chain(last).find_map(|end| pattern.find(&bytes[..end])).map(|found| found.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time, as a slow pipe does.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let count = self.1.min(self.0.len()).min(into.len());
            into[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn options(block: u64) -> PipeOptions {
        PipeOptions { block: Some(BlockSize::Bytes(block)), ..PipeOptions::default() }
    }

    /// The blocks, read at once and by threes: both ways must be the same.
    fn blocks(text: &str, options: &PipeOptions) -> Vec<String> {
        let read = |step| {
            let mut cutter = Cutter::new(options).unwrap();
            let mut stream = Trickle(text.as_bytes(), step);
            let mut blocks = Vec::new();
            while let Some(block) = cutter.read_block(&mut stream).unwrap() {
                let text = [cutter.header(), &block.bytes].concat();
                blocks.push(String::from_utf8(text).unwrap());
                cutter.recycle(block.bytes);
            }
            assert!(cutter.is_done());
            blocks
        };
        let at_once = read(usize::MAX);
        assert_eq!(at_once, read(3));
        at_once
    }

    #[test]
    fn blocks_end_with_records() {
        assert_eq!(blocks("a\nb\nc\nd\n", &options(4)), ["a\nb\n", "c\nd\n"]);
        assert_eq!(blocks("aaaa\nbb\nccc", &options(5)), ["aaaa\n", "bb\n", "ccc"]);
        assert_eq!(blocks("a\nb", &options(100)), ["a\nb"]);
        assert_eq!(blocks("", &options(100)), [""; 0]);
        let ends = PipeOptions { record_end: Some(b";".to_vec()), ..options(4) };
        assert_eq!(blocks("aa;b", &ends), ["aa;", "b"]);
        assert_eq!(blocks("aa;b;", &ends), ["aa;", "b;"]);
        let anywhere = PipeOptions { record_end: Some(Vec::new()), ..options(3) };
        assert_eq!(blocks("abcdefghij", &anywhere), ["abc", "def", "ghi", "j"]);
    }

    #[test]
    fn a_long_record_raises_the_block_and_says_so() {
        let mut cutter = Cutter::new(&options(4)).unwrap();
        let mut stream: &[u8] = b"aaaa\nbb\ncccccccccc\nd\n";
        let mut blocks = Vec::new();
        while let Some(block) = cutter.read_block(&mut stream).unwrap() {
            blocks.push(String::from_utf8(block.bytes).unwrap());
        }
        assert_eq!(blocks, ["aaaa\n", "bb\n", "cccccccccc\n", "d\n"]);
        let warnings = cutter.take_warnings();
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[1].contains("raised to 11"), "{warnings:?}");
    }

    #[test]
    fn records_are_counted() {
        let count = |records| PipeOptions { records_max: Some(records), ..options(1000) };
        assert_eq!(blocks("a\nb\nc\nd\ne", &count(2)), ["a\nb\n", "c\nd\n", "e"]);
        assert_eq!(blocks("a\nb\n", &count(0)), ["a\nb\n"]);
        let small = PipeOptions { block: Some(BlockSize::Bytes(1)), ..count(2) };
        assert_eq!(blocks("a\nb\nc\n", &small), ["a\nb\n", "c\n"]);
        let starts = PipeOptions { record_start: Some(b">".to_vec()), ..count(1) };
        assert_eq!(blocks("x>1;x>2;>3", &starts), ["x", ">1;x", ">2;", ">3"]);
        let both = PipeOptions { record_end: Some(b";".to_vec()), ..starts.clone() };
        assert_eq!(blocks(">1;x>2;>3;;", &both), [">1;x>2;", ">3;;"]);
        let same = PipeOptions {
            record_start: Some(b"a".to_vec()),
            record_end: Some(b"a".to_vec()),
            ..count(1)
        };
        assert_eq!(blocks("xaaay", &same), ["xa", "aay"]);
    }

    #[test]
    fn records_of_lines() {
        let lines = |lines, block| PipeOptions { record_lines: Some(lines), ..options(block) };
        assert_eq!(blocks("a\nb\nc\nd\ne\nf\ng", &lines(2, 8)), ["a\nb\nc\nd\n", "e\nf\n", "g"]);
        let two = PipeOptions { records_max: Some(2), ..lines(2, 100) };
        assert_eq!(blocks("a\nb\nc\nd\ne\n", &two), ["a\nb\nc\nd\n", "e\n"]);
    }

    #[test]
    fn separators_are_removed() {
        let remove = |start: &str, end: &str, records| PipeOptions {
            record_start: (!start.is_empty()).then(|| start.into()),
            record_end: (!end.is_empty()).then(|| end.into()),
            remove_separators: true,
            records_max: records,
            ..options(1000)
        };
        assert_eq!(blocks("a;b;c;d;", &remove("", ";", Some(2))), ["ab", "cd"]);
        assert_eq!(blocks(">1;>2;>3;", &remove(">", ";", Some(2))), ["12", "3"]);
        assert_eq!(blocks(">1;x>2;>3;;", &remove(">", ";", None)), ["1;x>23;"]);
        assert_eq!(blocks("x>1;x>2", &remove(">", "", None)), ["x1;x2"]);
        assert_eq!(blocks("a;;b;;;c", &remove("", ";;", None)), ["ab;c"]);
        let regexp = PipeOptions { regexp: true, ..remove("", "[0-9]+", Some(2)) };
        assert_eq!(blocks("a1b22c333d44", &regexp), ["ab", "cd"]);
        let regexp = PipeOptions { regexp: true, ..remove("[a-z]", "[0-9]+", Some(2)) };
        assert_eq!(blocks("aa1bb22cc3", &regexp), ["ab", "c"]);
    }

    #[test]
    fn regular_expressions_match_as_far_as_they_can() {
        let regexp = |start: &str, end: &str, block, records| PipeOptions {
            record_start: (!start.is_empty()).then(|| start.into()),
            record_end: (!end.is_empty()).then(|| end.into()),
            regexp: true,
            records_max: records,
            ..options(block)
        };
        let text = "a1b22c333d";
        assert_eq!(blocks(text, &regexp("", "[0-9]+", 3, None)), ["a1", "b22", "c33", "3d"]);
        let wanted = ["a1", "b22", "c333", "d"];
        assert_eq!(blocks(text, &regexp("", "[0-9]+", 100, Some(1))), wanted);
        assert_eq!(blocks(text, &regexp("[a-z]", "", 100, Some(1))), wanted);
        assert_eq!(blocks(text, &regexp("[a-z]", "[0-9]+", 100, Some(1))), wanted);
        let overlapping = regexp("[0-9]", "[0-9]", 5, None);
        assert_eq!(blocks("a1b22c333d44", &overlapping), ["a1b2", "2c33", "3d44"]);
        assert_eq!(blocks("a\nb\nc\nd", &regexp("^c", "", 6, None)), ["a\nb\n", "c\nd"]);
        let error = Cutter::new(&regexp("(?=x)", "", 6, None)).err().unwrap().to_string();
        assert!(error.contains("--recstart") && error.contains("(?=x)"), "{error}");
    }

    #[test]
    fn the_header_is_kept_apart() {
        let header = |header, block| PipeOptions { header, ..options(block) };
        assert_eq!(
            blocks("h\na\nb\nc\n", &header(PipeHeader::Lines(1), 2)),
            ["h\na\n", "h\nb\n", "h\nc\n"]
        );
        assert_eq!(blocks("h\n", &header(PipeHeader::Lines(1), 2)), [""; 0]);
        assert_eq!(blocks("h", &header(PipeHeader::Lines(1), 2)), ["h"]);
        let pattern = PipeHeader::Pattern("(h.)*".to_owned());
        let options = PipeOptions { records_max: Some(1), ..header(pattern, 100) };
        assert_eq!(blocks("h1h2a\nb\n", &options), ["h1h2a\n", "h1h2b\n"]);
        let pattern = PipeHeader::Pattern("x.*\\n".to_owned());
        assert_eq!(blocks("a\nb\n", &header(pattern, 100)), ["a\nb\n"]);
    }

    #[test]
    fn newlines_in_quotes_end_no_record() {
        let csv = |block, records_max| PipeOptions { csv: true, records_max, ..options(block) };
        let text = "a,\"b\nc\"\nd,e\n\"f\n\n\",g\n";
        let wanted = ["a,\"b\nc\"\n", "d,e\n", "\"f\n\n\",g\n"];
        assert_eq!(blocks(text, &csv(3, None)), wanted);
        assert_eq!(blocks(text, &csv(100, Some(1))), wanted);
        assert_eq!(blocks("\"open\n\n\n", &csv(3, None)), ["\"open\n\n\n"]);
    }

    #[test]
    fn blank_lines_are_dropped_on_demand() {
        let drop = |block, records_max| PipeOptions {
            drop_blank_lines: true,
            records_max,
            ..options(block)
        };
        assert_eq!(blocks("a\n\nb\n \nc\n\n\n", &drop(100, None)), ["a\nb\nc\n"]);
        assert_eq!(blocks("\n \na\n\nb\n", &drop(100, Some(1))), ["a\n", "b\n"]);
        assert_eq!(blocks("\n\n\n  ", &drop(2, None)), [""; 0]);
    }

    #[test]
    fn what_is_there_is_given_when_time_is_over() {
        let mut cutter = Cutter::new(&options(100)).unwrap();
        let text = b"a\nb\nc";
        cutter.space()[..text.len()].copy_from_slice(text);
        cutter.filled(text.len());
        assert_eq!(cutter.block().unwrap(), None);
        cutter.flush();
        assert_eq!(cutter.block().unwrap().unwrap().bytes, b"a\nb\n");
        cutter.flush();
        assert_eq!(cutter.block().unwrap(), None);
        cutter.end();
        assert_eq!(cutter.block().unwrap().unwrap().bytes, b"c");
        assert!(cutter.is_done());
    }

    #[test]
    fn a_stream_without_end_or_records_is_refused() {
        let mut cutter = Cutter::new(&options(1 << 16)).unwrap();
        // Small, so that the test need not hold what a real run may.
        cutter.limit = 1 << 20;
        let error = cutter.read_block(&mut std::io::repeat(b'x')).unwrap_err();
        assert!(error.to_string().contains("longer than 1048576"), "{error}");
        assert!(cutter.block().unwrap().is_none());
    }
}

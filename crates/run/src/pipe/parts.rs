//! Where to split a file into ranges of whole records; only the bytes around the borders are read.

use std::fs::File;
use std::io::{ErrorKind, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt;

use memchr::memchr_iter;

use super::cutter::{header_pattern, match_by_lines};
use super::key::first_change;
use super::separator::Separator;
use super::{
    BLOCKS_PER_SLOT, BlockSize, HEADER_BYTES_MAX, PipeError, PipeHeader, PipeOptions,
    RECORD_BYTES_MAX,
};

/// Most ranges of a file.  Each is a job; a list of this length takes 256 MiB.
const PARTS_MAX: usize = 16 << 20;

/// Bytes read at a border: most records are shorter.
const BORDER_BYTES: usize = 32 << 10;

/// The header of a file and its ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileParts {
    /// The header, which every job gets first.
    pub header: Vec<u8>,
    /// The bytes of each job, in order.
    pub ranges: Vec<Range<u64>>,
}

/// The size of a file or a block device in bytes.
pub fn file_bytes(file: &File) -> Result<u64, PipeError> {
    Ok((&*file).seek(SeekFrom::End(0))?)
}

/// Splits a file (or block device) into ranges of whole records of about the size asked for, or
/// into that many for each of `slots`.  These are parts of `total_bytes`, the size of all files that
/// are split together.  A range ends with the first record that continues beyond
/// the size, so it tends to be larger than asked for.
pub fn parts(
    file: &File,
    options: &PipeOptions,
    slots: u32,
    total_bytes: u64,
) -> Result<FileParts, PipeError> {
    check(options)?;
    let separator = Separator::new(options)?;
    let size = file_bytes(file)?;
    let block = match options.block.unwrap_or(BlockSize::PerSlot(BLOCKS_PER_SLOT)) {
        BlockSize::Bytes(bytes) => bytes.max(1),
        BlockSize::PerSlot(count) => {
            total_bytes / (u64::from(count.max(1)) * u64::from(slots.max(1))).max(1) + 1
        }
    };
    let mut buffer = Vec::new();
    let begin = match options.skips_first_line {
        true => first_line(file, &mut buffer)?,
        false => 0,
    };
    let header = read_header(file, begin, options)?;
    let keys = options.group_by.as_ref().map(|rule| rule.finder(&header)).transpose()?;
    let first = |bytes: &[u8], from, whole| match &keys {
        Some(keys) => first_change(keys, bytes, from, whole),
        None => Ok(separator.first(bytes, from, whole)),
    };
    let mut ranges = Vec::new();
    let mut start = begin + header.len() as u64;
    while start < size {
        let target = start.saturating_add(block);
        let end = match target < size {
            true => find_split(file, &first, target, &mut buffer)?.unwrap_or(size).min(size),
            false => size,
        };
        if ranges.len() == PARTS_MAX {
            return Err(PipeError::Options(
                "the file would be cut into too many parts: raise --block",
            ));
        }
        ranges.push(start..end);
        start = end;
    }
    Ok(FileParts { header, ranges })
}

/// Returns an error for options that would need the whole file to be read.
fn check(options: &PipeOptions) -> Result<(), PipeError> {
    let refused = if options.records_max.is_some() || options.record_lines.is_some() {
        "--pipe-part cannot count records (-N, -L): use --pipe"
    } else if options.csv {
        "--pipe-part cannot recognize newlines in quotes (--csv): use --pipe"
    } else if options.remove_separators {
        "--pipe-part gives the file's bytes as they are, it has no --remove-rec-sep: use --pipe"
    } else if options.drop_blank_lines {
        "--pipe-part gives the file's bytes as they are, it has no --no-run-if-empty: use --pipe"
    } else {
        return Ok(());
    };
    Err(PipeError::Options(refused))
}

/// Finds the first split in bytes, as [`Separator::first`] does.
type FirstSplit<'a> = &'a dyn Fn(&[u8], usize, bool) -> Result<Result<usize, usize>, PipeError>;

/// The first split at or after an offset; `None` when there is none before the end.
fn find_split(
    file: &File,
    first: FirstSplit<'_>,
    from: u64,
    buffer: &mut Vec<u8>,
) -> Result<Option<u64>, PipeError> {
    buffer.clear();
    // With the byte before, a pattern can match at the beginning of a line.
    let mut skipped = usize::from(from > 0);
    let mut base = from - skipped as u64;
    let mut wanted = BORDER_BYTES;
    loop {
        let whole = read_more(file, base, buffer, wanted)?;
        match first(buffer, skipped.min(buffer.len()), whole)? {
            Ok(at) => return Ok(Some(base + at as u64)),
            Err(_) if whole => return Ok(None),
            Err(done) => {
                let done = done.min(buffer.len());
                buffer.drain(..done);
                base += done as u64;
                skipped = skipped.saturating_sub(done);
            }
        }
        if buffer.len() as u64 >= RECORD_BYTES_MAX {
            return Err(PipeError::TooLong { limit: RECORD_BYTES_MAX });
        }
        // A regular expression that has not matched searches from the start again, so the buffer
        // grows by a factor.
        wanted = (wanted * 2).min(BORDER_BYTES * 32).max(buffer.len());
    }
}

/// Appends more bytes to the buffer, which begins at `base` in the file; returns whether that was
/// the end of the file.
fn read_more(
    file: &File,
    base: u64,
    buffer: &mut Vec<u8>,
    wanted: usize,
) -> Result<bool, PipeError> {
    let mut used = buffer.len();
    let full = used + wanted;
    buffer.resize(full, 0);
    while used < full {
        match file.read_at(&mut buffer[used..], base + used as u64) {
            Ok(0) => break,
            Ok(count) => used += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    buffer.truncate(used);
    Ok(used < full)
}

/// The length of the first line, with its newline.
fn first_line(file: &File, buffer: &mut Vec<u8>) -> Result<u64, PipeError> {
    let mut begin = 0;
    loop {
        buffer.clear();
        let whole = read_more(file, begin, buffer, BORDER_BYTES)?;
        if let Some(at) = memchr::memchr(b'\n', buffer) {
            return Ok(begin + at as u64 + 1);
        }
        begin += buffer.len() as u64;
        if whole {
            return Ok(begin);
        }
    }
}

fn read_header(file: &File, begin: u64, options: &PipeOptions) -> Result<Vec<u8>, PipeError> {
    let mut buffer = Vec::new();
    let length = match &options.header {
        PipeHeader::None | PipeHeader::Lines(0) => 0,
        PipeHeader::Lines(lines) => {
            let nth = usize::try_from(lines - 1).unwrap_or(usize::MAX);
            loop {
                let whole = read_more(file, begin, &mut buffer, BORDER_BYTES)?;
                if let Some(at) = memchr_iter(b'\n', &buffer).nth(nth) {
                    break at + 1;
                }
                if whole || buffer.len() >= HEADER_BYTES_MAX {
                    break 0;
                }
            }
        }
        PipeHeader::Pattern(pattern) => {
            let whole = read_more(file, begin, &mut buffer, HEADER_BYTES_MAX)?;
            match_by_lines(&header_pattern(pattern)?, &buffer, whole).unwrap_or(0)
        }
    };
    buffer.truncate(length);
    Ok(buffer)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn cut(text: &str, options: &PipeOptions, slots: u32) -> Vec<String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let parts = parts(&file, options, slots, file_bytes(&file).unwrap()).unwrap();
        let header = std::str::from_utf8(&parts.header).unwrap();
        let text = |range: Range<u64>| &text[range.start as usize..range.end as usize];
        parts.ranges.into_iter().map(|range| header.to_owned() + text(range)).collect()
    }

    fn options(block: BlockSize) -> PipeOptions {
        PipeOptions { block: Some(block), ..PipeOptions::default() }
    }

    #[test]
    fn a_part_ends_with_the_record_that_goes_over_its_size() {
        let bytes = |bytes| options(BlockSize::Bytes(bytes));
        assert_eq!(cut("a\nb\nc\nd\n", &bytes(4), 2), ["a\nb\nc\n", "d\n"]);
        assert_eq!(cut("a\nb\nc\nd\n", &bytes(3), 2), ["a\nb\n", "c\nd\n"]);
        assert_eq!(cut("aaaa\nbb\nccccccc\nd", &bytes(4), 2), ["aaaa\n", "bb\nccccccc\n", "d"]);
        assert_eq!(cut("", &bytes(4), 2), [""; 0]);
        assert_eq!(cut("abcdef", &bytes(4), 2), ["abcdef"]);
        let anywhere = PipeOptions { record_end: Some(Vec::new()), ..bytes(3) };
        assert_eq!(cut("abcdefghij", &anywhere, 2), ["abc", "def", "ghi", "j"]);
    }

    #[test]
    fn so_many_parts_a_slot() {
        let slots = |count| options(BlockSize::PerSlot(count));
        assert_eq!(cut("a\nb\nc\nd\ne\nf\n", &slots(1), 2), ["a\nb\nc\nd\n", "e\nf\n"]);
        assert_eq!(cut("a\nb\nc\nd\ne\nf\n", &slots(2), 2), ["a\nb\nc\n", "d\ne\nf\n"]);
        assert_eq!(
            cut("a\nb\nc\nd\ne\nf\ng\n", &slots(3), 2),
            ["a\nb\n", "c\nd\n", "e\nf\n", "g\n"]
        );
        let default = cut("a\nb\nc\nd\n", &PipeOptions::default(), 2);
        assert_eq!(default, ["a\n", "b\n", "c\n", "d\n"]);
    }

    #[test]
    fn starts_headers_and_patterns() {
        let text = ">1\na\n>2\nb\n>3\nc\n";
        let bytes = |bytes| options(BlockSize::Bytes(bytes));
        let starts = PipeOptions { record_start: Some(b">".to_vec()), ..bytes(6) };
        assert_eq!(cut(text, &starts, 2), [">1\na\n>2\nb\n", ">3\nc\n"]);
        let both = PipeOptions { record_end: Some(b"\n".to_vec()), ..starts };
        assert_eq!(cut(text, &both, 2), [">1\na\n>2\nb\n", ">3\nc\n"]);
        let header = PipeOptions { header: PipeHeader::Lines(1), ..bytes(4) };
        assert_eq!(cut("h\na\nb\nc\nd\n", &header, 2), ["h\na\nb\nc\n", "h\nd\n"]);
        let header = PipeOptions { header: PipeHeader::Lines(1), ..options(BlockSize::PerSlot(1)) };
        assert_eq!(cut("h\na\nb\nc\nd\n", &header, 2), ["h\na\nb\nc\nd\n"]);
        // Only a newline shows that a line begins: the border may be in the middle of one.
        let lines = PipeOptions { record_start: Some(b"^b".to_vec()), regexp: true, ..bytes(3) };
        assert_eq!(cut("aabbbb\nbb\nc", &lines, 2), ["aabbbb\n", "bb\nc"]);
    }

    #[test]
    fn a_border_far_away_is_found() {
        let long = "x".repeat(3 * BORDER_BYTES + 7);
        let text = format!("{long}ENDa{long}ENDb");
        let ends =
            PipeOptions { record_end: Some(b"END".to_vec()), ..options(BlockSize::Bytes(10)) };
        assert_eq!(cut(&text, &ends, 1), [format!("{long}END"), format!("a{long}END"), "b".into()]);
        let regexp = PipeOptions { regexp: true, ..ends };
        assert_eq!(cut(&text, &regexp, 1).len(), 3);
    }

    #[test]
    fn what_needs_the_whole_file_is_refused() {
        let file = tempfile::tempfile().unwrap();
        for options in [
            PipeOptions { records_max: Some(1), ..PipeOptions::default() },
            PipeOptions { record_lines: Some(1), ..PipeOptions::default() },
            PipeOptions { csv: true, ..PipeOptions::default() },
            PipeOptions { remove_separators: true, ..PipeOptions::default() },
            PipeOptions { drop_blank_lines: true, ..PipeOptions::default() },
        ] {
            let error = parts(&file, &options, 1, 1).unwrap_err().to_string();
            assert!(error.contains("--pipe-part"), "{error}");
        }
    }
}

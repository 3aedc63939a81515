//! The lines of a configuration: the given file and all that it includes.
//!
//! `Include:` is replaced by the lines of its files.  A pattern (`*`) that matches several files
//! gives them in reverse order, as MRTG does: it stacks them and reads the last one first.
//!
//! A file is one text; lines are places in it, and values borrow from it, so a line costs no memory of
//! its own.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use text::byte_text;

use crate::path_of;
use crate::problem::{ConfigLine, Problems};

/// Files that one configuration may read, so that a file that includes itself ends.
const FILES_MAX: usize = 1_000;
/// Bytes of one configuration with all its files: 100,000 targets of 20 lines are 100 MB.
const BYTES_MAX: usize = 512 << 20;

/// One line of text, without its line break, with spaces for tabs.
pub(super) struct Line<'t> {
    pub(super) at: ConfigLine,
    pub(super) text: &'t str,
}

/// Where a line is.
struct LinePosition {
    /// The file, in `contents`.
    content: usize,
    range: Range<usize>,
    /// The number, from 1.
    number: usize,
}

/// A file and its text, with spaces for tabs.
struct Content {
    file: Arc<PathBuf>,
    text: String,
}

/// What was read.
#[derive(Default)]
pub(super) struct Text {
    places: Vec<LinePosition>,
    contents: Vec<Content>,
    pub(super) files: Vec<PathBuf>,
    bytes: usize,
    is_full: bool,
}

impl Text {
    /// Reads a file; `-` is the standard input.  Problems are added for files that cannot be read.
    pub(super) fn read(path: &Path, problems: &mut Problems) -> Self {
        let mut text = Text::default();
        text.add(path, path, None, problems);
        text
    }

    fn add(&mut self, path: &Path, top: &Path, from: Option<&ConfigLine>, problems: &mut Problems) {
        if self.is_full {
            return;
        }
        if self.files.len() >= FILES_MAX {
            self.is_full = true;
            problems.error(from, format!("more than {FILES_MAX} files are included"));
            return;
        }
        if from.is_some() && path.is_dir() {
            // To MRTG it is a file without lines.
            problems.warning(from, format!("{} is a folder: nothing is included", path.display()));
            return;
        }
        let bytes = match read_bytes(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                let what = format!("cannot read {}: {error}", path.display());
                problems.error(from, what);
                return;
            }
        };
        self.files.push(path.to_owned());
        self.bytes += bytes.len();
        if self.bytes > BYTES_MAX {
            self.is_full = true;
            problems.error(from, format!("the files are above {} MiB", BYTES_MAX >> 20));
            return;
        }
        let file = Arc::new(path.to_owned());
        // Old files are in ISO 8859-1, and some in several encodings: names, commands and
        // communities keep their bytes.
        let text = byte_text::decode(bytes);
        let content = self.contents.len();
        self.contents.push(Content { file: Arc::clone(&file), text: String::new() });
        let (mut begin, mut number) = (0, 0);
        while begin < text.len() {
            let end = memchr::memchr(b'\n', &text.as_bytes()[begin..]);
            let end = end.map_or(text.len(), |length| begin + length);
            number += 1;
            match included(&text[begin..end]) {
                Some(pattern) => {
                    let at = ConfigLine { file: Arc::clone(&file), line: number };
                    for found in files_of(pattern, top) {
                        self.add(&found, top, Some(&at), problems);
                    }
                }
                None => self.places.push(LinePosition { content, range: begin..end, number }),
            }
            begin = end + 1;
        }
        let has_tabs = text.contains('\t');
        self.contents[content].text = if has_tabs { text.replace('\t', " ") } else { text };
    }

    /// The lines in the order in which they hold.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        self.places.iter().map(|place| {
            let Content { file, text } = &self.contents[place.content];
            let at = ConfigLine { file: Arc::clone(file), line: place.number };
            Line { at, text: &text[place.range.clone()] }
        })
    }
}

fn read_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let limit = BYTES_MAX as u64 + 1;
    if path.as_os_str() == "-" {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes)?;
    } else {
        std::fs::File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// The argument of `Include:`, which must be at the very start of its line.
fn included(line: &str) -> Option<&str> {
    let (word, rest) = line.split_at_checked(8)?;
    let rest = rest.trim_matches([' ', '\t', '\r', '\x0c']);
    (word.eq_ignore_ascii_case("include:") && !rest.is_empty()).then_some(rest)
}

/// The files of an `Include:`, relative to the working directory or, if there are none, to the
/// folder of the first file.
fn files_of(pattern: &str, top: &Path) -> Vec<PathBuf> {
    let folder = top.parent().unwrap_or(Path::new(""));
    let beside = pattern.trim_start_matches('/');
    if !pattern.contains('*') {
        let path = path_of(pattern);
        let is_readable = std::fs::File::open(&path).is_ok();
        return vec![if is_readable { path } else { folder.join(path_of(beside)) }];
    }
    let mut found = super::glob::matches(pattern, Path::new(""));
    if found.is_empty() {
        found = super::glob::matches(beside, folder);
    }
    found.reverse();
    found
}

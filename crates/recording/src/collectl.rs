//! Import of collectl's raw recordings (`.raw`, `.rawp`, each also as `.gz`), header versions 3.6
//! to 4.3.20.
//!
//! collectl writes kernel text almost unchanged, with a tag before each line.  The import restores
//! the kernel files in a [`procfs::Host`] in memory, so that the same sources and parsers read
//! them.
//!
//! ```text
//! # header lines
//! >>> 1795235701.001 <<<
//! cpu  7978 0 6695 108331 468 0 88 63 0 0        → /proc/stat
//! disk  252       0 vda 5013 …                   → /proc/diskstats
//! >>> 1795235702.001 <<<                         the previous interval is complete
//! ```
//!
//! A file is read once, from front to back, one interval in memory at a time.  A marker ends the
//! previous interval; text after the last marker (of a killed recorder) is skipped, as in collectl.
//! Lines of Lustre are skipped.  Sensors (`ipmi:`) are the output of a program, not kernel text:
//! they become a file that only the import has.
//!
//! - [`header`]: what the header says, as [`sample::Meta`].
//! - [`files`]: which line belongs to which kernel file.
//! - [`processes`]: the files of each process.
//! - [`lines`]: lines of a plain or compressed file, with limits.

mod extract;
mod files;
mod header;
mod lines;
mod processes;
mod slub;

use std::io::Read;
use std::path::{Path, PathBuf};

use procfs::Host;
use sample::Meta;

pub use extract::{TextExtractSummary, extract, search};
pub use header::Header;

use files::KernelFiles;
use lines::Lines;

/// Why a collectl recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CollectlError {
    /// The file cannot be opened or read.
    #[error("cannot read {path}")]
    Io {
        /// The recording.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Nothing in it.
    #[error(
        "{0} is empty: collectl was stopped before it wrote anything; nothing can be recovered"
    )]
    Empty(PathBuf),
    /// Does not begin as collectl's recordings do.
    #[error("{0} is not a collectl recording: it does not begin with a '# Collectl:' header")]
    NotCollectl(PathBuf),
    /// Stops before its header does.
    #[error(
        "{0} is cut short: it ends inside its header, before the first interval; copy it again, \
         nothing can be recovered from this piece"
    )]
    CutInHeader(PathBuf),
    /// Written by a version whose layout differs.
    #[error("{path} was written by collectl {version}; versions before 3.6 cannot be read")]
    TooOld {
        /// The recording.
        path: PathBuf,
        /// The version of collectl, as it says.
        version: String,
    },
    /// A line is longer than any that collectl writes.
    #[error("{path}: a line of more than {limit} bytes: the file is corrupt")]
    LineTooLong {
        /// The recording.
        path: PathBuf,
        /// The most that a line may have.
        limit: usize,
    },
}

/// How a recording ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It has not been read to its end yet.
    Unknown,
    /// With a marker, as collectl ends it: every interval is complete.
    Marker,
    /// Within an interval, which is skipped: the recorder was killed.
    Torn,
    /// Within compressed data that cannot be decompressed further.
    Corrupt,
}

/// One complete interval, whose text is now in the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The start of the interval, in nanoseconds since the epoch; collectl gives all its lines this time.
    pub realtime_ns: i64,
    /// Whether slabs were recorded in it (collectl's second interval).
    pub has_slabs: bool,
    /// Whether sensors were (collectl's third interval).
    pub has_sensors: bool,
    /// Whether processes were (collectl's second interval, too).
    pub has_processes: bool,
    /// The marker that ended it.
    pub ended_ns: i64,
}

/// A collectl recording being read.
pub struct CollectlReader {
    header: Header,
    lines: Lines,
    files: KernelFiles,
    /// The time of the marker that began the current interval.
    began_ns: Option<i64>,
    /// Whether a part of that interval was already read.
    is_partial: bool,
    ending: Ending,
    markers_broken: u64,
}

impl CollectlReader {
    /// Opens a recording and reads its header.
    ///
    /// # Errors
    /// See [`CollectlError`].
    pub fn open(path: &Path) -> Result<Self, CollectlError> {
        CollectlReader::over(Lines::open(path)?, path)
    }

    /// Reads a recording from `input`; error messages name it `path`.
    ///
    /// # Errors
    /// See [`CollectlError`].
    pub fn from_reader(input: impl Read + 'static, path: &Path) -> Result<Self, CollectlError> {
        CollectlReader::over(Lines::over(input, path)?, path)
    }

    fn over(mut lines: Lines, path: &Path) -> Result<Self, CollectlError> {
        let header = Header::read(path, &mut lines)?;
        let files = KernelFiles::new(&header);
        Ok(CollectlReader {
            header,
            lines,
            files,
            began_ns: None,
            is_partial: false,
            ending: Ending::Unknown,
            markers_broken: 0,
        })
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What the header says about the recording and its machine.
    pub fn meta(&self) -> &Meta {
        &self.header.meta
    }

    /// How the recording ended; known once [`next_interval`](Self::next_interval) gave `None`.
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// The time of the latest marker; at the end of the recording, the end of its last interval.
    /// A recording that begins with the same marker continues this one.
    pub fn last_marker_ns(&self) -> Option<i64> {
        self.began_ns
    }

    /// The number of malformed marker lines, which were skipped.
    pub fn markers_broken(&self) -> u64 {
        self.markers_broken
    }

    /// The time of the first marker, without consuming anything; `None` if there is none.
    ///
    /// # Errors
    /// See [`CollectlError`].
    pub fn first_marker_ns(&mut self) -> Result<Option<i64>, CollectlError> {
        while self.began_ns.is_none() {
            let Some(line) = self.lines.next()? else { break };
            self.began_ns = marker_ns(line);
        }
        Ok(self.began_ns)
    }

    /// For an uncompressed file that is still being written: with true, `None` from
    /// [`next_interval`](Self::next_interval) means that no further interval is complete yet.
    /// With false, it means the end of the file.
    pub fn follow(&mut self, following: bool) {
        self.lines.follow(following);
    }

    /// Reads the next complete interval into `host`.  `None` at the end.
    ///
    /// # Errors
    /// See [`CollectlError`].
    pub fn next_interval(&mut self, host: &mut Host) -> Result<Option<Interval>, CollectlError> {
        let Some(began_ns) = self.first_marker_ns()? else {
            self.ending = self.ending_of(false);
            return Ok(None);
        };
        if !self.is_partial {
            self.files.begin();
        }
        while let Some(line) = self.lines.next()? {
            if line.starts_with(b">>>") {
                let Some(ended_ns) = marker_ns(line) else {
                    self.markers_broken += 1;
                    continue;
                };
                self.began_ns = Some(ended_ns);
                self.is_partial = false;
                self.files.put_into(host);
                return Ok(Some(Interval {
                    realtime_ns: began_ns,
                    has_slabs: self.files.has_slabs(),
                    has_sensors: self.files.has_sensors(),
                    has_processes: self.files.has_processes(),
                    ended_ns,
                }));
            }
            self.is_partial = true;
            self.files.add_line(line);
        }
        self.ending = self.ending_of(self.is_partial);
        Ok(None)
    }

    fn ending_of(&self, torn: bool) -> Ending {
        match (self.lines.is_corrupt(), torn || self.lines.is_truncated()) {
            (true, _) => Ending::Corrupt,
            (false, true) => Ending::Torn,
            (false, false) => Ending::Marker,
        }
    }
}

/// The time of a marker line (`>>> 1795235701.001 <<<`), in nanoseconds since the epoch.
pub(crate) fn marker_ns(line: &[u8]) -> Option<i64> {
    let inner = line.strip_prefix(b">>> ")?;
    let end = inner.iter().position(|&byte| byte == b' ')?;
    if !inner[end..].starts_with(b" <<<") {
        return None;
    }
    decimal_ns(&inner[..end])
}

/// Decimal seconds, as nanoseconds.
pub(crate) fn decimal_ns(text: &[u8]) -> Option<i64> {
    let (whole, fraction) = match text.iter().position(|&byte| byte == b'.') {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &[][..]),
    };
    if whole.is_empty() || whole.len() > 10 || fraction.len() > 9 {
        return None;
    }
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0i64, |value, digit| {
            digit.is_ascii_digit().then(|| value * 10 + i64::from(digit - b'0'))
        })
    };
    let scale = 10i64.pow(9 - u32::try_from(fraction.len()).ok()?);
    number(whole)?.checked_mul(1_000_000_000)?.checked_add(number(fraction)? * scale)
}

/// Whether a file's name is one that collectl gives to raw recordings.
pub fn is_collectl_name(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    [".raw", ".raw.gz", ".rawp", ".rawp.gz"].iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers() {
        assert_eq!(marker_ns(b">>> 1795235701.001 <<<"), Some(1_795_235_701_001_000_000));
        assert_eq!(marker_ns(b">>> 1795235701.001"), None);
        assert_eq!(marker_ns(b">>> x <<<"), None);
        assert_eq!(marker_ns(b">>>  <<<"), None);
        assert_eq!(marker_ns(b">>> 99999999999.0 <<<"), None);
        assert_eq!(marker_ns(b">>> 9999999999.999 <<<"), None, "beyond what 64 bits hold");
    }

    #[test]
    fn names() {
        assert!(is_collectl_name(Path::new("/x/vm-20261121-043500.raw.gz")));
        assert!(is_collectl_name(Path::new("vm-20261121-043500.rawp")));
        assert!(!is_collectl_name(Path::new("vm-20261121-043500.tab.gz")));
    }
}

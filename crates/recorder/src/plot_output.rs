//! The plot files that are open: a file for all summaries and one for each detail subsystem,
//! `host-yyyymmdd.tab` and so on, compressed or not.
//!
//! As in collectl, lines are appended to a file of the same day, unless the [`PlotStyle`] differs.
//! Without compression each interval is one `write` per file; with compression, lines are buffered
//! until a block is full or [`PlotOutput::flush`] is called.
//!
//! Another program may delete or truncate a file that is open: [`PlotOutput::take_gone`] notices it
//! with an `fstat` for each file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Zoned;
use rustix::fs::Access;

use crate::RecorderError;
use crate::names::FileNames;

/// Compression level: the text is repetitive, and higher levels save little.
const LEVEL: u32 = 4;

/// How plot files are created.
#[derive(Clone, Copy, Debug)]
pub struct PlotStyle {
    /// Compressed as `.gz`; `-oz` turns this off.
    pub compressed: bool,
    /// Whether to truncate an existing file of the same day: `-oc`.
    pub anew: bool,
    /// Whether each run has its own files: `-ou`.
    pub unique: bool,
}

impl PlotStyle {
    /// The style that the letters of `-o` select.
    #[must_use]
    pub fn of(letters: &str) -> Self {
        PlotStyle {
            compressed: !letters.contains('z'),
            anew: letters.contains(['c', 'u']),
            unique: letters.contains('u'),
        }
    }
}

/// The open files of one day.
pub struct PlotOutput {
    names: FileNames,
    style: PlotStyle,
    at: Zoned,
    files: Vec<OpenFile>,
    /// Files that this run has created: after a roll, lines are appended to them.
    begun: Vec<PathBuf>,
    /// Bytes passed to `write` since the owner last set this to 0.
    pub written_bytes: u64,
    /// System calls made since the owner last set this to 0.
    pub calls: u64,
}

struct OpenFile {
    extension: String,
    path: PathBuf,
    stream: Stream,
    /// Intervals written to it since it was opened.
    intervals: u64,
}

enum Stream {
    Plain(LengthFile),
    Packed(GzEncoder<LengthFile>),
}

/// A file of which the least length is known.
struct LengthFile {
    file: File,
    length: u64,
    /// Whether the file is gone: what a compressor still holds is dropped.
    is_gone: bool,
}

impl Write for LengthFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_gone {
            return Ok(bytes.len());
        }
        let count = self.file.write(bytes)?;
        self.length += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl OpenFile {
    /// What another program did to the file, if anything; nothing more is written to it then.
    fn gone(&mut self) -> Option<RecorderError> {
        let file = match &mut self.stream {
            Stream::Plain(file) => file,
            Stream::Packed(packer) => packer.get_mut(),
        };
        let facts = file.file.metadata().ok()?;
        let what = match facts.nlink() {
            0 => "deleted",
            _ if facts.len() < file.length => "truncated",
            _ => return None,
        };
        file.is_gone = true;
        let (path, intervals) = (self.path.clone(), self.intervals);
        Some(RecorderError::PlotInterference { path, what, intervals })
    }

    /// Removes what the compressor wrote after its beginning was cut off: nobody can decompress it,
    /// nor what would follow it.
    fn remove_rest(&self) {
        if let Stream::Packed(packer) = &self.stream
            && begins_compressed(&self.path).is_ok_and(|begins| !begins)
        {
            // If this fails, the file is as damaged as the other program left it.
            let _ = packer.get_ref().file.set_len(0);
        }
    }
}

impl PlotOutput {
    /// Files named by `names` for the day of `at`.  The first line of each creates it.
    #[must_use]
    pub fn new(names: FileNames, style: PlotStyle, at: Zoned) -> Self {
        PlotOutput {
            names,
            style,
            at,
            files: Vec::new(),
            begun: Vec::new(),
            written_bytes: 0,
            calls: 0,
        }
    }

    /// Appends lines to the file with this extension.
    ///
    /// # Errors
    /// The file cannot be created or written.
    pub fn add(&mut self, extension: &str, text: &[u8]) -> io::Result<()> {
        let index = match self.files.iter().position(|file| file.extension == extension) {
            Some(index) => index,
            None => {
                let (path, stream) = self.open(extension)?;
                let extension = extension.to_owned();
                self.files.push(OpenFile { extension, path, stream, intervals: 0 });
                self.files.len() - 1
            }
        };
        self.calls += 1;
        let open = &mut self.files[index];
        match &mut open.stream {
            Stream::Plain(file) => {
                self.written_bytes += text.len() as u64;
                file.write_all(text)?;
            }
            Stream::Packed(packer) => packer.write_all(text)?,
        }
        open.intervals += u64::from(!ends_with_comment(text));
        Ok(())
    }

    fn open(&mut self, extension: &str) -> io::Result<(PathBuf, Stream)> {
        let mut path = self.names.plot(&self.at, extension, self.style.unique);
        if self.style.compressed {
            path.as_mut_os_string().push(".gz");
        }
        let anew = self.style.anew && !self.begun.contains(&path);
        let file = open_at_end(&path, anew).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot open {}: {error}", path.display()))
        })?;
        if !self.begun.contains(&path) {
            self.begun.push(path.clone());
        }
        let stream = if self.style.compressed {
            Stream::Packed(GzEncoder::new(file, Compression::new(LEVEL)))
        } else {
            Stream::Plain(file)
        };
        Ok((path, stream))
    }

    /// Writes the compressors' buffers.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        for open in &mut self.files {
            if let Stream::Packed(packer) = &mut open.stream {
                self.calls += 1;
                packer.flush()?;
            }
        }
        Ok(())
    }

    /// Closes a file that another program deleted or truncated, and returns its extension and what
    /// happened; the next line opens it again.  Call it until it returns `None`.
    pub fn take_gone(&mut self) -> Option<(String, RecorderError)> {
        self.calls += self.files.len() as u64;
        let gone = |(index, file): (usize, &mut OpenFile)| Some((index, file.gone()?));
        let (index, error) = self.files.iter_mut().enumerate().find_map(gone)?;
        let open = self.files.remove(index);
        open.remove_rest();
        Some((open.extension, error))
    }

    /// Makes the directory of the files again if it is gone.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn ensure_directory(&self) -> Result<(), RecorderError> {
        ensure_directory(&self.names)
    }

    /// Closes these files and continues with those of another day.
    ///
    /// # Errors
    /// A file cannot be closed.
    pub fn roll(&mut self, at: Zoned) -> Result<(), RecorderError> {
        self.at = at;
        self.end()
    }

    /// Closes the files.
    ///
    /// # Errors
    /// The first error; the other files are closed nevertheless.
    pub fn end(&mut self) -> Result<(), RecorderError> {
        let mut ended = Ok(());
        for mut open in self.files.drain(..) {
            ended = ended.and(open.gone().map_or(Ok(()), Err));
            if let Stream::Packed(packer) = open.stream {
                ended = ended.and(packer.finish().map(drop).map_err(RecorderError::Plot));
            }
        }
        ended
    }

    /// The files being written.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|open| open.path.as_path())
    }
}

/// Whether a file begins as every compressed file does.
fn begins_compressed(path: &Path) -> io::Result<bool> {
    let mut start = [0; 2];
    File::open(path)?.read_exact(&mut start)?;
    Ok(start == [0x1f, 0x8b])
}

/// Opens a file for lines at its end, whatever another program does to it; `anew` empties it.
fn open_at_end(path: &Path, anew: bool) -> io::Result<LengthFile> {
    let file = OpenOptions::new().append(true).create(true).open(path)?;
    if anew {
        file.set_len(0)?;
    }
    let length = file.metadata()?.len();
    Ok(LengthFile { file, length, is_gone: false })
}

/// Whether the last line is a comment: a header or a heading.
fn ends_with_comment(text: &[u8]) -> bool {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.rsplit(|&byte| byte == b'\n').next().is_some_and(|line| line.starts_with(b"#"))
}

/// Creates the directory for files if only its last component is missing, as collectl does.
///
/// # Errors
/// It cannot be created or is not writable.
pub fn ensure_directory(names: &FileNames) -> Result<(), RecorderError> {
    let path = &names.directory;
    match std::fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(RecorderError::MakeDirectory { path: path.clone(), error })
        }
        // The first line opens a plot file: report a missing permission now.
        _ => rustix::fs::access(path, Access::WRITE_OK).map_err(|error| {
            RecorderError::WriteDirectory { path: path.clone(), error: error.into() }
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path) -> String {
        let mut text = String::new();
        let file = File::open(path).unwrap();
        if path.extension().is_some_and(|extension| extension == "gz") {
            flate2::read::MultiGzDecoder::new(file).read_to_string(&mut text).unwrap();
        } else {
            std::io::BufReader::new(file).read_to_string(&mut text).unwrap();
        }
        text
    }

    #[test]
    fn files_are_added_to_begun_anew_and_compressed() {
        let directory = tempfile::tempdir().unwrap();
        let names = FileNames::new(directory.path(), "h");
        let at: Zoned = "2026-11-21T04:35:02[UTC]".parse().unwrap();
        for letters in ["", "z"] {
            let style = PlotStyle::of(letters);
            let name = if letters.is_empty() { "h-20261121.tab.gz" } else { "h-20261121.tab" };
            for round in 1..=2 {
                let mut output = PlotOutput::new(names.clone(), style, at.clone());
                output.add("tab", b"one\n").unwrap();
                output.roll(at.clone()).unwrap();
                output.add("tab", b"two\n").unwrap();
                output.end().unwrap();
                let text = read(&directory.path().join(name));
                assert_eq!(text, "one\ntwo\n".repeat(round));
            }
            let mut anew =
                PlotOutput::new(names.clone(), PlotStyle { anew: true, ..style }, at.clone());
            anew.add("tab", b"three\n").unwrap();
            anew.roll(at.clone()).unwrap();
            anew.add("tab", b"four\n").unwrap();
            anew.end().unwrap();
            assert_eq!(read(&directory.path().join(name)), "three\nfour\n", "a roll adds");
        }
    }

    #[test]
    fn a_file_that_is_gone_is_opened_again() {
        for letters in ["", "z", "c", "cz"] {
            for delete in [true, false] {
                let directory = tempfile::tempdir().unwrap();
                let names = FileNames::new(directory.path(), "h");
                let at: Zoned = "2026-11-21T04:35:02[UTC]".parse().unwrap();
                let mut output = PlotOutput::new(names, PlotStyle::of(letters), at);
                output.add("tab", b"#head\n").unwrap();
                output.add("tab", b"#Date\none\n").unwrap();
                output.add("cpu", b"one\n").unwrap();
                output.flush().unwrap();
                assert!(output.take_gone().is_none());
                let path = output.paths().next().unwrap().to_owned();
                if delete {
                    std::fs::remove_file(&path).unwrap();
                } else {
                    File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
                }
                output.add("tab", b"two\n").unwrap();
                output.flush().unwrap();
                let (extension, error) = output.take_gone().unwrap();
                assert_eq!(extension, "tab");
                let what = if delete { "deleted" } else { "truncated" };
                let error = error.to_string();
                assert!(
                    error
                        .ends_with(&format!("was {what} by another program: 2 intervals are lost")),
                    "{error}"
                );
                assert!(output.take_gone().is_none(), "the other file is there");
                output.add("tab", b"three\n").unwrap();
                output.end().unwrap();
                let plain = !delete && letters.contains('z');
                // A line that was written before the truncation was noticed.
                let text = if plain { "two\nthree\n" } else { "three\n" };
                assert_eq!(read(&path), text, "{letters:?} {what}");
            }
        }
    }

    #[test]
    fn a_file_that_is_gone_at_the_end_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let at: Zoned = "2026-11-21T04:35:02[UTC]".parse().unwrap();
        let names = FileNames::new(directory.path(), "h");
        let mut output = PlotOutput::new(names, PlotStyle::of("z"), at);
        output.add("tab", b"one\n").unwrap();
        std::fs::remove_file(directory.path().join("h-20261121.tab")).unwrap();
        assert!(output.end().unwrap_err().to_string().contains("1 intervals are lost"));
    }

    #[test]
    fn a_flush_makes_lines_readable() {
        let directory = tempfile::tempdir().unwrap();
        let names = FileNames::new(directory.path(), "h");
        let at: Zoned = "2026-11-21T04:35:02[UTC]".parse().unwrap();
        let mut output = PlotOutput::new(names, PlotStyle::of("u"), at);
        output.add("cpu", b"line\n").unwrap();
        output.flush().unwrap();
        let path = directory.path().join("h-20261121-043502.cpu.gz");
        let mut start = [0; 5];
        flate2::read::GzDecoder::new(File::open(path).unwrap()).read_exact(&mut start).unwrap();
        assert_eq!(&start, b"line\n");
    }
}

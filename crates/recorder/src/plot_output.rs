//! The plot files that are open: a file for all summaries and one for each detail subsystem,
//! `host-yyyymmdd.tab` and so on, compressed or not.
//!
//! As in collectl, lines are appended to a file of the same day, unless the [`PlotStyle`] differs.
//! Without compression each interval is one `write` per file; with compression, lines are buffered
//! until a block is full or [`PlotOutput::flush`] is called.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
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
    files: Vec<(String, PathBuf, Stream)>,
    /// Files that this run has created: after a roll, lines are appended to them.
    begun: Vec<PathBuf>,
    /// Bytes passed to `write` since the owner last set this to 0.
    pub written_bytes: u64,
    /// System calls made since the owner last set this to 0.
    pub calls: u64,
}

enum Stream {
    Plain(File),
    Packed(GzEncoder<File>),
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
        let index = match self.files.iter().position(|(name, ..)| name == extension) {
            Some(index) => index,
            None => {
                let (path, stream) = self.open(extension)?;
                self.files.push((extension.to_owned(), path, stream));
                self.files.len() - 1
            }
        };
        self.calls += 1;
        match &mut self.files[index].2 {
            Stream::Plain(file) => {
                self.written_bytes += text.len() as u64;
                file.write_all(text)
            }
            Stream::Packed(packer) => packer.write_all(text),
        }
    }

    fn open(&mut self, extension: &str) -> io::Result<(PathBuf, Stream)> {
        let mut path = self.names.plot(&self.at, extension, self.style.unique);
        if self.style.compressed {
            path.as_mut_os_string().push(".gz");
        }
        let anew = self.style.anew && !self.begun.contains(&path);
        let mut options = OpenOptions::new();
        let file = if anew {
            options.write(true).create(true).truncate(true).open(&path)
        } else {
            options.append(true).create(true).open(&path)
        };
        let file = file.map_err(|error| {
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
        for (.., stream) in &mut self.files {
            if let Stream::Packed(packer) = stream {
                self.calls += 1;
                packer.flush()?;
            }
        }
        Ok(())
    }

    /// Closes these files and continues with those of another day.
    ///
    /// # Errors
    /// A file cannot be closed.
    pub fn roll(&mut self, at: Zoned) -> io::Result<()> {
        self.at = at;
        self.end()
    }

    /// Closes the files.
    ///
    /// # Errors
    /// The first error; the other files are closed nevertheless.
    pub fn end(&mut self) -> io::Result<()> {
        let mut ended = Ok(());
        for (.., stream) in self.files.drain(..) {
            if let Stream::Packed(packer) = stream {
                ended = ended.and(packer.finish().map(drop));
            }
        }
        ended
    }

    /// The files being written.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|(_, path, _)| path.as_path())
    }
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
    use std::io::Read;

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

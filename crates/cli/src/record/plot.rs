//! Plot files: collectl's lines of numbers, a file for all summaries and one for each detail
//! subsystem, `host-yyyymmdd.tab` and so on, compressed unless `-oz` says otherwise.
//!
//! A file of the same day is added to, as collectl does; `-oc` begins it anew, `-ou` makes a file
//! for each run.  Without compression each interval is one `write` a file; with it, lines wait in
//! the compressor and reach the file when it has a block full, or at least every so often (`-F`).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Zoned;
use rustix::fs::Access;

use super::names::Place;

/// How hard to compress: the text is repetitive, and more effort buys little.
const LEVEL: u32 = 4;

/// How plot files are made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlotStyle {
    /// Not `-oz`.
    pub(crate) compressed: bool,
    /// `-oc`.
    pub(crate) anew: bool,
    /// `-ou`.
    pub(crate) unique: bool,
}

impl PlotStyle {
    /// What the letters of `-o` ask for.
    pub(crate) fn of(letters: &str) -> Self {
        PlotStyle {
            compressed: !letters.contains('z'),
            anew: letters.contains(['c', 'u']),
            unique: letters.contains('u'),
        }
    }
}

/// The open files of one day.
pub(crate) struct PlotOutput {
    place: Place,
    style: PlotStyle,
    at: Zoned,
    files: Vec<(String, PathBuf, Stream)>,
    /// Files that this run has begun: a roll adds to them.
    begun: Vec<PathBuf>,
    /// Bytes handed to `write`, and calls made.
    pub(crate) written_bytes: u64,
    pub(crate) calls: u64,
}

enum Stream {
    Plain(File),
    Packed(GzEncoder<File>),
}

impl PlotOutput {
    /// Files at `place` for the day of `at`.  Each is made when its first line comes.
    pub(crate) fn new(place: Place, style: PlotStyle, at: Zoned) -> Self {
        PlotOutput {
            place,
            style,
            at,
            files: Vec::new(),
            begun: Vec::new(),
            written_bytes: 0,
            calls: 0,
        }
    }

    /// Adds lines to the file with this extension.
    ///
    /// # Errors
    /// The file cannot be made or written.
    pub(crate) fn add(&mut self, extension: &str, text: &[u8]) -> io::Result<()> {
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
        let mut path = self.place.plot(&self.at, extension, self.style.unique);
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

    /// Has all lines in the files.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        for (.., stream) in &mut self.files {
            if let Stream::Packed(packer) = stream {
                self.calls += 1;
                packer.flush()?;
            }
        }
        Ok(())
    }

    /// Ends these files and goes on with those of another day.
    ///
    /// # Errors
    /// A file cannot be ended.
    pub(crate) fn roll(&mut self, at: Zoned) -> io::Result<()> {
        self.at = at;
        self.end()
    }

    /// Ends the files.
    ///
    /// # Errors
    /// The first file that cannot be ended; the others are.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        let mut ended = Ok(());
        for (.., stream) in self.files.drain(..) {
            if let Stream::Packed(packer) = stream {
                ended = ended.and(packer.finish().map(drop));
            }
        }
        ended
    }

    /// The files being written.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|(_, path, _)| path.as_path())
    }
}

/// Makes the directory of `place` if only its last part is missing, as collectl does.
///
/// # Errors
/// One line that names the directory.
pub(crate) fn ensure_directory(place: &Place) -> anyhow::Result<()> {
    let directory = &place.directory;
    match std::fs::create_dir(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(error).with_context(|| format!("cannot make the directory {}", directory.display()))
        }
        // Plot files are opened with their first line; who may not write should learn it now.
        _ => rustix::fs::access(directory, Access::WRITE_OK)
            .with_context(|| format!("cannot write to the directory {}", directory.display())),
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
        let place = Place::new(directory.path(), "h");
        let at: Zoned = "2026-11-21T04:35:02[UTC]".parse().unwrap();
        for letters in ["", "z"] {
            let style = PlotStyle::of(letters);
            let name = if letters.is_empty() { "h-20261121.tab.gz" } else { "h-20261121.tab" };
            for round in 1..=2 {
                let mut output = PlotOutput::new(place.clone(), style, at.clone());
                output.add("tab", b"one\n").unwrap();
                output.roll(at.clone()).unwrap();
                output.add("tab", b"two\n").unwrap();
                output.end().unwrap();
                let text = read(&directory.path().join(name));
                assert_eq!(text, "one\ntwo\n".repeat(round));
            }
            let mut anew =
                PlotOutput::new(place.clone(), PlotStyle { anew: true, ..style }, at.clone());
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
        let place = Place::new(directory.path(), "h");
        let at: Zoned = "2026-11-21T04:35:02[UTC]".parse().unwrap();
        let mut output = PlotOutput::new(place, PlotStyle::of("u"), at);
        output.add("cpu", b"line\n").unwrap();
        output.flush().unwrap();
        let path = directory.path().join("h-20261121-043502.cpu.gz");
        let mut start = [0; 5];
        flate2::read::GzDecoder::new(File::open(path).unwrap()).read_exact(&mut start).unwrap();
        assert_eq!(&start, b"line\n");
    }
}

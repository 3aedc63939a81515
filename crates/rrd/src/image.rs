//! A whole database in memory, and new files from it.
//!
//! A new file is written under another name in the same folder and renamed when it is complete:
//! at no time is there half a file under the name.

use std::fs::{File as SystemFile, OpenOptions};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::codec;
use crate::error::{Error, Result, refuse};
use crate::file::{Access, File};
use crate::header::{
    Archive, ConsolidationFunction, Primary, RrdHeader, Values, consolidation_value, primary_value,
};
use crate::holt_winters;
use crate::layout::READING_BYTES;
use crate::number::UNKNOWN;

/// Most values of a file that is held in memory: 8 GiB.
const CELLS_MAX: u64 = 1 << 30;

/// A whole database in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    /// The header.
    pub header: RrdHeader,
    /// The rows of each archive, in the order of the file, a value for each source.
    pub cells: Vec<Vec<f64>>,
}

impl Image {
    /// Reads a file.
    ///
    /// # Errors
    /// As [`File::open`], and if it is too large for memory.
    pub fn read(path: &Path) -> Result<Self> {
        Self::of(&File::open(path, Access::Read)?)
    }

    /// Reads an open file.
    ///
    /// # Errors
    /// If it cannot be read or is too large for memory.
    pub fn of(file: &File) -> Result<Self> {
        let header = file.header().clone();
        check_size(&header)?;
        let archives = header.archives.iter().enumerate();
        let cells = archives.map(|(index, archive)| file.read_rows(index, 0, archive.rows));
        Ok(Self { cells: cells.collect::<Result<_>>()?, header })
    }

    /// A database of sources and archives in which nothing is known.
    ///
    /// # Errors
    /// If it is too large for memory.
    pub fn empty(mut header: RrdHeader) -> Result<Self> {
        check_size(&header)?;
        begin(&mut header);
        let sources = header.sources.len();
        let empty = |rows: u64| vec![UNKNOWN; usize::try_from(rows).unwrap_or(0) * sources];
        let cells = header.archives.iter().map(|archive| empty(archive.rows)).collect();
        Ok(Self { header, cells })
    }

    /// The bytes of the file, in the x86-64 layout.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = codec::encode(&self.header);
        bytes.reserve(self.cells.iter().map(|cells| cells.len() * 8).sum());
        for cell in self.cells.iter().flatten() {
            bytes.extend_from_slice(&cell.to_le_bytes());
        }
        bytes
    }

    /// Writes a new file, or takes the place of the old one.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write(&self, path: &Path) -> Result<()> {
        write_file(path, &self.to_bytes())
    }
}

fn check_size(header: &RrdHeader) -> Result<()> {
    if header.cells() > CELLS_MAX {
        return Err(refuse!("{} values are more than fit into memory", header.cells()));
    }
    // What is written must be readable.
    let step = header.step_seconds;
    let is_too_long = |one: &&Archive| !codec::is_bounded(one.rows, one.steps_per_row, step);
    match header.archives.iter().find(is_too_long) {
        Some(Archive { rows, steps_per_row, .. }) => {
            Err(refuse!("{rows} rows of {steps_per_row} steps of {step} s are too long a time"))
        }
        None => Ok(()),
    }
}

/// Sets the state of a header to that of a new file: the last update is set already.
pub(crate) fn begin(header: &mut RrdHeader) {
    let seconds = header.last_update.seconds as u64;
    let unknown = seconds % header.step_seconds;
    let mut primary = Primary { reading: [0; READING_BYTES], values: Values::default() };
    primary.set_reading(b"U");
    primary.values[primary_value::UNKNOWN_SECONDS] = unknown;
    primary.values[primary_value::VALUE] = UNKNOWN.to_bits();
    header.primary = vec![primary; header.sources.len()];
    header.consolidation.clear();
    header.current_row.clear();
    for index in 0..header.archives.len() {
        let state = first_state(header, index, unknown);
        header.consolidation.extend(std::iter::repeat_n(state, header.sources.len()));
        header.current_row.push(random_row(header.archives[index].rows));
    }
}

/// The state of an archive and a source that have seen nothing.
pub(crate) fn first_state(header: &RrdHeader, archive: usize, unknown_seconds: u64) -> Values {
    let archive = &header.archives[archive];
    let mut values = Values::default();
    match archive.function {
        ConsolidationFunction::HwPredict | ConsolidationFunction::MhwPredict => {
            holt_winters::begin_forecast(&mut values);
        }
        ConsolidationFunction::Seasonal | ConsolidationFunction::DevSeasonal => {
            holt_winters::begin_season(&mut values);
        }
        ConsolidationFunction::Failures => {}
        _ => {
            values[consolidation_value::VALUE] = UNKNOWN.to_bits();
            let step = header.step_seconds;
            let complete = (header.last_update.seconds as u64).wrapping_sub(unknown_seconds);
            let row = step.wrapping_mul(archive.steps_per_row).max(1);
            values[consolidation_value::UNKNOWN] = complete % row / step;
        }
    }
    values
}

/// The row that a new archive begins after.  Files that are made together then turn to a new block
/// of the disk at different times.
pub(crate) fn random_row(rows: u64) -> u64 {
    RandomState::new().build_hasher().finish() % rows.max(1)
}

/// Writes a file under a temporary name, and gives it its name when it is complete.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    write_renamed(path, false, |file| write_pages(file, bytes))
}

/// As [`write_file`], and the file is on the disk before it takes the place of an old one.
pub(crate) fn write_durably(path: &Path, bytes: &[u8]) -> Result<()> {
    write_renamed(path, true, |file| write_pages(file, bytes))
}

/// Writes a new file in which nothing is known: as [`Image::empty`] and [`Image::write`], but its
/// rows are never in memory, since they are all the same.
pub(crate) fn write_empty(path: &Path, header: RrdHeader) -> Result<()> {
    let (head, cells) = empty(header)?;
    write_renamed(path, false, |file| write_unknown(file, &head, cells))
}

/// Bytes of the file that [`write_empty`] makes.
pub(crate) fn empty_bytes(header: RrdHeader) -> Result<u64> {
    let (head, cells) = empty(header)?;
    Ok(head.len() as u64 + cells * 8)
}

/// The bytes of the header of a new file, and how many cells follow.
fn empty(mut header: RrdHeader) -> Result<(Vec<u8>, u64)> {
    check_size(&header)?;
    begin(&mut header);
    Ok((codec::encode(&header), header.cells()))
}

/// Bytes of a write of a new file.  Where the kernel keeps a file in memory in folios as large as its
/// writes (ext4 since 6.16), each later update writes whole folios back: with pages of 4 KiB they
/// write a sixth of what they do after one large write.
const PAGE_BYTES: usize = 4096;

/// Writes the bytes of a new file, page by page.
fn write_pages(file: &mut SystemFile, bytes: &[u8]) -> io::Result<()> {
    bytes.chunks(PAGE_BYTES).try_for_each(|page| file.write_all(page))
}

/// Writes a header, and cells of which none is known.
fn write_unknown(file: &mut SystemFile, head: &[u8], cells: u64) -> io::Result<()> {
    let block = [UNKNOWN.to_le_bytes(); PAGE_BYTES / 8 + 1];
    let block = block.as_flattened();
    let (pages, rest) = head.split_at(head.len() - head.len() % PAGE_BYTES);
    write_pages(file, pages)?;
    let mut left = cells * 8;
    let mut unknown = |room: usize| {
        let count = room.min(usize::try_from(left).unwrap_or(room));
        left -= count as u64;
        count
    };
    // The page in which the header ends.
    let mut page = [0; PAGE_BYTES];
    let end = rest.len() + unknown(PAGE_BYTES - rest.len());
    page[..rest.len()].copy_from_slice(rest);
    page[rest.len()..end].copy_from_slice(&block[..end - rest.len()]);
    file.write_all(&page[..end])?;
    // A cell may lie in two pages.
    let begin = (PAGE_BYTES - rest.len()) % 8;
    loop {
        match unknown(PAGE_BYTES) {
            0 => return Ok(()),
            count => file.write_all(&block[begin..begin + count])?,
        }
    }
}

fn write_renamed(
    path: &Path,
    is_synced: bool,
    write: impl FnOnce(&mut SystemFile) -> io::Result<()>,
) -> Result<()> {
    let mode = std::fs::metadata(path).ok().map(|metadata| metadata.permissions());
    let (temporary, mut file) = create_temporary(path)?;
    let written = write(&mut file).and_then(|()| match mode {
        Some(mode) => file.set_permissions(mode),
        None => Ok(()),
    });
    let written = written.and_then(|()| if is_synced { file.sync_all() } else { Ok(()) });
    drop(file);
    let done = written.map_err(|error| Error::file("writing", path, error)).and_then(|()| {
        std::fs::rename(&temporary, path)
            .map_err(|_| refuse!("Cannot rename temporary file to final file!"))
    });
    if done.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    done
}

/// Tries of names for a temporary file.
const TRIES: usize = 100;

fn create_temporary(path: &Path) -> Result<(PathBuf, SystemFile)> {
    for _ in 0..TRIES {
        let mut name = path.as_os_str().to_owned();
        name.push(format!("{:06x}", RandomState::new().build_hasher().finish() & 0xff_ffff));
        let temporary = PathBuf::from(name);
        match OpenOptions::new().write(true).create_new(true).mode(0o666).open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(_) => break,
        }
    }
    Err(refuse!("Cannot create temporary file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_cells_are_those_of_an_empty_image() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("unknown");
        // Cells of less than a page, of pages, and none.
        for cells in [0, 1, 511, 512, 513, 11_488, 512 * 1024 + 5] {
            for head in [&b""[..], b"head", &[7; 4096], &[7; 5000], &[7; 8191]] {
                let mut file = SystemFile::create(&path).unwrap();
                write_unknown(&mut file, head, cells).unwrap();
                let written = std::fs::read(&path).unwrap();
                let unknown = UNKNOWN.to_le_bytes();
                assert_eq!(written.len() as u64, head.len() as u64 + cells * 8);
                assert!(written.starts_with(head));
                assert!(written[head.len()..].chunks(8).all(|cell| cell == unknown), "{cells}");
            }
        }
    }
}

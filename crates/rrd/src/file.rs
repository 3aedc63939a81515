//! An open file: found, checked, locked, its header read; rows read and changes written.
//!
//! A change is all or nothing, also for a process that is killed at any system call: one place
//! within a page is one `pwrite`, more are one `preadv` into a mapping (`mapping.rs`).  Where a file
//! cannot be mapped, its places are written one after the other: an error puts back what was there,
//! but a process that is killed between two writes leaves some of them.
//! Locks are those of RRDtool: a POSIX write lock of the whole file, taken by those who change it.

use std::fs::{File as SystemFile, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, FlockOperation, fcntl_lock};

use crate::codec::{self, SHAPE_BYTES, Shape};
use crate::error::{Error, Result};
use crate::header::RrdHeader;
use crate::layout::X86_64;
use crate::mapping::{KnownFile, Mapping, RANGES_MAX, Range};

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// To look at it.
    Read,
    /// To change it.
    Write(Locking),
}

/// What to do about a lock that another process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Locking {
    /// Say so.
    #[default]
    Try,
    /// Wait for it.
    Block,
    /// Do not lock.
    None,
}

impl Locking {
    /// By its word in `--locking` and `RRD_LOCKING`.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        match word {
            "try" => Some(Self::Try),
            "block" => Some(Self::Block),
            "none" => Some(Self::None),
            _ => None,
        }
    }
}

/// Bytes read at first: nearly all headers are shorter.
const FIRST_BYTES: usize = 4096;
/// A write within a page cannot be torn.
const PAGE_BYTES: u64 = 4096;

/// An open round-robin database.
#[derive(Debug)]
pub struct File {
    path: PathBuf,
    file: SystemFile,
    file_bytes: u64,
    /// Device and number of the file.
    identity: (u64, u64),
    shape: Shape,
    /// The header as it stands in the file.
    bytes: Vec<u8>,
    header: RrdHeader,
    mapping: Option<Mapping>,
    /// Whether `bytes` is what the file has: since another process may have had the lock, the file
    /// has to be looked at before it is changed.
    is_current: bool,
    /// Whether several updates are to come, so that a mapping pays.
    is_kept: bool,
    /// Changes that are not written, if this file is only looked at.
    preview: Option<Vec<(u64, Vec<u8>)>>,
}

/// What [`File::write_live`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LiveWrite {
    /// All was written.
    Done,
    /// The file has another header than the one that was changed in memory.  Nothing was written,
    /// and the header has been read again.
    Stale,
}

impl File {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// If the system refuses, another process holds the lock, or the file is not sound.
    pub fn open(path: &Path, access: Access) -> Result<Self> {
        let opened = |error| Error::file("opening", path, error);
        let writes = access != Access::Read;
        let file = match access {
            Access::Write(locking) => open_locked(path, locking)?,
            Access::Read => open_system(path, false).map_err(opened)?,
        };
        let stat = rustix::fs::fstat(&file).map_err(|error| Error::file("fstat", path, error))?;
        if FileType::from_raw_mode(stat.st_mode).is_dir() {
            return Err(opened(io::Error::from_raw_os_error(libc::EISDIR)));
        }
        let file_bytes = u64::try_from(stat.st_size).unwrap_or(0);
        let identity = (stat.st_dev, stat.st_ino);
        let (shape, bytes) = read_header(&file, file_bytes, path)?;
        let header = codec::decode(&shape, &bytes, path)?;
        let expected = expected_bytes(&shape, &header);
        if expected > file_bytes {
            return Err(Error::TooSmall { path: path.to_owned(), expected_bytes: expected });
        }
        if writes && shape.layout != X86_64 {
            return Err(Error::Architecture);
        }
        let path = path.to_owned();
        Ok(Self {
            path,
            file,
            file_bytes,
            identity,
            shape,
            bytes,
            header,
            mapping: None,
            is_current: true,
            is_kept: false,
            preview: None,
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The header of the file.
    #[must_use]
    pub fn header(&self) -> &RrdHeader {
        &self.header
    }

    /// The layout of the file.
    #[must_use]
    pub fn layout(&self) -> crate::layout::FileLayout {
        self.shape.layout
    }

    /// Bytes of its header.
    #[must_use]
    pub fn header_bytes(&self) -> u64 {
        self.shape.header_bytes
    }

    /// The size of the file, in bytes.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// What the system says of the opened file, which may have another name by now, or none.
    ///
    /// # Errors
    /// If the system does not answer.
    pub fn metadata(&self) -> io::Result<std::fs::Metadata> {
        self.file.metadata()
    }

    /// Keeps changes in memory from now on; reads of this file show them: what the file would
    /// be after updates that wait.
    pub fn preview(&mut self) {
        self.preview.get_or_insert_default();
    }

    /// Offset of a row.
    pub(crate) fn row_offset(&self, archive: usize, row: u64) -> u64 {
        let before: u64 = self.header.archives[..archive].iter().map(|one| one.rows).sum();
        self.shape.header_bytes + (before + row) * self.header.sources.len() as u64 * 8
    }

    /// Reads rows of an archive as they stand in the file, a value for each source.
    ///
    /// # Errors
    /// If the system refuses, or the file has become shorter.
    pub fn read_rows(&self, archive: usize, first: u64, count: u64) -> Result<Vec<f64>> {
        let cells = usize::try_from(count * self.header.sources.len() as u64).unwrap_or(usize::MAX);
        let mut bytes = vec![0; cells * 8];
        let start = self.row_offset(archive, first);
        read_exact_at(&self.file, &mut bytes, start)
            .map_err(|error| Error::file("reading", &self.path, error))?;
        for (offset, changed) in self.preview.iter().flatten() {
            overlay(&mut bytes, start, changed, *offset);
        }
        let cell = |bytes: &[u8]| {
            let mut word = [0; 8];
            word.copy_from_slice(bytes);
            match self.shape.layout.big_endian {
                true => f64::from_be_bytes(word),
                false => f64::from_le_bytes(word),
            }
        };
        Ok(bytes.chunks_exact(8).map(cell).collect())
    }

    /// Reads all rows of an archive, oldest first.
    ///
    /// # Errors
    /// As [`File::read_rows`].
    pub fn read_in_order(&self, archive: usize) -> Result<Vec<f64>> {
        let mut cells = self.read_rows(archive, 0, self.header.archives[archive].rows)?;
        let newest = usize::try_from(self.header.current_row[archive]).unwrap_or(0);
        let turn = (newest + 1) * self.header.sources.len();
        let turn = turn.min(cells.len());
        cells.rotate_left(turn);
        Ok(cells)
    }

    /// Takes the lock again, for a file that stays open.  What others have changed since is found
    /// when it is written, or now.
    ///
    /// `false`: the name means another file by now, which has to be opened anew.
    ///
    /// # Errors
    /// If another process holds the lock, or the file cannot be read.
    pub fn lock_again(&mut self, locking: Locking) -> Result<bool> {
        lock(&self.file, locking)?;
        let is_same = rustix::fs::stat(&self.path).is_ok_and(|stat| {
            (stat.st_dev, stat.st_ino) == self.identity
                && u64::try_from(stat.st_size) == Ok(self.file_bytes)
        });
        if !is_same {
            return Ok(false);
        }
        self.is_kept = true;
        self.is_current = false;
        let ranges_max = 1 + 2 * self.header.archives.len();
        let is_plain = self.header.archives.iter().all(|archive| archive.function.is_plain());
        if self.mapping.is_none() || !is_plain || ranges_max > RANGES_MAX {
            self.read_again()?;
        }
        Ok(true)
    }

    /// Looks whether another program has changed the file since it was locked again, and takes its
    /// header then.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn refresh(&mut self) -> Result<()> {
        if self.is_current { Ok(()) } else { self.read_again() }
    }

    /// Whether the header in memory was compared with the file since it was locked.
    pub(crate) fn is_current(&self) -> bool {
        self.is_current
    }

    /// Compares the header with the one in the file, and takes that if it is another one.
    pub(crate) fn read_again(&mut self) -> Result<()> {
        let mut bytes = [0u8; FIRST_BYTES];
        let length = self.bytes.len();
        self.is_current = true;
        if length <= FIRST_BYTES {
            read_exact_at(&self.file, &mut bytes[..length], 0)
                .map_err(|error| Error::file("reading", &self.path, error))?;
            if bytes[..length] == self.bytes[..] {
                return Ok(());
            }
        }
        let (shape, bytes) = read_header(&self.file, self.file_bytes, &self.path)?;
        self.header = codec::decode(&shape, &bytes, &self.path)?;
        self.shape = shape;
        self.bytes = bytes;
        Ok(())
    }

    /// Gives the lock back without closing the file.
    pub fn unlock(&self) {
        let _ = fcntl_lock(&self.file, FlockOperation::Unlock);
    }

    /// Gives the lock back, and leaves descriptor and mapping to the end of the process: for one that
    /// soon ends, since the kernel gives all of them back at once for less than each by itself.
    pub fn leave_to_exit(self) {
        use std::os::fd::IntoRawFd as _;
        self.unlock();
        std::mem::forget(self.mapping);
        let _ = self.file.into_raw_fd();
    }

    /// Writes what differs in a header of the same sources and archives, and in the cells of each
    /// archive by stored row: all or nothing.
    pub(crate) fn write_all(&mut self, new: &RrdHeader, cells: &[Vec<f64>]) -> Result<()> {
        let header = codec::encode(new);
        let mut ranges = Vec::new();
        let mut bytes = Vec::new();
        let differs = header.iter().zip(&self.bytes).position(|(new, old)| new != old);
        if let Some(first) = differs {
            ranges.push(Range { offset: first as u64, length: header.len() - first });
            bytes.extend_from_slice(&header[first..]);
        }
        for (index, cells) in cells.iter().enumerate() {
            let old = self.read_rows(index, 0, self.header.archives[index].rows)?;
            let is_same = old.iter().zip(cells).all(|(old, new)| old.to_bits() == new.to_bits());
            if !is_same {
                let offset = self.row_offset(index, 0);
                ranges.push(Range { offset, length: cells.len() * 8 });
                bytes.extend(cells.iter().flat_map(|cell| cell.to_le_bytes()));
            }
        }
        if ranges.is_empty() {
            return Ok(());
        }
        let written = self.write_ranges(&ranges, &bytes);
        written.map_err(|error| Error::file("writing", &self.path, error))?;
        self.bytes = header;
        self.header.clone_from(new);
        Ok(())
    }

    /// Begins what [`File::write_live`] writes: the header, of which the live part was changed in
    /// place.
    pub(crate) fn push_live(&self, ranges: &mut Vec<Range>, buffer: &mut Vec<u8>) {
        let offset = self.shape.layout.live_offset(self.shape.sources, self.shape.archives);
        codec::encode_live(&self.header, buffer);
        ranges.push(Range { offset, length: buffer.len() });
    }

    /// Writes the header, which is the first range, and rows.
    pub(crate) fn write_live(&mut self, ranges: &[Range], buffer: &[u8]) -> Result<LiveWrite> {
        let Some(live) = ranges.first() else { return Ok(LiveWrite::Done) };
        let written = self.write_ranges(ranges, buffer);
        let start = usize::try_from(live.offset).unwrap_or(usize::MAX);
        match written {
            Ok(LiveWrite::Done) => {
                self.bytes[start..].copy_from_slice(&buffer[..live.length]);
                self.is_current = true;
                Ok(LiveWrite::Done)
            }
            Ok(LiveWrite::Stale) => {
                self.read_again()?;
                Ok(LiveWrite::Stale)
            }
            Err(error) => {
                // The file is as it was, so the header in memory has to be.
                codec::decode_live(&self.shape, &self.bytes, &mut self.header, &self.path)?;
                Err(Error::file("writing", &self.path, error))
            }
        }
    }

    /// The header, to change its live part; [`File::write_live`] writes it.
    pub(crate) fn header_mut(&mut self) -> &mut RrdHeader {
        &mut self.header
    }

    /// Forgets changes of the live part that were not written.
    pub(crate) fn forget_changes(&mut self) -> Result<()> {
        codec::decode_live(&self.shape, &self.bytes, &mut self.header, &self.path)
    }

    fn write_ranges(&mut self, ranges: &[Range], bytes: &[u8]) -> io::Result<LiveWrite> {
        if let Some(preview) = &mut self.preview {
            let mut rest = bytes;
            for range in ranges {
                let (own, others) = rest.split_at(range.length);
                preview.push((range.offset, own.to_vec()));
                rest = others;
            }
            return Ok(LiveWrite::Done);
        }
        if !self.is_kept
            && self.is_current
            && let Some(span) = one_page(ranges)
        {
            return self.write_page(ranges, bytes, span).map(|()| LiveWrite::Done);
        }
        if self.mapping.as_ref().is_none_or(|one| one.file_bytes() != self.file_bytes) {
            match Mapping::of(&self.file, self.file_bytes) {
                Ok(mapping) => self.mapping = Some(mapping),
                Err(_) => {
                    return write_in_turn(&self.file, ranges, bytes).map(|()| LiveWrite::Done);
                }
            }
        }
        let Some(mapping) = &self.mapping else { return Ok(LiveWrite::Done) };
        let header = self.bytes.as_slice();
        let header_end = ranges.first().map(|range| range.offset + range.length as u64);
        let known = match ranges.first() {
            _ if !self.is_current => KnownFile::Header(header),
            // Updates begin with the end of the header.
            Some(range) if header_end == Some(header.len() as u64) => {
                KnownFile::First(&header[header.len() - range.length..])
            }
            _ => KnownFile::Nothing,
        };
        // More ranges than a call takes need hundreds of archives: those are written in turn.
        let mut at = 0;
        for chunk in ranges.chunks(RANGES_MAX) {
            let length: usize = chunk.iter().map(|range| range.length).sum();
            let known = if at == 0 { known } else { KnownFile::Nothing };
            if !mapping.write(&self.file, chunk, &bytes[at..at + length], known)? {
                return Ok(LiveWrite::Stale);
            }
            at += length;
        }
        Ok(LiveWrite::Done)
    }

    /// Writes ranges of one page by one call, with the bytes between them as they are.
    fn write_page(&self, ranges: &[Range], bytes: &[u8], span: Range) -> io::Result<()> {
        if let [_] = ranges {
            return write_page(&self.file, bytes, span.offset);
        }
        let mut page = [0u8; PAGE_BYTES as usize];
        let page = &mut page[..span.length];
        read_exact_at(&self.file, page, span.offset)?;
        let mut rest = bytes;
        for range in ranges {
            let (own, others) = rest.split_at(range.length);
            let at = usize::try_from(range.offset - span.offset).unwrap_or(usize::MAX);
            page[at..at + own.len()].copy_from_slice(own);
            rest = others;
        }
        write_page(&self.file, page, span.offset)
    }
}

/// The range from the first to the last byte of ranges, if they are within one page.
fn one_page(ranges: &[Range]) -> Option<Range> {
    let start = ranges.iter().map(|range| range.offset).min()?;
    let end = ranges.iter().map(|range| range.offset + range.length as u64).max()?;
    let is_one = end > start && start / PAGE_BYTES == (end - 1) / PAGE_BYTES;
    is_one.then(|| Range { offset: start, length: (end - start) as usize })
}

/// Copies the part of `changed`, at `offset` of a file, that lies within `bytes`, at `start`.
fn overlay(bytes: &mut [u8], start: u64, changed: &[u8], offset: u64) {
    let (end, changed_end) = (start + bytes.len() as u64, offset + changed.len() as u64);
    let (from, to) = (start.max(offset), end.min(changed_end));
    if from < to {
        let place = |at: u64, base: u64| usize::try_from(at - base).unwrap_or(usize::MAX);
        bytes[place(from, start)..place(to, start)]
            .copy_from_slice(&changed[place(from, offset)..place(to, offset)]);
    }
}

fn write_page(file: &SystemFile, bytes: &[u8], offset: u64) -> io::Result<()> {
    match rustix::io::pwrite(file, bytes, offset)? {
        count if count == bytes.len() => Ok(()),
        _ => Err(io::Error::from_raw_os_error(libc::ENOSPC)),
    }
}

/// Writes ranges one after the other, for a file that cannot be mapped.  After an error what was
/// written is put back.
fn write_in_turn(file: &SystemFile, ranges: &[Range], bytes: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::FileExt as _;
    let mut old = vec![0; bytes.len()];
    let mut at = 0;
    for range in ranges {
        read_exact_at(file, &mut old[at..at + range.length], range.offset)?;
        at += range.length;
    }
    let mut at = 0;
    for (index, range) in ranges.iter().enumerate() {
        if let Err(error) = file.write_all_at(&bytes[at..at + range.length], range.offset) {
            let mut at = 0;
            for range in &ranges[..=index] {
                // These places were just written, or hold what is there already.
                let _ = file.write_all_at(&old[at..at + range.length], range.offset);
                at += range.length;
            }
            return Err(error);
        }
        at += range.length;
    }
    Ok(())
}

fn lock(file: &SystemFile, locking: Locking) -> Result<()> {
    let operation = match locking {
        Locking::Try => FlockOperation::NonBlockingLockExclusive,
        Locking::Block => FlockOperation::LockExclusive,
        Locking::None => return Ok(()),
    };
    loop {
        match fcntl_lock(file, operation) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Err(Error::Locked),
        }
    }
}

/// Opens a file to change it, and locks it.  Who waited for the lock gets the file that has the name
/// then: the one before may have been replaced, and would be changed for nobody.
pub(crate) fn open_locked(path: &Path, locking: Locking) -> Result<SystemFile> {
    loop {
        let file = open_system(path, true).map_err(|error| Error::file("opening", path, error))?;
        if locking != Locking::Block {
            lock(&file, locking)?;
            return Ok(file);
        }
        if lock(&file, Locking::Try).is_ok() {
            return Ok(file);
        }
        lock(&file, Locking::Block)?;
        let stats = (rustix::fs::stat(path), rustix::fs::fstat(&file));
        if let (Ok(named), Ok(open)) = stats
            && (named.st_dev, named.st_ino) == (open.st_dev, open.st_ino)
        {
            return Ok(file);
        }
    }
}

/// Opens a file.  One that is changed is not marked as read, where the system allows that (to the
/// owner): it would write the inode for that alone, and an update is nobody's look at the file.
fn open_system(path: &Path, writes: bool) -> io::Result<SystemFile> {
    let mut options = OpenOptions::new();
    options.read(true).write(writes);
    if writes {
        let flags = libc::O_NOATIME;
        let opened = options.clone().custom_flags(flags).open(path);
        let is_refused = |error: &io::Error| error.raw_os_error() == Some(libc::EPERM);
        if !opened.as_ref().is_err_and(is_refused) {
            return opened;
        }
    }
    options.open(path)
}

fn read_header(file: &SystemFile, file_bytes: u64, path: &Path) -> Result<(Shape, Vec<u8>)> {
    let failed = |error| Error::file("reading", path, error);
    let first = FIRST_BYTES.min(usize::try_from(file_bytes).unwrap_or(FIRST_BYTES));
    let mut page = [0; FIRST_BYTES];
    let page = &mut page[..first];
    read_exact_at(file, page, 0).map_err(failed)?;
    let head = &page[..first.min(SHAPE_BYTES)];
    // What is longer than a page; empty until it is needed.
    let mut longer: Vec<u8> = Vec::new();
    let page = &*page;
    let read_to = |longer: &mut Vec<u8>, length: u64| -> Result<()> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let had = longer.len().max(page.len());
        if had < length {
            longer.extend_from_slice(&page[longer.len().min(page.len())..]);
            longer.resize(length, 0);
            read_exact_at(file, &mut longer[had..], had as u64).map_err(failed)?;
        }
        Ok(())
    };
    let shape = codec::shape(head, file_bytes, path, |shape| {
        read_to(&mut longer, shape.header_bytes).is_ok()
            && rows_fit(shape, if longer.is_empty() { page } else { &longer }, file_bytes)
    })?;
    read_to(&mut longer, shape.header_bytes)?;
    // Files that stay open keep it: no more than that.
    let length = usize::try_from(shape.header_bytes).unwrap_or(usize::MAX);
    let bytes = if longer.is_empty() { page } else { &longer };
    Ok((shape, bytes[..length.min(bytes.len())].to_vec()))
}

/// Whether the header and all rows make up the file.
fn rows_fit(shape: &Shape, bytes: &[u8], file_bytes: u64) -> bool {
    let layout = &shape.layout;
    let start = layout.head_bytes() as u64 + shape.sources * layout.source_bytes() as u64;
    let rows = (0..shape.archives).fold(0u64, |sum, index| {
        let offset = start + index * layout.archive_bytes() as u64 + layout.archive_rows() as u64;
        sum.saturating_add(layout.long(bytes, usize::try_from(offset).unwrap_or(usize::MAX)))
    });
    let cells = rows.saturating_mul(shape.sources);
    shape.header_bytes.saturating_add(cells.saturating_mul(8)) == file_bytes
}

fn expected_bytes(shape: &Shape, header: &RrdHeader) -> u64 {
    shape.header_bytes.saturating_add(header.cells().saturating_mul(8))
}

fn read_exact_at(file: &SystemFile, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

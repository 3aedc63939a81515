//! The files of a journal, read by themselves: entries in the order of `journalctl`, after a cursor of the
//! journal's own, up to the newest that was there when they were opened.
//!
//! The format is that of systemd's `JOURNAL_FILE_FORMAT`: an entry names its data objects, arrays of entries
//! name the entries; both also in the compact form.  What this reader does not know (data compressed by LZ4
//! or XZ, flags of later versions), and what is damaged, is an error by name: `journalctl` reads on there.
//!
//! Files are read by `pread`, 64 KiB at once, so a file that is cut gives an error and no signal.  Entries
//! share what they have in common, so most data of an entry is known by its place from those before.
//! Memory is bounded by [`BLOCKS`], [`FILES_MAX`], [`OBJECT_MAX`] and [`SHARED`], whatever a file says.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use log_protocol::bytes::{u32_at, u64_at};
use zstd::bulk::Decompressor;
use zstd::zstd_safe::get_frame_content_size;

use super::follow::open_regular;
use super::journal_cursor::EntryPlace;

/// Bytes that are read at once.
const BLOCK: usize = 64 << 10;
/// Blocks that are kept, of all files together.
const BLOCKS: usize = SETS * WAYS;
const SETS: usize = 16;
/// Blocks that are kept of those whose numbers have the same rest.
const WAYS: usize = 4;
/// Files that are open at once.
const FILES_MAX: usize = 256;
/// Longest entry, longest compressed data and longest data that was compressed.
const OBJECT_MAX: u64 = 1 << 20;
/// Arrays of entries in a file: each is as long as all before it.
const ARRAYS_MAX: usize = 1024;
/// Slots for data that several entries have, of all files together: a power of two.
const SHARED: usize = 4096;
/// Longest value that is kept there.
const SHARED_BYTES_MAX: usize = 256;
/// Times that the folders are looked at, until two looks show the same.
const LOOKS: usize = 4;

const MAGIC: &[u8; 8] = b"LPKSHHRH";
const HEADER: usize = 208;
const OBJECT_HEAD: u64 = 16;
const DATA: u8 = 1;
const ENTRY: u8 = 3;
const ENTRY_ARRAY: u8 = 6;
/// Flags of a file without which it is not understood.  How hashes are made does not matter to who reads
/// from the beginning to the end.
const KEYED_HASH: u32 = 1 << 2;
const COMPRESSED_ZSTD: u32 = 1 << 3;
const COMPACT: u32 = 1 << 4;
/// The flag of a data object.
const OBJECT_COMPRESSED_ZSTD: u8 = 1 << 2;

/// Why files of a journal are not read, or not any further.
#[derive(Debug, thiserror::Error)]
pub(super) enum JournalError {
    /// Something of the system's.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// What is not understood, or damaged.
    #[error("{}: {what}, at byte {at}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Where in it.
        at: u64,
        /// What is there.
        what: &'static str,
    },
    /// Something about all of them.
    #[error("{0}")]
    Files(&'static str),
}

type Result<T> = std::result::Result<T, JournalError>;

/// Files of a journal, and how far they are read.
pub(super) struct JournalFiles {
    files: Vec<JournalFile>,
    bytes: FileBytes,
    shared: SharedData,
    /// The file of the entry that was given last, and where its items are.
    current: (usize, Entry),
    /// Where the data of an entry is.
    items: Vec<u64>,
    /// The entry that was given last.
    last: Option<EntryPlace>,
    /// The first entry of all other files, as of the last look at them; `None`: all have to be looked at.
    others: Option<EntryPlace>,
    /// The newest entry of those that were there at first; `None`: there was none.
    until: Option<EntryPlace>,
    unpack: Option<Decompressor<'static>>,
    unpacked: Vec<u8>,
}

impl JournalFiles {
    /// Opens the journals of a folder, or of this machine, after an entry.
    ///
    /// The newest entry of a first look is the end: what was written before it is there at a second look,
    /// in whatever file, so nothing before the end is missed while the journal is written.
    pub(super) fn open(folder: Option<&Path>, after: Option<EntryPlace>) -> Result<Self> {
        let mut looked = list(folder)?;
        for _ in 0..LOOKS {
            let until = Self::of(&looked, None)?.newest()?;
            let again = list(folder)?;
            if again == looked {
                let mut files = Self::of(&again, after)?;
                files.until = until;
                return Ok(files);
            }
            looked = again;
        }
        Err(JournalError::Files("the files of the journal change all the time"))
    }

    fn of(paths: &BTreeSet<PathBuf>, after: Option<EntryPlace>) -> Result<Self> {
        if paths.len() > FILES_MAX {
            return Err(JournalError::Files("there are more than 256 files of the journal"));
        }
        let mut bytes = FileBytes::default();
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            let mut file = JournalFile::open(path, files.len(), &mut bytes)?;
            if let Some(after) = after {
                file.skip_to(&mut bytes, &after)?;
            }
            files.push(file);
        }
        Ok(JournalFiles {
            files,
            bytes,
            shared: SharedData::default(),
            current: (0, Entry::default()),
            items: Vec::new(),
            last: after,
            others: None,
            until: None,
            unpack: None,
            unpacked: Vec::new(),
        })
    }

    /// The newest entry of all.
    fn newest(&mut self) -> Result<Option<EntryPlace>> {
        let mut newest: Option<EntryPlace> = None;
        for file in &mut self.files {
            let Some(last) = file.count.checked_sub(1) else { continue };
            let place = file.read_entry(&mut self.bytes, last)?.0;
            if newest.is_none_or(|newest| newest.compare(&place).is_lt()) {
                newest = Some(place);
            }
        }
        Ok(newest)
    }

    /// The next entry, which [`Self::each_field`] then reads; `None`: all are read.
    pub(super) fn next(&mut self) -> Result<Option<EntryPlace>> {
        // Files follow each other, so the next entry is mostly in the same file.
        let at = self.current.0;
        let mut next = None;
        if let (Some(others), Some(file)) = (self.others, self.files.get_mut(at)) {
            let place = file.peek(&mut self.bytes, self.last.as_ref())?;
            next = place.filter(|place| place.compare(&others).is_lt()).map(|place| (at, place));
        }
        if next.is_none() {
            next = self.earliest()?;
        }
        let Some(until) = self.until else { return Ok(None) };
        let Some((at, place)) = next.filter(|(_, place)| place.compare(&until).is_le()) else {
            return Ok(None);
        };
        if let Some((_, entry)) = self.files[at].peeked.take() {
            self.current = (at, entry);
        }
        self.last = Some(place);
        Ok(Some(place))
    }

    /// Looks at all files; gives the first entry.
    fn earliest(&mut self) -> Result<Option<(usize, EntryPlace)>> {
        let mut first: Option<(usize, EntryPlace)> = None;
        self.others = None;
        for (at, file) in self.files.iter_mut().enumerate() {
            let Some(place) = file.peek(&mut self.bytes, self.last.as_ref())? else { continue };
            let later = match first {
                Some((_, earliest)) if place.compare(&earliest).is_ge() => place,
                _ => match first.replace((at, place)) {
                    Some((_, earliest)) => earliest,
                    None => continue,
                },
            };
            if self.others.is_none_or(|others| later.compare(&others).is_lt()) {
                self.others = Some(later);
            }
        }
        Ok(first)
    }

    /// Gives the name of each field of the entry that was given last, the first `most` bytes of its value,
    /// and how many bytes the value has.  `is_wanted` sees the name first, and says the same of it each time.
    pub(super) fn each_field(
        &mut self,
        name_max: usize,
        most: usize,
        is_wanted: impl Fn(&[u8]) -> bool,
        mut put: impl FnMut(&[u8], &[u8], u64),
    ) -> Result<()> {
        let (at, entry) = &self.current;
        let file = &self.files[*at];
        let width = file.item_bytes as usize;
        let items = self.bytes.get(file, entry.offset + 64, entry.items as usize * width)?;
        self.items.clear();
        self.items.extend(items.chunks_exact(width).map(|item| file.offset(item)));
        for &data in &self.items {
            let slot = self.shared.slot((file.id, data));
            if slot.place == (file.id, data) {
                if slot.is_wanted {
                    let (name, value) = slot.bytes.split_at(slot.name);
                    put(name, value, value.len() as u64);
                }
                continue;
            }
            let (flags, length, is_shared) = file.data(&mut self.bytes, data)?;
            let begin = data + file.data_head;
            let (value, length) = match flags & 7 {
                0 => {
                    let looked = length.min((name_max + 1 + most) as u64);
                    (self.bytes.get(file, begin, looked as usize)?, length)
                }
                OBJECT_COMPRESSED_ZSTD if length <= OBJECT_MAX => {
                    let packed = self.bytes.get(file, begin, length as usize)?;
                    if unpack(&mut self.unpack, packed, &mut self.unpacked).is_none() {
                        return file.fault(data, "compressed data cannot be decompressed");
                    }
                    (&self.unpacked[..], self.unpacked.len() as u64)
                }
                _ => return file.fault(data, "data is compressed in a way that is not known here"),
            };
            let Some(end) = memchr::memchr(b'=', &value[..value.len().min(name_max + 1)]) else {
                return file.fault(data, "data has no name, or a very long one");
            };
            let (name, value) = (&value[..end], &value[end + 1..]);
            let (value, length) = (&value[..value.len().min(most)], length - end as u64 - 1);
            let is_wanted = is_wanted(name);
            if is_wanted {
                put(name, value, length);
            }
            if is_shared && length <= SHARED_BYTES_MAX as u64 {
                slot.keep((file.id, data), is_wanted, (name, value));
            }
        }
        Ok(())
    }
}

/// Unpacks data into a buffer; `None`: it is damaged, or too long.
fn unpack(
    decompressor: &mut Option<Decompressor<'static>>,
    packed: &[u8],
    into: &mut Vec<u8>,
) -> Option<()> {
    let length = get_frame_content_size(packed).ok().flatten()?;
    into.clear();
    into.reserve(usize::try_from(length).ok().filter(|_| length <= OBJECT_MAX)?);
    let decompressor = match decompressor {
        Some(there) => there,
        None => decompressor.insert(Decompressor::new().ok()?),
    };
    decompressor.decompress_to_buffer(packed, into).ok().map(drop)
}

/// An entry in its file.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    offset: u64,
    items: u64,
}

/// Entries that an array names.
struct EntryArray {
    /// The first one's number in the file, from 0.
    first: u64,
    /// Where the first one's offset is.
    offset: u64,
}

/// A file; its name in [`FileBytes`] is its place in [`JournalFiles`].
struct JournalFile {
    file: File,
    path: PathBuf,
    id: usize,
    seqnum_id: u128,
    is_compact: bool,
    /// Bytes of a data object before its data.
    data_head: u64,
    /// Bytes of an item of an entry.
    item_bytes: u64,
    /// Bytes of an offset.
    offset_bytes: u64,
    arrays: Vec<EntryArray>,
    /// Entries that it had when it was opened.
    count: u64,
    /// Number of the entry behind the one that is peeked.
    next: u64,
    peeked: Option<(EntryPlace, Entry)>,
}

impl JournalFile {
    fn open(path: &Path, id: usize, bytes: &mut FileBytes) -> Result<Self> {
        let system = |error| JournalError::Io { path: path.to_owned(), error };
        let (file, _) = open_regular(path).map_err(system)?;
        let mut header = [0; HEADER];
        file.read_exact_at(&mut header, 0).map_err(system)?;
        let flags = u32_at(&header, 12);
        let is_compact = flags & COMPACT != 0;
        let mut journal = JournalFile {
            file,
            path: path.to_owned(),
            id,
            seqnum_id: id_at(&header, 72),
            is_compact,
            data_head: if is_compact { 72 } else { 64 },
            item_bytes: if is_compact { 4 } else { 16 },
            offset_bytes: if is_compact { 4 } else { 8 },
            arrays: Vec::new(),
            count: u64_at(&header, 152),
            next: 0,
            peeked: None,
        };
        if !header.starts_with(MAGIC) {
            return journal.fault(0, "it is no file of a journal");
        }
        if flags & !(KEYED_HASH | COMPRESSED_ZSTD | COMPACT) != 0 {
            return journal.fault(12, "it has features that are not known here");
        }
        journal.find_arrays(bytes, u64_at(&header, 176))?;
        Ok(journal)
    }

    fn fault<T>(&self, at: u64, what: &'static str) -> Result<T> {
        Err(JournalError::File { path: self.path.clone(), at, what })
    }

    /// Finds the arrays of the entries that there are.
    fn find_arrays(&mut self, bytes: &mut FileBytes, first: u64) -> Result<()> {
        let (mut offset, mut found) = (first, 0);
        while found < self.count {
            // An array is behind those before it, so a chain has an end.
            let is_behind = self.arrays.last().is_none_or(|last| last.offset < offset);
            if !is_behind || self.arrays.len() >= ARRAYS_MAX {
                return self.fault(offset, "its arrays of entries have no order");
            }
            let (_, length) = self.object(bytes, offset, ENTRY_ARRAY, 24)?;
            self.arrays.push(EntryArray { first: found, offset: offset + 24 });
            found = found.saturating_add(length / self.offset_bytes);
            offset = u64_at(bytes.get(self, offset + OBJECT_HEAD, 8)?, 0);
        }
        Ok(())
    }

    /// Looks at the head of an object; gives its flags, and how many bytes it has behind its own `head`.
    #[inline]
    fn object(&self, bytes: &mut FileBytes, at: u64, kind: u8, head: u64) -> Result<(u8, u64)> {
        if at == 0 || !at.is_multiple_of(8) {
            return self.fault(at, "an offset is wrong");
        }
        let object = bytes.get(self, at, OBJECT_HEAD as usize)?;
        let (found, flags, size) = (object[0], object[1], u64_at(object, 8));
        match size.checked_sub(head).filter(|_| at.checked_add(size).is_some()) {
            Some(length) if found == kind => Ok((flags, length)),
            Some(_) => self.fault(at, "an object is of another kind"),
            None => self.fault(at, "the size of an object is wrong"),
        }
    }

    /// Looks at the head of a data object; gives its flags, how many bytes its data has, and whether several
    /// entries have it.
    fn data(&self, bytes: &mut FileBytes, at: u64) -> Result<(u8, u64, bool)> {
        let (flags, length) = self.object(bytes, at, DATA, self.data_head)?;
        let entries = u64_at(bytes.get(self, at + 56, 8)?, 0);
        Ok((flags, length, entries > 1))
    }

    /// The offset that an item begins with.
    #[inline]
    fn offset(&self, bytes: &[u8]) -> u64 {
        if self.is_compact { u64::from(u32_at(bytes, 0)) } else { u64_at(bytes, 0) }
    }

    /// Reads the head of an entry by its number, from 0.
    fn read_entry(&self, bytes: &mut FileBytes, number: u64) -> Result<(EntryPlace, Entry)> {
        let behind = self.arrays.partition_point(|array| array.first <= number);
        let Some(array) = behind.checked_sub(1).and_then(|at| self.arrays.get(at)) else {
            return self.fault(0, "an entry is in no array");
        };
        let place = array.offset + (number - array.first) * self.offset_bytes;
        let offset = self.offset(bytes.get(self, place, self.offset_bytes as usize)?);
        let (_, length) = self.object(bytes, offset, ENTRY, 64)?;
        if length > OBJECT_MAX {
            return self.fault(offset, "an entry is too long");
        }
        let head = bytes.get(self, offset, 64)?;
        let place = EntryPlace {
            seqnum_id: self.seqnum_id,
            seqnum: u64_at(head, 16),
            boot_id: id_at(head, 40),
            monotonic_us: u64_at(head, 32),
            realtime_us: u64_at(head, 24),
            xor_hash: u64_at(head, 56),
        };
        Ok((place, Entry { offset, items: length / self.item_bytes }))
    }

    /// Passes over the entries that are not after one.
    fn skip_to(&mut self, bytes: &mut FileBytes, after: &EntryPlace) -> Result<()> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.read_entry(bytes, middle)?.0.compare(after).is_gt() {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        self.next = low;
        Ok(())
    }

    /// The next entry after the one that was given last, of whatever file.
    #[inline]
    fn peek(
        &mut self,
        bytes: &mut FileBytes,
        last: Option<&EntryPlace>,
    ) -> Result<Option<EntryPlace>> {
        loop {
            match &self.peeked {
                // Several files may have the same entry.
                Some((place, _)) if last.is_none_or(|last| place.compare(last).is_gt()) => {
                    return Ok(Some(*place));
                }
                _ if self.next >= self.count => {
                    self.peeked = None;
                    return Ok(None);
                }
                _ => {
                    self.peeked = Some(self.read_entry(bytes, self.next)?);
                    self.next += 1;
                }
            }
        }
    }
}

fn id_at(bytes: &[u8], at: usize) -> u128 {
    bytes[at..].first_chunk().map_or(0, |bytes| u128::from_be_bytes(*bytes))
}

/// Data that several entries have and that was read last, each in the slot of its place.
#[derive(Default)]
struct SharedData(Vec<SharedSlot>);

#[derive(Clone, Default)]
struct SharedSlot {
    /// File and offset.
    place: (usize, u64),
    is_wanted: bool,
    /// How many of the bytes are the name; the value follows.
    name: usize,
    bytes: Vec<u8>,
}

impl SharedData {
    /// The slot of a place, which may have that of another.
    #[inline]
    fn slot(&mut self, (file, offset): (usize, u64)) -> &mut SharedSlot {
        if self.0.is_empty() {
            // No file has this number.
            let none = SharedSlot { place: (usize::MAX, 0), ..SharedSlot::default() };
            self.0.resize(SHARED, none);
        }
        let mixed = (offset ^ ((file as u64) << 48)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &mut self.0[(mixed >> (u64::BITS - SHARED.ilog2())) as usize]
    }
}

impl SharedSlot {
    fn keep(&mut self, place: (usize, u64), is_wanted: bool, (name, value): (&[u8], &[u8])) {
        self.bytes.clear();
        if is_wanted {
            self.bytes.extend_from_slice(name);
            self.bytes.extend_from_slice(value);
        }
        (self.place, self.is_wanted, self.name) = (place, is_wanted, name.len());
    }
}

/// Blocks of files that were read last.
#[derive(Default)]
struct FileBytes {
    blocks: Vec<Block>,
    /// Counts what is asked for.
    turn: u64,
    /// Bytes of several blocks.
    joined: Vec<u8>,
}

#[derive(Default)]
struct Block {
    /// File and number; of none, bytes are empty.
    name: (usize, u64),
    bytes: Vec<u8>,
    /// When it was asked for last.
    turn: u64,
}

impl FileBytes {
    /// Bytes of a file, of which it must have all.
    #[inline]
    fn get(&mut self, file: &JournalFile, at: u64, length: usize) -> Result<&[u8]> {
        let begin = (at % BLOCK as u64) as usize;
        if begin + length > BLOCK {
            return self.join(file, at, length);
        }
        let block = self.block(file, at / BLOCK as u64)?;
        match self.blocks[block].bytes.get(begin..begin + length) {
            Some(bytes) => Ok(bytes),
            None => file.fault(at, "it ends too soon"),
        }
    }

    #[cold]
    fn join(&mut self, file: &JournalFile, mut at: u64, length: usize) -> Result<&[u8]> {
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        while joined.len() < length {
            let rest = BLOCK - (at % BLOCK as u64) as usize;
            let piece = self.get(file, at, rest.min(length - joined.len()))?;
            joined.extend_from_slice(piece);
            at += piece.len() as u64;
        }
        self.joined = joined;
        Ok(&self.joined)
    }

    /// Where a block is, which is read if it is not there.
    #[inline]
    fn block(&mut self, file: &JournalFile, number: u64) -> Result<usize> {
        if self.blocks.is_empty() {
            self.blocks.resize_with(BLOCKS, Block::default);
        }
        self.turn += 1;
        let name = (file.id, number);
        let begin = (number as usize).wrapping_add(file.id) % SETS * WAYS;
        let set = begin..begin + WAYS;
        let is_it = |at: &usize| {
            let block = &self.blocks[*at];
            block.name == name && !block.bytes.is_empty()
        };
        let found = match set.clone().find(is_it) {
            Some(found) => found,
            None => {
                let oldest = set.min_by_key(|at| self.blocks[*at].turn).unwrap_or(begin);
                self.blocks[oldest].read(file, number)?;
                oldest
            }
        };
        self.blocks[found].turn = self.turn;
        Ok(found)
    }
}

impl Block {
    #[cold]
    fn read(&mut self, file: &JournalFile, number: u64) -> Result<()> {
        self.name = (file.id, number);
        self.bytes.resize(BLOCK, 0);
        let mut length = 0;
        while length < BLOCK {
            let at = number * BLOCK as u64 + length as u64;
            match file.file.read_at(&mut self.bytes[length..], at) {
                Ok(0) => break,
                Ok(count) => length += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.bytes.clear();
                    return Err(JournalError::Io { path: file.path.clone(), error });
                }
            }
        }
        self.bytes.truncate(length);
        Ok(())
    }
}

/// The files of a folder and of its folders of machines, or those of this machine.
fn list(folder: Option<&Path>) -> Result<BTreeSet<PathBuf>> {
    let mut paths = BTreeSet::new();
    if let Some(folder) = folder {
        add_files(folder, &|name| is_machine(name), &mut paths)?;
        return Ok(paths);
    }
    let id = PathBuf::from("/etc/machine-id");
    let machine =
        std::fs::read_to_string(&id).map_err(|error| JournalError::Io { path: id, error })?;
    for folder in ["/run/log/journal", "/var/log/journal"] {
        add_files(Path::new(folder), &|name| name == machine.trim_end(), &mut paths)?;
    }
    Ok(paths)
}

/// Whether a name is an id of a machine.
fn is_machine(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.len() == 32 && name.iter().all(u8::is_ascii_hexdigit)
}

fn add_files(
    folder: &Path,
    is_wanted: &dyn Fn(&OsStr) -> bool,
    paths: &mut BTreeSet<PathBuf>,
) -> Result<()> {
    let system = |error| JournalError::Io { path: folder.to_owned(), error };
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(system)?,
    };
    for entry in entries {
        let path = entry.map_err(system)?.path();
        let name = path.file_name().unwrap_or_default();
        if name.as_encoded_bytes().ends_with(b".journal")
            || name.as_encoded_bytes().ends_with(b".journal~")
        {
            if paths.len() > FILES_MAX {
                return Ok(());
            }
            paths.insert(path);
        } else if is_wanted(name) && path.is_dir() {
            add_files(&path, &|_| false, paths)?;
        }
    }
    Ok(())
}

//! How far an input has read, kept over a kill at any moment.
//!
//! A file of two slots has the place from which on to read, and where in the thread's ring the next record
//! went when that was written.  Each record says the place behind it (`Cursor`).  After a kill, the last
//! such record that is in the rings behind that position is as far as the input has come: what is not
//! there was never written, and is read again.  The rings are still there, since the input looks before
//! the proxy reads its first.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use logring::abi::kind;
use logring::writer::ThreadPosition;
use logring::{ArgumentType, Batch, LogValue, RingDirectory, RingMark, RingReader};

/// Bytes of a slot: CRC-32C, length of the place, number, process, ring, length and kind of what was
/// written, position; the place, and what was written behind it.
const SLOT: usize = 1024;
const HEAD: usize = 48;
/// Longest place, and longest text of what was written; the journal's have about 150 bytes.
const PLACE_MAX: usize = (SLOT - HEAD) / 2;
/// How names of cursors end.
const END: &str = "cursor";
/// The attribute by which a record says the place behind it.
pub(super) const CURSOR: &str = "Cursor";

/// What a record in the rings says of the place behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WrittenPlace {
    /// No record was written behind the saved place.
    Nothing,
    /// A number: an offset, or a sequence number.
    Number(u64),
    /// A text.
    Text(Vec<u8>),
}

/// A place, and the record that the rings have behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Saved {
    pub(super) place: Vec<u8>,
    pub(super) written: WrittenPlace,
}

/// The file of one input.
pub(super) struct CursorFile {
    path: PathBuf,
    file: File,
    number: u64,
    process: [u8; 16],
    saved: Option<Saved>,
    /// The place that was saved last since then, and where the ring was.
    place: Vec<u8>,
    at: Option<ThreadPosition>,
}

/// The file of an input's cursor.
fn path_of(folder: &Path, input: &str) -> PathBuf {
    folder.join(format!("{:08x}.{END}", crc32c::crc32c(input.as_bytes())))
}

impl CursorFile {
    /// Opens the file of an input, and completes it by what a killed proxy has written.
    pub(super) fn open(folder: &Path, rings: &Path, input: &str) -> io::Result<Self> {
        Self::open_file(path_of(folder, input), rings)
    }

    /// Completes the files of all inputs, also of those that are not read now: the proxy is about to
    /// remove the rings in which that is found.
    pub(super) fn complete_all(folder: &Path, rings: &Path) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == END) {
                // What cannot be opened is told by the input that it is of.
                drop(Self::open_file(path, rings));
            }
        }
        Ok(())
    }

    fn open_file(path: PathBuf, rings: &Path) -> io::Result<Self> {
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(false).open(&path)?;
        let process = match logring::writer::local_files() {
            Ok((own, _)) => own.header().process_id,
            Err(error) => return Err(io::Error::other(error.to_string())),
        };
        let (saved, place, at) = (None, Vec::new(), None);
        let mut cursor = CursorFile { path, file, number: 0, process, saved, place, at };
        let mut bytes = [0; 2 * SLOT];
        let length = read_upto(&cursor.file, &mut bytes)?;
        let slots = bytes[..length].chunks_exact(SLOT).filter_map(Slot::parse);
        if let Some(slot) = slots.max_by_key(|slot| slot.number) {
            cursor.number = slot.number;
            let saved = Saved { written: slot.written_by_now(rings), place: slot.place };
            cursor.put(&saved.place, &saved.written, None)?;
            cursor.saved = Some(saved);
        }
        Ok(cursor)
    }

    /// Whether an input of this name has a cursor.
    pub(super) fn is_kept(folder: &Path, input: &str) -> bool {
        path_of(folder, input).exists()
    }

    /// When an input that saves no place, as a folder, was started for the first time: then its file
    /// was made.
    pub(super) fn begun(&self) -> io::Result<SystemTime> {
        self.file.metadata()?.modified()
    }

    /// Says what was written behind the saved place, for a thread that ends: another one may go on in
    /// its ring, whose records are not those of this input.
    pub(super) fn settle(&mut self, written: &WrittenPlace) -> io::Result<()> {
        match self.at {
            Some(_) => self.put(&self.place.clone(), written, None),
            // Nothing was written since the file was opened.
            None => Ok(()),
        }
    }

    /// Saves a place behind which nothing was written by this thread.
    pub(super) fn save_settled(&mut self, place: &[u8]) -> io::Result<()> {
        self.put(place, &WrittenPlace::Nothing, None)
    }

    /// What was saved before this start.
    pub(super) fn saved(&self) -> Option<&Saved> {
        self.saved.as_ref()
    }

    /// Removes it: what was read is gone, and nothing of that name is to go on behind it.
    pub(super) fn remove(&self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }

    /// What was saved before this start, once.
    pub(super) fn take_saved(&mut self) -> Option<Saved> {
        self.saved.take()
    }

    /// Whether the place should be saved before the next record: the ring would not keep all that was
    /// written since.
    pub(super) fn is_due(&self) -> bool {
        let (Some(at), Some(now)) = (self.at, logring::writer::thread_position()) else {
            return true;
        };
        now.ring != at.ring || now.position - at.position > at.capacity_bytes / 4
    }

    /// Saves the place from which on to read, before the record of what is there is written.
    pub(super) fn save(&mut self, place: &[u8]) -> io::Result<()> {
        self.at = logring::writer::thread_position();
        self.place = place.to_vec();
        self.put(place, &WrittenPlace::Nothing, self.at)
    }

    fn put(
        &mut self,
        place: &[u8],
        written: &WrittenPlace,
        at: Option<ThreadPosition>,
    ) -> io::Result<()> {
        let (kind, bytes) = match written {
            WrittenPlace::Nothing => (0_u16, Vec::new()),
            WrittenPlace::Number(number) => (1, number.to_le_bytes().to_vec()),
            WrittenPlace::Text(text) => (2, text.clone()),
        };
        if place.len() > PLACE_MAX || bytes.len() > PLACE_MAX {
            return Err(io::Error::other("a cursor is too long"));
        }
        let (ring, position) = at.map_or((u32::MAX, 0), |at| (at.ring, at.position));
        self.number += 1;
        let mut slot = vec![0; 4];
        slot.extend_from_slice(&(place.len() as u32).to_le_bytes());
        slot.extend_from_slice(&self.number.to_le_bytes());
        slot.extend_from_slice(&self.process);
        slot.extend_from_slice(&ring.to_le_bytes());
        slot.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
        slot.extend_from_slice(&kind.to_le_bytes());
        slot.extend_from_slice(&position.to_le_bytes());
        slot.extend_from_slice(place);
        slot.extend_from_slice(&bytes);
        slot.resize(SLOT, 0);
        let sum = crc32c::crc32c(&slot[4..]);
        slot[..4].copy_from_slice(&sum.to_le_bytes());
        self.file.write_all_at(&slot, (self.number % 2) * SLOT as u64)
    }
}

/// A slot that is whole.
struct Slot {
    number: u64,
    process: [u8; 16],
    ring: u32,
    position: u64,
    place: Vec<u8>,
    written: WrittenPlace,
}

impl Slot {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let u16_at = |at: usize| bytes[at..at + 2].try_into().map(u16::from_le_bytes).ok();
        let u32_at = |at: usize| bytes[at..at + 4].try_into().map(u32::from_le_bytes).ok();
        let u64_at = |at: usize| bytes[at..at + 8].try_into().map(u64::from_le_bytes).ok();
        if u32_at(0)? != crc32c::crc32c(&bytes[4..]) {
            return None;
        }
        let behind = HEAD + u32_at(4)? as usize;
        let place = bytes.get(HEAD..behind)?.to_vec();
        let text = bytes.get(behind..behind + usize::from(u16_at(36)?))?;
        let written = match u16_at(38)? {
            0 => WrittenPlace::Nothing,
            1 => WrittenPlace::Number(u64::from_le_bytes(text.try_into().ok()?)),
            _ => WrittenPlace::Text(text.to_vec()),
        };
        Some(Slot {
            number: u64_at(8)?,
            process: bytes[16..32].try_into().ok()?,
            ring: u32_at(32)?,
            position: u64_at(40)?,
            place,
            written,
        })
    }

    /// The last place that a record says which was written behind this slot.
    fn written_by_now(&self, rings: &Path) -> WrittenPlace {
        let mut last = self.written.clone();
        if self.ring == u32::MAX {
            return last;
        }
        let mut next = (Some(self.ring), self.position);
        let all: Vec<RingReader> = RingDirectory::scan(rings)
            .map(|found| found.rings)
            .unwrap_or_default()
            .iter()
            .filter_map(|path: &PathBuf| RingReader::open(path).ok())
            .filter(|ring| ring.header().process_id == self.process)
            .collect();
        // A ring that was read to its end may be gone; those that continue it are there.
        let mut visited = 0;
        while let (Some(number), position) = next {
            if let Some(path) = all.iter().find(|one| one.header().number == number) {
                read_last(path.path(), position, &mut last);
            }
            let successor = all.iter().find(|one| one.header().predecessor == Some(number));
            next = (successor.map(|one| one.header().number), 0);
            visited += 1;
            if visited > all.len() {
                break;
            }
        }
        last
    }
}

/// Finds the place in the last record that says one, from a position of a ring on.
fn read_last(ring: &Path, position: u64, last: &mut WrittenPlace) {
    let Ok(mut reader) = RingReader::open(ring) else { return };
    reader.seek(RingMark { position, sequence: 0 });
    let mut batch = Batch::default();
    while reader.read(&mut batch, 1 << 20).is_ok() && batch.count() > 0 {
        for record in batch.records().flatten().filter(|record| record.kind == kind::LOG) {
            let Ok(values) = record.arguments(&[ArgumentType::Text]) else { continue };
            for (name, value) in values.attributes {
                match value {
                    _ if name != CURSOR.as_bytes() => {}
                    LogValue::Unsigned(number) => *last = WrittenPlace::Number(number),
                    LogValue::Text(text) => *last = WrittenPlace::Text(text.to_vec()),
                    _ => {}
                }
            }
        }
    }
}

fn read_upto(file: &File, bytes: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < bytes.len() {
        match file.read_at(&mut bytes[length..], length as u64)? {
            0 => break,
            count => length += count,
        }
    }
    Ok(length)
}

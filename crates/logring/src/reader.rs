//! The reader's half of a ring: batches of records, and the marks that give room back.
//!
//! The ring is read by `pread`, so a file that its writer cuts gives an error and no signal; a batch
//! costs three system calls and one copy.  Nothing that the file says is believed before it was
//! compared: positions with the capacity, sizes with the rest, sequence numbers with those before.
//! A writer that overwrites its oldest records says so before it does: what was overwritten while
//! it was copied is left out, and shows as missing sequence numbers.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::abi::{self, PAGE, RECORD_BYTES_MAX, doorbell, ring};
use crate::bytes::{id_at, text_at, u32_at, u64_at};
use crate::error::{Error, Fault};
use crate::held_file::{HeldFile, open_regular};
use crate::process_file::read_head;
use crate::record::RecordIterator;
use crate::system::FutexPage;

/// How safe a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Tier {
    /// In the ring: survives the end of the process, by whatever.  Every completed call is.
    Ring = 0,
    /// The consumer has it (spooled, or written to its output): survives the ring.
    Read = 1,
    /// On disk: survives the machine's end.
    Synced = 2,
    /// Committed by the central store.
    Central = 3,
}

/// What a ring says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingHeader {
    /// The process, as in its file.
    pub process_id: [u8; 16],
    /// Number of the process.
    pub pid: u32,
    /// Thread that wrote when the ring was opened.
    pub tid: u32,
    /// When the process was started, in clock ticks since boot.
    pub start_ticks: u64,
    /// The ring's number in its process.
    pub number: u32,
    /// The ring that this one continues.
    pub predecessor: Option<u32>,
    /// Bytes of data.
    pub capacity_bytes: u64,
    /// Whether all threads of the process share it.
    pub is_shared: bool,
    /// Name of the thread.
    pub thread_name: String,
}

/// A place in a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingMark {
    /// Bytes ever written before it.
    pub position: u64,
    /// Sequence number of the record at it.
    pub sequence: u64,
}

/// Whole records of one ring, in order.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    begin: RingMark,
    end: RingMark,
    count: usize,
    fault: Option<(Fault, u64)>,
}

impl Batch {
    /// The records that some bytes hold, as another machine sent them.
    ///
    /// # Errors
    /// If they are not whole, well-formed records.
    pub fn from_payload(bytes: Vec<u8>, first_sequence: u64) -> Result<Self, Fault> {
        let mut batch = Batch { bytes, ..Batch::default() };
        batch.begin.sequence = first_sequence;
        let mut records = RecordIterator::new(&batch.bytes, first_sequence);
        for record in records.by_ref() {
            record?;
            batch.count += 1;
        }
        let (offset, sequence) = (records.offset() as u64, records.expected_sequence());
        if offset != batch.bytes.len() as u64 {
            return Err(Fault { position: offset, why: "a record is cut" });
        }
        batch.end = RingMark { position: offset, sequence };
        Ok(batch)
    }

    /// Leaves out the records from the first on that was made after a stamp, and at most `span` ticks
    /// after it: a stamp further ahead is no time of now.  Nothing is left out before a fault.
    pub fn leave_later(&mut self, stamp: u64, span: u64) {
        if self.fault.is_some() {
            return;
        }
        let mut records = RecordIterator::new(&self.bytes, self.begin.sequence);
        let (mut offset, mut sequence, mut count) = (0, self.begin.sequence, 0);
        while let Some(Ok(record)) = records.next() {
            if record.stamp > stamp && record.stamp - stamp <= span {
                self.bytes.truncate(offset);
                self.count = count;
                self.end = RingMark { position: self.begin.position + offset as u64, sequence };
                return;
            }
            (offset, sequence) = (records.offset(), records.expected_sequence());
            count += 1;
        }
    }

    /// The records.
    #[must_use]
    pub fn records(&self) -> RecordIterator<'_> {
        RecordIterator::new(&self.bytes, self.begin.sequence)
    }

    /// The records' bytes, as they are in the ring.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.bytes
    }

    /// Records.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether there is neither a record nor a fault.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0 && self.fault.is_none()
    }

    /// Where it begins; the first record's sequence number is this or, if some are missing, later.
    #[must_use]
    pub fn begin(&self) -> RingMark {
        self.begin
    }

    /// Where it ends: what to commit when all of it is safe.
    #[must_use]
    pub fn end(&self) -> RingMark {
        self.end
    }

    /// What is wrong behind the records, and how many bytes are left out for it.
    #[must_use]
    pub fn fault(&self) -> Option<(Fault, u64)> {
        self.fault
    }
}

/// Reads a ring.
#[derive(Debug)]
pub struct RingReader {
    file: HeldFile,
    header: RingHeader,
    page: FutexPage,
    next: RingMark,
    is_ended: bool,
    producer_waits: bool,
    /// The last write position that was seen.
    written: u64,
}

/// The producer's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Produced {
    write_position: u64,
    oldest_position: u64,
    is_ended: bool,
    producer_waits: bool,
}

impl RingReader {
    /// Opens a ring; reading begins at the mark that the last consumer left.
    ///
    /// # Errors
    /// If it cannot be read, or is none, or is of a later version, or its header is wrong.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::from_file(open_regular(path)?, path)
    }

    /// Reads a ring whose file is open already; `path` is for messages.
    ///
    /// # Errors
    /// If it is not a ring, is cut, or another version wrote it.
    pub fn from_file(file: File, path: &Path) -> Result<Self, Error> {
        let what = || path.display().to_string();
        let head = read_head(&file, path, "ring", &abi::RING_MAGIC, ring::VERSION)?;
        let capacity_bytes = u64_at(&head, ring::CAPACITY);
        let is_possible = capacity_bytes.is_power_of_two()
            && (ring::CAPACITY_MIN..=ring::CAPACITY_MAX).contains(&capacity_bytes);
        if !is_possible {
            let why = "no power of two from 4 KiB to 1 GiB";
            let (field, value) = ("capacity", capacity_bytes);
            return Err(Error::Field { what: what(), field, value, why });
        }
        let predecessor = u32_at(&head, ring::PREDECESSOR);
        let header = RingHeader {
            process_id: id_at(&head, ring::PROCESS_ID),
            pid: u32_at(&head, ring::PID),
            tid: u32_at(&head, ring::TID),
            start_ticks: u64_at(&head, ring::START_TICKS),
            number: u32_at(&head, ring::NUMBER),
            predecessor: (predecessor != ring::NONE).then_some(predecessor),
            capacity_bytes,
            is_shared: u32_at(&head, ring::FLAGS) & ring::FLAG_SHARED != 0,
            thread_name: text_at(&head, ring::THREAD_NAME, ring::THREAD_NAME_BYTES),
        };
        let page = FutexPage::map(&file, 0, false).map_err(|error| Error::io(what(), error))?;
        let next = mark_of(&head, 0).unwrap_or_default();
        let (is_ended, producer_waits) = (false, false);
        let file = HeldFile::new(file, path).map_err(|error| Error::io(what(), error))?;
        Ok(RingReader { file, header, page, next, is_ended, producer_waits, written: 0 })
    }

    fn error(&self, error: io::Error) -> Error {
        Error::io(self.path().display().to_string(), error)
    }

    /// What the ring says about itself.
    #[must_use]
    pub fn header(&self) -> &RingHeader {
        &self.header
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Gives the file's descriptor back: every access opens the file again.
    pub fn close(&mut self) {
        self.file.close();
    }

    /// Whether the file has a descriptor.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.file.is_open()
    }

    /// Has a descriptor again from now on.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open_again(&mut self) -> Result<(), Error> {
        self.file.open_again().map_err(|error| self.error(error))
    }

    /// Where the next batch begins.
    #[must_use]
    pub fn next(&self) -> RingMark {
        self.next
    }

    /// Goes to a mark: reads again what was read but not committed, or passes over what is safe
    /// already.
    pub fn seek(&mut self, mark: RingMark) {
        self.next = mark;
    }

    /// Whether the writer had ended the ring when it was last read, and all was read: nothing will
    /// come any more.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.is_ended && self.next.position == self.written
    }

    /// Bytes that were written and not read yet, as of the last [`RingReader::read`].
    #[must_use]
    pub fn pending_bytes(&self) -> u64 {
        self.written.saturating_sub(self.next.position)
    }

    /// The mark of a tier; `None` of [`Tier::Ring`], and if the field makes no sense.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn mark(&self, tier: Tier) -> Result<Option<RingMark>, Error> {
        let mut head = [0; PAGE];
        let filled = self.file.read_upto(&mut head, 0);
        filled.map_err(|error| self.error(error))?;
        Ok((tier as usize).checked_sub(1).and_then(|tier| mark_of(&head, tier)))
    }

    /// The mark up to which a ring was read that is not sound, as far as that is left; otherwise its
    /// beginning.
    #[must_use]
    pub fn mark_of_damaged(path: &Path) -> RingMark {
        let mut head = vec![0; PAGE];
        let read = open_regular(path).ok().map(|file| file.read_exact_at(&mut head, 0));
        read.and_then(Result::ok).and_then(|()| mark_of(&head, 0)).unwrap_or_default()
    }

    /// Records of each level that found no room, ever.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn dropped(&self) -> Result<[u64; 16], Error> {
        self.file.read_counts(ring::DROPPED).map_err(|error| self.error(error))
    }

    /// The ring that continues this one, if there is one.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn successor(&self) -> Result<Option<u32>, Error> {
        let mut bytes = [0; 4];
        let read = self.file.read_exact_at(&mut bytes, ring::SUCCESSOR as u64);
        read.map_err(|error| self.error(error))?;
        let number = u32::from_le_bytes(bytes);
        Ok((number != ring::NONE).then_some(number))
    }

    fn produced(&self) -> Result<Produced, Error> {
        let mut line = [0; 32];
        let read = self.file.read_exact_at(&mut line, ring::WRITE_POSITION as u64);
        read.map_err(|error| self.error(error))?;
        Ok(Produced {
            write_position: u64_at(&line, 0),
            oldest_position: u64_at(&line, ring::OLDEST_POSITION - ring::WRITE_POSITION),
            is_ended: u32_at(&line, ring::ENDED - ring::WRITE_POSITION) == 1,
            producer_waits: u32_at(&line, ring::PRODUCER_WAITS - ring::WRITE_POSITION) != 0,
        })
    }

    /// Reads the next whole records into a batch, replacing what is in it: about `bytes_max`, and
    /// at least one record if there is one.  Nothing new: an empty batch.
    ///
    /// A record that is malformed ends the batch; the fault says so, and the next batch begins
    /// after what was written by then.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&mut self, batch: &mut Batch, bytes_max: usize) -> Result<(), Error> {
        self.read_once(batch, bytes_max)?;
        if batch.fault.is_some() {
            // A position that was copied while it was stored would look the same.
            self.read_once(batch, bytes_max)?;
        }
        self.next = batch.end;
        Ok(())
    }

    fn read_once(&mut self, batch: &mut Batch, bytes_max: usize) -> Result<(), Error> {
        batch.bytes.clear();
        (batch.count, batch.fault) = (0, None);
        (batch.begin, batch.end) = (self.next, self.next);
        let produced = self.produced()?;
        let written = produced.write_position;
        (self.is_ended, self.producer_waits) = (produced.is_ended, produced.producer_waits);
        self.written = written;
        let from = self.next.position.max(produced.oldest_position.min(written));
        batch.begin.position = from;
        let pending = written.wrapping_sub(from);
        if pending == 0 {
            batch.end.position = written;
            return Ok(());
        }
        let is_possible = written >= self.next.position
            && written.is_multiple_of(8)
            && from.is_multiple_of(8)
            && pending <= self.header.capacity_bytes;
        if !is_possible {
            let fault = Fault { position: from, why: "the positions of a ring contradict" };
            batch.fault = Some((fault, pending));
            batch.end.position = written;
            return Ok(());
        }
        let most = bytes_max.max(RECORD_BYTES_MAX + 8) as u64;
        let length = usize::try_from(pending.min(most)).unwrap_or(usize::MAX);
        self.copy(&mut batch.bytes, from, length)?;
        // What the writer meanwhile took for new records is not what it was.
        let oldest = self.produced()?.oldest_position;
        let lost = oldest.saturating_sub(from).min(length as u64);
        batch.begin.position += lost;
        batch.bytes.drain(..usize::try_from(lost).unwrap_or(length));
        self.check(batch, pending - lost);
        Ok(())
    }

    /// Counts the whole records of a batch, cuts it after them and notes where it ends.
    fn check(&self, batch: &mut Batch, pending: u64) {
        let mut records = RecordIterator::new(&batch.bytes, batch.begin.sequence);
        let (mut fault, mut count) = (None, 0);
        for record in records.by_ref() {
            match record {
                Ok(_) => count += 1,
                Err(found) => fault = Some(found.why),
            }
        }
        let (length, sequence) = (records.offset(), records.expected_sequence());
        let is_all = batch.bytes.len() as u64 == pending;
        if fault.is_none() && length < batch.bytes.len() && (is_all || count == 0) {
            fault = Some("a record is longer than what was written");
        }
        batch.bytes.truncate(length);
        batch.count = count;
        let begin = batch.begin.position;
        batch.end = RingMark { position: begin + length as u64, sequence };
        if let Some(why) = fault {
            let fault = Fault { position: batch.end.position, why };
            batch.fault = Some((fault, pending - length as u64));
            batch.end.position = begin + pending;
        }
    }

    /// Copies bytes of the data, around its end.
    fn copy(&self, bytes: &mut Vec<u8>, from: u64, length: usize) -> Result<(), Error> {
        bytes.resize(length, 0);
        let begin = from & (self.header.capacity_bytes - 1);
        let first = usize::try_from(self.header.capacity_bytes - begin).unwrap_or(usize::MAX);
        let (one, other) = bytes.split_at_mut(first.min(length));
        let data = ring::DATA as u64;
        let read = self.file.read_exact_at(one, data + begin);
        let read = match other.is_empty() {
            true => read,
            false => read.and_then(|()| self.file.read_exact_at(other, data)),
        };
        read.map_err(|error| self.error(error))
    }

    /// Says that everything before a mark is as safe as a tier promises.  [`Tier::Read`] gives the
    /// room to the writer; marks never go back.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn commit(&mut self, tier: Tier, mark: RingMark) -> Result<(), Error> {
        let Some(at) = (tier as usize).checked_sub(1) else { return Ok(()) };
        let mut bytes = [0; ring::MARK_BYTES];
        // A writer that reads this while it is written sees that both halves do not match.
        let words = [mark.position, mark.sequence, !mark.position, !mark.sequence];
        for (slot, word) in bytes.chunks_exact_mut(8).zip(words) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        let offset = ring::MARKS + at * ring::MARK_BYTES;
        let written = self.file.write_within(&bytes, offset as u64, PAGE as u64);
        written.map_err(|error| self.error(error))?;
        if tier == Tier::Read && (self.producer_waits || self.produced()?.producer_waits) {
            self.page.wake(ring::MARKS);
        }
        Ok(())
    }
}

/// The mark of a tier (from 0), if its halves match.
fn mark_of(head: &[u8], tier: usize) -> Option<RingMark> {
    let word = |at: usize| u64_at(head, ring::MARKS + tier * ring::MARK_BYTES + at * 8);
    let mark = RingMark { position: word(0), sequence: word(1) };
    (word(2) == !mark.position && word(3) == !mark.sequence).then_some(mark)
}

/// What is in a directory of rings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RingDirectory {
    /// Files of processes.
    pub processes: Vec<PathBuf>,
    /// Files of rings, in the order of their names.
    pub rings: Vec<PathBuf>,
}

/// Most files of a directory that are looked at.
const FILES_MAX: usize = 1 << 20;

impl RingDirectory {
    /// Looks into a directory.  Which ring belongs to which process say the ids in their headers.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn scan(path: &Path) -> Result<Self, Error> {
        let fail = |error| Error::io(path.display().to_string(), error);
        let mut found = RingDirectory::default();
        for item in std::fs::read_dir(path).map_err(fail)?.take(FILES_MAX) {
            let file = item.map_err(fail)?.path();
            match file.extension().and_then(|end| end.to_str()) {
                Some("process") => found.processes.push(file),
                Some("ring") => found.rings.push(file),
                _ => {}
            }
        }
        found.processes.sort();
        found.rings.sort();
        Ok(found)
    }

    /// Removes files of a directory that processes which are gone began to make: a program that was
    /// killed as it started leaves up to two.  Gives how many.
    ///
    /// # Errors
    /// If the directory cannot be read, or a file of it not removed.
    pub fn remove_unfinished(path: &Path) -> Result<u64, Error> {
        let fail = |path: &Path, error| Error::io(path.display().to_string(), error);
        let now = Duration::from_nanos(crate::clock::pair(false).realtime_ns);
        let mut count = 0;
        for item in std::fs::read_dir(path).map_err(|error| fail(path, error))?.take(FILES_MAX) {
            let item = item.map_err(|error| fail(path, error))?;
            let name = item.file_name();
            let Some(name) = name.to_str().and_then(|name| name.strip_suffix(".new")) else {
                continue;
            };
            let changed = item.metadata().and_then(|facts| facts.modified());
            let is_old = changed.is_ok_and(|changed| {
                let changed = changed.duration_since(SystemTime::UNIX_EPOCH);
                changed.is_ok_and(|changed| now.saturating_sub(changed) >= UNFINISHED_AGE)
            });
            if is_old && is_of_gone_process(name) {
                std::fs::remove_file(item.path()).map_err(|error| fail(&item.path(), error))?;
                count += 1;
            }
        }
        Ok(count)
    }

    /// The paths of process files to which rings belong, by the names of these: without its process's
    /// file nobody can read a ring.
    #[must_use]
    pub fn processes_with_rings(&self) -> HashSet<PathBuf> {
        let process_of = |ring: &PathBuf| Some(process_and_number(ring)?.0);
        self.rings.iter().filter_map(process_of).collect()
    }
}

/// The path of the process's file and the number that the name of a ring's file says.
#[must_use]
pub fn process_and_number(ring: &Path) -> Option<(PathBuf, u32)> {
    let (stem, number) = ring.file_stem()?.to_str()?.rsplit_once('-')?;
    Some((ring.with_file_name(format!("{stem}.process")), number.parse().ok()?))
}

/// So old is a file that is not finished and may be removed: finishing it takes some microseconds, and
/// ids of processes say nothing of those in another container.
const UNFINISHED_AGE: Duration = Duration::from_secs(60);

/// Whether the process that a file is named after (`PID-STARTTIME…`) is certainly gone.
fn is_of_gone_process(name: &str) -> bool {
    let Some((pid, rest)) = name.split_once('-') else { return false };
    let Ok(pid) = pid.parse() else { return false };
    // Without /proc nobody is seen.
    if crate::clock::start_ticks(std::process::id()).is_none() {
        return false;
    }
    let Some(started) = crate::clock::start_ticks(pid) else { return true };
    let ticks = rest.split(['-', '.']).next().unwrap_or_default();
    // In names of before no start time follows, but 16 random digits.
    rest.contains('-') && ticks.parse() != Ok(started)
}

/// What a consumer sleeps on: a producer of an important record wakes it.
#[derive(Debug)]
pub struct Doorbell {
    file: File,
    page: FutexPage,
}

impl Doorbell {
    /// Opens the doorbell of a directory, making it if there is none, and says there which versions of
    /// rings this consumer reads.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        use std::os::unix::fs::OpenOptionsExt as _;
        let path = directory.join("doorbell");
        let fail = |error| Error::io(path.display().to_string(), error);
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        options.custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC);
        let file = options.open(&path).map_err(fail)?;
        if file.metadata().map_err(fail)?.len() < doorbell::BYTES as u64 {
            file.set_len(doorbell::BYTES as u64).map_err(fail)?;
        }
        let page = FutexPage::map(&file, 0, false).map_err(fail)?;
        let version = u64::from(abi::VERSION).to_le_bytes();
        let versions = [version[0], version[1], version[0], version[1]];
        file.write_all_at(&versions, doorbell::VERSIONS as u64).map_err(fail)?;
        Ok(Doorbell { file, page })
    }

    /// The doorbell's number, to be read before the rings are looked at.
    #[must_use]
    pub fn number(&self) -> u32 {
        let mut bytes = [0; 4];
        let filled = self.file.read_exact_at(&mut bytes, doorbell::FUTEX as u64);
        if filled.is_ok() { u32::from_le_bytes(bytes) } else { 0 }
    }

    /// Sleeps until a producer rings, or for `timeout_ns`; at once if it rang since `number`.
    pub fn sleep(&self, number: u32, timeout_ns: u64) {
        self.arm(true);
        self.wait(number, timeout_ns);
        self.arm(false);
    }

    /// Asks producers of important records to ring, or to leave it.  Look at the rings once more
    /// after it: what was written before rings nobody.
    pub fn arm(&self, is_armed: bool) {
        // Only a hint: consumers that sleep at once write the same, and the last to wake clears it.
        let sleepers = u32::from(is_armed).to_le_bytes();
        let _ = self.file.write_all_at(&sleepers, doorbell::SLEEPERS as u64);
    }

    /// Sleeps until the doorbell rings, for a reader that has armed it.
    pub fn wait(&self, number: u32, timeout_ns: u64) {
        self.page.wait(doorbell::FUTEX, number, timeout_ns);
    }

    /// Ends the sleeps of all consumers.
    pub fn wake_sleepers(&self) {
        self.page.wake(doorbell::FUTEX);
    }
}

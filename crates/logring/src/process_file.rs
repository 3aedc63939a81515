//! The file of a process, as a consumer sees it: who it is, its dictionary, its loggers' levels,
//! its clocks; and the status page, which the consumer writes.
//!
//! Everything is read by `pread` and written by `pwrite`: a file that another process cuts or
//! overwrites gives errors, never a signal.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::abi::{self, PAGE, logger, process, status};
use crate::bytes::{id_at, text_at, u32_at, u64_at};
use crate::calibration::{Calibration, ClockPair};
use crate::dictionary::Dictionary;
use crate::error::{Error, Fault};
use crate::held_file::{HeldFile, open_regular};
use crate::system::{self, FutexPage, LOCK_CONSUMER, LOCK_WRITER};

/// The process that writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessHeader {
    /// Random; names the process for ever.
    pub process_id: [u8; 16],
    /// Boot of the machine that it ran in.
    pub boot_id: [u8; 16],
    /// The system's number of it.
    pub pid: u32,
    /// When it was started: field 22 of `/proc/PID/stat`, clock ticks.
    pub start_ticks: u64,
    /// Whether stamps are TSC ticks; else nanoseconds of `CLOCK_BOOTTIME`.
    pub has_tsc: bool,
    /// Whether its threads wake a consumer that asks for it: [`ProcessFile::ask_to_wake`].
    pub can_wake: bool,
    /// Ticks of the stamp in a second; 0: unknown.
    pub stamp_hz: u64,
    /// Name of the machine.
    pub host_name: String,
    /// Name of the process.
    pub process_name: String,
}

/// What a consumer does with the records, as it tells its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ConsumerState {
    /// Nobody has looked yet.
    None = 0,
    /// A thread of the process itself writes the outputs, or a proxy without a central store.
    InProcess = 1,
    /// The central store is connected.
    Connected = 2,
    /// The central store is away: records are kept on disk.
    Spooling = 3,
    /// Something fails: see the message.
    Degraded = 4,
    /// No room to keep records.
    Full = 5,
    /// The consumer has ended.
    Ended = 6,
    /// The consumer is gone without a word, or has not looked for long.  Never in the file: clients
    /// find it out themselves.
    Lost = 7,
}

impl ConsumerState {
    /// The state of a number.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => ConsumerState::None,
            1 => ConsumerState::InProcess,
            2 => ConsumerState::Connected,
            3 => ConsumerState::Spooling,
            4 => ConsumerState::Degraded,
            5 => ConsumerState::Full,
            6 => ConsumerState::Ended,
            7 => ConsumerState::Lost,
            _ => return None,
        })
    }
}

/// Records that could not be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndeliverableRange {
    /// Number of the range, from 0.
    pub number: u64,
    /// The ring of the records.
    pub ring: u32,
    /// `errno`, or 0.
    pub reason: u32,
    /// Sequence number of the first.
    pub first_sequence: u64,
    /// Sequence number of the last.
    pub last_sequence: u64,
}

/// What a consumer costs its machine, and what it has done for that, of all its processes; zeros:
/// it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConsumerCost {
    /// Time of CPUs, user and system, in ns.
    pub cpu_ns: u64,
    /// Resident memory.
    pub memory_bytes: u64,
    /// Records that it has read.
    pub records: u64,
    /// The bytes of the records.
    pub bytes: u64,
    /// Bytes that it keeps because the central store does not have them.
    pub kept_bytes: u64,
}

impl ConsumerCost {
    /// The five words of the status page.
    pub(crate) fn from_words(mut word: impl FnMut(usize) -> u64) -> Self {
        ConsumerCost {
            cpu_ns: word(status::COST),
            memory_bytes: word(status::COST + 8),
            records: word(status::COST + 16),
            bytes: word(status::COST + 24),
            kept_bytes: word(status::COST + 32),
        }
    }
}

/// A logger, and what the consumer counted of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggerEntry {
    /// The number of the logger.
    pub index: u32,
    /// The name of the logger.
    pub name: String,
    /// Records below are not made: the lower of the two below.
    pub level: u8,
    /// Level for the central store.
    pub level_central: u8,
    /// Level for local outputs.
    pub level_local: u8,
    /// Records by level, as the consumer counted them.
    pub counts: [u64; logger::LEVELS],
    /// Suppressed records, as the consumer counted them.
    pub suppressed: u64,
}

/// The file of a process.
#[derive(Debug)]
pub struct ProcessFile {
    file: HeldFile,
    header: ProcessHeader,
    dictionary: Dictionary,
    dictionary_fault: Option<Fault>,
    calibration: Calibration,
    calibration_count: u64,
    status_page: Option<FutexPage>,
    state_sequence: u32,
}

/// The first page of a file that is of this kind and version; `version_at` is where its version is.
pub(crate) fn read_head(
    file: &File,
    path: &Path,
    expected: &'static str,
    magic: &[u8; 8],
    version_at: usize,
) -> Result<Vec<u8>, Error> {
    let what = || path.display().to_string();
    let mut head = vec![0; PAGE];
    let length = system::read_upto(file, &mut head, 0).map_err(|e| Error::io(what(), e))?;
    if length < PAGE || head[..8] != *magic {
        return Err(Error::Magic { what: what(), expected });
    }
    let version = u32_at(&head, version_at);
    if version != abi::VERSION {
        return Err(Error::Version { what: what(), version });
    }
    Ok(head)
}

impl ProcessFile {
    /// Opens a process's file.
    ///
    /// # Errors
    /// If it cannot be read, or is none, or is of a later version.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::from_file(open_regular(path)?, path)
    }

    /// Reads the file of a process that is open already; `path` is for messages.
    ///
    /// # Errors
    /// If it is not the file of a process, is cut, or another version wrote it.
    pub fn from_file(file: File, path: &Path) -> Result<Self, Error> {
        let head = read_head(&file, path, "process", &abi::PROCESS_MAGIC, process::VERSION)?;
        let stamp_hz = u64_at(&head, process::STAMP_HZ);
        let header = ProcessHeader {
            process_id: id_at(&head, process::PROCESS_ID),
            boot_id: id_at(&head, process::BOOT_ID),
            pid: u32_at(&head, process::PID),
            start_ticks: u64_at(&head, process::START_TICKS),
            has_tsc: u32_at(&head, process::FLAGS) & process::FLAG_TSC != 0,
            can_wake: u32_at(&head, process::FLAGS) & process::FLAG_WAKES != 0,
            stamp_hz,
            host_name: text_at(&head, process::HOST_NAME, process::NAME_BYTES),
            process_name: text_at(&head, process::PROCESS_NAME, process::NAME_BYTES),
        };
        let what = || path.display().to_string();
        let file = HeldFile::new(file, path).map_err(|error| Error::io(what(), error))?;
        let mut read = ProcessFile {
            file,
            header,
            dictionary: Dictionary::default(),
            dictionary_fault: None,
            calibration: Calibration::new(stamp_hz),
            calibration_count: 0,
            status_page: None,
            state_sequence: 0,
        };
        read.refresh()?;
        Ok(read)
    }

    fn error(&self, error: io::Error) -> Error {
        Error::io(self.path().display().to_string(), error)
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The process that writes.
    #[must_use]
    pub fn header(&self) -> &ProcessHeader {
        &self.header
    }

    /// The dictionary, as of the last [`ProcessFile::refresh`].
    #[must_use]
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// The readings of clocks, as of the last [`ProcessFile::refresh`].
    #[must_use]
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// Reads what is new in the dictionary and of the clocks: two to four system calls.  Call it
    /// when a record names a site or context that is not in the dictionary: its entry was complete
    /// before the record was.
    ///
    /// # Errors
    /// If the file cannot be read.  A malformed entry is no error here: see
    /// [`ProcessFile::dictionary_fault`].
    pub fn refresh(&mut self) -> Result<(), Error> {
        self.read_dictionary_bytes(self.dictionary.length_bytes())
            .and_then(|bytes| self.add_entries(&bytes))?;
        self.read_calibration()
    }

    /// Whether the process's next record wakes the consumers that sleep at the doorbell: it was asked to,
    /// and no record has come since.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn will_wake(&self) -> Result<bool, Error> {
        if !self.header.can_wake {
            return Ok(false);
        }
        let mut word = [0; 4];
        let read = self.file.read_exact_at(&mut word, process::CONSUMER_SLEEPS as u64);
        read.map_err(|error| self.error(error))?;
        Ok(u32::from_le_bytes(word) != 0)
    }

    /// Asks the process to wake the consumers after its next record, once; look at its rings once more
    /// some milliseconds later.  Does nothing if its writer is too old to heed this.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn ask_to_wake(&self) -> Result<(), Error> {
        if !self.header.can_wake {
            return Ok(());
        }
        self.write(process::CONSUMER_SLEEPS as u64, &1_u32.to_le_bytes())
    }

    fn add_entries(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.dictionary_fault.is_none() {
            self.dictionary_fault = self.dictionary.add(bytes).err();
        }
        Ok(())
    }

    /// Why the dictionary ends early, if it does: the writer is broken or hostile.
    #[must_use]
    pub fn dictionary_fault(&self) -> Option<Fault> {
        self.dictionary_fault
    }

    /// The complete bytes of the dictionary from an offset on, to be carried elsewhere.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read_dictionary_bytes(&self, from: u64) -> Result<Vec<u8>, Error> {
        let length = self.read_u64(process::DICTIONARY_LENGTH)?;
        let length = length.min(process::DICTIONARY_BYTES_MAX as u64);
        let count = usize::try_from(length.saturating_sub(from)).unwrap_or(0);
        let mut bytes = vec![0; count];
        let offset = process::DICTIONARY as u64 + from;
        let filled = self.file.read_upto(&mut bytes, offset);
        bytes.truncate(filled.map_err(|error| self.error(error))?);
        Ok(bytes)
    }

    fn read_calibration(&mut self) -> Result<(), Error> {
        let count = self.read_u64(process::CALIBRATION_COUNT)?;
        if count == self.calibration_count {
            return Ok(());
        }
        let kept = process::CALIBRATION_PAIRS as u64;
        let mut page = [0; PAGE];
        let filled = self.file.read_upto(&mut page, process::CALIBRATION as u64);
        filled.map_err(|error| self.error(error))?;
        let first = count.saturating_sub(kept).max(self.calibration_count.min(count));
        for number in first..count {
            #[allow(clippy::cast_possible_truncation, reason = "below 128")]
            let at = (number % kept) as usize * process::PAIR_BYTES;
            let pair = &page[at..at + process::PAIR_BYTES];
            // A pair that is being written, or was overwritten meanwhile, has another number.
            if u64_at(pair, 0) == number + 1 {
                self.calibration.add(ClockPair {
                    stamp: u64_at(pair, 8),
                    realtime_ns: u64_at(pair, 16),
                    boottime_ns: u64_at(pair, 24),
                });
            }
        }
        self.calibration_count = count;
        Ok(())
    }

    /// Adds a reading of the clocks of this machine: to this history, and to the file for others.
    /// To be called about once a second while records are read.  Of a process of another boot or
    /// machine it must not be called.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn calibrate(&mut self, pair: ClockPair) -> Result<(), Error> {
        self.read_calibration()?;
        self.calibration.add(pair);
        let number = self.calibration_count;
        let mut bytes = [0; process::PAIR_BYTES];
        bytes[..8].copy_from_slice(&(number + 1).to_le_bytes());
        bytes[8..16].copy_from_slice(&pair.stamp.to_le_bytes());
        bytes[16..24].copy_from_slice(&pair.realtime_ns.to_le_bytes());
        bytes[24..].copy_from_slice(&pair.boottime_ns.to_le_bytes());
        let slot = number % process::CALIBRATION_PAIRS as u64;
        let at = process::CALIBRATION as u64 + slot * process::PAIR_BYTES as u64;
        self.write(at, &bytes)?;
        self.write(process::CALIBRATION_COUNT as u64, &(number + 1).to_le_bytes())?;
        self.calibration_count = number + 1;
        Ok(())
    }

    /// The clocks now, in the units of this process's stamps.
    #[must_use]
    pub fn clocks_now(&self) -> ClockPair {
        crate::clock::pair(self.header.has_tsc)
    }

    /// Makes this open file the consumer of the process, until it is closed; `false`: another is.
    ///
    /// # Errors
    /// If the system cannot lock files here.
    pub fn claim(&self) -> Result<bool, Error> {
        let locked = self.file.with(|file| system::try_lock(file, LOCK_CONSUMER));
        locked.map_err(|error| self.error(error))
    }

    /// Whether the process may still write: its lock is held (by it, or by a child that has not
    /// logged), or there is a process of its number and start time.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        let is_locked = self.file.with(|file| system::is_locked(file, LOCK_WRITER));
        is_locked.unwrap_or_else(|error| error.kind() != io::ErrorKind::NotFound)
            || crate::clock::start_ticks(self.header.pid) == Some(self.header.start_ticks)
    }

    /// Whether the process said that it writes no more.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn is_ended(&self) -> Result<bool, Error> {
        Ok(self.read_u32(process::ENDED)? != 0)
    }

    /// Records of each level that no ring took: no memory, or a signal handler that interrupted
    /// another.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn dropped(&self) -> Result<[u64; 16], Error> {
        self.file.read_counts(process::DROPPED).map_err(|error| self.error(error))
    }

    /// Records of each level that the process's limit of records in a second suppressed.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn suppressed(&self) -> Result<[u64; 16], Error> {
        self.file.read_counts(process::SUPPRESSED).map_err(|error| self.error(error))
    }

    /// The highest tier that a `flush` of the process waits for; 0: none does.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn flush_wanted(&self) -> Result<u32, Error> {
        self.read_u32(process::FLUSH_WANTED)
    }

    /// Rings that the process has made; their numbers are below this.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn ring_count(&self) -> Result<u32, Error> {
        self.read_u32(process::RING_COUNT)
    }

    /// All loggers.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn loggers(&self) -> Result<Vec<LoggerEntry>, Error> {
        let count = self.read_u32(process::LOGGER_COUNT)?.min(process::LOGGERS_MAX as u32);
        let mut bytes = vec![0; count as usize * process::LOGGER_BYTES];
        let filled = self.file.read_upto(&mut bytes, process::LOGGERS as u64);
        bytes.truncate(filled.map_err(|error| self.error(error))?);
        let entries = bytes.chunks_exact(process::LOGGER_BYTES).zip(0..);
        let entries = entries.map(|(entry, index)| {
            let name = usize::from(entry[logger::NAME_LENGTH]).min(logger::NAME_BYTES_MAX);
            let name = &entry[logger::NAME..logger::NAME + name];
            LoggerEntry {
                index,
                name: String::from_utf8_lossy(name).into_owned(),
                level: entry[logger::LEVEL],
                level_central: entry[logger::LEVEL_CENTRAL],
                level_local: entry[logger::LEVEL_LOCAL],
                counts: std::array::from_fn(|at| u64_at(entry, logger::COUNTS + at * 8)),
                suppressed: u64_at(entry, logger::SUPPRESSED),
            }
        });
        Ok(entries.collect())
    }

    /// Sets the levels of a logger, as numbers of ACS; `LEVEL_OFF`: none passes.  The process
    /// follows at its next call.
    ///
    /// # Errors
    /// If there is no such logger, or the file cannot be written.
    pub fn set_levels(&self, index: u32, central: u8, local: u8) -> Result<(), Error> {
        let bytes = [central.min(local), central, local];
        self.write(self.logger_at(index)?, &bytes)
    }

    /// Sets what the consumer has counted of a logger: records by level, and suppressed ones.
    ///
    /// # Errors
    /// If there is no such logger, or the file may not be written.
    pub fn set_counts(
        &self,
        index: u32,
        counts: &[u64; logger::LEVELS],
        suppressed: u64,
    ) -> Result<(), Error> {
        let numbers = counts.iter().chain([&suppressed]);
        let bytes: Vec<u8> = numbers.flat_map(|number| number.to_le_bytes()).collect();
        self.write(self.logger_at(index)? + logger::COUNTS as u64, &bytes)
    }

    fn logger_at(&self, index: u32) -> Result<u64, Error> {
        let count = self.read_u32(process::LOGGER_COUNT)?.min(process::LOGGERS_MAX as u32);
        if index >= count {
            let what = format!("{}: logger {index}", self.path().display());
            return Err(Error::Limit { what, most: count.saturating_sub(1) as usize });
        }
        Ok(process::LOGGERS as u64 + u64::from(index) * process::LOGGER_BYTES as u64)
    }

    /// Tells the process's clients the consumer's state, with a reason (cut after 255 bytes).
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn set_state(
        &mut self,
        state: ConsumerState,
        failure: u32,
        message: &str,
    ) -> Result<(), Error> {
        let mut text = [0; status::MESSAGE_BYTES];
        let length = message.len().min(text.len() - 1);
        text[..length].copy_from_slice(&message.as_bytes()[..length]);
        self.write(status_at(status::MESSAGE), &text)?;
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&(state as u32).to_le_bytes());
        bytes[4..8].copy_from_slice(&failure.to_le_bytes());
        bytes[8..].copy_from_slice(&std::process::id().to_le_bytes());
        self.write(status_at(status::STATE), &bytes)?;
        self.announce()
    }

    /// Tells the process's clients of records that cannot be delivered.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add_undeliverable(
        &mut self,
        ring: u32,
        reason: u32,
        first_sequence: u64,
        last_sequence: u64,
    ) -> Result<(), Error> {
        let number = self.read_u64(process::STATUS + status::RANGE_COUNT)?;
        let mut bytes = [0; status::RANGE_BYTES];
        bytes[..4].copy_from_slice(&ring.to_le_bytes());
        bytes[4..8].copy_from_slice(&reason.to_le_bytes());
        bytes[8..16].copy_from_slice(&first_sequence.to_le_bytes());
        bytes[16..24].copy_from_slice(&last_sequence.to_le_bytes());
        bytes[24..].copy_from_slice(&number.to_le_bytes());
        #[allow(clippy::cast_possible_truncation, reason = "below 16")]
        let slot = (number % status::RANGES_KEPT as u64) as usize;
        self.write(status_at(status::RANGES + slot * status::RANGE_BYTES), &bytes)?;
        self.write(status_at(status::RANGE_COUNT), &number.wrapping_add(1).to_le_bytes())?;
        self.announce()
    }

    /// Says that the consumer looks, at this `CLOCK_BOOTTIME`: about once a second.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn set_heartbeat(&self, boottime_ns: u64) -> Result<(), Error> {
        self.write(status_at(status::HEARTBEAT), &boottime_ns.to_le_bytes())
    }

    /// Says what the consumer costs: with the heartbeat.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn set_cost(&self, cost: &ConsumerCost) -> Result<(), Error> {
        let ConsumerCost { cpu_ns, memory_bytes, records, bytes, kept_bytes } = *cost;
        let words = [cpu_ns, memory_bytes, records, bytes, kept_bytes];
        let page: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.write(status_at(status::COST), &page)
    }

    /// What the consumer says that it costs.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn cost(&self) -> Result<ConsumerCost, Error> {
        let mut page = [0; PAGE];
        let filled = self.file.read_upto(&mut page, process::STATUS as u64);
        filled.map_err(|error| self.error(error))?;
        Ok(ConsumerCost::from_words(|at| u64_at(&page, at)))
    }

    fn map_status(&mut self) -> Result<(), Error> {
        if self.status_page.is_none() {
            let map = |file: &File| FutexPage::map(file, process::STATUS as i64, false);
            self.status_page = Some(self.file.with(map).map_err(|error| self.error(error))?);
        }
        Ok(())
    }

    /// Gives the file's descriptor back; the process stays claimed.  Every access opens the file again.
    ///
    /// # Errors
    /// If the file cannot be mapped.
    pub fn close(&mut self) -> Result<(), Error> {
        if self.state_sequence == 0 {
            self.state_sequence = self.read_u32(process::STATUS + status::SEQUENCE)?;
        }
        // The mapping keeps the open file, and with it the lock.
        self.map_status()?;
        self.file.close();
        Ok(())
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

    /// Changes the status page's number and wakes the clients that wait for it: for a state, and
    /// after marks that a `flush` waits for were moved.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn announce(&mut self) -> Result<(), Error> {
        if self.status_page.is_none() {
            self.map_status()?;
            self.state_sequence = self.read_u32(process::STATUS + status::SEQUENCE)?;
        }
        self.state_sequence = self.state_sequence.wrapping_add(1);
        self.write(status_at(status::SEQUENCE), &self.state_sequence.to_le_bytes())?;
        if let Some(page) = &self.status_page {
            page.wake(status::SEQUENCE);
        }
        Ok(())
    }

    fn write(&self, at: u64, bytes: &[u8]) -> Result<(), Error> {
        let written = self.file.write_within(bytes, at, at + bytes.len() as u64);
        written.map_err(|error| self.error(error))
    }

    fn read_u64(&self, at: usize) -> Result<u64, Error> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, at as u64).map_err(|error| self.error(error))?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn read_u32(&self, at: usize) -> Result<u32, Error> {
        let mut bytes = [0; 4];
        self.file.read_exact_at(&mut bytes, at as u64).map_err(|error| self.error(error))?;
        Ok(u32::from_le_bytes(bytes))
    }
}

fn status_at(offset: usize) -> u64 {
    (process::STATUS + offset) as u64
}

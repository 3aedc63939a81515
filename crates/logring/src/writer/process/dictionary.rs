//! The dictionary and the table of loggers, as the writer extends them.
//!
//! An entry is built in memory of the process, and copied to the end of the dictionary and published
//! if the same is not there yet: so the file has pages for what it holds, and few more.

use std::io;
use std::sync::atomic::{AtomicU8, Ordering};

use super::super::files;
use super::{Guard, Process};
use crate::abi::{ARGUMENTS_MAX, entry, logger, padded, process};
use crate::record::ArgumentType;

/// Longest text of an entry; longer ones are cut.
const TEXT_MAX: usize = 12 << 10;

/// How many bytes the file grows by.
pub(super) const GROWTH: u64 = 16 << 10;

/// Places of the table of entries, a power of two.  When it is 3/4 full, entries are no longer
/// recognised as being there already.
const INTERN_SLOTS: usize = 1 << 16;

/// A place of the table of entries: hash of kind and payload, and where the entry is.
#[derive(Clone, Copy)]
pub(super) struct InternSlot {
    hash: u64,
    offset: u64,
}

/// Bytes of the table of entries.
pub(super) const INTERN_BYTES: usize = INTERN_SLOTS * size_of::<InternSlot>();

/// A place in a program that logs.
#[derive(Clone, Copy, Debug)]
pub struct SiteDescription<'a> {
    /// Source file.
    pub file: &'a str,
    /// Line.
    pub line: u32,
    /// Function, or module.
    pub routine: &'a str,
    /// Level, as a number.
    pub level: u8,
    /// The text with placeholders.
    pub format: &'a str,
    /// 1 `{}`, 2 printf, 3 plain.
    pub format_kind: u8,
    /// 0 message, 1 a function begins, 2 it ends, 3 stop watch.
    pub role: u8,
    /// Types of the arguments: numbers of [`ArgumentType`].
    pub types: &'a [u8],
}

/// Writes an entry's payload piece by piece.
struct Builder {
    to: *mut u8,
    length: usize,
}

impl Builder {
    fn bytes(&mut self, bytes: &[u8]) {
        // The longest payloads are three texts of TEXT_MAX; pairs are cut to what remains.
        let length = bytes.len().min(entry::BYTES_MAX - 8 - self.length);
        // SAFETY: the memory for an entry has BYTES_MAX bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.to.add(self.length), length) };
        self.length += length;
    }

    fn number(&mut self, number: usize) {
        self.bytes(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
    }
}

fn cut(bytes: &[u8], most: usize) -> &[u8] {
    &bytes[..bytes.len().min(most)]
}

/// FNV-1a.
fn hash_of(kind: u16, payload: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    let hash = payload.iter().fold(0xcbf2_9ce4_8422_2325 ^ u64::from(kind), step);
    hash.max(1)
}

impl Guard<'_> {
    /// Makes sure that an entry of this length has pages; gives where it begins.
    fn reserve(&mut self, total: usize) -> Option<*mut u8> {
        let needed = self.inner.dictionary_length + total as u64;
        if self.inner.file < 0 || needed > process::DICTIONARY_BYTES_MAX as u64 {
            return None;
        }
        if needed > self.inner.allocated {
            let from = process::DICTIONARY as u64 + self.inner.allocated;
            let length = (needed - self.inner.allocated).next_multiple_of(GROWTH);
            let length = length.min(process::DICTIONARY_BYTES_MAX as u64 - self.inner.allocated);
            files::allocate(self.inner.file, from, length).ok()?;
            self.inner.allocated += length;
        }
        Some(self.at(self.inner.dictionary_length))
    }

    /// An address in the dictionary.
    fn at(&self, offset: u64) -> *mut u8 {
        #[allow(clippy::cast_possible_truncation, reason = "below 16 MiB")]
        let offset = process::DICTIONARY + offset as usize;
        // SAFETY: the whole length is mapped, if not allocated.
        unsafe { self.process.base.add(offset) }
    }

    /// Bytes of a complete entry.
    fn entry(&self, offset: u64) -> &[u8] {
        let at = self.at(offset);
        // SAFETY: complete entries begin with their length, and are never changed.
        unsafe {
            let length = u32::from_le(at.cast::<u32>().read()) as usize;
            std::slice::from_raw_parts(at, length)
        }
    }

    fn slot(&self, at: usize) -> *mut InternSlot {
        // SAFETY: the index is masked, the table has this many.
        unsafe { self.inner.intern.add(at & (INTERN_SLOTS - 1)) }
    }

    /// Adds an entry, or finds the same; gives its number.
    fn add_entry(&mut self, kind: u16, fill: impl FnOnce(&mut Builder)) -> Option<u32> {
        let start = self.inner.scratch;
        // SAFETY: the memory is longer than a head.
        let payload = unsafe { start.add(entry::HEAD) };
        let mut builder = Builder { to: payload, length: 0 };
        fill(&mut builder);
        let (length, total) = (builder.length, padded(entry::HEAD + builder.length));
        if total > entry::BYTES_MAX {
            return None;
        }
        // SAFETY: within BYTES_MAX; what lies behind the payload may be of an entry before.
        let built = unsafe {
            start.add(entry::HEAD + length).write_bytes(0, total - entry::HEAD - length);
            std::slice::from_raw_parts_mut(start, total)
        };
        let hash = hash_of(kind, &built[entry::HEAD..]);
        let mut place = usize::try_from(hash).unwrap_or(0);
        // SAFETY: places are in the table, which this thread alone uses under the lock.
        while let InternSlot { hash: found, offset } = unsafe { *self.slot(place) }
            && found != 0
        {
            let other = self.entry(offset);
            let is_same = found == hash
                && other[8..10] == kind.to_le_bytes()
                && other[entry::HEAD..] == built[entry::HEAD..];
            if is_same {
                return Some(crate::bytes::u32_at(other, 12));
            }
            place += 1;
        }
        let number = self.inner.entry_count + 1;
        built[..4].copy_from_slice(&u32::try_from(total).ok()?.to_le_bytes());
        built[8..10].copy_from_slice(&kind.to_le_bytes());
        built[10..12].fill(0);
        built[12..16].copy_from_slice(&number.to_le_bytes());
        let sum = crc32c::crc32c(&built[8..]);
        built[4..8].copy_from_slice(&sum.to_le_bytes());
        let to = self.reserve(total)?;
        // SAFETY: the place has pages for so many bytes, which no reader looks at yet.
        unsafe { std::ptr::copy_nonoverlapping(built.as_ptr(), to, total) };
        let offset = self.inner.dictionary_length;
        if self.inner.entry_count < (INTERN_SLOTS / 4 * 3) as u32 {
            // A child of fork finds the place either empty or complete: the hash is stored last.
            // SAFETY: as above.
            unsafe {
                (*self.slot(place)).offset = offset;
                std::sync::atomic::compiler_fence(Ordering::SeqCst);
                (*self.slot(place)).hash = hash;
            }
        }
        self.inner.entry_count = number;
        self.inner.dictionary_length = offset + total as u64;
        let published = self.process.word(process::DICTIONARY_LENGTH);
        published.store(self.inner.dictionary_length.to_le(), Ordering::Release);
        Some(number)
    }

    pub(super) fn add_site(&mut self, site: &SiteDescription<'_>) -> Option<u32> {
        let is_known = |kind: &u8| ArgumentType::from_number(*kind).is_some();
        if site.types.len() > ARGUMENTS_MAX || !site.types.iter().all(is_known) {
            return None;
        }
        let texts =
            [site.file, site.routine, site.format].map(|text| cut(text.as_bytes(), TEXT_MAX));
        self.add_entry(entry::SITE, |payload| {
            payload.number(site.line as usize);
            let count = u8::try_from(site.types.len()).unwrap_or(u8::MAX);
            payload.bytes(&[site.level, site.format_kind, count, site.role]);
            texts.iter().for_each(|text| payload.number(text.len()));
            payload.number(0);
            payload.bytes(site.types);
            texts.iter().for_each(|text| payload.bytes(text));
        })
    }

    pub(super) fn add_context(
        &mut self,
        logger: u32,
        name: &[u8],
        pairs: &[(&str, &str)],
    ) -> Option<u32> {
        self.add_entry(entry::CONTEXT, |payload| {
            payload.number(logger as usize);
            payload.number(pairs.len().min(64));
            payload.number(name.len());
            payload.bytes(name);
            for (name, value) in pairs.iter().take(64) {
                // 64 pairs of 500 bytes remain below the longest entry.
                let (name, value) = (cut(name.as_bytes(), 120), cut(value.as_bytes(), 380));
                payload.bytes(&u16::try_from(name.len()).unwrap_or(0).to_le_bytes());
                payload.bytes(&u16::try_from(value.len()).unwrap_or(0).to_le_bytes());
                payload.bytes(name);
                payload.bytes(value);
            }
        })
    }

    pub(super) fn add_text(&mut self, text: &[u8]) -> Option<u32> {
        let text = cut(text, TEXT_MAX);
        self.add_entry(entry::STRING, |payload| {
            payload.number(text.len());
            payload.bytes(text);
        })
    }

    /// A context of the first's logger and both's pairs: those of the second go first.
    fn add_combination(&mut self, context: u32, scope: u32) -> Option<u32> {
        let (of_logger, of_thread) = (self.find(context)?, self.find(scope)?);
        let (one, other) = (Parts::of(self.entry(of_logger))?, Parts::of(self.entry(of_thread))?);
        // Both stay where they are while the entry is built.
        let (base, head) = (self.at(0), entry::HEAD);
        self.add_entry(entry::CONTEXT, |payload| {
            // SAFETY: complete entries are never changed.
            let piece = |offset: u64, from: usize, length: usize| unsafe {
                #[allow(clippy::cast_possible_truncation, reason = "below 16 MiB")]
                std::slice::from_raw_parts(base.add(offset as usize + head + from), length)
            };
            payload.bytes(piece(of_logger, 0, 4));
            payload.number((one.count + other.count) as usize);
            payload.bytes(piece(of_logger, 8, 4 + one.name));
            payload.bytes(piece(of_thread, 12 + other.name, other.pairs));
            payload.bytes(piece(of_logger, 12 + one.name, one.pairs));
        })
    }

    /// Where the entry of a number begins.
    fn find(&self, number: u32) -> Option<u64> {
        let mut offset = 0;
        while offset < self.inner.dictionary_length {
            let bytes = self.entry(offset);
            if crate::bytes::u32_at(bytes, 12) == number {
                return Some(offset);
            }
            offset += bytes.len() as u64;
        }
        None
    }

    /// Writes a logger's name; gives its length.
    pub(super) fn logger_name(&self, number: u32, name: &mut [u8; 256]) -> usize {
        if number >= self.inner.logger_count {
            return 0;
        }
        let at = process::LOGGERS + number as usize * process::LOGGER_BYTES;
        // SAFETY: loggers in use have their pages; names are written before the count.
        let bytes =
            unsafe { std::slice::from_raw_parts(self.process.base.add(at), process::LOGGER_BYTES) };
        let length = usize::from(bytes[logger::NAME_LENGTH]).min(logger::NAME_BYTES_MAX);
        name[..length].copy_from_slice(&bytes[logger::NAME..logger::NAME + length]);
        length
    }

    pub(super) fn add_logger(&mut self, name: &str) -> io::Result<u32> {
        let mut other = [0; 256];
        for number in 0..self.inner.logger_count {
            let length = self.logger_name(number, &mut other);
            if &other[..length] == name.as_bytes() {
                return Ok(number);
            }
        }
        let number = self.inner.logger_count;
        if number as usize >= process::LOGGERS_MAX {
            return Err(io::Error::other("there are 1024 loggers"));
        }
        let at = process::LOGGERS + number as usize * process::LOGGER_BYTES;
        files::allocate(self.inner.file, at as u64, process::LOGGER_BYTES as u64)?;
        let settings = &self.process.settings;
        let levels = [settings.level_central, settings.level_local];
        // SAFETY: the entry has its page now; its bytes are shared as atomics or not read before
        // the count is stored.
        unsafe {
            let entry = self.process.base.add(at);
            let length = u8::try_from(name.len()).unwrap_or(0);
            let bytes = [levels[0].min(levels[1]), levels[0], levels[1], length];
            for (offset, byte) in bytes.into_iter().enumerate() {
                (*entry.add(offset).cast::<AtomicU8>()).store(byte, Ordering::Relaxed);
            }
            let to = entry.add(logger::NAME);
            std::ptr::copy_nonoverlapping(name.as_ptr(), to, usize::from(length));
        }
        self.inner.logger_count = number + 1;
        let count = self.process.u32_at(process::LOGGER_COUNT);
        count.store((number + 1).to_le(), Ordering::Release);
        Ok(number)
    }
}

impl Process {
    /// The number of a context of both; that of the logger if there is no room for it.
    pub(in super::super) fn combine(&self, context: u32, scope: u32) -> u32 {
        let number = self.lock().and_then(|mut guard| guard.add_combination(context, scope));
        number.unwrap_or(context)
    }
}

/// Sizes in a context's entry.
struct Parts {
    name: usize,
    count: u32,
    pairs: usize,
}

impl Parts {
    fn of(bytes: &[u8]) -> Option<Parts> {
        if bytes[8..10] != entry::CONTEXT.to_le_bytes() {
            return None;
        }
        let payload = &bytes[entry::HEAD..];
        let count = crate::bytes::u32_at(payload, 4);
        let name = crate::bytes::u32_at(payload, 8) as usize;
        let begin = 12 + name;
        let mut at = begin;
        for _ in 0..count {
            let length = |at| usize::from(crate::bytes::u16_at(payload, at));
            at += 4 + length(at) + length(at + 2);
        }
        (at <= payload.len()).then_some(Parts { name, count, pairs: at - begin })
    }
}

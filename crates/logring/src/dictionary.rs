//! The dictionary of a process: call sites, contexts and interned strings, by number.
//!
//! Append-only; an entry's number is its place, from 1.  Entries are plain bytes with a CRC-32C, so
//! a copy of them decodes records anywhere.  What is malformed ends the dictionary there.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::abi::entry;
use crate::abi::padded;
use crate::bytes::{u16_at, u32_at};
use crate::error::Fault;
use crate::level::LogLevel;
use crate::record::ArgumentType;

/// How a format is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FormatKind {
    /// `{}`, as of Rust.
    Braces,
    /// `%d`, as of C.
    Printf,
    /// The message is the text itself, without placeholders.
    Plain,
    /// `{}`, as of C++20.
    Cpp,
}

/// What a call site marks, beside its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SiteRole {
    /// A message.
    Message,
    /// A function begins.
    Entry,
    /// A function ends; the first argument is how long it took, in ns.
    Exit,
    /// A stop watch; the first argument is how long it ran, in ns.
    StopWatch,
}

/// A place in a program that logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Source file.
    pub file: String,
    /// Line, from 1; 0: unknown.
    pub line: u32,
    /// Function, or module.
    pub routine: String,
    /// Level, unless a record has its own.
    pub level: Option<LogLevel>,
    /// The text with placeholders.
    pub format: String,
    /// How placeholders are written.
    pub format_kind: FormatKind,
    /// What it marks.
    pub role: SiteRole,
    /// Types of the arguments.
    pub types: Vec<ArgumentType>,
}

/// A logger with what its records are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogContext {
    /// Number of the logger in its process.
    pub logger: u32,
    /// Name of the logger.
    pub logger_name: String,
    /// Names and values: `SourceObject`, `Audience`, `Array`, `Antenna`, ...
    pub pairs: Vec<(String, String)>,
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DictionaryEntry {
    /// A call site.
    Site(Site),
    /// A context.
    Context(LogContext),
    /// An interned string.
    Text(Vec<u8>),
    /// An entry of a kind that this version does not know.
    Unknown(u16),
}

/// The entries of a process.
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    entries: Vec<DictionaryEntry>,
    length_bytes: u64,
    identity: Identity,
}

/// A number that no other dictionary of this program has; a clone gets one of its own, since other entries
/// may follow in it.
#[derive(Debug)]
struct Identity(u64);

impl Default for Identity {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Identity(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Dictionary {
    /// A dictionary of entries that come from elsewhere than a file; their numbers are their places, from 1.
    #[must_use]
    pub fn of(entries: Vec<DictionaryEntry>) -> Self {
        Dictionary { entries, ..Self::default() }
    }

    /// Adds the entries of some bytes, as they are in the file; gives how many bytes were used.
    /// An entry that is not whole waits for the rest.
    ///
    /// # Errors
    /// At the first entry that is malformed; those before it are added.
    pub fn add(&mut self, bytes: &[u8]) -> Result<usize, Fault> {
        let mut offset = 0;
        while let Some(length) = self.add_one(&bytes[offset..])? {
            offset += length;
            self.length_bytes += length as u64;
        }
        Ok(offset)
    }

    fn add_one(&mut self, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        if bytes.len() < entry::HEAD {
            return Ok(None);
        }
        let fault = |why| Fault { position: self.length_bytes, why };
        let length = u32_at(bytes, 0) as usize;
        if !length.is_multiple_of(8) || !(entry::HEAD..=entry::BYTES_MAX).contains(&length) {
            return Err(fault("the length of a dictionary entry is wrong"));
        }
        let Some(bytes) = bytes.get(..length) else { return Ok(None) };
        if crc32c::crc32c(&bytes[8..]) != u32_at(bytes, 4) {
            return Err(fault("the checksum of a dictionary entry is wrong"));
        }
        if u32_at(bytes, 12) as usize != self.entries.len() + 1 {
            return Err(fault("the number of a dictionary entry is wrong"));
        }
        let payload = &bytes[entry::HEAD..];
        let read = match u16_at(bytes, 8) {
            entry::SITE => read_site(payload).map(DictionaryEntry::Site),
            entry::CONTEXT => read_context(payload).map(DictionaryEntry::Context),
            entry::STRING => read_text(payload).map(DictionaryEntry::Text),
            other => Some(DictionaryEntry::Unknown(other)),
        };
        self.entries.push(read.ok_or_else(|| fault("a dictionary entry is malformed"))?);
        Ok(Some(length))
    }

    /// The entry of a number.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&DictionaryEntry> {
        self.entries.get((number as usize).checked_sub(1)?)
    }

    /// The call site of a number.
    #[must_use]
    pub fn site(&self, number: u32) -> Option<&Site> {
        if let DictionaryEntry::Site(site) = self.get(number)? { Some(site) } else { None }
    }

    /// The context of a number.
    #[must_use]
    pub fn context(&self, number: u32) -> Option<&LogContext> {
        if let DictionaryEntry::Context(context) = self.get(number)? { Some(context) } else { None }
    }

    /// The interned string of a number.
    #[must_use]
    pub fn text(&self, number: u32) -> Option<&[u8]> {
        if let DictionaryEntry::Text(text) = self.get(number)? { Some(text) } else { None }
    }

    /// A number that no other dictionary of this program has.  With the same one, an entry of the same number
    /// is the same for ever: whoever has compared two entries once need not do so again.
    #[must_use]
    pub fn identity(&self) -> u64 {
        self.identity.0
    }

    /// Entries; their numbers are 1 to this.
    #[must_use]
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of all entries.
    #[must_use]
    pub fn length_bytes(&self) -> u64 {
        self.length_bytes
    }
}

/// Takes the next `length` bytes off the front.
fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let taken = bytes.get(..length)?;
    *bytes = &bytes[length..];
    Some(taken)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn read_site(payload: &[u8]) -> Option<Site> {
    let head = payload.get(..24)?;
    let count = usize::from(head[6]);
    let length = |at| u32_at(head, at) as usize;
    let mut rest = &payload[24..];
    let types = take(&mut rest, count)?;
    let types: Option<Vec<_>> = types.iter().map(|kind| ArgumentType::from_number(*kind)).collect();
    let types = types.filter(|types| types.len() <= crate::abi::ARGUMENTS_MAX)?;
    Some(Site {
        line: u32_at(head, 0),
        level: LogLevel::from_number(head[4]),
        format_kind: match head[5] {
            1 => FormatKind::Braces,
            2 => FormatKind::Printf,
            3 => FormatKind::Plain,
            4 => FormatKind::Cpp,
            _ => return None,
        },
        role: match head[7] {
            0 => SiteRole::Message,
            1 => SiteRole::Entry,
            2 => SiteRole::Exit,
            3 => SiteRole::StopWatch,
            _ => return None,
        },
        file: lossy(take(&mut rest, length(8))?),
        routine: lossy(take(&mut rest, length(12))?),
        format: lossy(take(&mut rest, length(16))?),
        types,
    })
}

fn read_context(payload: &[u8]) -> Option<LogContext> {
    let head = payload.get(..12)?;
    let mut rest = &payload[12..];
    let logger_name = lossy(take(&mut rest, u32_at(head, 8) as usize)?);
    let mut pairs = Vec::new();
    for _ in 0..u32_at(head, 4) {
        let lengths = take(&mut rest, 4)?;
        let name = take(&mut rest, usize::from(u16_at(lengths, 0)))?;
        let value = take(&mut rest, usize::from(u16_at(lengths, 2)))?;
        pairs.push((lossy(name), lossy(value)));
    }
    Some(LogContext { logger: u32_at(head, 0), logger_name, pairs })
}

fn read_text(payload: &[u8]) -> Option<Vec<u8>> {
    let length = u32_at(payload.get(..4)?, 0) as usize;
    payload.get(4..4 + length).map(<[u8]>::to_vec)
}

/// Encodes an entry as the file has it: for tests, and for stores that make entries anew.
#[must_use]
pub fn encode_entry(number: u32, kind: u16, payload: &[u8]) -> Vec<u8> {
    let length = padded(entry::HEAD + payload.len());
    let mut bytes = vec![0; length];
    #[allow(clippy::cast_possible_truncation, reason = "payloads are shorter than BYTES_MAX")]
    bytes[..4].copy_from_slice(&(length as u32).to_le_bytes());
    bytes[8..10].copy_from_slice(&kind.to_le_bytes());
    bytes[12..16].copy_from_slice(&number.to_le_bytes());
    bytes[entry::HEAD..entry::HEAD + payload.len()].copy_from_slice(payload);
    let sum = crc32c::crc32c(&bytes[8..]);
    bytes[4..8].copy_from_slice(&sum.to_le_bytes());
    bytes
}

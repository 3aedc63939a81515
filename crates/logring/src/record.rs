//! Records, as they lie in a ring: read out of bytes that may be anything, without allocation.
//!
//! A record is word 0 (size in units of 8 bytes u16, kind u8, level and flags u8, sequence u32), the
//! stamp u64, site u32, context u32 and the arguments.  Which arguments it has says its call site.

use crate::abi::{self, ARGUMENTS_MAX, FLAG_ATTRIBUTES, LEVEL_MASK, RECORD_HEAD, kind, padded};
use crate::bytes::{u32_at, u64_at};
use crate::error::Fault;
use crate::level::LogLevel;

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ArgumentType {
    /// A signed integer.
    Signed = 1,
    /// An unsigned integer.
    Unsigned = 2,
    /// A float.
    Float = 3,
    /// `true` or `false`.
    Bool = 4,
    /// A Unicode character.
    Char = 5,
    /// A text; not necessarily UTF-8.
    Text = 6,
    /// A text in the dictionary, by its number.
    Interned = 7,
    /// An address.
    Pointer = 8,
    /// Bytes that are no text.
    Bytes = 9,
    /// A signed integer of 8 bits, stored as one of 64: its bits are shown as eight.
    Signed8 = 10,
    /// A signed integer of 16 bits, stored as one of 64.
    Signed16 = 11,
    /// A signed integer of 32 bits, stored as one of 64.
    Signed32 = 12,
    /// A float of 32 bits, stored as one of 64: its shortest text is that of 32.
    Float32 = 13,
}

impl ArgumentType {
    /// The type of a number, if there is one.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => ArgumentType::Signed,
            2 => ArgumentType::Unsigned,
            3 => ArgumentType::Float,
            4 => ArgumentType::Bool,
            5 => ArgumentType::Char,
            6 => ArgumentType::Text,
            7 => ArgumentType::Interned,
            8 => ArgumentType::Pointer,
            9 => ArgumentType::Bytes,
            10 => ArgumentType::Signed8,
            11 => ArgumentType::Signed16,
            12 => ArgumentType::Signed32,
            13 => ArgumentType::Float32,
            _ => return None,
        })
    }
}

/// An argument's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LogValue<'a> {
    /// A signed integer.
    Signed(i64),
    /// An unsigned integer.
    Unsigned(u64),
    /// A float.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// A Unicode character; others became U+FFFD.
    Char(char),
    /// A text; not necessarily UTF-8.
    Text(&'a [u8]),
    /// A text in the dictionary, by its number.
    Interned(u32),
    /// An address.
    Pointer(u64),
    /// Bytes that are no text.
    Bytes(&'a [u8]),
}

impl<'a> LogValue<'a> {
    /// Reads one value of a type; gives it and the bytes behind it.
    pub(crate) fn read(kind: ArgumentType, bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        if matches!(kind, ArgumentType::Text | ArgumentType::Bytes) {
            let length =
                usize::try_from(u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?)).ok()?;
            let value = bytes.get(4..)?.get(..length)?;
            let rest = bytes.get(padded(4 + length)..)?;
            let is_text = kind == ArgumentType::Text;
            return Some((
                if is_text { LogValue::Text(value) } else { LogValue::Bytes(value) },
                rest,
            ));
        }
        let word = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
        #[allow(clippy::cast_possible_truncation, reason = "the low half is what was written")]
        let low = word as u32;
        let value = match kind {
            ArgumentType::Signed
            | ArgumentType::Signed8
            | ArgumentType::Signed16
            | ArgumentType::Signed32 => LogValue::Signed(word.cast_signed()),
            ArgumentType::Float | ArgumentType::Float32 => LogValue::Float(f64::from_bits(word)),
            ArgumentType::Bool => LogValue::Bool(word != 0),
            ArgumentType::Char => LogValue::Char(char::from_u32(low).unwrap_or('\u{fffd}')),
            ArgumentType::Interned => LogValue::Interned(low),
            ArgumentType::Pointer => LogValue::Pointer(word),
            _ => LogValue::Unsigned(word),
        };
        Some((value, &bytes[8..]))
    }
}

/// A record, borrowed from a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RingRecord<'a> {
    /// One of `abi::kind`; a reader passes over kinds that it does not know.
    pub kind: u8,
    /// The level and flags: see [`RingRecord::level`] and `abi::FLAG_*`.
    pub flags: u8,
    /// The number of this record in its ring, from 0.
    pub sequence: u64,
    /// When it was made, in the units of its process: see `Calibration`.
    pub stamp: u64,
    /// The number of the call site in the dictionary of the process; 0: none.
    pub site: u32,
    /// The number of the context in the dictionary of the process; 0: none.
    pub context: u32,
    /// Arguments and attributes, not decoded.
    pub payload: &'a [u8],
    /// Where it begins in the batch, in bytes.
    pub offset: usize,
}

impl<'a> RingRecord<'a> {
    /// The level; `None` of a number that has no name.
    #[must_use]
    pub fn level(&self) -> Option<LogLevel> {
        LogLevel::from_number(self.flags & LEVEL_MASK)
    }

    /// Bytes of the whole record.
    #[must_use]
    pub fn length_bytes(&self) -> usize {
        RECORD_HEAD + self.payload.len()
    }

    /// The arguments of a record whose call site has these types, and the attributes behind them.
    ///
    /// # Errors
    /// If the payload is too short for them.
    pub fn arguments(&self, types: &[ArgumentType]) -> Result<ArgumentValues<'a>, Fault> {
        let mut values = ArgumentValues {
            values: [LogValue::Unsigned(0); ARGUMENTS_MAX],
            count: 0,
            attributes: AttributeValues { rest: &[] },
        };
        let mut rest = self.payload;
        for (slot, kind) in values.values.iter_mut().zip(types) {
            let short = Fault { position: self.sequence, why: "arguments of a record are cut" };
            let (value, behind) = LogValue::read(*kind, rest).ok_or(short)?;
            (*slot, rest) = (value, behind);
            values.count += 1;
        }
        if self.flags & FLAG_ATTRIBUTES != 0 {
            values.attributes = AttributeValues { rest };
        }
        Ok(values)
    }

    /// The first argument of a record whose call site has a text as the first; `None`: it is cut.
    #[must_use]
    pub fn text(&self) -> Option<&'a [u8]> {
        match LogValue::read(ArgumentType::Text, self.payload)?.0 {
            LogValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The attributes behind the arguments of a record whose call site has these types; `None`: it has none,
    /// or the payload is too short for the arguments.
    #[must_use]
    pub fn attributes(&self, types: &[ArgumentType]) -> Option<AttributeValues<'a>> {
        if self.flags & FLAG_ATTRIBUTES == 0 {
            return None;
        }
        let mut rest = self.payload;
        for kind in types.iter().take(ARGUMENTS_MAX) {
            rest = LogValue::read(*kind, rest)?.1;
        }
        Some(AttributeValues { rest })
    }

    /// What a record that is no log record says.
    #[must_use]
    pub fn notice(&self) -> Option<RingNotice<'a>> {
        let word = |at: usize| u64_at(self.payload, at * 8);
        #[allow(clippy::cast_possible_truncation, reason = "the low half is what was written")]
        let low = |at: usize| word(at) as u32;
        Some(match self.kind {
            kind::DROPPED if self.payload.len() >= 24 => RingNotice::Dropped {
                count: word(0),
                first_sequence: word(1),
                last_sequence: word(2),
                is_of_several: self.payload.len() >= 32 && word(3) == 1,
            },
            kind::SUPPRESSED if self.payload.len() >= 24 => {
                RingNotice::Suppressed { count: word(0), first_stamp: word(1), last_stamp: word(2) }
            }
            kind::CALIBRATION if self.payload.len() >= 24 => RingNotice::Calibration {
                stamp: word(0),
                realtime_ns: word(1),
                boottime_ns: word(2),
            },
            kind::NEXT_RING if self.payload.len() >= 8 => RingNotice::NextRing { number: low(0) },
            kind::THREAD_BEGIN if self.payload.len() >= 16 => {
                let name = LogValue::read(ArgumentType::Text, &self.payload[8..]);
                let name = if let Some((LogValue::Text(name), _)) = name { name } else { &[] };
                RingNotice::ThreadBegin { tid: low(0), name }
            }
            kind::THREAD_END if self.payload.len() >= 8 => RingNotice::ThreadEnd { tid: low(0) },
            _ => return None,
        })
    }
}

/// What a record that is no log record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingNotice<'a> {
    /// Records that found no room, or were overwritten.  The record's level is theirs; numbers of
    /// other records may lie between the first and the last.
    Dropped {
        /// How many.
        count: u64,
        /// Number of the first.
        first_sequence: u64,
        /// Number of the last.
        last_sequence: u64,
        /// They are of several loggers; else of that in the record's context, if it has one.
        is_of_several: bool,
    },
    /// Records of a call site (the record's) that a limit or guard did not let through.
    Suppressed {
        /// How many.
        count: u64,
        /// When the first was to be made.
        first_stamp: u64,
        /// When the last was to be made.
        last_stamp: u64,
    },
    /// A reading of all clocks at once.
    Calibration {
        /// The clock of stamps.
        stamp: u64,
        /// `CLOCK_REALTIME`.
        realtime_ns: u64,
        /// `CLOCK_BOOTTIME`.
        boottime_ns: u64,
    },
    /// The thread goes on in another ring of its process.
    NextRing {
        /// The number of the ring.
        number: u32,
    },
    /// A thread writes from here on.
    ThreadBegin {
        /// The id of the thread.
        tid: u32,
        /// The name of the thread.
        name: &'a [u8],
    },
    /// The thread has ended.
    ThreadEnd {
        /// The id of the thread.
        tid: u32,
    },
}

/// The arguments of a record.
#[derive(Clone, Copy, Debug)]
pub struct ArgumentValues<'a> {
    values: [LogValue<'a>; ARGUMENTS_MAX],
    count: usize,
    /// The attributes behind them.
    pub attributes: AttributeValues<'a>,
}

impl<'a> ArgumentValues<'a> {
    /// The arguments, in order.
    #[must_use]
    pub fn as_slice(&self) -> &[LogValue<'a>] {
        &self.values[..self.count]
    }
}

/// Attributes of a record: names and values.  Ends at the first that is malformed.
#[derive(Clone, Copy, Debug)]
pub struct AttributeValues<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for AttributeValues<'a> {
    type Item = (&'a [u8], LogValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let kind = ArgumentType::from_number(*self.rest.first()?)?;
        let length = usize::from(*self.rest.get(1)?);
        let name = self.rest.get(4..)?.get(..length)?;
        let (value, rest) = LogValue::read(kind, self.rest.get(padded(4 + length)..)?)?;
        self.rest = rest;
        Some((name, value))
    }
}

/// The records of some bytes, which begin with a whole record.
#[derive(Clone, Debug)]
pub struct RecordIterator<'a> {
    bytes: &'a [u8],
    offset: usize,
    /// The sequence number that the next record has, unless some are missing.
    expected: u64,
}

impl<'a> RecordIterator<'a> {
    /// Over bytes whose first record has this sequence number, or a later one.
    #[must_use]
    pub fn new(bytes: &'a [u8], expected_sequence: u64) -> Self {
        RecordIterator { bytes, offset: 0, expected: expected_sequence }
    }

    /// Bytes that were read.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// One more than the last record's sequence number.
    #[must_use]
    pub fn expected_sequence(&self) -> u64 {
        self.expected
    }

    /// The next record; `None` at the end, and if the last is not whole.
    fn read(&mut self) -> Option<Result<RingRecord<'a>, Fault>> {
        let rest = &self.bytes[self.offset..];
        let word = rest.get(..8).map(|_| u64_at(rest, 0))?;
        let [size_low, size_high, kind, flags, ..] = word.to_le_bytes();
        let length = usize::from(u16::from_le_bytes([size_low, size_high])) * 8;
        let fault = |why| Some(Err(Fault { position: self.offset as u64, why }));
        if length < RECORD_HEAD {
            return fault("a record is shorter than its head");
        }
        if kind == 0 {
            return fault("a record has no kind");
        }
        #[allow(clippy::cast_possible_truncation, reason = "the low halves are compared")]
        let ahead = ((word >> 32) as u32).wrapping_sub(self.expected as u32);
        if ahead > u32::MAX / 2 {
            return fault("the sequence number of a record is too low");
        }
        let record = rest.get(..length)?;
        let sequence = self.expected.wrapping_add(u64::from(ahead));
        let read = RingRecord {
            kind,
            flags,
            sequence,
            stamp: u64_at(record, 8),
            site: u32_at(record, 16),
            context: u32_at(record, 20),
            payload: &record[abi::RECORD_HEAD..],
            offset: self.offset,
        };
        self.offset += length;
        self.expected = sequence.wrapping_add(1);
        Some(Ok(read))
    }
}

impl<'a> Iterator for RecordIterator<'a> {
    type Item = Result<RingRecord<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        if let Some(Err(_)) = read {
            self.bytes = &self.bytes[..self.offset];
        }
        read
    }
}

//! The part of a record's text that is the same for all records of a call site in a thread: made
//! once, then copied.
//!
//! Call site and context are the same where the dictionary and their numbers are, so their texts are compared
//! only with a record of another dictionary; the names of thread, process and host are compared with each
//! record.  Nothing is allocated for a record whose part is known.

use logring::LogLevel;

use crate::record::LogRecord;

/// Parts that are kept; a power of two.
const KEPT: usize = 64;

/// Parts that are known.
pub(crate) struct ConstantParts {
    known: Vec<Option<Box<KnownConstant>>>,
}

/// A part, and what it was made of.
struct KnownConstant {
    /// The dictionary that call site and context were last found the same in.
    dictionary: u64,
    /// Whether call site and context are known: either may come into the dictionary later.
    has: [bool; 2],
    /// Call site, context, ring, pid, tid, line.
    numbers: [u32; 6],
    level: LogLevel,
    site_level: Option<LogLevel>,
    host: String,
    process: String,
    thread: String,
    file: String,
    routine: String,
    logger: String,
    format: String,
    pairs: Vec<(String, String)>,
    part: ConstantPart,
}

/// What all records of a call site in a thread have in common.
#[derive(Default)]
pub(crate) struct ConstantPart {
    pub(crate) text: Vec<u8>,
    /// See `message::is_plain_format`.
    pub(crate) has_plain_format: bool,
}

fn numbers(record: &LogRecord<'_>) -> [u32; 6] {
    let origin = &record.origin;
    let (site, context) = (record.record.site, record.record.context);
    [site, context, origin.ring, origin.pid, origin.tid, record.line()]
}

fn has(record: &LogRecord<'_>) -> [bool; 2] {
    [record.site.is_some(), record.context.is_some()]
}

fn site_level(record: &LogRecord<'_>) -> Option<LogLevel> {
    record.site.and_then(|site| site.level)
}

fn format<'a>(record: &LogRecord<'a>) -> &'a str {
    record.site.map_or("", |site| &site.format)
}

impl ConstantParts {
    pub(crate) fn new() -> Self {
        ConstantParts { known: Vec::new() }
    }

    /// The part of a record; `make` makes it, of nothing but call site, context, level and origin.
    #[inline]
    pub(crate) fn get(
        &mut self,
        record: &LogRecord<'_>,
        make: impl FnOnce(&mut ConstantPart),
    ) -> &ConstantPart {
        let numbers = numbers(record);
        let hash = numbers[0]
            .wrapping_add(numbers[1].wrapping_mul(7))
            .wrapping_add(numbers[2].wrapping_mul(31));
        if self.known.is_empty() {
            self.known.resize_with(KEPT, || None);
        }
        let slot = &mut self.known[hash as usize % KEPT];
        if !slot.as_mut().is_some_and(|known| known.is_of(record, &numbers)) {
            *slot = None;
        }
        &slot.get_or_insert_with(|| KnownConstant::of(record, numbers, make)).part
    }
}

impl KnownConstant {
    #[cold]
    fn of(
        record: &LogRecord<'_>,
        numbers: [u32; 6],
        make: impl FnOnce(&mut ConstantPart),
    ) -> Box<Self> {
        let mut part = ConstantPart::default();
        make(&mut part);
        Box::new(KnownConstant {
            dictionary: record.dictionary.identity(),
            has: has(record),
            numbers,
            level: record.level(),
            site_level: site_level(record),
            host: record.origin.host.to_owned(),
            process: record.origin.process.to_owned(),
            thread: record.origin.thread.to_owned(),
            file: record.file().to_owned(),
            routine: record.routine().to_owned(),
            logger: record.logger().to_owned(),
            format: format(record).to_owned(),
            pairs: record.pairs().to_vec(),
            part,
        })
    }

    /// Two processes may use the same numbers, and a pid comes again: what the numbers mean is compared, too.
    #[inline]
    fn is_of(&mut self, record: &LogRecord<'_>, numbers: &[u32; 6]) -> bool {
        self.numbers == *numbers
            && self.level == record.level()
            && self.has == has(record)
            && self.thread == record.origin.thread
            && self.process == record.origin.process
            && self.host == record.origin.host
            && (self.dictionary == record.dictionary.identity() || self.has_same_entries(record))
    }

    /// Compares call site and context by value, and notes the dictionary in which they are the same.
    #[cold]
    fn has_same_entries(&mut self, record: &LogRecord<'_>) -> bool {
        let is_same = self.site_level == site_level(record)
            && self.logger == record.logger()
            && self.file == record.file()
            && self.routine == record.routine()
            && self.format == format(record)
            && self.pairs == record.pairs();
        if is_same {
            self.dictionary = record.dictionary.identity();
        }
        is_same
    }
}

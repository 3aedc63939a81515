//! A record joined with what its numbers mean.

use logring::abi::{LEVEL_MASK, kind};
use logring::{
    ArgumentType, Dictionary, LogContext, LogLevel, LogValue, ProcessHeader, RingRecord, Site,
};

/// Where a record comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordOrigin<'a> {
    /// Name of the host.
    pub host: &'a str,
    /// Name of the process.
    pub process: &'a str,
    /// The number of the process.
    pub pid: u32,
    /// Name of the thread.
    pub thread: &'a str,
    /// The number of the thread.
    pub tid: u32,
    /// Number of the ring.
    pub ring: u32,
}

impl<'a> RecordOrigin<'a> {
    /// A thread of a process, by its name and number, and the ring that it writes.
    #[must_use]
    pub fn of(header: &'a ProcessHeader, thread: &'a str, tid: u32, ring: u32) -> Self {
        let (host, process) = (header.host_name.as_str(), header.process_name.as_str());
        RecordOrigin { host, process, pid: header.pid, thread, tid, ring }
    }
}

/// The level that a record is shown and searched with: that records were dropped is a warning at least,
/// whatever level they had.
#[must_use]
pub fn shown_level(record_kind: u8, level: u8) -> u8 {
    if record_kind == kind::DROPPED { level.max(LogLevel::Warning.number()) } else { level }
}

/// A record, and all that is known of it.
#[derive(Debug, Clone, Copy)]
pub struct LogRecord<'a> {
    /// When it was made, in ns since 1970.
    pub time_ns: u64,
    /// Where.
    pub origin: RecordOrigin<'a>,
    /// As it is in the ring.
    pub record: &'a RingRecord<'a>,
    /// What numbers of the process mean.
    pub dictionary: &'a Dictionary,
    /// The call site of the record, if it is known.
    pub site: Option<&'a Site>,
    /// The context of the record, if it is known.
    pub context: Option<&'a LogContext>,
}

/// A name and a value beside the message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordField<'a> {
    /// The name.
    pub name: &'a [u8],
    /// The value.
    pub value: LogValue<'a>,
}

impl<'a> LogRecord<'a> {
    /// Joins a record with its dictionary.
    #[must_use]
    pub fn new(
        record: &'a RingRecord<'a>,
        dictionary: &'a Dictionary,
        origin: RecordOrigin<'a>,
        time_ns: u64,
    ) -> Self {
        let site = dictionary.site(record.site);
        let context = dictionary.context(record.context);
        LogRecord { time_ns, origin, record, dictionary, site, context }
    }

    /// The level; of a number without a name, the next below.  That records were dropped is a warning at
    /// least, whatever level they had.
    #[must_use]
    pub fn level(&self) -> LogLevel {
        let number = shown_level(self.record.kind, self.record.flags & LEVEL_MASK);
        let level = LogLevel::from_number(number);
        level.or_else(|| self.site.and_then(|site| site.level)).unwrap_or(LogLevel::Info)
    }

    /// The name of the logger; empty if it is not known.
    #[must_use]
    pub fn logger(&self) -> &'a str {
        self.context.map_or("", |context| &context.logger_name)
    }

    /// Source file; empty if it is not known.
    #[must_use]
    pub fn file(&self) -> &'a str {
        self.site.map_or("", |site| &site.file)
    }

    /// Line; 0 if it is not known.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.site.map_or(0, |site| site.line)
    }

    /// Function, or module; empty if it is not known.
    #[must_use]
    pub fn routine(&self) -> &'a str {
        self.site.map_or("", |site| &site.routine)
    }

    /// The types of the arguments.
    #[must_use]
    pub fn types(&self) -> &'a [ArgumentType] {
        self.site.map_or(&[], |site| &site.types)
    }

    /// The names and values of the context.
    #[must_use]
    pub fn pairs(&self) -> &'a [(String, String)] {
        self.context.map_or(&[], |context| &context.pairs)
    }

    /// The value of a name of the context.
    #[must_use]
    pub fn pair(&self, name: &str) -> Option<&'a str> {
        let pair = self.pairs().iter().find(|(one, _)| one == name);
        pair.map(|(_, value)| value.as_str())
    }

    /// Whether the writer has cut a text of it: the record would have been too long.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.record.flags & logring::abi::FLAG_CUT != 0
    }

    /// How many bytes of its texts the writer has left out, if it has cut one and says so.
    #[must_use]
    pub fn cut_bytes(&self) -> Option<u64> {
        let is_count = |field: &RecordField<'_>| field.name == logring::abi::CUT_NAME.as_bytes();
        // An attribute of the program's may have the name too: the writer's own is the last.
        match self.attributes().filter(|_| self.is_cut()).filter(is_count).last()?.value {
            LogValue::Unsigned(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Names and values that the record itself has, behind its arguments.
    #[must_use]
    pub fn has_attributes(&self) -> bool {
        self.record.flags & logring::abi::FLAG_ATTRIBUTES != 0
    }

    /// The attributes of a record.
    pub fn attributes(&self) -> impl Iterator<Item = RecordField<'a>> + use<'a> {
        let fields = self.record.attributes(self.types()).into_iter().flatten();
        fields.map(|(name, value)| RecordField { name, value })
    }
}

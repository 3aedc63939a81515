//! Log records that are sent at once, each in the form in which its engine takes it.

use std::ops::Range;
use std::sync::Arc;

use log_format::LogRecord;
use logring::LogLevel;

use crate::batch::SampleEnd;
use crate::engine::SendOutcome;

/// Where records come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct LogOrigin {
    /// The host.
    pub host: String,
    /// The name of the process.
    pub process: String,
    /// The number of the process.
    pub pid: u32,
    /// The name of the logger; empty if it is not known.
    pub logger: String,
}

/// A record.
#[derive(Clone, Debug)]
pub(crate) struct LogEntry {
    /// Where it comes from.
    pub origin: Arc<LogOrigin>,
    /// The level of the record.
    pub level: LogLevel,
    /// When it was made, in nanoseconds since the epoch.
    pub time_ns: u64,
    /// The segment that it is in.
    pub segment: u64,
    /// The number behind its own in the segment.
    pub next: u64,
    /// The text of the record in the batch, as [`LogEngine::encode`] has made it.
    pub text: Range<usize>,
}

/// Records of a store in sequence.
#[derive(Debug, Default)]
pub(crate) struct LogBatch {
    /// The random number of the store, its first half in hexadecimal digits.
    pub store: String,
    /// The records.
    pub entries: Vec<LogEntry>,
    /// Their texts.
    pub texts: Vec<u8>,
    /// The end of each; of what is no record of a program, too.
    pub ends: Vec<SampleEnd>,
    /// The origin of the last one: most often that of the next, too.
    last: Option<Arc<LogOrigin>>,
}

impl LogBatch {
    /// Removes everything.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.texts.clear();
        self.ends.clear();
    }

    /// The text of a record.
    pub(crate) fn text(&self, entry: &LogEntry) -> &[u8] {
        &self.texts[entry.text.clone()]
    }

    /// Adds a record in the form of an engine.
    pub(crate) fn add(
        &mut self,
        engine: &mut dyn LogEngine,
        record: &LogRecord<'_>,
        (segment, next): (u64, u64),
    ) {
        let begin = self.texts.len();
        engine.encode(record, &mut self.texts);
        let origin = self.origin(record);
        let (level, text) = (record.level(), begin..self.texts.len());
        let time_ns = record.time_ns;
        self.entries.push(LogEntry { origin, level, time_ns, segment, next, text });
        self.ends.push(SampleEnd {
            samples: 1,
            file_id: segment,
            next,
            points: self.entries.len(),
            realtime_ns: i64::try_from(time_ns).unwrap_or(i64::MAX),
        });
    }

    /// Notes that there is nothing to send up to here.
    pub(crate) fn pass(&mut self, segment: u64, next: u64) {
        match self.ends.last_mut() {
            Some(end) if end.file_id == segment => end.next = next,
            _ => {
                let points = self.entries.len();
                self.ends.push(SampleEnd {
                    file_id: segment,
                    next,
                    samples: 1,
                    points,
                    realtime_ns: 0,
                });
            }
        }
    }

    fn origin(&mut self, record: &LogRecord<'_>) -> Arc<LogOrigin> {
        let (from, logger) = (&record.origin, record.logger());
        let is_same = |known: &&Arc<LogOrigin>| {
            let known = (known.pid, known.logger.as_str(), &*known.process, &*known.host);
            known == (from.pid, logger, from.process, from.host)
        };
        if let Some(known) = self.last.as_ref().filter(is_same) {
            return known.clone();
        }
        let (host, process) = (from.host.to_owned(), from.process.to_owned());
        let origin = LogOrigin { host, process, pid: from.pid, logger: logger.to_owned() };
        self.last.insert(Arc::new(origin)).clone()
    }
}

/// An engine for log records, with its connection.
pub(crate) trait LogEngine: Send {
    /// Appends a record in the form in which it is handed over.
    fn encode(&mut self, record: &LogRecord<'_>, out: &mut Vec<u8>);

    /// Hands records over and waits for what the engine says.
    fn hand_over(&mut self, batch: &LogBatch, entries: Range<usize>) -> SendOutcome;
}

//! Records by logger and level: what `ProcessFile::set_counts` tells a process's clients.
//!
//! A record costs two loads and an addition: the logger of a context is looked up once.

use logring::abi::{kind, logger, process};
use logring::{Dictionary, LoggerEntry, ProcessFile};

use log_protocol::bytes::u64_at;
use log_protocol::record::{RECORD_HEAD, RecordHead};

/// A context whose logger is not known yet.
const UNKNOWN: u16 = u16::MAX;

/// Counts of all loggers of a process.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// The logger of each context, by its number.
    loggers: Vec<u16>,
    counts: Vec<Counts>,
    is_changed: bool,
}

#[derive(Debug, Default, Clone)]
struct Counts {
    levels: [u64; logger::LEVELS],
    suppressed: u64,
    is_changed: bool,
}

impl Tally {
    /// Goes on from what another consumer has counted.
    pub(super) fn new(entries: &[LoggerEntry]) -> Self {
        let counts = entries.iter().map(|entry| Counts {
            levels: entry.counts,
            suppressed: entry.suppressed,
            is_changed: false,
        });
        Tally { loggers: Vec::new(), counts: counts.collect(), is_changed: false }
    }

    /// Counts a record that begins at an offset of some bytes.
    #[inline]
    pub(super) fn add(&mut self, head: &RecordHead, bytes: &[u8], at: usize, known: &Dictionary) {
        if !matches!(head.kind, kind::LOG | kind::SUPPRESSED) {
            return;
        }
        let logger = match self.loggers.get(head.context as usize) {
            Some(logger) if *logger != UNKNOWN => *logger,
            _ => self.find(head.context, known),
        };
        let Some(counts) = self.counts.get_mut(usize::from(logger)) else { return };
        counts.is_changed = true;
        self.is_changed = true;
        if head.kind == kind::LOG {
            if let Some(count) = counts.levels.get_mut(usize::from(head.level)) {
                *count = count.wrapping_add(1);
            }
        } else if head.bytes >= RECORD_HEAD + 8 {
            let count = u64_at(bytes, at + RECORD_HEAD);
            counts.suppressed = counts.suppressed.wrapping_add(count);
        }
    }

    #[cold]
    fn find(&mut self, context: u32, known: &Dictionary) -> u16 {
        let Some(found) = known.context(context) else { return UNKNOWN };
        if found.logger as usize >= process::LOGGERS_MAX {
            return UNKNOWN;
        }
        let (at, logger) = (context as usize, found.logger as u16);
        if self.loggers.len() <= at {
            self.loggers.resize(at + 1, UNKNOWN);
        }
        if self.counts.len() <= usize::from(logger) {
            self.counts.resize(usize::from(logger) + 1, Counts::default());
        }
        self.loggers[at] = logger;
        logger
    }

    /// Writes what has changed into the process's file.
    pub(super) fn write(&mut self, file: &ProcessFile) {
        if !std::mem::take(&mut self.is_changed) {
            return;
        }
        for (index, counts) in (0..).zip(&mut self.counts) {
            if std::mem::take(&mut counts.is_changed) {
                // A logger that a context names and the table does not have is not counted.
                let _ = file.set_counts(index, &counts.levels, counts.suppressed);
            }
        }
    }
}

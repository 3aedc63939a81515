//! What outputs of the proxy's own machine want: the local levels of a process's loggers.

use logring::abi::{self, kind};
use logring::{ProcessFile, RingRecord};

/// A context whose logger is not known yet.
const UNKNOWN: u16 = u16::MAX;

/// The local levels of a process's loggers, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct LocalLevels {
    /// The logger of each context, by its number.
    loggers: Vec<u16>,
    /// The level of each logger.
    levels: Vec<u8>,
}

impl LocalLevels {
    /// They may have changed.
    pub(super) fn forget(&mut self) {
        self.levels.clear();
    }

    /// Whether local outputs want a record.
    #[inline]
    pub(super) fn wants(&mut self, record: &RingRecord<'_>, file: &ProcessFile) -> bool {
        match record.kind {
            // The local level let it through when it was made.
            kind::LOG | kind::SUPPRESSED if record.flags & abi::FLAG_LOCAL != 0 => true,
            kind::LOG => {
                let level = record.flags & abi::LEVEL_MASK;
                let logger = self.loggers.get(record.context as usize).copied();
                match logger.and_then(|logger| self.levels.get(usize::from(logger))) {
                    Some(least) => level >= *least,
                    None => level >= self.find(record.context, file),
                }
            }
            kind::SUPPRESSED | kind::DROPPED => true,
            _ => false,
        }
    }

    #[cold]
    fn find(&mut self, context: u32, file: &ProcessFile) -> u8 {
        let logger = file.dictionary().context(context).map(|context| context.logger);
        let Some(logger) = logger.filter(|logger| *logger < abi::process::LOGGERS_MAX as u32)
        else {
            return 0;
        };
        let at = context as usize;
        if self.loggers.len() <= at {
            self.loggers.resize(at + 1, UNKNOWN);
        }
        self.loggers[at] = logger as u16;
        if self.levels.len() <= logger as usize {
            let entries = file.loggers().unwrap_or_default();
            self.levels = entries.iter().map(|entry| entry.level_local).collect();
        }
        self.levels.get(logger as usize).copied().unwrap_or(0)
    }
}

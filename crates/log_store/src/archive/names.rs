//! Which hosts, processes and loggers a period has.

use std::collections::{BTreeMap, BTreeSet};

use super::index::Span;
use super::{LogArchive, LogArchiveError, LogLosses, LooksForEnd};
use crate::query::Filter;
use crate::store::words::WantedKeys;

/// Most names of a kind.
const NAMES_MAX: usize = 2000;

/// The names of a period.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogNames {
    /// Hosts, and how many records the chunks that meet the period have of each.
    pub hosts: BTreeMap<String, u64>,
    /// Processes, likewise.
    pub processes: BTreeMap<String, u64>,
    /// Loggers of these.
    pub loggers: BTreeSet<String>,
    /// Names beyond the most that are told.
    pub left_out: u64,
    /// The times of the first and the last record that the store has; `None` if it has none.
    pub recorded_ns: Option<Span>,
    /// What the store lacks of the period.
    pub losses: LogLosses,
}

impl LogNames {
    fn count(names: &mut BTreeMap<String, u64>, left_out: &mut u64, name: &str, records: u64) {
        if let Some(sum) = names.get_mut(name) {
            *sum = sum.saturating_add(records);
        } else if names.len() < NAMES_MAX {
            names.insert(name.to_owned(), records);
        } else {
            *left_out += 1;
        }
    }
}

impl LogArchive {
    /// The names of the records that a filter's period, level, host and process let through.  They are
    /// those of whole commits: of such as have one record of the period.
    ///
    /// # Errors
    /// If the store cannot be read, or `has_ended` says so.
    pub fn names(
        &self,
        filter: &Filter,
        has_ended: &LooksForEnd<'_>,
    ) -> Result<LogNames, LogArchiveError> {
        let (parts, mut walk) = self.wanted_parts(filter, WantedKeys::default(), has_ended)?;
        let mut names = LogNames::default();
        for part in &parts {
            walk.chunks(part, &mut |chunk| {
                let blocks = chunk.blocks().map(|(_, block)| block);
                let wanted = blocks.filter(|block| filter.wants_block(chunk.chunk, block));
                let bits = wanted.fold(0, |bits, block| bits | block.loggers);
                if bits == 0 {
                    return Ok(());
                }
                for stream in chunk.chunk.streams.iter().filter(|stream| stream.count > 0) {
                    let process = &chunk.chunk.processes[stream.process as usize].info;
                    if !filter.wants_process(process) {
                        continue;
                    }
                    let (count, left_out) = (u64::from(stream.count), &mut names.left_out);
                    LogNames::count(&mut names.hosts, left_out, &process.host, count);
                    LogNames::count(&mut names.processes, left_out, &process.name, count);
                    for logger in chunk.dictionaries.loggers(process.id, bits) {
                        if names.loggers.contains(logger) {
                            continue;
                        }
                        match names.loggers.len() < NAMES_MAX {
                            true => drop(names.loggers.insert(logger.to_owned())),
                            false => *left_out += 1,
                        }
                    }
                }
                Ok(())
            })?;
        }
        names.recorded_ns = self.recorded_ns(has_ended)?;
        names.losses = walk.losses;
        Ok(names)
    }
}

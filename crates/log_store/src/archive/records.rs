//! Records of a period: the newest or the oldest, so many, and on from where the last answer ended.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use log_format::LogRecord;
use log_protocol::ProcessId;

use super::{
    LogArchive, LogArchiveError, LogLosses, LogSearch, LooksForEnd, PartChunk, WantedPart,
};
use crate::query::Filter;
use crate::store::Item;
use crate::store::words::WantedKeys;

/// Which record: they are in the order of time, and no two have the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordKey {
    /// When it was made, in ns since 1970.
    pub time_ns: u64,
    /// The process that wrote it.
    pub process: ProcessId,
    /// The ring of the record.
    pub ring: u32,
    /// The number of the record in its ring.
    pub sequence: u64,
}

impl RecordKey {
    /// The key of a record of a store.
    #[must_use]
    pub fn of(item: &Item<'_>) -> Self {
        RecordKey {
            time_ns: item.record.stamp,
            process: item.process.id,
            ring: item.stream.ring,
            sequence: item.record.sequence,
        }
    }
}

impl fmt::Display for RecordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RecordKey { time_ns, process, ring, sequence } = self;
        write!(f, "{time_ns}-{process}-{ring}-{sequence}")
    }
}

impl FromStr for RecordKey {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('-');
        let mut part = || parts.next().ok_or(());
        let time_ns = part()?.parse().map_err(drop)?;
        let process = part()?;
        let is_hex = process.len() == 32 && process.bytes().all(|byte| byte.is_ascii_hexdigit());
        let process = u128::from_str_radix(process, 16).ok().filter(|_| is_hex).ok_or(())?;
        let process = ProcessId(process.to_be_bytes());
        let (ring, sequence) = (part()?.parse().map_err(drop)?, part()?.parse().map_err(drop)?);
        if parts.next().is_some() {
            return Err(());
        }
        Ok(RecordKey { time_ns, process, ring, sequence })
    }
}

/// Which end of a period comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogOrder {
    /// The newest record first.
    #[default]
    NewestFirst,
    /// The oldest record first.
    OldestFirst,
}

/// Which of the wanted records are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPage {
    /// Which come first.
    pub order: LogOrder,
    /// So many at most.
    pub limit: usize,
    /// Bytes of what is made of them at most; one record may have more.
    pub bytes_max: usize,
    /// Only those behind this one, in this order.
    pub behind: Option<RecordKey>,
}

/// A record that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundRecord {
    /// Which it is.
    pub key: RecordKey,
    /// What was made of it.
    pub text: Vec<u8>,
}

/// An answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundRecords {
    /// The records, in the order that was asked for.
    pub records: Vec<FoundRecord>,
    /// Whether more are wanted behind the last one.
    pub has_more: bool,
    /// What the store lacks of the period.
    pub losses: LogLosses,
}

/// The best records so far.
struct Best {
    page: LogPage,
    /// What was made of each; `None` until its block is through.
    found: BTreeMap<RecordKey, Option<Vec<u8>>>,
    bytes: usize,
    has_more: bool,
}

impl Best {
    /// Whether a record of this key would be one of the answer.
    fn takes(&self, key: RecordKey) -> bool {
        self.worst().is_none_or(|worst| self.is_before(key, worst))
    }

    /// Whether a record of this key changes the answer if it is wanted.
    fn needs(&self, key: RecordKey) -> bool {
        let is_given = self.page.behind.is_some_and(|behind| !self.is_before(behind, key));
        !is_given && (self.takes(key) || !self.has_more)
    }

    fn is_before(&self, one: RecordKey, other: RecordKey) -> bool {
        match self.page.order {
            LogOrder::NewestFirst => one > other,
            LogOrder::OldestFirst => one < other,
        }
    }

    /// The last record of an answer that is full.
    fn worst(&self) -> Option<RecordKey> {
        if self.found.len() < self.page.limit {
            return None;
        }
        let end = match self.page.order {
            LogOrder::NewestFirst => self.found.first_key_value(),
            LogOrder::OldestFirst => self.found.last_key_value(),
        };
        end.map(|(key, _)| *key)
    }

    /// Whether records of a span may be in the answer, or behind it while that is not known.
    fn may_take(&self, (first_ns, last_ns): (u64, u64)) -> bool {
        let is_past = |time: u64, key: RecordKey| match self.page.order {
            LogOrder::NewestFirst => time < key.time_ns,
            LogOrder::OldestFirst => time > key.time_ns,
        };
        let [nearest, farthest] = match self.page.order {
            LogOrder::NewestFirst => [last_ns, first_ns],
            LogOrder::OldestFirst => [first_ns, last_ns],
        };
        // All of it lies before the record to go on behind.
        let is_given = self
            .page
            .behind
            .is_some_and(|behind| !is_past(farthest, behind) && farthest != behind.time_ns);
        let is_behind = self.has_more && self.worst().is_some_and(|worst| is_past(nearest, worst));
        !is_given && !is_behind
    }

    fn add(&mut self, key: RecordKey) {
        if !self.takes(key) {
            // A record that is in the store twice is one.
            self.has_more |= !self.found.contains_key(&key);
            return;
        }
        self.found.entry(key).or_default();
        if self.found.len() > self.page.limit {
            self.leave_out_last();
        }
    }

    fn leave_out_last(&mut self) {
        let last = match self.page.order {
            LogOrder::NewestFirst => self.found.pop_first(),
            LogOrder::OldestFirst => self.found.pop_last(),
        };
        self.bytes -= last.and_then(|(_, text)| text).map_or(0, |text| text.len());
        self.has_more = true;
    }

    /// Leaves out what is too much; from then on the answer has no more records than now.
    fn keep_bytes(&mut self) {
        while self.bytes > self.page.bytes_max && self.found.len() > 1 {
            self.leave_out_last();
            self.page.limit = self.found.len();
        }
    }
}

impl LogArchive {
    /// The records of a search, each as `make` makes it.
    ///
    /// # Errors
    /// If the store cannot be read, or `has_ended` says so.
    pub fn records(
        &self,
        search: &LogSearch,
        page: LogPage,
        has_ended: &LooksForEnd<'_>,
        make: &mut dyn FnMut(RecordKey, &LogRecord<'_>) -> Vec<u8>,
    ) -> Result<FoundRecords, LogArchiveError> {
        let page = LogPage { limit: page.limit.max(1), ..page };
        let filter = &search.filter;
        let (mut parts, mut walk) = self.wanted_parts(filter, search.keys(), has_ended)?;
        let span = |part: &WantedPart| part.part.span().unwrap_or_default();
        match page.order {
            LogOrder::NewestFirst => parts.sort_by_key(|part| std::cmp::Reverse(span(part).1)),
            LogOrder::OldestFirst => parts.sort_by_key(|part| span(part).0),
        }
        let mut best = Best { page, found: BTreeMap::new(), bytes: 0, has_more: false };
        let mut scratch = Vec::new();
        for part in &parts {
            if !best.may_take(span(part)) {
                continue;
            }
            walk.chunks(part, &mut |chunk| {
                let all = 0..chunk.chunk.blocks.len();
                let mut numbers: Vec<usize> =
                    all.filter(|number| chunk.may_have(*number, filter)).collect();
                if page.order == LogOrder::NewestFirst {
                    numbers.reverse();
                }
                for number in numbers {
                    best.take_block(chunk, number, search, &mut scratch, make)?;
                }
                Ok(())
            })?;
        }
        let mut records: Vec<FoundRecord> = best
            .found
            .into_iter()
            .filter_map(|(key, text)| Some(FoundRecord { key, text: text? }))
            .collect();
        if page.order == LogOrder::NewestFirst {
            records.reverse();
        }
        Ok(FoundRecords { records, has_more: best.has_more, losses: walk.losses })
    }

    /// The record of a key, if the store has it.
    ///
    /// # Errors
    /// If the store cannot be read, or `has_ended` says so.
    pub fn record(
        &self,
        key: RecordKey,
        has_ended: &LooksForEnd<'_>,
        make: &mut dyn FnMut(RecordKey, &LogRecord<'_>) -> Vec<u8>,
    ) -> Result<Option<Vec<u8>>, LogArchiveError> {
        let filter = Filter {
            from_ns: Some(key.time_ns),
            until_ns: key.time_ns.checked_add(1),
            all_kinds: true,
            ..Filter::default()
        };
        let (mut found, mut scratch) = (None, Vec::new());
        let (parts, mut walk) = self.wanted_parts(&filter, WantedKeys::default(), has_ended)?;
        for part in &parts {
            walk.chunks(part, &mut |chunk| {
                for (number, block) in chunk.blocks() {
                    if found.is_some() || !filter.wants_block(chunk.chunk, block) {
                        continue;
                    }
                    chunk.block(number, &mut |item| {
                        if RecordKey::of(item) == key
                            && let Some(record) = filter.wanted(item, &mut scratch)
                        {
                            found = Some(make(key, &record));
                        }
                    })?;
                }
                Ok(())
            })?;
        }
        Ok(found)
    }
}

impl Best {
    /// Takes the wanted records of a block: first their keys; then those that are left are made.
    fn take_block(
        &mut self,
        chunk: &PartChunk<'_>,
        number: usize,
        search: &LogSearch,
        scratch: &mut Vec<u8>,
        make: &mut dyn FnMut(RecordKey, &LogRecord<'_>) -> Vec<u8>,
    ) -> Result<(), LogArchiveError> {
        let block = &chunk.chunk.blocks[number];
        if !self.may_take((block.first_ns, block.last_ns)) {
            return Ok(());
        }
        let mut is_better = false;
        chunk.block(number, &mut |item| {
            let key = RecordKey::of(item);
            if self.needs(key) && search.wanted(item, scratch).is_some() {
                self.add(key);
                is_better = true;
            }
        })?;
        if !is_better {
            return Ok(());
        }
        chunk.block(number, &mut |item| {
            let key = RecordKey::of(item);
            if let Some(text @ None) = self.found.get_mut(&key)
                && let Some(record) = search.wanted(item, scratch)
            {
                let made = make(key, &record);
                self.bytes += made.len();
                *text = Some(made);
                self.keep_bytes();
            }
        })
    }
}

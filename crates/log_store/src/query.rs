//! Which records are wanted: by level, logger, host, process, time, text.
//!
//! What the index of a block rules out is not read; the message of a record is made only if its text
//! is asked for, and last.

use log_format::{LogRecord, RecordOrigin, has_value, message, shown_level};
use logring::LogLevel;
use logring::abi::kind;
use memchr::memmem::Finder;

use crate::store::words::{self, WantedKeys};
use crate::store::{BlockIndex, Chunk, Item, name_bit};
use log_protocol::levels::{fits, matches};

/// What is wanted.  What is empty or `None` rules nothing out.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// This level and above.
    pub level: Option<LogLevel>,
    /// Names of loggers; `*` stands for any text.
    pub logger: String,
    /// Names of hosts.
    pub host: String,
    /// Names of processes, or a pid.
    pub process: String,
    /// From this time on, in ns since 1970.
    pub from_ns: Option<u64>,
    /// Before this time.
    pub until_ns: Option<u64>,
    /// Names and values of the context or of the record itself, all of them: Antenna, Audience or any
    /// other; in values `*` stands for any text.
    pub pairs: Vec<(String, String)>,
    /// Text in the message.
    pub text: WantedText,
    /// What the message fits.  Its flags are all in the pattern (`(?i)`), so that blocks are passed over.
    pub regex: Option<regex::bytes::Regex>,
    /// Words of the message, all of them, in small or large letters: [`word`] makes them.
    pub words: Vec<String>,
    /// Also records about clocks and threads.
    pub all_kinds: bool,
}

/// A text that is looked for in many messages; empty: in none.
#[derive(Debug, Clone, Default)]
pub struct WantedText {
    text: String,
    /// What is known of the text before any message is looked at: made anew it would cost more than looking.
    finder: Option<Finder<'static>>,
}

impl WantedText {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether any message has it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    fn is_in(&self, message: &[u8]) -> bool {
        self.finder.as_ref().is_none_or(|finder| finder.find(message).is_some())
    }
}

impl From<String> for WantedText {
    fn from(text: String) -> Self {
        let finder = (!text.is_empty()).then(|| Finder::new(text.as_bytes()).into_owned());
        WantedText { text, finder }
    }
}

impl From<&str> for WantedText {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// A word that is searched for: as [`words::words`] tells them apart, in small letters.
///
/// # Errors
/// If the text is none; the text says what is.
pub fn word(text: &str) -> Result<String, String> {
    let mut words = words::words(text.as_bytes());
    let is_one = words.next() == Some(text.as_bytes());
    match is_one && text.len() <= words::WORD_BYTES_MAX {
        true => Ok(text.to_ascii_lowercase()),
        false => Err("a word has letters, digits and _, at most 64 bytes".to_owned()),
    }
}

impl Filter {
    /// What a block must have for something to be found in it.
    #[must_use]
    pub fn keys(&self) -> WantedKeys {
        let mut keys = WantedKeys::of(&self.words, self.text.as_str(), &self.logger);
        self.regex.iter().for_each(|regex| keys.add_regex(regex));
        keys
    }

    /// Whether it asks for levels and a period alone.
    pub(crate) fn is_of_levels(&self) -> bool {
        self.host.is_empty() && self.process.is_empty() && self.is_of_levels_and_processes()
    }

    /// Whether of a chunk it asks for levels and a period alone: its processes are all wanted.
    pub(crate) fn is_of_levels_of(&self, chunk: &Chunk) -> bool {
        self.is_of_levels_and_processes()
            && chunk.processes.iter().all(|part| self.wants_process(&part.info))
    }

    fn is_of_levels_and_processes(&self) -> bool {
        self.logger.is_empty()
            && self.pairs.is_empty()
            && self.text.is_empty()
            && self.regex.is_none()
            && self.words.is_empty()
            && !self.all_kinds
    }

    /// By the number of their level, what an index counts as logged records of the wanted level and above;
    /// `None` if it counts others too, which only reading tells apart.
    pub(crate) fn counted<Count: Copy + Into<u64>>(
        &self,
        levels: &[Count; 16],
    ) -> Option<[u64; 16]> {
        let mut found = [0; 16];
        let mut sum = 0;
        // The levels that have names.
        for number in LogLevel::ALL.into_iter().map(|level| usize::from(level.number())) {
            let count: u64 = levels[number].into();
            sum += count;
            if self.level.is_none_or(|level| usize::from(level.number()) <= number) {
                found[number] = count;
            }
        }
        // The last one counts records that others count too.
        let all: u64 = levels[..15].iter().map(|count| (*count).into()).sum();
        (sum == all).then_some(found)
    }

    /// How many records of a block are wanted, if its index tells.
    pub(crate) fn counted_of(&self, chunk: &Chunk, block: &BlockIndex) -> Option<u64> {
        let is_within = self.from_ns.is_none_or(|from| block.first_ns >= from)
            && self.until_ns.is_none_or(|until| block.last_ns < until);
        let is_told = is_within && self.is_of_levels_of(chunk);
        is_told.then(|| self.counted(&block.levels))?.map(|counts| counts.iter().sum())
    }

    /// Whether a block may hold records that are wanted.
    #[must_use]
    pub fn wants_block(&self, chunk: &Chunk, block: &BlockIndex) -> bool {
        let is_late = self.from_ns.is_some_and(|from| block.last_ns < from);
        let is_early = self.until_ns.is_some_and(|until| block.first_ns >= until);
        if is_late || is_early {
            return false;
        }
        let has_level = self.level.is_none_or(|level| block.has_level(level));
        let is_exact = !self.logger.is_empty() && !self.logger.contains('*');
        let has_logger = !is_exact || block.loggers & name_bit(self.logger.as_bytes()) != 0;
        let is_process = |info: &log_protocol::ProcessInfo| self.wants_process(info);
        has_level && has_logger && chunk.processes.iter().any(|part| is_process(&part.info))
    }

    pub(crate) fn wants_process(&self, info: &log_protocol::ProcessInfo) -> bool {
        // It is asked of each record.
        if self.process.is_empty() && self.host.is_empty() {
            return true;
        }
        let is_named = matches(&self.process, &info.name)
            || self.process.parse::<u32>().is_ok_and(|pid| pid == info.pid);
        is_named && matches(&self.host, &info.host)
    }

    /// The record, if it is wanted; `scratch` is for its message.
    pub fn wanted<'a>(&self, item: &Item<'a>, scratch: &mut Vec<u8>) -> Option<LogRecord<'a>> {
        let record = item.record;
        let is_log = matches!(record.kind, kind::LOG | kind::DROPPED | kind::SUPPRESSED);
        if !is_log && !self.all_kinds {
            return None;
        }
        let time = record.stamp;
        if self.from_ns.is_some_and(|from| time < from)
            || self.until_ns.is_some_and(|until| time >= until)
        {
            return None;
        }
        let is_drop = record.kind == kind::DROPPED;
        let number = shown_level(record.kind, record.flags & logring::abi::LEVEL_MASK);
        if self.level.is_some_and(|level| number < level.number()) {
            return None;
        }
        if !self.wants_process(item.process) {
            return None;
        }
        let origin = RecordOrigin {
            host: &item.process.host,
            process: &item.process.name,
            pid: item.process.pid,
            thread: &item.stream.thread,
            tid: item.stream.tid,
            ring: item.stream.ring,
        };
        let record = LogRecord::new(record, item.dictionary, origin, time);
        // Nobody knows any more whose the records were that a notice without a logger is about.
        let may_be_any = is_drop && record.context.is_none();
        if !may_be_any && !matches(&self.logger, record.logger()) {
            return None;
        }
        let has =
            |(name, value): &(String, String)| has_value(&record, name, |found| fits(value, found));
        if !self.pairs.iter().all(has) {
            return None;
        }
        if !self.text.is_empty() || self.regex.is_some() || !self.words.is_empty() {
            let message = message(&record, scratch);
            let is_like = self.regex.as_ref().is_none_or(|regex| regex.is_match(message));
            let has = |word: &String| {
                words::words(message).any(|one| one.eq_ignore_ascii_case(word.as_bytes()))
            };
            if !is_like || !self.text.is_in(message) || !self.words.iter().all(has) {
                return None;
            }
        }
        Some(record)
    }
}

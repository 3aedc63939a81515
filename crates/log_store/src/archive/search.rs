//! What is searched for: a filter, and words of the message.

use log_format::{LogRecord, message};
use regex::bytes::Regex;

use super::LogArchiveError;
use crate::query::Filter;
use crate::store::Item;
use crate::store::words::WantedKeys;

/// Most words of a search.
const WORDS_MAX: usize = 32;

/// A filter, and words that the message must have, all of them, in any order, in small or large letters.
#[derive(Debug, Clone, Default)]
pub struct LogSearch {
    /// The filter.
    pub filter: Filter,
    /// The words: expressions whose flags are all in the pattern.  By these and the filter, blocks are
    /// passed over.
    pub words: Vec<Regex>,
}

/// The pattern of the expression that finds a text, in small or large letters.
#[must_use]
pub fn plain_pattern(text: &str) -> String {
    // Else `k` is also the sign of the kelvin, which no file of words takes for it.
    let flags = if text.is_ascii() { "i-u" } else { "i" };
    format!("(?{flags}:{})", regex::escape(text))
}

impl LogSearch {
    /// A filter and a text of words; what stands in quotes is one word.  Quotes without an end reach
    /// to the end.
    ///
    /// # Errors
    /// If there are too many words, or one is too long.
    pub fn new(filter: Filter, text: &str) -> Result<Self, LogArchiveError> {
        let mut words = Vec::new();
        for (index, part) in text.split('"').enumerate() {
            match index % 2 {
                0 => words.extend(part.split_whitespace()),
                _ => words.extend(Some(part).filter(|part| !part.is_empty())),
            }
        }
        let regex = |word: &str| {
            Regex::new(&plain_pattern(word)).map_err(|error| {
                LogArchiveError::Search(format!("a word cannot be searched: {error}"))
            })
        };
        if words.len() > WORDS_MAX {
            return Err(LogArchiveError::Search(format!("search for at most {WORDS_MAX} words")));
        }
        let words: Result<Vec<Regex>, _> = words.into_iter().map(regex).collect();
        Ok(LogSearch { filter, words: words? })
    }

    /// What a block must have for something to be found in it.
    pub(crate) fn keys(&self) -> WantedKeys {
        let mut keys = self.filter.keys();
        self.words.iter().for_each(|word| keys.add_regex(word));
        keys
    }

    /// The record, if it is wanted; `scratch` is for its message.
    pub fn wanted<'a>(&self, item: &Item<'a>, scratch: &mut Vec<u8>) -> Option<LogRecord<'a>> {
        let record = self.filter.wanted(item, scratch)?;
        if !self.words.is_empty() {
            let message = message(&record, scratch);
            if !self.words.iter().all(|word| word.is_match(message)) {
                return None;
            }
        }
        Some(record)
    }
}

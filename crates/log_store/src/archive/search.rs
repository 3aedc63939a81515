//! What is searched for: a filter, and words of the message.

use log_format::{LogRecord, write_message};
use regex::bytes::{Regex, RegexBuilder};

use super::LogArchiveError;
use crate::query::Filter;
use crate::store::Item;
use crate::store::words::{WantedKeys, inner_words};

/// Most words of a search.
const WORDS_MAX: usize = 32;

/// A filter, and words that the message must have, all of them, in any order, in small or large letters.
#[derive(Debug, Clone, Default)]
pub struct LogSearch {
    /// The filter.
    pub filter: Filter,
    /// The words.
    pub words: Vec<Regex>,
    /// What stands between other characters in the words, so that the message has it as a word: by these
    /// and the filter, blocks are passed over.
    pub inner: Vec<String>,
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
            let mut builder = RegexBuilder::new(&regex::escape(word));
            // Else `k` is also the sign of the kelvin, which no file of words takes for it.
            builder.unicode(!word.is_ascii());
            let built = builder.case_insensitive(true).build();
            built.map_err(|error| {
                LogArchiveError::Search(format!("a word cannot be searched: {error}"))
            })
        };
        if words.len() > WORDS_MAX {
            return Err(LogArchiveError::Search(format!("search for at most {WORDS_MAX} words")));
        }
        let plain = words.iter().filter(|word| word.is_ascii());
        let inner = plain.flat_map(|word| inner_words(word.as_bytes()));
        let inner = inner.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let words: Result<Vec<Regex>, _> = words.into_iter().map(regex).collect();
        Ok(LogSearch { filter, words: words?, inner })
    }

    /// What a block must have for something to be found in it.
    pub(crate) fn keys(&self) -> WantedKeys {
        let words: Vec<String> = self.filter.words.iter().chain(&self.inner).cloned().collect();
        WantedKeys::of(&words, &self.filter.text, &self.filter.logger)
    }

    /// The record, if it is wanted; `scratch` is for its message.
    pub fn wanted<'a>(&self, item: &Item<'a>, scratch: &mut Vec<u8>) -> Option<LogRecord<'a>> {
        let record = self.filter.wanted(item, scratch)?;
        if !self.words.is_empty() {
            scratch.clear();
            write_message(scratch, &record);
            if !self.words.iter().all(|word| word.is_match(scratch)) {
                return None;
            }
        }
        Some(record)
    }
}

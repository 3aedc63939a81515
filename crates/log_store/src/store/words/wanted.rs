//! What the words of a block must be for something to be found in it: made of words, parts of a text,
//! regular expressions and the name of a logger.
//!
//! It never asks for more than a match has: what cannot be told of an expression rules nothing out.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::{WORD_BYTES_MAX, is_of_word};

/// Most alternatives of an expression that are looked up.
const ALTERNATIVES_MAX: usize = 32;

/// A word, or a part of one, in small letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WordPart {
    pub(super) text: Vec<u8>,
    /// The word begins with it.
    pub(super) is_start: bool,
    /// The word ends with it.
    pub(super) is_end: bool,
}

impl WordPart {
    fn whole(word: &[u8]) -> Self {
        WordPart { text: word.to_ascii_lowercase(), is_start: true, is_end: true }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.is_start && self.is_end
    }

    /// Whether a word has it.
    pub(super) fn is_of(&self, word: &[u8]) -> bool {
        match (self.is_start, self.is_end) {
            (true, true) => word == self.text,
            (true, false) => word.starts_with(&self.text),
            (false, true) => word.ends_with(&self.text),
            (false, false) => word.windows(self.text.len()).any(|window| window == self.text),
        }
    }
}

/// Parts of words, all of which one message has.
type Parts = Vec<WordPart>;

/// What a block must have for a filter to find something in it.
#[derive(Debug, Clone, Default)]
pub struct WantedKeys {
    /// For each of these groups, all parts of one of the alternatives.
    pub(super) groups: Vec<Vec<Parts>>,
    /// The pattern of a logger, in small letters; empty: any.
    pub(super) logger: String,
}

impl WantedKeys {
    /// Keys of words, of a part of the message, and of a logger's pattern; what is empty rules nothing out.
    #[must_use]
    pub fn of(words: &[String], text: &str, logger: &str) -> Self {
        let is_short = |word: &&[u8]| word.len() <= WORD_BYTES_MAX;
        let whole = words.iter().map(String::as_bytes).filter(is_short).map(WordPart::whole);
        let parts: Parts = whole.chain(parts_of(text.as_bytes())).collect();
        let groups = if parts.is_empty() { Vec::new() } else { vec![vec![parts]] };
        let is_any = logger.bytes().all(|byte| byte == b'*');
        let logger = if is_any { String::new() } else { logger.to_ascii_lowercase() };
        WantedKeys { groups, logger }
    }

    /// Adds what a message must have to fit an expression, whose flags are all in its pattern.
    pub(crate) fn add_regex(&mut self, regex: &regex::bytes::Regex) {
        let parsed = ParserBuilder::new().utf8(false).build().parse(regex.as_str());
        if let Ok(hir) = parsed {
            self.groups.extend(groups_of(&hir));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.logger.is_empty()
    }
}

/// The parts of words that a text must have if it has this part.
fn parts_of(text: &[u8]) -> Parts {
    let mut parts = Vec::new();
    let mut at = 0;
    for run in text.chunk_by(|one, next| is_of_word(*one) == is_of_word(*next)) {
        let (from, to) = (at, at + run.len());
        at = to;
        let (is_start, is_end) = (from > 0, to < text.len());
        // Nearly each word has a letter somewhere.
        let is_telling = run.len() > 1 || is_start || is_end;
        if is_of_word(run[0]) && is_telling && run.len() <= WORD_BYTES_MAX {
            parts.push(WordPart { text: run.to_ascii_lowercase(), is_start, is_end });
        }
    }
    parts
}

/// What each match of an expression has: one alternative of each group.
fn groups_of(hir: &Hir) -> Vec<Vec<Parts>> {
    let mut groups = Vec::new();
    let mut text = Vec::new();
    collect(hir, &mut text, &mut groups);
    end_text(&mut text, &mut groups);
    groups
}

/// Adds the text that stands by itself.
fn end_text(text: &mut Vec<u8>, groups: &mut Vec<Vec<Parts>>) {
    let parts = parts_of(text);
    text.clear();
    if !parts.is_empty() {
        groups.push(vec![parts]);
    }
}

/// Adds what a part of an expression has; `text` is what all matches have directly before it.
fn collect(hir: &Hir, text: &mut Vec<u8>, groups: &mut Vec<Vec<Parts>>) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.extend_from_slice(&literal.0),
        HirKind::Class(class) => match letter_of(class) {
            Some(letter) => text.push(letter),
            None => end_text(text, groups),
        },
        HirKind::Capture(capture) => collect(&capture.sub, text, groups),
        HirKind::Concat(all) => all.iter().for_each(|one| collect(one, text, groups)),
        HirKind::Repetition(repeated) => {
            end_text(text, groups);
            if repeated.min > 0 {
                groups.extend(groups_of(&repeated.sub));
            }
        }
        HirKind::Alternation(all) => {
            end_text(text, groups);
            groups.extend(group_of_one(all));
        }
    }
}

/// The group of which one alternative is there if one of these expressions is.
fn group_of_one(all: &[Hir]) -> Option<Vec<Parts>> {
    let mut group = Vec::new();
    for one in all {
        // The longest texts tell most.
        let length = |group: &Vec<Parts>| {
            let bytes = |parts: &Parts| parts.iter().map(|part| part.text.len()).sum::<usize>();
            group.iter().map(bytes).min()
        };
        group.extend(groups_of(one).into_iter().max_by_key(length)?);
    }
    (group.len() <= ALTERNATIVES_MAX).then_some(group)
}

/// The small letter for which a class stands that has it in both forms and nothing else.
fn letter_of(class: &Class) -> Option<u8> {
    let ranges: Vec<(u32, u32)> = match class {
        Class::Unicode(class) => {
            class.iter().map(|range| (range.start().into(), range.end().into())).collect()
        }
        Class::Bytes(class) => {
            class.iter().map(|range| (range.start().into(), range.end().into())).collect()
        }
    };
    let [(large, large_end), (small, small_end)] = ranges[..] else { return None };
    let small = u8::try_from(small).ok().filter(u8::is_ascii_lowercase)?;
    let is_pair = large == large_end && u32::from(small) == small_end;
    (is_pair && large == u32::from(small.to_ascii_uppercase())).then_some(small)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(parts: &[WordPart]) -> String {
        let one = |part: &WordPart| {
            let text = String::from_utf8_lossy(&part.text);
            let open = |is_open| if is_open { "" } else { "~" };
            format!("{}{text}{}", open(part.is_start), open(part.is_end))
        };
        parts.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn parts_that_a_text_must_have() {
        let parts = |text: &str| shown(&parts_of(text.as_bytes()));
        assert_eq!(parts("Disk full now"), "~disk full now~");
        assert_eq!(parts("isk"), "~isk~");
        assert_eq!(parts(" disk ist_voll, ü 7"), "disk ist_voll ü 7~");
        assert_eq!(parts("x"), "");
        assert_eq!(parts(""), "");
        assert_eq!(parts(" , "), "");
    }

    #[test]
    fn parts_that_an_expression_must_have() {
        let groups = |pattern: &str| {
            let mut wanted = WantedKeys::default();
            wanted.add_regex(&regex::bytes::Regex::new(pattern).unwrap());
            let group = |group: &Vec<Parts>| {
                group.iter().map(|parts| shown(parts)).collect::<Vec<_>>().join(" | ")
            };
            wanted.groups.iter().map(group).collect::<Vec<_>>()
        };
        assert_eq!(groups("disk (\\d+) full now"), ["~disk", "full now~"]);
        assert_eq!(groups("(?i-u:disk full)"), ["~disk full~"]);
        // With Unicode, `k` is also the sign of the kelvin.
        assert_eq!(groups("(?i)disk full"), ["~di~", "full~"]);
        assert_eq!(
            groups("^(error|warning): "),
            ["error~ | warning~"].map(|_| "~error~ | ~warning~")
        );
        assert_eq!(groups("(error|.*)"), [""; 0]);
        assert_eq!(groups("(ab cd)+(ef)*(gh){2}"), ["~ab cd~", "~gh~"]);
        assert_eq!(groups("a.b"), [""; 0]);
        assert_eq!(groups("[Tt]imeout"), ["~timeout~"]);
        assert_eq!(groups("\\bfoo\\b"), ["~foo~"]);
        assert_eq!(groups("(?i-u)wor[dk]s|lines?"), ["~wor~ | ~line~"]);
    }
}

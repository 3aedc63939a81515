//! The words of one block: collected while its messages are made, stored in few bytes, asked for.
//!
//! Words of digits are numbers, whose sets take least.  Others are kept as they are while a block has
//! few, so that parts of words are found too; many, which are names of things that come once, are known
//! by hashes that take another word for one of them once in 128.
//! `docs/format-log-store.md` defines every byte.
//!
//! Cost: about 0.4 bytes for a record with a number of its own; a question reads it all, some kilobytes
//! for ten thousand records.

use std::collections::BTreeSet;
use std::hash::BuildHasher as _;

use hashbrown::HashTable;
use log_protocol::levels::fits;
use varint::Bytes;

use super::number_set::{self, NumberSet};
use super::wanted::{WantedKeys, WordPart};
use super::{WORD_BYTES_MAX, hash_of, words};

/// Records whose context is not known, so that their logger is not, may be in the block.
const ANY_LOGGER: u8 = 1;
/// It has words that are not kept as they are, and the pairs of characters in them.
const PAIRS: u8 = 2;
const FLAGS: u8 = ANY_LOGGER | PAIRS;
/// Most words without digits that are kept as they are.
const PLAIN_WORDS_MAX: usize = 4096;
/// Most words with digits, and others, that are kept as they are.
const MIXED_WORDS_MAX: usize = 512;
/// A hash is one of so many for each word.
const HASHES_OF_WORD: u64 = 128;
/// Digits of a number at most: all of them, and all shorter ones, are numbers of 64 bits.
const DIGITS_MAX: usize = 18;
/// Numbers that are collected before those that are there twice are left out.
const NUMBERS_MIN: usize = 1 << 16;
/// Characters that pairs are told apart by: letters, digits, `_`, and what is beyond ASCII.
const CHARACTERS: usize = 38;
const PAIR_BYTES: usize = (CHARACTERS * CHARACTERS).div_ceil(8);
/// Most bytes of a block's words, and of what is stored of them; of a block with more nothing is stored.
pub(in crate::store) const BYTES_MAX: usize = 16 << 20;
/// Digits that a part of a number has at least to be looked for.
const DIGITS_OF_PART_MIN: usize = 4;

/// Words of digits by length, then by value: `0` to `9`, `00` to `99`, ….
fn number_of(word: &[u8]) -> Option<u64> {
    if word.len() > DIGITS_MAX || !word.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = word.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
    Some(value + first_number(word.len()))
}

/// The number of the first word with so many digits.
fn first_number(digits: usize) -> u64 {
    (1..digits as u32).map(|digits| 10_u64.pow(digits)).sum()
}

/// The digits of a number's word.
fn digits_of(mut number: u64, buffer: &mut [u8; 20]) -> &[u8] {
    let mut length = 1;
    while length < DIGITS_MAX && number >= 10_u64.pow(length as u32) {
        number -= 10_u64.pow(length as u32);
        length += 1;
    }
    for place in buffer[..length].iter_mut().rev() {
        *place = b'0' + (number % 10) as u8;
        number /= 10;
    }
    &buffer[..length]
}

fn character(byte: u8) -> usize {
    match byte.to_ascii_lowercase() {
        letter @ b'a'..=b'z' => usize::from(letter - b'a'),
        digit @ b'0'..=b'9' => 26 + usize::from(digit - b'0'),
        b'_' => 36,
        _ => 37,
    }
}

/// The numbers of the pairs of characters in a word.
fn pairs_of(word: &[u8]) -> impl Iterator<Item = usize> {
    word.windows(2).map(|pair| character(pair[0]) * CHARACTERS + character(pair[1]))
}

/// The words and loggers of a block, while they are collected.
#[derive(Default)]
pub(in crate::store) struct BlockWords {
    loggers: BTreeSet<Vec<u8>>,
    has_any_logger: bool,
    numbers: Vec<u64>,
    numbers_max: usize,
    /// The other words, one after the other, and where each is.
    bytes: Vec<u8>,
    places: HashTable<(u32, u8)>,
    /// Random, so that nobody can choose words that meet in the table.
    hasher: foldhash::fast::RandomState,
    pairs: Option<Box<[u8; PAIR_BYTES]>>,
}

impl BlockWords {
    /// Adds the logger of a record; `None`: a notice that may be about records of any.
    pub(in crate::store) fn add_logger(&mut self, name: Option<&str>) {
        let Some(name) = name else {
            self.has_any_logger = true;
            return;
        };
        if !self.loggers.contains(name.as_bytes()) {
            self.loggers.insert(name.as_bytes().to_vec());
        }
    }

    /// Adds the words of a message, whose letters become small.
    pub(in crate::store) fn add_message(&mut self, message: &mut [u8]) {
        message.make_ascii_lowercase();
        words(message).for_each(|word| self.add(word));
    }

    fn add(&mut self, word: &[u8]) {
        if word.len() > WORD_BYTES_MAX {
            self.add_pairs(word);
        } else if self.is_too_much() {
            // Of the block nothing is stored.
        } else if let Some(number) = number_of(word) {
            if self.numbers.len() >= self.numbers_max {
                self.leave_out_repeated();
            }
            self.numbers.push(number);
        } else {
            let (bytes, hasher) = (&self.bytes, &self.hasher);
            let hash = |word: &[u8]| hasher.hash_one(word);
            let word_at = |place: &(u32, u8)| {
                &bytes[place.0 as usize..place.0 as usize + usize::from(place.1)]
            };
            let of_word = hash(word);
            if self.places.find(of_word, |place| word_at(place) == word).is_none() {
                let place = (bytes.len() as u32, word.len() as u8);
                self.places.insert_unique(of_word, place, |place| hash(word_at(place)));
                self.bytes.extend_from_slice(word);
            }
        }
    }

    fn leave_out_repeated(&mut self) {
        self.numbers.sort_unstable();
        self.numbers.dedup();
        self.numbers_max = (self.numbers.len() * 2).max(NUMBERS_MIN);
    }

    fn add_pairs(&mut self, word: &[u8]) {
        let bits = self.pairs.get_or_insert_with(|| Box::new([0; PAIR_BYTES]));
        pairs_of(word).for_each(|pair| bits[pair / 8] |= 1 << (pair % 8));
    }

    /// Whether it has more than is stored of any block.
    fn is_too_much(&self) -> bool {
        self.bytes.len().max(self.numbers.len() * size_of::<u64>()) > BYTES_MAX
    }

    /// What is stored of a block, and clears it for the next; nothing, if that were too much.
    pub(in crate::store) fn take_stored(&mut self) -> Vec<u8> {
        self.leave_out_repeated();
        let stored = if self.is_too_much() { Vec::new() } else { self.encode() };
        let kept = std::mem::take(self);
        (self.hasher, self.numbers, self.places) = (kept.hasher, kept.numbers, kept.places);
        self.numbers.clear();
        self.places.clear();
        if stored.len() > BYTES_MAX { Vec::new() } else { stored }
    }

    fn encode(&mut self) -> Vec<u8> {
        let bytes = std::mem::take(&mut self.bytes);
        let all = self.places.iter().map(|(at, length)| {
            let at = *at as usize;
            &bytes[at..at + usize::from(*length)]
        });
        let (mut mixed, mut plain): (Vec<&[u8]>, Vec<&[u8]>) =
            all.partition(|word| word.iter().any(u8::is_ascii_digit));
        let (mut kept, mut hashed) = (Vec::new(), Vec::new());
        for (words, most) in [(&mut plain, PLAIN_WORDS_MAX), (&mut mixed, MIXED_WORDS_MAX)] {
            match words.len() <= most {
                true => kept.append(words),
                false => hashed.append(words),
            }
        }
        kept.sort_unstable();
        hashed.iter().for_each(|word| self.add_pairs(word));
        let pairs = self.pairs.take();
        let flags = if self.has_any_logger { ANY_LOGGER } else { 0 };
        let mut out = vec![0; 4];
        out.push(if pairs.is_some() { flags | PAIRS } else { flags });
        let loggers = self.loggers.iter().map(|name| name.to_ascii_lowercase());
        let loggers: BTreeSet<Vec<u8>> = loggers.collect();
        put_list(loggers.iter().map(Vec::as_slice), &mut out);
        put_list(kept.into_iter(), &mut out);
        put_set(&self.numbers, &mut out);
        if let Some(pairs) = pairs {
            let range = (hashed.len() as u64).max(1) * HASHES_OF_WORD;
            let mut hashes: Vec<u64> =
                hashed.iter().map(|word| within(hash_of(word), range)).collect();
            hashes.sort_unstable();
            hashes.dedup();
            varint::put(&mut out, range);
            put_set(&hashes, &mut out);
            out.extend_from_slice(&pairs[..]);
        }
        let crc = crc32c::crc32c(&out[4..]);
        out[..4].copy_from_slice(&crc.to_le_bytes());
        out
    }
}

/// A hash as one of so many numbers.
fn within(hash: u64, range: u64) -> u64 {
    ((u128::from(hash) * u128::from(range)) >> 64) as u64
}

/// Appends texts in their order, each without what it shares with that before.
fn put_list<'a>(texts: impl Iterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    let (mut list, mut before): (_, &[u8]) = (Vec::new(), &[]);
    for text in texts {
        let shared = before.iter().zip(text).take_while(|(one, other)| one == other).count();
        varint::put(&mut list, shared as u64);
        varint::put_bytes(&mut list, &text[shared..]);
        before = text;
    }
    varint::put_bytes(out, &list);
}

/// Appends a set with its length.
fn put_set(numbers: &[u64], out: &mut Vec<u8>) {
    let mut set = Vec::new();
    number_set::encode(numbers, &mut set);
    varint::put_bytes(out, &set);
}

/// Whether one of the texts of a list fits; `None` if the list is damaged.
fn has_such(list: &[u8], fits: &mut dyn FnMut(&[u8]) -> bool) -> Option<bool> {
    let (mut list, mut text) = (Bytes::new(list), Vec::new());
    while list.left() > 0 {
        let shared = usize::try_from(list.varint().ok()?).ok()?;
        if shared > text.len() {
            return None;
        }
        text.truncate(shared);
        text.extend_from_slice(list.prefixed().ok()?);
        if fits(&text) {
            return Some(true);
        }
    }
    Some(false)
}

/// The words and loggers of a block as they are stored.
pub(in crate::store) struct StoredWords<'a> {
    flags: u8,
    loggers: &'a [u8],
    words: &'a [u8],
    numbers: NumberSet<'a>,
    range: u64,
    hashes: NumberSet<'a>,
    pairs: Option<&'a [u8; PAIR_BYTES]>,
}

impl<'a> StoredWords<'a> {
    /// Whether bytes have their checksum.
    pub(in crate::store) fn is_sound(bytes: &[u8]) -> bool {
        let crc = bytes.split_first_chunk::<4>();
        crc.is_some_and(|(crc, rest)| u32::from_le_bytes(*crc) == crc32c::crc32c(rest))
    }

    /// What is behind the checksum; `None` if it is damaged.
    pub(in crate::store) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (flags, bytes) = bytes.get(4..)?.split_first()?;
        let mut bytes = Bytes::new(bytes);
        let (loggers, words) = (bytes.prefixed().ok()?, bytes.prefixed().ok()?);
        let numbers = NumberSet::read(bytes.prefixed().ok()?)?;
        let (mut range, mut hashes, mut pairs) = (0, NumberSet::default(), None);
        if flags & PAIRS != 0 {
            range = bytes.varint().ok()?;
            hashes = NumberSet::read(bytes.prefixed().ok()?)?;
            pairs = Some(bytes.next_bytes(PAIR_BYTES).ok()?.try_into().ok()?);
        }
        let is_known = flags & !FLAGS == 0 && bytes.left() == 0;
        let flags = *flags;
        is_known.then_some(StoredWords { flags, loggers, words, numbers, range, hashes, pairs })
    }

    /// Whether the block may have what is wanted; `None` if that cannot be told.
    pub(super) fn may_have(&self, wanted: &WantedKeys) -> Option<bool> {
        if !wanted.logger.is_empty()
            && self.flags & ANY_LOGGER == 0
            && !has_such(self.loggers, &mut |name| fits(&wanted.logger, name))?
        {
            return Some(false);
        }
        for group in &wanted.groups {
            let mut may_have = false;
            for parts in group {
                may_have |= self.has_all(parts)?;
            }
            if !may_have {
                return Some(false);
            }
        }
        Some(true)
    }

    fn has_all(&self, parts: &[WordPart]) -> Option<bool> {
        for part in parts {
            if !self.has(part)? {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Whether it may have a word with a part.
    fn has(&self, part: &WordPart) -> Option<bool> {
        if part.is_whole() {
            if let Some(number) = number_of(&part.text) {
                return self.numbers.has_within(number, number);
            }
            let hash = || within(hash_of(&part.text), self.range);
            return Some(
                has_such(self.words, &mut |word| word == part.text)?
                    || (!self.hashes.is_empty() && self.hashes.has_within(hash(), hash())?),
            );
        }
        if let Some(pairs) = self.pairs
            && pairs_of(&part.text).all(|pair| pairs[pair / 8] & (1 << (pair % 8)) != 0)
        {
            return Some(true);
        }
        Some(has_such(self.words, &mut |word| part.is_of(word))? || self.has_number_with(part)?)
    }

    /// Whether it may have a word of digits with a part.
    fn has_number_with(&self, part: &WordPart) -> Option<bool> {
        let text = &part.text;
        if !text.iter().all(u8::is_ascii_digit) || text.len() > DIGITS_MAX {
            return Some(false);
        }
        if part.is_start {
            for more in 0..=(DIGITS_MAX - text.len()) as u32 {
                let one_more = 10_u64.pow(more);
                let value = number_of(text)? - first_number(text.len());
                let first = value * one_more + first_number(text.len() + more as usize);
                if self.numbers.has_within(first, first + one_more - 1)? {
                    return Some(true);
                }
            }
            return Some(false);
        }
        if text.len() < DIGITS_OF_PART_MIN {
            return Some(!self.numbers.is_empty());
        }
        let mut buffer = [0; 20];
        self.numbers.has_such(&mut |number| part.is_of(digits_of(number, &mut buffer)))
    }
}

/// Asks arbitrary bytes for words: for fuzz targets.
pub(crate) fn ask(bytes: &[u8], text: &str) {
    let (number, word) = ("4711".to_owned(), text.to_owned());
    let _ = StoredWords::is_sound(bytes);
    if let Some(stored) = StoredWords::read(bytes) {
        for text in ["", text, " 77", "disk full 4711"] {
            let _ = stored.may_have(&WantedKeys::of(&[], text, ""));
        }
        let _ = stored.may_have(&WantedKeys::of(&[number, word], "", "a*b"));
    }
}

/// The stored words of messages: for fuzz targets.
pub(crate) fn block_of(messages: &[&str]) -> Vec<u8> {
    let mut block = BlockWords::default();
    block.add_logger(Some("Log"));
    messages.iter().for_each(|message| block.add_message(&mut message.as_bytes().to_vec()));
    block.take_stored()
}

#[cfg(test)]
mod tests {
    use testkit::Random;

    use super::*;

    #[test]
    fn words_of_digits_have_numbers() {
        let mut buffer = [0; 20];
        for (word, number) in [("0", 0), ("9", 9), ("00", 10), ("99", 109), ("000", 110)] {
            assert_eq!(number_of(word.as_bytes()), Some(number));
            assert_eq!(digits_of(number, &mut buffer), word.as_bytes());
        }
        let longest = "9".repeat(18);
        let number = number_of(longest.as_bytes()).unwrap();
        assert_eq!(digits_of(number, &mut buffer), longest.as_bytes());
        assert_eq!(number_of("9".repeat(19).as_bytes()), None);
        assert_eq!(number_of(b"1a"), None);
    }

    /// Messages of few kinds, or with names of their own, or long words.
    fn messages(random: &mut Random, kind: u64) -> Vec<String> {
        let one = |number: u64, random: &mut Random| match kind {
            0 => format!("Antenna DV{:02} at {}.{:03}", random.below(66), random.below(99), number),
            1 => format!("id={:016x} größe_{}", random.below(u64::MAX), random.below(7)),
            2 => format!("{} {}", "xy9".repeat(30), random.below(1 << 60)),
            _ => format!("w{}q", (b'a' + (number % 26) as u8) as char),
        };
        (0..900).map(|number| one(number, random)).collect()
    }

    /// What messages have is found, by whole words and parts of them; most of what they lack is not.
    #[test]
    fn a_block_has_its_words_and_few_others() {
        let mut random = Random::from_seed(11);
        for kind in 0..4 {
            let messages = messages(&mut random, kind);
            let mut block = BlockWords::default();
            for message in &messages {
                block.add_logger(Some("Control/DV"));
                block.add_message(&mut message.clone().into_bytes());
            }
            let bytes = block.take_stored();
            assert!(StoredWords::is_sound(&bytes));
            let stored = StoredWords::read(&bytes).unwrap();
            let has = |words: &[String], text: &str, logger: &str| {
                stored.may_have(&WantedKeys::of(words, text, logger)).unwrap()
            };
            for message in &messages {
                let short = words(message.as_bytes()).filter(|word| word.len() <= WORD_BYTES_MAX);
                let all: Vec<String> =
                    short.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
                assert!(has(&all, "", "control/*"), "{message}");
                let from = (0..=random.index(message.len())).rev();
                let from = from.into_iter().find(|at| message.is_char_boundary(*at)).unwrap();
                let to = (from..=message.len())
                    .rfind(|at| message.is_char_boundary(*at) && at - from <= 12);
                let part = &message[from..to.unwrap()];
                assert!(has(&[], part, "*"), "{part:?} of {message}");
            }
            let others = (0..1000).filter(|n| has(&[format!("z{n}")], "", "")).count();
            assert!(others < 30, "{others}");
            let absent = (0..1000).filter(|n| has(&[(7_000_000 + n).to_string()], "", "")).count();
            assert_eq!(absent, 0);
            assert!(!has(&[], "timeouts", ""));
            assert!(!has(&[], "", "other"));
        }
    }

    #[test]
    fn a_block_is_cleared_for_the_next() {
        let mut block = BlockWords::default();
        let empty = block.take_stored();
        block.add_logger(None);
        block.add_logger(Some("a"));
        block.add_message(&mut b"one 2 three4".to_vec());
        assert!(block.take_stored().len() > empty.len());
        assert_eq!(block.take_stored(), empty);
    }
}

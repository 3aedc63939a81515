//! Labels: the name of a series.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write as _};

use foldhash::fast::RandomState;

use crate::QueryError;
use crate::error::failed;

/// The label that holds the name of the metric.
pub const NAME: &str = "__name__";

/// The labels of a series, in the order of their names; none has an empty value.
///
/// A query may have ten thousand series, so all texts are one: five labels are 200 bytes, and as many
/// strings would be 700.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Labels {
    /// Name and value of each label, one behind the other.
    texts: Box<str>,
    /// Where each name and each value ends.
    ends: Box<[u32]>,
}

/// A map by labels.  Labels are hashed at each step of a query, and come from others: the hash is a
/// fast one with a seed of its own.
pub(crate) type LabelMap<K, V> = HashMap<K, V, RandomState>;

/// A set of labels, hashed as in [`LabelMap`].
pub(crate) type LabelSet<K> = HashSet<K, RandomState>;

impl Labels {
    /// The value of a label; empty if there is none, which means the same.
    #[must_use]
    pub fn get(&self, name: &str) -> &str {
        self.iter().find(|(own, _)| *own == name).map_or("", |(_, value)| value)
    }

    /// All labels, as name and value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        (0..self.ends.len() / 2).map(|label| (self.text(2 * label), self.text(2 * label + 1)))
    }

    /// Sets a label; an empty value removes it.
    pub fn set(&mut self, name: &str, value: &str) {
        let before = self.iter().take_while(|(own, _)| *own < name);
        let new = Some((name, value)).filter(|_| !value.is_empty());
        let after = self.iter().skip_while(|(own, _)| *own <= name);
        *self = Labels::of_ordered(before.chain(new).chain(after));
    }

    /// Keeps the labels of a list.
    pub(crate) fn keep(&self, names: &[String]) -> Self {
        self.filtered(|name| names.iter().any(|other| other == name))
    }

    /// All but the name of the metric and the labels of a list.
    pub(crate) fn without(&self, names: &[String]) -> Self {
        self.filtered(|name| name != NAME && !names.iter().any(|other| other == name))
    }

    /// All but the labels of a list.
    pub(crate) fn but(&self, names: &[String]) -> Self {
        self.filtered(|name| !names.iter().any(|other| other == name))
    }

    /// The bytes that they take in memory, about.
    pub(crate) fn size_bytes(&self) -> usize {
        /// Their own fields, the counts of an `Arc`, and what an allocator adds to three pieces.
        const OVERHEAD_BYTES: usize = size_of::<Labels>() + 16 + 3 * 16;
        self.texts.len() + size_of_val(&*self.ends) + OVERHEAD_BYTES
    }

    fn filtered(&self, keeps: impl Fn(&str) -> bool) -> Self {
        Labels::of_ordered(self.iter().filter(|(name, _)| keeps(name)))
    }

    /// Labels in the order of their names, each name once.
    fn of_ordered<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Self {
        let (bytes, count) = pairs.clone().fold((0, 0), |(bytes, count), (name, value)| {
            (bytes + name.len() + value.len(), count + 2)
        });
        let (mut all, mut ends) = (String::with_capacity(bytes), Vec::with_capacity(count));
        for text in pairs.flat_map(|(name, value)| [name, value]) {
            all.push_str(text);
            // Labels come from messages and files that have limits far below 4 GiB.
            ends.push(u32::try_from(all.len()).unwrap_or(u32::MAX));
        }
        Labels { texts: all.into(), ends: ends.into() }
    }

    fn text(&self, index: usize) -> &str {
        let end_of = |index: usize| self.ends.get(index).map_or(0, |end| *end as usize);
        let start = index.checked_sub(1).map_or(0, end_of);
        self.texts.get(start..end_of(index)).unwrap_or_default()
    }
}

impl Ord for Labels {
    /// By the first label in which they differ.
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

impl PartialOrd for Labels {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Labels {
    /// Of two labels with one name the later one counts.
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let pairs = pairs.into_iter().map(|(name, value)| (name.into(), value.into()));
        let mut pairs: Vec<(String, String)> = pairs.collect();
        // Those of one name stay in their order.
        pairs.sort_by(|one, other| one.0.cmp(&other.0));
        pairs.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                std::mem::swap(later, kept);
            }
            is_same
        });
        pairs.retain(|(_, value)| !value.is_empty());
        Labels::of_ordered(pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }
}

/// As Prometheus writes them in messages: `{__name__="up", job="whit"}`.
impl fmt::Display for Labels {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("{")?;
        for (index, (name, value)) in self.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(out, "{comma}{name}={}", Quoted(value))?;
        }
        out.write_str("}")
    }
}

/// A text as a string of PromQL and LogQL, between quotation marks.
///
/// Both read strings as Go does.  What does not show, or changes the order of what does, is written
/// by its number, so a string can go to a terminal.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_char('"')?;
        for letter in self.0.chars() {
            match letter {
                '"' | '\\' => write!(out, "\\{letter}")?,
                '\n' => out.write_str("\\n")?,
                '\r' => out.write_str("\\r")?,
                '\t' => out.write_str("\\t")?,
                // Rust knows what is shown, and writes the rest as Go does not: `\u{7f}`.
                _ if letter == '\'' || letter.escape_debug().len() == 1 => {
                    out.write_char(letter)?;
                }
                '\0'..='\x7f' => write!(out, "\\x{:02x}", u32::from(letter))?,
                '\u{80}'..='\u{ffff}' => write!(out, "\\u{:04x}", u32::from(letter))?,
                _ => write!(out, "\\U{:08x}", u32::from(letter))?,
            }
        }
        out.write_char('"')
    }
}

/// Refuses what is no name of a label.
pub(crate) fn check_label(name: &str, function: &str) -> Result<(), QueryError> {
    let is_first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let fits = name.bytes().next().is_some_and(is_first)
        && name.bytes().all(|byte| is_first(byte) || byte.is_ascii_digit());
    if fits { Ok(()) } else { failed(format!("invalid label name in {function}: {name}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_written_as_go_reads_them() {
        let labels: Labels = [
            (NAME, "up"),
            ("host", "a\"b\\c'é日"),
            ("job", "\n\r\t\0\x1b\x7f\u{9b}\u{202e}\u{e0001}"),
        ]
        .into_iter()
        .collect();
        assert_eq!(
            labels.to_string(),
            r#"{__name__="up", host="a\"b\\c'é日", job="\n\r\t\x00\x1b\x7f\u009b\u202e\U000e0001"}"#
        );
    }

    #[test]
    fn labels_are_those_of_an_ordered_map() {
        let mut random = testkit::Random::from_seed(testkit::seed(23));
        let names = ["", "a", "ab", "b", "é", NAME];
        let mut all = Vec::new();
        for _ in 0..500 {
            let (mut labels, mut map) = (Labels::default(), std::collections::BTreeMap::new());
            let mut pairs = Vec::new();
            for _ in 0..random.below(8) {
                let name = names[random.index(names.len())];
                let value = random.one_of(&["", "x", "y\0", "日本"]).to_owned();
                labels.set(name, &value);
                pairs.push((name, value.clone()));
                map.insert(name.to_owned(), value);
            }
            map.retain(|_, value| !value.is_empty());
            let known: Vec<(String, String)> = map.clone().into_iter().collect();
            let own = labels.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert!(own.eq(known.clone()), "{labels} {known:?}");
            assert_eq!(pairs.into_iter().collect::<Labels>(), labels);
            for name in names {
                assert_eq!(labels.get(name), map.get(name).map_or("", String::as_str));
            }
            all.push((known, labels));
        }
        all.sort_by(|one, other| one.0.cmp(&other.0));
        assert!(all.is_sorted_by(|one, other| one.1 <= other.1));
        assert!(all.windows(2).all(|two| (two[0].0 == two[1].0) == (two[0].1 == two[1].1)));
    }
}

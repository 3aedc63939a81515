//! Labels: the name of a series.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write as _};

use foldhash::fast::RandomState;

use crate::QueryError;
use crate::error::failed;

/// The label that holds the name of the metric.
pub const NAME: &str = "__name__";

/// The labels of a series, in the order of their names; none has an empty value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Labels(Vec<(String, String)>);

/// A map by labels.  Labels are hashed at each step of a query, and come from others: the hash is a
/// fast one with a seed of its own.
pub(crate) type LabelMap<K, V> = HashMap<K, V, RandomState>;

/// A set of labels, hashed as in [`LabelMap`].
pub(crate) type LabelSet<K> = HashSet<K, RandomState>;

impl Labels {
    /// The value of a label; empty if there is none, which means the same.
    #[must_use]
    pub fn get(&self, name: &str) -> &str {
        match self.place(name) {
            Ok(index) => &self.0[index].1,
            Err(_) => "",
        }
    }

    /// All labels, as name and value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Sets a label; an empty value removes it.
    pub fn set(&mut self, name: &str, value: String) {
        match self.place(name) {
            Ok(index) if value.is_empty() => drop(self.0.remove(index)),
            Ok(index) => self.0[index].1 = value,
            Err(_) if value.is_empty() => {}
            Err(index) => self.0.insert(index, (name.to_owned(), value)),
        }
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
        let texts: usize = self.0.iter().map(|(name, value)| name.len() + value.len()).sum();
        texts + 48 * self.0.len()
    }

    fn filtered(&self, keeps: impl Fn(&str) -> bool) -> Self {
        Labels(self.0.iter().filter(|(name, _)| keeps(name)).cloned().collect())
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(own, _)| own.as_str().cmp(name))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Labels {
    /// Of two labels with one name the later one counts.
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let mut labels = Labels::default();
        for (name, value) in pairs {
            labels.set(&name.into(), value.into());
        }
        labels
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
}

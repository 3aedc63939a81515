//! How the replacement strings of `--plus` change a value.

use regex::bytes::{NoExpand, Regex};

/// How a value is changed.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// `{:-text}`: the text if the value is empty (or `0`).
    Default(Vec<u8>),
    /// `{:2}`: without this many bytes at the front.
    From(usize),
    /// `{:2:3}`: from the first number on, as many bytes as the second.
    Slice(usize, usize),
    /// `{#re}`, `{##re}`, `{%%re}`: without the match.
    Without(Regex),
    /// `{%re}`: without the match at the end that begins last; group 1 is what remains.
    Keep(Regex),
    /// `{/re/text}`, `{//re/text}`: the first match, or every match, replaced by the text.
    Replace { from: Regex, to: Vec<u8>, every: bool },
    /// `{^re}`, `{,re}` at the front, `{^^re}`, `{,,re}` everywhere: in upper or lower case.
    Case { of: Regex, upper: bool, every: bool },
}

impl Change {
    /// Appends the changed value.
    pub(crate) fn apply(&self, value: &[u8], out: &mut Vec<u8>) {
        match self {
            Change::Default(text) => {
                let is_unset = value.is_empty() || value == b"0";
                out.extend_from_slice(if is_unset { text } else { value });
            }
            Change::From(start) => out.extend_from_slice(value.get(*start..).unwrap_or(b"")),
            Change::Slice(start, count) => {
                let rest = value.get(*start..).unwrap_or(b"");
                out.extend_from_slice(&rest[..rest.len().min(*count)]);
            }
            Change::Without(regex) => match regex.find(value) {
                Some(found) => {
                    out.extend_from_slice(&value[..found.start()]);
                    out.extend_from_slice(&value[found.end()..]);
                }
                None => out.extend_from_slice(value),
            },
            Change::Keep(regex) => match regex.captures(value) {
                Some(groups) => {
                    let all = groups.get(0).map_or(0..0, |all| all.range());
                    out.extend_from_slice(&value[..all.start]);
                    out.extend_from_slice(groups.get(1).map_or(b"", |kept| kept.as_bytes()));
                    out.extend_from_slice(&value[all.end..]);
                }
                None => out.extend_from_slice(value),
            },
            Change::Replace { from, to, every } => {
                let most = usize::from(!*every);
                out.extend_from_slice(&from.replacen(value, most, NoExpand(to)));
            }
            Change::Case { of, upper, every } => {
                let mut done = 0;
                for found in of.find_iter(value).take(if *every { usize::MAX } else { 1 }) {
                    out.extend_from_slice(&value[done..found.start()]);
                    let changed = found.as_bytes().iter();
                    if *upper {
                        out.extend(changed.map(u8::to_ascii_uppercase));
                    } else {
                        out.extend(changed.map(u8::to_ascii_lowercase));
                    }
                    done = found.end();
                }
                out.extend_from_slice(&value[done..]);
            }
        }
    }
}

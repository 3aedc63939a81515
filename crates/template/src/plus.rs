//! The strings that `--plus` adds, as GNU parallel has them.
//!
//! Those that cut a value or say something of the job are a table; those with parts of their own
//! (`{:2}`, `{#prefix}`, `{/from/to}`, `{^^letters}`) are read here and compiled once.

use regex::bytes::{NoExpand, Regex};

use super::TemplateError;
use super::expression::pattern;
use super::strings::{Number, What, Width};
use super::value::Cut;

/// The strings of fixed text.
pub(super) fn fixed() -> impl Iterator<Item = (&'static [u8], What)> {
    let largest = Number { less: 0, width: Width::Largest };
    let less_one = Number { less: 1, width: Width::Own };
    [
        (&b"{+/}"[..], What::Value(Cut::BeforeBaseName)),
        (b"{+.}", What::Value(Cut::Extension)),
        (b"{+..}", What::Value(Cut::Extensions(2))),
        (b"{+...}", What::Value(Cut::Extensions(3))),
        (b"{..}", What::Value(Cut::WithoutExtensions(2))),
        (b"{...}", What::Value(Cut::WithoutExtensions(3))),
        (b"{/..}", What::Value(Cut::BaseNameWithoutExtensions(2))),
        (b"{/...}", What::Value(Cut::BaseNameWithoutExtensions(3))),
        (b"{##}", What::Total),
        (b"{0#}", What::Seq(largest)),
        (b"{0%}", What::Slot(largest)),
        (b"{seq-1}", What::Seq(less_one)),
        (b"{slot-1}", What::Slot(less_one)),
        (b"{uniq}", What::Unique),
        (b"{choose_k}", What::Ascending),
        (b"{slot}", What::Variable(b"${PARALLEL_JOBSLOT}")),
        (b"{host}", What::Variable(b"${PARALLEL_SSHHOST}")),
        (b"{sshlogin}", What::Variable(b"${PARALLEL_SSHLOGIN}")),
        (b"{hgrp}", What::Variable(b"${PARALLEL_HOSTGROUPS}")),
        (b"{agrp}", What::Variable(b"${PARALLEL_ARGHOSTGROUPS}")),
    ]
    .into_iter()
}

/// How a value is changed.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// `{:-text}`: the text where the value is empty (or `0`).
    Default(Vec<u8>),
    /// `{:2}`: without so many bytes at the front.
    From(usize),
    /// `{:2:3}`: from there, so many bytes.
    Slice(usize, usize),
    /// `{#re}`, `{##re}`, `{%%re}`: without the match.
    Without(Regex),
    /// `{%re}`: without the match at the end that begins last; group 1 is what stays.
    Keep(Regex),
    /// `{/re/text}`, `{//re/text}`: the match, or every match, made this text.
    Replace { from: Regex, to: Vec<u8>, every: bool },
    /// `{^re}`, `{,re}` at the front, `{^^re}`, `{,,re}` everywhere: in capitals or small.
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

/// The string with parts of its own that `text` begins with: `{`, a sign, the parts, `}`.
pub(super) fn at_start(text: &[u8]) -> Result<Option<(usize, What)>, TemplateError> {
    let Some(body) = text.strip_prefix(b"{") else { return Ok(None) };
    let Some(end) = memchr::memchr(b'}', body) else { return Ok(None) };
    let Some(change) = change(&body[..end])? else { return Ok(None) };
    Ok(Some((end + 2, What::Change(Box::new(change)))))
}

fn change(body: &[u8]) -> Result<Option<Change>, TemplateError> {
    let split = |sign: &[u8]| body.strip_prefix(sign).filter(|rest| !rest.is_empty());
    if let Some(text) = split(b":-") {
        return Ok(Some(Change::Default(text.to_vec())));
    }
    if let Some(rest) = split(b":") {
        return Ok(slice(rest));
    }
    // Two signs mean the other form; but where nothing follows them, the second is the pattern.
    if let Some(text) = split(b"##") {
        return match text[0] {
            b'#' => Ok(None),
            _ => Ok(Some(Change::Without(pattern(&[b"^(?:", text, b")"])?))),
        };
    }
    if let Some(text) = split(b"#").filter(|text| text[0] != b'#') {
        return Ok(Some(Change::Without(pattern(&[b"^(?:", &ungreedy(text), b")"])?)));
    }
    if let Some(text) = split(b"%%") {
        return Ok(Some(Change::Without(pattern(&[b"(?:", text, b")$"])?)));
    }
    if let Some(text) = split(b"%") {
        return Ok(Some(Change::Keep(pattern(&[b"(.*)(?:", &ungreedy(text), b")$"])?)));
    }
    for (sign, every) in [(&b"//"[..], true), (b"/", false)] {
        let Some(rest) = split(sign).filter(|rest| rest[0] != b'/') else { continue };
        let Some(middle) = memchr::memchr(b'/', &rest[1..]).map(|place| place + 1) else {
            continue;
        };
        let to = rest[middle + 1..].to_vec();
        return Ok(Some(Change::Replace { from: pattern(&[&rest[..middle]])?, to, every }));
    }
    for (sign, upper, every) in
        [(&b"^^"[..], true, true), (b"^", true, false), (b",,", false, true), (b",", false, false)]
    {
        let Some(text) = split(sign) else { continue };
        let front: &[u8] = if every { b"(?:" } else { b"^(?:" };
        return Ok(Some(Change::Case { of: pattern(&[front, text, b")"])?, upper, every }));
    }
    Ok(None)
}

/// `2` or `2:3`.
fn slice(rest: &[u8]) -> Option<Change> {
    let number = |digits: &[u8]| -> Option<usize> {
        let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        // More digits than a length can have are past the end of any value.
        is_number.then(|| {
            std::str::from_utf8(digits)
                .ok()
                .and_then(|text| text.parse().ok())
                .unwrap_or(usize::MAX)
        })
    };
    match memchr::memchr(b':', rest) {
        None => Some(Change::From(number(rest)?)),
        Some(middle) => Some(Change::Slice(number(&rest[..middle])?, number(&rest[middle + 1..])?)),
    }
}

/// The pattern with every `*`, `+`, `?` and `{n,m}` taking as little as it can.
fn ungreedy(pattern: &[u8]) -> Vec<u8> {
    [b"(?U)", pattern].concat()
}

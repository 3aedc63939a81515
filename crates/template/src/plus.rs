//! The replacement strings that `--plus` adds, as in GNU parallel.
//!
//! Strings that cut a value or depend on the job are in a table; those with parameters (`{:2}`,
//! `{#prefix}`, `{/from/to}`, `{^^letters}`) are parsed here and compiled once.

use super::TemplateError;
use super::change::Change;
use super::expression::pattern;
use super::replacement::{Number, What, Width};
use super::value::Cut;

/// The strings without parameters.
pub(super) fn fixed() -> impl Iterator<Item = (&'static [u8], What)> {
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

/// The string with parameters at the beginning of `text`: `{`, an operator, the parameters, `}`.
pub(super) fn at_start(text: &[u8]) -> Result<Option<(usize, What)>, TemplateError> {
    let Some(body) = text.strip_prefix(b"{") else { return Ok(None) };
    let Some(end) = memchr::memchr(b'}', body) else { return Ok(None) };
    if let Some(what) = widest(&body[..end]) {
        return Ok(Some((end + 2, what)));
    }
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
    // A doubled operator is the other form; but if nothing follows, the second is the pattern.
    // Patterns have no group around them, as in parallel: the anchor belongs to the first or last
    // alternative of `a|b`.
    if let Some(text) = split(b"##") {
        return match text[0] {
            b'#' => Ok(None),
            _ => Ok(Some(Change::Without(pattern(&[b"^", text])?))),
        };
    }
    if let Some(text) = split(b"#").filter(|text| text[0] != b'#') {
        return Ok(Some(Change::Without(pattern(&[UNGREEDY, b"^", text])?)));
    }
    if let Some(text) = split(b"%%") {
        return Ok(Some(Change::Without(pattern(&[text, b"$"])?)));
    }
    if let Some(text) = split(b"%") {
        return Ok(Some(Change::Keep(pattern(&[b"(.*)", UNGREEDY, text, b"$"])?)));
    }
    // The pattern after `#` is at the beginning of the value, that after `%` at its end.
    for (sign, front, back, every) in [
        (&b"/#"[..], &b"^"[..], &b""[..], true),
        (b"/%", b"", b"$", true),
        (b"//", b"", b"", true),
        (b"/", b"", b"", false),
    ] {
        let Some(rest) = split(sign).filter(|rest| rest[0] != b'/') else { continue };
        let Some(middle) = memchr::memchr(b'/', &rest[1..]).map(|place| place + 1) else {
            continue;
        };
        let from = pattern(&[front, &rest[..middle], back])?;
        let to = rest[middle + 1..].to_vec();
        return Ok(Some(Change::Replace { from, to, every }));
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

/// Parses `2` or `2:3`.
fn slice(rest: &[u8]) -> Option<Change> {
    let number = |digits: &[u8]| -> Option<usize> {
        let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        // A number with too many digits is past the end of any value.
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

/// Before a pattern: `*`, `+`, `?` and `{n,m}` match as little as they can.
const UNGREEDY: &[u8] = b"(?U)";

/// `{00#}` and `{00%}`, with any number of zeros: as wide as the largest number.
fn widest(body: &[u8]) -> Option<What> {
    let (last, zeros) = body.split_last()?;
    let number = Number { less: 0, width: Width::Largest };
    let is_widest = !zeros.is_empty() && zeros.iter().all(|byte| *byte == b'0');
    match last {
        b'#' if is_widest => Some(What::Seq(number)),
        b'%' if is_widest => Some(What::Slot(number)),
        _ => None,
    }
}

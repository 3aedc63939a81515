//! How a value is to be written: what a format says of it, in the way of Rust, C++ or C.

use text::c_number::CConversion;

/// Widths and precisions beyond this are cut: a format may come from anyone.
pub(crate) const WIDTH_MAX: usize = 4096;

/// The language whose formats a value is written by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Language {
    #[default]
    Rust,
    Cpp,
    C,
}

/// How a value is to be written.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spec {
    /// What fills up to the width.
    pub(crate) fill: Option<char>,
    /// `<`, `>`, `^`, or 0: by the type.
    pub(crate) align: u8,
    pub(crate) plus: bool,
    pub(crate) space: bool,
    pub(crate) alternate: bool,
    pub(crate) zero: bool,
    pub(crate) width: usize,
    pub(crate) precision: Option<usize>,
    /// `x`, `e`, `?`, ... or 0.
    pub(crate) letter: u8,
    /// The base of Rust's `{:x?}`: `x` or `X`, else 0.
    pub(crate) debug_base: u8,
    pub(crate) language: Language,
    /// Bits of the type that a length modifier of C names; 32 without one.
    pub(crate) length_bits: u8,
}

/// What a value is filled up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Padding {
    /// Nothing: Rust's `{:?}` of a text has no width.
    None,
    /// It stands on the left if the format does not say.
    Text,
    /// It stands on the right.
    Number,
    /// A number that stands on the right, and that zeros may be put in front of.
    Zeros,
}

impl Spec {
    /// What C and C++ make of the number: all but the width.
    pub(crate) fn of_c(&self) -> CConversion {
        CConversion {
            letter: self.letter,
            precision: self.precision.map(|precision| precision.min(WIDTH_MAX)),
            plus: self.plus,
            space: self.space,
            alternate: self.alternate,
            length_bits: self.length_bits,
        }
    }

    pub(crate) fn is_c(&self) -> bool {
        self.language == Language::C
    }

    pub(crate) fn is_cpp(&self) -> bool {
        self.language == Language::Cpp
    }

    /// What a text is filled up with.
    pub(crate) fn of_text(&self) -> Padding {
        let is_debug = self.letter == b'?' && self.language == Language::Rust;
        if is_debug { Padding::None } else { Padding::Text }
    }
}

/// Where the `}` of a place is.  In Rust a brace may be what fills it up: `{:}<8}`.
pub(crate) fn end_of_place(format: &[u8], language: Language) -> Option<usize> {
    let end = format.iter().position(|byte| *byte == b'}')?;
    let is_fill = language == Language::Rust
        && format[..end].last() == Some(&b':')
        && !format[..end - 1].contains(&b':')
        && matches!(format.get(end + 1), Some(b'<' | b'>' | b'^'));
    if !is_fill {
        return Some(end);
    }
    let rest = &format[end + 1..];
    Some(end + 1 + rest.iter().position(|byte| *byte == b'}')?)
}

/// Reads C's `2$`: the number of an argument, from 0.
pub(crate) fn take_place(format: &mut &[u8]) -> Option<usize> {
    let mut rest = *format;
    let number = take_number(&mut rest)?.checked_sub(1)?;
    *format = rest.strip_prefix(b"$")?;
    Some(number)
}

/// Reads what stands behind the colon of `{:…}`.
pub(crate) fn brace_spec(mut text: &[u8], language: Language) -> Spec {
    let mut spec = Spec { language, ..Spec::default() };
    let whole = std::str::from_utf8(text).unwrap_or_default();
    let mut characters = whole.chars();
    if let (Some(fill), [align @ (b'<' | b'>' | b'^'), rest @ ..]) =
        (characters.next(), characters.as_str().as_bytes())
    {
        (spec.fill, spec.align, text) = (Some(fill), *align, rest);
    } else if let [align @ (b'<' | b'>' | b'^'), rest @ ..] = text {
        (spec.align, text) = (*align, rest);
    }
    while let Some((flag, rest)) = text.split_first() {
        match flag {
            b'+' => spec.plus = true,
            b' ' if language == Language::Cpp => spec.space = true,
            b'-' => {}
            b'#' => spec.alternate = true,
            // C++ fills up with zeros only if nothing says where the value stands.
            b'0' => spec.zero = language != Language::Cpp || spec.align == 0,
            _ => break,
        }
        text = rest;
    }
    spec.width = take_number(&mut text).unwrap_or(0);
    if let Some(rest) = text.strip_prefix(b".") {
        text = rest;
        spec.precision = take_number(&mut text);
    }
    spec.letter = text.first().copied().unwrap_or(0);
    if let (Language::Rust, [base @ (b'x' | b'X'), b'?', ..]) = (language, text) {
        (spec.letter, spec.debug_base) = (b'?', *base);
    }
    spec
}

/// Reads a number; one that is too large for any use becomes the largest.
pub(crate) fn take_number(text: &mut &[u8]) -> Option<usize> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = text.split_at(digits);
    *text = rest;
    let add =
        |sum: usize, digit: &u8| sum.saturating_mul(10).saturating_add(usize::from(digit - b'0'));
    (digits > 0).then(|| number.iter().fold(0, add))
}

//! The table of replacement strings and their meanings.
//!
//! Used only while a command is parsed: fixed strings, longest match first, and then strings with
//! parameters (`{:2}`, `{%.gz}`, those of `--rpl` with groups).

use regex::bytes::Regex;

use super::expression::Program;
use super::perl_process::PerlProcess;
use super::plus;
use super::replacement::{Number, What, Width};
use super::value::Cut;
use super::{Syntax, TemplateError};

/// A string of `--rpl` with groups: `{%(.*?)}`.
struct Dynamic {
    /// Matches at the beginning of a text.
    tag: Regex,
    expression: Vec<u8>,
}

/// All strings of a [`Syntax`].
pub(super) struct Strings {
    /// The longest first.
    fixed: Vec<(Vec<u8>, What)>,
    dynamic: Vec<Dynamic>,
    plus: bool,
    perl: Option<PerlProcess>,
}

const NUMBER: Number = Number { less: 0, width: Width::Own };

impl Strings {
    pub(super) fn new(syntax: &Syntax) -> Result<Self, TemplateError> {
        let renames = &syntax.renames;
        let mut fixed: Vec<(Vec<u8>, What)> = Vec::new();
        let mut dynamic = Vec::new();
        // Users' own come first: of two equal ones the first is used.
        for (tag, expression) in syntax.rpl.iter().rev() {
            match dynamic_tag(tag)? {
                Some(tag) => dynamic.push(Dynamic { tag, expression: expression.clone() }),
                None => fixed.push((
                    tag.clone(),
                    What::Expression(Box::new(Program::of_rpl(
                        expression,
                        &[],
                        syntax.perl.as_ref(),
                    )?)),
                )),
            }
        }
        for (rename, name, what) in [
            (&renames.value, &b"{}"[..], What::Value(Cut::Whole)),
            (&renames.without_extension, b"{.}", What::Value(Cut::WithoutExtensions(1))),
            (&renames.base_name, b"{/}", What::Value(Cut::BaseName)),
            (&renames.directory, b"{//}", What::Value(Cut::Directory)),
            (
                &renames.base_name_without_extension,
                b"{/.}",
                What::Value(Cut::BaseNameWithoutExtensions(1)),
            ),
            (&renames.seq, b"{#}", What::Seq(NUMBER)),
            (&renames.slot, b"{%}", What::Slot(NUMBER)),
        ] {
            fixed.push((rename.as_deref().unwrap_or(name).to_vec(), what));
        }
        if syntax.plus {
            fixed.extend(plus::fixed().map(|(tag, what)| (tag.to_vec(), what)));
        }
        fixed.sort_by_key(|(tag, _)| std::cmp::Reverse(tag.len()));
        fixed.retain(|(tag, _)| !tag.is_empty());
        Ok(Strings { fixed, dynamic, plus: syntax.plus, perl: syntax.perl.clone() })
    }

    /// The string at the beginning of `text`: its length, and its meaning.
    pub(super) fn at_start(&self, text: &[u8]) -> Result<Option<(usize, What)>, TemplateError> {
        if let Some((tag, what)) = self.fixed.iter().find(|(tag, _)| text.starts_with(tag)) {
            return Ok(Some((tag.len(), what.clone())));
        }
        for dynamic in &self.dynamic {
            let groups = dynamic.tag.captures(text);
            if let Some(groups) =
                groups.filter(|groups| groups.get(0).is_some_and(|all| !all.is_empty()))
            {
                let values: Vec<Vec<u8>> = (groups.iter().skip(1))
                    .map(|group| group.map_or(Vec::new(), |group| group.as_bytes().to_vec()))
                    .collect();
                let program = Program::of_rpl(&dynamic.expression, &values, self.perl.as_ref())?;
                let length = groups.get(0).map_or(0, |all| all.end());
                return Ok(Some((length, What::Expression(Box::new(program)))));
            }
        }
        if (text.starts_with(b"{#:%") || text.starts_with(b"{%:%"))
            && let Some(found) = formatted_number(text)
        {
            return Ok(Some(found));
        }
        if self.plus { plus::at_start(text) } else { Ok(None) }
    }
}

/// `{#:%04d}`, `{%:%3d}`: a number in a printf(3) format.
fn formatted_number(text: &[u8]) -> Option<(usize, What)> {
    let end = memchr::memchr(b'}', text)?;
    let digits = text[4..end].strip_suffix(b"d")?;
    let blanks = !digits.starts_with(b"0");
    let width =
        if digits.is_empty() { 0 } else { std::str::from_utf8(digits).ok()?.parse().ok()? };
    let width = Width::Fixed(usize::min(width, WIDTH_MAX), blanks);
    let number = Number { less: 0, width };
    Some((end + 1, if text[1] == b'#' { What::Seq(number) } else { What::Slot(number) }))
}

/// Largest width of a number: far above the 20 digits of the largest.
const WIDTH_MAX: usize = 255;

/// A tag with groups as a regular expression; `None` for a tag without groups.
fn dynamic_tag(tag: &[u8]) -> Result<Option<Regex>, TemplateError> {
    if !(tag.contains(&b'(') && tag.contains(&b')')) {
        return Ok(None);
    }
    let text = std::str::from_utf8(tag).map_err(|_| {
        TemplateError::Expression("--rpl: a tag with groups must be UTF-8 text".to_owned())
    })?;
    let mut pattern = String::from("^(?s-u:");
    let mut depth = 0_usize;
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && letter != ')' {
            pattern.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4])));
        } else {
            pattern.push(letter);
        }
    }
    pattern.push(')');
    let regex = Regex::new(&pattern).map_err(|error| {
        TemplateError::Expression(format!("--rpl {text:?}: not a tag with groups: {error}"))
    })?;
    if regex.is_match(b"") {
        let why = "it matches the empty text";
        return Err(TemplateError::Expression(format!("--rpl {text:?} is not a tag: {why}")));
    }
    Ok(Some(regex))
}

/// The meaning of `{}`, or of its other name by `-I`.
pub(super) fn own_value(syntax: &Syntax) -> Result<Option<What>, TemplateError> {
    let name = syntax.renames.value.as_deref().unwrap_or(b"{}");
    Ok(Strings::new(syntax)?.at_start(name)?.map(|(_, what)| what))
}

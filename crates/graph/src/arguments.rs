//! An element of a description as its fields: `LINE1:a#ff0000:legend:dashes=1,2`.
//!
//! Fields are separated by colons; `\:` is a colon in a field.  A field is a key and a value if it
//! has a `=`, a flag if it is one of a few words, and else positional.  Whatever the element does
//! not ask for by its key may be taken as the next positional field: so a legend may contain `=`.

use crate::description_error::DescriptionError as E;

/// Words that are flags wherever they stand.
const FLAGS: [&str; 6] =
    ["STACK", "skipscale", "strftime", "valstrftime", "valstrfduration", "dashes"];

/// Most positional fields.
const POSITIONAL_MAX: usize = 10;

/// A field.
#[derive(Debug)]
struct Field {
    key: String,
    value: String,
    /// As it was written.
    written: String,
    is_used: bool,
}

/// The fields of an element.
#[derive(Debug)]
pub(crate) struct Arguments<'a> {
    pub(crate) original: &'a str,
    fields: Vec<Field>,
}

impl<'a> Arguments<'a> {
    pub(crate) fn split(original: &'a str) -> Result<Self, E> {
        let mut fields = Vec::new();
        let mut positional = 0;
        for written in split(original) {
            let is_flag = positional > 0 && FLAGS.contains(&written.as_str());
            let (key, value) = match written.split_once('=') {
                Some((key, value)) => (synonym(key).to_owned(), value.to_owned()),
                None if is_flag => (flag_key(&written), flag_value(&written)),
                None => {
                    if positional >= POSITIONAL_MAX {
                        return Err(E::TooMany);
                    }
                    positional += 1;
                    (format!("pos{}", positional - 1), written.clone())
                }
            };
            fields.push(Field { key, value, written, is_used: false });
        }
        Ok(Arguments { original, fields })
    }

    /// The value of a key, which is used up by that; the last one, if it is given twice.
    pub(crate) fn take(&mut self, key: &str) -> Option<String> {
        let field = self.fields.iter_mut().rev().find(|field| field.key == key)?;
        field.is_used = true;
        Some(field.value.clone())
    }

    /// The next field that no one has asked for, as it was written.
    pub(crate) fn next(&mut self) -> Option<String> {
        let field = self.fields.iter_mut().find(|field| !field.is_used)?;
        field.is_used = true;
        Some(field.written.clone())
    }

    /// As [`Arguments::next`], split into key and value.
    pub(crate) fn next_pair(&mut self) -> Option<(String, String)> {
        let field = self.fields.iter_mut().find(|field| !field.is_used)?;
        field.is_used = true;
        Some((field.key.clone(), field.value.clone()))
    }

    /// Refuses fields that no one has asked for.
    pub(crate) fn finish(&self) -> Result<(), E> {
        let unused = self.fields.iter().filter(|field| !field.is_used);
        let unused: Vec<&str> = unused.map(|field| field.written.as_str()).collect();
        if unused.is_empty() {
            return Ok(());
        }
        Err(E::Unused { fields: unused.join(":"), element: self.original.to_owned() })
    }
}

/// At most so many bytes of a text, whole characters.
pub(crate) fn cut(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Splits at colons that no backslash precedes, and resolves `\:`.
fn split(text: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let field = fields.last_mut();
        let Some(field) = field else { break };
        match character {
            ':' => fields.push(String::new()),
            '\\' => match characters.next() {
                Some(':') => field.push(':'),
                Some(other) => field.extend(['\\', other]),
                None => field.push('\\'),
            },
            other => field.push(other),
        }
    }
    fields
}

fn synonym(key: &str) -> &str {
    match key {
        "label" => "legend",
        "colour" => "color",
        "colour2" => "color2",
        other => other,
    }
}

fn flag_key(word: &str) -> String {
    match word {
        "STACK" => "stack",
        "valstrftime" | "valstrfduration" => "vformatter",
        other => other,
    }
    .to_owned()
}

fn flag_value(word: &str) -> String {
    match word {
        "dashes" => "5",
        "valstrftime" => "timestamp",
        "valstrfduration" => "duration",
        _ => "1",
    }
    .to_owned()
}

//! How long a command line gets while records are added to it (`-m`, `-X`, `-s`).
//!
//! Each record is asked about once, so that rendering everything again for each of them would take
//! time in the square of their number.  Where a record adds only its own part, as in all but the
//! rarest templates, only that part is rendered; elsewhere the whole line is.

use super::parse::{Piece, Position};
use super::strings::What;
use super::{Context, Packing, RenderError, Template, Values};
use crate::job::Record;

/// The length of one command line that grows.
#[derive(Debug)]
pub struct Measure<'a> {
    template: &'a Template,
    values: Values,
    packing: Packing,
    /// What each record adds to, or `None` where the whole line has to be rendered.
    growing: Option<Growing>,
    /// Records that are in `length`.
    records: usize,
    /// One of them has a value: a word without any is written once all the same.
    has_values: bool,
    length: usize,
}

/// The pieces that grow, with nothing between them.
#[derive(Debug)]
struct Growing {
    template: Template,
    /// How many blanks come before what a further record adds.
    blanks: usize,
}

impl<'a> Measure<'a> {
    pub(super) fn new(template: &'a Template, values: Values, packing: Packing) -> Self {
        let growing = growing(template, packing);
        Measure { template, values, packing, growing, records: 0, has_values: false, length: 0 }
    }

    /// The length of the command line with these records.  Quick when they are those of the call
    /// before and one more, or the first of a new line; they must not differ in any other way.
    pub fn length(
        &mut self,
        context: &Context<'_>,
        records: &[Record],
    ) -> Result<usize, RenderError> {
        let context = Context { records, packing: self.packing, ..*context };
        let grows_by_one = records.len() == self.records + 1 && self.has_values;
        match (&self.growing, records.last()) {
            (Some(growing), Some(last)) if grows_by_one => {
                let context = Context { records: std::slice::from_ref(last), ..context };
                if !last.values.is_empty() {
                    let added = growing.template.rendered_len(&context, self.values)?;
                    self.length += added + growing.blanks;
                }
            }
            _ => {
                self.length = self.template.rendered_len(&context, self.values)?;
                self.has_values = records.iter().any(|record| !record.values.is_empty());
            }
        }
        self.records = records.len();
        Ok(self.length)
    }
}

/// The pieces that grow with each record, if all else stays as it is.
fn growing(template: &Template, packing: Packing) -> Option<Growing> {
    if template.quote_command.is_some() || template.shell_quote > 0 {
        return None;
    }
    let is_all =
        |piece: &Piece| matches!(piece, Piece::Value(value) if value.position == Position::All);
    let mut pieces = Vec::new();
    let mut blanks = 0;
    for word in template.pieces.split(|piece| matches!(piece, Piece::Blank(_) | Piece::Join)) {
        let has_all = word.iter().any(is_all);
        for piece in word {
            let Piece::Value(value) = piece else { continue };
            let is_constant = match value.position {
                Position::All | Position::Job => true,
                // In a word that is repeated the first value is, too, and it is not the record's.
                Position::At(place) => place == 1 && !has_all,
            };
            let looks_around =
                matches!(value.what, What::Expression(_) | What::Unique | What::Ascending);
            if !is_constant || looks_around {
                return None;
            }
        }
        if !has_all {
            continue;
        }
        if packing == Packing::Repeat {
            pieces.extend_from_slice(word);
            blanks += 1;
        } else {
            let before = pieces.len();
            pieces.extend(word.iter().filter(|piece| is_all(piece)).cloned());
            blanks += pieces.len() - before;
        }
        // Words are kept apart by a blank that is not counted.
        pieces.push(Piece::Blank(Vec::new()));
    }
    let is_unquoted = template.is_unquoted;
    Some(Growing { template: Template { pieces, is_unquoted, ..Template::default() }, blanks })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quote::Shell;
    use crate::template::Syntax;

    #[test]
    fn the_length_is_that_of_the_whole_line() {
        let records: Vec<Record> = (0..40)
            .map(|index| Record {
                values: (0..index % 3).map(|n| format!("a/{n}'{index}.x y").into_bytes()).collect(),
            })
            .chain([Record::of(""), Record::of("plain")])
            .collect();
        for command in [
            "cat {}",
            "cat x{}y {.}{/} {#} {1} z",
            "{} {}",
            "a {} {2}",
            "a {}{1}",
            "a {-1} {}",
            "a {= $_=@arg =}",
            "a",
            "a {#}{} {%}b",
            "a \"{}\" {}",
        ] {
            for (packing, quote_command) in
                [(Packing::Join, false), (Packing::Repeat, false), (Packing::Repeat, true)]
            {
                let syntax = Syntax { quote_command, ..Syntax::default() };
                let template = Template::parse(&[command.as_bytes().to_vec()], &syntax).unwrap();
                let mut context = Context {
                    seq: 12,
                    slot: 3,
                    slots: 3,
                    total: None,
                    records: &[],
                    packing,
                    local_time_s: 0,
                };
                let values = Values::Quoted(Shell::Bourne);
                let mut measure = template.measure(values, packing);
                for _ in 0..2 {
                    for count in 1..=records.len() {
                        let length = measure.length(&context, &records[..count]).unwrap();
                        context.records = &records[..count];
                        let whole = template.rendered_len(&context, values).unwrap();
                        assert_eq!(length, whole, "{command} {packing:?} {count}");
                    }
                }
            }
        }
    }
}

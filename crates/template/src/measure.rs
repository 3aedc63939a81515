//! The length of a command line to which records are added, as `-s` counts it.
//!
//! It is not the final length: GNU parallel adds up what each record alone would add to the
//! replacement strings of the command, and users' scripts depend on which values it packs together.
//! The rules of GNU parallel, found by running it:
//!
//! - text that is written once counts once; in words that are repeated (`-X`, `-N`, `-L`) it counts
//!   for each value, whatever string they contain;
//! - `{}` counts as the record's values, quoted; `{2}` as the second value of each record, not of
//!   all records together; `{#}` and the like count once for each record;
//! - between two values a blank counts for each repeated word, or, if values are joined, for each
//!   string;
//! - strings that only the tag, the working directory or the results directory contain count as if
//!   the command contained them once, without the text around them; a `{}` that was appended to the
//!   command counts too;
//! - with `-q` nothing counts as quoted, but everything three times.

use super::parse::LinePart;
use super::replacement::Position;
use super::{Context, Packing, RenderError, Template, Values};
use crate::Record;
use crate::quote::Shell;

/// With `-q`: the factor for the length.
const QUOTED_FACTOR: usize = 3;

/// The parts of the length of a packed command line.
#[derive(Clone, Debug)]
pub struct CommandLength {
    /// Bytes that are written once.
    once: usize,
    /// Bytes that are written for each value.
    for_each_value: usize,
    /// Blanks between two values.
    blanks: usize,
    /// The replacement strings, without text between them.
    strings: Template,
    /// How many of them stand for all values.
    of_all: usize,
    /// How values are written.
    values: Values,
    /// The factor for the length.
    factor: usize,
}

impl CommandLength {
    pub(super) fn new(
        command: &Template,
        others: &[&Template],
        packing: Packing,
        shell: Shell,
    ) -> Self {
        let repeats = packing == Packing::Repeat;
        let (mut once, mut for_each_value, mut blanks) = (0, 0, 0);
        for piece in &command.pieces {
            match piece {
                LinePart::Blank(text) => once += text.len(),
                LinePart::Join => once += 1,
                LinePart::Text(_) | LinePart::Value(_) => {}
            }
        }
        let is_value = |piece: &&LinePart| matches!(piece, LinePart::Value(_));
        for word in
            command.pieces.split(|piece| matches!(piece, LinePart::Blank(_) | LinePart::Join))
        {
            let text: usize = word.iter().map(text_len).sum();
            let strings = word.iter().filter(is_value).count();
            match strings {
                0 => once += text,
                _ if repeats => (for_each_value, blanks) = (for_each_value + text, blanks + 1),
                _ => (once, blanks) = (once + text, blanks + strings),
            }
        }
        let mut pieces: Vec<LinePart> = command.pieces.iter().filter(is_value).cloned().collect();
        // Pieces can be compared in no other way; this is done once.
        let written = pieces.len() - usize::from(command.has_appended);
        let name = |piece: &LinePart| format!("{piece:?}");
        let mut known: Vec<String> = pieces[..written].iter().map(name).collect();
        for piece in others.iter().flat_map(|other| &other.pieces).filter(is_value) {
            if !known.contains(&name(piece)) {
                known.push(name(piece));
                pieces.push(piece.clone());
                blanks += usize::from(!repeats);
            }
        }
        let is_of_all = |piece: &&LinePart| matches!(piece, LinePart::Value(value) if value.position == Position::All);
        let is_quoted = command.quote_command.is_some();
        CommandLength {
            once,
            for_each_value,
            blanks,
            of_all: pieces.iter().filter(is_of_all).count(),
            values: if is_quoted { Values::Bare } else { Values::Quoted(shell) },
            factor: if is_quoted { QUOTED_FACTOR } else { 1 },
            strings: Template { pieces, is_unquoted: command.is_unquoted, ..Template::default() },
        }
    }

    /// The length of the command line with these records, in bytes.
    ///
    /// # Errors
    ///
    /// If a replacement string fails for a record.
    pub fn length(&self, context: &Context<'_>, records: &[Record]) -> Result<usize, RenderError> {
        let mut values = 0;
        let mut length = self.once;
        for record in records {
            let count = record.values.len();
            let alone = Context {
                records: std::slice::from_ref(record),
                packing: Packing::One,
                ..*context
            };
            // Blanks between values are counted below.
            let blanks = self.of_all * count.saturating_sub(1);
            length += self.strings.rendered_len(&alone, self.values)?.saturating_sub(blanks);
            values += count;
        }
        length += self.for_each_value * values + self.blanks * values.saturating_sub(1);
        Ok(length * self.factor)
    }
}

fn text_len(piece: &LinePart) -> usize {
    match piece {
        LinePart::Text(text) | LinePart::Blank(text) => text.len(),
        LinePart::Join | LinePart::Value(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Syntax;

    const ONE: &[&[&str]] = &[&["aaa"], &["bbb"], &["ccc"]];
    const TWO: &[&[&str]] = &[&["aaa", "dd"], &["bbb", "dd"], &["ccc", "dd"]];
    const BLANK: &[&[&str]] = &[&["a b"], &["c d"], &["e f"]];

    /// The lengths with one, two and three records.
    fn lengths(
        words: &[&str],
        tag: &str,
        packing: Packing,
        records: &[&[&str]],
        is_quoted: bool,
    ) -> [usize; 3] {
        let syntax = Syntax { quote_command: is_quoted, ..Syntax::default() };
        let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        let mut command = Template::parse(&words, &syntax).unwrap();
        if !command.has_values() {
            command.append_value();
        }
        let tag = Template::parse(&[tag.as_bytes().to_vec()], &Syntax::default()).unwrap();
        let measure = command.measure(&[&tag], packing, Shell::Bourne);
        let record = |values: &&[&str]| Record {
            values: values.iter().map(|value| value.as_bytes().to_vec()).collect(),
        };
        let records: Vec<Record> = records.iter().map(record).collect();
        let context = Context {
            seq: 1,
            slot: 1,
            slots: 1,
            total: None,
            records: &[],
            packing,
            local_time_s: 0,
        };
        [1, 2, 3].map(|count| measure.length(&context, &records[..count]).unwrap())
    }

    /// Both ways of packing: what parallel counts.
    #[test]
    fn lengths_are_those_of_the_incumbent() {
        for (command, tag, records, repeated, joined) in [
            ("echo", "", ONE, [8, 12, 16], [8, 12, 16]),
            ("echo {1} {}", "", ONE, [12, 20, 28], [12, 20, 28]),
            ("echo {1}{}", "", ONE, [11, 18, 25], [11, 19, 27]),
            ("echo {3} {}", "", ONE, [9, 14, 19], [9, 14, 19]),
            ("echo {%}{}", "", ONE, [9, 14, 19], [9, 15, 21]),
            ("echo \"{}\"", "", ONE, [10, 16, 22], [10, 14, 18]),
            ("echo {} é", "", ONE, [11, 15, 19], [11, 15, 19]),
            ("echo a b c {} d | x{} > y", "", ONE, [27, 36, 45], [27, 35, 43]),
            ("echo {}", "<{}>", ONE, [8, 12, 16], [8, 12, 16]),
            ("echo", "{}", ONE, [11, 18, 25], [11, 19, 27]),
            ("echo {/}", "{}{}", ONE, [11, 18, 25], [11, 19, 27]),
            ("echo {}{}", "{}{}{.}", ONE, [14, 24, 34], [14, 26, 38]),
            ("echo {}", "{#}", ONE, [9, 14, 19], [9, 15, 21]),
            ("echo x{}", "", TWO, [13, 22, 31], [12, 19, 26]),
            ("echo x{1}y{2}", "", TWO, [15, 26, 37], [14, 23, 32]),
            ("echo {#} {}", "", TWO, [14, 24, 34], [14, 24, 34]),
            ("echo {-1} {}", "", TWO, [15, 26, 37], [15, 26, 37]),
            ("echo x{}{1}", "", TWO, [16, 28, 40], [16, 28, 40]),
            ("{} x", "", BLANK, [5, 9, 13], [5, 9, 13]),
            ("x={} x", "", BLANK, [9, 17, 25], [9, 15, 21]),
            ("echo {}", "{.}", BLANK, [15, 26, 37], [15, 27, 39]),
            ("echo {= uq() =} {}", "", BLANK, [14, 24, 34], [14, 24, 34]),
        ] {
            let lengths = |packing| lengths(&[command], tag, packing, records, false);
            assert_eq!(lengths(Packing::Repeat), repeated, "{command} <{tag}>");
            assert_eq!(lengths(Packing::Join), joined, "{command} <{tag}>");
        }
    }

    #[test]
    fn quoted_commands_count_three_times() {
        for (words, records, repeated, joined) in [
            (&["echo", "{}"][..], ONE, [24, 36, 48], [24, 36, 48]),
            (&["echo", "xy{}"], ONE, [30, 48, 66], [30, 42, 54]),
            (&["echo", "x y{}"], ONE, [33, 48, 63], [33, 45, 57]),
            (&["echo", "it's", "{}"], ONE, [39, 51, 63], [39, 51, 63]),
            (&["echo", "{}"], BLANK, [24, 36, 48], [24, 36, 48]),
        ] {
            assert_eq!(lengths(words, "", Packing::Repeat, records, true), repeated, "{words:?}");
            assert_eq!(lengths(words, "", Packing::Join, records, true), joined, "{words:?}");
        }
    }
}

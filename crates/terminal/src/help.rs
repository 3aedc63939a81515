//! The text below a verb's options, laid out for the width of the terminal.
//!
//! It is written in lines of up to a hundred columns: prose, headings, and examples with what they are
//! for beside them.  A terminal that is narrower breaks such a line wherever it ends, so here prose is
//! filled again and an explanation goes on below its own beginning.  A text that fits stays as it is.

/// The column behind which an indented line explains what stands above it.
const EXPLANATION_COLUMN_MIN: usize = 8;
/// The fewest columns for an explanation; a terminal without room for them breaks the lines itself.
const EXPLANATION_COLUMNS_MIN: usize = 16;

/// Lays out `text` for so many columns: no line is longer, unless one word is.
#[must_use]
pub fn fitted(text: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let indent = indent_of(line);
        let is_prose = indent == 0 && !line.is_empty() && !line.ends_with(':');
        if !is_prose && indent < EXPLANATION_COLUMN_MIN {
            put_example(&mut out, line, columns);
            continue;
        }
        let mut paragraph = vec![line];
        let belongs = |next: &&str| {
            let is_same = !next.is_empty() && indent_of(next) == indent;
            is_same && !(is_prose && (next.ends_with(':') || begins_with_label(next)))
        };
        while let Some(next) = lines.next_if(belongs) {
            paragraph.push(next);
        }
        match paragraph.iter().all(|line| width_of(line) <= columns) {
            true => paragraph.iter().for_each(|line| put_line(&mut out, line)),
            false => put_filled(&mut out, &paragraph.join(" "), indent, indent, columns),
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Puts an example, or a heading: a command, and perhaps two blanks and what it does.
fn put_example(out: &mut String, line: &str, columns: usize) {
    let indent = indent_of(line);
    if width_of(line) <= columns {
        return put_line(out, line);
    }
    let explained = line[indent..].rsplit_once("  ").and_then(|(command, explanation)| {
        let column = width_of(line) - width_of(explanation);
        let has_room = column + EXPLANATION_COLUMNS_MIN <= columns;
        (has_room && !command.trim().is_empty()).then_some((column, explanation))
    });
    match explained {
        Some((column, explanation)) => {
            out.push_str(&line[..line.len() - explanation.len()]);
            put_filled(out, explanation, 0, column, columns - column);
        }
        None => put_filled(out, line, indent, indent + 4, columns),
    }
}

/// Puts words in lines of so many columns; the first line begins at one column, the others at another.
/// An `indent` of 0 goes on in a line that is begun, which has so many columns left.
fn put_filled(out: &mut String, text: &str, indent: usize, hanging: usize, columns: usize) {
    let begun = if indent == 0 { hanging } else { 0 };
    let end = begun + columns;
    let mut at = begun + indent;
    out.push_str(&" ".repeat(indent));
    let mut blanks = 0;
    let mut is_first = true;
    for word in text.trim_start().split(' ') {
        if word.is_empty() {
            blanks += 1;
            continue;
        }
        let width = width_of(word);
        if !is_first && at + blanks + width > end {
            out.push('\n');
            out.push_str(&" ".repeat(hanging));
            at = hanging;
        } else if !is_first {
            out.push_str(&" ".repeat(blanks));
            at += blanks;
        }
        out.push_str(word);
        at += width;
        (blanks, is_first) = (1, false);
    }
    out.push('\n');
}

fn put_line(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn width_of(text: &str) -> usize {
    text.chars().count()
}

/// Whether a line begins with what it is about, as `Exit codes: ` does, and so with a paragraph.
fn begins_with_label(line: &str) -> bool {
    let is_word = |label: &str| label.chars().all(|c| c.is_alphanumeric() || c == ' ');
    line.split_once(": ").is_some_and(|(label, _)| label.len() <= 20 && is_word(label))
}

#[cfg(test)]
mod tests {
    use super::fitted;

    const TEXT: &str = "\
Examples:
  whit a FILE      one thing and another one
  whit b --long-option FILE
                   what that does, and why
  whit c --first-option VALUE --second-option VALUE FILE

It is written down here, as all of it is, in two lines; what is
left of it is here.  The end.
Exit codes: 0 done; 1 nothing.";

    #[test]
    fn a_text_that_fits_stays() {
        assert_eq!(fitted(TEXT, 64), TEXT);
    }

    #[test]
    fn a_narrow_terminal_gets_whole_words() {
        let expected = "\
Examples:
  whit a FILE      one thing and
                   another one
  whit b --long-option FILE
                   what that does,
                   and why
  whit c --first-option VALUE
      --second-option VALUE FILE

It is written down here, as all of
it is, in two lines; what is left of
it is here.  The end.
Exit codes: 0 done; 1 nothing.";
        assert_eq!(fitted(TEXT, 36), expected);
    }

    #[test]
    fn words_are_neither_lost_nor_cut() {
        let words =
            |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        for columns in 1..100 {
            let text = fitted(TEXT, columns);
            assert_eq!(words(&text), words(TEXT), "{columns}");
            let is_long = |line: &&str| line.chars().count() > columns;
            let mut long = text.lines().filter(is_long);
            assert!(columns < 30 || long.next().is_none(), "{columns}: {text}");
        }
    }
}

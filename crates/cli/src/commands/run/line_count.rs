//! `-l` and `--max-lines`, whose number may be left out: `whit run -l CMD` is `whit run -l1 CMD`.
//!
//! The parser of options takes the next word for the value, whatever it is.  So the number is
//! written where it was left out, before the words are parsed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use clap::Arg;

use super::arguments::RunArguments;

/// The name of the field.
const MAX_LINES: &str = "max_lines";

/// The words with a `1` after each `-l` that no number follows.
pub(crate) fn with_line_counts(words: Vec<OsString>) -> Vec<OsString> {
    let is_asked = |word: &OsString| {
        let text = word.as_bytes();
        text.starts_with(b"--m") || (text.starts_with(b"-") && text.ends_with(b"l"))
    };
    if words.get(1).is_none_or(|verb| verb != "run") || !words.iter().any(is_asked) {
        return words;
    }
    let command = <RunArguments as clap::Args>::augment_args(clap::Command::new("run"));
    let mut line = Vec::with_capacity(words.len() + 1);
    let mut words = words.into_iter().peekable();
    line.extend(words.by_ref().take(2));
    while let Some(word) = words.next() {
        let is_option = word.len() > 1 && word != "--" && word.as_bytes().starts_with(b"-");
        let taker = is_option.then(|| takes_next(&command, &word)).flatten();
        line.push(word);
        if !is_option {
            // The command: its options are not ours.
            break;
        }
        match taker {
            Some(option) if option.get_id() == MAX_LINES => match words.peek() {
                Some(next) if is_number(next) => line.extend(words.next()),
                _ => line.push("1".into()),
            },
            Some(_) => line.extend(words.next()),
            None => {}
        }
    }
    line.extend(words);
    line
}

/// The option among those of a word whose value is the next word.
fn takes_next<'a>(command: &'a clap::Command, word: &OsStr) -> Option<&'a Arg> {
    let text = word.to_str()?;
    if let Some(name) = text.strip_prefix("--") {
        return long(command, name).filter(|option| takes_value(option));
    }
    let mut letters = text[1..].chars();
    let option = letters.by_ref().find_map(|letter| {
        let mut options = command.get_arguments();
        options.find(|option| is_short(option, letter) && option.get_action().takes_values())
    })?;
    (letters.as_str().is_empty() && takes_value(option)).then_some(option)
}

/// The option of a long name, or of the beginning of one.
fn long<'a>(command: &'a clap::Command, name: &str) -> Option<&'a Arg> {
    let named = |option: &Arg, is: &dyn Fn(&str) -> bool| {
        option.get_long().is_some_and(is)
            || option.get_all_aliases().is_some_and(|aliases| aliases.into_iter().any(is))
    };
    let mut options = command.get_arguments();
    options
        .find(|option| named(option, &|long| long == name))
        .or_else(|| command.get_arguments().find(|o| named(o, &|long| long.starts_with(name))))
}

fn is_short(option: &Arg, letter: char) -> bool {
    option.get_short() == Some(letter)
        || option.get_all_short_aliases().is_some_and(|letters| letters.contains(&letter))
}

/// Whether an option without `=` takes the next word.  Of the others whose value may be left out,
/// `-i` and `-e` take it too, whatever it is.
fn takes_value(option: &Arg) -> bool {
    option.get_action().takes_values() && !option.is_require_equals_set()
}

fn is_number(word: &OsStr) -> bool {
    !word.is_empty() && word.as_bytes().iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[track_caller]
    fn becomes(given: &str, wanted: &str) {
        assert_eq!(with_line_counts(words(given)), words(wanted));
    }

    #[test]
    fn a_number_that_was_left_out_is_one() {
        becomes("whit run -l echo x", "whit run -l 1 echo x");
        becomes("whit run -kl echo", "whit run -kl 1 echo");
        becomes("whit run --max-lines echo", "whit run --max-lines 1 echo");
        becomes("whit run --max-l echo", "whit run --max-l 1 echo");
        becomes("whit run -j 2 -d x -l -k echo", "whit run -j 2 -d x -l 1 -k echo");
        becomes("whit run -l", "whit run -l 1");
    }

    #[test]
    fn a_number_stays_and_so_does_what_is_not_the_option() {
        for line in [
            "whit run -l 2 echo",
            "whit run -l2 echo",
            "whit run --max-lines=2 echo",
            "whit run ls -l {}",
            "whit run -j 4 ls -l {}",
            "whit run -d -l echo",
            "whit run -dl echo",
            "whit run -- ls -l",
            "whit run --max-args 3 ls -l",
            "whit run --stats ls -l",
            "whit trace ls -l",
        ] {
            becomes(line, line);
        }
    }
}

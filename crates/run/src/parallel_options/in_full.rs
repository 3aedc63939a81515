//! Options by the names that the command line's definition knows.
//!
//! GNU parallel takes any unique beginning of a long name, in upper or lower case, and a value that
//! begins with a hyphen.  The number of `-l` may be left out: it is 1 then.

use std::ffi::{OsStr, OsString};
use std::iter::Peekable;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use super::{OPTIONS, ParallelAnswer, ParallelOption, Takes, named};

/// Options of `whit run` that this release of GNU parallel does not have.
pub const OWN: &[(&str, Takes)] = &[
    ("--env-parallel", Takes::Value),
    ("--files0", Takes::Nothing),
    ("--joblog-json", Takes::Value),
    ("--no-perl", Takes::Nothing),
    ("--perl", Takes::Nothing),
    ("--record", Takes::Value),
    ("--shell", Takes::Value),
    ("--spawners", Takes::Value),
    ("--stats", Takes::Nothing),
    ("--trace", Takes::Nothing),
    ("--watch", Takes::Nothing),
];

/// The option whose value may be left out and is a number.
const LINES: &str = "--max-lines";

/// The words of a command line, without the program's name, with the options' names in full.
pub fn in_full(words: Vec<OsString>) -> Vec<OsString> {
    let mut line = Vec::with_capacity(words.len() + 1);
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let text = word.as_bytes();
        if text == b"--" || text == b"-" || !text.starts_with(b"-") {
            // The command: its options are not ours.
            line.push(word);
            break;
        }
        match text.starts_with(b"--") {
            true => long(word, &mut words, &mut line),
            false => letters(word, &mut words, &mut line),
        }
    }
    line.extend(words);
    line
}

type RemainingWords = Peekable<std::vec::IntoIter<OsString>>;

/// A word that begins with two hyphens.
fn long(word: OsString, words: &mut RemainingWords, line: &mut Vec<OsString>) {
    let text = word.as_bytes();
    let end = text.iter().position(|&byte| byte == b'=').unwrap_or(text.len());
    let value = text.get(end + 1..).map(|value| OsStr::from_bytes(value).to_owned());
    let name = std::str::from_utf8(&text[..end]).unwrap_or_default();
    if let Some(&(own, takes)) = OWN.iter().find(|(own, _)| *own == name) {
        return push(own, value, takes, words, line);
    }
    let Some(option) = by_beginning(&name[name.len().min(2)..]) else {
        // An abbreviation of our own options, or a mistake: the parser tells.
        line.push(word);
        return;
    };
    let last = match option.answer {
        ParallelAnswer::As([first @ .., last]) => {
            line.extend(first.iter().map(OsString::from));
            last
        }
        ParallelAnswer::As([]) => return,
        _ => option.name(),
    };
    push(last, value, option.takes, words, line);
}

/// Adds an option, and its value.
fn push(
    name: &str,
    value: Option<OsString>,
    takes: Takes,
    words: &mut RemainingWords,
    line: &mut Vec<OsString>,
) {
    let mut word = OsString::from(name);
    let joint = if name.starts_with("--") { "=" } else { "" };
    let value = match value {
        // A value behind `=` is joined even to what takes none: the parser says so.
        Some(value) => Some((value, true)),
        None => next_value(name, takes, words),
    };
    match value {
        Some((value, is_joined)) if is_joined || value.as_bytes().starts_with(b"-") => {
            word.push(joint);
            word.push(value);
            line.push(word);
        }
        Some((value, _)) => line.extend([word, value]),
        None => line.push(word),
    }
}

/// The value of an option in the next word, which is not joined to it.
fn next_value(name: &str, takes: Takes, words: &mut RemainingWords) -> Option<(OsString, bool)> {
    let next = match takes {
        Takes::Nothing => None,
        Takes::Value => words.next(),
        Takes::Perhaps if name == LINES => {
            Some(words.next_if(|next| is_number(next)).unwrap_or_else(|| "1".into()))
        }
        Takes::Perhaps => words.next_if(|next| !next.as_bytes().starts_with(b"-")),
    };
    next.map(|next| (next, false))
}

/// Letters behind one hyphen, as they are; the last may take the next word.
fn letters(word: OsString, words: &mut RemainingWords, line: &mut Vec<OsString>) {
    let text = word.as_bytes();
    for (at, &letter) in text.iter().enumerate().skip(1) {
        let Some(option) = named(&format!("-{}", char::from(letter))) else { continue };
        if option.takes == Takes::Nothing {
            continue;
        }
        if at + 1 < text.len() {
            // Its value is the rest.
            break;
        }
        let next = next_value(option.name(), option.takes, words).map(|(value, _)| value);
        return match next {
            Some(value) if value.as_bytes().starts_with(b"-") => {
                line.push(OsString::from_vec([text, value.as_bytes()].concat()));
            }
            next => line.extend([Some(word), next].into_iter().flatten()),
        };
    }
    line.push(word);
}

/// The option of GNU parallel with this name, or the only one whose names begin so.
fn by_beginning(name: &str) -> Option<&'static ParallelOption> {
    if name.is_empty() {
        return None;
    }
    if name.len() == 1 {
        return named(&format!("-{name}"));
    }
    let long = format!("--{}", name.to_ascii_lowercase());
    if let Some(option) = named(&long) {
        return Some(option);
    }
    let begins = |option: &&ParallelOption| option.names().any(|other| other.starts_with(&long));
    let mut options = OPTIONS.iter().filter(begins);
    let option = options.next()?;
    options.next().is_none().then_some(option)
}

/// As with parallel a number here has no unit.
fn is_number(word: &OsStr) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    word.as_bytes().first().is_some_and(u8::is_ascii_digit) && word.as_bytes().iter().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn becomes(given: &str, wanted: &str) {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(in_full(words(given)), words(wanted), "{given}");
    }

    #[test]
    fn a_number_that_was_left_out_is_one() {
        becomes("-l echo x", "-l 1 echo x");
        becomes("-kl echo", "-kl 1 echo");
        becomes("--max-lines echo", "--max-lines 1 echo");
        becomes("--maxl echo", "--maxl echo");
        becomes("--maxlines echo", "--max-lines 1 echo");
        becomes("-j 2 -d x -l -k echo", "-j 2 -d x -l 1 -k echo");
        becomes("-l", "-l 1");
    }

    #[test]
    fn what_is_in_full_stays_and_so_does_the_command() {
        for line in [
            "-l 2 echo",
            "-l2 echo",
            "--max-lines=2 echo",
            "ls -l --dryrun {}",
            "-j 4 ls -l {}",
            "-dl echo",
            "-- ls -l --dryrun",
            "--max-args 3 ls -l",
            "--stats ls -l",
            "--nonsense --xx",
            "--stats=json --joblog-json x ls --dryrun",
            "- --dryrun",
        ] {
            becomes(line, line);
        }
    }

    #[test]
    fn names_may_be_others_cut_or_in_capitals() {
        becomes("--dryrun echo", "--dry-run echo");
        becomes("--DRY echo", "--dry-run echo");
        becomes("--colour --argsep ,, ls", "--color --arg-sep ,, ls");
        becomes("--ctag ls --ctag", "--color --tag ls --ctag");
        becomes("--ctagstring=x ls", "--color --tagstring=x ls");
        becomes("--ctag-string -x ls", "--color --tagstring=-x ls");
        becomes("--silent --gnu ls", "ls");
        becomes("--k --j 1 --E x ls", "--keep-order --jobs 1 -E x ls");
        becomes("--E=x ls", "-Ex ls");
        // Two options begin so.
        becomes("--colo ls", "--colo ls");
        becomes("--sshd 1 --maxa 2 ls", "--ssh-delay 1 --max-args 2 ls");
    }

    #[test]
    fn a_value_may_begin_with_a_hyphen() {
        becomes("--tagstring -- --dryrun", "--tagstring=-- --dry-run");
        becomes("-d -l -k ls", "-d-l -k ls");
        becomes("-kd - ls", "-kd- ls");
        becomes("-a - ls", "-a- ls");
    }
}

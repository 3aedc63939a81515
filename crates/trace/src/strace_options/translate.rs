//! strace's command line as one of `whit trace`.
//!
//! The letters are parsed as getopt does, because some mean something else to whit (`-a`, `-i`) or
//! nothing; these are passed on under their long names, which whit takes, or refuses by name. Long
//! names may be abbreviated as long as they are unambiguous.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use super::{OPTIONS, strace_option};

/// The older name of `-f`, until it is known whether `-f` is given too; no word of a command, as it
/// contains a zero byte.
const OLD_FOLLOW: &str = "-F\0";

/// The names of the option whose letter stands for one value of it.
const DECODE_PIDS: &str = "-Y --decode-pids";

/// strace's arguments as those of `whit trace`.
pub fn translate(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut line: Vec<OsString> = vec!["trace".into(), "--strace".into()];
    let mut given = arguments.into_iter();
    while let Some(argument) = given.next() {
        let bytes = argument.as_bytes();
        if bytes == b"--" {
            line.push(argument);
            break;
        }
        let done = if let Some(name) = bytes.strip_prefix(b"--") {
            long(name, &mut given, &mut line)
        } else if bytes.len() > 1 && bytes[0] == b'-' {
            letters(&bytes[1..], &mut given, &mut line)
        } else {
            // The command and its arguments.
            line.push(argument);
            break;
        };
        if let Some(other) = done {
            return other;
        }
    }
    // The older name of -f has no effect beside it.
    let follows = line.iter().any(|word| word == "-f" || word == "--follow-forks");
    let mut is_old = false;
    line.retain(|word| word != OLD_FOLLOW || !follows && !std::mem::replace(&mut is_old, true));
    if is_old && let Some(word) = line.iter_mut().find(|word| **word == OLD_FOLLOW) {
        *word = "-f".into();
    }
    line.extend(given);
    line
}

/// Translates a long name; returns another command line if that is all that was asked for.
fn long(
    given: &[u8],
    rest: &mut impl Iterator<Item = OsString>,
    line: &mut Vec<OsString>,
) -> Option<Vec<OsString>> {
    let text = String::from_utf8_lossy(given);
    let short = text.split('=').next().unwrap_or_default();
    let mut argument = OsString::from("--");
    let Some((name, valued)) = in_full(short) else {
        argument.push(OsStr::from_bytes(given));
        line.push(argument);
        return None;
    };
    match name {
        "version" => return Some(vec!["--version".into()]),
        "help" => return Some(vec!["trace".into(), "--help".into()]),
        _ => {}
    }
    let mut value = OsString::from(OsStr::from_bytes(&given[short.len()..]));
    if valued
        && !given.contains(&b'=')
        && let Some(next) = rest.next()
    {
        value = "=".into();
        value.push(next);
    }
    match name {
        // Given twice it is no `-ff`.
        "follow-forks" if line.iter().any(|word| word == "--follow-forks") => return None,
        "successful-only" | "failed-only" if value.is_empty() => {
            line.push(status(name == "successful-only"));
            return None;
        }
        _ if valued && ORDERED.contains(&name) => argument = "-e".into(),
        _ => {}
    }
    argument.push(name);
    argument.push(value);
    line.push(argument);
    None
}

/// Long names of what `-e` also sets: of both forms the last one counts, so they become one.
const ORDERED: [&str; 11] = [
    "trace", "signal", "signals", "status", "raw", "abbrev", "verbose", "read", "write", "inject",
    "fault",
];

/// `-z` and `-Z`, which are statuses of `-e`.
fn status(is_successful: bool) -> OsString {
    format!("-estatus={}", if is_successful { "successful" } else { "failed" }).into()
}

/// The long name that this abbreviates, if it is unambiguous, and whether a value must follow.
fn in_full(short: &str) -> Option<(&'static str, bool)> {
    if let Some(exact) = long_names().find(|(name, _)| *name == short) {
        return Some(exact);
    }
    let mut matching = long_names().filter(|(name, _)| name.starts_with(short));
    let first = matching.next()?;
    matching.next().is_none().then_some(first)
}

/// All long names, and whether a value must follow.
fn long_names() -> impl Iterator<Item = (&'static str, bool)> {
    OPTIONS.iter().flat_map(|option| {
        let names = option.names().filter_map(|name| name.strip_prefix("--"));
        // -Y has a fixed value, its long name any.
        let takes_value = option.takes_value || option.names == DECODE_PIDS;
        names.map(move |name| (name, takes_value))
    })
}

/// Translates letters behind one `-`.
fn letters(
    letters: &[u8],
    rest: &mut impl Iterator<Item = OsString>,
    line: &mut Vec<OsString>,
) -> Option<Vec<OsString>> {
    for (index, &letter) in letters.iter().enumerate() {
        let option = strace_option(&format!("-{}", char::from(letter)));
        if option.is_some_and(|option| option.takes_value) {
            let attached = &letters[index + 1..];
            let value = match attached {
                [] => rest.next(),
                _ => Some(OsString::from_vec(attached.to_vec())),
            };
            with_value(letter, value, line);
            return None;
        }
        match letter {
            b'h' => return Some(vec!["trace".into(), "--help".into()]),
            b'V' => return Some(vec!["--version".into()]),
            b'i' => line.push("--instruction-pointer".into()),
            b'z' | b'Z' => line.push(status(letter == b'z')),
            b'k' => line.push("--stack-traces".into()),
            b'd' => line.push("--debug".into()),
            b'Y' => line.push("--decode-pids=comm".into()),
            // The older name of -f.
            b'F' => line.push(OLD_FOLLOW.into()),
            _ => line.push(OsString::from_vec(vec![b'-', letter])),
        }
    }
    None
}

fn with_value(letter: u8, value: Option<OsString>, line: &mut Vec<OsString>) {
    let name = match letter {
        b'a' => "--columns=",
        b'b' => "--detach-on=",
        b'I' => "--interruptible=",
        b'O' => "--summary-syscall-overhead=",
        _ => "",
    };
    let mut argument = OsString::from(name);
    if name.is_empty() {
        argument.push("-");
        argument.push(OsStr::from_bytes(&[letter]));
    }
    match value {
        // To strace a `-` is a file of that name.
        Some(value) if letter == b'o' && value == "-" => argument.push("./-"),
        Some(value) if value.is_empty() => {
            line.push(argument);
            return line.push(value);
        }
        Some(value) => argument.push(value),
        None => {}
    }
    line.push(argument);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_of_strace_is_understood() {
        let check = |given: &str, expected: &str| {
            let line = translate(given.split_whitespace().map(Into::into).collect());
            let line: Vec<_> = line.iter().map(|word| word.to_string_lossy()).collect();
            assert_eq!(line.join(" "), expected, "{given}");
        };
        check("ls -a -i", "trace --strace ls -a -i");
        check("-ttTfo x.txt -s100 ls", "trace --strace -t -t -T -f -ox.txt -s100 ls");
        check("-a60 -e trace=open ls", "trace --strace --columns=60 -etrace=open ls");
        check("-fip 12", "trace --strace -f --instruction-pointer -p12");
        check("-o - ls", "trace --strace -o./- ls");
        check("-Xabbrev -F ls", "trace --strace -Xabbrev -f ls");
        check("-F -f -F ls", "trace --strace -f ls");
        check("--follow-forks --follow ls", "trace --strace --follow-forks ls");
        check("-FF ls", "trace --strace -f ls");
        check("-X raw ls", "trace --strace -Xraw ls");
        check("--trace open --col 9 ls", "trace --strace -etrace=open --columns=9 ls");
        check(
            "--const-print-style=abbrev --status=none -z ls",
            "trace --strace --const-print-style=abbrev -estatus=none -estatus=successful ls",
        );
        check(
            "--inject=close:error=5 -e fault=close --write 1 ls",
            "trace --strace -einject=close:error=5 -efault=close -ewrite=1 ls",
        );
        check("--follow --output=x ls", "trace --strace --follow-forks --output=x ls");
        check("--summary-only ls", "trace --strace --summary-only ls");
        check("--su ls", "trace --strace --su ls");
        check("-c -- -x", "trace --strace -c -- -x");
        check("-V", "--version");
        check("-fh", "trace --help");
        check("-s", "trace --strace -s");
    }
}

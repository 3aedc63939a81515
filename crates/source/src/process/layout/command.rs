//! The last column of a process's line: the program and its arguments, as `--procopts k r w`
//! select.

use layout::Row;
use layout::text::escape_into;

use super::super::fields::*;
use super::super::switches::PROCESS_OPTIONS;
use super::pid;

/// The most bytes of arguments with `--procopts w` without a number.
const ARGUMENTS_MAX: usize = 1000;

/// Interpreters: `--procopts k` shows the script that they run instead.
const SHELLS: &[&[u8]] = &[b"/bin/sh", b"/bin/bash", b"/usr/bin/perl", b"/bin/python"];

pub(super) fn push_command(out: &mut Vec<u8>, row: &Row<'_>) {
    let given = row.options().value(&PROCESS_OPTIONS);
    let (mut program, mut arguments) = words(row);
    if given.has_any(&['k', 'w']) {
        let width = given.number_behind('w').unwrap_or(ARGUMENTS_MAX);
        arguments = arguments.trim_ascii_end();
        arguments = &arguments[..arguments.len().min(width)];
    } else {
        arguments = b"";
    }
    if given.has('k') {
        if is_shell(program) {
            let (what, rest) = after_switch(arguments);
            // A shell without a script is shown itself; collectl shows nothing.
            if !what.is_empty() || row.exact() {
                (program, arguments) = (what, rest);
            }
        }
        if !given.has('w') {
            arguments = b"";
        }
    }
    if given.has('r') && program.first() == Some(&b'/') {
        let trimmed = program.strip_suffix(b"/").unwrap_or(program);
        program = trimmed.rsplit(|&byte| byte == b'/').next().unwrap_or(program);
    }
    push_program(out, row, program);
    out.push(b' ');
    escape_into(out, arguments);
}

/// The program and its arguments, or the name of a process without a command line.
fn words<'a>(row: &Row<'a>) -> (&'a [u8], &'a [u8]) {
    match own_line(row) {
        Some(line) => split(line),
        None => (row.text(COMMAND).unwrap_or_default(), b""),
    }
}

/// The command line; `None` for a thread other than the first, whose own name tells more.
fn own_line<'a>(row: &Row<'a>) -> Option<&'a [u8]> {
    let is_thread = row.raw(TGID).is_some_and(|group| group.cast_signed() != pid(row));
    row.text(COMMAND_LINE).filter(|line| !line.is_empty() && !is_thread)
}

/// The command line, or the name of a process without one.
pub(super) fn command_line<'a>(row: &Row<'a>) -> Option<&'a [u8]> {
    own_line(row).or(row.text(COMMAND))
}

/// The first word, and the text after the blanks that follow it.
fn split(line: &[u8]) -> (&[u8], &[u8]) {
    // Arguments are separated by blanks; a newline is part of an argument.
    let end = line.iter().position(|&byte| byte == b' ').unwrap_or(line.len());
    (&line[..end], line[end..].trim_ascii_start())
}

fn is_shell(program: &[u8]) -> bool {
    let holds = |shell: &&[u8]| program.windows(shell.len()).any(|part| part == *shell);
    program.starts_with(b"python") || SHELLS.iter().any(holds)
}

/// The script that a shell runs and its arguments; skips one option of the shell itself.
fn after_switch(arguments: &[u8]) -> (&[u8], &[u8]) {
    let (first, rest) = split(arguments);
    match first {
        [b'-', _, ..] if !rest.is_empty() => split(rest),
        _ => (first, rest),
    }
}

/// Writes the program; under `--exact` a name loses blanks and parentheses, as in collectl.
fn push_program(out: &mut Vec<u8>, row: &Row<'_>, program: &[u8]) {
    let is_name = own_line(row).is_none();
    if row.exact() && is_name && program.iter().any(|byte| b"() ".contains(byte)) {
        let kept: Vec<u8> = program.iter().copied().filter(|byte| !b"() ".contains(byte)).collect();
        return escape_into(out, &kept);
    }
    escape_into(out, program);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_give_way_to_what_they_run() {
        assert!(is_shell(b"/bin/bash") && is_shell(b"/usr/bin/python3") && is_shell(b"python3"));
        assert!(!is_shell(b"bash") && !is_shell(b"/opt/python-like"));
        assert_eq!(after_switch(b"-e /opt/run now here"), (&b"/opt/run"[..], &b"now here"[..]));
        assert_eq!(after_switch(b"/opt/run"), (&b"/opt/run"[..], &b""[..]));
        assert_eq!(after_switch(b"-c"), (&b"-c"[..], &b""[..]));
        assert_eq!(after_switch(b""), (&b""[..], &b""[..]));
        assert_eq!(split(b"a  b c"), (&b"a"[..], &b"b c"[..]));
    }
}

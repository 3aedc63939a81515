//! What a command line is answered with: one line and exit code 2 for what is wrong, something
//! useful at once for what is right.
#![allow(clippy::unwrap_used, reason = "a test that cannot run must fail")]

use std::path::Path;
use std::process::Output;

fn whit(line: &str) -> Output {
    crate::whit().args(line.split(' ')).output().unwrap()
}

/// The one line that refuses.
fn refusal(line: &str) -> String {
    let output = whit(line);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{line}: {text}");
    assert!(output.stdout.is_empty(), "{line}");
    assert_eq!(text.lines().count(), 1, "{line}: {text}");
    assert!(text.starts_with("whit: "), "{line}: {text}");
    text
}

#[test]
fn what_is_wrong_is_told_in_one_line() {
    for (line, part) in [
        ("record --import misc", "--import is not a switch of whit record"),
        ("record -oX", "-oX is for plot files"),
        ("record -l SCSI:10", "-l is for exceptions"),
        ("record -sD -ox -l SCSI:10", "-l: 'SCSI:10' is none of SVC:N"),
        ("record -sT", "no lines of it for the screen"),
        ("record -i -1", "is not a number of seconds"),
        ("record --rawdskfilt (", "unclosed group"),
        ("record --fields cpu.user", "--fields is for --csv"),
        ("record --root /nonexistent", "/nonexistent: there is neither proc nor sys"),
        ("record --rawtoo -P", "--filename"),
        ("record -c 0", "0 is not in 1.."),
        ("record --showcolheaders -i1", "cannot be used with"),
        ("record --showcolheaders --json", "that format has no column headings"),
        ("record --showheader -f x", "cannot be used with"),
        ("record --json -oT", "-oT changes nothing"),
        ("nonsense", "unrecognized subcommand"),
    ] {
        let text = refusal(line);
        assert!(text.contains(part), "{line}: {text}");
    }
}

#[test]
fn what_is_read_seldom_is_shown_at_once_when_nothing_else_is_asked_for() {
    if !Path::new("/proc/self/mountinfo").exists() {
        testkit::skip("mounted volumes", "no /proc/self/mountinfo");
        return;
    }
    let output = whit("record -sv -i0.1 -c2 --csv --fields filesystem");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(lines.len(), 2, "{text}");
    for line in lines {
        assert!(line.split(',').skip(2).any(|cell| !cell.is_empty()), "{text}");
    }
}

#[test]
fn a_damaged_file_in_a_folder_does_not_hide_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    assert!(whit(&format!("record -sc -i0.05 -c2 -f {path}")).status.success());
    std::fs::write(folder.path().join("a.whit"), "x").unwrap();
    std::fs::write(folder.path().join("b.whit"), "").unwrap();

    let output = whit(&format!("play {path}"));
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert_eq!(output.stdout.split(|&byte| byte == b'\n').count(), 5, "two headings, two lines");
    let expected = "a.whit: no recording of whit or collectl, no daily file of sysstat, and no raw log of atop; left out";
    assert!(text.contains(expected));
    assert!(text.contains("b.whit is empty; left out"), "{text}");

    // What was not recorded is not there, and not an empty success.
    let text = refusal(&format!("play -p {path}/*-*.whit -sC"));
    assert!(text.contains("none of 'C' is recorded"), "{text}");
    assert!(whit(&format!("play -p {path}/*-*.whit -sw")).status.success());

    // Named itself, it is an error.
    assert!(refusal(&format!("play {path}/a.whit")).contains("no recording of whit"));
    assert!(refusal(&format!("play -p {path}/*-*.whit --diff a 10:00")).contains("--diff a"));

    let cut = folder.path().join("cut/");
    let output =
        whit(&format!("play -p {path}/*-*.whit --from 00:00 --extract {}/", cut.display()));
    assert!(output.status.success(), "{output:?}");
    assert_eq!(std::fs::read_dir(cut).unwrap().count(), 1);
}

#[test]
fn sources_that_are_not_there_are_told_of() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("proc")).unwrap();
    let line = format!("record --root {} -sx -i0.05 -c1", root.path().display());
    let output = whit(&line);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "nothing is left to record");
    assert!(text.contains("-s x: this machine has no InfiniBand adapter"), "{text}");
}

//! `whit run --cat` and `--fifo`: a block that a job opens by a name, beside the installed
//! `parallel`, and what only whit promises of it: nothing is left behind.

use std::fs;
use std::path::Path;

use crate::beside_parallel::{has_parallel, lines, ours, same, start};

#[test]
fn blocks_by_name_are_those_of_parallel() {
    if !has_parallel() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), lines(1000)).unwrap();
    let text = lines(1000);
    let forms: &[&[&str]] = &[
        &["-k", "-j2", "--pipe", "--cat", "-N", "300", "tail -1 {}; wc -l <{}; cat {}; echo {#}"],
        &["-k", "--cat", "--block", "1k", "--header", ":", "head -2 {}; exit {#}"],
        &["-k", "--cat", "--block", "2k", "cat"],
        &["-k", "--cat", "-N", "300", "--dry-run", "wc {} {1} {2} {/} {//} {.} {#} {= s/T/x/ =}"],
        &["-k", "--cat", "-N", "300", "--tag", "tail -1 {}"],
        &["-k", "--cat", "-N", "300", "--tagstring", "{#}{}", "-v", "tail -1 {}"],
        &["-k", "-j2", "--pipe", "--fifo", "-N", "300", "wc -l <{}; echo {#}"],
        &["-k", "--fifo", "--block", "1k", "cat {}; exit {#}"],
        &["-k", "--pipe-part", "-a", "file", "--block", "1k", "--cat", "tail -1 {}; wc -c <{}"],
        &["-k", "--pipe-part", "-a", "file", "--header", ":", "--fifo", "--block", "2k", "cat {}"],
    ];
    for words in forms {
        same(words, folder.path(), &text);
    }
}

#[test]
fn the_joblog_is_that_of_parallel() {
    if !has_parallel() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), lines(1000)).unwrap();
    let forms: &[&[&str]] = &[
        &["-k", "--cat", "--block", "2k", "--joblog", "log", "tail -1 {}; exit {#}"],
        &["-k", "--fifo", "--block", "2k", "--joblog", "log", "cat {}"],
        &["-k", "--pipe-part", "-a", "file", "--cat", "--block", "2k", "--joblog", "log", "cat {}"],
    ];
    for words in forms {
        crate::beside_parallel::same_joblog(words, folder.path(), &lines(1000));
    }
}

#[test]
fn a_name_may_be_opened_twice_and_by_who_has_closed_everything() {
    let folder = tempfile::tempdir().unwrap();
    let text = lines(500_000);
    fs::write(folder.path().join("file"), &text).unwrap();
    // tac and tail seek; sort opens both; a shell that closes what it does not know opens by name.
    let script = "tac {} | tac | cmp - {} && sort -n {} {} | wc -l && (exec 3>&- 9>&-; head -1 {})";
    let source: [&[&str]; 2] = [&["--pipe"], &["--pipe-part", "-a", "file"]];
    for words in source {
        let words = [&["-k", "-j2", "--block", "1M", "--cat"], words, &[script]].concat();
        let output = ours(&words, folder.path(), &text);
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let counted: usize =
            out.lines().step_by(2).map(|line| line.parse::<usize>().unwrap()).sum();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((counted, output.status.code()), (1_000_000, Some(0)), "{out}{stderr}");
    }
}

#[test]
fn a_pipe_by_name_need_not_be_read_and_may_be_large() {
    let folder = tempfile::tempdir().unwrap();
    let text = lines(1_000_000);
    for (words, expected) in [
        (&["--fifo", "--block", "3M", "true {}"][..], 0),
        (&["--fifo", "--block", "3M", "head -1 {} >/dev/null; sleep 0.1"], 0),
        (&["--fifo", "-k", "--block", "3M", "cat {}"], text.len()),
        (&["--fifo", "-j2", "--round-robin", "--block", "100k", "cat {}"], text.len()),
        (&["--fifo", "--retries", "2", "--block", "3M", "cat {} | tail -c 1; false"], 3),
    ] {
        let output = ours(words, folder.path(), &text);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.stdout.len(), &*stderr), (expected, ""), "{words:?}");
    }
}

/// Names of a folder.
#[allow(clippy::unwrap_used)]
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn nothing_is_left_behind_by_a_killed_runner() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = tempfile::tempdir().unwrap();
    for option in ["--cat", "--fifo"] {
        let directory = temporary.path().to_str().unwrap();
        // The job ends by itself, and soon: nobody is left to end it.
        let script = "head -1 {} && touch begun && sleep 3";
        let words = ["--tmpdir", directory, option, "-N", "2", script];
        let mut child = start(&words, folder.path(), b"1\n2\n3\n");
        testkit::wait_until("a job has begun", || folder.path().join("begun").exists());
        assert!(child.try_wait().unwrap().is_none(), "it has ended early");
        assert!(names(temporary.path()).is_empty(), "{option}: there is a name");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(names(temporary.path()).is_empty(), "{option}: there is a name");
        fs::remove_file(folder.path().join("begun")).unwrap();
    }
}

//! `whit run -X`, `-m`, `-s`: command lines as long as may be, and never longer.

use std::io::Write as _;
use std::process::{Command, Output};

use crate::WHIT;
use crate::beside_parallel::{has_parallel, lines, ours, same};
use crate::run_remote::world::World;

/// So many lines of one word.
fn many(word: &str, count: usize) -> Vec<u8> {
    format!("{word}\n").repeat(count).into_bytes()
}

#[track_caller]
fn holds_all(output: &Output, word: &str, count: usize, what: &str) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((errors.as_ref(), output.status.code()), ("", Some(0)), "{what}");
    let text = String::from_utf8_lossy(&output.stdout);
    let found = text.split_whitespace().filter(|found| *found == word).count();
    assert_eq!(found, count, "{what}");
}

#[test]
fn a_line_of_any_length_can_be_started() {
    let folder = tempfile::tempdir().expect("a folder");
    // Of words of these lengths one makes a line that ends at the last byte, or beside it.
    for length in (1..=9).step_by(if testkit::is_long() { 1 } else { 4 }) {
        let word = "x".repeat(length);
        let count = 140_000 / (length + 1);
        for option in ["-X", "-m", "--xargs"] {
            for command in ["echo", "cd .; echo", "echo {#} {}"] {
                let output = ours(&["-k", option, command], folder.path(), &many(&word, count));
                holds_all(&output, &word, count, &format!("{option} {command} {length}"));
            }
        }
    }
}

#[test]
fn numbers_of_jobs_count_with_all_their_digits() {
    if !has_parallel() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for option in ["-X", "-m"] {
        for command in ["echo {#} {}", "echo {#}x{}"] {
            same(&["-j1", option, "-s", "20", command], folder.path(), &lines(200));
            same(&["-j3", "-k", option, "-s", "30", command], folder.path(), &lines(200));
        }
    }
}

#[test]
fn a_low_limit_of_the_stack_makes_shorter_lines() {
    for command in ["echo", ": ; /bin/echo"] {
        let script = "ulimit -s 1024; exec \"$@\"";
        let mut runner = Command::new("sh");
        runner.args(["-c", script, "sh", WHIT, "run", "-j1", "-X", command]);
        let output = testkit::run_on(&mut runner, &many("ab", 100_000));
        holds_all(&output, "ab", 100_000, command);
    }
}

#[test]
fn a_line_for_another_host_has_room_for_what_is_added() {
    let world = World::new();
    let mut values = std::fs::File::create(world.path("here/values")).expect("a file");
    // A quote becomes many on its way.
    values.write_all(&many("a'b", 40_000)).expect("written");
    for more in [&[][..], &["--workdir", "...", "--cleanup"]] {
        let words = [&["-j1", "-S", "one", "-a", "values", "-X"][..], more, &["echo"]].concat();
        holds_all(&world.whit(&words), "a'b", 40_000, &format!("{more:?}"));
    }
}

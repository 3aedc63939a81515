//! `whit run --tee` beside the installed `parallel`, and what happens when jobs read differently.

use std::fs;

use crate::beside_parallel::{has_parallel, lines, ours, same, same_joblog};

#[test]
fn every_job_is_given_all_as_by_parallel() {
    if !has_parallel() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), lines(1000)).unwrap();
    fs::write(folder.path().join("values"), b"x\ny\n").unwrap();
    let text = lines(1000);
    let forms: &[&[&str]] = &[
        &["-k", "--pipe", "--tee", "echo {} {#}; wc", ":::", "a", "b", "c", "d", "e"],
        &["-k", "--pipe", "--tee", "--tag", "wc", ":::", "-l", "-c"],
        &["-k", "-j3", "--pipe", "--tee", "echo {1} {2}; tail -1", ":::", "a", ":::", "x", "y"],
        &["-k", "--pipe", "--tee", "--link", "echo {1} {2}; wc", ":::", "a", "b", ":::", "x", "y"],
        &["-k", "--pipe", "--tee", "echo {}; wc", "::::", "values"],
        &["-k", "--pipe", "--tee", "wc; exit {#}", ":::", "a", "b"],
        &["-k", "--pipe", "--tee", "exec 0<&-; echo {}", ":::", "a", "b"],
        &["-k", "--pipe-part", "-a", "file", "--tee", "echo {}; tail -1", ":::", "a", "b"],
    ];
    for words in forms {
        same(words, folder.path(), &text);
    }
    same(&["-k", "--pipe", "--tee", "echo {}; wc", ":::", "a", "b"], folder.path(), b"");
    let words = ["--pipe", "--tee", "--joblog", "log", "head -1; exit {}", ":::", "1", "2", "0"];
    same_joblog(&words, folder.path(), &text);
}

#[test]
fn readers_of_any_pace_get_every_byte() {
    let folder = tempfile::tempdir().unwrap();
    let text = lines(2_000_000);
    fs::write(folder.path().join("input"), &text).unwrap();
    // One reads slowly, one nothing but the beginning, one closes it and goes on, one ends at once.
    let script = "case {} in 1) cmp - input && echo same;; \
        2) (sleep 0.3; cmp - input && echo same);; \
        3) head -c 3;; 4) exec 0<&-; sleep 0.5; echo closed;; 5) exit 0;; esac";
    for source in [&["--pipe"][..], &["--pipe-part", "-a", "input"]] {
        let words = [&["-k", "--tee"], source, &[script, ":::", "1", "2", "3", "4", "5"]].concat();
        let output = ours(&words, folder.path(), &text);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let expected = "same\nsame\n1\n2closed\n";
        assert_eq!((&*out, &*stderr, output.status.code()), (expected, "", Some(0)), "{source:?}");
    }
}

#[test]
fn what_comes_by_and_by_is_passed_on_at_once() {
    let folder = tempfile::tempdir().unwrap();
    // Only who has read the first line lets the second one come.
    let script = format!(
        "(echo a; while [ ! -e seen1 -o ! -e seen2 ]; do sleep 0.01; done; echo b) | \
         timeout 300 '{}' run -k --pipe --tee 'read x; touch seen{{}}; cat' ::: 1 2",
        crate::WHIT
    );
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script]);
    let output = crate::beside_parallel::run(command, folder.path(), b"");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "b\nb\n");
}

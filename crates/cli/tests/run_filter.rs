//! `whit run --filter` beside the installed `parallel`.

use crate::beside_parallel::{has_parallel, ours, same, same_joblog};

#[test]
fn jobs_are_left_out_as_by_parallel() {
    if !has_parallel() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let numbers = ["1", "2", "3"];
    let pairs = [&["-k", "echo {#} {1} {2}", ":::"], &numbers[..], &[":::"], &numbers[..]].concat();
    let forms: &[(&[&str], &[&str])] = &[
        (&["--filter", "{1} < {2}"], &pairs),
        (&["--filter", "{1} < {2}", "--filter", "{1}+{2} > 3"], &pairs),
        (&["--filter", "{1} + 1 == {2} or {#} > 8"], &pairs),
        (&["--filter", "{=1 $_ = $_ + 1 =} > 2"], &pairs),
        (&["--filter", "\"{}\" eq \"b\""], &["-k", "echo", ":::", "b", "d"]),
        (&["--filter", "\"{/}\" ne \"b\""], &["-k", "echo", ":::", "a/b", "c/d"]),
        (&["--filter", "{#} > 1", "--tag"], &["-k", "echo", ":::", "a", "c"]),
    ];
    for (filter, words) in forms {
        same(&[*filter, *words].concat(), folder.path(), b"");
    }
    let words = [&["--joblog", "log", "--filter", "{1} < {2}"], &pairs[..]].concat();
    same_joblog(&words, folder.path(), b"");
}

#[test]
fn what_is_no_condition_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let output = ours(&["--filter", "{} <", "echo", ":::", "1"], folder.path(), b"");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(255), "{stderr}");
    assert!(stderr.contains("--filter \"1 <\" of job 1"), "{stderr}");
    let output = ours(&["--pipe", "--filter", "1", "wc"], folder.path(), b"");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("leave out --filter"), "{stderr}");
}

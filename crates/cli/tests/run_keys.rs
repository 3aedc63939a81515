//! `whit run --group-by`, `--bin` and `--shard` beside the installed `parallel`: lines go to the jobs
//! to which it sends them.

use std::collections::BTreeMap;
use std::fs;

use crate::beside_parallel::{has_parallel, lines, ours, same};

/// `k,v` and six lines.
const TABLE: &[u8] = b"k,v\nb,1\na,2\na,3\nc,4\n2,5\n3,6\n";

#[test]
fn lines_with_the_same_key_are_a_record() {
    if !has_parallel() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("numbers"), lines(30)).unwrap();
    let tens = "$_=int($_/10)";
    let shown = "echo {#}; cat";
    let of_table: &[&[&str]] = &[
        &["--colsep", ",", "--group-by", "1", "-N1"],
        &["--colsep", ",", "--header", ":", "--group-by", "k", "-N1"],
        &["--colsep", ",", "--header", ":", "--group-by", "k s/[ab]//", "-N1"],
        &["--colsep", ",", "--groupby", "2 $_=$_>3", "-N1"],
        &["--colsep", "[,;]+", "--group-by", "1"],
    ];
    for words in of_table {
        same(&[&["--pipe", "-k"], *words, &[shown]].concat(), folder.path(), TABLE);
    }
    let of_lines: &[&[&str]] = &[
        &["--group-by", tens, "-N1", shown],
        &["--group-by", tens, "-N2", shown],
        &["--group-by", tens, "--block", "25", shown],
        &["--group-by", tens, "-N1", "--round-robin", "-j2", "cat; echo"],
    ];
    for words in of_lines {
        same(&[&["--pipe", "-k"], *words].concat(), folder.path(), &lines(30));
    }
    same(&["--pipe", "-k", "--group-by", "1", "-N1", shown], folder.path(), b"1\n1\n2");
    same(&["--pipe", "-k", "--group-by", "2", "-N1", shown], folder.path(), b"1\ta\n2\ta\n3\tb");
    let parts = ["--pipe-part", "-k", "-a", "numbers", "--group-by", tens, "--block", "5", shown];
    same(&parts, folder.path(), b"");
}

#[test]
fn a_key_is_the_number_of_a_job() {
    if !has_parallel() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let shown = "echo {#}; cat";
    for words in [
        &["--colsep", ",", "--bin", "2", "-j3"][..],
        &["--colsep", ",", "--bin", "2 $_*=2", "-j3"],
        &["--colsep", "[,;]", "--bin", "2", "-j2", "--tag"],
    ] {
        same(&[&["--pipe", "-k"], words, &[shown]].concat(), folder.path(), TABLE);
    }
    let odd = b"1.5\n2.7\nx\n\n9x\n-1.5\n-7\n0\n";
    same(&["--pipe", "-k", "--bin", "1", "-j3", shown], folder.path(), odd);
    same(&["--pipe", "-k", "--bin", "1", "-j3", "cat; exit {#}"], folder.path(), &lines(9));
    same(&["--pipe", "-k", "--bin", "1", "-j4", "wc -c"], folder.path(), &lines(200_000));
}

/// The hash is another one than parallel's: what counts is that a value has one job.
#[test]
fn all_lines_of_a_key_go_to_one_job() {
    let folder = tempfile::tempdir().unwrap();
    let input: String = (0..50_000).map(|at| format!("{}\tk{}\n", at, at % 97)).collect();
    let words = ["--pipe", "-j4", "--tagstring", "{#}", "--shard", "2", "cat"];
    let output = ours(&words, folder.path(), input.as_bytes());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 50_000, "no line is lost");
    let mut job_of = BTreeMap::new();
    for line in text.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        assert_eq!(*job_of.entry(columns[2]).or_insert(columns[0]), columns[0], "{line}");
    }
    let jobs: std::collections::BTreeSet<_> = job_of.values().collect();
    assert_eq!(jobs.len(), 4, "each job has some of 97 values");
}

#[test]
fn each_job_gets_the_header_and_one_that_does_not_read_stops_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--pipe", "-k", "-j3", "--colsep", ",", "--header", ":", "--bin", "v", "cat"];
    let output = ours(&words, folder.path(), b"k,v\na,1\nb,2\nc,4\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "k,v\na,1\nc,4\nk,v\nb,2\nk,v\n");
    let words = ["--pipe", "-k", "-j2", "--bin", "1", "test {#} = 1 || tail -n 1"];
    let output = ours(&words, folder.path(), &lines(400_000));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "400000\n");
}

#[test]
fn what_lines_with_keys_cannot_have_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    for (words, wanted) in [
        (&["--bin", "1", "cat"][..], "--bin needs --pipe"),
        (&["--pipe", "--bin", "1", "-j0", "cat"], "-j"),
        (&["--pipe", "--bin", "1", "-N1", "cat"], "leave out -N"),
        (&["--pipe", "--shard", "1", "--retries", "2", "cat"], "leave out --retries"),
        (&["--pipe", "--group-by", "1", "--recend", "x", "cat"], "leave out --recend"),
        (&["--pipe", "--group-by", "name", "cat"], "--header :"),
        (&["--pipe", "--bin", "0", "cat"], "counted from 1"),
        (&["--pipe", "--tee", "--bin", "1", "cat", ":::", "a"], "leave out --shard and --bin"),
    ] {
        let output = ours(words, folder.path(), b"1\n");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(wanted) && !output.status.success(), "{words:?}: {errors}");
    }
}

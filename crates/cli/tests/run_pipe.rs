//! `whit run --pipe` and `--pipe-part` beside the installed `parallel`: what jobs get and what
//! comes out must be the same.  How a stream is cut is compared in crate `run`; here it is that
//! jobs really are given it.

use std::fs;
use std::process::Command;

use crate::beside_parallel::{has_parallel, lines, ours, run, same, same_joblog};

#[test]
fn jobs_get_the_blocks_that_parallel_gives_them() {
    if !has_parallel() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = lines(1000);
    let forms: &[&[&str]] = &[
        &["-k", "--pipe", "--block", "1k", "wc"],
        &["-k", "--pipe", "-N", "300", "wc"],
        &["-k", "--spreadstdin", "-L", "7", "-N", "60", "echo {#}; tail -1"],
        &["-k", "--pipe", "--header", ":", "--block", "2k", "head -2"],
        &["-k", "--pipe", "--recend", "0\\n", "--rrs", "--block", "1k", "cat"],
        &["-k", "--pipe", "--recstart", "10", "--block", "1k", "cat; echo"],
        &["-k", "--pipe", "--regexp", "--recend", "[05]\\n", "--block", "1k", "wc"],
        &["-k", "--pipe", "--tagstring", "j{#}", "--block", "2k", "wc"],
        &["-k", "--pipe", "--dry-run", "--block", "2k", "echo a{}b {} {1} {#} c"],
        &["-k", "--pipe", "--block", "2k", "head -c 3; echo; exit {#}"],
        &["-k", "--pipe", "--retries", "2", "--block", "2k", "wc; false"],
        &["-k", "-j2", "--pipe", "--round-robin", "--block", "1k", "cat >/dev/null; echo {#}"],
        &["-k", "-j2", "--pipe", "--round-robin", "-N", "200", "cat"],
        &["-k", "-j3", "--pipe", "--round-robin", "-N", "150", "--tag", "echo {#} {%}; cat"],
        &["-k", "-j2", "--pipe", "--round-robin", "--header", ":", "-N", "200", "cat; exit {#}"],
        &["-k", "-j4", "--pipe", "--round-robin", "-L", "500", "echo {#}; cat"],
    ];
    for words in forms {
        same(words, folder.path(), &text);
    }
    same(&["--pipe", "wc"], folder.path(), b"");
}

#[test]
fn files_are_cut_as_parallel_cuts_them() {
    if !has_parallel() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), lines(100_000)).unwrap();
    fs::write(folder.path().join("other"), lines(1000)).unwrap();
    let forms: &[&[&str]] = &[
        &["-k", "-j2", "--pipe-part", "-a", "file", "wc"],
        &["-k", "-j3", "--pipe-part", "--block", "-2", "-a", "file", "wc"],
        &["-k", "--pipepart", "--block", "100k", "wc; echo {#}", "::::", "file"],
        &["-k", "--pipe-part", "--block", "2k", "-a", "other", "-a", "other", "echo {#}; wc -c"],
        &["-k", "--pipe-part", "--header", ":", "--block", "2k", "-a", "other", "head -2"],
        &["-k", "--pipe-part", "--recstart", "10", "--block", "1k", "-a", "other", "wc"],
    ];
    for words in forms {
        same(words, folder.path(), b"");
    }
}

/// parallel gives one block here: it looks for the last record in 128 KiB.
#[test]
fn files_are_cut_after_the_first_record_that_matches() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), lines(100)).unwrap();
    let cut = ["-k", "--pipe-part", "--regexp", "--recend", "[05]\n", "--block", "100"];
    let output = ours(&[&cut[..], &["-a", "file", "wc -c"]].concat(), folder.path(), b"");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "111\n105\n76\n", "{output:?}");
}

#[test]
fn the_joblog_has_what_parallel_says_was_sent() {
    if !has_parallel() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), lines(1000)).unwrap();
    let forms: &[&[&str]] = &[
        &["-k", "--pipe", "--header", ":", "--block", "2k", "--joblog", "log", "head -2"],
        &["-k", "--pipe-part", "--block", "2k", "-a", "file", "--joblog", "log", "wc"],
        &["-j2", "--round-robin", "--pipe", "--block", "1k", "--joblog", "log", "cat >/dev/null"],
    ];
    for words in forms {
        same_joblog(words, folder.path(), &lines(1000));
    }
}

#[test]
fn blocks_larger_than_a_pipe_arrive_whole() {
    let folder = tempfile::tempdir().unwrap();
    let text = lines(1_000_000);
    fs::write(folder.path().join("file"), &text).unwrap();
    let forms: &[&[&str]] = &[
        &["-k", "-j2", "--pipe", "--block", "3M", "cat"],
        &["-k", "-j2", "--pipe-part", "--block", "3M", "-a", "file", "cat"],
        &["-k", "-j2", "--pipe", "-N", "400000", "sleep 0.05; cat"],
        &["-k", "-j2", "--pipe", "--round-robin", "--block", "100k", "cat"],
    ];
    for words in forms {
        let output = ours(words, folder.path(), &text);
        let mut out = output.stdout;
        if words.contains(&"--round-robin") {
            let mut sorted: Vec<&[u8]> = out.split_inclusive(|&byte| byte == b'\n').collect();
            sorted.sort_by_key(|line| (line.len(), line.to_vec()));
            out = sorted.concat();
        }
        assert!(out == text, "{words:?}: {} bytes of {}", out.len(), text.len());
    }
}

#[test]
fn jobs_need_not_read_what_they_are_given() {
    let folder = tempfile::tempdir().unwrap();
    let text = lines(1_000_000);
    for words in [
        &["--pipe", "--block", "3M", "true"][..],
        &["-j2", "--pipe", "--round-robin", "--block", "1M", "head -c 10 >/dev/null"],
        &["--pipe", "--block", "3M", "exec 0<&-; sleep 0.2"],
    ] {
        let output = ours(words, folder.path(), &text);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), &*stderr), (Some(0), ""), "{words:?}");
    }
}

#[test]
fn a_block_is_not_waited_for_longer_than_asked() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "(echo a; sleep 1; echo b) | '{}' run -k --pipe --block-timeout 0.2 cat '&&' echo .",
        crate::WHIT
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]);
    let output = run(command, folder.path(), b"");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a\n.\nb\n.\n");
}

#[test]
fn what_means_nothing_for_blocks_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let forms: &[(&[&str], &str)] = &[
        (&["--block", "1k", "wc"], "--block needs --pipe"),
        (&["--pipe", "-X", "wc"], "leave out -X"),
        (&["--pipe", "wc", ":::", "a"], "values cannot be given"),
        (&["--pipe", "-a", "file", "wc"], "--pipe-part -a file"),
        (&["--pipe-part", "wc"], "name them with -a"),
        (&["--pipe-part", "-a", "/no/such", "wc"], "/no/such"),
        (&["--pipe", "--block", "-1", "wc"], "--pipe-part"),
        (&["--pipe", "--round-robin", "--retries", "2", "wc"], "leave out --retries"),
        (&["--pipe", "--cat", "--fifo", "wc {}"], "cannot be used with '--fifo'"),
        (&["--pipe", "--cat", "--round-robin", "wc {}"], "use --fifo"),
        (&["--cat", "-q", "wc", "{}"], "-q would quote"),
        (&["--cat", "-S", ":", "wc {}"], "this machine only"),
        (&["--cat", "--shell", "never", "wc {}"], "not quoted"),
        (&["--semaphore", "--fifo", "wc {}"], "leave out --cat and --fifo"),
        (&["--tee", "wc", ":::", "a"], "--tee needs --pipe"),
        (&["--pipe", "--tee", "wc"], "name them with :::"),
        (&["--pipe", "--tee", "-j2", "wc", ":::", "a", "b", "c"], "need -j3"),
        (&["--pipe", "--tee", "--block", "1k", "wc", ":::", "a"], "leave out --block"),
        (&["--pipe", "--tee", "--retries", "2", "wc", ":::", "a"], "leave out --retries"),
        (&["--pipe", "--tee", "--cat", "wc", ":::", "a"], "leave out --cat and --fifo"),
        (&["--pipe-part", "--tee", "wc", ":::", "a"], "name it with -a"),
    ];
    for (words, expected) in forms {
        let output = ours(words, folder.path(), b"a\n");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(255), "{words:?}: {stderr}");
        assert!(stderr.contains(expected), "{words:?}: {stderr}");
    }
}

//! What other programs do to recordings: delete them, cut them, add to them, put pipes beside them,
//! limit their size, and give files names that a terminal would act on.
#![allow(clippy::unwrap_used, reason = "a test that cannot run must fail")]

use std::io::{Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

fn whit(words: &[&str]) -> Command {
    let mut command = crate::whit();
    command.args(words);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn recordings(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "whit"));
    paths.sort();
    paths
}

/// A recorder and its first recording, which has samples.
fn recorder(folder: &Path, interval: &str) -> (Child, PathBuf) {
    let to = format!("{}/", folder.display());
    let child = whit(&["record", "-sc", "-i", interval, "--quiet", "-f", &to])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let path = testkit::wait_for("a recording", || recordings(folder).first().cloned());
    let first = || std::fs::metadata(&path).ok().filter(|facts| facts.len() > 1_000);
    testkit::wait_for("samples", || first().map(|facts| facts.len()));
    // Time for a few samples more.
    std::thread::sleep(Duration::from_millis(500));
    (child, path)
}

fn end(child: Child) -> Output {
    // SAFETY: the child was not waited for, so the process id is its own.
    unsafe { libc::kill(i32::try_from(child.id()).unwrap(), libc::SIGTERM) };
    child.wait_with_output().unwrap()
}

#[test]
fn a_recorder_whose_file_is_deleted_or_cut_begins_another() {
    for interval in ["0.05", "1"] {
        for cut in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let (child, path) = recorder(folder.path(), interval);
            if cut {
                std::fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
            } else {
                std::fs::remove_file(&path).unwrap();
            }
            let begun = || recordings(folder.path()).into_iter().find(|other| *other != path);
            let next = testkit::wait_for("another recording", begun);
            testkit::wait_for("samples in it", || {
                let shown = whit(&["play", next.to_str()?, "--csv"]).output().ok()?;
                (text(&shown.stdout).lines().count() > 20).then_some(())
            });
            let output = end(child);
            let error = text(&output.stderr);
            assert!(output.status.success(), "{error}");
            let what = if cut { "truncated" } else { "deleted" };
            assert!(error.contains(&format!("was {what} by another program")), "{error}");
            assert!(error.contains("samples are lost"), "{error}");
        }
    }
}

#[test]
fn a_recording_that_is_gone_at_the_end_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (child, path) = recorder(folder.path(), "60:60");
    std::fs::remove_file(&path).unwrap();
    let output = end(child);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("was deleted by another program"), "{output:?}");
}

/// A complete recording, or the file as a killed recorder leaves it.
fn recorded(folder: &Path) -> PathBuf {
    let (child, path) = recorder(folder, "0.05");
    assert!(end(child).status.success());
    path
}

#[test]
fn garbage_after_a_recording_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = recorded(folder.path());
    let quiet = whit(&["play", path.to_str().unwrap()]).output().unwrap();
    assert!(quiet.status.success(), "{quiet:?}");
    let mut file = std::fs::File::options().append(true).open(&path).unwrap();
    file.write_all(&[b'x'; 5_000]).unwrap();
    let output = whit(&["play", path.to_str().unwrap()]).output().unwrap();
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("bytes could not be read"), "{error}");
    assert!(!output.stdout.is_empty(), "the samples before it are shown");
}

#[test]
fn a_pipe_in_the_folder_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path());
    let pipe = folder.path().join("pipe.whit");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    for what in [folder.path(), &pipe] {
        // One that opened the pipe would wait for ever, but for timeout(1).
        let mut command = Command::new("timeout");
        let output = command.args(["300", crate::WHIT, "play"]).arg(what).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(text(&output.stderr).contains("is a pipe, a socket or a device"), "{output:?}");
        assert_eq!(output.stdout.is_empty(), what == pipe, "{output:?}");
    }
}

/// A command whose files may not become longer than `bytes`.
fn limited(bytes: u64, words: &[&str]) -> Command {
    let mut command = whit(words);
    // SAFETY: setrlimit(2) may be called between fork and exec, and the limit lives through it.
    unsafe {
        command.pre_exec(move || {
            let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
            libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit);
            Ok(())
        });
    }
    command
}

#[test]
fn a_limit_of_the_file_size_is_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let to = format!("{}/", folder.path().display());
    // Half a megabyte is reserved at once, and samples go on, lost, behind the limit.
    let words = ["record", "-scdnm", "-i0", "-c20000", "--quiet", "-f", &to];
    let output = limited(620_000, &words).output().unwrap();
    assert_eq!(output.status.signal(), None, "{output:?}");
    assert!(text(&output.stderr).contains("File too large"), "{output:?}");
    let path = recordings(folder.path()).remove(0);
    let shown = whit(&["play", path.to_str().unwrap()]).output().unwrap();
    assert!(text(&shown.stdout).lines().count() > 10, "{shown:?}");
}

#[test]
fn every_verb_that_writes_files_reports_a_limit_of_their_size() {
    let folder = tempfile::tempdir().unwrap();
    let path = recorded(folder.path());
    let (path, to) = (path.to_str().unwrap(), folder.path().join("out"));
    let to = to.to_str().unwrap();
    let link = format!("{to}/");
    std::fs::create_dir(to).unwrap();
    let log = format!("{to}/log");
    let (results, json) = (format!("{to}/results.csv"), format!("{to}/log.json"));
    for words in [
        vec!["play", path, "-scm", "-P", "-f", &link, "-oz"],
        vec!["play", path, "-scm", "-P", "-f", &link],
        vec!["play", path, "--extract", &link, "--from", "00:00"],
        vec!["trace", "--way", "ptrace", "-o", &log, "ls"],
        vec!["run", "--plain", "--joblog", &log, "true", ":::", "1", "2", "3"],
        vec!["run", "--plain", "--joblog-json", &json, "true", ":::", "1", "2", "3"],
        vec!["run", "--plain", "--results", &results, "echo", ":::", "1", "2", "3"],
    ] {
        let output = limited(40, &words).output().unwrap();
        assert_eq!(output.status.signal(), None, "{words:?}: {output:?}");
        let error = text(&output.stderr);
        assert!(error.contains("File too large"), "{words:?}: {output:?}");
        // The status of a tracer is that of its command, that of a run is that of its jobs.
        assert_eq!(output.status.success(), words[0] != "play", "{words:?}: {output:?}");
    }
    // A recorder goes on: the limit may be raised as a disk may be cleared.
    let words = ["record", "-sc", "-c3", "-i0.01", "--quiet", "-P", "-ocz", "-f", &link];
    let output = limited(40, &words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output.stderr).contains("File too large"), "{output:?}");
    // The standard output of a verb may be a file, too.
    let file = std::fs::File::create(format!("{to}/shown")).unwrap();
    let output = limited(40, &["play", path]).stdout(file).output().unwrap();
    assert_eq!((output.status.code(), output.status.signal()), (Some(2), None), "{output:?}");
}

#[test]
fn programs_that_whit_starts_are_killed_by_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let kill = "kill -XFSZ $$; echo survived";
    let to = format!("{}/", folder.path().display());
    for words in [
        vec!["run", "--plain", kill, ":::", "1"],
        vec!["trace", "-c", "sh", "-c", kill],
        vec!["trace", "--way", "ptrace", "sh", "-c", kill],
        vec!["run", "--plain", "--record", &to, kill, ":::", "1"],
    ] {
        let output = whit(&words).output().unwrap();
        assert!(!text(&output.stdout).contains("survived"), "{words:?}: {output:?}");
        // Whoever ignores the signal has children that ignore it.
        let script = "trap '' XFSZ; exec \"$0\" \"$@\"";
        let mut ignoring = Command::new("sh");
        ignoring.args(["-c", script, crate::WHIT]).args(&words);
        let output = ignoring.stdin(Stdio::null()).output().unwrap();
        assert!(text(&output.stdout).contains("survived"), "{words:?}: {output:?}");
    }
}

/// Plot files in a folder.
fn plot_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.to_str().unwrap().contains(".tab"));
    paths.sort();
    paths
}

#[test]
fn plot_files_that_are_deleted_or_cut_are_begun_again() {
    for letters in ["z", ""] {
        for what in ["deleted", "truncated"] {
            let folder = tempfile::tempdir().unwrap();
            let to = format!("{}/p", folder.path().display());
            std::fs::create_dir(&to).unwrap();
            let letters = format!("-oc{letters}");
            let words = ["record", "-sc", "-i0.1", "--quiet", "-P", &letters, "-F0", "-f", &to];
            let child = whit(&words).stderr(Stdio::piped()).spawn().unwrap();
            let here = || plot_files(Path::new(&to)).first().cloned();
            let path = testkit::wait_for("a plot file", here);
            // Complete lines, below a heading.
            let lines = || {
                let file = std::fs::File::open(&path).ok()?;
                let mut bytes = Vec::new();
                // A compressed file that grows has no end yet.
                let _ = match letters.contains('z') {
                    true => std::io::BufReader::new(file).read_to_end(&mut bytes),
                    false => flate2::read::MultiGzDecoder::new(file).read_to_end(&mut bytes),
                };
                let lines = text(&bytes);
                let below = lines.rsplit_once("#Date")?.1.lines().count();
                (below > 5).then_some(lines)
            };
            testkit::wait_for("lines", lines);
            if what == "deleted" {
                std::fs::remove_dir_all(&to).unwrap();
            } else {
                std::fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
            }
            testkit::wait_for("lines again", lines);
            let output = end(child);
            let error = text(&output.stderr);
            assert!(output.status.success(), "{error}");
            assert!(error.contains(&format!("was {what} by another program")), "{error}");
            assert!(error.contains("intervals are lost; the file is begun again"), "{error}");
            // The rest of the compressed data is there.
            assert_eq!(lines().unwrap().matches("# Collectl:").count(), 1);
        }
    }
}

#[test]
fn the_name_of_a_file_does_not_reach_the_terminal_raw() {
    let folder = tempfile::tempdir().unwrap();
    let path = recorded(folder.path());
    let hostile = folder.path().join("a\x1b]0;x\x07b.whit");
    std::fs::rename(path, &hostile).unwrap();
    let empty = folder.path().join("c\x1b[2J.whit");
    std::fs::write(&empty, "").unwrap();
    let name = hostile.to_str().unwrap();
    for words in [
        vec!["play", folder.path().to_str().unwrap()],
        vec!["play", name, "--showheader"],
        vec!["play", name, "-P"],
        vec!["play", name, "-P", "-oi"],
        vec!["play", name, "--export", name],
        vec!["play", empty.to_str().unwrap()],
        vec!["play", name, "--from", "00:00-00:00"],
        vec!["play", name, "--extract", name],
        vec!["top", empty.to_str().unwrap()],
        vec!["doctor", "--root", name],
        vec!["record", "-C", "\x1b[2J"],
        vec!["record", "-sc", "-c1", "-i0.01", "-f", name],
        vec!["record", "\x1b[2J"],
        vec!["\x1b[2J"],
        vec!["run", "-j\x1b[2J"],
    ] {
        let output = whit(&words).output().unwrap();
        for bytes in [&output.stdout, &output.stderr] {
            let shown = text(bytes);
            assert!(!shown.contains(['\x1b', '\x07']), "{words:?}: {shown:?}");
        }
    }
}

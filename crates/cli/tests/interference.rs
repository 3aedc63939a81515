//! What other programs do to recordings: delete them, cut them, add to them, put pipes beside them,
//! limit their size, and give files names that a terminal would act on.
#![allow(clippy::unwrap_used, reason = "a test that cannot run must fail")]

use std::io::Write as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn whit(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_whit"));
    command.args(words).stdin(Stdio::null());
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

/// Waits until `is_so` gives something.
fn wait_for<T>(what: &str, is_so: impl Fn() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = is_so() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A recorder and its first recording, which has samples.
fn recorder(folder: &Path, interval: &str) -> (Child, PathBuf) {
    let to = format!("{}/", folder.display());
    let child = whit(&["record", "-sc", "-i", interval, "--quiet", "-f", &to])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let path = wait_for("a recording", || recordings(folder).first().cloned());
    let first = || std::fs::metadata(&path).ok().filter(|facts| facts.len() > 1_000);
    wait_for("samples", || first().map(|facts| facts.len()));
    // A few samples more.
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
            let next = wait_for("another recording", begun);
            wait_for("samples in it", || {
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
        let mut child = whit(&["play", what.to_str().unwrap()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let start = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if start.elapsed() > Duration::from_secs(30) {
                child.kill().unwrap();
                panic!("{} is waited for", what.display());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(text(&output.stderr).contains("is a pipe, a socket or a device"), "{output:?}");
        assert_eq!(output.stdout.is_empty(), what == pipe, "{output:?}");
    }
}

#[test]
fn a_limit_of_the_file_size_is_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let to = format!("{}/", folder.path().display());
    let mut command = whit(&["record", "-scdnm", "-i0", "-c60000", "--quiet", "-f", &to]);
    // SAFETY: setrlimit(2) may be called between fork and exec, and the limit lives through it.
    unsafe {
        command.pre_exec(|| {
            let limit = libc::rlimit { rlim_cur: 700_000, rlim_max: 700_000 };
            libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit);
            Ok(())
        });
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.signal(), None, "{output:?}");
    assert!(text(&output.stderr).contains("File too large"), "{output:?}");
    let path = recordings(folder.path()).remove(0);
    let shown = whit(&["play", path.to_str().unwrap()]).output().unwrap();
    assert!(text(&shown.stdout).lines().count() > 10, "{shown:?}");
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

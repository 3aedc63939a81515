//! `--export rrd` through the caching daemon: the same files as written directly.
#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use testkit::Running;

use crate::history_common::{databases, recording_in, run, whit};

struct Daemon(Running, PathBuf);

impl Daemon {
    fn start(folder: &Path) -> Self {
        let socket = folder.join("socket");
        let mut command = whit();
        command.args(["rrdcached", "-g", "-F", "-b", ".", "-B", "-R", "-j", "journal", "-l"]);
        command.arg(&socket).current_dir(folder).stderr(Stdio::null());
        let daemon = Self(Running::start(&mut command), socket);
        testkit::connect(&daemon.1);
        daemon
    }

    fn address(&self) -> String {
        format!("unix:{}", self.1.display())
    }

    /// Ends it; it writes all files.
    fn end(mut self) {
        self.0.signal(libc::SIGTERM);
        assert!(self.0.ended().success());
    }
}

/// The dumps of the databases below a folder, by their names.
fn dumps(folder: &Path) -> BTreeMap<String, String> {
    let dump = |path: &PathBuf| run(whit().args(["rrd", "dump"]).arg(path)).stdout;
    let text = |path: &PathBuf| String::from_utf8(dump(path)).unwrap();
    databases(folder).into_iter().map(|(name, path)| (name, text(&path))).collect()
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    (folder, path)
}

#[test]
fn the_daemon_writes_the_same_files() {
    let (_held, path) = folder();
    run(whit().args(["record", "-i1", "-c4", "-scdmnCDN", "-f"]).arg(path.join("x")));
    let recording = recording_in(&path);
    let play = |export: &str| {
        run(whit().arg("play").arg(&recording).args(["--export", export]).current_dir(&path))
    };
    let (direct, through) = (path.join("direct"), path.join("through"));
    play(&format!("rrd,{}", direct.display()));
    let daemon = Daemon::start(&path);
    play(&format!("rrd,{},daemon={}", through.display(), daemon.address()));
    // What the files have already changes nothing.
    let again = play(&format!("rrd,{},daemon={}", through.display(), daemon.address()));
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(said.contains("rows are not newer than the files"), "{said}");
    daemon.end();
    let (direct, through) = (dumps(&direct), dumps(&through));
    assert!(direct.len() > 4, "{:?}", direct.keys());
    assert_eq!(direct.keys().collect::<Vec<_>>(), through.keys().collect::<Vec<_>>());
    for (name, dump) in &direct {
        // Most of the million lines are equal: only the others are taken apart.
        let through = &through[name];
        assert_eq!(dump.lines().count(), through.lines().count(), "{name}");
        for (one, other) in dump.lines().zip(through.lines()).filter(|(one, other)| one != other) {
            let pairs = words(one).zip(words(other));
            let differs = pairs.enumerate().find(|(_, (one, other))| !is_alike(one, other));
            assert_eq!(differs, None, "{name}");
            assert_eq!(words(one).count(), words(other).count(), "{name}: {one} {other}");
        }
    }
}

fn words(dump: &str) -> impl Iterator<Item = &str> {
    dump.split(|c: char| c.is_whitespace() || "<>".contains(c)).filter(|word| !word.is_empty())
}

/// Whether two words are equal, or values as `1.9999900000e-02` of which only the last digit differs:
/// the daemon gets texts, and RRDtool's rules for reading them lose the last bit of some.
fn is_alike(one: &str, other: &str) -> bool {
    let value = |word: &str| word.contains('e').then(|| word.parse::<f64>().ok()).flatten();
    match (value(one), value(other)) {
        (Some(one), Some(other)) => (one - other).abs() <= one.abs() * 1.5e-10,
        _ => one == other,
    }
}

#[test]
fn a_recorder_takes_the_daemon_of_the_environment_and_goes_on_without_it() {
    let (_held, path) = folder();
    let daemon = Daemon::start(&path);
    let record = |export: &str, address: &str| {
        let mut command = whit();
        command.args(["record", "-i1", "-c3", "-scm", "--export", export]);
        run(command.env("RRDCACHED_ADDRESS", address))
    };
    let export = format!("rrd,{}/db", path.display());
    record(&export, &daemon.address());
    // The rows are with the daemon, not in the file.
    let last = |file: &str| {
        let done = run(whit().args(["rrd", "last"]).arg(path.join(file)));
        String::from_utf8(done.stdout).unwrap().trim().parse::<i64>().unwrap()
    };
    let begun = last("db/cpu.rrd");
    let address = daemon.address();
    daemon.end();
    assert!(last("db/cpu.rrd") > begun);
    // A daemon that is not there is reported, and the recording goes on.
    let done = record(&export, &address);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("Unable to connect to rrdcached"), "{said}");
    assert!(said.contains("rows could not be written"), "{said}");
    // daemon= writes directly whatever the environment says.
    record(&format!("rrd,{}/own,daemon=", path.display()), &address);
    assert!(path.join("own/cpu.rrd").exists());
}

//! A command that is killed, or refused by the system, leaves the state before or after it.
//!
//! Each command is traced once; then it is run anew for each system call that it made, and a fault
//! is put into that call.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rrd::image::Image;

/// The program that runs commands, which cargo builds beside the tests.
fn program() -> PathBuf {
    let own = std::env::current_exe().expect("this program");
    let folder = own.parent().and_then(Path::parent).expect("a folder");
    folder.join("examples/command")
}

/// Runs a command in a folder, in which all of its files are.
fn run(tracer: &[&str], folder: &Path, line: &str) -> Output {
    let program = program().display().to_string();
    let mut words: Vec<&str> = tracer.to_vec();
    words.push(&program);
    words.extend(line.split_whitespace());
    Command::new(words[0]).args(&words[1..]).current_dir(folder).output().expect("a program")
}

/// A folder with a file whose update changes the header and a row of each of nine archives.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = [
        "create f.rrd --start 1000000000 DS:in:COUNTER:600:0:U DS:out:GAUGE:600:0:U \
        RRA:AVERAGE:0.5:1:600 RRA:AVERAGE:0.5:2:700 RRA:MAX:0.5:1:600 RRA:MAX:0.5:2:700 \
        RRA:HWPREDICT:300:0.1:0.0035:40",
        "update f.rrd 1000000500:5:7",
        "dump f.rrd f.xml",
    ];
    for line in lines {
        assert!(run(&[], folder.path(), line).status.success(), "{line}");
    }
    folder
}

/// Every file of a folder with its bytes.  Rows of a new file begin anywhere: `is_same` knows.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("the folder");
    let read = |entry: std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, std::fs::read(entry.path()).expect("a file"))
    };
    entries.map(|entry| read(entry.expect("an entry"))).collect()
}

fn put_back(folder: &Path, files: &BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).expect("the folder") {
        std::fs::remove_file(entry.expect("an entry").path()).expect("removed");
    }
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).expect("written");
    }
}

/// The system calls of a command by their names, with their numbers of use.
fn calls(folder: &Path, line: &str) -> BTreeMap<String, usize> {
    let log = tempfile::NamedTempFile::new().expect("a file");
    let path = log.path().display().to_string();
    let output = run(&["strace", "-qq", "-o", &path], folder, line);
    assert!(output.status.success(), "{line}");
    let text = std::fs::read_to_string(log.path()).expect("a trace");
    let mut calls = BTreeMap::new();
    for line in text.lines() {
        if let Some((name, _)) = line.split_once('(') {
            *calls.entry(name.to_owned()).or_default() += 1;
        }
    }
    // The first is the start of the program.
    calls.remove("execve");
    calls
}

/// Whether a file has the rows and the state of another, wherever its rows begin.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let ordered = |bytes: &[u8]| {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), bytes).expect("written");
        let mut image = Image::read(file.path()).ok()?;
        let sources = image.header.sources.len();
        for (cells, row) in image.cells.iter_mut().zip(&mut image.header.current_row) {
            let oldest = (*row as usize + 1) * sources % cells.len();
            cells.rotate_left(oldest);
            *row = 0;
        }
        Some(image.to_bytes())
    };
    one == other || ordered(one).is_some_and(|bytes| Some(bytes) == ordered(other))
}

/// Puts a fault into each system call of a command and looks at the file `name` afterwards.
fn at_every_call(line: &str, name: &str, fault: &str) {
    at_every_nth_call(1, line, name, fault);
}

/// Puts a fault into each third system call of a command, in a long run into each.
fn at_many_calls(line: &str, name: &str, fault: &str) {
    at_every_nth_call(if testkit::is_long() { 1 } else { 3 }, line, name, fault);
}

fn at_every_nth_call(step: usize, line: &str, name: &str, fault: &str) {
    if !testkit::is_installed("strace", "strace") {
        return;
    }
    let folder = folder();
    let folder = folder.path();
    let before = files(folder);
    let calls = calls(folder, line);
    let after = files(folder);
    assert_ne!(before.get(name), after.get(name), "{line}: nothing is done");
    let (mut injected, mut kept) = (0, 0);
    let mut left = 0;
    for (call, count) in &calls {
        for number in 1..=*count {
            left = (left + 1) % step;
            if left != 0 {
                continue;
            }
            put_back(folder, &before);
            let inject = format!("inject={call}:{fault}:when={number}");
            let output = run(&["strace", "-qq", "-o", "/dev/null", "-e", &inject], folder, line);
            let found = files(folder);
            let is_done = output.status.success();
            let what = format!("{line}: {inject}");
            let same = |wanted: Option<&Vec<u8>>| match (wanted, found.get(name)) {
                (Some(wanted), Some(found)) => is_same(wanted, found),
                (wanted, found) => wanted.is_none() && found.is_none(),
            };
            let is_before = same(before.get(name));
            assert!(is_before || same(after.get(name)), "{what}: neither before nor after");
            assert!(!is_done || !is_before, "{what}: it said that it is done");
            for (other, bytes) in &before {
                assert!(other == name || found.get(other) == Some(bytes), "{what}: {other}");
            }
            // Only a process that is killed leaves its unfinished file behind; one without memory
            // ends as if it were.
            let is_tidy =
                found.keys().all(|name| before.contains_key(name) || after.contains_key(name));
            let is_unlink = call.starts_with("unlink") || call == "rename";
            let is_killed = fault.contains("KILL") || call == "brk";
            assert!(is_tidy || is_killed || is_unlink, "{what}: {:?}", found.keys());
            injected += usize::from(!is_done);
            kept += usize::from(!is_done && is_before);
        }
    }
    assert!(injected * step > 10 && kept * step > 5, "{line}: {injected} {kept}");
}

const KILL: &str = "signal=KILL";
const FULL: &str = "error=ENOSPC";

/// Completes two steps, so that all archives get a row.
const UPDATE: &str = "update f.rrd 1000000900:17:8";
const CREATE: &str = "create new.rrd --start 1000000000 DS:a:GAUGE:600:U:U RRA:AVERAGE:0.5:1:600";
const RESIZE: &str = "resize f.rrd 0 GROW 10";
const TUNE: &str = "tune f.rrd -h in:700 -i out:3";
const RESTRUCTURE: &str = "tune f.rrd DS:x:GAUGE:600:U:U RRA:MIN:0.5:2:30";
const RESTORE: &str = "restore -f f.xml g.rrd";
const CONVERT: &str = "convert --in-place f.rrd --step 60";
const REPAIR: &str = "repair f.rrd g.rrd";

#[test]
fn an_update_that_is_killed() {
    at_every_call(UPDATE, "f.rrd", KILL);
}

#[test]
fn an_update_on_a_full_disk() {
    at_every_call(UPDATE, "f.rrd", FULL);
}

#[test]
fn commands_that_are_killed() {
    at_many_calls(CREATE, "new.rrd", KILL);
    at_many_calls(RESIZE, "resize.rrd", KILL);
    at_many_calls(TUNE, "f.rrd", KILL);
    at_many_calls(RESTRUCTURE, "f.rrd", KILL);
    at_many_calls(RESTORE, "g.rrd", KILL);
    at_many_calls(CONVERT, "f.rrd", KILL);
    at_many_calls(REPAIR, "g.rrd", KILL);
}

#[test]
fn commands_on_a_full_disk() {
    at_many_calls(CREATE, "new.rrd", FULL);
    at_many_calls(RESIZE, "resize.rrd", FULL);
    at_many_calls(TUNE, "f.rrd", FULL);
    at_many_calls(RESTRUCTURE, "f.rrd", FULL);
    at_many_calls(RESTORE, "g.rrd", FULL);
    at_many_calls(CONVERT, "f.rrd", FULL);
    at_many_calls(REPAIR, "g.rrd", FULL);
}

/// Updates a file that cannot be mapped, as on some file systems; further faults are put in.
fn unmapped(folder: &Path, faults: &[&str]) -> Output {
    // Only calls that name the file or its descriptor.
    let path = folder.join("f.rrd").display().to_string();
    let mut tracer = vec!["strace", "-qq", "-o", "/dev/null", "-P", &path];
    for fault in ["inject=mmap:error=ENODEV"].iter().chain(faults) {
        tracer.extend(["-e", fault]);
    }
    let update = UPDATE.replace("f.rrd", &path);
    run(&tracer, folder, &update)
}

#[test]
fn a_file_that_cannot_be_mapped() {
    if !testkit::is_installed("strace", "strace") {
        return;
    }
    let folder = folder();
    let folder = folder.path();
    let before = files(folder);
    assert!(run(&[], folder, UPDATE).status.success());
    let after = files(folder);
    put_back(folder, &before);
    assert!(unmapped(folder, &[]).status.success());
    assert_eq!(files(folder), after);
    let mut refused = 0;
    for number in 1..=12 {
        put_back(folder, &before);
        // Each write is refused once; what was written by then is put back.
        let fault = format!("inject=pwrite64:error=ENOSPC:when={number}");
        let output = unmapped(folder, &[&fault]);
        let expected = if output.status.success() { &after } else { &before };
        assert_eq!(&files(folder), expected, "{fault}");
        refused += usize::from(!output.status.success());
    }
    assert!(refused > 3, "{refused}");
    // Without memory files neither.
    put_back(folder, &before);
    let tracer = ["strace", "-qq", "-o", "/dev/null", "-e", "inject=memfd_create:error=ENOSYS"];
    assert!(run(&tracer, folder, UPDATE).status.success());
    assert_eq!(files(folder), after);
}

/// `rrdtool` holds its lock while it maps the file.
#[test]
fn a_lock_of_rrdtool_is_an_error() {
    if !testkit::is_installed("strace", "strace") || !testkit::is_installed("rrdtool", "rrdtool") {
        return;
    }
    let folder = folder();
    let folder = folder.path();
    let before = files(folder);
    let mut theirs = Command::new("strace")
        .args(["-qq", "-o", "/dev/null", "-e", "inject=madvise:delay_enter=1000000:when=1"])
        .args(["rrdtool", "update", "f.rrd", "1000000900:17:8"])
        .current_dir(folder)
        .spawn()
        .expect("rrdtool");
    // The kernel's list: a look at the lock by taking it would be in rrdtool's way.
    let metadata = std::fs::metadata(folder.join("f.rrd")).expect("the file");
    let inode = format!(":{} ", std::os::unix::fs::MetadataExt::ino(&metadata));
    let is_locked = || {
        let locks = std::fs::read_to_string("/proc/locks").expect("/proc/locks");
        locks.lines().any(|line| line.contains("POSIX") && line.contains(&inode))
    };
    while !is_locked() {
        assert!(theirs.try_wait().expect("a state").is_none(), "rrdtool has ended already");
        std::thread::yield_now();
    }
    for line in [UPDATE, TUNE, RESTRUCTURE, RESIZE, CONVERT, "repair --in-place f.rrd"] {
        assert!(!run(&[], folder, line).status.success(), "{line}");
    }
    assert_eq!(files(folder), before, "while the lock is held");
    assert!(theirs.wait().expect("an end").success());
    assert!(!run(&[], folder, UPDATE).status.success(), "their update came first");
    assert!(run(&[], folder, "update f.rrd 1000001200:18:8").status.success());
}

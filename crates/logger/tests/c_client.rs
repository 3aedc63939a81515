//! The C and C++ clients (`clients/c`), compiled by the system's compilers: what they write is read
//! here as what Rust writes, and survives the same.  A short run kills 8 programs, a long one 40.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use crate::reading::{
    Found, Read, TimeSpan, assert_all_completed, assert_throttled, folder, numbers, read_folder,
    read_more, read_ring, ring_sizes,
};
use logger::LogLevel;
use logring::{FormatKind, ProcessFile, RingDirectory, RingReader, abi};
use testkit::Running;

pub(crate) fn client() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/c")
}

/// Runs a compiler; it must say nothing.
pub(crate) fn compile(compiler: &str, arguments: &[&str], to: &Path) {
    let root = client();
    let said = Command::new(compiler)
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-Iinclude"])
        .args(arguments)
        .arg("-o")
        .arg(to)
        .current_dir(root)
        .output()
        .unwrap();
    assert!(said.status.success(), "{compiler}: {}", String::from_utf8_lossy(&said.stderr));
}

/// The programs in C and C++; `None` without compilers.
pub(crate) fn programs() -> Option<&'static (PathBuf, PathBuf)> {
    static BUILT: OnceLock<Option<(PathBuf, PathBuf)>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let has = |compiler| testkit::is_installed("the C and C++ clients", compiler);
        if !has("cc") || !has("c++") {
            return None;
        }
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("c-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (c, cpp, object) = (folder.join("c"), folder.join("cpp"), folder.join("whit_log.o"));
        compile("cc", &["-std=c11", "-c", "src/whit_log.c"], &object);
        let object = object.to_str().unwrap();
        compile("cc", &["-std=c11", "tests/program.c", object], &c);
        compile("c++", &["-std=c++17", "tests/program.cpp", object], &cpp);
        Some((c, cpp))
    });
    built.as_ref()
}

/// Runs a role to its end; gives what it printed.
fn run(program: &Path, role: &str, folder: &Path) -> String {
    let done = Command::new(program).arg(role).arg(folder).output().unwrap();
    assert!(done.status.success(), "{role}: {:?}", done.status);
    String::from_utf8(done.stdout).unwrap()
}

fn of<'a>(found: &'a Found, format: &str) -> Vec<&'a Read> {
    found.records.iter().filter(|record| record.format == format).collect()
}

fn pairs(record: &Read) -> Vec<String> {
    record.pairs.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

#[test]
fn what_c_writes_is_read() {
    let Some((c, _)) = programs() else { return };
    let folder = folder();
    let times = TimeSpan::begin();
    run(c, "everything", folder.path());
    let found = read_folder(folder.path());
    assert!(found.faults.is_empty() && found.missing == 0, "{found:?}");
    assert!(found.records.iter().all(|one| one.format_kind == FormatKind::Printf));
    assert_eq!(of(&found, "nothing")[0].level, Some(LogLevel::Info));
    let all = of(&found, "%d %u %ld %llu %c %s %s %.3f %p %d")[0];
    let (min, max) = (i64::MIN.to_string(), u64::MAX.to_string());
    let values = ["-1", "2", &min, &max, "120", "text", "own", "2.5", "Pointer(16)", "true"];
    assert_eq!(all.values, values);
    assert_eq!((all.routine.as_str(), all.logger.as_str()), ("everything", "CONTROL/PM01"));
    assert_eq!(of(&found, "%s %*d|%-5s|%5.1f%%")[0].values, ["", "6", "42", "ab", "99.5"]);
    assert_eq!(of(&found, "%s")[0].values, ["(null)"]);
    assert_eq!(
        (of(&found, "never %d").len(), of(&found, "once %d")[0].values[0].as_str()),
        (0, "1")
    );
    let scoped = pairs(of(&found, "in scope %d")[0]);
    assert_eq!(scoped, ["Array=A1", "Antenna=DV01", "Audience=Operator"]);
    assert_eq!(pairs(of(&found, "out of scope %d")[0]), ["Antenna=DV01", "Audience=Operator"]);
    let long = of(&found, "long %s %d")[0];
    assert!(long.flags & abi::FLAG_CUT != 0 && long.values[0].len() > 200_000);
    assert_eq!(long.values[1], "7");
    assert!(found.records.iter().all(|one| times.contains(one.realtime_ns)));
}

#[test]
fn what_cpp_writes_is_read() {
    let Some((_, cpp)) = programs() else { return };
    let folder = folder();
    run(cpp, "everything", folder.path());
    let found = read_folder(folder.path());
    assert!(found.faults.is_empty() && found.missing == 0, "{found:?}");
    let all = of(&found, "{} {} {} {} {} {} {} {}")[0];
    assert_eq!(all.values, ["-1", "2", "2.5", "true", "x", "text", "owned", "view"]);
    assert_eq!((all.level, all.format_kind), (Some(LogLevel::Error), FormatKind::Cpp));
    assert_eq!(of(&found, "{} {{}} {:>6}")[0].values, ["-3", "literal"]);
    let generic: Vec<&str> =
        of(&found, "generic {}").iter().map(|one| one.values[0].as_str()).collect();
    assert_eq!(generic, ["7", "seven", "8"]);
    assert_eq!(pairs(of(&found, "in scope {}")[0]), ["Antenna=DV01", "Array=A1"]);
    assert_eq!(pairs(of(&found, "out of scope {}")[0]), ["Array=A1"]);
    assert_eq!(of(&found, "thread {}").len(), 1);
    assert_eq!(of(&found, "never {}").len(), 0);
}

#[test]
fn what_is_wrong_does_not_compile() {
    if programs().is_none() {
        return;
    }
    let cases = [
        ("cc", "c11", "c", "WHIT_LOG_INFO(log, \"%s\", 5);", "-Werror=format"),
        ("cc", "c11", "c", "WHIT_LOG_INFO(log, \"%d\");", "-Werror=format"),
        ("cc", "c11", "c", "WHIT_LOG_INFO(log, \"%d\", *log);", "_Generic"),
        ("c++", "c++17", "c++", "WHIT_INFO(log, \"{}\");", "as many arguments"),
        ("c++", "c++17", "c++", "WHIT_INFO(log, \"{0}\", 1);", "or {:...} only"),
        ("c++", "c++17", "c++", "WHIT_INFO(log, \"{}\", log);", "is a number, bool, char"),
    ];
    testkit::side_by_side(&cases, 2, |(compiler, standard, language, call, said)| {
        let language = *language;
        let (header, logger) = match language {
            "c" => ("whit_log.h", "const whit_log_logger *log"),
            _ => ("whit_log.hpp", "whit::Logger &log"),
        };
        let source =
            format!("#include \"{header}\"\nvoid f({logger});\nvoid f({logger}) {{ {call} }}\n");
        let path = folder().keep().join("wrong");
        std::fs::write(&path, source).unwrap();
        let standard = format!("-std={standard}");
        let mut command = Command::new(compiler);
        command.args(["-fsyntax-only", "-Wall", "-Werror", "-Iinclude", "-x", language, &standard]);
        let done = command.arg(&path).current_dir(client()).output().unwrap();
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(!done.status.success() && errors.contains(said), "{call}: {errors}");
    });
}

#[test]
fn what_c_completed_before_a_kill_is_found_once() {
    let Some((c, _)) = programs() else { return };
    let mut random = testkit::Random::from_seed(20_261_123);
    for round in 0..testkit::share(40) {
        let folder = folder();
        let mut command = Command::new(c);
        command.arg("endless").arg(folder.path()).stdout(Stdio::piped());
        let mut child = Running::start(&mut command);
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        std::thread::sleep(Duration::from_micros(random.below(20_000)));
        child.kill();
        assert_all_completed(folder.path(), round);
    }
}

#[test]
fn forks_threads_and_signal_handlers_log_in_c() {
    let Some((c, _)) = programs() else { return };
    let forked = folder();
    run(c, "fork", forked.path());
    let found = read_folder(forked.path());
    assert_eq!((found.missing, found.faults.len()), (0, 0));
    assert_eq!(
        (of(&found, "%d in the child").len(), of(&found, "%d in the parent").len()),
        (3000, 300)
    );
    assert_eq!((of(&found, "%d new place").len(), of(&found, "%lu thread").len()), (3, 3));
    let pids: BTreeMap<u32, ()> = found.records.iter().map(|one| (one.pid, ())).collect();
    assert_eq!(pids.len(), 4);

    let churned = folder();
    run(c, "churn", churned.path());
    let found = read_folder(churned.path());
    let mut numbers = numbers(&found);
    numbers.sort_unstable();
    assert_eq!(numbers, (0..1000).collect::<Vec<u64>>());
    assert!(found.threads == 1000 && found.missing == 0 && found.rings <= 21, "{}", found.rings);

    let signalled = folder();
    let said = run(c, "signal", signalled.path());
    let number = |name: &str| -> usize {
        said.split(name).nth(1).unwrap().split_whitespace().next().unwrap().parse().unwrap()
    };
    let found = read_folder(signalled.path());
    let dropped: u64 = found.counted.values().sum();
    assert_eq!(of(&found, "%lu own").len(), number("own="));
    assert_eq!(of(&found, "%lu in the handler").len() as u64 + dropped, number("signals=") as u64);
    assert!(found.records.iter().any(|one| one.flags & abi::FLAG_ASIDE != 0));
}

#[test]
fn full_rings_of_c_do_as_their_policy_says() {
    let Some((c, _)) = programs() else { return };
    for (role, is_lossless) in
        [("drop", false), ("overwrite", false), ("block", false), ("grow", true)]
    {
        let folder = folder();
        run(c, role, folder.path());
        let found = read_folder(folder.path());
        let kept = numbers(&found);
        let dropped = 1000 - kept.len() as u64;
        assert_eq!((dropped == 0, found.counted[&4]), (is_lossless, dropped), "{role}");
        let first = if role == "overwrite" { dropped } else { 0 };
        assert!(kept.iter().copied().eq(first..first + kept.len() as u64), "{role}");
    }
    // With a reader every record arrives.
    let folder = folder();
    let mut child = Command::new(c).arg("block").arg(folder.path()).spawn().unwrap();
    let mut found = Found::default();
    while child.try_wait().unwrap().is_none() {
        read_more(folder.path(), &mut found);
    }
    read_more(folder.path(), &mut found);
    assert_eq!(numbers(&found), (0..1000).collect::<Vec<u64>>());
    assert_eq!(found.missing, 0);
}

#[test]
fn a_thread_of_c_that_asks_for_it_has_its_whole_ring_at_once() {
    let Some((c, _)) = programs() else { return };
    let folder = folder();
    run(c, "attach", folder.path());
    let kib = ring_sizes(folder.path()).into_iter().map(|bytes| bytes >> 10);
    assert_eq!(kib.collect::<Vec<_>>(), [32, 256]);
    assert_eq!(numbers(&read_folder(folder.path())), (0..2000).collect::<Vec<u64>>());
}

#[test]
fn a_burst_of_c_maps_the_pages_that_it_uses_and_few_more() {
    let Some((c, _)) = programs() else { return };
    let folder = folder();
    let said = run(c, "faults", folder.path());
    let faults: u64 =
        said.trim().strip_prefix("faults=").unwrap().trim_matches('.').parse().unwrap();
    // Its records are 118 pages; the rings of 64, 256 and 1,024 KiB that they go through have 336.
    assert!((4..200).contains(&faults), "{faults}");
    let found = read_folder(folder.path());
    assert_eq!((numbers(&found).len(), found.missing), (10_000, 0));
}

#[test]
fn what_a_limit_of_records_in_a_second_suppresses_is_counted_and_said_in_c() {
    let Some((c, _)) = programs() else { return };
    let folder = folder();
    run(c, "throttle", folder.path());
    assert_throttled(folder.path());
}

/// Reads what a process has in a folder of its own namespace, and in files without names.
fn read_process(pid: u32, folder: &Path) -> Found {
    let inside = format!("/proc/{pid}/root{}", folder.display());
    let mut found = Found::default();
    let named = RingDirectory::scan(Path::new(&inside)).unwrap();
    let mut processes = named.processes;
    let mut rings = named.rings;
    for entry in std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap() {
        let path = entry.unwrap().path();
        let target = std::fs::read_link(&path).unwrap_or_default();
        if target.to_str().is_some_and(|name| name.starts_with("/memfd:whit-log")) {
            let head = std::fs::read(&path).unwrap();
            let is_ring = head.starts_with(&abi::RING_MAGIC);
            if is_ring { rings.push(path) } else { processes.push(path) }
        }
    }
    let open = |path: &Path| std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let process = ProcessFile::from_file(open(&processes[0]), &processes[0]).unwrap();
    for path in rings {
        let mut ring = RingReader::from_file(open(&path), &path).unwrap();
        found.rings += usize::from(!path.starts_with(&inside));
        read_ring(&mut ring, &process, &mut found);
    }
    found
}

/// On a tmpfs that is full, in a mount namespace of its own: rings without names, then a process file without one; each record is there.
#[test]
fn a_full_tmpfs_gives_private_rings_in_c() {
    let Some((c, _)) = programs() else { return };
    for (size, is_private) in [("600k", 0), ("24k", 1)] {
        let folder = folder();
        let (path, program) = (folder.path().display(), c.display());
        let mount = format!("mount -t tmpfs -o size={size},mode=700 none {path}");
        let script = format!("{mount} || exit 3; exec {program} stay {path}");
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", &script]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if line.is_empty() {
            let said = child.wait_with_output().unwrap().stderr;
            testkit::skip_refused("a mount namespace", &String::from_utf8_lossy(&said));
            return;
        }
        assert_eq!(line.trim(), format!("private={is_private}"));
        let found = read_process(child.id(), folder.path());
        let mut numbers = numbers(&found);
        numbers.sort_unstable();
        assert_eq!(numbers, (0..30).collect::<Vec<u64>>(), "{size}");
        assert_eq!((found.threads, found.missing, found.faults.len()), (30, 0, 0), "{size}");
        assert!(
            found.rings > 0 && (found.rings < 30 || is_private == 1),
            "{size}: {}",
            found.rings
        );
        drop(child.stdin.take());
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(ended.status.success(), "{size}: {said}");
        let why = "log records stay in this process: No space left on device";
        assert_eq!(said.contains(why), is_private == 1, "{size}: {said}");
    }
}

/// Every role of the test programs under the compiler's checks of addresses and undefined behaviour,
/// and of races.
#[test]
fn nothing_is_said_under_sanitizers() {
    if programs().is_none() {
        return;
    }
    let roles = [
        "everything",
        "fork",
        "churn",
        "signal",
        "drop",
        "overwrite",
        "grow",
        "block",
        "throttle",
        "burst",
        "features",
        "limited",
    ];
    // GCC says that it sees no fences in checks of races: they are on shared memory here.
    let checks = [
        ("address", &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"][..]),
        ("thread", &["-fsanitize=thread", "-Wno-tsan"][..]),
    ];
    let built = folder();
    testkit::side_by_side(&checks, 2, |(name, options)| {
        let path = |end: &str| built.path().join(format!("{name}{end}"));
        let (object, c, cpp) = (path(".o"), path("-c"), path("-cpp"));
        let compile = |compiler, arguments: &[&str], to: &Path| {
            compile(compiler, &[*options, arguments].concat(), to);
        };
        compile("cc", &["-O1", "-g", "-std=c11", "-c", "src/whit_log.c"], &object);
        let object = object.to_str().unwrap();
        compile("cc", &["-O0", "-std=c11", "tests/program.c", object], &c);
        if *name == "address" {
            compile("c++", &["-O0", "-std=c++17", "tests/program.cpp", object], &cpp);
        }
        for (program, roles) in [(c, &roles[..]), (cpp, &["everything", "features"][..])] {
            if !program.exists() {
                continue;
            }
            // Some of them wait for a second to pass.
            testkit::side_by_side(roles, 3, |role| {
                let folder = folder();
                // The check of races wants addresses that are not random.
                let mut command = Command::new("setarch");
                let done = command.arg("-R").arg(&program).arg(role).arg(folder.path()).output();
                let done = done.unwrap();
                let said = String::from_utf8_lossy(&done.stderr);
                assert!(done.status.success() && said.is_empty(), "{name} {role}: {said}");
            });
        }
    });
}

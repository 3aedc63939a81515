//! The Java client (`clients/java`), compiled by the system's `javac`: the conformance list, what
//! `java.util.logging` logs, kills, damaged rings, and calls that allocate nothing.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use crate::common::{Running, central, drain, folders, proxy, pump_to_end};
use crate::conformance::{ScopeIs, clients, conform, held};
use log_store::audit::Audit;

/// The sources of a folder, without those of adapters, which are in folders of it.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let items = std::fs::read_dir(folder).unwrap().map(|item| item.unwrap().path());
    items.filter(|path| path.extension().is_some_and(|end| end == "java")).collect()
}

/// The folder of the client's classes and of its test programs, compiled once; `None` without `javac`.
pub(crate) fn compiled() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        if !testkit::is_installed("the Java client", "javac") {
            return None;
        }
        let name = format!("java-client-{}", std::process::id());
        let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut compiler = Command::new("javac");
        compiler.args(["--release", "17", "-Xlint:all,-try", "-Werror", "-d"]).arg(&to);
        compiler.args(sources(&clients().join("java/src/main/java/whit/log")));
        compiler.args(sources(&clients().join("java/tests")));
        compiler.arg(clients().join("conformance/Program.java"));
        let said = compiler.output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        Some(to)
    });
    built.as_deref()
}

/// A program that logs into a folder: quick to start, on a machine that is busy.
fn java(classes: &Path, rings: &Path) -> Command {
    let mut command = Command::new("java");
    command
        .args(["-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp"])
        .arg(classes);
    command.env("WHIT_LOG_DIRECTORY", rings);
    command
}

#[test]
fn the_store_has_the_list_as_java_writes_it() {
    let Some(classes) = compiled() else { return };
    // The other tests have rings of their own for each thread: a short run takes the other way here.
    let ways = if testkit::is_long() { &["own", "shared"][..] } else { &["shared"] };
    for &way in ways {
        conform(&format!("Java, {way} rings"), ScopeIs::Context, &|list, first, folders| {
            let mut command = java(classes, &folders.rings);
            command.arg("Program").arg(list).args([&first.to_string(), way]);
            command
        });
    }
}

/// What the role `everything` must leave in the store.
fn assert_everything(lines: &[String]) {
    let count = |line: &str| lines.iter().filter(|one| *one == line).count();
    let thrown = |class: &str, message: &str| {
        format!("\"exception.type\":\"{class}\",\"exception.message\":\"{message}\"")
    };
    for (level, logger, message) in [
        ("INFO", "jul.a", "plain {0} and 100%"),
        ("WARNING", "jul.a", "with ü and true"),
        ("DEBUG", "jul.a", "fine"),
        ("DELOUSE", "jul.a", "finer"),
        ("NOTICE", "jul.a", "noticed"),
        ("EMERGENCY", "jul.a", "emergency"),
    ] {
        let line =
            format!("\"level\":\"{level}\",\"logger\":\"{logger}\",\"message\":\"{message}\"}}");
        assert_eq!(count(&line), 1, "{line}");
    }
    let direct = |level: &str, message: &str| {
        count(&format!(
            "\"level\":\"{level}\",\"logger\":\"direct\",\"message\":\"{message}\",\"context\":{{\"Antenna\":\"DV01\"}}}}"
        ))
    };
    assert_eq!(direct("ERROR", "object [1, 2] and nested"), 1);
    assert_eq!(direct("INFO", "within 1"), 1);
    assert_eq!(direct("INFO", "x 2.5 null true 7"), 1);
    assert!((0..3000).all(|number| direct("INFO", &format!("dynamic {number}")) == 1));
    assert!((0..40).all(|number| direct("INFO", &format!("thread {number}")) == 1));
    for (class, message) in
        [("java.lang.IllegalStateException", "why"), ("java.io.IOException", "disk")]
    {
        let is_one = |line: &&String| {
            line.contains(&thrown(class, message))
                && line.contains("\\tat Client.everything(Client.java:")
        };
        assert_eq!(lines.iter().filter(is_one).count(), 1, "{class}");
    }
    let others = lines.iter().filter(|line| {
        line.contains("\"logger\":\"java\"") && line.contains("\"data\":{\"logger\":\"many/")
    });
    assert_eq!(others.count(), 1100 + 3 - 1024);
    assert_eq!(lines.len(), 4151);
}

#[test]
fn what_java_logs_is_in_the_store() {
    let Some(classes) = compiled() else { return };
    let folders = folders();
    let central = central(&folders.store, &folders.socket);
    let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
    let mut command = java(classes, &folders.rings);
    let mut writer = Running::start(command.args(["Client", "everything"]).stdout(Stdio::piped()));
    pump_to_end(&mut proxy, &mut writer);
    let said = std::io::read_to_string(writer.stdout.take().unwrap()).unwrap();
    assert!(writer.wait().unwrap().success() && said == "flushed true\n", "{said}");
    drain(&mut proxy, &folders.rings);
    central.stop();
    let audit = Audit::of(&folders.store, true).unwrap();
    assert!(audit.is_whole() && audit.total().dropped == 0, "{audit:?}");
    assert_everything(&held(&folders.store));
}

/// A record of a call that returned is in the ring: killed anywhere, the store has all of them once.
#[test]
fn what_java_logged_before_a_kill_is_in_the_store_once() {
    let Some(classes) = compiled() else { return };
    let mut random = testkit::Random::from_seed(20_261_126);
    for round in 0..testkit::share(20) {
        let folders = folders();
        let central = central(&folders.store, &folders.socket);
        let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
        let expected = folders.all.path().join("expected");
        let mut command = java(classes, &folders.rings);
        command.args(["Client", "endless"]).arg(&expected).stdout(Stdio::piped());
        let mut writer = Running::start(&mut command);
        let mut line = String::new();
        BufReader::new(writer.stdout.take().unwrap()).read_line(&mut line).unwrap();
        std::thread::sleep(Duration::from_micros(random.below(20_000)));
        writer.kill();
        drain(&mut proxy, &folders.rings);
        central.stop();
        let completed = std::fs::read_to_string(&expected).unwrap();
        let completed: usize = completed.trim().parse().unwrap_or(0);
        let got = held(&folders.store);
        let is_next =
            |(number, line): (usize, &String)| line.contains(&format!("\"message\":\"{number}\""));
        assert!(got.iter().enumerate().all(is_next), "round {round}");
        assert!(got.len() >= completed, "round {round}: {completed} were completed");
    }
}

#[test]
fn no_ring_ends_a_program_in_java() {
    let Some(classes) = compiled() else { return };
    let folders = folders();
    let done = java(classes, &folders.rings).args(["Client", "hostile"]).output().unwrap();
    assert!(done.status.success() && done.stdout == b"went on\n", "{done:?}");
}

#[test]
fn calls_of_java_with_constants_and_primitives_allocate_nothing() {
    let Some(classes) = compiled() else { return };
    let folders = folders();
    let done = java(classes, &folders.rings).args(["Client", "allocations"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout), "allocated 0\n", "{done:?}");
}

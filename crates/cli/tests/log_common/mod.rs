//! What tests of `whit log` share: a program that logs (this one, started again), and how `whit`
//! is run.
#![allow(dead_code, clippy::unwrap_used, reason = "shared by tests, of which each uses a part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use logring::ArgumentType;
use logring::writer::{self, FullPolicy, RingSettings, SiteDescription};
use testkit::{Running, own_test, wait_until};

/// What this program is to do when it is started again: `FOLDER|SECONDS`.
const WRITER: &str = "WHIT_LOG_TEST_WRITER";

/// Not a test: a process that writes three records of `a.one` with level INFO and two of `b.two` with
/// level ERROR.
#[test]
fn writer() {
    let Ok(role) = std::env::var(WRITER) else { return };
    let (folder, seconds) = role.split_once('|').unwrap();
    let mut settings = RingSettings::new(PathBuf::from(folder), "hostx", "writerx");
    let many = seconds.strip_prefix("drop ");
    if many.is_some() {
        settings.policies = [FullPolicy::DropNewest; 16];
        settings.ring_bytes = 64 << 10;
    }
    let many = many.map(|count| count.parse::<u64>().unwrap());
    let seconds = if many.is_some() { "0" } else { seconds };
    writer::start(settings).unwrap();
    for (logger_name, level, format, count) in
        [("a.one", 4, "-number {} of one", 3_u64), ("b.two", 8, "trouble {}", 2)]
    {
        let logger = writer::logger_id(logger_name).unwrap();
        let context =
            writer::context_id(logger, &[("Antenna", logger_name), ("Audience", "Operator")]);
        let context = context.unwrap();
        let site = SiteDescription {
            file: "x.rs",
            line: 7,
            routine: "run",
            level,
            format,
            format_kind: 1,
            role: 0,
            types: &[ArgumentType::Unsigned as u8],
        };
        let site = writer::site_id(&site).unwrap();
        for number in 0..many.unwrap_or(count) {
            writer::write(level, site, context, &(number,));
        }
    }
    std::thread::sleep(Duration::from_secs(seconds.parse().unwrap()));
}

pub(crate) fn start_writer(folder: &Path, seconds: u64) -> Running {
    let mut command = own_test("log_common::writer");
    command.stdout(Stdio::null()).env(WRITER, format!("{}|{seconds}", folder.display()));
    Running::start(&mut command)
}

pub(crate) fn write(folder: &Path) {
    assert!(start_writer(folder, 0).ended().success());
}

/// Writes so many records of each logger, into a ring that has no room for them and drops the newest.
pub(crate) fn write_and_drop(folder: &Path, count: u64) {
    let mut command = own_test("log_common::writer");
    command.stdout(Stdio::null()).env(WRITER, format!("{}|drop {count}", folder.display()));
    assert!(Running::start(&mut command).ended().success());
}

/// Runs `whit log WORDS`, in a folder.
pub(crate) fn whit(folder: &Path, words: &str) -> Output {
    command(folder, words).output().unwrap()
}

pub(crate) fn command(folder: &Path, words: &str) -> Command {
    let mut command = crate::whit();
    command.arg("log").args(words.split_whitespace()).current_dir(folder);
    command.env("TZ", "Asia/Karachi");
    command
}

pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn start(folder: &Path, words: &str) -> Running {
    let process = Running::start(&mut command(folder, words));
    if words.starts_with("central") {
        wait_until("the server's socket", || folder.join("socket").exists());
    }
    process
}

/// Ends a server in order.
pub(crate) fn end(mut process: Running) {
    wait_until("it takes the signal", || process.takes_signal(libc::SIGTERM));
    process.signal(libc::SIGTERM);
    assert!(process.ended().success());
}

/// A folder with `rings`.
pub(crate) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    std::fs::create_dir(folder.path().join("rings")).unwrap();
    folder
}

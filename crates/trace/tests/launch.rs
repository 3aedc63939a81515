//! A command is held before its `execve` and runs when it is let go, with what belongs to it.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::time::Duration;

use trace::WaitStatus;
use trace::engine::{Error, HeldCommand, TracedCommand};

fn command(words: &[&str]) -> TracedCommand {
    TracedCommand::new(words, Vec::new(), std::env::var_os("PATH").unwrap())
}

/// Waits until the command has ended.
fn end(launch: &mut HeldCommand) -> WaitStatus {
    testkit::wait_for("its end", || launch.ended().unwrap())
}

fn program(pid: i32) -> std::path::PathBuf {
    fs::read_link(format!("/proc/{pid}/exe")).unwrap()
}

#[test]
fn it_waits_until_it_is_let_go() {
    let mut launch =
        HeldCommand::start(&command(&["sh", "-c", "read line </dev/null; exit 6"])).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(program(launch.pid()), std::env::current_exe().unwrap());
    assert_eq!(launch.ended().unwrap(), None);
    launch.release().unwrap();
    launch.running().unwrap();
    assert_ne!(
        fs::read_link(format!("/proc/{}/exe", launch.pid())).ok(),
        std::env::current_exe().ok()
    );
    let end = end(&mut launch);
    assert_eq!(end, WaitStatus::Exited(6));
    assert_eq!(launch.ended().unwrap(), Some(end));
}

#[test]
fn one_that_is_never_let_go_is_ended() {
    let launch = HeldCommand::start(&command(&["true"])).unwrap();
    let pid = launch.pid();
    assert!(fs::exists(format!("/proc/{pid}")).unwrap());
    drop(launch);
    assert!(!fs::exists(format!("/proc/{pid}")).unwrap());
}

#[test]
fn what_execve_refuses_comes_back() {
    for (path, number) in [("/", libc::EACCES), ("/etc/passwd", libc::EACCES)] {
        let mut launch = HeldCommand::start(&command(&[path])).unwrap();
        launch.release().unwrap();
        match launch.running() {
            Err(Error::Exec { program, why }) => {
                assert_eq!((program.as_str(), why.raw_os_error()), (path, Some(number)));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(end(&mut launch), WaitStatus::Exited(127));
    }
}

#[test]
fn programs_are_found_as_a_shell_finds_them() {
    let place = tempfile::tempdir().unwrap();
    let folder = |name: &str| {
        let folder = place.path().join(name);
        fs::create_dir(&folder).unwrap();
        folder
    };
    let [first, second, third] = ["first", "second", "third"].map(folder);
    // A folder of that name, a file that nobody may run, and then the program.
    fs::create_dir(first.join("tool")).unwrap();
    fs::write(second.join("tool"), "").unwrap();
    fs::set_permissions(second.join("tool"), fs::Permissions::from_mode(0o644)).unwrap();
    symlink("/bin/true", third.join("tool")).unwrap();
    let mut command = command(&["tool"]);
    let folders = [Path::new("/no/such"), &first, &second, &third];
    command.folders = std::env::join_paths(folders).unwrap();
    assert_eq!(command.file().unwrap(), third.join("tool"));
    let mut launch = HeldCommand::start(&command).unwrap();
    launch.release().unwrap();
    launch.running().unwrap();
    assert_eq!(end(&mut launch), WaitStatus::Exited(0));

    fs::remove_file(third.join("tool")).unwrap();
    let error = HeldCommand::start(&command).unwrap_err();
    assert_eq!(error.to_string(), "no command \"tool\" in the folders of PATH");
    command.program = OsString::new();
    assert!(matches!(command.file(), Err(Error::NotFound(_))));
}

#[test]
fn signals_are_those_of_the_caller_and_pipes_break_as_usual() {
    // Two signals blocked here are blocked there; SIGPIPE, which is ignored here, is not.
    let read = |line: &str, text: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(line)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    };
    // SAFETY: the set is live; only this thread's mask changes.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&raw mut set, libc::SIGUSR1);
        libc::sigaddset(&raw mut set, libc::SIGWINCH);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
    let mut launch = HeldCommand::start(&command(&["sleep", "60"])).unwrap();
    launch.release().unwrap();
    launch.running().unwrap();
    let text = fs::read_to_string(format!("/proc/{}/status", launch.pid())).unwrap();
    let bit = |signal: i32| 1u64 << (signal - 1);
    assert_eq!(read("SigBlk:", &text), bit(libc::SIGUSR1) | bit(libc::SIGWINCH));
    assert_eq!(read("SigIgn:", &text) & bit(libc::SIGPIPE), 0);
    assert_eq!(read("SigCgt:", &text), 0);
    // SAFETY: our child, which nobody has waited for.
    unsafe { libc::kill(launch.pid(), libc::SIGKILL) };
    assert_eq!(end(&mut launch), WaitStatus::Signaled { number: libc::SIGKILL, dumped: false });
}

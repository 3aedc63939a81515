//! Parts are forked: they share pages with the service, and nothing else is to be seen of it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::{Running, http, wait_for, wait_until, write_program};

use super::{Place, place};

/// The service by another file than cargo's, which can be replaced, started by a command in front of it.
fn start_copy(place: &Place, program: &Path, before: &[&str]) -> Running {
    let watch = place.command("watch");
    if fs::hard_link(watch.get_program(), program).is_err() {
        fs::copy(watch.get_program(), program).unwrap();
    }
    let words: Vec<_> = before.iter().map(OsStr::new).chain([program.as_os_str()]).collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args(watch.get_args()).stdin(Stdio::null());
    command.env_remove("RUNTIME_DIRECTORY").env_remove("STATE_DIRECTORY");
    let said = fs::File::create(place.file("said")).unwrap();
    Running::start(command.stdout(Stdio::null()).stderr(said))
}

fn running(pid: i32) -> PathBuf {
    fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default()
}

/// Why the process of a part executes the program, as the status of the service says it.
fn executed(place: &Place, name: &str) -> String {
    let shown = || {
        let status = place.command("watch").arg("--status").output().unwrap();
        let shown = String::from_utf8(status.stdout).unwrap();
        let line = shown.lines().find(|line| line.starts_with(name))?;
        let (_, why) = line.split_once("; is executed, and shares no memory: ")?;
        Some(why.to_owned())
    };
    wait_for("why it is executed", shown)
}

/// KiB of the program's constants that the loader has written to, and this process's proportion of them.
fn relocated_kib(pid: i32) -> (u64, u64) {
    let maps = fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap();
    let program = running(pid).display().to_string();
    let (mut is_constant, mut proportional, mut sums) = (false, 0, (0, 0));
    for line in maps.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let kib = || words[1].parse::<u64>().unwrap();
        match words[0] {
            "Pss:" if is_constant => proportional = kib(),
            // Of constants without addresses no page is anything but the file's.
            "Anonymous:" if is_constant && kib() > 0 => {
                sums = (sums.0 + kib(), sums.1 + proportional);
            }
            name if !name.ends_with(':') => {
                is_constant = words[1] == "r--p" && line.ends_with(&program);
            }
            _ => {}
        }
    }
    sums
}

/// Checks that a process of a part is what a fresh program would be.
fn check_part(pid: i32, verb: &str, service: i32, comm: &str) {
    let file = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap();
    // The service tells of it before it is one.
    let is_told = || file("cmdline").starts_with(&format!("whit\0{verb}\0"));
    wait_until("its command line", is_told);
    assert!(file("cmdline").ends_with('\0'), "{:?}", file("cmdline"));
    wait_until("its name", || file("comm").trim_end() == comm);
    let status = file("status");
    let has = |name: &str, value: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        assert_eq!(line.trim(), value, "{name} of {verb}");
    };
    has("PPid:", &service.to_string());
    has("SigPnd:", "0000000000000000");
    // Each leads a group of its own, so that a terminal's INT ends the service alone.
    // SAFETY: no pointers.
    assert_eq!(unsafe { libc::getpgid(pid) }, pid);
    let has_open = |name: &str| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
        let mut open = open.filter_map(|entry| fs::read_link(entry.path()).ok());
        open.any(|path| path.ends_with(name))
    };
    wait_until("the service's files are closed", || !has_open("watch.pid"));
}

#[test]
fn parts_share_the_pages_that_the_loader_has_written() {
    if rustix::process::virtual_memory_map_config_struct_size().is_err() {
        testkit::skip("shared pages", "this kernel has no CONFIG_CHECKPOINT_RESTORE");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let mut service = start_copy(&place, &place.file("whitcopy"), &["env"]);
    let address = place.address();
    let check = |name: &str, verb: &str| {
        let pid = wait_for(name, || place.pid(name));
        check_part(pid, verb, service.pid(), "whitcopy");
        let (all, proportion) = relocated_kib(pid);
        assert!(all > 100 && proportion * 2 < all, "{name}: {proportion} of {all} KiB");
        assert_eq!(place.part(name).unwrap()["executed"], Value::Null);
        pid
    };
    for (name, verb) in [("record", "record"), ("alerts", "alert")] {
        check(name, verb);
    }
    let page = check("page", "serve");
    // SAFETY: no pointers; the process is the page of our service.
    assert_eq!(unsafe { libc::kill(page, libc::SIGKILL) }, 0);
    wait_for("another page", || place.pid("page").filter(|pid| *pid != page));
    check("page", "serve");
    assert_eq!(http(address, "GET", "/-/healthy", &[]).status, 200);
    // What a recording says of the command is that of its part.
    place.grows();
    let header = super::whit().args(["play", "--showheader"]).args(place.recordings()).output();
    let header = String::from_utf8(header.unwrap().stdout).unwrap();
    assert!(header.contains("whit record --filename="), "{header}");
    service.signal(libc::SIGTERM);
    assert!(service.ended().success(), "{}", place.said());
    assert!(!place.file("data/run/watch.pid").exists());
}

#[test]
fn a_part_that_starts_again_after_an_update_is_the_new_program() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let program = place.file("whitcopy");
    let mut service = start_copy(&place, &program, &["env"]);
    place.address();
    let (page, recorder) = (place.pid("page").unwrap(), place.pid("record").unwrap());
    assert_eq!(running(page), program);
    write_program(&place.file("new"), "#!/bin/sh\nexec sleep 600\n").unwrap();
    fs::rename(place.file("new"), &program).unwrap();
    // SAFETY: no pointers; the process is the page of our service.
    assert_eq!(unsafe { libc::kill(page, libc::SIGKILL) }, 0);
    let new = wait_for("another page", || place.pid("page").filter(|pid| *pid != page));
    wait_for("the new program", || running(new).ends_with("sleep").then_some(()));
    assert!(executed(&place, "page").contains("after an update"));
    assert_eq!(place.pid("record"), Some(recorder), "it goes on as it is");
    assert_eq!(place.part("record").unwrap()["executed"], Value::Null);
    place.grows();
    service.signal(libc::SIGTERM);
    assert!(service.ended().success(), "{}", place.said());
}

#[test]
fn parts_execute_the_program_where_the_service_has_several_threads() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let low = ["sh", "-c", "ulimit -s 512; exec \"$@\"", "sh"];
    let mut service = start_copy(&place, &place.file("whitcopy"), &low);
    let address = place.address();
    let page = place.pid("page").unwrap();
    check_part(page, "serve", service.pid(), "whitcopy");
    let (all, proportion) = relocated_kib(page);
    assert!(all > 100 && proportion >= all, "{proportion} of {all} KiB");
    assert!(executed(&place, "page").contains("several threads"));
    assert_eq!(http(address, "GET", "/-/healthy", &[]).status, 200);
    service.signal(libc::SIGTERM);
    assert!(service.ended().success(), "{}", place.said());
}

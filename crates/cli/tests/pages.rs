//! Pages whose commands are run: each part of the tutorial, as it is written, in an empty folder.
//!
//! The fences of a part run in their order in one shell.  A comment `# → TEXT` says what must stand in
//! the output of its fence.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use testkit::Snmpd;

/// Ends the output of a fence.
const FENCE_END: char = '\u{1e}';

/// The parts of a page: the heading, and the commands of each fence.
fn parts(page: &str) -> Vec<(&str, Vec<&str>)> {
    let parts = page.split("\n## ").skip(1);
    parts
        .map(|part| {
            let fences = part.split("\n```sh\n").skip(1);
            let commands = fences.map(|rest| rest.split("\n```").next().unwrap());
            (part.lines().next().unwrap(), commands.collect())
        })
        .collect()
}

/// Runs the commands in a folder of their own; each `replaced` is a name and what stands for it here.
fn run(heading: &str, fences: &[&str], replaced: &[(&str, String)]) {
    let folder = tempfile::tempdir().unwrap();
    let mut script = "set -e\nexec 2>&1\n".to_owned();
    for fence in fences {
        let _ = writeln!(script, "{fence}\nprintf '\\036'");
    }
    for (name, value) in replaced {
        script = script.replace(name, value);
    }
    let (work, output) = (folder.path().join("work"), folder.path().join("output"));
    fs::create_dir(&work).unwrap();
    let path = std::env::var("PATH").unwrap();
    let whit = Path::new(crate::WHIT).parent().unwrap().display();
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(&script).current_dir(&work).env("TZ", "UTC").env("LANG", "C");
    shell.env("PATH", format!("{whit}:{path}")).env("HOME", &work).process_group(0);
    shell.stdin(Stdio::null()).stdout(File::create(&output).unwrap());
    let mut shell = shell.spawn().unwrap();
    let group = rustix::process::Pid::from_child(&shell);
    let status = shell.wait().unwrap();
    // What a part leaves in the background ends with it.
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    let output = String::from_utf8_lossy(&fs::read(&output).unwrap()).into_owned();
    assert!(status.success(), "{heading}: {status}: {output}");
    let outputs: Vec<&str> = output.split(FENCE_END).collect();
    for (fence, output) in fences.iter().zip(outputs) {
        for wanted in fence.lines().filter_map(|line| line.strip_prefix("# → ")) {
            assert!(output.contains(wanted), "{heading}: no {wanted:?} of\n{fence}\nin\n{output}");
        }
    }
}

#[test]
fn the_tutorial_runs() {
    let page = fs::read_to_string("../../docs/tutorial.md").unwrap();
    let parts = parts(&page);
    assert_eq!(parts.len(), 4);
    let mut routers = Vec::new();
    for (heading, fences) in &parts {
        let mut replaced = Vec::new();
        if fences.iter().any(|fence| fence.contains("router1")) {
            // Targets have the names of their hosts, so each has an address of its own.
            for (name, last) in [("router1", 11), ("router2", 12), ("router3", 13)] {
                let host = std::net::Ipv4Addr::new(127, 0, 0, last);
                let agent = Snmpd::start_at(host, &format!("sysName {name}\n"));
                let Some(agent) = agent else { return };
                replaced.push((name, agent.address().to_string()));
                routers.push(agent);
            }
        }
        run(heading, fences, &replaced);
    }
}

//! The pages `docs/from-*.md` for users of other programs: every command in their fences runs, and says
//! what the comment behind it says.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::WHIT;

/// Runs the commands of the fences of a page, in order, in one empty folder.
fn commands_run(page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = std::fs::read_to_string(path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let programs = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(WHIT, programs.path().join("whit")).unwrap();
    let own = programs.path().display();
    let path = format!("{own}:{}", std::env::var("PATH").unwrap_or_default());
    let mut count = 0;
    for fence in text.split("```sh\n").skip(1) {
        let (commands, _) = fence.split_once("```").unwrap();
        for line in commands.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (command, wanted) = line.split_once("# → ").unwrap_or((line, ""));
            // What needs a terminal gets one.
            let quoted = format!("script -qec '{}' /dev/null", command.trim());
            let shown = if command.starts_with("whit top") { &quoted } else { command };
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("{{ {shown}\n}} 2>&1")]).env("PATH", &path);
            shell.env("TERM", "xterm").env("TMPDIR", folder.path()).env("HOME", folder.path());
            let output = shell.current_dir(folder.path()).stdin(Stdio::null()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{page}: {command}: {}: {said}", output.status);
            assert!(said.contains(wanted), "{page}: {command}: no '{wanted}' in: {said}");
            count += 1;
        }
    }
    assert!(count >= 6, "{page}: {count} commands");
}

#[test]
fn of_collectl() {
    commands_run("from-collectl.md");
}

#[test]
fn of_atop() {
    commands_run("from-atop.md");
}

#[test]
fn of_parallel() {
    commands_run("from-parallel.md");
}

#[test]
fn of_strace() {
    commands_run("from-strace.md");
}

#[test]
fn of_mrtg() {
    commands_run("from-mrtg.md");
}

#[test]
fn of_rrdtool() {
    commands_run("from-rrdtool.md");
}

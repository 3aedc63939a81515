//! The pages `docs/from-*.md` for users of other programs: every command in their fences runs, and says
//! what the comment behind it says.

use std::collections::BTreeSet;
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

/// The switches in a text: `-x`, `--name`.
fn switches(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| letter.is_whitespace() || ",|`;(".contains(letter));
    let is_switch = |word: &&str| {
        let name = word.trim_start_matches('-');
        let dashes = word.len() - name.len();
        (dashes == 1 && name.len() == 1 || dashes == 2 && name.len() > 1)
            && name.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    words.filter(is_switch).map(str::to_owned).collect()
}

#[test]
fn the_page_has_every_switch_of_collectl() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/from-collectl.md");
    let page = std::fs::read_to_string(page).unwrap();
    let row = |name: &str| {
        let row = page.lines().find(|line| line.starts_with(&format!("| {name} |"))).unwrap();
        switches(row)
    };
    let (taken, left_out, refused) = (row("taken"), row("left out in playback"), row("refused"));
    if testkit::is_installed("collectl: its switches", "collectl") {
        for help in ["--help", "-x", "--showsubopts"] {
            let output = Command::new("collectl").arg(help).output().unwrap();
            // Of the prose about switches some words are in quotes.
            for switch in switches(&String::from_utf8_lossy(&output.stdout)) {
                let is_there = taken.contains(&switch) || refused.contains(&switch);
                assert!(is_there, "{help}: {switch} is not in docs/from-collectl.md");
            }
        }
    }
    let empty = tempfile::tempdir().unwrap();
    let told = |verb: &str, switch: &str| {
        // A value that no switch takes; the folder is for those that take any.
        let mut command = crate::whit();
        command.args([verb, switch, "\u{1}", "--no-such-switch"]).current_dir(empty.path());
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    let is_unknown = |verb: &str, switch: &str| {
        let told = told(verb, switch);
        told.contains(&format!("{switch} is not a switch")) || told.contains(&format!("'{switch}'"))
    };
    for switch in &taken {
        assert!(!is_unknown("record", switch) || !is_unknown("play", switch), "{switch}");
    }
    for switch in &refused {
        assert!(is_unknown("record", switch) && is_unknown("play", switch), "{switch}");
    }
    for switch in &left_out {
        assert!(told("play", switch).contains(" is not a switch of whit play"), "{switch}");
    }
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

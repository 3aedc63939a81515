//! Checks the pages for newcomers: adds a source and a view to a copy of the tree, as
//! `docs/adding-a-source.md` and `docs/adding-a-view.md` say; the tests must then pass, and both must
//! appear everywhere.
//!
//! The added files are in `xtask/newcomer/`.  The copy is `newcomer/tree` in the build directory;
//! only changed files are written there, so a second run compiles almost nothing.
//!
//! The copy is built into its own directory, `newcomer/target`, because cargo cannot tell a crate of
//! the copy from the same crate of this tree.  The first run links there what is built already and
//! does not depend on the added lines: packages of others, and the crates below.  Every call of cargo
//! selects the same packages and targets, so that nothing is built twice with other features.

use std::collections::{BTreeSet, HashSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use crate::tidy::packages;
use crate::{cpu, finish, root, suite, target};

/// The added files: the name in `xtask/newcomer/`, and the path in the copy.
const FILES: &[(&str, &str)] = &[
    ("softnet_stat.rs", "crates/procfs/src/softnet_stat.rs"),
    ("softnet.rs", "crates/source/src/softnet.rs"),
    ("softnet_stat.txt", "testdata/proc/vm2/proc/net/softnet_stat"),
    ("softnet_stat_later.txt", "testdata/proc/vm2/later/proc/net/softnet_stat"),
    ("influx.rs", "crates/view/src/influx.rs"),
];

/// The lines added to registries: the file, the line, and its position.
const LINES: &[(&str, &str, Position)] = &[
    ("crates/procfs/src/lib.rs", "pub mod softnet_stat;", Position::Sorted("pub mod ")),
    ("crates/source/src/lib.rs", "    mod softnet;", Position::Sorted("    mod ")),
    ("crates/view/src/lib.rs", "mod influx;", Position::Sorted("mod ")),
    ("crates/view/src/lib.rs", "    &influx::ENTRY,", Position::EndOf("pub static ALL")),
];

/// The position of an added line.
#[derive(Clone, Copy)]
enum Position {
    /// In alphabetical order among the lines that begin with this text.
    Sorted(&'static str),
    /// Before the end of the list whose first line begins with this text.
    EndOf(&'static str),
}

/// Views of a recording: name, options, and a word that the output must contain.
const SHOWN: &[(&str, &[&str], &str)] = &[
    ("brief", &[], "softnet"),
    ("verbose", &["--verbose"], "softnet"),
    ("plot", &["-P"], "processed"),
    ("csv", &["--csv"], "processed"),
    ("json", &["--json"], "\"processed\""),
    ("openmetrics", &["--openmetrics"], "softnet_processed"),
    ("lexpr", &["--export", "lexpr"], "softnet"),
    ("influx", &["--influx"], "softnet,host="),
];

/// What is built: the crates in which sources and views are, and the program; and `bench`, which asks
/// for more features of packages of others: those would be built anew without it.  Each call selects
/// the same packages, so that all share one build.
const PACKAGES: [&str; 6] = ["procfs", "source", "layout", "view", "cli", "bench"];

/// The tests of files, and an example of `bench` that has the last of these features.
const TESTS: [&str; 4] = ["--test", "all", "--example", "tracing_appender"];

/// Changed crates that a build for tests optimises: here compiling costs more than it saves.
const UNOPTIMISED: [&str; 3] = ["procfs", "recording", "source"];

/// The files of tests that look at every source, view and option, apart from `golden`, which is blessed.
const FILES_OF_TESTS: [&str; 6] =
    ["trees::", "registry::", "layouts_line_up::", "mutation::", "every_source::", "options::"];

/// Adds a source and a view to the copy, runs the tests, and checks each output for the two.  If this
/// tree is built, no package of others may be built again.
pub(crate) fn run(is_built: bool) -> anyhow::Result<()> {
    let tree = folder("tree");
    copy(&tree)?;
    link_dependencies()?;
    let build = |targets: &[&str]| {
        let mut command = crate::cargo(&["test", "-q"]);
        for package in UNOPTIMISED {
            command.arg("--config").arg(format!("profile.dev.package.{package}.opt-level=0"));
        }
        command.args(PACKAGES.iter().flat_map(|package| ["-p", *package])).args(targets);
        command.current_dir(&tree);
        // As the build whose libraries are linked.
        suite::by_clippy(&mut command);
        command.env("CARGO_TARGET_DIR", folder("target"));
        command
    };
    let test = |targets: &[&str], tests: &[&str]| {
        let mut command = build(targets);
        command.arg("--").args(tests);
        command
    };
    if is_built {
        let options = ["--no-run", "--message-format=json-render-diagnostics"];
        builds_nothing_of_others(build(&[&TESTS[..], &options].concat()))?;
    }
    // The two steps of the pages after the files are there: bless the goldens (the same call holds that
    // each view is the same from a recording), write the reference.
    let mut bless = test(&TESTS, &["golden::every_view_over_every_tree"]);
    bless.env("WHIT_BLESS", "1");
    finish(bless)?;
    let whit = folder("target").join("debug/whit");
    let reference = tree.join("docs/reference");
    output_of(&whit, &["generate", "reference", "--to", &reference.to_string_lossy()])?;
    // Of the cases of options only those that are made from the registries.
    finish(test(&TESTS, &[&FILES_OF_TESTS[..], &["--skip", "options_of_"]].concat()))?;
    finish(test(&["--lib", "--bins"], &[]))?;
    check_outputs(&whit)?;
    for (page, word) in [("sources.md", "softnet"), ("commands.md", "--influx")] {
        has(page, &std::fs::read_to_string(reference.join(page))?, word)?;
    }
    println!("newcomer: a source and a view pass the tests and appear everywhere");
    Ok(())
}

/// A folder of this check.
fn folder(name: &str) -> PathBuf {
    target().join("newcomer").join(name)
}

/// Records the new source and looks for it, and for the new view, in everything that is printed.
fn check_outputs(whit: &Path) -> anyhow::Result<()> {
    let folder = folder("out");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    let options = ["record", "-s", "softnet", "-i0.2", "-c4", "-f"];
    output_of(whit, &[&options[..], &[&folder.to_string_lossy()]].concat())?;
    let recording = only_file(&folder)?;
    let recording = recording.to_string_lossy();
    let detail = output_of(whit, &["play", &recording, "-s", "SOFTNET"])?;
    has("detail", &detail, "softnet")?;
    for (name, arguments, word) in SHOWN {
        let text =
            output_of(whit, &[&["play", &recording, "-s", "softnet"][..], arguments].concat())?;
        has(name, &text, word)?;
    }
    has("doctor", &output_of(whit, &["doctor", "-n", "3"])?, "/proc/net/softnet_stat")?;
    has("help of play", &output_of(whit, &["play", "--help"])?, "--influx")?;
    has("help of record", &output_of(whit, &["record", "--help"])?, "--influx")
}

/// The crates that change in the copy, or that hold the path of the tree.
const CHANGED: [&str; 4] = ["procfs", "source", "view", "testkit"];

/// The workspace's crates that are built anew in the copy: those that change and all above them.
fn changed_crates() -> anyhow::Result<HashSet<String>> {
    let metadata = packages::metadata()?;
    let crates = metadata["packages"].as_array().context("packages")?;
    let mut changed: HashSet<String> = CHANGED.map(str::to_owned).into();
    loop {
        let before = changed.len();
        for one in crates.iter().filter(|one| one["source"].is_null()) {
            let mut uses = one["dependencies"].as_array().into_iter().flatten();
            if uses.any(|other| {
                other["kind"] != "dev"
                    && other["name"].as_str().is_some_and(|name| changed.contains(name))
            }) {
                changed.insert(one["name"].as_str().unwrap_or_default().to_owned());
            }
        }
        if changed.len() == before {
            // The name of the program, beside that of its package.
            changed.insert("whit".to_owned());
            return Ok(changed);
        }
    }
}

/// Runs a build, which must compile no package of others: what is linked serves if it has the features
/// that `PACKAGES` and the whole workspace ask for alike.
fn builds_nothing_of_others(mut cargo: Command) -> anyhow::Result<()> {
    let mut cargo = cargo.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut messages = String::new();
    cargo.stdout.take().context("cargo has an output")?.read_to_string(&mut messages)?;
    let (status, cpu_seconds) = cpu::wait(&mut cargo)?;
    cpu::add(cpu_seconds);
    ensure!(status.success(), "the build of the copy: {status}");
    let mut anew = BTreeSet::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Value = serde_json::from_str(line)?;
        let package = message["package_id"].as_str().unwrap_or_default();
        let is_built = message["reason"] == "compiler-artifact" && message["fresh"] == false;
        if is_built && package.starts_with("registry+") {
            anew.insert(package.rsplit_once('#').map_or(package, |parts| parts.1).to_owned());
        }
    }
    let anew = Vec::from_iter(anew).join(" ");
    ensure!(anew.is_empty(), "built again, with other features than the workspace's: {anew}");
    Ok(())
}

/// Links what is built already into the copy's build directory, on its first run.
fn link_dependencies() -> anyhow::Result<()> {
    let (from, to) = (target().join("debug"), folder("target").join("debug"));
    if to.exists() {
        return Ok(());
    }
    let changed = changed_crates()?;
    for folder in ["deps", "build", ".fingerprint"] {
        let Ok(entries) = std::fs::read_dir(from.join(folder)) else { continue };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let package = name.strip_prefix("lib").unwrap_or(&name);
            let package = package.rsplit_once('-').map_or(package, |(package, _)| package);
            // Without `lib`, a file in `deps` is a test or a program of this workspace.
            let is_library = folder != "deps" || name.starts_with("lib") || name.ends_with(".d");
            if is_library && !changed.contains(package) {
                link(&entry.path(), &to.join(folder).join(&name))?;
            }
        }
    }
    Ok(())
}

/// Links a file, or all files in a folder.  What cargo notes about a crate is copied: it writes such a
/// file where it is.
fn link(from: &Path, to: &Path) -> anyhow::Result<()> {
    if from.is_dir() {
        std::fs::create_dir_all(to)?;
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            link(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    std::fs::create_dir_all(to.parent().unwrap_or(to))?;
    if from.components().any(|part| part.as_os_str() == ".fingerprint") {
        return std::fs::copy(from, to).map(|_| ()).with_context(|| to.display().to_string());
    }
    std::fs::hard_link(from, to).with_context(|| format!("linking {}", to.display()))
}

/// The file that a folder holds.
fn only_file(folder: &Path) -> anyhow::Result<PathBuf> {
    let files: Vec<_> = std::fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    let [file] = &files[..] else { bail!("{} files in {}", files.len(), folder.display()) };
    Ok(file.path())
}

/// The standard output of a command.  `whit doctor` exits with 1 if reading costs too much.
fn output_of(whit: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(whit).args(arguments).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start {}", whit.display()))?;
    let may_differ = arguments.first() == Some(&"doctor") && output.status.code() == Some(1);
    ensure!(
        output.status.success() || may_differ,
        "whit {}: {}: {}",
        arguments.join(" "),
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Checks that an output contains a word, in upper or lower case.
fn has(name: &str, text: &str, word: &str) -> anyhow::Result<()> {
    let is_there = text.to_lowercase().contains(&word.to_lowercase());
    ensure!(is_there, "{name} does not show `{word}`:\n{}", text.trim_end());
    Ok(())
}

/// What stands at a path of the copy.
enum Content {
    /// A file, and when it was changed: cargo compares this with the time of what is built.
    File(Vec<u8>, Option<SystemTime>),
    /// A symbolic link: machines in `testdata` have some.
    Link(PathBuf),
}

/// Reads a file of the tree.
fn file(path: &Path) -> anyhow::Result<Content> {
    let changed = std::fs::metadata(path).and_then(|facts| facts.modified());
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    Ok(Content::File(bytes, Some(changed?)))
}

/// Writes a file, with the time of the one that it is a copy of.
fn write(path: &Path, bytes: &[u8], changed: Option<SystemTime>) -> std::io::Result<()> {
    std::fs::write(path, bytes)?;
    match changed {
        Some(time) => std::fs::File::options().write(true).open(path)?.set_modified(time),
        None => Ok(()),
    }
}

/// Makes the copy and adds the files and lines.
fn copy(tree: &Path) -> anyhow::Result<()> {
    let mut wanted: Vec<(PathBuf, Content)> = Vec::new();
    for path in ["Cargo.toml", "Cargo.lock", "rustfmt.toml", "clippy.toml"] {
        wanted.push((path.into(), file(&root().join(path))?));
    }
    for folder in ["crates", "clients", "fuzz", "xtask", "testdata", ".cargo"] {
        read_all(Path::new(folder), &mut wanted)?;
    }
    // A few crates include files of these folders.
    for folder in ["bench", "docs", "dist"] {
        read_all(Path::new(folder), &mut wanted)?;
    }
    for (from, to) in FILES {
        let to = PathBuf::from(to);
        ensure!(wanted.iter().all(|(path, _)| *path != to), "{}: is there already", to.display());
        let bytes = std::fs::read(root().join("xtask/newcomer").join(from))?;
        wanted.push((to, Content::File(bytes, None)));
    }
    for (file, line, position) in LINES {
        let found = wanted.iter_mut().find(|(path, _)| path == Path::new(file));
        let Some((_, Content::File(bytes, changed))) = found else { bail!("{file}: missing") };
        *changed = None;
        let text = with_line(std::str::from_utf8(bytes)?, line, *position);
        *bytes = text.with_context(|| format!("{file}: no position for `{line}`"))?.into_bytes();
    }
    let paths: HashSet<PathBuf> = wanted.iter().map(|(path, _)| tree.join(path)).collect();
    remove_others(tree, &paths)?;
    for (path, content) in &wanted {
        let path = tree.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(tree))?;
        match content {
            Content::File(bytes, _) if std::fs::read(&path).is_ok_and(|old| old == *bytes) => {
                Ok(())
            }
            Content::File(bytes, changed) => write(&path, bytes, *changed),
            Content::Link(to) if std::fs::read_link(&path).is_ok_and(|old| old == *to) => Ok(()),
            Content::Link(to) => std::os::unix::fs::symlink(to, &path),
        }
        .with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// The text with the line added; `None` if the text has no such position.
fn with_line(text: &str, line: &str, position: Position) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let at = match position {
        Position::Sorted(start) => {
            let same = |one: &&str| one.starts_with(start);
            let before = lines.iter().position(|one| same(one) && *one > line);
            before.or_else(|| Some(lines.iter().rposition(same)? + 1))?
        }
        Position::EndOf(start) => {
            let open = lines.iter().position(|one| one.starts_with(start))?;
            open + lines[open..].iter().position(|one| one.starts_with("];"))?
        }
    };
    let all = lines[..at].iter().chain([&line]).chain(&lines[at..]);
    Some(all.map(|one| format!("{one}\n")).collect())
}

/// Reads the files below a folder of the tree.
fn read_all(folder: &Path, files: &mut Vec<(PathBuf, Content)>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(root().join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        match entry.file_type()? {
            kind if kind.is_dir() => read_all(&path, files)?,
            kind if kind.is_file() => {
                files.push((path, file(&entry.path())?));
            }
            kind if kind.is_symlink() => {
                files.push((path, Content::Link(std::fs::read_link(entry.path())?)));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Removes files of an earlier copy that are not wanted any more.
fn remove_others(folder: &Path, wanted: &HashSet<PathBuf>) -> anyhow::Result<()> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_others(&entry.path(), wanted)?;
        } else if !wanted.contains(&entry.path()) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_added_at_their_positions() {
        let text = "mod a;\nmod c;\n\npub static ALL: &[u8] = &[\n    1,\n];\n";
        let sorted = with_line(text, "mod b;", Position::Sorted("mod ")).unwrap();
        assert!(sorted.starts_with("mod a;\nmod b;\nmod c;\n"));
        let last = with_line(text, "mod d;", Position::Sorted("mod ")).unwrap();
        assert!(last.starts_with("mod a;\nmod c;\nmod d;\n"));
        let listed = with_line(text, "    2,", Position::EndOf("pub static ALL")).unwrap();
        assert!(listed.ends_with("    1,\n    2,\n];\n"));
        assert!(with_line(text, "x", Position::EndOf("pub static NONE")).is_none());
    }
}

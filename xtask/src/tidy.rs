//! The house rules that a program can hold: heads, sizes, the dependency invariants, no file
//! forgotten, no note left behind, nothing of the machine it was written on.
//!
//! Reads the tree as git sees it and `cargo metadata`.  Takes well under a second.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::root;

/// Most lines in a source file.  A longer one has grown two jobs.
const FILE_LINES_MAX: usize = 800;

/// What each of our crates may use of ours.  `xtask` and tests are free.
const MAY_USE: &[(&str, &[&str])] = &[
    ("sample", &[]),
    ("procfs", &["sample"]),
    ("bpf", &[]),
    ("trace", &["procfs", "bpf"]),
    ("spawn", &[]),
    ("template", &[]),
    ("run", &["procfs", "spawn", "template"]),
    ("source", &["sample", "procfs", "bpf"]),
    ("recording", &["sample", "procfs"]),
    ("view", &["sample"]),
    ("feed", &["sample", "procfs", "source", "recording"]),
    ("testkit", &["sample"]),
    ("bench", &["sample", "procfs", "bpf", "source", "recording"]),
    ("doctor", &["sample", "procfs", "bpf", "source", "trace"]),
    ("sink", &["sample", "layout"]),
    ("recorder", &["sample", "procfs", "layout", "source", "recording", "view", "sink"]),
    ("top", &["sample", "procfs", "source", "feed"]),
    (
        "cli",
        &[
            "spawn",
            "template",
            "sample",
            "procfs",
            "bpf",
            "trace",
            "run",
            "source",
            "recording",
            "view",
            "feed",
            "bench",
            "doctor",
            "sink",
            "recorder",
            "top",
        ],
    ),
    ("xtask", &[]),
];

/// Words that must not stand in a file below `crates`, except in those that may print or exit.
const BANNED_BELOW_CLI: &[(&str, &str)] = &[
    ("std::env::", "only cli reads the environment: hand the value in"),
    ("process::exit(", "only cli exits: return an error"),
    ("println!(", "only cli prints: write to the `Write` you are given"),
    ("SystemTime::now", "time comes from `Clock`"),
    ("Instant::now", "time comes from `Clock`"),
];

/// Files that are clocks: whoever needs the time asks them, and tests put others in their place.
const CLOCKS: &[&str] = &[
    "crates/run/src/engine/blocks.rs",
    "crates/run/src/engine/world.rs",
    "crates/run/src/hosts/answers.rs",
    "crates/run/src/hosts/control_masters.rs",
    "crates/run/src/hosts/filter.rs",
    "crates/run/src/semaphore.rs",
];

/// Crates that measure how long others take.
const MEASURES: &[&str] = &["crates/bench/", "crates/doctor/src/calls.rs"];

/// Packages in Cargo.lock.  Raise it only in a commit that says why.
const PACKAGES_MAX: usize = 170;

/// Checks everything and lists every complaint.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut complaints = Vec::new();
    let files = tracked_files()?;
    for file in &files {
        let path = root().join(file);
        if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).with_context(|| format!("reading {file}"))?;
            check_source(file, &text, &mut complaints);
        }
        if path.extension().is_some_and(|extension| extension == "md") {
            let text = std::fs::read_to_string(&path).with_context(|| format!("reading {file}"))?;
            check_page(file, &text, &mut complaints);
        }
    }
    check_modules(&files, &mut complaints)?;
    check_dependencies(&mut complaints)?;
    check_house(&mut complaints);
    for complaint in &complaints {
        eprintln!("tidy: {complaint}");
    }
    if !complaints.is_empty() {
        bail!("{} complaints", complaints.len());
    }
    println!("tidy: {} files", files.len());
    Ok(())
}

/// The files that git tracks or would; in a tree without git all but what is built.
fn tracked_files() -> anyhow::Result<Vec<String>> {
    if !root().join(".git").exists() {
        let mut files = Vec::new();
        walk(&root(), &mut files)?;
        files.sort();
        return Ok(files);
    }
    let mut list = Command::new("git");
    // The tree may belong to somebody else, as in a container; its own code runs already.
    list.args(["-c", "safe.directory=*", "ls-files"]);
    list.args(["--cached", "--others", "--exclude-standard"]).current_dir(root());
    let output = list.output().context("cannot start git")?;
    if !output.status.success() {
        bail!("git cannot list the files: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().filter(|file| root().join(file).exists()).map(str::to_owned).collect())
}

fn walk(folder: &Path, files: &mut Vec<String>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let is_built =
            ["target", "corpus", "artifacts"].iter().any(|name| entry.file_name() == *name);
        match entry.file_type()? {
            kind if kind.is_dir() && !is_built => walk(&entry.path(), files)?,
            kind if kind.is_file() => {
                let path = entry.path();
                files.push(path.strip_prefix(root())?.to_string_lossy().into_owned());
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_source(file: &str, text: &str, complaints: &mut Vec<String>) {
    if !text.starts_with("//!") && !file.starts_with("fuzz/fuzz_targets/") {
        complaints.push(format!("{file}: must open with a `//!` head: what it is, what it costs"));
    }
    let count = text.lines().count();
    if count > FILE_LINES_MAX {
        complaints.push(format!("{file}: {count} lines, at most {FILE_LINES_MAX}: split it"));
    }
    for (number, line) in text.lines().enumerate() {
        for mark in
            ["FIX", "TO"].map(|half| format!("{half}{}", if half == "FIX" { "ME" } else { "DO" }))
        {
            if line.contains(&mark) {
                complaints.push(format!("{file}:{}: `{mark}` left behind", number + 1));
            }
        }
    }
    let below_cli = file.starts_with("crates/")
        && !file.starts_with("crates/cli/")
        && !file.starts_with("crates/testkit/")
        && !file.contains("/tests/")
        && !file.contains("/examples/");
    if below_cli {
        let code = text.split("#[cfg(test)]").next().unwrap_or(text);
        for (number, line) in code.lines().enumerate() {
            let line_is_comment = line.trim_start().starts_with("//");
            for (word, instead) in BANNED_BELOW_CLI {
                if instead.contains("`Clock`")
                    && (CLOCKS.contains(&file)
                        || MEASURES.iter().any(|path| file.starts_with(path)))
                {
                    continue;
                }
                if line.contains(word) && !line_is_comment {
                    complaints.push(format!("{file}:{}: `{word}`: {instead}", number + 1));
                }
            }
        }
    }
}

fn check_page(file: &str, text: &str, complaints: &mut Vec<String>) {
    let mut fenced = false;
    let mut titles = 0;
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        titles += usize::from(!fenced && line.starts_with("# "));
    }
    if titles != 1 {
        complaints.push(format!("{file}: {titles} titles (`# `), want exactly one"));
    }
}

/// Every file under a crate's `src` or in a folder below `tests` is named by a `mod`.
fn check_modules(files: &[String], complaints: &mut Vec<String>) -> anyhow::Result<()> {
    let mut declared: BTreeSet<PathBuf> = BTreeSet::new();
    let sources: Vec<&String> = files.iter().filter(|file| file.ends_with(".rs")).collect();
    for file in &sources {
        let text = std::fs::read_to_string(root().join(file))?;
        let path = Path::new(file.as_str());
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let folder = path.parent().unwrap_or(Path::new(""));
        let is_root = matches!(stem.as_str(), "lib" | "main" | "mod")
            || folder.ends_with("tests")
            || folder.ends_with("examples");
        let base = if is_root { folder.to_owned() } else { folder.join(&stem) };
        for line in text.lines() {
            let line =
                line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(crate) ");
            let Some(name) = line.strip_prefix("mod ").and_then(|rest| rest.split_once(';')) else {
                continue;
            };
            declared.insert(base.join(format!("{}.rs", name.0)));
            declared.insert(base.join(name.0).join("mod.rs"));
        }
    }
    for file in sources {
        let path = Path::new(file.as_str());
        let folder = path.parent().unwrap_or(Path::new(""));
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_target = folder.ends_with("tests")
            || folder.ends_with("examples")
            || folder.ends_with("benches")
            || folder.ends_with("fuzz_targets")
            || folder.ends_with("bin")
            || folder.ends_with("src") && matches!(stem.as_str(), "lib" | "main")
            || stem == "main" && folder.parent().is_some_and(|up| up.ends_with("tests"))
            || stem == "build";
        if !is_target && !declared.contains(path) {
            complaints.push(format!("{file}: no `mod` names it, so nothing compiles it"));
        }
    }
    Ok(())
}

fn check_dependencies(complaints: &mut Vec<String>) -> anyhow::Result<()> {
    let output = crate::cargo(&["metadata", "--format-version", "1", "--no-deps"]).output();
    let output = output.context("cannot start cargo metadata")?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let allowed: BTreeMap<&str, &[&str]> = MAY_USE.iter().copied().collect();
    for package in metadata["packages"].as_array().context("no packages")? {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(may_use) = allowed.get(name) else {
            complaints.push(format!("crate {name}: give it a line in xtask/src/tidy.rs MAY_USE"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let other = dependency["name"].as_str().unwrap_or_default();
            let is_dev = dependency["kind"] == "dev";
            if allowed.contains_key(other) && !is_dev && !may_use.contains(&other) {
                complaints.push(format!("crate {name} may not use {other}: see ARCHITECTURE.md"));
            }
        }
    }
    let lock = std::fs::read_to_string(root().join("Cargo.lock"))?;
    let packages = lock.matches("[[package]]").count();
    if packages > PACKAGES_MAX {
        complaints.push(format!("Cargo.lock: {packages} packages, at most {PACKAGES_MAX}"));
    }
    Ok(())
}

/// The pages that every newcomer looks for.
fn check_house(complaints: &mut Vec<String>) {
    let pages = [
        "README.md",
        "ARCHITECTURE.md",
        "STYLE.md",
        "CHANGELOG.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "docs/adding-a-source.md",
        "docs/adding-a-view.md",
        "docs/format-recording.md",
        "docs/glossary.md",
        "docs/differences-collectl.md",
    ];
    for page in pages {
        if !root().join(page).exists() {
            complaints.push(format!("{page}: missing"));
        }
    }
}

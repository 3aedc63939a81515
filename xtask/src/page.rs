//! Builds the page of `whit serve`: `page/` (TypeScript) to `crates/serve/page_files/`, which is checked
//! in, so that a machine with Rust alone builds whit.
//!
//! `checksum` beside the built files has what they were made of and what they are; `tidy` holds the three
//! together, without npm.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use crate::{finish, root, skips, target};

/// The folder of the sources.
pub(crate) const SOURCES: &str = "page/";

/// The folder of the built files.
pub(crate) const FILES: &str = "crates/serve/page_files/";

/// The file among the built ones that says what they are made of.
pub(crate) const CHECKSUM: &str = "checksum";

/// The variable that names the folder to build into: see `page/vite.config.ts`.
const OUT_VARIABLE: &str = "WHIT_PAGE_OUT";

/// The variable that names the program that the tests of the page start.
const PROGRAM_VARIABLE: &str = "WHIT";

/// Debian's browser.
const CHROMIUM: &str = "/usr/bin/chromium";

/// The oldest node that Vite runs on.
const NODE_MIN: u32 = 20;

/// Builds the page, and says what it was made of.
pub(crate) fn run() -> anyhow::Result<()> {
    install()?;
    let files = root().join(FILES);
    build(&files)?;
    let sums = Sums::read()?;
    std::fs::write(files.join(CHECKSUM), sums.to_string()).context("writing the checksum")?;
    println!("page: {FILES}");
    Ok(())
}

/// Builds the page again and compares it with the files that are checked in; then runs its tests in a
/// browser against this whit.
pub(crate) fn check(whit: &Path, long: bool) -> anyhow::Result<()> {
    const STEP: &str = "cargo xtask ci: page";
    let version = said("node").unwrap_or_default();
    let major =
        version.trim_start_matches('v').split('.').next().and_then(|text| text.parse().ok());
    if major.is_none_or(|major: u32| major < NODE_MIN) || said("npm").is_none() {
        let reason = format!("node {NODE_MIN} or newer, with npm, is not installed");
        return skips::add("node 20", &reason, STEP);
    }
    if said(CHROMIUM).is_none() {
        return skips::add("chromium", "it is not installed", STEP);
    }
    if let Err(error) = install() {
        // A registry that answers has them, so something else is wrong.
        let mut ping = npm(&["ping", "--silent"]);
        ping.stdout(Stdio::null()).stderr(Stdio::null());
        ensure!(!ping.status().is_ok_and(|status| status.success()), "{error:#}");
        return skips::add("packages of npm", "the registry does not answer", STEP);
    }
    let built = target().join("page");
    build(&built)?;
    let checked_in = root().join(FILES);
    for path in files_below(&built)? {
        let name = path.strip_prefix(&built)?;
        let same =
            std::fs::read(&path)? == std::fs::read(checked_in.join(name)).unwrap_or_default();
        ensure!(same, "{FILES}{} is not what `cargo xtask page` builds: run it", name.display());
    }
    let mut test = npm(&["test", "--silent"]);
    test.env(PROGRAM_VARIABLE, whit);
    if long {
        test.env(crate::LONG_VARIABLE, "1");
    }
    finish(test)
}

/// What a program says of its version; `None` if it is not installed.
fn said(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Installs what `page/package-lock.json` lists, if it is not there.
fn install() -> anyhow::Result<()> {
    let lock = std::fs::read(root().join("page/package-lock.json"))?;
    let mark = root().join("page/node_modules/.installed");
    if std::fs::read(&mark).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    finish(npm(&["ci", "--no-audit", "--no-fund", "--ignore-scripts"]))?;
    Ok(std::fs::write(mark, lock)?)
}

fn build(into: &Path) -> anyhow::Result<()> {
    let mut build = npm(&["run", "--silent", "build", "--", "--logLevel", "warn"]);
    build.env(OUT_VARIABLE, into);
    finish(build)
}

fn npm(arguments: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.args(arguments).current_dir(root().join(SOURCES));
    command
}

fn files_below(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            files.append(&mut files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

/// Whether the page is made of a file: tests are no part of it.
fn is_source(path: &str) -> bool {
    let inner = path.strip_prefix(SOURCES);
    inner.is_some_and(|inner| {
        let others =
            ["tests/", "node_modules/", "test-results/", ".gitignore", "playwright.config.ts"];
        !others.iter().any(|other| inner.starts_with(other))
    })
}

/// Whether a file was built.
fn is_built(path: &str) -> bool {
    path.strip_prefix(FILES).is_some_and(|inner| inner != CHECKSUM)
}

/// Checksums of the sources and of the built files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    sources: u32,
    files: u32,
}

impl Sums {
    /// The sums of files in the order of their paths.
    pub(crate) fn of<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let mut sums = Sums::default();
        for (path, bytes) in files {
            let sum = match path {
                path if is_source(path) => &mut sums.sources,
                path if is_built(path) => &mut sums.files,
                _ => continue,
            };
            *sum = crc32c::crc32c_append(*sum, path.as_bytes());
            *sum = crc32c::crc32c_append(*sum, bytes);
        }
        sums
    }

    fn read() -> anyhow::Result<Self> {
        let mut files = Vec::new();
        for path in crate::tidy::tree::paths()? {
            if is_source(&path) || is_built(&path) {
                let bytes = std::fs::read(root().join(&path))?;
                files.push((path, bytes));
            }
        }
        Ok(Sums::of(files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice()))))
    }
}

impl std::fmt::Display for Sums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "sources {:08x}\nfiles {:08x}", self.sources, self.files)
    }
}

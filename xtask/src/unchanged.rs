//! Checks that passed on this machine, and need not run again as long as nothing that they look at has
//! changed.
//!
//! A check is a step of `cargo xtask ci`, or the tests of one file.  Its stamp names all that it looks
//! at, with sizes and times or sums, and is kept when the check has passed without a skip:
//!
//! - built files by size and time: cargo writes them only when it builds them anew.  A test is given
//!   the programs, examples and libraries of its own package (`CARGO_BIN_EXE_…`), and no others;
//! - files of the tree by their content: those that are no Rust code (pages, recordings, fixtures,
//!   scripts) count for every check, but for the few that only people and `tidy` read; Rust code counts
//!   for the checks that compile or read it;
//! - the machine: installed packages, the kernel, unpacked engines, user, processors, the variables that
//!   tests and programs obey, and this program, which has the checks.
//!
//! What a machine is beyond that (its network, its disks) is not seen, so nothing counts for longer
//! than [`VALID_S`].  A fresh clone has no stamps; `--all`, `--long`, `--strict` and `CI=true` use none.
//!
//! Reads the files that git tracks, some 30 MB, once; keeps `passed.tsv` in the target folder.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;

use crate::{root, target, tidy};

/// The seconds for which a pass counts: a working day, so that each day begins with a whole run.
const VALID_S: u64 = 12 * 3600;

/// Variables that change what programs do, by the start of their names.
const VARIABLES: [&str; 10] =
    ["CARGO_TARGET", "HOME", "LANG", "LC_", "PATH", "RUST", "TERM", "TMPDIR", "TZ", "WHIT"];

/// Pages that no test reads: a change of users' often has a line in one of them.
const FOR_PEOPLE: [&str; 4] = ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "STYLE.md"];

/// What was installed by a package manager.
const PACKAGES: &str = "/var/lib/dpkg/status";

/// The checks that passed, and what every check looks at.
pub(crate) struct Unchanged {
    /// The stamp of each check that passed lately; `None` to use and keep none.
    passed: Option<Mutex<BTreeMap<String, String>>>,
    /// Paths of tracked files with sums of their content.
    files: BTreeMap<String, u32>,
    /// What every check depends on.
    common: String,
}

impl Unchanged {
    /// Reads the tree, the machine and what has passed; without `is_used` every check runs.
    ///
    /// # Errors
    /// If a file of the tree cannot be read.
    pub(crate) fn open(is_used: bool) -> anyhow::Result<Self> {
        if !is_used {
            return Ok(Unchanged { passed: None, files: BTreeMap::new(), common: String::new() });
        }
        let now_s = now_s();
        let text = std::fs::read_to_string(kept()).unwrap_or_default();
        let passed: BTreeMap<String, String> = valid(&text, now_s)
            .map(|(_, stamp, name)| (name.to_owned(), stamp.to_owned()))
            .collect();
        let lines: Vec<String> = valid(&text, now_s)
            .filter(|(_, stamp, name)| passed.get(*name).is_some_and(|last| last == stamp))
            .map(|(time, stamp, name)| line(time, stamp, name))
            .collect();
        std::fs::create_dir_all(target())?;
        std::fs::write(kept(), lines.concat()).context("cannot keep what has passed")?;
        let mut this = Unchanged {
            passed: Some(Mutex::new(passed)),
            files: sums_of_files()?,
            common: String::new(),
        };
        let others = this.sum_of(|path| !path.ends_with(".rs") && !FOR_PEOPLE.contains(&path));
        this.common = format!("{others} {}", machine()?);
        Ok(this)
    }

    /// The sum of the tracked files with these paths and contents.
    fn sum_of(&self, is_one: impl Fn(&str) -> bool) -> String {
        let mut sum = Sum::default();
        for (path, content) in self.files.iter().filter(|(path, _)| is_one(path)) {
            sum.add(path.as_bytes());
            sum.add(&content.to_le_bytes());
        }
        sum.to_string()
    }

    /// The stamp of a check that looks at these built files, and at the Rust code below these folders.
    pub(crate) fn stamp(&self, built: &[&Path], code: &[&str]) -> String {
        if self.passed.is_none() {
            return String::new();
        }
        let mut stamp = self.common.clone();
        for path in built {
            let _ = write!(stamp, " {}", facts(path));
        }
        let is_code = |path: &str| code.iter().any(|folder| path.starts_with(folder));
        let _ = write!(stamp, " {}", self.sum_of(|path| path.ends_with(".rs") && is_code(path)));
        let mut sum = Sum::default();
        sum.add(stamp.as_bytes());
        sum.to_string()
    }

    /// Whether the check passed with this stamp.
    pub(crate) fn has_passed(&self, name: &str, stamp: &str) -> bool {
        let passed = self.passed.as_ref().and_then(|passed| passed.lock().ok());
        passed.is_some_and(|passed| passed.get(name).is_some_and(|last| last == stamp))
    }

    /// Keeps that the check has passed with this stamp.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn keep(&self, name: &str, stamp: &str) -> anyhow::Result<()> {
        let Some(passed) = &self.passed else { return Ok(()) };
        let Ok(mut passed) = passed.lock() else { return Ok(()) };
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(kept())?;
        file.write_all(line(now_s(), stamp, name).as_bytes())?;
        passed.insert(name.to_owned(), stamp.to_owned());
        Ok(())
    }
}

/// Where passes are kept: time, stamp and name of a check in each line; the last of a name counts.
fn kept() -> PathBuf {
    target().join("passed.tsv")
}

fn line(time_s: u64, stamp: &str, name: &str) -> String {
    format!("{time_s}\t{stamp}\t{name}\n")
}

/// The lines that still count.
fn valid(text: &str, now_s: u64) -> impl Iterator<Item = (u64, &str, &str)> {
    text.lines().filter_map(move |line| {
        let mut words = line.splitn(3, '\t');
        let time_s: u64 = words.next()?.parse().ok()?;
        let is_valid = time_s <= now_s && now_s - time_s < VALID_S;
        Some((time_s, words.next()?, words.next()?)).filter(|_| is_valid)
    })
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Two checksums of the same bytes, and their number.
#[derive(Default)]
struct Sum {
    plain: u32,
    /// The sum of the bytes after the sum so far, so that both differ where one happens to agree.
    chained: u32,
    bytes: usize,
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        self.plain = crc32c::crc32c_append(self.plain, bytes);
        self.chained =
            crc32c::crc32c_append(self.chained ^ self.bytes as u32, bytes).rotate_left(7);
        self.bytes += bytes.len();
    }
}

impl std::fmt::Display for Sum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:08x}{:08x}-{:x}", self.plain, self.chained, self.bytes)
    }
}

/// The path, size and time of a built file.
fn facts(path: &Path) -> String {
    let facts = std::fs::metadata(path);
    let facts = facts.map(|one| format!("{} {}.{}", one.len(), one.mtime(), one.mtime_nsec()));
    format!("{} {}", path.display(), facts.unwrap_or_else(|error| error.to_string()))
}

/// A sum of the content and the mode of each tracked file.
fn sums_of_files() -> anyhow::Result<BTreeMap<String, u32>> {
    let mut sums = BTreeMap::new();
    for path in tidy::tree::paths()? {
        let full = root().join(&path);
        let facts = full.symlink_metadata().with_context(|| path.clone())?;
        let bytes = match facts.is_symlink() {
            true => std::fs::read_link(&full)?.into_os_string().into_encoded_bytes(),
            false => std::fs::read(&full).with_context(|| path.clone())?,
        };
        let sum = crc32c::crc32c_append(facts.mode(), &bytes);
        sums.insert(path, sum);
    }
    Ok(sums)
}

/// The machine, as far as tests depend on it.
fn machine() -> anyhow::Result<String> {
    let mut sum = Sum::default();
    sum.add(&std::fs::read(PACKAGES).unwrap_or_default());
    for path in ["/proc/sys/kernel/osrelease", "/proc/sys/kernel/version", "/proc/self/status"] {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let is_of_user = |line: &&str| {
            let starts = ["Uid", "Gid", "Groups", "CapEff", "CapBnd", "Seccomp"];
            !path.ends_with("status") || starts.iter().any(|start| line.starts_with(start))
        };
        text.lines().filter(is_of_user).for_each(|line| sum.add(line.as_bytes()));
    }
    for program in ["node", "rustc"] {
        let version = Command::new(program).arg("--version").output();
        sum.add(&version.map(|output| output.stdout).unwrap_or_default());
    }
    // Engines are unpacked there.
    let entries = std::fs::read_dir(target()).into_iter().flatten().flatten();
    let mut engines: Vec<String> =
        entries.map(|entry| entry.path().join("usr")).map(|usr| facts(&usr)).collect();
    engines.retain(|facts| !facts.contains("os error"));
    engines.sort();
    engines.iter().for_each(|engine| sum.add(engine.as_bytes()));
    let mut variables: Vec<String> = std::env::vars_os()
        .map(|(name, value)| format!("{}={}", name.to_string_lossy(), value.to_string_lossy()))
        .filter(|variable| VARIABLES.iter().any(|start| variable.starts_with(start)))
        .collect();
    variables.sort();
    variables.iter().for_each(|variable| sum.add(variable.as_bytes()));
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let own = std::env::current_exe().context("this program")?;
    Ok(format!("{sum} {cpus} {}", facts(&own)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, u32)], passed: &[(&str, &str)]) -> Unchanged {
        let passed = passed.iter().map(|(name, stamp)| ((*name).to_owned(), (*stamp).to_owned()));
        Unchanged {
            passed: Some(Mutex::new(passed.collect())),
            files: files.iter().map(|(path, sum)| ((*path).to_owned(), *sum)).collect(),
            common: "machine".to_owned(),
        }
    }

    #[test]
    fn a_stamp_has_the_built_files_and_the_code_that_is_read() {
        let folder = std::env::temp_dir().join(format!("whit-unchanged-{}", std::process::id()));
        std::fs::write(&folder, "one").unwrap();
        let before = of(&[("crates/a/src/lib.rs", 1), ("crates/b/src/lib.rs", 1)], &[]);
        let after = of(&[("crates/a/src/lib.rs", 1), ("crates/b/src/lib.rs", 2)], &[]);
        let stamp = |one: &Unchanged, code: &[&str]| one.stamp(&[&folder], code);
        assert_eq!(stamp(&before, &["crates/a/"]), stamp(&after, &["crates/a/"]));
        assert_ne!(stamp(&before, &["crates/"]), stamp(&after, &["crates/"]));
        let built = stamp(&before, &[]);
        std::fs::write(&folder, "another").unwrap();
        assert_ne!(stamp(&before, &[]), built, "a program that was built anew");
        std::fs::remove_file(&folder).unwrap();
        assert_ne!(stamp(&before, &[]), built, "a program that is gone");
    }

    #[test]
    fn what_passed_counts_with_its_stamp_alone() {
        let unchanged = of(&[], &[("vm", "7")]);
        assert!(unchanged.has_passed("vm", "7"));
        assert!(!unchanged.has_passed("vm", "8") && !unchanged.has_passed("page", "7"));
        let none = Unchanged { passed: None, files: BTreeMap::new(), common: String::new() };
        assert!(!none.has_passed("vm", &none.stamp(&[], &[])));
    }

    #[test]
    fn passes_grow_old() {
        let text = format!("{}{}x\t1\ty\n", line(100, "a", "one two"), line(900, "b", "vm"));
        let names = |now_s| valid(&text, now_s).map(|(.., name)| name).collect::<Vec<_>>();
        assert_eq!(names(1000), ["one two", "vm"]);
        assert_eq!(names(100 + VALID_S), ["vm"]);
        assert_eq!(names(500), ["one two"], "a time to come is a clock that was wrong");
    }
}

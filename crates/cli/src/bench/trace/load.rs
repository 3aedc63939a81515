//! What is traced: loads of system calls that time themselves, so that the start and the end of a
//! tracer do not count.
//!
//! A load runs in slices, this very binary under a hidden verb, and writes how long each took.
//! The middle slice says what a call costs.  Slices are shorter than the scheduler lets a task
//! run at a time, so that on a machine with other work most are not interrupted.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};

use super::super::programs::on_path;

/// What a load does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum What {
    /// The cheapest call there is, over and over.
    Getppid,
    /// `dd bs=1` from `/dev/zero` to `/dev/null`: a read and a write for each byte.
    Dd,
    /// `true`, started and waited for, with no shell between.
    True,
    /// `find` over a tree made for it, with a look at every file.
    Find,
}

impl What {
    /// What it is called on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            What::Getppid => "getppid",
            What::Dd => "dd",
            What::True => "true",
            What::Find => "find",
        }
    }

    /// So many of it, for people.
    pub(crate) fn describe(self, units: u64, files: usize) -> String {
        match self {
            What::Getppid => format!("getppid, {units} times"),
            What::Dd => format!("dd bs=1 count={units}"),
            What::True => format!("true, started {units} times"),
            What::Find => format!("find over {files} files, {units} times"),
        }
    }
}

/// The folder of the tree within a load's folder.
const TREE: &str = "tree";
/// The file in it that the load writes.
const TOLD: &str = "told";
/// Files in each folder of the tree.
const FILES_PER_FOLDER: usize = 20;

/// Makes the tree that `find` walks.
pub(crate) fn plant(folder: &Path, files: usize) -> std::io::Result<()> {
    for number in 0..files {
        let inner = folder.join(TREE).join((number / FILES_PER_FOLDER).to_string());
        if number.is_multiple_of(FILES_PER_FOLDER) {
            std::fs::create_dir_all(&inner)?;
        }
        std::fs::File::create(inner.join(number.to_string()))?;
    }
    Ok(())
}

/// Runs a load and tells in its folder how many nanoseconds each slice took.
pub(crate) fn run(what: What, units: u64, slices: u64, folder: &Path) -> anyhow::Result<()> {
    let slices_ns = run_here(what, units, slices, folder)?;
    let mut text = String::new();
    for nanoseconds in slices_ns {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{nanoseconds}");
    }
    let path = folder.join(TOLD);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Runs a load in this process and gives the nanoseconds of each slice.
pub(crate) fn run_here(
    what: What,
    units: u64,
    slices: u64,
    folder: &Path,
) -> anyhow::Result<Vec<u64>> {
    let program = match what {
        What::Getppid => PathBuf::new(),
        _ => on_path(what.name()).with_context(|| format!("there is no {}", what.name()))?,
    };
    let mut slices_ns = Vec::new();
    for _ in 0..slices {
        let start = Instant::now();
        match what {
            What::Getppid => {
                for _ in 0..units {
                    std::hint::black_box(rustix::process::getppid());
                }
            }
            What::Dd => {
                let mut dd = Command::new(&program);
                dd.args(["if=/dev/zero", "of=/dev/null", "bs=1"]).arg(format!("count={units}"));
                // It would tell its own speed.
                finish(dd.stderr(Stdio::null()))?;
            }
            What::True => {
                for _ in 0..units {
                    finish(&mut Command::new(&program))?;
                }
            }
            What::Find => {
                for _ in 0..units {
                    let mut find = Command::new(&program);
                    finish(find.arg(folder.join(TREE)).args(["-type", "f", "-size", "+0"]))?;
                }
            }
        }
        slices_ns.push(u64::try_from(start.elapsed().as_nanos())?);
    }
    Ok(slices_ns)
}

fn finish(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status()?;
    ensure!(status.success(), "{} ended with {status}", command.get_program().display());
    Ok(())
}

/// Takes what a load has told away, so that it cannot be read twice.
pub(crate) fn told(folder: &Path) -> anyhow::Result<Vec<u64>> {
    let path = folder.join(TOLD);
    let text = std::fs::read_to_string(&path).context("the load has told nothing")?;
    std::fs::remove_file(&path)?;
    text.lines().map(|line| line.parse().context("the load has told no number")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_tell_every_slice() {
        let folder = tempfile::tempdir().unwrap();
        plant(folder.path(), 45).unwrap();
        let folders = std::fs::read_dir(folder.path().join(TREE)).unwrap().count();
        assert_eq!(folders, 3);
        for what in [What::Getppid, What::Dd, What::True, What::Find] {
            if what != What::Getppid && on_path(what.name()).is_none() {
                continue;
            }
            run(what, 2, 3, folder.path()).unwrap();
            let slices = told(folder.path()).unwrap();
            assert!(slices.len() == 3 && slices.iter().all(|ns| *ns > 0), "{what:?} {slices:?}");
            assert!(told(folder.path()).is_err(), "{what:?}: told twice");
        }
    }

    #[test]
    fn names_are_those_of_the_command_line() {
        use clap::ValueEnum as _;
        for what in What::value_variants() {
            let name = what.to_possible_value().unwrap();
            assert_eq!(name.get_name(), what.name());
        }
    }
}

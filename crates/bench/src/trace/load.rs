//! The traced loads: system calls that time themselves, so that the start and the end of a tracer
//! are not included.
//!
//! A load is this binary under a hidden verb.  It runs in slices and writes the time of each; the
//! median slice gives the cost of a call.  Slices are shorter than the scheduler's time slice, so
//! that on a busy machine most are not preempted.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::error::{Context, Result, ensure};

use super::TraceSize;
use crate::SearchPath;

named! {
    /// The kinds of loads.
    TraceLoad {
        /// The cheapest system call, repeated.
        Getppid = "getppid",
        /// `dd bs=1` from `/dev/zero` to `/dev/null`: a read and a write for each byte.
        Dd = "dd",
        /// `true`, started and waited for without a shell.
        True = "true",
        /// `find` over a tree made for it, with a stat of every file.
        Find = "find",
    }
}

impl TraceLoad {
    /// The load and its size, for people.
    pub(crate) fn describe(self, units: u64, files: usize) -> String {
        match self {
            TraceLoad::Getppid => format!("getppid, {units} times"),
            TraceLoad::Dd => format!("dd bs=1 count={units}"),
            TraceLoad::True => format!("true, started {units} times"),
            TraceLoad::Find => format!("find over {files} files, {units} times"),
        }
    }
}

/// The folder of the tree within a load's folder.
const TREE: &str = "tree";
/// The file in it that the load writes.
const SLICES: &str = "slices";
/// Files in each folder of the tree.
const FILES_PER_FOLDER: usize = 20;

/// Creates the tree that `find` walks.
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

/// Runs a load and writes the nanoseconds of each slice into `folder`.
///
/// # Errors
/// If its program is not found or fails, or the file cannot be written.
pub fn run(what: TraceLoad, size: TraceSize, folder: &Path, path: &SearchPath) -> Result<()> {
    let slices_ns = run_here(what, size, folder, path)?;
    let mut text = String::new();
    for nanoseconds in slices_ns {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{nanoseconds}");
    }
    let path = folder.join(SLICES);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Runs a load in this process and returns the nanoseconds of each slice.
pub(crate) fn run_here(
    what: TraceLoad,
    size: TraceSize,
    folder: &Path,
    path: &SearchPath,
) -> Result<Vec<u64>> {
    let TraceSize { units, slices } = size;
    let program = match what {
        TraceLoad::Getppid => PathBuf::new(),
        _ => path.find(what.name()).with_context(|| format!("there is no {}", what.name()))?,
    };
    let mut slices_ns = Vec::new();
    for _ in 0..slices {
        let start = Instant::now();
        match what {
            TraceLoad::Getppid => {
                for _ in 0..units {
                    std::hint::black_box(rustix::process::getppid());
                }
            }
            TraceLoad::Dd => {
                let mut dd = Command::new(&program);
                dd.args(["if=/dev/zero", "of=/dev/null", "bs=1"]).arg(format!("count={units}"));
                // It would print its own speed.
                finish(dd.stderr(Stdio::null()))?;
            }
            TraceLoad::True => {
                for _ in 0..units {
                    finish(&mut Command::new(&program))?;
                }
            }
            TraceLoad::Find => {
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

fn finish(command: &mut Command) -> Result<()> {
    let status = command.status()?;
    ensure!(status.success(), "{} ended with {status}", command.get_program().display());
    Ok(())
}

/// Reads the slices that a load has written, and removes them, so that they are not read twice.
pub(crate) fn take_slices(folder: &Path) -> Result<Vec<u64>> {
    let path = folder.join(SLICES);
    let text = std::fs::read_to_string(&path).context("the load has written nothing")?;
    std::fs::remove_file(&path)?;
    text.lines().map(|line| line.parse().context("the load has not written a number")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_write_every_slice() {
        let folder = tempfile::tempdir().unwrap();
        plant(folder.path(), 45).unwrap();
        let folders = std::fs::read_dir(folder.path().join(TREE)).unwrap().count();
        assert_eq!(folders, 3);
        let path = crate::tests::search_path();
        for what in TraceLoad::ALL {
            if what != TraceLoad::Getppid && path.find(what.name()).is_none() {
                continue;
            }
            run(what, TraceSize { units: 2, slices: 3 }, folder.path(), &path).unwrap();
            let slices = take_slices(folder.path()).unwrap();
            assert!(slices.len() == 3 && slices.iter().all(|ns| *ns > 0), "{what:?} {slices:?}");
            assert!(take_slices(folder.path()).is_err(), "{what:?}: read twice");
        }
    }
}

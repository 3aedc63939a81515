//! The floor: the bare system calls of the same changes, within this process.
//!
//! An update is a `pwrite` of the live part of the header and of each row that it completes.  No
//! lock, no look at what another program may have changed, nothing read or written of a pipe, and
//! not all or nothing.  Files stay open as far as the limit of descriptors allows; others are
//! opened and closed for each update.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit, setrlimit};

use super::RrdCase;
use super::files::{self, Layout, MRTG};
use crate::contest::Measurement;
use crate::measure::measure;
use crate::process;

/// Descriptors that are left for everything else.
const DESCRIPTORS_LEFT: u64 = 64;

/// Files to be updated.
#[derive(Debug)]
pub(crate) struct Floor<'a> {
    layout: &'a Layout,
    paths: Vec<PathBuf>,
    /// The files that stay open; empty if they are too many.
    files: Vec<File>,
}

impl<'a> Floor<'a> {
    /// Opens the files of a folder.
    pub(crate) fn open(layout: &'a Layout, files: u64, folder: &Path) -> io::Result<Self> {
        let paths: Vec<PathBuf> =
            (0..files).map(|number| folder.join(files::name(number))).collect();
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        setrlimit(Resource::Nofile, limit)?;
        let most = limit.maximum.unwrap_or(u64::MAX).saturating_sub(DESCRIPTORS_LEFT);
        let files = match files <= most {
            true => paths.iter().map(|path| open(path)).collect::<io::Result<_>>()?,
            false => Vec::new(),
        };
        Ok(Floor { layout, paths, files })
    }

    /// Writes what the updates of some steps change; returns the cost, with the pages made dirty.
    pub(crate) fn run(&mut self, steps: Range<u64>) -> io::Result<Measurement> {
        let bytes = vec![0; 4096];
        let before = process::dirtied_bytes("self");
        let (done, measurement) = measure(|| {
            for step in steps {
                let places = self.layout.places(step);
                let write = |file: &File| {
                    places.iter().try_for_each(|place| {
                        file.write_all_at(&bytes[..place.bytes], place.offset)
                    })
                };
                match self.files.is_empty() {
                    false => self.files.iter().try_for_each(write)?,
                    true => self.paths.iter().try_for_each(|path| write(&open(path)?))?,
                }
            }
            io::Result::Ok(())
        });
        done?;
        let after = process::dirtied_bytes("self");
        let dirtied_bytes = before.zip(after).map(|(before, after)| after.saturating_sub(before));
        Ok(Measurement { dirtied_bytes, ..measurement })
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

/// The bare calls of other commands: a new file of the same size; the rows of a day; a small file.
pub(crate) fn commands(case: RrdCase, count: u64, folder: &Path) -> io::Result<Measurement> {
    let all = vec![0; MRTG.file_bytes() as usize];
    let day_bytes = files::DAY_STEPS as usize * 16;
    let mut rows = vec![0; day_bytes];
    let (done, measurement) = measure(|| {
        for number in 0..count {
            match case {
                RrdCase::Create => std::fs::write(folder.join(format!("new{number}")), &all)?,
                RrdCase::Graph => std::fs::write(folder.join("day"), &all[..day_bytes])?,
                _ => File::open(folder.join(files::name(0)))?
                    .read_exact_at(&mut rows, MRTG.header_bytes())?,
            }
        }
        io::Result::Ok(())
    });
    done?;
    Ok(measurement)
}

//! The floor: the same files, read by `pread` into a buffer, and nothing else.
//!
//! The files are found by opening the sources on a probed host, which notes what is read at each
//! tick.  Sources with longer intervals (i2 and i3) are read as rarely by the floor.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use crate::contest::Measurement;
use crate::measure::measure;
use procfs::Host;
use rustix::fs::{Mode, OFlags};
use sample::{Cadence, State, Table};
use source::Entry;

/// Ticks after which the files of each are known.
const WATCHED_TICKS: u64 = 8;

/// Number of samples between those of the second and the third interval at `-i0`.
const SECOND_EVERY: u64 = 6;
const THIRD_EVERY: u64 = 30;

/// Larger than any file here, so that one call is enough unless the kernel returns less.
const BUFFER_BYTES: usize = 256 * 1024;

/// The open files of some sources.
pub(crate) struct Floor {
    files: Vec<OpenedFile>,
    buffer: Vec<u8>,
}

struct OpenedFile {
    fd: OwnedFd,
    every: u64,
    /// System calls of a reading: more than one for long files of records.
    calls: u64,
}

impl Floor {
    /// Opens the files that `entries` read at every tick.
    pub(crate) fn open(entries: &[&'static Entry]) -> std::io::Result<Self> {
        let mut files: Vec<(String, OpenedFile)> = Vec::new();
        for entry in entries {
            let every = match entry.cadence {
                Cadence::First => 1,
                Cadence::Second => SECOND_EVERY,
                Cadence::Third => THIRD_EVERY,
            };
            for (path, calls) in files_of(entry) {
                if let Some((_, held)) = files.iter_mut().find(|(other, _)| *other == path) {
                    held.every = held.every.min(every);
                    continue;
                }
                let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
                let fd = rustix::fs::open(Path::new(&path), flags, Mode::empty())?;
                files.push((path, OpenedFile { fd, every, calls }));
            }
        }
        let files = files.into_iter().map(|(_, opened)| opened).collect();
        Ok(Floor { files, buffer: vec![0; BUFFER_BYTES] })
    }

    /// The number of files that are read at every sample.
    pub(crate) fn files(&self) -> usize {
        self.files.iter().filter(|file| file.every == 1).count()
    }

    /// System calls for the files that are read at every sample.
    pub(crate) fn calls(&self) -> u64 {
        self.files.iter().filter(|file| file.every == 1).map(|file| file.calls).sum()
    }

    /// Reads every file at each of `samples` samples, whatever its interval.
    pub(crate) fn run_all(&mut self, samples: u64) -> std::io::Result<Measurement> {
        self.files.iter_mut().for_each(|file| file.every = 1);
        self.run(samples)
    }

    /// Reads the files of `samples` samples.
    pub(crate) fn run(&mut self, samples: u64) -> std::io::Result<Measurement> {
        let Floor { files, buffer } = self;
        let (done, measurement) = measure(|| -> rustix::io::Result<()> {
            for sample in 0..samples {
                for file in files.iter().filter(|file| sample.is_multiple_of(file.every)) {
                    let mut offset = 0;
                    for _ in 0..file.calls {
                        let count = rustix::io::pread(&file.fd, buffer.as_mut_slice(), offset)?;
                        offset += count as u64;
                    }
                }
            }
            Ok(())
        });
        done?;
        Ok(measurement)
    }
}

/// The files that a source reads at every tick, with the number of calls for each.
fn files_of(entry: &'static Entry) -> Vec<(String, u64)> {
    let mut host = Host::new("/");
    host.probe_for(entry.name);
    let mut source = (entry.open)(&mut host, &Arc::default());
    let mut table = Table::new(entry.fields.len());
    for tick in 0..WATCHED_TICKS + 2 {
        // Two ticks: to open the files, and to learn the lengths of records.
        if tick == 2 {
            host.forget_touches();
        }
        host.begin_tick();
        source.read(&mut host, &mut table);
    }
    let always = host.touches().filter(|(path, touch)| {
        !path.ends_with('/') && touch.state == State::Ok && touch.reads == WATCHED_TICKS
    });
    let files = always.map(|(path, touch)| (path.to_owned(), touch.calls / touch.reads));
    files.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_reads_what_the_sources_read() {
        let entries: Vec<&Entry> =
            ["cpu", "cpu_core"].iter().filter_map(|n| source::find(n)).collect();
        let mut floor = Floor::open(&entries).unwrap();
        assert_eq!(floor.files(), 2, "/proc/stat is shared, /proc/loadavg is read too");
        assert_eq!(floor.calls(), 2);
        let few = floor.run(10).unwrap();
        let many = floor.run(1_000).unwrap();
        assert!(many.wall_us > few.wall_us && many.cpu_us() > 100);
    }
}

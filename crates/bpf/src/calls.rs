//! What the programs at system calls have in common on this side: settings, the naming of tasks,
//! and what the kernel tells of a program.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};

use aya::maps::{HashMap, Map, MapData};
use aya::programs::{BtfTracePoint, Iter};
use aya::{Ebpf, Pod};

use crate::counts::CountSettings;
use crate::load::{link_iterator, open_iterator};
use crate::{Error, Kernel};

/// Places of calls: `SLOTS` of the programs.
pub const SLOTS: usize = 1024;

/// What the programs have cost, while that was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunTime {
    /// Runs of the program at the begin of a call.
    pub enter_runs: u64,
    /// Time in them.
    pub enter_ns: u64,
    /// Runs of the program at the end of a call.
    pub leave_runs: u64,
    /// Time in them.
    pub leave_ns: u64,
}

impl RunTime {
    /// What the kernel has measured of an object's programs so far.
    pub(crate) fn of(object: &Ebpf) -> Result<Self, Error> {
        Ok(RunTime {
            enter_runs: info(object, "enter", "run_cnt")?,
            enter_ns: info(object, "enter", "run_time_ns")?,
            leave_runs: info(object, "leave", "run_cnt")?,
            leave_ns: info(object, "leave", "run_time_ns")?,
        })
    }
}

/// Names tasks to the program `seed`.
pub(crate) struct Seeds {
    map: HashMap<MapData, u32, u32>,
    pass: OwnedFd,
}

impl Seeds {
    /// Loads the program.  The map is taken out of the object, so its other programs must have been
    /// loaded before.
    pub(crate) fn open(kernel: &Kernel, object: &mut Ebpf) -> Result<Self, Error> {
        let pass = iterator(kernel, object, "seed")?;
        let map = take(object, "seeds")?.try_into().map_err(|error| wrong(&error))?;
        Ok(Seeds { map, pass })
    }

    /// Makes these tasks watched; gives the numbers of the threads that are.
    pub(crate) fn name(&mut self, ids: &[i32]) -> Result<Vec<i32>, Error> {
        let mut found = Vec::new();
        // The map is emptied after each lot, so any number of tasks fits.
        for lot in ids.chunks(1024) {
            for id in lot {
                self.map.insert(id.cast_unsigned(), 0, 0).map_err(|error| wrong(&error))?;
            }
            found.extend(words(&self.pass)?.map(u32::cast_signed));
            for id in lot {
                self.map.remove(&id.cast_unsigned()).map_err(|error| wrong(&error))?;
            }
        }
        Ok(found)
    }
}

/// A map did not do what it must.
pub(crate) fn wrong(error: &aya::maps::MapError) -> Error {
    Error::from_loader(error)
}

/// A number that the kernel tells of a program, by its descriptor's entry in `/proc`.
pub(crate) fn info(object: &Ebpf, name: &str, field: &str) -> Result<u64, Error> {
    let absent = || Error::Refused(format!("the kernel does not tell {field} of `{name}`"));
    let program = object.program(name).ok_or_else(absent)?;
    let descriptor = program.fd().map_err(|error| Error::from_loader(&error))?;
    let path = format!("/proc/self/fdinfo/{}", descriptor.as_fd().as_raw_fd());
    let text = std::fs::read_to_string(path).map_err(Error::Read)?;
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let value = lines.find(|(key, _)| *key == field).ok_or_else(absent)?.1;
    value.trim().parse().map_err(|_| absent())
}

/// Makes the kernel measure its programs while the descriptor is open, which costs each run
/// some 40 ns more.
///
/// # Errors
/// When the kernel refuses (5.8 or later, with `CAP_SYS_ADMIN`).
pub(crate) fn measure() -> Result<OwnedFd, Error> {
    aya::sys::enable_stats(aya::sys::Stats::RunTime).map_err(|error| Error::from_loader(&error))
}

/// `struct settings` of the program.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct RawSettings {
    slower_than_ns: u64,
    cgroup: u64,
    calls: [u64; SLOTS / 64],
    everybody: u32,
    follow: u32,
    some_calls: u32,
    errors_only: u32,
    split: u32,
    cgroup_level: u32,
    by_command: u32,
    by_cgroup: u32,
    own_process: i32,
    seed_threads: u32,
    from_exec: u32,
    successes_only: u32,
    pub(crate) threads_only: u32,
    unused: u32,
    command: [u8; 16],
}

// SAFETY: integers and arrays of them, laid out by C without padding.
unsafe impl Pod for RawSettings {}

impl CountSettings {
    pub(crate) fn raw(&self) -> RawSettings {
        RawSettings {
            slower_than_ns: self.slower_than_ns,
            cgroup: self.cgroup.map_or(0, |(id, _)| id),
            calls: self.calls.unwrap_or_default(),
            everybody: u32::from(self.everybody),
            follow: u32::from(self.follow),
            some_calls: u32::from(self.calls.is_some()),
            errors_only: u32::from(self.errors_only),
            split: self.split as u32,
            cgroup_level: self.cgroup.map_or(0, |(_, level)| level),
            by_command: u32::from(self.command.is_some()),
            by_cgroup: u32::from(self.cgroup.is_some()),
            own_process: self.own_process,
            seed_threads: u32::from(self.seed_threads),
            from_exec: u32::from(self.from_exec),
            successes_only: u32::from(self.successes_only),
            threads_only: 0,
            unused: 0,
            command: self.command.unwrap_or_default(),
        }
    }
}

pub(crate) fn attach(
    kernel: &Kernel,
    object: &mut Ebpf,
    name: &str,
    tracepoint: &str,
) -> Result<(), Error> {
    let program: &mut BtfTracePoint =
        kernel.program(object, name, |program: &mut BtfTracePoint, types| {
            program.load(tracepoint, types)
        })?;
    program.attach().map_err(|error| Error::from_loader(&error))?;
    Ok(())
}

pub(crate) fn take(object: &mut Ebpf, name: &str) -> Result<Map, Error> {
    object.take_map(name).ok_or_else(|| Error::Refused(format!("no map `{name}`")))
}

pub(crate) fn iterator(kernel: &Kernel, object: &mut Ebpf, name: &str) -> Result<OwnedFd, Error> {
    let program: &mut Iter =
        kernel.program(object, name, |program: &mut Iter, types| program.load("task", types))?;
    let program = program.fd().map_err(|error| Error::from_loader(&error))?;
    link_iterator(program.as_fd()).map_err(|error| Error::from_loader(&error))
}

/// Runs an iterator and gives the 32-bit words that it writes.
pub(crate) fn words(link: &OwnedFd) -> Result<impl Iterator<Item = u32> + use<>, Error> {
    let mut file = std::fs::File::from(open_iterator(link).map_err(Error::Read)?);
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut file, &mut bytes).map_err(Error::Read)?;
    let words: Vec<u32> =
        bytes.as_chunks().0.iter().map(|word: &[u8; 4]| u32::from_ne_bytes(*word)).collect();
    Ok(words.into_iter())
}

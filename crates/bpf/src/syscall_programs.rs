//! What the programs at system calls have in common in user space: how tasks become watched, and
//! the kernel's statistics of a program.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};

use aya::Ebpf;
use aya::maps::{HashMap, MapData, MapType};
use aya::sys::is_map_supported;

use crate::loader::{open_iterator, take_map};
use crate::{Error, KernelTypes, RunTime};

/// Where the programs store the call that a task is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStorage {
    /// In the task's own storage, found without a hash and without a lock.  Linux 5.12 and later.
    Task,
    /// In a hash by the task's address, for at most 32,768 tasks at once.  Linux 5.8 to 5.11.
    Hash,
}

impl CallStorage {
    /// In words: `task storage` or `a hash`.
    pub fn name(self) -> &'static str {
        match self {
            CallStorage::Task => "task storage",
            CallStorage::Hash => "a hash",
        }
    }

    /// Opens with the first storage that the kernel takes.
    pub(crate) fn first<T>(open: impl Fn(CallStorage) -> Result<T, Error>) -> Result<T, Error> {
        // Asking costs a system call, trying costs parsing the kernel's types.
        if matches!(is_map_supported(MapType::TaskStorage), Ok(false)) {
            return open(CallStorage::Hash);
        }
        match open(CallStorage::Task) {
            Err(Error::Refused(reason)) => open(CallStorage::Hash).map_err(|error| match error {
                Error::Refused(other) if other != reason => {
                    Error::Refused(format!("{reason}; without task storage: {other}"))
                }
                error => error,
            }),
            other => other,
        }
    }

    /// The object for this storage: that with task storage, or that without.
    pub(crate) fn object(
        self,
        with_task_storage: &'static [u8],
        without: &'static [u8],
    ) -> &'static [u8] {
        match self {
            CallStorage::Task => with_task_storage,
            CallStorage::Hash => without,
        }
    }

    /// Attaches programs to their tracepoints in this order; `fork` only if children are followed.
    /// With a hash, one more program removes freed tasks from it.
    pub(crate) fn attach(
        self,
        kernel: &KernelTypes,
        object: &mut Ebpf,
        tracepoints: &[(&str, &str)],
        follow: bool,
    ) -> Result<(), Error> {
        if self == CallStorage::Hash {
            kernel.attach(object, "forget", "sched_process_free")?;
        }
        let wanted = tracepoints.iter().filter(|(name, _)| *name != "fork" || follow);
        for (name, tracepoint) in wanted {
            kernel.attach(object, name, tracepoint)?;
        }
        Ok(())
    }
}

/// The run time of the programs, while the kernel measured it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramRunTime {
    /// Runs of the program at `sys_enter`.
    pub enter_runs: u64,
    /// The time that these runs took.
    pub enter_ns: u64,
    /// Runs of the program at `sys_exit`.
    pub leave_runs: u64,
    /// The time that these runs took.
    pub leave_ns: u64,
}

impl ProgramRunTime {
    /// What the kernel has measured so far for an object's programs.
    pub(crate) fn of(object: &Ebpf) -> Result<Self, Error> {
        let (enter, leave) = (run_time(object, "enter")?, run_time(object, "leave")?);
        Ok(ProgramRunTime {
            enter_runs: enter.runs,
            enter_ns: enter.ns,
            leave_runs: leave.runs,
            leave_ns: leave.ns,
        })
    }
}

/// What the kernel has measured so far for a program.
pub(crate) fn run_time(object: &Ebpf, name: &str) -> Result<RunTime, Error> {
    Ok(RunTime { runs: info(object, name, "run_cnt")?, ns: info(object, name, "run_time_ns")? })
}

/// Makes tasks watched, by the iterator program `seed`.
pub(crate) struct WatchedTasks {
    map: HashMap<MapData, u32, u32>,
    pass: OwnedFd,
}

impl WatchedTasks {
    /// Loads the program.  Load the object's other programs before: the map is taken out of it.
    pub(crate) fn open(kernel: &KernelTypes, object: &mut Ebpf) -> Result<Self, Error> {
        let pass = kernel.iterator(object, "seed", "task")?;
        let map = take_map(object, "seeds")?.try_into().map_err(|error| wrong(&error))?;
        Ok(WatchedTasks { map, pass })
    }

    /// Makes these tasks watched; returns the numbers of the threads that exist.
    pub(crate) fn watch(&mut self, ids: &[i32]) -> Result<Vec<i32>, Error> {
        let mut found = Vec::new();
        // The map is emptied after each chunk, so any number of tasks fits.
        for chunk in ids.chunks(1024) {
            for id in chunk {
                self.map.insert(id.cast_unsigned(), 0, 0).map_err(|error| wrong(&error))?;
            }
            found.extend(words(&self.pass)?.map(u32::cast_signed));
            for id in chunk {
                self.map.remove(&id.cast_unsigned()).map_err(|error| wrong(&error))?;
            }
        }
        Ok(found)
    }
}

/// An access to a map failed.
pub(crate) fn wrong(error: &aya::maps::MapError) -> Error {
    Error::from_loader(error)
}

/// How often the kernel did not run a program because it ran on this CPU already.  Before 5.12 the
/// kernel neither counts such runs nor leaves any out.
pub(crate) fn recursion_misses(object: &Ebpf, name: &str) -> Result<u64, Error> {
    Ok(program_value(object, name, "recursion_misses")?.unwrap_or(0))
}

/// A number that the kernel reports of a program; an error if it does not.
fn info(object: &Ebpf, name: &str, field: &str) -> Result<u64, Error> {
    let absent = || Error::Refused(format!("the kernel does not report {field} of `{name}`"));
    program_value(object, name, field)?.ok_or_else(absent)
}

/// A number of a program, by its descriptor's entry in `/proc`; `None` if it is not there.
fn program_value(object: &Ebpf, name: &str, field: &str) -> Result<Option<u64>, Error> {
    let absent = || Error::Refused(format!("the object has no program `{name}`"));
    let program = object.program(name).ok_or_else(absent)?;
    let descriptor = program.fd().map_err(|error| Error::from_loader(&error))?;
    let path = format!("/proc/self/fdinfo/{}", descriptor.as_fd().as_raw_fd());
    let text = std::fs::read_to_string(path).map_err(Error::Read)?;
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let value = lines.find(|(key, _)| *key == field).map(|(_, value)| value.trim().parse());
    Ok(value.and_then(Result::ok))
}

/// Makes the kernel measure the run time of its programs while the descriptor is open, which costs
/// each run some 40 ns more.
///
/// # Errors
/// When the kernel refuses (5.8 or later, with `CAP_SYS_ADMIN`).
pub(crate) fn measure() -> Result<OwnedFd, Error> {
    aya::sys::enable_stats(aya::sys::Stats::RunTime).map_err(|error| Error::from_loader(&error))
}

/// Runs an iterator and returns the 32-bit words that it writes.
pub(crate) fn words(link: &OwnedFd) -> Result<impl Iterator<Item = u32> + use<>, Error> {
    let mut file = std::fs::File::from(open_iterator(link).map_err(Error::Read)?);
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut file, &mut bytes).map_err(Error::Read)?;
    let words: Vec<u32> =
        bytes.as_chunks().0.iter().map(|word: &[u8; 4]| u32::from_ne_bytes(*word)).collect();
    Ok(words.into_iter())
}

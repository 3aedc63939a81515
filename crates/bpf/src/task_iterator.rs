//! Every task of the machine in one pass.
//!
//! A pass costs two system calls to open and close it, and one for each 32 KiB of records, which
//! hold about 60 processes of one thread or 160 threads of one process.  The kernel walks the list
//! of tasks under RCU and resumes at the next call where it stopped, so a task that begins or exits
//! meanwhile may or may not be seen; none is seen twice.

use std::io;
use std::os::fd::OwnedFd;

use aya::include_bytes_aligned;

use crate::loader::open_iterator;
use crate::records::{Record as _, TaskRecord, ThreadGroup};
use crate::{Error, KernelTypes};

/// The object made of `programs/task.bpf.c`.
pub(crate) static OBJECT: &[u8] = include_bytes_aligned!("../objects/task.bpf.o");

/// Buffer for one read; the kernel's own is 32 KiB.
const READ_BYTES: usize = 64 * 1024;

/// The loaded iterator, which can be run any number of times.
#[derive(Debug)]
pub struct TaskIterator {
    link: OwnedFd,
    buffer: Box<[u8]>,
}

impl TaskIterator {
    /// Loads the program.
    ///
    /// # Errors
    /// [`Error::Denied`] without permission; [`Error::Refused`] when the kernel rejects the
    /// program.
    pub fn open(kernel: &KernelTypes) -> Result<Self, Error> {
        let mut object = kernel.load(OBJECT)?;
        let link = kernel.iterator(&mut object, "tasks", "task")?;
        Ok(TaskIterator { link, buffer: vec![0; READ_BYTES].into() })
    }

    /// Calls `each` with every task, in the order of their numbers; the leader of a thread group
    /// comes with what its threads share.  Returns the number of system calls made.
    ///
    /// # Errors
    /// [`Error::Read`] when the kernel does not run the pass or a record is not valid.
    pub fn pass(
        &mut self,
        mut each: impl FnMut(&TaskRecord, Option<&ThreadGroup>),
    ) -> Result<u64, Error> {
        let file = open_iterator(&self.link).map_err(Error::Read)?;
        let mut calls = 2;
        loop {
            calls += 1;
            let count = match rustix::io::read(&file, &mut *self.buffer) {
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => continue,
                other => other.map_err(|error| Error::Read(error.into()))?,
            };
            if count == 0 {
                return Ok(calls);
            }
            // The kernel never splits a record: its buffer takes all of it or nothing.
            for_each(&self.buffer[..count], &mut each)
                .ok_or_else(|| Error::Read(io::Error::from(io::ErrorKind::InvalidData)))?;
        }
    }
}

/// Calls `each` with every task of these bytes; `None` if they end within a record.
fn for_each(
    mut bytes: &[u8],
    each: &mut impl FnMut(&TaskRecord, Option<&ThreadGroup>),
) -> Option<()> {
    while !bytes.is_empty() {
        let (task, rest) = TaskRecord::split_first(bytes)?;
        bytes = rest;
        if task.pid == task.tgid {
            let (group, rest) = ThreadGroup::split_first(bytes)?;
            bytes = rest;
            each(&task, Some(&group));
        } else {
            each(&task, None);
        }
    }
    Some(())
}

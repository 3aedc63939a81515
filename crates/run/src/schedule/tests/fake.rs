//! A machine whose state a test sets, for the tests of the schedule.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::super::machine::{Machine, Swapped};

/// The state of the fake machine, and how often it was read.
#[derive(Clone, Debug, Default)]
pub(in crate::schedule) struct Says {
    pub(in crate::schedule) threads: u32,
    pub(in crate::schedule) busy: u32,
    pub(in crate::schedule) memory_bytes: u64,
    pub(in crate::schedule) swapped: Swapped,
    pub(in crate::schedule) disks_ms: Vec<u64>,
    pub(in crate::schedule) files: HashMap<PathBuf, Vec<u8>>,
    /// Readings of any kind so far.
    pub(in crate::schedule) asked: u32,
    /// Every reading fails.
    pub(in crate::schedule) broken: bool,
}

/// A fake machine; its clones share the state.
#[derive(Clone, Debug)]
pub(in crate::schedule) struct Fake(Rc<RefCell<Says>>);

impl Fake {
    /// An idle machine with this many threads.
    pub(in crate::schedule) fn new(threads: u32) -> Self {
        let says = Says { threads, memory_bytes: 1 << 30, ..Says::default() };
        Fake(Rc::new(RefCell::new(says)))
    }

    /// Changes the state.
    pub(in crate::schedule) fn now(&self, change: impl FnOnce(&mut Says)) {
        change(&mut self.0.borrow_mut());
    }

    /// Number of readings.
    pub(in crate::schedule) fn asked(&self) -> u32 {
        self.0.borrow().asked
    }

    fn reading<T>(&self, read: impl FnOnce(&Says) -> T) -> io::Result<T> {
        let mut says = self.0.borrow_mut();
        says.asked += 1;
        if says.broken { Err(io::Error::other("broken")) } else { Ok(read(&says)) }
    }
}

impl Machine for Fake {
    fn threads(&mut self) -> u32 {
        self.0.borrow().threads
    }

    fn jobs_max(&mut self) -> u32 {
        1000
    }

    fn busy_threads(&mut self) -> io::Result<u32> {
        self.reading(|says| says.busy)
    }

    fn memory_available_bytes(&mut self) -> io::Result<u64> {
        self.reading(|says| says.memory_bytes)
    }

    fn swapped(&mut self) -> io::Result<Swapped> {
        self.reading(|says| says.swapped)
    }

    fn disks_busy_ms(&mut self) -> io::Result<Vec<u64>> {
        self.reading(|says| says.disks_ms.clone())
    }

    fn file(&mut self, path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
        let file = self.reading(|says| says.files.get(path).cloned())?;
        let mut bytes = file.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        bytes.truncate(bytes_max);
        Ok(bytes)
    }
}

//! Measures the cost of each file, for `whit doctor`, for the check when a recording begins, and
//! for tests that need a slow kernel.
//!
//! By default a [`Host`](crate::Host) has no probe; this costs a comparison for each read.  A probe
//! costs two clock reads and a look-up by path for each read, so it is not used for recording.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use sample::State;

use crate::cost::Cost;

/// Readings of a file that are kept; further ones are only counted.
const READINGS_MAX: usize = 4096;

/// Shorter delays are busy-waited, since a sleep would take too long.
const SPIN_NS_MAX: u64 = 200_000;

/// The cost of reading one file since the probe began.
#[derive(Clone, Debug)]
pub struct Touch {
    /// Readings that asked the kernel.
    pub reads: u64,
    /// The system calls of the reads.
    pub calls: u64,
    /// Bytes that they returned.
    pub bytes: u64,
    /// For each reading the tick and its duration in nanoseconds.
    pub readings: Vec<(u64, u64)>,
    /// The result of the latest one.
    pub state: State,
    /// The readers of the file, as named to [`Host::probe_for`](crate::Host::probe_for).
    pub readers: Vec<&'static str>,
}

/// The costs of every file of a host, and the delays set by tests.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    touches: BTreeMap<String, Touch>,
    delays: BTreeMap<String, u64>,
    reader: &'static str,
}

/// A reading that has begun.
pub(crate) struct PendingReading {
    at_ns: u64,
    cost: Cost,
}

impl Probe {
    pub(crate) fn set_reader(&mut self, reader: &'static str) {
        self.reader = reader;
    }

    pub(crate) fn set_delay(&mut self, path: &str, nanoseconds: u64) {
        self.delays.insert(path.to_owned(), nanoseconds);
    }

    /// Discards the recorded costs, not the delays.
    pub(crate) fn forget(&mut self) {
        self.touches.clear();
    }

    pub(crate) fn touches(&self) -> impl Iterator<Item = (&str, &Touch)> {
        self.touches.iter().map(|(path, touch)| (path.as_str(), touch))
    }

    pub(crate) fn begin(cost: Cost) -> PendingReading {
        PendingReading { at_ns: now_ns(), cost }
    }

    /// Records that the current reader got the bytes of an earlier read.
    pub(crate) fn share(&mut self, path: &str) {
        let reader = self.reader;
        if let Some(touch) = self.touches.get_mut(path)
            && !touch.readers.contains(&reader)
        {
            touch.readers.push(reader);
        }
    }

    /// Waits for the file's delay, then records a finished reading.
    pub(crate) fn end(
        &mut self,
        path: &str,
        begun: &PendingReading,
        cost: Cost,
        tick: u64,
        state: State,
    ) {
        if let Some(&delay) = self.delays.get(path)
            && state == State::Ok
        {
            wait(delay);
        }
        let nanoseconds = now_ns().saturating_sub(begun.at_ns);
        if !self.touches.contains_key(path) {
            self.touches.insert(path.to_owned(), Touch::new());
        }
        let Some(touch) = self.touches.get_mut(path) else { return };
        touch.calls += cost.calls - begun.cost.calls;
        touch.bytes += cost.bytes - begun.cost.bytes;
        touch.state = state;
        if state == State::Ok {
            touch.reads += 1;
            if touch.readings.len() < READINGS_MAX {
                touch.readings.push((tick, nanoseconds));
            }
        }
        if !touch.readers.contains(&self.reader) {
            touch.readers.push(self.reader);
        }
    }
}

impl Touch {
    fn new() -> Self {
        Touch {
            reads: 0,
            calls: 0,
            bytes: 0,
            readings: Vec::new(),
            state: State::NotRecorded,
            readers: Vec::new(),
        }
    }
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec.unsigned_abs().saturating_mul(1_000_000_000) + now.tv_nsec.unsigned_abs()
}

fn wait(nanoseconds: u64) {
    if nanoseconds > SPIN_NS_MAX {
        return std::thread::sleep(Duration::from_nanos(nanoseconds));
    }
    let end = now_ns() + nanoseconds;
    while now_ns() < end {
        std::hint::spin_loop();
    }
}

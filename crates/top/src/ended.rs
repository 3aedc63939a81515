//! Processes that ended in the shown interval, so that sums include them.
//!
//! Exit events come at every tick, readings of processes perhaps only at every sixtieth.  So exits
//! are kept until the next reading of processes ends the interval.  Each exit is copied; at most
//! [`ENDED_MAX`] are kept, the others are only counted.

use std::collections::HashMap;

use layout::{Frame, Row};
use sample::State;

use super::fields::ScreenSources;

/// Most ended processes that are kept of one interval.
const ENDED_MAX: usize = 20_000;

/// A process that ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct EndedProcess {
    /// Pid and start time, as in the instance's name.
    pub(crate) name: Vec<u8>,
    pub(crate) command: Option<Vec<u8>>,
    pub(crate) command_line: Option<Vec<u8>>,
    pub(crate) user: Option<Vec<u8>>,
    pub(crate) cgroup: Option<Vec<u8>>,
    pub(crate) uid: Option<u64>,
    pub(crate) parent: Option<u64>,
    pub(crate) exit_code: Option<u64>,
    pub(crate) signal: Option<u64>,
    pub(crate) lifetime_seconds: Option<f64>,
    pub(crate) peak_resident_kib: Option<f64>,
    /// CPU time of its whole life.
    pub(crate) cpu_seconds: Option<f64>,
    /// CPU time in the interval; `None` until the interval ends, or if it is not known.
    pub(crate) cpu_share_seconds: Option<f64>,
    pub(crate) read_bytes: Option<f64>,
    pub(crate) write_bytes: Option<f64>,
    pub(crate) faults: Option<f64>,
    /// Start time on the monotonic clock.
    start_ns: Option<u64>,
    /// Whether this is not a process, but the sum of several without exit events.
    pub(crate) inferred: bool,
}

/// Processes that ended in the shown interval, and after it.
#[derive(Debug, Default)]
pub(crate) struct EndedList {
    closed: Vec<EndedProcess>,
    open: Vec<EndedProcess>,
    refused: u64,
}

impl EndedList {
    /// All that are kept, the latest last.
    pub(crate) fn all(&self) -> impl Iterator<Item = &EndedProcess> {
        self.closed.iter().chain(&self.open)
    }

    /// One of [`all`](Self::all).
    pub(crate) fn get(&self, index: usize) -> Option<&EndedProcess> {
        self.closed.get(index).or_else(|| self.open.get(index - self.closed.len()))
    }

    /// The processes that ended in the interval of the processes' rates.
    pub(crate) fn closed(&self) -> &[EndedProcess] {
        &self.closed
    }

    /// The number of those that were not kept, because there were too many.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    /// Removes all, as after a jump in time.
    pub(crate) fn forget(&mut self) {
        *self = EndedList::default();
    }

    /// Adds the exits of the latest tick.
    pub(crate) fn add_exits(&mut self, frame: &Frame<'_>, sources: &ScreenSources) {
        let exits = sources.exit.track(frame).filter(|track| {
            track.fresh && track.current.state == State::Ok && track.current.table.rows() > 0
        });
        if let Some(track) = exits {
            for row in frame.whole(track).rows() {
                if self.open.len() < ENDED_MAX {
                    self.open.push(ended(&row, sources));
                } else {
                    self.refused += 1;
                }
            }
        }
        let Some(process) = sources.process.track(frame).filter(|track| track.fresh) else {
            return;
        };
        if process.current.state != State::Ok {
            return;
        }
        self.closed.clear();
        std::mem::swap(&mut self.closed, &mut self.open);
        if process.previous.state == State::Ok && !self.closed.is_empty() {
            self.share(frame, sources);
        }
    }

    /// Computes how much of their CPU time is within the interval that ended.
    fn share(&mut self, frame: &Frame<'_>, sources: &ScreenSources) {
        let Some(track) = sources.process.track(frame) else { return };
        let table = &track.previous.table;
        let rows: HashMap<&[u8], usize> = (0..table.rows()).map(|r| (table.name(r), r)).collect();
        let fields = &sources.process.fields;
        for ended in &mut self.closed {
            let is_young = |ns| ns >= track.previous.monotonic_ns;
            let born_since = ended.inferred || ended.start_ns.is_some_and(is_young);
            let before = rows.get(ended.name.as_slice());
            let before = |field: Option<usize>| table.get(*before?, field?).map(|v| v as f64);
            let known = before(fields.run_time).map(|ns| ns / 1e9);
            let since = |all: Option<f64>, before: Option<f64>| match before {
                Some(before) => all.map(|all| (all - before).max(0.0)),
                None => all.filter(|_| born_since),
            };
            ended.cpu_share_seconds = since(ended.cpu_seconds, known);
            ended.read_bytes = since(ended.read_bytes, before(fields.read_bytes));
            ended.write_bytes = since(ended.write_bytes, before(fields.write_bytes));
            ended.faults = since(ended.faults, before(fields.major_faults));
        }
    }
}

fn ended(row: &Row<'_>, sources: &ScreenSources) -> EndedProcess {
    let fields = &sources.exit.fields;
    let raw = |field: Option<usize>| row.raw(field?);
    let number = |field: Option<usize>| raw(field).map(|value| value as f64);
    let text = |field: Option<usize>| row.text(field?).map(<[u8]>::to_vec);
    let exact = number(fields.run_time);
    let sampled = || Some(number(fields.user_time)? + number(fields.system_time)?);
    let tick_ns = 1_000_000_000 / row.frame.meta.ticks_per_second().max(1);
    // A start time is a whole tick: the process started before the end of that tick.
    let start_ns = |ticks: u64| ticks.saturating_add(1).saturating_mul(tick_ns);
    EndedProcess {
        name: row.name().to_vec(),
        command: text(fields.command),
        command_line: text(fields.command_line),
        user: text(fields.user),
        cgroup: text(fields.cgroup),
        uid: raw(fields.uid),
        parent: raw(fields.parent),
        exit_code: raw(fields.exit_code),
        signal: raw(fields.signal),
        lifetime_seconds: number(fields.lifetime).map(|ns| ns / 1e9),
        peak_resident_kib: number(fields.peak_resident),
        cpu_seconds: exact.or_else(sampled).map(|ns| ns / 1e9),
        cpu_share_seconds: None,
        read_bytes: number(fields.read_bytes),
        write_bytes: number(fields.write_bytes),
        faults: number(fields.major_faults),
        start_ns: raw(fields.start_time).map(start_ns),
        inferred: fields.origin.and_then(|field| row.text(field)) == Some(b"inferred"),
    }
}

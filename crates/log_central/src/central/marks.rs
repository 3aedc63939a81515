//! What is known of processes and their streams: how far each was admitted, and how far committed.

use std::collections::{HashMap, HashSet};

use log_protocol::{ProcessId, StreamId};
use log_store::Store;

use super::limits::AdmissionLimits;

/// The marks of a stream.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Marks {
    pub(super) admitted: u64,
    pub(super) committed: u64,
}

/// Why a peer is sent away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    Streams,
    Processes,
    Dictionary,
}

impl Refusal {
    pub(super) fn text(self) -> &'static str {
        match self {
            Refusal::Streams => "this server knows as many streams as it may",
            Refusal::Processes => "this server knows as many processes as it may",
            Refusal::Dictionary => "bytes of a dictionary are missing, or there are too many",
        }
    }
}

/// The processes and streams that a server knows.
pub(super) struct KnownStreams {
    marks: HashMap<StreamId, Marks>,
    processes: HashSet<ProcessId>,
    limits: AdmissionLimits,
}

impl KnownStreams {
    /// What a store has committed.
    pub(super) fn new(store: &Store, limits: AdmissionLimits) -> Self {
        let marks =
            store.marks().map(|(stream, next)| (stream, Marks { admitted: next, committed: next }));
        let processes = store.processes().map(|info| info.id).collect();
        Self { marks: marks.collect(), processes, limits }
    }

    /// Notes that a process exists.
    pub(super) fn add_process(&mut self, process: ProcessId) -> Result<(), Refusal> {
        if !self.processes.contains(&process) {
            if self.processes.len() >= self.limits.processes {
                return Err(Refusal::Processes);
            }
            self.processes.insert(process);
        }
        Ok(())
    }

    /// The marks of a stream, which is added if it is new.
    pub(super) fn add_stream(&mut self, stream: StreamId) -> Result<&mut Marks, Refusal> {
        self.add_process(stream.process)?;
        if !self.marks.contains_key(&stream) && self.marks.len() >= self.limits.streams {
            return Err(Refusal::Streams);
        }
        Ok(self.marks.entry(stream).or_default())
    }

    /// The marks of a stream that is known.
    pub(super) fn get(&self, stream: StreamId) -> Marks {
        self.marks.get(&stream).copied().unwrap_or_default()
    }

    /// Everything before this number was admitted.
    pub(super) fn admit(&mut self, stream: StreamId, next: u64) {
        if let Some(marks) = self.marks.get_mut(&stream) {
            marks.admitted = marks.admitted.max(next);
        }
    }

    /// Everything before this number is committed.
    pub(super) fn commit(&mut self, stream: StreamId, next: u64) {
        if let Some(marks) = self.marks.get_mut(&stream) {
            marks.committed = marks.committed.max(next);
        }
    }

    /// Forgets processes of which nothing will come any more.
    pub(super) fn forget(&mut self, processes: &[ProcessId]) {
        let ended: HashSet<&ProcessId> = processes.iter().collect();
        self.marks.retain(|stream, _| !ended.contains(&stream.process));
        for process in processes {
            self.processes.remove(process);
        }
    }
}

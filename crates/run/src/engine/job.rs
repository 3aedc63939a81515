//! A job, from its records to its end.

use std::time::Instant;

use super::sending::Sending;
use crate::remote::files::FilePath;
use spawn::Child;
use template::Record;

/// A job that is to be started, or runs.
#[derive(Debug)]
pub(super) struct Job {
    /// The number among all jobs, from 1.
    pub(super) seq: u64,
    /// The number that users see: the same, or its number on its host if every host runs all jobs.
    pub(super) number: u64,
    /// The values of the command line.
    pub(super) records: Vec<Record>,
    /// It was made for a block, and has no values of its own.
    pub(super) is_block: bool,
    /// The standard input with `--pipe`.
    pub(super) sending: Option<Box<Sending>>,
    /// The command line, if that comes from an earlier run.
    pub(super) given: Option<Vec<u8>>,
    /// The command line as text; empty unless it is needed before the job starts (see
    /// `Engine::text`).
    pub(super) command: Vec<u8>,
    /// The slot it runs in.
    pub(super) slot: u32,
    /// The host it runs on, if there are several.
    pub(super) host: usize,
    /// The groups of the hosts that may run it, if its values name any.
    pub(super) groups: Option<Vec<String>>,
    /// Bytes of the files sent to its host.
    pub(super) sent_bytes: u64,
    /// Files that are returned from its host.
    pub(super) bring: Vec<FilePath>,
    /// The process, once it is known.
    pub(super) child: Option<Child>,
    /// When its start was requested; at its end, when it called execve(2).
    pub(super) started: Instant,
}

impl Job {
    /// A new job.
    pub(super) fn new(seq: u64, records: Vec<Record>, now: Instant) -> Self {
        Job {
            seq,
            number: seq,
            records,
            is_block: false,
            sending: None,
            given: None,
            command: Vec::new(),
            slot: 0,
            host: 0,
            groups: None,
            sent_bytes: 0,
            bring: Vec::new(),
            child: None,
            started: now,
        }
    }

    /// The values of the job; none for a job of a block.
    pub(super) fn own_records(&self) -> &[Record] {
        if self.is_block { &[] } else { &self.records }
    }
}

//! What a server says of itself: records in its own store, and messages for whoever runs it.

use std::thread::Thread;
use std::time::{Duration, Instant};

use log_protocol::{OwnCost, clock, cost};
use log_store::{CommitBatch, LostPart, OwnLog, Recovery, Store};
use logring::LogLevel;
use service_account::{NOT_WRITTEN, WRITTEN_AGAIN};

use super::counters::CentralCounters;

/// Between two complaints about peers.
const COMPLAINTS: Duration = Duration::from_secs(10);
/// Messages that wait for whoever runs the server.
const MESSAGES_MAX: usize = 100;

/// What a server has to say.
pub(super) struct Complaints {
    own: OwnLog,
    /// Why the last commit failed that did.
    failure: Option<String>,
    /// When the server last said what it costs, and what that was.
    cost_told: (Instant, OwnCost),
    /// Messages for whoever runs the server, and the thread that takes them.
    messages: Vec<String>,
    pub(super) takes: Option<Thread>,
    /// When the last complaint about a peer was made, and how many were left out since.
    complained: Option<(Instant, u64)>,
}

impl Complaints {
    pub(super) fn new(own: OwnLog) -> Self {
        let cost_told = (clock::now(), OwnCost::read());
        let messages = Vec::new();
        Self { own, failure: None, cost_told, messages, takes: None, complained: None }
    }

    /// Adds a record of the server to a batch.
    fn record(&mut self, batch: &mut CommitBatch, level: LogLevel, text: &str) {
        self.own.add(batch, level, text, clock::now_ns());
    }

    pub(super) fn say(&mut self, text: String) {
        if self.messages.len() < MESSAGES_MAX {
            self.messages.push(text);
        }
        self.takes.iter().for_each(Thread::unpark);
    }

    /// What whoever runs the server should know, since the last call.
    pub(super) fn take_messages(&mut self) -> Vec<String> {
        std::mem::take(&mut self.messages)
    }

    /// Says what is wrong with a peer: a record and a message.  A peer that tries again and again fills
    /// neither; whether anything was said.
    pub(super) fn complain(&mut self, batch: &mut CommitBatch, text: &str) -> bool {
        let now = clock::now();
        let mut text = text.to_owned();
        if let Some((last, left_out)) = &mut self.complained {
            if now - *last < COMPLAINTS {
                *left_out += 1;
                return false;
            }
            if *left_out > 0 {
                text.push_str(&format!(" ({left_out} more since the last such message)"));
            }
        }
        self.complained = Some((now, 0));
        self.record(batch, LogLevel::Warning, &text);
        self.say(text);
        true
    }

    /// Says that records are lost.
    pub(super) fn say_lost(&mut self, batch: &mut CommitBatch, lost: &LostPart) {
        self.own.add_lost(batch, lost, clock::now_ns());
    }

    /// Says what the damage of the store took.
    pub(super) fn say_damaged(&mut self, batch: &mut CommitBatch, store: &Store, found: &Recovery) {
        for (path, from, to) in &found.damaged {
            let path = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let folder = store.folder().display();
            let text = format!("{folder}/{path}: bytes {from} to {to} are damaged");
            self.record(batch, LogLevel::Alert, &text);
        }
    }

    /// Says that a commit failed, unless it did so before for the same reason.
    pub(super) fn say_failed(&mut self, batch: &mut CommitBatch, text: String) {
        if self.failure.as_ref() != Some(&text) {
            self.record(batch, LogLevel::Alert, &text);
            self.say(format!("{NOT_WRITTEN}{text}: nothing is lost: proxies keep it"));
            self.failure = Some(text);
        }
    }

    /// Says that commits succeed again, if the last did not.
    pub(super) fn say_committed(&mut self) {
        if self.failure.take().is_some() {
            self.say(format!("{WRITTEN_AGAIN}: records are committed"));
        }
    }

    /// Says about once a minute what the server costs; whether it did.
    pub(super) fn say_cost(&mut self, batch: &mut CommitBatch, counters: &CentralCounters) -> bool {
        let ((last, before), now) = (self.cost_told, clock::now());
        if now - last < cost::TOLD_EVERY {
            return false;
        }
        let cost = OwnCost::read();
        self.cost_told = (now, cost);
        let CentralCounters { records, commits, .. } = counters;
        let cost = cost.since(&before, now - last);
        let text = format!("{cost}; since its start {records} records in {commits} commits");
        self.record(batch, LogLevel::Info, &text);
        true
    }
}

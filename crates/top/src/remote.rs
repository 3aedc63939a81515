//! Samples of another host on their way to its screen.
//!
//! A thread puts samples into a queue, from which the screen takes all at its next tick.  While the screen
//! is paused the oldest are dropped: counters lose nothing by it, of ended processes those are missing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use many_hosts::HostEvent;
use sample::{Meta, Snapshot, SourceDef};

use crate::clock::monotonic_ns;

/// Samples that wait for the screen.  Each may hold thousands of processes.
const WAITING_MAX: usize = 8;

/// What has come from the host since the last tick.
#[derive(Default)]
pub(crate) struct Arrived {
    /// The recorder has begun, after what was there before.
    pub(crate) begun: Option<(Meta, Vec<Arc<SourceDef>>)>,
    pub(crate) samples: VecDeque<Box<Snapshot>>,
    pub(crate) failure: Option<String>,
    pub(crate) heard_ns: u64,
}

/// What the thread that gets samples and the screen share.
pub(crate) type Queue = Arc<Mutex<Arrived>>;

/// The samples of another host as they come.
pub(crate) struct RemoteFeed {
    /// The name that the host was given, which need not be its own.
    pub(crate) name: String,
    /// The recorder's sources, in the order of the samples.
    pub(crate) defs: Vec<Arc<SourceDef>>,
    pub(crate) queue: Queue,
}

impl RemoteFeed {
    /// All that have come; none is waited for.
    pub(crate) fn take_samples(&self) -> VecDeque<Box<Snapshot>> {
        std::mem::take(&mut with(&self.queue).samples)
    }
}

/// What has come, locked.
pub(crate) fn with(queue: &Queue) -> MutexGuard<'_, Arrived> {
    // What a thread that panicked has left is shown.
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes what has happened at the host.
pub(crate) fn arrive(arrived: &mut Arrived, event: Option<HostEvent>) {
    match event {
        Some(HostEvent::Begun(_, meta, defs)) => {
            arrived.samples.clear();
            (arrived.begun, arrived.failure) = (Some((meta, defs)), None);
            arrived.heard_ns = monotonic_ns();
        }
        Some(HostEvent::Sample(_, snapshot)) => {
            if arrived.samples.len() == WAITING_MAX {
                arrived.samples.pop_front();
            }
            arrived.samples.push_back(snapshot);
            arrived.heard_ns = monotonic_ns();
        }
        Some(HostEvent::Done(_)) => arrived.failure = Some("its recorder has ended".to_owned()),
        Some(HostEvent::Failed(_, why, is_tried_again)) => {
            let next = if is_tried_again { "; trying again" } else { "" };
            arrived.failure = Some(format!("{why}{next}"));
        }
        None => {}
    }
}

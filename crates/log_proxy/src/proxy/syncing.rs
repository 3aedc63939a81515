//! Waiting for the disk, in a thread of its own: a sync takes milliseconds, and seconds where others
//! write much; meanwhile the proxy goes on reading rings, or their writers would find no room.
//!
//! One sync is under way at a time.  Without a thread the caller waits.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::waking::ProxyWaker;
use crate::spool::Unsynced;

/// What a sync was about, and how it ended.
pub(super) struct Synced {
    pub(super) what: Vec<Unsynced>,
    pub(super) result: io::Result<()>,
}

/// The thread, and what passes between it and the proxy.
pub(super) struct Syncing {
    orders: Option<Sender<Vec<Unsynced>>>,
    results: Receiver<Synced>,
    /// Without a thread: to the own results.
    own: Sender<Synced>,
    /// A sync is under way.
    pub(super) is_busy: bool,
}

fn sync(what: Vec<Unsynced>) -> Synced {
    let result = what.iter().try_for_each(|one| one.file.sync_data());
    Synced { what, result }
}

impl Syncing {
    /// Starts the thread; `waker` ends the proxy's sleep after each sync.
    pub(super) fn start(waker: Option<ProxyWaker>) -> Self {
        let (orders, work) = channel::<Vec<Unsynced>>();
        let (own, results) = channel();
        let done = own.clone();
        let run = move || {
            for what in work {
                if done.send(sync(what)).is_err() {
                    return;
                }
                waker.iter().for_each(ProxyWaker::wake);
            }
        };
        let thread = std::thread::Builder::new().name("log-sync".to_owned()).spawn(run);
        Syncing { orders: thread.is_ok().then_some(orders), results, own, is_busy: false }
    }

    /// Begins a sync.
    pub(super) fn begin(&mut self, what: Vec<Unsynced>) {
        self.is_busy = true;
        let refused = match &self.orders {
            Some(orders) => orders.send(what).err().map(|error| error.0),
            None => Some(what),
        };
        if let Some(what) = refused {
            // The receiver is in this value.
            let _ = self.own.send(sync(what));
        }
    }

    /// What has ended.
    pub(super) fn take_synced(&mut self) -> Option<Synced> {
        let done = self.results.try_recv().ok()?;
        self.is_busy = false;
        Some(done)
    }
}

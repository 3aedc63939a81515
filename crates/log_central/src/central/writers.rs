//! The connections that a server writes to, by number: acknowledgements go there from the thread that
//! commits, answers from the connection's own.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use connection::SocketStream;

/// What is written to a connection, by one thread at a time.
pub(super) struct PeerWriter {
    connection: Mutex<SocketStream>,
    ending: SocketStream,
}

impl PeerWriter {
    pub(super) fn lock(&self) -> MutexGuard<'_, SocketStream> {
        // A thread that panicked has written a part of a frame, which the peer recognises.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` while another thread writes.
    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, SocketStream>> {
        match self.connection.try_lock() {
            Ok(connection) => Some(connection),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Ends the connection, also while another thread writes to it.
    pub(super) fn shut_down(&self) {
        self.ending.shut_down();
    }
}

/// All connections that are open.
#[derive(Default)]
pub(super) struct PeerWriters {
    writers: HashMap<u64, Arc<PeerWriter>>,
    /// The connections of proxies, which set levels.
    proxies: HashSet<u64>,
    next_number: u64,
}

impl PeerWriters {
    /// Adds a connection; gives its number.
    pub(super) fn add(&mut self, writer: SocketStream, is_proxy: bool) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        let ending = writer.clone();
        let connection = Mutex::new(writer);
        self.writers.insert(number, Arc::new(PeerWriter { connection, ending }));
        if is_proxy {
            self.proxies.insert(number);
        }
        number
    }

    /// Removes a connection that has ended.
    pub(super) fn remove(&mut self, number: u64) {
        self.writers.remove(&number);
        self.proxies.remove(&number);
    }

    /// The connection of a number, if it is open.
    pub(super) fn get(&self, number: u64) -> Option<Arc<PeerWriter>> {
        self.writers.get(&number).cloned()
    }

    /// The numbers of the connections of proxies.
    pub(super) fn proxies(&self) -> Vec<u64> {
        self.proxies.iter().copied().collect()
    }

    /// Ends all connections.
    pub(super) fn shut_down(&self) {
        self.writers.values().for_each(|writer| writer.shut_down());
    }
}

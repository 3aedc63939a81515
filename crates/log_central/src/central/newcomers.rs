//! Clients of one listener that have not shown yet who they are.
//!
//! They are limited, for each listener and for each address or user.  Without room the oldest of them
//! makes way: who knows the secret shows it within milliseconds, and who holds a place does not keep it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use connection::{Peer, SocketStream};
use log_protocol::frame::{FrameKind, Head};
use log_protocol::handshake;

/// What a client is told that makes way.
const WHY: &str = "too many connections at once that have not shown who they are: try again";

struct Waiting {
    number: u64,
    from: Peer,
    connection: SocketStream,
    made_way: Arc<AtomicBool>,
}

#[derive(Default)]
struct Queue {
    next: u64,
    /// The oldest first.
    waiting: VecDeque<Waiting>,
}

/// The newcomers of a listener.
pub(super) struct Newcomers {
    most: usize,
    most_of_one: usize,
    /// Whether they can be told why they make way.
    is_plain: bool,
    queue: Mutex<Queue>,
}

/// One newcomer, until it is dropped: it has shown who it is, or failed to.
pub(super) struct Newcomer {
    all: Arc<Newcomers>,
    number: u64,
    made_way: Arc<AtomicBool>,
}

impl Newcomers {
    /// At most so many at once, and half of them of one address or user.
    pub(super) fn new(most: usize, is_plain: bool) -> Arc<Self> {
        let most_of_one = (most / 2).max(1);
        Arc::new(Newcomers { most, most_of_one, is_plain, queue: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // A thread that panicked held it between whole changes.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one more; gives also what there is to say if another one had to make way.
    pub(super) fn add(
        self: &Arc<Self>,
        from: Peer,
        connection: &SocketStream,
    ) -> (Newcomer, Option<String>) {
        let mut queue = self.lock();
        let of_one = queue.waiting.iter().filter(|one| one.from.is_same(&from)).count();
        let (oldest, why) = if of_one >= self.most_of_one {
            let oldest = queue.waiting.iter().position(|one| one.from.is_same(&from));
            (oldest, format!("{of_one} connections of its address or user"))
        } else if queue.waiting.len() >= self.most {
            (Some(0), format!("{} connections", self.most))
        } else {
            (None, String::new())
        };
        let oldest = oldest.and_then(|at| queue.waiting.remove(at));
        let (number, made_way) = (queue.next, Arc::new(AtomicBool::new(false)));
        queue.next += 1;
        let (connection, mark) = (connection.clone(), Arc::clone(&made_way));
        queue.waiting.push_back(Waiting { number, from, connection, made_way: mark });
        drop(queue);
        let said = oldest.map(|one| {
            let from = one.from.clone();
            self.end(one);
            format!("connection of {from}: closed: {why} have not shown who they are")
        });
        (Newcomer { all: Arc::clone(self), number, made_way }, said)
    }

    fn end(&self, mut one: Waiting) {
        one.made_way.store(true, Ordering::Release);
        if self.is_plain {
            // Whoever is gone need not learn it.
            let _ = handshake::send(
                &mut one.connection,
                Head::plain(FrameKind::Refused),
                WHY.as_bytes(),
            );
        }
        one.connection.shut_down();
    }
}

impl Newcomer {
    /// Whether it was closed so that another one has room: that was said.
    pub(super) fn made_way(&self) -> bool {
        self.made_way.load(Ordering::Acquire)
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        self.all.lock().waiting.retain(|one| one.number != self.number);
    }
}

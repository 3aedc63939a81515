//! A [`Transport`] in a separate thread, so that a peer that hangs does not delay samples.
//!
//! [`send`](Sink::send) costs a lock and a copy of the message.  The queue is bounded; see
//! `outbox.rs`.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use sample::Clock;

use crate::outbox::{Backoff, NextAction, Outbox, OutboxLimits};
use crate::{Message, Sink, SinkCounts, Transport};

/// Limits of the queue, pauses after failures, and random delays.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Limits of the queue.
    pub limits: OutboxLimits,
    /// The pauses after failures.
    pub backoff: Backoff,
    /// Before each message a random pause up to this, so that many machines do not send at once.
    pub delay_max_ns: u64,
}

/// A transport behind a bounded queue.
pub struct Queued {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    outbox: Mutex<Outbox>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Outbox> {
        // After a panic of the other thread the counts are still right.
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queued {
    /// Starts the thread.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn start(
        transport: impl Transport + 'static,
        pace: Pace,
        clock: Box<dyn Clock + Send>,
    ) -> io::Result<Self> {
        let outbox = Mutex::new(Outbox::new(pace.limits, pace.backoff));
        let shared = Arc::new(Shared { outbox, changed: Condvar::new() });
        let theirs = Arc::clone(&shared);
        let work = move || empty(&theirs, transport, clock, pace.delay_max_ns);
        let thread = std::thread::Builder::new().name("sink".into()).spawn(work)?;
        Ok(Queued { shared, thread: Some(thread) })
    }

    fn end(&mut self) {
        self.shared.lock().end();
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // After a panic of the thread nothing more was delivered, and the counts say so.
            let _ = thread.join();
        }
    }
}

/// Delivers messages until the queue ends.
fn empty(
    shared: &Shared,
    mut transport: impl Transport,
    mut clock: Box<dyn Clock + Send>,
    delay_max_ns: u64,
) {
    let mut outbox = shared.lock();
    loop {
        let now_ns = clock.now().monotonic_ns;
        match outbox.next_action(now_ns) {
            NextAction::Exit => return,
            NextAction::Idle => {
                outbox = shared.changed.wait(outbox).unwrap_or_else(PoisonError::into_inner);
            }
            NextAction::NotBefore(ns) => outbox = wait_until(shared, outbox, ns, now_ns),
            NextAction::Deliver(message) => {
                if delay_max_ns > 0 {
                    let until_ns = now_ns.saturating_add(random_part(delay_max_ns));
                    outbox = wait_out(shared, outbox, until_ns, &mut *clock);
                }
                drop(outbox);
                let done = transport.deliver(&message.message());
                outbox = shared.lock();
                match done {
                    Ok(()) => outbox.delivered(message),
                    Err(error) => {
                        let now_ns = clock.now().monotonic_ns;
                        outbox.failed(message, &transport.peer(), &error, now_ns);
                    }
                }
            }
        }
    }
}

/// Waits until a time, or until the queue changes.
fn wait_until<'a>(
    shared: &'a Shared,
    outbox: MutexGuard<'a, Outbox>,
    until_ns: u64,
    now_ns: u64,
) -> MutexGuard<'a, Outbox> {
    let pause = Duration::from_nanos(until_ns.saturating_sub(now_ns));
    let waited = shared.changed.wait_timeout(outbox, pause);
    waited.unwrap_or_else(PoisonError::into_inner).0
}

/// Waits until a time, or until the queue ends.
fn wait_out<'a>(
    shared: &'a Shared,
    mut outbox: MutexGuard<'a, Outbox>,
    until_ns: u64,
    clock: &mut dyn Clock,
) -> MutexGuard<'a, Outbox> {
    while !outbox.is_ending() {
        let now_ns = clock.now().monotonic_ns;
        if now_ns >= until_ns {
            break;
        }
        outbox = wait_until(shared, outbox, until_ns, now_ns);
    }
    outbox
}

/// A random time below `whole_ns`.  The random keys of a hasher are good enough to spread the
/// sends of many machines.
fn random_part(whole_ns: u64) -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    u64::try_from((u128::from(random) * u128::from(whole_ns)) >> 64).unwrap_or(whole_ns)
}

impl Sink for Queued {
    fn send(&mut self, message: &Message<'_>) -> io::Result<()> {
        self.shared.lock().push(message);
        self.shared.changed.notify_one();
        Ok(())
    }

    /// Waits until all queued messages were sent, or the peer failed once more.
    fn finish(&mut self) -> io::Result<()> {
        self.end();
        Ok(())
    }

    fn counts(&self) -> SinkCounts {
        self.shared.lock().counts()
    }

    fn take_notice(&mut self) -> Option<String> {
        self.shared.lock().take_notice()
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use sample::{Moment, Wake};

    use super::*;

    /// A clock that does not move: a pause in these tests would never end.
    struct Still;

    impl Clock for Still {
        fn now(&mut self) -> Moment {
            Moment::default()
        }

        fn sleep_until(&mut self, _: u64) -> Wake {
            Wake::Due
        }
    }

    /// A transport that reports each message to the test and waits for its answer.
    struct Asking(Sender<u64>, Receiver<bool>);

    impl Transport for Asking {
        fn deliver(&mut self, message: &Message<'_>) -> io::Result<()> {
            self.0.send(message.sequence).unwrap();
            match self.1.recv() {
                Ok(true) => Ok(()),
                _ => Err(io::ErrorKind::TimedOut.into()),
            }
        }

        fn peer(&self) -> String {
            "peer".into()
        }
    }

    fn start(messages_max: usize) -> (Queued, Receiver<u64>, Sender<bool>) {
        let (ask, asked) = channel();
        let (answer, answered) = channel();
        let pace = Pace {
            limits: OutboxLimits { messages_max, bytes_max: 1 << 20 },
            backoff: Backoff { first_ns: 3_600_000_000_000, longest_ns: 3_600_000_000_000 },
            delay_max_ns: 0,
        };
        let queued = Queued::start(Asking(ask, answered), pace, Box::new(Still)).unwrap();
        (queued, asked, answer)
    }

    fn send(queued: &mut Queued, sequence: u64) {
        queued.send(&Message { source: "h", sequence, payload: b"x" }).unwrap();
    }

    #[test]
    fn a_peer_that_hangs_holds_up_nobody_and_what_has_no_room_is_counted() {
        let (mut queued, asked, answer) = start(3);
        send(&mut queued, 0);
        assert_eq!(asked.recv().unwrap(), 0);
        // The peer hangs now; sending returns at once.
        for sequence in 1..=10 {
            send(&mut queued, sequence);
        }
        assert_eq!(queued.counts(), SinkCounts { sent: 0, dropped: 7, calls: 0 });
        for _ in 0..4 {
            answer.send(true).unwrap();
        }
        queued.finish().unwrap();
        assert_eq!(asked.iter().collect::<Vec<_>>(), [8, 9, 10]);
        assert_eq!(queued.counts(), SinkCounts { sent: 4, dropped: 7, calls: 0 });
    }

    #[test]
    fn the_end_does_not_wait_for_a_pause() {
        let (mut queued, asked, answer) = start(8);
        send(&mut queued, 0);
        assert_eq!(asked.recv().unwrap(), 0);
        answer.send(false).unwrap();
        let notice = std::iter::repeat_with(|| queued.take_notice()).find_map(|notice| notice);
        assert!(notice.unwrap().starts_with("peer: timed out"));
        // A pause of an hour has begun.
        send(&mut queued, 1);
        answer.send(true).unwrap();
        answer.send(true).unwrap();
        queued.finish().unwrap();
        assert_eq!(asked.iter().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(queued.counts(), SinkCounts { sent: 2, dropped: 0, calls: 0 });
    }

    #[test]
    fn a_random_part_is_never_more_than_the_whole() {
        for _ in 0..1_000 {
            assert!(random_part(1_000) <= 1_000);
        }
        assert_eq!(random_part(0), 0);
    }
}

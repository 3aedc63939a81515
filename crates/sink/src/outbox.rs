//! A bounded queue of messages for a peer that may be slow or unreachable, with pauses between
//! retries.
//!
//! No I/O and no clock: callers pass the time, so that tests of long outages are fast.  Once
//! buffers have grown to the size of the messages, nothing is allocated.

use std::collections::VecDeque;
use std::io;

use crate::{Message, SinkCounts};

/// Limits of the queue; when it is full, the oldest messages are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboxLimits {
    /// Messages.
    pub messages_max: usize,
    /// Bytes of all payloads together.
    pub bytes_max: usize,
}

/// The pauses after failures: the first pause is doubled with every further failure, up to the
/// longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// After the first failure.
    pub first_ns: u64,
    /// At most.
    pub longest_ns: u64,
}

impl Backoff {
    /// The pause after this many failures in a row.
    #[must_use]
    pub fn pause_ns(&self, failures: u32) -> u64 {
        let doubled = 1_u64.checked_shl(failures.saturating_sub(1)).unwrap_or(u64::MAX);
        self.first_ns.saturating_mul(doubled).min(self.longest_ns)
    }
}

/// A queued message.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    source: String,
    sequence: u64,
    payload: Vec<u8>,
}

impl Waiting {
    /// The message to send.
    pub(crate) fn message(&self) -> Message<'_> {
        Message { source: &self.source, sequence: self.sequence, payload: &self.payload }
    }
}

/// The next action of the thread that empties an [`Outbox`].
#[derive(Debug)]
pub(crate) enum NextAction {
    /// Deliver this message, then call [`Outbox::delivered`] or [`Outbox::failed`].
    Deliver(Waiting),
    /// Wait until this time.
    NotBefore(u64),
    /// Wait for a message.
    Idle,
    /// End the thread: no message will come.
    Exit,
}

/// The queue, the pauses and the counts.
#[derive(Debug)]
pub(crate) struct Outbox {
    limits: OutboxLimits,
    backoff: Backoff,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    /// Used buffers, for messages to come.
    spare: Vec<Waiting>,
    /// Failures since the last success.
    failures: u32,
    not_before_ns: u64,
    is_ending: bool,
    counts: SinkCounts,
    notice: Option<String>,
}

impl Outbox {
    /// An empty queue.
    pub(crate) fn new(limits: OutboxLimits, backoff: Backoff) -> Self {
        Outbox {
            limits,
            backoff,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            spare: Vec::new(),
            failures: 0,
            not_before_ns: 0,
            is_ending: false,
            counts: SinkCounts::default(),
            notice: None,
        }
    }

    /// Queues a message.  If the queue is full, drops the oldest messages: when the peer is back,
    /// the latest are the most useful.
    pub(crate) fn push(&mut self, message: &Message<'_>) {
        if message.payload.len() > self.limits.bytes_max || self.limits.messages_max == 0 {
            self.counts.dropped += 1;
            return;
        }
        while self.waiting.len() >= self.limits.messages_max
            || self.waiting_bytes + message.payload.len() > self.limits.bytes_max
        {
            let Some(oldest) = self.waiting.pop_front() else { break };
            self.waiting_bytes -= oldest.payload.len();
            self.spare.push(oldest);
            self.counts.dropped += 1;
        }
        let mut waiting = self.spare.pop().unwrap_or_default();
        waiting.source.clear();
        waiting.source.push_str(message.source);
        waiting.sequence = message.sequence;
        waiting.payload.clear();
        waiting.payload.extend_from_slice(message.payload);
        self.waiting_bytes += waiting.payload.len();
        self.waiting.push_back(waiting);
    }

    /// The action at `now_ns`.
    pub(crate) fn next_action(&mut self, now_ns: u64) -> NextAction {
        if self.waiting.is_empty() {
            return if self.is_ending { NextAction::Exit } else { NextAction::Idle };
        }
        if now_ns < self.not_before_ns && !self.is_ending {
            return NextAction::NotBefore(self.not_before_ns);
        }
        match self.waiting.pop_front() {
            Some(first) => {
                self.waiting_bytes -= first.payload.len();
                NextAction::Deliver(first)
            }
            None => NextAction::Idle,
        }
    }

    /// Records that a message was delivered.
    pub(crate) fn delivered(&mut self, message: Waiting) {
        self.counts.sent += 1;
        self.failures = 0;
        self.spare.push(message);
    }

    /// Records that a message could not be delivered.  It stays first in the queue; after
    /// [`end`](Self::end) there is no retry, and all queued messages are dropped.
    pub(crate) fn failed(&mut self, message: Waiting, peer: &str, error: &io::Error, now_ns: u64) {
        self.failures += 1;
        if self.failures == 1 {
            let first_s = self.backoff.first_ns as f64 / 1e9;
            let longest_s = self.backoff.longest_ns as f64 / 1e9;
            self.notice = Some(format!(
                "{peer}: {error}; trying again after {first_s} s, then after longer pauses up to \
                 {longest_s} s"
            ));
        }
        if self.is_ending {
            self.counts.dropped += 1 + self.waiting.len() as u64;
            self.waiting.clear();
            self.waiting_bytes = 0;
            return;
        }
        self.not_before_ns = now_ns.saturating_add(self.backoff.pause_ns(self.failures));
        let fits = self.waiting.len() < self.limits.messages_max
            && self.waiting_bytes + message.payload.len() <= self.limits.bytes_max;
        if fits {
            self.waiting_bytes += message.payload.len();
            self.waiting.push_front(message);
        } else {
            self.counts.dropped += 1;
            self.spare.push(message);
        }
    }

    /// No message will come any more: each queued one is tried once, without pauses.
    pub(crate) fn end(&mut self) {
        self.is_ending = true;
    }

    /// Whether [`end`](Self::end) was called.
    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending
    }

    pub(crate) fn counts(&self) -> SinkCounts {
        self.counts
    }

    pub(crate) fn take_notice(&mut self) -> Option<String> {
        self.notice.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const BACKOFF: Backoff = Backoff { first_ns: SECOND, longest_ns: 60 * SECOND };

    fn outbox(messages_max: usize, bytes_max: usize) -> Outbox {
        Outbox::new(OutboxLimits { messages_max, bytes_max }, BACKOFF)
    }

    fn message(sequence: u64) -> Message<'static> {
        Message { source: "h", sequence, payload: b"12345678" }
    }

    fn refused() -> io::Error {
        io::ErrorKind::ConnectionRefused.into()
    }

    /// The sequence of the message to deliver now.
    fn deliver(outbox: &mut Outbox, now_ns: u64) -> Option<u64> {
        match outbox.next_action(now_ns) {
            NextAction::Deliver(message) => {
                let sequence = message.message().sequence;
                outbox.delivered(message);
                Some(sequence)
            }
            _ => None,
        }
    }

    #[test]
    fn messages_leave_in_their_order_and_buffers_are_used_again() {
        let mut outbox = outbox(8, 1 << 20);
        assert!(matches!(outbox.next_action(0), NextAction::Idle));
        for round in 0..3 {
            outbox.push(&message(2 * round));
            outbox.push(&message(2 * round + 1));
            assert_eq!(deliver(&mut outbox, 0), Some(2 * round));
            assert_eq!(deliver(&mut outbox, 0), Some(2 * round + 1));
        }
        assert_eq!(outbox.spare.len(), 2);
        assert_eq!(outbox.counts(), SinkCounts { sent: 6, dropped: 0, calls: 0 });
    }

    #[test]
    fn an_outage_of_hours_keeps_the_latest_and_counts_the_rest() {
        let mut outbox = outbox(60, 1 << 20);
        let (mut tries, mut now_ns) = (0, 0);
        for sequence in 0..7_200 {
            now_ns = sequence * SECOND;
            outbox.push(&message(sequence));
            while let NextAction::Deliver(message) = outbox.next_action(now_ns) {
                tries += 1;
                outbox.failed(message, "carbon:2003", &refused(), now_ns);
            }
        }
        // Pauses of 1, 2, 4 … 32 seconds, then one try a minute.
        assert!((120..=130).contains(&tries), "{tries}");
        let notice = outbox.take_notice().unwrap();
        assert!(notice.starts_with("carbon:2003: connection refused; trying again"), "{notice}");
        assert_eq!(outbox.take_notice(), None, "said once for each outage");
        let counts = outbox.counts();
        assert_eq!((counts.sent, counts.dropped), (0, 7_200 - 60));
        now_ns += 60 * SECOND;
        let delivered: Vec<u64> = std::iter::from_fn(|| deliver(&mut outbox, now_ns)).collect();
        assert_eq!(delivered, (7_140..7_200).collect::<Vec<_>>(), "the latest, in their order");
        assert_eq!(outbox.counts().sent + outbox.counts().dropped, 7_200, "none is lost silently");
        // After a success the pauses start again, and the next outage is reported again.
        outbox.push(&message(7_200));
        let NextAction::Deliver(message) = outbox.next_action(now_ns) else {
            panic!("a message waits")
        };
        outbox.failed(message, "carbon:2003", &refused(), now_ns);
        assert!(outbox.take_notice().is_some());
        assert!(
            matches!(outbox.next_action(now_ns), NextAction::NotBefore(ns) if ns == now_ns + SECOND)
        );
    }

    #[test]
    fn bytes_are_bounded_too_and_no_message_can_ask_for_more() {
        let mut outbox = outbox(1_000, 64);
        for sequence in 0..100 {
            outbox.push(&message(sequence));
            assert!(outbox.waiting_bytes <= 64 && outbox.waiting.len() <= 8);
        }
        assert_eq!(outbox.counts().dropped, 92);
        outbox.push(&Message { source: "h", sequence: 100, payload: &[0; 65] });
        assert_eq!((outbox.counts().dropped, outbox.waiting.len()), (93, 8));
        // A message that is being sent is dropped when newer ones have filled the queue.
        let NextAction::Deliver(first) = outbox.next_action(0) else { panic!("a message waits") };
        outbox.push(&message(101));
        outbox.failed(first, "p", &refused(), 0);
        assert_eq!((outbox.counts().dropped, outbox.waiting.len()), (94, 8));
    }

    #[test]
    fn at_the_end_what_waits_is_tried_once() {
        let mut outbox = outbox(8, 1 << 20);
        for sequence in 0..4 {
            outbox.push(&message(sequence));
        }
        let NextAction::Deliver(first) = outbox.next_action(0) else { panic!("a message waits") };
        outbox.failed(first, "p", &refused(), 0);
        outbox.end();
        assert_eq!(deliver(&mut outbox, 0), Some(0), "a pause does not hold up the end");
        let NextAction::Deliver(second) = outbox.next_action(0) else { panic!("a message waits") };
        outbox.failed(second, "p", &refused(), 0);
        assert!(matches!(outbox.next_action(0), NextAction::Exit));
        assert_eq!((outbox.counts().sent, outbox.counts().dropped), (1, 3));
    }
}

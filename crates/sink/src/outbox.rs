//! A bounded queue of messages for a peer that may be slow or away, and when to try it again.
//!
//! No I/O and no clock in here: each call is given the time, so that the tests of an outage of
//! hours take no time.  Once buffers have grown to the size of the messages nothing is allocated.

use std::collections::VecDeque;
use std::io;

use crate::{Message, SinkCounts};

/// How much may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboxLimits {
    /// Messages.
    pub messages_max: usize,
    /// Bytes of all payloads together.
    pub bytes_max: usize,
}

/// How long to leave a peer alone after a failure: the first pause, doubled with every further
/// failure up to the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// After the first failure.
    pub first_ns: u64,
    /// At most.
    pub longest_ns: u64,
}

impl Backoff {
    /// The pause after so many failures in a row.
    #[must_use]
    pub fn pause_ns(&self, failures: u32) -> u64 {
        let doubled = 1_u64.checked_shl(failures.saturating_sub(1)).unwrap_or(u64::MAX);
        self.first_ns.saturating_mul(doubled).min(self.longest_ns)
    }
}

/// A message that waits.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    source: String,
    sequence: u64,
    payload: Vec<u8>,
}

impl Waiting {
    /// What is to be sent.
    pub(crate) fn message(&self) -> Message<'_> {
        Message { source: &self.source, sequence: self.sequence, payload: &self.payload }
    }
}

/// What an [`Outbox`] wants next.
#[derive(Debug)]
pub(crate) enum Next {
    /// This message delivered; the answer is [`Outbox::delivered`] or [`Outbox::failed`].
    Deliver(Waiting),
    /// Nothing before this time, unless a message comes while nothing waits.
    NotBefore(u64),
    /// Nothing until a message comes.
    Idle,
    /// Nothing ever again.
    Over,
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
    /// An empty one.
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

    /// Takes a message.  Where there is no room the oldest messages are dropped: when the peer
    /// is back, the latest are worth most.
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

    /// What to do at `now_ns`.
    pub(crate) fn next(&mut self, now_ns: u64) -> Next {
        if self.waiting.is_empty() {
            return if self.is_ending { Next::Over } else { Next::Idle };
        }
        if now_ns < self.not_before_ns && !self.is_ending {
            return Next::NotBefore(self.not_before_ns);
        }
        match self.waiting.pop_front() {
            Some(first) => {
                self.waiting_bytes -= first.payload.len();
                Next::Deliver(first)
            }
            None => Next::Idle,
        }
    }

    /// Takes note that a message was delivered.
    pub(crate) fn delivered(&mut self, message: Waiting) {
        self.counts.sent += 1;
        self.failures = 0;
        self.spare.push(message);
    }

    /// Takes note that a message could not be delivered.  It stays the first to be sent, except
    /// when nothing will be tried again: then all that waits is dropped.
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

    /// Says that no message comes any more: what waits is tried once, without a pause.
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
        match outbox.next(now_ns) {
            Next::Deliver(message) => {
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
        assert!(matches!(outbox.next(0), Next::Idle));
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
            while let Next::Deliver(message) = outbox.next(now_ns) {
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
        // After a success the pauses begin anew, and the next outage is said again.
        outbox.push(&message(7_200));
        let Next::Deliver(message) = outbox.next(now_ns) else { panic!("a message waits") };
        outbox.failed(message, "carbon:2003", &refused(), now_ns);
        assert!(outbox.take_notice().is_some());
        assert!(matches!(outbox.next(now_ns), Next::NotBefore(ns) if ns == now_ns + SECOND));
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
        // One that is being sent does not stay when others have taken its room.
        let Next::Deliver(first) = outbox.next(0) else { panic!("a message waits") };
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
        let Next::Deliver(first) = outbox.next(0) else { panic!("a message waits") };
        outbox.failed(first, "p", &refused(), 0);
        outbox.end();
        assert_eq!(deliver(&mut outbox, 0), Some(0), "a pause does not hold up the end");
        let Next::Deliver(second) = outbox.next(0) else { panic!("a message waits") };
        outbox.failed(second, "p", &refused(), 0);
        assert!(matches!(outbox.next(0), Next::Over));
        assert_eq!((outbox.counts().sent, outbox.counts().dropped), (1, 3));
    }
}

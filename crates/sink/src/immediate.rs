//! A [`Transport`] without a queue: each message is delivered, or dropped and counted, before
//! [`send`](Sink::send) returns.  For datagrams, which never block, and for playing a recording,
//! where blocking does no harm.

use std::io;

use crate::{Message, Sink, SinkCounts, Transport};

/// A transport without a queue.
pub struct Immediate<T> {
    transport: T,
    /// Whether the latest message failed: each outage is reported once.
    is_down: bool,
    notice: Option<String>,
    counts: SinkCounts,
}

impl<T: Transport> Immediate<T> {
    /// A sink that sends through this transport.
    pub fn new(transport: T) -> Self {
        Immediate { transport, is_down: false, notice: None, counts: SinkCounts::default() }
    }
}

impl<T: Transport> Sink for Immediate<T> {
    fn send(&mut self, message: &Message<'_>) -> io::Result<()> {
        self.counts.calls += 1;
        match self.transport.deliver(message) {
            Ok(()) => {
                self.counts.sent += 1;
                self.is_down = false;
            }
            // An unreachable peer does not stop the program.
            Err(error) => {
                self.counts.dropped += 1;
                if !std::mem::replace(&mut self.is_down, true) {
                    let peer = self.transport.peer();
                    self.notice = Some(format!("{peer}: {error}; trying again at each report"));
                }
            }
        }
        Ok(())
    }

    fn counts(&self) -> SinkCounts {
        self.counts
    }

    fn take_notice(&mut self) -> Option<String> {
        self.notice.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Flaky(Vec<bool>);

    impl Transport for Flaky {
        fn deliver(&mut self, _: &Message<'_>) -> io::Result<()> {
            if self.0.remove(0) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
        }

        fn peer(&self) -> String {
            "p".into()
        }
    }

    #[test]
    fn each_outage_is_said_once_and_each_message_counted() {
        let mut sink = Immediate::new(Flaky(vec![true, false, false, true, false]));
        let mut notices = 0;
        for sequence in 0..5 {
            sink.send(&Message { source: "h", sequence, payload: b"x" }).unwrap();
            notices += usize::from(sink.take_notice().is_some());
        }
        assert_eq!(notices, 2);
        assert_eq!(sink.counts(), SinkCounts { sent: 2, dropped: 3, calls: 5 });
    }
}

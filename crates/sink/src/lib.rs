//! Output to files and networks: one trait, [`Sink`], and one file for each kind of destination.
//!
//! A sink takes [`Message`]s: the name of a stream, a sequence number, and bytes.  It knows nothing
//! of samples and views; the code that makes the bytes knows nothing of sockets.  A message that
//! cannot be delivered is counted, and the caller shows the counts.
//!
//! Uses `sample` (for [`Clock`](sample::Clock)) and no other crate of whit.  Prints nothing, reads
//! no environment, and takes the time from a clock that the caller passes.
//!
//! Begin reading here, then `outbox.rs` (the bounded queue and its pauses after failures, without
//! any I/O) and `queued.rs` (the thread that empties it).  A new destination is a [`Transport`] if
//! the peer may be slow or unreachable, otherwise a [`Sink`].
#![forbid(unsafe_code)]

use std::io;

mod address;
mod descriptor;
mod immediate;
mod lines;
mod listener;
mod outbox;
mod queued;
mod replaced;
mod reports;
mod tcp;
mod udp;

pub use address::{AddressError, LiveAddress, OpenError};
pub use descriptor::DescriptorSink;
pub use immediate::Immediate;
pub use lines::LineSocket;
pub use listener::ListenerSink;
pub use outbox::{Backoff, OutboxLimits};
pub use queued::{Pace, Queued};
pub use replaced::ReplacedFile;
pub use reports::open_connection;
pub use tcp::TcpTransport;
pub use udp::UdpTransport;

/// One message for a [`Sink`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The stream that it belongs to: the name of the host that it describes.
    pub source: &'a str,
    /// Its number in that stream.  A receiver may drop a message whose number it has seen: a
    /// message that was partly sent is sent again.
    pub sequence: u64,
    /// The bytes.
    pub payload: &'a [u8],
}

/// A destination of messages.
pub trait Sink {
    /// Takes a message: sends it, queues it, or drops and counts it.
    ///
    /// # Errors
    /// Only errors after which no message can be delivered any more, such as a closed pipe.
    fn send(&mut self, message: &Message<'_>) -> io::Result<()>;

    /// Does work that is due between messages, such as accepting clients.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    fn tend(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Sends the queued messages, or drops and counts them.  Nothing is sent afterwards.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// The numbers of messages sent and dropped so far.
    fn counts(&self) -> SinkCounts;

    /// A sentence that the caller should show at once; at most one for each outage of the peer.
    fn take_notice(&mut self) -> Option<String> {
        None
    }
}

/// Counts of the messages of a [`Sink`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SinkCounts {
    /// Messages passed to the kernel.
    pub sent: u64,
    /// Messages that were not delivered and never will be.
    pub dropped: u64,
    /// System calls made by the thread that calls [`Sink::send`].
    pub calls: u64,
}

/// Delivers one message to a peer, without a queue and without a retry.
pub trait Transport: Send {
    /// Connects if necessary, and delivers the message.
    ///
    /// # Errors
    /// The peer cannot be reached, or did not take all of it.
    fn deliver(&mut self, message: &Message<'_>) -> io::Result<()>;

    /// The peer's name, for messages to the user.
    fn peer(&self) -> String;
}

/// Discards messages and counts them.
#[derive(Debug, Default)]
pub struct Discard {
    counts: SinkCounts,
}

impl Sink for Discard {
    fn send(&mut self, _: &Message<'_>) -> io::Result<()> {
        self.counts.sent += 1;
        Ok(())
    }

    fn counts(&self) -> SinkCounts {
        self.counts
    }
}

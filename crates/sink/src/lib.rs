//! Everything that leaves this program: one trait, [`Sink`], and one file for each way out.
//!
//! What is handed over is a [`Message`]: the name of the stream, the number of the message in it,
//! and bytes.  A sink knows nothing of samples and views; what makes the bytes knows nothing of
//! sockets.  A message that cannot be delivered is counted, and the counts are shown by the caller.
//!
//! May use: `sample` (for [`Clock`](sample::Clock)) and nothing else of ours.  Prints nothing,
//! reads no environment, and takes the time from a clock that is handed in.
//!
//! Begin reading here, then `outbox.rs` (the bounded queue and its pauses after failures, without
//! any I/O) and `queued.rs` (the thread that empties it).  A new way out is a [`Transport`] if the
//! peer may be slow or away, and a [`Sink`] of its own otherwise.
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
pub use tcp::TcpTransport;
pub use udp::UdpTransport;

/// What is handed to a [`Sink`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The stream that it belongs to: the name of the host it tells about.
    pub source: &'a str,
    /// Its number in that stream.  A receiver that saw a number already may drop the message: one
    /// that was cut off halfway is sent again.
    pub sequence: u64,
    /// The bytes.
    pub payload: &'a [u8],
}

/// A way out of this program.
pub trait Sink {
    /// Takes a message: sends it, keeps it to be sent, or drops it and counts that.
    ///
    /// # Errors
    /// Those after which sending more makes no sense: nobody will ever read it.
    fn send(&mut self, message: &Message<'_>) -> io::Result<()>;

    /// Does what is due without a message: takes in new clients.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    fn tend(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Sends what is still kept, or drops it and counts that.  Nothing is sent afterwards.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// What became of the messages so far.
    fn counts(&self) -> SinkCounts;

    /// What the user should know at once: at most one sentence for each time that the peer is
    /// lost.
    fn take_notice(&mut self) -> Option<String> {
        None
    }
}

/// What became of the messages of a [`Sink`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SinkCounts {
    /// Messages delivered to the kernel.
    pub sent: u64,
    /// Messages that were not delivered and never will be.
    pub dropped: u64,
    /// System calls made by the thread that calls [`Sink::send`].
    pub calls: u64,
}

/// Carries one message to a peer, without queue and without second try.
pub trait Transport: Send {
    /// Connects if need be, and delivers the message.
    ///
    /// # Errors
    /// The peer cannot be reached, or did not take all of it.
    fn deliver(&mut self, message: &Message<'_>) -> io::Result<()>;

    /// Where messages go, for the user.
    fn peer(&self) -> String;
}

/// Takes messages and delivers none: the counts are all that is left of them.
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

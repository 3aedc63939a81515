//! A connection to a server that takes reports: what every export over TCP has.

use std::io;

use sample::Clock;

use crate::{Backoff, Immediate, OutboxLimits, Pace, Queued, Sink, TcpTransport};

/// Queued reports for a peer that is slow or unreachable: a minute of them at one a second.
const QUEUE_REPORTS_MAX: usize = 60;

/// Bytes of queued reports.
const QUEUE_BYTES_MAX: usize = 16 << 20;

/// Pauses after failures.
const BACKOFF: Backoff = Backoff { first_ns: 1_000_000_000, longest_ns: 60_000_000_000 };

/// A connection that is opened with the first report, and again after a failure.  With a `clock`
/// reports are queued; with `None` they are sent at once, and sending waits for the peer.
///
/// # Errors
/// If a thread cannot be created.
pub fn open_connection(
    host: String,
    port: u16,
    delay_max_ns: u64,
    clock: Option<Box<dyn Clock + Send>>,
) -> io::Result<Box<dyn Sink>> {
    let transport = TcpTransport::new(host, port);
    let limits = OutboxLimits { messages_max: QUEUE_REPORTS_MAX, bytes_max: QUEUE_BYTES_MAX };
    let pace = Pace { limits, backoff: BACKOFF, delay_max_ns };
    Ok(match clock {
        Some(clock) => Box::new(Queued::start(transport, pace, clock)?),
        None => Box::new(Immediate::new(transport)),
    })
}

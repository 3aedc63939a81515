//! What an engine is asked for its log records, and what a reader of them is: the words that the table of
//! kinds, the readers and `log_read.rs` share.

use std::ops::ControlFlow;
use std::time::Duration;

use connection::Address;
use http_client::HttpUrl;
use log_store::query::Filter;

use crate::SendError;
use crate::settings::SendSettings;

/// How far the clocks of hosts and engines may differ: an engine is asked for so much more.
pub(crate) const CLOCKS_DIFFER: Duration = Duration::from_secs(3600);

/// Which records an engine is asked for.
pub(crate) struct LogQuestion<'a> {
    /// The engine, as messages name it.
    pub(crate) server: &'a str,
    pub(crate) filter: &'a Filter,
    /// The time of the question, in ns since 1970.
    pub(crate) now_ns: u64,
}

/// Takes a line of an engine; whether it wants more.
pub(crate) type TakeLine<'a> = dyn FnMut(&[u8]) -> Result<ControlFlow<()>, SendError> + 'a;

/// Reads the lines of an engine at a place, at least those that are wanted.
type ReadLines<P> =
    fn(&P, &LogQuestion<'_>, &SendSettings, &mut TakeLine<'_>) -> Result<(), SendError>;

/// How the log records of a kind of engines are read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LogReadWay {
    /// By HTTP; the lines come in the order of their times.
    Http(ReadLines<HttpUrl>),
    /// By a connection; the lines come in any order.
    Stream(ReadLines<Address>),
}

impl LogReadWay {
    /// Whether the lines come in the order of their times.
    pub(crate) fn is_ordered(self) -> bool {
        matches!(self, LogReadWay::Http(_))
    }
}

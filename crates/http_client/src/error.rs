//! What can go wrong with a request.

use std::io;
use std::time::Duration;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Nobody listens there, the name is not known, or the certificate is not trusted.
    #[error("cannot connect to {server}")]
    Connect {
        /// The server.
        server: String,
        /// Why.
        source: io::Error,
    },
    /// The address begins with https and there are no authorities to check the server by.
    #[error("{0} needs the authorities (CA) of servers")]
    NoAuthorities(String),
    /// The request cannot be written: a path or a header with characters that it may not have.
    #[error("the request to {server} cannot be made")]
    Request {
        /// The server.
        server: String,
        /// Why.
        source: hyper::http::Error,
    },
    /// The answer did not come in time.
    #[error("{server} did not answer within {} s", timeout.as_secs_f64())]
    TimedOut {
        /// The server.
        server: String,
        /// The time of a request.
        timeout: Duration,
    },
    /// The connection ended, or what came is not HTTP.
    #[error("the connection to {server} failed")]
    Connection {
        /// The server.
        server: String,
        /// Why.
        source: hyper::Error,
    },
    /// The answer has more bytes than are wanted.
    #[error("the answer of {server} has more than {bytes_max} bytes")]
    TooLong {
        /// The server.
        server: String,
        /// The most that are wanted.
        bytes_max: usize,
    },
}

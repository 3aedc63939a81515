//! What a request asks, how it ends, and what is counted.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use thiserror::Error;

use super::DeviceHandle;
use super::engine::UsmReport;
use crate::ber::DecodeError;
use crate::pdu::{Pdu, PduKind};

/// What a request asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// The values of the objects.
    Get,
    /// The objects that follow.
    GetNext,
    /// The objects that follow, several each.
    GetBulk {
        /// Objects, from the first, that are asked for once.
        non_repeaters: u16,
        /// How many follow each other object.
        max_repetitions: u16,
    },
}

/// Why an answer was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// It is no message.
    #[error("an answer is no message: {0}")]
    Malformed(DecodeError),
    /// It came from elsewhere.
    #[error("an answer came from {0}")]
    Address(SocketAddr),
    /// It has another version or community than the request.
    #[error("an answer has another version or community")]
    Community,
    /// It has another user, engine, context or protection than the request.
    #[error("an answer has another user, engine or level of security")]
    User,
    /// The digest of the answer is not that of the user's key.
    #[error("an answer is not authentic")]
    Digest,
    /// It was sent too long ago, by its engine's clock.
    #[error("an answer is too old")]
    Old,
    /// It is no answer, but another kind of PDU.
    #[error("a {0:?} came instead of an answer")]
    Kind(PduKind),
}

/// Why a request has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RequestError {
    /// Nothing came, or nothing that could be taken.
    Timeout {
        /// How often the request was sent.
        tries: u32,
        /// Why the last answer was not taken, if there was one.
        refusal: Option<Refusal>,
    },
    /// The system does not send it.
    Send {
        /// The error of the system.
        kind: io::ErrorKind,
        /// The number of the error, as in errno(3).
        number: Option<i32>,
    },
    /// It does not fit a datagram.
    TooLong,
    /// The device refuses the message itself.
    Report(UsmReport),
    /// The device was removed.
    Removed,
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout { tries, refusal: None } => write!(f, "no answer to {tries} requests"),
            Self::Timeout { tries, refusal: Some(refusal) } => {
                write!(f, "no answer to {tries} requests that could be taken: {refusal}")
            }
            Self::Send { number: Some(number), .. } => {
                write!(f, "cannot send: {}", io::Error::from_raw_os_error(*number))
            }
            Self::Send { kind, number: None } => write!(f, "cannot send: {kind}"),
            Self::TooLong => f.write_str("the request does not fit a datagram"),
            Self::Report(report) => report.fmt(f),
            Self::Removed => f.write_str("the device was removed"),
        }
    }
}

/// A request that the session does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SubmitError {
    /// The table is full.
    #[error("too many requests at once")]
    TooMany,
    /// The device was removed.
    #[error("the device was removed")]
    Removed,
    /// The varbinds alone are longer than a datagram.
    #[error("the request does not fit a datagram")]
    TooLong,
}

/// The end of a request.
#[derive(Debug)]
pub struct Completion<'a> {
    /// The device that was asked.
    pub device: DeviceHandle,
    /// The number that came with the request.
    pub token: u64,
    /// How often it was sent.
    pub tries: u32,
    /// The answer.  An error of the agent (`error_status`) is an answer.
    pub result: Result<Pdu<'a>, RequestError>,
}

/// What happened in a session, since its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCounts {
    /// Requests that were submitted.
    pub requests: u64,
    /// Datagrams that were sent, repeated ones too.
    pub sent: u64,
    /// Requests that were sent again, each time.
    pub repeated: u64,
    /// Datagrams that were received.
    pub received: u64,
    /// Requests that were answered.
    pub answered: u64,
    /// Requests that were given up.
    pub timeouts: u64,
    /// Answers to requests that were answered or given up before: late ones and duplicates.
    pub past: u64,
    /// Answers to no request.
    pub unknown: u64,
    /// Answers from a wrong address.
    pub wrong_address: u64,
    /// Answers with a wrong version, community or kind.
    pub wrong_head: u64,
    /// Datagrams that are no message.
    pub malformed: u64,
    /// Bytes that were sent and received.
    pub bytes: u64,
}

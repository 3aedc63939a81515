//! What a session knows of the engine of a device, for version 3: its id, its clock, its keys.
//!
//! RFC 3414 section 3.2: a message is in time if it was started as often as is known and its clock
//! is at most 150 s behind.  The id and a first clock come from a report that nobody vouches for;
//! the first authenticated message sets the clock.

use crate::oid::OidRef;
use crate::usm::{EngineKeys, V3Head, V3Message};

/// How far behind a message may be, in seconds (RFC 3414 section 2.2.3).
const WINDOW_S: i64 = 150;

/// `1.3.6.1.6.3.15.1.1`, below which the statistics of the security model are.
const STATISTICS: [u8; 9] = [0x2b, 6, 1, 6, 3, 15, 1, 1, 0];

/// `1.3.6.1.6.3.12.1`, below which are those of targets: contexts.
const CONTEXTS: [u8; 8] = [0x2b, 6, 1, 6, 3, 12, 1, 0];

/// What a report says (RFC 3414 section 5, RFC 3413 section 4.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UsmReport {
    /// The user may not ask with this protection.
    #[error("the device does not take this level of security from the user")]
    UnsupportedSecurityLevel,
    /// The clock or the number of starts is wrong.
    #[error("the device's clock does not fit the request")]
    NotInTimeWindow,
    /// There is no such user.
    #[error("the device does not know the user")]
    UnknownUser,
    /// The message is for another engine.
    #[error("the device has another engine id")]
    UnknownEngine,
    /// The digest is wrong: another password or protocol.
    #[error("the device finds the digest wrong: is it the right authentication password?")]
    WrongDigest,
    /// What was decrypted is no PDU: another password or protocol.
    #[error("the device cannot decrypt the request: is it the right privacy password?")]
    Decryption,
    /// There is no such context.
    #[error("the device does not have the context")]
    Context,
    /// Anything else.
    #[error("the device sent a report that is not known here")]
    Other,
}

impl UsmReport {
    /// From the object that a report contains.
    pub(super) fn of(oid: Option<OidRef<'_>>) -> Self {
        let bytes = oid.map_or(&[][..], OidRef::as_bytes);
        match bytes.strip_prefix(&STATISTICS[..8]) {
            Some([1, ..]) => return Self::UnsupportedSecurityLevel,
            Some([2, ..]) => return Self::NotInTimeWindow,
            Some([3, ..]) => return Self::UnknownUser,
            Some([4, ..]) => return Self::UnknownEngine,
            Some([5, ..]) => return Self::WrongDigest,
            Some([6, ..]) => return Self::Decryption,
            _ => {}
        }
        match bytes.strip_prefix(&CONTEXTS[..7]) {
            Some([4 | 5, ..]) => Self::Context,
            _ => Self::Other,
        }
    }
}

/// The engine of a device.
#[derive(Debug, Default)]
pub(super) struct Engine {
    /// Empty until it is known.
    pub(super) id: Vec<u8>,
    pub(super) keys: EngineKeys,
    boots: i32,
    time: i32,
    /// When that was its time, in ns.
    at_ns: u64,
    is_time_authentic: bool,
}

impl Engine {
    /// An engine that was discovered.
    pub(super) fn new(id: &[u8], keys: EngineKeys) -> Self {
        Self { id: id.to_vec(), keys, ..Self::default() }
    }

    pub(super) fn is_known(&self) -> bool {
        !self.id.is_empty()
    }

    /// The engine's number of starts and its time, in seconds.
    pub(super) fn clock(&self, now_ns: u64) -> (i32, i32) {
        let passed = now_ns.saturating_sub(self.at_ns) / 1_000_000_000;
        (self.boots, self.time.saturating_add(i32::try_from(passed).unwrap_or(i32::MAX)))
    }

    /// Takes the clock of a message.
    pub(super) fn set_clock(&mut self, message: &V3Message, now_ns: u64, is_authentic: bool) {
        self.boots = message.engine_boots.max(0);
        self.time = message.engine_time.max(0);
        self.at_ns = now_ns;
        self.is_time_authentic = is_authentic;
    }

    /// Whether an authenticated message is in time; a clock that is ahead is taken.
    pub(super) fn is_in_time(&mut self, message: &V3Message, now_ns: u64) -> bool {
        let (boots, time) = self.clock(now_ns);
        let behind = i64::from(time) - i64::from(message.engine_time);
        let is_old =
            message.engine_boots < boots || message.engine_boots == boots && behind > WINDOW_S;
        if self.is_time_authentic && (is_old || message.engine_boots == i32::MAX) {
            return false;
        }
        if !self.is_time_authentic || message.engine_boots > boots || behind < 0 {
            self.set_clock(message, now_ns, true);
        }
        true
    }

    /// The head of a request, to be completed.
    pub(super) fn head<'a>(&'a self, now_ns: u64, message_id: i32, user: &'a [u8]) -> V3Head<'a> {
        let (engine_boots, engine_time) = self.clock(now_ns);
        V3Head {
            message_id,
            flags: crate::usm::V3Flags::default(),
            engine_id: &self.id,
            engine_boots,
            engine_time,
            user,
        }
    }
}

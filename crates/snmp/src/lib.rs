//! SNMP, the protocol and nothing else: what is asked, what is answered, byte by byte.
//!
//! Messages are encoded into a buffer of the caller and decoded where they lie; neither allocates.
//! A message is checked whole before anything of it is given out, so reading its varbinds cannot
//! fail.  A session asks many devices at once and knows nothing of what is asked.
//!
//! Uses nothing of ours.  Reads neither the environment nor the clock.  Begin with `message.rs`;
//! `ber.rs` has the encoding, `oid.rs` object identifiers, `value.rs` the types of values, `pdu.rs`
//! requests and answers, `usm.rs` users and keys of version 3, `session.rs` the
//! devices, `udp.rs` the socket.

mod ber;
mod message;
mod oid;
mod pdu;
mod session;
mod socket;
mod udp;
mod usm;
mod value;

pub use ber::{DecodeCause, DecodeError, EncodeError, MESSAGE_BYTES_MAX};
pub use message::{CommunityHead, CommunityMessage, Version, peek_version};
pub use oid::{Oid, OidError, OidRef, SUB_IDENTIFIERS_MAX, SubIdentifiers};
pub use pdu::{ErrorStatus, Pdu, PduHead, PduKind, Varbind, Varbinds};
pub use session::{
    Completion, DeviceHandle, DeviceSettings, NextPoll, Refusal, RequestError, RequestKind,
    Security, SessionCounts, SnmpSession, SubmitError, UsmReport,
};
pub use socket::{DatagramSocket, OutgoingDatagram};
pub use udp::{KernelSocket, any_local_address};
pub use usm::{
    AuthenticationProtocol, ENGINE_ID_BYTES_MAX, EngineKeys, KeyCache, KeyExtension,
    PrivacyProtocol, ScopedHead, ScopedPdu, UsmSecret, UsmUser, UsmUserError, V3Flags, V3Head,
    V3Message,
};
pub use value::SnmpValue;

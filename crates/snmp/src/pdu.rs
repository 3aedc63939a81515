//! Requests and answers: RFC 3416 section 3.
//!
//! The traps of version 1 have another form and are not read; whit sends and receives none.

use std::fmt;

use crate::ber::{BerReader, DecodeCause, DecodeError, Encoder, tag};
use crate::oid::OidRef;
use crate::value::SnmpValue;

/// What a PDU asks or says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PduKind {
    /// The values of these objects.
    Get,
    /// The objects that follow these.
    GetNext,
    /// An answer.
    Response,
    /// New values.
    Set,
    /// The objects that follow these, several each; not in version 1.
    GetBulk,
    /// A message that is confirmed.
    Inform,
    /// A message that is not.
    Trap,
    /// What an engine of version 3 says about the message itself.
    Report,
}

impl PduKind {
    fn of_tag(tag: u8) -> Option<Self> {
        Some(match tag {
            0xa0 => Self::Get,
            0xa1 => Self::GetNext,
            0xa2 => Self::Response,
            0xa3 => Self::Set,
            0xa5 => Self::GetBulk,
            0xa6 => Self::Inform,
            0xa7 => Self::Trap,
            0xa8 => Self::Report,
            _ => return None,
        })
    }

    fn tag(self) -> u8 {
        match self {
            Self::Get => 0xa0,
            Self::GetNext => 0xa1,
            Self::Response => 0xa2,
            Self::Set => 0xa3,
            Self::GetBulk => 0xa5,
            Self::Inform => 0xa6,
            Self::Trap => 0xa7,
            Self::Report => 0xa8,
        }
    }
}

/// What an agent says about a request as a whole (RFC 3416 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErrorStatus(pub i32);

impl ErrorStatus {
    /// All is well.
    pub const NO_ERROR: Self = Self(0);
    /// The answer does not fit a message.
    pub const TOO_BIG: Self = Self(1);
    /// Version 1: there is no such object, or nothing follows it.
    pub const NO_SUCH_NAME: Self = Self(2);
    /// Version 1: the value has the wrong type, length or range.
    pub const BAD_VALUE: Self = Self(3);
    /// Version 1: the object cannot be written.
    pub const READ_ONLY: Self = Self(4);
    /// Anything else.
    pub const GENERAL_ERROR: Self = Self(5);
    /// The object may not be read by this user.
    pub const NO_ACCESS: Self = Self(6);
    /// This user may do nothing of the kind.
    pub const AUTHORIZATION_ERROR: Self = Self(16);

    const NAMES: [&'static str; 19] = [
        "noError",
        "tooBig",
        "noSuchName",
        "badValue",
        "readOnly",
        "genErr",
        "noAccess",
        "wrongType",
        "wrongLength",
        "wrongEncoding",
        "wrongValue",
        "noCreation",
        "inconsistentValue",
        "resourceUnavailable",
        "commitFailed",
        "undoFailed",
        "authorizationError",
        "notWritable",
        "inconsistentName",
    ];
}

/// The name that the standard gives it.
impl fmt::Display for ErrorStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = usize::try_from(self.0).ok().and_then(|index| Self::NAMES.get(index));
        match name {
            Some(name) => f.write_str(name),
            None => write!(f, "error-status {}", self.0),
        }
    }
}

/// What comes before the varbinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PduHead {
    /// What it is.
    pub kind: PduKind,
    /// The number that an answer repeats.
    pub request_id: i32,
    /// In an answer: the error.  In [`PduKind::GetBulk`]: the number of varbinds, from the first,
    /// that are asked for once (`non-repeaters`).
    pub error_status: ErrorStatus,
    /// In an answer: the varbind that the error is about, the first is 1, or 0.  In
    /// [`PduKind::GetBulk`]: how many objects follow each of the other varbinds
    /// (`max-repetitions`).
    pub error_index: i32,
}

impl PduHead {
    /// A request for values or for the objects that follow.
    #[must_use]
    pub fn request(kind: PduKind, request_id: i32) -> Self {
        Self { kind, request_id, error_status: ErrorStatus::NO_ERROR, error_index: 0 }
    }

    /// A request for many objects that follow.
    #[must_use]
    pub fn bulk(request_id: i32, non_repeaters: i32, max_repetitions: i32) -> Self {
        Self {
            kind: PduKind::GetBulk,
            request_id,
            error_status: ErrorStatus(non_repeaters),
            error_index: max_repetitions,
        }
    }
}

/// An object and its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Varbind<'a> {
    /// Which object.
    pub oid: OidRef<'a>,
    /// The value of the object; [`SnmpValue::Null`] in requests.
    pub value: SnmpValue<'a>,
}

impl<'a> Varbind<'a> {
    /// What a request contains.
    #[must_use]
    pub fn asked(oid: OidRef<'a>) -> Self {
        Self { oid, value: SnmpValue::Null }
    }

    #[inline]
    fn decode(list: &mut BerReader<'a>) -> Result<Self, DecodeError> {
        let mut pair = list.expect(tag::SEQUENCE)?;
        let oid = OidRef::of_content(&pair.expect(tag::OBJECT_IDENTIFIER)?)?;
        let value = SnmpValue::decode(&mut pair)?;
        pair.finish()?;
        Ok(Self { oid, value })
    }

    #[inline]
    fn encode(&self, encoder: &mut Encoder<'_>) {
        let mark = encoder.mark();
        self.value.encode(encoder);
        encoder.element(tag::OBJECT_IDENTIFIER, self.oid.as_bytes());
        encoder.wrap(tag::SEQUENCE, mark);
    }
}

/// The varbinds of a PDU, one after the other.  They were checked before.
#[derive(Clone, Copy, Debug)]
pub struct Varbinds<'a> {
    rest: BerReader<'a>,
    count: usize,
}

impl<'a> Varbinds<'a> {
    /// Checks all of them.
    fn new(list: BerReader<'a>) -> Result<Self, DecodeError> {
        let mut rest = list;
        let mut count = 0;
        while !rest.is_empty() {
            Varbind::decode(&mut rest)?;
            count += 1;
        }
        Ok(Self { rest: list, count })
    }
}

impl<'a> Iterator for Varbinds<'a> {
    type Item = Varbind<'a>;

    #[inline]
    fn next(&mut self) -> Option<Varbind<'a>> {
        if self.count == 0 {
            return None;
        }
        self.count -= 1;
        Varbind::decode(&mut self.rest).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count, Some(self.count))
    }
}

impl ExactSizeIterator for Varbinds<'_> {}

/// A request or an answer that was read.
#[derive(Clone, Copy, Debug)]
pub struct Pdu<'a> {
    /// What comes before the varbinds.
    pub head: PduHead,
    /// The varbinds of the PDU.
    pub varbinds: Varbinds<'a>,
}

impl<'a> Pdu<'a> {
    /// Reads the next element.
    pub(crate) fn decode(reader: &mut BerReader<'a>) -> Result<Self, DecodeError> {
        let before = *reader;
        let (tag, mut content) = reader.element()?;
        let kind = PduKind::of_tag(tag).ok_or(before.error(DecodeCause::UnknownPdu(tag)))?;
        let request_id = content.integer32()?;
        let error_status = ErrorStatus(content.integer32()?);
        let error_index = content.integer32()?;
        let varbinds = Varbinds::new(content.expect(tag::SEQUENCE)?)?;
        content.finish()?;
        Ok(Self { head: PduHead { kind, request_id, error_status, error_index }, varbinds })
    }
}

/// Writes a PDU; the varbinds are taken from the last to the first.
pub(crate) fn encode<'a>(
    encoder: &mut Encoder<'_>,
    head: &PduHead,
    varbinds: impl DoubleEndedIterator<Item = Varbind<'a>>,
) {
    let mark = encoder.mark();
    varbinds.rev().for_each(|varbind| varbind.encode(encoder));
    encode_head(encoder, head, mark);
}

/// Writes a PDU with varbinds that are encoded already.
pub(crate) fn encode_raw(encoder: &mut Encoder<'_>, head: &PduHead, varbinds: &[u8]) {
    let mark = encoder.mark();
    encoder.raw(varbinds);
    encode_head(encoder, head, mark);
}

/// Writes what comes before the varbinds, which were written since `mark`.
fn encode_head(encoder: &mut Encoder<'_>, head: &PduHead, mark: usize) {
    encoder.wrap(tag::SEQUENCE, mark);
    encoder.signed(tag::INTEGER, head.error_index.into());
    encoder.signed(tag::INTEGER, head.error_status.0.into());
    encoder.signed(tag::INTEGER, head.request_id.into());
    encoder.wrap(head.kind.tag(), mark);
}

/// Appends one varbind that asks, as it is sent: from the first to the last.
pub(crate) fn push_asked(bytes: &mut Vec<u8>, oid: OidRef<'_>) {
    let oid = oid.as_bytes();
    // An object identifier has at most 5 bytes a number, so these lengths need at most 2 bytes.
    let oid_head = if oid.len() < 0x80 {
        2
    } else if oid.len() < 0x100 {
        3
    } else {
        4
    };
    bytes.push(tag::SEQUENCE);
    push_length(bytes, oid_head + oid.len() + 2);
    bytes.push(tag::OBJECT_IDENTIFIER);
    push_length(bytes, oid.len());
    bytes.extend_from_slice(oid);
    bytes.extend_from_slice(&[tag::NULL, 0]);
}

fn push_length(bytes: &mut Vec<u8>, length: usize) {
    match length {
        0..0x80 => bytes.push(length as u8),
        0x80..0x100 => bytes.extend_from_slice(&[0x81, length as u8]),
        _ => bytes.extend_from_slice(&[0x82, (length >> 8) as u8, length as u8]),
    }
}

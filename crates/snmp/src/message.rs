//! Messages of versions 1 and 2c: a community and a PDU (RFC 1157 section 4, RFC 1901 section 3).

use crate::ber::{BerReader, DecodeCause, DecodeError, EncodeError, Encoder, tag};
use crate::pdu::{self, Pdu, PduHead, Varbind};

/// The versions of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// RFC 1157.
    V1,
    /// RFC 1901: the operations of version 2, with communities.
    V2c,
    /// RFC 3412: users, authentication, privacy.
    V3,
}

impl Version {
    pub(crate) fn number(self) -> i64 {
        match self {
            Self::V1 => 0,
            Self::V2c => 1,
            Self::V3 => 3,
        }
    }
}

/// What comes before the PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommunityHead<'a> {
    /// [`Version::V1`] or [`Version::V2c`].
    pub version: Version,
    /// The community, in clear text.
    pub community: &'a [u8],
}

impl CommunityHead<'_> {
    /// Writes a message into the end of `buffer`, and gives the offset at which it begins there.
    ///
    /// The varbinds are taken from the last to the first.  Allocates nothing.
    ///
    /// # Errors
    /// If the buffer is too small.
    pub fn encode<'v>(
        &self,
        buffer: &mut [u8],
        head: &PduHead,
        varbinds: impl DoubleEndedIterator<Item = Varbind<'v>>,
    ) -> Result<usize, EncodeError> {
        self.encode_with(buffer, |encoder| pdu::encode(encoder, head, varbinds))
    }

    /// As [`Self::encode`], with varbinds that are encoded already.
    pub(crate) fn encode_raw(
        &self,
        buffer: &mut [u8],
        head: &PduHead,
        varbinds: &[u8],
    ) -> Result<usize, EncodeError> {
        self.encode_with(buffer, |encoder| pdu::encode_raw(encoder, head, varbinds))
    }

    fn encode_with(
        &self,
        buffer: &mut [u8],
        write_pdu: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<usize, EncodeError> {
        let mut encoder = Encoder::new(buffer);
        let mark = encoder.mark();
        write_pdu(&mut encoder);
        encoder.element(tag::OCTET_STRING, self.community);
        encoder.signed(tag::INTEGER, self.version.number());
        encoder.wrap(tag::SEQUENCE, mark);
        encoder.finish()
    }
}

/// A message of version 1 or 2c that was read.
#[derive(Clone, Copy, Debug)]
pub struct CommunityMessage<'a> {
    /// What comes before the PDU.
    pub head: CommunityHead<'a>,
    /// The request or answer.
    pub pdu: Pdu<'a>,
}

impl<'a> CommunityMessage<'a> {
    /// Reads a whole datagram.  Everything in it is checked; allocates nothing.
    ///
    /// # Errors
    /// What is wrong, and where; also a message of version 3.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let (version, mut message) = open(bytes)?;
        if version == Version::V3 {
            return Err(message.error(DecodeCause::UnknownVersion(3)));
        }
        let community = message.octets()?;
        let pdu = Pdu::decode(&mut message)?;
        message.finish()?;
        Ok(Self { head: CommunityHead { version, community }, pdu })
    }
}

/// Opens the sequence that is the whole datagram, and reads the version.
pub(crate) fn open(bytes: &[u8]) -> Result<(Version, BerReader<'_>), DecodeError> {
    let mut datagram = BerReader::new(bytes, 0);
    let mut message = datagram.expect(tag::SEQUENCE)?;
    datagram.finish()?;
    let before = message;
    let version = match message.integer()? {
        0 => Version::V1,
        1 => Version::V2c,
        3 => Version::V3,
        other => return Err(before.error(DecodeCause::UnknownVersion(other))),
    };
    Ok((version, message))
}

/// The version of a datagram, so that the right decoder can be called.
///
/// # Errors
/// If it is no message, or of another version.
pub fn peek_version(bytes: &[u8]) -> Result<Version, DecodeError> {
    open(bytes).map(|(version, _)| version)
}

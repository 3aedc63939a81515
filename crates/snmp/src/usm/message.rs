//! Messages of version 3: RFC 3412 section 6 around RFC 3414 section 2.4.
//!
//! A message is read in steps, as each needs what the one before found: the header
//! ([`V3Message::decode`]), the authentication ([`V3Message::is_authentic`]), the scoped PDU
//! ([`V3Message::open`]), which is decrypted where it lies.

use std::ops::Range;

use super::cipher::{CipherInput, CipherKey, SALT_BYTES};
use super::keys::EngineKeys;
use super::mac::MAC_BYTES_MAX;
use crate::ber::{
    BerReader, DecodeCause, DecodeError, EncodeError, Encoder, MESSAGE_BYTES_MAX, tag,
};
use crate::message::{Version, open};
use crate::pdu::{self, Pdu, PduHead, Varbind};

/// The number of the user-based security model.
const USM: i64 = 3;

/// What a message is, and what may be sent back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct V3Flags {
    /// It has a digest.
    pub is_authenticated: bool,
    /// Whether the PDU is encrypted.
    pub is_private: bool,
    /// The receiver says what is wrong with the message.
    pub is_reportable: bool,
}

impl V3Flags {
    fn to_byte(self) -> u8 {
        u8::from(self.is_authenticated)
            | u8::from(self.is_private) << 1
            | u8::from(self.is_reportable) << 2
    }

    fn of_byte(byte: u8) -> Self {
        Self {
            is_authenticated: byte & 1 != 0,
            is_private: byte & 2 != 0,
            is_reportable: byte & 4 != 0,
        }
    }
}

/// What comes before the scoped PDU, to write it.
#[derive(Clone, Copy, Debug)]
pub struct V3Head<'a> {
    /// The number that the answer repeats.
    pub message_id: i32,
    /// The protection; the keys for it come with the call.
    pub flags: V3Flags,
    /// The engine whose clock counts.
    pub engine_id: &'a [u8],
    /// How often that engine was started.
    pub engine_boots: i32,
    /// How long ago that was, in seconds.
    pub engine_time: i32,
    /// The user.
    pub user: &'a [u8],
}

/// The context of a PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopedHead<'a> {
    /// The engine that has the objects.
    pub context_engine_id: &'a [u8],
    /// The part of the engine that is asked, usually empty.
    pub context_name: &'a [u8],
}

/// A PDU and its context, read.
#[derive(Clone, Copy, Debug)]
pub struct ScopedPdu<'a> {
    /// The context.
    pub head: ScopedHead<'a>,
    /// The request, answer or report.
    pub pdu: Pdu<'a>,
}

impl V3Head<'_> {
    /// Writes a message into the end of `buffer`, and gives the offset at which it begins there.
    /// `salt` is a number that is never used again with the same key.
    ///
    /// # Errors
    /// If the buffer is too small.
    pub fn encode<'v>(
        &self,
        buffer: &mut [u8],
        keys: &EngineKeys,
        salt: u64,
        scope: &ScopedHead<'_>,
        pdu: &PduHead,
        varbinds: impl DoubleEndedIterator<Item = Varbind<'v>>,
    ) -> Result<usize, EncodeError> {
        self.encode_with(buffer, keys, salt, scope, |encoder| pdu::encode(encoder, pdu, varbinds))
    }

    /// As [`Self::encode`], with varbinds that are encoded already.
    pub(crate) fn encode_raw(
        &self,
        buffer: &mut [u8],
        keys: &EngineKeys,
        salt: u64,
        scope: &ScopedHead<'_>,
        pdu: &PduHead,
        varbinds: &[u8],
    ) -> Result<usize, EncodeError> {
        self.encode_with(buffer, keys, salt, scope, |encoder| {
            pdu::encode_raw(encoder, pdu, varbinds);
        })
    }

    fn encode_with(
        &self,
        buffer: &mut [u8],
        keys: &EngineKeys,
        salt: u64,
        scope: &ScopedHead<'_>,
        write_pdu: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<usize, EncodeError> {
        let cipher = keys.cipher.as_ref().filter(|_| self.flags.is_private);
        let end = buffer.len();
        let block = cipher.map_or(1, CipherKey::block_bytes);
        let Some(inside) = end.checked_sub(block - 1) else { return Err(EncodeError::Full(end)) };
        let mut encoder = Encoder::new(&mut buffer[..inside]);
        let mark = encoder.mark();
        write_pdu(&mut encoder);
        encoder.element(tag::OCTET_STRING, scope.context_name);
        encoder.element(tag::OCTET_STRING, scope.context_engine_id);
        encoder.wrap(tag::SEQUENCE, mark);
        let mut start = encoder.finish()?;
        let mut salt_bytes = [0; SALT_BYTES];
        if let Some(cipher) = cipher {
            // To whole blocks: the PDU moves towards the end, where there is room for one less.
            let padding = (block - (inside - start) % block) % block;
            let shift = block - 1 - padding;
            buffer.copy_within(start..inside, start + shift);
            start += shift;
            buffer[inside + shift..].fill(0);
            salt_bytes = cipher.salt(self.engine_boots, salt);
            let input =
                CipherInput { boots: self.engine_boots, time: self.engine_time, salt: salt_bytes };
            cipher.encrypt(input, &mut buffer[start..]);
        }
        let salt_bytes = &salt_bytes[..if cipher.is_some() { SALT_BYTES } else { 0 }];
        self.finish(buffer, start, keys, salt_bytes)
    }

    /// Writes all that comes before the scoped PDU, which begins at `start`, and the digest.
    fn finish(
        &self,
        buffer: &mut [u8],
        start: usize,
        keys: &EngineKeys,
        salt: &[u8],
    ) -> Result<usize, EncodeError> {
        let mac = keys.mac.as_ref().filter(|_| self.flags.is_authenticated);
        let end = buffer.len();
        let mut encoder = Encoder::resume(buffer, start);
        if self.flags.is_private {
            encoder.wrap(tag::OCTET_STRING, end);
        }
        let mark = encoder.mark();
        encoder.element(tag::OCTET_STRING, salt);
        let digest_end = encoder.mark();
        let length = mac.map_or(0, |mac| mac.protocol().mac_bytes());
        encoder.element(tag::OCTET_STRING, &[0; MAC_BYTES_MAX][..length]);
        encoder.element(tag::OCTET_STRING, self.user);
        encoder.signed(tag::INTEGER, self.engine_time.into());
        encoder.signed(tag::INTEGER, self.engine_boots.into());
        encoder.element(tag::OCTET_STRING, self.engine_id);
        encoder.wrap(tag::SEQUENCE, mark);
        encoder.wrap(tag::OCTET_STRING, mark);
        let head = encoder.mark();
        encoder.signed(tag::INTEGER, USM);
        encoder.element(tag::OCTET_STRING, &[self.flags.to_byte()]);
        encoder.signed(tag::INTEGER, MESSAGE_BYTES_MAX as i64);
        encoder.signed(tag::INTEGER, self.message_id.into());
        encoder.wrap(tag::SEQUENCE, head);
        encoder.signed(tag::INTEGER, Version::V3.number());
        encoder.wrap(tag::SEQUENCE, end);
        let first = encoder.finish()?;
        if let Some(mac) = mac {
            let digest = mac.sign([&buffer[first..], &[], &[]]);
            buffer[digest_end - length..digest_end].copy_from_slice(&digest[..length]);
        }
        Ok(first)
    }
}

/// A message of version 3 whose header was read.  It has places, not bytes, so that the bytes can be
/// decrypted.
#[derive(Clone, Debug)]
pub struct V3Message {
    /// The number that the answer repeats.
    pub message_id: i32,
    /// The longest message that the sender takes, in bytes.
    pub size_max: i32,
    /// The protection.
    pub flags: V3Flags,
    /// How often the engine was started.
    pub engine_boots: i32,
    /// How long ago that was, in seconds.
    pub engine_time: i32,
    engine_id: Range<usize>,
    user: Range<usize>,
    digest: Range<usize>,
    salt: Range<usize>,
    data: Range<usize>,
}

impl V3Message {
    /// Reads the header of a whole datagram.
    ///
    /// # Errors
    /// What is wrong, and where; also a message of another version.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (version, mut message) = open(bytes)?;
        if version != Version::V3 {
            return Err(message.error(DecodeCause::UnknownVersion(version.number())));
        }
        let mut head = message.expect(tag::SEQUENCE)?;
        let message_id = head.integer32()?;
        let size_max = head.integer32()?;
        let flags = head.expect(tag::OCTET_STRING)?;
        let &[flag_byte] = flags.rest() else {
            return Err(flags.error(DecodeCause::Header("the flags are not one byte")));
        };
        let flags = V3Flags::of_byte(flag_byte);
        if flags.is_private && !flags.is_authenticated {
            return Err(head.error(DecodeCause::Header("privacy without authentication")));
        }
        let before = head;
        if head.integer()? != USM {
            return Err(before.error(DecodeCause::Header("unknown security model")));
        }
        head.finish()?;
        let mut outer = message.expect(tag::OCTET_STRING)?;
        let mut security = outer.expect(tag::SEQUENCE)?;
        outer.finish()?;
        let engine_id = place(&mut security, super::ENGINE_ID_BYTES_MAX)?;
        let engine_boots = security.integer32()?;
        let engine_time = security.integer32()?;
        let (user, digest, salt) =
            (place(&mut security, 32)?, place(&mut security, 64)?, place(&mut security, 64)?);
        security.finish()?;
        let data = if flags.is_private {
            let content = message.expect(tag::OCTET_STRING)?;
            message.finish()?;
            content.at()..content.at() + content.rest().len()
        } else {
            message.at()..message.at() + message.rest().len()
        };
        Ok(Self {
            message_id,
            size_max,
            flags,
            engine_boots,
            engine_time,
            engine_id,
            user,
            digest,
            salt,
            data,
        })
    }

    /// The engine whose clock counts, in the bytes that were read.
    #[must_use]
    pub fn engine_id<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.engine_id.clone()]
    }

    /// The user, in the bytes that were read.
    #[must_use]
    pub fn user<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.user.clone()]
    }

    /// Whether the digest is that of the message with this key.
    #[must_use]
    pub fn is_authentic(&self, bytes: &[u8], keys: &EngineKeys) -> bool {
        let Some(mac) = &keys.mac else { return false };
        let digest = &bytes[self.digest.clone()];
        if digest.len() > MAC_BYTES_MAX {
            return false;
        }
        let zeros = &[0; MAC_BYTES_MAX][..digest.len()];
        mac.is_mac([&bytes[..self.digest.start], zeros, &bytes[self.digest.end..]], digest)
    }

    /// Reads the scoped PDU; decrypts it before, where it lies.
    ///
    /// # Errors
    /// If it cannot be decrypted, or what comes out is no PDU.
    pub fn open<'a>(
        &self,
        bytes: &'a mut [u8],
        keys: &EngineKeys,
    ) -> Result<ScopedPdu<'a>, DecodeError> {
        let at = self.data.start;
        if self.flags.is_private {
            let wrong = |what| DecodeError { at, cause: DecodeCause::Header(what) };
            let salt = bytes[self.salt.clone()].try_into();
            let salt = salt.map_err(|_| wrong("the salt is not 8 bytes"))?;
            let cipher = keys.cipher.as_ref().ok_or(wrong("encrypted, but there is no key"))?;
            let input = CipherInput { boots: self.engine_boots, time: self.engine_time, salt };
            if !cipher.decrypt(input, &mut bytes[self.data.clone()]) {
                return Err(wrong("encrypted bytes that are no whole blocks"));
            }
        }
        let mut data = BerReader::new(&bytes[self.data.clone()], at);
        let mut scoped = data.expect(tag::SEQUENCE)?;
        // After an encrypted PDU there may be padding.
        if !self.flags.is_private || data.rest().len() >= 8 {
            data.finish()?;
        }
        let context_engine_id = scoped.octets()?;
        let context_name = scoped.octets()?;
        let pdu = Pdu::decode(&mut scoped)?;
        scoped.finish()?;
        Ok(ScopedPdu { head: ScopedHead { context_engine_id, context_name }, pdu })
    }
}

/// Where the next octet string lies, which is at most this long.
fn place(reader: &mut BerReader<'_>, most: usize) -> Result<Range<usize>, DecodeError> {
    let content = reader.expect(tag::OCTET_STRING)?;
    let length = content.rest().len();
    match length > most {
        true => Err(content.error(DecodeCause::ValueLength(length))),
        false => Ok(content.at()..content.at() + length),
    }
}

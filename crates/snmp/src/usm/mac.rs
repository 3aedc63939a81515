//! Authentication: HMAC with a truncated digest (RFC 3414 section 6, RFC 7860).

use hmac::{Hmac, KeyInit as _, Mac as _};
use md5::Md5;
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};

/// Longest truncated digest, in bytes.
pub(crate) const MAC_BYTES_MAX: usize = 48;

/// How messages are authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AuthenticationProtocol {
    /// RFC 3414: HMAC-MD5-96.
    Md5,
    /// RFC 3414: HMAC-SHA-96.
    Sha1,
    /// RFC 7860: HMAC-SHA-224-128.
    Sha224,
    /// RFC 7860: HMAC-SHA-256-192.
    Sha256,
    /// RFC 7860: HMAC-SHA-384-256.
    Sha384,
    /// RFC 7860: HMAC-SHA-512-384.
    Sha512,
}

impl AuthenticationProtocol {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Md5, Self::Sha1, Self::Sha224, Self::Sha256, Self::Sha384, Self::Sha512];

    /// Bytes of the whole digest, and of a key.
    #[must_use]
    pub fn digest_bytes(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Sha224 => 28,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    /// Bytes of the digest in a message.
    pub(crate) fn mac_bytes(self) -> usize {
        match self {
            Self::Md5 | Self::Sha1 => 12,
            Self::Sha224 => 16,
            Self::Sha256 => 24,
            Self::Sha384 => 32,
            Self::Sha512 => 48,
        }
    }

    /// The digest of several pieces.
    pub(crate) fn digest<'a>(self, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
        fn all<'a, D: md5::Digest>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
            let mut digest = D::new();
            pieces.for_each(|piece| digest.update(piece));
            digest.finalize().to_vec()
        }
        match self {
            Self::Md5 => all::<Md5>(pieces),
            Self::Sha1 => all::<Sha1>(pieces),
            Self::Sha224 => all::<Sha224>(pieces),
            Self::Sha256 => all::<Sha256>(pieces),
            Self::Sha384 => all::<Sha384>(pieces),
            Self::Sha512 => all::<Sha512>(pieces),
        }
    }
}

/// A key whose pads are hashed: to authenticate a message is to copy and go on.
#[derive(Clone, Debug)]
pub(crate) enum MacKey {
    Md5(Hmac<Md5>),
    Sha1(Hmac<Sha1>),
    Sha224(Hmac<Sha224>),
    Sha256(Hmac<Sha256>),
    Sha384(Hmac<Sha384>),
    Sha512(Hmac<Sha512>),
}

impl MacKey {
    pub(crate) fn new(protocol: AuthenticationProtocol, key: &[u8]) -> Self {
        // HMAC takes keys of every length.
        macro_rules! keyed {
            ($hash:ident) => {
                Self::$hash(Hmac::new_from_slice(key).expect("a key of any length"))
            };
        }
        match protocol {
            AuthenticationProtocol::Md5 => keyed!(Md5),
            AuthenticationProtocol::Sha1 => keyed!(Sha1),
            AuthenticationProtocol::Sha224 => keyed!(Sha224),
            AuthenticationProtocol::Sha256 => keyed!(Sha256),
            AuthenticationProtocol::Sha384 => keyed!(Sha384),
            AuthenticationProtocol::Sha512 => keyed!(Sha512),
        }
    }

    pub(crate) fn protocol(&self) -> AuthenticationProtocol {
        match self {
            Self::Md5(_) => AuthenticationProtocol::Md5,
            Self::Sha1(_) => AuthenticationProtocol::Sha1,
            Self::Sha224(_) => AuthenticationProtocol::Sha224,
            Self::Sha256(_) => AuthenticationProtocol::Sha256,
            Self::Sha384(_) => AuthenticationProtocol::Sha384,
            Self::Sha512(_) => AuthenticationProtocol::Sha512,
        }
    }

    /// The truncated digest of several pieces, at the beginning of the array.
    pub(crate) fn sign(&self, pieces: [&[u8]; 3]) -> [u8; MAC_BYTES_MAX] {
        let mut out = [0; MAC_BYTES_MAX];
        macro_rules! signed {
            ($key:expr) => {{
                let mut mac = $key.clone();
                pieces.iter().for_each(|piece| mac.update(piece));
                let digest = mac.finalize().into_bytes();
                let length = digest.len().min(MAC_BYTES_MAX);
                out[..length].copy_from_slice(&digest[..length]);
            }};
        }
        match self {
            Self::Md5(key) => signed!(key),
            Self::Sha1(key) => signed!(key),
            Self::Sha224(key) => signed!(key),
            Self::Sha256(key) => signed!(key),
            Self::Sha384(key) => signed!(key),
            Self::Sha512(key) => signed!(key),
        }
        out
    }

    /// Whether this is the truncated digest; takes the same time for each wrong one.
    pub(crate) fn is_mac(&self, pieces: [&[u8]; 3], mac: &[u8]) -> bool {
        let right = self.sign(pieces);
        let length = self.protocol().mac_bytes();
        let differing = right[..length].iter().zip(mac).fold(0, |all, (a, b)| all | (a ^ b));
        mac.len() == length && differing == 0
    }
}

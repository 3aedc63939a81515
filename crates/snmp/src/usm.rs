//! The user-based security model: RFC 3414 (MD5, SHA-1, DES), RFC 3826 (AES-128), RFC 7860 (SHA-2),
//! and the drafts for 3DES and for longer keys of AES, which agents and MRTG's library have.
//!
//! A password is made into a key by hashing a megabyte of it: once for a password, see
//! [`KeyCache`].  The key is made into one of an engine by hashing a few bytes, and kept ready:
//! the pads of the HMAC are hashed, and the key of the cipher expanded, before any message comes.

mod cipher;
mod keys;
mod mac;
mod message;

use thiserror::Error;

pub use cipher::PrivacyProtocol;
pub use keys::{EngineKeys, KeyCache, KeyExtension};
pub use mac::AuthenticationProtocol;
pub use message::{ScopedHead, ScopedPdu, V3Flags, V3Head, V3Message};

/// Longest engine id (RFC 3411 section 5).
pub const ENGINE_ID_BYTES_MAX: usize = 32;

/// Shortest password (RFC 3414 section 11.2).
const PASSWORD_BYTES_MIN: usize = 8;

/// How a key is given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum UsmSecret {
    /// A password; keys of all engines follow from it.
    Password(Vec<u8>),
    /// The key of one engine (`authkey`, `privkey`).
    LocalizedKey(Vec<u8>),
}

/// A user, and how its messages are protected.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UsmUser {
    name: Vec<u8>,
    authentication: Option<(AuthenticationProtocol, UsmSecret)>,
    privacy: Option<(PrivacyProtocol, KeyExtension, UsmSecret)>,
    /// The engine that has the objects, if it is not the one that answers.
    pub context_engine_id: Option<Vec<u8>>,
    /// The context, empty for the usual one.
    pub context_name: Vec<u8>,
}

/// A user that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UsmUserError {
    /// Privacy without authentication.
    #[error("privacy needs authentication")]
    PrivacyAlone,
    /// RFC 3414 section 11.2: a password has at least 8 characters.
    #[error("the {0} password has less than 8 characters")]
    ShortPassword(&'static str),
    /// A key of another length than its protocol needs.
    #[error("the {what} key has {found} bytes, and needs {needed}")]
    KeyLength {
        /// Which key.
        what: &'static str,
        /// The length of the key, in bytes.
        found: usize,
        /// The bytes of a key for this protocol.
        needed: usize,
    },
    /// RFC 3414: a name has at most 32 bytes.
    #[error("the user name has more than 32 bytes")]
    LongName,
    /// RFC 3411: 5 to 32 bytes.
    #[error("an engine id has 5 to 32 bytes")]
    EngineId,
}

impl UsmUser {
    /// A user without protection.
    ///
    /// # Errors
    /// If the name is too long.
    pub fn new(name: &[u8]) -> Result<Self, UsmUserError> {
        if name.len() > 32 {
            return Err(UsmUserError::LongName);
        }
        Ok(Self {
            name: name.to_vec(),
            authentication: None,
            privacy: None,
            context_engine_id: None,
            context_name: Vec::new(),
        })
    }

    /// The user with authentication.
    ///
    /// # Errors
    /// A short password, or a key of another length than the protocol's digest.
    pub fn with_authentication(
        mut self,
        protocol: AuthenticationProtocol,
        secret: UsmSecret,
    ) -> Result<Self, UsmUserError> {
        check("authentication", &secret, protocol.digest_bytes())?;
        self.authentication = Some((protocol, secret));
        Ok(self)
    }

    /// The user with privacy.
    ///
    /// # Errors
    /// No authentication, a short password, or a key of a wrong length.
    pub fn with_privacy(
        mut self,
        protocol: PrivacyProtocol,
        extension: KeyExtension,
        secret: UsmSecret,
    ) -> Result<Self, UsmUserError> {
        if self.authentication.is_none() {
            return Err(UsmUserError::PrivacyAlone);
        }
        check("privacy", &secret, protocol.key_bytes())?;
        self.privacy = Some((protocol, extension, secret));
        Ok(self)
    }

    /// The user's name.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// What messages of this user are.
    #[must_use]
    pub fn flags(&self) -> V3Flags {
        V3Flags {
            is_authenticated: self.authentication.is_some(),
            is_private: self.privacy.is_some(),
            is_reportable: false,
        }
    }
}

fn check(what: &'static str, secret: &UsmSecret, needed: usize) -> Result<(), UsmUserError> {
    match secret {
        UsmSecret::Password(bytes) if bytes.len() < PASSWORD_BYTES_MIN => {
            Err(UsmUserError::ShortPassword(what))
        }
        UsmSecret::LocalizedKey(key) if key.len() != needed => {
            Err(UsmUserError::KeyLength { what, found: key.len(), needed })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_that_cannot_be_are_refused() {
        let password = || UsmSecret::Password(b"maplesyrup".to_vec());
        let key = |length| UsmSecret::LocalizedKey(vec![1; length]);
        let user = || UsmUser::new(b"me").unwrap();
        let md5 = AuthenticationProtocol::Md5;
        assert_eq!(UsmUser::new(&[b'x'; 33]), Err(UsmUserError::LongName));
        let short = UsmSecret::Password(b"maplesy".to_vec());
        let refused = user().with_authentication(md5, short).unwrap_err();
        assert_eq!(refused.to_string(), "the authentication password has less than 8 characters");
        let refused = user().with_authentication(md5, key(20)).unwrap_err();
        assert_eq!(refused.to_string(), "the authentication key has 20 bytes, and needs 16");
        let (des, none) = (PrivacyProtocol::Des, KeyExtension::Blumenthal);
        assert_eq!(
            user().with_privacy(des, none, password()).unwrap_err(),
            UsmUserError::PrivacyAlone
        );
        let full = user().with_authentication(md5, password()).unwrap();
        let flags = full.with_privacy(des, none, key(16)).unwrap().flags();
        assert!(flags.is_authenticated && flags.is_private && !flags.is_reportable);
    }
}

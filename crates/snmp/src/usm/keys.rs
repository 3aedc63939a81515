//! Keys from passwords: RFC 3414 section 2.6 and appendix A, and how the drafts lengthen them.

use std::collections::HashMap;

use super::cipher::{CipherKey, PrivacyProtocol};
use super::mac::{AuthenticationProtocol, MacKey};
use super::{UsmSecret, UsmUser};

/// Bytes of a repeated password that make a key (RFC 3414 appendix A.2).
const PASSWORD_BYTES: usize = 1 << 20;

/// Most passwords that are kept.  Sites have a few.
const PASSWORDS_MAX: usize = 4_096;

/// How a key becomes long enough for AES-192 and AES-256.  3DES has its own way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyExtension {
    /// draft-blumenthal-aes-usm-04: the digest of the key follows it (net-snmp, MRTG).
    #[default]
    Blumenthal,
    /// draft-reeder-snmpv3-usm-3desede-00: the key is taken as a password (Cisco).
    Reeder,
}

/// Keys of passwords: a megabyte is hashed for each once.
#[derive(Clone, Debug, Default)]
pub struct KeyCache(HashMap<(AuthenticationProtocol, Vec<u8>), Vec<u8>>);

/// The keys of a user at an engine.
#[derive(Clone, Debug, Default)]
pub struct EngineKeys {
    pub(crate) mac: Option<MacKey>,
    pub(crate) cipher: Option<CipherKey>,
}

impl KeyCache {
    /// The keys of a user at an engine.
    #[must_use]
    pub fn keys(&mut self, user: &UsmUser, engine_id: &[u8]) -> EngineKeys {
        let Some((protocol, secret)) = &user.authentication else { return EngineKeys::default() };
        let protocol = *protocol;
        let key = match secret {
            UsmSecret::LocalizedKey(key) => key.clone(),
            UsmSecret::Password(password) => self.localized(protocol, password, engine_id),
        };
        let mac = Some(MacKey::new(protocol, &key));
        let cipher = user.privacy.as_ref().and_then(|(privacy, extension, secret)| {
            let key = match secret {
                UsmSecret::LocalizedKey(key) => key.clone(),
                UsmSecret::Password(password) => {
                    self.privacy_key(protocol, password, engine_id, *privacy, *extension)
                }
            };
            CipherKey::new(*privacy, &key)
        });
        EngineKeys { mac, cipher }
    }

    fn localized(
        &mut self,
        protocol: AuthenticationProtocol,
        password: &[u8],
        engine_id: &[u8],
    ) -> Vec<u8> {
        if self.0.len() >= PASSWORDS_MAX {
            self.0.clear();
        }
        let key = self.0.entry((protocol, password.to_vec()));
        let key = key.or_insert_with(|| key_of_password(protocol, password));
        localize(protocol, key, engine_id)
    }

    /// A key that is long enough for the cipher.
    fn privacy_key(
        &mut self,
        protocol: AuthenticationProtocol,
        password: &[u8],
        engine_id: &[u8],
        privacy: PrivacyProtocol,
        extension: KeyExtension,
    ) -> Vec<u8> {
        let mut key = self.localized(protocol, password, engine_id);
        let mut last = key.clone();
        while key.len() < privacy.key_bytes() {
            if privacy == PrivacyProtocol::TripleDes || extension == KeyExtension::Reeder {
                let more = key_of_password(protocol, &last);
                last = localize(protocol, &more, engine_id);
            } else {
                last = protocol.digest(std::iter::once(key.as_slice()));
            }
            key.extend_from_slice(&last);
        }
        key
    }
}

/// Hashes a megabyte of the password, again and again.
fn key_of_password(protocol: AuthenticationProtocol, password: &[u8]) -> Vec<u8> {
    // Whole passwords in pieces that are not too short.
    let piece = password.repeat(4096 / password.len().max(1) + 1);
    let whole = PASSWORD_BYTES / piece.len().max(1);
    let rest = PASSWORD_BYTES - whole * piece.len();
    let pieces = std::iter::repeat_n(piece.as_slice(), whole);
    protocol.digest(pieces.chain(std::iter::once(&piece[..rest])))
}

/// The key of one engine.
fn localize(protocol: AuthenticationProtocol, key: &[u8], engine_id: &[u8]) -> Vec<u8> {
    protocol.digest([key, engine_id, key].into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    const ENGINE: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

    #[test]
    fn keys_are_those_of_the_standard() {
        // RFC 3414 appendix A.3.1 and A.3.2.
        let md5 = AuthenticationProtocol::Md5;
        let key = key_of_password(md5, b"maplesyrup");
        assert_eq!(hex(&key), "9faf3283884e92834ebc9847d8edd963");
        assert_eq!(hex(&localize(md5, &key, &ENGINE)), "526f5eed9fcce26f8964c2930787d82b");
        let sha1 = AuthenticationProtocol::Sha1;
        let key = key_of_password(sha1, b"maplesyrup");
        assert_eq!(hex(&key), "9fb5cc0381497b3793528939ff788d5d79145211");
        let localized = localize(sha1, &key, &ENGINE);
        assert_eq!(hex(&localized), "6695febc9288e36282235fc7151f128497b38f3f");
    }

    #[test]
    fn long_keys_are_those_of_the_drafts() {
        let mut cache = KeyCache::default();
        let mut key = |protocol, privacy, extension| {
            hex(&cache.privacy_key(protocol, b"maplesyrup", &ENGINE, privacy, extension))
        };
        // draft-reeder-snmpv3-usm-3desede-00 section B.1 and B.2.
        let (md5, sha1) = (AuthenticationProtocol::Md5, AuthenticationProtocol::Sha1);
        let triple = key(md5, PrivacyProtocol::TripleDes, KeyExtension::Blumenthal);
        assert_eq!(triple, "526f5eed9fcce26f8964c2930787d82b79eff44a90650ee0a3a40abfac5acc12");
        let triple = key(sha1, PrivacyProtocol::TripleDes, KeyExtension::Blumenthal);
        let theirs =
            "6695febc9288e36282235fc7151f128497b38f3f9b8b6d78936ba6e7d19dfd9cd2d5065547743fb5";
        assert_eq!(triple, theirs);
        assert_eq!(key(sha1, PrivacyProtocol::Aes256, KeyExtension::Reeder), theirs);
        let long = key(sha1, PrivacyProtocol::Aes256, KeyExtension::Blumenthal);
        let short = "6695febc9288e36282235fc7151f128497b38f3f";
        let bytes: Vec<u8> =
            (0..20).map(|at| u8::from_str_radix(&short[2 * at..2 * at + 2], 16).unwrap()).collect();
        assert_eq!(long, short.to_owned() + &hex(&sha1.digest(std::iter::once(bytes.as_slice()))));
    }
}

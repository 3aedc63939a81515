//! Names of the protocols of SNMP's version 3, as `SnmpOptions` and cfgmaker's options write them.

use snmp::{AuthenticationProtocol, PrivacyProtocol};

/// The protocol of a name; case does not matter.
pub(crate) fn authentication_protocol(name: &str) -> Option<AuthenticationProtocol> {
    Some(match name.to_ascii_lowercase().as_str() {
        "md5" => AuthenticationProtocol::Md5,
        "sha" | "sha1" => AuthenticationProtocol::Sha1,
        "sha224" => AuthenticationProtocol::Sha224,
        "sha256" => AuthenticationProtocol::Sha256,
        "sha384" => AuthenticationProtocol::Sha384,
        "sha512" => AuthenticationProtocol::Sha512,
        _ => return None,
    })
}

/// The protocol of a name; case does not matter.
pub(crate) fn privacy_protocol(name: &str) -> Option<PrivacyProtocol> {
    Some(match name.to_ascii_lowercase().as_str() {
        "des" => PrivacyProtocol::Des,
        "3des" | "3desede" => PrivacyProtocol::TripleDes,
        "aes" | "aes128" | "aescfb128" => PrivacyProtocol::Aes128,
        "aes192" | "aescfb192" => PrivacyProtocol::Aes192,
        "aes256" | "aescfb256" => PrivacyProtocol::Aes256,
        _ => return None,
    })
}

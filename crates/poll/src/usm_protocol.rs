//! Names of the protocols and keys of SNMP's version 3, as `SnmpOptions` and cfgmaker's options write
//! them.

use snmp::{AuthenticationProtocol, KeyExtension, PrivacyProtocol, UsmSecret, UsmUser};
use text::byte_text;
use text::encoding::hex_bytes;

use crate::device::SnmpOptions;

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

/// The bytes of a key or an engine id: pairs of hexadecimal digits, with or without `0x` before them.
pub(crate) fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    hex_bytes(text.strip_prefix("0x").unwrap_or(text))
}

/// The user of version 3.
pub(crate) fn user(options: &SnmpOptions) -> Result<UsmUser, String> {
    let name = options.user.as_deref().ok_or("version 3 needs a user name")?;
    let text = |error: snmp::UsmUserError| error.to_string();
    let mut user = UsmUser::new(&byte_text::encode(name)).map_err(text)?;
    let secret = |key: &Option<String>, password: &Option<String>| match (key, password) {
        (Some(key), _) => {
            let key = hexadecimal(key).ok_or("a key is not of hexadecimal digits")?;
            Ok(Some(UsmSecret::LocalizedKey(key)))
        }
        (None, Some(password)) => {
            Ok(Some(UsmSecret::Password(byte_text::encode(password).into_owned())))
        }
        (None, None) => Ok::<_, String>(None),
    };
    let name = options.authentication_protocol.as_deref().unwrap_or("md5");
    let authentication = authentication_protocol(name)
        .ok_or_else(|| format!("unknown authentication protocol `{name}`"))?;
    let name = options.privacy_protocol.as_deref().unwrap_or("des");
    let privacy =
        privacy_protocol(name).ok_or_else(|| format!("unknown privacy protocol `{name}`"))?;
    if let Some(found) = secret(&options.authentication_key, &options.authentication_password)? {
        user = user.with_authentication(authentication, found).map_err(text)?;
    }
    if let Some(found) = secret(&options.privacy_key, &options.privacy_password)? {
        user = user.with_privacy(privacy, KeyExtension::Blumenthal, found).map_err(text)?;
    }
    user.context_name =
        byte_text::encode(options.context_name.as_deref().unwrap_or_default()).into_owned();
    if let Some(engine_id) = &options.context_engine_id {
        let bytes = hexadecimal(engine_id).ok_or("a context engine id has hexadecimal digits")?;
        user.context_engine_id = Some(bytes);
    }
    Ok(user)
}

#[cfg(test)]
mod tests {
    use super::hexadecimal;

    #[test]
    fn keys_are_pairs_of_hexadecimal_digits() {
        assert_eq!(hexadecimal("0x00fF10"), Some(vec![0, 0xff, 0x10]));
        assert_eq!(hexadecimal("a1"), Some(vec![0xa1]));
        assert_eq!(hexadecimal(""), Some(vec![]));
        for wrong in ["a", "+a", "0xg0", "0x0x00", "ä", " a"] {
            assert_eq!(hexadecimal(wrong), None, "{wrong}");
        }
    }
}

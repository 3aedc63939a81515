//! How the device of a request is asked: its port and waits, its community or user.

use std::net::{SocketAddr, ToSocketAddrs as _};

use snmp::{DeviceSettings, KeyExtension, Security, UsmSecret, UsmUser, Version};

use super::{DeviceRequest, MakeError};
use crate::usm_protocol::{authentication_protocol, hexadecimal, privacy_protocol};

impl DeviceRequest {
    /// The settings of an SNMP session for it.  Asks the resolver for its address.
    ///
    /// # Errors
    /// If there is no address, a port or wait is no number, or the user cannot be.
    pub fn settings(&self, has_ipv6: bool) -> Result<DeviceSettings, MakeError> {
        let silent = |reason: String| self.silent(reason);
        let number = |place: usize, usual: f64| match self.snmp_option(place) {
            None => Ok(usual),
            Some(text) => text
                .parse::<f64>()
                .ok()
                .filter(|number| number.is_finite() && *number >= 0.0)
                .ok_or_else(|| silent(format!("`{text}` is no number"))),
        };
        let port = u16::try_from(number(0, 161.0)? as u64);
        let port = port.map_err(|_| silent("a port is at most 65535".to_owned()))?;
        let name = self.full_name();
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let found = (name, port).to_socket_addrs().map_err(|error| silent(error.to_string()))?;
        let mut found: Vec<SocketAddr> = found.collect();
        found.retain(|address| address.is_ipv4() || has_ipv6 || self.host.starts_with('['));
        let address = found.first().ok_or_else(|| silent("it has no address".to_owned()))?;
        let mut settings = DeviceSettings::new(*address, self.security()?);
        settings.timeout_ns = (number(1, 2.0)? * 1e9) as u64;
        settings.tries = (number(2, 5.0)? as u32).max(1);
        settings.backoff = number(3, 1.0)?;
        Ok(settings)
    }

    fn security(&self) -> Result<Security, MakeError> {
        let version = match self.snmp_option(4) {
            None | Some("1") => Version::V1,
            Some("2" | "2c") => Version::V2c,
            Some("3") => return self.user().map(Security::User),
            Some(other) => {
                let reason = format!("there is no version {other} of SNMP");
                return Err(self.silent(reason));
            }
        };
        Ok(Security::Community { version, community: self.community.clone().into_bytes() })
    }

    /// The user of version 3.
    fn user(&self) -> Result<UsmUser, MakeError> {
        let value = |key: &str| {
            self.security.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
        };
        let refused = |option: &'static str, reason: &str| MakeError::Option {
            option,
            reason: reason.to_owned(),
        };
        let name =
            value("username").ok_or_else(|| refused("username", "version 3 needs a user"))?;
        let wrong = |error: snmp::UsmUserError| refused("username", &error.to_string());
        let mut user = UsmUser::new(name.as_bytes()).map_err(wrong)?;
        let secret = |key: &'static str, password: &str| match (value(key), value(password)) {
            (Some(_), Some(_)) => Err(refused(key, "give a key or a password, not both")),
            (Some(key_text), None) => {
                let bytes = hexadecimal(key_text)
                    .ok_or_else(|| refused(key, "wants hexadecimal digits"))?;
                Ok(Some(UsmSecret::LocalizedKey(bytes)))
            }
            (None, Some(password)) => Ok(Some(UsmSecret::Password(password.as_bytes().to_vec()))),
            (None, None) => Ok(None),
        };
        if let Some(secret) = secret("authkey", "authpassword")? {
            let protocol = authentication_protocol(value("authprotocol").unwrap_or("md5"))
                .ok_or_else(|| refused("authprotocol", "md5, sha, sha224 to sha512 are known"))?;
            user = user.with_authentication(protocol, secret).map_err(wrong)?;
        }
        if let Some(secret) = secret("privkey", "privpassword")? {
            let protocol =
                privacy_protocol(value("privprotocol").unwrap_or("des")).ok_or_else(|| {
                    refused("privprotocol", "des, 3des, aes, aes192, aes256 are known")
                })?;
            user = user.with_privacy(protocol, KeyExtension::default(), secret).map_err(wrong)?;
        }
        if let Some(engine) = value("contextengineid") {
            let bytes = hexadecimal(engine)
                .ok_or_else(|| refused("contextengineid", "wants hexadecimal digits"))?;
            user.context_engine_id = Some(bytes);
        }
        user.context_name = value("contextname").unwrap_or_default().as_bytes().to_vec();
        Ok(user)
    }
}

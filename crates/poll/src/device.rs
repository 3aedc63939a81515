//! Devices: where queries are sent, with which version, community and user.

/// The version of SNMP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SnmpVersion {
    /// Version 1: no 64-bit counters, no GETBULK.
    #[default]
    V1,
    /// Version 2c.
    V2c,
    /// Version 3, with a user (`SnmpOptions`).
    V3,
}

/// One agent, and how to talk to it.  Two targets of the same device share one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Device {
    /// A host name, an IPv4 address, or an IPv6 address without brackets.
    pub host: String,
    /// The UDP port; 161 unless given.
    pub port: u16,
    /// The local address to send from.
    pub local_address: Option<String>,
    /// The local port to send from.
    pub local_port: Option<u16>,
    /// The community, raw bytes as the file has them.
    pub community: String,
    /// How long to wait for the first answer, in seconds; 2.0 unless given.
    pub timeout_s: f64,
    /// How often a request is sent in all; 5 unless given.
    pub retries: u32,
    /// The factor of the wait after each try; 1.0 unless given.
    pub backoff: f64,
    /// The version.
    pub version: SnmpVersion,
    /// Whether IPv6 is not tried.
    pub is_ipv4_only: bool,
    /// What `SnmpOptions` says for it.
    pub options: SnmpOptions,
    /// `host:options` as written, for messages: a community has no place in them.
    pub text: String,
}

impl Device {
    /// `community@host:options` as written, for the interface cache.
    #[must_use]
    pub fn cache_name(&self) -> String {
        format!("{}@{}", self.community, self.text)
    }
}

/// `SnmpOptions:` and `SnmpOptions[…]:`, typed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SnmpOptions {
    /// Overrides the time-out of the target's definition, in seconds.
    pub timeout_s: Option<f64>,
    /// Overrides the number of tries.
    pub retries: Option<u32>,
    /// Overrides the factor of the wait.
    pub backoff: Option<f64>,
    /// `max-repetitions` of GETBULK.
    pub max_repetitions: Option<u32>,
    /// Whether request ids are of 16 bits, for agents that truncate them.
    pub has_16_bit_request_ids: bool,
    /// Whether an answer may come from another port; MRTG's default is yes.
    pub is_source_port_lenient: Option<bool>,
    /// Whether an answer may come from another address; MRTG's default is no.
    pub is_source_address_lenient: Option<bool>,
    /// The user of version 3.
    pub user: Option<String>,
    /// The context's name.
    pub context_name: Option<String>,
    /// The context's engine id, as hexadecimal digits.
    pub context_engine_id: Option<String>,
    /// The authentication key, as hexadecimal digits.
    pub authentication_key: Option<String>,
    /// The authentication password.
    pub authentication_password: Option<String>,
    /// `md5`, `sha`, `sha224` … `sha512`, in lower case.
    pub authentication_protocol: Option<String>,
    /// The privacy key, as hexadecimal digits.
    pub privacy_key: Option<String>,
    /// The privacy password.
    pub privacy_password: Option<String>,
    /// `des`, `3desede`, `aes`, `aescfb128`, `aescfb192`, `aescfb256`, in lower case.
    pub privacy_protocol: Option<String>,
    /// Keys that no part of polling uses, in the order of the file.
    pub others: Vec<(String, String)>,
}

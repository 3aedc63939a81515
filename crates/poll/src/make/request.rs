//! What is asked for: devices, and the options that hold for each.

use super::MakeError;
use crate::problem::without_communities;
use crate::script::Script;

/// Options that hold for the devices after them.
#[derive(Debug, Clone, Default)]
pub struct MakeRules {
    /// `--ifref`: by what a target names its interface; several with commas between.
    pub interface_reference: Option<String>,
    /// `--ifdesc`: what describes it in titles.
    pub interface_description: Option<String>,
    /// `--if-filter`.
    pub filter: Option<Script>,
    /// `--if-template`.
    pub template: Option<Script>,
    /// `--host-template`.
    pub host_template: Option<Script>,
    /// `--no-down`: the state of an interface does not matter.
    pub ignores_state: bool,
    /// `--show-op-down`: only the administrative state matters.
    pub ignores_operational_state: bool,
    /// `--zero-speed`: bits per second of an interface that says 0.
    pub zero_speed: Option<u64>,
    /// `--subdirs`: the folder of each target, with `HOSTNAME` and `SNMPNAME` replaced.
    pub subfolders: Option<String>,
    /// `--noreversedns`: addresses are not looked up.
    pub is_without_names: bool,
    /// `--nointerfaces`: only the host template.
    pub is_without_interfaces: bool,
    /// Whether global options say `bits`.
    pub is_bits: bool,
}

/// A device of the command line: `[COMMUNITY@]HOST[:PORT[:TIMEOUT[:RETRIES[:BACKOFF[:VERSION]]]]]`.
#[derive(Debug, Clone)]
pub struct DeviceRequest {
    /// As written.
    pub text: String,
    /// The community.
    pub community: String,
    /// Name or address; IPv6 in brackets.
    pub host: String,
    /// `:PORT:TIMEOUT:…`, merged with `--snmp-options`; at least `:`.
    pub snmp_options: String,
    /// `--dns-domain`; may be empty.
    pub domain: String,
    /// Keys and values of `SnmpOptions`, for version 3.
    pub security: Vec<(String, String)>,
    /// Global lines that come before this device.
    pub global_lines: Vec<String>,
    /// Options.
    pub rules: MakeRules,
}

impl DeviceRequest {
    /// Takes a word of the command line apart.
    #[must_use]
    pub fn new(text: &str, community: &str, snmp_options: Option<&str>, domain: &str) -> Self {
        let (community, rest) = match text.rsplit_once('@') {
            Some((own, rest)) if !own.is_empty() && !rest.is_empty() => (own, rest),
            _ => (community, text),
        };
        let (host, own) = match rest.starts_with('[').then(|| rest.find(']')).flatten() {
            Some(at) => (&rest[..=at], rest[at + 1..].strip_prefix(':').unwrap_or_default()),
            None => rest.split_once(':').unwrap_or((rest, "")),
        };
        let host = host.strip_suffix('.').unwrap_or(host);
        DeviceRequest {
            text: text.to_owned(),
            community: community.to_owned(),
            host: host.to_owned(),
            snmp_options: format!(":{}", merged(own, snmp_options)),
            domain: domain.to_owned(),
            security: Vec::new(),
            global_lines: Vec::new(),
            rules: MakeRules::default(),
        }
    }

    /// The host with its domain.
    #[must_use]
    pub fn full_name(&self) -> String {
        match self.domain.is_empty() {
            true => self.host.clone(),
            false => format!("{}.{}", self.host, self.domain),
        }
    }

    /// The device as written, without its community, for messages.
    #[must_use]
    pub fn shown(&self) -> String {
        without_communities(&self.text)
    }

    /// An error of this device.
    pub(super) fn silent(&self, reason: String) -> MakeError {
        MakeError::Silent { device: self.shown(), reason }
    }

    /// A part of the SNMP options: 0 for the port, 4 for the version.
    #[must_use]
    pub fn snmp_option(&self, number: usize) -> Option<&str> {
        self.snmp_options.split(':').nth(number + 1).filter(|part| !part.is_empty())
    }

    /// Whether 64-bit counters can be asked for.
    #[must_use]
    pub fn has_version_2(&self) -> bool {
        self.snmp_option(4).is_some_and(|version| version.starts_with(['2', '3']))
    }

    /// `community@host:options`, as a target names the device.
    pub(super) fn connection(&self) -> String {
        let community = self.community.replace('@', "\\@").replace(' ', "\\ ");
        format!("{community}@{}{}", self.host, self.snmp_options)
    }
}

/// A device's own options, and others where it has none.  Perl drops empty ends of a list.
fn merged(own: &str, others: Option<&str>) -> String {
    let list = |text: &str| -> Vec<String> {
        let text = text.trim_end_matches(':');
        match text.is_empty() {
            true => Vec::new(),
            false => text.split(':').map(str::to_owned).collect(),
        }
    };
    let own = list(own);
    let Some(others) = others else { return own.join(":") };
    // The first of the others is what stands before the first colon.
    let others: Vec<String> = list(others).into_iter().skip(1).collect();
    let parts = (0..own.len().max(others.len())).map(|number| {
        let part = |all: &[String]| all.get(number).cloned().unwrap_or_default();
        let first = part(&own);
        if first.is_empty() { part(&others) } else { first }
    });
    parts.collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_taken_apart() {
        let request = |text: &str, options: Option<&str>| {
            let request = DeviceRequest::new(text, "public", options, "");
            (request.community, request.host, request.snmp_options)
        };
        let expect = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(request("router.", None), expect("public", "router", ":"));
        assert_eq!(request("a@b@router:161::::2", None), expect("a@b", "router", ":161::::2"));
        assert_eq!(request("c@[::1]:7", None), expect("c", "[::1]", ":7"));
        assert_eq!(request("router", Some(":::::2")), expect("public", "router", ":::::2"));
        assert_eq!(request("router:7", Some(":161:5")), expect("public", "router", ":7:5"));
        assert!(DeviceRequest::new("r", "p", Some(":::::2"), "").has_version_2());
        assert!(!DeviceRequest::new("r", "p", None, "").has_version_2());
    }
}

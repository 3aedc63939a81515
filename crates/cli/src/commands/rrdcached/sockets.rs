//! Sockets: addresses as rrdcached takes them, socket files with group and mode, sockets that
//! systemd has opened.

use anyhow::{Context as _, bail};
use connection::{
    Address, AddressError, AddressRules, ListeningSocket, ServerTls, SocketFileRights,
};
use rrdcached::protocol::Permissions;
use rrdcached::{Acknowledge, Listener};

/// What the clients of a socket may do, and who they may be.
#[derive(Debug, Clone)]
pub(super) struct Rights {
    permissions: Permissions,
    acknowledge: Acknowledge,
    file: SocketFileRights,
}

impl Default for Rights {
    fn default() -> Self {
        let permissions = Permissions::ALL;
        Self { permissions, acknowledge: Acknowledge::default(), file: SocketFileRights::default() }
    }
}

impl Rights {
    /// Takes an option; says what is wrong with it.
    pub(super) fn set(&mut self, option: &str, value: &str) -> Result<(), String> {
        match option {
            "permit" => self.permissions = super::permissions(value)?,
            "acknowledge" => self.acknowledge = super::acknowledge(value),
            "socket_group" => {
                let groups = std::fs::read_to_string("/etc/group").unwrap_or_default();
                let group = crate::daemon::id(value, &groups);
                self.file.group =
                    Some(group.ok_or_else(|| format!("-s: there is no group '{value}'"))?);
            }
            _ => {
                let mode = u32::from_str_radix(value, 8).ok().filter(|mode| *mode <= 0o7777);
                let mode = mode.ok_or_else(|| format!("-m: '{value}' is no mode in octal"))?;
                self.file.mode = Some(mode);
            }
        }
        Ok(())
    }

    fn listener(&self, socket: ListeningSocket, tls: Option<&ServerTls>) -> Listener {
        let Self { permissions, acknowledge, .. } = *self;
        let tls = tls.cloned();
        Listener { socket, permissions, acknowledge, tls }
    }
}

/// How addresses are written, as rrdcached takes them.
const RULES: AddressRules = AddressRules {
    default_port: Some(42217),
    is_path: |text| text.starts_with('/'),
    // Several colons are an address of IPv6 without a port.
    is_host: |host| !host.contains(':'),
};

/// Reads the address of a `-l`.
pub(super) fn parse(text: &str) -> anyhow::Result<Address> {
    match Address::parse(text, &RULES) {
        Ok(Address::Unix(path)) => Ok(Address::Unix(std::path::absolute(path)?)),
        Err(AddressError::EncryptedFile) => {
            bail!("-l {text}: {}: give it a group or a mode (-s, -m)", AddressError::EncryptedFile)
        }
        parsed => parsed.with_context(|| format!("-l {text}")),
    }
}

/// `tls`, if the address asks for it.
fn secured<'a>(
    address: &Address,
    tls: Option<&'a ServerTls>,
) -> anyhow::Result<Option<&'a ServerTls>> {
    match address.is_encrypted() {
        false => Ok(None),
        true => tls.map(Some).context("an address with tls: needs --tls-cert and --tls-key"),
    }
}

/// Opens the sockets of an address.
pub(super) fn listen(
    address: &Address,
    rights: &Rights,
    tls: Option<&ServerTls>,
) -> anyhow::Result<Vec<Listener>> {
    let tls = secured(address, tls)?;
    let sockets = match address {
        Address::Unix(path) => {
            let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
            let socket = made.and_then(|()| ListeningSocket::bind_unix(path, &rights.file));
            vec![socket.with_context(|| format!("cannot listen at {}", path.display()))?]
        }
        Address::Network { host, port, .. } => ListeningSocket::bind_host(host, *port)
            .with_context(|| format!("cannot listen at [{host}]:{port}"))?,
    };
    Ok(sockets.into_iter().map(|socket| rights.listener(socket, tls)).collect())
}

/// Sockets that systemd has opened for this process.  One whose address is that of a `-l` has the
/// rights of that `-l`, and is encrypted as it says; the others have those that were given last.
pub(super) fn activated(
    sockets: &[(String, Rights)],
    last: &Rights,
    tls: Option<&ServerTls>,
) -> anyhow::Result<Vec<Listener>> {
    let mut listeners = Vec::new();
    let given = watch::given_sockets(&|name| std::env::var(name).ok()).context("LISTEN_FDS")?;
    for (descriptor, (socket, address)) in (3..).zip(given) {
        let mut places =
            sockets.iter().filter_map(|(text, rights)| Some((parse(text).ok()?, rights)));
        let named = places.find(|(named, _)| Some(plain(named)) == address);
        let (tls, rights) = match named {
            Some((named, rights)) => (secured(&named, tls)?, rights),
            // What is meant to be encrypted must not be plain because of another spelling.
            _ => match address {
                Some(Address::Network { host, port, .. }) if tls.is_some() => bail!(
                    "descriptor {descriptor} of LISTEN_FDS, [{host}]:{port}, is named by no -l: say \
                     there whether it is encrypted"
                ),
                _ => (None, last),
            },
        };
        listeners.push(rights.listener(socket, tls));
    }
    Ok(listeners)
}

/// The address without encryption, of which a socket knows nothing.
fn plain(address: &Address) -> Address {
    match address.clone() {
        Address::Network { host, port, .. } => Address::Network { host, port, is_encrypted: false },
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_by_rrdcached() {
        const PORT: u16 = 42217;
        let file = |path: &str| Address::Unix(path.into());
        let network = |host: &str, port| Address::Network {
            host: host.to_owned(),
            port,
            is_encrypted: false,
        };
        let cases = [
            ("unix:/run/a.sock", file("/run/a.sock")),
            ("/run/a.sock", file("/run/a.sock")),
            ("localhost", network("localhost", PORT)),
            ("localhost:99", network("localhost", 99)),
            ("[localhost]:99", network("localhost", 99)),
            ("*", network("*", PORT)),
            ("*:99", network("*", 99)),
            ("[*]:99", network("*", 99)),
            ("127.0.0.1:99", network("127.0.0.1", 99)),
            ("::1", network("::1", PORT)),
            ("[::1]", network("::1", PORT)),
            ("[::1]:99", network("::1", 99)),
            (":99", network("", 99)),
            ("", network("", PORT)),
        ];
        for (text, address) in cases {
            assert_eq!(parse(text).expect(text), address, "{text}");
        }
        for text in ["unix:", "[::1", "[::1]x", "127.0.0.1:x", ":99999", "localhost:"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}

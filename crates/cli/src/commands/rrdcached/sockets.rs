//! Sockets: addresses as rrdcached takes them, socket files with group and mode, sockets that
//! systemd has opened.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs as _};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use connection::ServerTls;
use rrdcached::protocol::Permissions;
use rrdcached::{Acknowledge, Listener, Purpose, Socket};
use rustix::net::{AddressFamily, SocketType, sockopt};

/// The port of rrdcached.
const PORT: u16 = 42217;
/// Connections that wait to be accepted.
const BACKLOG: i32 = 128;
/// The first descriptor that systemd gives.
const FIRST_GIVEN: i32 = 3;
/// Most descriptors that are taken from systemd.
const GIVEN_MAX: i32 = 64;

/// What the clients of a socket may do, and who they may be.
#[derive(Debug, Clone)]
pub(super) struct Rights {
    permissions: Permissions,
    acknowledge: Acknowledge,
    group: Option<u32>,
    mode: Option<u32>,
}

impl Default for Rights {
    fn default() -> Self {
        let permissions = Permissions::ALL;
        Self { permissions, acknowledge: Acknowledge::default(), group: None, mode: None }
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
                let group = group(value, &groups);
                self.group = Some(group.ok_or_else(|| format!("-s: there is no group '{value}'"))?);
            }
            _ => {
                let mode = u32::from_str_radix(value, 8).ok().filter(|mode| *mode <= 0o7777);
                let mode = mode.ok_or_else(|| format!("-m: '{value}' is no mode in octal"))?;
                self.mode = Some(mode);
            }
        }
        Ok(())
    }

    fn listener(&self, socket: Socket, tls: Option<&ServerTls>) -> Listener {
        let Self { permissions, acknowledge, .. } = *self;
        let tls = tls.cloned();
        Listener { socket, purpose: Purpose::Commands, permissions, acknowledge, tls }
    }
}

fn group(name: &str, groups: &str) -> Option<u32> {
    if let Ok(number) = name.parse() {
        return Some(number);
    }
    let line = groups.lines().find(|line| line.split(':').next() == Some(name))?;
    line.split(':').nth(2)?.parse().ok()
}

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    File(PathBuf),
    /// A host, all interfaces if it is empty.
    Network(String, u16),
}

impl Address {
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        if let Some(path) = text.strip_prefix("unix:") {
            ensure!(!path.is_empty(), "-l {text}: a socket file needs a name");
            return Ok(Self::File(std::path::absolute(path)?));
        }
        if text.starts_with('/') {
            return Ok(Self::File(text.into()));
        }
        let port =
            |port: &str| port.parse().with_context(|| format!("-l {text}: '{port}' is no port"));
        if let Some(rest) = text.strip_prefix('[') {
            let (host, rest) =
                rest.split_once(']').with_context(|| format!("-l {text}: a ] is missing"))?;
            return match rest.strip_prefix(':') {
                Some(number) => Ok(Self::Network(host.to_owned(), port(number)?)),
                None if rest.is_empty() => Ok(Self::Network(host.to_owned(), PORT)),
                None => bail!("-l {text}: '{rest}' follows the address"),
            };
        }
        // A name without a dot may be an IPv6 address, whose colons mean something else.
        match text.rsplit_once(':') {
            Some((host, number)) if host.is_empty() || host.contains('.') => {
                Ok(Self::Network(host.to_owned(), port(number)?))
            }
            _ => Ok(Self::Network(text.to_owned(), PORT)),
        }
    }
}

/// An address, and whether it is encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    address: Address,
    is_encrypted: bool,
}

impl Place {
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let Some(rest) = text.strip_prefix("tls:") else {
            return Ok(Self { address: Address::parse(text)?, is_encrypted: false });
        };
        let address = Address::parse(rest)?;
        ensure!(
            matches!(address, Address::Network(..)),
            "-l {text}: a socket file is not encrypted: give it a group or a mode (-s, -m)"
        );
        Ok(Self { address, is_encrypted: true })
    }

    /// `tls`, if the place asks for it.
    fn secured<'a>(&self, tls: Option<&'a ServerTls>) -> anyhow::Result<Option<&'a ServerTls>> {
        match self.is_encrypted {
            false => Ok(None),
            true => tls.map(Some).context("an address with tls: needs --tls-cert and --tls-key"),
        }
    }

    /// Opens the sockets of the address.
    pub(super) fn listen(
        &self,
        rights: &Rights,
        tls: Option<&ServerTls>,
    ) -> anyhow::Result<Vec<Listener>> {
        let tls = self.secured(tls)?;
        match &self.address {
            Address::File(path) => {
                let socket = listen_at(path, rights)
                    .with_context(|| format!("cannot listen at {}", path.display()))?;
                Ok(vec![rights.listener(Socket::Unix(socket, Some(path.clone())), None)])
            }
            Address::Network(host, port) => {
                let failed = || format!("cannot listen at [{host}]:{port}");
                let addresses: Vec<SocketAddr> = match host.as_str() {
                    "" => vec![
                        (IpAddr::V4(Ipv4Addr::UNSPECIFIED), *port).into(),
                        (IpAddr::V6(Ipv6Addr::UNSPECIFIED), *port).into(),
                    ],
                    host => (host, *port).to_socket_addrs().with_context(failed)?.collect(),
                };
                let opened: Vec<_> = addresses.iter().map(listen_on).collect();
                // A machine without IPv6 has the other.
                if opened.iter().all(Result::is_err) {
                    opened.into_iter().next().context("no address")?.with_context(failed)?;
                    bail!("no address");
                }
                let sockets = opened.into_iter().flatten();
                Ok(sockets.map(|socket| rights.listener(Socket::Tcp(socket), tls)).collect())
            }
        }
    }
}

fn listen_at(path: &Path, rights: &Rights) -> anyhow::Result<UnixListener> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    if std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket()) {
        ensure!(UnixStream::connect(path).is_err(), "another process listens there");
        std::fs::remove_file(path)?;
    }
    let socket = UnixListener::bind(path)?;
    if let Some(group) = rights.group {
        std::os::unix::fs::chown(path, None, Some(group)).context("cannot set its group")?;
    }
    let mode = rights.mode.or(rights.group.map(|_| 0o760));
    if let Some(mode) = mode {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path, permissions).context("cannot set its mode")?;
    }
    Ok(socket)
}

fn listen_on(address: &SocketAddr) -> std::io::Result<TcpListener> {
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let flags = rustix::net::SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    rustix::net::bind(&socket, address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

/// Sockets that systemd has opened for this process.  One whose address is that of a `-l` has the
/// rights of that `-l`, and is encrypted as it says; the others have those that were given last.
pub(super) fn activated(
    sockets: &[(String, Rights)],
    last: &Rights,
    tls: Option<&ServerTls>,
) -> anyhow::Result<Vec<Listener>> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<i32>().ok();
    let own = i32::try_from(std::process::id()).ok();
    let (Some(pid), Some(count)) = (number("LISTEN_PID"), number("LISTEN_FDS")) else {
        return Ok(Vec::new());
    };
    if Some(pid) != own {
        return Ok(Vec::new());
    }
    let mut listeners = Vec::new();
    for descriptor in FIRST_GIVEN..FIRST_GIVEN + count.clamp(0, GIVEN_MAX) {
        // SAFETY: systemd has opened these descriptors for this process, as the process id says,
        // and nothing else here knows of them.
        let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
        rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)
            .with_context(|| format!("descriptor {descriptor} of LISTEN_FDS is not open"))?;
        let (socket, address) = given(socket)
            .with_context(|| format!("descriptor {descriptor} of LISTEN_FDS is no socket"))?;
        let mut places = sockets.iter().map(|(text, rights)| (Place::parse(text).ok(), rights));
        let named = places.find(|(place, _)| {
            address.is_some() && place.as_ref().map(|place| &place.address) == address.as_ref()
        });
        let (tls, rights) = match named {
            Some((Some(place), rights)) => (place.secured(tls)?, rights),
            // What is meant to be encrypted must not be plain because of another spelling.
            _ => match address {
                Some(Address::Network(host, port)) if tls.is_some() => bail!(
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

/// A socket that was opened elsewhere, and its address.
fn given(socket: OwnedFd) -> anyhow::Result<(Socket, Option<Address>)> {
    if sockopt::socket_domain(&socket)? == AddressFamily::UNIX {
        let socket = UnixListener::from(socket);
        let path = socket.local_addr()?.as_pathname().map(Path::to_owned);
        return Ok((Socket::Unix(socket, None), path.map(Address::File)));
    }
    let socket = TcpListener::from(socket);
    let address = socket.local_addr()?;
    let host = match address.ip() {
        ip if ip.is_unspecified() => String::new(),
        ip => ip.to_string(),
    };
    Ok((Socket::Tcp(socket), Some(Address::Network(host, address.port()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_by_rrdcached() {
        let file = |path: &str| Address::File(path.into());
        let network = |host: &str, port| Address::Network(host.to_owned(), port);
        let cases = [
            ("unix:/run/a.sock", file("/run/a.sock")),
            ("/run/a.sock", file("/run/a.sock")),
            ("localhost", network("localhost", PORT)),
            ("[localhost]:99", network("localhost", 99)),
            ("127.0.0.1:99", network("127.0.0.1", 99)),
            ("::1", network("::1", PORT)),
            ("[::1]", network("::1", PORT)),
            ("[::1]:99", network("::1", 99)),
            (":99", network("", 99)),
            ("", network("", PORT)),
        ];
        for (text, address) in cases {
            assert_eq!(Address::parse(text).expect(text), address, "{text}");
        }
        for text in ["unix:", "[::1", "[::1]x", "127.0.0.1:x", ":99999"] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}

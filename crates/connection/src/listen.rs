//! Listening: on socket files, which are replaced if their server has ended, and on ports.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use crate::address::Address;
use crate::connect::{connect_unix, resolve};
use crate::files::ServerTls;
use crate::stream::SocketStream;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 128;

/// A socket that listens.
#[derive(Debug)]
pub enum ListeningSocket {
    /// On a socket file.  The path is that of a file which the server removes at its end.
    Unix(UnixListener, Option<PathBuf>),
    /// On a port.
    Tcp(TcpListener),
}

/// The users who may connect to a socket file; `None` is as the process makes files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SocketFileRights {
    /// The number of the group that the file belongs to.
    pub group: Option<u32>,
    /// The permissions of the file.
    pub mode: Option<u32>,
}

/// The other end of a connection that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    /// A user of this machine, by number.
    User(u32),
    /// An address of a network.
    Network(SocketAddr),
}

impl Peer {
    /// Whether connections of both count together: the port does not matter.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::User(one), Self::User(other)) => one == other,
            (Self::Network(one), Self::Network(other)) => one.ip() == other.ip(),
            _ => false,
        }
    }
}

impl std::fmt::Display for Peer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::User(number) => write!(out, "user {number}"),
            Self::Network(address) => write!(out, "{address}"),
        }
    }
}

impl ListeningSocket {
    /// Listens on a socket file.  A file that nobody listens on any more is replaced.
    ///
    /// # Errors
    /// If another process listens there, or the file cannot be made or given its rights.
    pub fn bind_unix(path: &Path, rights: &SocketFileRights) -> io::Result<Self> {
        if path.symlink_metadata().is_ok_and(|data| data.file_type().is_socket()) {
            match connect_unix(path) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    std::fs::remove_file(path)?;
                }
                Err(error) if error.kind() != io::ErrorKind::TimedOut => {}
                _ => {
                    let what = "another process listens there";
                    return Err(io::Error::new(io::ErrorKind::AddrInUse, what));
                }
            }
        }
        let socket = UnixListener::bind(path)?;
        let refused = |what: &str, error: io::Error| {
            io::Error::new(error.kind(), format!("cannot set its {what}: {error}"))
        };
        if let Some(group) = rights.group {
            std::os::unix::fs::chown(path, None, Some(group))
                .map_err(|error| refused("group", error))?;
        }
        if let Some(mode) = rights.mode.or(rights.group.map(|_| 0o760)) {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
                .map_err(|error| refused("mode", error))?;
        }
        Ok(Self::Unix(socket, Some(path.to_owned())))
    }

    /// Listens on all addresses of a host; without a name, on all of this machine, and by the name `*`
    /// on those that only this machine reaches, as glibc's resolver reads it.  One that cannot be had
    /// is left out if there is another: a machine may have no IPv6.
    ///
    /// # Errors
    /// If the name is not known, or none of its addresses can be had.
    pub fn bind_host(host: &str, port: u16) -> io::Result<Vec<Self>> {
        let both = |ips: [IpAddr; 2]| ips.map(|ip| (ip, port).into()).to_vec();
        let addresses: Vec<SocketAddr> = match host {
            "" => both([Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()]),
            "*" => both([Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]),
            host => resolve(host, port)?.collect(),
        };
        let (mut sockets, mut refused) = (Vec::new(), None);
        for address in addresses {
            match bind(&address) {
                Ok(socket) => sockets.push(Self::Tcp(socket)),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        match (sockets.is_empty(), refused) {
            (false, _) => Ok(sockets),
            (true, Some(error)) => Err(error),
            (true, None) => Err(io::Error::new(io::ErrorKind::NotFound, "no address")),
        }
    }

    /// Takes the next client.
    ///
    /// # Errors
    /// If none waits any more, or the system has no descriptor for it.
    pub fn accept(&self) -> io::Result<(SocketStream, Peer)> {
        match self {
            Self::Unix(socket, _) => {
                let (stream, _) = socket.accept()?;
                let peer = Peer::User(sockopt::socket_peercred(&stream)?.uid.as_raw());
                Ok((SocketStream::unix(stream), peer))
            }
            Self::Tcp(socket) => {
                let (stream, address) = socket.accept()?;
                Ok((SocketStream::tcp(stream), Peer::Network(address)))
            }
        }
    }

    /// The port; `None` for a socket file.
    ///
    /// # Errors
    /// If the system does not say it.
    pub fn port(&self) -> io::Result<Option<u16>> {
        match self {
            Self::Unix(..) => Ok(None),
            Self::Tcp(socket) => socket.local_addr().map(|address| Some(address.port())),
        }
    }
}

fn bind(address: &SocketAddr) -> io::Result<TcpListener> {
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let socket = rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    rustix::net::bind(&socket, address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

impl AsFd for ListeningSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(socket, _) => socket.as_fd(),
            Self::Tcp(socket) => socket.as_fd(),
        }
    }
}

/// A socket that listens, and how its clients are answered.
#[derive(Debug)]
pub struct ServerListener {
    /// The socket.
    pub socket: ListeningSocket,
    /// What a server shows whose connections are encrypted.
    pub tls: Option<ServerTls>,
}

impl Address {
    /// Listens.  A socket file that nobody listens on any more is replaced; of a name's addresses the
    /// first is taken that can be had.  `tls` is for addresses that are encrypted.
    ///
    /// # Errors
    /// If the address is in use or cannot be had, or there is no certificate for it.
    pub fn listen(&self, tls: Option<&ServerTls>) -> io::Result<ServerListener> {
        match self {
            Self::Unix(path) => {
                let socket = ListeningSocket::bind_unix(path, &SocketFileRights::default())?;
                Ok(ServerListener { socket, tls: None })
            }
            Self::Network { is_encrypted: true, .. } if tls.is_none() => {
                let what = "an address with tls: needs a certificate and its key";
                Err(io::Error::new(io::ErrorKind::InvalidInput, what))
            }
            Self::Network { host, port, is_encrypted } => {
                let socket = ListeningSocket::Tcp(TcpListener::bind((host.as_str(), *port))?);
                Ok(ServerListener { socket, tls: tls.filter(|_| *is_encrypted).cloned() })
            }
        }
    }
}

impl SocketStream {
    /// Answers TLS's handshake, if `tls` asks for it and the client comes from a network.  A client that
    /// fails has a moment to read why.
    ///
    /// # Errors
    /// If the handshake is not ended in time, or the client's certificate is refused.
    pub fn secured(self, tls: Option<&ServerTls>, timeout: Duration) -> io::Result<Self> {
        match tls {
            Some(tls) if self.is_tcp() => {
                let plain = self.clone();
                // The client learns why, which a reset would take from it.
                self.answer_tls(tls, timeout).inspect_err(|_| plain.linger())
            }
            _ => Ok(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_file_is_replaced_only_if_nobody_listens() {
        let folder = tempfile::tempdir().unwrap();
        let (path, rights) = (folder.path().join("s"), SocketFileRights::default());
        let first = ListeningSocket::bind_unix(&path, &rights).unwrap();
        let refused = ListeningSocket::bind_unix(&path, &rights).unwrap_err();
        assert_eq!(refused.to_string(), "another process listens there");
        drop(first);
        let mode = SocketFileRights { mode: Some(0o600), ..rights };
        let _second = ListeningSocket::bind_unix(&path, &mode).unwrap();
        let data = path.symlink_metadata().unwrap();
        assert_eq!(data.permissions().mode() & 0o777, 0o600);
        std::fs::write(folder.path().join("file"), "").unwrap();
        let refused = ListeningSocket::bind_unix(&folder.path().join("file"), &rights);
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::AddrInUse, "no socket");
    }

    #[test]
    fn a_host_without_a_name_is_this_machine() {
        let sockets = ListeningSocket::bind_host("", 0).unwrap();
        assert!(matches!(sockets[0].port(), Ok(Some(1..))));
        let ips = |host| {
            let sockets = ListeningSocket::bind_host(host, 0).unwrap();
            let ips = sockets.iter().map(|socket| match socket {
                ListeningSocket::Tcp(socket) => socket.local_addr().unwrap().ip(),
                ListeningSocket::Unix(..) => panic!("a socket file"),
            });
            ips.collect::<Vec<IpAddr>>()
        };
        assert!(ips("").contains(&Ipv4Addr::UNSPECIFIED.into()));
        assert!(ips("*").contains(&Ipv4Addr::LOCALHOST.into()));
        assert!(ips("*").iter().all(IpAddr::is_loopback));
        let (port, _second) = (sockets[0].port().unwrap().unwrap(), sockets);
        let stream = crate::connect_tcp(resolve("127.0.0.1", port).unwrap(), None);
        assert!(stream.is_ok());
    }
}

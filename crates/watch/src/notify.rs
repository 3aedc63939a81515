//! What the service tells the service manager: systemd's protocol, sd_notify(3).

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The service manager, if one has started this process.
#[derive(Debug, Default)]
pub struct ServiceManager {
    socket: Option<UnixDatagram>,
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// The manager at an address (`NOTIFY_SOCKET`), which wants a sign of life within `watchdog`.
    ///
    /// # Errors
    /// If it cannot be reached.
    pub fn at(address: &OsStr, watchdog: Option<Duration>) -> io::Result<Self> {
        let bytes = address.as_bytes();
        let address = match bytes.strip_prefix(b"@") {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(address)?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address)?;
        socket.set_nonblocking(true)?;
        Ok(ServiceManager { socket: Some(socket), watchdog })
    }

    /// How often it wants a sign of life, halved, so that one may come late.
    pub(crate) fn beat(&self) -> Option<Duration> {
        self.watchdog.map(|watchdog| watchdog / 2)
    }

    /// Tells it something; one that does not listen misses it.
    pub(crate) fn tell(&self, text: &str) {
        if let Some(socket) = &self.socket {
            let _ = socket.send(text.as_bytes());
        }
    }
}

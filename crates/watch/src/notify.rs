//! What the service tells the service manager: systemd's protocol, sd_notify(3).

use std::ffi::{OsStr, OsString};
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
    /// The manager that started this process, by its variables `NOTIFY_SOCKET` and `WATCHDOG_USEC`
    /// (sd_notify(3), sd_watchdog_enabled(3)); none if it is not one that wants to be told.
    ///
    /// # Errors
    /// If it cannot be reached.
    pub fn of_environment(variable: &dyn Fn(&str) -> Option<OsString>) -> io::Result<Self> {
        let number = |text: OsString| text.to_str()?.parse().ok();
        let watchdog = variable("WATCHDOG_USEC").and_then(number).map(Duration::from_micros);
        match variable("NOTIFY_SOCKET") {
            Some(address) => Self::at(&address, watchdog),
            None => Ok(ServiceManager::default()),
        }
    }

    /// The manager at an address, which wants a sign of life within `watchdog`.
    fn at(address: &OsStr, watchdog: Option<Duration>) -> io::Result<Self> {
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

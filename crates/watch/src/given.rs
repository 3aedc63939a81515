//! Sockets that another process has opened for this one: a service manager, or the service for its page.

use std::io;
use std::net::TcpListener;
use std::os::fd::{BorrowedFd, FromRawFd as _, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::Path;

use connection::{Address, ListeningSocket};
use rustix::net::{AddressFamily, sockopt};

/// The first descriptor that a service manager gives.
const FIRST_GIVEN: i32 = 3;
/// Most descriptors that are taken from it.
const GIVEN_MAX: i32 = 64;

/// The descriptors that a service manager has opened for this process, by its variables `LISTEN_PID` and
/// `LISTEN_FDS`.
fn given_descriptors(variable: &dyn Fn(&str) -> Option<String>) -> std::ops::Range<i32> {
    let number = |name: &str| variable(name)?.parse::<i32>().ok();
    let own = i32::try_from(std::process::id()).ok();
    match (number("LISTEN_PID"), number("LISTEN_FDS")) {
        (pid @ Some(_), Some(count)) if pid == own => {
            FIRST_GIVEN..FIRST_GIVEN + count.clamp(0, GIVEN_MAX)
        }
        _ => 0..0,
    }
}

/// Takes all sockets that a service manager has opened for this process.
///
/// # Errors
/// If one of them is no socket that listens.
pub fn given_sockets(
    variable: &dyn Fn(&str) -> Option<String>,
) -> io::Result<Vec<(ListeningSocket, Option<Address>)>> {
    given_descriptors(variable).map(given_socket).collect()
}

/// Takes a socket that listens and that another process has opened; with its address.  To be called
/// before this process opens sockets of its own.
///
/// # Errors
/// If the descriptor is not open or is no socket that listens.
pub fn given_socket(descriptor: i32) -> io::Result<(ListeningSocket, Option<Address>)> {
    let refused = |error: io::Error| {
        io::Error::new(
            error.kind(),
            format!("descriptor {descriptor} is no socket that listens: {error}"),
        )
    };
    if descriptor < FIRST_GIVEN {
        return Err(refused(io::ErrorKind::InvalidInput.into()));
    }
    // SAFETY: used for one system call, which refuses a number that is not open.
    let number = unsafe { BorrowedFd::borrow_raw(descriptor) };
    if !sockopt::socket_acceptconn(number).map_err(|error| refused(error.into()))? {
        return Err(refused(io::ErrorKind::InvalidInput.into()));
    }
    // SAFETY: it is open and listens, and nothing of this process listens yet: nobody else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    if sockopt::socket_domain(&socket)? == AddressFamily::UNIX {
        let socket = UnixListener::from(socket);
        let path = socket.local_addr()?.as_pathname().map(Path::to_owned);
        return Ok((ListeningSocket::Unix(socket, None), path.map(Address::Unix)));
    }
    let socket = TcpListener::from(socket);
    let address = socket.local_addr()?;
    let host = match address.ip() {
        ip if ip.is_unspecified() => String::new(),
        ip => ip.to_string(),
    };
    let address = Address::Network { host, port: address.port(), is_encrypted: false };
    Ok((ListeningSocket::Tcp(socket), Some(address)))
}

#[cfg(test)]
mod tests {
    use std::os::fd::IntoRawFd as _;

    use super::*;

    #[test]
    fn sockets_that_listen_are_taken_and_nothing_else() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (socket, address) = given_socket(listener.into_raw_fd()).unwrap();
        assert_eq!(socket.port().unwrap(), Some(port));
        let host = "127.0.0.1".to_owned();
        assert_eq!(address, Some(Address::Network { host, port, is_encrypted: false }));
        let file = std::fs::File::open("/proc/self/status").unwrap();
        for wrong in [1, std::os::fd::AsRawFd::as_raw_fd(&file), i32::MAX] {
            let said = given_socket(wrong).unwrap_err().to_string();
            assert!(said.starts_with(&format!("descriptor {wrong} is no socket")), "{said}");
        }
        let own = std::process::id().to_string();
        let of = |pid: &str, count: &'static str| {
            let pid = pid.to_owned();
            given_descriptors(&move |name| match name {
                "LISTEN_PID" => Some(pid.clone()),
                _ => Some(count.to_owned()),
            })
        };
        assert_eq!(of(&own, "2"), 3..5);
        assert_eq!(of("1", "2"), 0..0);
        assert_eq!(of(&own, "-1"), 3..3);
    }
}

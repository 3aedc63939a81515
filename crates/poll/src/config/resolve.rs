//! Whether the system's resolver knows a host.

use std::net::ToSocketAddrs as _;

/// Whether a name has an IPv4 address.
pub(super) fn is_known(host: &str) -> bool {
    (host, 25).to_socket_addrs().is_ok_and(|mut all| all.any(|address| address.is_ipv4()))
}

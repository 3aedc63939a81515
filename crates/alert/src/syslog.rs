//! Messages of syslog, one datagram each: to a socket of this machine as C's `syslog` writes them, which
//! every logging daemon reads, and by UDP as RFC 5424 says.

use std::net::{SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::os::unix::net::UnixDatagram;

use crate::delivery::DeliveryError;
use crate::message::AlertMessage;
use crate::receiver::SyslogPlace;

/// Bytes of a text; every receiver takes 2,048 (RFC 5424, 6.1) with the head.
const TEXT_BYTES_MAX: usize = 1800;
/// Daemons; a warning when it begins or lasts, a notice when it ends.
const FACILITY: u8 = 3 << 3;

/// Sends a message.
pub(crate) fn send(place: &SyslogPlace, message: &AlertMessage) -> Result<(), DeliveryError> {
    match place {
        SyslogPlace::Socket(path) => {
            let failed = || DeliveryError::io(format!("cannot send to {}", path.display()));
            let socket = UnixDatagram::unbound().map_err(failed())?;
            // A daemon that does not read delays nobody.
            socket.set_nonblocking(true).map_err(failed())?;
            let sent = socket.send_to(local_datagram(message).as_bytes(), path);
            sent.map(drop).map_err(failed())
        }
        SyslogPlace::Network(to) => {
            let failed = || DeliveryError::io(format!("cannot send to {to}"));
            let mut addresses = to.to_socket_addrs().map_err(failed())?;
            let address = addresses
                .next()
                .ok_or_else(|| DeliveryError::Receiver(format!("{to}: the name has no address")))?;
            let own = match address {
                SocketAddr::V4(_) => UdpSocket::bind(("0.0.0.0", 0)),
                SocketAddr::V6(_) => UdpSocket::bind(("::", 0)),
            };
            let socket = own.map_err(failed())?;
            let sent = socket.send_to(network_datagram(message).as_bytes(), address);
            sent.map(drop).map_err(failed())
        }
    }
}

fn priority(message: &AlertMessage) -> u8 {
    FACILITY + if message.state == "ends" { 5 } else { 4 }
}

/// The message in one line.
fn line(message: &AlertMessage) -> String {
    let lines: Vec<&str> = message.text.lines().filter(|line| !line.is_empty()).collect();
    let mut text = lines.join("; ");
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    text
}

/// Without a time: the daemon of the same machine has it.
fn local_datagram(message: &AlertMessage) -> String {
    format!("<{}>whit[{}]: {}", priority(message), std::process::id(), line(message))
}

fn network_datagram(message: &AlertMessage) -> String {
    let at = calendar::strftime("%Y-%m-%dT%H:%M:%S", message.at_ms.div_euclid(1000), None);
    format!(
        "<{}>1 {at}.{:03}Z - whit {} alert - \u{feff}{}",
        priority(message),
        message.at_ms.rem_euclid(1000),
        std::process::id(),
        line(message)
    )
}

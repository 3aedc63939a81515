//! From a device of the configuration to one of a session: address, waits, user.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use text::byte_text;

use snmp::{DeviceSettings, Security, Version};

use crate::device::{Device, SnmpVersion};
use crate::usm_protocol::user;

/// The address of a device.
pub(super) fn address(device: &Device) -> Result<SocketAddr, String> {
    let mut all =
        (device.host.as_str(), device.port).to_socket_addrs().map_err(|error| error.to_string())?;
    let first = all.find(|address| address.is_ipv4() || !device.is_ipv4_only);
    first.ok_or_else(|| "the host has no address".to_owned())
}

/// The local address that the device's requests leave from.
pub(super) fn local_address(device: &Device, is_v6: bool) -> Result<SocketAddr, String> {
    let any = snmp::any_local_address(is_v6);
    let ip: IpAddr = match &device.local_address {
        Some(text) => text.parse().map_err(|_| format!("`{text}` is no local address"))?,
        None => any.ip(),
    };
    Ok(SocketAddr::new(ip, device.local_port.unwrap_or(0)))
}

/// How the device is asked.
pub(super) fn settings(device: &Device, address: SocketAddr) -> Result<DeviceSettings, String> {
    let options = &device.options;
    let security = match device.version {
        SnmpVersion::V3 => Security::User(user(options)?),
        version => Security::Community {
            version: if version == SnmpVersion::V1 { Version::V1 } else { Version::V2c },
            community: byte_text::encode(&device.community).into_owned(),
        },
    };
    let timeout_s = options.timeout_s.unwrap_or(device.timeout_s).clamp(0.001, 600.0);
    Ok(DeviceSettings {
        timeout_ns: (timeout_s * 1e9) as u64,
        tries: options.retries.unwrap_or(device.retries).clamp(1, 100),
        backoff: options.backoff.unwrap_or(device.backoff),
        has_16_bit_request_ids: options.has_16_bit_request_ids,
        is_source_address_lenient: options.is_source_address_lenient.unwrap_or(false),
        is_source_port_lenient: options.is_source_port_lenient.unwrap_or(true),
        ..DeviceSettings::new(address, security)
    })
}

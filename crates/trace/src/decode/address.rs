//! Socket addresses: `sockaddr` of the common families.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{ArgumentKind, CapturePhase, ConstantStyle, DecodeContext, Outcome, put, reads};
use crate::flags::network as names;

/// The longest address that the kernel takes (`struct sockaddr_storage`).
pub(crate) const ADDRESS_MAX: usize = 128;

/// Writes the socket address of this length at an address in memory.
pub(crate) fn at(context: &mut DecodeContext<'_>, address: u64, length: u64) {
    if address == 0 {
        context.put("NULL");
        return;
    }
    let wanted = length.min(ADDRESS_MAX as u64) as usize;
    let bytes = context.read_some(address, wanted);
    if context.style.plain || length < 2 || bytes.len() < wanted {
        context.pointer(address);
        return;
    }
    write(context, &bytes);
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |piece| u16::from_be_bytes([piece[0], piece[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .map_or(0, |piece| u32::from_le_bytes([piece[0], piece[1], piece[2], piece[3]]))
}

/// Writes an address: `{sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("127.0.0.1")}`.
fn write(context: &mut DecodeContext<'_>, bytes: &[u8]) {
    let family = u16_at(bytes, 0).swap_bytes();
    context.put("{sa_family=");
    context.constant(&names::FAMILY, u64::from(family));
    let is_known = match i32::from(family) {
        libc::AF_UNIX => unix(context, bytes),
        libc::AF_INET => inet(context, bytes),
        libc::AF_INET6 => inet6(context, bytes),
        libc::AF_NETLINK => netlink(context, bytes),
        libc::AF_PACKET => packet(context, bytes),
        _ => false,
    };
    if !is_known && bytes.len() > 2 {
        context.put(", sa_data=");
        context.quoted(&bytes[2..], false);
    }
    context.put("}");
}

/// Shows bytes of the network's order as a string: `"\x00\x50"`.
struct Hex<'a>(&'a [u8]);

impl<'a> Hex<'a> {
    fn writer(self) -> impl FnOnce(&mut Vec<u8>) + use<'a> {
        move |out| {
            out.push(b'"');
            super::text::escape(self.0, super::text::Quote::Hex, out);
            out.push(b'"');
        }
    }
}

/// Writes the port of an address.
fn port(context: &mut DecodeContext<'_>, name: &str, bytes: &[u8]) {
    context.put(name);
    let number = bytes.get(2..4).unwrap_or_default();
    context.named_as(Hex(number).writer(), |context| {
        put!(context, "htons({})", u16_at(bytes, 2));
    });
}

fn unix(context: &mut DecodeContext<'_>, bytes: &[u8]) -> bool {
    let Some(name) = bytes.get(2..).filter(|name| !name.is_empty()) else {
        return true;
    };
    context.put(", sun_path=");
    if name[0] == 0 {
        context.put("@");
        context.quoted(&name[1..], false);
    } else {
        let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
        context.quoted(&name[..end], false);
    }
    true
}

fn inet(context: &mut DecodeContext<'_>, bytes: &[u8]) -> bool {
    let Some(address) = bytes.get(4..8) else {
        return false;
    };
    port(context, ", sin_port=", bytes);
    context.put(", sin_addr=");
    context.named_as(Hex(address).writer(), |context| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|at| address[at]);
        put!(context, "inet_addr(\"{}\")", Ipv4Addr::new(a, b, c, d));
    });
    true
}

fn inet6(context: &mut DecodeContext<'_>, bytes: &[u8]) -> bool {
    let mut address = [0; 16];
    let Some(piece) = bytes.get(8..24) else {
        return false;
    };
    address.copy_from_slice(piece);
    port(context, ", sin6_port=", bytes);
    context.put(", sin6_flowinfo=");
    context.named_as(Hex(&bytes[4..8]).writer(), |context| {
        put!(context, "htonl({})", u32_at(bytes, 4).swap_bytes());
    });
    let shown = Ipv6Addr::from(address);
    if context.style.constants == ConstantStyle::Name {
        put!(context, ", inet_pton(AF_INET6, \"{shown}\", &sin6_addr)");
    } else {
        context.put(", sin6_addr=");
        context.named_as(Hex(piece).writer(), |context| {
            put!(context, "inet_pton(AF_INET6, \"{shown}\")");
        });
    }
    if bytes.len() >= 28 {
        put!(context, ", sin6_scope_id={}", u32_at(bytes, 24));
    }
    true
}

fn netlink(context: &mut DecodeContext<'_>, bytes: &[u8]) -> bool {
    if bytes.len() < 12 {
        return false;
    }
    // The kernel ignores this field, but a reader should see that a program has set it.
    if u16_at(bytes, 2) != 0 {
        put!(context, ", nl_pad={:#x}", u16_at(bytes, 2).swap_bytes());
    }
    put!(context, ", nl_pid={}, nl_groups=", u32_at(bytes, 4) as i32);
    match u32_at(bytes, 8) {
        0 => context.put("00000000"),
        groups => put!(context, "{groups:#08x}"),
    }
    true
}

fn packet(context: &mut DecodeContext<'_>, bytes: &[u8]) -> bool {
    if bytes.len() < 20 {
        return false;
    }
    put!(context, ", sll_protocol=htons({:#x})", u16_at(bytes, 2));
    put!(context, ", sll_ifindex={}", u32_at(bytes, 4) as i32);
    put!(context, ", sll_hatype={}", u16_at(bytes, 8).swap_bytes());
    put!(context, ", sll_pkttype={}, sll_halen={}", bytes[10], bytes[11]);
    let length = usize::from(bytes[11]).min(8);
    if length > 0 {
        context.put(", sll_addr=[");
        for (index, byte) in bytes[12..12 + length].iter().enumerate() {
            put!(context, "{}{byte:#04x}", if index > 0 { ", " } else { "" });
        }
        context.put("]");
    }
    true
}

/// An address that the kernel reads; the next argument is its length.
pub(crate) const ADDRESS_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    let length = context.argument(index + 1) as i32;
    at(context, context.argument(index), u64::try_from(length).unwrap_or(0));
    Outcome::Done
})
.reading(&[reads::counted(CapturePhase::Enter, 1, 1)])
.of_any_width();

/// An address that the kernel fills in; the next argument points to its length.
pub(crate) const ADDRESS_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    let length_at = context.argument(index + 1);
    if !context.is_over() {
        let room = context.read::<4>(length_at).map(|bytes| bytes.u32(0));
        context.remember(index + 1, room);
        return Outcome::Later;
    }
    let address = context.argument(index);
    let length = context.read::<4>(length_at).map(|bytes| bytes.u32(0));
    match length {
        Some(length) if !context.has_failed() => {
            let room = context.remembered(index + 1).unwrap_or(length);
            at(context, address, u64::from(length.min(room)));
        }
        _ => context.pointer(address),
    }
    Outcome::Done
})
.reading(&[reads::behind(CapturePhase::Exit, 1)])
.of_any_width();

/// A pointer to the length of what the kernel fills in, before and after: `[128 => 16]`, `[16]`.
pub(crate) const LENGTH_INOUT: ArgumentKind = ArgumentKind::new(|context, index| {
    let address = context.argument(index);
    if !context.is_over() {
        let length = context.read::<4>(address).map(|bytes| bytes.u32(0));
        context.remember(index, length);
        return Outcome::Later;
    }
    let before = context.remembered(index);
    let after = context.read::<4>(address).map(|bytes| bytes.i32(0));
    match (before.map(|length| length as i32), after) {
        (Some(before), Some(_)) if context.has_failed() => put!(context, "[{before}]"),
        (Some(before), Some(after)) if before != after => put!(context, "[{before} => {after}]"),
        (_, Some(after)) => put!(context, "[{after}]"),
        (_, None) => context.pointer(address),
    }
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Both, 4)])
.of_any_width();

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::decode::{SavedWords, ValueStyle};
    use crate::{Call, CallId};

    fn shown(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        let mut context = DecodeContext {
            call: Call { id: CallId::native(42), arguments: [0; 6] },
            result: None,
            style: ValueStyle::default(),
            saved: &mut SavedWords::default(),
            out: &mut out,
            memory: &(),
            is_blind: false,
            lookup: &(),
        };
        write(&mut context, bytes);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn addresses_of_each_family() {
        assert_eq!(
            shown(&[2, 0, 0, 80, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
            "{sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"127.0.0.1\")}"
        );
        assert_eq!(shown(b"\x01\0/run/x\0zz"), "{sa_family=AF_UNIX, sun_path=\"/run/x\"}");
        assert_eq!(shown(b"\x01\0\0ab"), "{sa_family=AF_UNIX, sun_path=@\"ab\"}");
        assert_eq!(shown(&[1, 0]), "{sa_family=AF_UNIX}");
        assert_eq!(
            shown(&[16, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]),
            "{sa_family=AF_NETLINK, nl_pid=1, nl_groups=0x000002}"
        );
        assert!(shown(&[2, 0, 1]).starts_with("{sa_family=AF_INET, sa_data="));
    }
}

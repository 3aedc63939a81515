//! Messages of netlink sockets: their headers, and the answers that every protocol has.
//!
//! A buffer holds messages one behind the other, each a `struct nlmsghdr` and a body.  The names of
//! types and flags depend on the protocol of the socket, which the lookup of descriptors tells;
//! the header and the bodies of `NLMSG_DONE` and `NLMSG_ERROR` are the same for all.  Other bodies
//! are bytes.  Only headers, and of a body what is shown, are read: lengths are the task's claims,
//! and a message ends with its buffer at the latest.  A call on any socket costs a `readlink` and a
//! `getxattr` more, one on a netlink socket its line of `/proc/PID/net/netlink`.

use super::{
    ArgumentKind, CaptureCount, CapturePhase, DecodeContext, Outcome, StructBytes, put, reads,
};
use crate::NetlinkSocket;
use crate::flags::{Flags, Names, errors, netlink as names, network};

/// Bytes of `struct nlmsghdr`.
const HEADER_BYTES: u64 = 16;

/// Most errors within errors that are shown as messages; a deeper one is bytes.
const DEPTH_MAX: u32 = 4;

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;

/// The first type that belongs to a protocol (`NLMSG_MIN_TYPE`).
const FIRST_OWN_TYPE: u16 = 16;

/// Follows the error's message with attributes (`NLM_F_ACK_TLVS`).
const ACK_TLVS: u16 = 0x200;

/// Protocols whose types have no names: `USERSOCK`, `FIB_LOOKUP` and `CONNECTOR`.
const NAMELESS: [u32; 3] = [2, 10, 11];

/// The netlink socket that the call uses, which is its first argument, if its messages are decoded.
pub(super) fn socket_of(context: &DecodeContext<'_>) -> Option<NetlinkSocket> {
    if context.style.plain || context.is_blind {
        return None;
    }
    let socket = context.lookup.netlink(context.argument(0) as i32)?;
    let is_shown = |protocol| names_of(protocol).is_some() || NAMELESS.contains(&protocol);
    socket.protocol.is_none_or(is_shown).then_some(socket)
}

/// The names of a protocol's types.
fn names_of(protocol: u32) -> Option<&'static Names> {
    match protocol {
        0 => Some(&names::ROUTE_TYPE),
        4 => Some(&names::SOCK_DIAG_TYPE),
        _ => None,
    }
}

/// The names of the flags of a message, which depend on what it asks for.
fn flags_of(socket: NetlinkSocket, kind: u16) -> &'static Flags {
    match (socket.protocol, kind) {
        (_, NLMSG_ERROR) => &names::ERROR_FLAGS,
        (_, ..FIRST_OWN_TYPE) => &names::FLAGS,
        (Some(0), _) => match kind & 3 {
            0 => &names::NEW_FLAGS,
            1 => &names::DELETE_FLAGS,
            2 => &names::GET_FLAGS,
            _ => &names::FLAGS,
        },
        (Some(4), _) => &names::GET_FLAGS,
        _ => &names::FLAGS,
    }
}

/// Writes the messages in `length` bytes at an address.
pub(super) fn messages(
    context: &mut DecodeContext<'_>,
    socket: NetlinkSocket,
    address: u64,
    length: u64,
) {
    if length < HEADER_BYTES || context.read::<16>(address).is_none() {
        context.hex_data(address, length);
        return;
    }
    let start = context.out.len();
    let (mut at, mut shown) = (0, 0);
    while let Some(rest) = length.checked_sub(at).filter(|rest| *rest > 0) {
        let here = address.wrapping_add(at);
        if shown > 0 {
            context.put(", ");
            if shown == context.elements_shown() {
                context.put("...");
                break;
            }
        }
        shown += 1;
        let Some(header) = context.read::<16>(here).filter(|_| rest >= HEADER_BYTES) else {
            context.hex_data(here, rest);
            break;
        };
        message(context, socket, &header, here, rest, 0);
        let size = u64::from(header.u32(0));
        if size < HEADER_BYTES {
            break;
        }
        at += size.next_multiple_of(4);
    }
    if shown > 1 {
        context.out.insert(start, b'[');
        context.put("]");
    }
}

/// Writes one message, of which at most `room` bytes are there.
fn message(
    context: &mut DecodeContext<'_>,
    socket: NetlinkSocket,
    header: &StructBytes<16>,
    address: u64,
    room: u64,
    depth: u32,
) {
    let size = u64::from(header.u32(0)).min(room);
    let body = size.saturating_sub(HEADER_BYTES);
    if body > 0 {
        context.put("[");
    }
    let (kind, flags) = (header.u16(4), header.u16(6));
    put!(context, "{{nlmsg_len={}, nlmsg_type=", header.u32(0));
    let own = socket.protocol.filter(|_| kind >= FIRST_OWN_TYPE).and_then(names_of);
    context.constant(own.unwrap_or(&names::TYPE), kind.into());
    context.put(", nlmsg_flags=");
    context.constant(flags_of(socket, kind), flags.into());
    put!(context, ", nlmsg_seq={}, nlmsg_pid={}}}", header.u32(8), header.i32(12));
    if body == 0 {
        return;
    }
    context.put(", ");
    let at = address.wrapping_add(HEADER_BYTES);
    match kind {
        NLMSG_DONE if body == 4 => context.structure::<4>(at, |context, number| {
            context.signed_number(number.i32(0).into());
        }),
        NLMSG_ERROR if flags & ACK_TLVS == 0 && depth < DEPTH_MAX => {
            error(context, socket, at, body, depth);
        }
        // What a protocol does not know begins with an address family, as all of its bodies do.
        _ if own.is_some_and(|names| names.get(kind.into()).is_none()) => {
            context.structure::<1>(at, |context, family| {
                context.put("{family=");
                context.constant(&network::FAMILY, family.0[0].into());
                if body > 1 {
                    context.put(", data=");
                    context.hex_data(at.wrapping_add(1), body - 1);
                }
                context.put("}");
            });
        }
        _ => context.hex_data(at, body),
    }
    context.put("]");
}

/// Writes a `struct nlmsgerr`: an error, and the message that it is about.
fn error(
    context: &mut DecodeContext<'_>,
    socket: NetlinkSocket,
    address: u64,
    length: u64,
    depth: u32,
) {
    let there = context.read::<20>(address).filter(|_| length >= 4 + HEADER_BYTES);
    let Some(there) = there else {
        context.hex_data(address, length);
        return;
    };
    context.put("{error=");
    let number = there.i32(0);
    match number.checked_neg().and_then(errors::name) {
        Some(name) => context.remarked(
            |out| text::integer::push_i64(out, number.into()),
            |context| put!(context, "-{name}"),
        ),
        None => put!(context, "{number}"),
    }
    context.put(", msg=");
    let mut header = [0; 16];
    header.copy_from_slice(&there.0[4..]);
    let (at, room) = (address.wrapping_add(4), length - 4);
    message(context, socket, &StructBytes(header), at, room, depth + 1);
    context.put("}");
}

/// Writes the bytes that a socket sends or receives.
fn contents(context: &mut DecodeContext<'_>, address: u64, length: u64) {
    match socket_of(context) {
        Some(socket) => messages(context, socket, address, length),
        None => context.data(address, length),
    }
}

/// What a socket sends; the next argument is its length.
pub(crate) const SENT: ArgumentKind = ArgumentKind::new(|context, index| {
    contents(context, context.argument(index), context.argument(index + 1));
    Outcome::Done
})
.reading(&[reads::data(CapturePhase::Enter, CaptureCount::Argument(1))])
.of_any_width();

/// What a socket has received; the result is its length.
pub(crate) const RECEIVED: ArgumentKind = ArgumentKind::new(|context, index| {
    context.at_exit(index, |context, address| contents(context, address, context.count()))
})
.reading(&[reads::data(CapturePhase::Exit, CaptureCount::Result)])
.of_any_width();

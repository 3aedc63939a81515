//! Data in several buffers: `iovec`, and the messages of sockets.

use super::{
    ArgumentKind, CaptureCount, CapturePhase, CapturedData, DecodeContext, ELEMENTS_MAX, Outcome,
    Reads, StructBytes, address, netlink, put,
};
use crate::flags::network as names;

/// Writes `count` vectors at an address, with at most `left` bytes of their data, or with none.
pub(crate) fn vectors(
    context: &mut DecodeContext<'_>,
    address: u64,
    count: u64,
    left: Option<u64>,
) {
    vectors_of(context, address, count, left, data_or_empty);
}

/// As [`vectors`]; `write` writes the data of each.
fn vectors_of(
    context: &mut DecodeContext<'_>,
    address: u64,
    count: u64,
    mut left: Option<u64>,
    write: impl Fn(&mut DecodeContext<'_>, u64, u64),
) {
    context.array::<16>(address, count, |context, bytes| {
        let length = bytes.u64(8);
        context.put("{iov_base=");
        match &mut left {
            Some(left) => {
                let shown = length.min(*left);
                *left -= shown;
                write(context, bytes.u64(0), shown);
            }
            None => context.pointer(bytes.u64(0)),
        }
        put!(context, ", iov_len={length}}}");
    });
}

fn data_or_empty(context: &mut DecodeContext<'_>, address: u64, length: u64) {
    if length == 0 && address != 0 { context.put("\"\"") } else { context.data(address, length) }
}

/// Vectors that the kernel reads; the next argument is their number.
pub(crate) const VECTORS_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    vectors(context, context.argument(index), context.argument(index + 1), Some(u64::MAX));
    Outcome::Done
})
.reading(&[Reads {
    when: CapturePhase::Enter,
    what: CapturedData::Vectors { count: CaptureCount::Argument(1), total: None },
}]);

/// Vectors that the kernel fills in; the next argument is their number, the result that of bytes.
pub(crate) const VECTORS_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    if !context.is_over() {
        return Outcome::Later;
    }
    let left = if context.has_failed() { None } else { Some(context.count()) };
    vectors(context, context.argument(index), context.argument(index + 1), left);
    Outcome::Done
})
.reading(&[Reads {
    when: CapturePhase::Exit,
    what: CapturedData::Vectors {
        count: CaptureCount::Argument(1),
        total: Some(CaptureCount::Result),
    },
}]);

/// Vectors in another process: only addresses and lengths.
pub(crate) const VECTORS_REMOTE: ArgumentKind = ArgumentKind::new(|context, index| {
    vectors(context, context.argument(index), context.argument(index + 1), None);
    Outcome::Done
})
.reading(&[Reads {
    when: CapturePhase::Enter,
    what: CapturedData::Bytes { count: CaptureCount::Argument(1), size: 16 },
}]);

/// Writes a `struct msghdr`, with at most `left` bytes of its data.
fn message(
    context: &mut DecodeContext<'_>,
    bytes: &StructBytes<56>,
    name_room: Option<u32>,
    left: Option<u64>,
) {
    let name_length = bytes.u32(8);
    context.put("{msg_name=");
    let shown = name_room.map_or(name_length, |room| name_length.min(room));
    if shown == 0 {
        context.pointer(bytes.u64(0));
    } else {
        address::at(context, bytes.u64(0), u64::from(shown));
    }
    match name_room {
        Some(room) if room != name_length => {
            put!(context, ", msg_namelen={} => {}", room as i32, name_length as i32);
        }
        _ => put!(context, ", msg_namelen={}", name_length as i32),
    }
    context.put(", msg_iov=");
    let socket = netlink::socket_of(context);
    vectors_of(context, bytes.u64(16), bytes.u64(24), left, |context, at, length| match socket {
        Some(socket) if length > 0 => netlink::messages(context, socket, at, length),
        _ => data_or_empty(context, at, length),
    });
    put!(context, ", msg_iovlen={}", bytes.u64(24));
    let control_length = bytes.u64(40);
    if control_length > 0 {
        context.put(", msg_control=");
        control(context, bytes.u64(32), control_length);
    }
    put!(context, ", msg_controllen={control_length}, msg_flags=");
    context.constant(&names::MESSAGE, u64::from(bytes.u32(48)));
    context.put("}");
}

/// Writes control data: a list of headers, each with its data.
fn control(context: &mut DecodeContext<'_>, address: u64, length: u64) {
    const HEADER: u64 = 16;
    // The kernel limits control data to 20 KiB by default (`optmem_max`).
    let length = length.min(20 * 1024);
    if address == 0 || length < HEADER || context.read::<16>(address).is_none() {
        context.pointer(address);
        return;
    }
    context.put("[");
    let mut at = 0;
    for index in 0..ELEMENTS_MAX {
        let Some(header) =
            context.read::<16>(address.wrapping_add(at)).filter(|_| at + HEADER <= length)
        else {
            break;
        };
        let size = header.u64(0);
        if index > 0 {
            context.put(", ");
        }
        put!(context, "{{cmsg_len={size}, cmsg_level=");
        context.constant(&names::LEVEL, u64::from(header.u32(8)));
        context.put(", cmsg_type=");
        let (level, kind) = (header.i32(8), header.i32(12));
        control_type(context, level, kind);
        let end = at.saturating_add(size).min(length);
        let data = end.saturating_sub(at + HEADER);
        if data > 0 {
            context.put(", cmsg_data=");
            control_data(context, level, kind, address.wrapping_add(at + HEADER), data);
        }
        context.put("}");
        // A length below that of the header would make this an endless loop.
        if size < HEADER {
            break;
        }
        at = end.saturating_add(7) & !7;
    }
    context.put("]");
}

fn control_type(context: &mut DecodeContext<'_>, level: i32, kind: i32) {
    const SOCKET: &[(i32, &str)] =
        &[(1, "SCM_RIGHTS"), (2, "SCM_CREDENTIALS"), (3, "SCM_SECURITY"), (4, "SCM_PIDFD")];
    match level {
        libc::SOL_SOCKET => context.named(u64::from(kind as u32), |context| {
            match SOCKET.iter().find(|(number, _)| *number == kind) {
                Some((_, name)) => context.put(name),
                None => match names::SOCKET_OPTION.get(kind as u64) {
                    Some(name) => context.put(name),
                    None => put!(context, "{kind:#x} /* SCM_??? */"),
                },
            }
        }),
        libc::SOL_IP => context.constant(&names::IP_OPTION, kind as u32 as u64),
        libc::SOL_IPV6 => context.constant(&names::IPV6_OPTION, kind as u32 as u64),
        _ => context.hex(u64::from(kind as u32)),
    }
}

fn control_data(context: &mut DecodeContext<'_>, level: i32, kind: i32, address: u64, length: u64) {
    match (level, kind) {
        (libc::SOL_SOCKET, 1) => context.array::<4>(address, length / 4, |context, bytes| {
            context.descriptor(bytes.i32(0));
        }),
        (libc::SOL_SOCKET, 2) if length >= 12 => {
            context.structure::<12>(address, |context, bytes| {
                let (pid, uid, gid) = (bytes.i32(0), bytes.u32(4), bytes.u32(8));
                put!(context, "{{pid={pid}, uid={uid}, gid={gid}}}");
            });
        }
        _ => context.data(address, length),
    }
}

/// A message that is sent.
pub(crate) const MESSAGE_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure(context.argument(index), |context, bytes| {
        message(context, bytes, None, Some(u64::MAX));
    });
    Outcome::Done
})
.reading(&[Reads { when: CapturePhase::Enter, what: CapturedData::Message }]);

/// A message that is received; the result is the number of bytes.
pub(crate) const MESSAGE_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    let address = context.argument(index);
    if !context.is_over() {
        let room = context.read::<12>(address).map(|bytes| bytes.u32(8));
        context.remember(index, room);
        return Outcome::Later;
    }
    if context.has_failed() {
        // Nothing was received, so only the length that the program gave is shown.
        match (context.read::<56>(address), context.remembered(index)) {
            (Some(_), Some(room)) => put!(context, "{{msg_namelen={}}}", room as i32),
            _ => context.pointer(address),
        }
        return Outcome::Done;
    }
    let (room, left) = (context.remembered(index), Some(context.count()));
    context.structure(address, |context, bytes| message(context, bytes, room, left));
    Outcome::Done
})
.reading(&[Reads { when: CapturePhase::Both, what: CapturedData::Message }]);

/// Writes an array of messages; the result is how many of them were sent or received.
fn messages(context: &mut DecodeContext<'_>, address: u64, count: u64, is_received: bool) {
    context.array::<64>(address, count, |context, bytes| {
        let mut header = [0; 56];
        header.copy_from_slice(&bytes.0[..56]);
        let length = bytes.u32(56);
        context.put("{msg_hdr=");
        let left = if is_received { u64::from(length) } else { u64::MAX };
        message(context, &StructBytes(header), None, Some(left));
        if context.is_over() && !context.has_failed() {
            put!(context, ", msg_len={length}}}");
        } else {
            context.put("}");
        }
    });
}

/// Messages that are sent: the result is the number of those that were.
pub(crate) const MESSAGES_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    if !context.is_over() {
        return Outcome::Later;
    }
    let address = context.argument(index);
    let count = context.argument(index + 1) & 0xffff_ffff;
    let sent = if context.has_failed() { count } else { count.min(context.count()) };
    messages(context, address, sent, false);
    Outcome::Done
})
.reading(&[Reads {
    when: CapturePhase::Exit,
    what: CapturedData::Messages { count: CaptureCount::Argument(1) },
}]);

/// Messages that are received.
pub(crate) const MESSAGES_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    context.at_exit(index, |context, address| {
        let received = context.count();
        messages(context, address, received, true);
    })
})
.reading(&[Reads {
    when: CapturePhase::Exit,
    what: CapturedData::Messages { count: CaptureCount::Result },
}]);

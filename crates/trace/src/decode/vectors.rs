//! Data in several pieces: `iovec`, and the messages of sockets that are made of them.

use super::{Bytes, Copied, ELEMENTS_MAX, Kind, Length, Outcome, Reads, Scene, When, address, put};
use crate::flags::network as names;

/// Writes so many vectors at an address; of their contents so many bytes in all, or none.
pub(crate) fn vectors(scene: &mut Scene<'_>, address: u64, count: u64, mut left: Option<u64>) {
    scene.array::<16>(address, count, |scene, bytes| {
        let length = bytes.u64(8);
        scene.put("{iov_base=");
        match &mut left {
            Some(left) => {
                let shown = length.min(*left);
                *left -= shown;
                data_or_empty(scene, bytes.u64(0), shown);
            }
            None => scene.pointer(bytes.u64(0)),
        }
        put!(scene, ", iov_len={length}}}");
    });
}

fn data_or_empty(scene: &mut Scene<'_>, address: u64, length: u64) {
    if length == 0 && address != 0 { scene.put("\"\"") } else { scene.data(address, length) }
}

/// What the kernel reads; the next argument is the number of vectors.
pub(crate) const VECTORS_IN: Kind = Kind::new(|scene, index| {
    vectors(scene, scene.argument(index), scene.argument(index + 1), Some(u64::MAX));
    Outcome::Done
})
.reading(&[Reads {
    when: When::Enter,
    what: Copied::Vectors { count: Length::Argument(1), total: None },
}]);

/// What the kernel fills in; the next argument is the number of vectors, the result that of bytes.
pub(crate) const VECTORS_OUT: Kind = Kind::new(|scene, index| {
    if !scene.is_over() {
        return Outcome::Later;
    }
    let left = if scene.has_failed() { None } else { Some(scene.count()) };
    vectors(scene, scene.argument(index), scene.argument(index + 1), left);
    Outcome::Done
})
.reading(&[Reads {
    when: When::Exit,
    what: Copied::Vectors { count: Length::Argument(1), total: Some(Length::Result) },
}]);

/// Vectors of another process: only where they are.
pub(crate) const VECTORS_REMOTE: Kind = Kind::new(|scene, index| {
    vectors(scene, scene.argument(index), scene.argument(index + 1), None);
    Outcome::Done
})
.reading(&[Reads {
    when: When::Enter,
    what: Copied::Bytes { count: Length::Argument(1), size: 16 },
}]);

/// Writes a `struct msghdr`; of the data so many bytes.
fn message(scene: &mut Scene<'_>, bytes: &Bytes<56>, name_room: Option<u32>, left: Option<u64>) {
    let name_length = bytes.u32(8);
    scene.put("{msg_name=");
    let shown = name_room.map_or(name_length, |room| name_length.min(room));
    if shown == 0 {
        scene.pointer(bytes.u64(0));
    } else {
        address::at(scene, bytes.u64(0), u64::from(shown));
    }
    match name_room {
        Some(room) if room != name_length => {
            put!(scene, ", msg_namelen={} => {}", room as i32, name_length as i32);
        }
        _ => put!(scene, ", msg_namelen={}", name_length as i32),
    }
    scene.put(", msg_iov=");
    vectors(scene, bytes.u64(16), bytes.u64(24), left);
    put!(scene, ", msg_iovlen={}", bytes.u64(24));
    let control_length = bytes.u64(40);
    if control_length > 0 {
        scene.put(", msg_control=");
        control(scene, bytes.u64(32), control_length);
    }
    put!(scene, ", msg_controllen={control_length}, msg_flags=");
    names::MESSAGE.write(u64::from(bytes.u32(48)), scene.out);
    scene.put("}");
}

/// Writes control data: a list of headers, each with its bytes.
fn control(scene: &mut Scene<'_>, address: u64, length: u64) {
    const HEADER: u64 = 16;
    // The kernel's own limit for control data is 20 KiB by default (`optmem_max`).
    let length = length.min(20 * 1024);
    if address == 0 || length < HEADER || scene.read::<16>(address).is_none() {
        scene.pointer(address);
        return;
    }
    scene.put("[");
    let mut at = 0;
    for index in 0..ELEMENTS_MAX {
        let Some(header) =
            scene.read::<16>(address.wrapping_add(at)).filter(|_| at + HEADER <= length)
        else {
            break;
        };
        let size = header.u64(0);
        if index > 0 {
            scene.put(", ");
        }
        put!(scene, "{{cmsg_len={size}, cmsg_level=");
        names::LEVEL.write(u64::from(header.u32(8)), scene.out);
        scene.put(", cmsg_type=");
        let (level, kind) = (header.i32(8), header.i32(12));
        control_type(scene, level, kind);
        let end = at.saturating_add(size).min(length);
        let data = end.saturating_sub(at + HEADER);
        if data > 0 {
            scene.put(", cmsg_data=");
            control_data(scene, level, kind, address.wrapping_add(at + HEADER), data);
        }
        scene.put("}");
        // A length below that of its own header would stand still.
        if size < HEADER {
            break;
        }
        at = end.saturating_add(7) & !7;
    }
    scene.put("]");
}

fn control_type(scene: &mut Scene<'_>, level: i32, kind: i32) {
    const SOCKET: &[(i32, &str)] =
        &[(1, "SCM_RIGHTS"), (2, "SCM_CREDENTIALS"), (3, "SCM_SECURITY"), (4, "SCM_PIDFD")];
    match level {
        libc::SOL_SOCKET => match SOCKET.iter().find(|(number, _)| *number == kind) {
            Some((_, name)) => scene.put(name),
            None => match names::SOCKET_OPTION.get(kind as u64) {
                Some(name) => scene.put(name),
                None => put!(scene, "{kind:#x} /* SCM_??? */"),
            },
        },
        libc::SOL_IP => names::IP_OPTION.write(kind as u32 as u64, scene.out),
        libc::SOL_IPV6 => names::IPV6_OPTION.write(kind as u32 as u64, scene.out),
        _ => scene.hex(u64::from(kind as u32)),
    }
}

fn control_data(scene: &mut Scene<'_>, level: i32, kind: i32, address: u64, length: u64) {
    match (level, kind) {
        (libc::SOL_SOCKET, 1) => scene.array::<4>(address, length / 4, |scene, bytes| {
            scene.descriptor(bytes.i32(0));
        }),
        (libc::SOL_SOCKET, 2) if length >= 12 => {
            scene.structure::<12>(address, |scene, bytes| {
                let (pid, uid, gid) = (bytes.i32(0), bytes.u32(4), bytes.u32(8));
                put!(scene, "{{pid={pid}, uid={uid}, gid={gid}}}");
            });
        }
        _ => scene.data(address, length),
    }
}

/// A message that is sent.
pub(crate) const MESSAGE_IN: Kind = Kind::new(|scene, index| {
    scene.structure(scene.argument(index), |scene, bytes| {
        message(scene, bytes, None, Some(u64::MAX));
    });
    Outcome::Done
})
.reading(&[Reads { when: When::Enter, what: Copied::Message }]);

/// A message that is received; the result is the number of bytes.
pub(crate) const MESSAGE_OUT: Kind = Kind::new(|scene, index| {
    let address = scene.argument(index);
    if !scene.is_over() {
        let room = scene.read::<12>(address).map(|bytes| bytes.u32(8));
        scene.remember(index, room);
        return Outcome::Later;
    }
    if scene.has_failed() {
        // The names of the fields that the program gave are all there is to tell.
        match (scene.read::<56>(address), scene.remembered(index)) {
            (Some(_), Some(room)) => put!(scene, "{{msg_namelen={}}}", room as i32),
            _ => scene.pointer(address),
        }
        return Outcome::Done;
    }
    let (room, left) = (scene.remembered(index), Some(scene.count()));
    scene.structure(address, |scene, bytes| message(scene, bytes, room, left));
    Outcome::Done
})
.reading(&[Reads { when: When::Both, what: Copied::Message }]);

/// Writes several messages, as many as the count says, of which the first so many were dealt with.
fn messages(scene: &mut Scene<'_>, address: u64, count: u64, is_received: bool) {
    scene.array::<64>(address, count, |scene, bytes| {
        let mut header = [0; 56];
        header.copy_from_slice(&bytes.0[..56]);
        let length = bytes.u32(56);
        scene.put("{msg_hdr=");
        let left = if is_received { u64::from(length) } else { u64::MAX };
        message(scene, &Bytes(header), None, Some(left));
        if scene.is_over() {
            put!(scene, ", msg_len={length}}}");
        } else {
            scene.put("}");
        }
    });
}

/// Messages that are sent: the result is the number of those that were.
pub(crate) const MESSAGES_IN: Kind = Kind::new(|scene, index| {
    if !scene.is_over() {
        return Outcome::Later;
    }
    let address = scene.argument(index);
    let count = scene.argument(index + 1) & 0xffff_ffff;
    if scene.has_failed() {
        scene.pointer(address);
    } else {
        let sent = count.min(scene.count());
        messages(scene, address, sent, false);
    }
    Outcome::Done
})
.reading(&[Reads { when: When::Exit, what: Copied::Messages { count: Length::Result } }]);

/// Messages that are received.
pub(crate) const MESSAGES_OUT: Kind = Kind::new(|scene, index| {
    if !scene.is_over() {
        return Outcome::Later;
    }
    let address = scene.argument(index);
    if scene.has_failed() {
        scene.pointer(address);
    } else {
        let received = scene.count();
        messages(scene, address, received, true);
    }
    Outcome::Done
})
.reading(&[Reads { when: When::Exit, what: Copied::Messages { count: Length::Result } }]);

//! What makes a socket: family, type, protocol; pairs of descriptors.

use super::{Kind, Outcome, When, put, reads};
use crate::flags::network as names;

/// The type of a socket with its flags: `SOCK_STREAM|SOCK_CLOEXEC`.
pub(crate) const TYPE: Kind = Kind::new(|scene, index| {
    const KIND: u64 = 0xf;
    let value = scene.argument(index) & 0xffff_ffff;
    match names::TYPE.get(value & KIND) {
        Some(name) => {
            scene.put(name);
            if value & !KIND != 0 {
                scene.put("|");
                names::TYPE_FLAGS.write(value & !KIND, scene.out);
            }
        }
        None if value == 0 => scene.put("0"),
        None => names::TYPE_FLAGS.write(value, scene.out),
    }
    Outcome::Done
});

/// The protocol, which depends on the family two arguments before.
pub(crate) const PROTOCOL: Kind = Kind::new(|scene, index| {
    let value = scene.argument(index) & 0xffff_ffff;
    match scene.argument(index.saturating_sub(2)) as i32 {
        libc::AF_INET | libc::AF_INET6 => names::PROTOCOL.write(value, scene.out),
        libc::AF_NETLINK => names::NETLINK.write(value, scene.out),
        libc::AF_PACKET => put!(scene, "htons({:#x})", (value as u16).swap_bytes()),
        _ => put!(scene, "{}", scene.argument(index)),
    }
    Outcome::Done
});

/// Two descriptors that the kernel fills in: `[3, 4]`.
pub(crate) const PAIR_OUT: Kind = Kind::new(|scene, index| {
    scene.filled::<8>(index, |scene, bytes| {
        scene.put("[");
        scene.descriptor(bytes.i32(0));
        scene.put(", ");
        scene.descriptor(bytes.i32(4));
        scene.put("]");
    })
})
.reading(&[reads::fixed(When::Exit, 8)])
.of_any_width();

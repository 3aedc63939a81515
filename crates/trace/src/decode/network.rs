//! Arguments of `socket` and `socketpair`: type, protocol, pairs of descriptors.

use super::{ArgumentKind, CapturePhase, Outcome, put, reads};
use crate::flags::network as names;

/// The type of a socket with its flags: `SOCK_STREAM|SOCK_CLOEXEC`.
pub(crate) const TYPE: ArgumentKind = ArgumentKind::new(|context, index| {
    const KIND: u64 = 0xf;
    let value = context.argument(index) & 0xffff_ffff;
    match names::TYPE.get(value & KIND) {
        Some(name) => {
            context.named(value & KIND, |context| context.put(name));
            if value & !KIND != 0 {
                context.put("|");
                context.constant(&names::TYPE_FLAGS, value & !KIND);
            }
        }
        None if value == 0 => context.put("0"),
        None => context.constant(&names::TYPE_FLAGS, value),
    }
    Outcome::Done
});

/// The protocol, which depends on the family two arguments before.
pub(crate) const PROTOCOL: ArgumentKind = ArgumentKind::new(|context, index| {
    let value = context.argument(index) & 0xffff_ffff;
    match context.argument(index.saturating_sub(2)) as i32 {
        libc::AF_INET | libc::AF_INET6 => context.constant(&names::PROTOCOL, value),
        libc::AF_NETLINK => context.constant(&names::NETLINK, value),
        libc::AF_PACKET => put!(context, "htons({:#x})", (value as u16).swap_bytes()),
        _ => put!(context, "{}", context.argument(index)),
    }
    Outcome::Done
});

/// Two descriptors that the kernel fills in: `[3, 4]`.
pub(crate) const PAIR_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    context.filled::<8>(index, |context, bytes| {
        context.put("[");
        context.descriptor(bytes.i32(0));
        context.put(", ");
        context.descriptor(bytes.i32(4));
        context.put("]");
    })
})
.reading(&[reads::fixed(CapturePhase::Exit, 8)])
.of_any_width();

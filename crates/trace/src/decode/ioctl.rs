//! `ioctl`: the request, and the arguments of terminals, sockets and files.

use super::{
    ArgumentKind, CapturePhase, DecodeContext, Outcome, StructBytes, put, reads, terminal,
};
use crate::flags::ioctl as names;

const TCGETS: u64 = 0x5401;
const TIOCGPGRP: u64 = 0x540f;
const TIOCSPGRP: u64 = 0x5410;
const TIOCOUTQ: u64 = 0x5411;
const TIOCGWINSZ: u64 = 0x5413;
const TIOCSWINSZ: u64 = 0x5414;
const FIONREAD: u64 = 0x541b;
const FIONBIO: u64 = 0x5421;
const TIOCGSID: u64 = 0x5429;
const TIOCSPTLCK: u64 = 0x4004_5431;
const TIOCGPTN: u64 = 0x8004_5430;

/// The request: its name, or the parts of its number.
pub(crate) const REQUEST: ArgumentKind = ArgumentKind::new(|context, index| {
    let value = context.argument(index) & 0xffff_ffff;
    context.named(value, |context| match names::REQUEST.get(value) {
        Some(name) => context.put(name),
        None => pieces(context, value),
    });
    Outcome::Done
});

/// Writes a request by its parts: `_IOC(_IOC_READ, 0x12, 0x70, 0x4)`.
fn pieces(context: &mut DecodeContext<'_>, value: u64) {
    context.put(match value >> 30 {
        0 => "_IOC(_IOC_NONE",
        1 => "_IOC(_IOC_WRITE",
        2 => "_IOC(_IOC_READ",
        _ => "_IOC(_IOC_READ|_IOC_WRITE",
    });
    for piece in [value >> 8 & 0xff, value & 0xff, value >> 16 & 0x3fff] {
        context.put(", ");
        context.hex(piece);
    }
    context.put(")");
}

fn window(context: &mut DecodeContext<'_>, bytes: &StructBytes<8>) {
    put!(context, "{{ws_row={}, ws_col={}", bytes.u16(0), bytes.u16(2));
    put!(context, ", ws_xpixel={}, ws_ypixel={}}}", bytes.u16(4), bytes.u16(6));
}

fn number(context: &mut DecodeContext<'_>, bytes: &StructBytes<4>) {
    put!(context, "[{}]", bytes.i32(0));
}

/// The argument, which depends on the request.
pub(crate) const ARGUMENT: ArgumentKind = ArgumentKind::new(|context, index| {
    let value = context.argument(index);
    match context.argument(index - 1) & 0xffff_ffff {
        TCGETS => return context.filled(index, terminal::write),
        0x5402..=0x5404 => context.structure(value, terminal::write),
        TIOCGWINSZ => return context.filled(index, window),
        TIOCSWINSZ => context.structure(value, window),
        TIOCGPGRP | TIOCOUTQ | FIONREAD | TIOCGSID | TIOCGPTN | 0x5415 | 0x5424 => {
            return context.filled(index, number);
        }
        TIOCSPGRP | FIONBIO | TIOCSPTLCK | 0x5416..=0x5418 | 0x5423 => {
            context.structure(value, number);
        }
        // FIOCLEX, FIONCLEX, TIOCEXCL, TIOCNXCL, TIOCNOTTY, TIOCSBRK, TIOCCBRK, TIOCCONS
        0x5451 | 0x5450 | 0x540c | 0x540d | 0x5422 | 0x5427 | 0x5428 | 0x541d | 0x541f | 0x5437 => {
            return Outcome::Skip;
        }
        // TCSBRK, TCXONC, TCFLSH, TIOCSCTTY, TCSBRKP: the argument is a number itself.
        0x5409 | 0x540e | 0x5425 => put!(context, "{}", value as i32),
        0x540a => choice(context, value, &["TCOOFF", "TCOON", "TCIOFF", "TCION"]),
        0x540b => choice(context, value, &["TCIFLUSH", "TCOFLUSH", "TCIOFLUSH"]),
        0x4004_9409 => context.descriptor(value as i32),
        0x8933 | 0x8913 | 0x8915 | 0x891b | 0x8919 | 0x8921 | 0x8927 | 0x8910 => {
            return interface(context, index);
        }
        _ => context.hex(value),
    }
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Both, 44)]);

fn choice(context: &mut DecodeContext<'_>, value: u64, list: &[&str]) {
    context.named(value, |context| match list.get(value as usize) {
        Some(name) => context.put(name),
        None => put!(context, "{value:#x} /* TC??? */"),
    });
}

/// A request to a network interface: `{ifr_name="lo"}`, with the answer after it.
fn interface(context: &mut DecodeContext<'_>, index: usize) -> Outcome {
    let address = context.argument(index);
    let request = context.argument(index - 1) & 0xffff_ffff;
    let Some(bytes) = context.read::<40>(address) else {
        if !context.is_over() {
            context.pointer(address);
        }
        return Outcome::Done;
    };
    let name_end = bytes.0[..16].iter().position(|&byte| byte == 0).unwrap_or(16);
    if !context.is_over() {
        context.put("{");
        if request == 0x8910 {
            put!(context, "ifr_index={}", bytes.i32(16));
        } else {
            context.put("ifr_name=");
            context.quoted(&bytes.0[..name_end], false);
        }
        return Outcome::More;
    }
    if !context.has_failed() {
        context.put(", ");
        match request {
            0x8910 => {
                context.put("ifr_name=");
                context.quoted(&bytes.0[..name_end], false);
            }
            0x8933 => put!(context, "ifr_ifindex={}", bytes.i32(16)),
            0x8913 => {
                context.put("ifr_flags=");
                context.constant(&INTERFACE, u64::from(bytes.u16(16)));
            }
            0x8921 => put!(context, "ifr_mtu={}", bytes.i32(16)),
            _ => {
                context.put(match request {
                    0x8915 => "ifr_addr=",
                    0x8919 => "ifr_broadaddr=",
                    0x891b => "ifr_netmask=",
                    _ => "ifr_hwaddr=",
                });
                super::address::at(context, address.wrapping_add(16), 16);
            }
        }
    }
    context.put("}");
    Outcome::Done
}

/// The state of a network interface.
static INTERFACE: crate::flags::Flags = crate::flags::Flags {
    unknown: "IFF_???",
    names: crate::flags::names![
        (1, "IFF_UP"),
        (2, "IFF_BROADCAST"),
        (4, "IFF_DEBUG"),
        (8, "IFF_LOOPBACK"),
        (0x10, "IFF_POINTOPOINT"),
        (0x20, "IFF_NOTRAILERS"),
        (0x40, "IFF_RUNNING"),
        (0x80, "IFF_NOARP"),
        (0x100, "IFF_PROMISC"),
        (0x200, "IFF_ALLMULTI"),
        (0x400, "IFF_MASTER"),
        (0x800, "IFF_SLAVE"),
        (0x1000, "IFF_MULTICAST"),
        (0x2000, "IFF_PORTSEL"),
        (0x4000, "IFF_AUTOMEDIA"),
        (0x8000, "IFF_DYNAMIC"),
    ],
};

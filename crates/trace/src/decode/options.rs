//! Options of sockets: their names, and the common values.

use super::{ArgumentKind, CapturePhase, DecodeContext, Outcome, StructBytes, put, reads};
use crate::flags::{Names, errors, network as names};

/// The names of a level's options.
fn options_of(level: i32) -> Option<&'static Names> {
    Some(match level {
        libc::SOL_SOCKET => &names::SOCKET_OPTION,
        libc::SOL_TCP => &names::TCP_OPTION,
        libc::SOL_IP => &names::IP_OPTION,
        libc::SOL_IPV6 => &names::IPV6_OPTION,
        libc::SOL_UDP => &names::UDP_OPTION,
        libc::SOL_NETLINK => &names::NETLINK_OPTION,
        _ => return None,
    })
}

/// A socket option, which depends on the level before it.
pub(crate) const OPTION: ArgumentKind = ArgumentKind::new(|context, index| {
    let option = context.argument(index) & 0xffff_ffff;
    match options_of(context.argument(index - 1) as i32) {
        Some(list) => context.constant(list, option),
        None => put!(context, "{option}"),
    }
    Outcome::Done
});

/// Writes the value of an option.
fn value(context: &mut DecodeContext<'_>, index: usize, length: u64) {
    let address = context.argument(index);
    let (level, option) = (context.argument(index - 2) as i32, context.argument(index - 1) as i32);
    let is_socket = level == libc::SOL_SOCKET;
    match (is_socket, option, length) {
        (true, libc::SO_LINGER, 8) => context.structure::<8>(address, |context, bytes| {
            put!(context, "{{l_onoff={}, l_linger={}}}", bytes.i32(0), bytes.i32(4));
        }),
        (true, libc::SO_RCVTIMEO | libc::SO_SNDTIMEO, 16) => {
            context.structure::<16>(address, |context, bytes| {
                put!(context, "{{tv_sec={}, tv_usec={}}}", bytes.i64(0), bytes.u64(8));
            });
        }
        (true, libc::SO_PEERCRED, 12) => context.structure::<12>(address, |context, bytes| {
            let (pid, uid, gid) = (bytes.i32(0), bytes.u32(4), bytes.u32(8));
            put!(context, "{{pid={pid}, uid={uid}, gid={gid}}}");
        }),
        (true, libc::SO_BINDTODEVICE, _) | (false, 13, _) => context.data(address, length),
        (true, libc::SO_ATTACH_FILTER | libc::SO_ATTACH_REUSEPORT_CBPF, 16) => {
            context.structure::<16>(address, |context, bytes| {
                put!(context, "{{len={}, filter={:#x}}}", bytes.u16(0), bytes.u64(8));
            });
        }
        (true, libc::SO_ERROR, 4) => context.structure(address, error_value),
        (_, _, 4) => context.structure::<4>(address, |context, bytes| {
            put!(context, "[{}]", bytes.i32(0));
        }),
        _ => context.data(address, length),
    }
}

fn error_value(context: &mut DecodeContext<'_>, bytes: &StructBytes<4>) {
    match errors::name(bytes.i32(0)) {
        Some(name) => put!(context, "[{name}]"),
        None => put!(context, "[{}]", bytes.i32(0)),
    }
}

/// A value that is set; the next argument is its length.
pub(crate) const VALUE_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    match u64::try_from(context.argument(index + 1) as i32) {
        Ok(length) if length > 0 => value(context, index, length),
        _ => context.pointer(context.argument(index)),
    }
    Outcome::Done
})
.reading(&[reads::counted(CapturePhase::Enter, 1, 1)]);

/// A value that is returned; the next argument points to its length.
pub(crate) const VALUE_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    let length_at = context.argument(index + 1);
    let length = context.read::<4>(length_at).map(|bytes| bytes.u32(0));
    if !context.is_over() {
        context.remember(index + 1, length);
        return Outcome::Later;
    }
    match length {
        Some(length) if !context.has_failed() => value(context, index, u64::from(length)),
        _ => context.pointer(context.argument(index)),
    }
    Outcome::Done
})
.reading(&[reads::behind(CapturePhase::Exit, 1)]);

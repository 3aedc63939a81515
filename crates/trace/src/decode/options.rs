//! Options of sockets: which, and the values that people look at.

use super::{Bytes, Kind, Outcome, Scene, When, put, reads};
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

/// An option, which depends on the level before it.
pub(crate) const OPTION: Kind = Kind::new(|scene, index| {
    let option = scene.argument(index) & 0xffff_ffff;
    match options_of(scene.argument(index - 1) as i32) {
        Some(list) => list.write(option, scene.out),
        None => put!(scene, "{option}"),
    }
    Outcome::Done
});

/// Writes the value of an option.
fn value(scene: &mut Scene<'_>, index: usize, length: u64) {
    let address = scene.argument(index);
    let (level, option) = (scene.argument(index - 2) as i32, scene.argument(index - 1) as i32);
    let is_socket = level == libc::SOL_SOCKET;
    match (is_socket, option, length) {
        (true, libc::SO_LINGER, 8) => scene.structure::<8>(address, |scene, bytes| {
            put!(scene, "{{l_onoff={}, l_linger={}}}", bytes.i32(0), bytes.i32(4));
        }),
        (true, libc::SO_RCVTIMEO | libc::SO_SNDTIMEO, 16) => {
            scene.structure::<16>(address, |scene, bytes| {
                put!(scene, "{{tv_sec={}, tv_usec={}}}", bytes.i64(0), bytes.u64(8));
            });
        }
        (true, libc::SO_PEERCRED, 12) => scene.structure::<12>(address, |scene, bytes| {
            let (pid, uid, gid) = (bytes.i32(0), bytes.u32(4), bytes.u32(8));
            put!(scene, "{{pid={pid}, uid={uid}, gid={gid}}}");
        }),
        (true, libc::SO_BINDTODEVICE, _) | (false, 13, _) => scene.data(address, length),
        (true, libc::SO_ATTACH_FILTER | libc::SO_ATTACH_REUSEPORT_CBPF, 16) => {
            scene.structure::<16>(address, |scene, bytes| {
                put!(scene, "{{len={}, filter={:#x}}}", bytes.u16(0), bytes.u64(8));
            });
        }
        (true, libc::SO_ERROR, 4) => scene.structure(address, error_value),
        (_, _, 4) => scene.structure::<4>(address, |scene, bytes| {
            put!(scene, "[{}]", bytes.i32(0));
        }),
        _ => scene.data(address, length),
    }
}

fn error_value(scene: &mut Scene<'_>, bytes: &Bytes<4>) {
    match errors::name(bytes.i32(0)) {
        Some(name) => put!(scene, "[{name}]"),
        None => put!(scene, "[{}]", bytes.i32(0)),
    }
}

/// A value that is set; the next argument is its length.
pub(crate) const VALUE_IN: Kind = Kind::new(|scene, index| {
    match u64::try_from(scene.argument(index + 1) as i32) {
        Ok(length) if length > 0 => value(scene, index, length),
        _ => scene.pointer(scene.argument(index)),
    }
    Outcome::Done
})
.reading(&[reads::counted(When::Enter, 1, 1)]);

/// A value that is asked for; the next argument points to its length.
pub(crate) const VALUE_OUT: Kind = Kind::new(|scene, index| {
    let length_at = scene.argument(index + 1);
    let length = scene.read::<4>(length_at).map(|bytes| bytes.u32(0));
    if !scene.is_over() {
        scene.remember(index + 1, length);
        return Outcome::Later;
    }
    match length {
        Some(length) if !scene.has_failed() => value(scene, index, u64::from(length)),
        _ => scene.pointer(scene.argument(index)),
    }
    Outcome::Done
})
.reading(&[reads::behind(When::Exit, 1)]);

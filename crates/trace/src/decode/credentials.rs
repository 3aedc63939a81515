//! Users, groups and capabilities.

use super::{Bytes, Kind, Outcome, Scene, When, numbers, put, reads};
use crate::flags::process as names;

/// A user or group that the kernel fills in: `[0]`.
pub(crate) const ID_OUT: Kind = Kind::new(|scene, index| {
    scene.filled::<4>(index, |scene, bytes| {
        scene.put("[");
        numbers::id(scene, bytes.u32(0));
        scene.put("]");
    })
})
.reading(&[reads::fixed(When::Exit, 4)])
.of_any_width();

fn groups(scene: &mut Scene<'_>, address: u64, count: u64) {
    scene.array::<4>(address, count, |scene, bytes| numbers::id(scene, bytes.u32(0)));
}

/// Groups that are set; the argument before is their number.
pub(crate) const GROUPS_IN: Kind = Kind::new(|scene, index| {
    groups(scene, scene.argument(index), scene.argument(index - 1) & 0xffff_ffff);
    Outcome::Done
})
.reading(&[reads::counted(When::Enter, 255, 4)]);

/// Groups that are asked for; the result is their number.
pub(crate) const GROUPS_OUT: Kind = Kind::new(|scene, index| {
    if !scene.is_over() {
        return Outcome::Later;
    }
    let address = scene.argument(index);
    if scene.has_failed() {
        scene.pointer(address);
    } else {
        groups(scene, address, scene.count());
    }
    Outcome::Done
})
.reading(&[reads::resulting(4)]);

fn header(scene: &mut Scene<'_>, bytes: &Bytes<8>) {
    let version = match bytes.u32(0) {
        0x1998_0330 => "_LINUX_CAPABILITY_VERSION_1",
        0x2007_1026 => "_LINUX_CAPABILITY_VERSION_2",
        0x2008_0522 => "_LINUX_CAPABILITY_VERSION_3",
        _ => "",
    };
    scene.put("{version=");
    if version.is_empty() {
        scene.hex(u64::from(bytes.u32(0)));
        scene.put(" /* _LINUX_CAPABILITY_VERSION_??? */");
    } else {
        scene.put(version);
    }
    put!(scene, ", pid={}}}", bytes.i32(4));
}

/// Whose capabilities, and in which layout.
pub(crate) const HEADER: Kind = Kind::new(|scene, index| {
    scene.structure(scene.argument(index), header);
    Outcome::Done
})
.reading(&[reads::fixed(When::Enter, 8)])
.of_any_width();

/// Writes a set of capabilities: `1<<CAP_CHOWN|1<<CAP_KILL`.
fn set(scene: &mut Scene<'_>, bits: u64) {
    if bits == 0 {
        scene.put("0");
        return;
    }
    let mut rest = bits;
    let mut bar = "";
    for (number, name) in names::CAPABILITY.names {
        if rest >> number & 1 != 0 {
            put!(scene, "{bar}1<<{name}");
            rest &= !(1 << number);
            bar = "|";
        }
    }
    if rest != 0 {
        put!(scene, "{bar}{rest:#x}");
    }
}

fn data(scene: &mut Scene<'_>, bytes: &Bytes<24>) {
    let whole = |at: usize| u64::from(bytes.u32(at)) | u64::from(bytes.u32(at + 12)) << 32;
    for (name, at) in [("{effective=", 0), (", permitted=", 4), (", inheritable=", 8)] {
        scene.put(name);
        set(scene, whole(at));
    }
    scene.put("}");
}

/// Capabilities that are set.
pub(crate) const DATA_IN: Kind = Kind::new(|scene, index| {
    scene.structure(scene.argument(index), data);
    Outcome::Done
})
.reading(&[reads::fixed(When::Enter, 24)])
.of_any_width();

/// Capabilities that are asked for.
pub(crate) const DATA_OUT: Kind = Kind::new(|scene, index| scene.filled(index, data))
    .reading(&[reads::fixed(When::Exit, 24)])
    .of_any_width();

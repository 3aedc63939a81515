//! Calls on files: how they are opened, listed, copied.

use super::{Bytes, Kind, Outcome, Scene, When, numbers, put, reads};
use crate::flags::files as names;

/// Writes how a file is opened: `O_RDWR|O_CREAT`.
pub(crate) fn open_flags(scene: &mut Scene<'_>, bits: u64) {
    scene.put(["O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"][(bits & 3) as usize]);
    if bits & !3 != 0 {
        scene.put("|");
        names::OPEN.write_rest(bits & !3, scene.out);
    }
}

/// How a file is opened.
pub(crate) const OPEN: Kind = Kind::new(|scene, index| {
    open_flags(scene, scene.argument(index) & 0xffff_ffff);
    Outcome::Done
});

/// The mode of a file that `open` makes; without `O_CREAT` or `O_TMPFILE` it is not looked at.
pub(crate) const OPEN_MODE: Kind = Kind::new(|scene, index| {
    const MAKES: u64 = 0x40 | 0x40_0000;
    if scene.argument(index - 1) & MAKES == 0 {
        return Outcome::Skip;
    }
    numbers::MODE.write(scene, index)
});

fn open_how(scene: &mut Scene<'_>, bytes: &Bytes<24>) {
    const RESOLVE: &[(u64, &str)] = &[
        (1, "RESOLVE_NO_XDEV"),
        (2, "RESOLVE_NO_MAGICLINKS"),
        (4, "RESOLVE_NO_SYMLINKS"),
        (8, "RESOLVE_BENEATH"),
        (0x10, "RESOLVE_IN_ROOT"),
        (0x20, "RESOLVE_CACHED"),
    ];
    static RESOLVES: crate::flags::Flags =
        crate::flags::Flags { unknown: "RESOLVE_???", names: RESOLVE };
    scene.put("{flags=");
    open_flags(scene, bytes.u64(0));
    if bytes.u64(0) & 0x40_0040 != 0 || bytes.u64(8) != 0 {
        put!(scene, ", mode={}", numbers::Mode(bytes.u64(8) as u16));
    }
    scene.put(", resolve=");
    RESOLVES.write(bytes.u64(16), scene.out);
    scene.put("}");
}

/// `struct open_how`.
pub(crate) const OPEN_HOW: Kind = Kind::new(|scene, index| {
    let address = scene.argument(index);
    if scene.argument(index + 1) < 24 {
        scene.pointer(address);
    } else {
        scene.structure(address, open_how);
    }
    Outcome::Done
})
.reading(&[reads::fixed(When::Enter, 24)])
.of_any_width();

/// What may be done with a file (`access`): `F_OK`, `R_OK|W_OK`.
pub(crate) const ACCESS: Kind = Kind::new(|scene, index| {
    match scene.argument(index) & 0xffff_ffff {
        0 => scene.put("F_OK"),
        bits => names::ACCESS.write(bits, scene.out),
    }
    Outcome::Done
});

/// When the kernel asks others for a file's state (`statx`), and the flags of all calls in `at`.
pub(crate) const STATX_FLAGS: Kind = Kind::new(|scene, index| {
    const SYNC: u64 = 0x6000;
    let bits = scene.argument(index) & 0xffff_ffff;
    scene.put(match bits & SYNC {
        0 => "AT_STATX_SYNC_AS_STAT",
        0x2000 => "AT_STATX_FORCE_SYNC",
        0x4000 => "AT_STATX_DONT_SYNC",
        _ => "AT_STATX_FORCE_SYNC|AT_STATX_DONT_SYNC",
    });
    if bits & !SYNC != 0 {
        scene.put("|");
        names::AT.write_rest(bits & !SYNC, scene.out);
    }
    Outcome::Done
});

/// A folder's entries: `0x7f0000001000 /* 5 entries */`, or all of them (`-v`).
pub(crate) const ENTRIES_64: Kind =
    Kind::new(|scene, index| entries(scene, index, true)).reading(&[reads::resulting(1)]);
/// The same in the old layout.
pub(crate) const ENTRIES: Kind =
    Kind::new(|scene, index| entries(scene, index, false)).reading(&[reads::resulting(1)]);

/// Bytes of entries that are looked at: a C library asks for 32 KiB.
const ENTRIES_BYTES_MAX: u64 = 1 << 20;

fn entries(scene: &mut Scene<'_>, index: usize, is_64: bool) -> Outcome {
    if !scene.is_over() {
        return Outcome::Later;
    }
    let address = scene.argument(index);
    let length = scene.count().min(ENTRIES_BYTES_MAX);
    if scene.has_failed() {
        scene.pointer(address);
        return Outcome::Done;
    }
    let bytes = scene.read_some(address, length as usize);
    let is_cut = (bytes.len() as u64) < length;
    let mut rest = &bytes[..];
    let mut count = 0_u64;
    if scene.style.whole {
        scene.put("[");
    }
    while let Some(head) = rest.first_chunk::<19>() {
        let head = Bytes(*head);
        let size = usize::from(head.u16(16));
        let Some(entry) = rest.get(..size).filter(|entry| entry.len() > head.0.len()) else {
            break;
        };
        if scene.style.whole {
            scene.put(if count > 0 { ", " } else { "" });
            write_entry(scene, &head, entry, is_64);
        }
        count += 1;
        rest = &rest[size..];
    }
    if scene.style.whole {
        scene.put(if is_cut { ", ...]" } else { "]" });
    } else if is_cut {
        scene.pointer(address);
    } else {
        let plural = if count == 1 { "y" } else { "ies" };
        scene.pointer(address);
        put!(scene, " /* {count} entr{plural} */");
    }
    Outcome::Done
}

fn write_entry(scene: &mut Scene<'_>, head: &Bytes<19>, entry: &[u8], is_64: bool) {
    const TYPES: &[(u8, &str)] = &[
        (0, "DT_UNKNOWN"),
        (1, "DT_FIFO"),
        (2, "DT_CHR"),
        (4, "DT_DIR"),
        (6, "DT_BLK"),
        (8, "DT_REG"),
        (10, "DT_LNK"),
        (12, "DT_SOCK"),
        (14, "DT_WHT"),
    ];
    let write_type =
        |scene: &mut Scene<'_>, number: u8| match TYPES.iter().find(|(kind, _)| *kind == number) {
            Some((_, name)) => put!(scene, ", d_type={name}"),
            None => put!(scene, ", d_type={number:#x} /* DT_??? */"),
        };
    let size = entry.len();
    put!(scene, "{{d_ino={}, d_off={}, d_reclen={size}", head.u64(0), head.i64(8));
    if is_64 {
        write_type(scene, head.0[18]);
    }
    scene.put(", d_name=");
    let name = &entry[if is_64 { 19 } else { 18 }..];
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    scene.quoted(&name[..end], false);
    if !is_64 {
        write_type(scene, entry[size - 1]);
    }
    scene.put("}");
}

/// Where to go on, before and after: `[0] => [4096]`.
pub(crate) const POSITION_INOUT: Kind = Kind::new(|scene, index| {
    let address = scene.argument(index);
    let now = scene.read::<8>(address).map(|bytes| bytes.u64(0));
    if !scene.is_over() {
        match now {
            Some(position) => put!(scene, "[{position}]"),
            None => {
                scene.pointer(address);
                return Outcome::Done;
            }
        }
        return Outcome::More;
    }
    match now {
        Some(position) if !scene.has_failed() && scene.count() > 0 => {
            put!(scene, " => [{position}]");
        }
        _ => {}
    }
    Outcome::Done
})
.reading(&[reads::fixed(When::Both, 8)])
.of_any_width();

/// Where to go on: `[3]`.
pub(crate) const POSITION_IN: Kind = Kind::new(|scene, index| {
    scene.structure::<8>(scene.argument(index), |scene, bytes| put!(scene, "[{}]", bytes.i64(0)));
    Outcome::Done
})
.reading(&[reads::fixed(When::Enter, 8)])
.of_any_width();

/// The priority of a swap file, and its flags.
pub(crate) const SWAP: Kind = Kind::new(|scene, index| {
    const PRIORITY: u64 = 0x7fff;
    let bits = scene.argument(index) & 0xffff_ffff;
    if bits & !PRIORITY != 0 {
        names::SWAP.write_rest(bits & !PRIORITY, scene.out);
        scene.put("|");
    }
    put!(scene, "{}", bits & PRIORITY);
    Outcome::Done
});

/// A file handle: how long it is, and of which kind.
pub(crate) const HANDLE_IN: Kind = Kind::new(|scene, index| {
    scene.structure::<8>(scene.argument(index), |scene, bytes| {
        put!(scene, "{{handle_bytes={}, handle_type={}", bytes.u32(0), bytes.i32(4));
        scene.put(", f_handle=");
        let length = u64::from(bytes.u32(0)).min(128);
        scene.style.hex_texts = 2;
        scene.style.text_limit = 128;
        let at = scene.argument(index).wrapping_add(8);
        scene.data(at, length);
        scene.put("}");
    });
    Outcome::Done
})
.reading(&[reads::fixed(When::Enter, 136)]);

/// The data that a file system takes, which is mostly a text.
pub(crate) const MOUNT_DATA: Kind = Kind::new(|scene, index| {
    let address = scene.argument(index);
    scene.text(address, scene.style.text_limit);
    Outcome::Done
})
.reading(&[reads::TEXT])
.of_any_width();

/// The kind of file system that `mount` takes: not looked at when there is one already.
pub(crate) const MOUNT_TYPE: Kind = Kind::new(|scene, index| {
    scene.text(scene.argument(index), scene.style.text_limit);
    Outcome::Done
})
.reading(&[reads::TEXT])
.of_any_width();

/// Events of `fanotify_mark` in the two words of a 32-bit program.
pub(crate) const FANOTIFY_PAIR: Kind = Kind::new(|scene, index| {
    names::FANOTIFY_EVENT.write(numbers::pair(scene, index) as u64, scene.out);
    Outcome::Done
});

/// A folder for `fanotify_mark`, where -1 has a name.
pub(crate) const FANOTIFY_DIRFD: Kind = Kind::new(|scene, index| {
    if scene.argument(index) as i32 == -1 {
        scene.put("FAN_NOFD");
        return Outcome::Done;
    }
    numbers::DIRFD.write(scene, index)
})
.naming(super::Named::Descriptor);

/// What a watch of whole file systems may do, and what it is told.
pub(crate) const FANOTIFY_INIT: Kind = Kind::new(|scene, index| {
    const CLASS: u64 = 0xc;
    static CLASSES: crate::flags::Names = crate::flags::Names {
        unknown: "FAN_CLASS_???",
        names: &[(0, "FAN_CLASS_NOTIF"), (4, "FAN_CLASS_CONTENT"), (8, "FAN_CLASS_PRE_CONTENT")],
    };
    let bits = scene.argument(index) & 0xffff_ffff;
    CLASSES.write(bits & CLASS, scene.out);
    if bits & !CLASS != 0 {
        scene.put("|");
        names::FANOTIFY_INIT.write_rest(bits & !CLASS, scene.out);
    }
    Outcome::Done
});

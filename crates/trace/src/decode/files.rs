//! Calls on files: how they are opened, listed, copied.

use super::{
    ArgumentKind, CaptureCount, CapturePhase, ConstantStyle, DecodeContext, Outcome, StructBytes,
    numbers, put, reads, text,
};
use crate::flags::files as names;

/// Writes the flags of `open`: `O_RDWR|O_CREAT`.
pub(crate) fn open_flags(context: &mut DecodeContext<'_>, bits: u64) {
    context.named(bits, |context| {
        context.put(["O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"][(bits & 3) as usize]);
        if bits & !3 != 0 {
            context.put("|");
            context.more_flags(&names::OPEN, bits & !3);
        }
    });
}

/// The flags of `open`.
pub(crate) const OPEN: ArgumentKind = ArgumentKind::new(|context, index| {
    open_flags(context, context.argument(index) & 0xffff_ffff);
    Outcome::Done
});

/// The mode of a file that `open` creates; without `O_CREAT` or `O_TMPFILE` it is ignored.
pub(crate) const OPEN_MODE: ArgumentKind = ArgumentKind::new(|context, index| {
    const MAKES: u64 = 0x40 | 0x40_0000;
    if context.argument(index - 1) & MAKES == 0 {
        return Outcome::Skip;
    }
    numbers::MODE.write(context, index)
});

fn open_how(context: &mut DecodeContext<'_>, bytes: &StructBytes<24>) {
    static RESOLVES: crate::flags::Flags = crate::flags::Flags {
        unknown: "RESOLVE_???",
        names: crate::flags::names![
            (1, "RESOLVE_NO_XDEV"),
            (2, "RESOLVE_NO_MAGICLINKS"),
            (4, "RESOLVE_NO_SYMLINKS"),
            (8, "RESOLVE_BENEATH"),
            (0x10, "RESOLVE_IN_ROOT"),
            (0x20, "RESOLVE_CACHED"),
        ],
    };
    context.put("{flags=");
    open_flags(context, bytes.u64(0));
    if bytes.u64(0) & 0x40_0040 != 0 || bytes.u64(8) != 0 {
        put!(context, ", mode={}", numbers::Mode(bytes.u64(8) as u16));
    }
    context.put(", resolve=");
    context.constant(&RESOLVES, bytes.u64(16));
}

/// `struct open_how`; the next argument is its size.
pub(crate) const OPEN_HOW: ArgumentKind = ArgumentKind::new(|context, index| {
    let address = context.argument(index);
    if context.argument(index + 1) < 24 {
        context.pointer(address);
    } else {
        context.structure(address, |context, bytes| {
            open_how(context, bytes);
            context.unknown_bytes(address, 24, context.argument(index + 1));
            context.put("}");
        });
    }
    Outcome::Done
})
.reading(&[reads::counted(CapturePhase::Enter, 1, 1)])
.of_any_width();

/// The mode of `access`: `F_OK`, `R_OK|W_OK`.
pub(crate) const ACCESS: ArgumentKind = ArgumentKind::new(|context, index| {
    match context.argument(index) & 0xffff_ffff {
        0 => context.named(0, |context| context.put("F_OK")),
        bits => context.constant(&names::ACCESS, bits),
    }
    Outcome::Done
});

/// The flags of `statx`: how the attributes are synchronized, and the `AT_` flags.
pub(crate) const STATX_FLAGS: ArgumentKind = ArgumentKind::new(|context, index| {
    const SYNC: u64 = 0x6000;
    let bits = context.argument(index) & 0xffff_ffff;
    let name = match bits & SYNC {
        0 => "AT_STATX_SYNC_AS_STAT",
        0x2000 => "AT_STATX_FORCE_SYNC",
        0x4000 => "AT_STATX_DONT_SYNC",
        _ => "AT_STATX_FORCE_SYNC|AT_STATX_DONT_SYNC",
    };
    // strace shows no number in place of the first.
    if bits & SYNC != 0 || context.style.constants != ConstantStyle::Number {
        context.named(bits & SYNC, |context| context.put(name));
    }
    if bits & !SYNC != 0 {
        context.put("|");
        context.more_flags(&names::AT, bits & !SYNC);
    }
    Outcome::Done
});

/// Directory entries: `0x7f0000001000 /* 5 entries */`, or all of them (`-v`).
pub(crate) const ENTRIES_64: ArgumentKind =
    ArgumentKind::new(|context, index| entries(context, index, true))
        .reading(&[reads::resulting(1)]);
/// Directory entries in the old layout.
pub(crate) const ENTRIES: ArgumentKind =
    ArgumentKind::new(|context, index| entries(context, index, false))
        .reading(&[reads::resulting(1)]);

/// Bytes of entries that are decoded: a C library asks for 32 KiB.
const ENTRIES_BYTES_MAX: u64 = 1 << 20;

fn entries(context: &mut DecodeContext<'_>, index: usize, is_64: bool) -> Outcome {
    if !context.is_over() {
        return Outcome::Later;
    }
    let address = context.argument(index);
    let length = context.count().min(ENTRIES_BYTES_MAX);
    if context.has_failed() {
        context.pointer(address);
        return Outcome::Done;
    }
    let bytes = context.read_some(address, length as usize);
    let is_cut = (bytes.len() as u64) < length;
    let mut rest = &bytes[..];
    let mut count = 0_u64;
    if context.style.whole {
        context.put("[");
    }
    while let Some(head) = rest.first_chunk::<19>() {
        let head = StructBytes(*head);
        let size = usize::from(head.u16(16));
        let Some(entry) = rest.get(..size).filter(|entry| entry.len() > head.0.len()) else {
            break;
        };
        if context.style.whole {
            context.put(if count > 0 { ", " } else { "" });
            write_entry(context, &head, entry, is_64);
        }
        count += 1;
        rest = &rest[size..];
    }
    if context.style.whole {
        context.put(if is_cut { ", ...]" } else { "]" });
    } else if is_cut {
        context.pointer(address);
    } else {
        let plural = if count == 1 { "y" } else { "ies" };
        context.pointer(address);
        put!(context, " /* {count} entr{plural} */");
    }
    Outcome::Done
}

fn write_entry(context: &mut DecodeContext<'_>, head: &StructBytes<19>, entry: &[u8], is_64: bool) {
    static TYPES: crate::flags::Names = crate::flags::Names {
        unknown: "DT_???",
        names: crate::flags::names![
            (0, "DT_UNKNOWN"),
            (1, "DT_FIFO"),
            (2, "DT_CHR"),
            (4, "DT_DIR"),
            (6, "DT_BLK"),
            (8, "DT_REG"),
            (10, "DT_LNK"),
            (12, "DT_SOCK"),
            (14, "DT_WHT"),
        ],
    };
    let write_type = |context: &mut DecodeContext<'_>, number: u8| {
        context.put(", d_type=");
        context.constant(&TYPES, number.into());
    };
    let size = entry.len();
    put!(context, "{{d_ino={}, d_off={}, d_reclen={size}", head.u64(0), head.i64(8));
    if is_64 {
        write_type(context, head.0[18]);
    }
    context.put(", d_name=");
    let name = &entry[if is_64 { 19 } else { 18 }..];
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    context.quoted(&name[..end], false);
    if !is_64 {
        write_type(context, entry[size - 1]);
    }
    context.put("}");
}

/// A file position, before and after: `[0] => [4096]`.
pub(crate) const POSITION_INOUT: ArgumentKind = ArgumentKind::new(|context, index| {
    let address = context.argument(index);
    let now = context.read::<8>(address).map(|bytes| bytes.u64(0));
    if !context.is_over() {
        match now {
            Some(position) => put!(context, "[{position}]"),
            None => {
                context.pointer(address);
                return Outcome::Done;
            }
        }
        return Outcome::More;
    }
    match now {
        Some(position) if !context.has_failed() && context.count() > 0 => {
            put!(context, " => [{position}]");
        }
        _ => {}
    }
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Both, 8)])
.of_any_width();

/// A file position: `[3]`.
pub(crate) const POSITION_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure::<8>(context.argument(index), |context, bytes| {
        put!(context, "[{}]", bytes.i64(0));
    });
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 8)])
.of_any_width();

/// The priority of a swap area, and its flags.
pub(crate) const SWAP: ArgumentKind = ArgumentKind::new(|context, index| {
    const PRIORITY: u64 = 0x7fff;
    let bits = context.argument(index) & 0xffff_ffff;
    if bits & !PRIORITY != 0 {
        context.more_flags(&names::SWAP, bits & !PRIORITY);
        context.put("|");
    }
    put!(context, "{}", bits & PRIORITY);
    Outcome::Done
});

/// A file handle: its length and its type.
pub(crate) const HANDLE_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure::<8>(context.argument(index), |context, bytes| {
        put!(context, "{{handle_bytes={}, handle_type={}", bytes.u32(0), bytes.i32(4));
        context.put(", f_handle=");
        let length = u64::from(bytes.u32(0)).min(128);
        context.style.text_limit = 128;
        let at = context.argument(index).wrapping_add(8);
        context.hex_data(at, length);
        context.put("}");
    });
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 136)]);

/// The data for a file system, which is mostly a string.
pub(crate) const MOUNT_DATA: ArgumentKind = ArgumentKind::new(|context, index| {
    let address = context.argument(index);
    context.text(address, context.style.text_limit);
    Outcome::Done
})
.reading(&[reads::TEXT])
.of_any_width();

/// The type of a file system for `mount`, which a remount ignores.
pub(crate) const MOUNT_TYPE: ArgumentKind = ArgumentKind::new(|context, index| {
    context.text(context.argument(index), context.style.text_limit);
    Outcome::Done
})
.reading(&[reads::TEXT])
.of_any_width();

/// Events of `fanotify_mark`, in two words of a 32-bit program.
pub(crate) const FANOTIFY_PAIR: ArgumentKind = ArgumentKind::new(|context, index| {
    context.constant(&names::FANOTIFY_EVENT, numbers::pair(context, index) as u64);
    Outcome::Done
});

/// A directory for `fanotify_mark`, where -1 has a name.
pub(crate) const FANOTIFY_DIRFD: ArgumentKind = ArgumentKind::new(|context, index| {
    if context.argument(index) as i32 == -1 {
        context.named_decimal(-1, |context| context.put("FAN_NOFD"));
        return Outcome::Done;
    }
    numbers::DIRFD.write(context, index)
})
.naming(super::Named::Descriptor);

/// The flags of `fanotify_init`: its class and the rest.
pub(crate) const FANOTIFY_INIT: ArgumentKind = ArgumentKind::new(|context, index| {
    const CLASS: u64 = 0xc;
    static CLASSES: crate::flags::Names = crate::flags::Names {
        unknown: "FAN_CLASS_???",
        names: crate::flags::names![
            (0, "FAN_CLASS_NOTIF"),
            (4, "FAN_CLASS_CONTENT"),
            (8, "FAN_CLASS_PRE_CONTENT")
        ],
    };
    let bits = context.argument(index) & 0xffff_ffff;
    context.constant(&CLASSES, bits & CLASS);
    if bits & !CLASS != 0 {
        context.put("|");
        context.more_flags(&names::FANOTIFY_INIT, bits & !CLASS);
    }
    Outcome::Done
});

/// The key of `fsconfig`; commands without a value have none.
pub(crate) const CONFIG_KEY: ArgumentKind =
    ArgumentKind::new(|context, index| match context.argument(1) & 0xffff_ffff {
        0..=5 => text::NAME.write(context, index),
        _ => numbers::POINTER.write(context, index),
    })
    .reading(&[reads::TEXT])
    .of_any_width();

/// The value of `fsconfig`, which depends on the command; the next argument is the length of bytes.
pub(crate) const CONFIG_VALUE: ArgumentKind = ArgumentKind::new(|context, index| {
    match context.argument(1) & 0xffff_ffff {
        1 => text::NAME.write(context, index),
        2 => {
            let length = context.argument(index + 1) as i32;
            let Ok(length) = u64::try_from(length) else {
                return numbers::POINTER.write(context, index);
            };
            // Bytes are no text, whatever is in them.
            context.hex_data(context.argument(index), length);
            Outcome::Done
        }
        3 | 4 => text::PATH.write(context, index),
        _ => numbers::POINTER.write(context, index),
    }
})
.reading(&[reads::TEXT, reads::data(CapturePhase::Enter, CaptureCount::Argument(1))])
.of_any_width();

/// The last argument of `fsconfig`: a length, a directory, a descriptor.
pub(crate) const CONFIG_AUXILIARY: ArgumentKind =
    ArgumentKind::new(|context, index| match context.argument(1) & 0xffff_ffff {
        3 | 4 => numbers::DIRFD.write(context, index),
        5 => numbers::FD.write(context, index),
        _ => numbers::INT.write(context, index),
    });

//! Attributes of files and file systems: `stat`, `statx`, `statfs`.

use super::{
    ArgumentKind, CapturePhase, DecodeContext, StructBytes, numbers::Mode, put, reads, time,
};
use crate::flags::files as names;

/// Kinds of files, by the upper bits of a mode.
static FILE_TYPES: &[(u16, &str)] = &[
    (0o140_000, "S_IFSOCK"),
    (0o120_000, "S_IFLNK"),
    (0o100_000, "S_IFREG"),
    (0o060_000, "S_IFBLK"),
    (0o040_000, "S_IFDIR"),
    (0o020_000, "S_IFCHR"),
    (0o010_000, "S_IFIFO"),
];

/// Writes the mode of a file: `S_IFREG|0644`, `S_IFDIR|S_ISVTX|0777`.
pub(crate) fn file_mode(context: &mut DecodeContext<'_>, mode: u32) {
    let kind = (mode & 0o170_000) as u16;
    let name = FILE_TYPES.iter().find(|(number, _)| *number == kind).map(|(_, name)| *name);
    let Some(name) = name else {
        let number = Mode(mode as u16).to_string();
        if kind != 0 {
            return context.put(&number);
        }
        let number = number.as_bytes();
        return context.remarked(
            |out| out.extend_from_slice(number),
            |context| context.out.extend_from_slice(number),
        );
    };
    let number = |out: &mut Vec<u8>| out.extend_from_slice(format!("0{mode:o}").as_bytes());
    context.named_as(number, |context| {
        put!(context, "{name}|");
        let mut rest = mode & !0o170_000;
        for (bit, name) in [(0o4000, "S_ISUID"), (0o2000, "S_ISGID"), (0o1000, "S_ISVTX")] {
            if rest & bit != 0 {
                put!(context, "{name}|");
                rest &= !bit;
            }
        }
        put!(context, "{}", Mode(rest as u16));
    });
}

/// Writes a device: `makedev(0x8, 0x1)`.
pub(crate) fn device(context: &mut DecodeContext<'_>, device: u64) {
    let major = (device >> 32 & 0xffff_f000) | (device >> 8 & 0xfff);
    let minor = (device >> 12 & 0xffff_ff00) | (device & 0xff);
    makedev(context, device, major, minor);
}

fn makedev(context: &mut DecodeContext<'_>, device: u64, major: u64, minor: u64) {
    context.named(device, |context| {
        context.put("makedev(");
        context.hex(major);
        context.put(", ");
        context.hex(minor);
        context.put(")");
    });
}

fn is_device(mode: u32) -> bool {
    matches!(mode & 0o170_000, 0o020_000 | 0o060_000)
}

fn stat(context: &mut DecodeContext<'_>, bytes: &StructBytes<144>) {
    let mode = bytes.u32(24);
    context.put("{");
    if context.style.whole {
        context.put("st_dev=");
        device(context, bytes.u64(0));
        put!(context, ", st_ino={}, st_mode=", bytes.u64(8));
        file_mode(context, mode);
        put!(context, ", st_nlink={}", bytes.u64(16));
        put!(context, ", st_uid={}, st_gid={}", bytes.u32(28), bytes.u32(32));
        put!(context, ", st_blksize={}, st_blocks={}", bytes.i64(56), bytes.i64(64));
    } else {
        context.put("st_mode=");
        file_mode(context, mode);
    }
    if is_device(mode) {
        context.put(", st_rdev=");
        device(context, bytes.u64(40));
    } else {
        put!(context, ", st_size={}", bytes.i64(48));
    }
    if context.style.whole {
        for (name, at) in [("atime", 72), ("mtime", 88), ("ctime", 104)] {
            put!(context, ", st_{name}={}", bytes.i64(at));
            time::remark(context, bytes.i64(at), Some((bytes.u64(at + 8), 9)));
            put!(context, ", st_{name}_nsec={}", bytes.u64(at + 8));
        }
        context.put("}");
    } else {
        context.put(", ...}");
    }
}

/// `struct stat`.
pub(crate) const STAT: ArgumentKind =
    ArgumentKind::new(|context, index| context.filled(index, stat))
        .reading(&[reads::fixed(CapturePhase::Exit, 144)]);

fn statx(context: &mut DecodeContext<'_>, bytes: &StructBytes<256>) {
    let mode = u32::from(bytes.u16(28));
    context.put("{stx_mask=");
    context.constant(&names::STATX, u64::from(bytes.u32(0)));
    if context.style.whole {
        put!(context, ", stx_blksize={}", bytes.u32(4));
    }
    context.put(", stx_attributes=");
    context.constant(&names::STATX_ATTRIBUTES, bytes.u64(8));
    if context.style.whole {
        put!(context, ", stx_nlink={}", bytes.u32(16));
        put!(context, ", stx_uid={}, stx_gid={}", bytes.u32(20), bytes.u32(24));
    }
    context.put(", stx_mode=");
    file_mode(context, mode);
    if context.style.whole {
        put!(context, ", stx_ino={}", bytes.u64(32));
    }
    put!(context, ", stx_size={}", bytes.u64(40));
    if !context.style.whole {
        context.put(", ...}");
        return;
    }
    put!(context, ", stx_blocks={}, stx_attributes_mask=", bytes.u64(48));
    context.constant(&names::STATX_ATTRIBUTES, bytes.u64(56));
    for (name, at) in [("atime", 64), ("btime", 80), ("ctime", 96), ("mtime", 112)] {
        put!(context, ", stx_{name}={{tv_sec={}, tv_nsec={}}}", bytes.i64(at), bytes.u32(at + 8));
        time::remark(context, bytes.i64(at), Some((u64::from(bytes.u32(at + 8)), 9)));
    }
    for (name, at) in [("rdev", 128), ("dev", 136)] {
        put!(context, ", stx_{name}_major={}", bytes.u32(at));
        put!(context, ", stx_{name}_minor={}", bytes.u32(at + 4));
    }
    put!(context, ", stx_mnt_id=");
    context.hex(bytes.u64(144));
    put!(context, "}}");
}

/// `struct statx`.
pub(crate) const STATX: ArgumentKind =
    ArgumentKind::new(|context, index| context.filled(index, statx))
        .reading(&[reads::fixed(CapturePhase::Exit, 256)]);

fn statfs(context: &mut DecodeContext<'_>, bytes: &StructBytes<120>) {
    context.put("{f_type=");
    context.constant(&names::FILE_SYSTEM, bytes.u64(0));
    for (name, at) in
        [("bsize", 8), ("blocks", 16), ("bfree", 24), ("bavail", 32), ("files", 40), ("ffree", 48)]
    {
        put!(context, ", f_{name}={}", bytes.u64(at));
    }
    context.put(", f_fsid={val=[");
    context.hex(u64::from(bytes.u32(56)));
    context.put(", ");
    context.hex(u64::from(bytes.u32(60)));
    put!(context, "]}}, f_namelen={}, f_frsize={}", bytes.u64(64), bytes.u64(72));
    context.put(", f_flags=");
    context.constant(&names::FILE_SYSTEM_FLAGS, bytes.u64(80));
    context.put("}");
}

/// `struct statfs`.
pub(crate) const STATFS: ArgumentKind =
    ArgumentKind::new(|context, index| context.filled(index, statfs))
        .reading(&[reads::fixed(CapturePhase::Exit, 120)]);

/// A device number as `ustat` takes it.
pub(crate) const DEVICE: ArgumentKind = ArgumentKind::new(|context, index| {
    let number = context.argument(index) & 0xffff_ffff;
    makedev(context, number, number >> 8 & 0xfff, (number >> 12 & 0xfff00) | (number & 0xff));
    super::Outcome::Done
});

/// The mode of a file that `mknod` creates, with its type.
pub(crate) const FILE_MODE: ArgumentKind = ArgumentKind::new(|context, index| {
    file_mode(context, context.argument(index) as u32 & 0xffff);
    super::Outcome::Done
});

/// The device number for `mknod`; other types of files have none.
pub(crate) const NODE_DEVICE: ArgumentKind = ArgumentKind::new(|context, index| {
    if !is_device(context.argument(index - 1) as u32) {
        return super::Outcome::Skip;
    }
    let number = context.argument(index) & 0xffff_ffff;
    makedev(context, number, number >> 8 & 0xfff, (number >> 12 & 0xfff00) | (number & 0xff));
    super::Outcome::Done
});

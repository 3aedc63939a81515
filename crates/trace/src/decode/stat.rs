//! What is told of files and file systems: `stat`, `statx`, `statfs`.

use super::{Bytes, Kind, Scene, When, numbers::Mode, put, reads, time};
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
pub(crate) fn file_mode(scene: &mut Scene<'_>, mode: u32) {
    let kind = (mode & 0o170_000) as u16;
    let name = FILE_TYPES.iter().find(|(number, _)| *number == kind).map(|(_, name)| *name);
    let Some(name) = name else {
        put!(scene, "{}", Mode(mode as u16));
        return;
    };
    put!(scene, "{name}|");
    let mut rest = mode & !0o170_000;
    for (bit, name) in [(0o4000, "S_ISUID"), (0o2000, "S_ISGID"), (0o1000, "S_ISVTX")] {
        if rest & bit != 0 {
            put!(scene, "{name}|");
            rest &= !bit;
        }
    }
    put!(scene, "{}", Mode(rest as u16));
}

/// Writes a device: `makedev(0x8, 0x1)`.
pub(crate) fn device(scene: &mut Scene<'_>, device: u64) {
    let major = (device >> 32 & 0xffff_f000) | (device >> 8 & 0xfff);
    let minor = (device >> 12 & 0xffff_ff00) | (device & 0xff);
    makedev(scene, major, minor);
}

fn makedev(scene: &mut Scene<'_>, major: u64, minor: u64) {
    scene.put("makedev(");
    scene.hex(major);
    scene.put(", ");
    scene.hex(minor);
    scene.put(")");
}

fn is_device(mode: u32) -> bool {
    matches!(mode & 0o170_000, 0o020_000 | 0o060_000)
}

fn stat(scene: &mut Scene<'_>, bytes: &Bytes<144>) {
    let mode = bytes.u32(24);
    scene.put("{");
    if scene.style.whole {
        scene.put("st_dev=");
        device(scene, bytes.u64(0));
        put!(scene, ", st_ino={}, st_mode=", bytes.u64(8));
        file_mode(scene, mode);
        put!(scene, ", st_nlink={}", bytes.u64(16));
        put!(scene, ", st_uid={}, st_gid={}", bytes.u32(28), bytes.u32(32));
        put!(scene, ", st_blksize={}, st_blocks={}", bytes.i64(56), bytes.i64(64));
    } else {
        scene.put("st_mode=");
        file_mode(scene, mode);
    }
    if is_device(mode) {
        scene.put(", st_rdev=");
        device(scene, bytes.u64(40));
    } else {
        put!(scene, ", st_size={}", bytes.i64(48));
    }
    if scene.style.whole {
        for (name, at) in [("atime", 72), ("mtime", 88), ("ctime", 104)] {
            put!(scene, ", st_{name}={}", bytes.i64(at));
            time::remark(scene, bytes.i64(at), Some((bytes.u64(at + 8), 9)));
            put!(scene, ", st_{name}_nsec={}", bytes.u64(at + 8));
        }
        scene.put("}");
    } else {
        scene.put(", ...}");
    }
}

/// `struct stat`.
pub(crate) const STAT: Kind =
    Kind::new(|scene, index| scene.filled(index, stat)).reading(&[reads::fixed(When::Exit, 144)]);

fn statx(scene: &mut Scene<'_>, bytes: &Bytes<256>) {
    let mode = u32::from(bytes.u16(28));
    scene.put("{stx_mask=");
    names::STATX.write(u64::from(bytes.u32(0)), scene.out);
    if scene.style.whole {
        put!(scene, ", stx_blksize={}", bytes.u32(4));
    }
    scene.put(", stx_attributes=");
    names::STATX_ATTRIBUTES.write(bytes.u64(8), scene.out);
    if scene.style.whole {
        put!(scene, ", stx_nlink={}", bytes.u32(16));
        put!(scene, ", stx_uid={}, stx_gid={}", bytes.u32(20), bytes.u32(24));
    }
    scene.put(", stx_mode=");
    file_mode(scene, mode);
    if scene.style.whole {
        put!(scene, ", stx_ino={}", bytes.u64(32));
    }
    put!(scene, ", stx_size={}", bytes.u64(40));
    if !scene.style.whole {
        scene.put(", ...}");
        return;
    }
    put!(scene, ", stx_blocks={}, stx_attributes_mask=", bytes.u64(48));
    names::STATX_ATTRIBUTES.write(bytes.u64(56), scene.out);
    for (name, at) in [("atime", 64), ("btime", 80), ("ctime", 96), ("mtime", 112)] {
        put!(scene, ", stx_{name}={{tv_sec={}, tv_nsec={}}}", bytes.i64(at), bytes.u32(at + 8));
        time::remark(scene, bytes.i64(at), Some((u64::from(bytes.u32(at + 8)), 9)));
    }
    for (name, at) in [("rdev", 128), ("dev", 136)] {
        put!(scene, ", stx_{name}_major={}", bytes.u32(at));
        put!(scene, ", stx_{name}_minor={}", bytes.u32(at + 4));
    }
    put!(scene, ", stx_mnt_id=");
    scene.hex(bytes.u64(144));
    put!(scene, "}}");
}

/// `struct statx`.
pub(crate) const STATX: Kind =
    Kind::new(|scene, index| scene.filled(index, statx)).reading(&[reads::fixed(When::Exit, 256)]);

fn statfs(scene: &mut Scene<'_>, bytes: &Bytes<120>) {
    scene.put("{f_type=");
    names::FILE_SYSTEM.write(bytes.u64(0), scene.out);
    for (name, at) in
        [("bsize", 8), ("blocks", 16), ("bfree", 24), ("bavail", 32), ("files", 40), ("ffree", 48)]
    {
        put!(scene, ", f_{name}={}", bytes.u64(at));
    }
    scene.put(", f_fsid={val=[");
    scene.hex(u64::from(bytes.u32(56)));
    scene.put(", ");
    scene.hex(u64::from(bytes.u32(60)));
    put!(scene, "]}}, f_namelen={}, f_frsize={}", bytes.u64(64), bytes.u64(72));
    scene.put(", f_flags=");
    names::FILE_SYSTEM_FLAGS.write(bytes.u64(80), scene.out);
    scene.put("}");
}

/// `struct statfs`.
pub(crate) const STATFS: Kind =
    Kind::new(|scene, index| scene.filled(index, statfs)).reading(&[reads::fixed(When::Exit, 120)]);

/// A device as `ustat` takes it.
pub(crate) const DEVICE: Kind = Kind::new(|scene, index| {
    let number = scene.argument(index) & 0xffff_ffff;
    makedev(scene, number >> 8 & 0xfff, (number >> 12 & 0xfff00) | (number & 0xff));
    super::Outcome::Done
});

/// A mode that makes a file of a kind (`mknod`).
pub(crate) const FILE_MODE: Kind = Kind::new(|scene, index| {
    file_mode(scene, scene.argument(index) as u32 & 0xffff);
    super::Outcome::Done
});

/// A device that `mknod` makes; other kinds of files have none.
pub(crate) const NODE_DEVICE: Kind = Kind::new(|scene, index| {
    if !is_device(scene.argument(index - 1) as u32) {
        return super::Outcome::Skip;
    }
    let number = scene.argument(index) & 0xffff_ffff;
    makedev(scene, number >> 8 & 0xfff, (number >> 12 & 0xfff00) | (number & 0xff));
    super::Outcome::Done
});

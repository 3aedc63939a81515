//! `/proc/self/mountinfo` (proc_pid_mountinfo(5)):
//!
//! ```text
//! 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
//! ```
//!
//! The kernel writes blanks, tabs, newlines and backslashes in paths and sources as `\040`,
//! `\011`, `\012` and `\134`.  The parser leaves them so; [`unescape`] decodes them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use crate::scan::{lines, take_word};

/// A mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mount<'a> {
    /// The device number, `major:minor`; the same for every mount of the same filesystem.
    pub device: &'a [u8],
    /// The directory of the filesystem that is mounted: `/` for the whole filesystem.
    pub root: &'a [u8],
    /// The mount point.
    pub point: &'a [u8],
    /// The filesystem's type, with its subtype if it has one (`fuse.sshfs`).
    pub kind: &'a [u8],
    /// The mount source: a device, a server and path, or any word.
    pub source: &'a [u8],
    /// Options of the filesystem, separated by commas; for cgroup version 1 the controllers.
    pub options: &'a [u8],
}

/// The mounts, in the order in which they were mounted.  Lines of another form are left out.
pub fn parse_mountinfo(text: &[u8]) -> impl Iterator<Item = Mount<'_>> {
    lines(text).filter_map(parse_line)
}

fn parse_line(mut line: &[u8]) -> Option<Mount<'_>> {
    let _id = take_word(&mut line);
    let _parent = take_word(&mut line);
    let device = take_word(&mut line);
    let root = take_word(&mut line);
    let point = take_word(&mut line);
    let _options = take_word(&mut line);
    // Any number of optional fields, up to a single dash.
    loop {
        match take_word(&mut line) {
            b"-" => break,
            b"" => return None,
            _ => {}
        }
    }
    let kind = take_word(&mut line);
    let source = take_word(&mut line);
    let options = take_word(&mut line);
    let whole = device.contains(&b':') && !point.is_empty() && !kind.is_empty();
    whole.then_some(Mount { device, root, point, kind, source, options })
}

/// The mount point of this machine's unified cgroup hierarchy (cgroups(7)); only a mount of the
/// whole hierarchy counts.  Reads `/proc/self/mountinfo`, and allocates.
pub fn unified_hierarchy() -> Option<PathBuf> {
    let text = std::fs::read("/proc/self/mountinfo").ok()?;
    let is_whole = |mount: &Mount<'_>| mount.kind == b"cgroup2" && mount.root == b"/";
    let found = parse_mountinfo(&text).find(is_whole)?;
    Some(PathBuf::from(OsString::from_vec(unescape(found.point))))
}

/// Decodes the escapes: a backslash and three octal digits are one byte.  Allocates.
pub fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let code = match *after {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] if byte == b'\\' => {
                Some((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))
            }
            _ => None,
        };
        out.push(code.unwrap_or(byte));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_lines_and_broken_ones() {
        let text = b"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n\
            36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 shared:2 - fuse.sshfs u@h:/ rw\n\
            31 23 0:28 / /sys/fs/cgroup\n\nrubbish\n\
            33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu";
        let mounts: Vec<Mount> = parse_mountinfo(text).collect();
        assert_eq!(mounts.len(), 3);
        let root = Mount {
            device: b"254:0",
            root: b"/",
            point: b"/",
            kind: b"ext4",
            source: b"/dev/vda",
            options: b"rw,discard",
        };
        assert_eq!(mounts[0], root);
        assert_eq!(unescape(mounts[1].point), b"/mnt 2");
        assert_eq!((mounts[1].kind, mounts[1].root), (&b"fuse.sshfs"[..], &b"/mnt1"[..]));
        assert_eq!((mounts[2].kind, mounts[2].options), (&b"cgroup"[..], &b"rw,cpu"[..]));
    }

    #[test]
    fn escapes() {
        assert_eq!(unescape(b"a\\134b\\011c\\012"), b"a\\b\tc\n");
        assert_eq!(unescape(b"a\\13"), b"a\\13");
        assert_eq!(unescape(b"\\777\\"), b"\\777\\");
    }
}

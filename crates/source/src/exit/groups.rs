//! Paths of control groups by their ids: in the unified hierarchy, the inodes of directories.
//!
//! The hierarchy is walked when an unknown id appears, at most once in [`AGAIN_NS`]: about 10 µs a
//! group.  A group that existed only between two walks has no path.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirEntryExt as _;
use std::path::Path;

use procfs::mountinfo::unified_hierarchy;

/// Time between two walks.
const AGAIN_NS: u64 = 10_000_000_000;

/// Groups kept; further ones have no path.
const GROUPS_MAX: usize = 16_384;

/// Bytes of all their paths.
const BYTES_MAX: usize = 4 << 20;

/// Paths by id.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    paths: HashMap<u64, Vec<u8>>,
    walked_ns: Option<u64>,
}

impl Groups {
    /// The path of a group below the root of the hierarchy, `/` for the root itself.
    pub(crate) fn path(&mut self, id: u64, now_ns: u64) -> Option<&[u8]> {
        let due = self.walked_ns.is_none_or(|walked_ns| now_ns >= walked_ns + AGAIN_NS);
        if due && !self.paths.contains_key(&id) {
            self.walked_ns = Some(now_ns);
            self.walk();
        }
        self.paths.get(&id).map(Vec::as_slice)
    }

    fn walk(&mut self) {
        self.paths.clear();
        let Some(root) = unified_hierarchy() else { return };
        if let Ok(status) = rustix::fs::stat(&root) {
            self.paths.insert(status.st_ino, b"/".to_vec());
        }
        let mut bytes = 0;
        let mut left = vec![root.clone()];
        while let Some(directory) = left.pop() {
            let Ok(entries) = std::fs::read_dir(&directory) else { continue };
            for entry in entries.flatten() {
                if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    continue;
                }
                let path = entry.path();
                let below = path.strip_prefix(&root).unwrap_or(Path::new(""));
                let name = [b"/", below.as_os_str().as_bytes()].concat();
                bytes += name.len();
                if self.paths.len() >= GROUPS_MAX || bytes > BYTES_MAX {
                    return;
                }
                self.paths.insert(entry.ino(), name);
                left.push(path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_has_a_path_and_what_is_not_there_has_none_without_a_walk_each_time() {
        let Some(root) = unified_hierarchy() else { return };
        let id = rustix::fs::stat(&root).unwrap().st_ino;
        let mut groups = Groups::default();
        assert_eq!(groups.path(id, 1), Some(&b"/"[..]));
        assert_eq!(groups.path(u64::MAX, 2), None);
        assert_eq!(groups.walked_ns, Some(1));
        assert_eq!(groups.path(u64::MAX, 1 + AGAIN_NS), None);
        assert_eq!(groups.walked_ns, Some(1 + AGAIN_NS));
    }
}

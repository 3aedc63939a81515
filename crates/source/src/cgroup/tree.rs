//! The existing groups, with an open descriptor for each of their files.
//!
//! The tree is walked only when it has changed: version 2 counts its groups in the `cgroup.stat` of
//! the root, version 1 in `/proc/cgroups`; reading a removed group returns ENODEV.  Other changes
//! (a controller is enabled) are found by a walk at every [`WALK_READS`]th reading.  A walk costs
//! about five system calls per group; in a large tree that changes constantly walks are delayed, so
//! that they cost less than reading.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use procfs::Host;
use procfs::scan::KeyIndex;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use sample::State;

use super::hierarchy::{Content, Hierarchy};

/// Groups that are read.  A big container host has some thousand; a group is about 12 files.
pub(super) const GROUPS_MAX: usize = 4096;

/// Directories that a walk visits; groups beyond [`GROUPS_MAX`] are only counted.
const DIRECTORIES_MAX: usize = 65_536;

/// Readings between two walks of a tree whose count does not change.
const WALK_READS: u64 = 256;

/// The most descriptors kept, even if `RLIMIT_NOFILE` allows more.
const DESCRIPTORS_MAX: u64 = 65_536;

/// A cgroup.
pub(super) struct Group {
    /// The path from the root of the tree, which is `/`.
    pub(super) path: Vec<u8>,
    /// The files of the group, in the order of [`Hierarchy::files`].
    pub(super) files: Vec<Slot>,
    seen: bool,
}

/// A file of a group.
pub(super) struct Slot {
    pub(super) handle: Handle,
    /// The offsets of the keys at the previous reading.
    pub(super) keys: Option<KeyIndex>,
}

/// How to read a file.
pub(super) enum Handle {
    /// By a descriptor kept open.
    Kept(OwnedFd),
    /// By opening it each time: the limit of descriptors is reached.
    Reopen,
    /// Not at all: it does not exist, or may not be read.
    Missing,
}

/// All groups.
pub(super) struct Tree {
    pub(super) groups: Vec<Group>,
    /// Groups beyond the limit.
    pub(super) left_out: u64,
    kept: u64,
    kept_max: u64,
    walked: bool,
    reads_since_walk: u64,
    walk_size: u64,
    /// Paths still to walk, each terminated by a NUL, and the current one: kept, so that a walk
    /// without new groups allocates nothing.
    pending: Vec<u8>,
    current: Vec<u8>,
    path: PathBuf,
}

impl Tree {
    pub(super) fn new() -> Self {
        // Half of the limit is for others: the host's files, the recording.
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        Tree::with_descriptors(limit.min(DESCRIPTORS_MAX * 2) / 2)
    }

    pub(super) fn with_descriptors(kept_max: u64) -> Self {
        Tree {
            groups: Vec::new(),
            left_out: 0,
            kept: 0,
            kept_max,
            walked: false,
            reads_since_walk: 0,
            walk_size: u64::MAX,
            pending: Vec::new(),
            current: Vec::new(),
            path: PathBuf::new(),
        }
    }

    /// Walks the tree if necessary: `size` is the kernel's count of groups, `gone` says that a group
    /// has disappeared.
    ///
    /// # Errors
    /// If the root directory cannot be read.
    pub(super) fn refresh(
        &mut self,
        host: &mut Host,
        hierarchy: &Hierarchy,
        size: Option<u64>,
        gone: bool,
    ) -> Result<(), State> {
        self.reads_since_walk += 1;
        let size = size.unwrap_or(0);
        let changed = gone || size != self.walk_size;
        let patience = (self.groups.len() as u64 + self.left_out) / 64;
        let due = changed && self.reads_since_walk > patience;
        if self.walked && !due && self.reads_since_walk < WALK_READS {
            return Ok(());
        }
        self.walk(host, hierarchy)?;
        self.walked = true;
        self.walk_size = size;
        self.reads_since_walk = 0;
        Ok(())
    }

    fn walk(&mut self, host: &mut Host, hierarchy: &Hierarchy) -> Result<(), State> {
        self.groups.iter_mut().for_each(|group| group.seen = false);
        self.left_out = 0;
        let mut result = Err(State::Absent);
        for mount in hierarchy.trees() {
            match self.walk_mount(host, hierarchy, mount) {
                Ok(()) => result = Ok(()),
                Err(state) if result.is_err() => result = Err(state),
                Err(_) => {}
            }
        }
        result?;
        let kept = &mut self.kept;
        self.groups.retain(|group| {
            if !group.seen {
                *kept -= group.kept();
                host.add_calls(group.kept());
            }
            group.seen
        });
        self.open_missing(host, hierarchy);
        Ok(())
    }

    /// Walks one mount; unreadable directories below its root are skipped.
    fn walk_mount(
        &mut self,
        host: &mut Host,
        hierarchy: &Hierarchy,
        mount: &Path,
    ) -> Result<(), State> {
        self.pending.clear();
        self.pending.extend_from_slice(b"/\0");
        let mut directories = 0;
        while self.pop() && directories < DIRECTORIES_MAX {
            directories += 1;
            self.note(hierarchy);
            set_path(&mut self.path, mount, &self.current, None);
            let (pending, current) = (&mut self.pending, &self.current);
            let looked = host.for_each_name(&self.path, |name, is_directory| {
                if is_directory {
                    pending.extend_from_slice(if current == b"/" { b"" } else { current });
                    pending.push(b'/');
                    pending.extend_from_slice(name);
                    pending.push(0);
                }
            });
            if directories == 1 {
                looked?;
            }
        }
        Ok(())
    }

    /// Takes the last pending path into `current`.
    fn pop(&mut self) -> bool {
        if self.pending.pop().is_none() {
            return false;
        }
        let start = memchr::memrchr(0, &self.pending).map_or(0, |at| at + 1);
        self.current.clear();
        self.current.extend_from_slice(&self.pending[start..]);
        self.pending.truncate(start);
        true
    }

    /// Marks the group `current` as existing.
    fn note(&mut self, hierarchy: &Hierarchy) {
        let current = &self.current;
        match self.groups.binary_search_by(|group| group.path.cmp(current)) {
            Ok(index) => self.groups[index].seen = true,
            Err(_) if self.groups.len() >= GROUPS_MAX => self.left_out += 1,
            Err(index) => {
                let slot = |content| Slot { handle: Handle::Missing, keys: keys_of(content) };
                let files = hierarchy.files().iter().map(|file| slot(file.content)).collect();
                self.groups.insert(index, Group { path: current.clone(), files, seen: true });
            }
        }
    }

    /// Opens the files that are not open.
    fn open_missing(&mut self, host: &mut Host, hierarchy: &Hierarchy) {
        for group in &mut self.groups {
            for (slot, file) in group.files.iter_mut().zip(hierarchy.files()) {
                if !matches!(slot.handle, Handle::Missing) {
                    continue;
                }
                let Some(mount) = &hierarchy.mounts[file.mount] else { continue };
                set_path(&mut self.path, mount, &group.path, Some(file.name));
                slot.handle = match host.open(&self.path) {
                    Ok(file) if self.kept < self.kept_max => {
                        self.kept += 1;
                        Handle::Kept(file)
                    }
                    Ok(_) => Handle::Reopen,
                    Err(State::Failed(errno)) if is_out_of_descriptors(errno) => Handle::Reopen,
                    Err(_) => Handle::Missing,
                };
            }
        }
    }
}

impl Group {
    fn kept(&self) -> u64 {
        self.files.iter().filter(|slot| matches!(slot.handle, Handle::Kept(_))).count() as u64
    }
}

fn keys_of(content: Content) -> Option<KeyIndex> {
    match content {
        Content::Keys(keys, _) => Some(KeyIndex::new(keys)),
        _ => None,
    }
}

/// EMFILE and ENFILE.
fn is_out_of_descriptors(errno: i32) -> bool {
    errno == Errno::MFILE.raw_os_error() || errno == Errno::NFILE.raw_os_error()
}

/// Builds the path of a group or its file in `out`, which is reused.
pub(super) fn set_path(out: &mut PathBuf, mount: &Path, group: &[u8], file: Option<&str>) {
    out.clear();
    out.push(mount);
    let below = group.strip_prefix(b"/").unwrap_or(group);
    if !below.is_empty() {
        out.push(OsStr::from_bytes(below));
    }
    if let Some(file) = file {
        out.push(file);
    }
}

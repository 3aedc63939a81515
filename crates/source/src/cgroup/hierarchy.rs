//! The cgroup hierarchies of this machine, and the files of a group.
//!
//! Version 2 is one tree under one mount point; version 1 has a tree for each controller or set
//! of controllers.  Files of equal meaning have the same fields.  If both are mounted (systemd's
//! "hybrid": version 2 for systemd itself, the controllers in version 1), the version that has the
//! CPU and memory controllers is read.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use procfs::mountinfo::{parse_mountinfo, unescape};
use procfs::{FileId, Host, ReadMode};

use super::fields::*;

/// The version of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// The controllers of version 1 that are read.
pub(super) const CONTROLLERS: [&str; 5] = ["cpu", "cpuacct", "memory", "blkio", "pids"];

/// The mounted hierarchies.
#[derive(Debug)]
pub(super) struct Hierarchy {
    pub(super) version: Version,
    /// Mount points: of version 2 the one, of version 1 those of [`CONTROLLERS`] by index.
    pub(super) mounts: Vec<Option<PathBuf>>,
}

impl Hierarchy {
    /// Finds the mounted hierarchies; `None` without cgroups.  Allocates: for the first reading only.
    pub(super) fn find(host: &mut Host, mountinfo: FileId) -> Option<Hierarchy> {
        let (mut unified, mut ones) = (None, vec![None; CONTROLLERS.len()]);
        let path = |point: &[u8]| PathBuf::from(OsString::from_vec(unescape(point)));
        for mount in parse_mountinfo(host.read(mountinfo).ok()?) {
            match mount.kind {
                b"cgroup2" if unified.is_none() => unified = Some(path(mount.point)),
                b"cgroup" => {
                    for option in mount.options.split(|&byte| byte == b',') {
                        let index = CONTROLLERS.iter().position(|c| c.as_bytes() == option);
                        if let Some(index) = index {
                            ones[index].get_or_insert_with(|| path(mount.point));
                        }
                    }
                }
                _ => {}
            }
        }
        let has_one = ones.iter().any(Option::is_some);
        match unified {
            Some(point) if !has_one || controls(host, &point) => {
                Some(Hierarchy { version: Version::Two, mounts: vec![Some(point)] })
            }
            _ if has_one => Some(Hierarchy { version: Version::One, mounts: ones }),
            _ => None,
        }
    }

    /// The word for the field `hierarchy`.
    pub(super) fn word(&self) -> &'static [u8] {
        match self.version {
            Version::One => b"v1",
            Version::Two => b"v2",
        }
    }

    /// The files of each group.
    pub(super) fn files(&self) -> &'static [GroupFile] {
        match self.version {
            Version::One => FILES_ONE,
            Version::Two => FILES_TWO,
        }
    }

    /// The mount points to walk, each once: controllers may share one.
    pub(super) fn trees(&self) -> impl Iterator<Item = &PathBuf> {
        let mounts = self.mounts.iter().enumerate();
        mounts.filter_map(|(index, mount)| {
            let mount = mount.as_ref()?;
            let first = self.mounts.iter().position(|other| other.as_ref() == Some(mount));
            (first == Some(index)).then_some(mount)
        })
    }
}

/// Whether the tree of version 2 has the CPU or the memory controller.
fn controls(host: &mut Host, point: &std::path::Path) -> bool {
    let path = point.join("cgroup.controllers");
    let file = host.file(&path.to_string_lossy(), ReadMode::Whole);
    let words = host.read(file).map(<[u8]>::to_vec).unwrap_or_default();
    host.close(file);
    words.split(u8::is_ascii_whitespace).any(|word| word == b"cpu" || word == b"memory")
}

/// A file of a group, and its fields.
#[derive(Debug)]
pub(super) struct GroupFile {
    /// The mount with the file, as an index into [`Hierarchy::mounts`].
    pub(super) mount: usize,
    pub(super) name: &'static str,
    pub(super) content: Content,
}

/// The form of a file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    /// One number.
    Number(usize, Scale),
    /// Lines of key and number: the keys, and for each the field and its scale.
    Keys(&'static [&'static [u8]], &'static [(usize, Scale)]),
    /// `io.stat`.
    IoStat,
    /// `blkio.throttle.*`: the fields of reads and writes.
    Blkio(usize, usize),
    /// `*.pressure`: the fields of the totals of `some` and `full`.
    Pressure(usize, usize),
}

/// The conversion of a number to the unit of the field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scale {
    /// None.
    Same,
    /// Nanoseconds to microseconds.
    Nanoseconds,
    /// Ticks of `USER_HZ` to microseconds.
    Ticks,
    /// A limit: numbers near the maximum mean no limit.
    Limit,
}

use Content::{Blkio, IoStat, Keys, Number, Pressure};
use Scale::{Limit, Nanoseconds, Same, Ticks};

const fn two(name: &'static str, content: Content) -> GroupFile {
    GroupFile { mount: 0, name, content }
}

const FILES_TWO: &[GroupFile] = &[
    two(
        "cpu.stat",
        Keys(
            &[
                b"usage_usec ",
                b"user_usec ",
                b"system_usec ",
                b"nr_periods ",
                b"nr_throttled ",
                b"throttled_usec ",
            ],
            &[
                (CPU_USAGE, Same),
                (CPU_USER, Same),
                (CPU_SYSTEM, Same),
                (CPU_PERIODS, Same),
                (CPU_THROTTLED_PERIODS, Same),
                (CPU_THROTTLED, Same),
            ],
        ),
    ),
    two("memory.current", Number(MEMORY_CURRENT, Same)),
    two("memory.peak", Number(MEMORY_PEAK, Same)),
    two("memory.max", Number(MEMORY_MAX, Limit)),
    two("memory.swap.current", Number(SWAP_CURRENT, Same)),
    two(
        "memory.events",
        Keys(&[b"max ", b"oom_kill "], &[(MEMORY_LIMIT_HITS, Same), (OOM_KILLS, Same)]),
    ),
    two(
        "memory.stat",
        Keys(
            &[
                b"anon ",
                b"file ",
                b"kernel ",
                b"sock ",
                b"shmem ",
                b"file_dirty ",
                b"file_writeback ",
                b"slab ",
                b"pgfault ",
                b"pgmajfault ",
            ],
            &[
                (ANON, Same),
                (FILE, Same),
                (KERNEL, Same),
                (SOCK, Same),
                (SHMEM, Same),
                (FILE_DIRTY, Same),
                (FILE_WRITEBACK, Same),
                (SLAB, Same),
                (PAGE_FAULTS, Same),
                (MAJOR_FAULTS, Same),
            ],
        ),
    ),
    two("io.stat", IoStat),
    two("pids.current", Number(PIDS, Same)),
    two("cpu.pressure", Pressure(CPU_SOME, CPU_FULL)),
    two("memory.pressure", Pressure(MEMORY_SOME, MEMORY_FULL)),
    two("io.pressure", Pressure(IO_SOME, IO_FULL)),
];

const CPU: usize = 0;
const CPUACCT: usize = 1;
const MEMORY: usize = 2;
const BLKIO: usize = 3;
const PIDS_MOUNT: usize = 4;

const fn one(mount: usize, name: &'static str, content: Content) -> GroupFile {
    GroupFile { mount, name, content }
}

/// The `total_` keys of `memory.stat` and the `_recursive` files of blkio include descendants, as
/// all files of version 2 do.
const FILES_ONE: &[GroupFile] = &[
    one(CPUACCT, "cpuacct.usage", Number(CPU_USAGE, Nanoseconds)),
    one(
        CPUACCT,
        "cpuacct.stat",
        Keys(&[b"user ", b"system "], &[(CPU_USER, Ticks), (CPU_SYSTEM, Ticks)]),
    ),
    one(
        CPU,
        "cpu.stat",
        Keys(
            &[b"nr_periods ", b"nr_throttled ", b"throttled_time "],
            &[(CPU_PERIODS, Same), (CPU_THROTTLED_PERIODS, Same), (CPU_THROTTLED, Nanoseconds)],
        ),
    ),
    one(MEMORY, "memory.usage_in_bytes", Number(MEMORY_CURRENT, Same)),
    one(MEMORY, "memory.max_usage_in_bytes", Number(MEMORY_PEAK, Same)),
    one(MEMORY, "memory.limit_in_bytes", Number(MEMORY_MAX, Limit)),
    one(MEMORY, "memory.failcnt", Number(MEMORY_LIMIT_HITS, Same)),
    one(MEMORY, "memory.oom_control", Keys(&[b"oom_kill "], &[(OOM_KILLS, Same)])),
    one(MEMORY, "memory.kmem.usage_in_bytes", Number(KERNEL, Same)),
    one(
        MEMORY,
        "memory.stat",
        Keys(
            &[
                b"total_cache ",
                b"total_rss ",
                b"total_shmem ",
                b"total_dirty ",
                b"total_writeback ",
                b"total_swap ",
                b"total_pgfault ",
                b"total_pgmajfault ",
            ],
            &[
                (FILE, Same),
                (ANON, Same),
                (SHMEM, Same),
                (FILE_DIRTY, Same),
                (FILE_WRITEBACK, Same),
                (SWAP_CURRENT, Same),
                (PAGE_FAULTS, Same),
                (MAJOR_FAULTS, Same),
            ],
        ),
    ),
    one(BLKIO, "blkio.throttle.io_service_bytes_recursive", Blkio(IO_READ, IO_WRITTEN)),
    one(BLKIO, "blkio.throttle.io_serviced_recursive", Blkio(IO_READS, IO_WRITES)),
    one(PIDS_MOUNT, "pids.current", Number(PIDS, Same)),
];

impl Scale {
    /// The number in the field's unit; `None` for no limit.
    pub(super) fn apply(self, value: u64, ticks_per_second: u64) -> Option<u64> {
        /// Version 1 rounds the largest signed number down to a page.
        const NO_LIMIT: u64 = 1 << 62;
        match self {
            Scale::Same => Some(value),
            Scale::Nanoseconds => Some(value / 1000),
            Scale::Ticks => value.checked_mul(1_000_000 / ticks_per_second.max(1)),
            Scale::Limit => (value < NO_LIMIT).then_some(value),
        }
    }
}

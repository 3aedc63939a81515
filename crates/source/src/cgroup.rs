//! Cgroups: resource usage of each container, service and session, and its stalls.
//!
//! Reads about 12 small files for each group, one `pread` each on a descriptor that is kept open,
//! about 15 µs a group; `memory.stat`, which the kernel sums over all CPUs, is the most expensive.
//! Both versions of the interface have the same fields; values that one of them lacks are missing.
//!
//! [`Host::file`] is not used, since it keeps a buffer and a path for each file: 400 MB for 4,096
//! groups.  Here all files share one buffer.  Half of `RLIMIT_NOFILE` is used for open files; the
//! others are opened and closed each time, which is slower.  If no descriptor is left, the state
//! is `Failed(EMFILE)`.

mod devices;
mod fields;
mod hierarchy;
mod layout;
mod tree;

use std::path::PathBuf;

use procfs::cgroup::{parse_blkio, parse_cgroups, parse_io_stat};
use procfs::pressure::parse_pressure;
use procfs::scan::{KeyIndex, number, take_number};
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, State, Table};

use crate::{Entry, Source};
use devices::Devices;
use fields::{COUNT, FIELDS, GROUPS, GROUPS_LEFT_OUT, HIERARCHY};
use fields::{IO_READ, IO_READS, IO_WRITES, IO_WRITTEN};
use hierarchy::{CONTROLLERS, Content, Hierarchy, Version};
use tree::{Group, Handle, Tree, set_path};

/// Readings between two searches for a hierarchy that is not mounted.
const FIND_READS: u64 = 64;

struct Cgroup {
    mountinfo: FileId,
    cgroups: FileId,
    hierarchy: Option<Hierarchy>,
    size_file: Option<FileId>,
    tree: Tree,
    devices: Devices,
    ticks_per_second: u64,
    reads: u64,
    /// Whether a group had disappeared at the previous reading.
    gone: bool,
    buffer: Vec<u8>,
    path: PathBuf,
}

impl Cgroup {
    fn open(host: &mut Host, tree: Tree) -> Self {
        Cgroup {
            mountinfo: host.file("/proc/self/mountinfo", ReadMode::Records),
            cgroups: host.file("/proc/cgroups", ReadMode::Records),
            hierarchy: None,
            size_file: None,
            tree,
            devices: Devices::default(),
            ticks_per_second: rustix::param::clock_ticks_per_second(),
            reads: 0,
            gone: false,
            buffer: Vec::new(),
            path: PathBuf::new(),
        }
    }

    /// The kernel's count of groups, to notice whether the tree has changed.
    fn size(&mut self, host: &mut Host, version: Version) -> Option<u64> {
        match version {
            Version::Two => {
                let text = host.read(self.size_file?).ok()?;
                let mut lines = procfs::scan::lines(text);
                lines.find_map(|line| number(line.strip_prefix(b"nr_descendants ")?))
            }
            Version::One => {
                let text = host.read(self.cgroups).ok()?;
                let ours = parse_cgroups(text).filter(|(controller, _)| {
                    CONTROLLERS.iter().any(|ours| ours.as_bytes() == *controller)
                });
                Some(ours.fold(0u64, |sum, (_, count)| sum.saturating_add(count)))
            }
        }
    }

    /// Searches the mounts at the first reading, and every [`FIND_READS`] while there are none.
    fn find_hierarchy(&mut self, host: &mut Host) -> bool {
        if self.hierarchy.is_none() && self.reads.is_multiple_of(FIND_READS) {
            self.hierarchy = Hierarchy::find(host, self.mountinfo);
            if let Some(Hierarchy { version: Version::Two, mounts }) = &self.hierarchy
                && let Some(Some(mount)) = mounts.first()
            {
                let path = mount.join("cgroup.stat");
                self.size_file = Some(host.file(&path.to_string_lossy(), ReadMode::Whole));
            }
        }
        self.hierarchy.is_some()
    }
}

impl Source for Cgroup {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        let found = self.find_hierarchy(host);
        self.reads += 1;
        let version = match &self.hierarchy {
            Some(hierarchy) if found => hierarchy.version,
            // A list of mounts that may not be read does not mean that there are no cgroups.
            _ => return host.read(self.mountinfo).err().unwrap_or(State::Absent),
        };
        let size = self.size(host, version);
        let Some(hierarchy) = &self.hierarchy else { return State::Absent };
        if let Err(state) = self.tree.refresh(host, hierarchy, size, self.gone) {
            return state;
        }
        self.gone = false;
        let (groups, left_out) = (self.tree.groups.len() as u64, self.tree.left_out);
        let mut reader = GroupReader {
            host,
            hierarchy,
            devices: &mut self.devices,
            ticks_per_second: self.ticks_per_second,
            buffer: &mut self.buffer,
            path: &mut self.path,
        };
        for group in &mut self.tree.groups {
            let mut cells = [None; COUNT];
            match reader.read(group, &mut cells) {
                Ok(()) => {}
                Err(State::Absent) => {
                    self.gone = true;
                    continue;
                }
                Err(state) => return state,
            }
            if group.path == b"/" {
                cells[GROUPS] = Some(groups + left_out);
                cells[GROUPS_LEFT_OUT] = Some(left_out);
            }
            let mut row = table.row(&group.path);
            row.set_text(HIERARCHY, hierarchy.word());
            for (field, cell) in cells.into_iter().enumerate() {
                row.set_some(field, cell);
            }
        }
        State::Ok
    }
}

/// State for reading a group.
struct GroupReader<'a> {
    host: &'a mut Host,
    hierarchy: &'a Hierarchy,
    devices: &'a mut Devices,
    ticks_per_second: u64,
    buffer: &'a mut Vec<u8>,
    path: &'a mut PathBuf,
}

impl GroupReader<'_> {
    /// Reads every file of a group.
    ///
    /// # Errors
    /// [`State::Absent`] if the group is gone; other states if descriptors ran out.
    fn read(&mut self, group: &mut Group, cells: &mut [Option<u64>; COUNT]) -> Result<(), State> {
        for (slot, file) in group.files.iter_mut().zip(self.hierarchy.files()) {
            let read = match &slot.handle {
                Handle::Kept(open) => self.host.read_open(open, self.buffer),
                Handle::Missing => continue,
                Handle::Reopen => {
                    let Some(mount) = &self.hierarchy.mounts[file.mount] else { continue };
                    set_path(self.path, mount, &group.path, Some(file.name));
                    let open = self.host.open(self.path)?;
                    self.host.add_calls(1);
                    self.host.read_open(&open, self.buffer)
                }
            };
            match read {
                Ok(count) => {
                    if self.host.keeps_texts()
                        && let Some(mount) = &self.hierarchy.mounts[file.mount]
                    {
                        set_path(self.path, mount, &group.path, Some(file.name));
                        self.host.keep_text(self.path, &self.buffer[..count]);
                    }
                    self.fill(count, file.content, slot.keys.as_mut(), cells);
                }
                // A kernel without PSI, or with PSI disabled, always returns EOPNOTSUPP.
                Err(State::Absent) if matches!(file.content, Content::Pressure(..)) => {}
                Err(State::Absent) => return Err(State::Absent),
                // The cells of a file that fails are missing.
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Parses the buffer into the cells.
    fn fill(
        &mut self,
        count: usize,
        content: Content,
        keys: Option<&mut KeyIndex>,
        cells: &mut [Option<u64>; COUNT],
    ) {
        let (host, devices, mut text) =
            (&mut *self.host, &mut *self.devices, &self.buffer[..count]);
        let counts = |device: &[u8]| devices.counts(host, device);
        match content {
            Content::Number(field, scale) => {
                let value = take_number(&mut text);
                cells[field] = value.and_then(|value| scale.apply(value, self.ticks_per_second));
            }
            Content::Keys(_, targets) => {
                let Some(keys) = keys else { return };
                keys.scan(text, |key, value| {
                    let (field, scale) = targets[key];
                    cells[field] = scale.apply(value, self.ticks_per_second);
                });
            }
            Content::IoStat => {
                let totals = parse_io_stat(text, counts);
                cells[IO_READ] = Some(totals.read_bytes);
                cells[IO_WRITTEN] = Some(totals.written_bytes);
                cells[IO_READS] = Some(totals.reads);
                cells[IO_WRITES] = Some(totals.writes);
            }
            Content::Blkio(reads, writes) => {
                let (read, written) = parse_blkio(text, counts);
                cells[reads] = Some(read);
                cells[writes] = Some(written);
            }
            Content::Pressure(some, full) => {
                let pressure = parse_pressure(text);
                cells[some] = pressure.some.map(|stall| stall.total_us);
                cells[full] = pressure.full.map(|stall| stall.total_us);
            }
        }
    }
}

pub(crate) static ENTRY: Entry = Entry {
    name: "cgroup",
    about: "CPU, memory, I/O, processes and pressure of every cgroup, version 2 or 1",
    letters: "gG",
    reads: &[
        "/proc/self/mountinfo",
        "/proc/cgroups",
        "/sys/fs/cgroup/*/cpu.stat",
        "/sys/fs/cgroup/*/memory.current",
        "/sys/fs/cgroup/*/memory.peak",
        "/sys/fs/cgroup/*/memory.max",
        "/sys/fs/cgroup/*/memory.swap.current",
        "/sys/fs/cgroup/*/memory.events",
        "/sys/fs/cgroup/*/memory.stat",
        "/sys/fs/cgroup/*/io.stat",
        "/sys/fs/cgroup/*/pids.current",
        "/sys/fs/cgroup/*/cpu.pressure",
        "/sys/fs/cgroup/*/memory.pressure",
        "/sys/fs/cgroup/*/io.pressure",
        "/sys/fs/cgroup/cpuacct/cpuacct.usage",
        "/sys/fs/cgroup/cpuacct/cpuacct.stat",
        "/sys/fs/cgroup/cpu/cpu.stat",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.max_usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.failcnt",
        "/sys/fs/cgroup/memory/memory.oom_control",
        "/sys/fs/cgroup/memory/memory.kmem.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.stat",
        "/sys/fs/cgroup/blkio/blkio.throttle.io_service_bytes_recursive",
        "/sys/fs/cgroup/blkio/blkio.throttle.io_serviced_recursive",
        "/sys/fs/cgroup/pids/*/pids.current",
    ],
    instance: &["cgroup"],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[layout::SUMMARY, layout::DETAIL],
    open: |host, _| Box::new(Cgroup::open(host, Tree::new())),
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests;

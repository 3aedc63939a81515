//! Volumes: space and inodes of every filesystem that has some.
//!
//! Reads `/proc/self/mountinfo` and calls `statfs` for each filesystem, by default every 120 s.
//! No file is kept open on a volume: that would prevent unmounting it.
//!
//! `statfs` on a network mount whose server is gone blocks forever and cannot be interrupted, so
//! such filesystems are read only with `RecordFilter::network_filesystems`.  Filesystems without
//! their own space are left out (`proc`, `sysfs`, bind mounts, overlays except `/`).

use std::ffi::{CStr, CString};
use std::sync::Arc;

use layout::{Block, Cell, DisplayOrder, Layout, Plot, PlotColumn, Row, Show, Stat};
use procfs::mountinfo::{Mount, parse_mountinfo, unescape};
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, Level, State, Table, fields};

use crate::{Entry, Source, SourceContext};

/// The most volumes.  Container hosts have thousands of mounts, but few volumes.
const VOLUMES_MAX: usize = 1024;

fields! {
    SIZE: gauge Bytes, "Space of the volume";
    FREE: gauge Bytes, "Free space, including what is reserved for root";
    AVAILABLE: gauge Bytes, "Free space available to users";
    INODES: gauge Count, "Files that the volume can hold";
    INODES_FREE: gauge Count, "Files that it can still take";
    READ_ONLY: gauge Count, "1 when it is mounted read-only";
    KIND: text, "The filesystem's type";
    DEVICE: text, "Mounted device";
}

fn open(host: &mut Host, context: &Arc<SourceContext>) -> Box<dyn Source> {
    Box::new(Filesystem {
        mountinfo: host.file("/proc/self/mountinfo", ReadMode::Records),
        network: context.filter.network_filesystems,
        text: Vec::new(),
        volumes: Vec::new(),
    })
}

struct Filesystem {
    mountinfo: FileId,
    network: bool,
    /// The text that `volumes` was made from.
    text: Vec<u8>,
    volumes: Vec<Volume>,
}

#[derive(Debug)]
struct Volume {
    point: CString,
    /// `major:minor`.
    number: Vec<u8>,
    whole: bool,
    kind: Vec<u8>,
    device: Vec<u8>,
}

impl Source for Filesystem {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        if !host.is_this_machine() {
            // `statfs` would return this machine's volumes.
            return State::Absent;
        }
        let text = match host.read(self.mountinfo) {
            Ok(text) => text,
            Err(state) => return state,
        };
        if text != self.text {
            self.text.clear();
            self.text.extend_from_slice(text);
            self.volumes = volumes(text, self.network);
        }
        for volume in &self.volumes {
            fill(volume, table);
        }
        host.add_calls(self.volumes.len() as u64);
        State::Ok
    }
}

fn fill(volume: &Volume, table: &mut Table) {
    let answer = rustix::fs::statvfs(volume.point.as_c_str());
    if answer.as_ref().is_ok_and(|space| space.f_blocks == 0) {
        // It cannot store anything: an unknown kernel interface.
        return;
    }
    let mut row = table.row(volume.point.as_bytes());
    row.set_text(KIND, &volume.kind);
    row.set_text(DEVICE, &volume.device);
    // A volume that may not be examined (EACCES in its path) has a row with missing cells.
    let Ok(space) = answer else { return };
    let bytes = |blocks: u64| blocks.saturating_mul(space.f_frsize);
    row.set(SIZE, bytes(space.f_blocks));
    row.set(FREE, bytes(space.f_bfree));
    row.set(AVAILABLE, bytes(space.f_bavail));
    if space.f_files > 0 {
        // btrfs and others allocate inodes on demand and report 0.
        row.set(INODES, space.f_files);
        row.set(INODES_FREE, space.f_ffree);
    }
    row.set(READ_ONLY, space.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY).into());
}

/// The volumes to read, each filesystem once, sorted by mount point.
fn volumes(text: &[u8], network: bool) -> Vec<Volume> {
    let mut volumes: Vec<Volume> = Vec::new();
    for mount in parse_mountinfo(text) {
        let point = unescape(mount.point);
        // A later mount on the same mount point hides the earlier one.
        volumes.retain(|volume| volume.point.as_bytes() != point);
        if !is_volume(&mount, network) || volumes.len() >= VOLUMES_MAX {
            continue;
        }
        let Ok(point) = CString::new(point) else { continue };
        let whole = mount.root == b"/";
        let same = volumes.iter().position(|volume| volume.number == mount.device);
        let volume = Volume {
            point,
            number: mount.device.to_vec(),
            whole,
            kind: mount.kind.to_vec(),
            device: unescape(mount.source),
        };
        match same {
            // Prefer the mount of the whole filesystem to a bind mount of a part.
            Some(index) if whole && !volumes[index].whole => volumes[index] = volume,
            Some(_) => {}
            None => volumes.push(volume),
        }
    }
    volumes.sort_by(|a, b| CStr::cmp(&a.point, &b.point));
    volumes
}

/// Whether a mount has its own space, and does not depend on a network unless allowed.
fn is_volume(mount: &Mount<'_>, network: bool) -> bool {
    match mount.kind {
        b"proc" | b"sysfs" | b"devtmpfs" | b"devpts" | b"cgroup" | b"cgroup2" | b"pstore"
        | b"bpf" | b"debugfs" | b"tracefs" | b"securityfs" | b"configfs" | b"fusectl"
        | b"mqueue" | b"hugetlbfs" | b"binfmt_misc" | b"rpc_pipefs" | b"efivarfs"
        | b"selinuxfs" | b"smackfs" | b"nsfs" | b"ramfs" | b"rootfs" | b"resctrl" | b"nfsd"
        | b"sockfs" | b"pipefs" | b"binder" | b"spufs" | b"xenfs" => false,
        // `statfs` would trigger the mount.
        b"autofs" => false,
        b"overlay" | b"aufs" => mount.point == b"/",
        // Filesystems of other machines or of user-space processes may hang.  `fuseblk`, the usual
        // way to mount NTFS, is one too.
        b"nfs" | b"nfs4" | b"cifs" | b"smb3" | b"smbfs" | b"9p" | b"afs" | b"ceph" | b"lustre"
        | b"gpfs" | b"beegfs" | b"orangefs" | b"pvfs2" | b"ncpfs" | b"coda" | b"virtiofs"
        | b"fuse" | b"fuseblk" | b"gfs2" | b"ocfs2" | b"glusterfs" => network,
        kind => network || !kind.starts_with(b"fuse."),
    }
}

fn used(row: &Row<'_>) -> Option<f64> {
    Some(row.gauge(SIZE)? - row.gauge(FREE)?)
}

fn inodes_used(row: &Row<'_>) -> Option<f64> {
    Some(row.gauge(INODES)? - row.gauge(INODES_FREE)?)
}

/// Used space in per cent of the space available to users, as in `df`, without root's reserve.
fn used_percent(row: &Row<'_>) -> Option<f64> {
    let (used, available) = (used(row)?, row.gauge(AVAILABLE)?);
    (used + available > 0.0).then(|| 100.0 * used / (used + available))
}

fn inodes_percent(row: &Row<'_>) -> Option<f64> {
    let inodes = row.gauge(INODES)?;
    (inodes > 0.0).then(|| 100.0 * inodes_used(row).unwrap_or(0.0) / inodes)
}

/// Whether a volume counts in totals: tmpfs does not, nor a read-only image, which is always full.
fn counts(row: &Row<'_>) -> bool {
    let kind = row.text(KIND).unwrap_or_default();
    !matches!(kind, b"tmpfs" | b"squashfs" | b"erofs" | b"iso9660" | b"udf" | b"cramfs" | b"romfs")
}

fn total(row: &Row<'_>, field: usize) -> Option<f64> {
    row.sum(counts, |volume| volume.gauge(field))
}

fn total_used(row: &Row<'_>) -> Option<f64> {
    row.sum(counts, used)
}

fn total_percent(row: &Row<'_>) -> Option<f64> {
    let (used, available) = (total_used(row)?, total(row, AVAILABLE)?);
    (used + available > 0.0).then(|| 100.0 * used / (used + available))
}

/// The largest share of all volumes: that of the fullest one.
fn fullest(row: &Row<'_>, of: fn(&Row<'_>) -> Option<f64>) -> Option<f64> {
    row.rows().filter(counts).filter_map(|volume| of(&volume)).reduce(f64::max)
}

const GIB: f64 = 1_073_741_824.0;

pub(crate) static ENTRY: Entry = Entry {
    name: "filesystem",
    about: "Space and inodes of the mounted volumes",
    letters: "vV",
    reads: &["/proc/self/mountinfo"],
    instance: &["mount"],
    fields: FIELDS,
    cadence: Cadence::Third,
    layouts: &[SUMMARY, DETAIL],
    open,
    ..Entry::EMPTY
};

const SUMMARY: Layout = Layout {
    level: Level::Summary,
    position: DisplayOrder { brief: 170, verbose: 160, plot: 170, lexpr: 1210, gexpr: 1210 },
    brief: &[Block {
        when: |_| true,
        title: "<----Volumes---->",
        headings: &["Used% Max% Avail "],
        show: Show::Cells(&[
            Cell::whole("", 5, total_percent),
            Cell::whole(" ", 4, |row| fullest(row, used_percent)),
            Cell::binary(" ", 5, 0, |row| total(row, AVAILABLE)).stat(Stat::Mean),
        ]),
    }],
    verbose: &[Block {
        when: |_| true,
        title: "VOLUME SUMMARY",
        headings: &[
            "<-------------------Space-------------------><----------Inodes---------->",
            "Volumes    Size    Used   Avail  Used%   Max%   Number    Used Used% Max%",
        ],
        show: Show::Cells(&[
            Cell::whole(" ", 7, |row| Some(row.rows().filter(counts).count() as f64)),
            Cell::binary(" ", 7, 0, |row| total(row, SIZE)).stat(Stat::Mean),
            Cell::binary(" ", 7, 0, total_used).stat(Stat::Mean),
            Cell::binary(" ", 7, 0, |row| total(row, AVAILABLE)).stat(Stat::Mean),
            Cell::fixed(" ", 6, 1, total_percent),
            Cell::fixed(" ", 6, 1, |row| fullest(row, used_percent)),
            Cell::scaled("   ", 6, |row| total(row, INODES)).stat(Stat::Mean),
            Cell::scaled("  ", 6, |row| row.sum(counts, inodes_used)).stat(Stat::Mean),
            Cell::whole("  ", 4, |row| {
                Some(100.0 * row.sum(counts, inodes_used)? / total(row, INODES)?)
            }),
            Cell::whole(" ", 4, |row| fullest(row, inodes_percent)),
        ]),
    }],
    plot: Some(Plot {
        tag: "VOL",
        columns: &[
            PlotColumn::fixed("SizeGB", 2, |row| Some(total(row, SIZE)? / GIB)),
            PlotColumn::fixed("UsedGB", 2, |row| Some(total_used(row)? / GIB)),
            PlotColumn::fixed("AvailGB", 2, |row| Some(total(row, AVAILABLE)? / GIB)),
            PlotColumn::fixed("Used%", 2, total_percent),
            PlotColumn::fixed("Max%", 2, |row| fullest(row, used_percent)),
            PlotColumn::fixed("InodeMax%", 2, |row| fullest(row, inodes_percent)),
        ],
        ..Plot::EMPTY
    }),
    metrics: &[
        PlotColumn::fixed("volumes.used", 2, total_percent).level(),
        PlotColumn::fixed("volumes.max", 2, |row| fullest(row, used_percent)).level(),
        PlotColumn::whole("volumes.availbytes", |row| total(row, AVAILABLE)).level(),
    ],
    ..Layout::EMPTY
};

const DETAIL: Layout = Layout {
    level: Level::Detail,
    position: DisplayOrder {
        verbose: 165,
        plot: 160,
        lexpr: 1470,
        gexpr: 1470,
        ..DisplayOrder::LAST
    },
    verbose: &[Block {
        when: |_| true,
        title: "VOLUMES",
        headings: &[
            "<----------Space----------><------Inodes------>",
            "  Size   Used  Avail Used%  Number  Used  Used% Type     Mount",
        ],
        show: Show::Cells(&[
            Cell::binary(" ", 6, 0, |row| row.gauge(SIZE)).stat(Stat::Mean),
            Cell::binary(" ", 6, 0, used).stat(Stat::Mean),
            Cell::binary(" ", 6, 0, |row| row.gauge(AVAILABLE)).stat(Stat::Mean),
            Cell::fixed(" ", 5, 1, used_percent),
            Cell::scaled("  ", 6, |row| row.gauge(INODES)).stat(Stat::Mean),
            Cell::scaled(" ", 6, inodes_used).stat(Stat::Mean),
            Cell::fixed(" ", 5, 1, inodes_percent),
            Cell::left(" ", 8, |row| row.text(KIND)),
            Cell::left(" ", 1, |row| Some(row.name())),
        ]),
    }],
    plot: Some(Plot {
        tag: "VOL",
        extension: "vol",
        columns: &[
            PlotColumn::fixed("SizeGB", 2, |row| Some(row.gauge(SIZE)? / GIB)),
            PlotColumn::fixed("UsedGB", 2, |row| Some(used(row)? / GIB)),
            PlotColumn::fixed("AvailGB", 2, |row| Some(row.gauge(AVAILABLE)? / GIB)),
            PlotColumn::fixed("Used%", 2, used_percent),
            PlotColumn::whole("Inodes", |row| row.gauge(INODES)),
            PlotColumn::whole("InodesUsed", inodes_used),
        ],
        ..Plot::EMPTY
    }),
    metrics: &[
        PlotColumn::fixed("volumeinfo.used.{}", 2, used_percent).level(),
        PlotColumn::whole("volumeinfo.availbytes.{}", |row| row.gauge(AVAILABLE)).level(),
        PlotColumn::fixed("volumeinfo.inodesused.{}", 2, inodes_percent).level(),
    ],
    ..Layout::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_filesystem_once_and_no_network() {
        let text = b"1 0 0:1 / /proc rw - proc proc rw\n\
            2 1 254:0 /etc/hosts /etc/hosts rw - ext4 /dev/vda rw\n\
            3 1 254:0 / / rw - ext4 /dev/vda rw\n\
            4 1 254:0 /srv /data rw - ext4 /dev/vda rw\n\
            5 1 0:40 / /home rw - nfs4 server:/home rw\n\
            6 1 0:41 / /mnt/a\\040b rw - fuse.sshfs u@h: rw\n\
            7 1 0:42 / /run rw - tmpfs tmpfs rw\n\
            8 1 0:43 / /run rw - tmpfs tmpfs2 rw\n\
            9 1 0:44 / /var/lib/docker/overlay2/x/merged rw - overlay overlay rw\n\
            9 1 8:1 / /media rw - xfs /dev/sda1 rw\n\
            9 1 0:50 / /media rw - autofs systemd-1 rw\n";
        let points = |network| {
            let volumes = volumes(text, network);
            volumes.iter().map(|v| v.point.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(points(false), ["/", "/run"]);
        assert_eq!(points(true), ["/", "/home", "/mnt/a b", "/run"]);
        let volumes = volumes(text, false);
        assert_eq!(volumes[1].device, b"tmpfs2");
    }

    #[test]
    fn this_machines_root_agrees_with_statfs_and_elsewhere_there_is_nothing() {
        let mut host = Host::new("/");
        let mut source = (ENTRY.open)(&mut host, &Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        let asked = rustix::fs::statvfs("/").unwrap();
        if let Some(row) = table.find(b"/", 0) {
            assert_eq!(table.get(row, SIZE), Some(asked.f_blocks * asked.f_frsize));
            assert!(table.get(row, FREE) >= table.get(row, AVAILABLE));
            assert!(!table.text(row, KIND).unwrap().is_empty());
        }
        let mut elsewhere = Host::new("/no_such_root");
        let mut source = (ENTRY.open)(&mut elsewhere, &Arc::default());
        assert_eq!(source.read(&mut elsewhere, &mut table), State::Absent);
    }
}

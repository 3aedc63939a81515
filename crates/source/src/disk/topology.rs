//! Kind and lower devices of a block device, from `/sys/dev/block/MAJOR:MINOR` (kernel
//! `Documentation/ABI/stable/sysfs-block`), or from its name without sysfs (a collectl recording).
//!
//! Two to five small files, read once for each device.

use procfs::Host;
use procfs::diskstats::DiskLine;

/// A device that is not stacked on another: its bytes count in the totals.
pub(super) const WHOLE: &str = "disk";
/// A partition of another device.
pub(super) const PARTITION: &str = "partition";
/// One of several paths to an NVMe namespace, which has its own device.
pub(super) const PATH: &str = "path";
/// Neither hardware of this machine nor stacked on another device (a network disk).
pub(super) const VIRTUAL: &str = "virtual";
/// A CD or DVD drive.
pub(super) const OPTICAL: &str = "optical";
/// A floppy drive.
pub(super) const FLOPPY: &str = "floppy";
const MAPPED: &str = "dm";
const VOLUME: &str = "lvm";
const ENCRYPTED: &str = "crypt";
const MULTIPATH: &str = "multipath";
const ARRAY: &str = "md";
const STACKED: &str = "stacked";
const LOOP: &str = "loop";
const RAM: &str = "ram";
const COMPRESSED_RAM: &str = "zram";
const ZFS_VOLUME: &str = "zvol";

/// The most names of devices in `parent`; arrays have fewer than 64 members.
const PARENTS_MAX: usize = 64;

/// A device.
pub(super) struct Device {
    pub(super) name: Vec<u8>,
    major: u64,
    minor: u64,
    pub(super) kind: &'static str,
    /// The lower devices, separated by commas; empty for none.
    pub(super) parent: Vec<u8>,
    /// The device mapper's name; empty for other devices.
    pub(super) label: Vec<u8>,
    /// The number of examinations.
    pub(super) examinations: u8,
}

impl Device {
    fn new(major: u64, minor: u64, name: &[u8], kind: &'static str) -> Self {
        let (parent, label) = (Vec::new(), Vec::new());
        Device { name: name.to_vec(), major, minor, kind, parent, label, examinations: 0 }
    }

    /// Whether a line is about this device.
    #[inline]
    pub(super) fn is(&self, disk: &DiskLine<'_>) -> bool {
        self.is_named(disk.name, disk.major, disk.minor)
    }

    #[inline]
    pub(super) fn is_named(&self, name: &[u8], major: u64, minor: u64) -> bool {
        self.name == name && self.major == major && self.minor == minor
    }

    /// Whether it is a kind of stacked device, but has no lower devices yet.
    pub(super) fn is_incomplete(&self) -> bool {
        self.parent.is_empty()
            && matches!(self.kind, MAPPED | VOLUME | ENCRYPTED | MULTIPATH | ARRAY)
            && self.examinations < super::EXAMINATIONS_MAX
    }
}

/// Whether a device of that kind counts in totals: it is not stacked on a counted device, so the
/// sum counts each byte once.  Loop devices are files on other disks; RAM disks are no disks.
pub(super) fn is_counted(kind: &[u8]) -> bool {
    [WHOLE, VIRTUAL, OPTICAL, FLOPPY].iter().any(|counted| counted.as_bytes() == kind)
}

/// Reads kind and lower devices of a device from the host.
pub(super) fn examine(host: &mut Host, major: u64, minor: u64, name: &[u8]) -> Device {
    let base = format!("/sys/dev/block/{major}:{minor}");
    let Ok(link) = host.link(&base) else { return by_name(major, minor, name) };
    let mut device = Device::new(major, minor, name, WHOLE);
    if host.read_once(&format!("{base}/partition")).is_ok() {
        device.kind = PARTITION;
        device.parent = link.rsplit(|&b| b == b'/').nth(1).map(kernel_name).unwrap_or_default();
        return device;
    }
    let slaves = host.list(&format!("{base}/slaves")).unwrap_or_default();
    for (index, slave) in slaves.iter().take(PARENTS_MAX).enumerate() {
        if index > 0 {
            device.parent.push(b',');
        }
        device.parent.extend_from_slice(&kernel_name(slave));
    }
    let guess = by_name(major, minor, name);
    if let Ok(uuid) = host.read_once(&format!("{base}/dm/uuid")) {
        let label = host.read_once(&format!("{base}/dm/name")).unwrap_or_default();
        device.label = label.trim_ascii().to_vec();
        device.kind = mapped_kind(&uuid);
    } else if host.list(&format!("{base}/md")).is_ok() {
        device.kind = ARRAY;
    } else if !device.parent.is_empty() {
        device.kind = STACKED;
    } else if host.read_once(&format!("{base}/hidden")).is_ok_and(|text| text.starts_with(b"1")) {
        device.kind = PATH;
        device.parent = guess.parent;
    } else if guess.kind != WHOLE && guess.kind != PARTITION && guess.kind != PATH {
        device.kind = guess.kind;
    } else if contains(&link, b"/virtual/") && !name.starts_with(b"nvme") {
        // An NVMe namespace with several paths is a virtual device in sysfs, but a disk.
        device.kind = VIRTUAL;
    }
    device
}

/// The kind of a mapping: its UUID begins with the name of the program that made it.
fn mapped_kind(uuid: &[u8]) -> &'static str {
    if uuid.starts_with(b"LVM-") {
        VOLUME
    } else if uuid.starts_with(b"CRYPT-") {
        ENCRYPTED
    } else if uuid.starts_with(b"mpath-") {
        MULTIPATH
    } else {
        MAPPED
    }
}

/// Kind and parent by the name, if there is no sysfs.
pub(super) fn by_name(major: u64, minor: u64, name: &[u8]) -> Device {
    let stem = without_digits(name);
    let has_number = stem.len() < name.len();
    let mut device = Device::new(major, minor, name, WHOLE);
    // `nvme0n1p1`, `mmcblk0p2`, `md0p1`, `cciss/c0d0p1`: a `p` between two numbers.
    if let Some(whole) = stem.strip_suffix(b"p").filter(|_| has_number)
        && whole.last().is_some_and(u8::is_ascii_digit)
    {
        device.kind = PARTITION;
        device.parent = whole.to_vec();
        return device;
    }
    device.kind = match stem {
        b"loop" if has_number => LOOP,
        b"ram" if has_number => RAM,
        b"zram" if has_number => COMPRESSED_RAM,
        b"zd" if has_number => ZFS_VOLUME,
        b"dm-" if has_number => MAPPED,
        b"md" if has_number => ARRAY,
        b"sr" | b"scd" if has_number => OPTICAL,
        b"fd" if has_number => FLOPPY,
        // EMC PowerPath, and names that collectl treats as duplicates of other disks.
        _ if stem.starts_with(b"emcpower") || stem == b"psv" => MULTIPATH,
        _ if name.starts_with(b"md_") => ARRAY,
        _ if has_number && is_lettered(stem) => {
            device.parent = stem.to_vec();
            PARTITION
        }
        _ => WHOLE,
    };
    if let Some(head) = nvme_head(name) {
        device.kind = PATH;
        device.parent = head;
    }
    device
}

/// Whether whole disks of this kind have letters and their partitions numbers (`sda`, `sda1`).
fn is_lettered(stem: &[u8]) -> bool {
    [&b"sd"[..], b"hd", b"vd", b"xvd", b"fio"].iter().any(|prefix| {
        let letters = stem.strip_prefix(*prefix).unwrap_or_default();
        !letters.is_empty() && letters.iter().all(u8::is_ascii_lowercase)
    })
}

/// The namespace of an NVMe path: `nvme0n1` for `nvme0c1n1`.
fn nvme_head(name: &[u8]) -> Option<Vec<u8>> {
    let rest = name.strip_prefix(b"nvme")?;
    let subsystem = take_digits(rest)?;
    let after = rest[subsystem.len()..].strip_prefix(b"c")?;
    let namespace = after[take_digits(after)?.len()..].strip_prefix(b"n")?;
    (take_digits(namespace)? == namespace).then(|| [b"nvme", subsystem, b"n", namespace].concat())
}

fn take_digits(text: &[u8]) -> Option<&[u8]> {
    let end = text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| &text[..end])
}

fn without_digits(name: &[u8]) -> &[u8] {
    let end = name.iter().rposition(|b| !b.is_ascii_digit()).map_or(0, |last| last + 1);
    &name[..end]
}

/// sysfs writes the slash in a name as an exclamation mark.
fn kernel_name(name: &[u8]) -> Vec<u8> {
    name.iter().map(|&b| if b == b'!' { b'/' } else { b }).collect()
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn names_say_what_they_can() {
        let check = |name: &str, kind: &str, parent: &str| {
            let device = by_name(0, 0, name.as_bytes());
            let found = (device.kind, String::from_utf8(device.parent).unwrap());
            assert_eq!(found, (kind, parent.to_owned()), "{name}");
        };
        check("sda", "disk", "");
        check("sdaa12", "partition", "sdaa");
        check("vdb", "disk", "");
        check("xvda1", "partition", "xvda");
        check("nvme10n1", "disk", "");
        check("nvme0n1p3", "partition", "nvme0n1");
        check("nvme0c1n1", "path", "nvme0n1");
        check("mmcblk0", "disk", "");
        check("mmcblk0p1", "partition", "mmcblk0");
        check("mmcblk0boot0", "disk", "");
        check("cciss/c0d0", "disk", "");
        check("cciss/c0d0p1", "partition", "cciss/c0d0");
        check("dm-12", "dm", "");
        check("md127", "md", "");
        check("md127p1", "partition", "md127");
        check("loop7", "loop", "");
        check("zram0", "zram", "");
        check("ram3", "ram", "");
        check("zd16", "zvol", "");
        check("sr0", "optical", "");
        check("emcpowera", "multipath", "");
        check("rbd0", "disk", "");
        check("7", "disk", "");
        check("", "disk", "");
    }

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A tree with a disk, its partition, an LVM volume and a mirror over it, and an NVMe
    /// namespace with two paths.
    fn tree() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let at = root.path();
        std::fs::create_dir_all(at.join("sys/dev/block")).unwrap();
        let device = |number: &str, place: &str| {
            std::fs::create_dir_all(at.join("sys/devices").join(place)).unwrap();
            let target = format!("../../devices/{place}");
            std::os::unix::fs::symlink(target, at.join("sys/dev/block").join(number)).unwrap();
        };
        device("8:0", "pci0000:00/ata1/block/sda");
        device("8:1", "pci0000:00/ata1/block/sda/sda1");
        device("253:0", "virtual/block/dm-0");
        device("9:127", "virtual/block/md127");
        device("259:0", "virtual/nvme-subsystem/nvme-subsys0/nvme0n1");
        device("259:1", "pci0000:00/nvme/nvme0/nvme0c0n1");
        device("43:0", "virtual/block/nbd0");
        device("104:1", "pci0000:00/cciss0/c0d0/block/cciss!c0d0/cciss!c0d0p1");
        put(at, "sys/devices/pci0000:00/ata1/block/sda/sda1/partition", "1\n");
        put(at, "sys/devices/virtual/block/dm-0/dm/uuid", "LVM-abcdef\n");
        put(at, "sys/devices/virtual/block/dm-0/dm/name", "vg0-root\n");
        put(at, "sys/devices/virtual/block/dm-0/slaves/md127/x", "");
        put(at, "sys/devices/virtual/block/md127/md/level", "raid1\n");
        put(at, "sys/devices/virtual/block/md127/slaves/sda1/x", "");
        put(at, "sys/devices/virtual/block/md127/slaves/sdb1/x", "");
        put(at, "sys/devices/pci0000:00/nvme/nvme0/nvme0c0n1/hidden", "1\n");
        put(
            at,
            "sys/devices/pci0000:00/cciss0/c0d0/block/cciss!c0d0/cciss!c0d0p1/partition",
            "1\n",
        );
        root
    }

    #[test]
    fn sysfs_says_what_a_device_stands_on() {
        let root = tree();
        let mut host = Host::new(root.path());
        let mut check = |major, minor, name: &str, facts: [&str; 3]| {
            let device = examine(&mut host, major, minor, name.as_bytes());
            let found = [
                device.kind.to_owned(),
                String::from_utf8(device.parent).unwrap(),
                String::from_utf8(device.label).unwrap(),
            ];
            assert_eq!(found, facts, "{name}");
        };
        check(8, 0, "sda", ["disk", "", ""]);
        check(8, 1, "sda1", ["partition", "sda", ""]);
        check(253, 0, "dm-0", ["lvm", "md127", "vg0-root"]);
        check(9, 127, "md127", ["md", "sda1,sdb1", ""]);
        check(259, 0, "nvme0n1", ["disk", "", ""]);
        check(259, 1, "nvme0c0n1", ["path", "nvme0n1", ""]);
        check(43, 0, "nbd0", ["virtual", "", ""]);
        check(104, 1, "cciss/c0d0p1", ["partition", "cciss/c0d0", ""]);
        check(99, 9, "dm-3", ["dm", "", ""]);
    }
}

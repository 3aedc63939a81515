//! Block devices: `/proc/diskstats` and what `/sys` says of them.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::counter;
use crate::fake::put;

/// A block device.
pub(super) struct Disk {
    pub(super) major: u64,
    pub(super) minor: u64,
    pub(super) name: String,
    /// The disk it is a partition of.
    pub(super) whole: Option<String>,
    /// The devices it is stacked on.
    pub(super) slaves: Vec<String>,
    /// The device mapper's identifier and name, or an array's level.
    pub(super) mapped: Option<(String, String)>,
    pub(super) level: Option<&'static str>,
    pub(super) is_virtual: bool,
}

impl Disk {
    fn new(major: u64, minor: u64, name: String) -> Self {
        let (whole, mapped, level) = (None, None, None);
        Disk { major, minor, name, whole, slaves: Vec::new(), mapped, level, is_virtual: false }
    }
}

/// 64 disks and their partitions: 24 NVMe, 24 SCSI, 8 volumes of the device mapper, 4 arrays,
/// 4 loops.
pub(super) fn sixty_four() -> Vec<Disk> {
    let mut disks = Vec::new();
    for index in 0..24 {
        let name = format!("nvme{index}n1");
        disks.push(Disk::new(259, index * 3, name.clone()));
        for part in 1..=2 {
            let mut disk = Disk::new(259, index * 3 + part, format!("{name}p{part}"));
            disk.whole = Some(name.clone());
            disks.push(disk);
        }
    }
    for index in 0..24u8 {
        let name = format!("sd{}", char::from(b'a' + index));
        let (major, minor) =
            if index < 16 { (8, u64::from(index) * 16) } else { (65, u64::from(index - 16) * 16) };
        disks.push(Disk::new(major, minor, name.clone()));
        let mut part = Disk::new(major, minor + 1, format!("{name}1"));
        part.whole = Some(name);
        disks.push(part);
    }
    for index in 0..8u8 {
        let mut disk = Disk::new(253, u64::from(index), format!("dm-{index}"));
        disk.slaves = vec![format!("sd{}1", char::from(b'a' + index))];
        let (prefix, label) = match index % 4 {
            0 => ("CRYPT-LUKS2-", "luks"),
            1 => ("mpath-", "mpath"),
            _ => ("LVM-", "data-volume"),
        };
        let identifier = format!("{prefix}{index:032x}");
        disk.mapped = Some((identifier, format!("{label}{index}")));
        disk.is_virtual = true;
        disks.push(disk);
    }
    for index in 0..4 {
        let mut disk = Disk::new(9, index, format!("md{index}"));
        disk.slaves = vec![format!("nvme{}n1", index * 2), format!("nvme{}n1", index * 2 + 1)];
        disk.level = Some("raid1");
        disk.is_virtual = true;
        disks.push(disk);
    }
    for index in 0..4 {
        let mut disk = Disk::new(7, index, format!("loop{index}"));
        disk.is_virtual = true;
        disks.push(disk);
    }
    disks
}

/// Writes `/proc/diskstats` with the columns of Linux 5.5 and later.
pub(super) fn write_stats(root: &Path, disks: &[Disk], step: u64) -> io::Result<()> {
    let mut text = String::new();
    for (index, disk) in disks.iter().enumerate() {
        let _ = write!(text, "{:4} {:7} {}", disk.major, disk.minor, disk.name);
        for column in 0..17 {
            // The ninth column is a gauge: requests in flight.
            let value = if column == 8 { 0 } else { counter(index as u64 * 20 + column, step) };
            let _ = write!(text, " {value}");
        }
        text.push('\n');
    }
    put(root, "/proc/diskstats", text)
}

/// Writes the devices' directories and the links to them.
pub(super) fn write_sysfs(root: &Path, disks: &[Disk]) -> io::Result<()> {
    for disk in disks {
        let place = sysfs_path(disk);
        let write = |file: &str, text: String| put(root, &format!("/sys/{place}/{file}"), text);
        write("dev", format!("{}:{}\n", disk.major, disk.minor))?;
        write("size", format!("{}\n", 1u64 << 31))?;
        if disk.whole.is_some() {
            let number: String = disk.name.chars().rev().take_while(char::is_ascii_digit).collect();
            write("partition", format!("{number}\n"))?;
        } else {
            fs::create_dir_all(root.join(format!("sys/{place}/slaves")))?;
        }
        for slave in &disk.slaves {
            write(&format!("slaves/{slave}/dev"), "0:0\n".into())?;
        }
        if let Some((identifier, label)) = &disk.mapped {
            write("dm/uuid", format!("{identifier}\n"))?;
            write("dm/name", format!("{label}\n"))?;
        }
        if let Some(level) = disk.level {
            write("md/level", format!("{level}\n"))?;
        }
        if disk.name.starts_with("nvme") && disk.whole.is_none() {
            write("hidden", "0\n".into())?;
        }
        link(
            root,
            &format!("sys/dev/block/{}:{}", disk.major, disk.minor),
            &format!("../../{place}"),
        )?;
        if disk.whole.is_none() {
            link(root, &format!("sys/block/{}", disk.name), &format!("../{place}"))?;
        }
    }
    Ok(())
}

/// The path of a device's directory below `/sys`.
fn sysfs_path(disk: &Disk) -> String {
    match &disk.whole {
        None if disk.is_virtual => format!("devices/virtual/block/{}", disk.name),
        None => format!("devices/pci0000:00/0000:00:04.0/block/{}", disk.name),
        Some(whole) => format!("devices/pci0000:00/0000:00:04.0/block/{whole}/{}", disk.name),
    }
}

/// Makes a link unless it is there.
pub(super) fn link(root: &Path, path: &str, target: &str) -> io::Result<()> {
    let path = root.join(path);
    if fs::symlink_metadata(&path).is_ok() {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    symlink(target, path)
}

//! Disks of a folder in place of those of the kernel (`iostat -f`) or beside them (`+f`): programs that
//! drive disks themselves write there what the kernel has in its own files.
//!
//! ```text
//! FOLDER/block/DISK/stat              as /sys/block/DISK/stat
//! FOLDER/block/DISK/PARTITION/stat
//! FOLDER/diskstats                    as /proc/diskstats: read for -p without names and -p ALL
//! ```
//!
//! They become rows of the source `disk`.  Each file is opened, read and closed at each reading, as the
//! program may replace it.

use std::path::{Path, PathBuf};

use procfs::Host;
use procfs::diskstats::{DiskLine, parse_diskstats};
use sample::{Sample, State};
use source::Entry;

use crate::SysstatError;

/// The source whose rows the disks become.
pub(crate) const DISKS: &str = "disk";

/// The most disks and partitions of a folder; the largest machines have some thousands.
const DISKS_MAX: usize = 1 << 13;

/// The folder of a command line, and what is read of it.
#[derive(Debug)]
pub(crate) struct DiskFolder {
    path: PathBuf,
    /// Whether the disks of the kernel are shown, too (`+f`).
    pub(crate) is_beside: bool,
    /// Whether `diskstats` is read, and not the tree `block`.
    pub(crate) is_whole_list: bool,
    /// Whether disks are named on the command line: of two with one name it is the kernel's then.
    pub(crate) has_names: bool,
}

impl DiskFolder {
    /// Takes the value of `-f` or `+f`.
    pub(crate) fn new(path: &str, is_beside: bool) -> Result<Self, SysstatError> {
        let path = PathBuf::from(path);
        if !path.is_dir() {
            let text = format!("{}: there is no such folder", path.display());
            return Err(SysstatError::NotThere(text));
        }
        Ok(DiskFolder { path, is_beside, is_whole_list: false, has_names: false })
    }

    /// Adds the disks of the folder to a reading of the source `disk`, or puts them in its place.
    pub(crate) fn add_to(&self, entry: &Entry, sample: &mut Sample) -> Result<(), SysstatError> {
        if !self.is_beside || sample.state != State::Ok {
            sample.table.begin();
            sample.state = State::Ok;
        }
        let mut rows = Rows { entry, sample, has_names: self.has_names, count: 0 };
        let mut host = Host::new(self.path.as_path());
        if self.is_whole_list {
            let text = host.read_once("/diskstats").unwrap_or_default();
            for disk in parse_diskstats(&text) {
                let name = String::from_utf8_lossy(disk.name);
                let is_disk = !name.contains('/') && self.path.join("block").join(&*name).is_dir();
                rows.add(disk.name, (!is_disk).then_some(&[]), &disk);
            }
            return rows.checked(&self.path);
        }
        for disk in host.list("/block").unwrap_or_default() {
            rows.add_stat(&mut host, &disk, None);
            if self.has_names {
                let tree = format!("/block/{}", String::from_utf8_lossy(&disk));
                for partition in host.list(&tree).unwrap_or_default() {
                    rows.add_stat(&mut host, &partition, Some(&disk));
                }
            }
        }
        rows.checked(&self.path)
    }
}

/// The rows that are made.
struct Rows<'a> {
    entry: &'a Entry,
    sample: &'a mut Sample,
    has_names: bool,
    count: usize,
}

impl Rows<'_> {
    /// Adds a disk, or a partition of `parent`, if it has a file `stat`.
    fn add_stat(&mut self, host: &mut Host, name: &[u8], parent: Option<&[u8]>) {
        let folders = parent.into_iter().chain([name]);
        let folders: Vec<_> = folders.map(String::from_utf8_lossy).collect();
        let path = format!("/block/{}/stat", folders.join("/"));
        let Ok(text) = host.read_once(&path) else { return };
        // The line of `/proc/diskstats` has the numbers and the name before it.
        let numbers = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = [b"0 0 - ", numbers].concat();
        if let Some(disk) = parse_diskstats(&line).next() {
            self.add(name, parent, &disk);
        }
    }

    fn add(&mut self, name: &[u8], parent: Option<&[u8]>, disk: &DiskLine<'_>) {
        let table = &mut self.sample.table;
        self.count += 1;
        if self.count > DISKS_MAX {
            return;
        }
        let mut row = match table.find(name, 0) {
            Some(_) if self.has_names => return,
            Some(index) => {
                let width = self.entry.fields.len();
                let mut row = table.row_mut(index);
                row.fill(&vec![0; width], &vec![0; width.div_ceil(64)], &[]);
                row
            }
            None => table.row(name),
        };
        // The first fields of the source are the columns of the file.
        for (field, value) in disk.columns.iter().enumerate() {
            row.set_some(field, (disk.present >> field & 1 == 1).then_some(*value));
        }
        let kind = if parent.is_some() { "partition" } else { "disk" };
        for (field, text) in [("kind", kind.as_bytes()), ("parent", parent.unwrap_or_default())] {
            if let Some(field) = self.entry.field(field).filter(|_| !text.is_empty()) {
                row.set_text(field, text);
            }
        }
    }

    fn checked(self, path: &Path) -> Result<(), SysstatError> {
        if self.count <= DISKS_MAX {
            return Ok(());
        }
        let text = format!("{}: more than {DISKS_MAX} disks and partitions", path.display());
        Err(SysstatError::NotThere(text))
    }
}

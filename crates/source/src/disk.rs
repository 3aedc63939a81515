//! I/O counters and times of every block device, its kind and its lower devices.
//!
//! Reads `/proc/diskstats`: one `pread` and no allocation.  When a device first appears, its kind
//! and its lower devices are read from a few files under `/sys/dev/block`, so that totals count
//! each byte once.  No list of names decides what is recorded.

use std::sync::Arc;

use ::layout::{OptionKind, SourceOption};
use procfs::diskstats::{DiskLine, parse_diskstats};
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, RowMut, State, Table, fields};

use crate::option::{names_to_ignore, names_to_record};
use crate::rename::DISK_NAMES;
use crate::{Entry, Source, SourceContext};

mod layout;
mod limits;
mod topology;

use topology::Device;

// The first seventeen are the file's columns, in its order.
fields! {
    READS: counter Count, "Reads finished";
    READS_MERGED: counter Count, "Reads merged with one already queued";
    READ_SECTORS: counter Sectors, "Data read";
    READ_MS: counter Milliseconds, "Time spent reading, summed over requests";
    WRITES: counter Count, "Writes finished";
    WRITES_MERGED: counter Count, "Writes merged with one already queued";
    WRITE_SECTORS: counter Sectors, "Data written";
    WRITE_MS: counter Milliseconds, "Time spent writing, summed over requests";
    IN_FLIGHT: gauge Count, "Requests in progress";
    BUSY_MS: counter Milliseconds, "Time with at least one request in flight";
    WEIGHTED_MS: counter Milliseconds, "Time with requests in flight, weighted by their number";
    DISCARDS: counter Count, "Discards finished";
    DISCARDS_MERGED: counter Count, "Discards merged with one already queued";
    DISCARD_SECTORS: counter Sectors, "Data discarded";
    DISCARD_MS: counter Milliseconds, "Time spent discarding";
    FLUSHES: counter Count, "Flushes finished, not counted for partitions";
    FLUSH_MS: counter Milliseconds, "Time spent flushing";
    KIND: text,
        "What it is: disk, partition, path, dm, lvm, crypt, multipath, md, stacked, virtual, loop, \
         ram, zram, zvol, optical, floppy";
    PARENT: text, "Underlying devices, separated by commas";
    LABEL: text, "Device-mapper name (of a logical volume)";
}

/// Readings between two examinations of a stacked device without lower devices: a mapping gets its
/// table, an array its members, a little after the device appears.
const EXAMINE_AGAIN_READS: u64 = 64;

/// Examinations of such a device before the result is final.
const EXAMINATIONS_MAX: u8 = 4;

struct Disk {
    file: FileId,
    context: Arc<SourceContext>,
    /// The devices of the latest reading, in its order.
    devices: Vec<Device>,
    /// Rows of this reading whose device is not the one at the same index in `devices`.
    unmatched: Vec<UnmatchedRow>,
    reads: u64,
}

struct UnmatchedRow {
    row: usize,
    major: u64,
    minor: u64,
}

impl Source for Disk {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        self.reads += 1;
        let examine_again = self.reads.is_multiple_of(EXAMINE_AGAIN_READS);
        let text = match host.read(self.file) {
            Ok(text) => text,
            Err(state) => return state,
        };
        self.unmatched.clear();
        for disk in parse_diskstats(text) {
            if !is_recorded(&self.context, disk.name) {
                continue;
            }
            let index = table.rows();
            let mut row = table.row(disk.name);
            set_columns(&mut row, &disk);
            match self.devices.get(index) {
                Some(device) if device.is(&disk) && !(examine_again && device.is_incomplete()) => {
                    set_device(&mut row, device);
                }
                _ => {
                    let (major, minor) = (disk.major, disk.minor);
                    self.unmatched.push(UnmatchedRow { row: index, major, minor });
                }
            }
        }
        if !self.unmatched.is_empty() || self.devices.len() > table.rows() {
            self.update_devices(host, table);
        }
        State::Ok
    }
}

#[inline]
fn set_columns(row: &mut RowMut<'_>, disk: &DiskLine<'_>) {
    for (field, &value) in disk.columns.iter().enumerate() {
        if disk.present >> field & 1 == 1 {
            row.set(field, value);
        }
    }
}

fn set_device(row: &mut RowMut<'_>, device: &Device) {
    row.set_text(KIND, device.kind.as_bytes());
    for (field, text) in [(PARENT, &device.parent), (LABEL, &device.label)] {
        if !text.is_empty() {
            row.set_text(field, text);
        }
    }
}

impl Disk {
    /// Sorts the devices into the order of the table, and examines new ones.  Runs only when devices
    /// appeared, disappeared or moved.
    fn update_devices(&mut self, host: &mut Host, table: &mut Table) {
        let mut known: Vec<Option<Device>> = self.devices.drain(..).map(Some).collect();
        let mut unmatched = self.unmatched.iter().peekable();
        // Devices rarely change their order: try the index after the latest match first.
        let mut hint = 0;
        for row in 0..table.rows() {
            let other = unmatched.next_if(|other| other.row == row);
            let name = table.name(row);
            let is_it = |device: &Option<Device>| {
                device.as_ref().is_some_and(|device| match other {
                    Some(other) => device.is_named(name, other.major, other.minor),
                    None => device.name == name,
                })
            };
            let indexes = (hint..known.len()).chain(0..hint.min(known.len()));
            let found = indexes.into_iter().find(|&index| is_it(&known[index]));
            let held = found.and_then(|index| {
                hint = index + 1;
                known[index].take()
            });
            let device = match (held, other) {
                (Some(device), _) if !device.is_incomplete() => device,
                (Some(device), None) => device,
                (held, Some(&UnmatchedRow { major, minor, .. })) => {
                    let examinations = held.map_or(0, |device| device.examinations);
                    let mut device = topology::examine(host, major, minor, name);
                    device.examinations = examinations + 1;
                    device
                }
                // Other rows matched their device, which is therefore known.
                (None, None) => topology::by_name(0, 0, name),
            };
            set_device(&mut table.row_mut(row), &device);
            self.devices.push(device);
        }
    }
}

/// What `record` reads of disks.
static RECORDED_DISKS: SourceOption = SourceOption {
    name: "rawdskfilt",
    alias: Some("rawdskfilter"),
    is_of_record: true,
    value_name: "REGEX",
    help: "Record only these disks: a regular expression",
    kind: OptionKind::Custom(|given| names_to_record("rawdskfilt", given)),
    letters: "dD",
    ..SourceOption::EMPTY
};

static IGNORED_DISKS: SourceOption = SourceOption {
    name: "rawdskignore",
    is_of_record: true,
    value_name: "REGEX",
    help: "Do not record these disks",
    kind: OptionKind::Custom(|given| names_to_ignore("rawdskignore", given)),
    letters: "dD",
    ..SourceOption::EMPTY
};

/// Whether one of that name is recorded.
fn is_recorded(context: &SourceContext, name: &[u8]) -> bool {
    let given = &context.filter.given;
    given.of(&RECORDED_DISKS).keeps(name) && given.of(&IGNORED_DISKS).keeps(name)
}

pub(crate) static ENTRY: Entry = Entry {
    name: "disk",
    about: "Reads, writes, latency and underlying devices of every block device",
    letters: "dD",
    reads: &["/proc/diskstats", "/sys/dev/block/*/*"],
    instance: &["disk"],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[layout::SUMMARY, layout::DETAIL],
    options: &[
        &RECORDED_DISKS,
        &IGNORED_DISKS,
        &layout::DISK_FILTER,
        &layout::DISK_OPTIONS,
        &DISK_NAMES,
        &limits::DISK_LIMITS,
    ],
    open: |host, context| {
        let file = host.file("/proc/diskstats", ReadMode::Records);
        Box::new(Disk {
            file,
            context: Arc::clone(context),
            devices: Vec::new(),
            unmatched: Vec::new(),
            reads: 0,
        })
    },
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use ::layout::SourceValues;

    use super::*;
    use crate::RecordFilter;

    fn read(source: &mut dyn Source, host: &mut Host, table: &mut Table) -> Vec<String> {
        host.begin_tick();
        assert_eq!(source.read(host, table), State::Ok);
        (0..table.rows()).map(|row| String::from_utf8_lossy(table.name(row)).into_owned()).collect()
    }

    fn open(host: &mut Host, context: SourceContext) -> Box<dyn Source> {
        (ENTRY.open)(host, &Arc::new(context))
    }

    #[test]
    fn this_machine_has_disks() {
        let mut host = Host::new("/");
        let mut source = open(&mut host, SourceContext::default());
        let mut table = Table::new(ENTRY.fields.len());
        let names = read(&mut *source, &mut host, &mut table);
        assert!(!names.is_empty());
        for row in 0..table.rows() {
            assert!(table.text(row, KIND).is_some());
        }
        let calls = host.cost().calls;
        read(&mut *source, &mut host, &mut table);
        assert_eq!(host.cost().calls, calls + 1, "a device once known costs no more looks");
    }

    #[test]
    fn devices_that_come_go_and_move_keep_their_facts() {
        let mut host = Host::in_memory();
        let mut source = open(&mut host, SourceContext::default());
        let mut table = Table::new(ENTRY.fields.len());
        let zeros = "1 2 3 4 5 6 7 8 9 10 11";
        let mut see = |lines: &[&str]| {
            let text: String = lines.iter().map(|line| format!("8 {line} {zeros}\n")).collect();
            host.put("/proc/diskstats", Some(text.as_bytes()));
            read(&mut *source, &mut host, &mut table);
            let kind = |row| table.text(row, KIND).map(String::from_utf8_lossy);
            let facts = (0..table.rows()).map(|row| kind(row).unwrap().into_owned());
            facts.collect::<Vec<_>>()
        };
        assert_eq!(see(&["0 sda", "1 sda1", "16 dm-0"]), ["disk", "partition", "dm"]);
        assert_eq!(see(&["0 sda", "16 dm-0"]), ["disk", "dm"]);
        assert_eq!(see(&["16 dm-0", "32 loop0", "0 sda"]), ["dm", "loop", "disk"]);
        assert_eq!(see(&[]), [""; 0]);
        assert_eq!(see(&["0 sr0"]), ["optical"]);
    }

    #[test]
    fn what_is_left_out_is_not_recorded() {
        let mut host = Host::in_memory();
        host.put("/proc/diskstats", Some(b"8 0 sda 1\n8 16 sdb 2\n"));
        let ignored = names_to_ignore("rawdskignore", "sda").unwrap();
        let given = SourceValues::default().with(&IGNORED_DISKS, ignored);
        let mut source = open(
            &mut host,
            SourceContext {
                filter: RecordFilter { given, ..RecordFilter::default() },
                ..SourceContext::default()
            },
        );
        let mut table = Table::new(ENTRY.fields.len());
        assert_eq!(read(&mut *source, &mut host, &mut table), ["sdb"]);
        assert_eq!(table.get(0, READS), Some(2));
        assert_eq!(table.get(0, READ_SECTORS), None, "a column that is not there is missing");
    }
}

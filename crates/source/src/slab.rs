//! Kernel memory by slab cache.
//!
//! Reads `/proc/slabinfo` (slabinfo(5)), which only root may read.  Cost: about 25 KiB and 250
//! lines, 20 µs of parsing, and the kernel walks every cache's lists, so the source follows the
//! second interval.  `/sys/kernel/slab` has the same numbers in six files a cache, at hundreds of
//! times the cost, and is not read.

use procfs::slabinfo::parse_slabinfo;
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, State, Table, fields};

use crate::{Entry, Source};

mod layout;

fields! {
    OBJECTS_ACTIVE: gauge Count, "Objects in use";
    OBJECTS: gauge Count, "Objects, in use or not";
    OBJECT_SIZE: gauge Bytes, "Size of an object, padding included";
    OBJECTS_PER_SLAB: gauge Count, "Objects in a slab";
    PAGES_PER_SLAB: gauge Pages, "Size of a slab";
    SLABS_ACTIVE: gauge Count, "Slabs with objects in use";
    SLABS: gauge Count, "Slabs";
}

/// The most caches that are read; machines with thousands of control groups had about ten thousand
/// before Linux 5.9.
const SLABS_MAX: usize = 65_536;

struct Slab {
    file: FileId,
}

impl Source for Slab {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        let text = match host.read(self.file) {
            Ok(text) => text,
            Err(state) => return state,
        };
        let Some(slabs) = parse_slabinfo(text) else { return State::Failed(0) };
        for slab in slabs.take(SLABS_MAX) {
            let mut row = table.row(slab.name);
            row.set(OBJECTS_ACTIVE, slab.objects_active);
            row.set(OBJECTS, slab.objects);
            row.set(OBJECT_SIZE, slab.object_bytes);
            row.set_some(OBJECTS_PER_SLAB, slab.objects_per_slab);
            row.set(PAGES_PER_SLAB, slab.pages_per_slab);
            row.set(SLABS_ACTIVE, slab.slabs_active);
            row.set(SLABS, slab.slabs);
        }
        State::Ok
    }
}

pub(crate) static ENTRY: Entry = Entry {
    name: "slab",
    about: "Kernel memory by slab cache",
    letters: "yY",
    reads: &["/proc/slabinfo"],
    instance: &["slab"],
    fields: FIELDS,
    cadence: Cadence::Second,
    layouts: &[layout::SUMMARY, layout::DETAIL],
    options: &[&layout::SLAB_FILTER, &layout::SLAB_OPTIONS],
    open: |host, _| Box::new(Slab { file: host.file("/proc/slabinfo", ReadMode::Records) }),
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_caches() {
        let mut host = Host::in_memory();
        let mut slab = (ENTRY.open)(&mut host, &std::sync::Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        assert_eq!(slab.read(&mut host, &mut table), State::Absent);
        host.begin_tick();
        let text = b"slabinfo - version: 2.1\n# name\n\
            dentry 5 8 192 21 1 : tunables 0 0 0 : slabdata 2 3 0\ncut 1\n";
        host.put("/proc/slabinfo", Some(text));
        assert_eq!(slab.read(&mut host, &mut table), State::Ok);
        assert_eq!(table.rows(), 1);
        assert_eq!(table.name(0), b"dentry");
        assert_eq!(table.values(), [5, 8, 192, 21, 1, 2, 3]);
        host.begin_tick();
        host.put("/proc/slabinfo", Some(b"slabinfo - version: 9.1\n"));
        assert_eq!(slab.read(&mut host, &mut table), State::Failed(0));
    }
}

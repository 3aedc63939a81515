//! Lines of `/proc/vmstat` in the kernel's own numbers, as node_exporter has them: pages are counted,
//! not bytes.
//!
//! The source `memory` has what people ask for, in bytes.  This one is for dashboards that ask for
//! `node_vmstat_*`.  It is read only where it is selected: for each reading the kernel adds up the
//! counters of all CPUs, once for each page of the file, and the lines are in all its pages.

mod fields;

use procfs::Host;
use procfs::vmstat::Vmstat;
use sample::{State, Table};

use self::fields::{EXPORTED, FIELDS, LINES};
use crate::{Entry, Source};

struct Lines(Vmstat);

impl Source for Lines {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        let mut row = table.row(b"");
        match self.0.read(host, |line, value| row.set(line, value)) {
            Ok(()) => State::Ok,
            Err(state) => state,
        }
    }
}

/// The name that node_exporter gives to each field.
pub fn vmstat_metrics() -> impl Iterator<Item = (&'static str, &'static str)> {
    FIELDS.iter().map(|field| &*field.name).zip(EXPORTED.iter().copied())
}

pub(crate) static ENTRY: Entry = Entry {
    name: "vmstat",
    about: "Lines of /proc/vmstat in the kernel's numbers, as node_exporter names them",
    reads: &["/proc/vmstat"],
    fields: FIELDS,
    open: |host, _| Box::new(Lines(Vmstat::new(host, LINES))),
    by_name_only: true,
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_their_fields_and_missing_ones_are_missing() {
        for (field, line) in FIELDS.iter().zip(LINES) {
            assert_eq!(field.name.as_bytes(), line.trim_ascii_end());
        }
        let mut host = Host::in_memory();
        let mut lines = (ENTRY.open)(&mut host, &std::sync::Arc::default());
        let mut table = Table::new(FIELDS.len());
        assert_eq!(lines.read(&mut host, &mut table), State::Absent);
        host.begin_tick();
        host.put("/proc/vmstat", Some(b"nr_free_pages 7\npgpgin 3\nnr_unstable 0\n"));
        assert_eq!(lines.read(&mut host, &mut table), State::Ok);
        let value = |name: &str| table.get(0, ENTRY.field(name).unwrap());
        assert_eq!(value("nr_free_pages"), Some(7));
        assert_eq!(value("pgpgin"), Some(3));
        assert_eq!(value("nr_unstable"), Some(0));
        assert_eq!(value("pgpgout"), None);
    }
}

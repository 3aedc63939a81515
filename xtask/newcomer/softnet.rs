//! Packets that came in, by the CPU that processed them, and those that it dropped.
//!
//! Reads `/proc/net/softnet_stat` with one `pread`: 136 bytes a CPU.  No allocation once warm.

use procfs::softnet_stat::parse_softnet_stat;
use procfs::{FileId, Host, ReadMode};
use sample::{State, Table, fields};

use crate::instance::digits;
use crate::{Entry, Source};

fields! {
    PROCESSED: counter Count, "Packets processed";
    DROPPED: counter Count, "Packets dropped because the queue was full";
    SQUEEZED: counter Count, "Times that work was left when its time was used up";
}

struct Softnet {
    file: FileId,
}

impl Source for Softnet {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        let text = match host.read(self.file) {
            Ok(text) => text,
            Err(state) => return state,
        };
        let mut name = [0; 20];
        for counts in parse_softnet_stat(text) {
            let mut row = table.row(digits(counts.cpu, &mut name));
            row.set(PROCESSED, counts.processed);
            row.set(DROPPED, counts.dropped);
            row.set(SQUEEZED, counts.squeezed);
        }
        State::Ok
    }
}

pub(crate) static ENTRY: Entry = Entry {
    name: "softnet",
    about: "Packets that came in, by the CPU that processed them",
    reads: &["/proc/net/softnet_stat"],
    instance: &["cpu"],
    fields: FIELDS,
    open: |host, _| {
        Box::new(Softnet { file: host.file("/proc/net/softnet_stat", ReadMode::Whole) })
    },
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_for_each_cpu() {
        let mut host = Host::in_memory();
        let mut softnet = (ENTRY.open)(&mut host, &std::sync::Arc::default());
        let mut table = Table::new(FIELDS.len());
        assert_eq!(softnet.read(&mut host, &mut table), State::Absent);
        host.begin_tick();
        host.put("/proc/net/softnet_stat", Some(b"0000000a 00000001 00000002\n0000000b 0 0\n"));
        assert_eq!(softnet.read(&mut host, &mut table), State::Ok);
        assert_eq!((table.rows(), table.name(1)), (2, &b"1"[..]));
        assert_eq!(table.get(0, PROCESSED), Some(10));
    }
}

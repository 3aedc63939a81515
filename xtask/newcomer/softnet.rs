//! Packets that came in, by the CPU that processed them, and those that it dropped.
//!
//! Reads `/proc/net/softnet_stat` with one `pread`: 136 bytes a CPU.  No allocation once warm.

use procfs::softnet_stat::parse_softnet_stat;
use procfs::{FileId, Host, ReadMode};
use sample::{Field, State, Table, Unit};

use crate::{Entry, Source};

const PROCESSED: usize = 0;
const DROPPED: usize = 1;
const SQUEEZED: usize = 2;

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

/// A number as text, without allocation.
fn digits(mut number: u64, room: &mut [u8; 20]) -> &[u8] {
    let mut at = room.len();
    loop {
        at -= 1;
        room[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &room[at..];
        }
    }
}

pub(crate) static ENTRY: Entry = Entry {
    name: "softnet",
    about: "Packets that came in, by the CPU that processed them",
    reads: &["/proc/net/softnet_stat"],
    instance: &["cpu"],
    fields: &[
        Field::counter("processed", Unit::Count, "Packets processed"),
        Field::counter("dropped", Unit::Count, "Packets dropped, as the queue was full"),
        Field::counter("squeezed", Unit::Count, "Times that work was left when time was used up"),
    ],
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
        let mut table = Table::new(ENTRY.fields.len());
        assert_eq!(softnet.read(&mut host, &mut table), State::Absent);
        host.begin_tick();
        host.put("/proc/net/softnet_stat", Some(b"0000000a 00000001 00000002\n0000000b 0 0\n"));
        assert_eq!(softnet.read(&mut host, &mut table), State::Ok);
        assert_eq!((table.rows(), table.name(1)), (2, &b"1"[..]));
        assert_eq!(table.get(0, PROCESSED), Some(10));
        assert_eq!(digits(u64::MAX, &mut [0; 20]), u64::MAX.to_string().as_bytes());
    }
}

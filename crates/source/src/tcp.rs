//! The TCP/IP stack's counters: IP, TCP, UDP and ICMP of this network namespace.
//!
//! Reads `/proc/net/snmp` and `/proc/net/netstat`: one `pread` each, no allocation.  The kernel
//! adds up its counters over all CPUs to make them, which is dearer than reading them here.
//! IPv4 and, where the kernel counts them together (TCP), IPv6.

use ::layout::{Idle, LetterRule, OptionKind, OptionValue, SourceOption};
use procfs::snmp::{ColumnIndex, parse_pairs};
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, RowMut, State, Table};

use crate::{Entry, Source};

mod fields;
mod layout;

use fields::{COLUMNS, Column};

/// The protocols recorded; each has an index of its own.
const PROTOCOLS: [&str; 6] = ["Ip", "Tcp", "Udp", "Icmp", "IpExt", "TcpExt"];

struct Tcp {
    files: [FileId; 2],
    indexes: [ColumnIndex; PROTOCOLS.len()],
}

impl Source for Tcp {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        let mut row = table.row(b"");
        // A collectl recording has the one file, the other or both; that is enough.
        let mut state = State::Absent;
        for &file in &self.files {
            match host.read(file) {
                Ok(text) => {
                    read_pairs(&mut self.indexes, text, &mut row);
                    state = State::Ok;
                }
                Err(error) if state != State::Ok => state = error,
                Err(_) => {}
            }
        }
        state
    }
}

fn read_pairs(indexes: &mut [ColumnIndex], text: &[u8], row: &mut RowMut<'_>) {
    for pair in parse_pairs(text) {
        let is_it = |protocol: &&str| protocol.as_bytes() == pair.protocol;
        let Some(which) = PROTOCOLS.iter().position(is_it) else { continue };
        let field_of = |name: &[u8]| {
            let is_it = |column: &Column| {
                column.protocol == PROTOCOLS[which] && column.name.as_bytes() == name
            };
            COLUMNS.iter().position(is_it)
        };
        indexes[which].scan(&pair, field_of, |field, value| row.set(field, value));
    }
}

/// The fields of the source `tcp`, each with its metric in node_exporter, which is named as the kernel
/// names the column.
pub fn netstat_metrics() -> impl Iterator<Item = (&'static str, &'static str)> {
    fields::FIELDS.iter().map(|field| &*field.name).zip(fields::EXPORTED.iter().copied())
}

static PROTOCOL_FILTER: SourceOption = SourceOption {
    name: "tcpfilt",
    help: "Protocols to show: i IP, t TCP, u UDP, c ICMP, I and T their extensions",
    kind: OptionKind::Letters { known: "cituIT", default: "ituc" },
    letters: "tT",
    idle: Idle::Refused("the TCP/IP stack"),
    rules: &[LetterRule::NeedsLines("I")],
    recorded: |meta| meta.get("tcpfilt").map(|filter| OptionValue::Text(filter.to_owned())),
    ..SourceOption::EMPTY
};

pub(crate) static ENTRY: Entry = Entry {
    name: "tcp",
    about: "The TCP/IP stack's counters: IP, TCP, UDP and ICMP",
    letters: "tT",
    reads: &["/proc/net/snmp", "/proc/net/netstat"],
    instance: &[],
    fields: fields::FIELDS,
    cadence: Cadence::First,
    layouts: &[layout::SUMMARY, layout::DETAIL],
    options: &[&PROTOCOL_FILTER],
    open: |host, _| {
        let files = ["/proc/net/snmp", "/proc/net/netstat"];
        Box::new(Tcp {
            files: files.map(|path| host.file(path, ReadMode::Whole)),
            indexes: PROTOCOLS.map(|_| ColumnIndex::default()),
        })
    },
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn this_machine_counts_what_it_sends() {
        let mut host = Host::new("/");
        let mut source = (ENTRY.open)(&mut host, &Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        for index in [fields::IP_IN_RECEIVES, fields::TCP_OUT_SEGS, fields::IPEXT_IN_OCTETS] {
            assert!(table.get(0, index).is_some());
        }
        let text = std::fs::read_to_string("/proc/net/snmp").unwrap();
        let mut lines = text.lines().filter(|line| line.starts_with("Ip: "));
        let names = lines.next().unwrap().split(' ').skip(1);
        for name in names {
            let known = COLUMNS.iter().any(|c| c.protocol == "Ip" && c.name == name);
            assert!(known, "this kernel has a column of IP that is not recorded: {name}");
        }
    }

    #[test]
    fn one_file_is_enough_and_names_decide() {
        let mut host = Host::in_memory();
        host.put(
            "/proc/net/netstat",
            Some(b"TcpExt: New TCPFastRetrans TW\nTcpExt: 5 6 7\nMPTcpExt: TW\nMPTcpExt: 9\n"),
        );
        let mut source = (ENTRY.open)(&mut host, &Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        assert_eq!(table.get(0, fields::TCPEXT_FAST_RETRANS), Some(6));
        assert_eq!(table.get(0, fields::TCPEXT_TW), Some(7));
        assert_eq!(table.get(0, fields::IP_IN_RECEIVES), None);
    }
}

//! Sockets in use now, by protocol, for IPv4 and IPv6.
//!
//! Reads `/proc/net/sockstat` and `/proc/net/sockstat6`: one `pread` each, no allocation.

use layout::{Block, Cell, DisplayOrder, Layout, Plot, PlotColumn, Row, Show, Stat};
use procfs::sockstat::{SocketCount, parse_sockstat};
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, Level, State, Table, fields};

use crate::{Entry, Source};

fields! {
    USED: gauge Count, "Sockets of every kind";
    TCP_INUSE: gauge Count, "TCP sockets in use";
    TCP_ORPHAN: gauge Count, "Orphaned TCP sockets";
    TCP_TIME_WAIT: gauge Count, "TCP connections in TIME_WAIT";
    TCP_ALLOCATED: gauge Count, "TCP sockets allocated, in use or not";
    TCP_MEMORY: gauge Pages, "Memory of TCP buffers";
    UDP_INUSE: gauge Count, "UDP sockets in use";
    UDP_MEMORY: gauge Pages, "Memory of UDP buffers";
    UDPLITE_INUSE: gauge Count, "UDP-Lite sockets in use";
    RAW_INUSE: gauge Count, "Raw sockets in use";
    FRAGMENTS: gauge Count, "IPv4 packets being reassembled from fragments";
    FRAGMENT_BYTES: gauge Bytes, "Memory of these IPv4 fragments";
    TCP6_INUSE: gauge Count, "TCP sockets in use over IPv6";
    UDP6_INUSE: gauge Count, "UDP sockets in use over IPv6";
    UDPLITE6_INUSE: gauge Count, "UDP-Lite sockets in use over IPv6";
    RAW6_INUSE: gauge Count, "Raw sockets in use over IPv6";
    FRAGMENTS6: gauge Count, "IPv6 packets being reassembled from fragments";
    FRAGMENT6_BYTES: gauge Bytes, "Memory of these IPv6 fragments";
}

struct Socket {
    files: [FileId; 2],
}

impl Source for Socket {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        let mut row = table.row(b"");
        let mut state = State::Ok;
        for (index, &file) in self.files.iter().enumerate() {
            match host.read(file) {
                Ok(text) => {
                    for count in parse_sockstat(text) {
                        if let Some(field) = field_of(&count) {
                            row.set(field, count.value);
                        }
                    }
                }
                // A kernel without IPv6 has no second file; the fields of the first are complete.
                Err(absent) if index == 0 => state = absent,
                Err(_) => {}
            }
        }
        state
    }
}

fn field_of(count: &SocketCount<'_>) -> Option<usize> {
    Some(match (count.protocol, count.key) {
        (b"sockets", b"used") => USED,
        (b"TCP", b"inuse") => TCP_INUSE,
        (b"TCP", b"orphan") => TCP_ORPHAN,
        (b"TCP", b"tw") => TCP_TIME_WAIT,
        (b"TCP", b"alloc") => TCP_ALLOCATED,
        (b"TCP", b"mem") => TCP_MEMORY,
        (b"UDP", b"inuse") => UDP_INUSE,
        (b"UDP", b"mem") => UDP_MEMORY,
        (b"UDPLITE", b"inuse") => UDPLITE_INUSE,
        (b"RAW", b"inuse") => RAW_INUSE,
        (b"FRAG", b"inuse") => FRAGMENTS,
        (b"FRAG", b"memory") => FRAGMENT_BYTES,
        (b"TCP6", b"inuse") => TCP6_INUSE,
        (b"UDP6", b"inuse") => UDP6_INUSE,
        (b"UDPLITE6", b"inuse") => UDPLITE6_INUSE,
        (b"RAW6", b"inuse") => RAW6_INUSE,
        (b"FRAG6", b"inuse") => FRAGMENTS6,
        (b"FRAG6", b"memory") => FRAGMENT6_BYTES,
        _ => return None,
    })
}

/// UDP sockets.  collectl takes the last number of the last line that begins with `UDP`: the number
/// of UDP-Lite sockets, or UDP's memory.
fn udp(row: &Row<'_>) -> Option<f64> {
    let field = if !row.exact() {
        UDP_INUSE
    } else if row.raw(UDPLITE_INUSE).is_some() {
        UDPLITE_INUSE
    } else if row.raw(UDP_MEMORY).is_some() {
        UDP_MEMORY
    } else {
        UDP_INUSE
    };
    row.gauge(field)
}

/// Memory of fragments.  collectl prints the number of fragmented packets again.
fn fragment_memory(row: &Row<'_>) -> Option<f64> {
    row.gauge(if row.exact() { FRAGMENTS } else { FRAGMENT_BYTES })
}

/// The value of `Tcp` in brief mode, where collectl prints all sockets.
fn brief_tcp(row: &Row<'_>) -> Option<f64> {
    row.gauge(if row.exact() { USED } else { TCP_INUSE })
}

pub(crate) static ENTRY: Entry = Entry {
    name: "socket",
    about: "Sockets in use now, by protocol",
    letters: "s",
    reads: &["/proc/net/sockstat", "/proc/net/sockstat6"],
    instance: &[],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[Layout {
        level: Level::Summary,
        position: DisplayOrder { brief: 90, verbose: 80, plot: 30, lexpr: 70, gexpr: 110 },
        brief: &[Block {
            when: |_| true,
            title: "<------Sockets----->",
            headings: &[" Tcp  Udp  Raw Frag "],
            show: Show::Cells(&[
                Cell::scaled("", 4, brief_tcp).stat(Stat::WholeMean),
                Cell::scaled(" ", 4, udp).stat(Stat::WholeMean),
                Cell::scaled(" ", 4, |row| row.gauge(RAW_INUSE)).stat(Stat::WholeMean),
                Cell::scaled(" ", 4, |row| row.gauge(FRAGMENTS)).stat(Stat::WholeMean),
            ]),
        }],
        verbose: &[Block {
            when: |_| true,
            title: "SOCKET STATISTICS",
            headings: &[
                "      <-------------Tcp------------->   Udp   Raw   <---Frag-->",
                "Used  Inuse Orphan    Tw  Alloc   Mem  Inuse Inuse  Inuse   Mem",
            ],
            show: Show::Cells(&[
                Cell::whole("", 5, |row| row.gauge(USED)),
                Cell::whole("  ", 5, |row| row.gauge(TCP_INUSE)),
                Cell::whole("  ", 5, |row| row.gauge(TCP_ORPHAN)),
                Cell::whole(" ", 5, |row| row.gauge(TCP_TIME_WAIT)),
                Cell::whole("  ", 5, |row| row.gauge(TCP_ALLOCATED)),
                Cell::whole(" ", 5, |row| row.gauge(TCP_MEMORY)),
                Cell::whole("  ", 5, udp),
                Cell::whole(" ", 5, |row| row.gauge(RAW_INUSE)),
                Cell::whole("  ", 5, |row| row.gauge(FRAGMENTS)),
                Cell::whole(" ", 5, fragment_memory),
            ]),
        }],
        plot: Some(Plot {
            tag: "SOCK",
            columns: &[
                PlotColumn::plain("Used", |row| row.gauge(USED)),
                PlotColumn::plain("Tcp", |row| row.gauge(TCP_INUSE)),
                PlotColumn::plain("Orph", |row| row.gauge(TCP_ORPHAN)),
                PlotColumn::plain("Tw", |row| row.gauge(TCP_TIME_WAIT)),
                PlotColumn::plain("Alloc", |row| row.gauge(TCP_ALLOCATED)),
                PlotColumn::plain("Mem", |row| row.gauge(TCP_MEMORY)),
                PlotColumn::plain("Udp", udp),
                PlotColumn::plain("Raw", |row| row.gauge(RAW_INUSE)),
                PlotColumn::plain("Frag", |row| row.gauge(FRAGMENTS)),
                PlotColumn::plain("FragMem", fragment_memory),
            ],
            ..Plot::EMPTY
        }),
        metrics: &[
            PlotColumn::new("sockinfo.used", |row| row.gauge(USED)).level(),
            PlotColumn::new("sockinfo.tcp", |row| row.gauge(TCP_INUSE)).level(),
            PlotColumn::new("sockinfo.orphan", |row| row.gauge(TCP_ORPHAN)).level(),
            PlotColumn::new("sockinfo.tw", |row| row.gauge(TCP_TIME_WAIT)).level(),
            PlotColumn::new("sockinfo.alloc", |row| row.gauge(TCP_ALLOCATED)).level(),
            PlotColumn::new("sockinfo.mem", |row| row.gauge(TCP_MEMORY)).level(),
            PlotColumn::new("sockinfo.udp", udp).level(),
            PlotColumn::new("sockinfo.raw", |row| row.gauge(RAW_INUSE)).level(),
            PlotColumn::new("sockinfo.frag", |row| row.gauge(FRAGMENTS)).level(),
            PlotColumn::new("sockinfo.fragm", fragment_memory).level(),
        ],
        ..Layout::EMPTY
    }],
    open: |host, _| {
        let files = ["/proc/net/sockstat", "/proc/net/sockstat6"];
        Box::new(Socket { files: files.map(|path| host.file(path, ReadMode::Whole)) })
    },
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn both_families_and_one() {
        let mut host = Host::in_memory();
        let mut source = (ENTRY.open)(&mut host, &Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        assert_eq!(source.read(&mut host, &mut table), State::Absent);
        host.begin_tick();
        host.put("/proc/net/sockstat", Some(b"sockets: used 9\nTCP: inuse 3 mem 7\nX: inuse 1\n"));
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        assert_eq!((table.get(0, USED), table.get(0, TCP_MEMORY)), (Some(9), Some(7)));
        assert_eq!((table.get(0, UDP_INUSE), table.get(0, TCP6_INUSE)), (None, None));
        host.begin_tick();
        host.put("/proc/net/sockstat6", Some(b"TCP6: inuse 4\nFRAG6: inuse 0 memory 5\n"));
        source.read(&mut host, &mut table);
        assert_eq!((table.get(0, TCP6_INUSE), table.get(0, FRAGMENT6_BYTES)), (Some(4), Some(5)));
    }

    #[test]
    fn this_machine_has_sockets() {
        let mut host = Host::new("/");
        let mut source = (ENTRY.open)(&mut host, &Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        assert!(table.get(0, USED).is_some_and(|used| used > 0));
    }
}

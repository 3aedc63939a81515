//! How collectl shows the TCP/IP stack: `-st` (errors in brief mode, the main counters in verbose
//! mode) and `-sT` (every counter, in plots only).  `--tcpfilt` selects protocols.
//!
//! Most numbers are events in the interval, not per second, whatever collectl's heading says: a
//! single error would vanish in a rate.

use layout::{
    Block, Cell, DisplayOrder, Frame, Layout, Options, Part, Plot, PlotColumn, Row, Show, Stat,
};
use sample::Level;

use super::PROTOCOL_FILTER;
use super::fields::{Index, PLOT, delta, rate};

/// Connections established now; collectl shows their change.
fn established(row: &Row<'_>) -> Option<f64> {
    if row.exact() {
        delta(row, Index::TcpCurrEstab)
    } else {
        row.gauge(Index::TcpCurrEstab as usize)
    }
}

/// The sum of counters; those that a kernel lacks are left out.
fn together(row: &Row<'_>, indexes: &[Index]) -> Option<f64> {
    let parts = indexes.iter().filter_map(|&index| delta(row, index));
    parts.fold(None, |sum: Option<f64>, part| Some(sum.unwrap_or(0.0) + part))
}

fn ip_errors(row: &Row<'_>) -> Option<f64> {
    const FAULTS: [Index; 7] = [
        Index::IpInHdrErrors,
        Index::IpInAddrErrors,
        Index::IpInUnknownProtos,
        Index::IpInDiscards,
        Index::IpOutDiscards,
        Index::IpReasmFails,
        Index::IpFragFails,
    ];
    together(row, &FAULTS)
}

fn tcp_errors(row: &Row<'_>) -> Option<f64> {
    together(row, &[Index::TcpAttemptFails, Index::TcpInErrs])
}

fn udp_errors(row: &Row<'_>) -> Option<f64> {
    together(row, &[Index::UdpNoPorts, Index::UdpInErrors])
}

fn icmp_errors(row: &Row<'_>) -> Option<f64> {
    together(row, &[Index::IcmpInErrors, Index::IcmpInDestUnreachs, Index::IcmpOutErrors])
}

fn extended_errors(row: &Row<'_>) -> Option<f64> {
    // collectl has no sum for the recordings of its versions before 3.6.4, which name no columns.
    if row.exact() && row.raw(Index::TcpextTw as usize).is_none() {
        return Some(0.0);
    }
    together(row, &[Index::TcpextLoss, Index::TcpextFastRetrans])
}

fn has(options: &Options, letter: char) -> bool {
    options.value(&PROTOCOL_FILTER).has(letter)
}

/// The groups of brief mode, in their order.
const BRIEF_GROUPS: [(char, &str); 5] =
    [('i', "  IP "), ('t', " Tcp "), ('u', " Udp "), ('c', "Icmp "), ('T', "TcpX ")];

/// The heading of one group.  The title spans all groups that are shown; the first one writes it.
fn brief_heading(letter: char, frame: &Frame<'_>, part: Part, out: &mut Vec<u8>) {
    let shown = BRIEF_GROUPS.iter().filter(|(letter, _)| has(frame.options, *letter));
    match part {
        Part::Title if shown.clone().next().is_some_and(|&(first, _)| first == letter) => {
            let width = shown.count() * 5;
            let before = (width - 5) / 2;
            let after = if width.is_multiple_of(2) { before + 1 } else { before };
            out.push(b'<');
            out.resize(out.len() + before, b'-');
            out.extend_from_slice(b"TCP");
            out.resize(out.len() + after, b'-');
            out.push(b'>');
        }
        Part::Heading => {
            let heading = BRIEF_GROUPS.iter().find(|group| group.0 == letter);
            out.extend_from_slice(heading.map_or("", |group| group.1).as_bytes());
        }
        _ => {}
    }
}

/// A block of brief mode: one number of errors.
macro_rules! brief_group {
    ($letter:literal, $value:expr) => {
        Block {
            when: |options| has(options, $letter),
            title: "",
            headings: &[],
            show: Show::Headed(
                |frame, part, out| brief_heading($letter, frame, part, out),
                &[Cell::scaled("", 4, $value).stat(Stat::Events)],
            ),
        }
    };
}

/// A cell of verbose mode: events in the interval.
macro_rules! events {
    ($lead:literal, $width:literal, $index:ident) => {
        Cell::whole($lead, $width, |row| delta(row, Index::$index))
    };
}

/// A cell of verbose mode: a rate.
macro_rules! per_second {
    ($lead:literal, $width:literal, $index:ident) => {
        Cell::whole($lead, $width, |row| rate(row, Index::$index))
    };
}

/// `-st`.
pub(super) const SUMMARY: Layout = Layout {
    level: Level::Summary,
    position: DisplayOrder { brief: 80, verbose: 85, plot: 90, lexpr: 80, gexpr: 120 },
    brief: &[
        brief_group!('i', ip_errors),
        brief_group!('t', tcp_errors),
        brief_group!('u', udp_errors),
        brief_group!('c', icmp_errors),
        brief_group!('T', extended_errors),
    ],
    verbose: &[
        Block {
            when: |_| true,
            title: "TCP STACK SUMMARY ($rate)",
            headings: &["", "$blank"],
            show: Show::Cells(&[Cell::left(" ", 0, |_| Some(b""))]),
        },
        Block {
            when: |options| has(options, 'i'),
            title: "",
            headings: &[
                "<----------------------------------IpPkts----------------------------------->",
                " Receiv Delivr Forwrd DiscdI InvAdd   Sent DiscrO ReasRq ReasOK FragOK FragCr",
            ],
            show: Show::Cells(&[
                per_second!(" ", 6, IpInReceives),
                per_second!(" ", 6, IpInDelivers),
                events!(" ", 6, IpForwDatagrams),
                events!(" ", 6, IpInDiscards),
                events!(" ", 6, IpInAddrErrors),
                per_second!(" ", 6, IpOutRequests),
                events!(" ", 6, IpOutDiscards),
                events!(" ", 6, IpReasmReqds),
                events!(" ", 6, IpReasmOks),
                events!(" ", 6, IpFragOks),
                events!(" ", 6, IpFragCreates),
            ]),
        },
        Block {
            when: |options| has(options, 't'),
            title: "",
            headings: &[
                "<---------------------------------Tcp--------------------------------->",
                " ActOpn PasOpn Failed ResetR  Estab   SegIn SegOut SegRtn SegBad SegRes",
            ],
            show: Show::Cells(&[
                per_second!(" ", 6, TcpActiveOpens),
                per_second!(" ", 6, TcpPassiveOpens),
                events!(" ", 6, TcpAttemptFails),
                events!(" ", 6, TcpEstabResets),
                Cell::whole(" ", 6, established),
                per_second!("  ", 6, TcpInSegs),
                per_second!(" ", 6, TcpOutSegs),
                events!(" ", 6, TcpRetransSegs),
                events!(" ", 6, TcpInErrs),
                events!(" ", 6, TcpOutRsts),
            ]),
        },
        Block {
            when: |options| has(options, 'u'),
            title: "",
            headings: &["<------------Udp----------->", "  InDgm OutDgm NoPort Errors"],
            show: Show::Cells(&[
                per_second!(" ", 6, UdpInDatagrams),
                per_second!(" ", 6, UdpOutDatagrams),
                events!(" ", 6, UdpNoPorts),
                events!(" ", 6, UdpInErrors),
            ]),
        },
        Block {
            when: |options| has(options, 'c'),
            title: "",
            headings: &[
                "<----------------------------Icmp--------------------------->",
                " Recvd FailI UnreI EchoI ReplI  Trans FailO UnreO EchoO ReplO",
            ],
            show: Show::Cells(&[
                events!(" ", 5, IcmpInMsgs),
                events!(" ", 5, IcmpInErrors),
                events!(" ", 5, IcmpInDestUnreachs),
                events!(" ", 5, IcmpInEchos),
                events!(" ", 5, IcmpInEchoReps),
                events!("  ", 5, IcmpOutMsgs),
                events!(" ", 5, IcmpOutErrors),
                events!(" ", 5, IcmpOutDestUnreachs),
                events!(" ", 5, IcmpOutEchos),
                events!(" ", 5, IcmpOutEchoReps),
            ]),
        },
        Block {
            when: |options| has(options, 'I'),
            title: "",
            headings: &[
                "<-------------------------IpExt------------------------>",
                " MPktsI BPktsI OctetI MOctsI BOctsI MPktsI OctetI MOctsI",
            ],
            show: Show::Cells(&[
                events!(" ", 6, IpextInMcastPkts),
                events!(" ", 6, IpextInBcastPkts),
                events!(" ", 6, IpextInOctets),
                events!(" ", 6, IpextInMcastOctets),
                events!(" ", 6, IpextInBcastOctets),
                events!(" ", 6, IpextOutMcastPkts),
                events!(" ", 6, IpextOutOctets),
                events!(" ", 6, IpextOutMcastOctets),
            ]),
        },
        Block {
            when: |options| has(options, 'T'),
            title: "",
            headings: &[
                "<-------------------------------------------------TcpExt\
                 ------------------------------------------------>",
                " FasTim Reject DelAck QikAck PktQue PreQuB HdPdct PurAck HPAcks DsAcks RUData \
                 REClos  SackS PkLoss FTrans",
            ],
            show: Show::Cells(&[
                events!(" ", 6, TcpextTw),
                events!(" ", 6, TcpextPawsEstab),
                events!(" ", 6, TcpextDelayedAcks),
                events!(" ", 6, TcpextDelayedAckLost),
                events!(" ", 6, TcpextPrequeued),
                events!(" ", 6, TcpextDirectCopyFromPrequeue),
                events!(" ", 6, TcpextHpHits),
                events!(" ", 6, TcpextPureAcks),
                events!(" ", 6, TcpextHpAcks),
                events!(" ", 6, TcpextDsackOldSent),
                events!(" ", 6, TcpextAbortOnData),
                events!(" ", 6, TcpextAbortOnClose),
                events!(" ", 6, TcpextSackShiftFallback),
                events!(" ", 6, TcpextLoss),
                events!(" ", 6, TcpextFastRetrans),
            ]),
        },
    ],
    plot: Some(Plot {
        tag: "TCP",
        columns: &[
            PlotColumn::new("IpErr", |row| row.per_second(ip_errors(row))),
            PlotColumn::new("TcpErr", |row| row.per_second(tcp_errors(row))),
            PlotColumn::new("UdpErr", |row| row.per_second(udp_errors(row))),
            PlotColumn::new("IcmpErr", |row| row.per_second(icmp_errors(row))),
            PlotColumn::new("Loss", |row| rate(row, Index::TcpextLoss)),
            PlotColumn::new("FTrans", |row| rate(row, Index::TcpextFastRetrans)),
        ],
        ..Plot::EMPTY
    }),
    metrics: &[
        PlotColumn::new("tcpinfo.iperrs", |row| row.per_second(ip_errors(row)))
            .applies(|row| has(row.options(), 'i')),
        PlotColumn::new("tcpinfo.tcperrs", |row| row.per_second(tcp_errors(row)))
            .applies(|row| has(row.options(), 't')),
        PlotColumn::new("tcpinfo.udperrs", |row| row.per_second(udp_errors(row)))
            .applies(|row| has(row.options(), 'u')),
        PlotColumn::new("tcpinfo.icmperrs", |row| row.per_second(icmp_errors(row)))
            .applies(|row| has(row.options(), 'c')),
        PlotColumn::new("tcpinfo.tcpxerrs", |row| row.per_second(extended_errors(row)))
            .applies(|row| has(row.options(), 'T')),
    ],
    ..Layout::EMPTY
};

/// `-sT`: plots only, as with collectl.
pub(super) const DETAIL: Layout = Layout {
    level: Level::Detail,
    position: DisplayOrder {
        verbose: 90,
        plot: 70,
        lexpr: 1450,
        gexpr: 1450,
        ..DisplayOrder::LAST
    },
    plot: Some(Plot { tag: "TCPD", extension: "tcp", columns: PLOT, ..Plot::EMPTY }),
    ..Layout::EMPTY
};

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
use super::fields::{self, PLOT, delta, rate};

/// Connections established now; collectl shows their change.
fn established(row: &Row<'_>) -> Option<f64> {
    if row.exact() { delta(row, fields::TCP_CURR_ESTAB) } else { row.gauge(fields::TCP_CURR_ESTAB) }
}

/// The sum of counters; those that a kernel lacks are left out.
fn together(row: &Row<'_>, fields: &[usize]) -> Option<f64> {
    let parts = fields.iter().filter_map(|&field| delta(row, field));
    parts.fold(None, |sum: Option<f64>, part| Some(sum.unwrap_or(0.0) + part))
}

fn ip_errors(row: &Row<'_>) -> Option<f64> {
    const FAULTS: [usize; 7] = [
        fields::IP_IN_HDR_ERRORS,
        fields::IP_IN_ADDR_ERRORS,
        fields::IP_IN_UNKNOWN_PROTOS,
        fields::IP_IN_DISCARDS,
        fields::IP_OUT_DISCARDS,
        fields::IP_REASM_FAILS,
        fields::IP_FRAG_FAILS,
    ];
    together(row, &FAULTS)
}

fn tcp_errors(row: &Row<'_>) -> Option<f64> {
    together(row, &[fields::TCP_ATTEMPT_FAILS, fields::TCP_IN_ERRS])
}

fn udp_errors(row: &Row<'_>) -> Option<f64> {
    together(row, &[fields::UDP_NO_PORTS, fields::UDP_IN_ERRORS])
}

fn icmp_errors(row: &Row<'_>) -> Option<f64> {
    together(row, &[fields::ICMP_IN_ERRORS, fields::ICMP_IN_DEST_UNREACHS, fields::ICMP_OUT_ERRORS])
}

fn extended_errors(row: &Row<'_>) -> Option<f64> {
    // collectl has no sum for the recordings of its versions before 3.6.4, which name no columns.
    if row.exact() && row.raw(fields::TCPEXT_TW).is_none() {
        return Some(0.0);
    }
    together(row, &[fields::TCPEXT_LOSS, fields::TCPEXT_FAST_RETRANS])
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
    ($lead:literal, $width:literal, $field:ident) => {
        Cell::whole($lead, $width, |row| delta(row, fields::$field))
    };
}

/// A cell of verbose mode: a rate.
macro_rules! per_second {
    ($lead:literal, $width:literal, $field:ident) => {
        Cell::whole($lead, $width, |row| rate(row, fields::$field))
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
                per_second!(" ", 6, IP_IN_RECEIVES),
                per_second!(" ", 6, IP_IN_DELIVERS),
                events!(" ", 6, IP_FORW_DATAGRAMS),
                events!(" ", 6, IP_IN_DISCARDS),
                events!(" ", 6, IP_IN_ADDR_ERRORS),
                per_second!(" ", 6, IP_OUT_REQUESTS),
                events!(" ", 6, IP_OUT_DISCARDS),
                events!(" ", 6, IP_REASM_REQDS),
                events!(" ", 6, IP_REASM_OKS),
                events!(" ", 6, IP_FRAG_OKS),
                events!(" ", 6, IP_FRAG_CREATES),
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
                per_second!(" ", 6, TCP_ACTIVE_OPENS),
                per_second!(" ", 6, TCP_PASSIVE_OPENS),
                events!(" ", 6, TCP_ATTEMPT_FAILS),
                events!(" ", 6, TCP_ESTAB_RESETS),
                Cell::whole(" ", 6, established),
                per_second!("  ", 6, TCP_IN_SEGS),
                per_second!(" ", 6, TCP_OUT_SEGS),
                events!(" ", 6, TCP_RETRANS_SEGS),
                events!(" ", 6, TCP_IN_ERRS),
                events!(" ", 6, TCP_OUT_RSTS),
            ]),
        },
        Block {
            when: |options| has(options, 'u'),
            title: "",
            headings: &["<------------Udp----------->", "  InDgm OutDgm NoPort Errors"],
            show: Show::Cells(&[
                per_second!(" ", 6, UDP_IN_DATAGRAMS),
                per_second!(" ", 6, UDP_OUT_DATAGRAMS),
                events!(" ", 6, UDP_NO_PORTS),
                events!(" ", 6, UDP_IN_ERRORS),
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
                events!(" ", 5, ICMP_IN_MSGS),
                events!(" ", 5, ICMP_IN_ERRORS),
                events!(" ", 5, ICMP_IN_DEST_UNREACHS),
                events!(" ", 5, ICMP_IN_ECHOS),
                events!(" ", 5, ICMP_IN_ECHO_REPS),
                events!("  ", 5, ICMP_OUT_MSGS),
                events!(" ", 5, ICMP_OUT_ERRORS),
                events!(" ", 5, ICMP_OUT_DEST_UNREACHS),
                events!(" ", 5, ICMP_OUT_ECHOS),
                events!(" ", 5, ICMP_OUT_ECHO_REPS),
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
                events!(" ", 6, IPEXT_IN_MCAST_PKTS),
                events!(" ", 6, IPEXT_IN_BCAST_PKTS),
                events!(" ", 6, IPEXT_IN_OCTETS),
                events!(" ", 6, IPEXT_IN_MCAST_OCTETS),
                events!(" ", 6, IPEXT_IN_BCAST_OCTETS),
                events!(" ", 6, IPEXT_OUT_MCAST_PKTS),
                events!(" ", 6, IPEXT_OUT_OCTETS),
                events!(" ", 6, IPEXT_OUT_MCAST_OCTETS),
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
                events!(" ", 6, TCPEXT_TW),
                events!(" ", 6, TCPEXT_PAWS_ESTAB),
                events!(" ", 6, TCPEXT_DELAYED_ACKS),
                events!(" ", 6, TCPEXT_DELAYED_ACK_LOST),
                events!(" ", 6, TCPEXT_PREQUEUED),
                events!(" ", 6, TCPEXT_DIRECT_COPY_FROM_PREQUEUE),
                events!(" ", 6, TCPEXT_HP_HITS),
                events!(" ", 6, TCPEXT_PURE_ACKS),
                events!(" ", 6, TCPEXT_HP_ACKS),
                events!(" ", 6, TCPEXT_DSACK_OLD_SENT),
                events!(" ", 6, TCPEXT_ABORT_ON_DATA),
                events!(" ", 6, TCPEXT_ABORT_ON_CLOSE),
                events!(" ", 6, TCPEXT_SACK_SHIFT_FALLBACK),
                events!(" ", 6, TCPEXT_LOSS),
                events!(" ", 6, TCPEXT_FAST_RETRANS),
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
            PlotColumn::new("Loss", |row| rate(row, fields::TCPEXT_LOSS)),
            PlotColumn::new("FTrans", |row| rate(row, fields::TCPEXT_FAST_RETRANS)),
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

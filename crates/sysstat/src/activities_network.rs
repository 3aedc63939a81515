//! The tables of `sar -n`, as data.

use crate::activities::{Activity, Chosen, Line, level, named, one, only, rates};
use crate::columns::{Column, column, rate};
use crate::format::{Unit, percent};
use crate::values::{Row, Span};

/// All CPUs, and those that are chosen.
fn softnet_lines<'a>(span: &Span<'a>, chosen: &Chosen) -> Vec<Line<'a>> {
    let rows = span.rows("softnet");
    let mut lines = Vec::new();
    if chosen.cpus.has_sum() {
        lines.push(("all".to_owned(), rows.clone()));
    }
    let each = rows.into_iter().map(|row| (row.name(), vec![row]));
    lines.extend(each.filter(|(name, _)| chosen.cpus.shows(name)));
    lines
}

/// The calls of one side, in all versions of the protocol.
fn nfs_lines<'a>(span: &Span<'a>, side: &str) -> Vec<Line<'a>> {
    let is_of_side = |row: &Row<'_>| row.labels().is_some_and(|(of, _)| of == side);
    vec![(String::new(), span.rows("nfs").into_iter().filter(is_of_side).collect())]
}

fn interface_lines<'a>(span: &Span<'a>, chosen: &Chosen) -> Vec<Line<'a>> {
    named(span, "network", &chosen.interfaces)
}

/// How much of an interface's speed the busier direction uses.
fn interface_use(rows: &[Row<'_>]) -> Option<f64> {
    let speed_mbit = level(rows, "speed_mbit").unwrap_or(0.0);
    let bytes = one(rows, "rx_bytes")?.max(one(rows, "tx_bytes")?);
    Some(percent(bytes * 8.0, speed_mbit * 1e6))
}

fn kib_rate(rows: &[Row<'_>], field: &str) -> Option<f64> {
    one(rows, field).map(|bytes| bytes / 1024.0)
}

/// The tables of `-n`, by keyword, in the order in which they are shown.
pub(crate) static NETWORK: &[Activity] = &[
    Activity {
        option: "DEV",
        sources: &["network"],
        label: Some("IFACE"),
        columns: &[
            column!("rxpck/s", 10, Plain, |rows| one(rows, "rx_packets")),
            column!("txpck/s", 10, Plain, |rows| one(rows, "tx_packets")),
            column!("rxkB/s", 10, KibibytesOfBytes, |rows| kib_rate(rows, "rx_bytes")),
            column!("txkB/s", 10, KibibytesOfBytes, |rows| kib_rate(rows, "tx_bytes")),
            column!("rxcmp/s", 10, Plain, |rows| one(rows, "rx_compressed")),
            column!("txcmp/s", 10, Plain, |rows| one(rows, "tx_compressed")),
            column!("rxmcst/s", 10, Plain, |rows| one(rows, "rx_multicast")),
            column!("%ifutil", 10, Percent, interface_use),
        ],
        lines: interface_lines,
    },
    Activity {
        option: "EDEV",
        sources: &["network"],
        label: Some("IFACE"),
        columns: rates![
            ("rxerr/s", "rx_errors"),
            ("txerr/s", "tx_errors"),
            ("coll/s", "tx_collisions"),
            ("rxdrop/s", "rx_dropped"),
            ("txdrop/s", "tx_dropped"),
            ("txcarr/s", "tx_carrier"),
            ("rxfram/s", "rx_frame"),
            ("rxfifo/s", "rx_fifo"),
            ("txfifo/s", "tx_fifo"),
        ],
        lines: interface_lines,
    },
    Activity {
        option: "SOCK",
        sources: &["socket"],
        label: None,
        columns: &[
            column!("totsck", 10, Whole, |rows| level(rows, "used")),
            column!("tcpsck", 10, Whole, |rows| level(rows, "tcp_inuse")),
            column!("udpsck", 10, Whole, |rows| level(rows, "udp_inuse")),
            column!("rawsck", 10, Whole, |rows| level(rows, "raw_inuse")),
            column!("ip-frag", 10, Whole, |rows| level(rows, "fragments")),
            column!("tcp-tw", 10, Whole, |rows| level(rows, "tcp_time_wait")),
        ],
        lines: |span, _| only(span, "socket"),
    },
    Activity {
        option: "IP",
        sources: &["tcp"],
        label: None,
        columns: rates![
            ("irec/s", "ip_in_receives"),
            ("fwddgm/s", "ip_forw_datagrams"),
            ("idel/s", "ip_in_delivers"),
            ("orq/s", "ip_out_requests"),
            ("asmrq/s", "ip_reasm_reqds"),
            ("asmok/s", "ip_reasm_oks"),
            ("fragok/s", "ip_frag_oks"),
            ("fragcrt/s", "ip_frag_creates"),
        ],
        lines: |span, _| only(span, "tcp"),
    },
    Activity {
        option: "EIP",
        sources: &["tcp"],
        label: None,
        columns: rates![
            ("ihdrerr/s", "ip_in_hdr_errors"),
            ("iadrerr/s", "ip_in_addr_errors"),
            ("iukwnpr/s", "ip_in_unknown_protos"),
            ("idisc/s", "ip_in_discards"),
            ("odisc/s", "ip_out_discards"),
            ("onort/s", "ip_out_no_routes"),
            ("asmf/s", "ip_reasm_fails"),
            ("fragf/s", "ip_frag_fails"),
        ],
        lines: |span, _| only(span, "tcp"),
    },
    Activity {
        option: "ICMP",
        sources: &["tcp"],
        label: None,
        columns: rates![
            ("imsg/s", "icmp_in_msgs"),
            ("omsg/s", "icmp_out_msgs"),
            ("iech/s", "icmp_in_echos"),
            ("iechr/s", "icmp_in_echo_reps"),
            ("oech/s", "icmp_out_echos"),
            ("oechr/s", "icmp_out_echo_reps"),
            ("itm/s", "icmp_in_timestamps"),
            ("itmr/s", "icmp_in_timestamp_reps"),
            ("otm/s", "icmp_out_timestamps"),
            ("otmr/s", "icmp_out_timestamp_reps"),
            ("iadrmk/s", "icmp_in_addr_masks"),
            ("iadrmkr/s", "icmp_in_addr_mask_reps"),
            ("oadrmk/s", "icmp_out_addr_masks"),
            ("oadrmkr/s", "icmp_out_addr_mask_reps"),
        ],
        lines: |span, _| only(span, "tcp"),
    },
    Activity {
        option: "EICMP",
        sources: &["tcp"],
        label: None,
        columns: rates![
            ("ierr/s", "icmp_in_errors"),
            ("oerr/s", "icmp_out_errors"),
            ("idstunr/s", "icmp_in_dest_unreachs"),
            ("odstunr/s", "icmp_out_dest_unreachs"),
            ("itmex/s", "icmp_in_time_excds"),
            ("otmex/s", "icmp_out_time_excds"),
            ("iparmpb/s", "icmp_in_parm_probs"),
            ("oparmpb/s", "icmp_out_parm_probs"),
            ("isrcq/s", "icmp_in_src_quenchs"),
            ("osrcq/s", "icmp_out_src_quenchs"),
            ("iredir/s", "icmp_in_redirects"),
            ("oredir/s", "icmp_out_redirects"),
        ],
        lines: |span, _| only(span, "tcp"),
    },
    Activity {
        option: "TCP",
        sources: &["tcp"],
        label: None,
        columns: rates![
            ("active/s", "tcp_active_opens"),
            ("passive/s", "tcp_passive_opens"),
            ("iseg/s", "tcp_in_segs"),
            ("oseg/s", "tcp_out_segs"),
        ],
        lines: |span, _| only(span, "tcp"),
    },
    Activity {
        option: "ETCP",
        sources: &["tcp"],
        label: None,
        columns: rates![
            ("atmptf/s", "tcp_attempt_fails"),
            ("estres/s", "tcp_estab_resets"),
            ("retrans/s", "tcp_retrans_segs"),
            ("isegerr/s", "tcp_in_errs"),
            ("orsts/s", "tcp_out_rsts"),
        ],
        lines: |span, _| only(span, "tcp"),
    },
    Activity {
        option: "UDP",
        sources: &["tcp"],
        label: None,
        columns: rates![
            ("idgm/s", "udp_in_datagrams"),
            ("odgm/s", "udp_out_datagrams"),
            ("noport/s", "udp_no_ports"),
            ("idgmerr/s", "udp_in_errors"),
        ],
        lines: |span, _| only(span, "tcp"),
    },
    Activity {
        option: "SOCK6",
        sources: &["socket"],
        label: None,
        columns: &[
            column!("tcp6sck", 10, Whole, |rows| level(rows, "tcp6_inuse")),
            column!("udp6sck", 10, Whole, |rows| level(rows, "udp6_inuse")),
            column!("raw6sck", 10, Whole, |rows| level(rows, "raw6_inuse")),
            column!("ip6-frag", 10, Whole, |rows| level(rows, "fragments6")),
        ],
        lines: |span, _| only(span, "socket"),
    },
    Activity {
        option: "IP6",
        sources: &["ip6"],
        label: None,
        columns: rates![
            ("irec6/s", "ip6_in_receives"),
            ("fwddgm6/s", "ip6_out_forw_datagrams"),
            ("idel6/s", "ip6_in_delivers"),
            ("orq6/s", "ip6_out_requests"),
            ("asmrq6/s", "ip6_reasm_reqds"),
            ("asmok6/s", "ip6_reasm_oks"),
            ("imcpck6/s", "ip6_in_mcast_pkts"),
            ("omcpck6/s", "ip6_out_mcast_pkts"),
            ("fragok6/s", "ip6_frag_oks"),
            ("fragcr6/s", "ip6_frag_creates"),
        ],
        lines: |span, _| only(span, "ip6"),
    },
    Activity {
        option: "EIP6",
        sources: &["ip6"],
        label: None,
        columns: rates![
            ("ihdrer6/s", "ip6_in_hdr_errors"),
            ("iadrer6/s", "ip6_in_addr_errors"),
            ("iukwnp6/s", "ip6_in_unknown_protos"),
            ("i2big6/s", "ip6_in_too_big_errors"),
            ("idisc6/s", "ip6_in_discards"),
            ("odisc6/s", "ip6_out_discards"),
            ("inort6/s", "ip6_in_no_routes"),
            ("onort6/s", "ip6_out_no_routes"),
            ("asmf6/s", "ip6_reasm_fails"),
            ("fragf6/s", "ip6_frag_fails"),
            ("itrpck6/s", "ip6_in_truncated_pkts"),
        ],
        lines: |span, _| only(span, "ip6"),
    },
    Activity {
        option: "ICMP6",
        sources: &["ip6"],
        label: None,
        columns: rates![
            ("imsg6/s", "icmp6_in_msgs"),
            ("omsg6/s", "icmp6_out_msgs"),
            ("iech6/s", "icmp6_in_echos"),
            ("iechr6/s", "icmp6_in_echo_replies"),
            ("oechr6/s", "icmp6_out_echo_replies"),
            ("igmbq6/s", "icmp6_in_group_memb_queries"),
            ("igmbr6/s", "icmp6_in_group_memb_responses"),
            ("ogmbr6/s", "icmp6_out_group_memb_responses"),
            ("igmbrd6/s", "icmp6_in_group_memb_reductions"),
            ("ogmbrd6/s", "icmp6_out_group_memb_reductions"),
            ("irtsol6/s", "icmp6_in_router_solicits"),
            ("ortsol6/s", "icmp6_out_router_solicits"),
            ("irtad6/s", "icmp6_in_router_advertisements"),
            ("inbsol6/s", "icmp6_in_neighbor_solicits"),
            ("onbsol6/s", "icmp6_out_neighbor_solicits"),
            ("inbad6/s", "icmp6_in_neighbor_advertisements"),
            ("onbad6/s", "icmp6_out_neighbor_advertisements"),
        ],
        lines: |span, _| only(span, "ip6"),
    },
    Activity {
        option: "EICMP6",
        sources: &["ip6"],
        label: None,
        columns: rates![
            ("ierr6/s", "icmp6_in_errors"),
            ("idtunr6/s", "icmp6_in_dest_unreachs"),
            ("odtunr6/s", "icmp6_out_dest_unreachs"),
            ("itmex6/s", "icmp6_in_time_excds"),
            ("otmex6/s", "icmp6_out_time_excds"),
            ("iprmpb6/s", "icmp6_in_parm_problems"),
            ("oprmpb6/s", "icmp6_out_parm_problems"),
            ("iredir6/s", "icmp6_in_redirects"),
            ("oredir6/s", "icmp6_out_redirects"),
            ("ipck2b6/s", "icmp6_in_pkt_too_bigs"),
            ("opck2b6/s", "icmp6_out_pkt_too_bigs"),
        ],
        lines: |span, _| only(span, "ip6"),
    },
    Activity {
        option: "UDP6",
        sources: &["ip6"],
        label: None,
        columns: rates![
            ("idgm6/s", "udp6_in_datagrams"),
            ("odgm6/s", "udp6_out_datagrams"),
            ("noport6/s", "udp6_no_ports"),
            ("idgmer6/s", "udp6_in_errors"),
        ],
        lines: |span, _| only(span, "ip6"),
    },
    Activity {
        option: "SOFT",
        sources: &["softnet"],
        label: Some("CPU"),
        columns: &[
            column!("total/s", 10, Plain, |rows| rate(rows, &["processed"])),
            column!("dropd/s", 10, Plain, |rows| rate(rows, &["dropped"])),
            column!("squeezd/s", 10, Plain, |rows| rate(rows, &["squeezed"])),
            column!("rx_rps/s", 10, Plain, |rows| rate(rows, &["received_rps"])),
            column!("flw_lim/s", 10, Plain, |rows| rate(rows, &["flow_limited"])),
            column!("blg_len", 10, Whole, |rows| {
                rows.iter()
                    .filter_map(|row| row.level("backlog"))
                    .reduce(|sum, length| sum + length)
            }),
        ],
        lines: softnet_lines,
    },
    Activity {
        option: "NFS",
        sources: &["nfs"],
        label: None,
        columns: &[
            column!("call/s", 10, Plain, |rows| rate(rows, &["rpc_calls"])),
            column!("retrans/s", 10, Plain, |rows| rate(rows, &["rpc_retransmissions"])),
            column!("read/s", 10, Plain, |rows| rate(rows, &["read"])),
            column!("write/s", 10, Plain, |rows| rate(rows, &["write"])),
            column!("access/s", 10, Plain, |rows| rate(rows, &["access"])),
            column!("getatt/s", 10, Plain, |rows| rate(rows, &["getattr"])),
        ],
        lines: |span, _| nfs_lines(span, "client"),
    },
    Activity {
        option: "NFSD",
        sources: &["nfs"],
        label: None,
        columns: &[
            column!("scall/s", 10, Plain, |rows| rate(rows, &["rpc_calls"])),
            column!("badcall/s", 10, Plain, |rows| rate(rows, &["rpc_bad_calls"])),
            column!("packet/s", 10, Plain, |rows| rate(rows, &["net_packets"])),
            column!("udp/s", 10, Plain, |rows| rate(rows, &["net_udp"])),
            column!("tcp/s", 10, Plain, |rows| rate(rows, &["net_tcp"])),
            column!("hit/s", 10, Plain, |rows| rate(rows, &["reply_cache_hits"])),
            column!("miss/s", 10, Plain, |rows| rate(rows, &["reply_cache_misses"])),
            column!("sread/s", 10, Plain, |rows| rate(rows, &["read"])),
            column!("swrite/s", 10, Plain, |rows| rate(rows, &["write"])),
            column!("saccess/s", 10, Plain, |rows| rate(rows, &["access"])),
            column!("sgetatt/s", 10, Plain, |rows| rate(rows, &["getattr"])),
        ],
        lines: |span, _| nfs_lines(span, "server"),
    },
];

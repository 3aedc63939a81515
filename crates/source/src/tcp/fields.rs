//! The columns of `/proc/net/snmp` and `/proc/net/netstat` that are recorded, in the kernel's
//! order; columns that only old kernels print are where these print them (kernel `net/ipv4/proc.c`,
//! RFC 2011 to 2013).  Other columns are not recorded; `UdpLite`, `IcmpMsg` and `MPTcpExt` are left
//! out.

use layout::{PlotColumn, Row};
use sample::{Kind, fields};

use super::PROTOCOL_FILTER;

/// The position of a column in the kernel's text.
pub(super) struct Column {
    /// The word that begins the line (`TcpExt`).
    pub(super) protocol: &'static str,
    /// The kernel's name of the column.
    pub(super) name: &'static str,
}

/// True if a column has a name besides the kernel's.
macro_rules! is_given {
    () => {
        false
    };
    ($given:literal) => {
        true
    };
}

/// Makes the fields, the kernel's names, those of node_exporter and the plot columns from one list.  A name that several
/// protocols have gets a distinct one after `as`; `--exact` keeps the kernel's.
macro_rules! columns {
    ($($protocol:literal $letter:literal {$(
        $field:ident: $kind:ident $unit:ident, $help:literal, from $name:literal
            $(as $distinct:literal)?;
    )*})*) => {
        fields! { $($( $field: $kind $unit, $help; )*)* }

        pub(super) const COLUMNS: &[Column] =
            &[$($( Column { protocol: $protocol, name: $name }, )*)*];

        pub(super) const EXPORTED: &[&str] =
            &[$($( concat!("node_netstat_", $protocol, "_", $name), )*)*];

        pub(super) const PLOT: &[PlotColumn] = &[$($(
            PlotColumn::whole($name, |row: &Row<'_>| plotted(row, $field)).applies(|row| {
                shows(row, $letter, $field) && (row.exact() || !is_given!($($distinct)?))
            }),
            $(
                PlotColumn::whole($distinct, |row: &Row<'_>| plotted(row, $field))
                    .applies(|row| shows(row, $letter, $field) && !row.exact()),
            )?
        )*)*];
    };
}

columns! {
    "Ip" 'i' {
        IP_FORWARDING: gauge Count,
            "1 if this machine forwards packets, 2 if not", from "Forwarding";
        IP_DEFAULT_TTL: gauge Count, "Time to live of packets sent, in hops", from "DefaultTTL";
        IP_IN_RECEIVES: counter Count, "Packets received", from "InReceives";
        IP_IN_HDR_ERRORS: counter Count, "Packets dropped for a broken header", from "InHdrErrors";
        IP_IN_ADDR_ERRORS: counter Count,
            "Packets dropped for a wrong address", from "InAddrErrors";
        IP_FORW_DATAGRAMS: counter Count, "Packets forwarded", from "ForwDatagrams";
        IP_IN_UNKNOWN_PROTOS: counter Count,
            "Packets dropped for an unknown protocol", from "InUnknownProtos";
        IP_IN_DISCARDS: counter Count,
            "Valid packets received and dropped, for example for lack of memory", from "InDiscards";
        IP_IN_DELIVERS: counter Count, "Packets delivered to a protocol", from "InDelivers";
        IP_OUT_REQUESTS: counter Count, "Packets that protocols asked to send", from "OutRequests";
        IP_OUT_DISCARDS: counter Count, "Valid packets dropped instead of sent", from "OutDiscards";
        IP_OUT_NO_ROUTES: counter Count, "Packets dropped for lack of a route", from "OutNoRoutes";
        IP_REASM_TIMEOUT: counter Count, "Reassembly timeouts", from "ReasmTimeout";
        IP_REASM_REQDS: counter Count, "Fragments received", from "ReasmReqds";
        IP_REASM_OKS: counter Count, "Packets reassembled from fragments", from "ReasmOKs";
        IP_REASM_FAILS: counter Count, "Packets that could not be reassembled", from "ReasmFails";
        IP_FRAG_OKS: counter Count, "Packets fragmented", from "FragOKs";
        IP_FRAG_FAILS: counter Count, "Packets that could not be fragmented", from "FragFails";
        IP_FRAG_CREATES: counter Count, "Fragments created", from "FragCreates";
        IP_OUT_TRANSMITS: counter Count, "Packets passed to the link layer", from "OutTransmits";
    }
    "Tcp" 't' {
        TCP_RTO_ALGORITHM: gauge Count,
            "Algorithm of the retransmission timeout (1: other)", from "RtoAlgorithm";
        TCP_RTO_MIN: gauge Milliseconds, "Shortest retransmission timeout, in ms", from "RtoMin";
        TCP_RTO_MAX: gauge Milliseconds, "Longest retransmission timeout, in ms", from "RtoMax";
        TCP_MAX_CONN: gauge Count, "Most connections allowed, -1 for no limit", from "MaxConn";
        TCP_ACTIVE_OPENS: counter Count, "Active connection openings", from "ActiveOpens";
        TCP_PASSIVE_OPENS: counter Count, "Passive connection openings", from "PassiveOpens";
        TCP_ATTEMPT_FAILS: counter Count, "Attempts to connect that failed", from "AttemptFails";
        TCP_ESTAB_RESETS: counter Count,
            "Established connections that were reset", from "EstabResets";
        TCP_CURR_ESTAB: gauge Count, "Connections established now", from "CurrEstab";
        TCP_IN_SEGS: counter Count, "Segments received", from "InSegs";
        TCP_OUT_SEGS: counter Count, "Segments sent, without retransmissions", from "OutSegs";
        TCP_RETRANS_SEGS: counter Count, "Segments retransmitted", from "RetransSegs";
        TCP_IN_ERRS: counter Count, "Segments received with an error", from "InErrs";
        TCP_OUT_RSTS: counter Count, "Resets sent", from "OutRsts";
        TCP_IN_CSUM_ERRORS: counter Count,
            "Segments received with a wrong checksum", from "InCsumErrors" as "TcpInCsumErrors";
    }
    "Udp" 'u' {
        UDP_IN_DATAGRAMS: counter Count, "Datagrams delivered", from "InDatagrams";
        UDP_NO_PORTS: counter Count, "Datagrams for a port without a listener", from "NoPorts";
        UDP_IN_ERRORS: counter Count,
            "Datagrams that could not be delivered for another reason",
            from "InErrors" as "UdpInErrors";
        UDP_OUT_DATAGRAMS: counter Count, "Datagrams sent", from "OutDatagrams";
        UDP_RCVBUF_ERRORS: counter Count,
            "Datagrams dropped because the receive buffer was full", from "RcvbufErrors";
        UDP_SNDBUF_ERRORS: counter Count,
            "Datagrams not sent because the send buffer was full", from "SndbufErrors";
        UDP_IN_CSUM_ERRORS: counter Count,
            "Datagrams received with a wrong checksum", from "InCsumErrors" as "UdpInCsumErrors";
        UDP_IGNORED_MULTI: counter Count,
            "Multicast datagrams without a receiver", from "IgnoredMulti";
        UDP_MEM_ERRORS: counter Count, "Datagrams dropped for lack of memory", from "MemErrors";
    }
    "Icmp" 'c' {
        ICMP_IN_MSGS: counter Count, "Messages received", from "InMsgs";
        ICMP_IN_ERRORS: counter Count,
            "Messages received with an error", from "InErrors" as "IcmpInErrors";
        ICMP_IN_CSUM_ERRORS: counter Count,
            "Messages received with a wrong checksum", from "InCsumErrors" as "IcmpInCsumErrors";
        ICMP_IN_DEST_UNREACHS: counter Count,
            "Destination unreachable, received", from "InDestUnreachs";
        ICMP_IN_TIME_EXCDS: counter Count, "Time exceeded, received", from "InTimeExcds";
        ICMP_IN_PARM_PROBS: counter Count, "Parameter problem, received", from "InParmProbs";
        ICMP_IN_SRC_QUENCHS: counter Count, "Source quench, received", from "InSrcQuenchs";
        ICMP_IN_REDIRECTS: counter Count, "Redirect, received", from "InRedirects";
        ICMP_IN_ECHOS: counter Count, "Echo request, received", from "InEchos";
        ICMP_IN_ECHO_REPS: counter Count, "Echo reply, received", from "InEchoReps";
        ICMP_IN_TIMESTAMPS: counter Count, "Timestamp request, received", from "InTimestamps";
        ICMP_IN_TIMESTAMP_REPS: counter Count, "Timestamp reply, received", from "InTimestampReps";
        ICMP_IN_ADDR_MASKS: counter Count, "Address mask request, received", from "InAddrMasks";
        ICMP_IN_ADDR_MASK_REPS: counter Count,
            "Address mask reply, received", from "InAddrMaskReps";
        ICMP_OUT_MSGS: counter Count, "Messages sent", from "OutMsgs";
        ICMP_OUT_ERRORS: counter Count, "Messages not sent because of an error", from "OutErrors";
        ICMP_OUT_RATE_LIMIT_GLOBAL: counter Count,
            "Messages not sent because of the machine's rate limit", from "OutRateLimitGlobal";
        ICMP_OUT_RATE_LIMIT_HOST: counter Count,
            "Messages not sent because of a peer's rate limit", from "OutRateLimitHost";
        ICMP_OUT_DEST_UNREACHS: counter Count,
            "Destination unreachable, sent", from "OutDestUnreachs";
        ICMP_OUT_TIME_EXCDS: counter Count, "Time exceeded, sent", from "OutTimeExcds";
        ICMP_OUT_PARM_PROBS: counter Count, "Parameter problem, sent", from "OutParmProbs";
        ICMP_OUT_SRC_QUENCHS: counter Count, "Source quench, sent", from "OutSrcQuenchs";
        ICMP_OUT_REDIRECTS: counter Count, "Redirect, sent", from "OutRedirects";
        ICMP_OUT_ECHOS: counter Count, "Echo request, sent", from "OutEchos";
        ICMP_OUT_ECHO_REPS: counter Count, "Echo reply, sent", from "OutEchoReps";
        ICMP_OUT_TIMESTAMPS: counter Count, "Timestamp request, sent", from "OutTimestamps";
        ICMP_OUT_TIMESTAMP_REPS: counter Count, "Timestamp reply, sent", from "OutTimestampReps";
        ICMP_OUT_ADDR_MASKS: counter Count, "Address mask request, sent", from "OutAddrMasks";
        ICMP_OUT_ADDR_MASK_REPS: counter Count, "Address mask reply, sent", from "OutAddrMaskReps";
    }
    "IpExt" 'I' {
        IPEXT_IN_NO_ROUTES: counter Count,
            "Packets received for which there is no route", from "InNoRoutes";
        IPEXT_IN_TRUNCATED_PKTS: counter Count,
            "Truncated packets received", from "InTruncatedPkts";
        IPEXT_IN_MCAST_PKTS: counter Count, "Multicast packets received", from "InMcastPkts";
        IPEXT_OUT_MCAST_PKTS: counter Count, "Multicast packets sent", from "OutMcastPkts";
        IPEXT_IN_BCAST_PKTS: counter Count, "Broadcast packets received", from "InBcastPkts";
        IPEXT_OUT_BCAST_PKTS: counter Count, "Broadcast packets sent", from "OutBcastPkts";
        IPEXT_IN_OCTETS: counter Bytes, "Data received", from "InOctets";
        IPEXT_OUT_OCTETS: counter Bytes, "Data sent", from "OutOctets";
        IPEXT_IN_MCAST_OCTETS: counter Bytes, "Multicast data received", from "InMcastOctets";
        IPEXT_OUT_MCAST_OCTETS: counter Bytes, "Multicast data sent", from "OutMcastOctets";
        IPEXT_IN_BCAST_OCTETS: counter Bytes, "Broadcast data received", from "InBcastOctets";
        IPEXT_OUT_BCAST_OCTETS: counter Bytes, "Broadcast data sent", from "OutBcastOctets";
        IPEXT_IN_CSUM_ERRORS: counter Count,
            "Packets received with a wrong checksum", from "InCsumErrors" as "IpExtInCsumErrors";
        IPEXT_IN_NO_ECT_PKTS: counter Count,
            "Packets received without ECN (Not-ECT)", from "InNoECTPkts";
        IPEXT_IN_ECT1_PKTS: counter Count, "Packets received with ECN, ECT(1)", from "InECT1Pkts";
        IPEXT_IN_ECT0_PKTS: counter Count, "Packets received with ECN, ECT(0)", from "InECT0Pkts";
        IPEXT_IN_CE_PKTS: counter Count,
            "Packets received with congestion experienced (CE)", from "InCEPkts";
        IPEXT_REASM_OVERLAPS: counter Count,
            "Packets dropped because fragments overlapped", from "ReasmOverlaps";
    }
    "TcpExt" 'T' {
        TCPEXT_SYNCOOKIES_SENT: counter Count, "SYN cookies sent", from "SyncookiesSent";
        TCPEXT_SYNCOOKIES_RECV: counter Count, "SYN cookies received", from "SyncookiesRecv";
        TCPEXT_SYNCOOKIES_FAILED: counter Count,
            "Invalid SYN cookies received", from "SyncookiesFailed";
        TCPEXT_EMBRYONIC_RSTS: counter Count,
            "Resets for connections not yet established", from "EmbryonicRsts";
        TCPEXT_PRUNE_CALLED: counter Count,
            "Times a receive queue was pruned for lack of memory", from "PruneCalled";
        TCPEXT_RCV_PRUNED: counter Count, "Packets pruned from a receive queue", from "RcvPruned";
        TCPEXT_OFO_PRUNED: counter Count,
            "Packets pruned from an out-of-order queue", from "OfoPruned";
        TCPEXT_OUT_OF_WINDOW_ICMPS: counter Count,
            "ICMP messages for segments outside the window", from "OutOfWindowIcmps";
        TCPEXT_LOCK_DROPPED_ICMPS: counter Count,
            "ICMP messages dropped because the socket was locked", from "LockDroppedIcmps";
        TCPEXT_ARP_FILTER: counter Count, "ARP requests filtered", from "ArpFilter";
        TCPEXT_TW: counter Count, "Connections that left TIME_WAIT", from "TW";
        TCPEXT_TW_RECYCLED: counter Count,
            "Connections in TIME_WAIT that were reused", from "TWRecycled";
        TCPEXT_TW_KILLED: counter Count, "Connections that left TIME_WAIT early", from "TWKilled";
        TCPEXT_PAWS_PASSIVE: counter Count,
            "Passive connections rejected for their time stamp", from "PAWSPassive";
        TCPEXT_PAWS_ACTIVE: counter Count,
            "Active connections rejected for their time stamp", from "PAWSActive";
        TCPEXT_PAWS_ESTAB: counter Count,
            "Segments of established connections rejected for their time stamp", from "PAWSEstab";
        TCPEXT_BEYOND_WINDOW: counter Count,
            "Segments with a sequence number beyond the window", from "BeyondWindow";
        TCPEXT_TS_ECR_REJECTED: counter Count,
            "Segments rejected for an echoed time stamp that was never sent", from "TSEcrRejected";
        TCPEXT_PAWS_OLD_ACK: counter Count,
            "Old acknowledgements rejected for their time stamp", from "PAWSOldAck";
        TCPEXT_PAWS_TIMEWAIT: counter Count,
            "Segments rejected in TIME_WAIT for their time stamp", from "PAWSTimewait";
        TCPEXT_DELAYED_ACKS: counter Count, "Delayed acknowledgements sent", from "DelayedACKs";
        TCPEXT_DELAYED_ACK_LOCKED: counter Count,
            "Delayed acknowledgements postponed because the socket was locked",
            from "DelayedACKLocked";
        TCPEXT_DELAYED_ACK_LOST: counter Count,
            "Segments received again because a delayed acknowledgement was late or lost",
            from "DelayedACKLost";
        TCPEXT_LISTEN_OVERFLOWS: counter Count,
            "Connections dropped because the accept queue was full", from "ListenOverflows";
        TCPEXT_LISTEN_DROPS: counter Count,
            "Connections dropped by listening sockets for any reason", from "ListenDrops";
        TCPEXT_PREQUEUED: counter Count, "Packets put on a prequeue", from "TCPPrequeued";
        TCPEXT_DIRECT_COPY_FROM_BACKLOG: counter Count,
            "Bytes copied to the reader from the backlog", from "TCPDirectCopyFromBacklog";
        TCPEXT_DIRECT_COPY_FROM_PREQUEUE: counter Count,
            "Bytes copied to the reader from the prequeue", from "TCPDirectCopyFromPrequeue";
        TCPEXT_PREQUEUE_DROPPED: counter Count,
            "Packets dropped from a prequeue", from "TCPPrequeueDropped";
        TCPEXT_HP_HITS: counter Count,
            "Segments received that matched header prediction", from "TCPHPHits";
        TCPEXT_HP_HITS_TO_USER: counter Count,
            "Segments that matched header prediction and were copied directly to the reader",
            from "TCPHPHitsToUser";
        TCPEXT_PURE_ACKS: counter Count,
            "Acknowledgements received without data", from "TCPPureAcks";
        TCPEXT_HP_ACKS: counter Count,
            "Acknowledgements that matched header prediction", from "TCPHPAcks";
        TCPEXT_RENO_RECOVERY: counter Count,
            "Recoveries from loss without selective acknowledgement", from "TCPRenoRecovery";
        TCPEXT_SACK_RECOVERY: counter Count,
            "Recoveries from loss with selective acknowledgement", from "TCPSackRecovery";
        TCPEXT_SACK_RENEGING: counter Count,
            "Times a peer discarded data that it had acknowledged selectively",
            from "TCPSACKReneging";
        TCPEXT_FACK_REORDER: counter Count,
            "Reorderings detected by forward acknowledgement", from "TCPFACKReorder";
        TCPEXT_SACK_REORDER: counter Count,
            "Reorderings detected by selective acknowledgement", from "TCPSACKReorder";
        TCPEXT_RENO_REORDER: counter Count,
            "Reorderings detected without selective acknowledgement", from "TCPRenoReorder";
        TCPEXT_TS_REORDER: counter Count,
            "Reorderings detected by time stamps", from "TCPTSReorder";
        TCPEXT_FULL_UNDO: counter Count, "Congestion windows restored in full", from "TCPFullUndo";
        TCPEXT_PARTIAL_UNDO: counter Count,
            "Congestion windows restored in part", from "TCPPartialUndo";
        TCPEXT_DSACK_UNDO: counter Count,
            "Congestion windows restored after a DSACK", from "TCPDSACKUndo";
        TCPEXT_LOSS_UNDO: counter Count,
            "Congestion windows restored after a partial acknowledgement", from "TCPLossUndo";
        TCPEXT_LOSS: counter Count, "Data loss events", from "TCPLoss";
        TCPEXT_LOST_RETRANSMIT: counter Count,
            "Retransmitted segments that were lost, too", from "TCPLostRetransmit";
        TCPEXT_RENO_FAILURES: counter Count,
            "Timeouts in recovery without selective acknowledgement", from "TCPRenoFailures";
        TCPEXT_SACK_FAILURES: counter Count,
            "Timeouts in recovery with selective acknowledgement", from "TCPSackFailures";
        TCPEXT_LOSS_FAILURES: counter Count, "Timeouts in the loss state", from "TCPLossFailures";
        TCPEXT_FAST_RETRANS: counter Count, "Fast retransmissions", from "TCPFastRetrans";
        TCPEXT_FORWARD_RETRANS: counter Count,
            "Retransmissions of segments not marked as lost", from "TCPForwardRetrans";
        TCPEXT_SLOW_START_RETRANS: counter Count,
            "Retransmissions in slow start", from "TCPSlowStartRetrans";
        TCPEXT_TIMEOUTS: counter Count, "Retransmission timeouts", from "TCPTimeouts";
        TCPEXT_LOSS_PROBES: counter Count, "Tail loss probes sent", from "TCPLossProbes";
        TCPEXT_LOSS_PROBE_RECOVERY: counter Count,
            "Losses repaired by tail loss probes", from "TCPLossProbeRecovery";
        TCPEXT_RENO_RECOVERY_FAIL: counter Count,
            "Recoveries without selective acknowledgement that failed", from "TCPRenoRecoveryFail";
        TCPEXT_SACK_RECOVERY_FAIL: counter Count,
            "Recoveries with selective acknowledgement that failed", from "TCPSackRecoveryFail";
        TCPEXT_SCHEDULER_FAILED: counter Count,
            "Times the reader ran too late to process the prequeue", from "TCPSchedulerFailed";
        TCPEXT_RCV_COLLAPSED: counter Count,
            "Packets merged in a receive queue for lack of memory", from "TCPRcvCollapsed";
        TCPEXT_BACKLOG_COALESCE: counter Count,
            "Packets merged in a backlog", from "TCPBacklogCoalesce";
        TCPEXT_DSACK_OLD_SENT: counter Count,
            "DSACKs sent for old segments", from "TCPDSACKOldSent";
        TCPEXT_DSACK_OFO_SENT: counter Count,
            "DSACKs sent for out-of-order segments", from "TCPDSACKOfoSent";
        TCPEXT_DSACK_RECV: counter Count, "DSACKs received for old segments", from "TCPDSACKRecv";
        TCPEXT_DSACK_OFO_RECV: counter Count,
            "DSACKs received for out-of-order segments", from "TCPDSACKOfoRecv";
        TCPEXT_ABORT_ON_DATA: counter Count,
            "Connections reset because of unexpected data", from "TCPAbortOnData";
        TCPEXT_ABORT_ON_CLOSE: counter Count,
            "Connections reset because data was unread at close", from "TCPAbortOnClose";
        TCPEXT_ABORT_ON_MEMORY: counter Count,
            "Connections reset for lack of memory", from "TCPAbortOnMemory";
        TCPEXT_ABORT_ON_TIMEOUT: counter Count,
            "Connections reset after too many attempts", from "TCPAbortOnTimeout";
        TCPEXT_ABORT_ON_LINGER: counter Count,
            "Connections reset after the linger time", from "TCPAbortOnLinger";
        TCPEXT_ABORT_FAILED: counter Count, "Resets that could not be sent", from "TCPAbortFailed";
        TCPEXT_MEMORY_PRESSURES: counter Count,
            "Times TCP came under memory pressure", from "TCPMemoryPressures";
        TCPEXT_MEMORY_PRESSURES_CHRONO: counter Milliseconds,
            "Time under memory pressure, in ms", from "TCPMemoryPressuresChrono";
        TCPEXT_SACK_DISCARD: counter Count,
            "Invalid selective acknowledgements", from "TCPSACKDiscard";
        TCPEXT_DSACK_IGNORED_OLD: counter Count,
            "DSACKs received that were too old", from "TCPDSACKIgnoredOld";
        TCPEXT_DSACK_IGNORED_NO_UNDO: counter Count,
            "DSACKs received with nothing to undo", from "TCPDSACKIgnoredNoUndo";
        TCPEXT_SPURIOUS_RTOS: counter Count,
            "Spurious retransmission timeouts", from "TCPSpuriousRTOs";
        TCPEXT_MD5_NOT_FOUND: counter Count,
            "Segments without the required MD5 signature", from "TCPMD5NotFound";
        TCPEXT_MD5_UNEXPECTED: counter Count,
            "Segments with an unexpected MD5 signature", from "TCPMD5Unexpected";
        TCPEXT_MD5_FAILURE: counter Count,
            "Segments with a wrong MD5 signature", from "TCPMD5Failure";
        TCPEXT_SACK_SHIFTED: counter Count,
            "Acknowledged segments shifted in the send queue", from "TCPSackShifted";
        TCPEXT_SACK_MERGED: counter Count,
            "Acknowledged segments merged in the send queue", from "TCPSackMerged";
        TCPEXT_SACK_SHIFT_FALLBACK: counter Count,
            "Acknowledged segments that could not be shifted", from "TCPSackShiftFallback";
        TCPEXT_BACKLOG_DROP: counter Count,
            "Packets dropped because the backlog was full", from "TCPBacklogDrop";
        TCPEXT_PF_MEMALLOC_DROP: counter Count,
            "Packets in emergency memory dropped by ordinary sockets", from "PFMemallocDrop";
        TCPEXT_MIN_TTL_DROP: counter Count,
            "Packets dropped because their TTL was too small", from "TCPMinTTLDrop";
        TCPEXT_DEFER_ACCEPT_DROP: counter Count,
            "Acknowledgements dropped because TCP_DEFER_ACCEPT waits for data",
            from "TCPDeferAcceptDrop";
        TCPEXT_IP_REVERSE_PATH_FILTER: counter Count,
            "Packets dropped by the reverse path filter", from "IPReversePathFilter";
        TCPEXT_TIME_WAIT_OVERFLOW: counter Count,
            "Connections closed without TIME_WAIT because too many were in it",
            from "TCPTimeWaitOverflow";
        TCPEXT_REQQ_FULL_DO_COOKIES: counter Count,
            "SYN cookies sent because the SYN queue was full", from "TCPReqQFullDoCookies";
        TCPEXT_REQQ_FULL_DROP: counter Count,
            "Connections dropped because the SYN queue was full", from "TCPReqQFullDrop";
        TCPEXT_RETRANS_FAIL: counter Count,
            "Segments that could not be retransmitted", from "TCPRetransFail";
        TCPEXT_RCV_COALESCE: counter Count,
            "Packets merged in a receive queue", from "TCPRcvCoalesce";
        TCPEXT_OFO_QUEUE: counter Count, "Packets put on an out-of-order queue", from "TCPOFOQueue";
        TCPEXT_OFO_DROP: counter Count, "Out-of-order packets dropped", from "TCPOFODrop";
        TCPEXT_OFO_MERGE: counter Count, "Out-of-order packets merged", from "TCPOFOMerge";
        TCPEXT_CHALLENGE_ACK: counter Count, "Challenge ACKs sent", from "TCPChallengeACK";
        TCPEXT_SYN_CHALLENGE: counter Count,
            "Challenge ACKs sent for a SYN", from "TCPSYNChallenge";
        TCPEXT_FAST_OPEN_ACTIVE: counter Count, "Active fast opens", from "TCPFastOpenActive";
        TCPEXT_FAST_OPEN_ACTIVE_FAIL: counter Count,
            "Active fast opens that failed", from "TCPFastOpenActiveFail";
        TCPEXT_FAST_OPEN_PASSIVE: counter Count, "Passive fast opens", from "TCPFastOpenPassive";
        TCPEXT_FAST_OPEN_PASSIVE_FAIL: counter Count,
            "Passive fast opens that failed", from "TCPFastOpenPassiveFail";
        TCPEXT_FAST_OPEN_LISTEN_OVERFLOW: counter Count,
            "Fast opens rejected because the queue was full", from "TCPFastOpenListenOverflow";
        TCPEXT_FAST_OPEN_COOKIE_REQD: counter Count,
            "Fast open cookies requested", from "TCPFastOpenCookieReqd";
        TCPEXT_FAST_OPEN_BLACKHOLE: counter Count,
            "Times fast open was disabled because packets vanished", from "TCPFastOpenBlackhole";
        TCPEXT_SPURIOUS_RTX_HOST_QUEUES: counter Count,
            "Retransmissions omitted because the segment was still queued on this machine",
            from "TCPSpuriousRtxHostQueues";
        TCPEXT_BUSY_POLL_RX_PACKETS: counter Count,
            "Packets received by busy polling", from "BusyPollRxPackets";
        TCPEXT_AUTO_CORKING: counter Count,
            "Small segments delayed to be merged", from "TCPAutoCorking";
        TCPEXT_FROM_ZERO_WINDOW_ADV: counter Count,
            "Times the advertised window became non-zero", from "TCPFromZeroWindowAdv";
        TCPEXT_TO_ZERO_WINDOW_ADV: counter Count,
            "Times the advertised window became zero", from "TCPToZeroWindowAdv";
        TCPEXT_WANT_ZERO_WINDOW_ADV: counter Count,
            "Times a zero window should have been advertised", from "TCPWantZeroWindowAdv";
        TCPEXT_SYN_RETRANS: counter Count, "SYNs retransmitted", from "TCPSynRetrans";
        TCPEXT_ORIG_DATA_SENT: counter Count, "Segments with new data sent", from "TCPOrigDataSent";
        TCPEXT_HYSTART_TRAIN_DETECT: counter Count,
            "Slow starts ended because of packet trains", from "TCPHystartTrainDetect";
        TCPEXT_HYSTART_TRAIN_CWND: counter Count,
            "Sum of the congestion windows at ends because of packet trains",
            from "TCPHystartTrainCwnd";
        TCPEXT_HYSTART_DELAY_DETECT: counter Count,
            "Slow starts ended because of delay", from "TCPHystartDelayDetect";
        TCPEXT_HYSTART_DELAY_CWND: counter Count,
            "Sum of the congestion windows at ends because of delay", from "TCPHystartDelayCwnd";
        TCPEXT_ACK_SKIPPED_SYN_RECV: counter Count,
            "Acknowledgements omitted in SYN_RECV", from "TCPACKSkippedSynRecv";
        TCPEXT_ACK_SKIPPED_PAWS: counter Count,
            "Acknowledgements omitted for old time stamps", from "TCPACKSkippedPAWS";
        TCPEXT_ACK_SKIPPED_SEQ: counter Count,
            "Acknowledgements omitted for sequence numbers outside the window",
            from "TCPACKSkippedSeq";
        TCPEXT_ACK_SKIPPED_FIN_WAIT2: counter Count,
            "Acknowledgements omitted in FIN_WAIT_2", from "TCPACKSkippedFinWait2";
        TCPEXT_ACK_SKIPPED_TIME_WAIT: counter Count,
            "Acknowledgements omitted in TIME_WAIT", from "TCPACKSkippedTimeWait";
        TCPEXT_ACK_SKIPPED_CHALLENGE: counter Count,
            "Challenge ACKs omitted", from "TCPACKSkippedChallenge";
        TCPEXT_WIN_PROBE: counter Count, "Zero window probes sent", from "TCPWinProbe";
        TCPEXT_KEEP_ALIVE: counter Count, "Keep-alive probes sent", from "TCPKeepAlive";
        TCPEXT_MTUP_FAIL: counter Count, "Path MTU probes that failed", from "TCPMTUPFail";
        TCPEXT_MTUP_SUCCESS: counter Count, "Path MTU probes that succeeded", from "TCPMTUPSuccess";
        TCPEXT_DELIVERED: counter Count, "Segments delivered", from "TCPDelivered";
        TCPEXT_DELIVERED_CE: counter Count,
            "Segments delivered with congestion experienced (CE)", from "TCPDeliveredCE";
        TCPEXT_ACK_COMPRESSED: counter Count,
            "Acknowledgements omitted because a later one covers them", from "TCPAckCompressed";
        TCPEXT_ZERO_WINDOW_DROP: counter Count,
            "Packets dropped because the window was zero", from "TCPZeroWindowDrop";
        TCPEXT_RCVQ_DROP: counter Count,
            "Packets dropped because the receive queue was full", from "TCPRcvQDrop";
        TCPEXT_WQUEUE_TOO_BIG: counter Count,
            "Segments not split because the send queue was too big", from "TCPWqueueTooBig";
        TCPEXT_FAST_OPEN_PASSIVE_ALT_KEY: counter Count,
            "Passive fast opens with the second key", from "TCPFastOpenPassiveAltKey";
        TCPEXT_TIMEOUT_REHASH: counter Count,
            "Changes of path (flow hash) after a timeout", from "TcpTimeoutRehash";
        TCPEXT_DUPLICATE_DATA_REHASH: counter Count,
            "Changes of path (flow hash) after duplicate data", from "TcpDuplicateDataRehash";
        TCPEXT_DSACK_RECV_SEGS: counter Count,
            "Segments that DSACKs reported as duplicates", from "TCPDSACKRecvSegs";
        TCPEXT_DSACK_IGNORED_DUBIOUS: counter Count,
            "Invalid DSACKs received", from "TCPDSACKIgnoredDubious";
        TCPEXT_MIGRATE_REQ_SUCCESS: counter Count,
            "Connection requests moved to another listener", from "TCPMigrateReqSuccess";
        TCPEXT_MIGRATE_REQ_FAILURE: counter Count,
            "Connection requests that could not be moved", from "TCPMigrateReqFailure";
        TCPEXT_PLB_REHASH: counter Count,
            "Changes of path (flow hash) because of congestion", from "TCPPLBRehash";
        TCPEXT_AO_REQUIRED: counter Count,
            "Segments without the required TCP-AO signature", from "TCPAORequired";
        TCPEXT_AO_BAD: counter Count, "Segments with a wrong TCP-AO signature", from "TCPAOBad";
        TCPEXT_AO_KEY_NOT_FOUND: counter Count,
            "Segments signed with an unknown TCP-AO key", from "TCPAOKeyNotFound";
        TCPEXT_AO_GOOD: counter Count, "Segments with a valid TCP-AO signature", from "TCPAOGood";
        TCPEXT_AO_DROPPED_ICMPS: counter Count,
            "ICMP messages dropped for connections with TCP-AO", from "TCPAODroppedIcmps";
    }
}

/// The increase of a counter.  In collectl a counter that became smaller has a negative one.
pub(super) fn delta(row: &Row<'_>, field: usize) -> Option<f64> {
    if row.exact() { row.change(field).or_else(|| row.delta(field)) } else { row.delta(field) }
}

pub(super) fn rate(row: &Row<'_>, field: usize) -> Option<f64> {
    row.per_second(delta(row, field))
}

/// The value that `-sT` plots: a rate, or a level unchanged; collectl treats levels as counters.
fn plotted(row: &Row<'_>, field: usize) -> Option<f64> {
    if FIELDS[field].kind == Kind::Gauge && !row.exact() {
        return row.gauge(field);
    }
    rate(row, field)
}

/// Whether `-sT` has a column: the kernel must have it and `--tcpfilt` select its protocol.
fn shows(row: &Row<'_>, letter: char, field: usize) -> bool {
    row.options().value(&PROTOCOL_FILTER).has(letter) && row.raw(field).is_some()
}

//! The columns of `/proc/net/snmp` and `/proc/net/netstat` that are recorded, in the kernel's
//! order; columns that only old kernels print are where these print them (kernel `net/ipv4/proc.c`,
//! RFC 2011 to 2013).  Other columns are not recorded; `UdpLite`, `IcmpMsg` and `MPTcpExt` are left
//! out.

use layout::{PlotColumn, Row};
use sample::{Field, Kind, Unit};

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

/// Makes the fields, the kernel's names and the plot columns from one list.  A name that several
/// protocols have gets a distinct one after `as`; `--exact` keeps the kernel's.
macro_rules! columns {
    ($($protocol:literal $letter:literal {$(
        $index:ident $kind:ident $unit:ident $name:literal $(as $distinct:literal)? $field:literal
        $help:literal;
    )*})*) => {
        /// Fields by name.
        #[derive(Clone, Copy)]
        pub(super) enum Index { $($( $index, )*)* }

        pub(super) const FIELDS: &[Field] =
            &[$($( Field::$kind($field, Unit::$unit, $help), )*)*];

        pub(super) const COLUMNS: &[Column] =
            &[$($( Column { protocol: $protocol, name: $name }, )*)*];

        pub(super) const PLOT: &[PlotColumn] = &[$($(
            PlotColumn::whole($name, |row: &Row<'_>| plotted(row, Index::$index)).applies(|row| {
                shows(row, $letter, Index::$index) && (row.exact() || !is_given!($($distinct)?))
            }),
            $(
                PlotColumn::whole($distinct, |row: &Row<'_>| plotted(row, Index::$index))
                    .applies(|row| shows(row, $letter, Index::$index) && !row.exact()),
            )?
        )*)*];
    };
}

columns! {
    "Ip" 'i' {
        IpForwarding gauge Count "Forwarding" "ip_forwarding"
            "1 if this machine forwards packets, 2 if not";
        IpDefaultTtl gauge Count "DefaultTTL" "ip_default_ttl"
            "Time to live of packets sent, in hops";
        IpInReceives counter Count "InReceives" "ip_in_receives" "Packets received";
        IpInHdrErrors counter Count "InHdrErrors" "ip_in_hdr_errors"
            "Packets dropped for a broken header";
        IpInAddrErrors counter Count "InAddrErrors" "ip_in_addr_errors"
            "Packets dropped for a wrong address";
        IpForwDatagrams counter Count "ForwDatagrams" "ip_forw_datagrams" "Packets forwarded";
        IpInUnknownProtos counter Count "InUnknownProtos" "ip_in_unknown_protos"
            "Packets dropped for an unknown protocol";
        IpInDiscards counter Count "InDiscards" "ip_in_discards"
            "Valid packets received and dropped, for example for lack of memory";
        IpInDelivers counter Count "InDelivers" "ip_in_delivers" "Packets delivered to a protocol";
        IpOutRequests counter Count "OutRequests" "ip_out_requests"
            "Packets that protocols asked to send";
        IpOutDiscards counter Count "OutDiscards" "ip_out_discards"
            "Valid packets dropped instead of sent";
        IpOutNoRoutes counter Count "OutNoRoutes" "ip_out_no_routes"
            "Packets dropped for lack of a route";
        IpReasmTimeout counter Count "ReasmTimeout" "ip_reasm_timeout"
            "Reassembly timeouts";
        IpReasmReqds counter Count "ReasmReqds" "ip_reasm_reqds" "Fragments received";
        IpReasmOks counter Count "ReasmOKs" "ip_reasm_oks" "Packets reassembled from fragments";
        IpReasmFails counter Count "ReasmFails" "ip_reasm_fails"
            "Packets that could not be reassembled";
        IpFragOks counter Count "FragOKs" "ip_frag_oks" "Packets fragmented";
        IpFragFails counter Count "FragFails" "ip_frag_fails"
            "Packets that could not be fragmented";
        IpFragCreates counter Count "FragCreates" "ip_frag_creates" "Fragments created";
        IpOutTransmits counter Count "OutTransmits" "ip_out_transmits"
            "Packets passed to the link layer";
    }
    "Tcp" 't' {
        TcpRtoAlgorithm gauge Count "RtoAlgorithm" "tcp_rto_algorithm"
            "Algorithm of the retransmission timeout (1: other)";
        TcpRtoMin gauge Milliseconds "RtoMin" "tcp_rto_min"
            "Shortest retransmission timeout, in ms";
        TcpRtoMax gauge Milliseconds "RtoMax" "tcp_rto_max" "Longest retransmission timeout, in ms";
        TcpMaxConn gauge Count "MaxConn" "tcp_max_conn" "Most connections allowed, -1 for no limit";
        TcpActiveOpens counter Count "ActiveOpens" "tcp_active_opens" "Active connection openings";
        TcpPassiveOpens counter Count "PassiveOpens" "tcp_passive_opens"
            "Passive connection openings";
        TcpAttemptFails counter Count "AttemptFails" "tcp_attempt_fails"
            "Attempts to connect that failed";
        TcpEstabResets counter Count "EstabResets" "tcp_estab_resets"
            "Established connections that were reset";
        TcpCurrEstab gauge Count "CurrEstab" "tcp_curr_estab" "Connections established now";
        TcpInSegs counter Count "InSegs" "tcp_in_segs" "Segments received";
        TcpOutSegs counter Count "OutSegs" "tcp_out_segs" "Segments sent, without retransmissions";
        TcpRetransSegs counter Count "RetransSegs" "tcp_retrans_segs" "Segments retransmitted";
        TcpInErrs counter Count "InErrs" "tcp_in_errs" "Segments received with an error";
        TcpOutRsts counter Count "OutRsts" "tcp_out_rsts" "Resets sent";
        TcpInCsumErrors counter Count "InCsumErrors" as "TcpInCsumErrors" "tcp_in_csum_errors"
            "Segments received with a wrong checksum";
    }
    "Udp" 'u' {
        UdpInDatagrams counter Count "InDatagrams" "udp_in_datagrams" "Datagrams delivered";
        UdpNoPorts counter Count "NoPorts" "udp_no_ports"
            "Datagrams for a port without a listener";
        UdpInErrors counter Count "InErrors" as "UdpInErrors" "udp_in_errors"
            "Datagrams that could not be delivered for another reason";
        UdpOutDatagrams counter Count "OutDatagrams" "udp_out_datagrams" "Datagrams sent";
        UdpRcvbufErrors counter Count "RcvbufErrors" "udp_rcvbuf_errors"
            "Datagrams dropped because the receive buffer was full";
        UdpSndbufErrors counter Count "SndbufErrors" "udp_sndbuf_errors"
            "Datagrams not sent because the send buffer was full";
        UdpInCsumErrors counter Count "InCsumErrors" as "UdpInCsumErrors" "udp_in_csum_errors"
            "Datagrams received with a wrong checksum";
        UdpIgnoredMulti counter Count "IgnoredMulti" "udp_ignored_multi"
            "Multicast datagrams without a receiver";
        UdpMemErrors counter Count "MemErrors" "udp_mem_errors"
            "Datagrams dropped for lack of memory";
    }
    "Icmp" 'c' {
        IcmpInMsgs counter Count "InMsgs" "icmp_in_msgs" "Messages received";
        IcmpInErrors counter Count "InErrors" as "IcmpInErrors" "icmp_in_errors"
            "Messages received with an error";
        IcmpInCsumErrors counter Count "InCsumErrors" as "IcmpInCsumErrors" "icmp_in_csum_errors"
            "Messages received with a wrong checksum";
        IcmpInDestUnreachs counter Count "InDestUnreachs" "icmp_in_dest_unreachs"
            "Destination unreachable, received";
        IcmpInTimeExcds counter Count "InTimeExcds" "icmp_in_time_excds" "Time exceeded, received";
        IcmpInParmProbs counter Count "InParmProbs" "icmp_in_parm_probs"
            "Parameter problem, received";
        IcmpInSrcQuenchs counter Count "InSrcQuenchs" "icmp_in_src_quenchs"
            "Source quench, received";
        IcmpInRedirects counter Count "InRedirects" "icmp_in_redirects" "Redirect, received";
        IcmpInEchos counter Count "InEchos" "icmp_in_echos" "Echo request, received";
        IcmpInEchoReps counter Count "InEchoReps" "icmp_in_echo_reps" "Echo reply, received";
        IcmpInTimestamps counter Count "InTimestamps" "icmp_in_timestamps"
            "Timestamp request, received";
        IcmpInTimestampReps counter Count "InTimestampReps" "icmp_in_timestamp_reps"
            "Timestamp reply, received";
        IcmpInAddrMasks counter Count "InAddrMasks" "icmp_in_addr_masks"
            "Address mask request, received";
        IcmpInAddrMaskReps counter Count "InAddrMaskReps" "icmp_in_addr_mask_reps"
            "Address mask reply, received";
        IcmpOutMsgs counter Count "OutMsgs" "icmp_out_msgs" "Messages sent";
        IcmpOutErrors counter Count "OutErrors" "icmp_out_errors"
            "Messages not sent because of an error";
        IcmpOutRateLimitGlobal counter Count "OutRateLimitGlobal" "icmp_out_rate_limit_global"
            "Messages not sent because of the machine's rate limit";
        IcmpOutRateLimitHost counter Count "OutRateLimitHost" "icmp_out_rate_limit_host"
            "Messages not sent because of a peer's rate limit";
        IcmpOutDestUnreachs counter Count "OutDestUnreachs" "icmp_out_dest_unreachs"
            "Destination unreachable, sent";
        IcmpOutTimeExcds counter Count "OutTimeExcds" "icmp_out_time_excds" "Time exceeded, sent";
        IcmpOutParmProbs counter Count "OutParmProbs" "icmp_out_parm_probs"
            "Parameter problem, sent";
        IcmpOutSrcQuenchs counter Count "OutSrcQuenchs" "icmp_out_src_quenchs"
            "Source quench, sent";
        IcmpOutRedirects counter Count "OutRedirects" "icmp_out_redirects" "Redirect, sent";
        IcmpOutEchos counter Count "OutEchos" "icmp_out_echos" "Echo request, sent";
        IcmpOutEchoReps counter Count "OutEchoReps" "icmp_out_echo_reps" "Echo reply, sent";
        IcmpOutTimestamps counter Count "OutTimestamps" "icmp_out_timestamps"
            "Timestamp request, sent";
        IcmpOutTimestampReps counter Count "OutTimestampReps" "icmp_out_timestamp_reps"
            "Timestamp reply, sent";
        IcmpOutAddrMasks counter Count "OutAddrMasks" "icmp_out_addr_masks"
            "Address mask request, sent";
        IcmpOutAddrMaskReps counter Count "OutAddrMaskReps" "icmp_out_addr_mask_reps"
            "Address mask reply, sent";
    }
    "IpExt" 'I' {
        IpextInNoRoutes counter Count "InNoRoutes" "ipext_in_no_routes"
            "Packets received for which there is no route";
        IpextInTruncatedPkts counter Count "InTruncatedPkts" "ipext_in_truncated_pkts"
            "Truncated packets received";
        IpextInMcastPkts counter Count "InMcastPkts" "ipext_in_mcast_pkts"
            "Multicast packets received";
        IpextOutMcastPkts counter Count "OutMcastPkts" "ipext_out_mcast_pkts"
            "Multicast packets sent";
        IpextInBcastPkts counter Count "InBcastPkts" "ipext_in_bcast_pkts"
            "Broadcast packets received";
        IpextOutBcastPkts counter Count "OutBcastPkts" "ipext_out_bcast_pkts"
            "Broadcast packets sent";
        IpextInOctets counter Bytes "InOctets" "ipext_in_octets" "Data received";
        IpextOutOctets counter Bytes "OutOctets" "ipext_out_octets" "Data sent";
        IpextInMcastOctets counter Bytes "InMcastOctets" "ipext_in_mcast_octets"
            "Multicast data received";
        IpextOutMcastOctets counter Bytes "OutMcastOctets" "ipext_out_mcast_octets"
            "Multicast data sent";
        IpextInBcastOctets counter Bytes "InBcastOctets" "ipext_in_bcast_octets"
            "Broadcast data received";
        IpextOutBcastOctets counter Bytes "OutBcastOctets" "ipext_out_bcast_octets"
            "Broadcast data sent";
        IpextInCsumErrors counter Count "InCsumErrors" as "IpExtInCsumErrors" "ipext_in_csum_errors"
            "Packets received with a wrong checksum";
        IpextInNoEctPkts counter Count "InNoECTPkts" "ipext_in_no_ect_pkts"
            "Packets received without ECN (Not-ECT)";
        IpextInEct1Pkts counter Count "InECT1Pkts" "ipext_in_ect1_pkts"
            "Packets received with ECN, ECT(1)";
        IpextInEct0Pkts counter Count "InECT0Pkts" "ipext_in_ect0_pkts"
            "Packets received with ECN, ECT(0)";
        IpextInCePkts counter Count "InCEPkts" "ipext_in_ce_pkts"
            "Packets received with congestion experienced (CE)";
        IpextReasmOverlaps counter Count "ReasmOverlaps" "ipext_reasm_overlaps"
            "Packets dropped because fragments overlapped";
    }
    "TcpExt" 'T' {
        TcpextSyncookiesSent counter Count "SyncookiesSent" "tcpext_syncookies_sent"
            "SYN cookies sent";
        TcpextSyncookiesRecv counter Count "SyncookiesRecv" "tcpext_syncookies_recv"
            "SYN cookies received";
        TcpextSyncookiesFailed counter Count "SyncookiesFailed" "tcpext_syncookies_failed"
            "Invalid SYN cookies received";
        TcpextEmbryonicRsts counter Count "EmbryonicRsts" "tcpext_embryonic_rsts"
            "Resets for connections not yet established";
        TcpextPruneCalled counter Count "PruneCalled" "tcpext_prune_called"
            "Times a receive queue was pruned for lack of memory";
        TcpextRcvPruned counter Count "RcvPruned" "tcpext_rcv_pruned"
            "Packets pruned from a receive queue";
        TcpextOfoPruned counter Count "OfoPruned" "tcpext_ofo_pruned"
            "Packets pruned from an out-of-order queue";
        TcpextOutOfWindowIcmps counter Count "OutOfWindowIcmps" "tcpext_out_of_window_icmps"
            "ICMP messages for segments outside the window";
        TcpextLockDroppedIcmps counter Count "LockDroppedIcmps" "tcpext_lock_dropped_icmps"
            "ICMP messages dropped because the socket was locked";
        TcpextArpFilter counter Count "ArpFilter" "tcpext_arp_filter" "ARP requests filtered";
        TcpextTw counter Count "TW" "tcpext_tw" "Connections that left TIME_WAIT";
        TcpextTwRecycled counter Count "TWRecycled" "tcpext_tw_recycled"
            "Connections in TIME_WAIT that were reused";
        TcpextTwKilled counter Count "TWKilled" "tcpext_tw_killed"
            "Connections that left TIME_WAIT early";
        TcpextPawsPassive counter Count "PAWSPassive" "tcpext_paws_passive"
            "Passive connections rejected for their time stamp";
        TcpextPawsActive counter Count "PAWSActive" "tcpext_paws_active"
            "Active connections rejected for their time stamp";
        TcpextPawsEstab counter Count "PAWSEstab" "tcpext_paws_estab"
            "Segments of established connections rejected for their time stamp";
        TcpextBeyondWindow counter Count "BeyondWindow" "tcpext_beyond_window"
            "Segments with a sequence number beyond the window";
        TcpextTsEcrRejected counter Count "TSEcrRejected" "tcpext_ts_ecr_rejected"
            "Segments rejected for an echoed time stamp that was never sent";
        TcpextPawsOldAck counter Count "PAWSOldAck" "tcpext_paws_old_ack"
            "Old acknowledgements rejected for their time stamp";
        TcpextPawsTimewait counter Count "PAWSTimewait" "tcpext_paws_timewait"
            "Segments rejected in TIME_WAIT for their time stamp";
        TcpextDelayedAcks counter Count "DelayedACKs" "tcpext_delayed_acks"
            "Delayed acknowledgements sent";
        TcpextDelayedAckLocked counter Count "DelayedACKLocked" "tcpext_delayed_ack_locked"
            "Delayed acknowledgements postponed because the socket was locked";
        TcpextDelayedAckLost counter Count "DelayedACKLost" "tcpext_delayed_ack_lost"
            "Segments received again because a delayed acknowledgement was late or lost";
        TcpextListenOverflows counter Count "ListenOverflows" "tcpext_listen_overflows"
            "Connections dropped because the accept queue was full";
        TcpextListenDrops counter Count "ListenDrops" "tcpext_listen_drops"
            "Connections dropped by listening sockets for any reason";
        TcpextPrequeued counter Count "TCPPrequeued" "tcpext_prequeued" "Packets put on a prequeue";
        TcpextDirectCopyFromBacklog counter Count "TCPDirectCopyFromBacklog"
            "tcpext_direct_copy_from_backlog" "Bytes copied to the reader from the backlog";
        TcpextDirectCopyFromPrequeue counter Count "TCPDirectCopyFromPrequeue"
            "tcpext_direct_copy_from_prequeue" "Bytes copied to the reader from the prequeue";
        TcpextPrequeueDropped counter Count "TCPPrequeueDropped" "tcpext_prequeue_dropped"
            "Packets dropped from a prequeue";
        TcpextHpHits counter Count "TCPHPHits" "tcpext_hp_hits"
            "Segments received that matched header prediction";
        TcpextHpHitsToUser counter Count "TCPHPHitsToUser" "tcpext_hp_hits_to_user"
            "Segments that matched header prediction and were copied directly to the reader";
        TcpextPureAcks counter Count "TCPPureAcks" "tcpext_pure_acks"
            "Acknowledgements received without data";
        TcpextHpAcks counter Count "TCPHPAcks" "tcpext_hp_acks"
            "Acknowledgements that matched header prediction";
        TcpextRenoRecovery counter Count "TCPRenoRecovery" "tcpext_reno_recovery"
            "Recoveries from loss without selective acknowledgement";
        TcpextSackRecovery counter Count "TCPSackRecovery" "tcpext_sack_recovery"
            "Recoveries from loss with selective acknowledgement";
        TcpextSackReneging counter Count "TCPSACKReneging" "tcpext_sack_reneging"
            "Times a peer discarded data that it had acknowledged selectively";
        TcpextFackReorder counter Count "TCPFACKReorder" "tcpext_fack_reorder"
            "Reorderings detected by forward acknowledgement";
        TcpextSackReorder counter Count "TCPSACKReorder" "tcpext_sack_reorder"
            "Reorderings detected by selective acknowledgement";
        TcpextRenoReorder counter Count "TCPRenoReorder" "tcpext_reno_reorder"
            "Reorderings detected without selective acknowledgement";
        TcpextTsReorder counter Count "TCPTSReorder" "tcpext_ts_reorder"
            "Reorderings detected by time stamps";
        TcpextFullUndo counter Count "TCPFullUndo" "tcpext_full_undo"
            "Congestion windows restored in full";
        TcpextPartialUndo counter Count "TCPPartialUndo" "tcpext_partial_undo"
            "Congestion windows restored in part";
        TcpextDsackUndo counter Count "TCPDSACKUndo" "tcpext_dsack_undo"
            "Congestion windows restored after a DSACK";
        TcpextLossUndo counter Count "TCPLossUndo" "tcpext_loss_undo"
            "Congestion windows restored after a partial acknowledgement";
        TcpextLoss counter Count "TCPLoss" "tcpext_loss"
            "Data loss events";
        TcpextLostRetransmit counter Count "TCPLostRetransmit" "tcpext_lost_retransmit"
            "Retransmitted segments that were lost, too";
        TcpextRenoFailures counter Count "TCPRenoFailures" "tcpext_reno_failures"
            "Timeouts in recovery without selective acknowledgement";
        TcpextSackFailures counter Count "TCPSackFailures" "tcpext_sack_failures"
            "Timeouts in recovery with selective acknowledgement";
        TcpextLossFailures counter Count "TCPLossFailures" "tcpext_loss_failures"
            "Timeouts in the loss state";
        TcpextFastRetrans counter Count "TCPFastRetrans" "tcpext_fast_retrans"
            "Fast retransmissions";
        TcpextForwardRetrans counter Count "TCPForwardRetrans" "tcpext_forward_retrans"
            "Retransmissions of segments not marked as lost";
        TcpextSlowStartRetrans counter Count "TCPSlowStartRetrans" "tcpext_slow_start_retrans"
            "Retransmissions in slow start";
        TcpextTimeouts counter Count "TCPTimeouts" "tcpext_timeouts" "Retransmission timeouts";
        TcpextLossProbes counter Count "TCPLossProbes" "tcpext_loss_probes"
            "Tail loss probes sent";
        TcpextLossProbeRecovery counter Count "TCPLossProbeRecovery" "tcpext_loss_probe_recovery"
            "Losses repaired by tail loss probes";
        TcpextRenoRecoveryFail counter Count "TCPRenoRecoveryFail" "tcpext_reno_recovery_fail"
            "Recoveries without selective acknowledgement that failed";
        TcpextSackRecoveryFail counter Count "TCPSackRecoveryFail" "tcpext_sack_recovery_fail"
            "Recoveries with selective acknowledgement that failed";
        TcpextSchedulerFailed counter Count "TCPSchedulerFailed" "tcpext_scheduler_failed"
            "Times the reader ran too late to process the prequeue";
        TcpextRcvCollapsed counter Count "TCPRcvCollapsed" "tcpext_rcv_collapsed"
            "Packets merged in a receive queue for lack of memory";
        TcpextBacklogCoalesce counter Count "TCPBacklogCoalesce" "tcpext_backlog_coalesce"
            "Packets merged in a backlog";
        TcpextDsackOldSent counter Count "TCPDSACKOldSent" "tcpext_dsack_old_sent"
            "DSACKs sent for old segments";
        TcpextDsackOfoSent counter Count "TCPDSACKOfoSent" "tcpext_dsack_ofo_sent"
            "DSACKs sent for out-of-order segments";
        TcpextDsackRecv counter Count "TCPDSACKRecv" "tcpext_dsack_recv"
            "DSACKs received for old segments";
        TcpextDsackOfoRecv counter Count "TCPDSACKOfoRecv" "tcpext_dsack_ofo_recv"
            "DSACKs received for out-of-order segments";
        TcpextAbortOnData counter Count "TCPAbortOnData" "tcpext_abort_on_data"
            "Connections reset because of unexpected data";
        TcpextAbortOnClose counter Count "TCPAbortOnClose" "tcpext_abort_on_close"
            "Connections reset because data was unread at close";
        TcpextAbortOnMemory counter Count "TCPAbortOnMemory" "tcpext_abort_on_memory"
            "Connections reset for lack of memory";
        TcpextAbortOnTimeout counter Count "TCPAbortOnTimeout" "tcpext_abort_on_timeout"
            "Connections reset after too many attempts";
        TcpextAbortOnLinger counter Count "TCPAbortOnLinger" "tcpext_abort_on_linger"
            "Connections reset after the linger time";
        TcpextAbortFailed counter Count "TCPAbortFailed" "tcpext_abort_failed"
            "Resets that could not be sent";
        TcpextMemoryPressures counter Count "TCPMemoryPressures" "tcpext_memory_pressures"
            "Times TCP came under memory pressure";
        TcpextMemoryPressuresChrono counter Milliseconds "TCPMemoryPressuresChrono"
            "tcpext_memory_pressures_chrono" "Time under memory pressure, in ms";
        TcpextSackDiscard counter Count "TCPSACKDiscard" "tcpext_sack_discard"
            "Invalid selective acknowledgements";
        TcpextDsackIgnoredOld counter Count "TCPDSACKIgnoredOld" "tcpext_dsack_ignored_old"
            "DSACKs received that were too old";
        TcpextDsackIgnoredNoUndo counter Count "TCPDSACKIgnoredNoUndo"
            "tcpext_dsack_ignored_no_undo" "DSACKs received with nothing to undo";
        TcpextSpuriousRtos counter Count "TCPSpuriousRTOs" "tcpext_spurious_rtos"
            "Spurious retransmission timeouts";
        TcpextMd5NotFound counter Count "TCPMD5NotFound" "tcpext_md5_not_found"
            "Segments without the required MD5 signature";
        TcpextMd5Unexpected counter Count "TCPMD5Unexpected" "tcpext_md5_unexpected"
            "Segments with an unexpected MD5 signature";
        TcpextMd5Failure counter Count "TCPMD5Failure" "tcpext_md5_failure"
            "Segments with a wrong MD5 signature";
        TcpextSackShifted counter Count "TCPSackShifted" "tcpext_sack_shifted"
            "Acknowledged segments shifted in the send queue";
        TcpextSackMerged counter Count "TCPSackMerged" "tcpext_sack_merged"
            "Acknowledged segments merged in the send queue";
        TcpextSackShiftFallback counter Count "TCPSackShiftFallback" "tcpext_sack_shift_fallback"
            "Acknowledged segments that could not be shifted";
        TcpextBacklogDrop counter Count "TCPBacklogDrop" "tcpext_backlog_drop"
            "Packets dropped because the backlog was full";
        TcpextPfMemallocDrop counter Count "PFMemallocDrop" "tcpext_pf_memalloc_drop"
            "Packets in emergency memory dropped by ordinary sockets";
        TcpextMinTtlDrop counter Count "TCPMinTTLDrop" "tcpext_min_ttl_drop"
            "Packets dropped because their TTL was too small";
        TcpextDeferAcceptDrop counter Count "TCPDeferAcceptDrop" "tcpext_defer_accept_drop"
            "Acknowledgements dropped because TCP_DEFER_ACCEPT waits for data";
        TcpextIpReversePathFilter counter Count "IPReversePathFilter"
            "tcpext_ip_reverse_path_filter" "Packets dropped by the reverse path filter";
        TcpextTimeWaitOverflow counter Count "TCPTimeWaitOverflow" "tcpext_time_wait_overflow"
            "Connections closed without TIME_WAIT because too many were in it";
        TcpextReqqFullDoCookies counter Count "TCPReqQFullDoCookies" "tcpext_reqq_full_do_cookies"
            "SYN cookies sent because the SYN queue was full";
        TcpextReqqFullDrop counter Count "TCPReqQFullDrop" "tcpext_reqq_full_drop"
            "Connections dropped because the SYN queue was full";
        TcpextRetransFail counter Count "TCPRetransFail" "tcpext_retrans_fail"
            "Segments that could not be retransmitted";
        TcpextRcvCoalesce counter Count "TCPRcvCoalesce" "tcpext_rcv_coalesce"
            "Packets merged in a receive queue";
        TcpextOfoQueue counter Count "TCPOFOQueue" "tcpext_ofo_queue"
            "Packets put on an out-of-order queue";
        TcpextOfoDrop counter Count "TCPOFODrop" "tcpext_ofo_drop"
            "Out-of-order packets dropped";
        TcpextOfoMerge counter Count "TCPOFOMerge" "tcpext_ofo_merge" "Out-of-order packets merged";
        TcpextChallengeAck counter Count "TCPChallengeACK" "tcpext_challenge_ack"
            "Challenge ACKs sent";
        TcpextSynChallenge counter Count "TCPSYNChallenge" "tcpext_syn_challenge"
            "Challenge ACKs sent for a SYN";
        TcpextFastOpenActive counter Count "TCPFastOpenActive" "tcpext_fast_open_active"
            "Active fast opens";
        TcpextFastOpenActiveFail counter Count "TCPFastOpenActiveFail"
            "tcpext_fast_open_active_fail" "Active fast opens that failed";
        TcpextFastOpenPassive counter Count "TCPFastOpenPassive" "tcpext_fast_open_passive"
            "Passive fast opens";
        TcpextFastOpenPassiveFail counter Count "TCPFastOpenPassiveFail"
            "tcpext_fast_open_passive_fail" "Passive fast opens that failed";
        TcpextFastOpenListenOverflow counter Count "TCPFastOpenListenOverflow"
            "tcpext_fast_open_listen_overflow" "Fast opens rejected because the queue was full";
        TcpextFastOpenCookieReqd counter Count "TCPFastOpenCookieReqd"
            "tcpext_fast_open_cookie_reqd" "Fast open cookies requested";
        TcpextFastOpenBlackhole counter Count "TCPFastOpenBlackhole" "tcpext_fast_open_blackhole"
            "Times fast open was disabled because packets vanished";
        TcpextSpuriousRtxHostQueues counter Count "TCPSpuriousRtxHostQueues"
            "tcpext_spurious_rtx_host_queues"
            "Retransmissions omitted because the segment was still queued on this machine";
        TcpextBusyPollRxPackets counter Count "BusyPollRxPackets" "tcpext_busy_poll_rx_packets"
            "Packets received by busy polling";
        TcpextAutoCorking counter Count "TCPAutoCorking" "tcpext_auto_corking"
            "Small segments delayed to be merged";
        TcpextFromZeroWindowAdv counter Count "TCPFromZeroWindowAdv" "tcpext_from_zero_window_adv"
            "Times the advertised window became non-zero";
        TcpextToZeroWindowAdv counter Count "TCPToZeroWindowAdv" "tcpext_to_zero_window_adv"
            "Times the advertised window became zero";
        TcpextWantZeroWindowAdv counter Count "TCPWantZeroWindowAdv" "tcpext_want_zero_window_adv"
            "Times a zero window should have been advertised";
        TcpextSynRetrans counter Count "TCPSynRetrans" "tcpext_syn_retrans" "SYNs retransmitted";
        TcpextOrigDataSent counter Count "TCPOrigDataSent" "tcpext_orig_data_sent"
            "Segments with new data sent";
        TcpextHystartTrainDetect counter Count "TCPHystartTrainDetect" "tcpext_hystart_train_detect"
            "Slow starts ended because of packet trains";
        TcpextHystartTrainCwnd counter Count "TCPHystartTrainCwnd" "tcpext_hystart_train_cwnd"
            "Sum of the congestion windows at ends because of packet trains";
        TcpextHystartDelayDetect counter Count "TCPHystartDelayDetect" "tcpext_hystart_delay_detect"
            "Slow starts ended because of delay";
        TcpextHystartDelayCwnd counter Count "TCPHystartDelayCwnd" "tcpext_hystart_delay_cwnd"
            "Sum of the congestion windows at ends because of delay";
        TcpextAckSkippedSynRecv counter Count "TCPACKSkippedSynRecv" "tcpext_ack_skipped_syn_recv"
            "Acknowledgements omitted in SYN_RECV";
        TcpextAckSkippedPaws counter Count "TCPACKSkippedPAWS" "tcpext_ack_skipped_paws"
            "Acknowledgements omitted for old time stamps";
        TcpextAckSkippedSeq counter Count "TCPACKSkippedSeq" "tcpext_ack_skipped_seq"
            "Acknowledgements omitted for sequence numbers outside the window";
        TcpextAckSkippedFinWait2 counter Count "TCPACKSkippedFinWait2"
            "tcpext_ack_skipped_fin_wait2" "Acknowledgements omitted in FIN_WAIT_2";
        TcpextAckSkippedTimeWait counter Count "TCPACKSkippedTimeWait"
            "tcpext_ack_skipped_time_wait" "Acknowledgements omitted in TIME_WAIT";
        TcpextAckSkippedChallenge counter Count "TCPACKSkippedChallenge"
            "tcpext_ack_skipped_challenge" "Challenge ACKs omitted";
        TcpextWinProbe counter Count "TCPWinProbe" "tcpext_win_probe" "Zero window probes sent";
        TcpextKeepAlive counter Count "TCPKeepAlive" "tcpext_keep_alive" "Keep-alive probes sent";
        TcpextMtupFail counter Count "TCPMTUPFail" "tcpext_mtup_fail"
            "Path MTU probes that failed";
        TcpextMtupSuccess counter Count "TCPMTUPSuccess" "tcpext_mtup_success"
            "Path MTU probes that succeeded";
        TcpextDelivered counter Count "TCPDelivered" "tcpext_delivered" "Segments delivered";
        TcpextDeliveredCe counter Count "TCPDeliveredCE" "tcpext_delivered_ce"
            "Segments delivered with congestion experienced (CE)";
        TcpextAckCompressed counter Count "TCPAckCompressed" "tcpext_ack_compressed"
            "Acknowledgements omitted because a later one covers them";
        TcpextZeroWindowDrop counter Count "TCPZeroWindowDrop" "tcpext_zero_window_drop"
            "Packets dropped because the window was zero";
        TcpextRcvqDrop counter Count "TCPRcvQDrop" "tcpext_rcvq_drop"
            "Packets dropped because the receive queue was full";
        TcpextWqueueTooBig counter Count "TCPWqueueTooBig" "tcpext_wqueue_too_big"
            "Segments not split because the send queue was too big";
        TcpextFastOpenPassiveAltKey counter Count "TCPFastOpenPassiveAltKey"
            "tcpext_fast_open_passive_alt_key" "Passive fast opens with the second key";
        TcpextTimeoutRehash counter Count "TcpTimeoutRehash" "tcpext_timeout_rehash"
            "Changes of path (flow hash) after a timeout";
        TcpextDuplicateDataRehash counter Count "TcpDuplicateDataRehash"
            "tcpext_duplicate_data_rehash" "Changes of path (flow hash) after duplicate data";
        TcpextDsackRecvSegs counter Count "TCPDSACKRecvSegs" "tcpext_dsack_recv_segs"
            "Segments that DSACKs reported as duplicates";
        TcpextDsackIgnoredDubious counter Count "TCPDSACKIgnoredDubious"
            "tcpext_dsack_ignored_dubious" "Invalid DSACKs received";
        TcpextMigrateReqSuccess counter Count "TCPMigrateReqSuccess" "tcpext_migrate_req_success"
            "Connection requests moved to another listener";
        TcpextMigrateReqFailure counter Count "TCPMigrateReqFailure" "tcpext_migrate_req_failure"
            "Connection requests that could not be moved";
        TcpextPlbRehash counter Count "TCPPLBRehash" "tcpext_plb_rehash"
            "Changes of path (flow hash) because of congestion";
        TcpextAoRequired counter Count "TCPAORequired" "tcpext_ao_required"
            "Segments without the required TCP-AO signature";
        TcpextAoBad counter Count "TCPAOBad" "tcpext_ao_bad"
            "Segments with a wrong TCP-AO signature";
        TcpextAoKeyNotFound counter Count "TCPAOKeyNotFound" "tcpext_ao_key_not_found"
            "Segments signed with an unknown TCP-AO key";
        TcpextAoGood counter Count "TCPAOGood" "tcpext_ao_good"
            "Segments with a valid TCP-AO signature";
        TcpextAoDroppedIcmps counter Count "TCPAODroppedIcmps" "tcpext_ao_dropped_icmps"
            "ICMP messages dropped for connections with TCP-AO";
    }
}

/// The increase of a counter.  In collectl a counter that became smaller has a negative one.
pub(super) fn delta(row: &Row<'_>, index: Index) -> Option<f64> {
    let field = index as usize;
    if row.exact() { row.change(field).or_else(|| row.delta(field)) } else { row.delta(field) }
}

pub(super) fn rate(row: &Row<'_>, index: Index) -> Option<f64> {
    row.per_second(delta(row, index))
}

/// The value that `-sT` plots: a rate, or a level unchanged; collectl treats levels as counters.
fn plotted(row: &Row<'_>, index: Index) -> Option<f64> {
    let field = index as usize;
    if FIELDS[field].kind == Kind::Gauge && !row.exact() {
        return row.gauge(field);
    }
    rate(row, index)
}

/// Whether `-sT` has a column: the kernel must have it and `--tcpfilt` select its protocol.
fn shows(row: &Row<'_>, letter: char, index: Index) -> bool {
    row.options().value(&PROTOCOL_FILTER).has(letter) && row.raw(index as usize).is_some()
}

//! Names in calls on sockets, from `linux/socket.h`, `linux/in.h`, `linux/netlink.h`.

use super::{Flags, Names, names};

/// The family of an address.
#[rustfmt::skip]
pub(crate) static FAMILY: Names = Names { unknown: "AF_???", names: names![
    (0, "AF_UNSPEC"), (1, "AF_UNIX"), (2, "AF_INET"), (3, "AF_AX25"), (4, "AF_IPX"),
    (5, "AF_APPLETALK"), (6, "AF_NETROM"), (7, "AF_BRIDGE"), (8, "AF_ATMPVC"), (9, "AF_X25"),
    (0xa, "AF_INET6"), (0xb, "AF_ROSE"), (0xc, "AF_DECnet"), (0xd, "AF_NETBEUI"),
    (0xe, "AF_SECURITY"), (0xf, "AF_KEY"), (0x10, "AF_NETLINK"), (0x11, "AF_PACKET"),
    (0x12, "AF_ASH"), (0x13, "AF_ECONET"), (0x14, "AF_ATMSVC"), (0x15, "AF_RDS"),
    (0x16, "AF_SNA"), (0x17, "AF_IRDA"), (0x18, "AF_PPPOX"), (0x19, "AF_WANPIPE"),
    (0x1a, "AF_LLC"), (0x1b, "AF_IB"), (0x1c, "AF_MPLS"), (0x1d, "AF_CAN"), (0x1e, "AF_TIPC"),
    (0x1f, "AF_BLUETOOTH"), (0x20, "AF_IUCV"), (0x21, "AF_RXRPC"), (0x22, "AF_ISDN"),
    (0x23, "AF_PHONET"), (0x24, "AF_IEEE802154"), (0x25, "AF_CAIF"), (0x26, "AF_ALG"),
    (0x27, "AF_NFC"), (0x28, "AF_VSOCK"), (0x29, "AF_KCM"), (0x2a, "AF_QIPCRTR"),
    (0x2b, "AF_SMC"), (0x2c, "AF_XDP"), (0x2d, "AF_MCTP"),
] };

/// `socket`, without its flags.
#[rustfmt::skip]
pub(crate) static TYPE: Names = Names { unknown: "SOCK_???", names: names![
    (1, "SOCK_STREAM"), (2, "SOCK_DGRAM"), (3, "SOCK_RAW"), (4, "SOCK_RDM"),
    (5, "SOCK_SEQPACKET"), (6, "SOCK_DCCP"), (0xa, "SOCK_PACKET"),
] };

/// `socket`, `accept4`.
#[rustfmt::skip]
pub(crate) static TYPE_FLAGS: Flags = Flags { unknown: "SOCK_???", names: names![
    (0x80000, "SOCK_CLOEXEC"), (0x800, "SOCK_NONBLOCK"),
] };

/// `send`, `recv` and relatives.
#[rustfmt::skip]
pub(crate) static MESSAGE: Flags = Flags { unknown: "MSG_???", names: names![
    (1, "MSG_OOB"), (2, "MSG_PEEK"), (4, "MSG_DONTROUTE"), (8, "MSG_CTRUNC"), (0x10, "MSG_PROBE"),
    (0x20, "MSG_TRUNC"), (0x40, "MSG_DONTWAIT"), (0x80, "MSG_EOR"), (0x100, "MSG_WAITALL"),
    (0x200, "MSG_FIN"), (0x400, "MSG_SYN"), (0x800, "MSG_CONFIRM"), (0x1000, "MSG_RST"),
    (0x2000, "MSG_ERRQUEUE"), (0x4000, "MSG_NOSIGNAL"), (0x8000, "MSG_MORE"),
    (0x10000, "MSG_WAITFORONE"), (0x20000, "MSG_SENDPAGE_NOTLAST"), (0x40000, "MSG_BATCH"),
    (0x80000, "MSG_NO_SHARED_FRAGS"), (0x4000000, "MSG_ZEROCOPY"), (0x20000000, "MSG_FASTOPEN"),
    (0x40000000, "MSG_CMSG_CLOEXEC"), (0x80000000, "MSG_CMSG_COMPAT"),
] };

/// `socket(AF_INET)`.
#[rustfmt::skip]
pub(crate) static PROTOCOL: Names = Names { unknown: "IPPROTO_???", names: names![
    (0, "IPPROTO_IP"), (1, "IPPROTO_ICMP"), (2, "IPPROTO_IGMP"), (4, "IPPROTO_IPIP"),
    (6, "IPPROTO_TCP"), (8, "IPPROTO_EGP"), (0xc, "IPPROTO_PUP"), (0x11, "IPPROTO_UDP"),
    (0x16, "IPPROTO_IDP"), (0x1d, "IPPROTO_TP"), (0x21, "IPPROTO_DCCP"), (0x29, "IPPROTO_IPV6"),
    (0x2b, "IPPROTO_ROUTING"), (0x2c, "IPPROTO_FRAGMENT"), (0x2e, "IPPROTO_RSVP"),
    (0x2f, "IPPROTO_GRE"), (0x32, "IPPROTO_ESP"), (0x33, "IPPROTO_AH"), (0x3a, "IPPROTO_ICMPV6"),
    (0x3b, "IPPROTO_NONE"), (0x3c, "IPPROTO_DSTOPTS"), (0x5c, "IPPROTO_MTP"),
    (0x5e, "IPPROTO_BEETPH"), (0x62, "IPPROTO_ENCAP"), (0x67, "IPPROTO_PIM"),
    (0x6c, "IPPROTO_COMP"), (0x73, "IPPROTO_L2TP"), (0x84, "IPPROTO_SCTP"), (0x87, "IPPROTO_MH"),
    (0x88, "IPPROTO_UDPLITE"), (0x89, "IPPROTO_MPLS"), (0x8f, "IPPROTO_ETHERNET"),
    (0xff, "IPPROTO_RAW"), (0x106, "IPPROTO_MPTCP"),
] };

/// `socket(AF_NETLINK)`.
#[rustfmt::skip]
pub(crate) static NETLINK: Names = Names { unknown: "NETLINK_???", names: names![
    (0, "NETLINK_ROUTE"), (1, "NETLINK_UNUSED"), (2, "NETLINK_USERSOCK"), (3, "NETLINK_FIREWALL"),
    (4, "NETLINK_SOCK_DIAG"), (5, "NETLINK_NFLOG"), (6, "NETLINK_XFRM"), (7, "NETLINK_SELINUX"),
    (8, "NETLINK_ISCSI"), (9, "NETLINK_AUDIT"), (0xa, "NETLINK_FIB_LOOKUP"),
    (0xb, "NETLINK_CONNECTOR"), (0xc, "NETLINK_NETFILTER"), (0xd, "NETLINK_IP6_FW"),
    (0xe, "NETLINK_DNRTMSG"), (0xf, "NETLINK_KOBJECT_UEVENT"), (0x10, "NETLINK_GENERIC"),
    (0x12, "NETLINK_SCSITRANSPORT"), (0x13, "NETLINK_ECRYPTFS"), (0x14, "NETLINK_RDMA"),
    (0x15, "NETLINK_CRYPTO"), (0x16, "NETLINK_SMC"),
] };

/// `setsockopt`.
#[rustfmt::skip]
pub(crate) static LEVEL: Names = Names { unknown: "SOL_??", names: names![
    (0, "SOL_IP"), (1, "SOL_SOCKET"), (6, "SOL_TCP"), (0x11, "SOL_UDP"), (0x29, "SOL_IPV6"),
    (0x3a, "SOL_ICMPV6"), (0x64, "SOL_CAN_BASE"), (0x65, "SOL_CAN_RAW"), (0x84, "SOL_SCTP"),
    (0x88, "SOL_UDPLITE"), (0xff, "SOL_RAW"), (0x100, "SOL_IPX"), (0x101, "SOL_AX25"),
    (0x102, "SOL_ATALK"), (0x103, "SOL_NETROM"), (0x104, "SOL_ROSE"), (0x105, "SOL_DECNET"),
    (0x106, "SOL_X25"), (0x107, "SOL_PACKET"), (0x108, "SOL_ATM"), (0x109, "SOL_AAL"),
    (0x10a, "SOL_IRDA"), (0x10b, "SOL_NETBEUI"), (0x10c, "SOL_LLC"), (0x10d, "SOL_DCCP"),
    (0x10e, "SOL_NETLINK"), (0x10f, "SOL_TIPC"), (0x110, "SOL_RXRPC"), (0x111, "SOL_PPPOL2TP"),
    (0x112, "SOL_BLUETOOTH"), (0x113, "SOL_PNPIPE"), (0x114, "SOL_RDS"), (0x115, "SOL_IUCV"),
    (0x116, "SOL_CAIF"), (0x117, "SOL_ALG"), (0x118, "SOL_NFC"), (0x119, "SOL_KCM"),
    (0x11a, "SOL_TLS"), (0x11b, "SOL_XDP"),
] };

/// `setsockopt(SOL_SOCKET)`.
#[rustfmt::skip]
pub(crate) static SOCKET_OPTION: Names = Names { unknown: "SO_???", names: names![
    (1, "SO_DEBUG"), (2, "SO_REUSEADDR"), (3, "SO_TYPE"), (4, "SO_ERROR"), (5, "SO_DONTROUTE"),
    (6, "SO_BROADCAST"), (7, "SO_SNDBUF"), (8, "SO_RCVBUF"), (9, "SO_KEEPALIVE"),
    (0xa, "SO_OOBINLINE"), (0xb, "SO_NO_CHECK"), (0xc, "SO_PRIORITY"), (0xd, "SO_LINGER"),
    (0xe, "SO_BSDCOMPAT"), (0xf, "SO_REUSEPORT"), (0x10, "SO_PASSCRED"), (0x11, "SO_PEERCRED"),
    (0x12, "SO_RCVLOWAT"), (0x13, "SO_SNDLOWAT"), (0x14, "SO_RCVTIMEO_OLD"),
    (0x15, "SO_SNDTIMEO_OLD"), (0x16, "SO_SECURITY_AUTHENTICATION"),
    (0x17, "SO_SECURITY_ENCRYPTION_TRANSPORT"), (0x18, "SO_SECURITY_ENCRYPTION_NETWORK"),
    (0x19, "SO_BINDTODEVICE"), (0x1a, "SO_ATTACH_FILTER"), (0x1b, "SO_DETACH_FILTER"),
    (0x1c, "SO_PEERNAME"), (0x1d, "SO_TIMESTAMP_OLD"), (0x1e, "SO_ACCEPTCONN"),
    (0x1f, "SO_PEERSEC"), (0x20, "SO_SNDBUFFORCE"), (0x21, "SO_RCVBUFFORCE"),
    (0x22, "SO_PASSSEC"), (0x23, "SO_TIMESTAMPNS_OLD"), (0x24, "SO_MARK"),
    (0x25, "SO_TIMESTAMPING_OLD"), (0x26, "SO_PROTOCOL"), (0x27, "SO_DOMAIN"),
    (0x28, "SO_RXQ_OVFL"), (0x29, "SO_WIFI_STATUS"), (0x2a, "SO_PEEK_OFF"), (0x2b, "SO_NOFCS"),
    (0x2c, "SO_LOCK_FILTER"), (0x2d, "SO_SELECT_ERR_QUEUE"), (0x2e, "SO_BUSY_POLL"),
    (0x2f, "SO_MAX_PACING_RATE"), (0x30, "SO_BPF_EXTENSIONS"), (0x31, "SO_INCOMING_CPU"),
    (0x32, "SO_ATTACH_BPF"), (0x33, "SO_ATTACH_REUSEPORT_CBPF"),
    (0x34, "SO_ATTACH_REUSEPORT_EBPF"), (0x35, "SO_CNX_ADVICE"), (0x37, "SO_MEMINFO"),
    (0x38, "SO_INCOMING_NAPI_ID"), (0x39, "SO_COOKIE"), (0x3b, "SO_PEERGROUPS"),
    (0x3c, "SO_ZEROCOPY"), (0x3d, "SO_TXTIME"), (0x3e, "SO_BINDTOIFINDEX"),
    (0x3f, "SO_TIMESTAMP_NEW"), (0x40, "SO_TIMESTAMPNS_NEW"), (0x41, "SO_TIMESTAMPING_NEW"),
    (0x42, "SO_RCVTIMEO_NEW"), (0x43, "SO_SNDTIMEO_NEW"), (0x44, "SO_DETACH_REUSEPORT_BPF"),
    (0x45, "SO_PREFER_BUSY_POLL"), (0x46, "SO_BUSY_POLL_BUDGET"), (0x47, "SO_NETNS_COOKIE"),
    (0x48, "SO_BUF_LOCK"), (0x49, "SO_RESERVE_MEM"), (0x4a, "SO_TXREHASH"), (0x4b, "SO_RCVMARK"),
] };

/// `setsockopt(SOL_TCP)`.
#[rustfmt::skip]
pub(crate) static TCP_OPTION: Names = Names { unknown: "TCP_???", names: names![
    (1, "TCP_NODELAY"), (2, "TCP_MAXSEG"), (3, "TCP_CORK"), (4, "TCP_KEEPIDLE"),
    (5, "TCP_KEEPINTVL"), (6, "TCP_KEEPCNT"), (7, "TCP_SYNCNT"), (8, "TCP_LINGER2"),
    (9, "TCP_DEFER_ACCEPT"), (0xa, "TCP_WINDOW_CLAMP"), (0xb, "TCP_INFO"), (0xc, "TCP_QUICKACK"),
    (0xd, "TCP_CONGESTION"), (0xe, "TCP_MD5SIG"), (0xf, "TCP_COOKIE_TRANSACTIONS"),
    (0x10, "TCP_THIN_LINEAR_TIMEOUTS"), (0x11, "TCP_THIN_DUPACK"), (0x12, "TCP_USER_TIMEOUT"),
    (0x13, "TCP_REPAIR"), (0x14, "TCP_REPAIR_QUEUE"), (0x15, "TCP_QUEUE_SEQ"),
    (0x16, "TCP_REPAIR_OPTIONS"), (0x17, "TCP_FASTOPEN"), (0x18, "TCP_TIMESTAMP"),
    (0x19, "TCP_NOTSENT_LOWAT"), (0x1a, "TCP_CC_INFO"), (0x1b, "TCP_SAVE_SYN"),
    (0x1c, "TCP_SAVED_SYN"), (0x1d, "TCP_REPAIR_WINDOW"), (0x1e, "TCP_FASTOPEN_CONNECT"),
    (0x1f, "TCP_ULP"), (0x20, "TCP_MD5SIG_EXT"), (0x21, "TCP_FASTOPEN_KEY"),
    (0x22, "TCP_FASTOPEN_NO_COOKIE"), (0x23, "TCP_ZEROCOPY_RECEIVE"), (0x24, "TCP_INQ"),
    (0x25, "TCP_TX_DELAY"),
] };

/// `setsockopt(SOL_IP)`.
#[rustfmt::skip]
pub(crate) static IP_OPTION: Names = Names { unknown: "IP_???", names: names![
    (1, "IP_TOS"), (2, "IP_TTL"), (3, "IP_HDRINCL"), (4, "IP_OPTIONS"), (5, "IP_ROUTER_ALERT"),
    (6, "IP_RECVOPTS"), (7, "IP_RETOPTS"), (8, "IP_PKTINFO"), (9, "IP_PKTOPTIONS"),
    (0xa, "IP_MTU_DISCOVER"), (0xb, "IP_RECVERR"), (0xc, "IP_RECVTTL"), (0xd, "IP_RECVTOS"),
    (0xe, "IP_MTU"), (0xf, "IP_FREEBIND"), (0x10, "IP_IPSEC_POLICY"), (0x11, "IP_XFRM_POLICY"),
    (0x12, "IP_PASSSEC"), (0x13, "IP_TRANSPARENT"), (0x14, "IP_ORIGDSTADDR"), (0x15, "IP_MINTTL"),
    (0x16, "IP_NODEFRAG"), (0x17, "IP_CHECKSUM"), (0x18, "IP_BIND_ADDRESS_NO_PORT"),
    (0x19, "IP_RECVFRAGSIZE"), (0x1a, "IP_RECVERR_RFC4884"), (0x20, "IP_MULTICAST_IF"),
    (0x21, "IP_MULTICAST_TTL"), (0x22, "IP_MULTICAST_LOOP"), (0x23, "IP_ADD_MEMBERSHIP"),
    (0x24, "IP_DROP_MEMBERSHIP"), (0x25, "IP_UNBLOCK_SOURCE"), (0x26, "IP_BLOCK_SOURCE"),
    (0x27, "IP_ADD_SOURCE_MEMBERSHIP"), (0x28, "IP_DROP_SOURCE_MEMBERSHIP"),
    (0x29, "IP_MSFILTER"), (0x2a, "MCAST_JOIN_GROUP"), (0x2b, "MCAST_BLOCK_SOURCE"),
    (0x2c, "MCAST_UNBLOCK_SOURCE"), (0x2d, "MCAST_LEAVE_GROUP"),
    (0x2e, "MCAST_JOIN_SOURCE_GROUP"), (0x2f, "MCAST_LEAVE_SOURCE_GROUP"),
    (0x30, "MCAST_MSFILTER"), (0x31, "IP_MULTICAST_ALL"), (0x32, "IP_UNICAST_IF"),
    (0x40, "IPT_SO_SET_REPLACE"), (0x41, "IPT_SO_SET_ADD_COUNTERS"), (0x80, "EBT_SO_SET_ENTRIES"),
    (0x81, "EBT_SO_SET_COUNTERS"),
] };

/// `setsockopt(SOL_IPV6)`.
#[rustfmt::skip]
pub(crate) static IPV6_OPTION: Names = Names { unknown: "IPV6_???", names: names![
    (1, "IPV6_ADDRFORM"), (2, "IPV6_2292PKTINFO"), (3, "IPV6_2292HOPOPTS"),
    (4, "IPV6_2292DSTOPTS"), (5, "IPV6_2292RTHDR"), (6, "IPV6_2292PKTOPTIONS"),
    (7, "IPV6_CHECKSUM"), (8, "IPV6_2292HOPLIMIT"), (9, "IPV6_NEXTHOP"), (0xa, "IPV6_AUTHHDR"),
    (0xb, "IPV6_FLOWINFO"), (0x10, "IPV6_UNICAST_HOPS"), (0x11, "IPV6_MULTICAST_IF"),
    (0x12, "IPV6_MULTICAST_HOPS"), (0x13, "IPV6_MULTICAST_LOOP"), (0x14, "IPV6_ADD_MEMBERSHIP"),
    (0x15, "IPV6_DROP_MEMBERSHIP"), (0x16, "IPV6_ROUTER_ALERT"), (0x17, "IPV6_MTU_DISCOVER"),
    (0x18, "IPV6_MTU"), (0x19, "IPV6_RECVERR"), (0x1a, "IPV6_V6ONLY"),
    (0x1b, "IPV6_JOIN_ANYCAST"), (0x1c, "IPV6_LEAVE_ANYCAST"), (0x1d, "IPV6_MULTICAST_ALL"),
    (0x1e, "IPV6_ROUTER_ALERT_ISOLATE"), (0x1f, "IPV6_RECVERR_RFC4884"),
    (0x20, "IPV6_FLOWLABEL_MGR"), (0x21, "IPV6_FLOWINFO_SEND"), (0x22, "IPV6_IPSEC_POLICY"),
    (0x23, "IPV6_XFRM_POLICY"), (0x24, "IPV6_HDRINCL"), (0x2a, "MCAST_JOIN_GROUP"),
    (0x2b, "MCAST_BLOCK_SOURCE"), (0x2c, "MCAST_UNBLOCK_SOURCE"), (0x2d, "MCAST_LEAVE_GROUP"),
    (0x2e, "MCAST_JOIN_SOURCE_GROUP"), (0x2f, "MCAST_LEAVE_SOURCE_GROUP"),
    (0x30, "MCAST_MSFILTER"), (0x31, "IPV6_RECVPKTINFO"), (0x32, "IPV6_PKTINFO"),
    (0x33, "IPV6_RECVHOPLIMIT"), (0x34, "IPV6_HOPLIMIT"), (0x35, "IPV6_RECVHOPOPTS"),
    (0x36, "IPV6_HOPOPTS"), (0x37, "IPV6_RTHDRDSTOPTS"), (0x38, "IPV6_RECVRTHDR"),
    (0x39, "IPV6_RTHDR"), (0x3a, "IPV6_RECVDSTOPTS"), (0x3b, "IPV6_DSTOPTS"),
    (0x3c, "IPV6_RECVPATHMTU"), (0x3d, "IPV6_PATHMTU"), (0x3e, "IPV6_DONTFRAG"),
    (0x3f, "IPV6_USE_MIN_MTU"), (0x40, "IP6T_SO_SET_REPLACE"), (0x41, "IP6T_SO_SET_ADD_COUNTERS"),
    (0x42, "IPV6_RECVTCLASS"), (0x43, "IPV6_TCLASS"), (0x46, "IPV6_AUTOFLOWLABEL"),
    (0x48, "IPV6_ADDR_PREFERENCES"), (0x49, "IPV6_MINHOPCOUNT"), (0x4a, "IPV6_ORIGDSTADDR"),
    (0x4b, "IPV6_TRANSPARENT"), (0x4c, "IPV6_UNICAST_IF"), (0x4d, "IPV6_RECVFRAGSIZE"),
    (0x4e, "IPV6_FREEBIND"),
] };

/// `setsockopt(SOL_UDP)`.
#[rustfmt::skip]
pub(crate) static UDP_OPTION: Names = Names { unknown: "UDP_???", names: names![
    (1, "UDP_CORK"), (0x64, "UDP_ENCAP"), (0x65, "UDP_NO_CHECK6_TX"), (0x66, "UDP_NO_CHECK6_RX"),
    (0x67, "UDP_SEGMENT"), (0x68, "UDP_GRO"),
] };

/// `shutdown`.
#[rustfmt::skip]
pub(crate) static SHUTDOWN: Names = Names { unknown: "SHUT_???", names: names![
    (0, "SHUT_RD"), (1, "SHUT_WR"), (2, "SHUT_RDWR"),
] };

/// `setsockopt(SOL_NETLINK)`.
#[rustfmt::skip]
pub(crate) static NETLINK_OPTION: Names = Names { unknown: "NETLINK_???", names: names![
    (1, "NETLINK_ADD_MEMBERSHIP"), (2, "NETLINK_DROP_MEMBERSHIP"), (3, "NETLINK_PKTINFO"),
    (4, "NETLINK_BROADCAST_ERROR"), (5, "NETLINK_NO_ENOBUFS"), (6, "NETLINK_RX_RING"),
    (7, "NETLINK_TX_RING"), (8, "NETLINK_LISTEN_ALL_NSID"), (9, "NETLINK_LIST_MEMBERSHIPS"),
    (0xa, "NETLINK_CAP_ACK"), (0xb, "NETLINK_EXT_ACK"), (0xc, "NETLINK_GET_STRICT_CHK"),
] };

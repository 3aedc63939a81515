//! Names of netlink's message types and flags (`linux/netlink.h`, `linux/rtnetlink.h`,
//! `linux/sock_diag.h`).

use super::{Flags, Names, names};

/// Types that every protocol has.
#[rustfmt::skip]
pub(crate) static TYPE: Names = Names { unknown: "NLMSG_???", names: names![
    (1, "NLMSG_NOOP"), (2, "NLMSG_ERROR"), (3, "NLMSG_DONE"), (4, "NLMSG_OVERRUN"),
] };

/// `NETLINK_ROUTE`.
#[rustfmt::skip]
pub(crate) static ROUTE_TYPE: Names = Names { unknown: "RTM_???", names: names![
    (0x10, "RTM_NEWLINK"), (0x11, "RTM_DELLINK"), (0x12, "RTM_GETLINK"), (0x13, "RTM_SETLINK"),
    (0x14, "RTM_NEWADDR"), (0x15, "RTM_DELADDR"), (0x16, "RTM_GETADDR"), (0x18, "RTM_NEWROUTE"),
    (0x19, "RTM_DELROUTE"), (0x1a, "RTM_GETROUTE"), (0x1c, "RTM_NEWNEIGH"),
    (0x1d, "RTM_DELNEIGH"), (0x1e, "RTM_GETNEIGH"), (0x20, "RTM_NEWRULE"), (0x21, "RTM_DELRULE"),
    (0x22, "RTM_GETRULE"), (0x24, "RTM_NEWQDISC"), (0x25, "RTM_DELQDISC"), (0x26, "RTM_GETQDISC"),
    (0x28, "RTM_NEWTCLASS"), (0x29, "RTM_DELTCLASS"), (0x2a, "RTM_GETTCLASS"),
    (0x2c, "RTM_NEWTFILTER"), (0x2d, "RTM_DELTFILTER"), (0x2e, "RTM_GETTFILTER"),
    (0x30, "RTM_NEWACTION"), (0x31, "RTM_DELACTION"), (0x32, "RTM_GETACTION"),
    (0x34, "RTM_NEWPREFIX"), (0x3a, "RTM_GETMULTICAST"), (0x3e, "RTM_GETANYCAST"),
    (0x40, "RTM_NEWNEIGHTBL"), (0x42, "RTM_GETNEIGHTBL"), (0x43, "RTM_SETNEIGHTBL"),
    (0x44, "RTM_NEWNDUSEROPT"), (0x48, "RTM_NEWADDRLABEL"), (0x49, "RTM_DELADDRLABEL"),
    (0x4a, "RTM_GETADDRLABEL"), (0x4e, "RTM_GETDCB"), (0x4f, "RTM_SETDCB"),
    (0x50, "RTM_NEWNETCONF"), (0x51, "RTM_DELNETCONF"), (0x52, "RTM_GETNETCONF"),
    (0x54, "RTM_NEWMDB"), (0x55, "RTM_DELMDB"), (0x56, "RTM_GETMDB"), (0x58, "RTM_NEWNSID"),
    (0x59, "RTM_DELNSID"), (0x5a, "RTM_GETNSID"), (0x5c, "RTM_NEWSTATS"), (0x5e, "RTM_GETSTATS"),
    (0x60, "RTM_NEWCACHEREPORT"), (0x64, "RTM_NEWCHAIN"), (0x65, "RTM_DELCHAIN"),
    (0x66, "RTM_GETCHAIN"), (0x68, "RTM_NEWNEXTHOP"), (0x69, "RTM_DELNEXTHOP"),
    (0x6a, "RTM_GETNEXTHOP"), (0x6c, "RTM_NEWLINKPROP"), (0x6d, "RTM_DELLINKPROP"),
    (0x6e, "RTM_GETLINKPROP"), (0x70, "RTM_NEWVLAN"), (0x71, "RTM_DELVLAN"),
    (0x72, "RTM_GETVLAN"), (0x74, "RTM_NEWNEXTHOPBUCKET"), (0x75, "RTM_DELNEXTHOPBUCKET"),
    (0x76, "RTM_GETNEXTHOPBUCKET"),
] };

/// `NETLINK_SOCK_DIAG`.
#[rustfmt::skip]
pub(crate) static SOCK_DIAG_TYPE: Names = Names { unknown: "SOCK_DIAG_???", names: names![
    (0x12, "TCPDIAG_GETSOCK"), (0x13, "DCCPDIAG_GETSOCK"), (0x14, "SOCK_DIAG_BY_FAMILY"),
    (0x15, "SOCK_DESTROY"),
] };

/// Flags of every message.
#[rustfmt::skip]
pub(crate) static FLAGS: Flags = Flags { unknown: "NLM_F_???", names: names![
    (1, "NLM_F_REQUEST"), (2, "NLM_F_MULTI"), (4, "NLM_F_ACK"), (8, "NLM_F_ECHO"),
    (0x10, "NLM_F_DUMP_INTR"), (0x20, "NLM_F_DUMP_FILTERED"),
] };

/// Flags of a request that reads.
#[rustfmt::skip]
pub(crate) static GET_FLAGS: Flags = Flags { unknown: "NLM_F_???", names: names![
    (1, "NLM_F_REQUEST"), (2, "NLM_F_MULTI"), (4, "NLM_F_ACK"), (8, "NLM_F_ECHO"),
    (0x10, "NLM_F_DUMP_INTR"), (0x20, "NLM_F_DUMP_FILTERED"), (0x300, "NLM_F_DUMP"),
    (0x100, "NLM_F_ROOT"), (0x200, "NLM_F_MATCH"), (0x400, "NLM_F_ATOMIC"),
] };

/// Flags of a request that makes something.
#[rustfmt::skip]
pub(crate) static NEW_FLAGS: Flags = Flags { unknown: "NLM_F_???", names: names![
    (1, "NLM_F_REQUEST"), (2, "NLM_F_MULTI"), (4, "NLM_F_ACK"), (8, "NLM_F_ECHO"),
    (0x10, "NLM_F_DUMP_INTR"), (0x20, "NLM_F_DUMP_FILTERED"), (0x100, "NLM_F_REPLACE"),
    (0x200, "NLM_F_EXCL"), (0x400, "NLM_F_CREATE"), (0x800, "NLM_F_APPEND"),
] };

/// Flags of a request that removes something.
#[rustfmt::skip]
pub(crate) static DELETE_FLAGS: Flags = Flags { unknown: "NLM_F_???", names: names![
    (1, "NLM_F_REQUEST"), (2, "NLM_F_MULTI"), (4, "NLM_F_ACK"), (8, "NLM_F_ECHO"),
    (0x10, "NLM_F_DUMP_INTR"), (0x20, "NLM_F_DUMP_FILTERED"), (0x100, "NLM_F_NONREC"),
    (0x200, "NLM_F_BULK"),
] };

/// Flags of an acknowledgement or error.
#[rustfmt::skip]
pub(crate) static ERROR_FLAGS: Flags = Flags { unknown: "NLM_F_???", names: names![
    (1, "NLM_F_REQUEST"), (2, "NLM_F_MULTI"), (4, "NLM_F_ACK"), (8, "NLM_F_ECHO"),
    (0x10, "NLM_F_DUMP_INTR"), (0x20, "NLM_F_DUMP_FILTERED"), (0x100, "NLM_F_CAPPED"),
    (0x200, "NLM_F_ACK_TLVS"),
] };

//! The fields of NFS, and their order in the kernel's lines.
//!
//! The order of versions 2 and 3 and of the server's version 4 is that of the protocol's procedure
//! numbers (RFC 1094, 1813, 7530, 5661, 7862).  That of the client's version 4 is the kernel's
//! (`include/linux/nfs4.h`); it changed between kernels from the 38th entry on, so these are left
//! out.

use sample::fields;

fields! {
    NET_PACKETS: counter Count, "Packets received";
    NET_UDP: counter Count, "Packets received over UDP";
    NET_TCP: counter Count, "Packets received over TCP";
    NET_CONNECTIONS: counter Count, "TCP connections accepted";
    RPC_CALLS: counter Count, "Remote procedure calls";
    RPC_RETRANSMISSIONS: counter Count, "Calls retransmitted";
    RPC_AUTH_REFRESHES: counter Count, "Times credentials were refreshed";
    RPC_BAD_CALLS: counter Count, "Calls rejected";
    RPC_BAD_FORMAT: counter Count, "Calls rejected as malformed";
    RPC_BAD_AUTH: counter Count, "Calls rejected for bad credentials";
    RPC_BAD_CLIENT: counter Count, "Calls rejected for an unknown client";
    REPLY_CACHE_HITS: counter Count, "Calls answered from the reply cache";
    REPLY_CACHE_MISSES: counter Count, "Calls not found in the reply cache";
    REPLY_CACHE_UNCACHED: counter Count, "Calls whose replies are not cached";
    READ_BYTES: counter Bytes, "Data that clients read";
    WRITE_BYTES: counter Bytes, "Data that clients wrote";
    THREADS: gauge Count, "Threads of the server";
    NULL: counter Count, "Calls that do nothing";
    GETATTR: counter Count, "Attributes read";
    SETATTR: counter Count, "Attributes set";
    ROOT: counter Count, "Obsolete";
    LOOKUP: counter Count, "Names looked up";
    ACCESS: counter Count, "Permission checks";
    READLINK: counter Count, "Symbolic links read";
    READ: counter Count, "Reads";
    WRCACHE: counter Count, "Obsolete";
    WRITE: counter Count, "Writes";
    CREATE: counter Count, "Files created (version 4: other than plain files)";
    MKDIR: counter Count, "Directories created";
    SYMLINK: counter Count, "Symbolic links created";
    MKNOD: counter Count, "Special files created";
    REMOVE: counter Count, "Files removed";
    RMDIR: counter Count, "Directories removed";
    RENAME: counter Count, "Files renamed";
    LINK: counter Count, "Hard links created";
    READDIR: counter Count, "Directories read";
    READDIRPLUS: counter Count, "Directories read with attributes";
    FSSTAT: counter Count, "Queries for the space of a filesystem";
    FSINFO: counter Count, "Queries for the properties of a filesystem";
    PATHCONF: counter Count, "Queries for the limits of a filesystem";
    COMMIT: counter Count, "Commits of writes";
    COMPOUND: counter Count, "Compound calls";
    OPEN: counter Count, "Files opened";
    OPEN_CONFIRM: counter Count, "Opens confirmed";
    OPEN_NOATTR: counter Count, "Files opened without attributes";
    OPEN_DOWNGRADE: counter Count, "Opens downgraded to fewer access rights";
    CLOSE: counter Count, "Files closed";
    RENEW: counter Count, "Leases renewed";
    SETCLIENTID: counter Count, "Client ids requested";
    SETCLIENTID_CONFIRM: counter Count, "Client ids confirmed";
    LOCK: counter Count, "Locks taken";
    LOCKT: counter Count, "Locks tested";
    LOCKU: counter Count, "Locks released";
    LOOKUP_ROOT: counter Count, "Root directories looked up";
    SERVER_CAPS: counter Count, "Queries for the server's capabilities";
    DELEGRETURN: counter Count, "Delegations returned";
    GETACL: counter Count, "Access control lists read";
    SETACL: counter Count, "Access control lists set";
    FS_LOCATIONS: counter Count, "Queries for the locations of a filesystem";
    RELEASE_LOCKOWNER: counter Count, "Lock owners released";
    SECINFO: counter Count, "Queries for security mechanisms";
    GETFH: counter Count, "Current file handles returned";
    LOOKUPP: counter Count, "Parent directories looked up";
    NVERIFY: counter Count, "Checks that attributes differ";
    OPENATTR: counter Count, "Named attribute directories opened";
    PUTFH: counter Count, "Current file handles set";
    PUTPUBFH: counter Count, "Times the public file handle became current";
    PUTROOTFH: counter Count, "Times the root file handle became current";
    RESTOREFH: counter Count, "File handles restored";
    SAVEFH: counter Count, "File handles saved";
    VERIFY: counter Count, "Checks that attributes are equal";
    DELEGPURGE: counter Count, "Delegations purged";
    EXCHANGE_ID: counter Count, "Client ids requested, version 4.1";
    CREATE_SESSION: counter Count, "Sessions created";
    DESTROY_SESSION: counter Count, "Sessions destroyed";
    GETDEVICEINFO: counter Count, "Queries for devices of pNFS layouts";
    LAYOUTCOMMIT: counter Count, "pNFS layouts committed";
    LAYOUTGET: counter Count, "pNFS layouts requested";
    LAYOUTRETURN: counter Count, "pNFS layouts returned";
    SEQUENCE: counter Count, "Calls within a session";
    ALLOCATE: counter Count, "Allocations of space in a file";
    COPY: counter Count, "Copies made by the server";
    DEALLOCATE: counter Count, "Deallocations of space in a file";
    SEEK: counter Count, "Searches for data or holes in a file";
    CLONE: counter Count, "Copies that share data";
}

/// The field of each column of a kernel's line; `_` for a column that is not recorded.
macro_rules! columns {
    (@ _) => {
        None
    };
    (@ $field:ident) => {
        Some($field)
    };
    ($($column:tt)*) => {
        &[$(columns!(@ $column),)*]
    };
}

/// Line `net`, of both sides.
pub(super) const TRANSPORT: &[Option<usize>] = columns! {
    NET_PACKETS NET_UDP NET_TCP NET_CONNECTIONS
};

/// Line `rpc` of the client.
pub(super) const CLIENT_RPC: &[Option<usize>] = columns! {
    RPC_CALLS RPC_RETRANSMISSIONS RPC_AUTH_REFRESHES
};

/// Line `rpc` of the server.
pub(super) const SERVER_RPC: &[Option<usize>] = columns! {
    RPC_CALLS RPC_BAD_CALLS RPC_BAD_FORMAT RPC_BAD_AUTH RPC_BAD_CLIENT
};

/// Line `rc`: the reply cache.
pub(super) const SERVER_CACHE: &[Option<usize>] = columns! {
    REPLY_CACHE_HITS REPLY_CACHE_MISSES REPLY_CACHE_UNCACHED
};

/// Line `io`.
pub(super) const SERVER_IO: &[Option<usize>] = columns! {
    READ_BYTES WRITE_BYTES
};

/// Line `proc2`.
pub(super) const V2: &[Option<usize>] = columns! {
    NULL GETATTR SETATTR ROOT LOOKUP READLINK READ WRCACHE WRITE CREATE REMOVE RENAME LINK SYMLINK
    MKDIR RMDIR READDIR FSSTAT
};

/// Line `proc3`.
pub(super) const V3: &[Option<usize>] = columns! {
    NULL GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE MKDIR SYMLINK MKNOD REMOVE RMDIR
    RENAME LINK READDIR READDIRPLUS FSSTAT FSINFO PATHCONF COMMIT
};

/// Line `proc4` of the client.
pub(super) const V4_CLIENT: &[Option<usize>] = columns! {
    NULL READ WRITE COMMIT OPEN OPEN_CONFIRM OPEN_NOATTR OPEN_DOWNGRADE CLOSE SETATTR FSINFO RENEW
    SETCLIENTID SETCLIENTID_CONFIRM LOCK LOCKT LOCKU ACCESS GETATTR LOOKUP LOOKUP_ROOT REMOVE RENAME
    LINK SYMLINK CREATE PATHCONF FSSTAT READLINK READDIR SERVER_CAPS DELEGRETURN GETACL SETACL
    FS_LOCATIONS RELEASE_LOCKOWNER SECINFO
};

/// Line `proc4` of the server.
pub(super) const V4_SERVER_CALLS: &[Option<usize>] = columns! {
    NULL COMPOUND
};

/// Line `proc4ops`: at the index of each operation's number in the protocol.
pub(super) const V4_SERVER: &[Option<usize>] = columns! {
    _ _ _ ACCESS CLOSE COMMIT CREATE DELEGPURGE DELEGRETURN GETATTR GETFH LINK LOCK LOCKT LOCKU
    LOOKUP LOOKUPP NVERIFY OPEN OPENATTR OPEN_CONFIRM OPEN_DOWNGRADE PUTFH PUTPUBFH PUTROOTFH READ
    READDIR READLINK REMOVE RENAME RENEW RESTOREFH SAVEFH SECINFO SETATTR SETCLIENTID
    SETCLIENTID_CONFIRM VERIFY WRITE RELEASE_LOCKOWNER _ _ EXCHANGE_ID CREATE_SESSION
    DESTROY_SESSION _ _ GETDEVICEINFO _ LAYOUTCOMMIT LAYOUTGET LAYOUTRETURN _ SEQUENCE _ _ _ _ _
    ALLOCATE COPY _ DEALLOCATE _ _ _ _ _ _ SEEK _ CLONE
};

//! The fields of NFS, and their order in the kernel's lines.
//!
//! The order of versions 2 and 3 and of the server's version 4 is that of the protocol's procedure
//! numbers (RFC 1094, 1813, 7530, 5661, 7862).  That of the client's version 4 is the kernel's
//! (`include/linux/nfs4.h`); it changed between kernels from the 38th entry on, so these are left
//! out.

use sample::{Field, Unit};

/// Makes the fields and their indexes from one list.
macro_rules! fields {
    ($($index:ident $kind:ident $unit:ident $name:literal $help:literal;)*) => {
        /// Fields by name.
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub(super) enum Index { $( $index, )* }

        pub(super) const FIELDS: &[Field] = &[$( Field::$kind($name, Unit::$unit, $help), )*];
    };
}

fields! {
    NetPackets counter Count "net_packets" "Packets received";
    NetUdp counter Count "net_udp" "Packets received over UDP";
    NetTcp counter Count "net_tcp" "Packets received over TCP";
    NetConnections counter Count "net_connections" "TCP connections accepted";
    Calls counter Count "rpc_calls" "Remote procedure calls";
    Retransmissions counter Count "rpc_retransmissions" "Calls retransmitted";
    AuthRefreshes counter Count "rpc_auth_refreshes" "Times credentials were refreshed";
    BadCalls counter Count "rpc_bad_calls" "Calls rejected";
    BadFormat counter Count "rpc_bad_format" "Calls rejected as malformed";
    BadAuth counter Count "rpc_bad_auth" "Calls rejected for bad credentials";
    BadClient counter Count "rpc_bad_client" "Calls rejected for an unknown client";
    CacheHits counter Count "reply_cache_hits" "Calls answered from the reply cache";
    CacheMisses counter Count "reply_cache_misses" "Calls not found in the reply cache";
    CacheNone counter Count "reply_cache_uncached" "Calls whose replies are not cached";
    ReadBytes counter Bytes "read_bytes" "Data that clients read";
    WriteBytes counter Bytes "write_bytes" "Data that clients wrote";
    Threads gauge Count "threads" "Threads of the server";
    Null counter Count "null" "Calls that do nothing";
    Getattr counter Count "getattr" "Attributes read";
    Setattr counter Count "setattr" "Attributes set";
    Root counter Count "root" "Obsolete";
    Lookup counter Count "lookup" "Names looked up";
    Access counter Count "access" "Permission checks";
    Readlink counter Count "readlink" "Symbolic links read";
    Read counter Count "read" "Reads";
    WriteCache counter Count "wrcache" "Obsolete";
    Write counter Count "write" "Writes";
    Create counter Count "create" "Files created (version 4: other than plain files)";
    Mkdir counter Count "mkdir" "Directories created";
    Symlink counter Count "symlink" "Symbolic links created";
    Mknod counter Count "mknod" "Special files created";
    Remove counter Count "remove" "Files removed";
    Rmdir counter Count "rmdir" "Directories removed";
    Rename counter Count "rename" "Files renamed";
    Link counter Count "link" "Hard links created";
    Readdir counter Count "readdir" "Directories read";
    Readdirplus counter Count "readdirplus" "Directories read with attributes";
    Fsstat counter Count "fsstat" "Queries for the space of a filesystem";
    Fsinfo counter Count "fsinfo" "Queries for the properties of a filesystem";
    Pathconf counter Count "pathconf" "Queries for the limits of a filesystem";
    Commit counter Count "commit" "Commits of writes";
    Compound counter Count "compound" "Compound calls";
    Open counter Count "open" "Files opened";
    OpenConfirm counter Count "open_confirm" "Opens confirmed";
    OpenNoattr counter Count "open_noattr" "Files opened without attributes";
    OpenDowngrade counter Count "open_downgrade" "Opens downgraded to fewer access rights";
    Close counter Count "close" "Files closed";
    Renew counter Count "renew" "Leases renewed";
    SetClientId counter Count "setclientid" "Client ids requested";
    SetClientIdConfirm counter Count "setclientid_confirm" "Client ids confirmed";
    Lock counter Count "lock" "Locks taken";
    Lockt counter Count "lockt" "Locks tested";
    Locku counter Count "locku" "Locks released";
    LookupRoot counter Count "lookup_root" "Root directories looked up";
    ServerCaps counter Count "server_caps" "Queries for the server's capabilities";
    DelegReturn counter Count "delegreturn" "Delegations returned";
    Getacl counter Count "getacl" "Access control lists read";
    Setacl counter Count "setacl" "Access control lists set";
    FsLocations counter Count "fs_locations" "Queries for the locations of a filesystem";
    ReleaseLockowner counter Count "release_lockowner" "Lock owners released";
    Secinfo counter Count "secinfo" "Queries for security mechanisms";
    Getfh counter Count "getfh" "Current file handles returned";
    Lookupp counter Count "lookupp" "Parent directories looked up";
    Nverify counter Count "nverify" "Checks that attributes differ";
    Openattr counter Count "openattr" "Named attribute directories opened";
    Putfh counter Count "putfh" "Current file handles set";
    Putpubfh counter Count "putpubfh" "Times the public file handle became current";
    Putrootfh counter Count "putrootfh" "Times the root file handle became current";
    Restorefh counter Count "restorefh" "File handles restored";
    Savefh counter Count "savefh" "File handles saved";
    Verify counter Count "verify" "Checks that attributes are equal";
    DelegPurge counter Count "delegpurge" "Delegations purged";
    ExchangeId counter Count "exchange_id" "Client ids requested, version 4.1";
    CreateSession counter Count "create_session" "Sessions created";
    DestroySession counter Count "destroy_session" "Sessions destroyed";
    GetDeviceInfo counter Count "getdeviceinfo" "Queries for devices of pNFS layouts";
    LayoutCommit counter Count "layoutcommit" "pNFS layouts committed";
    LayoutGet counter Count "layoutget" "pNFS layouts requested";
    LayoutReturn counter Count "layoutreturn" "pNFS layouts returned";
    Sequence counter Count "sequence" "Calls within a session";
    Allocate counter Count "allocate" "Allocations of space in a file";
    Copy counter Count "copy" "Copies made by the server";
    Deallocate counter Count "deallocate" "Deallocations of space in a file";
    Seek counter Count "seek" "Searches for data or holes in a file";
    Clone counter Count "clone" "Copies that share data";
}

/// Line `net`, of both sides.
pub(super) const TRANSPORT: &[Option<Index>] = &[
    Some(Index::NetPackets),
    Some(Index::NetUdp),
    Some(Index::NetTcp),
    Some(Index::NetConnections),
];

/// Line `rpc` of the client.
pub(super) const CLIENT_RPC: &[Option<Index>] =
    &[Some(Index::Calls), Some(Index::Retransmissions), Some(Index::AuthRefreshes)];

/// Line `rpc` of the server.
pub(super) const SERVER_RPC: &[Option<Index>] = &[
    Some(Index::Calls),
    Some(Index::BadCalls),
    Some(Index::BadFormat),
    Some(Index::BadAuth),
    Some(Index::BadClient),
];

/// Line `rc`: the reply cache.
pub(super) const SERVER_CACHE: &[Option<Index>] =
    &[Some(Index::CacheHits), Some(Index::CacheMisses), Some(Index::CacheNone)];

/// Line `io`.
pub(super) const SERVER_IO: &[Option<Index>] = &[Some(Index::ReadBytes), Some(Index::WriteBytes)];

/// Line `proc2`.
pub(super) const V2: &[Option<Index>] = &[
    Some(Index::Null),
    Some(Index::Getattr),
    Some(Index::Setattr),
    Some(Index::Root),
    Some(Index::Lookup),
    Some(Index::Readlink),
    Some(Index::Read),
    Some(Index::WriteCache),
    Some(Index::Write),
    Some(Index::Create),
    Some(Index::Remove),
    Some(Index::Rename),
    Some(Index::Link),
    Some(Index::Symlink),
    Some(Index::Mkdir),
    Some(Index::Rmdir),
    Some(Index::Readdir),
    Some(Index::Fsstat),
];

/// Line `proc3`.
pub(super) const V3: &[Option<Index>] = &[
    Some(Index::Null),
    Some(Index::Getattr),
    Some(Index::Setattr),
    Some(Index::Lookup),
    Some(Index::Access),
    Some(Index::Readlink),
    Some(Index::Read),
    Some(Index::Write),
    Some(Index::Create),
    Some(Index::Mkdir),
    Some(Index::Symlink),
    Some(Index::Mknod),
    Some(Index::Remove),
    Some(Index::Rmdir),
    Some(Index::Rename),
    Some(Index::Link),
    Some(Index::Readdir),
    Some(Index::Readdirplus),
    Some(Index::Fsstat),
    Some(Index::Fsinfo),
    Some(Index::Pathconf),
    Some(Index::Commit),
];

/// Line `proc4` of the client.
pub(super) const V4_CLIENT: &[Option<Index>] = &[
    Some(Index::Null),
    Some(Index::Read),
    Some(Index::Write),
    Some(Index::Commit),
    Some(Index::Open),
    Some(Index::OpenConfirm),
    Some(Index::OpenNoattr),
    Some(Index::OpenDowngrade),
    Some(Index::Close),
    Some(Index::Setattr),
    Some(Index::Fsinfo),
    Some(Index::Renew),
    Some(Index::SetClientId),
    Some(Index::SetClientIdConfirm),
    Some(Index::Lock),
    Some(Index::Lockt),
    Some(Index::Locku),
    Some(Index::Access),
    Some(Index::Getattr),
    Some(Index::Lookup),
    Some(Index::LookupRoot),
    Some(Index::Remove),
    Some(Index::Rename),
    Some(Index::Link),
    Some(Index::Symlink),
    Some(Index::Create),
    Some(Index::Pathconf),
    Some(Index::Fsstat),
    Some(Index::Readlink),
    Some(Index::Readdir),
    Some(Index::ServerCaps),
    Some(Index::DelegReturn),
    Some(Index::Getacl),
    Some(Index::Setacl),
    Some(Index::FsLocations),
    Some(Index::ReleaseLockowner),
    Some(Index::Secinfo),
];

/// Line `proc4` of the server.
pub(super) const V4_SERVER_CALLS: &[Option<Index>] = &[Some(Index::Null), Some(Index::Compound)];

/// Line `proc4ops`: at the index of each operation's number in the protocol.
pub(super) const V4_SERVER: &[Option<Index>] = &[
    None,
    None,
    None,
    Some(Index::Access),
    Some(Index::Close),
    Some(Index::Commit),
    Some(Index::Create),
    Some(Index::DelegPurge),
    Some(Index::DelegReturn),
    Some(Index::Getattr),
    Some(Index::Getfh),
    Some(Index::Link),
    Some(Index::Lock),
    Some(Index::Lockt),
    Some(Index::Locku),
    Some(Index::Lookup),
    Some(Index::Lookupp),
    Some(Index::Nverify),
    Some(Index::Open),
    Some(Index::Openattr),
    Some(Index::OpenConfirm),
    Some(Index::OpenDowngrade),
    Some(Index::Putfh),
    Some(Index::Putpubfh),
    Some(Index::Putrootfh),
    Some(Index::Read),
    Some(Index::Readdir),
    Some(Index::Readlink),
    Some(Index::Remove),
    Some(Index::Rename),
    Some(Index::Renew),
    Some(Index::Restorefh),
    Some(Index::Savefh),
    Some(Index::Secinfo),
    Some(Index::Setattr),
    Some(Index::SetClientId),
    Some(Index::SetClientIdConfirm),
    Some(Index::Verify),
    Some(Index::Write),
    Some(Index::ReleaseLockowner),
    None,
    None,
    Some(Index::ExchangeId),
    Some(Index::CreateSession),
    Some(Index::DestroySession),
    None,
    None,
    Some(Index::GetDeviceInfo),
    None,
    Some(Index::LayoutCommit),
    Some(Index::LayoutGet),
    Some(Index::LayoutReturn),
    None,
    Some(Index::Sequence),
    None,
    None,
    None,
    None,
    None,
    Some(Index::Allocate),
    Some(Index::Copy),
    None,
    Some(Index::Deallocate),
    None,
    None,
    None,
    None,
    None,
    None,
    Some(Index::Seek),
    None,
    Some(Index::Clone),
];

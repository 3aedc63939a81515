//! The fields of NFS, and which of them stands at which place of the kernel's lines.
//!
//! The places of versions 2 and 3 and of the server's version 4 are the protocol's own numbers
//! (RFC 1094, 1813, 7530, 5661, 7862).  Those of the client's version 4 are the kernel's
//! (`include/linux/nfs4.h`), and moved over time from the 38th on: these are left out.

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
    NetPackets counter Count "net_packets" "Packets that came in";
    NetUdp counter Count "net_udp" "Of those, over UDP";
    NetTcp counter Count "net_tcp" "Of those, over TCP";
    NetConnections counter Count "net_connections" "TCP connections taken";
    Calls counter Count "rpc_calls" "Remote procedure calls";
    Retransmissions counter Count "rpc_retransmissions" "Calls sent again";
    AuthRefreshes counter Count "rpc_auth_refreshes" "Credentials asked for anew";
    BadCalls counter Count "rpc_bad_calls" "Calls refused";
    BadFormat counter Count "rpc_bad_format" "Calls refused for their form";
    BadAuth counter Count "rpc_bad_auth" "Calls refused for their credentials";
    BadClient counter Count "rpc_bad_client" "Calls refused for their sender";
    CacheHits counter Count "reply_cache_hits" "Replies found in the reply cache";
    CacheMisses counter Count "reply_cache_misses" "Replies not found there";
    CacheNone counter Count "reply_cache_uncached" "Replies that are never cached";
    ReadBytes counter Bytes "read_bytes" "Data that clients read";
    WriteBytes counter Bytes "write_bytes" "Data that clients wrote";
    Threads gauge Count "threads" "Threads of the server";
    Null counter Count "null" "Calls that do nothing";
    Getattr counter Count "getattr" "Attributes read";
    Setattr counter Count "setattr" "Attributes set";
    Root counter Count "root" "Obsolete";
    Lookup counter Count "lookup" "Names looked up";
    Access counter Count "access" "Permissions asked for";
    Readlink counter Count "readlink" "Symbolic links read";
    Read counter Count "read" "Reads";
    WriteCache counter Count "wrcache" "Obsolete";
    Write counter Count "write" "Writes";
    Create counter Count "create" "Files created (version 4: other than plain files)";
    Mkdir counter Count "mkdir" "Directories made";
    Symlink counter Count "symlink" "Symbolic links made";
    Mknod counter Count "mknod" "Special files made";
    Remove counter Count "remove" "Files removed";
    Rmdir counter Count "rmdir" "Directories removed";
    Rename counter Count "rename" "Files renamed";
    Link counter Count "link" "Hard links made";
    Readdir counter Count "readdir" "Directories read";
    Readdirplus counter Count "readdirplus" "Directories read with attributes";
    Fsstat counter Count "fsstat" "Space of a filesystem asked for";
    Fsinfo counter Count "fsinfo" "Facts of a filesystem asked for";
    Pathconf counter Count "pathconf" "Limits of a filesystem asked for";
    Commit counter Count "commit" "Commits of writes";
    Compound counter Count "compound" "Compound calls";
    Open counter Count "open" "Files opened";
    OpenConfirm counter Count "open_confirm" "Opens confirmed";
    OpenNoattr counter Count "open_noattr" "Files opened without attributes";
    OpenDowngrade counter Count "open_downgrade" "Opens reduced to fewer rights";
    Close counter Count "close" "Files closed";
    Renew counter Count "renew" "Leases renewed";
    SetClientId counter Count "setclientid" "Clients announced";
    SetClientIdConfirm counter Count "setclientid_confirm" "Clients confirmed";
    Lock counter Count "lock" "Locks taken";
    Lockt counter Count "lockt" "Locks tested";
    Locku counter Count "locku" "Locks released";
    LookupRoot counter Count "lookup_root" "Roots looked up";
    ServerCaps counter Count "server_caps" "Abilities of the server asked for";
    DelegReturn counter Count "delegreturn" "Delegations returned";
    Getacl counter Count "getacl" "Access lists read";
    Setacl counter Count "setacl" "Access lists set";
    FsLocations counter Count "fs_locations" "Places of a filesystem asked for";
    ReleaseLockowner counter Count "release_lockowner" "Lock owners forgotten";
    Secinfo counter Count "secinfo" "Ways of security asked for";
    Getfh counter Count "getfh" "File handles asked for";
    Lookupp counter Count "lookupp" "Parents looked up";
    Nverify counter Count "nverify" "Attributes compared for difference";
    Openattr counter Count "openattr" "Attribute directories opened";
    Putfh counter Count "putfh" "File handles set";
    Putpubfh counter Count "putpubfh" "The public file handle set";
    Putrootfh counter Count "putrootfh" "The root file handle set";
    Restorefh counter Count "restorefh" "File handles restored";
    Savefh counter Count "savefh" "File handles saved";
    Verify counter Count "verify" "Attributes compared for sameness";
    DelegPurge counter Count "delegpurge" "Delegations purged";
    ExchangeId counter Count "exchange_id" "Clients announced, version 4.1";
    CreateSession counter Count "create_session" "Sessions begun";
    DestroySession counter Count "destroy_session" "Sessions ended";
    GetDeviceInfo counter Count "getdeviceinfo" "Devices of layouts asked for";
    LayoutCommit counter Count "layoutcommit" "Layouts committed";
    LayoutGet counter Count "layoutget" "Layouts asked for";
    LayoutReturn counter Count "layoutreturn" "Layouts returned";
    Sequence counter Count "sequence" "Calls within a session";
    Allocate counter Count "allocate" "Space reserved";
    Copy counter Count "copy" "Copies made by the server";
    Deallocate counter Count "deallocate" "Space deallocated";
    Seek counter Count "seek" "Data or holes sought";
    Clone counter Count "clone" "Copies that share data";
}

/// `net`, of either side.
pub(super) const TRANSPORT: &[Option<Index>] = &[
    Some(Index::NetPackets),
    Some(Index::NetUdp),
    Some(Index::NetTcp),
    Some(Index::NetConnections),
];

/// `rpc`, the client's.
pub(super) const CLIENT_RPC: &[Option<Index>] =
    &[Some(Index::Calls), Some(Index::Retransmissions), Some(Index::AuthRefreshes)];

/// `rpc`, the server's.
pub(super) const SERVER_RPC: &[Option<Index>] = &[
    Some(Index::Calls),
    Some(Index::BadCalls),
    Some(Index::BadFormat),
    Some(Index::BadAuth),
    Some(Index::BadClient),
];

/// `rc`: the reply cache.
pub(super) const SERVER_CACHE: &[Option<Index>] =
    &[Some(Index::CacheHits), Some(Index::CacheMisses), Some(Index::CacheNone)];

/// `io`.
pub(super) const SERVER_IO: &[Option<Index>] = &[Some(Index::ReadBytes), Some(Index::WriteBytes)];

/// `proc2`.
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

/// `proc3`.
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

/// `proc4`, the client's.
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

/// `proc4`, the server's.
pub(super) const V4_SERVER_CALLS: &[Option<Index>] = &[Some(Index::Null), Some(Index::Compound)];

/// `proc4ops`: by the protocol's number of the operation.
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

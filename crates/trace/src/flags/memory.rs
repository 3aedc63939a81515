//! Names in calls on memory, from `linux/mman.h`, `linux/mempolicy.h`, `linux/ipc.h`.

use super::{Flags, Names, names};

/// `mmap`, `mprotect`.
#[rustfmt::skip]
pub(crate) static PROTECTION: Flags = Flags { unknown: "PROT_???", names: names![
    (0, "PROT_NONE"),
    (1, "PROT_READ"), (2, "PROT_WRITE"), (4, "PROT_EXEC"), (8, "PROT_SEM"),
    (0x1000000, "PROT_GROWSDOWN"), (0x2000000, "PROT_GROWSUP"),
] };

/// `mmap`, without the kind of mapping and the size of huge pages.
#[rustfmt::skip]
pub(crate) static MAP: Flags = Flags { unknown: "MAP_???", names: names![
    (0x10, "MAP_FIXED"), (0x20, "MAP_ANONYMOUS"), (0x40, "MAP_32BIT"), (0x4000, "MAP_NORESERVE"),
    (0x8000, "MAP_POPULATE"), (0x10000, "MAP_NONBLOCK"), (0x100, "MAP_GROWSDOWN"),
    (0x800, "MAP_DENYWRITE"), (0x1000, "MAP_EXECUTABLE"), (0x2000, "MAP_LOCKED"),
    (0x20000, "MAP_STACK"), (0x40000, "MAP_HUGETLB"), (0x80000, "MAP_SYNC"),
    (0x100000, "MAP_FIXED_NOREPLACE"),
] };

/// The kind of mapping, the low four bits.
#[rustfmt::skip]
pub(crate) static MAP_KIND: Names = Names { unknown: "MAP_???", names: names![
    (0, "MAP_FILE"), (1, "MAP_SHARED"), (2, "MAP_PRIVATE"), (3, "MAP_SHARED_VALIDATE"),
] };

/// `mremap`.
#[rustfmt::skip]
pub(crate) static REMAP: Flags = Flags { unknown: "MREMAP_???", names: names![
    (1, "MREMAP_MAYMOVE"), (2, "MREMAP_FIXED"), (4, "MREMAP_DONTUNMAP"),
] };

/// `msync`.
#[rustfmt::skip]
pub(crate) static SYNC: Flags = Flags { unknown: "MS_???", names: names![
    (4, "MS_SYNC"), (1, "MS_ASYNC"), (2, "MS_INVALIDATE"),
] };

/// `madvise`.
#[rustfmt::skip]
pub(crate) static ADVICE: Names = Names { unknown: "MADV_???", names: names![
    (0, "MADV_NORMAL"), (1, "MADV_RANDOM"), (2, "MADV_SEQUENTIAL"), (3, "MADV_WILLNEED"),
    (4, "MADV_DONTNEED"), (8, "MADV_FREE"), (9, "MADV_REMOVE"), (0xa, "MADV_DONTFORK"),
    (0xb, "MADV_DOFORK"), (0xc, "MADV_MERGEABLE"), (0xd, "MADV_UNMERGEABLE"),
    (0xe, "MADV_HUGEPAGE"), (0xf, "MADV_NOHUGEPAGE"), (0x10, "MADV_DONTDUMP"),
    (0x11, "MADV_DODUMP"), (0x12, "MADV_WIPEONFORK"), (0x13, "MADV_KEEPONFORK"),
    (0x14, "MADV_COLD"), (0x15, "MADV_PAGEOUT"), (0x16, "MADV_POPULATE_READ"),
    (0x17, "MADV_POPULATE_WRITE"), (0x18, "MADV_DONTNEED_LOCKED"), (0x19, "MADV_COLLAPSE"),
    (0x64, "MADV_HWPOISON"), (0x65, "MADV_SOFT_OFFLINE"),
] };

/// `mlockall`.
#[rustfmt::skip]
pub(crate) static LOCK_ALL: Flags = Flags { unknown: "MCL_???", names: names![
    (1, "MCL_CURRENT"), (2, "MCL_FUTURE"), (4, "MCL_ONFAULT"),
] };

/// `mlock2`.
#[rustfmt::skip]
pub(crate) static LOCK: Flags = Flags { unknown: "MLOCK_???", names: names![
    (1, "MLOCK_ONFAULT"),
] };

/// `pkey_alloc`.
#[rustfmt::skip]
pub(crate) static PROTECTION_KEY: Flags = Flags { unknown: "PKEY_???", names: names![
    (1, "PKEY_DISABLE_ACCESS"), (2, "PKEY_DISABLE_WRITE"), (4, "PKEY_DISABLE_EXECUTE"),
] };

/// `mbind`.
#[rustfmt::skip]
pub(crate) static POLICY_MOVE: Flags = Flags { unknown: "MPOL_???", names: names![
    (1, "MPOL_MF_STRICT"), (2, "MPOL_MF_MOVE"), (4, "MPOL_MF_MOVE_ALL"),
] };

/// `move_pages`.
#[rustfmt::skip]
pub(crate) static PAGES_MOVE: Flags = Flags { unknown: "MPOL_???", names: names![
    (2, "MPOL_MF_MOVE"), (4, "MPOL_MF_MOVE_ALL"),
] };

/// `memfd_secret`.
#[rustfmt::skip]
pub(crate) static SECRET: Flags = Flags { unknown: "", names: names![(0x80000, "O_CLOEXEC")] };

/// `get_mempolicy`.
#[rustfmt::skip]
pub(crate) static POLICY_GET: Flags = Flags { unknown: "MPOL_???", names: names![
    (1, "MPOL_F_NODE"), (2, "MPOL_F_ADDR"), (4, "MPOL_F_MEMS_ALLOWED"),
] };

/// `set_mempolicy`, without its flags.
#[rustfmt::skip]
pub(crate) static POLICY: Names = Names { unknown: "MPOL_???", names: names![
    (0, "MPOL_DEFAULT"), (1, "MPOL_PREFERRED"), (2, "MPOL_BIND"), (3, "MPOL_INTERLEAVE"),
    (4, "MPOL_LOCAL"), (5, "MPOL_PREFERRED_MANY"),
] };

/// `memfd_create`, without the size of huge pages.
#[rustfmt::skip]
pub(crate) static MEMFD: Flags = Flags { unknown: "MFD_???", names: names![
    (1, "MFD_CLOEXEC"), (2, "MFD_ALLOW_SEALING"), (4, "MFD_HUGETLB"),
] };

/// `shmget`, without mode and the size of huge pages.
#[rustfmt::skip]
pub(crate) static SHARED_GET: Flags = Flags { unknown: "SHM_???", names: names![
    (0x200, "IPC_CREAT"), (0x400, "IPC_EXCL"), (0x800, "SHM_HUGETLB"), (0x1000, "SHM_NORESERVE"),
] };

/// `shmat`.
#[rustfmt::skip]
pub(crate) static SHARED_ATTACH: Flags = Flags { unknown: "SHM_???", names: names![
    (0x1000, "SHM_RDONLY"), (0x2000, "SHM_RND"), (0x4000, "SHM_REMAP"), (0x8000, "SHM_EXEC"),
] };

/// `semget`, `msgget`, without the mode.
#[rustfmt::skip]
pub(crate) static IPC_GET: Flags = Flags { unknown: "", names: names![
    (0x200, "IPC_CREAT"), (0x400, "IPC_EXCL"), (0x800, "IPC_NOWAIT"),
] };

/// `msgsnd`, `msgrcv`.
#[rustfmt::skip]
pub(crate) static MESSAGE: Flags = Flags { unknown: "MSG_???", names: names![
    (0x1000, "MSG_NOERROR"), (0x2000, "MSG_EXCEPT"), (0x4000, "MSG_COPY"), (0x800, "IPC_NOWAIT"),
] };

/// `shmctl`.
#[rustfmt::skip]
pub(crate) static SHARED_CONTROL: Names = Names { unknown: "SHM_???", names: names![
    (0, "IPC_RMID"), (1, "IPC_SET"), (2, "IPC_STAT"), (3, "IPC_INFO"), (0xb, "SHM_LOCK"),
    (0xc, "SHM_UNLOCK"), (0xd, "SHM_STAT"), (0xe, "SHM_INFO"), (0xf, "SHM_STAT_ANY"),
] };

/// `msgctl`.
#[rustfmt::skip]
pub(crate) static MESSAGE_CONTROL: Names = Names { unknown: "MSG_???", names: names![
    (0, "IPC_RMID"), (1, "IPC_SET"), (2, "IPC_STAT"), (3, "IPC_INFO"), (0xb, "MSG_STAT"),
    (0xc, "MSG_INFO"), (0xd, "MSG_STAT_ANY"),
] };

/// `semctl`.
#[rustfmt::skip]
pub(crate) static SEMAPHORE_CONTROL: Names = Names { unknown: "SEM_???", names: names![
    (0, "IPC_RMID"), (1, "IPC_SET"), (2, "IPC_STAT"), (3, "IPC_INFO"), (0xb, "GETPID"),
    (0xc, "GETVAL"), (0xd, "GETALL"), (0xe, "GETNCNT"), (0xf, "GETZCNT"), (0x10, "SETVAL"),
    (0x11, "SETALL"), (0x12, "SEM_STAT"), (0x13, "SEM_INFO"), (0x14, "SEM_STAT_ANY"),
] };

/// `userfaultfd`.
#[rustfmt::skip]
pub(crate) static USERFAULTFD: Flags = Flags { unknown: "UFFD_???", names: names![
    (1, "UFFD_USER_MODE_ONLY"), (0x800, "O_NONBLOCK"), (0x80000, "O_CLOEXEC"),
] };

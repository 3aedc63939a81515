//! Names in calls on files, from `linux/fcntl.h`, `linux/fs.h`, `linux/mount.h`.

use super::{Flags, Names, names};

/// `open` and `fcntl(F_SETFL)`, without the access mode.
#[rustfmt::skip]
pub(crate) static OPEN: Flags = Flags { unknown: "O_???", names: names![
    (0x40, "O_CREAT"), (0x80, "O_EXCL"), (0x100, "O_NOCTTY"), (0x200, "O_TRUNC"),
    (0x400, "O_APPEND"), (0x800, "O_NONBLOCK"), (0x101000, "O_SYNC"), (0x1000, "O_DSYNC"),
    (0x100000, "__O_SYNC"), (0x4000, "O_DIRECT"), (0x8000, "O_LARGEFILE"), (0x20000, "O_NOFOLLOW"),
    (0x40000, "O_NOATIME"), (0x80000, "O_CLOEXEC"), (0x200000, "O_PATH"), (0x410000, "O_TMPFILE"),
    (0x10000, "O_DIRECTORY"), (0x400000, "__O_TMPFILE"), (0x2000, "FASYNC"),
] };

/// Calls that end in `at`.
#[rustfmt::skip]
pub(crate) static AT: Flags = Flags { unknown: "AT_???", names: names![
    (0x100, "AT_SYMLINK_NOFOLLOW"), (0x200, "AT_REMOVEDIR"), (0x400, "AT_SYMLINK_FOLLOW"),
    (0x800, "AT_NO_AUTOMOUNT"), (0x1000, "AT_EMPTY_PATH"), (0x8000, "AT_RECURSIVE"),
] };

/// `faccessat2`.
#[rustfmt::skip]
pub(crate) static AT_ACCESS: Flags = Flags { unknown: "AT_???", names: names![
    (0x100, "AT_SYMLINK_NOFOLLOW"), (0x200, "AT_EACCESS"), (0x1000, "AT_EMPTY_PATH"),
] };

/// `name_to_handle_at`.
#[rustfmt::skip]
pub(crate) static AT_HANDLE: Flags = Flags { unknown: "AT_???", names: names![
    (0x400, "AT_SYMLINK_FOLLOW"), (0x1000, "AT_EMPTY_PATH"),
] };

/// `mount_setattr`.
#[rustfmt::skip]
pub(crate) static AT_MOUNT: Flags = Flags { unknown: "AT_???", names: names![
    (0x100, "AT_SYMLINK_NOFOLLOW"), (0x800, "AT_NO_AUTOMOUNT"), (0x1000, "AT_EMPTY_PATH"),
    (0x8000, "AT_RECURSIVE"),
] };

/// The mask of `statx`.
#[rustfmt::skip]
pub(crate) static STATX: Flags = Flags { unknown: "STATX_???", names: names![
    (0xfff, "STATX_ALL"), (0x7ff, "STATX_BASIC_STATS"), (1, "STATX_TYPE"), (2, "STATX_MODE"),
    (4, "STATX_NLINK"), (8, "STATX_UID"), (0x10, "STATX_GID"), (0x20, "STATX_ATIME"),
    (0x40, "STATX_MTIME"), (0x80, "STATX_CTIME"), (0x100, "STATX_INO"), (0x200, "STATX_SIZE"),
    (0x400, "STATX_BLOCKS"), (0x800, "STATX_BTIME"), (0x1000, "STATX_MNT_ID"),
    (0x2000, "STATX_DIOALIGN"),
] };

/// `access`.
#[rustfmt::skip]
pub(crate) static ACCESS: Flags = Flags { unknown: "?_OK", names: names![
    (4, "R_OK"), (2, "W_OK"), (1, "X_OK"),
] };

/// `flock`.
#[rustfmt::skip]
pub(crate) static LOCK: Flags = Flags { unknown: "LOCK_???", names: names![
    (1, "LOCK_SH"), (2, "LOCK_EX"), (4, "LOCK_NB"), (8, "LOCK_UN"), (0x20, "LOCK_MAND"),
    (0xc0, "LOCK_RW"), (0x40, "LOCK_READ"), (0x80, "LOCK_WRITE"),
] };

/// `splice`, `tee`, `vmsplice`.
#[rustfmt::skip]
pub(crate) static SPLICE: Flags = Flags { unknown: "SPLICE_F_???", names: names![
    (1, "SPLICE_F_MOVE"), (2, "SPLICE_F_NONBLOCK"), (4, "SPLICE_F_MORE"), (8, "SPLICE_F_GIFT"),
] };

/// `sync_file_range`.
#[rustfmt::skip]
pub(crate) static SYNC_RANGE: Flags = Flags { unknown: "SYNC_FILE_RANGE_???", names: names![
    (1, "SYNC_FILE_RANGE_WAIT_BEFORE"), (2, "SYNC_FILE_RANGE_WRITE"),
    (4, "SYNC_FILE_RANGE_WAIT_AFTER"),
] };

/// `fallocate`.
#[rustfmt::skip]
pub(crate) static FALLOCATE: Flags = Flags { unknown: "FALLOC_FL_???", names: names![
    (1, "FALLOC_FL_KEEP_SIZE"), (2, "FALLOC_FL_PUNCH_HOLE"), (4, "FALLOC_FL_NO_HIDE_STALE"),
    (8, "FALLOC_FL_COLLAPSE_RANGE"), (0x10, "FALLOC_FL_ZERO_RANGE"),
    (0x20, "FALLOC_FL_INSERT_RANGE"), (0x40, "FALLOC_FL_UNSHARE_RANGE"),
] };

/// `renameat2`.
#[rustfmt::skip]
pub(crate) static RENAME: Flags = Flags { unknown: "RENAME_??", names: names![
    (1, "RENAME_NOREPLACE"), (2, "RENAME_EXCHANGE"), (4, "RENAME_WHITEOUT"),
] };

/// `preadv2`, `pwritev2`.
#[rustfmt::skip]
pub(crate) static RWF: Flags = Flags { unknown: "RWF_???", names: names![
    (1, "RWF_HIPRI"), (2, "RWF_DSYNC"), (4, "RWF_SYNC"), (8, "RWF_NOWAIT"), (0x10, "RWF_APPEND"),
] };

/// `setxattr`.
#[rustfmt::skip]
pub(crate) static XATTR: Flags = Flags { unknown: "XATTR_???", names: names![
    (1, "XATTR_CREATE"), (2, "XATTR_REPLACE"),
] };

/// `mount`.
#[rustfmt::skip]
pub(crate) static MOUNT: Flags = Flags { unknown: "MS_???", names: names![
    (1, "MS_RDONLY"), (2, "MS_NOSUID"), (4, "MS_NODEV"), (8, "MS_NOEXEC"),
    (0x10, "MS_SYNCHRONOUS"), (0x20, "MS_REMOUNT"), (0x40, "MS_MANDLOCK"), (0x80, "MS_DIRSYNC"),
    (0x100, "MS_NOSYMFOLLOW"), (0x400, "MS_NOATIME"), (0x800, "MS_NODIRATIME"),
    (0x1000, "MS_BIND"), (0x2000, "MS_MOVE"), (0x4000, "MS_REC"), (0x8000, "MS_SILENT"),
    (0x10000, "MS_POSIXACL"), (0x20000, "MS_UNBINDABLE"), (0x40000, "MS_PRIVATE"),
    (0x80000, "MS_SLAVE"), (0x100000, "MS_SHARED"), (0x200000, "MS_RELATIME"),
    (0x400000, "MS_KERNMOUNT"), (0x800000, "MS_I_VERSION"), (0x1000000, "MS_STRICTATIME"),
    (0x2000000, "MS_LAZYTIME"), (0x4000000, "MS_SUBMOUNT"), (0x8000000, "MS_NOREMOTELOCK"),
    (0x10000000, "MS_NOSEC"), (0x20000000, "MS_BORN"), (0x40000000, "MS_ACTIVE"),
    (0x80000000, "MS_NOUSER"),
] };

/// `umount2`.
#[rustfmt::skip]
pub(crate) static UMOUNT: Flags = Flags { unknown: "MNT_???", names: names![
    (1, "MNT_FORCE"), (2, "MNT_DETACH"), (4, "MNT_EXPIRE"), (8, "UMOUNT_NOFOLLOW"),
] };

/// `open_tree`.
#[rustfmt::skip]
pub(crate) static OPEN_TREE: Flags = Flags { unknown: "OPEN_TREE_???", names: names![
    (1, "OPEN_TREE_CLONE"), (0x80000, "OPEN_TREE_CLOEXEC"), (0x100, "AT_SYMLINK_NOFOLLOW"),
    (0x200, "AT_REMOVEDIR"), (0x400, "AT_SYMLINK_FOLLOW"), (0x800, "AT_NO_AUTOMOUNT"),
    (0x1000, "AT_EMPTY_PATH"), (0x8000, "AT_RECURSIVE"),
] };

/// `move_mount`.
#[rustfmt::skip]
pub(crate) static MOVE_MOUNT: Flags = Flags { unknown: "MOVE_MOUNT_???", names: names![
    (1, "MOVE_MOUNT_F_SYMLINKS"), (2, "MOVE_MOUNT_F_AUTOMOUNTS"), (4, "MOVE_MOUNT_F_EMPTY_PATH"),
    (0x10, "MOVE_MOUNT_T_SYMLINKS"), (0x20, "MOVE_MOUNT_T_AUTOMOUNTS"),
    (0x40, "MOVE_MOUNT_T_EMPTY_PATH"), (0x100, "MOVE_MOUNT_SET_GROUP"),
] };

/// `fsopen`.
#[rustfmt::skip]
pub(crate) static FSOPEN: Flags = Flags { unknown: "FSOPEN_???", names: names![
    (1, "FSOPEN_CLOEXEC"),
] };

/// `fsmount`.
#[rustfmt::skip]
pub(crate) static FSMOUNT: Flags = Flags { unknown: "FSMOUNT_???", names: names![
    (1, "FSMOUNT_CLOEXEC"),
] };

/// `fsmount`, `mount_setattr`.
#[rustfmt::skip]
pub(crate) static MOUNT_ATTR: Flags = Flags { unknown: "MOUNT_ATTR_???", names: names![
    (1, "MOUNT_ATTR_RDONLY"), (2, "MOUNT_ATTR_NOSUID"), (4, "MOUNT_ATTR_NODEV"),
    (8, "MOUNT_ATTR_NOEXEC"), (0x10, "MOUNT_ATTR_NOATIME"), (0x20, "MOUNT_ATTR_STRICTATIME"),
    (0x80, "MOUNT_ATTR_NODIRATIME"),
] };

/// `fspick`.
#[rustfmt::skip]
pub(crate) static FSPICK: Flags = Flags { unknown: "FSPICK_???", names: names![
    (1, "FSPICK_CLOEXEC"), (2, "FSPICK_SYMLINK_NOFOLLOW"), (4, "FSPICK_NO_AUTOMOUNT"),
    (8, "FSPICK_EMPTY_PATH"),
] };

/// `inotify_add_watch`.
#[rustfmt::skip]
pub(crate) static INOTIFY: Flags = Flags { unknown: "IN_???", names: names![
    (1, "IN_ACCESS"), (2, "IN_MODIFY"), (4, "IN_ATTRIB"), (8, "IN_CLOSE_WRITE"),
    (0x10, "IN_CLOSE_NOWRITE"), (0x20, "IN_OPEN"), (0x40, "IN_MOVED_FROM"), (0x80, "IN_MOVED_TO"),
    (0x100, "IN_CREATE"), (0x200, "IN_DELETE"), (0x400, "IN_DELETE_SELF"),
    (0x800, "IN_MOVE_SELF"), (0x2000, "IN_UNMOUNT"), (0x4000, "IN_Q_OVERFLOW"),
    (0x8000, "IN_IGNORED"), (0x1000000, "IN_ONLYDIR"), (0x2000000, "IN_DONT_FOLLOW"),
    (0x4000000, "IN_EXCL_UNLINK"), (0x10000000, "IN_MASK_CREATE"), (0x20000000, "IN_MASK_ADD"),
    (0x40000000, "IN_ISDIR"), (0x80000000, "IN_ONESHOT"),
] };

/// `inotify_init1`.
#[rustfmt::skip]
pub(crate) static INOTIFY_INIT: Flags = Flags { unknown: "IN_???", names: names![
    (0x800, "IN_NONBLOCK"), (0x80000, "IN_CLOEXEC"),
] };

/// `fanotify_mark`.
#[rustfmt::skip]
pub(crate) static FANOTIFY_MARK: Flags = Flags { unknown: "FAN_MARK_???", names: names![
    (1, "FAN_MARK_ADD"), (2, "FAN_MARK_REMOVE"), (4, "FAN_MARK_DONT_FOLLOW"),
    (8, "FAN_MARK_ONLYDIR"), (0x10, "FAN_MARK_MOUNT"), (0x20, "FAN_MARK_IGNORED_MASK"),
    (0x40, "FAN_MARK_IGNORED_SURV_MODIFY"), (0x80, "FAN_MARK_FLUSH"),
    (0x100, "FAN_MARK_FILESYSTEM"), (0x200, "FAN_MARK_EVICTABLE"), (0x400, "FAN_MARK_IGNORE"),
] };

/// Events of `fanotify_mark`.
#[rustfmt::skip]
pub(crate) static FANOTIFY_EVENT: Flags = Flags { unknown: "FAN_???", names: names![
    (1, "FAN_ACCESS"), (2, "FAN_MODIFY"), (4, "FAN_ATTRIB"), (8, "FAN_CLOSE_WRITE"),
    (0x10, "FAN_CLOSE_NOWRITE"), (0x20, "FAN_OPEN"), (0x40, "FAN_MOVED_FROM"),
    (0x80, "FAN_MOVED_TO"), (0x100, "FAN_CREATE"), (0x200, "FAN_DELETE"),
    (0x400, "FAN_DELETE_SELF"), (0x800, "FAN_MOVE_SELF"), (0x1000, "FAN_OPEN_EXEC"),
    (0x4000, "FAN_Q_OVERFLOW"), (0x8000, "FAN_FS_ERROR"), (0x10000, "FAN_OPEN_PERM"),
    (0x20000, "FAN_ACCESS_PERM"), (0x40000, "FAN_OPEN_EXEC_PERM"), (0x80000, "FAN_DIR_MODIFY"),
    (0x40000000, "FAN_ONDIR"), (0x8000000, "FAN_EVENT_ON_CHILD"), (0x10000000, "FAN_RENAME"),
] };

/// `swapon`, above its priority.
#[rustfmt::skip]
pub(crate) static SWAP: Flags = Flags { unknown: "SWAP_FLAG_???", names: names![
    (0x8000, "SWAP_FLAG_PREFER"), (0x10000, "SWAP_FLAG_DISCARD"),
    (0x20000, "SWAP_FLAG_DISCARD_ONCE"), (0x40000, "SWAP_FLAG_DISCARD_PAGES"),
] };

/// `fcntl(F_ADD_SEALS)`.
#[rustfmt::skip]
pub(crate) static SEALS: Flags = Flags { unknown: "F_SEAL_???", names: names![
    (1, "F_SEAL_SEAL"), (2, "F_SEAL_SHRINK"), (4, "F_SEAL_GROW"), (8, "F_SEAL_WRITE"),
    (0x10, "F_SEAL_FUTURE_WRITE"),
] };

/// `fcntl(F_NOTIFY)`.
#[rustfmt::skip]
pub(crate) static NOTIFY: Flags = Flags { unknown: "DN_???", names: names![
    (1, "DN_ACCESS"), (2, "DN_MODIFY"), (4, "DN_CREATE"), (8, "DN_DELETE"), (0x10, "DN_RENAME"),
    (0x20, "DN_ATTRIB"), (0x80000000, "DN_MULTISHOT"),
] };

/// `fcntl(F_SETFD)`.
#[rustfmt::skip]
pub(crate) static DESCRIPTOR: Flags = Flags { unknown: "FD_???", names: names![
    (1, "FD_CLOEXEC"),
] };

/// `close_range`.
#[rustfmt::skip]
pub(crate) static CLOSE_RANGE: Flags = Flags { unknown: "CLOSE_RANGE_???", names: names![
    (2, "CLOSE_RANGE_UNSHARE"), (4, "CLOSE_RANGE_CLOEXEC"),
] };

/// `lseek`.
#[rustfmt::skip]
pub(crate) static SEEK: Names = Names { unknown: "SEEK_???", names: names![
    (0, "SEEK_SET"), (1, "SEEK_CUR"), (2, "SEEK_END"), (3, "SEEK_DATA"), (4, "SEEK_HOLE"),
] };

/// `fadvise64`.
#[rustfmt::skip]
pub(crate) static ADVICE: Names = Names { unknown: "POSIX_FADV_???", names: names![
    (0, "POSIX_FADV_NORMAL"), (1, "POSIX_FADV_RANDOM"), (2, "POSIX_FADV_SEQUENTIAL"),
    (3, "POSIX_FADV_WILLNEED"), (4, "POSIX_FADV_DONTNEED"), (5, "POSIX_FADV_NOREUSE"),
] };

/// `fcntl`.
#[rustfmt::skip]
pub(crate) static CONTROL: Names = Names { unknown: "F_???", names: names![
    (0, "F_DUPFD"), (1, "F_GETFD"), (2, "F_SETFD"), (3, "F_GETFL"), (4, "F_SETFL"),
    (5, "F_GETLK"), (6, "F_SETLK"), (7, "F_SETLKW"), (8, "F_SETOWN"), (9, "F_GETOWN"),
    (0xa, "F_SETSIG"), (0xb, "F_GETSIG"), (0xc, "F_GETLK64"), (0xd, "F_SETLK64"),
    (0xe, "F_SETLKW64"), (0xf, "F_SETOWN_EX"), (0x10, "F_GETOWN_EX"), (0x11, "F_GETOWNER_UIDS"),
    (0x24, "F_OFD_GETLK"), (0x25, "F_OFD_SETLK"), (0x26, "F_OFD_SETLKW"), (0x400, "F_SETLEASE"),
    (0x401, "F_GETLEASE"), (0x402, "F_NOTIFY"), (0x405, "F_CANCELLK"), (0x406, "F_DUPFD_CLOEXEC"),
    (0x407, "F_SETPIPE_SZ"), (0x408, "F_GETPIPE_SZ"), (0x409, "F_ADD_SEALS"),
    (0x40a, "F_GET_SEALS"),
] };

/// `fsconfig`.
#[rustfmt::skip]
pub(crate) static FSCONFIG: Names = Names { unknown: "FSCONFIG_???", names: names![
    (0, "FSCONFIG_SET_FLAG"), (1, "FSCONFIG_SET_STRING"), (2, "FSCONFIG_SET_BINARY"),
    (3, "FSCONFIG_SET_PATH"), (4, "FSCONFIG_SET_PATH_EMPTY"), (5, "FSCONFIG_SET_FD"),
    (6, "FSCONFIG_CMD_CREATE"), (7, "FSCONFIG_CMD_RECONFIGURE"),
] };

/// The attributes that `statx` returns.
#[rustfmt::skip]
pub(crate) static STATX_ATTRIBUTES: Flags = Flags { unknown: "STATX_ATTR_???", names: names![
    (4, "STATX_ATTR_COMPRESSED"), (0x10, "STATX_ATTR_IMMUTABLE"), (0x20, "STATX_ATTR_APPEND"),
    (0x40, "STATX_ATTR_NODUMP"), (0x800, "STATX_ATTR_ENCRYPTED"),
    (0x1000, "STATX_ATTR_AUTOMOUNT"), (0x2000, "STATX_ATTR_MOUNT_ROOT"),
    (0x100000, "STATX_ATTR_VERITY"), (0x200000, "STATX_ATTR_DAX"),
] };

/// The type of a file system (`linux/magic.h`).
#[rustfmt::skip]
pub(crate) static FILE_SYSTEM: Names = Names { unknown: "", names: names![
    (0x2f, "QNX4_SUPER_MAGIC"), (0x187, "AUTOFS_SUPER_MAGIC"), (0x137f, "MINIX_SUPER_MAGIC"),
    (0x138f, "MINIX_SUPER_MAGIC2"), (0x1cd1, "DEVPTS_SUPER_MAGIC"),
    (0x2468, "MINIX2_SUPER_MAGIC"), (0x2478, "MINIX2_SUPER_MAGIC2"),
    (0x3434, "NILFS_SUPER_MAGIC"), (0x4d44, "MSDOS_SUPER_MAGIC"), (0x4d5a, "MINIX3_SUPER_MAGIC"),
    (0x517b, "SMB_SUPER_MAGIC"), (0x564c, "NCP_SUPER_MAGIC"), (0x6969, "NFS_SUPER_MAGIC"),
    (0x72b6, "JFFS2_SUPER_MAGIC"), (0x9660, "ISOFS_SUPER_MAGIC"), (0x9fa0, "PROC_SUPER_MAGIC"),
    (0x9fa1, "OPENPROM_SUPER_MAGIC"), (0x9fa2, "USBDEVICE_SUPER_MAGIC"),
    (0xadf5, "ADFS_SUPER_MAGIC"), (0xadff, "AFFS_SUPER_MAGIC"), (0xef53, "EXT2_SUPER_MAGIC"),
    (0xf15f, "ECRYPTFS_SUPER_MAGIC"), (0x27e0eb, "CGROUP_SUPER_MAGIC"),
    (0x414a53, "EFS_SUPER_MAGIC"), (0xc0ffee, "HOSTFS_SUPER_MAGIC"),
    (0xc36400, "CEPH_SUPER_MAGIC"), (0x1021994, "TMPFS_MAGIC"), (0x1021997, "V9FS_MAGIC"),
    (0x7655821, "RDTGROUP_SUPER_MAGIC"), (0x9041934, "ANON_INODE_FS_MAGIC"),
    (0xbad1dea, "FUTEXFS_SUPER_MAGIC"), (0x11307854, "MTD_INODE_FS_MAGIC"),
    (0x15013346, "UDF_SUPER_MAGIC"), (0x2011bab0, "EXFAT_SUPER_MAGIC"),
    (0x28cd3d45, "CRAMFS_MAGIC"), (0x42494e4d, "BINFMTFS_MAGIC"), (0x43415d53, "SMACK_MAGIC"),
    (0x444d4142, "DMA_BUF_MAGIC"), (0x453dcd28, "CRAMFS_MAGIC_WEND"),
    (0x454d444d, "DEVMEM_MAGIC"), (0x50495045, "PIPEFS_MAGIC"),
    (0x52654973, "REISERFS_SUPER_MAGIC"), (0x5345434d, "SECRETMEM_MAGIC"),
    (0x5346414f, "AFS_SUPER_MAGIC"), (0x534f434b, "SOCKFS_MAGIC"),
    (0x58465342, "XFS_SUPER_MAGIC"), (0x5a3c69f0, "AAFS_MAGIC"), (0x5a4f4653, "ZONEFS_MAGIC"),
    (0x6165676c, "PSTOREFS_MAGIC"), (0x62646576, "BDEVFS_MAGIC"), (0x62656572, "SYSFS_MAGIC"),
    (0x63677270, "CGROUP2_SUPER_MAGIC"), (0x64626720, "DEBUGFS_MAGIC"),
    (0x64646178, "DAXFS_MAGIC"), (0x65735546, "FUSE_SUPER_MAGIC"),
    (0x68191122, "QNX6_SUPER_MAGIC"), (0x6b414653, "AFS_FS_MAGIC"),
    (0x6c6f6f70, "BINDERFS_SUPER_MAGIC"), (0x6e736673, "NSFS_MAGIC"),
    (0x73636673, "SECURITYFS_MAGIC"), (0x73717368, "SQUASHFS_MAGIC"),
    (0x73727279, "BTRFS_TEST_MAGIC"), (0x73757245, "CODA_SUPER_MAGIC"),
    (0x7461636f, "OCFS2_SUPER_MAGIC"), (0x74726163, "TRACEFS_MAGIC"),
    (0x794c7630, "OVERLAYFS_SUPER_MAGIC"), (0x858458f6, "RAMFS_MAGIC"),
    (0x9123683e, "BTRFS_SUPER_MAGIC"), (0x958458f6, "HUGETLBFS_MAGIC"),
    (0xabba1974, "XENFS_SUPER_MAGIC"), (0xcafe4a11, "BPF_FS_MAGIC"),
    (0xde5e81e4, "EFIVARFS_MAGIC"), (0xe0f5e1e2, "EROFS_SUPER_MAGIC_V1"),
    (0xf2f52010, "F2FS_SUPER_MAGIC"), (0xf97cff8c, "SELINUX_MAGIC"),
    (0xf995e849, "HPFS_SUPER_MAGIC"), (0xfe534d42, "SMB2_SUPER_MAGIC"),
    (0xff534d42, "CIFS_SUPER_MAGIC"),
] };

/// The mount flags that `statfs` returns.
#[rustfmt::skip]
pub(crate) static FILE_SYSTEM_FLAGS: Flags = Flags { unknown: "ST_???", names: names![
    (0x20, "ST_VALID"), (1, "ST_RDONLY"), (2, "ST_NOSUID"), (4, "ST_NODEV"), (8, "ST_NOEXEC"),
    (0x10, "ST_SYNCHRONOUS"), (0x40, "ST_MANDLOCK"), (0x80, "ST_WRITE"), (0x100, "ST_APPEND"),
    (0x200, "ST_IMMUTABLE"), (0x400, "ST_NOATIME"), (0x800, "ST_NODIRATIME"),
    (0x1000, "ST_RELATIME"), (0x2000, "ST_NOSYMFOLLOW"),
] };

/// `fanotify_init`, without its class.
#[rustfmt::skip]
pub(crate) static FANOTIFY_INIT: Flags = Flags { unknown: "FAN_???", names: names![
    (1, "FAN_CLOEXEC"), (2, "FAN_NONBLOCK"), (0x10, "FAN_UNLIMITED_QUEUE"),
    (0x20, "FAN_UNLIMITED_MARKS"), (0x40, "FAN_ENABLE_AUDIT"), (0x80, "FAN_REPORT_PIDFD"),
    (0x100, "FAN_REPORT_TID"), (0x200, "FAN_REPORT_FID"), (0x400, "FAN_REPORT_DIR_FID"),
    (0x800, "FAN_REPORT_NAME"), (0x1000, "FAN_REPORT_TARGET_FID"),
] };

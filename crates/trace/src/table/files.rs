//! Calls on files: opening, reading, renaming, watching; mounts.

use super::{Class, SyscallEntry, bits, calls, name, wide};
use crate::decode::{
    control::{FCNTL, QUOTA},
    files::{
        ACCESS, CONFIG_AUXILIARY, CONFIG_KEY, CONFIG_VALUE, ENTRIES, ENTRIES_64, FANOTIFY_DIRFD,
        FANOTIFY_INIT, HANDLE_IN, MOUNT_DATA, MOUNT_TYPE, OPEN, OPEN_HOW, OPEN_MODE, POSITION_IN,
        POSITION_INOUT, STATX_FLAGS, SWAP,
    },
    network::PAIR_OUT,
    numbers::{DIRFD, FD, HEX, ID, INT, LONG, MODE, POINTER, POINTER_OUT, SIZE, UINT, UNUSED},
    result::{CONTROL, DECIMAL, DESCRIPTOR, MODE as MODE_RESULT},
    ring::PARAMETERS as RING,
    signals::SET_IN,
    stat::{DEVICE, FILE_MODE, NODE_DEVICE, STAT, STATFS, STATX},
    text::{BYTES_IN, BYTES_OUT, CWD_OUT, LIST_OUT, NAME, PATH, TEXT_IN, TEXT_OUT},
    time::{FILE_SECONDS, FILE_TIMES, FILE_TIMEVALS, TIMESPEC_IN},
    vectors::{VECTORS_IN, VECTORS_OUT},
};
use crate::flags::{event as e, files as f};

#[rustfmt::skip]
pub(super) static CALLS: &[SyscallEntry] = calls! {
    read(FD, BYTES_OUT, SIZE) -> DECIMAL [DESC];
    write(FD, BYTES_IN, SIZE) -> DECIMAL [DESC];
    open(PATH, OPEN, OPEN_MODE) -> DESCRIPTOR [FILE DESC];
    close(FD) -> DECIMAL [DESC];
    stat(PATH, STAT) -> DECIMAL [FILE STAT STATS];
    fstat(FD, STAT) -> DECIMAL [DESC FSTAT STATS];
    lstat(PATH, STAT) -> DECIMAL [FILE LSTAT STATS];
    lseek(FD, LONG, name(&f::SEEK)) -> DECIMAL [DESC];
    pread64(FD, BYTES_OUT, SIZE, LONG) -> DECIMAL [DESC];
    pwrite64(FD, BYTES_IN, SIZE, LONG) -> DECIMAL [DESC];
    readv(FD, VECTORS_OUT, SIZE) -> DECIMAL [DESC];
    writev(FD, VECTORS_IN, SIZE) -> DECIMAL [DESC];
    access(PATH, ACCESS) -> DECIMAL [FILE];
    pipe(PAIR_OUT) -> DECIMAL [DESC];
    dup(FD) -> DESCRIPTOR [DESC];
    dup2(FD, FD) -> DESCRIPTOR [DESC];
    sendfile(FD, FD, POSITION_INOUT, SIZE) -> DECIMAL [DESC NETWORK];
    fcntl(FD, name(&f::CONTROL), FCNTL) -> CONTROL [DESC];
    flock(FD, bits(&f::LOCK)) -> DECIMAL [DESC];
    fsync(FD) -> DECIMAL [DESC];
    fdatasync(FD) -> DECIMAL [DESC];
    truncate(PATH, SIZE) -> DECIMAL [FILE];
    ftruncate(FD, SIZE) -> DECIMAL [DESC];
    getdents(FD, ENTRIES, UINT) -> DECIMAL [DESC];
    getcwd(CWD_OUT, SIZE) -> DECIMAL [FILE];
    chdir(PATH) -> DECIMAL [FILE];
    fchdir(FD) -> DECIMAL [DESC];
    rename(PATH, PATH) -> DECIMAL [FILE];
    mkdir(PATH, MODE) -> DECIMAL [FILE];
    rmdir(PATH) -> DECIMAL [FILE];
    creat(PATH, MODE) -> DESCRIPTOR [FILE DESC];
    link(PATH, PATH) -> DECIMAL [FILE];
    unlink(PATH) -> DECIMAL [FILE];
    symlink(PATH, PATH) -> DECIMAL [FILE];
    readlink(PATH, BYTES_OUT, SIZE) -> DECIMAL [FILE];
    chmod(PATH, MODE) -> DECIMAL [FILE];
    fchmod(FD, MODE) -> DECIMAL [DESC];
    chown(PATH, ID, ID) -> DECIMAL [FILE];
    fchown(FD, ID, ID) -> DECIMAL [DESC];
    lchown(PATH, ID, ID) -> DECIMAL [FILE];
    umask(MODE) -> MODE_RESULT [];
    utime(PATH, FILE_SECONDS) -> DECIMAL [FILE];
    mknod(PATH, FILE_MODE, NODE_DEVICE) -> DECIMAL [FILE];
    uselib(PATH) -> DECIMAL [FILE];
    ustat(DEVICE, POINTER_OUT) -> DECIMAL [STATFSES];
    statfs(PATH, STATFS) -> DECIMAL [FILE STATFS STATFSES];
    fstatfs(FD, STATFS) -> DECIMAL [DESC FSTATFS STATFSES];
    sysfs(HEX, HEX, HEX) -> DECIMAL [];
    pivot_root(PATH, PATH) -> DECIMAL [FILE];
    chroot(PATH) -> DECIMAL [FILE];
    sync() -> DECIMAL [];
    acct(PATH) -> DECIMAL [FILE];
    mount(PATH, PATH, MOUNT_TYPE, wide(&f::MOUNT), MOUNT_DATA) -> DECIMAL [FILE];
    umount2(PATH, bits(&f::UMOUNT)) -> DECIMAL [FILE];
    swapon(PATH, SWAP) -> DECIMAL [FILE];
    swapoff(PATH) -> DECIMAL [FILE];
    quotactl(QUOTA, PATH, INT, POINTER) -> DECIMAL [FILE];
    nfsservctl(HEX, HEX, HEX) -> DECIMAL [];
    readahead(FD, LONG, SIZE) -> DECIMAL [DESC];
    setxattr(PATH, NAME, TEXT_IN, SIZE, bits(&f::XATTR)) -> DECIMAL [FILE];
    lsetxattr(PATH, NAME, TEXT_IN, SIZE, bits(&f::XATTR)) -> DECIMAL [FILE];
    fsetxattr(FD, NAME, TEXT_IN, SIZE, bits(&f::XATTR)) -> DECIMAL [DESC];
    getxattr(PATH, NAME, TEXT_OUT, SIZE) -> DECIMAL [FILE];
    lgetxattr(PATH, NAME, TEXT_OUT, SIZE) -> DECIMAL [FILE];
    fgetxattr(FD, NAME, TEXT_OUT, SIZE) -> DECIMAL [DESC];
    listxattr(PATH, LIST_OUT, SIZE) -> DECIMAL [FILE];
    llistxattr(PATH, LIST_OUT, SIZE) -> DECIMAL [FILE];
    flistxattr(FD, LIST_OUT, SIZE) -> DECIMAL [DESC];
    removexattr(PATH, NAME) -> DECIMAL [FILE];
    lremovexattr(PATH, NAME) -> DECIMAL [FILE];
    fremovexattr(FD, NAME) -> DECIMAL [DESC];
    io_setup(UINT, POINTER_OUT) -> DECIMAL [MEMORY];
    io_destroy(POINTER) -> DECIMAL [MEMORY];
    io_getevents(POINTER, LONG, LONG, POINTER_OUT, TIMESPEC_IN) -> DECIMAL [];
    io_submit(POINTER, LONG, POINTER) -> DECIMAL [];
    io_cancel(POINTER, POINTER, POINTER_OUT) -> DECIMAL [];
    lookup_dcookie(SIZE, POINTER, SIZE) -> DECIMAL [];
    getdents64(FD, ENTRIES_64, UINT) -> DECIMAL [DESC];
    fadvise64(FD, LONG, SIZE, name(&f::ADVICE)) -> DECIMAL [DESC];
    utimes(PATH, FILE_TIMEVALS) -> DECIMAL [FILE];
    inotify_init() -> DESCRIPTOR [DESC];
    inotify_add_watch(FD, PATH, bits(&f::INOTIFY)) -> DECIMAL [FILE DESC];
    inotify_rm_watch(FD, INT) -> DECIMAL [DESC];
    openat(DIRFD, PATH, OPEN, OPEN_MODE) -> DESCRIPTOR [FILE DESC];
    mkdirat(DIRFD, PATH, MODE) -> DECIMAL [FILE DESC];
    mknodat(DIRFD, PATH, FILE_MODE, NODE_DEVICE) -> DECIMAL [FILE DESC];
    fchownat(DIRFD, PATH, ID, ID, bits(&f::AT)) -> DECIMAL [FILE DESC];
    futimesat(DIRFD, PATH, FILE_TIMEVALS) -> DECIMAL [FILE DESC];
    newfstatat(DIRFD, PATH, STAT, bits(&f::AT)) -> DECIMAL [FILE DESC FSTAT STATS];
    unlinkat(DIRFD, PATH, bits(&f::AT)) -> DECIMAL [FILE DESC];
    renameat(DIRFD, PATH, DIRFD, PATH) -> DECIMAL [FILE DESC];
    linkat(DIRFD, PATH, DIRFD, PATH, bits(&f::AT)) -> DECIMAL [FILE DESC];
    symlinkat(PATH, DIRFD, PATH) -> DECIMAL [FILE DESC];
    readlinkat(DIRFD, PATH, BYTES_OUT, SIZE) -> DECIMAL [FILE DESC];
    fchmodat(DIRFD, PATH, MODE) -> DECIMAL [FILE DESC];
    faccessat(DIRFD, PATH, ACCESS) -> DECIMAL [FILE DESC];
    splice(FD, POSITION_IN, FD, POSITION_IN, SIZE, bits(&f::SPLICE)) -> DECIMAL [DESC];
    tee(FD, FD, SIZE, bits(&f::SPLICE)) -> DECIMAL [DESC];
    sync_file_range(FD, LONG, LONG, bits(&f::SYNC_RANGE)) -> DECIMAL [DESC];
    vmsplice(FD, VECTORS_IN, SIZE, bits(&f::SPLICE)) -> DECIMAL [DESC];
    utimensat(DIRFD, PATH, FILE_TIMES, bits(&f::AT)) -> DECIMAL [FILE DESC];
    fallocate(FD, bits(&f::FALLOCATE), LONG, LONG) -> DECIMAL [DESC];
    dup3(FD, FD, bits(&f::OPEN)) -> DESCRIPTOR [DESC];
    pipe2(PAIR_OUT, bits(&f::OPEN)) -> DECIMAL [DESC];
    inotify_init1(bits(&f::INOTIFY_INIT)) -> DESCRIPTOR [DESC];
    preadv(FD, VECTORS_OUT, SIZE, LONG) -> DECIMAL [DESC];
    pwritev(FD, VECTORS_IN, SIZE, LONG) -> DECIMAL [DESC];
    fanotify_init(FANOTIFY_INIT, OPEN) -> DESCRIPTOR [DESC];
    fanotify_mark(FD, bits(&f::FANOTIFY_MARK), wide(&f::FANOTIFY_EVENT), FANOTIFY_DIRFD, PATH) -> DECIMAL [FILE DESC];
    name_to_handle_at(DIRFD, PATH, POINTER_OUT, POINTER_OUT, bits(&f::AT_HANDLE)) -> DECIMAL [FILE DESC];
    open_by_handle_at(FD, HANDLE_IN, OPEN) -> DESCRIPTOR [DESC];
    syncfs(FD) -> DECIMAL [DESC];
    renameat2(DIRFD, PATH, DIRFD, PATH, bits(&f::RENAME)) -> DECIMAL [FILE DESC];
    copy_file_range(FD, POSITION_IN, FD, POSITION_IN, SIZE, UINT) -> DECIMAL [DESC];
    preadv2(FD, VECTORS_OUT, SIZE, LONG, UNUSED, bits(&f::RWF)) -> DECIMAL [DESC];
    pwritev2(FD, VECTORS_IN, SIZE, LONG, UNUSED, bits(&f::RWF)) -> DECIMAL [DESC];
    statx(DIRFD, PATH, STATX_FLAGS, bits(&f::STATX), STATX) -> DECIMAL [FILE DESC FSTAT STATS];
    io_pgetevents(POINTER, LONG, LONG, POINTER_OUT, TIMESPEC_IN, POINTER) -> DECIMAL [];
    io_uring_setup(UINT, RING) -> DESCRIPTOR [DESC];
    io_uring_enter(FD, UINT, UINT, bits(&e::RING_ENTER), SET_IN, SIZE) -> DECIMAL [DESC SIGNAL];
    io_uring_register(FD, name(&e::RING_REGISTER), POINTER, UINT) -> DECIMAL [DESC MEMORY];
    open_tree(DIRFD, PATH, bits(&f::OPEN_TREE)) -> DESCRIPTOR [FILE DESC];
    move_mount(DIRFD, PATH, DIRFD, PATH, bits(&f::MOVE_MOUNT)) -> DECIMAL [FILE DESC];
    fsopen(NAME, bits(&f::FSOPEN)) -> DESCRIPTOR [DESC];
    fsconfig(FD, name(&f::FSCONFIG), CONFIG_KEY, CONFIG_VALUE, CONFIG_AUXILIARY) -> DECIMAL [FILE DESC];
    fsmount(FD, bits(&f::FSMOUNT), bits(&f::MOUNT_ATTR)) -> DESCRIPTOR [DESC];
    fspick(DIRFD, PATH, bits(&f::FSPICK)) -> DESCRIPTOR [FILE DESC];
    close_range(UINT, UINT, bits(&f::CLOSE_RANGE)) -> DECIMAL [];
    openat2(DIRFD, PATH, OPEN_HOW, SIZE) -> DESCRIPTOR [FILE DESC];
    faccessat2(DIRFD, PATH, ACCESS, bits(&f::AT_ACCESS)) -> DECIMAL [FILE DESC];
    mount_setattr(DIRFD, PATH, bits(&f::AT_MOUNT), POINTER, SIZE) -> DECIMAL [FILE DESC];
    quotactl_fd(FD, QUOTA, INT, POINTER) -> DECIMAL [DESC];
    cachestat(FD, POINTER, POINTER_OUT, UINT) -> DECIMAL [DESC];
    fchmodat2(DIRFD, PATH, MODE, bits(&f::AT)) -> DECIMAL [FILE DESC];
    statmount(POINTER, POINTER_OUT, SIZE, UINT) -> DECIMAL [];
    listmount(POINTER, POINTER_OUT, SIZE, UINT) -> DECIMAL [];
    setxattrat(DIRFD, PATH, bits(&f::AT), NAME, POINTER, SIZE) -> DECIMAL [FILE DESC];
    getxattrat(DIRFD, PATH, bits(&f::AT), NAME, POINTER, SIZE) -> DECIMAL [FILE DESC];
    listxattrat(DIRFD, PATH, bits(&f::AT), POINTER_OUT, SIZE) -> DECIMAL [FILE DESC];
    removexattrat(DIRFD, PATH, bits(&f::AT), NAME) -> DECIMAL [FILE DESC];
    open_tree_attr(DIRFD, PATH, bits(&f::OPEN_TREE), POINTER, SIZE) -> DESCRIPTOR [FILE DESC];
    file_getattr(DIRFD, PATH, POINTER_OUT, SIZE, bits(&f::AT)) -> DECIMAL [FILE DESC];
    file_setattr(DIRFD, PATH, POINTER, SIZE, bits(&f::AT)) -> DECIMAL [FILE DESC];
};

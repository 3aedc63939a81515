//! Calls that only 32-bit programs have, or to which they pass arguments in another way: a 64-bit
//! offset takes two words.
//!
//! Structures have another layout, so most pointers are shown as numbers.

use super::{Class, SyscallEntry, bits, calls, name, wide};
use crate::decode::{
    control::{FCNTL, FUTEX, FUTEX_ARGUMENT},
    credentials::{GROUPS_IN, GROUPS_OUT, ID_OUT},
    files::POSITION_INOUT,
    files::{FANOTIFY_DIRFD, FANOTIFY_PAIR},
    ipc::OPERATIONS,
    mapping::FLAGS as MAP_FLAGS,
    numbers::{
        DIRFD, FD, HEX, ID, INT, LONG, PAGES, PAIR, PAIR_SWAPPED, POINTER, POINTER_OUT, SIGNAL,
        SIZE, UINT, UNUSED,
    },
    poll::POLL,
    process::{NUMBER_OUT, STATUS_OUT},
    result::{ADDRESS, CONTROL, DECIMAL},
    text::{BYTES_IN, BYTES_OUT, PATH},
    time::{WIDE_TIME_IN, WIDE_TIME_OUT},
    vectors::{VECTORS_IN, VECTORS_OUT},
};
use crate::flags::{event as e, files as f, memory as m, network as n, process as p};

#[rustfmt::skip]
pub(super) static CALLS: &[SyscallEntry] = calls! {
    waitpid(INT, STATUS_OUT, bits(&p::WAIT)) -> DECIMAL [PROCESS];
    umount(PATH) -> DECIMAL [FILE];
    stime(POINTER) -> DECIMAL [];
    oldstat(PATH, POINTER_OUT) -> DECIMAL [FILE STAT STATS];
    oldlstat(PATH, POINTER_OUT) -> DECIMAL [FILE LSTAT STATS];
    oldfstat(FD, POINTER_OUT) -> DECIMAL [DESC FSTAT STATS];
    nice(INT) -> DECIMAL [];
    signal(SIGNAL, HEX) -> DECIMAL [SIGNAL];
    sigaction(SIGNAL, POINTER, POINTER_OUT) -> DECIMAL [SIGNAL];
    sgetmask() -> DECIMAL [SIGNAL];
    ssetmask(HEX) -> DECIMAL [SIGNAL];
    sigsuspend(HEX, HEX, HEX) -> DECIMAL [SIGNAL];
    sigpending(POINTER_OUT) -> DECIMAL [SIGNAL];
    sigprocmask(name(&e::MASK_HOW), POINTER, POINTER_OUT) -> DECIMAL [SIGNAL];
    sigreturn() -> DECIMAL [SIGNAL];
    socketcall(INT, POINTER) -> DECIMAL [DESC];
    ipc(UINT, HEX, HEX, HEX, HEX, HEX) -> DECIMAL [IPC];
    readdir(FD, POINTER_OUT, UINT) -> DECIMAL [DESC];
    mmap2(POINTER, SIZE, wide(&m::PROTECTION), MAP_FLAGS, FD, PAGES) -> ADDRESS [DESC MEMORY];
    olduname(POINTER_OUT) -> DECIMAL [];
    oldolduname(POINTER_OUT) -> DECIMAL [];
    vm86old(POINTER) -> DECIMAL [];
    vm86(HEX, HEX, HEX, HEX, HEX) -> DECIMAL [];
    bdflush(HEX, HEX) -> DECIMAL [];
    _llseek(FD, PAIR_SWAPPED, UNUSED, POINTER_OUT, name(&f::SEEK)) -> DECIMAL [DESC];
    _newselect(INT, POINTER, POINTER, POINTER, POINTER) -> DECIMAL [DESC];
    ugetrlimit(name(&p::LIMIT), POINTER_OUT) -> DECIMAL [];
    truncate64(PATH, PAIR, UNUSED) -> DECIMAL [FILE];
    ftruncate64(FD, PAIR, UNUSED) -> DECIMAL [DESC];
    stat64(PATH, POINTER_OUT) -> DECIMAL [FILE STAT STATS];
    lstat64(PATH, POINTER_OUT) -> DECIMAL [FILE LSTAT STATS];
    fstat64(FD, POINTER_OUT) -> DECIMAL [DESC FSTAT STATS];
    fstatat64(DIRFD, PATH, POINTER_OUT, bits(&f::AT)) -> DECIMAL [DESC FILE FSTAT STATS];
    lchown32(PATH, ID, ID) -> DECIMAL [FILE];
    getuid32() -> DECIMAL [CREDS PURE];
    getgid32() -> DECIMAL [CREDS PURE];
    geteuid32() -> DECIMAL [CREDS PURE];
    getegid32() -> DECIMAL [CREDS PURE];
    setreuid32(ID, ID) -> DECIMAL [CREDS];
    setregid32(ID, ID) -> DECIMAL [CREDS];
    getgroups32(INT, GROUPS_OUT) -> DECIMAL [CREDS];
    setgroups32(INT, GROUPS_IN) -> DECIMAL [CREDS];
    fchown32(FD, ID, ID) -> DECIMAL [DESC];
    setresuid32(ID, ID, ID) -> DECIMAL [CREDS];
    getresuid32(ID_OUT, ID_OUT, ID_OUT) -> DECIMAL [CREDS];
    setresgid32(ID, ID, ID) -> DECIMAL [CREDS];
    getresgid32(ID_OUT, ID_OUT, ID_OUT) -> DECIMAL [CREDS];
    chown32(PATH, ID, ID) -> DECIMAL [FILE];
    setuid32(ID) -> DECIMAL [CREDS];
    setgid32(ID) -> DECIMAL [CREDS];
    setfsuid32(ID) -> DECIMAL [CREDS];
    setfsgid32(ID) -> DECIMAL [CREDS];
    fcntl64(FD, name(&f::CONTROL), FCNTL) -> CONTROL [DESC];
    sendfile64(FD, FD, POSITION_INOUT, SIZE) -> DECIMAL [DESC NETWORK];
    statfs64(PATH, SIZE, POINTER_OUT) -> DECIMAL [FILE STATFS STATFSES];
    fstatfs64(FD, SIZE, POINTER_OUT) -> DECIMAL [DESC FSTATFS STATFSES];
    fadvise64_64(FD, PAIR, UNUSED, PAIR, UNUSED, name(&f::ADVICE)) -> DECIMAL [DESC];
    clock_gettime64(name(&e::CLOCK), WIDE_TIME_OUT) -> DECIMAL [CLOCK];
    clock_settime64(name(&e::CLOCK), WIDE_TIME_IN) -> DECIMAL [CLOCK];
    clock_adjtime64(name(&e::CLOCK), POINTER_OUT) -> DECIMAL [CLOCK];
    clock_getres_time64(name(&e::CLOCK), WIDE_TIME_OUT) -> DECIMAL [CLOCK];
    clock_nanosleep_time64(name(&e::CLOCK), bits(&e::TIMER), WIDE_TIME_IN, POINTER_OUT) -> DECIMAL [];
    timer_gettime64(INT, POINTER_OUT) -> DECIMAL [];
    timer_settime64(INT, bits(&e::TIMER), POINTER, POINTER_OUT) -> DECIMAL [];
    timerfd_gettime64(FD, POINTER_OUT) -> DECIMAL [DESC];
    timerfd_settime64(FD, bits(&e::TIMERFD), POINTER, POINTER_OUT) -> DECIMAL [DESC];
    utimensat_time64(DIRFD, PATH, POINTER, bits(&f::AT)) -> DECIMAL [DESC FILE];
    pselect6_time64(INT, POINTER, POINTER, POINTER, POINTER, POINTER) -> DECIMAL [DESC];
    ppoll_time64(POLL, UINT, POINTER, POINTER, SIZE) -> DECIMAL [DESC];
    io_pgetevents_time64(POINTER, LONG, LONG, POINTER_OUT, POINTER, POINTER) -> DECIMAL [];
    recvmmsg_time64(FD, POINTER, UINT, bits(&n::MESSAGE), WIDE_TIME_IN) -> DECIMAL [NETWORK];
    mq_timedsend_time64(FD, BYTES_IN, SIZE, UINT, POINTER) -> DECIMAL [DESC];
    mq_timedreceive_time64(FD, BYTES_OUT, SIZE, NUMBER_OUT, POINTER) -> DECIMAL [DESC];
    semtimedop_time64(INT, OPERATIONS, UINT, POINTER) -> DECIMAL [IPC];
    rt_sigtimedwait_time64(POINTER, POINTER_OUT, POINTER, SIZE) -> DECIMAL [SIGNAL];
    futex_time64(POINTER, FUTEX, FUTEX_ARGUMENT, FUTEX_ARGUMENT, FUTEX_ARGUMENT, FUTEX_ARGUMENT) -> DECIMAL [];
    sched_rr_get_interval_time64(INT, POINTER_OUT) -> DECIMAL [];
    pread64(FD, BYTES_OUT, SIZE, PAIR, UNUSED) -> DECIMAL [DESC];
    pwrite64(FD, BYTES_IN, SIZE, PAIR, UNUSED) -> DECIMAL [DESC];
    preadv(FD, VECTORS_OUT, SIZE, PAIR, UNUSED) -> DECIMAL [DESC];
    pwritev(FD, VECTORS_IN, SIZE, PAIR, UNUSED) -> DECIMAL [DESC];
    preadv2(FD, VECTORS_OUT, SIZE, PAIR, UNUSED, bits(&f::RWF)) -> DECIMAL [DESC];
    pwritev2(FD, VECTORS_IN, SIZE, PAIR, UNUSED, bits(&f::RWF)) -> DECIMAL [DESC];
    readahead(FD, PAIR, UNUSED, SIZE) -> DECIMAL [DESC];
    fadvise64(FD, PAIR, UNUSED, SIZE, name(&f::ADVICE)) -> DECIMAL [DESC];
    sync_file_range(FD, PAIR, UNUSED, PAIR, UNUSED, bits(&f::SYNC_RANGE)) -> DECIMAL [DESC];
    fallocate(FD, bits(&f::FALLOCATE), PAIR, UNUSED, PAIR, UNUSED) -> DECIMAL [DESC];
    lookup_dcookie(PAIR, UNUSED, POINTER, SIZE) -> DECIMAL [];
    fanotify_mark(FD, bits(&f::FANOTIFY_MARK), FANOTIFY_PAIR, UNUSED, FANOTIFY_DIRFD, PATH) -> DECIMAL [FILE DESC];
    mmap(POINTER) -> ADDRESS [DESC MEMORY];
    select(POINTER) -> DECIMAL [DESC];
    break() -> DECIMAL [MEMORY];
    stty(HEX, HEX) -> DECIMAL [];
    gtty(HEX, HEX) -> DECIMAL [];
    ftime() -> DECIMAL [];
    prof() -> DECIMAL [];
    lock() -> DECIMAL [];
    mpx() -> DECIMAL [];
    ulimit(HEX, HEX) -> DECIMAL [];
    profil(HEX, HEX, HEX, HEX) -> DECIMAL [];
    idle() -> DECIMAL [];
};

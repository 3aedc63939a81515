//! Calls on memory: mapping and advice; shared memory, semaphores, message queues.

use super::{Class, SyscallEntry, bits, calls, name, wide};
use crate::decode::{
    files::{OPEN, OPEN_MODE},
    ipc::{
        ATTRIBUTES_IN, ATTRIBUTES_NEW, ATTRIBUTES_OUT, EVENT, GET, KEY, MESSAGE_CONTROL,
        MESSAGE_IN, MESSAGE_OUT, OPERATIONS, QUEUE_DATA, SEMAPHORE_CONTROL, SEMAPHORE_DATA,
        SHARED_CONTROL, SHARED_DATA, SHARED_GET,
    },
    mapping::{FLAGS as MAP_FLAGS, MEMFD, NEW_ADDRESS, POLICY, RESIDENT},
    numbers::{FD, HEX, HEX32, INT, LONG, POINTER, POINTER_OUT, SIZE, UINT},
    process::NUMBER_OUT,
    result::{ADDRESS, DECIMAL, DESCRIPTOR},
    text::{BYTES_IN, BYTES_OUT, NAME},
    time::TIMESPEC_IN,
    vectors::VECTORS_REMOTE,
};
use crate::flags::memory as m;

#[rustfmt::skip]
pub(super) static CALLS: &[SyscallEntry] = calls! {
    mmap(POINTER, SIZE, wide(&m::PROTECTION), MAP_FLAGS, FD, HEX) -> ADDRESS [DESC MEMORY];
    mprotect(POINTER, SIZE, wide(&m::PROTECTION)) -> DECIMAL [MEMORY];
    munmap(POINTER, SIZE) -> DECIMAL [MEMORY];
    brk(POINTER) -> ADDRESS [MEMORY];
    mremap(POINTER, SIZE, SIZE, wide(&m::REMAP), NEW_ADDRESS) -> ADDRESS [MEMORY];
    msync(POINTER, SIZE, bits(&m::SYNC)) -> DECIMAL [MEMORY];
    mincore(POINTER, SIZE, RESIDENT) -> DECIMAL [MEMORY];
    madvise(POINTER, SIZE, name(&m::ADVICE)) -> DECIMAL [MEMORY];
    shmget(KEY, SIZE, SHARED_GET) -> DECIMAL [IPC];
    shmat(INT, POINTER, bits(&m::SHARED_ATTACH)) -> ADDRESS [IPC MEMORY];
    shmctl(INT, SHARED_CONTROL, SHARED_DATA) -> DECIMAL [IPC];
    semget(KEY, INT, GET) -> DECIMAL [IPC];
    semop(INT, OPERATIONS, UINT) -> DECIMAL [IPC];
    semctl(INT, INT, SEMAPHORE_CONTROL, SEMAPHORE_DATA) -> DECIMAL [IPC];
    shmdt(POINTER) -> DECIMAL [IPC MEMORY];
    msgget(KEY, GET) -> DECIMAL [IPC];
    msgsnd(INT, MESSAGE_IN, SIZE, bits(&m::MESSAGE)) -> DECIMAL [IPC];
    msgrcv(INT, MESSAGE_OUT, SIZE, LONG, bits(&m::MESSAGE)) -> DECIMAL [IPC];
    msgctl(INT, MESSAGE_CONTROL, QUEUE_DATA) -> DECIMAL [IPC];
    mlock(POINTER, SIZE) -> DECIMAL [MEMORY];
    munlock(POINTER, SIZE) -> DECIMAL [MEMORY];
    mlockall(bits(&m::LOCK_ALL)) -> DECIMAL [MEMORY];
    munlockall() -> DECIMAL [MEMORY];
    remap_file_pages(POINTER, SIZE, wide(&m::PROTECTION), SIZE, MAP_FLAGS) -> DECIMAL [MEMORY];
    semtimedop(INT, OPERATIONS, UINT, TIMESPEC_IN) -> DECIMAL [IPC];
    mbind(POINTER, SIZE, POLICY, POINTER, SIZE, bits(&m::POLICY_MOVE)) -> DECIMAL [MEMORY];
    set_mempolicy(POLICY, POINTER, SIZE) -> DECIMAL [MEMORY];
    get_mempolicy(POINTER_OUT, POINTER_OUT, SIZE, POINTER_OUT, wide(&m::POLICY_GET)) -> DECIMAL [MEMORY];
    mq_open(NAME, OPEN, OPEN_MODE, ATTRIBUTES_NEW) -> DESCRIPTOR [DESC];
    mq_unlink(NAME) -> DECIMAL [];
    mq_timedsend(FD, BYTES_IN, SIZE, UINT, TIMESPEC_IN) -> DECIMAL [DESC];
    mq_timedreceive(FD, BYTES_OUT, SIZE, NUMBER_OUT, TIMESPEC_IN) -> DECIMAL [DESC];
    mq_notify(FD, EVENT) -> DECIMAL [DESC];
    mq_getsetattr(FD, ATTRIBUTES_IN, ATTRIBUTES_OUT) -> DECIMAL [DESC];
    migrate_pages(INT, SIZE, POINTER, POINTER) -> DECIMAL [MEMORY];
    move_pages(INT, SIZE, POINTER, POINTER, POINTER_OUT, bits(&m::PAGES_MOVE)) -> DECIMAL [MEMORY];
    memfd_create(NAME, MEMFD) -> DESCRIPTOR [DESC];
    userfaultfd(bits(&m::USERFAULTFD)) -> DESCRIPTOR [DESC];
    mlock2(POINTER, SIZE, bits(&m::LOCK)) -> DECIMAL [MEMORY];
    pkey_mprotect(POINTER, SIZE, wide(&m::PROTECTION), INT) -> DECIMAL [MEMORY];
    pkey_alloc(HEX, wide(&m::PROTECTION_KEY)) -> DECIMAL [];
    pkey_free(INT) -> DECIMAL [];
    process_madvise(FD, VECTORS_REMOTE, SIZE, name(&m::ADVICE), HEX32) -> DECIMAL [DESC];
    memfd_secret(bits(&m::SECRET)) -> DESCRIPTOR [DESC];
    process_mrelease(FD, HEX32) -> DECIMAL [DESC];
    set_mempolicy_home_node(POINTER, SIZE, SIZE, HEX) -> DECIMAL [MEMORY];
    map_shadow_stack(POINTER, SIZE, HEX) -> ADDRESS [MEMORY];
    mseal(POINTER, SIZE, HEX) -> DECIMAL [MEMORY];
};

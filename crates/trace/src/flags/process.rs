//! Names in calls on processes, from `linux/sched.h`, `linux/wait.h`, `linux/prctl.h`.

use super::{Flags, Names, names};

/// `clone`, without the signal.
#[rustfmt::skip]
pub(crate) static CLONE: Flags = Flags { unknown: "CLONE_???", names: names![
    (0x100, "CLONE_VM"), (0x200, "CLONE_FS"), (0x400, "CLONE_FILES"), (0x800, "CLONE_SIGHAND"),
    (0x1000, "CLONE_PIDFD"), (0x2000, "CLONE_PTRACE"), (0x4000, "CLONE_VFORK"),
    (0x8000, "CLONE_PARENT"), (0x10000, "CLONE_THREAD"), (0x20000, "CLONE_NEWNS"),
    (0x40000, "CLONE_SYSVSEM"), (0x80000, "CLONE_SETTLS"), (0x100000, "CLONE_PARENT_SETTID"),
    (0x200000, "CLONE_CHILD_CLEARTID"), (0x800000, "CLONE_UNTRACED"),
    (0x1000000, "CLONE_CHILD_SETTID"), (0x2000000, "CLONE_NEWCGROUP"),
    (0x4000000, "CLONE_NEWUTS"), (0x8000000, "CLONE_NEWIPC"), (0x10000000, "CLONE_NEWUSER"),
    (0x20000000, "CLONE_NEWPID"), (0x40000000, "CLONE_NEWNET"), (0x80000000, "CLONE_IO"),
    (1, "SIGHUP"), (2, "SIGINT"), (4, "SIGILL"), (8, "SIGFPE"), (0x10, "SIGSTKFLT"),
    (0x20, "SIGRTMIN"), (0x40, "SIGRT_32"),
] };

/// `clone3`, whose exit signal is a field of its own.
#[rustfmt::skip]
pub(crate) static CLONE_ARGS: Flags = Flags { unknown: "CLONE_???", names: names![
    (0x100, "CLONE_VM"), (0x200, "CLONE_FS"), (0x400, "CLONE_FILES"), (0x800, "CLONE_SIGHAND"),
    (0x1000, "CLONE_PIDFD"), (0x2000, "CLONE_PTRACE"), (0x4000, "CLONE_VFORK"),
    (0x8000, "CLONE_PARENT"), (0x10000, "CLONE_THREAD"), (0x20000, "CLONE_NEWNS"),
    (0x40000, "CLONE_SYSVSEM"), (0x80000, "CLONE_SETTLS"), (0x100000, "CLONE_PARENT_SETTID"),
    (0x200000, "CLONE_CHILD_CLEARTID"), (0x800000, "CLONE_UNTRACED"),
    (0x1000000, "CLONE_CHILD_SETTID"), (0x2000000, "CLONE_NEWCGROUP"),
    (0x4000000, "CLONE_NEWUTS"), (0x8000000, "CLONE_NEWIPC"), (0x10000000, "CLONE_NEWUSER"),
    (0x20000000, "CLONE_NEWPID"), (0x40000000, "CLONE_NEWNET"), (0x80000000, "CLONE_IO"),
    (0x80, "CLONE_NEWTIME"), (0x1_0000_0000, "CLONE_CLEAR_SIGHAND"),
    (0x2_0000_0000, "CLONE_INTO_CGROUP"),
] };

/// `unshare`.
#[rustfmt::skip]
pub(crate) static UNSHARE: Flags = Flags { unknown: "CLONE_???", names: names![
    (0x80, "CLONE_NEWTIME"), (0x100, "CLONE_VM"), (0x200, "CLONE_FS"), (0x400, "CLONE_FILES"),
    (0x800, "CLONE_SIGHAND"), (0x10000, "CLONE_THREAD"), (0x20000, "CLONE_NEWNS"),
    (0x40000, "CLONE_SYSVSEM"), (0x2000000, "CLONE_NEWCGROUP"), (0x4000000, "CLONE_NEWUTS"),
    (0x8000000, "CLONE_NEWIPC"), (0x10000000, "CLONE_NEWUSER"), (0x20000000, "CLONE_NEWPID"),
    (0x40000000, "CLONE_NEWNET"),
] };

/// `setns`.
#[rustfmt::skip]
pub(crate) static NAMESPACE: Flags = Flags { unknown: "CLONE_NEW???", names: names![
    (0x80, "CLONE_NEWTIME"), (0x20000, "CLONE_NEWNS"), (0x2000000, "CLONE_NEWCGROUP"),
    (0x4000000, "CLONE_NEWUTS"), (0x8000000, "CLONE_NEWIPC"), (0x10000000, "CLONE_NEWUSER"),
    (0x20000000, "CLONE_NEWPID"), (0x40000000, "CLONE_NEWNET"),
] };

/// `wait4`, `waitid`.
#[rustfmt::skip]
pub(crate) static WAIT: Flags = Flags { unknown: "W???", names: names![
    (1, "WNOHANG"), (4, "WEXITED"), (2, "WSTOPPED"), (8, "WCONTINUED"), (0x1000000, "WNOWAIT"),
    (0x80000000, "__WCLONE"), (0x40000000, "__WALL"), (0x20000000, "__WNOTHREAD"),
] };

/// `seccomp(SECCOMP_SET_MODE_FILTER)`.
#[rustfmt::skip]
pub(crate) static SECCOMP_FILTER: Flags = Flags { unknown: "SECCOMP_FILTER_FLAG_???", names: names![
    (1, "SECCOMP_FILTER_FLAG_TSYNC"), (2, "SECCOMP_FILTER_FLAG_LOG"),
    (4, "SECCOMP_FILTER_FLAG_SPEC_ALLOW"), (8, "SECCOMP_FILTER_FLAG_NEW_LISTENER"),
    (0x10, "SECCOMP_FILTER_FLAG_TSYNC_ESRCH"), (0x20, "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV"),
] };

/// `pidfd_open`.
#[rustfmt::skip]
pub(crate) static PIDFD: Flags = Flags { unknown: "PIDFD_???", names: names![
    (0x800, "PIDFD_NONBLOCK"),
] };

/// `finit_module`.
#[rustfmt::skip]
pub(crate) static MODULE: Flags = Flags { unknown: "MODULE_INIT_???", names: names![
    (1, "MODULE_INIT_IGNORE_MODVERSIONS"), (2, "MODULE_INIT_IGNORE_VERMAGIC"),
    (4, "MODULE_INIT_COMPRESSED_FILE"),
] };

/// `delete_module`.
#[rustfmt::skip]
pub(crate) static DELETE_MODULE: Flags = Flags { unknown: "O_???", names: names![
    (0x800, "O_NONBLOCK"), (0x200, "O_TRUNC"),
] };

/// `kexec_file_load`.
#[rustfmt::skip]
pub(crate) static KEXEC_FILE: Flags = Flags { unknown: "KEXEC_FILE_???", names: names![
    (1, "KEXEC_FILE_UNLOAD"), (2, "KEXEC_FILE_ON_CRASH"), (4, "KEXEC_FILE_NO_INITRAMFS"),
] };

/// `perf_event_open`.
#[rustfmt::skip]
pub(crate) static PERF: Flags = Flags { unknown: "PERF_FLAG_???", names: names![
    (1, "PERF_FLAG_FD_NO_GROUP"), (2, "PERF_FLAG_FD_OUTPUT"), (4, "PERF_FLAG_PID_CGROUP"),
    (8, "PERF_FLAG_FD_CLOEXEC"),
] };

/// `landlock_create_ruleset`.
#[rustfmt::skip]
pub(crate) static LANDLOCK_CREATE: Flags = Flags { unknown: "LANDLOCK_CREATE_RULESET_???", names: names![
    (1, "LANDLOCK_CREATE_RULESET_VERSION"),
] };

/// `membarrier`.
#[rustfmt::skip]
pub(crate) static MEMBARRIER_FLAG: Flags = Flags { unknown: "MEMBARRIER_CMD_FLAG_???", names: names![
    (1, "MEMBARRIER_CMD_FLAG_CPU"),
] };

/// `prctl`.
#[rustfmt::skip]
pub(crate) static PRCTL: Names = Names { unknown: "PR_???", names: names![
    (1, "PR_SET_PDEATHSIG"), (2, "PR_GET_PDEATHSIG"), (3, "PR_GET_DUMPABLE"),
    (4, "PR_SET_DUMPABLE"), (5, "PR_GET_UNALIGN"), (6, "PR_SET_UNALIGN"), (7, "PR_GET_KEEPCAPS"),
    (8, "PR_SET_KEEPCAPS"), (9, "PR_GET_FPEMU"), (0xa, "PR_SET_FPEMU"), (0xb, "PR_GET_FPEXC"),
    (0xc, "PR_SET_FPEXC"), (0xd, "PR_GET_TIMING"), (0xe, "PR_SET_TIMING"), (0xf, "PR_SET_NAME"),
    (0x10, "PR_GET_NAME"), (0x13, "PR_GET_ENDIAN"), (0x14, "PR_SET_ENDIAN"),
    (0x15, "PR_GET_SECCOMP"), (0x16, "PR_SET_SECCOMP"), (0x17, "PR_CAPBSET_READ"),
    (0x18, "PR_CAPBSET_DROP"), (0x19, "PR_GET_TSC"), (0x1a, "PR_SET_TSC"),
    (0x1b, "PR_GET_SECUREBITS"), (0x1c, "PR_SET_SECUREBITS"), (0x1d, "PR_SET_TIMERSLACK"),
    (0x1e, "PR_GET_TIMERSLACK"), (0x1f, "PR_TASK_PERF_EVENTS_DISABLE"),
    (0x20, "PR_TASK_PERF_EVENTS_ENABLE"), (0x21, "PR_MCE_KILL"), (0x22, "PR_MCE_KILL_GET"),
    (0x23, "PR_SET_MM"), (0x24, "PR_SET_CHILD_SUBREAPER"), (0x25, "PR_GET_CHILD_SUBREAPER"),
    (0x26, "PR_SET_NO_NEW_PRIVS"), (0x27, "PR_GET_NO_NEW_PRIVS"), (0x28, "PR_GET_TID_ADDRESS"),
    (0x29, "PR_SET_THP_DISABLE"), (0x2a, "PR_GET_THP_DISABLE"),
    (0x2b, "PR_MPX_ENABLE_MANAGEMENT"), (0x2c, "PR_MPX_DISABLE_MANAGEMENT"),
    (0x2d, "PR_SET_FP_MODE"), (0x2e, "PR_GET_FP_MODE"), (0x2f, "PR_CAP_AMBIENT"),
    (0x32, "PR_SVE_SET_VL"), (0x33, "PR_SVE_GET_VL"), (0x34, "PR_GET_SPECULATION_CTRL"),
    (0x35, "PR_SET_SPECULATION_CTRL"), (0x36, "PR_PAC_RESET_KEYS"),
    (0x37, "PR_SET_TAGGED_ADDR_CTRL"), (0x38, "PR_GET_TAGGED_ADDR_CTRL"),
    (0x39, "PR_SET_IO_FLUSHER"), (0x3a, "PR_GET_IO_FLUSHER"),
    (0x3b, "PR_SET_SYSCALL_USER_DISPATCH"), (0x3c, "PR_PAC_SET_ENABLED_KEYS"),
    (0x3d, "PR_PAC_GET_ENABLED_KEYS"), (0x3e, "PR_SCHED_CORE"), (0x3f, "PR_SME_SET_VL"),
    (0x40, "PR_SME_GET_VL"), (0x53564d41, "PR_SET_VMA"), (0x59616d61, "PR_SET_PTRACER"),
] };

/// `ptrace`.
#[rustfmt::skip]
pub(crate) static PTRACE: Names = Names { unknown: "PTRACE_???", names: names![
    (0, "PTRACE_TRACEME"), (1, "PTRACE_PEEKTEXT"), (2, "PTRACE_PEEKDATA"), (3, "PTRACE_PEEKUSER"),
    (4, "PTRACE_POKETEXT"), (5, "PTRACE_POKEDATA"), (6, "PTRACE_POKEUSER"), (7, "PTRACE_CONT"),
    (8, "PTRACE_KILL"), (9, "PTRACE_SINGLESTEP"), (0xc, "PTRACE_GETREGS"),
    (0xd, "PTRACE_SETREGS"), (0xe, "PTRACE_GETFPREGS"), (0xf, "PTRACE_SETFPREGS"),
    (0x10, "PTRACE_ATTACH"), (0x11, "PTRACE_DETACH"), (0x12, "PTRACE_GETFPXREGS"),
    (0x13, "PTRACE_SETFPXREGS"), (0x15, "PTRACE_OLDSETOPTIONS"), (0x18, "PTRACE_SYSCALL"),
    (0x19, "PTRACE_GET_THREAD_AREA"), (0x1a, "PTRACE_SET_THREAD_AREA"),
    (0x1e, "PTRACE_ARCH_PRCTL"), (0x1f, "PTRACE_SYSEMU"), (0x20, "PTRACE_SYSEMU_SINGLESTEP"),
    (0x21, "PTRACE_SINGLEBLOCK"), (0x4200, "PTRACE_SETOPTIONS"), (0x4201, "PTRACE_GETEVENTMSG"),
    (0x4202, "PTRACE_GETSIGINFO"), (0x4203, "PTRACE_SETSIGINFO"), (0x4204, "PTRACE_GETREGSET"),
    (0x4205, "PTRACE_SETREGSET"), (0x4206, "PTRACE_SEIZE"), (0x4207, "PTRACE_INTERRUPT"),
    (0x4208, "PTRACE_LISTEN"), (0x4209, "PTRACE_PEEKSIGINFO"), (0x420a, "PTRACE_GETSIGMASK"),
    (0x420b, "PTRACE_SETSIGMASK"), (0x420c, "PTRACE_SECCOMP_GET_FILTER"),
    (0x420d, "PTRACE_SECCOMP_GET_METADATA"), (0x420e, "PTRACE_GET_SYSCALL_INFO"),
    (0x420f, "PTRACE_GET_RSEQ_CONFIGURATION"),
] };

/// `sched_setscheduler`.
#[rustfmt::skip]
pub(crate) static SCHEDULER: Names = Names { unknown: "SCHED_???", names: names![
    (0, "SCHED_OTHER"), (1, "SCHED_FIFO"), (2, "SCHED_RR"), (3, "SCHED_BATCH"), (4, "SCHED_ISO"),
    (5, "SCHED_IDLE"), (6, "SCHED_DEADLINE"),
] };

/// `getrlimit`.
#[rustfmt::skip]
pub(crate) static LIMIT: Names = Names { unknown: "RLIMIT_???", names: names![
    (0, "RLIMIT_CPU"), (1, "RLIMIT_FSIZE"), (2, "RLIMIT_DATA"), (3, "RLIMIT_STACK"),
    (4, "RLIMIT_CORE"), (5, "RLIMIT_RSS"), (6, "RLIMIT_NPROC"), (7, "RLIMIT_NOFILE"),
    (8, "RLIMIT_MEMLOCK"), (9, "RLIMIT_AS"), (0xa, "RLIMIT_LOCKS"), (0xb, "RLIMIT_SIGPENDING"),
    (0xc, "RLIMIT_MSGQUEUE"), (0xd, "RLIMIT_NICE"), (0xe, "RLIMIT_RTPRIO"),
    (0xf, "RLIMIT_RTTIME"),
] };

/// `getrusage`.
#[rustfmt::skip]
pub(crate) static USAGE: Names = Names { unknown: "RUSAGE_???", names: names![
    (0, "RUSAGE_SELF"), (1, "RUSAGE_THREAD"), (0xffffffff, "RUSAGE_CHILDREN"),
    (0xfffffffe, "RUSAGE_BOTH"),
] };

/// `getpriority`.
#[rustfmt::skip]
pub(crate) static PRIORITY: Names = Names { unknown: "PRIO_???", names: names![
    (0, "PRIO_PROCESS"), (1, "PRIO_PGRP"), (2, "PRIO_USER"),
] };

/// `ioprio_get`.
#[rustfmt::skip]
pub(crate) static IOPRIO: Names = Names { unknown: "IOPRIO_WHO_???", names: names![
    (1, "IOPRIO_WHO_PROCESS"), (2, "IOPRIO_WHO_PGRP"), (3, "IOPRIO_WHO_USER"),
] };

/// `waitid`.
#[rustfmt::skip]
pub(crate) static WAIT_FOR: Names = Names { unknown: "P_???", names: names![
    (0, "P_ALL"), (1, "P_PID"), (2, "P_PGID"), (3, "P_PIDFD"),
] };

/// `prctl(PR_CAPBSET_READ)`.
#[rustfmt::skip]
pub(crate) static CAPABILITY: Names = Names { unknown: "CAP_???", names: names![
    (0, "CAP_CHOWN"), (1, "CAP_DAC_OVERRIDE"), (2, "CAP_DAC_READ_SEARCH"), (3, "CAP_FOWNER"),
    (4, "CAP_FSETID"), (5, "CAP_KILL"), (6, "CAP_SETGID"), (7, "CAP_SETUID"), (8, "CAP_SETPCAP"),
    (9, "CAP_LINUX_IMMUTABLE"), (0xa, "CAP_NET_BIND_SERVICE"), (0xb, "CAP_NET_BROADCAST"),
    (0xc, "CAP_NET_ADMIN"), (0xd, "CAP_NET_RAW"), (0xe, "CAP_IPC_LOCK"), (0xf, "CAP_IPC_OWNER"),
    (0x10, "CAP_SYS_MODULE"), (0x11, "CAP_SYS_RAWIO"), (0x12, "CAP_SYS_CHROOT"),
    (0x13, "CAP_SYS_PTRACE"), (0x14, "CAP_SYS_PACCT"), (0x15, "CAP_SYS_ADMIN"),
    (0x16, "CAP_SYS_BOOT"), (0x17, "CAP_SYS_NICE"), (0x18, "CAP_SYS_RESOURCE"),
    (0x19, "CAP_SYS_TIME"), (0x1a, "CAP_SYS_TTY_CONFIG"), (0x1b, "CAP_MKNOD"),
    (0x1c, "CAP_LEASE"), (0x1d, "CAP_AUDIT_WRITE"), (0x1e, "CAP_AUDIT_CONTROL"),
    (0x1f, "CAP_SETFCAP"), (0x20, "CAP_MAC_OVERRIDE"), (0x21, "CAP_MAC_ADMIN"),
    (0x22, "CAP_SYSLOG"), (0x23, "CAP_WAKE_ALARM"), (0x24, "CAP_BLOCK_SUSPEND"),
    (0x25, "CAP_AUDIT_READ"), (0x26, "CAP_PERFMON"), (0x27, "CAP_BPF"),
    (0x28, "CAP_CHECKPOINT_RESTORE"),
] };

/// `arch_prctl`.
#[rustfmt::skip]
pub(crate) static ARCH: Names = Names { unknown: "ARCH_???", names: names![
    (0x1001, "ARCH_SET_GS"), (0x1002, "ARCH_SET_FS"), (0x1003, "ARCH_GET_FS"),
    (0x1004, "ARCH_GET_GS"), (0x1011, "ARCH_GET_CPUID"), (0x1012, "ARCH_SET_CPUID"),
    (0x1021, "ARCH_GET_XCOMP_SUPP"), (0x1022, "ARCH_GET_XCOMP_PERM"),
    (0x1023, "ARCH_REQ_XCOMP_PERM"), (0x1024, "ARCH_GET_XCOMP_GUEST_PERM"),
    (0x1025, "ARCH_REQ_XCOMP_GUEST_PERM"), (0x2001, "ARCH_MAP_VDSO_X32"),
    (0x2002, "ARCH_MAP_VDSO_32"), (0x2003, "ARCH_MAP_VDSO_64"),
] };

/// `prctl(PR_SET_DUMPABLE)`.
#[rustfmt::skip]
pub(crate) static DUMPABLE: Names = Names { unknown: "SUID_DUMP_???", names: names![
    (0, "SUID_DUMP_DISABLE"), (1, "SUID_DUMP_USER"), (2, "SUID_DUMP_ROOT"),
] };

/// `seccomp`.
#[rustfmt::skip]
pub(crate) static SECCOMP: Names = Names { unknown: "SECCOMP_SET_MODE_???", names: names![
    (0, "SECCOMP_SET_MODE_STRICT"), (1, "SECCOMP_SET_MODE_FILTER"),
    (2, "SECCOMP_GET_ACTION_AVAIL"), (3, "SECCOMP_GET_NOTIF_SIZES"),
] };

/// `prctl(PR_SET_SECCOMP)`.
#[rustfmt::skip]
pub(crate) static SECCOMP_MODE: Names = Names { unknown: "SECCOMP_MODE_???", names: names![
    (0, "SECCOMP_MODE_DISABLED"), (1, "SECCOMP_MODE_STRICT"), (2, "SECCOMP_MODE_FILTER"),
] };

/// `prctl(PR_CAP_AMBIENT)`.
#[rustfmt::skip]
pub(crate) static AMBIENT: Names = Names { unknown: "PR_CAP_AMBIENT_???", names: names![
    (1, "PR_CAP_AMBIENT_IS_SET"), (2, "PR_CAP_AMBIENT_RAISE"), (3, "PR_CAP_AMBIENT_LOWER"),
    (4, "PR_CAP_AMBIENT_CLEAR_ALL"),
] };

/// `prctl(PR_GET_SPECULATION_CTRL)`.
#[rustfmt::skip]
pub(crate) static SPECULATION: Names = Names { unknown: "PR_SPEC_???", names: names![
    (0, "PR_SPEC_STORE_BYPASS"), (1, "PR_SPEC_INDIRECT_BRANCH"), (2, "PR_SPEC_L1D_FLUSH"),
] };

/// `prctl(PR_SET_MM)`.
#[rustfmt::skip]
pub(crate) static SET_MM: Names = Names { unknown: "PR_SET_MM_???", names: names![
    (1, "PR_SET_MM_START_CODE"), (2, "PR_SET_MM_END_CODE"), (3, "PR_SET_MM_START_DATA"),
    (4, "PR_SET_MM_END_DATA"), (5, "PR_SET_MM_START_STACK"), (6, "PR_SET_MM_START_BRK"),
    (7, "PR_SET_MM_BRK"), (8, "PR_SET_MM_ARG_START"), (9, "PR_SET_MM_ARG_END"),
    (0xa, "PR_SET_MM_ENV_START"), (0xb, "PR_SET_MM_ENV_END"), (0xc, "PR_SET_MM_AUXV"),
    (0xd, "PR_SET_MM_EXE_FILE"), (0xe, "PR_SET_MM_MAP"), (0xf, "PR_SET_MM_MAP_SIZE"),
] };

/// `prctl(PR_MCE_KILL)`.
#[rustfmt::skip]
pub(crate) static MCE: Names = Names { unknown: "PR_MCE_KILL_???", names: names![
    (0, "PR_MCE_KILL_CLEAR"), (1, "PR_MCE_KILL_SET"),
] };

/// `prctl(PR_SET_TSC)`.
#[rustfmt::skip]
pub(crate) static TSC: Names = Names { unknown: "PR_TSC_???", names: names![
    (1, "PR_TSC_ENABLE"), (2, "PR_TSC_SIGSEGV"),
] };

/// `kcmp`.
#[rustfmt::skip]
pub(crate) static KCMP: Names = Names { unknown: "KCMP_???", names: names![
    (0, "KCMP_FILE"), (1, "KCMP_VM"), (2, "KCMP_FILES"), (3, "KCMP_FS"), (4, "KCMP_SIGHAND"),
    (5, "KCMP_IO"), (6, "KCMP_SYSVSEM"), (7, "KCMP_EPOLL_TFD"),
] };

/// `membarrier`.
#[rustfmt::skip]
pub(crate) static MEMBARRIER: Names = Names { unknown: "MEMBARRIER_CMD_???", names: names![
    (0, "MEMBARRIER_CMD_QUERY"), (1, "MEMBARRIER_CMD_GLOBAL"),
    (2, "MEMBARRIER_CMD_GLOBAL_EXPEDITED"), (4, "MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED"),
    (8, "MEMBARRIER_CMD_PRIVATE_EXPEDITED"), (0x10, "MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED"),
    (0x20, "MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE"),
    (0x40, "MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE"),
    (0x80, "MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ"),
    (0x100, "MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ"),
] };

/// `personality`, the low byte.
#[rustfmt::skip]
pub(crate) static PERSONALITY: Names = Names { unknown: "PER_???", names: names![
    (0, "PER_LINUX"), (6, "PER_BSD"), (8, "PER_LINUX32"), (0xc, "PER_RISCOS"), (0xf, "PER_OSF4"),
    (0x10, "PER_HPUX"),
] };

/// `personality`, above the low byte.
#[rustfmt::skip]
pub(crate) static PERSONALITY_FLAGS: Flags = Flags { unknown: "", names: names![
    (0x20000, "UNAME26"), (0x40000, "ADDR_NO_RANDOMIZE"), (0x80000, "FDPIC_FUNCPTRS"),
    (0x100000, "MMAP_PAGE_ZERO"), (0x200000, "ADDR_COMPAT_LAYOUT"),
    (0x400000, "READ_IMPLIES_EXEC"), (0x800000, "ADDR_LIMIT_32BIT"), (0x1000000, "SHORT_INODE"),
    (0x2000000, "WHOLE_SECONDS"), (0x4000000, "STICKY_TIMEOUTS"), (0x8000000, "ADDR_LIMIT_3GB"),
] };

/// `bpf`.
#[rustfmt::skip]
pub(crate) static BPF: Names = Names { unknown: "BPF_???", names: names![
    (0, "BPF_MAP_CREATE"), (1, "BPF_MAP_LOOKUP_ELEM"), (2, "BPF_MAP_UPDATE_ELEM"),
    (3, "BPF_MAP_DELETE_ELEM"), (4, "BPF_MAP_GET_NEXT_KEY"), (5, "BPF_PROG_LOAD"),
    (6, "BPF_OBJ_PIN"), (7, "BPF_OBJ_GET"), (8, "BPF_PROG_ATTACH"), (9, "BPF_PROG_DETACH"),
    (0xa, "BPF_PROG_TEST_RUN"), (0xb, "BPF_PROG_GET_NEXT_ID"), (0xc, "BPF_MAP_GET_NEXT_ID"),
    (0xd, "BPF_PROG_GET_FD_BY_ID"), (0xe, "BPF_MAP_GET_FD_BY_ID"),
    (0xf, "BPF_OBJ_GET_INFO_BY_FD"), (0x10, "BPF_PROG_QUERY"), (0x11, "BPF_RAW_TRACEPOINT_OPEN"),
    (0x12, "BPF_BTF_LOAD"), (0x13, "BPF_BTF_GET_FD_BY_ID"), (0x14, "BPF_TASK_FD_QUERY"),
    (0x15, "BPF_MAP_LOOKUP_AND_DELETE_ELEM"), (0x16, "BPF_MAP_FREEZE"),
    (0x17, "BPF_BTF_GET_NEXT_ID"), (0x18, "BPF_MAP_LOOKUP_BATCH"),
    (0x19, "BPF_MAP_LOOKUP_AND_DELETE_BATCH"), (0x1a, "BPF_MAP_UPDATE_BATCH"),
    (0x1b, "BPF_MAP_DELETE_BATCH"), (0x1c, "BPF_LINK_CREATE"), (0x1d, "BPF_LINK_UPDATE"),
    (0x1e, "BPF_LINK_GET_FD_BY_ID"), (0x1f, "BPF_LINK_GET_NEXT_ID"), (0x20, "BPF_ENABLE_STATS"),
    (0x21, "BPF_ITER_CREATE"), (0x22, "BPF_LINK_DETACH"), (0x23, "BPF_PROG_BIND_MAP"),
] };

/// `keyctl`.
#[rustfmt::skip]
pub(crate) static KEYCTL: Names = Names { unknown: "KEYCTL_???", names: names![
    (0, "KEYCTL_GET_KEYRING_ID"), (1, "KEYCTL_JOIN_SESSION_KEYRING"), (2, "KEYCTL_UPDATE"),
    (3, "KEYCTL_REVOKE"), (4, "KEYCTL_CHOWN"), (5, "KEYCTL_SETPERM"), (6, "KEYCTL_DESCRIBE"),
    (7, "KEYCTL_CLEAR"), (8, "KEYCTL_LINK"), (9, "KEYCTL_UNLINK"), (0xa, "KEYCTL_SEARCH"),
    (0xb, "KEYCTL_READ"), (0xc, "KEYCTL_INSTANTIATE"), (0xd, "KEYCTL_NEGATE"),
    (0xe, "KEYCTL_SET_REQKEY_KEYRING"), (0xf, "KEYCTL_SET_TIMEOUT"),
    (0x10, "KEYCTL_ASSUME_AUTHORITY"), (0x11, "KEYCTL_GET_SECURITY"),
    (0x12, "KEYCTL_SESSION_TO_PARENT"), (0x13, "KEYCTL_REJECT"), (0x14, "KEYCTL_INSTANTIATE_IOV"),
    (0x15, "KEYCTL_INVALIDATE"), (0x16, "KEYCTL_GET_PERSISTENT"), (0x17, "KEYCTL_DH_COMPUTE"),
    (0x18, "KEYCTL_PKEY_QUERY"), (0x19, "KEYCTL_PKEY_ENCRYPT"), (0x1a, "KEYCTL_PKEY_DECRYPT"),
    (0x1b, "KEYCTL_PKEY_SIGN"), (0x1c, "KEYCTL_PKEY_VERIFY"), (0x1d, "KEYCTL_RESTRICT_KEYRING"),
    (0x1e, "KEYCTL_MOVE"), (0x1f, "KEYCTL_CAPABILITIES"), (0x20, "KEYCTL_WATCH_KEY"),
] };

/// What Landlock restricts.
#[rustfmt::skip]
pub(crate) static LANDLOCK_ACCESS: Flags = Flags { unknown: "LANDLOCK_ACCESS_FS_???", names: names![
    (1, "LANDLOCK_ACCESS_FS_EXECUTE"), (2, "LANDLOCK_ACCESS_FS_WRITE_FILE"),
    (4, "LANDLOCK_ACCESS_FS_READ_FILE"), (8, "LANDLOCK_ACCESS_FS_READ_DIR"),
    (0x10, "LANDLOCK_ACCESS_FS_REMOVE_DIR"), (0x20, "LANDLOCK_ACCESS_FS_REMOVE_FILE"),
    (0x40, "LANDLOCK_ACCESS_FS_MAKE_CHAR"), (0x80, "LANDLOCK_ACCESS_FS_MAKE_DIR"),
    (0x100, "LANDLOCK_ACCESS_FS_MAKE_REG"), (0x200, "LANDLOCK_ACCESS_FS_MAKE_SOCK"),
    (0x400, "LANDLOCK_ACCESS_FS_MAKE_FIFO"), (0x800, "LANDLOCK_ACCESS_FS_MAKE_BLOCK"),
    (0x1000, "LANDLOCK_ACCESS_FS_MAKE_SYM"), (0x2000, "LANDLOCK_ACCESS_FS_REFER"),
] };

/// `landlock_add_rule`.
#[rustfmt::skip]
pub(crate) static LANDLOCK_RULE: Names = Names { unknown: "LANDLOCK_RULE_???", names: names![
    (1, "LANDLOCK_RULE_PATH_BENEATH"),
] };

/// `reboot`.
#[rustfmt::skip]
pub(crate) static REBOOT: Names = Names { unknown: "LINUX_REBOOT_CMD_???", names: names![
    (0, "LINUX_REBOOT_CMD_CAD_OFF"), (0x1234567, "LINUX_REBOOT_CMD_RESTART"),
    (0x89abcdef, "LINUX_REBOOT_CMD_CAD_ON"), (0xcdef0123, "LINUX_REBOOT_CMD_HALT"),
    (0x4321fedc, "LINUX_REBOOT_CMD_POWER_OFF"), (0xa1b2c3d4, "LINUX_REBOOT_CMD_RESTART2"),
    (0xd000fce2, "LINUX_REBOOT_CMD_SW_SUSPEND"), (0x45584543, "LINUX_REBOOT_CMD_KEXEC"),
] };

/// `syslog`, shown beside its number.
#[rustfmt::skip]
pub(crate) static SYSLOG: Names = Names { unknown: "SYSLOG_ACTION_???", names: names![
    (0, "SYSLOG_ACTION_CLOSE"), (1, "SYSLOG_ACTION_OPEN"), (2, "SYSLOG_ACTION_READ"),
    (3, "SYSLOG_ACTION_READ_ALL"), (4, "SYSLOG_ACTION_READ_CLEAR"), (5, "SYSLOG_ACTION_CLEAR"),
    (6, "SYSLOG_ACTION_CONSOLE_OFF"), (7, "SYSLOG_ACTION_CONSOLE_ON"),
    (8, "SYSLOG_ACTION_CONSOLE_LEVEL"), (9, "SYSLOG_ACTION_SIZE_UNREAD"),
    (0xa, "SYSLOG_ACTION_SIZE_BUFFER"),
] };

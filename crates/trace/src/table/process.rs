//! Calls on processes: creation, exit, tracing, limits, credentials; the machine.

use super::{Class, SyscallEntry, bits, calls, name, wide};
use crate::decode::{
    control::{
        ARCH, KCMP, KEXEC, KEY as KEY_RING, KEYCTL, MEMBARRIER_CPU, PRCTL, REBOOT_MAGIC,
        REBOOT_TEXT, SECCOMP_DATA, SECCOMP_FLAGS, SYSLOG, SYSLOG_BUFFER, SYSLOG_LENGTH,
    },
    credentials::{DATA_IN, DATA_OUT, GROUPS_IN, GROUPS_OUT, HEADER, ID_OUT},
    landlock::{ATTRIBUTES as RULESET, RULE},
    numbers::{DIRFD, FD, HEX, HEX32, ID, INT, POINTER, POINTER_OUT, SIGNAL, SIZE, TASK, UINT},
    perf::ATTRIBUTES as PERF_ATTRIBUTES,
    process::{
        CLONE_ARGS, CLONE_FLAGS, CLONE_NUMBER, CLONE_REST, CLONE_STACK, IO_PRIORITY, LIMIT_IN,
        LIMIT_OUT, NUMBER_OUT, OLD_LIMIT_IN, OLD_LIMIT_OUT, PARAMETER_IN, PARAMETER_OUT,
        PERSONALITY, PROCESSORS_IN, PROCESSORS_OUT, PTRACE, PTRACE_ADDRESS, PTRACE_DATA,
        PTRACE_PID, SCHEDULING_IN, SCHEDULING_OUT, STATUS_OUT, SYSINFO, TIMES, USAGE_OUT, UTSNAME,
        WAIT_USAGE_OUT,
    },
    result::{
        BARRIERS, DECIMAL, DESCRIPTOR, IO_PRIORITY as IO_PRIORITY_RESULT,
        PERSONALITY as PERSONALITY_RESULT, PRCTL as PRCTL_RESULT, SCHEDULER as SCHEDULER_RESULT,
        TASK as TASK_NUMBER,
    },
    signals::{SIGINFO_IN, SIGINFO_OUT},
    text::{BYTES_IN, ENVIRONMENT, HOSTNAME, NAME, PATH, TEXTS},
    time::TIMESPEC_OUT,
    vectors::{VECTORS_IN, VECTORS_OUT, VECTORS_REMOTE},
};
use crate::flags::{files as f, process as p};

#[rustfmt::skip]
pub(super) static CALLS: &[SyscallEntry] = calls! {
    getpid() -> TASK_NUMBER [PURE];
    clone(CLONE_STACK, CLONE_FLAGS, CLONE_NUMBER, CLONE_REST) -> TASK_NUMBER [PROCESS];
    fork() -> TASK_NUMBER [PROCESS];
    vfork() -> TASK_NUMBER [PROCESS];
    execve(PATH, TEXTS, ENVIRONMENT) -> DECIMAL [FILE PROCESS];
    exit(INT) -> DECIMAL [PROCESS];
    wait4(TASK, STATUS_OUT, bits(&p::WAIT), WAIT_USAGE_OUT) -> TASK_NUMBER [PROCESS];
    kill(TASK, SIGNAL) -> DECIMAL [PROCESS SIGNAL];
    uname(UTSNAME) -> DECIMAL [];
    getrlimit(name(&p::LIMIT), OLD_LIMIT_OUT) -> DECIMAL [];
    getrusage(name(&p::USAGE), USAGE_OUT) -> DECIMAL [];
    sysinfo(SYSINFO) -> DECIMAL [];
    times(TIMES) -> DECIMAL [];
    ptrace(PTRACE, PTRACE_PID, PTRACE_ADDRESS, PTRACE_DATA) -> DECIMAL [];
    getuid() -> DECIMAL [CREDS PURE];
    syslog(SYSLOG, SYSLOG_BUFFER, SYSLOG_LENGTH) -> DECIMAL [];
    getgid() -> DECIMAL [CREDS PURE];
    setuid(ID) -> DECIMAL [CREDS];
    setgid(ID) -> DECIMAL [CREDS];
    geteuid() -> DECIMAL [CREDS PURE];
    getegid() -> DECIMAL [CREDS PURE];
    setpgid(TASK, INT) -> DECIMAL [];
    getppid() -> TASK_NUMBER [PURE];
    getpgrp() -> DECIMAL [PURE];
    setsid() -> DECIMAL [];
    setreuid(ID, ID) -> DECIMAL [CREDS];
    setregid(ID, ID) -> DECIMAL [CREDS];
    getgroups(INT, GROUPS_OUT) -> DECIMAL [CREDS];
    setgroups(INT, GROUPS_IN) -> DECIMAL [CREDS];
    setresuid(ID, ID, ID) -> DECIMAL [CREDS];
    getresuid(ID_OUT, ID_OUT, ID_OUT) -> DECIMAL [CREDS];
    setresgid(ID, ID, ID) -> DECIMAL [CREDS];
    getresgid(ID_OUT, ID_OUT, ID_OUT) -> DECIMAL [CREDS];
    getpgid(TASK) -> DECIMAL [];
    setfsuid(ID) -> DECIMAL [CREDS];
    setfsgid(ID) -> DECIMAL [CREDS];
    getsid(TASK) -> DECIMAL [];
    capget(HEADER, DATA_OUT) -> DECIMAL [CREDS];
    capset(HEADER, DATA_IN) -> DECIMAL [CREDS];
    personality(PERSONALITY) -> PERSONALITY_RESULT [];
    getpriority(name(&p::PRIORITY), INT) -> DECIMAL [];
    setpriority(name(&p::PRIORITY), INT, INT) -> DECIMAL [];
    sched_yield() -> DECIMAL [];
    sched_setparam(TASK, PARAMETER_IN) -> DECIMAL [];
    sched_getparam(TASK, PARAMETER_OUT) -> DECIMAL [];
    sched_setscheduler(TASK, name(&p::SCHEDULER), PARAMETER_IN) -> DECIMAL [];
    sched_getscheduler(TASK) -> SCHEDULER_RESULT [];
    sched_get_priority_max(name(&p::SCHEDULER)) -> DECIMAL [];
    sched_get_priority_min(name(&p::SCHEDULER)) -> DECIMAL [];
    sched_rr_get_interval(TASK, TIMESPEC_OUT) -> DECIMAL [];
    vhangup() -> DECIMAL [];
    modify_ldt(INT, POINTER, SIZE) -> DECIMAL [];
    _sysctl(POINTER) -> DECIMAL [];
    prctl(name(&p::PRCTL), PRCTL, PRCTL, PRCTL, PRCTL) -> PRCTL_RESULT [CREDS];
    arch_prctl(name(&p::ARCH), ARCH) -> DECIMAL [];
    setrlimit(name(&p::LIMIT), OLD_LIMIT_IN) -> DECIMAL [];
    reboot(REBOOT_MAGIC, REBOOT_MAGIC, name(&p::REBOOT), REBOOT_TEXT) -> DECIMAL [];
    sethostname(HOSTNAME, UINT) -> DECIMAL [];
    setdomainname(HOSTNAME, UINT) -> DECIMAL [];
    iopl(INT) -> DECIMAL [];
    ioperm(HEX, HEX, INT) -> DECIMAL [];
    create_module(HEX, HEX) -> DECIMAL [];
    init_module(POINTER, SIZE, NAME) -> DECIMAL [];
    delete_module(NAME, bits(&p::DELETE_MODULE)) -> DECIMAL [];
    get_kernel_syms(HEX) -> DECIMAL [];
    query_module(HEX, HEX, HEX, HEX, HEX) -> DECIMAL [];
    getpmsg(HEX, HEX, HEX, HEX, HEX) -> DECIMAL [NETWORK];
    putpmsg(HEX, HEX, HEX, HEX, HEX) -> DECIMAL [NETWORK];
    afs_syscall(HEX, HEX, HEX, HEX, HEX) -> DECIMAL [];
    tuxcall(HEX, HEX, HEX) -> DECIMAL [];
    security(HEX, HEX, HEX) -> DECIMAL [];
    vserver(HEX, HEX, HEX, HEX, HEX) -> DECIMAL [];
    gettid() -> TASK_NUMBER [PURE];
    tkill(TASK, SIGNAL) -> DECIMAL [PROCESS SIGNAL];
    sched_setaffinity(TASK, UINT, PROCESSORS_IN) -> DECIMAL [];
    sched_getaffinity(TASK, UINT, PROCESSORS_OUT) -> DECIMAL [];
    set_thread_area(POINTER) -> DECIMAL [];
    get_thread_area(POINTER) -> DECIMAL [];
    set_tid_address(HEX) -> DECIMAL [];
    restart_syscall() -> DECIMAL [];
    exit_group(INT) -> DECIMAL [PROCESS];
    tgkill(TASK, TASK, SIGNAL) -> DECIMAL [PROCESS SIGNAL];
    kexec_load(POINTER, SIZE, POINTER, KEXEC) -> DECIMAL [];
    waitid(name(&p::WAIT_FOR), INT, SIGINFO_OUT, bits(&p::WAIT), USAGE_OUT) -> DECIMAL [PROCESS];
    add_key(NAME, NAME, BYTES_IN, SIZE, KEY_RING) -> DECIMAL [];
    request_key(NAME, NAME, NAME, KEY_RING) -> DECIMAL [];
    keyctl(name(&p::KEYCTL), KEYCTL, KEYCTL, KEYCTL, KEYCTL) -> DECIMAL [];
    ioprio_set(name(&p::IOPRIO), INT, IO_PRIORITY) -> DECIMAL [];
    ioprio_get(name(&p::IOPRIO), INT) -> IO_PRIORITY_RESULT [];
    unshare(wide(&p::UNSHARE)) -> DECIMAL [];
    set_robust_list(POINTER, SIZE) -> DECIMAL [];
    get_robust_list(TASK, POINTER_OUT, POINTER_OUT) -> DECIMAL [];
    perf_event_open(PERF_ATTRIBUTES, TASK, INT, FD, wide(&p::PERF)) -> DESCRIPTOR [DESC];
    prlimit64(TASK, name(&p::LIMIT), LIMIT_IN, LIMIT_OUT) -> DECIMAL [];
    setns(FD, bits(&p::NAMESPACE)) -> DECIMAL [DESC];
    getcpu(NUMBER_OUT, NUMBER_OUT, POINTER) -> DECIMAL [];
    process_vm_readv(TASK, VECTORS_OUT, SIZE, VECTORS_REMOTE, SIZE, SIZE) -> DECIMAL [];
    process_vm_writev(TASK, VECTORS_IN, SIZE, VECTORS_REMOTE, SIZE, SIZE) -> DECIMAL [];
    kcmp(TASK, TASK, name(&p::KCMP), KCMP, KCMP) -> DECIMAL [];
    finit_module(FD, NAME, bits(&p::MODULE)) -> DECIMAL [DESC];
    sched_setattr(TASK, SCHEDULING_IN, UINT) -> DECIMAL [];
    sched_getattr(TASK, SCHEDULING_OUT, UINT, UINT) -> DECIMAL [];
    seccomp(name(&p::SECCOMP), SECCOMP_FLAGS, SECCOMP_DATA) -> DECIMAL [];
    kexec_file_load(FD, FD, SIZE, NAME, wide(&p::KEXEC_FILE)) -> DECIMAL [DESC];
    bpf(name(&p::BPF), POINTER, UINT) -> DECIMAL [DESC];
    execveat(DIRFD, PATH, TEXTS, ENVIRONMENT, bits(&f::AT)) -> DECIMAL [FILE DESC PROCESS];
    membarrier(name(&p::MEMBARRIER), bits(&p::MEMBARRIER_FLAG), MEMBARRIER_CPU) -> BARRIERS [];
    rseq(HEX, HEX, HEX, HEX) -> DECIMAL [];
    pidfd_send_signal(FD, SIGNAL, SIGINFO_IN, HEX32) -> DECIMAL [DESC PROCESS SIGNAL];
    pidfd_open(TASK, bits(&p::PIDFD)) -> DESCRIPTOR [DESC];
    clone3(CLONE_ARGS, SIZE) -> TASK_NUMBER [PROCESS];
    pidfd_getfd(FD, INT, HEX32) -> DESCRIPTOR [DESC];
    landlock_create_ruleset(RULESET, SIZE, bits(&p::LANDLOCK_CREATE)) -> DESCRIPTOR [DESC];
    landlock_add_rule(FD, name(&p::LANDLOCK_RULE), RULE, HEX32) -> DECIMAL [DESC];
    landlock_restrict_self(FD, HEX32) -> DECIMAL [DESC];
    lsm_get_self_attr(UINT, POINTER_OUT, POINTER_OUT, UINT) -> DECIMAL [];
    lsm_set_self_attr(UINT, POINTER, UINT, UINT) -> DECIMAL [];
    lsm_list_modules(POINTER_OUT, POINTER_OUT, UINT) -> DECIMAL [];
};

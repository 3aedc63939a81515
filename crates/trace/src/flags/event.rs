//! Names in calls on time, signals and readiness, from `linux/time.h`, `linux/futex.h`,
//! `linux/eventpoll.h`.

use super::{Flags, Names, names};

/// `clock_gettime`.
#[rustfmt::skip]
pub(crate) static CLOCK: Names = Names { unknown: "CLOCK_???", names: names![
    (0, "CLOCK_REALTIME"), (1, "CLOCK_MONOTONIC"), (2, "CLOCK_PROCESS_CPUTIME_ID"),
    (3, "CLOCK_THREAD_CPUTIME_ID"), (4, "CLOCK_MONOTONIC_RAW"), (5, "CLOCK_REALTIME_COARSE"),
    (6, "CLOCK_MONOTONIC_COARSE"), (7, "CLOCK_BOOTTIME"), (8, "CLOCK_REALTIME_ALARM"),
    (9, "CLOCK_BOOTTIME_ALARM"), (0xa, "CLOCK_SGI_CYCLE"), (0xb, "CLOCK_TAI"),
] };

/// `adjtimex`.
#[rustfmt::skip]
pub(crate) static ADJUST: Flags = Flags { unknown: "ADJ_???", names: names![
    (1, "ADJ_OFFSET"), (2, "ADJ_FREQUENCY"), (4, "ADJ_MAXERROR"), (8, "ADJ_ESTERROR"),
    (0x10, "ADJ_STATUS"), (0x20, "ADJ_TIMECONST"), (0x80, "ADJ_TAI"), (0x100, "ADJ_SETOFFSET"),
    (0x1000, "ADJ_MICRO"), (0x2000, "ADJ_NANO"), (0x4000, "ADJ_TICK"),
] };

/// The state of the clock.
#[rustfmt::skip]
pub(crate) static CLOCK_STATUS: Flags = Flags { unknown: "STA_???", names: names![
    (1, "STA_PLL"), (2, "STA_PPSFREQ"), (4, "STA_PPSTIME"), (8, "STA_FLL"), (0x10, "STA_INS"),
    (0x20, "STA_DEL"), (0x40, "STA_UNSYNC"), (0x80, "STA_FREQHOLD"), (0x100, "STA_PPSSIGNAL"),
    (0x200, "STA_PPSJITTER"), (0x400, "STA_PPSWANDER"), (0x800, "STA_PPSERROR"),
    (0x1000, "STA_CLOCKERR"), (0x2000, "STA_NANO"), (0x4000, "STA_MODE"), (0x8000, "STA_CLK"),
] };

/// What `adjtimex` returns.
#[rustfmt::skip]
pub(crate) static CLOCK_RESULT: Names = Names { unknown: "TIME_???", names: names![
    (0, "TIME_OK"), (1, "TIME_INS"), (2, "TIME_DEL"), (3, "TIME_OOP"), (4, "TIME_WAIT"),
    (5, "TIME_ERROR"),
] };

/// `clock_nanosleep`, `timer_settime`.
#[rustfmt::skip]
pub(crate) static TIMER: Flags = Flags { unknown: "TIMER_???", names: names![
    (1, "TIMER_ABSTIME"),
] };

/// `setitimer`.
#[rustfmt::skip]
pub(crate) static INTERVAL_TIMER: Names = Names { unknown: "ITIMER_???", names: names![
    (0, "ITIMER_REAL"), (1, "ITIMER_VIRTUAL"), (2, "ITIMER_PROF"),
] };

/// `timerfd_create`, `timerfd_settime`.
#[rustfmt::skip]
pub(crate) static TIMERFD: Flags = Flags { unknown: "TFD_???", names: names![
    (1, "TFD_TIMER_ABSTIME"), (2, "TFD_TIMER_CANCEL_ON_SET"), (0x80000, "TFD_CLOEXEC"),
    (0x800, "TFD_NONBLOCK"),
] };

/// `eventfd2`.
#[rustfmt::skip]
pub(crate) static EVENTFD: Flags = Flags { unknown: "EFD_???", names: names![
    (1, "EFD_SEMAPHORE"), (0x80000, "EFD_CLOEXEC"), (0x800, "EFD_NONBLOCK"),
] };

/// `signalfd4`.
#[rustfmt::skip]
pub(crate) static SIGNALFD: Flags = Flags { unknown: "SFD_???", names: names![
    (0x80000, "SFD_CLOEXEC"), (0x800, "SFD_NONBLOCK"),
] };

/// `epoll_create1`.
#[rustfmt::skip]
pub(crate) static EPOLL_CREATE: Flags = Flags { unknown: "EPOLL_???", names: names![
    (0x80000, "EPOLL_CLOEXEC"),
] };

/// `epoll_ctl`.
#[rustfmt::skip]
pub(crate) static EPOLL_CONTROL: Names = Names { unknown: "EPOLL_CTL_???", names: names![
    (1, "EPOLL_CTL_ADD"), (2, "EPOLL_CTL_DEL"), (3, "EPOLL_CTL_MOD"),
] };

/// `futex`, without the flag for the clock.
#[rustfmt::skip]
pub(crate) static FUTEX: Names = Names { unknown: "FUTEX_???", names: names![
    (0, "FUTEX_WAIT"), (1, "FUTEX_WAKE"), (2, "FUTEX_FD"), (3, "FUTEX_REQUEUE"),
    (4, "FUTEX_CMP_REQUEUE"), (5, "FUTEX_WAKE_OP"), (6, "FUTEX_LOCK_PI"), (7, "FUTEX_UNLOCK_PI"),
    (8, "FUTEX_TRYLOCK_PI"), (9, "FUTEX_WAIT_BITSET"), (0xa, "FUTEX_WAKE_BITSET"),
    (0xb, "FUTEX_WAIT_REQUEUE_PI"), (0xc, "FUTEX_CMP_REQUEUE_PI"), (0xd, "FUTEX_LOCK_PI2"),
    (0x80, "FUTEX_WAIT_PRIVATE"), (0x81, "FUTEX_WAKE_PRIVATE"), (0x83, "FUTEX_REQUEUE_PRIVATE"),
    (0x84, "FUTEX_CMP_REQUEUE_PRIVATE"), (0x85, "FUTEX_WAKE_OP_PRIVATE"),
    (0x86, "FUTEX_LOCK_PI_PRIVATE"), (0x87, "FUTEX_UNLOCK_PI_PRIVATE"),
    (0x88, "FUTEX_TRYLOCK_PI_PRIVATE"), (0x89, "FUTEX_WAIT_BITSET_PRIVATE"),
    (0x8a, "FUTEX_WAKE_BITSET_PRIVATE"), (0x8b, "FUTEX_WAIT_REQUEUE_PI_PRIVATE"),
    (0x8c, "FUTEX_CMP_REQUEUE_PI_PRIVATE"), (0x8d, "FUTEX_LOCK_PI2_PRIVATE"),
] };

/// `poll`.
#[rustfmt::skip]
pub(crate) static POLL: Flags = Flags { unknown: "POLL???", names: names![
    (1, "POLLIN"), (2, "POLLPRI"), (4, "POLLOUT"), (8, "POLLERR"), (0x10, "POLLHUP"),
    (0x20, "POLLNVAL"), (0x40, "POLLRDNORM"), (0x80, "POLLRDBAND"), (0x100, "POLLWRNORM"),
    (0x200, "POLLWRBAND"), (0x400, "POLLMSG"), (0x1000, "POLLREMOVE"), (0x2000, "POLLRDHUP"),
    (0x8000, "POLL_BUSY_LOOP"),
] };

/// `epoll_ctl`, `epoll_wait`.
#[rustfmt::skip]
pub(crate) static EPOLL: Flags = Flags { unknown: "EPOLL???", names: names![
    (1, "EPOLLIN"), (2, "EPOLLPRI"), (4, "EPOLLOUT"), (0x40, "EPOLLRDNORM"),
    (0x80, "EPOLLRDBAND"), (0x100, "EPOLLWRNORM"), (0x200, "EPOLLWRBAND"), (0x400, "EPOLLMSG"),
    (8, "EPOLLERR"), (0x10, "EPOLLHUP"), (0x2000, "EPOLLRDHUP"), (0x10000000, "EPOLLEXCLUSIVE"),
    (0x20000000, "EPOLLWAKEUP"), (0x40000000, "EPOLLONESHOT"), (0x80000000, "EPOLLET"),
] };

/// `getrandom`.
#[rustfmt::skip]
pub(crate) static RANDOM: Flags = Flags { unknown: "GRND_???", names: names![
    (1, "GRND_NONBLOCK"), (2, "GRND_RANDOM"), (4, "GRND_INSECURE"),
] };

/// `io_uring_enter`.
#[rustfmt::skip]
pub(crate) static RING_ENTER: Flags = Flags { unknown: "IORING_ENTER_???", names: names![
    (1, "IORING_ENTER_GETEVENTS"), (2, "IORING_ENTER_SQ_WAKEUP"), (4, "IORING_ENTER_SQ_WAIT"),
    (8, "IORING_ENTER_EXT_ARG"), (0x10, "IORING_ENTER_REGISTERED_RING"),
] };

/// `io_uring_register`.
#[rustfmt::skip]
pub(crate) static RING_REGISTER: Names = Names { unknown: "IORING_REGISTER_???", names: names![
    (0, "IORING_REGISTER_BUFFERS"), (1, "IORING_UNREGISTER_BUFFERS"),
    (2, "IORING_REGISTER_FILES"), (3, "IORING_UNREGISTER_FILES"), (4, "IORING_REGISTER_EVENTFD"),
    (5, "IORING_UNREGISTER_EVENTFD"), (6, "IORING_REGISTER_FILES_UPDATE"),
    (7, "IORING_REGISTER_EVENTFD_ASYNC"), (8, "IORING_REGISTER_PROBE"),
    (9, "IORING_REGISTER_PERSONALITY"), (0xa, "IORING_UNREGISTER_PERSONALITY"),
    (0xb, "IORING_REGISTER_RESTRICTIONS"), (0xc, "IORING_REGISTER_ENABLE_RINGS"),
    (0xd, "IORING_REGISTER_FILES2"), (0xe, "IORING_REGISTER_FILES_UPDATE2"),
    (0xf, "IORING_REGISTER_BUFFERS2"), (0x10, "IORING_REGISTER_BUFFERS_UPDATE"),
    (0x11, "IORING_REGISTER_IOWQ_AFF"), (0x12, "IORING_UNREGISTER_IOWQ_AFF"),
    (0x13, "IORING_REGISTER_IOWQ_MAX_WORKERS"), (0x14, "IORING_REGISTER_RING_FDS"),
    (0x15, "IORING_UNREGISTER_RING_FDS"), (0x16, "IORING_REGISTER_PBUF_RING"),
    (0x17, "IORING_UNREGISTER_PBUF_RING"),
] };

/// `rt_sigprocmask`.
#[rustfmt::skip]
pub(crate) static MASK_HOW: Names = Names { unknown: "SIG_???", names: names![
    (0, "SIG_BLOCK"), (1, "SIG_UNBLOCK"), (2, "SIG_SETMASK"),
] };

/// `rt_sigaction`.
#[rustfmt::skip]
pub(crate) static ACTION: Flags = Flags { unknown: "SA_???", names: names![
    (0x4000000, "SA_RESTORER"), (0x8000000, "SA_ONSTACK"), (0x10000000, "SA_RESTART"),
    (0x20000000, "SA_INTERRUPT"), (0x40000000, "SA_NODEFER"), (0x80000000, "SA_RESETHAND"),
    (1, "SA_NOCLDSTOP"), (2, "SA_NOCLDWAIT"), (4, "SA_SIGINFO"), (0x400, "SA_UNSUPPORTED"),
    (0x800, "SA_EXPOSE_TAGBITS"),
] };

/// `sigaltstack`.
#[rustfmt::skip]
pub(crate) static STACK: Flags = Flags { unknown: "SS_???", names: names![
    (1, "SS_ONSTACK"), (2, "SS_DISABLE"), (0x80000000, "SS_AUTODISARM"),
] };

//! Calls on sockets, signals, time, and waiting for any of them.

use super::{Class, SyscallEntry, bits, calls, name};
use crate::decode::{
    address::{ADDRESS_IN, ADDRESS_OUT, LENGTH_INOUT},
    control::{FUTEX, FUTEX_ARGUMENT},
    ioctl::{ARGUMENT as IOCTL, REQUEST},
    ipc::EVENT,
    netlink::{RECEIVED, SENT},
    network::{PAIR_OUT, PROTOCOL, TYPE},
    numbers::{FD, HEX, HEX32, INT, POINTER, SIGNAL, SIZE, UINT},
    options::{OPTION, VALUE_IN, VALUE_OUT},
    poll::{
        EVENT_IN, EVENTS_OUT, LIMIT_NS, LIMIT_US, MASK, POLL, POLL_RESULT, PPOLL_RESULT,
        PSELECT_RESULT, RECEIVED_RESULT, SELECT_RESULT, SET,
    },
    process::NUMBER_OUT,
    result::{CLOCK_STATE, DECIMAL, DESCRIPTOR, SIGNAL as SIGNAL_RESULT, TIME as TIME_RESULT},
    signals::{
        ACTION_IN, ACTION_OUT, FRAME_MASK, SET_IN, SET_IN_2, SET_IN_3, SET_OUT, SIGINFO_IN,
        SIGINFO_OUT, STACK_IN, STACK_OUT,
    },
    text::RANDOM_OUT,
    time::{
        ADJUST, ITIMERSPEC_IN, ITIMERSPEC_OUT, ITIMERVAL_IN, ITIMERVAL_OUT, REMAINDER, TIME_OUT,
        TIMESPEC_IN, TIMESPEC_OUT, TIMEVAL_IN, TIMEVAL_OUT, ZONE_IN, ZONE_OUT,
    },
    vectors::{
        MESSAGE_IN as SOCKET_MESSAGE_IN, MESSAGE_OUT as SOCKET_MESSAGE_OUT,
        MESSAGES_IN as SOCKET_MESSAGES_IN, MESSAGES_OUT as SOCKET_MESSAGES_OUT,
    },
};
use crate::flags::{event as e, network as n};

#[rustfmt::skip]
pub(super) static CALLS: &[SyscallEntry] = calls! {
    poll(POLL, UINT, INT) -> POLL_RESULT [DESC];
    rt_sigaction(SIGNAL, ACTION_IN, ACTION_OUT, SIZE) -> DECIMAL [SIGNAL];
    rt_sigprocmask(name(&e::MASK_HOW), SET_IN_2, SET_OUT, SIZE) -> DECIMAL [SIGNAL];
    rt_sigreturn(FRAME_MASK) -> DECIMAL [SIGNAL];
    ioctl(FD, REQUEST, IOCTL) -> DECIMAL [DESC];
    select(INT, SET, SET, SET, LIMIT_US) -> SELECT_RESULT [DESC];
    pause() -> DECIMAL [SIGNAL];
    nanosleep(TIMESPEC_IN, REMAINDER) -> DECIMAL [];
    getitimer(name(&e::INTERVAL_TIMER), ITIMERVAL_OUT) -> DECIMAL [];
    alarm(UINT) -> DECIMAL [];
    setitimer(name(&e::INTERVAL_TIMER), ITIMERVAL_IN, ITIMERVAL_OUT) -> DECIMAL [];
    socket(name(&n::FAMILY), TYPE, PROTOCOL) -> DESCRIPTOR [NETWORK];
    connect(FD, ADDRESS_IN, INT) -> DECIMAL [NETWORK];
    accept(FD, ADDRESS_OUT, LENGTH_INOUT) -> DESCRIPTOR [NETWORK];
    sendto(FD, SENT, SIZE, bits(&n::MESSAGE), ADDRESS_IN, INT) -> DECIMAL [NETWORK];
    recvfrom(FD, RECEIVED, SIZE, bits(&n::MESSAGE), ADDRESS_OUT, LENGTH_INOUT) -> DECIMAL [NETWORK];
    sendmsg(FD, SOCKET_MESSAGE_IN, bits(&n::MESSAGE)) -> DECIMAL [NETWORK];
    recvmsg(FD, SOCKET_MESSAGE_OUT, bits(&n::MESSAGE)) -> DECIMAL [NETWORK];
    shutdown(FD, name(&n::SHUTDOWN)) -> DECIMAL [NETWORK];
    bind(FD, ADDRESS_IN, INT) -> DECIMAL [NETWORK];
    listen(FD, INT) -> DECIMAL [NETWORK];
    getsockname(FD, ADDRESS_OUT, LENGTH_INOUT) -> DECIMAL [NETWORK];
    getpeername(FD, ADDRESS_OUT, LENGTH_INOUT) -> DECIMAL [NETWORK];
    socketpair(name(&n::FAMILY), TYPE, PROTOCOL, PAIR_OUT) -> DECIMAL [NETWORK];
    setsockopt(FD, name(&n::LEVEL), OPTION, VALUE_IN, INT) -> DECIMAL [NETWORK];
    getsockopt(FD, name(&n::LEVEL), OPTION, VALUE_OUT, LENGTH_INOUT) -> DECIMAL [NETWORK];
    gettimeofday(TIMEVAL_OUT, ZONE_OUT) -> DECIMAL [CLOCK];
    rt_sigpending(SET_OUT, SIZE) -> DECIMAL [SIGNAL];
    rt_sigtimedwait(SET_IN_3, SIGINFO_OUT, TIMESPEC_IN, SIZE) -> SIGNAL_RESULT [SIGNAL];
    rt_sigqueueinfo(INT, SIGNAL, SIGINFO_IN) -> DECIMAL [PROCESS SIGNAL];
    rt_sigsuspend(SET_IN, SIZE) -> DECIMAL [SIGNAL];
    sigaltstack(STACK_IN, STACK_OUT) -> DECIMAL [SIGNAL];
    adjtimex(ADJUST) -> CLOCK_STATE [CLOCK];
    settimeofday(TIMEVAL_IN, ZONE_IN) -> DECIMAL [CLOCK];
    time(TIME_OUT) -> TIME_RESULT [CLOCK];
    futex(POINTER, FUTEX, FUTEX_ARGUMENT, FUTEX_ARGUMENT, FUTEX_ARGUMENT, FUTEX_ARGUMENT) -> DECIMAL [];
    epoll_create(INT) -> DESCRIPTOR [DESC];
    epoll_ctl_old(HEX, HEX, HEX, HEX) -> DECIMAL [];
    epoll_wait_old(HEX, HEX, HEX, HEX) -> DECIMAL [];
    timer_create(name(&e::CLOCK), EVENT, NUMBER_OUT) -> DECIMAL [];
    timer_settime(INT, bits(&e::TIMER), ITIMERSPEC_IN, ITIMERSPEC_OUT) -> DECIMAL [];
    timer_gettime(INT, ITIMERSPEC_OUT) -> DECIMAL [];
    timer_getoverrun(INT) -> DECIMAL [];
    timer_delete(INT) -> DECIMAL [];
    clock_settime(name(&e::CLOCK), TIMESPEC_IN) -> DECIMAL [CLOCK];
    clock_gettime(name(&e::CLOCK), TIMESPEC_OUT) -> DECIMAL [CLOCK];
    clock_getres(name(&e::CLOCK), TIMESPEC_OUT) -> DECIMAL [CLOCK];
    clock_nanosleep(name(&e::CLOCK), bits(&e::TIMER), TIMESPEC_IN, REMAINDER) -> DECIMAL [];
    epoll_wait(FD, EVENTS_OUT, INT, INT) -> DECIMAL [DESC];
    epoll_ctl(FD, name(&e::EPOLL_CONTROL), FD, EVENT_IN) -> DECIMAL [DESC];
    pselect6(INT, SET, SET, SET, LIMIT_NS, MASK) -> PSELECT_RESULT [DESC];
    ppoll(POLL, UINT, LIMIT_NS, SET_IN, SIZE) -> PPOLL_RESULT [DESC];
    epoll_pwait(FD, EVENTS_OUT, INT, INT, SET_IN, SIZE) -> DECIMAL [DESC];
    signalfd(FD, SET_IN, SIZE) -> DESCRIPTOR [DESC SIGNAL];
    timerfd_create(name(&e::CLOCK), bits(&e::TIMERFD)) -> DESCRIPTOR [DESC];
    eventfd(UINT) -> DESCRIPTOR [DESC];
    timerfd_settime(FD, bits(&e::TIMERFD), ITIMERSPEC_IN, ITIMERSPEC_OUT) -> DECIMAL [DESC];
    timerfd_gettime(FD, ITIMERSPEC_OUT) -> DECIMAL [DESC];
    accept4(FD, ADDRESS_OUT, LENGTH_INOUT, bits(&n::TYPE_FLAGS)) -> DESCRIPTOR [NETWORK];
    signalfd4(FD, SET_IN, SIZE, bits(&e::SIGNALFD)) -> DESCRIPTOR [DESC SIGNAL];
    eventfd2(UINT, bits(&e::EVENTFD)) -> DESCRIPTOR [DESC];
    epoll_create1(bits(&e::EPOLL_CREATE)) -> DESCRIPTOR [DESC];
    rt_tgsigqueueinfo(INT, INT, SIGNAL, SIGINFO_IN) -> DECIMAL [PROCESS SIGNAL];
    recvmmsg(FD, SOCKET_MESSAGES_OUT, UINT, bits(&n::MESSAGE), LIMIT_NS) -> RECEIVED_RESULT [NETWORK];
    clock_adjtime(name(&e::CLOCK), ADJUST) -> CLOCK_STATE [CLOCK];
    sendmmsg(FD, SOCKET_MESSAGES_IN, UINT, bits(&n::MESSAGE)) -> DECIMAL [NETWORK];
    getrandom(RANDOM_OUT, SIZE, bits(&e::RANDOM)) -> DECIMAL [];
    epoll_pwait2(FD, EVENTS_OUT, INT, TIMESPEC_IN, SET_IN, SIZE) -> DECIMAL [DESC];
    futex_waitv(POINTER, UINT, HEX32, TIMESPEC_IN, name(&e::CLOCK)) -> DECIMAL [];
    futex_wake(POINTER, HEX, INT, HEX32) -> DECIMAL [];
    futex_wait(POINTER, HEX, HEX, HEX32, TIMESPEC_IN, name(&e::CLOCK)) -> DECIMAL [];
    futex_requeue(POINTER, HEX32, INT, INT) -> DECIMAL [];
};

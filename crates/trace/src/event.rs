//! What a traced task did, as an engine hands it over.
//!
//! Events of one task come in the order in which they happened; those of several tasks in the order
//! in which the engine saw them, which is right within microseconds.  Times are on
//! `CLOCK_MONOTONIC`.

use crate::CallId;

/// One event of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceEvent {
    /// When, on `CLOCK_MONOTONIC`.
    pub time_ns: u64,
    /// The thread (what the kernel calls a pid).
    pub thread: i32,
    /// The process of the thread (what the kernel calls a tgid).
    pub process: i32,
    /// What it did.
    pub what: EventKind,
}

/// A system call with its arguments as they were in the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Which call.
    pub id: CallId,
    /// The six argument words; those of a 32-bit program are zero-extended.  `rt_sigreturn` has no
    /// arguments: its first word is the address of the signal mask in its frame (0: unknown).
    pub arguments: [u64; 6],
}

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventKind {
    /// The task enters a system call.
    Enter(Call),
    /// The task returns from a system call.  There is no [`Enter`](EventKind::Enter) before it if
    /// the engine attached within the call.
    Exit {
        /// The call again: memory that the kernel has filled in can be read now.
        call: Call,
        /// The result: −4095 to −1 are negated error numbers.
        result: i64,
        /// Time from entry to exit; from the attach, if that was within the call.
        wall_ns: u64,
        /// The part of that time on a CPU; `None` if the engine does not know it.
        cpu_ns: Option<u64>,
        /// What was done to it on purpose.
        changes: CallChanges,
    },
    /// A signal is delivered to the task.
    Signal(Signal),
    /// The task was stopped by this signal.
    Stopped(i32),
    /// The task is new, and traced because its parent is.
    Began {
        /// The process that created it.
        parent: i32,
    },
    /// The task has called `execve`: all other threads are gone, and it has the number of its
    /// process from now on.
    Superseded {
        /// The number that it had before.
        former: i32,
    },
    /// The task has exited.
    Ended(WaitStatus),
    /// The task is detached from after its `execve`, and runs on.
    Detached,
}

/// What was done to a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallChanges {
    /// It was not made; its result is one that was asked for.
    pub is_injected: bool,
    /// The task waited before the call or after it.
    pub is_delayed: bool,
}

/// How a task exited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitStatus {
    /// With this status.
    Exited(i32),
    /// Killed by a signal.
    Signaled {
        /// The signal.
        number: i32,
        /// Whether it dumped core.
        dumped: bool,
    },
}

impl WaitStatus {
    /// The status that a shell has for it: of a signal 128 and its number.
    #[must_use]
    pub fn status(self) -> u8 {
        let code = match self {
            WaitStatus::Exited(status) => status & 0xff,
            WaitStatus::Signaled { number, .. } => 128 + number,
        };
        u8::try_from(code).unwrap_or(u8::MAX)
    }
}

/// A `siginfo_t`; the meaning of fields depends on `number` and `code` (sigaction(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signal {
    /// `si_signo`.
    pub number: i32,
    /// `si_code`.
    pub code: i32,
    /// `si_errno`.
    pub error: i32,
    /// The process that sent it, or the child that it is about.
    pub pid: i32,
    /// The user of that process.
    pub uid: u32,
    /// `si_status` of a child, or all eight bytes of `si_value`; for `SIGSYS` the call (low half)
    /// and its audit architecture.
    pub status: i64,
    /// `si_addr` of a fault, or `si_call_addr`, or `si_band`.
    pub address: u64,
    /// `si_utime` of a child, in ticks of 1/100 s.
    pub user_ticks: i64,
    /// `si_stime` of a child, in ticks of 1/100 s.
    pub system_ticks: i64,
}

impl Signal {
    /// Parses the `siginfo_t` of a 64-bit kernel.
    #[must_use]
    pub fn from_siginfo(bytes: &[u8; 128]) -> Self {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        let half = |at: usize| (word(at & !7) >> (at % 8 * 8)) as i32;
        let number = half(0);
        let code = half(8);
        let is_child = number == libc::SIGCHLD && code > 0;
        Signal {
            number,
            code,
            error: half(4),
            pid: half(16),
            uid: half(20) as u32,
            status: if is_child { i64::from(half(24)) } else { word(24) as i64 },
            address: word(16),
            user_ticks: if is_child { word(32) as i64 } else { 0 },
            system_ticks: if is_child { word(40) as i64 } else { 0 },
        }
    }
}

/// The memory that the pointers of a call point to, while its event is handled.
///
/// The ptrace engines read the task's memory when asked; the engine in the kernel has copied what
/// the table of calls names.
pub trait Memory {
    /// Copies the bytes at an address that are readable to `into`; returns how many.
    fn read(&self, address: u64, into: &mut [u8]) -> usize;

    /// The instruction pointer of the task, and whether it runs a 64-bit program; `None` if that is
    /// not known.
    fn instruction_pointer(&self) -> Option<(u64, bool)> {
        None
    }
}

/// Nothing of the memory is known: pointers are shown as numbers.
impl Memory for () {
    fn read(&self, _address: u64, _into: &mut [u8]) -> usize {
        0
    }
}

/// The error number that a result stands for; `None` for a success.
#[must_use]
pub fn error_of(result: i64) -> Option<i32> {
    (-4095..0).contains(&result).then_some(-result as i32)
}

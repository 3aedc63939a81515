//! What a traced task did, as an engine tells it.
//!
//! Events of one task come in the order in which they happened; those of several as the engine saw
//! them, which is within microseconds of it.  Times are on the monotonic clock.

use crate::CallId;

/// One thing that a task did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceEvent {
    /// CapturePhase, on `CLOCK_MONOTONIC`.
    pub time_ns: u64,
    /// The thread (what the kernel calls a pid).
    pub thread: i32,
    /// Its process (what the kernel calls a tgid).
    pub process: i32,
    /// What it did.
    pub what: EventKind,
}

/// A system call with its arguments as they stood in the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Which.
    pub id: CallId,
    /// The six words; those of a 32-bit program are extended with zeros.  `rt_sigreturn` has no
    /// arguments: its first word is where its frame keeps the set of blocked signals (0: unknown).
    pub arguments: [u64; 6],
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventKind {
    /// The task asks for something.
    Enter(Call),
    /// The task has its answer.  Comes without an [`Enter`](EventKind::Enter) before it if the engine was
    /// attached in between.
    Exit {
        /// The call, told again as arguments that the kernel writes through are now worth reading.
        call: Call,
        /// What it gave: −4095 to −1 are negated error numbers.
        result: i64,
        /// From begin to end; from when the engine was attached, if that was in between.
        wall_ns: u64,
        /// Of that, on a CPU; `None` if the engine cannot tell.
        cpu_ns: Option<u64>,
    },
    /// A signal is delivered to it.
    Signal(Signal),
    /// It has stopped because of this signal.
    Stopped(i32),
    /// It is new, and traced because its parent is.
    Began {
        /// The process that made it.
        parent: i32,
    },
    /// It began another program; all other threads are gone, and it has the number of its process
    /// from now on.
    Superseded {
        /// The number that it had.
        former: i32,
    },
    /// It is no more.
    Ended(WaitStatus),
}

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitStatus {
    /// With this status.
    Exited(i32),
    /// By a signal.
    Signaled {
        /// Which.
        number: i32,
        /// Whether it left a core file.
        dumped: bool,
    },
}

/// What `siginfo_t` says, of which the meaning depends on `number` and `code` (sigaction(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signal {
    /// `si_signo`.
    pub number: i32,
    /// `si_code`.
    pub code: i32,
    /// `si_errno`.
    pub error: i32,
    /// Who sent it, or which child it is about.
    pub pid: i32,
    /// The user of that.
    pub uid: u32,
    /// `si_status` of a child, or all eight bytes of `si_value`; of `SIGSYS` the call (low half)
    /// and its table.
    pub status: i64,
    /// `si_addr` of a fault, or `si_call_addr`, or `si_band`.
    pub address: u64,
    /// `si_utime` of a child, in ticks of 1/100 s.
    pub user_ticks: i64,
    /// `si_stime` of a child, in ticks of 1/100 s.
    pub system_ticks: i64,
}

impl Signal {
    /// What a `siginfo_t` of a 64-bit kernel says, as it stands in memory.
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

/// What the pointers of a call point to, while its event is looked at.
///
/// One engine reads the task's memory when it is asked, another has copied beforehand what the table
/// of calls says will be asked for.
pub trait Memory {
    /// CopiedMemory what stands at an address, as far as it can be had; gives the number of bytes.
    fn read(&self, address: u64, into: &mut [u8]) -> usize;
}

/// Nothing is known of the memory: pointers are shown as numbers.
impl Memory for () {
    fn read(&self, _address: u64, _into: &mut [u8]) -> usize {
        0
    }
}

/// The error number that a result stands for.
#[must_use]
pub fn error_of(result: i64) -> Option<i32> {
    (-4095..0).contains(&result).then_some(-result as i32)
}

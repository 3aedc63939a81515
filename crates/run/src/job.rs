//! What the parts hand to each other: records, work, and how a job ended.
//!
//! Values are bytes, not text: file names need not be UTF-8.

/// One combination of the input sources' values: what `{1}`, `{2}` … stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The values, by position; with columns (`--colsep`), those of all sources numbered on.
    pub values: Vec<Vec<u8>>,
}

impl Record {
    /// A record of one value.
    pub fn of(value: impl Into<Vec<u8>>) -> Self {
        Record { values: vec![value.into()] }
    }
}

/// What one job is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// The number of the job, from 1: `{#}`, and `Seq` in the joblog.
    pub seq: u64,
    /// One record; several when arguments are packed (`-N`, `-n`, `-L`, `-X`, `-m`); none when the
    /// command takes no argument (`--pipe`, `-N0`).
    pub records: Vec<Record>,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// By itself, with this exit code.
    Exited(u8),
    /// By this signal.
    Signalled(u8),
    /// We ended it, by a timeout, for want of memory, or because everything is to end; the signal
    /// that it died of, 0 if it made an exit of it.
    Killed(u8),
    /// It was never started, as its own template asked (`skip()`).
    Skipped,
}

impl Outcome {
    /// Whether it counts as done well.
    pub fn is_success(self) -> bool {
        matches!(self, Outcome::Exited(0) | Outcome::Skipped)
    }

    /// `Exitval` of the joblog: the exit code; -1 of those we ended, -2 of those never started.
    pub fn exit_value(self) -> i32 {
        match self {
            Outcome::Exited(code) => i32::from(code),
            Outcome::Signalled(_) => 0,
            Outcome::Killed(_) => -1,
            Outcome::Skipped => -2,
        }
    }

    /// `Signal` of the joblog: the signal that ended it, or 0.
    pub fn signal(self) -> i32 {
        match self {
            Outcome::Signalled(signal) | Outcome::Killed(signal) => i32::from(signal),
            Outcome::Exited(_) | Outcome::Skipped => 0,
        }
    }
}

/// What a job used, by the kernel's account of it and of the children that it waited for
/// (getrusage(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// User time, microseconds.
    pub user_us: u64,
    /// System time, microseconds.
    pub system_us: u64,
    /// Peak resident memory of the largest of them, KiB; `None` where it was not above the runner's
    /// own, which the kernel counts into it.  May be the runner's own unless details are asked for
    /// ([`Details`](crate::spawn::Details)).
    pub resident_kib: Option<u64>,
    /// Times it gave the CPU away.
    pub voluntary_switches: u64,
    /// Times the CPU was taken from it.
    pub involuntary_switches: u64,
    /// Page faults that needed no reading.
    pub minor_faults: u64,
    /// Page faults that read from a disk.
    pub major_faults: u64,
    /// From the moment it could start to its program running, nanoseconds.
    pub spawn_ns: u64,
    /// What of the CPU time was the shell's.
    pub shell: ShellTime,
}

/// What of a job's CPU time was the shell's that ran it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShellTime {
    /// Nobody asked, or the kernel does not tell.
    #[default]
    Unknown,
    /// There was no shell.
    NoShell,
    /// The shell became the command (`exec`, or its last one): what it had used until then is in
    /// the command's.
    Became,
    /// So many nanoseconds.
    Own(u64),
}

impl ShellTime {
    /// Nanoseconds, where they are known.
    pub fn ns(self) -> Option<u64> {
        match self {
            ShellTime::Unknown => None,
            ShellTime::NoShell | ShellTime::Became => Some(0),
            ShellTime::Own(ns) => Some(ns),
        }
    }
}

impl Account {
    /// What of the CPU time was not the shell's, microseconds, where that is known.
    pub fn command_us(&self) -> Option<u64> {
        Some((self.user_us + self.system_us).saturating_sub(self.shell.ns()? / 1000))
    }
}

/// A job that has ended: a line of the joblog.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// Its number, from 1.
    pub seq: u64,
    /// The slot it ran in, from 1.
    pub slot: u32,
    /// Where it ran: `:` is here.
    pub host: String,
    /// When it was started: nanoseconds since 1970, UTC.
    pub start_ns: u64,
    /// How long it ran, nanoseconds.
    pub wall_ns: u64,
    /// Bytes sent to it: files transferred, or its standard input with `--pipe`.
    pub send_bytes: u64,
    /// Bytes got from it: what it wrote, and files returned.
    pub receive_bytes: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Which attempt this was, from 1 (`--retries`).
    pub attempt: u32,
    /// The command line as a shell would read it.
    pub command: Vec<u8>,
    /// Its argument records: `V1` … of `--results` as a table.
    pub records: Vec<Record>,
    /// What it used; `None` where it ran elsewhere.
    pub account: Option<Account>,
}

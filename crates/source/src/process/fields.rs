//! The columns of a process: the same for every way of reading them.
//!
//! Units are those of `/proc` if it has the value, so that the numbers can be compared.

use sample::{Field, Unit};

/// Defines columns and the constants for their indexes, in one list.
macro_rules! fields {
    ($($constant:ident = $field:expr;)*) => {
        #[repr(usize)]
        #[allow(dead_code, clippy::upper_case_acronyms, non_camel_case_types, reason = "only numbers the constants")]
        enum Index { $($constant,)* }
        $(#[allow(dead_code, reason = "a column that no code reads by its index")]
        pub(crate) const $constant: usize = Index::$constant as usize;)*
        /// All of them, in that order.
        pub(crate) const FIELDS: &[Field] = &[$($field,)*];
    };
}

pub(crate) use fields;

use Unit::{Bytes, Count, Kibibytes, Nanoseconds, Ticks};

fields! {
    COMMAND = Field::text("command", "Name of the process or thread (comm)");
    COMMAND_LINE = Field::text("command_line", "Program and arguments, separated by blanks");
    EXECUTABLE = Field::text("executable", "The program's file");
    USER = Field::text("user", "Name of the real user, or the id if it has none");
    CGROUP = Field::text("cgroup", "Path of its control group");
    STATE = Field::text("state", "R running or runnable, S sleeping, D uninterruptible sleep, T stopped, t traced, Z zombie, I idle, X dead");
    TGID = Field::gauge("tgid", Count, "Process id; for a thread other than the first, that of its process");
    PARENT = Field::gauge("parent", Count, "Process id of the parent");
    UID = Field::gauge("uid", Count, "Real user id");
    CGROUP_ID = Field::gauge("cgroup_id", Count, "Id of its control group in the unified hierarchy");
    THREADS = Field::gauge("threads", Count, "Threads of the process");
    PRIORITY = Field::gauge("priority", Count, "Priority as in /proc: nice value plus 20; below 0 for real time");
    NICE = Field::gauge("nice", Count, "Nice value, -20 to 19");
    REALTIME_PRIORITY = Field::gauge("realtime_priority", Count, "Real-time priority, 0 for others");
    POLICY = Field::gauge("policy", Count, "Scheduling policy: 0 other, 1 fifo, 2 rr, 3 batch, 5 idle, 6 deadline, 7 ext");
    PROCESSOR = Field::gauge("processor", Count, "CPU on which it ran last");
    START_TIME = Field::gauge("start_time", Ticks, "Start time, since boot");
    USER_TIME = Field::counter("user_time", Ticks, "CPU time in user mode");
    SYSTEM_TIME = Field::counter("system_time", Ticks, "CPU time in the kernel");
    CHILD_USER_TIME = Field::counter("child_user_time", Ticks, "User time of exited children that it waited for");
    CHILD_SYSTEM_TIME = Field::counter("child_system_time", Ticks, "System time of exited children that it waited for");
    RUN_TIME = Field::counter("run_time", Nanoseconds, "CPU time, exact");
    RUN_DELAY = Field::counter("run_delay", Nanoseconds, "Time runnable, waiting for a CPU");
    MINOR_FAULTS = Field::counter("minor_faults", Count, "Page faults without I/O");
    MAJOR_FAULTS = Field::counter("major_faults", Count, "Page faults with I/O");
    CHILD_MINOR_FAULTS = Field::counter("child_minor_faults", Count, "Minor faults of exited children that it waited for");
    CHILD_MAJOR_FAULTS = Field::counter("child_major_faults", Count, "Major faults of exited children that it waited for");
    VOLUNTARY_SWITCHES = Field::counter("voluntary_switches", Count, "Voluntary context switches");
    INVOLUNTARY_SWITCHES = Field::counter("involuntary_switches", Count, "Involuntary context switches");
    READ_CHARS = Field::counter("read_chars", Bytes, "Bytes requested by read system calls");
    WRITE_CHARS = Field::counter("write_chars", Bytes, "Bytes passed to write system calls");
    READ_CALLS = Field::counter("read_calls", Count, "Read system calls");
    WRITE_CALLS = Field::counter("write_calls", Count, "Write system calls");
    READ_BYTES = Field::counter("read_bytes", Bytes, "Bytes read from storage");
    WRITE_BYTES = Field::counter("write_bytes", Bytes, "Bytes written to storage");
    CANCELLED_WRITE_BYTES = Field::counter("cancelled_write_bytes", Bytes, "Writes cancelled because the file was truncated");
    VIRTUAL = Field::gauge("virtual", Kibibytes, "Size of the address space");
    RESIDENT = Field::gauge("resident", Kibibytes, "Resident memory");
    LOCKED = Field::gauge("locked", Kibibytes, "Locked memory");
    DATA = Field::gauge("data", Kibibytes, "Private writable memory");
    STACK = Field::gauge("stack", Kibibytes, "Stack");
    CODE = Field::gauge("code", Kibibytes, "The program's own code");
    LIBRARIES = Field::gauge("libraries", Kibibytes, "Code of shared libraries");
    SWAP = Field::gauge("swap", Kibibytes, "Memory in swap");
    PEAK_RESIDENT = Field::gauge("peak_resident", Kibibytes, "Peak resident memory");
}

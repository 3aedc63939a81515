//! The columns of a process: the same for every way of reading them.
//!
//! Units are those of `/proc` if it has the value, so that the numbers can be compared.

use sample::fields;

fields! {
    COMMAND: text, "Name of the process or thread (comm)";
    COMMAND_LINE: text, "Program and arguments, separated by blanks";
    EXECUTABLE: text, "The program's file";
    USER: text, "Name of the real user, or the id if it has none";
    CGROUP: text, "Path of its control group";
    STATE: text,
        "R running or runnable, S sleeping, D uninterruptible sleep, T stopped, t traced, Z \
         zombie, I idle, X dead";
    TGID: gauge Count, "Process id; for a thread other than the first, that of its process";
    PARENT: gauge Count, "Process id of the parent";
    UID: gauge Count, "Real user id";
    CGROUP_ID: gauge Count, "Id of its control group in the unified hierarchy";
    THREADS: gauge Count, "Threads of the process";
    PRIORITY: gauge Count, "Priority as in /proc: nice value plus 20; below 0 for real time";
    NICE: gauge Count, "Nice value, -20 to 19";
    REALTIME_PRIORITY: gauge Count, "Real-time priority, 0 for others";
    POLICY: gauge Count,
        "Scheduling policy: 0 other, 1 fifo, 2 rr, 3 batch, 5 idle, 6 deadline, 7 ext";
    PROCESSOR: gauge Count, "CPU on which it ran last";
    START_TIME: gauge Ticks, "Start time, since boot";
    USER_TIME: counter Ticks, "CPU time in user mode";
    SYSTEM_TIME: counter Ticks, "CPU time in the kernel";
    CHILD_USER_TIME: counter Ticks, "User time of exited children that it waited for";
    CHILD_SYSTEM_TIME: counter Ticks, "System time of exited children that it waited for";
    RUN_TIME: counter Nanoseconds, "CPU time, exact";
    RUN_DELAY: counter Nanoseconds, "Time runnable, waiting for a CPU";
    MINOR_FAULTS: counter Count, "Page faults without I/O";
    MAJOR_FAULTS: counter Count, "Page faults with I/O";
    CHILD_MINOR_FAULTS: counter Count, "Minor faults of exited children that it waited for";
    CHILD_MAJOR_FAULTS: counter Count, "Major faults of exited children that it waited for";
    VOLUNTARY_SWITCHES: counter Count, "Voluntary context switches";
    INVOLUNTARY_SWITCHES: counter Count, "Involuntary context switches";
    READ_CHARS: counter Bytes, "Bytes requested by read system calls";
    WRITE_CHARS: counter Bytes, "Bytes passed to write system calls";
    READ_CALLS: counter Count, "Read system calls";
    WRITE_CALLS: counter Count, "Write system calls";
    READ_BYTES: counter Bytes, "Bytes read from storage";
    WRITE_BYTES: counter Bytes, "Bytes written to storage";
    CANCELLED_WRITE_BYTES: counter Bytes, "Writes cancelled because the file was truncated";
    VIRTUAL: gauge Kibibytes, "Size of the address space";
    RESIDENT: gauge Kibibytes, "Resident memory";
    LOCKED: gauge Kibibytes, "Locked memory";
    DATA: gauge Kibibytes, "Private writable memory";
    STACK: gauge Kibibytes, "Stack";
    CODE: gauge Kibibytes, "The program's own code";
    LIBRARIES: gauge Kibibytes, "Code of shared libraries";
    SWAP: gauge Kibibytes, "Memory in swap";
    PEAK_RESIDENT: gauge Kibibytes, "Peak resident memory";
}

//! Every process that ended since the tick before, with its whole account: also those that lived
//! between two looks.
//!
//! Reads the ring of the BPF program on `sched_process_exit`: no system call, nothing at all while
//! nothing ends.
//!
//! An instance's name is as that of a process: its number and the time it began.

use bpf::{Kernel, Life, Lives};
use procfs::Host;
use sample::{Cadence, Field, SourceDef, State, Table, Unit};

use crate::process::fields::fields;
use crate::{Entry, Source};

mod account;
mod digest;

use Unit::{Bytes, Count, Kibibytes, Nanoseconds, Ticks};

fields! {
    COMMAND = Field::text("command", "Its name at the end");
    COMMAND_LINE = Field::text("command_line", "Program and arguments, blanks between them; no more than 256 bytes");
    USER = Field::text("user", "Name of the real user, or the number if it has none");
    CGROUP = Field::text("cgroup", "Path of its control group, if it is still known");
    ORIGIN = Field::text("origin", "Who told: bpf, taskstats, or inferred (from the times of its parent)");
    PARENT = Field::gauge("parent", Count, "The process that it was a child of");
    UID = Field::gauge("uid", Count, "Number of the real user");
    CGROUP_ID = Field::gauge("cgroup_id", Count, "Id of its control group in the unified hierarchy");
    START_TIME = Field::gauge("start_time", Ticks, "When it began, since boot");
    LIFETIME = Field::gauge("lifetime", Nanoseconds, "From its beginning to its end");
    END_TIME = Field::gauge("end_time", Nanoseconds, "When it ended, since boot");
    EXIT_CODE = Field::gauge("exit_code", Count, "What it returned, missing if a signal ended it");
    SIGNAL = Field::gauge("signal", Count, "The signal that ended it");
    USER_TIME = Field::gauge("user_time", Nanoseconds, "CPU time in user mode, all its life");
    SYSTEM_TIME = Field::gauge("system_time", Nanoseconds, "CPU time in the kernel, all its life");
    RUN_TIME = Field::gauge("run_time", Nanoseconds, "CPU time, exact, all its life");
    MINOR_FAULTS = Field::gauge("minor_faults", Count, "Page faults without I/O, all its life");
    MAJOR_FAULTS = Field::gauge("major_faults", Count, "Page faults with I/O, all its life");
    VOLUNTARY_SWITCHES = Field::gauge("voluntary_switches", Count, "Times it gave the CPU up");
    INVOLUNTARY_SWITCHES = Field::gauge("involuntary_switches", Count, "Times the CPU was taken from it");
    READ_CHARS = Field::gauge("read_chars", Bytes, "Asked for by reading calls");
    WRITE_CHARS = Field::gauge("write_chars", Bytes, "Given to writing calls");
    READ_CALLS = Field::gauge("read_calls", Count, "Reading calls");
    WRITE_CALLS = Field::gauge("write_calls", Count, "Writing calls");
    READ_BYTES = Field::gauge("read_bytes", Bytes, "Fetched from storage");
    WRITE_BYTES = Field::gauge("write_bytes", Bytes, "Sent to storage");
    CANCELLED_WRITE_BYTES = Field::gauge("cancelled_write_bytes", Bytes, "Not written after all, as the file was cut");
    PEAK_RESIDENT = Field::gauge("peak_resident", Kibibytes, "The most that was in memory");
}

pub(crate) const ENTRY: Entry = Entry {
    def: &EXIT,
    open: |_, _| Box::new(Exits { lives: Kernel::open().and_then(|kernel| Lives::open(&kernel)) }),
};

struct Exits {
    lives: Result<Lives, bpf::Error>,
}

impl Source for Exits {
    fn read(&mut self, _: &mut Host, table: &mut Table) -> State {
        table.begin();
        let Ok(lives) = &mut self.lives else { return State::Absent };
        lives.drain(|life| {
            let Life::Exit(exit) = life else { return };
            let name = format!("{}\x1f{}", exit.pid, exit.start_boottime_ns / 10_000_000);
            let mut row = table.row(name.as_bytes());
            row.set(RUN_TIME, exit.run_ns);
            row.set(LIFETIME, exit.time_ns.saturating_sub(exit.start_boottime_ns));
        });
        State::Ok
    }
}

static EXIT: SourceDef = SourceDef {
    name: "exit",
    about: "Every process that ended since the tick before, with its whole account",
    letters: "Z",
    reads: &[],
    instance: &["pid", "start"],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[account::LAYOUT],
};

//! Programs that run in the kernel, and their loader.
//!
//! * [`Tasks`]: every task of the machine in one pass, as binary records (`iter/task`);
//! * [`Lives`]: what every process was called with when it began and amounted to when it ended
//!   (`tp_btf` on exec and exit, through a ring);
//! * [`Counts`]: system calls, counted and timed (`tp_btf` on their begin and end);
//! * [`Events`]: system calls told one by one (the same, through a ring);
//! * [`Nothing`]: programs at every call that do nothing, for benchmarks.
//!
//! The programs are C (`programs/*.bpf.c`), compiled by clang and checked in as objects
//! (`objects/*.bpf.o`, rebuilt by `cargo xtask bpf`), so that who builds or uses whit needs no
//! clang.  The loader fits them to the running kernel by its BTF.  They need `CAP_BPF` and
//! `CAP_PERFMON` (or `CAP_SYS_ADMIN`) and a kernel with BTF, 5.8 or later; what is missing is told
//! by [`Error`], and callers then read `/proc`.  No kprobe and no fentry: some kernels have none.
//!
//! Costs at start what it takes to parse the kernel's BTF (tens of milliseconds, memory given back
//! afterwards), then what each part says of itself.

mod calls;
mod counts;
mod cputime;
mod events;
mod lives;
mod load;
mod nothing;
mod records;
mod ring;
mod shared;
mod tasks;

pub use calls::{RunTime, SLOTS};
pub use counts::{CallCount, CountSettings, Counts, STEPS, Split, Uncounted, UnitCount};
pub use cputime::{CpuTime, adjusted};
pub use events::{
    CAPTURES_MAX, CallRecord, Capture, EventSettings, Events, Extent, Happening, Head, PIECE_BYTES,
    Piece, Pieces, Shape,
};
pub use lives::{Life, Lives, Lost};
pub use load::{Error, Kernel};
pub use nothing::Nothing;
pub use records::{Exec, Exit, Group, Settled, Task};
pub use tasks::Tasks;

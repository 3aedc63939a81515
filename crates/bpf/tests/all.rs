//! The tests of `bpf` that can share a process, in one program: it is linked once.

mod cpu_counters;
mod kernel;
mod objects;
mod syscall_counts;

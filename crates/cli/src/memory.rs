//! Gives back the pages of the program that only its start needed.
//!
//! Reading the command line, finding this machine's facts and opening everything touches most of
//! the program's code once; the kernel maps it a neighbourhood at a time, and what is mapped
//! counts as resident for as long as a recorder runs: months.  One `madvise(2)` when the command
//! line is read, so that the highest mark stays low, and one before the first sample unmap the
//! code; what is needed comes back from the page cache, some fifty minor faults each.
//!
//! `whit run` does so where it reports the memory of jobs: until a job runs its program the kernel
//! counts the pages of this one for it, so the fewer there are, the smaller the jobs that can be
//! measured.

use std::ffi::{c_char, c_void};
use std::ptr;

unsafe extern "C" {
    /// Where the program begins in memory and where its code ends: names that every linker gives
    /// (ld(1), "PROVIDE").  Between them lie constants and code, which nothing ever writes to.
    static __executable_start: c_char;
    static etext: c_char;
}

/// Unmaps the program's constants and code; the next touch of each page maps it again.
///
/// Where the kernel refuses, only the memory that is counted differs, so that is no error.
pub(crate) fn give_back_start() {
    let page = rustix::param::page_size();
    let start = (&raw const __executable_start).addr().next_multiple_of(page);
    let end = (&raw const etext).addr() / page * page;
    let bytes = end.saturating_sub(start);
    let from = ptr::with_exposed_provenance_mut::<c_void>(start);
    // SAFETY: whole pages of a private mapping of a file that were never written to, so what is
    // mapped again is what was there; relocated constants lie behind `etext`.
    let _ = unsafe { rustix::mm::madvise(from, bytes, rustix::mm::Advice::LinuxDontNeed) };
}

#[cfg(test)]
mod tests {
    /// Resident pages of files, in KiB, by `RssFile` of `/proc/self/status`.
    fn resident_of_files_kib() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").expect("this process's status");
        let line = status.lines().find(|line| line.starts_with("RssFile:")).expect("RssFile");
        line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
    }

    #[test]
    fn code_is_unmapped_and_runs_on() {
        let before = resident_of_files_kib();
        super::give_back_start();
        let after = resident_of_files_kib();
        assert!(after < before, "{after} KiB of {before} KiB are still resident");
    }
}

//! Releases the pages of the program that only its start needed.
//!
//! Parsing the command line, reading facts of the machine and opening everything touches most of
//! the program's code once; the kernel maps it in large pieces, and mapped pages count as resident
//! as long as a recorder runs: months.  A `madvise(2)` after the command line is parsed and one before
//! the sources are opened keep the peak low, and one before the first sample unmaps the code; what is needed comes back
//! from the page cache, with some fifty minor faults each.
//!
//! `whit run` does so when it reports the memory of jobs: until the execve(2) of a job the kernel
//! counts our pages for it, so the fewer there are, the smaller the jobs that can be measured.

use std::ffi::{c_char, c_void};
use std::ptr;

unsafe extern "C" {
    /// The start of the program in memory and the end of its code: symbols of every linker (ld(1),
    /// "PROVIDE").  Between them are constants and code, which are never written.
    static __executable_start: c_char;
    static etext: c_char;
}

/// Unmaps the program's constants and code; the next access to a page maps it again.
///
/// If the kernel refuses, only the reported memory differs, so that is not an error.
pub(crate) fn give_back_start() {
    let page = rustix::param::page_size();
    let start = (&raw const __executable_start).addr().next_multiple_of(page);
    let end = (&raw const etext).addr() / page * page;
    let bytes = end.saturating_sub(start);
    let from = ptr::with_exposed_provenance_mut::<c_void>(start);
    // SAFETY: whole pages of a private file mapping that were never written to, so the same
    // contents are mapped again; relocated constants are after `etext`.
    let _ = unsafe { rustix::mm::madvise(from, bytes, rustix::mm::Advice::LinuxDontNeed) };
}

#[cfg(test)]
mod tests {
    /// Resident file pages in KiB, from `RssFile` of `/proc/self/status`.
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

//! Memory that a process holds and does not use goes back to the system.
//!
//! glibc keeps what a program frees for its next allocations, in an arena for each thread, and gives
//! back only what lies at an arena's end.  A thread that works once a minute with a few MiB and then
//! waits would hold them all the time.  [`return_free_memory`] costs a walk over all that is free, and a
//! `madvise` for each piece, so it belongs after rare and large work, never into a loop that samples.
//!
//! Parsing the command line, reading facts of the machine and opening everything touches most of
//! the program's code once; the kernel maps it in large pieces, and mapped pages count as resident
//! as long as a daemon runs: months.  [`return_program`] unmaps them; what is needed comes back from the
//! page cache, with some fifty minor faults each time.
//!
//! A daemon calls [`return_unused`] when it has started, and [`before_wait`] where it waits between works.
//!
//! Uses no crate of whit.  Begin with [`return_unused`].

use std::ffi::{c_char, c_void};
use std::ptr;
use std::time::Duration;

/// Who waits for less keeps its memory: giving it back and getting it again takes some 0.1 ms.
const WAIT_MIN: Duration = Duration::from_secs(10);

unsafe extern "C" {
    /// The start of the program in memory and the end of its code: symbols of every linker (ld(1),
    /// "PROVIDE").  Between them are constants and code, which are never written.
    static __executable_start: c_char;
    static etext: c_char;
}

/// Gives the pages that the allocator holds free back to the system, those of all threads.  Does
/// nothing where the C library is not glibc: others give back by themselves.  `malloc_trim(3)`.
pub fn return_free_memory() {
    // SAFETY: takes no pointer, locks each arena by itself, and may be called at any time.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Unmaps the program's constants and code; the next access to a page maps it again.
///
/// If the kernel refuses, only the reported memory differs, so that is not an error.
pub fn return_program() {
    // SAFETY: sysconf takes no pointer.
    let Ok(page) = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }) else { return };
    let start = (&raw const __executable_start).addr().next_multiple_of(page);
    let end = (&raw const etext).addr() / page * page;
    let bytes = end.saturating_sub(start);
    let from = ptr::with_exposed_provenance_mut::<c_void>(start);
    // SAFETY: whole pages of a private file mapping that were never written to, so the same
    // contents are mapped again; relocated constants are after `etext`.
    unsafe { libc::madvise(from, bytes, libc::MADV_DONTNEED) };
}

/// Gives back free memory and the program: a start is over.
pub fn return_unused() {
    return_free_memory();
    return_program();
}

/// Gives back what is not used, if a thread now waits so long that it pays.
pub fn before_wait(wait: Duration) {
    if wait >= WAIT_MIN {
        return_unused();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resident memory of this process in bytes: its own, and that of files.
    fn resident_bytes() -> (usize, usize) {
        let text = std::fs::read_to_string("/proc/self/smaps_rollup").expect("proc is there");
        let bytes = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
            let kib = line.split_ascii_whitespace().next().and_then(|word| word.parse().ok());
            1024 * kib.unwrap_or(0_usize)
        };
        let own = bytes("Anonymous:");
        (own, bytes("Rss:") - own)
    }

    /// One test, since memory is of the whole process.
    #[test]
    #[cfg(target_env = "gnu")]
    fn a_long_wait_gives_back_what_lies_before_a_piece_in_use_and_the_program() {
        // Pieces small enough that none is a mapping of its own; every hundredth stays in use.
        let mut pieces: Vec<Option<Vec<u8>>> =
            (0..16 << 10).map(|_| Some(vec![1; 1 << 10])).collect();
        for (_, piece) in pieces.iter_mut().enumerate().filter(|(index, _)| index % 100 != 99) {
            *piece = None;
        }
        let (before, files) = resident_bytes();
        before_wait(WAIT_MIN - Duration::from_nanos(1));
        let (kept, _) = resident_bytes();
        assert!(before - kept < 1 << 20, "{before} bytes before a short wait, {kept} in it");
        before_wait(WAIT_MIN);
        let (after, files_after) = resident_bytes();
        assert!(before - after > 12 << 20, "{before} bytes before, {after} after");
        assert!(files_after < files, "{files} bytes of files before, {files_after} after");
        // The program runs on: its pages come back.
        assert!(pieces.iter().flatten().all(|piece| piece[0] == 1));
    }
}

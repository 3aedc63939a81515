//! Memory that was freed goes back to the system.
//!
//! glibc keeps what a program frees for its next allocations, in an arena for each thread, and gives
//! back only what lies at an arena's end.  A thread that works once a minute with a few MiB and then
//! waits would hold them all the time.  Calling this costs a walk over all that is free, and a
//! `madvise` for each piece, so it belongs after rare and large work, never into a loop that samples.
//!
//! Uses no crate of whit.  Begin with [`return_free_memory`], which is all there is.

/// Gives the pages that the allocator holds free back to the system, those of all threads.  Does
/// nothing where the C library is not glibc: others give back by themselves.  `malloc_trim(3)`.
pub fn return_free_memory() {
    // SAFETY: takes no pointer, locks each arena by itself, and may be called at any time.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory of this process that is its own, in bytes (proc_pid_statm(5)).
    fn resident_bytes() -> usize {
        let text = std::fs::read_to_string("/proc/self/statm").expect("proc is there");
        let mut numbers = text.split(' ').skip(1).map(|word| word.parse::<usize>().unwrap_or(0));
        let (resident, shared) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        // SAFETY: sysconf takes no pointer.
        let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        (resident - shared) * usize::try_from(page_bytes).expect("a page has a size")
    }

    #[test]
    #[cfg(target_env = "gnu")]
    fn what_lies_before_a_piece_in_use_goes_back_too() {
        // Pieces small enough that none is a mapping of its own; every hundredth stays in use.
        let mut pieces: Vec<Option<Vec<u8>>> =
            (0..16 << 10).map(|_| Some(vec![1; 1 << 10])).collect();
        for (_, piece) in pieces.iter_mut().enumerate().filter(|(index, _)| index % 100 != 99) {
            *piece = None;
        }
        let before = resident_bytes();
        return_free_memory();
        let after = resident_bytes();
        assert!(before - after > 12 << 20, "{before} bytes before, {after} after");
        assert!(pieces.iter().flatten().all(|piece| piece[0] == 1));
    }
}

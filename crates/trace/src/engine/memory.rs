//! The memory of a stopped task, read on demand: one `process_vm_readv` for each read.

use super::requests;
use crate::Memory;

/// The memory of the task with this number.
pub(super) struct TaskMemory(pub(super) i32);

impl Memory for TaskMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        let mut done = 0;
        while done < into.len() {
            let Some(from) = address.checked_add(done as u64) else { break };
            match requests::read_memory(self.0, from, &mut into[done..]) {
                Ok(0) | Err(libc::EFAULT | libc::ESRCH) => break,
                Ok(count) => done += count,
                // The call fails if the program has changed its credentials since, and in
                // containers that forbid it.  A tracer may still read word by word.
                Err(_) => return done + self.peek(from, &mut into[done..]),
            }
        }
        done
    }

    fn instruction_pointer(&self) -> Option<(u64, bool)> {
        requests::instruction_pointer(self.0).ok()
    }
}

impl TaskMemory {
    fn peek(&self, address: u64, into: &mut [u8]) -> usize {
        let mut done = 0;
        while done < into.len() {
            // Aligned, so that no word crosses into a page that is missing.
            let Some(from) = address.checked_add(done as u64) else { break };
            let Ok(word) = requests::peek(self.0, from & !7) else { break };
            let bytes = &word.to_ne_bytes()[(from & 7) as usize..];
            let count = bytes.len().min(into.len() - done);
            into[done..done + count].copy_from_slice(&bytes[..count]);
            done += count;
        }
        done
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::engine::{HeldCommand, TracedCommand};

    /// Stands at the same address in the child of a fork.
    static TEXT: [u8; 64] = *b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-";

    #[test]
    fn word_after_word_gives_the_same() {
        let command = TracedCommand::new(["true"], Vec::new(), "/usr/bin:/bin");
        // Held before its execve, so that it is still a copy of this process.
        let child = HeldCommand::start(&command).unwrap();
        let pid = child.pid();
        requests::seize(pid, 0).unwrap();
        requests::interrupt(pid).unwrap();
        assert!(
            matches!(requests::wait(true), Ok(requests::WaitResult::Task(task, _)) if task == pid)
        );
        let memory = TaskMemory(pid);
        let at = TEXT.as_ptr() as u64;
        for (from, length) in [(0, 64), (1, 1), (3, 5), (5, 8), (7, 40), (8, 16), (0, 0)] {
            let (mut one, mut other) = (vec![0; length], vec![0; length]);
            assert_eq!(memory.read(at + from as u64, &mut one), length);
            assert_eq!(memory.peek(at + from as u64, &mut other), length);
            assert_eq!(one, TEXT[from..from + length]);
            assert_eq!(one, other);
        }
        let mut nothing = [0; 8];
        assert_eq!(memory.peek(0, &mut nothing), 0);
        assert_eq!(memory.peek(u64::MAX - 3, &mut nothing), 0);
    }

    #[test]
    fn memory_is_read_as_far_as_it_goes() {
        // Our own is readable in the same way; its end is found by mapping a page before a hole.
        let map = |address: usize, length: usize, protection, flags| {
            // SAFETY: a new mapping, or a change of one that only this test knows.
            let at = unsafe { libc::mmap(address as *mut _, length, protection, flags, -1, 0) };
            assert_ne!(at, libc::MAP_FAILED);
            at as usize
        };
        let anonymous = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let both = libc::PROT_READ | libc::PROT_WRITE;
        let base = map(0, 3 * 4096, both, anonymous);
        map(base + 2 * 4096, 4096, libc::PROT_NONE, anonymous | libc::MAP_FIXED);
        // SAFETY: the first two pages are ours and writable.
        unsafe { std::ptr::write_bytes(base as *mut u8, 7, 2 * 4096) };
        let memory = TaskMemory(std::process::id() as i32);
        let mut into = vec![0; 3 * 4096];
        assert_eq!(memory.read(base as u64 + 5, &mut into), 2 * 4096 - 5);
        assert!(into[..2 * 4096 - 5].iter().all(|byte| *byte == 7));
        assert_eq!(memory.read(0, &mut into), 0);
        assert_eq!(memory.read(u64::MAX - 3, &mut into), 0);
        // More than one call's worth of pages.
        let long = map(0, 40 * 4096, both, anonymous);
        let mut into = vec![1; 40 * 4096 - 1];
        assert_eq!(memory.read(long as u64 + 1, &mut into), into.len());
        assert!(into.iter().all(|byte| *byte == 0));
    }
}

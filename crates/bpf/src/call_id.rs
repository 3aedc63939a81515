//! System call numbers, and the two tables that give them a meaning.
//!
//! An x86-64 kernel has two tables of system calls: one for 64-bit programs and one for 32-bit
//! programs, in which the same number means another call.  (A third ABI, x32, uses the numbers of
//! the first with bit 30 set.  Kernels are rarely built with it, and its calls are shown by
//! number.)

use std::borrow::Cow;

use crate::call_names as names;

/// A table of system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Abi {
    /// 64-bit programs on x86-64.
    X86_64,
    /// 32-bit programs on x86-64 (`int 0x80`, `sysenter`, 32-bit `syscall`).
    I386,
}

/// Slots for each table: more than any kernel has system calls (470 in 6.18).  The last slot of a
/// table counts for every number that is not below it.
const SLOTS_PER_ABI: usize = 512;

/// Length of an array with one slot for each [`CallId`].
pub const SLOTS: usize = 2 * SLOTS_PER_ABI;

/// One system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId {
    /// The table.
    pub abi: Abi,
    /// The number in that table, as the task passed it; not every number is a system call.
    pub number: u64,
}

impl CallId {
    /// The call of this number in the table of 64-bit programs.
    #[must_use]
    pub const fn native(number: u64) -> Self {
        CallId { abi: Abi::X86_64, number }
    }

    /// The name as `strace` prints it; `syscall_0x1ff` for a number that is no system call.
    #[must_use]
    pub fn name(self) -> Cow<'static, str> {
        match self.known_name() {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("syscall_{:#x}", self.number)),
        }
    }

    /// The name; `None` for a number that is no system call.
    #[must_use]
    pub fn known_name(self) -> Option<&'static str> {
        let number = usize::try_from(self.number).ok()?;
        let name = match (number.checked_sub(names::COMMON_START), self.abi) {
            (Some(index), _) => names::COMMON.get(index)?,
            (None, Abi::X86_64) => names::X86_64.get(number)?,
            (None, Abi::I386) => names::I386.get(number)?,
        };
        (!name.is_empty()).then_some(name)
    }

    /// The system call of that name in a table.
    #[must_use]
    pub fn by_name(abi: Abi, name: &str) -> Option<Self> {
        Self::all(abi).find(|id| id.known_name() == Some(name))
    }

    /// Every system call of a table, by number.
    pub fn all(abi: Abi) -> impl Iterator<Item = Self> {
        (0..SLOTS_PER_ABI as u64)
            .map(move |number| CallId { abi, number })
            .filter(|id| id.known_name().is_some())
    }

    /// The index in an array of [`SLOTS`].  All numbers beyond a table share its last slot.
    #[must_use]
    pub fn slot(self) -> usize {
        let number = self.number.min(SLOTS_PER_ABI as u64 - 1) as usize;
        match self.abi {
            Abi::X86_64 => number,
            Abi::I386 => SLOTS_PER_ABI + number,
        }
    }

    /// The system call of a slot; for the last slot of a table the smallest number that it stands
    /// for.
    #[must_use]
    pub const fn of_slot(slot: usize) -> Self {
        if slot < SLOTS_PER_ABI {
            CallId { abi: Abi::X86_64, number: slot as u64 }
        } else {
            CallId { abi: Abi::I386, number: (slot - SLOTS_PER_ABI) as u64 }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn calls_have_their_names_and_places() {
        assert_eq!(CallId::native(0).name(), "read");
        assert_eq!(CallId::native(257).name(), "openat");
        assert_eq!(CallId { abi: Abi::I386, number: 4 }.name(), "write");
        assert_eq!(CallId::native(511).name(), "syscall_0x1ff");
        assert_eq!(CallId::native(u64::MAX).name(), "syscall_0xffffffffffffffff");
        for slot in 0..SLOTS {
            assert_eq!(CallId::of_slot(slot).slot(), slot);
        }
        assert_eq!(CallId::native(u64::MAX).slot(), 511);
        assert_eq!(CallId::by_name(Abi::I386, "exit").unwrap().number, 1);
    }

    #[test]
    fn names_are_those_of_the_headers_installed_here() {
        let path = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h";
        let Ok(header) = std::fs::read_to_string(path) else {
            testkit::skip("the kernel's headers", "not installed");
            return;
        };
        for line in header.lines() {
            let mut words = line.split_whitespace().skip(1);
            let name = words.next().and_then(|word| word.strip_prefix("__NR_"));
            let number = words.next().and_then(|word| word.parse().ok());
            if let (Some(name), Some(number)) = (name, number) {
                assert_eq!(CallId::native(number).name(), name);
            }
        }
    }
}

//! The room that execve(2) has for the arguments and the environment of a program.
//!
//! All of them together are limited to a quarter of the stack's limit (`ulimit -s`), between
//! 128 KiB (ARG_MAX) and 6 MiB; each pointer to one counts too.

use rustix::process::{Resource, getrlimit};

/// The longest argument (MAX_ARG_STRLEN), without its NUL.
pub const ARGUMENT_BYTES_MAX: usize = 32 * 4096 - 1;

/// What the kernel grants however low the stack's limit is (ARG_MAX).
const ROOM_BYTES_MIN: u64 = 32 * 4096;

/// What it grants at most: three quarters of the stack's default limit.
const ROOM_BYTES_MAX: u64 = 6 << 20;

/// Left free for the program's path, the line that begins a script, and variables that the program
/// sets for those that it starts: as xargs(1) does.
const SPARE_BYTES: usize = 2048;

const POINTER_BYTES: usize = size_of::<usize>();

/// How much of it the arguments of a program may take.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    bytes: usize,
}

impl Room {
    /// What variables of these lengths (`NAME=value`) leave.
    pub fn beside(variables: impl Iterator<Item = usize>) -> Self {
        let stack = getrlimit(Resource::Stack).current.unwrap_or(u64::MAX);
        let granted = (stack / 4).clamp(ROOM_BYTES_MIN, ROOM_BYTES_MAX);
        let taken = variables
            .map(|bytes| bytes + 1 + POINTER_BYTES)
            .fold(SPARE_BYTES, usize::saturating_add);
        Room { bytes: usize::try_from(granted).unwrap_or(usize::MAX).saturating_sub(taken) }
    }

    /// Whether it holds so many arguments with so many bytes in all, without their NULs.
    pub fn holds(self, arguments: usize, bytes: usize) -> bool {
        let pointers = arguments.saturating_mul(1 + POINTER_BYTES);
        bytes.saturating_add(pointers) <= self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_take_room_from_arguments() {
        let [all, less] = [&[][..], &[1000]].map(|lengths| Room::beside(lengths.iter().copied()));
        assert_eq!(all.bytes - less.bytes, 1001 + POINTER_BYTES);
        assert!(all.holds(1, all.bytes - 1 - POINTER_BYTES));
        assert!(!all.holds(2, all.bytes - 1 - POINTER_BYTES));
        assert!(!Room::beside([usize::MAX - 9].into_iter()).holds(1, 1));
    }
}

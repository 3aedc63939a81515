//! `execve(2)` that returns its error number as a value.
//!
//! The function of libc writes it to `errno`, which a child with our memory shares with the thread
//! that started it and continues to run.

use std::ffi::{CStr, c_char};

use rustix::io::Errno;

/// Whether there is such a function for this architecture; if not, a thread must wait for its child
/// (`CLONE_VFORK`), and the function of libc is used.
pub(crate) const IS_QUIET: bool =
    cfg!(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"));

/// Executes a program; returns only if that fails.
///
/// # Safety
///
/// `words` and `variables` are null-terminated lists of C strings.
pub(crate) unsafe fn execve(
    program: &CStr,
    words: *const *const c_char,
    variables: *const *const c_char,
) -> Errno {
    let result: isize;
    // SAFETY: the numbers and registers are those of syscall(2) for each architecture; the kernel
    // reads what the caller guarantees, and changes no memory of ours if it returns.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") libc::SYS_execve as isize => result,
            in("rdi") program.as_ptr(),
            in("rsi") words,
            in("rdx") variables,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") libc::SYS_execve,
            inlateout("x0") program.as_ptr() => result,
            in("x1") words,
            in("x2") variables,
            options(nostack),
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "riscv64")]
    unsafe {
        std::arch::asm!(
            "ecall",
            in("a7") libc::SYS_execve,
            inlateout("a0") program.as_ptr() => result,
            in("a1") words,
            in("a2") variables,
            options(nostack),
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
    {
        // SAFETY: as above; the thread whose `errno` this is waits for us.
        unsafe { libc::execve(program.as_ptr(), words, variables) };
        result = -(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) as isize);
    }
    Errno::from_raw_os_error(i32::try_from(-result).unwrap_or(libc::EIO))
}

//! The system calls of a tracer: ptrace(2), wait4(2), process_vm_readv(2), one function each.
//!
//! Errors are error numbers of the kernel.  ESRCH means that the task was killed meanwhile: its
//! exit is still to come from [`wait`].

use std::io;
use std::ptr;

/// The error number of the latest libc call.
fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// `PTRACE_EVENT_STOP` of linux/ptrace.h.
pub(super) const EVENT_STOP: i32 = 128;

/// The status of a task that has stopped or exited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskStatus {
    /// It has exited with this status.
    Exited(i32),
    /// A signal has killed it.
    Killed { signal: i32, dumped: bool },
    /// It has stopped, at this ptrace event (0 for signals and calls) with this signal.
    Stopped { event: i32, signal: i32 },
}

/// The result of a wait.
pub(super) enum WaitResult {
    /// The status of this task.
    Task(i32, TaskStatus),
    /// No task has a status now.
    Nothing,
    /// A signal interrupted the wait.
    Interrupted,
    /// There is no task to wait for.
    Nobody,
}

/// Waits for a task that this very thread traces or created (`__WNOTHREAD`), so that the children
/// of other threads are left to them.
pub(super) fn wait(blocking: bool) -> Result<WaitResult, io::Error> {
    let mut status = 0;
    let block = if blocking { 0 } else { libc::WNOHANG };
    // SAFETY: the status is live; the usage pointer is null.
    let pid = unsafe {
        libc::wait4(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD | block, ptr::null_mut())
    };
    if pid > 0 {
        let status = if libc::WIFEXITED(status) {
            TaskStatus::Exited(libc::WEXITSTATUS(status))
        } else if libc::WIFSIGNALED(status) {
            TaskStatus::Killed { signal: libc::WTERMSIG(status), dumped: libc::WCOREDUMP(status) }
        } else {
            TaskStatus::Stopped { event: status >> 16, signal: libc::WSTOPSIG(status) }
        };
        return Ok(WaitResult::Task(pid, status));
    }
    match if pid == 0 { 0 } else { errno() } {
        0 => Ok(WaitResult::Nothing),
        libc::EINTR => Ok(WaitResult::Interrupted),
        libc::ECHILD => Ok(WaitResult::Nobody),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// A ptrace request that takes two words and returns none.
fn request(request: libc::c_uint, task: i32, address: usize, data: usize) -> Result<(), i32> {
    // SAFETY: these requests write nothing in our memory, unless `data` is the address of a live
    // object that is large enough, which the callers below ensure.
    let failed = unsafe { libc::ptrace(request, task, address, data) };
    if failed == -1 { Err(errno()) } else { Ok(()) }
}

/// Attaches to a task without stopping it.
pub(super) fn seize(task: i32, options: i32) -> Result<(), i32> {
    request(libc::PTRACE_SEIZE, task, 0, options as usize)
}

/// Stops a traced task.
pub(super) fn interrupt(task: i32) -> Result<(), i32> {
    request(libc::PTRACE_INTERRUPT, task, 0, 0)
}

/// Resumes it until the next entry or exit of a call, with this signal or none (0).
pub(super) fn run_to_call(task: i32, signal: i32) -> Result<(), i32> {
    request(libc::PTRACE_SYSCALL, task, 0, signal as usize)
}

/// Resumes it until the next stop that is not a call, with this signal or none (0).
pub(super) fn run_on(task: i32, signal: i32) -> Result<(), i32> {
    request(libc::PTRACE_CONT, task, 0, signal as usize)
}

/// Leaves it in a group stop until SIGCONT.
pub(super) fn listen(task: i32) -> Result<(), i32> {
    request(libc::PTRACE_LISTEN, task, 0, 0)
}

/// Detaches from a stopped task, with this signal or none (0).
pub(super) fn detach(task: i32, signal: i32) -> Result<(), i32> {
    request(libc::PTRACE_DETACH, task, 0, signal as usize)
}

/// The number that came with an event: of the new task, or of the thread that called `execve`.
pub(super) fn event_message(task: i32) -> Result<i32, i32> {
    let mut message: libc::c_ulong = 0;
    // The kernel writes one word into `message`.
    request(libc::PTRACE_GETEVENTMSG, task, 0, &raw mut message as usize)?;
    i32::try_from(message).map_err(|_| libc::ERANGE)
}

/// The `siginfo_t` of the signal that the task stopped for.
pub(super) fn signal_info(task: i32) -> Result<[u8; 128], i32> {
    const { assert!(size_of::<libc::siginfo_t>() == 128) };
    let mut bytes = [0; 128];
    // The kernel writes a `siginfo_t` into `bytes`, which has its size.
    request(libc::PTRACE_GETSIGINFO, task, 0, &raw mut bytes as usize)?;
    Ok(bytes)
}

/// `struct ptrace_syscall_info` of linux/ptrace.h.
#[repr(C)]
#[derive(Default)]
pub(super) struct CallInfo {
    /// One of the constants below.
    pub(super) op: u8,
    _pad: [u8; 3],
    /// The table (`AUDIT_ARCH_*`).
    pub(super) arch: u32,
    _instruction_pointer: u64,
    /// The stack pointer.
    pub(super) stack_pointer: u64,
    /// At an entry the number and the six arguments, at an exit the result.
    pub(super) words: [u64; 8],
}

/// `PTRACE_SYSCALL_INFO_*`.
pub(super) const OP_ENTRY: u8 = 1;
pub(super) const OP_EXIT: u8 = 2;
pub(super) const OP_SECCOMP: u8 = 3;

/// The call at which a task has stopped.
pub(super) fn call_info(task: i32) -> Result<CallInfo, i32> {
    let mut info = CallInfo::default();
    let size = size_of::<CallInfo>();
    // The kernel writes at most `size` bytes into `info`.
    request(libc::PTRACE_GET_SYSCALL_INFO, task, size, &raw mut info as usize)?;
    Ok(info)
}

/// The number and the arguments of the call that a stopped task is in, from its registers.
pub(super) fn call_registers(task: i32) -> Result<(u64, [u64; 6]), i32> {
    // SAFETY: registers are numbers, of which zeros are valid ones.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    // The kernel writes a `user_regs_struct` into `registers`.
    request(libc::PTRACE_GETREGS, task, 0, &raw mut registers as usize)?;
    let r = registers;
    Ok((r.orig_rax, [r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9]))
}

/// The instruction pointer of a stopped task, and whether it runs a 64-bit program.
pub(super) fn instruction_pointer(task: i32) -> Result<(u64, bool), i32> {
    /// The code segment of 64-bit programs.
    const USER_CS: u64 = 0x33;
    // SAFETY: registers are numbers, of which zeros are valid ones.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    // The kernel writes a `user_regs_struct` into `registers`.
    request(libc::PTRACE_GETREGS, task, 0, &raw mut registers as usize)?;
    Ok((registers.rip, registers.cs == USER_CS))
}

/// Writes a register of a stopped task.
fn set_register(task: i32, offset: usize, value: u64) -> Result<(), i32> {
    request(libc::PTRACE_POKEUSER, task, offset, value as usize)
}

/// Makes a task that has stopped at the entry of a call make the call of this number, or none (-1).
pub(super) fn set_call(task: i32, number: u64) -> Result<(), i32> {
    set_register(task, std::mem::offset_of!(libc::user_regs_struct, orig_rax), number)
}

/// Sets the result of the call at whose exit a task has stopped.
pub(super) fn set_result(task: i32, result: i64) -> Result<(), i32> {
    set_register(task, std::mem::offset_of!(libc::user_regs_struct, rax), result.cast_unsigned())
}

/// A word of the task's memory.
pub(super) fn peek(task: i32, address: u64) -> Result<u64, i32> {
    let mut word: libc::c_long = 0;
    // The system call itself, not its libc wrapper (which returns the word), writes one word into
    // `word`.
    // SAFETY: as said, and `word` is live.
    let failed = unsafe {
        libc::syscall(libc::SYS_ptrace, libc::PTRACE_PEEKDATA, task, address, &raw mut word)
    };
    if failed == -1 { Err(errno()) } else { Ok(word as u64) }
}

/// Smallest page of any machine that we run on: memory is readable by whole pages.
const PAGE: u64 = 4096;

/// Most pages that one call reads; no argument that is shown needs more than 16.
const PIECES: usize = 16;

/// Reads a task's memory as far as it is readable.  Each element ends at a page boundary, since the
/// kernel reads an element whole or not at all.
pub(super) fn read_memory(task: i32, address: u64, into: &mut [u8]) -> Result<usize, i32> {
    let mut pieces = [libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; PIECES];
    let (mut count, mut planned) = (0, 0);
    while planned < into.len() && count < PIECES {
        let Some(from) = address.checked_add(planned as u64) else { break };
        let length = ((PAGE - from % PAGE) as usize).min(into.len() - planned);
        pieces[count] = libc::iovec { iov_base: from as *mut libc::c_void, iov_len: length };
        count += 1;
        planned += length;
    }
    let ours = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: planned };
    // SAFETY: the kernel writes at most `into.len()` bytes into `into`; the addresses of the other
    // task are checked by the kernel.
    let read = unsafe {
        libc::process_vm_readv(task, &raw const ours, 1, pieces.as_ptr(), count as u64, 0)
    };
    usize::try_from(read).map_err(|_| errno())
}

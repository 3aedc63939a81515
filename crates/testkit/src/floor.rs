//! The floor of running jobs: what nobody can go below who starts the same programs.
//!
//! A loop of `clone(CLONE_VM | CLONE_VFORK)`, `execve` and `wait4`, and nothing else: two system
//! calls of the parent and one of the child for each job.  No shell, no look-up of paths, no pipes,
//! no signals, no process groups, no joblog; all strings are made beforehand.  A runner that does
//! more is measured by how much more that costs.

use std::ffi::{CString, OsStr, c_char, c_int, c_void};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

/// Stack of a child between `clone` and `execve`: one frame of ours and one of the C library, with
/// room for whatever the latter puts there.
const STACK_BYTES: usize = 16 * 1024;

/// The alignment of stacks that the ABIs of x86-64 and AArch64 ask for.
const STACK_ALIGNMENT: usize = 16;

/// A program to be started: where it is and its words, as the kernel wants them.
#[derive(Debug)]
pub struct Program {
    path: CString,
    /// What the pointers of `argv` point into.
    _words: Vec<CString>,
    argv: Pointers,
}

/// Pointers to strings of C, with a null one at the end.
#[derive(Debug)]
struct Pointers(Vec<*const c_char>);

// SAFETY: nobody changes the pointers or what they point to, which lives as long as they do.
unsafe impl Sync for Pointers {}

impl Pointers {
    fn to(strings: &[CString]) -> Self {
        let each = strings.iter().map(|string| string.as_ptr());
        Pointers(each.chain([ptr::null()]).collect())
    }
}

/// What the child reads, in the memory that it shares with its parent.
struct Start<'a> {
    program: &'a Program,
    environment: &'a Pointers,
}

impl Program {
    /// A program by its path and its words, of which the first is its own name.
    ///
    /// # Errors
    /// `InvalidInput` for a NUL in one of them.
    pub fn new<W: AsRef<OsStr>>(
        path: &Path,
        words: impl IntoIterator<Item = W>,
    ) -> io::Result<Self> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        let words = words.into_iter().map(|word| CString::new(word.as_ref().as_bytes()));
        let words = words.collect::<Result<Vec<_>, _>>()?;
        // The strings live on the heap and stay where they are when their list moves.
        let argv = Pointers::to(&words);
        Ok(Program { path, _words: words, argv })
    }
}

/// Runs every program once, `at_once` at a time, with this process's environment; gives how many
/// did not end with 0, those that could not be started among them.
///
/// So many loops share the programs, each in a thread of its own and with its part of those at
/// once: one loop stands still while a child turns into its program, several use several CPUs for
/// that.
///
/// SIGPIPE, which Rust's runtime ignores and `execve` would hand down so, is at its default
/// meanwhile.  Children of other threads are left alone.
///
/// # Errors
/// Those of `clone` and `wait4`.  What runs then is left running.
pub fn run(programs: &[Program], at_once: usize, loops: usize) -> io::Result<u64> {
    let variables = std::env::vars_os().map(|(name, value)| {
        CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).map_err(io::Error::from)
    });
    let variables = variables.collect::<io::Result<Vec<_>>>()?;
    let environment = Pointers::to(&variables);
    // SAFETY: changes what a signal does; no handler of ours is involved.
    let before = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let result = run_loops(programs, &environment, at_once, loops.max(1));
    // SAFETY: puts back what was there.
    unsafe { libc::signal(libc::SIGPIPE, before) };
    result
}

fn run_loops(
    programs: &[Program],
    environment: &Pointers,
    at_once: usize,
    loops: usize,
) -> io::Result<u64> {
    let at_once_each = (at_once / loops).max(1);
    if loops == 1 {
        return run_loop(programs, environment, at_once_each);
    }
    let part = programs.len().div_ceil(loops).max(1);
    std::thread::scope(|scope| {
        let parts = programs.chunks(part);
        let run = |part| scope.spawn(move || run_loop(part, environment, at_once_each));
        let threads: Vec<_> = parts.map(run).collect();
        let ended = threads.into_iter().map(|thread| match thread.join() {
            Ok(failed) => failed,
            Err(_) => Err(io::Error::other("a loop panicked")),
        });
        ended.sum()
    })
}

fn run_loop(programs: &[Program], environment: &Pointers, at_once: usize) -> io::Result<u64> {
    let mut stack = vec![0_u8; STACK_BYTES + STACK_ALIGNMENT];
    let misaligned = stack.as_ptr().addr() % STACK_ALIGNMENT;
    let stack = &mut stack[STACK_ALIGNMENT - misaligned..][..STACK_BYTES];
    let (mut running, mut failed) = (0, 0);
    for program in programs {
        if running == at_once {
            failed += u64::from(!wait()?);
        } else {
            running += 1;
        }
        start(&Start { program, environment }, stack)?;
    }
    for _ in 0..running {
        failed += u64::from(!wait()?);
    }
    Ok(failed)
}

/// Starts a program; returns when the child has gone over to it, or has failed to.
fn start(start: &Start<'_>, stack: &mut [u8]) -> io::Result<()> {
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let end = stack.as_mut_ptr_range().end;
    // SAFETY: `execute` runs on `stack`, of which `end` is the aligned end that grows downwards,
    // and in our memory, while the kernel holds this thread: nothing else uses the stack or changes
    // what `start` borrows until the child has left both by `execve` or `_exit`.  No signal handler
    // can run on it: testkit installs none.
    let pid =
        unsafe { libc::clone(execute, end.cast(), flags, ptr::from_ref(start).cast_mut().cast()) };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// All that a child does.
extern "C" fn execute(start: *mut c_void) -> c_int {
    // SAFETY: `start` is what the function of that name handed to `clone`, which outlives us.
    let Start { program, environment } = unsafe { &*start.cast_const().cast::<Start<'_>>() };
    // SAFETY: the path is a string of C, and both lists end in a null pointer.  Neither call
    // allocates or touches anything that the parent relies on, but for `errno`, which it does not
    // read before it has made a call that failed itself.
    unsafe {
        libc::execve(program.path.as_ptr(), program.argv.0.as_ptr(), environment.0.as_ptr());
        libc::_exit(127)
    }
}

/// Waits for any child of this thread; gives whether it ended well.
fn wait() -> io::Result<bool> {
    let mut status = 0;
    loop {
        // SAFETY: the pointer is to a live value of the type that the call fills; the account of
        // resources is not asked for.
        let pid = unsafe { libc::wait4(-1, &raw mut status, libc::__WNOTHREAD, ptr::null_mut()) };
        if pid >= 0 {
            return Ok(status == 0);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str) -> Program {
        Program::new(Path::new("/bin/sh"), ["sh", "-c", text]).unwrap()
    }

    #[test]
    fn every_program_runs_once_with_its_words() {
        for loops in [1, 3] {
            let folder = tempfile::tempdir().unwrap();
            let path = |number: usize| folder.path().join(number.to_string());
            let job = |number| shell(&format!("echo \"$PATH\" >> '{}'", path(number).display()));
            let programs: Vec<Program> = (0..40).map(job).collect();
            assert_eq!(run(&programs, 7, loops).unwrap(), 0);
            let expected = format!("{}\n", std::env::var("PATH").unwrap());
            for number in 0..40 {
                assert_eq!(std::fs::read_to_string(path(number)).unwrap(), expected);
            }
        }
    }

    #[test]
    fn failures_are_counted() {
        let missing = Program::new(Path::new("/nonexistent"), ["nonexistent"]).unwrap();
        let programs = [shell("exit 3"), shell(":"), missing, shell("kill -9 $$"), shell("exit 0")];
        assert_eq!(run(&programs, 2, 1).unwrap(), 3);
        assert_eq!(run(&programs, 100, 2).unwrap(), 3);
        assert_eq!(run(&[], 0, 4).unwrap(), 0);
        assert!(Program::new(Path::new("/bin/sh"), ["a\0b"]).is_err());
    }

    #[test]
    fn so_many_run_at_once_and_a_broken_pipe_ends_them() {
        let start = std::time::Instant::now();
        let programs: Vec<Program> = (0..6).map(|_| shell("sleep 0.2")).collect();
        assert_eq!(run(&programs, 3, 1).unwrap(), 0);
        let took = start.elapsed().as_secs_f64();
        assert!(took > 0.39, "{took}");
        // A shell that was started with the signal ignored would not die of it.
        assert_eq!(run(&[shell("kill -PIPE $$; exit 0")], 1, 1).unwrap(), 1);
    }
}

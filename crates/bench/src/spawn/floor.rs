//! The floor of running jobs: the least possible cost of starting the same programs.
//!
//! A loop of `clone(CLONE_VM)`, `execve` and `wait4`, and nothing else: two system calls of the
//! parent and one of the child for each job.  No shell, no search of `$PATH`, no pipes, no signals,
//! no process groups, no joblog; all strings are made beforehand.
//!
//! There are two: the well-known loop, which is suspended until the child calls `execve`
//! (`CLONE_VFORK`, as `vfork` and `posix_spawn`), and one that continues meanwhile.

use std::collections::HashMap;
use std::ffi::{CString, OsStr, OsString, c_char, c_int, c_void};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

/// Stack of a child between `clone` and `execve`: one frame of ours and one of the C library, with
/// room for its locals.
const STACK_BYTES: usize = 16 * 1024;

/// The stack alignment of the ABIs of x86-64 and AArch64.
const STACK_ALIGNMENT: usize = 16;

/// A program to be started: its path and arguments as C strings.
#[derive(Debug)]
pub(crate) struct Program {
    path: CString,
    /// The strings to which `argv` points.
    _words: Vec<CString>,
    argv: Pointers,
}

/// Pointers to C strings, with a null pointer at the end.
#[derive(Debug)]
struct Pointers(Vec<*const c_char>);

// SAFETY: the pointers and their targets are never changed, and the targets live as long.
unsafe impl Sync for Pointers {}

impl Pointers {
    fn to(strings: &[CString]) -> Self {
        let each = strings.iter().map(|string| string.as_ptr());
        Pointers(each.chain([ptr::null()]).collect())
    }
}

impl Program {
    /// A program by its path and its arguments, the first of which is its name.
    ///
    /// # Errors
    /// `InvalidInput` if one of them contains a NUL.
    pub(crate) fn new<W: AsRef<OsStr>>(
        path: &Path,
        words: impl IntoIterator<Item = W>,
    ) -> io::Result<Self> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        let words = words.into_iter().map(|word| CString::new(word.as_ref().as_bytes()));
        let words = words.collect::<Result<Vec<_>, _>>()?;
        // The strings are on the heap, so they do not move with their list.
        let argv = Pointers::to(&words);
        Ok(Program { path, _words: words, argv })
    }
}

/// Whether the loop waits for the `execve` of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loop {
    /// The loop is suspended until then.
    Waits,
    /// The loop continues: each child has a stack of its own.
    GoesOn,
}

/// Runs every program once, `at_once` at a time, with the given environment; returns how many
/// failed, including those that could not be started.
///
/// Rust's runtime ignores SIGPIPE, and `execve` would keep that, so SIGPIPE has its default action
/// meanwhile.  Children of other threads are not touched.
///
/// # Errors
/// If `clone` or `wait4` fails.  Programs that run then continue.
pub(crate) fn run(
    programs: &[Program],
    environment: impl Iterator<Item = (OsString, OsString)>,
    at_once: usize,
    how: Loop,
) -> io::Result<u64> {
    let variables = environment.map(|(name, value)| {
        CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).map_err(io::Error::from)
    });
    let variables = variables.collect::<io::Result<Vec<_>>>()?;
    let environment = Pointers::to(&variables);
    // SAFETY: changes the action of a signal; there is no handler.
    let before = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let result = run_loop(programs, &environment, at_once.clamp(1, programs.len().max(1)), how);
    // SAFETY: restores the action.
    unsafe { libc::signal(libc::SIGPIPE, before) };
    result
}

fn run_loop(
    programs: &[Program],
    environment: &Pointers,
    at_once: usize,
    how: Loop,
) -> io::Result<u64> {
    let mut places: Vec<Child<'_>> = (0..at_once).map(|_| Child::new(environment)).collect();
    let mut free: Vec<usize> = (0..at_once).collect();
    let mut taken = HashMap::new();
    let mut failed = 0;
    let mut run = || {
        for program in programs {
            let place = match free.pop() {
                Some(place) => place,
                None => {
                    let (pid, is_well) = wait()?;
                    failed += u64::from(!is_well);
                    taken.remove(&pid).unwrap_or_default()
                }
            };
            taken.insert(start(&mut places[place], program, how)?, place);
        }
        for _ in 0..taken.len() {
            failed += u64::from(!wait()?.1);
        }
        Ok(failed)
    };
    let result = run();
    if result.is_err() {
        // Children may not have reached their `execve`.
        std::mem::forget(places);
    }
    result
}

/// The memory of ours that a child uses: one at a time.
struct Child<'a> {
    stack: Vec<u8>,
    program: Option<&'a Program>,
    environment: &'a Pointers,
}

impl<'a> Child<'a> {
    fn new(environment: &'a Pointers) -> Self {
        Child { stack: vec![0; STACK_BYTES], program: None, environment }
    }
}

/// Starts a program; returns its pid.
fn start<'a>(place: &mut Child<'a>, program: &'a Program, how: Loop) -> io::Result<i32> {
    place.program = Some(program);
    let end = place.stack.as_mut_ptr_range().end;
    let end = end.wrapping_sub(end.addr() % STACK_ALIGNMENT);
    let wait = if how == Loop::Waits { libc::CLONE_VFORK } else { 0 };
    let flags = libc::CLONE_VM | wait | libc::SIGCHLD;
    // SAFETY: `execute` runs on the stack of `place`, whose aligned end is `end` (stacks grow
    // down), in our memory: nothing else uses `place` until this child has been waited for, when it
    // has left both by `execve` or `_exit`.  No signal handler can run on the stack: this crate has
    // none.
    let pid =
        unsafe { libc::clone(execute, end.cast(), flags, ptr::from_ref(place).cast_mut().cast()) };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
}

/// All that a child does.
extern "C" fn execute(place: *mut c_void) -> c_int {
    // SAFETY: this is what `start` passed to `clone`, and it is not changed meanwhile.
    let Child { program, environment, .. } = unsafe { &*place.cast_const().cast::<Child<'_>>() };
    let Some(program) = program else { return 127 };
    // SAFETY: the path is a C string, and both lists end with a null pointer.  Neither call
    // allocates or changes memory that the parent uses, except `errno`, which the parent reads only
    // after a call of its own failed.
    unsafe {
        libc::execve(program.path.as_ptr(), program.argv.0.as_ptr(), environment.0.as_ptr());
        libc::_exit(127)
    }
}

/// Waits for any child of this thread; returns its pid and whether it succeeded.
fn wait() -> io::Result<(i32, bool)> {
    let mut status = 0;
    loop {
        // SAFETY: the pointer is to a live value of the type that the call fills; a null pointer
        // for the resource usage is allowed.
        let pid = unsafe { libc::wait4(-1, &raw mut status, libc::__WNOTHREAD, ptr::null_mut()) };
        if pid >= 0 {
            return Ok((pid, status == 0));
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

    fn run(programs: &[Program], at_once: usize, how: Loop) -> io::Result<u64> {
        super::run(programs, std::env::vars_os(), at_once, how)
    }

    fn shell(text: &str) -> Program {
        Program::new(Path::new("/bin/sh"), ["sh", "-c", text]).unwrap()
    }

    #[test]
    fn every_program_runs_once_with_its_words() {
        for how in [Loop::Waits, Loop::GoesOn] {
            let folder = tempfile::tempdir().unwrap();
            let path = |number: usize| folder.path().join(number.to_string());
            let job = |number| shell(&format!("echo \"$PATH\" >> '{}'", path(number).display()));
            let programs: Vec<Program> = (0..40).map(job).collect();
            assert_eq!(run(&programs, 7, how).unwrap(), 0);
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
        assert_eq!(run(&programs, 2, Loop::Waits).unwrap(), 3);
        assert_eq!(run(&programs, 100, Loop::GoesOn).unwrap(), 3);
        assert_eq!(run(&[], 0, Loop::GoesOn).unwrap(), 0);
        assert!(Program::new(Path::new("/bin/sh"), ["a\0b"]).is_err());
    }

    #[test]
    fn so_many_run_at_once_and_a_broken_pipe_ends_them() {
        let start = std::time::Instant::now();
        let programs: Vec<Program> = (0..6).map(|_| shell("sleep 0.2")).collect();
        assert_eq!(run(&programs, 3, Loop::GoesOn).unwrap(), 0);
        let took = start.elapsed().as_secs_f64();
        assert!(took > 0.39, "{took}");
        // A shell cannot die of a signal that was ignored when it started.
        assert_eq!(run(&[shell("kill -PIPE $$; exit 0")], 1, Loop::Waits).unwrap(), 1);
    }
}

//! The floor of running jobs: what nobody can go below who starts the same programs.
//!
//! A loop of `clone(CLONE_VM)`, `execve` and `wait4`, and nothing else: two system calls of the
//! parent and one of the child for each job.  No shell, no look-up of paths, no pipes, no signals,
//! no process groups, no joblog; all strings are made beforehand.  A runner that does more is
//! measured by how much more that costs.
//!
//! There are two: the loop that everybody knows, which stands still until the child has become its
//! program (`CLONE_VFORK`, as `vfork` and `posix_spawn` have it), and one that goes on meanwhile.

use std::collections::HashMap;
use std::ffi::{CString, OsStr, OsString, c_char, c_int, c_void};
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
pub(crate) struct Program {
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

impl Program {
    /// A program by its path and its words, of which the first is its own name.
    ///
    /// # Errors
    /// `InvalidInput` for a NUL in one of them.
    pub(crate) fn new<W: AsRef<OsStr>>(
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

/// Whether the loop waits for a child to become its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loop {
    /// It stands still for so long.
    Waits,
    /// It goes on: each child has a stack of its own.
    GoesOn,
}

/// Runs every program once, `at_once` at a time, with the environment given; gives how many
/// did not end with 0, those that could not be started among them.
///
/// SIGPIPE, which Rust's runtime ignores and `execve` would hand down so, is at its default
/// meanwhile.  Children of other threads are left alone.
///
/// # Errors
/// Those of `clone` and `wait4`.  What runs then is left running.
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
    // SAFETY: changes what a signal does; no handler of ours is involved.
    let before = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let result = run_loop(programs, &environment, at_once.clamp(1, programs.len().max(1)), how);
    // SAFETY: puts back what was there.
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
        // Children may still be on their way to their programs.
        std::mem::forget(places);
    }
    result
}

/// What one child at a time has of our memory.
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

/// Starts a program; gives its process.
fn start<'a>(place: &mut Child<'a>, program: &'a Program, how: Loop) -> io::Result<i32> {
    place.program = Some(program);
    let end = place.stack.as_mut_ptr_range().end;
    let end = end.wrapping_sub(end.addr() % STACK_ALIGNMENT);
    let wait = if how == Loop::Waits { libc::CLONE_VFORK } else { 0 };
    let flags = libc::CLONE_VM | wait | libc::SIGCHLD;
    // SAFETY: `execute` runs on the place's stack, of which `end` is the aligned end that grows
    // downwards, and in our memory: nobody else uses the place until this child has been waited
    // for, when it has left both by `execve` or `_exit`.  No signal handler can run on the stack:
    // this crate installs none.
    let pid =
        unsafe { libc::clone(execute, end.cast(), flags, ptr::from_ref(place).cast_mut().cast()) };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
}

/// All that a child does.
extern "C" fn execute(place: *mut c_void) -> c_int {
    // SAFETY: it is what `start` handed to `clone`, and nobody changes it while we need it.
    let Child { program, environment, .. } = unsafe { &*place.cast_const().cast::<Child<'_>>() };
    let Some(program) = program else { return 127 };
    // SAFETY: the path is a string of C, and both lists end in a null pointer.  Neither call
    // allocates or touches anything that the parent relies on, but for `errno`, which it reads
    // only after a call that failed itself.
    unsafe {
        libc::execve(program.path.as_ptr(), program.argv.0.as_ptr(), environment.0.as_ptr());
        libc::_exit(127)
    }
}

/// Waits for any child of this thread; gives its process and whether it ended well.
fn wait() -> io::Result<(i32, bool)> {
    let mut status = 0;
    loop {
        // SAFETY: the pointer is to a live value of the type that the call fills; the account of
        // resources is not asked for.
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
        // A shell that was started with the signal ignored would not die of it.
        assert_eq!(run(&[shell("kill -PIPE $$; exit 0")], 1, Loop::Waits).unwrap(), 1);
    }
}

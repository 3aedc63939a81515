//! `clone`, and what the child does until it calls execve(2).

use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::BorrowedFd;
use std::ptr;
use std::time::Instant;

use rustix::io::Errno;
use rustix::{process, stdio};

use crate::execve::{IS_QUIET, execve};
use crate::{Child, Launch, SpawnError};

/// Starts programs.
#[derive(Debug)]
pub struct Spawner {
    /// The signal mask of children: the one that this process was started with.
    mask: libc::sigset_t,
}

impl Spawner {
    /// A spawner whose children get `mask`, usually the one that this process was started with.
    pub fn new(mask: libc::sigset_t) -> Self {
        Spawner { mask }
    }

    /// Starts a program whose start was requested at `ordered`; returns as soon as there is a
    /// process. Whether execve(2) succeeded is known when the process has exited.
    ///
    /// Signals must be blocked in this thread (see [`SignalFd`](crate::SignalFd)).
    ///
    /// # Errors
    ///
    /// [`SpawnError::Busy`] or [`SpawnError::Refused`], with the launch.
    pub fn spawn(
        &self,
        mut launch: Box<Launch>,
        ordered: Instant,
    ) -> Result<Child, (Box<Launch>, SpawnError)> {
        launch.prepare(&self.mask, ordered.elapsed());
        let top = launch.stack_top();
        let waits = if IS_QUIET { 0 } else { libc::CLONE_VFORK };
        let flags = libc::CLONE_VM | waits | libc::SIGCHLD;
        // SAFETY: the child runs on the launch's own stack and reads only the launch, which is not
        // moved or used by others until the child was waited for (see `Child`).  Handled signals
        // are blocked in this thread, so no handler runs on that stack; signal handlers and
        // descriptors are copied (no CLONE_SIGHAND, no CLONE_FILES).
        let pid = unsafe {
            libc::clone(become_program, top, flags, ptr::from_ref(&*launch).cast_mut().cast())
        };
        if pid >= 0 {
            return Ok(Child::new(pid, launch));
        }
        let error = io::Error::last_os_error();
        let error = match error.raw_os_error() {
            Some(libc::EAGAIN | libc::ENOMEM) => SpawnError::Busy(error),
            _ => SpawnError::Refused(error),
        };
        Err((launch, error))
    }
}

/// Runs in the child.  It shares all memory with running threads, including the thread-local
/// storage of the one that started it: it makes system calls directly, never through a function
/// that sets `errno`, allocates nothing, and writes only to its stack and the atomics of the
/// launch.
extern "C" fn become_program(launch: *mut c_void) -> c_int {
    // SAFETY: the pointer is a launch that nobody else uses as long as we need it.
    let launch = unsafe { &*launch.cast::<Launch>() };
    let Err(error) = prepare(launch);
    launch.fails(error);
    // Exits the process: `clone` of libc passes this to `exit`.
    127
}

/// Does everything up to the execve(2).
fn prepare(launch: &Launch) -> Result<std::convert::Infallible, Errno> {
    if !launch.shares_group {
        process::setpgid(None, None)?;
    }
    place_streams(&launch.streams)?;
    if let Some(path) = &launch.directory {
        process::chdir(&**path)?;
    }
    if launch.nice != 0 {
        // Without permission the nice value stays as it is, as with nice(1).
        let _ = process::setpriority_process(None, launch.nice);
    }
    if let Some(limit) = launch.descriptors {
        // The program may work nevertheless.
        let _ = process::setrlimit(process::Resource::Nofile, limit);
    }
    // SAFETY: the set is valid; this function returns errors as values.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &launch.mask, ptr::null_mut()) };
    launch.calls();
    let (words, variables) = (launch.arguments.pointers(), launch.environment.pointers());
    // SAFETY: both are null-terminated lists of C strings.
    Err(unsafe { execve(&launch.program, words, variables) })
}

/// Makes `streams` the descriptors 0, 1 and 2.
fn place_streams(streams: &[Option<i32>; 3]) -> Result<(), Errno> {
    // SAFETY: copied when this process was created, and open then.  Our own are close-on-exec, and
    // never below 3 (see `engine`).
    let [stdin, stdout, stderr] =
        streams.map(|stream| stream.map(|stream| unsafe { BorrowedFd::borrow_raw(stream) }));
    stdin.map_or(Ok(()), stdio::dup2_stdin)?;
    stdout.map_or(Ok(()), stdio::dup2_stdout)?;
    stderr.map_or(Ok(()), stdio::dup2_stderr)
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::io::{Read as _, Seek as _};
    use std::os::fd::AsRawFd as _;

    use super::*;
    use crate::{Arguments, Environment, Reclaimed};

    fn spawner() -> Spawner {
        // SAFETY: the set is empty and valid after sigemptyset.
        let mask = unsafe {
            let mut mask = std::mem::zeroed();
            libc::sigemptyset(&mut mask);
            mask
        };
        Spawner::new(mask)
    }

    fn launch(words: &[&str], own: &[&[u8]]) -> Box<Launch> {
        let mut arguments = Arguments::default();
        let fill = |list: &mut Vec<u8>| {
            words.iter().for_each(|word| crate::push_word(list, word.as_bytes()));
            Ok::<_, ()>(())
        };
        arguments.set(fill).unwrap();
        let common = [b"A=1".to_vec(), b"SEQ=x".to_vec()];
        let mut environment = Environment::new(common, &["SEQ".to_owned()]);
        environment.set(own);
        let program = CString::new(words[0]).unwrap().into();
        let mut launch = Launch::new(program, environment);
        launch.arguments = arguments;
        Box::new(launch)
    }

    fn wait_for(child: Child) -> (i32, Reclaimed) {
        let mut status = 0;
        // SAFETY: plain call.
        assert_eq!(unsafe { libc::waitpid(child.pid, &mut status, 0) }, child.pid);
        (libc::WEXITSTATUS(status), child.reclaim())
    }

    fn run(words: &[&str], own: &[&[u8]]) -> (i32, String) {
        let mut file = tempfile::tempfile().unwrap();
        let mut request = launch(words, own);
        request.streams[1] = Some(file.as_raw_fd());
        let (status, ended) = wait_for(spawner().spawn(request, Instant::now()).unwrap());
        assert!(ended.error.is_none() && !ended.took.is_zero());
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        (status, text)
    }

    #[test]
    fn words_environment_and_output_arrive() {
        let script = "echo \"$1|$A|$SEQ\"; exit 3";
        let words = ["/bin/sh", "-c", script, "sh", "a b"];
        assert_eq!(run(&words, &[b"7"]), (3, "a b|1|7\n".into()));
        assert_eq!(run(&words, &[]), (3, "a b|1|\n".into()));
    }

    #[test]
    fn the_child_leads_its_group_and_hears_of_closed_pipes() {
        let (_, text) = run(&["/bin/cat", "/proc/self/stat"], &[]);
        let fields: Vec<&str> = text.split(' ').collect();
        assert_eq!(fields[0], fields[4], "its group is its own");
        let _ends = crate::SignalFd::listen(&[]).unwrap();
        let (_, text) = run(&["/bin/grep", "SigIgn\\|SigBlk", "/proc/self/status"], &[]);
        let masks: Vec<u64> = text
            .lines()
            .map(|line| u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap())
            .collect();
        assert_eq!(masks[0], 0, "nothing is blocked");
        assert_eq!(masks[1] & 1 << (libc::SIGPIPE - 1), 0, "SIGPIPE is not ignored");
    }

    #[test]
    fn a_program_that_cannot_run_is_told_at_its_end() {
        for (path, code) in [("/no/such/program", 127), ("/etc/passwd", 126), ("/", 126)] {
            let request = launch(&[path], &[]);
            let (status, ended) = wait_for(spawner().spawn(request, Instant::now()).unwrap());
            let error = ended.error.unwrap();
            assert_eq!(status, 127);
            assert_eq!(error.exit_code(), code, "{error}");
            assert!(error.to_string().contains(path), "{error}");
        }
    }
}

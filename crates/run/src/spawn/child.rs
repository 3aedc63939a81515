//! `clone` and what the child does until it is the program.

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};
use std::io;
use std::ptr;

use super::{Launch, SpawnError};

/// Stack of the child: it calls a dozen functions of a few variables each.
const STACK_BYTES: usize = 32 * 1024;

/// Starts programs by the kernel.
#[derive(Debug)]
pub struct Kernel {
    /// What the child gets as its signal mask: the one this process was started with.
    mask: libc::sigset_t,
}

/// What the child reads, and the one thing that it tells.
struct Order<'a> {
    launch: &'a Launch,
    mask: &'a libc::sigset_t,
    /// The error of the call that failed, 0 if none did.
    failed: UnsafeCell<c_int>,
}

thread_local! {
    /// The child's stack: the thread waits while it is in use, so each thread needs one.
    static STACK: UnsafeCell<Box<Stack>> = UnsafeCell::new(Box::new(Stack([0; STACK_BYTES])));
}

#[repr(align(16))]
struct Stack([u8; STACK_BYTES]);

impl Kernel {
    /// A spawner whose children get `mask`, which is best what this process was started with.
    pub fn new(mask: libc::sigset_t) -> Self {
        Kernel { mask }
    }

    /// Starts a program; its process number, which is its process group's as well.
    ///
    /// # Errors
    ///
    /// [`SpawnError`]: whether it is worth trying again, and whose fault it is.
    pub fn spawn(&self, launch: &Launch) -> Result<i32, SpawnError> {
        let order = Order { launch, mask: &self.mask, failed: UnsafeCell::new(0) };
        let pid = STACK.with(|stack| {
            // SAFETY: the stack belongs to this thread, which waits in `clone` for as long as the
            // child uses it (CLONE_VFORK); the end of an array is a pointer that may be made.
            let top = unsafe { stack.get().as_ref().map(|stack| stack.0.as_ptr_range().end) };
            let top = top.unwrap_or(ptr::null()).cast_mut().cast::<c_void>();
            // SAFETY: `become_program` never returns into our frames; `order` outlives the call,
            // since CLONE_VFORK holds this thread until the child has become the program or ended.
            // Signals that are handled are blocked in this thread (see `Ends`), so no handler
            // runs on the child's stack, and the child's changes of signal handling are its own
            // (no CLONE_SIGHAND).
            unsafe {
                libc::clone(
                    become_program,
                    top,
                    libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
                    ptr::from_ref(&order).cast_mut().cast(),
                )
            }
        });
        if pid < 0 {
            let error = io::Error::last_os_error();
            return Err(match error.raw_os_error() {
                Some(libc::EAGAIN | libc::ENOMEM) => SpawnError::Busy(error),
                _ => SpawnError::Refused(error),
            });
        }
        // SAFETY: the child has gone its way; nobody else has this cell.
        let failed = unsafe { *order.failed.get() };
        if failed == 0 {
            return Ok(pid);
        }
        // It has ended without becoming the program: it is taken away here, by its number, so that
        // nobody else hears of it.
        // SAFETY: plain call; no status is asked for.
        unsafe { libc::waitpid(pid, ptr::null_mut(), 0) };
        let program = String::from_utf8_lossy(launch.program.as_bytes()).into_owned();
        Err(SpawnError::Program { program, error: io::Error::from_raw_os_error(failed), pid })
    }
}

/// The child.  It shares all memory with a thread that waits: it may call the kernel and nothing
/// else, and writes nothing but the order's one cell.
extern "C" fn become_program(order: *mut c_void) -> c_int {
    // SAFETY: the pointer is the `Order` of the waiting thread.
    let order = unsafe { &*order.cast::<Order<'_>>() };
    let launch = order.launch;
    // SAFETY: plain system calls with pointers that the waiting thread keeps true.
    unsafe {
        if !launch.shares_group {
            libc::setpgid(0, 0);
        }
        let ready = place_streams(&launch.streams)
            && launch.directory.as_ref().is_none_or(|path| libc::chdir(path.as_ptr()) == 0);
        if ready {
            if launch.nice != 0 {
                // What the user may not have is left as it is, as nice(1) does.
                libc::nice(launch.nice);
            }
            libc::sigprocmask(libc::SIG_SETMASK, order.mask, ptr::null_mut());
            let words: *const *const c_char = launch.arguments.pointers();
            libc::execve(launch.program.as_ptr(), words, launch.environment.pointers());
        }
        *order.failed.get() = *libc::__errno_location();
        libc::_exit(127);
    }
}

/// Makes `streams` the descriptors 0, 1 and 2; false when the kernel refuses.
///
/// # Safety
///
/// In the child alone: it replaces the standard descriptors.
unsafe fn place_streams(streams: &[Option<i32>; 3]) -> bool {
    streams.iter().zip(0..).all(|(&stream, target)| match stream {
        // Ours are closed when a program starts, and are never below 3 (see `engine`).
        // SAFETY: plain system call.
        Some(stream) => unsafe { libc::dup2(stream, target) == target },
        None => true,
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::io::{Read as _, Seek as _};
    use std::os::fd::AsRawFd as _;

    use super::super::{Arguments, Environment};
    use super::*;

    fn kernel() -> Kernel {
        // SAFETY: an empty set is valid after sigemptyset.
        let mask = unsafe {
            let mut mask = std::mem::zeroed();
            libc::sigemptyset(&mut mask);
            mask
        };
        Kernel::new(mask)
    }

    fn launch(words: &[&str], own: &[&[u8]]) -> Launch {
        let mut arguments = Arguments::default();
        let fill = |list: &mut crate::template::Words| {
            words.iter().for_each(|word| list.push(word.as_bytes()));
            Ok::<_, ()>(())
        };
        arguments.set(fill).unwrap();
        let common = [b"A=1".to_vec(), b"SEQ=x".to_vec()];
        let mut environment = Environment::new(common, &["SEQ".to_owned()]);
        environment.set(own);
        Launch {
            program: CString::new(words[0]).unwrap().into(),
            arguments,
            environment,
            streams: [None; 3],
            directory: None,
            nice: 0,
            shares_group: false,
        }
    }

    fn run(words: &[&str], own: &[&[u8]]) -> (i32, String) {
        let mut file = tempfile::tempfile().unwrap();
        let mut request = launch(words, own);
        request.streams[1] = Some(file.as_raw_fd());
        let pid = kernel().spawn(&request).unwrap();
        let mut status = 0;
        // SAFETY: plain call.
        assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        (libc::WEXITSTATUS(status), text)
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
        let _ends = super::super::Ends::listen(&[]).unwrap();
        let (_, text) = run(&["/bin/grep", "SigIgn\\|SigBlk", "/proc/self/status"], &[]);
        let masks: Vec<u64> = text
            .lines()
            .map(|line| u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap())
            .collect();
        assert_eq!(masks[0], 0, "nothing is blocked");
        assert_eq!(masks[1] & 1 << (libc::SIGPIPE - 1), 0, "SIGPIPE is not ignored");
    }

    #[test]
    fn a_program_that_cannot_run_is_told_and_leaves_no_process() {
        for (path, code) in [("/no/such/program", 127), ("/etc/passwd", 126), ("/", 126)] {
            let request = launch(&[path], &[]);
            let error = kernel().spawn(&request).unwrap_err();
            assert_eq!(error.exit_code(), code, "{error}");
            assert!(error.to_string().contains(path), "{error}");
        }
    }
}

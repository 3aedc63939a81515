//! The process of a part: forked from the service, and waited for by it.
//!
//! A program may lie anywhere in memory, so the loader writes 0.8 MB of addresses into its constants at
//! each start, and pages that are written to are a process's own.  A process that is forked and executes
//! nothing has those of the service, and as nobody writes to them again, all parts have them once.  So
//! the child goes on as its part: [`fork`] returns in it, too ([`Forked::Part`]), the values of the service
//! are forgotten there, and the verb finds what it would find in a fresh program: its words, standard
//! streams, environment, signals, capabilities, and no descriptor of the service.
//!
//! What parts have in common besides is the place of the program in memory, and what the service holds there:
//! the configuration, which its user may read on the disk as well.
//!
//! The program is executed, as any other, if its file is not the one that runs here (after an update a part
//! that starts again is the new program), if this process has more threads than the one that a fork has
//! (`ulimit -s` was low), if the kernel cannot show the words of the part as its command line (Linux
//! without `CONFIG_CHECKPOINT_RESTORE`), or if a filter of system calls keeps a part from giving up
//! capabilities by itself.  The process then says why ([`EXECUTES`]), which the account of its part keeps.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, PipeReader, PipeWriter, Write as _};
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::ptr;

use rustix::io::FdFlags;
use rustix::process::{Pid, PrctlMmMap, Signal, WaitOptions};
use rustix::thread::CapabilitySet;

/// The name under which a part is called.
const CALLED: &str = "whit";
/// The first words of a process that executes the program; why follows.
pub(crate) const EXECUTES: &str = "is executed, and shares no memory: ";
/// Variables that a service manager has set for the service alone: who goes on as a part removes them.
pub const SERVICE_VARIABLES: [&str; 5] =
    ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID"];

/// What the process of a part begins with.
#[derive(Debug)]
pub(crate) struct ProcessStart<'a> {
    pub(crate) program: &'a Path,
    /// The words behind `whit`.
    pub(crate) words: &'a [OsString],
    pub(crate) input: OwnedFd,
    /// Sockets of the service that are open in it, with the same numbers.
    pub(crate) sockets: &'a [RawFd],
    pub(crate) given_up: CapabilitySet,
    /// Whether a filter of system calls has ended the process before.
    pub(crate) is_filtered: bool,
}

/// Which of the two processes this is.
#[derive(Debug)]
pub(crate) enum Forked {
    /// The service, with the new process and what that says.
    Service(PartProcess, PipeReader),
    /// The new process, which has to run these words and must not use or drop anything of the service.
    Part(Vec<OsString>),
}

/// A process of a part that was not waited for yet.
#[derive(Debug)]
pub(crate) struct PartProcess(Pid);

impl PartProcess {
    pub(crate) fn id(&self) -> u32 {
        self.0.as_raw_pid().cast_unsigned()
    }

    /// How it has ended, told once.
    pub(crate) fn try_wait(&self) -> io::Result<Option<ExitStatus>> {
        let ended = rustix::process::waitpid(Some(self.0), WaitOptions::NOHANG)?;
        Ok(ended.map(|(_, status)| ExitStatus::from_raw(status.as_raw())))
    }

    pub(crate) fn signal(&self, signal: Signal) {
        // It may have ended by itself.
        let _ = rustix::process::kill_process(self.0, signal);
    }
}

/// Starts the process of a part.
///
/// # Errors
/// If the system has no process for it; what fails in the process is said there, and ends it.
pub(crate) fn fork(start: ProcessStart<'_>) -> io::Result<Forked> {
    let (said, says) = io::pipe()?;
    rustix::io::ioctl_fionbio(&said, true)?;
    let service = std::process::id();
    let obstacle = obstacle(&start);
    // SAFETY: with one thread, the child is a copy of this process at this place.  With several it executes a
    // program at once; the C library makes its allocator usable in every child, and no other thread
    // of the service works: the first one waits for this one to end.
    let pid = unsafe { libc::fork() };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    match Pid::from_raw(pid) {
        Some(pid) => Ok(Forked::Service(PartProcess(pid), said)),
        None => {
            drop(said);
            Ok(Forked::Part(become_part(start, says, service, obstacle)))
        }
    }
}

/// Why a child cannot go on, as far as the service knows.
fn obstacle(start: &ProcessStart<'_>) -> Option<&'static str> {
    match () {
        () if start.is_filtered => Some("a filter of system calls has ended it before"),
        () if !is_running(start.program) => {
            Some("its file is not the one that the service runs, as after an update")
        }
        () if !has_one_thread() => {
            Some("the service has several threads, as with a low limit of the stack (ulimit -s)")
        }
        () => None,
    }
}

/// Makes a child what a fresh program would be, or executes the program.
fn become_part(
    start: ProcessStart<'_>,
    says: PipeWriter,
    service: u32,
    obstacle: Option<&str>,
) -> Vec<OsString> {
    let prepared = prepare(&start, &says, service);
    let ProcessStart { program, words, input, .. } = start;
    drop((input, says));
    let words: Vec<OsString> =
        std::iter::once(CALLED.into()).chain(words.iter().cloned()).collect();
    let done = prepared.and_then(|given_up| {
        let why = match obstacle {
            Some(why) => why.to_owned(),
            None => match be_as_after_execve(&words, program, given_up) {
                Ok(()) => return close_as_execve(),
                Err(why) => why,
            },
        };
        // Not by a value of the standard library, whose lock another thread may have had.
        let _ = rustix::io::write(rustix::stdio::stderr(), format!("{EXECUTES}{why}\n").as_bytes());
        let mut command = Command::new(program);
        command.arg0(CALLED).args(&words[1..]);
        for name in SERVICE_VARIABLES {
            command.env_remove(name);
        }
        Err(command.exec())
    });
    if let Err(error) = done {
        let _ = writeln!(io::stderr(), "cannot start it: {error}");
        // SAFETY: ends this process at once, without what the service would do at its end.
        unsafe { libc::_exit(2) }
    }
    words
}

/// Makes of a child what execve(2) would have made of it, but for its descriptors; otherwise says why not.
fn be_as_after_execve(
    words: &[OsString],
    program: &Path,
    given_up: CapabilitySet,
) -> Result<(), String> {
    show_words(words, program).map_err(|error| {
        format!("the kernel cannot show its command line ({error}), as without CONFIG_CHECKPOINT_RESTORE")
    })?;
    crate::signals::give_up(given_up)
        .map_err(|error| format!("it cannot give up capabilities by itself ({error})"))
}

/// Gives a child its streams, sockets and signals; gives the capabilities that it must give up.
fn prepare(start: &ProcessStart<'_>, says: &PipeWriter, service: u32) -> io::Result<CapabilitySet> {
    rustix::stdio::dup2_stderr(says)?;
    rustix::stdio::dup2_stdin(&start.input)?;
    rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?;
    rustix::process::setpgid(None, None)?;
    let given_up = crate::signals::prepare_part(service, start.given_up)?;
    for socket in start.sockets {
        // SAFETY: the service keeps the socket open while it starts parts.
        let socket = unsafe { BorrowedFd::borrow_raw(*socket) };
        rustix::io::fcntl_setfd(socket, FdFlags::empty())?;
    }
    Ok(given_up)
}

/// Has `/proc` show other words as the command line of this process, and its program's name.
fn show_words(words: &[OsString], program: &Path) -> io::Result<()> {
    let mut line = Vec::new();
    for word in words {
        if word.as_bytes().contains(&0) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        spawn::push_word(&mut line, word.as_bytes());
    }
    let stat = fs::read("/proc/self/stat")?;
    let stat = String::from_utf8_lossy(&stat);
    // Behind the name of the command: the third and all later ones (proc(5)).
    let (_, fields) = stat.rsplit_once(')').unwrap_or_default();
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let field = |number: usize| -> io::Result<u64> {
        let value = fields.get(number - 3).and_then(|text| text.parse().ok());
        value.ok_or_else(|| io::ErrorKind::Unsupported.into())
    };
    // SAFETY: with 0 it only tells where the heap ends, and changes nothing.
    let brk = unsafe { libc::sbrk(0) }.expose_provenance() as u64;
    // The kernel reads it whenever somebody asks.
    let line = line.leak().as_ptr_range();
    let map = PrctlMmMap {
        start_code: field(26)?,
        end_code: field(27)?,
        start_data: field(45)?,
        end_data: field(46)?,
        start_brk: field(47)?,
        brk,
        start_stack: field(28)?,
        arg_start: line.start.expose_provenance() as u64,
        arg_end: line.end.expose_provenance() as u64,
        env_start: field(50)?,
        env_end: field(51)?,
        auxv: ptr::null_mut(),
        auxv_size: 0,
        exe_fd: -1,
    };
    // SAFETY: but for the words, which live as long as the process, it is what the kernel has; an empty
    // vector and no file leave both as they are.
    unsafe { rustix::process::configure_virtual_memory_map(&map) }?;
    let name = program.file_name().map(OsStr::as_bytes).unwrap_or_default();
    rustix::thread::set_name(&CString::new(name)?)?;
    Ok(())
}

/// Closes the descriptors that execve(2) would close: those of the service.
fn close_as_execve() -> io::Result<()> {
    let numbers = fs::read_dir("/proc/self/fd")?.flatten();
    let numbers: Vec<RawFd> =
        numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for number in numbers {
        // SAFETY: used for one system call, which refuses a number that is not open.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        let flags = rustix::io::fcntl_getfd(descriptor);
        if flags.is_ok_and(|flags| flags.contains(FdFlags::CLOEXEC)) {
            // SAFETY: its owner is a value of the service, which nobody uses or drops in this process.
            unsafe { rustix::io::close(number) };
        }
    }
    Ok(())
}

/// Whether a file is the program that runs here.
fn is_running(program: &Path) -> bool {
    let running = identity(Path::new("/proc/self/exe"));
    running.is_some() && identity(program) == running
}

/// Whether this process has the calling thread alone.
fn has_one_thread() -> bool {
    let stat = fs::read("/proc/self/stat").unwrap_or_default();
    procfs::pid::parse_stat(&stat).and_then(|stat| stat.field(20)) == Some(1)
}

/// The device and number of a file or folder that is there.
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|data| (data.dev(), data.ino()))
}

//! Starts a command and holds it just before its `execve`.
//!
//! The child of a `fork` gets ready (signals, user), then waits at a socket.  The engine meanwhile
//! takes hold of it; [`HeldCommand::release`] lets it go, and the next system call that it makes is the
//! `execve` of a file that was found beforehand.  (`execvp` would try one folder after the other,
//! and each try would be counted.)  If it fails, the child sends back why and ends.

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::ptr;

use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions};

use super::Error;
use super::seccomp::Filter;
use crate::WaitStatus;

/// What a child ends with that could not begin its program.
const FAILED: i32 = 127;

/// A command to be started.  Stdin, stdout, stderr, the folder and the process group are those of
/// the caller.
#[derive(Clone, Debug)]
pub struct TracedCommand {
    /// A path, or a name to be looked for in [`folders`](Self::folders).
    pub program: OsString,
    /// What comes after the name.
    pub arguments: Vec<OsString>,
    /// The name that it is given (`argv[0]`); the program as it was given if `None`.
    pub name: Option<OsString>,
    /// All of the environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where to look for the program, as in `PATH`.
    pub folders: OsString,
    /// Who runs it; the caller if `None`.
    pub user: Option<CommandUser>,
}

/// A user to run a command as.
#[derive(Clone, Debug)]
pub struct CommandUser {
    name: String,
    uid: libc::uid_t,
    gid: libc::gid_t,
    groups: Vec<libc::gid_t>,
}

impl CommandUser {
    /// Looks a user up.
    ///
    /// # Errors
    ///
    /// [`Error::NoUser`] if there is none of that name.
    pub fn by_name(name: &str) -> Result<Self, Error> {
        let text = CString::new(name).map_err(|_| Error::ZeroByte(name.to_owned()))?;
        // Far above what any entry of a user takes; a longer one is answered with ERANGE.
        let mut buffer = vec![0; 64 << 10];
        // SAFETY: a `passwd` of zeros is a valid one (null pointers and numbers).
        let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
        let mut found = ptr::null_mut();
        // SAFETY: every pointer is to a live object, and the length is that of the buffer.
        let failed = unsafe {
            libc::getpwnam_r(
                text.as_ptr(),
                &raw mut entry,
                buffer.as_mut_ptr(),
                buffer.len(),
                &raw mut found,
            )
        };
        if failed != 0 {
            let source = io::Error::from_raw_os_error(failed);
            return Err(Error::System { what: "looking a user up", why: source });
        }
        if found.is_null() {
            return Err(Error::NoUser(name.to_owned()));
        }
        // NGROUPS_MAX of Linux.
        let mut groups = vec![0; 65_536];
        let mut count = groups.len() as libc::c_int;
        // SAFETY: the name is a string, and `count` is the number of groups that there is room for.
        let failed = unsafe {
            libc::getgrouplist(text.as_ptr(), entry.pw_gid, groups.as_mut_ptr(), &raw mut count)
        };
        groups.truncate(if failed < 0 { 0 } else { usize::try_from(count).unwrap_or(0) });
        groups.shrink_to_fit();
        Ok(CommandUser { name: name.to_owned(), uid: entry.pw_uid, gid: entry.pw_gid, groups })
    }
}

impl TracedCommand {
    /// The file that would be run, as `strace` finds it: the first of that name that is a file and
    /// may be executed by somebody.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if no folder has one; [`Error::Exec`] if a path was given and nothing is
    /// there.
    pub fn file(&self) -> Result<PathBuf, Error> {
        let program = Path::new(&self.program);
        if self.program.as_bytes().contains(&b'/') {
            return match program.metadata() {
                Ok(_) => Ok(program.to_owned()),
                Err(source) => {
                    Err(Error::Exec { program: program.display().to_string(), why: source })
                }
            };
        }
        let runs = |path: &PathBuf| {
            path.metadata().is_ok_and(|meta| {
                meta.is_file() && meta.permissions().mode() & 0o111 != 0 && meta.nlink() > 0
            })
        };
        let folders = self.folders.as_bytes().split(|byte| *byte == b':');
        folders
            // An empty folder of PATH is the one that we are in.
            .map(|folder| if folder.is_empty() { &b"."[..] } else { folder })
            .map(|folder| Path::new(OsStr::from_bytes(folder)).join(program))
            .find(|path| !self.program.is_empty() && runs(path))
            .ok_or_else(|| Error::NotFound(self.program.to_string_lossy().into_owned()))
    }
}

/// What goes wrong in a child before it runs its program.
#[derive(Clone, Copy)]
enum Step {
    User = 1,
    Filter = 2,
    Exec = 3,
}

/// All that a child needs, made beforehand: between `fork` and `execve` nothing may be allocated.
struct Ready {
    file: CString,
    _arguments: Vec<CString>,
    argument_pointers: Vec<*const libc::c_char>,
    _environment: Vec<CString>,
    environment_pointers: Vec<*const libc::c_char>,
    user: Option<CommandUser>,
    filter: Option<Filter>,
}

impl Ready {
    fn of(command: &TracedCommand, filter: Option<Filter>) -> Result<Self, Error> {
        let text = |text: &OsStr| {
            CString::new(text.as_bytes())
                .map_err(|_| Error::ZeroByte(text.to_string_lossy().into_owned()))
        };
        let pointers = |texts: &[CString]| -> Vec<*const libc::c_char> {
            texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
        };
        let name = command.name.as_ref().unwrap_or(&command.program);
        let arguments = [name]
            .into_iter()
            .chain(&command.arguments)
            .map(|argument| text(argument))
            .collect::<Result<Vec<_>, _>>()?;
        let mut environment = Vec::new();
        for (key, value) in &command.environment {
            let pair = [key.as_bytes(), b"=", value.as_bytes()].concat();
            environment.push(text(&OsString::from_vec(pair))?);
        }
        Ok(Ready {
            file: text(command.file()?.as_os_str())?,
            argument_pointers: pointers(&arguments),
            _arguments: arguments,
            environment_pointers: pointers(&environment),
            _environment: environment,
            user: command.user.clone(),
            filter,
        })
    }
}

/// A command that waits for its `execve`, or runs.
#[derive(Debug)]
pub struct HeldCommand {
    pid: i32,
    pidfd: OwnedFd,
    file: String,
    user: String,
    socket: UnixStream,
    released: bool,
    end: Option<WaitStatus>,
}

impl HeldCommand {
    /// Starts a command and holds it before its `execve`.  The signals that the calling thread has
    /// blocked will be blocked in it, SIGPIPE does what it does by default, and what was ignored
    /// stays so.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Exec`] if the file is not there, [`Error::ZeroByte`], and what
    /// `fork` says.
    pub fn start(command: &TracedCommand) -> Result<Self, Error> {
        Self::with(command, None)
    }

    /// As [`start`](Self::start), with a filter for system calls, which needs a tracer.
    pub(crate) fn with(command: &TracedCommand, filter: Option<Filter>) -> Result<Self, Error> {
        let ready = Ready::of(command, filter)?;
        let (socket, theirs) = UnixStream::pair().map_err(|source| Error::System {
            what: "making a socket for the command",
            why: source,
        })?;
        // A handler of ours must not run in the child.
        let before = block_signals();
        // SAFETY: the child calls nothing that takes a lock or allocates, until it runs its program
        // or ends.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            prepare_and_run(&ready, theirs.as_raw_fd(), &before);
        }
        let error = Error::last("starting a process for the command");
        set_signals(&before);
        let pidfd = Pid::from_raw(pid.max(0)).ok_or(error)?;
        let pidfd = match rustix::process::pidfd_open(pidfd, PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            Err(error) => {
                end_child(pid);
                return Err(Error::System { what: "watching the command", why: error.into() });
            }
        };
        let file = ready.file.to_string_lossy().into_owned();
        let user = ready.user.as_ref().map_or_else(String::new, |user| user.name.clone());
        Ok(HeldCommand { pid, pidfd, file, user, socket, released: false, end: None })
    }

    /// Its number.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Readable when it has ended.
    #[must_use]
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Lets it go on to its `execve`, and does not wait for it: under ptrace that stops.
    ///
    /// # Errors
    ///
    /// If it is no longer there.
    pub fn release(&mut self) -> Result<(), Error> {
        self.released = true;
        self.socket
            .write_all(b"!")
            .map_err(|source| Error::System { what: "letting the command go", why: source })
    }

    /// Waits until the program runs.  Not to be called while it may be stopped by a tracer.
    ///
    /// # Errors
    ///
    /// [`Error::Exec`], [`Error::User`] or [`Error::Filter`] if it cannot.
    pub fn running(&mut self) -> Result<(), Error> {
        let mut answer = [0; 5];
        let Ok(()) = self.socket.read_exact(&mut answer) else {
            // The end of the child's socket was closed by its execve.
            return Ok(());
        };
        let [step, number @ ..] = answer;
        let source = io::Error::from_raw_os_error(i32::from_ne_bytes(number));
        if step == Step::User as u8 {
            return Err(Error::User { user: self.user.clone(), why: source });
        }
        if step == Step::Filter as u8 {
            return Err(Error::Filter(source));
        }
        Err(Error::Exec { program: self.file.clone(), why: source })
    }

    /// How it ended; `None` if it has not.  Not for a command under ptrace, whose tracer is told.
    ///
    /// # Errors
    ///
    /// If somebody else has taken the answer.
    pub fn ended(&mut self) -> Result<Option<WaitStatus>, Error> {
        if self.end.is_some() {
            return Ok(self.end);
        }
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let status = rustix::process::waitid(WaitId::PidFd(self.pidfd.as_fd()), options).map_err(
            |error| Error::System { what: "waiting for the command", why: error.into() },
        )?;
        self.end =
            status.and_then(|status| match (status.exit_status(), status.terminating_signal()) {
                (Some(status), _) => Some(WaitStatus::Exited(status)),
                (None, Some(number)) => {
                    Some(WaitStatus::Signaled { number, dumped: status.dumped() })
                }
                (None, None) => None,
            });
        Ok(self.end)
    }
}

impl Drop for HeldCommand {
    /// A command that was never let go is ended; one that runs is left alone.
    fn drop(&mut self) {
        if !self.released {
            end_child(self.pid);
        }
    }
}

/// Ends a child of ours that waits for its release, and takes note of it.
fn end_child(pid: i32) {
    // SAFETY: it is our child and was not waited for, so that the number is still its.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        libc::waitpid(pid, ptr::null_mut(), libc::__WALL);
    }
}

/// Blocks all signals of this thread; gives those that were blocked before.
fn block_signals() -> libc::sigset_t {
    // SAFETY: the sets are live, and `sigfillset` makes the first a valid one.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        before
    }
}

/// Blocks these signals of this thread and no others.
fn set_signals(blocked: &libc::sigset_t) {
    // SAFETY: the set is a valid one, as the kernel gave it.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, blocked, ptr::null_mut()) };
}

/// The child's part: gets ready, waits for its release, runs the program.  Allocates nothing.
fn prepare_and_run(ready: &Ready, socket: i32, blocked: &libc::sigset_t) -> ! {
    default_handlers();
    set_signals(blocked);
    // The filter has to wait for the tracer, without whom selected calls fail; and it is best set by
    // whoever may do so without giving up privileges for good.
    let take_on = || ready.user.as_ref().is_none_or(become_user);
    if ready.filter.is_none() && !take_on() {
        fail(socket, Step::User);
    }
    if !wait_for_release(socket) {
        // SAFETY: ends this process at once.
        unsafe { libc::_exit(FAILED) };
    }
    if let Some(filter) = &ready.filter {
        if !filter.install() {
            fail(socket, Step::Filter);
        }
        if !take_on() {
            fail(socket, Step::User);
        }
    }
    // SAFETY: the file is a string, and the lists end with null; all live until the end.
    unsafe {
        libc::execve(
            ready.file.as_ptr(),
            ready.argument_pointers.as_ptr(),
            ready.environment_pointers.as_ptr(),
        );
    }
    fail(socket, Step::Exec)
}

/// Waits for the byte that lets the child go; whether it came.
fn wait_for_release(socket: i32) -> bool {
    let mut byte = 0u8;
    loop {
        // SAFETY: reads one byte into a live one.
        let count = unsafe { libc::read(socket, (&raw mut byte).cast(), 1) };
        if count == 1 {
            return true;
        }
        if count == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return false;
        }
    }
}

/// Signals do what they do by default where they had a handler; SIGPIPE too, which the run time of
/// this language ignores.
fn default_handlers() {
    for signal in 1..=64 {
        // SAFETY: a `sigaction` of zeros is the default action; the kernel writes a valid one into
        // `now`.  Numbers that cannot be changed are answered with an error, which is fine.
        unsafe {
            let default: libc::sigaction = std::mem::zeroed();
            let mut now: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, ptr::null(), &raw mut now) != 0 {
                continue;
            }
            let handled = now.sa_sigaction != libc::SIG_DFL && now.sa_sigaction != libc::SIG_IGN;
            if handled || signal == libc::SIGPIPE {
                libc::sigaction(signal, &raw const default, ptr::null_mut());
            }
        }
    }
}

/// Takes on another user's rights; whether it worked.
fn become_user(user: &CommandUser) -> bool {
    // SAFETY: plain calls; the list of groups is live and as long as it says.
    unsafe {
        libc::setgroups(user.groups.len(), user.groups.as_ptr()) == 0
            && libc::setregid(user.gid, user.gid) == 0
            && libc::setreuid(user.uid, user.uid) == 0
    }
}

/// Sends back what failed and why (`errno`), and ends.
fn fail(socket: i32, step: Step) -> ! {
    // SAFETY: the C library's place of this thread's error number.
    let number = unsafe { *libc::__errno_location() };
    let mut answer = [step as u8; 5];
    answer[1..].copy_from_slice(&number.to_ne_bytes());
    // SAFETY: five live bytes; and the end of this process.
    unsafe {
        libc::write(socket, answer.as_ptr().cast(), answer.len());
        libc::_exit(FAILED)
    }
}

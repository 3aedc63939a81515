//! Starts a command and holds it just before its `execve`.
//!
//! The child of a `fork` sets its signals and its user, then waits on a socket.  The engine
//! attaches to it meanwhile; [`HeldCommand::release`] lets it continue, and its next system call is
//! the `execve` of a file that was looked up before.  (`execvp` would try one folder after the
//! other, and each try would be counted.)  If `execve` fails, the child sends the error number back
//! and exits.
//!
//! With [`TracerPlace`] the roles are exchanged (`-D`): this process becomes the command, and a grandchild
//! goes on in its place.  The command stays the child of whoever started this process, and has no child
//! that it does not know, since the process between the two has ended before.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
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

/// The exit status of a child that could not run its program.
const FAILED: i32 = 127;

/// A command to start.  It inherits stdin, stdout, stderr, the working directory and the process
/// group of the caller.
#[derive(Clone, Debug)]
pub struct TracedCommand {
    /// A path, or a name to look up in [`folders`](Self::folders).
    pub program: OsString,
    /// The arguments after `argv[0]`.
    pub arguments: Vec<OsString>,
    /// The name that it sees as `argv[0]`; `None` for `program`.
    pub name: Option<OsString>,
    /// The whole environment of the command.
    pub environment: Vec<(OsString, OsString)>,
    /// The folders to look `program` up in, as in `PATH`.
    pub folders: OsString,
    /// The user to run it as; `None` for the caller.
    pub user: Option<CommandUser>,
    /// Which of stdin, stdout and stderr are closed in it: the Rust runtime opens `/dev/null` in
    /// their place.
    pub closed: [bool; 3],
    /// Which of stdin and stdout the command alone has once it is released: the caller gets
    /// `/dev/null` in their place, so that a pipe ends when the command closes it.
    pub handed_over: [bool; 2],
    /// This process becomes the command, and a grandchild goes on in its place; only by ptrace, and
    /// while this process has no other thread that is needed.
    pub tracer: Option<TracerPlace>,
}

/// Where a tracer runs that is no parent of its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracerPlace {
    /// In the process group and the session of the command.
    Grandchild,
    /// In a process group of its own.
    Group,
    /// In a session of its own.
    Session,
}

impl TracerPlace {
    /// The place that so many `-D` ask for.
    #[must_use]
    pub fn of_count(count: u8) -> Option<Self> {
        match count {
            0 => None,
            1 => Some(TracerPlace::Grandchild),
            2 => Some(TracerPlace::Group),
            _ => Some(TracerPlace::Session),
        }
    }
}

impl std::str::FromStr for TracerPlace {
    type Err = &'static str;

    /// Parses the word of `--daemonize=`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "grandchild" => Ok(TracerPlace::Grandchild),
            "pgroup" | "pgrp" => Ok(TracerPlace::Group),
            "session" => Ok(TracerPlace::Session),
            _ => Err("give grandchild, pgroup or session"),
        }
    }
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
        // Far more than any entry takes; for a longer one the call fails with ERANGE.
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
        // SAFETY: the name is a string, and `count` is the number of groups that fit.
        let failed = unsafe {
            libc::getgrouplist(text.as_ptr(), entry.pw_gid, groups.as_mut_ptr(), &raw mut count)
        };
        groups.truncate(if failed < 0 { 0 } else { usize::try_from(count).unwrap_or(0) });
        groups.shrink_to_fit();
        Ok(CommandUser { name: name.to_owned(), uid: entry.pw_uid, gid: entry.pw_gid, groups })
    }
}

impl TracedCommand {
    /// A command of these words, the program first, that is the caller in all else: it runs as the same
    /// user, with the same descriptors, and has the caller's process as its tracer.
    pub fn new<Word: Into<OsString>>(
        words: impl IntoIterator<Item = Word>,
        environment: Vec<(OsString, OsString)>,
        folders: impl Into<OsString>,
    ) -> Self {
        let mut words = words.into_iter().map(Into::into);
        TracedCommand {
            program: words.next().unwrap_or_default(),
            arguments: words.collect(),
            name: None,
            environment,
            folders: folders.into(),
            user: None,
            closed: [false; 3],
            handed_over: [false; 2],
            tracer: None,
        }
    }

    /// The file to run, found as `strace` does: the first regular file of that name that somebody
    /// may execute.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if no folder has one; [`Error::Exec`] if `program` is a path to no file.
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
            // An empty folder in PATH is the working directory.
            .map(|folder| if folder.is_empty() { &b"."[..] } else { folder })
            .map(|folder| Path::new(OsStr::from_bytes(folder)).join(program))
            .find(|path| !self.program.is_empty() && runs(path))
            .ok_or_else(|| Error::NotFound(self.program.to_string_lossy().into_owned()))
    }
}

/// A step that can fail in a child before it runs its program.
#[derive(Clone, Copy)]
enum Step {
    User = 1,
    Filter = 2,
    Exec = 3,
}

/// What a child needs, prepared before `fork`: until `execve` it must not allocate.
struct Ready {
    file: CString,
    _arguments: Vec<CString>,
    argument_pointers: Vec<*const libc::c_char>,
    _environment: Vec<CString>,
    environment_pointers: Vec<*const libc::c_char>,
    user: Option<CommandUser>,
    closed: [bool; 3],
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
            closed: command.closed,
            filter,
        })
    }
}

/// A command that waits before its `execve`, or runs.
#[derive(Debug)]
pub struct HeldCommand {
    pid: i32,
    pidfd: OwnedFd,
    file: String,
    user: String,
    socket: UnixStream,
    handed_over: [bool; 2],
    released: bool,
    end: Option<WaitStatus>,
}

impl HeldCommand {
    /// Starts a command and holds it before its `execve`.  It keeps the signals blocked that the
    /// calling thread has blocked, and ignores those that the caller ignores, except SIGPIPE, which
    /// gets its default action.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Exec`] if the file does not exist, [`Error::ZeroByte`], and
    /// [`Error::System`] if `fork` fails.
    pub fn start(command: &TracedCommand) -> Result<Self, Error> {
        Self::with(command, None)
    }

    /// As [`start`](Self::start), with a seccomp filter, which needs a tracer.
    pub(crate) fn with(command: &TracedCommand, filter: Option<Filter>) -> Result<Self, Error> {
        let ready = Ready::of(command, filter)?;
        let (socket, theirs) = UnixStream::pair().map_err(|source| Error::System {
            what: "making a socket for the command",
            why: source,
        })?;
        // A signal handler of this process must not run in the child.
        let before = block_signals();
        // Until its `execve` or its exit the command calls nothing that takes a lock or allocates.
        let side = match command.tracer {
            None => fork(),
            Some(place) => fork_tracer(place),
        };
        if side == ForkSide::Command {
            // With this end open, too, it would wait for ever for a tracer that was killed.
            // SAFETY: its copy of the descriptor; `socket` is never dropped here.
            unsafe { libc::close(socket.as_raw_fd()) };
            if command.tracer.is_some() {
                allow_tracer(theirs.as_raw_fd());
            }
            prepare_and_run(&ready, theirs.as_raw_fd(), &before);
        }
        let error = Error::last("starting a process for the command");
        set_signals(&before);
        drop(theirs);
        let ForkSide::Tracer(pid) = side else { return Err(error) };
        if command.tracer.is_some() {
            ask_to_trace(&socket)?;
        }
        let pidfd = Pid::from_raw(pid.max(0)).ok_or(error)?;
        let pidfd = match rustix::process::pidfd_open(pidfd, PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            Err(error) => {
                end_child(pid);
                return Err(Error::System {
                    what: "opening a pidfd of the command",
                    why: error.into(),
                });
            }
        };
        let file = ready.file.to_string_lossy().into_owned();
        let user = ready.user.as_ref().map_or_else(String::new, |user| user.name.clone());
        let handed_over = command.handed_over;
        Ok(HeldCommand { pid, pidfd, file, user, socket, handed_over, released: false, end: None })
    }

    /// The process id of the command.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Becomes readable when it has exited.
    #[must_use]
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Lets it continue to its `execve`, and does not wait for it: under ptrace it stops there.
    /// Standard descriptors that it alone shall have are given up.
    ///
    /// # Errors
    ///
    /// If it has exited.
    pub fn release(&mut self) -> Result<(), Error> {
        self.released = true;
        give_up(self.handed_over);
        self.socket
            .write_all(b"!")
            .map_err(|source| Error::System { what: "releasing the command", why: source })
    }

    /// Waits until the program runs.  Not to be called while a tracer may hold it stopped.
    ///
    /// # Errors
    ///
    /// [`Error::Exec`], [`Error::User`] or [`Error::Filter`] if it cannot.
    pub fn running(&mut self) -> Result<(), Error> {
        let mut answer = [0; 5];
        let Ok(()) = self.socket.read_exact(&mut answer) else {
            // The `execve` has closed the child's end of the socket.
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

    /// The wait status of the command; `None` while it runs.  Not for a command under ptrace, whose tracer waits
    /// for it.
    ///
    /// # Errors
    ///
    /// If another part of the process has waited for it.
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
    /// Kills a command that was never released; one that runs is left alone.
    fn drop(&mut self) {
        if !self.released {
            end_child(self.pid);
        }
    }
}

/// Which process this is, after a fork.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ForkSide {
    /// The one that becomes the command.
    Command,
    /// The one that traces the command of this number.
    Tracer(i32),
    /// There is no other.
    Failed,
}

/// Forks; the child is the command.
fn fork() -> ForkSide {
    // SAFETY: what the child may call is said where this is called.
    match unsafe { libc::fork() } {
        0 => ForkSide::Command,
        pid if pid > 0 => ForkSide::Tracer(pid),
        _ => ForkSide::Failed,
    }
}

/// Forks twice; this process is the command, and its grandchild the tracer.
fn fork_tracer(place: TracerPlace) -> ForkSide {
    // SAFETY: plain system calls; the child only forks and exits, and the grandchild has all that
    // the thread that called this has.
    unsafe {
        let command = libc::getpid();
        match libc::fork() {
            0 => match libc::fork() {
                0 => {
                    match place {
                        TracerPlace::Grandchild => {}
                        TracerPlace::Group => {
                            libc::setpgid(0, 0);
                        }
                        TracerPlace::Session => {
                            libc::setsid();
                        }
                    }
                    ForkSide::Tracer(command)
                }
                pid => libc::_exit(i32::from(pid < 0)),
            },
            pid if pid > 0 => {
                let mut status = 0;
                // All signals are blocked, so none interrupts it.
                let waited = libc::waitpid(pid, &raw mut status, libc::__WALL);
                if waited == pid && status == 0 { ForkSide::Command } else { ForkSide::Failed }
            }
            _ => ForkSide::Failed,
        }
    }
}

/// Tells the command who will trace it, and waits until it allows that.
fn ask_to_trace(mut socket: &UnixStream) -> Result<(), Error> {
    let own = std::process::id();
    let mut answer = [0];
    socket
        .write_all(&own.to_ne_bytes())
        .and_then(|()| socket.read_exact(&mut answer))
        .map_err(|why| Error::System { what: "asking the command to be traced", why })
}

/// Allows the tracer that asks on this socket to trace this process, which Yama
/// (`kernel.yama.ptrace_scope`) allows no process that is not its parent.  Allocates nothing.
fn allow_tracer(socket: i32) {
    let mut bytes = [0u8; 4];
    // SAFETY: reads and writes no more than the bytes, which are live.
    unsafe {
        // Four bytes that were written at once come at once.
        if libc::read(socket, bytes.as_mut_ptr().cast(), bytes.len()) == bytes.len() as isize {
            let tracer = libc::c_ulong::from(u32::from_ne_bytes(bytes));
            // EINVAL without Yama.
            libc::prctl(libc::PR_SET_PTRACER, tracer, 0, 0, 0);
            libc::write(socket, bytes.as_ptr().cast(), 1);
        }
    }
}

/// Opens `/dev/null` in place of stdin and stdout, where this is wanted.  Without `/dev/null` they stay
/// open, and a pipe ends with this process.
fn give_up(wanted: [bool; 2]) {
    let Ok(null) = File::options().read(true).write(true).open("/dev/null") else { return };
    for (descriptor, _) in (0..).zip(wanted).filter(|(_, is_wanted)| *is_wanted) {
        // SAFETY: only the number of `null` is used; nothing owns a standard descriptor.
        unsafe { libc::dup2(null.as_raw_fd(), descriptor) };
    }
}

/// Kills a child that was not released, and waits for it.
fn end_child(pid: i32) {
    // SAFETY: it is our child and was not waited for, so the number is still its.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        libc::waitpid(pid, ptr::null_mut(), libc::__WALL);
    }
}

/// Blocks all signals in this thread; returns the mask before.
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

/// Sets the signal mask of this thread.
fn set_signals(blocked: &libc::sigset_t) {
    // SAFETY: the set is a valid one, as the kernel gave it.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, blocked, ptr::null_mut()) };
}

/// Runs in the child: prepares, waits for the release, runs the program.  Allocates nothing.
fn prepare_and_run(ready: &Ready, socket: i32, blocked: &libc::sigset_t) -> ! {
    default_handlers();
    set_signals(blocked);
    for (descriptor, _) in (0..).zip(ready.closed).filter(|(_, is_closed)| *is_closed) {
        // SAFETY: the socket has another number, as this one is that of `/dev/null`.
        unsafe { libc::close(descriptor) };
    }
    // A filter must wait for the tracer, because selected calls fail without one; and it is best
    // installed before the user changes, while that needs no `no_new_privs`.
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

/// Waits for the byte that releases the child; returns whether it came.
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

/// Resets signals that have a handler to their default action, and SIGPIPE too, which the Rust
/// runtime ignores.
fn default_handlers() {
    for signal in 1..=64 {
        // SAFETY: a `sigaction` of zeros is the default action; the kernel writes a valid one into
        // `now`.  Signals that cannot be changed return an error, which is fine.
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

/// Changes to another user; returns whether that worked.
fn become_user(user: &CommandUser) -> bool {
    // SAFETY: plain calls; the list of groups is live and as long as it says.
    unsafe {
        libc::setgroups(user.groups.len(), user.groups.as_ptr()) == 0
            && libc::setregid(user.gid, user.gid) == 0
            && libc::setreuid(user.uid, user.uid) == 0
    }
}

/// Sends back which step failed and its `errno`, and exits.
fn fail(socket: i32, step: Step) -> ! {
    // SAFETY: libc's location of this thread's error number is always valid.
    let number = unsafe { *libc::__errno_location() };
    let mut answer = [step as u8; 5];
    answer[1..].copy_from_slice(&number.to_ne_bytes());
    // SAFETY: the five bytes are live; `_exit` ends this process.
    unsafe {
        libc::write(socket, answer.as_ptr().cast(), answer.len());
        libc::_exit(FAILED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_whose_tracer_has_gone_does_not_wait_for_it() {
        let command = TracedCommand::new(["true"], Vec::new(), "/usr/bin:/bin");
        let mut held = HeldCommand::start(&command).unwrap();
        assert_eq!(held.ended().unwrap(), None);
        // What the end of this process would do.
        held.socket = UnixStream::pair().unwrap().0;
        testkit::wait_until("its end", || {
            held.ended().unwrap() == Some(WaitStatus::Exited(FAILED))
        });
        held.released = true;
    }
}

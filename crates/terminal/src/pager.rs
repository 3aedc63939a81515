//! A pager for what a verb writes to standard output, as `git` has one.
//!
//! Used only where standard output is a terminal.  The pager is `$WHIT_PAGER`, else `$PAGER`, run by
//! the shell; without both `less`, if there is one, with what it needs to end by itself when a screen is
//! enough (`-F`), to pass colours on (`-R`) and to leave the text on the screen (`-X`).
//!
//! Standard output becomes a pipe; standard error, too, if it is a terminal, since messages would draw
//! over the pager's screen.  [`shows`] and [`columns`] answer for the terminal behind the pipe.  A start
//! costs a `fork` and what the pager itself needs.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

/// The columns of the terminal behind a pager; 0 without one.
static COLUMNS: AtomicUsize = AtomicUsize::new(0);

/// Columns of a terminal that does not say its width.
const USUAL_COLUMNS: u16 = 80;

/// A pager that runs.  After its end, standard output is as before.
pub struct Pager {
    output: OwnedFd,
    error: Option<OwnedFd>,
    is_done: Arc<AtomicBool>,
    waiting: Option<JoinHandle<Option<ExitStatus>>>,
}

/// Whether a person sees what is written to this output: it is a terminal, or a pager shows it on one.
#[must_use]
pub fn shows(output: &impl IsTerminal) -> bool {
    output.is_terminal() || COLUMNS.load(Ordering::Relaxed) > 0
}

/// The width of the terminal behind the pager; `None` without a pager.
#[must_use]
pub fn columns() -> Option<usize> {
    Some(COLUMNS.load(Ordering::Relaxed)).filter(|columns| *columns > 0)
}

impl Pager {
    /// Starts the pager that the environment names.  When the person ends it while there is still more to
    /// write, `ended_early` is called, on another thread, with how it ended.
    ///
    /// `None` where no pager is to be used: standard output is no terminal, the terminal is a dumb one, the
    /// variable is empty or `cat`, or no `less` is there.
    ///
    /// # Errors
    /// If no pipe, process or thread can be made.
    pub fn start(
        variable: &dyn Fn(&str) -> Option<OsString>,
        ended_early: fn(ExitStatus),
    ) -> io::Result<Option<Pager>> {
        let is_dumb = variable("TERM").is_none_or(|name| name.is_empty() || name == "dumb");
        if is_dumb || !io::stdout().is_terminal() || columns().is_some() {
            return Ok(None);
        }
        let Some(mut command) = command(variable) else { return Ok(None) };
        let mut child = match command.stdin(Stdio::piped()).spawn() {
            // No `less` on this machine.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            child => child?,
        };
        let width = rustix::termios::tcgetwinsize(io::stdout()).map_or(0, |size| size.ws_col);
        let pipe = child.stdin.take().map(OwnedFd::from);
        let pipe = pipe.ok_or_else(|| io::Error::other("the pager has no input"))?;
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        let error = match io::stderr().is_terminal() {
            true => Some(io::stderr().as_fd().try_clone_to_owned()?),
            false => None,
        };
        rustix::stdio::dup2_stdout(&pipe)?;
        if error.is_some() {
            rustix::stdio::dup2_stderr(&pipe)?;
        }
        drop(pipe);
        ignore_interrupts();
        COLUMNS
            .store(usize::from(if width == 0 { USUAL_COLUMNS } else { width }), Ordering::Relaxed);
        let is_done = Arc::new(AtomicBool::new(false));
        let done = is_done.clone();
        let waiting = std::thread::Builder::new().spawn(move || {
            let status = child.wait().ok();
            if let Some(status) = status.filter(|_| !done.load(Ordering::Acquire)) {
                ended_early(status);
            }
            status
        })?;
        Ok(Some(Pager { output, error, is_done, waiting: Some(waiting) }))
    }
}

impl Pager {
    /// Tells the pager that nothing follows, and waits until the person has ended it.  How it ended, if
    /// that can be known.
    pub fn end(mut self) -> Option<ExitStatus> {
        self.wait()
    }

    fn wait(&mut self) -> Option<ExitStatus> {
        self.is_done.store(true, Ordering::Release);
        // A pager that has ended takes no more; that is no error.
        let _ = io::stdout().flush();
        let _ = rustix::stdio::dup2_stdout(&self.output);
        if let Some(error) = &self.error {
            let _ = rustix::stdio::dup2_stderr(error);
        }
        COLUMNS.store(0, Ordering::Relaxed);
        self.waiting.take()?.join().ok().flatten()
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        self.wait();
    }
}

/// The pager's command; `None` if the environment wants none.
fn command(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<Command> {
    let named = variable("WHIT_PAGER").or_else(|| variable("PAGER"));
    let mut command = match named {
        Some(named) if named.is_empty() || named == "cat" => return None,
        Some(named) => {
            let mut shell = Command::new("/bin/sh");
            shell.arg("-c").arg(named);
            shell
        }
        None => Command::new("less"),
    };
    if variable("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    Some(command)
}

/// Ctrl-C is for the pager, which then still has the terminal: it ends this program by ending itself.
fn ignore_interrupts() {
    // SAFETY: ignoring a signal runs no code of this process.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Option<Vec<String>> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let command = command(&variable)?;
        let program = [command.get_program()].into_iter().chain(command.get_args());
        let mut words: Vec<String> = program.map(|word| word.to_string_lossy().into()).collect();
        words.extend(command.get_envs().map(|(name, value)| {
            format!("{}={}", name.to_string_lossy(), value.unwrap_or_default().to_string_lossy())
        }));
        Some(words)
    }

    #[test]
    fn the_environment_chooses_the_pager() {
        let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
        assert_eq!(of(&[]), words(&["less", "LESS=FRX"]));
        assert_eq!(of(&[("LESS", "")]), words(&["less"]));
        assert_eq!(of(&[("PAGER", "more -s")]), words(&["/bin/sh", "-c", "more -s", "LESS=FRX"]));
        let both = [("PAGER", "more"), ("WHIT_PAGER", "most"), ("LESS", "R")];
        assert_eq!(of(&both), words(&["/bin/sh", "-c", "most"]));
        assert_eq!(of(&[("PAGER", "more"), ("WHIT_PAGER", "")]), None);
        assert_eq!(of(&[("PAGER", "cat")]), None);
    }
}

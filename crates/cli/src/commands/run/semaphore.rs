//! `whit run --semaphore`, and the name `sem`: one command at a time, or N of them, over all
//! processes that use the same name.
//!
//! The process that runs the command holds the slot.  In the background (the default) that is a
//! child process; the parent exits when the child has its slot.  The command itself is run as a
//! single job that takes no values, with all of `whit run`'s options.
//!
//! Exit codes: the command's with `--fg`; 0 in the background; 1 after a timeout.

use std::cell::Cell;
use std::ffi::OsString;
use std::io::{IsTerminal as _, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::ExitCode;
use std::rc::Rc;

use anyhow::Context as _;
use run::engine::{Observer, RunStatus};
use run::schedule::{self, Jobs};
use run::semaphore::{Semaphore, WaitFor, WaitLimit, WaitOutcome};
use run::{JobResult, Outcome, setup};

use super::arguments::RunArguments;
use super::{config, exit, observers, settings};

/// The exit code after a timeout.
const TIMED_OUT: u8 = 1;

/// Waits for a slot and runs the command, or waits for all of them.
pub(crate) fn run(mut arguments: RunArguments) -> anyhow::Result<ExitCode> {
    let home = config::home().context("neither $PARALLEL_HOME nor $HOME is set")?;
    let name = arguments.semaphore.name.take().unwrap_or_else(terminal);
    let semaphore = Semaphore::new(&home, &name);
    let limit = arguments.semaphore.timeout.as_deref();
    let limit = limit.map(WaitLimit::parse).transpose()?.unwrap_or(WaitLimit::None);
    if arguments.semaphore.wait {
        return Ok(match semaphore.wait(WaitFor::Empty, limit, None)? {
            WaitOutcome::TimedOut => timed_out(),
            _ => ExitCode::SUCCESS,
        });
    }
    let unit = arguments.settings.schedule.cpu_unit();
    let jobs = arguments.settings.schedule.jobs.as_deref().map(Jobs::parse).transpose()?;
    let slots =
        jobs.map_or(Ok(1), |jobs| jobs.evaluate(&mut schedule::LocalMachine::counting(unit)))?;
    let is_background = !arguments.semaphore.foreground;
    let watch = arguments.watch;
    let settings = setup::one_job(settings::with_words(arguments.settings, arguments.words))?;
    let mut parent = None;
    if is_background {
        match go_to_background()? {
            ForkSide::Parent(child) => return end_as(child),
            ForkSide::Child(writer) => parent = Some(writer),
        }
    }
    let waiting = parent.as_ref().map(PipeWriter::as_fd);
    let slot = match semaphore.wait(WaitFor::Slot(slots), limit, waiting) {
        Ok(WaitOutcome::Taken(slot)) => slot,
        Ok(WaitOutcome::TakenAnyway(slot)) => {
            crate::stderr::line("whit run: the semaphore was not free in time: taken anyway");
            slot
        }
        Ok(WaitOutcome::TimedOut) => {
            let_parent_end(parent, TIMED_OUT);
            return Ok(timed_out());
        }
        Ok(WaitOutcome::Empty | WaitOutcome::Abandoned) => return Ok(ExitCode::from(TIMED_OUT)),
        // The waiting parent takes end-of-file for a failure.
        Err(error) => return Err(error.into()),
    };
    let (prepared, mut observers) = observers::prepare(settings, &watch)?;
    let_parent_end(parent, 0);
    let outcome = Rc::new(Cell::new(None));
    observers.0.push(Box::new(OutcomeObserver(Rc::clone(&outcome))));
    let done = prepared.run(&mut observers);
    drop((observers, slot));
    let code = |outcome: Outcome| outcome.shell_exit_code();
    exit::as_jobs_did(done, |summary| outcome.get().map_or(summary.exit_code, code))
}

/// Keeps how the job ended.
struct OutcomeObserver(Rc<Cell<Option<Outcome>>>);

impl Observer for OutcomeObserver {
    fn job_ended(&mut self, finished: &JobResult, _: &RunStatus) {
        self.0.set(Some(finished.outcome));
    }
}

/// The name where none is given: that of the terminal, as tty(1) prints it.
fn terminal() -> OsString {
    let terminal = || std::fs::read_link("/proc/self/fd/0").ok();
    let terminal = std::io::stdin().is_terminal().then(terminal).flatten();
    terminal.map_or_else(|| OsString::from("not a tty"), Into::into)
}

fn timed_out() -> ExitCode {
    crate::stderr::line("whit run: the semaphore was not free in time");
    ExitCode::from(TIMED_OUT)
}

/// Which of the two processes this is.
enum ForkSide {
    /// The parent: the child sends the exit code.
    Parent(PipeReader),
    /// The child, which runs the command and sends the exit code.
    Child(PipeWriter),
}

/// Forks: the child continues in the background.
fn go_to_background() -> anyhow::Result<ForkSide> {
    let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
    // SAFETY: the process has one thread, so the child may do whatever the parent might have.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error()).context("cannot go to the background"),
        0 => Ok(ForkSide::Child(writer)),
        _ => {
            drop(writer);
            Ok(ForkSide::Parent(reader))
        }
    }
}

/// Exits with the code that the child sends; without one, the child has printed the error.
fn end_as(mut child: PipeReader) -> anyhow::Result<ExitCode> {
    let mut code = [0];
    match child.read_exact(&mut code) {
        Ok(()) => Ok(ExitCode::from(code[0])),
        Err(_) => Ok(ExitCode::from(exit::FAILURE)),
    }
}

/// Lets the parent exit, if there is one.
fn let_parent_end(parent: Option<PipeWriter>, code: u8) {
    if let Some(mut parent) = parent {
        // It may have ended already.
        let _ = parent.write_all(&[code]);
    }
}

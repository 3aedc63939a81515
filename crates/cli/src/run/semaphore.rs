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
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use run::engine::{Observer, Status};
use run::schedule::{self, Schedule};
use run::semaphore::{Semaphore, WaitFor, WaitLimit, WaitOutcome};
use run::{Finished, Outcome, units};

use super::arguments::RunArguments;
use super::{config, exit, plan};

/// The exit code after a timeout.
const TIMED_OUT: u8 = 1;

/// The exit code of a job that this process killed.
const ENDED_BY_US: u8 = 255;

/// Waits for a slot and runs the command, or waits for all of them.
pub(crate) fn run(mut arguments: RunArguments) -> anyhow::Result<ExitCode> {
    let home = config::home().context("neither $PARALLEL_HOME nor $HOME is set")?;
    let name = arguments.semaphore.name.take().unwrap_or_else(terminal);
    let semaphore = Semaphore::new(&home, &name);
    let limit = wait_limit(arguments.semaphore.timeout.as_deref())?;
    if arguments.semaphore.wait {
        return Ok(match semaphore.wait(WaitFor::Empty, limit, None)? {
            WaitOutcome::TimedOut => timed_out(),
            _ => ExitCode::SUCCESS,
        });
    }
    let slots = WaitFor::Slot(slots(arguments.schedule.jobs.as_deref())?);
    let is_background = !arguments.semaphore.foreground;
    let arguments = one_job(arguments)?;
    let mut parent = None;
    if is_background {
        match go_to_background()? {
            ForkSide::Parent(child) => return end_as(child),
            ForkSide::Child(writer) => parent = Some(writer),
        }
    }
    let waiting = parent.as_ref().map(PipeWriter::as_fd);
    let slot = match semaphore.wait(slots, limit, waiting) {
        Ok(WaitOutcome::Taken(slot)) => slot,
        Ok(WaitOutcome::TakenAnyway(slot)) => {
            eprintln!("whit run: the semaphore was not free in time: taken anyway");
            slot
        }
        Ok(WaitOutcome::TimedOut) => {
            let_parent_end(parent, TIMED_OUT);
            return Ok(timed_out());
        }
        Ok(WaitOutcome::Empty | WaitOutcome::Abandoned) => return Ok(ExitCode::from(TIMED_OUT)),
        // The waiting parent takes an end of file for a failure.
        Err(error) => return Err(error.into()),
    };
    // The user's shell is looked for among the ancestors of this process, so the parent waits.
    let prepared = plan::prepare(arguments)?;
    let_parent_end(parent, 0);
    let outcome = Rc::new(Cell::new(None));
    let done = prepared.run_with(Box::new(OutcomeObserver(Rc::clone(&outcome))));
    drop(slot);
    exit::as_jobs_did(done, |summary| outcome.get().map_or(summary.exit_code, exit_code))
}

/// Keeps how the job ended.
struct OutcomeObserver(Rc<Cell<Option<Outcome>>>);

impl Observer for OutcomeObserver {
    fn job_ended(&mut self, finished: &Finished, _: &Status) {
        self.0.set(Some(finished.outcome));
    }
}

/// The command's own exit code, as a shell has it in `$?`.
fn exit_code(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Exited(code) => code,
        Outcome::Signalled(signal) => 128_u8.saturating_add(signal),
        Outcome::Killed(_) => ENDED_BY_US,
        Outcome::Skipped => 0,
    }
}

/// The command line as one job that takes no values.
fn one_job(mut arguments: RunArguments) -> anyhow::Result<RunArguments> {
    let input = &mut arguments.input;
    let arguments_separator = input.arg_sep.clone().unwrap_or_else(|| OsString::from(":::"));
    let files_separator = input.arg_file_sep.clone().unwrap_or_else(|| OsString::from("::::"));
    for separator in [&arguments_separator, &files_separator] {
        let mut linked = separator.clone();
        linked.push("+");
        if arguments.words.iter().any(|word| *word == *separator || *word == linked) {
            bail!(
                "--semaphore takes a command and no values: leave out {}",
                separator.to_string_lossy()
            );
        }
    }
    if !input.arg_files.is_empty() {
        bail!("--semaphore takes a command and no values: leave out -a");
    }
    if arguments.output.retry_failed {
        bail!("--semaphore and --retry-failed do not go together");
    }
    if arguments.pipe.pipe_part {
        bail!("--semaphore and --pipe-part do not go together");
    }
    if arguments.pipe.cat || arguments.pipe.fifo {
        bail!("--semaphore gives the command our standard input: there is no --cat and no --fifo");
    }
    if arguments.pipe.tee {
        bail!("--semaphore and --tee do not go together");
    }
    // The command has our standard input in any case, whole.
    arguments.pipe.pipe = false;
    input.no_run_if_empty = false;
    arguments.packing.replace_args = Some(0);
    arguments.schedule.jobs = Some("1".to_owned());
    arguments.jobs.spawners = Some(1);
    // Without a replacement string parallel appends one empty value, which the joblog shows.
    let has_strings = arguments.words.iter().any(|word| word.as_bytes().contains(&b'{'));
    if !has_strings && !arguments.strings.quote {
        arguments.words.push(OsString::new());
    }
    arguments.words.extend([arguments_separator, OsString::new()]);
    Ok(arguments)
}

/// How many slots `-j` means; one without it.
fn slots(jobs: Option<&str>) -> anyhow::Result<u32> {
    let Some(text) = jobs else { return Ok(1) };
    let options =
        schedule::Options { jobs: schedule::Jobs::parse(text)?, ..schedule::Options::default() };
    let mut machine = schedule::Kernel::default();
    Ok(Schedule::new(options, Instant::now(), &mut machine)?.slots())
}

/// How long `--semaphore-timeout` lets us wait.
fn wait_limit(text: Option<&str>) -> anyhow::Result<WaitLimit> {
    let Some(text) = text else { return Ok(WaitLimit::None) };
    let (text, gives_up) = match text.strip_prefix('-') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let limit = units::duration(text).with_context(|| format!("--semaphore-timeout {text}"))?;
    Ok(match gives_up {
        _ if limit == Duration::ZERO => WaitLimit::None,
        true => WaitLimit::ThenFail(limit),
        false => WaitLimit::ThenTake(limit),
    })
}

/// The name where none is given: that of the terminal, as tty(1) prints it.
fn terminal() -> OsString {
    let terminal = || std::fs::read_link("/proc/self/fd/0").ok();
    let terminal = std::io::stdin().is_terminal().then(terminal).flatten();
    terminal.map_or_else(|| OsString::from("not a tty"), Into::into)
}

fn timed_out() -> ExitCode {
    eprintln!("whit run: the semaphore was not free in time");
    ExitCode::from(TIMED_OUT)
}

/// Which of the two processes this is.
enum ForkSide {
    /// The parent: the child sends the exit code.
    Parent(PipeReader),
    /// The child, which runs the command and sends the exit code.
    Child(PipeWriter),
}

/// Forks: the child goes on in the background.
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

/// Ends with the exit code that the child sends; without one, the child has said why.
fn end_as(mut child: PipeReader) -> anyhow::Result<ExitCode> {
    let mut code = [0];
    match child.read_exact(&mut code) {
        Ok(()) => Ok(ExitCode::from(code[0])),
        Err(_) => Ok(ExitCode::from(exit::FAILURE)),
    }
}

/// Lets the parent end, if there is one.
fn let_parent_end(parent: Option<PipeWriter>, code: u8) {
    if let Some(mut parent) = parent {
        // It may have ended already.
        let _ = parent.write_all(&[code]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        let read = |text| wait_limit(Some(text)).unwrap();
        assert_eq!(read("1.5"), WaitLimit::ThenTake(Duration::from_millis(1500)));
        assert_eq!(read("1m"), WaitLimit::ThenTake(Duration::from_secs(60)));
        assert_eq!(read("-2"), WaitLimit::ThenFail(Duration::from_secs(2)));
        assert_eq!(read("0"), WaitLimit::None);
        assert!(wait_limit(Some("x")).is_err());
    }

    #[test]
    fn codes_are_those_of_a_shell() {
        assert_eq!(exit_code(Outcome::Exited(3)), 3);
        assert_eq!(exit_code(Outcome::Signalled(9)), 137);
        assert_eq!(exit_code(Outcome::Killed(15)), 255);
    }
}

//! Sleeping processes, to be watched: as many as asked for, each with so many threads.
//!
//! A keeper, this very binary under a hidden verb, forks them before it has any thread and waits
//! for the end of its input.  They die with it, whatever ends it (`PR_SET_PDEATHSIG`), and they
//! share its memory: ten thousand of them take some 2 GB of page tables and stacks.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::error::{Context, Result, ensure};

/// What one of them is called: for `--procfilt`.
pub(crate) const ONE: &str = "whit-one";

/// What all others are called.
const OTHERS: &str = "whit-sleeper";

/// Says that all are there.
const READY: &str = "ready";

/// They live as long as this.
pub(crate) struct Sleepers {
    keeper: Child,
}

impl Sleepers {
    /// Starts `processes` of them with `threads` threads each, and waits until all are asleep.
    ///
    /// # Errors
    /// When they cannot be started: a limit on processes, most likely.
    pub(crate) fn start(whit: &Path, processes: usize, threads: usize) -> Result<Self> {
        let mut keeper = Command::new(whit)
            .args(["bench", "sleepers", &processes.to_string(), &threads.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the sleeping processes")?;
        let mut said = String::new();
        if let Some(output) = keeper.stdout.take() {
            BufReader::new(output).read_line(&mut said)?;
        }
        let sleepers = Sleepers { keeper };
        ensure!(said.trim() == READY, "{processes} sleeping processes could not be started");
        Ok(sleepers)
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        // The end of its input ends the keeper, and its end that of all others.
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// The keeper: forks them, says so on `output`, and waits for the end of `input`.  The process that
/// calls it must have one thread.
///
/// # Errors
/// When one cannot be forked; those that are there end with us.
pub fn keep(
    processes: usize,
    threads: usize,
    input: &mut dyn Read,
    output: &mut dyn Write,
) -> Result<()> {
    let (ready, asleep) = std::io::pipe()?;
    for number in 0..processes {
        // SAFETY: this process has one thread, so the child may do whatever it likes.
        match unsafe { libc::fork() } {
            -1 => {
                return Err(std::io::Error::last_os_error())
                    .context("cannot fork a sleeping process");
            }
            0 => sleep(if number == 0 { ONE } else { OTHERS }, threads, asleep),
            _ => {}
        }
    }
    drop(asleep);
    // Each says one byte when its threads are there.
    std::io::copy(&mut ready.take(processes as u64), &mut std::io::sink())?;
    writeln!(output, "{READY}")?;
    output.flush()?;
    std::io::copy(input, &mut std::io::sink())?;
    Ok(())
}

/// One of them: never comes back.
fn sleep(name: &str, threads: usize, mut asleep: std::io::PipeWriter) -> ! {
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    if let Ok(name) = std::ffi::CString::new(name) {
        let _ = rustix::thread::set_name(&name);
    }
    for _ in 1..threads {
        // The smallest stack there is: it only sleeps.
        let _ = std::thread::Builder::new().stack_size(16 * 1024).spawn(forever);
    }
    let _ = asleep.write_all(b".");
    drop(asleep);
    forever()
}

fn forever() -> ! {
    loop {
        std::thread::park();
    }
}

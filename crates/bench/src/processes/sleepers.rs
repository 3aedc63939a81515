//! Starts sleeping processes to be read, each with a given number of threads.
//!
//! A keeper, this binary under a hidden verb, forks them while it is single-threaded, and waits for
//! end-of-file of its input.  They die with it, however it ends (`PR_SET_PDEATHSIG`), and share its
//! memory: ten thousand of them take some 2 GB of page tables and stacks.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::error::{Context, Result, ensure};

/// The name of one sleeping process, for `--procfilt`.
pub(crate) const ONE: &str = "whit-one";

/// The name of the others.
const OTHERS: &str = "whit-sleeper";

/// The keeper writes this when all are started.
const READY: &str = "ready";

/// The sleeping processes; they end when this is dropped.
pub(crate) struct Sleepers {
    keeper: Child,
}

impl Sleepers {
    /// Starts `processes` with `threads` threads each, and waits until all sleep.
    ///
    /// # Errors
    /// If they cannot be started: most likely because of a limit on processes.
    pub(crate) fn start(bench: &Path, processes: usize, threads: usize) -> Result<Self> {
        let mut keeper = Command::new(bench)
            .args(["sleepers", &processes.to_string(), &threads.to_string()])
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
        // End-of-file of its input ends the keeper, and its end that of the others.
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// Runs the keeper: forks the sleeping processes, writes to `output` when all are started, and waits for end-of-file of
/// `input`.  The calling process must have one thread.
///
/// # Errors
/// If fork(2) fails; the processes that exist end with this one.
pub fn keep(
    processes: usize,
    threads: usize,
    input: &mut dyn Read,
    output: &mut dyn Write,
) -> Result<()> {
    let (ready, asleep) = std::io::pipe()?;
    for number in 0..processes {
        // SAFETY: this process has one thread, so the child may call anything.
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
    // Each process writes a byte when its threads have started.
    std::io::copy(&mut ready.take(processes as u64), &mut std::io::sink())?;
    writeln!(output, "{READY}")?;
    output.flush()?;
    std::io::copy(input, &mut std::io::sink())?;
    Ok(())
}

/// The sleeping process; never returns.
fn sleep(name: &str, threads: usize, mut asleep: std::io::PipeWriter) -> ! {
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    if let Ok(name) = std::ffi::CString::new(name) {
        let _ = rustix::thread::set_name(&name);
    }
    for _ in 1..threads {
        // The smallest possible stack: the thread only sleeps.
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

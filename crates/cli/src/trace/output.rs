//! Where `-o` sends what a trace shows: stderr without it, as with strace, so that it does not mix
//! with what the command prints; a file; stdout for `-`; or a command behind a `|`.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;

use anyhow::{Context as _, anyhow};

/// An open output.
pub(crate) struct Output {
    writer: Box<dyn Write>,
    /// Whether somebody may look on as lines come.
    is_watched: bool,
    /// Waits for the command behind a pipe.
    waiter: Option<JoinHandle<std::io::Result<()>>>,
}

impl Output {
    /// Opens what `-o` names, before anything is started, so that a mistake costs nothing.
    pub(crate) fn open(name: Option<&str>, append: bool) -> anyhow::Result<Self> {
        let of = |writer: Box<dyn Write>, is_watched| Output { writer, is_watched, waiter: None };
        match name {
            None => Ok(of(Box::new(BufWriter::new(std::io::stderr())), true)),
            Some("-") => Ok(of(Box::new(BufWriter::new(std::io::stdout())), true)),
            Some(name) if name.starts_with(['|', '!']) => pipe(&name[1..]),
            Some(name) => {
                let mut options = OpenOptions::new();
                options.create(true).append(append).write(true).truncate(!append);
                let file = options.open(name).with_context(|| {
                    format!("-o {name}: cannot be written; choose another file")
                })?;
                Ok(of(Box::new(BufWriter::new(file)), false))
            }
        }
    }

    /// Whether somebody may look on as lines come: not if they go to a file.
    pub(crate) fn is_watched(&self) -> bool {
        self.is_watched
    }

    /// Writes out what is held and waits for the command behind a pipe.
    pub(crate) fn close(mut self) -> anyhow::Result<()> {
        self.writer.flush().context("writing the output of the trace")?;
        drop(self.writer);
        if let Some(waiter) = self.waiter {
            let waited = waiter.join().map_err(|_| anyhow!("waiting for the command of -o"))?;
            waited.context("waiting for the command of -o")?;
        }
        Ok(())
    }
}

/// Starts a command that reads what is written.  It is the child of a thread of its own, since the
/// one that traces waits for every child that it has.
fn pipe(command: &str) -> anyhow::Result<Output> {
    let text = command.to_owned();
    let (sender, receiver) = mpsc::channel();
    let waiter = std::thread::spawn(move || {
        let started = start(&text);
        block_signals();
        match started {
            Ok((mut child, stdin)) => {
                drop(sender.send(Ok(stdin)));
                child.wait().map(drop)
            }
            Err(error) => {
                drop(sender.send(Err(error)));
                Ok(())
            }
        }
    });
    let started = receiver.recv().context("-o: the thread of the command is gone")?;
    let stdin = started.with_context(|| format!("-o |{command}: cannot be started"))?;
    let writer = Box::new(BufWriter::new(stdin));
    Ok(Output { writer, is_watched: true, waiter: Some(waiter) })
}

fn start(command: &str) -> std::io::Result<(std::process::Child, ChildStdin)> {
    let mut shell = Command::new("/bin/sh");
    let mut child = shell.args(["-c", command]).stdin(Stdio::piped()).spawn()?;
    let stdin = child.stdin.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
    Ok((child, stdin))
}

/// Signals are for the thread that traces.
fn block_signals() {
    // SAFETY: the set is plain data that `sigfillset` makes valid.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut set);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.writer.flush()
    }
}

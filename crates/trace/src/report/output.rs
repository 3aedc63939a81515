//! The output that `-o` names: without it stderr, as in strace, so that it does not mix with the
//! output of the command; a file; stdout for `-`; the stdin of a command for `|COMMAND`.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;

use super::ReportError;
use super::marked::MarkedLines;
use super::signals::block_signals;

/// An open output.
pub struct TraceOutput {
    writer: Box<dyn Write>,
    /// An error was returned, after which nothing more is written.
    has_failed: bool,
    /// Each line is written at once, because a person may be reading.
    is_watched: bool,
    /// Waits for the command of `|COMMAND`.
    waiter: Option<JoinHandle<std::io::Result<()>>>,
}

impl TraceOutput {
    /// Opens what `-o` names.  Do so before anything is started, so that an error has no effect.
    ///
    /// # Errors
    /// When the file cannot be written or the command cannot be started.
    pub fn open(name: Option<&str>, append: bool) -> Result<Self, ReportError> {
        let of = |writer: Box<dyn Write>, is_watched| TraceOutput {
            writer,
            has_failed: false,
            is_watched,
            waiter: None,
        };
        match name {
            None => Ok(of(Box::new(BufWriter::new(std::io::stderr())), true)),
            Some("-") => Ok(of(Box::new(BufWriter::new(std::io::stdout())), true)),
            Some(name) if name.starts_with(['|', '!']) => pipe(&name[1..]),
            Some(name) => {
                let mut options = OpenOptions::new();
                options.create(true).append(append).write(true).truncate(!append);
                let what = format!("-o {name}: cannot be written; choose another file");
                let file = options.open(name).map_err(ReportError::system(what))?;
                Ok(of(Box::new(BufWriter::new(file)), false))
            }
        }
    }

    /// With a mark, whole lines to stderr with that in front, for who has asked for the trace (`marked.rs`);
    /// else what [`open`](Self::open) opens.
    ///
    /// # Errors
    /// As there.
    pub fn marked(
        mark: Option<&str>,
        name: Option<&str>,
        append: bool,
    ) -> Result<Self, ReportError> {
        let Some(mark) = mark else { return Self::open(name, append) };
        let writer = Box::new(MarkedLines::new(mark));
        Ok(TraceOutput { writer, has_failed: false, is_watched: true, waiter: None })
    }

    /// The columns of the terminal that the output of this name goes to; 80 if it is none.
    #[must_use]
    pub fn columns(name: Option<&str>) -> usize {
        let size = match name {
            None => terminal_size::terminal_size_of(std::io::stderr()),
            Some("-") => terminal_size::terminal_size_of(std::io::stdout()),
            Some(_) => None,
        };
        size.map_or(80, |(width, _)| usize::from(width.0.max(1)))
    }

    /// Whether each line is written at once: not if the output is a file.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.is_watched
    }

    /// Writes buffered output and waits for the command of `|COMMAND`.
    ///
    /// # Errors
    /// When the output cannot be written and no error was returned before, or the command cannot be
    /// waited for.
    pub fn close(mut self) -> Result<(), ReportError> {
        if !self.has_failed {
            self.writer.flush()?;
        }
        drop(self.writer);
        if let Some(waiter) = self.waiter {
            let what = "waiting for the command of -o";
            let waited = waiter.join().map_err(|_| ReportError::refused(what))?;
            waited.map_err(ReportError::system(what))?;
        }
        Ok(())
    }
}

/// Starts a command that reads the output.  It is the child of another thread, since the thread
/// that traces waits for all its children.
fn pipe(command: &str) -> Result<TraceOutput, ReportError> {
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
    let started = receiver.recv();
    let started = started
        .map_err(|_| ReportError::refused("-o: the thread that starts the command has ended"))?;
    let what = format!("-o |{command}: cannot be started");
    let stdin = started.map_err(ReportError::system(what))?;
    let writer = Box::new(BufWriter::new(stdin));
    Ok(TraceOutput { writer, has_failed: false, is_watched: true, waiter: Some(waiter) })
}

fn start(command: &str) -> std::io::Result<(std::process::Child, ChildStdin)> {
    let mut shell = Command::new("/bin/sh");
    let mut child = shell.args(["-c", command]).stdin(Stdio::piped()).spawn()?;
    let stdin = child.stdin.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
    Ok((child, stdin))
}

impl Write for TraceOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.writer.write(bytes).inspect_err(|_| self.has_failed = true)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.writer.flush().inspect_err(|_| self.has_failed = true)
    }
}

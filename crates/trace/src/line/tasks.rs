//! Lines of signals, and of tasks that begin and exit.

use std::io::{self, Write as _};

use super::printer::EventPrinter;
use crate::WaitStatus;
use crate::decode::signals;
use crate::select::CallStatus;

impl EventPrinter<'_> {
    pub(super) fn signal(&mut self, signal: &crate::Signal) -> io::Result<()> {
        self.printer.task(self.event.thread);
        if !self.printer.options.signals.has(signal.number) {
            return Ok(());
        }
        self.break_line()?;
        let mut line = self.leader(self.event.time_ns);
        line.extend_from_slice(b"--- ");
        signals::write_signal(signal.number, &mut line);
        line.push(b' ');
        let style = &self.printer.options.style;
        let sender = style.commands.then(|| self.descriptors.command(signal.pid)).flatten();
        signals::siginfo(signal, sender.as_deref(), style, &mut line);
        line.extend_from_slice(b" ---");
        self.finish_line(line)
    }

    pub(super) fn stopped(&mut self, signal: i32) -> io::Result<()> {
        self.printer.task(self.event.thread);
        if !self.printer.options.signals.has(signal) {
            return Ok(());
        }
        self.break_line()?;
        let mut line = self.leader(self.event.time_ns);
        line.extend_from_slice(b"--- stopped by ");
        signals::write_signal(signal, &mut line);
        line.extend_from_slice(b" ---");
        self.finish_line(line)
    }

    pub(super) fn began(&mut self, parent: i32) -> io::Result<()> {
        let thread = self.thread();
        self.printer.task(parent);
        self.printer.task(thread);
        self.printer.tracker.inherit(parent, self.event.process);
        if self.printer.options.announce {
            self.break_line()?;
            // Other tools look for these words, so they name strace.
            writeln!(self.out, "strace: Process {thread} attached")?;
        }
        Ok(())
    }

    pub(super) fn superseded(&mut self, former: i32) -> io::Result<()> {
        let thread = self.thread();
        self.printer.task(thread);
        if let Some(pending) = self.printer.take_pending(thread)
            && !pending.is_hidden
            && self.printer.options.statuses.has(CallStatus::Unfinished)
        {
            self.never_ended(pending)?;
        }
        if self.printer.open.is_some() {
            self.break_line()?;
        }
        // The number of tasks in the line does not count the former thread.
        let task = self.printer.tasks.remove(&former).unwrap_or_default();
        self.printer.tasks.insert(thread, task);
        if self.printer.options.supersedes {
            let mut line = self.leader(self.event.time_ns);
            let _ = write!(line, "+++ superseded by execve in pid {former} +++");
            self.finish_line(line)?;
        }
        Ok(())
    }

    /// The task is detached from and runs on: its line ends, if it is the open one.
    pub(super) fn detached(&mut self) -> io::Result<()> {
        let thread = self.thread();
        self.printer.tasks.remove(&thread);
        if self.printer.open == Some(thread) {
            self.printer.open = None;
            self.out.write_all(b" <detached ...>\n")?;
        }
        if self.printer.options.announce {
            self.break_line()?;
            writeln!(self.out, "strace: Process {thread} detached")?;
        }
        Ok(())
    }

    pub(super) fn ended(&mut self, end: WaitStatus) -> io::Result<()> {
        let thread = self.thread();
        if let Some(pending) = self.printer.take_pending(thread)
            && !pending.is_hidden
            && self.printer.options.statuses.has(CallStatus::Unfinished)
        {
            self.never_ended(pending)?;
        } else if self.printer.open == Some(thread) {
            self.break_line()?;
        }
        let is_shown = match end {
            WaitStatus::Exited(_) => self.printer.options.ends,
            WaitStatus::Signaled { number, .. } => self.printer.options.signals.has(number),
        };
        if is_shown {
            self.break_line()?;
            let mut line = self.leader(self.event.time_ns);
            let _ = match end {
                WaitStatus::Exited(status) => write!(line, "+++ exited with {status} +++"),
                WaitStatus::Signaled { number, dumped } => {
                    line.extend_from_slice(b"+++ killed by ");
                    signals::write_signal(number, &mut line);
                    write!(line, "{} +++", if dumped { " (core dumped)" } else { "" })
                }
            };
            self.finish_line(line)?;
        }
        self.printer.tasks.remove(&thread);
        if thread == self.event.process {
            self.printer.tracker.forget(thread);
        }
        Ok(())
    }
}

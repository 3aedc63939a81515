//! Lines of calls: begun, broken, resumed and finished.

use std::io::{self, Write as _};

use super::printer::{EventPrinter, Pending, TaskLookup};
use super::{dump, leader, paths};
use crate::decode::{DecodeContext, Outcome, result};
use crate::event::{Call, error_of};
use crate::select::CallStatus;
use crate::{CallChanges, CallId, table};

/// How a call ended.
#[derive(Clone, Copy)]
pub(super) struct CallEnd {
    result: i64,
    wall_ns: u64,
    changes: CallChanges,
}

impl EventPrinter<'_> {
    /// Writes arguments from where the line of the call is, as far as they are known now.
    pub(super) fn arguments(
        &mut self,
        pending: &mut Pending,
        result: Option<i64>,
        line: &mut Vec<u8>,
    ) {
        let printer = &*self.printer;
        let lookup = TaskLookup {
            tracker: &printer.tracker,
            descriptors: self.descriptors,
            process: self.event.process,
            details: printer.options.style.descriptors > 1,
        };
        let call = pending.call;
        let entry = table::entry(call.id);
        let is_raw = printer.options.raw.has(call.id);
        let style = printer.style_of(call.id);
        let mut context = DecodeContext {
            call,
            result,
            style,
            saved: &mut pending.saved,
            out: line,
            memory: self.memory,
            is_blind: false,
            lookup: &lookup,
        };
        while let Some(kind) = entry.arguments.get(pending.next) {
            let start = context.out.len();
            if !pending.is_begun {
                if pending.next > 0 {
                    context.put(", ");
                }
                pending.parts.begin_argument(context.out.len());
            }
            if is_raw {
                context.hex(context.argument(pending.next));
                pending.parts.end_argument(context.out.len());
                pending.next += 1;
                continue;
            }
            context.style = style;
            // What is known at the entry is written first, even if the exit is there already.
            context.result = None;
            let mut outcome = if pending.is_begun {
                Outcome::Later
            } else {
                kind.write(&mut context, pending.next)
            };
            if result.is_some() && matches!(outcome, Outcome::Later | Outcome::More) {
                pending.is_begun |= outcome == Outcome::More;
                context.result = result;
                outcome = kind.write(&mut context, pending.next);
            }
            match outcome {
                Outcome::Done => pending.is_begun = false,
                Outcome::Skip if !pending.is_begun => {
                    context.out.truncate(start);
                    pending.parts.drop_argument();
                    pending.next += 1;
                    continue;
                }
                Outcome::Skip => pending.is_begun = false,
                Outcome::Later | Outcome::More => {
                    if result.is_none() {
                        pending.is_begun = true;
                        pending.parts.end_argument(context.out.len());
                        look_ahead(&mut context, entry, pending.next + 1);
                        return;
                    }
                    // A kind that asks for more again and again must not block the line.
                    pending.is_begun = false;
                }
            }
            pending.parts.end_argument(context.out.len());
            pending.next += 1;
        }
    }

    pub(super) fn enter(&mut self, call: Call) -> io::Result<()> {
        let thread = self.thread();
        let mut pending = Pending::new(call);
        pending.is_hidden = !self.printer.options.calls.has(call.id);
        if !pending.is_hidden && !self.printer.options.paths.is_empty() {
            pending.is_hidden = !paths::names_any(self, &call);
        }
        self.printer.is_hidden = pending.is_hidden;
        if pending.is_hidden {
            self.printer.note(thread, call.id);
            self.keep(pending);
            return Ok(());
        }
        if !self.printer.holds {
            self.break_line()?;
        }
        let line = self.begin_call(&mut pending, self.event.time_ns);
        pending.column = line.len();
        if self.printer.holds {
            pending.held = line;
        } else {
            self.out.write_all(&line)?;
            self.printer.line = line;
            self.printer.open = Some(thread);
        }
        self.keep(pending);
        Ok(())
    }

    pub(super) fn keep(&mut self, pending: Pending) {
        if let Some(task) = self.printer.task(self.event.thread) {
            task.pending = Some(pending);
        }
    }

    /// Begins the line of a call: task, time, name, and the arguments that are known at the entry.
    pub(super) fn begin_call(&mut self, pending: &mut Pending, time_ns: u64) -> Vec<u8> {
        let id = pending.call.id;
        let name = id.name();
        // Counted before the line begins, because the line may start with the count.
        let former = self.printer.note(self.event.thread, id);
        let mut line = self.leader(time_ns);
        line.extend_from_slice(name.as_bytes());
        line.push(b'(');
        if name == "restart_syscall" {
            pending.parts.begin_argument(line.len());
            let _ = match former {
                Some(former) => write!(line, "<... resuming interrupted {} ...>", former.name()),
                None => write!(line, "<... resuming interrupted system call ...>"),
            };
            pending.parts.end_argument(line.len());
        }
        self.arguments(pending, None, &mut line);
        line
    }

    pub(super) fn exit(
        &mut self,
        call: Call,
        result: i64,
        wall_ns: u64,
        changes: CallChanges,
    ) -> io::Result<()> {
        let thread = self.thread();
        let is_open = self.printer.open == Some(thread);
        let begun = self.printer.task(thread).and_then(|task| task.pending.take());
        let begun = begun.filter(|begun| begun.call.id == call.id);
        let is_hidden = match &begun {
            Some(begun) => begun.is_hidden,
            None => {
                !self.printer.options.calls.has(call.id)
                    || !self.printer.options.paths.is_empty() && !paths::names_any(self, &call)
            }
        };
        self.printer.is_hidden = is_hidden;
        let status =
            if error_of(result).is_some() { CallStatus::Failed } else { CallStatus::Successful };
        if !is_hidden && self.printer.options.statuses.has(status) {
            let end = CallEnd { result, wall_ns, changes };
            match begun {
                Some(begun) => self.end_call(begun, is_open, end)?,
                None => self.whole_call(call, end)?,
            }
            dump::write(&self.printer.options.dumps, &call, result, self.memory, self.out)?;
        }
        self.observe(call, result);
        Ok(())
    }

    /// Writes the line of a call of which only the exit is known.
    pub(super) fn whole_call(&mut self, call: Call, end: CallEnd) -> io::Result<()> {
        self.break_line()?;
        let mut pending = Pending::new(call);
        let began_ns = self.event.time_ns.saturating_sub(end.wall_ns);
        let mut line = self.begin_call(&mut pending, began_ns);
        self.rest(&mut pending, end, 0, &mut line);
        self.finish_line(line)
    }

    /// Finishes the line of a call that was begun.
    pub(super) fn end_call(
        &mut self,
        mut begun: Pending,
        is_open: bool,
        end: CallEnd,
    ) -> io::Result<()> {
        let mut column = 0;
        let mut line = if self.printer.holds {
            self.break_line()?;
            std::mem::take(&mut begun.held)
        } else if is_open {
            self.printer.open = None;
            column = begun.column;
            let mut line = std::mem::take(&mut self.printer.line);
            line.clear();
            line
        } else {
            self.break_line()?;
            self.resume_line(begun.call.id)
        };
        self.rest(&mut begun, end, column, &mut line);
        self.finish_line(line)
    }

    pub(super) fn resume_line(&mut self, call: CallId) -> Vec<u8> {
        let mut line = self.leader(self.event.time_ns);
        for part in ["<... ", &call.name(), " resumed>"] {
            line.extend_from_slice(part.as_bytes());
        }
        line
    }

    /// Writes the rest of the arguments, and the result; `column` bytes of the line are written.
    pub(super) fn rest(
        &mut self,
        pending: &mut Pending,
        end: CallEnd,
        column: usize,
        line: &mut Vec<u8>,
    ) {
        self.arguments(pending, Some(end.result), line);
        line.extend_from_slice(b") ");
        self.align(column, line);
        line.extend_from_slice(b"= ");
        let start = line.len();
        self.result(pending, end.result, line);
        if end.changes.is_injected {
            line.extend_from_slice(b" (INJECTED)");
        }
        if end.changes.is_delayed {
            line.extend_from_slice(b" (DELAYED)");
        }
        self.keep_call(pending, line, start);
        if let Some(precision) = self.printer.options.took {
            leader::write_took(precision, end.wall_ns, line);
        }
    }

    /// Keeps the parts of a finished call if the options ask for it.
    fn keep_call(&mut self, pending: &Pending, line: &[u8], result_at: usize) {
        if self.printer.options.keep_calls {
            self.printer.call = Some(pending.parts.text(pending.call.id, line, result_at));
        }
    }

    /// Pads the line to the column of `= `.
    pub(super) fn align(&self, column: usize, line: &mut Vec<u8>) {
        let have = column + line.len();
        let missing = self.printer.options.column.saturating_sub(have);
        line.resize(line.len() + missing.min(1 << 12), b' ');
    }

    pub(super) fn result(&mut self, pending: &mut Pending, value: i64, line: &mut Vec<u8>) {
        let printer = &*self.printer;
        let id = pending.call.id;
        let lookup = TaskLookup {
            tracker: &printer.tracker,
            descriptors: self.descriptors,
            process: self.event.process,
            details: printer.options.style.descriptors > 1,
        };
        let mut context = DecodeContext {
            call: pending.call,
            result: Some(value),
            style: printer.style_of(id),
            saved: &mut pending.saved,
            out: line,
            memory: self.memory,
            is_blind: false,
            lookup: &lookup,
        };
        if printer.options.raw.has(id) && error_of(value).is_none() {
            context.hex(value as u64);
        } else {
            result::write(table::entry(id).result, &mut context, value);
        }
    }

    /// Keeps what a call did to descriptors.
    pub(super) fn observe(&mut self, call: Call, value: i64) {
        if self.printer.tracker.is_on() && error_of(value).is_none() {
            let process = self.event.process;
            self.printer.tracker.observe(process, &call, value, self.memory, self.descriptors);
        }
    }

    /// Finishes the line of a call from which its task did not return: `= ?`.
    pub(super) fn never_ended(&mut self, mut pending: Pending) -> io::Result<()> {
        let thread = self.thread();
        let mut column = 0;
        let mut line = if self.printer.holds {
            self.break_line()?;
            std::mem::take(&mut pending.held)
        } else if self.printer.open == Some(thread) {
            self.printer.open = None;
            column = pending.column;
            Vec::new()
        } else {
            self.break_line()?;
            self.resume_line(pending.call.id)
        };
        if pending.next < table::entry(pending.call.id).arguments.len() {
            line.extend_from_slice(b" <unfinished ...>");
        }
        line.extend_from_slice(b") ");
        self.align(column, &mut line);
        line.extend_from_slice(b"= ?");
        self.keep_call(&pending, &line, line.len() - 1);
        self.finish_line(line)
    }
}

/// Lets arguments that are written at the exit read memory that the call will overwrite.
fn look_ahead(context: &mut DecodeContext<'_>, entry: &table::SyscallEntry, from: usize) {
    let length = context.out.len();
    for (index, kind) in entry.arguments.iter().enumerate().skip(from) {
        if kind.remembers() {
            kind.write(context, index);
        }
    }
    context.out.truncate(length);
}

//! Lines: what tasks do, written as `strace` writes it.
//!
//! ```text
//! openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 3
//! [pid  1201] read(3,  <unfinished ...>
//! [pid  1200] +++ exited with 0 +++
//! [pid  1201] <... read resumed>"root:x:0:0:root:/root:/bin/bash\n"..., 4096) = 1201
//! ```
//!
//! A [`Printer`] is given [`Event`]s and writes; it does nothing else.  A call's line is begun when
//! the call begins, as far as its arguments can be told, and ended when it ends; if another task has
//! something to say in between, the line is broken and resumed.  Where only some results are wanted a
//! line is held back until its own is known.
//!
//! Per task that is in a call it keeps the line so far.  One line costs a few microseconds, most of it
//! for reading the task's memory.

use std::collections::hash_map::Entry;
use std::io::{self, Write};

use crate::decode::{Lookup, Memo, Outcome, Scene, Style, result, signals};
use crate::event::{Call, End, Event, What};
use crate::select::{CallSet, SignalSet, Status, Statuses};
use crate::tally::error_of;
use crate::tasks::TaskMap;
use crate::{CallId, Memory, digits, table};

mod descriptors;
mod leader;
mod paths;
mod stamp;
#[cfg(test)]
mod tests;

pub use descriptors::{Descriptors, Target};
pub use stamp::{Precision, Stamp, TimeFormatError};

use descriptors::Tracker;

/// Who is named before a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// Nobody.
    #[default]
    Nobody,
    /// The task, as soon as there are several: `[pid  1201] `, as `strace -f` does on a terminal.
    Several,
    /// The task, always: `1201  `, as `strace -f -o FILE` does.
    Always,
}

/// How lines look, and which there are.
#[derive(Clone, Debug)]
pub struct LineOptions {
    /// Calls that have lines.
    pub calls: CallSet,
    /// Calls whose arguments are shown as plain words (`-e raw=`).
    pub raw: CallSet,
    /// Calls whose structures are abbreviated (`-e abbrev=`); the others are shown whole, as with `-v`.
    pub abbreviated: CallSet,
    /// Signals that have lines.
    pub signals: SignalSet,
    /// Calls have lines only if they went like this.
    pub statuses: Statuses,
    /// Only calls that name one of these paths, or use a descriptor of them (`-P`).
    pub paths: Vec<Vec<u8>>,
    /// Who is named before a line.
    pub naming: Naming,
    /// Time of the day before each line.
    pub stamp: Option<Stamp>,
    /// Time since the line before, before each line.
    pub relative: Option<Precision>,
    /// Time in the call, behind its line.
    pub took: Option<Precision>,
    /// The number of the task's latest call before each line.
    pub numbers: bool,
    /// The column of `= `.
    pub column: usize,
    /// A call's line is written when the call ends, and never broken.
    pub whole_lines: bool,
    /// Says which tasks are new: `strace: Process 1201 attached`.
    pub announce: bool,
    /// Says with which status tasks end.  The end by a signal is said if its signal has lines.
    pub ends: bool,
    /// Says which task began a program in place of its process's others.
    pub supersedes: bool,
    /// What stands between the arguments of a call: `, `.  Whoever takes lines apart gives a character
    /// that no argument has: all below the space are escaped.
    pub separator: &'static str,
    /// How values are written.
    pub style: Style,
    /// What has to be added to the monotonic clock for the time since 1970.
    pub wall_offset_ns: i64,
}

impl Default for LineOptions {
    fn default() -> Self {
        LineOptions {
            calls: CallSet::all(),
            raw: CallSet::none(),
            abbreviated: CallSet::all(),
            signals: SignalSet::all(),
            statuses: Statuses::all(),
            paths: Vec::new(),
            naming: Naming::Nobody,
            stamp: None,
            relative: None,
            took: None,
            numbers: false,
            column: 40,
            whole_lines: false,
            announce: true,
            ends: true,
            supersedes: true,
            separator: ", ",
            style: Style::default(),
            wall_offset_ns: 0,
        }
    }
}

/// A call that has begun and not ended.
struct Pending {
    call: Call,
    /// The argument to go on with.
    next: usize,
    /// It was begun already: no comma before what follows.
    is_begun: bool,
    memo: Memo,
    /// The line so far, if it is held back.
    held: Vec<u8>,
    /// Bytes in the line so far.
    column: usize,
    /// It has no line.
    is_hidden: bool,
}

/// What is known of a task.
#[derive(Default)]
struct Task {
    /// Its latest call.
    last: Option<CallId>,
    /// The call that it is in.
    pending: Option<Pending>,
}

/// Tasks that are kept count of: above what a machine runs at a time (`pid_max` is 4 Mi, its default
/// 32 Ki), and a bound for a stream of events that never tells of ends.
const TASKS_MAX: usize = 1 << 16;

/// Writes events as lines.
pub struct Printer {
    options: LineOptions,
    /// Whether lines are held back until the result is known.
    holds: bool,
    /// Tasks that are there.
    tasks: TaskMap<Task>,
    /// The task that has begun a line which is not ended.
    open: Option<i32>,
    last_ns: Option<u64>,
    tracker: Tracker,
    line: Vec<u8>,
}

impl Printer {
    /// A printer that has written nothing yet.
    #[must_use]
    pub fn new(options: LineOptions) -> Self {
        let tracks = options.style.descriptors > 0 || !options.paths.is_empty();
        Printer {
            holds: options.whole_lines || !options.statuses.is_all(),
            tasks: TaskMap::default(),
            open: None,
            last_ns: None,
            tracker: Tracker::new(tracks),
            line: Vec::new(),
            options,
        }
    }

    /// Writes what happened.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn event(
        &mut self,
        event: &Event,
        memory: &dyn Memory,
        descriptors: &dyn Descriptors,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut desk = Desk { printer: self, event, memory, descriptors, out };
        match event.what {
            What::Enter(call) => desk.enter(call),
            What::Exit { call, result, wall_ns, .. } => desk.exit(call, result, wall_ns),
            What::Signal(signal) => desk.signal(&signal),
            What::Stopped(signal) => desk.stopped(signal),
            What::Began { parent } => desk.began(parent),
            What::Superseded { former } => desk.superseded(former),
            What::Ended(end) => desk.ended(end),
        }
    }

    /// Ends lines of calls that are under way, as their tasks are let go: ` <detached ...>`.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn detach(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.open.take().is_some() {
            out.write_all(b" <detached ...>\n")?;
        }
        self.tasks.values_mut().for_each(|task| task.pending = None);
        Ok(())
    }

    /// A task is there of which nothing has been told yet: one that ran already.
    pub fn attached(&mut self, thread: i32) {
        self.know(thread);
    }

    /// Gives up the line of a call that a task is in, of which nothing is written yet
    /// ([`whole_lines`](LineOptions::whole_lines)).
    pub fn give_up(&mut self, thread: i32) {
        if self.holds {
            self.take_pending(thread);
        }
    }

    /// The options it was made with.
    #[must_use]
    pub fn options(&self) -> &LineOptions {
        &self.options
    }

    fn style_of(&self, call: CallId) -> Style {
        Style { whole: !self.options.abbreviated.has(call), ..self.options.style }
    }

    /// A task that is there; `None` if there are too many.
    fn know(&mut self, thread: i32) -> Option<&mut Task> {
        let is_full = self.tasks.len() >= TASKS_MAX;
        match self.tasks.entry(thread) {
            Entry::Vacant(_) if is_full => None,
            entry => Some(entry.or_default()),
        }
    }

    /// Takes out the call that a task is in.
    fn take_pending(&mut self, thread: i32) -> Option<Pending> {
        self.tasks.get_mut(&thread).and_then(|task| task.pending.take())
    }

    /// Notes which call a task is in; gives the one before.
    fn note(&mut self, thread: i32, call: CallId) -> Option<CallId> {
        self.know(thread).and_then(|task| task.last.replace(call))
    }
}

/// A printer at work on one event.
struct Desk<'a> {
    printer: &'a mut Printer,
    event: &'a Event,
    memory: &'a dyn Memory,
    descriptors: &'a dyn Descriptors,
    out: &'a mut dyn Write,
}

/// Looks descriptors up for a task.
struct TaskLookup<'a> {
    tracker: &'a Tracker,
    descriptors: &'a dyn Descriptors,
    process: i32,
    details: bool,
}

impl Lookup for TaskLookup<'_> {
    fn target(&self, descriptor: i32) -> Option<Target> {
        self.tracker.target(self.descriptors, self.process, descriptor, self.details)
    }
}

impl Desk<'_> {
    fn thread(&self) -> i32 {
        self.event.thread
    }

    /// Breaks the line that is open, unless it is that of this task and may go on.
    fn break_line(&mut self) -> io::Result<()> {
        if self.printer.open.take().is_some() {
            self.out.write_all(b" <unfinished ...>\n")?;
        }
        Ok(())
    }

    /// Begins a line with whom it is about and when.
    fn leader(&mut self, time_ns: u64) -> Vec<u8> {
        let mut line = std::mem::take(&mut self.printer.line);
        line.clear();
        let count = self.printer.tasks.len();
        leader::write(&self.printer.options, count, self.event.thread, &mut line);
        let last_ns = self.printer.last_ns.replace(time_ns);
        leader::write_times(&self.printer.options, time_ns, last_ns, &mut line);
        if self.printer.options.numbers {
            let last = self.printer.tasks.get(&self.event.thread).and_then(|task| task.last);
            line.push(b'[');
            digits::padded(last.map_or(0, |call| call.number), 4, b' ', &mut line);
            line.extend_from_slice(b"] ");
        }
        line
    }

    fn finish_line(&mut self, mut line: Vec<u8>) -> io::Result<()> {
        line.push(b'\n');
        self.out.write_all(&line)?;
        self.printer.line = line;
        Ok(())
    }

    /// Writes arguments from where the call's line is, as far as they can be told now.
    fn arguments(&mut self, pending: &mut Pending, result: Option<i64>, line: &mut Vec<u8>) {
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
        let mut scene = Scene {
            call,
            result,
            style,
            memo: &mut pending.memo,
            out: line,
            memory: self.memory,
            is_blind: false,
            lookup: &lookup,
        };
        while let Some(kind) = entry.arguments.get(pending.next) {
            let start = scene.out.len();
            if is_raw {
                if pending.next > 0 {
                    scene.put(printer.options.separator);
                }
                scene.hex(scene.argument(pending.next));
                pending.next += 1;
                continue;
            }
            if pending.next > 0 && !pending.is_begun {
                scene.put(printer.options.separator);
            }
            scene.style = style;
            // What is known from the beginning comes first, even if the end is there already.
            scene.result = None;
            let mut outcome = if pending.is_begun {
                Outcome::Later
            } else {
                kind.write(&mut scene, pending.next)
            };
            if result.is_some() && matches!(outcome, Outcome::Later | Outcome::More) {
                pending.is_begun |= outcome == Outcome::More;
                scene.result = result;
                outcome = kind.write(&mut scene, pending.next);
            }
            match outcome {
                Outcome::Done => pending.is_begun = false,
                Outcome::Skip if !pending.is_begun => scene.out.truncate(start),
                Outcome::Skip => pending.is_begun = false,
                Outcome::Later | Outcome::More => {
                    if result.is_none() {
                        pending.is_begun = true;
                        look_ahead(&mut scene, entry, pending.next + 1);
                        return;
                    }
                    // A kind that is never content would hold the line up for ever.
                    pending.is_begun = false;
                }
            }
            pending.next += 1;
        }
    }

    fn enter(&mut self, call: Call) -> io::Result<()> {
        let thread = self.thread();
        let mut pending = Pending {
            call,
            next: 0,
            is_begun: false,
            memo: Memo::default(),
            held: Vec::new(),
            column: 0,
            is_hidden: !self.printer.options.calls.has(call.id),
        };
        if !pending.is_hidden && !self.printer.options.paths.is_empty() {
            pending.is_hidden = !paths::names_any(self, &call);
        }
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

    fn keep(&mut self, pending: Pending) {
        if let Some(task) = self.printer.know(self.event.thread) {
            task.pending = Some(pending);
        }
    }

    /// Begins the line of a call: who, when, its name and what can be told of its arguments.
    fn begin_call(&mut self, pending: &mut Pending, time_ns: u64) -> Vec<u8> {
        let id = pending.call.id;
        let name = id.name();
        // Noted before the line begins, as its number may stand there.
        let former = self.printer.note(self.event.thread, id);
        let mut line = self.leader(time_ns);
        line.extend_from_slice(name.as_bytes());
        line.push(b'(');
        if name == "restart_syscall" {
            let _ = match former {
                Some(former) => write!(line, "<... resuming interrupted {} ...>", former.name()),
                None => write!(line, "<... resuming interrupted system call ...>"),
            };
        }
        self.arguments(pending, None, &mut line);
        line
    }

    fn exit(&mut self, call: Call, result: i64, wall_ns: u64) -> io::Result<()> {
        let thread = self.thread();
        let is_open = self.printer.open == Some(thread);
        let begun = self.printer.know(thread).and_then(|task| task.pending.take());
        let begun = begun.filter(|begun| begun.call.id == call.id);
        let is_hidden = match &begun {
            Some(begun) => begun.is_hidden,
            None => {
                !self.printer.options.calls.has(call.id)
                    || !self.printer.options.paths.is_empty() && !paths::names_any(self, &call)
            }
        };
        let status = if error_of(result).is_some() { Status::Failed } else { Status::Successful };
        if !is_hidden && self.printer.options.statuses.has(status) {
            match begun {
                Some(begun) => self.end_call(begun, is_open, result, wall_ns)?,
                None => self.whole_call(call, result, wall_ns)?,
            }
        }
        self.observe(call, result);
        Ok(())
    }

    /// Writes the line of a call of which only the end is known.
    fn whole_call(&mut self, call: Call, result: i64, wall_ns: u64) -> io::Result<()> {
        self.break_line()?;
        let mut pending = Pending {
            call,
            next: 0,
            is_begun: false,
            memo: Memo::default(),
            held: Vec::new(),
            column: 0,
            is_hidden: false,
        };
        let began_ns = self.event.time_ns.saturating_sub(wall_ns);
        let mut line = self.begin_call(&mut pending, began_ns);
        self.rest(&mut pending, result, wall_ns, 0, &mut line);
        self.finish_line(line)
    }

    /// Ends the line of a call that was begun.
    fn end_call(
        &mut self,
        mut begun: Pending,
        is_open: bool,
        result: i64,
        wall_ns: u64,
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
        self.rest(&mut begun, result, wall_ns, column, &mut line);
        self.finish_line(line)
    }

    fn resume_line(&mut self, call: CallId) -> Vec<u8> {
        let mut line = self.leader(self.event.time_ns);
        for part in ["<... ", &call.name(), " resumed>"] {
            line.extend_from_slice(part.as_bytes());
        }
        line
    }

    /// Writes what is left of the arguments, and the result.  So many bytes of the line are written.
    fn rest(
        &mut self,
        pending: &mut Pending,
        result: i64,
        wall_ns: u64,
        column: usize,
        line: &mut Vec<u8>,
    ) {
        self.arguments(pending, Some(result), line);
        line.extend_from_slice(b") ");
        self.align(column, line);
        line.extend_from_slice(b"= ");
        self.result(pending, result, line);
        if let Some(precision) = self.printer.options.took {
            leader::write_took(precision, wall_ns, line);
        }
    }

    /// Fills up to the column of `= `.
    fn align(&self, column: usize, line: &mut Vec<u8>) {
        let have = column + line.len();
        let missing = self.printer.options.column.saturating_sub(have);
        line.resize(line.len() + missing.min(1 << 12), b' ');
    }

    fn result(&mut self, pending: &mut Pending, value: i64, line: &mut Vec<u8>) {
        let printer = &*self.printer;
        let id = pending.call.id;
        let lookup = TaskLookup {
            tracker: &printer.tracker,
            descriptors: self.descriptors,
            process: self.event.process,
            details: printer.options.style.descriptors > 1,
        };
        let mut scene = Scene {
            call: pending.call,
            result: Some(value),
            style: printer.style_of(id),
            memo: &mut pending.memo,
            out: line,
            memory: self.memory,
            is_blind: false,
            lookup: &lookup,
        };
        if printer.options.raw.has(id) && error_of(value).is_none() {
            scene.hex(value as u64);
        } else {
            result::write(&table::entry(id).result, &mut scene, value);
        }
    }

    /// Notes what a call did to descriptors.
    fn observe(&mut self, call: Call, value: i64) {
        if self.printer.tracker.is_on() && error_of(value).is_none() {
            let process = self.event.process;
            self.printer.tracker.observe(process, &call, value, self.memory, self.descriptors);
        }
    }

    fn signal(&mut self, signal: &crate::Signal) -> io::Result<()> {
        self.printer.know(self.event.thread);
        if !self.printer.options.signals.has(signal.number) {
            return Ok(());
        }
        self.break_line()?;
        let mut line = self.leader(self.event.time_ns);
        line.extend_from_slice(b"--- ");
        signals::write_signal(signal.number, &mut line);
        line.push(b' ');
        signals::siginfo(signal, &mut line);
        line.extend_from_slice(b" ---");
        self.finish_line(line)
    }

    fn stopped(&mut self, signal: i32) -> io::Result<()> {
        self.printer.know(self.event.thread);
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

    fn began(&mut self, parent: i32) -> io::Result<()> {
        let thread = self.thread();
        self.printer.know(parent);
        self.printer.know(thread);
        self.printer.tracker.inherit(parent, self.event.process);
        if self.printer.options.announce {
            self.break_line()?;
            // The words are those that tools look for, so they name strace and not us.
            writeln!(self.out, "strace: Process {thread} attached")?;
        }
        Ok(())
    }

    fn superseded(&mut self, former: i32) -> io::Result<()> {
        let thread = self.thread();
        self.printer.know(thread);
        if let Some(pending) = self.printer.take_pending(thread)
            && !pending.is_hidden
            && self.printer.options.statuses.has(Status::Unfinished)
        {
            self.never_ended(pending)?;
        }
        if self.printer.open.is_some() {
            self.break_line()?;
        }
        // There is one task less when this is said.
        let task = self.printer.tasks.remove(&former).unwrap_or_default();
        self.printer.tasks.insert(thread, task);
        if self.printer.options.supersedes {
            let mut line = self.leader(self.event.time_ns);
            let _ = write!(line, "+++ superseded by execve in pid {former} +++");
            self.finish_line(line)?;
        }
        Ok(())
    }

    fn ended(&mut self, end: End) -> io::Result<()> {
        let thread = self.thread();
        if let Some(pending) = self.printer.take_pending(thread)
            && !pending.is_hidden
            && self.printer.options.statuses.has(Status::Unfinished)
        {
            self.never_ended(pending)?;
        } else if self.printer.open == Some(thread) {
            self.break_line()?;
        }
        let is_told = match end {
            End::Status(_) => self.printer.options.ends,
            End::Signal { number, .. } => self.printer.options.signals.has(number),
        };
        if is_told {
            self.break_line()?;
            let mut line = self.leader(self.event.time_ns);
            let _ = match end {
                End::Status(status) => write!(line, "+++ exited with {status} +++"),
                End::Signal { number, dumped } => {
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

    /// Ends the line of a call that its task did not come back from: `= ?`.
    fn never_ended(&mut self, mut pending: Pending) -> io::Result<()> {
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
        self.finish_line(line)
    }
}

/// Lets arguments that are told later look at memory that the call will overwrite.
fn look_ahead(scene: &mut Scene<'_>, entry: &table::Entry, from: usize) {
    let length = scene.out.len();
    for (index, kind) in entry.arguments.iter().enumerate().skip(from) {
        if kind.remembers() {
            kind.write(scene, index);
        }
    }
    scene.out.truncate(length);
}

/// The whole line of a call, as if it had been seen alone: for tests and whoever has one call to show.
#[must_use]
pub fn line_of(call: Call, result: i64, memory: &dyn Memory, options: LineOptions) -> String {
    let mut printer = Printer::new(options);
    let mut out = Vec::new();
    let mut event = Event { time_ns: 0, thread: 1, process: 1, what: What::Enter(call) };
    let _ = printer.event(&event, memory, &(), &mut out);
    event.what = What::Exit { call, result, wall_ns: 0, cpu_ns: None };
    let _ = printer.event(&event, memory, &(), &mut out);
    String::from_utf8_lossy(&out).trim_end().to_owned()
}

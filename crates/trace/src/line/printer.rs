//! The printer of lines: its state, and which function writes which event.

use std::collections::hash_map::Entry;
use std::io::{self, Write};

use text::integer::push_filled;

use super::leader;
use super::options::LineOptions;
use super::parts::{CallParts, CallText};
use super::tracker::Tracker;
use crate::decode::{DescriptorLookup, SavedWords, ValueStyle};
use crate::event::{Call, EventKind, TraceEvent};
use crate::tasks::TaskMap;
use crate::{CallChanges, CallId, DescriptorTarget, Descriptors, Memory, NetlinkSocket};

/// A call that a task is in.
pub(super) struct Pending {
    pub(super) call: Call,
    /// The index of the next argument.
    pub(super) next: usize,
    /// Whether that argument is begun, so that no comma comes before the rest.
    pub(super) is_begun: bool,
    pub(super) saved: SavedWords,
    /// The line so far, if it is held back.
    pub(super) held: Vec<u8>,
    /// Bytes of the line that are written.
    pub(super) column: usize,
    /// The call has no line.
    pub(super) is_hidden: bool,
    /// Where its arguments are in the line.
    pub(super) parts: CallParts,
}

impl Pending {
    /// A call of which nothing is written yet.
    pub(super) fn new(call: Call) -> Self {
        Pending {
            call,
            next: 0,
            is_begun: false,
            saved: SavedWords::default(),
            held: Vec::new(),
            column: 0,
            is_hidden: false,
            parts: CallParts::default(),
        }
    }
}

/// The state of a task.
#[derive(Default)]
pub(super) struct Task {
    /// The latest call of the task.
    pub(super) last: Option<CallId>,
    /// The call that it is in.
    pub(super) pending: Option<Pending>,
    /// The name of the task's command, with `-Y`.
    command: Vec<u8>,
}

/// Most tasks that are kept: more than a machine runs at a time (`pid_max` is 4 Mi, its default 32
/// Ki), and a bound for a stream of events without exits.
const TASKS_MAX: usize = 1 << 16;

/// Writes events as lines.
pub struct Printer {
    pub(super) options: LineOptions,
    /// Lines are held back until the result is known.
    pub(super) holds: bool,
    /// The tasks that exist.
    pub(super) tasks: TaskMap<Task>,
    /// The task whose line is begun and not finished.
    pub(super) open: Option<i32>,
    pub(super) last_ns: Option<u64>,
    pub(super) tracker: Tracker,
    pub(super) line: Vec<u8>,
    /// Whether the call of the latest event is hidden.
    pub(super) is_hidden: bool,
    /// The call that the latest event finished ([`LineOptions::keep_calls`]).
    pub(super) call: Option<CallText>,
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
            is_hidden: false,
            call: None,
            options,
        }
    }

    /// Writes the lines of an event.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written.
    pub fn event(
        &mut self,
        event: &TraceEvent,
        memory: &dyn Memory,
        descriptors: &dyn Descriptors,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut printing = EventPrinter { printer: self, event, memory, descriptors, out };
        match event.what {
            EventKind::Enter(call) => printing.enter(call),
            EventKind::Exit { call, result, wall_ns, changes, .. } => {
                printing.exit(call, result, wall_ns, changes)
            }
            EventKind::Signal(signal) => printing.signal(&signal),
            EventKind::Stopped(signal) => printing.stopped(signal),
            EventKind::Began { parent } => printing.began(parent),
            EventKind::Superseded { former } => printing.superseded(former),
            EventKind::Ended(end) => printing.ended(end),
            EventKind::Detached => printing.detached(),
        }
    }

    /// Takes the parts of the call whose line the latest event finished; always `None` without
    /// [`keep_calls`](LineOptions::keep_calls).
    pub fn take_call(&mut self) -> Option<CallText> {
        self.call.take()
    }

    /// Whether the latest event was of a call that gets no line, because it is not selected or
    /// concerns none of the paths of `-P`.
    #[must_use]
    pub fn hid_call(&self) -> bool {
        self.is_hidden
    }

    /// Finishes the lines of calls under way, because their tasks are detached: ` <detached ...>`.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written.
    pub fn detach(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.open.take().is_some() {
            out.write_all(b" <detached ...>\n")?;
        }
        self.tasks.values_mut().for_each(|task| task.pending = None);
        Ok(())
    }

    /// Adds a task that ran before it was attached to.
    pub fn attached(&mut self, thread: i32) {
        self.task(thread);
    }

    /// Drops the line of the call that a task is in, of which nothing is written yet
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

    pub(super) fn style_of(&self, call: CallId) -> ValueStyle {
        ValueStyle {
            whole: !self.options.abbreviated.has(call),
            plain: !self.options.verbose.has(call),
            ..self.options.style
        }
    }

    /// The state of a task, added if it is new; `None` if there are too many.
    pub(super) fn task(&mut self, thread: i32) -> Option<&mut Task> {
        let is_full = self.tasks.len() >= TASKS_MAX;
        match self.tasks.entry(thread) {
            Entry::Vacant(_) if is_full => None,
            entry => Some(entry.or_default()),
        }
    }

    /// Takes out the call that a task is in.
    pub(super) fn take_pending(&mut self, thread: i32) -> Option<Pending> {
        self.tasks.get_mut(&thread).and_then(|task| task.pending.take())
    }

    /// Sets the latest call of a task; returns the one before.
    pub(super) fn note(&mut self, thread: i32, call: CallId) -> Option<CallId> {
        self.task(thread).and_then(|task| task.last.replace(call))
    }
}

/// A printer while it writes one event.
pub(super) struct EventPrinter<'a> {
    pub(super) printer: &'a mut Printer,
    pub(super) event: &'a TraceEvent,
    pub(super) memory: &'a dyn Memory,
    pub(super) descriptors: &'a dyn Descriptors,
    pub(super) out: &'a mut dyn Write,
}

/// Looks up what the descriptors of a process point to.
pub(super) struct TaskLookup<'a> {
    pub(super) tracker: &'a Tracker,
    pub(super) descriptors: &'a dyn Descriptors,
    pub(super) process: i32,
    pub(super) details: bool,
}

impl DescriptorLookup for TaskLookup<'_> {
    fn target(&self, descriptor: i32) -> Option<DescriptorTarget> {
        self.tracker.target(self.descriptors, self.process, descriptor, self.details)
    }

    fn command(&self, task: i32) -> Option<Vec<u8>> {
        self.descriptors.command(task)
    }

    fn netlink(&self, descriptor: i32) -> Option<NetlinkSocket> {
        // A later look could find another socket, whose messages have other names.
        if self.descriptors.is_exact() {
            self.descriptors.netlink(self.process, descriptor)
        } else {
            None
        }
    }
}

impl EventPrinter<'_> {
    pub(super) fn thread(&self) -> i32 {
        self.event.thread
    }

    /// Breaks the line that is open.
    pub(super) fn break_line(&mut self) -> io::Result<()> {
        if self.printer.open.take().is_some() {
            self.out.write_all(b" <unfinished ...>\n")?;
        }
        Ok(())
    }

    /// Begins a line with its task and its time.
    pub(super) fn leader(&mut self, time_ns: u64) -> Vec<u8> {
        let mut line = std::mem::take(&mut self.printer.line);
        line.clear();
        let count = self.printer.tasks.len();
        let command = self.command();
        leader::write(&self.printer.options, count, self.event.thread, &command, &mut line);
        let last_ns = self.printer.last_ns.replace(time_ns);
        leader::write_times(&self.printer.options, time_ns, last_ns, &mut line);
        if self.printer.options.numbers {
            let last = self.printer.tasks.get(&self.event.thread).and_then(|task| task.last);
            line.push(b'[');
            push_filled(&mut line, last.map_or(0, |call| call.number), 4, b' ');
            line.extend_from_slice(b"] ");
        }
        if self.printer.options.pointers {
            leader::write_pointer(self.memory.instruction_pointer(), &mut line);
        }
        line
    }

    /// The name of the task, with `-Y`: the latest that was read, if it has exited.
    fn command(&mut self) -> Vec<u8> {
        if !self.printer.options.style.commands {
            return Vec::new();
        }
        let thread = self.event.thread;
        let now = self.descriptors.command(thread);
        let Some(task) = self.printer.task(thread) else { return now.unwrap_or_default() };
        if let Some(now) = now {
            task.command = now;
        }
        task.command.clone()
    }

    pub(super) fn finish_line(&mut self, mut line: Vec<u8>) -> io::Result<()> {
        line.push(b'\n');
        self.out.write_all(&line)?;
        self.printer.line = line;
        Ok(())
    }
}

/// The whole line of a call, as if no other task had events: for tests and single calls.
#[must_use]
pub fn line_of(call: Call, result: i64, memory: &dyn Memory, options: LineOptions) -> String {
    let mut printer = Printer::new(options);
    let mut out = Vec::new();
    let mut event = TraceEvent { time_ns: 0, thread: 1, process: 1, what: EventKind::Enter(call) };
    let _ = printer.event(&event, memory, &(), &mut out);
    event.what =
        EventKind::Exit { call, result, wall_ns: 0, cpu_ns: None, changes: CallChanges::default() };
    let _ = printer.event(&event, memory, &(), &mut out);
    String::from_utf8_lossy(&out).trim_end().to_owned()
}

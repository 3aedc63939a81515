//! Live text: a view of the samples as they are taken, sent as one message per interval.
//!
//! The text of an interval is built in one buffer that is reused.

use layout::Frame;
use std::io;
use std::sync::Arc;

use layout::Options;
use sample::{History, Meta, Snapshot, SourceDef};
use sink::{Message, Sink};
use source::{InstanceNames, RecorderCounters};
use view::{ShownSources, View};

/// A view and the sink of its text.
pub struct LiveText {
    view: Box<dyn View>,
    /// What the view had to show.
    pub(crate) shown: ShownSources,
    sink: Box<dyn Sink>,
    /// The host name, in each message.
    host: String,
    /// Messages sent.
    sequence: u64,
    text: Vec<u8>,
    counters: Arc<RecorderCounters>,
    /// System calls of the sink that the counters already include.
    calls: u64,
}

impl LiveText {
    /// Opens the view and sends its text before the first interval; `shown` is empty.
    ///
    /// # Errors
    /// If the view cannot be made, or the text cannot be sent.
    pub fn open(
        mut view: Box<dyn View>,
        shown: ShownSources,
        sink: Box<dyn Sink>,
        counters: Arc<RecorderCounters>,
        input: &ViewInput,
    ) -> io::Result<Self> {
        let mut text = Vec::new();
        view.begin(&input.meta, &input.defs, &input.options, &mut text)?;
        let host = input.meta.host().to_owned();
        let mut live = LiveText { view, shown, sink, host, sequence: 0, text, counters, calls: 0 };
        live.send()?;
        Ok(live)
    }

    /// Sends the latest interval.
    ///
    /// # Errors
    /// If the text cannot be sent: no reader is left.
    pub(crate) fn show(&mut self, input: &ViewInput) -> io::Result<()> {
        self.sink.tend()?;
        self.text.clear();
        let frame = Frame::new(&input.history, &input.meta, &input.options);
        self.shown.note(&frame);
        self.view.frame(&frame, &mut self.text)?;
        self.send()?;
        let calls = self.sink.counts().calls;
        self.counters.calls.add(calls - std::mem::replace(&mut self.calls, calls));
        self.counters.written_bytes.add(self.text.len() as u64);
        Ok(())
    }

    fn send(&mut self) -> io::Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        let message = Message { source: &self.host, sequence: self.sequence, payload: &self.text };
        self.sequence += 1;
        self.sink.send(&message)
    }

    /// Whether its view looks at a source.
    pub(crate) fn looks_at(&self, source: usize) -> bool {
        self.view.looks_at(source)
    }

    /// Whether anything was sent.
    pub(crate) fn has_sent(&self) -> bool {
        self.sequence > 0
    }

    /// Writes out what the view holds back.
    ///
    /// # Errors
    /// If the text cannot be sent.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.text.clear();
        self.view.flush(&mut self.text)?;
        self.send()
    }

    /// Sends the text after the last interval, and returns the view's messages.
    ///
    /// # Errors
    /// If the text cannot be sent.
    pub(crate) fn end(&mut self) -> io::Result<Vec<String>> {
        self.text.clear();
        self.view.end(&mut self.text)?;
        self.send()?;
        self.sink.finish()?;
        Ok(self.view.notes())
    }
}

/// The input of a recorder's views.
pub struct ViewInput {
    /// The facts of machine and run.
    pub meta: Meta,
    /// The display options.
    pub options: Options,
    /// The sources, in the order of the snapshots.
    pub defs: Vec<Arc<SourceDef>>,
    /// The latest two readings of each.
    pub history: History,
    /// Display names for instances; recordings keep the kernel's names.
    pub names: InstanceNames,
}

impl ViewInput {
    /// An empty history of `defs`.
    #[must_use]
    pub fn new(meta: Meta, options: Options, defs: Vec<Arc<SourceDef>>) -> Self {
        let history = History::new(&defs);
        ViewInput { meta, options, defs, history, names: InstanceNames::default() }
    }

    /// Takes the samples of a snapshot that are looked at, and leaves older ones in it: readings of a
    /// thousand processes, for a history of the CPUs, would be some 2 MiB.
    pub(crate) fn push(&mut self, snapshot: &mut Snapshot, looks_at: impl Fn(usize) -> bool) {
        for (index, fresh) in snapshot.fresh.iter_mut().enumerate() {
            *fresh = *fresh && looks_at(index);
        }
        self.names.apply(snapshot, &self.defs);
        self.history.push(snapshot);
    }
}

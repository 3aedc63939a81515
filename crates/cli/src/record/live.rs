//! Live text: the view over the samples as they come, sent on interval by interval.
//!
//! Samples are swapped into the view's history, not copied; text is made in one buffer that is
//! kept, and leaves in one `write` an interval.

use std::sync::Arc;

use procfs::Host;
use sample::{History, Meta, Options, Snapshot, SourceDef};
use source::RecorderCounters;
use view::View;

use super::output::Output;
use super::run::Sink;
use super::schedule::Tick;

/// A view and where its text goes.
pub(crate) struct Live {
    view: Box<dyn View>,
    output: Box<dyn Output>,
    text: Vec<u8>,
    counters: Arc<RecorderCounters>,
}

impl Live {
    /// Opens the view and sends what stands before the first interval.
    pub(crate) fn open(
        mut view: Box<dyn View>,
        mut output: Box<dyn Output>,
        counters: Arc<RecorderCounters>,
        shown: &Shown,
    ) -> std::io::Result<Self> {
        let mut text = Vec::new();
        view.begin(&shown.meta, &shown.defs, &shown.options, &mut text)?;
        output.send(&text)?;
        text.clear();
        Ok(Live { view, output, text, counters })
    }

    fn show(&mut self, shown: &Shown) -> std::io::Result<()> {
        let mut calls = self.output.tend()?;
        self.text.clear();
        let frame = shown.history.frame(&shown.meta, &shown.options);
        self.view.frame(&frame, &mut self.text)?;
        if !self.text.is_empty() {
            calls += self.output.send(&self.text)?;
            self.counters.written_bytes.add(self.text.len() as u64);
        }
        self.counters.calls.add(calls);
        Ok(())
    }

    fn end(&mut self) -> std::io::Result<()> {
        self.text.clear();
        self.view.end(&mut self.text)?;
        self.output.send(&self.text).map(drop)
    }
}

/// What every view of a recorder looks at.
pub(crate) struct Shown {
    pub(crate) meta: Meta,
    pub(crate) options: Options,
    pub(crate) defs: Vec<&'static SourceDef>,
    pub(crate) history: History,
}

impl Shown {
    /// An empty history of `defs`.
    pub(crate) fn new(meta: Meta, options: Options, defs: Vec<&'static SourceDef>) -> Self {
        let history = History::new(&defs);
        Shown { meta, options, defs, history }
    }
}

/// Every place that samples go to, in the order in which each gets them: the recording first,
/// since views swap the samples out.
#[derive(Default)]
pub(crate) struct Sinks {
    pub(crate) shown: Option<Shown>,
    pub(crate) live: Option<Live>,
}

impl Sinks {
    /// Ends everything well.
    ///
    /// # Errors
    /// The first one met; the rest is ended all the same.
    pub(crate) fn close(&mut self) -> anyhow::Result<()> {
        if let Some(live) = &mut self.live {
            live.end()?;
        }
        Ok(())
    }
}

impl Sink for Sinks {
    fn take(&mut self, _tick: &Tick, snapshot: &mut Snapshot, _host: &Host) -> anyhow::Result<()> {
        if let Some(shown) = &mut self.shown {
            shown.history.push(snapshot);
            if let Some(live) = &mut self.live {
                live.show(shown)?;
            }
        }
        Ok(())
    }
}

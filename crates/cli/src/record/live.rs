//! Live text: the view over the samples as they come, sent on interval by interval.
//!
//! Text is made in one buffer that is kept, and leaves in one `write` an interval.

use std::sync::Arc;

use sample::{History, Meta, Options, SourceDef};
use source::{InstanceNames, RecorderCounters};
use view::View;

use super::output::Output;

/// A view and where its text goes.
pub(crate) struct Live {
    view: Box<dyn View>,
    output: Box<dyn Output>,
    text: Vec<u8>,
    counters: Arc<RecorderCounters>,
}

impl Live {
    /// Opens the view and sends what stands before the first interval.
    ///
    /// # Errors
    /// Those of sending.
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

    /// Sends the latest interval.
    ///
    /// # Errors
    /// Those of sending, after which nobody listens.
    pub(crate) fn show(&mut self, shown: &Shown) -> std::io::Result<()> {
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

    /// Sends what stands after the last interval, and returns what the view has to say besides.
    ///
    /// # Errors
    /// Those of sending.
    pub(crate) fn end(&mut self) -> std::io::Result<Vec<String>> {
        self.text.clear();
        self.view.end(&mut self.text)?;
        if !self.text.is_empty() {
            self.output.send(&self.text)?;
        }
        Ok(self.view.notes())
    }
}

/// What every view of a recorder looks at.
pub(crate) struct Shown {
    pub(crate) meta: Meta,
    pub(crate) options: Options,
    pub(crate) defs: Vec<&'static SourceDef>,
    pub(crate) history: History,
    /// New names for instances.
    pub(crate) names: InstanceNames,
}

impl Shown {
    /// An empty history of `defs`.
    pub(crate) fn new(meta: Meta, options: Options, defs: Vec<&'static SourceDef>) -> Self {
        let history = History::new(&defs);
        Shown { meta, options, defs, history, names: InstanceNames::default() }
    }
}

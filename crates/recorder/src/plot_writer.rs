//! Writes the plot lines of each interval to plot files.

use layout::Frame;
use std::sync::Arc;

use jiff::Zoned;
use sample::Moment;
use source::RecorderCounters;
use view::PlotFiles;

use crate::live::ViewInput;
use crate::messages::{MessageLog, Severity};
use crate::plot_output::PlotOutput;

/// Plot files and their lines.
pub struct PlotWriter {
    lines: PlotFiles,
    pub(crate) output: PlotOutput,
    command_line: String,
    counters: Arc<RecorderCounters>,
    /// The longest time that lines stay in the compressor's buffer.
    flush_ns: u64,
    flushed_ns: u64,
    is_broken: bool,
}

impl PlotWriter {
    /// Writes the lines of `input` to the files of `output`.
    #[must_use]
    pub fn new(
        lines: PlotFiles,
        output: PlotOutput,
        command_line: String,
        counters: Arc<RecorderCounters>,
        flush_ns: u64,
        input: &ViewInput,
    ) -> Self {
        let mut writer = PlotWriter {
            lines,
            output,
            command_line,
            counters,
            flush_ns,
            flushed_ns: 0,
            is_broken: false,
        };
        writer.begin(input);
        writer
    }

    /// The extensions of the files.
    pub fn extensions(&self) -> impl Iterator<Item = &str> {
        self.lines.extensions()
    }

    fn begin(&mut self, input: &ViewInput) {
        self.lines.begin(&input.meta, &input.defs, &input.options, &self.command_line);
    }

    /// Adds the lines of the latest interval.  A failure is reported once, not at every interval.
    pub(crate) fn show(&mut self, input: &ViewInput, now: Moment, messages: &dyn MessageLog) {
        let written = self.try_show(input, now);
        if let Err(error) = &written
            && !self.is_broken
        {
            messages.log(now, Severity::Error, &format!("plot files: {error}"));
        }
        self.is_broken = written.is_err();
    }

    fn try_show(&mut self, input: &ViewInput, now: Moment) -> std::io::Result<()> {
        let frame = Frame::new(&input.history, &input.meta, &input.options);
        let output = &mut self.output;
        self.lines.frame(&frame, &mut |extension, text| output.add(extension, text))?;
        if now.monotonic_ns.saturating_sub(self.flushed_ns) >= self.flush_ns {
            self.flushed_ns = now.monotonic_ns;
            self.output.flush()?;
        }
        self.counters.calls.add(std::mem::take(&mut self.output.calls));
        self.counters.written_bytes.add(std::mem::take(&mut self.output.written_bytes));
        Ok(())
    }

    /// Continues with the files of another day.
    ///
    /// # Errors
    /// An old file cannot be closed.
    pub(crate) fn roll(&mut self, at: Zoned, input: &ViewInput) -> std::io::Result<()> {
        let rolled = self.output.roll(at);
        self.begin(input);
        rolled
    }
}

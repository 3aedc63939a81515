//! Writes the plot lines of each interval to plot files.

use layout::Frame;
use std::sync::Arc;

use jiff::Zoned;
use sample::Moment;
use source::RecorderCounters;
use view::PlotFiles;

use crate::RecorderError;
use crate::live::ViewInput;
use crate::messages::{MessageLog, Severity};
use crate::plot_output::PlotOutput;

/// Least time between two checks that the files still have names and their lengths.
const CHECK_NS: u64 = 1_000_000_000;

/// Plot files and their lines.
pub struct PlotWriter {
    lines: PlotFiles,
    pub(crate) output: PlotOutput,
    command_line: String,
    counters: Arc<RecorderCounters>,
    /// The longest time that lines stay in the compressor's buffer.
    flush_ns: u64,
    flushed_ns: u64,
    /// When it was last checked that no other program deleted or truncated a file.
    checked_ns: u64,
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
            checked_ns: 0,
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
        if now.monotonic_ns.saturating_sub(self.checked_ns) >= CHECK_NS {
            self.checked_ns = now.monotonic_ns;
            while let Some((extension, error)) = self.output.take_gone() {
                self.begin_again(&extension, &error, now, messages);
            }
        }
        let written = self.try_show(input, now);
        if let Err(error) = &written
            && !self.is_broken
        {
            messages.log(now, Severity::Error, &format!("plot files: {error}"));
        }
        self.is_broken = written.is_err();
    }

    /// Begins a file again, with its header, in place of one that another program deleted or
    /// truncated.
    #[cold]
    fn begin_again(
        &mut self,
        extension: &str,
        error: &RecorderError,
        now: Moment,
        messages: &dyn MessageLog,
    ) {
        // Without the directory, the next line reports that the file cannot be opened.
        let _ = self.output.ensure_directory();
        self.lines.begin_again(extension);
        messages.log(now, Severity::Error, &format!("{error}; the file is begun again"));
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
    pub(crate) fn roll(&mut self, at: Zoned, input: &ViewInput) -> Result<(), RecorderError> {
        let rolled = self.output.roll(at);
        self.begin(input);
        rolled
    }
}

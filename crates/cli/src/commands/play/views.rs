//! Frames as text on standard output.

use std::io::Write;

use jiff::tz::TimeZone;
use layout::Frame;
use view::{Setup, View};

use super::arguments::PlayArguments;
use super::frames::{FrameConsumer, PlayedSet};

/// Frames go to one view on standard output.
pub(crate) struct OneView<'a> {
    arguments: &'a PlayArguments,
    view: Option<(TimeZone, Box<dyn View>)>,
    notes: Vec<String>,
}

impl<'a> OneView<'a> {
    /// Opens the view when the first set is known.
    pub(crate) fn new(arguments: &'a PlayArguments) -> Self {
        OneView { arguments, view: None, notes: Vec::new() }
    }
}

impl FrameConsumer for OneView<'_> {
    fn begin(&mut self, set: &PlayedSet<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
        let same = self.view.as_ref().is_some_and(|(zone, _)| zone == set.zone);
        if !same {
            self.notes = self.end(out)?;
            let setup = Setup {
                zone: set.zone.clone(),
                command_line: crate::words::line_after(1),
                playing: true,
            };
            let daemon = crate::export::caching_daemon();
            let setting = view::export::Setting { playing: true, daemon, ..Default::default() };
            let view = self.arguments.display.open_view(set.options, &setup, &setting)?;
            self.view = view.map(|view| (set.zone.clone(), view));
        }
        if let Some((_, view)) = &mut self.view {
            view.begin(set.meta, set.defs, set.options, out)?;
        }
        Ok(())
    }

    fn next_recording(&mut self, out: &mut dyn Write) -> anyhow::Result<()> {
        if let Some((_, view)) = &mut self.view {
            view.next_recording(out)?;
        }
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> anyhow::Result<bool> {
        let Some((_, view)) = &mut self.view else { return Ok(true) };
        view.frame(frame, out)?;
        Ok(!view.is_complete())
    }

    fn end(&mut self, out: &mut dyn Write) -> anyhow::Result<Vec<String>> {
        let mut notes = std::mem::take(&mut self.notes);
        if let Some((_, mut view)) = self.view.take() {
            view.end(out)?;
            notes.extend(view.notes());
        }
        Ok(notes)
    }
}

//! `--diff A B`: two periods side by side, each field's mean and maximum and how they changed.

use std::io::Write;

use anyhow::{Context, ensure};
use feed::{RecordingSet, TimeSelection};
use layout::Frame;

use super::arguments::PlayArguments;
use super::frames::{self, FrameConsumer, Outcome, PlayedSet};

/// Gathers the frames of one period.
#[derive(Default)]
struct Gatherer {
    period: view::Period,
}

impl FrameConsumer for Gatherer {
    fn begin(&mut self, set: &PlayedSet<'_>, _out: &mut dyn Write) -> anyhow::Result<()> {
        Ok(self.period.begin(set.options, set.defs)?)
    }

    fn frame(&mut self, frame: &Frame<'_>, _out: &mut dyn Write) -> anyhow::Result<bool> {
        self.period.add(frame);
        Ok(true)
    }
}

/// Plays both periods and writes the comparison.
pub(crate) fn diff(
    sets: &[RecordingSet<'_>],
    periods: &[String],
    arguments: &PlayArguments,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let mut gathered = Vec::new();
    let mut outcome = Outcome::default();
    for text in periods {
        let period = TimeSelection::parse(Some(text), None, &crate::zone::now())
            .with_context(|| format!("--diff {text}"))?;
        let period = period.shown_later_by(arguments.offset_ns);
        let mut gatherer = Gatherer::default();
        let part = frames::play(sets, &period, arguments, &mut gatherer, &mut std::io::sink())?;
        ensure!(part.frames > 0, "--diff {text}: no samples in this period");
        outcome.frames += part.frames;
        outcome.failed |= part.failed;
        outcome.too_early = outcome.too_early.or(part.too_early);
        outcome.notes.extend(part.notes);
        gathered.push(gatherer.period);
    }
    outcome.notes.dedup();
    let [a, b] = gathered.as_slice() else { anyhow::bail!("--diff needs two periods") };
    let room = crate::display::terminal_columns().unwrap_or(usize::MAX);
    view::write_comparison(a, b, arguments.display.table_form(), arguments.limit, room, out)?;
    Ok(outcome)
}

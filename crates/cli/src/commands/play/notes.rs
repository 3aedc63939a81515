//! Messages for stderr after the last frame, which no view can show.

use std::sync::Arc;

use layout::Frame;
use sample::{SourceDef, State};

/// Whether the recorded machines had the sources that are shown.
#[derive(Default)]
pub(super) struct Presence(Vec<PresentSource>);

/// A shown source.
struct PresentSource {
    def: Arc<SourceDef>,
    /// Whether any reading is not [`State::Absent`]: whether a recorded machine had it.
    is_present: bool,
}

/// Exit events that were lost.
#[derive(Default)]
pub(super) struct EndsLost(f64);

impl EndsLost {
    /// Adds those of a frame.
    pub(super) fn note(&mut self, frame: &Frame<'_>) {
        for track in frame.tracks.iter().filter(|track| track.fresh) {
            if !frame.options.subsystems.asks_for(&track.def) {
                continue;
            }
            let balances =
                frame.options.layouts.of(&track.def).iter().filter_map(|layout| layout.balance);
            let whole = frame.whole(track);
            self.0 += balances.filter_map(|balance| (balance.ends_lost)(&whole)).sum::<f64>();
        }
    }

    pub(super) fn sentence(&self) -> Option<String> {
        let count = self.0 as u64;
        let ends = if count == 1 { "end" } else { "ends" };
        (self.0 > 0.0).then(|| {
            format!(
                "{count} {ends} of processes or threads were lost: that they ended is all that is \
                 known"
            )
        })
    }
}

impl Presence {
    /// Updates from a frame.
    pub(super) fn note(&mut self, frame: &Frame<'_>) {
        for (place, track) in frame.tracks.iter().enumerate() {
            let state = track.current.state;
            if state == State::NotRecorded || !frame.options.subsystems.asks_for(&track.def) {
                continue;
            }
            // There may be thousands, mostly in the same place at each tick.
            let is_it = |known: &&mut PresentSource| known.def.name == track.def.name;
            let found = match self.0.get(place) {
                Some(known) if known.def.name == track.def.name => self.0.get_mut(place),
                _ => self.0.iter_mut().find(is_it),
            };
            let is_present = state != State::Absent;
            match found {
                Some(known) => known.is_present |= is_present,
                None => self.0.push(PresentSource { def: track.def.clone(), is_present }),
            }
        }
    }

    /// A message about adapters and sensors that no machine had, and whether nothing else was
    /// shown.
    pub(super) fn sentence(&self) -> (Option<String>, bool) {
        let is_missing = |known: &&PresentSource| {
            !known.is_present && source::hardware_of(&known.def.name).is_some()
        };
        let missing: Vec<&str> = self
            .0
            .iter()
            .filter(is_missing)
            .filter_map(|known| source::hardware_of(&known.def.name))
            .collect();
        let nothing = missing.len() == self.0.len();
        if missing.is_empty() {
            return (None, false);
        }
        let text = format!("the recorded machine had no {}", missing.join(", no "));
        (Some(if nothing { format!("nothing to show: {text}") } else { text }), nothing)
    }
}

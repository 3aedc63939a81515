//! Messages for stderr after the last frame, which no view can show.

use std::sync::Arc;

use layout::Frame;
use sample::{Cadence, SourceDef, State};

/// What is known of the readings of the shown sources.
#[derive(Default)]
pub(super) struct Presence(Vec<PresentSource>);

/// A shown source.
struct PresentSource {
    def: Arc<SourceDef>,
    /// Whether any reading is not [`State::Absent`]: whether a recorded machine had it.
    is_present: bool,
    /// Whether two readings in a row were good: whether there is a change to show.
    is_read_twice: bool,
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
            let is_read_twice = state == State::Ok && track.previous.state == State::Ok;
            match found {
                Some(known) => {
                    known.is_present |= is_present;
                    known.is_read_twice |= is_read_twice;
                }
                None => {
                    let def = track.def.clone();
                    self.0.push(PresentSource { def, is_present, is_read_twice });
                }
            }
        }
    }

    /// Why nothing was shown, if some sources that are not read at each tick were read once only.
    pub(super) fn too_early(&self) -> Option<String> {
        let is_once = |known: &&PresentSource| {
            known.is_present && !known.is_read_twice && known.def.cadence != Cadence::First
        };
        let once = self.0.iter().filter(is_once);
        let mut names: Vec<&str> = once.map(|known| &*known.def.name).collect();
        if names.is_empty() {
            return None;
        }
        names.dedup();
        Some(format!(
            "nothing to show: the recording has one reading of {}, and a change needs two (-i of \
             whit record says how often which sources are read)",
            names.join(", ")
        ))
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

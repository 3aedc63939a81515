//! Which sources a view had something to show of, and which were read too seldom for that.

use std::sync::Arc;

use layout::Frame;
use sample::{Cadence, SourceDef, State, Track};

/// What a view had to show of the sources that are asked for.
#[derive(Debug, Default)]
pub struct ShownSources {
    /// Whether the view is of values for programs, of a first reading too, and knows no layouts.
    has_values: bool,
    sources: Vec<ShownSource>,
}

/// A source that is asked for.
#[derive(Debug)]
struct ShownSource {
    def: Arc<SourceDef>,
    /// Whether any reading was good.
    is_read: bool,
    /// Whether there was something to show: two good readings in a row, or one if no change is
    /// needed.
    is_shown: bool,
}

/// Sources of which nothing was shown, because they were read once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooEarly {
    /// The names of the sources, as in a sentence.
    pub names: String,
    /// Whether nothing of any other source was shown either.
    pub is_all: bool,
}

impl ShownSources {
    /// Nothing is known yet; `has_values`: the view is of [`ViewClass::Values`](crate::ViewClass).
    #[must_use]
    pub fn new(has_values: bool) -> Self {
        ShownSources { has_values, sources: Vec::new() }
    }

    /// Updates from a frame.
    pub fn note(&mut self, frame: &Frame<'_>) {
        // The first tick is a base alone, except for pages of values.
        let is_base = frame.seconds == 0.0 && !self.has_values;
        for (place, track) in frame.tracks.iter().enumerate() {
            let state = track.current.state;
            if state == State::NotRecorded || !frame.options.subsystems.asks_for(&track.def) {
                continue;
            }
            // There may be thousands, mostly in the same place at each tick.
            let place = match self.sources.get(place) {
                Some(known) if known.def.name == track.def.name => place,
                _ => self.place(track),
            };
            let known = &mut self.sources[place];
            known.is_read |= state == State::Ok;
            if known.is_shown || is_base || !track.fresh || state != State::Ok {
                continue;
            }
            let needs_two = || {
                let mut layouts = frame.options.layouts.of(&track.def).iter();
                !self.has_values && layouts.any(|layout| layout.from_second_reading)
            };
            known.is_shown = track.previous.state == State::Ok || !needs_two();
        }
    }

    /// The place of a track's source, which is added if it is new.
    fn place(&mut self, track: &Track) -> usize {
        let is_it = |known: &ShownSource| known.def.name == track.def.name;
        self.sources.iter().position(is_it).unwrap_or_else(|| {
            let def = track.def.clone();
            self.sources.push(ShownSource { def, is_read: false, is_shown: false });
            self.sources.len() - 1
        })
    }

    /// The sources of which nothing was shown because they are not read at each tick, and were read
    /// once only.
    #[must_use]
    pub fn too_early(&self) -> Option<TooEarly> {
        let is_once = |known: &&ShownSource| {
            known.is_read && !known.is_shown && known.def.cadence != Cadence::First
        };
        let once: Vec<&ShownSource> = self.sources.iter().filter(is_once).collect();
        if once.is_empty() {
            return None;
        }
        // A layout shows what ended since the last tick beside the processes, never alone.
        let is_beside_one = |known: &ShownSource| {
            !self.has_values && once.iter().any(|other| other.def.letters == known.def.letters)
        };
        let is_all = !self.sources.iter().any(|known| known.is_shown && !is_beside_one(known));
        let mut names: Vec<&str> = once.iter().map(|known| &*known.def.name).collect();
        names.dedup();
        Some(TooEarly { names: names.join(", "), is_all })
    }
}

impl TooEarly {
    /// What to tell of it; `subject` is `there was` or `the recording has`, and `is_nothing` whether
    /// nothing at all was shown.
    #[must_use]
    pub fn sentence(&self, subject: &str, is_nothing: bool) -> String {
        let nothing = if is_nothing { "nothing to show: " } else { "" };
        format!(
            "{nothing}{subject} one reading of {}, and a change needs two (-i of whit record says \
             how often which sources are read)",
            self.names
        )
    }
}

//! Which sources recordings have, and which recordings form a set.
//!
//! Recordings of one host and day (collectl's "prefix") are a set: they show the union of what
//! each of them recorded.

use layout::Selection;
use sample::SourceDef;
use source::Entry;

use crate::{FeedError, Origin, RecordedFile};

/// The key of the sources in a recording of whit that are not shown without `-s`.
pub const RECORDED_BESIDE: &str = "subsystems_beside";

/// The letters that collectl's own `--all` and `--ALL` stand for.
pub const COLLECTL_LETTERS: &str = "bcdfijmnstxBCDEFJMNTXYZ";

/// Recordings of one host and day.
pub struct RecordingSet<'a> {
    /// In time order.
    pub recordings: Vec<&'a RecordedFile>,
    /// The sources that were chosen, before those that no recording of the set can have were left
    /// out.
    pub asked: Selection,
    /// The sources to show.
    pub selection: Selection,
}

impl RecordingSet<'_> {
    /// Whether what is left out counts beside the rest: lines of several subsystems have no common
    /// columns, as in collectl also if one is of an adapter that the machine has not.
    #[must_use]
    pub fn asks_for_adapters_beside(&self) -> bool {
        let has = |selection: &Selection| selection.has_any(&['x', 'X']);
        has(&self.asked) && !has(&self.selection)
    }
}

/// Groups recordings into sets; `choose` selects the sources to show of each, given the recorded
/// ones.
///
/// # Errors
/// The first error of `choose`.
pub fn sets<'a, E>(
    recordings: &'a [RecordedFile],
    mut choose: impl FnMut(&RecordedFile, &Selection) -> Result<Selection, E>,
) -> Result<Vec<RecordingSet<'a>>, E> {
    let mut sets: Vec<RecordingSet<'a>> = Vec::new();
    for recording in recordings {
        let asked = choose(recording, &recordable(recording.meta.subsystems()))?;
        let mut selection = asked.clone();
        leave_out_as_collectl(&mut selection, recording);
        let same = |set: &&mut RecordingSet<'a>| set.recordings[0].prefix() == recording.prefix();
        match sets.iter_mut().rev().find(same) {
            Some(set) => {
                set.asked.add(&asked);
                set.selection.add(&selection);
                set.recordings.push(recording);
            }
            None => sets.push(RecordingSet { recordings: vec![recording], asked, selection }),
        }
    }
    Ok(sets)
}

/// The recorded sources that whit has: all except Lustre.
#[must_use]
pub fn recordable(recorded: &str) -> Selection {
    let mut selection = Selection::from(recorded);
    let served = |letter| source::ALL.iter().copied().any(|entry| entry.letters.contains(letter));
    selection.retain_letters(served);
    selection
}

/// The selected sources, in the registry's order.
pub(crate) fn entries_for(selection: &Selection) -> Vec<&'static Entry> {
    source::ALL.iter().copied().filter(|entry| entry.asked_by(selection)).collect()
}

/// Removes selected letters that collectl ignores: `y` and `Y` if no slabs were recorded, and `x`
/// and `X` for machines without an adapter.
fn leave_out_as_collectl(selection: &mut Selection, recording: &RecordedFile) {
    if !recording.meta.subsystems().contains(['y', 'Y']) {
        selection.retain_letters(|letter| !matches!(letter, 'y' | 'Y'));
    }
    let adapters = recording.meta.get("infiniband_adapters");
    if recording.origin == Origin::Collectl && adapters.is_none_or(|count| count == "0") {
        selection.retain_letters(|letter| !matches!(letter, 'x' | 'X'));
    }
}

/// Whether a recording of collectl with these letters has the text that a source reads.  Summary and
/// detail use the same text, except memory and its NUMA nodes.
#[must_use]
pub fn has_text_for(def: &SourceDef, subsystems: &str) -> bool {
    def.letters.chars().any(|letter| {
        let other = match letter {
            'm' | 'M' => letter,
            letter if letter.is_ascii_lowercase() => letter.to_ascii_uppercase(),
            letter => letter.to_ascii_lowercase(),
        };
        subsystems.contains([letter, other])
    })
}

/// Whether a recording has the data of a source.  In whit's recordings the source must have been
/// recorded, at any level.
#[must_use]
pub fn holds(recording: &RecordedFile, entry: &Entry) -> bool {
    let recorded = recording.meta.subsystems();
    match recording.origin {
        Origin::Collectl => has_text_for(&entry.def(), recorded),
        Origin::Atop | Origin::Sadc => entry.asked_by(&Selection::from(recorded)),
        // Every recording of whit has the cost of its recorder.
        Origin::Whit => {
            let beside = recording.meta.get(RECORDED_BESIDE).unwrap_or_default();
            entry.name == source::OWN_SOURCE
                || [recorded, beside].iter().any(|text| entry.asked_by(&Selection::from(*text)))
        }
    }
}

/// Whether a selection has the name of a source.
fn asks_by_name(asked: &Selection, name: &str) -> bool {
    let source = SourceDef { name: name.to_owned().into(), ..SourceDef::EMPTY };
    asked.asks_for(&source)
}

/// Checks that a recording has any of the selected sources, of this program's or of its own.
///
/// # Errors
/// None has.
pub fn check_recorded(sets: &[RecordingSet<'_>]) -> Result<(), FeedError> {
    let (mut chosen, mut asked) = (Selection::default(), Selection::default());
    for set in sets {
        chosen.add(&set.asked);
        asked.add(&set.selection);
    }
    let recordings = || sets.iter().flat_map(|set| set.recordings.iter());
    let of_its_own = |recording: &RecordedFile| {
        let recorded = Selection::from(recording.meta.subsystems());
        recorded.names().any(|name| source::find(name).is_none() && asks_by_name(&asked, name))
    };
    if recordings().any(|recording| recording.origin == Origin::Whit && of_its_own(recording)) {
        return Ok(());
    }
    let wanted = entries_for(&asked);
    if wanted.iter().any(|entry| recordings().any(|recording| holds(recording, entry))) {
        return Ok(());
    }
    let mut recorded: Vec<&str> =
        recordings().map(|recording| recording.meta.subsystems()).collect();
    recorded.retain(|recorded| !recorded.is_empty());
    recorded.dedup();
    let quoted = |texts: &[&str]| match texts {
        [] => "nothing".to_owned(),
        texts => format!("'{}'", texts.join("', '")),
    };
    let chosen = chosen.to_string();
    let asked = if chosen.is_empty() { Vec::new() } else { vec![chosen.as_str()] };
    Err(FeedError::NotRecorded { asked: quoted(&asked), recorded: quoted(&recorded) })
}

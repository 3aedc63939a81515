//! What recordings hold, by the letters of their sources, and which of them form a set.
//!
//! Recordings of one host and day (collectl's "prefix") are a set: they show the union of what
//! each of them recorded.

use source::Entry;

use crate::{FeedError, Origin, RecordedFile};

/// The key of what a recording of whit holds beside the letters that are shown without `-s`.
pub const RECORDED_BESIDE: &str = "subsystems_beside";

/// The letters that collectl's own `--all` and `--ALL` stand for.
pub const COLLECTL_LETTERS: &str = "bcdfijmnstxBCDEFJMNTXYZ";

/// Recordings of one host and day.
pub struct RecordingSet<'a> {
    /// In time order.
    pub recordings: Vec<&'a RecordedFile>,
    /// The letters to show.
    pub letters: String,
}

/// Puts recordings into sets; `letters` says what to show of each, given the letters that were
/// recorded in it.
///
/// # Errors
/// Those of `letters`.
pub fn sets<'a, E>(
    recordings: &'a [RecordedFile],
    mut letters: impl FnMut(&RecordedFile, &str) -> Result<String, E>,
) -> Result<Vec<RecordingSet<'a>>, E> {
    let mut sets: Vec<RecordingSet<'a>> = Vec::new();
    for recording in recordings {
        let letters = letters(recording, &recordable(recording.meta.subsystems()))?;
        let letters = without_unrecorded_slabs(letters, recording.meta.subsystems());
        let letters = without_infiniband(letters, recording);
        let same = |set: &&mut RecordingSet<'a>| set.recordings[0].prefix() == recording.prefix();
        match sets.iter_mut().rev().find(same) {
            Some(set) => {
                let added: Vec<char> =
                    letters.chars().filter(|letter| !set.letters.contains(*letter)).collect();
                set.letters.extend(added);
                set.recordings.push(recording);
            }
            None => sets.push(RecordingSet { recordings: vec![recording], letters }),
        }
    }
    Ok(sets)
}

/// The recorded letters that some source serves: all but those of Lustre.
#[must_use]
pub fn recordable(recorded: &str) -> String {
    let served =
        |letter: &char| source::ALL.iter().copied().any(|entry| entry.letters.contains(*letter));
    recorded.chars().filter(served).collect()
}

/// The sources that serve any of the letters, in the registry's order.
pub(crate) fn entries_for(letters: &str) -> Vec<&'static Entry> {
    source::ALL.iter().copied().filter(|entry| entry.asked_by(letters)).collect()
}

/// collectl passes over `y` where no slabs were recorded, so that it does not force verbose mode.
fn without_unrecorded_slabs(letters: String, recorded: &str) -> String {
    if recorded.contains(['y', 'Y']) {
        return letters;
    }
    letters.chars().filter(|letter| *letter != 'y').collect()
}

/// collectl passes over `x` and `X` on machines without an adapter, whatever is asked for.
fn without_infiniband(letters: String, recording: &RecordedFile) -> String {
    let adapters = recording.meta.get("infiniband_adapters");
    if recording.origin != Origin::Collectl || adapters.is_some_and(|count| count != "0") {
        return letters;
    }
    letters.chars().filter(|letter| !matches!(letter, 'x' | 'X')).collect()
}

/// Whether a recording has what a letter shows.  collectl's text serves a summary and its detail
/// alike; of whit's, a source that serves the letter must have been recorded by any of its letters.
fn holds(recording: &RecordedFile, letter: char) -> bool {
    let letters = recording.meta.subsystems();
    match recording.origin {
        Origin::Collectl => letters.to_lowercase().contains(letter.to_ascii_lowercase()),
        // Every recording of whit's has what its recorder cost.
        Origin::Whit => {
            let serves = |entry: &&Entry| entry.letters.contains(letter);
            let mut serving = source::ALL.iter().copied().filter(serves);
            let beside = recording.meta.get(RECORDED_BESIDE).unwrap_or_default();
            letter == 'w' || serving.any(|entry| entry.asked_by(letters) || entry.asked_by(beside))
        }
    }
}

/// Whether anything of what was asked for is in a recording.
///
/// # Errors
/// Nothing is.
pub fn check_recorded(sets: &[RecordingSet<'_>]) -> Result<(), FeedError> {
    let asked: String = sets.iter().map(|set| set.letters.as_str()).collect();
    let recordings = || sets.iter().flat_map(|set| set.recordings.iter());
    if asked.chars().any(|letter| recordings().any(|recording| holds(recording, letter))) {
        return Ok(());
    }
    let recorded: Vec<&str> = recordings().map(|recording| recording.meta.subsystems()).collect();
    Err(FeedError::NotRecorded { asked, recorded: recorded.join("', '") })
}

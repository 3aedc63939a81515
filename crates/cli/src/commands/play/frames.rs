//! The loop: recordings one after the other, each frame to what shows it.

use std::io::Write;
use std::sync::Arc;

use anyhow::ensure;
use feed::{Origin, PlaySettings, Playback, RecordedFile, RecordingSet, Step, TimeSelection};
use jiff::tz::TimeZone;
use layout::{Frame, Options, Selection};
use sample::{Meta, SourceDef};
use view::{ShownSources, TooEarly};

use super::arguments::PlayArguments;
use super::notes::{EndsLost, Presence};
use crate::{display, stderr};

/// The result of a play.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Frames shown.
    pub(crate) frames: u64,
    /// The sources of which nothing was shown because they were read once.
    pub(crate) too_early: Option<TooEarly>,
    /// Messages for stderr.
    pub(crate) notes: Vec<String>,
    /// Whether any of them is an error.
    pub(crate) failed: bool,
}

/// Receives frames.
pub(crate) trait FrameConsumer {
    /// Another set of recordings begins, or one with other sources.
    fn begin(&mut self, set: &PlayedSet<'_>, out: &mut dyn Write) -> anyhow::Result<()>;

    /// Another recording of the set follows.
    fn next_recording(&mut self, _out: &mut dyn Write) -> anyhow::Result<()> {
        Ok(())
    }

    /// A frame.  False when enough was seen.
    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> anyhow::Result<bool>;

    /// No frame follows.  Returns messages for stderr.
    fn end(&mut self, _out: &mut dyn Write) -> anyhow::Result<Vec<String>> {
        Ok(Vec::new())
    }
}

/// How a set of recordings is played.
pub(crate) struct PlayedSet<'a> {
    /// The metadata of the first recording.
    pub(crate) meta: &'a Meta,
    /// The sources, in the order of the samples.
    pub(crate) defs: &'a [Arc<SourceDef>],
    /// How to show them.
    pub(crate) options: &'a Options,
    /// The zone of the recordings' times.
    pub(crate) zone: &'a TimeZone,
    /// The recordings.
    pub(crate) recordings: &'a [&'a RecordedFile],
}

/// Puts recordings into sets, and finds what each shows: the union of what `-s` makes of each
/// recording's own letters.
pub(crate) fn sets<'a>(
    recordings: &'a [RecordedFile],
    arguments: &PlayArguments,
) -> anyhow::Result<Vec<RecordingSet<'a>>> {
    let of_digests = digest_letters(&arguments.digests());
    let mut left_out = Selection::default();
    let sets = feed::sets(recordings, |recording, recorded| {
        if !of_digests.is_empty() {
            return anyhow::Ok(of_digests.clone());
        }
        let mut letters = arguments.display.selection(recorded)?;
        if arguments.display.is_everything() && recording.origin == Origin::Collectl {
            // "All" means what its recorder knows: letters, and none of whit's other sources.
            let known = |letter: &char| feed::COLLECTL_LETTERS.contains(*letter);
            letters = letters.letters().chars().filter(known).collect::<String>().as_str().into();
        }
        if arguments.stats {
            left_out.add(&display::take_off_the_line(&mut letters));
        }
        Ok(letters)
    })?;
    if !left_out.is_empty() {
        let is_rest = sets.iter().any(|set| !set.selection.is_empty());
        ensure!(is_rest, "--stats sums up the columns of brief mode, and -s {left_out} has none");
        stderr::message(format_args!(
            "--stats sums up the columns of brief mode: -s {left_out} is left out"
        ));
    }
    Ok(sets)
}

/// The letters of the sources that have these digests.
fn digest_letters(names: &[&str]) -> Selection {
    let has = |layout: &&layout::Layout| layout.digest.is_some_and(|one| names.contains(&one.name));
    let letters = source::ALL.iter().flat_map(|entry| {
        let layouts = entry.layouts.iter().filter(has);
        layouts.filter_map(|layout| entry.letter(layout.level))
    });
    let mut letters: Vec<char> = letters.collect();
    letters.dedup();
    let letters: String = letters.into_iter().collect();
    letters.as_str().into()
}

/// Plays all sets to a consumer.
pub(crate) fn play(
    sets: &[RecordingSet<'_>],
    period: &TimeSelection,
    arguments: &PlayArguments,
    consumer: &mut dyn FrameConsumer,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let (playback, presence, ends_lost) = Default::default();
    let shown = ShownSources::new(arguments.display.shows_values());
    let outcome = Outcome::default();
    let sources = sources_played(sets, arguments)?;
    let mut player =
        Player { arguments, period, sources, playback, presence, shown, ends_lost, outcome };
    let mut is_whole = true;
    for set in sets.iter().filter(|set| !set.selection.is_empty()) {
        is_whole = player.play(set, consumer, out)?;
        if !is_whole {
            break;
        }
    }
    let Player { playback, presence, shown, ends_lost, mut outcome, .. } = player;
    for complaint in playback.complaints() {
        outcome.failed |= complaint.is_error;
        outcome.notes.push(complaint.text.clone());
    }
    outcome.notes.extend(ends_lost.sentence());
    if !arguments.display.shows_states() {
        let (sentence, nothing) = presence.sentence();
        outcome.notes.extend(sentence);
        outcome.failed |= nothing;
    }
    outcome.too_early = shown.too_early().filter(|_| is_whole);
    outcome.notes.extend(consumer.end(out)?);
    Ok(outcome)
}

/// The sources of all recordings, to which `--fields` is compared; none if it is not given.
fn sources_played(
    sets: &[RecordingSet<'_>],
    arguments: &PlayArguments,
) -> anyhow::Result<Vec<Arc<SourceDef>>> {
    let mut sources = Vec::new();
    if arguments.display.formats.fields.is_empty() {
        return Ok(sources);
    }
    for set in sets.iter().filter(|set| !set.selection.is_empty()) {
        let settings = arguments.settings(&arguments.options_for(set)?)?;
        for recording in &set.recordings {
            // One that cannot be read says so when it is played.
            let defs = recording.sources(&settings.entries).unwrap_or_default();
            let new = defs.into_iter().filter(|def| !sources.contains(def)).collect::<Vec<_>>();
            sources.extend(new);
        }
    }
    Ok(sources)
}

/// State that is kept from one set to the next.
struct Player<'a> {
    arguments: &'a PlayArguments,
    period: &'a TimeSelection,
    sources: Vec<Arc<SourceDef>>,
    playback: Playback<'a>,
    presence: Presence,
    shown: ShownSources,
    ends_lost: EndsLost,
    outcome: Outcome,
}

impl<'a> Player<'a> {
    /// Plays a set.  False when the consumer has seen enough.
    fn play(
        &mut self,
        set: &'a RecordingSet<'_>,
        consumer: &mut dyn FrameConsumer,
        out: &mut dyn Write,
    ) -> anyhow::Result<bool> {
        let mut options = self.arguments.options_for(set)?;
        let (zone, shift_ns) = self.clock_of(set.recordings[0]);
        options.zone = calendar::CivilZone::new(zone.clone());
        options.sources_played.clone_from(&self.sources);
        let unique = self.arguments.makes_plot_files() && options.has('u');
        let settings = self.arguments.settings(&options)?;
        let settings = PlaySettings { selection: *self.period, shift_ns, ..settings };
        self.playback.begin(&set.recordings, settings);
        loop {
            let step = self.playback.step()?;
            if self.arguments.messages && matches!(step, Step::Recording { .. }) {
                let path = self.playback.recordings()[0].path.display();
                writeln!(out, "\nPlaying back {path}")?;
            }
            match step {
                Step::Recording { same_sources: true } if !unique => {
                    consumer.next_recording(out)?;
                }
                Step::Recording { .. } => {
                    let recordings = self.playback.recordings();
                    let (meta, defs) = (&recordings[0].meta, self.playback.defs());
                    let (options, zone) = (&options, &zone);
                    consumer.begin(&PlayedSet { meta, defs, options, zone, recordings }, out)?;
                }
                Step::Frame => {
                    let Some(frame) = self.playback.frame(&options) else { continue };
                    self.outcome.frames += 1;
                    self.presence.note(&frame);
                    self.shown.note(&frame);
                    self.ends_lost.note(&frame);
                    if !consumer.frame(&frame, out)? {
                        return Ok(false);
                    }
                    if self.arguments.follow {
                        out.flush()?;
                    }
                }
                Step::End => return Ok(true),
            }
        }
    }

    /// The zone in which times are shown, and an offset to add: collectl shifts the times when it
    /// plays a recording of another zone, and prints them as if they were true.
    fn clock_of(&self, recording: &RecordedFile) -> (TimeZone, i64) {
        let offset_ns = self.arguments.offset_ns;
        if !self.arguments.display.exact {
            return (recording.zone.clone(), offset_ns);
        }
        let local = crate::zone::local();
        let shift_ns = recording.zone_shift_ns(&local);
        (local, offset_ns + shift_ns)
    }
}

//! Sources, and the names of their instances: of the recordings that a line names, else of this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use feed::{Cursor, CursorSettings, Feed as _, LiveFeed, Motion};
use sample::{History, Snapshot, SourceDef};
use source::SourceContext;

use crate::NameSources;
use crate::argument::CompletedArgument;

/// Recordings that are looked into, the newest ones: other files of a folder have mostly the same names.
const RECORDINGS_MAX: usize = 4;

/// The sources of the recordings, or of this program.
pub(crate) fn defs(asked: &CompletedArgument<'_>, places: &NameSources<'_>) -> Vec<Arc<SourceDef>> {
    let mut defs: Vec<Arc<SourceDef>> = Vec::new();
    let cursors = recordings(asked, places).into_iter().filter_map(|path| open(&path));
    for def in cursors.flat_map(|cursor| cursor.defs().to_vec()) {
        if defs.iter().all(|known| known.name != def.name) {
            defs.push(def);
        }
    }
    if defs.is_empty() { source::definitions() } else { defs }
}

/// The names of the instances of a source, as `--fields` and filters take them.
pub(crate) fn of(
    source: &str,
    asked: &CompletedArgument<'_>,
    places: &NameSources<'_>,
) -> Vec<String> {
    let paths = recordings(asked, places);
    let mut names = Vec::new();
    for path in &paths {
        let Some(mut cursor) = open(path).filter(|_| !places.has_ended()) else { continue };
        let mut history = History::new(cursor.defs());
        if cursor.go(Motion::Forward, &mut history, &mut |_, _| {}).is_ok() {
            names.extend(names_of(&history, source));
        }
    }
    if paths.is_empty()
        && let Some(entry) = source::find(source)
    {
        let mut feed = LiveFeed::open(Path::new("/"), &[entry], SourceContext::default());
        let defs = feed.defs();
        let (mut snapshot, mut history) = (Snapshot::new(&defs), History::new(&defs));
        if feed.next(&mut snapshot).is_ok() {
            history.push(&mut snapshot);
            names.extend(names_of(&history, source));
        }
    }
    names
}

fn names_of(history: &History, source: &str) -> Vec<String> {
    let tracks = history.tracks().iter().filter(|track| track.def.name == source);
    let tables = tracks.map(|track| &track.current.table);
    tables
        .flat_map(|table| (0..table.rows()).map(|row| view::instance_text(table.name(row))))
        .collect()
}

/// The recordings that a command line is about: none for `record`.
fn recordings(asked: &CompletedArgument<'_>, places: &NameSources<'_>) -> Vec<PathBuf> {
    if asked.verb == "record" {
        return Vec::new();
    }
    let mut named: Vec<PathBuf> = asked.positionals.iter().map(PathBuf::from).collect();
    if named.is_empty() {
        named.extend(places.recordings.clone());
    }
    let mut paths = Vec::new();
    for path in named {
        match feed::recordings_in(&path) {
            Ok(inside) => paths.extend(inside),
            Err(_) => paths.push(path),
        }
    }
    let changed = |path: &PathBuf| std::fs::metadata(path).and_then(|file| file.modified()).ok();
    paths.sort_by_key(|path| std::cmp::Reverse(changed(path)));
    paths.truncate(RECORDINGS_MAX);
    paths
}

fn open(path: &Path) -> Option<Cursor> {
    let settings = CursorSettings {
        entries: source::ALL.to_vec(),
        slowest: "",
        local: jiff::tz::TimeZone::UTC,
        history_samples: 0,
    };
    Cursor::open(path, settings).ok().map(|(cursor, _)| cursor)
}

//! Which recordings to play, in which order, and which belong together.
//!
//! Recordings of one host are played in time order.  Those of one host and day (collectl's
//! "prefix") are one whole: they show the union of what each of them recorded.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use sample::Meta;

use super::feed::{Origin, meta_of, origin_of};
use super::{glob, period};

/// A recording to play.
pub(crate) struct Recording {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Who wrote it.
    pub(crate) origin: Origin,
    /// What it says of itself.
    pub(crate) meta: Meta,
    /// The zone its times are shown in.
    pub(crate) zone: TimeZone,
    /// The day it began, in that zone.
    pub(crate) day: Date,
    /// When it began, in nanoseconds since the epoch.
    pub(crate) started_ns: i64,
}

impl Recording {
    fn open(path: PathBuf) -> anyhow::Result<Self> {
        let origin = origin_of(&path)?;
        let mut meta = meta_of(&path, origin)?;
        let started_ns = meta.get("started_ns").and_then(|text| text.parse().ok()).unwrap_or(0);
        let named = meta.get("timezone_name").or(meta.timezone());
        let (zone, differs) = period::zone_of(named, started_ns);
        if !differs {
            // The viewer's own zone, which knows of summer time; an offset does not.
            meta.set("timezone", "");
        }
        let moment = Timestamp::from_nanosecond(i128::from(started_ns))?;
        let day = moment.to_zoned(zone.clone()).date();
        Ok(Recording { path, origin, meta, zone, day, started_ns })
    }

    /// Whether this is collectl's second file, with slabs and processes alone.
    pub(crate) fn is_rawp(&self) -> bool {
        let name = self.path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| name.ends_with(".rawp") || name.ends_with(".rawp.gz"))
    }

    /// When the file was written last.
    pub(crate) fn modified(&self) -> Option<std::time::SystemTime> {
        std::fs::metadata(&self.path).ok()?.modified().ok()
    }

    /// What recordings share that are one whole: folder, host and day.
    pub(crate) fn prefix(&self) -> (PathBuf, String, Date) {
        let folder = self.path.parent().unwrap_or(Path::new("")).to_owned();
        (folder, self.meta.host().to_owned(), self.day)
    }
}

/// The recordings that the command line names, in the order of play, and what is wrong with files
/// that only a folder or a pattern named: one damaged file there does not hide the others.
pub(crate) fn find(
    named: &[PathBuf],
    patterns: Option<&str>,
) -> anyhow::Result<(Vec<Recording>, Vec<String>)> {
    // Each with whether it was named itself.
    let mut paths: Vec<(PathBuf, bool)> = Vec::new();
    for path in named {
        if path.is_dir() {
            paths.extend(recordings_in(path)?.into_iter().map(|path| (path, false)));
        } else {
            paths.push((path.clone(), true));
        }
    }
    if let Some(patterns) = patterns {
        let found = glob::expand(patterns, &Zoned::now())?;
        ensure!(!found.is_empty(), "-p {patterns}: no such file");
        // A pattern may match plot files and logs beside the recordings; a name must not be wrong.
        let wildcard = patterns.contains(['*', '?', '[']);
        let found = found.into_iter().filter(|path| !wildcard || has_known_name(path));
        paths.extend(found.map(|path| (path, !wildcard)));
        ensure!(!paths.is_empty(), "-p {patterns}: no recordings among these files");
    }
    ensure!(!paths.is_empty(), "name recordings to play: files, folders, or -p PATTERN");
    let (mut opened, mut complaints) = (Vec::new(), Vec::new());
    for (path, is_named) in paths {
        match Recording::open(path) {
            Ok(recording) => opened.push(recording),
            Err(error) if is_named => return Err(error),
            Err(error) => complaints.push(format!("{error:#}; left out")),
        }
    }
    ensure!(!opened.is_empty(), "{}", complaints.join("; "));
    Ok((in_order(opened), complaints))
}

fn recordings_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder);
    let entries = entries.map_err(|error| anyhow::anyhow!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| has_known_name(path));
    paths.sort();
    ensure!(!paths.is_empty(), "{}: no recordings in this folder", folder.display());
    Ok(paths)
}

fn has_known_name(path: &Path) -> bool {
    recording::collectl::is_collectl_name(path)
        || path.extension().is_some_and(|extension| extension == "whit")
}

/// Hosts in the order they were named, each host's recordings by time.
fn in_order(recordings: Vec<Recording>) -> Vec<Recording> {
    let mut hosts: Vec<String> = Vec::new();
    for recording in &recordings {
        if !hosts.iter().any(|host| host == recording.meta.host()) {
            hosts.push(recording.meta.host().to_owned());
        }
    }
    let mut ordered = recordings;
    ordered.sort_by_key(|recording| {
        let host = hosts.iter().position(|host| host == recording.meta.host());
        (host, recording.started_ns, recording.is_rawp())
    });
    ordered
}

//! Finds the files to play, and sorts them: hosts in the order in which they were named, each
//! host's recordings by time.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use recording::Reader;
use recording::atop::is_atop_name;
use recording::sadc::{SadcComment, SadcReader, is_sadc_name};
use sample::{Meta, SourceDef};
use source::Entry;
use text::error_text::with_causes;

use crate::{
    FeedError, Origin, TimeError, TimeRange, TimeSelection, imported, meta_of, origin_of, pattern,
    period,
};

/// A recording to play.
pub struct RecordedFile {
    /// Where it is.
    pub path: PathBuf,
    /// The program that wrote it.
    pub origin: Origin,
    /// The facts of the recording.
    pub meta: Meta,
    /// The time zone in which its times are shown.
    pub zone: TimeZone,
    /// The day on which it begins, in that zone.
    pub day: Date,
    /// The start of the recording, in nanoseconds since the epoch.
    pub started_ns: i64,
}

impl RecordedFile {
    /// Reads the facts of a recording; `local` is the zone of this machine.
    ///
    /// # Errors
    /// The file cannot be read, or is no recording.
    pub fn open(path: PathBuf, local: &TimeZone) -> Result<Self, FeedError> {
        let origin = origin_of(&path)?;
        let mut meta = meta_of(&path, origin)?;
        let started_ns = meta.get("started_ns").and_then(|text| text.parse().ok()).unwrap_or(0);
        let named = meta.get("timezone_name").or(meta.timezone());
        let (zone, differs) = period::zone_of(named, started_ns, local);
        if !differs {
            // The viewer's own zone has rules for summer time; a fixed offset has none.
            meta.set("timezone", "");
        }
        let day = zoned(started_ns, &zone).date();
        Ok(RecordedFile { path, origin, meta, zone, day, started_ns })
    }

    /// The start of the recording, in the zone `zone`.
    #[must_use]
    pub fn started(&self, zone: &TimeZone) -> Zoned {
        zoned(self.started_ns, zone)
    }

    /// The nanoseconds to add to its times, so that they are shown in `local` as in its own zone.
    #[must_use]
    pub fn zone_shift_ns(&self, local: &TimeZone) -> i64 {
        let seconds =
            self.started(&self.zone).offset().seconds() - self.started(local).offset().seconds();
        i64::from(seconds) * 1_000_000_000
    }

    /// The comments that users put into a daily file of sysstat, those of the period, in its order; no
    /// other recording has any.  Reads the whole file.
    ///
    /// # Errors
    /// The end of the period is before its start, or the file cannot be read.
    pub fn comments(&self, selection: &TimeSelection) -> Result<Vec<SadcComment>, FeedError> {
        if self.origin != Origin::Sadc {
            return Ok(Vec::new());
        }
        let range = self.range(selection)?;
        let mut comments = SadcReader::comments(&self.path)?;
        comments.retain(|one| (range.from_ns..=range.thru_ns).contains(&one.realtime_ns));
        Ok(comments)
    }

    /// Checks that new samples can be read at once; collectl's compressed recordings grow in
    /// blocks of many samples.
    ///
    /// # Errors
    /// The file cannot be followed or read.
    pub fn check_follow(&self) -> Result<(), FeedError> {
        let failed = |source| FeedError::Io { path: self.path.clone(), what: None, source };
        let mut start = [0; 2];
        let mut file = File::open(&self.path).map_err(failed)?;
        let gzip = file.read(&mut start).map_err(failed)? == 2 && start == [0x1f, 0x8b];
        match self.origin {
            Origin::Atop | Origin::Sadc => Err(FeedError::ImportedFollow(self.path.clone())),
            Origin::Collectl if gzip => Err(FeedError::CompressedFollow(self.path.clone())),
            _ => Ok(()),
        }
    }

    /// Writes its header: collectl's lines unchanged, whit's facts in the same form.
    ///
    /// # Errors
    /// If writing to `out` fails.
    pub fn write_header(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", layout::text::escape(self.path.as_os_str().as_encoded_bytes()))?;
        match (self.origin, self.meta.header_text()) {
            (Origin::Collectl, Some(text)) => out.write_all(text.as_bytes())?,
            _ => write_facts(&self.meta, out)?,
        }
        writeln!(out)
    }

    /// Whether this is collectl's second file, which has only slabs and processes.
    pub fn is_rawp(&self) -> bool {
        let name = self.path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| name.ends_with(".rawp") || name.ends_with(".rawp.gz"))
    }

    /// The sources that it has when it is played; `entries` read collectl's text.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn sources(&self, entries: &[&'static Entry]) -> Result<Vec<Arc<SourceDef>>, FeedError> {
        Ok(match self.origin {
            Origin::Collectl => entries.iter().map(|entry| Arc::new(entry.def())).collect(),
            Origin::Atop | Origin::Sadc => imported::sources(&self.path, self.origin, entries)?,
            Origin::Whit => Reader::open(&self.path, &source::definitions())?.defs(),
        })
    }

    /// When the file was written last.
    pub fn modified(&self) -> Option<std::time::SystemTime> {
        std::fs::metadata(&self.path).ok()?.modified().ok()
    }

    /// The selected period of it.
    ///
    /// # Errors
    /// The end is before the start.
    pub fn range(&self, selection: &TimeSelection) -> Result<TimeRange, TimeError> {
        let interval_ns = i64::try_from(self.meta.interval_ns()).unwrap_or(i64::MAX);
        match selection.is_all() {
            true => Ok(TimeRange::ALL),
            false => {
                let shown_ns = self.started_ns.saturating_add(selection.offset_ns());
                let day = zoned(shown_ns, &self.zone).date();
                selection.of(day, &self.zone, interval_ns)
            }
        }
    }

    /// What the recordings of a set share: folder, what stands before the host in their names, host
    /// and day.
    pub fn prefix(&self) -> (PathBuf, Option<String>, String, Date) {
        let folder = self.path.parent().unwrap_or(Path::new("")).to_owned();
        (folder, self.name_prefix(), self.meta.host().to_owned(), self.day)
    }

    /// What stands before the host in the file's name: `web` in `web-vm-20261121-093009.whit`.
    pub fn name_prefix(&self) -> Option<String> {
        name_prefix(self.path.file_name()?.to_str()?, self.meta.host())
    }
}

/// Writes the facts of whit's recordings as comment lines.
///
/// # Errors
/// If writing to `out` fails.
pub fn write_facts(meta: &Meta, out: &mut dyn Write) -> io::Result<()> {
    for (key, value) in meta.entries() {
        writeln!(out, "# {key}: {}", layout::text::escape(value.as_bytes()))?;
    }
    Ok(())
}

/// A time since the epoch in a zone.
fn zoned(realtime_ns: i64, zone: &TimeZone) -> Zoned {
    let moment = Timestamp::from_nanosecond(i128::from(realtime_ns));
    moment.unwrap_or_default().to_zoned(zone.clone())
}

/// What stands before the host in the name of a recording.
fn name_prefix(name: &str, host: &str) -> Option<String> {
    let mut parts = name.rsplitn(3, '-');
    let (time, day) = (parts.next()?, parts.next()?);
    let digits = |text: &str, count: usize| {
        text.get(..count).is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if !digits(time, 6) || !digits(day, 8) || day.len() != 8 {
        return None;
    }
    let host = host.split('.').next()?;
    let prefix = parts.next()?.strip_suffix(host)?.strip_suffix('-')?;
    (!prefix.is_empty()).then(|| prefix.to_owned())
}

/// The recordings among files, folders and patterns, in the order of play, and the errors of files
/// found by a folder or a pattern: one damaged file there does not hide the others.  `now` is in
/// this machine's zone and defines TODAY.
///
/// # Errors
/// A file that was named is not a recording, or nothing was found.
pub fn find(
    named: &[PathBuf],
    patterns: Option<&str>,
    now: &Zoned,
) -> Result<(Vec<RecordedFile>, Vec<String>), FeedError> {
    // Each path, and whether it was named itself.
    let mut paths: Vec<(PathBuf, bool)> = Vec::new();
    for path in named {
        if path.is_dir() {
            let found = recordings_in(path)?;
            if found.is_empty() {
                return Err(FeedError::NoRecordings(path.clone()));
            }
            paths.extend(found.into_iter().map(|path| (path, false)));
        } else {
            paths.push((path.clone(), true));
        }
    }
    if let Some(patterns) = patterns {
        let found = pattern::expand(patterns, now);
        if found.is_empty() {
            return Err(FeedError::NoMatch(patterns.to_owned()));
        }
        // A pattern may also match plot files and logs; a name must be a recording.
        let wildcard = patterns.contains(['*', '?', '[']);
        let found = found.into_iter().filter(|path| !wildcard || has_known_name(path));
        paths.extend(found.map(|path| (path, !wildcard)));
        if paths.is_empty() {
            return Err(FeedError::NoRecordingMatches(patterns.to_owned()));
        }
    }
    if paths.is_empty() {
        return Err(FeedError::NothingNamed);
    }
    let (mut opened, mut complaints) = (Vec::new(), Vec::new());
    for (path, is_named) in paths {
        match RecordedFile::open(path, now.time_zone()) {
            Ok(recording) => opened.push(recording),
            Err(error) if is_named => return Err(error),
            Err(error) => complaints.push(left_out(&error)),
        }
    }
    if opened.is_empty() {
        return Err(FeedError::NoneUsable(complaints.join("; ")));
    }
    Ok((in_order(opened, |recording| recording), complaints))
}

/// Says that a file of a folder is left out, and why.
#[must_use]
pub fn left_out(error: &FeedError) -> String {
    format!("{}; left out", with_causes(error))
}

/// The files of a folder that have names of recordings, by name.
///
/// # Errors
/// The folder cannot be read.
pub fn recordings_in(folder: &Path) -> Result<Vec<PathBuf>, FeedError> {
    let failed = |source| FeedError::Io { path: folder.to_owned(), what: None, source };
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| has_known_name(path));
    paths.sort();
    Ok(paths)
}

fn has_known_name(path: &Path) -> bool {
    recording::collectl::is_collectl_name(path)
        || is_sadc_name(path)
        || is_atop_name(path)
        || path.extension().is_some_and(|extension| extension == "whit")
}

/// Sorts what has recordings: hosts in the order they were named, each host's recordings by time.
pub fn in_order<T>(recordings: Vec<T>, file: impl Fn(&T) -> &RecordedFile) -> Vec<T> {
    let mut hosts: HashMap<String, usize> = HashMap::new();
    for recording in &recordings {
        let (host, next) = (file(recording).meta.host(), hosts.len());
        if !hosts.contains_key(host) {
            hosts.insert(host.to_owned(), next);
        }
    }
    let mut ordered = recordings;
    ordered.sort_by_key(|recording| {
        let recording = file(recording);
        let host = hosts.get(recording.meta.host()).copied();
        (host, recording.started_ns, recording.is_rawp())
    });
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_stands_before_the_host() {
        let prefix = |name| name_prefix(name, "vm.example.org");
        assert_eq!(prefix("web-vm-20261121-093009.raw.gz").as_deref(), Some("web"));
        assert_eq!(prefix("a-b-vm-20261121-093009.whit").as_deref(), Some("a-b"));
        for name in ["vm-20261121-093009.raw.gz", "web-vm.whit", "copy.whit", "-vm-2026112-093009"]
        {
            assert_eq!(prefix(name), None, "{name}");
        }
    }
}

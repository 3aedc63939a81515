//! One moment of a machine: what every source said then, and the reading before it for rates.

use std::path::PathBuf;

use feed::{Cursor, CursorSettings, FeedError, Motion, Origin};
use sample::{History, Meta};

use crate::Error;
use crate::archive::Recordings;
use crate::archived_file::ArchivedFile;

/// The source that is read least often of those that people look for.
const SLOWEST: &str = "process";

/// A recording at a moment.
pub struct RecordedMoment {
    /// The recording.
    pub path: PathBuf,
    /// What the head of the recording says.
    pub meta: Meta,
    /// The latest two readings of each source at that time, or before: `layout::Frame` gives levels
    /// and rates.
    pub history: History,
}

impl Recordings {
    /// The last sample of a machine at or before a time, with all its processes and those that ended.
    /// One for each recording that has that time: two recorders may have run with different sources.
    ///
    /// # Errors
    /// There is no such machine, or a recording cannot be read.
    pub fn moment(&self, host: &str, realtime_ns: i64) -> Result<Vec<RecordedMoment>, Error> {
        self.check_host(host)?;
        let files = self
            .of_host(host)
            .map(|(_, file)| file)
            .filter(|file| file.file.meta.host() == host)
            .filter(|file| file.file.started_ns <= realtime_ns && realtime_ns <= file.ended_ns);
        let mut moments = Vec::new();
        for file in files {
            let mut moment = OpenMoment::of(file)?;
            moment.go(Motion::At(realtime_ns))?;
            if moment.history.realtime_ns() <= realtime_ns && moment.history.ticks() > 0 {
                moments.push(moment.close());
            }
        }
        Ok(moments)
    }

    /// The first sample of a machine at or after a time; if a source is named, the first one with a
    /// reading of it, unless that takes longer than three of the intervals.  One for each recording
    /// that had begun by then, or else of the next one that has such a sample.
    ///
    /// # Errors
    /// There is no such machine, or a recording cannot be read.
    pub fn moment_after(
        &self,
        host: &str,
        realtime_ns: i64,
        source: Option<&str>,
    ) -> Result<Vec<RecordedMoment>, Error> {
        self.check_host(host)?;
        let files = self.of_host(host).map(|(_, file)| file);
        let mut files: Vec<_> = files.filter(|file| file.ended_ns >= realtime_ns).collect();
        files.sort_by_key(|file| file.file.started_ns);
        let mut moments = Vec::new();
        for file in files {
            if file.file.started_ns > realtime_ns && !moments.is_empty() {
                break;
            }
            let mut moment = match OpenMoment::of(file) {
                // A recorder has just begun.
                Err(Error::Feed(FeedError::NoSamples(_))) => continue,
                opened => opened?,
            };
            moment.go(Motion::At(realtime_ns))?;
            if moment.go_after(realtime_ns, source)? {
                moments.push(moment.close());
            }
        }
        Ok(moments)
    }
}

/// A recording in which a moment is looked for.
struct OpenMoment {
    cursor: Cursor,
    moment: RecordedMoment,
}

impl std::ops::Deref for OpenMoment {
    type Target = RecordedMoment;

    fn deref(&self) -> &RecordedMoment {
        &self.moment
    }
}

impl OpenMoment {
    fn of(file: &ArchivedFile) -> Result<Self, Error> {
        let settings = CursorSettings {
            entries: match file.file.origin {
                Origin::Atop | Origin::Collectl | Origin::Sadc => source::ALL.to_vec(),
                Origin::Whit => Vec::new(),
            },
            slowest: SLOWEST,
            local: file.file.zone.clone(),
            history_samples: 0,
        };
        let (cursor, meta) = Cursor::open(&file.file.path, settings)?;
        let history = History::new(cursor.defs());
        let path = file.file.path.clone();
        Ok(OpenMoment { cursor, moment: RecordedMoment { path, meta, history } })
    }

    fn go(&mut self, motion: Motion) -> Result<bool, Error> {
        Ok(self.cursor.go(motion, &mut self.moment.history, &mut |_, _| {})?)
    }

    /// Goes on to the first sample at or after a time that has a source.
    fn go_after(&mut self, realtime_ns: i64, source: Option<&str>) -> Result<bool, Error> {
        let longest_ns = self.meta.interval_ns().max(self.meta.interval2_ns()).saturating_mul(3);
        let mut until_ns = None;
        loop {
            let now_ns = self.history.realtime_ns();
            if self.history.ticks() > 0 && now_ns >= realtime_ns {
                let mut tracks = self.history.tracks().iter();
                let is_read = |source| tracks.any(|track| track.fresh && track.def.name == source);
                if source.is_none_or(is_read) {
                    return Ok(true);
                }
                let longest_ns = i64::try_from(longest_ns).unwrap_or(i64::MAX);
                if now_ns > *until_ns.get_or_insert(now_ns.saturating_add(longest_ns)) {
                    return Ok(false);
                }
            }
            if !self.go(Motion::Forward)? {
                return Ok(false);
            }
        }
    }

    fn close(self) -> RecordedMoment {
        self.moment
    }
}

//! One moment of a machine: what every source said then, and the reading before it for rates.

use std::path::PathBuf;

use feed::{Cursor, CursorSettings, Motion, Origin};
use sample::{History, Meta};

use crate::Error;
use crate::archive::Recordings;

/// The source that is read least often of those that people look for.
const SLOWEST: &str = "process";

/// A recording at a moment.
pub struct RecordedMoment {
    /// The recording.
    pub path: PathBuf,
    /// Its facts.
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
            let settings = CursorSettings {
                entries: match file.file.origin {
                    Origin::Collectl => source::ALL.to_vec(),
                    Origin::Whit => Vec::new(),
                },
                slowest: SLOWEST,
                local: file.file.zone.clone(),
            };
            let (mut cursor, meta) = Cursor::open(&file.file.path, settings)?;
            let mut history = History::new(cursor.defs());
            cursor.go(Motion::At(realtime_ns), &mut history, &mut |_, _| {})?;
            let path = file.file.path.clone();
            if history.realtime_ns() <= realtime_ns && history.ticks() > 0 {
                moments.push(RecordedMoment { path, meta, history });
            }
        }
        Ok(moments)
    }
}

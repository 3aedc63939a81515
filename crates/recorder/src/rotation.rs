//! When new files are begun, and which old ones are deleted: by a clock that a step ahead does not fool
//! ([`AgeClock`]).

use std::path::PathBuf;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use sample::{AgeClock, Moment};

use crate::messages::{MessageLog, Severity, local};
use crate::names::FileNames;
use crate::recording_file::RecordingFile;
use crate::roll::{Keep, Roll, purge};

/// A recording rolls when it reaches this fraction of the size limit, so that there are old files
/// to delete.
const KEEP_PARTS: u64 = 8;

/// Begins new files of a recorder, and deletes old ones.
pub struct Rotation {
    names: FileNames,
    zone: TimeZone,
    roll: Option<Roll>,
    keep: Option<Keep>,
    /// The extensions of our plot files.
    plots: Vec<String>,
    /// Since the epoch; `i64::MAX` for never.
    next_roll_ns: i64,
    /// By which files are old.  A recorder believes the clock that it starts with: one that only ever
    /// runs for minutes deletes, too.
    ages: AgeClock,
}

impl Rotation {
    /// The rotation of the files named by `names`, from `now` on.  `plots` are the extensions of
    /// the plot files among them.
    #[must_use]
    pub fn new(
        (names, zone): (FileNames, TimeZone),
        roll: Option<Roll>,
        keep: Option<Keep>,
        plots: Vec<String>,
        now: Moment,
    ) -> Self {
        // Only whole files can be deleted.
        let roll = roll.or_else(|| keep.map(|_| Roll::daily()));
        let next_roll_ns = i64::MAX;
        let mut ages = AgeClock::default();
        ages.look(now);
        let mut rotation = Rotation { names, zone, roll, keep, plots, next_roll_ns, ages };
        rotation.plan(now);
        rotation
    }

    /// Takes another time of the wall clock over.
    pub(crate) fn stepped(&mut self, now: Moment) {
        self.ages.look(now);
        self.plan(now);
    }

    /// Computes the time of the next roll.
    pub(crate) fn plan(&mut self, now: Moment) {
        let Some(roll) = &self.roll else { return };
        let at = Timestamp::from_nanosecond(now.realtime_ns.into()).unwrap_or_default();
        let next = roll.next(at, &self.zone).as_nanosecond();
        self.next_roll_ns = i64::try_from(next).unwrap_or(i64::MAX);
    }

    /// Whether new files are due.
    pub(crate) fn is_due(&self, now: Moment, recording: Option<&RecordingFile>) -> bool {
        let size_bytes = self.keep.and_then(|keep| keep.size_bytes);
        let is_full = match (size_bytes, recording) {
            (Some(bytes), Some(recording)) => recording.bytes() >= bytes / KEEP_PARTS,
            _ => false,
        };
        is_full || now.realtime_ns >= self.next_roll_ns
    }

    /// Deletes old files, and reports it.
    pub(crate) fn purge(&mut self, now: Moment, current: &[PathBuf], messages: &dyn MessageLog) {
        let realtime_ns = self.ages.look(now);
        let at = local(Moment { realtime_ns, ..now }, &self.zone);
        let deleted = purge(&self.names, self.roll.as_ref(), self.keep, &self.plots, &at, current);
        for (path, done) in deleted {
            match done {
                Ok(()) => {
                    let text = format!("{} is old and was deleted", path.display());
                    messages.log(now, Severity::Information, &text);
                }
                Err(error) => {
                    let text = format!("cannot delete {}: {error}", path.display());
                    messages.log(now, Severity::Warning, &text);
                }
            }
        }
    }
}

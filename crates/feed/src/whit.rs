//! Recordings of whit, finished or still growing.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use recording::{ReadOutcome, Reader};
use sample::{Snapshot, SourceDef};

use crate::{Complaint, Feed, FeedError, Position};

/// A recording of whit.
pub struct WhitFeed {
    reader: Reader,
    /// The first sample, read ahead to see whether the recording goes on where another stopped.
    ahead: Option<Snapshot>,
    latest: (i64, u64),
    follow: bool,
}

/// How long `--follow` waits before it looks again.
pub(crate) const FOLLOW_PAUSE: Duration = Duration::from_millis(100);

impl WhitFeed {
    /// Opens a recording at the first sample not before `base_ns`.  With `follow`, more is waited
    /// for at its end as long as its recorder runs.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn open(path: &Path, base_ns: i64, follow: bool) -> Result<Self, FeedError> {
        let known = source::definitions();
        let mut reader = Reader::open(path, &known)?;
        if base_ns != i64::MIN {
            reader.seek(base_ns);
        }
        Ok(WhitFeed { reader, ahead: None, latest: (0, 0), follow })
    }

    fn read(&mut self, snapshot: &mut Snapshot) -> Result<bool, FeedError> {
        loop {
            match self.reader.next(snapshot)? {
                ReadOutcome::Sample => return Ok(true),
                ReadOutcome::End => return Ok(false),
                ReadOutcome::NoMoreYet if self.follow && self.reader.is_being_written() => {
                    std::thread::sleep(FOLLOW_PAUSE);
                }
                ReadOutcome::NoMoreYet => return Ok(false),
            }
        }
    }
}

impl Feed for WhitFeed {
    fn defs(&self) -> Vec<Arc<SourceDef>> {
        self.reader.defs()
    }

    fn next(&mut self, snapshot: &mut Snapshot) -> Result<bool, FeedError> {
        if let Some(ahead) = self.ahead.take() {
            *snapshot = ahead;
        } else if !self.read(snapshot)? {
            return Ok(false);
        }
        self.latest = (snapshot.realtime_ns, snapshot.monotonic_ns);
        Ok(true)
    }

    fn continues(&mut self, end: &Position) -> Result<bool, FeedError> {
        let meta = self.reader.meta();
        let same = end.host == meta.host() && end.boot_id == meta.boot_id();
        // Half an interval more than one: the next tick after the last of the file before.
        let interval_ns = meta.interval_ns();
        if !same || end.boot_id.is_empty() {
            return Ok(false);
        }
        let mut first = Snapshot::new(&self.reader.defs());
        if !self.read(&mut first)? {
            // Two new files within one interval: the next one goes on where the one before stopped.
            self.latest = (end.realtime_ns, end.monotonic_ns);
            return Ok(true);
        }
        // What the recorder missed in between it would have missed within a file, too.
        let missed = first.gap.ticks_missed.saturating_add(first.gap.samples_unwritten);
        let reach_ns =
            (interval_ns.saturating_mul(3) / 2).saturating_add(interval_ns.saturating_mul(missed));
        let begins_ns = first.monotonic_ns;
        self.ahead = Some(first);
        Ok(begins_ns > end.monotonic_ns && begins_ns - end.monotonic_ns <= reach_ns)
    }

    fn position(&self) -> Position {
        let meta = self.reader.meta();
        Position {
            host: meta.host().to_owned(),
            boot_id: meta.boot_id().to_owned(),
            realtime_ns: self.latest.0,
            monotonic_ns: self.latest.1,
        }
    }

    fn complaint(&self) -> Option<Complaint> {
        let damage = self.reader.damage();
        let name = self.reader.path().display();
        if damage.samples_unreadable > 0 || damage.bytes_skipped > 0 {
            let text = format!(
                "{name}: {} samples and {} bytes could not be read; the rest was shown",
                damage.samples_unreadable, damage.bytes_skipped
            );
            return Some(Complaint { text, is_error: true });
        }
        if damage.samples_unwritten > 0 {
            let text =
                format!("{name}: {} samples at the end were not written", damage.samples_unwritten);
            return Some(Complaint { text, is_error: false });
        }
        None
    }
}

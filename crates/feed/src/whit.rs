//! Recordings of whit, finished or still growing.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use recording::{ReadOutcome, Reader, SideFile, SideSamples, SideSegment};
use sample::{Kind, Snapshot, SourceDef};

use crate::{Beginning, Complaint, Feed, FeedError, Origin, Position};

/// A recording of whit.
pub struct WhitFeed {
    reader: Reader,
    /// The first sample, read ahead to check whether the recording continues another.
    ahead: Option<Snapshot>,
    latest: (i64, u64),
    follow: bool,
    /// A time within a block at which reading begins: samples before it are only passed over.
    from_ns: Option<i64>,
    /// What the side file has from there on, which costs less than the block.
    side_samples: Option<SideSamples>,
}

/// Time between two checks of a growing file with `--follow`.
pub(crate) const FOLLOW_PAUSE: Duration = Duration::from_millis(100);

impl WhitFeed {
    /// Opens a recording at the first sample at or after `base_ns`.  With `follow`, waits at the
    /// end for more as long as the recorder runs.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn open(path: &Path, base_ns: i64, follow: bool) -> Result<Self, FeedError> {
        let known = source::definitions();
        let mut reader = Reader::open(path, &known)?;
        let from_ns = (base_ns != i64::MIN).then_some(base_ns);
        if from_ns.is_some() {
            reader.seek(base_ns);
        }
        let latest = (0, 0);
        Ok(WhitFeed { reader, ahead: None, latest, follow, from_ns, side_samples: None })
    }

    /// From now on gives of one source these fields, and of the others nothing; an unknown name is
    /// passed over.  Columns that are not wanted are not decoded.  Call it before the first sample
    /// is read.
    #[must_use]
    pub fn focused(mut self, source: &str, fields: &[&str]) -> Self {
        let defs = self.reader.defs();
        let wanted = defs.iter().position(|def| def.name == source).map(|index| {
            (index, fields.iter().filter_map(|field| defs[index].field(field)).collect())
        });
        self.reader.focus(wanted.as_slice());
        self.from_ns = None;
        self
    }

    /// From now on gives these sources, and of the others nothing; see [`focused`](Self::focused).
    #[must_use]
    pub fn focused_on(mut self, sources: &[&str]) -> Self {
        let defs = self.reader.defs();
        let wanted = defs.iter().enumerate().filter(|(_, def)| sources.contains(&&*def.name));
        let wanted: Vec<(usize, Vec<usize>)> =
            wanted.map(|(index, def)| (index, (0..def.fields.len()).collect())).collect();
        self.reader.focus(&wanted);
        self.from_ns = None;
        self
    }

    /// The side file of the recording, if it has one.
    #[must_use]
    pub fn side(&self) -> Option<SideFile> {
        SideFile::open(self.reader.path(), &self.reader)
    }

    /// The index of a field in the recording, for [`SideFile::columns`]; `None` if the recording
    /// does not have it.
    #[must_use]
    pub fn recorded_field(&self, source: usize, field: &str) -> Option<usize> {
        let (schema, def) = (self.reader.schemas().get(source)?, self.reader.defs());
        let place = schema.field(field)?;
        let kind = def[source].fields[def[source].field(field)?].kind;
        let same = (schema.fields[place].kind == Kind::Text) == (kind == Kind::Text);
        same.then_some(place)
    }

    /// Goes on after a segment of the side file, as if its samples had been read.
    pub fn pass_over(&mut self, segment: &SideSegment) {
        self.ahead = None;
        (self.from_ns, self.side_samples) = (None, None);
        self.latest = (segment.end_realtime_ns, segment.end_monotonic_ns);
        self.reader.seek_after_block(segment.last_block);
    }

    fn read(&mut self, snapshot: &mut Snapshot) -> Result<bool, FeedError> {
        if let Some(from_ns) = self.from_ns.take() {
            self.side_samples = self.side().and_then(|side| side.samples(&self.reader, from_ns));
        }
        if let Some(samples) = &mut self.side_samples {
            match samples.next(snapshot) {
                Ok(true) => return Ok(true),
                Ok(false) => self.reader.seek_after_block(samples.last_block),
                Err(_) => self.reader.seek_number(samples.next_number()),
            }
            self.side_samples = None;
        }
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

    /// What reads the recording: at the latest sample, unless reading began within a block.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Whether a recorder writes the recording.
    #[must_use]
    pub fn is_being_written(&self) -> bool {
        self.reader.is_being_written()
    }

    /// The first sample, which is read ahead.
    fn beginning(&mut self) -> Result<Option<Beginning>, FeedError> {
        if self.ahead.is_none() {
            let mut first = Snapshot::new(&self.reader.defs());
            self.ahead = self.read(&mut first)?.then_some(first);
        }
        Ok(self.ahead.as_ref().map(|first| Beginning::of(Origin::Whit, first)))
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

    fn first_realtime_ns(&self) -> Option<i64> {
        self.reader.first_realtime_ns()
    }

    fn continues(&mut self, end: &Position) -> Result<bool, FeedError> {
        if !end.is_of_boot(self.reader.meta()) {
            return Ok(false);
        }
        let Some(beginning) = self.beginning()? else {
            // Two new files within one interval: the next one continues the previous one.
            self.latest = (end.realtime_ns, end.monotonic_ns);
            return Ok(true);
        };
        Ok(beginning.continues(self.reader.meta(), end))
    }

    fn overlaps(&mut self, end: &Position) -> Result<bool, FeedError> {
        let beginning = self.beginning()?;
        Ok(beginning.is_some_and(|beginning| beginning.overlaps(self.reader.meta(), end)))
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

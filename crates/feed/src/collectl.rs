//! Plays recordings of collectl: their text is presented as kernel files in memory, which whit's own
//! sources read.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use procfs::Host;
use recording::collectl::{CollectlReader, Ending, Interval};
use sample::{Clock, Moment, Snapshot, SourceDef, State, Wake};
use source::{Entry, ProcessOptions, Sampler, SensorRules, SourceContext};

use crate::open_files::FileWriter;
use crate::recorded::has_text_for;
use crate::{Beginning, Complaint, Feed, FeedError, Position};

/// A collectl recording.
pub struct CollectlFeed {
    path: PathBuf,
    reader: CollectlReader,
    host: Host,
    sampler: Sampler,
    /// For each source, whether the recording has it.
    recorded: Vec<bool>,
    clock: MarkerClock,
    /// Whether an interval was already read.
    begun: bool,
    /// The process that writes the recording, if the feed follows it.
    writer: Option<FileWriter>,
}

/// A clock with the time of the latest marker: collectl gives all of an interval one time.
struct MarkerClock {
    now: Moment,
}

impl Clock for MarkerClock {
    fn now(&mut self) -> Moment {
        self.now
    }

    fn sleep_until(&mut self, _monotonic_ns: u64) -> Wake {
        Wake::Due
    }
}

/// How the text of a collectl recording is read.
#[derive(Clone, Debug, Default)]
pub struct CollectlSettings {
    /// Rules for the names of its sensors.
    pub sensors: Option<Arc<SensorRules>>,
    /// A file with users instead of `/etc/passwd`.
    pub passwd: Option<PathBuf>,
    /// Whether the context switches of the first thread count as those of the process, as in
    /// collectl.
    pub first_thread_switches: bool,
}

impl CollectlFeed {
    /// Opens a recording; `entries` are the sources that read its text.
    ///
    /// # Errors
    /// The file cannot be read, or collectl did not write it.
    pub fn open(
        path: &Path,
        entries: &[&'static Entry],
        settings: &CollectlSettings,
    ) -> Result<Self, FeedError> {
        let reader = CollectlReader::open(path)?;
        let process = ProcessOptions {
            // Show threads if they were recorded.
            threads: true,
            status: true,
            first_thread_switches: settings.first_thread_switches,
            // The recording has user ids; collectl takes the names from the playing machine.
            passwd: Some(settings.passwd.clone().unwrap_or_else(|| PathBuf::from("/etc/passwd"))),
            ..ProcessOptions::default()
        };
        let context = SourceContext {
            sensors: settings.sensors.clone(),
            ..SourceContext::with_process(process)
        };
        let subsystems = reader.meta().subsystems().to_owned();
        let recorded =
            entries.iter().map(|entry| has_text_for(&entry.def(), &subsystems)).collect();
        let mut host = Host::in_memory();
        let sampler = Sampler::open(&mut host, entries, &Arc::new(context));
        let clock = MarkerClock { now: Moment::default() };
        Ok(CollectlFeed {
            path: path.to_owned(),
            reader,
            host,
            sampler,
            recorded,
            clock,
            begun: false,
            writer: None,
        })
    }

    /// From now on waits at the end of the file for more, as long as collectl writes it.
    ///
    /// # Errors
    /// The file cannot be examined.
    pub fn follow(&mut self) -> Result<(), FeedError> {
        let interval_ns = self.reader.meta().interval_ns();
        self.writer = Some(FileWriter::of(&self.path, Duration::from_nanos(interval_ns))?);
        self.reader.follow(true);
        Ok(())
    }

    /// The next interval; may wait for it.
    fn next_interval(&mut self) -> Result<Option<Interval>, FeedError> {
        loop {
            let interval = self.reader.next_interval(&mut self.host)?;
            let Some(writer) = self.writer.as_mut().filter(|_| interval.is_none()) else {
                return Ok(interval);
            };
            if !writer.may_write_more() {
                // Read what was written since the check above.
                self.writer = None;
                self.reader.follow(false);
            }
        }
    }

    /// The first marker.
    fn beginning(&mut self) -> Result<Option<Beginning>, FeedError> {
        let first = self.reader.first_marker_ns()?;
        Ok(first.map(|realtime_ns| Beginning { realtime_ns, ..Beginning::default() }))
    }

    fn end_ns(&self) -> i64 {
        self.reader.last_marker_ns().unwrap_or_default()
    }
}

impl Feed for CollectlFeed {
    fn defs(&self) -> Vec<Arc<SourceDef>> {
        self.sampler.defs()
    }

    fn next(&mut self, snapshot: &mut Snapshot) -> Result<bool, FeedError> {
        let Some(interval) = self.next_interval()? else { return Ok(false) };
        self.clock.now = Moment {
            monotonic_ns: interval.realtime_ns.unsigned_abs(),
            realtime_ns: interval.realtime_ns,
        };
        let recorded = &self.recorded;
        let due = |index: usize, def: &SourceDef| {
            let here = match &*def.name {
                "slab" => interval.has_slabs,
                "process" => interval.has_processes,
                // collectl records no exits.
                "exit" | "process_total" => false,
                "environment" => interval.has_sensors,
                _ => true,
            };
            // Other sources stay in the state "not recorded".
            if here && recorded[index] { State::Ok } else { State::NotRecorded }
        };
        self.sampler.sample(&mut self.host, &mut self.clock, due, snapshot);
        // For the first interval of a file collectl assumes the nominal length.
        snapshot.lasted_ns = match std::mem::replace(&mut self.begun, true) {
            true => interval.ended_ns.saturating_sub(interval.realtime_ns),
            false => i64::try_from(self.reader.meta().interval_ns()).unwrap_or(0),
        };
        Ok(true)
    }

    fn continues(&mut self, end: &Position) -> Result<bool, FeedError> {
        let beginning = self.beginning()?;
        Ok(beginning.is_some_and(|beginning| beginning.continues(self.reader.meta(), end)))
    }

    fn overlaps(&mut self, end: &Position) -> Result<bool, FeedError> {
        let beginning = self.beginning()?;
        Ok(beginning.is_some_and(|beginning| beginning.overlaps(self.reader.meta(), end)))
    }

    fn position(&self) -> Position {
        let host = self.reader.meta().host().to_owned();
        Position { host, realtime_ns: self.end_ns(), ..Position::default() }
    }

    fn complaint(&self) -> Option<Complaint> {
        let name = self.path.display();
        if self.reader.ending() == Ending::Corrupt {
            let text =
                format!("{name}: the compressed data is corrupt; what stands before it was shown");
            return Some(Complaint { text, is_error: true });
        }
        let broken = self.reader.markers_broken();
        if broken > 0 {
            let text = format!("{name}: {broken} broken interval markers were passed over");
            return Some(Complaint { text, is_error: true });
        }
        None
    }
}

//! The samples behind a cursor: recordings of a folder in the order of their times, also while they
//! grow.
//!
//! Memory: a batch, a block of the recording that is being read and its sample, and of each that is open what
//! its next sample is a difference from and the series that it has now, whatever is still to be read and however
//! many series came and went.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use recording::{ReadOutcome, Reader};
use sample::{Snapshot, SourceDef};

use crate::SendError;
use crate::batch::{Batch, BatchSeries, SampleEnd};
use crate::cursor::RecordingCursor;
use crate::cursor::SendCursor;
use crate::groups::GroupSeries;
use crate::recording_files::{FolderContents, RecordingFiles, age_of};
use crate::series::{NamedSources, RecordingSeries, SeriesNames, SourceChoice};
use crate::steps::StepSums;

/// Samples that are read for a batch: there may be some without points, of sources that have nothing to
/// say, and those of a step make one.
const BATCH_SAMPLES_MAX: usize = if cfg!(test) { 100 } else { 10_000 };

/// What is not yet sent.
pub(crate) struct Backlog {
    files: RecordingFiles,
    definitions: Vec<Arc<SourceDef>>,
    names: SeriesNames,
    snapshot: SharedSnapshot,
    open: Vec<OpenRecording>,
    /// Which of them is read next: no batch looks again at those before it, and none waits for ever.
    at: usize,
    pub(crate) series: BatchSeries,
}

/// The sample that is read: recordings of the same sources have the memory for it once.
#[derive(Default)]
pub(crate) struct SharedSnapshot {
    snapshot: Snapshot,
    /// The sources that it is made for.
    sources: Option<Arc<NamedSources>>,
}

impl SharedSnapshot {
    /// For these sources.  What it has of another recording is not fresh in the next sample.
    fn of(&mut self, sources: &Arc<NamedSources>) -> &mut Snapshot {
        if self.sources.as_ref().is_none_or(|known| !Arc::ptr_eq(known, sources)) {
            self.snapshot = Snapshot::new(&sources.defs);
            self.sources = Some(sources.clone());
        }
        &mut self.snapshot
    }
}

/// A recording that is being read.
pub(crate) struct OpenRecording {
    file_id: u64,
    pub(crate) reader: Reader,
    series: RecordingSeries,
    groups: Option<GroupSeries>,
    steps: Option<StepSums>,
    /// The next sample that is not yet handed over in full.
    next: u64,
    /// Samples that could not be read, as far as they were counted.
    unreadable: u64,
}

impl Backlog {
    pub(crate) fn new(folder: &Path, selection: SourceChoice) -> Self {
        Backlog {
            files: RecordingFiles::new(folder),
            definitions: source::definitions(),
            names: SeriesNames::new(selection),
            snapshot: SharedSnapshot::default(),
            open: Vec::new(),
            at: 0,
            series: BatchSeries::default(),
        }
    }

    /// Looks which recordings there are: new ones will be read, those that are gone are told.
    pub(crate) fn look(&mut self, cursor: &mut SendCursor) -> Result<FolderContents, SendError> {
        let is_open = |id: u64| self.open.iter().any(|open| open.file_id == id);
        self.files.look(cursor, &is_open)
    }

    /// How long ago a recording that is open was written last.
    pub(crate) fn age(&self) -> Option<Duration> {
        age_of(self.open.iter().map(|open| &open.reader))
    }

    /// Fills a batch with the next samples: until it has that many points, so many samples are read, or
    /// nothing more is there; the last is false.
    pub(crate) fn fill(&mut self, batch: &mut Batch, points_max: usize) -> Result<bool, SendError> {
        batch.clear();
        forget_ended(&mut self.series, &mut self.open);
        // Recordings that have nothing more yet, and samples.
        let (mut idle, mut samples) = (0, 0);
        while batch.points.len() < points_max && samples < BATCH_SAMPLES_MAX {
            if idle == self.open.len() {
                let Some((path, sent)) = self.files.waiting.pop_front() else { return Ok(false) };
                if let Some(reader) = self.files.open(&path, &self.definitions) {
                    self.at = self.open.len();
                    let (names, snapshot) = (&mut self.names, &mut self.snapshot);
                    self.open.push(OpenRecording::new(reader, &sent, names, snapshot)?);
                }
                continue;
            }
            if self.at >= self.open.len() {
                self.at = 0;
            }
            let open = &mut self.open[self.at];
            match open.read(&mut self.snapshot, &mut self.series, batch) {
                Ok(ReadOutcome::Sample) => {
                    samples += 1;
                    self.files.count_damage(&open.reader, &mut open.unreadable);
                }
                Ok(ReadOutcome::NoMoreYet) if open.reader.is_being_written() => {
                    self.files.wait(&mut open.reader, self.at);
                    self.at += 1;
                    idle += 1;
                }
                // Nobody writes the rest of a recording whose recorder was killed.
                Ok(ReadOutcome::NoMoreYet | ReadOutcome::End) => {
                    if self.files.is_at_end(&open.reader) {
                        let mut open = self.open.remove(self.at);
                        open.flush(&mut self.series, batch);
                        self.files.count_damage(&open.reader, &mut open.unreadable);
                    }
                }
                Err(error) if self.files.has_lost(&open.reader, &error) => {
                    self.open.remove(self.at).flush(&mut self.series, batch);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Notes what was acknowledged: recordings that are read to their end are done.  Gives what is to be told.
    pub(crate) fn settle(&mut self, cursor: &mut SendCursor) -> Vec<String> {
        for open in &self.open {
            let groups = open.groups.as_ref().map_or(&[][..], |groups| groups.kept());
            let known = cursor.recordings.get_mut(&open.file_id);
            if let Some(one) = known.filter(|one| one.groups != groups) {
                one.groups = groups.to_vec();
            }
        }
        self.files.settle(cursor)
    }

    /// Goes back to the cursor: what was read since is read again.
    pub(crate) fn rewind(&mut self) {
        self.files.rewind();
        self.open.clear();
        self.at = 0;
    }
}

impl OpenRecording {
    /// A recording from the first sample on that was not sent.
    pub(crate) fn new(
        mut reader: Reader,
        sent: &RecordingCursor,
        names: &mut SeriesNames,
        snapshot: &mut SharedSnapshot,
    ) -> Result<Self, SendError> {
        let meta = reader.shared_meta();
        let series = RecordingSeries::new(meta.clone(), reader.defs(), names);
        let defs = &series.named().defs;
        let selection = names.selection();
        let processes = selection.processes.as_ref();
        let mut groups = processes.and_then(|choice| GroupSeries::new(choice, meta, defs, sent));
        let mut wanted = series.wanted();
        for &index in groups.iter().flat_map(GroupSeries::sources) {
            wanted.retain(|(other, _)| *other != index);
            wanted.push((index, (0..defs[index].fields.len()).collect()));
        }
        reader.focus(&wanted);
        match &mut groups {
            Some(groups) if sent.next > 0 => {
                groups.prime(&mut reader, snapshot.of(series.named()), sent.next)?;
            }
            _ => reader.seek_number(sent.next),
        }
        let (file_id, next) = (reader.file_id(), sent.next);
        let unreadable = reader.damage().samples_unreadable;
        let steps = selection.step.map(StepSums::new);
        Ok(OpenRecording { file_id, reader, series, groups, steps, next, unreadable })
    }

    /// Visits the number of each series that it goes on with.
    fn visit_numbers(&mut self, visit: &mut dyn FnMut(&mut u32)) {
        self.series.visit_numbers(visit);
        self.groups.iter_mut().for_each(|groups| groups.visit_numbers(visit));
        self.steps.iter_mut().for_each(|steps| steps.visit_numbers(visit));
    }

    /// Adds the next sample to a batch, if there is one; of a step, when the first of the next is read.
    pub(crate) fn read(
        &mut self,
        snapshot: &mut SharedSnapshot,
        series: &mut BatchSeries,
        batch: &mut Batch,
    ) -> Result<ReadOutcome, SendError> {
        let snapshot = snapshot.of(self.series.named());
        let outcome = self.reader.next(snapshot)?;
        if outcome != ReadOutcome::Sample {
            return Ok(outcome);
        }
        let (next, realtime_ns) = (self.reader.next_number(), snapshot.realtime_ns);
        match &mut self.steps {
            Some(steps) => {
                if steps.is_over(realtime_ns) {
                    self.next = next.saturating_sub(1);
                    steps.flush((self.file_id, self.next), series, batch);
                }
                let points = steps.begin(realtime_ns);
                add(next, &mut self.series, &mut self.groups, snapshot, (series, points));
                steps.absorb();
            }
            None => {
                add(next, &mut self.series, &mut self.groups, snapshot, (series, batch));
                let (file_id, points) = (self.file_id, batch.points.len());
                batch.ends.push(SampleEnd { file_id, next, samples: 1, points, realtime_ns });
            }
        }
        Ok(outcome)
    }

    /// Adds the step that is not yet over: nothing more comes.
    pub(crate) fn flush(&mut self, series: &mut BatchSeries, batch: &mut Batch) {
        if let Some(steps) = &mut self.steps {
            self.next = self.reader.next_number();
            steps.flush((self.file_id, self.next), series, batch);
        }
    }
}

/// Forgets the series that no open recording goes on with, once they are many.  No batch may have points of
/// them.
pub(crate) fn forget_ended(series: &mut BatchSeries, open: &mut [OpenRecording]) {
    if series.are_many() {
        series.renumber(|visit| open.iter_mut().for_each(|one| one.visit_numbers(visit)));
    }
}

/// Adds the points of a sample: of its rows, and of its groups of processes.
fn add(
    number: u64,
    rows: &mut RecordingSeries,
    groups: &mut Option<GroupSeries>,
    snapshot: &mut Snapshot,
    (series, batch): (&mut BatchSeries, &mut Batch),
) {
    rows.add(snapshot, series, batch);
    if let Some(groups) = groups {
        groups.add(number, snapshot, series, batch);
    }
}

#[cfg(test)]
mod tests {
    use recording::{Writer, WriterOptions};
    use sample::{Meta, State};

    use super::*;
    use crate::batch::BatchPoint;
    use crate::steps::StepChoice;
    use crate::{EngineAddress, SendSettings, Sender};

    const SECOND_NS: i64 = 1_000_000_000;
    const BOOTED_S: i64 = 1_790_000_000;
    /// Samples of the recording, and the one at which the counters of `eth0` begin anew.
    const SAMPLES: i64 = 1500;
    const RESET: i64 = 10;

    /// A recording in which `eth0` stays and each sample has an interface that the others have not; none of
    /// them has anything without `has_rows`.
    fn record(folder: &Path, has_rows: bool) {
        let def = source::find("network").unwrap().def().shared();
        let mut meta = Meta::new();
        meta.set("host", "vm");
        meta.set("boot_ns", (BOOTED_S * SECOND_NS).to_string());
        let defs = std::slice::from_ref(&def);
        let options = WriterOptions::default();
        let mut writer = Writer::create(&folder.join("a.whit"), &meta, defs, options).unwrap();
        let mut snapshot = Snapshot::new(defs);
        for number in 1..=SAMPLES {
            snapshot.realtime_ns = (BOOTED_S + number) * SECOND_NS;
            snapshot.monotonic_ns = (number * SECOND_NS).cast_unsigned();
            snapshot.fresh.fill(true);
            let sample = &mut snapshot.samples[0];
            (sample.realtime_ns, sample.monotonic_ns) =
                (snapshot.realtime_ns, snapshot.monotonic_ns);
            sample.state = State::Ok;
            sample.table.begin();
            for name in ["eth0".to_owned(), format!("veth{number}")].iter().filter(|_| has_rows) {
                let mut row = sample.table.row(name.as_bytes());
                let value = if number < RESET { 1_000_000 + number } else { number };
                (0..def.fields.len()).for_each(|field| row.set(field, value.cast_unsigned()));
            }
            writer.append(&snapshot).unwrap();
        }
        writer.close().unwrap();
    }

    /// Reads everything in batches of so many points, and shows each batch with its series.
    fn read(folder: &Path, selection: SourceChoice, mut show: impl FnMut(&BatchSeries, &Batch)) {
        let (mut backlog, mut batch) = (Backlog::new(folder, selection), Batch::default());
        backlog.look(&mut SendCursor::default()).unwrap();
        loop {
            let has_more = backlog.fill(&mut batch, 500).unwrap();
            if batch.ends.is_empty() && !has_more {
                return;
            }
            show(&backlog.series, &batch);
        }
    }

    #[test]
    fn series_that_came_and_went_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        record(folder.path(), true);
        let (mut most, mut names, mut of_eth0) = (0, std::collections::BTreeSet::new(), 0);
        let (mut steps_of_eth0, mut ends) = (0, 0);
        let start_ms = (BOOTED_S + RESET - 1) * 1000;
        read(folder.path(), SourceChoice::default(), |series, batch| {
            most = most.max(series.len());
            for point in &batch.points {
                let labels = series.labels(point.series).to_labels();
                if promql::is_stale(point.value) {
                    ends += 1;
                    assert_ne!(labels.get("device"), "eth0");
                } else if labels.get("device") == "eth0" && series.is_counter(point.series) {
                    of_eth0 += 1;
                    let is_later = point.time_ms > start_ms;
                    // Whoever forgets the reset has another beginning of the count.
                    assert_eq!(point.start_ms == start_ms, is_later, "{labels} {point:?}");
                }
                names.insert(labels);
            }
        });
        assert!(names.len() > 20_000 && most < 6000, "{most} of {} series", names.len());
        assert!(of_eth0 > SAMPLES && ends > 20_000, "{of_eth0} points, {ends} ends");
        // A step that is not over goes on with its new numbers.
        let step = StepChoice::new(Some(3600 * SECOND_NS.cast_unsigned()), false).unwrap();
        let selection = SourceChoice { step, ..SourceChoice::default() };
        read(folder.path(), selection, |series, batch| {
            let is_eth0 = |point: &&BatchPoint| series.labels(point.series).get("device") == "eth0";
            steps_of_eth0 += batch.points.iter().filter(is_eth0).count();
        });
        assert!(steps_of_eth0 > 0);
    }

    #[test]
    fn samples_without_points_fill_a_batch_too() {
        let folder = tempfile::tempdir().unwrap();
        record(folder.path(), false);
        let mut samples = 0;
        read(folder.path(), SourceChoice::default(), |_, batch| {
            assert!(batch.ends.len() <= BATCH_SAMPLES_MAX);
            samples += batch.ends.len();
        });
        assert_eq!(samples, SAMPLES as usize);
    }

    #[test]
    fn a_sender_may_be_ended_within_a_long_step() {
        let folder = tempfile::tempdir().unwrap();
        record(folder.path(), true);
        let step = StepChoice::new(Some(24 * 3600 * SECOND_NS.cast_unsigned()), false).unwrap();
        let selection = SourceChoice { step, ..SourceChoice::default() };
        let settings = SendSettings { selection, ..SendSettings::default() };
        // Nobody is asked before the step is over.
        let address = EngineAddress::parse("remote-write=http://127.0.0.1:1").unwrap();
        let mut sender = Sender::new(folder.path(), "a", &address, settings).unwrap();
        let (mut pauses, mut told) = (0, Vec::new());
        let mut pause = |_| {
            pauses += 1;
            pauses < 5
        };
        assert!(!sender.run(&mut pause, &mut |event| told.push(event)).unwrap());
        assert_eq!(pauses, 5);
        assert_eq!(told, []);
        assert!(sender.cursor().recordings.values().all(|one| one.next == 0 && !one.is_done));
    }
}

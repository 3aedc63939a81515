//! The samples behind a cursor: recordings of a folder in the order of their times, also while they
//! grow.
//!
//! Memory: a block of one recording, whatever is still to be read.

use std::path::Path;

use recording::{ReadOutcome, Reader};
use sample::Snapshot;

use crate::SendError;
use crate::batch::{Batch, BatchSeries, SampleEnd};
use crate::cursor::RecordingCursor;
use crate::cursor::SendCursor;
use crate::groups::GroupSeries;
use crate::recording_files::{Looked, RecordingFiles};
use crate::series::{RecordingSeries, SourceChoice};
use crate::steps::StepSums;

/// Series whose labels are kept: more come of many recordings with other instances each.
const SERIES_KEPT_MAX: usize = 100_000;

/// What is not yet sent.
pub(crate) struct Backlog {
    files: RecordingFiles,
    selection: SourceChoice,
    open: Vec<OpenRecording>,
    pub(crate) series: BatchSeries,
    /// Samples that could not be read since the last settling.
    unreadable: u64,
}

/// A recording that is being read.
pub(crate) struct OpenRecording {
    file_id: u64,
    pub(crate) reader: Reader,
    snapshot: Snapshot,
    series: RecordingSeries,
    groups: Option<GroupSeries>,
    steps: Option<StepSums>,
    /// The next sample that is not yet handed over in full.
    next: u64,
}

impl Backlog {
    pub(crate) fn new(folder: &Path, selection: SourceChoice) -> Self {
        Backlog {
            files: RecordingFiles::new(folder),
            selection,
            open: Vec::new(),
            series: BatchSeries::default(),
            unreadable: 0,
        }
    }

    /// Looks which recordings there are: new ones will be read, those that are gone are told.
    pub(crate) fn look(&mut self, cursor: &mut SendCursor) -> Result<Looked, SendError> {
        let is_open = |id: u64| self.open.iter().any(|open| open.file_id == id);
        self.files.look(cursor, &is_open)
    }

    /// Fills a batch with the next samples: until it has that many points, or nothing more is there.
    pub(crate) fn fill(&mut self, batch: &mut Batch, points_max: usize) -> Result<(), SendError> {
        batch.clear();
        if self.series.len() > SERIES_KEPT_MAX {
            self.series.clear();
            // What was read of a step is of the old numbers: it is read again.
            for open in &mut self.open {
                open.restart(&self.selection)?;
            }
        }
        let mut at = 0;
        while batch.points.len() < points_max {
            if at == self.open.len() {
                let Some((path, sent)) = self.files.waiting.pop_front() else { break };
                // One that was deleted meanwhile is told at the next look.
                if let Ok(reader) = Reader::open(&path, &source::definitions()) {
                    self.open.push(OpenRecording::new(reader, &sent, &self.selection)?);
                }
                continue;
            }
            let open = &mut self.open[at];
            match open.read(&mut self.series, batch)? {
                ReadOutcome::Sample => self.unreadable += open.snapshot.gap.samples_unreadable,
                ReadOutcome::NoMoreYet if open.reader.is_being_written() => at += 1,
                // Nobody writes the rest of a recording whose recorder was killed.
                ReadOutcome::NoMoreYet | ReadOutcome::End => {
                    let mut open = self.open.remove(at);
                    open.flush(&mut self.series, batch);
                    self.files.finished.insert(open.file_id);
                }
            }
        }
        Ok(())
    }

    /// Notes what was acknowledged: recordings that are read to their end are done.
    pub(crate) fn settle(&mut self, cursor: &mut SendCursor) {
        cursor.samples_unreadable += std::mem::take(&mut self.unreadable);
        for open in &self.open {
            let groups = open.groups.as_ref().map_or(&[][..], |groups| groups.kept());
            if let Some(one) = cursor.recordings.get_mut(&open.file_id) {
                one.groups = groups.to_vec();
            }
        }
        self.files.settle(cursor);
    }

    /// Goes back to the cursor: what was read since is read again.
    pub(crate) fn rewind(&mut self) {
        self.files.rewind();
        self.open.clear();
        self.unreadable = 0;
    }
}

impl OpenRecording {
    /// A recording from the first sample on that was not sent.
    pub(crate) fn new(
        mut reader: Reader,
        sent: &RecordingCursor,
        selection: &SourceChoice,
    ) -> Result<Self, SendError> {
        let defs = reader.defs();
        let series = RecordingSeries::new(reader.meta(), &defs, selection);
        let processes = selection.processes.as_ref();
        let mut groups =
            processes.and_then(|choice| GroupSeries::new(choice, reader.meta(), &defs, sent));
        let mut wanted = series.wanted();
        for &index in groups.iter().flat_map(GroupSeries::sources) {
            wanted.retain(|(other, _)| *other != index);
            wanted.push((index, (0..defs[index].fields.len()).collect()));
        }
        reader.focus(&wanted);
        let mut snapshot = Snapshot::new(&defs);
        match &mut groups {
            Some(groups) if sent.next > 0 => {
                groups.prime(&mut reader, &mut snapshot, sent.next)?;
            }
            _ => reader.seek_number(sent.next),
        }
        let (file_id, next) = (reader.file_id(), sent.next);
        let steps = selection.step.map(StepSums::new);
        Ok(OpenRecording { file_id, reader, snapshot, series, groups, steps, next })
    }

    /// Begins again with what is not yet handed over.
    fn restart(&mut self, selection: &SourceChoice) -> Result<(), SendError> {
        let Some(steps) = self.steps.as_mut() else { return Ok(()) };
        *steps = StepSums::new(steps.choice);
        self.series = RecordingSeries::new(self.reader.meta(), &self.reader.defs(), selection);
        match &mut self.groups {
            Some(groups) => groups.prime(&mut self.reader, &mut self.snapshot, self.next)?,
            None => self.reader.seek_number(self.next),
        }
        Ok(())
    }

    /// Adds the next sample to a batch, if there is one; of a step, when the first of the next is read.
    pub(crate) fn read(
        &mut self,
        series: &mut BatchSeries,
        batch: &mut Batch,
    ) -> Result<ReadOutcome, SendError> {
        let outcome = self.reader.next(&mut self.snapshot)?;
        if outcome != ReadOutcome::Sample {
            return Ok(outcome);
        }
        let (next, realtime_ns) = (self.reader.next_number(), self.snapshot.realtime_ns);
        match &mut self.steps {
            Some(steps) => {
                if steps.is_over(realtime_ns) {
                    self.next = next.saturating_sub(1);
                    steps.flush((self.file_id, self.next), series, batch);
                }
                let points = steps.begin(realtime_ns);
                add(next, &mut self.series, &mut self.groups, &mut self.snapshot, (series, points));
                steps.absorb();
            }
            None => {
                add(next, &mut self.series, &mut self.groups, &mut self.snapshot, (series, batch));
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

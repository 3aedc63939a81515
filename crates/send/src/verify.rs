//! Asks an engine what it has of what it has acknowledged, and compares every point.
//!
//! The recordings are read up to the cursor, a window of time after the other, and the engine is asked for
//! its raw points of that window: by an instant query of a range, which Prometheus and those that speak its
//! language answer.  Memory: one window, whatever was sent.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use feed::recordings_in;
use promql::Labels;
use recording::{ReadOutcome, Reader};
use serde_json::{Value, json};

use crate::SendError;
use crate::asked::{AsksPoints, Points, is_equal};
use crate::backlog::{OpenRecording, SharedSnapshot, forget_ended};
use crate::batch::{Batch, BatchPoint, BatchSeries};
use crate::cursor::{CursorFile, RecordingCursor};
use crate::kinds::EngineAddress;
use crate::series::SeriesNames;
use crate::settings::SendSettings;

/// Points of a window.
const WINDOW_POINTS: usize = 50_000;

/// Series whose faults are listed: the first of them by their labels, in whichever order they come.
const LISTED_MAX: usize = 100;

/// What is wrong with a series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesVerified {
    /// Points that are not there.
    pub missing: u64,
    /// Points with another value.
    pub different: u64,
    /// Points that are there more than once.
    pub doubled: u64,
    /// The times of the first and the last of them, in milliseconds since the epoch.
    pub first_ms: i64,
    /// The last of them.
    pub last_ms: i64,
}

/// What an engine has of what it has acknowledged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Points that it has acknowledged, of recordings that are there.
    pub points: u64,
    /// Values that the engine has not.
    pub missing: u64,
    /// Values of which the engine has another.
    pub different: u64,
    /// Values that the engine has more than once.
    pub doubled: u64,
    /// The series that they are of: the first 100 by their labels.
    pub series: BTreeMap<Labels, SeriesVerified>,
}

/// Compares what an engine has with what it has acknowledged, by the cursor of that name.
///
/// # Errors
/// If nothing was sent under that name, a recording cannot be read, or the engine does not answer.
pub fn verify(
    folder: &Path,
    name: &str,
    address: &EngineAddress,
    settings: &SendSettings,
) -> Result<VerifyReport, SendError> {
    let cursor = CursorFile::read(folder, name)?;
    let cursor = cursor.ok_or_else(|| SendError::NothingSent { name: name.to_owned() })?;
    let mut engine = address.asked(settings)?;
    let mut report = VerifyReport::default();
    let (mut series, mut batch) = (BatchSeries::default(), Batch::default());
    let (definitions, mut names) =
        (source::definitions(), SeriesNames::new(settings.selection.clone()));
    let mut snapshot = SharedSnapshot::default();
    for path in recordings_in(folder)? {
        let Ok(reader) = Reader::open(&path, &definitions) else { continue };
        let Some(sent) = cursor.recordings.get(&reader.file_id()) else { continue };
        series.clear();
        let begin = RecordingCursor::default();
        let mut open = OpenRecording::new(reader, &begin, &mut names, &mut snapshot)?;
        while open.reader.next_number() < sent.next
            && open.read(&mut snapshot, &mut series, &mut batch)? == ReadOutcome::Sample
        {
            if batch.points.len() >= WINDOW_POINTS {
                compare(&mut *engine, &series, &batch.points, &mut report)?;
                batch.clear();
                forget_ended(&mut series, std::slice::from_mut(&mut open));
            }
        }
        open.flush(&mut series, &mut batch);
        compare(&mut *engine, &series, &batch.points, &mut report)?;
        batch.clear();
    }
    Ok(report)
}

/// Compares the points of a window.
fn compare(
    engine: &mut dyn AsksPoints,
    series: &BatchSeries,
    points: &[BatchPoint],
    report: &mut VerifyReport,
) -> Result<(), SendError> {
    let mut hosts: BTreeMap<&str, HashMap<u32, Points>> = BTreeMap::new();
    for point in points.iter().filter(|point| !point.value.is_nan()) {
        let host = hosts.entry(series.labels(point.series).get("instance")).or_default();
        host.entry(point.series).or_default().push((point.time_ms, point.value));
        report.points += 1;
    }
    for (host, wanted) in hosts {
        let times = || wanted.values().flatten().map(|(time_ms, _)| *time_ms);
        let (Some(first_ms), Some(last_ms)) = (times().min(), times().max()) else { continue };
        let held = engine.points(host, first_ms, last_ms)?;
        for (number, points) in wanted {
            let labels = &series.labels(number).to_labels();
            let held = held.get(labels).map_or(&[][..], Vec::as_slice);
            report.add(labels, &compared(&points, held));
        }
    }
    Ok(())
}

/// What is wrong with the points of a series; both are in the order of their times.
fn compared(wanted: &[(i64, f64)], held: &[(i64, f64)]) -> SeriesVerified {
    let mut found = SeriesVerified::default();
    for (time_ms, value) in wanted {
        let begin = held.partition_point(|(other, _)| other < time_ms);
        let same = held[begin..].iter().take_while(|(other, _)| other == time_ms);
        let (mut equal, mut all) = (0_u64, 0_u64);
        for (_, other) in same {
            all += 1;
            equal += u64::from(is_equal(*value, *other));
        }
        match (all, equal) {
            (0, _) => found.missing += 1,
            (_, 0) => found.different += 1,
            (1, _) => continue,
            _ => found.doubled += 1,
        }
        if found.first_ms == 0 {
            found.first_ms = *time_ms;
        }
        found.last_ms = *time_ms;
    }
    found
}

impl VerifyReport {
    fn add(&mut self, labels: &Labels, one: &SeriesVerified) {
        if *one == SeriesVerified::default() {
            return;
        }
        self.missing += one.missing;
        self.different += one.different;
        self.doubled += one.doubled;
        let is_known = self.series.contains_key(labels);
        let listed = self.series.entry(labels.clone()).or_default();
        listed.missing += one.missing;
        listed.different += one.different;
        listed.doubled += one.doubled;
        listed.first_ms = if is_known { listed.first_ms.min(one.first_ms) } else { one.first_ms };
        listed.last_ms = listed.last_ms.max(one.last_ms);
        // What goes once stays out: those before it are as many as are listed.
        if self.series.len() > LISTED_MAX {
            self.series.pop_last();
        }
    }

    /// Whether the engine has every point once.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        (self.missing, self.different, self.doubled) == (0, 0, 0)
    }

    /// As JSON.
    #[must_use]
    pub fn json(&self, name: &str) -> Value {
        let series = self.series.iter().map(|(labels, one)| {
            json!({
                "labels": labels.iter().collect::<BTreeMap<_, _>>(),
                "missing": one.missing,
                "different": one.different,
                "doubled": one.doubled,
                "first_ms": one.first_ms,
                "last_ms": one.last_ms,
            })
        });
        json!({
            "name": name,
            "points": self.points,
            "missing": self.missing,
            "different": self.different,
            "doubled": self.doubled,
            "series": series.collect::<Vec<_>>(),
        })
    }

    /// As lines for people.
    #[must_use]
    pub fn text(&self, name: &str) -> String {
        let Self { points, missing, different, doubled, series } = self;
        let mut text = format!("{name}: {points} points are acknowledged");
        if self.is_whole() {
            return text + ", and all of them are there\n";
        }
        text += &format!(": {missing} are missing, {different} differ, {doubled} are doubled\n");
        for (labels, one) in series {
            let SeriesVerified { missing, different, doubled, first_ms, last_ms } = one;
            let time = |ms: &i64| jiff::Timestamp::from_millisecond(*ms).unwrap_or_default();
            text += &format!(
                "  {labels}: {missing} missing, {different} differ, {doubled} doubled, {} to {}\n",
                time(first_ms),
                time(last_ms)
            );
        }
        if series.len() == LISTED_MAX {
            text += &format!("  (the first {LISTED_MAX} series; there may be more)\n");
        }
        text
    }
}

//! Asks an engine what it has of what it has acknowledged, and compares every point.
//!
//! The recordings are read up to the cursor, a window of time after the other, and the engine is asked for
//! its raw points of that window: by an instant query of a range, which Prometheus and those that speak its
//! language answer.  Memory: one window, whatever was sent.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use feed::recordings_in;
use http_client::header::{CONTENT_TYPE, HeaderValue};
use http_client::{ClientSettings, HttpClient, Method, StatusCode};
use promql::Labels;
use recording::{ReadOutcome, Reader};
use serde_json::{Value, json};
use text::error_text::with_causes;

use crate::SendError;
use crate::backlog::OpenRecording;
use crate::batch::{Batch, BatchPoint, BatchSeries};
use crate::cursor::{CursorFile, RecordingCursor};
use crate::http::{authorized, said};
use crate::kinds::EngineAddress;
use crate::settings::SendSettings;

/// Points of a window.
const WINDOW_POINTS: usize = 50_000;

/// The most bytes of an answer: a point has some 35, and there may be other series of the host.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Series whose faults are listed: the first of them by their labels, in whichever order they come.
const LISTED_MAX: usize = 100;

/// Digits of a value that an engine keeps, as a share of it: VictoriaMetrics has 15.
const EQUAL_SHARE: f64 = 1e-14;

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
    /// Those that it has not.
    pub missing: u64,
    /// Those of which it has another value.
    pub different: u64,
    /// Those that it has more than once.
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
    let mut engine = AskedEngine::new(address, settings)?;
    let mut report = VerifyReport::default();
    let (mut series, mut batch) = (BatchSeries::default(), Batch::default());
    for path in recordings_in(folder)? {
        let Ok(reader) = Reader::open(&path, &source::definitions()) else { continue };
        let Some(sent) = cursor.recordings.get(&reader.file_id()) else { continue };
        series.clear();
        let mut open =
            OpenRecording::new(reader, &RecordingCursor::default(), &settings.selection)?;
        while open.reader.next_number() < sent.next
            && open.read(&mut series, &mut batch)? == ReadOutcome::Sample
        {
            if batch.points.len() >= WINDOW_POINTS {
                engine.compare(&series, &batch.points, &mut report)?;
                batch.clear();
            }
        }
        open.flush(&mut series, &mut batch);
        engine.compare(&series, &batch.points, &mut report)?;
        batch.clear();
    }
    Ok(report)
}

/// An engine that answers questions.
struct AskedEngine<'a> {
    client: HttpClient,
    target: String,
    settings: &'a SendSettings,
}

/// Points of a series: time and value.
type Points = Vec<(i64, f64)>;

impl<'a> AskedEngine<'a> {
    fn new(address: &EngineAddress, settings: &'a SendSettings) -> Result<Self, SendError> {
        let (url, target) = address.query()?;
        let client =
            ClientSettings { answer_bytes_max: ANSWER_BYTES_MAX, ..settings.client.clone() };
        let client = HttpClient::new(url.clone(), client).map_err(SendError::Client)?;
        Ok(AskedEngine { client, target, settings })
    }

    /// Compares the points of a window.
    fn compare(
        &mut self,
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
            let held = self.ask(host, first_ms, last_ms)?;
            for (number, points) in wanted {
                let labels = series.labels(number);
                let held = held.get(labels).map_or(&[][..], Vec::as_slice);
                report.add(labels, &compared(&points, held));
            }
        }
        Ok(())
    }

    /// The points of a host in a time, both ends included.
    fn ask(
        &mut self,
        host: &str,
        first_ms: i64,
        last_ms: i64,
    ) -> Result<HashMap<Labels, Points>, SendError> {
        // The beginning of a range belongs to it or not, by the version of the engine.
        let length_ms = last_ms - first_ms + 1;
        let query = format!("{{instance={host:?},job=\"whit\"}}[{length_ms}ms]");
        let time = format!("{}.{:03}", last_ms.div_euclid(1000), last_ms.rem_euclid(1000));
        let form = http_client::form(&[("query", &query), ("time", &time), ("nocache", "1")]);
        let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
        let headers = authorized(vec![(CONTENT_TYPE, kind)], self.settings.authorization.as_ref());
        let server = self.client.url().to_string();
        let failed = |why: String| SendError::NoAnswer { server: server.clone(), why };
        let answer = self.client.send(Method::POST, &self.target, &headers, form);
        let answer = answer.map_err(|error| failed(with_causes(&error)))?;
        if answer.status != StatusCode::OK {
            return Err(failed(said(&answer)));
        }
        let answer: Value =
            serde_json::from_slice(&answer.body).map_err(|error| failed(error.to_string()))?;
        held(&answer).ok_or_else(|| failed("it gives no points".to_owned()))
    }
}

/// The points of an answer.
fn held(answer: &Value) -> Option<HashMap<Labels, Points>> {
    let point = |point: &Value| -> Option<(i64, f64)> {
        let time_ms = (point[0].as_f64()? * 1000.0).round() as i64;
        Some((time_ms, point[1].as_str()?.parse().ok()?))
    };
    let mut held = HashMap::new();
    for one in answer["data"]["result"].as_array()? {
        let labels = one["metric"].as_object()?.iter();
        let labels: Option<Vec<(&str, &str)>> =
            labels.map(|(name, value)| Some((name.as_str(), value.as_str()?))).collect();
        let points: Option<Points> = one["values"].as_array()?.iter().map(point).collect();
        // A mark of the end is no number.
        let mut points: Points = points?.into_iter().filter(|(_, value)| !value.is_nan()).collect();
        points.sort_by_key(|(time_ms, _)| *time_ms);
        held.insert(labels?.into_iter().collect(), points);
    }
    Some(held)
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
            equal += u64::from((value - other).abs() <= value.abs() * EQUAL_SHARE);
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

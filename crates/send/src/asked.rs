//! An engine that answers questions by Prometheus's query interface.

use std::collections::{BTreeMap, HashMap};

use http_client::header::{CONTENT_TYPE, HeaderValue};
use http_client::{ClientSettings, HttpClient, HttpUrl, Method, StatusCode};
use metric_names::JOB;
use promql::Labels;
use serde_json::Value;
use text::error_text::with_causes;

use crate::SendError;
use crate::batch::{BatchPoint, BatchSeries};
use crate::exchange::{authorized, said};
use crate::settings::SendSettings;

/// The most bytes of an answer: a point has some 35, and there may be other series of the host.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// An engine that answers questions.
pub(crate) struct AskedEngine {
    client: HttpClient,
    target: String,
    authorization: Option<HeaderValue>,
}

/// Points of a series: time and value.
pub(crate) type Points = Vec<(i64, f64)>;

/// Gives the points of a host in a time, both ends included, by their series.
pub(crate) trait AsksPoints {
    fn points(
        &mut self,
        host: &str,
        first_ms: i64,
        last_ms: i64,
    ) -> Result<HashMap<Labels, Points>, SendError>;
}

impl AsksPoints for AskedEngine {
    fn points(
        &mut self,
        host: &str,
        first_ms: i64,
        last_ms: i64,
    ) -> Result<HashMap<Labels, Points>, SendError> {
        self.ask(host, first_ms, last_ms)
    }
}

impl AskedEngine {
    /// One at a server, asked at a path.
    pub(crate) fn new(
        url: &HttpUrl,
        target: String,
        settings: &SendSettings,
    ) -> Result<Self, SendError> {
        let client =
            ClientSettings { answer_bytes_max: ANSWER_BYTES_MAX, ..settings.client.clone() };
        let client = HttpClient::new(url.clone(), client).map_err(SendError::Client)?;
        Ok(AskedEngine { client, target, authorization: settings.authorization.clone() })
    }

    /// The points of a host in a time, both ends included.
    pub(crate) fn ask(
        &mut self,
        host: &str,
        first_ms: i64,
        last_ms: i64,
    ) -> Result<HashMap<Labels, Points>, SendError> {
        // The beginning of a range belongs to it or not, by the version of the engine.
        let length_ms = last_ms - first_ms + 1;
        let query = format!("{}[{length_ms}ms]", all_of(host));
        let time = view::epoch_text(last_ms * 1_000_000);
        let form = [("query", query.as_str()), ("time", &time), ("nocache", "1")];
        let answer = self.answer(Method::POST, &self.target.clone(), http_client::form(&form))?;
        held(&answer).ok_or_else(|| self.failed("it gives no points".to_owned()))
    }

    /// The values that a label has in the series of a selector in a time.
    pub(crate) fn values(
        &mut self,
        label: &str,
        selector: &str,
        (first_ms, last_ms): (i64, i64),
    ) -> Result<Vec<String>, SendError> {
        let [start, end] =
            [first_ms.div_euclid(1000), last_ms.div_euclid(1000) + 1].map(|time| time.to_string());
        let asked = http_client::form(&[("match[]", selector), ("start", &start), ("end", &end)]);
        let base = self.target.strip_suffix("/query").unwrap_or_default();
        let target = format!("{base}/label/{label}/values?{asked}");
        let answer = self.answer(Method::GET, &target, String::new())?;
        let found = answer["data"]
            .as_array()
            .map(|all| all.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect());
        found.ok_or_else(|| self.failed("it gives no values".to_owned()))
    }

    /// The place of the first of these points that the engine has not; `None` if it has all.
    pub(crate) fn first_missing(
        &mut self,
        series: &BatchSeries,
        points: &[BatchPoint],
    ) -> Result<Option<usize>, SendError> {
        let numbers = || points.iter().enumerate().filter(|(_, point)| !point.value.is_nan());
        let mut hosts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, point) in numbers() {
            hosts.entry(series.labels(point.series).get("instance")).or_default().push(at);
        }
        let mut first: Option<usize> = None;
        for (host, places) in hosts {
            let times = || places.iter().map(|&at| points[at].time_ms);
            let (Some(begin_ms), Some(end_ms)) = (times().min(), times().max()) else { continue };
            let held = self.ask(host, begin_ms, end_ms)?;
            let is_missing = |&&at: &&usize| {
                let BatchPoint { series: number, time_ms, value, .. } = points[at];
                let of_series =
                    held.get(&series.labels(number).to_labels()).map_or(&[][..], Vec::as_slice);
                let begin = of_series.partition_point(|(other, _)| *other < time_ms);
                let mut same = of_series[begin..].iter().take_while(|(other, _)| *other == time_ms);
                !same.any(|(_, other)| is_equal(value, *other))
            };
            let missing = places.iter().find(is_missing).copied();
            first = missing.into_iter().chain(first).min();
        }
        Ok(first)
    }

    fn failed(&self, why: String) -> SendError {
        SendError::NoAnswer { server: self.client.url().to_string(), why }
    }

    fn answer(&mut self, method: Method, target: &str, form: String) -> Result<Value, SendError> {
        let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
        let headers = authorized(vec![(CONTENT_TYPE, kind)], self.authorization.as_ref());
        let answer = self.client.send(method, target, &headers, form);
        let answer = answer.map_err(|error| self.failed(with_causes(&error)))?;
        if answer.status != StatusCode::OK {
            return Err(self.failed(said(&answer)));
        }
        serde_json::from_slice(&answer.body).map_err(|error| self.failed(error.to_string()))
    }
}

/// Digits of a value that an engine keeps, as a share of it: VictoriaMetrics has 15.
const EQUAL_SHARE: f64 = 1e-14;

/// Whether an engine has a value.
pub(crate) fn is_equal(value: f64, held: f64) -> bool {
    (value - held).abs() <= value.abs() * EQUAL_SHARE
}

/// The selector of all series of a host.
pub(crate) fn all_of(host: &str) -> String {
    format!("{{instance={},job=\"{JOB}\"}}", promql::Quoted(host))
}

/// The points of an answer.
pub(crate) fn held(answer: &Value) -> Option<HashMap<Labels, Points>> {
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

//! Prometheus remote write 1.0: snappy blocks of protobuf over HTTP.
//!
//! The specification (<https://prometheus.io/docs/specs/prw/remote_write_spec/>) says: labels of a series
//! are in order, samples of a series are in order of time; 5xx is tried again, 429 may be, another 4xx
//! never; a request with a sample that is older than the newest of its series is refused as a whole.

use std::collections::HashMap;

use http_client::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue};
use http_client::{ClientAnswer, HttpUrl};
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};

use crate::batch::{BatchPoint, BatchSeries, SeriesFacts};
use crate::engine::SendOutcome;
use crate::http::{FormRequest, HttpForm, by_status, is_usually_later, said};

/// Where Prometheus takes it.
const USUAL_PATH: &str = "/api/v1/write";

/// Where the engine of an address answers questions: Mimir takes at `/api/v1/push`.
pub(crate) fn query_path(url: &HttpUrl) -> Option<String> {
    let target = url.target_or(USUAL_PATH);
    let path = target.split('?').next().unwrap_or_default();
    match (path.strip_suffix(USUAL_PATH), path.strip_suffix("/api/v1/push")) {
        (Some(base), _) => Some(format!("{base}/api/v1/query")),
        (None, Some(base)) => Some(format!("{base}/prometheus/api/v1/query")),
        (None, None) => None,
    }
}

/// A label: `Label` of the protocol.
#[derive(Clone, PartialEq, prost::Message)]
struct Label {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

/// A point: `Sample` of the protocol.
#[derive(Clone, Copy, PartialEq, prost::Message)]
struct Sample {
    #[prost(double, tag = "1")]
    value: f64,
    #[prost(int64, tag = "2")]
    timestamp: i64,
}

/// The field of series in `WriteRequest`, and those of labels and samples in `TimeSeries`.
const SERIES: u32 = 1;
const LABELS: u32 = 1;
const SAMPLES: u32 = 2;

/// The form.
pub(crate) struct RemoteWrite {
    target: String,
    encoder: snap::raw::Encoder,
    /// The encoded labels of each series.
    labels: SeriesFacts<Vec<u8>>,
    message: Vec<u8>,
}

impl RemoteWrite {
    pub(crate) fn new(url: &HttpUrl) -> Self {
        let target = url.target_or(USUAL_PATH);
        RemoteWrite {
            target,
            encoder: snap::raw::Encoder::new(),
            labels: SeriesFacts::default(),
            message: Vec::new(),
        }
    }
}

/// The encoded labels of a series.
fn encoded(series: &BatchSeries, number: u32) -> Vec<u8> {
    let mut encoded = Vec::new();
    for (name, value) in series.labels(number).iter() {
        let label = Label { name: name.to_owned(), value: value.to_owned() };
        prost::encoding::message::encode(LABELS, &label, &mut encoded);
    }
    encoded
}

impl HttpForm for RemoteWrite {
    fn request(&mut self, series: &BatchSeries, points: &[BatchPoint]) -> Option<FormRequest> {
        series.learn(&mut self.labels, |number| encoded(series, number));
        self.message.clear();
        for (number, points) in by_series(points) {
            let labels = &self.labels[number];
            let samples: usize = points
                .iter()
                .map(|point| prost::encoding::message::encoded_len(SAMPLES, &sample(point)))
                .sum();
            let size_bytes = (labels.len() + samples) as u64;
            self.message.reserve(labels.len() + samples + encoded_len_varint(size_bytes) + 1);
            encode_key(SERIES, WireType::LengthDelimited, &mut self.message);
            encode_varint(size_bytes, &mut self.message);
            self.message.extend_from_slice(labels);
            for point in &points {
                prost::encoding::message::encode(SAMPLES, &sample(point), &mut self.message);
            }
        }
        // A block of snappy has at most 4 GiB, a batch some MB.
        let body = self.encoder.compress_vec(&self.message).unwrap_or_default();
        let header = HeaderValue::from_static;
        Some(FormRequest {
            target: self.target.clone(),
            headers: vec![
                (CONTENT_TYPE, header("application/x-protobuf")),
                (CONTENT_ENCODING, header("snappy")),
                (HeaderName::from_static("x-prometheus-remote-write-version"), header("0.1.0")),
            ],
            body,
        })
    }

    fn outcome(&mut self, answer: &ClientAnswer) -> SendOutcome {
        match by_status(answer, said(answer), is_usually_later) {
            SendOutcome::Refused { why, .. } => {
                let known = ["out of order", "duplicate sample", "out of bounds", "too old"];
                let is_known = known.iter().any(|words| why.contains(words));
                SendOutcome::Refused { why, is_known }
            }
            outcome => outcome,
        }
    }
}

/// A point as the protocol has it.
fn sample(point: &BatchPoint) -> Sample {
    Sample { value: point.value, timestamp: point.time_ms }
}

/// The points of each series, in the order in which the series come first.
fn by_series(points: &[BatchPoint]) -> Vec<(u32, Vec<BatchPoint>)> {
    let mut places: HashMap<u32, usize> = HashMap::new();
    let mut found: Vec<(u32, Vec<BatchPoint>)> = Vec::new();
    for point in points {
        let place = *places.entry(point.series).or_insert_with(|| {
            found.push((point.series, Vec::new()));
            found.len() - 1
        });
        found[place].1.push(*point);
    }
    found
}

//! Prometheus remote write: snappy blocks of protobuf over HTTP, of version 2.0 (`remote_write_2.rs`), and
//! of 1.0 to whoever does not know that.
//!
//! One that does not know 2.0 answers 415, or takes a request in which it finds nothing: so a success
//! that does not say in a header how many samples were written means the same, as the specification says.
//!
//! That of 1.0 (<https://prometheus.io/docs/specs/prw/remote_write_spec/>) says: labels of a series
//! are in order, samples of a series are in order of time; 5xx is tried again, 429 may be, another 4xx
//! never; a request with a sample that is older than the newest of its series is refused as a whole.

use std::collections::HashMap;

use http_client::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue};
use http_client::{ClientAnswer, HttpUrl, StatusCode};
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};

use crate::batch::{BatchPoint, BatchSeries, SeriesFacts};
use crate::engine::SendOutcome;
use crate::exchange::said;
use crate::http::{FormRequest, HttpForm, by_status, is_usually_later};
use crate::remote_write_2;

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

/// Of so many requests one says what its series are about: live ones have a sample each, so that an engine
/// that is new or was restarted knows it after a minute.
const DESCRIBED_EVERY: u64 = 60;

/// How many samples an engine has written: the header of 2.0.
const WRITTEN: &str = "x-prometheus-remote-write-samples-written";

/// The form.
pub(crate) struct RemoteWrite {
    target: String,
    /// Whether the engine knows 1.0 alone.
    is_old: bool,
    /// Samples of the latest request.
    sent: u64,
    /// Requests of 2.0 that were acknowledged.
    acknowledged: u64,
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
            is_old: false,
            sent: 0,
            acknowledged: 0,
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

impl RemoteWrite {
    /// The message of 1.0.
    fn encode_old(&mut self, series: &BatchSeries, points: &[(u32, Vec<BatchPoint>)]) {
        series.learn(&mut self.labels, |number| encoded(series, number));
        for (number, points) in points {
            let labels = &self.labels[*number];
            let samples: usize = points
                .iter()
                .map(|point| prost::encoding::message::encoded_len(SAMPLES, &sample(point)))
                .sum();
            let size_bytes = (labels.len() + samples) as u64;
            self.message.reserve(labels.len() + samples + encoded_len_varint(size_bytes) + 1);
            encode_key(SERIES, WireType::LengthDelimited, &mut self.message);
            encode_varint(size_bytes, &mut self.message);
            self.message.extend_from_slice(labels);
            for point in points {
                prost::encoding::message::encode(SAMPLES, &sample(point), &mut self.message);
            }
        }
    }
}

impl HttpForm for RemoteWrite {
    fn request(&mut self, series: &BatchSeries, points: &[BatchPoint]) -> Option<FormRequest> {
        self.message.clear();
        self.sent = points.len() as u64;
        let points = by_series(points);
        let (kind, version) = match self.is_old {
            true => ("application/x-protobuf", "0.1.0"),
            false => ("application/x-protobuf;proto=io.prometheus.write.v2.Request", "2.0.0"),
        };
        match self.is_old {
            true => self.encode_old(series, &points),
            false => {
                let describes = self.acknowledged.is_multiple_of(DESCRIBED_EVERY);
                remote_write_2::encode(series, &points, describes, &mut self.message);
            }
        }
        // A block of snappy has at most 4 GiB, a batch some MB.
        let body = self.encoder.compress_vec(&self.message).unwrap_or_default();
        let header = HeaderValue::from_static;
        Some(FormRequest {
            target: self.target.clone(),
            headers: vec![
                (CONTENT_TYPE, header(kind)),
                (CONTENT_ENCODING, header("snappy")),
                (HeaderName::from_static("x-prometheus-remote-write-version"), header(version)),
            ],
            body,
        })
    }

    fn falls_back(&mut self, answer: &ClientAnswer) -> bool {
        let knows_nothing = answer.status.is_success() && written(answer).is_none();
        let is_first = !self.is_old;
        self.is_old |= knows_nothing || answer.status == StatusCode::UNSUPPORTED_MEDIA_TYPE;
        is_first && self.is_old
    }

    fn outcome(&mut self, answer: &ClientAnswer) -> SendOutcome {
        match by_status(answer, said(answer), is_usually_later) {
            SendOutcome::Acknowledged => {
                self.acknowledged += 1;
                match written(answer) {
                    Some(written) if written < self.sent && !self.is_old => SendOutcome::Partly {
                        rejected: self.sent - written,
                        why: "the engine has written fewer samples than it took".to_owned(),
                    },
                    _ => SendOutcome::Acknowledged,
                }
            }
            SendOutcome::Refused { why, .. } => {
                let known = ["out of order", "duplicate sample", "out of bounds", "too old"];
                let is_known = known.iter().any(|words| why.contains(words));
                SendOutcome::Refused { why, is_known }
            }
            outcome => outcome,
        }
    }
}

/// How many samples an engine says that it has written.
fn written(answer: &ClientAnswer) -> Option<u64> {
    answer.headers.get(WRITTEN)?.to_str().ok()?.trim().parse().ok()
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

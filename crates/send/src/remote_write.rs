//! Prometheus remote write: snappy blocks of protobuf over HTTP, of version 2.0 (`remote_write_2.rs`), and
//! of 1.0 to whoever does not know that.
//!
//! One that does not know 2.0 answers 415, or takes a request in which it finds nothing: so a success
//! that does not say in a header how many samples were written means the same, as the specification says.
//!
//! Version 1.0 (<https://prometheus.io/docs/specs/prw/remote_write_spec/>) says: labels of a series
//! are in order, samples of a series are in order of time; 5xx is tried again, 429 may be, another 4xx
//! never; a request with a sample that is older than the newest of its series is refused as a whole.

use http_client::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue};
use http_client::{ClientAnswer, HttpUrl, StatusCode};

use crate::batch::{BatchPoint, BatchSeries, by_series, in_order_of_series};
use crate::engine::SendOutcome;
use crate::exchange::said;
use crate::http::{FormRequest, HttpForm, by_status, is_usually_later};
use crate::protobuf::put_bytes;
use crate::remote_write_2::{self, Symbols};

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
/// `Label.name` and its `value`.
const LABEL_NAME: u32 = 1;
const LABEL_VALUE: u32 = 2;

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
    symbols: Symbols,
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
            symbols: Symbols::default(),
            message: Vec::new(),
        }
    }
}

/// Appends the message of 1.0 with these points, in the order of their series.
fn encode_old(series: &BatchSeries, points: &[BatchPoint], out: &mut Vec<u8>) {
    let (mut one, mut label) = (Vec::new(), Vec::new());
    for (number, points) in by_series(points) {
        one.clear();
        for (name, value) in series.labels(number).iter() {
            label.clear();
            put_bytes(LABEL_NAME, name.as_bytes(), &mut label);
            put_bytes(LABEL_VALUE, value.as_bytes(), &mut label);
            put_bytes(LABELS, &label, &mut one);
        }
        for point in points {
            prost::encoding::message::encode(SAMPLES, &sample(point), &mut one);
        }
        put_bytes(SERIES, &one, out);
    }
}

impl HttpForm for RemoteWrite {
    fn request(&mut self, series: &BatchSeries, points: &[BatchPoint]) -> Option<FormRequest> {
        self.message.clear();
        self.sent = points.len() as u64;
        let points = in_order_of_series(points);
        let (kind, version) = match self.is_old {
            true => ("application/x-protobuf", "0.1.0"),
            false => ("application/x-protobuf;proto=io.prometheus.write.v2.Request", "2.0.0"),
        };
        match self.is_old {
            true => encode_old(series, &points, &mut self.message),
            false => {
                let describes = self.acknowledged.is_multiple_of(DESCRIBED_EVERY);
                let (symbols, out) = (&mut self.symbols, &mut self.message);
                remote_write_2::encode(series, &points, describes, symbols, out);
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

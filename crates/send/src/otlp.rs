//! OTLP over HTTP: metrics as protobuf, packed by gzip, for collectors of OpenTelemetry.
//!
//! The numbers of fields are those of opentelemetry-proto 1.x: `collector/metrics/v1/metrics_service.proto`,
//! `metrics/v1/metrics.proto`, `resource/v1/resource.proto` and `common/v1/common.proto`, named beside each.
//! The specification (<https://opentelemetry.io/docs/specs/otlp/>) says: 429, 502, 503 and 504 are tried again,
//! no other error is; what a partial success rejects is never sent again.

use std::collections::HashMap;

use http_client::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use http_client::{ClientAnswer, HttpUrl, StatusCode};
use otlp_messages::{AnyValue, KeyValue, OtlpScope, Response, RpcStatus};
use promql::{NAME, is_stale};
use prost::Message as _;
use prost::encoding;
use sample::Interner;

use crate::batch::{BatchPoint, BatchSeries, SeriesFacts};
use crate::engine::SendOutcome;
use crate::exchange::said_with;
use crate::gzip::GzipPacker;
use crate::http::{FormRequest, HttpForm, by_status};
use crate::labels::LabelTable;
use crate::protobuf::put_bytes;

/// Where collectors take it.
const USUAL_PATH: &str = "/v1/metrics";

/// `ExportMetricsServiceRequest.resource_metrics`.
const RESOURCE_METRICS: u32 = 1;
/// `ResourceMetrics.resource`, and its `scope_metrics`.
const RESOURCE: u32 = 1;
const SCOPE_METRICS: u32 = 2;
/// `Resource.attributes`.
const RESOURCE_ATTRIBUTES: u32 = 1;
/// `ScopeMetrics.scope`, and its `metrics`.
const SCOPE: u32 = 1;
const METRICS: u32 = 2;
/// `Metric.name`, and its data: `gauge` or `sum`.
const METRIC_NAME: u32 = 1;
const GAUGE: u32 = 5;
const SUM: u32 = 7;
/// `data_points` of `Gauge` and `Sum`; `Sum.aggregation_temporality` and `Sum.is_monotonic`.
const DATA_POINTS: u32 = 1;
const TEMPORALITY: u32 = 2;
const IS_MONOTONIC: u32 = 3;
/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: i32 = 2;
/// Fields of `NumberDataPoint`.
const START_TIME: u32 = 2;
const TIME: u32 = 3;
const AS_DOUBLE: u32 = 4;
const POINT_ATTRIBUTES: u32 = 7;
const FLAGS: u32 = 8;
/// `DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK`.
const NO_RECORDED_VALUE: u32 = 1;

/// The form.
pub(crate) struct Otlp {
    target: String,
    facts: SeriesFacts<SeriesFact>,
    /// Encoded attributes of points: series of hundreds of hosts share them.
    attributes: Interner,
    packer: GzipPacker,
}

/// What is made once of a series.
#[derive(Clone, Copy)]
struct SeriesFact {
    metric: Metric,
    /// The number of its attributes.
    attributes: u32,
}

/// A metric of a host.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Metric {
    /// The numbers of the texts that name the host and the metric.
    instance: u32,
    name: u32,
    is_counter: bool,
}

/// The encoded points of a metric.
struct MetricPoints {
    metric: Metric,
    points: Vec<u8>,
}

impl Otlp {
    pub(crate) fn new(url: &HttpUrl) -> Self {
        let target = url.target_or(USUAL_PATH);
        Otlp {
            target,
            facts: SeriesFacts::default(),
            attributes: Interner::default(),
            packer: GzipPacker::default(),
        }
    }

    /// `ExportMetricsServiceRequest`.
    fn message(&self, table: &LabelTable, points: &[BatchPoint]) -> Vec<u8> {
        let mut hosts: Vec<(u32, Vec<MetricPoints>)> = Vec::new();
        let mut places: HashMap<Metric, (usize, usize)> = HashMap::new();
        let mut encoded = Vec::new();
        for point in points {
            let SeriesFact { metric, attributes } = self.facts[point.series];
            let (host, place) = *places.entry(metric).or_insert_with(|| {
                let host = hosts.iter().position(|(instance, _)| *instance == metric.instance);
                let host = host.unwrap_or_else(|| {
                    hosts.push((metric.instance, Vec::new()));
                    hosts.len() - 1
                });
                hosts[host].1.push(MetricPoints { metric, points: Vec::new() });
                (host, hosts[host].1.len() - 1)
            });
            encoded.clear();
            encode_point(metric.is_counter, point, &mut encoded);
            encoded.extend_from_slice(self.attributes.get(attributes as usize).unwrap_or_default());
            put_bytes(DATA_POINTS, &encoded, &mut hosts[host].1[place].points);
        }
        let mut message = Vec::new();
        for (host, metrics) in hosts {
            let resource = resource_metrics(table, host, metrics);
            put_bytes(RESOURCE_METRICS, &resource, &mut message);
        }
        message
    }
}

/// `ResourceMetrics` of a host.
fn resource_metrics(table: &LabelTable, host: u32, metrics: Vec<MetricPoints>) -> Vec<u8> {
    let host = table.text(host);
    let mut resource = Vec::new();
    // What Prometheus makes `job` and `instance` of.
    let attributes = [("service.name", "whit"), ("service.instance.id", host), ("host.name", host)];
    for (key, value) in attributes {
        encoding::message::encode(RESOURCE_ATTRIBUTES, &attribute(key, value), &mut resource);
    }
    let mut scope_metrics = Vec::new();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let scope = OtlpScope { name: "whit".to_owned(), version };
    encoding::message::encode(SCOPE, &scope, &mut scope_metrics);
    let mut encoded = Vec::new();
    for MetricPoints { metric, points: mut data } in metrics {
        encoded.clear();
        put_bytes(METRIC_NAME, table.text(metric.name).as_bytes(), &mut encoded);
        let kind = match metric.is_counter {
            true => {
                encoding::int32::encode(TEMPORALITY, &CUMULATIVE, &mut data);
                encoding::bool::encode(IS_MONOTONIC, &true, &mut data);
                SUM
            }
            false => GAUGE,
        };
        put_bytes(kind, &data, &mut encoded);
        put_bytes(METRICS, &encoded, &mut scope_metrics);
    }
    let mut all = Vec::new();
    put_bytes(RESOURCE, &resource, &mut all);
    put_bytes(SCOPE_METRICS, &scope_metrics, &mut all);
    all
}

/// What is made once of a series: host and job are attributes of the resource.
fn fact_of(series: &BatchSeries, number: u32, attributes: &mut Interner) -> SeriesFact {
    let labels = series.labels(number);
    let mut encoded = Vec::new();
    for (name, value) in labels.iter().filter(|(name, _)| !["instance", "job", NAME].contains(name))
    {
        encoding::message::encode(POINT_ATTRIBUTES, &attribute(name, value), &mut encoded);
    }
    let known = attributes.find(&encoded, |_| true);
    let attributes = known.unwrap_or_else(|| attributes.push(&encoded));
    // None is the number of a text that is not there.
    let number_of = |label: &str| {
        let known = series.table().text_number(labels.get(label));
        known.and_then(|number| u32::try_from(number).ok()).unwrap_or(u32::MAX)
    };
    let (instance, name) = (number_of("instance"), number_of(NAME));
    let metric = Metric { instance, name, is_counter: series.is_counter(number) };
    SeriesFact { metric, attributes: u32::try_from(attributes).unwrap_or(u32::MAX) }
}

fn attribute(key: &str, value: &str) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue::text(value)) }
}

/// `NumberDataPoint`, without its attributes.
fn encode_point(is_counter: bool, point: &BatchPoint, encoded: &mut Vec<u8>) {
    let nanoseconds = |ms: i64| u64::try_from(ms).unwrap_or(0) * 1_000_000;
    if is_counter {
        encoding::fixed64::encode(START_TIME, &nanoseconds(point.start_ms), encoded);
    }
    encoding::fixed64::encode(TIME, &nanoseconds(point.time_ms), encoded);
    match is_stale(point.value) {
        true => encoding::uint32::encode(FLAGS, &NO_RECORDED_VALUE, encoded),
        false => encoding::double::encode(AS_DOUBLE, &point.value, encoded),
    }
}

impl HttpForm for Otlp {
    fn request(&mut self, series: &BatchSeries, points: &[BatchPoint]) -> Option<FormRequest> {
        if series.has_renumbered(&self.facts) {
            self.attributes.clear();
        }
        let attributes = &mut self.attributes;
        series.learn(&mut self.facts, |number| fact_of(series, number, attributes));
        let message = self.message(series.table(), points);
        Some(packed(&self.target, &message, &mut self.packer))
    }

    fn outcome(&mut self, answer: &ClientAnswer) -> SendOutcome {
        answered(answer)
    }
}

/// A request with a message.
pub(crate) fn packed(target: &str, message: &[u8], packer: &mut GzipPacker) -> FormRequest {
    let body = packer.pack(message);
    let header = HeaderValue::from_static;
    let headers =
        vec![(CONTENT_TYPE, header("application/x-protobuf")), (CONTENT_ENCODING, header("gzip"))];
    FormRequest { target: target.to_owned(), headers, body }
}

/// What an answer means.
pub(crate) fn answered(answer: &ClientAnswer) -> SendOutcome {
    let kind = answer.headers.get(CONTENT_TYPE).map_or(&[][..], HeaderValue::as_bytes);
    let is_protobuf = kind.starts_with(b"application/x-protobuf");
    if answer.status.is_success() {
        let response = Response::decode(answer.body.clone()).ok().filter(|_| is_protobuf);
        let partly = response.and_then(|response| response.partial_success);
        return match partly.map(|partly| {
            let rejected = u64::try_from(partly.rejected).unwrap_or(0);
            (rejected, said_with(answer, partly.error_message.as_bytes()))
        }) {
            Some((rejected @ 1.., why)) => SendOutcome::Partly { rejected, why },
            _ => SendOutcome::Acknowledged,
        };
    }
    let status = RpcStatus::decode(answer.body.clone()).ok().filter(|_| is_protobuf);
    let text = status.map_or_else(|| answer.body.to_vec(), |status| status.message.into());
    let later = [
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::BAD_GATEWAY,
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::GATEWAY_TIMEOUT,
    ];
    by_status(answer, said_with(answer, &text), |status| later.contains(&status))
}

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

use crate::batch::{BatchPoint, BatchSeries, SeriesFacts};
use crate::engine::SendOutcome;
use crate::exchange::said_with;
use crate::gzip::GzipPacker;
use crate::http::{FormRequest, HttpForm, by_status};

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
    packer: GzipPacker,
}

/// What is made once of a series.
struct SeriesFact {
    /// The host.
    instance: String,
    name: String,
    is_counter: bool,
    /// The encoded attributes of its points.
    attributes: Vec<u8>,
}

/// The encoded points of a metric of a host.
struct MetricPoints {
    number: u32,
    points: Vec<u8>,
}

impl Otlp {
    pub(crate) fn new(url: &HttpUrl) -> Self {
        let target = url.target_or(USUAL_PATH);
        Otlp { target, facts: SeriesFacts::default(), packer: GzipPacker::default() }
    }

    /// `ExportMetricsServiceRequest`.
    fn message(&self, points: &[BatchPoint]) -> Vec<u8> {
        let mut hosts: Vec<(&str, Vec<MetricPoints>)> = Vec::new();
        let mut places: HashMap<(&str, &str, bool), (usize, usize)> = HashMap::new();
        let mut encoded = Vec::new();
        for point in points {
            let fact = &self.facts[point.series];
            let key = (fact.instance.as_str(), fact.name.as_str(), fact.is_counter);
            let (host, metric) = *places.entry(key).or_insert_with(|| {
                let host = hosts.iter().position(|(name, _)| *name == fact.instance);
                let host = host.unwrap_or_else(|| {
                    hosts.push((&fact.instance, Vec::new()));
                    hosts.len() - 1
                });
                hosts[host].1.push(MetricPoints { number: point.series, points: Vec::new() });
                (host, hosts[host].1.len() - 1)
            });
            encoded.clear();
            encode_point(fact, point, &mut encoded);
            encoding::bytes::encode(DATA_POINTS, &encoded, &mut hosts[host].1[metric].points);
        }
        let mut message = Vec::new();
        for (host, metrics) in hosts {
            let resource = self.resource_metrics(host, metrics);
            encoding::bytes::encode(RESOURCE_METRICS, &resource, &mut message);
        }
        message
    }

    /// `ResourceMetrics` of a host.
    fn resource_metrics(&self, host: &str, metrics: Vec<MetricPoints>) -> Vec<u8> {
        let mut resource = Vec::new();
        // What Prometheus makes `job` and `instance` of.
        let attributes =
            [("service.name", "whit"), ("service.instance.id", host), ("host.name", host)];
        for (key, value) in attributes {
            encoding::message::encode(RESOURCE_ATTRIBUTES, &attribute(key, value), &mut resource);
        }
        let mut scope_metrics = Vec::new();
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let scope = OtlpScope { name: "whit".to_owned(), version };
        encoding::message::encode(SCOPE, &scope, &mut scope_metrics);
        for MetricPoints { number, points: mut data } in metrics {
            let fact = &self.facts[number];
            let mut metric = Vec::new();
            encoding::string::encode(METRIC_NAME, &fact.name, &mut metric);
            let kind = match fact.is_counter {
                true => {
                    encoding::int32::encode(TEMPORALITY, &CUMULATIVE, &mut data);
                    encoding::bool::encode(IS_MONOTONIC, &true, &mut data);
                    SUM
                }
                false => GAUGE,
            };
            encoding::bytes::encode(kind, &data, &mut metric);
            encoding::bytes::encode(METRICS, &metric, &mut scope_metrics);
        }
        let mut encoded = Vec::new();
        encoding::bytes::encode(RESOURCE, &resource, &mut encoded);
        encoding::bytes::encode(SCOPE_METRICS, &scope_metrics, &mut encoded);
        encoded
    }
}

/// What is made once of a series: host and job are attributes of the resource.
fn fact_of(series: &BatchSeries, number: u32) -> SeriesFact {
    let labels = series.labels(number);
    let mut attributes = Vec::new();
    for (name, value) in labels.iter().filter(|(name, _)| !["instance", "job", NAME].contains(name))
    {
        encoding::message::encode(POINT_ATTRIBUTES, &attribute(name, value), &mut attributes);
    }
    SeriesFact {
        instance: labels.get("instance").to_owned(),
        name: labels.get(NAME).to_owned(),
        is_counter: series.is_counter(number),
        attributes,
    }
}

fn attribute(key: &str, value: &str) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue::text(value)) }
}

/// `NumberDataPoint`.
fn encode_point(fact: &SeriesFact, point: &BatchPoint, encoded: &mut Vec<u8>) {
    let nanoseconds = |ms: i64| u64::try_from(ms).unwrap_or(0) * 1_000_000;
    if fact.is_counter {
        encoding::fixed64::encode(START_TIME, &nanoseconds(point.start_ms), encoded);
    }
    encoding::fixed64::encode(TIME, &nanoseconds(point.time_ms), encoded);
    match is_stale(point.value) {
        true => encoding::uint32::encode(FLAGS, &NO_RECORDED_VALUE, encoded),
        false => encoding::double::encode(AS_DOUBLE, &point.value, encoded),
    }
    encoded.extend_from_slice(&fact.attributes);
}

impl HttpForm for Otlp {
    fn request(&mut self, series: &BatchSeries, points: &[BatchPoint]) -> Option<FormRequest> {
        series.learn(&mut self.facts, |number| fact_of(series, number));
        let message = self.message(points);
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

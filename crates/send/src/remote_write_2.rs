//! The message of Prometheus remote write 2.0: `io.prometheus.write.v2.Request`.
//!
//! The specification (<https://prometheus.io/docs/specs/prw/remote_write_spec_2_0/>) says: each text stands
//! once in a table of symbols, of which the first is empty; labels are pairs of numbers of symbols, in the
//! order of their names; each series says of what type it is, and should say what it is about and in which
//! unit, and a sample of a counter since when it counts.  Texts for people are as long as the values of a
//! sample, so one request of many has them, which the caller chooses.  The numbers of fields are those of its `types.proto`, named beside each.

use std::collections::HashMap;

use prost::encoding::{self, WireType, encode_key, encode_varint};

use crate::batch::{BatchPoint, BatchSeries};

/// `Request.symbols` and its `timeseries`.
const SYMBOLS: u32 = 4;
const SERIES: u32 = 5;
/// `TimeSeries.labels_refs`, its `samples` and its `metadata`.
const LABELS: u32 = 1;
const SAMPLES: u32 = 2;
const METADATA: u32 = 5;
/// `Metadata.help_ref` and its `unit_ref`: numbers of symbols.
const HELP: u32 = 3;
const UNIT: u32 = 4;
/// `Metadata.type`, and two of its values.
const TYPE: u32 = 1;
const COUNTER: i32 = 1;
const GAUGE: i32 = 2;

/// `Sample`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
struct Sample {
    #[prost(double, tag = "1")]
    value: f64,
    #[prost(int64, tag = "2")]
    timestamp: i64,
    /// 0 of what is no counter.
    #[prost(int64, tag = "3")]
    start_timestamp: i64,
}

/// The table of symbols of a request.
struct Symbols<'a> {
    numbers: HashMap<&'a str, u32>,
    encoded: Vec<u8>,
}

impl<'a> Symbols<'a> {
    fn new() -> Self {
        let mut symbols = Symbols { numbers: HashMap::new(), encoded: Vec::new() };
        symbols.number("");
        symbols
    }

    fn number(&mut self, text: &'a str) -> u32 {
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        *self.numbers.entry(text).or_insert_with(|| {
            put(SYMBOLS, text.as_bytes(), &mut self.encoded);
            next
        })
    }
}

/// Appends a field of bytes, which may be none.
fn put(tag: u32, bytes: &[u8], out: &mut Vec<u8>) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Appends the request that has the points of these series, with help and units if it `describes` them.
pub(crate) fn encode(
    series: &BatchSeries,
    points: &[(u32, Vec<BatchPoint>)],
    describes: bool,
    out: &mut Vec<u8>,
) {
    let mut symbols = Symbols::new();
    let (mut all, mut one, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for (number, points) in points {
        one.clear();
        numbers.clear();
        for (name, value) in series.labels(*number).iter() {
            for text in [name, value] {
                encode_varint(u64::from(symbols.number(text)), &mut numbers);
            }
        }
        put(LABELS, &numbers, &mut one);
        let is_counter = series.is_counter(*number);
        for point in points {
            let sample = Sample {
                value: point.value,
                timestamp: point.time_ms,
                start_timestamp: if is_counter { point.start_ms } else { 0 },
            };
            encoding::message::encode(SAMPLES, &sample, &mut one);
        }
        let mut metadata = Vec::new();
        encoding::int32::encode(TYPE, if is_counter { &COUNTER } else { &GAUGE }, &mut metadata);
        if describes {
            let (help, unit) = series.about(*number).help_and_unit();
            for (tag, text) in [(HELP, help), (UNIT, unit)] {
                if !text.is_empty() {
                    encoding::uint32::encode(tag, &symbols.number(text), &mut metadata);
                }
            }
        }
        put(METADATA, &metadata, &mut one);
        put(SERIES, &one, &mut all);
    }
    out.extend_from_slice(&symbols.encoded);
    out.extend_from_slice(&all);
}

//! The message of Prometheus remote write 2.0: `io.prometheus.write.v2.Request`.
//!
//! The specification (<https://prometheus.io/docs/specs/prw/remote_write_spec_2_0/>) says: each text stands
//! once in a table of symbols, of which the first is empty; labels are pairs of numbers of symbols, in the
//! order of their names; each series says of what type it is, and should say what it is about and in which
//! unit, and a sample of a counter since when it counts.  Texts for people are as long as the values of a
//! sample, so one request of many has them, which the caller chooses.  The numbers of fields are those of its `types.proto`, named beside each.

use std::collections::HashMap;

use prost::encoding::{self, encode_varint};

use crate::batch::{BatchPoint, BatchSeries, by_series};
use crate::protobuf::put_bytes;

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

/// The table of symbols of a request, made anew for each in the same memory.
#[derive(Default)]
pub(crate) struct Symbols {
    /// For each text of labels the number of its symbol; 0, that of the empty one, if it has none.
    of_labels: Vec<u32>,
    /// Texts for people that are of no label.
    others: HashMap<String, u32>,
    count: u32,
    encoded: Vec<u8>,
}

impl Symbols {
    fn begin(&mut self, texts: usize) {
        self.of_labels.clear();
        self.of_labels.resize(texts, 0);
        self.others.clear();
        self.count = 0;
        self.encoded.clear();
        self.add(b"");
    }

    fn add(&mut self, text: &[u8]) -> u32 {
        put_bytes(SYMBOLS, text, &mut self.encoded);
        self.count += 1;
        self.count - 1
    }

    /// The symbol of a text of labels, by its number.
    fn of_label(&mut self, number: usize, text: &[u8]) -> u32 {
        if self.of_labels[number] == 0 {
            self.of_labels[number] = self.add(text);
        }
        self.of_labels[number]
    }

    /// The symbol of a text for people.
    fn of_text(&mut self, text: &str, series: &BatchSeries) -> u32 {
        if let Some(number) = series.table().text_number(text) {
            return self.of_label(number, text.as_bytes());
        }
        if let Some(known) = self.others.get(text) {
            return *known;
        }
        let symbol = self.add(text.as_bytes());
        self.others.insert(text.to_owned(), symbol);
        symbol
    }
}

/// Appends the request that has these points, in the order of their series, with help and units if it
/// `describes` them.
pub(crate) fn encode(
    series: &BatchSeries,
    points: &[BatchPoint],
    describes: bool,
    symbols: &mut Symbols,
    out: &mut Vec<u8>,
) {
    symbols.begin(series.table().texts());
    let (mut all, mut one, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    let mut metadata = Vec::new();
    for (number, points) in by_series(points) {
        one.clear();
        numbers.clear();
        for (text, bytes) in series.labels(number).numbered() {
            encode_varint(u64::from(symbols.of_label(text, bytes)), &mut numbers);
        }
        put_bytes(LABELS, &numbers, &mut one);
        let is_counter = series.is_counter(number);
        for point in points {
            let sample = Sample {
                value: point.value,
                timestamp: point.time_ms,
                start_timestamp: if is_counter { point.start_ms } else { 0 },
            };
            encoding::message::encode(SAMPLES, &sample, &mut one);
        }
        metadata.clear();
        encoding::int32::encode(TYPE, if is_counter { &COUNTER } else { &GAUGE }, &mut metadata);
        if describes {
            let (help, unit) = series.about(number).help_and_unit();
            for (tag, text) in [(HELP, help), (UNIT, unit)] {
                if !text.is_empty() {
                    encoding::uint32::encode(tag, &symbols.of_text(text, series), &mut metadata);
                }
            }
        }
        put_bytes(METADATA, &metadata, &mut one);
        put_bytes(SERIES, &one, &mut all);
    }
    out.extend_from_slice(&symbols.encoded);
    out.extend_from_slice(&all);
}

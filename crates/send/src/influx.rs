//! InfluxDB's line protocol over HTTP: `MEASUREMENT,TAG=VALUE value=NUMBER MILLISECONDS`.
//!
//! The measurement is the name of the metric, the labels are tags.  The protocol
//! (<https://docs.influxdata.com/influxdb/v1/write_protocols/line_protocol_reference/>) has no word for the
//! end of a series and none for what is no number: such points are left out.  A point that is written twice is
//! there once.

use std::io::Write as _;

use http_client::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use http_client::{ClientAnswer, HttpUrl};
use promql::NAME;

use crate::batch::{BatchPoint, BatchSeries, in_order_of_series};
use crate::engine::SendOutcome;
use crate::exchange::said;
use crate::gzip::GzipPacker;
use crate::http::{FormRequest, HttpForm, by_status, is_usually_later};

/// Where InfluxDB 1 and VictoriaMetrics take it.
const USUAL_PATH: &str = "/write";

/// The form.
pub(crate) struct Influx {
    target: String,
    packer: GzipPacker,
}

impl Influx {
    pub(crate) fn new(url: &HttpUrl) -> Self {
        let mut target = url.target_or(USUAL_PATH);
        target.push(if target.contains('?') { '&' } else { '?' });
        target.push_str("precision=ms");
        Influx { target, packer: GzipPacker::default() }
    }
}

/// Adds what each line of a series begins with.
fn put_head(series: &BatchSeries, number: u32, head: &mut String) {
    let labels = series.labels(number);
    push(head, labels.get(NAME), &[',', ' ']);
    for (name, value) in labels.iter().filter(|(name, _)| *name != NAME) {
        // A backslash at the end would escape what follows: there is no way to write it.
        let value = value.trim_end_matches('\\');
        if !value.is_empty() {
            head.push(',');
            push(head, name, &[',', '=', ' ']);
            head.push('=');
            push(head, value, &[',', '=', ' ']);
        }
    }
    head.push_str(" value=");
}

/// Adds a text with a backslash before these characters; a line has no end of a line in it.
fn push(line: &mut String, text: &str, escaped: &[char]) {
    let is_plain = |byte: u8| !matches!(byte, b'\n' | b'\r' | b',' | b'=' | b' ');
    if text.bytes().all(is_plain) {
        return line.push_str(text);
    }
    for character in text.chars() {
        match character {
            '\n' => line.push_str("\\\\n"),
            '\r' => line.push_str("\\\\r"),
            one if escaped.contains(&one) => line.extend(['\\', one]),
            one => line.push(one),
        }
    }
}

/// The lines of points: their heads are made once for points of a series that follow each other.
pub(crate) fn lines(series: &BatchSeries, points: &[BatchPoint]) -> Vec<u8> {
    let (mut lines, mut head, mut head_of) = (Vec::new(), String::new(), None);
    for point in points.iter().filter(|point| point.value.is_finite()) {
        if head_of != Some(point.series) {
            head.clear();
            put_head(series, point.series, &mut head);
            head_of = Some(point.series);
        }
        // Writing into memory does not fail.
        let _ = writeln!(lines, "{head}{:?} {}", point.value, point.time_ms);
    }
    lines
}

impl HttpForm for Influx {
    fn request(&mut self, series: &BatchSeries, points: &[BatchPoint]) -> Option<FormRequest> {
        // The window of gzip has 32 KiB, which is less than the lines of a sample.
        let lines = lines(series, &in_order_of_series(points));
        if lines.is_empty() {
            return None;
        }
        let body = self.packer.pack(&lines);
        let header = HeaderValue::from_static;
        let headers = vec![
            (CONTENT_TYPE, header("text/plain; charset=utf-8")),
            (CONTENT_ENCODING, header("gzip")),
        ];
        Some(FormRequest { target: self.target.clone(), headers, body })
    }

    fn outcome(&mut self, answer: &ClientAnswer) -> SendOutcome {
        by_status(answer, said(answer), is_usually_later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::SeriesKind;

    #[test]
    fn labels_are_escaped_as_the_protocol_says() {
        let mut series = BatchSeries::default();
        let labels = [
            (NAME, "a_b"),
            ("mount", "/my disk,x=y"),
            ("end", "c:\\"),
            ("line", "a\nb\\040"),
            ("none", "\\\\"),
        ];
        let number = series.number(&labels.into_iter().collect(), SeriesKind::Gauge, (None, 0));
        let mut head = String::new();
        put_head(&series, number, &mut head);
        assert_eq!(head, "a_b,end=c:,line=a\\\\nb\\040,mount=/my\\ disk\\,x\\=y value=");
    }

    #[test]
    fn the_address_may_name_a_database() {
        for (url, target) in [
            ("http://h:8428", "/write?precision=ms"),
            ("http://h:8086/?db=whit", "/write?db=whit&precision=ms"),
            ("http://h/api/v2/write?org=o&bucket=b", "/api/v2/write?org=o&bucket=b&precision=ms"),
        ] {
            assert_eq!(Influx::new(&HttpUrl::parse(url).unwrap()).target, target);
        }
    }
}

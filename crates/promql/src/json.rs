//! Answers as Prometheus's interface writes them.

use std::fmt::{self, Write};

use crate::growing::{StepSeries, StepValues};
use crate::number::{write_exponent, write_number};
use crate::{Labels, QueryValue, SeriesPoint};

/// The most bytes of a sample in a list: a time of 64 bits, a number of 17 digits, their signs and points,
/// and what is around them.
const SAMPLE_BYTES_MAX: usize = 64;

/// Samples that [`AnswerWriter::write_next`] writes at a time: 16 KiB at most.
const SAMPLES_AT_A_TIME: usize = 256;

/// Writes the object `data` of an answer, its type and its result, a little at a time.  Each series is
/// freed when it is written, so that the text need never be in memory beside the samples.
#[derive(Debug)]
pub struct AnswerWriter {
    answer: QueryValue,
    place: WritePosition,
}

/// How far an answer is written.
#[derive(Clone, Copy, Debug, Default)]
struct WritePosition {
    is_begun: bool,
    item: usize,
    sample: usize,
}

impl AnswerWriter {
    /// Nothing is written yet.
    #[must_use]
    pub fn new(answer: QueryValue) -> Self {
        AnswerWriter { answer, place: WritePosition::default() }
    }

    /// Writes some more, and says whether there is more after it.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write_next(&mut self, out: &mut impl Write) -> Result<bool, fmt::Error> {
        let item = self.place.item;
        let is_more = self.place.write_next(&self.answer, out)?;
        if self.place.item > item {
            match &mut self.answer {
                QueryValue::Matrix(series) => series[item].samples = Vec::new(),
                QueryValue::Steps(_, series) => series[item].values = StepValues::default(),
                _ => {}
            }
        }
        Ok(is_more)
    }
}

/// Whether the object `data` of an answer has so many bytes at most.  It is written to count them only
/// if it might have more.
#[must_use]
pub fn answer_fits(answer: &QueryValue, bytes_max: usize) -> bool {
    if let QueryValue::Steps(_, series) = answer
        && take_most(series, &mut Room(bytes_max)).is_ok()
    {
        return true;
    }
    let (mut room, mut place) = (Room(bytes_max), WritePosition::default());
    loop {
        match place.write_next(answer, &mut room) {
            Ok(true) => {}
            Ok(false) => return true,
            Err(fmt::Error) => return false,
        }
    }
}

/// Takes what a list of series needs at most.
fn take_most(series: &[StepSeries], room: &mut Room) -> fmt::Result {
    write_begin("matrix", "[", room)?;
    for one in series {
        write_head(1, &one.labels, "values", room)?;
        room.spend(one.count().saturating_mul(SAMPLE_BYTES_MAX))?;
        room.write_str("[]}")?;
    }
    room.write_str("]}")
}

impl WritePosition {
    /// Writes some more of an answer, and says whether there is more after it.
    fn write_next(
        &mut self,
        answer: &QueryValue,
        out: &mut impl Write,
    ) -> Result<bool, fmt::Error> {
        if !self.is_begun {
            self.is_begun = true;
            let (kind, bracket) = match answer {
                QueryValue::Scalar(_) => ("scalar", ""),
                QueryValue::Text(..) => ("string", ""),
                QueryValue::Vector(_) => ("vector", "["),
                QueryValue::Matrix(_) | QueryValue::Steps(..) => ("matrix", "["),
            };
            write_begin(kind, bracket, out)?;
            return Ok(true);
        }
        match answer {
            QueryValue::Scalar(sample) => write_sample(*sample, false, out)?,
            QueryValue::Text(time_ms, text) => {
                write!(out, "[{},", *time_ms as f64 / 1000.0)?;
                write_text(text, out)?;
                out.write_char(']')?;
            }
            QueryValue::Vector(elements) => match elements.get(self.item) {
                Some((labels, sample)) => {
                    write_head(self.item, labels, "value", out)?;
                    write_sample(*sample, true, out)?;
                    out.write_char('}')?;
                    self.item += 1;
                    return Ok(true);
                }
                None => out.write_char(']')?,
            },
            QueryValue::Matrix(series) => match series.get(self.item) {
                Some(one) => {
                    let samples = one.samples.iter().skip(self.sample).copied();
                    self.write_samples(&one.labels, samples, one.samples.len(), out)?;
                    return Ok(true);
                }
                None => out.write_char(']')?,
            },
            QueryValue::Steps(period, series) => match series.get(self.item) {
                Some(one) => {
                    let samples = one.samples_from(self.sample, *period);
                    self.write_samples(&one.labels, samples, one.count(), out)?;
                    return Ok(true);
                }
                None => out.write_char(']')?,
            },
        }
        out.write_char('}')?;
        Ok(false)
    }

    /// Writes the next of those samples of a series that are left, its labels before the first and its
    /// end after the last.
    fn write_samples(
        &mut self,
        labels: &Labels,
        left: impl Iterator<Item = SeriesPoint>,
        count: usize,
        out: &mut impl Write,
    ) -> fmt::Result {
        if self.sample == 0 {
            write_head(self.item, labels, "values", out)?;
            out.write_char('[')?;
        }
        for sample in left.take(SAMPLES_AT_A_TIME) {
            if self.sample > 0 {
                out.write_char(',')?;
            }
            write_sample(sample, true, out)?;
            self.sample += 1;
        }
        if self.sample == count {
            out.write_str("]}")?;
            (self.item, self.sample) = (self.item + 1, 0);
        }
        Ok(())
    }
}

/// Takes so many bytes and keeps none.
struct Room(usize);

impl Room {
    fn spend(&mut self, bytes: usize) -> fmt::Result {
        self.0 = self.0.checked_sub(bytes).ok_or(fmt::Error)?;
        Ok(())
    }
}

impl Write for Room {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.spend(text.len())
    }
}

/// Writes what stands before the items of an answer.
fn write_begin(kind: &str, bracket: &str, out: &mut impl Write) -> fmt::Result {
    write!(out, "{{\"resultType\":\"{kind}\",\"result\":{bracket}")
}

/// Writes what stands before the samples of an item.
fn write_head(item: usize, labels: &Labels, samples: &str, out: &mut impl Write) -> fmt::Result {
    out.write_str(if item > 0 { ",{\"metric\":" } else { "{\"metric\":" })?;
    write_labels(labels, out)?;
    write!(out, ",\"{samples}\":")
}

/// Writes labels as an object.
///
/// # Errors
/// If `out` fails.
pub fn write_labels(labels: &Labels, out: &mut impl Write) -> fmt::Result {
    out.write_char('{')?;
    for (index, (name, value)) in labels.iter().enumerate() {
        if index > 0 {
            out.write_char(',')?;
        }
        write_text(name, out)?;
        out.write_char(':')?;
        write_text(value, out)?;
    }
    out.write_char('}')
}

/// Writes a text in quotes, escaped as Go does.
///
/// # Errors
/// If `out` fails.
pub fn write_text(text: &str, out: &mut impl Write) -> fmt::Result {
    out.write_char('"')?;
    for letter in text.chars() {
        match letter {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            // A page that contains the answer must not take it for markup or the end of a line.
            '\0'..' ' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                write!(out, "\\u{:04x}", u32::from(letter))?;
            }
            _ => out.write_char(letter)?,
        }
    }
    out.write_char('"')
}

/// Writes a sample; a sample of a series has three digits of milliseconds, and large and small
/// numbers with exponents.
fn write_sample(sample: SeriesPoint, of_series: bool, out: &mut impl Write) -> fmt::Result {
    let SeriesPoint { time_ms, value } = sample;
    let milliseconds = time_ms.unsigned_abs() % 1000;
    match (of_series, milliseconds) {
        (false, _) => write!(out, "[{}", time_ms as f64 / 1000.0)?,
        (true, 0) => write!(out, "[{}", time_ms / 1000)?,
        (true, _) => {
            let sign = if time_ms < 0 { "-" } else { "" };
            write!(out, "[{sign}{}.{milliseconds:03}", time_ms.unsigned_abs() / 1000)?;
        }
    }
    out.write_str(",\"")?;
    let size = value.abs();
    if of_series && size != 0.0 && size.is_finite() && !(1e-6..1e21).contains(&size) {
        write_exponent(value, out)?;
    } else {
        write_number(value, out)?;
    }
    out.write_str("\"]")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{QuerySteps, Series};

    fn text_of(answer: QueryValue) -> String {
        let mut text = String::new();
        let mut writer = AnswerWriter::new(answer);
        while writer.write_next(&mut text).unwrap() {}
        text
    }

    /// A step a second, from 1970 on.
    const SECONDS: QuerySteps = QuerySteps { start_ms: 0, end_ms: 1_000_000, step_ms: 1000 };

    /// Series of which each has so many samples, at all seconds but one of three.
    fn series_of(counts: &[usize]) -> Vec<StepSeries> {
        let one = |(index, count): (usize, &usize)| {
            let labels = Arc::new([("is", index.to_string())].into_iter().collect());
            let mut values = StepValues::default();
            let steps = (0..u32::MAX).filter(|step| step % 3 != 0).take(*count);
            steps.for_each(|step| values.push(step, f64::from(step)));
            StepSeries { labels, values }
        };
        counts.iter().enumerate().map(one).collect()
    }

    /// The same with a time for each sample.
    fn samples_of(counts: &[usize]) -> Vec<Series> {
        let one = |one: StepSeries| Series {
            samples: one.samples_from(0, SECONDS).collect(),
            labels: one.labels,
        };
        series_of(counts).into_iter().map(one).collect()
    }

    fn sample(time_ms: i64, value: f64) -> SeriesPoint {
        SeriesPoint { time_ms, value }
    }

    #[test]
    fn series_are_written_a_little_at_a_time_and_freed() {
        let counts = [0, 1, SAMPLES_AT_A_TIME, 0, SAMPLES_AT_A_TIME * 3 + 1];
        let series = series_of(&counts);
        let items = series.iter().map(|one| {
            let samples = one.samples_from(0, SECONDS);
            let samples = samples.map(|at| format!("[{0},\"{0}\"]", at.value));
            let samples = samples.collect::<Vec<_>>().join(",");
            format!("{{\"metric\":{{\"is\":\"{}\"}},\"values\":[{samples}]}}", one.labels.get("is"))
        });
        let items = items.collect::<Vec<_>>().join(",");
        let whole = format!("{{\"resultType\":\"matrix\",\"result\":[{items}]}}");
        let mut writer = AnswerWriter::new(QueryValue::Steps(SECONDS, series));
        let mut text = String::new();
        loop {
            let before = text.len();
            let is_more = writer.write_next(&mut text).unwrap();
            assert!(text.len() - before <= SAMPLES_AT_A_TIME * SAMPLE_BYTES_MAX);
            let QueryValue::Steps(_, series) = &writer.answer else { panic!("no matrix") };
            let (written, left) = series.split_at(writer.place.item);
            assert!(written.iter().all(|one| one.values == StepValues::default()));
            assert!(left.iter().zip(&counts[written.len()..]).all(|(a, b)| a.count() == *b));
            if !is_more {
                break;
            }
        }
        assert_eq!(text, whole);
        assert_eq!(text_of(QueryValue::Matrix(samples_of(&counts))), whole);
    }

    #[test]
    fn an_answer_fits_into_its_bytes_and_no_fewer() {
        let element = |index: usize| {
            (series_of(&[0; 9])[index].labels.clone(), sample(-1001, f64::MIN_POSITIVE))
        };
        for answer in [
            QueryValue::Scalar(sample(1, 2.0)),
            QueryValue::Text(1, "a\u{1}<".to_owned()),
            QueryValue::Vector(Vec::new()),
            QueryValue::Vector((0..9).map(element).collect()),
            QueryValue::Matrix(Vec::new()),
            QueryValue::Matrix(samples_of(&[0, 1, 1000])),
            QueryValue::Steps(SECONDS, Vec::new()),
            QueryValue::Steps(SECONDS, series_of(&[0, 1, 1000])),
        ] {
            let bytes = text_of(answer.clone()).len();
            assert!(answer_fits(&answer, bytes) && answer_fits(&answer, usize::MAX));
            assert!(!answer_fits(&answer, bytes - 1) && !answer_fits(&answer, 0));
        }
    }

    #[test]
    fn no_sample_is_longer_than_the_longest() {
        let numbers =
            [f64::MIN, -f64::MIN_POSITIVE, -5e-324, -1e-6 / 3.0, -1e-5 / 7.0, -1e21 / 3.0];
        for value in numbers.into_iter().flat_map(|value| [value, value * 1.1, value / 1.1]) {
            let mut text = ",".to_owned();
            write_sample(sample(i64::MIN, value), true, &mut text).unwrap();
            assert!(text.len() <= SAMPLE_BYTES_MAX, "{text}");
        }
    }

    #[test]
    fn numbers_as_go_writes_them() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e-7, "1.5e-07"),
            (-2.25e300, "-2.25e+300"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Inf"),
        ];
        for (value, text) in cases {
            let mut out = String::new();
            write_sample(SeriesPoint { time_ms: -1005, value }, true, &mut out).unwrap();
            assert_eq!(out, format!("[-1.005,\"{text}\"]"));
        }
    }
}

//! What a picture shows: a column of means and maxima for each step of time, and their summary.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::PagePeriod;
use crate::log_file::{LogHistory, LogLine, Steps};

/// One column of a picture, one step of time, newest first.
#[derive(Debug)]
pub(super) struct Column {
    /// Rates in the unit of the picture.
    pub(super) line: LogLine,
    /// What stands below the column.
    pub(super) label: Option<String>,
    /// Whether a dotted line crosses the picture here.
    pub(super) has_line: bool,
    /// Whether the line is red: midnight, Monday, the first of a month or year.
    pub(super) is_major: bool,
}

/// What the page says about a period, in the unit of the target (bytes, also with `bits`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Largest values: of in and of out.
    pub max: [i64; 2],
    /// Means of the steps that have a value.
    pub mean: [i64; 2],
    /// Values of the newest step.
    pub current: [i64; 2],
    /// Means of the maxima.
    pub mean_max: [i64; 2],
    /// In as per cent of out, with `dorelpercent`: largest, mean, newest.
    pub percent: Option<[i64; 3]>,
}

/// How columns are made.
#[derive(Debug, Clone)]
pub(super) struct ColumnRules {
    pub(super) period: PagePeriod,
    pub(super) count: usize,
    /// 8 for bits, else 1.
    pub(super) factor: f64,
    pub(super) has_peaks: bool,
    pub(super) has_percent: bool,
    pub(super) counts_zeroes: bool,
    pub(super) hides: [bool; 2],
    /// Number of the week in labels: `U`, `V` or `W`.
    pub(super) week_format: char,
    pub(super) time_zone: TimeZone,
}

/// The columns of a period, their summary, and the largest value that is drawn.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) columns: Vec<Column>,
    pub(super) summary: Summary,
    pub(super) largest: i64,
}

impl Columns {
    pub(super) fn new(history: &LogHistory, now: i64, rules: &ColumnRules) -> Self {
        let step = rules.period.step();
        let mut steps = Steps::new(history);
        let mut time = now - now.rem_euclid(step);
        let mut columns = Vec::with_capacity(rules.count);
        let mut sums = Sums::default();
        for _ in 0..rules.count {
            let mut column = Column::at(steps.line_time(), rules);
            column.line = scaled(steps.step(time, step), rules.factor);
            sums.add(&column.line, rules);
            columns.push(column);
            time -= step;
        }
        let newest = columns.first().map(|column| column.line).unwrap_or_default();
        Columns { columns, summary: sums.summary(&newest, rules), largest: sums.largest }
    }
}

/// Rates in the unit of the picture; maxima stay whole numbers.
fn scaled(line: LogLine, factor: f64) -> LogLine {
    LogLine {
        time: line.time,
        input: line.input * factor,
        output: line.output * factor,
        input_max: (line.input_max * factor).trunc(),
        output_max: (line.output_max * factor).trunc(),
    }
}

#[derive(Default)]
struct Sums {
    count: f64,
    total: [f64; 2],
    total_max: [f64; 2],
    max: [i64; 2],
    percent_max: i64,
    largest: i64,
}

impl Sums {
    fn add(&mut self, line: &LogLine, rules: &ColumnRules) {
        let (mean, max) = ([line.input, line.output], [line.input_max, line.output_max]);
        if rules.counts_zeroes || mean.iter().chain(&max).any(|&value| value > 0.0) {
            self.count += 1.0;
        }
        for side in 0..2 {
            self.total[side] += mean[side];
            self.total_max[side] += max[side];
            let shown = if rules.has_peaks { max[side] } else { mean[side] };
            self.max[side] = (self.max[side] as f64).max(shown) as i64;
            if !rules.hides[side] {
                self.largest = (self.largest as f64).max(shown) as i64;
            }
        }
        if rules.has_percent && line.output != 0.0 {
            let percent = 100.0 * line.input / line.output;
            self.percent_max = (self.percent_max as f64).max(percent) as i64;
        }
    }

    fn summary(&self, newest: &LogLine, rules: &ColumnRules) -> Summary {
        let count = if self.count > 0.0 { self.count } else { 1.0 };
        let rounded = |value: f64| (value / rules.factor + 0.5) as i64;
        let mean = |total: [f64; 2]| total.map(|total| rounded(total / count));
        let percent = |input: f64, output: f64| match output {
            0.0 => 0,
            _ => (100.0 * input / output + 0.5) as i64,
        };
        Summary {
            max: self.max.map(|max| max / rules.factor as i64),
            mean: mean(self.total),
            current: [newest.input, newest.output].map(rounded),
            mean_max: mean(self.total_max),
            percent: rules.has_percent.then(|| {
                let mean = if self.count > 0.0 { percent(self.total[0], self.total[1]) } else { 0 };
                [self.percent_max, mean, percent(newest.input, newest.output)]
            }),
        }
    }
}

impl Column {
    /// Lines and label of the column whose step begins in the line of this time.
    fn at(time: i64, rules: &ColumnRules) -> Self {
        let zoned =
            Timestamp::from_second(time).unwrap_or_default().to_zoned(rules.time_zone.clone());
        let (label, has_line, is_major) = match rules.period {
            PagePeriod::Day => day(&zoned),
            PagePeriod::Week => week(&zoned),
            PagePeriod::Month => month(&zoned, rules.week_format),
            PagePeriod::Year => year(&zoned),
        };
        Column { line: LogLine::default(), label, has_line: has_line || is_major, is_major }
    }
}

type Marks = (Option<String>, bool, bool);

/// A line each hour, a red one at midnight, every second hour by its number.
fn day(at: &Zoned) -> Marks {
    let is_hour = at.minute() < 5;
    let label = (is_hour && at.hour() % 2 == 0).then(|| at.hour().to_string());
    (label, is_hour, is_hour && at.hour() == 0)
}

/// A line each day, a red one each Monday, the name of the day at noon.
fn week(at: &Zoned) -> Marks {
    let is_half = at.minute() < 30;
    let is_midnight = is_half && at.hour() == 0;
    let label = (is_half && at.hour() == 12).then(|| at.strftime("%a").to_string());
    (label, is_midnight, is_midnight && at.weekday() == jiff::civil::Weekday::Monday)
}

/// A line each Monday, a red one on the first of the month, the number of the week on Thursday.
fn month(at: &Zoned, week_format: char) -> Marks {
    let is_night = at.hour() < 2;
    let is_noon = (11..=12).contains(&at.hour());
    let label = (is_noon && at.weekday() == jiff::civil::Weekday::Thursday).then(|| {
        let number = match week_format {
            'U' => at.strftime("%U").to_string(),
            'W' => at.strftime("%W").to_string(),
            _ => at.strftime("%V").to_string(),
        };
        format!("Week {number}")
    });
    let is_monday = at.weekday() == jiff::civil::Weekday::Monday;
    (label, is_night && is_monday, is_night && at.day() == 1)
}

/// A line each month, a red one at new year, the name of the month on its 15th.
fn year(at: &Zoned) -> Marks {
    let label = (at.day() == 15).then(|| at.strftime("%b").to_string());
    (label, at.day() == 1, at.day_of_year() == 1)
}

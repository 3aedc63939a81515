//! The time axis: which lines and labels it has.
//!
//! Chosen by the seconds that a pixel stands for; all steps are calendar arithmetic in a time
//! zone, so that days
//! and months are right where clocks change.

use calendar::{CivilZone, strftime};
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan as _, Zoned};

use crate::settings::TimeUnit::{self, Day, Hour, Minute, Month, Second, Week};
use crate::settings::{Settings, TimeGrid, XGrid};

/// A row of the table below: from how many seconds per pixel, and from which length, in seconds;
/// minor and
/// major lines, labels; the seconds that a label stands for; its format.
type Row = (f64, i64, (TimeUnit, i64), (TimeUnit, i64), (TimeUnit, i64), i64, &'static str);

const DAY: i64 = 86_400;
const WEEK: i64 = 7 * DAY;
const MONTH: i64 = 30 * DAY;
const YEAR: i64 = 365 * DAY;

/// Stands for [`Settings::week_format`].
const WEEK_FORMAT: &str = "";

#[rustfmt::skip]
const ROWS: [Row; 37] = [
    (0.0, 0, (Second, 1), (Second, 5), (Second, 1), 0, "%H:%M:%S"),
    (0.015, 0, (Second, 1), (Second, 5), (Second, 5), 0, "%H:%M:%S"),
    (0.08, 0, (Second, 1), (Second, 5), (Second, 10), 0, "%H:%M:%S"),
    (0.15, 0, (Second, 5), (Second, 15), (Second, 30), 0, "%H:%M:%S"),
    (0.4, 0, (Second, 10), (Minute, 1), (Minute, 1), 0, "%H:%M"),
    (0.7, 0, (Second, 20), (Minute, 1), (Minute, 1), 0, "%H:%M"),
    (1.0, 0, (Second, 30), (Minute, 1), (Minute, 2), 0, "%H:%M"),
    (2.0, 0, (Minute, 1), (Minute, 5), (Minute, 5), 0, "%H:%M"),
    (5.0, 0, (Minute, 2), (Minute, 10), (Minute, 10), 0, "%H:%M"),
    (10.0, 0, (Minute, 5), (Minute, 20), (Minute, 20), 0, "%H:%M"),
    (30.0, 0, (Minute, 10), (Minute, 30), (Hour, 1), 0, "%H:%M"),
    (60.0, 0, (Minute, 30), (Hour, 1), (Hour, 2), 0, "%H:%M"),
    (60.0, DAY, (Minute, 30), (Hour, 1), (Hour, 3), 0, "%a %H:%M"),
    (140.0, 0, (Hour, 1), (Hour, 2), (Hour, 4), 0, "%a %H:%M"),
    (180.0, 0, (Hour, 1), (Hour, 3), (Hour, 6), 0, "%a %H:%M"),
    (300.0, 0, (Hour, 2), (Hour, 6), (Hour, 12), 0, "%a %H:%M"),
    (600.0, 0, (Hour, 6), (Day, 1), (Day, 1), DAY, "%a %d %b"),
    (1200.0, 0, (Hour, 6), (Day, 1), (Day, 1), DAY, "%d %b"),
    (1800.0, 0, (Hour, 12), (Day, 1), (Day, 2), DAY, "%a %d %b"),
    (2400.0, 0, (Hour, 12), (Day, 1), (Day, 2), DAY, "%d %b"),
    (3600.0, 0, (Day, 1), (Week, 1), (Week, 1), WEEK, WEEK_FORMAT),
    (12_000.0, 0, (Day, 1), (Month, 1), (Month, 1), MONTH, "%B %Y"),
    (18_000.0, 0, (Day, 2), (Month, 1), (Month, 1), MONTH, "%B %Y"),
    (23_000.0, 0, (Week, 1), (Month, 1), (Month, 1), MONTH, "%b %Y"),
    (32_000.0, 0, (Week, 1), (Month, 1), (Month, 1), MONTH, "%b '%g"),
    (42_000.0, 0, (Week, 1), (Month, 1), (Month, 2), MONTH, "%B %Y"),
    (52_000.0, 0, (Week, 1), (Month, 1), (Month, 2), MONTH, "%b %Y"),
    (78_000.0, 0, (Week, 1), (Month, 1), (Month, 2), MONTH, "%b '%g"),
    (84_000.0, 0, (Week, 2), (Month, 1), (Month, 3), MONTH, "%B %Y"),
    (94_000.0, 0, (Week, 2), (Month, 1), (Month, 3), MONTH, "%b %Y"),
    (120_000.0, 0, (Week, 2), (Month, 1), (Month, 3), MONTH, "%b '%g"),
    (130_000.0, 0, (Month, 1), (Month, 2), (Month, 4), 0, "%Y-%m-%d"),
    (142_000.0, 0, (Month, 1), (Month, 3), (Month, 6), 0, "%Y-%m-%d"),
    (220_000.0, 0, (Month, 1), (Month, 6), (Month, 12), 0, "%Y-%m-%d"),
    (400_000.0, 0, (Month, 2), (Month, 12), (Month, 12), YEAR, "%Y"),
    (800_000.0, 0, (Month, 4), (Month, 12), (Month, 24), YEAR, "%Y"),
    (2_000_000.0, 0, (Month, 6), (Month, 12), (Month, 24), YEAR, "'%g"),
];

/// More lines or labels than any width can show; a grid that has more ends there.
const STEPS_MAX: usize = 20_000;

/// Lines and labels of a time axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct TimeLines {
    /// Times of minor lines, in seconds since the epoch.
    pub(crate) minor: Vec<i64>,
    /// Times of major lines.
    pub(crate) major: Vec<i64>,
    /// Times of labels, and their texts.
    pub(crate) labels: Vec<(i64, String)>,
}

/// The grid that fits a range, in seconds since the epoch, on a width in pixels.
pub(crate) fn choose(settings: &Settings, start: i64, end: i64, width: i64) -> Option<TimeGrid> {
    match &settings.x_grid {
        XGrid::Absent => return None,
        XGrid::Given(grid) => return Some(grid.clone()),
        XGrid::Automatic => {}
    }
    let length = end - start;
    let per_pixel = length as f64 / width as f64;
    let mut index = ROWS.iter().rposition(|row| row.0 <= per_pixel).unwrap_or(0);
    while index > 0 && ROWS[index - 1].0 == ROWS[index].0 && ROWS[index].1 > length {
        index -= 1;
    }
    let (_, _, minor, major, label, span_seconds, format) = ROWS[index];
    let format = if format == WEEK_FORMAT { &settings.week_format } else { format };
    Some(TimeGrid { minor, major, label, span_seconds, format: format.to_owned() })
}

/// All lines and labels of a grid between two times.
pub(crate) fn lines(
    grid: &TimeGrid,
    with_minor: bool,
    start: i64,
    end: i64,
    zone: &CivilZone,
) -> TimeLines {
    let mut found = TimeLines::default();
    let clock = zone.time_zone();
    let inside = |time: &i64| *time >= start && *time <= end;
    let major = Steps::new(start, grid.major, clock).take_while(|time| *time < end);
    found.major = major.filter(inside).collect();
    if with_minor {
        let minor = Steps::new(start, grid.minor, clock).take_while(|time| *time < end);
        let is_major = |time: &i64| found.major.binary_search(time).is_ok();
        found.minor = minor.filter(|time| inside(time) && !is_major(time)).collect();
    }
    let half = grid.span_seconds / 2;
    let labels = Steps::new(start.saturating_sub(half), grid.label, clock)
        .take_while(|time| *time <= end.saturating_sub(half));
    let labels = labels.map(|time| time.saturating_add(half)).filter(inside);
    found.labels = labels.map(|time| (time, strftime(&grid.format, time, Some(zone)))).collect();
    found
}

/// Times at equal calendar distances, from the last before a start.
struct Steps<'a> {
    next: Option<i64>,
    every: (TimeUnit, i64),
    zone: &'a TimeZone,
    left: usize,
}

impl<'a> Steps<'a> {
    fn new(start: i64, every: (TimeUnit, i64), zone: &'a TimeZone) -> Self {
        Self { next: first(start, every, zone), every, zone, left: STEPS_MAX }
    }
}

impl Iterator for Steps<'_> {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        let time = self.next?;
        self.left = self.left.checked_sub(1)?;
        self.next = later(time, self.every, self.zone);
        Some(time)
    }
}

fn civil(time: i64, zone: &TimeZone) -> Option<DateTime> {
    let zoned: Zoned = Timestamp::from_second(time).ok()?.to_zoned(zone.clone());
    Some(zoned.datetime())
}

fn seconds(civil: DateTime, zone: &TimeZone) -> Option<i64> {
    zone.to_ambiguous_timestamp(civil).compatible().ok().map(Timestamp::as_second)
}

/// The last round time at or before `start`.
///
/// Below a day, clocks that change meanwhile do not count: that is how RRDtool asks mktime(3).
fn first(start: i64, (unit, step): (TimeUnit, i64), zone: &TimeZone) -> Option<i64> {
    let now = civil(start, zone)?;
    let date = now.date();
    let (hour, minute, second) =
        (i64::from(now.hour()), i64::from(now.minute()), i64::from(now.second()));
    let day = match unit {
        Second => return Some(start - second % step),
        Minute => return Some(start - second - minute % step * 60),
        Hour => return Some(start - second - minute * 60 - hour % step * 3600),
        Day => date,
        // The C locale's weeks begin on Sunday.
        Week => {
            let back = i64::from(date.weekday().to_sunday_zero_offset());
            date.checked_sub(back.days()).ok()?
        }
        Month => {
            let month = date.month() - ((i64::from(date.month()) - 1) % step) as i8;
            Date::new(date.year(), month, 1).ok()?
        }
        TimeUnit::Year => {
            let year = date.year() - (i64::from(date.year()) % step) as i16;
            Date::new(year, 1, 1).ok()?
        }
    };
    seconds(day.at(0, 0, 0, 0), zone)
}

/// The next round time.  Days that the clock skips are passed over.
fn later(time: i64, (unit, step): (TimeUnit, i64), zone: &TimeZone) -> Option<i64> {
    let now = civil(time, zone)?;
    for count in 1..=2 {
        let by = step.checked_mul(count)?;
        let span = Span::new();
        let span = match unit {
            Second => return time.checked_add(step),
            Minute => return time.checked_add(step.checked_mul(60)?),
            Hour => return time.checked_add(step.checked_mul(3600)?),
            Day => span.try_days(by),
            Week => span.try_weeks(by),
            Month => span.try_months(by),
            TimeUnit::Year => span.try_years(by),
        };
        let next = seconds(now.checked_add(span.ok()?).ok()?, zone)?;
        if next > time {
            return Some(next);
        }
    }
    None
}

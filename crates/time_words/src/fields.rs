//! Local time in fields, and back to seconds: C's `localtime` and `mktime`.
//!
//! Fields may be out of their range (month 14, day -3): they carry over.  As in C, fields remember
//! whether they are summer time; a date moved to another season keeps that, and so its hour differs
//! by one there.  RRDtool's users have had that for `end-6months`.

use calendar::{CivilTime, CivilZone, DAY_S, days_of_date};

use crate::ResolveError;

/// Least and greatest year that is computed with; RRDtool computes up to about 30,000.
const YEARS: std::ops::RangeInclusive<i64> = -1_000_000..=1_000_000;

/// Largest amount of a field.
const FIELD_MAX: i64 = 1 << 40;

/// How far C looks for a time with the wanted season, and in which steps, in seconds.
const SEASON_REACH_S: i64 = 268_435_456;
const SEASON_STEP_S: i64 = 601_200;

/// The fields of a [`crate::TimeSpec`], as C's `struct tm` names them.  Of a time that is relative to
/// another, they are what is added to its fields.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct CalendarFields {
    /// The year, all of it: 2026, not 126.
    pub year: i64,
    /// The month, from 0.
    pub month: i64,
    /// The day of the month.
    pub day: i64,
    /// The hour of the day.
    pub hour: i64,
    /// The minute of the hour.
    pub minute: i64,
    /// The second of the minute.
    pub second: i64,
    /// The day of the week, from 0, Sunday.
    pub weekday: i64,
    /// Whether it is summer time, if that is known; if not, `mktime` finds it out.
    pub is_summer: Option<bool>,
}

impl CalendarFields {
    pub(crate) const EPOCH: CalendarFields = CalendarFields {
        year: 1970,
        month: 0,
        day: 1,
        hour: 0,
        minute: 0,
        second: 0,
        weekday: 4,
        is_summer: None,
    };

    /// The local time of seconds since 1970.
    pub(crate) fn at(time_s: i64, zone: &CivilZone) -> Self {
        let (offset_s, is_summer) = zone.offset(time_s);
        let time = CivilTime::of_local(time_s.saturating_add(offset_s));
        let CivilTime { year, month, day, hour, minute, second, weekday } = time;
        let (month, is_summer) = (month - 1, Some(is_summer));
        CalendarFields { year, month, day, hour, minute, second, weekday, is_summer }
    }

    /// These fields, moved by years, months and days.
    pub(crate) fn plus(&self, other: &CalendarFields) -> CalendarFields {
        CalendarFields {
            year: self.year.saturating_add(other.year),
            month: self.month.saturating_add(other.month),
            day: self.day.saturating_add(other.day),
            ..*self
        }
    }

    /// Seconds since 1970, moved by seconds, and the offset of the zone at the unmoved time.
    pub(crate) fn seconds(
        &self,
        zone: &CivilZone,
        moved_s: i64,
    ) -> Result<(i64, i64), ResolveError> {
        let local_s = self.local_s()?;
        let offset_s = offset_of_local(local_s, self.is_summer, zone);
        let time_s = (local_s - offset_s).checked_add(moved_s).ok_or(ResolveError::OutOfRange)?;
        Ok((time_s, offset_s))
    }

    /// As [`CalendarFields::seconds`], of a time of Greenwich.
    pub(crate) fn seconds_utc(&self, moved_s: i64) -> Result<(i64, i64), ResolveError> {
        let time_s = self.local_s()?.checked_add(moved_s).ok_or(ResolveError::OutOfRange)?;
        Ok((time_s, 0))
    }

    fn local_s(&self) -> Result<i64, ResolveError> {
        let rest = [self.day, self.hour, self.minute, self.second, self.month];
        let year = self.year.saturating_add(self.month.div_euclid(12));
        if !YEARS.contains(&year) || rest.iter().any(|field| field.abs() > FIELD_MAX) {
            return Err(ResolveError::OutOfRange);
        }
        let days = days_of_date(year, self.month.rem_euclid(12) + 1, self.day);
        Ok(days * DAY_S + self.hour * 3600 + self.minute * 60 + self.second)
    }
}

fn offset_of_local(local_s: i64, is_summer: Option<bool>, zone: &CivilZone) -> i64 {
    // The nearest change is less than a day away, or none is near.
    let (before, _) = zone.offset(local_s.saturating_sub(DAY_S));
    let (after, _) = zone.offset(local_s.saturating_add(DAY_S));
    let holds = |offset_s: i64| zone.offset(local_s - offset_s).0 == offset_s;
    let season = |offset_s: i64| zone.offset(local_s - offset_s).1;
    let wanted = |offset_s: i64| is_summer.is_none_or(|summer| summer == season(offset_s));
    let valid = [before, after].into_iter().filter(|offset_s| holds(*offset_s));
    if let Some(offset_s) = valid.clone().find(|offset_s| wanted(*offset_s)) {
        return offset_s;
    }
    let found = valid.clone().next().unwrap_or(before);
    let Some(summer) = is_summer else { return found };
    // C takes the offset of the nearest time that is in the wanted season.
    let around = local_s - found;
    for distance in (SEASON_STEP_S..SEASON_REACH_S).step_by(SEASON_STEP_S as usize) {
        for time_s in [around.saturating_sub(distance), around.saturating_add(distance)] {
            let (offset_s, is_summer) = zone.offset(time_s);
            if is_summer == summer {
                return offset_s;
            }
        }
    }
    // Without one it takes summer time for an hour.
    found + if summer { 3600 } else { -3600 }
}

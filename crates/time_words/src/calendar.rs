//! Local time in fields, and back to seconds: C's `localtime` and `mktime`.
//!
//! Fields may be out of their range (month 14, day -3): they carry over.  As in C, fields remember
//! whether they are summer time; a date moved to another season keeps that, and so its hour differs
//! by one there.  RRDtool's users have had that for `end-6months`.

use crate::{CivilZone, ResolveError};

/// Least and greatest year that is computed with; RRDtool computes up to about 30,000.
const YEARS: std::ops::RangeInclusive<i64> = -1_000_000..=1_000_000;

/// Largest amount of a field.
const FIELD_MAX: i64 = 1 << 40;

/// How far C looks for a time with the wanted season, and in which steps, in seconds.
const SEASON_REACH_S: i64 = 268_435_456;
const SEASON_STEP_S: i64 = 601_200;

const DAY_S: i64 = 86_400;

/// The fields of a date and time.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Fields {
    pub(crate) year: i64,
    /// From 0.
    pub(crate) month: i64,
    pub(crate) day: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
    /// From 0, Sunday.
    pub(crate) weekday: i64,
    /// `None` is for `mktime` to find out.
    pub(crate) is_summer: Option<bool>,
}

impl Fields {
    pub(crate) const EPOCH: Fields = Fields {
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
        let local_s = time_s.saturating_add(offset_s);
        let days = local_s.div_euclid(DAY_S);
        let second = local_s.rem_euclid(DAY_S);
        let (year, month, day) = date(days);
        Fields {
            year,
            month,
            day,
            hour: second / 3600,
            minute: second / 60 % 60,
            second: second % 60,
            weekday: (days + 4).rem_euclid(7),
            is_summer: Some(is_summer),
        }
    }

    /// These fields, moved by years, months and days.
    pub(crate) fn plus(&self, other: &Fields) -> Fields {
        Fields {
            year: self.year.saturating_add(other.year),
            month: self.month.saturating_add(other.month),
            day: self.day.saturating_add(other.day),
            ..self.clone()
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

    /// As [`Fields::seconds`], of a time of Greenwich.
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
        let days = days(year, self.month.rem_euclid(12)) + self.day - 1;
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

/// Days from 1970 to the first day of a month (from 0).
fn days(year: i64, month: i64) -> i64 {
    let (year, month) = if month < 2 { (year - 1, month + 10) } else { (year, month - 2) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (153 * month + 2) / 5 - 719_468
}

/// Year, month (from 0) and day of a number of days since 1970.
fn date(days_of_1970: i64) -> (i64, i64, i64) {
    let mut year = (days_of_1970.saturating_add(719_468) as f64 / 365.2425).floor() as i64;
    while days(year + 1, 0) <= days_of_1970 {
        year += 1;
    }
    while days(year, 0) > days_of_1970 {
        year -= 1;
    }
    let later = (1..12).filter(|month| days(year, *month) <= days_of_1970).count() as i64;
    (year, later, days_of_1970 - days(year, later) + 1)
}

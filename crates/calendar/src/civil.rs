//! The Gregorian calendar in 64-bit numbers: a count of seconds or days as fields, and back.
//!
//! Years are counted from March, so that a leap day is the last day of its year; the calendar repeats
//! after 400 years.

/// The seconds of a day.
pub const DAY_S: i64 = 86_400;

/// The days of 400 years.
pub(crate) const CYCLE_DAYS: i64 = 146_097;

/// Days from the first of March of year 0 to the first of January 1970.
const MARCH_DAYS: i64 = 719_468;

/// The English names of the months, which C's locale has.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The English names of the days of the week, from Sunday.
pub const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// A date and a time of day, in some zone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CivilTime {
    /// The year, all of it: 2026, not 126.
    pub year: i64,
    /// The month, from 1.
    pub month: i64,
    /// The day of the month, from 1.
    pub day: i64,
    /// The hour of the day.
    pub hour: i64,
    /// The minute of the hour.
    pub minute: i64,
    /// The second of the minute.
    pub second: i64,
    /// The day of the week, from 0, Sunday.
    pub weekday: i64,
}

impl CivilTime {
    /// The fields of a count of seconds since 1970-01-01 00:00 of the same zone.
    #[inline]
    #[must_use]
    pub fn of_local(local_s: i64) -> Self {
        let days = local_s.div_euclid(DAY_S);
        let second = local_s.rem_euclid(DAY_S);
        let (year, month, day) = date_of_days(days);
        CivilTime {
            year,
            month,
            day,
            hour: second / 3600,
            minute: second / 60 % 60,
            second: second % 60,
            weekday: (days + 4).rem_euclid(7),
        }
    }

    /// The day of the year, from 0.
    #[must_use]
    pub fn day_of_year(&self) -> i64 {
        days_of_date(self.year, self.month, self.day) - days_of_date(self.year, 1, 1)
    }

    /// The name of the month, in three letters.
    #[must_use]
    pub fn short_month(&self) -> &'static str {
        let index = usize::try_from(self.month - 1).unwrap_or(0);
        MONTHS.get(index).map_or("", |name| &name[..3])
    }
}

/// Year, month and day, both from 1, of a number of days since 1970-01-01.
#[inline]
fn date_of_days(days: i64) -> (i64, i64, i64) {
    let shifted = days.saturating_add(MARCH_DAYS);
    let (cycle, day) = (shifted.div_euclid(CYCLE_DAYS), shifted.rem_euclid(CYCLE_DAYS));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year + cycle * 400 + i64::from(month <= 2), month, of_year - (153 * from_march + 2) / 5 + 1)
}

/// Days from 1970-01-01 to a date; the month is from 1 to 12, the day may be beyond its month.
#[must_use]
pub fn days_of_date(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + day_of_year - MARCH_DAYS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_dates() {
        assert_eq!(date_of_days(0), (1970, 1, 1));
        assert_eq!(date_of_days(-1), (1969, 12, 31));
        assert_eq!(date_of_days(59), (1970, 3, 1), "1970 had no 29 February");
        assert_eq!(date_of_days(11_016), (2000, 2, 29), "2000 had one");
        assert_eq!(date_of_days(19_782), (2024, 2, 29));
        assert_eq!(date_of_days(20_778), (2026, 11, 21));
        for days in (-2_000_000..2_000_000).step_by(97) {
            let (year, month, day) = date_of_days(days);
            assert_eq!(days_of_date(year, month, day), days, "{year}-{month}-{day}");
        }
        assert_eq!(days_of_date(2026, 11, 31), days_of_date(2026, 12, 1));
    }

    #[test]
    fn seconds_have_their_fields() {
        let time = CivilTime::of_local(1_795_252_570);
        assert_eq!((time.year, time.month, time.day, time.weekday), (2026, 11, 21, 6));
        assert_eq!((time.hour, time.minute, time.second), (9, 16, 10));
        assert_eq!((time.day_of_year(), time.short_month()), (324, "Nov"));
        let before = CivilTime::of_local(-1);
        assert_eq!((before.hour, before.second, before.weekday), (23, 59, 3));
        for extreme in [i64::MIN, i64::MAX] {
            assert!((0..24).contains(&CivilTime::of_local(extreme).hour));
        }
    }
}

//! Local time, for LTIME, NEWDAY, NEWWEEK, NEWMONTH and NEWYEAR.

/// A time zone, reduced to what RPN needs.
pub trait ZoneOffset {
    /// Seconds east of Greenwich at a time, given in seconds since 1970.
    fn offset_s(&self, time_s: i64) -> i64;

    /// The first day of the week, from 0 (Sunday) to 6.
    fn first_weekday(&self) -> i64 {
        0
    }
}

/// Coordinated universal time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Utc;

impl ZoneOffset for Utc {
    fn offset_s(&self, _time_s: i64) -> i64 {
        0
    }
}

/// A day of the calendar.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Date {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
    /// 0 is Sunday.
    pub(crate) weekday: i64,
}

const DAY_S: i64 = 86_400;

impl Date {
    /// The day of a local time, in seconds since the first of January 1970, 0:00 local time.
    pub(crate) fn of_local(time_s: i64) -> Self {
        let days = time_s.div_euclid(DAY_S);
        // Days since the first of March of year 0, in cycles of 400 years.
        let shifted = days.saturating_add(719_468);
        let cycle = shifted.div_euclid(146_097);
        let day_of_cycle = shifted.rem_euclid(146_097);
        let year_of_cycle = (day_of_cycle - day_of_cycle / 1460 + day_of_cycle / 36_524
            - day_of_cycle / 146_096)
            / 365;
        let day_of_year =
            day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_cycle + cycle * 400 + i64::from(month <= 2);
        Date { year, month, day, weekday: days.saturating_add(4).rem_euclid(7) }
    }
}

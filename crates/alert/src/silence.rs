//! Times of the week in which no message is sent: `Sat 00:00-24:00`, `Mon-Fri 22:00-06:00`, `22:00-06:00`.

use calendar::{CivilZone, WEEKDAYS};

const DAY_MIN: i64 = 24 * 60;

/// A time of the week, in the zone of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilenceTime {
    /// The days on which it begins, from Sunday.
    days: [bool; 7],
    /// Minutes of the day; an end that is not after the begin is on the next day.
    from_min: i64,
    thru_min: i64,
}

impl SilenceTime {
    /// Reads a time of the week.
    ///
    /// # Errors
    /// If the text is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "\"{text}\" is no time of the week: write \"Sat 00:00-24:00\", \"Mon-Fri 22:00-06:00\" or \"22:00-06:00\""
            )
        };
        let (days, times) = match text.trim().rsplit_once(' ') {
            Some((days, times)) => (days_of(days.trim()).ok_or_else(wrong)?, times),
            None => ([true; 7], text.trim()),
        };
        let (from, thru) = times.split_once('-').ok_or_else(wrong)?;
        let from_min = minutes(from).filter(|at| *at < DAY_MIN).ok_or_else(wrong)?;
        let mut thru_min = minutes(thru).ok_or_else(wrong)?;
        if thru_min <= from_min {
            thru_min += DAY_MIN;
        }
        Ok(SilenceTime { days, from_min, thru_min })
    }

    /// Whether a time is in it.
    #[must_use]
    pub fn contains(&self, time_ms: i64, zone: &CivilZone) -> bool {
        let at = zone.civil(time_ms.div_euclid(1000));
        let minute = at.hour * 60 + at.minute;
        let day = usize::try_from(at.weekday).unwrap_or(0) % 7;
        let is_in = |begin: usize, minute: i64| {
            self.days[begin] && (self.from_min..self.thru_min).contains(&minute)
        };
        is_in(day, minute) || is_in((day + 6) % 7, minute + DAY_MIN)
    }
}

fn days_of(text: &str) -> Option<[bool; 7]> {
    let mut days = [false; 7];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (day(first.trim())?, day(last.trim())?);
        let mut one = first;
        days[one] = true;
        while one != last {
            one = (one + 1) % 7;
            days[one] = true;
        }
    }
    Some(days)
}

fn day(text: &str) -> Option<usize> {
    let is_it = |name: &str| {
        text.len() >= 3
            && name.get(..text.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(text))
    };
    WEEKDAYS.iter().position(|name| is_it(name))
}

fn minutes(text: &str) -> Option<i64> {
    let (hour, minute) = text.trim().split_once(':')?;
    let number = |text: &str| match text.len() {
        1 | 2 if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse::<i64>().ok(),
        _ => None,
    };
    let (hour, minute) = (number(hour)?, number(minute)?);
    (minute < 60 && hour * 60 + minute <= DAY_MIN).then_some(hour * 60 + minute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_week_contain_their_times() {
        // 2026-11-26 is a Thursday.
        let thursday_ms = calendar::days_of_date(2026, 11, 26) * 86_400_000;
        let is_in = |text: &str, day: i64, hour: i64, minute: i64| {
            let at_ms = thursday_ms + (day * 1440 + hour * 60 + minute) * 60_000;
            SilenceTime::parse(text).unwrap().contains(at_ms, &calendar::UTC)
        };
        assert!(is_in("Thu 00:00-24:00", 0, 0, 0) && is_in("thursday 00:00-24:00", 0, 23, 59));
        assert!(!is_in("Thu 00:00-24:00", 1, 0, 0) && !is_in("Thu 00:00-24:00", -1, 23, 59));
        assert!(is_in("Fri-Mon 22:00-06:00", 1, 22, 0) && is_in("Fri-Mon 22:00-06:00", 5, 5, 59));
        assert!(!is_in("Fri-Mon 22:00-06:00", 1, 5, 0) && !is_in("Fri-Mon 22:00-06:00", 5, 6, 0));
        assert!(is_in("22:00-06:00", 0, 3, 0) && !is_in("22:00-06:00", 0, 12, 0));
        assert!(is_in("Wed,Thu 9:00-9:30", 0, 9, 29) && !is_in("Wed,Thu 9:00-9:30", 0, 9, 30));
        for wrong in [
            "",
            "Sat",
            "Xyz 00:00-01:00",
            "24:00-25:00",
            "1:60-2:00",
            "S 1:00-2:00",
            "Sat 1-2",
            "+1:00-2:00",
        ] {
            assert!(SilenceTime::parse(wrong).is_err(), "{wrong}");
        }
    }
}

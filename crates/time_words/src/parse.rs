//! The grammar: a time of day, a day, an offset; each may be missing.

use calendar::CivilZone;

use crate::scanner::{Scanner, Token, Unit, Word};
use crate::{CalendarFields, Reference, TimeSpec, TimeSpecError as E};

/// Numbers above are seconds since 1970; below, parts of a date.
const SECONDS_MIN: i64 = 10 * 365 * 24 * 60 * 60;

/// Numbers between are years, months and days.
const DATE_MIN: i64 = 19_700_101;
const DATE_MAX: i64 = 24_000_101;

/// A bare `m` after a smaller number means months.
const MINUTES_MIN: i32 = 6;

/// Marks of fields that are not written yet.
const NO_HOUR: i64 = 30;
const NO_YEAR: i64 = 30_000;

/// Parses a time.  `now_s` is the wall clock, in seconds since 1970.
///
/// # Errors
/// If the text is no time; the error's text is RRDtool's.
pub fn parse(text: &str, now_s: i64, zone: &CivilZone) -> Result<TimeSpec, E> {
    let mut fields = CalendarFields::at(now_s, zone);
    fields.is_summer = None;
    let mut parser = Parser {
        scanner: Scanner::new(text),
        reference: Reference::Absolute,
        fields,
        offset_s: 0,
        zone,
    };
    parser.reference()?;
    parser.offsets()?;
    if parser.scanner.token != Token::End {
        return Err(E::Trailing(parser.scanner.shown()));
    }
    if parser.reference == Reference::Absolute {
        parser.normalize()?;
    }
    let Parser { reference, fields, offset_s, .. } = parser;
    Ok(TimeSpec { reference, fields, offset_s })
}

struct Parser<'a> {
    scanner: Scanner<'a>,
    reference: Reference,
    fields: CalendarFields,
    offset_s: i64,
    zone: &'a CivilZone,
}

impl Parser<'_> {
    fn reference(&mut self) -> Result<(), E> {
        match self.scanner.next() {
            Token::Plus | Token::Minus => Ok(()),
            Token::Word(Word::Epoch) => self.relative(Reference::Epoch),
            Token::Word(Word::Start) => self.relative(Reference::Start),
            Token::Word(Word::End) => self.relative(Reference::End),
            Token::Word(Word::Now) => match self.scanner.next() {
                Token::Plus | Token::Minus | Token::End => Ok(()),
                _ => Err(E::AfterNow),
            },
            Token::Number => self.numeric(),
            Token::Word(Word::Month(_)) => {
                self.day()?;
                if self.scanner.token == Token::Number { self.time_of_day() } else { Ok(()) }
            }
            Token::Word(Word::Midnight) => self.named_hour(0),
            Token::Word(Word::Noon) => self.named_hour(12),
            Token::Word(Word::Teatime) => self.named_hour(16),
            _ => Err(E::Unparsable(self.unparsable())),
        }
    }

    /// RRDtool shows a character that begins no token twice.
    fn unparsable(&self) -> String {
        match self.scanner.token {
            Token::End => format!("{}{}", self.scanner.text, self.scanner.shown_rest()),
            _ => self.scanner.shown(),
        }
    }

    fn relative(&mut self, reference: Reference) -> Result<(), E> {
        self.reference = reference;
        self.fields = CalendarFields::default();
        match self.scanner.next() {
            Token::Plus | Token::Minus => Ok(()),
            _ => Err(E::NoOffset),
        }
    }

    fn named_hour(&mut self, hour: i64) -> Result<(), E> {
        self.fields.hour = hour;
        self.fields.minute = 0;
        self.fields.second = 0;
        self.scanner.next();
        self.day()
    }

    /// A time of day, a date, or seconds since 1970.
    fn numeric(&mut self) -> Result<(), E> {
        let (hour, year) = (self.fields.hour, self.fields.year);
        self.fields.hour = NO_HOUR;
        self.fields.year = NO_YEAR + 1900;
        self.time_of_day()?;
        self.day()?;
        if self.fields.hour == NO_HOUR && self.fields.year != NO_YEAR + 1900 {
            self.time_of_day()?;
        }
        if self.fields.hour == NO_HOUR {
            self.fields.hour = hour;
        }
        if self.fields.year == NO_YEAR + 1900 {
            self.fields.year = year;
        }
        Ok(())
    }

    /// `HH`, `HH:MM`, with `am` or `pm`.  Leaves what is no time of day for [`Parser::day`].
    fn time_of_day(&mut self) -> Result<(), E> {
        if self.scanner.text.len() > 2 {
            return Ok(());
        }
        let before = self.scanner.clone();
        let mut hour = self.scanner.number();
        let mut minute = 0;
        self.scanner.next();
        match self.scanner.token {
            Token::Slash | Token::Dot => {
                self.scanner = before;
                return Ok(());
            }
            Token::Colon => {
                if self.scanner.next() != Token::Number {
                    return Err(E::NoMinutes);
                }
                minute = i64::from(self.scanner.number() as i32);
                if minute > 59 {
                    return Err(E::Minutes(minute as i32));
                }
                self.scanner.next();
            }
            _ => {}
        }
        match self.scanner.token {
            Token::Word(Word::Am | Word::Pm) => {
                let is_afternoon = self.scanner.token == Token::Word(Word::Pm);
                if hour > 12 {
                    return Err(E::TwelveHours);
                }
                hour = hour % 12 + if is_afternoon { 12 } else { 0 };
                self.scanner.next();
            }
            _ if hour > 23 => {
                self.scanner = before;
                return Ok(());
            }
            _ => {}
        }
        self.fields.hour = hour;
        self.fields.minute = minute;
        self.fields.second = 0;
        Ok(())
    }

    fn day(&mut self) -> Result<(), E> {
        match self.scanner.token {
            Token::Word(Word::Yesterday) => self.fields.day -= 1,
            Token::Word(Word::Today) => {}
            Token::Word(Word::Tomorrow) => self.fields.day += 1,
            Token::Word(Word::Weekday(weekday)) => {
                self.fields.day += weekday - self.fields.weekday;
            }
            Token::Word(Word::Month(month)) => {
                if self.scanner.next() != Token::Number {
                    return Err(E::NoDay);
                }
                let day = self.scanner.number();
                let mut year = self.fields.year - 1900;
                if self.scanner.next() == Token::Number {
                    year = self.scanner.number();
                    self.scanner.next();
                }
                return self.date(day, month, year);
            }
            Token::Number => return self.numeric_day(),
            _ => return Ok(()),
        }
        self.scanner.next();
        Ok(())
    }

    /// `MM/DD/YY`, `DD.MM.YY`, `YYYYMMDD`, or seconds since 1970.
    fn numeric_day(&mut self) -> Result<(), E> {
        let first = self.scanner.number();
        if first > SECONDS_MIN {
            if first == i64::MAX {
                return Err(E::OutOfRange);
            }
            self.fields = CalendarFields::at(first, self.zone);
            self.scanner.next();
            return Ok(());
        }
        let (mut day, mut month, mut year) = (0, first, self.fields.year - 1900);
        if first > DATE_MIN && first < DATE_MAX {
            year = first / 10_000;
            month = first / 100 % 100;
            day = first % 100;
            self.scanner.next();
        } else {
            let separator = self.scanner.next();
            if first <= 31 && matches!(separator, Token::Slash | Token::Dot) {
                let is_european = separator == Token::Dot;
                let character = if is_european { '.' } else { '/' };
                if self.scanner.next() != Token::Number {
                    let what = if is_european { "month" } else { "day" };
                    return Err(E::NoNumber { what, separator: character });
                }
                day = self.scanner.number();
                if self.scanner.next() == separator {
                    if self.scanner.next() != Token::Number {
                        return Err(E::NoNumber { what: "year", separator: character });
                    }
                    year = self.scanner.number();
                    self.scanner.next();
                }
                if is_european {
                    std::mem::swap(&mut day, &mut month);
                }
            }
        }
        if !(1..=12).contains(&month) {
            return Err(E::Month(i64::from(month as i32)));
        }
        if !(1..=31).contains(&day) {
            return Err(E::Day(i64::from(day as i32)));
        }
        self.date(day, month - 1, year)
    }

    /// `year` counts from 1900, or is of two or four digits.
    fn date(&mut self, day: i64, month: i64, year: i64) -> Result<(), E> {
        let year = match year {
            1971.. => year - 1900,
            139..=1970 => return Err(E::Year(year)),
            0..=37 => year + 100,
            _ => year,
        };
        if year < 70 {
            return Err(E::BeforeEpoch);
        }
        self.fields.day = day;
        self.fields.month = month;
        self.fields.year = year.saturating_add(1900);
        Ok(())
    }

    fn offsets(&mut self) -> Result<(), E> {
        self.scanner.in_offset = true;
        let mut is_minus = false;
        let mut unit_before = None;
        if !matches!(self.scanner.token, Token::Plus | Token::Minus) {
            return Ok(());
        }
        loop {
            match self.scanner.token {
                Token::Plus | Token::Minus => {
                    is_minus = self.scanner.token == Token::Minus;
                    if self.scanner.next() != Token::Number {
                        return Err(E::NoAmount(if is_minus { '-' } else { '+' }));
                    }
                    unit_before = None;
                }
                Token::Number => {}
                _ => return Ok(()),
            }
            let amount = self.scanner.number() as i32;
            unit_before = self.unit(amount, unit_before);
            self.add(if is_minus { amount.wrapping_neg() } else { amount }, unit_before);
            self.scanner.next();
        }
    }

    /// The unit after a number; seconds, if there is none or another word.
    fn unit(&mut self, amount: i32, before: Option<Unit>) -> Option<Unit> {
        let Token::Word(Word::Unit(unit)) = self.scanner.next() else { return None };
        if unit != Unit::MonthsOrMinutes {
            return Some(unit);
        }
        let means_months = match before {
            Some(Unit::Days | Unit::Weeks | Unit::Months | Unit::Years) => true,
            Some(_) => false,
            None => amount < MINUTES_MIN,
        };
        Some(if means_months { Unit::Months } else { Unit::Minutes })
    }

    fn add(&mut self, amount: i32, unit: Option<Unit>) {
        let amount = i64::from(amount);
        match unit {
            Some(Unit::Years) => self.fields.year += amount,
            Some(Unit::Months) => self.fields.month += amount,
            Some(Unit::Weeks) => self.fields.day += amount * 7,
            Some(Unit::Days) => self.fields.day += amount,
            Some(Unit::Hours) => self.offset_s = self.offset_s.saturating_add(amount * 3600),
            Some(Unit::Minutes) => self.offset_s = self.offset_s.saturating_add(amount * 60),
            _ => self.offset_s = self.offset_s.saturating_add(amount),
        }
    }

    /// Brings the fields into their ranges, as C does, so that they know their season.
    fn normalize(&mut self) -> Result<(), E> {
        let (time_s, _) = self.fields.seconds(self.zone, 0).map_err(|_| E::OutOfRange)?;
        if time_s == -1 {
            return Err(E::OutOfRange);
        }
        self.fields = CalendarFields::at(time_s, self.zone);
        Ok(())
    }
}

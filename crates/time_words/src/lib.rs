//! Times as RRDtool's users write them: `now-1d`, `noon yesterday`, `end-1h`, `20261122`, seconds
//! since 1970.
//!
//! A text is parsed to a [`TimeSpec`]; a start and an end, which may refer to each other, become
//! seconds since 1970 ([`resolve`]).  Meaning and error texts are those of RRDtool 1.7.2, with two
//! exceptions: `epoch+N` is what its manual says (there it is always refused), and what makes it
//! crash is an error.
//!
//! Days, weeks, months and years are steps of the calendar, in local time.  A time that occurs
//! twice is the first; one that a clock change leaves out is counted from before the change.
//!
//! [`moment()`] is the language of all other verbs, which has these words, ISO 8601 and collectl's times.
//!
//! Uses `calendar` and does no I/O: the current time and the time zone come in as arguments.
//! Begin reading with [`parse()`] in `parse.rs`, then `fields.rs` (C's `mktime`).

#![forbid(unsafe_code)]

mod error;
mod fields;
mod given;
mod parse;
mod scanner;

use calendar::CivilZone;
pub use error::{ResolveError, TimeSpecError};
pub use fields::CalendarFields;
pub use given::{GivenTime, GivenTimeError, NotATime, TIME_FORMS, civil_ns, moment};
pub use parse::parse;

/// What a time is relative to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reference {
    /// Nothing: the fields of the calendar are complete.
    Absolute,
    /// The start of the same range.
    Start,
    /// The end of the same range.
    End,
    /// The first of January 1970.
    Epoch,
}

/// A parsed time.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TimeSpec {
    reference: Reference,
    /// Fields of the calendar; relative to a start or an end, what is added to its fields.
    fields: CalendarFields,
    /// Seconds that are added to it.
    offset_s: i64,
}

impl TimeSpec {
    /// A time of its parts; `offset_s` are the seconds that are added to the fields.
    pub fn from_parts(reference: Reference, fields: CalendarFields, offset_s: i64) -> Self {
        TimeSpec { reference, fields, offset_s }
    }

    /// The fields, and the seconds that are added to them.
    pub fn parts(&self) -> (CalendarFields, i64) {
        (self.fields, self.offset_s)
    }

    /// What the time is relative to.
    pub fn reference(&self) -> Reference {
        self.reference
    }

    /// A time of seconds since 1970.
    pub fn at(time_s: i64, zone: &CivilZone) -> Self {
        let fields = CalendarFields::at(time_s, zone);
        TimeSpec { reference: Reference::Absolute, fields, offset_s: 0 }
    }

    /// Seconds since 1970 of a time that is relative to nothing.
    ///
    /// # Errors
    /// If the time is relative to a start or an end, or out of range.
    pub fn absolute(&self, zone: &CivilZone) -> Result<i64, ResolveError> {
        match self.reference {
            Reference::Start | Reference::End => Err(ResolveError::Relative),
            Reference::Epoch => CalendarFields::EPOCH.plus(&self.fields).seconds_utc(self.offset_s),
            Reference::Absolute => self.fields.seconds(zone, self.offset_s),
        }
        .map(|(seconds, _)| seconds)
    }

    /// Seconds since 1970, of a time that is relative to a known one.
    fn from(&self, base_s: i64, zone: &CivilZone) -> Result<i64, ResolveError> {
        let fields = CalendarFields::at(base_s, zone).plus(&self.fields);
        fields.seconds(zone, self.offset_s).map(|(seconds, _)| seconds)
    }
}

/// Start and end in seconds since 1970.
///
/// # Errors
/// If they are relative to each other, or one to itself, with RRDtool's text; if a time has no place
/// in the calendar.
pub fn resolve(
    start: &TimeSpec,
    end: &TimeSpec,
    zone: &CivilZone,
) -> Result<(i64, i64), ResolveError> {
    match (start.reference, end.reference) {
        (Reference::End, Reference::Start) => Err(ResolveError::EachOther),
        (Reference::Start, _) => Err(ResolveError::StartToItself),
        (_, Reference::End) => Err(ResolveError::EndToItself),
        (Reference::End, _) => {
            let end_s = end.absolute(zone)?;
            Ok((start.from(end_s, zone)?, end_s))
        }
        (_, Reference::Start) => {
            let start_s = start.absolute(zone)?;
            Ok((start_s, end.from(start_s, zone)?))
        }
        _ => Ok((start.absolute(zone)?, end.absolute(zone)?)),
    }
}

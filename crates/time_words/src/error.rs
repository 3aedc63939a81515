//! What may be wrong with a time, in RRDtool's words: programs compare these texts.

/// A text that is no time.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each says what it is")]
pub enum TimeSpecError {
    #[error("Parsing HH:MM syntax, expecting MM as number, got none")]
    NoMinutes,
    #[error("parsing HH:MM syntax, got MM = {0} (>59!)")]
    Minutes(i32),
    #[error("there cannot be more than 12 AM or PM hours")]
    TwelveHours,
    #[error("the day of the month should follow month name")]
    NoDay,
    #[error("invalid year {0} (should be either 00-99 or >1900)")]
    Year(i64),
    #[error("won't handle dates before epoch (01/01/1970), sorry")]
    BeforeEpoch,
    #[error("there should be {what} number after '{separator}'")]
    NoNumber { what: &'static str, separator: char },
    #[error("did you really mean month {0}?")]
    Month(i64),
    #[error("I'm afraid that {0} is not a valid day of the month")]
    Day(i64),
    #[error("'start' or 'end' MUST be followed by +|- offset")]
    NoOffset,
    #[error("if 'now' is followed by a token it must be +|- offset")]
    AfterNow,
    #[error("There should be number after '{0}'")]
    NoAmount(char),
    #[error("unparsable time: {0}")]
    Unparsable(String),
    #[error("unparsable trailing text: '...{0}'")]
    Trailing(String),
    #[error("the specified time is incorrect (out of range?)")]
    OutOfRange,
}

/// Times that cannot be seconds.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each says what it is")]
pub enum ResolveError {
    #[error("the start and end times cannot be specified relative to each other")]
    EachOther,
    #[error("the start time cannot be specified relative to itself")]
    StartToItself,
    #[error("the end time cannot be specified relative to itself")]
    EndToItself,
    #[error("specifying time relative to the 'start' or 'end' makes no sense here")]
    Relative,
    #[error("the specified time is incorrect (out of range?)")]
    OutOfRange,
}

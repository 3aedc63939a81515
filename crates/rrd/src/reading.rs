//! Times and readings of an argument of an update.

use crate::error::{Error, Result, refuse};
use crate::header::{RrdHeader, SourceKind, Time};
use crate::number::{self, UNKNOWN};

/// Where an update gets times from.
pub trait Moments {
    /// The time now.
    fn now(&self) -> Time;

    /// A time in words (`noon yesterday`), in seconds since 1970.
    ///
    /// # Errors
    /// What is wrong with the words, as RRDtool says it.
    fn parse(&self, words: &str) -> Result<i64, String>;
}

/// Reads the time of an argument, which must be newer than the last update.
pub(crate) fn read_time(
    header: &RrdHeader,
    text: &[u8],
    is_in_words: bool,
    moments: &dyn Moments,
) -> Result<Time> {
    let mut time = if is_in_words {
        let words = String::from_utf8_lossy(text);
        let parsed = moments.parse(&words);
        Time::of_seconds(parsed.map_err(|error| refuse!("ds time: {words}: {error}"))?)
    } else if text == b"N" {
        moments.now()
    } else {
        const PLACE: &str = "error while parsing time in get_time_from_reading";
        let mut seconds = number::parse(text).map_err(|error| error.within(PLACE))?;
        if seconds < 0.0 {
            let now = moments.now();
            seconds += now.microseconds as f64 * f64::from(1e-6f32) + now.seconds as f64;
        }
        let floor = seconds.floor();
        // C's conversion of what no integer holds gives the least one.
        let whole = if floor < i64::MAX as f64 { floor as i64 } else { i64::MIN };
        Time { seconds: whole, microseconds: ((seconds - floor) * 1e6) as i64 }
    };
    if header.version < 3 {
        time.microseconds = 0;
    }
    let last = header.last_update;
    if time <= last {
        return Err(Error::PastUpdate { time: time.seconds, last_update: last.seconds });
    }
    Ok(time)
}

/// What came since the last reading, and its rate.
pub(crate) fn amount(
    kind: SourceKind,
    text: &[u8],
    last: &[u8],
    seconds: f64,
) -> Result<(f64, f64)> {
    let parse = |text: &[u8], place| number::parse(text).map_err(|error| error.within(place));
    let is_first = last.first() == Some(&b'U');
    let amount = match kind {
        SourceKind::Gauge => {
            let rate = parse(text, "Function update_pdp_prep, case DST_GAUGE")?;
            return Ok((rate * seconds, rate));
        }
        SourceKind::Absolute => parse(text, "Function update_pdp_prep, case DST_ABSOLUTE")?,
        SourceKind::Counter | SourceKind::Derive => {
            let is_signed = kind == SourceKind::Derive;
            let digits = if is_signed { text.strip_prefix(b"-").unwrap_or(text) } else { text };
            if !digits.iter().all(u8::is_ascii_digit) {
                let sign = if is_signed { "signed" } else { "unsigned" };
                let text = String::from_utf8_lossy(text);
                return Err(refuse!("not a simple {sign} integer: '{text}'"));
            }
            let mut amount = if is_first { UNKNOWN } else { number::difference(text, last) };
            if kind == SourceKind::Counter {
                if amount < 0.0 {
                    amount += WRAP_32;
                }
                if amount < 0.0 {
                    amount += WRAP_64;
                }
            }
            amount
        }
        SourceKind::DCounter | SourceKind::DDerive if is_first => UNKNOWN,
        SourceKind::DCounter => {
            const PLACE: &str = "Function update_pdp_prep, case DST_DCOUNTER";
            let (new, old) = (parse(text, PLACE)?, parse(last, PLACE)?);
            let turned = (new > 0.0 && old > new) || (new < 0.0 && new > old);
            if turned { UNKNOWN } else { new - old }
        }
        SourceKind::DDerive => {
            const PLACE: &str = "Function update_pdp_prep, case DST_DDERIVE";
            let new = parse(text, PLACE)?;
            new - parse(last, PLACE)?
        }
        SourceKind::Compute => UNKNOWN,
    };
    Ok((amount, amount / seconds))
}

/// What RRDtool adds to a difference that is below zero: one less than 2^32, …
const WRAP_32: f64 = 4_294_967_295.0;
/// … and, if it still is, 2^64 - 2^32.
const WRAP_64: f64 = 18_446_744_069_414_584_320.0;

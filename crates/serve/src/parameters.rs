//! The parameters of a request: of the address, and of a form.

use std::time::Duration;

use hyper::Uri;
use promql::QueryError;
use text::encoding::push_percent_encoded;

/// Names and values, in their order.
#[derive(Debug, Default)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads the parameters of an address.
    pub(crate) fn of(address: &Uri) -> Result<Self, QueryError> {
        let mut parameters = Parameters::default();
        parameters.add_query(address)?;
        Ok(parameters)
    }

    /// Names with values.
    pub(crate) fn with(pairs: &[(&str, &str)]) -> Self {
        Parameters(pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// Adds those of an address.
    pub(crate) fn add_query(&mut self, address: &Uri) -> Result<(), QueryError> {
        self.add(address.query().unwrap_or_default().as_bytes())
    }

    /// Adds those of a form, or of the part of an address behind `?`.
    pub(crate) fn add(&mut self, form: &[u8]) -> Result<(), QueryError> {
        for pair in form.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
            let mut parts = pair.splitn(2, |byte| *byte == b'=');
            let name = decoded(parts.next().unwrap_or_default())?;
            self.0.push((name, decoded(parts.next().unwrap_or_default())?));
        }
        Ok(())
    }

    /// The first value of a name; empty if there is none, which means the same.
    pub(crate) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(own, _)| own == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// All values of a name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// All but one name, as an address has them behind `?`.
    pub(crate) fn without(&self, name: &str) -> String {
        let mut query = String::new();
        for (own, value) in self.0.iter().filter(|(own, _)| own != name) {
            if !query.is_empty() {
                query.push('&');
            }
            push_percent_encoded(&mut query, own);
            query.push('=');
            push_percent_encoded(&mut query, value);
        }
        query
    }

    /// All names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// A time in milliseconds, or what is usual.
    pub(crate) fn time_ms(&self, name: &str, usual: Option<i64>) -> Result<i64, QueryError> {
        let text = self.get(name);
        match usual {
            Some(usual) if text.is_empty() => Ok(usual),
            _ => time_ms(text).ok_or_else(|| {
                invalid(name, &format!("cannot parse {text:?} to a valid timestamp"))
            }),
        }
    }

    /// A duration: seconds, or numbers with units (`1m30s`).
    pub(crate) fn duration(&self, name: &str) -> Result<Duration, QueryError> {
        let text = self.get(name);
        duration(text)
            .ok_or_else(|| invalid(name, &format!("cannot parse {text:?} to a valid duration")))
    }

    /// A number of things, if there is one.
    pub(crate) fn count(&self, name: &str) -> Result<Option<usize>, QueryError> {
        match self.get(name) {
            "" => Ok(None),
            text => match text.parse() {
                // No limit, as elsewhere.
                Ok(0) => Ok(None),
                Ok(count) => Ok(Some(count)),
                Err(_) => Err(invalid(name, &format!("{text:?} is not a number"))),
            },
        }
    }
}

/// A parameter that cannot be used.
pub(crate) fn invalid(name: &str, why: &str) -> QueryError {
    QueryError::BadData(format!("invalid parameter {name:?}: {why}"))
}

pub(crate) fn decoded(text: &[u8]) -> Result<String, QueryError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = after;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digit = |place: usize| char::from(*after.get(place)?).to_digit(16);
                let Some((high, low)) = digit(0).zip(digit(1)) else {
                    let text = String::from_utf8_lossy(text);
                    return Err(QueryError::BadData(format!("invalid URL escape in {text:?}")));
                };
                // Two digits of 16 are a byte.
                bytes.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            byte => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).map_err(|_| QueryError::BadData("a parameter is not UTF-8".to_owned()))
}

/// Seconds with a fraction, or RFC 3339.
fn time_ms(text: &str) -> Option<i64> {
    if let Ok(seconds) = text.parse::<f64>() {
        let milliseconds = (seconds * 1000.0).round();
        return (milliseconds.abs() < 1e15).then_some(milliseconds as i64);
    }
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

/// Seconds with a fraction, or numbers with units from the largest to the smallest.
fn duration(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    const UNITS: [(&str, u64); 7] = [
        ("y", 365 * 86_400_000),
        ("w", 7 * 86_400_000),
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1000),
        ("ms", 1),
    ];
    let (mut rest, mut total_ms, mut next_unit) = (text, 0_u64, 0);
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|one: char| one.is_ascii_digit()).len();
        let count: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.find(|one: char| one.is_ascii_digit()).unwrap_or(rest.len());
        let index = UNITS.iter().position(|(unit, _)| *unit == &rest[..letters])?;
        if index < next_unit {
            return None;
        }
        next_unit = index + 1;
        total_ms = total_ms.checked_add(count.checked_mul(UNITS[index].1)?)?;
        rest = &rest[letters..];
    }
    (!text.is_empty()).then(|| Duration::from_millis(total_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_durations() {
        assert_eq!(time_ms("1700000000.0014"), Some(1_700_000_000_001));
        assert_eq!(time_ms("2023-11-14T22:13:20.5Z"), Some(1_700_000_000_500));
        assert_eq!(time_ms("2023-11-14T23:13:20+01:00"), Some(1_700_000_000_000));
        for text in ["", "now", "1e300", "NaN", "inf"] {
            assert_eq!(time_ms(text), None, "{text}");
        }
        for (text, milliseconds) in
            [("15", 15_000), ("0.5", 500), ("1m30s", 90_000), ("2d", 172_800_000), ("5ms", 5)]
        {
            assert_eq!(duration(text), Some(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "1s1m", "1x", "s", "-1", "99999999999999999999s", "1m 1s", "NaN", "1m1m"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn forms() {
        let mut parameters = Parameters::default();
        parameters.add(b"query=1%2B1&match%5B%5D=a+b&match[]=%C3%A9&empty&=x").unwrap();
        assert_eq!(parameters.get("query"), "1+1");
        assert_eq!(parameters.all("match[]").collect::<Vec<_>>(), ["a b", "\u{e9}"]);
        assert_eq!(parameters.get("empty"), "");
        for form in ["a=%", "a=%4", "a=%zz", "%ff=1", "a=%+1"] {
            parameters.add(form.as_bytes()).unwrap_err();
        }
    }
}

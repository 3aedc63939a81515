//! The time zone of this machine.

use anyhow::Context as _;
use jiff::tz::TimeZone;

/// The local time zone: that of `TZ`, otherwise the machine's, otherwise UTC.
pub(crate) fn local() -> TimeZone {
    let has_folder = std::env::var_os("TZDIR").is_some();
    let found = match std::env::var("TZ") {
        Ok(name) => calendar::plain_zone(Some(&name), has_folder),
        Err(std::env::VarError::NotPresent) => calendar::plain_zone(None, has_folder),
        Err(_) => None,
    };
    found.unwrap_or_else(TimeZone::system)
}

/// The present, in that zone.
pub(crate) fn now() -> jiff::Zoned {
    jiff::Timestamp::now().to_zoned(local())
}

/// A time of the command line, in nanoseconds since 1970.
pub(crate) fn time_ns(option: &str, text: &str) -> anyhow::Result<i64> {
    let now = now();
    let given = time_words::moment(text, &now).with_context(|| option.to_owned())?;
    Ok(given.before(&now)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_is_that_of_the_look_up() {
        let (quick, slow) = (local(), TimeZone::system());
        assert_eq!(quick.iana_name(), slow.iana_name());
    }
}

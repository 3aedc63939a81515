//! The time zone of this machine.
//!
//! Reads the file that `/etc/localtime` links to, or that `TZ` names: three system calls.  A lookup
//! by name would first list all zones, which takes two thousand system calls and 100 KiB that stay
//! allocated.

use std::path::Path;

use jiff::tz::TimeZone;

/// The local time zone: that of `TZ`, otherwise the machine's, otherwise UTC.
pub(crate) fn local() -> TimeZone {
    let found = match std::env::var("TZ") {
        Ok(name) => named(Path::new(ZONES), &name),
        Err(std::env::VarError::NotPresent) => linked(Path::new("/etc/localtime")),
        Err(_) => None,
    };
    found.unwrap_or_else(TimeZone::system)
}

/// Where zones are by their names.
const ZONES: &str = "/usr/share/zoneinfo";

/// The zone of a plain name (`Europe/Berlin`); `None` for everything else that `TZ` may be.
fn named(zones: &Path, name: &str) -> Option<TimeZone> {
    let is_part = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphabetic())
            && part.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-+".contains(letter))
    };
    if name == "UTC" {
        return Some(TimeZone::UTC);
    }
    if std::env::var_os("TZDIR").is_some() || !name.split('/').all(is_part) {
        return None;
    }
    TimeZone::tzif(name, &std::fs::read(zones.join(name)).ok()?).ok()
}

/// The zone that a link into the zoneinfo directory names.
fn linked(link: &Path) -> Option<TimeZone> {
    let target = std::fs::read_link(link).ok()?;
    let (_, name) = target.to_str()?.split_once("/zoneinfo/")?;
    TimeZone::tzif(name, &std::fs::read(link).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_is_that_of_the_look_up() {
        let (quick, slow) = (local(), TimeZone::system());
        assert_eq!(quick.iana_name(), slow.iana_name());
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("localtime");
        assert!(linked(&link).is_none());
        let zones = Path::new("/usr/share/zoneinfo");
        if !zones.join("Europe/Berlin").exists() {
            testkit::skip("time zones", "no /usr/share/zoneinfo/Europe/Berlin");
            return;
        }
        std::os::unix::fs::symlink(zones.join("Europe/Berlin"), &link).unwrap();
        for zone in [linked(&link), named(zones, "Europe/Berlin")] {
            let zone = zone.unwrap();
            assert_eq!(zone.iana_name(), Some("Europe/Berlin"));
            for seconds in [0, 1_750_000_000, 1_780_000_000, 4_000_000_000] {
                let at = jiff::Timestamp::from_second(seconds).unwrap();
                let known = TimeZone::get("Europe/Berlin").unwrap();
                assert_eq!(zone.to_offset(at), known.to_offset(at), "{at}");
            }
        }
        assert_eq!(named(zones, "UTC").unwrap().iana_name(), Some("UTC"));
        for other in ["", "../localtime", "/etc/localtime", ":UTC", "Nowhere", "<+03>-3"] {
            assert!(named(zones, other).is_none(), "{other}");
        }
        let text = folder.path().join("text");
        std::fs::create_dir(folder.path().join("zoneinfo")).unwrap();
        std::fs::write(folder.path().join("zoneinfo/Nowhere"), "no zone").unwrap();
        std::os::unix::fs::symlink(folder.path().join("zoneinfo/Nowhere"), &text).unwrap();
        assert!(linked(&text).is_none());
    }
}

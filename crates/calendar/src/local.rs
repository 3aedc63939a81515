//! The time zone of this machine.
//!
//! Reads the file that `/etc/localtime` links to, or that `TZ` names: three system calls.  A lookup
//! by name would first list all zones, which takes two thousand system calls and 100 KiB that stay
//! allocated.

use std::path::Path;

use jiff::tz::TimeZone;

/// Where zones are by their names.
const ZONES: &str = "/usr/share/zoneinfo";

/// Where the machine's zone is.
const LOCAL: &str = "/etc/localtime";

/// The zone of a value of `TZ` that is a plain name (`Europe/Berlin`); without `TZ`, the zone that
/// `/etc/localtime` links to.  `None` for everything else that `TZ` and the file may be.
///
/// `has_folder`: `TZDIR` names another folder of zones, so a name says nothing here.
#[must_use]
pub fn plain_zone(tz: Option<&str>, has_folder: bool) -> Option<TimeZone> {
    match tz {
        Some(name) => named(Path::new(ZONES), name, has_folder),
        None => linked(Path::new(LOCAL)),
    }
}

/// The zone of a value of `TZ`: a name, the path of a file, or POSIX's rules, with or without a colon
/// before it.  Without `TZ`, that of `/etc/localtime`.  `None` if there is no such zone.
///
/// Nothing is kept from one call to the next, unlike in jiff's `TimeZone::system`.
#[must_use]
pub fn zone_of_tz(tz: Option<&str>, has_folder: bool) -> Option<TimeZone> {
    let of_file = |name: &str| TimeZone::tzif(name, &std::fs::read(name).ok()?).ok();
    let tz = tz.map(|name| name.strip_prefix(':').unwrap_or(name));
    plain_zone(tz, has_folder).or_else(|| match tz {
        None => of_file(LOCAL),
        Some("") => None,
        Some(name) if name.starts_with('/') => of_file(name),
        Some(name) => TimeZone::get(name).or_else(|_| TimeZone::posix(name)).ok(),
    })
}

fn named(zones: &Path, name: &str, has_folder: bool) -> Option<TimeZone> {
    let is_part = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphabetic())
            && part.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-+".contains(letter))
    };
    if name == "UTC" {
        return Some(TimeZone::UTC);
    }
    if has_folder || !name.split('/').all(is_part) {
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
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("localtime");
        assert!(linked(&link).is_none());
        let zones = Path::new(ZONES);
        if !zones.join("Europe/Berlin").exists() {
            testkit::skip("time zones", "no /usr/share/zoneinfo/Europe/Berlin");
            return;
        }
        std::os::unix::fs::symlink(zones.join("Europe/Berlin"), &link).unwrap();
        for zone in [linked(&link), named(zones, "Europe/Berlin", false)] {
            let zone = zone.unwrap();
            assert_eq!(zone.iana_name(), Some("Europe/Berlin"));
            for seconds in [0, 1_750_000_000, 1_780_000_000, 4_000_000_000] {
                let at = jiff::Timestamp::from_second(seconds).unwrap();
                let known = TimeZone::get("Europe/Berlin").unwrap();
                assert_eq!(zone.to_offset(at), known.to_offset(at), "{at}");
            }
        }
        assert_eq!(named(zones, "UTC", false).unwrap().iana_name(), Some("UTC"));
        assert!(named(zones, "Europe/Berlin", true).is_none());
        for other in ["", "../localtime", "/etc/localtime", ":UTC", "Nowhere", "<+03>-3"] {
            assert!(named(zones, other, false).is_none(), "{other}");
        }
        let text = folder.path().join("text");
        std::fs::create_dir(folder.path().join("zoneinfo")).unwrap();
        std::fs::write(folder.path().join("zoneinfo/Nowhere"), "no zone").unwrap();
        std::os::unix::fs::symlink(folder.path().join("zoneinfo/Nowhere"), &text).unwrap();
        assert!(linked(&text).is_none());
    }

    #[test]
    fn everything_that_tz_may_be_is_a_zone() {
        let offset = |tz: &str| {
            let zone = zone_of_tz(Some(tz), false)?;
            Some(zone.to_offset(jiff::Timestamp::UNIX_EPOCH).seconds())
        };
        assert_eq!(offset("UTC"), Some(0));
        assert_eq!(offset(":UTC"), Some(0));
        assert_eq!(offset("<+03>-3"), Some(3 * 3600));
        assert_eq!(offset("AAA-5BBB,M3.5.0,M10.5.0/3"), Some(5 * 3600));
        for none in ["", ":", "Nowhere/Else", "/nowhere"] {
            assert_eq!(offset(none), None, "{none}");
        }
    }
}

//! When to begin new files (`time[,days[:months]][,minutes]`), and which old ones to delete.
//!
//! Times are local, so a day is from midnight to midnight, also when summer time begins or ends.
//! Only files of this directory whose names have this prefix and host are ever deleted.

use std::path::{Path, PathBuf};

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};
use text::quantity::{QuantityError, parse_size, parse_span_ns};

use crate::names::FileNames;

const MINUTES_A_DAY: u32 = 1440;

/// Days and months kept by default.
const DAYS_KEPT: u32 = 7;
const MONTHS_KEPT: u32 = 12;

/// When new files are begun, and how long old ones are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roll {
    /// Minutes after midnight of the first roll.
    start_minute: u32,
    /// Minutes between two rolls.
    every_minutes: u32,
    /// Days that recordings and plot files are kept; 0 for no limit.
    pub days: u32,
    /// Months that message logs are kept.
    pub months: u32,
}

impl Roll {
    /// Every day at midnight, keeping everything: [`Keep`] needs whole files that it can delete.
    #[must_use]
    pub fn daily() -> Self {
        Roll { start_minute: 0, every_minutes: MINUTES_A_DAY, days: 0, months: MONTHS_KEPT }
    }

    /// Rolls as before, but deletes no files.
    #[must_use]
    pub fn without_days(self) -> Self {
        Roll { days: 0, ..self }
    }

    /// Parses `HH:MM[,DAYS[:MONTHS]][,MINUTES]` by collectl's rules.
    ///
    /// # Errors
    /// [`RollError`].
    pub fn parse(text: &str) -> Result<Self, RollError> {
        let mut parts = text.split(',');
        let mut next = || parts.next().unwrap_or_default();
        let (time, keep, minutes) = (next(), next(), next());
        if text.split(',').count() > 3 {
            return Err(RollError::TooMany);
        }
        let start_minute =
            minute_of_day(time).ok_or_else(|| RollError::NotATime(time.to_owned()))?;
        let number = |part: &str, default: u32, what: &'static str| match part {
            "" => Ok(default),
            part => part
                .parse::<u32>()
                .ok()
                .filter(|&number| number <= 100_000)
                .ok_or_else(|| RollError::NotANumber { part: part.to_owned(), what }),
        };
        let (days, months) = keep.split_once(':').unwrap_or((keep, ""));
        let every_minutes = number(minutes, MINUTES_A_DAY, "minutes")?;
        if every_minutes == 0 || !MINUTES_A_DAY.is_multiple_of(every_minutes) {
            return Err(RollError::NotADivisor(every_minutes));
        }
        if every_minutes > 60 && !every_minutes.is_multiple_of(60) {
            return Err(RollError::NotWholeHours);
        }
        if start_minute > every_minutes {
            return Err(RollError::TooLate(every_minutes));
        }
        let days = number(days, DAYS_KEPT, "days")?;
        let months = number(months, MONTHS_KEPT, "months")?;
        Ok(Roll { start_minute, every_minutes, days, months })
    }

    /// The first roll after `now`.
    ///
    /// Rolls are at fixed local times.  A roll in the hour that is missing in spring is made when
    /// the clocks have gone forward; rolls every hour or less have even distances through both
    /// changes.
    pub fn next(&self, now: Timestamp, zone: &TimeZone) -> Timestamp {
        let here = now.to_zoned(zone.clone());
        let midnight = DateTime::from_parts(here.date(), Time::midnight());
        // Start a day early, because of clock changes; two days include the last roll.
        let mut minute = i64::from(self.start_minute) - i64::from(MINUTES_A_DAY);
        let last = 2 * i64::from(MINUTES_A_DAY) + i64::from(self.start_minute);
        let mut soonest: Option<Timestamp> = None;
        while minute <= last {
            let local = midnight.checked_add(minute.minutes()).ok();
            let at = local.map(|local| zone.to_ambiguous_zoned(local));
            let (first, second) = match at {
                // In autumn an hour repeats, and so do the rolls of every hour or less in it.
                Some(at) if self.every_minutes <= 60 && at.is_ambiguous() => {
                    (at.clone().compatible(), Some(at.later()))
                }
                Some(at) => (at.compatible(), None),
                None => break,
            };
            for at in std::iter::once(first).chain(second).flatten() {
                let at = at.timestamp();
                if at > now && soonest.is_none_or(|soonest| at < soonest) {
                    soonest = Some(at);
                }
            }
            minute += i64::from(self.every_minutes);
        }
        soonest.unwrap_or_else(|| now + i64::from(MINUTES_A_DAY).minutes())
    }
}

fn minute_of_day(time: &str) -> Option<u32> {
    let (hour, minute) = time.split_once(':')?;
    let two = |part: &str| (part.len() == 2).then(|| part.parse::<u32>().ok()).flatten();
    let (hour, minute) = (two(hour)?, two(minute)?);
    (hour < 24 && minute < 60).then_some(hour * 60 + minute)
}

/// Why times of rolls are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RollError {
    /// More than three parts.
    #[error("at most time,days:months,minutes")]
    TooMany,
    /// The first part is not a time of day.
    #[error("'{0}' is not a time of day such as 00:00")]
    NotATime(String),
    /// A part is not a number, or too large.
    #[error("'{part}' is not a whole number of {what}")]
    NotANumber {
        /// The part.
        part: String,
        /// What it counts.
        what: &'static str,
    },
    /// The minutes do not divide a day.
    #[error("{0} minutes do not divide a day")]
    NotADivisor(u32),
    /// More than an hour, but not whole hours.
    #[error("an interval of more than an hour must be whole hours")]
    NotWholeHours,
    /// The time of day is not in the first interval of the day.
    #[error("the time must lie in the first {0} minutes of the day")]
    TooLate(u32),
}

/// Which old files are kept: without a limit all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// Files that were last modified longer ago are deleted, nanoseconds.
    pub age_ns: Option<u64>,
    /// The oldest files are deleted while the sum of sizes is larger, with what readers made of them.
    pub size_bytes: Option<u64>,
}

impl Keep {
    /// Parses an age (`30d`, `12h`, `2w`), a size (`500M`, `10G`), or one of each: `30d,10G`.
    ///
    /// # Errors
    /// [`KeepError`].
    pub fn parse(text: &str) -> Result<Self, KeepError> {
        let mut keep = Keep::default();
        for part in text.split(',') {
            let is_second = match part.ends_with(['w', 'd', 'h']) {
                true => keep.age_ns.replace(age_ns(part)?).is_some(),
                false => keep.size_bytes.replace(size_bytes(part)?).is_some(),
            };
            if is_second {
                return Err(KeepError::Twice(text.to_owned()));
            }
        }
        Ok(keep)
    }
}

fn age_ns(text: &str) -> Result<u64, KeepError> {
    parse_span_ns(text).map_err(|error| match error {
        QuantityError::TooLong => KeepError::TooLong(text.to_owned()),
        _ => KeepError::NotAgeOrSize(text.to_owned()),
    })
}

/// A size with its unit in capitals: `30m` could be minutes.
fn size_bytes(text: &str) -> Result<u64, KeepError> {
    let bad = || KeepError::NotAgeOrSize(text.to_owned());
    let is_size = text.ends_with(['K', 'M', 'G', 'T']);
    let bytes = parse_size(text).ok().filter(|_| is_size).ok_or_else(bad)?;
    match bytes < 1 << 20 {
        true => Err(KeepError::TooSmall(text.to_owned())),
        false => Ok(bytes),
    }
}

/// Why an age or a size is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeepError {
    /// Neither an age nor a size.
    #[error("'{0}' is neither an age (12h, 30d, 4w) nor a size (500M)")]
    NotAgeOrSize(String),
    /// Longer than the clock can count.
    #[error("{0} is too long")]
    TooLong(String),
    /// Two ages or two sizes.
    #[error("'{0}' has two ages or two sizes: give one of each at most")]
    Twice(String),
    /// Too small a size.
    #[error("{0} is less than 1M, too small for a single file")]
    TooSmall(String),
}

/// Deletes files that `roll` and `keep` no longer keep, except `current`, those being written.
/// Returns the deleted files, and those that could not be deleted, with the reason.
pub(crate) fn purge(
    names: &FileNames,
    roll: Option<&Roll>,
    keep: Option<Keep>,
    plots: &[String],
    now: &Zoned,
    current: &[PathBuf],
) -> Vec<(PathBuf, std::io::Result<()>)> {
    let Ok(entries) = std::fs::read_dir(&names.directory) else { return Vec::new() };
    let mut ours: Vec<(String, PathBuf)> = Vec::new();
    let mut gone = Vec::new();
    let oldest_day = roll.filter(|roll| roll.days > 0).map(|roll| days_before(now, roll.days));
    let oldest_month =
        roll.map(|roll| days_before(now, roll.months.saturating_mul(30))[..6].to_owned());
    for entry in entries.flatten() {
        let (name, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        if current.contains(&path) || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        if let Some(day) = names.day_of(&name, plots) {
            let old = oldest_day.as_deref().is_some_and(|oldest| day < oldest);
            if old { gone.push(path) } else { ours.push((name, path)) }
        } else if let Some(month) = names.month_of(&name) {
            let old = oldest_month.as_deref().is_some_and(|oldest| month < oldest);
            gone.extend(old.then_some(path));
        } else if recording::side_of(&name).is_some_and(|recording| {
            names.day_of(recording, &[]).is_some() && !names.directory.join(recording).exists()
        }) {
            // A reader made it while its recording was deleted.
            gone.push(path);
        }
    }
    // Names contain the date, so they sort by time.
    ours.sort();
    let keep = keep.unwrap_or_default();
    if let Some(age_ns) = keep.age_ns {
        let old = older_than(&ours, age_ns, now);
        ours.retain(|(_, path)| !old.contains(path));
        gone.extend(old);
    }
    if let Some(size_bytes) = keep.size_bytes {
        gone.extend(beyond(&ours, size_bytes, current));
    }
    let remove = |path: PathBuf| {
        let done = remove_recording(&path);
        (path, done)
    };
    gone.into_iter().map(remove).collect()
}

/// Deletes a recording or a plot file, with what readers made of it; most have nothing.
///
/// # Errors
/// If the file itself cannot be deleted.
pub fn remove_recording(path: &Path) -> std::io::Result<()> {
    let done = std::fs::remove_file(path);
    for side in recording::side_paths(path) {
        drop(std::fs::remove_file(side));
    }
    done
}

/// The bytes of a recording or a plot file, with what readers made of it; 0 if it is gone.
#[must_use]
pub fn recording_bytes(path: &Path) -> u64 {
    let length = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
    let sides = recording::side_paths(path);
    length(path) + sides.iter().map(|side| length(side)).sum::<u64>()
}

/// The date `days` days before `now`, as `yyyymmdd`.
fn days_before(now: &Zoned, days: u32) -> String {
    let then = now.checked_sub(i64::from(days).days()).unwrap_or_else(|_| now.clone());
    then.strftime("%Y%m%d").to_string()
}

fn older_than(files: &[(String, PathBuf)], age_ns: u64, now: &Zoned) -> Vec<PathBuf> {
    let now = std::time::SystemTime::from(now.timestamp());
    let age = |path: &Path| now.duration_since(path.metadata().ok()?.modified().ok()?).ok();
    let old = |path: &Path| age(path).is_some_and(|age| age.as_nanos() > u128::from(age_ns));
    files.iter().filter(|(_, path)| old(path)).map(|(_, path)| path.clone()).collect()
}

fn beyond(files: &[(String, PathBuf)], bytes: u64, current: &[PathBuf]) -> Vec<PathBuf> {
    let mut total: u64 = files.iter().map(|(_, path)| recording_bytes(path)).sum();
    total += current.iter().map(|path| recording_bytes(path)).sum::<u64>();
    let mut gone = Vec::new();
    for (_, path) in files {
        if total <= bytes {
            break;
        }
        total = total.saturating_sub(recording_bytes(path));
        gone.push(path.clone());
    }
    gone
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(roll: &str, now: &str, zone: &str) -> String {
        let zone = TimeZone::get(zone).unwrap();
        let now: Timestamp = now.parse().unwrap();
        let at = Roll::parse(roll).unwrap().next(now, &zone);
        at.to_zoned(zone).strftime("%Y-%m-%dT%H:%M%:z").to_string()
    }

    #[test]
    fn rolls_at_local_times() {
        assert_eq!(next("00:00", "2026-11-21T23:59:59Z", "UTC"), "2026-11-22T00:00+00:00");
        assert_eq!(next("00:00", "2026-11-22T00:00:00Z", "UTC"), "2026-11-23T00:00+00:00");
        assert_eq!(next("00:10,7,60", "2026-11-21T05:10:00Z", "UTC"), "2026-11-21T06:10+00:00");
        assert_eq!(next("00:10,,15", "2026-11-21T05:11:00Z", "UTC"), "2026-11-21T05:25+00:00");
        // In Berlin the clocks go forward on 2026-03-29 at 01:00 UTC, back on 2026-10-25.
        let berlin = "Europe/Berlin";
        assert_eq!(next("00:00", "2026-03-28T23:30:00Z", berlin), "2026-03-30T00:00+02:00");
        assert_eq!(next("00:00", "2026-10-24T23:30:00Z", berlin), "2026-10-26T00:00+01:00");
        assert_eq!(next("00:00,,120", "2026-03-29T00:30:00Z", berlin), "2026-03-29T03:00+02:00");
        assert_eq!(next("00:00,,60", "2026-10-25T00:00:00Z", berlin), "2026-10-25T02:00+01:00");
        // In the hour that repeats, too, a roll is at its minute, not some time after the start.
        assert_eq!(next("00:00,,1", "2026-10-25T00:00:17Z", berlin), "2026-10-25T02:01+02:00");
        assert_eq!(next("00:00,,1", "2026-10-25T01:00:17Z", berlin), "2026-10-25T02:01+01:00");
        assert_eq!(next("00:00,,60", "2026-10-25T00:30:00Z", berlin), "2026-10-25T02:00+01:00");
        assert_eq!(next("00:10,,60", "2026-10-25T00:30:00Z", berlin), "2026-10-25T02:10+01:00");
        assert_eq!(next("02:30", "2026-10-25T00:45:00Z", berlin), "2026-10-26T02:30+01:00");
    }

    #[test]
    fn a_day_of_quarter_hours_has_no_gap_and_no_double_in_both_changes() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        for start in ["2026-03-28T22:00:00Z", "2026-10-24T21:00:00Z"] {
            let mut now: Timestamp = start.parse().unwrap();
            for _ in 0..40 {
                let next = Roll::parse("00:00,,15").unwrap().next(now, &zone);
                assert_eq!(next.as_second() - now.as_second(), 900, "after {now}");
                now = next;
            }
        }
    }

    #[test]
    fn what_is_refused() {
        for text in ["0:00", "24:00", "00:60", "00:00,x", "00:00,7,7", "00:00,7,90", "00:00,,0"] {
            assert!(Roll::parse(text).is_err(), "{text}");
        }
        assert!(Roll::parse("01:30,7,60").is_err(), "outside the first interval");
        let roll = Roll::parse("00:00,3:2").unwrap();
        assert_eq!((roll.days, roll.months, roll.every_minutes), (3, 2, 1440));
        for text in ["", "5", "d", "10K", "5m", "x7M", "1d,2d", "1G,1d,2G", "1d,", ",1G"] {
            assert!(Keep::parse(text).is_err(), "{text}");
        }
        let (age_ns, size_bytes) = (Some(86_400_000_000_000), Some(2 << 30));
        assert_eq!(Keep::parse("2G").unwrap(), Keep { age_ns: None, size_bytes });
        assert_eq!(Keep::parse("1d").unwrap(), Keep { age_ns, size_bytes: None });
        assert_eq!(Keep::parse("2G,1d").unwrap(), Keep { age_ns, size_bytes });
    }

    #[test]
    fn only_what_is_ours_and_old_is_deleted() {
        let directory = tempfile::tempdir().unwrap();
        let file_names = FileNames::new(directory.path(), "h");
        let names = [
            "h-20261101-000000.whit",
            "h-20261101.tab",
            "h-20261120-000000.whit",
            "h-20261121-000000.whit",
            "h-whit-202501.log",
            "h-whit-202611.log",
            "other-20200101-000000.whit",
            "h-20200101-000000.raw.gz",
            "notes.txt",
        ];
        for name in names {
            std::fs::write(directory.path().join(name), vec![0; 600 << 10]).unwrap();
        }
        let sides = ["h-20261101-000000.whit", "h-20261120-000000.whit"]
            .map(|name| recording::side_path(&directory.path().join(name)));
        for side in &sides {
            std::fs::write(side, "columns").unwrap();
        }
        let now: Zoned = "2026-11-21T12:00:00[UTC]".parse().unwrap();
        let current = vec![directory.path().join("h-20261121-000000.whit")];
        let roll = Roll::parse("00:00,7").unwrap();
        let gone = |gone: Vec<(PathBuf, std::io::Result<()>)>| {
            let name = |path: PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
            let mut names: Vec<String> = gone.into_iter().map(|(path, _)| name(path)).collect();
            names.sort();
            names
        };
        let first =
            gone(purge(&file_names, Some(&roll), None, &["tab".to_owned()], &now, &current));
        assert_eq!(first, ["h-20261101-000000.whit", "h-20261101.tab", "h-whit-202501.log"]);
        assert_eq!(sides.each_ref().map(|side| side.exists()), [false, true]);
        let keep = Some(Keep::parse("1M").unwrap());
        let second = gone(purge(&file_names, None, keep, &["tab".to_owned()], &now, &current));
        assert_eq!(second, ["h-20261120-000000.whit"]);
        let third = gone(purge(&file_names, None, keep, &[], &now, &current));
        assert!(third.is_empty(), "the file being written stays");
    }

    #[test]
    fn an_age_and_a_size_hold_together() {
        let directory = tempfile::tempdir().unwrap();
        let file_names = FileNames::new(directory.path(), "h");
        let now: Zoned = "2026-11-21T12:00:00[UTC]".parse().unwrap();
        let days = |count: u64| std::time::Duration::from_secs(count * 86_400);
        // Too old; beyond the size; kept.
        let files = [("h-20261118-000000.whit", 0, 3), ("h-20261119-000000.whit", 900, 1)];
        for (name, kib, age_days) in files.into_iter().chain([("h-20261120-000000.whit", 900, 0)]) {
            let path = directory.path().join(name);
            std::fs::write(&path, vec![0; kib << 10]).unwrap();
            let at = std::time::SystemTime::from(now.timestamp()) - days(age_days);
            std::fs::File::options().write(true).open(path).unwrap().set_modified(at).unwrap();
        }
        let gone = |keep: &str| {
            let gone = purge(&file_names, None, Some(Keep::parse(keep).unwrap()), &[], &now, &[]);
            gone.into_iter().map(|(path, _)| path).collect::<Vec<_>>()
        };
        assert_eq!(gone("2d,10M"), [directory.path().join(files[0].0)]);
        assert_eq!(gone("2d,1M"), [directory.path().join(files[1].0)]);
        assert_eq!(gone("2d,1M"), [""; 0].map(PathBuf::from));
    }

    #[test]
    fn what_readers_made_counts_and_goes_with_its_recording() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let file_names = FileNames::new(directory.path(), "h");
        let recordings = ["h-20261118-000000.whit", "h-20261119-000000.whit"];
        let current = vec![at("h-20261121-000000.whit")];
        let now: Zoned = "2026-11-21T12:00:00[UTC]".parse().unwrap();
        let write = |path: &Path, kib: usize| std::fs::write(path, vec![0; kib << 10]).unwrap();
        for path in recordings.map(at).iter().chain(&current) {
            write(path, 100);
            recording::side_paths(path).iter().for_each(|side| write(side, 100));
        }
        // Of no recording; of another program; of another host.
        write(&at("h-20261101-000000.whit.columns"), 1);
        write(&at("h-20261101-000000.whit.notes"), 1);
        write(&at("other-20261101-000000.whit.columns"), 1);
        // Recordings alone are 300 KiB, with all that readers made of them 1,200.
        let keep = Some(Keep::parse("1M").unwrap());
        let gone = purge(&file_names, None, keep, &[], &now, &current);
        let gone: Vec<PathBuf> = gone.into_iter().map(|(path, _)| path).collect();
        assert_eq!(gone, [at("h-20261101-000000.whit.columns"), at(recordings[0])]);
        let exist = |path: PathBuf| recording::side_paths(&path).map(|side| side.exists());
        assert_eq!(exist(at(recordings[0])), [false; 3]);
        assert_eq!((exist(at(recordings[1])), exist(current[0].clone())), ([true; 3], [true; 3]));
        assert!(at("h-20261101-000000.whit.notes").exists());
        assert!(at("other-20261101-000000.whit.columns").exists());
    }
}

//! What a poller knows of the targets of devices beside their values, kept in a file for the page: titles,
//! limits, and why one could not be read last.
//!
//! The file is written when something has changed, and not more often than each ten seconds: with rounds
//! of a second and thousands of silent targets it would otherwise be most of what a poller writes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use service_account::{PolledTarget, TARGETS_ENDING, TargetFailure, read_targets, write_targets};
use text::byte_text;

use crate::config::Config;
use crate::round::RoundReport;
use crate::samples::{RoundSources, one_line};

/// The shortest time between two times that the file is written.
const WRITTEN_EVERY_MS: u64 = 10_000;

/// The account of targets cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}, which the page shows of targets", .0.display())]
pub struct TargetAccountError(PathBuf, #[source] std::io::Error);

/// The targets of devices of some configurations, and the file that they are kept in.
#[derive(Debug)]
pub struct TargetAccount {
    path: PathBuf,
    targets: Vec<PolledTarget>,
    /// For each target of each configuration its place among those above, if it is of a device.
    places: Vec<Vec<Option<usize>>>,
    has_changed: bool,
    written_ms: Option<i64>,
}

impl TargetAccount {
    /// The targets of configurations.  The file is in a folder, and has a name that begins as those of
    /// the recordings there; the latest failures are taken from it, if there is one.
    #[must_use]
    pub fn open(
        (folder, stem): (&Path, &str),
        configs: &[&Config],
        sources: &RoundSources,
    ) -> Self {
        let path = folder.join(format!("{stem}{TARGETS_ENDING}"));
        // A file that cannot be read is written anew.
        let before = read_targets(&path).unwrap_or_default();
        let failures = before.iter().map(|one| ((&*one.device, &*one.target), &one.failure));
        let failures: HashMap<_, _> = failures.collect();
        let (mut targets, mut places) = (Vec::new(), Vec::new());
        for (number, config) in configs.iter().enumerate() {
            let of_config = config.targets.iter().enumerate().map(|(index, target)| {
                let (device, name) = sources.device_and_target(number, index)?;
                let limits = target.max_bytes.map(Some);
                let title = one_line(&target.title);
                let failure = failures.get(&(device, &*name)).and_then(|&failure| failure.clone());
                let device = device.to_owned();
                targets.push(PolledTarget { device, target: name, title, limits, failure });
                Some(targets.len() - 1)
            });
            places.push(of_config.collect());
        }
        let has_changed = targets != before;
        TargetAccount { path, targets, places, has_changed, written_ms: None }
    }

    /// Takes what a round of a configuration read, and writes the file if it is time.
    ///
    /// # Errors
    /// If the file cannot be written; it is tried again at the next round.
    pub fn add_round(
        &mut self,
        config: usize,
        report: &RoundReport,
        now_ms: i64,
    ) -> Result<(), TargetAccountError> {
        let places = self.places.get(config).into_iter().flatten();
        for (place, reading) in places.zip(&report.readings) {
            let Some(target) = place.and_then(|place| self.targets.get_mut(place)) else {
                continue;
            };
            let is_known = reading.values.iter().all(Option::is_some);
            let before = target.failure.as_ref();
            // Of one that another poller has, what was before is over as far as this one knows.
            if is_known || reading.is_elsewhere {
                if before.is_some_and(|failure| !failure.is_over) {
                    target.failure.iter_mut().for_each(|failure| failure.is_over = true);
                    self.has_changed = true;
                }
                continue;
            }
            let lasting = before.filter(|failure| !failure.is_over);
            // While a silent device rests, the reason is the one of before.
            let why = match (&reading.why, lasting) {
                (Some(why), _) => byte_text::shown(why).into_owned(),
                (None, Some(lasting)) => lasting.why.clone(),
                (None, None) => "it gave no value".to_owned(),
            };
            let since_ms = lasting.map_or(now_ms, |failure| failure.since_ms);
            let failure = TargetFailure { why, since_ms, at_ms: now_ms, is_over: false };
            target.failure = Some(failure);
            self.has_changed = true;
        }
        let is_time = |written_ms: i64| now_ms.abs_diff(written_ms) >= WRITTEN_EVERY_MS;
        if self.written_ms.is_none_or(is_time) { self.save(now_ms) } else { Ok(()) }
    }

    /// Writes the file if something has changed since it was written.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&mut self, now_ms: i64) -> Result<(), TargetAccountError> {
        if self.has_changed {
            write_targets(&self.path, self.targets.iter())
                .map_err(|error| TargetAccountError(self.path.clone(), error))?;
            (self.has_changed, self.written_ms) = (false, Some(now_ms));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Decimal, LoadEnvironment, Reading};

    fn config(folder: &Path) -> Config {
        let text = "WorkDir: /tmp\nMaxBytes[_]: 1000\nMaxBytes2[a]: 7\nTitle[_]: A <b>title\u{7}\n\
                    Target[a]: 1:public@router\nTarget[b.c]: 2:public@router\nTarget[p]: `x`\n";
        let path = folder.join("a.cfg");
        std::fs::write(&path, text).unwrap();
        Config::load(&path, &LoadEnvironment::default()).config.unwrap()
    }

    fn report(readings: [(&str, Option<&str>); 2]) -> RoundReport {
        let reading = |(value, why): (&str, Option<&str>)| Reading {
            values: [value, value].map(Decimal::parse),
            why: why.map(Into::into),
            ..Reading::default()
        };
        let readings = readings.into_iter().map(reading).chain([Reading::default()]).collect();
        RoundReport { readings, ..RoundReport::default() }
    }

    #[test]
    fn the_latest_failure_of_each_target_is_kept_over_restarts() {
        let folder = tempfile::tempdir().unwrap();
        let config = config(folder.path());
        let sources = RoundSources::of(&[&config], &|_| false);
        let path = folder.path().join("x.targets.json");
        let open = || TargetAccount::open((folder.path(), "x"), &[&config], &sources);
        let found = || read_targets(&path).unwrap();
        let mut account = open();
        account
            .add_round(0, &report([("5", None), ("U", Some("no \u{1b}answer"))]), 1_000)
            .unwrap();
        let both = found();
        let names: Vec<&str> = both.iter().map(|one| &*one.target).collect();
        assert_eq!(names, ["a", "b_c"], "a program is of no device");
        assert!(
            both.iter().all(|one| one.device == "router" && one.title.starts_with("A <b>title"))
        );
        assert_eq!(both[0].limits, [Some(1000.0), Some(7.0)]);
        assert_eq!(both[0].failure, None);
        let failure = both[1].failure.clone().unwrap();
        // Who shows it escapes it.
        assert_eq!(failure.why, "no \u{1b}answer");
        assert_eq!((failure.since_ms, failure.at_ms, failure.is_over), (1_000, 1_000, false));
        // The device rests, and no write comes before ten seconds have passed.
        account.add_round(0, &report([("5", None), ("U", None)]), 2_000).unwrap();
        assert_eq!(found(), both);
        account.add_round(0, &report([("5", None), ("U", None)]), 11_000).unwrap();
        let later = TargetFailure { at_ms: 11_000, ..failure.clone() };
        assert_eq!(found()[1].failure.as_ref(), Some(&later));
        let mut account = open();
        account.add_round(0, &report([("5", None), ("6", None)]), 12_000).unwrap();
        let over = TargetFailure { is_over: true, ..later };
        assert_eq!(found()[1].failure.as_ref(), Some(&over));
        account.add_round(0, &report([("U", None), ("U", Some("other"))]), 12_500).unwrap();
        account.save(12_500).unwrap();
        let failures = found().into_iter().map(|one| one.failure.unwrap());
        let since: Vec<(String, i64)> = failures.map(|one| (one.why, one.since_ms)).collect();
        assert_eq!(since, [("it gave no value".to_owned(), 12_500), ("other".to_owned(), 12_500)]);
    }
}

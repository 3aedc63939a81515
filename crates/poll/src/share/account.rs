//! What this poller knows of the others, kept in a file for the status of the service and its page.
//!
//! Every poller has the same configurations, so each knows from the table whose every device is; when one
//! changes hands, who had it before is remembered.

use std::collections::BTreeMap;
use std::path::PathBuf;

use service_account::{DeviceOwner, SharedPollers, read_pollers};

use super::lease::LOST;
use super::table::Table;

/// The file is written so often when nothing changes: its reader sees that the poller lives.
const WRITTEN_EVERY_S: i64 = 60;

/// The account, and the file that it is kept in.
#[derive(Debug)]
pub(super) struct PollersAccount {
    path: PathBuf,
    known: SharedPollers,
    /// As it was written last, and when.
    written: Option<(SharedPollers, i64)>,
    /// Why it could not be written last.
    failed: Option<String>,
}

impl PollersAccount {
    /// The account of a poller.  What a run before knew is taken from the file, if it was of the same bucket.
    pub(super) fn open(path: PathBuf, poller: &str, place: &str) -> Self {
        // A file that cannot be read is written anew.
        let before = read_pollers(&path).ok().flatten();
        let before = before.filter(|before| before.poller == poller && before.place == place);
        let new = || SharedPollers {
            poller: poller.to_owned(),
            place: place.to_owned(),
            ..SharedPollers::default()
        };
        PollersAccount { path, known: before.unwrap_or_else(new), written: None, failed: None }
    }

    /// Takes a table that was written, and the devices with their slots.
    pub(super) fn seen(&mut self, table: &Table, devices: &[(String, usize)], now_s: i64) {
        let known = &mut self.known;
        (known.at_s, known.unusable) = (now_s, None);
        let there = table.members.iter().map(|one| one.name.as_str()).filter(|name| *name != LOST);
        known.there = since(&known.there, there, now_s);
        known.silent = since(&known.silent, table.silent().iter().map(String::as_str), now_s);
        let mut before = std::mem::take(&mut known.devices);
        for (device, slot) in devices {
            let Some(poller) = table.owner(*slot).filter(|name| *name != LOST) else { continue };
            let owner = match before.remove(device) {
                Some(owner) if owner.poller == poller => owner,
                other => DeviceOwner {
                    poller: poller.to_owned(),
                    since_s: now_s,
                    from: other.map(|owner| owner.poller),
                },
            };
            known.devices.insert(device.clone(), owner);
        }
    }

    /// The bucket cannot be used.
    pub(super) fn unusable(&mut self, why: &str, now_s: i64) {
        self.known.unusable.get_or_insert_with(|| (now_s, why.to_owned()));
    }

    /// Writes the file if it is time; a message, if it cannot be written and could before.
    pub(super) fn save(&mut self, now_s: i64) -> Option<String> {
        let is_same = |(written, at_s): &(SharedPollers, i64)| {
            let same_time = SharedPollers { at_s: written.at_s, ..self.known.clone() };
            same_time == *written && now_s.abs_diff(*at_s) < WRITTEN_EVERY_S.unsigned_abs()
        };
        if self.written.as_ref().is_some_and(is_same) {
            return None;
        }
        let failed = self.known.write(&self.path).err().map(|error| error.to_string());
        if failed.is_none() {
            self.written = Some((self.known.clone(), now_s));
        }
        let is_new = failed != self.failed;
        self.failed.clone_from(&failed);
        let path = self.path.display();
        failed.filter(|_| is_new).map(|why| {
            format!("WARNING: cannot write {path}, which the status shows of pollers: {why}")
        })
    }

    /// Removes the file: this poller has given its devices away.
    pub(super) fn remove(&self) {
        // What is left says by its time that it is old.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Since when each of these is so.
fn since<'a>(
    before: &BTreeMap<String, i64>,
    now: impl Iterator<Item = &'a str>,
    now_s: i64,
) -> BTreeMap<String, i64> {
    now.map(|name| (name.to_owned(), before.get(name).copied().unwrap_or(now_s))).collect()
}

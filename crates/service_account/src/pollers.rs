//! What a poller knows of those that it shares devices with: who is there, who is silent, and which device is
//! whose, since when and from whom; in a file beside the poller's recordings, which the status of the service
//! and the page of metrics read.
//!
//! The file is one object of JSON, some 100 bytes a device, and is written when something has changed and once
//! a minute.  Names are of the configuration and of other machines, so whoever shows them escapes them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::targets::files_beside;
use crate::{AccountFault, fault, fault_json, text};

/// How the names of such files end.
pub const POLLERS_ENDING: &str = ".pollers.json";
/// Most bytes of a file: 50,000 devices with long names.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Most pollers: those of a table in a bucket.
const POLLERS_MAX: usize = 64;
/// Most devices: as many as targets.
const DEVICES_MAX: usize = 50_000;

/// The pollers that share devices, as one of them sees it.  Times are seconds since 1970 by its clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedPollers {
    /// The poller that says this.
    pub poller: String,
    /// The bucket.
    pub place: String,
    /// When the bucket was used last.
    pub at_s: i64,
    /// Since when the bucket cannot be used, and why: then nothing below is sure.
    pub unusable: Option<AccountFault>,
    /// Since when each poller is there.
    pub there: BTreeMap<String, i64>,
    /// Since when each poller is silent that was taken out for it and has not come again.
    pub silent: BTreeMap<String, i64>,
    /// Who polls each device.
    pub devices: BTreeMap<String, DeviceOwner>,
}

/// Who polls a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceOwner {
    /// The poller.
    pub poller: String,
    /// Since when, as far as is known.
    pub since_s: i64,
    /// The poller that had it before, if one is known.
    pub from: Option<String>,
}

impl SharedPollers {
    /// Writes them to a file: whole, or not at all.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        whole_file::replace(path, self.json().to_string())
    }

    /// How many devices each poller has, those that are there or silent and have none among them.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<&str, usize> {
        let names = self.there.keys().chain(self.silent.keys());
        let mut counts: BTreeMap<&str, usize> = names.map(|name| (name.as_str(), 0)).collect();
        for owner in self.devices.values() {
            *counts.entry(&owner.poller).or_default() += 1;
        }
        counts
    }

    /// How many devices a poller took over from each other one, and since when at the earliest.
    #[must_use]
    pub fn taken_over(&self, by: &str) -> BTreeMap<&str, (usize, i64)> {
        let mut taken: BTreeMap<&str, (usize, i64)> = BTreeMap::new();
        for owner in self.devices.values().filter(|owner| owner.poller == by) {
            let Some(from) = &owner.from else { continue };
            let (count, since_s) = taken.entry(from).or_insert((0, owner.since_s));
            (*count, *since_s) = (*count + 1, owner.since_s.min(*since_s));
        }
        taken
    }

    /// As the file has them, and the status of the service for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let devices = self.devices.iter().map(|(device, owner)| {
            let DeviceOwner { poller, since_s, from } = owner;
            (device.clone(), json!({ "poller": poller, "since": since_s, "from": from }))
        });
        json!({
            "poller": self.poller,
            "place": self.place,
            "at": self.at_s,
            "unusable": self.unusable.as_ref().map(fault_json),
            "pollers": self.there,
            "silent": self.silent,
            "devices": devices.collect::<serde_json::Map<_, _>>(),
        })
    }

    fn of(value: &Value) -> Option<Self> {
        let times = |value: &Value| -> BTreeMap<String, i64> {
            let all = value.as_object().into_iter().flatten().take(POLLERS_MAX);
            all.filter_map(|(name, at)| Some((name.clone(), at.as_i64()?))).collect()
        };
        let owner = |value: &Value| {
            Some(DeviceOwner {
                poller: text(&value["poller"])?,
                since_s: value["since"].as_i64()?,
                from: text(&value["from"]),
            })
        };
        let devices = value["devices"].as_object().into_iter().flatten().take(DEVICES_MAX);
        let devices = devices.filter_map(|(device, value)| Some((device.clone(), owner(value)?)));
        Some(SharedPollers {
            poller: text(&value["poller"])?,
            place: text(&value["place"])?,
            at_s: value["at"].as_i64()?,
            unusable: fault(&value["unusable"]),
            there: times(&value["pollers"]),
            silent: times(&value["silent"]),
            devices: devices.collect(),
        })
    }
}

/// Reads what a poller wrote; `None` if it is nothing of a poller.
///
/// # Errors
/// If it cannot be read.
pub fn read_pollers(path: &Path) -> io::Result<Option<SharedPollers>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    let is_whole = bytes.len() as u64 <= FILE_BYTES_MAX;
    let value = serde_json::from_slice(&bytes).ok().filter(|_| is_whole);
    Ok(value.as_ref().and_then(SharedPollers::of))
}

/// What the pollers of a folder's recordings know of each other; what cannot be read is left out.
#[must_use]
pub fn pollers_beside(folder: &Path) -> Vec<SharedPollers> {
    let files = pollers_files(folder).into_iter();
    files.filter_map(|path| read_pollers(&path).ok().flatten()).collect()
}

/// The files that the pollers of a folder's recordings keep of each other.
#[must_use]
pub fn pollers_files(folder: &Path) -> Vec<PathBuf> {
    files_beside(folder, POLLERS_ENDING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pollers_are_read_as_they_were_written_and_what_is_wrong_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let owner = |poller: &str, from: Option<&str>, since_s| DeviceOwner {
            poller: poller.into(),
            since_s,
            from: from.map(Into::into),
        };
        let known = SharedPollers {
            poller: "a".into(),
            place: "the bucket b of h:1".into(),
            at_s: 90,
            unusable: Some((80, "no answer".into())),
            there: [("a".into(), 1), ("b".into(), 2)].into(),
            silent: [("c".into(), 70)].into(),
            devices: [
                ("r1:161".into(), owner("a", None, 5)),
                ("r2:161\n".into(), owner("a", Some("c"), 71)),
                ("r3:161".into(), owner("a", Some("c"), 70)),
                ("r4:161".into(), owner("b", Some("a"), 8)),
            ]
            .into(),
        };
        let path = |name: &str| folder.path().join(format!("{name}{POLLERS_ENDING}"));
        known.write(&path("one")).unwrap();
        std::fs::write(path("two"), "{\"poller\":7}").unwrap();
        std::fs::write(path("three"), b"\xff[").unwrap();
        let some = "{\"poller\":\"x\",\"place\":\"\",\"at\":0,\"devices\":{\"d\":{\"poller\":\"y\"},\
                    \"e\":{\"poller\":\"y\",\"since\":1}},\"silent\":[1],\"pollers\":{\"x\":\"1\"}}";
        std::fs::write(path("zero"), some).unwrap();
        let all = pollers_beside(folder.path());
        assert_eq!(all.len(), 2);
        assert_eq!((&all[0], all[1].devices.len(), all[1].there.len()), (&known, 1, 0));
        assert_eq!(known.counts(), [("a", 3), ("b", 1), ("c", 0)].into());
        assert_eq!(known.taken_over("a"), [("c", (2, 70))].into());
    }
}

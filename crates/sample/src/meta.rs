//! Facts about a recording and its machine: host, boot, kernel, options, names.
//!
//! A list of keys and values, so that every version can read every other's.  The keys that whit
//! uses have accessors here; others are kept and shown.

use crate::Cadence;

const PAGE_SIZE: &str = "page_size_bytes";
const TICKS: &str = "ticks_per_second";

/// Facts about a recording and its machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    entries: Vec<(String, String)>,
    /// The numbers by which each value of a view is converted, read once.
    page_size_bytes: Option<u64>,
    ticks_per_second: Option<u64>,
}

impl Meta {
    /// No facts.
    pub fn new() -> Self {
        Meta::default()
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// Sets a key, replacing what it held.
    pub fn set(&mut self, key: &str, value: impl Into<String>) {
        let value = value.into();
        match key {
            PAGE_SIZE => self.page_size_bytes = value.parse().ok(),
            TICKS => self.ticks_per_second = value.parse().ok(),
            _ => {}
        }
        match self.entries.iter_mut().find(|(k, _)| k == key) {
            Some(entry) => entry.1 = value,
            None => self.entries.push((key.to_owned(), value)),
        }
    }

    /// All keys and values, in the order they were set.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.get(key)?.parse().ok()
    }

    /// `host`: the machine's name, empty if unknown.
    pub fn host(&self) -> &str {
        self.get("host").unwrap_or_default()
    }

    /// `page_size_bytes`, 4,096 if unknown.
    pub fn page_size_bytes(&self) -> u64 {
        self.page_size_bytes.unwrap_or(4096)
    }

    /// `ticks_per_second`: `USER_HZ`, 100 if unknown.
    pub fn ticks_per_second(&self) -> u64 {
        self.ticks_per_second.unwrap_or(100)
    }

    /// `cpus`: how many CPUs the machine had, 1 if unknown.
    pub fn cpus(&self) -> usize {
        self.number("cpus").and_then(|n| usize::try_from(n).ok()).unwrap_or(1)
    }

    /// Whether `cpu_siblings` is twice `cpu_cores`: each core runs two threads, which collectl's
    /// headings mention.
    pub fn is_hyperthreaded(&self) -> bool {
        match (self.number("cpu_siblings"), self.number("cpu_cores")) {
            (Some(siblings), Some(cores)) => cores > 0 && cores.checked_mul(2) == Some(siblings),
            _ => false,
        }
    }

    /// `interval_ns`: the first interval asked for, 1 s if unknown.
    pub fn interval_ns(&self) -> u64 {
        self.number("interval_ns").unwrap_or(1_000_000_000)
    }

    /// How often sources of a cadence are read.
    pub fn cadence_ns(&self, cadence: Cadence) -> u64 {
        match cadence {
            Cadence::First => self.interval_ns(),
            Cadence::Second => self.interval2_ns(),
            Cadence::Third => self.number("interval3_ns").unwrap_or(120_000_000_000),
        }
    }

    /// `interval2_ns`: the second interval asked for, 60 s if unknown.
    pub fn interval2_ns(&self) -> u64 {
        self.number("interval2_ns").unwrap_or(60_000_000_000)
    }

    /// `subsystems`: the `-s` letters recorded, empty if unknown.
    pub fn subsystems(&self) -> &str {
        self.get("subsystems").unwrap_or_default()
    }

    /// `origin`: the program that wrote the recording, `whit` or `collectl`.
    pub fn origin(&self) -> &str {
        self.get("origin").unwrap_or("whit")
    }

    /// Whether all sources of a tick share one wall-clock time stamp (collectl), instead of each
    /// having its own on a monotonic clock.
    pub fn has_single_clock(&self) -> bool {
        self.origin() == "collectl"
    }

    /// `timezone`: the time zone for local times, a name such as `Europe/Berlin` or an offset such
    /// as `+02:00`; `None` for the viewer's own.
    pub fn timezone(&self) -> Option<&str> {
        self.get("timezone").filter(|zone| !zone.is_empty())
    }

    /// `header_text`: collectl's own header lines, which plot files repeat; `None` unless the
    /// recording is collectl's.
    pub fn header_text(&self) -> Option<&str> {
        self.get("header_text")
    }

    /// `boot_id`, or a substitute: counters of recordings with different ids are not comparable.
    pub fn boot_id(&self) -> &str {
        self.get("boot_id").unwrap_or_default()
    }
}

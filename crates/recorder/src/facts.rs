//! Facts about the machine and the run for a recording's [`Meta`]: read once at the start.
//!
//! The import of collectl's headers uses the same keys, so that one view shows both.

use std::path::Path;

use jiff::tz::TimeZone;
use sample::{Meta, Moment};

use crate::intervals::Intervals;
use crate::messages::local;

/// The most that is read of one file here.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Facts about this run that the caller knows.
#[derive(Clone, Copy, Debug)]
pub struct RunFacts<'a> {
    /// The letters of the sources.
    pub subsystems: &'a str,
    /// How often they are read.
    pub intervals: Intervals,
    /// The command line of the program.
    pub command_line: &'a str,
    /// The user's comment.
    pub comment: Option<&'a str>,
    /// Local time.
    pub zone: &'a TimeZone,
    /// When the recording begins.
    pub now: Moment,
}

/// The name of the machine whose `/` is `root`; `localhost` if no file has it.
fn host_name(root: &Path) -> String {
    let found = read(root, "proc/sys/kernel/hostname").or_else(|| read(root, "etc/hostname"));
    let name = found.unwrap_or_default();
    match name.trim().split('.').next() {
        None | Some("") => "localhost".to_owned(),
        Some(name) => name.to_owned(),
    }
}

/// The facts of the machine whose `/` is `root`, and of this run.
#[must_use]
pub fn gather_facts(root: &Path, run: &RunFacts<'_>) -> Meta {
    let mut meta = Meta::new();
    meta.set("origin", "whit");
    meta.set("version", env!("CARGO_PKG_VERSION"));
    meta.set("host", host_name(root));
    let mut set = |key: &str, value: Option<String>| {
        if let Some(value) = value.map(|value| value.trim().to_owned()).filter(|v| !v.is_empty()) {
            meta.set(key, value);
        }
    };
    set("boot_id", read(root, "proc/sys/kernel/random/boot_id"));
    let boot_ns = run.now.realtime_ns - i64::try_from(run.now.monotonic_ns).unwrap_or(0);
    set("boot_ns", Some(boot_ns.to_string()));
    set("kernel", read(root, "proc/sys/kernel/osrelease"));
    set("architecture", rustix::system::uname().machine().to_str().ok().map(ToOwned::to_owned));
    set("distro", read(root, "etc/os-release").and_then(|text| quoted(&text, "PRETTY_NAME=")));
    let cpus = read(root, "proc/stat").map(|text| count_cpus(&text));
    set("cpus", cpus.map(|count| count.to_string()));
    let processors = read(root, "proc/cpuinfo").unwrap_or_default();
    set("cpu_model", after(&processors, "model name"));
    set("cpu_mhz", after(&processors, "cpu MHz"));
    let memory = read(root, "proc/meminfo").unwrap_or_default();
    set("memory_kib", after(&memory, "MemTotal"));
    set("swap_kib", after(&memory, "SwapTotal"));
    set("page_size_bytes", Some(rustix::param::page_size().to_string()));
    set("ticks_per_second", Some(rustix::param::clock_ticks_per_second().to_string()));
    set("subsystems", Some(run.subsystems.to_owned()));
    set("interval_ns", Some(run.intervals.first_ns.to_string()));
    set("interval2_ns", Some(run.intervals.second_ns().to_string()));
    set("interval3_ns", Some(run.intervals.third_ns().to_string()));
    let at = local(run.now, run.zone);
    set("date", Some(at.strftime("%Y%m%d-%H%M%S").to_string()));
    set("started_ns", Some(run.now.realtime_ns.to_string()));
    set("timezone", Some(at.strftime("%:z").to_string()));
    set("timezone_name", run.zone.iana_name().map(ToOwned::to_owned));
    set("command_line", Some(run.command_line.to_owned()));
    set("comment", run.comment.map(ToOwned::to_owned));
    meta
}

fn read(root: &Path, path: &str) -> Option<String> {
    use std::io::Read;
    let file = std::fs::File::open(root.join(path)).ok()?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn count_cpus(stat: &str) -> usize {
    let numbered = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    stat.lines().filter(numbered).count().max(1)
}

/// The text after `key` and a colon on the first line that begins with it, without ` kB`.
fn after(text: &str, key: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    let value = line.split_once(':')?.1.trim();
    Some(value.strip_suffix(" kB").unwrap_or(value).to_owned())
}

fn quoted(text: &str, key: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_and_one_that_says_nothing() {
        let intervals = Intervals { first_ns: 5, second_every: 2, third_every: 3 };
        let run = RunFacts {
            subsystems: "cd",
            intervals,
            command_line: "whit record",
            comment: Some("a test"),
            zone: &TimeZone::UTC,
            now: Moment { monotonic_ns: 7, realtime_ns: 1_795_235_702_000_000_000 },
        };
        let meta = gather_facts(Path::new("/"), &run);
        assert!(!meta.host().is_empty() && meta.cpus() >= 1 && meta.boot_id().len() == 36);
        assert_eq!((meta.interval_ns(), meta.interval2_ns()), (5, 10));
        assert_eq!(meta.get("date"), Some("20261121-043502"));
        assert_eq!(meta.get("timezone"), Some("+00:00"));
        assert!(meta.get("memory_kib").unwrap().parse::<u64>().unwrap() > 0);
        let empty = tempfile::tempdir().unwrap();
        let meta = gather_facts(empty.path(), &run);
        assert_eq!(meta.host(), "localhost");
        assert_eq!(meta.get("kernel"), None);
        assert_eq!(meta.get("comment"), Some("a test"));
    }
}

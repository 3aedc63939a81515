//! What a recording says about its machine: read once at the start, under `--root` where one is
//! given.
//!
//! The keys are those under which the import of collectl's headers files the same facts, so that
//! one view shows both.

use std::path::Path;

use jiff::tz::TimeZone;
use sample::{Meta, Moment};

use super::intervals::Intervals;
use super::messages::local;

/// Most that is read of one file here.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// What the command line adds to what the machine says.
pub(crate) struct Told<'a> {
    pub(crate) subsystems: &'a str,
    pub(crate) intervals: Intervals,
    pub(crate) command_line: &'a str,
    pub(crate) comment: Option<&'a str>,
    pub(crate) zone: &'a TimeZone,
    pub(crate) now: Moment,
}

/// The name of the machine whose `/` is `root`: its own, or `localhost` where nothing tells.
pub(crate) fn host_name(root: &Path) -> String {
    let told = read(root, "proc/sys/kernel/hostname").or_else(|| read(root, "etc/hostname"));
    let name = told.unwrap_or_default();
    match name.trim().split('.').next() {
        None | Some("") => "localhost".to_owned(),
        Some(name) => name.to_owned(),
    }
}

/// The facts.
pub(crate) fn gather(root: &Path, told: &Told<'_>) -> Meta {
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
    let boot_ns = told.now.realtime_ns - i64::try_from(told.now.monotonic_ns).unwrap_or(0);
    set("boot_ns", Some(boot_ns.to_string()));
    set("kernel", read(root, "proc/sys/kernel/osrelease"));
    set("architecture", Some(std::env::consts::ARCH.to_owned()));
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
    set("subsystems", Some(told.subsystems.to_owned()));
    set("interval_ns", Some(told.intervals.first_ns.to_string()));
    set("interval2_ns", Some(told.intervals.second_ns().to_string()));
    set("interval3_ns", Some(told.intervals.third_ns().to_string()));
    let at = local(told.now, told.zone);
    set("date", Some(at.strftime("%Y%m%d-%H%M%S").to_string()));
    set("started_ns", Some(told.now.realtime_ns.to_string()));
    set("timezone", Some(at.strftime("%:z").to_string()));
    set("timezone_name", told.zone.iana_name().map(ToOwned::to_owned));
    set("command_line", Some(told.command_line.to_owned()));
    set("comment", told.comment.map(ToOwned::to_owned));
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

/// What follows `key` and its colon on the first line that begins with it, without ` kB`.
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
        let told = Told {
            subsystems: "cd",
            intervals,
            command_line: "whit record",
            comment: Some("a test"),
            zone: &TimeZone::UTC,
            now: Moment { monotonic_ns: 7, realtime_ns: 1_795_235_702_000_000_000 },
        };
        let meta = gather(Path::new("/"), &told);
        assert!(!meta.host().is_empty() && meta.cpus() >= 1 && meta.boot_id().len() == 36);
        assert_eq!((meta.interval_ns(), meta.interval2_ns()), (5, 10));
        assert_eq!(meta.get("date"), Some("20261121-043502"));
        assert_eq!(meta.get("timezone"), Some("+00:00"));
        assert!(meta.get("memory_kib").unwrap().parse::<u64>().unwrap() > 0);
        let empty = tempfile::tempdir().unwrap();
        let meta = gather(empty.path(), &told);
        assert_eq!(meta.host(), "localhost");
        assert_eq!(meta.get("kernel"), None);
        assert_eq!(meta.get("comment"), Some("a test"));
    }
}

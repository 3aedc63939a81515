//! collectl's header: `#` lines of `Key: value` pairs before the first marker.
//!
//! ```text
//! # Collectl:   V4.3.1-1  HiRes: 1  Options: -scd -i1
//! # Host:       vm  DaemonOpts:
//! # Booted:     1795250141.35 [20261121-08:35:41]
//! # Date:       20261121-091141  Secs: 1795252301 TZ: +0000
//! # SubSys:     cd Options:  Interval: 1 NumCPUs: 2  NumBud: 3 Flags: i
//! ```
//!
//! Keys are searched in the whole header, since versions put them on different lines.

use std::path::Path;

use calendar::{DAY_S, days_of_date};
use sample::Meta;

use super::lines::Lines;
use super::{CollectlError, decimal_ns};

/// The most header text that is kept.  A header with a thousand disk and interface names has 20 KB.
const HEADER_BYTES_MAX: usize = 1024 * 1024;

/// The header of a recording.
#[derive(Clone, Debug)]
pub struct Header {
    /// The header's lines unchanged, each with its newline: plot files repeat them.
    pub text: String,
    /// The version without its `V`: `4.3.1-1`.
    pub version: String,
    /// The facts, under the keys that [`Meta`] knows.
    pub meta: Meta,
}

impl Header {
    /// Reads the lines up to the first that is not a comment, which is not consumed.
    pub(super) fn read(path: &Path, lines: &mut Lines) -> Result<Self, CollectlError> {
        let mut text = Vec::new();
        let mut is_whole = false;
        while let Some(line) = lines.next()? {
            if line.first() != Some(&b'#') {
                let length = line.len();
                lines.give_back(length);
                is_whole = true;
                break;
            }
            if text.len() + line.len() < HEADER_BYTES_MAX {
                text.extend_from_slice(line);
                text.push(b'\n');
            }
        }
        // A line of `#` above and one below the header.
        is_whole |=
            text.split(|&byte| byte == b'\n').filter(|l| l.starts_with(b"####")).count() > 1;
        if !is_whole && (lines.is_truncated() || lines.is_corrupt()) {
            return Err(CollectlError::CutInHeader(path.to_owned()));
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        let version = word_after(&text, "Collectl:").and_then(|word| word.strip_prefix('V'));
        let Some(version) = version.map(str::to_owned) else {
            return Err(CollectlError::NotCollectl(path.to_owned()));
        };
        if numbers(&version).as_slice() < &[3, 6][..] {
            return Err(CollectlError::TooOld { path: path.to_owned(), version });
        }
        let meta = meta_of(&text, &version);
        Ok(Header { text, version, meta })
    }

    /// The value of collectl's own key (`NfsFilt`), up to the next blank.
    pub fn word(&self, key: &str) -> Option<&str> {
        word_after(&self.text, &format!("{key}:"))
    }

    /// Whether the slabs were read from `/sys/slab` instead of `/proc/slabinfo`.
    pub(super) fn is_slub(&self) -> bool {
        self.word("Flags").is_some_and(|flags| flags.contains('s'))
    }

    /// The number of CPUs.
    pub(super) fn cpus(&self) -> usize {
        self.meta.cpus()
    }
}

/// A version's numbers: `4.3.20.3-1` is `[4, 3, 20, 3]`.
fn numbers(version: &str) -> Vec<u32> {
    let main = version.split('-').next().unwrap_or_default();
    main.split('.').map_while(|part| part.parse().ok()).collect()
}

/// The text after `key` on its line, without leading blanks.
fn rest_after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut from = 0;
    loop {
        let at = from + text[from..].find(key)?;
        // `Options:` must not be found inside `DaemonOptions:`.
        let before = text[..at].chars().next_back();
        if before.is_none_or(|c| c.is_whitespace() || c == '#') {
            let rest = &text[at + key.len()..];
            return Some(rest.lines().next().unwrap_or_default().trim_start());
        }
        from = at + key.len();
    }
}

/// The word after `key`; `None` if there is none, or if it is another key.
fn word_after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let word = rest_after(text, key)?.split_whitespace().next()?;
    (!word.ends_with(':')).then_some(word)
}

/// The text after `key` up to the key `next` (or the end of the line).
fn between<'a>(text: &'a str, key: &str, next: &str) -> Option<&'a str> {
    let rest = rest_after(text, key)?;
    Some(rest.find(next).map_or(rest, |end| &rest[..end]).trim())
}

/// Keys of [`Meta`], and the key in collectl's header whose word is their value.
const WORDS: &[(&str, &str)] = &[
    ("host", "Host:"),
    ("kernel", "Kernel:"),
    ("architecture", "Arch:"),
    ("ticks_per_second", "HZ:"),
    ("page_size_bytes", "PageSize:"),
    ("cpus", "NumCPUs:"),
    ("cpu_mhz", "Speed(MHz):"),
    ("cpu_cores", "Cores:"),
    ("cpu_siblings", "Siblings:"),
    ("numa_nodes", "Nodes:"),
    ("memory_kib", "Memory:"),
    ("swap_kib", "Swap:"),
    ("nfsfilt", "NfsFilt:"),
    ("envfilt", "EnvFilt:"),
    ("tcpfilt", "TcpFilt:"),
    ("buddy_rows", "NumBud:"),
    ("flags", "Flags:"),
    ("slabs", "NumSlabs:"),
    ("infiniband_adapters", "NumHCAs:"),
    ("platform", "Platform:"),
];

/// Keys of [`Meta`], the key in collectl's header, and the key that ends their value.
const PHRASES: &[(&str, &str, &str)] = &[
    ("command_line", "Options:", "\n"),
    ("distro", "Distro:", "Platform:"),
    ("cpu_model", "Cpu:", "Speed(MHz):"),
    ("disk_names", "DiskNames:", "\n"),
    ("net_names", "NetNames:", "\n"),
    ("comment", "Comment:", "\n"),
];

fn meta_of(text: &str, version: &str) -> Meta {
    let mut meta = Meta::new();
    meta.set("origin", "collectl");
    meta.set("version", version);
    for (key, theirs) in WORDS {
        if let Some(word) = word_after(text, theirs) {
            meta.set(key, word);
        }
    }
    for (key, theirs, next) in PHRASES {
        if let Some(phrase) = between(text, theirs, next).filter(|phrase| !phrase.is_empty()) {
            meta.set(key, phrase);
        }
    }
    meta.set("subsystems", word_after(text, "SubSys:").unwrap_or_default());
    if let Some(boot) = word_after(text, "Booted:") {
        meta.set("boot_id", boot);
        if let Some(boot_ns) = decimal_ns(boot.as_bytes()) {
            meta.set("boot_ns", boot_ns.to_string());
        }
    }
    if numbers(version).as_slice() < &[3, 6, 4][..] {
        // Older versions record the values of `TcpExt` and nothing else of the TCP/IP stack.
        meta.set("tcpfilt", "T");
    }
    set_intervals(&mut meta, word_after(text, "Interval:").unwrap_or_default());
    set_start(&mut meta, text);
    meta.set("header_text", text);
    meta
}

/// `1:60:120`; an unused interval is empty.
fn set_intervals(meta: &mut Meta, intervals: &str) {
    let keys = ["interval_ns", "interval2_ns", "interval3_ns"];
    for (key, interval) in keys.into_iter().zip(intervals.split(':')) {
        if let Some(interval_ns) = decimal_ns(interval.as_bytes()) {
            meta.set(key, interval_ns.to_string());
        }
    }
}

/// `Date: 20261121-091141  Secs: 1795252301 TZ: +0000`: the difference of local time and seconds
/// since the epoch is the zone's offset.
fn set_start(meta: &mut Meta, text: &str) {
    let Some(date) = word_after(text, "Date:") else { return };
    meta.set("date", date);
    let seconds = word_after(text, "Secs:").and_then(|word| word.parse::<i64>().ok());
    let (Some(seconds), Some(local)) = (seconds, local_seconds(date)) else { return };
    meta.set("started_ns", (seconds.saturating_mul(1_000_000_000)).to_string());
    let offset = local.saturating_sub(seconds);
    // More than a day is not a zone: the header was edited.
    if offset.abs() <= DAY_S {
        let (sign, size) = (if offset < 0 { '-' } else { '+' }, offset.abs());
        let (hours, minutes, rest) = (size / 3600, size / 60 % 60, size % 60);
        let zone = match rest {
            0 => format!("{sign}{hours:02}:{minutes:02}"),
            _ => format!("{sign}{hours:02}:{minutes:02}:{rest:02}"),
        };
        meta.set("timezone", zone);
    }
}

/// `yyyymmdd-hhmmss` as seconds since the epoch, as if it were UTC.
fn local_seconds(date: &str) -> Option<i64> {
    let (day, time) = date.split_once('-')?;
    let number = |text: &str, from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (number(day, 0, 4)?, number(day, 4, 6)?, number(day, 6, 8)?);
    let (hour, minute, second) = (number(time, 0, 2)?, number(time, 2, 4)?, number(time, 4, 6)?);
    Some(days_of_date(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const TEXT: &str = "\
################################################################################
# Collectl:   V4.3.1-1  HiRes: 1  Options: -s bcC -i1:1 -c 8 -f /tmp/rec 
# Host:       vm  DaemonOpts: 
# Booted:     1795250141.35 [20261121-08:35:41]
# Distro:     debian 12.11  Platform: Unknown
# Date:       20261121-101141  Secs: 1795252301 TZ: +0100
# SubSys:     bcCy Options:  Interval: 0.5:60 NumCPUs: 2  NumBud: 3 Flags: i
# Filters:    NfsFilt:  EnvFilt:  TcpFilt: ituc
# HZ:         100  Arch: x86_64-linux-gnu-thread-multi PageSize: 4096
# Cpu:        GenuineIntel Speed(MHz): 2300.002 Cores: 2  Siblings: 2 Nodes: 1
# Kernel:     6.18.44  Memory: 24684096 kB  Swap: 0 kB
# NumDisks:   1 DiskNames: vda
# NumNets:    4 NetNames: lo:?? ifb0:?? ifb1:?? eth0:-1
# NumSlabs:   235 Version: 2.1
################################################################################
";

    #[test]
    fn a_real_header() {
        let meta = meta_of(TEXT, "4.3.1-1");
        assert_eq!(meta.host(), "vm");
        assert_eq!(meta.origin(), "collectl");
        assert_eq!(meta.subsystems(), "bcCy");
        assert_eq!((meta.interval_ns(), meta.interval2_ns()), (500_000_000, 60_000_000_000));
        assert_eq!((meta.cpus(), meta.page_size_bytes(), meta.ticks_per_second()), (2, 4096, 100));
        assert_eq!(meta.timezone(), Some("+01:00"));
        assert_eq!(meta.get("nfsfilt"), None, "an empty filter is none");
        assert_eq!(meta.get("tcpfilt"), Some("ituc"));
        assert_eq!(meta.get("net_names"), Some("lo:?? ifb0:?? ifb1:?? eth0:-1"));
        assert_eq!(meta.get("cpu_model"), Some("GenuineIntel"));
        assert_eq!(meta.get("distro"), Some("debian 12.11"));
        assert_eq!(meta.get("command_line"), Some("-s bcC -i1:1 -c 8 -f /tmp/rec"));
        assert_eq!(meta.header_text(), Some(TEXT));
    }

    #[test]
    fn a_header_that_is_cut_says_so_and_a_whole_one_is_read() {
        // As much of the text as `bytes` says, in a file that then ends.
        let read = |text: &str, bytes: usize| {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
            packed.write_all(&text.as_bytes()[..bytes]).unwrap();
            packed.flush().unwrap();
            let path = Path::new("x.raw.gz");
            let input = std::io::Cursor::new(packed.get_ref().clone());
            Header::read(path, &mut Lines::over(input, path).unwrap())
        };
        for bytes in [0, 1, 80, 81, 100, 400, 800, TEXT.len() - 1] {
            let error = read(TEXT, bytes).unwrap_err();
            assert!(matches!(error, CollectlError::CutInHeader(_)), "{bytes}: {error}");
            let text = error.to_string();
            assert!(text.starts_with("x.raw.gz is cut short") && !text.contains('\n'), "{text}");
        }
        assert_eq!(read(TEXT, TEXT.len()).unwrap().version, "4.3.1-1");
        let more = format!("{TEXT}>>> 1795235701.001 <<<\ncpu  1 2 3");
        assert_eq!(read(&more, TEXT.len() + 5).unwrap().version, "4.3.1-1");
        let error = read("something else\n", 15).unwrap_err();
        assert!(matches!(error, CollectlError::NotCollectl(_)), "{error}");
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert!(numbers("4.3.20.3-1") >= vec![3, 6]);
        assert!(numbers("3.10") >= vec![3, 6]);
        assert!(numbers("3.5.1-2") < vec![3, 6]);
    }

    #[test]
    fn edited_times_are_no_zone() {
        for seconds in [i64::MIN, -1, 0, i64::MAX] {
            let text = format!("# Date:       20261121-101141  Secs: {seconds} TZ: +0100\n");
            assert_eq!(meta_of(&text, "4.3.1").timezone(), None, "{seconds}");
        }
    }

    #[test]
    fn dates() {
        assert_eq!(days_of_date(1970, 1, 1), 0);
        assert_eq!(days_of_date(2000, 2, 29), 11_016);
        assert_eq!(local_seconds("20261121-091141"), Some(1_795_252_301));
        assert_eq!(local_seconds("2026"), None);
    }
}

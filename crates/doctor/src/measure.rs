//! Reads every file of some sources many times, and measures the time of each.
//!
//! The sources do the reading, through a [`Host`] that records each file, so the list of files is
//! what they read on this machine.  Times are those of the system calls; [`SourceCost`] includes
//! parsing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use procfs::{Host, SystemClock, Touch};
use sample::{Clock, State, Table};
use source::{Entry, Source, SourceContext};

/// Rounds before measuring: the first opens files and allocates buffers, the second finds the
/// length of records.
const WARM_ROUNDS: u32 = 2;

/// Fewest rounds, even if they take long, because a median of fewer means little.
const ROUNDS_MIN: u32 = 3;

/// The results.
#[derive(Debug)]
pub(crate) struct Measured {
    /// Files and groups of files, the most expensive first; then those that could not be read.
    pub(crate) files: Vec<FileCost>,
    /// The sources, in the order in which they were given.
    pub(crate) sources: Vec<SourceCost>,
    /// Rounds that were measured.
    pub(crate) reads: u32,
}

/// The cost of one file, or of the files of one pattern, per tick.
#[derive(Debug)]
pub(crate) struct FileCost {
    /// The path, or the pattern that groups several.
    pub(crate) path: String,
    /// The number of files.
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    pub(crate) calls: u64,
    pub(crate) median_ns: u64,
    pub(crate) worst_ns: u64,
    pub(crate) state: State,
    /// The names of the sources that read it.
    pub(crate) sources: Vec<&'static str>,
    /// The letters of these sources for `-s`.
    pub(crate) letters: String,
}

/// The cost of one source per tick, parsing included.
#[derive(Debug)]
pub(crate) struct SourceCost {
    pub(crate) def: &'static Entry,
    pub(crate) state: State,
    pub(crate) median_ns: u64,
}

impl Measured {
    /// Time of reading all files in one tick, in ns.
    pub(crate) fn total_ns(&self) -> u64 {
        self.files.iter().map(|file| file.median_ns).sum()
    }
}

/// Reads all sources `reads` times, or as often as `time_max` allows.
pub(crate) fn measure(
    host: &mut Host,
    entries: &[&'static Entry],
    context: &Arc<SourceContext>,
    reads: u32,
    time_max: Duration,
) -> Measured {
    let mut clock = SystemClock;
    let mut opened: Vec<MeasuredSource> = Vec::with_capacity(entries.len());
    for entry in entries {
        host.probe_for(entry.name);
        opened.push(MeasuredSource {
            def: entry,
            source: (entry.open)(host, context),
            table: Table::new(entry.fields.len()),
            state: State::NotRecorded,
            costs_ns: Vec::new(),
        });
    }
    for _ in 0..WARM_ROUNDS {
        round(host, &mut opened);
    }
    host.forget_touches();
    opened.iter_mut().for_each(|opened| opened.costs_ns.clear());
    let begun = clock.now().monotonic_ns;
    let mut done = 0;
    while done < reads {
        let spent = clock.now().monotonic_ns.saturating_sub(begun);
        if done >= ROUNDS_MIN && u128::from(spent) > time_max.as_nanos() {
            break;
        }
        round(host, &mut opened);
        done += 1;
    }
    let source = |opened: &mut MeasuredSource| SourceCost {
        def: opened.def,
        state: opened.state,
        median_ns: median(&mut opened.costs_ns),
    };
    let sources = opened.iter_mut().map(source).collect();
    Measured { files: files(host, entries), sources, reads: done }
}

struct MeasuredSource {
    def: &'static Entry,
    source: Box<dyn Source>,
    table: Table,
    state: State,
    costs_ns: Vec<u64>,
}

fn round(host: &mut Host, opened: &mut [MeasuredSource]) {
    let mut clock = SystemClock;
    host.begin_tick();
    for opened in opened {
        host.probe_for(opened.def.name);
        let before = clock.now().monotonic_ns;
        opened.state = opened.source.read(host, &mut opened.table);
        opened.costs_ns.push(clock.now().monotonic_ns.saturating_sub(before));
    }
}

/// The median; 0 without values.
pub(crate) fn median(values: &mut [u64]) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// The files that share a line.
#[derive(Default)]
struct Group<'a> {
    touches: Vec<&'a Touch>,
}

fn files(host: &Host, entries: &[&'static Entry]) -> Vec<FileCost> {
    let mut groups: BTreeMap<String, Group<'_>> = BTreeMap::new();
    for (path, touch) in host.touches() {
        groups.entry(group_of(path, touch, entries)).or_default().touches.push(touch);
    }
    let mut files: Vec<FileCost> =
        groups.into_iter().map(|(path, group)| group.cost(path, entries)).collect();
    files.sort_by(|a, b| b.median_ns.cmp(&a.median_ns).then_with(|| a.path.cmp(&b.path)));
    files
}

impl Group<'_> {
    fn cost(&self, path: String, entries: &[&'static Entry]) -> FileCost {
        let mut ticks: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut calls, mut bytes) = (0, 0);
        let mut sources: Vec<&'static str> = Vec::new();
        for touch in &self.touches {
            for &(tick, nanoseconds) in &touch.readings {
                *ticks.entry(tick).or_default() += nanoseconds;
            }
            calls += touch.calls;
            bytes += touch.bytes;
            for reader in &touch.readers {
                if !sources.contains(reader) {
                    sources.push(reader);
                }
            }
        }
        let count = (ticks.len() as u64).max(1);
        let mut times: Vec<u64> = ticks.into_values().collect();
        let defs = entries.iter().filter(|entry| sources.contains(&entry.name));
        let letters = defs.flat_map(|entry| entry.letters.chars()).collect();
        let good = self.touches.iter().find(|touch| touch.state == State::Ok);
        let state = good.or(self.touches.first()).map_or(State::Absent, |touch| touch.state);
        FileCost {
            path,
            files: self.touches.len(),
            bytes: bytes / count,
            calls: calls.div_ceil(count),
            worst_ns: times.iter().copied().max().unwrap_or(0),
            median_ns: median(&mut times),
            state,
            sources,
            letters,
        }
    }
}

/// The path of a file's line: the pattern of one of its readers, or its own path.
fn group_of(path: &str, touch: &Touch, entries: &[&'static Entry]) -> String {
    let readers = entries.iter().filter(|entry| touch.readers.contains(&entry.name));
    for pattern in readers.flat_map(|entry| entry.reads) {
        let Some(star) = pattern.find('*') else { continue };
        if matches(pattern, path) {
            return (*pattern).to_owned();
        }
        // Directories that are read to find the files.
        let above = &pattern[..pattern[..star].rfind('/').map_or(0, |slash| slash + 1)];
        if path.ends_with('/') && path.len() > above.len() && path.starts_with(above) {
            return format!("{above}*/");
        }
    }
    same_name_below(path, touch, entries).unwrap_or_else(|| path.to_owned())
}

/// For a file that no reader lists in a tree with listed files (a controller of cgroup v1): the
/// pattern of all files of that name in the tree.
fn same_name_below(path: &str, touch: &Touch, entries: &[&'static Entry]) -> Option<String> {
    let readers = entries.iter().filter(|entry| touch.readers.contains(&entry.name));
    let patterns: Vec<&str> = readers.flat_map(|entry| entry.reads).copied().collect();
    if patterns.contains(&path) {
        return None;
    }
    let (_, name) = path.rsplit_once('/')?;
    let tree = patterns.iter().find_map(|pattern| {
        let (tree, _) = pattern.split_once('*')?;
        path.starts_with(tree).then_some(tree)
    })?;
    (!name.is_empty()).then(|| format!("{tree}*/{name}"))
}

/// Whether a path matches a pattern in which `*` matches any string.
fn matches(pattern: &str, path: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| path.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, path, fits) in [
            ("/proc/stat", "/proc/stat", true),
            ("/proc/stat", "/proc/stats", false),
            ("/sys/block/*/stat", "/sys/block/vda/stat", true),
            ("/sys/block/*/stat", "/sys/block/vda/size", false),
            ("/sys/*/ports/*/x", "/sys/a/ports/1/x", true),
            ("/sys/*/ports/*/x", "/sys/a/port/1/x", false),
        ] {
            assert_eq!(matches(pattern, path), fits, "{pattern} {path}");
        }
    }

    #[test]
    fn this_machine_is_measured_by_the_sources_themselves() {
        let mut host = Host::new("/");
        let entries: Vec<&Entry> = source::ALL.to_vec();
        let context = Arc::default();
        let measured = measure(&mut host, &entries, &context, 4, Duration::from_secs(5));
        assert_eq!(measured.reads, 4);
        let stat = measured.files.iter().find(|file| file.path == "/proc/stat").unwrap();
        assert!(stat.bytes > 200 && stat.median_ns > 500 && stat.worst_ns >= stat.median_ns);
        assert_eq!((stat.calls, stat.files), (1, 1));
        assert!(stat.letters.contains('c') && stat.sources.contains(&"cpu"));
        assert!(measured.total_ns() >= stat.median_ns);
        assert_eq!(measured.sources.len(), source::ALL.len());
    }
}

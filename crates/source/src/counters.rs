//! Sources that are read in one of two ways: from the kernel's files, or by one BPF program that
//! copies the counters of every CPU (`bpf::CpuCounters`).
//!
//! On an emulated machine of 48 CPUs and 8 nodes it takes a ninth of the CPU time that reading the
//! files of `-s cCjM` takes.  Loading it costs as much as thousands of readings of the files on a
//! machine with few CPUs, so it is loaded from [`CPUS_MIN`] CPUs on.  Before it is used, its values
//! are compared with those of the files.

use std::sync::Arc;

use bpf::{CpuCounters, CpuValues};
use procfs::Host;
use procfs::stat::CpuTimes;
use sample::{Field, Kind, State, Table};

use crate::{CounterMethod, Entry, Source, SourceContext};

/// The CPUs online from which the program is used unless an option decides.  On 48 emulated CPUs,
/// loading costs as much as 5,000 to 8,000 samples of `-s c` or 500 of `-s cCjM` save.
pub(crate) const CPUS_MIN: usize = 32;

/// The most CPUs; the kernel can be built for 8,192.
pub(crate) const CPUS_MAX: usize = 8192;

/// Attempts to find the values of the program between those of the files before and after.
const ATTEMPTS: usize = 20;

/// A source that is read in either way, with the same result.
pub(crate) trait CounterSource {
    /// As [`Source::read`], from files.
    fn read_files(&mut self, host: &mut Host, table: &mut Table) -> State;

    /// Reads from the counters of this tick; a file that costs the same on any number of CPUs
    /// may be read beside.
    fn read_counters(
        &mut self,
        counters: &CpuCounters,
        host: &mut Host,
        table: &mut Table,
    ) -> State;

    /// Compares the values of both ways.
    ///
    /// # Errors
    /// The first difference.
    fn check(&mut self, host: &mut Host, counters: &CpuCounters) -> Result<(), String>;
}

/// A source that is read from files only.
pub(crate) struct FilesOnly<S>(pub(crate) S);

impl<S: CounterSource> Source for FilesOnly<S> {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        self.0.read_files(host, table)
    }
}

/// Opens a source for the method that the options demand, else for the better one.
pub(crate) fn open<S: CounterSource + 'static>(
    entry: &'static Entry,
    mut source: S,
    host: &mut Host,
    context: &Arc<SourceContext>,
) -> Box<dyn Source> {
    let by_bpf = match context.filter.counters {
        _ if !host.is_this_machine() => false,
        CounterMethod::Proc => false,
        CounterMethod::Best if cpus_online(host) < CPUS_MIN => false,
        CounterMethod::Bpf | CounterMethod::Best => {
            let mut held = context.shared.counters.held();
            let checked = match held.load(&context.shared.kernel) {
                Ok(program) => source.check(host, &program.counters),
                Err(reason) => Err(reason),
            };
            // The check before a recording opens it too.
            held.sources.retain(|name| *name != entry.name);
            held.reasons.retain(|(name, _)| *name != entry.name);
            match checked {
                Ok(()) => {
                    held.sources.push(entry.name);
                    true
                }
                Err(reason) => {
                    held.reasons.push((entry.name, reason));
                    false
                }
            }
        }
    };
    Box::new(EitherWay { source, by_bpf, context: Arc::clone(context) })
}

/// A source and how it is read.
struct EitherWay<S> {
    source: S,
    by_bpf: bool,
    context: Arc<SourceContext>,
}

impl<S: CounterSource> Source for EitherWay<S> {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        if self.by_bpf
            && let Some(counters) = self.context.shared.counters.held().at_tick(host)
        {
            return self.source.read_counters(counters, host, table);
        }
        if self.context.filter.counters == CounterMethod::Bpf && host.is_this_machine() {
            // The options demand the program: do not fall back to the files.
            table.begin();
            return State::Denied;
        }
        self.source.read_files(host, table)
    }
}

/// The number of CPUs that are online.
fn cpus_online(host: &mut Host) -> usize {
    let list = host.read_once("/sys/devices/system/cpu/online").unwrap_or_default();
    parse_cpus(&list).len()
}

/// The numbers of a list in the kernel's format (`0-3,8`), ascending; malformed parts are skipped.
pub(crate) fn parse_cpus(list: &[u8]) -> Vec<u32> {
    let mut cpus = Vec::new();
    for part in String::from_utf8_lossy(list).trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else { continue };
        if cpus.last().is_none_or(|&before| before < first) {
            cpus.extend((first..=last).take(CPUS_MAX.saturating_sub(cpus.len())));
        }
    }
    cpus
}

/// Compares the values of the program with those of the files: counters must be between a reading
/// of the files before and one after; gauges must have been so once.
pub(crate) fn check(
    fields: &[Field],
    source: &mut impl CounterSource,
    host: &mut Host,
    counters: &CpuCounters,
) -> Result<(), String> {
    let [mut before, mut now, mut after] = [(); 3].map(|()| Table::new(fields.len()));
    let mut gauges_seen = Vec::new();
    let mut difference = String::new();
    for _ in 0..ATTEMPTS {
        host.begin_tick();
        let mut states = [source.read_files(host, &mut before), State::Ok, State::Ok];
        counters.refresh().map_err(|error| error.to_string())?;
        states[1] = source.read_counters(counters, host, &mut now);
        host.begin_tick();
        states[2] = source.read_files(host, &mut after);
        match states {
            [State::Ok, State::Ok, State::Ok] => {}
            [State::Ok, _, State::Ok] => return Err("this kernel hides them".to_owned()),
            _ => return Err("the files cannot be read".to_owned()),
        }
        match compare(fields, [&before, &now, &after], &mut gauges_seen) {
            None => return Ok(()),
            Some(text) => difference = text,
        }
    }
    Err(format!("its values are not those of the file: {difference}"))
}

/// The first difference, if there is one; `gauges_seen` remembers the gauges that were equal.
fn compare(
    fields: &[Field],
    [before, now, after]: [&Table; 3],
    gauges_seen: &mut Vec<bool>,
) -> Option<String> {
    if !now.same_rows(before) || !now.same_rows(after) {
        return Some(format!("{} rows, not {}", now.rows(), after.rows()));
    }
    gauges_seen.resize(now.rows() * fields.len(), false);
    let mut difference = None;
    for row in 0..now.rows() {
        for (at, field) in fields.iter().enumerate() {
            let [least, value, most] = [before, now, after].map(|table| table.get(row, at));
            let (is_equal, seen) = match field.kind {
                Kind::Text => (now.text(row, at) == after.text(row, at), None),
                Kind::Counter => ((least..=most).contains(&value), None),
                Kind::Gauge => (
                    (least.min(most)..=least.max(most)).contains(&value),
                    Some(&mut gauges_seen[row * fields.len() + at]),
                ),
            };
            let is_right = match seen {
                Some(seen) => {
                    *seen |= is_equal;
                    *seen
                }
                None => is_equal,
            };
            if !is_right && difference.is_none() {
                let name = String::from_utf8_lossy(now.name(row)).replace('\x1f', " ");
                difference = Some(format!(
                    "{} {name}: {value:?}, in the file {least:?} to {most:?}",
                    field.name
                ));
            }
        }
    }
    difference
}

/// Nanoseconds of a tick, in which the kernel prints CPU times (`USER_HZ`).
const TICK_NS: u64 = 10_000_000;

/// The times of a CPU in nanoseconds, in the order of `/proc/stat`: as `show_stat` of
/// fs/proc/stat.c, which takes idle time from the sleeps of a CPU that is online.
pub(crate) fn times_ns(cpu: &CpuValues) -> [u64; 10] {
    let [user, nice, system, softirq, irq, idle, iowait, steal, guest, guest_nice] = cpu.times_ns;
    let microseconds = |ns: u64| ns / 1000 * 1000;
    let (idle, iowait) = match cpu.online {
        0 => (idle, iowait),
        _ => (microseconds(cpu.idle_sleep_ns), microseconds(cpu.iowait_sleep_ns)),
    };
    [user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice]
}

/// Times in ticks.
pub(crate) fn ticks(times_ns: [u64; 10]) -> CpuTimes {
    CpuTimes { ticks: times_ns.map(|ns| ns / TICK_NS), count: times_ns.len() }
}

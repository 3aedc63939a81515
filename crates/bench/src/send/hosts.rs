//! A thousand hosts at once: recordings that grow each second, handed over to VictoriaMetrics by two senders.
//!
//! Each host has a recording of its own, as a central server keeps it (`whit log central --recordings`): a
//! sample of this machine, whose counters grow.  Half of them is in one folder, half in another, each with
//! a `whit send --follow` by remote write.  A second is *behind* while not every host's sample of it is
//! acknowledged; that is looked at before the next second is written, so 0 to 2 are as it should be: samples
//! are gathered for 2 s.
//!
//! The writer of the recordings is this program: on a real network it is the hosts and the central server.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use procfs::stat::{StatLine, parse_stat_totals};
use recording::{ReadOutcome, Reader, Writer, WriterOptions};
use rustix::process::{Resource, getrlimit, setrlimit};
use sample::{Kind, Meta, Snapshot, SourceDef};
use send::CursorFile;

use super::SendPlan;
use crate::Progress;
use crate::archive::Rival;
use crate::error::{Context, Result, ensure};
use crate::http::get;
use crate::process::{BackgroundProgram, cpu, silent, status_kib};
use crate::programs::run_quietly;

/// Processes of `whit send`.
const SENDERS: usize = 2;

/// What the cursor of each is called.
const CURSOR: &str = "a";

/// How long the senders may take for the rest after the last second.
const PATIENCE: Duration = Duration::from_secs(120);

const SECOND_NS: i64 = 1_000_000_000;

/// What a program needed.
#[derive(Clone, Debug)]
pub(super) struct HostCost {
    pub(super) name: String,
    /// CPU time, in percent of one processor.
    pub(super) cpu_percent: f64,
    pub(super) memory_mib: f64,
}

/// How it went.
#[derive(Clone, Debug)]
pub(super) struct HostsOutcome {
    pub(super) costs: Vec<HostCost>,
    pub(super) values_s: f64,
    /// Values that the engine took once more: of a request whose answer was lost.
    pub(super) twice: u64,
    /// Seconds that were not acknowledged before the next one was written: the most, and the last.
    pub(super) behind_max: u64,
    pub(super) behind: u64,
    /// How late the writer itself began a second.
    pub(super) late_ms_max: f64,
    /// From the last write until all was acknowledged.
    pub(super) rest_ms: f64,
    /// Processors that nobody used, in percent of one, and how many there are.
    pub(super) idle_percent: f64,
    pub(super) processors: usize,
}

/// The recordings of the hosts.
struct Hosts {
    template: Snapshot,
    writers: Vec<Writer>,
    folders: Vec<PathBuf>,
}

impl Hosts {
    /// Records this machine for a moment, and begins a recording of each host after its likeness.
    fn new(whit: &Path, hosts: usize, folder: &Path) -> Result<Self> {
        let own = folder.join("own");
        std::fs::create_dir(&own)?;
        let mut record = Command::new(whit);
        run_quietly(record.args(["record", "-scdnm", "-i1", "-c3", "-f"]).arg(own.join("")))?;
        let files = std::fs::read_dir(&own)?.collect::<std::io::Result<Vec<_>>>()?;
        let mut files = files.iter().map(std::fs::DirEntry::path);
        let own = files.find(|file| file.extension().is_some_and(|end| end == "whit"));
        let own = own.context("whit record has made no recording")?;
        let mut reader = Reader::open(&own, &source::definitions())?;
        let (defs, meta) = (reader.defs(), reader.meta().clone());
        let mut template = Snapshot::new(&defs);
        let mut samples = 0;
        while reader.next(&mut template)? == ReadOutcome::Sample {
            samples += 1;
        }
        ensure!(samples > 0, "whit record has written no sample to {}", own.display());
        let folders: Vec<PathBuf> =
            (0..SENDERS).map(|number| folder.join(format!("hosts{number}"))).collect();
        folders.iter().try_for_each(std::fs::create_dir)?;
        let begin = |number: usize| begin(&folders[number % SENDERS], number, &meta, &defs);
        let writers = (0..hosts).map(begin).collect::<Result<_>>()?;
        Ok(Hosts { template, writers, folders })
    }

    /// A second passes: counters grow, each at its own pace, and every host has a sample of that.
    fn step(&mut self, defs: &[std::sync::Arc<SourceDef>]) -> Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_ns = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
        let template = &mut self.template;
        template.realtime_ns = now_ns;
        template.monotonic_ns += SECOND_NS.cast_unsigned();
        template.fresh.fill(true);
        for (sample, def) in template.samples.iter_mut().zip(defs) {
            (sample.realtime_ns, sample.monotonic_ns) = (now_ns, template.monotonic_ns);
            let counters =
                def.fields.iter().enumerate().filter(|(_, field)| field.kind == Kind::Counter);
            for (at, _) in counters {
                for row in 0..sample.table.rows() {
                    // A third of them stands still, as many counters of a machine do.
                    let grows = (row * 7 + at * 13) % 90;
                    if let Some(value) = sample.table.get(row, at).filter(|_| !at.is_multiple_of(3))
                    {
                        sample.table.row_mut(row).set(at, value.wrapping_add(grows as u64));
                    }
                }
            }
        }
        self.writers
            .iter_mut()
            .try_for_each(|writer| Ok(writer.append(&self.template).map(drop)?))
    }

    /// Whether so many seconds are acknowledged; takes a moment, since it is asked in a loop.
    fn has_all(&self, seconds: u64) -> bool {
        std::thread::sleep(Duration::from_millis(20));
        self.acknowledged().is_ok_and(|(least, _)| least >= seconds)
    }

    /// The seconds of which every host's sample is acknowledged, and all points.
    fn acknowledged(&self) -> Result<(u64, u64)> {
        let (mut least, mut points) = (u64::MAX, 0);
        for folder in &self.folders {
            let cursor = CursorFile::read(folder, CURSOR)?.unwrap_or_default();
            let next = cursor.recordings.values().map(|one| one.next).min();
            least = least.min(next.unwrap_or(0));
            points += cursor.points_sent;
        }
        Ok((least, points))
    }
}

/// Begins the recording of a host.
fn begin(
    folder: &Path,
    number: usize,
    meta: &Meta,
    defs: &[std::sync::Arc<SourceDef>],
) -> Result<Writer> {
    let mut meta = meta.clone();
    meta.set("host", format!("host{number}"));
    let path = folder.join(format!("host{number}.whit"));
    Ok(Writer::create(&path, &meta, defs, WriterOptions::default())?)
}

/// Runs it, if VictoriaMetrics is there.
pub(super) fn run(
    plan: &SendPlan,
    whit: &Path,
    victoria: &Path,
    folder: &Path,
    progress: &Progress<'_>,
) -> Result<HostsOutcome> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit)?;
    progress.show(&format!("{} hosts: making their recordings", plan.hosts));
    let mut hosts = Hosts::new(whit, plan.hosts, folder)?;
    let engine = Rival::victoria_metrics(victoria, &folder.join("victoria-metrics"))?;
    let defs = Reader::open(hosts.writers[0].path(), &source::definitions())?.defs();
    hosts.step(&defs)?;
    let mut senders = Vec::new();
    for own in &hosts.folders {
        let mut command = Command::new(whit);
        command.args(["send", "--follow", "--name", CURSOR, "--to"]);
        command.arg(format!("remote-write=http://{}", engine.address())).arg(own);
        senders.push(BackgroundProgram::start(silent(&mut command))?);
    }
    let mut written = 1;
    // The engine makes its series at the first second.
    senders[0].wait_until(PATIENCE, || hosts.has_all(written))?;
    let all: Vec<(String, u32)> = [("the writer".to_owned(), std::process::id())]
        .into_iter()
        .chain((1..).zip(&senders).map(|(number, one)| (format!("whit send {number}"), one.id())))
        .chain([("victoria-metrics".to_owned(), engine.id())])
        .collect();
    let spent = || all.iter().map(|(_, pid)| cpu(*pid).unwrap_or_default()).collect::<Vec<_>>();
    let (before, idle, begun) = (spent(), idle_ticks()?, Instant::now());
    let (_, points) = hosts.acknowledged()?;
    let (mut behind, mut behind_max, mut late) = (0, 0, Duration::ZERO);
    for second in 1..=plan.hosts_seconds {
        let due = Duration::from_secs(second);
        std::thread::sleep(due.saturating_sub(begun.elapsed()));
        late = late.max(begun.elapsed().saturating_sub(due));
        senders.iter_mut().try_for_each(BackgroundProgram::check)?;
        behind = written.saturating_sub(hosts.acknowledged()?.0);
        behind_max = behind_max.max(behind);
        progress.show(&format!(
            "{} hosts: second {second} of {}, {behind} behind",
            plan.hosts, plan.hosts_seconds
        ));
        hosts.step(&defs)?;
        written += 1;
    }
    let last = Instant::now();
    senders[0].wait_until(PATIENCE, || hosts.has_all(written))?;
    let rest = last.elapsed();
    let (after, passed, idle) = (spent(), begun.elapsed(), idle_ticks()?.saturating_sub(idle));
    let percent = |time: Duration| 100.0 * time.as_secs_f64() / passed.as_secs_f64();
    let costs =
        all.iter().zip(before.iter().zip(&after)).map(|((name, pid), (before, after))| HostCost {
            name: name.clone(),
            cpu_percent: percent(after.saturating_sub(*before)),
            memory_mib: status_kib(*pid, "VmHWM").unwrap_or(0) as f64 / 1024.0,
        });
    let costs = costs.collect();
    let sent = hosts.acknowledged()?.1;
    for sender in senders {
        sender.stop()?;
    }
    let taken = rows_taken(&engine)?;
    ensure!(taken >= sent, "victoria-metrics has taken {taken} values of {sent} that were sent");
    engine.stop()?;
    let ticks_s = rustix::param::clock_ticks_per_second().max(1);
    Ok(HostsOutcome {
        costs,
        values_s: (sent - points) as f64 / passed.as_secs_f64(),
        twice: taken - sent,
        behind_max,
        behind,
        late_ms_max: late.as_secs_f64() * 1e3,
        rest_ms: rest.as_secs_f64() * 1e3,
        idle_percent: percent(Duration::from_secs_f64(idle as f64 / ticks_s as f64)),
        processors: std::thread::available_parallelism().map_or(1, usize::from),
    })
}

/// The values that VictoriaMetrics has taken by remote write.
fn rows_taken(engine: &Rival) -> Result<u64> {
    let text = get(engine.address(), "/metrics", false)?.text();
    let is_it = |line: &&str| line.starts_with("vm_rows_inserted_total{type=\"promremotewrite\"");
    let line = text.lines().find(is_it).context("victoria-metrics does not say what it took")?;
    let value = line.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok());
    Ok(value.with_context(|| format!("not a number: {line}"))? as u64)
}

/// The idle time of all processors, waits for disks among them, in ticks (proc_stat(5)).
fn idle_ticks() -> Result<u64> {
    let text = std::fs::read("/proc/stat")?;
    idle_in(&text).context("/proc/stat does not have the time of all processors")
}

fn idle_in(text: &[u8]) -> Option<u64> {
    parse_stat_totals(text).find_map(|line| match line {
        StatLine::Total(times) => Some(times.ticks[3] + times.ticks[4]),
        _ => None,
    })
}

impl HostsOutcome {
    /// What other programs and the kernel used of the processors, in percent of one.
    fn others_percent(&self) -> f64 {
        let own: f64 = self.costs.iter().map(|cost| cost.cpu_percent).sum();
        (100.0 * self.processors as f64 - self.idle_percent - own).max(0.0)
    }

    /// Whether it kept up, and by what the machine was limited if not.
    pub(super) fn verdict(&self) -> String {
        let most = |one: &&HostCost| one.cpu_percent > 90.0 && one.name != "victoria-metrics";
        let full = self.costs.iter().find(most);
        let rest = format!("{:.0} ms after the last second all was there", self.rest_ms);
        let is_late = self.late_ms_max >= 1e3;
        match self.behind <= 2 && self.rest_ms < 3e3 && !is_late {
            true => format!("It kept up: {rest}."),
            false if self.idle_percent < 10.0 => {
                format!(
                    "It did not keep up, all processors were busy, {:.0} % of one with other programs: {rest}.",
                    self.others_percent()
                )
            }
            false => match full {
                Some(one) => {
                    format!("It did not keep up, {} used a whole processor: {rest}.", one.name)
                }
                None => format!(
                    "It did not keep up although {:.0} % of a processor were idle: {rest}.",
                    self.idle_percent
                ),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_that_of_all_processors() {
        let text = b"cpu  1 2 3 40 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert_eq!(idle_in(text), Some(45));
        assert_eq!(idle_in(b"cpu0 1 2 3 4 5\n"), None);
        assert!(idle_ticks().unwrap() > 0);
    }

    #[test]
    fn what_did_not_keep_up_says_what_it_lacked() {
        let cost = |name: &str, cpu_percent| HostCost {
            name: name.to_owned(),
            cpu_percent,
            memory_mib: 1.0,
        };
        let mut outcome = HostsOutcome {
            costs: vec![cost("whit send 1", 95.0), cost("victoria-metrics", 60.0)],
            values_s: 1.0,
            twice: 0,
            behind_max: 9,
            behind: 1,
            late_ms_max: 0.0,
            rest_ms: 900.0,
            idle_percent: 40.0,
            processors: 2,
        };
        assert!(outcome.verdict().starts_with("It kept up"));
        outcome.late_ms_max = 1e3;
        assert!(outcome.verdict().starts_with("It did not keep up"), "the writer did not");
        (outcome.late_ms_max, outcome.behind) = (0.0, 5);
        assert!(outcome.verdict().contains("whit send 1 used a whole processor"));
        outcome.idle_percent = 3.0;
        assert!(outcome.verdict().contains("all processors were busy, 42 % of one with other"));
        outcome.idle_percent = 40.0;
        outcome.costs[0].cpu_percent = 20.0;
        assert!(outcome.verdict().contains("although 40 %"));
    }
}

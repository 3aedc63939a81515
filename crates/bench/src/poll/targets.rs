//! MRTG's experiment: everybody reads the same targets from the same devices, in turn.
//!
//! Each has a folder of its own, and makes its files in a round that does not count.  A turn of a
//! process is one round, its start and the reading of the configuration included, as cron starts it.
//! A turn of a program that stays is the mean of some rounds after its first.  Through a caching
//! daemon these rounds end with a `FLUSHALL`, so all that they bring is written and counted.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::config::{ConfigSettings, Output};
use super::devices::Hosts;
use super::poller::Poller;
use super::{Bench, PollFacts, Results};
use crate::contest::{Contest, Measurement, in_turn};
use crate::error::{Context, Result, ensure};
use crate::folder;
use crate::process;
use crate::rrdcached::NO_WRITES_SECONDS;
use crate::rrdcached::daemon::{self, Daemon};

/// The program that polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Mrtg,
    Whit,
}

/// Where readings go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// MRTG's logs, pages and pictures.
    Native,
    /// The logs alone.
    LogOnly,
    Databases,
    Cached,
}

/// One contestant.
#[derive(Clone, Copy, Debug)]
struct Entry {
    name: &'static str,
    who: Who,
    kind: Kind,
    stays: bool,
}

const fn entry(name: &'static str, who: Who, kind: Kind, stays: bool) -> Entry {
    Entry { name, who, kind, stays }
}

/// Names that ratios are made of.
pub(crate) const MRTG_NATIVE: &str = "mrtg, native";
pub(crate) const MRTG_DATABASES: &str = "mrtg, rrd";
pub(crate) const MRTG_DAEMON: &str = "mrtg, rrd, stays";
pub(crate) const MRTG_CACHED: &str = "mrtg, rrdcached, stays";
pub(crate) const WHIT_NATIVE: &str = "whit, native";
pub(crate) const WHIT_DATABASES: &str = "whit, rrd";
pub(crate) const WHIT_DAEMON: &str = "whit, rrd, stays";
pub(crate) const WHIT_CACHED: &str = "whit, whit rrdcached, stays";

const ENTRIES: [Entry; 9] = [
    entry(MRTG_NATIVE, Who::Mrtg, Kind::Native, false),
    entry(MRTG_DATABASES, Who::Mrtg, Kind::Databases, false),
    entry(MRTG_DAEMON, Who::Mrtg, Kind::Databases, true),
    entry(MRTG_CACHED, Who::Mrtg, Kind::Cached, true),
    entry(WHIT_NATIVE, Who::Whit, Kind::Native, false),
    entry("whit, logs only", Who::Whit, Kind::LogOnly, false),
    entry(WHIT_DATABASES, Who::Whit, Kind::Databases, false),
    entry(WHIT_DAEMON, Who::Whit, Kind::Databases, true),
    entry(WHIT_CACHED, Who::Whit, Kind::Cached, true),
];

impl Bench<'_> {
    /// The experiment.
    pub(super) fn targets(&self, results: &mut Results) -> Result<()> {
        let hosts = self.hosts(results)?;
        results.hosts.clone_from(&hosts.name);
        let entries: Vec<Entry> =
            ENTRIES.into_iter().filter(|entry| self.takes_part(entry)).collect();
        let mut contests: Vec<_> =
            entries.iter().map(|one| Contest::new(one.name, PollFacts::default())).collect();
        let mut ended: Vec<Option<Instant>> = vec![None; entries.len()];
        in_turn(
            self.progress,
            "targets",
            self.plan.rounds,
            &mut contests,
            |place, contest, round| {
                let entry = &entries[place];
                let is_slow = entry.who == Who::Mrtg && entry.kind == Kind::Native;
                if is_slow && round > 0 {
                    return Ok(());
                }
                let folder = self.folder.join(format!("targets{place}"));
                let turn = match entry.stays {
                    true => self.stay(entry, &folder, &hosts),
                    false => {
                        self.once(entry, &folder, &hosts, &mut ended[place]).map(|one| (one, None))
                    }
                };
                let (poller, daemon) = turn.with_context(|| entry.name)?;
                contest.turns.push(poller);
                contest.facts.daemon.extend(daemon);
                Result::Ok(())
            },
        )?;
        results.targets = contests;
        Ok(())
    }

    fn hosts(&self, results: &mut Results) -> Result<Hosts> {
        let count = self.plan.hosts;
        match &self.snmpd {
            Some(snmpd) if self.has_network && !self.plan.is_simulated => {
                let folder = self.folder.join("hosts");
                Hosts::real(snmpd, count, &folder)
            }
            _ => {
                results.notes.push("the devices of the experiment are simulated".to_owned());
                Hosts::simulated(count)
            }
        }
    }

    fn takes_part(&self, entry: &Entry) -> bool {
        let is_native_wanted = entry.kind != Kind::Native || self.plan.has_native;
        let is_there = match entry.who {
            Who::Whit => true,
            Who::Mrtg if entry.kind == Kind::Cached => {
                self.mrtg.is_some() && self.rrdcached.is_some()
            }
            Who::Mrtg => self.mrtg.is_some(),
        };
        is_there && (is_native_wanted || entry.who == Who::Whit)
    }

    /// The command of a poller.
    pub(super) fn poller(&self, who: Who, config: &Path) -> Result<Command> {
        Ok(match who {
            Who::Mrtg => {
                let mut command = Command::new(self.mrtg.as_ref().context("mrtg")?);
                command.arg(config);
                command
            }
            Who::Whit => {
                let mut command = Command::new(&self.programs.whit);
                command.arg("poll").arg(config);
                command
            }
        })
    }

    fn command(&self, entry: &Entry, config: &Path) -> Result<Command> {
        let mut command = self.poller(entry.who, config)?;
        if entry.kind == Kind::LogOnly {
            command.arg("--log-only");
        }
        Ok(command)
    }

    /// A round as a process of its own.
    fn once(
        &self,
        entry: &Entry,
        folder: &Path,
        hosts: &Hosts,
        ended: &mut Option<Instant>,
    ) -> Result<Measurement> {
        let output = match entry.kind {
            Kind::Databases => Output::Databases,
            _ => Output::Native,
        };
        let way = self.way(folder, output, false);
        let config = way.targets(self.plan.targets, &hosts.addresses)?;
        let run =
            || Poller::start(&mut self.command(entry, &config)?)?.end(|status| status.success());
        if ended.is_none() {
            // Files are made; where rates are wanted, there is a reading to begin with.
            run()?;
            *ended = Some(Instant::now());
        }
        if let Some(ended) = ended {
            // Each round brings a row.
            let next = Duration::from_secs(u64::from(self.plan.interval_s));
            std::thread::sleep(next.saturating_sub(ended.elapsed()));
        }
        folder::sync(self.folder)?;
        let cost = run()?;
        *ended = Some(Instant::now());
        Ok(cost)
    }

    /// Rounds of a program that stays: the cost of a round of the poller, with all pages made dirty,
    /// and that of its caching daemon.
    fn stay(
        &self,
        entry: &Entry,
        folder: &Path,
        hosts: &Hosts,
    ) -> Result<(Measurement, Option<Measurement>)> {
        std::fs::create_dir_all(folder)?;
        let journal = self.folder.join("journal");
        if journal.exists() {
            std::fs::remove_dir_all(&journal)?;
        }
        let socket = journal.with_extension("sock");
        let output = match entry.kind {
            Kind::Databases => Output::Databases,
            Kind::Cached => Output::Cached(&socket),
            _ => Output::Native,
        };
        let way = self.way(folder, output, true);
        let config = way.targets(self.plan.targets, &hosts.addresses)?;
        let mut cache = match entry.kind {
            Kind::Cached => Some(self.cache(entry.who, folder, &journal)?),
            _ => None,
        };
        let mut poller = Poller::start(&mut self.command(entry, &config)?)?;
        let steps = u64::from(self.plan.steps);
        let mut writes = 0;
        let mut flush = |cache: &mut Option<Daemon>| -> Result<Measurement> {
            let Some(cache) = cache else { return Ok(Measurement::default()) };
            writes += u64::from(self.plan.targets);
            cache.connect()?.flush_all(writes)?;
            process::spent(cache.pid()).context("the caching daemon has ended")
        };
        let mut last = poller.round(&Measurement::default())?;
        let of_cache = flush(&mut cache)?;
        folder::sync(self.folder)?;
        let begin = poller.spent()?;
        last = Measurement { wall_us: last.wall_us, ..begin };
        let mut wall_us = 0;
        for _ in 0..steps {
            last = poller.round(&last)?;
            wall_us += last.wall_us;
        }
        let mut spent = last.since(&begin, steps);
        spent.wall_us = wall_us / steps.max(1);
        poller.stop()?;
        let cached = flush(&mut cache)?.since(&of_cache, steps);
        let daemon = cache.is_some().then_some(cached);
        if let Some(cache) = cache {
            ensure!(cached.cpu_us() > 0, "the caching daemon got nothing");
            cache.stop()?;
        }
        let dirtied = spent.dirtied_bytes.map(|own| own + cached.dirtied_bytes.unwrap_or(0));
        Ok((Measurement { dirtied_bytes: dirtied, ..spent }, daemon))
    }

    /// The caching daemon that goes with a poller.
    fn cache(&self, who: Who, base: &Path, journal: &Path) -> Result<Daemon> {
        let way = match who {
            Who::Whit => daemon::DaemonSettings {
                program: &self.programs.whit,
                acknowledge: Some("os"),
                base,
                write_seconds: NO_WRITES_SECONDS,
            },
            Who::Mrtg => daemon::DaemonSettings {
                program: self.rrdcached.as_ref().context("rrdcached")?,
                acknowledge: None,
                base,
                write_seconds: NO_WRITES_SECONDS,
            },
        };
        Daemon::start(way, journal).context("the caching daemon")
    }

    pub(super) fn way<'w>(
        &self,
        folder: &'w Path,
        output: Output<'w>,
        is_daemon: bool,
    ) -> ConfigSettings<'w> {
        ConfigSettings {
            folder,
            output,
            is_daemon,
            interval_s: self.plan.interval_s,
            is_gauge: false,
        }
    }
}

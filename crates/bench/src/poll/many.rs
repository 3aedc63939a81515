//! Thousands of simulated devices, each with a target of two objects and one that is the sum of all
//! its others, so that reading costs more than keeping.

use std::io::{Seek as _, Write as _};
use std::path::Path;
use std::process::Command;

use super::config::{ConfigSettings, Output, Version};
use super::devices::Hosts;
use super::poller::Poller;
use super::targets::Who;
use super::{Bench, PollContest, PollFacts, Results};
use crate::contest::Contest;
use crate::error::{Context, Result, ensure};
use crate::programs::run_heard;

/// One of so many devices is dead where some are.
const DEAD_EACH: u32 = 10;

/// Most rounds that are measured.
const ROUNDS_MAX: u32 = 3;

/// Seconds between rounds, and where some devices are dead, which are waited for.
const INTERVAL_S: [u32; 2] = [10, 20];

/// The rows.
const ROWS: [(&str, Version, Option<u32>); 3] = [
    ("v2c", Version::V2c, None),
    ("v2c, a tenth dead", Version::V2c, Some(DEAD_EACH)),
    ("v3 authPriv", Version::V3, None),
];

impl Bench<'_> {
    /// The table of thousands of devices.
    pub(super) fn many(&self, results: &mut Results) -> Result<()> {
        for (number, (name, version, dead_each)) in ROWS.into_iter().enumerate() {
            self.progress.show(&format!("{} devices: {name}", self.plan.devices));
            let folder = self.folder.join(format!("many{number}"));
            let row = self.many_row(name, version, dead_each, &folder);
            results.many.push(row.with_context(|| name)?);
            std::fs::remove_dir_all(&folder)?;
        }
        Ok(())
    }

    fn many_row(
        &self,
        name: &str,
        version: Version,
        dead_each: Option<u32>,
        folder: &Path,
    ) -> Result<PollContest> {
        let super::PollPlan { devices, objects, .. } = *self.plan;
        let hosts = Hosts::many(devices, objects, dead_each)?;
        let most = INTERVAL_S[usize::from(dead_each.is_some())];
        // A second, where the experiment has one.
        let interval_s = (self.plan.interval_s.pow(2)).min(most);
        let way = ConfigSettings {
            folder,
            output: Output::Databases,
            is_daemon: true,
            interval_s,
            is_gauge: true,
        };
        let config =
            way.many(devices, objects, version, |number| hosts.addresses[number as usize])?;
        let log = folder.join("messages");
        let mut command = self.poller(Who::Whit, &config)?;
        command.args(["--debug", "time", "--logging"]).arg(&log);
        let mut poller = Poller::start(&mut command)?;
        let mut row = Contest::new(name, PollFacts::default());
        // The first round makes the files and the keys.
        poller.lines(&log, ROUND, 1)?;
        let rounds = self.plan.steps.clamp(1, ROUNDS_MAX) as usize;
        for round in 1..=rounds {
            let before = poller.spent()?;
            let lines = poller.lines(&log, ROUND, round + 1)?;
            let mut cost = poller.spent()?.since(&before, 1);
            let line = lines.last().map(String::as_str).unwrap_or_default();
            let [known, unknown, ms] =
                numbers(line).with_context(|| format!("not a round: {line}"))?;
            cost.wall_us = ms * 1_000;
            (row.facts.known, row.facts.unknown) = (known, unknown);
            row.turns.push(cost);
        }
        poller.stop()?;
        drop(hosts);
        let dead = dead_each.map_or(0, |each| devices.div_ceil(each));
        let PollFacts { known, unknown, .. } = row.facts;
        ensure!(
            unknown <= u64::from(2 * dead) && known >= u64::from(2 * (devices - dead)),
            "{known} targets are known, {unknown} are not: of {devices} devices {dead} are dead"
        );
        row.facts.spread_s = Some(self.spread_s(devices, dead_each, folder)?);
        Ok(row)
    }

    /// Seconds between the first and the last of the latest answers of devices that live: the targets
    /// of one query have the time of its answer.
    fn spread_s(&self, devices: u32, dead_each: Option<u32>, folder: &Path) -> Result<u64> {
        let lives = |device: &u32| dead_each.is_none_or(|each| !device.is_multiple_of(each));
        let lines = (0..devices).filter(lives).map(|device| format!("last one{device}.rrd"));
        let text = self.ask_databases(lines, folder)?;
        let times: Vec<u64> = text.lines().filter_map(|line| line.parse().ok()).collect();
        let (first, last) = times.iter().min().zip(times.iter().max()).context("no database")?;
        Ok(last - first)
    }

    /// What `whit rrd -` says to commands in a folder.
    pub(super) fn ask_databases(
        &self,
        lines: impl Iterator<Item = String>,
        folder: &Path,
    ) -> Result<String> {
        let mut input = tempfile::tempfile()?;
        input.write_all(lines.map(|line| line + "\n").collect::<String>().as_bytes())?;
        input.rewind()?;
        let mut command = Command::new(&self.programs.whit);
        command.args(["rrd", "-"]).current_dir(folder).env("TZ", "UTC");
        Ok(run_heard(&mut command, input.into())?.1)
    }
}

/// What stands in the line of a round.
const ROUND: &str = "--time:";

/// Known targets, unknown targets, and ms, of the line of a round.
fn numbers(line: &str) -> Option<[u64; 3]> {
    let (_, text) = line.split_once(ROUND)?;
    let mut words = text.split_ascii_whitespace().filter_map(|word| word.parse().ok());
    Some([words.next()?, words.next()?, words.next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_round_is_read() {
        let line = "2026-01-01 00:00:00: --time: 9000 targets known, 1000 unknown, 812 ms";
        assert_eq!(numbers(line), Some([9_000, 1_000, 812]));
        assert_eq!(numbers("--time: soon"), None);
    }
}

//! Both programs read the same counters, which stand still: their files must say the same.
//!
//! As counters the readings themselves are compared, as gauges also what the archives have.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::config::{ConfigSettings, Output, for_each_target};
use super::devices::Hosts;
use super::poller::Poller;
use super::targets::Who;
use super::{Bench, Results};
use crate::error::{Context, Result, ensure};

/// Rounds of each: the second brings rows.
const ROUNDS: usize = 3;

impl Bench<'_> {
    /// Compares the files of both.
    pub(super) fn values(&self, results: &mut Results) -> Result<()> {
        if self.mrtg.is_none() {
            results.notes.push("without mrtg no values can be compared".to_owned());
            return Ok(());
        }
        let hosts = Hosts::frozen(self.plan.hosts)?;
        let mut names = Vec::new();
        for_each_target(self.plan.targets, &hosts.addresses, |name, _, _| {
            names.push(name.to_owned());
        });
        let mut compared = 0;
        for is_gauge in [false, true] {
            self.progress.show("the same values by both");
            let mut said = Vec::new();
            for who in [Who::Mrtg, Who::Whit] {
                let folder = self.folder.join(format!("values{who:?}{is_gauge}"));
                self.poll_still(who, is_gauge, &folder, &hosts)
                    .with_context(|| format!("{who:?}"))?;
                said.push(self.said_by(&names, is_gauge, &folder)?);
                std::fs::remove_dir_all(&folder)?;
            }
            for ((name, mrtg), whit) in names.iter().zip(&said[0]).zip(&said[1]) {
                let is_something =
                    mrtg.iter().any(|value| value.contains(|c: char| c.is_ascii_digit()));
                ensure!(is_something, "{name}: MRTG's file has no value: {mrtg:?}");
                ensure!(mrtg == whit, "{name}: MRTG's file has {mrtg:?}, whit's {whit:?}");
                compared += 1;
            }
        }
        results.same_values = Some(compared);
        Ok(())
    }

    fn poll_still(&self, who: Who, is_gauge: bool, folder: &Path, hosts: &Hosts) -> Result<()> {
        let output = Output::Databases;
        let way = ConfigSettings { folder, output, is_daemon: false, interval_s: 1, is_gauge };
        let config = way.targets(self.plan.targets, &hosts.addresses)?;
        for _ in 0..ROUNDS {
            Poller::start(&mut self.poller(who, &config)?)?.end(|status| status.success())?;
            std::thread::sleep(Duration::from_millis(1_100));
        }
        Ok(())
    }

    /// What each file has: the reading, or every known pair of values of the first archive.
    fn said_by(
        &self,
        names: &[String],
        is_gauge: bool,
        folder: &Path,
    ) -> Result<Vec<BTreeSet<String>>> {
        let what =
            if is_gauge { ("fetch", " AVERAGE --start now-700") } else { ("lastupdate", "") };
        let line = |name: &String| format!("{} {name}.rrd{}", what.0, what.1);
        let text = self.ask_databases(names.iter().map(line), folder)?;
        let mut all = vec![BTreeSet::new()];
        for line in text.lines() {
            if line.starts_with("OK ") {
                all.push(BTreeSet::new());
            } else if let (Some((_, values)), Some(last)) = (line.split_once(": "), all.last_mut())
            {
                ensure!(!line.starts_with("ERROR"), "{line}");
                if !values.contains("nan") {
                    last.insert(values.to_owned());
                }
            }
        }
        all.truncate(names.len());
        Ok(all)
    }
}

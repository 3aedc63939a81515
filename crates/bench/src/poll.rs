//! The benchmark of polling: `whit poll` beside MRTG, and thousands of devices.
//!
//! *Targets*: the experiment of MRTG's mailing list, 3,164 targets on 32 devices, in MRTG's native
//! mode, with RRDtool's files, as a daemon, and with a caching daemon; the same by whit.  The devices
//! are 32 real `snmpd` in a network namespace with 98 interfaces, or the agent of whit's own tests
//! where that is not possible.  *Devices*: 5,000 simulated devices with 90 objects each, by version
//! 2c, with a tenth of them dead, and by version 3.  *Values*: both programs read the same counters,
//! which stand still, and their files must say the same.
//!
//! The cost is that of the poller and of caching daemons, not of the devices.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Progress;
use crate::contest::{Contest, Measurement};
use crate::error::{Context, Result};
use crate::programs::{Programs, version_of};
use crate::report::{Report, add_version};
use crate::rrd::Preparation;

mod config;
mod devices;
mod many;
mod namespace;
mod poller;
mod report;
pub(crate) mod targets;
mod values;

use namespace::own_network;

named! {
    /// A part of the benchmark.
    PollCase {
        /// The counters of one agent, read by both.
        Values = "values",
        /// MRTG's experiment.
        Targets = "targets",
        /// Thousands of devices.
        Devices = "devices",
    }
}

/// The size of the benchmark.
#[derive(Clone, Debug)]
pub struct PollPlan {
    /// Turns of each contestant.
    pub rounds: usize,
    /// The parts that run.
    pub cases: Vec<PollCase>,
    /// Targets of MRTG's experiment.
    pub targets: u32,
    /// Devices that have these targets.
    pub hosts: u32,
    /// Rounds of polling in a turn of a daemon.
    pub steps: u32,
    /// Seconds between two rounds of a daemon.
    pub interval_s: u32,
    /// Whether MRTG's native mode takes part, which takes a minute a round.
    pub has_native: bool,
    /// Whether the devices of the experiment are simulated.
    pub is_simulated: bool,
    /// Simulated devices.
    pub devices: u32,
    /// Objects of each simulated device.
    pub objects: u32,
    /// Where to make the files; the temporary folder without it.
    pub folder: Option<PathBuf>,
}

/// A contestant: each turn is the cost of a round of its poller, with the pages that the poller and
/// its caching daemon made dirty.
pub(crate) type PollContest = Contest<PollFacts>;

/// What is known of a contestant beside the turns of its poller.
#[derive(Default)]
pub(crate) struct PollFacts {
    /// The turns of its caching daemon; empty if it has none.
    pub(crate) daemon: Vec<Measurement>,
    /// Targets of which both values are known in a round of simulated devices.
    known: u64,
    /// Targets of which a value is not known in such a round.
    unknown: u64,
    /// Seconds between the first and the last answer of a device that lives, the longest of all
    /// rounds.
    spread_s: Option<u64>,
}

/// The results.
#[derive(Default)]
pub(crate) struct Results {
    /// What the devices of the experiment are.
    pub(crate) hosts: String,
    pub(crate) targets: Vec<PollContest>,
    many: Vec<PollContest>,
    /// Files whose values were compared.
    same_values: Option<u64>,
    pub(crate) notes: Vec<String>,
}

/// What all parts need.
struct Bench<'a> {
    plan: &'a PollPlan,
    programs: &'a Programs,
    mrtg: Option<PathBuf>,
    snmpd: Option<PathBuf>,
    rrdcached: Option<PathBuf>,
    folder: &'a Path,
    /// Whether the network is this process's own.
    has_network: bool,
    progress: &'a Progress<'a>,
}

/// Runs the benchmark.
///
/// # Errors
/// If a program that takes part or a file fails, if a poller does not end a round in time, and if
/// values are not the same.
pub fn run(plan: &PollPlan, programs: &Programs, progress: &Progress<'_>) -> Result<Report> {
    let (machine, results) = measure_all(plan, programs, progress)?;
    Ok(report::report(plan, &results, machine))
}

/// Measures without making a report; also gives the machine.
pub(crate) fn measure_all(
    plan: &PollPlan,
    programs: &Programs,
    progress: &Progress<'_>,
) -> Result<(Value, Results)> {
    let Preparation { mut machine, folder, .. } =
        Preparation::new(plan.folder.as_deref(), programs)?;
    let folder = folder.path().canonicalize()?;
    let mrtg = programs.path.find("mrtg");
    let snmpd = ["/usr/sbin/snmpd", "/sbin/snmpd"].map(PathBuf::from).into_iter();
    let snmpd =
        programs.path.find("snmpd").or_else(|| snmpd.into_iter().find(|path| path.is_file()));
    let mut results = Results::default();
    for (name, program, option) in [("mrtg", &mrtg, "--help"), ("snmpd", &snmpd, "-v")] {
        add_version(&mut machine, name, &version_of(program.as_deref(), option));
        if program.is_none() {
            results.notes.push(format!("{name} is not installed: its lines are missing"));
        }
    }
    let network = own_network(&programs.path);
    if let Err(error) = &network {
        results.notes.push(format!("no network namespace of its own: {}", error.line()));
    }
    let bench = Bench {
        plan,
        programs,
        mrtg,
        snmpd,
        rrdcached: programs.path.find("rrdcached"),
        folder: &folder,
        has_network: network.is_ok(),
        progress,
    };
    for case in &plan.cases {
        match case {
            PollCase::Targets => {
                bench.targets(&mut results).context("the experiment of targets")?;
            }
            PollCase::Devices => bench.many(&mut results).context("the simulated devices")?,
            PollCase::Values => bench.values(&mut results).context("the same values")?,
        }
    }
    progress.done();
    Ok((machine, results))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_cases_differ() {
        for (index, case) in PollCase::ALL.iter().enumerate() {
            assert!(PollCase::ALL[..index].iter().all(|other| other.name() != case.name()));
        }
    }
}

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

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::Progress;
use crate::error::{Context, Result};
use crate::measure::{Measurement, Series, median};
use crate::programs::{Programs, first_line};
use crate::report::{Report, Turns};
use crate::rrd::Preparation;
use serde_json::json;

mod config;
mod devices;
mod many;
mod namespace;
mod poller;
mod report;
mod targets;
mod values;

use namespace::own_network;

/// A part of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollCase {
    /// MRTG's experiment.
    Targets,
    /// Thousands of devices.
    Devices,
    /// The same counters read by both.
    Values,
}

impl PollCase {
    /// All of them, in the order of the tables.
    pub const ALL: [PollCase; 3] = [PollCase::Values, PollCase::Targets, PollCase::Devices];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            PollCase::Targets => "targets",
            PollCase::Devices => "devices",
            PollCase::Values => "values",
        }
    }
}

/// The size of the benchmark.
#[derive(Clone, Debug)]
pub struct PollPlan {
    /// Turns of each contestant.
    pub rounds: usize,
    /// The parts.
    pub cases: Vec<PollCase>,
    /// Targets of MRTG's experiment.
    pub targets: u32,
    /// The devices that these are on.
    pub hosts: u32,
    /// Rounds of polling in a turn of a daemon.
    pub steps: u32,
    /// Seconds between two of these.
    pub interval_s: u32,
    /// Whether MRTG's native mode takes part, which takes a minute a round.
    pub has_native: bool,
    /// Whether the devices of the experiment are simulated.
    pub is_simulated: bool,
    /// Simulated devices.
    pub devices: u32,
    /// Objects of each.
    pub objects: u32,
    /// Where to make the files; the temporary folder without it.
    pub folder: Option<PathBuf>,
}

/// What one turn cost, for each round of polling.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    poller: Measurement,
    /// Of the caching daemon.
    daemon: Option<Measurement>,
    /// Bytes of pages that both made dirty.
    dirtied_bytes: u64,
}

/// All turns of one contestant.
struct Contest {
    name: String,
    turns: Vec<Cost>,
}

impl Contest {
    fn new(name: impl Into<String>) -> Self {
        Contest { name: name.into(), turns: Vec::new() }
    }

    fn median(&self, of: impl Fn(&Cost) -> f64) -> f64 {
        median(self.turns.iter().map(of).collect())
    }

    /// CPU time of poller and daemon, in µs.
    fn cpu_us(&self) -> f64 {
        self.median(cpu_us)
    }

    /// The turns as the kept run has them: those of the poller, and those of its daemon.
    fn series(&self) -> Vec<Series> {
        let mut all = vec![Series {
            name: self.name.clone(),
            turns: self.turns.iter().map(|turn| turn.poller).collect(),
        }];
        let of_daemon: Vec<Measurement> =
            self.turns.iter().filter_map(|turn| turn.daemon).collect();
        if !of_daemon.is_empty() {
            all.push(Series { name: format!("{}: the daemon", self.name), turns: of_daemon });
        }
        all
    }
}

fn cpu_us(cost: &Cost) -> f64 {
    (cost.poller.cpu_us() + cost.daemon.map_or(0, |daemon| daemon.cpu_us())) as f64
}

/// A row of the table of thousands of devices.
struct ManyRow {
    contest: Contest,
    /// Targets of which both values are known, and of which one is not, in a round.
    known: u64,
    unknown: u64,
    /// Seconds between the first and the last answer of a device that lives, the longest of all
    /// rounds.
    spread_s: Option<u64>,
}

/// The results.
#[derive(Default)]
struct Results {
    /// What the devices of the experiment are.
    hosts: String,
    targets: Vec<Contest>,
    many: Vec<ManyRow>,
    /// Files whose values were compared.
    same_values: Option<u64>,
    notes: Vec<String>,
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
/// Those of the programs that take part and of files; a poller that does not end a round in time;
/// and values that are not the same.
pub fn run(plan: &PollPlan, programs: &Programs, progress: &Progress<'_>) -> Result<Report> {
    let Preparation { mut machine, folder, .. } =
        Preparation::new(plan.folder.as_deref(), programs)?;
    let folder = folder.path().canonicalize()?;
    let mrtg = programs.path.find("mrtg");
    let snmpd = ["/usr/sbin/snmpd", "/sbin/snmpd"].map(PathBuf::from).into_iter();
    let snmpd =
        programs.path.find("snmpd").or_else(|| snmpd.into_iter().find(|path| path.is_file()));
    let mut results = Results::default();
    if let Some(versions) = machine["versions"].as_array_mut() {
        for (name, program, option) in [("mrtg", &mrtg, "--help"), ("snmpd", &snmpd, "-v")] {
            let version = program.as_ref().map(|program| first_line(program, option));
            let version = version.map_or("not installed".to_owned(), Option::unwrap_or_default);
            versions.push(json!({ "program": name, "version": version }));
            if program.is_none() {
                results.notes.push(format!("{name} is not installed: its lines are missing"));
            }
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
    let summary = report::human(plan, &results);
    let json = report::json(plan, &results, &machine);
    let rows = results.targets.iter().map(|contest| ("targets", contest));
    let rows = rows.chain(results.many.iter().map(|row| ("devices", &row.contest)));
    let turns: Vec<Turns<'_>> = rows
        .flat_map(|(table, contest)| {
            let turns = move |series| Turns { table, case: "a round", series: Cow::Owned(series) };
            contest.series().into_iter().map(turns)
        })
        .collect();
    Ok(Report::new("-poll", machine, summary, json, &turns))
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

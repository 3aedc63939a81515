//! The benchmark of handing samples over: CPU at the host and bytes on the wire for each value.
//!
//! `whit record` with `whit send --follow` pushes to a receiver of this benchmark, by each protocol;
//! node_exporter and collectd's `write_prometheus` are scraped once a second as Prometheus does, packed;
//! collectd's `write_http` posts JSON to that receiver, as it is set by default.  All take the
//! subsystems CPU, memory, disks, network and load at 1 s.  They do not have the same fields of them, so
//! costs are told for each value that arrives.
//!
//! CPU is that of the processes at the host alone; bytes are the payload of TCP in both directions.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::Progress;
use crate::contest::median;
use crate::error::{Context, Result, ensure};
use crate::programs::{Programs, version_of};
use crate::report::{Report, add_version};
use crate::watch::tree::TreeCost;

mod agents;
mod hosts;
mod receiver;
mod report;

use agents::{Agent, Protocol, Rival};

named! {
    /// A part of the benchmark.
    SendCase {
        /// CPU and bytes for each value, beside others.
        Values = "values",
        /// A thousand hosts at once into VictoriaMetrics.
        Hosts = "hosts",
    }
}

/// The size of the benchmark.
#[derive(Clone, Debug)]
pub struct SendPlan {
    /// Rounds in which each contestant runs once.
    pub rounds: usize,
    /// The parts that run.
    pub cases: Vec<SendCase>,
    /// Seconds that are measured of each contestant in a round.
    pub seconds: u64,
    /// Whether node_exporter and collectd take part.
    pub has_rivals: bool,
    /// Simulated hosts.
    pub hosts: usize,
    /// Seconds that they are sent.
    pub hosts_seconds: u64,
    /// Where to make the files; the temporary folder without it.
    pub folder: Option<PathBuf>,
}

/// What a kept run of it is called by.
const KIND: &str = "-send";

/// What one contestant needed since its start.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    cpu_us: u64,
    /// Proportional memory now.
    memory_bytes: u64,
    /// Payload of TCP in both directions.
    wire_bytes: u64,
    values: u64,
}

/// The medians of a contestant.
#[derive(Clone, Debug)]
struct Row {
    name: String,
    values_s: f64,
    cpu_us: f64,
    bytes: f64,
    memory_mib: f64,
}

/// Runs the benchmark.
///
/// # Errors
/// If a program that takes part or a file fails.
pub fn run(plan: &SendPlan, programs: &Programs, progress: &Progress<'_>) -> Result<Report> {
    let mut machine = crate::report::machine(programs);
    let victoria = programs.path.find("victoria-metrics");
    add_version(&mut machine, "victoria-metrics", &version_of(victoria.as_deref(), "-version"));
    let folder = crate::folder::temporary(plan.folder.as_deref())?;
    let mut report = match plan.cases.contains(&SendCase::Values) {
        true => values(plan, programs, folder.path(), progress, machine)?,
        false => Report::new(KIND, machine),
    };
    if plan.cases.contains(&SendCase::Hosts) {
        match victoria {
            Some(victoria) => {
                let own = folder.path().join("hosts");
                std::fs::create_dir_all(&own)?;
                let outcome = hosts::run(plan, &programs.whit, &victoria, &own, progress)?;
                report::add_hosts(&mut report, plan, &outcome);
            }
            None => report.notes(&[format!(
                "{} hosts for {} s are not measured: victoria-metrics is not installed",
                plan.hosts, plan.hosts_seconds
            )]),
        }
    }
    progress.done();
    Ok(report)
}

/// Measures each contestant in turn.
fn values(
    plan: &SendPlan,
    programs: &Programs,
    folder: &Path,
    progress: &Progress<'_>,
    mut machine: serde_json::Value,
) -> Result<Report> {
    let mut rivals = Vec::new();
    let mut missing = Vec::new();
    for rival in Rival::ALL {
        let program = rival.find(&programs.path);
        add_version(&mut machine, rival.name(), &version_of(program.as_deref(), rival.version()));
        let Some(program) = program.filter(|_| plan.has_rivals) else {
            let why = if plan.has_rivals { "not installed" } else { "--no-rival" };
            missing.push((rival, why.to_owned()));
            continue;
        };
        // One that does not start here, for want of a library, takes no part.
        let own = folder.join(format!("trial-{}", rivals.len() + missing.len()));
        std::fs::create_dir_all(&own)?;
        match Agent::rival(rival, &program, &own).and_then(Agent::stop) {
            Ok(()) => rivals.push((rival, program)),
            Err(error) => missing.push((rival, agents::why_not(&own, &error))),
        }
    }
    let whits = Protocol::ALL.len();
    let mut rounds: Vec<Vec<Row>> = vec![Vec::new(); whits + rivals.len()];
    for round in 0..plan.rounds {
        for (at, rows) in rounds.iter_mut().enumerate() {
            let own = folder.join(format!("{round}-{at}"));
            std::fs::create_dir_all(&own)?;
            let agent = match Protocol::ALL.get(at) {
                Some(&protocol) => Agent::whit(&programs.whit, protocol, &own)?,
                None => Agent::rival(rivals[at - whits].0, &rivals[at - whits].1, &own)?,
            };
            progress.show(&format!("{}: round {} of {}", agent.name, round + 1, plan.rounds));
            rows.push(measure(agent, plan.seconds)?);
        }
    }
    let rows: Vec<Row> = rounds.iter().filter_map(|rows| medians(rows)).collect();
    Ok(report::report(plan, &rows, &missing, machine))
}

/// Measures a contestant that has just been started, and ends it.
fn measure(mut agent: Agent, seconds: u64) -> Result<Row> {
    agent.step()?;
    let before = agent.spent()?;
    let begin = Instant::now();
    for second in 1..=seconds {
        std::thread::sleep(Duration::from_secs(second).saturating_sub(begin.elapsed()));
        agent.step()?;
    }
    let after = agent.spent()?;
    let passed = begin.elapsed();
    let name = agent.name.clone();
    agent.stop()?;
    let values = after.values.saturating_sub(before.values);
    ensure!(values > 0, "{name} handed nothing over in {seconds} s");
    let each = |after: u64, before: u64| after.saturating_sub(before) as f64 / values as f64;
    Ok(Row {
        name,
        values_s: values as f64 / passed.as_secs_f64(),
        cpu_us: each(after.cpu_us, before.cpu_us),
        bytes: each(after.wire_bytes, before.wire_bytes),
        memory_mib: after.memory_bytes as f64 / f64::from(1 << 20),
    })
}

fn medians(rows: &[Row]) -> Option<Row> {
    let of = |take: fn(&Row) -> f64| median(rows.iter().map(take).collect());
    Some(Row {
        name: rows.first()?.name.clone(),
        values_s: of(|row| row.values_s),
        cpu_us: of(|row| row.cpu_us),
        bytes: of(|row| row.bytes),
        memory_mib: of(|row| row.memory_mib),
    })
}

/// Adds CPU and memory of a process and its descendants.
fn add_tree(sum: &mut Spent, pid: u32, what: &Path) -> Result<()> {
    let cost = TreeCost::of(pid).with_context(|| format!("{} ended", what.display()))?;
    sum.cpu_us += cost.cpu_us;
    sum.memory_bytes += cost.memory_bytes;
    Ok(())
}

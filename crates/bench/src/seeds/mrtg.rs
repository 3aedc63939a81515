//! MRTG and RRDtool: 3,164 targets on 32 devices, and what was left open: mounts, longer windows of
//! the caching daemon, and several pollers on addresses of their own.

use super::row::{Figure, SeedRow};
use super::{Bench, Part, Seed, SeedsPlan};
use crate::contest::{Case, Measurement, cpu};
use crate::error::{Context, Result};
use crate::poll::targets::{
    MRTG_CACHED, MRTG_DAEMON, MRTG_DATABASES, MRTG_NATIVE, WHIT_CACHED, WHIT_DAEMON,
    WHIT_DATABASES, WHIT_NATIVE,
};
use crate::poll::{self, PollCase, PollContest, PollPlan};
use crate::programs::version_of;
use crate::rrdcached::hour::WRITE_SECONDS;
use crate::rrdcached::report::{FLOOR, RRDCACHED};
use crate::rrdcached::{self, DaemonCase, DaemonPlan, Results, Updates};

const MB: f64 = 1e6;

/// The unit of a figure that is a part of another.
const PART: &str = "of 1";

/// rrdcached's `-w` where nobody gives one.
const DEFAULT_WRITE_SECONDS: u64 = 300;

/// Names of the programs that write directly.
const RRDTOOL: &str = "rrdtool -";
const WHIT_DIRECT: &str = "whit rrd -";

pub(super) fn parts(plan: &SeedsPlan) -> Vec<Part> {
    let seed = Seed::Mrtg;
    vec![
        Part::new(seed, "polling", plan.size(130.0, 60.0), polling),
        Part::new(seed, "hour", plan.size(40.0, 12.0), hour),
        // Once, however many rounds there are.
        Part::new(seed, "mounts", plan.size(12.0, 20.0), mounts),
        Part::new(seed, "pollers on addresses", plan.size(8.0, 3.0), addresses),
        Part::new(seed, "RRDtool versions", 0.1, |bench| Ok(vec![versions(bench)])),
    ]
}

/// The polling of a tenth of the targets tells as much where time is short.
fn poll_plan(plan: &SeedsPlan) -> PollPlan {
    PollPlan {
        rounds: plan.rounds,
        cases: vec![PollCase::Targets],
        targets: plan.size(3_164, 316),
        hosts: plan.size(32, 4),
        steps: plan.size(2, 1),
        interval_s: plan.size(5, 2),
        has_native: true,
        is_simulated: false,
        devices: 0,
        objects: 0,
        folder: None,
    }
}

/// CPU time of poller and daemon in each round, in µs.
fn cpu_us(contest: &PollContest) -> Vec<f64> {
    let daemon = contest.facts.daemon.iter().map(cpu).chain(std::iter::repeat(0.0));
    contest.turns.iter().map(cpu).zip(daemon).map(|(poller, daemon)| poller + daemon).collect()
}

fn dirtied(turn: &Measurement) -> f64 {
    turn.dirtied_bytes.unwrap_or(0) as f64 / MB
}

/// A number of one contestant divided by that of another, by rounds; the last round of who has
/// fewer of them counts for the others.
fn divided(who: &str, this: &[f64], by: &[f64]) -> Option<Figure> {
    let last = by.last()?;
    let by = by.iter().chain(std::iter::repeat(last));
    let rounds = this.iter().zip(by).map(|(this, by)| this / by);
    Figure::new(who.to_owned(), rounds.filter(|ratio| ratio.is_finite()).collect())
}

fn polling(bench: &Bench<'_>) -> Result<Vec<SeedRow>> {
    let plan = poll_plan(bench.plan);
    let (_, results) = poll::measure_all(&plan, bench.programs, bench.progress)?;
    let find = |name: &str| results.targets.iter().find(|one| one.name == name);
    let seconds = |name: &str| {
        let rounds = cpu_us(find(name)?).into_iter().map(|us| us / MB).collect();
        Figure::new(name.to_owned(), rounds)
    };
    let written = |name: &str| Figure::of(find(name)?, dirtied);
    let targets = plan.targets;
    let mut rows = Vec::new();
    for (what, mrtg, whit) in [
        ("native mode", MRTG_NATIVE, WHIT_NATIVE),
        ("RRD mode, by cron", MRTG_DATABASES, WHIT_DATABASES),
        ("RRD mode, as a daemon", MRTG_DAEMON, WHIT_DAEMON),
        ("RRD mode, daemon and rrdcached", MRTG_CACHED, WHIT_CACHED),
    ] {
        let row = |of: &str, unit| {
            SeedRow::new(Seed::Mrtg, format!("{targets} targets, {what}{of}"), unit)
        };
        let mut cost = row("", "CPU s a round");
        (cost.incumbent, cost.whit) = (seconds(mrtg), seconds(whit));
        let mut size = row(", writes", "MB a round");
        (size.incumbent, size.whit) = (written(mrtg), written(whit));
        rows.extend([cost, size]);
    }
    let part = |name: &'static str, value, words, unit: &'static str| {
        SeedRow::new(Seed::Mrtg, name, unit).published(value, words)
    };
    let ratio = |of: &dyn Fn(&PollContest) -> Vec<f64>, this: &str, by: &str| {
        divided(this, &of(find(this)?), &of(find(by)?))
    };
    let mut databases = part(
        "RRD mode's part of native mode's CPU",
        0.35,
        "RRD mode needs 35 % of native mode's CPU",
        PART,
    );
    databases.incumbent = ratio(&cpu_us, MRTG_DATABASES, MRTG_NATIVE);
    databases.whit = ratio(&cpu_us, WHIT_DATABASES, WHIT_NATIVE);
    let mut daemon =
        part("a daemon's part of cron's CPU", 0.8, "daemon mode saves about 20 %", PART);
    daemon.incumbent = ratio(&cpu_us, MRTG_DAEMON, MRTG_DATABASES);
    daemon.whit = ratio(&cpu_us, WHIT_DAEMON, WHIT_DATABASES);
    rows.extend([databases, daemon]);
    for row in &mut rows {
        let is_there = row.incumbent.is_some();
        row.note_missing(is_there, || "mrtg or rrdcached is not installed".to_owned());
        row.notes.extend(results.notes.iter().cloned());
        row.notes.push(format!("devices: {}", results.hosts));
        row.command = format!("whit bench poll --case targets --targets {targets}");
    }
    Ok(rows)
}

fn daemon_plan(bench: &Bench<'_>, case: DaemonCase) -> DaemonPlan {
    let plan = bench.plan;
    DaemonPlan {
        rounds: plan.rounds,
        cases: vec![case],
        batched: plan.size(1_000_000, 100_000),
        single: plan.size(50_000, 5_000),
        files: 1_000,
        targets: plan.size(3_164, 316),
        steps: 12,
        many: 0,
        folder: None,
    }
}

/// The rows of an hour: CPU time and writes of an incumbent, of whit and of whit without a daemon.
fn rows_of_hour(
    case: &Updates,
    name: &str,
    who: [&str; 3],
    command: &str,
    notes: &[String],
) -> [SeedRow; 2] {
    let figure = |who: &str, number: fn(&Measurement) -> f64| Figure::of(case.find(who)?, number);
    let seconds = |turn: &Measurement| cpu(turn) / MB;
    [
        (String::new(), "CPU s an hour", seconds as fn(&Measurement) -> f64),
        (", writes".to_owned(), "MB an hour", dirtied),
    ]
    .map(|(of, unit, number)| {
        let mut row = SeedRow::new(Seed::Mrtg, format!("{name}{of}"), unit);
        row.incumbent = figure(who[0], number);
        row.whit = figure(who[1], number);
        row.floor = figure(who[2], number);
        row.note_missing(row.incumbent.is_some(), || "RRDtool is not installed".to_owned());
        row.notes.extend(notes.iter().cloned());
        row.command = command.to_owned();
        let is_nothing = |figure: &Figure| figure.median() == 0.0;
        if row.whit.as_ref().is_some_and(is_nothing) {
            // What is not counted is not nothing.
            (row.incumbent, row.whit, row.floor) = (None, None, None);
            row.notes.push("pages of a tmpfs become dirty in no account".to_owned());
        }
        row
    })
}

fn hour(bench: &Bench<'_>) -> Result<Vec<SeedRow>> {
    let plan = daemon_plan(bench, DaemonCase::Mrtg);
    let (_, results) = rrdcached::measure_all(&plan, bench.programs, bench.progress)?;
    let case = results.mrtg.as_ref().context("no hour was measured")?;
    let command = format!("whit bench rrdcached --case mrtg --targets {}", plan.targets);
    let name = |what: &str| format!("hour of {} targets, {what}", plan.targets);
    let rows =
        |what: &str, who: [&str; 3]| rows_of_hour(case, &name(what), who, &command, &results.notes);
    let mut all: Vec<SeedRow> = rows("no daemon", [RRDTOOL, WHIT_DIRECT, ""]).into();
    for seconds in WRITE_SECONDS {
        let [theirs, ours] =
            [format!("rrdcached -w {seconds}"), format!("whit rrdcached -w {seconds}")];
        all.extend(rows(&format!("-w {seconds}"), [&theirs, &ours, ""]));
        let mut part = SeedRow::new(
            Seed::Mrtg,
            format!("part of the writes that is left, -w {seconds}"),
            PART,
        );
        part.incumbent = part_of_writes(case, &theirs, RRDTOOL);
        part.whit = part_of_writes(case, &ours, WHIT_DIRECT);
        part.note_missing(part.incumbent.is_some(), || "RRDtool is not installed".to_owned());
        part.command.clone_from(&command);
        all.push(match seconds == DEFAULT_WRITE_SECONDS {
            true => {
                part.notes.push(
                    "all is written when -w is over, which with steps of 300 s is at every step"
                        .to_owned(),
                );
                part.published(0.4, "over 60 % fewer disk writes, with default values")
            }
            false => part,
        });
    }
    Ok(all)
}

/// What a daemon writes of what is written without one.
fn part_of_writes(case: &Updates, who: &str, without: &str) -> Option<Figure> {
    let bytes = |name: &str| Some(Figure::of(case.find(name)?, dirtied)?.rounds);
    divided(who, &bytes(who)?, &bytes(without)?)
}

fn mounts(bench: &Bench<'_>) -> Result<Vec<SeedRow>> {
    let plan = daemon_plan(bench, DaemonCase::Mounts);
    let (_, Results { mounts, notes, .. }) =
        rrdcached::measure_all(&plan, bench.programs, bench.progress)?;
    let command = format!("whit bench rrdcached --case mounts --targets {}", plan.targets);
    let who = ["rrdcached -w 300", "whit rrdcached -w 300", ""];
    let rows = mounts
        .iter()
        .flat_map(|case| rows_of_hour(case, &format!("hour on {}", case.name), who, &command, &[]));
    let lost = notes.into_iter().map(|note| SeedRow::lost(Seed::Mrtg, "hour on a mount", note));
    Ok(rows.chain(lost).collect())
}

/// The distributed set-up: pollers on addresses of their own feed one daemon.
fn addresses(bench: &Bench<'_>) -> Result<Vec<SeedRow>> {
    let plan = daemon_plan(bench, DaemonCase::Writers);
    let (_, results) = rrdcached::measure_all(&plan, bench.programs, bench.progress)?;
    let row = |case: &Case<u64>| {
        let figure =
            |who: &str| Figure::of(case.find(who)?, |turn| cpu(turn) / case.facts.max(1) as f64);
        let mut row = SeedRow::new(Seed::Mrtg, case.name.clone(), "CPU us an update");
        (row.incumbent, row.whit) = (figure(RRDCACHED), figure("whit --ack os"));
        row.floor = figure(FLOOR);
        row.note_missing(row.incumbent.is_some(), || "rrdcached is not installed".to_owned());
        row.command = format!("whit bench rrdcached --case writers --updates {}", plan.batched);
        row
    };
    Ok(results.updates.iter().map(row).collect())
}

/// One version is installed, not three.
fn versions(bench: &Bench<'_>) -> SeedRow {
    let version = version_of(bench.programs.path.find("rrdtool").as_deref(), "--version");
    let version = version.split(" Copyright").next().unwrap_or_default().trim().to_owned();
    let mut row = SeedRow::new(Seed::Mrtg, "RRDtool 1.2, 1.3 and 1.4", PART).published(
        1.0,
        "no difference in CPU; 1.4 a little more disk I/O when scheduled, less as a daemon",
    );
    row.notes.push(format!("one version can be installed at a time, here: {version}"));
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contest::Contest;

    #[test]
    fn what_ran_once_counts_for_every_round() {
        let figure = divided("a", &[1.0, 2.0, 3.0], &[2.0]).unwrap();
        assert_eq!(figure.rounds, [0.5, 1.0, 1.5]);
        assert_eq!(divided("a", &[1.0], &[]), None);
        assert_eq!(divided("a", &[1.0], &[0.0]), None);
    }

    #[test]
    fn a_caching_daemon_is_a_part_of_the_cost() {
        let turn = |user_us| Measurement { user_us, ..Measurement::default() };
        let mut contest: PollContest = Contest::new("a", Default::default());
        contest.turns = vec![turn(5), turn(6)];
        assert_eq!(cpu_us(&contest), [5.0, 6.0]);
        contest.facts.daemon = vec![turn(1), turn(1)];
        assert_eq!(cpu_us(&contest), [6.0, 7.0]);
    }
}

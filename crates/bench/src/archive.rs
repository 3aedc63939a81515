//! The benchmark of questions to recordings: ranges in steps, a moment, the heaviest, beside
//! Prometheus and VictoriaMetrics on the same values.
//!
//! A machine of 16 CPUs whose times are drawn at random is recorded for a day, some of its values for
//! some days, and its processes for a while; the others import the day.  Whit answers as `whit
//! play`, a process each, its start included; the others by their query interface.  *Cold*: whit's
//! files are not in the page cache, and of the others the first query after their start.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Progress;
use crate::contest::{Case, Contest, Measurement, cpu};
use crate::error::{Context, Result, ensure};
use crate::measure::measure;
use crate::programs::{Programs, run_quietly, version_of};
use crate::report::{Report, add_version};

mod machine;
mod report;
mod rival;

use machine::{CPUS, CpuMachine, MODES, STARTED_S, record_processes};
pub(crate) use rival::{Rival, bytes_below, percent};

/// The length of a step of a day in about a thousand, in seconds: it divides a day.
const STEP_S: u64 = 90;

/// The size of the benchmark.
#[derive(Clone, Debug)]
pub struct ArchivePlan {
    /// Turns of each contestant.
    pub rounds: usize,
    /// Seconds of the recording that is called a day.
    pub seconds: u64,
    /// Days of the long recording of one CPU.
    pub days: u64,
    /// Processes of the recording of processes.
    pub processes: u32,
    /// Seconds of that recording.
    pub process_seconds: u64,
    /// Whether the others take part: Prometheus takes minutes to import a day.
    pub has_rival: bool,
    /// Where to make the files; the temporary folder without it.
    pub folder: Option<PathBuf>,
}

/// What a store takes.
struct Stored {
    name: &'static str,
    values: u64,
    samples: u64,
    bytes: u64,
    cost: Measurement,
}

/// The results.
#[derive(Default)]
struct Results {
    stored: Vec<Stored>,
    queries: Vec<Case>,
    notes: Vec<String>,
}

/// What all parts need.
struct Bench<'a> {
    plan: &'a ArchivePlan,
    whit: &'a Path,
    folder: &'a Path,
    progress: &'a Progress<'a>,
}

/// Runs the benchmark.
///
/// # Errors
/// If a program that takes part or a file fails.
pub fn run(plan: &ArchivePlan, programs: &Programs, progress: &Progress<'_>) -> Result<Report> {
    let mut machine = crate::report::machine(programs);
    let folder = crate::folder::temporary(plan.folder.as_deref())?;
    let folder = folder.path();
    let bench = Bench { plan, whit: &programs.whit, folder, progress };
    let prometheus = programs.path.find("prometheus").zip(programs.path.find("promtool"));
    let version = version_of(prometheus.as_ref().map(|both| both.0.as_path()), "--version");
    add_version(&mut machine, "prometheus", &version);
    let victoria = programs.path.find("victoria-metrics");
    let version = version_of(victoria.as_deref(), "-version");
    add_version(&mut machine, "victoria-metrics", &version);
    let mut results = Results::default();
    let day = bench.record("day.whit", CPUS, plan.seconds, &mut results)?;
    let days = bench.record("days.whit", 1, plan.days * plan.seconds, &mut results)?;
    progress.show("recording processes");
    let processes = folder.join("processes.whit");
    let ticks = plan.process_seconds;
    let (written, cost) = measure(|| record_processes(&processes, plan.processes, ticks));
    let values = written?;
    bench.stored("processes", values, ticks, &processes, cost, &mut results)?;
    bench.queries([&day, &days, &processes], &mut results)?;
    bench.server(&mut results)?;
    match prometheus.filter(|_| plan.has_rival) {
        Some((server, tool)) => bench.prometheus(&server, &tool, &mut results)?,
        None if plan.has_rival => {
            results.notes.push("prometheus is not installed: its lines are missing".to_owned());
        }
        None => {}
    }
    match victoria.filter(|_| plan.has_rival) {
        Some(server) => bench.victoria_metrics(&server, &mut results)?,
        None if plan.has_rival => {
            let note = "victoria-metrics is not installed: its lines are missing";
            results.notes.push(note.to_owned());
        }
        None => {}
    }
    progress.done();
    Ok(report::report(plan, &results, machine))
}

impl Bench<'_> {
    /// Records so many CPUs, and writes the side file.
    fn record(
        &self,
        name: &'static str,
        cpus: usize,
        seconds: u64,
        results: &mut Results,
    ) -> Result<PathBuf> {
        self.progress.show(&format!("recording {name}"));
        let path = self.folder.join(name);
        let (written, cost) = measure(|| CpuMachine::new(cpus).record(&path, seconds));
        written?;
        let values = seconds * (cpus * MODES.len()) as u64;
        self.stored(name, values, seconds, &path, cost, results)?;
        Ok(path)
    }

    fn stored(
        &self,
        name: &'static str,
        values: u64,
        samples: u64,
        path: &Path,
        cost: Measurement,
        results: &mut Results,
    ) -> Result<()> {
        let bytes = std::fs::metadata(path)?.len();
        results.stored.push(Stored { name, values, samples, bytes, cost });
        Ok(())
    }

    /// The questions to whit, each without and with side files, warm and cold.
    fn queries(&self, [day, days, processes]: [&Path; 3], results: &mut Results) -> Result<()> {
        let step = format!("{STEP_S}s");
        let all: Vec<String> = MODES.iter().map(|mode| format!("cpu_core.{mode}")).collect();
        let at = machine::clock(self.plan.process_seconds / 2);
        let (one, all) = ("cpu_core[0].user", all.join(","));
        let long = format!("{}s", STEP_S * self.plan.days);
        let [from, thru] =
            [0, self.plan.seconds].map(|second| machine::date(self.plan.seconds + second));
        let questions: [(&str, &Path, Vec<&str>); 6] = [
            (ONE_FIELD, day, vec!["--csv", "--fields", one, "--step", &step]),
            (ALL_FIELDS, day, vec!["--csv", "--fields", &all, "--step", &step]),
            (ALL_DAYS, days, vec!["--csv", "--fields", one, "--step", &long]),
            (
                ONE_DAY,
                days,
                vec!["--csv", "--fields", one, "--step", &step, "--from", &from, "--thru", &thru],
            ),
            (
                "a moment of the processes",
                processes,
                vec!["-sZ", "--csv", "--from", &at, "--thru", &at],
            ),
            ("the heaviest 10 commands", processes, vec!["--heaviest", "cpu,10", "--csv"]),
        ];
        for (name, path, words) in &questions {
            let names = ["whit", "whit, cold", SIDE_FILES, "whit, side files, cold"];
            let mut case: Case = Case { name: (*name).to_owned(), ..Case::default() };
            case.contests = names.map(|name| Contest::new(name, ())).to_vec();
            for place in 0..case.contests.len() {
                let sides = [recording::side_path(path), recording::summary_path(path)];
                if place < 2 {
                    sides.iter().filter(|side| side.exists()).try_for_each(std::fs::remove_file)?;
                } else if !sides[1].exists() {
                    write_side_files(path)?;
                }
                for round in 0..self.plan.rounds {
                    let contest = &mut case.contests[place];
                    self.progress.show(&format!("{name}: {}, round {}", contest.name, round + 1));
                    let mut command = Command::new(self.whit);
                    command.arg("play").arg(path).args(words).env("TZ", "UTC");
                    if place % 2 == 1 {
                        forget(path)?;
                        sides
                            .iter()
                            .filter(|side| side.exists())
                            .try_for_each(|side| forget(side))?;
                    } else if round == 0 {
                        run_quietly(&mut command)?;
                    }
                    contest.turns.push(run_quietly(&mut command)?);
                }
            }
            results.queries.push(case);
        }
        for (name, path) in [("day.whit, side file", day), ("processes, side file", processes)] {
            let side = recording::side_path(path);
            std::fs::remove_file(&side)?;
            let (written, cost) = measure(|| recording::write_side_file(path));
            written?;
            let of = results.stored.iter().find(|one| name.starts_with(one.name));
            let (values, samples) = of.map_or((0, 0), |one| (one.values, one.samples));
            self.stored(name, values, samples, &side, cost, results)?;
        }
        for (name, path) in [("day.whit, summary", day), ("processes, summary", processes)] {
            let of = results.stored.iter().find(|one| name.starts_with(one.name));
            let (values, samples) = of.map_or((0, 0), |one| (one.values, one.samples));
            let summary = recording::summary_path(path);
            std::fs::remove_file(&summary)?;
            let (written, cost) = measure(|| write_side_files(path));
            written?;
            self.stored(name, values, samples, &summary, cost, results)?;
        }
        let cpu_of = |name: &str| {
            let case = results.queries.iter().find(|case| case.name == name)?;
            Some(case.contests.iter().find(|one| one.name == SIDE_FILES)?.median(cpu))
        };
        if let (Some(all), Some(one)) = (cpu_of(ALL_DAYS), cpu_of(ONE_DAY)) {
            let note = format!("{ALL_DAYS}: {:.2} times the CPU time of {ONE_DAY}", all / one);
            results.notes.push(format!("with side files, {note}"));
        }
        Ok(())
    }

    /// A server of all recordings: what questions cost it, and its memory so far.
    fn server(&self, results: &mut Results) -> Result<()> {
        self.progress.show("a server of all recordings");
        let mut running = Rival::whit(self.whit, self.folder)?;
        let mut case: Case = Case { name: SERVER.to_owned(), ..Case::default() };
        let seconds = self.plan.seconds;
        for (name, days) in [("a day, 1 field", 1), ("all days, 1 field", self.plan.days)] {
            let mut contest = Contest::new(format!("whit, {name}"), ());
            let step = STEP_S * days;
            let query = format!("rate(node_cpu_seconds_total{{cpu=\"0\",mode=\"user\"}}[{step}s])");
            for _ in 0..self.plan.rounds {
                let range = [STARTED_S + step, STARTED_S + days * seconds, step];
                contest.turns.push(running.query(&query, range)?);
            }
            case.contests.push(contest);
        }
        results.queries.push(case);
        running.stop()
    }

    /// The same values and questions of Prometheus.
    fn prometheus(&self, server: &Path, tool: &Path, results: &mut Results) -> Result<()> {
        self.progress.show("Prometheus imports the day");
        let text = self.folder.join("day.txt");
        CpuMachine::new(CPUS).write_text(&text, self.plan.seconds, 1)?;
        let data = self.folder.join("prometheus");
        let mut import = Command::new(tool);
        import.args(["tsdb", "create-blocks-from", "openmetrics"]).args([&text, &data]);
        let cost = run_quietly(&mut import).context("promtool")?;
        self.imported("prometheus", &data, cost, results)?;
        self.ask("prometheus", || Rival::prometheus(server, &data, self.folder), results)
    }

    /// The same values and questions of VictoriaMetrics.
    fn victoria_metrics(&self, server: &Path, results: &mut Results) -> Result<()> {
        self.progress.show("VictoriaMetrics imports the day");
        let text = self.folder.join("day.txt");
        CpuMachine::new(CPUS).write_text(&text, self.plan.seconds, 1000)?;
        let data = self.folder.join("victoria-metrics");
        let mut running = Rival::victoria_metrics(server, &data)?;
        let cost = running.import(&text)?;
        running.stop()?;
        self.imported("victoria-metrics", &data, cost, results)?;
        self.ask("victoria-metrics", || Rival::victoria_metrics(server, &data), results)
    }

    fn imported(
        &self,
        name: &'static str,
        data: &Path,
        cost: Measurement,
        results: &mut Results,
    ) -> Result<()> {
        let (values, samples) =
            (self.plan.seconds * (CPUS * MODES.len()) as u64, self.plan.seconds);
        let bytes = rival::bytes_below(data)?;
        results.stored.push(Stored { name, values, samples, bytes, cost });
        Ok(())
    }

    /// The questions about the day to a server, which is started anew for each.
    fn ask(
        &self,
        server: &str,
        start: impl Fn() -> Result<Rival>,
        results: &mut Results,
    ) -> Result<()> {
        for (name, selector) in [(ONE_FIELD, "{cpu=\"0\",mode=\"user\"}"), (ALL_FIELDS, "")] {
            let mut running = start()?;
            let query = format!("rate(cpu_seconds_total{selector}[{STEP_S}s])");
            let range = [STARTED_S + STEP_S, STARTED_S + self.plan.seconds, STEP_S];
            let first = Contest {
                turns: vec![running.query(&query, range)?],
                ..Contest::new(format!("{server}, first query"), ())
            };
            let mut warm = Contest::new(server, ());
            for _ in 0..self.plan.rounds {
                warm.turns.push(running.query(&query, range)?);
            }
            let case = results.queries.iter_mut().find(|case| case.name == name);
            case.with_context(|| name.to_owned())?.contests.extend([first, warm]);
            running.stop()?;
        }
        Ok(())
    }
}

const ONE_FIELD: &str = "a day, 1 field";
const ALL_FIELDS: &str = "a day, 8 fields of 16 CPUs";
const ALL_DAYS: &str = "all days, 1 field";
const ONE_DAY: &str = "one of all days, 1 field";
const SERVER: &str = "a server of all recordings";
const SIDE_FILES: &str = "whit, side files";

/// Makes both side files of a recording, as `whit serve` does in the background.
fn write_side_files(path: &Path) -> Result<()> {
    let recordings = archive::Recordings::open(&[path.to_owned()], &jiff::Zoned::now());
    let complaints = recordings.context("a recording")?.write_side_files();
    ensure!(complaints.is_empty(), "{}", complaints.join("; "));
    Ok(())
}

/// Lets the kernel forget the pages of a file.
fn forget(path: &Path) -> Result<()> {
    let file = std::fs::File::open(path)?;
    file.sync_all()?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_runs_at_its_smallest_and_stores_the_same_values() {
        let mut machine = CpuMachine::new(2);
        let folder = tempfile::tempdir().unwrap();
        let [path, text] = ["a.whit", "a.txt"].map(|name| folder.path().join(name));
        machine.record(&path, 5).unwrap();
        CpuMachine::new(2).write_text(&text, 5, 1).unwrap();
        let text = std::fs::read_to_string(&text).unwrap();
        assert_eq!(text.lines().count(), 2 + 5 * 2 * MODES.len(), "{text}");
        let mut reader = recording::Reader::open(&path, &[]).unwrap();
        let mut snapshot = sample::Snapshot::new(&reader.defs());
        let mut last = None;
        while reader.next(&mut snapshot).unwrap() == recording::ReadOutcome::Sample {
            last = snapshot.samples[0].table.get(1, 0);
        }
        let line = text.lines().rfind(|line| line.contains("cpu=\"1\",mode=\"user\"")).unwrap();
        let value: f64 = line.split(' ').nth(1).unwrap().parse().unwrap();
        assert_eq!(last.unwrap() as f64 / 100.0, value);
        forget(&path).unwrap();
        let count = record_processes(&folder.path().join("p.whit"), 3, 4).unwrap();
        assert_eq!(count, 4 * 3 * 2);
    }

    #[test]
    fn reports_have_every_question() {
        let plan = ArchivePlan {
            rounds: 1,
            seconds: 10,
            days: 2,
            processes: 3,
            process_seconds: 4,
            has_rival: false,
            folder: None,
        };
        let turn = Measurement { wall_us: 1_500, user_us: 900, ..Measurement::default() };
        let contest = Contest { turns: vec![turn], ..Contest::new("whit", ()) };
        let case = Case { name: ONE_FIELD.to_owned(), facts: (), contests: vec![contest] };
        let stored = Stored { name: "day.whit", values: 80, samples: 10, bytes: 40, cost: turn };
        let results = Results { stored: vec![stored], queries: vec![case], notes: Vec::new() };
        let report = report::report(&plan, &results, serde_json::json!({}));
        assert_eq!(report.json["stored"][0]["bytes_a_value"], 0.5);
        assert_eq!(report.json["queries"][0]["contestants"][0]["wall_ms"], 1.5);
        assert!(report.summary.contains(ONE_FIELD), "{}", report.summary);
    }
}

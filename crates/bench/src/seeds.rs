//! The five published measurements that this project began with, all repeated by one command beside
//! the programs that were measured then: what each costs, what whit costs, and the floor.
//!
//! The work is done by the other benchmarks.  Here are the published figures, as data; the parts,
//! each of which makes some rows; and the report.  What cannot be measured on this machine is a row
//! with the reason.  A part that fails does not end the run.

use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Instant;

use serde_json::{Value, json};

use crate::Progress;
use crate::contest::cpu;
use crate::error::{Error, Result, ensure};
use crate::measure::{cpu_of_children, own_process_cpu};
use crate::programs::Programs;
use crate::report::Report;

mod acs;
mod collectl;
mod guests;
mod kept;
mod mrtg;
mod proc_stat;
mod report;
mod row;
mod shells;
mod state;

use row::SeedRow;
use state::{MeasuredPart, MeasuredParts};

named! {
    /// A published measurement.
    Seed {
        /// What collectl costs: its page on its own overhead, 2012
        Collectl = "000",
        /// Is the kernel slow at reading /proc? On collectl and many CPUs, 2012
        ProcStat = "001",
        /// MRTG and RRDtool: 3,164 targets on 32 devices, its mailing list, 2010
        Mrtg = "002",
        /// Logging of ACS: 10,000 logs as fast as possible
        Acs = "003",
        /// Very many new processes: a blog on GNU parallel, 2012
        Shells = "004",
    }
}

/// The size of the benchmark.
#[derive(Clone, Debug)]
pub struct SeedsPlan {
    /// Turns of each contestant.
    pub rounds: usize,
    /// Everything smaller, so that the whole takes minutes.
    pub is_quick: bool,
    /// The measurements that are repeated.
    pub seeds: Vec<Seed>,
    /// Texts of which a part has one in its name; all parts without any.
    pub parts: Vec<String>,
    /// The file that keeps what was measured.
    pub resume: Option<PathBuf>,
    /// The source tree of whit whose `cargo xtask vm` boots other machines; none are without one.
    pub guests: Option<PathBuf>,
}

impl SeedsPlan {
    /// The size of a whole run, or that of a quick one.
    fn size<T>(&self, whole: T, quick: T) -> T {
        if self.is_quick { quick } else { whole }
    }
}

/// What all parts need.
struct Bench<'a> {
    plan: &'a SeedsPlan,
    programs: &'a Programs,
    progress: &'a Progress<'a>,
}

/// How a part measures its rows.
type MeasurePart = Box<dyn Fn(&Bench<'_>) -> Result<Vec<SeedRow>> + Send + Sync>;

/// Rows that are measured together.
struct Part {
    seed: Seed,
    name: String,
    /// About how long a round takes, in seconds; for the time that is left.
    round_s: f64,
    measure: MeasurePart,
}

impl Part {
    fn new(
        seed: Seed,
        name: impl Into<String>,
        round_s: f64,
        measure: impl Fn(&Bench<'_>) -> Result<Vec<SeedRow>> + Send + Sync + 'static,
    ) -> Self {
        Part { seed, name: name.into(), round_s, measure: Box::new(measure) }
    }

    /// The name in the file of a run, which no other part has.
    fn key(&self) -> String {
        format!("{} {}", self.seed.name(), self.name)
    }

    /// Measures the rows; a part that fails is a row with the reason.
    ///
    /// A thread of its own does it: networks and mounts that a part makes for itself belong to the
    /// thread, and end with it.
    fn run(&self, plan: &SeedsPlan, programs: &Programs, progress: &Progress<'_>) -> MeasuredPart {
        let (begin, cpu) = (Instant::now(), cpu_of_all());
        let (sender, texts) = mpsc::channel::<String>();
        let measure = move || {
            // The other end waits until this one is gone.
            let show = |text: &str| _ = sender.send(text.to_owned());
            (self.measure)(&Bench { plan, programs, progress: &Progress::new(&show) })
        };
        let rows = std::thread::scope(|scope| {
            let thread = scope.spawn(measure);
            texts.into_iter().for_each(|text| progress.show(&text));
            thread.join().unwrap_or_else(|_| Err(Error::Failed("this part panicked".to_owned())))
        });
        let rows = rows.unwrap_or_else(|error| {
            vec![SeedRow::lost(self.seed, self.name.clone(), error.line())]
        });
        MeasuredPart { rows, took_s: begin.elapsed().as_secs_f64(), cpu_s: cpu_of_all() - cpu }
    }
}

/// CPU time of this process and of every child that was waited for, in seconds.
fn cpu_of_all() -> f64 {
    own_process_cpu().as_secs_f64() + cpu(&cpu_of_children()) / 1e6
}

/// All parts of a run.
///
/// # Errors
/// If the plan names a part that is not there.
fn parts(plan: &SeedsPlan) -> Result<Vec<Part>> {
    let mut all = Vec::new();
    for seed in &plan.seeds {
        all.extend(match seed {
            Seed::Collectl => collectl::parts(plan),
            Seed::ProcStat => proc_stat::parts(plan),
            Seed::Mrtg => mrtg::parts(plan),
            Seed::Acs => acs::parts(plan),
            Seed::Shells => shells::parts(plan),
        });
    }
    for text in &plan.parts {
        ensure!(
            all.iter().any(|part| part.key().contains(text)),
            "--part '{text}': no such part; there are {}",
            all.iter().map(|part| format!("'{}'", part.key())).collect::<Vec<_>>().join(", ")
        );
    }
    let is_wanted = |part: &Part| {
        plan.parts.is_empty() || plan.parts.iter().any(|text| part.key().contains(text))
    };
    all.retain(is_wanted);
    Ok(all)
}

/// How far a run is, and how long the rest may take.
struct Remaining {
    /// About how long all parts take that are not measured yet, in seconds.
    expected_s: f64,
    /// How long those that were measured should have taken, and did.
    planned_s: f64,
    took_s: f64,
}

impl Remaining {
    /// The time that is left, by how well the parts so far were estimated.
    fn left_s(&self) -> f64 {
        let slower = if self.planned_s > 0.0 { self.took_s / self.planned_s } else { 1.0 };
        self.expected_s * slower
    }

    fn count(&mut self, planned_s: f64, took_s: f64) {
        self.expected_s -= planned_s;
        self.planned_s += planned_s;
        self.took_s += took_s;
    }

    /// The time that is left, for a line of progress.
    fn text(&self) -> String {
        let left_s = self.left_s().max(0.0).ceil();
        match left_s < 90.0 {
            true => format!("about {left_s} s left"),
            false => format!("about {:.0} min left", left_s / 60.0),
        }
    }
}

/// Runs the benchmark.
///
/// # Errors
/// If the plan names a part that is not there, and if the file of the run cannot be used.
pub fn run(plan: &SeedsPlan, programs: &Programs, progress: &Progress<'_>) -> Result<Report> {
    let machine = crate::report::machine(programs);
    let parts = parts(plan)?;
    let mut state = match &plan.resume {
        Some(path) => MeasuredParts::open(path, &head(plan, &machine))?,
        None => MeasuredParts::default(),
    };
    let planned_s = |part: &Part| part.round_s * plan.rounds as f64;
    let is_open = |part: &&Part| state.find(&part.key()).is_none();
    let expected_s = parts.iter().filter(is_open).map(planned_s).sum();
    let mut remaining = Remaining { expected_s, planned_s: 0.0, took_s: 0.0 };
    for (number, part) in (1..).zip(&parts) {
        if state.find(&part.key()).is_some() {
            continue;
        }
        let head = format!("{number} of {} parts, {}", parts.len(), remaining.text());
        let show = |text: &str| progress.show(&format!("{head}: {} {text}", part.key()));
        show("");
        let done = part.run(plan, programs, &Progress::new(&show));
        remaining.count(planned_s(part), done.took_s);
        state.keep(&part.key(), done)?;
    }
    progress.done();
    let done: Vec<&MeasuredPart> =
        parts.iter().filter_map(|part| state.find(&part.key())).collect();
    Ok(report::report(plan, &done, &machine))
}

/// What a run is: another one does not go on with its file.
fn head(plan: &SeedsPlan, machine: &Value) -> Value {
    json!({
        "run": "seeds",
        "machine": machine["name"],
        "kernel": machine["kernel"],
        "cpus": machine["cpus"],
        "versions": machine["versions"],
        "rounds": plan.rounds,
        "quick": plan.is_quick,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(parts: &[&str]) -> SeedsPlan {
        let parts = parts.iter().map(|text| (*text).to_owned()).collect();
        SeedsPlan {
            rounds: 1,
            is_quick: true,
            seeds: Seed::ALL.into(),
            parts,
            resume: None,
            guests: None,
        }
    }

    #[test]
    fn parts_have_names_of_their_own_and_a_time() {
        for is_quick in [true, false] {
            let all = parts(&SeedsPlan { is_quick, ..plan(&[]) }).unwrap();
            let mut keys: Vec<String> = all.iter().map(Part::key).collect();
            keys.sort();
            keys.dedup();
            assert_eq!(keys.len(), all.len());
            assert!(all.iter().all(|part| part.round_s > 0.0));
            for seed in Seed::ALL {
                assert!(all.iter().any(|part| part.seed == seed), "{}", seed.name());
            }
        }
        assert_eq!(parts(&plan(&["000 -sc"])).unwrap()[0].name, "-sc");
        let error = parts(&plan(&["nothing"])).err().unwrap().line();
        assert!(error.starts_with("--part 'nothing': no such part; there are '000 "), "{error}");
    }

    #[test]
    fn the_whole_takes_half_an_hour_and_a_quick_one_five_minutes() {
        let seconds = |is_quick: bool, rounds| {
            let guests = (!is_quick).then(|| ".".into());
            let all = parts(&SeedsPlan { is_quick, rounds, guests, ..plan(&[]) }).unwrap();
            all.iter().map(|part| part.round_s).sum::<f64>() * rounds as f64
        };
        assert!(seconds(true, 1) <= 300.0, "{}", seconds(true, 1));
        assert!(seconds(false, 3) <= 1_800.0, "{}", seconds(false, 3));
    }

    #[test]
    fn the_time_that_is_left_learns_from_what_was_measured() {
        let mut remaining = Remaining { expected_s: 100.0, planned_s: 0.0, took_s: 0.0 };
        assert_eq!(remaining.text(), "about 2 min left");
        remaining.count(20.0, 10.0);
        assert_eq!(remaining.text(), "about 40 s left");
        remaining.count(80.0, 50.0);
        assert_eq!(remaining.text(), "about 0 s left");
    }

    #[test]
    fn a_run_goes_on_where_it_was_ended() {
        let folder = tempfile::tempdir().unwrap();
        let shown = std::cell::RefCell::new(Vec::new());
        let show = |text: &str| shown.borrow_mut().push(text.to_owned());
        let programs = Programs::find("whit".into(), "whit-bench".into(), Default::default());
        let go = |parts: &[&str]| {
            shown.borrow_mut().clear();
            let plan = SeedsPlan { resume: Some(folder.path().join("run")), ..plan(parts) };
            run(&plan, &programs, &Progress::new(&show)).unwrap().json
        };
        let one = go(&["guests"]);
        let begun = "1 of 1 parts, about 1 s left: 001 guests ";
        assert!(shown.borrow().iter().any(|text| text == begun), "{shown:?}");
        let both = go(&["guests", "versions"]);
        assert!(shown.borrow().iter().all(|text| !text.contains("guests")), "{shown:?}");
        assert!(shown.borrow().iter().any(|text| text.starts_with("2 of 2 parts")), "{shown:?}");
        let rows = one.as_array().unwrap().len();
        assert_eq!(both.as_array().unwrap().len(), rows + 1);
        assert_eq!(one[0], both[0]);
    }

    #[test]
    fn a_part_that_fails_is_a_row_with_the_reason() {
        let show = |_: &str| {};
        let programs = Programs::find("whit".into(), "whit-bench".into(), Default::default());
        let (plan, progress) = (plan(&[]), Progress::new(&show));
        let fails = |_: &Bench<'_>| Err(crate::Error::Failed("no such luck".to_owned()));
        let done = Part::new(Seed::Mrtg, "a part", 1.0, fails).run(&plan, &programs, &progress);
        let row = &done.rows[0];
        assert!(row.is_lost() && row.name == "a part" && row.notes == ["no such luck"], "{row:?}");
    }
}

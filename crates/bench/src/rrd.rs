//! The benchmark of round-robin databases: create, update, fetch and graph, with `whit rrd`, the
//! installed rrdtool, its Python binding, and the floor.
//!
//! Everybody has a folder of its own with copies of the same files, takes the same command lines,
//! and is measured as a whole program, its start included.  Afterwards the files of whit and of
//! rrdtool must be the same bytes.  The floor makes the bare system calls (a `pwrite` of each range
//! of bytes that an update changes, with no lock, no reading and no answer) within this process;
//! where every command is a process, it is a program that does nothing.
//!
//! Commands by pipe come in three ways: *ahead*, all lines written as fast as they are read; *in
//! rounds*, an update of each file, and all answers read before the next round; *answered*, each
//! answer read before the next line.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::Progress;
use crate::contest::{Case, Contest, Measurement, in_turn};
use crate::error::{Context, Result, ensure};
use crate::folder;
use crate::programs::{Programs, run_quietly, version_of};
use crate::report::{Report, Row, add_version};

pub(crate) mod files;
mod floor;
pub(crate) mod pipe;
mod report;

use files::{Layout, MRTG, ONE_SOURCE, STEP_SECONDS};
use floor::Floor;
use pipe::{Pace, Script};

named! {
    /// A part of the benchmark.
    RrdCase {
        /// New files.
        Create = "create",
        /// Updates of one file.
        Update = "update",
        /// Updates of some thousand files with MRTG's layout, in turn.
        UpdateFiles = "update-files",
        /// Updates of very many files of one source, in turn.
        UpdateMany = "update-many",
        /// A day of a file.
        Fetch = "fetch",
        /// A picture of a day with four lines.
        Graph = "graph",
    }
}

/// The size of the benchmark.
#[derive(Clone, Debug)]
pub struct RrdPlan {
    /// Turns of each contestant.
    pub rounds: usize,
    /// The parts that run.
    pub cases: Vec<RrdCase>,
    /// Processes of a turn where every command is one.
    pub processes: u64,
    /// Commands of a turn by pipe; pictures are a tenth of it.
    pub piped: u64,
    /// Updates of a turn of one file.
    pub updates: u64,
    /// Files with MRTG's layout.
    pub files: u64,
    /// Files of one source.
    pub many: u64,
    /// Updates of each file in a turn, five minutes apart.
    pub steps: u64,
    /// Where to make the files; the temporary folder without it.
    pub folder: Option<PathBuf>,
}

/// A program that takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Floor,
    Whit,
    Rrdtool,
    Python,
}

impl Who {
    fn name(self) -> &'static str {
        match self {
            Who::Floor => "floor",
            Who::Whit => "whit",
            Who::Rrdtool => "rrdtool",
            Who::Python => "python3-rrdtool",
        }
    }
}

/// A row of the table, and one contestant in it.
type RrdRow<'r> = Row<'r, RowFacts, Who>;

/// The work of a row.
#[derive(Clone, Copy, Debug)]
struct RowFacts {
    case: RrdCase,
    /// Commands of a turn.
    operations: u64,
}

/// Pages that an update makes dirty if all were clean.
#[derive(Debug)]
struct DirtyPages {
    name: String,
    contests: Vec<(Who, f64)>,
}

/// The results.
#[derive(Debug, Default)]
struct Results {
    rows: Vec<Case<RowFacts, Who>>,
    pages: Vec<DirtyPages>,
    notes: Vec<String>,
}

/// What all parts need.
struct Bench<'a> {
    plan: &'a RrdPlan,
    programs: &'a Programs,
    rrdtool: Option<PathBuf>,
    python: Option<PathBuf>,
    folder: &'a Path,
    progress: &'a Progress<'a>,
}

/// What every benchmark of such files begins with.
pub(crate) struct Preparation {
    /// The machine, and the version of rrdtool.
    pub(crate) machine: Value,
    /// Where files are made.
    pub(crate) folder: TempDir,
    /// rrdtool, if it is installed.
    pub(crate) rrdtool: Option<PathBuf>,
}

impl Preparation {
    /// Makes a folder in the given one, or in the temporary folder.
    ///
    /// # Errors
    /// If it cannot be made.
    pub(crate) fn new(base: Option<&Path>, programs: &Programs) -> Result<Self> {
        let mut machine = crate::report::machine(programs);
        let folder = folder::temporary(base)?;
        let rrdtool = programs.path.find("rrdtool");
        let version = version_of(rrdtool.as_deref(), "--version");
        add_version(&mut machine, "rrdtool", version.split("  ").next().unwrap_or_default());
        Ok(Self { machine, folder, rrdtool })
    }
}

/// Runs the benchmark.
///
/// # Errors
/// If a program that takes part or a file fails, and if files are not the same afterwards.
pub fn run(plan: &RrdPlan, programs: &Programs, progress: &Progress<'_>) -> Result<Report> {
    let Preparation { mut machine, folder, rrdtool } =
        Preparation::new(plan.folder.as_deref(), programs)?;
    let python = pipe::python(&programs.path);
    let version = if python.is_some() { "installed" } else { "not installed" };
    add_version(&mut machine, "python3-rrdtool", version);
    let bench = Bench { plan, programs, rrdtool, python, folder: folder.path(), progress };
    let mut results = Results::default();
    for (program, name) in [(&bench.rrdtool, "rrdtool"), (&bench.python, "python3-rrdtool")] {
        if program.is_none() {
            results.notes.push(format!("{name} is not installed: its lines are missing"));
        }
    }
    for case in &plan.cases {
        bench.case(*case, &mut results)?;
    }
    progress.done();
    Ok(report::report(plan, &results, machine))
}

impl Bench<'_> {
    fn case(&self, case: RrdCase, results: &mut Results) -> Result<()> {
        let RrdPlan { processes, piped, updates, files, many, steps, .. } = *self.plan;
        match case {
            RrdCase::Create => {
                let line = |number: u64| format!("create new{number}.rrd {}", MRTG.definitions());
                self.processes(case, "create, a process each", processes, &line, results)?;
                self.piped(case, "create, by pipe", piped, &line, results)
            }
            RrdCase::Fetch => {
                self.make_day()?;
                let line = |_| files::fetch_line();
                self.processes(case, "fetch a day, a process each", processes, &line, results)?;
                self.piped(case, "fetch a day, by pipe", piped, &line, results)
            }
            RrdCase::Graph => {
                self.make_day()?;
                let line = |number: u64| files::graph_line(number);
                let name = "graph of a day, 4 lines, a process each";
                self.processes(case, name, processes, &line, results)?;
                let name = "graph of a day, 4 lines, by pipe";
                self.piped(case, name, (piped / 10).max(1), &line, results)
            }
            RrdCase::Update => {
                self.make(&MRTG, 1)?;
                let mut next = 0;
                let line = |number: u64| files::update_line(&MRTG, 0, number + 1);
                let name = "update of one file, a process each";
                // Each round begins with an old file.
                self.processes(case, name, processes, &line, results)?;
                self.make(&MRTG, 1)?;
                for (pace, name) in [
                    (Pace::Ahead, "update of one file, ahead"),
                    (Pace::Answered, "update of one file, answered"),
                ] {
                    self.updates(case, name, &MRTG, [1, updates], pace, &mut next, results)?;
                }
                self.compare(1)
            }
            RrdCase::UpdateFiles => {
                self.make(&MRTG, files)?;
                let mut next = 0;
                for (pace, how) in [
                    (Pace::Ahead, "ahead"),
                    (Pace::Rounds, "in rounds"),
                    (Pace::Answered, "answered"),
                ] {
                    let name = format!("update of {files} files, {how}");
                    self.updates(case, &name, &MRTG, [files, steps], pace, &mut next, results)?;
                }
                let name = format!("{files} files with MRTG's layout");
                self.dirty_pages(&name, &MRTG, files, &mut next, results)?;
                self.compare(files)
            }
            RrdCase::UpdateMany => {
                self.make(&ONE_SOURCE, many)?;
                let mut next = 0;
                for (pace, how) in [(Pace::Ahead, "ahead"), (Pace::Rounds, "in rounds")] {
                    let name = format!("update of {many} files of one source, {how}");
                    let size = [many, steps];
                    self.updates(case, &name, &ONE_SOURCE, size, pace, &mut next, results)?;
                }
                let name = format!("{many} files of one source");
                self.dirty_pages(&name, &ONE_SOURCE, many, &mut next, results)?;
                self.compare(many)
            }
        }
    }

    /// The contestants that take part; Python only where it need not answer in between.
    fn who(&self, pace: Option<Pace>) -> Vec<Who> {
        let mut who = vec![Who::Floor, Who::Whit];
        who.extend(self.rrdtool.is_some().then_some(Who::Rrdtool));
        who.extend((self.python.is_some() && pace == Some(Pace::Ahead)).then_some(Who::Python));
        who
    }

    fn folder_of(&self, who: Who) -> PathBuf {
        self.folder.join(who.name())
    }

    /// The command that takes words, or lines if there are none.
    fn command(&self, who: Who, words: &str) -> Result<Command> {
        let program = match who {
            Who::Floor => self.programs.path.find("true"),
            Who::Whit => Some(self.programs.whit.clone()),
            Who::Rrdtool => self.rrdtool.clone(),
            Who::Python => self.python.clone(),
        };
        let mut command = Command::new(program.with_context(|| who.name().to_owned())?);
        command.current_dir(self.folder_of(who)).env("TZ", "UTC");
        match who {
            Who::Floor => {}
            Who::Whit => {
                command.arg("rrd").args(words.split(' '));
            }
            Who::Rrdtool => {
                command.args(words.split(' '));
            }
            Who::Python => {
                command.args(["-c", pipe::PYTHON]);
            }
        }
        Ok(command)
    }

    /// Makes the files of everybody anew, all from one.
    fn make(&self, layout: &Layout, files: u64) -> Result<()> {
        self.progress.show(&format!("making {files} files for each"));
        let template = self.folder.join("template");
        layout.create(&self.programs.whit, &template)?;
        let bytes = std::fs::read(&template)?;
        let mut who = self.who(Some(Pace::Ahead)).into_iter();
        Ok(who.try_for_each(|who| files::make_all(&self.folder_of(who), files, &bytes))?)
    }

    /// Makes a file with a day of data, for everybody.
    fn make_day(&self) -> Result<()> {
        self.make(&MRTG, 1)?;
        for who in [Who::Whit, Who::Rrdtool] {
            if self.who(None).contains(&who) {
                let script = Script::updates(&MRTG, 1, 1..files::DAY_STEPS + 1, Pace::Ahead);
                pipe::run(&mut self.command(who, "-")?, &script, None)?;
            }
        }
        Ok(())
    }

    /// A row in which every command is a process.
    fn processes(
        &self,
        case: RrdCase,
        name: &str,
        processes: u64,
        line: &dyn Fn(u64) -> String,
        results: &mut Results,
    ) -> Result<()> {
        let turn = |who: Who| {
            if case == RrdCase::Update || case == RrdCase::Create {
                self.renew(who)?;
            }
            let mut sum = Measurement::default();
            for number in 0..processes {
                sum.add(&run_quietly(&mut self.command(who, &line(number))?)?);
            }
            Ok(sum)
        };
        self.row(case, name, processes, self.who(None), turn, results)
    }

    /// A row of commands by pipe, ahead.
    fn piped(
        &self,
        case: RrdCase,
        name: &str,
        commands: u64,
        line: &dyn Fn(u64) -> String,
        results: &mut Results,
    ) -> Result<()> {
        let script = Script::of((0..commands).map(line));
        let who: Vec<Who> = self.who(None);
        let turn = |who: Who| {
            if case == RrdCase::Create {
                self.renew(who)?;
            }
            if who == Who::Floor {
                return Ok(floor::commands(case, commands, &self.folder_of(who))?);
            }
            Ok(pipe::run(&mut self.command(who, "-")?, &script, None)?)
        };
        self.row(case, name, commands, who, turn, results)
    }

    /// An empty folder, or one with one old file.
    fn renew(&self, who: Who) -> Result<()> {
        let folder = self.folder_of(who);
        folder::renew(&folder)?;
        let template = self.folder.join("template");
        if template.exists() {
            std::fs::copy(&template, folder.join(files::name(0)))?;
        }
        Ok(())
    }

    /// A row of updates by pipe.  `next` counts the steps of all rows since the files were made.
    #[allow(clippy::too_many_arguments, reason = "the callers name them all")]
    fn updates(
        &self,
        case: RrdCase,
        name: &str,
        layout: &Layout,
        [files, steps]: [u64; 2],
        pace: Pace,
        next: &mut u64,
        results: &mut Results,
    ) -> Result<()> {
        let mut row = empty_row(case, name, files * steps, self.who(Some(pace)));
        let has_python = row.find(Who::Python.name()).is_some();
        let last = row.contests.len() - 1;
        let mut script = None;
        in_turn(self.progress, name, self.plan.rounds, &mut row.contests, |place, contest, _| {
            if place == 0 {
                let these = *next + 1..*next + 1 + steps;
                *next += steps;
                script = Some((Script::updates(layout, files, these.clone(), pace), these));
            }
            let (script, these) = script.as_ref().context("the first one makes the script")?;
            contest.turns.push(match contest.facts {
                Who::Floor => {
                    Floor::open(layout, files, &self.folder_of(Who::Floor))?.run(these.clone())?
                }
                who => pipe::run(&mut self.command(who, "-")?, script, None)?,
            });
            // Python without a turn in this row does it too, so that all files stay the same.
            if place == last && self.python.is_some() && !has_python {
                pipe::run(&mut self.command(Who::Python, "-")?, &script.ahead(), None)?;
            }
            Result::Ok(())
        })?;
        results.rows.push(row);
        Ok(())
    }

    /// Counts pages that become dirty, with everything written back before each round.
    fn dirty_pages(
        &self,
        name: &str,
        layout: &Layout,
        files: u64,
        next: &mut u64,
        results: &mut Results,
    ) -> Result<()> {
        const ROUNDS: u64 = 2;
        let these = *next + 1..*next + 1 + ROUNDS;
        *next += ROUNDS;
        let script = Script::updates(layout, files, these.clone(), Pace::Rounds);
        let clean = || folder::sync(self.folder);
        let mut contests = Vec::new();
        for who in self.who(Some(Pace::Ahead)) {
            self.progress.show(&format!("pages that become dirty: {}", who.name()));
            let dirtied = match who {
                Who::Floor => {
                    let mut floor = Floor::open(layout, files, &self.folder_of(who))?;
                    let mut sum = Some(0);
                    for step in these.clone() {
                        clean()?;
                        let dirtied = floor.run(step..step + 1)?.dirtied_bytes;
                        sum = sum.zip(dirtied).map(|(sum, dirtied)| sum + dirtied);
                    }
                    sum
                }
                Who::Python => {
                    let ahead = script.ahead();
                    pipe::run(&mut self.command(who, "-")?, &ahead, None)?.dirtied_bytes
                }
                _ => pipe::run(&mut self.command(who, "-")?, &script, Some(&clean))?.dirtied_bytes,
            };
            let pages = dirtied.map(|bytes| bytes as f64 / 4096.0 / (ROUNDS * files) as f64);
            if who != Who::Python {
                contests.extend(pages.map(|pages| (who, pages)));
            }
        }
        if contests.is_empty() {
            results.notes.push("this kernel does not count what a process writes".to_owned());
        }
        results.pages.push(DirtyPages { name: name.to_owned(), contests });
        Ok(())
    }

    /// Compares files of everybody; a hundred of them.
    fn compare(&self, files: u64) -> Result<()> {
        for number in (0..files).step_by(usize::try_from(files / 100)?.max(1)) {
            let read = |who: Who| std::fs::read(self.folder_of(who).join(files::name(number)));
            let ours = read(Who::Whit)?;
            for who in self.who(Some(Pace::Ahead)).into_iter().skip(2) {
                let is_same = ours == read(who)?;
                ensure!(is_same, "file {number} of {} is not the same as ours", who.name());
            }
        }
        Ok(())
    }

    /// Lets everybody take turns.
    fn row(
        &self,
        case: RrdCase,
        name: &str,
        operations: u64,
        who: Vec<Who>,
        mut turn: impl FnMut(Who) -> Result<Measurement>,
        results: &mut Results,
    ) -> Result<()> {
        let mut row = empty_row(case, name, operations, who);
        in_turn(self.progress, name, self.plan.rounds, &mut row.contests, |_, contest, _| {
            contest.turns.push(turn(contest.facts)?);
            Result::Ok(())
        })?;
        results.rows.push(row);
        Ok(())
    }
}

/// A row without turns.
fn empty_row(case: RrdCase, name: &str, operations: u64, who: Vec<Who>) -> Case<RowFacts, Who> {
    let contests = who.into_iter().map(|who| Contest::new(who.name(), who)).collect();
    Case { name: name.to_owned(), facts: RowFacts { case, operations }, contests }
}

/// Minutes of a step, for those who read the tables.
const STEP_MINUTES: u64 = STEP_SECONDS / 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_cases_differ() {
        for (index, case) in RrdCase::ALL.iter().enumerate() {
            assert!(RrdCase::ALL[..index].iter().all(|other| other.name() != case.name()));
        }
    }
}

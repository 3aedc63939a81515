//! The tests of the workspace: built by one call of cargo, then run by file, several at a time.
//!
//! `cargo test` runs one program after the other, so the processors idle while each program waits
//! for its slowest test.  Here the tests of each file (the first module of a test's path) are a job,
//! and each job is a process of its own: tests that share a process are those of one file, as if
//! every file were a program, although a crate's files are linked once.
//!
//! Reads cargo's messages (<https://doc.rust-lang.org/cargo/reference/external-tools.html>) and the
//! output of libtest, whose `--report-time` is unstable: `RUSTC_BOOTSTRAP` permits it.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use crate::unchanged::Unchanged;
use crate::{cpu, skips, target};
use pipe::PipeText;

mod pipe;

/// Jobs at a time: one for each processor, and one because many tests wait for other programs.
const JOBS_MORE_THAN_CPUS: usize = 1;

/// The time after which a job is ended: twice what the slowest takes on a busy machine, and more
/// than `testkit::PATIENCE`, so that a test that waits in vain says for what.
const JOB_TIME_MAX: Duration = Duration::from_secs(240);

/// The same of a job that runs again, alone.
const JOB_TIME_ALONE_MAX: Duration = Duration::from_secs(150);

/// The variable with other seconds than `JOB_TIME_MAX`: for a machine that is made busy.
const JOB_TIME_VARIABLE: &str = "WHIT_JOB_SECONDS_MAX";

/// How often a job that runs long is named, so that a run that is cut off says what it waited for.
const STILL_RUNNING_PAUSE: Duration = Duration::from_secs(60);

/// What is said of a job whose processes outlived it.
const LEFT_BEHIND: &str = "these processes outlived the tests that started them, and were ended";

/// How many of the slowest tests, and of the costliest files, are listed.
const SLOWEST: usize = 20;

/// Jobs that take long, and so begin first.
const LONG: &[&str] = &[
    "cli closed_descriptors",
    "cli golden",
    "cli history_daemon",
    "cli options",
    "librrd beside",
    "logger c_client",
    "poll beside_mrtg",
    "rrd interrupted",
    "source exits",
    "source mutation",
];

/// Jobs that need the machine for themselves, and why.
const ALONE: &[(&str, &str)] = &[];

/// What one build made.
#[derive(Debug)]
pub(crate) struct Built {
    /// The program `whit`.
    pub(crate) whit: PathBuf,
    /// Complaints of the compiler and of clippy.
    pub(crate) warnings: usize,
    /// What cargo says of each library and program, and of each build script.
    pub(crate) artifacts: Vec<Value>,
    programs: Vec<TestProgram>,
    /// Programs, examples and libraries for other languages, by the folder of their package.
    products: BTreeMap<PathBuf, Vec<PathBuf>>,
}

#[derive(Debug)]
struct TestProgram {
    /// The package, and the target if it is not its library.
    name: String,
    path: PathBuf,
    /// The package's folder, in which tests run.
    folder: PathBuf,
}

/// The tests of one file.
#[derive(Debug)]
struct Job<'a> {
    name: String,
    program: &'a TestProgram,
    tests: Vec<String>,
    /// What it looks at: see [`Unchanged`].
    stamp: String,
}

impl Job<'_> {
    /// The name under which it is kept that it passed: two programs may have a file of one name.
    fn key(&self) -> String {
        let program = self.program.path.file_name().unwrap_or_default();
        format!("{} {}", program.to_string_lossy(), self.name)
    }
}

/// How a job ended.
#[derive(Debug, Default)]
struct Outcome {
    passed: usize,
    failed: usize,
    ignored: usize,
    /// Seconds of each test.
    times: Vec<(f64, String)>,
    /// Processor time of the job, and of what it started.
    cpu_seconds: f64,
    /// What to show of a job that failed.
    complaint: Option<String>,
    /// Lines for the ledger of skips.
    skips: String,
}

/// Lets cargo compile the workspace by clippy's compiler: rustc, and the lints.  So the build that the
/// tests need is also the check of clippy, which otherwise compiles everything once more.
pub(crate) fn by_clippy(cargo: &mut Command) {
    cargo.env("RUSTC_WORKSPACE_WRAPPER", crate::tool("clippy-driver"));
}

/// Builds every test program, and the programs and examples that tests start; shows what the compiler
/// and clippy complain about.
///
/// # Errors
/// If cargo fails, or builds no `whit`.
pub(crate) fn build() -> anyhow::Result<Built> {
    let mut cargo = crate::cargo(&["test", "--workspace", "--no-run", "-q"]);
    by_clippy(&mut cargo);
    cargo.arg("--message-format=json");
    let mut cargo = cargo.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut messages = Vec::new();
    cargo.stdout.take().context("cargo has an output")?.read_to_end(&mut messages)?;
    let (status, cpu_seconds) = cpu::wait(&mut cargo)?;
    cpu::add(cpu_seconds);
    let (mut programs, mut whit, mut artifacts) = (Vec::new(), None, Vec::new());
    let (mut products, mut warnings) = (BTreeMap::<PathBuf, Vec<PathBuf>>::new(), 0);
    for line in messages.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{")) {
        let message: Value = serde_json::from_slice(line)?;
        let is_script = message["reason"] == "build-script-executed";
        let is_artifact = message["reason"] == "compiler-artifact";
        if is_script || is_artifact && message["profile"]["test"] == false {
            artifacts.push(message.clone());
        }
        if let Some(text) = message["message"]["rendered"].as_str() {
            eprint!("{text}");
            warnings += 1;
        }
        if is_artifact && message["profile"]["test"] == false {
            let folder = manifest_folder(&message)?;
            let files = message["filenames"].as_array().into_iter().flatten();
            let files = files.filter_map(|file| file.as_str().map(PathBuf::from));
            products.entry(folder).or_default().extend(files.filter(|file| is_product(file)));
        }
        let Some(path) = message["executable"].as_str().map(PathBuf::from) else { continue };
        let target = &message["target"];
        let name = target["name"].as_str().unwrap_or_default();
        if message["profile"]["test"] == true {
            programs.push(test_program(&message, name, path)?);
        } else if name == "whit" {
            whit = Some(path);
        }
    }
    ensure!(status.success(), "cargo test --no-run: {status}");
    let whit = whit.context("cargo built no whit")?;
    Ok(Built { warnings, whit, artifacts, programs, products })
}

/// Whether a test may start or load a built file: a program, an example, a library for C.
fn is_product(file: &Path) -> bool {
    !file.extension().is_some_and(|end| ["rlib", "rmeta", "d"].iter().any(|one| end == *one))
}

/// The folder of the package that a message of cargo is about.
fn manifest_folder(message: &Value) -> anyhow::Result<PathBuf> {
    let manifest = Path::new(message["manifest_path"].as_str().context("no manifest")?);
    Ok(manifest.parent().context("a manifest is in a folder")?.to_owned())
}

fn test_program(message: &Value, target: &str, path: PathBuf) -> anyhow::Result<TestProgram> {
    let folder = manifest_folder(message)?;
    let package = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_unit = message["target"]["kind"].as_array().is_some_and(|kinds| {
        kinds.iter().any(|kind| !matches!(kind.as_str(), Some("test" | "example")))
    });
    let name = match (is_unit, target) {
        (true, _) => format!("{package} units"),
        (false, "all") => package,
        (false, target) => format!("{package} {target}"),
    };
    Ok(TestProgram { name, path, folder })
}

/// Runs all tests whose programs have changed since they passed; `environment` is added to that of
/// each.  Prints failures, the slowest tests and the sums.
///
/// # Errors
/// If a test failed, or a program could not be run.
pub(crate) fn run(
    built: &Built,
    environment: &[(&str, &Path)],
    unchanged: &Unchanged,
) -> anyhow::Result<()> {
    let start = Instant::now();
    let (passed, jobs): (Vec<_>, Vec<_>) = jobs(built, unchanged)?
        .into_iter()
        .partition(|job| unchanged.has_passed(&job.key(), &job.stamp));
    if !passed.is_empty() {
        let tests: usize = passed.iter().map(|job| job.tests.len()).sum();
        println!(
            "not run: {} files with {tests} tests, unchanged since they passed (--all runs them)",
            passed.len()
        );
    }
    let (alone, mut together): (Vec<_>, Vec<_>) =
        jobs.into_iter().partition(|job| ALONE.iter().any(|(name, _)| *name == job.name));
    let known = known_seconds();
    let seconds = |job: &Job<'_>| {
        let guess = if LONG.contains(&job.name.as_str()) { 60.0 } else { job.tests.len() as f64 };
        known.get(&job.name).copied().unwrap_or(guess)
    };
    together.sort_by(|one, other| seconds(other).total_cmp(&seconds(one)));
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut ended = run_queue(together, cpus + JOBS_MORE_THAN_CPUS, job_time_max(), environment);
    ended.extend(run_queue(alone, 1, job_time_max(), environment));
    for (job, outcome) in &ended {
        // One that skips tells so in each run, and one that failed at first is to be seen again.
        if outcome.failed == 0 && outcome.skips.is_empty() {
            unchanged.keep(&job.key(), &job.stamp)?;
        }
    }
    run_failed_again(&mut ended, environment);
    keep_seconds(&ended, known)?;
    report(&ended, &passed, start.elapsed())
}

/// Runs the jobs that failed once more, one at a time.  What passes then was disturbed by the load of
/// this run: a defect of the test, which is shown, but no reason to refuse the change at hand.
fn run_failed_again(ended: &mut Vec<(Job<'_>, Outcome)>, environment: &[(&str, &Path)]) {
    let (failed, passed) = std::mem::take(ended).into_iter().partition(is_failed);
    *ended = passed;
    let failed: Vec<(Job<'_>, Outcome)> = failed;
    for (job, first) in failed {
        let name = job.name.clone();
        let again = run_queue(vec![job], 1, JOB_TIME_ALONE_MAX, environment);
        if again.iter().all(|one| !is_failed(one)) {
            let complaint = first.complaint.unwrap_or_default();
            println!(
                "---- {name} passed only when it ran alone; before: {complaint}\n---- end of {name}"
            );
        }
        ended.extend(again);
    }
}

fn is_failed((_, outcome): &(Job<'_>, Outcome)) -> bool {
    outcome.failed > 0
}

/// The jobs of all programs.
fn jobs<'a>(built: &'a Built, unchanged: &Unchanged) -> anyhow::Result<Vec<Job<'a>>> {
    let mut jobs = Vec::new();
    for program in &built.programs {
        let products = built.products.get(&program.folder).into_iter().flatten();
        let looked_at: Vec<&Path> =
            [&program.path].into_iter().chain(products).map(PathBuf::as_path).collect();
        let stamp = unchanged.stamp(&looked_at, &[]);
        let is_grouped = !program.name.contains(' ');
        let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for test in list(program)? {
            let file = test.split_once("::").map_or("", |(file, _)| file);
            let file = if is_grouped { file.to_owned() } else { String::new() };
            files.entry(file).or_default().push(test);
        }
        for (file, tests) in files {
            let name = format!("{} {file}", program.name).trim_end().to_owned();
            jobs.push(Job { name, program, tests, stamp: stamp.clone() });
        }
    }
    Ok(jobs)
}

/// The names of a program's tests.
fn list(program: &TestProgram) -> anyhow::Result<Vec<String>> {
    let output = Command::new(&program.path)
        .args(["--list", "--format", "terse"])
        .current_dir(&program.folder)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", program.path.display()))?;
    ensure!(output.status.success(), "{} --list: {}", program.path.display(), output.status);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

/// Runs jobs, `limit` at a time.
fn run_queue<'a>(
    jobs: Vec<Job<'a>>,
    limit: usize,
    time_max: Duration,
    environment: &[(&str, &Path)],
) -> Vec<(Job<'a>, Outcome)> {
    let queue = Mutex::new(VecDeque::from(jobs));
    let ended = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..limit {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().ok().and_then(|mut queue| queue.pop_front());
                    let Some(job) = next else { break };
                    let begin = Instant::now();
                    let outcome =
                        run_job(&job, time_max, environment).unwrap_or_else(|error| Outcome {
                            failed: job.tests.len(),
                            complaint: Some(format!("{error:#}")),
                            ..Outcome::default()
                        });
                    let state = if outcome.failed > 0 { "FAILED" } else { "ok" };
                    let seconds = begin.elapsed().as_secs_f64();
                    println!(
                        "{seconds:>7.1} {:>7.1}  {state}  {} ({} tests)",
                        outcome.cpu_seconds,
                        job.name,
                        job.tests.len()
                    );
                    // Here, too, and not only at the end: a run may be ended before.
                    for line in outcome.complaint.iter().flat_map(|text| text.lines()) {
                        let tells = ["panicked at ", "ended after", LEFT_BEHIND];
                        if tells.iter().any(|words| line.contains(words)) {
                            println!("                   {line}");
                        }
                    }
                    if let Ok(mut ended) = ended.lock() {
                        ended.push((job, outcome));
                    }
                }
            });
        }
    });
    ended.into_inner().unwrap_or_default()
}

/// The time that a job may take beside others.
fn job_time_max() -> Duration {
    let seconds = std::env::var(JOB_TIME_VARIABLE).ok().and_then(|text| text.parse().ok());
    seconds.map_or(JOB_TIME_MAX, Duration::from_secs)
}

fn run_job(
    job: &Job<'_>,
    time_max: Duration,
    environment: &[(&str, &Path)],
) -> anyhow::Result<Outcome> {
    let mut command = Command::new(&job.program.path);
    command.args(["--exact", "-Zunstable-options", "--report-time"]).args(&job.tests);
    command.current_dir(&job.program.folder).env("RUSTC_BOOTSTRAP", "1");
    command.envs(environment.iter().copied()).env("CARGO_MANIFEST_DIR", &job.program.folder);
    let ledger = skips::JobLedger::begin(&job.key())?;
    command.env(skips::VARIABLE, ledger.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("cannot start the tests")?;
    let output = PipeText::read(child.stdout.take().context("an output")?);
    let complaints = PipeText::read(child.stderr.take().context("a standard error")?);
    let start = Instant::now();
    let mut named = start;
    while !cpu::has_ended(&child)? {
        if named.elapsed() > STILL_RUNNING_PAUSE {
            println!(
                "                   after {} s still: {}",
                start.elapsed().as_secs(),
                job.name
            );
            named = Instant::now();
        }
        if start.elapsed() > time_max {
            child.kill()?;
            child.wait()?;
            let held = [output.kill_holders(), complaints.kill_holders()].concat().join("\n");
            let (output, complaints) = (output.so_far(), complaints.so_far());
            bail!("ended after {} s\n{held}\n{complaints}{output}", time_max.as_secs());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let (status, cpu_seconds) = cpu::wait(&mut child)?;
    let left_behind = [output.end_holders(), complaints.end_holders()].concat();
    let (output, complaints) = (output.so_far(), complaints.so_far());
    let mut outcome = Outcome { cpu_seconds, skips: ledger.end()?, ..parse(&output) };
    if !status.success() || outcome.passed + outcome.ignored != job.tests.len() {
        outcome.failed = outcome.failed.max(1);
        outcome.complaint = Some(format!("{status}\n{complaints}{output}"));
    } else if !left_behind.is_empty() {
        outcome.failed = 1;
        let held = left_behind.join("\n");
        outcome.complaint = Some(format!("{LEFT_BEHIND}:\n{held}\n{complaints}{output}"));
    }
    Ok(outcome)
}

/// What libtest says of its tests: `test NAME ... ok <1.234s>`, and the sums.
fn parse(output: &str) -> Outcome {
    let mut outcome = Outcome::default();
    for line in output.lines() {
        if let Some(sums) = line.strip_prefix("test result: ") {
            let count = |what: &str| {
                let words: Vec<&str> = sums.split([' ', ';', '.']).collect();
                let at = words.iter().position(|word| *word == what)?;
                words.get(at.checked_sub(1)?)?.parse().ok()
            };
            // A test that starts this program again may let it print: the last sums are the job's.
            outcome.passed = count("passed").unwrap_or(0);
            outcome.failed = count("failed").unwrap_or(0);
            outcome.ignored = count("ignored").unwrap_or(0);
        }
        let Some((name, result)) =
            line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... "))
        else {
            continue;
        };
        let seconds = result.rsplit_once('<').and_then(|(_, rest)| rest.strip_suffix("s>"));
        if let Some(seconds) = seconds.and_then(|text| text.parse().ok()) {
            outcome.times.push((seconds, name.to_owned()));
        }
    }
    outcome
}

/// Prints what failed, the slowest tests, the costliest files and the sums.
fn report(
    ended: &[(Job<'_>, Outcome)],
    unchanged: &[Job<'_>],
    elapsed: Duration,
) -> anyhow::Result<()> {
    let mut times: Vec<(f64, String)> = Vec::new();
    let (mut passed, mut failed, mut ignored) = (0, 0, 0);
    for (job, outcome) in ended {
        passed += outcome.passed;
        failed += outcome.failed;
        ignored += outcome.ignored;
        let named =
            outcome.times.iter().map(|(s, test)| (*s, format!("{}: {test}", job.program.name)));
        times.extend(named);
        if let Some(complaint) = &outcome.complaint {
            println!("---- {} failed: {complaint}\n---- end of {}", job.name, job.name);
        }
    }
    times.sort_by(|one, other| other.0.total_cmp(&one.0));
    println!("the {SLOWEST} slowest tests, in seconds:");
    for (seconds, test) in times.iter().take(SLOWEST) {
        println!("{seconds:>7.1}  {test}");
    }
    let mut costs: Vec<(f64, &str)> =
        ended.iter().map(|(job, outcome)| (outcome.cpu_seconds, job.name.as_str())).collect();
    costs.sort_by(|one, other| other.0.total_cmp(&one.0));
    println!("the {SLOWEST} costliest files of tests, in seconds of CPU time:");
    for (seconds, job) in costs.iter().take(SLOWEST) {
        println!("{seconds:>7.1}  {job}");
    }
    let total: f64 = times.iter().map(|(seconds, _)| seconds).sum();
    let cpu_seconds: f64 = ended.iter().map(|(_, outcome)| outcome.cpu_seconds).sum();
    cpu::add(cpu_seconds);
    let elapsed = elapsed.as_secs_f64();
    println!("{total:>7.1}  all, run in {elapsed:.1}, with {cpu_seconds:.1} of CPU time");
    println!("{passed} passed, {failed} failed, {ignored} skipped");
    ensure!(failed == 0, "{failed} tests failed");
    ensure!(passed > 0 || !unchanged.is_empty(), "no test ran");
    Ok(())
}

/// Where the seconds of the jobs of the last run are kept, for the order of the next.
fn seconds_file() -> PathBuf {
    target().join("test-seconds.tsv")
}

/// The seconds of each job in the last run.
fn known_seconds() -> BTreeMap<String, f64> {
    let text = std::fs::read_to_string(seconds_file()).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    lines.filter_map(|(seconds, job)| Some((job.to_owned(), seconds.parse().ok()?))).collect()
}

fn keep_seconds(
    ended: &[(Job<'_>, Outcome)],
    mut known: BTreeMap<String, f64>,
) -> anyhow::Result<()> {
    for (job, outcome) in ended {
        known.insert(job.name.clone(), outcome.times.iter().map(|(seconds, _)| seconds).sum());
    }
    let mut text = String::new();
    for (name, seconds) in &known {
        writeln!(text, "{seconds:.3}\t{name}")?;
    }
    std::fs::write(seconds_file(), text).context("cannot keep the seconds of the tests")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_tests_is_parsed() {
        let output = "\nrunning 3 tests\ntest a::one ... ok <0.125s>\ntest two ... ignored\n\
            test three ... FAILED <2.000s>\n\ntest result: FAILED. 1 passed; 1 failed; 1 ignored; \
            0 measured; 7 filtered out; finished in 2.00s\n";
        let outcome = parse(output);
        assert_eq!((outcome.passed, outcome.failed, outcome.ignored), (1, 1, 1));
        assert_eq!(outcome.times, [(0.125, "a::one".to_owned()), (2.0, "three".to_owned())]);
    }
}

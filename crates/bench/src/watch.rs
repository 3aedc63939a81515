//! The benchmark of the whole service: `whit watch` with every part on, beside netdata.
//!
//! Both run in the same seconds on the same machine, with some sleeping processes, so that what else the
//! machine does costs both the same.  First nobody looks at a page; then, of whit, one page follows live;
//! then both are asked for the files of their page, and for curves of shorter and shorter periods.
//!
//! CPU is that of all processes of a service, its ended children too; memory is proportional (PSS): what
//! several processes share counts once.

use std::io::Read as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::Progress;
use crate::archive::bytes_below;
use crate::contest::median;
use crate::error::{Context, Result, ensure};
use crate::http::{ask, get};
use crate::process::microseconds;
use crate::processes::sleepers::Sleepers;
use crate::programs::{Programs, version_of};
use crate::report::{Report, add_version};

mod report;
pub(crate) mod service;
pub(crate) mod tree;

use service::Observed;
use tree::TreeCost;

/// How often a curve is asked for while the period is made shorter.
const ZOOMS: u32 = 24;
/// The shortest period.
const ZOOM_S_MIN: f64 = 10.0;

/// The size of the benchmark.
#[derive(Clone, Debug)]
pub struct WatchPlan {
    /// How often each is asked for its curves.
    pub rounds: usize,
    /// Seconds that are measured while nobody looks, after those of [`warm_up_s`].
    pub seconds: u64,
    /// Sleeping processes.
    pub processes: usize,
    /// Whether netdata takes part.
    pub has_rival: bool,
    /// Where to make the files; the temporary folder without it.
    pub folder: Option<PathBuf>,
}

/// What a service costs, and how fast it answers.
#[derive(Debug, Default)]
struct Outcome {
    /// CPU time as a part of one CPU, in per cent.
    cpu_percent: f64,
    /// The same while a page follows; none if that is not measured.
    live_percent: Option<f64>,
    memory_bytes: u64,
    processes: usize,
    /// Bytes that its processes wrote in a day, and that its files grow in a day.
    written_day: f64,
    kept_day: f64,
    /// From its start to its first answer.
    first_answer_ms: f64,
    /// The files of the page, packed, and how many.
    page_bytes: usize,
    page_files: usize,
    /// The first curve, and those of the zoom: the median and the slowest.
    first_curve_ms: f64,
    zoom_ms: f64,
    zoom_ms_max: f64,
}

/// Runs the benchmark.
///
/// # Errors
/// If a program that takes part or a file fails.
pub fn run(plan: &WatchPlan, programs: &Programs, progress: &Progress<'_>) -> Result<Report> {
    let mut machine = crate::report::machine(programs);
    let folder = crate::folder::temporary(plan.folder.as_deref())?;
    let folder = folder.path();
    let netdata = service::find_netdata(&programs.path).filter(|_| plan.has_rival);
    add_version(&mut machine, "netdata", &version_of(netdata.as_deref(), "-v"));
    progress.show("starting processes and services");
    let sleepers = Sleepers::start(&programs.bench, plan.processes, 1)?;
    let mut all = vec![Observed::whit(&programs.whit, &folder.join("whit"))?];
    if let Some(program) = &netdata {
        all.push(Observed::netdata(program, &folder.join("netdata"))?);
    }
    let mut outcomes = idle(plan, &mut all, progress)?;
    outcomes[0].live_percent = Some(followed(plan, &mut all[0], progress)?);
    progress.show("asking for pages and curves");
    for (one, outcome) in all.iter().zip(&mut outcomes) {
        open_page(one, outcome)?;
    }
    ask_curves(plan.rounds, &all, &mut outcomes)?;
    all[0].check_parts()?;
    all.into_iter().try_for_each(Observed::stop)?;
    drop(sleepers);
    progress.done();
    Ok(report::report(plan, &outcomes, machine))
}

/// How long the services run before they are measured.  The files of whit's history, as long as they
/// will ever be, are made after a minute: a run that claims a rate a day begins after them.
fn warm_up_s(seconds: u64) -> u64 {
    const HISTORY_S: u64 = 90;
    match seconds {
        60.. => HISTORY_S.max(seconds / 10),
        _ => (seconds / 10).max(1),
    }
}

/// Measures while nobody looks.
fn idle(plan: &WatchPlan, all: &mut [Observed], progress: &Progress<'_>) -> Result<Vec<Outcome>> {
    pass(warm_up_s(plan.seconds), all, progress, "warming up")?;
    let begin = Instant::now();
    let before: Vec<(TreeCost, u64)> = all.iter().map(now).collect::<Result<_>>()?;
    pass(plan.seconds, all, progress, "measuring the services")?;
    let passed = begin.elapsed();
    let of = |(one, (before, kept)): (&Observed, (TreeCost, u64))| {
        let (after, kept_now) = now(one)?;
        let a_day = |bytes: u64| bytes as f64 * 86_400.0 / passed.as_secs_f64();
        Ok(Outcome {
            cpu_percent: percent(after.cpu_us.saturating_sub(before.cpu_us), passed),
            memory_bytes: after.memory_bytes,
            processes: after.processes,
            written_day: a_day(after.written_bytes.saturating_sub(before.written_bytes)),
            kept_day: a_day(kept_now.saturating_sub(kept)),
            first_answer_ms: one.first_answer.as_secs_f64() * 1e3,
            ..Outcome::default()
        })
    };
    all.iter().zip(before).map(of).collect()
}

fn now(one: &Observed) -> Result<(TreeCost, u64)> {
    Ok((TreeCost::of(one.id()).context("the service ended")?, bytes_below(&one.data)?))
}

fn percent(cpu_us: u64, passed: Duration) -> f64 {
    100.0 * cpu_us as f64 / microseconds(passed).max(1) as f64
}

/// The CPU of whit while a page follows, in per cent of one CPU.
fn followed(plan: &WatchPlan, whit: &mut Observed, progress: &Progress<'_>) -> Result<f64> {
    let mut events = ask(whit.address, &whit.live_path()?, true)?;
    let reader = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while events.read(&mut bytes).is_ok_and(|count| count > 0) {}
    });
    let seconds = (plan.seconds / 5).max(1);
    let whits = std::slice::from_mut(whit);
    pass(1, whits, progress, "a page follows")?;
    let (begin, before) = (Instant::now(), TreeCost::of(whits[0].id()));
    pass(seconds, whits, progress, "a page follows")?;
    let (passed, after) = (begin.elapsed(), TreeCost::of(whits[0].id()));
    ensure!(!reader.is_finished(), "the page of whit does not follow");
    let (before, after) = before.zip(after).context("whit watch ended")?;
    Ok(percent(after.cpu_us.saturating_sub(before.cpu_us), passed))
}

/// Lets some seconds pass while services run.
fn pass(seconds: u64, all: &mut [Observed], progress: &Progress<'_>, what: &str) -> Result<()> {
    let begin = Instant::now();
    for second in 0..seconds {
        progress.show(&format!("{what}: {second} of {seconds} s"));
        let until = Duration::from_secs(second + 1);
        std::thread::sleep(until.saturating_sub(begin.elapsed()));
        all.iter_mut().try_for_each(Observed::check)?;
    }
    Ok(())
}

/// Asks for the page, and for a curve of the whole time.
fn open_page(one: &Observed, outcome: &mut Outcome) -> Result<()> {
    let files = page_files(one.address)?;
    outcome.page_files = files.len();
    for path in files {
        let file = get(one.address, &path, true)?;
        ensure!(file.status == 200, "{path} is answered with status {}", file.status);
        outcome.page_bytes += file.body.len();
    }
    outcome.first_curve_ms = one.curve_ms(one.age_s())?;
    Ok(())
}

/// Asks each in turn for curves of shorter and shorter periods, round after round.
fn ask_curves(rounds: usize, all: &[Observed], outcomes: &mut [Outcome]) -> Result<()> {
    let mut times = vec![Vec::new(); all.len()];
    for zoom in (0..rounds).flat_map(|_| 0..ZOOMS) {
        for (one, times) in all.iter().zip(&mut times) {
            let part = f64::from(zoom) / f64::from(ZOOMS - 1);
            let whole_s = one.age_s();
            let shortest = ZOOM_S_MIN.min(whole_s);
            times.push(one.curve_ms(whole_s * (shortest / whole_s).powf(part))?);
        }
    }
    for (times, outcome) in times.into_iter().zip(outcomes) {
        outcome.zoom_ms_max = times.iter().copied().fold(0.0, f64::max);
        outcome.zoom_ms = median(times);
    }
    Ok(())
}

/// The paths of a page and of the scripts and styles that it names.
fn page_files(address: SocketAddr) -> Result<Vec<String>> {
    let page = get(address, "/", false)?;
    ensure!(page.status == 200, "the page answers with status {}", page.status);
    let text = page.text();
    let words = text.split(['"', '\'']).map(|word| word.trim_start_matches("./"));
    // What begins with a dot is a part of a name that its script puts together.
    let named = words.filter(|word| {
        let path = Path::new(word);
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        !word.starts_with('.')
            && !word.contains("//")
            && !word.contains(char::is_whitespace)
            && ["js", "css"].contains(&ending)
    });
    let mut files: Vec<String> =
        named.map(|word| format!("/{}", word.trim_start_matches('/'))).collect();
    files.push("/".to_owned());
    files.sort();
    files.dedup();
    Ok(files)
}

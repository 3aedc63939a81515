//! Runs the comparisons, one after the other.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use source::Entry;

use super::floor::Floor;
use super::{
    COLLECTL, CaseFacts, FLOOR, LongResult, RecordPlan, Recorded, Results, SlowResult, WHIT,
    compression, report,
};
use crate::contest::{Contest, Contestant, Measurement, take_turns};
use crate::error::{Context, Error, Result, ensure};
use crate::folder::{bytes_in, file_in};
use crate::process::{BackgroundProgram, silent, text_of, threads_cpu_ns};
use crate::programs::{self, Programs, run_quietly};
use crate::report::Report;
use crate::{Progress, beyond};

/// collectl's letters except processes, Lustre and sensors (which need another program there).
const COLLECTL_ALL: &str = "bcdfijmnstxCDFJMNTXY";

/// Those that have columns in plot format, and that collectl can play without slabs.
const COLLECTL_PLAYED: &str = "bcdfimnstxCDMNX";

/// What `sadc -S XALL` records, in letters.
const SADC_ALL: &str = "cCjJmdDnNfFstTiEvpq";

/// Samples before those that count, to exclude the start.
const SHORT_SAMPLES: u64 = 2;

/// A line of the classic table.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) whit: Vec<String>,
    /// `None` if collectl has no counterpart.
    pub(crate) collectl: Option<Vec<String>>,
    pub(crate) letters: String,
}

/// Runs the benchmark.
///
/// # Errors
/// If a program that takes part, a file or the kernel fails.
pub fn run(plan: &RecordPlan, programs: &Programs, progress: &Progress<'_>) -> Result<Report> {
    let machine = crate::report::machine(programs);
    let results = measure_all(plan, programs, progress)?;
    Ok(report::report(plan, &results, machine))
}

fn measure_all(plan: &RecordPlan, programs: &Programs, progress: &Progress<'_>) -> Result<Results> {
    let mut results = Results::default();
    for case in chosen(plan)? {
        results.cases.push(run_case(&case, plan, programs, progress)?);
    }
    if programs.collectl.is_none() {
        results.notes.push("collectl is not installed: its columns are missing".into());
    }
    let all = plan.cases.is_empty();
    if all {
        slow(plan, programs, progress, &mut results)?;
    }
    if all || plan.long_seconds > 0 {
        let folder = tempfile::tempdir()?;
        long(plan, programs, progress, &mut results, folder.path())?;
    }
    if all {
        play(plan, programs, progress, &mut results)?;
    }
    progress.done();
    note_what_is_lost(plan, &mut results);
    Ok(results)
}

/// Adds a note for each requested figure that is missing.
fn note_what_is_lost(plan: &RecordPlan, results: &mut Results) {
    if results.slow.iter().any(|one| one.cpu_us.is_none()) {
        let count = plan.slow_samples;
        results.notes.push(format!(
            "-: {count} more samples at 1 s cost less than starts differ by: take more with \
             --slow-samples"
        ));
    }
    if results.compression.iter().any(|one| one.cpu_us.is_none()) {
        results.notes.push(
            "-: writing cost less than two readings of the same file differ by: take more with \
             --samples"
                .into(),
        );
    }
}

/// The letters of `asked` that a source has.
fn served(asked: &str) -> String {
    let serves = |letter: &char| source::ALL.iter().copied().any(|e| e.letters.contains(*letter));
    asked.chars().filter(serves).collect()
}

fn cases() -> Vec<Case> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let same = |name: &'static str, letters: &str| Case {
        name,
        whit: words(name),
        collectl: Some(words(name)),
        letters: letters.to_owned(),
    };
    // What `--all` records: a source that traces would add this process's memory to the peaks of
    // the programs that it starts.
    let is_of_all = |letter: &char| {
        let mut of_all = source::ALL.iter().copied().filter(|entry| entry.is_of_all());
        *letter != 'y' && of_all.any(|entry| entry.letters.contains(*letter))
    };
    let everything: String = ('a'..='z').filter(is_of_all).collect();
    let theirs = served("bcdfijmnstx");
    vec![
        same("-sc", "c"),
        same("-scdnm", "cdnm"),
        same("-scdnm -P", "cdnm"),
        Case {
            name: "--all, collectl's letters",
            whit: vec![format!("-s{theirs}")],
            collectl: Some(words("--all")),
            letters: theirs,
        },
        Case {
            name: "--all, with whit's own",
            whit: words("--all"),
            collectl: None,
            letters: everything,
        },
    ]
}

/// The selected lines: all unless some are named.
///
/// # Errors
/// If no line has such a name.
fn chosen(plan: &RecordPlan) -> Result<Vec<Case>> {
    let mut cases = cases();
    for name in &plan.cases {
        ensure!(
            cases.iter().any(|case| case.name == name),
            "--case '{name}': no such line; there are {}",
            cases.iter().map(|case| format!("'{}'", case.name)).collect::<Vec<_>>().join(", ")
        );
    }
    cases.retain(|case| plan.cases.is_empty() || plan.cases.iter().any(|name| name == case.name));
    Ok(cases)
}

/// A recording command: the program, what to record, the interval, the samples, the output.
pub(crate) fn record(
    program: &Path,
    is_whit: bool,
    what: &[String],
    interval: &str,
    samples: u64,
    folder: &Path,
) -> Command {
    let mut command = Command::new(program);
    if is_whit {
        command.args(["record", "--no-check"]);
    }
    command.args(what).arg(format!("-i{interval}")).arg(format!("-c{samples}"));
    command.arg("-f").arg(folder);
    command
}

/// Runs one turn in a folder of its own, and notes the size of its files.
fn recorded(
    make: impl Fn(u64, &Path) -> Command,
    samples: u64,
    bytes: &mut Option<u64>,
) -> std::io::Result<Measurement> {
    let folder = tempfile::tempdir()?;
    let measurement = run_quietly(&mut make(samples, folder.path()))?;
    *bytes = Some(bytes_in(folder.path())?);
    Ok(measurement)
}

/// Lets whit, collectl and the floor record a case.
pub(crate) fn run_case(
    case: &Case,
    plan: &RecordPlan,
    programs: &Programs,
    progress: &Progress<'_>,
) -> Result<crate::contest::Case<CaseFacts, Recorded>> {
    let chosen = |entry: &&'static Entry| entry.asked_by(&case.letters.as_str().into());
    let entries: Vec<&'static Entry> = source::ALL.iter().copied().filter(chosen).collect();
    let mut floor = Floor::open(&entries).context("the floor cannot open its files")?;
    let (files, floor_calls) = (floor.files(), floor.calls());
    let whit = |samples: u64, folder: &Path| {
        record(&programs.whit, true, &case.whit, "0", samples, folder)
    };
    let collectl = programs.collectl.as_deref().zip(case.collectl.as_deref());
    let collectl = collectl.map(|(program, what)| {
        move |samples: u64, folder: &Path| record(program, false, what, "0", samples, folder)
    });
    let (mut whit_bytes, mut collectl_bytes) = (None, None);
    let mut contestants =
        vec![Contestant::new(WHIT, (), || recorded(whit, plan.samples, &mut whit_bytes))];
    if let Some(collectl) = &collectl {
        let bytes = &mut collectl_bytes;
        contestants
            .push(Contestant::new(COLLECTL, (), move || recorded(collectl, plan.samples, bytes)));
    }
    contestants.push(Contestant::new(FLOOR, (), || floor.run(plan.samples)));
    let contests = take_turns(progress, case.name, plan.rounds, contestants)?;
    let with_facts = |Contest { name, turns, .. }: Contest| {
        let (bytes, calls_per_sample) = match (name.as_str(), &collectl) {
            (WHIT, _) => (whit_bytes, traced(plan, programs, whit)?),
            (COLLECTL, Some(collectl)) if !plan.quick => {
                (collectl_bytes, traced(plan, programs, collectl)?)
            }
            (COLLECTL, _) => (collectl_bytes, None),
            _ => (None, Some(floor_calls as f64)),
        };
        Ok(Contest { name, turns, facts: Recorded { bytes, calls_per_sample } })
    };
    Ok(crate::contest::Case {
        name: case.name.to_owned(),
        facts: CaseFacts { letters: case.letters.clone(), files },
        contests: contests.into_iter().map(with_facts).collect::<Result<_>>()?,
    })
}

/// System calls of a sample: those of a long turn less those of a short one.
fn traced(
    plan: &RecordPlan,
    programs: &Programs,
    make: impl Fn(u64, &Path) -> Command,
) -> Result<Option<f64>> {
    let Some(strace) = programs.strace.as_ref().filter(|_| plan.traced_samples > 0) else {
        return Ok(None);
    };
    let count = |samples: u64| {
        let folder = tempfile::tempdir()?;
        programs::calls(strace, &make(samples, folder.path()))
    };
    // Enough samples that buffers are allocated and files are open when counting begins.
    let base = 20;
    let (few, many) = (count(base)?, count(base + plan.traced_samples)?);
    // Counts vary by retries of interrupted calls, never by a tenth of those of a start.
    let more = many.checked_sub(few).filter(|more| *more > 0);
    Ok(more.map(|more| more as f64 / plan.traced_samples as f64))
}

/// whit and sadc at an interval of a second.
fn slow(
    plan: &RecordPlan,
    programs: &Programs,
    progress: &Progress<'_>,
    results: &mut Results,
) -> Result<()> {
    let letters = served(SADC_ALL);
    let whit = |samples: u64, folder: &Path| {
        record(&programs.whit, true, &[format!("-s{letters}")], "1", samples, folder)
    };
    results.slow.push(slow_one("whit, what sadc -S XALL has", whit, plan, programs, progress)?);
    let Some(sadc) = &programs.sadc else {
        results.notes.push("sysstat's sadc is not installed: no comparison at 1 s".into());
        return Ok(());
    };
    let sets = [("sadc -S XALL", &["-S", "XALL"][..]), ("sadc", &[])];
    for (name, what) in sets.into_iter().take(if plan.quick { 1 } else { 2 }) {
        let make = |samples: u64, folder: &Path| {
            let mut command = Command::new(sadc);
            command.args(what).arg("1").arg(samples.to_string()).arg(folder.join("sa"));
            command
        };
        results.slow.push(slow_one(name, make, plan, programs, progress)?);
    }
    Ok(())
}

/// One recorder at an interval of a second.
pub(crate) fn slow_one(
    name: &str,
    make: impl Fn(u64, &Path) -> Command,
    plan: &RecordPlan,
    programs: &Programs,
    progress: &Progress<'_>,
) -> Result<SlowResult> {
    let (short, long) = (SHORT_SAMPLES, SHORT_SAMPLES + plan.slow_samples);
    let count = plan.slow_samples as f64;
    progress.show(&format!("{name}: {long} samples, one a second"));
    let folder = tempfile::tempdir()?;
    let mut command = make(long + SHORT_SAMPLES, folder.path());
    let cpu_us = cpu_while_running(&mut command, plan.slow_samples)?.map(|us| us / count);
    let task_clock_us = match &programs.perf {
        Some(perf) if !plan.quick => {
            let clock = |samples: u64| -> Result<f64> {
                let folder = tempfile::tempdir()?;
                Ok(programs::task_clock(perf, &make(samples, folder.path()))? * 1e3)
            };
            beyond(clock(long)?, clock(short)?).map(|us| us / count)
        }
        _ => None,
    };
    let command = text_of(&make(plan.slow_samples, Path::new("FOLDER")));
    Ok(SlowResult { name: name.to_owned(), command, cpu_us, task_clock_us })
}

/// CPU time of a recorder, in µs, for so many seconds after its first samples; `None` if the kernel
/// keeps no scheduler statistics.
///
/// Taken from the program as it runs: the start of a program costs a hundred samples, and differs
/// by more than one.
fn cpu_while_running(command: &mut Command, seconds: u64) -> Result<Option<f64>> {
    let mut running = BackgroundProgram::start(silent(command))?;
    // Half a second from the samples at both ends.
    std::thread::sleep(Duration::from_millis(SHORT_SAMPLES * 1_000 + 500));
    let begin_ns = threads_cpu_ns(running.id())?;
    std::thread::sleep(Duration::from_secs(seconds));
    running.check()?;
    let end_ns = threads_cpu_ns(running.id())?;
    Ok(begin_ns.zip(end_ns).map(|(begin, end)| end.saturating_sub(begin) as f64 / 1e3))
}

/// whit and collectl side by side at 1 s, to compare the sizes of their files.
fn long(
    plan: &RecordPlan,
    programs: &Programs,
    progress: &Progress<'_>,
    results: &mut Results,
    folder: &Path,
) -> Result<()> {
    let what = [format!("-s{}", served(COLLECTL_ALL))];
    let whit_folder = folder.join(WHIT);
    std::fs::create_dir(&whit_folder)?;
    if plan.long_seconds == 0 {
        // The compression table needs a recording.
        let mut command = record(&programs.whit, true, &what, "0", plan.samples, &whit_folder);
        run_quietly(&mut command)?;
        results.compression_of = format!("{} (samples in a burst)", text_of(&command));
    } else {
        progress.show(&format!("sizes: {} s", plan.long_seconds));
        let count = plan.long_seconds;
        let ours = record(&programs.whit, true, &what, "1", count, &whit_folder);
        results.compression_of = text_of(&ours);
        let collectl_folder = folder.join(COLLECTL);
        std::fs::create_dir(&collectl_folder)?;
        let theirs = programs.collectl.as_deref();
        let theirs = theirs.map(|p| record(p, false, &what, "1", count, &collectl_folder));
        for (name, folder, command, measurement) in
            [(WHIT, &whit_folder, Some(ours)), (COLLECTL, &collectl_folder, theirs)]
                .into_iter()
                .filter_map(|(name, folder, command)| Some((name, folder, command?)))
                .map(|(name, folder, command)| {
                    // Both run at once, each in a thread, so that they see the same machine.
                    let text = text_of(&command);
                    (name, folder, text, std::thread::spawn(move || run_quietly(&mut { command })))
                })
                .collect::<Vec<_>>()
        {
            let measurement = measurement
                .join()
                .map_err(|_| Error::Failed(format!("{name}: its thread died")))??;
            let bytes = bytes_in(folder)?;
            results.long.push(LongResult { name: name.to_owned(), command, bytes, measurement });
        }
    }
    progress.show("compression");
    let recording = file_in(&whit_folder, ".whit")?;
    results.compression = compression::table(&recording, folder)?;
    Ok(())
}

/// Playing a day to plot format.
fn play(
    plan: &RecordPlan,
    programs: &Programs,
    progress: &Progress<'_>,
    results: &mut Results,
) -> Result<()> {
    let letters = served(COLLECTL_PLAYED);
    let what = [format!("-s{letters}")];
    let folder = tempfile::tempdir()?;
    let sub = |name: &str| -> std::io::Result<std::path::PathBuf> {
        let path = folder.path().join(name);
        std::fs::create_dir(&path)?;
        Ok(path)
    };
    progress.show("play: whit records");
    let ours = sub(WHIT)?;
    run_quietly(&mut record(&programs.whit, true, &what, "0", plan.samples, &ours))?;
    let ours = file_in(&ours, ".whit")?;
    let play_ours = |file: &Path| {
        let mut command = Command::new(&programs.whit);
        command.arg("play").arg(file).arg("-P").args(&what);
        run_quietly(&mut command)
    };
    let theirs = match &programs.collectl {
        None => None,
        Some(collectl) => {
            progress.show("play: collectl records");
            let theirs = sub(COLLECTL)?;
            run_quietly(&mut record(collectl, false, &what, "0", plan.samples, &theirs))?;
            Some((collectl, file_in(&theirs, ".raw.gz")?))
        }
    };
    let mut contestants = vec![Contestant::new("whit play, its own", (), || play_ours(&ours))];
    if let Some((collectl, file)) = &theirs {
        let (play_ours, what) = (&play_ours, &what);
        contestants.push(Contestant::new("collectl -p, its own", (), move || {
            let mut command = Command::new(collectl);
            command.arg("-p").arg(file).arg("-P").args(what);
            run_quietly(&mut command)
        }));
        contestants.push(Contestant::new("whit play, collectl's", (), move || play_ours(file)));
    }
    results.play = take_turns(progress, "play", plan.play_rounds, contestants)?;
    results.play_letters = letters;
    Ok(())
}

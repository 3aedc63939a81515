//! How long a question about many records takes: a word, a logger, a part of a word, a short time; in
//! whit's store, by `zgrep` in the same records as packed text, and by `journalctl` in a journal that
//! `systemd-journal-remote` makes of them.
//!
//! Every program must find as many records as the others.  A journal of millions is gigabytes, so it has
//! a part of the records at most, and its questions say of how many.

use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use log_store::WordIndexer;
use logger::{LogConfig, Logger, Tier, attach_thread, log_info};
use serde_json::{Value, json};

use super::scenario::{RunSettings, Server, run_load};
use crate::contest::median;
use crate::error::{Context, Result, ensure};
use crate::folder::bytes_in;
use crate::programs::{Programs, run_heard, run_quietly};

/// Records of a journal at most.
const JOURNAL_RECORDS_MAX: u64 = 1_000_000;
/// Loggers that write nearly everything, and records of the one that writes little.
const LOGGERS: u64 = 60;
const RARE_RECORDS: u64 = 50;
/// Longest wait for the acknowledgement of everything.
const PATIENCE: Duration = Duration::from_secs(600);
/// Where Debian and others have it, which is in no search path.
const JOURNAL_REMOTE: [&str; 2] =
    ["/lib/systemd/systemd-journal-remote", "/usr/lib/systemd/systemd-journal-remote"];

/// What is missing where there is no journal.
pub(super) const NO_JOURNAL: &str = "systemd-journal-remote or journalctl is not installed";

/// A question to one program.
#[derive(Clone, Debug)]
pub(super) struct SearchRun {
    pub(super) question: &'static str,
    pub(super) who: &'static str,
    /// Records in which was searched.
    pub(super) records: u64,
    pub(super) found: u64,
    /// Milliseconds of each round.
    pub(super) rounds_ms: Vec<f64>,
}

impl SearchRun {
    pub(super) fn ms(&self) -> f64 {
        median(self.rounds_ms.clone())
    }
}

/// Bytes of a record: of the store, of its files of words, of the packed text, of the journal.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SearchSizes {
    pub(super) store: f64,
    pub(super) words: f64,
    pub(super) packed: Option<f64>,
    pub(super) journal: Option<f64>,
}

/// What is asked, of each program that can answer.
struct Question {
    name: &'static str,
    whit: Vec<String>,
    zgrep: Option<Vec<String>>,
    journal: Vec<String>,
}

/// What the writer says of its records.
struct WriterSummary {
    /// The number that one record has.
    number: u64,
    /// When the short time begins and ends, in µs since 1970.
    from_us: u64,
    until_us: u64,
}

/// Makes the records and asks, every program in turn in each round.
pub(super) fn measure(
    settings: &RunSettings<'_>,
    programs: &Programs,
    (records, rounds): (u64, usize),
    notes: &mut Vec<String>,
) -> Result<(Vec<SearchRun>, SearchSizes)> {
    let folder = tempfile::tempdir_in(settings.folder)?;
    let folder = folder.path();
    let written = fill(settings, folder, records)?;
    let records = records + RARE_RECORDS;
    let store = folder.join("store");
    let mut sizes = SearchSizes::default();
    let each = |bytes: u64, records: u64| bytes as f64 / records as f64;
    sizes.store = each(bytes_in(&store)?, records);
    sizes.words = each(bytes_of_words(&store)?, records);
    let packed = packed_text(settings, programs, folder, notes)?;
    if let Some(packed) = &packed {
        sizes.packed = Some(each(packed.metadata()?.len(), records));
    }
    let in_journal = records.min(JOURNAL_RECORDS_MAX);
    let journal = journal(settings, programs, (folder, in_journal), notes)?;
    if let Some(journal) = &journal {
        sizes.journal = Some(each(bytes_in(journal)?, in_journal));
    }
    let mut runs: Vec<SearchRun> = Vec::new();
    for _ in 0..rounds {
        for question in questions(&written) {
            let mut whit = settings.log("query");
            whit.arg(&store).arg("--count").args(&question.whit);
            ask(&mut runs, (question.name, "whit", records), &mut whit)?;
            if let (Some(packed), Some(arguments)) = (&packed, &question.zgrep) {
                let mut zgrep = Command::new("zgrep");
                zgrep.arg("-c").args(arguments).arg(packed);
                ask(&mut runs, (question.name, "zgrep", records), &mut zgrep)?;
            }
            if let Some(journal) = &journal {
                let mut journalctl = Command::new("journalctl");
                journalctl.arg("--directory").arg(journal).args(["--quiet", "--output", "cat"]);
                journalctl.args(&question.journal);
                ask(&mut runs, (question.name, "journalctl", in_journal), &mut journalctl)?;
            }
        }
    }
    for run in &runs {
        let first = runs.iter().find(|one| one.question == run.question).unwrap_or(run);
        // A journal with a part of the records may have a part of what is found.
        let is_same = run.found == first.found || run.records < first.records;
        ensure!(is_same, "{}: {} found {}, not {}", run.question, run.who, run.found, first.found);
    }
    Ok((runs, sizes))
}

/// Asks once; the answer is a number, or as many lines.
fn ask(
    runs: &mut Vec<SearchRun>,
    (question, who, records): (&'static str, &'static str, u64),
    command: &mut Command,
) -> Result<()> {
    let (cost, said, _) = run_heard(command, Stdio::null())?;
    let found = match who {
        "journalctl" => said.lines().count() as u64,
        _ => said.trim().parse().ok().with_context(|| format!("{who}: {said}"))?,
    };
    let ms = cost.wall_us as f64 / 1e3;
    match runs.iter_mut().find(|one| one.question == question && one.who == who) {
        Some(run) => run.rounds_ms.push(ms),
        None => runs.push(SearchRun { question, who, records, found, rounds_ms: vec![ms] }),
    }
    Ok(())
}

fn questions(written: &WriterSummary) -> Vec<Question> {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let number = written.number.to_string();
    let seconds = |us: u64| format!("@{}.{:06}", us / 1_000_000, us % 1_000_000);
    let (from, until) = (seconds(written.from_us), seconds(written.until_us));
    // journalctl also shows what is of the last microsecond.
    let last = seconds(written.until_us - 1);
    let rare = "CONTROL/CORRELATOR";
    vec![
        Question {
            name: "a word",
            whit: texts(&["--word", &number]),
            zgrep: Some(texts(&["-w", &number])),
            journal: texts(&["--grep", &format!("\\b{number}\\b")]),
        },
        Question {
            name: "a part of a word",
            whit: texts(&["--text", "rrelat"]),
            zgrep: Some(texts(&["rrelat"])),
            journal: texts(&["--grep", "rrelat", "--case-sensitive=true"]),
        },
        Question {
            name: "a logger",
            whit: texts(&["--logger", rare]),
            zgrep: Some(texts(&[rare])),
            journal: texts(&[&format!("SYSLOG_IDENTIFIER={rare}")]),
        },
        Question {
            name: "a 24th of the time",
            whit: texts(&["--from", &from, "--until", &until]),
            // Its text has times, but no order that `zgrep` knows of.
            zgrep: None,
            journal: texts(&["--since", &from, "--until", &last]),
        },
    ]
}

/// Makes the store of so many records, with its files of words.
fn fill(settings: &RunSettings<'_>, folder: &Path, records: u64) -> Result<WriterSummary> {
    let rings = tempfile::tempdir_in(settings.rings)?;
    let central = settings.central(folder, false)?;
    let proxy = &mut settings.proxy(folder, rings.path());
    let proxy = Server::start(proxy, folder, "proxy", "spool")?;
    let load = json!({ "searched": records, "rings": rings.path().to_string_lossy() });
    let said = run_load(settings.bench, &load)?;
    proxy.stop()?;
    central.stop()?;
    let made = WordIndexer::new(&folder.join("store")).advance(&|| false);
    made.context("files of words")?;
    let said: Value = serde_json::from_str(&said).map_err(std::io::Error::other)?;
    let number = |name: &str| said[name].as_u64().with_context(|| format!("no {name}"));
    let (number, from_us, until_us) = (number("number")?, number("from_us")?, number("until_us")?);
    Ok(WriterSummary { number, from_us, until_us })
}

/// Bytes of the files of words of a store.
fn bytes_of_words(store: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(store)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().ends_with("words") {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes)
}

/// The records as packed text; `None` without `gzip` and `zgrep`.
fn packed_text(
    settings: &RunSettings<'_>,
    programs: &Programs,
    folder: &Path,
    notes: &mut Vec<String>,
) -> Result<Option<PathBuf>> {
    let (Some(gzip), Some(_)) = (programs.path.find("gzip"), programs.path.find("zgrep")) else {
        notes
            .push("gzip or zgrep is not installed: its lines of the search are missing".to_owned());
        return Ok(None);
    };
    let text = folder.join("records.txt");
    let mut export = settings.log("export");
    run_quietly(export.arg(folder.join("store")).arg("--output").arg(&text))?;
    run_quietly(Command::new(gzip).arg("-1").arg(&text))?;
    Ok(Some(text.with_extension("txt.gz")))
}

/// A journal of the first records, in a folder; `None` without the programs that make and read it.
fn journal(
    settings: &RunSettings<'_>,
    programs: &Programs,
    (folder, records): (&Path, u64),
    notes: &mut Vec<String>,
) -> Result<Option<PathBuf>> {
    let journal = make_journal(programs, folder, |into| feed(settings, folder, records, into))?;
    if journal.is_none() {
        notes.push(format!("{NO_JOURNAL}: its lines of the search are missing"));
    }
    Ok(journal)
}

/// Makes a journal, in a folder, of what is written in its export format; `None` without the programs
/// that make and read one.
pub(super) fn make_journal(
    programs: &Programs,
    folder: &Path,
    write: impl FnOnce(ChildStdin) -> Result<()>,
) -> Result<Option<PathBuf>> {
    let remote = programs.path.find("systemd-journal-remote");
    let remote =
        remote.or_else(|| JOURNAL_REMOTE.iter().map(PathBuf::from).find(|path| path.exists()));
    let (Some(remote), Some(_)) = (remote, programs.path.find("journalctl")) else {
        return Ok(None);
    };
    let journal = folder.join("journal");
    std::fs::create_dir(&journal)?;
    let errors = std::fs::File::create(folder.join("journal.said"))?;
    let mut writer = Command::new(&remote)
        .arg(format!("--output={}", journal.join("bench.journal").display()))
        .args(["--split-mode=none", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn()
        .with_context(|| remote.display().to_string())?;
    let into = writer.stdin.take().context("a pipe")?;
    let written = write(into);
    let status = writer.wait()?;
    written?;
    ensure!(status.success(), "{} ended with {status}", remote.display());
    Ok(Some(journal))
}

/// Writes records as entries of the journal's export format.
fn feed(settings: &RunSettings<'_>, folder: &Path, records: u64, into: ChildStdin) -> Result<()> {
    let mut query = settings.log("query");
    query.arg(folder.join("store")).args(["--format", "json"]).stdin(Stdio::null());
    let mut child = query.stdout(Stdio::piped()).spawn()?;
    let lines = BufReader::new(child.stdout.take().context("a pipe")?).lines();
    let mut into = BufWriter::with_capacity(1 << 20, into);
    let written = || -> Result<()> {
        for line in lines.take(records as usize) {
            let record: Value = serde_json::from_str(&line?).map_err(std::io::Error::other)?;
            let text = |name: &str| record[name].as_str().with_context(|| format!("no {name}"));
            let time: jiff::Timestamp = text("time")?.parse().ok().context("a time")?;
            let (us, logger, message) = (time.as_microsecond(), text("logger")?, text("message")?);
            write!(
                into,
                "__REALTIME_TIMESTAMP={us}\n__MONOTONIC_TIMESTAMP={us}\n\
                 _BOOT_ID=00000000000000000000000000000001\nPRIORITY=6\n\
                 SYSLOG_IDENTIFIER={logger}\nMESSAGE={message}\n\n"
            )?;
        }
        Ok(into.flush()?)
    };
    let written = written();
    // It may have more than the journal takes.
    let _ = child.kill();
    child.wait()?;
    written
}

/// The process that logs: prints what is to be asked.
pub(super) fn play(value: &Value) -> Result<()> {
    let records = value["searched"].as_u64().context("no number of records")?;
    let rings = value["rings"].as_str().context("no rings")?;
    let failed = |error: logger::Error| crate::Error::Failed(error.to_string());
    let _logging = logger::start(LogConfig::new(rings, "bench", "search")).map_err(failed)?;
    let named = |name: String| Logger::new(&name).map_err(failed);
    let loggers = (0..LOGGERS).map(|number| named(format!("CONTROL/DV{number:02}")));
    let loggers: Vec<Logger> = loggers.collect::<Result<_>>()?;
    let rare = named("CONTROL/CORRELATOR".to_owned())?;
    attach_thread();
    super::load::wait_for_proxy(true)?;
    let now_us = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
    // What is asked for begins in the part that a journal has.
    let part = records.min(JOURNAL_RECORDS_MAX);
    let (rare_at, from, until) = (part / 4, part / 2, part / 2 + records / 24);
    let mut times = [0; 2];
    let mut random = 7_u64;
    for number in 0..records {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let angle = (random >> 44) as f64 / 2913.0;
        let log = &loggers[(random >> 20) as usize % loggers.len()];
        log_info!(log, "antenna at {:.3} degrees, exposure {}", angle, 1_000_000 + number);
        if number >= rare_at && number < rare_at + RARE_RECORDS {
            log_info!(rare, "decorrelated baseline {}", number - rare_at);
        }
        for (time, at) in times.iter_mut().zip([from, until]) {
            if number == at {
                *time = now_us() as u64;
            }
        }
    }
    let flushed = logger::flush(Tier::Central, PATIENCE);
    ensure!(flushed.is_safe, "the central store has not acknowledged everything");
    let number = 1_000_000 + part / 3;
    let said =
        json!({ "number": number, "from_us": times[0], "until_us": times[1].max(times[0] + 1) });
    std::io::stdout().write_all(said.to_string().as_bytes())?;
    Ok(())
}

//! `--extract` and `--grep`: work on a recording's text instead of its numbers.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use jiff::Timestamp;
use recording::{Writer, WriterOptions};
use regex::bytes::Regex;
use sample::Snapshot;
use sample::text::escape_into;

use super::feed::{CollectlFeed, Feed, Origin};
use super::files::Recording;
use super::period::{Period, Span};
use super::run::span_of;

/// Cuts the period out of each recording, into the folder `to`, or beside it with `to-` before
/// its name.  A `to` that ends in `.whit` is the new recording itself, whoever wrote the old one.
/// Files that exist are not touched.
pub(crate) fn extract(recordings: &[Recording], period: &Period, to: &Path) -> anyhow::Result<()> {
    if to.extension().is_some_and(|extension| extension == "whit") {
        let [recording] = recordings else {
            bail!("--extract {}: one file can take one recording only", to.display())
        };
        return extract_whit(recording, period, to);
    }
    ensure!(!period.is_all(), "--extract needs --from or --thru: the period to cut out");
    if to.as_os_str().as_encoded_bytes().ends_with(b"/") {
        std::fs::create_dir_all(to)
            .with_context(|| format!("--extract: cannot make the folder {}", to.display()))?;
    }
    for recording in recordings {
        let span = span_of(recording, period)?;
        let target = target_of(&recording.path, to)?;
        match recording.origin {
            Origin::Collectl => {
                let (base_ns, thru_ns) = (span.base_ns, span.thru_ns);
                recording::collectl::extract(&recording.path, &target, base_ns, thru_ns)
                    .with_context(|| format!("--extract to {}", target.display()))?;
            }
            Origin::Whit => extract_whit(recording, period, &target)?,
        }
        if recording.origin == Origin::Whit {
            continue;
        }
        eprintln!("whit: extracted to {}", target.display());
    }
    Ok(())
}

/// Cuts the period out into a recording of our own.
fn extract_whit(recording: &Recording, period: &Period, to: &Path) -> anyhow::Result<()> {
    let span = span_of(recording, period)?;
    let samples = match recording.origin {
        Origin::Whit => {
            let options = WriterOptions::default();
            let (base_ns, thru_ns) = (span.base_ns, span.thru_ns);
            recording::extract(&recording.path, to, base_ns, thru_ns, options)?.samples
        }
        Origin::Collectl => convert(recording, span, to)?,
    };
    ensure!(samples > 0, "--extract: {} has no samples in this period", recording.path.display());
    eprintln!("whit: extracted {samples} samples to {}", to.display());
    Ok(())
}

/// Writes a collectl recording's numbers as a recording of our own.
fn convert(recording: &Recording, span: Span, to: &Path) -> anyhow::Result<u64> {
    let selection = super::run::shown_letters(recording.meta.subsystems());
    let mut feed =
        CollectlFeed::open(&recording.path, &selection, false, source::Limits::default())?;
    let defs = feed.defs();
    let mut writer = Writer::create(to, &recording.meta, &defs, WriterOptions::default())?;
    let mut snapshot = Snapshot::new(&defs);
    let mut samples = 0;
    while feed.next(&mut snapshot)? && snapshot.realtime_ns <= span.thru_ns {
        if snapshot.realtime_ns >= span.base_ns {
            writer.append(&snapshot)?;
            samples += 1;
        }
    }
    writer.close()?;
    if samples == 0 {
        std::fs::remove_file(to)?;
    }
    Ok(samples)
}

fn target_of(path: &Path, to: &Path) -> anyhow::Result<PathBuf> {
    let name = path.file_name().with_context(|| format!("{}: no file name", path.display()))?;
    let target = if to.is_dir() {
        to.join(name)
    } else {
        let mut joined = to.as_os_str().to_owned();
        joined.push("-");
        joined.push(name);
        PathBuf::from(joined)
    };
    ensure!(
        !target.exists(),
        "--extract: {} is there already; it is not touched",
        target.display()
    );
    Ok(target)
}

/// Prints the lines that match, with the time of their interval before them.  Gives how many.
pub(crate) fn grep(
    recordings: &[Recording],
    period: &Period,
    pattern: &str,
    letters: &str,
    out: &mut dyn Write,
) -> anyhow::Result<u64> {
    let regex = Regex::new(pattern)
        .with_context(|| format!("--grep: '{pattern}' is no regular expression"))?;
    let is_terminal = std::io::stdout().is_terminal();
    let mut count = 0;
    for recording in recordings {
        ensure!(
            recording.origin == Origin::Collectl,
            "--grep: {} holds numbers, not text; it needs a collectl recording",
            recording.path.display()
        );
        let span = span_of(recording, period)?;
        let mut time = String::new();
        let mut time_of = i64::MIN;
        let found = |at_ns: i64, line: &[u8]| -> std::io::Result<()> {
            count += 1;
            if at_ns != time_of {
                time_of = at_ns;
                time = time_text(recording, at_ns, letters);
            }
            write!(out, "{time} ")?;
            if is_terminal {
                let mut safe = Vec::with_capacity(line.len());
                escape_into(&mut safe, line);
                out.write_all(&safe)?;
            } else {
                out.write_all(line)?;
            }
            out.write_all(b"\n")
        };
        let wanted = |line: &[u8]| regex.is_match(line);
        recording::collectl::search(&recording.path, span.base_ns, span.thru_ns, wanted, found)?;
    }
    out.flush()?;
    Ok(count)
}

/// The time column that `-o d`, `D` and `m` ask for.
fn time_text(recording: &Recording, at_ns: i64, letters: &str) -> String {
    let moment = Timestamp::from_nanosecond(i128::from(at_ns)).unwrap_or_default();
    let local = moment.to_zoned(recording.zone.clone());
    let format = match (letters.contains('d'), letters.contains('D')) {
        (true, _) => "%m/%d %H:%M:%S",
        (_, true) => "%Y%m%d %H:%M:%S",
        _ => "%H:%M:%S",
    };
    let mut text = local.strftime(format).to_string();
    if letters.contains('m') {
        text.push_str(&format!(".{:03}", at_ns.rem_euclid(1_000_000_000) / 1_000_000));
    }
    text
}

//! Finds the recordings, and shows what is asked for of them.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::{Context, bail};
use feed::{Origin, RecordedFile, TimeColumn, TimeSelection};
use layout::Selection;
use regex::bytes::Regex;
use watch::DataKind;

use super::PlayArguments;
use super::diff;
use super::digests::DigestFiles;
use super::frames::{self, Outcome};
use super::heaviest;
use super::plot_files::PlotFileSets;
use super::report;
use super::steps;
use super::views::OneView;
use crate::commands::watch::data_of_service;
use crate::{daemon, stderr};

/// Runs the verb.
pub(crate) fn run(mut arguments: PlayArguments) -> anyhow::Result<ExitCode> {
    if arguments.display.lists.showtopopts {
        stderr::print(&crate::display::lists::sort_types())?;
        return Ok(ExitCode::SUCCESS);
    }
    arguments.check()?;
    steps::check(&arguments)?;
    heaviest::check(&arguments)?;
    report::check(&arguments)?;
    arguments.umask.as_deref().map_or(Ok(()), daemon::set_umask)?;
    if arguments.nice {
        daemon::be_nice()?;
    }
    let nanoseconds = arguments.offsettime.checked_mul(1_000_000_000);
    arguments.offset_ns = nanoseconds.context("--offsettime: out of range")?;
    if arguments.files.is_empty() && arguments.pattern.is_none() {
        arguments.files.push(data_of_service(DataKind::Recordings)?);
    }
    let now = crate::zone::now();
    let (from, thru) = (arguments.from.as_deref(), arguments.thru.as_deref());
    let period = TimeSelection::parse(from, thru, &now)?.shown_later_by(arguments.offset_ns);
    // Rates begin with the reading before the start; it is at most so long before that.
    let range = period.of(now.date(), now.time_zone(), 60_000_000_000)?;
    let now_ns = i64::try_from(now.timestamp().as_nanosecond())?;
    let (period_ns, access) =
        ((range.base_ns, range.thru_ns.min(now_ns)), arguments.access.access());
    let read = send::read_back_all(&mut arguments.files, period_ns, &access)?;
    read.iter().filter_map(send::EngineRecording::note).for_each(stderr::message);
    let (recordings, complaints) =
        feed::find(&arguments.files, arguments.pattern.as_deref(), &now)?;
    for complaint in &complaints {
        stderr::message(complaint);
    }
    let code = show_with_digests(&mut arguments, &period, &recordings)?;
    // Recordings that could not be read are an error, even if the rest is shown.
    Ok(if complaints.is_empty() { code } else { ExitCode::from(2) })
}

/// Counts what is written.
struct CountingWriter<W> {
    to: W,
    bytes: u64,
}

impl<W: Write> Write for CountingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.to.write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Shows what was found; plot files before the digests that are asked for beside them.
fn show_with_digests(
    arguments: &mut PlayArguments,
    period: &TimeSelection,
    recordings: &[RecordedFile],
) -> anyhow::Result<ExitCode> {
    // As in collectl, -s asks for plot files, with -P or without.
    if arguments.display.subsystems.is_some() && !arguments.digests().is_empty() {
        arguments.display.plot = true;
        let asked = (arguments.procanalyze, arguments.slabanalyze);
        (arguments.procanalyze, arguments.slabanalyze) = (false, false);
        let code = show(arguments, period, recordings)?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
        (arguments.procanalyze, arguments.slabanalyze) = asked;
        arguments.display.subsystems = None;
    }
    // Digests are files of the kind that plot files are: -oz and --sep mean the same.
    arguments.display.plot |= !arguments.digests().is_empty();
    show(arguments, period, recordings)
}

/// Shows what was found.
fn show(
    arguments: &PlayArguments,
    period: &TimeSelection,
    recordings: &[RecordedFile],
) -> anyhow::Result<ExitCode> {
    let mut out =
        CountingWriter { to: BufWriter::with_capacity(64 * 1024, io::stdout().lock()), bytes: 0 };
    if arguments.showheader {
        recordings.iter().try_for_each(|recording| recording.write_header(&mut out))?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(to) = &arguments.extract {
        feed::extract(recordings, period, to, &mut |done| {
            let count = done.samples.map(|samples| format!("{samples} samples "));
            let count = count.unwrap_or_default();
            stderr::message(format_args!("extracted {count}to {}", done.path.display()));
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(pattern) = &arguments.grep {
        let count = grep(arguments, period, recordings, pattern, &mut out)?;
        return Ok(if count == 0 { ExitCode::from(1) } else { ExitCode::SUCCESS });
    }
    if report::is_asked(arguments) {
        report::write(arguments, recordings, period, &mut out)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(newest) = recordings.last().filter(|_| arguments.follow) {
        newest.check_follow()?;
    }
    let ours = recordings.iter().find(|recording| recording.origin == Origin::Whit);
    if let (Some(_), Some(recording)) = (&arguments.envrules, ours) {
        bail!(
            "--envrules: {} is whit's, and the rules are for what ipmitool prints; --envremap \
             changes names",
            recording.path.display()
        );
    }
    if let Some(asked) = &arguments.heaviest {
        let outcome = heaviest::play(recordings, period, arguments, asked, &mut out)?;
        out.flush()?;
        return Ok(finish(&outcome, recordings, period, false));
    }
    let sets = frames::sets(recordings, arguments)?;
    feed::check_recorded(&sets)?;
    let mut shown = Selection::default();
    sets.iter().for_each(|set| shown.add(&set.selection));
    for note in arguments.display.idle_switches(&shown).iter().filter(|_| !arguments.quiet) {
        stderr::message(note);
    }
    let files = arguments.filename.as_ref().filter(|_| !arguments.display.showcolheaders);
    let mut consumer: Box<dyn frames::FrameConsumer + '_> = match files {
        Some(path) if !arguments.digests().is_empty() => {
            Box::new(DigestFiles::new(path, arguments.digests()))
        }
        Some(path) => Box::new(PlotFileSets::new(path)),
        None => Box::new(OneView::new(arguments)),
    };
    let outcome = match &arguments.diff {
        Some(periods) => diff::diff(&sets, periods, arguments, &mut out)?,
        None if arguments.step.is_some() => {
            steps::play(&sets, recordings, period, arguments, consumer.as_mut(), &mut out)?
        }
        None => frames::play(&sets, period, arguments, consumer.as_mut(), &mut out)?,
    };
    out.flush()?;
    let is_silent = arguments.filename.is_none() && out.bytes == 0;
    Ok(finish(&outcome, recordings, period, is_silent))
}

/// `--grep`: lines of collectl's text.  Returns how many.
fn grep(
    arguments: &PlayArguments,
    period: &TimeSelection,
    recordings: &[RecordedFile],
    pattern: &str,
    out: &mut dyn Write,
) -> anyhow::Result<u64> {
    let regex = Regex::new(pattern)
        .with_context(|| format!("--grep: '{pattern}' is not a regular expression"))?;
    let letters = arguments.display.letters.as_deref().unwrap_or_default();
    let column = TimeColumn {
        day: letters.contains('d'),
        date: letters.contains('D'),
        milliseconds: letters.contains('m'),
    };
    let escapes = terminal::shows(&io::stdout());
    Ok(feed::search(recordings, period, &regex, column, escapes, out)?)
}

/// Writes notes to stderr that the output cannot contain; `is_silent`: nothing was written.
fn finish(
    outcome: &Outcome,
    recordings: &[RecordedFile],
    period: &TimeSelection,
    is_silent: bool,
) -> ExitCode {
    for note in &outcome.notes {
        stderr::message(note);
    }
    if outcome.failed {
        return ExitCode::from(2);
    }
    if outcome.frames == 0 {
        let why = match period.is_all() {
            true => "nothing to show: the first interval needs two samples",
            false => "no samples in this period; are --from and --thru right?",
        };
        match recordings {
            [only] => stderr::message(format_args!("{}: {why}", only.path.display())),
            _ => stderr::message(why),
        }
        return ExitCode::from(1);
    }
    if let Some(early) = &outcome.too_early {
        let is_nothing = is_silent || early.is_all;
        stderr::message(early.sentence("the recording has", is_nothing));
        if is_nothing {
            return ExitCode::from(1);
        }
    }
    ExitCode::SUCCESS
}

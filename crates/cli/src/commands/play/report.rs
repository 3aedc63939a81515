//! `--html OUT`: the page with the data of the period, in one file that opens without a server; `--svg`
//! and `--png`: its curves as one picture.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use calendar::CivilZone;
use feed::{RecordedFile, TimeSelection};
use serve::PictureFormat;
use sink::{Message, ReplacedFile, Sink as _};

use super::arguments::PlayArguments;
use super::frames;
use super::heaviest::refuse_choices;
use super::steps::archive_of;
use crate::stderr;

/// Whether a report or a picture is asked for.
pub(super) fn is_asked(arguments: &PlayArguments) -> bool {
    [&arguments.html, &arguments.svg, &arguments.png].into_iter().any(Option::is_some)
}

/// Writes the report or the pictures.
pub(super) fn write(
    arguments: &PlayArguments,
    recordings: &[RecordedFile],
    selection: &TimeSelection,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let archive = archive_of(recordings, &[])?;
    let hosts = archive.hosts();
    let mut chosen = Vec::new();
    for host in &hosts {
        match archive.periods(host, selection)?.as_slice() {
            [] => {}
            [only] => chosen.push((*host, *only)),
            [..] => bail!("the period is on several days; give --from and --thru a date"),
        }
    }
    if let Some(path) = &arguments.html {
        let mut file = Vec::new();
        let made = serve::write_report(&archive, &chosen, &mut file)?;
        let coarse = if made.is_coarse { ", and single samples around the spikes" } else { "" };
        let step_s = made.step_ns as f64 / 1e9;
        let moments = made.moments;
        let about = format!(", curves in steps of {step_s} s{coarse}, {moments} moments");
        return put(path, &file, &about, out);
    }
    let names: Vec<&str> = chosen.iter().map(|(host, _)| *host).collect();
    ensure!(names.len() < 2, "a picture is of one host: name recordings of one of {names:?}");
    let &period = chosen.first().ok_or(serve::PageReportError::Empty)?;
    let sets = frames::sets(recordings, arguments)?;
    feed::check_recorded(&sets)?;
    let asks = |def: &sample::SourceDef| sets.iter().any(|set| set.selection.asks_for(def));
    let zone = CivilZone::new(crate::zone::local());
    let pictures = [(&arguments.svg, PictureFormat::Svg), (&arguments.png, PictureFormat::Png)];
    for (path, format) in pictures {
        let Some(path) = path else { continue };
        put(path, &serve::draw_period(&archive, period, &asks, &zone, format)?, "", out)?;
    }
    Ok(())
}

/// Writes a file, or to standard output, and says what it is.
fn put(path: &Path, file: &[u8], about: &str, out: &mut dyn Write) -> anyhow::Result<()> {
    if path == Path::new("-") {
        out.write_all(file)?;
        return out.flush().context("cannot write to standard output");
    }
    ReplacedFile::new(path).send(&Message { source: "", sequence: 0, payload: file })?;
    let megabytes = file.len() as f64 / 1e6;
    stderr::message(format_args!("wrote {}: {megabytes:.1} MB{about}", path.display()));
    Ok(())
}

/// Refuses what does not go with it.
pub(super) fn check(arguments: &PlayArguments) -> anyhow::Result<()> {
    if !is_asked(arguments) {
        return Ok(());
    }
    let is_page = arguments.html.is_some();
    let what = if is_page { "--html" } else { "--svg and --png" };
    ensure!(arguments.offsettime == 0, "{what}: times are as they were: leave --offsettime out");
    let display = &arguments.display;
    let lines = display.plot || display.verbose || display.full || display.is_machine_format();
    ensure!(!lines && display.lists.by.is_none(), "{what}: leave other formats out");
    if is_page {
        return refuse_choices(display, "--html shows all that was recorded");
    }
    ensure!(display.formats.fields.is_empty(), "{what}: leave --fields out");
    ensure!(display.lists.top.is_none(), "{what}: leave --top out");
    let filters = display.sources.filters();
    ensure!(filters.is_empty(), "{what}: leave {} out", filters.join(" and "));
    Ok(())
}

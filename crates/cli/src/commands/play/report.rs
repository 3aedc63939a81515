//! `--html OUT`: the page with the data of the period, in one file that opens without a server.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use feed::{RecordedFile, TimeSelection};
use sink::{Message, ReplacedFile, Sink as _};

use super::arguments::PlayArguments;
use super::heaviest::refuse_choices;
use super::steps::archive_of;
use crate::stderr;

/// Writes the report.
pub(super) fn write(
    recordings: &[RecordedFile],
    selection: &TimeSelection,
    path: &Path,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let archive = archive_of(recordings, &[])?;
    let hosts = archive.hosts();
    let mut chosen = Vec::new();
    for host in &hosts {
        match archive.periods(host, selection)?.as_slice() {
            [] => {}
            [only] => chosen.push((*host, *only)),
            [..] => bail!("--html: the period is on several days; give --from and --thru a date"),
        }
    }
    let mut file = Vec::new();
    let made = serve::write_report(&archive, &chosen, &mut file)?;
    if path == Path::new("-") {
        out.write_all(&file)?;
    } else {
        ReplacedFile::new(path).send(&Message { source: "", sequence: 0, payload: &file })?;
        let coarse = if made.is_coarse { ", and single samples around the spikes" } else { "" };
        stderr::message(format_args!(
            "wrote {}: {:.1} MB, curves in steps of {} s{coarse}, {} moments",
            path.display(),
            file.len() as f64 / 1e6,
            made.step_ns as f64 / 1e9,
            made.moments
        ));
    }
    out.flush().context("cannot write the report")
}

/// Refuses what does not go with it.
pub(super) fn check(arguments: &PlayArguments) -> anyhow::Result<()> {
    if arguments.html.is_none() {
        return Ok(());
    }
    ensure!(arguments.offsettime == 0, "--html shows times as they were: leave --offsettime out");
    let display = &arguments.display;
    let lines = display.plot || display.verbose || display.full || display.is_machine_format();
    ensure!(!lines && display.lists.by.is_none(), "--html makes a page: leave other formats out");
    refuse_choices(display, "--html shows all that was recorded")
}

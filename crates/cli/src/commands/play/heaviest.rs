//! `--heaviest WHAT,N`: which processes, commands, users or control groups had most of something in a
//! period, and which share; or which instances of any other source.

use std::io::Write;

use anyhow::{Context, ensure};
use archive::{Ranked, Ranking, RankingQuery};
use feed::{RecordedFile, TimeSelection};
use layout::text::escape;
use sample::{Kind, Meta};
use view::{RankingLine, RankingTable, write_ranking};

use super::arguments::PlayArguments;
use super::frames::Outcome;
use super::steps::archive_of;
use crate::display::DisplayArguments;

/// How many are shown unless a number is given.
const COUNT: usize = 10;

/// What is asked for of every host.
fn asked<'a>(arguments: &'a PlayArguments, text: &'a str) -> anyhow::Result<RankingQuery<'a>> {
    let (what, count) = match text.split_once(',') {
        Some((what, count)) => {
            let count = count.parse().ok().filter(|&count| count > 0);
            (what, count.with_context(|| format!("--heaviest {text}: give WHAT,N"))?)
        }
        None => (text, COUNT),
    };
    let is_of_processes = !what.contains('.');
    let by = arguments.display.lists.by.as_deref();
    let by = by.or(is_of_processes.then_some("command")).filter(|&by| by != "process");
    let query = RankingQuery { host: "", what, by, from_ns: 0, thru_ns: 0, count };
    query.check().context("--heaviest")?;
    Ok(query)
}

/// Writes the heaviest of each host.
pub(super) fn play(
    recordings: &[RecordedFile],
    selection: &TimeSelection,
    arguments: &PlayArguments,
    text: &str,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let asked = asked(arguments, text)?;
    let archive = archive_of(recordings, &[])?;
    let mut outcome = Outcome::default();
    let hosts = archive.hosts();
    for &host in &hosts {
        let of_host = recordings.iter().find(|recording| recording.meta.host() == host);
        let Some(first) = of_host else { continue };
        for (from_ns, thru_ns) in archive.periods(host, selection)? {
            let query = RankingQuery { host, from_ns, thru_ns, ..asked };
            let ranking = match archive.ranking(&query) {
                // Another host may have it.
                Err(error @ archive::Error::UnknownSource { .. }) if hosts.len() > 1 => {
                    outcome.notes.push(error.to_string());
                    break;
                }
                ranking => ranking?,
            };
            if ranking.lines.is_empty() {
                continue;
            }
            let table = table(&query, &ranking, first, arguments.offset_ns);
            write_ranking(&table, arguments.display.table_form(), outcome.frames == 0, out)?;
            outcome.frames += 1;
        }
    }
    Ok(outcome)
}

fn table(
    query: &RankingQuery<'_>,
    ranking: &Ranking,
    first: &RecordedFile,
    offset_ns: i64,
) -> RankingTable {
    let other = if ranking.is_of_processes { "pid" } else { "instance" };
    let last_ns = query.thru_ns - 1;
    let shown = |at_ns: i64| at_ns.saturating_add(offset_ns);
    RankingTable {
        host: escape(query.host.as_bytes()),
        what: query.what.to_owned(),
        by: query.by.unwrap_or(other).to_owned(),
        period_ns: (shown(query.from_ns), shown(last_ns)),
        zone: first.zone.clone(),
        unit: ranking.field.unit.base_name(),
        has_totals: ranking.field.kind == Kind::Counter,
        is_of_processes: ranking.is_of_processes,
        has_ends: ranking.has_ends,
        known: ranking.known,
        lines: ranking.lines.iter().map(|one| line(query, ranking, one, &first.meta)).collect(),
    }
}

fn line(query: &RankingQuery<'_>, ranking: &Ranking, ranked: &Ranked, meta: &Meta) -> RankingLine {
    let base = |value: f64| view::to_base(ranking.field.unit, value, meta);
    let name = ranked.name.as_deref().and_then(|name| match query.by {
        Some(_) => Some(escape(name)),
        // A process without its start time.
        None if ranking.is_of_processes => view::instance_parts(name).next(),
        None => Some(view::instance_parts(name).collect::<Vec<_>>().join(":")),
    });
    let has_total = ranking.field.kind == Kind::Counter;
    RankingLine {
        name,
        command: ranked.command.as_deref().map(escape),
        is_unknown: ranked.is_unknown(),
        value: base(if has_total { ranked.total } else { ranked.mean }),
        mean: base(ranked.mean),
        share: ranked.share,
        instances: ranked.instances,
        ended: ranked.ended,
    }
}

/// Refuses what does not go with it.
pub(super) fn check(arguments: &PlayArguments) -> anyhow::Result<()> {
    let Some(text) = &arguments.heaviest else { return Ok(()) };
    let display = &arguments.display;
    asked(arguments, text)?;
    let view = display.formats.view;
    let lines = display.plot || display.verbose || display.full;
    let is_table = view.is_none_or(|view| view.table.is_some());
    ensure!(
        !lines && display.formats.export().is_none() && is_table,
        "--heaviest makes a table of its own, with {} if you like",
        crate::display::switches(" or", |entry| entry.table.is_some())
    );
    refuse_choices(display, "--heaviest names what it shows")
}

/// Refuses what chooses sources, fields and rows.
pub(super) fn refuse_choices(display: &DisplayArguments, why: &str) -> anyhow::Result<()> {
    let chosen = display.subsystems.is_some() || display.is_everything();
    ensure!(!chosen, "{why}: leave -s out");
    ensure!(display.formats.fields.is_empty(), "{why}: leave --fields out");
    ensure!(display.lists.top.is_none(), "{why}: leave --top out");
    let filters = display.sources.filters();
    ensure!(filters.is_empty(), "{why}: leave {} out", filters.join(" and "));
    Ok(())
}

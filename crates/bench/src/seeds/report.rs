//! The report of the published measurements: text, a line of JSON for each row, and a page.

use serde_json::Value;

use super::row::{Figure, Ratio, SeedRow, short};
use super::state::MeasuredPart;
use super::{Seed, SeedsPlan};
use crate::report::{Report, put_csv_line};
use crate::table::{Cell, Grid, Table};

mod page;

/// The report of a run; its JSON is an array of rows.
pub(super) fn report(plan: &SeedsPlan, done: &[&MeasuredPart], machine: &Value) -> Report {
    let rows: Vec<&SeedRow> = done.iter().flat_map(|done| &done.rows).collect();
    let has_rows = |seed: &&Seed| rows.iter().any(|row| row.seed == **seed);
    let seeds = plan.seeds.iter().filter(has_rows);
    let sections: Vec<Section> = seeds.map(|seed| Section::new(*seed, &rows)).collect();
    let cost = cost(done);
    let mut report = Report::new("-seeds", machine.clone());
    report.say(format!("The published measurements.  {}\n", head(plan, machine)));
    for section in &sections {
        report.say(format!("{} {}\n", section.seed.name(), section.seed.about()));
        for grid in section.grids() {
            report.show(grid);
            report.say("");
        }
        for note in &section.notes {
            report.say(format!("Note: {note}."));
        }
        report.say("");
    }
    report.say(format!("{EXPLANATION}\n\n{cost}"));
    report.json = rows.iter().map(|row| row.to_json()).collect();
    let page = page::page(&head(plan, machine), machine, &sections, &cost);
    report.with_page(page).with_raw(raw(&rows))
}

/// Every round of every row that was measured, as lines of CSV.
fn raw(rows: &[&SeedRow]) -> String {
    let mut out = "seed,row,unit,what,who,round,value\n".to_owned();
    for row in rows.iter().filter(|row| row.kept.is_none()) {
        let published =
            row.published.as_ref().and_then(|one| Figure::new("its author", vec![one.value]));
        for (what, figure) in [
            ("published", &published),
            ("incumbent", &row.incumbent),
            ("whit", &row.whit),
            ("floor", &row.floor),
        ] {
            let Some(Figure { who, rounds }) = figure else { continue };
            for (round, value) in (1_usize..).zip(rounds) {
                let (seed, name, unit) = (row.seed.name(), &row.name, &row.unit);
                put_csv_line(&mut out, &[&seed, name, unit, &what, who, &round, value]);
            }
        }
    }
    out
}

/// What the numbers are.
const EXPLANATION: &str = "published: the figure of the author, on a machine of its time.  \
    incumbent, whit, floor: medians of the rounds, here; the floor is the least possible cost of the \
    same work.  times: how many times as much the incumbent needs as whit, the median over the rounds, \
    with the smallest and the largest; whit ÷ floor likewise.  differ: the rounds lie apart by more than \
    10 % of their median; one: there is one round, so nothing says how well it repeats.  kept: measured \
    by another run, on another machine.";

/// What was measured, and how.
fn head(plan: &SeedsPlan, machine: &Value) -> String {
    let is_debug = cfg!(debug_assertions);
    let quick = if plan.is_quick { "; quick: smaller, starts of programs weigh more" } else { "" };
    let debug = if is_debug { "; debug build: its times mean nothing" } else { "" };
    format!(
        "Repeated on Linux {}, {} CPUs: {}{quick}{debug}",
        machine["kernel"].as_str().unwrap_or("?"),
        machine["cpus"],
        match plan.rounds {
            1 => "one round".to_owned(),
            rounds => format!("medians of {rounds} rounds"),
        }
    )
}

/// What measuring cost.
fn cost(done: &[&MeasuredPart]) -> String {
    let (took_s, cpu_s) =
        done.iter().fold((0.0, 0.0), |sum, done| (sum.0 + done.took_s, sum.1 + done.cpu_s));
    let rows = done.iter().map(|done| done.rows.len()).sum::<usize>();
    format!(
        "The cost of measuring: rows: {rows}, in {:.1} min, with {:.1} min of CPU time of everything \
         that was started.",
        took_s / 60.0,
        cpu_s / 60.0
    )
}

/// A measurement of the report.
struct Section {
    seed: Seed,
    /// The rows that have figures.
    figures: Option<Grid>,
    /// The same rows in their author's columns, where these are more than a figure.
    columns: Option<Grid>,
    /// Rows of kept runs, which this one has not measured.
    kept: Option<Grid>,
    /// The rows that have none, with the reason.
    lost: Option<Grid>,
    /// How each row is repeated: its name and the command.
    commands: Vec<(String, String)>,
    /// What the figures do not say, each once, with the rows that it is about.
    notes: Vec<String>,
    /// The rows, for pictures.
    rows: Vec<SeedRow>,
}

/// Rows that an author's table needs: with fewer columns it is no table.
const COLUMNS_MIN: usize = 3;

impl Section {
    fn new(seed: Seed, all: &[&SeedRow]) -> Self {
        let rows: Vec<&SeedRow> = all.iter().filter(|row| row.seed == seed).copied().collect();
        let (kept, ours): (Vec<&SeedRow>, Vec<&SeedRow>) =
            rows.iter().copied().partition(|row| row.kept.is_some());
        let (lost, measured): (Vec<&SeedRow>, Vec<&SeedRow>) =
            ours.into_iter().partition(|row| row.is_lost());
        let wide = measured.iter().filter(|row| row.columns.len() >= COLUMNS_MIN).copied();
        let wide: Vec<&SeedRow> = wide.collect();
        let commands = rows.iter().filter(|row| !row.command.is_empty());
        Section {
            seed,
            figures: (!measured.is_empty()).then(|| figures().grid(measured.iter().copied())),
            columns: wide.first().map(|first| columns(first).grid(wide.iter().copied())),
            kept: (!kept.is_empty()).then(|| self::kept().grid(kept.iter().copied())),
            lost: (!lost.is_empty()).then(|| lost_table().grid(lost.iter().copied())),
            commands: commands.map(|row| (row.name.to_string(), row.command.clone())).collect(),
            notes: notes(&measured),
            rows: measured.into_iter().cloned().collect(),
        }
    }

    /// The tables in their order.
    fn grids(&self) -> impl Iterator<Item = &Grid> {
        [&self.figures, &self.columns, &self.kept, &self.lost].into_iter().flatten()
    }
}

/// The notes of rows, each once.
fn notes(rows: &[&SeedRow]) -> Vec<String> {
    let mut notes: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in rows {
        for note in &row.notes {
            match notes.iter_mut().find(|(text, _)| text == note) {
                Some((_, names)) => names.push(&row.name),
                None => notes.push((note, vec![&row.name])),
            }
        }
    }
    let text = |(note, names): (&str, Vec<&str>)| match names.as_slice() {
        [one] => format!("{one}: {note}"),
        [first, ..] if names.len() < rows.len() => {
            format!("{first} and {} more: {note}", names.len() - 1)
        }
        _ => note.to_owned(),
    };
    notes.into_iter().map(text).collect()
}

/// The columns of all rows that have figures: who needs how much, below a heading for the names.
fn numbers<'r>(heading: &'static str) -> Table<'r, &'r SeedRow> {
    let number = |figure: &Option<Figure>| figure.as_ref().map(|one| written(one.median()));
    Table::<&SeedRow>::new()
        .shown(heading, 0, |row| row.name.as_ref())
        .shown("published", 0, |row| row.published.as_ref().map(|one| written(one.value)))
        .shown("incumbent", 0, move |row| number(&row.incumbent))
        .shown("whit", 0, move |row| number(&row.whit))
        .shown("floor", 0, move |row| number(&row.floor))
        .shown("unit", 0, |row| row.unit.as_ref())
}

/// The columns of rows that were measured: each ratio with its rounds.
fn figures<'r>() -> Table<'r, &'r SeedRow> {
    numbers("row")
        .shown("times", 0, |row| row.ratio().map(middle))
        .shown("rounds", 0, |row| row.ratio().map(range))
        .shown("whit ÷ floor", 0, |row| row.above_floor().map(middle))
        .shown("rounds", 0, |row| row.above_floor().map(range))
}

/// The columns of rows that another run measured, and that run: the ratios are of its medians.
fn kept<'r>() -> Table<'r, &'r SeedRow> {
    numbers("kept, not measured now")
        .shown("times", 0, |row| row.ratio().map(middle))
        .shown("whit ÷ floor", 0, |row| row.above_floor().map(middle))
        .shown("run in bench/runs", 0, |row| row.kept.as_deref())
        .shown("again by", 0, |row| row.command.as_str())
}

fn middle(ratio: Ratio) -> Cell {
    written(ratio.median)
}

fn written(number: f64) -> Cell {
    Cell::Written(short(number))
}

/// The smallest and the largest of the rounds, and whether they differ by more than is claimed; one
/// round has no range.
fn range(ratio: Ratio) -> Cell {
    let differ = if ratio.differs() { ", differ" } else { "" };
    Cell::Written(match ratio.rounds {
        1 => "one".to_owned(),
        _ => format!("{} to {}{differ}", short(ratio.least), short(ratio.most)),
    })
}

/// The author's columns.
fn columns<'r>(first: &SeedRow) -> Table<'r, &'r SeedRow> {
    let mut table = Table::<&SeedRow>::new();
    for name in first.columns.keys() {
        let key = name.clone();
        table = table.shown(name.clone(), 0, move |row: &SeedRow| match row.columns.get(&key) {
            Some(Value::String(text)) => Cell::Text(text.clone()),
            Some(Value::Bool(fact)) => Cell::Fact(*fact),
            Some(Value::Number(number)) if number.is_u64() => {
                number.as_u64().map_or(Cell::Missing, Cell::Count)
            }
            Some(Value::Number(number)) => number.as_f64().map_or(Cell::Missing, written),
            _ => Cell::Missing,
        });
    }
    table
}

/// The columns of rows that fell out.
fn lost_table<'r>() -> Table<'r, &'r SeedRow> {
    Table::<&SeedRow>::new()
        .shown("not measured", 0, |row| row.name.as_ref())
        .shown("published", 0, |row| row.published.as_ref().map(|one| one.words.as_ref()))
        .shown("why", 0, |row| row.notes.join("; "))
}

#[cfg(test)]
mod tests {
    use super::super::row::tests::full;
    use super::*;

    fn plan() -> SeedsPlan {
        SeedsPlan {
            rounds: 3,
            is_quick: true,
            seeds: vec![Seed::Collectl, Seed::Mrtg, Seed::Acs],
            parts: Vec::new(),
            resume: None,
            guests: None,
        }
    }

    fn made() -> Report {
        let mut wide = full();
        wide.name = "10 no-op".into();
        wide.seed = Seed::Acs;
        for name in ["total us", "min us"] {
            wide.columns.insert(name.to_owned(), 1.25.into());
        }
        wide.whit = Figure::new("whit", vec![10.0, 20.0, 10.0]);
        let lost = SeedRow::lost(Seed::Acs, "a <row>", "no such program".to_owned());
        let mut kept = full();
        kept.name = "of another machine".into();
        kept.kept = Some("2026-11-22-guest".into());
        let done = MeasuredPart { rows: vec![full(), wide, lost, kept], took_s: 90.0, cpu_s: 30.0 };
        report(&plan(), &[&done], &serde_json::json!({ "kernel": "6.1 <x>", "cpus": 2 }))
    }

    #[test]
    fn the_text_has_every_row_and_what_fell_out() {
        let report = made();
        let text = &report.summary;
        let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
        let words: Vec<&str> = line("-sc").split_whitespace().collect();
        assert_eq!(words[2..6], ["463", "200", "10.0", "8.00"], "{text}");
        assert!(line("-sc").contains("20.0  19.0 to 21.0") && !line("-sc").contains("differ"));
        assert!(line("10 no-op").contains("10.0 to 21.0, differ"), "{text}");
        assert!(line("10 no-op").trim_end().ends_with("1.25 to 2.50, differ"), "{text}");
        let kept = line("of another machine");
        assert!(kept.contains("  2026-11-22-guest ") && kept.ends_with("  collectl -sc"), "{text}");
        assert!(line("kept, not measured now").ends_with("again by"), "{text}");
        assert!(text.contains("threads  total us  min us\n3        "), "{text}");
        assert!(line("a <row>").ends_with("no such program"), "{text}");
        assert!(text.contains("rows: 4, in 1.5 min, with 0.5 min of CPU"), "{text}");
        assert_eq!(report.json.as_array().unwrap().len(), 4);
        assert_eq!(report.raw().lines().count(), 1 + 2 * (1 + 9), "{}", report.raw());
        let quoted = "\n000,\"-sc <&\"\">\",CPU us a sample,whit,whit,1,10\n";
        assert!(report.raw().contains(quoted), "{}", report.raw());
        assert!(!text.contains("002"), "a measurement without rows is not there");
    }

    #[test]
    fn a_note_of_many_rows_is_there_once() {
        let mut other = full();
        other.name = "other".into();
        let rows = [full(), other];
        let both: Vec<&SeedRow> = rows.iter().collect();
        assert_eq!(notes(&both), ["half a note"]);
        assert_eq!(notes(&both[..1]), ["-sc <&\">: half a note"]);
    }

    #[test]
    fn the_page_runs_nothing_and_fetches_nothing() {
        let page = made().page.unwrap();
        assert!(page.contains("default-src 'none'; style-src 'sha256-"), "{page}");
        for word in
            ["<script", " style=", "http:", "https:", "url(", "<x>", "<row>", "<&", "onload"]
        {
            assert!(!page.contains(word), "{word}: {page}");
        }
        assert!(page.contains("a &lt;row&gt;") && page.contains("-sc &lt;&amp;"), "{page}");
        assert!(page.contains("<svg") && page.contains("collectl -sc"), "{page}");
    }
}

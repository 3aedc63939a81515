//! Logging of ACS: its table, row by row, with rows 19 to 36 that were left blank.
//!
//! Whit's servers and sinks do the work of the same columns.  ACS itself cannot be installed beside
//! them, so its published figures stand alone.

use serde_json::{Map, Value};

use super::row::{Figure, SeedRow};
use super::{Bench, Part, Seed, SeedsPlan};
use crate::error::Result;
use crate::log::rows::{Published, Row};
use crate::log::{self, LogCase, LogPlan, RowRuns};

const US_NS: f64 = 1_000.0;

pub(super) fn parts(plan: &SeedsPlan) -> Vec<Part> {
    // Groups of rows, so that a run that was ended goes on within the table.
    [("client", 1), ("client, threads", 10), ("component", 19), ("component, threads", 28)]
        .map(|(name, first)| {
            Part::new(Seed::Acs, name, plan.size(14.0, 9.0), move |bench| group(bench, first))
        })
        .into()
}

/// The rows of a group, of which `first` is the first.
fn group(bench: &Bench<'_>, first: u8) -> Result<Vec<SeedRow>> {
    let plan = LogPlan {
        rounds: bench.plan.rounds,
        cases: vec![LogCase::Acs],
        rows: (first..first + 9).collect(),
        calls: bench.plan.size(10_000, 1_000),
        threads: 10,
        bursts: 0,
        pauses: 0,
        records: 0,
        searched: 0,
        taken: 0,
        folder: None,
    };
    let (runs, floor_ns) = log::measure_acs(&plan, bench.programs, bench.progress)?;
    let floor_us: Vec<f64> = floor_ns.into_iter().map(|ns| ns / US_NS).collect();
    Ok(runs.iter().map(|runs| row(runs, &plan, &floor_us)).collect())
}

/// The name of a row: its number and what it does.
fn name(row: &Row) -> String {
    let mut name = format!("{} {}", row.number, row.output.name());
    for (is_so, word) in [
        (row.is_component, "component"),
        (row.has_threads, "10 threads"),
        (row.has_proxy, "proxy"),
        (row.has_central, "central"),
        (row.is_oneway, "oneway"),
    ] {
        if is_so {
            name.push_str(", ");
            name.push_str(word);
        }
    }
    name
}

fn row(runs: &RowRuns, plan: &LogPlan, floor_us: &[f64]) -> SeedRow {
    let calls = f64::from(plan.calls);
    let mut row = SeedRow::new(Seed::Acs, name(&runs.row), "us a call, mean");
    if let Some(Published { mean_us, .. }) = runs.row.published {
        row = row.published(mean_us, "the mean of 10,000 logs");
    }
    let means = runs.whole.iter().map(|run| run.client.total_us / calls).collect();
    row.whit = Figure::new("whit", means);
    row.floor = Figure::new("a record of a bare ring", floor_us.to_vec());
    row.columns = columns(runs);
    row.command = format!("whit bench log --case acs --row {}", runs.row.number);
    row.notes.push(
        match runs.row.published {
            Some(_) => "ACS itself is not installed beside whit: compare with what was published",
            None => "rows of a component were published blank",
        }
        .to_owned(),
    );
    row
}

/// The columns of the published table, and percentiles.
fn columns(runs: &RowRuns) -> Map<String, Value> {
    let Row { number, has_threads, output, has_proxy, has_central, is_oneway, .. } = runs.row;
    let [min_us, p50_us, _, p99_9_us, max_us] = runs.calls_ns().map(|ns| ns / US_NS);
    let total_us = runs.total_us();
    let published = runs.row.published;
    let of_acs = |number: fn(&Published) -> f64| published.as_ref().map(number);
    let columns: [(&str, Value); 15] = [
        ("number", number.into()),
        ("threads", runs.whole.first().map_or(u32::from(has_threads), |run| run.threads).into()),
        ("output", output.name().into()),
        ("proxy", has_proxy.into()),
        ("central", has_central.into()),
        ("oneway", is_oneway.into()),
        ("total us", total_us.into()),
        ("min us", min_us.into()),
        ("p50 us", p50_us.into()),
        ("p99.9 us", p99_9_us.into()),
        ("max us", max_us.into()),
        ("ACS total us", of_acs(|one| one.total_us).into()),
        ("ACS mean us", of_acs(|one| one.mean_us).into()),
        ("ACS min us", of_acs(|one| one.min_us).into()),
        ("ACS max us", of_acs(|one| one.max_us).into()),
    ];
    columns.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::rows;

    #[test]
    fn every_line_of_the_table_has_a_name_of_its_own_and_a_group() {
        let mut names: Vec<String> = rows::all().iter().map(name).collect();
        let count = names.len();
        assert_eq!(count, 44, "36 numbers, some of two lines");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
        let grouped = |first: u8| {
            rows::all().iter().filter(|row| (first..first + 9).contains(&row.number)).count()
        };
        assert_eq!([1, 10, 19, 28].map(grouped), [11; 4]);
    }
}

//! The tables of costs in `README.md` and `docs/costs.md`, made from kept runs of `whit bench`.
//!
//! Reads `raw.csv` of the newest `bench/runs/*-seeds`, a run of all published measurements; what that
//! does not measure is a cell in the `summary.txt` of a run of its own.  A table stands between two
//! comments, and what is around them is written by hand.  So a page cannot quote a number that no
//! kept run has.

use std::path::Path;

use anyhow::{Context as _, ensure};

/// Where a table begins and ends in its page.
const BEGIN: &str = "<!-- costs: made by `cargo xtask gen` from bench/runs -->\n";
const END: &str = "<!-- end of costs -->";

/// The heading of `raw.csv` in a run of the published measurements.
const HEADING: &str = "seed,row,unit,what,who,round,value";

/// Rounds of a ratio that lie apart by more than this part of the median are shown as differing.
const SPREAD_MAX: f64 = 0.1;

/// Rewrites the tables, or with `check` fails if that would change a page.
pub(crate) fn run(root: &Path, check: bool) -> anyhow::Result<()> {
    let seeds = Seeds::newest(&root.join("bench/runs"))?;
    for (page, table) in
        [("README.md", readme(&seeds, root)?), ("docs/costs.md", published(&seeds, "..")?)]
    {
        let path = root.join(page);
        let old = std::fs::read_to_string(&path).with_context(|| page.to_owned())?;
        let new = replaced(&old, &table).with_context(|| page.to_owned())?;
        if old == new {
            continue;
        }
        ensure!(!check, "{page} is not what bench/runs says: run `cargo xtask gen` and commit");
        std::fs::write(&path, new).with_context(|| format!("cannot write {page}"))?;
    }
    Ok(())
}

/// A page with another table.
fn replaced(page: &str, table: &str) -> anyhow::Result<String> {
    let parts = page.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) = parts.context("the comments around the table of costs are not there")?;
    Ok(format!("{before}{BEGIN}\n{table}\n{END}{after}"))
}

/// A run of the published measurements.
struct Seeds {
    /// The name of its folder.
    name: String,
    lines: Vec<Line>,
}

/// A round of a row, by somebody.
#[derive(Debug, PartialEq)]
struct Line {
    seed: String,
    row: String,
    unit: String,
    /// `published`, `incumbent`, `whit` or `floor`.
    what: String,
    value: f64,
}

impl Seeds {
    /// The run with the latest date in its name.
    fn newest(runs: &Path) -> anyhow::Result<Self> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(runs).with_context(|| runs.display().to_string())? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.ends_with("-seeds") {
                names.push(name);
            }
        }
        let name = names.into_iter().max().context("bench/runs has no run of whit bench seeds")?;
        let text = read(&runs.join(&name).join("raw.csv"))?;
        Seeds::parse(&name, &text)
    }

    fn parse(name: &str, text: &str) -> anyhow::Result<Self> {
        let mut lines = text.lines();
        ensure!(lines.next() == Some(HEADING), "{name}/raw.csv does not begin with `{HEADING}`");
        let mut seeds = Seeds { name: name.to_owned(), lines: Vec::new() };
        for (number, line) in (2..).zip(lines) {
            let line = parse_line(line);
            seeds.lines.push(line.with_context(|| format!("{name}/raw.csv, line {number}"))?);
        }
        Ok(seeds)
    }

    /// What somebody needed in each round; empty if that was not measured.
    fn rounds(&self, seed: &str, row: &str, what: &str) -> Vec<f64> {
        let wanted = |line: &&Line| line.seed == seed && line.row == row && line.what == what;
        self.lines.iter().filter(wanted).map(|line| line.value).collect()
    }
}

/// A line of `raw.csv`.
fn parse_line(line: &str) -> anyhow::Result<Line> {
    let fields: [String; 7] = fields(line)
        .and_then(|fields| fields.try_into().ok())
        .context("not seven fields: is a comma without quotation marks?")?;
    let [seed, row, unit, what, _, _, value] = fields;
    let value = value.parse().with_context(|| format!("`{value}` is no number"))?;
    Ok(Line { seed, row, unit, what, value })
}

/// The fields of a line of CSV (RFC 4180); `None` if a quotation mark has no end.
fn fields(line: &str) -> Option<Vec<String>> {
    let (mut all, mut rest) = (Vec::new(), line);
    loop {
        let mut field = String::new();
        if let Some(quoted) = rest.strip_prefix('"') {
            rest = quoted;
            loop {
                let (text, after) = rest.split_once('"')?;
                field.push_str(text);
                rest = after;
                let Some(after) = rest.strip_prefix('"') else { break };
                field.push('"');
                rest = after;
            }
        }
        let end = rest.find(',').unwrap_or(rest.len());
        field.push_str(&rest[..end]);
        all.push(field);
        match rest.get(end + 1..) {
            Some(after) => rest = after,
            None => return Some(all),
        }
    }
}

/// Where a number of the README comes from.
enum Source {
    /// Rounds of the published measurements, times a factor: seed, row, who, factor.
    Seeds(&'static str, &'static str, &'static str, f64),
    /// A cell of a `summary.txt`: the run; how the line begins below which the row stands; the first
    /// words of the row; the place of the number after them.
    Summary(&'static str, &'static str, &'static str, usize),
}

/// A row of the README's table.
struct Row {
    what: &'static str,
    whit: Source,
    /// The other program, as it is named.
    who: &'static str,
    other: Source,
    unit: &'static str,
}

/// Samples of a day at 10 s, as seconds of so many µs each.
const DAY_S: f64 = 8_640.0 / 1e6;
const PROCESSES: &str = "2026-11-21-vm-processes";
const TRACE: &str = "2026-11-21-vm-trace";
const SPAWN: &str = "2026-11-21-vm-spawn";
const LOG: &str = "2 stdout, proxy, central";

/// The README's rows.
const ROWS: [Row; 7] = [
    Row {
        what: "8,640 samples of `-scdnm`, CPU time",
        whit: Source::Seeds("000", "-scdnm", "whit", DAY_S),
        who: "collectl",
        other: Source::Seeds("000", "-scdnm", "incumbent", DAY_S),
        unit: "s",
    },
    Row {
        what: "one reading of one process of 1,000, CPU time",
        whit: Source::Summary(PROCESSES, "1000 processes  (", "whit", 3),
        who: "collectl",
        other: Source::Summary(PROCESSES, "1000 processes  (", "collectl", 3),
        unit: "µs",
    },
    Row {
        what: "one `getppid`, counted",
        whit: Source::Summary(TRACE, "getppid, 1000000 times", "whit -c", 4),
        who: "`strace -c -f`",
        other: Source::Summary(TRACE, "getppid, 25000 times", "strace -c -f", 4),
        unit: "ns",
    },
    Row {
        what: "one job `true`, CPU time of the runner",
        whit: Source::Summary(SPAWN, "true, -j 100", "whit run", 3),
        who: "GNU parallel",
        other: Source::Summary(SPAWN, "true, -j 100", "GNU parallel", 3),
        unit: "µs",
    },
    Row {
        what: "a round of 3,164 targets from cron, CPU time",
        whit: Source::Seeds("002", "3164 targets, RRD mode, by cron", "whit", 1.0),
        who: "MRTG",
        other: Source::Seeds("002", "3164 targets, RRD mode, by cron", "incumbent", 1.0),
        unit: "s",
    },
    Row {
        what: "an hour of 3,164 targets, written",
        whit: Source::Seeds("002", "hour of 3164 targets, -w 3600, writes", "whit", 1.0),
        who: "`rrdtool -`",
        other: Source::Seeds("002", "hour of 3164 targets, no daemon, writes", "incumbent", 1.0),
        unit: "MB",
    },
    Row {
        what: "a log call with proxy and central server, mean of 10,000",
        whit: Source::Seeds("003", LOG, "whit", 1e3),
        who: "ACS, as published",
        other: Source::Seeds("003", LOG, "published", 1e3),
        unit: "ns",
    },
];

/// The README's table, and where its numbers come from.
fn readme(seeds: &Seeds, root: &Path) -> anyhow::Result<String> {
    let runs = root.join("bench/runs");
    let mut text = "| what | whit | the other | times |\n|---|---:|---:|---:|\n".to_owned();
    for Row { what, whit, who, other, unit } in &ROWS {
        let (whit, other) = (whit.rounds(seeds, &runs)?, other.rounds(seeds, &runs)?);
        let times = middle(ratios(&other, &whit));
        let (whit, other) = (written(middle(whit)), written(middle(other)));
        text +=
            &format!("| {what} | {whit} {unit} | {who} {other} {unit} | {} |\n", written(times));
    }
    let link = |what: &str, name: &str| format!("{what} [{name}](bench/runs/{name})");
    let runs_of_their_own = [
        link("processes from", PROCESSES),
        link("system calls from", TRACE),
        link("jobs from", SPAWN),
    ];
    let columns = "number  threads";
    let p50_us = cell(&runs, &seeds.name, columns, "2 1 stdout yes yes no", 2)?;
    text += &format!(
        "\nAs {} measured it; {}.\n\
         The log call is the mean of a thread's first 10,000, as it was published, after the thread has \
         asked for its ring; without that the ring grows in them, for about a millisecond. The median \
         call takes {} ns.\n",
        link("the run", &seeds.name),
        runs_of_their_own.join(", "),
        written(p50_us * 1e3)
    );
    Ok(text)
}

/// Every row that was published and measured here, beside its figure of then.
fn published(seeds: &Seeds, up: &str) -> anyhow::Result<String> {
    let mut text =
        "| | what | unit | published | the same here | whit | floor | times | rounds |\n\
                    |---|---|---|---:|---:|---:|---:|---:|---:|\n"
            .to_owned();
    for Line { seed, row, unit, .. } in seeds.lines.iter().filter(|line| line.what == "published") {
        let rounds = |what| seeds.rounds(seed, row, what);
        let whit = rounds("whit");
        if whit.is_empty() {
            continue;
        }
        let times = ratios(&rounds("incumbent"), &whit);
        let number = |rounds: Vec<f64>| match rounds.is_empty() {
            true => "–".to_owned(),
            false => written(middle(rounds)),
        };
        text += &format!(
            "| {seed} | {} | {unit} | {} | {} | {} | {} | {} | {} |\n",
            row.replace('|', "\\|"),
            number(rounds("published")),
            number(rounds("incumbent")),
            number(whit),
            number(rounds("floor")),
            number(times.clone()),
            range(times)
        );
    }
    let name = &seeds.name;
    text +=
        &format!("\nMeasured by `whit bench seeds`, kept in [{name}]({up}/bench/runs/{name}).\n");
    Ok(text)
}

/// The smallest and the largest of a ratio's rounds, and whether they lie far apart.
fn range(ratios: Vec<f64>) -> String {
    let Some((least, most)) =
        ratios.iter().copied().reduce(f64::min).zip(ratios.iter().copied().reduce(f64::max))
    else {
        return "–".to_owned();
    };
    if ratios.len() == 1 {
        return "one".to_owned();
    }
    let differ = if most - least > middle(ratios) * SPREAD_MAX { ", differ" } else { "" };
    format!("{} to {}{differ}", written(least), written(most))
}

impl Source {
    /// The numbers of all rounds; at least one.
    fn rounds(&self, seeds: &Seeds, runs: &Path) -> anyhow::Result<Vec<f64>> {
        match *self {
            Source::Seeds(seed, row, who, factor) => {
                let rounds = seeds.rounds(seed, row, who);
                ensure!(!rounds.is_empty(), "{}: {seed} `{row}` has no {who}", seeds.name);
                Ok(rounds.into_iter().map(|one| one * factor).collect())
            }
            Source::Summary(run, title, row, place) => {
                cell(runs, run, title, row, place).map(|value| vec![value])
            }
        }
    }
}

/// A number in the `summary.txt` of a run.
fn cell(runs: &Path, run: &str, title: &str, row: &str, place: usize) -> anyhow::Result<f64> {
    let text = read(&runs.join(run).join("summary.txt"))?;
    number_in(&text, title, row, place)
        .with_context(|| format!("{run}/summary.txt: no number {place} in `{row}` below `{title}`"))
}

/// A number in a row of a table: `place` counts the words after those of `row`, from 0.
fn number_in(text: &str, title: &str, row: &str, place: usize) -> Option<f64> {
    let row: Vec<&str> = row.split(' ').collect();
    let words = text
        .lines()
        .skip_while(|line| !line.starts_with(title))
        .skip(1)
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|words| words.starts_with(&row))?;
    words.get(row.len() + place)?.parse().ok()
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}

/// How many times as much others need as whit: in each round, or where they have not the same rounds
/// by the medians.
fn ratios(others: &[f64], whit: &[f64]) -> Vec<f64> {
    match others.len() == whit.len() {
        true => others.iter().zip(whit).map(|(other, whit)| other / whit).collect(),
        false if others.is_empty() => Vec::new(),
        false => vec![middle(others.to_vec()) / middle(whit.to_vec())],
    }
}

/// The median, which of an even number is the mean of the two in the middle; 0 of nothing.
fn middle(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    let half = all.len() / 2;
    match (all.len() % 2, all.get(half)) {
        (_, None) => 0.0,
        (1, Some(one)) => *one,
        (_, Some(upper)) => f64::midpoint(all[half - 1], *upper),
    }
}

/// A number with three digits that mean something, or from 1,000 on all before the point, in groups.
fn written(number: f64) -> String {
    // 99.96 is 100, and 9.996 is 10.0: what rounds up to another digit has it.
    let has_digits = |decimals: &usize| number * 10_f64.powi(*decimals as i32) >= 99.95;
    let decimals = (0..=6).find(has_digits).unwrap_or(0);
    let text = format!("{number:.decimals$}");
    let (whole, part) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::new();
    for (place, digit) in whole.char_indices() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + part
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAW: &str = "seed,row,unit,what,who,round,value\n\
        003,\"2 stdout, proxy\",\"us a call, mean\",published,its author,1,68.1\n\
        003,\"2 stdout, proxy\",\"us a call, mean\",whit,whit,1,0.2\n\
        003,\"2 stdout, proxy\",\"us a call, mean\",whit,whit,2,0.3\n\
        000,\"a \"\"b|\"\"\",s,published,its author,1,9\n\
        000,\"a \"\"b|\"\"\",s,incumbent,collectl,1,10\n\
        000,\"a \"\"b|\"\"\",s,incumbent,collectl,2,12\n\
        000,\"a \"\"b|\"\"\",s,whit,whit,1,1\n\
        000,\"a \"\"b|\"\"\",s,whit,whit,2,1\n\
        000,none of whit,s,published,its author,1,9\n";

    #[test]
    fn a_table_has_the_rows_that_were_published_and_measured() {
        let seeds = Seeds::parse("run", RAW).unwrap();
        let table = published(&seeds, "..").unwrap();
        let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| 0")).collect();
        assert_eq!(
            rows,
            [
                "| 003 | 2 stdout, proxy | us a call, mean | 68.1 | – | 0.250 | – | – | – |",
                "| 000 | a \"b\\|\" | s | 9.00 | 11.0 | 1.00 | – | 11.0 | 10.0 to 12.0, differ |",
            ]
        );
    }

    #[test]
    fn lines_that_are_no_csv_are_named() {
        let broken = RAW.replacen("\"us a call, mean\"", "us a call, mean", 1);
        let error = Seeds::parse("run", &broken).err().unwrap();
        assert!(format!("{error:#}").starts_with("run/raw.csv, line 2: not seven"), "{error:#}");
        assert!(Seeds::parse("run", "").is_err());
        assert_eq!(fields("a,\"b,\"\"c\",").unwrap(), ["a", "b,\"c", ""]);
        assert_eq!(fields("a,\"b"), None);
    }

    #[test]
    fn a_page_that_says_something_else_is_stale() {
        let page = format!("before\n{BEGIN}\n| old |\n\n{END}\nafter\n");
        let new = replaced(&page, "| new |\n").unwrap();
        assert_eq!(new, format!("before\n{BEGIN}\n| new |\n\n{END}\nafter\n"));
        assert_eq!(replaced(&new, "| new |\n").unwrap(), new);
        assert!(replaced("before\nafter\n", "| new |\n").is_err());
    }

    #[test]
    fn a_page_of_another_run_fails_the_check_and_is_rewritten() {
        let folder = std::env::temp_dir().join(format!("costs-{}", std::process::id()));
        let real = crate::root();
        for name in ["bench/runs", "docs"] {
            std::fs::create_dir_all(folder.join(name)).unwrap();
        }
        let newest = Seeds::newest(&real.join("bench/runs")).unwrap().name;
        for run in [PROCESSES, TRACE, SPAWN, &newest] {
            let to = folder.join("bench/runs").join(run);
            std::fs::create_dir_all(&to).unwrap();
            for file in ["raw.csv", "summary.txt"] {
                let from = real.join("bench/runs").join(run).join(file);
                std::fs::copy(from, to.join(file)).unwrap();
            }
        }
        let page = folder.join("README.md");
        let old = format!("{BEGIN}\n| by hand |\n{END}\n");
        for file in [&page, &folder.join("docs/costs.md")] {
            std::fs::write(file, &old).unwrap();
        }
        let error = run(&folder, true).unwrap_err().to_string();
        assert!(error.starts_with("README.md is not what bench/runs says"), "{error}");
        assert_eq!(std::fs::read_to_string(&page).unwrap(), old, "a check writes nothing");
        run(&folder, false).unwrap();
        run(&folder, true).unwrap();
        assert!(std::fs::read_to_string(&page).unwrap().contains(&newest));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_cell_is_found_below_its_title() {
        let text =
            "two words  (7)\n  whit run  1 2.5\ntwo words more\n  whit, by x  7\n  whit  3 4\n";
        assert_eq!(number_in(text, "two words  (", "whit run", 1), Some(2.5));
        assert_eq!(number_in(text, "two words more", "whit", 0), Some(3.0));
        assert_eq!(number_in(text, "two words more", "whit", 2), None);
        assert_eq!(number_in(text, "three", "whit", 0), None);
    }

    #[test]
    fn numbers_have_three_digits_or_groups() {
        for (number, text) in [
            (104_540.0, "104,540"),
            (2_607.4, "2,607"),
            (999.6, "1,000"),
            (99.96, "100"),
            (9.996, "10.0"),
            (0.7479, "0.748"),
            (0.0123, "0.0123"),
            (0.0, "0"),
        ] {
            assert_eq!(written(number), text);
        }
    }
}

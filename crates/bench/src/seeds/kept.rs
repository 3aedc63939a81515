//! What machines measured that are not this one: `/proc/stat` and `-sc` on more processors, in
//! emulated machines.
//!
//! The runs are kept in `bench/runs`, and their tables are part of this program, so that the report
//! has them everywhere.  They are rows of their own, marked as kept; the command of each repeats it.

use super::Seed;
use super::row::{Figure, SeedRow};

/// A kept run of `whit bench proc`.
struct KeptRun {
    /// The folder in `bench/runs`.
    name: &'static str,
    machine: &'static str,
    summary: &'static str,
    /// The processors and nodes as the command makes them, and the size of the run.
    options: &'static str,
    size: &'static str,
}

/// A run by the number of its processors.
macro_rules! kept {
    ($cpus:literal, $nodes:literal, $size:literal) => {
        KeptRun {
            name: concat!("2026-11-22-guest-6.1-", $cpus, "-cpus-proc"),
            machine: concat!($cpus, " CPUs, Linux 6.1, emulated"),
            summary: include_str!(concat!(
                "../../../../bench/runs/2026-11-22-guest-6.1-",
                $cpus,
                "-cpus-proc/summary.txt"
            )),
            options: concat!("--cpus ", $cpus, $nodes),
            size: $size,
        }
    };
}

const RUNS: [KeptRun; 3] = [
    kept!("2", "", "--rounds 2 --samples 50"),
    kept!("8", "", "--rounds 1 --samples 50"),
    kept!("48", " --nodes 8", "--rounds 3 --samples 200"),
];

/// The rows of all kept runs that have a number.  What was published of 48 processors is added to
/// samples by `published`.
pub(super) fn rows(published: impl Fn(SeedRow) -> SeedRow) -> Vec<SeedRow> {
    let rows = RUNS.iter().flat_map(|kept| {
        let mut stat = row(kept, "/proc/stat", "CPU us a read");
        stat.floor = figure(kept, "/proc/stat", "bare read");
        stat.whit = figure(kept, "/proc/stat", "whit");
        let mut sample = row(kept, "-sc", "CPU us a sample");
        sample.incumbent = figure(kept, "-sc", "collectl");
        sample.whit = figure(kept, "-sc", "whit");
        if kept.machine.starts_with("48 ") {
            sample = published(sample);
        }
        [stat, sample]
    });
    rows.filter(|row| row.incumbent.is_some() || row.whit.is_some()).collect()
}

fn row(kept: &KeptRun, what: &str, unit: &'static str) -> SeedRow {
    let mut row = SeedRow::new(Seed::ProcStat, format!("{what}, {}", kept.machine), unit);
    row.kept = Some(kept.name.into());
    row.command = format!(
        "cargo xtask vm --kernel 6.1 {} --release --rivals --out bench/runs -- whit bench proc {} \
         --save /out",
        kept.options, kept.size
    );
    row
}

fn figure(kept: &KeptRun, what: &str, who: &'static str) -> Option<Figure> {
    Figure::new(who, vec![number_in(kept.summary, what, who)?])
}

/// The number of somebody in the lines of a summary that belong to `what`: those from the line that
/// names it, up to the next with a name.
fn number_in(summary: &str, what: &str, who: &str) -> Option<f64> {
    let is_of = |line: &&str| line.trim_start().strip_prefix(what)?.starts_with("  ").then_some(());
    let lines: Vec<&str> = summary.lines().skip_while(|line| is_of(line).is_none()).collect();
    let (first, rest) = lines.split_first()?;
    let named = first.trim_start().strip_prefix(what)?;
    // A line without a name is indented further than those with one.
    let rest = rest.iter().take_while(|line| line.starts_with("    ")).copied();
    let line = std::iter::once(named).chain(rest).find_map(|line| line.trim().strip_prefix(who))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_runs_are_read_and_say_so() {
        let rows = rows(|row| row.published(19_425.0, "words"));
        let named = |name: &str| rows.iter().find(|row| row.name.starts_with(name)).unwrap();
        let stat = named("/proc/stat, 48 CPUs");
        assert_eq!(stat.whit.as_ref().unwrap().rounds, [290.3]);
        assert_eq!(stat.floor.as_ref().unwrap().rounds, [677.1]);
        let sample = named("-sc, 48 CPUs");
        assert_eq!(sample.incumbent.as_ref().unwrap().rounds, [21_163.5]);
        assert_eq!(sample.whit.as_ref().unwrap().rounds, [529.8]);
        assert!(sample.published.is_some() && stat.published.is_none());
        assert_eq!(named("-sc, 2 CPUs").whit, None, "a `-` is no number");
        assert_eq!(rows.len(), 5, "of 8 CPUs `-sc` has no number: {rows:?}");
        assert!(rows.iter().all(|row| row.kept.is_some() && row.command.contains(" --cpus ")));
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/runs");
        assert!(RUNS.iter().all(|kept| folder.join(kept.name).is_dir()));
    }

    #[test]
    fn a_number_is_that_of_its_own_name() {
        let text = "  -sc      whit  -  -\n           collectl  2.5  -\n  -scM     whit  3  1\n";
        assert_eq!(number_in(text, "-sc", "whit"), None);
        assert_eq!(number_in(text, "-sc", "collectl"), Some(2.5));
        assert_eq!(number_in(text, "-scM", "collectl"), None);
        assert_eq!(number_in(text, "-s", "whit"), None);
    }
}

//! The machines that are not here: other numbers of processors and other kernels, as guests of an
//! emulator.
//!
//! `cargo xtask vm` of whit's source tree boots Debian's kernels with this program, collectl and
//! strace in each.  A guest measures the parts of this measurement that [`PARTS`] names, once, at the
//! smallest size, and its rows come back as the lines of JSON that any run prints.  A processor that
//! is translated by software is slow, and its clock too, so a guest's rows are compared with each
//! other, not with those of the machine.

use std::path::Path;
use std::process::{Command, Stdio};

use super::row::SeedRow;
use super::{Bench, Part, Seed, SeedsPlan};
use crate::error::{Context, Error, Result, ensure};
use crate::programs::run_heard;

/// What a guest measures: all parts but those that look at other machines.
const PARTS: [&str; 3] = ["strace -c cat", "read", "-sc"];

/// The processors of the published measurement.
const CPUS_PUBLISHED: usize = 48;

const EMULATOR: &str = "qemu-system-x86_64";

/// A machine that is booted.
#[derive(Clone, Copy, Debug)]
struct Guest {
    kernel: &'static str,
    cpus: usize,
    /// Sockets, each with memory of its own.
    nodes: usize,
    /// About how long it takes from its start to its end, in seconds.
    seconds: f64,
}

impl Guest {
    const fn new(kernel: &'static str, cpus: usize, nodes: usize, seconds: f64) -> Self {
        Guest { kernel, cpus, nodes, seconds }
    }

    /// What is added to the name of each of its rows.
    fn name(self) -> String {
        let plural = if self.cpus == 1 { "" } else { "s" };
        format!("{} CPU{plural}, Linux {}, emulated", self.cpus, self.kernel)
    }

    /// The words behind `cargo xtask vm` that boot it.
    fn words(self) -> [String; 6] {
        [
            "--kernel",
            self.kernel,
            "--cpus",
            &self.cpus.to_string(),
            "--nodes",
            &self.nodes.to_string(),
        ]
        .map(str::to_owned)
    }
}

/// The kernels that users run, and on one of them machines of one processor to more than the published
/// measurement had.
const GUESTS: [Guest; 6] = [
    Guest::new("5.10", 2, 1, 20.0),
    Guest::new("6.12", 2, 1, 20.0),
    Guest::new("6.1", 1, 1, 20.0),
    Guest::new("6.1", 2, 1, 20.0),
    Guest::new("6.1", 8, 1, 28.0),
    Guest::new("6.1", 64, 8, 85.0),
];

/// A part for each guest, if a source tree is given; the part of all that are not booted otherwise.
pub(super) fn parts(plan: &SeedsPlan) -> Vec<Part> {
    let Some(tree) = &plan.guests else {
        return vec![Part::new(Seed::ProcStat, "guests", 0.1, |bench| Ok(vec![not_booted(bench)]))];
    };
    let part = |guest: Guest| {
        let tree = tree.clone();
        // A guest measures one round, however many the rest has.
        let round_s = guest.seconds / plan.rounds as f64;
        let measure = move |bench: &Bench<'_>| measure(guest, &tree, bench);
        Part::new(Seed::ProcStat, format!("guest: {}", guest.name()), round_s, measure)
    };
    GUESTS.into_iter().map(part).collect()
}

/// Boots a guest; returns its rows.
fn measure(guest: Guest, tree: &Path, bench: &Bench<'_>) -> Result<Vec<SeedRow>> {
    let cargo = bench.programs.path.find("cargo").context("cargo is not installed")?;
    let emulator = bench.programs.path.find(EMULATOR);
    ensure!(emulator.is_some(), "{EMULATOR} is not installed");
    ensure!(
        tree.join("xtask/src/vm.rs").is_file(),
        "--guests {}: this is not the source tree of whit",
        tree.display()
    );
    bench.progress.show(&format!("booting {}", guest.name()));
    let folder = tempfile::tempdir()?;
    let mut command = Command::new(cargo);
    command.current_dir(tree).args(["xtask", "vm"]).args(guest.words());
    command.arg("--whit").arg(std::fs::canonicalize(&bench.programs.whit)?);
    command.arg("--out").arg(folder.path());
    let has_rivals = bench.programs.collectl.is_some() && bench.programs.strace.is_some();
    command.args(has_rivals.then_some("--rivals")).arg("--").arg(script());
    run_heard(&mut command, Stdio::null())?;
    let text = std::fs::read_to_string(folder.path().join("rows"))?;
    let mut rows = rows_of(&text).context("the guest's rows cannot be read")?;
    for row in &mut rows {
        row.name = format!("{}, {}", row.name, guest.name()).into();
        row.command = repeat(guest);
        // What was published is of 48 processors.
        row.published = row.published.take().filter(|_| guest.cpus >= CPUS_PUBLISHED);
    }
    Ok(rows)
}

/// What a guest runs: its rows are in the file `rows` of the folder that comes back.
fn script() -> String {
    let parts: Vec<String> = PARTS.iter().map(|part| format!("--part='{part}'")).collect();
    format!(
        "mkdir -p /out; whit bench seeds --seed {} {} --quick --json > /out/rows",
        Seed::ProcStat.name(),
        parts.join(" ")
    )
}

/// The command by which anybody boots this guest, with its rows on the console.
fn repeat(guest: Guest) -> String {
    let words = guest.words().join(" ");
    format!(
        "cargo xtask vm {words} --release --rivals -- whit bench seeds --seed {}",
        Seed::ProcStat.name()
    )
}

/// The rows of a run that has printed them as JSON, a line each.
fn rows_of(text: &str) -> Result<Vec<SeedRow>> {
    let row = |line| SeedRow::from_json(&serde_json::from_str(line).ok()?);
    let rows: Option<Vec<SeedRow>> = text.lines().map(row).collect();
    rows.filter(|rows| !rows.is_empty()).ok_or_else(|| {
        let first = text.lines().next().unwrap_or("nothing");
        Error::Failed(format!("it printed {first:.80}"))
    })
}

/// The row that says how guests are booted.
fn not_booted(bench: &Bench<'_>) -> SeedRow {
    let emulator = match bench.programs.path.find(EMULATOR) {
        Some(_) => String::new(),
        None => format!(", for which {EMULATOR} must be installed"),
    };
    let reason = format!("--guests TREE boots them by whit's source tree{emulator}");
    let mut row = SeedRow::lost(Seed::ProcStat, "1 to 64 CPUs, and other kernels", reason);
    row.command = format!("whit bench seeds --seed {} --guests TREE", Seed::ProcStat.name());
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::row::tests::full;

    #[test]
    fn rows_come_back_and_anything_else_is_an_error() {
        let text = format!("{}\n{}\n", full().to_json(), full().to_json());
        assert_eq!(rows_of(&text).unwrap(), [full(), full()]);
        assert_eq!(rows_of("").unwrap_err().line(), "it printed nothing");
        let error = rows_of("whit: no such thing\n").unwrap_err().line();
        assert_eq!(error, "it printed whit: no such thing");
        assert!(rows_of(&format!("{text}{{}}\n")).is_err());
    }

    #[test]
    fn guests_measure_parts_that_are_there() {
        let plan = SeedsPlan {
            rounds: 1,
            is_quick: true,
            seeds: vec![Seed::ProcStat],
            parts: PARTS.map(str::to_owned).into(),
            resume: None,
            guests: None,
        };
        let found = crate::seeds::parts(&plan).unwrap();
        assert!(found.len() >= PARTS.len(), "{}", found.len());
        assert!(found.iter().all(|part| !part.name.contains("guest")), "a guest boots none");
    }
}

//! Runs what must not rot but is too slow to run in full: every benchmark at its smallest size.

use std::path::Path;
use std::process::Command;

use crate::finish;

/// The benchmarks that need no program beside whit that a machine may lack.
const BENCHMARKS: &[&str] = &["record", "processes", "proc", "trace", "spawn", "rrd", "rrdcached"];

/// Runs them all with this `whit`.
///
/// # Errors
/// If one of them fails.
pub(crate) fn run(whit: &Path) -> anyhow::Result<()> {
    for benchmark in BENCHMARKS {
        let mut bench = Command::new(whit);
        bench.args(["bench", benchmark, "--quick"]);
        finish(bench)?;
    }
    Ok(())
}

//! Runs what must not rot but is too slow to run in full: every fuzz target on its seeds for a
//! moment, every benchmark at its smallest size.

use crate::{finish, root};

/// Runs them all.
pub(crate) fn run() -> anyhow::Result<()> {
    if root().join("fuzz/Cargo.toml").exists() {
        let mut fuzz = crate::cargo(&["test", "-q", "--manifest-path", "fuzz/Cargo.toml"]);
        fuzz.env("CARGO_TARGET_DIR", root().join("target/fuzz"));
        finish(fuzz)?;
    }
    for bench in ["record", "processes", "proc", "trace", "spawn", "rrd", "rrdcached"] {
        finish(crate::cargo(&["run", "-q", "-p", "cli", "--", "bench", bench, "--quick"]))?;
    }
    Ok(())
}

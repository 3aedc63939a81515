//! Examines the machine, and prints what was found as text or JSON.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use doctor::Verdict;

use super::DoctorArguments;

/// Runs the verb.
pub(crate) fn run(arguments: DoctorArguments) -> anyhow::Result<ExitCode> {
    let DoctorArguments { root, interval, reads, json, .. } = arguments;
    ensure!(
        interval.is_finite() && (0.0..=86_400.0).contains(&interval),
        "-i {interval}: give seconds, from 0 to 86400"
    );
    let root = std::fs::canonicalize(&root)
        .with_context(|| format!("--root {}: cannot be opened", root.display()))?;
    ensure!(root.join("proc").is_dir(), "--root {}: there is no proc in it", root.display());
    let found = doctor::examine(&root, (interval * 1e9) as u64, reads);
    let out = std::io::stdout();
    if json {
        writeln!(out.lock(), "{:#}", found.json())?;
    } else {
        let colour = terminal::shows(&out) && !crate::display::is_without_colors();
        let mut text = Vec::new();
        found.write_text(colour, &mut text)?;
        out.lock().write_all(&text)?;
    }
    Ok(if found.verdict == Verdict::Fine { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

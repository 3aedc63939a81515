//! `whit doctor`: what reading this machine costs, and what is missing.
//!
//! Exit code 0 when the verdict is fine, 1 when it is not, 2 on an error.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use doctor::Verdict;

/// Arguments of `whit doctor`.
#[derive(clap::Args)]
#[command(after_help = crate::help::DOCTOR)]
pub(crate) struct DoctorArguments {
    /// Look at the /proc and /sys below this folder instead of this machine's
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,

    /// Seconds between samples, which the verdict is about
    #[arg(short = 'i', long, value_name = "SECS", default_value_t = 1.0)]
    interval: f64,

    /// How often each file is read
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50,
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    reads: u32,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(arguments: DoctorArguments) -> anyhow::Result<ExitCode> {
    let DoctorArguments { root, interval, reads, json } = arguments;
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
        let colour = out.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        let mut text = Vec::new();
        found.write_text(colour, &mut text)?;
        out.lock().write_all(&text)?;
    }
    Ok(if found.verdict == Verdict::Fine { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

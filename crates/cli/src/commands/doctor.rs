//! `whit doctor`: what reading this machine costs, and what is missing.
//!
//! Exit code 0 when the verdict is fine, 1 when it is not, 2 on an error.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use procfs::Host;
use source::Entry;

use crate::doctor::print::Findings;
use crate::doctor::{calls, facts, measure, model, print, verdict};

/// Longest that the readings may take, however many were asked for.
const TIME_MAX: Duration = Duration::from_secs(5);

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
    let found = examine(&root, interval, reads);
    let out = std::io::stdout();
    let fine = found.verdict == verdict::Verdict::Fine;
    if json {
        writeln!(out.lock(), "{:#}", print::json(&found))?;
    } else {
        let colour = out.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        let mut text = Vec::new();
        print::human(&found, colour, &mut text)?;
        out.lock().write_all(&text)?;
    }
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn examine(root: &Path, interval: f64, reads: u32) -> Findings {
    // 0 means as fast as possible, which the verdict takes for a second.
    let interval_ns = if interval == 0.0 { 1_000_000_000 } else { (interval * 1e9) as u64 };
    let of_all = |entry: &&Entry| entry.is_of_all();
    let entries: Vec<&'static Entry> = source::ALL.iter().filter(of_all).collect();
    let mut host = Host::new(root);
    let here = host.is_this_machine();
    let measured = measure::measure(&mut host, &entries, &Arc::default(), reads, TIME_MAX);
    let model = model::model(&mut Host::new(root));
    let capabilities = if here { facts::capabilities() } else { Vec::new() };
    let facts = facts::facts(root, &capabilities);
    let kernel = std::fs::read_to_string(root.join("proc/sys/kernel/osrelease"));
    let host_name = match here {
        true => rustix::system::uname().nodename().to_string_lossy().into_owned(),
        false => root.display().to_string(),
    };
    Findings {
        host: host_name,
        kernel: kernel.map_or("unknown kernel".into(), |text| format!("Linux {}", text.trim_end())),
        interval_ns,
        verdict: verdict::of_all(&measured, interval_ns),
        slow: verdict::slow(&measured, interval_ns),
        measured,
        model,
        calls: here.then(calls::examine),
        capabilities,
        facts,
    }
}

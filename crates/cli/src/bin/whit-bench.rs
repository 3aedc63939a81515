//! `whit-bench`: the benchmarks, which `whit bench` starts.
//!
//! A program of its own, because who records, polls or traces does not need it: it would be a
//! fifteenth of whit.

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use bench::arguments::{BenchArguments, Benchmark, CommonArguments};
use bench::trace::TraceSize;
use bench::{Programs, Progress, Report, SearchPath};
use clap::Parser;

#[allow(dead_code, reason = "it is a part of whit, which also prints texts")]
#[path = "../stderr.rs"]
mod stderr;

/// The command line.
#[derive(Parser)]
#[command(name = "whit-bench", bin_name = "whit bench", version, max_term_width = 100)]
struct Arguments {
    /// The program that is measured [default: whit, beside this one]
    #[arg(long, value_name = "FILE", hide = true)]
    whit: Option<PathBuf>,

    #[command(flatten)]
    bench: BenchArguments,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if stderr::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            stderr::message(format_args!("{error:#}"));
            ExitCode::from(2)
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = SearchPath::new(std::env::split_paths(&path));
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let whit = arguments.whit.unwrap_or_else(|| own.with_file_name("whit"));
    let find = |path: SearchPath| Programs::find(whit, own, path);
    macro_rules! measure {
        ($benchmark:ident, $arguments:ident) => {
            _ = measured!($benchmark, $arguments)
        };
    }
    macro_rules! measured {
        ($benchmark:ident, $arguments:ident) => {
            show(&find(path), &$arguments.common, |programs, progress| {
                bench::$benchmark::run(&$arguments.plan(), programs, progress)
            })?
        };
    }
    match arguments.bench.what {
        Benchmark::Floor { load, jobs, at_once, wait } => {
            bench::spawn::run_floor(load, jobs, at_once, wait, &path, std::env::vars_os())?;
        }
        Benchmark::Load { what, units, slices, folder } => {
            bench::trace::run_load(what, TraceSize { units, slices }, &folder, &path)?;
        }
        Benchmark::Sleepers { processes, threads } => {
            let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout());
            bench::processes::keep_sleepers(processes, threads, &mut input, &mut output)?;
        }
        Benchmark::LogLoad { load } => bench::log::run_load(&load)?,
        Benchmark::Record(arguments) => measure!(record, arguments),
        Benchmark::Proc(arguments) => measure!(proc, arguments),
        Benchmark::Trace(arguments) => measure!(trace, arguments),
        Benchmark::Spawn(arguments) => measure!(spawn, arguments),
        Benchmark::Rrd(arguments) => measure!(rrd, arguments),
        Benchmark::Rrdcached(arguments) => measure!(rrdcached, arguments),
        Benchmark::Poll(arguments) => measure!(poll, arguments),
        Benchmark::Archive(arguments) => measure!(archive, arguments),
        Benchmark::Watch(arguments) => measure!(watch, arguments),
        Benchmark::Send(arguments) => measure!(send, arguments),
        Benchmark::Log(arguments) => measure!(log, arguments),
        Benchmark::Seeds(arguments) => {
            if let Some(file) = &arguments.html {
                let name = file.display();
                // Now, not after half an hour.
                let file = std::fs::File::options().create(true).append(true).open(file);
                file.with_context(|| format!("--html: {name}"))?;
            }
            let report = measured!(seeds, arguments);
            if let Some((file, page)) = arguments.html.zip(report.page) {
                std::fs::write(file, page).context("--html")?;
            }
        }
        Benchmark::Processes(arguments) => match arguments.long {
            Some(seconds) => {
                show(&find(path), &arguments.common, |programs, progress| {
                    bench::processes::flood(programs, seconds, progress)
                })?;
            }
            None => {
                let plan = arguments.plan()?;
                show(&find(path), &arguments.common, |programs, progress| {
                    bench::processes::run(&plan, programs, progress)
                })?;
            }
        },
    }
    Ok(())
}

/// Measures; prints the tables, or JSON; and keeps the run below the folder of `--save`.
fn show(
    programs: &Programs,
    common: &CommonArguments,
    measure: impl FnOnce(&Programs, &Progress<'_>) -> Result<Report, bench::Error>,
) -> anyhow::Result<Report> {
    let is_terminal = std::io::stderr().is_terminal();
    let on_terminal = |text: &str| {
        if is_terminal {
            // Return to the beginning of the line and erase it.
            let _ = write!(std::io::stderr(), "\r\x1b[K{text}");
        }
    };
    let report = measure(programs, &Progress::new(&on_terminal))?;
    let mut out = std::io::stdout().lock();
    match (common.json, report.json.as_array()) {
        (true, Some(rows)) => rows.iter().try_for_each(|row| writeln!(out, "{row}"))?,
        (true, None) => writeln!(out, "{:#}", report.json)?,
        (false, _) => out.write_all(report.summary.as_bytes())?,
    }
    if let Some(base) = &common.save {
        let folder = report.save(base, &command_line())?;
        stderr::line(format_args!("kept in {}", folder.display()));
    }
    Ok(report)
}

/// The command as a user gives it.
fn command_line() -> String {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let given =
        if words.first().is_some_and(|word| word == "--whit") { &words[2..] } else { &words };
    let given: Vec<_> = given.iter().map(|word| word.to_string_lossy()).collect();
    format!("whit bench {}", given.join(" "))
}

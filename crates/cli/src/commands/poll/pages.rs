//! `whit poll pages`: the classic pages and pictures of targets, from what is kept of them.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use poll::log_file::{LogFiles, LogHistory};
use poll::pages::{DeviceFacts, PageWriter, Redraw, rrd_history, write_banner};
use poll::{Config, LogFormat, PollTarget, path_of};

/// Options of `whit poll pages`.
#[derive(clap::Args)]
#[command(after_help = crate::help::POLL_PAGES)]
pub(crate) struct PagesArguments {
    /// MRTG's configuration files
    #[arg(value_name = "CONFIG", required = true)]
    configs: Vec<PathBuf>,
    /// Only this target; may be repeated
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,
    /// Draw only pictures that are as old as one of their columns
    #[arg(long)]
    due: bool,
}

/// Runs the verb.
pub(crate) fn run(arguments: &PagesArguments) -> anyhow::Result<ExitCode> {
    let (mut written, mut failed) = (0, 0);
    for path in &arguments.configs {
        let config = super::loaded(path)?;
        for target in &config.targets {
            if !arguments.target.is_empty() && !arguments.target.contains(&target.name) {
                continue;
            }
            match write(&config, target, arguments.due) {
                Ok(()) => written += 1,
                Err(error) => {
                    crate::stderr::line(format!("{}: {error:#}", target.name));
                    failed += 1;
                }
            }
        }
    }
    if written + failed == 0 {
        bail!("no target of these configurations is wanted");
    }
    Ok(if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn write(config: &Config, target: &PollTarget, is_due: bool) -> anyhow::Result<()> {
    let folder = format!("{}{}", config.global.log_dir, target.directory);
    let mut files = LogFiles::new();
    let databases;
    let history: &LogHistory = match config.global.log_format {
        LogFormat::Rateup => files.read(&path_of(&format!("{folder}{}.log", target.name)))?,
        LogFormat::Rrdtool => {
            let path = path_of(&format!("{folder}{}.rrd", target.name));
            databases = rrd_history(&path).with_context(|| path.display().to_string())?;
            &databases
        }
    };
    for wanted in [&config.global.html_dir, &config.global.image_dir] {
        let folder = format!("{wanted}{}", target.directory);
        let made = std::fs::create_dir_all(path_of(&folder));
        made.with_context(|| format!("cannot make {folder}"))?;
    }
    let writer = PageWriter {
        global: &config.global,
        time_zone: crate::zone::local(),
        now_s: history.at(0).time.max(0),
        redraw: if is_due { Redraw::Due } else { Redraw::All },
    };
    writer.write(target, history, DeviceFacts::default())?;
    write_banner(&config.global)?;
    Ok(())
}

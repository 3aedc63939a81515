//! One run of a row: its servers, its client, and the audit where the records end up.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::load::{Client, ClientResult};
use super::rows::{Output, Row};
use super::tally::Tally;
use crate::contest::median;
use crate::error::{Context, Result, ensure};
use crate::process::{self, BackgroundProgram, silent, text_of};
use crate::programs::{run_heard, run_quietly};

/// Longest time until a server listens, or ends.
const PATIENCE: Duration = Duration::from_secs(60);

/// Turns of a bare ring, of which the middle one counts.
const BARE_TURNS: u32 = 30;

/// A server of whit, ended with the value.
pub(super) struct Server(BackgroundProgram);

impl Server {
    /// Starts a server, and waits until a file is there; then it can be ended in order, too.  Its
    /// stderr goes into a file of the folder.
    pub(super) fn start(
        command: &mut Command,
        folder: &Path,
        name: &str,
        file: &str,
    ) -> Result<Self> {
        let errors = std::fs::File::create(folder.join(name).with_extension("said"))?;
        let mut running =
            BackgroundProgram::start(silent(command).stderr(errors).current_dir(folder))?;
        let file = folder.join(file);
        running.wait_until(PATIENCE, || file.exists())?;
        Ok(Server(running))
    }

    /// CPU time of all its threads, in ns.
    pub(super) fn cpu_ns(&self) -> Result<u64> {
        process::threads_cpu_ns(self.0.id())?.context("schedstat")
    }

    /// Ends it in order.
    pub(super) fn stop(self) -> Result<()> {
        self.0.stop_well()
    }
}

/// Runs the hidden command that logs; returns what it printed.
pub(super) fn run_load(bench: &Path, load: &Value) -> Result<String> {
    let mut command = Command::new(bench);
    command.arg("log-load").arg(load.to_string()).env("TZ", "UTC");
    Ok(run_heard(&mut command, Stdio::null())?.1)
}

/// What one run gave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    pub(crate) client: ClientResult,
    pub(crate) threads: u32,
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) duplicates: u64,
}

/// The program, the folders and the size of runs.
pub(super) struct RunSettings<'a> {
    pub(super) whit: &'a Path,
    pub(super) bench: &'a Path,
    /// For rings: on a tmpfs.
    pub(super) rings: &'a Path,
    /// For spools, stores and output files.
    pub(super) folder: &'a Path,
    pub(super) threads: u32,
    pub(super) calls: u32,
}

impl RunSettings<'_> {
    /// A verb of `whit log`.
    pub(super) fn log(&self, verb: &str) -> Command {
        let mut command = Command::new(self.whit);
        command.args(["log", verb]).env_remove("WHIT_LOG_DIRECTORY").env("TZ", "UTC");
        command
    }

    pub(super) fn central(&self, folder: &Path, is_oneway: bool) -> Result<Server> {
        let mut command = self.log("central");
        // Who does not wait is content when the kernel has the records.
        let ack = if is_oneway { "os" } else { "disk" };
        command.args(["--store", "store", "--listen", "./socket", "--ack", ack]);
        Server::start(&mut command, folder, "central", "socket")
    }

    pub(super) fn proxy(&self, folder: &Path, rings: &Path) -> Command {
        let mut command = self.log("proxy");
        command.arg("--directory").arg(rings);
        command.args(["--central", "./socket", "--spool", "spool"]).current_dir(folder);
        command
    }

    /// The least that a record can cost: of a ring that nobody reads, in ns.
    pub(super) fn bare_record_ns(&self) -> Result<f64> {
        let load = json!({
            "case": "record", "threads": 1, "calls": self.calls, "turns": BARE_TURNS,
            "rings": self.rings.to_string_lossy(),
            "file": self.folder.join("floor").to_string_lossy(),
        });
        let turns = run_load(self.bench, &load)?;
        let turns = turns.lines().map(str::parse).collect::<std::result::Result<Vec<f64>, _>>();
        Ok(median(turns.context("the floor of a record")?))
    }

    /// Runs a row once.
    pub(super) fn run(&self, row: &Row, measures_each: bool) -> Result<Run> {
        let rings = tempfile::tempdir_in(self.rings)?;
        let folder = tempfile::tempdir_in(self.folder)?;
        let folder = folder.path();
        let central = match row.has_central {
            true => Some(self.central(folder, row.is_oneway)?),
            false => None,
        };
        let proxy = match row.has_proxy {
            true => {
                let mut command = self.proxy(folder, rings.path());
                Some(Server::start(&mut command, folder, "proxy", "spool")?)
            }
            false => None,
        };
        let client = Client {
            rings: rings.path().to_owned(),
            result: folder.join("result"),
            file: folder.join("output"),
            threads: if row.has_threads { self.threads } else { 1 },
            calls: self.calls,
            output: row.output,
            is_component: row.is_component,
            measures_each,
            has_proxy: row.has_proxy,
            has_central: row.has_central,
            waits: row.has_central && !row.is_oneway,
        };
        let printed = run_load(self.bench, &client.to_json())?;
        let result = ClientResult::parse(&std::fs::read_to_string(&client.result)?)?;
        let sent = u64::from(client.threads) * u64::from(client.calls);
        let tally = match proxy {
            Some(proxy) => {
                proxy.stop()?;
                let central = match central {
                    Some(central) => central,
                    None => self.central(folder, row.is_oneway)?,
                };
                self.delivered(&client, folder, central)?
            }
            None => local_tally(&client, &result, &printed)?,
        };
        ensure!(tally.strangers == 0, "{} records that nobody has sent", tally.strangers);
        let (received, duplicates) = (tally.received, tally.duplicates);
        Ok(Run { client: result, threads: client.threads, sent, received, duplicates })
    }

    /// What a central store has, after the rest of the rings and of the spool was delivered.
    fn delivered(&self, client: &Client, folder: &Path, central: Server) -> Result<Tally> {
        let mut rest = self.proxy(folder, &client.rings);
        run_quietly(rest.arg("--once"))?;
        central.stop()?;
        let text = match client.output {
            Output::File | Output::PlainFile => {
                let mut export = self.log("export");
                export.args(["store", "--output"]).arg(&client.file).current_dir(folder);
                run_quietly(&mut export)?;
                std::fs::read_to_string(&client.file)?
            }
            _ => {
                let mut query = self.log("query");
                run_heard(query.arg("store").current_dir(folder), Stdio::null())?.1
            }
        };
        let mut tally = Tally::new(client.threads.into(), client.calls.into());
        tally.add_lines(&text);
        Ok(tally)
    }
}

/// Records of the folder's store that a filter lets through.
pub(super) fn received(settings: &RunSettings<'_>, folder: &Path, filter: &[&str]) -> Result<u64> {
    let mut command = settings.log("query");
    command.args(["store", "--count"]).args(filter).current_dir(folder);
    let (_, text, _) = run_heard(&mut command, Stdio::null())?;
    text.trim().parse().ok().with_context(|| format!("{}: {text}", text_of(&command)))
}

/// What an output of the process itself has.
fn local_tally(client: &Client, result: &ClientResult, printed: &str) -> Result<Tally> {
    let mut tally = Tally::new(client.threads.into(), client.calls.into());
    match client.output {
        Output::NoOp => return Ok(result.tally.clone()),
        Output::Stdout | Output::PlainStdout => tally.add_lines(printed),
        Output::File | Output::PlainFile => {
            tally.add_lines(&std::fs::read_to_string(&client.file)?);
        }
    }
    Ok(tally)
}

/// A folder for rings: on a tmpfs, where there is one.
pub(super) fn ring_folder() -> Result<tempfile::TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("whit-bench-log-");
    let shared = Path::new("/dev/shm");
    Ok(if shared.is_dir() { builder.tempdir_in(shared)? } else { builder.tempdir()? })
}

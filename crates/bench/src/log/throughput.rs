//! How many records in a second go from one process through a proxy to the central server and its
//! disk, and what each of the three costs: at a rate, and as fast as possible.
//!
//! A run ends when the store has acknowledged everything.  The audit reads every record of the store:
//! as many as were sent, each number once.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use logger::{LogConfig, Logger, Tier, attach_thread, log_info};
use serde_json::{Value, json};

use super::scenario::{RunSettings, Server, received, run_load};
use crate::error::{Context, Result, ensure};
use crate::folder::bytes_in;
use crate::measure::own_process_cpu;
use crate::programs::run_heard;

/// Records in a second that the first kind of run offers.
pub(super) const RATE: u64 = 2_000_000;
/// Longest wait for the acknowledgement of everything.
const PATIENCE: Duration = Duration::from_secs(300);
/// Between two bursts of a run with a rate.
const BURST: Duration = Duration::from_millis(1);

/// One run.
#[derive(Clone, Debug)]
pub(super) struct ThroughputRun {
    /// Records in a second that were offered; `None`: as many as possible.
    pub(super) rate: Option<u64>,
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) duplicates: u64,
    pub(super) lost: u64,
    /// From the first call to the last, and to the acknowledgement of everything, in s.
    pub(super) logged_s: f64,
    pub(super) committed_s: f64,
    /// CPU of a record, in ns: writer, proxy, central server.
    pub(super) cpu_ns: [f64; 3],
    /// Bytes of the store.
    pub(super) store_bytes: u64,
}

/// Runs once.
pub(super) fn run(
    settings: &RunSettings<'_>,
    records: u64,
    rate: Option<u64>,
) -> Result<ThroughputRun> {
    let rings = tempfile::tempdir_in(settings.rings)?;
    let folder = tempfile::tempdir_in(settings.folder)?;
    let folder = folder.path();
    let central = settings.central(folder, false)?;
    let mut command = settings.proxy(folder, rings.path());
    let proxy = Server::start(&mut command, folder, "proxy", "spool")?;
    let before = [proxy.cpu_ns()?, central.cpu_ns()?];
    let writer = run_load(
        settings.bench,
        &json!({ "flood": records, "rate": rate, "rings": rings.path().to_string_lossy() }),
    )?;
    let writer: Value = serde_json::from_str(&writer).map_err(std::io::Error::other)?;
    let after = [proxy.cpu_ns()?, central.cpu_ns()?];
    proxy.stop()?;
    central.stop()?;
    let number = |value: &Value, name: &str| value[name].as_f64().context("what the writer says");
    let each = |ns: u64| ns as f64 / records as f64;
    let writer_ns = number(&writer, "cpu_ns")? / records as f64;
    let verified = verify(settings, folder)?;
    let count = |name: &str| verified[name].as_u64().with_context(|| format!("no {name}"));
    Ok(ThroughputRun {
        rate,
        sent: records,
        received: received(settings, folder, &["--logger", "flood"])?,
        duplicates: count("duplicates")?,
        lost: count("lost")? + count("dropped")? + count("left_out")?,
        logged_s: number(&writer, "logged_s")?,
        committed_s: number(&writer, "committed_s")?,
        cpu_ns: [writer_ns, each(after[0] - before[0]), each(after[1] - before[1])],
        store_bytes: bytes_in(&folder.join("store"))?,
    })
}

/// Reads every record of the store, and compares numbers.
fn verify(settings: &RunSettings<'_>, folder: &Path) -> Result<Value> {
    let mut command = settings.log("verify");
    command.args(["store", "--deep", "--json"]).current_dir(folder);
    let (_, said, _) = run_heard(&mut command, Stdio::null())?;
    Ok(serde_json::from_str(&said).map_err(std::io::Error::other)?)
}

/// The process that logs: prints what it needed.
pub(super) fn play(value: &Value) -> Result<()> {
    let records = value["flood"].as_u64().context("no number of records")?;
    let rate = value["rate"].as_u64();
    let rings = value["rings"].as_str().context("no rings")?;
    let failed = |error: logger::Error| crate::Error::Failed(error.to_string());
    let _logging = logger::start(LogConfig::new(rings, "bench", "flood")).map_err(failed)?;
    let log = Logger::new("flood").map_err(failed)?;
    attach_thread();
    super::load::wait_for_proxy(true)?;
    let (begin, cpu_begin) = (Instant::now(), own_process_cpu());
    let mut number = 0;
    while number < records {
        // What is due by now, then a pause.
        let due = match rate {
            Some(rate) => (begin.elapsed().as_secs_f64() * rate as f64) as u64,
            None => records,
        };
        for number in number..due.min(records) {
            log_info!(log, "call {} {} {}", 0_u32, number, number as f64 + 0.5);
        }
        number = due.max(number);
        if rate.is_some() {
            std::thread::sleep(BURST);
        }
    }
    let logged_s = begin.elapsed().as_secs_f64();
    let flushed = logger::flush(Tier::Central, PATIENCE);
    ensure!(flushed.is_safe, "the central store has not acknowledged everything");
    let committed_s = begin.elapsed().as_secs_f64();
    let cpu_ns = (own_process_cpu() - cpu_begin).as_secs_f64() * 1e9;
    let said = json!({ "logged_s": logged_s, "committed_s": committed_s, "cpu_ns": cpu_ns });
    std::io::Write::write_all(&mut std::io::stdout(), said.to_string().as_bytes())?;
    Ok(())
}

//! The programs that log: the client and the component of ACS's table, and whit's contestant beside
//! other loggers.  The benchmark starts this program again as each of them.

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use log_format::{
    FileRotation, FileSink, LogRecord, LogSink, LogZone, RecordFormat, TextFormat, WriterSink,
    write_message,
};
use logger::{
    ConsumerState, LocalOptions, LocalOutput, LogConfig, Logger, Tier, attach_thread, log_debug,
    log_info,
};
use serde_json::{Value, json};

use super::rows::Output;
use super::tally::Tally;
use super::timing::{CallPattern, StartLine, Ticks, quantile, turns};
use crate::error::{Context, Result, ensure};
use crate::measure::thread_clock;

/// Loggers of a component; a power of two.
const LOGGERS: usize = 64;

/// Longest wait for a consumer, and for what it acknowledges.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client or a component.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Client {
    /// Where rings are made.
    pub(super) rings: PathBuf,
    /// Where the result is written.
    pub(super) result: PathBuf,
    /// Where the output file is made.
    pub(super) file: PathBuf,
    pub(super) threads: u32,
    pub(super) calls: u32,
    pub(super) output: Output,
    pub(super) is_component: bool,
    /// The clock is read between any two calls.
    pub(super) measures_each: bool,
    /// A proxy reads the rings, not this process.
    pub(super) has_proxy: bool,
    /// The proxy is connected to a central server.
    pub(super) has_central: bool,
    /// Wait at the end until the central store has everything.
    pub(super) waits: bool,
}

/// What a client says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ClientResult {
    /// What a thread needed for all its calls, the mean of all threads.
    pub(crate) total_us: f64,
    /// CPU time that it used meanwhile, the mean of all threads.
    pub(super) cpu_us: f64,
    /// Min, p50, p99, p99.9 and max of all calls of all threads, in ns.
    pub(super) calls_ns: [f64; 5],
    /// What its own sink has counted, if that is the output.
    pub(super) tally: Tally,
}

impl Client {
    /// For the command line.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "rings": self.rings.to_string_lossy(), "result": self.result.to_string_lossy(),
            "file": self.file.to_string_lossy(), "threads": self.threads, "calls": self.calls,
            "output": self.output.name(), "component": self.is_component,
            "each": self.measures_each, "proxy": self.has_proxy,
            "central": self.has_central, "waits": self.waits,
        })
    }

    fn of_json(value: &Value) -> Option<Self> {
        let path = |name: &str| value[name].as_str().map(PathBuf::from);
        let number = |name: &str| u32::try_from(value[name].as_u64()?).ok();
        Some(Client {
            rings: path("rings")?,
            result: path("result")?,
            file: path("file")?,
            threads: number("threads")?,
            calls: number("calls")?,
            output: Output::of_name(value["output"].as_str()?)?,
            is_component: value["component"].as_bool()?,
            measures_each: value["each"].as_bool()?,
            has_proxy: value["proxy"].as_bool()?,
            has_central: value["central"].as_bool()?,
            waits: value["waits"].as_bool()?,
        })
    }
}

impl ClientResult {
    fn to_json(&self) -> Value {
        let Tally { received, duplicates, strangers, .. } = self.tally;
        json!({
            "total_us": self.total_us, "cpu_us": self.cpu_us, "calls_ns": self.calls_ns, "received": received,
            "duplicates": duplicates, "strangers": strangers,
        })
    }

    /// What a client has written.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(text).map_err(std::io::Error::other)?;
        let number = |value: &Value| value.as_f64().context("the client's result");
        let count = |name: &str| value[name].as_u64().context("the client's result");
        let mut calls_ns = [0.0; 5];
        for (slot, one) in
            calls_ns.iter_mut().zip(value["calls_ns"].as_array().into_iter().flatten())
        {
            *slot = number(one)?;
        }
        let mut tally = Tally::new(0, 0);
        (tally.received, tally.duplicates) = (count("received")?, count("duplicates")?);
        tally.strangers = count("strangers")?;
        let (total_us, cpu_us) = (number(&value["total_us"])?, number(&value["cpu_us"])?);
        Ok(ClientResult { total_us, cpu_us, calls_ns, tally })
    }
}

/// Runs the client, the component or the contestant that the words describe.
pub(super) fn play(value: &Value) -> Result<()> {
    match value.get("case").and_then(Value::as_str) {
        Some(_) => contest(value),
        None => run_client(&Client::of_json(value).context("not a client")?),
    }
}

fn logged<T>(result: std::result::Result<T, logger::Error>) -> Result<T> {
    result.map_err(|error| crate::Error::Failed(error.to_string()))
}

/// The message alone.
struct MessageFormat;

impl RecordFormat for MessageFormat {
    fn put(&mut self, out: &mut Vec<u8>, record: &LogRecord<'_>) {
        write_message(out, record);
        out.push(b'\n');
    }
}

/// Counts what it is given.
struct CountingSink(Arc<Mutex<Tally>>);

impl LogSink for CountingSink {
    fn write(&mut self, record: &LogRecord<'_>) -> std::io::Result<()> {
        if let Ok(mut tally) = self.0.lock() {
            tally.add_record(record);
        }
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn text_format() -> Box<dyn RecordFormat> {
    Box::new(TextFormat::new(false, LogZone::default()))
}

fn file_sink(client: &Client, format: Box<dyn RecordFormat>) -> Result<Box<dyn LogSink>> {
    let rotation = FileRotation { bytes_max: None, keep: 0 };
    Ok(Box::new(FileSink::open(&client.file, format, rotation)?))
}

/// The configuration of a component: each of its loggers has its own levels.
fn configuration(client: &Client) -> Result<LogConfig> {
    if !client.is_component {
        return Ok(LogConfig::new(&client.rings, "bench", "client"));
    }
    let mut config = LogConfig::new(&client.rings, "bench", "CONTROL/container");
    let mut set = |name: &str, value: &str| {
        config.set_acs(name, value).map_err(|error| crate::Error::Failed(error.to_string()))
    };
    set("minLogLevel", "DEBUG")?;
    set("minLogLevelLocal", "DEBUG")?;
    for number in 0..LOGGERS {
        let name = format!("CONTROL/PM{number:02}/component");
        set(&format!("{name}:minLogLevel"), ["TRACE", "DEBUG", "INFO", "2"][number % 4])?;
        set(&format!("{name}:minLogLevelLocal"), ["INFO", "DELOUSE", "3", "DEBUG"][number % 4])?;
    }
    Ok(config)
}

/// The call that is measured, by the loggers in turn.
#[inline(always)]
fn call(loggers: &[Logger; LOGGERS], thread: u32, number: u32) {
    let log = &loggers[number as usize % LOGGERS];
    log_info!(log, "call {} {} {}", thread, number, f64::from(number) + 0.5);
}

fn run_client(client: &Client) -> Result<()> {
    let ticks = Ticks::start();
    let config = configuration(client)?;
    let names: Vec<String> = config.loggers.iter().map(|one| one.name.clone()).collect();
    let logging = logged(logger::start(config))?;
    if let Some(error) = &logging.private_because {
        return Err(crate::Error::Failed(format!("rings of the own process only: {error}")));
    }
    let one = logged(Logger::new("client"))?;
    let mut loggers = [one; LOGGERS];
    for (slot, name) in loggers.iter_mut().zip(&names) {
        *slot = logged(Logger::new(name))?;
    }
    let tally = Tally::new(client.threads.into(), client.calls.into());
    let tally = Arc::new(Mutex::new(tally));
    let output = match client.has_proxy {
        true => wait_for_proxy(client.has_central).map(|()| None)?,
        false => Some(start_output(client, &tally)?),
    };
    let bursts = bursts(client, &ticks, &loggers);
    if client.waits {
        let flushed = logger::flush(Tier::Central, PATIENCE);
        ensure!(flushed.is_safe, "the central store has not acknowledged everything");
    }
    drop(output);
    let mut result = measured(client, &bursts, ticks.tick_ns());
    if let Ok(mut tally) = tally.lock() {
        result.tally = std::mem::take(&mut *tally);
    }
    std::fs::write(&client.result, result.to_json().to_string())?;
    Ok(())
}

fn start_output(client: &Client, tally: &Arc<Mutex<Tally>>) -> Result<LocalOutput> {
    let sink: Box<dyn LogSink> = match client.output {
        Output::Stdout => Box::new(WriterSink::new(text_format(), std::io::stdout())),
        Output::PlainStdout => {
            Box::new(WriterSink::new(Box::new(MessageFormat), std::io::stdout()))
        }
        Output::File => file_sink(client, text_format())?,
        Output::PlainFile => file_sink(client, Box::new(MessageFormat))?,
        Output::NoOp => Box::new(CountingSink(Arc::clone(tally))),
    };
    logged(LocalOutput::start(sink, LocalOptions::default()))
}

/// Waits until a proxy has found this process, and is connected if there is a central server.
pub(super) fn wait_for_proxy(has_central: bool) -> Result<()> {
    let wanted = if has_central { ConsumerState::Connected } else { ConsumerState::Spooling };
    let begin = std::time::Instant::now();
    while logring::writer::consumer_status().is_none_or(|status| status.state != wanted) {
        ensure!(begin.elapsed() < PATIENCE, "no proxy has found the client");
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// What a thread needed for its calls.
struct Burst {
    /// Ticks of each call, or of all together.
    ticks: Vec<f64>,
    cpu_ns: u64,
}

/// The calls of all threads.
fn bursts(client: &Client, ticks: &Ticks, loggers: &[Logger; LOGGERS]) -> Vec<Burst> {
    let (attached, start_line) =
        (Barrier::new(client.threads as usize), StartLine::new(client.threads));
    let work = |thread: u32| {
        attach_thread();
        attached.wait();
        start_line.meet(0);
        let before = thread_clock();
        let ticks = match client.measures_each {
            true => ticks.each_call(client.calls, |number| call(loggers, thread, number)),
            false => vec![ticks.burst(client.calls, |number| call(loggers, thread, number)) as f64],
        };
        let cpu_ns = (thread_clock() - before).as_nanos() as u64;
        // The end of a thread, which unmaps its stack, would interrupt the others.
        attached.wait();
        Burst { ticks, cpu_ns }
    };
    if client.threads == 1 {
        return vec![work(0)];
    }
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> =
            (0..client.threads).map(|thread| scope.spawn(move || work(thread))).collect();
        // A thread that panics has ended the program.
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

fn measured(client: &Client, bursts: &[Burst], tick_ns: f64) -> ClientResult {
    let all = || bursts.iter().flat_map(|burst| &burst.ticks);
    let cpu_ns: u64 = bursts.iter().map(|burst| burst.cpu_ns).sum();
    let mut result = ClientResult {
        total_us: all().sum::<f64>() * tick_ns / 1000.0 / f64::from(client.threads),
        cpu_us: cpu_ns as f64 / 1000.0 / f64::from(client.threads),
        ..ClientResult::default()
    };
    if client.measures_each {
        let mut calls: Vec<f64> = all().map(|ticks| ticks * tick_ns).collect();
        calls.sort_by(f64::total_cmp);
        result.calls_ns = [0.0, 0.5, 0.99, 0.999, 1.0].map(|part| quantile(&calls, part));
    }
    result
}

/// A text of forty bytes.
pub(super) const TEXT: &str = "a text of forty bytes, which is copied..";

/// A program that logs beside others: prints the nanoseconds of a call, a line a turn.
fn contest(value: &Value) -> Result<()> {
    let number = |name: &str| {
        let number = value[name].as_u64().and_then(|number| u32::try_from(number).ok());
        number.with_context(|| format!("no number of {name}"))
    };
    let word = |name: &str| value[name].as_str().with_context(|| format!("no {name}"));
    let case = word("case")?;
    let pattern = CallPattern {
        is_paced: case.starts_with("paced"),
        threads: number("threads")?,
        calls: number("calls")?,
        turns: number("turns")?,
    };
    let config = LogConfig::new(word("rings")?, "bench", "contest");
    let _logging = logged(logger::start(config))?;
    let log = logged(Logger::new("contest"))?;
    log.set_levels(4, 4);
    let file = FileSink::open(
        word("file")?.as_ref(),
        text_format(),
        FileRotation { bytes_max: None, keep: 0 },
    )?;
    let output = logged(LocalOutput::start(Box::new(file), LocalOptions::default()))?;
    let mut lost = false;
    let rest = || lost |= !logger::flush(Tier::Read, PATIENCE).is_safe;
    let all = match case {
        "three" | "paced" => turns(pattern, rest, |thread, number| {
            log_info!(log, "call {} {} {}", thread, number, f64::from(number) + 0.5);
        }),
        "text" | "paced text" => turns(pattern, rest, |_, _| log_info!(log, "{}", black_box(TEXT))),
        "disabled" => turns(pattern, rest, |thread, number| {
            log_debug!(log, "call {} {} {}", thread, number, f64::from(number) + 0.5);
        }),
        "clock" | "paced clock" => {
            let ticks = Ticks::start();
            turns(pattern, rest, move |_, _| {
                black_box(ticks.now());
            })
        }
        "record" | "paced record" => bare_records(pattern),
        other => return Err(crate::Error::Failed(format!("no case {other}"))),
    };
    drop(output);
    ensure!(!lost, "the output did not write everything");
    let text: String = all.iter().map(|ns| format!("{ns}\n")).collect();
    std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())?;
    Ok(())
}

/// Words of a bare ring: a mebibyte.
const RING_WORDS: usize = 1 << 17;

/// What can be least: a record of 48 bytes with a stamp, stored into memory that is there, and a
/// position that says so.  Nobody reads it, and there always is room.
fn bare_records(pattern: CallPattern) -> Vec<f64> {
    let ticks = Ticks::start();
    let ring: Vec<AtomicU64> = (0..RING_WORDS).map(|_| AtomicU64::new(1)).collect();
    let position = AtomicU64::new(0);
    // One thread: more would need a ring each, as whit's have.
    let pattern = CallPattern { threads: 1, ..pattern };
    turns(
        pattern,
        || (),
        move |thread, number| {
            let at = position.load(Ordering::Relaxed);
            let words = &ring[at as usize % (RING_WORDS - 8)..][..6];
            let argument = (f64::from(number) + 0.5).to_bits();
            let values = [at << 32, ticks.now(), 1 << 32, thread.into(), number.into(), argument];
            for (word, value) in words.iter().zip(values) {
                word.store(value, Ordering::Relaxed);
            }
            position.store(at + 6, Ordering::Release);
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_goes_over_the_command_line() {
        let client = Client {
            rings: "/r".into(),
            result: "/s".into(),
            file: "/f".into(),
            threads: 3,
            calls: 7,
            output: Output::PlainFile,
            is_component: true,
            measures_each: false,
            has_proxy: true,
            has_central: true,
            waits: true,
        };
        assert_eq!(Client::of_json(&client.to_json()), Some(client.clone()));
        let bursts = [(vec![1.0, 2.0], 3000), (vec![3.0], 6000)];
        let bursts = bursts.map(|(ticks, cpu_ns)| Burst { ticks, cpu_ns });
        let result = measured(&Client { measures_each: true, ..client }, &bursts, 2.0);
        assert_eq!(result.calls_ns, [2.0, 4.0, 6.0, 6.0, 6.0]);
        assert_eq!((result.total_us, result.cpu_us), (0.004, 3.0));
        assert_eq!(ClientResult::parse(&result.to_json().to_string()).unwrap(), result);
    }
}

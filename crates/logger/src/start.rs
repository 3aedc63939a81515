//! The start, the end, waiting until records are safe, and being told of failures.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use logring::writer::{self, ConsumerStatus, FlushResult, Interned};
use logring::{Error, Tier};

use crate::config::LogConfig;
use crate::logger::Logger;

/// Logging was started.  Dropping it says that the program ends in order; records are safe without
/// it, and logging goes on working.
#[derive(Debug)]
pub struct Logging {
    /// Why only this process can read its rings, if that is so: there was no room or no permission
    /// in the directory.  Then they do not survive it.
    pub private_because: Option<std::io::Error>,
}

impl Drop for Logging {
    fn drop(&mut self) {
        writer::end();
    }
}

/// Starts logging: once in a process.  A child of `fork` goes on by itself.
///
/// A folder that was refused, and records that only this process can read, are said in a line each on
/// standard error; so it is if the folder's reader is of another version, and then nothing is logged.
///
/// # Errors
/// If it was started already, there is no memory, or a configured logger cannot be made.
pub fn start(config: LogConfig) -> Result<Logging, Error> {
    let loggers = config.loggers;
    let (central, local) = (config.rings.level_central, config.rings.level_local);
    let (program, folder) = (config.rings.process_name.clone(), config.rings.directory.clone());
    let private_because = writer::start(config.rings)?;
    for refused in config.refused_folders {
        say(&program, &refused);
    }
    if let Some(why) = &private_because {
        let then = match why.kind() {
            std::io::ErrorKind::Unsupported => "nothing is logged",
            _ => "log records stay in this process",
        };
        say(&program, &format_args!("{}: {why}: {then}", folder.display()));
    }
    for levels in loggers {
        let log = Logger::new(&levels.name)?;
        let (central, local) = (levels.central.unwrap_or(central), levels.local.unwrap_or(local));
        writer::set_configured_levels(log.index(), &levels.name, central, local);
    }
    Ok(Logging { private_because })
}

/// Says what the user of a program is to know of its logging.
fn say(program: &str, what: &dyn std::fmt::Display) {
    use std::io::Write as _;
    // Without standard error there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{program}: {what}");
}

/// Waits until everything logged so far by any thread is as safe as a tier says; not for longer
/// than the time-out.
#[must_use]
pub fn flush(tier: Tier, timeout: Duration) -> FlushResult {
    writer::flush(tier, u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX))
}

/// Puts a text that is logged often into the dictionary: as an argument it takes 8 bytes.  `None`:
/// the dictionary is full.
#[must_use]
pub fn text(text: &str) -> Option<Interned> {
    writer::text_id(text.as_bytes()).map(Interned)
}

/// Calls a function, in a thread of its own, whenever the consumer's state changes: connected,
/// spooling, degraded, full, lost, or records that could not be delivered.  Ends when it is dropped.
#[derive(Debug)]
pub struct StatusWatch {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for StatusWatch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        writer::wake_status_waiters();
        if let Some(thread) = self.thread.take() {
            // A panic of the function was said already.
            let _ = thread.join();
        }
    }
}

/// How often the watch looks whether the consumer is still there, and whether it is to end itself.
const LOOK_NS: u64 = 200_000_000;

/// Begins to watch the consumer's state.  The function must not wait for a flush.
///
/// # Errors
/// If no thread can be made.
pub fn on_status(
    mut call: impl FnMut(&ConsumerStatus) + Send + 'static,
) -> std::io::Result<StatusWatch> {
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let mut known: Option<ConsumerStatus> = None;
    let watch = move || {
        while !over.load(Ordering::Acquire) {
            if let Some(status) = writer::consumer_status() {
                let is_new = known.as_ref().is_none_or(|known| {
                    let one = (known.state, known.failure, known.range_count, &known.message);
                    one != (status.state, status.failure, status.range_count, &status.message)
                });
                let sequence = status.sequence;
                if is_new {
                    call(&status);
                    known = Some(status);
                }
                writer::wait_for_status(sequence, LOOK_NS);
            } else {
                std::thread::sleep(Duration::from_nanos(LOOK_NS));
            }
        }
    };
    let builder = std::thread::Builder::new().name("log-status".to_owned());
    Ok(StatusWatch { is_over, thread: Some(builder.spawn(watch)?) })
}

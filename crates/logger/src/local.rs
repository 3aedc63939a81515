//! Outputs of the process itself: a thread that drains its rings into a sink.  For programs that run
//! without `whit log proxy`; what it does not deliver, `whit log recover` finds.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use log_format::{Drain, DrainCounters, DrainError, LogRecord, LogSink};
use logring::{ConsumerState, Error, Tier, clock, writer};

/// How the thread works.
#[derive(Clone, Copy, Debug)]
pub struct LocalOptions {
    /// How old a record must be before it is written, so that threads are in order.
    pub horizon: Duration,
    /// Longest pause when little is logged.  After 100 ms without a record the next one wakes the thread,
    /// which else looks once a second: at levels and clocks.
    pub idle: Duration,
    /// Remove the process's files at the end, if all was written.
    pub removes_files: bool,
}

impl Default for LocalOptions {
    fn default() -> Self {
        LocalOptions {
            horizon: Duration::from_millis(1),
            idle: Duration::from_millis(20),
            removes_files: true,
        }
    }
}

/// Between two looks at levels and clocks.
const SECOND_NS: u64 = 1_000_000_000;
/// The first pause after there was something to write.
const PAUSE_NS_MIN: u64 = 200_000;
/// The pause after an output has failed.
const FAILURE_PAUSE_NS: u64 = 200_000_000;
/// After so long without a record the next one is asked to wake the thread.
const QUIET_NS: u64 = 100_000_000;

/// The thread; at its drop it writes what is left, and ends.
#[derive(Debug)]
pub struct LocalOutput {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<DrainCounters>>,
}

impl LocalOutput {
    /// Begins to write this process's records to a sink.  A child of `fork` begins its own.
    ///
    /// # Errors
    /// Before `start`, if another consumer has the rings, or no thread can be made.
    pub fn start(sink: Box<dyn LogSink>, options: LocalOptions) -> Result<Self, Error> {
        let failed = |error| Error::Io { what: "local output".to_owned(), source: error };
        let (process, _) = writer::local_files()?;
        if !process.claim()? {
            return Err(failed(io::Error::from(io::ErrorKind::AddrInUse)));
        }
        let mut drain = Drain::new();
        drain.add_process(process);
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let mut worker = Worker {
            drain,
            sink: Levelled { sink, levels: HashMap::new() },
            rings: 0,
            looked_ns: 0,
            state: ConsumerState::None,
            worked_ns: clock::boottime_ns(),
            options,
        };
        let builder = std::thread::Builder::new().name("log-output".to_owned());
        let thread = builder.spawn(move || worker.run(&over)).map_err(failed)?;
        Ok(LocalOutput { is_over, thread: Some(thread) })
    }

    /// Writes what is left, ends, and says how much was written.
    #[must_use]
    pub fn stop(mut self) -> DrainCounters {
        self.end()
    }

    fn end(&mut self) -> DrainCounters {
        self.is_over.store(true, Ordering::Release);
        writer::wake_local();
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for LocalOutput {
    fn drop(&mut self) {
        self.end();
    }
}

/// Leaves out records below the local level of their logger.
struct Levelled {
    sink: Box<dyn LogSink>,
    levels: HashMap<String, u8>,
}

impl LogSink for Levelled {
    fn write(&mut self, record: &LogRecord<'_>) -> io::Result<()> {
        let least = self.levels.get(record.logger()).copied().unwrap_or(0);
        if record.level().number() < least {
            return Ok(());
        }
        self.sink.write(record)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sink.sync()
    }
}

struct Worker {
    drain: Drain,
    sink: Levelled,
    /// Rings that the process had made when they were last added.
    rings: u32,
    looked_ns: u64,
    state: ConsumerState,
    /// When there last was a record, or something woke the thread.
    worked_ns: u64,
    options: LocalOptions,
}

impl Worker {
    fn run(&mut self, is_over: &AtomicBool) -> DrainCounters {
        logring::wake_without_preempting();
        let mut pause_ns = PAUSE_NS_MIN;
        let mut wakes = writer::local_wakes();
        while !is_over.load(Ordering::Acquire) {
            let horizon_ns = nanoseconds(self.options.horizon);
            let count = self.round(clock::realtime_ns().saturating_sub(horizon_ns));
            let now_ns = clock::boottime_ns();
            let seen = std::mem::replace(&mut wakes, writer::local_wakes());
            if matches!(count, Ok(1..)) || wakes != seen {
                (self.worked_ns, pause_ns) = (now_ns, PAUSE_NS_MIN);
            } else {
                pause_ns = (pause_ns * 2).min(nanoseconds(self.options.idle));
            }
            if count.is_err() {
                self.sleep_through(FAILURE_PAUSE_NS, is_over);
            } else if now_ns.saturating_sub(self.worked_ns) >= QUIET_NS && self.will_wake() {
                writer::wait_for_local_wake(wakes, SECOND_NS);
            } else {
                writer::wait_for_local_wake(wakes, pause_ns);
            }
        }
        let is_done = self.round(u64::MAX).is_ok();
        let removes = is_done && self.options.removes_files;
        self.tell(ConsumerState::Ended, 0, "");
        if removes && let Ok((process, rings)) = writer::local_files() {
            // The proxy finds no orphans; what is logged from now on ends with the process.
            rings.iter().for_each(|ring| drop(std::fs::remove_file(ring.path())));
            drop(std::fs::remove_file(process.path()));
        }
        self.drain.counters()
    }

    /// Sleeps, whatever is logged, unless the output is to end.
    fn sleep_through(&self, sleep_ns: u64, is_over: &AtomicBool) {
        let until_ns = clock::boottime_ns() + sleep_ns;
        loop {
            let wakes = writer::local_wakes();
            let left_ns = until_ns.saturating_sub(clock::boottime_ns());
            if left_ns == 0 || is_over.load(Ordering::Acquire) {
                break;
            }
            writer::wait_for_local_wake(wakes, left_ns);
        }
    }

    /// Whether the next record wakes this thread.  If not, it is asked to; the look after the next
    /// sleep finds what came before the writers saw that.
    fn will_wake(&mut self) -> bool {
        self.drain.processes().all(|process| {
            let will_wake = process.will_wake();
            if matches!(will_wake, Ok(false)) {
                let _ = process.ask_to_wake();
            }
            will_wake.unwrap_or(false)
        })
    }

    /// Drains what is older than a horizon.
    fn round(&mut self, horizon_ns: u64) -> Result<u64, DrainError> {
        let result = self.try_round(horizon_ns);
        match &result {
            Ok(_) => self.tell(ConsumerState::InProcess, 0, ""),
            Err(error) => {
                let code = match error {
                    DrainError::Sink(error) => error.raw_os_error().unwrap_or(0),
                    DrainError::Ring(_) => 0,
                };
                self.tell(ConsumerState::Degraded, code.unsigned_abs(), &error.to_string());
            }
        }
        result
    }

    fn try_round(&mut self, horizon_ns: u64) -> Result<u64, DrainError> {
        let now_ns = clock::boottime_ns();
        let is_second = now_ns.saturating_sub(self.looked_ns) >= SECOND_NS;
        let (mut rings, mut wanted) = (0, 0);
        for process in self.drain.processes() {
            rings = process.ring_count()?;
            wanted = process.flush_wanted()?;
            if is_second {
                process.calibrate(process.clocks_now())?;
                process.set_heartbeat(now_ns)?;
                let loggers = process.loggers()?;
                self.sink.levels =
                    loggers.into_iter().map(|one| (one.name, one.level_local)).collect();
            }
        }
        if is_second {
            self.looked_ns = now_ns;
        }
        if rings != self.rings {
            for ring in writer::local_files()?.1 {
                self.drain.add_ring(ring);
            }
            self.rings = rings;
        }
        // A flush does not wait for the horizon.
        let count =
            self.drain.round(&mut self.sink, if wanted > 0 { u64::MAX } else { horizon_ns })?;
        if wanted >= Tier::Synced as u32 {
            self.sink.sync()?;
            self.drain.raise(Tier::Synced)?;
        }
        if wanted > 0 {
            for process in self.drain.processes() {
                process.announce()?;
            }
        }
        drop(self.drain.take_finished());
        Ok(count)
    }

    /// Tells the process a new state.
    fn tell(&mut self, state: ConsumerState, failure: u32, message: &str) {
        if state == self.state {
            return;
        }
        self.state = state;
        for process in self.drain.processes() {
            // A file that cannot be written has no clients to be told.
            let _ = process.set_state(state, failure, message);
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

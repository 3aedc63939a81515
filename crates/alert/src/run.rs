//! A running book: a thread that takes steps, and one for each receiver.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use archive::Recordings;
use calendar::CivilZone;
use promql::{QueryContext, QueryLimits, SeriesStorage, Stop};
use service_account::{NOT_WRITTEN, WRITTEN_AGAIN};

use crate::book::AlertBook;
use crate::clock::{ClockSteps, now_ms};
use crate::deliver::AlertDeliverer;
use crate::heaviest::heaviest_lines;
use crate::log_lines::log_lines;
use crate::parts::ServiceParts;
use crate::rule::AlertRule;
use crate::surroundings::AlertSurroundings;

/// The longest wait of a thread without work.
const WAIT: Duration = Duration::from_secs(60);
/// Memory that a condition may use: it is asked all day long beside other work.
const LIMITS: QueryLimits = QueryLimits {
    points_max: 11_000,
    series_max: 10_000,
    memory_max: 48 << 20,
    small_bytes: usize::MAX,
};

/// What a run needs.
pub struct AlertRunSettings {
    /// The rules.
    pub rules: Vec<AlertRule>,
    /// The time between steps.
    pub interval: Duration,
    /// The folder of the book's file.
    pub folder: PathBuf,
    /// The account of a service's parts.
    pub parts: Option<PathBuf>,
    /// The store of log records.
    pub logs: Option<PathBuf>,
    /// The name of this machine.
    pub host: String,
    /// The address of the page; nothing for none.
    pub page: String,
    /// The zone of silence times.
    pub zone: CivilZone,
    /// What delivers.
    pub deliverer: AlertDeliverer,
}

/// Why a run does not start.
#[derive(Debug, thiserror::Error)]
pub enum AlertRunError {
    /// The file of states cannot be read.
    #[error("cannot read {}: move it away to begin without states", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The folder cannot be made, or the system gives no thread.
    #[error("cannot start alerts in {}", path.display())]
    Start {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Alerts that run in threads of their own until the process ends.
pub struct AlertRun {
    shared: Arc<Shared>,
}

/// What the threads share.
struct Shared {
    book: Mutex<AlertBook>,
    /// Tells receivers of new messages.
    has_messages: Condvar,
    is_ending: AtomicBool,
    folder: PathBuf,
    /// Whether the file could not be written last.
    is_unwritten: AtomicBool,
    say: Box<dyn Fn(&str) + Send + Sync>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, AlertBook> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the file; a full disk is no reason to stop.
    fn save(&self, book: &AlertBook, is_durable: bool) {
        let saved = book.save(&self.folder, is_durable);
        let was_unwritten = self.is_unwritten.swap(saved.is_err(), Ordering::Relaxed);
        let folder = self.folder.display();
        match saved {
            Err(error) if !was_unwritten => {
                (self.say)(&format!("{NOT_WRITTEN}cannot write {folder}: {error}"));
            }
            Ok(()) if was_unwritten => (self.say)(&format!("{WRITTEN_AGAIN}: {folder}")),
            _ => {}
        }
    }

    /// Delivers to a receiver, for ever.
    fn deliver(&self, to: &str, deliverer: &AlertDeliverer) {
        let mut book = self.lock();
        loop {
            let next = book.next(to);
            let wait = next.map_or(WAIT, |one| millis(one.wait_ms(now_ms())));
            let next = next.filter(|_| wait.is_zero()).map(|one| (one.id, one.message.clone()));
            let Some((id, message)) = next else {
                let waited = self.has_messages.wait_timeout(book, wait);
                (book, _) = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(book);
            let result = deliverer.deliver(to, &message);
            let result = result.map_err(|error| text::error_text::with_causes(&error));
            if let Err(error) = &result {
                let label =
                    crate::AlertReceiver::parse(to).map_or_else(|_| to.to_owned(), |to| to.label());
                (self.say)(&format!("cannot send to {label}: {error}; it is tried again"));
            }
            book = self.lock();
            book.note(id, now_ms(), result);
            self.save(&book, true);
        }
    }
}

fn millis(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

impl AlertRun {
    /// Starts the threads; `recordings` gives those of this moment.
    ///
    /// # Errors
    /// If the states cannot be read, or a thread cannot be started.
    pub fn start(
        settings: AlertRunSettings,
        storage: Arc<dyn SeriesStorage>,
        recordings: impl Fn() -> Option<Arc<Recordings>> + Send + 'static,
        say: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, AlertRunError> {
        let folder = settings.folder.clone();
        let start = |source| AlertRunError::Start { path: folder.clone(), source };
        std::fs::create_dir_all(&folder).map_err(start)?;
        let mut book = AlertBook::new(settings.rules.clone());
        let unreadable = |source| AlertRunError::State { path: folder.clone(), source };
        book.load(&folder).map_err(unreadable)?;
        let receivers = book.receivers();
        let shared = Arc::new(Shared {
            book: Mutex::new(book),
            has_messages: Condvar::new(),
            is_ending: AtomicBool::new(false),
            folder: folder.clone(),
            is_unwritten: AtomicBool::new(false),
            say: Box::new(say),
        });
        let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
            thread::Builder::new().name(name.to_owned()).spawn(work).map(drop).map_err(start)
        };
        let (stepping, deliverer) = (shared.clone(), settings.deliverer.clone());
        spawn("alerts", Box::new(move || step_on(&stepping, &settings, &storage, &recordings)))?;
        for to in receivers {
            let (shared, deliverer) = (shared.clone(), deliverer.clone());
            spawn("messages", Box::new(move || shared.deliver(&to, &deliverer)))?;
        }
        Ok(AlertRun { shared })
    }

    /// Writes the file for the last time: nothing is stepped or noted afterwards.
    pub fn end(&self) {
        self.shared.is_ending.store(true, Ordering::Relaxed);
        let book = self.shared.lock();
        self.shared.save(&book, true);
        // The threads end with the process, and must not begin anything.
        std::mem::forget(book);
    }
}

/// Takes steps, for ever.
fn step_on(
    shared: &Shared,
    settings: &AlertRunSettings,
    storage: &Arc<dyn SeriesStorage>,
    recordings: &dyn Fn() -> Option<Arc<Recordings>>,
) {
    let parts = settings.parts.clone();
    let parts = ServiceParts::new(storage.clone(), parts);
    let heaviest = |host: &str, what: &str, at_ms: i64| {
        recordings().map_or_else(Vec::new, |found| heaviest_lines(&found, host, what, at_ms))
    };
    let log =
        |period| settings.logs.as_ref().map_or_else(Vec::new, |store| log_lines(store, period));
    let stop = || shared.is_ending.load(Ordering::Relaxed).then_some(Stop::Cancelled);
    let around = AlertSurroundings {
        query: QueryContext { storage: &parts, limits: LIMITS, control: &stop },
        zone: &settings.zone,
        host: &settings.host,
        page: &settings.page,
        heaviest: &heaviest,
        log: &log,
    };
    let mut steps = ClockSteps::default();
    loop {
        let step_ms = steps.look();
        let now_ms = now_ms();
        parts.look(now_ms);
        let mut book = shared.lock();
        if step_ms != 0 {
            book.clock_was_set(step_ms);
        }
        let has_new = book.step(now_ms, &around);
        if stop().is_none() {
            shared.save(&book, has_new);
        }
        drop(book);
        if has_new {
            shared.has_messages.notify_all();
        }
        heap::before_wait(settings.interval);
        thread::sleep(settings.interval);
    }
}

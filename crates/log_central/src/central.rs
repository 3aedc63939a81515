//! The central server: takes frames from proxies, commits them, acknowledges what is committed.
//!
//! A thread for each connection reads and admits; one thread commits what has come meanwhile, so
//! commits group themselves: while the disk works, the next batch gathers.  What has no room waits
//! in the sockets.  Memory is bounded by [`AdmissionLimits`], whatever peers send.

mod admission;
mod answer;
mod committer;
mod complaints;
mod counters;
mod fuzzing;
mod kept;
mod limits;
mod marks;
mod newcomers;
mod peer;
mod recordings;
mod recordings_kept;
mod shared;
mod writers;

use std::io::{self, PipeReader, PipeWriter};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

pub use counters::CentralCounters;
#[doc(hidden)]
pub use fuzzing::{admit as fuzz_admission, take_recordings as fuzz_recordings};
pub use limits::AdmissionLimits;

use connection::ServerListener;
use log_protocol::auth;
use log_protocol::clock;
use log_protocol::frame::{FrameKind, Head};
use log_protocol::handshake::send;
use log_store::{OwnLog, WordIndexer};
use log_store::{Recovery, Retention, Store};
use newcomers::Newcomers;
use recorder::Keep;
use recordings::RecordingFolder;
use rustix::event::{PollFd, PollFlags, poll};
use sample::{AgeClock, Moment};
use shared::Shared;

/// How a central server works.
#[derive(Debug, Clone)]
pub struct CentralSettings {
    /// What every client must know.
    pub secret: Option<Vec<u8>>,
    /// How long a commit waits for more, if there is little.
    pub delay: Duration,
    /// What is kept.
    pub retention: Retention,
    /// What peers may use.
    pub limits: AdmissionLimits,
    /// Name of this host, of the server's own records.
    pub host: String,
    /// Acknowledge what was received before it is committed: what is not, a server that is killed
    /// loses, and the next records prove it.
    pub acks_on_receipt: bool,
    /// Where recordings of other hosts are written to, if they are taken.
    pub recordings: Option<RecordingsKept>,
}

/// Where recordings of other hosts go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingsKept {
    /// The folder.
    pub folder: PathBuf,
    /// Whether samples are on the disk when they are acknowledged, or only written.
    pub syncs: bool,
    /// What is kept of each host; without it everything.
    pub keep: Option<Keep>,
}

impl RecordingsKept {
    /// In a folder; on the disk when they are acknowledged if `--ack` says `disk`.  Before they are written
    /// there is nothing that could be acknowledged.
    #[must_use]
    pub fn new(folder: PathBuf, ack: &str, keep: Option<Keep>) -> Self {
        RecordingsKept { folder, syncs: ack == "disk", keep }
    }
}

/// A central server that runs.
pub struct Central {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    is_stopping: Arc<AtomicBool>,
    /// When this is dropped, the threads that accept wake up.
    stops: PipeWriter,
}

/// How long a thread waits that could not accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Between two looks for segments that are closed.
const WORDS_WAIT: Duration = Duration::from_secs(10);
/// The same after a failure: a full disk stays full for a while.
const WORDS_PAUSE: Duration = Duration::from_secs(600);

impl Central {
    /// Starts the threads; what opening the store found becomes records of the server.
    ///
    /// # Errors
    /// If there are no random numbers or no threads, or the folder of recordings cannot be read.
    pub fn start(
        store: Store,
        recovery: &Recovery,
        listeners: Vec<ServerListener>,
        settings: CentralSettings,
    ) -> io::Result<Self> {
        let own = OwnLog::new(auth::random()?, settings.host.clone());
        let is_stopping = Arc::new(AtomicBool::new(false));
        let recordings = settings.recordings.as_ref();
        let recordings =
            recordings.map(|kept| RecordingFolder::open(&kept.folder, kept.syncs)).transpose()?;
        let shared = Shared::new(&store, own, settings, is_stopping.clone(), recordings);
        let shared = Arc::new(shared);
        shared.report_recovery(&store, recovery);
        let (stopped, stops) = io::pipe()?;
        let stopped = Arc::new(stopped);
        let mut threads = Vec::new();
        let committing = shared.clone();
        let name = |what: &str| std::thread::Builder::new().name(format!("log-{what}"));
        threads.push(name("commit").spawn(move || committer::run(&committing, store))?);
        let indexing = shared.clone();
        threads.push(name("words").spawn(move || index_words(&indexing))?);
        if let Some(keep) = shared.settings.recordings.as_ref().and_then(|kept| kept.keep) {
            let keeping = shared.clone();
            threads.push(name("keep").spawn(move || keep_recordings(&keeping, keep))?);
        }
        for listener in listeners {
            let (shared, stopped) = (shared.clone(), stopped.clone());
            threads.push(name("accept").spawn(move || accept(&listener, &shared, &stopped))?);
        }
        Ok(Central { shared, threads, is_stopping, stops })
    }

    /// Has a thread unparked whenever there are messages to take.
    pub fn unpark_for_messages(&self, thread: Thread) {
        self.shared.unpark_for_messages(thread);
    }

    /// What it has done.
    #[must_use]
    pub fn counters(&self) -> CentralCounters {
        self.shared.counters()
    }

    /// What whoever runs it should know, since the last call: peers that were sent away, commits that
    /// fail.
    #[must_use]
    pub fn take_messages(&self) -> Vec<String> {
        self.shared.take_messages()
    }

    /// Stops: commits what was admitted, then ends the connections.
    pub fn stop(self) {
        self.is_stopping.store(true, Ordering::Release);
        drop(self.stops);
        self.shared.stop();
        for thread in self.threads {
            thread.thread().unpark();
            // A thread that panicked has nothing more to end.
            let _ = thread.join();
        }
    }
}

/// Makes the files of words that closed segments lack, until the server stops.
fn index_words(shared: &Shared) {
    let mut indexer = WordIndexer::new(&shared.folder);
    while !shared.is_stopping() {
        let wait = match indexer.advance(&|| shared.is_stopping()) {
            Ok(_) => WORDS_WAIT,
            Err(error) => {
                shared.complain(&format!("cannot say which words segments have: {error}"));
                WORDS_PAUSE
            }
        };
        if !shared.is_stopping() {
            std::thread::park_timeout(wait);
        }
    }
}

/// Deletes recordings of other hosts that are kept no longer, until the server stops.
fn keep_recordings(shared: &Shared, keep: Keep) {
    let Some(folder) = &shared.recordings else { return };
    let moment = || Moment {
        monotonic_ns: clock::since_boot_ns(),
        realtime_ns: i64::try_from(clock::now_ns()).unwrap_or(i64::MAX),
    };
    let mut ages = AgeClock::start(recordings_kept::newest_ns(folder), moment());
    let mut said = Vec::new();
    while !shared.is_stopping() {
        let latest = recordings_kept::purge(folder, keep, ages.look(moment()));
        // What stays so is said once.
        latest.iter().filter(|text| !said.contains(*text)).for_each(|text| shared.say(text));
        said = latest;
        std::thread::park_timeout(recordings_kept::LOOK_WAIT);
    }
}

/// Accepts connections until the other end of `stopped` is closed.
fn accept(listener: &ServerListener, shared: &Arc<Shared>, stopped: &PipeReader) {
    let limit = shared.settings.limits.newcomers;
    let newcomers = Newcomers::new(limit, listener.tls.is_none());
    loop {
        let mut ready =
            [PollFd::new(&listener.socket, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
        if poll(&mut ready, None).is_err() {
            // A signal ended the wait, and that is all.
            continue;
        }
        if !ready[1].revents().is_empty() {
            return;
        }
        let Ok((mut connection, from)) = listener.socket.accept() else {
            // No descriptors, or the peer went away: the next may succeed.
            std::thread::sleep(ACCEPT_PAUSE);
            continue;
        };
        // Whoever is too much is closed at once, and tries again.
        let Some(place) = shared.place(&from) else {
            let why = "as many clients are connected as may be: try again later";
            shared.complain(&format!("connection of {from}: closed: {why}"));
            if listener.tls.is_none() {
                // The first bytes of a connection always have room.
                let _ = send(&mut connection, Head::plain(FrameKind::Refused), why.as_bytes());
            }
            continue;
        };
        let (newcomer, said) = newcomers.add(from.clone(), &connection);
        if let Some(said) = said {
            shared.complain(&said);
        }
        let arrival = peer::Arrival { connection, tls: listener.tls.clone(), from, newcomer };
        let serving = shared.clone();
        let builder = std::thread::Builder::new().name("log-peer".to_owned());
        // A thread that is not started gives the places back.
        let _ = builder.spawn(move || {
            peer::run(&serving, arrival);
            drop(place);
        });
    }
}

//! Makes side files of recordings in the background, so that a question reads the columns that it wants
//! and no others.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, Thread};
use std::time::Duration;
use std::{io, thread};

use crate::RecordingStorage;
use crate::clock::Deadline;

/// How often it looks for what was recorded since.
const EVERY: Duration = Duration::from_mins(1);

/// A folder in which a side file could not be written is left alone for so long.
const LEFT_ALONE: Duration = Duration::from_hours(1);

/// The thread that makes side files, at the lowest priority for processor and disk.  Dropping it ends
/// it after the file at hand; a process that ends meanwhile leaves the side file as it was.
pub struct SideFileMaker {
    ends: Arc<AtomicBool>,
    thread: Thread,
}

impl SideFileMaker {
    /// Starts the thread.  `say` takes what could not be written, once for each folder.
    ///
    /// # Errors
    /// The system refuses the thread.
    pub fn start(
        storage: Arc<RecordingStorage>,
        say: impl Fn(&str) + Send + 'static,
    ) -> io::Result<Self> {
        let ends = Arc::new(AtomicBool::new(false));
        let own = ends.clone();
        let make = move || {
            // The disk's priority follows from it.
            let _ = rustix::process::setpriority_process(None, 19);
            let mut rounds = Rounds::new(&own, &say);
            while !own.load(Ordering::Relaxed) {
                rounds.make(&storage);
                thread::park_timeout(EVERY);
            }
        };
        let thread = Builder::new().name("side-files".into()).spawn(make)?.thread().clone();
        Ok(SideFileMaker { ends, thread })
    }
}

impl Drop for SideFileMaker {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }
}

/// What was done so far.
struct Rounds<'a> {
    ends: &'a AtomicBool,
    say: &'a dyn Fn(&str),
    /// Recordings that grow no more and have their side files, by path and start.
    done: HashSet<(PathBuf, i64)>,
    /// Folders in which a side file could not be written, and until when they are left alone.
    refused: HashMap<PathBuf, Deadline>,
}

impl<'a> Rounds<'a> {
    fn new(ends: &'a AtomicBool, say: &'a dyn Fn(&str)) -> Self {
        Rounds { ends, say, done: HashSet::new(), refused: HashMap::new() }
    }

    /// Makes what is missing.
    fn make(&mut self, storage: &RecordingStorage) {
        // What cannot be read is said to who asks.
        let Ok(recordings) = storage.recordings() else { return };
        let mut done = HashSet::new();
        for (span, recording) in recordings.singles() {
            if self.ends.load(Ordering::Relaxed) {
                return;
            }
            let may_grow = span.thru_ns.is_none();
            // All text of such a recording would be read again after each sample.
            if may_grow && recording.meta(0).is_some_and(|meta| meta.origin() == "collectl") {
                continue;
            }
            let key = (span.path, span.from_ns);
            let folder = key.0.parent().map(PathBuf::from).unwrap_or_default();
            let refused = self.refused.get(&folder);
            if self.done.contains(&key) {
                done.insert(key);
            } else if refused.is_none_or(|until| until.has_passed()) {
                match recording.write_side_files().first() {
                    None if may_grow => {}
                    None => drop(done.insert(key)),
                    Some(complaint) => self.refuse(folder, complaint),
                }
            }
        }
        self.done = done;
    }

    fn refuse(&mut self, folder: PathBuf, complaint: &str) {
        if self.refused.insert(folder, Deadline::after(LEFT_ALONE)).is_none() {
            (self.say)(&format!("{complaint}; without side files answers take longer"));
        }
    }
}

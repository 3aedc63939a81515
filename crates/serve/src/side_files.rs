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
                heap::before_wait(EVERY);
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

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;

    use archive::{RangeCost, RangeQuery, RangeSeries};

    use super::*;

    const BEGUN_S: u64 = 1_767_261_600;

    /// A recording of collectl with so many samples, a second apart.
    fn write(folder: &Path, begun_s: u64, samples: u64) -> PathBuf {
        let mut text = format!(
            "# Collectl:   V4.3.1-1  HiRes: 1  Options: -sc -i1 \n\
             # Host:       one  DaemonOpts: \n\
             # Date:       20260101-100000  Secs: {begun_s} TZ: +0000\n\
             # SubSys:     c Options:  Interval: 1 NumCPUs: 1  NumBud: 3 Flags: i\n"
        );
        for at_s in begun_s..begun_s + samples {
            let ran = at_s - BEGUN_S;
            let line = |name| format!("{name} {} 0 {ran} {} 0 0 0 0 0 0", 3 * ran, 90 * ran);
            writeln!(text, ">>> {at_s}.000 <<<\n{}\n{}", line("cpu "), line("cpu0")).unwrap();
        }
        let path = folder.join(format!("one-{begun_s}.raw"));
        std::fs::write(&path, text).unwrap();
        path
    }

    /// What the first ten minutes have, in steps of five, which are windows of a summary.
    fn asked(storage: &RecordingStorage) -> (Vec<RangeSeries>, RangeCost) {
        let second_ns = 1_000_000_000;
        let from_ns = BEGUN_S.cast_signed() * second_ns;
        let query = RangeQuery {
            host: "one".into(),
            source: "cpu".into(),
            fields: vec!["user".into(), "idle".into()],
            from_ns,
            thru_ns: from_ns + 600 * second_ns,
            step_ns: 300 * second_ns,
            ..RangeQuery::default()
        };
        let answer = storage.recordings().unwrap().range(&query).unwrap();
        (answer.series, answer.cost)
    }

    #[test]
    fn a_recording_of_collectl_gets_a_summary_when_the_next_one_has_begun() {
        let folder = tempfile::tempdir().unwrap();
        let (ends, say) = (AtomicBool::new(false), |text: &str| panic!("{text}"));
        let mut rounds = Rounds::new(&ends, &say);
        let mut make = || {
            let (storage, _) = RecordingStorage::open(&[folder.path().to_owned()]).unwrap();
            rounds.make(&storage);
            storage
        };
        let has_summary = |path: &Path| path.with_extension("raw.summary").exists();
        let growing = write(folder.path(), BEGUN_S, 200);
        make();
        let growing_on = write(folder.path(), BEGUN_S, 700);
        assert_eq!(growing, growing_on);
        let storage = make();
        assert!(!has_summary(&growing));
        let (by_samples, cost) = asked(&storage);
        assert_eq!(by_samples.len(), 2, "{by_samples:?}");
        assert_eq!((cost.readings, cost.windows), (600, 0));
        let next = write(folder.path(), BEGUN_S + 700, 20);
        let storage = make();
        assert!(has_summary(&growing) && !has_summary(&next));
        let (by_windows, cost) = asked(&storage);
        assert_eq!(by_windows, by_samples);
        assert_eq!((cost.readings, cost.windows), (0, 4));
    }
}

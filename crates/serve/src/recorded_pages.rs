//! The newest samples of recordings: of each machine the last sample of the recording that was written
//! last, and of others that are written beside it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use archive::Recordings;
use feed::{Cursor, CursorSettings, FeedError, Motion, Origin, RecordedFile};
use hyper::body::Bytes;
use layout::{Frame, Options};
use sample::{History, Meta, SourceDef};
use service_account::{pollers_files, read_pollers};
use std::sync::Arc;
use view::{PageForm, PageHost};

use crate::RecordingStorage;
use crate::metrics::{NewestError, NewestSamples, PageCache, write_page};
use crate::pollers_page::with_pollers;

/// A recording that was written so long before the newest of its machine is not written any more,
/// unless its interval is long.
const BESIDE: Duration = Duration::from_secs(60);

/// The source that is read least often of those that a page should have.
const SLOWEST: &str = "process";

/// Pages of the recordings that queries are answered from: a recorder may add some at any time.
pub struct RecordedPages {
    storage: Arc<RecordingStorage>,
    latest: Mutex<Latest>,
}

/// The latest pages, and what they were made of.
#[derive(Default)]
struct Latest {
    files: Vec<(PathBuf, SystemTime, u64)>,
    pages: PageCache,
}

/// The last sample of a recording.
struct LastSample {
    meta: Meta,
    defs: Vec<Arc<SourceDef>>,
    history: History,
}

impl RecordedPages {
    /// Pages of these recordings.
    #[must_use]
    pub fn new(storage: Arc<RecordingStorage>) -> Self {
        RecordedPages { storage, latest: Mutex::default() }
    }

    /// The recordings that have the newest samples, those of one machine one after the other.
    fn newest(recordings: &Recordings) -> Vec<(&RecordedFile, SystemTime)> {
        let mut machines: BTreeMap<&str, Vec<(&RecordedFile, SystemTime)>> = BTreeMap::new();
        for file in recordings.recorded_files().filter(|file| file.origin == Origin::Whit) {
            let written = file.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            machines.entry(file.meta.host()).or_default().push((file, written));
        }
        for files in machines.values_mut() {
            files.sort_by_key(|(file, written)| {
                std::cmp::Reverse((*written, file.started_ns, file.path.clone()))
            });
            let newest = files[0].1;
            files.retain(|(file, written)| {
                let slow = Duration::from_nanos(file.meta.interval_ns().saturating_mul(3));
                newest.duration_since(*written).unwrap_or_default() <= slow.max(BESIDE)
            });
        }
        machines.into_values().flatten().collect()
    }
}

impl NewestSamples for RecordedPages {
    fn page(&self, form: PageForm, bytes_max: usize) -> Result<Bytes, NewestError> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let recordings = self.storage.recordings()?;
        // A page with nothing on it would say that the machines are well.
        if recordings.is_empty() {
            return Err(NewestError::Gone);
        }
        let newest = Self::newest(&recordings);
        let size = |file: &RecordedFile| file.path.metadata().map_or(0, |data| data.len());
        let of_pollers = recordings.device_folders().into_iter().flat_map(pollers_files);
        let of_pollers: Vec<PathBuf> = of_pollers.collect();
        let facts = |path: &PathBuf| {
            let facts = path.metadata().ok()?;
            Some((path.clone(), facts.modified().unwrap_or(SystemTime::UNIX_EPOCH), facts.len()))
        };
        let files: Vec<_> = newest
            .iter()
            .map(|(file, written)| (file.path.clone(), *written, size(file)))
            .chain(of_pollers.iter().filter_map(facts))
            .collect();
        if latest.files != files {
            *latest = Latest { files, pages: PageCache::default() };
        }
        latest.pages.get(form, || {
            let samples = newest.iter().filter_map(|(file, _)| last_sample(file).transpose());
            let samples = samples.collect::<Result<Vec<LastSample>, FeedError>>()?;
            let options = Options::default();
            let hosts: Vec<_> = samples
                .iter()
                .map(|sample| {
                    let host = PageHost { meta: &sample.meta, defs: &sample.defs };
                    (host, Frame::new(&sample.history, &sample.meta, &options))
                })
                .collect();
            let page = write_page(form, &hosts, "instance", bytes_max)?;
            let pollers = of_pollers.iter().filter_map(|path| read_pollers(path).ok().flatten());
            with_pollers(page, form, &pollers.collect::<Vec<_>>(), bytes_max)
        })
    }
}

/// The last sample; `None` if a recorder has just begun.
fn last_sample(file: &RecordedFile) -> Result<Option<LastSample>, FeedError> {
    let local = file.zone.clone();
    let settings =
        CursorSettings { entries: Vec::new(), slowest: SLOWEST, local, history_samples: 0 };
    let (mut cursor, meta) = match Cursor::open(&file.path, settings) {
        Err(FeedError::NoSamples(_)) => return Ok(None),
        opened => opened?,
    };
    let defs = cursor.defs().to_vec();
    let mut history = History::new(&defs);
    cursor.go(Motion::Last, &mut history, &mut |_, _| {})?;
    Ok((history.ticks() > 0).then_some(LastSample { meta, defs, history }))
}

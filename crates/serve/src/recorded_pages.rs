//! The newest samples of recordings: of each machine the last sample of the recording that was written
//! last, and of others that are written beside it.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use archive::Recordings;
use feed::{Cursor, CursorSettings, FeedError, Motion, Origin, RecordedFile};
use layout::{Frame, Options};
use metric_names::metric_name;
use sample::{History, Meta, SourceDef};
use service_account::{pollers_files, read_pollers};
use view::{PageForm, PageHost, ScrapePage};

use crate::RecordingStorage;
use crate::metrics::{NewestError, NewestPage, NewestSamples};
use crate::pollers_page::pollers_text;

/// A recording that was written so long before the newest of its machine is not written any more,
/// unless its interval is long.
const BESIDE: Duration = Duration::from_secs(60);

/// The source that is read least often of those that a page should have.
const SLOWEST: &str = "process";

/// What a row takes beside its values: its name, twice, and its labels.
const ROW_BYTES: usize = 300;

/// What a page takes beside its samples: the heads of its families.
const PAGE_BYTES: usize = 256 << 10;

/// Pages of the recordings that queries are answered from: a recorder may add some at any time.
pub struct RecordedPages {
    storage: Arc<RecordingStorage>,
    latest: Mutex<Latest>,
}

/// The latest samples, and of which files they are.
#[derive(Default)]
struct Latest {
    files: Vec<(PathBuf, SystemTime, u64)>,
    /// They are kept as long as a page is made of them.
    samples: Weak<Samples>,
}

/// What a page is made of.
struct Samples {
    of_hosts: Vec<LastSample>,
    /// What is known of pollers, as text.
    pollers: String,
    bytes: usize,
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
    fn page(&self, form: PageForm) -> Result<NewestPage, NewestError> {
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
            *latest = Latest { files, samples: Weak::new() };
        }
        let samples = match latest.samples.upgrade() {
            Some(samples) => samples,
            None => {
                let read = newest.iter().filter_map(|(file, _)| last_sample(file).transpose());
                let read = read.collect::<Result<Vec<LastSample>, FeedError>>()?;
                let pollers =
                    of_pollers.iter().filter_map(|path| read_pollers(path).ok().flatten());
                let pollers = pollers_text(&pollers.collect::<Vec<_>>());
                let samples = Arc::new(Samples::of(read, pollers));
                latest.samples = Arc::downgrade(&samples);
                samples
            }
        };
        Ok(samples.page(form))
    }
}

impl Samples {
    fn of(of_hosts: Vec<LastSample>, pollers: String) -> Self {
        let tracks = of_hosts.iter().flat_map(|one| one.history.tracks());
        // Two readings, and the labels of a row while a page is written.
        let bytes = tracks.map(|track| {
            track.current.table.rows() * (2 * size_of::<u64>() * track.def.fields.len() + ROW_BYTES)
        });
        let bytes = bytes.sum::<usize>() + pollers.len() + PAGE_BYTES;
        Samples { of_hosts, pollers, bytes }
    }

    /// A page, which is written while it is sent.
    fn page(self: Arc<Self>, form: PageForm) -> NewestPage {
        let mut page = {
            let hosts = self.of_hosts.iter();
            let hosts = hosts.map(|one| PageHost { meta: &one.meta, defs: &one.defs });
            ScrapePage::of_hosts(form, &hosts.collect::<Vec<_>>(), "instance", metric_name)
        };
        let (bytes, options) = (self.bytes, Options::default());
        let write = move |text: &mut String| {
            let frames = self.of_hosts.iter();
            let frames = frames.map(|one| Frame::new(&one.history, &one.meta, &options));
            let frames: Vec<Frame<'_>> = frames.collect();
            // A string takes everything.
            let is_more = page.write_next(&frames, &mut Appended(text)).unwrap_or(false);
            if !is_more {
                text.push_str(&self.pollers);
                text.push_str(form.end());
            }
            is_more
        };
        NewestPage::Written { bytes, write: Box::new(write) }
    }
}

/// Appends what is written to a text.
struct Appended<'a>(&'a mut String);

impl Write for Appended<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // What is written at a time are whole texts.
        self.0.push_str(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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

//! The newest sample of a recorder, for readers that it never waits for.
//!
//! Of three places one is the recorder's, one the readers', and one holds the newest sample.  The
//! recorder copies a sample into its own place and exchanges this with the newest, which is one atomic
//! operation; a reader exchanges its own the same way.  So nobody waits, a sample that nobody reads is
//! overwritten, and once the places are large enough nothing is allocated.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::body::Bytes;
use layout::{Frame, Options};
use sample::{History, Meta, Sample, Snapshot, SourceDef, State};
use view::{PageForm, PageHost};

use crate::metrics::{NewestError, NewestPage, NewestSamples, write_page};

/// Marks the number of the place in the middle: nobody has read it yet.
const IS_NEW: u8 = 4;

/// The three places.  Each has a lock, which only its owner takes.
struct SnapshotBuffers {
    places: [Mutex<Snapshot>; 3],
    middle: AtomicU8,
}

impl SnapshotBuffers {
    /// A place, by its owner, who never waits for it.
    fn own(&self, place: u8) -> MutexGuard<'_, Snapshot> {
        self.places[usize::from(place)].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The recorder's side.
pub struct SamplePublisher {
    places: Arc<SnapshotBuffers>,
    own: u8,
    /// The latest reading of each source: a snapshot has those of one tick.
    latest: Vec<Sample>,
}

/// The readers' side: pages of the newest sample.
pub struct LivePages {
    places: Arc<SnapshotBuffers>,
    meta: Meta,
    defs: Vec<Arc<SourceDef>>,
    options: Options,
    reader: Mutex<LiveReader>,
}

struct LiveReader {
    own: u8,
    history: History,
    pages: PageCache,
}

/// The latest page in each format.
#[derive(Default)]
struct PageCache([Option<Bytes>; 2]);

impl PageCache {
    /// The page in a format; `make` makes it if there is none.
    fn get(
        &mut self,
        form: PageForm,
        make: impl FnOnce() -> Result<Bytes, NewestError>,
    ) -> Result<Bytes, NewestError> {
        let place = &mut self.0[usize::from(form == PageForm::PrometheusText)];
        match place {
            Some(page) => Ok(page.clone()),
            None => Ok(place.insert(make()?).clone()),
        }
    }
}

/// Both sides, for the samples of these sources.
#[must_use]
pub fn live_samples(meta: Meta, defs: &[Arc<SourceDef>]) -> (SamplePublisher, LivePages) {
    let places = Arc::new(SnapshotBuffers {
        places: [(); 3].map(|()| Mutex::new(Snapshot::new(defs))),
        middle: AtomicU8::new(1),
    });
    let latest = defs.iter().map(|def| Sample::new(def)).collect();
    let publisher = SamplePublisher { places: places.clone(), own: 0, latest };
    let reader = LiveReader { own: 2, history: History::new(defs), pages: PageCache::default() };
    let (defs, options) = (defs.to_vec(), Options::default());
    let pages = LivePages { places, meta, defs, options, reader: Mutex::new(reader) };
    (publisher, pages)
}

impl SamplePublisher {
    /// Makes the readings of this tick the newest.  Waits for nobody and makes no system call.
    pub fn publish(&mut self, snapshot: &Snapshot) {
        let read = snapshot.samples.iter().zip(&snapshot.fresh).zip(&mut self.latest);
        for ((sample, _), latest) in read.filter(|((_, fresh), _)| **fresh) {
            copy(sample, latest);
        }
        let mut place = self.places.own(self.own);
        place.monotonic_ns = snapshot.monotonic_ns;
        place.realtime_ns = snapshot.realtime_ns;
        for (latest, kept) in self.latest.iter().zip(&mut place.samples) {
            if (latest.monotonic_ns, latest.state) != (kept.monotonic_ns, kept.state) {
                copy(latest, kept);
            }
        }
        for (latest, fresh) in self.latest.iter().zip(&mut place.fresh) {
            *fresh = latest.state != State::NotRecorded;
        }
        drop(place);
        self.own = self.places.middle.swap(self.own | IS_NEW, Ordering::AcqRel) & !IS_NEW;
    }
}

fn copy(from: &Sample, to: &mut Sample) {
    to.monotonic_ns = from.monotonic_ns;
    to.realtime_ns = from.realtime_ns;
    to.cost_ns = from.cost_ns;
    to.state = from.state;
    to.table.copy_from(&from.table);
}

impl NewestSamples for LivePages {
    fn page(&self, form: PageForm) -> Result<NewestPage, NewestError> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let LiveReader { own, history, pages } = &mut *reader;
        if self.places.middle.load(Ordering::Acquire) & IS_NEW != 0 {
            *own = self.places.middle.swap(*own, Ordering::AcqRel) & !IS_NEW;
            history.push(&mut self.places.own(*own));
            *pages = PageCache::default();
        }
        let page = pages.get(form, || {
            let host = PageHost { meta: &self.meta, defs: &self.defs };
            write_page(form, host, Frame::new(history, &self.meta, &self.options))
        });
        page.map(NewestPage::Whole)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use sample::{Field, Kind};
    use testkit::allocations_of;

    use super::*;

    const START_S: u64 = 1_700_000_000;

    fn defs() -> Vec<Arc<SourceDef>> {
        source::definitions().iter().filter(|def| def.name == "memory").cloned().collect()
    }

    /// A sample in which every field has this value.
    fn fill(snapshot: &mut Snapshot, def: &SourceDef, value: u64) {
        snapshot.realtime_ns = ((START_S + value) * 1_000_000_000) as i64;
        snapshot.monotonic_ns = value * 1_000_000_000 + 1;
        let sample = &mut snapshot.samples[0];
        (sample.state, sample.monotonic_ns) = (State::Ok, snapshot.monotonic_ns);
        sample.realtime_ns = snapshot.realtime_ns;
        sample.table.begin();
        let mut row = sample.table.row(b"");
        let is_number = |field: &Field| field.kind != Kind::Text;
        for (index, _) in def.fields.iter().enumerate().filter(|(_, field)| is_number(field)) {
            row.set(index, value);
        }
        snapshot.fresh[0] = true;
    }

    /// A page as a whole.
    fn whole(pages: &LivePages, form: PageForm) -> Bytes {
        match pages.page(form).unwrap() {
            NewestPage::Whole(page) => page,
            NewestPage::Written { .. } => panic!("a page in pieces"),
        }
    }

    /// The values of the fields that have no unit, and the times, of a page.
    fn read(page: &Bytes) -> Vec<(u64, u64)> {
        let text = std::str::from_utf8(page).unwrap();
        let points = text.lines().filter(|line| line.starts_with("node_memory_HugePages_"));
        let word = |line: &str, index| line.split(' ').nth(index).unwrap().parse().unwrap();
        points.map(|line| (word(line, 1), word(line, 2))).collect()
    }

    #[test]
    fn every_page_is_of_one_sample_and_the_last_is_of_the_newest() {
        let defs = defs();
        let (mut publisher, pages) = live_samples(Meta::new(), &defs);
        assert!(read(&whole(&pages, PageForm::PrometheusText)).is_empty());
        let ends = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut latest = 0;
                    while !ends.load(Ordering::Relaxed) {
                        let page = whole(&pages, PageForm::PrometheusText);
                        let points = read(&page);
                        for &(value, time) in &points {
                            assert_eq!(points[0].0, value);
                            assert_eq!(time, (START_S + value) * 1000);
                            assert!(value >= latest, "{value} after {latest}");
                            latest = value;
                        }
                    }
                });
            }
            let mut snapshot = Snapshot::new(&defs);
            for value in 1..=testkit::share(50_000) as u64 {
                fill(&mut snapshot, &defs[0], value);
                publisher.publish(&snapshot);
            }
            ends.store(true, Ordering::Relaxed);
        });
        let points = read(&whole(&pages, PageForm::PrometheusText));
        assert!(points.len() > 2, "{points:?}");
        assert!(points.iter().all(|point| point.0 == testkit::share(50_000) as u64));
    }

    #[test]
    fn the_recorder_allocates_nothing_however_slow_readers_are() {
        let defs = defs();
        let (mut publisher, pages) = live_samples(Meta::new(), &defs);
        let mut snapshot = Snapshot::new(&defs);
        for value in 1..10 {
            fill(&mut snapshot, &defs[0], value);
            publisher.publish(&snapshot);
            whole(&pages, PageForm::OpenMetrics);
        }
        // A reader that has begun and never ends.
        let _reader = pages.reader.lock().unwrap();
        let ((), allocations) = allocations_of(|| {
            for value in 10..1000 {
                fill(&mut snapshot, &defs[0], value);
                publisher.publish(&snapshot);
            }
        });
        assert_eq!(allocations.count, 0);
    }
}

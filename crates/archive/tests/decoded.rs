//! What an archive must say, from every sample of every file, decoded one after the other: values by
//! `sample::History` and `layout::Row`, as players have them.

use std::path::Path;
use std::sync::Arc;

use feed::{
    CollectlFeed, CollectlSettings, Feed, ImportedFeed, Origin, Position, RecordedFile, WhitFeed,
};
use layout::{Frame, Options};
use sample::{History, Kind, Snapshot, SourceDef};

/// One value of one field.
#[derive(Clone, Debug)]
pub(crate) struct Decoded {
    pub(crate) realtime_ns: i64,
    pub(crate) file: usize,
    pub(crate) instance: Vec<u8>,
    pub(crate) field: usize,
    pub(crate) number: f64,
    /// How much a counter grew, or the level.
    pub(crate) amount: f64,
    /// The time in which it grew; 0 for a gauge.
    pub(crate) seconds: f64,
}

/// The values of one source of one host.
pub(crate) struct Source {
    pub(crate) host: String,
    pub(crate) def: Arc<SourceDef>,
    pub(crate) values: Vec<Decoded>,
    /// From the first tick to the last.
    pub(crate) period_ns: (i64, i64),
}

/// Everything that the recordings of a folder have.
pub(crate) fn everything(folder: &Path) -> Vec<Source> {
    let (files, _) = feed::find(&[folder.to_owned()], None, &jiff::Zoned::now()).unwrap();
    let mut known: Vec<(String, Arc<SourceDef>)> = Vec::new();
    for file in &files {
        let feed = open(file, None);
        for def in feed.defs() {
            let key = (file.meta.host().to_owned(), def);
            if !known.iter().any(|known| known.0 == key.0 && known.1.name == key.1.name) {
                known.push(key);
            }
        }
    }
    known.into_iter().map(|(host, def)| decode(&files, host, def)).collect()
}

fn open(file: &RecordedFile, source: Option<&str>) -> Box<dyn Feed> {
    let is_wanted = |entry: &source::Entry| source.is_none_or(|source| source == entry.name);
    match file.origin {
        Origin::Whit => Box::new(WhitFeed::open(&file.path, i64::MIN, false).unwrap()),
        Origin::Collectl => {
            let recorded = file.meta.subsystems();
            let entries = source::ALL
                .iter()
                .copied()
                .filter(|entry| is_wanted(entry) && feed::has_text_for(&entry.def(), recorded));
            let entries: Vec<_> = entries.collect();
            let settings = CollectlSettings::default();
            Box::new(CollectlFeed::open(&file.path, &entries, &settings).unwrap())
        }
        origin @ (Origin::Atop | Origin::Sadc) => {
            let entries = source::ALL.iter().copied().filter(|entry| is_wanted(entry));
            let entries: Vec<_> = entries.collect();
            Box::new(ImportedFeed::open(&file.path, origin, &entries).unwrap())
        }
    }
}

fn decode(files: &[RecordedFile], host: String, def: Arc<SourceDef>) -> Source {
    let mut values = Vec::new();
    let mut period_ns = (i64::MAX, i64::MIN);
    let mut history = History::new(std::slice::from_ref(&def));
    let mut end: Option<Position> = None;
    let of_host = files.iter().enumerate().filter(|(_, file)| file.meta.host() == host);
    for (index, file) in of_host {
        let mut feed = open(file, Some(&def.name));
        let defs = feed.defs();
        let Some(source) = defs.iter().position(|own| own.name == def.name) else { continue };
        let overlaps = end.as_ref().is_some_and(|end| feed.overlaps(end).unwrap());
        let continues = overlaps || end.as_ref().is_some_and(|end| feed.continues(end).unwrap());
        if !continues {
            history.forget();
        }
        let mut snapshot = Snapshot::new(&defs);
        let options = Options::default();
        while feed.next(&mut snapshot).unwrap() {
            let before = |end: &Position| match end.monotonic_ns {
                0 => snapshot.realtime_ns <= end.realtime_ns,
                end_ns => snapshot.monotonic_ns <= end_ns,
            };
            if overlaps && end.as_ref().is_some_and(before) {
                continue;
            }
            period_ns =
                (period_ns.0.min(snapshot.realtime_ns), period_ns.1.max(snapshot.realtime_ns + 1));
            let mut own = Snapshot::new(std::slice::from_ref(&def));
            (own.monotonic_ns, own.realtime_ns) = (snapshot.monotonic_ns, snapshot.realtime_ns);
            own.restart = snapshot.restart;
            own.fresh[0] = snapshot.fresh[source];
            own.samples[0] = snapshot.samples[source].clone();
            history.push(&mut own);
            if !snapshot.fresh[source] {
                continue;
            }
            let frame = Frame::new(&history, &file.meta, &options);
            for row in frame.whole(&frame.tracks[0]).rows() {
                for (field, facts) in def.fields.iter().enumerate() {
                    let (number, amount, seconds) = match facts.kind {
                        Kind::Gauge => (row.gauge(field), row.gauge(field), Some(0.0)),
                        Kind::Counter => (row.rate(field), row.delta(field), row.seconds()),
                        Kind::Text => continue,
                    };
                    let Some((number, (amount, seconds))) = number.zip(amount.zip(seconds)) else {
                        continue;
                    };
                    values.push(Decoded {
                        realtime_ns: snapshot.realtime_ns,
                        file: index,
                        instance: row.name().to_vec(),
                        field,
                        number,
                        amount,
                        seconds,
                    });
                }
            }
        }
        let position = feed.position();
        let is_within = end.as_ref().is_some_and(|end| {
            overlaps
                && (position.monotonic_ns, position.realtime_ns)
                    <= (end.monotonic_ns, end.realtime_ns)
        });
        if !is_within {
            end = Some(position);
        }
    }
    Source { host, def, values, period_ns }
}

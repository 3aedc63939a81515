//! Makes a summary, or adds to one what was recorded since.

use std::fs::OpenOptions;
use std::io;
use std::sync::Arc;

use feed::{
    Beginning, CollectlFeed, CollectlSettings, Feed, FeedError, ImportedFeed, Origin, WhitFeed,
    has_text_for,
};
use recording::{ReadOutcome, Reader, SideWriter, put};
use sample::{Kind, Sample, Snapshot, SourceDef, State};

use super::cell::{Cell, Expected};
use super::column::{FieldBytes, FieldColumns};
use super::head::{Edge, SourceHead, Window};
use super::open_window::OpenWindow;
use super::out::{Body, Out};
use super::read::{BEGINS, ENDS, Segment, Summary};
use super::{
    FLAG_CLOCK_SET_BACK, SECOND_NS, coding, common_window_ns, floor, has_windows, lengths_ns,
    source_window_ns, tiers,
};
use crate::Error;
use crate::archived_file::ArchivedFile;
use crate::reading::SourceReading;
use crate::tracker::Tracker;

/// Cells (instances by fields) of a segment's sources after which it ends with the next window:
/// 32 MiB of them.
const SEGMENT_CELLS: usize = 1 << 18;

/// How long before a segment its first rates are searched, at first: two of collectl's third
/// intervals; then so many times longer.
const REACH_NS: i64 = 240 * SECOND_NS;
const REACH_GROWTH: i64 = 16;

/// Adds what a summary has not yet.  Of a recording that is being written, whole segments.  Does
/// nothing if another process is about it.
pub(crate) fn write(file: &ArchivedFile) -> Result<(), Error> {
    let path = super::path(&file.file.path);
    let failed = |source| Error::Summary { path: path.clone(), source };
    let length = std::fs::metadata(&file.file.path).map_err(failed)?.len();
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).clone();
    let out = options.open(&path).map_err(failed)?;
    if !out.metadata().map_err(failed)?.is_file() {
        return Err(failed(io::ErrorKind::AlreadyExists.into()));
    }
    // A filesystem without locks has no second writer, either, as far as can be told.
    if matches!(out.try_lock(), Err(std::fs::TryLockError::WouldBlock)) {
        return Ok(());
    }
    let mut out = Out::open(out, file, length).map_err(failed)?;
    match add(&mut out, file) {
        // What hours are made of is damaged: the whole summary is made again.
        Err(Error::Summary { source, .. }) if source.kind() == io::ErrorKind::InvalidData => {
            out.begin(file, 0).map_err(failed)?;
            add(&mut out, file)
        }
        added => added,
    }
}

fn add(out: &mut Out, file: &ArchivedFile) -> Result<(), Error> {
    if out.summary.clock_set_back {
        return Ok(());
    }
    if out.summary.tier(0).any(Segment::ends) {
        return tiers::write_hours(out, file, true);
    }
    if !is_due(&out.summary, file)? {
        return tiers::write_hours(out, file, false);
    }
    let mut reach_ns = REACH_NS.max(i64::try_from(file.file.meta.interval2_ns()).unwrap_or(0) * 3);
    let passed = loop {
        match Pass::run(out, file, reach_ns)? {
            Some(passed) => break passed,
            None => reach_ns = reach_ns.saturating_mul(REACH_GROWTH),
        }
    };
    match passed {
        ReadProgress::ClockSetBack => out.begin(file, FLAG_CLOCK_SET_BACK).map_err(|source| {
            let path = super::path(&file.file.path);
            Error::Summary { path, source }
        }),
        ReadProgress::Thru(is_whole) => tiers::write_hours(out, file, is_whole),
    }
}

/// Whether a pass would write something: a recording that grows gets a segment only when its time is
/// over, or when the clock was set back.  Reads the headers of closed blocks and the times of the open
/// one: a pass, which is asked for each minute, decodes all that is not in the summary, up to six
/// hours at a sample a second.
fn is_due(summary: &Summary, file: &ArchivedFile) -> Result<bool, Error> {
    if file.file.origin != Origin::Whit {
        return Ok(true);
    }
    let mut reader = Reader::open(&file.file.path, &[]).map_err(FeedError::from)?;
    let covered_ns = summary.tier(0).last().map_or(i64::MIN, Segment::thru_ns);
    let outline = reader.outline(covered_ns);
    if !reader.is_being_written() || outline.goes_back {
        return Ok(true);
    }
    let (_, segment_ns) = lengths_ns(&file.file.meta);
    let end_of = |from_ns: i64| floor(from_ns, segment_ns).saturating_add(segment_ns);
    // Without a closed block it is the first sample that tells.
    let mut end_ns = outline.from_ns.map(end_of);
    let mut latest_ns = outline.thru_ns.unwrap_or(i64::MIN);
    reader.focus(&[]);
    reader.seek_after_block(outline.last_block);
    let mut snapshot = Snapshot::new(&reader.defs());
    while end_ns.is_none_or(|end_ns| latest_ns < end_ns)
        && reader.next(&mut snapshot).map_err(FeedError::from)? == ReadOutcome::Sample
    {
        if snapshot.realtime_ns < latest_ns {
            return Ok(true);
        }
        latest_ns = snapshot.realtime_ns;
        end_ns = end_ns.or_else(|| (latest_ns >= covered_ns).then(|| end_of(latest_ns)));
    }
    Ok(end_ns.is_some_and(|end_ns| latest_ns >= end_ns))
}

/// How far a recording was read.
enum ReadProgress {
    /// To its end, and whether that is for good.
    Thru(bool),
    ClockSetBack,
}

/// The samples of a recording, once.
struct Pass<'a> {
    out: &'a mut Out,
    file: &'a ArchivedFile,
    sources: Vec<SourceBuilder>,
    /// The length of a part of a segment that has whole windows of every source.
    whole_ns: i64,
    /// The open segment: its first window, and the latest one.
    from_ns: Option<i64>,
    window_from_ns: i64,
    beginning: Option<Beginning>,
    latest: (u64, i64),
}

impl<'a> Pass<'a> {
    /// Reads what is not in the summary.  `None` if a source may have had a reading before.
    fn run(
        out: &'a mut Out,
        file: &'a ArchivedFile,
        reach_ns: i64,
    ) -> Result<Option<ReadProgress>, Error> {
        let covered = out.summary.tier(0).last().cloned();
        let covered_ns = covered.as_ref().map_or(i64::MIN, Segment::thru_ns);
        let first_ns = out.summary.tier(0).next().map_or(i64::MIN, |first| first.from_ns);
        let base_ns = covered_ns.saturating_sub(reach_ns);
        let base_ns = if base_ns <= first_ns { i64::MIN } else { base_ns };
        let mut feed = open(file, base_ns)?;
        let defs = feed.as_feed().defs();
        let meta = &file.file.meta;
        let begin = |def: &Arc<SourceDef>| {
            SourceBuilder::new(def.clone(), meta.has_single_clock(), source_window_ns(meta, def))
        };
        let sources: Vec<SourceBuilder> = defs.iter().map(begin).collect();
        let windows_ns: Vec<i64> = sources.iter().map(|source| source.window_ns).collect();
        let whole_ns = common_window_ns(&windows_ns);
        let mut pass = Pass {
            out,
            file,
            sources,
            whole_ns,
            from_ns: None,
            window_from_ns: i64::MIN,
            beginning: covered.as_ref().and_then(|covered| covered.beginning),
            latest: covered.map_or((0, i64::MIN), |covered| covered.latest),
        };
        let mut snapshot = Snapshot::new(&defs);
        let mut before_ns = i64::MIN;
        while feed.next(&mut snapshot)? {
            if snapshot.realtime_ns < before_ns {
                return Ok(Some(ReadProgress::ClockSetBack));
            }
            before_ns = snapshot.realtime_ns;
            if snapshot.realtime_ns < covered_ns {
                for (index, source) in pass.sources.iter_mut().enumerate() {
                    source.pass_over(index, &mut snapshot);
                }
                continue;
            }
            if pass.from_ns.is_none() && base_ns != i64::MIN && !pass.has_bases()? {
                return Ok(None);
            }
            pass.add_sample(&mut snapshot)?;
        }
        let position = feed.as_feed().position();
        if before_ns != i64::MIN {
            pass.latest = (position.monotonic_ns, position.realtime_ns);
        }
        let is_whole = !feed.is_being_written();
        if is_whole {
            let thru_ns = floor(pass.window_from_ns, whole_ns).saturating_add(whole_ns);
            pass.end_segment(thru_ns, ENDS)?;
        }
        Ok(Some(ReadProgress::Thru(is_whole)))
    }

    /// Whether each source that had a reading has the latest one.
    fn has_bases(&self) -> Result<bool, Error> {
        let summary = &self.out.summary;
        for (index, source) in self.sources.iter().enumerate() {
            let had = |segment| {
                let windows = summary.source(segment, self.file, index, &[]);
                windows.is_none_or(|w| w.head.windows.iter().any(|window| window.readings > 0))
            };
            if source.last.is_none() && summary.tier(0).any(had) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn add_sample(&mut self, snapshot: &mut Snapshot) -> Result<(), Error> {
        let (window_ns, segment_ns) = lengths_ns(&self.file.file.meta);
        let now_ns = floor(snapshot.realtime_ns, window_ns);
        if self.beginning.is_none() {
            self.beginning = Some(Beginning::of(self.file.file.origin, snapshot));
        }
        if now_ns != self.window_from_ns {
            if let Some(from_ns) = self.from_ns {
                let end_ns = floor(from_ns, segment_ns).saturating_add(segment_ns);
                let whole_thru_ns = floor(now_ns, self.whole_ns);
                let cells: usize = self.sources.iter().map(SourceBuilder::cells).sum();
                if now_ns >= end_ns {
                    self.end_segment(end_ns, 0)?;
                } else if cells > SEGMENT_CELLS && whole_thru_ns > self.window_from_ns {
                    self.end_segment(whole_thru_ns, 0)?;
                } else {
                    self.end_windows(now_ns);
                }
            }
            self.window_from_ns = now_ns;
        }
        let from_ns = *self.from_ns.get_or_insert(floor(now_ns, self.whole_ns));
        self.latest = (snapshot.monotonic_ns, snapshot.realtime_ns);
        for (index, source) in self.sources.iter_mut().enumerate() {
            let window = ((now_ns - from_ns) / source.window_ns) as u32;
            source.add_sample(index, window, snapshot)?;
        }
        Ok(())
    }

    /// Ends the windows that do not have a time.
    fn end_windows(&mut self, now_ns: i64) {
        for source in &mut self.sources {
            if floor(now_ns, source.window_ns) > self.window_from_ns {
                source.end_window();
            }
        }
    }

    /// Writes the open segment, whose windows go to `thru_ns`.
    fn end_segment(&mut self, thru_ns: i64, flags: u8) -> Result<(), Error> {
        self.sources.iter_mut().for_each(SourceBuilder::end_window);
        let window_ns = self.out.summary.window_ns;
        let covered_ns = self.out.summary.tier(0).last().map(Segment::thru_ns);
        let from_ns = self.from_ns.or(covered_ns).unwrap_or(0);
        let count = if self.from_ns.is_some() { (thru_ns - from_ns) / window_ns } else { 0 };
        let begins = if covered_ns.is_none() { BEGINS } else { 0 };
        let segment = Segment {
            flags: flags | begins,
            from_ns,
            windows: count as u32,
            window_ns,
            beginning: self.beginning,
            latest: self.latest,
            ..Segment::default()
        };
        let path = super::path(&self.file.file.path);
        let failed = |source| Error::Summary { path, source };
        let mut body = Body::default();
        let written = self.sources.iter_mut().try_for_each(|source| {
            let interval_ns = self.file.file.meta.cadence_ns(source.def.cadence);
            source.write(&segment, interval_ns, self.out, &mut body)
        });
        written.and_then(|()| self.out.append(segment, &body)).map_err(failed)?;
        self.from_ns = None;
        Ok(())
    }
}

/// The feed of a recording.
enum AnyFeed {
    /// And what makes the columns of the recording too, if it has none yet.
    Whit(Box<WhitFeed>, Option<Box<SideWriter>>),
    Other(Box<dyn Feed>),
}

impl AnyFeed {
    fn as_feed(&mut self) -> &mut dyn Feed {
        match self {
            AnyFeed::Whit(feed, _) => feed.as_mut(),
            AnyFeed::Other(feed) => feed.as_mut(),
        }
    }

    /// The next sample, which is also added to the columns.  What fails there is tried again, and
    /// told, when the columns are made by themselves.
    fn next(&mut self, snapshot: &mut Snapshot) -> Result<bool, FeedError> {
        let AnyFeed::Whit(feed, columns) = self else { return self.as_feed().next(snapshot) };
        let is_sample = feed.next(snapshot)?;
        if !is_sample {
            columns.take().into_iter().for_each(|columns| drop(columns.finish(feed.reader())));
        } else if let Some(writer) = columns
            && writer.add_sample(feed.reader(), snapshot).is_err()
        {
            *columns = None;
        }
        Ok(is_sample)
    }

    /// Whether more may come.  A recording of another program that grew has another identity.
    fn is_being_written(&self) -> bool {
        match self {
            AnyFeed::Whit(feed, _) => feed.is_being_written(),
            AnyFeed::Other(_) => false,
        }
    }
}

fn open(file: &ArchivedFile, base_ns: i64) -> Result<AnyFeed, Error> {
    let path = &file.file.path;
    Ok(match file.file.origin {
        Origin::Whit => {
            let feed = WhitFeed::open(path, base_ns, false)?;
            let is_whole = base_ns == i64::MIN;
            let columns = is_whole.then(|| SideWriter::begin_whole(feed.reader()).ok().flatten());
            AnyFeed::Whit(Box::new(feed), columns.flatten().map(Box::new))
        }
        Origin::Collectl => {
            let recorded = file.file.meta.subsystems();
            let entries = source::ALL.iter().copied();
            let held: Vec<_> =
                entries.filter(|entry| has_text_for(&entry.def(), recorded)).collect();
            let settings = CollectlSettings::default();
            AnyFeed::Other(Box::new(CollectlFeed::open(path, &held, &settings)?))
        }
        origin @ (Origin::Atop | Origin::Sadc) => {
            AnyFeed::Other(Box::new(ImportedFeed::open(path, origin, source::ALL)?))
        }
    })
}

/// A source of the open segment.
struct SourceBuilder {
    def: Arc<SourceDef>,
    single_clock: bool,
    window_ns: i64,
    /// The fields that are texts.
    texts: Vec<usize>,
    tracker: Tracker,
    head: SourceHead,
    fields: Vec<FieldColumns>,
    /// The open window: its number, its readings, instances by fields, instances.
    number: u32,
    window: Window,
    open: OpenWindow,
    is_here: Vec<bool>,
    here: Vec<usize>,
    /// Raw values of the first reading of the recording.
    first: Vec<Option<u64>>,
    /// Whether the recording had a reading before.
    has_begun: bool,
    restart: bool,
    /// Whether the tracker had the reading before the segment.
    has_base: bool,
    /// The latest reading, and the time of its tick.
    last: Option<(i64, Sample)>,
}

impl SourceBuilder {
    fn new(def: Arc<SourceDef>, single_clock: bool, window_ns: i64) -> Self {
        let names: Vec<&str> = def.fields.iter().map(|field| &*field.name).collect();
        let fields = def.fields.iter();
        SourceBuilder {
            tracker: Tracker::new(&names),
            fields: fields.map(|f| FieldColumns::new(coding(f.kind, single_clock))).collect(),
            texts: recording::text_fields(&def),
            open: OpenWindow::new(def.clone(), single_clock),
            def,
            single_clock,
            window_ns,
            head: SourceHead::default(),
            number: 0,
            window: Window::default(),
            is_here: Vec::new(),
            here: Vec::new(),
            first: Vec::new(),
            has_begun: false,
            restart: false,
            has_base: false,
            last: None,
        }
    }

    fn cells(&self) -> usize {
        self.head.slots.len() * self.def.fields.len()
    }

    /// Whether a tick has a reading that is wanted.
    fn is_read(&self, index: usize, snapshot: &Snapshot) -> bool {
        snapshot.fresh[index] && has_windows(&self.def)
    }

    /// Takes a reading that an earlier segment has: rates need it.
    fn pass_over(&mut self, index: usize, snapshot: &mut Snapshot) {
        self.restart |= snapshot.restart;
        if self.is_read(index, snapshot) {
            self.restart = false;
            self.has_begun = true;
            self.keep(snapshot.realtime_ns, &mut snapshot.samples[index]);
        }
    }

    fn keep(&mut self, realtime_ns: i64, sample: &mut Sample) {
        let kept = self.last.get_or_insert_with(|| (realtime_ns, Sample::new(&self.def)));
        kept.0 = realtime_ns;
        std::mem::swap(&mut kept.1, sample);
    }

    fn add_sample(
        &mut self,
        index: usize,
        window: u32,
        snapshot: &mut Snapshot,
    ) -> Result<(), Error> {
        self.restart |= snapshot.restart;
        if !self.is_read(index, snapshot) {
            return Ok(());
        }
        if !std::mem::replace(&mut self.has_base, true) {
            self.begin_segment()?;
        }
        let restart = std::mem::take(&mut self.restart);
        let sample = &mut snapshot.samples[index];
        self.number = window;
        self.add(snapshot.realtime_ns, sample, restart)?;
        if !std::mem::replace(&mut self.has_begun, true) {
            self.begin_recording(snapshot.realtime_ns, sample, restart);
        }
        self.keep(snapshot.realtime_ns, sample);
        Ok(())
    }

    /// Gives the tracker the reading before the segment.
    fn begin_segment(&mut self) -> Result<(), Error> {
        let Some((realtime_ns, sample)) = &self.last else { return Ok(()) };
        let reading = SourceReading {
            realtime_ns: *realtime_ns,
            sample,
            def: &self.def,
            file: 0,
            restart: true,
            single_clock: self.single_clock,
        };
        self.tracker.add_reading(&reading, i64::MAX, &mut |_, _| Ok(()))
    }

    fn add(&mut self, realtime_ns: i64, sample: &Sample, restart: bool) -> Result<(), Error> {
        let single_clock = self.single_clock;
        let before = (self.tracker.readings(), self.tracker.covered_ns());
        let reading =
            SourceReading { realtime_ns, sample, def: &self.def, file: 0, restart, single_clock };
        let then = self.last.as_ref().map(|(_, last)| (&last.table, &*self.texts));
        self.tracker.take_rows(&reading, i64::MIN, then, &mut self.open)?;
        self.window.readings += (self.tracker.readings() - before.0) as u32;
        let took_ns = self.tracker.covered_ns() - before.1;
        self.window.covered_ns += took_ns;
        self.window.rates += u32::from(took_ns > 0);
        self.window.last_time = self.open.take_last_time().unwrap_or(self.window.last_time);
        if sample.state == State::Ok {
            for &instance in self.tracker.latest_rows() {
                if self.is_here.len() <= instance {
                    self.is_here.resize(instance + 1, false);
                }
                if !std::mem::replace(&mut self.is_here[instance], true) {
                    self.here.push(instance);
                }
            }
        }
        Ok(())
    }

    fn begin_recording(&mut self, realtime_ns: i64, sample: &Sample, restart: bool) {
        let is_ok = sample.state == State::Ok;
        let clocks = (sample.monotonic_ns, sample.realtime_ns);
        self.head.edges[0] = Some(Edge { realtime_ns, clocks, is_ok, restart });
        if is_ok {
            self.mark(0);
            let width = self.def.fields.len();
            let cells = self.head.slots.len() * width;
            self.first = (0..cells).map(|at| self.tracker.raw(at / width, at % width)).collect();
        }
    }

    /// Marks the instances of the latest reading as those of the first or the last one.
    fn mark(&mut self, edge: usize) {
        for row in 0..self.tracker.latest_rows().len() {
            let instance = self.tracker.latest_rows()[row];
            self.add_slots(instance);
            self.head.slots[instance].is_in[edge] = true;
        }
    }

    /// Slots are numbered as the tracker numbers instances.
    fn add_slots(&mut self, instance: usize) {
        while self.head.slots.len() <= instance {
            self.head.names.push(self.tracker.name(self.head.slots.len()));
            self.head.slots.push(super::head::Slot::default());
        }
    }

    fn end_window(&mut self) {
        if self.window.readings == 0 && self.here.is_empty() {
            return;
        }
        let window = std::mem::take(&mut self.window);
        self.head.windows.resize(self.number as usize + 1, Window::default());
        self.head.windows[self.number as usize] = window;
        self.here.sort_unstable();
        for instance in std::mem::take(&mut self.here) {
            self.is_here[instance] = false;
            self.add_slots(instance);
            let cells = self.open.cells(instance, self.tracker.raws(instance));
            let expected = expected(&window, cells);
            self.head.add_window(instance, self.number, expected);
            for (field, columns) in self.fields.iter_mut().enumerate() {
                let cell = cells[field].take();
                match self.def.fields[field].kind {
                    Kind::Text => columns.push_text(instance, self.tracker.text(instance, field)),
                    _ => columns.push(instance, cell.as_ref(), &expected),
                }
            }
        }
        self.open.begin();
    }

    /// Writes the source, and begins its next segment.
    fn write(
        &mut self,
        segment: &Segment,
        interval_ns: u64,
        out: &mut Out,
        body: &mut Body,
    ) -> io::Result<()> {
        let next = SourceBuilder::new(self.def.clone(), self.single_clock, self.window_ns);
        if segment.ends() {
            self.end_recording();
        }
        let mut done = std::mem::replace(self, next);
        (self.has_begun, self.restart) = (done.has_begun, done.restart);
        self.last = done.last.take();
        if done.head.windows.is_empty() && done.head.edges == [None, None] {
            body.add_nothing();
            return Ok(());
        }
        let windows = segment.divided(done.window_ns).windows;
        done.head.windows.resize(windows as usize, Window::default());
        let slots = done.head.slots.len();
        let fields = std::mem::take(&mut done.fields);
        let fields: Vec<FieldBytes> = fields.into_iter().map(|field| field.finish(slots)).collect();
        let edges = if segment.has_edges() { done.edges() } else { Vec::new() };
        let head = done.head.encode(interval_ns, done.single_clock);
        body.add(out.compressor(), &head, &fields, &edges)
    }

    fn end_recording(&mut self) {
        // Only if the segment has the last reading.
        let Some((realtime_ns, last)) = &self.last else { return };
        if self.head.windows.is_empty() && self.head.edges[0].is_none() {
            return;
        }
        let is_ok = last.state == State::Ok;
        let clocks = (last.monotonic_ns, last.realtime_ns);
        let realtime_ns = *realtime_ns;
        self.head.edges[1] = Some(Edge { realtime_ns, clocks, is_ok, restart: self.restart });
        if is_ok {
            self.mark(1);
        }
    }

    /// For each counter the raw values of the first and the last reading, of the latter what it is more.
    fn edges(&self) -> Vec<Vec<u8>> {
        let width = self.def.fields.len();
        let counters = (0..width).filter(|&field| self.def.fields[field].kind == Kind::Counter);
        let edges = counters.map(|field| {
            let mut out = Vec::new();
            for (instance, slot) in self.head.slots.iter().enumerate() {
                let first = self.first.get(instance * width + field).copied().flatten();
                let raws = [first, self.tracker.raw(instance, field)];
                let mut before = 0;
                for (raw, _) in raws.iter().zip(slot.is_in).filter(|(_, is_in)| *is_in) {
                    put(&mut out, u64::from(raw.is_some()));
                    raw.iter().for_each(|&raw| put(&mut out, raw.wrapping_sub(before)));
                    before = raw.unwrap_or(before);
                }
            }
            out
        });
        edges.collect()
    }
}

/// What most columns of an instance have in a window, of which these are the cells.
fn expected(window: &Window, cells: &[Option<Cell>]) -> Expected {
    let mut expected = window.expected();
    let (mut levels, mut rates) = (0, 0);
    for cell in cells.iter().flatten() {
        let is_level = matches!(cell.last, crate::FieldValue::Level(_));
        if is_level && cell.count > levels {
            levels = cell.count;
            expected.levels = levels;
        } else if !is_level && cell.count > rates {
            rates = cell.count;
            (expected.rates, expected.took_ns) = (rates, cell.took_ns);
        }
    }
    expected
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use jiff::{Timestamp, tz::TimeZone};
    use recording::{Writer, WriterOptions};
    use sample::{Field, Meta, Unit};

    use super::*;
    use crate::archive::Recordings;

    const BEGUN_NS: i64 = 1_789_999_200 * SECOND_NS;

    /// Appends a sample of a counter at each of some seconds.
    fn append(writer: &mut Writer, def: &Arc<SourceDef>, seconds: impl Iterator<Item = i64>) {
        let mut snapshot = Snapshot::new(std::slice::from_ref(def));
        for second in seconds {
            snapshot.realtime_ns = BEGUN_NS + second * SECOND_NS;
            snapshot.monotonic_ns += 1_000_000_000;
            snapshot.fresh[0] = true;
            let sample = &mut snapshot.samples[0];
            (sample.realtime_ns, sample.monotonic_ns) =
                (snapshot.realtime_ns, snapshot.monotonic_ns);
            sample.state = State::Ok;
            sample.table.begin();
            sample.table.row(b"").set(0, second.cast_unsigned());
            writer.append(&snapshot).unwrap();
        }
    }

    /// Whether a summary would be added to, before and after it was.
    fn is_due_now(path: &std::path::Path) -> [bool; 2] {
        let now = Timestamp::from_second(1_790_100_000).unwrap().to_zoned(TimeZone::UTC);
        let recordings = Recordings::open(&[path.to_owned()], &now).unwrap();
        let file = &recordings.files[0];
        [(); 2].map(|()| {
            let summary = super::super::path(path);
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let out = options.open(summary).unwrap();
            let is_due = is_due(&Out::open(out, file, 0).unwrap().summary, file).unwrap();
            write(file).unwrap();
            is_due
        })
    }

    #[test]
    fn a_recording_that_grows_is_read_when_a_segment_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one.whit");
        let def = Arc::new(SourceDef {
            name: "whole".into(),
            fields: vec![Field::counter("ticks", Unit::Ticks, "Ticks")].into(),
            ..SourceDef::EMPTY
        });
        let mut meta = Meta::new();
        for (key, value) in [("host", "one"), ("boot_id", "one"), ("interval_ns", "200000000")] {
            meta.set(key, value);
        }
        meta.set("started_ns", BEGUN_NS.to_string());
        let defs = [def.clone()];
        let mut writer = Writer::create(&path, &meta, &defs, WriterOptions::default()).unwrap();
        // Before a block is closed, too.
        append(&mut writer, &def, 0..30);
        assert_eq!(is_due_now(&path), [false, false]);
        append(&mut writer, &def, 30..6_000);
        assert_eq!(is_due_now(&path), [false, false]);
        // Also if the sample after the end is in the open block.
        append(&mut writer, &def, 6_000..7_201);
        assert_eq!(is_due_now(&path), [true, false]);
        append(&mut writer, &def, 7_201..14_000);
        assert_eq!(is_due_now(&path), [false, false]);
        // The clock is set back: the summary is of no use any more.
        append(&mut writer, &def, 7_100..7_105);
        assert!(is_due_now(&path)[0]);
    }
}

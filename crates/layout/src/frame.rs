//! The values that layouts use: a [`Frame`] is one tick of a history; a [`Row`] is one instance in
//! it (or the whole source) and gives its levels, differences and rates.
//!
//! A counter that became smaller was reset: that interval has no rate.  Under `--exact` it is taken
//! to have wrapped at 2³², as collectl does.

use sample::{Cells, History, Meta, State, Track};

use crate::Options;

/// One tick: every source with its two latest readings.
#[derive(Clone, Copy)]
pub struct Frame<'a> {
    /// The sources, in the feed's order.
    pub tracks: &'a [Track],
    /// When the tick began, since the epoch.
    pub realtime_ns: i64,
    /// Seconds since the previous tick; 0 at the first.
    pub seconds: f64,
    /// Seconds until the next tick (`Snapshot::lasted_ns`); 0 if unknown.
    pub lasted_seconds: f64,
    /// Facts about the recording and its machine.
    pub meta: &'a Meta,
    /// The display options.
    pub options: &'a Options,
    /// Whether all sources of a tick share one wall-clock time stamp ([`Meta::has_single_clock`],
    /// kept here because that searches the meta).
    pub single_clock: bool,
    /// What is known of the readings, one for each source, if the frame stands for those of a longer
    /// step: its levels and rates are their means.
    pub steps: Option<&'a [SourceStep]>,
}

/// Where the values of a step come from, and how far apart what was kept there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOrigin {
    /// Readings of recordings.
    Recording {
        /// The time between two of them, as the recorder was told.
        resolution_ns: u64,
    },
    /// Rows of round-robin databases.
    History {
        /// The time that a row stands for; it may be longer than the step.
        resolution_ns: u64,
    },
}

impl StepOrigin {
    /// The name in output.
    pub fn name(self) -> &'static str {
        match self {
            StepOrigin::Recording { .. } => "recording",
            StepOrigin::History { .. } => "history",
        }
    }

    /// The resolution in seconds.
    pub fn resolution_seconds(self) -> f64 {
        let (StepOrigin::Recording { resolution_ns } | StepOrigin::History { resolution_ns }) =
            self;
        resolution_ns as f64 / 1e9
    }
}

/// What is read of a source to show some of its values.
#[derive(Clone, Debug, Default)]
pub struct ChosenValues {
    /// The indexes of the fields, those that decide whether a row is shown among them; none if no field
    /// of the source is chosen.
    pub fields: Vec<usize>,
    /// The names under which a recording has the instances, or none for all.
    pub instances: Vec<Vec<u8>>,
}

/// The readings of a source in a step.
#[derive(Clone, Debug, Default)]
pub struct SourceStep {
    /// Where its values come from, if it has any.
    pub origin: Option<StepOrigin>,
    /// How many readings there are; 0 if its values are of a history, which does not tell.
    pub readings: u32,
    /// One for each cell of the table, row by row.
    pub cells: Vec<StepCell>,
}

/// The values of a cell in the readings of a step: levels, or rates a second, in the unit of the
/// field.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepCell {
    /// Whether the cell has a value.
    pub is_known: bool,
    /// How many there are: of a counter those that have a rate; 0 in a history.
    pub readings: u32,
    /// The smallest, if that is known: a history need not have it.
    pub min: Option<f64>,
    /// The largest, if that is known.
    pub max: Option<f64>,
}

impl SourceStep {
    /// The number of readings; `None` if its values are of a history, which does not tell.
    pub fn told_readings(&self) -> Option<u32> {
        let is_history = matches!(self.origin, Some(StepOrigin::History { .. }));
        (!is_history).then_some(self.readings)
    }
}

impl<'a> Frame<'a> {
    /// The latest tick of `history`.
    pub fn new(history: &'a History, meta: &'a Meta, options: &'a Options) -> Self {
        let single_clock = meta.has_single_clock();
        Frame {
            tracks: history.tracks(),
            realtime_ns: history.realtime_ns(),
            seconds: history.seconds(single_clock),
            lasted_seconds: history.lasted_seconds(),
            meta,
            options,
            single_clock,
            steps: None,
        }
    }

    /// The source of that name, if the feed has it.
    pub fn source(&self, name: &str) -> Option<Row<'a>> {
        let track = self.tracks.iter().find(|track| track.def.name == name)?;
        Some(self.whole(track))
    }

    /// A source as a whole: its row if it has one row, else the sums over its instances.
    pub fn whole(&self, track: &'a Track) -> Row<'a> {
        Row { frame: *self, track, index: 0 }
    }
}

/// One instance of a source at one tick, or the source as a whole.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    /// The tick.
    pub frame: Frame<'a>,
    /// The source.
    pub track: &'a Track,
    /// The index of the instance in the table; 0 for a source with one row.
    pub index: usize,
}

impl<'a> Row<'a> {
    /// The display options.
    pub fn options(&self) -> &'a Options {
        self.frame.options
    }

    /// Whether to print collectl's digits even where they are wrong (`--exact`).
    pub fn exact(&self) -> bool {
        self.frame.options.exact
    }

    /// Whether to compute columns as collectl does where the two programs differ: under `--exact`,
    /// and for a collectl recording, whose users expect these numbers.
    pub fn collectl_digits(&self) -> bool {
        self.exact() || self.frame.single_clock
    }

    /// The instance's name; empty for a source as a whole, and if the reading has no such row.
    pub fn name(&self) -> &'a [u8] {
        let table = &self.track.current.table;
        if self.index < table.rows() { table.name(self.index) } else { b"" }
    }

    /// All instances of the same source.
    pub fn rows(&self) -> impl Iterator<Item = Row<'a>> + use<'a> {
        let (frame, track) = (self.frame, self.track);
        (0..track.current.table.rows()).map(move |index| Row { frame, track, index })
    }

    /// The instances of the same source that have this second label.
    pub fn rows_of_second_label(&self, label: &[u8]) -> impl Iterator<Item = Row<'a>> + use<'a> {
        let (frame, track) = (self.frame, self.track);
        let rows = track.rows_of_second_label(label).iter();
        rows.map(move |&index| Row { frame, track, index })
    }

    /// Another source at the same tick.
    pub fn other(&self, source: &str) -> Option<Row<'a>> {
        self.frame.source(source)
    }

    /// The index of the same instance in the previous reading.
    #[inline]
    fn previous_index(&self) -> Option<usize> {
        self.track.previous_row(self.index)
    }

    /// The row in the latest reading.
    pub fn now(&self) -> Cells<'a> {
        Cells { table: &self.track.current.table, row: self.index }
    }

    /// The cells of this instance in the previous reading, if it was there.
    pub fn before(&self) -> Option<Cells<'a>> {
        let row = self.previous_index()?;
        Some(Cells { table: &self.track.previous.table, row })
    }

    /// The raw integer of the latest reading.
    pub fn raw(&self, field: usize) -> Option<u64> {
        let current = &self.track.current;
        (current.state == State::Ok).then(|| current.table.get(self.index, field)).flatten()
    }

    /// A level, unchanged; under `--exact` 0 if it is missing.
    pub fn gauge(&self, field: usize) -> Option<f64> {
        let fraction = self.track.current.table.fraction(self.index, field);
        let value = self.raw(field).map(|raw| raw.cast_signed() as f64 + fraction);
        if self.exact() { Some(value.unwrap_or(0.0)) } else { value }
    }

    /// The change of a level since the previous reading.
    pub fn change(&self, field: usize) -> Option<f64> {
        let current = self.raw(field)?.cast_signed();
        let previous = self.track.previous.table.get(self.previous_index()?, field)?.cast_signed();
        Some((current - previous) as f64)
    }

    /// The increase of a counter since the previous reading; `None` if either reading lacks it or
    /// the counter was reset.  Under `--exact` a missing counter is 0 and a smaller one is taken to
    /// have wrapped at 2³².
    pub fn delta(&self, field: usize) -> Option<f64> {
        if !self.exact() {
            let previous = self.track.previous.table.get(self.previous_index()?, field)?;
            let delta = sample::increase(previous, self.raw(field)?)?;
            return Some(delta as f64 + self.track.current.table.fraction(self.index, field));
        }
        let current = self.raw(field).unwrap_or(0);
        // An instance that was not there before has no increase yet.
        let Some(previous) = self.previous_index() else { return Some(0.0) };
        let previous = self.track.previous.table.get(previous, field);
        let delta = current as f64 - previous.unwrap_or(0) as f64;
        Some(if delta < 0.0 { delta + 4_294_967_296.0 } else { delta })
    }

    /// The increase of a counter in the previous interval, as `--exact` counts; the row must be in
    /// all readings.  In the first interval it is the whole counter.
    pub fn delta_before(&self, field: usize) -> Option<f64> {
        let previous = self.track.previous.table.get(self.previous_index()?, field)?;
        let older = &self.track.older;
        let older = (older.state == State::Ok).then(|| older.table.get(self.index, field));
        let delta = previous as f64 - older.flatten().unwrap_or(0) as f64;
        Some(if delta < 0.0 { delta + 4_294_967_296.0 } else { delta })
    }

    /// Whether the counter became smaller since the previous reading.
    pub fn was_reset(&self, field: usize) -> bool {
        let previous = self.previous_index();
        let previous = previous.and_then(|index| self.track.previous.table.get(index, field));
        matches!((self.raw(field), previous), (Some(now), Some(then)) if now < then)
    }

    /// What is known of the readings of its source, if the frame stands for those of a step.
    pub fn step(&self) -> Option<&'a SourceStep> {
        let place = self.frame.tracks.iter().position(|track| std::ptr::eq(track, self.track))?;
        self.frame.steps?.get(place)
    }

    /// What is known of the readings of a cell that has a value in a step.
    pub fn step_cell(&self, field: usize) -> Option<StepCell> {
        let cell = self.step()?.cells.get(self.index * self.track.def.fields.len() + field)?;
        Some(*cell).filter(|cell| cell.is_known)
    }

    /// The seconds by which rates are divided: the time between the two readings of this source; 1
    /// for rates per interval (`-on`).
    pub fn seconds(&self) -> Option<f64> {
        if self.options().per_interval() {
            return Some(1.0);
        }
        self.track.seconds(self.frame.single_clock)
    }

    /// The time between the two readings of this source even with `-on`: for shares.
    pub fn interval_seconds(&self) -> Option<f64> {
        self.track.seconds(self.frame.single_clock)
    }

    /// A counter per second (or per interval, with `-on`).
    pub fn rate(&self, field: usize) -> Option<f64> {
        let seconds = self.seconds()?;
        self.delta(field).filter(|_| seconds > 0.0).map(|delta| delta / seconds)
    }

    /// An amount of this interval per second (or per interval, with `-on`).  As in collectl,
    /// callers add amounts up before this division: the order decides the last digit.
    pub fn per_second(&self, amount: Option<f64>) -> Option<f64> {
        let seconds = if self.exact() { self.seconds().or(Some(1.0)) } else { self.seconds() };
        Some(amount? / seconds.filter(|&seconds| seconds > 0.0)?)
    }

    /// Whether no interval of this source came before this one.
    pub fn is_first_interval(&self) -> bool {
        self.track.older.state != State::Ok
    }

    /// Whether the previous reading lacks this instance, so that it has no rates.
    pub fn is_new(&self) -> bool {
        self.previous_index().is_none()
    }

    /// The sum of `of` over the instances that `keep` accepts.  Missing values are left out; if all
    /// are missing, so is the sum.
    pub fn sum(
        &self,
        keep: impl Fn(&Row<'a>) -> bool,
        of: impl Fn(&Row<'a>) -> Option<f64>,
    ) -> Option<f64> {
        let parts = self.rows().filter(keep).filter_map(|row| of(&row));
        let total = parts.fold(None, |sum: Option<f64>, part| Some(sum.unwrap_or(0.0) + part));
        if self.exact() { Some(total.unwrap_or(0.0)) } else { total }
    }

    /// A text cell.
    pub fn text(&self, field: usize) -> Option<&'a [u8]> {
        let current = &self.track.current;
        (current.state == State::Ok).then(|| current.table.text(self.index, field)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use sample::{Field, Snapshot, SourceDef, Unit};

    fn defs() -> [Arc<SourceDef>; 1] {
        [Arc::new(SourceDef {
            name: "demo".into(),
            letters: "d".into(),
            instance: vec!["disk".into()].into(),
            fields: vec![Field::counter("reads", Unit::Count, "Reads finished")].into(),
            ..SourceDef::EMPTY
        })]
    }

    fn push(history: &mut History, at_ns: u64, rows: &[(&str, u64)]) {
        let mut snapshot = Snapshot::new(&defs());
        snapshot.monotonic_ns = at_ns;
        snapshot.fresh[0] = true;
        let sample = &mut snapshot.samples[0];
        sample.monotonic_ns = at_ns;
        sample.state = State::Ok;
        for (name, reads) in rows {
            sample.table.row(name.as_bytes()).set(0, *reads);
        }
        history.push(&mut snapshot);
    }

    #[test]
    fn a_reset_has_no_rate_and_a_new_instance_has_none_yet() {
        let (meta, options) = (Meta::new(), Options::default());
        let mut history = History::new(&defs());
        push(&mut history, 1_000_000_000, &[("a", 10), ("b", 100)]);
        push(&mut history, 3_000_000_000, &[("b", 90), ("c", 5), ("a", 30)]);
        let frame = Frame::new(&history, &meta, &options);
        let whole = frame.source("demo").unwrap();
        let rates: Vec<_> = whole.rows().map(|row| row.rate(0)).collect();
        assert_eq!(rates, [None, None, Some(10.0)]);
        assert!(whole.rows().next().unwrap().was_reset(0));
        assert_eq!(whole.sum(|_| true, |row| row.rate(0)), Some(10.0));
    }

    #[test]
    fn rows_of_a_label_are_those_of_the_latest_reading() {
        let (meta, options) = (Meta::new(), Options::default());
        let mut history = History::new(&defs());
        let readings = [
            (1, vec![("1\x1f0", 10), ("1\x1f1", 20), ("2\x1f0", 30), ("NMI", 1)]),
            (2, vec![("1\x1f0", 11), ("1\x1f1", 21), ("2\x1f0", 31), ("NMI", 2)]),
            (
                3,
                vec![
                    ("3\x1f1", 1),
                    ("1\x1f0", 12),
                    ("2\x1f0", 33),
                    ("2\x1f10", 9),
                    ("2\x1f1\x1f0", 4),
                ],
            ),
        ];
        let wanted: [[&[&str]; 4]; 3] = [
            [&["1\x1f0", "2\x1f0"], &["1\x1f1"], &[], &[]],
            [&["1\x1f0", "2\x1f0"], &["1\x1f1"], &[], &[]],
            [&["1\x1f0", "2\x1f0"], &["3\x1f1"], &["2\x1f10"], &[]],
        ];
        for ((at, rows), wanted) in readings.into_iter().zip(wanted) {
            push(&mut history, at * 1_000_000_000, &rows);
            let whole = Frame::new(&history, &meta, &options).source("demo").unwrap();
            for (label, wanted) in ["0", "1", "10", ""].into_iter().zip(wanted) {
                let found = whole.rows_of_second_label(label.as_bytes());
                let found: Vec<_> = found.map(|row| row.name().to_vec()).collect();
                assert_eq!(found, wanted.iter().map(|name| name.as_bytes()).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_source_that_fails_after_it_was_read_has_no_rates() {
        let (meta, options) = (Meta::new(), Options::default());
        let mut history = History::new(&defs());
        push(&mut history, 1_000_000_000, &[("a", 10)]);
        let mut snapshot = Snapshot::new(&defs());
        snapshot.monotonic_ns = 2_000_000_000;
        snapshot.fresh[0] = true;
        snapshot.samples[0].state = State::Denied;
        history.push(&mut snapshot);
        let whole = Frame::new(&history, &meta, &options).source("demo").unwrap();
        assert_eq!((whole.rate(0), whole.delta(0), whole.name()), (None, None, &b""[..]));
    }

    #[test]
    fn exact_guesses_as_collectl_does() {
        let (meta, options) = (Meta::new(), Options { exact: true, ..Options::default() });
        let mut history = History::new(&defs());
        push(&mut history, 1_000_000_000, &[("b", 100)]);
        push(&mut history, 2_000_000_000, &[("b", 90)]);
        let frame = Frame::new(&history, &meta, &options);
        assert_eq!(frame.source("demo").unwrap().rate(0), Some(4_294_967_286.0));
    }
}

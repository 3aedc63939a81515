//! An update: readings at a time become data points, data points become rows.
//!
//! Every arithmetic step is RRDtool 1.7.2's, in its order: what it does with wraps, unknown
//! seconds, long gaps and readings within a second is part of the format.  One thing differs: an
//! argument that is refused changes nothing at all, where RRDtool leaves the texts of the readings
//! before the bad one behind.
//!
//! Works on the header in memory and gathers the rows; `File::write_live` writes all of it at once
//! for all arguments, so a process that is killed leaves the state before or after.  Costs some
//! 0.5 µs beside the system calls for the files of MRTG (2 sources, 8 archives).

use std::path::Path;

use crate::compute::Programs;
use crate::consolidate::{self, Progress};
use crate::error::{Error, Result, refuse};
use crate::file::{Access, File, LiveWrite, Locking};
use crate::header::{
    Archive, RrdHeader, SourceKind, Time, Values, consolidation_value, primary_value,
};
use crate::holt_winters;
use crate::mapping::Range;
use crate::number::UNKNOWN;
pub use crate::reading::Moments;
use crate::reading::{amount, read_time};

mod values;

/// How to update.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// Names of the sources that the readings are of, in their order, with colons between.
    pub template: Option<&'a str>,
    /// Whether an update that is not newer than the last one is passed over.
    pub skip_past_updates: bool,
    /// What to do about a lock.
    pub locking: Locking,
}

/// A value that was written into a row, for `updatev`.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenValue {
    /// End of the row as RRDtool prints it, in seconds since 1970.
    pub time: i64,
    /// The archive.
    pub archive: usize,
    /// The source.
    pub source: usize,
    /// The value.
    pub value: f64,
}

/// Updates a file: opens, locks, changes and closes it.
///
/// # Errors
/// As RRDtool; what the arguments before the refused one say is in the file.
pub fn update(
    path: &Path,
    options: &Options<'_>,
    arguments: &[&[u8]],
    moments: &dyn Moments,
    written: Option<&mut Vec<WrittenValue>>,
) -> Result<()> {
    let mut file = File::open(path, Access::Write(options.locking))?;
    Updater::default().update(&mut file, options, arguments, moments, written)
}

/// Memory of an update that the next one uses again.
#[derive(Debug, Default)]
pub struct Updater {
    /// Sources that a reading goes to, in the order of the argument.
    targets: Vec<usize>,
    /// The reading of each source.
    readings: Vec<Reading>,
    /// Rate times seconds since the last update.
    amounts: Vec<f64>,
    /// Rate times seconds of the step that was begun before the last update.
    first_amounts: Vec<f64>,
    /// The completed data points.
    points: Vec<f64>,
    /// Rows that each archive has to write.
    rows: Vec<RowCount>,
    /// The coefficient of the next row of the season that was read last.
    season: Vec<f64>,
    /// The coefficient of the row before it.
    season_before: Vec<f64>,
    /// Rows to be written, for each archive.
    pending: Vec<Pending>,
    ranges: Vec<Range>,
    buffer: Vec<u8>,
    programs: Programs,
    /// The time of this call, for expressions: seconds since 1970.
    now: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct RowCount {
    rows: u64,
    /// Whether the rows stay as they are.
    is_skipped: bool,
}

/// Rows of an archive that are not written yet.
#[derive(Debug, Default)]
struct Pending {
    /// The row before the first one of `cells`.
    before: u64,
    /// Rows that follow one another, except of seasons.
    cells: Vec<f64>,
    /// All rows of a season, once they were read.
    season: Option<Vec<f64>>,
    /// Rows of the season that have changed.
    changed: Vec<u64>,
}

/// A reading: where its text stands in the argument.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Reading {
    start: usize,
    end: usize,
    is_given: bool,
}

impl Reading {
    fn text(self, argument: &[u8]) -> &[u8] {
        if self.is_given { &argument[self.start..self.end] } else { b"U" }
    }
}

/// The steps that an argument completes.
#[derive(Debug, Clone, Copy)]
struct Interval {
    /// Seconds since the last update.
    seconds: f64,
    /// Seconds of them before the last completed step.
    before: f64,
    /// Seconds of them after it.
    after: f64,
    /// Completed steps.
    elapsed: u64,
    /// Steps since 1970 before these.
    steps_before: u64,
}

impl Updater {
    /// Updates an open and locked file.
    ///
    /// # Errors
    /// As [`update`].
    pub fn update(
        &mut self,
        file: &mut File,
        options: &Options<'_>,
        arguments: &[&[u8]],
        moments: &dyn Moments,
        written: Option<&mut Vec<WrittenValue>>,
    ) -> Result<()> {
        if arguments.is_empty() {
            return Err(refuse!("Not enough arguments"));
        }
        let refused = self.update_until_refused(file, options, arguments, moments, written)?;
        refused.map_or(Ok(()), Err)
    }

    /// As [`Updater::update`], but returns why the first bad argument is refused, so that an error is
    /// always one of the file.  The arguments before the bad one are in the file.
    ///
    /// # Errors
    /// If the file cannot be read or written: then it is as it was.
    pub fn update_until_refused(
        &mut self,
        file: &mut File,
        options: &Options<'_>,
        arguments: &[&[u8]],
        moments: &dyn Moments,
        mut written: Option<&mut Vec<WrittenValue>>,
    ) -> Result<Option<Error>> {
        let begun = written.as_ref().map_or(0, |written| written.len());
        let only = |_| arguments.iter().copied();
        loop {
            let mut refused = None;
            let refuse = |_, error| refused = Some(error);
            let list = written.as_deref_mut();
            match self.update_each(file, options, 1, moments, only, list, refuse)? {
                LiveWrite::Done => return Ok(refused),
                // Another program has changed the file since it was locked the last time; its
                // header has been read again.
                LiveWrite::Stale => {
                    if let Some(written) = &mut written {
                        written.truncate(begun);
                    }
                }
            }
        }
    }

    /// Does several updates of a file, each as by a call of its own, and writes all at once.
    /// `arguments` gives those of an update by its number; `refuse` is called with the number and the
    /// error of each that is refused.
    ///
    /// If another program has changed the file, nothing is done and all has to be done again.
    ///
    /// # Errors
    /// If the file cannot be written: then no update is done.
    pub(crate) fn update_all<'a, I: Iterator<Item = &'a [u8]>>(
        &mut self,
        file: &mut File,
        options: &Options<'_>,
        count: usize,
        moments: &dyn Moments,
        arguments: impl FnMut(usize) -> I,
        refuse: impl FnMut(usize, Error),
    ) -> Result<LiveWrite> {
        self.update_each(file, options, count, moments, arguments, None, refuse)
    }

    #[allow(clippy::too_many_arguments, reason = "the two callers name them all")]
    fn update_each<'a, I: Iterator<Item = &'a [u8]>>(
        &mut self,
        file: &mut File,
        options: &Options<'_>,
        count: usize,
        moments: &dyn Moments,
        mut arguments: impl FnMut(usize) -> I,
        mut written: Option<&mut Vec<WrittenValue>>,
        mut refuse: impl FnMut(usize, Error),
    ) -> Result<LiveWrite> {
        self.begin(file, options)?;
        if !self.programs.is_empty() {
            self.now = moments.now().seconds as f64;
        }
        for number in 0..count {
            let mut smooths = false;
            let mut refused = None;
            for argument in arguments(number) {
                let time = match self.read(file.header(), argument, moments) {
                    Ok(time) => time,
                    Err(Error::PastUpdate { .. }) if options.skip_past_updates => continue,
                    Err(error) => {
                        refused = Some(error.of(file.path()));
                        break;
                    }
                };
                match self.apply(file, argument, time, written.as_deref_mut()) {
                    Ok(due) => smooths |= due,
                    Err(error) => return Err(forget(file, error)),
                }
            }
            match refused {
                Some(error) => refuse(number, error),
                None if smooths => self.smooth(file).map_err(|error| forget(file, error))?,
                None => {}
            }
        }
        self.finish(file)
    }

    fn begin(&mut self, file: &File, options: &Options<'_>) -> Result<()> {
        let header = file.header();
        holt_winters::check(header).map_err(|error| error.of(file.path()))?;
        self.set_targets(header, options.template)?;
        self.programs.read(header).map_err(|error| error.of(file.path()))?;
        let (sources, archives) = (header.sources.len(), header.archives.len());
        for list in [&mut self.amounts, &mut self.first_amounts, &mut self.points] {
            list.clear();
            list.resize(sources, UNKNOWN);
        }
        for list in [&mut self.season, &mut self.season_before] {
            list.clear();
            list.resize(sources, UNKNOWN);
        }
        self.rows.clear();
        self.rows.resize(archives, RowCount::default());
        self.pending.resize_with(archives, Pending::default);
        for (pending, row) in self.pending.iter_mut().zip(&header.current_row) {
            pending.before = *row;
            pending.cells.clear();
            pending.season = None;
            pending.changed.clear();
        }
        Ok(())
    }

    fn set_targets(&mut self, header: &RrdHeader, template: Option<&str>) -> Result<()> {
        self.targets.clear();
        let Some(template) = template else {
            let given = header.sources.iter().enumerate();
            let given = given.filter(|(_, source)| source.kind != SourceKind::Compute);
            self.targets.extend(given.map(|(index, _)| index));
            return Ok(());
        };
        for name in template.split(':') {
            if self.targets.len() >= header.sources.len() {
                return Err(refuse!("tmplt contains more DS definitions than RRD"));
            }
            let index = header.source_index(name);
            self.targets.push(index.ok_or_else(|| refuse!("unknown DS name '{name}'"))?);
        }
        Ok(())
    }

    /// Reads an argument; changes nothing but `readings` and `amounts`.
    fn read(&mut self, header: &RrdHeader, argument: &[u8], moments: &dyn Moments) -> Result<Time> {
        let time = self.read_argument(header, argument, moments)?;
        let seconds = seconds_between(header.last_update, time);
        self.read_amounts(header, argument, seconds)?;
        Ok(time)
    }

    /// Takes an argument that was read; whether seasons are to be smoothed.
    fn apply(
        &mut self,
        file: &mut File,
        argument: &[u8],
        time: Time,
        written: Option<&mut Vec<WrittenValue>>,
    ) -> Result<bool> {
        let seconds = seconds_between(file.header().last_update, time);
        let interval = Interval::between(file.header(), time, seconds);
        for (primary, reading) in file.header_mut().primary.iter_mut().zip(&self.readings) {
            primary.set_reading(reading.text(argument));
        }
        let due = match interval.elapsed {
            0 => {
                add_to_step(file.header_mut(), &self.amounts, seconds);
                false
            }
            _ => self.complete_steps(file, time, interval, written)?,
        };
        file.header_mut().last_update = time;
        Ok(due)
    }

    /// Splits an argument and reads its time.
    fn read_argument(
        &mut self,
        header: &RrdHeader,
        argument: &[u8],
        moments: &dyn Moments,
    ) -> Result<Time> {
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let in_words = argument.iter().position(|byte| *byte == b'@');
        let mark = in_words.or_else(|| argument.iter().position(|byte| *byte == b':'));
        let Some(mark) = mark else {
            let shown = shown(argument);
            return Err(refuse!("expected timestamp not found in data source from {shown}"));
        };
        self.readings.clear();
        self.readings.resize(header.sources.len(), Reading::default());
        let mut start = mark + 1;
        let mut count = 0;
        loop {
            let end = argument[start..].iter().position(|byte| *byte == b':');
            let end = end.map_or(argument.len(), |end| start + end);
            let Some(target) = self.targets.get(count) else {
                let rest = shown(&argument[start..]);
                return Err(refuse!("found extra data on update argument: {rest}"));
            };
            self.readings[*target] = Reading { start, end, is_given: true };
            count += 1;
            if end == argument.len() {
                break;
            }
            start = end + 1;
        }
        if count != self.targets.len() {
            let (wanted, shown) = (self.targets.len(), shown(&argument[..mark]));
            return Err(refuse!(
                "expected {wanted} data source readings (got {count}) from {shown}"
            ));
        }
        read_time(header, &argument[..mark], in_words.is_some(), moments)
    }

    /// Works out what came since the last update, of each source.
    fn read_amounts(&mut self, header: &RrdHeader, argument: &[u8], seconds: f64) -> Result<()> {
        for (index, source) in header.sources.iter().enumerate() {
            let text = self.readings[index].text(argument);
            let is_late = (source.heartbeat_seconds() as f64) < seconds;
            self.amounts[index] = UNKNOWN;
            if text.first() == Some(&b'U') || source.kind == SourceKind::Compute || is_late {
                continue;
            }
            let last = header.primary[index].reading();
            let (amount, rate) = amount(source.kind, text, last, seconds)?;
            let is_beyond = rate > source.maximum() || rate < source.minimum();
            self.amounts[index] = if is_beyond { UNKNOWN } else { amount };
        }
        Ok(())
    }

    /// Completes steps and writes rows; whether seasons are to be smoothed.
    fn complete_steps(
        &mut self,
        file: &mut File,
        time: Time,
        mut interval: Interval,
        mut written: Option<&mut Vec<WrittenValue>>,
    ) -> Result<bool> {
        let mut due = false;
        let step = file.header().step_seconds;
        // A step that was begun before the last update is completed by itself.
        let begun = interval.before as u64 % step;
        if interval.elapsed > 1 && begun > 0 {
            let share = begun as f64;
            for (all, first) in self.amounts.iter_mut().zip(&mut self.first_amounts) {
                *first = UNKNOWN;
                if !all.is_nan() && interval.seconds > 0.0 {
                    *first = share * *all / interval.seconds;
                    *all -= *first;
                }
            }
            std::mem::swap(&mut self.amounts, &mut self.first_amounts);
            let first =
                Interval { seconds: share, before: share, after: 0.0, elapsed: 1, ..interval };
            let end = file.header().last_update.seconds.wrapping_add(begun as i64);
            let done = self.complete(file, end, first, written.as_deref_mut());
            std::mem::swap(&mut self.amounts, &mut self.first_amounts);
            due |= done?;
            interval.seconds -= share;
            interval.before -= share;
            interval.elapsed -= 1;
            interval.steps_before += 1;
        }
        due |= self.complete(file, time.seconds, interval, written)?;
        Ok(due)
    }

    fn complete(
        &mut self,
        file: &mut File,
        time: i64,
        interval: Interval,
        written: Option<&mut Vec<WrittenValue>>,
    ) -> Result<bool> {
        let Self { amounts, points, programs, now, .. } = self;
        let now = *now;
        complete_points(file.header_mut(), amounts, points, interval, programs, || now)?;
        let due = self.consolidate(file, interval)?;
        self.forecast(file, interval.elapsed)?;
        self.write_rows(file.header_mut(), time, written);
        Ok(due)
    }

    fn consolidate(&mut self, file: &mut File, interval: Interval) -> Result<bool> {
        let mut due = false;
        let elapsed = interval.elapsed;
        for index in 0..file.header().archives.len() {
            let archive = &file.header().archives[index];
            let function = archive.function;
            let progress = Progress::of(archive, interval.steps_before, elapsed);
            self.rows[index] = RowCount { rows: progress.rows, is_skipped: false };
            if function.is_seasonal() {
                if progress.rows > 0 {
                    self.season_cells(file, index)?;
                }
                if progress.rows > 1 {
                    self.rows[index].is_skipped = true;
                    self.season_before = self.season_row(file, index, elapsed)?;
                    self.season = self.season_row(file, index, elapsed.wrapping_add(1))?;
                }
                due |= holt_winters::is_smoothing_due(file.header_mut(), index, elapsed);
            }
            let header = file.header_mut();
            let sources = header.sources.len();
            let (archive, states) = (&header.archives[index], &mut header.consolidation);
            let states = &mut states[index * sources..(index + 1) * sources];
            for (source, state) in states.iter_mut().enumerate() {
                let point = self.points[source];
                if archive.steps_per_row > 1 {
                    consolidate::add_point(archive, state, point, progress);
                } else if elapsed > 2 {
                    let (next, before) = (self.season[source], self.season_before[source]);
                    consolidate::skip(archive, state, point, elapsed, next, before);
                }
            }
        }
        Ok(due)
    }

    /// Takes the data points into all archives of one step per row, for one or two steps.
    fn forecast(&mut self, file: &mut File, elapsed: u64) -> Result<()> {
        if elapsed > 2 {
            return Ok(());
        }
        for done in 0..elapsed {
            let slot = match done {
                0 => consolidation_value::PRIMARY,
                _ => consolidation_value::SECONDARY,
            };
            for archive in 0..file.header().archives.len() {
                if file.header().archives[archive].steps_per_row != 1 {
                    continue;
                }
                let function = file.header().archives[archive].function;
                if function.is_plain() {
                    let header = file.header_mut();
                    let sources = header.sources.len();
                    let states = &mut header.consolidation[archive * sources..][..sources];
                    for (state, point) in states.iter_mut().zip(&self.points) {
                        state[slot] = point.to_bits();
                    }
                    continue;
                }
                if function.is_seasonal() {
                    self.season = self.season_row(file, archive, elapsed + 1 + done)?;
                }
                for source in 0..self.points.len() {
                    let next_season = self.season[source];
                    let header = file.header_mut();
                    let mut step =
                        holt_winters::Step { header, archive, source, slot, next_season };
                    step.add_point(self.points[source]);
                }
            }
        }
        Ok(())
    }

    /// A row of a season, counted from the one written last.
    fn season_row(&mut self, file: &File, archive: usize, offset: u64) -> Result<Vec<f64>> {
        let rows = file.header().archives[archive].rows;
        let sources = file.header().sources.len();
        let row = file.header().current_row[archive].wrapping_add(offset) % rows;
        let cells = self.season_cells(file, archive)?;
        let start = usize::try_from(row).unwrap_or(0) * sources;
        Ok(cells[start..start + sources].to_vec())
    }

    fn season_cells(&mut self, file: &File, archive: usize) -> Result<&mut Vec<f64>> {
        let slot = &mut self.pending[archive].season;
        if slot.is_none() {
            *slot = Some(file.read_rows(archive, 0, file.header().archives[archive].rows)?);
        }
        Ok(slot.get_or_insert_default())
    }

    /// Moves to the next rows and keeps their values, to be written by `finish`.
    fn write_rows(
        &mut self,
        header: &mut RrdHeader,
        time: i64,
        mut written: Option<&mut Vec<WrittenValue>>,
    ) {
        let sources = header.sources.len();
        for index in 0..header.archives.len() {
            let RowCount { rows, is_skipped } = self.rows[index];
            let archive = &header.archives[index];
            let states = &header.consolidation[index * sources..(index + 1) * sources];
            for done in 0..rows {
                let row = header.current_row[index] + 1;
                let row = if row >= archive.rows { 0 } else { row };
                header.current_row[index] = row;
                if is_skipped {
                    continue;
                }
                let slot = match done {
                    0 => consolidation_value::PRIMARY,
                    _ => consolidation_value::SECONDARY,
                };
                self.pending[index].push(archive, row, states, slot);
                if let Some(written) = written.as_deref_mut() {
                    let row_seconds =
                        header.step_seconds.wrapping_mul(archive.steps_per_row) as i64;
                    // RRDtool is a row behind from the second row on.
                    let back = rows as i64 - done as i64 - if done == 0 { 1 } else { 2 };
                    let back_seconds = back.wrapping_mul(row_seconds);
                    let time = (time - time % row_seconds.max(1)).wrapping_sub(back_seconds);
                    written.extend(states.iter().enumerate().map(|(source, state)| WrittenValue {
                        time,
                        archive: index,
                        source,
                        value: f64::from_bits(state[slot]),
                    }));
                }
            }
        }
    }

    fn smooth(&mut self, file: &mut File) -> Result<()> {
        for archive in 0..file.header().archives.len() {
            if !file.header().archives[archive].function.is_seasonal() {
                continue;
            }
            self.season_cells(file, archive)?;
            let pending = &mut self.pending[archive];
            let Some(cells) = &mut pending.season else { continue };
            if holt_winters::smooth(file.header_mut(), archive, cells) {
                pending.changed = (0..file.header().archives[archive].rows).collect();
            }
        }
        Ok(())
    }

    /// Writes all that has changed.
    fn finish(&mut self, file: &mut File) -> Result<LiveWrite> {
        self.ranges.clear();
        self.buffer.clear();
        file.push_live(&mut self.ranges, &mut self.buffer);
        let sources = file.header().sources.len();
        let mut row = file.header_bytes();
        for (archive, pending) in file.header().archives.iter().zip(&mut self.pending) {
            pending.push_ranges(archive, sources, row, &mut self.ranges, &mut self.buffer);
            row += archive.rows * sources as u64 * 8;
        }
        file.write_live(&self.ranges, &self.buffer)
    }
}

impl Pending {
    fn push(&mut self, archive: &Archive, row: u64, states: &[Values], slot: usize) {
        let values = states.iter().map(|state| f64::from_bits(state[slot]));
        if archive.function.is_seasonal() {
            if let Some(cells) = &mut self.season {
                let start = usize::try_from(row).unwrap_or(0) * states.len();
                for (cell, value) in cells[start..].iter_mut().zip(values) {
                    *cell = value;
                }
            }
            self.changed.push(row);
            return;
        }
        self.cells.extend(values);
    }

    /// Adds the ranges of the file that these rows are, and their bytes.
    fn push_ranges(
        &mut self,
        archive: &Archive,
        sources: usize,
        start: u64,
        ranges: &mut Vec<Range>,
        buffer: &mut Vec<u8>,
    ) {
        let row_bytes = sources as u64 * 8;
        let mut push = |row: u64, cells: &[f64]| {
            if !cells.is_empty() {
                ranges.push(Range { offset: start + row * row_bytes, length: cells.len() * 8 });
                buffer.extend(cells.iter().flat_map(|cell| cell.to_le_bytes()));
            }
        };
        if let Some(season) = &self.season {
            self.changed.sort_unstable();
            self.changed.dedup();
            // Rows that follow one another are one range.
            for run in self.changed.chunk_by(|row, next| row + 1 == *next) {
                let first = usize::try_from(run[0]).unwrap_or(0) * sources;
                push(run[0], &season[first..first + run.len() * sources]);
            }
            return;
        }
        // Rows that were overwritten again need not be written.
        let rows = (self.cells.len() / sources.max(1)) as u64;
        let surplus = rows.saturating_sub(archive.rows);
        let cells = &self.cells[usize::try_from(surplus).unwrap_or(0) * sources..];
        let first = (self.before + 1 + surplus) % archive.rows;
        let until_end = usize::try_from(archive.rows - first).unwrap_or(usize::MAX);
        let (head, tail) = cells.split_at(cells.len().min(until_end.saturating_mul(sources)));
        push(first, head);
        push(0, tail);
    }
}

impl Interval {
    fn between(header: &RrdHeader, time: Time, seconds: f64) -> Self {
        let step = header.step_seconds;
        let (now, last) = (time.seconds as u64, header.last_update.seconds as u64);
        let begun = last - last % step;
        let age = now % step;
        let complete = now - age;
        let (before, after) = if complete > begun {
            let before = complete.wrapping_sub(last) as i64 as f64
                - header.last_update.microseconds as f64 / 1e6;
            (before, age as f64 + time.microseconds as f64 / 1e6)
        } else {
            (seconds, 0.0)
        };
        // RRDtool keeps the number of steps in a C int.
        let elapsed = (complete.wrapping_sub(begun) / step) as i32;
        Self {
            seconds,
            before,
            after,
            elapsed: u64::try_from(elapsed).unwrap_or(0),
            steps_before: begun / step,
        }
    }
}

/// Forgets all changes of a call, for an error that comes after some were made.
fn forget(file: &mut File, error: Error) -> Error {
    match file.forget_changes() {
        Ok(()) => error.of(file.path()),
        Err(error) => error,
    }
}

fn seconds_between(last: Time, time: Time) -> f64 {
    let microseconds = time.microseconds.wrapping_sub(last.microseconds);
    time.seconds.wrapping_sub(last.seconds) as f64 + microseconds as f64 / 1e6
}

/// Adds to a step that stays incomplete.
fn add_to_step(header: &mut RrdHeader, amounts: &[f64], seconds: f64) {
    for (primary, amount) in header.primary.iter_mut().zip(amounts) {
        let values = &mut primary.values;
        if amount.is_nan() {
            let unknown = values[primary_value::UNKNOWN_SECONDS] as f64 + seconds.floor();
            values[primary_value::UNKNOWN_SECONDS] = unknown as u64;
            continue;
        }
        let sum = f64::from_bits(values[primary_value::VALUE]);
        let sum = if sum.is_nan() { *amount } else { sum + amount };
        values[primary_value::VALUE] = sum.to_bits();
    }
}

/// Completes steps: gives the data point of each source, and begins the next step.
fn complete_points(
    header: &mut RrdHeader,
    amounts: &[f64],
    points: &mut [f64],
    interval: Interval,
    programs: &mut Programs,
    now: impl Fn() -> f64,
) -> Result<()> {
    let step = header.step_seconds;
    for index in 0..header.sources.len() {
        let source = &header.sources[index];
        let values = &mut header.primary[index].values;
        let amount = amounts[index];
        let mut unknown_before = 0.0;
        if amount.is_nan() {
            unknown_before = interval.before;
        } else {
            let sum = f64::from_bits(values[primary_value::VALUE]);
            let sum = if sum.is_nan() { 0.0 } else { sum };
            let sum = sum + amount / interval.seconds * interval.before;
            values[primary_value::VALUE] = sum.to_bits();
        }
        let unknown = values[primary_value::UNKNOWN_SECONDS];
        let is_unknown = interval.seconds > source.heartbeat_seconds() as f64
            || step as f64 / 2.0 < f64::from(unknown as i32);
        points[index] = if is_unknown {
            UNKNOWN
        } else {
            let known = interval.elapsed.wrapping_mul(step).wrapping_sub(unknown) as f64;
            f64::from_bits(values[primary_value::VALUE]) / (known - unknown_before)
        };
        if source.kind == SourceKind::Compute
            && let Some(value) = programs.evaluate(index, &points[..index], &now)?
        {
            points[index] = value;
        }
        let (unknown, value) = match amount.is_nan() {
            true => (interval.after.floor() as u64, UNKNOWN),
            false => (0, amount / interval.seconds * interval.after),
        };
        values[primary_value::UNKNOWN_SECONDS] = unknown;
        values[primary_value::VALUE] = value.to_bits();
    }
    Ok(())
}

//! A sound database from a damaged file, and what was changed or lost.
//!
//! `salvage.rs` makes the header readable; here the state is mended: every value that an update
//! could not have left is set to what is known, which is mostly "unknown so far".
//!
//! | damage | what is done |
//! |---|---|
//! | newest row of an archive out of range | found by the value that the state remembers, and by rows of other archives; else the archive's rows are unknown |
//! | last update in the future or before 1970 | the time of the file's last change; rows are dated by it |
//! | counts of unknown seconds or steps that cannot be | the step or row so far is unknown |
//! | infinite sums, forecasts and seasons | unknown; a forecast begins anew |
//! | a last reading that is no number | `U` |
//! | limits, shares, windows and partners of archives that cannot be | those of other archives, else RRDtool's defaults |
//!
//! A file that is sound is not changed.

use std::fs::File as SystemFile;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::check;
use crate::codec::{self, Shape};
use crate::compute;
use crate::error::{Error, Result, refuse};
use crate::file::{Locking, open_locked};
use crate::header::{
    ConsolidationFunction, FAILURES_WINDOW_MAX, RrdHeader, SourceKind, StoredDataSource, Time,
    archive_value, consolidation_value, primary_value, source_value,
};
use crate::image::{Image, first_state, write_durably};
use crate::layout::{READING_BYTES, X86_64};
use crate::number::{self, UNKNOWN};
use crate::populate;
use crate::restructure;
use crate::salvage::{Limits, Salvaged, salvage};

/// What a repair may assume.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The present, in seconds since 1970.
    pub now: i64,
    /// The step, if the file's own is lost, in seconds.
    pub step_seconds: Option<u64>,
    /// Most bytes of the mended file.
    pub bytes_max: u64,
    /// What to do about a lock of the file, if it is mended in its place.
    pub locking: Locking,
}

/// Most bytes of a file that is mended, usually: it is held in memory several times.
pub const BYTES_MAX: u64 = 1 << 30;

/// A mended database.
#[derive(Debug, Clone)]
pub struct Repaired {
    /// The database.
    pub image: Image,
    /// What was changed or lost, a sentence each; empty if the file was sound.
    pub changes: Vec<String>,
}

/// Mends a file.  The file itself is only read.
///
/// # Errors
/// If the file cannot be read, or something is lost that nothing else in it tells.
pub fn repair(path: &Path, options: &Options) -> Result<Repaired> {
    let file = SystemFile::open(path).map_err(|error| Error::file("opening", path, error))?;
    repair_file(&file, path, options)
}

/// Mends a file and writes the result, also of a file that was sound; `target` may be the file
/// itself, which is written only if something was changed.  What is there stays until the new
/// file is whole and on the disk.
///
/// # Errors
/// As [`repair`], if another process holds the lock of a file that is replaced, or the new file
/// cannot be written.
pub fn repair_to(path: &Path, target: &Path, options: &Options) -> Result<Repaired> {
    let is_same = path == target;
    let file = match is_same {
        true => open_locked(path, options.locking)?,
        false => SystemFile::open(path).map_err(|error| Error::file("opening", path, error))?,
    };
    let repaired = repair_file(&file, path, options)?;
    if !is_same || !repaired.changes.is_empty() {
        write_durably(target, &repaired.image.to_bytes())?;
    }
    Ok(repaired)
}

fn repair_file(file: &SystemFile, path: &Path, options: &Options) -> Result<Repaired> {
    let failed = |error| Error::file("reading", path, error);
    let metadata = file.metadata().map_err(failed)?;
    let mut bytes = Vec::new();
    // One byte more shows that there are too many.
    let read = file.take(options.bytes_max.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(failed)?;
    if bytes.len() as u64 > options.bytes_max {
        return Err(refuse!("a file of {} bytes is more than fits into memory", metadata.len()));
    }
    repair_bytes(bytes, metadata.mtime(), options)
}

/// Mends the bytes of a file, which was last changed at `modified` (seconds since 1970).
///
/// # Errors
/// As [`repair`].
pub fn repair_bytes(bytes: Vec<u8>, modified: i64, options: &Options) -> Result<Repaired> {
    let limits = Limits { bytes_max: options.bytes_max, step_seconds: options.step_seconds };
    let Salvaged { bytes, shape, given, lost_rows, lost_archives, mut changes } =
        salvage(bytes, limits)?;
    let header_bytes = usize::try_from(shape.header_bytes).unwrap_or(usize::MAX);
    let header = codec::decode(&shape, &bytes[..header_bytes], Path::new("it"))?;
    let image = Image { cells: cells(&shape, &header, &bytes[header_bytes..]), header };
    let mut mender = Mender { image, changes: &mut changes };
    if shape.layout != X86_64 {
        mender.say(format!("written on {}: it has this machine's layout now", shape.layout.name));
    }
    if shape.version < 3 {
        mender.image.header.version = 3;
        mender.say(format!("the version was {}: it is 3 now", shape.version));
    }
    let time = modified.clamp(0, options.now.max(0));
    mender.begin_what_is_cut_off(&shape, given);
    mender.last_update(options.now, time);
    mender.sources();
    mender.archives();
    mender.primary_states();
    mender.states();
    mender.newest_rows(&lost_rows);
    mender.drop_archives(&lost_archives)?;
    let image = mender.image;
    match check::faults(&image.header, options.now).first() {
        Some(fault) => Err(refuse!("it cannot be mended: {fault}")),
        None => Ok(Repaired { image, changes }),
    }
}

/// The rows of each archive.
fn cells(shape: &Shape, header: &RrdHeader, bytes: &[u8]) -> Vec<Vec<f64>> {
    let mut values = bytes.chunks_exact(8).map(|bytes| shape.layout.double(bytes, 0));
    let sources = header.sources.len();
    let count = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX).saturating_mul(sources);
    header.archives.iter().map(|one| values.by_ref().take(count(one.rows)).collect()).collect()
}

struct Mender<'a> {
    image: Image,
    changes: &'a mut Vec<String>,
}

impl Mender<'_> {
    fn say(&mut self, text: impl Into<String>) {
        self.changes.push(text.into());
    }

    /// States that the file does not have any more begin anew.
    fn begin_what_is_cut_off(&mut self, shape: &Shape, given: usize) {
        let layout = &shape.layout;
        let live = usize::try_from(layout.live_offset(shape.sources, shape.archives));
        let primary = live.unwrap_or(usize::MAX).saturating_add(layout.live_bytes(shape.version));
        if given < primary {
            self.image.header.last_update = Time::of_seconds(-1);
        }
        let sources = self.image.header.sources.len();
        for source in 0..sources {
            if given < primary + (source + 1) * layout.primary_bytes() {
                self.image.header.primary[source].set_reading(b"U");
                self.forget_step(source);
            }
        }
        let states = primary + sources * layout.primary_bytes();
        for index in 0..self.image.header.consolidation.len() {
            if given < states + (index + 1) * crate::layout::CONSOLIDATION_BYTES {
                self.forget_row(index / sources, index % sources);
            }
        }
    }

    /// The step so far is unknown.
    fn forget_step(&mut self, source: usize) {
        let header = &mut self.image.header;
        let elapsed = header.last_update.seconds.max(0) as u64 % header.step_seconds;
        let values = &mut header.primary[source].values;
        values[primary_value::UNKNOWN_SECONDS] = elapsed;
        values[primary_value::VALUE] = UNKNOWN.to_bits();
    }

    /// The row so far is unknown; what was written last stays.
    fn forget_row(&mut self, archive: usize, source: usize) {
        let header = &mut self.image.header;
        let elapsed = header.last_update.seconds.max(0) as u64 % header.step_seconds;
        let mut values = first_state(header, archive, elapsed);
        if header.archives[archive].function != ConsolidationFunction::Failures {
            for place in [consolidation_value::PRIMARY, consolidation_value::SECONDARY] {
                values[place] = header.state(archive, source)[place];
            }
        }
        *header.state_mut(archive, source) = values;
    }

    fn last_update(&mut self, now: i64, time: i64) {
        let last = &mut self.image.header.last_update;
        if !(0..=now).contains(&last.seconds) {
            let was = last.seconds;
            *last = Time::of_seconds(time);
            self.say(format!(
                "the last update was at {was}; it is at {time} now, and rows are dated by it"
            ));
            for source in 0..self.image.header.sources.len() {
                self.forget_step(source);
            }
            for index in 0..self.image.header.archives.len() {
                if self.image.header.archives[index].function.is_plain() {
                    let sources = 0..self.image.header.sources.len();
                    sources.for_each(|source| self.forget_row(index, source));
                }
            }
        } else if !(0..1_000_000).contains(&last.microseconds) {
            let was = last.microseconds;
            last.microseconds = 0;
            self.say(format!("the last update was {was} µs after its second: it is 0 now"));
        }
    }

    fn sources(&mut self) {
        for index in 0..self.image.header.sources.len() {
            self.source_name(index);
            let header = &self.image.header;
            let longest = header.sources.iter().filter(|one| one.kind != SourceKind::Compute);
            let longest = longest.map(StoredDataSource::heartbeat_seconds).max().unwrap_or(0);
            let longest = if longest == 0 { 2 * header.step_seconds } else { longest };
            let source = &header.sources[index];
            let name = source.name.clone();
            if source.kind == SourceKind::Compute {
                if let Err(error) = compute::check(source, index) {
                    let source = &mut self.image.header.sources[index];
                    source.kind = SourceKind::Gauge;
                    source.values = Default::default();
                    source.values[source_value::HEARTBEAT] = longest;
                    source.values[source_value::MINIMUM] = UNKNOWN.to_bits();
                    source.values[source_value::MAXIMUM] = UNKNOWN.to_bits();
                    self.say(format!("{error}: {name} is a GAUGE now, which updates have to give"));
                }
            } else if source.heartbeat_seconds() == 0 {
                self.image.header.sources[index].values[source_value::HEARTBEAT] = longest;
                self.say(format!("data source {name} had a heartbeat of 0 s: {longest} s now"));
            }
        }
    }

    fn source_name(&mut self, index: usize) {
        let name = self.image.header.sources[index].name.clone();
        let is_taken =
            |name: &str| self.image.header.sources[..index].iter().any(|other| other.name == name);
        if !is_taken(&name) {
            return;
        }
        let new = (index..).map(|number| format!("ds{number}")).find(|name| !is_taken(name));
        let Some(new) = new else { return };
        self.say(format!("a second data source {name} is named {new} now"));
        self.image.header.sources[index].name = new;
    }

    fn archives(&mut self) {
        let plain = self.image.header.archives.iter().filter(|one| one.function.is_plain());
        let factors: Vec<f64> =
            plain.map(|one| one.double(archive_value::XFILES_FACTOR)).filter(is_share).collect();
        let factor = factors.first().copied().unwrap_or(0.5);
        for index in 0..self.image.header.archives.len() {
            let function = self.image.header.archives[index].function;
            if function.is_plain() {
                let own = self.image.header.archives[index].double(archive_value::XFILES_FACTOR);
                if !is_share(&own) {
                    self.set(index, archive_value::XFILES_FACTOR, factor, "xff");
                }
            } else {
                self.forecast_parameters(index, function);
            }
        }
    }

    fn set(&mut self, archive: usize, place: usize, value: f64, what: &str) {
        let archive_values = &mut self.image.header.archives[archive].values;
        let was = f64::from_bits(archive_values[place]);
        archive_values[place] = value.to_bits();
        self.say(format!("rra {archive} had an {what} of {was:e}: it is {value} now"));
    }

    fn forecast_parameters(&mut self, index: usize, function: ConsolidationFunction) {
        use archive_value as at;
        let own = |mender: &Self, place| mender.image.header.archives[index].double(place);
        let is_rate = |number: f64| number > 0.0 && number < 1.0;
        if function.is_forecast() || function.is_seasonal() {
            // `ALPHA` and `GAMMA` share a place.
            if !is_rate(own(self, at::ALPHA)) {
                self.set(index, at::ALPHA, 0.1, "adaption");
            }
        }
        if function.is_forecast() && !(0.0..=1.0).contains(&own(self, at::BETA)) {
            self.set(index, at::BETA, 1.0 / 288.0, "adaption of its slope");
        }
        if function.is_seasonal() {
            if !(0.0..=1.0).contains(&own(self, at::SMOOTHING_WINDOW)) {
                self.set(index, at::SMOOTHING_WINDOW, 0.05, "smoothing window");
            }
            let archive = &mut self.image.header.archives[index];
            if archive.values[at::SMOOTH_ROW] >= archive.rows {
                archive.values[at::SMOOTH_ROW] = 0;
                self.say(format!(
                    "rra {index} was smoothed at a row that it has not: at row 0 now"
                ));
            }
        }
        if function == ConsolidationFunction::Failures {
            for place in [at::DELTA_POSITIVE, at::DELTA_NEGATIVE] {
                let delta = own(self, place);
                if !(delta >= 0.0 && delta.is_finite()) {
                    self.set(index, place, 2.0, "width of its band");
                }
            }
            let values = &mut self.image.header.archives[index].values;
            let (window, threshold) = (values[at::WINDOW], values[at::THRESHOLD]);
            if !(1..=FAILURES_WINDOW_MAX).contains(&window) || !(1..=window).contains(&threshold) {
                (values[at::WINDOW], values[at::THRESHOLD]) = (9, 7);
                self.say(format!(
                    "rra {index} had {threshold} failures in {window} rows: 7 in 9 now"
                ));
            }
        }
        self.partner(index, function);
    }

    /// The archive that another depends on, if the index is none that can be.
    fn partner(&mut self, index: usize, function: ConsolidationFunction) {
        use ConsolidationFunction::{DevSeasonal, Seasonal};
        let fits = |other: ConsolidationFunction| match function {
            _ if function.is_forecast() => other == Seasonal,
            _ if function.is_seasonal() => other.is_forecast(),
            _ => other == DevSeasonal,
        };
        let archives = &self.image.header.archives;
        let own = archives[index].dependent();
        if archives.get(own).is_some_and(|other| fits(other.function)) {
            return;
        }
        // Archives of a forecast are made together: the nearest is its partner.
        let others = (0..archives.len()).filter(|other| fits(archives[*other].function));
        if let Some(nearest) = others.min_by_key(|other| other.abs_diff(index)) {
            self.image.header.archives[index].values[archive_value::DEPENDENT] = nearest as u64;
            self.say(format!("rra {index} depended on rra {own}: on rra {nearest} now"));
        }
    }

    fn primary_states(&mut self) {
        let header = &self.image.header;
        let step = header.step_seconds;
        let kinds: Vec<SourceKind> = header.sources.iter().map(|one| one.kind).collect();
        for (source, kind) in kinds.into_iter().enumerate() {
            let name = self.image.header.sources[source].name.clone();
            let primary = &mut self.image.header.primary[source];
            if !is_reading(primary.reading(), kind) || !primary.reading.contains(&0) {
                let mut bytes = [0; READING_BYTES];
                bytes[0] = b'U';
                primary.reading = bytes;
                self.say(format!("the last reading of data source {name} was damaged: U now"));
            }
            let values = &self.image.header.primary[source].values;
            let unknown = values[primary_value::UNKNOWN_SECONDS];
            let value = f64::from_bits(values[primary_value::VALUE]);
            if unknown > step || value.is_infinite() {
                self.forget_step(source);
                let what = match unknown > step {
                    true => format!("{unknown} unknown seconds"),
                    false => format!("a sum of {value}"),
                };
                self.say(format!("data source {name} had {what} in a step of {step} s"));
            }
        }
    }

    fn states(&mut self) {
        let archives = self.image.header.archives.len();
        for (archive, source) in (0..archives)
            .flat_map(|archive| (0..self.image.header.sources.len()).map(move |at| (archive, at)))
            .collect::<Vec<_>>()
        {
            let header = &self.image.header;
            let what = check::state_fault(header, archive, source);
            if let Some(what) = what {
                let name = header.sources[source].name.clone();
                self.forget_row(archive, source);
                self.say(format!("rra {archive} had {what} for data source {name}"));
            }
        }
    }

    /// Finds the newest rows that the file does not tell any more.
    fn newest_rows(&mut self, lost: &[usize]) {
        for archive in lost {
            let sources = self.image.header.sources.len();
            let mut rows = self.image.cells[*archive].chunks_exact(sources);
            let first = rows.next().unwrap_or_default();
            let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
            if rows.all(|row| row.iter().zip(first).all(same)) {
                // Any row may be the newest.
                continue;
            }
            match find_newest(&self.image, *archive, lost) {
                Some(row) => {
                    self.image.header.current_row[*archive] = row;
                    self.say(format!("rra {archive}: row {row} is the newest, by its values"));
                }
                None => {
                    self.image.cells[*archive].fill(UNKNOWN);
                    self.say(format!(
                        "rra {archive}: nothing tells which row is the newest; all its rows are lost"
                    ));
                }
            }
        }
    }

    fn drop_archives(&mut self, lost: &[usize]) -> Result<()> {
        let header = &self.image.header;
        let mut stays: Vec<bool> =
            (0..header.archives.len()).map(|index| !lost.contains(&index)).collect();
        // An archive without its partner goes as well, and those that depend on it.
        let mut dropped = Vec::new();
        loop {
            let orphan = header.archives.iter().enumerate().position(|(index, one)| {
                let is_alone = stays.get(one.dependent()) != Some(&true);
                stays[index] && !one.function.is_plain() && is_alone
            });
            let Some(orphan) = orphan else { break };
            stays[orphan] = false;
            dropped.push(orphan);
        }
        for index in dropped {
            self.say(format!("rra {index} is dropped: the archive that it depends on is lost"));
        }
        if !stays.contains(&true) {
            return Err(refuse!("it cannot be mended: no archive is left"));
        }
        match stays.contains(&false) {
            true => restructure::remove_archives(&mut self.image, &stays),
            false => Ok(()),
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "a filter of references")]
fn is_share(factor: &f64) -> bool {
    (0.0..1.0).contains(factor)
}

/// Whether a text can be the last reading of a source.
fn is_reading(text: &[u8], kind: SourceKind) -> bool {
    let is_word = matches!(text, b"U" | b"UNKN" | b"NaN" | b"nan" | b"-nan" | b"");
    match kind {
        SourceKind::Counter | SourceKind::Derive => {
            let digits = text.strip_prefix(b"-").unwrap_or(text);
            is_word || (!digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
        }
        // Numbers that are too long are cut.
        SourceKind::Compute => true,
        _ => is_word || number::parse_prefix(text).1 > 0,
    }
}

/// Finds the newest row of an archive, by the values that its state remembers and by the rows of
/// another archive; `None` if nothing tells it.
fn find_newest(image: &Image, archive: usize, lost: &[usize]) -> Option<u64> {
    /// Rows that are compared with another archive.
    const COMPARED_MAX: u64 = 60;
    let header = &image.header;
    let (rows, sources) = (header.archives[archive].rows, header.sources.len());
    let row = |row: u64| {
        let at = usize::try_from(row).unwrap_or(0) * sources;
        &image.cells[archive][at..at + sources]
    };
    let same = |cell: f64, other: f64| {
        cell.to_bits() == other.to_bits() || (cell.is_nan() && other.is_nan())
    };
    let primary: Vec<f64> = (0..sources)
        .map(|source| f64::from_bits(header.state(archive, source)[consolidation_value::PRIMARY]))
        .collect();
    let is_remembered =
        |at: &u64| row(*at).iter().zip(&primary).all(|(cell, own)| same(*cell, *own));
    let is_known = primary.iter().any(|value| !value.is_nan());
    let mut found: Vec<u64> = match is_known {
        true => (0..rows).filter(is_remembered).collect(),
        false => Vec::new(),
    };
    if let [single] = found.as_slice() {
        return Some(*single);
    }
    if found.is_empty() {
        found = (0..rows).collect();
    }
    // What another archive says of the newest rows.
    let function = header.archives[archive].function;
    let others = (0..header.archives.len()).filter(|other| {
        let other_function = header.archives[*other].function;
        !lost.contains(other)
            && *other != archive
            && (other_function == function || other_function == ConsolidationFunction::Average)
    });
    let other = others.min_by_key(|other| {
        let one = &header.archives[*other];
        (one.function != function, one.steps_per_row)
    });
    let length = header.row_seconds(archive) as i64;
    let said: Vec<f64> = match other.filter(|_| function.is_plain()) {
        Some(other) => (0..rows.min(COMPARED_MAX))
            .map(|back| {
                let end = header.newest_row(archive) - back as i64 * length;
                populate::value_of(image, other, 0, function, end - length + 1, end)
            })
            .collect(),
        None => Vec::new(),
    };
    let agrees = |newest: u64| {
        let agrees = |(back, said): (u64, &f64)| {
            let cell = row((newest + rows - back) % rows)[0];
            (cell - said).abs() <= 1e-9 * said.abs()
        };
        (0..).zip(&said).filter(|pair| agrees(*pair)).count()
    };
    let (best, agreeing) = found
        .iter()
        .map(|row| (*row, agrees(*row)))
        .max_by_key(|(row, agreeing)| (*agreeing, std::cmp::Reverse(*row)))?;
    (agreeing > 1 || (is_known && agreeing > 0)).then_some(best)
}

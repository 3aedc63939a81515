//! A database in this machine's layout, with another step and other sources and archives.
//!
//! Without another step all values stay as they are, bit for bit; sources and archives are added
//! and removed as by `tune` (`restructure.rs`).
//!
//! With another step each archive keeps the seconds of its rows as nearly as the step allows, and
//! at least the time that it covered.  Rows are resampled by the rule of `create --source`: a row
//! takes what the old archive of the same function, then what averages say of its seconds; an
//! average is weighed by time, a smallest, largest or last value is that of all rows that overlap;
//! a row of which less than the share of its xff is known stays unknown.  Last readings stay, so
//! counters go on.  Forecasts begin anew, as their seasons count steps.

use std::path::Path;

use crate::error::{Result, refuse};
use crate::file::{Access, File, Locking};
use crate::header::{Archive, RrdHeader, primary_value};
use crate::image::{Image, first_state, write_durably};
use crate::layout::X86_64;
use crate::number::UNKNOWN;
use crate::prefill;
use crate::restructure::restructure;

/// What is changed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// The new step, in seconds.
    pub step_seconds: Option<u64>,
    /// Changes of sources and archives, in the words of `tune`.
    pub words: &'a [String],
    /// What to do about a lock of the file, if it is converted in its place.
    pub locking: Locking,
}

/// Converts a file.  `target` may be the file itself: the old one stays until the new one is whole
/// and on the disk.
///
/// # Errors
/// If RRDtool would fail too, with its texts; if the file cannot be read, is locked, or the new one cannot be written.
pub fn convert(path: &Path, target: &Path, options: &Options<'_>) -> Result<()> {
    // What is replaced must not be updated meanwhile.  A file of another machine is updated by
    // nobody here, and is not opened for writing.
    let mut file = File::open(path, Access::Read)?;
    if path == target && file.layout() == X86_64 {
        // Closing a file gives the lock back, so this comes first.
        drop(file);
        file = File::open(path, Access::Write(options.locking))?;
    }
    let image = image(Image::of(&file)?, options, target)?;
    write_durably(target, &image.to_bytes())
}

/// Converts a database in memory; `target` names the file that it will have.
///
/// # Errors
/// As [`convert`].
pub fn image(mut image: Image, options: &Options<'_>, target: &Path) -> Result<Image> {
    image.header.version = image.header.version.max(3);
    if let Some(step) = options.step_seconds.filter(|step| *step != image.header.step_seconds) {
        image = with_step(&image, step)?;
    }
    if !options.words.is_empty() {
        let name = std::os::unix::ffi::OsStrExt::as_bytes(target.as_os_str());
        restructure(&mut image, options.words, name)?;
    }
    Ok(image)
}

/// Resamples a database.
fn with_step(old: &Image, step_seconds: u64) -> Result<Image> {
    /// Longest step: some 30,000 years, in seconds.
    const STEP_SECONDS_MAX: u64 = 1 << 40;
    if !(1..=STEP_SECONDS_MAX).contains(&step_seconds) {
        return Err(refuse!("a step of {step_seconds} s"));
    }
    let archives: Vec<Archive> =
        old.header.archives.iter().map(|one| scaled(one, &old.header, step_seconds)).collect();
    let header = RrdHeader { step_seconds, archives, ..old.header.clone() };
    let mut image = Image::empty(header)?;
    prefill::fill(&mut image, std::slice::from_ref(old), &[]);
    take_readings(&mut image.header, &old.header);
    let sources = image.header.sources.len();
    for index in 0..image.header.archives.len() {
        if image.header.archives[index].function.is_plain() {
            continue;
        }
        image.cells[index].fill(UNKNOWN);
        for source in 0..sources {
            let state = first_state(&image.header, index, 0);
            *image.header.state_mut(index, source) = state;
        }
    }
    Ok(image)
}

/// An archive of the same function whose rows have about the same length, and cover as much time.
fn scaled(archive: &Archive, old: &RrdHeader, step_seconds: u64) -> Archive {
    if !archive.function.is_plain() {
        return archive.clone();
    }
    let length = old.step_seconds.saturating_mul(archive.steps_per_row);
    let covered = length.saturating_mul(archive.rows);
    let steps_per_row = ((length + step_seconds / 2) / step_seconds).max(1);
    let rows = covered.div_ceil(step_seconds.saturating_mul(steps_per_row)).max(1);
    Archive { rows, steps_per_row, ..archive.clone() }
}

/// Keeps the last readings, and the step so far where it began at the same second.
fn take_readings(header: &mut RrdHeader, old: &RrdHeader) {
    header.last_update = old.last_update;
    let elapsed =
        |header: &RrdHeader| header.last_update.seconds.max(0) as u64 % header.step_seconds;
    let is_same = elapsed(header) == elapsed(old);
    let unknown = elapsed(header);
    for (primary, old) in header.primary.iter_mut().zip(&old.primary) {
        *primary = *old;
        if !is_same {
            primary.values[primary_value::UNKNOWN_SECONDS] = unknown;
            primary.values[primary_value::VALUE] = UNKNOWN.to_bits();
        }
    }
}

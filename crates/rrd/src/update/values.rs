//! Updates by numbers: for a program that has its readings as doubles and keeps its files open.
//!
//! The same steps as for texts, so the rows are those that `update TIME:VALUE…` writes; no text is
//! made or read except that of the last reading, which the header keeps.

use std::fmt::Write as _;

use super::{Interval, Options, Updater, add_to_step, forget, seconds_between};
use crate::error::{Result, refuse};
use crate::file::File;
use crate::header::{RrdHeader, SourceKind, Time};
use crate::number::UNKNOWN;

/// Longest text of a reading that a header keeps.
const READING_BYTES_MAX: usize = 29;

impl Updater {
    /// Updates a locked file by rows of values, in the order of time, and writes all at once.
    ///
    /// A row has a value for each of `targets`, which are indexes of sources of the kind `GAUGE`;
    /// not a number is unknown, and so are all other sources.  A row that is not newer than the
    /// last update is left out.  Returns how many of these had a value that is known.
    ///
    /// # Errors
    /// If a target is of another kind, or the file cannot be written: then nothing has changed.
    pub fn update_values<'a>(
        &mut self,
        file: &mut File,
        targets: &[usize],
        rows: impl Iterator<Item = (Time, &'a [f64])>,
    ) -> Result<u64> {
        for &target in targets {
            match file.header().sources.get(target) {
                Some(source) if source.kind == SourceKind::Gauge => {}
                Some(source) => {
                    let error = refuse!("data source '{}' is not a GAUGE", source.name);
                    return Err(error.of(file.path()));
                }
                None => return Err(refuse!("there is no data source {target}").of(file.path())),
            }
        }
        self.begin(file, &Options::default())?;
        let (mut past, mut last, mut smooths) = (0, None, false);
        for (mut time, values) in rows {
            if file.header().version < 3 {
                time.microseconds = 0;
            }
            if time <= file.header().last_update {
                past += u64::from(values.iter().any(|value| !value.is_nan()));
                continue;
            }
            let seconds = seconds_between(file.header().last_update, time);
            self.set_amounts(file.header(), targets, values, seconds);
            let interval = Interval::between(file.header(), time, seconds);
            match interval.elapsed {
                0 => add_to_step(file.header_mut(), &self.amounts, seconds),
                _ => match self.complete_steps(file, time, interval, None) {
                    Ok(due) => smooths |= due,
                    Err(error) => return Err(forget(file, error)),
                },
            }
            file.header_mut().last_update = time;
            last = Some(values);
        }
        let Some(last) = last else { return Ok(past) };
        set_readings(file.header_mut(), targets, last);
        if smooths {
            self.smooth(file).map_err(|error| forget(file, error))?;
        }
        self.finish(file)?;
        Ok(past)
    }

    fn set_amounts(&mut self, header: &RrdHeader, targets: &[usize], values: &[f64], seconds: f64) {
        self.amounts.fill(UNKNOWN);
        for (&target, &value) in targets.iter().zip(values) {
            let source = &header.sources[target];
            let is_late = (source.heartbeat_seconds() as f64) < seconds;
            let is_beyond = value > source.maximum() || value < source.minimum();
            if !value.is_nan() && !is_late && !is_beyond {
                self.amounts[target] = value * seconds;
            }
        }
    }
}

/// Keeps the texts of the last readings.
fn set_readings(header: &mut RrdHeader, targets: &[usize], values: &[f64]) {
    let mut text = Text::default();
    for primary in &mut header.primary {
        primary.set_reading(b"U");
    }
    for (&target, &value) in targets.iter().zip(values) {
        if value.is_nan() {
            continue;
        }
        text.length = 0;
        // A text that is too long is written with an exponent, which is not.
        if write!(text, "{value}").is_err() {
            text.length = 0;
            let _ = write!(text, "{value:e}");
        }
        header.primary[target].set_reading(&text.bytes[..text.length]);
    }
}

/// A short text without an allocation.
#[derive(Default)]
struct Text {
    bytes: [u8; READING_BYTES_MAX],
    length: usize,
}

impl std::fmt::Write for Text {
    fn write_str(&mut self, part: &str) -> std::fmt::Result {
        let end = self.length + part.len();
        let room = self.bytes.get_mut(self.length..end).ok_or(std::fmt::Error)?;
        room.copy_from_slice(part.as_bytes());
        self.length = end;
        Ok(())
    }
}

//! A file from a dump.

use crate::compute;
use crate::error::{Result, refuse};
use crate::header::{
    Archive, ConsolidationFunction, FAILURES_WINDOW_MAX, Primary, RrdHeader, SourceKind,
    StoredDataSource, Time, Values, archive_value, consolidation_value, primary_value,
    source_value,
};
use crate::image::{Image, random_row};
use crate::layout::{NAME_BYTES, READING_BYTES};
use crate::number::{self, UNKNOWN, leading_integer};
use crate::xml::{DocumentReader, Event};

/// Reads a dump.  With `checks_range`, values beyond the limits of their source become unknown.
///
/// # Errors
/// If the text is no dump; the error's text is RRDtool's, where it has one.
pub fn restore(text: &str, checks_range: bool) -> Result<Image> {
    let mut restorer = Restorer { reader: DocumentReader::new(text), checks_range, image: empty() };
    restorer.document()?;
    restorer.finish()
}

struct Restorer<'a> {
    reader: DocumentReader<'a>,
    checks_range: bool,
    image: Image,
}

fn empty() -> Image {
    let header = RrdHeader {
        version: 3,
        step_seconds: 0,
        sources: Vec::new(),
        archives: Vec::new(),
        last_update: Time::default(),
        primary: Vec::new(),
        consolidation: Vec::new(),
        current_row: Vec::new(),
    };
    Image { header, cells: Vec::new() }
}

impl Restorer<'_> {
    fn document(&mut self) -> Result<()> {
        self.reader.expect("rrd")?;
        self.reader.expect("version")?;
        let version = self.reader.text("version")?;
        let number = leading_integer(version);
        if !(1..=5).contains(&number) {
            return Err(refuse!("can't handle RRD file version {version}"));
        }
        // Files are written as version 3 or newer.
        self.image.header.version = u8::try_from(number).unwrap_or(3).max(3);
        while let Some(name) = self.reader.child()? {
            match name {
                "step" => self.image.header.step_seconds = self.count("step")?,
                "lastupdate" => {
                    let seconds = self.count("lastupdate")?;
                    self.image.header.last_update = Time::of_seconds(seconds as i64);
                }
                "ds" => self.source()?,
                "rra" => self.archive()?,
                _ => return Err(refuse!("parse_tag_rrd: Unknown tag: {name}")),
            }
        }
        match self.reader.next()? {
            Event::Done => Ok(()),
            _ => {
                Err(refuse!("error reading/parsing XML: Extra content at the end of the document "))
            }
        }
    }

    fn finish(self) -> Result<Image> {
        let header = &self.image.header;
        if header.step_seconds == 0 {
            return Err(refuse!("the step of the database is 0 seconds"));
        }
        if header.sources.is_empty() || header.archives.is_empty() {
            return Err(refuse!("a database needs a data source and an archive"));
        }
        Ok(self.image)
    }

    fn count(&mut self, name: &str) -> Result<u64> {
        let line = self.reader.line();
        let text = self.reader.text(name)?;
        let digits = text.strip_prefix('-').unwrap_or(text);
        match digits.starts_with(|first: char| first.is_ascii_digit()) {
            // As `strtoul` and `strtol`: a negative number wraps.
            true => Ok(text.parse::<u64>().unwrap_or_else(|_| leading_integer(text) as u64)),
            false => Err(refuse!("line {line}: get_xml_long from '{text}' No such number")),
        }
    }

    /// A text that a file has room for, with its final zero.
    fn short(&mut self, name: &str, room: usize) -> Result<&str> {
        let text = self.reader.text(name)?;
        match text.len() < room {
            true => Ok(text),
            false => Err(refuse!("'{text}' is longer than {room}")),
        }
    }

    fn double(&mut self, name: &str) -> Result<f64> {
        let line = self.reader.line();
        let text = self.reader.text(name)?;
        let lower = text.to_ascii_lowercase();
        if lower.contains("nan") {
            return Ok(UNKNOWN);
        }
        if lower.contains("inf") {
            let infinity = if lower.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY };
            return Ok(infinity);
        }
        match number::parse_prefix(text.as_bytes()) {
            (number, 1..) => Ok(number),
            _ => Err(refuse!("line {line}: get_xml_double from '{text}' No such number")),
        }
    }

    fn source(&mut self) -> Result<()> {
        if !self.image.header.archives.is_empty() {
            let rule = "All data source definitions MUST precede the RRA definitions!";
            return Err(refuse!("parse_tag_ds: {rule}"));
        }
        let mut source = StoredDataSource {
            name: String::new(),
            kind: SourceKind::Gauge,
            values: Values::default(),
        };
        let mut primary = Primary { reading: [0; READING_BYTES], values: Values::default() };
        while let Some(name) = self.reader.child()? {
            match name {
                "name" => source.name = self.short(name, NAME_BYTES)?.to_owned(),
                "type" => {
                    let kind = self.reader.text(name)?;
                    source.kind = SourceKind::of(kind).ok_or_else(|| {
                        refuse!("parse_tag_ds_type: Unknown data source type: {kind}")
                    })?;
                }
                "minimal_heartbeat" => source.values[source_value::HEARTBEAT] = self.count(name)?,
                "min" => source.values[source_value::MINIMUM] = self.double(name)?.to_bits(),
                "max" => source.values[source_value::MAXIMUM] = self.double(name)?.to_bits(),
                "cdef" => {
                    let text = self.reader.text(name)?;
                    source.values = compute::parse(text, &self.image.header.sources)?;
                }
                "last_ds" => primary.set_reading(self.short(name, READING_BYTES)?.as_bytes()),
                "value" => primary.values[primary_value::VALUE] = self.double(name)?.to_bits(),
                "unknown_sec" => {
                    primary.values[primary_value::UNKNOWN_SECONDS] = self.count(name)?;
                }
                _ => return Err(refuse!("parse_tag_ds: Unknown tag: {name}")),
            }
        }
        self.image.header.sources.push(source);
        self.image.header.primary.push(primary);
        Ok(())
    }

    fn archive(&mut self) -> Result<()> {
        let mut archive = Archive {
            function: ConsolidationFunction::Average,
            rows: 0,
            steps_per_row: 1,
            values: Values::default(),
        };
        let sources = self.image.header.sources.len();
        let mut states = vec![Values::default(); sources];
        let mut cells = Vec::new();
        while let Some(name) = self.reader.child()? {
            match name {
                "cf" => {
                    let function = self.reader.text(name)?;
                    archive.function = ConsolidationFunction::of(function).ok_or_else(|| {
                        refuse!("parse_tag_rra_cf: Unknown consolidation function: {function}")
                    })?;
                }
                "pdp_per_row" => archive.steps_per_row = self.count(name)?,
                "xff" => {
                    let factor = self.double(name)?;
                    archive.values[archive_value::XFILES_FACTOR] = factor.to_bits();
                }
                "params" => self.parameters(&mut archive)?,
                "cdp_prep" => self.states(&mut states)?,
                "database" => self.rows(&mut cells)?,
                _ => {
                    let line = self.reader.line();
                    return Err(refuse!("line {line}: parse_tag_rra: Unknown tag: {name}"));
                }
            }
        }
        archive.rows = (cells.len() / sources.max(1)) as u64;
        if archive.rows == 0 || archive.steps_per_row == 0 {
            return Err(refuse!("an archive ({}) without rows", archive.function.name()));
        }
        // The newest row is the last one of the text; it may stand anywhere in the file.
        let current = random_row(archive.rows);
        let turn = usize::try_from(current + 1).unwrap_or(0) * sources;
        let turn = turn % cells.len().max(1);
        cells.rotate_right(turn);
        let header = &mut self.image.header;
        header.current_row.push(current);
        header.archives.push(archive);
        header.consolidation.extend(states);
        self.image.cells.push(cells);
        Ok(())
    }

    fn parameters(&mut self, archive: &mut Archive) -> Result<()> {
        use archive_value as at;
        while let Some(name) = self.reader.child()? {
            let (place, is_count) = match name {
                "xff" => (at::XFILES_FACTOR, false),
                "hw_alpha" => (at::ALPHA, false),
                "hw_beta" => (at::BETA, false),
                "seasonal_gamma" => (at::GAMMA, false),
                "smoothing_window" => (at::SMOOTHING_WINDOW, false),
                "delta_pos" => (at::DELTA_POSITIVE, false),
                "delta_neg" => (at::DELTA_NEGATIVE, false),
                "seasonal_smooth_idx" => (at::SMOOTH_ROW, true),
                "window_len" => (at::WINDOW, true),
                "failure_threshold" => (at::THRESHOLD, true),
                "dependent_rra_idx" => (at::DEPENDENT, true),
                _ => {
                    // RRDtool reads past what it does not know inside of an archive.
                    let line = self.reader.line();
                    return Err(refuse!("line {line}: parse_tag_rra_params: Unknown tag: {name}"));
                }
            };
            archive.values[place] =
                if is_count { self.count(name)? } else { self.double(name)?.to_bits() };
        }
        Ok(())
    }

    fn states(&mut self, states: &mut [Values]) -> Result<()> {
        let mut index = 0;
        while let Some(name) = self.reader.child()? {
            let Some(values) = states.get_mut(index).filter(|_| name == "ds") else {
                return Err(refuse!("parse_tag_rra_cdp_prep: Unknown tag: {name}"));
            };
            self.state(values)?;
            index += 1;
        }
        Ok(())
    }

    fn state(&mut self, values: &mut Values) -> Result<()> {
        use consolidation_value as at;
        while let Some(name) = self.reader.child()? {
            let (place, is_count) = match name {
                "primary_value" => (at::PRIMARY, false),
                "secondary_value" => (at::SECONDARY, false),
                "intercept" => (at::INTERCEPT, false),
                "last_intercept" => (at::LAST_INTERCEPT, false),
                "slope" => (at::SLOPE, false),
                "last_slope" => (at::LAST_SLOPE, false),
                "seasonal" => (at::SEASONAL, false),
                "last_seasonal" => (at::LAST_SEASONAL, false),
                "value" => (at::VALUE, false),
                "nan_count" => (at::NULL_COUNT, true),
                "last_nan_count" => (at::LAST_NULL_COUNT, true),
                "init_flag" => (at::SEASONS, true),
                "unknown_datapoints" => (at::UNKNOWN, true),
                "history" => {
                    let history = self.reader.text(name)?;
                    set_history(values, history);
                    continue;
                }
                _ => return Err(refuse!("parse_tag_rra_cdp_prep: Unknown tag: {name}")),
            };
            values[place] = if is_count { self.count(name)? } else { self.double(name)?.to_bits() };
        }
        Ok(())
    }

    fn rows(&mut self, cells: &mut Vec<f64>) -> Result<()> {
        let sources = self.image.header.sources.len();
        while let Some(name) = self.reader.child()? {
            let line = self.reader.line();
            if name != "row" {
                return Err(refuse!("line {line}: found unexpected tag: {name}"));
            }
            for index in 0..sources {
                self.reader.expect("v")?;
                let value = self.double("v")?;
                cells.push(self.checked(index, value));
            }
            let line = self.reader.line();
            match self.reader.next()? {
                Event::End(_) => {}
                Event::Start(found) => {
                    return Err(refuse!(
                        "line {line}: expected </row> element but found <{found}>"
                    ));
                }
                _ => return Err(refuse!("line {line}: expected </row> end element but found <>")),
            }
        }
        Ok(())
    }

    fn checked(&self, source: usize, value: f64) -> f64 {
        let source = &self.image.header.sources[source];
        let is_checked = self.checks_range && source.kind != SourceKind::Compute;
        let is_beyond = value > source.maximum() || value < source.minimum();
        if is_checked && is_beyond { UNKNOWN } else { value }
    }
}

/// Sets the violations of a window from 0 and 1.
fn set_history(values: &mut Values, history: &str) {
    for (index, digit) in history.bytes().take(FAILURES_WINDOW_MAX as usize).enumerate() {
        let shift = 8 * (index % 8);
        let byte = u64::from(digit == b'1') << shift;
        let value = &mut values[index / 8];
        *value = *value & !(0xff << shift) | byte;
    }
}

//! The files of the benchmark, and the command lines that make, update, read and draw them.

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::programs::run_quietly;

/// Seconds between two updates of a file.
pub(crate) const STEP_SECONDS: u64 = 300;

/// When the files begin: a multiple of all steps.
const START: u64 = 1_699_920_000;

/// Steps of a day.
pub(crate) const DAY_STEPS: u64 = 86_400 / STEP_SECONDS;

/// What a file keeps.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Definitions of the sources.
    sources: &'static [&'static str],
    /// Consolidation functions; each has all of `archives`.
    functions: &'static [&'static str],
    /// Steps of a row and rows.
    archives: &'static [(u64, u64)],
}

/// What MRTG makes for a target by default: 94,816 bytes.
pub(crate) const MRTG: Layout = Layout {
    sources: &["ds0:COUNTER:600:0:125000000", "ds1:COUNTER:600:0:125000000"],
    functions: &["AVERAGE", "MAX"],
    archives: &[(1, 600), (6, 700), (24, 775), (288, 797)],
};

/// One source: a day of steps and a week of hours, 4,896 bytes.
pub(crate) const ONE_SOURCE: Layout = Layout {
    sources: &["value:GAUGE:600:U:U"],
    functions: &["AVERAGE"],
    archives: &[(1, 288), (12, 168), (288, 31)],
};

/// A range of bytes that an update changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChangedRange {
    pub(crate) offset: u64,
    pub(crate) bytes: usize,
}

impl Layout {
    /// The arguments of `create` after the file.
    pub(crate) fn definitions(&self) -> String {
        let mut text = format!("--start {START} --step {STEP_SECONDS}");
        for source in self.sources {
            let _ = write!(text, " DS:{source}");
        }
        for function in self.functions {
            for (steps, rows) in self.archives {
                let _ = write!(text, " RRA:{function}:0.5:{steps}:{rows}");
            }
        }
        text
    }

    /// Creates a file, by whit.
    pub(crate) fn create(&self, whit: &Path, file: &Path) -> io::Result<()> {
        let line = format!("rrd create {} {}", file.display(), self.definitions());
        run_quietly(Command::new(whit).args(line.split(' '))).map(|_| ())
    }

    fn source_count(&self) -> u64 {
        self.sources.len() as u64
    }

    fn archive_count(&self) -> u64 {
        (self.functions.len() * self.archives.len()) as u64
    }

    /// Where the part of the header begins that updates change (as `rrd/src/layout.rs` says).
    fn live_offset(&self) -> u64 {
        128 + 120 * (self.source_count() + self.archive_count())
    }

    /// Size of the header, in bytes.
    pub(crate) fn header_bytes(&self) -> u64 {
        let (sources, archives) = (self.source_count(), self.archive_count());
        self.live_offset() + 16 + 112 * sources + 80 * sources * archives + 8 * archives
    }

    /// Size of a file, in bytes.
    pub(crate) fn file_bytes(&self) -> u64 {
        let rows: u64 = self.archives.iter().map(|(_, rows)| rows).sum();
        self.header_bytes() + rows * self.functions.len() as u64 * self.source_count() * 8
    }

    /// What the update at a step changes: the header, and a row of each archive that is complete.
    pub(crate) fn places(&self, step: u64) -> Vec<ChangedRange> {
        let (live, header) = (self.live_offset(), self.header_bytes());
        let mut places = vec![ChangedRange { offset: live, bytes: (header - live) as usize }];
        let row_bytes = self.source_count() * 8;
        let mut start = header;
        for _ in self.functions {
            for (steps, rows) in self.archives {
                if step.is_multiple_of(*steps) {
                    let row = step / steps % rows;
                    let offset = start + row * row_bytes;
                    places.push(ChangedRange { offset, bytes: row_bytes as usize });
                }
                start += rows * row_bytes;
            }
        }
        places
    }
}

/// The name of a file.
pub(crate) fn name(file: u64) -> String {
    format!("router{file:06}.rrd")
}

/// Makes a folder again, with so many files of the same bytes.
pub(crate) fn make_all(folder: &Path, files: u64, bytes: &[u8]) -> io::Result<()> {
    crate::folder::renew(folder)?;
    (0..files).try_for_each(|number| std::fs::write(folder.join(name(number)), bytes))
}

/// The update of a file at a step, counted from 1.
pub(crate) fn update_line(layout: &Layout, file: u64, step: u64) -> String {
    let mut line = format!("update {} {}", name(file), START + step * STEP_SECONDS);
    // Counters that grow fast by day and slowly by night, with some noise.
    let day = step as f64 / DAY_STEPS as f64 * std::f64::consts::TAU;
    let smooth = step as f64 * 15e6 + 5e8 * (1.0 - day.cos());
    for source in 0..layout.source_count() {
        let noise = (file * 7919 + step * 104_729 + source * 31) % 1_000_000;
        let value = smooth as u64 / (1 + source) + noise;
        let _ = write!(line, ":{value}");
    }
    line
}

/// Reads a day.
pub(crate) fn fetch_line() -> String {
    let end = START + DAY_STEPS * STEP_SECONDS;
    format!("fetch {} AVERAGE --start {START} --end {end}", name(0))
}

/// Draws a day with four lines, each with a legend.
pub(crate) fn graph_line(number: u64) -> String {
    let end = START + DAY_STEPS * STEP_SECONDS;
    let mut line = format!(
        "graph day{number}.png --start {START} --end {end} --title traffic --vertical-label bytes"
    );
    let lines = [("ds0", "AVERAGE"), ("ds1", "AVERAGE"), ("ds0", "MAX"), ("ds1", "MAX")];
    for (at, (source, function)) in lines.iter().enumerate() {
        let _ = write!(line, " DEF:v{at}={}:{source}:{function}", name(0));
    }
    for (at, color) in ["00cc00", "0000ff", "006600", "ff00ff"].iter().enumerate() {
        let _ = write!(line, " LINE1:v{at}#{color}:line{at}");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_format() {
        assert_eq!((MRTG.header_bytes(), MRTG.file_bytes()), (2_912, 94_816));
        assert_eq!(ONE_SOURCE.file_bytes(), 4_896);
        assert_eq!(MRTG.places(1).len(), 3);
        assert_eq!(MRTG.places(288).len(), 9);
        let first = ChangedRange { offset: 1_328, bytes: 1_584 };
        assert_eq!(MRTG.places(1)[..2], [first, ChangedRange { offset: 2_912 + 16, bytes: 16 }]);
    }

    #[test]
    fn lines_are_commands() {
        assert_eq!(update_line(&ONE_SOURCE, 3, 1), "update router000003.rrd 1699920300:15247472");
        // Counters never go back.
        let value = |step: u64| {
            let line = update_line(&MRTG, 7, step);
            line.rsplit(':').next().and_then(|word| word.parse::<u64>().ok())
        };
        assert!((1..1_000).all(|step| value(step) < value(step + 1)));
        assert!(graph_line(1).matches(" DEF:").count() == 4);
    }
}

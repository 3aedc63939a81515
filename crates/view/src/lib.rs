//! Every way to show samples: one file each, and one line in [`ALL`].
//!
//! A view gets [`Frame`]s and writes text.  It knows fields and layouts, never a source by name.
#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::sync::Arc;

use jiff::tz::TimeZone;
use layout::{Frame, Options};
use sample::{Meta, SourceDef};

mod brief;
mod compare;
mod csv;
#[cfg(test)]
mod demo;
mod digest;
pub mod export;
mod fields;
mod groups;
mod json;
mod openmetrics;
mod parts;
mod plot;
mod screen;
mod tally;
pub mod time;
mod verbose;

pub use compare::{ComparisonForm, Period, write_comparison};
pub use csv::Csv;
pub use digest::{Digests, WriteFile};
pub use fields::check_fields;
pub use groups::{GroupForm, Groups};
pub use json::Json;
pub use openmetrics::{Backfill, PageStream, ScrapePage};
pub use plot::{PlotFiles, WritePlot};
pub use verbose::TopList;

/// A way to show samples, opened for one feed.
pub trait View {
    /// Writes what comes before the first frame.  Called again when a recording of another
    /// machine or another set of sources follows.
    ///
    /// # Errors
    /// Those of `out`.
    fn begin(
        &mut self,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()>;

    /// Another recording of the same whole (host, day and sources) follows: headings that stand
    /// once in each recording come again.
    ///
    /// # Errors
    /// Those of `out`.
    fn next_recording(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// Writes one tick.  The first tick of a feed is only a base for rates: views of rates write
    /// nothing for it.
    ///
    /// # Errors
    /// Those of `out`.
    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()>;

    /// Writes what comes after the last frame.
    ///
    /// # Errors
    /// Those of `out`.
    fn end(&mut self, out: &mut dyn Write) -> io::Result<()>;

    /// What the user should know and the output cannot say: sentences for stderr, asked for after
    /// the end.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What a view may need to know about where it runs.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The zone whose wall clock is shown.
    pub zone: TimeZone,
    /// What this program was called with, for the header block of plot lines (`-oi`).
    pub command_line: String,
    /// Whether a recording is shown: then that block tells what made it, too.
    pub playing: bool,
}

impl Setup {
    /// For live samples with times of `zone`.
    pub fn of(zone: TimeZone) -> Self {
        Setup { zone, command_line: String::new(), playing: false }
    }
}

/// A view: its name and how to open it.
pub struct Entry {
    /// The name by which `cli` asks for it.
    pub name: &'static str,
    /// One sentence without a full stop, for the reference.
    pub about: &'static str,
    /// Opens it.
    pub open: fn(&Setup) -> Box<dyn View>,
}

/// Every view, alphabetically.
pub static ALL: &[Entry] = &[
    brief::ENTRY,
    Entry {
        name: "csv",
        about: "Comma-separated values, a line for each value or with --fields for each tick",
        open: |_| Box::<Csv>::default(),
    },
    Entry {
        name: "json",
        about: "One JSON object a line, for each source at each tick",
        open: |_| Box::<Json>::default(),
    },
    openmetrics::ENTRY,
    plot::ENTRY,
    verbose::ENTRY,
];

/// The entry of a view by its name.
pub fn find(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.name == name)
}

//! Every way to show samples: one file each, and one line in [`ALL`].
//!
//! A view gets [`Frame`]s and writes text.  It knows fields and layouts, never a source by name.
//! The switches of the command line are made from [`ALL`] and [`export::ALL`]: see [`ViewEntry`].
//!
//! Uses `sample` and `layout`.  Does no I/O but to the writer that it is given.
//! Begin with [`View`] in this file, then read `json.rs`, the shortest of the views.
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
mod entry;
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

pub use compare::{Period, write_comparison};
pub use csv::Csv;
pub use digest::{Digests, WriteFile};
pub use entry::{HeadingLines, TableForm, ViewClass, ViewEntry};
pub use fields::check_fields;
pub use groups::Groups;
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
    /// Whether a recording is shown: then that block names what made it, too.
    pub playing: bool,
}

impl Setup {
    /// For live samples with times of `zone`.
    pub fn of(zone: TimeZone) -> Self {
        Setup { zone, command_line: String::new(), playing: false }
    }
}

/// Every view, a line each.  The command line offers those for programs in this order.
#[rustfmt::skip]
pub static ALL: &[&ViewEntry] = &[
    &brief::ENTRY,
    &csv::ENTRY,
    &json::ENTRY,
    &openmetrics::ENTRY,
    &plot::ENTRY,
    &verbose::ENTRY,
];

/// The entry of a view by its name.
pub fn find(name: &str) -> Option<&'static ViewEntry> {
    ALL.iter().copied().find(|entry| entry.name == name)
}

/// The first view of a class.
pub fn of_class(class: ViewClass) -> Option<&'static ViewEntry> {
    ALL.iter().copied().find(|entry| entry.class == class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_class_has_a_view() {
        for (index, entry) in ALL.iter().enumerate() {
            assert!(!entry.name.is_empty() && !entry.about.is_empty(), "{index}");
            assert!(ALL[..index].iter().all(|other| other.name != entry.name), "{}", entry.name);
        }
        use ViewClass::{Blocks, Columns, Lines, Values};
        for class in [Lines, Blocks, Columns, Values] {
            assert!(of_class(class).is_some(), "{class:?}");
        }
    }
}

//! Every way to show samples: one file each, and one line in [`ALL`].
//!
//! A view gets [`Frame`]s and writes text.  It knows fields and layouts, never a source by name.
//! [`ALL`] and [`export::ALL`] define the options of the command line: see [`ViewEntry`].
//!
//! Uses `sample`, `layout` and `text`.  Does no I/O except to the writer it is given.
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
mod headings;
mod json;
mod openmetrics;
mod parts;
mod plot;
mod ranking;
mod screen;
mod shown;
mod spread;
mod tally;
pub mod time;
mod verbose;

pub use compare::{Period, write_comparison};
pub use csv::Csv;
pub use digest::{Digests, WriteFile};
pub use entry::{HeadingLines, TableForm, ViewClass, ViewEntry};
pub use fields::{
    BaseUnits, check_fields, chosen_sources, chosen_values, epoch_text, instance_parts,
    instance_text, keeps as is_shown, number as base_number, raw_in_base, to_base,
};
pub use groups::{GroupLine, GroupSums, Groups};
pub use headings::HeadingsOnly;
pub use json::Json;
pub use openmetrics::{
    Backfill, FieldMetric, KnownMetric, MetricNames, PageForm, PageHost, PageStream, ScrapePage,
    own_label, push_label,
};
pub use plot::{PlotFiles, WritePlot};
pub use ranking::{RankingLine, RankingTable, write_ranking};
pub use shown::{ShownSources, TooEarly};
pub use spread::SpreadTable;
pub use verbose::TopList;

/// A way to show samples, opened for one feed.
pub trait View {
    /// Writes what comes before the first frame.  Called again when a recording of another
    /// machine or another set of sources follows.
    ///
    /// # Errors
    /// If writing to `out` fails.
    fn begin(
        &mut self,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()>;

    /// Another recording with the same host, day and sources follows: headings that appear once in
    /// each recording are written again.
    ///
    /// # Errors
    /// If writing to `out` fails.
    fn next_recording(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// Writes one tick.  Rates need two ticks, so views of rates write nothing for the first.
    ///
    /// # Errors
    /// If writing to `out` fails.
    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()>;

    /// Whether it looks at the source with this index of those it has begun with.  Whoever keeps readings
    /// only for a view need not keep others.
    fn looks_at(&self, _source: usize) -> bool {
        true
    }

    /// Whether it has written all that it ever will: whoever reads samples for it alone may stop.
    fn is_complete(&self) -> bool {
        false
    }

    /// Writes what comes after the last frame.
    ///
    /// # Errors
    /// If writing to `out` fails.
    fn end(&mut self, out: &mut dyn Write) -> io::Result<()>;

    /// Writes out what it holds back, if anything: the user asks for it with a signal.
    ///
    /// # Errors
    /// If writing to `out` fails.
    fn flush(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// Messages for standard error, printed after the output.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The environment of a view.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The zone whose wall clock is shown.
    pub zone: TimeZone,
    /// The command line of this process, for the header of plot lines (`-oi`).
    pub command_line: String,
    /// Whether a recording is shown; then that header names the recorder, too.
    pub playing: bool,
}

impl Setup {
    /// For live samples with times in `zone`.
    pub fn of(zone: TimeZone) -> Self {
        Setup { zone, command_line: String::new(), playing: false }
    }
}

/// Every view, one line each.  Help lists the views for programs in this order.
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

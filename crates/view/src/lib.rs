//! Every way to show samples: one file each, and one line in [`ALL`].
//!
//! A view gets [`Frame`]s and writes text.  It knows fields and layouts, never a source by name.

use std::io::{self, Write};

use sample::{Frame, Meta, Options, SourceDef};

mod compare;
mod csv;
#[cfg(test)]
mod demo;
pub mod export;
mod fields;
mod json;
mod openmetrics;

pub use compare::{ComparisonForm, Period, write_comparison};
pub use csv::Csv;
pub use json::Json;
pub use openmetrics::OpenMetrics;

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
        defs: &[&'static SourceDef],
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()>;

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

//! What an input writes: records with a text, and names and values beside it.

use std::sync::atomic::Ordering;

use logring::writer::{self, RawText, SiteDescription, WithAttributes};
use logring::{ArgumentType, LogLevel, LogValue};

/// A name and a value beside a text.
pub(super) type Field<'a> = (&'a str, LogValue<'a>);

/// Writes the records of one input.
#[derive(Clone, Copy)]
pub(super) struct InputRecords {
    logger: u32,
    site: u32,
    context: u32,
}

impl InputRecords {
    /// Records of a form's logger, with the input's target in the context of each.
    pub(super) fn new(logger: &str, target: &str) -> Result<Self, logring::Error> {
        let full =
            || logring::Error::Limit { what: "the dictionary of the inputs".to_owned(), most: 0 };
        let number = writer::logger_id(logger)?;
        let pairs = [("Input", target)];
        let context = writer::context_id(number, if target.is_empty() { &[] } else { &pairs });
        let site = writer::site_id(&SiteDescription {
            file: "",
            line: 0,
            routine: "",
            level: LogLevel::Info.number(),
            format: "{}",
            format_kind: 1,
            role: 0,
            types: &[ArgumentType::Text as u8],
        });
        let (site, context) = (site.ok_or_else(full)?, context.ok_or_else(full)?);
        Ok(InputRecords { logger: number, site, context })
    }

    /// Writes a record; waits while there is no room.
    pub(super) fn write(&self, level: LogLevel, text: &[u8], fields: &[Field<'_>]) {
        let levels = writer::level_bytes(self.logger);
        let is_below = |at: usize| {
            levels.is_some_and(|levels| level.number() < levels[at].load(Ordering::Relaxed))
        };
        if is_below(0) {
            return;
        }
        let mut head = level.number();
        if is_below(1) {
            head |= logring::abi::FLAG_LOCAL;
        }
        if !fields.is_empty() {
            head |= logring::abi::FLAG_ATTRIBUTES;
        }
        writer::write(head, self.site, self.context, &WithAttributes((RawText(text),), fields));
    }

    /// Writes what the input itself has to say.
    pub(super) fn write_own(&self, level: LogLevel, text: &str) {
        self.write(level, text.as_bytes(), &[]);
    }
}

//! What the adapters for facades share: call sites that are known at run time only.
//!
//! A facade's record has a message that is made already: it is one text, and its fields are
//! attributes.  A thread looks its call sites up in a table of its own: no lock once warm.

use std::cell::RefCell;
use std::collections::HashMap;

use logring::writer::{self, SiteDescription, WithAttributes};
use logring::{LogLevel, LogValue, abi};

use crate::logger::Logger;

/// Sites and loggers that a thread keeps; what is more is looked up in the process.
const KEPT_MAX: usize = 10_000;

/// Where a record of a facade comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallSite<'a> {
    pub(crate) file: &'a str,
    pub(crate) line: u32,
    pub(crate) module: &'a str,
    pub(crate) target: &'a str,
    pub(crate) level: LogLevel,
}

/// File, line, level and target, texts by their addresses: that is fast, and nearly always right.
type Key = (usize, u32, u8, usize);

/// What a key was found to be; a text that is not static may have the address of another.
struct KnownKey {
    file: String,
    target: String,
    site: u32,
    logger: Logger,
}

thread_local! {
    static KNOWN: RefCell<HashMap<Key, KnownKey>> = RefCell::new(HashMap::new());
}

/// The logger of a target, and the number of a place; 0 if that is not needed.
fn look_up(place: &CallSite<'_>, needs_site: bool) -> Option<(u32, Logger)> {
    let make = || {
        // A target that is too long is cut at a character.
        let mut end = place.target.len().min(abi::logger::NAME_BYTES_MAX);
        while !place.target.is_char_boundary(end) {
            end -= 1;
        }
        let logger = Logger::new(&place.target[..end]).ok()?;
        if !needs_site {
            return Some((0, logger));
        }
        let site = SiteDescription {
            file: place.file,
            line: place.line,
            routine: place.module,
            level: place.level.number(),
            format: "{}",
            format_kind: 1,
            role: 0,
            types: &[logring::ArgumentType::Text as u8],
        };
        Some((writer::site_id(&site)?, logger))
    };
    let key = (
        place.file.as_ptr() as usize,
        if needs_site { place.line } else { u32::MAX },
        place.level.number(),
        place.target.as_ptr() as usize,
    );
    // The thread may be at its end, or log inside of this look-up.
    KNOWN
        .try_with(|known| {
            let Ok(mut known) = known.try_borrow_mut() else { return make() };
            if let Some(found) = known.get(&key)
                && found.target == place.target
                && found.file == place.file
            {
                return Some((found.site, found.logger));
            }
            let (site, logger) = make()?;
            if known.len() < KEPT_MAX {
                let (file, target) = (place.file.to_owned(), place.target.to_owned());
                known.insert(key, KnownKey { file, target, site, logger });
            }
            Some((site, logger))
        })
        .unwrap_or_else(|_| make())
}

/// Whether a record of a place would be made.
pub(crate) fn is_enabled(target: &str, level: LogLevel) -> bool {
    let place = CallSite { file: "", line: 0, module: "", target, level };
    look_up(&place, false).is_some_and(|(_, logger)| logger.is_enabled(level))
}

/// Writes a record of a place.
pub(crate) fn write(place: &CallSite<'_>, message: &str, attributes: &[(&str, LogValue<'_>)]) {
    let Some((site, logger)) = look_up(place, true) else {
        return writer::count_dropped(place.level.number());
    };
    if !logger.is_enabled(place.level) {
        return;
    }
    let level = logger.head(place.level);
    if attributes.is_empty() {
        writer::write(level, site, logger.context(), &(message,));
    } else {
        let payload = WithAttributes((message,), attributes);
        writer::write(level | abi::FLAG_ATTRIBUTES, site, logger.context(), &payload);
    }
}

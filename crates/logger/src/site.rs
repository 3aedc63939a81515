//! Call sites: what of a log call is known when the program is compiled.

use std::fmt::{Debug, Display};
use std::sync::atomic::{AtomicU64, Ordering};

use logring::LogLevel;
use logring::writer::{self, ArgumentList, ErasedArguments, SiteDescription};

use crate::logger::Logger;

/// A place in the program that logs: a static of its own, made by the macros.
#[derive(Debug)]
pub struct CallSite {
    /// Number in the dictionary, and above it the fingerprint of the types that it is for: in a
    /// generic function one site may have several.
    number: AtomicU64,
    file: &'static str,
    line: u32,
    routine: fn() -> &'static str,
    level: LogLevel,
    format: &'static str,
    /// 1 `{}`, 3 plain.
    format_kind: u8,
    role: u8,
}

impl CallSite {
    /// A message.
    #[must_use]
    pub const fn new(
        file: &'static str,
        line: u32,
        routine: fn() -> &'static str,
        level: LogLevel,
        format: &'static str,
    ) -> Self {
        let number = AtomicU64::new(0);
        CallSite { number, file, line, routine, level, format, format_kind: 1, role: 0 }
    }

    /// Gives the site a role: 1 a function begins, 2 it ends, 3 stop watch.  Readers say that, and how long
    /// it took; the format is a text that follows.
    #[must_use]
    pub const fn with_role(mut self, role: u8) -> Self {
        (self.role, self.format_kind) = (role, 3);
        self
    }

    /// The number of the site in the dictionary for arguments of these types; 0: there is no room for it.
    #[inline(always)]
    #[must_use]
    pub fn number<A: ArgumentList>(&self) -> u32 {
        let word = self.number.load(Ordering::Relaxed);
        #[allow(clippy::cast_possible_truncation, reason = "the number is the low half")]
        if (word >> 32) as u32 == A::FINGERPRINT {
            return word as u32;
        }
        self.register(A::TYPES, A::FINGERPRINT)
    }

    #[cold]
    #[inline(never)]
    fn register(&self, types: &'static [u8], fingerprint: u32) -> u32 {
        let routine = function_of((self.routine)());
        let site = SiteDescription {
            file: self.file,
            line: self.line,
            routine,
            level: self.level.number(),
            format: self.format,
            format_kind: self.format_kind,
            role: self.role,
            types,
        };
        let Some(number) = writer::site_id(&site) else { return 0 };
        let word = u64::from(number) | u64::from(fingerprint) << 32;
        self.number.store(word, Ordering::Relaxed);
        number
    }
}

/// The function of a path that ends in the items of `call_site!`.
fn function_of(path: &str) -> &str {
    let Some(inner) = path.strip_suffix("::here") else { return path };
    let function = inner.rsplit_once("::").map_or(inner, |(function, _static)| function);
    function.trim_end_matches("::{{closure}}")
}

/// Writes a record: what the macros end in.  The level was compared.
#[inline(always)]
pub fn emit<A: ArgumentList>(level: LogLevel, site: &CallSite, logger: &Logger, arguments: &A) {
    let number = site.number::<A>();
    if number == 0 {
        return dropped(level);
    }
    writer::write(logger.head(level), number, logger.context(), arguments);
}

/// Writes a record of a call site, with attributes.
pub fn emit_with<A: ArgumentList>(
    level: LogLevel,
    site: &CallSite,
    logger: &Logger,
    arguments: A,
    attributes: &[(&str, logring::LogValue<'_>)],
) {
    let number = site.number::<A>();
    if number == 0 {
        return dropped(level);
    }
    let payload = writer::WithAttributes(arguments, attributes);
    write_erased(logger.head(level) | logring::abi::FLAG_ATTRIBUTES, number, logger, &payload);
}

fn write_erased<P: ErasedArguments>(head: u8, number: u32, logger: &Logger, payload: &P) {
    writer::write(head, number, logger.context(), payload);
}

#[cold]
fn dropped(level: LogLevel) {
    writer::count_dropped(level.number());
}

/// What `{:?}` shows of a value, made now: for values whose type is no argument.
pub fn debug<T: Debug + ?Sized>(value: &T) -> String {
    format!("{value:?}")
}

/// What `{}` shows of a value, made now.
pub fn display<T: Display + ?Sized>(value: &T) -> String {
    value.to_string()
}

/// Stops the compiler at a format with captured names, `$` or `*`: their values would not be in the
/// record.  Everything else is checked by `format_args!`.
///
/// # Panics
/// At such a format: while the program is compiled.
pub const fn check_format(format: &str) {
    let bytes = format.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'{' && at + 1 < bytes.len() && bytes[at + 1] == b'{' {
            at += 2;
            continue;
        }
        if bytes[at] == b'{' {
            let mut inner = at + 1;
            let mut is_name = true;
            while inner < bytes.len() && bytes[inner] != b'}' {
                let byte = bytes[inner];
                is_name = is_name && byte != b':';
                assert!(
                    !is_name || byte.is_ascii_digit(),
                    "a log format takes no names: write {{}} and pass the value"
                );
                // Right behind the colon it may be what fills the value up: `{:*^9}`.
                let is_fill = bytes[inner - 1] == b':'
                    && inner + 1 < bytes.len()
                    && matches!(bytes[inner + 1], b'<' | b'>' | b'^');
                assert!(
                    is_fill || (byte != b'$' && byte != b'*'),
                    "a log format takes no width from a value"
                );
                inner += 1;
            }
            at = inner;
        }
        at += 1;
    }
}

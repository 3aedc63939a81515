//! The message of a record: its format with its arguments put in, as Rust, C++ or C would have.
//!
//! A format that does not fit its arguments loses nothing: what has no place is appended, what has
//! no argument stays as it is.

use std::fmt::{Debug, Display, LowerExp, UpperExp};
use std::io::Write as _;

use logring::abi::kind;
use logring::{ArgumentType, FormatKind, LogLevel, LogValue, RingNotice, SiteRole};
use text::decimal::push_shortest;
use text::encoding::hex;
use text::integer::{push_i64, push_u64};
use text::plain::is_plain;

use crate::cpp::{columns, cut, put_cpp_float, put_cpp_integer};
use crate::record::LogRecord;
use crate::spec::{
    Language, Padding, Spec, WIDTH_MAX, brace_spec, end_of_place, take_number, take_place,
};

/// An argument, and what it was in the program.
type Argument<'a> = (LogValue<'a>, ArgumentType);

/// What stands behind a message of which the writer has cut a text: it did not fit into a record.
const CUT: &str = " [a text was cut: the record would have been too long";

/// Appends the message of a record, and whether a text of it was cut.
pub fn write_message(out: &mut Vec<u8>, record: &LogRecord<'_>) {
    write_whole_message(out, record);
    if record.is_cut() {
        match record.cut_bytes() {
            Some(bytes) => {
                let _ = write!(out, "{CUT}: {bytes} bytes are left out]");
            }
            None => {
                let _ = write!(out, "{CUT}]");
            }
        }
    }
}

/// A message without what [`write_message`] has appended to it, since a text of it was cut.
pub(crate) fn without_cut_note(message: &str) -> &str {
    message.rfind(CUT).filter(|_| message.ends_with(']')).map_or(message, |at| &message[..at])
}

/// The message of a record, which [`write_message`] puts in place of what is in `scratch`, unless the record
/// or its call site has it as it is: who only looks at it needs no copy then.
pub fn message<'m>(record: &LogRecord<'m>, scratch: &'m mut Vec<u8>) -> &'m [u8] {
    match message_as_it_is(record) {
        Some(message) => message,
        None => {
            scratch.clear();
            write_message(scratch, record);
            scratch
        }
    }
}

/// The message that is a text without places, or one place with a text.
fn message_as_it_is<'a>(record: &LogRecord<'a>) -> Option<&'a [u8]> {
    let site = record.site.filter(|site| site.role == SiteRole::Message)?;
    if record.record.kind != kind::LOG || record.is_cut() {
        return None;
    }
    let place = match site.format_kind {
        FormatKind::Plain if site.types.is_empty() => return Some(site.format.as_bytes()),
        FormatKind::Plain => return None,
        FormatKind::Braces | FormatKind::Cpp => "{}",
        FormatKind::Printf => "%s",
    };
    let is_text = site.types == [ArgumentType::Text] && site.format == place;
    if is_text { record.record.text() } else { None }
}

fn write_whole_message(out: &mut Vec<u8>, record: &LogRecord<'_>) {
    if let Some(notice) = record.record.notice() {
        return put_notice(out, &notice, record);
    }
    let Some(site) = record.site else {
        let _ = write!(out, "call site {} is not known", record.record.site);
        return;
    };
    let Ok(values) = record.record.arguments(&site.types) else {
        out.extend_from_slice(site.format.as_bytes());
        out.extend_from_slice(b" (its arguments are cut)");
        return;
    };
    write_site_message(out, record, site, values.as_slice());
}

/// Whether messages of a format hold none of the bytes that `is_special` names if its arguments do
/// not.  These bytes are no letters, digits, signs of numbers, brackets, `:`, `{` or `}`.
pub(crate) fn is_plain_format(format: &str, is_special: impl Fn(u8) -> bool) -> bool {
    let format = format.as_bytes();
    // `?` puts texts in quotes; `{:c}` and C's `%c` make any character of a number.
    let has_spec = !is_plain(format, |byte| byte == b':');
    !(has_spec && format.windows(2).any(|two| two == b"c}"))
        && is_plain(format, |byte| is_special(byte) | (byte == b'?'))
}

/// Appends the message of a record if it holds none of the bytes that `is_special` names; its format
/// does not, as [`is_plain_format`] has found.  Gives whether it did.
///
/// What the message is made of is looked at, not the message: whoever reads what was just written in
/// pieces waits until the pieces have left the processor's store buffer, 100 ns and more.
#[inline]
pub(crate) fn write_plain_message(
    out: &mut Vec<u8>,
    record: &LogRecord<'_>,
    is_special: impl Fn(u8) -> bool,
) -> bool {
    let is_whole = record.record.kind == kind::LOG && !record.is_cut();
    let Some(site) = record.site.filter(|_| is_whole) else { return false };
    if site.format_kind == FormatKind::Printf {
        return false;
    }
    let Ok(values) = record.record.arguments(&site.types) else { return false };
    let is_plain = |value: &LogValue<'_>| match value {
        LogValue::Text(text) => is_plain(text, &is_special),
        LogValue::Interned(number) => {
            is_plain(record.dictionary.text(*number).unwrap_or_default(), &is_special)
        }
        // Of C++ it may be a byte of a character.
        LogValue::Char('\u{80}'..) if site.format_kind == FormatKind::Cpp => false,
        LogValue::Char(c) => is_plain(c.encode_utf8(&mut [0; 4]).as_bytes(), &is_special),
        LogValue::Bytes(_) => false,
        _ => true,
    };
    if !values.as_slice().iter().all(is_plain) {
        return false;
    }
    write_site_message(out, record, site, values.as_slice());
    true
}

fn write_site_message<'a>(
    out: &mut Vec<u8>,
    record: &LogRecord<'a>,
    site: &logring::Site,
    mut arguments: &[LogValue<'a>],
) {
    match site.role {
        SiteRole::Message => {}
        SiteRole::Entry => out.extend_from_slice(b"Entering"),
        SiteRole::Exit => {
            out.extend_from_slice(b"Exiting after ");
            arguments = put_span(out, arguments);
        }
        SiteRole::StopWatch => {
            out.extend_from_slice(b"Elapsed ");
            arguments = put_span(out, arguments);
        }
    }
    if site.role != SiteRole::Message && !site.format.is_empty() {
        out.extend_from_slice(b": ");
    }
    let format = site.format.as_bytes();
    let types = &site.types[site.types.len().saturating_sub(arguments.len())..];
    let mut writer = Message { out, record, arguments, types, next: 0, used: 0 };
    match site.format_kind {
        FormatKind::Plain => writer.out.extend_from_slice(format),
        FormatKind::Braces => writer.braces(format, Language::Rust),
        FormatKind::Cpp => writer.braces(format, Language::Cpp),
        FormatKind::Printf => writer.printf(format),
    }
    writer.append_unused();
}

/// Appends the time span that is the first argument; gives the others.
fn put_span<'a, 'b>(out: &mut Vec<u8>, arguments: &'b [LogValue<'a>]) -> &'b [LogValue<'a>] {
    let Some((first, rest)) = arguments.split_first() else { return arguments };
    let ns = match first {
        LogValue::Unsigned(ns) => *ns,
        LogValue::Signed(ns) => ns.unsigned_abs(),
        _ => 0,
    };
    let _ = match ns {
        0..10_000 => write!(out, "{ns} ns"),
        10_000..10_000_000 => write!(out, "{:.3} us", ns as f64 / 1e3),
        10_000_000..10_000_000_000 => write!(out, "{:.3} ms", ns as f64 / 1e6),
        _ => write!(out, "{:.3} s", ns as f64 / 1e9),
    };
    rest
}

fn put_notice(out: &mut Vec<u8>, notice: &RingNotice<'_>, record: &LogRecord<'_>) {
    let _ = match notice {
        RingNotice::Dropped { count, first_sequence, last_sequence, is_of_several } => {
            let level = record.record.level().map_or("any", LogLevel::name);
            let whose = if *is_of_several { ", of several loggers," } else { "" };
            write!(
                out,
                "{count} records of level {level}{whose} were dropped: sequence {first_sequence} \
                 to {last_sequence}"
            )
        }
        RingNotice::Suppressed { count, .. } => {
            let _ = write!(out, "{count} records were suppressed");
            match record.site {
                Some(site) => write!(out, " of {}:{}: {}", site.file, site.line, site.format),
                None => Ok(()),
            }
        }
        RingNotice::Calibration { realtime_ns, .. } => write!(out, "clocks: {realtime_ns}"),
        RingNotice::NextRing { number } => write!(out, "goes on in ring {number}"),
        RingNotice::ThreadBegin { tid, name } => {
            let _ = write!(out, "thread {tid} begins: ");
            out.extend_from_slice(name);
            Ok(())
        }
        RingNotice::ThreadEnd { tid } => write!(out, "thread {tid} ends"),
    };
}

/// A message that is written.
struct Message<'m, 'a> {
    out: &'m mut Vec<u8>,
    record: &'m LogRecord<'a>,
    arguments: &'m [LogValue<'a>],
    types: &'m [ArgumentType],
    /// The next argument, where the format does not say which.
    next: usize,
    /// A bit for each argument that was written.
    used: u32,
}

impl<'a> Message<'_, 'a> {
    #[inline]
    fn argument(&mut self, number: usize) -> Option<Argument<'a>> {
        let value = *self.arguments.get(number)?;
        self.used |= 1 << number.min(31);
        Some((value, *self.types.get(number)?))
    }

    #[inline]
    fn next_argument(&mut self) -> Option<Argument<'a>> {
        let value = self.argument(self.next);
        self.next += 1;
        value
    }

    /// What the format has no place for.
    fn append_unused(&mut self) {
        for number in 0..self.arguments.len() {
            if self.used & (1 << number.min(31)) == 0 {
                self.out.push(b' ');
                if let Some(value) = self.argument(number) {
                    self.put(value, &Spec::default());
                }
            }
        }
    }

    /// `{}`, `{0:>8}`, `{name:?}`; `{{` and `}}` are braces.
    fn braces(&mut self, mut format: &[u8], language: Language) {
        let plain = Spec { language, ..Spec::default() };
        while let Some(at) = format.iter().position(|byte| matches!(byte, b'{' | b'}')) {
            self.out.extend_from_slice(&format[..at]);
            let brace = format[at];
            format = &format[at + 1..];
            if format.first() == Some(&brace) || brace == b'}' {
                self.out.push(brace);
                format = format.strip_prefix(&[brace]).unwrap_or(format);
                continue;
            }
            // Nearly all places are empty.
            if let [b'}', rest @ ..] = format {
                format = rest;
                self.put_next(b"", &plain);
                continue;
            }
            let Some(end) = end_of_place(format, language) else {
                self.out.push(b'{');
                continue;
            };
            let place = &format[..end];
            format = &format[end + 1..];
            let (name, spec) = match place.iter().position(|byte| *byte == b':') {
                Some(colon) => (&place[..colon], brace_spec(&place[colon + 1..], language)),
                None => (place, plain),
            };
            match std::str::from_utf8(name).ok().and_then(|name| name.parse::<usize>().ok()) {
                Some(number) => match self.argument(number) {
                    Some(value) => self.put(value, &spec),
                    None => self.put_place(place),
                },
                // A name's arguments come in the order of its places.
                None => self.put_next(place, &spec),
            }
        }
        self.out.extend_from_slice(format);
    }

    #[inline]
    fn put_next(&mut self, place: &[u8], spec: &Spec) {
        match self.next_argument() {
            Some(value) => self.put(value, spec),
            None => self.put_place(place),
        }
    }

    fn put_place(&mut self, place: &[u8]) {
        self.out.push(b'{');
        self.out.extend_from_slice(place);
        self.out.push(b'}');
    }

    /// `%d`, `%-8.3f`, `%*s`, `%%`.
    fn printf(&mut self, mut format: &[u8]) {
        while let Some(at) = format.iter().position(|byte| *byte == b'%') {
            self.out.extend_from_slice(&format[..at]);
            let place = &format[at..];
            format = &format[at + 1..];
            if let Some(rest) = format.strip_prefix(b"%") {
                self.out.push(b'%');
                format = rest;
                continue;
            }
            let before = self.next;
            let number = take_place(&mut format);
            let Some((spec, rest)) = self.printf_spec(format) else {
                self.next = before;
                self.out.extend_from_slice(&place[..place.len() - format.len()]);
                continue;
            };
            let length = place.len() - rest.len();
            format = rest;
            let value = match number {
                Some(number) => self.argument(number),
                None => self.next_argument(),
            };
            match value {
                Some(value) => self.put(value, &spec),
                None => {
                    self.next = before;
                    self.out.extend_from_slice(&place[..length]);
                }
            }
        }
        self.out.extend_from_slice(format);
    }

    fn printf_spec<'f>(&mut self, mut format: &'f [u8]) -> Option<(Spec, &'f [u8])> {
        let mut spec =
            Spec { language: Language::C, align: b'>', length_bits: 32, ..Spec::default() };
        while let Some((flag, rest)) = format.split_first() {
            match flag {
                b'-' => spec.align = b'<',
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'#' => spec.alternate = true,
                b'0' => spec.zero = true,
                b'\'' => {}
                _ => break,
            }
            format = rest;
        }
        spec.width = match format.strip_prefix(b"*") {
            Some(rest) => {
                format = rest;
                let width = self.star(&mut format);
                if width < 0 {
                    spec.align = b'<';
                }
                width.unsigned_abs() as usize
            }
            None => take_number(&mut format).unwrap_or(0),
        };
        if let Some(rest) = format.strip_prefix(b".") {
            format = rest;
            spec.precision = match format.strip_prefix(b"*") {
                Some(rest) => {
                    format = rest;
                    usize::try_from(self.star(&mut format)).ok()
                }
                None => Some(take_number(&mut format).unwrap_or(0)),
            };
        }
        spec.zero &= spec.align == b'>';
        while let Some((length @ (b'h' | b'l' | b'j' | b'z' | b't' | b'L' | b'q'), rest)) =
            format.split_first()
        {
            spec.length_bits = match (length, spec.length_bits) {
                (b'h', 16) => 8,
                (b'h', _) => 16,
                _ => 64,
            };
            format = rest;
        }
        let (letter, rest) = format.split_first()?;
        spec.letter = *letter;
        // `%m` takes no argument, but an `errno` that no record has: it stays as it is.
        b"diouxXeEfFgGaAcsp".contains(letter).then_some((spec, rest))
    }

    /// A width or precision that is an argument.
    fn star(&mut self, format: &mut &[u8]) -> i64 {
        let value = match take_place(format) {
            Some(number) => self.argument(number),
            None => self.next_argument(),
        };
        match value {
            Some((LogValue::Signed(number), _)) => number,
            Some((LogValue::Unsigned(number), _)) => i64::try_from(number).unwrap_or(i64::MAX),
            _ => 0,
        }
    }

    /// Appends a value.
    #[inline]
    fn put(&mut self, (value, kind): Argument<'a>, spec: &Spec) {
        let is_plain = spec.width == 0
            && spec.precision.is_none()
            && !spec.plus
            && !spec.space
            && !spec.alternate;
        let is_plain_letter = matches!(spec.letter, 0 | b'd' | b'i' | b'u' | b's');
        if is_plain && is_plain_letter {
            // What every length modifier and sign leaves as it is.
            let is_small = |number: u64| !spec.is_c() || number < 0x80;
            let is_int = |number: i64| {
                !spec.is_c()
                    || (spec.length_bits == 32 && number >= 0 && i32::try_from(number).is_ok())
            };
            match value {
                LogValue::Signed(number) if is_int(number) => {
                    return push_i64(self.out, number);
                }
                LogValue::Unsigned(number) if is_small(number) => {
                    return push_u64(self.out, number);
                }
                LogValue::Float(number) if kind == ArgumentType::Float && !spec.is_cpp() => {
                    return push_shortest(self.out, number);
                }
                LogValue::Text(text) => return self.out.extend_from_slice(text),
                _ => {}
            }
        }
        self.put_padded(value, kind, spec);
    }

    /// Appends a value, filled up to its width.
    #[inline(never)]
    fn put_padded(&mut self, value: LogValue<'a>, kind: ArgumentType, spec: &Spec) {
        let start = self.out.len();
        let padding = self.put_body(value, kind, spec);
        self.pad(start, spec, padding);
    }

    /// Appends a value without padding; gives what padding it takes.
    fn put_body(&mut self, value: LogValue<'a>, kind: ArgumentType, spec: &Spec) -> Padding {
        match value {
            LogValue::Signed(number) => self.put_integer(i128::from(number), kind, spec),
            LogValue::Unsigned(number) => self.put_integer(i128::from(number), kind, spec),
            LogValue::Float(number) => self.put_float(number, kind, spec),
            LogValue::Bool(is) if matches!(spec.letter, 0 | b'?' | b's') => {
                let text: &[u8] = if is { b"true" } else { b"false" };
                // Rust cuts it like a text.
                let most = spec.precision.filter(|_| spec.language == Language::Rust);
                self.out.extend_from_slice(&text[..text.len().min(most.unwrap_or(usize::MAX))]);
                Padding::Text
            }
            LogValue::Bool(is) => self.put_integer(i128::from(is), kind, spec),
            // A char of C++ is a byte: several may be the bytes of one character.
            LogValue::Char(c @ '\u{80}'..='\u{ff}')
                if spec.is_cpp() && matches!(spec.letter, 0 | b'c') =>
            {
                self.out.push(c as u8);
                Padding::Text
            }
            LogValue::Char(c) if matches!(spec.letter, 0 | b'?' | b'c' | b's') => {
                if spec.letter == b'?' {
                    let _ = write!(self.out, "{c:?}");
                } else if spec.language != Language::Rust || spec.precision != Some(0) {
                    self.out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                spec.of_text()
            }
            // C++ shows the number of a signed char.
            LogValue::Char(c @ '\u{80}'..='\u{ff}') if spec.is_cpp() => {
                self.put_integer(i128::from(u32::from(c)) - 256, kind, spec)
            }
            LogValue::Char(c) => self.put_integer(i128::from(u32::from(c)), kind, spec),
            LogValue::Text(text) => {
                self.put_text(text, spec);
                spec.of_text()
            }
            LogValue::Interned(number) => {
                match self.record.dictionary.text(number) {
                    Some(text) => self.put_text(text, spec),
                    None => {
                        let _ = write!(self.out, "text {number} is not known");
                    }
                }
                spec.of_text()
            }
            LogValue::Pointer(0) if spec.is_c() => {
                self.out.extend_from_slice(b"(nil)");
                spec.of_text()
            }
            LogValue::Pointer(address) => {
                let _ = write!(self.out, "{address:#x}");
                if spec.is_cpp() { Padding::Number } else { spec.of_text() }
            }
            LogValue::Bytes(bytes) => {
                let _ = write!(self.out, "{}", hex(bytes));
                spec.of_text()
            }
        }
    }

    fn put_text(&mut self, text: &[u8], spec: &Spec) {
        if spec.letter == b'?' {
            let _ = write!(self.out, "{:?}", String::from_utf8_lossy(text));
            return;
        }
        match spec.precision {
            // C counts bytes, Rust characters.
            Some(most) if spec.is_c() => self.out.extend_from_slice(&text[..text.len().min(most)]),
            Some(most) => {
                let text = String::from_utf8_lossy(text);
                if spec.is_cpp() {
                    return self.out.extend_from_slice(cut(&text, most).as_bytes());
                }
                let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
                self.out.extend_from_slice(&text.as_bytes()[..end]);
            }
            None => self.out.extend_from_slice(text),
        }
    }

    fn put_integer(&mut self, number: i128, kind: ArgumentType, spec: &Spec) -> Padding {
        if spec.letter == b'c' && (spec.is_cpp() || (spec.is_c() && spec.length_bits == 32)) {
            // A byte: several may be the bytes of one character.
            self.out.push(number as u8);
            return Padding::Text;
        }
        if spec.letter == b'c' {
            let c = u32::try_from(number).ok().and_then(char::from_u32).unwrap_or('\u{fffd}');
            self.out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            return Padding::Text;
        }
        let is_float = b"eEfFgGaA".contains(&spec.letter);
        match spec.language {
            Language::C | Language::Cpp if is_float => {
                return self.put_float(number as f64, kind, spec);
            }
            Language::C if spec.letter != b'p' => {
                spec.of_c().push_integer(self.out, number);
                return if spec.precision.is_some() { Padding::Number } else { Padding::Zeros };
            }
            Language::Cpp => {
                put_cpp_integer(self.out, number, &spec.of_c());
                return Padding::Zeros;
            }
            _ => {}
        }
        let letter = if spec.debug_base == 0 { spec.letter } else { spec.debug_base };
        // Other bases show the bits of the type.
        let bits = match kind {
            ArgumentType::Signed8 => u64::from(number as u8),
            ArgumentType::Signed16 => u64::from(number as u16),
            ArgumentType::Signed32 => u64::from(number as u32),
            _ => number as u64,
        };
        let is_decimal = !matches!(letter, b'x' | b'X' | b'o' | b'b' | b'B' | b'p' | b'u');
        if is_decimal && number < 0 {
            self.out.push(b'-');
        } else if spec.plus {
            self.out.push(b'+');
        }
        match letter {
            b'p' => self.out.extend_from_slice(b"0x"),
            b'x' | b'X' if spec.alternate => self.out.extend_from_slice(b"0x"),
            b'o' if spec.alternate => self.out.extend_from_slice(b"0o"),
            b'b' | b'B' if spec.alternate => self.out.extend_from_slice(b"0b"),
            _ => {}
        }
        let precision = spec.precision.map(|precision| precision.min(WIDTH_MAX));
        let size = number.unsigned_abs();
        let _ = match (letter, precision) {
            (b'e', None) => write!(self.out, "{size:e}"),
            (b'e', Some(precision)) => write!(self.out, "{size:.precision$e}"),
            (b'E', None) => write!(self.out, "{size:E}"),
            (b'E', Some(precision)) => write!(self.out, "{size:.precision$E}"),
            (letter, _) => self.put_digits(letter, bits, size),
        };
        Padding::Zeros
    }

    fn put_digits(&mut self, letter: u8, bits: u64, size: u128) -> std::io::Result<()> {
        match letter {
            b'x' | b'p' => write!(self.out, "{bits:x}"),
            b'X' => write!(self.out, "{bits:X}"),
            b'o' => write!(self.out, "{bits:o}"),
            b'b' | b'B' => write!(self.out, "{bits:b}"),
            b'u' => write!(self.out, "{bits}"),
            _ => write!(self.out, "{size}"),
        }
    }

    /// Appends a float without padding; gives what padding it takes.
    fn put_float(&mut self, number: f64, kind: ArgumentType, spec: &Spec) -> Padding {
        let is_of_32_bits = kind == ArgumentType::Float32;
        // A float that C has as an integer is shown as what it is.
        let takes_zeros = if spec.is_c() && b"eEfFgGaA".contains(&spec.letter) {
            spec.of_c().push_float(self.out, number)
        } else if spec.is_cpp() {
            put_cpp_float(self.out, number, is_of_32_bits, &spec.of_c())
        } else {
            if spec.plus && !number.is_sign_negative() && !number.is_nan() {
                self.out.push(b'+');
            }
            match is_of_32_bits {
                true => put_rust_float(self.out, number as f32, spec),
                false => put_rust_float(self.out, number, spec),
            }
            true
        };
        if takes_zeros { Padding::Zeros } else { Padding::Number }
    }

    /// Fills what was appended since `start` up to the width.
    fn pad(&mut self, start: usize, spec: &Spec, padding: Padding) {
        let width = spec.width.min(WIDTH_MAX);
        if width == 0 || padding == Padding::None {
            return;
        }
        let text = &self.out[start..];
        let length = match std::str::from_utf8(text) {
            Ok(text) if spec.is_cpp() => text.chars().map(columns).sum(),
            Ok(text) if !spec.is_c() => text.chars().count(),
            _ => text.len(),
        };
        let missing = width.saturating_sub(length);
        if spec.zero && padding == Padding::Zeros {
            // Behind the sign and the prefix.
            let mut at = start;
            at += usize::from(matches!(self.out.get(at), Some(b'-' | b'+' | b' ')));
            if self.out.get(at) == Some(&b'0')
                && matches!(self.out.get(at + 1), Some(b'x' | b'X' | b'o' | b'b' | b'B'))
            {
                at += 2;
            }
            self.out.splice(at..at, std::iter::repeat_n(b'0', missing));
            return;
        }
        let align = match spec.align {
            0 if padding == Padding::Text => b'<',
            0 => b'>',
            align => align,
        };
        let left = match align {
            b'>' => missing,
            b'^' => missing / 2,
            _ => 0,
        };
        let mut bytes = [0; 4];
        let fill: &[u8] = spec.fill.unwrap_or(' ').encode_utf8(&mut bytes).as_bytes();
        self.out.splice(start..start, fill.repeat(left));
        (left..missing).for_each(|_| self.out.extend_from_slice(fill));
    }
}

/// Appends a float without its plus sign, as Rust does.
fn put_rust_float<T: Display + Debug + LowerExp + UpperExp>(
    out: &mut Vec<u8>,
    number: T,
    spec: &Spec,
) {
    let precision = spec.precision.map(|precision| precision.min(WIDTH_MAX));
    let _ = match (spec.letter, precision) {
        (b'e', None) => write!(out, "{number:e}"),
        (b'e', Some(precision)) => write!(out, "{number:.precision$e}"),
        (b'E', None) => write!(out, "{number:E}"),
        (b'E', Some(precision)) => write!(out, "{number:.precision$E}"),
        (b'?', None) => write!(out, "{number:?}"),
        (_, Some(precision)) => write!(out, "{number:.precision$}"),
        (_, None) => write!(out, "{number}"),
    };
}

#[cfg(test)]
mod tests {
    use logring::abi::entry;
    use logring::{ArgumentType, Dictionary, RecordIterator, encode_entry};

    use super::*;
    use crate::record::RecordOrigin;
    use text::plain::is_beyond_ascii;

    const THREE: [ArgumentType; 3] = [ArgumentType::Text, ArgumentType::Signed, ArgumentType::Char];

    fn dictionary(format: &str, kind: u8, types: &[ArgumentType], role: u8) -> Dictionary {
        let mut site = 7_u32.to_le_bytes().to_vec();
        site.extend_from_slice(&[4, kind, types.len() as u8, role]);
        for text in ["f", "r", format] {
            site.extend_from_slice(&(text.len() as u32).to_le_bytes());
        }
        site.extend_from_slice(&[0; 4]);
        site.extend(types.iter().map(|kind| *kind as u8));
        site.extend_from_slice(format!("fr{format}").as_bytes());
        let mut dictionary = Dictionary::default();
        assert!(dictionary.add(&encode_entry(1, entry::SITE, &site)).is_ok());
        dictionary
    }

    /// The bytes of a record of the only call site.
    fn record_bytes(payload: &[u8], kind: u8, flags: u8) -> Vec<u8> {
        let size = logring::abi::RECORD_HEAD + payload.len();
        let mut bytes = logring::abi::word0(size, kind, flags).to_le_bytes().to_vec();
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(&1_u64.to_le_bytes());
        bytes.extend_from_slice(payload);
        bytes
    }

    #[test]
    fn a_message_without_a_copy_is_the_message() {
        let types: [&[ArgumentType]; 4] =
            [&[], &[ArgumentType::Text], &[ArgumentType::Bytes], &THREE];
        let formats = ["{}", "%s", "", "{:?}", "%5s", "{} ", "plain", "{0}"];
        let payload = |length: u32| {
            let mut payload = length.to_le_bytes().to_vec();
            payload.extend_from_slice(b"a text\xff {} %s of 24.");
            payload.resize(32, 0);
            payload
        };
        let (mut scratch, mut without) = (Vec::new(), 0);
        for (format, types) in formats.iter().flat_map(|one| types.map(|types| (one, types))) {
            for (format_kind, role) in [(1, 0), (2, 0), (3, 0), (4, 0), (1, 1), (3, 2)] {
                let dictionary = dictionary(format, format_kind, types, role);
                let cut = logring::abi::FLAG_CUT;
                // Of the last, the text is longer than the record.
                for (length, kind, flags) in [
                    (22, kind::LOG, 4),
                    (22, kind::LOG, 4 | cut),
                    (22, kind::SUPPRESSED, 4),
                    (99, kind::LOG, 4),
                ] {
                    let bytes = record_bytes(&payload(length), kind, flags);
                    let record = RecordIterator::new(&bytes, 0).next().and_then(Result::ok);
                    let record = record.expect("a record");
                    let record = LogRecord::new(&record, &dictionary, RecordOrigin::default(), 0);
                    let mut whole = Vec::new();
                    write_message(&mut whole, &record);
                    scratch.clear();
                    assert_eq!(message(&record, &mut scratch), whole, "{format} {types:?}");
                    without += usize::from(scratch.is_empty() && !whole.is_empty());
                }
            }
        }
        // Two places of Rust and C++, one of C, and plain formats.
        assert!(without > 10, "{without}");
    }

    #[test]
    fn a_message_that_is_written_at_once_is_the_message_and_has_nothing_special() {
        let texts = ["", "plain", "a \"quote\"", "a > b", "tab\tand\nline", "ü", "back\\slash"];
        let formats = [
            "{} {} {}",
            "{} {:c} {}",
            "{:?} {:>9} {}",
            "{}%c ]]> {}",
            "%s %c %d",
            "{:\"<9} {:x} {:?}",
        ];
        let mut plain = 0;
        for (format, kind) in formats.iter().flat_map(|one| [(one, 1_u8), (one, 2), (one, 3)]) {
            let dictionary = dictionary(format, kind, &THREE, 0);
            for (text, c) in texts.iter().flat_map(|text| ['c', '"', '>', 'é'].map(|c| (text, c)))
            {
                let mut payload = (text.len() as u32).to_le_bytes().to_vec();
                payload.extend_from_slice(text.as_bytes());
                payload.resize(payload.len().next_multiple_of(8), 0);
                payload.extend_from_slice(&34_i64.to_le_bytes());
                payload.extend_from_slice(&u64::from(u32::from(c)).to_le_bytes());
                let bytes = record_bytes(&payload, kind::LOG, 4);
                let record = RecordIterator::new(&bytes, 0).next().and_then(Result::ok);
                let record = record.expect("a record");
                let record = LogRecord::new(&record, &dictionary, RecordOrigin::default(), 0);
                let is_special = |byte: u8| is_beyond_ascii(byte) | (byte == b'"') | (byte == b'>');
                let (mut whole, mut at_once) = (Vec::new(), Vec::new());
                write_message(&mut whole, &record);
                if is_plain_format(format, is_special)
                    && write_plain_message(&mut at_once, &record, is_special)
                {
                    plain += 1;
                    assert_eq!(at_once, whole);
                    assert!(!whole.iter().any(|byte| is_special(*byte)), "{format} {text} {c}");
                } else {
                    assert!(at_once.is_empty());
                }
            }
        }
        assert!(plain > 5, "{plain}");
    }
}

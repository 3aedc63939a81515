//! Strings and bytes in quotes, as C writes them; paths, names, arrays of strings.
//!
//! Every control character is written as an octal escape, so that a hostile file name cannot
//! control the terminal.

use super::{
    ArgumentKind, CaptureCount, CapturePhase, CapturedData, DecodeContext, ELEMENTS_MAX, Named,
    Outcome, PATH_MAX, Readout, Reads, put, reads,
};

/// Bytes of a line beyond which no more data is added to it, whatever limit was asked for: a vector
/// has up to 1024 elements, each as long as a task says.
const LINE_MAX: usize = 16 << 20;

/// The quotes around a string, which decide what is escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quote {
    /// `"`, escaped within.
    Double,
    /// `<` and `>`, escaped within.
    Angle,
    /// `"`, and every byte as `\x41`.
    Hex,
    /// `"`, escaped within, and `\x01` for what is octal otherwise.
    HexOthers,
}

/// Writes bytes, escaping everything that is not printable ASCII.
pub(crate) fn escape(bytes: &[u8], quote: Quote, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let is_plain = |byte: &u8| {
        matches!(byte, 0x20..0x7f)
            && quote != Quote::Hex
            && match byte {
                b'\\' => false,
                b'"' => !matches!(quote, Quote::Double | Quote::HexOthers),
                b'<' | b'>' => quote != Quote::Angle,
                _ => true,
            }
    };
    let mut rest = bytes;
    loop {
        let plain = rest.iter().position(|byte| !is_plain(byte)).unwrap_or(rest.len());
        out.extend_from_slice(&rest[..plain]);
        let [byte, after @ ..] = &rest[plain..] else { return };
        rest = after;
        let short = match byte {
            b'\n' => b'n',
            b'\t' => b't',
            b'\r' => b'r',
            0x0b => b'v',
            0x0c => b'f',
            b'\\' | b'"' => *byte,
            _ => 0,
        };
        out.push(b'\\');
        if quote == Quote::Hex || quote == Quote::HexOthers && short == 0 {
            out.push(b'x');
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 15)]);
        } else if short != 0 {
            out.push(short);
        } else {
            // An octal digit after a short escape would be read as part of it.
            let is_whole =
                matches!(after.first(), Some(b'0'..=b'7')) && !matches!(byte, b'<' | b'>');
            let [high, middle, low] =
                [byte >> 6, byte >> 3 & 7, byte & 7].map(|digit| b'0' + digit);
            if is_whole || high > b'0' {
                out.push(high);
            }
            if is_whole || high > b'0' || middle > b'0' {
                out.push(middle);
            }
            out.push(low);
        }
    }
}

/// Writes a name between `<` and `>`, in hexadecimal if all texts are.
pub(crate) fn angled(name: &[u8], style: &super::ValueStyle, out: &mut Vec<u8>) {
    let quote = if style.hex_texts == 2 { Quote::Hex } else { Quote::Angle };
    out.push(b'<');
    escape(name, quote, out);
    out.push(b'>');
}

impl DecodeContext<'_> {
    /// Writes the number of a process or a thread, with `-Y` its name too.
    pub(crate) fn task(&mut self, number: i32) {
        self.signed_number(number.into());
        if self.style.commands
            && let Some(name) = self.lookup.command(number)
        {
            angled(&name, &self.style, self.out);
        }
    }

    fn quote_for(&self, bytes: &[u8]) -> Quote {
        let is_plain = |byte: &u8| matches!(byte, 0x20..0x7f | b'\n' | b'\t' | b'\r' | 0x0b | 0x0c);
        match self.style.hex_texts {
            0 => Quote::Double,
            3 => Quote::HexOthers,
            1 if bytes.iter().all(is_plain) => Quote::Double,
            _ => Quote::Hex,
        }
    }

    /// Writes bytes in quotes, followed by `...` if they are truncated.
    pub(crate) fn quoted(&mut self, bytes: &[u8], is_cut: bool) {
        let quote = self.quote_for(bytes);
        self.put("\"");
        escape(bytes, quote, self.out);
        self.put(if is_cut { "\"..." } else { "\"" });
    }

    /// As [`data`](Self::data), always in hexadecimal.
    pub(crate) fn hex_data(&mut self, address: u64, length: u64) {
        let style = std::mem::replace(&mut self.style.hex_texts, 2);
        self.data(address, length);
        self.style.hex_texts = style;
    }

    /// Writes `length` bytes at an address, up to the limit; the address if they cannot be read.
    pub(crate) fn data(&mut self, address: u64, length: u64) {
        if address == 0 {
            self.put("NULL");
            return;
        }
        let room = LINE_MAX.saturating_sub(self.out.len());
        let shown = length.min(self.style.text_limit.min(room) as u64) as usize;
        let bytes = self.read_some(address, shown);
        if bytes.len() < shown {
            self.pointer(address);
        } else {
            self.quoted(&bytes, length > shown as u64);
        }
    }

    /// Writes the bytes of a structure from `start` to `size`, which no known field has: nothing if
    /// they are zeros.
    pub(crate) fn unknown_bytes(&mut self, address: u64, start: u64, size: u64) {
        // The kernel takes no structure beyond a page.
        let end = size.min(4096);
        let Some(length) = end.checked_sub(start).filter(|length| *length > 0) else { return };
        let bytes = self.read_some(address.wrapping_add(start), length as usize);
        if (bytes.len() as u64) < length {
            self.put(", ???");
            return;
        }
        if bytes.iter().all(|&byte| byte == 0) {
            return;
        }
        put!(self, ", /* bytes {start}..{} */ \"", end - 1);
        let shown = bytes.len().min(self.style.text_limit);
        escape(&bytes[..shown], Quote::Hex, self.out);
        self.put(if shown < bytes.len() { "\"..." } else { "\"" });
    }

    /// Writes the zero-terminated string at an address, at most `limit` bytes of it.
    pub(crate) fn text(&mut self, address: u64, limit: usize) {
        if address == 0 {
            self.put("NULL");
            return;
        }
        // Most strings are short and do not cross a page.
        let to_page = 4096 - (address % 4096) as usize;
        let start =
            self.read_some(address, Readout::SMALL.min(to_page).min(limit.saturating_add(1)));
        if let Some(end) = start.iter().position(|&byte| byte == 0) {
            self.quoted(&start[..end], false);
            return;
        }
        match self.read_text(address, limit) {
            Some((bytes, is_cut)) => self.quoted(&bytes, is_cut),
            None => self.pointer(address),
        }
    }

    /// A zero-terminated string, and whether it was truncated; `None` if its memory ends first.
    pub(crate) fn read_text(&self, address: u64, limit: usize) -> Option<(Vec<u8>, bool)> {
        const STEP: usize = 256;
        let limit = limit.min(PATH_MAX);
        let mut text = Vec::new();
        while text.len() <= limit {
            // Not beyond a page at a time: the next may be missing, and the string may end before
            // it.
            let at = address.wrapping_add(text.len() as u64);
            let to_page = 4096 - (at % 4096) as usize;
            let wanted = STEP.min(to_page).min(limit + 1 - text.len());
            let mut piece = [0; STEP];
            let have = self.memory.read(at, &mut piece[..wanted]);
            let piece = &piece[..have.min(wanted)];
            if let Some(end) = piece.iter().position(|&byte| byte == 0) {
                text.extend_from_slice(&piece[..end]);
                return Some((text, false));
            }
            text.extend_from_slice(piece);
            if piece.len() < wanted {
                return None;
            }
        }
        text.truncate(limit);
        Some((text, true))
    }

    /// Writes a null-terminated array of pointers to strings.
    fn texts(&mut self, address: u64) {
        let start = self.out.len();
        self.put("[");
        for index in 0..ELEMENTS_MAX {
            let at = address.wrapping_add(index * 8);
            let Some(pointer) = self.read::<8>(at).map(|bytes| bytes.u64(0)) else {
                if index == 0 {
                    self.out.truncate(start);
                    self.pointer(address);
                } else {
                    put!(self, "{}... /* {at:#x} */]", if index > 0 { ", " } else { "" });
                }
                return;
            };
            if pointer == 0 {
                self.put("]");
                return;
            }
            if index > 0 {
                self.put(", ");
            }
            if index >= self.elements_shown() {
                self.put("...]");
                return;
            }
            self.text(pointer, self.style.text_limit);
        }
        self.put(", ...]");
    }
}

/// A path; it is shown whole.
pub(crate) const PATH: ArgumentKind = ArgumentKind::new(|context, index| {
    context.text(context.argument(index), PATH_MAX - 1);
    Outcome::Done
})
.reading(&[reads::TEXT])
.of_any_width()
.naming(Named::Path);

/// A string that is not compared by `-P`; it is truncated at the limit.
pub(crate) const NAME: ArgumentKind = ArgumentKind::new(|context, index| {
    context.text(context.argument(index), context.style.text_limit);
    Outcome::Done
})
.reading(&[reads::TEXT])
.of_any_width();

/// Bytes that the kernel reads; the next argument is their length.
pub(crate) const BYTES_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    context.data(context.argument(index), context.argument(index + 1));
    Outcome::Done
})
.reading(&[reads::data(CapturePhase::Enter, CaptureCount::Argument(1))])
.of_any_width();

/// Bytes that the kernel writes; the result is their length.
pub(crate) const BYTES_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    context.at_exit(index, |context, address| {
        context.data(address, context.count());
    })
})
.reading(&[reads::data(CapturePhase::Exit, CaptureCount::Result)])
.of_any_width();

/// Writes bytes that are often a string: a zero byte at the end is left out, but not in hexadecimal.
fn value(context: &mut DecodeContext<'_>, address: u64, length: u64) {
    let is_whole = length <= context.style.text_limit as u64 && context.style.hex_texts == 0;
    let last = length.checked_sub(1).filter(|_| is_whole);
    let ends_with_zero = last.is_some_and(|last| {
        context.read::<1>(address.wrapping_add(last)).is_some_and(|byte| byte.0 == [0])
    });
    context.data(address, length - u64::from(ends_with_zero));
}

/// As [`BYTES_IN`], without a zero byte at the end.
pub(crate) const TEXT_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    value(context, context.argument(index), context.argument(index + 1));
    Outcome::Done
})
.reading(&[reads::data(CapturePhase::Enter, CaptureCount::Argument(1))])
.of_any_width();

/// As [`BYTES_OUT`], without a zero byte at the end.
pub(crate) const TEXT_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    context.at_exit(index, |context, address| {
        value(context, address, context.count());
    })
})
.reading(&[reads::data(CapturePhase::Exit, CaptureCount::Result)])
.of_any_width();

/// As [`BYTES_OUT`]; with a length of zero, the next argument, the kernel writes nothing and the
/// result is how much room it takes.
pub(crate) const LIST_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    if context.is_over() && context.argument(index + 1) == 0 {
        context.pointer(context.argument(index));
        return Outcome::Done;
    }
    BYTES_OUT.write(context, index)
})
.reading(&[reads::data(CapturePhase::Exit, CaptureCount::Result)])
.of_any_width();

/// Random bytes: as [`BYTES_OUT`], always in hexadecimal.
pub(crate) const RANDOM_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    context.style.hex_texts = 2;
    BYTES_OUT.write(context, index)
})
.reading(&[reads::data(CapturePhase::Exit, CaptureCount::Result)])
.of_any_width();

/// The working directory that `getcwd` writes.
pub(crate) const CWD_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    context.at_exit(index, |context, address| {
        context.text(address, PATH_MAX - 1);
    })
})
.reading(&[Reads { when: CapturePhase::Exit, what: CapturedData::Text }])
.of_any_width();

/// A program's arguments.
pub(crate) const TEXTS: ArgumentKind = ArgumentKind::new(|context, index| {
    let address = context.argument(index);
    if address == 0 {
        context.put("NULL");
    } else {
        context.texts(address);
    }
    Outcome::Done
})
.reading(&[Reads { when: CapturePhase::Enter, what: CapturedData::Texts }]);

/// The number of pointers at an address, and whether a null pointer ends them.
fn pointers(context: &DecodeContext<'_>, address: u64) -> (u64, bool) {
    // The kernel takes no more than fit into a quarter of the stack; 64 Ki are far more than is
    // used.
    const POINTERS_MAX: u64 = 1 << 16;
    const AT_ONCE: usize = 32;
    let mut count = 0;
    while count < POINTERS_MAX {
        let bytes = context.read_some(address.wrapping_add(count * 8), AT_ONCE * 8);
        let (words, _) = bytes.as_chunks::<8>();
        match words.iter().position(|word| u64::from_le_bytes(*word) == 0) {
            Some(place) => return (count + place as u64, true),
            None if words.len() < AT_ONCE => return (count + words.len() as u64, false),
            None => count += AT_ONCE as u64,
        }
    }
    (count, false)
}

/// A program's environment: `0x7ffe1000 /* 20 vars */`, or all of it (`-v`).
pub(crate) const ENVIRONMENT: ArgumentKind = ArgumentKind::new(|context, index| {
    let address = context.argument(index);
    if address == 0 {
        context.put("NULL");
    } else if context.style.whole {
        context.texts(address);
    } else {
        let (count, ended) = pointers(context, address);
        let plural = if count == 1 { "" } else { "s" };
        let mark = if ended { "" } else { ", unterminated" };
        context.pointer(address);
        if ended || count > 0 {
            put!(context, " /* {count} var{plural}{mark} */");
        }
    }
    Outcome::Done
})
.reading(&[Reads { when: CapturePhase::Enter, what: CapturedData::Pointers }]);

/// The name that a `sethostname` gives, in quotes.
pub(crate) const HOSTNAME: ArgumentKind = ArgumentKind::new(|context, index| {
    context.data(context.argument(index), u64::from(context.argument(index + 1) as u32));
    Outcome::Done
})
.reading(&[reads::data(CapturePhase::Enter, CaptureCount::Argument(1))])
.of_any_width();

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(bytes: &[u8], quote: Quote) -> String {
        let mut out = Vec::new();
        escape(bytes, quote, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn a_terminal_obeys_nothing() {
        assert_eq!(escaped(b"\x1b[2Ja\x7f\xff\0", Quote::Double), r"\33[2Ja\177\377\0");
        assert_eq!(escaped(b"\x001\0a\n\"\\", Quote::Double), r#"\0001\0a\n\"\\"#);
        assert_eq!(escaped(b"a<b>\"", Quote::Angle), "a\\74b\\76\"");
        assert_eq!(escaped(b"A\0", Quote::Hex), r"\x41\x00");
    }

    #[test]
    fn every_byte_is_written_as_c_reads_it() {
        const SHORT: [(u8, char); 5] =
            [(b'\n', 'n'), (b'\t', 't'), (b'\r', 'r'), (0x0b, 'v'), (0x0c, 'f')];
        for byte in 0..=u8::MAX {
            for (next, is_digit) in [(b'0', true), (b'7', true), (b'8', false), (b'x', false)] {
                let short = SHORT.iter().find(|(short, _)| *short == byte);
                let expected = match byte {
                    _ if short.is_some() => format!("\\{}", short.map_or(' ', |short| short.1)),
                    b'"' | b'\\' => format!("\\{}", char::from(byte)),
                    0x20..0x7f => char::from(byte).to_string(),
                    _ if is_digit => format!("\\{byte:03o}"),
                    _ => format!("\\{byte:o}"),
                };
                let expected = format!("{expected}{}", char::from(next));
                assert_eq!(escaped(&[byte, next], Quote::Double), expected, "{byte}");
                let hex = format!("\\x{byte:02x}\\x{next:02x}");
                assert_eq!(escaped(&[byte, next], Quote::Hex), hex);
            }
        }
    }
}

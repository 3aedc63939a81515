//! Escapes for text of others, which may contain any bytes: for terminals, JSON, HTML and CSV.
//!
//! Names (of processes, devices, files) go through [`escape_into`], whole messages, which have
//! backslashes and joined characters of their own, through [`push_visible`].

use crate::byte_text::byte_of;
use crate::plain::{is_beyond_ascii, is_plain};

/// Appends `bytes` so that no terminal acts on them and no reader is misled.  Printable UTF-8 is
/// unchanged; control characters, [`INVISIBLE`] characters and bytes that are not UTF-8 become
/// `\xNN`, the backslash `\\`.
pub fn escape_into(out: &mut Vec<u8>, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.extend_from_slice(b"\\\\"),
                c if c.is_control() || is_invisible(c) || byte_of(c).is_some() => {
                    push_hex_char(out, c);
                }
                c => push_char(out, c),
            }
        }
        for &byte in chunk.invalid() {
            push_hex(out, byte);
        }
    }
}

/// Characters without a width of their own, and characters that look like a blank and are none:
/// changes of the writing direction (in the ranges from U+061C, U+200B, U+2028 and U+2060),
/// joiners, fillers, line ends beyond ASCII, variation selectors, tags.  Names that differ only in
/// these look the same, and a change of direction reorders the rest of its line.  Nearly Unicode's
/// `Default_Ignorable_Code_Point`; in ascending order.
const INVISIBLE: [(char, char); 19] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{13430}', '\u{1345f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

fn is_invisible(c: char) -> bool {
    // Most names are ASCII.
    c >= INVISIBLE[0].0 && INVISIBLE.iter().any(|&(first, last)| (first..=last).contains(&c))
}

/// Whether a character ends a line for some readers or changes the writing direction of what
/// follows: U+2028 and U+2029, the overrides, embeddings and isolates (Unicode's UAX #9).
fn reorders_or_ends_line(c: char) -> bool {
    matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Appends a message so that it cannot end its line, reorder it, or tell a terminal what to do: line
/// ends become `\n` and `\r`, other control characters but the tab, changes of the writing direction
/// and bytes that are not UTF-8 become `\xNN`.  Backslashes stay as they are.
pub fn push_visible(out: &mut Vec<u8>, text: &[u8]) {
    push_visible_but(out, text, |c| match c {
        '\n' => Some("\\n"),
        '\r' => Some("\\r"),
        '\t' => Some("\t"),
        _ => None,
    });
}

/// Whether [`push_visible`] may change this byte.
#[inline]
#[must_use]
pub fn may_be_invisible(byte: u8) -> bool {
    is_beyond_ascii(byte) & (byte != b'\t')
}

/// [`push_visible`], with texts of the caller's for control characters of ASCII.
fn push_visible_but(out: &mut Vec<u8>, text: &[u8], own: impl Fn(char) -> Option<&'static str>) {
    if is_plain(text, is_beyond_ascii) {
        return out.extend_from_slice(text);
    }
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                c if c.is_control() => match own(c) {
                    Some(text) => out.extend_from_slice(text.as_bytes()),
                    None => push_hex_char(out, c),
                },
                c if reorders_or_ends_line(c) || byte_of(c).is_some() => push_hex_char(out, c),
                c => push_char(out, c),
            }
        }
        chunk.invalid().iter().for_each(|&byte| push_hex(out, byte));
    }
}

/// Whether [`push_json_string`] may change this byte.
#[inline]
#[must_use]
pub fn may_be_json_special(byte: u8) -> bool {
    is_beyond_ascii(byte) | (byte == b'"') | (byte == b'\\')
}

/// Appends a string of JSON (RFC 8259) with its quotation marks.  What is not UTF-8 becomes U+FFFD;
/// besides what JSON demands, DEL, U+0080 to U+009F and changes of the writing direction are written
/// as `\uNNNN`, because people read JSON in terminals and browsers.
pub fn push_json_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    push_json_text(out, text);
    out.push(b'"');
}

/// As [`push_json_string`], without the quotation marks: for a string that is written in pieces.
pub fn push_json_text(out: &mut Vec<u8>, text: &[u8]) {
    if is_plain(text, may_be_json_special) {
        return out.extend_from_slice(text);
    }
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' => out.extend_from_slice(b"\\\""),
                '\\' => out.extend_from_slice(b"\\\\"),
                '\n' => out.extend_from_slice(b"\\n"),
                '\r' => out.extend_from_slice(b"\\r"),
                '\t' => out.extend_from_slice(b"\\t"),
                c if c.is_control() || reorders_or_ends_line(c) => push_json_escape(out, c),
                c => push_char(out, c),
            }
        }
        if !chunk.invalid().is_empty() {
            push_char(out, REPLACEMENT);
        }
    }
}

/// What a library wrote as JSON, with DEL, U+0080 to U+009F and changes of the writing direction as
/// [`push_json_string`] writes them: in JSON they stand in strings only.
#[must_use]
pub fn visible_json(json: String) -> String {
    let is_hidden = |c: char| matches!(c, '\x7f'..='\u{9f}') || reorders_or_ends_line(c);
    if is_plain(json.as_bytes(), |byte| byte >= 0x7f) || !json.contains(is_hidden) {
        return json;
    }
    let mut out = Vec::with_capacity(json.len() + 64);
    for c in json.chars() {
        if is_hidden(c) { push_json_escape(&mut out, c) } else { push_char(&mut out, c) }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Appends a character of the basic plane as `\uNNNN`; those that are escaped are all there.
fn push_json_escape(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(b"\\u");
    for byte in (c as u16).to_be_bytes() {
        out.extend_from_slice(&hex_digits(byte));
    }
}

fn push_char(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Appends the bytes of a character as `\xNN`; of one that stands for a byte, that byte.
fn push_hex_char(out: &mut Vec<u8>, c: char) {
    match byte_of(c) {
        Some(byte) => push_hex(out, byte),
        None => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| push_hex(out, byte)),
    }
}

/// Appends a byte as `\xNN`.
pub fn push_hex(out: &mut Vec<u8>, byte: u8) {
    out.extend_from_slice(b"\\x");
    out.extend_from_slice(&hex_digits(byte));
}

/// The two hexadecimal digits of a byte, in small letters.
#[inline]
#[must_use]
pub fn hex_digits(byte: u8) -> [u8; 2] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]
}

/// `bytes` as [`escape_into`] writes them.
#[must_use]
pub fn escape(bytes: &[u8]) -> String {
    let mut out = Vec::with_capacity(bytes.len());
    escape_into(&mut out, bytes);
    String::from_utf8_lossy(&out).into_owned()
}

/// A message for a terminal, in one line: as [`escape`], but backslashes stay as they are, because
/// a message may quote text that is escaped already.
#[must_use]
pub fn escape_message(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    for (index, part) in text.split('\\').enumerate() {
        if index > 0 {
            out.push(b'\\');
        }
        escape_into(&mut out, part.as_bytes());
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// What stands in [`file_line`] for what a file must not have.
pub const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// A stranger's text as one line of a file that programs and people read: a configuration, a page, a
/// script.  Each control character of ASCII becomes a space, and those at the end go away.  What
/// could begin a command (a backtick), end a line for some readers or change the writing direction
/// becomes [`REPLACEMENT`], and so does what follows after `characters_max`.
///
/// Whether such a text is still the stranger's own: see [`is_whole`].
#[must_use]
pub fn file_line(text: &str, characters_max: usize) -> String {
    let is_unsafe = |c: char| c == '`' || c.is_control() || reorders_or_ends_line(c);
    let text = text.trim_end_matches(|c| c <= ' ');
    let mut rest = text.chars();
    let mut line: String = rest
        .by_ref()
        .take(characters_max)
        .map(|c| match c {
            '\0'..='\x1f' => ' ',
            c if is_unsafe(c) => REPLACEMENT,
            c => c,
        })
        .collect();
    line.extend(rest.next().map(|_| REPLACEMENT));
    line
}

/// Whether nothing was replaced in a [`file_line`]: it differs from its source by spaces only.
#[must_use]
pub fn is_whole(line: &str) -> bool {
    !line.contains(REPLACEMENT)
}

/// Appends a field of CSV (RFC 4180): in quotation marks if it needs them.
pub fn push_csv_field(out: &mut Vec<u8>, field: &[u8]) {
    if !field.iter().any(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n')) {
        return out.extend_from_slice(field);
    }
    out.push(b'"');
    for &byte in field {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}

/// What is done with text that a spreadsheet would take as a formula.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum CsvFormulas {
    /// It stays as it is: the field says what the text says.
    #[default]
    Keep,
    /// It gets an apostrophe before it, which spreadsheets do not show.
    Quote,
}

/// Appends text of others as a field of CSV: valid UTF-8 without control characters but tabs and
/// line ends, which RFC 4180 allows between quotation marks; others are as in [`push_visible`].
/// `scratch` is overwritten.
pub fn push_csv_text(out: &mut Vec<u8>, text: &[u8], formulas: CsvFormulas, scratch: &mut Vec<u8>) {
    scratch.clear();
    let begins_formula = |byte: &u8| matches!(byte, b'=' | b'+' | b'-' | b'@' | b'\t' | b'\r');
    if formulas == CsvFormulas::Quote && text.first().is_some_and(begins_formula) {
        scratch.push(b'\'');
    }
    push_visible_but(scratch, text, |c| match c {
        '\n' => Some("\n"),
        '\r' => Some("\r"),
        '\t' => Some("\t"),
        _ => None,
    });
    push_csv_field(out, scratch);
}

/// Text between the marks of HTML: `&`, `<` and `>` are escaped.
#[must_use]
pub fn html_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The value of an attribute of HTML, without its quotation marks.
#[must_use]
pub fn html_attribute(text: &str) -> String {
    html_text(text).replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_quoted_if_it_must_be() {
        let mut out = Vec::new();
        for field in ["a b", "a,b", "a\"b", "a\nb", "a\rb", ""] {
            push_csv_field(&mut out, field.as_bytes());
            out.push(b';');
        }
        assert_eq!(out, b"a b;\"a,b\";\"a\"\"b\";\"a\nb\";\"a\rb\";;");
    }

    /// Every way to hide something: ESC, DEL, C1 as UTF-8 and alone, U+2028, an override, an isolate.
    const HIDDEN: &[u8] = b"a\x1bb\x7fc\xc2\x9bd\x9be\xe2\x80\xa8f\xe2\x80\xaeg\xe2\x81\xa6h";

    #[test]
    fn messages_show_what_they_hide() {
        let mut out = Vec::new();
        push_visible(&mut out, HIDDEN);
        let seen = "a\\x1bb\\x7fc\\xc2\\x9bd\\x9be\\xe2\\x80\\xa8f\\xe2\\x80\\xaeg\\xe2\\x81\\xa6h";
        assert_eq!(String::from_utf8_lossy(&out), seen);
        out.clear();
        // Backslashes, tabs and what is joined to one picture stay.
        push_visible(&mut out, "C:\\x\tä\u{200d}\u{fe0f}日\r\n".as_bytes());
        assert_eq!(String::from_utf8_lossy(&out), "C:\\x\tä\u{200d}\u{fe0f}日\\r\\n");
    }

    #[test]
    fn json_shows_what_it_hides() {
        let mut out = Vec::new();
        push_json_string(&mut out, HIDDEN);
        let seen = "\"a\\u001bb\\u007fc\\u009bd\u{fffd}e\\u2028f\\u202eg\\u2066h\"";
        assert_eq!(String::from_utf8_lossy(&out), seen);
        out.clear();
        push_json_string(&mut out, "\"\\\n\r\t\u{8}ä".as_bytes());
        assert_eq!(String::from_utf8_lossy(&out), "\"\\\"\\\\\\n\\r\\t\\u0008ä\"");
        let library = "{\"a\":\"\x7f\u{9b}\u{202e}ä\"}".to_owned();
        assert_eq!(visible_json(library), "{\"a\":\"\\u007f\\u009b\\u202eä\"}");
    }

    #[test]
    fn csv_has_no_escapes_of_terminals_and_quotes_formulas_when_asked() {
        let field = |text: &[u8], formulas| {
            let mut out = Vec::new();
            push_csv_text(&mut out, text, formulas, &mut Vec::new());
            String::from_utf8(out).expect("CSV is UTF-8")
        };
        assert_eq!(field(b"a\x1b[2J,\xff\nb", CsvFormulas::Keep), "\"a\\x1b[2J,\\xff\nb\"");
        for text in ["=1+1", "+1", "-1", "@a", "\tb"] {
            assert_eq!(field(text.as_bytes(), CsvFormulas::Keep), text);
            assert_eq!(field(text.as_bytes(), CsvFormulas::Quote), format!("'{text}"));
        }
        assert_eq!(field(b"a=1", CsvFormulas::Quote), "a=1");
    }

    #[test]
    fn a_strangers_text_is_one_line() {
        for (text, expected) in [
            ("Gi0/1 \"up\" <b>\\", "Gi0/1 \"up\" <b>\\"),
            ("a\nTarget[x]: 1\r\n\0", "a Target[x]: 1"),
            (
                "a`id`\u{85}\u{2028}\u{202e}b\x7f",
                "a\u{fffd}id\u{fffd}\u{fffd}\u{fffd}\u{fffd}b\u{fffd}",
            ),
            ("größe", "größe"),
        ] {
            assert_eq!(file_line(text, 100), expected);
        }
        assert_eq!(file_line("0123456789", 10), "0123456789");
        assert_eq!(file_line("0123456789a", 10), "0123456789\u{fffd}");
        assert!(is_whole(&file_line("a\tb", 10)) && !is_whole(&file_line("a`b", 10)));
    }

    #[test]
    fn html_shows_what_a_text_says() {
        assert_eq!(html_text("a<b> & \"c\""), "a&lt;b&gt; &amp; \"c\"");
        assert_eq!(html_attribute("a<b> & \"c\""), "a&lt;b&gt; &amp; &quot;c&quot;");
    }

    #[test]
    fn a_message_keeps_its_backslashes() {
        assert_eq!(escape_message("a\\x1b \x1b[2Jb\n"), "a\\x1b \\x1b[2Jb\\x0a");
    }

    #[test]
    fn escapes_what_a_terminal_would_act_on() {
        assert_eq!(escape(b"vda"), "vda");
        assert_eq!(escape("größe".as_bytes()), "größe");
        assert_eq!(escape(b"a\x1b[2Jb\n\\\xff"), "a\\x1b[2Jb\\x0a\\\\\\xff");
    }

    #[test]
    fn escapes_what_a_reader_would_not_see() {
        // Without the escape this would look like `txt.exe`, from right to left.
        assert_eq!(escape("a\u{202e}exe.txt".as_bytes()), "a\\xe2\\x80\\xaeexe.txt");
        let turns = ('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}');
        let marks = ['\u{200e}', '\u{200f}', '\u{61c}'];
        let unseen = ['\u{200b}', '\u{200d}', '\u{feff}', '\u{ad}', '\u{2028}', '\u{e0041}'];
        for c in turns.chain(marks).chain(unseen) {
            let shown = escape(c.encode_utf8(&mut [0; 4]).as_bytes());
            assert_eq!(shown.len(), 4 * c.len_utf8(), "{c:?}");
            assert!(shown.is_ascii());
        }
        for c in ['é', 'ش', '日', '\u{200a}', '\u{2010}', '\u{202f}', '\u{205f}', '\u{2070}'] {
            assert_eq!(escape(c.encode_utf8(&mut [0; 4]).as_bytes()), c.to_string());
        }
        assert!(INVISIBLE.is_sorted(), "the first is the least");
    }
}

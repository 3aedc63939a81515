//! An element of ACS's XML: a record with its attributes, message and data.
//!
//! ACS's own writer escapes little, so what is read is taken as it is where XML would refuse it: a
//! broken reference stays as text, an attribute may hold `<`.  Only bytes of one element are in memory.

/// Elements of records, by the names of their levels.
const RECORDS: [&[u8]; 10] = [
    b"Trace",
    b"Delouse",
    b"Debug",
    b"Info",
    b"Notice",
    b"Warning",
    b"Error",
    b"Critical",
    b"Alert",
    b"Emergency",
];

/// Most attributes and data of an element.
const PARTS_MAX: usize = 64;

/// What stands next in a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A record, and the bytes up to its end.
    Record(Element, usize),
    /// Something else, of so many bytes: a declaration, the document's own element, a comment, blanks.
    Other(usize),
    /// An element that is no record of a level, such as `Archive`.
    Passed(usize),
    /// More bytes are needed.
    More,
}

/// A record.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) level: &'static str,
    pub(crate) attributes: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) message: Vec<u8>,
    pub(crate) data: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Element {
    /// The value of an attribute; empty if there is none.
    pub(crate) fn attribute(&self, name: &str) -> &[u8] {
        let found = self.attributes.iter().find(|(one, _)| one == name.as_bytes());
        found.map_or(&[], |(_, value)| value)
    }
}

/// A tag that was read: its name, attributes, whether it is an element's end too, and its bytes.
struct Tag<'a> {
    name: &'a [u8],
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
    is_whole: bool,
    bytes: usize,
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, part)
}

/// What stands at the beginning of these bytes.
pub(crate) fn next(text: &[u8]) -> Next {
    let Some(start) = text.iter().position(|byte| *byte == b'<') else {
        return if text.is_empty() { Next::More } else { Next::Other(text.len()) };
    };
    if start > 0 {
        return Next::Other(start);
    }
    let until = |end: &[u8]| match find(text, end) {
        Some(at) => Next::Other(at + end.len()),
        None => Next::More,
    };
    match text.get(1) {
        None => return Next::More,
        Some(b'?') => return until(b"?>"),
        Some(b'!') if text.starts_with(b"<!--") => return until(b"-->"),
        Some(b'!' | b'/') => return until(b">"),
        Some(_) => {}
    }
    let Some(tag) = tag(text) else { return Next::More };
    let level = RECORDS.iter().find(|name| **name == tag.name);
    match level.and_then(|name| std::str::from_utf8(name).ok()) {
        Some(level) => record(text, tag, level),
        // What holds all the others, and says so.
        None if matches!(tag.name, b"Log" | b"Header") => Next::Other(tag.bytes),
        None => Next::Passed(tag.bytes),
    }
}

/// Reads a tag that begins with `<`; `None` if its end is not there.
fn tag(text: &[u8]) -> Option<Tag<'_>> {
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/');
    let length = text[1..].iter().position(is_end)?;
    let (name, mut at) = (&text[1..=length], 1 + length);
    let mut attributes = Vec::new();
    loop {
        at += text[at..].iter().position(|byte| !byte.is_ascii_whitespace())?;
        match text[at] {
            b'>' => return Some(Tag { name, attributes, is_whole: false, bytes: at + 1 }),
            b'/' if text.get(at + 1)? == &b'>' => {
                return Some(Tag { name, attributes, is_whole: true, bytes: at + 2 });
            }
            _ => {}
        }
        let rest = &text[at..];
        let stop = rest.iter().position(|byte| matches!(byte, b'=' | b'>'))?;
        if rest[stop] == b'>' {
            at += stop;
            continue;
        }
        let value = &rest[stop + 1..];
        let open = value.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let quote = value[open];
        if quote != b'"' && quote != b'\'' {
            // No value: the tag goes on behind the sign.
            at += stop + 1;
            continue;
        }
        let close = value[open + 1..].iter().position(|byte| *byte == quote)?;
        if attributes.len() < PARTS_MAX {
            let name = rest[..stop].trim_ascii().to_vec();
            attributes.push((name, unescaped(&value[open + 1..open + 1 + close])));
        }
        at += stop + 1 + open + 1 + close + 1;
    }
}

/// Reads what stands between the tags of a record.
fn record(text: &[u8], tag: Tag<'_>, level: &'static str) -> Next {
    let mut element = Element { level, attributes: tag.attributes, ..Element::default() };
    let mut at = tag.bytes;
    if tag.is_whole {
        return Next::Record(element, at);
    }
    let mut message = Vec::new();
    loop {
        let Some(end) = content(text, &mut at, &mut message) else { return Next::More };
        let rest = &text[end..];
        if rest.starts_with(b"</") {
            let Some(close) = find(rest, b">") else { return Next::More };
            element.message = message;
            return Next::Record(element, end + close + 1);
        }
        let Some(inner) = self::tag(rest) else { return Next::More };
        // What is no datum begins the next record: this one has no end.
        if inner.name != b"Data" {
            element.message = message;
            return Next::Record(element, end);
        }
        let name = inner.attributes.into_iter().find(|(name, _)| name == b"Name");
        let mut value = Vec::new();
        at = end + inner.bytes;
        if !inner.is_whole {
            let Some(end) = content(text, &mut at, &mut value) else { return Next::More };
            let Some(close) = find(&text[end..], b">") else { return Next::More };
            at = end + close + 1;
        }
        if let (Some((_, name)), true) = (name, element.data.len() < PARTS_MAX) {
            element.data.push((name, value));
        }
    }
}

/// Appends text and CDATA up to the next tag, and gives where that begins; `None` if it is not there.
fn content(text: &[u8], at: &mut usize, out: &mut Vec<u8>) -> Option<usize> {
    const CDATA: &[u8] = b"<![CDATA[";
    // Blanks between tags are no part of a message.
    let start = out.len();
    loop {
        let open = *at + text[*at..].iter().position(|byte| *byte == b'<')?;
        let plain = &text[*at..open];
        if !plain.trim_ascii().is_empty() {
            out.extend(unescaped(if out.len() == start {
                plain.trim_ascii_start()
            } else {
                plain
            }));
        }
        let rest = &text[open..];
        if !rest.starts_with(CDATA) {
            // It may become CDATA when more has come.
            return (rest.len() >= CDATA.len() || !CDATA.starts_with(rest)).then_some(open);
        }
        let close = find(rest, b"]]>")?;
        out.extend_from_slice(&rest[CDATA.len()..close]);
        *at = open + close + 3;
    }
}

/// Text with its references replaced; those that are none stay.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == b'&') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let end = rest.iter().take(12).position(|byte| *byte == b';');
        match end.and_then(|end| Some((reference(&rest[1..end])?, end))) {
            Some((c, end)) => {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &rest[end + 1..];
            }
            None => {
                out.push(b'&');
                rest = &rest[1..];
            }
        }
    }
    out.extend_from_slice(rest);
    out
}

fn reference(name: &[u8]) -> Option<char> {
    Some(match name {
        b"amp" => '&',
        b"lt" => '<',
        b"gt" => '>',
        b"quot" => '"',
        b"apos" => '\'',
        [b'#', b'x' | b'X', digits @ ..] => {
            char::from_u32(u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?)?
        }
        [b'#', digits @ ..] => char::from_u32(std::str::from_utf8(digits).ok()?.parse().ok()?)?,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = "<Warning TimeStamp=\"2005-12-02T13:45:02.761\" Routine='a &lt; b' Line=\"7\">\
        <![CDATA[disk ]]]]><![CDATA[> full]]>\n<Data Name=\"x\"><![CDATA[1]]></Data></Warning>\n";

    #[test]
    fn a_record_is_read_and_no_part_of_one() {
        let Next::Record(element, bytes) = next(RECORD.as_bytes()) else { panic!("no record") };
        assert_eq!((element.level, bytes), ("Warning", RECORD.len() - 1));
        assert_eq!(element.message, b"disk ]]> full");
        assert_eq!(element.attribute("Routine"), b"a < b");
        assert_eq!(element.data, [(b"x".to_vec(), b"1".to_vec())]);
        for cut in 1..RECORD.len() - 1 {
            assert_eq!(next(&RECORD.as_bytes()[..cut]), Next::More, "{cut}");
        }
    }

    #[test]
    fn any_bytes_are_read_in_steps() {
        let mut random = testkit::Random::from_seed(3);
        for _ in 0..500 {
            let mut text = RECORD.repeat(2).into_bytes();
            for _ in 0..random.below(12) {
                let at = random.below(text.len() as u64) as usize;
                text[at] = random.one_of(b"<>\"'/&;=![] \0\xffD");
            }
            let mut at = 0;
            while at < text.len() {
                at += match next(&text[at..]) {
                    Next::Record(_, bytes) | Next::Other(bytes) | Next::Passed(bytes) => bytes,
                    Next::More => 1,
                };
                assert!(at <= text.len());
            }
        }
        assert_eq!(next(b"<Info a>"), Next::More);
        assert!(matches!(next(b"<Info a b=1 c='2'/>"), Next::Record(_, 19)));
    }

    #[test]
    fn what_is_no_record_is_passed_over() {
        assert_eq!(next(b"<?xml version='1.0'?>\n"), Next::Other(21));
        assert_eq!(next(b"<!-- <Info> -->x"), Next::Other(15));
        assert_eq!(next(b"<Log>\n<Info"), Next::Other(5));
        assert_eq!(next(b" text <Info"), Next::Other(6));
        assert_eq!(next(b"<Archive a=\"<b>\"/>"), Next::Passed(18));
        assert_eq!(
            unescaped(b"a &amp;&#65;&#x42; & &nothing; &#1114112;"),
            b"a &AB & &nothing; &#1114112;"
        );
    }
}

//! The texts in a program: strings with variables, patterns, `tr///`, and variables themselves.

use super::{Parser, Result};
use crate::ParseError;
use crate::regexes::compile;
use crate::syntax::{Change, Dialect, Function, Node, Pattern, Substitute, Table, Target};

/// Where a variable is written: in a pattern a `{` after it may be a quantifier.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Text,
    Pattern,
}

/// `$_`, `$name`, `$arg[2]`, `$1`, `$#arg`, `$$1`, `$name{key}`, starting at the `$`.
pub(super) fn variable(parser: &mut Parser<'_>) -> Result<Node> {
    variable_within(parser, Within::Text)
}

fn variable_within(parser: &mut Parser<'_>, within: Within) -> Result<Node> {
    let start = parser.place;
    if parser.take_array("$#") {
        return Ok(Node::ArrayLength { last: true });
    }
    parser.place += 1;
    if let Some(text) = group(parser) {
        return Ok(Node::Text(text));
    }
    for &(text, own) in parser.dialect.spellings {
        if parser.rest().starts_with(text.as_bytes()) {
            parser.place += text.len();
            return Ok(Node::Call(Function::Own(own), Vec::new()));
        }
    }
    let mut is_reference = parser.take_sign(b'$');
    let braced = parser.take_sign(b'{');
    is_reference |= braced && parser.take_sign(b'$');
    let name = variable_name(parser);
    if braced && !parser.take_sign(b'}') {
        parser.place = start;
        return Err(parser.refuse("the name of a variable is invalid"));
    }
    let rest = parser.rest();
    if parser.dialect.array == Some(&name) && rest.starts_with(b"[") {
        parser.place += 1;
        let index = parser.expression()?;
        parser.expect("]")?;
        return Ok(Node::Element(Box::new(index)));
    }
    if let Some(node) = hash_element(parser, &name, within)? {
        return Ok(node);
    }
    let is_in_package = !braced && rest.starts_with(b"::");
    let is_object = parser.dialect.spellings.iter().any(|(text, _)| {
        text.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with("->"))
    });
    if name.is_empty() || is_reference || is_in_package || is_object {
        parser.place = start;
        return Err(parser.refuse("this variable is not supported"));
    }
    match name.parse() {
        Ok(number) => Ok(Node::Group(number)),
        Err(_) => {
            parser.use_name(&name, false);
            Ok(Node::Variable(name))
        }
    }
}

/// Letters, digits and `_`, or digits alone.
fn variable_name(parser: &mut Parser<'_>) -> String {
    let rest = parser.rest();
    let is_number = rest.first().is_some_and(u8::is_ascii_digit);
    let is_part = |byte: &&u8| match is_number {
        true => byte.is_ascii_digit(),
        false => byte.is_ascii_alphanumeric() || **byte == b'_',
    };
    let length = rest.iter().take_while(is_part).count();
    parser.place += length;
    String::from_utf8_lossy(&rest[..length]).into_owned()
}

/// `{key}` or `->{key}` after the name of a hash.
fn hash_element(parser: &mut Parser<'_>, name: &str, within: Within) -> Result<Option<Node>> {
    let rest = parser.rest();
    let is_quantifier = within == Within::Pattern && rest.get(1).is_some_and(u8::is_ascii_digit);
    let arrow = if rest.starts_with(b"->{") { 2 } else { 0 };
    if is_quantifier || rest.get(arrow) != Some(&b'{') {
        return Ok(None);
    }
    if !parser.dialect.has_hashes {
        // A text may go on with `->{`, which only means something if there are hashes.
        return match arrow {
            0 => Err(parser.refuse(&format!("the hash `%{name}` is not supported"))),
            _ => Ok(None),
        };
    }
    parser.place += arrow;
    parser.use_name(name, true);
    let key = delimited(parser)?;
    let key = key.trim_ascii();
    let is_bare = key.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let key = match is_bare {
        true => Node::Text(key.to_vec()),
        false => parser.nested(|parser| parser.inner(key).program())?,
    };
    Ok(Some(Node::HashElement(name.to_owned(), Box::new(key))))
}

/// `<<TAG`, `<<"TAG"`, `<<'TAG'`: the lines after this one up to the one that is the tag.
pub(super) fn lines(parser: &mut Parser<'_>) -> Result<Node> {
    let start = parser.place;
    parser.place += 2;
    let is_plain = parser.peek() == Some(b'\'');
    let tag = match parser.peek() {
        Some(b'"' | b'\'') => delimited(parser)?,
        _ => {
            let word = parser.word_here().as_bytes().to_vec();
            parser.place += word.len();
            word
        }
    };
    let after = parser.place;
    parser.place = start;
    if tag.is_empty() {
        return Err(parser.refuse("`<<` needs the name of a last line"));
    }
    let begin = match parser.lines_taken {
        Some((begin, end)) if begin > after => end,
        _ => after + memchr::memchr(b'\n', &parser.code[after..]).map_or(0, |at| at + 1),
    };
    let mut end = begin;
    for line in parser.code[begin..].split_inclusive(|byte| *byte == b'\n') {
        if line.strip_suffix(b"\n").unwrap_or(line) == tag && begin > after {
            let body = &parser.code[begin..end];
            let line_end = after + memchr::memchr(b'\n', &parser.code[after..]).unwrap_or(0) + 1;
            parser.lines_taken = Some((line_end, end + line.len()));
            parser.place = after;
            return if is_plain {
                Ok(Node::Text(body.to_vec()))
            } else {
                interpolated(parser, body)
            };
        }
        end += line.len();
    }
    let tag = String::from_utf8_lossy(&tag).into_owned();
    Err(parser.refuse(&format!("no line says `{tag}`")))
}

/// `$$1` after its first `$`: what a group of a `--rpl` tag has matched.
fn group(parser: &mut Parser<'_>) -> Option<Vec<u8>> {
    let digits = parser.rest().strip_prefix(b"$")?;
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number: usize = std::str::from_utf8(&digits[..length]).ok()?.parse().ok()?;
    let text = parser.groups.get(number.checked_sub(1)?)?.clone();
    parser.place += 1 + length;
    Some(text)
}

/// `'text'`, `"text"` or `/re/`.
pub(super) fn quoted(parser: &mut Parser<'_>) -> Result<Node> {
    let mark = parser.code[parser.place];
    let body = delimited(parser)?;
    match mark {
        b'\'' => Ok(Node::Text(single(&body, mark))),
        b'"' => interpolated(parser, &body),
        _ => matching(parser, &body),
    }
}

/// `s///`, `tr///`, `y///`, `m//`, `q//`, `qq//` if one comes next.
pub(super) fn quoting_word(parser: &mut Parser<'_>) -> Result<Option<Node>> {
    let rest = parser.rest();
    let found = ["s", "tr", "y", "m", "qq", "q", "qr"].into_iter().find(|word| {
        let Some(after) = rest.strip_prefix(word.as_bytes()) else { return false };
        let is_mark = |byte: u8| byte.is_ascii_punctuation() && !b"=;)_".contains(&byte);
        after.first().is_some_and(|byte| is_mark(*byte)) && !after.starts_with(b"::")
            || after.starts_with(b"::") && *word == "s"
    });
    let Some(word) = found else { return Ok(None) };
    let start = parser.place;
    parser.place += word.len();
    let mark = parser.code[parser.place];
    let body = delimited(parser)?;
    Ok(Some(match word {
        "q" => Node::Text(single(&body, mark)),
        "qq" => interpolated(parser, &body)?,
        "m" => matching(parser, &body)?,
        "s" => substitution(parser, &body, mark)?,
        "qr" => {
            parser.place = start;
            return Err(parser.refuse("`qr` is not supported"));
        }
        _ => translation(parser, &body, mark)?,
    }))
}

/// The text between the delimiter here and its counterpart, with backslashes.
fn delimited(parser: &mut Parser<'_>) -> Result<Vec<u8>> {
    let start = parser.place;
    let open = parser.code[start];
    let close = closing(open);
    let mut depth = 0_usize;
    let mut body = Vec::new();
    parser.place += 1;
    while let Some(byte) = parser.peek() {
        parser.step();
        if let (b'\\', Some(escaped)) = (byte, parser.peek()) {
            body.extend([byte, escaped]);
            parser.step();
            continue;
        }
        if byte == close && depth == 0 {
            return Ok(body);
        }
        if open != close {
            depth += usize::from(byte == open);
            depth -= usize::from(byte == close);
        }
        body.push(byte);
    }
    parser.place = start;
    Err(parser.refuse("its closing delimiter is missing"))
}

fn closing(open: u8) -> u8 {
    match open {
        b'(' => b')',
        b'[' => b']',
        b'{' => b'}',
        b'<' => b'>',
        other => other,
    }
}

/// The second part of `s` or `tr`, which has its own delimiters after a pair.
fn second(parser: &mut Parser<'_>, mark: u8) -> Result<Vec<u8>> {
    if closing(mark) == mark {
        parser.place -= 1;
    } else {
        parser.blanks();
        if parser.peek().is_none() {
            return Err(parser.refuse("its second part is missing"));
        }
    }
    delimited(parser)
}

fn flags(parser: &mut Parser<'_>, allowed: &str) -> Result<String> {
    let rest = parser.rest();
    let length = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let flags = String::from_utf8_lossy(&rest[..length]).into_owned();
    // `s/a/b/ or ...` has a blank before `or`, so letters here are flags.
    if let Some(flag) = flags.chars().find(|flag| !allowed.contains(*flag)) {
        return Err(parser.refuse(&format!("the flag `{flag}` is not supported")));
    }
    parser.place += length;
    Ok(flags)
}

fn matching(parser: &mut Parser<'_>, body: &[u8]) -> Result<Node> {
    let flags = flags(parser, "gimsxo")?;
    let pattern = pattern(parser, body, &flags)?;
    let of = Box::new(Node::Variable("_".to_owned()));
    Ok(Node::Match { of, pattern, negated: false })
}

fn substitution(parser: &mut Parser<'_>, body: &[u8], mark: u8) -> Result<Node> {
    let to = second(parser, mark)?;
    let flags = flags(parser, "gimsxoer")?;
    let pattern = pattern(parser, body, &flags)?;
    let to = if flags.contains('e') {
        let code = unescaped(&to, mark);
        parser.nested(|parser| parser.inner(&code).program())?
    } else {
        interpolated(parser, &to)?
    };
    Ok(Node::Substitute(Box::new(Substitute {
        of: Target::Variable("_".to_owned()),
        pattern,
        to,
        every: flags.contains('g'),
        is_result: flags.contains('r'),
    })))
}

/// The code between delimiters, without the backslashes before a delimiter.
fn unescaped(code: &[u8], mark: u8) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = code.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte == b'\\' && bytes.peek() == Some(&mark) {
            continue;
        }
        out.push(byte);
    }
    out
}

/// A pattern, compiled now if it has no variables.
fn pattern(parser: &mut Parser<'_>, body: &[u8], flags: &str) -> Result<Pattern> {
    let flags: String = flags.chars().filter(|flag| "imsx".contains(*flag)).collect();
    let parts = parts(parser, body, true)?;
    if parts.iter().all(|part| matches!(part, Node::Text(_))) {
        let text: Vec<u8> = parts.iter().flat_map(text_of).copied().collect();
        let regex = compile(&text, &flags).map_err(|why| invalid(parser, why))?;
        return Ok(Pattern::Fixed(regex));
    }
    Ok(Pattern::Variable { parts, flags })
}

fn invalid(parser: &Parser<'_>, message: String) -> ParseError {
    ParseError { line: parser.line(), message }
}

fn text_of(node: &Node) -> &[u8] {
    match node {
        Node::Text(text) => text,
        _ => b"",
    }
}

/// A double-quoted string.
fn interpolated(parser: &mut Parser<'_>, body: &[u8]) -> Result<Node> {
    let mut parts = parts(parser, body, false)?;
    Ok(match parts.len() {
        0 => Node::Text(Vec::new()),
        1 if matches!(parts[0], Node::Text(_)) => parts.remove(0),
        _ => Node::Joined(parts),
    })
}

/// Texts and variables, in turn.
fn parts(parser: &mut Parser<'_>, body: &[u8], is_pattern: bool) -> Result<Vec<Node>> {
    let mut inner = parser.inner(body);
    let within = if is_pattern { Within::Pattern } else { Within::Text };
    let mut parts: Vec<Node> = Vec::new();
    let mut text = Vec::new();
    while let Some(byte) = inner.peek() {
        let after = body.get(inner.place + 1).copied();
        let node = match (byte, after) {
            (b'\\', Some(_)) => {
                escape(&mut inner, is_pattern, &mut text)?;
                continue;
            }
            (b'$', Some(next)) if begins_variable(next, is_pattern) => {
                let is_alone = next == b'$' && !group_follows(&inner) && !reference_follows(&inner);
                if is_alone { None } else { Some(variable_within(&mut inner, within)?) }
            }
            (b'@', _) if inner.take_array("@") => Some(Node::Elements),
            (b'@', Some(b'a'..=b'z' | b'A'..=b'Z' | b'_')) => {
                return Err(inner.refuse("an array is not supported in a text (write `\\@`)"));
            }
            _ => None,
        };
        match node {
            Some(Node::Text(part)) => text.extend_from_slice(&part),
            Some(node) => {
                parts.extend((!text.is_empty()).then(|| Node::Text(std::mem::take(&mut text))));
                parts.push(node);
            }
            None => {
                text.push(byte);
                inner.place += 1;
            }
        }
    }
    parts.extend((!text.is_empty()).then_some(Node::Text(text)));
    Ok(parts)
}

fn group_follows(parser: &Parser<'_>) -> bool {
    parser.code.get(parser.place + 2).is_some_and(u8::is_ascii_digit) && !parser.groups.is_empty()
}

/// Whether `$$name` comes, which is an element of a hash.
fn reference_follows(parser: &Parser<'_>) -> bool {
    let next = parser.code.get(parser.place + 2);
    parser.dialect.has_hashes && next.is_some_and(u8::is_ascii_alphabetic)
}

fn begins_variable(next: u8, is_pattern: bool) -> bool {
    next.is_ascii_alphanumeric() || matches!(next, b'_' | b'$') || (next == b'{' && !is_pattern)
}

/// A backslash and what follows it.  Those that change the case of what comes after them or stand
/// for a group are refused: as letters they would be another text than Perl's.
fn escape(parser: &mut Parser<'_>, is_pattern: bool, text: &mut Vec<u8>) -> Result<()> {
    let byte = parser.code[parser.place + 1];
    let is_wide = parser.code[parser.place..].starts_with(b"\\x{");
    let is_other = matches!(byte, b'U' | b'u' | b'L' | b'l' | b'Q' | b'E' | b'F' | b'N');
    let is_number = matches!(byte, b'1'..=b'9' | b'c' | b'o');
    if !is_pattern && (is_other || is_number || is_wide) {
        let written = char::from(byte);
        return Err(parser.refuse(&format!("the escape `\\{written}` is not supported")));
    }
    parser.place += 2;
    if is_pattern {
        text.extend([b'\\', byte]);
        return Ok(());
    }
    text.push(match byte {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'a' => 0x07,
        b'b' => 0x08,
        b'e' => 0x1b,
        b'f' => 0x0c,
        b'0' => digits(parser, 8),
        b'x' => digits(parser, 16),
        other => other,
    });
    Ok(())
}

/// The byte that up to two digits of this base stand for; 0 without any.
fn digits(parser: &mut Parser<'_>, base: u32) -> u8 {
    let rest = parser.rest();
    let digits = rest.iter().take(2).map_while(|byte| char::from(*byte).to_digit(base));
    let (count, value) =
        digits.fold((0, 0), |(count, value), digit| (count + 1, value * base + digit));
    parser.place += count;
    u8::try_from(value).unwrap_or(0)
}

/// A single-quoted string: a backslash escapes only the delimiter and itself.
fn single(body: &[u8], mark: u8) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = body.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match bytes.peek() {
            Some(next) if byte == b'\\' && (*next == mark || *next == b'\\') => {
                out.extend(bytes.next());
            }
            _ => out.push(byte),
        }
    }
    out
}

fn translation(parser: &mut Parser<'_>, body: &[u8], mark: u8) -> Result<Node> {
    let to = second(parser, mark)?;
    let flags = flags(parser, "cdsr")?;
    let mut from = set(body)?;
    let to = set(&to)?;
    if flags.contains('c') {
        from = (0..=255).filter(|byte| !from.contains(byte)).collect();
    }
    let deletes = flags.contains('d');
    let mut table = Table {
        to: [Change::None; 256],
        squeeze: flags.contains('s'),
        is_result: flags.contains('r'),
    };
    for (index, byte) in from.iter().enumerate() {
        let change = match to.get(index) {
            Some(to) => Change::To(*to),
            None if deletes => Change::Delete,
            None => Change::To(to.last().copied().unwrap_or(*byte)),
        };
        let entry = &mut table.to[usize::from(*byte)];
        if *entry == Change::None {
            *entry = change;
        }
    }
    let of = Box::new(Target::Variable("_".to_owned()));
    Ok(Node::Translate { of, table: Box::new(table) })
}

static NO_DIALECT: Dialect =
    Dialect { functions: &[], own: &[], spellings: &[], array: None, has_hashes: false };

/// The bytes of a set such as `a-z\n`.
fn set(text: &[u8]) -> Result<Vec<u8>> {
    let mut parser = Parser::new(text, &NO_DIALECT, &[]);
    let mut bytes: Vec<u8> = Vec::new();
    let mut is_range = false;
    while let Some(byte) = parser.peek() {
        if byte == b'-' && !bytes.is_empty() && !is_range && parser.place + 1 < text.len() {
            is_range = true;
            parser.place += 1;
            continue;
        }
        let mut one = Vec::new();
        if byte == b'\\' && parser.place + 1 < text.len() {
            escape(&mut parser, false, &mut one)?;
        } else {
            one.push(byte);
            parser.place += 1;
        }
        match bytes.last() {
            // The first byte of the range is there already.
            Some(last) if std::mem::take(&mut is_range) => {
                bytes.extend((*last..=one[0]).skip(1).collect::<Vec<u8>>());
            }
            _ => bytes.extend(one),
        }
    }
    Ok(bytes)
}

//! The texts in an expression: strings with variables, patterns, `tr///`, and variables themselves.

use super::{Parser, program};
use crate::TemplateError;
use crate::expression::regexes::compile;
use crate::expression::syntax::{Change, Node, Pattern, Substitute, Table, Target};

type Result<T> = std::result::Result<T, TemplateError>;

/// `$_`, `$name`, `$arg[2]`, `$1`, `$#arg`, `$$1`, `$job->seq()`, starting at the `$`.
pub(super) fn variable(parser: &mut Parser<'_>) -> Result<Node> {
    let start = parser.place;
    parser.place += 1;
    if parser.code[parser.place..].starts_with(b"#arg") {
        parser.place += 4;
        return Ok(Node::ArgumentCount { last: true });
    }
    if let Some(text) = group(parser) {
        return Ok(Node::Text(text));
    }
    let braced = parser.peek() == Some(b'{');
    parser.place += usize::from(braced);
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let rest = &parser.code[parser.place..];
    let mut length = rest.iter().take_while(|byte| is_name(byte)).count();
    if rest.first().is_some_and(u8::is_ascii_digit) {
        length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    }
    let name = String::from_utf8_lossy(&rest[..length]).into_owned();
    parser.place += length;
    if braced {
        if parser.peek() != Some(b'}') {
            parser.place = start;
            return Err(parser.refuse("the name of a variable is invalid"));
        }
        parser.place += 1;
    }
    let rest = &parser.code[parser.place..];
    if name == "arg" && rest.starts_with(b"[") {
        parser.place += 1;
        let index = parser.expression()?;
        if !parser.take("]") {
            return Err(parser.refuse("`]` is missing"));
        }
        return Ok(Node::Argument(Box::new(index)));
    }
    for (text, node) in [
        ("->seq()", Node::Seq),
        ("->slot()", Node::Slot),
        ("->skip()", Node::Call(crate::expression::syntax::Function::Skip, Vec::new())),
    ] {
        if name == "job" && rest.starts_with(text.as_bytes()) {
            parser.place += text.len();
            return Ok(node);
        }
    }
    if name == "Global" && rest.starts_with(b"::max_jobs_running") {
        parser.place += "::max_jobs_running".len();
        return Ok(Node::Slots);
    }
    let is_other = ["[", "->", "::"].iter().any(|text| rest.starts_with(text.as_bytes()));
    if name.is_empty() || name == "job" || (is_other && !braced && rest.starts_with(b"::")) {
        parser.place = start;
        return Err(parser.refuse("this variable is not supported"));
    }
    match name.parse() {
        Ok(number) => Ok(Node::Group(number)),
        Err(_) => Ok(Node::Variable(name)),
    }
}

/// `$$1` after its first `$`: what a group of a `--rpl` tag has matched.
fn group(parser: &mut Parser<'_>) -> Option<Vec<u8>> {
    let digits = parser.code[parser.place..].strip_prefix(b"$")?;
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
    let rest = &parser.code[parser.place..];
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
        parser.place += 1;
        if byte == b'\\' && parser.peek().is_some() {
            body.extend([byte, parser.code[parser.place]]);
            parser.place += 1;
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
    let rest = &parser.code[parser.place..];
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
    let flags = flags(parser, "imsxo")?;
    let pattern = pattern(parser, body, &flags)?;
    let of = Box::new(Node::Variable("_".to_owned()));
    Ok(Node::Match { of, pattern, negated: false })
}

fn substitution(parser: &mut Parser<'_>, body: &[u8], mark: u8) -> Result<Node> {
    let to = second(parser, mark)?;
    let flags = flags(parser, "gimsxoer")?;
    let pattern = pattern(parser, body, &flags)?;
    let to = if flags.contains('e') {
        parser.depth += 1;
        let code = unescaped(&to, mark);
        let inner = program(&code, parser.groups)?;
        parser.depth -= 1;
        inner
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
        let regex = compile(&text, &flags).map_err(TemplateError::Expression)?;
        return Ok(Pattern::Fixed(regex));
    }
    Ok(Pattern::Variable { parts, flags })
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
    let mut inner = Parser { code: body, place: 0, groups: parser.groups, depth: parser.depth };
    let mut parts: Vec<Node> = Vec::new();
    let mut text = Vec::new();
    while let Some(byte) = inner.peek() {
        let after = body.get(inner.place + 1).copied();
        let node = match (byte, after) {
            (b'\\', Some(_)) => {
                escape(&mut inner, is_pattern, &mut text);
                continue;
            }
            (b'$', Some(next)) if begins_variable(next, is_pattern) => {
                let is_group = next == b'$' && group_follows(&inner);
                if next == b'$' && !is_group { None } else { Some(variable(&mut inner)?) }
            }
            (b'@', Some(b'a')) if body[inner.place..].starts_with(b"@arg") => {
                inner.place += 4;
                Some(Node::Arguments)
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

fn begins_variable(next: u8, is_pattern: bool) -> bool {
    next.is_ascii_alphanumeric() || matches!(next, b'_' | b'$') || (next == b'{' && !is_pattern)
}

/// A backslash and what follows it.
fn escape(parser: &mut Parser<'_>, is_pattern: bool, text: &mut Vec<u8>) {
    let byte = parser.code[parser.place + 1];
    parser.place += 2;
    if is_pattern {
        text.extend([b'\\', byte]);
        return;
    }
    text.push(match byte {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'e' => 0x1b,
        b'0' => 0,
        b'x' => {
            let rest = &parser.code[parser.place..];
            let length = rest.iter().take(2).take_while(|byte| byte.is_ascii_hexdigit()).count();
            parser.place += length;
            let digits = String::from_utf8_lossy(&rest[..length]).into_owned();
            u8::from_str_radix(&digits, 16).unwrap_or(0)
        }
        other => other,
    });
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
    let mut from = set(body);
    let to = set(&to);
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

/// The bytes of a set such as `a-z\n`.
fn set(text: &[u8]) -> Vec<u8> {
    let mut parser = Parser { code: text, place: 0, groups: &[], depth: 0 };
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
            escape(&mut parser, false, &mut one);
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
    bytes
}

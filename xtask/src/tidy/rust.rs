//! As much of Rust as the rules need: code without comments, texts and tests, and the paths in it.

/// The code of a file: comments and the insides of texts are blanks, so lines keep their numbers.
///
/// Every rule asks for it, so what is plain code is copied as a whole: byte by byte, without
/// optimisation, the rules took as long as a small build.
pub(super) fn code(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let (mut at, mut copied) = (0, 0);
    // What a comment, a text or a character may begin with.
    let opens = |byte: &u8| matches!(byte, b'/' | b'"' | b'\'' | b'r');
    while let Some(found) = bytes[at..].iter().position(opens) {
        at += found;
        let rest = &text[at..];
        let length = match bytes[at] {
            b'/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            b'r' => raw_text(text, at).unwrap_or(0),
            b'"' => quoted(rest),
            b'\'' => character(rest),
            _ => 0,
        };
        if length == 0 {
            at += 1;
            continue;
        }
        out.push_str(&text[copied..at]);
        for (number, line) in rest[..length].split('\n').enumerate() {
            out.push_str(if number > 0 { "\n" } else { "" });
            out.push_str(&" ".repeat(line.len()));
        }
        at += length;
        copied = at;
    }
    out.push_str(&text[copied..]);
    out
}

/// The length of a text in quotes.
fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of `r"…"` or `r#"…"#`; `None` where no such text begins.
fn raw_text(text: &str, at: usize) -> Option<usize> {
    let before = text[..at].chars().next_back();
    if before.is_some_and(|c| (c.is_alphanumeric() && c != 'b') || c == '_') {
        return None;
    }
    let rest = &text[at..];
    let after = rest.strip_prefix('r')?;
    let marks = after.len() - after.trim_start_matches('#').len();
    let inside = after[marks..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(marks));
    let head = 1 + marks + 1;
    Some(inside.find(&end).map_or(rest.len(), |found| head + found + end.len()))
}

/// The length of a character; 0 for a lifetime.
fn character(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), _) => {
            let close = rest[2..].char_indices().skip(1).find(|(_, c)| *c == '\'');
            close.map_or(0, |(at, _)| at + 3)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 0,
    }
}

/// The code up to the tests at its end.
pub(super) fn without_tests(code: &str) -> &str {
    let mut from = 0;
    while let Some(found) = code[from..].find("#[cfg(test)]") {
        let at = from + found;
        let mut rest = code[at + "#[cfg(test)]".len()..].trim_start();
        rest = rest.strip_prefix("pub(crate) ").unwrap_or(rest);
        let is_module = rest.strip_prefix("mod ").is_some_and(|rest| {
            rest.find(['{', ';']).is_some_and(|end| rest.as_bytes()[end] == b'{')
        });
        if is_module {
            return &code[..at];
        }
        from = at + 1;
    }
    code
}

/// A path in the code, `crate::a::B` as its words, and whether a `pub use` names it.
#[derive(Debug, PartialEq)]
pub(super) struct Path {
    pub(super) words: Vec<String>,
    pub(super) is_exported: bool,
}

/// The paths that begin with `crate` or `super`, those of a `use` taken apart.
pub(super) fn paths(code: &str) -> Vec<Path> {
    let mut paths = Vec::new();
    let mut rest = code;
    let mut before = String::new();
    while let Some((at, word)) = next_word(rest) {
        let after = &rest[at + word.len()..];
        if word == "use" {
            let end = after.find(';').unwrap_or(after.len());
            let is_exported = before.starts_with("pub");
            let mut names = Vec::new();
            expand(&after[..end], &[], &mut names);
            paths.extend(names.into_iter().map(|words| Path { words, is_exported }));
            rest = &after[end..];
        } else if (word == "crate" || word == "super") && after.starts_with("::") {
            let end = after
                .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
                .unwrap_or(after.len());
            let words = format!("{word}{}", &after[..end]);
            let words = words.split("::").filter(|word| !word.is_empty()).map(str::to_owned);
            paths.push(Path { words: words.collect(), is_exported: false });
            rest = &after[end..];
        } else {
            rest = after;
        }
        // `pub(crate) use` has the word `crate` between.
        if !(before.starts_with("pub") && word == "crate") {
            before = word.to_owned();
        }
    }
    paths
}

fn next_word(text: &str) -> Option<(usize, &str)> {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let at = text.find(is_of_word)?;
    let end = text[at..].find(|c| !is_of_word(c)).unwrap_or(text.len() - at);
    Some((at, &text[at..at + end]))
}

/// Takes `a::{b, c::D as E}` apart.
fn expand(text: &str, before: &[String], names: &mut Vec<Vec<String>>) {
    let text = text.trim();
    if let Some(open) = text.find('{') {
        let close = text.rfind('}').unwrap_or(text.len());
        let mut words = before.to_vec();
        words.extend(split(&text[..open]));
        let (mut depth, mut from) = (0, open + 1);
        for (at, c) in text[..close].char_indices().skip(open + 1) {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    expand(&text[from..at], &words, names);
                    from = at + 1;
                }
                _ => {}
            }
        }
        return expand(text.get(from..close).unwrap_or_default(), &words, names);
    }
    if text.is_empty() {
        return;
    }
    let path = text.split(" as ").next().unwrap_or(text);
    names.push(before.iter().cloned().chain(split(path)).collect());
}

fn split(path: &str) -> Vec<String> {
    let words = path.split("::").map(str::trim);
    words.filter(|word| !word.is_empty() && *word != "self").map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_texts_are_no_code() {
        let text = "a // b \"c\n\"d \\\" e\" f 'g' '\\'' &'h i r#\"j \" k\"# l /* m\n */ n br\"o\"";
        let code = code(text);
        let words: Vec<&str> = code.split_whitespace().collect();
        assert_eq!(words, ["a", "f", "&'h", "i", "l", "n", "b"]);
        assert_eq!(code.lines().count(), text.lines().count());
    }

    #[test]
    fn tests_are_cut_off() {
        let text = "#[cfg(test)]\nstatic A: u8 = 1;\n#[cfg(test)]\nmod t;\nfn b() {}\n#[cfg(test)]\nmod tests { c }";
        assert!(without_tests(text).ends_with("fn b() {}\n"));
    }

    #[test]
    fn paths_are_taken_apart() {
        let text = "pub use a::{B, c::{D, E as F}};\npub(crate) use crate::g::H;\nuse super::i;\n\
            fn f() -> crate::j::K { super::super::l::m() }";
        let found = paths(text);
        let names: Vec<String> = found.iter().map(|path| path.words.join("::")).collect();
        assert_eq!(
            names,
            [
                "a::B",
                "a::c::D",
                "a::c::E",
                "crate::g::H",
                "super::i",
                "crate::j::K",
                "super::super::l::m"
            ]
        );
        assert!(found[3].is_exported && !found[4].is_exported);
    }
}

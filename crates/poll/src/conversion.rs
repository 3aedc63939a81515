//! `ConversionCode`: subs that turn what a device answers into a number, `Target: …|sub`.
//!
//! MRTG takes any Perl.  Here the body of a sub is a script (`script.rs`): it gets the answer as its
//! only argument (`my $x = shift;`, `my ($x) = @_;` or `$_[0]`) and returns a value; `undef` is
//! unknown.  What is not offered is refused by name, with its line, when the configuration is loaded.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::script::{Script, ScriptValue};

/// Subs of one file.
const SUBS_MAX: usize = 1_000;

/// Subs by name.
#[derive(Clone, Debug, Default)]
pub struct Conversions {
    subs: HashMap<String, Script>,
}

#[allow(clippy::unwrap_used, reason = "constant patterns, which a test compiles")]
static HEAD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^sub\s+([A-Za-z_]\w*)\s*(\([^)]*\)\s*)?\{").unwrap());
impl Conversions {
    /// Reads a file of subs.
    ///
    /// # Errors
    /// If something is not offered: each such thing, with its line.
    pub fn parse(code: &str) -> Result<Self, Vec<(usize, String)>> {
        let mut conversions = Conversions::default();
        let mut faults = Vec::new();
        let (mut rest, mut line) = (code, 1);
        while !rest.is_empty() && faults.len() < SUBS_MAX {
            let step = match outside(rest) {
                Ok(step) => step,
                Err(fault) => {
                    faults.push((line, fault));
                    rest.find('\n').map_or(rest.len(), |end| end + 1)
                }
            };
            if step > 0 {
                line += rest[..step].matches('\n').count();
                rest = &rest[step..];
                continue;
            }
            let Some(head) = HEAD.captures(rest) else { break };
            let name = head.get(1).map_or("", |name| name.as_str()).to_owned();
            let begin = head.get(0).map_or(0, |head| head.end());
            let Some(length) = block(&rest[begin..]) else {
                faults.push((line, format!("sub {name}: the closing brace is missing")));
                break;
            };
            // Line breaks before it give errors the lines of the file.
            let before = line - 1 + rest[..begin].matches('\n').count();
            let body = &rest[begin..begin + length];
            match Script::parse_sub(&format!("{}{body}", "\n".repeat(before))) {
                Ok(script) => {
                    conversions.subs.insert(name, script);
                }
                Err(error) => faults.push((
                    error.line,
                    format!("sub {name}: {} (see docs/poll.md)", error.message),
                )),
            }
            let end = begin + length + 1;
            line += rest[..end].matches('\n').count();
            rest = &rest[end..];
        }
        if faults.is_empty() { Ok(conversions) } else { Err(faults) }
    }

    /// What a sub makes of a text; `None` for undefined, and if it fails.
    pub fn convert(&self, name: &str, text: &str) -> Option<String> {
        match self.subs.get(name)?.call(text) {
            Ok(ScriptValue::Nothing) | Err(_) => None,
            Ok(value) => Some(value.string()),
        }
    }

    /// Whether there is a sub of this name.
    pub fn has(&self, name: &str) -> bool {
        self.subs.contains_key(name)
    }
}

/// How many bytes to pass over before the next sub: spaces, comments, `1;`, `use strict;`.
fn outside(text: &str) -> Result<usize, String> {
    let spaces = text.len() - text.trim_start().len();
    if spaces > 0 {
        return Ok(spaces);
    }
    let end = text.find('\n').map_or(text.len(), |end| end + 1);
    let line = text[..end].trim_end();
    if line.starts_with('#') {
        return Ok(end);
    }
    if line == "__END__" || line == "__DATA__" {
        return Ok(text.len());
    }
    if HEAD.is_match(text) {
        return Ok(0);
    }
    let is_harmless = ["1;", "use strict;", "use warnings;", "return 1;"].contains(&line);
    if is_harmless || line.starts_with("package ") {
        return Ok(end);
    }
    let shown: String = line.chars().take(60).collect();
    Err(format!("`{shown}` outside of a sub is not taken"))
}

/// The length of a block up to its closing brace; braces in texts and comments do not count.
fn block(text: &str) -> Option<usize> {
    let mut depth = 1;
    let mut quote: Option<char> = None;
    let mut before = ' ';
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (_, '\\') => {
                characters.next();
            }
            (Some('#'), '\n') => quote = None,
            (Some(open), _) if open == character && open != '#' => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '#') if before.is_whitespace() => quote = Some('#'),
            (None, '{') => depth += 1,
            (None, '}') => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            (None, _) => {}
        }
        before = character;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_subs_are_taken() {
        let code = r#"
# Return the number in a text.
use strict;
sub Length2Int {
    my $value = shift;
    return length( $value );
}
sub number($) {
    my ($text) = @_;
    if ($text =~ /(\d+(?:\.\d+)?)/) { return $1 * 10; }  # a } in a comment
    return undef;
}
sub direct { $_[0] =~ m{^(\d+)%$}; return $1; }
sub Fahrenheit { return int( $_[0] * 9 / 5 + 32 ); }
sub choice { my $x = shift @_; return $x eq 'up' ? 1 : 0; }
1;
"#;
        let conversions = Conversions::parse(code).expect("taken");
        for (name, text, expected) in [
            ("Length2Int", "abcd", Some("4")),
            ("number", "load: 1.5 x", Some("15")),
            ("number", "none", None),
            ("direct", "42%", Some("42")),
            ("Fahrenheit", "20", Some("68")),
            ("choice", "up", Some("1")),
            ("choice", "down", Some("0")),
            ("missing", "1", None),
        ] {
            assert_eq!(conversions.convert(name, text).as_deref(), expected, "{name} {text}");
        }
    }

    #[test]
    fn what_is_not_taken_is_refused_with_its_line() {
        let code = "\nsub a {\n  my $x = shift;\n  return sprintf('%d', $x);\n}\nuse POSIX;\nsub b { open(F, 'x'); }\n";
        let faults = Conversions::parse(code).expect_err("refused");
        let lines: Vec<usize> = faults.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [4, 6, 7], "{faults:?}");
        assert!(faults[0].1.contains("sprintf"), "{faults:?}");
        assert!(Conversions::parse("sub a { 1;").is_err());
        assert!(Conversions::parse(&"sub a {".repeat(10_000)).is_err());
    }
}

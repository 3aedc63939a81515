//! Patterns of file names: `*`, `?`, `[a-z]`, `[!a-z]`, `{a,b}` and `\`, as in a shell.
//!
//! MRTG gives what stands behind `Include:` to Perl's `glob` (`perldoc File::Glob`), to which spaces
//! separate patterns, and a pattern without wildcards is a name, whether or not there is such a file.

use std::path::{Path, PathBuf};

use text::wildcard::Wildcards;
use text::words::quoted_words;

/// Files that a pattern may match.
const MATCHES_MAX: usize = 10_000;
/// What is special in a pattern.
const WILDCARDS: Wildcards = Wildcards::SHELL;
/// Alternatives that braces may make.
const ALTERNATIVES_MAX: usize = 100;

/// The files that match, sorted as a shell does within each alternative; names without wildcards are
/// as they are.  The first pattern is looked for in `folder`.
pub(super) fn matches(patterns: &str, folder: &Path) -> Vec<PathBuf> {
    let found = |pattern: &String| match is_pattern(pattern) {
        true => WILDCARDS.files(pattern, MATCHES_MAX),
        false => vec![crate::path_of(pattern)],
    };
    let mut words = quoted_words(patterns, |letter| letter.is_ascii_whitespace());
    if let Some(first) = words.first_mut() {
        let Some(beside) = folder.join(&*first).to_str().map(str::to_owned) else {
            return Vec::new();
        };
        *first = beside;
    }
    let all = words.iter().flat_map(|word| alternatives(word));
    all.flat_map(|pattern| found(&pattern)).take(MATCHES_MAX).collect()
}

/// Whether a name is a pattern: it has `*`, `?` or a set that is closed.
fn is_pattern(name: &str) -> bool {
    let bytes = name.as_bytes();
    let last_close = bytes.iter().rposition(|byte| *byte == b']').unwrap_or(0);
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'*' | b'?' => return true,
            // The first character of a set is of it, whichever it is.
            b'[' if last_close > at + 1 + usize::from(bytes.get(at + 1) == Some(&b'!')) => {
                return true;
            }
            _ => {}
        }
        at += 1;
    }
    false
}

/// What braces stand for: `a{b,c}` is `ab` and `ac`.
fn alternatives(pattern: &str) -> Vec<String> {
    let (Some(open), true) = (pattern.find('{'), pattern.len() < 4096) else {
        return vec![pattern.to_owned()];
    };
    let Some(close) = pattern[open..].find('}').map(|at| at + open) else {
        return vec![pattern.to_owned()];
    };
    let each = pattern[open + 1..close].split(',');
    let rest = alternatives(&pattern[close + 1..]);
    each.flat_map(|one| rest.iter().map(move |rest| format!("{}{one}{rest}", &pattern[..open])))
        .take(ALTERNATIVES_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns() {
        let fit = |name: &str, pattern: &str| WILDCARDS.fit(pattern.as_bytes(), name.as_bytes());
        for (name, pattern, expected) in [
            ("a.cfg", "*.cfg", true),
            ("a.cfgx", "*.cfg", false),
            ("abcabc", "a*c", true),
            ("b1", "[a-c]?", true),
            ("d1", "[!a-c]?", true),
            ("b1", "[!a-c]?", false),
            ("a*", r"a\*", true),
            ("ab", r"a\*", false),
            ("a", "[", false),
            ("a[b", "a[b*", true),
        ] {
            assert_eq!(fit(name, pattern), expected, "{name} {pattern}");
        }
        for (name, expected) in [
            ("a[b", false),
            ("a[]", false),
            ("a[!]", false),
            ("a[]b]", true),
            ("a[!]b]", true),
            (r"a\*", false),
            ("a?", true),
        ] {
            assert_eq!(is_pattern(name), expected, "{name}");
        }
        assert_eq!(alternatives("x{a,b}y{1,2}"), ["xay1", "xay2", "xby1", "xby2"]);
    }

    #[test]
    fn files_are_found() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["b.cfg", "a.cfg", ".c.cfg", "d.txt"] {
            std::fs::write(folder.path().join(name), "").expect("written");
        }
        let names = |patterns: &str| -> Vec<String> {
            let found = matches(patterns, folder.path());
            let name = |path: &PathBuf| path.file_name()?.to_str().map(str::to_owned);
            found.iter().filter_map(name).collect()
        };
        assert_eq!(names("*.cfg"), ["a.cfg", "b.cfg"]);
        assert_eq!(names("*.cfg no{1,2} none*"), ["a.cfg", "b.cfg", "no1", "no2"]);
        std::fs::write(folder.path().join("e f.txt"), "").expect("written");
        assert_eq!(names("'e f'*"), ["e f.txt"]);
    }
}

//! Patterns of file names: `*`, `?`, `[a-z]`, `[!a-z]`, `{a,b}` and `\`, as in a shell.
//!
//! MRTG gives what stands behind `Include:` to Perl's `glob` (`perldoc File::Glob`), to which spaces
//! separate patterns, and a pattern without wildcards is a name, whether or not there is such a file.

use std::path::{Path, PathBuf};

use text::wildcard::Wildcards;
use text::words::quoted_words;

/// Files that a pattern may match.
const MATCHES_MAX: usize = 10_000;
/// What is special in a pattern: as in a shell, but a `[` that is not closed fits nothing.
const WILDCARDS: Wildcards = Wildcards { open_set_is_bracket: false, ..Wildcards::SHELL };
/// Alternatives that braces may make.
const ALTERNATIVES_MAX: usize = 100;

/// What makes a name a pattern.
const MAGIC: [char; 3] = ['*', '?', '['];

/// The files that match, sorted as a shell does within each alternative; names without wildcards are
/// as they are.  The first pattern is looked for in `folder`.
pub(super) fn matches(patterns: &str, folder: &Path) -> Vec<PathBuf> {
    let found = |pattern: &String| match pattern.contains(MAGIC) {
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
        ] {
            assert_eq!(fit(name, pattern), expected, "{name} {pattern}");
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

//! Patterns of file names: `*`, `?`, `[a-z]`, `[!a-z]`, `{a,b}` and `\`, as in a shell.

use std::path::{Path, PathBuf};

use text::wildcard::Wildcards;

/// Files that a pattern may match.
const MATCHES_MAX: usize = 10_000;
/// What is special in a pattern: as in a shell, but a `[` that is not closed fits nothing.
const WILDCARDS: Wildcards = Wildcards { open_set_is_bracket: false, ..Wildcards::SHELL };
/// Alternatives that braces may make.
const ALTERNATIVES_MAX: usize = 100;

/// The existing files that match, sorted as a shell does within each alternative.
pub(super) fn matches(pattern: &Path) -> Vec<PathBuf> {
    let Some(text) = pattern.to_str() else { return Vec::new() };
    let found = |pattern: &String| WILDCARDS.files(pattern, MATCHES_MAX);
    alternatives(text).iter().flat_map(found).take(MATCHES_MAX).collect()
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
        let found = matches(&folder.path().join("*.cfg"));
        let names: Vec<_> = found.iter().filter_map(|path| path.file_name()).collect();
        assert_eq!(names, ["a.cfg", "b.cfg"]);
    }
}

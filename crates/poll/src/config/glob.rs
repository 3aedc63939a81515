//! Patterns of file names: `*`, `?`, `[a-z]`, `[!a-z]`, `{a,b}` and `\`, as in a shell.

use std::path::{Component, Path, PathBuf};

/// Files that a pattern may match.
const MATCHES_MAX: usize = 10_000;
/// Alternatives that braces may make.
const ALTERNATIVES_MAX: usize = 100;

/// The existing files that match, sorted as a shell does within each alternative.
pub(super) fn matches(pattern: &Path) -> Vec<PathBuf> {
    let Some(text) = pattern.to_str() else { return Vec::new() };
    let mut all = Vec::new();
    for alternative in alternatives(text) {
        let mut found = vec![PathBuf::new()];
        for component in Path::new(&alternative).components() {
            found = match component {
                Component::Normal(name) => {
                    let name = name.to_string_lossy().into_owned();
                    found.iter().flat_map(|folder| below(folder, &name)).take(MATCHES_MAX).collect()
                }
                other => found.iter().map(|folder| folder.join(other)).collect(),
            };
        }
        found.sort();
        all.extend(found);
        all.truncate(MATCHES_MAX);
    }
    all
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

/// The entries of a folder whose names match; a name without a pattern need only exist.
fn below(folder: &Path, name: &str) -> Vec<PathBuf> {
    if !name.contains(['*', '?', '[', '\\']) {
        let path = folder.join(name);
        return if path.exists() { vec![path] } else { Vec::new() };
    }
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(listed).into_iter().flatten().flatten();
    let pattern: Vec<char> = name.chars().collect();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|entry| entry.starts_with('.') == name.starts_with('.'))
        .filter(|entry| fits(&entry.chars().collect::<Vec<_>>(), &pattern))
        .map(|entry| folder.join(entry))
        .collect()
}

/// Whether a name fits a pattern.  Backtracks to the latest `*` only, so it takes no longer than
/// name times pattern.
fn fits(name: &[char], pattern: &[char]) -> bool {
    let (mut at, mut place) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at < name.len() {
        if pattern.get(place) == Some(&'*') {
            star = Some((at, place));
            place += 1;
            continue;
        }
        if let Some(next) = step(name[at], pattern, place) {
            at += 1;
            place = next;
            continue;
        }
        let Some((from, of)) = star else { return false };
        star = Some((from + 1, of));
        at = from + 1;
        place = of + 1;
    }
    pattern[place.min(pattern.len())..].iter().all(|&c| c == '*')
}

/// The place after the pattern's element at `place`, if it fits a character.
fn step(character: char, pattern: &[char], place: usize) -> Option<usize> {
    match *pattern.get(place)? {
        '?' => Some(place + 1),
        '\\' => (*pattern.get(place + 1)? == character).then_some(place + 2),
        '[' => {
            let is_not = matches!(pattern.get(place + 1), Some('!' | '^'));
            let first = place + 1 + usize::from(is_not);
            let close = first + 1 + pattern.get(first + 1..)?.iter().position(|&c| c == ']')?;
            let set = &pattern[first..close];
            let mut is_in = false;
            let mut index = 0;
            while index < set.len() {
                if index + 2 < set.len() && set[index + 1] == '-' {
                    is_in |= (set[index]..=set[index + 2]).contains(&character);
                    index += 3;
                } else {
                    is_in |= set[index] == character;
                    index += 1;
                }
            }
            (is_in != is_not).then_some(close + 1)
        }
        literal => (literal == character).then_some(place + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns() {
        let fit = |name: &str, pattern: &str| {
            let pattern: Vec<char> = pattern.chars().collect();
            fits(&name.chars().collect::<Vec<_>>(), &pattern)
        };
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

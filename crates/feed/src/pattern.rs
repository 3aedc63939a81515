//! File patterns of `-p`, as a shell would expand them: `*`, `?`, `[a-z]`, and commas between
//! patterns.  `TODAY` and `YESTERDAY` are first replaced by dates, for use in cron jobs.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::{ToSpan, Zoned};

/// The files that match a comma-separated list of patterns, those of each pattern sorted by name.
pub(crate) fn expand(patterns: &str, now: &Zoned) -> Vec<PathBuf> {
    // The calendar's first day has no day before it.
    let yesterday = now.checked_sub(1.day()).unwrap_or_else(|_| now.clone());
    let date = |day: &Zoned| day.strftime("%Y%m%d").to_string();
    let patterns = patterns.trim_matches(['\'', '"']);
    let patterns = patterns.replace("YESTERDAY", &date(&yesterday)).replace("TODAY", &date(now));
    let mut files = Vec::new();
    for pattern in patterns.split([',', ' ']).filter(|pattern| !pattern.is_empty()) {
        let root = if pattern.starts_with('/') { PathBuf::from("/") } else { PathBuf::new() };
        let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
        let found = files.len();
        descend(&root, &parts, &mut files);
        files[found..].sort();
    }
    files
}

/// Adds the files below `at` that match `parts`, a pattern for each level.
fn descend(at: &Path, parts: &[&str], files: &mut Vec<PathBuf>) {
    let Some((part, rest)) = parts.split_first() else {
        files.push(at.to_owned());
        return;
    };
    if !part.contains(['*', '?', '[']) {
        let next = at.join(part);
        if fs::symlink_metadata(&next).is_ok() {
            descend(&next, rest, files);
        }
        return;
    }
    let here = if at.as_os_str().is_empty() { Path::new(".") } else { at };
    let Ok(entries) = fs::read_dir(here) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let hidden = name.starts_with(b".") && !part.starts_with('.');
        if !hidden && matches(part.as_bytes(), name) {
            descend(&at.join(entry.file_name()), rest, files);
        }
    }
}

/// Whether a name matches a pattern.  Backtracks only to the latest star, so the time is at most
/// the product of the lengths.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut from, mut star) = (0, 0, None);
    while from < name.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at + 1, from));
            at += 1;
        } else if let Some(length) = one(&pattern[at..], name[from]) {
            at += length;
            from += 1;
        } else if let Some((after, taken)) = star {
            star = Some((after, taken + 1));
            at = after;
            from = taken + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}

/// The length of the pattern's first element if it matches the byte.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern.first()? {
        b'?' => Some(1),
        b'[' => {
            let end = 2 + pattern.get(2..)?.iter().position(|&c| c == b']')?;
            let (inverted, set) = match &pattern[1..end] {
                [b'!' | b'^', rest @ ..] => (true, rest),
                set => (false, set),
            };
            let mut inside = false;
            let mut at = 0;
            while at < set.len() {
                if set.get(at + 1) == Some(&b'-') && at + 2 < set.len() {
                    inside |= (set[at]..=set[at + 2]).contains(&byte);
                    at += 3;
                } else {
                    inside |= set[at] == byte;
                    at += 1;
                }
            }
            (inside != inverted).then_some(end + 1)
        }
        &literal => (literal == byte).then_some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let yes = |pattern: &str, name: &str| matches(pattern.as_bytes(), name.as_bytes());
        assert!(yes("*", "") && yes("*.raw.gz", "vm-20261121-091141.raw.gz"));
        assert!(yes("a?c", "abc") && !yes("a?c", "ac"));
        assert!(yes("[a-c]x[!0-9]", "bxz") && !yes("[a-c]x[!0-9]", "bx7"));
        assert!(yes("*a*b*", "xxaxxbxx") && !yes("*a*b", "xxaxxbxx"));
        assert!(!yes("[", "["), "an open bracket matches nothing");
    }

    #[test]
    fn folders_dates_and_order() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b-20261120-1.raw", "a-20261121-1.raw", "c.txt"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let now: Zoned = "2026-11-21T10:00:00[UTC]".parse().unwrap();
        let names = |pattern: &str| -> Vec<String> {
            let pattern = format!("{}/{pattern}", folder.path().display());
            let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
            expand(&pattern, &now).iter().map(name).collect()
        };
        assert_eq!(names("*.raw"), ["a-20261121-1.raw", "b-20261120-1.raw"]);
        assert_eq!(names("*TODAY*"), ["a-20261121-1.raw"]);
        assert_eq!(names("*YESTERDAY*"), ["b-20261120-1.raw"]);
        assert!(names("nothing").is_empty());
    }
}

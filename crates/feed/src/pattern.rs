//! File patterns of `-p`, as a shell would expand them: `*`, `?`, `[a-z]`, and commas between
//! patterns.  `TODAY` and `YESTERDAY` are first replaced by dates, for use in cron jobs.

use std::path::PathBuf;

use jiff::{ToSpan, Zoned};
use text::wildcard::Wildcards;

/// What is special in a pattern of `-p`: a backslash is not, and a `[` that is not closed fits nothing.
const WILDCARDS: Wildcards =
    Wildcards { escapes: false, open_set_is_bracket: false, ..Wildcards::SHELL };

/// The files that match a comma-separated list of patterns, those of each pattern sorted by name.
pub(crate) fn expand(patterns: &str, now: &Zoned) -> Vec<PathBuf> {
    // The calendar's first day has no day before it.
    let yesterday = now.checked_sub(1.day()).unwrap_or_else(|_| now.clone());
    let date = |day: &Zoned| day.strftime("%Y%m%d").to_string();
    let patterns = patterns.trim_matches(['\'', '"']);
    let patterns = patterns.replace("YESTERDAY", &date(&yesterday)).replace("TODAY", &date(now));
    let mut files = Vec::new();
    for pattern in patterns.split([',', ' ']).filter(|pattern| !pattern.is_empty()) {
        files.extend(WILDCARDS.files(pattern, usize::MAX));
    }
    files
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_open_bracket_fits_nothing() {
        assert!(!WILDCARDS.fit(b"[", b"["));
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

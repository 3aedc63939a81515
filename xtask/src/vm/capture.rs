//! Kernel files of a guest, copied into `testdata/proc` for the tests that read kernel trees.
//!
//! Which files: those that `docs/reference/sources.md`, which is generated, lists for each source.
//! The guest copies them twice, with some load in between (`capture.sh`).

use std::path::PathBuf;

use anyhow::{Context as _, ensure};

use crate::root;

/// The guest's script.
const SCRIPT: &str = include_str!("capture.sh");

/// The time between the two copies.  `testkit::trees` has the same number.
const SECONDS_APART: u32 = 10;

/// The folder of the trees.
pub(super) fn folder() -> PathBuf {
    root().join("testdata/proc")
}

/// The script that copies the files of these sources (`cpu,disk`; all without), for the tree `name`.
///
/// # Errors
/// When the reference cannot be read, or lacks a source.
pub(super) fn script(name: &str, sources: Option<&str>) -> anyhow::Result<String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    ensure!(!name.is_empty() && name.chars().all(is_plain), "--capture {name}: no name of a tree");
    let path = root().join("docs/reference/sources.md");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let patterns = patterns(&text, sources)?.join(" ");
    Ok(format!("NAME={name} SECONDS_APART={SECONDS_APART}\nPATTERNS='{patterns}'\n{SCRIPT}"))
}

/// The paths in the last column of the reference's table of sources.
fn patterns<'a>(reference: &'a str, sources: Option<&str>) -> anyhow::Result<Vec<&'a str>> {
    let mut wanted: Vec<&str> = sources.into_iter().flat_map(|names| names.split(',')).collect();
    let mut patterns = Vec::new();
    for line in reference.lines() {
        let Some((name, rest)) = line.strip_prefix("| [").and_then(|line| line.split_once(']'))
        else {
            continue;
        };
        if sources.is_some() && !wanted.contains(&name) {
            continue;
        }
        wanted.retain(|one| *one != name);
        patterns.extend(rest.split('`').filter(|word| word.starts_with('/')));
    }
    ensure!(wanted.is_empty(), "--sources: no source {}", wanted.join(", "));
    patterns.sort_unstable();
    patterns.dedup();
    Ok(patterns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_source_are_those_of_the_reference() {
        let text = "| [a](#a) | a | About | `/proc/b`, `/proc/a` |\n| [c](#c) | c | More | - |\n\
                    | [d](#d) | d | And | `/proc/a` |\n";
        assert_eq!(patterns(text, None).unwrap(), ["/proc/a", "/proc/b"]);
        assert_eq!(patterns(text, Some("d,c")).unwrap(), ["/proc/a"]);
        assert!(patterns(text, Some("a,x")).is_err());
        assert!(script("../x", None).is_err());
    }
}

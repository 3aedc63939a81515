//! The letters of `-s`: which there are, and what they amount to with a default.

use anyhow::{bail, ensure};

use super::REFUSED;

/// All letters that some source serves, in alphabetical order, small before capital.
pub(crate) fn known_letters() -> String {
    letters_of(|_| true)
}

/// Those that some source serves of which `wanted` is true.
pub(super) fn letters_of(wanted: fn(&source::Entry) -> bool) -> String {
    let entries = source::ALL.iter().copied().filter(|entry| wanted(entry));
    let mut letters: Vec<char> = entries.flat_map(|entry| entry.letters.chars()).collect();
    letters.sort_by_key(|letter| (letter.is_ascii_uppercase(), *letter));
    letters.dedup();
    letters.into_iter().collect()
}

/// Merges `-s` with the default, by collectl's rules: plain letters replace it; `+` adds, `-`
/// takes away, each up to the other's sign; `-all` takes everything away.
pub(crate) fn merge_letters(default: &str, asked: &str) -> anyhow::Result<String> {
    if asked == "-all" {
        return Ok(String::new());
    }
    ensure!(
        !asked.contains(['+', '-']) || asked.starts_with(['+', '-']),
        "-s {asked}: + and - must come first"
    );
    ensure!(!asked.is_empty(), "-s: no letters");
    for letter in asked.chars().filter(|letter| !matches!(letter, '+' | '-')) {
        if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == letter) {
            // Taking away what cannot be shown anyway is fine.
            let taken = part_after(asked, '-').is_some_and(|part| part.contains(letter));
            ensure!(taken, "-s {asked}: {why}");
        } else if !known_letters().contains(letter) {
            bail!("-s {asked}: there is no subsystem '{letter}'; known are {}", known_letters());
        }
    }
    if !asked.contains(['+', '-']) {
        return Ok(asked.to_owned());
    }
    let mut merged = default.to_owned();
    if let Some(part) = part_after(asked, '-') {
        merged.retain(|letter| !part.contains(letter));
    }
    if let Some(part) = part_after(asked, '+') {
        merged.push_str(part);
    }
    Ok(merged)
}

/// The letters after the first `sign`, up to the next sign.
pub(super) fn part_after(asked: &str, sign: char) -> Option<&str> {
    let (_, rest) = asked.split_once(sign)?;
    rest.split(['+', '-']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_merge_as_collectl_merges_them() {
        let merge = |asked| merge_letters("cdn", asked);
        assert!(merge("").is_err());
        assert_eq!(merge("c").unwrap(), "c");
        assert_eq!(merge("-c").unwrap(), "dn");
        assert_eq!(merge("+c").unwrap(), "cdnc");
        assert_eq!(merge("-all").unwrap(), "");
        assert_eq!(merge("-Z+c").unwrap(), "cdnc");
        assert!(merge("c+c").unwrap_err().to_string().contains("must come first"));
        assert_eq!(merge("+Z").unwrap(), "cdnZ");
        assert!(merge("+L").unwrap_err().to_string().contains("Lustre"));
        assert!(merge("c?").unwrap_err().to_string().contains("no subsystem '?'"));
    }
}

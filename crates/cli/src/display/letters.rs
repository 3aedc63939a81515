//! What `-s` means: letters, as collectl has them, and names of sources.
//!
//! collectl's letters come first: a word of them alone (`nfs`) is letters.  Any other word that is
//! the name of a source is that source (`disk`, `softirq`), in capitals its instances (`DISK`).
//! Between commas a word is a name wherever a source is called so (`nfs,cpu`).
//!
//! Recordings may have sources that this program does not define: what is shown without `-s` names
//! them.  A word with `*` stands for all names there that it fits.

use anyhow::{bail, ensure};
use layout::Selection;
use sample::Level;
use source::Entry;

use super::REFUSED;

/// The letters that collectl itself has.
const COLLECTL: &str = "bcdfijmnstxylBCDEFJLMNTXYZ";

/// All letters that some source serves, in alphabetical order, small before capital.
pub(crate) fn known_letters() -> String {
    letters_of(|_| true)
}

/// The letters of the sources of which `wanted` is true.
fn letters_of(wanted: fn(&Entry) -> bool) -> String {
    let entries = source::ALL.iter().filter(|entry| wanted(entry));
    let mut letters: Vec<char> = entries.flat_map(|entry| entry.letters.chars()).collect();
    letters.sort_by_key(|letter| (letter.is_ascii_uppercase(), *letter));
    letters.dedup();
    letters.into_iter().collect()
}

/// What `--all` stands for, and with `detail` `--ALL`.  As in collectl, slabs are shown in detail
/// only.
pub(super) fn everything(detail: bool) -> Selection {
    let mut all = Selection::from(letters_of(Entry::is_of_all).as_str());
    all.retain_letters(|letter| letter != 'y' && (detail || letter.is_ascii_lowercase()));
    for entry in source::ALL.iter().filter(|entry| entry.letters.is_empty() && entry.is_of_all()) {
        all.push_name(entry.name);
        if detail && entry.def().levels().any(|level| level == Level::Detail) {
            all.push_name(&entry.name.to_ascii_uppercase());
        }
    }
    all
}

/// Merges `-s` with the default, by collectl's rules: what is given plainly replaces it; `+` adds,
/// `-` takes away, each up to the other's sign; `-all` takes everything away.
///
/// # Errors
/// One line about a letter or name that nothing has, or a sign in the wrong place.
pub(crate) fn merge(default: &Selection, asked: &str) -> anyhow::Result<Selection> {
    if asked == "-all" {
        return Ok(Selection::default());
    }
    ensure!(
        !asked.contains(['+', '-']) || asked.starts_with(['+', '-']),
        "-s {asked}: + and - must come first"
    );
    ensure!(!asked.is_empty(), "-s: no letters or names");
    if !asked.contains(['+', '-']) {
        return words(asked, asked, false, default);
    }
    let mut merged = default.clone();
    if let Some(part) = part_after(asked, '-') {
        merged.remove(&words(part, asked, true, default)?);
    }
    if let Some(part) = part_after(asked, '+') {
        let added = words(part, asked, false, default)?;
        // Letters that are there already are added once more, as in collectl.
        added.letters().chars().for_each(|letter| merged.push_letter(letter));
        added.names().for_each(|name| merged.push_name(name));
    }
    Ok(merged)
}

/// What `-s` names itself of the sources of this program, without the default that `+` adds it to.
pub(crate) fn named(asked: &str) -> Selection {
    let plain = !asked.contains(['+', '-']);
    let part = if plain { Some(asked) } else { part_after(asked, '+') };
    let named = part.map(|part| words(part, asked, false, &Selection::default()));
    named.and_then(Result::ok).unwrap_or_default()
}

/// The part after the first `sign`, up to the next sign.
fn part_after(asked: &str, sign: char) -> Option<&str> {
    let (_, rest) = asked.split_once(sign)?;
    rest.split(['+', '-']).next()
}

/// Reads the words of `part`, which stands in `asked`.  Taking away what cannot be shown anyway is
/// fine.
fn words(part: &str, asked: &str, taken: bool, default: &Selection) -> anyhow::Result<Selection> {
    let mut selection = Selection::default();
    let is_list = part.contains(',');
    for word in part.split(',').filter(|word| !word.is_empty()) {
        let is_name = is_list || !word.chars().all(|letter| COLLECTL.contains(letter));
        if let Some(entry) = find(word).filter(|_| is_name) {
            check_level(word, entry)?;
            selection.push_name(word);
            continue;
        }
        if push_recorded(word, default, &mut selection) {
            continue;
        }
        for letter in word.chars() {
            check_letter(letter, word, asked, taken, default)?;
            selection.push_letter(letter);
        }
    }
    ensure!(!selection.is_empty() || taken, "-s {asked}: no letters or names");
    Ok(selection)
}

/// Adds the names in `default` that a word is or, with `*`, fits and that are no source of this
/// program; false if there are none.
fn push_recorded(word: &str, default: &Selection, selection: &mut Selection) -> bool {
    let before = selection.len();
    let parts: Vec<&str> = word.split('*').collect();
    for name in default.names().filter(|name| source::find(name).is_none()) {
        if fits(&parts, name) {
            selection.push_name(name);
        }
    }
    selection.len() > before
}

/// Whether a name is these parts with anything between them.
fn fits(parts: &[&str], name: &str) -> bool {
    let Some((first, rest)) = parts.split_first() else { return false };
    let Some((last, between)) = rest.split_last() else { return *first == name };
    let Some(mut name) = name.strip_prefix(first).and_then(|name| name.strip_suffix(last)) else {
        return false;
    };
    between.iter().all(|part| match name.split_once(part) {
        Some((_, after)) => {
            name = after;
            true
        }
        None => false,
    })
}

/// The source that a word names: as it is written, or in capitals.
fn find(word: &str) -> Option<&'static Entry> {
    let is_capital = word == word.to_ascii_uppercase();
    source::find(word).or_else(|| source::find(&word.to_ascii_lowercase()).filter(|_| is_capital))
}

fn check_level(word: &str, entry: &Entry) -> anyhow::Result<()> {
    let detail = word != entry.name;
    let has = entry.def().levels().any(|level| level == Level::Detail);
    ensure!(!detail || has, "-s {word}: {} has no instances to show one by one", entry.name);
    Ok(())
}

/// Most names of a recording's own sources that a message lists.
const NAMES_LISTED_MAX: usize = 40;

fn check_letter(
    letter: char,
    word: &str,
    asked: &str,
    taken: bool,
    default: &Selection,
) -> anyhow::Result<()> {
    if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == letter) {
        ensure!(taken, "-s {asked}: {why}");
    } else if !known_letters().contains(letter) {
        let mut names: Vec<&str> = source::ALL.iter().map(|entry| entry.name).collect();
        let recorded = default.names().filter(|name| source::find(name).is_none());
        names.extend(recorded.take(NAMES_LISTED_MAX));
        bail!(
            "-s {asked}: there is no subsystem '{letter}' and no source '{word}'; letters are {}; \
             names are {}",
            known_letters(),
            names.join(", ")
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(asked: &str) -> anyhow::Result<String> {
        merge(&"cdn".into(), asked).map(|selection| selection.to_string())
    }

    #[test]
    fn letters_merge_as_collectl_merges_them() {
        assert!(merged("").is_err());
        assert_eq!(merged("c").unwrap(), "c");
        assert_eq!(merged("-c").unwrap(), "dn");
        assert_eq!(merged("+c").unwrap(), "cdnc");
        assert_eq!(merged("-all").unwrap(), "");
        assert_eq!(merged("-Z+c").unwrap(), "cdnc");
        assert!(merged("c+c").unwrap_err().to_string().contains("must come first"));
        assert_eq!(merged("+Z").unwrap(), "cdnZ");
        assert!(merged("+L").unwrap_err().to_string().contains("Lustre"));
        assert!(merged("c?").unwrap_err().to_string().contains("no subsystem '?'"));
    }

    #[test]
    fn names_of_recorded_sources_are_known_there() {
        let of = |asked: &str| {
            let recorded = Selection::from(",router,router_2,sbc,disk");
            merge(&recorded, asked).map(|selection| selection.to_string())
        };
        assert_eq!(of("router").unwrap(), ",router");
        assert_eq!(of("router*").unwrap(), ",router,router_2");
        assert_eq!(of("*2,sbc").unwrap(), ",router_2,sbc");
        assert_eq!(of("r*t*_2").unwrap(), ",router_2");
        assert_eq!(of("-router*").unwrap(), ",sbc,disk");
        assert_eq!(of("sbc").unwrap(), ",sbc", "what is recorded by its name is not letters");
        assert_eq!(of("cd").unwrap(), "cd");
        assert!(of("route?").unwrap_err().to_string().contains("router_2"));
        assert!(of("x*").is_err());
        assert!(!fits(&["a", "a"], "a"));
    }

    #[test]
    fn names_stand_beside_letters() {
        assert_eq!(merged("disk").unwrap(), ",disk");
        assert_eq!(merged("disk,SOFTIRQ").unwrap(), ",disk,SOFTIRQ");
        assert_eq!(merged("cd,softirq").unwrap(), "cd,softirq");
        assert_eq!(merged("+softirq").unwrap(), "cdn,softirq");
        assert_eq!(merged("+m,softirq").unwrap(), "cdnm,softirq");
        assert_eq!(merged("-cd+softirq").unwrap(), "n,softirq");
        assert_eq!(merged("nfs").unwrap(), "nfs", "collectl's letters are letters");
        assert_eq!(merged("nfs,").unwrap(), ",nfs");
        assert!(merged("zisk").unwrap_err().to_string().contains("softirq"));
        assert!(merged("MEMORY").unwrap_err().to_string().contains("no instances"));
        assert_eq!(named("-c+DISK").to_string(), ",DISK");
    }
}

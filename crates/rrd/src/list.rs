//! The files of a folder.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Names of the databases and folders in a folder, or, with `recursive`, of all databases below
/// it.  Otherwise the last names of the paths that match a shell's pattern, in order.
///
/// # Errors
/// If there is no such folder, or it cannot be read, or nothing matches.
pub fn list(folder: &Path, recursive: bool) -> io::Result<Vec<String>> {
    let error = match entries(folder, recursive, None) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !recursive => error,
        known => return known,
    };
    let names: Vec<String> = matches(folder).iter().filter_map(|path| last_name(path)).collect();
    if names.is_empty() { Err(error) } else { Ok(names) }
}

/// As [`list`], without patterns, and without links that lead out of a folder: `base`, whose name
/// has no links.
///
/// # Errors
/// If there is no such folder or database, or it cannot be read.
pub fn list_within(base: &Path, folder: &Path, recursive: bool) -> io::Result<Vec<String>> {
    let names = entries(folder, recursive, Some(base))?;
    match names.is_empty() && !fs::metadata(folder)?.is_dir() {
        true => Err(rustix::io::Errno::NOTDIR.into()),
        false => Ok(names),
    }
}

fn entries(folder: &Path, recursive: bool, base: Option<&Path>) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    if fs::metadata(folder)?.is_dir() {
        Walk { recursive, base, names: &mut names }.folder(folder, "", 0)?;
        return Ok(names);
    }
    names.extend(last_name(folder).filter(|name| is_database(name)));
    Ok(names)
}

/// Deepest folder that is looked into; a link to a folder above would have no end.
const DEPTH_MAX: usize = 40;

/// A look into folders.
struct Walk<'a> {
    recursive: bool,
    /// Links that lead out of it are passed over.
    base: Option<&'a Path>,
    names: &'a mut Vec<String>,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, prefix: &str, depth: usize) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = entry.path();
            let Ok(metadata) = fs::metadata(&path) else { continue };
            if !self.stays(&entry, &path) {
                continue;
            }
            let shown = format!("{prefix}{name}");
            if metadata.is_dir() {
                match self.recursive && depth < DEPTH_MAX {
                    // A folder that cannot be read is passed over.
                    true => {
                        let _ = self.folder(&path, &format!("{shown}/"), depth + 1);
                    }
                    false if self.recursive => {}
                    false => self.names.push(shown),
                }
            } else if is_database(&name) || !metadata.is_file() {
                // RRDtool asks only files for their ending.
                self.names.push(shown);
            }
        }
        Ok(())
    }

    /// Whether an entry is where names may lead.
    fn stays(&self, entry: &fs::DirEntry, path: &Path) -> bool {
        let Some(base) = self.base else { return true };
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        !is_link || path.canonicalize().is_ok_and(|real| real.starts_with(base))
    }
}

fn is_database(name: &str) -> bool {
    name.ends_with(".rrd")
}

fn last_name(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

/// Characters that make a name a pattern.
const WILD: [char; 4] = ['*', '?', '[', '\\'];

/// Paths that match a pattern, name by name; none for a name that is no pattern.
fn matches(pattern: &Path) -> Vec<PathBuf> {
    if !pattern.to_string_lossy().contains(WILD) {
        return Vec::new();
    }
    let mut paths = vec![PathBuf::new()];
    for component in pattern.components() {
        let name = component.as_os_str().to_string_lossy();
        if !matches!(component, Component::Normal(_)) || !name.contains(WILD) {
            paths.iter_mut().for_each(|path| path.push(component));
            continue;
        }
        let wanted: Vec<char> = name.chars().collect();
        let found = paths.iter().flat_map(|path| names_in(path, &wanted));
        paths = found.collect();
    }
    paths.retain(|path| fs::symlink_metadata(path).is_ok());
    paths
}

/// The entries of a folder that match, in order.  Hidden ones need a pattern that begins with a
/// point.
fn names_in(folder: &Path, pattern: &[char]) -> Vec<PathBuf> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = fs::read_dir(here) else { return Vec::new() };
    let is_wanted = |name: &str| {
        let name: Vec<char> = name.chars().collect();
        (pattern.first() == Some(&'.') || name.first() != Some(&'.')) && is_match(pattern, &name)
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut found: Vec<PathBuf> = names
        .filter(|name| is_wanted(&name.to_string_lossy()))
        .map(|name| folder.join(name))
        .collect();
    found.sort();
    found
}

/// Whether a name matches a pattern of `*`, `?`, `[…]` and `\`.  Steps: at most the product of both
/// lengths.
fn is_match(pattern: &[char], name: &[char]) -> bool {
    let (mut at, mut place) = (0, 0);
    // Where to go on if the characters after the last `*` do not match.
    let mut again = None;
    while place < name.len() {
        if pattern.get(at) == Some(&'*') {
            again = Some((at, place));
            at += 1;
        } else if let Some(next) = one_match(pattern, at, name[place]) {
            (at, place) = (next, place + 1);
        } else if let Some((star, taken)) = again {
            again = Some((star, taken + 1));
            (at, place) = (star + 1, taken + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|character| *character == '*')
}

/// If a character matches what stands at a place of a pattern: the place after it.
fn one_match(pattern: &[char], at: usize, character: char) -> Option<usize> {
    match *pattern.get(at)? {
        '?' => Some(at + 1),
        '[' => match set_match(&pattern[at + 1..], character) {
            Some((is_in, length)) => is_in.then_some(at + 1 + length),
            None => (character == '[').then_some(at + 1),
        },
        '\\' if at + 1 < pattern.len() => (pattern[at + 1] == character).then_some(at + 2),
        own => (own == character).then_some(at + 1),
    }
}

/// Whether a character is in a set, and the length of the set with its `]`; `None` without one.
fn set_match(set: &[char], character: char) -> Option<(bool, usize)> {
    let is_negated = matches!(set.first(), Some('!' | '^'));
    let start = usize::from(is_negated);
    // A `]` that stands first is one of the characters.
    let end = start + 1 + set.get(start + 1..)?.iter().position(|own| *own == ']')?;
    let mut is_in = false;
    let mut at = start;
    while at < end {
        let last = if at + 2 < end && set[at + 1] == '-' { at + 2 } else { at };
        is_in |= (set[at]..=set[last]).contains(&character);
        at = last + 1;
    }
    Some((is_in != is_negated, end + 1))
}

#[cfg(test)]
mod tests {
    use super::is_match;

    #[test]
    fn patterns_match_as_in_a_shell() {
        let check = |pattern: &str, name: &str| {
            let characters = |text: &str| text.chars().collect::<Vec<_>>();
            is_match(&characters(pattern), &characters(name))
        };
        let same = [
            ("*", ""),
            ("*.rrd", "a.rrd"),
            ("a*b*c", "axbxbc"),
            ("?[a-c]", "xb"),
            ("[!a]", "b"),
            ("[]x]", "]"),
            ("[a", "[a"),
            ("\\*", "*"),
        ];
        let others =
            [("*.rrd", "a.rrd.bak"), ("?", ""), ("[!a]", "a"), ("[a-c]", "d"), ("\\*", "a")];
        for (pattern, name) in same {
            assert!(check(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in others {
            assert!(!check(pattern, name), "{pattern} {name}");
        }
        let long = "a".repeat(1000);
        assert!(!check(&format!("{}b", "a*".repeat(100)), &long));
    }
}

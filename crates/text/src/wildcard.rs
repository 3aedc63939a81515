//! Wildcards as in a shell: `*` for any text, `?` for a character, `[a-z]` and `[!a-z]` for one of a
//! set, `\` before a character that stands for itself.
//!
//! Matching allocates nothing and goes back to the latest `*` only, so it takes no more steps than
//! the product of both lengths.  [`Wildcards::files`] lists the folders that a pattern names, level by
//! level.  The crate `glob` knows neither `\` nor names that are not UTF-8, and users of several
//! programs are used to patterns that differ a little: the fields of [`Wildcards`] say in what.

use std::fs;
use std::path::{Path, PathBuf};

/// Which characters are special in a pattern, besides `*`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Wildcards {
    /// `?` fits any one character.
    pub one: bool,
    /// `[a-z]` fits a character of the set, `[!a-z]` and `[^a-z]` any other.
    pub sets: bool,
    /// `\` makes the next character stand for itself.
    pub escapes: bool,
    /// A `[` without `]` fits itself; otherwise it fits nothing.
    pub open_set_is_bracket: bool,
}

impl Wildcards {
    /// `*` alone.
    pub const STARS: Self =
        Wildcards { one: false, sets: false, escapes: false, open_set_is_bracket: true };
    /// `*` and `?`.
    pub const SIMPLE: Self = Wildcards { one: true, ..Self::STARS };
    /// `*`, `?`, `[…]` and `\`, as in a shell.
    pub const SHELL: Self =
        Wildcards { one: true, sets: true, escapes: true, open_set_is_bracket: true };

    /// Whether a name fits a pattern; both are bytes, or both are characters.
    #[must_use]
    pub fn fit<C: Copy + Ord + From<u8>>(self, pattern: &[C], name: &[C]) -> bool {
        let (mut at, mut place) = (0, 0);
        // Where to go on if what follows the latest `*` does not fit.
        let mut again = None;
        while place < name.len() {
            if pattern.get(at) == Some(&b'*'.into()) {
                again = Some((at, place));
                at += 1;
            } else if let Some(next) = self.one_fits(pattern, at, name[place]) {
                (at, place) = (next, place + 1);
            } else if let Some((star, taken)) = again {
                again = Some((star, taken + 1));
                (at, place) = (star + 1, taken + 1);
            } else {
                return false;
            }
        }
        pattern[at..].iter().all(|rest| *rest == b'*'.into())
    }

    /// The place behind what stands at a place of a pattern, if that fits a character.
    fn one_fits<C: Copy + Ord + From<u8>>(
        self,
        pattern: &[C],
        at: usize,
        character: C,
    ) -> Option<usize> {
        let own = *pattern.get(at)?;
        let is = |special: u8| own == special.into();
        if self.one && is(b'?') {
            return Some(at + 1);
        }
        if self.sets && is(b'[') {
            match set_fits(&pattern[at + 1..], character) {
                Some((is_in, length)) => return is_in.then_some(at + 1 + length),
                None if !self.open_set_is_bracket => return None,
                None => {}
            }
        }
        match pattern.get(at + 1) {
            Some(next) if self.escapes && is(b'\\') => (*next == character).then_some(at + 2),
            _ => (own == character).then_some(at + 1),
        }
    }

    /// Whether a name is a pattern: without special characters it fits only itself.
    #[must_use]
    pub fn are_in(self, name: &str) -> bool {
        let is_special = |byte: &u8| match byte {
            b'*' => true,
            b'?' => self.one,
            b'[' => self.sets,
            b'\\' => self.escapes,
            _ => false,
        };
        name.as_bytes().iter().any(is_special)
    }

    /// The existing files and folders that fit a path of patterns, sorted by name; at most `limit`
    /// for each level.
    ///
    /// As in a shell, a name that begins with a point needs a pattern that does.
    #[must_use]
    pub fn files(self, pattern: &str, limit: usize) -> Vec<PathBuf> {
        let root = if pattern.starts_with('/') { PathBuf::from("/") } else { PathBuf::new() };
        let mut found = vec![root];
        for part in pattern.split('/').filter(|part| !part.is_empty()) {
            found = match self.are_in(part) {
                true => found.iter().flat_map(|at| self.entries(at, part)).take(limit).collect(),
                false => found.iter().map(|folder| folder.join(part)).collect(),
            };
        }
        found.retain(|path| fs::symlink_metadata(path).is_ok());
        found.sort();
        found
    }

    /// The entries of a folder whose names fit.
    fn entries(self, folder: &Path, pattern: &str) -> Vec<PathBuf> {
        let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let entries = fs::read_dir(listed).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name());
        let characters: Vec<char> = pattern.chars().collect();
        let fits = |name: &str| {
            (pattern.starts_with('.') || !name.starts_with('.'))
                && self.fit(&characters, &name.chars().collect::<Vec<_>>())
        };
        names.filter(|name| fits(&name.to_string_lossy())).map(|name| folder.join(name)).collect()
    }
}

/// Whether a character is in a set, and the length of the set with its `]`; `None` without one.
fn set_fits<C: Copy + Ord + From<u8>>(set: &[C], character: C) -> Option<(bool, usize)> {
    let is_negated = set.first().is_some_and(|own| [b'!'.into(), b'^'.into()].contains(own));
    let start = usize::from(is_negated);
    // A `]` that stands first is one of the characters.
    let end = start + 1 + set.get(start + 1..)?.iter().position(|own| *own == b']'.into())?;
    let mut is_in = false;
    let mut at = start;
    while at < end {
        let last = if at + 2 < end && set[at + 1] == b'-'.into() { at + 2 } else { at };
        is_in |= (set[at]..=set[last]).contains(&character);
        at = last + 1;
    }
    Some((is_in != is_negated, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(wildcards: Wildcards, pattern: &str, name: &str) -> bool {
        let characters = |text: &str| text.chars().collect::<Vec<_>>();
        let fits = wildcards.fit(&characters(pattern), &characters(name));
        assert_eq!(wildcards.fit(pattern.as_bytes(), name.as_bytes()), fits, "of bytes");
        fits
    }

    #[test]
    fn patterns_fit_as_in_a_shell() {
        let same = [
            ("*", ""),
            ("*.rrd", "a.rrd"),
            ("a*b*c", "axbxbc"),
            ("?[a-c]", "xb"),
            ("[!a]", "b"),
            ("[]x]", "]"),
            ("[a", "[a"),
            ("\\*", "*"),
            ("*.raw.gz", "vm-20261121-091141.raw.gz"),
            ("[a-c]x[!0-9]", "bxz"),
            ("*a*b*", "xxaxxbxx"),
            ("\\", "\\"),
        ];
        let others = [
            ("*.rrd", "a.rrd.bak"),
            ("?", ""),
            ("[!a]", "a"),
            ("[a-c]", "d"),
            ("\\*", "a"),
            ("a?c", "ac"),
            ("*a*b", "xxaxxbxx"),
            ("a", "["),
        ];
        for (pattern, name) in same {
            assert!(fits(Wildcards::SHELL, pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in others {
            assert!(!fits(Wildcards::SHELL, pattern, name), "{pattern} {name}");
        }
        let long = "a".repeat(1000);
        assert!(!fits(Wildcards::SHELL, &format!("{}b", "a*".repeat(100)), &long));
    }

    #[test]
    fn what_is_not_special_fits_itself() {
        for (wildcards, pattern, name, expected) in [
            (Wildcards::STARS, "a?[b]\\*", "a?[b]\\c", true),
            (Wildcards::STARS, "a?", "ab", false),
            (Wildcards::SIMPLE, "a?[b]", "ax[b]", true),
            (Wildcards { open_set_is_bracket: false, ..Wildcards::SHELL }, "[", "[", false),
        ] {
            assert_eq!(fits(wildcards, pattern, name), expected, "{pattern} {name}");
        }
        assert!(Wildcards::SIMPLE.are_in("a?") && !Wildcards::SIMPLE.are_in("[a]"));
    }

    #[test]
    fn files_are_found_in_order() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b/y.cfg", "b/x.cfg", "a/z.cfg", "a/.c.cfg", "d.txt"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let found = |pattern: &str, limit| -> Vec<String> {
            let pattern = format!("{}/{pattern}", folder.path().display());
            let found = Wildcards::SHELL.files(&pattern, limit);
            let below = |path: &PathBuf| path.strip_prefix(folder.path()).unwrap().to_owned();
            found.iter().map(|path| below(path).display().to_string()).collect()
        };
        assert_eq!(found("*/*.cfg", 10), ["a/z.cfg", "b/x.cfg", "b/y.cfg"]);
        assert_eq!(found("[ab]/.c*", 10), ["a/.c.cfg"]);
        assert_eq!(found("?/x.cfg", 10), ["b/x.cfg"]);
        assert_eq!(found("d.txt", 10), ["d.txt"]);
        assert_eq!(found("*/*.cfg", 1).len(), 1);
        assert!(found("nothing", 10).is_empty() && found("*/nothing", 10).is_empty());
    }
}

//! A public type's name is used for one thing in the whole workspace, and a type is a noun: `Asked` and
//! `Written` say what was done to something, but not what it is.

use std::collections::BTreeMap;

use super::Complaints;
use super::rust;
use super::tree::{Tree, crate_of};

/// Names that every crate may have: each says what it is with the crate's name before it.
const STANDARD: &[&str] = &["Error", "Options"];

/// Names that still mean two things, and how many.  The list may only get shorter.
const KNOWN: &[(&str, usize)] = &[("Part", 2), ("Stat", 2)];

/// The words that declare a type.
const KINDS: &[&str] = &["struct", "enum", "trait", "union"];

/// Words that say nothing of what a type is.
const NO_NAMES: &[&str] = &[
    "Asked", "Begun", "Done", "Drawn", "Ended", "Found", "Given", "Gone", "Got", "Held", "Here",
    "Kept", "Known", "Looked", "Made", "Opened", "Passed", "Put", "Said", "Seen", "Sent", "Shown",
    "Taken", "Told", "Wanted", "Way", "World", "Written",
];

pub(super) fn check(tree: &Tree, complaints: &mut Complaints) {
    let mut known: BTreeMap<&str, usize> = KNOWN.iter().copied().collect();
    for (name, declared) in &declared(tree) {
        if NO_NAMES.contains(&name.as_str()) {
            let files = files_of(declared.iter());
            complaints.push(format!("`{name}` does not say what the type is: {files}"));
        }
        let public = || declared.iter().filter(|one| one.is_public);
        if public().next().is_none() {
            continue;
        }
        let most = known.remove(name.as_str()).unwrap_or(1);
        if public().count() > most && !STANDARD.contains(&name.as_str()) {
            let files = files_of(public());
            complaints.push(format!("`{name}` is the name of several public types: {files}"));
        }
        if public().count() < most {
            complaints.push(shorten(name));
        }
    }
    complaints.extend(known.keys().map(|name| shorten(name)));
}

fn shorten(name: &str) -> String {
    format!("`{name}` means fewer things now: shorten the list in xtask/src/tidy/names.rs")
}

/// Where a type is declared.
struct Declaration<'a> {
    file: &'a str,
    is_public: bool,
}

fn files_of<'a>(declared: impl Iterator<Item = &'a Declaration<'a>>) -> String {
    declared.map(|one| one.file).collect::<Vec<_>>().join(", ")
}

/// The types of all crates by name, without those of tests.
fn declared(tree: &Tree) -> BTreeMap<String, Vec<Declaration<'_>>> {
    let mut types: BTreeMap<String, Vec<Declaration<'_>>> = BTreeMap::new();
    for (file, text) in tree.ending(".rs") {
        if crate_of(file).is_none() || !file.contains("/src/") {
            continue;
        }
        let code = rust::code(text);
        for line in rust::without_tests(&code).lines() {
            // `pub(in crate::a) unsafe trait Name`: the words before `Name`, but for `unsafe`.
            let mut words = line.split_whitespace().filter(|word| *word != "unsafe").peekable();
            let visibility = words.next_if(|word| word.starts_with("pub"));
            while visibility.is_some_and(|word| word != "pub")
                && words.next_if(|word| word.ends_with(')')).is_some()
            {}
            let is_type = words.next().is_some_and(|word| KINDS.contains(&word));
            let name = words.next().filter(|_| is_type).unwrap_or_default();
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
            // A macro that defines types writes `$name`.
            if end > 0 {
                let is_public = visibility == Some("pub");
                let declaration = Declaration { file, is_public };
                types.entry(name[..end].to_owned()).or_default().push(declaration);
            }
        }
    }
    types
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_to_something_is_no_name() {
        let code = "pub(in crate::a) struct Taken;\nenum Shown<'a> { Seen(&'a str) }\nstruct Keep;";
        let mut complaints = Vec::new();
        check(&Tree::of(&[("crates/a/src/b.rs", code)]), &mut complaints);
        complaints.retain(|one| !one.contains("shorten"));
        let complaint = |name| format!("`{name}` does not say what the type is: crates/a/src/b.rs");
        assert_eq!(complaints, [complaint("Shown"), complaint("Taken")]);
    }

    #[test]
    fn a_name_for_two_things_is_found() {
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", "pub struct Place<'a>(&'a str);\npub enum Error {}"),
            ("crates/b/src/lib.rs", "pub enum Place { Here }\npub enum Error {}"),
            ("crates/b/src/c.rs", "pub(crate) struct Place;\n// pub struct Place;"),
        ]);
        let mut complaints = Vec::new();
        check(&tree, &mut complaints);
        complaints.retain(|one| !one.contains("shorten"));
        assert_eq!(
            complaints,
            [
                "`Place` is the name of several public types: crates/a/src/lib.rs, crates/b/src/lib.rs"
            ]
        );
    }
}

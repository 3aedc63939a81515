//! A public type's name is used for one thing in the whole workspace.

use std::collections::BTreeMap;

use super::Complaints;
use super::rust;
use super::tree::{Tree, crate_of};

/// Names that every crate may have: each says what it is with the crate's name before it.
const STANDARD: &[&str] = &["Error", "Options"];

/// Names that still mean two things, and how many.  The list may only get shorter.
const KNOWN: &[(&str, usize)] = &[("Part", 2), ("Stat", 2)];

pub(super) fn check(tree: &Tree, complaints: &mut Complaints) {
    let mut known: BTreeMap<&str, usize> = KNOWN.iter().copied().collect();
    for (name, files) in &declared(tree) {
        let most = known.remove(name.as_str()).unwrap_or(1);
        if files.len() > most && !STANDARD.contains(&name.as_str()) {
            let files = files.join(", ");
            complaints.push(format!("`{name}` is the name of several public types: {files}"));
        }
        if files.len() < most {
            complaints.push(shorten(name));
        }
    }
    complaints.extend(known.keys().map(|name| shorten(name)));
}

fn shorten(name: &str) -> String {
    format!("`{name}` means fewer things now: shorten the list in xtask/src/tidy/names.rs")
}

/// The public types, and the files that declare one of each name.
fn declared(tree: &Tree) -> BTreeMap<String, Vec<&str>> {
    let mut types: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (file, text) in tree.ending(".rs") {
        if crate_of(file).is_none() || !file.contains("/src/") {
            continue;
        }
        let code = rust::code(text);
        for line in rust::without_tests(&code).lines() {
            let Some(rest) = line.trim_start().strip_prefix("pub ") else { continue };
            let rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
            let kinds = ["struct ", "enum ", "trait ", "union "];
            let Some(rest) = kinds.iter().find_map(|kind| rest.strip_prefix(kind)) else {
                continue;
            };
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            // A macro that defines types writes `$name`.
            if end > 0 {
                types.entry(rest[..end].to_owned()).or_default().push(file);
            }
        }
    }
    types
}

#[cfg(test)]
mod tests {
    use super::*;

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

//! A crate without `unsafe` says so, and stays so.

use super::Complaints;
use super::rust;
use super::tree::{Tree, crate_of};

/// What says so.
const FORBID: &str = "#![forbid(unsafe_code)]";

pub(super) fn check(tree: &Tree, complaints: &mut Complaints) {
    for name in tree.crates() {
        let sources: Vec<(&str, String)> = tree
            .ending(".rs")
            .filter(|(file, _)| crate_of(file) == Some(name) && file.contains("/src/"))
            .map(|(file, text)| (file, rust::code(text)))
            .collect();
        let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
        let has_unsafe =
            sources.iter().any(|(_, code)| code.split(|c| !is_of_word(c)).any(|w| w == "unsafe"));
        let roots = sources
            .iter()
            .filter(|(file, _)| file.ends_with("/src/lib.rs") || file.ends_with("/src/main.rs"));
        for (file, code) in roots {
            if !has_unsafe && !code.contains(FORBID) {
                complaints.push(format!("{file}: there is no `unsafe` in it: say {FORBID}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_does_not_say_so_is_found() {
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", "// unsafe\nfn f() { unsafe_code() }"),
            ("crates/b/src/lib.rs", "#![forbid(unsafe_code)]"),
            ("crates/c/src/lib.rs", "mod d;"),
            ("crates/c/src/d.rs", "fn f() { unsafe { g() } }"),
        ]);
        let mut complaints = Vec::new();
        check(&tree, &mut complaints);
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(complaints[0].starts_with("crates/a/"));
    }
}

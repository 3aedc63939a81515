//! No file is forgotten: each is named by a `mod`, or is a target that cargo finds by its path.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Complaints;
use super::rust;
use super::tree::Tree;

pub(super) fn check(tree: &Tree, complaints: &mut Complaints) {
    let mut declared: BTreeSet<PathBuf> = BTreeSet::new();
    for (file, text) in tree.ending(".rs") {
        declare(file, text, tree, &mut declared);
    }
    for (file, text) in tree.ending(".rs") {
        let path = Path::new(file);
        if file.starts_with("xtask/newcomer/") {
            continue;
        }
        if !is_target(file, tree) && !declared.contains(path) {
            complaints.push(format!("{file}: no `mod` names it, so nothing compiles it"));
        }
        if is_target(file, tree) && is_test(file) && !has_tests(file, text, tree) {
            complaints.push(format!("{file}: there is no test in it"));
        }
    }
    for (file, text) in tree.ending("Cargo.toml") {
        for word in ["autobins", "autobenches", "autoexamples"] {
            if text.contains(&format!("{word} = false")) {
                complaints.push(format!("{file}: `{word} = false`: files would be forgotten"));
            }
        }
    }
}

/// Notes the files that a file's `mod` lines name.
fn declare(file: &str, text: &str, tree: &Tree, declared: &mut BTreeSet<PathBuf>) {
    let path = Path::new(file);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = path.parent().unwrap_or(Path::new(""));
    let is_root = is_target(file, tree) || stem == "mod";
    let base = if is_root { folder.to_owned() } else { folder.join(&stem) };
    for line in rust::code(text).lines() {
        let line = line.trim_start();
        let line = match line.strip_prefix("pub") {
            Some(rest) => rest
                .strip_prefix('(')
                .map_or(rest, |rest| rest.split_once(')').map_or(rest, |(_, rest)| rest)),
            None => line,
        };
        let Some((name, _)) =
            line.trim_start().strip_prefix("mod ").and_then(|rest| rest.split_once(';'))
        else {
            continue;
        };
        declared.insert(base.join(format!("{name}.rs")));
        declared.insert(base.join(name).join("mod.rs"));
    }
}

/// Whether a file is the root of a crate: by its place in the package, or, if the package lists its
/// tests (`autotests = false`), because it is listed.
fn is_target(file: &str, tree: &Tree) -> bool {
    let words: Vec<&str> = file.split('/').collect();
    if let [base, package, "tests", ..] = words.as_slice() {
        let manifest = tree.text(&format!("{base}/{package}/Cargo.toml")).unwrap_or_default();
        if manifest.contains("autotests = false") {
            let inner = file.splitn(3, '/').last().unwrap_or_default();
            return manifest.contains(&format!("path = \"{inner}\""));
        }
    }
    let (["crates", _, inner @ ..] | ["xtask" | "fuzz", inner @ ..]) = words.as_slice() else {
        return true;
    };
    matches!(
        inner,
        ["build.rs"]
            | ["src", "lib.rs" | "main.rs"]
            | ["src", "bin", _]
            | ["tests" | "examples" | "benches", _]
            | ["engine", "fuzz_targets", _]
            | ["tests" | "examples" | "benches", _, "main.rs"]
    )
}

/// Whether a file is an integration test.
fn is_test(file: &str) -> bool {
    let words: Vec<&str> = file.split('/').collect();
    matches!(words.as_slice(), ["crates", _, "tests", _] | ["crates", _, "tests", _, "main.rs"])
}

/// Whether an integration test has a test: in its file, or below the folder of its modules.
fn has_tests(file: &str, text: &str, tree: &Tree) -> bool {
    let has = |text: &str| text.contains("#[test]") || text.contains("proptest!");
    let declares = rust::code(text).lines().any(|line| line.starts_with("mod "));
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    has(text)
        || declares
            && tree.ending(".rs").any(|(other, text)| other.starts_with(folder) && has(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_nothing_names_is_found() {
        let tree = Tree::of(&[
            ("crates/x/src/lib.rs", "mod a;\npub(crate) mod b;\n// mod forgotten;"),
            ("crates/x/src/a.rs", "pub(in crate::a) mod part;"),
            ("crates/x/src/a/part.rs", ""),
            ("crates/x/src/b.rs", ""),
            ("crates/x/src/forgotten.rs", ""),
            ("crates/x/src/a/tests/forgotten.rs", ""),
            ("crates/x/tests/all.rs", "#[test] fn f() {}"),
            ("crates/x/tests/none.rs", ""),
            ("crates/x/tests/many/main.rs", "mod one;"),
            ("crates/x/tests/many/one.rs", "#[test] fn f() {}"),
            ("crates/x/tests/many/two.rs", "#[test] fn f() {}"),
            ("crates/y/Cargo.toml", "autotests = false\n[[test]]\npath = \"tests/all.rs\""),
            ("crates/y/tests/all.rs", "mod listed;"),
            ("crates/y/tests/listed.rs", "#[test] fn f() {}"),
            ("crates/y/tests/unlisted.rs", "#[test] fn f() {}"),
        ]);
        let mut complaints = Vec::new();
        check(&tree, &mut complaints);
        let files: Vec<&str> = complaints.iter().filter_map(|one| one.split(':').next()).collect();
        assert_eq!(
            files,
            [
                "crates/x/src/forgotten.rs",
                "crates/x/src/a/tests/forgotten.rs",
                "crates/x/tests/none.rs",
                "crates/x/tests/many/two.rs",
                "crates/y/tests/unlisted.rs"
            ]
        );
    }
}

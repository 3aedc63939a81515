//! Modules of a crate that depend on each other, directly or indirectly.
//!
//! A module and the files in its folder count as one; modules beside each other must not form a
//! circle, so that a reader can begin with one of them.  Dependencies are taken from paths that
//! begin with `crate` and `super`; names that a module re-exports by `pub use` count for the module
//! that they come from.

use std::collections::{BTreeMap, BTreeSet};

use super::Complaints;
use super::rust::{self, Path};
use super::tree::{Tree, crate_of};

/// Circles that exist, as `crate: module module`: files of one job.  The list may only get shorter.
const KNOWN: &[&str] = &["layout: account frame layout number options"];

/// A module: its words below the crate.
type Module = Vec<String>;

pub(super) fn check(tree: &Tree, complaints: &mut Complaints) {
    let mut known: BTreeSet<&str> = KNOWN.iter().copied().collect();
    for name in tree.crates() {
        for circle in circles(tree, name) {
            if !known.remove(circle.as_str()) {
                complaints.push(format!(
                    "{circle}: need each other: cut the circle, or make them one module"
                ));
            }
        }
    }
    for circle in known {
        complaints.push(format!(
            "{circle}: is a circle no more: take it off the list in xtask/src/tidy/circles.rs"
        ));
    }
}

/// The circles of one crate.
fn circles(tree: &Tree, name: &str) -> Vec<String> {
    let mut paths: BTreeMap<Module, Vec<Path>> = BTreeMap::new();
    for (file, text) in tree.ending(".rs") {
        if crate_of(file) != Some(name) {
            continue;
        }
        let Some(module) = module_of(file) else { continue };
        let code = rust::code(text);
        paths.insert(module, rust::paths(rust::without_tests(&code)));
    }
    let exports = exports(&paths);
    // For each folder, which of its modules depend on which.
    let mut needs: BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (from, paths_of) in &paths {
        for path in paths_of {
            let Some(to) = target(from, &path.words, &paths, &exports) else { continue };
            let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
            if let (Some(one), Some(other)) = (from.get(shared), to.get(shared)) {
                let folder = needs.entry(from[..shared].to_vec()).or_default();
                folder.entry(one.clone()).or_default().insert(other.clone());
            }
        }
    }
    let mut found = Vec::new();
    for (folder, needs) in &needs {
        let folder: String = folder.iter().map(|word| format!("{word}::")).collect();
        for circle in strongly_connected(needs) {
            let names: Vec<String> =
                circle.iter().map(|module| format!("{folder}{module}")).collect();
            found.push(format!("{name}: {}", names.join(" ")));
        }
    }
    found
}

/// The module that a file is; `None` of tests, and of files that are no part of a crate's own code.
fn module_of(file: &str) -> Option<Module> {
    let inner = file.split_once("/src/")?.1.strip_suffix(".rs")?;
    let words: Module = inner.split('/').map(str::to_owned).collect();
    if words.iter().any(|word| word == "tests") {
        return None;
    }
    Some(if inner == "lib" || inner == "main" { Vec::new() } else { words })
}

/// Where each name that a module hands on comes from.
fn exports(paths: &BTreeMap<Module, Vec<Path>>) -> BTreeMap<(Module, String), Vec<String>> {
    let mut exports = BTreeMap::new();
    for (module, paths_of) in paths {
        for path in paths_of.iter().filter(|path| path.is_exported) {
            if let Some(last) = path.words.last() {
                exports.insert((module.clone(), last.clone()), path.words.clone());
            }
        }
    }
    exports
}

/// The module of this crate that a path leads to from another module.
fn target(
    from: &Module,
    words: &[String],
    modules: &BTreeMap<Module, Vec<Path>>,
    exports: &BTreeMap<(Module, String), Vec<String>>,
) -> Option<Module> {
    let mut at = from.clone();
    let mut words = words.to_vec();
    match words.first()?.as_str() {
        "crate" => at.clear(),
        "super" => {}
        // A module below, or another crate.
        first => {
            let mut below = from.clone();
            below.push(first.to_owned());
            if !modules.contains_key(&below) {
                return None;
            }
        }
    }
    if words[0] == "crate" {
        words.remove(0);
    }
    while words.first().is_some_and(|word| word == "super") {
        at.pop()?;
        words.remove(0);
    }
    // An export may lead to another; none leads in a circle for so long.
    for _ in 0..8 {
        while let Some(word) = words.first() {
            let mut below = at.clone();
            below.push(word.clone());
            if !modules.contains_key(&below) {
                break;
            }
            at = below;
            words.remove(0);
        }
        let Some(word) = words.first() else { break };
        let Some(origin) = exports.get(&(at.clone(), word.clone())) else { break };
        match origin[0].as_str() {
            "crate" | "super" => return target(&at, origin, modules, exports),
            first => {
                let mut below = at.clone();
                below.push(first.to_owned());
                if !modules.contains_key(&below) {
                    break;
                }
                words = origin.clone();
            }
        }
    }
    Some(at)
}

/// Groups of two or more modules that can all be reached from each other.
fn strongly_connected(needs: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reached = |start: &String| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
        while let Some(next) = open.pop() {
            for other in needs.get(next).into_iter().flatten() {
                if seen.insert(other.clone()) {
                    open.push(other);
                }
            }
        }
        seen
    };
    let all: BTreeMap<&String, BTreeSet<String>> =
        needs.keys().map(|one| (one, reached(one))).collect();
    let mut groups: BTreeSet<Vec<String>> = BTreeSet::new();
    for (one, reaches) in &all {
        let back = |other: &&String| all.get(*other).is_some_and(|back| back.contains(*one));
        let group: Vec<String> = reaches.iter().filter(back).cloned().collect();
        if group.len() > 1 {
            groups.insert(group);
        }
    }
    groups.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_need_each_other_are_found() {
        let tree = Tree::of(&[
            ("crates/x/src/lib.rs", "mod a; mod b; mod c; pub use b::B;"),
            ("crates/x/src/a.rs", "mod part; use crate::B;"),
            ("crates/x/src/a/part.rs", "use super::Whole; // crate::c"),
            ("crates/x/src/b.rs", "use crate::c::C; pub struct B;"),
            ("crates/x/src/c.rs", "fn f() { crate::a::part::f() }"),
        ]);
        assert_eq!(circles(&tree, "x"), ["x: a b c"]);
    }

    #[test]
    fn a_module_and_its_parts_are_one() {
        let tree = Tree::of(&[
            ("crates/x/src/lib.rs", "mod a; mod b;"),
            ("crates/x/src/a.rs", "mod part; use part::P; use crate::b::B;"),
            ("crates/x/src/a/part.rs", "use super::{Q, R};"),
            ("crates/x/src/b.rs", "#[cfg(test)]\nmod tests { use crate::a::A; }"),
        ]);
        assert_eq!(circles(&tree, "x"), Vec::<String>::new());
    }
}

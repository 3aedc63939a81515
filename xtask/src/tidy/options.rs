//! What shows samples knows no source's option: the name of an option that a source declares stands
//! nowhere in the code of `layout`, `view` and the display half of the command line.
//!
//! The names are read from the declarations, so that a new option needs no line here.

use super::Complaints;
use super::rust;
use super::tree::Tree;

/// What opens a declaration.
const DECLARATION: &str = ": SourceOption =";

/// Where they are declared.
const DECLARED_IN: &str = "crates/source/src/";

/// What knows none of them.
const KNOW_NONE: &[&str] = &["crates/layout/src/", "crates/view/src/", "crates/cli/src/display"];

pub(super) fn check(tree: &Tree, complaints: &mut Complaints) {
    let mut names: Vec<String> = Vec::new();
    for (file, text) in tree.ending(".rs") {
        if file.starts_with(DECLARED_IN) {
            names.extend(declared(text));
        }
    }
    for (file, text) in tree.ending(".rs") {
        if !KNOW_NONE.iter().any(|start| file.starts_with(start)) {
            continue;
        }
        let count = rust::without_tests(&rust::code(text)).lines().count();
        for (number, line) in text.lines().take(count).enumerate() {
            // A comment may give an example.
            let is_comment = line.trim_start().starts_with("//");
            for name in names.iter().filter(|name| !is_comment && is_named(line, name)) {
                let number = number + 1;
                complaints.push(format!(
                    "{file}:{number}: `{name}` is an option of one source: ask what it declares"
                ));
            }
        }
    }
}

/// The names of the options that a file declares, but for those of its tests.
fn declared(text: &str) -> impl Iterator<Item = String> {
    let count = rust::without_tests(&rust::code(text)).lines().count();
    let lines: Vec<&str> = text.lines().take(count).collect();
    let text = lines.join("\n");
    let of = |declaration: &str| {
        let (_, rest) = declaration.split_once("name: \"")?;
        rest.split_once('"').map(|(name, _)| name.to_owned())
    };
    text.split(DECLARATION).skip(1).filter_map(of).collect::<Vec<_>>().into_iter()
}

/// Whether a line has the option as a switch, as a text, or as a member.
fn is_named(line: &str, name: &str) -> bool {
    [format!("--{name}"), format!("\"{name}\""), format!(".{name}")].iter().any(|word| {
        line.match_indices(word.as_str()).any(|(at, _)| {
            let after = line[at + word.len()..].chars().next();
            !after.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == '(')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_is_named_elsewhere_is_found() {
        let source = "static A: SourceOption = SourceOption {\n    name: \"dskopts\",\n};\n";
        let shows = "//! `--dskopts`.\nfn f() { o.dskopts; o.dskopts(); \"dskoptsx\" }\n\
                     #[cfg(test)]\nmod tests {\n    const A: &str = \"dskopts\";\n}\n";
        let tree = Tree::of(&[
            ("crates/source/src/disk.rs", source),
            ("crates/view/src/a.rs", shows),
            ("crates/cli/src/display/a.rs", "fn f() { is(\"dskopts\") }\n"),
            ("crates/cli/src/usage.rs", "fn f() { is(\"dskopts\") }\n"),
        ]);
        let mut complaints = Vec::new();
        check(&tree, &mut complaints);
        let found: Vec<&str> =
            complaints.iter().filter_map(|one| one.split_once(": ").map(|(at, _)| at)).collect();
        assert_eq!(found, ["crates/view/src/a.rs:2", "crates/cli/src/display/a.rs:1"]);
    }
}

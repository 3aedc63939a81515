//! Nothing lies about that a program left behind: recordings, objects, copies, cores.

use super::Complaints;
use super::tree::{File, Tree};

/// Where files that are no text belong.
const BINARY: &[(&str, &str)] = &[
    ("testdata/", "kernel trees and recordings"),
    ("crates/bpf/objects/", "programs of the kernel, checked against their source"),
    ("fuzz/seeds/", "what fuzzing begins with"),
    ("docs/", "pictures"),
    (
        "crates/recording/src/head-1.dictionary",
        "what the first block of a recording is packed with",
    ),
];

/// Ends of names that are always left behind, and those that are outside `testdata`.
const NEVER: &[&str] = &[".orig", ".rej", ".swp", "~", ".tmp", ".bak", ".o", ".so", ".a", ".pyc"];
const TESTDATA_ONLY: &[&str] = &[".whit", ".raw", ".raw.gz", ".log"];

pub(super) fn check(tree: &Tree, complaints: &mut Complaints) {
    for file in &tree.files {
        if let Some(why) = wrong(file) {
            complaints.push(format!("{}: {why}", file.path));
        }
    }
}

fn wrong(File { path, text }: &File) -> Option<&'static str> {
    let in_any = |folders: &[(&str, &str)]| folders.iter().any(|(one, _)| path.starts_with(one));
    let ends = |ends: &[&str]| ends.iter().any(|end| path.ends_with(end));
    let is_kept = path.starts_with("testdata/") || path.starts_with("fuzz/seeds/");
    if ends(TESTDATA_ONLY) && !is_kept {
        return Some("a recording: those that are kept are in testdata");
    }
    let is_object = path.starts_with("crates/bpf/objects/");
    if !is_kept && !is_object && (ends(NEVER) || path.ends_with("/core") || path == "core") {
        return Some("left behind by a program");
    }
    if text.is_none() && !in_any(BINARY) {
        return Some("is no text: such files are kept in few places");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strays_are_found() {
        let file = |path: &str, text: Option<&str>| File {
            path: path.to_owned(),
            text: text.map(str::to_owned),
        };
        assert!(wrong(&file("ls-vm-20261121-225402.whit", None)).is_some());
        assert!(wrong(&file("crates/cli/a.out", None)).is_some());
        assert!(wrong(&file("crates/cli/src/main.rs.orig", Some("text"))).is_some());
        assert!(wrong(&file("testdata/recordings/v1.whit", None)).is_none());
        assert!(wrong(&file("crates/bpf/objects/tasks.bpf.o", None)).is_none());
        assert!(wrong(&file("README.md", Some("# whit"))).is_none());
    }
}
